/* storage.c - see storage.h. */
#include "base/storage.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "modc_simd.h"

static const struct storage kinds[] = {
    {"bfloat16", DTYPE_BFLOAT16, 16, 0, DTYPE_BFLOAT16, false, false},
    {"float16", DTYPE_FLOAT16, 16, 0, DTYPE_FLOAT16, false, false},
    {"int8", DTYPE_INT8, 8, 0, DTYPE_FLOAT32, false, false},
    {"int4", DTYPE_INT8, 4, 32, DTYPE_FLOAT16, false, false},
};

const struct storage *storage_kind(int index)
{
    return index < (int)(sizeof kinds / sizeof *kinds) ? &kinds[index] : NULL;
}

const struct storage *storage_find(const char *name)
{
    enum dtype dtype;

    if (dtype_find(name, &dtype)) /* half */
        name = dtype_rows[dtype].name;
    for (int i = 0; storage_kind(i); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

const struct storage *storage_plain(const struct storage *storage)
{
    return storage_is_coded(storage) ? storage_find(storage->name) : storage;
}

bool storage_equal(const struct storage *a, const struct storage *b)
{
    if (!a || !b)
        return a == b;
    return a->dtype == b->dtype && a->bits == b->bits && a->group == b->group && a->scale == b->scale &&
           a->gguf == b->gguf && a->dynamic == b->dynamic;
}

bool storage_holds(const struct storage *a, const struct storage *b)
{
    struct storage same;

    if (!a || !b)
        return a == b;
    same = *a;
    same.dynamic = b->dynamic;
    return storage_equal(&same, b);
}

enum dtype storage_scale(int group)
{
    return group > 0 ? DTYPE_FLOAT16 : DTYPE_FLOAT32;
}

static void add_option(struct text *text, const char *name, const char *value)
{
    text_printf(text, "%s%s=%s", strchr(text->data, '(') ? ", " : "(", name, value);
}

const char *storage_text(struct arena *arena, const struct storage *storage)
{
    struct text text = text_new(arena);

    text_add(&text, storage->name);
    if (storage_is_coded(storage))
        text_printf(&text, "(bits=%d)", storage->bits);
    if (!storage_is_scaled(storage))
        return text.data;
    if (storage->group > 0)
        add_option(&text, "group", arena_format(arena, "%d", storage->group));
    if (storage->scale != storage_scale(storage->group))
        add_option(&text, "scale", dtype_rows[storage->scale].name);
    if (storage->gguf)
        add_option(&text, "rounding", "gguf");
    if (strchr(text.data, '('))
        text_add(&text, ")");
    return text.data;
}

/* Whether *text begins with it, which is passed then. */
static bool pass(const char **text, const char *word)
{
    const size_t length = strlen(word);

    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

static bool pass_group(const char **text, int *group)
{
    char *end;
    const long value = **text >= '1' && **text <= '9' ? strtol(*text, &end, 10) : 0; /* strtol takes signs */

    if (value < STORAGE_LEAST_GROUP || value > STORAGE_MOST_GROUP || value % STORAGE_LEAST_GROUP != 0)
        return false;
    *text = end;
    *group = (int)value;
    return true;
}

static bool pass_scale(const char **text, enum dtype *scale)
{
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (pass(text, dtype_rows[types[i]].name)) {
            *scale = types[i];
            return true;
        }
    return false;
}

bool storage_parse(const char *text, struct storage *storage)
{
    bool scale = false;
    const char *next = "(";

    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++) {
        *storage = kinds[i];
        if (pass(&text, kinds[i].name))
            break;
        storage->name = NULL;
    }
    if (storage->name && storage->dtype == DTYPE_BFLOAT16 && strcmp(text, "(bits=12)") == 0) {
        storage->bits = STORAGE_CODED_BITS;
        return true;
    }
    if (!storage->name || !storage_is_scaled(storage))
        return storage->name && *text == '\0';
    if (*text == '\0')
        return true;
    for (; pass(&text, next); next = ", ") {
        if (pass(&text, "group=")) {
            if (!pass_group(&text, &storage->group))
                return false;
            storage->scale = scale ? storage->scale : storage_scale(storage->group);
        } else if (pass(&text, "scale=")) {
            if (!pass_scale(&text, &storage->scale))
                return false;
            scale = true;
        } else if (pass(&text, "rounding=gguf")) {
            storage->gguf = true;
        } else if (!pass(&text, "rounding=symmetric")) {
            return false;
        }
    }
    return strcmp(text, ")") == 0;
}

const char *storage_word(struct arena *arena, const struct storage *storage)
{
    const struct storage *kind = storage_find(storage->name);
    struct text text = text_new(arena);

    text_add(&text, storage->name);
    if (storage_is_coded(storage))
        text_printf(&text, "_%d", storage->bits);
    if (storage->group != kind->group)
        text_printf(&text, "_%d", storage->group);
    if (storage_is_scaled(storage) && storage->scale != storage_scale(storage->group))
        text_printf(&text, "_%s", dtype_rows[storage->scale].name);
    return text.data;
}

int64_t storage_group(const struct storage *storage, int64_t k)
{
    return storage->group > 0 ? storage->group : k;
}

int64_t storage_groups(const struct storage *storage, int64_t k)
{
    return storage->group > 0 ? (k + storage->group - 1) / storage->group : 1;
}

int64_t storage_head(const struct storage *storage, int64_t k)
{
    if (storage_is_coded(storage))
        return MODC_CODED_HEAD(k);
    return MODC_PANEL_SCALES(k, storage_group(storage, k), dtype_rows[storage->scale].bytes);
}

int64_t storage_panel(const struct storage *storage, int64_t k)
{
    return MODC_PANEL_BYTES(k, storage_group(storage, k), dtype_rows[storage->scale].bytes, storage->bits);
}

int64_t storage_panels(const struct storage *storage, int64_t n, int64_t k)
{
    return storage_is_coded(storage) ? MODC_CODED_BYTES(n, k)
                                     : (n + MODC_PANEL32 - 1) / MODC_PANEL32 * storage_panel(storage, k);
}

int64_t storage_row_bytes(const struct storage *storage, int64_t k)
{
    return MODC_ROW_BYTES(k, storage->bits);
}

int64_t storage_rows(const struct storage *storage, int64_t n, int64_t k)
{
    return n *
           (storage_row_bytes(storage, k) + storage_groups(storage, k) * dtype_rows[storage->scale].bytes);
}

int64_t storage_rounded(int64_t k)
{
    return MODC_ROUNDED_BYTES(k);
}

int storage_steps(const struct storage *storage)
{
    return storage->bits < 8 ? 8 : storage->dynamic ? 4 : 1;
}

int64_t storage_part(const struct storage *storage, int64_t k)
{
    const int64_t whole = storage_group(storage, k);

    return whole < MODC_DOT_MOST ? whole : MODC_DOT_MOST;
}

static int64_t parts(const struct storage *storage, int64_t k)
{
    const int64_t part = storage_part(storage, k);

    return (k + part - 1) / part;
}

int64_t storage_first(const struct storage *storage, int64_t k)
{
    return MODC_DOT_FIRST(parts(storage, k));
}

int64_t storage_row(const struct storage *storage, int64_t k)
{
    return MODC_DOT_ROW(k, parts(storage, k));
}
