/* templates.c - see templates.h. */
#include "base/templates.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"

#define FOLDER "templates/"

static const char *find_in(const struct backend *backend, const char *name)
{
    char path[128];
    int length = snprintf(path, sizeof path, FOLDER "%s/%s.%s", backend->templates, name, backend->suffix);

    assert(length > 0 && (size_t)length < sizeof path);
    (void)length;
    for (int i = 0; i < embedded_file_count; i++)
        if (strcmp(embedded_files[i].name, path) == 0)
            return embedded_files[i].bytes;
    return NULL;
}

const char *template_find(const struct backend *backend, const char *name)
{
    const char *own = find_in(backend, name);

    return own || backend == &backends[DEVICE_CPU] ? own : find_in(&backends[DEVICE_CPU], name);
}

static size_t word_length(const char *text)
{
    size_t length = 0;

    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

/* The next identifier or number of the code from `text` on, comments left out; NULL: there is none. */
static const char *next_word(const char *text, size_t *length)
{
    while (text && *text) {
        *length = word_length(text);
        if (*length > 0)
            return text;
        if (text[0] == '/' && text[1] == '*') {
            text = strstr(text, "*/");
            text = text ? text + 2 : NULL;
        } else {
            text++;
        }
    }
    return NULL;
}

/* `word` occurs in some template's code, called or not. */
static bool has_word(const char *word, bool called)
{
    size_t length, wanted = strlen(word);

    for (int i = 0; i < embedded_file_count; i++) {
        if (strncmp(embedded_files[i].name, FOLDER, strlen(FOLDER)) != 0 ||
            !strstr(embedded_files[i].bytes, word)) /* as in nearly all of them: sooner known than by words */
            continue;
        for (const char *at = embedded_files[i].bytes; (at = next_word(at, &length)); at += length)
            if (length == wanted && memcmp(at, word, length) == 0 && (!called || at[length] == '('))
                return true;
    }
    return false;
}

bool template_argument(const char *word)
{
    char hole[32] = "T_";
    size_t length = strlen(word);

    if (length + 3 > sizeof hole)
        return false;
    for (size_t i = 0; i <= length; i++) {
        if (islower((unsigned char)word[i]))
            return false;
        hole[2 + i] = (char)tolower((unsigned char)word[i]);
    }
    return has_word(hole, false);
}

bool template_calls(const char *word)
{
    return has_word(word, true);
}

static bool lists(const struct template_holes *holes, const char *word, size_t length)
{
    for (int i = 0; i < holes->count; i++)
        if (strncmp(holes->names[i], word, length) == 0 && !holes->names[i][length])
            return true;
    return false;
}

static const struct template_holes *holes_of(struct cx *cx, struct template_cache *cache, const char *file)
{
    struct template_holes holes = {.file = file};
    size_t length;

    for (int i = 0; i < cache->count; i++)
        if (strcmp(cache->files[i].file, file) == 0)
            return &cache->files[i];
    for (const char *at = template_find(cache->backend, file); (at = next_word(at, &length)); at += length)
        if (strncmp(at, "T_", 2) == 0 && !lists(&holes, at, length))
            ARENA_PUSH(&cx->arena, holes.names, holes.count, arena_copy(&cx->arena, at, length));
    ARENA_PUSH(&cx->arena, cache->files, cache->count, holes);
    return &cache->files[cache->count - 1];
}

bool template_asks(struct cx *cx, struct template_cache *cache, const char *file, const char *hole)
{
    return lists(holes_of(cx, cache, file), hole, strlen(hole));
}
