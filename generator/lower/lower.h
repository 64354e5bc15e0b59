/* lower.h - from the module tree to graphs: what the statements of each entry do, in each mode and variant.
 *
 * note [lazy modules] of module.h: what such a module is shows at its first call, which this room makes. */
#ifndef MODC_LOWER_H
#define MODC_LOWER_H

#include "graph/graph.h"
#include "module/module.h"

/* What module.h says of lazy modules: lowers the entries of a tree that has some, in the order of the text, evaluation first,
 * and finishes the tree. False after a fault of theirs or of any call, when nothing more is to be lowered. */
bool lower_resolve(struct cx *cx, struct module_tree *tree);

/* Of a finished tree. NULL where something could not be lowered and no error says why. */
struct program *lower_program(struct cx *cx, struct module_tree *tree);

#endif
