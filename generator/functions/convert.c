/* convert.c - element types. */
#include "functions/rows.h"
#include "graph/graph.h"

static struct ev cast_to(struct eval *eval, struct ev *args, struct loc loc, enum dtype dtype)
{
    if (!need_tensor(eval, "a conversion", &args[0]))
        return BAD;
    return ev_tensor(loc, build_cast(eval, loc, args[0].tensor, dtype));
}

#define CAST(name, type)                                                                                     \
    static struct ev fn_##name(struct eval *eval, struct ev *args, int count, struct loc loc)                \
    {                                                                                                        \
        (void)count;                                                                                         \
        return cast_to(eval, args, loc, type);                                                               \
    }
CAST(half, DTYPE_FLOAT16)
CAST(bfloat16, DTYPE_BFLOAT16)
CAST(float, DTYPE_FLOAT32)
CAST(double, DTYPE_FLOAT64)
CAST(long, DTYPE_INT64)
CAST(int, DTYPE_INT32)
CAST(short, DTYPE_INT16)
CAST(char, DTYPE_INT8)
CAST(byte, DTYPE_UINT8)
CAST(bool, DTYPE_BOOL)

static struct ev fn_to(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    enum dtype dtype = DTYPE_FLOAT32;
    (void)count;

    if (args[1].kind == EV_TENSOR)
        dtype = args[1].tensor->dtype;
    else if (!need_dtype(eval, &args[1], args[0].kind == EV_TENSOR ? args[0].tensor->dtype : dtype, &dtype))
        return BAD;
    return cast_to(eval, args, loc, dtype);
}

/* note [bits]
 * x.view(dtype) goes by way of integers that are as wide as the elements: where the widths differ, elements are cut into parts or put
 * together of them, the lowest first. The result shows x's memory through another type, which no view of the graph does; so what
 * becomes of one in place is not known of the other (note [memory] in build_in_place.c). */

/* The same bits in a type that is as wide. */
static struct ev fn_same_bits(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    struct value *x = args[0].tensor;
    enum dtype to = args[1].dtype;
    struct dag *dag;
    (void)count;

    if (x->dtype != to && (dtype_is_half(x->dtype) || dtype_is_half(to))) {
        diag_error(eval->cx, loc, "view: the bits of %s are not supported as %s", dtype_rows[x->dtype].name,
                   dtype_rows[to].name);
        diag_hint(eval->cx, "x.float().view(torch.int32) shows those of the same numbers in float32");
        return BAD;
    }
    if (dtype_is_float(x->dtype) == dtype_is_float(to))
        return ev_tensor(loc, build_cast(eval, loc, x, to));
    dag = dag_new(arena, 1);
    dag->result = dag_prim(arena, dag, PRIM_BITS, to, dag_load(arena, dag, 0, x->dtype), 0, 0);
    return ev_tensor(loc, build_map(eval, loc, "bits", dag, &x, 1));
}

/* The integers that are as wide. */
static struct ev fn_integers_of(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const enum dtype integers[] = {
        [1] = DTYPE_UINT8, [2] = DTYPE_INT16, [4] = DTYPE_INT32, [8] = DTYPE_INT64};
    (void)eval;
    (void)count;

    return ev_dtype(loc, integers[dtype_rows[args[0].dtype].bytes]);
}

/* The type as which input can be seen. */
static struct ev fn_viewed_dtype(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    const struct dim *last, *quotient;
    int from, to;
    enum dtype dtype;
    (void)count;

    if (!need_dtype(eval, &args[1], DTYPE_FLOAT32, &dtype))
        return BAD;
    from = dtype_rows[x->dtype].bytes;
    to = dtype_rows[dtype].bytes;
    if (from == to)
        return ev_dtype(loc, dtype);
    if (x->ndim == 0) {
        diag_error(eval->cx, loc, "view: self.dim() cannot be 0 to view %s as %s (different element sizes)",
                   dtype_rows[x->dtype].name, dtype_rows[dtype].name);
        return BAD;
    }
    last = x->dims[x->ndim - 1];
    if (from > to || dim_divides(&eval->cx->arena, last, dim_const(&eval->cx->arena, to / from), &quotient))
        return ev_dtype(loc, dtype);
    diag_error(
        eval->cx, loc,
        "view: self.size(-1) must be divisible by %d to view %s as %s (different element sizes), but got %s",
        to / from, dtype_rows[x->dtype].name, dtype_rows[dtype].name, dim_text(&eval->cx->arena, last));
    return BAD;
}

/* What shares input's memory, though no view leads there. */
static struct ev fn_shows(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return build_beside(ev_tensor(loc, build_copy(eval, loc, args[0].tensor)), args[1].tensor);
}

static struct ev fn_is_floating_point(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_tensor(eval, "is_floating_point", &args[0]))
        return BAD;
    return ev_bool(loc, dtype_is_float(args[0].tensor->dtype));
}

/* x.view(2, 3), x.view(torch.int32), x.view(dtype=torch.int32) */
static struct ev fn_view(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev *given = args[1].kind == EV_TUPLE && args[1].count == 1 ? &args[1].items[0] : &args[1];
    const char *within = eval->within;
    const struct dim *dims[MAX_DIMS];
    struct scope scope = {0};
    struct ev out;
    int ndim;
    (void)count;

    if (!need_tensor(eval, "view", &args[0]))
        return BAD;
    if (args[1].kind == EV_NONE) /* which has its place in the signature */
        args[1].loc = loc;
    if (args[2].kind != EV_NONE)
        given = &args[2];
    if (given->kind != EV_DTYPE && given != &args[2]) {
        if (!need_shape(eval, "view", &args[1], args[0].tensor, dims, &ndim))
            return BAD;
        return ev_tensor(loc, build_reshaped(eval, loc, args[0].tensor, ndim, dims, true));
    }
    scope_bind(eval, &scope, "input", args[0]);
    scope_bind(eval, &scope, "dtype", *given);
    eval->at = loc;
    eval->within = outer(eval, "view");
    out = eval_body(eval, &scope,
                    "to = _viewed_dtype(input, dtype)\n"
                    "return (input.detach() if to == input.dtype else"
                    " _shows(_bits(_same_bits(input.detach(), _integers_of(input.dtype)), to), input))");
    eval->within = within;
    return out;
}

extern const struct function_row convert_functions[];

const struct function_row convert_functions[] = {
    {"is_floating_point(input)", TORCH | METHOD, .build = fn_is_floating_point},
    {"half(input)", METHOD | VIEW, .build = fn_half},
    {"bfloat16(input)", METHOD | VIEW, .build = fn_bfloat16},
    {"float(input)", METHOD | VIEW, .build = fn_float},
    {"double(input)", METHOD | VIEW, .build = fn_double},
    {"long(input)", METHOD | VIEW, .build = fn_long},
    {"int(input)", METHOD | VIEW, .build = fn_int},
    {"short(input)", METHOD | VIEW, .build = fn_short},
    {"char(input)", METHOD | VIEW, .build = fn_char},
    {"byte(input)", METHOD | VIEW, .build = fn_byte},
    {"bool(input)", METHOD | VIEW, .build = fn_bool},
    {"to(input, dtype, non_blocking=False, copy=False)", METHOD | VIEW, .build = fn_to},
    {"type(input, dtype)", METHOD | VIEW, .build = fn_to},
    {"type_as(input, other)", METHOD | VIEW, .body = "return input.to(other.dtype)"},
    {"view(input, shape=None, dtype=None)", METHOD | VARARGS | VIEW, .build = fn_view},
    {"_viewed_dtype(input, dtype)", HIDDEN, .build = fn_viewed_dtype},
    {"_shows(x, input)", HIDDEN, .build = fn_shows},
    /* integers as numbers of that type, whatever its width */
    {"_bits(x, dtype)", HIDDEN,
     .body =
         "own = _integers_of(dtype)\n"
         "have = x.dtype.itemsize\n"
         "want = dtype.itemsize\n"
         "return _same_bits((x if have == want else _cut_bits(x, have // want, 8 * want) if have > want else"
         " _joined_bits(x, own, want // have, 8 * have)).to(own), dtype)"},
    {"_cut_bits(x, parts, width)", HIDDEN,
     .body = "at = torch.arange(parts, dtype=x.dtype) * width\n"
             "return torch.bitwise_right_shift(x[..., None], at).flatten(-2)"},
    {"_joined_bits(x, own, parts, width)", HIDDEN,
     .body = "at = torch.arange(parts, dtype=own) * width\n"
             "digits = x.unflatten(-1, (-1, parts)).to(own) & (2 ** width - 1)\n"
             "return torch.bitwise_left_shift(digits, at).sum(-1)"},
    {"_same_bits(x, dtype)", HIDDEN, .build = fn_same_bits},
    {"_integers_of(dtype)", HIDDEN, .build = fn_integers_of},
    {.signature = NULL},
};
