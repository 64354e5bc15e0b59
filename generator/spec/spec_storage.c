/* spec_storage.c - `storage`: as what weights are packed, for all products or by the paths of modules and parameters. */
#include "base/storage.h"
#include "spec/spec_reader.h"

#include <string.h>

static const char *const wanted =
    "bfloat16, float16, int8, int4, or a call such as int4(group=64) or bfloat16(bits=12)";

static void hint_kinds(struct reader *r)
{
    diag_hint(r->cx, "weights are packed as %s, or in the type that the model computes in", wanted);
}

static bool read_group(struct reader *r, const struct expr *value, struct storage *storage)
{
    if (value->kind == EXPR_BAD)
        return false;
    if (value->kind != EXPR_INT || value->integer < STORAGE_LEAST_GROUP ||
        value->integer > STORAGE_MOST_GROUP || value->integer % STORAGE_LEAST_GROUP != 0) {
        diag_error(r->cx, value->loc, "a group is a multiple of %d, of at most %d weights, found '%s'",
                   STORAGE_LEAST_GROUP, STORAGE_MOST_GROUP, expr_source(r->cx, value));
        return false;
    }
    storage->group = (int)value->integer;
    return true;
}

static bool read_scale(struct reader *r, const struct expr *value, struct storage *storage)
{
    if (value->kind == EXPR_BAD)
        return false;
    if (value->kind != EXPR_NAME || !dtype_find(value->text, &storage->scale) ||
        (storage->scale != DTYPE_FLOAT32 && storage->scale != DTYPE_FLOAT16 &&
         storage->scale != DTYPE_BFLOAT16)) {
        diag_error(r->cx, value->loc, "a scale is a float32, a float16 or a bfloat16, found '%s'",
                   expr_source(r->cx, value));
        return false;
    }
    return true;
}

static bool read_rounding(struct reader *r, const struct expr *value, struct storage *storage)
{
    if (value->kind == EXPR_BAD)
        return false;
    storage->gguf = value->kind == EXPR_NAME && strcmp(value->text, "gguf") == 0;
    if (!storage->gguf && (value->kind != EXPR_NAME || strcmp(value->text, "symmetric") != 0)) {
        diag_error(r->cx, value->loc, "'rounding' is symmetric or gguf, found '%s'",
                   expr_source(r->cx, value));
        return false;
    }
    return true;
}

static const struct {
    const char *name;
    bool (*read)(struct reader *r, const struct expr *value, struct storage *storage);
} options[] = {{"group", read_group}, {"scale", read_scale}, {"rounding", read_rounding}};

/* bfloat16 in 16 bits, or in 12. */
static bool read_bits(struct reader *r, const struct expr *call, struct storage *storage)
{
    for (int i = 0; i < call->count; i++) {
        const struct expr *value = call->items[i];

        if (value->kind == EXPR_BAD)
            return false;
        if (!call->names[i] || strcmp(call->names[i], "bits") != 0) {
            diag_error(r->cx, value->loc, "%s has the option bits alone, found '%s'", storage->name,
                       call->names[i] ? call->names[i] : expr_source(r->cx, value));
            diag_hint(r->cx, "write %s(bits=%d)", storage->name, STORAGE_CODED_BITS);
            return false;
        }
        if (value->kind != EXPR_INT || (value->integer != STORAGE_CODED_BITS && value->integer != 16)) {
            diag_error(r->cx, value->loc, "a bfloat16 is packed in 16 bits, or in 12, found '%s'",
                       expr_source(r->cx, value));
            return false;
        }
        storage->bits = (int)value->integer;
    }
    return true;
}

/* What a call says beside the name. */
static bool read_options(struct reader *r, const struct expr *call, struct storage *storage)
{
    bool scale = false;

    if (storage->dtype == DTYPE_BFLOAT16)
        return read_bits(r, call, storage);
    if (!storage_is_scaled(storage)) {
        diag_error(r->cx, call->loc, "%s has no options: each weight is rounded by itself", storage->name);
        return false;
    }
    for (int i = 0; i < call->count; i++) {
        int found = -1;

        for (int o = 0; o < COUNT(options); o++)
            if (call->names[i] && strcmp(options[o].name, call->names[i]) == 0)
                found = o;
        if (found < 0) {
            diag_error(r->cx, call->items[i]->loc, "%s has the options group, scale and rounding, found '%s'",
                       storage->name, call->names[i] ? call->names[i] : expr_source(r->cx, call->items[i]));
            diag_hint(r->cx, "write %s(group=32)", storage->name);
            return false;
        }
        if (!options[found].read(r, call->items[i], storage))
            return false;
        scale |= options[found].read == read_scale;
    }
    if (!scale)
        storage->scale = storage_scale(storage->group);
    return true;
}

/* As what weights are packed: kind or dtype is set; false after an error. */
static bool read_storage(struct reader *r, const struct expr *expr, struct spec_storage *out)
{
    const struct expr *name = expr->kind == EXPR_CALL ? expr->a : expr;
    const struct storage *kind = name->kind == EXPR_NAME ? storage_find(name->text) : NULL;
    struct storage *own;

    out->value_loc = expr->loc;
    if (expr->kind == EXPR_BAD)
        return false;
    if (!kind && expr->kind == EXPR_NAME && spec_is_dtype(expr->text)) {
        out->dtype = spec_read_dtype(r, expr->text, expr->loc, false);
        return out->dtype != NULL;
    }
    if (!kind) {
        diag_error(r->cx, expr->loc, "expected as what weights are packed, found '%s'",
                   expr_source(r->cx, expr));
        hint_kinds(r);
        return false;
    }
    own = ARENA_NEW(&r->cx->arena, struct storage);
    *own = *kind;
    out->dtype = dtype_rows[kind->dtype].name;
    out->kind = own;
    return expr->kind != EXPR_CALL || read_options(r, expr, own);
}

static void add_storage(struct reader *r, const struct node *key, const struct node *node,
                        const char *pattern)
{
    struct spec_storage out = {.pattern = pattern, .loc = key->loc};

    if (read_storage(r, spec_read_expr(r, key, node), &out))
        ARENA_PUSH(&r->cx->arena, r->spec->storages, r->spec->storage_count, out);
    else
        r->spec->partial = true;
}

void spec_read_storage(struct reader *r, const struct node *key, const struct node *node)
{
    if (node->kind != NODE_MAP) {
        add_storage(r, key, node, NULL);
        return;
    }
    for (int i = 0; i < node->count; i++)
        add_storage(r, node->keys[i], node->items[i],
                    strcmp(node->keys[i]->value, "default") == 0 ? NULL : node->keys[i]->value);
}

void spec_read_activations(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "int8, calibrated or none");

    if (!text)
        return;
    r->spec->activations_loc = node->loc;
    r->spec->dynamic = strcmp(text, "int8") == 0;
    r->spec->calibrated = strcmp(text, "calibrated") == 0;
    if (r->spec->dynamic || r->spec->calibrated || strcmp(text, "none") == 0)
        return;
    diag_error(r->cx, node->loc, "'activations' is int8, calibrated or none, found '%s'", text);
    diag_hint(r->cx,
              "int8: each row is rounded by the largest of its sizes when it is multiplied; calibrated: by "
              "`ranges`, which were measured before");
}

void spec_read_ranges(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->ranges = spec_read_text(r, key, node, "the path of a safetensors file");
    r->spec->ranges_loc = node->loc;
}
