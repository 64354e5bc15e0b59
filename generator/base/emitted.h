/* emitted.h - what emitted code calls the things of a spec, and what it calls its own: so the rooms that check names and
 * those that print them agree, and no name of a spec becomes one that every model has. Apart, since both sides of the row
 * of rooms need it.
 *
 * All names stand without the model's prefix: the function `load` is policy_load, the constant ROOT is POLICY_ROOT. A test
 * compares the lists with what the goldens have (tests/support/emitted.py). */
#ifndef MODC_EMITTED_H
#define MODC_EMITTED_H

#include "base/arena.h"
#include "base/diag.h"

/* A keyword of C or C++, or what headers or compilers may define as a macro or a type (c_names.h). */
bool emitted_reserved(const char *name);

/* `name` as an identifier in C: those that are reserved, macros and constants of the model (cx->model, once that is known) and of
 * the runtime get a trailing underscore, or three. */
const char *emitted_name(struct cx *cx, const char *name);

/* The same in upper case: names that are equal so cannot stand beside each other. */
const char *emitted_upper(struct cx *cx, const char *name);

/* An argument of the emitted functions: names of their own locals (p, k, net, ...) get an underscore. */
const char *c_argument(struct cx *cx, const char *name);

/* The same of a local variable: no header has it, so that words of C++ are free. */
const char *c_local(struct cx *cx, const char *name);

/* A size, in functions and in kernels: what a template calls something gets an underscore, too. */
const char *emitted_size(struct cx *cx, const char *name);

/* Functions and objects that every model has, or a later version of modc will; NULL ends. */
extern const char *const emitted_functions[];
/* Whether it is one of them. */
bool emitted_function(const char *name);

/* The same for struct tags: policy_params, policy_packed, policy_state, policy_code, policy_rollout, policy_window,
 * policy_training. */
bool emitted_struct(const char *name);

/* One identifier for a path: "trunk.0" -> "trunk_0"; "trunk__0" where cx->numbered. */
const char *emitted_flat(struct cx *cx, const char *path);

/* The constant of a module: TRUNK_0; ROOT for the path "". */
const char *emitted_module(struct cx *cx, const char *path);

/* The constant of a parameter's gradient: GRADIENT_TRUNK_0_WEIGHT. */
const char *emitted_gradient(struct cx *cx, const char *path);

/* MAX_BATCH; ACT_MAX_BATCH for an entry that has a maximum of its own (NULL: the model's). */
const char *emitted_max(struct cx *cx, const char *entry, const char *size);

/* WORKSPACE_BYTES, ACT_TRAIN_FENCED_WORKSPACE_BYTES, FENCED_BACKWARD_WORKSPACE_BYTES */
enum emitted_variant {
    EMITTED_FUSED,
    EMITTED_FENCED,
    EMITTED_SAVING,
    EMITTED_SAVING_FENCED,
    EMITTED_VARIANTS
};
const char *emitted_workspace(struct cx *cx, const char *entry, bool training, enum emitted_variant variant);

/* The other constants. */
extern const char *const emitted_constants[];

/* How many of them a model has; those of a model that writes stand last. */
int emitted_constant_count(bool writes);

/* How the functions of an entry's variants end, and what stands in front of their WORKSPACE_BYTES: policy_act_eval,
 * policy_act_train_fenced, POLICY_ACT_FENCED; NULL ends. */
extern const char *const emitted_endings[];

#endif
