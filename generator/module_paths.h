/* module_paths.h - what a spec says of parts of the finished tree by their paths, for module.c. */
#ifndef MODC_MODULE_PATHS_H
#define MODC_MODULE_PATHS_H

#include "module.h"

/* Applies eval: to a tree whose modules are numbered; faults are said at their places, here and below. */
void module_fix_modes(struct cx *cx, struct module_tree *tree);

/* Applies tie: and freeze: to a tree whose keys are numbered. */
void module_apply_paths(struct cx *cx, struct module_tree *tree);

#endif
