/* writes.c - where kernels can put their results: what rows of kernels say of it, and who asks them. */
#include "passes/toolkit.h"
#include "plan/kernels/draft.h"

bool writes_dense(struct arena *arena, const struct step *step, const struct value *y)
{
    (void)step;
    return value_is_dense(arena, y);
}

bool writes_lines(struct arena *arena, const struct step *step, const struct value *y)
{
    (void)arena, (void)step;
    for (int i = y->ndim - 1; i >= 0; i--)
        if (!dim_equals(y->dims[i], 1))
            return dim_equals(y->strides[i], 1);
    return true;
}

bool writes_last(struct arena *arena, const struct step *step, const struct value *y)
{
    (void)arena, (void)step;
    return dim_equals(y->dims[y->ndim - 1], 1) || dim_equals(y->strides[y->ndim - 1], 1);
}

bool kernels_write(struct arena *arena, const struct step *step, const struct value *y)
{
    const struct kernel_row *row = kernel_rows[step->op->code];

    if (!row) /* a region's function */
        return value_is_dense(arena, y);
    return row->writes && row->writes(arena, step, y);
}

bool kernels_slice(const struct op *op)
{
    return kernel_rows[op->code] && kernel_rows[op->code]->slices;
}
