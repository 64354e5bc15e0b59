/* plan_dag.h - what the plan asks of expression DAGs: which sizes they read, whether they have a vector form, whether parts
 * of them are used twice; and numbers as C, which comments have too. */
#ifndef MODC_PLAN_DAG_H
#define MODC_PLAN_DAG_H

#include "base/text.h"
#include "ops/elementwise.h"
#include "plan/nest.h"

/* True where every node of the dag and every operand fits vectors of one lane width: all float32, or all float64
 * without transcendentals; comparisons and SELECT between them; no integers. *lanes is DTYPE_FLOAT32 or FLOAT64. */
bool dag_vectorises(const struct dag *dag, enum dtype *lanes);

/* Which nodes the result needs, by index. */
bool *dag_needed(struct arena *arena, const struct dag *dag);

/* Whether the results are computed in the same way, in whatever order the nodes stand. */
bool dag_same(const struct dag *a, const struct dag *b);

/* note [uniform]
 * A node below which nothing is loaded (numbers, sizes, inputs that are one number for all lanes, and what is computed of
 * them) is one number for all lanes of a vector. `scalars`: such inputs, NULL: none is. `uniform`: by node. */
void dag_uniform(const struct dag *dag, const bool *scalars, bool *uniform);

/* The type in which the dag reads the input; `otherwise` where it does not. */
enum dtype dag_input_type(const struct dag *dag, int input, enum dtype otherwise);

/* dim_mark_sizes for what the dag needs: its kernel takes these as int parameters. */
int dag_mark_sizes(const struct dag *dag, bool *used);

/* Would parts be written twice, were it written as one expression? */
bool dag_is_shared(const struct dag *dag);

/* A copy in normal form. */
struct nest nest_normal(struct arena *arena, struct nest nest);

/* The same for dims and strides of the nest in normal form: with the dags', these are the parameters of its kernel. */
int nest_mark_sizes(struct arena *arena, struct nest nest, bool *used);

/* One number as C: %.9g / %.17g with a point and f, INFINITY-free (modc_f32_inf() and the like from modc_simd.h). */
const char *expr_number(struct cx *cx, enum dtype dtype, double number, int64_t integer);

#endif
