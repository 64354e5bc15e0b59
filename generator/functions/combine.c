/* combine.c - tensors made of all pairs, products and choices of the elements of others, and the indices for that. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

enum { MOST_INDICES = 1 << 22 };

/* Rows of indices that are known: `count` of them, `width` long. NULL after an error: they are too many. */
static struct tensor *new_indices(struct eval *eval, struct loc loc, const char *what, int64_t count,
                                  int64_t width)
{
    struct tensor *out = ARENA_NEW(&eval->cx->arena, struct tensor);

    if (count * width > MOST_INDICES) {
        diag_error(eval->cx, loc, "%s would give more than %d indices", outer(eval, what), MOST_INDICES);
        return NULL;
    }
    out->dtype = DTYPE_INT64;
    out->ndim = 2;
    out->dims[0] = count;
    out->dims[1] = width;
    out->data = ARENA_ARRAY(&eval->cx->arena, count * width + 1, union scalar);
    return out;
}

/* The places of a matrix on and below, or on and above, a diagonal: (2, count), row by row. */
static struct ev triangle(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool upper)
{
    int64_t rows, columns, offset, count = 0;
    enum dtype dtype;
    struct tensor *out = NULL;

    if (!need_int(eval, what, &args[0], &rows) || !need_int(eval, what, &args[1], &columns) ||
        !need_int(eval, what, &args[2], &offset) || !need_dtype(eval, &args[3], DTYPE_INT64, &dtype))
        return BAD;
    if (rows < 0 || columns < 0 || rows > MOST_INDICES || columns > MOST_INDICES || offset < -INT32_MAX ||
        offset > INT32_MAX || (dtype != DTYPE_INT64 && dtype != DTYPE_INT32)) {
        diag_error(
            eval->cx, loc,
            "%s: rows and columns must not be negative or huge, the type int64 or int32, found %lld, %lld, %s",
            what, (long long)rows, (long long)columns, dtype_rows[dtype].name);
        return BAD;
    }
    for (int pass = 0; pass < 2; pass++) {
        int64_t at = 0;

        for (int64_t i = 0; i < rows; i++) {
            int64_t edge = i + offset < 0 ? (upper ? 0 : -1) : i + offset, from = upper ? edge : 0;
            int64_t to = upper ? columns : edge + 1 < columns ? edge + 1 : columns;

            if (!pass) {
                at += to > from ? to - from : 0;
                continue;
            }
            for (int64_t j = from; j < to; j++, at++) {
                out->data[at].i = i;
                out->data[count + at].i = j;
            }
        }
        count = at;
        if (!pass && !(out = new_indices(eval, loc, what, 2, count)))
            return BAD;
    }
    return ev_tensor(loc, build_cast(eval, loc, build_const(eval, loc, out), dtype));
}

static struct ev fn_tril_indices(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return triangle(eval, args, loc, "tril_indices", false);
}

static struct ev fn_triu_indices(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return triangle(eval, args, loc, "triu_indices", true);
}

/* The next choice of `r` numbers below n that do not fall, or with `apart` rise. False: that was the last. */
static bool next_choice(int64_t *choice, int64_t r, int64_t n, bool apart)
{
    int64_t i = r - 1;

    while (i >= 0 && choice[i] == (apart ? n - r + i : n - 1))
        i--;
    if (i < 0)
        return false;
    choice[i]++;
    for (int64_t k = i + 1; k < r; k++)
        choice[k] = choice[k - 1] + apart;
    return true;
}

/* All choices of r of the elements: indices, (count, r). */
static struct ev fn_choices(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t r, n, choice[16] = {0}, found = 0;
    bool again, more;
    struct tensor *out = NULL;
    (void)count;

    if (!need_tensor(eval, "combinations", &args[0]) || !need_int(eval, "combinations", &args[1], &r) ||
        !need_bool(eval, "with_replacement", &args[2], &again))
        return BAD;
    if (args[0].tensor->ndim != 1 || !dim_is_const(args[0].tensor->dims[0], &n) || r < 0 || r > 16) {
        diag_error(
            eval->cx, loc,
            "combinations takes a vector whose length is known while generating, and r from 0 to 16, found %s, %lld",
            shape_text(&eval->cx->arena, args[0].tensor->ndim, args[0].tensor->dims), (long long)r);
        return BAD;
    }
    for (int pass = 0; pass < 2; pass++) {
        found = 0;
        for (int64_t k = 0; k < r; k++)
            choice[k] = again ? 0 : k;
        more = r > 0 && (again ? n > 0 : n >= r);
        while (more && found * r <= MOST_INDICES) {
            for (int64_t k = 0; pass && k < r; k++)
                out->data[found * r + k].i = choice[k];
            found++;
            more = next_choice(choice, r, n, !again);
        }
        if (!pass && !(out = new_indices(eval, loc, "combinations", found, r > 0 ? r : 1)))
            return BAD;
    }
    if (r == 0) { /* PyTorch gives no elements, without a second dimension */
        out->ndim = 1;
        out->dims[0] = 0;
    }
    return ev_tensor(loc, build_const(eval, loc, out));
}

/* Each dimension with one of 1 behind it, or before: what kron multiplies. */
static struct ev fn_interleaved(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[2 * MAX_DIMS], *one = dim_const(&eval->cx->arena, 1);
    const struct value *x = args[0].tensor, *y = args[1].tensor;
    int ndim, n = 0;
    bool behind;
    (void)count;

    if (!need_tensor(eval, "kron", &args[0]) || !need_tensor(eval, "kron", &args[1]) ||
        !need_bool(eval, "this", &args[2], &behind))
        return BAD;
    ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
    if (2 * ndim > MAX_DIMS) {
        diag_error(eval->cx, loc, "kron takes tensors of at most %d dimensions", MAX_DIMS / 2);
        return BAD;
    }
    for (int i = 0; i < ndim; i++) {
        const struct dim *own = i < ndim - x->ndim ? one : x->dims[i - (ndim - x->ndim)];

        dims[n++] = behind ? own : one;
        dims[n++] = behind ? one : own;
    }
    return ev_tensor(loc, build_reshape(eval, loc, args[0].tensor, n, dims));
}

/* Neighbouring dimensions as one. */
static struct ev fn_joined_pairs(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS];
    struct value *x = args[0].tensor;
    (void)count;

    for (int i = 0; i < x->ndim / 2; i++)
        dims[i] = dim_mul(&eval->cx->arena, x->dims[2 * i], x->dims[2 * i + 1]);
    return ev_tensor(loc, build_reshape(eval, loc, x, x->ndim / 2, dims));
}

/* Tensors given one by one, or as one list, of at most `most` dimensions. NULL after an error. */
static const struct ev *need_several(struct eval *eval, const char *what, const struct ev *list, int most)
{
    if (list->kind == EV_TUPLE && list->count == 1 && list->items[0].kind == EV_TUPLE)
        list = &list->items[0];
    if (list->kind != EV_TUPLE || list->count == 0) {
        diag_error(eval->cx, list->loc, "%s takes tensors, found %s", what, ev_text(eval, list));
        return NULL;
    }
    for (int i = 0; i < list->count; i++) {
        if (!need_tensor(eval, what, &list->items[i]))
            return NULL;
        if (list->items[i].tensor->ndim <= most)
            continue;
        diag_error(eval->cx, list->items[i].loc, "%s takes tensors of at most %d dimensions, found %s", what,
                   most,
                   shape_text(&eval->cx->arena, list->items[i].tensor->ndim, list->items[i].tensor->dims));
        return NULL;
    }
    return list;
}

static struct ev fn_block_diag(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev *list = need_several(eval, "block_diag", &args[0], 2);
    const struct dim *width = dim_const(arena, 0), *zero = width, *at = width;
    struct value **rows;
    enum dtype dtype = DTYPE_BOOL;
    (void)count;

    if (!list)
        return BAD;
    rows = ARENA_ARRAY(arena, list->count, struct value *);
    for (int i = 0; i < list->count; i++) {
        const struct dim *dims[2] = {dim_const(arena, 1), dim_const(arena, 1)};
        struct value *x = list->items[i].tensor;

        for (int k = 0; k < x->ndim; k++)
            dims[2 - x->ndim + k] = x->dims[k];
        rows[i] = build_reshape(eval, loc, x, 2, dims);
        width = dim_add(arena, width, dims[1]);
        dtype = i == 0 ? x->dtype : dtype_promote(dtype, x->dtype);
    }
    for (int i = 0; i < list->count; i++) {
        const struct dim *own = rows[i]->dims[1];
        const struct dim *rest = dim_sub(arena, width, dim_add(arena, at, own));
        struct ev nothing = ev_none(loc);

        rows[i] = build_cast(eval, loc, rows[i], dtype);
        rows[i] = rows[i] ? pad_axis(eval, loc, PAD_CONSTANT, rows[i], 1, dim_max(arena, at, zero), rest,
                                     pad_fill(eval, loc, &nothing, dtype))
                          : NULL;
        if (!rows[i])
            return BAD;
        at = dim_add(arena, at, own);
    }
    return ev_tensor(loc, build_concat(eval, loc, "block_diag", rows, list->count, 0));
}

static struct ev fn_cartesian_prod(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev *list = need_several(eval, "cartesian_prod", &args[0], 1);
    const struct dim *dims[MAX_DIMS], *flat[2] = {dim_const(arena, 1), dim_const(arena, 1)};
    struct value **columns;
    (void)count;

    if (!list)
        return BAD;
    for (int i = 0; i < list->count; i++) {
        if (list->count <= MAX_DIMS && list->items[i].tensor->ndim == 1 &&
            list->items[i].tensor->dtype == list->items[0].tensor->dtype)
            continue;
        diag_error(eval->cx, list->items[i].loc,
                   "cartesian_prod takes at most %d vectors of one type, found %s of %s", MAX_DIMS,
                   shape_text(arena, list->items[i].tensor->ndim, list->items[i].tensor->dims),
                   dtype_rows[list->items[i].tensor->dtype].name);
        return BAD;
    }
    if (list->count == 1)
        return list->items[0];
    columns = ARENA_ARRAY(arena, list->count, struct value *);
    for (int i = 0; i < list->count; i++) {
        dims[i] = list->items[i].tensor->dims[0];
        flat[0] = dim_mul(arena, flat[0], dims[i]);
    }
    for (int i = 0; i < list->count; i++) {
        const struct dim *own[MAX_DIMS];

        for (int k = 0; k < list->count; k++)
            own[k] = k == i ? dims[k] : dim_const(arena, 1);
        columns[i] = build_reshape(eval, loc, list->items[i].tensor, list->count, own);
        columns[i] = columns[i] ? build_expand(eval, loc, columns[i], list->count, dims) : NULL;
        columns[i] = columns[i] ? build_reshape(eval, loc, columns[i], 2, flat) : NULL;
        if (!columns[i])
            return BAD;
    }
    return ev_tensor(loc, build_concat(eval, loc, "cartesian_prod", columns, list->count, 1));
}

/* The first dimension of three elements. */
static struct ev fn_cross_axis(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor, *y = args[1].tensor;
    int axis = 0;
    (void)count;

    if (!need_tensor(eval, "cross", &args[0]) || !need_tensor(eval, "cross", &args[1]))
        return BAD;
    if (args[2].kind != EV_NONE) {
        if (!need_axis(eval, "cross", &args[2], x->ndim > y->ndim ? x->ndim : y->ndim, &axis))
            return BAD;
        axis -= x->ndim > y->ndim ? x->ndim : y->ndim; /* from the end: the shapes broadcast */
    } else {
        while (axis < x->ndim && !dim_equals(x->dims[axis], 3))
            axis++;
        axis -= x->ndim;
    }
    if (axis < 0 && x->ndim == y->ndim && dim_equals(x->dims[x->ndim + axis], 3) &&
        dim_equals(y->dims[y->ndim + axis], 3))
        return ev_int(eval, loc, axis);
    diag_error(
        eval->cx, loc,
        "%s: inputs must have the same number of dimensions, and three elements along the one that it goes along, "
        "found %s and %s",
        outer(eval, "cross"), shape_text(&eval->cx->arena, x->ndim, x->dims),
        shape_text(&eval->cx->arena, y->ndim, y->dims));
    return BAD;
}

/* The elements at places that strides lead to, of a tensor that lies row-major. */
static struct ev fn_as_strided(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *all[1];
    struct tensor *index;
    int64_t offset = 0, total = 1, strides[MAX_DIMS], sizes[MAX_DIMS];
    struct value *flat;
    int ndim;
    (void)count;

    if (!need_tensor(eval, "as_strided", &args[0]) ||
        !need_shape(eval, "as_strided", &args[1], NULL, dims, &ndim) ||
        (args[3].kind != EV_NONE && !need_int(eval, "as_strided", &args[3], &offset)))
        return BAD;
    if (args[2].kind != EV_TUPLE || args[2].count != ndim) {
        diag_error(eval->cx, args[2].loc, "as_strided: mismatch in length of strides and shape, found %s",
                   ev_text(eval, &args[2]));
        return BAD;
    }
    if (!build_is_dense(eval, args[0].tensor)) {
        diag_error(eval->cx, args[0].loc,
                   "as_strided takes a tensor that surely lies row-major without gaps");
        diag_hint(eval->cx, "clone() it first, where it is a view or comes from another module");
        return BAD;
    }
    for (int i = 0; i < ndim; i++) {
        if (!need_int(eval, "as_strided", &args[2].items[i], &strides[i]))
            return BAD;
        if (!dim_is_const(dims[i], &sizes[i]) || sizes[i] > MOST_INDICES || strides[i] < 0 ||
            strides[i] > INT32_MAX || (total *= sizes[i]) > MOST_INDICES) {
            diag_error(
                eval->cx, loc,
                "as_strided takes sizes that are known while generating, and strides that are not negative, of "
                "at most %d elements",
                MOST_INDICES);
            return BAD;
        }
    }
    index = new_indices(eval, loc, "as_strided", total, 1);
    if (!index)
        return BAD;
    for (int64_t at = 0; at < total; at++) {
        int64_t rest = at, place = offset;

        for (int i = ndim - 1; i >= 0; rest /= sizes[i--])
            place += rest % sizes[i] * strides[i];
        index->data[at].i = place;
    }
    index->ndim = ndim;
    memcpy(index->dims, sizes, (size_t)ndim * sizeof *sizes);
    all[0] = dims_count(arena, args[0].tensor);
    flat = build_reshape(eval, loc, args[0].tensor, 1, all);
    flat = flat ? build_gather(eval, loc, "as_strided", flat, 0, build_const(eval, loc, index), false, false)
                : NULL;
    return flat ? build_beside(ev_tensor(loc, flat), args[0].tensor) : BAD;
}

extern const struct function_row combine_functions[];

#define CROSS                                                                                                \
    "axis = _cross_axis(input, other, dim)\n"                                                                \
    "a = input.expand(torch.broadcast_tensors(input, other)[0].shape)\n"                                     \
    "b = other.expand(a.shape)\n"                                                                            \
    "return a.roll(-1, axis) * b.roll(-2, axis) - a.roll(-2, axis) * b.roll(-1, axis)"

const struct function_row combine_functions[] = {
    {"tril_indices(row, col, offset=0, dtype=None)", TORCH, .build = fn_tril_indices},
    {"triu_indices(row, col, offset=0, dtype=None)", TORCH, .build = fn_triu_indices},
    {"combinations(input, r=2, with_replacement=False)", TORCH,
     .body = "return input[_choices(input, r, with_replacement)]"},
    {"_choices(input, r, with_replacement)", HIDDEN, .build = fn_choices},
    {"kron(input, other)", TORCH | METHOD,
     .body = "return _joined_pairs(_interleaved(input, other, True) * _interleaved(other, input, False))"},
    {"_interleaved(input, other, behind)", HIDDEN, .build = fn_interleaved},
    {"_joined_pairs(input)", HIDDEN, .build = fn_joined_pairs},
    {"block_diag(tensors)", TORCH | FUNCTION_SIZES, .build = fn_block_diag},
    {"cartesian_prod(tensors)", TORCH | FUNCTION_SIZES | VIEW, .build = fn_cartesian_prod},
    {"cross(input, other, dim=None)", TORCH | METHOD, .body = CROSS},
    {"linalg.cross(input, other, *, dim=-1)", TORCH, .body = CROSS},
    {"_cross_axis(input, other, dim)", HIDDEN, .build = fn_cross_axis},
    {"vander(x, N=None, increasing=False)", TORCH,
     .body = "n = _check_dims(x, 1, 1).shape[0] if N is None else N\n"
             "y = x if x.is_floating_point() else x.long()\n"
             "powers = cat((torch.ones_like(y)[:, None], y[:, None].expand(-1, n).cumprod(1)), 1)[:, :n]\n"
             "return powers if increasing else powers.flip(1)"},
    {"rot90(input, k=1, dims=(0, 1))", TORCH | METHOD,
     .body =
         "x = _check_dims(input, 2, 8)\n"
         "turned = k % 4\n"
         "return (x.flip(dims[1]).transpose(dims[0], dims[1]) if turned == 1 else x.flip(dims) if turned == 2 else"
         " x.flip(dims[0]).transpose(dims[0], dims[1]) if turned == 3 else x)"},
    {"as_strided(input, size, stride, storage_offset=None)", TORCH | METHOD | VIEW, .build = fn_as_strided},
    /* ---- sums over what lies between ---- */
    {"trapezoid(y, x=None, *, dx=1.0, dim=-1)", TORCH, .body = "return _trapezoids(y, x, dx, dim).sum(dim)"},
    {"trapz(y, x=None, *, dx=1.0, dim=-1)", TORCH, .body = "return _trapezoids(y, x, dx, dim).sum(dim)"},
    {"cumulative_trapezoid(y, x=None, *, dx=1.0, dim=-1)", TORCH,
     .body = "return _trapezoids(y, x, dx, dim).cumsum(dim)"},
    {"_trapezoids(y, x, dx, dim)", HIDDEN,
     .body = "axis = dim if dim < 0 else dim - y.ndim\n"
             "length = 0 if _is_empty(y, dim) else y.shape[dim] - 1\n"
             "pairs = y.narrow(dim, 0, length) + y.narrow(dim, y.shape[dim] - length, length)\n"
             "width = (dx if x is None else x.diff(1, axis) if x.ndim > 1 or y.ndim == 1 else"
             " _along(x.diff(), -1 - axis))\n"
             "return pairs * width / 2.0"},
    {"_along(x, behind)", HIDDEN, .body = "return x.reshape(x.shape + (1,) * behind)"},
    /* ---- what varies together ---- */
    {"cov(input, *, correction=1, fweights=None, aweights=None)", TORCH | METHOD,
     .body =
         "x = _as_float(_check_dims(input, 0, 2).reshape((1, -1)) if input.ndim < 2 else _check_dims(input, 2, 2))\n"
         "w = fweights if aweights is None else aweights if fweights is None else fweights * aweights\n"
         "y = x if w is None else x * w\n"
         "total = x.shape[1] if w is None else w.sum()\n"
         "left = (_degrees(total, correction) if w is None else"
         " (total - correction * ((w * aweights).sum() / total) if aweights is not None and correction != 0 else"
         " total - correction).clamp(min=0))\n"
         "mean = y.sum(1, True) / total\n"
         "gap = x - mean\n"
         "out = gap @ (gap if w is None else gap * w).T / left\n"
         "return out.squeeze() if _equal(x.shape[0], 1) else out"},
    {"corrcoef(input)", TORCH | METHOD,
     .body = "c = input.cov()\n"
             "return c / c if c.ndim == 0 else _corrcoef(c)"},
    {"_corrcoef(c)", HIDDEN,
     .body = "d = torch.sqrt(c.diagonal())\n"
             "return (c / d[:, None] / d[None, :]).clamp(-1, 1)"},
    {.signature = NULL},
};
