/* eval_complex.c - complex tensors: values of torch.fft and the like, held as pairs of real and imaginary parts.
 *
 * note [pairs]
 * An EV_COMPLEX is the real tensor that torch.view_as_real shows: its last dimension are pairs. So views of the one are views of
 * the other, and gradients of the pairs are those that PyTorch has of complex tensors. A call with a complex argument is that of
 * the row "complex.NAME" (functions/complex.c); operators are calls of the functions that they mean. What is a Python number,
 * as 2j, has float64 pairs and `integer` 1: like other numbers it makes no tensor wider. Real operands stay real as long as a
 * function can do with that: a product of a complex and a real tensor is one of each part.
 *
 * Complex types are said at the borders alone: by tensors of the tree, which graphs have as module_tensor_shown says, by inputs
 * (op.input.complex), results of entries (graph.complex) and what hooks see (op.fence.complex). Passes, plan and kernels know none. */
#include "eval/evaluator.h"

#include <string.h>

#include "eval/pytorch.h"
#include "graph/make.h"

struct ev ev_complex_dtype(struct loc loc, enum dtype part)
{
    return (struct ev){.kind = EV_COMPLEX_DTYPE,
                       .loc = loc,
                       .dtype = part,
                       .text = part == DTYPE_FLOAT64 ? "complex128" : "complex64"};
}

bool eval_find_complex_dtype(const char *name, struct loc loc, struct ev *out)
{
    static const struct {
        const char *name;
        enum dtype part;
    } names[] = {{"complex64", DTYPE_FLOAT32},
                 {"cfloat", DTYPE_FLOAT32},
                 {"complex128", DTYPE_FLOAT64},
                 {"cdouble", DTYPE_FLOAT64}};

    for (int i = 0; i < COUNT(names); i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        *out = ev_complex_dtype(loc, names[i].part);
        return true;
    }
    return false;
}

struct ev eval_complex_number(struct eval *eval, struct loc loc, double real, double imaginary)
{
    struct tensor *pair = ARENA_NEW(&eval->cx->arena, struct tensor);
    struct ev out;

    pair->dtype = DTYPE_FLOAT64;
    pair->ndim = 1;
    pair->dims[0] = 2;
    pair->data = ARENA_ARRAY(&eval->cx->arena, 2, union scalar);
    pair->data[0].f = real;
    pair->data[1].f = imaginary;
    out = ev_complex(loc, build_const(eval, loc, pair));
    out.integer = 1;
    return out;
}

static bool is_number(const struct ev *x)
{
    return ev_is_number(x) || (x->kind == EV_COMPLEX && x->integer);
}

enum dtype eval_complex_part_dtype(struct eval *eval, const struct ev *const *operands, int count)
{
    struct ev *parts = ARENA_ARRAY(&eval->cx->arena, count, struct ev);
    const struct ev **all = ARENA_ARRAY(&eval->cx->arena, count, const struct ev *);
    enum dtype dtype;

    for (int i = 0; i < count; i++) {
        parts[i] = *operands[i];
        all[i] = &parts[i];
        if (is_number(operands[i])) {
            parts[i] = ev_float(operands[i]->loc, 0);
        } else if (operands[i]->kind == EV_COMPLEX) {
            parts[i].kind = EV_TENSOR;
            parts[i].tensor = ARENA_NEW(&eval->cx->arena, struct value);
            *parts[i].tensor = *operands[i]->tensor;
            parts[i].tensor->ndim--;
        }
    }
    dtype = build_dtype(eval, all, count);
    return dtype_is_float(dtype) ? dtype : eval->default_dtype;
}

struct value *eval_beside_pairs(struct eval *eval, struct loc loc, const struct ev *x, enum dtype dtype)
{
    struct value *value = x->kind == EV_COMPLEX ? x->tensor : build_scalar(eval, loc, x);
    const struct dim *dims[MAX_DIMS];

    value = value ? build_cast(eval, loc, value, dtype) : NULL;
    if (!value || x->kind == EV_COMPLEX)
        return value;
    if (value->ndim == MAX_DIMS) {
        diag_error(eval->cx, loc, "a complex tensor has at most %d dimensions", MAX_DIMS - 1);
        return NULL;
    }
    memcpy(dims, value->dims, sizeof *dims * (size_t)value->ndim);
    dims[value->ndim] = dim_const(&eval->cx->arena, 1);
    return build_reshape(eval, loc, value, value->ndim + 1, dims);
}

struct value *eval_pairs(struct eval *eval, struct loc loc, const struct ev *x, enum dtype dtype)
{
    struct value *value, *real;
    struct tensor *which;
    struct ev out, zero = ev_int(eval, loc, 0);

    if (x->kind == EV_FLOAT && !x->dag) { /* in its own precision */
        const struct ev pair = eval_complex_number(eval, loc, x->number, 0);

        return build_cast(eval, loc, pair.tensor, dtype);
    }
    value = eval_beside_pairs(eval, loc, x, dtype);
    if (!value || x->kind == EV_COMPLEX)
        return value;
    which = ARENA_NEW(&eval->cx->arena, struct tensor);
    which->dtype = DTYPE_BOOL;
    which->ndim = 1;
    which->dims[0] = 2;
    which->data = ARENA_ARRAY(&eval->cx->arena, 2, union scalar);
    which->data[0].i = 1;
    real = build_const(eval, loc, which);
    out = ev_tensor(loc, value);
    out = real ? build_where(eval, loc, real, &out, &zero) : ev_bad(loc);
    return out.kind == EV_TENSOR ? out.tensor : NULL;
}

struct ev eval_complex_part(struct eval *eval, struct loc loc, struct value *pairs, bool imaginary)
{
    const struct ev index = ev_int(eval, loc, imaginary);

    return ev_tensor(loc, eval_select(eval, pairs, pairs->ndim - 1, &index));
}

/* What PyTorch refuses complex tensors, which have no order and lie on no line. */
static bool refused_by_pytorch(struct arena *arena, const char *what)
{
    static const char names[] =
        " "
        "< <= > >= // % amax amin argmax argmin argsort avg_pool batch_norm bernoulli ceil celu "
        "clamp clip cosine_similarity cross_entropy cummax cummin elu erf floor fmod frac gelu "
        "glu group_norm hardshrink hardsigmoid hardswish hardtanh heaviside huber_loss "
        "instance_norm interpolate kthvalue layer_norm leaky_relu log_softmax logsigmoid lt le "
        "ge gt max max_pool maximum median min minimum mish mse_loss nanmean nansum prelu relu "
        "relu6 remainder round rrelu scaled_dot_product_attention selu sign smooth_l1_loss "
        "softmax softmin softplus softshrink sort threshold topk trunc ";
    size_t length = strlen(what);

    length -= length > 1 && what[length - 1] == '_';
    if (length > 2 && what[length - 1] == 'd' && what[length - 2] >= '1' && what[length - 2] <= '3')
        length -= 2;
    return strstr(names, arena_format(arena, " %.*s ", (int)length, what)) != NULL;
}

void eval_complex_fault(struct eval *eval, struct loc loc, const char *what)
{
    if (refused_by_pytorch(&eval->cx->arena, what)) {
        diag_error(eval->cx, loc, "PyTorch has no '%s' of complex tensors", what);
        diag_hint(eval->cx, "z.abs(), z.real and z.imag are real tensors");
        return;
    }
    diag_error(eval->cx, loc, "'%s' of complex tensors is not supported yet by this version of modc", what);
    diag_hint(eval->cx,
              "torch.view_as_real(z) is a real tensor of pairs, torch.view_as_complex(x) makes one of them "
              "complex; z.real and z.imag are its parts");
}

/* The function of complex tensors, without the '_' of one that changes its first argument. */
static bool find_function(struct eval *eval, const char *name, struct loc loc, struct ev *out)
{
    struct arena *arena = &eval->cx->arena;
    const size_t length = strlen(name);
    bool in_place = false;

    if (!eval_find_function(arena_format(arena, "complex.%s", name), FUNCTION_COMPLEX, loc, out)) {
        in_place = length > 1 && name[length - 1] == '_' && name[0] != '_';
        if (!in_place ||
            !eval_find_function(arena_format(arena, "complex.%.*s", (int)length - 1, name), FUNCTION_COMPLEX,
                                loc, out) ||
            ((out->function->flags & FUNCTION_VIEW) && !pytorch_has(PYTORCH_METHOD, name)))
            return false;
    }
    out->text = name;
    out->in_place = in_place;
    return true;
}

static bool holds_complex(const struct ev *value)
{
    if (value->kind == EV_COMPLEX || value->kind == EV_COMPLEX_DTYPE)
        return true;
    for (int i = 0; value->kind == EV_TUPLE && i < value->count; i++)
        if (holds_complex(&value->items[i]))
            return true;
    return false;
}

bool eval_complex_call(struct eval *eval, struct ev *callee, const struct call *call)
{
    bool complex = callee->items && callee->items->kind == EV_COMPLEX; /* of a method the first */
    struct ev own;

    for (int i = 0; i < call->count && !complex; i++)
        complex = holds_complex(&call->args[i]);
    if (!complex || callee->spec_function ||
        (callee->function && (callee->function->flags & FUNCTION_COMPLEX)))
        return true;
    if (!find_function(eval, callee->text, callee->loc, &own)) {
        eval_complex_fault(eval, call->loc, callee->text);
        return false;
    }
    callee->function = own.function;
    callee->in_place = own.in_place;
    callee->elementwise = NULL;
    return true;
}

struct ev eval_complex_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                              const struct ev *b)
{
    static const bool there[] = {[OP_ADD] = true, [OP_SUB] = true, [OP_MUL] = true,    [OP_DIV] = true,
                                 [OP_POW] = true, [OP_EQ] = true,  [OP_MATMUL] = true, [OP_NE] = true};
    const char *label = op == OP_MATMUL ? "matmul" : operator_rows[op].label;
    struct scope scope = {0};
    struct ev out;

    if (op >= COUNT(there) || !there[op]) {
        eval_complex_fault(eval, loc, expr_op_text(op));
        return ev_bad(loc);
    }
    if ((a->kind != EV_COMPLEX && a->kind != EV_TENSOR && !ev_is_number(a)) ||
        (b->kind != EV_COMPLEX && b->kind != EV_TENSOR && !ev_is_number(b)))
        return eval_operand_fault(eval, loc, op, a, b);
    scope_bind(eval, &scope, "a", *a);
    scope_bind(eval, &scope, "b", *b);
    out = eval_body_at(eval, &scope, arena_format(&eval->cx->arena, "return torch.%s(a, b)", label), loc);
    out.integer = out.kind == EV_COMPLEX && is_number(a) && is_number(b);
    return out;
}

struct ev eval_complex_unary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a)
{
    const struct ev minus = ev_int(eval, loc, -1);

    if (op == OP_NEG)
        return eval_complex_binary(eval, loc, OP_MUL, a, &minus);
    if (op == OP_POS)
        return *a;
    eval_complex_fault(eval, loc, expr_op_text(op));
    return ev_bad(loc);
}

/* T, mT, H and mH. False after an error. */
static bool transposed(struct eval *eval, struct loc loc, const char *name, struct value *pairs,
                       struct ev *out)
{
    const int n = pairs->ndim - 1;
    const bool all = strcmp(name, "T") == 0;
    struct ev function;
    int perm[MAX_DIMS];

    if (n < 2 && !all) {
        diag_error(eval->cx, loc, "%s takes a tensor of at least two dimensions, found %s", name,
                   shape_text(&eval->cx->arena, n, pairs->dims));
        return false;
    }
    if (name[0] == 'H' && n != 2) {
        diag_error(eval->cx, loc, "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor", n);
        return false;
    }
    for (int i = 0; i <= n; i++)
        perm[i] = i == n ? n : all ? n - 1 - i : i < n - 2 ? i : 2 * n - 3 - i;
    *out = ev_complex(loc, build_permute(eval, loc, pairs, perm));
    if (out->kind == EV_COMPLEX && strchr(name, 'H') && find_function(eval, "conj", loc, &function)) {
        struct scope scope = {0};

        scope_bind(eval, &scope, "z", *out);
        *out = eval_body_at(eval, &scope, "return torch.conj(z)", loc);
    }
    return true;
}

struct ev eval_complex_attribute(struct eval *eval, const struct ev *base, const struct expr *expr)
{
    const char *name = expr->text;
    struct value *pairs = base->tensor;
    struct ev out, *self;

    if (strcmp(name, "shape") == 0) {
        struct ev items[MAX_DIMS];

        for (int i = 0; i < pairs->ndim - 1; i++)
            items[i] = ev_dim(expr->loc, pairs->dims[i]);
        return ev_tuple(eval, expr->loc, items, pairs->ndim - 1);
    }
    if (strcmp(name, "ndim") == 0)
        return ev_int(eval, expr->loc, pairs->ndim - 1);
    if (strcmp(name, "real") == 0 || strcmp(name, "imag") == 0)
        return eval_complex_part(eval, expr->loc, pairs, name[0] == 'i');
    if (strcmp(name, "dtype") == 0)
        return ev_complex_dtype(expr->loc, pairs->dtype);
    if (strcmp(name, "device") == 0)
        return (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = EVAL_DEVICE};
    if (strcmp(name, "T") == 0 || strcmp(name, "mT") == 0 || strcmp(name, "H") == 0 ||
        strcmp(name, "mH") == 0)
        return transposed(eval, expr->name_loc, name, pairs, &out) ? out : ev_bad(expr->loc);
    if (!find_function(eval, name, expr->loc, &out)) {
        eval_complex_fault(eval, expr->name_loc, name);
        return ev_bad(expr->loc);
    }
    self = ARENA_NEW(&eval->cx->arena, struct ev);
    *self = *base;
    out.kind = EV_METHOD;
    out.items = self;
    return out;
}
