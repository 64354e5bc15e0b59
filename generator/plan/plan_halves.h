/* plan_halves.h - values of 16-bit floating types: how ops compute with them.
 *
 * note [halves]
 * What has the type float16 or bfloat16 lies in 2 bytes and is computed with in float32. A value of such a type is a number of that
 * type whether it is stored or not: between the functions of the spec that one kernel computes it is rounded where it would have been
 * stored, as in PyTorch, so that a model with hooks, without them and in parts has the same numbers, and `x == x.amax()` is true
 * somewhere. Within a function (a line of elementwise.c, a sum, a product with its bias, a norm, a softmax, the scores of
 * attention, a step of a recurrent layer) nothing is rounded.
 *
 * Up to the plan a DAG says this by the types of its nodes. For kernels they are told: all nodes compute in float32, a value is
 * rounded by as_float16 or as_bfloat16, and what is loaded and what is stored is converted by those that load and store it. */
#ifndef MODC_PLAN_HALVES_H
#define MODC_PLAN_HALVES_H

#include "graph/graph.h"

/* The DAGs of all ops so; those without halves stay what they are. */
void plan_tell_halves(struct program *program);

/* A DAG so, of which what is stored is the result. */
const struct dag *dag_told(struct arena *arena, const struct dag *dag);

#endif
