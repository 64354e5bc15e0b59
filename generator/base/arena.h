/* arena.h - the one allocator of the generator. Memory is zeroed and freed once, by main. */
#ifndef MODC_ARENA_H
#define MODC_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head;
    size_t used; /* bytes handed out, for tests and --explain */
};

/* Zeroed memory, aligned for any type. Never NULL: when memory ends, `arena_out_of_memory` is called. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* count * size bytes, checked for overflow. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* A larger array instead of `old`, which had `count` elements: they stay, the rest is zero. */
void *arena_grow(struct arena *arena, const void *old, size_t count, size_t new_count, size_t size);

char *arena_copy(struct arena *arena, const char *text, size_t length); /* adds the terminating 0 */
char *arena_string(struct arena *arena, const char *text);
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vformat(struct arena *arena, const char *format, va_list args);

void arena_free(struct arena *arena);

/* What is to be done when memory ends, in whatever arena: for files and folders that would be left behind. Belongs to
 * the caller, until arena_unguard. `run` cannot allocate. */
struct arena_guard {
    void (*run)(void *data);
    void *data;
    struct arena_guard *outer;
};
void arena_guard(struct arena_guard *guard);

/* Takes the innermost guard away; `run`: and runs it. */
void arena_unguard(bool run);

/* Runs the guards, says so on stderr and exits with status 6: no room can go on without memory. */
_Noreturn void arena_out_of_memory(void);

/* What it says instead of a line for people. */
void arena_last_words(const char *text);

/* How many elements an array has that is declared in sight: as an int, like all counts here. */
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#define ARENA_NEW(arena, type) ((type *)arena_alloc(arena, sizeof(type)))
#define ARENA_ARRAY(arena, count, type) ((type *)arena_array(arena, (size_t)(count), sizeof(type)))

/* Appends `item` to `list` of `count` elements, growing by powers of two (capacity is derived from count). */
#define ARENA_PUSH(arena, list, count, item)                                                                 \
    do {                                                                                                     \
        if (((count) & ((count)-1)) == 0)                                                                    \
            (list) = arena_grow(arena, list, (size_t)(count), (count) ? 2 * (size_t)(count) : 1,             \
                                sizeof *(list));                                                             \
        (list)[(count)++] = (item);                                                                          \
    } while (0)

/* The same of a list that gets shorter, too: `room` is its capacity. */
#define ARENA_PUSH_ROOM(arena, list, count, room, item)                                                      \
    do {                                                                                                     \
        if ((count) == (room)) {                                                                             \
            (room) = (room) ? 2 * (room) : 1;                                                                \
            (list) = arena_grow(arena, list, (size_t)(count), (size_t)(room), sizeof *(list));               \
        }                                                                                                    \
        (list)[(count)++] = (item);                                                                          \
    } while (0)

#endif
