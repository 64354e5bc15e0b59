/* generation.h - reads `generation:`. */
#ifndef MODC_GENERATION_H
#define MODC_GENERATION_H

#include "module/module.h"
#include "tree/generation.h"

/* NULL: the spec has no `generation:`, or after a fault, which was said. */
struct generation *generation_read(struct cx *cx, struct module_tree *tree);

#endif
