/* backward.h - gradients: behind each graph that saves stands its second call from here on. A room of its own between lowering and
 * passes, since gradients are made by the evaluator that lowers the spec's statements, of which passes know nothing. */
#ifndef MODC_BACKWARD_H
#define MODC_BACKWARD_H

#include "graph/graph.h"

/* Of ops as lowering makes them: one op, one function, without heads and tails. After an error, which is said at the op that is
 * one too many, graphs are not whole. */
void backward_write(struct cx *cx, struct program *program);

#endif
