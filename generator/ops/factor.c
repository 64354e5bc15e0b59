/* factor.c - factors of matrices, and what they solve: note [factors] in ops.h. */
#include "base/text.h"
#include "ops/rows.h"

static const char *const kind_names[] = {[FACTOR_LU] = "lu",       [FACTOR_ORDER] = "order",
                                         [FACTOR_QR] = "qr",       [FACTOR_CHOLESKY] = "cholesky",
                                         [FACTOR_SVD] = "svd",     [FACTOR_EIGH] = "eigh",
                                         [FACTOR_SOLVE] = "solve", [FACTOR_TRIANGULAR] = "triangular",
                                         [FACTOR_EXP] = "exp"};

static bool takes_two(const struct op *op)
{
    return op->factor.kind == FACTOR_SOLVE || op->factor.kind == FACTOR_TRIANGULAR;
}

/* A square of the same rows as the other, or as the kind has it; what is no square has a height and width that are known. */
static bool has_shape(const struct op *op, const struct value *x)
{
    const struct value *first = op->inputs[0];
    const struct dim *rows = x->dims[x->ndim - 2], *columns = first->dims[x->ndim - 1];

    const bool square = dim_equal(rows, columns);
    int64_t m, n;
    const bool known = dim_is_const(rows, &m) && dim_is_const(columns, &n);

    switch (op->factor.kind) {
    case FACTOR_LU:
        return square || known;
    case FACTOR_ORDER:
        return dim_equals(columns, 1);
    case FACTOR_QR:
        return known;
    case FACTOR_SVD:
        return known && m >= n;
    default:
        return square;
    }
}

static const char *factor_broken(struct cx *cx, const struct op *op)
{
    (void)cx;
    if (op->input_count != 1 + takes_two(op))
        return "it takes a matrix, and where it solves what the product is";
    for (int i = 0; i < op->input_count; i++)
        if (op->inputs[i]->ndim < 2 || op->inputs[i]->ndim != op->inputs[0]->ndim ||
            (op->inputs[i]->dtype != DTYPE_FLOAT32 && op->inputs[i]->dtype != DTYPE_FLOAT64) ||
            op->inputs[i]->dtype != op->inputs[0]->dtype || !has_shape(op, op->inputs[i]))
            return "matrices are float32 or float64, of one type, and as high and wide as they are to be";
    return NULL;
}

/* The caller has seen to the shapes. */
static const char *factor_infer(struct cx *cx, struct op *op)
{
    struct arena *arena = &cx->arena;
    const struct value *x = op->inputs[0];
    const struct dim *dims[MAX_DIMS], *m = x->dims[x->ndim - 2], *n = x->dims[x->ndim - 1];
    const struct dim **rows = &dims[x->ndim - 2], **columns = &dims[x->ndim - 1];
    int64_t height = 0, width = 0;

    for (int i = 0; i < x->ndim; i++)
        dims[i] = x->dims[i];
    switch (op->factor.kind) {
    case FACTOR_LU:
        *columns = dim_add(arena, n, dim_const(arena, 2));
        break;
    case FACTOR_QR:
        dim_is_const(m, &height);
        dim_is_const(n, &width);
        *rows = dim_add(arena, m, n);
        *columns = op->factor.complete || height < width ? m : n;
        break;
    case FACTOR_SVD:
        *rows = dim_add(arena, dim_add(arena, m, n), dim_const(arena, 1));
        *columns = op->factor.complete ? m : n;
        break;
    case FACTOR_EIGH:
        *rows = dim_add(arena, n, dim_const(arena, 1));
        break;
    case FACTOR_SOLVE:
        *columns = dim_add(arena, op->inputs[1]->dims[x->ndim - 1], dim_const(arena, 1));
        break;
    case FACTOR_TRIANGULAR:
        *columns = op->inputs[1]->dims[x->ndim - 1];
        break;
    default:
        break;
    }
    return set_output(cx, op, x->dtype, x->ndim, dims);
}

static void factor_dump(struct text *text, const struct op *op)
{
    text_printf(text, " %s%s%s%s", kind_names[op->factor.kind], op->factor.complete ? " complete" : "",
                op->factor.lower ? " lower" : "", op->factor.unit ? " unit" : "");
}

/* Of a matrix of n columns: n^2 for each row of the larger operand, and as often as sweeps of EIGH and SVD and terms of EXP take. */
static double factor_macs(const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const double n = (double)dim_upper(x->dims[x->ndim - 1]), rows = (double)dim_upper(y->dims[y->ndim - 2]),
                 columns = (double)dim_upper(y->dims[y->ndim - 1]);

    return dims_upper(x->ndim - 2, x->dims) * rows * columns * n *
           (op->factor.kind == FACTOR_EIGH || op->factor.kind == FACTOR_SVD ? 30
            : op->factor.kind == FACTOR_EXP                                 ? 20
                                                                            : 1);
}

static void factor_work(const struct op *op, struct op_work *work)
{
    work->macs = factor_macs(op);
}

const struct op_row op_row_factor = {
    .name = "factor",
    .broken = factor_broken,
    .infer = factor_infer,
    .accepts = dense_accepts,
    .macs = factor_macs,
    .dump = factor_dump,
    .pure = true,
    .work = factor_work,
};
