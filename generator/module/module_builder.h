/* module_builder.h - what the files share that build the tree of modules. Private to the module room.
 *
 * Places where modules are written call each other: a class has members, members are calls of classes, of rows of the layer
 * table and of containers, and `set` and `add` may replace or follow each of them. */
#ifndef MODC_MODULE_BUILDER_H
#define MODC_MODULE_BUILDER_H

#include "base/names.h"
#include "module/module.h"

struct builder {
    struct eval eval; /* first, so that what it calls finds the builder */
    struct cx *cx;
    struct module_tree *tree;
    int depth, count;
    int moment;               /* modules that were made, with a place or without */
    struct module *running;   /* whose __init__ runs; NULL: none */
    int step;                 /* the change that brought what is built now; -1: none did */
    bool *applied;            /* by change */
    struct names sets, adds;  /* of changes: by path; by the parent's path */
    int *last_set, *last_add; /* by index of those names: changes */
    int *earlier_add;         /* by change: the one before it with the same parent; -1: none */
};

/* ---- module_scope.c: what names mean where modules are built ---- */

typedef bool module_finder(struct eval *eval, struct scope *scope, const char *name, struct loc loc,
                           struct ev *out);

/* Constants, functions and sizes: these are an error, or their maxima. */
module_finder module_find_fixed, module_find_maximum;

/* What the class itself has: its attributes. */
struct scope *module_class_scope(struct eval *eval, struct module_tree *tree, const struct spec_class *class);

/* Constants and functions of the model, with sizes as `find` has them. */
struct scope *module_spec_scope(struct eval *eval, struct module_tree *tree, module_finder *find);

/* Where a class writes constructors and shapes: its arguments over the model's constants. */
struct scope *module_argument_scope(struct builder *build, const struct module *module, module_finder *find);

/* Where methods of a class run while its __init__ does. */
struct scope *module_init_scope(struct eval *eval, struct module *module);

/* The arguments of a module, for texts of its row. */
struct scope *module_row_scope(struct builder *build, const struct module *module);

/* ---- module_args.c: arguments of constructors ---- */

/* Evaluates a constructor's arguments where it is written; what is faulty becomes bad (said). Modules among them, where the
 * row takes some (NULL: it is none), stay constructors. */
void module_eval_args(struct builder *build, struct scope *scope, const struct expr *expr,
                      const struct layer_row *row, struct call *call);

/* Binds them to a signature; false where that or one of the values is faulty (said). */
bool module_bind_args(struct builder *build, struct scope *scope, const char *what,
                      const struct signature_arg *args, int count, const struct call *call);

/* What a scope of arguments binds `name` to. */
const struct ev *module_arg(const struct scope *scope, const char *name);

/* Keeps what the names are bound to as arguments of the module. */
void module_store_args(struct builder *build, struct module *module, const struct scope *scope,
                       const char *const *names, int count);

/* What is wrong inside a class may come from the arguments of one instance. */
void module_note_instance(struct builder *build, const struct module *module);

/* Brings an argument into the form that its kind promises. */
bool module_check_arg(struct builder *build, const struct module *module, const struct layer_arg *arg,
                      struct ev *value);

/* Says that `value` is not what the argument must be. */
void module_arg_fault(struct builder *build, const struct module *module, const char *name,
                      const struct ev *value, const char *expected);

/* ---- module_init.c: how tensors begin ---- */

/* Reads what `init` says of a tensor whose shape is known. */
void module_set_init(struct builder *build, struct scope *scope, struct module_tensor *tensor,
                     const struct expr *init);

/* ---- module_draws.c ---- */

/* When keys have numbers and ties are known. */
void module_order_draws(struct builder *build);

/* ---- module_tensors.c ---- */

/* A tensor of the module, of which nothing but the name is known. */
struct module_tensor *module_add_tensor(struct builder *build, struct module *module,
                                        enum module_tensor_kind kind, const char *name, struct loc loc);

/* From a value known while generating; in the tensor's dtype where `cast` says so, else the tensor takes the value's. */
bool module_set_value(struct builder *build, struct module_tensor *tensor, struct ev value, bool cast);

/* `scope` has the module's arguments. False after a fault. */
bool module_add_row_tensor(struct builder *build, struct module *module, struct scope *scope,
                           const struct layer_tensor *row, enum module_tensor_kind kind);

/* Whether statements of its class write self.NAME. */
bool module_writes(struct builder *build, const struct module *module, const char *name);

/* From a tuple of integers; false after an error. */
bool module_set_shape(struct builder *build, struct module_tensor *tensor, const struct ev *shape);

/* One of parameters:, buffers: and state:. */
void module_add_spec_tensors(struct builder *build, struct module *module);

/* False after an error: it requires gradients, and has none. */
bool module_may_require_grad(struct builder *build, const struct module_tensor *tensor, struct loc loc);

/* ---- module_layers.c: modules of the tables ---- */

bool module_build_layer(struct builder *build, struct module *module, const struct layer_row *row,
                        const struct call *call);

/* A line of elementwise.c that is a module. */
bool module_build_activation(struct builder *build, struct module *module, const struct elementwise_row *row,
                             const struct call *call);

/* ---- module_extern.c ---- */

/* Gives an Extern, whose arguments are there, its body. False after a fault. */
bool module_note_extern(struct builder *build, struct module *module);

/* ---- module_parametrize.c: weight_norm(Linear(4, 2)) ---- */

/* A call of one of those functions, around a constructor. */
struct wrap;

bool module_is_wrapped(struct builder *build, const struct expr *expr);

/* What stands in the call; the call becomes the last of the wraps. False after a fault. */
bool module_unwrap(struct builder *build, struct scope *scope, const struct expr *expr, struct wrap **wraps,
                   int *count, struct ev *inner);

/* One list of two. */
struct wrap *module_join_wraps(struct builder *build, const struct wrap *outer, int count,
                               const struct wrap *inner, int inner_count);

/* What the calls make of the module, the last first. False after a fault. */
bool module_parametrize(struct builder *build, struct module *module, const struct wrap *wraps, int count);

/* ---- module_build.c: places where modules are written ---- */

/* A child of `parent`, of which nothing but the place is known. */
struct module *module_new(struct builder *build, struct module *parent, const char *name, struct loc loc);

/* False where there would be too many modules, or too deep ones: said. */
bool module_fits_limits(struct builder *build, struct loc loc);

/* What stands under one name: a call, a list, a mapping. */
void module_build_place(struct builder *build, struct module *parent, const char *name, struct scope *scope,
                        const struct spec_module *spec);

/* Makes of the module what a call of a class gives; the class is known. */
void module_build_class_call(struct builder *build, struct module *module, const char *class_name,
                             const struct call *call);

/* Says that modc knows no class of that name. */
void module_unknown_class(struct builder *build, struct loc loc, const char *name);

/* `Linear(4, 4) if wide else Identity()`: the chosen one; NULL where the condition is at fault. */
const struct expr *module_choose_call(struct builder *build, struct scope *scope, const struct expr *expr);

/* Whether it is written as a call of a class: `Linear(4, 4)`, `nn.Linear(4, 4)`. */
bool module_is_constructor(struct builder *build, const struct expr *expr);

/* One call, of whatever class. */
struct module *module_build_call(struct builder *build, struct module *parent, const char *name,
                                 struct scope *scope, const struct spec_module *spec,
                                 const struct expr *expr);

/* Makes of the module what is written. */
void module_build_written(struct builder *build, struct module *module, struct scope *scope,
                          const struct expr *expr);

/* False after a fault. `call` is NULL for the root, which has no arguments. */
bool module_build_class(struct builder *build, struct module *module, const struct spec_class *class,
                        const struct call *call);

/* ---- module_made.c: modules as values ---- */

/* What expressions can do while the tree is built. */
extern const struct eval_building module_building;

/* Whether the expression stands for a value that holds a module, and is no constructor itself: an argument, a part of one, a call of
 * what an argument is. */
bool module_is_value(struct builder *build, const struct scope *scope, const struct expr *expr);

/* The value becomes the module, of which nothing but the place is known. */
void module_become(struct builder *build, struct module *module, const struct ev *value);

/* What stands under one name: a value. */
void module_place_value(struct builder *build, struct module *parent, const char *name, struct loc loc,
                        const struct ev *value);

/* For struct eval. */
bool module_build_class_attribute(struct eval *eval, const struct ev *class, const struct expr *expr,
                                  struct ev *out);

/* The class of the spec that has the name, or NULL. */
const struct spec_class *module_find_class(const struct builder *build, const char *name);

/* The attributes of a class that it computes. */
void module_add_constants(struct builder *build, struct module *module);

/* ---- module_init_body.c: see note [__init__] there ---- */

/* Runs the __init__ of the class. False after a fault. */
bool module_run_init(struct builder *build, struct module *module, const struct scope *args);

/* self.NAME = value */
void module_assign(struct eval *eval, struct module *self, const char *name, struct loc loc, struct ev value);

/* Calls that only __init__ has: super().__init__(), self.register_buffer(...), nn.init.zeros_(...). False: it is none. */
bool module_call_init(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out);

/* nn.Parameter(...) as a value, and what it becomes. */
bool module_is_parameter(const struct ev *value);
void module_add_parameter(struct builder *build, struct module *self, const char *name, struct loc loc,
                          const struct ev *value);

/* What __init__ left of tensors, lists and modules without a place, as statements may have it: when the tree is whole. */
void module_settle(struct builder *build);

/* For struct eval_building. */
struct ev module_read_tensor(struct eval *eval, struct module_tensor *tensor, struct loc loc);
void module_change_tensor(struct eval *eval, const struct module_tensor *tensor, struct loc loc);
bool module_assign_to(struct eval *eval, const struct ev *base, const struct expr *target, struct ev value);

/* ---- module_containers.c: lists and mappings of modules ---- */

/* The same in a class that is a container of that row. */
void module_hold_in(struct builder *build, struct module *module, const struct layer_row *row,
                    const struct call *call);

/* An item, or a pair of a name and an item, more of a container that has no place yet. */
void module_hold_later(struct builder *build, const struct ev *container, const struct ev *item);
void module_hold_pair(struct builder *build, const struct ev *container, const struct call *pair);

/* The next of a list. */
void module_hold_next(struct builder *build, struct module *module, const struct ev *value);

/* The same of arguments that are values: list(Linear(4, 4), norm). */
void module_hold_values(struct builder *build, struct module *module, const struct call *call);

/* What Sequential(Linear(4, 4), ReLU()), ModuleList([Block(8), Block(8)]), ModuleDict({'act': ReLU()}),
 * Sequential(OrderedDict(...)) and ParameterList([[1.0, 2.0], zeros(3)]) hold. */
void module_build_container(struct builder *build, struct module *module, struct scope *scope,
                            const struct expr *call);

/* "  (0): Parameter containing: [torch.float32 of size 2x3]", a line each. ParameterDict has the name of a type of tensors
 * there. */
const char *module_parameters_repr(struct builder *build, const struct module *module);

/* Children of a list, by number: repetitions expand in place. */
void module_build_items(struct builder *build, struct module *parent, struct scope *scope,
                        const struct spec_module *spec);

/* ---- module_changes.c: see note [set and add] there ---- */

/* Sorts `set` and `add` by what they change. */
void module_find_changes(struct builder *build);

/* The module that `set` puts into this place, which is then built; false: none does. */
bool module_build_set(struct builder *build, struct module *parent, const char *name);

/* What `add` puts behind the children. */
void module_build_added(struct builder *build, struct module *module);

/* Says which changes did nothing. That the change of a base is overruled is what extending is for. */
void module_check_changes(struct builder *build);

/* ---- module_signature.c: which modules are equal ---- */

/* Children are an array where a list, and nothing else, is one `N x Call`: the root, a class, and a list with further
 * items or with changes have members of their own. */
void module_mark_array(const struct module *module);

/* How a module of the tables would be written: "Linear(4, 2, bias=False)". Its children are there. */
const char *module_call_text(struct builder *build, const struct module *module);

/* An instance that was changed is like those that were changed in the same way, and like no other. */
void module_complete_signature(struct builder *build, struct module *module);

/* ---- module_names.c: names in C that meet ---- */

void module_check_class_names(struct cx *cx, const struct spec *spec);

/* Sees to it that each module has a constant of its own in C, named by its path. */
void module_name_constants(struct builder *build);

/* Names of the variants of several dtypes and names of the model meet in no program. */
void module_check_variant_names(struct cx *cx, const struct module_tree *tree);

#endif
