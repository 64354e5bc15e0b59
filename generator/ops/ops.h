/* ops.h - SSA values, ops, and the op table: all that passes, plan and templates know.
 *
 * A value has a dtype and dimensions in PyTorch's axis order. Its elements lie row-major in a buffer of its own, or it
 * is a view of another value: the view ops (permute, slice, expand, reshape, window) stay in the graph as ops, so that passes
 * can move and cancel them, and `legalise` resolves them to offset and strides at the end.
 *
 * note [memory order]
 * There is no second axis order beside the dimensions. A channels-last convolution is the op `conv` over (n, h, w, c)
 * values, with permute views around it; passes/layout.c puts them there and cancels what meets. So every buffer is
 * row-major in its own dimensions and every rule about views holds for every layout. */
#ifndef MODC_OPS_H
#define MODC_OPS_H

#include "base/diag.h"
#include "base/dim.h"
#include "base/dtype.h"
#include "base/steps.h"
#include "ops/elementwise.h"

struct module;
struct module_tensor;
struct module_call;
struct graph;
struct op;
struct text;

/* A tensor with known elements: constants while generating, and what `interpret` works on. */
struct tensor {
    enum dtype dtype;
    int ndim;
    int64_t dims[MAX_DIMS];
    union scalar *data; /* .f for floating types, .i for others; row-major */
};

int64_t tensor_count(const struct tensor *tensor);

/* An element in memory, as files and emitted code hold it. */
union scalar scalar_load(enum dtype dtype, const char *from);
/* Of a value that is being lowered: what its memory is in PyTorch, where ops do not tell (note [memory] in
 * eval/build_in_place.c). */
struct sharing {
    const struct op *view; /* the view of another value that it is, though no op says so */
    struct value
        *with; /* what it shares memory with though no view leads there: calls and boundaries stand between */
    bool part; /* of what `with` shows it shows a part, or the same in another order */
    bool own;  /* a view, and yet a copy */
    bool unsure;           /* a view or a copy: that is decided by strides that are not known */
    bool twice;            /* several tensors of PyTorch are this value: views that change nothing */
    bool fixed;            /* of the model, and a constant of the emitted code */
    bool said;             /* that what it holds is not known */
    struct value *storage; /* what build_storage found, which asks once; or NULL */
    const struct loc
        *lost; /* something changed it in place there, in a way that is not known; NULL: nothing */
};

struct value {
    int id; /* unique in its graph, in the order of making */
    enum dtype dtype;
    int ndim;
    int result; /* which of the op's outputs */
    const struct dim *dims[MAX_DIMS];
    struct op *op; /* its producer */
    struct loc loc;
    const char *name;              /* the local of the spec that it was first bound to, or NULL */
    const struct tensor *constant; /* elements known while generating, or NULL */
    /* Kept by graph.c: the ops of its graph that read it, one for each input, in no order; how often it is returned. */
    struct op **users;
    int user_count, returned;
    int left; /* which of the users was taken away last */
    int renewals; /* so many there were of the graph's when lowering saw that it is the newest, as are those that it shows */
    struct sharing sharing;
    struct value *
        newer; /* slots: the version that a write made of it; others: what it became in place; see graph_renew */
    struct value
        *turned; /* what the tensor shows since its shape changed in place: another view of its memory */

    /* Set by legalise: where the elements are. base is the value that owns the buffer (itself: not a view). From plan_make on they
     * are the plan's, which lets values be made inside of those that join them (note [joins] in plan/plan_join.h). */
    struct value *base;
    const struct dim *offset;
    const struct dim *strides[MAX_DIMS];

    bool local; /* its name is of what a class of torch.nn does, and no word of the spec */
    bool
        image; /* Set by layout: the last axis are the channels of a convolutional part, the first the batch */
    bool feeds_conv; /* and: a convolution reads it, directly or behind pools and maps */

    /* Set by fold: computed by MODEL_pack from parameters alone. */
    bool prepared;

    int user_room;
};

static inline void value_take_name(struct value *to, const struct value *from)
{
    to->name = from->name;
    to->local = from->local;
}

/* Every op: code and row, which is in the file of its family. Those that kernels compute have under this name a row of
 * plan/kernels too, and one of passes/adjoint_*.c: how it differentiates. */
#define OPS_COMPUTED(OP)                                                                                        \
    OP(MAP, map)             /* dag over inputs that broadcast to the output; the identity is a copy */         \
    OP(REDUCE, reduce)       /* head dag, then a reduction over axes, then tail dag */                          \
    OP(CONTRACT, contract)   /* (..., m, k) x (..., k, n) [+ bias (n)], tail */                                 \
    OP(CONV, conv)           /* convolution, tail */                                                            \
    OP(POOL, pool)           /* windowed max or mean, tail */                                                   \
    OP(NORM, norm)           /* layer norm over the last `axes` dimensions, scale, shift, tail */               \
    OP(SOFTMAX, softmax)     /* along the last axis, or its logarithm, tail */                                  \
    OP(ATTENTION, attention) /* softmax(head of (..., m, d) x (..., d, n)) x (..., n, v), tail */               \
    OP(CACHED_ATTENTION,                                                                                        \
       cached_attention) /* of rows over the keys and values of their sequences; see note [cached attention] */ \
    OP(CACHED_SCAN, cached_scan) /* a linear recurrence over rows of sequences; see note [cached scan] */       \
    OP(RECENT, recent)           /* of each row the last ones of its sequence; see note [recent] */             \
    OP(RECURRENT, recurrent) /* a recurrent layer in one direction, step by step; see note [recurrent] */       \
    OP(RECURRENT_GRADIENT, recurrent_gradient) /* the same backwards, from the gradients of its results */      \
    OP(CONCAT, concat)                         /* along an axis */                                              \
    OP(GATHER, gather) /* elements of input 0 at the places along an axis that input 1, integers, names */      \
    OP(LOOKUP,                                                                                                  \
       lookup) /* the rows that input 0, integers, names of a matrix whose transpose, input 1, is packed */     \
    OP(SCATTER, scatter) /* input 0, into whose elements at the places of input 1 go those of input 2 */        \
    OP(SCAN, scan) /* along an axis, each element of what the one before it has made and of the inputs */       \
    OP(SORT, sort) /* int64: which element along an axis stands where, in order; equal ones keep theirs */      \
    OP(CTC, ctc)   /* -log of what (t, n, c) log-probabilities give each sample's labels, or its slope */       \
    OP(FFT, fft)   /* discrete Fourier transforms along an axis, of pairs of real and imaginary parts */        \
    OP(FACTOR, factor) /* factors of matrices, the last two axes, and what they solve; see note [factors] */    \
    OP(SAMPLE,                                                                                                  \
       sample)   /* images at places between their elements, or the slopes of that; see note [samples] */       \
    OP(NMS, nms) /* int64: which boxes overlap none before them in an order, and how many these are */          \
    OP(WRITE, write)   /* slot version, target view of it, dag over inputs 2.. -> next version; or rows */      \
    OP(RANDOM, random) /* uniform [0, 1) float32 from Philox, by seed, call, module, element; tail */

#define OPS(OP)                                                                                              \
    OP(INPUT, input)   /* an input of the entry or region; index */                                          \
    OP(TENSOR, tensor) /* a parameter, buffer or state, as it is at the start of the call */                 \
    OP(CONST, const)   /* elements known while generating */                                                 \
    OP(VIEW, view)     /* permute, slice, expand, reshape, window of input 0 */                              \
    OPS_COMPUTED(OP)                                                                                         \
    OP(CHECK, check)     /* ends the call with a status where input 0, integers, has what is not allowed */  \
    OP(FENCE, fence)     /* a module boundary with hooks: n values -> n values */                            \
    OP(CALL, call)       /* a region: inputs -> outputs */                                                   \
    OP(YIELD, yield)     /* the forward call ends here; its results' gradients come with backward */         \
    OP(COMMIT, commit)   /* of a region: what stands behind waits until backward's last hook has run */      \
    OP(EXTERN, external) /* a body of the user's: inputs -> outputs; backward: see struct op */              \
    OP(UPDATE, update) /* an optimiser's step with input 0, the gradient of a parameter: `update: fused` */  \
    OP(GRADIENT, gradient) /* a parameter's before the call, or whether there is one: 1 or 0 */

#define OP_CODE(code, row) GRAPH_OP_##code,
enum op_code { OPS(OP_CODE) GRAPH_OP_COUNT };
#undef OP_CODE

enum view_kind { VIEW_PERMUTE, VIEW_SLICE, VIEW_EXPAND, VIEW_RESHAPE, VIEW_WINDOW };
enum reduce_kind {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_ANY,
    REDUCE_ALL,
    REDUCE_ARGMAX,
    REDUCE_ARGMIN /* one axis or all; int64 */
};
enum pool_kind { POOL_MAX, POOL_AVG };
/* DECAYED, over x, a bool cut and a factor: x, plus factor times what came before where that is not cut */
enum scan_kind { SCAN_SUM, SCAN_PRODUCT, SCAN_DECAYED, SCAN_LARGEST };

/* note [recurrent]
 * RECURRENT goes over L steps of N rows. Inputs, of which those behind the weight are there as the op says: what the input adds to the gates (L, N,
 * G), the weight of the state (G, P), its bias (G), the states before the first step (N, P) and, of an LSTM, (N, H), zeros
 * where they are missing; the weight (P, H) that projects what an LSTM puts out, else P is H; how many steps each row has (N); a
 * weight (F, G) and its bias (G), with which input 0 is (L, N, F) and its product is what adds to the gates. Outputs:
 * the states of all steps (L, N, P), 0 behind a row's last one; with lengths each row's last state (N, P); of an LSTM its last cell
 * state (N, H); where it saves, what its gradient reads (L, N, K): of an LSTM the gates i, f, g, o and the cell state, of a GRU r,
 * z, n and what the state adds to n; 0 behind a row's last step. `reverse` starts at each row's end.
 *
 * RECURRENT_GRADIENT has of these inputs what it reads, and behind them what RECURRENT saved, its states, and the gradients of
 * its results; those of the last states may be missing. Outputs: the gradient of what the input adds to the gates (L, N, G);
 * of a GRU that of what the state adds (L, N, G), which else is the same; those of the states before the first step (N, P), not
 * made unless it is to go on to them, and, of an LSTM, (N, H); with a projection that of all of each step's state (L, N, P). */
enum recurrent_kind { RECURRENT_TANH, RECURRENT_RELU, RECURRENT_LSTM, RECURRENT_GRU };
enum recurrent_input {
    RECURRENT_GATES,
    RECURRENT_WEIGHT,
    RECURRENT_BIAS,
    RECURRENT_STATE,
    RECURRENT_CELL,
    RECURRENT_PROJECTION,
    RECURRENT_LENGTHS,
    RECURRENT_INPUT_WEIGHT,
    RECURRENT_INPUT_BIAS,
    RECURRENT_SAVED,
    RECURRENT_STATES,
    RECURRENT_D_STATES,
    RECURRENT_D_LAST,
    RECURRENT_D_CELL,
    RECURRENT_INPUTS
};

/* What is real has no last axis of pairs, and of its transform the first half: the rest is that mirrored. */
enum fft_kind { FFT_COMPLEX, FFT_FROM_REAL, FFT_TO_REAL };
/* note [factors]
 * One result, of which slices are what it is named for, so that passes and adjoints have one value of one type:
 *
 *   LU          (m, n) -> (m, n + 2): L below the diagonal, whose own is 1, and U; which row stands there; with which row each was
 *               exchanged in its turn, which may be itself
 *   ORDER       (n, 1), with which row each is exchanged in its turn -> (n, 1): which row stands there then
 *   CHOLESKY    (n, n), of which the part below the diagonal is read -> L (n, n); what follows a pivot that is not above 0 is NaN
 *   QR          (m, n) -> (m + n, k): Q (m, k) over R (k, n) transposed; k the lesser of m and n, or m where it is complete
 *   EIGH        (n, n), read as by CHOLESKY -> (n + 1, n): values, in order, over vectors in columns
 *   SVD         (m, n), m not below n -> (m + n + 1, k): U (m, k) over singular values, the largest first, over V (n, n), in the first
 *               columns; k is n, or m where it is complete
 *   EXP         (n, n) -> (n, n): the exponential
 *   SOLVE       (n, n), (n, k) -> (n, k + 1): what the one gives times that is the other; the pivots of LU, of which one is 0 where
 *               there is no such
 *   TRIANGULAR  (n, n), (n, k) -> (n, k): the same by the part above the diagonal, or with `lower` below it; unit: with ones there
 *
 * Axes before these are batches, which both have. */
enum factor_kind {
    FACTOR_LU,
    FACTOR_ORDER,
    FACTOR_CHOLESKY,
    FACTOR_QR,
    FACTOR_EIGH,
    FACTOR_SVD,
    FACTOR_EXP,
    FACTOR_SOLVE,
    FACTOR_TRIANGULAR
};

/* note [samples]
 * What a grid or boxes (`of`) take of images (n, c, d.., h, w), each result a sum of some elements with their weights:
 *
 *   VALUES     images, places -> samples
 *   TO_IMAGES  slopes of samples, places -> slopes of the images, which have `dims`
 *   TO_PLACES  images, places, slopes of samples -> slopes of the places, of a grid alone
 *
 * GRID: places (n, k, axes), of which the first number is along the last axis, -1 to 1; samples (n, c, k).
 * BOXES: places (k, 5), the number of an image and x1, y1, x2, y2; samples (k, c, high, wide), each the mean of `points` by `points`
 * places of one of high x wide parts of a box, or of as many as it is elements large (0). */
enum sample_of { SAMPLE_GRID, SAMPLE_BOXES };
enum sample_part { SAMPLE_VALUES, SAMPLE_TO_IMAGES, SAMPLE_TO_PLACES };
enum sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };
enum sample_padding { SAMPLE_ZEROS, SAMPLE_BORDER, SAMPLE_REFLECTION };

/* note [cached attention]
 * Row r is a token of sequence[r] at position[r]. Inputs: queries (rows, heads, d), the keys (slots, groups, d) and the values (slots,
 * groups, v) that are kept, of which `page` neighbours are a page; sequence (rows), position (rows), pages (sequences, per), in
 * order the pages of each; where keys and values are integers, their scales (slots, groups) each (note [scales] in base/narrow.h); and
 * maybe a bias (heads, n), by how far a key lies back: what is further back than n - 1 has the last one.
 * Query head h goes with group h / (heads / groups). Its result (rows, heads, v) is the mean of the values at the positions p of the
 * sequence up to its own, with `window` those p > position - window, each weighted by
 *
 *     softmax over p of softcap * tanh(scale * q . k / softcap) + bias[h, position - p]
 *
 * without a softcap (0) of scale * q . k + bias. Keys and values of the row itself are there already. */
enum cached_input {
    CACHED_QUERIES,
    CACHED_KEYS,
    CACHED_VALUES,
    CACHED_SEQUENCE,
    CACHED_POSITION,
    CACHED_PAGES,
    CACHED_MOST = CACHED_PAGES + 4 /* two scales and a bias behind them */
};

/* note [cached scan]
 * Of rows as above, (rows, ...) each: a factor, a term; a state (sequences, ...); sequence (rows), position (rows). Row r of the result is
 * factor[r] * before + term[r]. `before` is the last row in front of r that is of its sequence, else the state of that, or 0 where
 * position[r] is 0. */
enum cached_scan_input {
    CACHED_SCAN_FACTOR,
    CACHED_SCAN_TERM,
    CACHED_SCAN_STATE,
    CACHED_SCAN_SEQUENCE,
    CACHED_SCAN_POSITION,
    CACHED_SCAN_INPUTS
};

/* note [recent]
 * Of rows (n, ...) as above, and a state (sequences, k, ...): what stands up to k places back in its sequence, and the row itself,
 * (n, k + 1, ...), the row last. Rows of the sequence in front of it in the call come first, behind them (further back) those of the
 * state, which are what stood in front of the first row of the sequence in this call; before the sequence began stands 0. */
enum recent_input { RECENT_ROWS, RECENT_STATE, RECENT_SEQUENCE, RECENT_POSITION, RECENT_INPUTS };

enum fence_kind {
    FENCE_FORWARD_PRE,
    FENCE_FORWARD, /* before and behind a module's call */
    FENCE_BACKWARD_PRE,
    FENCE_BACKWARD /* before and behind it in backward */
};

enum check_kind {
    CHECK_INDEX,   /* every element is in [lowest, extent), lowest being 0 or -extent */
    CHECK_DIVISOR, /* no element is 0 */
    CHECK_TRUE     /* every element, a bool, is true */
};

/* See note [regions] in graph.h. */
enum call_part { CALL_WHOLE, CALL_FORWARD, CALL_BACKWARD, CALL_COMMIT };

struct op {
    enum op_code code;
    int input_count, output_count;
    int tail_first; /* index of the first input that belongs to the tail; input_count where there is no tail */
    struct value **inputs, **outputs;
    struct loc loc;
    struct module_call
        *call;         /* the module call that made it; NULL in the model's own statements of a model */
    const char *label; /* function's name, for kernels and comments: "relu", "linear" */
    const char
        *first; /* of "linear_relu", to which passes have joined others, "linear"; NULL: it is one function */
    struct module_call *last; /* the call that the function is of which was joined last; or NULL */
    int place, shift;         /* where it stood in its graph when that had this shift: see graph_position */
    bool placed;              /* it stands in one */
    bool shared;              /* a copy that legalise made, which others may read that want the same */

    /* Elementwise parts. head: over inputs before the op proper (REDUCE; CONV: of input 0 and of what lies from
     * conv_head_first on, which differs by channel alone; ATTENTION: of the scores, and of inputs 3 to tail_first - 1). tail: input 0 of the dag is the op's result
     * (MAP: absent), inputs 1.. are the op's inputs from tail_first on. dag: of MAP over all inputs, of WRITE over those
     * from 2 on, of SCATTER over two elements, of SCAN over the element before and all inputs but what is given. */
    struct dag *dag, *head, *tail;
    const struct steps
        *steps; /* MAP that makes int8 of float32, or the reverse, up to pass_integer; NULL: another one */
    struct dag **
        gradients; /* MAP of a line of elementwise.c, in a graph that saves: by input, what the line says of its
                             * gradient, over the inputs, the result and the upstream gradient; NULL: nothing flows there */

    union {
        struct {
            int index;
            bool constant, complex;
        } input; /* constant: no gradient flows to it; complex: callers see its pairs as complex numbers */
        struct {
            const struct module_tensor *tensor;
        } tensor;
        struct {
            enum view_kind kind;
            int perm[MAX_DIMS]; /* PERMUTE: output axis i is input axis perm[i] */
            int axis;           /* SLICE, WINDOW */
            const struct dim *start,
                *step; /* SLICE: the step may be negative. WINDOW: from one to the next */
            const struct dim
                *dilation; /* WINDOW: between neighbours in one; they are the last axis of the output */
            bool detached; /* no gradient flows back through it */
        } view;
        /* equal_nans, of MAX and MIN: NaNs share the gradient of a NaN */
        struct {
            enum reduce_kind kind;
            bool axes[MAX_DIMS];
            bool keepdim, equal_nans;
        } reduce;
        struct {
            bool bias;
        } contract; /* input 2 is the bias */
        /* Windows over (h, w). conv: inputs x, weight, [bias]. channels_last: x is (n, h, w, c) and the weight
         * (oc, kh, kw, c / groups); else (n, c, h, w) and (oc, c / groups, kh, kw). conv: padding stands in front, behind
         * stands padding + extra, and below 0 they crop: as many windows as fit. */
        struct {
            enum pool_kind kind;
            int kernel[2], stride[2], padding[2], extra[2], dilation[2], groups;
            bool bias, channels_last, ceil_mode, count_include_pad;
            int divisor; /* avg: 0 is the window */
            int zero; /* conv of int8: what is taken from x in front of the product; note [int8] in window.c */
        } window;
        struct {
            int axes;
            double eps;
            bool weight, bias;
        } norm;
        struct {
            int axis;
            bool log, safe;
        } softmax; /* safe: lines of nothing but -inf become 0, not NaN */
        /* causal: query i sees keys 0 to i + ahead; safe: one that sees none gives 0 */
        struct {
            bool safe, causal;
            int64_t ahead;
        } attention;
        struct {
            double scale, softcap; /* softcap: 0: none */
            int64_t window, page;  /* window: 0: none */
        } cached;
        struct {
            enum recurrent_kind kind;
            bool has[RECURRENT_INPUTS], reverse, saves, to_state;
        } recurrent; /* has: which inputs */
        struct {
            int axis;
        } concat;
        /* along: torch.gather, the index has the output's dims; else the index's dims stand where the axis stood. */
        struct {
            int axis;
            bool along;
        } gather;
        /* Where an element goes is where GATHER would take it from: input 2 has the dims of what that makes, but `along`
         * the index may be smaller. The dag's input 0 is what stands there, input 1 what comes: the sum, the second. What
         * comes later meets what came before. */
        struct {
            int axis;
            bool along;
        } scatter;
        /* reverse: from the axis' end. given: input 0, which has not that axis, stands before the first element; else that is 1
         * of products, or 0. */
        struct {
            int axis;
            enum scan_kind kind;
            bool reverse, given;
            double factor;
        } scan; /* DECAYED without a third input: factor */
        struct {
            int axis;
            bool descending;
        } sort; /* NaN is above all */
        /* inputs: log-probabilities, labels, and by sample where its labels begin, its steps, its labels, of which there are
         * at most `labels` */
        struct {
            int64_t blank;
            const struct dim *labels;
            bool gradient;
        } ctc;
        /* length: of the complex or real row. Inputs behind x are what ops/fft.h makes, and the factor of all results. inverse: the
         * other sign, and no factor of its own. */
        struct {
            enum fft_kind kind;
            int axis;
            bool inverse;
            int64_t length;
        } fft;
        struct {
            enum factor_kind kind;
            bool complete, lower, unit;
        } factor;
        /* mode, padding, corners (-1 and 1 are the middles of the outermost elements): of a grid. high, wide, points, aligned (a box
         * may be smaller than an element): of boxes. */
        struct {
            enum sample_of of;
            enum sample_part part;
            enum sample_mode mode;
            enum sample_padding padding;
            bool corners, aligned;
            int high, wide, points;
            const struct dim *dims[MAX_DIMS];
        } sample;
        struct {
            int64_t most;
        } nms; /* so many boxes */
        struct {
            enum check_kind kind;
            bool negative;
            const struct dim *extent;
        } check; /* negative: lowest is -extent */
        struct {
            const struct module_tensor *tensor;
            bool detached, rows;
        } write; /* detached: of a layer, beside the gradients' way. rows: input 2 says where along axis 0 those of input 3 go */
        /* The first `seen` values are only looked at: FORWARD: what went into the module; BACKWARD: the gradients of its
         * results. Of the two in backward: the boundary of forward, where these values' gradients come by, and which of the
         * values that hooks may change there each is of; the others have none. Of those in forward: which values hooks see as complex
         * numbers. */
        struct {
            const struct module *module;
            enum fence_kind kind;
            int seen;
            const struct op *forward;
            const int *slots;
            const bool *complex;
        } fence;
        struct {
            struct region *region;
            const struct module *instance;
            int count;
            enum call_part part;
            const bool
                *reads; /* BACKWARD: by input of the region, then by result: it is an input of this op */
        } invoke;       /* CALL; count > 1: of neighbours */
        /* Backward: the first `inputs` and, behind them, `results` values are those of forward, the others gradients: of which
         * result each is `given` says, and `wanted` of which input each of the op's own results is the gradient. */
        struct {
            const struct module *module;
            bool backward;
            int inputs, results;
            const int *given, *wanted;
        } external;
        struct {
            const struct module *module;
            int draw;
        } random; /* draw: how often the module has drawn before in the graph */
        struct {
            const struct module_tensor *tensor;
            bool present;
        } gradient; /* UPDATE: the tensor alone */
    };
};

/* What an op can read without a copy before it. */
enum op_accepts {
    ACCEPT_ANY,      /* any strides */
    ACCEPT_LAST,     /* last axis contiguous */
    ACCEPT_REPEATED, /* the same, or it repeats one element */
    ACCEPT_ROWS,     /* last axis contiguous, the others collapse to one stride */
    ACCEPT_DENSE     /* row-major without gaps */
};

/* Where an op goes on with a map of its result. */
enum op_tail {
    TAIL_NONE,
    TAIL_OWN, /* the pass that makes the op gives it one, and no other joins it */
    TAIL_BY_ROWS, /* kernels with tiles: what the map reads besides lies by row and column, and all is of one type */
    TAIL_ANYWHERE /* element by element */
};

/* Where an op computes what the maps of its inputs say. */
struct op_body {
    struct dag **dag;          /* over its inputs */
    int base, first;           /* inputs in front of those that it counts; loads in front of them */
    const struct value *whole; /* what has the dims that it runs over */
    bool joint;                /* these dims are what its inputs have together */
    bool serial;               /* its elements are made one by one */
};

/* What one run computes beside reading and writing, at the maxima of the sizes. */
struct op_work {
    double macs;      /* multiply-adds of products */
    double values;    /* values that pass through a vector loop with a few operations */
    double functions; /* values of exp, tanh, erf and the like */
    double rows;      /* that end with a value over the lanes of a vector, of which more is made */
};

/* All that is to be said of an op; NULL, false and 0 where there is nothing, as for an op that computes a value from others and
 * does no more. */
/* In what order PyTorch has the elements of a result in memory. */
enum op_order {
    OP_ORDER_UNKNOWN,
    OP_ORDER_DENSE, /* row-major, without gaps */
    OP_ORDER_KEPT   /* that where all operands are */
};

struct op_row {
    const char *name;
    /* What is broken about attributes and operands, for graph_check: a fault of modc. */
    const char *(*broken)(struct cx *cx, const struct op *op);
    /* Sets dtype and dims of the outputs from inputs and attributes; or returns what is wrong, for a message at the
     * call. What does not follow from these the maker has set. */
    const char *(*infer)(struct cx *cx, struct op *op);
    /* The reference result in double. Inputs and outputs have their final dims. */
    void (*interpret)(const struct op *op, const struct tensor *const *inputs, struct tensor *outputs);
    bool (*known)(const struct op *op); /* whether sizes leave it to be interpreted; NULL: they do */
    enum op_accepts (*accepts)(const struct op *op, int input); /* NULL: any */
    bool (*packs)(const struct op *op,
                  int input); /* where it depends on parameters alone, the plan packs it from any strides */
    int (*bias)(const struct op *op); /* which input is added; -1: none. NULL: none */
    double (*macs)(
        const struct op *op); /* multiply-adds, comparisons and additions of one run at the sizes' maxima */
    void (*dump)(struct text *text, const struct op *op); /* attributes */
    /* Its result has one number, which is returned, as where it sums up nothing; -1: it has something to compute. */
    int (*nothing)(const struct op *op);
    bool (*body)(struct op *op, struct op_body *body); /* false: not as it is now */
    enum op_tail tail;
    bool (*tails)(const struct op *op);  /* whether it takes one now; NULL: yes */
    int (*columns)(const struct op *op); /* how many last axes a row of a tail's operand has; NULL: 1 */
    bool pure;                           /* may be removed when unused, and run by MODEL_pack */
    /* Whether MODEL_pack may run it, by its kernel, and --weights by `interpret`; NULL: no */
    bool (*once)(const struct op *op);
    bool windows; /* axes from 2 on count windows: there is one at least */
    bool many;    /* interprets any number of inputs */
    bool
        fills; /* what it reads may be smaller than its result, where passes found that the rest is not needed */

    /* ---- where it stands ---- */
    bool source; /* it brings a value into the graph: it reads nothing, and no step makes it */
    bool lent;   /* its results lie where the caller or the model keeps them, and are for reading alone */
    bool acts;   /* it does something beside its results, or belongs to what does */
    bool stays;  /* it is there though nobody uses its results */
    bool fails;  /* it may end the call */
    bool parts;  /* a part of the call ends with it */
    bool draws;  /* its results are random numbers */
    enum op_order order;
    int target; /* the input that shows what it writes to, of what its results are the next version; 0: none */

    /* Whether a gradient flows back to that input from its result; NULL: it does. */
    bool (*carries)(const struct op *op, int input);
    /* Whether that input is read element by element in a map, where a constant of equal elements is a number; NULL: it is not. */
    bool (*mapped)(const struct op *op, int input);
    bool between; /* its head is of what it computes on its way, and of no value of the spec */
    bool
        in_place; /* its result may lie where an operand of its type and dims does that nobody reads any more */

    /* ---- how long it takes ---- */
    void (*work)(const struct op *op, struct op_work *work); /* NULL: a value for each result */
    double (*bytes)(
        const struct op *op); /* that it reads and writes; NULL: all operands and results, once each */
    bool varied;              /* an algorithm has a number of multiply-adds of its own */
    bool tiled; /* its kernels bring operands into tiles: it takes no longer to read them across their rows */

    /* ---- its weight: input 1, which is packed ---- */
    bool
        weighted; /* it is the product of input 0 and this weight: slices by rows read all of it, by columns all of input 0 */
    bool narrow;  /* it may be stored in a type narrower than what is computed in */
    bool strided; /* where it does not depend on parameters alone, both operands are read from any strides */
    /* of these: it takes less time to copy all of that input first; NULL: never */
    bool (*gathers)(const struct op *op, int input);
    bool across;   /* the same of a copy whose outputs lie side by side */
    bool unpacked; /* an algorithm reads it where the parameter lies: what is seldom run need not pack it */
    bool woven;    /* panels of its groups lie woven, one of each group beside the others */
    int outputs_axis;                              /* of it, which its outputs lie along */
    int (*groups)(const struct op *op);            /* of its outputs, each padded apart; NULL: 1 */
    int (*second)(const struct op *op, int *bias); /* another weight, and its bias; -1: none. NULL: none */
};

#define OP_ROW(code, row) extern const struct op_row op_row_##row;
OPS(OP_ROW)
#undef OP_ROW

extern const struct op_row *const op_rows[GRAPH_OP_COUNT];

/* What is broken about the op, whatever it is: dags that read what is not there, and what its row says. */
const char *op_broken(struct cx *cx, const struct op *op);

/* Shape helpers used by infer functions and by eval. */
bool dims_equal(const struct value *a, const struct value *b);
const struct dim *dims_count(struct arena *arena, const struct value *value);         /* number of elements */
const char *shape_text(struct arena *arena, int ndim, const struct dim *const *dims); /* "(batch, 64)" */

/* How many windows there are along an axis of `in` elements, each from its first cell to its last `reach` long. */
const struct dim *window_count(struct arena *arena, const struct dim *in, int64_t reach, int64_t stride,
                               int64_t padding, bool ceil_mode);

bool softmax_is_last(const struct op *op); /* along the last axis */

int recurrent_gates(enum recurrent_kind kind); /* how many: 1, 4, 3 */
int recurrent_saved(enum recurrent_kind kind); /* K / H: 0, 5, 4 */

/* Which of the op's inputs has that role; -1: none. */
int recurrent_at(const struct op *op, enum recurrent_input role);
struct value *recurrent_input(const struct op *op, enum recurrent_input role); /* NULL: none */
bool op_is_recurrent(const struct op *op);              /* or the gradient of such a layer */
bool recurrent_by_rows(const struct op *op, int input); /* it lies by steps and rows, at any distances */
const struct dim *recurrent_width(struct arena *arena, const struct op *op); /* H, units of a gate */

/* Do windows along space axis i reach over the border? padded: over that of the padding. */
bool window_is_clipped(const struct op *op, int i, bool padded);
bool pool_is_uneven(const struct op *op); /* its means divide by other counts at the border */

/* Broadcast `dims` of `ndim` axes with those of `value`, PyTorch's rule. False where they do not fit. */
bool dims_broadcast(struct cx *cx, const struct dim **dims, int *ndim, const struct value *value);

/* Runs an op over constant inputs; NULL if it has no interpreter, the result would be over 1 MiB, or the compilation
 * has computed so much already that it would take too long. */
struct tensor *op_interpret(struct cx *cx, const struct op *op);

double op_macs(const struct op *op);

/* Of CACHED_ATTENTION: the scales of its keys (CACHED_KEYS) or values, its bias. NULL: there are none. */
struct value *cached_scales(const struct op *op, enum cached_input of);
struct value *cached_bias(const struct op *op);

struct op_work op_work(const struct op *op);
double op_bytes(const struct op *op); /* that one run reads and writes, at the maxima of the sizes */

bool op_is_step(const struct op *op);                 /* not what is there already, or a view of it */
const struct value *op_result(const struct op *op);   /* what it computes, or writes to; NULL: nothing */
bool op_carries(const struct op *op, int input);      /* a gradient back to that input */
bool op_reads_number(const struct op *op, int input); /* see `mapped` */
bool op_reads_packed(const struct op *op);            /* where its weight can be packed, it is */
int op_weight_groups(const struct op *op);            /* see `groups` */
int op_second_weight(const struct op *op, int *bias); /* see `second` */
int op_bias_at(const struct op *op);                  /* -1: none */
enum dtype op_computed(const struct op *op);          /* the type of its first result in front of the tail */
bool op_takes_tail(const struct op *op);

/* The algorithm of --plan 'contract=gemm_dot', or NULL. */
const char *op_forced(const struct cx *cx, enum op_code code);

int op_columns(const struct op *op); /* of a tail's operand: how many last axes make a row */

/* The first operand of a convolution's head behind its input 0; the last is before tail_first. */
int conv_head_first(const struct op *op);
enum {
    CONV_MOST_TERMS = 32768
}; /* of a window of int8: (x - zero) w is at most 255 * 128, and a bias comes to the sum */
bool conv_is_int8(const struct op *op);
/* Whether its kernels store what a tail makes of a result in another type than they compute in. */
bool op_tail_narrows(const struct op *op);

/* Whether two views show the same of one value. */
bool view_same(const struct value *a, const struct value *b);

/* The numbers of a strided view of a row-major base: used by interpret and by legalise. False: a copy is needed. */
bool view_resolve(struct arena *arena, const struct op *op, const struct value *input, struct value *output);

#endif
