/* layers.h - the layer table and the function table: rows of torch.nn's classes and of its functions.
 *
 * A row says arguments with PyTorch's names and defaults, parameters, checks, and a body in the spec's own statements.
 * Rows live in layers/<family>.c, in files named like torch/nn/modules, and in functions/<family>.c. */
#ifndef MODC_LAYERS_H
#define MODC_LAYERS_H

#include "base/diag.h"
#include "tree/tree.h"

struct elementwise_row;
struct ev;
struct eval;

enum arg_kind {
    ARG_ANY,
    ARG_INT,
    ARG_FLOAT,
    ARG_BOOL,
    ARG_STRING,
    ARG_SINGLE, /* an int, or a tuple of one: always a tuple of one in the body and in extra_repr */
    ARG_PAIR,   /* of two */
    ARG_TRIPLE, /* of three */
    ARG_FOUR,
    ARG_SIX,
    ARG_TUPLE,    /* a tuple or list of integers, as given */
    ARG_INTS,     /* an int or a tuple: always a tuple */
    ARG_FLOATS,   /* None, a number or a tuple of them: floats */
    ARG_OPTION,   /* as given: None, a string, a number */
    ARG_MODULE,   /* None, or a constructor: children are made by its name, in their calls */
    ARG_CALLABLE, /* a function, a word for one, or a constructor */
    ARG_SIZES     /* as given, over sizes, which have their current values there */
};

struct layer_arg {
    const char *name;
    enum arg_kind kind;
    const char *value; /* default as text, or NULL: needed */
    bool keyword;      /* given by name alone, as all that follow it */
};

struct layer_tensor {
    const char *name;
    const char *shape; /* dimensions as text over the arguments: "out_features, in_features"; "" is 0-dim */
    const char *init;  /* of torch.nn.init, without its tensor; buffers: a constructor over the shape */
    const char *when;  /* condition; otherwise the slot is None */
    const char *with;  /* bindings for init: "bound = 1 / sqrt(in_features)" */
    const char *dtype; /* NULL: the model's */
    const char *zero_row; /* an argument: None, or the row that is 0 initially */
    const char *value;    /* buffers: an expression evaluated while generating, instead of shape and init */
    bool optional;        /* may be missing in a file (num_batches_tracked) */
};

/* A module that belongs to every module of the row. */
struct layer_child {
    const char *name;
    const char
        *call; /* a constructor over the arguments: "Linear(in_features, 4)", "norm" of an ARG_MODULE */
    const char *when;       /* condition; otherwise there is none */
    const char *class_name; /* how it prints, where that is another name of its class */
    bool copies;            /* its children are copies of the first: see note [draws] in module_draws.c */
};

/* What the constructor draws again, or sets, when all is there. */
struct layer_reset {
    const char *tensors; /* a parameter below the module by its path; "*": all of them */
    const char *init;    /* of torch.nn.init, without its tensor */
    int least;           /* of as many dimensions */
};

struct layer_check {
    const char *condition, *message; /* message with {arg} holes */
};

enum layer_container {
    LAYER_PLAIN,
    LAYER_SEQUENTIAL,
    LAYER_MODULE_LIST,
    LAYER_MODULE_DICT,
    LAYER_PARAMETER_LIST,
    LAYER_PARAMETER_DICT
};

/* Of one row. */
enum {
    LAYER_MAX_ARGS = 16,
    LAYER_MAX_PARAMS = 8,
    LAYER_MAX_BUFFERS = 6,
    LAYER_MAX_CHILDREN = 12,
    LAYER_MAX_CHECKS = 12,
    LAYER_MAX_METHODS = 4,
    LAYER_MAX_RESETS = 2
};

struct layer_row {
    const char *name;
    struct layer_arg args[LAYER_MAX_ARGS];
    struct layer_tensor params[LAYER_MAX_PARAMS], buffers[LAYER_MAX_BUFFERS];
    /* Params are there once for each `index` below `repeat`, of which `each` binds what their names, with holes, and shapes
     * use. NULL: once. */
    const char *repeat, *each;
    struct layer_child children[LAYER_MAX_CHILDREN];
    struct layer_reset resets[LAYER_MAX_RESETS];
    struct layer_check checks[LAYER_MAX_CHECKS];
    const char *forward; /* "forward(input): return ..."; statements separated by newlines */
    const char *methods
        [LAYER_MAX_METHODS]; /* "log_prob(input): return ...", called as criterion.log_prob(x), around the module's hooks */
    const char *extra_repr; /* with {arg} holes; {arg!r} as Python's repr; see eval_fill */
    enum layer_container container;
    bool external; /* its body is the user's: struct extern_body */
    bool region;   /* equal modules share a function, as instances of a class of the spec do */
    /* Lazy forms: the class that the first call makes of it, whose arguments are one that stands before those of this row;
     * it is the extent of the first input along `axis`. */
    const char *becomes;
    int axis;
    /* Of an axis of the first input, which this says over arguments and children, its extent is `channels` in the shapes of buffers;
     * None: that is 1. See note [lazy modules] in module.h. */
    const char *channels;
    bool factory;    /* NAME.with_args(...) is the class with these arguments */
    const char *doc; /* one line for `modc layers` */
};

/* Of rows of torch.ao.nn.qat: their last argument and its check, behind commas, and what rounds their weight. */
#define LAYER_QCONFIG                                                                                        \
    ,                                                                                                        \
    {                                                                                                        \
        "qconfig", ARG_ANY, "None"                                                                           \
    }
#define LAYER_QCONFIG_CHECK                                                                                  \
    ,                                                                                                        \
    {                                                                                                        \
        "hasattr(qconfig, 'weight')",                                                                        \
            "qconfig must be a QConfig, as default_qat_qconfig is one, found {qconfig}"                      \
    }
#define LAYER_WEIGHT_FAKE_QUANT                                                                              \
    {                                                                                                        \
        "weight_fake_quant", "qconfig.weight()"                                                              \
    }

struct layer_family {
    const char *name;             /* for `modc layers` */
    const struct layer_row *rows; /* end with a row without name */
};
extern const struct layer_family layer_families[]; /* end with one without rows */

const struct layer_row *layer_find(const char *name);
const struct layer_row *layer_find_qat(const char *name); /* of torch.ao.nn.qat: row "qat.NAME" */

/* A ParameterList or ParameterDict: what is indexed are its tensors. */
bool module_holds_parameters(const struct module *module);

/* How PyTorch prints it: whether equal neighbours are one line. */
bool module_folds(const struct module *module);

/* "BatchNorm1d(num_features, eps=1e-5, ..., *, bias=True)" */
const char *layer_signature(struct cx *cx, const struct layer_row *row);

/* All names: rows and the elementwise lines that are modules too. For hints and `modc layers`. */
const char *const *layer_names(struct cx *cx, int *count);

/* ---- functions --------------------------------------------------------------------------------------------- */

enum {
    FUNCTION_TORCH = 1,      /* torch.NAME */
    FUNCTION_FUNCTIONAL = 2, /* torch.nn.functional.NAME */
    FUNCTION_METHOD = 4,     /* torch.Tensor.NAME: the first argument is the tensor */
    FUNCTION_VARARGS =
        8, /* further positional arguments of the method form gather in the second: permute(0, 2, 1) */
    FUNCTION_HIDDEN = 16,    /* for bodies only: a spec cannot name it */
    FUNCTION_SIZES = 32,     /* positional arguments gather in the first: ones(2, 3) */
    FUNCTION_REST = 64,      /* further positional arguments gather in the second: einsum("ij,jk", a, b) */
    FUNCTION_VIEW = 256,     /* what it returns shows what it is given: else it shares no memory with that */
    FUNCTION_IN_PLACE = 512, /* the first argument becomes the result */
    FUNCTION_RETURNS = 128,  /* torchrl.objectives.value.functional.NAME, by its bare name */
    FUNCTION_COMPLEX = 1024, /* takes complex tensors */
    FUNCTION_VISION = 2048,  /* torchvision.NAME, without more */
    FUNCTION_NN = 4096,      /* torch.nn.NAME: static methods of its classes */
    FUNCTION_ROWS = 8192,    /* modc's own, of models with `generation:` */
    FUNCTION_OWN = 16384,    /* modc's own, by its bare name */
    FUNCTION_QUANTIZATION = 32768, /* torch.ao.quantization.NAME, by its bare name too */
    FUNCTION_VISIBLE = FUNCTION_TORCH | FUNCTION_FUNCTIONAL | FUNCTION_METHOD | FUNCTION_RETURNS |
                       FUNCTION_VISION | FUNCTION_NN | FUNCTION_ROWS | FUNCTION_OWN | FUNCTION_QUANTIZATION
};

struct function_row {
    const char *signature; /* "linear(input, weight, bias=None)" */
    unsigned flags;
    struct ev (*build)(struct eval *eval, struct ev *args, int count, struct loc loc); /* or */
    const char *body;                                                                  /* statements */
};

struct function_family {
    const char *name;                /* for `modc layers` */
    const struct function_row *rows; /* end with a row without signature */
};
extern const struct function_family function_families[]; /* end with one without rows */

/* By name among those that have one of the flags. */
const struct function_row *function_find(const char *name, unsigned flags);
const char *const *function_names(struct cx *cx, unsigned flags, int *count); /* with the elementwise lines */

/* The flags that a line of elementwise.c would have as a row. */
unsigned function_flags(const struct elementwise_row *line);

#endif
