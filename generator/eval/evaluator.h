/* evaluator.h - what the files of the evaluator share. Private to it.
 *
 * eval.c goes through an expression and asks, for each kind of node: eval_names.c, eval_operators.c (over numbers
 * eval_numbers.c), eval_attribute.c, eval_index.c and eval_call.c, which binds arguments by eval_bind.c and knows Python's
 * functions from eval_python.c, methods of its lists and strings from eval_methods.c. ev.c has values, ev_list.c those that change. Statements
 * run in eval_flow.c, and assign by eval_statements.c; texts of the tables are parsed in eval_tables.c. */
#ifndef MODC_EVAL_EVALUATOR_H
#define MODC_EVAL_EVALUATOR_H

#include "eval/eval.h"
#include "graph/make.h"
#include "layers/layers.h"
#include "spec/spec.h"

/* The name space that x.device is: PyTorch's functions do without it. */
#define EVAL_DEVICE "device"
/* What torch.float16 and the like are, which no value has: other types are not equal to it. */
#define EVAL_DTYPE "dtype"

#define EVAL_QUANTIZATION "torch.ao.quantization"

/* eval_quantization.c: torch.NAME; and what torch.ao.quantization has beside classes and functions, while the tree is built. */
bool eval_find_scheme(const char *name, struct loc loc, struct ev *out);
bool eval_find_quantization(struct eval *eval, const char *name, struct loc loc, struct ev *out);

/* The fault that such a type is used; `loc` is the place of its name. */
void eval_refuse_dtype(struct eval *eval, struct loc loc);
/* ---- build.c ---- */

/* Where statements make ops. */
struct site build_site(const struct eval *eval, struct loc loc);

/* ---- ev.c ---- */

/* Of tuples item by item, of integers where they are equal for all sizes. */
bool ev_equal(const struct ev *a, const struct ev *b);

/* Doubling a tuple takes a word; everybody who looks at one walks all of it. False after an error: too many items. */
bool ev_fits(struct eval *eval, struct loc loc, int64_t count);

/* False after an error: too many tuples in tuples. */
bool ev_nests(struct eval *eval, struct loc loc, const struct ev *item);

/* ---- ev_list.c ---- */

/* A tuple, list or dict. */
bool ev_is_sequence(const struct ev *value);

/* It is put into a tuple or list. */
void ev_hold(const struct ev *item);

/* Of a list or dict that has a cell; false after an error. */
bool ev_insert(struct eval *eval, struct loc loc, const struct ev *list, int at, const char *key,
               struct ev item);
bool ev_replace(struct eval *eval, struct loc loc, const struct ev *list, int at, struct ev item);
bool ev_remove(struct eval *eval, struct loc loc, const struct ev *list, int at);
bool ev_may_change(struct eval *eval, struct loc loc, const struct ev *list);

/* Where the key is, or -1. */
int ev_find_key(const struct ev *dict, const char *key);

/* Counts what loops do. False after an error, or where it was said. */
bool eval_spend(struct eval *eval, struct loc loc, int64_t count);

/* A list or mapping of modules or parameters. */
bool ev_is_container(const struct ev *value);

/* What a module holds, and under which names. */
void eval_module_items(struct eval *eval, struct loc loc, struct module *module, struct ev **items,
                       struct ev **names, int *count);

/* What `for` goes through: items of tuples, lists and lists of modules, keys, rows of tensors. eval_sequence says nothing. */
bool eval_sequence(struct eval *eval, struct loc loc, const struct ev *value, struct ev **items, int *count);
bool eval_through(struct eval *eval, struct loc loc, const struct ev *value, struct ev **items, int *count);

/* ---- eval.c ---- */

/* What is known while generating; false after an error. */
bool eval_condition(struct eval *eval, struct scope *scope, const struct expr *expr, bool *truth);

/* What stands in brackets or between commas, with *xs, [x for x in xs] and `3 x Linear(4, 4)` taken apart. False after a fault. */
bool eval_listed(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev **items,
                 int *count);

/* ---- eval_names.c ---- */

struct ev eval_name(struct eval *eval, struct scope *scope, const struct expr *expr);

/* NAME_ of the name space, if PyTorch has it: NAME, which changes what is given to it. */
bool eval_find_in_place(struct eval *eval, const char *name, unsigned flags, unsigned spaces, struct loc loc,
                        struct ev *out);

/* The fault that a function or method of PyTorch is not there, called `shown`: why, where pytorch_why knows it of the space. */
void eval_missing(struct eval *eval, struct loc loc, const char *space, const char *name, const char *shown,
                  unsigned where);

/* A function, constant, dtype or name space that stands without "torch." */
bool eval_find_global(const char *name, struct loc loc, struct ev *out);

/* A class that is a value while the module tree is built: of the spec, or (`own` is false) of torch.nn. */
bool eval_find_class(struct eval *eval, const char *name, bool own, struct loc loc, struct ev *out);

/* The fault that a class of torch.nn is named where a value is needed. */
void eval_module_as_value(struct eval *eval, struct loc loc, const char *name);

/* ---- eval_complex.c ---- */

/* The fault that complex tensors have no such function, method or operator yet. */
void eval_complex_fault(struct eval *eval, struct loc loc, const char *what);

/* Whether the call has a complex argument that the function does not take; then it is that of complex tensors, or faulty. */
bool eval_complex_call(struct eval *eval, struct ev *callee, const struct call *call);

/* Operators of which an operand is complex. */
struct ev eval_complex_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                              const struct ev *b);
struct ev eval_complex_unary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a);

struct ev eval_complex_attribute(struct eval *eval, const struct ev *base, const struct expr *expr);

/* "complex64", "cfloat", ... */
bool eval_find_complex_dtype(const char *name, struct loc loc, struct ev *out);

/* ---- eval_operators.c ---- */

/* What an operator is over tensors and over numbers that sizes decide, by enum expr_op. */
struct operator_row {
    enum prim prim;
    const char *label;
};

extern const struct operator_row operator_rows[];

struct ev eval_unary(struct eval *eval, struct scope *scope, const struct expr *expr);
struct ev eval_chain(struct eval *eval, struct scope *scope, const struct expr *expr);
struct ev eval_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                      const struct ev *b);

/* The fault that an operator does not take a and b. */
struct ev eval_operand_fault(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                             const struct ev *b);

/* ---- eval_numbers.c ---- */

/* Of two numbers that are both known or integers, or of which sizes decide one. */
struct ev eval_numbers(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                       const struct ev *b);

/* The fault that a number of the sizes stands where one must be known. */
struct ev eval_depends_on_sizes(struct eval *eval, struct loc loc, const struct ev *value);

/* ---- eval_attribute.c ---- */

/* Of `base`, which is the value of expr->a. */
struct ev eval_attribute(struct eval *eval, const struct ev *base, const struct expr *expr);

/* Whether base.name is there; with a value, what it is. Says nothing. */
bool eval_has_attribute(const struct ev *base, const char *name);

/* `name_loc` is the place of the name alone. */
struct ev eval_module_attribute(struct eval *eval, struct module *module, struct loc loc, const char *name,
                                struct loc name_loc);

/* ---- eval_index.c ---- */

struct ev eval_index(struct eval *eval, struct scope *scope, const struct expr *expr);

/* What indices and len() of a module go over: its parameters, where it is a list or mapping of those, or its children. */
int eval_element_count(const struct module *module);

/* x[items], where all that is chosen becomes `source`. False after a fault. */
bool eval_index_write(struct eval *eval, struct loc loc, const struct ev *base, const struct ev *items,
                      int count, const struct ev *source);
/* ---- eval_file.c ---- */

/* load_file(path), relative to the file that says so; EV_ELLIPSIS: other arguments. */
struct ev eval_load_file(struct eval *eval, const struct call *call);
/* load_file(path)[key] */
struct ev eval_file_tensor(struct eval *eval, struct loc loc, const struct ev *file, const struct ev *key);

/* ---- eval_call.c ---- */

struct ev eval_call(struct eval *eval, struct scope *scope, const struct expr *expr);

/* A class or a function with arguments that each call has. */
struct ev eval_with_args(struct eval *eval, const struct ev *callable, const struct call *call);

/* The arguments of a call behind those that functools.partial gave; by name the later ones count. */
struct call eval_with_preset(struct eval *eval, const struct call *preset, const struct call *given);

/* ---- autocast.c ---- */

/* Under autocast, of a call of a row: changes the types of its arguments, and whether what the row makes itself is under it (casts).
 * True: the tensor that it gives is cast to *back. */
bool eval_autocast(struct eval *eval, const struct function_row *row, const struct signature *signature,
                   struct ev *args, enum dtype *back);

/* ---- eval_python.c ---- */

/* A call of a name that the spec has not defined; EV_ELLIPSIS: none of Python's. */
struct ev eval_call_python(struct eval *eval, const char *name, const struct call *call);

/* float(x), int(x), bool(x) of numbers that are known while generating. */
struct ev eval_convert(struct eval *eval, const struct ev *callee, const struct call *call);

/* isinstance(x, T), whose second argument is a type. */
struct ev eval_isinstance(struct eval *eval, struct scope *scope, const struct expr *call);

/* f'...' */
struct ev eval_format(struct eval *eval, struct scope *scope, const struct expr *expr);

/* ---- eval_methods.c ---- */

/* A call of a method that Python has: of lists, dicts, strings, modules, and functions of `math`. False: there is none of that
 * name, or no call is known of it. */
bool eval_call_builtin(struct eval *eval, const struct ev *base, const struct expr *attr,
                       const struct call *call, struct ev *out);

/* One of Python's math functions of one number; EV_ELLIPSIS: none of that name, or not of these arguments. */
struct ev eval_math(struct eval *eval, const char *name, const struct call *call);

/* ---- eval_statements.c ---- */

/* target = value */
void eval_assign(struct eval *eval, struct scope *scope, const struct expr *target, struct ev value);
void eval_augment(struct eval *eval, struct scope *scope, const struct stmt *stmt, const struct ev *value);

/* ---- eval_flow.c ---- */

/* A function that stands in statements, or in an expression: names are those of the scope when it is called. */
struct ev eval_function(struct eval *eval, struct scope *scope, struct spec_function function);

/* Under no_grad, without gradients. */
struct ev eval_without_grad(struct eval *eval, struct ev value);

/* With `once` the first fault ends it: what follows in a body of the tables would say it again in other words. */
struct ev eval_run(struct eval *eval, struct scope *scope, struct stmt *const *statements, int count,
                   bool once);

#endif
