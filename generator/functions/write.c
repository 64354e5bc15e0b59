/* write.c - tensors with some elements written, in place and as tensors of their own. */
#include <limits.h>
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* The elements of another tensor, or a number, in the shape and the type of the first. */
static struct ev fn_copy(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "copy_", &args[0]))
        return BAD;
    return ev_tensor(loc, build_filling(eval, loc, outer(eval, "copy_"), args[0].tensor, &args[1]));
}

static struct ev fn_fill(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    if (args[1].kind != EV_TENSOR || args[1].tensor->ndim == 0)
        return fn_copy(eval, args, count, loc);
    diag_error(eval->cx, args[1].loc, "%s takes a number or a tensor without dimensions, found %s",
               outer(eval, "fill_"),
               shape_text(&eval->cx->arena, args[1].tensor->ndim, args[1].tensor->dims));
    return BAD;
}

/* The same elements, which bodies may write to. */
static struct ev fn_own(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_tensor(eval, "this", &args[0]) ? build_apart(eval, ev_tensor(loc, args[0].tensor), INT_MAX)
                                               : BAD;
}

/* The part, if the source has its shape. */
static struct ev fn_part_for(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *part = args[0].tensor, *source = args[1].tensor;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_tensor(eval, "this", &args[1]))
        return BAD;
    if (dims_equal(part, source))
        return args[0];
    diag_error(eval->cx, loc, "%s: expected src to have a size equal to the part of self: %s, found %s",
               outer(eval, "this"), shape_text(arena, part->ndim, part->dims),
               shape_text(arena, source->ndim, source->dims));
    return BAD;
}

/* By tensors of integers, or a mask, one for each of the first dimensions. */
static struct ev fn_index_put(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    struct ev *items;
    bool accumulate;
    (void)count;

    if (!need_tensor(eval, "index_put", &args[0]) || !need_bool(eval, "accumulate", &args[3], &accumulate))
        return BAD;
    if (args[1].kind != EV_TUPLE || args[1].count == 0) {
        diag_error(eval->cx, args[1].loc, "%s takes a tuple of tensors as indices, found %s",
                   outer(eval, "index_put"), ev_text(eval, &args[1]));
        return BAD;
    }
    if (args[2].kind == EV_TENSOR && args[2].tensor->dtype != args[0].tensor->dtype) {
        diag_error(
            eval->cx, args[2].loc,
            "%s requires the source and destination dtypes match, got %s for the destination and %s for the source",
            outer(eval, "index_put"), dtype_rows[args[0].tensor->dtype].name,
            dtype_rows[args[2].tensor->dtype].name);
        return BAD;
    }
    items = ARENA_ARRAY(arena, args[1].count, struct ev);
    for (int i = 0; i < args[1].count; i++) {
        items[i] = args[1].items[i];
        if (!need_tensor(eval, "index_put", &items[i]))
            return BAD;
    }
    return ev_tensor(loc, eval_index_put(eval, loc, outer(eval, "index_put"), args[0].tensor, items,
                                         args[1].count, &args[2], accumulate));
}

/* A mask that broadcasts to the tensor, as large. */
static struct ev fn_mask_of(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value shape;
    (void)count;

    if (!need_tensor(eval, "masked_scatter", &args[0]) || !need_tensor(eval, "masked_scatter", &args[1]) ||
        !need_tensor(eval, "masked_scatter", &args[2]))
        return BAD;
    if (args[1].tensor->dtype != DTYPE_BOOL || args[2].tensor->dtype != args[0].tensor->dtype) {
        diag_error(eval->cx, loc,
                   "%s takes a mask of bool and a source of the tensor's type, %s, found %s and %s",
                   outer(eval, "masked_scatter"), dtype_rows[args[0].tensor->dtype].name,
                   dtype_rows[args[1].tensor->dtype].name, dtype_rows[args[2].tensor->dtype].name);
        return BAD;
    }
    shape = *args[0].tensor;
    shape.dtype = DTYPE_BOOL;
    return ev_tensor(loc, build_filling(eval, loc, outer(eval, "masked_scatter"), &shape, &args[1]));
}

/* index_add is what adds. */
static struct ev fn_no_sum(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind != EV_STRING || strcmp(args[0].text, "sum") != 0)
        return args[0];
    diag_error(eval->cx, loc, "index_reduce: reduce argument must be prod, mean, amax or amin, found 'sum'");
    diag_hint(eval->cx, "index_add adds");
    return BAD;
}

/* An index along an axis of a source, as one for each of its elements. */
static struct ev fn_spread(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct value *index, *source;
    int axis;
    (void)count;

    if (!need_tensor(eval, "index_reduce", &args[1]) || !need_index(eval, "index_reduce", &args[0], true) ||
        !need_axis(eval, "index_reduce", &args[2], args[1].tensor->ndim, &axis))
        return BAD;
    index = args[0].tensor;
    source = args[1].tensor;
    if (index->ndim > 1 ||
        (source->ndim > 0 && index->ndim == 1 && !dim_equal(index->dims[0], source->dims[axis]))) {
        diag_error(
            eval->cx, args[0].loc,
            "%s: the index must have one dimension, as long as dimension %d of the source %s, found %s",
            outer(eval, "index_reduce"), axis, shape_text(&eval->cx->arena, source->ndim, source->dims),
            shape_text(&eval->cx->arena, index->ndim, index->dims));
        return BAD;
    }
    for (int i = 0; i < source->ndim; i++)
        dims[i] = i == axis ? source->dims[i] : dim_const(&eval->cx->arena, 1);
    index = build_reshape(eval, loc, index, source->ndim, dims);
    return ev_tensor(loc, index ? build_expand(eval, loc, index, source->ndim, source->dims) : NULL);
}

extern const struct function_row write_functions[];

#define WRITTEN(part) "x = _own(input)\n_part_for(" part ", src).copy_(src)\nreturn x"

const struct function_row write_functions[] = {
    {"copy_(input, src, non_blocking=False)", METHOD | IN_PLACE, .build = fn_copy},
    {"fill_(input, value)", TORCH | METHOD | IN_PLACE, .build = fn_fill},
    {"fill(input, value)", TORCH, .build = fn_fill},
    {"zero_(input)", TORCH | METHOD | IN_PLACE, .body = "return torch.zeros_like(input)"},
    {"fill_diagonal_(input, fill_value, wrap=False)", METHOD | IN_PLACE,
     .body = "x = _own(_check_dims(input, 2, 8))\n"
             "if x.ndim == 2 and not wrap:\n"
             "    x.diagonal().fill_(fill_value)\n"
             "    return x\n"
             "n = input.shape[-1]\n"
             "if x.ndim > 2 and input.shape != (n,) * input.ndim:\n"
             "    raise RuntimeError('all dimensions of input must be of equal length')\n"
             "x.view(-1)[::sum([n ** k for k in range(input.ndim)])] = fill_value\n"
             "return x"},
    {"select_scatter(input, src, dim, index)", TORCH | METHOD, .body = WRITTEN("x.select(dim, index)")},
    {"slice_scatter(input, src, dim=0, start=None, end=None, step=1)", TORCH | METHOD,
     .body = "x = _own(input)\n"
             "_part_for(x.movedim(dim, 0)[start:end:step].movedim(0, dim), src).copy_(src)\n"
             "return x"},
    {"diagonal_scatter(input, src, offset=0, dim1=0, dim2=1)", TORCH | METHOD,
     .body = WRITTEN("x.diagonal(offset, dim1, dim2)")},
    {"_own(input)", HIDDEN | VIEW, .build = fn_own},
    {"_part_for(part, source)", HIDDEN | VIEW, .build = fn_part_for},
    {"index_put(input, indices, values, accumulate=False)", TORCH | METHOD, .build = fn_index_put},
    /* each true element takes the next one of the source */
    {"masked_scatter(input, mask, source)", TORCH | METHOD,
     .body = "chosen = _mask_of(input, mask, source)\n"
             "at = (chosen.flatten().cumsum(0) - 1).reshape(chosen.shape)\n"
             "return (input * 1 if _is_empty(source, None) else"
             " where(chosen, source.flatten()[where(chosen, at, 0)], input))"},
    {"_mask_of(input, mask, source)", HIDDEN, .build = fn_mask_of},
    {"index_reduce(input, dim, index, source, reduce, include_self=True)", TORCH | METHOD,
     .body =
         "return input.scatter_reduce(dim, _spread(index, source, dim), source, _no_sum(reduce), include_self)"},
    {"_no_sum(reduce)", HIDDEN, .build = fn_no_sum},
    {"_spread(index, source, dim)", HIDDEN, .build = fn_spread},
    {"put(input, index, source, accumulate=False)", TORCH | METHOD,
     .body =
         "return input.flatten().index_put((index.flatten(),), source.flatten(), accumulate).reshape(input.shape)"},
    {.signature = NULL},
};
