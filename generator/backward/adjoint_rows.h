/* adjoint_rows.h - what the families of adjoint.c share: one function for each op that differentiates. */
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

void map_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void reduce_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void contract_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void conv_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void pool_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void norm_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void softmax_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void scan_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void ctc_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void recurrent_adjoint(const struct adjoint *a, struct op *op, struct value *const *g);
void concat_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void gather_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void scatter_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void view_adjoint(const struct adjoint *a, struct op *op, struct value *g);
void write_adjoint(const struct adjoint *a, struct op *op, struct value *g);

#endif
