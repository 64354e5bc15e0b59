/* rows.h - what the families of ops share: checks of shapes, and the walk over broadcast tensors that the interpreters are
 * written with. Private to this room. */
#ifndef MODC_OPS_ROWS_H
#define MODC_OPS_ROWS_H

#include "ops/ops.h"

/* contract.c: shapes of a product; of attention's two, too */
const char *contract_infer(struct cx *cx, struct op *op);

/* ---- for accepts --------------------------------------------------------------------------------------------- */

/* The inputs of a tail may have any strides. */
bool in_tail(const struct op *op, int input);
enum op_accepts dense_accepts(const struct op *op, int input); /* all but those: without gaps */

/* ---- for infer ----------------------------------------------------------------------------------------------- */

/* Sets output 0 and checks the tail: it reads `dtype` as its input 0, its further inputs broadcast to the dims, and its
 * result is the op's. NULL, or what is wrong. */
const char *set_output(struct cx *cx, struct op *op, enum dtype dtype, int ndim,
                       const struct dim *const *dims);

/* "4 and 8 differ"; "batch and 4 agree only for some sizes"; "n and min(n, 4) agree only where n <= 4". */
const char *dims_differ(struct arena *arena, const struct dim *a, const struct dim *b);

/* int64, one a row: what says whose tokens rows are. */
bool is_of_rows(const struct value *value, const struct dim *rows);

const char *value_shape(struct arena *arena, const struct value *value);

double dims_upper(int ndim, const struct dim *const *dims); /* product of the maxima */

/* ---- for work and bytes -------------------------------------------------------------------------------------- */

double value_bytes(const struct value *value); /* at the maxima of the sizes */

/* Every value goes through the dag, or (NULL) an operation; so many do. */
void count_dag(struct op_work *work, double values, const struct dag *dag);

/* ---- for interpret ------------------------------------------------------------------------------------------- */

#define WALK_STREAMS 32 /* what has more inputs is not computed while generating */

/* Visits the elements of a row-major index space; `at[i]` is the offset of the element in stream i. */
struct walk {
    int ndim, streams;
    int64_t dims[MAX_DIMS], index[MAX_DIMS];
    int64_t strides[WALK_STREAMS][MAX_DIMS];
    int64_t at[WALK_STREAMS];
};

void walk_start(struct walk *walk, int ndim, const int64_t *dims);
void walk_add(struct walk *walk, const struct tensor *tensor); /* broadcast to the walk's dims */
void walk_next(struct walk *walk);                             /* behind the last element stands the first */

/* A dag to be run many times. `free` is to be called behind. */
struct dag_run {
    const struct dag *dag;
    union scalar inputs[WALK_STREAMS];
    union scalar *values, few[64];
};

void dag_run_start(struct dag_run *run, const struct dag *dag);
void dag_run_end(struct dag_run *run);
union scalar dag_run_once(struct dag_run *run);

/* Puts the output's elements, results of the op proper in its own type, through the op's tail. */
void run_tail(const struct op *op, const struct tensor *const *inputs, struct tensor *output);

/* The op proper's results, doubles, rounded to `dtype`. */
void round_output(struct tensor *output, enum dtype dtype);

#endif
