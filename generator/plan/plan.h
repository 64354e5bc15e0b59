/* plan.h - everything that emit prints is decided here: the algorithm of each op, packed entries, where every value
 * lies, and names. */
#ifndef MODC_PLAN_H
#define MODC_PLAN_H

#include "base/emitted.h"
#include "base/templates.h"
#include "graph/graph.h"
#include "module/optim.h"
#include "plan/nest.h"

struct kernel;
struct kernel_call;
struct unpacking;
struct drafted;

/* What a step, or packing, runs; see kernel.h. */
struct kernel_calls {
    struct kernel_call *list;
    int count;
};

/* ---- packed entries: what MODEL_pack makes from parameters --------------------------------------------------- */

enum packed_format {
    PACKED_NONE,    /* read where it is */
    PACKED_PANELS,  /* [ceil(n / P)][k][P], zero padded; P elements of the model's dtype are 64 bytes */
    PACKED_ROWS,    /* [n][k] */
    PACKED_COLUMNS, /* [k][n] */
    PACKED_VECTOR,  /* [n], zero padded to whole panels */
    PACKED_WINOGRAD4, /* [36][ceil(n / P)][c][P] of a weight (n, 3, 3, c), see templates/c/conv_winograd.c. The parts
                       * put the weight itself, by taps, in the last 9 planes; G g G^T is made of it in place. */
    PACKED_DENSE,    /* row-major, as the value's dims say */
    PACKED_WINOGRAD2 /* as PACKED_WINOGRAD4, in 16 planes, for tiles of 2 x 2 outputs */
};

/* One loop nest over the elements: out[nest] = dag(operands). */
struct packed_part {
    struct nest nest;
    int64_t to;    /* offset in the entry, elements */
    int64_t *from; /* offset of each operand behind its own */
};

/* PANELS of elements that lie evenly in memory: how far apart rows of n are, and K as pixels of channels: [pixels][channels],
 * each with the distance of neighbours. */
struct panel_source {
    int64_t row, channels, channel, pixels, pixel;
};

/* An entry, NULL: none, and the instance that holds it: "" or "blocks[3]." */
struct packed_at {
    const struct packed *entry;
    const char *inside;
};

struct packed {
    const char *name; /* member of the packed struct */
    const char *key;  /* equal entries are one */
    const struct module
        *root; /* the module that its operands' tensors belong to: an instance of the group's class */
    const char *comment; /* what it holds */
    enum packed_format format;
    enum dtype dtype;
    int64_t n, k, count;           /* count: elements of that type, with padding */
    int panel;                     /* P */
    int groups;                    /* of n, each padded apart */
    bool woven;                    /* PANELS: [panels of a group][K][groups][P] */
    const struct storage *storage; /* as what the spec's `storage` has it rounded; NULL: it is not */
    bool zero;                     /* padding is to be cleared first */
    bool passing;            /* of one step, which packs it into the workspace at each call; in no group */
    struct packed_at source; /* passing: what holds the tensor that it is made of, which is unpacked first */
    int64_t source_offset;   /* there, so many bytes behind the entry */
    struct panel_source *panels; /* PANELS of float32 or of integers that the runtime fills; or NULL */
    struct packed_part *parts;
    int part_count;
    struct value **operands;               /* resolved; base is a tensor, a constant or a prepared value */
    const struct packed **operand_entries; /* of prepared operands */
    int operand_count;
    const struct dag *dag; /* NULL: `op` makes it */
    struct op *op; /* whose result it is, of the op's inputs: a reduction, say; NULL: parts are maps */
    const struct algorithm *algorithm; /* of the op; NULL: it needs none */
    bool read; /* by steps; what packing alone reads lies where that works: note [packing] */
    const struct module_tensor *permutes; /* holds exactly this tensor, in another order; or NULL */
    int64_t offset;                       /* bytes in the group's struct, or where packing works */
    int64_t scratch_offset;               /* there, too; -1: it takes none */
    struct kernel_calls calls;            /* what fills it */
};

/* note [packing]
 * What MODEL_pack makes on its way to what kernels read, and the scratch of ops that it runs, lies behind all that they read, in one
 * array for all groups, in which places are used again: a matrix whose exponential becomes a weight, say. Embedded weights are
 * packed by the generator, which has memory of its own for that: a program has no such array. */

/* The packed struct of the model, or of one class of regions. */
struct pack_group {
    const char *name;              /* "" for the model; else the region class: "block_64" */
    const struct module *root;     /* representative */
    const struct backend *backend; /* whose panels the entries have */
    struct packed **entries;
    int entry_count;
    struct names keys; /* of the entries */
    struct recent_pack
        *recent; /* what was asked for last, so that a weight of many calls makes no key for each */
    int recent_at;
    struct dense_value { /* values that one of them holds as they are */
        const struct value *value;
        struct packed *entry;
    } * dense;
    int dense_count;
    struct pack_child {     /* instances of other groups inside */
        const char *member; /* "blocks" */
        struct pack_group *group;
        const struct module *first; /* its module; array children follow each other */
        int count;                  /* > 0: an array of so many; 0: one */
        int64_t offset;
    } * children;
    int child_count;
    int64_t bytes;
    int64_t work_bytes; /* what packing it, and those inside, works in */
};

/* ---- places ------------------------------------------------------------------------------------------------- */

enum place_kind {
    PLACE_NONE,
    PLACE_INPUT,  /* the caller's; index */
    PLACE_OUTPUT, /* the caller's; index */
    PLACE_TENSOR, /* a pointer of the parameter struct */
    PLACE_STATE,  /* in the state block */
    PLACE_CONST,  /* a constant array of the emitted file */
    PLACE_NUMBER, /* a constant of equal elements that maps alone read: it is written in their kernels */
    PLACE_PACKED,
    PLACE_WORKSPACE, /* offset */
    PLACE_FENCE, /* through the slot of a module boundary; index: of the pointer that backward reads it through, -1: none */
    PLACE_GRADIENT, /* of a parameter; index among the plan's gradients */
    PLACE_PRESENT,  /* whether that is there */
    PLACE_SLOT      /* of a region: one of region->slots, an argument; name */
};

struct place {
    enum place_kind kind;
    int index;
    int64_t offset, bytes; /* WORKSPACE */
    int first, last;       /* WORKSPACE: steps in which it is live, from the first that writes there */
    int output;            /* which result of `first` is the first that writes there */
    const struct module_tensor *tensor;
    struct packed_at packed;
    bool kept;                /* WORKSPACE, of a region: in the block that its parts share */
    bool shown;               /* WORKSPACE: to hooks, so that the local in C is a struct modc_tensor */
    const char *name;         /* the local in C, or of the constant */
    const struct value *same; /* WORKSPACE: lies in the memory of this value */
};

struct algorithm;
/* Along which loop a step is split for threads, never along what is summed. Of a convolution or a pool the rows are the
 * lines of all images; of a loop nest they are its outermost loop. */
enum split_axis { SPLIT_NONE, SPLIT_ROWS, SPLIT_COLUMNS, SPLIT_GROUPS, SPLIT_BATCHES, SPLIT_AXES };
extern const char *const split_names[SPLIT_AXES]; /* "rows"; NULL for none */

struct split {
    enum split_axis axis;
    int slices;     /* 1: it is one call */
    int64_t values; /* results from which on threads pay, where sizes decide how many there are; 0: always */
};

struct step {
    struct op *op;
    const struct algorithm *algorithm; /* NULL: a loop nest, a call or a boundary */
    bool bound;               /* by no algorithm that rounds more: note [rounding] in plan_rounding.c */
    struct packed_at *packed; /* by input; NULL: none is packed */
    struct split split;
    const char *boundary;  /* FENCE: the stem of its locals, "encoder_0"; backward's is that of forward */
    int64_t region_offset; /* CALL: where the region's workspace starts; -1: none */
    int64_t
        scratch_offset; /* CALL with a count: the second buffer of the loop; else of the algorithm; -1: none */
    int64_t packed_offset;        /* where it packs its weight in passing; -1: nowhere */
    struct kernel_calls packings; /* what does, in front of `calls` */
    struct kernel_calls calls;    /* what runs it; none of what emit.c prints itself */
};

/* A buffer of the workspace, for the dump, the summary and the liveness bound. */
struct interval {
    const char *what;
    const struct op *op; /* whose result it is or that works in it; NULL: a shadow */
    int64_t offset, bytes;
    int first, last;
    bool kept;           /* of a region: in the block that its parts share, not in the workspace */
    int64_t *to;         /* where its offset is wanted */
    struct place *place; /* of a value; or NULL */
};

/* The calls that a graph is parted into, by YIELD and COMMIT. */
enum part { PART_FORWARD, PART_BACKWARD, PART_COMMIT, PARTS };

struct variant {
    struct graph *graph;
    const struct entry *entry;  /* NULL: a region */
    const char *function;       /* "forward_eval", "block_64_eval" */
    const struct variant *same; /* an earlier one whose functions serve this one too; NULL: it has its own */
    const struct variant
        *same_forward; /* the same of its forward alone, where backward reads what that leaves */
    struct pack_group *group;
    struct step *steps;
    int step_count;
    struct place *places; /* by value id; of base values */
    struct interval *intervals;
    int interval_count;
    int yield;  /* the step that parts forward and backward; -1: none */
    int commit; /* of a region with hooks: behind it gradients and parameters change; -1: none */
    int *
        guards; /* by step: the one gradient, an index of outputs, that all it does is for; -1: none, or several */
    int64_t
        kept_offset; /* where forward leaves pointers to what hooks gave, for backward; see place->index of FENCE */
    int kept_count;
    int64_t zeros_offset,
        zeros_bytes; /* backward: what stands for gradients of results that the caller leaves out; 0 bytes: nothing */
    int64_t peak;       /* bytes of workspace */
    int64_t kept_bytes; /* of a region: of the block that its parts share */
    int64_t bound;      /* the liveness bound */
    bool uses_packed, uses_buffers, writes_buffers;
    bool outdates_packed; /* writes buffers that packed weights may be made of */
    bool fails[PARTS];    /* a call can end in it: at a boundary, at a check, or in a region */
    bool draws;           /* random numbers, itself or in a region */
    double macs;
    const struct module_tensor *
        *shadows; /* slots that are worked on in a copy, since the call may end after a write */
    int64_t *shadow_offsets;
    int shadow_count;
};

/* Where the optimiser's block has the states and the average of a gradient's parameter, and how much of it these are. */
struct optimizer_place {
    int64_t states[OPTIM_MAX_STATES], average, copy, bytes; /* copy: with `master`, of halves */
};

struct plan {
    struct program *program;
    struct plan *next;                      /* the same spec in its next dtype; NULL: none */
    const char *model;                      /* prefix of what is emitted */
    const struct embedded_weights *weights; /* weights.h; NULL: none */
    const struct plan
        *embedded; /* for a summary: how --weights would build it, where that is otherwise; or NULL */
    const struct backend *backend; /* the machine that it is for */
    int align;                     /* of blocks and of what lies in them */
    struct rounding *rounding;     /* plan_rounding.c */
    struct variant **variants;     /* regions before what calls them */
    int variant_count;
    struct names functions_taken; /* those of the variants */
    struct pack_group **groups;   /* [0] is the model's */
    int group_count;
    struct value **constants; /* distinct constant tensors */
    const char **constant_names;
    int constant_count;
    int64_t scalars_at; /* on a machine of its own: where in the optimiser's block the scalars of steps lie */
    bool checks;        /* some call checks its inputs */
    int64_t state_bytes, *state_offsets; /* by index of tree->states */
    int64_t param_bytes, *param_offsets; /* by index of tree->keys */
    const struct weights_use *uses; /* the same, of what entries hold as integers: weights.h; NULL: nothing */
    int64_t *
        scale_offsets; /* the same, where in the block of parameters its scales have room: note [integers] in modc.h; -1: nowhere */
    bool *
        read_in_place; /* by index of tree->keys: not as a product's weight alone; NULL unless each is packed once */
    unsigned *written_keys, *written_states; /* by index of tree->keys, tree->states: plan_written */
    const struct module_tensor *
        *gradients;              /* with backward: the parameters that have one, in the order of keys */
    const char **gradient_names; /* their constants, POLICY_GRADIENT_TRUNK_0_WEIGHT */
    int gradient_count;
    int64_t gradient_bytes, *gradient_offsets;
    int64_t
        gradient_block; /* these, then a cell of 8 bytes for each: whether it is there; then a byte: whether it is wanted.
                             * `update: fused`: the last alone */
    struct optimizer_place *optimizer_places; /* with `training:`, by gradient */
    int64_t optimizer_bytes;
    uint64_t schema;
    int threads;             /* the most that a step is split for; 0: none is split */
    struct kernel **kernels; /* distinct ones, in the order of first use */
    int kernel_count;
    struct drafted *drafted; /* which of them steps have that were like others: kernels/drafted.c; or NULL */
    int function_kernels;    /* so many are called by functions; those behind them by packing alone */
    struct element_function **functions; /* that cores take as an argument, by name */
    int function_count;
    struct unpacking *unpackings;
    int unpacking_count;
    struct template_cache templates; /* what kernels are made of */
    const struct size **lengths;     /* what cores of nests call their extents and distances */
    int length_count;
};

/* Whether some function writes the tensor: bits. Of elements of an array, which have one type in C, if it writes that of any. */
enum { WRITTEN = 1, WRITTEN_IN_EVAL = 2 };
unsigned plan_written(const struct plan *plan, const struct module_tensor *tensor);

/* NULL after an error that was said (something is too large). The program is the plan's from then on: of it the plan changes where
 * values lie (base, offset and strides: plan_join.c), and nothing else. */
struct plan *plan_make(struct cx *cx, struct program *program);
void plan_dump(struct text *text, const struct plan *plan, bool json);

/* --explain: how each step is computed, why, and what that is thought to take; explain.c. */
void plan_explain(struct text *text, const struct plan *plan);

/* What the step's kernel reads for an input of its op: NULL: the value where it lies. */
const struct packed *step_packed(const struct step *step, int input);

/* Rounded up to whole plan->align. */
int64_t plan_aligned(const struct plan *plan, int64_t bytes);

/* Bytes of the packed block: what is packed, and behind it whose it is. 0: nothing is packed. */
int64_t plan_packed_block(const struct plan *plan);

/* What calls of the entry on the host's memory take of a workspace, beside the rest: modc_host_bytes. */
int64_t plan_host_bytes(const struct plan *plan, const struct entry *entry);

/* Of a program that generates: what its encoder returns (0: it has none), and the block of a generator, where pointers have 8 bytes. */
int64_t plan_encoded_bytes(const struct plan *plan);
int64_t plan_generator_bytes(const struct plan *plan);

/* Whether something is packed in this format. */
bool plan_uses(const struct plan *plan, enum packed_format format);

/* How many values a call with hooks may have left anywhere, for backward: of the variant that has the most. */
int plan_most_kept(const struct plan *plan);

/* The constant array that holds these elements; equal ones are one. */
const char *plan_constant(struct cx *cx, struct plan *plan, struct value *value);

/* Which call a step belongs to, and how many there are. */
enum part variant_part(const struct variant *variant, int step);
int variant_parts(const struct variant *variant);
int variant_first(const struct variant *variant,
                  enum part part); /* the first step of a part, and the one behind its last */
int variant_end(const struct variant *variant, enum part part);
const struct value *call_block(const struct op *call); /* what its parts share; NULL: nothing */
const struct value *call_between(
    const struct op *call); /* what goes from one of a run to the next and is kept; NULL: nothing is */
bool call_turns(
    const struct op *call); /* of a run: what goes from one to the next lies in two buffers by turns */
enum part call_part_of(const struct op *call); /* the part of its region's variant that a CALL is of */

/* Of a module's boundary, an op FENCE: what hooks see. A slot of backward may have no value, since nothing wants that gradient. */
int fence_slot_count(const struct op *fence);
int fence_value_in(const struct op *fence, int slot);             /* which input of the op it is; -1: none */
const struct value *fence_like(const struct op *fence, int slot); /* what has the slot's shape */
bool fence_is_complex(const struct op *fence, int slot);          /* hooks see its pairs as complex numbers */

/* Whether the value has the slot's shape and a struct modc_tensor of its own: it is another slot, or a local that place->shown. */
bool fence_shows_whole(const struct op *fence, int slot);

/* The number of the first gradient of a module's parameters, of those that the plan counts. */
int plan_first_gradient(const struct plan *plan, const struct module *module);

const struct variant *plan_variant(const struct plan *plan, const struct graph *graph);

/* The name of a tensor, module or packed entry as C path members: "trunk.0.weight" -> "trunk._0.weight". */
const char *c_path(struct cx *cx, const char *path);

/* An output as an argument: `return x` of an input x writes x_out. */
const char *c_output(struct cx *cx, const struct graph *graph, int index);

/* The gradient of an input or a result as an argument: dlogits; of an input x that is returned dx and dx_out. */
/* What an op computes, in words: "relu"; "add_fused" where others are joined to the first, so that it is called the same whatever
 * they are. */
const char *op_words(struct cx *cx, const struct op *op);

const char *c_gradient(struct cx *cx, const struct graph *graph, const char *name, bool result);

/* What is to the instance of a class that its packed struct was made of, as `module` is to the variant's own: where a class is
 * called with several shapes, these may be two. */
const struct module *plan_in_group(const struct plan *plan, const struct variant *variant,
                                   const struct module *module);

/* A name for something of a kernel or of a region, which hides none of the spec's sizes. */
const char *size_name(struct cx *cx, const struct module_tree *tree, const char *name);

/* What the words are called that a large constant is made of. */
const char *plan_constant_words(struct cx *cx, const struct plan *plan, int constant);

/* Of what a region's function takes and gives: an input, results and their gradients by a stem, a slot. */
const char *region_input(struct cx *cx, const struct graph *graph, const struct value *input);
const char *region_gradient(struct cx *cx, const struct graph *graph, const struct value *input);
const char *region_result(struct cx *cx, const struct graph *graph, const char *stem, int result);
const char *region_slot(struct cx *cx, const struct graph *graph, const struct module_tensor *slot);

#endif
