/* lower_parts.h - what the files of this room share: the state of one graph's lowering, calls, slots, regions. */
#ifndef MODC_LOWER_PARTS_H
#define MODC_LOWER_PARTS_H

#include "eval/eval.h"
#include "lower/lower.h"

/* What the spec says of an entry. */
struct entry_source {
    struct module_tree *tree;
    const struct spec_function *spec; /* NULL: the list of modules is called in turn */
    const struct spec_input **inputs; /* in the order of the entry's arguments */
    struct module *criterion;         /* of a loss in the short form; NULL: it is statements */
};

/* What a call has computed of a parameter. */
struct computed {
    const struct graph *graph;
    const struct module_call *call;
    const struct module_tensor *tensor;
    struct ev value;
};

struct lower {
    struct eval eval;    /* first: eval's callbacks find the rest */
    struct lower *outer; /* of a region: of the graph that calls it first; NULL */
    struct program *program;
    struct module_tree *tree; /* the program's; what calls show of modules is written there */
    const struct entry *entry;
    const struct entry_source *source;
    bool fenced;
    bool bare;                    /* the next call is one of module.forward, which has no hooks */
    const struct module *running; /* whose row's text runs */
    struct computed *computed;
    int computed_count;
};

/* A region, and what its class returned, over graph->outputs. */
struct lowered_region {
    struct region region; /* first: all that lowering makes are such */
    struct ev result;
};

/* ---- lower.c ------------------------------------------------------------------------------------------------ */

/* Names of what is returned, as `written` by the return (NULL: not written out): a plain name, else output, or output_
 * and the position. */
void lower_name_outputs(struct graph *graph, const struct expr *written, const struct ev *result, int *at);

/* Inputs and maxima of an entry. */
bool lower_read_entry(struct program *program, struct entry *entry, struct entry_source *source,
                      const struct spec_function *spec);

/* Without hooks, and where there are any with them. */
void lower_variants(struct program *program, struct entry *entry, const struct entry_source *source,
                    bool training, bool saves);

/* ---- lower_loss.c ------------------------------------------------------------------------------------------- */

/* The loss of what forward returned; bad after a fault. */
struct ev lower_loss(struct lower *lower, struct scope *scope, const struct expr *returned, struct ev result,
                     const struct ev *args);

/* Of the forward entry, as one of its own: MODEL_loss. */
void lower_loss_entry(struct program *program, struct module_tree *tree);

/* ---- lower_call.c ------------------------------------------------------------------------------------------- */

/* The tensors inside a value, in order. */
void lower_gather(struct eval *eval, const struct ev *value, struct value ***list, int *count);

/* And which of them are complex. */
void lower_gather_complex(struct eval *eval, const struct ev *value, bool **list, int *count);

/* What the value is where `ranges` names it: a number of steps; else itself. */
struct value *lower_range(struct eval *eval, const char *name, struct value *value);

/* The same value with its tensors, in order, taken from `list`. */
struct ev lower_scatter(struct eval *eval, const struct ev *value, struct value *const *list, int *at);

/* A module boundary: `values` come back as what hooks may have made of them. What shares memory in front of it does so behind it, as
 * build_share says: hooks part nothing. */
struct op *lower_fence(struct eval *eval, struct module *module, enum fence_kind kind, struct value **values,
                       const bool *complex, int count, int seen);

/* Threads the first argument through the children; the others go to every one. Where no statement calls the list, since
 * the model is one, each child is its own place. */
struct ev lower_children(struct eval *eval, struct module *module, const struct call *call);

struct ev lower_class(struct eval *eval, struct module *module,
                      const struct call *call); /* a class of the spec */
struct ev lower_layer(struct eval *eval, struct module *module,
                      const struct call *call); /* a row of the table */
struct ev lower_module(struct eval *eval, struct module *module,
                       const struct call *call); /* any, with its boundary */
/* The body alone, in a fenced graph between the module's boundaries. */
struct ev lower_bounded(struct eval *eval, struct module *module, const struct call *call);
/* Of a body of the tables: "forward(input): return ...". */
const struct signature *lower_row_signature(struct eval *eval, const char *text);
/* The scope in which the statements of a module's class run. */
struct scope *lower_module_scope(struct eval *eval, struct module *module);
bool lower_class_attribute(struct eval *eval, const struct ev *class, const struct expr *expr,
                           struct ev *out);

struct ev lower_method(struct eval *eval, struct module *module, const char *method, const struct call *call);

/* ---- lower_slots.c ------------------------------------------------------------------------------------------ */

struct ev lower_read(struct eval *eval, struct module_tensor *tensor, struct loc loc);
bool lower_write_rows(struct eval *eval, struct module_tensor *tensor, struct loc loc, struct value *index,
                      struct value *rows);
bool lower_write(struct eval *eval, struct module *self, const char *name, struct loc loc,
                 struct value *target, const struct ev *what);

/* ---- lower_rows.c ------------------------------------------------------------------------------------------- */

/* Checks what is said of the rows of a call, where the entry takes that. */
void lower_start_rows(struct lower *lower, struct ev *args);
/* One of enum row_value in the graph that is lowered; NULL: the entry has none. */
struct value *lower_row_value(struct eval *eval, int which);
bool lower_find_row_name(struct eval *eval, const char *name, struct loc loc, struct ev *out);
/* What a call of the region gives it of the rows. */
void lower_add_row_inputs(struct eval *eval, const struct graph *region, struct value ***inputs, int *count);

/* The next cache of the module whose statements run: a tensor for each of `like`, with rows of its shape, called by `what`.
 * False after an error. */
bool lower_cache(struct eval *eval, struct loc loc, enum module_cache kind, const char *const *what,
                 const struct value *const *like, int count, struct eval_kept *out);
/* What that module keeps under a name: of a source, of which a sequence has `each` rows, or from one row to the next. Without `like`: what
 * other calls make; false where there is nothing yet. */
bool lower_memory(struct eval *eval, struct loc loc, enum module_cache kind, int64_t each,
                  const char *const *what, const struct value *const *like, int count, struct eval_kept *out);
/* Whether the instance has used caches in the graph that a call of the region would use again; that it did. */
bool lower_has_cached(const struct graph *graph, const struct module *instance, const struct region *region);
void lower_add_cached(struct eval *eval, const struct module *instance, const struct region *region);

/* A table that forward asks by `position` itself has a row for each that there is; else an error. */
void lower_check_positions(const struct program *program);

/* ---- lower_region.c ----------------------------------------------------------------------------------------- */

/* Whether calls of the module are of a region, if its body allows it. */
bool lower_has_region(struct eval *eval, const struct module *module);

/* The region of this class, arguments and shapes; lowered at its first call. Its graph is NULL where it has to be called
 * inline; NULL after a fault. */
struct region *lower_find_region(struct eval *eval, struct module *module, const struct call *call);

/* Whether this call may be of the region: not where it changes an argument in place, where its module has drawn random numbers
 * before in the graph, or where backward calls it again and it writes. */
bool lower_fits_region(struct eval *eval, const struct module *module, const struct region *region);

/* Gradients of a parameter come together in the graph that reads it: an instance that is called twice, or of which the graph
 * reads parameters itself, is called inline. True: there is one that was not; the graph is to be lowered again. */
bool lower_find_shared(struct module_tree *tree, const struct graph *graph);

struct ev lower_call_region(struct eval *eval, struct module *module, struct region *region,
                            const struct call *call);

#endif
