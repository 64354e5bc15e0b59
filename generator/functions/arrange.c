/* arrange.c - the elements of a tensor repeated, turned, masked by their place. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* ---- repeating ---------------------------------------------------------------------------------------------- */

/* Each dimension as often as `times` says: (a, b) becomes (1, a, 1, b), (m, a, n, b), (m * a, n * b). Dimensions of one, and
 * those that are there once, need no axis of their own. */
static struct value *repeated(struct eval *eval, struct loc loc, struct value *x,
                              const struct dim *const *times)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *apart[2 * MAX_DIMS], *wide[2 * MAX_DIMS], *dims[MAX_DIMS];
    int n = 0, ndim = x->ndim;

    for (int i = 0; i < ndim; i++) {
        bool single = dim_equals(x->dims[i], 1);

        dims[i] = dim_mul(arena, x->dims[i], times[i]);
        if (!single && !dim_equals(times[i], 1)) {
            apart[n] = dim_const(arena, 1);
            wide[n++] = times[i];
        }
        apart[n] = x->dims[i];
        wide[n++] = single ? times[i] : x->dims[i];
    }
    if (n > MAX_DIMS) {
        diag_error(eval->cx, loc,
                   "a tensor has at most %d dimensions, and one more for each that is repeated here",
                   MAX_DIMS);
        return NULL;
    }
    x = build_reshape(eval, loc, x, n, apart);
    x = x ? build_expand(eval, loc, x, n, wide) : NULL;
    return x ? build_reshape(eval, loc, x, ndim, dims) : NULL;
}

static bool need_times(struct eval *eval, const char *what, const struct ev *times)
{
    for (int i = 0; i < times->count; i++) {
        if (times->items[i].kind == EV_INT && dim_upper(times->items[i].dim) >= 0)
            continue;
        diag_error(eval->cx, times->items[i].loc, "%s takes integers that are not negative, found %s", what,
                   ev_text(eval, &times->items[i]));
        return false;
    }
    if (times->count > MAX_DIMS)
        diag_error(eval->cx, times->loc, "a tensor has at most %d dimensions", MAX_DIMS);
    return times->count <= MAX_DIMS;
}

/* repeat, and tile, for which missing numbers are ones. */
static struct ev repeat(struct eval *eval, struct ev *args, struct loc loc, const char *what, bool tile)
{
    const struct dim *times[MAX_DIMS];
    struct ev given = args[1];
    struct value *x;

    if (!need_tensor(eval, what, &args[0]))
        return BAD;
    if (given.kind != EV_TUPLE)
        given = ev_tuple(eval, given.loc, &args[1], 1);
    x = args[0].tensor;
    if (!need_times(eval, what, &given))
        return BAD;
    if (given.count < x->ndim && !tile) {
        diag_error(
            eval->cx, given.loc,
            "number of dimensions of repeat dims can not be smaller than number of dimensions of tensor, %d",
            x->ndim);
        return BAD;
    }
    while (x && x->ndim < given.count)
        x = insert_axis(eval, loc, x, 0);
    for (int i = 0; x && i < x->ndim; i++) {
        int at = i - (x->ndim - given.count);

        times[i] = at < 0 ? dim_const(&eval->cx->arena, 1) : given.items[at].dim;
        build_need(eval, times[i]);
    }
    return ev_tensor(loc, x ? repeated(eval, loc, x, times) : NULL);
}

static struct ev fn_repeat(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return repeat(eval, args, loc, "repeat", false);
}

static struct ev fn_tile(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return repeat(eval, args, loc, "tile", true);
}

/* Each index as often as a known tensor says. */
static struct value *repeated_indices(struct eval *eval, struct loc loc, const struct tensor *repeats,
                                      int64_t extent)
{
    struct tensor *index = ARENA_NEW(&eval->cx->arena, struct tensor);
    int64_t n = 0;

    index->dtype = DTYPE_INT64;
    index->ndim = 1;
    for (int64_t i = 0; i < extent; i++) {
        int64_t times = repeats->data[tensor_count(repeats) == 1 ? 0 : i].i;

        if (times < 0 || index->dims[0] + times > EVAL_MAX_ITEMS) {
            diag_error(eval->cx, loc,
                       "repeat_interleave takes numbers that are not negative or huge, found %lld",
                       (long long)times);
            return NULL;
        }
        index->dims[0] += times;
    }
    index->data = ARENA_ARRAY(&eval->cx->arena, index->dims[0] + 1, union scalar);
    for (int64_t i = 0; i < extent; i++)
        for (int64_t k = repeats->data[tensor_count(repeats) == 1 ? 0 : i].i; k > 0; k--)
            index->data[n++].i = i;
    return build_const(eval, loc, index);
}

/* By a tensor of numbers, one for each element along the axis. */
static struct ev interleave_each(struct eval *eval, struct loc loc, struct value *x, int axis,
                                 const struct ev *repeats)
{
    const struct tensor *known = repeats->tensor->constant;
    struct value *index;
    int64_t extent;

    if (!known || !dim_is_const(x->dims[axis], &extent)) {
        diag_error(eval->cx, repeats->loc,
                   "repeats that are not known would give a shape that depends on their values");
        return BAD;
    }
    if (!dtype_is_int(known->dtype) || known->ndim > 1 ||
        (tensor_count(known) != 1 && tensor_count(known) != extent)) {
        diag_error(eval->cx, repeats->loc,
                   "repeats must have the same size as input along dim, %lld, and be integers",
                   (long long)extent);
        return BAD;
    }
    index = repeated_indices(eval, repeats->loc, known, extent);
    return ev_tensor(loc, index ? build_gather(eval, loc, "repeat", x, axis, index, false, false) : NULL);
}

/* Along an axis of a tensor with dimensions. */
static struct ev fn_repeat_interleave(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct dim *dims[MAX_DIMS], *wide[MAX_DIMS];
    struct ev times = ev_tuple(eval, args[1].loc, &args[1], 1);
    struct value *x, *apart;
    int axis;
    (void)count;

    if (!need_tensor(eval, "repeat_interleave", &args[0]) ||
        !need_axis(eval, "repeat_interleave", &args[2], args[0].tensor->ndim, &axis))
        return BAD;
    x = args[0].tensor;
    if (args[1].kind == EV_TENSOR)
        return interleave_each(eval, loc, x, axis, &args[1]);
    if (!need_times(eval, "repeat_interleave", &times))
        return BAD;
    build_need(eval, args[1].dim);
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = dim_mul(&eval->cx->arena, dims[axis], args[1].dim);
    apart = insert_axis(eval, loc, x, axis + 1);
    if (!apart)
        return BAD;
    memcpy(wide, apart->dims, sizeof wide);
    wide[axis + 1] = args[1].dim;
    apart = build_expand(eval, loc, apart, apart->ndim, wide);
    return ev_tensor(loc, apart ? build_reshape(eval, loc, apart, x->ndim, dims) : NULL);
}

/* x along an axis, by a number of places, what leaves at the end comes back in front. */
static struct ev roll(struct eval *eval, struct loc loc, const struct ev *input, const struct ev *shift,
                      const struct ev *dim)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent, *gap, *zero = dim_const(arena, 0), *one = dim_const(arena, 1);
    struct value *parts[2];
    int axis;

    if (!need_axis(eval, "roll", dim, input->tensor->ndim, &axis))
        return BAD;
    if (shift->kind != EV_INT) {
        diag_error(eval->cx, shift->loc, "roll takes integers as shifts, found %s", ev_text(eval, shift));
        return BAD;
    }
    if (input->tensor->ndim == 0 || dim_equals(input->tensor->dims[axis], 0))
        return *input;
    extent = input->tensor->dims[axis];
    gap = dim_mod(arena, shift->dim, dim_max(arena, extent, one)); /* a size may be 0 */
    parts[0] = build_slice(eval, loc, input->tensor, axis, dim_sub(arena, extent, gap), one, gap);
    parts[1] = build_slice(eval, loc, input->tensor, axis, zero, one, dim_sub(arena, extent, gap));
    if (!parts[0] || !parts[1] || dim_equals(gap, 0))
        return dim_equals(gap, 0) ? *input : BAD;
    return ev_tensor(loc, build_concat(eval, loc, "roll", parts, 2, axis));
}

/* By each pair of a shift and a dimension. */
static struct ev fn_roll(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev out = args[0];
    bool several = args[1].kind == EV_TUPLE, dims = args[2].kind == EV_TUPLE;
    int shifts = several ? args[1].count : 1, axes = dims ? args[2].count : 1;
    (void)count;

    if (!need_tensor(eval, "roll", &args[0]))
        return BAD;
    if (shifts != axes) {
        diag_error(eval->cx, loc, "roll: shifts and dimensions must align. shifts: %d, dims: %d", shifts,
                   axes);
        return BAD;
    }
    for (int i = 0; i < shifts && out.kind != EV_BAD; i++)
        out = roll(eval, loc, &out, several ? &args[1].items[i] : &args[1],
                   dims ? &args[2].items[i] : &args[2]);
    return out;
}

/* ---- by place ----------------------------------------------------------------------------------------------- */

/* where(columns - rows <= diagonal, x, fill), as `kind` says: below, above, or on the diagonal. One map over x and the two
 * vectors, where a mask of constants would be as large as the matrix. */
static struct ev fn_band(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    struct dag *dag = dag_new(arena, 3);
    struct value *tensors[3] = {args[0].tensor, args[1].tensor, args[2].tensor};
    enum dtype dtype = args[0].tensor->dtype;
    enum prim prim = args[4].text[0] == 'b' ? PRIM_LE : args[4].text[0] == 'a' ? PRIM_GE : PRIM_EQ;
    int64_t diagonal, most = INT32_MAX / 2;
    double fill = 0;
    int gap, kept;
    (void)count;

    if (!need_int(eval, "tril", &args[3], &diagonal))
        return BAD;
    ev_get_number(&args[5], &fill);
    diagonal = diagonal < -most ? -most : diagonal > most ? most : diagonal;
    gap = dag_prim(arena, dag, PRIM_SUB, DTYPE_INT32, dag_load(arena, dag, 2, DTYPE_INT32),
                   dag_load(arena, dag, 1, DTYPE_INT32), -1);
    kept = dag_prim(arena, dag, prim, DTYPE_BOOL, gap, dag_integer(arena, dag, DTYPE_INT32, diagonal), -1);
    dag->result = dag_prim(arena, dag, PRIM_SELECT, dtype, kept, dag_load(arena, dag, 0, dtype),
                           dag_const(arena, dag, dtype, fill));
    return ev_tensor(loc, build_map(eval, loc, "band", dag, tensors, 3));
}

/* The tensor, if it has dimensions of that number. */
static struct ev fn_check_dims(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t least, most;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_int(eval, "this", &args[1], &least) ||
        !need_int(eval, "this", &args[2], &most))
        return BAD;
    if (args[0].tensor->ndim >= least && args[0].tensor->ndim <= most)
        return args[0];
    diag_error(eval->cx, args[0].loc, "%s takes a tensor of %lld%s dimensions, found %s", outer(eval, "this"),
               (long long)least,
               most == least       ? ""
               : most == least + 1 ? arena_format(&eval->cx->arena, " or %lld", (long long)most)
                                   : " or more",
               shape_text(&eval->cx->arena, args[0].tensor->ndim, args[0].tensor->dims));
    return BAD;
}

/* Two different dimensions. */
static bool need_two(struct eval *eval, struct loc loc, const char *what, int ndim, const struct ev *dim1,
                     const struct ev *dim2, int *first, int *second)
{
    if (!need_axis(eval, what, dim1, ndim, first) || !need_axis(eval, what, dim2, ndim, second))
        return false;
    if (*first != *second)
        return true;
    diag_error(eval->cx, loc, "%s: diagonal dimensions cannot be identical %s, %s", outer(eval, what),
               ev_text(eval, dim1), ev_text(eval, dim2));
    return false;
}

struct value *build_diagonal(struct eval *eval, struct loc loc, struct value *x, int64_t offset)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *rows = x->dims[x->ndim - 2], *columns = x->dims[x->ndim - 1];
    const struct dim *zero = dim_const(arena, 0), *down = dim_const(arena, offset < 0 ? -offset : 0);
    const struct dim *right = dim_const(arena, offset > 0 ? offset : 0), *length, *start;
    int n = x->ndim - 1;

    length = dim_max(arena, dim_min(arena, dim_sub(arena, rows, down), dim_sub(arena, columns, right)), zero);
    start = dim_add(arena, dim_mul(arena, down, columns), right);
    if (dim_equals(length, 0))
        start = zero;
    memcpy(dims, x->dims, sizeof dims);
    dims[n - 1] = dim_mul(arena, rows, columns);
    x = build_reshape(eval, loc, x, n, dims);
    return x ? build_slice(eval, loc, x, n - 1, start, dim_add(arena, columns, dim_const(arena, 1)), length)
             : NULL;
}

static struct ev fn_diagonal(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int perm[MAX_DIMS], first, second, n = 0;
    int64_t offset;
    struct value *x;
    (void)count;

    if (!need_tensor(eval, "diagonal", &args[0]) || !need_int(eval, "diagonal", &args[1], &offset) ||
        !need_two(eval, loc, "diagonal", args[0].tensor->ndim, &args[2], &args[3], &first, &second))
        return BAD;
    if (offset < -INT32_MAX || offset > INT32_MAX) {
        diag_error(eval->cx, args[1].loc, "%s: the offset %lld is too large", outer(eval, "diagonal"),
                   (long long)offset);
        return BAD;
    }
    x = args[0].tensor;
    for (int i = 0; i < x->ndim; i++)
        if (i != first && i != second)
            perm[n++] = i;
    perm[n++] = first;
    perm[n] = second;
    x = build_permute(eval, loc, x, perm);
    return ev_tensor(loc, x ? build_diagonal(eval, loc, x, offset) : NULL);
}

/* The last two dimensions to where diag_embed wants them. */
static struct ev fn_two_placed(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x = args[0].tensor;
    int perm[MAX_DIMS], first, second, n = 0;
    (void)count;

    if (!need_two(eval, loc, "diag_embed", x->ndim, &args[1], &args[2], &first, &second))
        return BAD;
    for (int i = 0; i < x->ndim; i++)
        perm[i] = i == first ? x->ndim - 2 : i == second ? x->ndim - 1 : n++;
    return ev_tensor(loc, build_permute(eval, loc, x, perm));
}

/* The number of classes, after a check that every element is one. */
static struct ev fn_classes(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t classes;
    const struct tensor *known;
    (void)count;

    if (!need_tensor(eval, "one_hot", &args[0]) || !need_int(eval, "one_hot", &args[1], &classes))
        return BAD;
    if (args[0].tensor->dtype != DTYPE_INT64) {
        diag_error(eval->cx, loc, "one_hot is only applicable to an index tensor of int64, found %s",
                   dtype_rows[args[0].tensor->dtype].name);
        diag_hint(eval->cx, "convert it with .long()");
        return BAD;
    }
    known = args[0].tensor->constant;
    if (classes == -1 && !known) {
        diag_error(eval->cx, loc,
                   "one_hot without num_classes would give a shape that depends on the values");
        diag_hint(eval->cx, "say how many classes there are");
        return BAD;
    }
    if (classes == -1)
        for (int64_t i = 0; i < tensor_count(known); i++)
            classes = known->data[i].i >= classes ? known->data[i].i + 1 : classes;
    if (classes < 1 || classes > INT32_MAX) {
        diag_error(eval->cx, args[1].loc, "one_hot: num_classes should be positive, found %lld",
                   (long long)classes);
        return BAD;
    }
    if (!build_in_range(eval, loc, "one_hot", args[0].tensor, dim_const(&eval->cx->arena, classes), false))
        return BAD;
    return ev_int(eval, loc, classes);
}

extern const struct function_row arrange_functions[];

#define BAND(kind)                                                                                             \
    "x = _check_dims(input, 2, 8)\n"                                                                           \
    "return _band(x, arange(x.shape[-2], dtype=torch.int32)[:, None], arange(x.shape[-1], dtype=torch.int32)," \
    " diagonal, '" kind "', 0)"

const struct function_row arrange_functions[] = {
    {"repeat(input, repeats)", METHOD | VARARGS, .build = fn_repeat},
    {"tile(input, dims)", TORCH | METHOD | VARARGS, .build = fn_tile},
    {"repeat_interleave(input, repeats, dim=None, output_size=None)", TORCH | METHOD,
     .body =
         "flat = dim == None or input.ndim == 0\n"
         "return _repeat_interleave(input.flatten() if flat else input, repeats, 0 if dim == None else dim)"},
    {"_repeat_interleave(input, repeats, dim)", HIDDEN, .build = fn_repeat_interleave},
    {"roll(input, shifts, dims=None)", TORCH | METHOD,
     .body =
         "return (_roll(input.flatten(), shifts, 0).reshape(input.shape) if dims == None or dims == () else"
         " _roll(input, shifts, dims))"},
    {"_roll(input, shifts, dims)", HIDDEN, .build = fn_roll},
    {"tril(input, diagonal=0)", TORCH | METHOD, .body = BAND("below")},
    {"triu(input, diagonal=0)", TORCH | METHOD, .body = BAND("above")},
    {"_band(input, rows, columns, diagonal, kind, fill)", HIDDEN, .build = fn_band},
    {"_check_dims(input, least, most)", HIDDEN, .build = fn_check_dims},
    {"diagonal(input, offset=0, dim1=0, dim2=1)", TORCH | METHOD | VIEW, .build = fn_diagonal},
    {"diag_embed(input, offset=0, dim1=-2, dim2=-1)", TORCH | METHOD,
     .body =
         "size = _check_dims(input, 1, 7).shape[-1] + abs(offset)\n"
         "x = cat((input, zeros(input.shape[:-1] + (abs(offset),), dtype=input.dtype)), -1)\n"
         "return _two_placed(_band(x[..., None] if offset >= 0 else x[..., None, :],"
         " arange(size, dtype=torch.int32)[:, None], arange(size, dtype=torch.int32), offset, 'on', 0), dim1, dim2)"},
    {"_two_placed(input, dim1, dim2)", HIDDEN, .build = fn_two_placed},
    {"diag(input, diagonal=0)", TORCH | METHOD,
     .body = "x = _check_dims(input, 1, 2)\n"
             "return diag_embed(x, diagonal) if x.ndim == 1 else x.diagonal(diagonal)"},
    {"trace(input)", TORCH | METHOD, .body = "return _check_dims(input, 2, 2).diagonal().sum()"},
    {"one_hot(tensor, num_classes=-1)", FUNCTIONAL,
     .body = "return (tensor.unsqueeze(-1) == arange(_classes(tensor, num_classes))).long()"},
    {"_classes(tensor, num_classes)", HIDDEN, .build = fn_classes},
    {.signature = NULL},
};
