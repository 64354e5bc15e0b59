/* complex.c - functions of complex tensors, and those that make them: note [pairs] in eval_complex.c.
 *
 * A row "complex.NAME" is what NAME means where an argument is complex, or asks for a complex type. Rows of shapes do to the pairs
 * what is asked for of the dimensions in front of them, so that their results are views where PyTorch's are. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

static bool need_complex(struct eval *eval, const char *what, const struct ev *arg)
{
    if (arg->kind == EV_COMPLEX)
        return true;
    diag_error(eval->cx, arg->loc, "%s is only supported for complex tensors, found %s", outer(eval, what),
               ev_kind_text(arg));
    return false;
}

static bool is_operand(const struct ev *arg)
{
    return arg->kind == EV_COMPLEX || arg->kind == EV_TENSOR || ev_is_number(arg);
}

static bool need_operand(struct eval *eval, const struct ev *arg)
{
    if (is_operand(arg))
        return true;
    diag_error(eval->cx, arg->loc, "%s takes tensors and numbers, found %s", outer(eval, "this"),
               ev_kind_text(arg));
    return false;
}

static struct ev fn_view_as_real(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return need_complex(eval, "view_as_real", &args[0]) ? ev_tensor(loc, args[0].tensor) : BAD;
}

static struct ev fn_view_as_complex(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    (void)count;

    if (!need_tensor(eval, "view_as_complex", &args[0]))
        return BAD;
    if (x->dtype != DTYPE_FLOAT32 && x->dtype != DTYPE_FLOAT64) {
        diag_error(eval->cx, args[0].loc,
                   "view_as_complex is only supported for float and double tensors, but got a tensor of %s",
                   dtype_rows[x->dtype].name);
        return BAD;
    }
    if (x->ndim == 0 || !dim_equals(x->dims[x->ndim - 1], 2)) {
        diag_error(eval->cx, args[0].loc, "Tensor must have a last dimension of size 2, found %s",
                   shape_text(&eval->cx->arena, x->ndim, x->dims));
        return BAD;
    }
    return ev_complex(loc, args[0].tensor);
}

/* Of numbers Python's, of tensors torch's. */
static struct ev fn_complex(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct scope scope = {0};
    double real, imaginary;
    (void)count;

    if (ev_get_number(&args[0], &real) && ev_get_number(&args[1], &imaginary))
        return eval_complex_number(eval, loc, real, imaginary);
    if (!need_tensor(eval, "complex", &args[0]) || !need_tensor(eval, "complex", &args[1]))
        return BAD;
    scope_bind(eval, &scope, "a", args[0]);
    scope_bind(eval, &scope, "b", args[1]);
    return eval_body_at(eval, &scope,
                        "a = a + zeros_like(b)\n"
                        "return view_as_complex(stack((a, b + zeros_like(a)), -1))",
                        loc);
}

/* Pairs, which were made for a tensor whose memory PyTorch's would show (conj): what becomes of one in place is not known of the
 * other. */
static struct ev fn_shown_by(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval;
    (void)count;
    return ev_complex(loc, build_beside(args[0], args[1].tensor).tensor);
}

/* (pairs of a, pairs of b), in one type. A real one stays a number, or keeps one element in place of a pair; or, where `whole` is
 * true, has 0 behind each. */
static struct ev fn_operands(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct ev *both[] = {&args[0], &args[1]};
    struct ev out[2];
    enum dtype dtype;
    (void)count;

    if (!need_operand(eval, &args[0]) || !need_operand(eval, &args[1]))
        return BAD;
    dtype = eval_complex_part_dtype(eval, both, 2);
    for (int i = 0; i < 2; i++) {
        out[i] = args[i];
        if (args[2].integer)
            out[i] = ev_tensor(loc, eval_pairs(eval, loc, &args[i], dtype));
        else if (!ev_is_number(&args[i]))
            out[i] = ev_tensor(loc, eval_beside_pairs(eval, loc, &args[i], dtype));
        if (out[i].kind == EV_BAD)
            return BAD;
    }
    return ev_tuple(eval, loc, out, 2);
}

/* The pairs of each of a sequence, in one type. */
static struct ev fn_all_pairs(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct ev **all;
    struct ev *out;
    enum dtype dtype;
    (void)count;

    if (args[0].kind != EV_TUPLE || args[0].count == 0) {
        diag_error(eval->cx, args[0].loc, "%s takes a list of tensors, found %s", outer(eval, "cat"),
                   ev_text(eval, &args[0]));
        return BAD;
    }
    all = ARENA_ARRAY(&eval->cx->arena, args[0].count, const struct ev *);
    out = ARENA_ARRAY(&eval->cx->arena, args[0].count, struct ev);
    for (int i = 0; i < args[0].count; i++) {
        if (!need_operand(eval, all[i] = &args[0].items[i]))
            return BAD;
    }
    dtype = eval_complex_part_dtype(eval, all, args[0].count);
    for (int i = 0; i < args[0].count; i++) {
        out[i] = ev_tensor(loc, eval_pairs(eval, loc, all[i], dtype));
        if (out[i].kind == EV_BAD)
            return BAD;
    }
    return ev_tuple(eval, loc, out, args[0].count);
}

/* (pairs of a, pairs of b) of a product of matrices, which PyTorch has of one type alone. */
static struct ev fn_factors(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *a, *b;
    struct ev out[2];
    (void)count;

    for (int i = 0; i < 2; i++) {
        if (args[i].kind != EV_COMPLEX || args[i].tensor->dtype != args[1 - i].tensor->dtype) {
            diag_error(eval->cx, args[i].loc,
                       "%s expects both tensors to have the same dtype, found %s and %s",
                       outer(eval, "matmul"), ev_text(eval, &args[0]), ev_text(eval, &args[1]));
            diag_hint(eval->cx, "x.to(torch.cfloat) is x as a complex tensor");
            return BAD;
        }
        out[i] = ev_tensor(loc, args[i].tensor);
    }
    a = out[0].tensor, b = out[1].tensor;
    if (a->ndim < 2 || b->ndim < 2) {
        diag_error(eval->cx, args[a->ndim > 1].loc, "%s takes tensors of at least one dimension, found ()",
                   outer(eval, "matmul"));
        return BAD;
    }
    if (!dim_equal(a->dims[a->ndim - 2], b->dims[b->ndim > 2 ? b->ndim - 3 : 0])) {
        diag_error(eval->cx, loc, "%s: shapes %s and %s cannot be multiplied", outer(eval, "matmul"),
                   shape_text(&eval->cx->arena, a->ndim - 1, a->dims),
                   shape_text(&eval->cx->arena, b->ndim - 1, b->dims));
        return BAD;
    }
    return ev_tuple(eval, loc, out, 2);
}

/* (input, weight, bias or None) of a convolution as real ones, where each channel is two: note [complex products]. */
static struct ev fn_channels(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor, *weight = args[1].tensor;
    const bool biased = args[2].kind != EV_NONE;
    struct scope scope = {0};
    int64_t rank, groups;
    const struct dim *channels, *wanted;
    int axis;
    (void)count;

    ev_get_int(&args[3], &rank);
    for (int i = 0; i < 2 + biased; i++) {
        if (args[i].kind == EV_COMPLEX && args[i].tensor->dtype == x->dtype)
            continue;
        diag_error(eval->cx, args[i].loc,
                   "%s expects input, weight and bias to have the same dtype, found %s and %s",
                   outer(eval, "conv"), ev_text(eval, &args[0]), ev_text(eval, &args[i]));
        diag_hint(eval->cx, "x.to(torch.cfloat) is x as a complex tensor");
        return BAD;
    }
    axis = x->ndim - 2 - (int)rank;
    if (weight->ndim != 3 + rank || axis < 0 || axis > 1 || !ev_get_int(&args[4], &groups)) {
        diag_error(
            eval->cx, loc, "%s takes an input of %d or %d dimensions and a weight of %d, found %s and %s",
            outer(eval, "conv"), (int)rank + 1, (int)rank + 2, (int)rank + 2,
            shape_text(arena, x->ndim - 1, x->dims), shape_text(arena, weight->ndim - 1, weight->dims));
        return BAD;
    }
    channels = x->dims[axis];
    wanted = args[5].integer ? weight->dims[0] : dim_mul(arena, weight->dims[1], dim_const(arena, groups));
    if (!dim_equal(channels, wanted)) {
        diag_error(eval->cx, loc, "%s: a weight of size %s wants %s channels, and the input %s has %s",
                   outer(eval, "conv"), shape_text(arena, weight->ndim - 1, weight->dims),
                   dim_text(arena, wanted), shape_text(arena, x->ndim - 1, x->dims),
                   dim_text(arena, channels));
        return BAD;
    }
    scope_bind(eval, &scope, "x", ev_tensor(args[0].loc, args[0].tensor));
    scope_bind(eval, &scope, "w", ev_tensor(args[1].loc, args[1].tensor));
    scope_bind(eval, &scope, "b", biased ? ev_tensor(args[2].loc, args[2].tensor) : args[2]);
    scope_bind(eval, &scope, "channel", ev_int(eval, loc, axis));
    scope_bind(eval, &scope, "rank", args[3]);
    scope_bind(eval, &scope, "transposed", args[5]);
    return eval_body(eval, &scope,
                     "x = x.movedim(-1, channel + 1).flatten(channel, channel + 1)\n"
                     "u, v = w[..., 0].unsqueeze(2).unsqueeze(1), w[..., 1].unsqueeze(2).unsqueeze(1)\n"
                     "w = _doubled(u, v, (2, 1, 2) + (1,) * rank, 1 if transposed else -1)\n"
                     "return x, w.flatten(2, 3).flatten(0, 1), None if b is None else b.flatten()");
}

/* The complex tensor, if it has so many dimensions. */
static struct ev fn_of_ndim(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const int64_t ndim = args[0].tensor->ndim - (args[0].kind == EV_COMPLEX);
    int64_t wanted;
    (void)count;

    ev_get_int(&args[1], &wanted);
    if (ndim == wanted)
        return args[0];
    diag_error(eval->cx, args[0].loc, "%s takes tensors of %lld dimension%s, found %s", outer(eval, "this"),
               (long long)wanted, wanted > 1 ? "s" : "", ev_text(eval, &args[0]));
    return BAD;
}

/* dim as a number, or numbers, from 0 on: they count from the end of a complex tensor of `more` more dimensions. None: all. */
static struct ev fn_axes(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct ev *dim = &args[1];
    struct ev items[MAX_DIMS];
    int64_t more = 0;
    int ndim, axis;
    (void)count;

    ev_get_int(&args[2], &more);
    ndim = args[0].tensor->ndim - 1 + (int)more;
    if (dim->kind != EV_TUPLE && dim->kind != EV_NONE)
        return need_axis(eval, "this", dim, ndim, &axis) ? ev_int(eval, loc, axis) : BAD;
    if (dim->kind == EV_TUPLE && dim->count > MAX_DIMS) {
        diag_error(eval->cx, dim->loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return BAD;
    }
    if (dim->kind == EV_TUPLE && dim->count > 0)
        ndim = dim->count;
    for (int i = 0; i < ndim; i++) {
        axis = i;
        if (dim->kind == EV_TUPLE && dim->count > 0 &&
            !need_axis(eval, "this", &dim->items[i], args[0].tensor->ndim - 1 + (int)more, &axis))
            return BAD;
        items[i] = ev_int(eval, loc, axis);
    }
    return ev_tuple(eval, loc, items, ndim);
}

/* Sizes as one tuple, however they were given: z.view(2, 3), z.view((2, 3)), torch.reshape(z, (2, 3)), torch.zeros(2). */
static struct ev fn_sizes(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind != EV_TUPLE)
        return ev_tuple(eval, loc, args, 1);
    return args[0].count == 1 && args[0].items[0].kind == EV_TUPLE ? args[0].items[0] : args[0];
}

/* The dtype of the parts. */
static struct ev fn_part_dtype(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind == EV_COMPLEX_DTYPE)
        return ev_dtype(loc, args[0].dtype);
    diag_error(eval->cx, args[0].loc, "a complex dtype is needed here, found %s", ev_text(eval, &args[0]));
    return BAD;
}

/* x.to(dtype), x.to(other): of a complex tensor as a real type its real part. */
static struct ev fn_to(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct ev *as = &args[1];
    const bool complex = as->kind == EV_COMPLEX || as->kind == EV_COMPLEX_DTYPE;
    struct ev real = args[0];
    enum dtype dtype;
    (void)count;

    if (!is_operand(&args[0]))
        return need_tensor(eval, "to", &args[0]) ? args[0] : BAD;
    if (as->kind == EV_TENSOR || as->kind == EV_COMPLEX)
        dtype = as->tensor->dtype;
    else if (complex)
        dtype = as->dtype;
    else if (!need_dtype(eval, as, eval->default_dtype, &dtype))
        return BAD;
    if (complex)
        return ev_complex(loc, eval_pairs(eval, loc, &args[0], dtype));
    real = eval_complex_part(eval, loc, args[0].tensor, false);
    return real.kind == EV_BAD ? real : ev_tensor(loc, build_cast(eval, loc, real.tensor, dtype));
}

static struct ev fn_copy(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev source;
    (void)count;

    if (!need_complex(eval, "copy_", &args[0]) || !need_operand(eval, &args[1]))
        return BAD;
    source = ev_tensor(args[1].loc, eval_pairs(eval, args[1].loc, &args[1], args[0].tensor->dtype));
    return source.kind == EV_BAD
               ? source
               : ev_complex(loc, build_filling(eval, loc, outer(eval, "copy_"), args[0].tensor, &source));
}

/* z ** n by logarithms, where one of them may be real: 0 to what is above 0 in its real part is 0, as in PyTorch, and NaN to others. */
static struct ev power_of(struct eval *eval, struct scope *scope, const struct ev *base, struct loc loc)
{
    double number;

    eval->at = loc;
    if (ev_get_number(base, &number))
        return eval_body(eval, scope, "return torch.pow(torch.zeros_like(n) + z, n)");
    if (base->kind != EV_COMPLEX)
        return eval_body(eval, scope,
                         "return torch.pow(torch.complex(z, torch.zeros_like(z)) if is_floating_point(z) "
                         "else z.to(n.dtype), n)");
    return eval_body(eval, scope,
                     "n = n * torch.ones_like(z.real)\n"
                     "above = (n.real if is_complex(n) else n) > 0\n"
                     "none = (z.real == 0) & (z.imag == 0) & above\n"
                     "power = torch.exp(torch.log(torch.where(none, torch.ones_like(z), z)) * n)\n"
                     "return torch.where(none, torch.zeros_like(power), power)");
}

/* Powers by numbers: whole ones, and the others by logarithms. */
static struct ev fn_pow(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct scope scope = {0};
    double exponent;
    (void)count;

    if (!need_operand(eval, &args[0]) || !need_operand(eval, &args[1]))
        return BAD;
    scope_bind(eval, &scope, "z", args[0]);
    scope_bind(eval, &scope, "n", args[1]);
    if (args[0].kind != EV_COMPLEX || !ev_get_number(&args[1], &exponent))
        return power_of(eval, &scope, &args[0], loc);
    if (exponent == 0.5)
        return eval_body(eval, &scope, "return torch.sqrt(z)");
    if (exponent < -16 || exponent > 16 || exponent != (double)(int)exponent)
        return eval_body(eval, &scope,
                         "power = torch.exp(torch.log(z) * n)\n"
                         "return torch.where(z.abs() == 0, torch.zeros_like(z), power) if n > 0 else power");
    if (exponent < 0)
        return eval_body(eval, &scope, "return torch.reciprocal(torch.pow(z, -n))");
    if (exponent == 0)
        return eval_body(eval, &scope, "return torch.ones_like(z)");
    if (exponent == 1)
        return eval_body(eval, &scope, "return z.clone()");
    scope_bind(eval, &scope, "half", ev_int(eval, loc, (int)exponent / 2));
    return eval_body(eval, &scope,
                     (int)exponent % 2 == 0 ? "h = torch.pow(z, half)\nreturn h * h"
                                            : "h = torch.pow(z, half)\nreturn h * h * z");
}

extern const struct function_row complex_functions[];

#define COMPLEX HIDDEN | FUNCTION_COMPLEX
#define PAIRS "_pairs(input)"
#define SHOWN(view) .body = "return view_as_complex(" PAIRS view ")"
#define PARTS "x, y = input.real, input.imag\n"
#define MADE(real, imaginary) .body = PARTS "return view_as_complex(stack((" real ", " imaginary "), -1))"
#define ANY_PART(test) .body = PARTS "return " test
#define EACH(parts) .body = "return tuple([view_as_complex(x) for x in " PAIRS parts "])"

#define SUM(sign)                                                                                            \
    .body = "a, b = _operands(input, other, True)\n"                                                         \
            "return view_as_complex(a " sign " (b if alpha == 1 else b * alpha))"
#define PRODUCT                                                                                              \
    .body =                                                                                                  \
        "a, b = _operands(input, other, False)\n"                                                            \
        "return view_as_complex(_pairs_product(a, b) if is_complex(input) and is_complex(other) else a * b)"
/* over the divisor's larger part, so that squares stay within the range of the type */
#define QUOTIENT                                                                                             \
    .body = "a, b = _operands(input, other, is_complex(other))\n"                                            \
            "return view_as_complex(_pairs_quotient(a, b) if is_complex(other) else a / b)"
#define COMPARED(comparison, joined)                                                                         \
    .body = "a, b = _operands(input, other, True)\n"                                                         \
            "return (a[..., 0] " comparison " b[..., 0]) " joined " (a[..., 1] " comparison " b[..., 1])"

/* note [complex products]
 * A complex product is one of real numbers, over parts that lie side by side: x (m, k) as (m, 2 k), times b (k, n) as (2 k, 2 n), of
 * which each element u + iv became ((u, v), (-v, u)), gives (m, 2 n). So what depends on parameters alone is packed as other weights
 * are, and pairs go in and come out as they lie. Convolutions do the same with their channels. */
#define MATMUL                                                                                               \
    "a, b = _factors(input, other)\n"                                                                        \
    "y = a.reshape(*a.shape[:-2], a.shape[-2] * 2) @ _expanded(b)\n"                                         \
    "return view_as_complex(y if other.ndim == 1 else y.reshape(*y.shape[:-1], other.shape[-1], 2))"
#define CONVOLUTION(rank, behind)                                                                            \
    {                                                                                                        \
        "complex.conv" rank "d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)",        \
            COMPLEX,                                                                                         \
            .body = "x, w, b = _channels(input, weight, bias, " rank ", groups, False)\n"                    \
                    "y = torch.conv" rank "d(x, w, b, stride, padding, dilation, groups)\n"                  \
                    "return _as_channels(y, " behind ")"                                                     \
    }
#define TRANSPOSED(rank, behind)                                                                             \
    {                                                                                                        \
        "complex.conv_transpose" rank                                                                        \
        "d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",          \
            COMPLEX,                                                                                         \
            .body = "x, w, b = _channels(input, weight, bias, " rank ", groups, True)\n"                     \
                    "y = torch.conv_transpose" rank                                                          \
                    "d(x, w, b, stride, padding, output_padding, groups, dilation)\n"                        \
                    "return _as_channels(y, " behind ")"                                                     \
    }
#define BAND(which) MADE("x." which "(diagonal)", "y." which "(diagonal)")
#define ABSOLUTE .body = PARTS "return _complex_abs(x, y)"
#define CONJUGATE .body = PARTS "return _shown_by(stack((x, -y), -1), input)"

const struct function_row complex_functions[] = {
    {"view_as_real(input)", TORCH | FUNCTION_COMPLEX | VIEW, .build = fn_view_as_real},
    {"view_as_complex(input)", TORCH | VIEW, .build = fn_view_as_complex},
    {"complex(real, imag)", TORCH, .build = fn_complex},
    {"polar(abs, angle)", TORCH, .body = "return complex(abs * torch.cos(angle), abs * torch.sin(angle))"},
    {"imag(input)", TORCH, .body = "return view_as_real(input)"},
    {"is_complex(input)", TORCH | METHOD, .body = "return False"},
    {"cfloat(input)", METHOD, .body = "return input.to(torch.complex64)"},
    {"cdouble(input)", METHOD, .body = "return input.to(torch.complex128)"},

    {"_pairs(input)", COMPLEX, .build = fn_view_as_real},
    {"_operands(a, b, whole)", COMPLEX, .build = fn_operands},
    {"_all_pairs(tensors)", COMPLEX, .build = fn_all_pairs},
    {"_factors(a, b)", COMPLEX, .build = fn_factors},
    {"_of_ndim(input, ndim)", COMPLEX, .build = fn_of_ndim},
    {"_axes(input, dim, more=0)", COMPLEX, .build = fn_axes},
    {"_sizes(sizes)", COMPLEX, .build = fn_sizes},
    {"_part_dtype(dtype)", COMPLEX, .build = fn_part_dtype},
    {"_shown_by(pairs, input)", COMPLEX, .build = fn_shown_by},
    {"_channels(input, weight, bias, rank, groups, transposed)", COMPLEX, .build = fn_channels},
    {"_expanded(b)", HIDDEN,
     .body = "u, v, at = b[..., 0].unsqueeze(-1), b[..., 1].unsqueeze(-1), -3 if b.ndim > 2 else -2\n"
             "w = _doubled(u.unsqueeze(at), v.unsqueeze(at), (2, 1, 2) if b.ndim > 2 else (2, 2), 1)\n"
             "return w.flatten(-4, -3).flatten(-2, -1) if b.ndim > 2 else w.flatten(0, 1)"},
    /* note [inverse functions]
     * Of z = x + 1j * y, after Kahan (Branch Cuts for Complex Elementary Functions, 1987): with a = sqrt(1 - conj(z)) and
     * b = sqrt(1 + z), asin(z) is p + 1j * q, acos(z) is t - 1j * q, and acosh(z) s times q + 1j * t, where s is the sign of y, -0
     * counting as less. No part of a root is computed as the size of another, so that derivatives are right where y is 0. */
    {"_root(u, v, s)", HIDDEN,
     .body = "size = torch.where(u >= 0, u, -u)\n"
             "more = torch.sqrt((_complex_abs(u, v) + size) * 0.5)\n"
             "less = v / (torch.where(more == 0, 1, more) * 2)\n"
             "return torch.where(u >= 0, more, s * less), torch.where(u >= 0, less, s * more)"},
    {"_inverses(x, y)", HIDDEN,
     .body = "s = torch.copysign(torch.ones_like(y), y)\n"
             "a, c = _root(1 - x, y, s)\n"
             "b, d = _root(1 + x, y, s)\n"
             "return atan2(x, a * b + c * d), torch.asinh(a * d + c * b), s, atan2(a, b) * 2"},
    {"_inverse_tanh(x, y)", HIDDEN,
     .body = "return torch.log1p(x * 4 / ((1 - x) * (1 - x) + y * y)) * 0.25, "
             "atan2(y * 2, (1 - x) * (1 + x) - y * y) * 0.5"},
    {"_doubled(u, v, shape, sign)", HIDDEN, /* ((u, v), (-v, u)): note [complex products] */
     .body = "same = torch.tensor([[True, False], [False, True]]).reshape(shape)\n"
             "return torch.where(same, u, v * torch.tensor([[1, sign], [-sign, 1]]).reshape(shape))"},
    {"_as_channels(y, channel)", HIDDEN,
     .body = "return view_as_complex(y.unflatten(channel, (y.shape[channel] // 2, 2)).movedim(channel, -1))"},
    {"_pairs_product(a, b)", HIDDEN,
     .body = "return stack((a[..., 0] * b[..., 0] - a[..., 1] * b[..., 1],"
             " a[..., 0] * b[..., 1] + a[..., 1] * b[..., 0]), -1)"},
    {"_pairs_quotient(a, b)", HIDDEN,
     .body = "x, y, u, v = a[..., 0], a[..., 1], b[..., 0], b[..., 1]\n"
             "scale = torch.maximum(u.abs(), v.abs()).detach()\n"
             "u, v = u / scale, v / scale\n"
             "over = (u * u + v * v) * scale\n"
             "return stack(((x * u + y * v) / over, (y * u - x * v) / over), -1)"},

    /* what is asked of one */
    {"complex.size(input, dim=None)", COMPLEX,
     .body = "return input.shape if dim is None else input.shape[_axes(input, dim)]"},
    {"complex.dim(input)", COMPLEX, .body = "return input.ndim"},
    {"complex.ndimension(input)", COMPLEX, .body = "return input.ndim"},
    {"complex.numel(input)", COMPLEX, .body = "return input.real.numel()"},
    {"complex.nelement(input)", COMPLEX, .body = "return input.real.numel()"},
    {"complex.is_complex(input)", COMPLEX, .body = "return isinstance(input, Tensor)"},
    {"complex.is_floating_point(input)", COMPLEX, .body = "return False"},

    /* parts */
    {"complex.real(input)", COMPLEX | VIEW, .body = "return input.real"},
    {"complex.imag(input)", COMPLEX | VIEW, .body = "return input.imag"},
    {"complex.abs(input)", COMPLEX, ABSOLUTE},
    {"complex.absolute(input)", COMPLEX, ABSOLUTE},
    {"complex.norm(input, p='fro', dim=None, keepdim=False)", COMPLEX,
     .body = "return input.abs().norm(p, dim, keepdim)"},
    {"complex.angle(input)", COMPLEX, .body = PARTS "return atan2(y, x)"},
    {"complex.conj(input)", COMPLEX | VIEW, CONJUGATE},
    {"complex.conj_physical(input)", COMPLEX, MADE("x", "-y")},
    {"complex.adjoint(input)", COMPLEX | VIEW, .body = "return input.mH"},
    {"complex.resolve_conj(input)", COMPLEX | VIEW, .body = "return input"},
    {"complex.resolve_neg(input)", COMPLEX | VIEW, .body = "return input"},

    /* arithmetic */
    {"complex.add(input, other, *, alpha=1)", COMPLEX, SUM("+")},
    {"complex.sub(input, other, *, alpha=1)", COMPLEX, SUM("-")},
    {"complex.subtract(input, other, *, alpha=1)", COMPLEX, SUM("-")},
    {"complex.mul(input, other)", COMPLEX, PRODUCT},
    {"complex.multiply(input, other)", COMPLEX, PRODUCT},
    {"complex.div(input, other)", COMPLEX, QUOTIENT},
    {"complex.divide(input, other)", COMPLEX, QUOTIENT},
    {"complex.true_divide(input, other)", COMPLEX, QUOTIENT},
    {"complex.neg(input)", COMPLEX, SHOWN(" * -1")},
    {"complex.negative(input)", COMPLEX, SHOWN(" * -1")},
    {"complex.positive(input)", COMPLEX | VIEW, .body = "return input"},
    {"complex.eq(input, other)", COMPLEX, COMPARED("==", "&")},
    {"complex.ne(input, other)", COMPLEX, COMPARED("!=", "|")},
    {"complex.square(input)", COMPLEX, .body = "return input * input"},
    {"complex.reciprocal(input)", COMPLEX, .body = "return 1 / input"},
    {"complex.pow(input, exponent)", COMPLEX, .build = fn_pow},
    {"complex.exp(input)", COMPLEX, MADE("torch.exp(x) * torch.cos(y)", "torch.exp(x) * torch.sin(y)")},
    {"complex.log(input)", COMPLEX, MADE("torch.log(_complex_abs(x, y))", "atan2(y, x)")},
    {"complex.sqrt(input)", COMPLEX,
     .body = PARTS "more = torch.sqrt((_complex_abs(x, y) + x.abs()) * 0.5)\n"
                   "none = more == 0\n"
                   "less = y.abs() / (torch.where(none, 1, more) * 2)\n"
                   "real = torch.where(x >= 0, more, less)\n"
                   "imaginary = torch.where(x >= 0, less, more)\n"
                   "return view_as_complex(stack((real, torch.where(y < 0, -imaginary, imaginary)), -1))"},
    {"complex.rsqrt(input)", COMPLEX, .body = "return 1 / torch.sqrt(input)"},
    {"complex.sin(input)", COMPLEX, MADE("torch.sin(x) * torch.cosh(y)", "torch.cos(x) * torch.sinh(y)")},
    {"complex.cos(input)", COMPLEX, MADE("torch.cos(x) * torch.cosh(y)", "-torch.sin(x) * torch.sinh(y)")},
    {"complex.sinh(input)", COMPLEX, MADE("torch.sinh(x) * torch.cos(y)", "torch.cosh(x) * torch.sin(y)")},
    {"complex.cosh(input)", COMPLEX, MADE("torch.cosh(x) * torch.cos(y)", "torch.sinh(x) * torch.sin(y)")},
    {"complex.tanh(input)", COMPLEX, /* which is 1 where cosh would overflow */
     .body = PARTS "x = x.clamp(-40, 40)\n"
                   "over = torch.cosh(2 * x) + torch.cos(2 * y)\n"
                   "return view_as_complex(stack((torch.sinh(2 * x) / over, torch.sin(2 * y) / over), -1))"},
    {"complex.tan(input)", COMPLEX, /* -1j * tanh(1j * z) */
     .body = PARTS "y = y.clamp(-40, 40)\n"
                   "over = torch.cos(2 * x) + torch.cosh(2 * y)\n"
                   "return view_as_complex(stack((torch.sin(2 * x) / over, torch.sinh(2 * y) / over), -1))"},
    {"complex.asin(input)", COMPLEX,
     .body = PARTS "p, q, s, t = _inverses(x, y)\nreturn view_as_complex(stack((p, q), -1))"},
    {"complex.acos(input)", COMPLEX,
     .body = PARTS "p, q, s, t = _inverses(x, y)\nreturn view_as_complex(stack((t, -q), -1))"},
    {"complex.asinh(input)", COMPLEX, /* 1j * asin(-1j * z) */
     .body = PARTS "p, q, s, t = _inverses(y, -x)\nreturn view_as_complex(stack((-q, p), -1))"},
    {"complex.acosh(input)", COMPLEX,
     .body = PARTS "p, q, s, t = _inverses(x, y)\nreturn view_as_complex(stack((s * q, s * t), -1))"},
    {"complex.atan(input)", COMPLEX, /* -1j * atanh(1j * z) */
     .body = PARTS "p, q = _inverse_tanh(-y, x)\nreturn view_as_complex(stack((q, -p), -1))"},
    {"complex.atanh(input)", COMPLEX, .body = PARTS "return view_as_complex(stack(_inverse_tanh(x, y), -1))"},
    {"complex.arcsin(input)", COMPLEX, .body = "return torch.asin(input)"},
    {"complex.arccos(input)", COMPLEX, .body = "return torch.acos(input)"},
    {"complex.arctan(input)", COMPLEX, .body = "return torch.atan(input)"},
    {"complex.arcsinh(input)", COMPLEX, .body = "return torch.asinh(input)"},
    {"complex.arccosh(input)", COMPLEX, .body = "return torch.acosh(input)"},
    {"complex.arctanh(input)", COMPLEX, .body = "return torch.atanh(input)"},
    {"complex.sgn(input)", COMPLEX,
     .body = "size = input.abs()\nreturn input / torch.where(size == 0, 1, size)"},
    {"complex.isnan(input)", COMPLEX, ANY_PART("torch.isnan(x) | torch.isnan(y)")},
    {"complex.isinf(input)", COMPLEX, ANY_PART("torch.isinf(x) | torch.isinf(y)")},
    {"complex.isfinite(input)", COMPLEX, ANY_PART("torch.isfinite(x) & torch.isfinite(y)")},
    {"complex.isreal(input)", COMPLEX, ANY_PART("y == 0")},

    /* sums and products */
    {"complex.sum(input, dim=None, keepdim=False)", COMPLEX,
     SHOWN(" if input.ndim == 0 else _pairs(input).sum(_axes(input, dim), keepdim)")},
    {"complex.mean(input, dim=None, keepdim=False)", COMPLEX,
     SHOWN(" if input.ndim == 0 else _pairs(input).mean(_axes(input, dim), keepdim)")},
    {"complex.cumsum(input, dim)", COMPLEX,
     SHOWN(" * 1 if input.ndim == 0 else _pairs(input).cumsum(_axes(input, dim))")},
    {"complex.matmul(input, other)", COMPLEX, .body = MATMUL},
    {"complex.mm(input, mat2)", COMPLEX, .body = "return _of_ndim(input, 2) @ _of_ndim(mat2, 2)"},
    {"complex.bmm(input, mat2)", COMPLEX, .body = "return _of_ndim(input, 3) @ _of_ndim(mat2, 3)"},
    {"complex.mv(input, vec)", COMPLEX, .body = "return _of_ndim(input, 2) @ _of_ndim(vec, 1)"},
    {"complex.dot(input, tensor)", COMPLEX, .body = "return _of_ndim(input, 1) @ _of_ndim(tensor, 1)"},
    {"complex.vdot(input, other)", COMPLEX, .body = "return torch.dot(torch.conj(input), other)"},
    {"complex.outer(input, vec2)", COMPLEX, .body = "return _of_ndim(input, 1)[:, None] * _of_ndim(vec2, 1)"},
    {"complex.linear(input, weight, bias=None)", COMPLEX,
     .body =
         "a, b = _factors(input, weight.T)\n"
         "c = None if bias is None else _factors(bias, bias)[0].flatten()\n"
         "y = linear(a.reshape(*a.shape[:-2], a.shape[-2] * 2), _expanded(b).T, c)\n"
         "return view_as_complex(y if weight.ndim == 1 else y.reshape(*y.shape[:-1], weight.shape[0], 2))"},
    CONVOLUTION("1", "-2"),
    CONVOLUTION("2", "-3"),
    CONVOLUTION("3", "-4"),
    TRANSPOSED("1", "-2"),
    TRANSPOSED("2", "-3"),
    TRANSPOSED("3", "-4"),

    /* activations, losses and dropout, as far as PyTorch has them */
    {"complex.sigmoid(input)", COMPLEX, .body = "return 1 / (1 + torch.exp(-input))"},
    {"complex.tanhshrink(input)", COMPLEX, .body = "return input - torch.tanh(input)"},
    {"complex.softsign(input)", COMPLEX, .body = "return input / (1 + input.abs())"},
    {"complex.l1_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None)", COMPLEX,
     .body =
         "z = input - target\n"
         "return F.l1_loss(z.abs(), torch.zeros(z.shape, dtype=z.real.dtype), size_average, reduce, reduction,"
         " weight)"},
    {"complex.dropout(input, p=0.5, training=True, inplace=False)", COMPLEX | VIEW,
     .body =
         "return (input * F.dropout(torch.ones(input.shape, dtype=input.real.dtype), p) if training and p > 0 else"
         " input)"},

    /* shapes */
    {"complex.reshape(input, shape)", COMPLEX | VARARGS | VIEW, SHOWN(".reshape(*_sizes(shape), 2)")},
    {"complex.view(input, shape)", COMPLEX | VARARGS | VIEW, SHOWN(".view(*_sizes(shape), 2)")},
    {"complex.view_as(input, other)", COMPLEX | VIEW, SHOWN(".view(*other.shape, 2)")},
    {"complex.reshape_as(input, other)", COMPLEX | VIEW, SHOWN(".reshape(*other.shape, 2)")},
    {"complex.flatten(input, start_dim=0, end_dim=-1)", COMPLEX | VIEW,
     SHOWN("[None] if input.ndim == 0 else"
           " _pairs(input).flatten(_axes(input, start_dim), _axes(input, end_dim))")},
    {"complex.ravel(input)", COMPLEX | VIEW, .body = "return input.flatten()"},
    {"complex.unflatten(input, dim, sizes)", COMPLEX | VIEW, SHOWN(".unflatten(_axes(input, dim), sizes)")},
    {"complex.permute(input, dims)", COMPLEX | VARARGS | VIEW,
     SHOWN(".permute(*_axes(input, _sizes(dims)), input.ndim)")},
    {"complex.transpose(input, dim0, dim1)", COMPLEX | VIEW,
     SHOWN(" if input.ndim == 0 else _pairs(input).transpose(_axes(input, dim0), _axes(input, dim1))")},
    {"complex.swapaxes(input, axis0, axis1)", COMPLEX | VIEW, .body = "return input.transpose(axis0, axis1)"},
    {"complex.swapdims(input, dim0, dim1)", COMPLEX | VIEW, .body = "return input.transpose(dim0, dim1)"},
    {"complex.t(input)", COMPLEX | VIEW,
     .body = "return input if input.ndim < 2 else _of_ndim(input, 2).transpose(0, 1)"},
    {"complex.movedim(input, source, destination)", COMPLEX | VIEW,
     SHOWN(".movedim(_axes(input, source), _axes(input, destination))")},
    {"complex.moveaxis(input, source, destination)", COMPLEX | VIEW,
     .body = "return input.movedim(source, destination)"},
    {"complex.unsqueeze(input, dim)", COMPLEX | VIEW, SHOWN(".unsqueeze(_axes(input, dim, 1))")},
    {"complex.squeeze(input, dim=None)", COMPLEX | VIEW,
     SHOWN(" if input.ndim == 0 else _pairs(input).squeeze(_axes(input, dim))")},
    {"complex.expand(input, size)", COMPLEX | VARARGS | VIEW, SHOWN(".expand(*_sizes(size), 2)")},
    {"complex.expand_as(input, other)", COMPLEX | VIEW, SHOWN(".expand(*other.shape, 2)")},
    {"complex.broadcast_to(input, size)", COMPLEX | VIEW, SHOWN(".expand(*_sizes(size), 2)")},
    {"complex.select(input, dim, index)", COMPLEX | VIEW, SHOWN(".select(_axes(input, dim), index)")},
    {"complex.narrow(input, dim, start, length)", COMPLEX | VIEW,
     SHOWN(".narrow(_axes(input, dim), start, length)")},
    {"complex.diagonal(input, offset=0, dim1=0, dim2=1)", COMPLEX | VIEW,
     SHOWN(".diagonal(offset, _axes(input, dim1), _axes(input, dim2)).transpose(-1, -2)")},
    {"complex.chunk(input, chunks, dim=0)", COMPLEX | VIEW, EACH(".chunk(chunks, _axes(input, dim))")},
    {"complex.split(input, split_size, dim=0)", COMPLEX | VIEW,
     EACH(".split(split_size, _axes(input, dim))")},
    {"complex.unbind(input, dim=0)", COMPLEX | VIEW, EACH(".unbind(_axes(input, dim))")},
    {"complex.contiguous(input)", COMPLEX | VIEW, SHOWN(".contiguous()")},
    {"complex.detach(input)", COMPLEX | VIEW, SHOWN(".detach()")},
    {"complex.clone(input)", COMPLEX, SHOWN(".clone()")},
    {"complex.flip(input, dims)", COMPLEX | VARARGS,
     .body =
         "dims = _sizes(dims)\n"
         "return input.clone() if dims == () else view_as_complex(_pairs(input).flip(_axes(input, dims)))"},
    {"complex.roll(input, shifts, dims=None)", COMPLEX,
     .body = "return (input.flatten().roll(shifts, 0).reshape(input.shape) if dims is None else"
             " view_as_complex(_pairs(input).roll(shifts, _axes(input, dims))))"},
    {"complex.repeat(input, repeats)", COMPLEX | VARARGS, SHOWN(".repeat(*_sizes(repeats), 1)")},
    {"complex.tile(input, dims)", COMPLEX | VARARGS, SHOWN(".tile(*_sizes(dims), 1)")},
    {"complex.tril(input, diagonal=0)", COMPLEX, BAND("tril")},
    {"complex.triu(input, diagonal=0)", COMPLEX, BAND("triu")},
    {"complex.pad(input, pad, mode='constant', value=None)", COMPLEX,
     MADE("F.pad(x, pad, mode, value)", "F.pad(y, pad, mode)")},

    /* joining, choosing */
    {"complex.cat(tensors, dim=0)", COMPLEX,
     .body = "all = _all_pairs(tensors)\n"
             "return view_as_complex(cat(all, _axes(view_as_complex(all[0]), dim)))"},
    {"complex.concat(tensors, dim=0)", COMPLEX, .body = "return cat(tensors, dim)"},
    {"complex.concatenate(tensors, dim=0)", COMPLEX, .body = "return cat(tensors, dim)"},
    {"complex.stack(tensors, dim=0)", COMPLEX,
     .body = "all = _all_pairs(tensors)\n"
             "return view_as_complex(stack(all, _axes(view_as_complex(all[0]), dim, 1)))"},
    {"complex.where(condition, input, other)", COMPLEX,
     .body = "chosen = input if is_complex(condition) else condition\n"
             "a, b = _operands(condition if is_complex(condition) else input, other, True)\n"
             "return view_as_complex(torch.where(chosen[..., None], a, b))"},
    {"complex.masked_fill(input, mask, value)", COMPLEX, .body = "return torch.where(mask, value, input)"},
    {"complex.index_select(input, dim, index)", COMPLEX, SHOWN(".index_select(_axes(input, dim), index)")},
    {"complex.gather(input, dim, index)", COMPLEX,
     SHOWN(".gather(_axes(input, dim), index[..., None].expand(*index.shape, 2))")},
    {"complex.index_add(input, dim, index, source)", COMPLEX,
     .body = "a, b = _operands(input, source, True)\n"
             "return view_as_complex(a.index_add(_axes(input, dim), index, b))"},
    {"complex.copy_(input, src, non_blocking=False)", COMPLEX | IN_PLACE, .build = fn_copy},
    {"complex.fill_(input, value)", COMPLEX | IN_PLACE, .build = fn_copy},
    {"complex.zero_(input)", COMPLEX | IN_PLACE, .body = "return torch.zeros_like(input)"},

    /* types, and tensors of a complex type */
    {"complex.to(input, dtype, non_blocking=False, copy=False)", COMPLEX | VIEW, .build = fn_to},
    {"complex.type_as(input, other)", COMPLEX | VIEW, .build = fn_to},
    {"complex.float(input)", COMPLEX, .body = "return input.real.float()"},
    {"complex.double(input)", COMPLEX, .body = "return input.real.double()"},
    {"complex.cfloat(input)", COMPLEX | VIEW, .body = "return input.to(torch.complex64)"},
    {"complex.cdouble(input)", COMPLEX | VIEW, .body = "return input.to(torch.complex128)"},
    {"complex.zeros(size, dtype=None)", COMPLEX | FUNCTION_SIZES,
     .body = "return view_as_complex(torch.zeros(*_sizes(size), 2, dtype=_part_dtype(dtype)))"},
    {"complex.empty(size, dtype=None)", COMPLEX | FUNCTION_SIZES,
     .body = "return torch.zeros(size, dtype=dtype)"},
    {"complex.ones(size, dtype=None)", COMPLEX | FUNCTION_SIZES,
     .body = "return torch.zeros(size, dtype=dtype) + 1"},
    {"complex.full(size, fill_value, dtype=None)", COMPLEX,
     .body = "return torch.zeros(size, dtype=(torch.complex64 if torch.zeros(1).dtype == torch.float32 else"
             " torch.complex128) if dtype is None else dtype) + fill_value"},
    {"complex.zeros_like(input, dtype=None)", COMPLEX,
     .body = "return torch.zeros(input.shape, dtype=input.dtype if dtype is None else dtype)"},
    {"complex.empty_like(input, dtype=None)", COMPLEX, .body = "return torch.zeros_like(input, dtype=dtype)"},
    {"complex.ones_like(input, dtype=None)", COMPLEX,
     .body = "return torch.ones(input.shape, dtype=input.dtype if dtype is None else dtype)"},
    {"complex.full_like(input, fill_value, dtype=None)", COMPLEX,
     .body = "return torch.zeros(input.shape, dtype=input.dtype if dtype is None else dtype) + fill_value"},
    {"complex.new_zeros(input, size, dtype=None)", COMPLEX | VARARGS,
     .body = "return torch.zeros(_sizes(size), dtype=input.dtype if dtype is None else dtype)"},
    {"complex.new_ones(input, size, dtype=None)", COMPLEX | VARARGS,
     .body = "return torch.ones(_sizes(size), dtype=input.dtype if dtype is None else dtype)"},
    {"complex.tensor(data, dtype=None)", COMPLEX,
     .body = "x = data if isinstance(data, Tensor) else view_as_complex(stack(_all_pairs(data), 0))\n"
             "return x.to((torch.complex64 if torch.zeros(1).dtype == torch.float32 else torch.complex128)"
             " if dtype is None else dtype)"},
    {.signature = NULL},
};
