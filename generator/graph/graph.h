/* graph.h - values and ops in running order, one graph for each entry, mode and fencing, and one for each region. */
#ifndef MODC_GRAPH_H
#define MODC_GRAPH_H

#include "base/backend.h"
#include "ops/ops.h"
#include "tree/tree.h"

/* One call of a module, as the spec writes it. The tree of calls follows the nesting of modules. */
struct module_call {
    const struct module *module;
    struct module_call *outer;
    struct loc loc;
    int index;              /* in the order of calls of its graph */
    struct value **results; /* the tensors that the module returned, as lowering made them; for their dims */
    bool *complex;          /* which of them are pairs, of complex numbers */
    int result_count;
};

/* Of sizes: `dim` is not negative; or with not_one, it is not 1. */
struct need {
    const struct dim *dim;
    bool not_one;
};

/* Ten for each of 40,000 statements, or twenty with those of their gradients. Memory bounds them: a model with hooks has four graphs,
 * each of which takes about 7 kB for an op until it is emitted. */
#define GRAPH_MAX_OPS 400000
#define GRAPH_MAX_WITH_GRADIENTS 800000

/* note [rows]
 * Of a model with `generation:` each row of a call is a token of some sequence at some position. What is said of the rows are inputs
 * of the entry, which stand behind its own (spec_generation.c), are checked where the entry begins, and can be read by every module:
 * a region that does so takes them as inputs behind those that its call is written with. What modules keep of rows is state of theirs
 * (struct module_tensor's `cache`), made when the entries are lowered for the first time (lower_resolve), as large as what is kept: one
 * row for each token of each page, or for each sequence. */
enum row_value {
    ROW_POSITION, /* in its sequence */
    ROW_SEQUENCE, /* whose token it is */
    ROW_PAGES,    /* (sequences, pages of one): which pages of the cache they have */
    ROW_LOGITS,   /* the rows whose logits are wanted */
    ROW_SLOT,     /* computed: the row of the cache that is the row's */
    ROW_VALUE_COUNT
};

struct graph {
    struct cx *cx;
    struct program *program;
    const char *name;          /* "forward", "act", or the region's */
    const struct module *root; /* region: the representative instance; else the model's root */
    struct region *region;     /* NULL: an entry's graph */
    bool training, fenced;
    bool asks_mode;           /* what it computes depends on `training`, or may; known once it is lowered */
    struct graph *evaluation; /* see note [modes]; NULL: it has ops of its own */
    bool both_modes;          /* it is such an evaluation */
    bool of_tree;             /* of no model: it is computed while the module tree is built */
    bool loss;                /* of `training:`: its one result is what gradients are of */
    bool saves;               /* what backward needs is kept: see note [two calls] in backward/backward.c */
    struct value **inputs;
    int input_count;
    const char **output_names; /* of results */
    bool *complex;             /* by result: who calls it sees its pairs as complex numbers */
    struct called *called;     /* of an entry, by the plan: what its arguments are called in C */
    struct value **outputs;    /* results of the call, then gradients */
    int output_count, result_count;
    const struct module_tensor *
        *gradient_of; /* by output, behind the results: a parameter; NULL: an input, the next that has one */
    struct op **ops;  /* in running order */
    int op_count, op_room;
    int shift;                     /* so many more ops went than came, one by one */
    const struct graph_walk *walk; /* that goes on, of which some ops stand aside; or NULL */
    struct module_call **calls;
    int call_count;
    struct value **
        unread; /* until backward is written: what ops would read that have nothing to compute; its gradient is 0 */
    int unread_count;
    int value_count;    /* ids handed out */
    struct need *needs; /* a call whose sizes break one of them is refused */
    int need_count;
    struct value **slots; /* newest version of every tensor that was read or written, by first use */
    const struct module_tensor **slot_tensors;
    int slot_count;
    struct value *rows[ROW_VALUE_COUNT]; /* note [rows]; NULL: not, or not yet */
    enum row_value *row_inputs;          /* of a region: what its last inputs are */
    int row_input_count;
    int *caches;          /* how many were used, by the index of the module whose they are; NULL: none */
    int *draws, drawn_to; /* by the module's index + 1, of so many ops: see graph_draws */
    int renewals;         /* see graph_renew */
    bool swept;           /* since then nothing came or lost a reader: all is used */
    struct hooks *hooks;  /* what is known of them; NULL: nothing. See note [hooks] in hooks.c */
    bool resolved;        /* by legalise: views have offsets and strides */
    bool *inputs_last, *outputs_last; /* by layout: of a region, which are channels-last */
    /* Filled by fold: ops whose results depend on parameters alone; MODEL_pack runs them. In running order. */
    struct op **pack_ops;
    int pack_count;
};

/* note [modes]
 * Where nothing that runs in evaluation asks for the mode, training does the same: its graph has the ops and values of `evaluation`,
 * which alone is lowered and goes through the passes, and after each of them the one follows the other (program_each). The plan
 * gives it ops of its own again where an algorithm might be another one in training. */

/* note [regions]
 * Instances of a user class with equal arguments, shapes and mode are lowered, passed, planned and printed once; a CALL is one
 * instance's. What differs between calls are operands of the CALL and arguments of the emitted functions: parameters, packed
 * weights, the slots that the class reads or writes (state, statistics), the module's number, which keys its hooks and random
 * numbers, the number of its first gradient, and where its values are kept for backward.
 *
 * Boundaries of a region's own module are inside of it. A region of a graph that saves is in parts, as that graph is: the
 * first is its forward, behind its YIELD stands its backward, and behind its COMMIT, with hooks alone, what changes
 * gradients and parameters, which is done when the last hook has run. Each part is a CALL of its own:
 *
 *     CALL_WHOLE     inputs -> results; of a region that saves nothing
 *     CALL_FORWARD   inputs -> results, a block: what the parts share, of as many bytes as the plan finds
 *     CALL_BACKWARD  block, gradients of the results that have one, inputs and results that it reads -> those of the inputs
 *                    that want one
 *     CALL_COMMIT    block -> nothing
 *
 * `inputs` of CALL_BACKWARD are in the order of the region's, then results; invoke.reads says which are there. A CALL with a
 * count is a loop over neighbours: see note [rolled backward] in passes/roll.c.
 *
 * Lowering makes forward alone. backward/backward.c makes of it, for each set of inputs that want a gradient and of results that
 * have one, a region with the other parts; what is called where nothing is saved (a checkpoint's first time) stays as it was. */
struct region {
    const char *name;      /* "block_64" */
    const char *signature; /* of its instances */
    const char *key;       /* signature, input shapes, mode, fencing */
    const char *entry;     /* the name of the entry that calls it, itself or through others */
    struct graph *graph;   /* NULL: it changes an argument in place: called inline */
    const struct module_tensor **
        slots; /* of graph->root: what it reads or writes of state, and buffers that it writes; by first use */
    int slot_count;
    /* Of one with backward, made of `plain`: by input, whether its gradient is wanted; by result, whether it has one. */
    struct region *plain;
    const bool *wanted, *given;
    struct region **backwards; /* of a plain one: those made of it */
    int backward_count;
};

struct entry {
    const char *name;
    bool loss; /* what `training:` says: forward, and the loss of what it returns and of further inputs */
    struct size *sizes; /* the model's, with this entry's maxima */
    int input_count;
    int model_count;            /* of inputs: those of the model, in front of what the loss alone needs */
    struct graph *graphs[2][2]; /* [training][fenced]; fenced NULL with hooks: none */
    struct graph *saving[2][2]; /* the same with what backward needs; NULL without that */
};

/* What the spec says for the rooms behind lowering, which see nothing else of it. */
struct settings {
    const struct source *source;   /* the spec's text, for its name */
    const struct backend *backend; /* the machine that it is compiled for */
    bool pack, hooks, state_dict, winograd;
    bool packs_once; /* a weight is packed in one form, whoever reads it: memory is scarcer than time */
    bool embeds;     /* weights are part of the program; packs_once, too */
    bool dsp, small; /* of the target: has DSP instructions, is a chip */
    bool flushes;    /* denormals: flush */
    bool backward;   /* gradients are wanted */
    bool fused;      /* update: fused */
    int threads;
};

struct program {
    struct cx *cx;
    const struct module_tree *tree;
    struct settings settings;
    struct entry *entries;
    int entry_count;
    struct region **regions; /* in the order of first use */
    int region_count;
    bool resolving; /* only to see the first calls of lazy modules */
    bool full;      /* a graph had more ops than it may have, which was said: no further one is lowered */
};

/* A call of the graph needs it: of the lengths of all values, indices inside their tensors, numbers of values that a
 * variance is of. */
void graph_need(struct graph *graph, struct need need);

/* note [what always holds]
 * NULL, or what is broken, in words that outlive the check. tests/unit/test_graph.c has a broken graph for each.
 *
 *   order    an op's input is made before it is read; a value is made once, by the op and as the result that it knows;
 *            a version of a slot is read in front of the write that replaces it alone
 *   types    attributes, operands and dags are as `broken` of the op's row wants them, tails where a row has one; types and dims
 *            of results are what `infer` says (of an op that fills more than it reads, they broadcast to them); a CALL is given
 *            and gives what its part of the region is and does, its block among it (rolled parts: their block alone)
 *   ends     inputs are INPUT ops that stand there, in order; outputs are made; results are the first of them
 *   uses     note [uses]: ops know that they stand there, values who reads them and how often they are returned
 *   places   once `resolved`: each value lies somewhere, a view in what it shows, all else in memory of its own
 *
 * `types` false: not those, which take as long as a pass. */
const char *graph_check(const struct graph *graph, bool types);

/* Ends modc where graph_check finds something in one of the graphs: a fault of modc itself, of what ran last, which is `after`. What
 * is not the `last` of all is looked at in builds for finding faults alone. */
void program_verify(struct program *program, const char *after, bool last);

/* Of a model with `generation:`: whether forward takes one token a row, and gives the logits alone, (logits, n), so that the runtime
 * can write by it. */
bool program_generates(const struct program *program);

/* The index of the entry that `encoder` names, which takes int64 (tokens) and an int64, and returns one tensor; -1: none, or none such. */
int program_encoder(const struct program *program);

void graph_dump(struct text *text, const struct graph *graph, bool json);
void program_dump(struct text *text, const struct program *program, bool json);

/* ---- editing, for passes ----------------------------------------------------------------------------------- */

/* Every graph of the program that has ops of its own: regions first. `data` is handed on. */
void program_each(struct program *program, void (*visit)(struct graph *graph, void *data), void *data);

/* And those that are others in training mode, where these are in order. */
void program_each_mode(struct program *program, void (*visit)(struct graph *graph, void *data), void *data);

/* Whether the tensor is one of a region's slots; `region` may be NULL. */
bool region_has_slot(const struct region *region, const struct module_tensor *tensor);

/* What a tensor of a region's root is in the instance that a CALL is of. */
const struct module_tensor *region_tensor(const struct op *call, const struct module_tensor *tensor);

/* How often the module (NULL: none, the model itself) draws random numbers in the graph, itself or in regions. While it is lowered,
 * when ops come behind the others alone: each is looked at once. */
int graph_draws(struct graph *graph, const struct module *module);

/* One of no model, for what is computed while the module tree is built. */
struct graph *graph_of_tree(struct cx *cx);

/* Values and ops anew; dags, which nobody changes, and calls are shared. */
struct graph *graph_clone(const struct graph *graph);

/* What has another's ops: an evaluation's in training mode. See note [modes]. */
struct graph *graph_in_training(struct graph *evaluation);
void graph_part_modes(struct graph *graph); /* it has its own from now on */

struct value *graph_value(struct graph *graph, struct op *op, enum dtype dtype, int ndim,
                          const struct dim *const *dims);

/* What an op has of a tensor of the tree, as graphs have it. */
struct value *graph_value_of(struct graph *graph, struct op *op, const struct module_tensor *tensor);

/* note [uses]
 * Every value knows the ops that read it and how often it is returned, as far as these stand in the graph. So an op's inputs
 * are set through graph_input and graph_inputs once it stands there (before that, as one likes), results through
 * graph_output, and ops come, go and move by the functions below alone; graph_check counts again. An op's label,
 * attributes and dags are free. */
void graph_append(struct graph *graph, struct op *op);
void graph_insert(struct graph *graph, int position, struct op *op); /* in front of what stands there */
void graph_remove(struct graph *graph, int position);
void graph_put(struct graph *graph, int position, struct op *op); /* in the place of what stands there */
void graph_move(struct graph *graph, int from, int to);           /* what is between them makes room */
void graph_reorder(struct graph *graph, struct op *const *ops);   /* all of them */
/* For passes that edit much: what goes reads nothing any more, and is not `placed`, but stands in the list until the next sweep. The op
 * succeeds `old`: it comes to stand where that stood. */
void graph_retire(struct graph *graph, struct op *op);
void graph_succeed(struct graph *graph, struct op *op, struct op *old);
/* Removes the ops that are not kept, by position. To `moved`, where it is a list: those stand there from now on. */
void graph_sweep(struct graph *graph, const bool *kept, struct op ***moved, int *moved_count);

/* For passes that put ops around each that they come to, in order: what is behind it stands aside meanwhile, so that nobody makes
 * room. The next one is the last of the list then; NULL: that is all, and the graph is whole again. */
struct graph_walk {
    struct op **ops;
    int count, at;
};
void graph_walk(struct graph *graph, struct graph_walk *walk);
struct op *graph_next(struct graph *graph, struct graph_walk *walk);

/* While it is lowered: who reads `old` from now on reads `newer`. */
void graph_renew(struct graph *graph, struct value *old, struct value *newer);

void graph_input(struct graph *graph, struct op *op, int input, struct value *value);
void graph_inputs(struct graph *graph, struct op *op, struct value **inputs,
                  int count); /* all: the list is the op's */
void graph_output(struct graph *graph, int output, struct value *value);
void graph_return(struct graph *graph,
                  struct value *value); /* one result more, whose name and gradient are the caller's to say */

/* Removes what nothing uses, which every pass may leave behind; or the op, where nothing needs it, and what only it needed. Inputs
 * stay, and what does something beside its results: dead.c. */
void graph_sweep_unused(struct graph *graph);
void graph_drop(struct graph *graph, struct op *op);
void graph_drop_later(struct graph *graph, struct op *op); /* they are retired */

/* Who reads or returns `from` reads or returns `to`, which has its name if it has none. */
void graph_replace(struct graph *graph, struct value *from, struct value *to);
int graph_uses(const struct value *value); /* by ops and as outputs */
int graph_position(const struct graph *graph,
                   const struct op *op);       /* -1: it does not stand there, nor aside */
struct value *value_root(struct value *value); /* through views */
/* As callers and hooks see a value; `complex`: whose last dimension are pairs. */
static inline enum dtype value_shown_dtype(const struct value *value, bool complex)
{
    return complex ? dtype_of_parts(value->dtype) : value->dtype;
}
const char *value_shown_text(struct arena *arena, const struct value *value,
                             bool complex); /* "complex64 (batch, 8)" */
/* Whether all elements are known to be that number, perhaps through views. */
bool value_is_filled(const struct value *value, double number);
/* What x was before so many of that number were put in front of it and behind, along the axis of the concatenation that x is; NULL: it
 * is not such a one, or there are not always as many. */
struct value *value_unpadded(const struct value *x, double number, int64_t around[2]);
bool value_is_slot(const struct value *value); /* a TENSOR's value or a WRITE's result */
/* A slot that a statement writes: most are read by many and written by none. */
bool value_may_be_written(const struct value *value);

/* ---- hooks.c --------------------------------------------------------------------------------------------------- */

/* Whether it lies where hooks may not write: with the caller, among parameters, buffers and state, or in what MODEL_pack makes.
 * They get a copy. */
bool value_is_lent(struct value *value);

/* Where the first boundary behind `from` stands that lets hooks write where the value lies; INT_MAX: nowhere. */
int graph_next_hook(struct graph *graph, struct value *value, int from);

/* For graph.c: what an op reads will change by graph_input, or changed, or it came. */
void hooks_leave(struct graph *graph, const struct op *op);
void hooks_change(struct graph *graph, const struct op *op);
void hooks_insert(struct graph *graph, int position, struct op *op);

#endif
