/* arena.c - the bump allocator. Apart, since it is the only place of the generator that calls calloc and
 * free: a room that fails halfway leaves nothing to clean up, and tests see leaks and out-of-memory in one
 * file. */
#define _DEFAULT_SOURCE /* madvise */

#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    max_align_t data[]; /* aligned for any type; zeroed by calloc */
};

/* Blocks double: many arenas live for a few lines only, and what is read of a long spec takes hundreds of megabytes. A system
 * gives what nobody has touched yet without clearing it, so a block costs what is used of it. */
static const size_t least_block = 2 * 1024, most_block = 32 * 1024 * 1024;

/* What is larger than a quarter of this has a block of its own where the head has no room. */
static const size_t own_block = 256 * 1024;

/* Of the process, since it ends with whichever arena finds no memory. */
static struct arena_guard *guards;
static const char *last_words = "modc: error: out of memory\n";

void arena_guard(struct arena_guard *guard)
{
    guard->outer = guards;
    guards = guard;
}

void arena_unguard(bool run)
{
    struct arena_guard *guard = guards;

    guards = guard->outer;
    if (run)
        guard->run(guard->data);
}

void arena_last_words(const char *text)
{
    last_words = text;
}

void arena_out_of_memory(void)
{
    while (guards)
        arena_unguard(true);
    fputs(last_words, stderr);
    exit(6);
}

/* A third of the time of a long spec goes into faults of small pages. */
static void ask_for_huge_pages(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t huge = 2 * 1024 * 1024, first = ((uintptr_t)block + huge - 1) / huge * huge,
                    end = ((uintptr_t)block + size) / huge * huge;

    if (size >= 2 * huge)
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE); /* a kernel without them refuses */
#else
    (void)block;
    (void)size;
#endif
}

static struct arena_block *block_new(size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_block))
        arena_out_of_memory();

    struct arena_block *block = calloc(1, sizeof *block + size);

    if (!block)
        arena_out_of_memory();
    block->size = size;
    ask_for_huge_pages(block, sizeof *block + size);
    return block;
}

/* What an allocation takes of its block. */
static size_t rounded(size_t bytes)
{
    const size_t align = _Alignof(max_align_t);

    if (bytes > SIZE_MAX - align)
        arena_out_of_memory();
    return bytes == 0 ? align : (bytes + align - 1) / align * align;
}

static size_t bytes_of(size_t count, size_t size)
{
    if (size > 0 && count > SIZE_MAX / size)
        arena_out_of_memory();
    return count * size;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    bytes = rounded(bytes);
    arena->used += bytes;

    bool fits = arena->head && arena->head->size - arena->head->used >= bytes;

    if (!fits && bytes > own_block / 4) { /* behind the head, which stays in use */
        struct arena_block *block = block_new(bytes);

        block->used = bytes;
        if (arena->head) {
            block->next = arena->head->next;
            arena->head->next = block;
        } else {
            arena->head = block;
        }
        return block->data;
    }
    if (!fits) {
        size_t size = arena->head ? 2 * arena->head->size : least_block;
        struct arena_block *block;

        if (size > most_block)
            size = most_block;
        block = block_new(size < bytes ? bytes : size);
        block->next = arena->head;
        arena->head = block;
    }

    void *result = (char *)arena->head->data + arena->head->used;

    arena->head->used += bytes;
    return result;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    return arena_alloc(arena, bytes_of(count, size));
}

/* What was allocated last grows where it lies while its block has room. */
void *arena_grow(struct arena *arena, const void *old, size_t count, size_t new_count, size_t size)
{
    struct arena_block *head = arena->head;
    size_t from = rounded(bytes_of(count, size)),
           to = rounded(bytes_of(new_count < count ? count : new_count, size));
    void *result;

    if (head && count > 0 && from <= head->used && to - from <= head->size - head->used &&
        old == (const char *)head->data + (head->used - from)) {
        result = (char *)head->data + (head->used - from);
        head->used += to - from;
        arena->used += to - from;
        return result;
    }
    result = arena_alloc(arena, to);
    if (count > 0)
        memcpy(result, old, count * size);
    return result;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        arena_out_of_memory();

    char *copy = arena_alloc(arena, length + 1);

    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *arena_string(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

char *arena_vformat(struct arena *arena, const char *format, va_list args)
{
    char piece[128]; /* mostly enough */
    char *result;
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(piece, sizeof piece, format, args);
    if (length < 0) { /* an encoding error: only %ls could give one, and nobody here writes it */
        result = arena_string(arena, format);
    } else if ((size_t)length < sizeof piece) {
        result = arena_copy(arena, piece, (size_t)length);
    } else {
        result = arena_alloc(arena, (size_t)length + 1);
        vsnprintf(result, (size_t)length + 1, format, again);
    }
    va_end(again);
    return result;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);

    char *result = arena_vformat(arena, format, args);

    va_end(args);
    return result;
}

void arena_free(struct arena *arena)
{
    struct arena_block *block = arena->head;

    while (block) {
        struct arena_block *next = block->next;

        free(block);
        block = next;
    }
    arena->head = NULL;
    arena->used = 0;
}
