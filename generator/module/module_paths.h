/* module_paths.h - what a spec says of parts of the finished tree by their paths, for module.c and training.c. */
#ifndef MODC_MODULE_PATHS_H
#define MODC_MODULE_PATHS_H

#include "module/module.h"

/* Applies eval: to a tree whose modules are numbered; faults are said at their places, here and below. */
void module_fix_modes(struct cx *cx, struct module_tree *tree);

/* Applies tie:, freeze: and checkpoint: to a tree whose keys are numbered. */
void module_apply_paths(struct cx *cx, struct module_tree *tree);

/* Reads `ranges:` of the finished tree; `activations: calibrated` says that it has them. */
void module_read_ranges(struct cx *cx, struct module_tree *tree);

/* Whether a pattern names this parameter, or a module that it belongs to. */
bool module_names_parameter(const char *pattern, const struct module_tensor *tensor);

/* What may have been meant by a pattern of modules, or (`parameters`) of parameters too, with `.*` or without. */
void module_hint_pattern(struct cx *cx, const struct module_tree *tree, const char *pattern, bool parameters);

#endif
