/* factor.c - kernels of what factors matrices: a template for each kind. */
#include <string.h>

#include "base/text.h"
#include "plan/cuda_blocks.h"
#include "plan/kernels/draft.h"

static const char *factor_stem(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0];
    struct text text = text_new(&cx->arena);

    text_printf(&text, "%s%s%s", op->label, op->factor.lower ? "_lower" : "", op->factor.unit ? "_unit" : "");
    name_dims(cx, &text, x->ndim, x->dims);
    if (op->input_count > 1) {
        text_add(&text, "_by_");
        name_dim(cx, &text, op->inputs[1]->dims[x->ndim - 1]);
    }
    return text.data;
}

static void holes_factor(struct draft *draft)
{
    static const char *const words[] = {[FACTOR_LU] = "L and U, and orders of rows, of x",
                                        [FACTOR_ORDER] = "the order of rows that are exchanged with x",
                                        [FACTOR_CHOLESKY] = "L of x = L . L^T",
                                        [FACTOR_QR] = "Q over R^T of x = Q . R",
                                        [FACTOR_EIGH] = "eigenvalues over eigenvectors of x",
                                        [FACTOR_SVD] = "U over singular values over V of x",
                                        [FACTOR_EXP] = "the exponential of x",
                                        [FACTOR_SOLVE] = "x^-1 . e0 and pivots of x",
                                        [FACTOR_TRIANGULAR] = "x^-1 . e0, of a triangular x"};
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];

    draft->apart = true;
    add_input(draft);
    if (draft->step->algorithm->scratch)
        add_scratch(draft, "v");
    hole_extent(draft, "T_batch", dims_product(cx, x, 0, x->ndim - 2));
    hole_extent(draft, "T_n", x->dims[x->ndim - (op->factor.kind == FACTOR_ORDER ? 2 : 1)]);
    if (op->factor.kind == FACTOR_LU || op->factor.kind == FACTOR_QR || op->factor.kind == FACTOR_SVD)
        hole_extent(draft, "T_m", x->dims[x->ndim - 2]);
    if (op->factor.kind == FACTOR_QR || op->factor.kind == FACTOR_SVD)
        hole_extent(draft, "T_k", y->dims[y->ndim - 1]);
    if (op->input_count > 1)
        hole_extent(draft, "T_k", op->inputs[1]->dims[x->ndim - 1]);
    if (draft->plan->backend->apart) {
        hole_int(draft, "T_blocks", factor_blocks(op));
        if (op->input_count > 1)
            hole_divisor(draft, "T_over_k", op->inputs[1]->dims[x->ndim - 1]);
    }
    hole_int(draft, "T_lower", op->factor.lower);
    hole_int(draft, "T_unit", op->factor.unit);
    draft->kernel->comment = arena_format(&cx->arena, "y %s = %s %s",
                                          shape_text(&cx->arena, y->ndim, y->dims), words[op->factor.kind],
                                          shape_text(&cx->arena, x->ndim, x->dims));
}

static const char *rotations_stem(const struct op *op)
{
    return op->outputs[0]->dtype == DTYPE_FLOAT64 ? "jacobi_f64" : "jacobi";
}

const struct kernel_row factor_kernels = {.stem = factor_stem,
                                          .make = make_template,
                                          .holes = holes_factor,
                                          .operands = input_operand,
                                          .own_inputs = 1,
                                          .parts_stem = rotations_stem};
