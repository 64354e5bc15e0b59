/* adjoint_rows.h - what the families of adjoint.c share: a row for each op of OPS_COMPUTED, and for views. */
#ifndef MODC_ADJOINT_ROWS_H
#define MODC_ADJOINT_ROWS_H

#include "backward/adjoint.h"
#include "graph/graph.h"

/* The value of statements over these tensors and integers; ends of lists are NULL. */
struct adjoint_name {
    const char *name;
    struct value *tensor; /* or */
    const struct dim *dim;
};

struct value *adjoint_run(const struct adjoint *a, struct op *op, const char *text,
                          const struct adjoint_name *names);

const struct dim *adjoint_number(const struct adjoint *a, int64_t number);
struct value *adjoint_zeros_like(const struct adjoint *a, const struct value *x);

/* What was broadcast from x's dims to g's, summed back. */
struct value *adjoint_sum_to(const struct adjoint *a, const struct value *x, struct value *g);

/* Whether x is y, as numbers of x's type. */
struct value *adjoint_same(const struct adjoint *a, struct value *x, struct value *y, bool equal_nans);

/* All leading axes as one. */
struct value *adjoint_matrix(const struct adjoint *a, struct value *x);

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* Gives the gradients of inputs, of an op of one result from its gradient, of one of several from theirs. NULL, NULL: none comes
 * to it. */
struct adjoint_row {
    void (*one)(const struct adjoint *a, struct op *op, struct value *g);
    void (*all)(const struct adjoint *a, struct op *op, struct value *const *g);
};

#define ADJOINT(code, row) extern const struct adjoint_row row##_adjoint;
OPS_COMPUTED(ADJOINT)
ADJOINT(VIEW, view)
#undef ADJOINT

#endif
