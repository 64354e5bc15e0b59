/* dag_parts.h - what the files of the elementwise language share. Private to them. */
#ifndef MODC_DAG_PARTS_H
#define MODC_DAG_PARTS_H

#include "ops/dag.h"

/* dag.c */
bool dag_is_const(const struct dag *dag, int node);
/* A constant of exactly that value, the sign of a zero included. */
bool dag_is_number(const struct dag *dag, int index, double number);

/* dag_simplify.c */
/* The node that `node` can be replaced by, see note [exact simplification]; -1: none. */
int dag_simplify(struct arena *arena, struct dag *dag, const struct dag_node *node);

#endif
