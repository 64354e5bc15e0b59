/* algorithm.h - the ways to compute each op: a row a template, and how some of them divide their work. */
#ifndef MODC_ALGORITHM_H
#define MODC_ALGORITHM_H

#include "ops/fft.h"
#include "plan/plan.h"

struct algorithm {
    const char *name; /* for --plan 'contract=gemm_dot' and --explain */
    enum op_code op;
    const char *template; /* in the backend's folder: "gemm_panel" */
    const char *parts; /* a second template, whose functions it calls; NULL: none. See templates/README.md */
    bool (*fits)(const struct graph *graph, const struct op *op);
    double (*cost)(const struct op *op); /* in multiply-adds of a perfect kernel */
    /* How many tiles its template can deal out along each axis, at the maxima of the sizes; 0: that axis is not split.
     * NULL: it is one call. */
    void (*tiles)(const struct op *op, int64_t tiles[SPLIT_AXES]);
    enum packed_format weight, bias;
    int64_t (*scratch)(
        const struct op *op); /* bytes of workspace that it, or each slice of it, works in; NULL: none */
    const char *how;          /* for the comment of a kernel: how it goes about it, and why so */
    const char *called;       /* what its kernels are called by instead of the op; NULL: by the op */
    double
        rounding; /* of a product: the variance of its rounding, of what one has that adds term by term; 0: 1, or less */
    bool core;  /* note [cores] in kernel.h */
    bool alone; /* its kernels are too large to be compiled into their callers */
    bool whole; /* ATTENTION: all rows of a head are a block */
    bool (*turns)(
        const struct op *op,
        const struct value *place); /* CONV: it can write planes, if y were there; NULL: it cannot */
    bool
        anywhere; /* a row of the processor whose core serves every machine: see print_cuda_wrapper in emit/kernel.c */
    int64_t (*scratch_stored)(const struct op *op,
                              const struct storage *storage); /* the same, by how its weight is packed */
    bool dots;  /* multiplies bytes, for which some machines have an instruction: see emit/dispatch.h */
    bool packs; /* CONTRACT: operands into its scratch, where they do not lie as its vectors want them */
};

/* Bytes that it works in, or each slice of it: of an op whose weight is packed as `storage`. */
int64_t algorithm_scratch(const struct algorithm *algorithm, const struct op *op,
                          const struct storage *storage);

/* The rows of a machine: its own, then those of the processor that serve others, too. NULL: behind the last. */
const struct algorithm *algorithm_of(const struct backend *backend, int index);

/* Of all devices' rows the one of this number; NULL: behind the last. */
const struct algorithm *algorithm_at(int index);

/* Whether it is the first of its op and name: several devices have rows that go about it in the same way. */
bool algorithm_is_first(int index);

/* By its name; NULL: the machine has none such. */
const struct algorithm *algorithm_named(const struct backend *backend, const char *name);

/* How conv_winograd4 and conv_winograd2 divide their work: tiles of so many outputs by as many, of side x side inputs; so many
 * tiles at a time, so many output channels of them at a time. */
struct winograd {
    int64_t outputs, side, planes; /* planes: side * side, one for each product */
    int64_t tiles, block, chunk;
    bool stream; /* the weights do not stay in a cache: the next ones are fetched ahead */
};

struct winograd winograd_of(const struct op *op, enum packed_format format);

/* How many inputs a tile of Winograd's transform has on a side: 6, 4; 0 of other formats. */
int winograd_side(enum packed_format format);

/* How templates/c/attention.c divides its work and lays out its scratch, in elements at the maxima of the sizes: scores of so
 * many rows, `stride` apart; `room` behind their start the keys, transposed, where they have to be. */
struct attention {
    int64_t rows, stride, room, scratch;
    bool even;   /* all blocks have so many rows */
    bool turned; /* the keys of a head are transposed first */
};

struct attention attention_of(const struct op *op, bool whole); /* whole: all rows of a head */

/* templates/c/attention_paged.c: how many scores a query has room for, of as many keys as a band of rows sees at most. */
int64_t cached_attention_room(const struct op *op);

/* How templates/c/matmul_strided.c goes about a product of values that are not packed: see its T_form. */
enum product_form { PRODUCT_PLAIN, PRODUCT_COLUMNS, PRODUCT_DOTS, PRODUCT_ROWS };

struct product {
    enum product_form form;
    bool packs_x, packs_w;    /* into its scratch first */
    int merged;               /* how many of the axes in front of y's rows are rows, too */
    int64_t m, n, k, batches; /* at the maxima of the sizes */
    int64_t block, stride;    /* so many columns of w are packed at a time, into rows so far apart */
    int64_t rows;             /* so many of x are packed at a time */
    int64_t room, scratch;    /* elements for w, and with the rows of x behind it */
    double cost;              /* in multiply-adds of a perfect kernel */
};

/* packs: it may pack an operand, where that takes less time. */
struct product product_of(const struct op *op, bool packs);

/* How many neighbouring lines of an image one line of windows reaches over: so many are converted at a time for a
 * convolution with a head. */
int64_t conv_lines(const struct op *op);

/* How many lines of pixels conv_direct takes as one, where each pixel is computed from one: so tiles are tall in small images,
 * and weights are read less often. 1: lines as they are. */
int conv_joined_lines(const struct op *op);

/* Is a line of conv_direct a kernel of its own, which knows no tail, so that convolutions that differ in it share that kernel? */
bool conv_is_apart(const struct op *op);

/* conv_direct and conv_depthwise can write planes, as PyTorch wants them: a band of so many channels of a line at a time,
 * which they make in their scratch, so many elements from the start. */
bool conv_turns(const struct op *op, const struct value *place); /* if y were there */
bool conv_turns_device(const struct op *op, const struct value *place);
bool conv_is_turned(const struct op *op);
int64_t conv_band(const struct op *op);
int64_t conv_band_offset(const struct op *op);

/* How templates/cuda/conv_tile.cu divides its work: tiles of so many pixels and channels of a group, which has so many `bands` of
 * tiles; the threads of a block, and how many values of x and w each fetches at a step; so many `pieces` of the taps are added up
 * by blocks of their own. `blocks` of a launch, at the maxima of the sizes. */
struct conv_tile {
    int rows, columns, threads, x_values, w_values, pieces;
    int64_t bands, blocks;
};

struct conv_tile conv_tile_of(const struct op *op);
int64_t scratch_conv_tile(const struct op *op);

/* Of that and of templates/cuda/conv.cu: of weights packed as columns, and as they lie. */
bool fits_conv_tile(const struct graph *graph, const struct op *op);
bool fits_conv_tile_plain(const struct graph *graph, const struct op *op);
bool fits_conv_thread(const struct graph *graph, const struct op *op);
double cost_conv_tile(const struct op *op);
double cost_conv_tile_plain(const struct op *op);
double cost_conv_thread(const struct op *op);
double cost_conv_thread_plain(const struct op *op);

/* How pool_planes lays out its scratch, in elements at the maxima of the sizes: so many lines, one `span` behind the other,
 * of each the first `wide` columns; in all `room`, then the rest of `scratch`. */
struct pool_plan {
    int64_t span, lines, wide, room, scratch;
    bool compact; /* the windows of all lines are those of one long line */
};

struct pool_plan pool_plan_of(const struct op *op);

/* How templates/c/fft.c divides a row; elements of one of its planes; how many values lie behind the axis. */
struct fft_plan fft_layout(const struct op *op);
int64_t fft_plane(const struct op *op);
int64_t fft_inner(const struct op *op);

#endif
