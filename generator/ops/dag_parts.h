/* dag_parts.h - what the files of the elementwise language share. Private to them. */
#ifndef MODC_DAG_PARTS_H
#define MODC_DAG_PARTS_H

#include "ops/dag.h"

/* prim.c */
bool prim_is_comparison(enum prim prim);

/* dag.c */
bool dag_is_const(const struct dag *dag, int node);
/* A constant of exactly that value, the sign of a zero included. */
bool dag_is_number(const struct dag *dag, int index, double number);
/* needed[i] > 0 where the result needs node i: how often it is an argument, plus one for the result itself. */
int *dag_count_uses(struct arena *arena, const struct dag *dag);

/* dag_simplify.c */
/* The node that `node` can be replaced by, see note [exact simplification]; -1: none. */
int dag_simplify(struct arena *arena, struct dag *dag, const struct dag_node *node);

#endif
