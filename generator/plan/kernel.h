/* kernel.h - kernels as data: a record of each function that computes something, and of each call of one. All that is
 * printed of a kernel is decided here; emit/kernel.c renders records.
 *
 * Equal kernels are equal records, but for what they are called and for the shapes of what they fill: one kernel then serves all
 * who want it. */
#ifndef MODC_PLAN_KERNEL_H
#define MODC_PLAN_KERNEL_H

#include "plan/nest_form.h"
#include "plan/plan.h"

/* ---- what fills a template ---------------------------------------------------------------------------------- */

/* An argument that one kernel hands to another: one of its own parameters, behind what the loops there have gone past, or
 * a size, or a name that stands in the template. */
struct passed {
    const char *name;
    struct passed_step {
        const char *index;        /* a variable of the template */
        const struct dim *stride; /* 0: it is left out */
        const char *name;         /* in a core, where the stride is an argument */
    } steps[3];                   /* added to a pointer */
    int step_count;
    bool at; /* `offset` is added too, whatever it is */
    int64_t offset;
};

enum hole_kind {
    HOLE_INT,        /* a literal */
    HOLE_SOME,       /* of a core: the largest of all calls; 1 where it is so in some of them */
    HOLE_DIM,        /* a literal, or an expression over sizes */
    HOLE_NUMBER,     /* a literal of a floating type */
    HOLE_TYPE,       /* a type */
    HOLE_VECTOR,     /* the type of vectors of one */
    HOLE_WORD,       /* another identifier */
    HOLE_KERNEL,     /* the name of a kernel that this one calls */
    HOLE_PARAMETERS, /* some of the kernel's parameters, each behind a comma */
    HOLE_PASSED      /* arguments, each behind a comma */
};

struct hole {
    const char *name; /* "T_m" */
    enum hole_kind kind;
    int64_t integer;       /* INT, SOME */
    const struct dim *dim; /* DIM */
    enum dtype dtype;      /* NUMBER, TYPE, VECTOR */
    double number;
    const char *word;            /* WORD */
    const struct kernel *kernel; /* KERNEL */
    int first, count;            /* PARAMETERS: which; PASSED: how many */
    const struct passed *passed;
};

enum parameter_kind {
    PARAMETER_VALUES, /* a pointer to them */
    PARAMETER_LINES,  /* a pointer to pointers to values that are read */
    PARAMETER_COUNT   /* an int */
};

/* What a kernel takes. */
struct kernel_parameter {
    struct element element; /* of what it points to */
    const char *name;
    bool written, restricted;
    enum parameter_kind kind;
};

/* A pointer of a template that is not among its kernel's parameters, or is one or another of them: what it points to. */
struct kernel_pointer {
    const char *name;
    struct element element;
};

/* How the tail reads one of its operands: the distance of rows and of columns, and of batches, which the template calls batch0 and
 * batch1. */
struct tail_operand {
    struct element element;
    const struct dim *row, *column;
    const struct dim *batch[2]; /* NULL: it knows none */
    const char *row_name;       /* in a core, where the row's is an argument; or NULL */
};

/* An extent or a distance that a core takes as an argument, which is a constant or a size of each call; or a kernel that it
 * calls for a part of its work. */
struct kernel_shape {
    const char *name; /* "M", "SCORES" */
    const struct dim *dim;
    const struct kernel *kernel; /* a core's own says what it takes; or NULL */
};

/* What is computed of an element, and of others in its place: a core takes it as an argument, whose calls have one each. It is
 * printed once, as a function of values or of vectors, whatever tails and maps want it. */
struct element_function {
    const char *name; /* "add_tanh": in C add_tanh_s and add_tanh_v; plan_kernels gives it */
    const char
        *label; /* what the first of those calls it that want it; "": it is called by what it computes */
    int module,
        number; /* and by its index the module that this one is of (INT_MAX: none); how many were there before */
    bool runtime;          /* the runtime has it: modc_f32s_tanh and modc_f32_tanh */
    const char *comment;   /* "tanh(x0)" */
    const struct dag *dag; /* NULL: input 0 as it is */
    enum dtype computed;   /* of the result, and of vectors */
    enum dtype *inputs;    /* of values */
    int input_count;
};

/* Of loop nests: what they do with their operands. */
enum nest_kind {
    NEST_MAP,
    NEST_REDUCE,
    NEST_GATHER,
    NEST_SCATTER,
    NEST_SCAN,
    NEST_SORT,
    NEST_RANDOM,
    NEST_KINDS
};

/* An axis that runs by itself inside the nest over the others: its length, and each operand's step along it. */
struct line {
    const struct dim *length, *const *steps;
    bool reverse; /* it is walked from its end */
};

/* A nest of which one axis is dealt out to threads: its kernel runs over `count` elements of that axis. */
struct slicing {
    int slices, axis;
    int unit; /* slices begin at multiples of it */
    struct size count;
    const struct dim *extent; /* of the whole axis */
    bool *used;               /* sizes that the whole needs */
};

/* Sizes that a kernel over a block of ATTENTION may take behind those of the spec: how many queries are in it, how many keys
 * these see, and how many the first of them. */
enum { BLOCK_QUERIES, BLOCK_SEEN, BLOCK_REACH, BLOCK_SIZES };

/* note [cores]
 * A template whose row says so is printed once for each type and set of flags, as a core that is always inlined: extents and
 * distances are its arguments, and so is the function of its tail, but for one that computes with sizes or has no vector form.
 * What calls name is a wrapper of one statement, which states the shapes. Kernels that a core calls are
 * arguments too, and so the shapes in which they compute are no matter of the core; so are parts that are a kernel of their own.
 *
 * So are maps, and reductions of floats that run over vectors: the core is the loop nest with all extents and distances as
 * arguments, and the functions that it computes, of which one that computes with sizes is the core's own. How a reduction runs
 * (nest_form.h) is the core's, too. */
enum kernel_form {
    KERNEL_TEMPLATE,
    KERNEL_WRAPPER,
    KERNEL_NEST,
    KERNEL_LIBRARY /* a function of C or of the runtime, by its name: nothing is printed but its calls */
};

/* Whom a kernel serves, in the spec's words: what it is named by. Of several the first. */
struct kernel_users {
    bool known;
    int module;    /* that of the first of them, by index; the whole model comes behind all others */
    bool backward; /* its first use is in a backward */
    const char *
        path; /* of modules, flat: "trunk_0"; "block_fc" in a class that is emitted once; "" where there is none */
    const char *words;    /* what is told behind the path: "_relu", "_dweight"; "" */
    const char *label;    /* of the op: "linear_relu" */
    const char *value;    /* what the spec calls the result; "" */
    const char *reads;    /* and what it reads */
    const char *function; /* of the first one's variant; "": packing */
};

struct kernel {
    const char *name; /* in C; plan_kernels gives it */
    const char *stem; /* what it computes, in words, and of which shapes; of a core its name */
    const char
        *shape; /* MAP, REDUCE, RANDOM: of what it fills, where the comment is to begin with it; or NULL */
    const char *comment; /* what it computes; "" behind a shape: what its function does */
    int call_at; /* where in it the call of its function comes in, as soon as that has a name; 0: nowhere */
    const char *before, *role; /* words in front of and behind whom it serves: "pack", "scores"; or NULL */
    bool own_name;             /* it is called by its stem, whomever it serves */
    struct kernel_users users;
    enum kernel_form form;
    struct kernel_parameter *parameters; /* the result first */
    int parameter_count;
    bool *used; /* by index: the sizes that it takes behind them */
    int used_count;
    const struct size *block; /* those of a block, BLOCK_SIZES of them; NULL: none */
    bool
        guarded; /* on a machine of its own: it does nothing behind a check that failed, since it reads at indices, or divides */
    bool alone;  /* so large that it is not compiled into its callers */
    struct split split; /* slices 1: it is one call */
    const struct dim
        *enough; /* so many results are compared with split.values before threads share it; NULL: always */

    /* TEMPLATE that is a core, WRAPPER */
    struct kernel_shape *shapes;
    int shape_count;
    const struct kernel *core; /* WRAPPER */
    bool takes_function;       /* a core: of its tail, or of each element of a map */
    bool
        needs_function; /* it calls even one that gives back what it gets, instead of asking whether there is one */
    const struct element_function *function; /* WRAPPER of such a core; RANDOM: of each number, or NULL */
    bool takes_head;                     /* the core of a reduction: what is reduced is its argument too */
    const struct element_function *head; /* WRAPPER of such a core */

    /* TEMPLATE */
    const char *template;       /* "gemm_panel" */
    const char *parts_template; /* a second one, printed with it and with its tail; NULL: none */
    const struct kernel
        *parts; /* what T_PARTS names, where that is a kernel of its own; a wrapper hands it on */
    const struct kernel *handed; /* of a core: one of those that it is handed as parts */
    struct hole *holes;          /* what the templates ask for alone */
    int hole_count;
    enum dtype computed, lanes; /* what it computes in; of vectors of the tail, where it has a vector form */
    struct kernel_pointer *pointers; /* beside the parameters */
    int pointer_count;
    const struct dag *tail;
    bool tail_shared;         /* printed as a function, since parts of it are used twice */
    const struct dag *scores; /* ATTENTION in one kernel: what each score goes through; NULL: nothing */
    int score_count;          /* it reads so many of the extras, the tail those behind them */
    struct tail_operand *extras;
    int extra_count; /* of the tail */
    int extra_first; /* parameters from here on are in T_ARGS */

    /* NEST */
    enum nest_kind kind;
    struct nest nest;            /* in normal form */
    struct nest_form loops;      /* MAP, REDUCE: how it runs */
    const struct dag *dag;       /* REDUCE: the head */
    const struct dim *step;      /* GATHER, SCATTER: between neighbours along the axis */
    struct line line;            /* SCAN, SORT */
    enum reduce_kind reduce;     /* REDUCE */
    int start;                   /* SCAN: what stands before the first element, unless `given` */
    bool given;                  /* operand 1 does */
    bool descending;             /* SORT */
    struct slicing *slicing;     /* NULL: not split */
    const struct size **lengths; /* of a core: its extents and distances, which are arguments, in order */
    int length_count;
};

/* ---- calls -------------------------------------------------------------------------------------------------- */

enum operand_kind {
    OPERAND_VALUE,   /* where its first element lies */
    OPERAND_PACKED,  /* an entry, of the instance that holds it */
    OPERAND_SCRATCH, /* at an offset of the workspace */
    OPERAND_SIZE,    /* one of the spec's */
    OPERAND_NUMBER,  /* an integer: `offset` */
    OPERAND_WORD,    /* a constant of the runtime: `name` */
    OPERAND_BYTES,   /* of so many elements: `count` of `dtype`; those of `value`, where that is a tensor */
    OPERAND_NULL,    /* a pointer that is not used */
    OPERAND_FAULT,   /* of a guarded kernel: what checks have noted */
    OPERAND_STREAM, /* seed and counter of the call, and the number of a stream; `earlier`: of the call before */
    OPERAND_ENTRY,    /* packing: an entry, so many elements in */
    OPERAND_TENSOR,   /* packing: a parameter or buffer, the same */
    OPERAND_CONSTANT, /* packing: a constant, the same */
    OPERAND_OUT       /* unpacking: the tensor that is asked for, the same */
};

struct operand {
    enum operand_kind kind;
    bool scales; /* not the weight there, but the scales that it came with */
    const struct value *value;
    struct packed_at packed;
    const struct module_tensor *tensor;
    const struct size *size;
    const char *name;        /* CONSTANT */
    enum dtype dtype;        /* SCRATCH, OUT, BYTES */
    const struct dim *count; /* BYTES */
    int64_t offset;          /* SCRATCH: bytes; STREAM: its number; NUMBER; else elements */
    bool earlier;
};

struct kernel_call {
    const struct kernel *kernel;
    struct operand *operands;
    int operand_count;
};

/* The statements that copy a tensor which lies only packed back into PyTorch's layout. */
struct unpacking {
    const struct packed *entry;
    struct kernel_calls calls;
};

/* ---- what is known before they are made --------------------------------------------------------------------- */

/* Whether the step's result can lie where `y` says, and is computed fast there. */
bool kernels_write(struct arena *arena, const struct step *step, const struct value *y);

/* Whether the op is computed by a loop nest that may be dealt out to threads. */
bool kernels_slice(const struct op *op);

/* ---- making ------------------------------------------------------------------------------------------------- */

/* Kernels and calls of all steps and all packed entries, with names. Everything else of the plan stands. */
void plan_kernels(struct cx *cx, struct plan *plan);

/* The same for what gives back the one tensor that the entry holds. */
void plan_unpacking(struct cx *cx, struct plan *plan, const struct packed *entry);
const struct unpacking *plan_find_unpacking(const struct plan *plan, const struct packed *entry);

/* Whether two kernels compute the same in the same way. Of what they are called only what a core has from its flags is compared. */
bool kernel_equal(const struct kernel *a, const struct kernel *b);

#endif
