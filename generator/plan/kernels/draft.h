/* draft.h - what the families of kernels share: the record that is being drawn up, and the table of how each op is computed.
 * Private to plan/kernels. */
#ifndef MODC_PLAN_DRAFT_H
#define MODC_PLAN_DRAFT_H

#include "plan/algorithm.h"
#include "plan/kernel.h"
#include "plan/plan_dag.h"
#include "plan/plan_halves.h"

/* The parts of a core that are a kernel of their own. */
struct part_row {
    const struct part_parameter {
        const char *name;
        enum parameter_kind kind;
        bool written;
        const char *of; /* the whole's pointer that it is, where that has another name */
    } * parameters;
    int count;
};

/* A kernel from a template, while it is drawn up for a step, or for a part of another kernel. */
struct draft {
    struct cx *cx;
    struct plan *plan;
    const struct step *step;
    const struct op *op;
    struct kernel *kernel;
    struct element result, weights, input, bias; /* input: the first; bias: what it has, else the result */
    const char *role;                            /* of a part: what it is named by behind whom it serves */
    const struct storage *narrow; /* as what weights are stored in fewer bits; NULL: they are not */
    bool apart;                   /* its parts are a kernel of their own */
    const struct part_row *part;  /* of a core: what these take */
    const char *part_comment;     /* and compute */
    const struct size *block;     /* of a part of attention: the sizes of a block; or NULL */
    bool causal;                  /* of a softmax over such a block */
    bool over_y;                  /* an operand of the tail lies where y does: neither is restrict */
    int head_count;               /* what a convolution's head reads beside x */
};

/* The calls that a step, or a packed entry, becomes. */
struct making {
    struct cx *cx;
    struct plan *plan;
    const struct variant *variant; /* NULL: packing */
    const struct step *step;
    struct kernel_calls *calls;
    const struct packed *entry; /* packing: what an op makes; or NULL */
};

/* How an op of OPS_COMPUTED is computed: a row each, in the file of its family. */
struct kernel_row {
    const char *(*stem)(struct cx *cx, const struct op *op); /* what its kernels are named by */
    void (*make)(struct making *making); /* its calls; make_template where it has algorithms */
    void (*holes)(struct draft *draft);  /* of a template: its own parameters, its holes, its comment */
    void (*operands)(struct making *making,
                     struct kernel_call *call);     /* of a template: what stands behind the result */
    const struct dag *(*tail)(const struct op *op); /* what the kernel fuses; NULL: the op's tail */
    const char *(*parts_stem)(
        const struct op *op); /* of its parts, where not all ops have their own; NULL: none */
    int own_inputs; /* inputs from here on are in T_ARGS, whether a tail reads them or not; 0: the tail's alone */
    /* Whether the step's result can lie where `y` says, and is computed fast there; NULL: in memory of its own alone. */
    bool (*writes)(struct arena *arena, const struct step *step, const struct value *y);
    bool slices; /* a loop nest that may be dealt out to threads */
};

#define KERNELS(code, row) extern const struct kernel_row row##_kernels;
OPS_COMPUTED(KERNELS)
#undef KERNELS

extern const struct kernel_row *const kernel_rows[GRAPH_OP_COUNT]; /* NULL: a boundary, a view, a call, ... */

/* ---- writes.c: for `writes` ---------------------------------------------------------------------------------- */

bool writes_dense(struct arena *arena, const struct step *step, const struct value *y);

/* Loop nests take any strides, but are fast along a contiguous axis alone. */
bool writes_lines(struct arena *arena, const struct step *step, const struct value *y);

/* Rows at any distance, whose elements lie side by side. */
bool writes_last(struct arena *arena, const struct step *step, const struct value *y);

/* ---- draft.c: holes and parameters --------------------------------------------------------------------------- */

void add_parameter(struct draft *draft, struct element element, bool written, const char *name);

/* What a template's own pointer points to, of which no parameter of that name says it. */
void name_pointer(struct draft *draft, const char *name, struct element element);

/* The parameters of products and norms behind the result: x, what it is multiplied with, a bias; of all others x. */
void add_weighted(struct draft *draft);
void add_input(struct draft *draft);

/* What the kernel works in, if it does. */
void add_scratch(struct draft *draft, const char *name);

/* The dim, or 1 where it is 0: to divide by in loops over no places. */
void hole_divisor(struct draft *draft, const char *name, const struct dim *dim);

/* It reads at indices that a check has seen: see `guarded`. */
void guard_reads(struct draft *draft);

void hole_int(struct draft *draft, const char *name, int64_t value);
void hole_some(struct draft *draft, const char *name, int64_t value); /* of cores: the largest of all calls */
void hole_shape(struct draft *draft, const char *name, int64_t value); /* a constant of each call of a core */
void hole_dim(struct draft *draft, const char *name, const struct dim *dim);
void hole_extent(struct draft *draft, const char *name, const struct dim *dim); /* T_m and T_fixed_m */
void hole_number(struct draft *draft, const char *name, enum dtype dtype, double number);
void hole_type(struct draft *draft, const char *name, enum dtype dtype);
void hole_word(struct draft *draft, const char *name, const char *word);
void hole_kernel(struct draft *draft, const char *name, const struct kernel *kernel);
void hole_parameters(struct draft *draft, const char *name, int first);
void hole_passed(struct draft *draft, const char *name, const struct passed *passed, int count);

/* Appends the sizes that `used` says, and of the block's those behind them. */
void pass_sizes(struct draft *draft, struct passed **list, int *count, const bool *used,
                const struct size *block);

/* The kernel of a step whose algorithm is a template; `draft` says what is not the step's. Its record is that of an equal one,
 * where there is one. */
const struct kernel *template_kernel(struct draft *draft, const struct step *step);

/* What was drawn up for a step of a variant and those like it; without a kernel as long as nobody has done so. */
struct drafted_kernel {
    const struct step *step;
    struct drafted_kernel *next;
    const struct kernel *kernel;
    int head_count; /* see struct draft */
    bool over_y;
};
struct drafted_kernel *drafted_like(struct making *making, bool over_y); /* drafted.c */

/* The same of the making's step, with draft's over_y and head_count: what was drawn up for a step like it, where there is one. */
const struct kernel *drafted_kernel(struct making *making, bool over_y, int *head_count);

/* How the weight lies that is packed in fewer bits, over so many steps: see the head of gemm_narrow. */
void holes_narrow(struct draft *draft, const struct dim *k);

/* The same on a GPU, where it lies by rows: see the head of lookup.cu. */
void holes_rows(struct draft *draft, const struct dim *k);

/* Behind the result of a product: x, the weight and the bias, packed or where they lie. */
void weighted_operands(struct making *making, struct kernel_call *call);

/* The one input that a template knows. */
void input_operand(struct making *making, struct kernel_call *call);

/* A step's call of it. */
void make_template(struct making *making);

/* Product of dimensions [first, last). */
const struct dim *dims_product(struct cx *cx, const struct value *value, int first, int last);

/* The stride between rows of a value that legalise accepted as rows. */
const struct dim *row_stride(struct cx *cx, const struct value *value);

/* Of an operand along one of the two batch axes that stand before its last two; 0 where it has but one there. */
const struct dim *batch_stride(struct cx *cx, const struct value *operand, int batch);

/* Is it a number of whole vectors, however wide they are? */
bool is_whole(const struct draft *draft, const struct dim *dim);

/* An element that is stored in the type, on the machine that the plan is for. */
struct element element_of(const struct draft *draft, enum dtype stored);

/* How many elements of the type a vector of the machine holds. */
int lanes_of(const struct draft *draft, enum dtype dtype);

/* ---- parts.c ------------------------------------------------------------------------------------------------------- */

/* A value of one head: its last two axes, of them so many rows and columns, or all (NULL). */
struct value *of_head(struct cx *cx, const struct value *value, const struct dim *rows,
                      const struct dim *columns);

/* Rows of scratch. */
struct value *in_scratch(struct cx *cx, enum dtype dtype, const struct dim *rows, const struct dim *columns,
                         int64_t stride);

/* Makes the kernel of an op that is a part of the draft's, and fills the holes of its name and of what it gets behind its
 * operands, which are in `passed`. block: what the part is over, or NULL. */
void part_kernel(struct draft *draft, struct op *op, const char *algorithm, const struct size *block,
                 const char *name, const char *role, struct passed *passed, int count);

/* ---- names.c ---------------------------------------------------------------------------------------------------- */

void name_dim(struct cx *cx, struct text *text, const struct dim *dim);
void name_dims(struct cx *cx, struct text *text, int ndim, const struct dim *const *dims);

/* What the op is called: "linear_relu". */
const char *op_label(const struct op *op);

/* At most four of a name's words. */
const char *few_words(struct cx *cx, const char *words);

/* The same of what is computed, where the last tells most: "sub_mul_add_relu". */
const char *outer_words(struct cx *cx, const char *words);

/* What is fused behind the op's own function: "linear_tanh" -> "_tanh". */
const char *tail_name(const struct op *op, const char *base);

/* What a core is named by: its algorithm, its flags, its tail, unless it chooses among several. */
const char *core_stem(const struct draft *draft, bool shared);

/* The same of its parts. */
const char *core_part_stem(const struct draft *draft, const struct kernel *parts);

/* What the op's tail is called. */
const char *tail_label(struct cx *cx, const struct op *op);

/* The kernels that a step, or packing, calls serve it. */
void note_users(struct cx *cx, const struct variant *variant, const struct step *step);
void note_entry(const struct kernel_calls *calls, const struct packed *entry);

/* Gives all kernels names that have none yet. */
void name_kernels(struct cx *cx, struct plan *plan);

/* ---- elements.c --------------------------------------------------------------------------------------------------- */

/* The plan's own for the dag (NULL: as it is), which the op calls by the label; NULL: packing does. */
const struct element_function *element_function(struct cx *cx, struct plan *plan, const struct dag *dag,
                                                enum dtype computed, const char *label, const struct op *op);

/* Gives those names that have none, in the order of modules, so that none is renamed where a later module comes to have another
 * one of its label; and puts all in the order of names. */
void name_functions(struct cx *cx, struct plan *plan);

/* Completes the kernel's comment by its shape and by the name of its function. */
void complete_comment(struct cx *cx, struct kernel *kernel);

/* What it computes, in at most four words: "sub_mul". */
const char *dag_words(struct cx *cx, const struct dag *dag);

/* Then it is no function of elements alone. */
bool dag_knows_sizes(const struct dag *dag);

/* ---- cores.c ------------------------------------------------------------------------------------------------------ */

/* Whether the core of a map takes what it computes as an argument: the same loops serve others. */
bool map_takes_function(struct cx *cx, const struct kernel *kernel);

/* Keep the nest of an op (NULL: of packing), by its stem, as a wrapper of a core where it has one. */
const struct kernel *keep_map(struct cx *cx, struct plan *plan, struct kernel *kernel, const struct op *op,
                              const char *stem);
const struct kernel *keep_reduction(struct cx *cx, struct plan *plan, struct kernel *kernel,
                                    const struct op *op, const char *stem);

/* ---- order.c ---------------------------------------------------------------------------------------------------- */

/* Puts the kernels that functions call in the order in which they are printed. */
void order_kernels(struct cx *cx, struct plan *plan);

/* ---- kernels.c: the registry -------------------------------------------------------------------------------------- */

/* How many results a step has, where sizes decide whether they are as many as threads pay for; NULL: they always do. */
const struct dim *enough_results(struct cx *cx, const struct value *y, struct split split);

/* It takes no sizes yet, and is one call. */
struct kernel *new_kernel(struct cx *cx, const struct plan *plan, enum kernel_form form);

bool same_dag(const struct dag *a, const struct dag *b); /* either may be NULL */

/* The record of an equal kernel that is there, else this one, which is kept. */
const struct kernel *keep_kernel(struct cx *cx, struct plan *plan, struct kernel *kernel);

/* The record of a function that nobody has to print. */
const struct kernel *library_kernel(struct cx *cx, struct plan *plan, const char *name);

struct kernel_call *add_call(struct making *making, const struct kernel *kernel);
void add_operand(struct making *making, struct kernel_call *call, struct operand operand);
void add_value(struct making *making, struct kernel_call *call, const struct value *value);
void add_null(struct making *making, struct kernel_call *call);

/* An input of the step's op: packed, or where it lies. */
void add_op_input(struct making *making, struct kernel_call *call, int input);

/* The last operands of all calls: the sizes that the kernel takes. */
void add_sizes(struct making *making, struct kernel_call *call);

/* ---- pack.c -------------------------------------------------------------------------------------------------------- */

/* The calls that fill the entry. */
void make_packing(struct cx *cx, struct plan *plan, struct packed *entry);

/* The calls that fill what the step packs in passing; and that, so many elements in. */
void make_passing(struct cx *cx, struct plan *plan, const struct variant *variant, struct step *step);
struct operand passing_operand(const struct step *step, int64_t elements);

/* What making->entry's op calls the value: the entry, or one of its operands. */
struct operand packing_operand(const struct making *making, const struct value *value);

/* ---- nests.c ------------------------------------------------------------------------------------------------------- */

/* A kernel that is a loop nest, with its comment; it is finished by keep_nest. */
struct kernel *new_nest(struct cx *cx, const struct plan *plan, enum nest_kind kind, struct nest nest);

/* A map of `inputs` into `target`. */
struct kernel *map_nest(struct cx *cx, const struct plan *plan, const struct value *target,
                        const struct dag *dag, struct value *const *inputs, int count);

/* Keeps it under a stem, with the sizes that it takes and a parameter for each operand. */
const struct kernel *keep_nest(struct cx *cx, struct plan *plan, struct kernel *kernel, const char *stem);

const char *shapes_comment(struct cx *cx, const struct value *y, const char *what);
const char *dag_text(struct cx *cx, const struct dag *dag);

#endif
