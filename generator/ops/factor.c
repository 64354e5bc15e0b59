/* factor.c - factors of matrices, and what they solve: note [factors] in ops.h. */
#include <math.h>
#include <string.h>

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

/* ---- what is solved, and exponentials, as the templates compute them; in double --------------------------------- */

/* A matrix of a batch, row by row. */
struct matrix {
    union scalar *data;
    int64_t rows, columns;
};

static struct matrix matrix_of(const struct tensor *tensor, int64_t batch)
{
    const int64_t rows = tensor->dims[tensor->ndim - 2], columns = tensor->dims[tensor->ndim - 1];

    return (struct matrix){tensor->data + batch * rows * columns, rows, columns};
}

static double *element(struct matrix x, int64_t row, int64_t column)
{
    return &x.data[row * x.columns + column].f;
}

static void swap_rows(struct matrix x, int64_t a, int64_t b, int64_t columns)
{
    for (int64_t j = 0; j < columns && a != b; j++) {
        const double kept = *element(x, a, j);

        *element(x, a, j) = *element(x, b, j);
        *element(x, b, j) = kept;
    }
}

/* x[row] -= scale * x[from], of the columns from `first` on. */
static void subtract_row(struct matrix x, int64_t row, int64_t from, double scale, int64_t first,
                         int64_t columns)
{
    for (int64_t j = first; j < columns; j++)
        *element(x, row, j) -= scale * *element(x, from, j);
}

static void solve_triangle(struct matrix a, struct matrix y, int64_t columns, bool lower, bool unit)
{
    for (int64_t s = 0; s < a.rows; s++) {
        const int64_t i = lower ? s : a.rows - 1 - s;

        for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : a.rows); k++)
            subtract_row(y, i, k, *element(a, i, k), 0, columns);
        for (int64_t j = 0; j < columns && !unit; j++)
            *element(y, i, j) /= *element(a, i, i);
    }
}

/* y: what is on the right, and a column for pivots; a is overwritten. */
static void solve(struct matrix a, struct matrix y)
{
    const int64_t n = a.rows, columns = y.columns - 1;

    for (int64_t k = 0; k < n; k++) {
        int64_t most = k;

        for (int64_t i = k + 1; i < n; i++)
            if (fabs(*element(a, i, k)) > fabs(*element(a, most, k)))
                most = i;
        swap_rows(a, k, most, n);
        swap_rows(y, k, most, columns);
        *element(y, k, columns) = *element(a, k, k);
        for (int64_t i = k + 1; i < n; i++) {
            const double scale = *element(a, i, k) / *element(a, k, k);

            subtract_row(a, i, k, scale, k, n);
            subtract_row(y, i, k, scale, 0, columns);
        }
    }
    solve_triangle(a, y, columns, false, false);
}

static void multiply(struct matrix y, struct matrix a, struct matrix b)
{
    memset(y.data, 0, sizeof *y.data * (size_t)(y.rows * y.columns));
    for (int64_t i = 0; i < y.rows; i++)
        for (int64_t k = 0; k < a.columns; k++)
            for (int64_t j = 0; j < y.columns; j++)
                *element(y, i, j) += *element(a, i, k) * *element(b, k, j);
}

/* a is overwritten; `product`: as large. */
static void exponential(struct matrix y, struct matrix a, struct matrix product)
{
    enum { TERMS = 18 };
    const int64_t n = a.rows;
    double most = 0;
    int halved = 0;

    for (int64_t i = 0; i < n; i++) {
        double sum = 0;

        for (int64_t j = 0; j < n; j++)
            sum += fabs(*element(a, i, j));
        most = sum > most || isnan(sum) ? sum : most;
    }
    for (; ldexp(most, -halved) > 1 && halved < 1100; halved++)
        ;
    for (int64_t i = 0; i < n * n; i++) {
        a.data[i].f = ldexp(a.data[i].f, -halved);
        y.data[i].f = i % (n + 1) == 0;
    }
    for (int term = TERMS; term > 0; term--) {
        multiply(product, a, y);
        for (int64_t i = 0; i < n * n; i++)
            y.data[i].f = product.data[i].f / term + (i % (n + 1) == 0);
    }
    for (; halved > 0; halved--) {
        multiply(product, y, y);
        memcpy(y.data, product.data, sizeof *y.data * (size_t)(n * n));
    }
}

static void factor_interpret(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    const int64_t n = inputs[0]->dims[inputs[0]->ndim - 1];
    const int64_t batches = n > 0 ? tensor_count(inputs[0]) / (n * n) : 0;
    struct arena own = {0};
    struct matrix a = {ARENA_ARRAY(&own, n * n + 1, union scalar), n, n},
                  product = {ARENA_ARRAY(&own, n * n + 1, union scalar), n, n};

    for (int64_t b = 0; b < batches; b++) {
        const struct matrix y = matrix_of(output, b);

        memcpy(a.data, matrix_of(inputs[0], b).data, sizeof *a.data * (size_t)(n * n));
        for (int64_t i = 0; i < n && op->input_count > 1; i++) {
            const struct matrix right = matrix_of(inputs[1], b);

            memcpy(y.data + i * y.columns, right.data + i * right.columns,
                   sizeof *y.data * (size_t)right.columns);
        }
        if (op->factor.kind == FACTOR_EXP)
            exponential(y, a, product);
        else if (op->factor.kind == FACTOR_SOLVE)
            solve(a, y);
        else
            solve_triangle(a, y, y.columns, op->factor.lower, op->factor.unit);
    }
    round_output(output, output->dtype);
    arena_free(&own);
}

static bool factor_once(const struct op *op)
{
    return op->factor.kind == FACTOR_EXP || takes_two(op);
}

/* A matrix without an inverse is found when the model runs, and not where constants are computed. */
static bool factor_known(const struct op *op)
{
    (void)op;
    return false;
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
    .interpret = factor_interpret,
    .known = factor_known,
    .once = factor_once,
    .accepts = dense_accepts,
    .macs = factor_macs,
    .dump = factor_dump,
    .pure = true,
    .work = factor_work,
};
