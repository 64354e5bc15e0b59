/* storage.c - see storage.h. */
#include "base/storage.h"

#include <stddef.h>
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

bool storage_equal(const struct storage *a, const struct storage *b)
{
    if (!a || !b)
        return a == b;
    return a->dtype == b->dtype && a->bits == b->bits && a->group == b->group && a->scale == b->scale &&
           a->gguf == b->gguf && a->dynamic == b->dynamic;
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

const char *storage_word(struct arena *arena, const struct storage *storage)
{
    const struct storage *kind = storage_find(storage->name);
    struct text text = text_new(arena);

    text_add(&text, storage->name);
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

int64_t storage_head(const struct storage *storage, int64_t k)
{
    return MODC_PANEL_SCALES(k, storage_group(storage, k), dtype_rows[storage->scale].bytes);
}

int64_t storage_panel(const struct storage *storage, int64_t k)
{
    return MODC_PANEL_BYTES(k, storage_group(storage, k), dtype_rows[storage->scale].bytes, storage->bits);
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
