/* module.h - the module tree: classes expanded, arguments checked against the layer table, full paths, and the shapes of
 * parameters, buffers and state. */
#ifndef MODC_MODULE_H
#define MODC_MODULE_H

#include "eval/eval.h"
#include "layers/layers.h"
#include "spec/spec.h"
#include "tree/tree.h"

/* The tree of one of the spec's dtypes, 0 first: what does not depend on the dtype is said with it. From then on faults
 * are said of that dtype, as cx->variant has it. */
struct module_tree *module_build(struct cx *cx, struct spec *spec, int variant);

/* note [lazy modules]
 * What a lazy module is shows at its first call, so that a tree with some is not whole: lower_resolve, the room behind,
 * lowers the entries once, to see the calls. module_resolve makes of the module what it becomes, and gives it its tensors;
 * false after a fault. Then module_finish numbers keys, orders draws (PyTorch draws for them at their first calls, when
 * everything else is made), and ties: module_build did, where nothing is lazy. A module that was not resolved has no
 * tensors.
 *
 * A row with `channels` stays what it is: its first call gives the extent of that axis, and with it the shapes of its buffers and of
 * those of its children that wait for theirs. */
bool module_resolve(struct cx *cx, struct module_tree *tree, struct module *module, int64_t extent,
                    struct loc call);
void module_finish(struct cx *cx, struct module_tree *tree);

/* What the first call of a lazy module says: "in_features", "channels". */
const char *module_waits_for(const struct module *module);

/* Of a row with `channels`: whether the module has them, and along which axis. */
bool module_has_channels(struct cx *cx, struct module_tree *tree, const struct module *module, int64_t *axis);

/* A state in which the module keeps rows of the value's type and shape, so many: note [rows] in graph.h. Before module_finish. */
struct module_tensor *module_add_cache(struct cx *cx, struct module_tree *tree, struct module *module,
                                       const char *name, enum module_cache kind, const struct value *like,
                                       int64_t rows, struct loc loc);

/* What `training:` calls as its loss in the short form: no part of the tree, its class weights constants. Faulty after an
 * error. */
struct module *module_criterion(struct cx *cx, struct module_tree *tree);

void module_dump(struct text *text, const struct module_tree *tree, bool json);

/* Scopes: a module's arguments, children and tensors, for a class of the spec over the model's constants, sizes and
 * functions. The latter alone: `sizes` at their current value; else a size is an error, as where constructors stand. */
struct scope *module_scope(struct eval *eval, struct module_tree *tree, struct module *module);
struct scope *module_global_scope(struct eval *eval, struct module_tree *tree, bool sizes);

/* `class` is an EV_CLASS, not called; false after an error. */
bool module_class_attribute(struct eval *eval, struct module_tree *tree, const struct ev *class,
                            const struct expr *expr, struct ev *out);

/* Gives sizes of a model, or of an entry with maxima of its own, what calls require of them. Returns the first requirement that they
 * never meet, or -1. */
int module_limit_sizes(struct arena *arena, const struct module_tree *tree, struct size *sizes);

/* What `init` can be, without the tensor: "normal_(mean=0.0, std=1.0)". NULL ends. */
extern const char *const module_inits[];

/* How PyTorch prints it: the text of extra_repr. */
const char *module_extra_repr(const struct module *module);

#endif
