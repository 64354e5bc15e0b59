/* eval_file.c - load_file('tables.safetensors')['position']: tensors of files, as values that are known while generating. Apart,
 * since nothing else that is evaluated looks outside the spec. */
#include <stdio.h>
#include <string.h>

#include "base/tensor_file.h"
#include "base/text.h"
#include "eval/evaluator.h"
#include "modc.h"

struct ev eval_load_file(struct eval *eval, const struct call *call)
{
    const struct ev *path = call->args;

    if (call->count != 1 || path->kind != EV_STRING || !path->text[0])
        return (struct ev){.kind = EV_ELLIPSIS, .loc = call->loc};
    return (struct ev){
        .kind = EV_FILE, .loc = call->loc, .text = source_beside(eval->cx, path->loc.source, path->text)};
}

static void no_such_tensor(struct eval *eval, const struct ev *file, const struct ev *key,
                           const struct modc_reader *reader)
{
    const char **known = NULL;
    struct modc_item item;
    int count = 0;

    for (size_t at = 0; modc_reader_next(reader, &at, &item);) {
        size_t length = modc_item_name(&item, NULL, 0);
        char *name = arena_alloc(&eval->cx->arena, length + 1);

        modc_item_name(&item, name, length + 1);
        ARENA_PUSH(&eval->cx->arena, known, count, name);
    }
    diag_error(eval->cx, key->loc, "%s has no tensor '%s'", file->text, key->text);
    if (diag_nearest(key->text, known, count))
        diag_hint_nearest(eval->cx, key->text, known, count);
    else if (count > 0)
        diag_hint(eval->cx, "it has %d, the first of which is '%s'", count, known[0]);
}

/* Floats become those of the model, as weights do that are loaded; NULL after an error. */
static struct tensor *read_item(struct eval *eval, const struct ev *file, const struct ev *key,
                                const struct modc_item *item)
{
    struct tensor *tensor = ARENA_NEW(&eval->cx->arena, struct tensor);
    const enum dtype stored = (enum dtype)item->dtype;
    int64_t count = 1;
    bool fits = true;

    if (item->dtype < 0 || (!dtype_is_float(stored) && !dtype_is_supported(stored))) {
        diag_error(eval->cx, key->loc, "'%s' of %s is %s, a type that modc does not compute with", key->text,
                   file->text, item->dtype_name);
        return NULL;
    }
    if (item->ndim > MAX_DIMS) {
        diag_error(eval->cx, key->loc, "'%s' of %s has %d dimensions, more than %d", key->text, file->text,
                   item->ndim, MAX_DIMS);
        return NULL;
    }
    tensor->dtype = dtype_is_float(stored) ? eval->default_dtype : stored;
    tensor->ndim = item->ndim;
    for (int i = 0; i < item->ndim; i++) {
        tensor->dims[i] = (int64_t)item->dims[i];
        fits &= item->dims[i] <= INT32_MAX && !__builtin_mul_overflow(count, tensor->dims[i], &count) &&
                count <= INT32_MAX;
    }
    if (!fits) {
        diag_error(eval->cx, key->loc, "'%s' of %s has more than 2**31 elements", key->text, file->text);
        return NULL;
    }
    tensor->data = ARENA_ARRAY(&eval->cx->arena, count + 1, union scalar);
    for (int64_t i = 0; i < count; i++) {
        const char *from = (const char *)item->data + i * dtype_rows[stored].bytes;

        tensor->data[i] = dtype_convert(stored, tensor->dtype, scalar_load(stored, from));
    }
    return tensor;
}

struct ev eval_file_tensor(struct eval *eval, struct loc loc, const struct ev *file, const struct ev *key)
{
    struct modc_reader reader;
    struct modc_item item;
    struct tensor *tensor = NULL;

    if (!tensor_file_open(eval->cx, file->loc, file->text, &reader))
        return ev_bad(loc);
    if (modc_reader_find(&reader, key->text, &item))
        tensor = read_item(eval, file, key, &item);
    else
        no_such_tensor(eval, file, key, &reader);
    modc_unmap(reader.bytes, reader.length);
    return tensor ? ev_tensor(loc, build_const(eval, loc, tensor)) : ev_bad(loc);
}
