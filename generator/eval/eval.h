/* eval.h - the partial evaluator that the module tree and the graph share.
 *
 * It runs the spec's expressions and statements, and the bodies of layers and functions, over values that are known
 * (numbers, strings, tuples, dtypes, size expressions, constant tensors) or not (graph values). Building an op infers
 * its shape at once, so shapes are plain integers here and conditions on them are decided while lowering.
 * A faulty value becomes EV_BAD, which silences what follows from it. */
#ifndef MODC_EVAL_H
#define MODC_EVAL_H

#include "base/diag.h"
#include "base/dim.h"
#include "base/dtype.h"
#include "base/names.h"
#include "base/narrow.h"
#include "ops/ops.h"
#include "spec/expr.h"
#include "tree/tree.h"

enum ev_kind {
    EV_BAD,
    EV_NONE,
    EV_BOOL,   /* integer is 0 or 1 */
    EV_INT,    /* dim: a constant or an expression over sizes */
    EV_FLOAT,  /* number; where sizes decide it, a dag over them, of float64, and text: how it is written */
    EV_STRING, /* text */
    EV_DTYPE,  /* dtype */
    EV_COMPLEX_DTYPE, /* dtype: of the parts */
    EV_TUPLE,         /* items, count; fields for named tuples; list for [..] */
    EV_DICT,  /* items, count under the names of fields; list: a namespace, whose items are attributes */
    EV_SLICE, /* items[0..2]: start, stop, step */
    EV_ELLIPSIS,
    EV_MODULE,  /* module */
    EV_TENSOR,  /* tensor: a graph value, constant or not */
    EV_COMPLEX, /* tensor: a complex one, as torch.view_as_real shows it (note [pairs] in eval_complex.c); integer: 1 of a number */
    EV_FUNCTION, /* function */
    EV_METHOD,   /* text of items[0], a tensor; of a module its row's text, or spec_function of its class */
    EV_FILE,     /* text: the path of a safetensors file */
    EV_CONSTRUCTOR, /* a module without a place: made, or what the constructor makes of the names of its scope */
    EV_CLASS,       /* text: a class of torch.nn or of the spec, which was not called */
    EV_SPACE /* a name space: text is "torch", "torch.nn", "torch.nn.functional", "math", ... or "self" */
};

struct module;
struct wrap;
struct spec_function;
struct function_row;
struct eval;
struct frame;

#define EVAL_MAX_REPEAT 10000 /* modules that one repetition makes */
#define EVAL_MAX_STEPS 300000 /* of loops: statements, items and characters that are made */
#define EVAL_MAX_WALKED 10000000
#define EVAL_MAX_NESTED 64 /* tuples in tuples */
#define EVAL_MAX_ITEMS                                                                                       \
    65536 /* in a tuple with all that it holds; characters of a string that is made of others */

struct ev {
    enum ev_kind kind;
    bool list;
    bool in_place; /* FUNCTION, METHOD: add_ */
    bool changes;  /* what has a cell is in it */
    bool held;     /* of a cell: the list is in another one */
    struct loc loc;
    int64_t integer;
    double number;
    const char *text;
    const struct dim *dim;
    const struct dag *dag;
    struct ev *items;
    const char *const *fields;
    enum dtype dtype;
    int count;
    int total;       /* TUPLE, DICT: of items, and of theirs */
    int height;      /* of tuples in tuples */
    struct ev *cell; /* note [lists that change]; NULL: it does not */
    int version;     /* of a cell: how often it changed; else how often taken_from had, when it was taken */
    const struct ev *taken_from; /* of a list that changes no more: the cell that it was in; NULL: none */
    struct module *module;
    struct value *tensor;
    const struct function_row *function; /* FUNCTION: one of the three */
    const struct elementwise_row *elementwise;
    const struct spec_function *spec_function;
    const struct call *preset; /* CLASS, FUNCTION, METHOD: arguments by functools.partial, or NULL */
    const struct expr *constructor;
    struct scope *names; /* of the constructor */
    struct made_module *made;
    struct module_tensor
        *own; /* TENSOR, while the tree is built: the tensor of the model that it is; NULL: none */
};

/* Arguments of a call, in the order written. */
struct call {
    struct loc loc; /* of the whole call */
    struct ev *args;
    const char **names; /* NULL: positional */
    struct loc *locs;   /* of the keyword, or of the argument */
    int count;
    const struct expr *expr; /* as it is written; NULL: by nobody */
};

/* A module that was made of a class: its arguments are evaluated, and it has no place yet. note [made modules] in
 * module_made.c */
struct made_module {
    struct call call;
    int moment;         /* so many were made before it */
    int changes;        /* as those of eval were then */
    struct wrap *wraps; /* parametrizations around it, the outermost first */
    int wrap_count;
    const char
        *draw; /* of an nn.Parameter: "randn", "rand" or "empty", whose shape the arguments are; or NULL */
    double factor;
    bool frozen;           /* requires_grad=False */
    struct module *module; /* what it became; NULL: nothing yet */
};

struct binding {
    const char *name;
    struct ev value;
};

/* Names, innermost first. `find` gives what has no binding: a module's children and tensors, the model's constants. */
struct scope {
    struct scope *outer;
    struct binding *items;
    int count, room;    /* room: so many have place */
    struct names index; /* of items; see NAMES_INDEXED_FROM */
    bool (*find)(struct eval *eval, struct scope *scope, const char *name, struct loc loc, struct ev *out);
    void (*names)(struct eval *eval, struct scope *scope, const char ***names,
                  int *count); /* of find, for hints */
    bool (*explain)(struct eval *eval, struct scope *scope, const char *name,
                    struct loc loc); /* says why a name that is
                                                                                                  somewhere is not known */
    const void *data;                /* for find, names and explain */
    bool partial;        /* a statement could not be read: a name that is not known may be one of its */
    bool of_row;         /* of a row's body: what is bound keeps its place, which is the user's argument */
    struct module *self; /* whose statements run; NULL in functions of the spec */
    struct stmt *const *statements; /* that run in it, for hints */
    int statement_count;
    const struct stmt *returned; /* the `return` that ended them */
};

/* What expressions and statements can do while the module tree is built. */
struct eval_building {
    /* Whether a class has the name: of the spec, or (`own` is false) of torch.nn. */
    bool (*is_class)(struct eval *eval, const char *name, bool own);
    /* What a call of a class gives. */
    struct ev (*construct)(struct eval *eval, const struct ev *class, const struct call *call);
    /* Calls that are said of modules alone: spectral_norm(...), super().__init__(...). False: it is none. */
    bool (*call)(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out);
    /* self.NAME = value, while __init__ runs */
    void (*assign)(struct eval *eval, struct module *self, const char *name, struct loc loc, struct ev value);
    /* base.NAME = value, of what is not self. False: nothing is known of it. */
    bool (*assign_to)(struct eval *eval, const struct ev *base, const struct expr *target, struct ev value);
    /* A tensor of the tree, and a change in place of one that begins with numbers that are not known. */
    struct ev (*read)(struct eval *eval, struct module_tensor *tensor, struct loc loc);
    void (*change)(struct eval *eval, const struct module_tensor *tensor, struct loc loc);
};

struct eval_pool;

/* Where rows of a model with `generation:` are kept: a tensor of the tree, and of integers their scales, one for each line along the
 * last dimension (note [scales] in base/narrow.h), else NULL. */
struct eval_kept {
    struct module_tensor *rows, *scales;
    const struct narrow *narrow; /* as what; NULL: as they are */
};

struct eval {
    struct cx *cx;
    struct eval_pool *pool; /* NULL: what calls need stays till the end */
    struct graph *
        graph; /* where ops go; while the module tree is built one of no model; NULL: nothing changes in place */
    enum dtype default_dtype;
    bool casts;               /* under `autocast:`, what is called next is: note [autocast] in autocast.c */
    enum dtype cast_dtype;    /* bfloat16, float16 */
    bool training;            /* read by eval_in_training */
    struct module_call *call; /* the module call whose statements run */
    int depth;                /* of nested calls */
    const char
        *within; /* the function whose body in the tables runs: messages name it, not what it is made of */
    int calls;   /* of functions of the spec, so far */
    int loops;   /* that run, in one another */
    int64_t spent, walked; /* of EVAL_MAX_STEPS, EVAL_MAX_WALKED */
    bool no_grad;          /* statements of `with torch.no_grad():` run */
    struct function_faults {
        const struct spec_function *function;
        int count;
    } * faults; /* functions of the spec whose calls were faulty, and how often */
    int fault_count;
    bool full;                 /* the graph has more ops than it may have, which was said */
    bool backward;             /* gradients are made: backward/backward.c counts the ops */
    const struct frame *frame; /* the function of the spec whose statements run, and those that called it */
    int trying;                /* blocks of `try` that run, in one another */
    int tried_faults;          /* as diag_faults when the innermost began */
    const char *raised;        /* which exception its first fault is; NULL: modc's own */
    bool partial;              /* as spec.h's */
    struct loc at;             /* the user's call, for faults inside bodies of the tables */
    struct scope
        *globals; /* constants, sizes and functions of the spec; NULL while the module tree is built */
    /* Supplied by lower/lower_call.c: what a module does when it is called, or a method of its row's, and a write to self.NAME or a part
     * of it. */
    struct ev (*call_module)(struct eval *eval, struct module *module, const struct call *call);
    bool (*write)(struct eval *eval, struct module *self, const char *name, struct loc loc,
                  struct value *target, const struct ev *value);
    struct ev (*call_method)(struct eval *eval, struct module *module, const char *method,
                             const struct call *call);
    /* An attribute of a class that was not called; false after an error. */
    bool (*class_attribute)(struct eval *eval, const struct ev *class, const struct expr *expr,
                            struct ev *out);
    struct scope *(*module_scope)(struct eval *eval,
                                  struct module *module); /* in which statements of its class run */
    struct ev (*read)(struct eval *eval, struct module_tensor *tensor,
                      struct loc loc); /* a tensor of the tree */
    int changes;                       /* in place, so far */
    /* Of the rows of a call: note [rows] in graph/graph.h. row_value: one of enum row_value; NULL: there are none. */
    struct value *(*row_value)(struct eval *eval, int which);
    bool (*find_row_name)(struct eval *eval, const char *name, struct loc loc, struct ev *out);
    bool (*cache)(struct eval *eval, struct loc loc, enum module_cache kind, const char *const *what,
                  const struct value *const *like, int count, struct eval_kept *out);
    bool (*memory)(struct eval *eval, struct loc loc, enum module_cache kind, int64_t each,
                   const char *const *what, const struct value *const *like, int count,
                   struct eval_kept *out);
    /* Rows of a tensor of the tree become others, at an index that is inside; it may be of a narrower float. */
    bool (*write_rows)(struct eval *eval, struct module_tensor *tensor, struct loc loc, struct value *index,
                       struct value *rows);
    bool resolves;                        /* what modules keep is not yet known */
    const struct eval_building *building; /* NULL: statements of a graph run */
};

struct ev eval_expr(struct eval *eval, struct scope *scope, const struct expr *expr);

/* The module whose statements run, of its class's forward or of another of its methods; the model itself. */
struct module *eval_module(const struct eval *eval);

/* Whether the model is trained. Who asks makes the graph one of this mode alone. */
bool eval_in_training(struct eval *eval);

/* What an item of a list or of arguments gives: *xs are several, and so is `3 x Linear(4, 4)`. False after a fault. */
bool eval_several(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev **items,
                  int *count);

/* What the value, or all that is in it, is now: note [memory] in build_in_place.c, note [lists that change] in ev_list.c. EV_BAD
 * after an error. */
struct ev ev_fresh(struct eval *eval, struct ev value);

/* The next fault is an exception of Python's, which a `try` around it may take. */
void eval_raises(struct eval *eval, const char *exception);

struct spec_class;
/* The class of the spec in which the function was written whose statements run in the scope, of the module or of its bases. */
const struct spec_class *eval_class_of(const struct module *self, const struct scope *scope);

/* The function of a class, of no module. */
struct ev eval_class_function(struct eval *eval, const struct spec_function *function, struct loc loc);

/* Calls a value. */
struct ev eval_call_value(struct eval *eval, struct scope *scope, struct ev *callee, struct call *call);

/* One of Python's functions. */
bool eval_is_python(const char *name);

/* A name in the scopes of the spec. */
bool eval_find_name(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out);

/* The tensor x after it became `out` in place, in the type and the shape that it has. */
struct ev eval_become(struct eval *eval, struct loc loc, const char *what, const struct ev *x,
                      const struct ev *out);

/* Runs statements; the value of `return`, or EV_NONE. */
struct ev eval_statements(struct eval *eval, struct scope *scope, struct stmt *const *statements, int count);

/* A function of PyTorch by its name in one of the name spaces. */
bool eval_find_function(const char *name, unsigned flags, struct loc loc, struct ev *out);

/* What goes wrong in the expression is said to be at `loc`. */
void eval_place(struct expr *expr, struct loc loc);

/* Runs text of the tables (a body, a shape, a default): names are those of the scope. */
struct ev eval_text(struct eval *eval, struct scope *scope, const char *text);
struct ev eval_body(struct eval *eval, struct scope *scope, const char *text);

/* The same of a body that stands for what is written at `loc`, where its errors are said to be. */
struct ev eval_body_at(struct eval *eval, struct scope *scope, const char *text, struct loc loc);

/* What says it here, as a hint behind an error about a name that people bring along; where it stood. False: nothing is known of it. */
enum {
    HABIT_NAME = 1,
    HABIT_TORCH = 2,  /* behind torch. */
    HABIT_METHOD = 4, /* of a tensor */
    HABIT_CLASS = 8,  /* where a constructor stands */
    HABIT_CALLS = HABIT_NAME | HABIT_CLASS
};
/* Behind an error about a float where an integer is needed: it has its value. */
void eval_hint_integer(struct eval *eval, const struct ev *value);
bool eval_hint_habit(struct cx *cx, const char *name, unsigned where);

void scope_bind(struct eval *eval, struct scope *scope, const char *name, struct ev value);
void scope_reserve(struct eval *eval, struct scope *scope, int more); /* room for so many names more */
void scope_give(struct eval *eval, struct scope *scope);              /* nobody looks into it any more */
void scope_unbind(struct eval *eval, struct scope *scope, int item);

/* Zeroed memory that comes back: eval_pool.c. `bytes` are the same. */
struct eval_pool *eval_pool_new(struct arena *arena);
void *eval_take(struct eval *eval, size_t bytes);
void eval_give(struct eval *eval, void *block, size_t bytes);

/* Binds a call's arguments to a signature in `scope`; faults are said ("Linear has no argument 'out_feature'").
 * `what` names the callee in messages. Defaults are
 * evaluated around `scope`, as Python does where a function is defined. `gather`: 0, or which argument, counted from
 * 1, takes all further positional ones as one tuple. False after a fault. */
bool eval_bind(struct eval *eval, struct scope *scope, const char *what, const struct signature_arg *args,
               int count, int gather, const struct call *call);

/* Parses "name(arg, arg=default)" of a table once per compilation. */
const struct signature *eval_signature(struct eval *eval, const char *text);

struct ev ev_bad(struct loc loc);
struct ev ev_none(struct loc loc);
struct ev ev_bool(struct loc loc, bool value);
struct ev ev_int(struct eval *eval, struct loc loc, int64_t value);
struct ev ev_dim(struct loc loc, const struct dim *dim);
struct ev ev_float(struct loc loc, double value);
struct ev ev_float_dag(struct loc loc, const struct dag *dag, const char *text);
struct ev ev_string(struct loc loc, const char *text);
struct ev ev_dtype(struct loc loc, enum dtype dtype);
struct ev ev_tensor(struct loc loc, struct value *value);
struct ev ev_complex(struct loc loc, struct value *pairs);
static inline bool ev_has_value(const struct ev *value) /* a tensor, complex or not */
{
    return value->kind == EV_TENSOR || value->kind == EV_COMPLEX;
}

/* A tensor of the tree, which graphs have as `shown`. */
struct ev ev_of_tensor(struct loc loc, const struct module_tensor *tensor, struct value *shown);
struct ev ev_complex_dtype(struct loc loc, enum dtype part);
struct ev ev_tuple(struct eval *eval, struct loc loc, const struct ev *items, int count);
struct ev ev_module(struct loc loc, struct module *module);
struct ev ev_constructor(const struct expr *constructor, struct scope *names);
struct ev ev_class(struct loc loc, const char *name);
/* A list or a dict of the statements that run: one that changes. */
struct ev ev_list(struct eval *eval, struct loc loc, const struct ev *items, int count);
struct ev ev_dict(struct eval *eval, struct loc loc, const char *const *keys, const struct ev *items,
                  int count);
/* The same with lists of its own, which change; and with lists that nothing changes. */
struct ev ev_own(struct eval *eval, struct ev value);
struct ev ev_frozen(struct eval *eval, struct ev value);
/* Whether a tensor in it was changed in place since, or a list. */
bool ev_is_stale(struct eval *eval, const struct ev *value);
/* What a module, or the model, has of its arguments and constants, for the statements that run. */
struct ev ev_given(struct eval *eval, struct ev value);
/* The value of a key of a dict, new or not; false after an error. */
bool ev_set_key(struct eval *eval, struct loc loc, const struct ev *dict, const char *key, struct ev item);
const char *ev_text(struct eval *eval,
                    const struct ev *value);      /* as Python's repr: for messages and extra_repr */
const char *ev_kind_text(const struct ev *value); /* "a tuple", "a tensor" */

bool ev_is_number(const struct ev *value); /* a bool, an integer or a float, known or decided by sizes */

/* Known while generating, as the asked type; false otherwise, without a message. */
bool ev_get_int(const struct ev *value, int64_t *out);
bool ev_get_number(const struct ev *value, double *out);
bool ev_get_bool(const struct ev *value, bool *out);

/* ---- building ops (used by functions, layers and lowering) ------------------------------------------------ */

/* Appends an op with one output, infers it and, where all inputs are constant, computes it. NULL after a fault, which
 * was said at `loc`. */
struct value *build_op(struct eval *eval, struct loc loc, struct op *op);
/* Appends an op with `count` outputs, whose shapes were checked, and infers it; nothing computes it while generating. */
void build_outputs(struct eval *eval, struct loc loc, struct op *op, int count);
struct op *op_new(struct eval *eval, enum op_code code, const char *label, struct value *const *inputs,
                  int count);

/* Whether torch.ao.quantization has a class with arguments, or a record of such classes, under the name. */
bool eval_is_quantization_default(const char *name);

/* What torch.tensor makes of a number or nested lists of numbers: in `dtype`, or NULL: as they are. EV_NONE: it is neither,
 * without a message. */
struct ev build_tensor(struct eval *eval, struct loc loc, const struct ev *data, const enum dtype *dtype);
struct value *build_const(struct eval *eval, struct loc loc, const struct tensor *tensor);
struct value *build_scalar(struct eval *eval, struct loc loc,
                           const struct ev *number); /* 0-dim constant or DIM map */
/* A map over tensors that broadcast; dag input i is tensors[i]. */
struct value *build_map(struct eval *eval, struct loc loc, const char *label, struct dag *dag,
                        struct value *const *tensors, int count);
struct value *build_cast(struct eval *eval, struct loc loc, struct value *value, enum dtype dtype);
/* An operand of a product, in the type that autocast gives it. NULL stays. */
struct value *eval_lowered(struct eval *eval, struct loc loc, struct value *value);
/* build_matmul of two such. */
struct value *eval_matmul(struct eval *eval, struct loc loc, const char *label, struct value *a,
                          struct value *b);
/* The type in which operands meet, by PyTorch's promotion: tensors with dimensions, 0-dim tensors, numbers. */
enum dtype build_dtype(struct eval *eval, const struct ev *const *operands, int count);
/* False after an error: an integer that its narrow type cannot hold, where PyTorch refuses one. Unsigned types take
 * negative ones. */
bool build_number_fits(struct eval *eval, const struct ev *x, enum dtype dtype);
/* A binary primitive with PyTorch's promotion; either side may be a number. */
struct ev build_binary(struct eval *eval, struct loc loc, enum prim prim, const char *label,
                       const struct ev *a, const struct ev *b);
/* condition (bool) ? a : b, with the promotion of a and b. */
struct ev build_where(struct eval *eval, struct loc loc, struct value *condition, const struct ev *a,
                      const struct ev *b);
/* A line of one argument, of a number that sizes decide. */
struct dag *build_number(struct eval *eval, const struct elementwise_row *row, const struct ev *x);
/* An arithmetic primitive of two such numbers, as Python computes it. */
struct dag *build_number_binary(struct eval *eval, enum prim prim, const struct ev *a, const struct ev *b);
struct ev build_elementwise(struct eval *eval, struct loc loc, const struct elementwise_row *row,
                            struct ev *args, int count);
/* The graph has more ops than it may have, which is said at `loc` the first time. Asked before each expression, none of
 * which builds many of its own. */
bool build_is_full(struct eval *eval, struct loc loc);
/* False after an error: `name`, of one type, cannot hold what would be written there, of another. */
bool build_type_fits(struct eval *eval, struct loc loc, const char *name, enum dtype dtype,
                     enum dtype written);
/* x, the newest version, becomes `to`, of its dims and type, in place: whoever reads x from now on, or what x is a view of,
 * reads that. The tensor of a caller stays as it is. False after a fault. */
bool build_in_place(struct eval *eval, struct loc loc, const char *what, struct value *x, struct value *to);
/* Whose memory the value shows: one that is no view. */
struct value *build_storage(struct value *value);
/* A number or a tensor that becomes what fits x; NULL after an error. */
struct value *build_filling(struct eval *eval, struct loc loc, const char *what, const struct value *x,
                            const struct ev *source);
/* What a tensor is now that is the value: that became something in place, or another view of its memory. NULL after an error. */
struct value *build_shown(struct eval *eval, struct loc loc, struct value *value);
/* x shows what `to` does, in another shape, from now on, under all its names. False after a fault. */
bool build_turn(struct eval *eval, struct loc loc, const char *what, struct value *x, struct value *to);
/* Values with a number below `first` have one more tensor that is them. */
struct ev build_seen(struct ev out, int first);
/* What the value became in place; NULL after an error: that is not known. */
struct value *build_newest(struct eval *eval, struct loc loc, struct value *value);
/* Values stand for `of` from now on, behind a boundary or a call: those from `first` on, which are new, share memory with the first of
 * all whose `of` lies in the memory of theirs. */
void build_share(struct eval *eval, struct value *const *values, struct value *const *of, int first,
                 int count);
/* What a function made that copies in PyTorch shares no memory with what was there before: values with a number below `first`. */
struct ev build_apart(struct eval *eval, struct ev out, int first);
/* build_reshape as PyTorch's reshape, which copies where strides leave no view; with `always` as its view. */
struct value *build_reshaped(struct eval *eval, struct loc loc, struct value *value, int ndim,
                             const struct dim *const *dims, bool always);
/* The strides of a value in PyTorch, in a copy of it. False: they are not known. */
bool build_strides(struct eval *eval, const struct value *value, struct value *out);
/* The elements surely lie row-major without gaps. */
bool build_is_dense(struct eval *eval, const struct value *value);
/* What `out` shows is in the memory of `of`, in some order. */
struct ev build_beside(struct ev out, struct value *of);
struct value *build_contiguous(struct eval *eval, struct loc loc, struct value *value);
/* 0, 1, ..., int64, as many as the length says. NULL after an error: they are too many. */
struct value *build_arange(struct eval *eval, struct loc loc, const struct dim *length);
enum { EVAL_MAX_ARANGE = 1 << 24 };
bool build_arange_fits(struct eval *eval, struct loc loc, double length);
/* A call needs `dim` >= 0; elsewhere nothing happens. */
void build_need(struct eval *eval, const struct dim *dim);
/* A call needs `count` not to be 1; elsewhere nothing happens. */
void build_need_several(struct eval *eval, const struct dim *count);
struct value *build_permute(struct eval *eval, struct loc loc, struct value *value, const int *perm);
struct value *build_slice(struct eval *eval, struct loc loc, struct value *value, int axis,
                          const struct dim *start, const struct dim *step, const struct dim *length);
struct value *build_reshape(struct eval *eval, struct loc loc, struct value *value, int ndim,
                            const struct dim *const *dims);
struct value *build_expand(struct eval *eval, struct loc loc, struct value *value, int ndim,
                           const struct dim *const *dims);
/* One value is itself. */
struct value *build_concat(struct eval *eval, struct loc loc, const char *label, struct value *const *values,
                           int count, int axis);
struct value *build_flip(struct eval *eval, struct loc loc, struct value *value, int axis);
/* Windows of `size` elements, `dilation` apart, along an axis, from one to the next `step`; a last axis for their elements.
 * A call needs room for one. */
struct value *build_window(struct eval *eval, struct loc loc, const char *label, struct value *value,
                           int axis, int64_t size, int64_t step, int64_t dilation);
struct value *build_reduce(struct eval *eval, struct loc loc, struct value *value, enum reduce_kind kind,
                           const bool *axes, bool keepdim);
/* The elements of x at `index`, integers, along an axis: `along` and the dims are GRAPH_OP_GATHER's. Indices outside end
 * the call (or are an error, where they are known); with `negative` those below 0 count from the end. */
struct value *build_gather(struct eval *eval, struct loc loc, const char *label, struct value *x, int axis,
                           struct value *index, bool along, bool negative);
/* The same at an index that is inside. */
struct value *build_gather_inside(struct eval *eval, struct loc loc, const char *label, struct value *x,
                                  int axis, struct value *index, bool along);
/* The same at places along `count` axes from `axis` on, one index for each, that broadcast. */
struct value *build_gather_places(struct eval *eval, struct loc loc, struct value *x, int axis,
                                  struct value *const *indices, int count);
/* x with the elements of `source` there: dims as build_gather_places gives them, `prim` as build_scatter takes it. */
struct value *build_scatter_places(struct eval *eval, struct loc loc, struct value *x, int axis,
                                   struct value *const *indices, int count, struct value *source,
                                   enum prim prim);
/* An index of which negative elements count from the end, checked, as int64 without them. */
struct value *build_from_the_end(struct eval *eval, struct loc loc, const char *label, struct value *index,
                                 const struct dim *extent);
/* x with the elements of `source`, of its type, at `index`: GRAPH_OP_SCATTER's dims. `prim` joins what stands there and what
 * comes: PRIM_ADD, PRIM_MUL, PRIM_MAX, PRIM_MIN; PRIM_LOAD takes what comes. */
struct value *build_scatter(struct eval *eval, struct loc loc, const char *label, struct value *x, int axis,
                            struct value *index, struct value *source, enum prim prim, bool along);
/* The same at an index that is inside. */
struct value *build_scatter_inside(struct eval *eval, struct loc loc, const char *label, struct value *x,
                                   int axis, struct value *index, struct value *source, enum prim prim,
                                   bool along);
/* Sums, or products, up to each element; integers and bool: int64. */
struct value *build_scan(struct eval *eval, struct loc loc, struct value *x, int axis, enum scan_kind kind,
                         bool reverse);
/* SCAN_LARGEST: the largest so far. x is floating or int64, `first` what it begins with, of x's dims but the axis. */
struct value *build_largest(struct eval *eval, struct loc loc, struct value *first, struct value *x,
                            int axis);
/* SCAN_DECAYED. x, cut and factor (NULL: that number) have one shape, `before`, what stands before the first element, all of it but
 * the axis (NULL: 0); all but cut are floating, of one type. */
struct value *build_decayed(struct eval *eval, struct loc loc, struct value *before, struct value *x,
                            struct value *cut, struct value *factor, double number, int axis, bool reverse);
/* The int64 order of the elements along an axis; equal ones stay as they stand, NaN is above all. */
struct value *build_argsort(struct eval *eval, struct loc loc, struct value *x, int axis, bool descending);
/* The call ends where an index is outside 0 .. extent - 1; with `negative` those below 0 count from the end. False after an
 * error: it is known. */
bool build_in_range(struct eval *eval, struct loc loc, const char *label, struct value *index,
                    const struct dim *extent, bool negative);
/* Where the divisor has a 0, the call ends. NULL after an error: it is known. */
struct value *build_divisor(struct eval *eval, struct loc loc, struct value *divisor);
/* Where the mask has a false, the call ends. False: it is known to have one. */
bool build_holds(struct eval *eval, struct loc loc, struct value *mask);
struct value *build_matmul(struct eval *eval, struct loc loc, const char *label, struct value *a,
                           struct value *b, struct value *bias);
struct value *build_copy(struct eval *eval, struct loc loc, struct value *value);

/* Fills the {holes} of an extra_repr or message from the bindings of `scope`. A part in `[cond? text]` stands only where
 * the condition over the arguments holds: "{in_channels}[groups != 1?, groups={groups}]". */
const char *eval_fill(struct eval *eval, struct scope *scope, const char *format);

/* What the name of a dtype means, as tensors are stored: an EV_DTYPE, of complex types too; or bad, which is said. */
struct ev eval_stored_dtype(struct eval *eval, const struct expr *name);

/* What statements see of a tensor of the tree. */
struct ev eval_tensor(struct eval *eval, struct module_tensor *tensor, struct loc loc);

/* x with `source`, a tensor or a number, where the items of an index choose; added to what is there, where `accumulate`. NULL
 * after an error. */
struct value *eval_index_put(struct eval *eval, struct loc loc, const char *what, struct value *x,
                             const struct ev *items, int count, const struct ev *source, bool accumulate);

/* ---- complex tensors: note [pairs] in eval_complex.c ---- */

/* A Python number. */
struct ev eval_complex_number(struct eval *eval, struct loc loc, double real, double imaginary);
/* The type of the parts in which operands meet, of which one is complex. */
enum dtype eval_complex_part_dtype(struct eval *eval, const struct ev *const *operands, int count);
/* The pairs of what is complex, or of a number or real tensor, whose imaginary parts are 0. NULL after an error. */
struct value *eval_pairs(struct eval *eval, struct loc loc, const struct ev *x, enum dtype dtype);
/* The same where a real tensor keeps to one element in place of a pair, which broadcasts. */
struct value *eval_beside_pairs(struct eval *eval, struct loc loc, const struct ev *x, enum dtype dtype);
/* The real, or the imaginary part of pairs. */
struct ev eval_complex_part(struct eval *eval, struct loc loc, struct value *pairs, bool imaginary);

/* x[..., index, ...] on one axis, which disappears; index is an EV_INT. */
struct value *eval_select(struct eval *eval, struct value *value, int axis, const struct ev *index);

#endif
