/* algorithms.c - how ops can be computed on the CPU: one row a template. A new algorithm is a template, a row here, and its forced
 * tests. Rows of one op get the same holes (kernel.c). */
#include <string.h>

#include "passes/toolkit.h"
#include "plan/algorithm.h"
#include "plan/contract_rows.h"
#include "plan/cost.h"
#include "plan/cpu_rows.h"
#include "plan/cuda_blocks.h"
#include "plan/cuda_rows.h"
#include "plan/target.h"

static const struct backend *const cpu = &backends[DEVICE_CPU];

/* ---- windows, norms --------------------------------------------------------------------------------------- */

static bool fits_conv(const struct graph *graph, const struct op *op)
{
    return op_is_packed(graph, op) && op->window.channels_last && !conv_is_int8(op);
}

/* CONV_BAND: columns of the widest register tile of a line, whatever the vectors; CONV_ROWS: pixels of the tallest;
 * CONV_TILE: so many accumulators keep the multiply-adds busy while weights are fetched. */
#define CONV_BAND 64
#define CONV_ROWS 14
#define CONV_TURNED 16 /* pixels of a line, and channels that are computed apart */
#define CONV_TILE 20

int64_t conv_lines(const struct op *op)
{
    return (int64_t)(op->window.kernel[0] - 1) * op->window.dilation[0] + 1;
}

/* Accumulators of a tile of conv_direct where a line has so many pixels: MODC_LINE_ROWS and MODC_TILE_VECTORS of 16 lanes. */
static int64_t tile_of_line(int64_t pixels)
{
    int64_t tiles = tiles_of(pixels, CONV_ROWS), rows = tiles > 0 ? tiles_of(pixels, tiles) : 0;

    return rows * (rows >= 8 ? 2 : rows > 1 ? 4 : 8);
}

int conv_joined_lines(const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    int64_t lines, width;
    int joined = 1;

    if (op->window.kernel[0] * op->window.kernel[1] != 1 ||
        op->window.stride[0] * op->window.stride[1] != 1 || op->window.padding[0] != 0 ||
        op->window.padding[1] != 0 || op->head || conv_is_turned(op) || !dim_equal(x->dims[1], y->dims[1]) ||
        !dim_equal(x->dims[2], y->dims[2]) || !dim_is_const(x->dims[1], &lines) ||
        !dim_is_const(x->dims[2], &width))
        return 1;
    for (int count = 1; count <= lines && tile_of_line(joined * width) < CONV_TILE; count++)
        if (lines % count == 0 && tile_of_line(count * width) > tile_of_line(joined * width))
            joined = count;
    return joined;
}

/* The sums are long enough for a call for each line; and a second pass over the line, which lies in the cache, takes less than a
 * hundredth of their time. */
bool conv_is_apart(const struct op *op)
{
    int64_t products = op->window.kernel[0] * op->window.kernel[1] * upper(op->inputs[0]->dims[3]) /
                       op->window.groups;

    if (op->tail && is_narrow(op->outputs[0])) /* the line would be rounded before its tail */
        return false;
    return products >= (op->tail ? 256 : 64);
}

static int64_t whole_panels(const struct op *op, int64_t count)
{
    return tiles_of(count, panel(op)) * panel(op);
}

/* What the tail reads varies along the channels alone: no pixel is looked for where a band of planes is made. */
static bool tail_is_by_channel(const struct op *op)
{
    for (int i = op->tail ? op->tail_first : op->input_count; i < op->input_count; i++)
        for (int axis = 0; axis < op->inputs[i]->ndim - 1; axis++)
            if (!dim_equals(op->inputs[i]->dims[axis], 1))
                return false;
    return true;
}

bool conv_turns(const struct op *op, const struct value *place)
{
    return op->outputs[0]->dtype == DTYPE_FLOAT32 && tail_is_by_channel(op) &&
           dim_equals(place->strides[2], 1) && !dim_equals(place->dims[3], 1) &&
           upper(place->dims[2]) >= CONV_TURNED &&
           (!op_is_depthwise(op) || upper(place->dims[3]) >= CONV_TURNED);
}

/* By threads, for which no line is too short. */
bool conv_turns_device(const struct op *op, const struct value *place)
{
    return tail_is_by_channel(op) && dim_equals(place->strides[2], 1) && !dim_equals(place->dims[3], 1);
}

bool conv_is_turned(const struct op *op)
{
    const struct value *y = op->outputs[0];

    return !dim_equals(y->dims[3], 1) && !dim_equals(y->strides[3], 1);
}

int64_t conv_band(const struct op *op)
{
    int64_t columns = whole_panels(op, upper(op->outputs[0]->dims[3]) / op->window.groups);

    return columns < CONV_BAND ? columns : CONV_BAND;
}

/* Behind what a convolution with a head works in: the lines of an image that one line of windows sees. */
int64_t conv_band_offset(const struct op *op)
{
    const struct value *x = op->inputs[0];

    return !op->head ? 0 : whole_panels(op, conv_lines(op) * upper(x->dims[2]) * upper(x->dims[3]));
}

static int64_t scratch_conv(const struct op *op)
{
    int64_t band = conv_is_turned(op) ? upper(op->outputs[0]->dims[2]) * conv_band(op) : 0;
    int64_t bytes = (conv_band_offset(op) + band) * computed_bytes(op->outputs[0]);

    return op->head && bytes == 0 ? 1 : bytes;
}

static bool fits_direct(const struct graph *graph, const struct op *op)
{
    return fits_conv(graph, op) && (!op->head || op->window.groups == 1);
}

/* Others read values that lie in memory as they compute with them. */
static bool has_head(const struct op *op)
{
    return op->head;
}

/* What no weight is packed for. */
static bool fits_conv_plain(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->window.channels_last && !has_head(op) && !conv_is_int8(op);
}

static bool fits_int8_plain(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->window.channels_last && conv_is_int8(op);
}

static bool fits_int8_depthwise(const struct graph *graph, const struct op *op)
{
    return fits_int8_plain(graph, op) && op_is_packed(graph, op) && op_is_depthwise(op);
}

/* Planes are for one core, and for vectors that hold two elements. */
static bool fits_int8_planes(const struct graph *graph, const struct op *op)
{
    return fits_int8_depthwise(graph, op) && !target_of(graph->cx)->hosted && op->window.kernel[0] == 3 &&
           op->window.kernel[1] == 3 && op->window.dilation[0] == 1 && op->window.dilation[1] == 1 &&
           op->window.stride[1] <= 2;
}

static bool fits_int8_rows(const struct graph *graph, const struct op *op)
{
    return fits_int8_plain(graph, op) && op_is_packed(graph, op) && !op_is_depthwise(op);
}

static double cost_int8_rows(const struct op *op)
{
    return op_macs(op) + 200;
}

static double cost_int8_planes(const struct op *op)
{
    return 0.5 * op_macs(op) + 200;
}

/* Of modc_simd_dot.h, MODC_INT8_WIDE. */
static int64_t scratch_plane(const struct op *op)
{
    const struct dim *const *dims = op->outputs[0]->dims;

    return ((upper(dims[1]) - 1) * op->window.stride[0] + 3) *
           (tiles_of(upper(dims[2]), 2) * 2 * op->window.stride[1] + 2) * 2;
}

static double cost_int8_plain(const struct op *op)
{
    return 4.0 * op_macs(op) + 200;
}

/* A convolution of 1 x 1 that reads each pixel where it lies. */
static bool is_pointwise(const struct op *op)
{
    bool own = true;

    for (int i = 0; i < 2; i++)
        own &= op->window.kernel[i] == 1 && op->window.padding[i] == 0 && op->window.extra[i] <= 0;
    return own;
}

/* Rows of int16 of as many pixels as are multiplied at a time, MODC_INT8_ROWS of modc_simd_dot.h, and a window. */
static int64_t scratch_windows(const struct op *op)
{
    const struct dim *const *dims = op->inputs[1]->dims, *const *out = op->outputs[0]->dims;
    const int64_t depth = tiles_of(upper(dims[1]) * upper(dims[2]) * upper(dims[3]), 4) * 4;
    const int64_t pixels = upper(out[0]) * upper(out[1]) * upper(out[2]);

    return 2 * (pixels < 2 ? 1 : 2) * depth + (is_pointwise(op) ? 0 : depth);
}

static bool fits_pool(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->window.channels_last;
}

static bool fits_pool_planes(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return !op->window.channels_last;
}

static bool fits_softmax(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return softmax_is_last(op);
}

static bool fits_softmax_columns(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return !softmax_is_last(op);
}

static int64_t scratch_softmax_columns(const struct op *op)
{
    int64_t length = upper(op->inputs[0]->dims[op->softmax.axis]);

    return cpu->vector_bytes *
           (length > 0 ? length : 1); /* a parameter that is there, even where there is nothing */
}

/* A value for each state; for a gradient of each step, and once more; and the slopes of a step that y would round. */
static int64_t scratch_ctc(const struct op *op)
{
    int64_t states = 2 * upper(op->ctc.labels) + 1;

    int64_t slopes = op->ctc.gradient && is_narrow(op->outputs[0]) ? upper(op->inputs[0]->dims[2]) : 0;

    return (states * (op->ctc.gradient ? upper(op->inputs[0]->dims[0]) + 1 : 1) + slopes) *
           computed_bytes(op->outputs[0]);
}

/* Lines follow each other in the scratch so that windows at a line's end see at most padding of the next one, and what
 * they make follows in y without a gap. */
static bool pool_is_compact(const struct op *op)
{
    int64_t w, ow, reach = (int64_t)(op->window.kernel[1] - 1) * op->window.dilation[1] + 1;
    int64_t stride = op->window.stride[1], padding = op->window.padding[1], over = reach - stride;

    return op->input_count == op->tail_first && !pool_is_uneven(op) &&
           dim_is_const(op->inputs[0]->dims[3], &w) && dim_is_const(op->outputs[0]->dims[3], &ow) &&
           ow < 64 && (over <= 0 || (over <= padding && padding + w <= ow * stride));
}

/* Vectors of what comes out may read so much behind the first window. */
static int64_t pool_reach(const struct op *op, int64_t windows)
{
    return whole_panels(op, windows) * op->window.stride[1] +
           (int64_t)(op->window.kernel[1] - 1) * op->window.dilation[1];
}

struct pool_plan pool_plan_of(const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    int64_t w = upper(x->dims[3]), ow = upper(y->dims[3]), padded = op->window.padding[1] + w,
            reach = pool_reach(op, ow);
    struct pool_plan plan = {.compact = pool_is_compact(op), .wide = w};

    plan.span = plan.compact ? ow * op->window.stride[1] : padded > reach ? padded : reach;
    plan.lines = 1024 / (plan.span > 16 ? plan.span : 16); /* a few KB */
    plan.lines = plan.lines < 1 ? 1 : plan.lines;
    if (plan.compact && padded > plan.span)
        plan.wide = plan.span - op->window.padding[1];
    plan.room = plan.compact ? pool_reach(op, plan.lines * ow) : plan.lines * plan.span;
    plan.scratch = panel(op) + plan.room + w + whole_panels(op, ow);
    return plan;
}

static int64_t scratch_pool_planes(const struct op *op)
{
    return pool_plan_of(op).scratch * computed_bytes(op->outputs[0]);
}

static bool fits_depthwise(const struct graph *graph, const struct op *op)
{
    return fits_conv(graph, op) && op_is_depthwise(op);
}

/* A panel is computed as a whole, however few outputs of a group are there. */
static double panel_macs(const struct op *op)
{
    double outputs = (double)upper(op->outputs[0]->dims[3]) / op->window.groups, lanes = (double)panel(op);

    return op_macs(op) * (outputs > 0 && outputs < lanes ? lanes / outputs : 1);
}

static double cost_conv(const struct op *op)
{
    return panel_macs(op) + 100;
}

static double cost_conv_plain(const struct op *op)
{
    return 2.0 * panel_macs(op) + 200;
}

static double cost_depthwise(const struct op *op)
{
    return op_macs(op);
}

/* The weights are larger, and are not given back: nothing for a chip, which counts its flash, nor beside those of the state_dict
 * and of backward where each lies once. */
static bool has_room_for_winograd(const struct graph *graph)
{
    const struct settings *settings = &graph->program->settings;

    return settings->winograd && target_of(graph->cx)->hosted &&
           !(settings->packs_once && (settings->state_dict || settings->backward));
}

/* Channels are whole panels. */
static bool fits_winograd(const struct graph *graph, const struct op *op)
{
    int64_t in, out;

    for (int i = 0; i < 2; i++)
        if (op->window.kernel[i] != 3 || op->window.stride[i] != 1 || op->window.dilation[i] != 1)
            return false;
    return fits_conv(graph, op) && !has_head(op) && has_room_for_winograd(graph) &&
           op->outputs[0]->dtype == DTYPE_FLOAT32 && op->window.groups == 1 &&
           dim_is_const(op->inputs[0]->dims[3], &in) && dim_is_const(op->outputs[0]->dims[3], &out) &&
           in % panel(op) == 0 && out % panel(op) == 0;
}

int winograd_side(enum packed_format format)
{
    return format == PACKED_WINOGRAD4 ? 6 : format == PACKED_WINOGRAD2 ? 4 : 0;
}

/* The planes of a block stay in the cache, and its tiles are whole images where it can be. */
struct winograd winograd_of(const struct op *op, enum packed_format format)
{
    const struct value *y = op->outputs[0];
    int64_t in = upper(op->inputs[0]->dims[3]), out = upper(y->dims[3]), images = upper(y->dims[0]), most,
            each;
    struct winograd plan = {.side = winograd_side(format)};

    plan.outputs = plan.side - 2;
    plan.planes = plan.side * plan.side;
    plan.tiles = images * tiles_of(upper(y->dims[1]), plan.outputs) *
                 tiles_of(upper(y->dims[2]), plan.outputs);
    plan.stream = plan.planes * in * out * 4 > cpu->cost.cache_bytes;
    most = cpu->cost.cache_bytes / (plan.planes * in * 4);
    most = most > 64 ? 64 : most < 8 ? 8 : most;
    each = images > 0 ? plan.tiles / images : 0;
    if (each > 0 && each <= most && plan.tiles > most)
        plan.block = most / each * each;
    else if (each > most)
        plan.block = tiles_of(each, tiles_of(each, most));
    else
        plan.block = plan.tiles > 0 ? plan.tiles : 1;
    plan.chunk = plan.block >= 8 ? 32 : 64;
    if (plan.chunk > out)
        plan.chunk = out;
    return plan;
}

static int64_t scratch_winograd(const struct op *op, enum packed_format format)
{
    struct winograd plan = winograd_of(op, format);
    int64_t in = upper(op->inputs[0]->dims[3]);

    return 4 * plan.planes * (plan.block * in + panel(op) + plan.block * plan.chunk + panel(op) + in);
}

static int64_t scratch_winograd4(const struct op *op)
{
    return scratch_winograd(op, PACKED_WINOGRAD4);
}

static int64_t scratch_winograd2(const struct op *op)
{
    return scratch_winograd(op, PACKED_WINOGRAD2);
}

/* The products, the transforms of inputs and outputs, and what it takes to read weights that no cache holds, all as
 * measured on AVX-512 (bench/README.md). */
static double cost_winograd(const struct op *op, enum packed_format format)
{
    struct winograd plan = winograd_of(op, format);
    double in = (double)upper(op->inputs[0]->dims[3]), out = (double)upper(op->outputs[0]->dims[3]);
    double tiles = (double)plan.tiles, blocks = tiles / (double)plan.block, planes = (double)plan.planes;
    double idle = plan.block < 4 ? 4 / (double)plan.block : 1; /* too few accumulators to hide the latency */
    double cost = tiles * planes * (in * out * 1.15 * idle + 4 * in + 4 * out) + 1000;

    if (plan.stream)
        cost += (blocks < 1 ? 1 : blocks) * planes * in * out * 4 * 2.0;
    return cost;
}

static double cost_winograd4(const struct op *op)
{
    return cost_winograd(op, PACKED_WINOGRAD4);
}

static double cost_winograd2(const struct op *op)
{
    return cost_winograd(op, PACKED_WINOGRAD2);
}

static void tiles_lines(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_ROWS] = dealt(op->outputs[0], 2);
}

static void tiles_planes(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_ROWS] = dealt(op->outputs[0], 3);
}

static void tiles_conv(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles_lines(op, tiles);
    tiles[SPLIT_ROWS] /= conv_joined_lines(op);
    tiles[SPLIT_GROUPS] = op->window.groups > 1 ? op->window.groups : 0;
    if (op->window.groups == 1)
        tiles[SPLIT_COLUMNS] = tiles_of(upper(op->outputs[0]->dims[3]), TILE_VECTORS * panel(op));
}

/* Rows are blocks of tiles, of which an image alone may have no more than one; columns are chunks, for each of which all
 * inputs are transformed. */
static void tiles_winograd(const struct op *op, enum packed_format format, int64_t tiles[SPLIT_AXES])
{
    const struct value *y = op->outputs[0];
    struct winograd plan = winograd_of(op, format);
    int64_t images = upper(y->dims[0]), all = plan.tiles;

    if (!dim_is_const(y->dims[0], NULL) && images > 0)
        all /= images;
    tiles[SPLIT_ROWS] = tiles_of(all, plan.block);
    tiles[SPLIT_COLUMNS] = tiles_of(upper(y->dims[3]), plan.chunk);
}

static void tiles_winograd4(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles_winograd(op, PACKED_WINOGRAD4, tiles);
}

static void tiles_winograd2(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles_winograd(op, PACKED_WINOGRAD2, tiles);
}

static void tiles_norm(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    const struct value *y = op->outputs[0];

    tiles[SPLIT_ROWS] = dealt(y, y->ndim - op_columns(op));
}

/* Vectors of columns. */
static void tiles_softmax_columns(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    const struct value *y = op->outputs[0];
    int axis = op->softmax.axis;
    int64_t columns = 1;

    for (int i = axis + 1; i < y->ndim; i++)
        columns *= upper(y->dims[i]);
    tiles[SPLIT_ROWS] = dealt(y, axis) * tiles_of(columns, panel(op));
}

/* ---- attention -------------------------------------------------------------------------------------------- */

/* ATTENTION_ROWS: what tiles of 14 and of 6 rows fill; ATTENTION_BYTES: scores of so many rows stay in the second cache, else
 * a block is one tile; ATTENTION_TURNED: from so many rows on it pays to transpose keys that lie by rows. */
#define ATTENTION_ROWS 42
#define ATTENTION_BYTES (192 * 1024)
#define ATTENTION_TURNED 16

/* In elements, at least as many: whole cache lines, an odd number of them, so that rows do not drive each other from the
 * cache. */
static int64_t odd_lines(const struct op *op, int64_t count)
{
    return (tiles_of(count, panel(op)) | 1) * panel(op);
}

struct attention attention_of(const struct op *op, bool whole)
{
    const struct value *q = op->inputs[0], *k = op->inputs[1], *y = op->outputs[0];
    int64_t m = upper(y->dims[y->ndim - 2]), keys = upper(k->dims[k->ndim - 1]), extent;
    struct attention plan = {.stride = odd_lines(op, keys)};
    int64_t bytes = plan.stride * computed_bytes(y);
    int64_t most = op->attention.causal || ATTENTION_ROWS * bytes > ATTENTION_BYTES ? TILE_ROWS
                                                                                    : ATTENTION_ROWS;

    plan.rows = m < 1 ? 1 : whole || m < most ? m : most; /* a causal block computes what its last row sees */
    plan.even = dim_is_const(y->dims[y->ndim - 2], &extent) && extent % plan.rows == 0;
    plan.turned = m >= ATTENTION_TURNED && !dim_equals(k->strides[k->ndim - 1], 1) &&
                  dim_equals(k->strides[k->ndim - 2], 1);
    plan.room = plan.rows * plan.stride;
    plan.scratch = plan.room + (plan.turned ? upper(q->dims[q->ndim - 1]) * plan.stride : 0);
    return plan;
}

static int64_t scratch_blocks(const struct op *op)
{
    return attention_of(op, false).scratch * computed_bytes(op->outputs[0]);
}

static int64_t scratch_heads(const struct op *op)
{
    return attention_of(op, true).scratch * computed_bytes(op->outputs[0]);
}

static void tiles_attention(const struct op *op, bool whole, int64_t tiles[SPLIT_AXES])
{
    const struct value *y = op->outputs[0];

    tiles[SPLIT_ROWS] = dealt(y, y->ndim - 2) *
                        tiles_of(upper(y->dims[y->ndim - 2]), attention_of(op, whole).rows);
}

static void tiles_blocks(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles_attention(op, false, tiles);
}

static void tiles_heads(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles_attention(op, true, tiles);
}

/* Both products, and the exponentials, which take as long as some multiply-adds. */
static double cost_blocks(const struct op *op)
{
    return 1.2 * op_macs(op) + 100;
}

/* Scores that no cache holds are written once and read three times. */
static double cost_heads(const struct op *op)
{
    int64_t bytes = attention_of(op, true).room * computed_bytes(op->outputs[0]);

    return cost_blocks(op) * (bytes > ATTENTION_BYTES ? 1.2 : 1.01);
}

/* ---- Fourier transforms ------------------------------------------------------------------------------------ */

int64_t fft_inner(const struct op *op)
{
    const struct value *y = op->outputs[0];
    int64_t inner = 1;

    for (int i = op->fft.axis + 1; i < y->ndim - (op->fft.kind != FFT_TO_REAL); i++)
        inner *= upper(y->dims[i]);
    return inner;
}

struct fft_plan fft_layout(const struct op *op)
{
    return fft_plan_of(op->fft.kind, op->fft.length, fft_inner(op), panel(op));
}

int64_t fft_plane(const struct op *op)
{
    struct fft_plan plan = fft_layout(op);
    int64_t most = plan.n1 * plan.ld2 > plan.n2 * plan.ld1 ? plan.n1 * plan.ld2 : plan.n2 * plan.ld1;

    if (plan.n1 == 0)
        return (plan.values + 1) * panel(op);
    return whole_panels(op, most > plan.values ? most : plan.values + 1);
}

/* Two pairs of planes, and rows of a block as they lie; or what halves are made of. */
static int64_t scratch_fft(const struct op *op)
{
    struct fft_plan plan = fft_layout(op);

    return (plan.n1 > 0 ? 6 : 7) * fft_plane(op) * computed_bytes(op->outputs[0]);
}

static void tiles_fft(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    int64_t rows = dealt(op->outputs[0], op->fft.axis), inner = fft_inner(op);

    if (inner > 1)
        tiles[SPLIT_ROWS] = rows * tiles_of(inner, panel(op));
    else
        tiles[SPLIT_ROWS] = fft_layout(op).n1 > 0 ? rows : tiles_of(rows, panel(op));
}

/* ---- recurrent -------------------------------------------------------------------------------------------- */

static bool fits_recurrent_ahead(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->recurrent.has[RECURRENT_INPUT_WEIGHT]; /* pass_gates has seen to the rest */
}

static bool fits_recurrent_panel(const struct graph *graph, const struct op *op)
{
    return !fits_recurrent_ahead(graph, op) && op_is_packed(graph, op);
}

static bool fits_recurrent_dot(const struct graph *graph, const struct op *op)
{
    return !fits_recurrent_ahead(graph, op) && !op_storage(graph, op);
}

static double cost_recurrent_panel(const struct op *op)
{
    return 1.2 * op_macs(op) + 100;
}

static double cost_recurrent_dot(const struct op *op)
{
    return 2.0 * op_macs(op) + 100;
}

/* What the input adds to the gates of all steps. */
static int64_t scratch_ahead(const struct op *op)
{
    const struct value *x = op->inputs[0], *weight = recurrent_input(op, RECURRENT_INPUT_WEIGHT);

    return upper(x->dims[0]) * upper(x->dims[1]) * upper(weight->dims[1]) * computed_bytes(x);
}

/* What a step of an LSTM puts out before it is projected, or the gradient of that. */
static int64_t scratch_recurrent(const struct op *op)
{
    const struct value *y = op->outputs[0], *projection = recurrent_input(op, RECURRENT_PROJECTION);

    return projection ? upper(y->dims[1]) * upper(projection->dims[1]) * computed_bytes(y) : 0;
}

/* A step's product with the weight, as many gates, and what makes these. */
static double cost_recurrent_gradient(const struct op *op)
{
    return 1.5 * op_macs(op) + 100;
}

/* ---- factors ---------------------------------------------------------------------------------------------- */

#define FITS_FACTOR(name, of)                                                                                \
    static bool fits_##name(const struct graph *graph, const struct op *op)                                  \
    {                                                                                                        \
        (void)graph;                                                                                         \
        return op->factor.kind == (of);                                                                      \
    }

FITS_FACTOR(lu, FACTOR_LU)
FITS_FACTOR(lu_order, FACTOR_ORDER)
FITS_FACTOR(cholesky, FACTOR_CHOLESKY)
FITS_FACTOR(qr, FACTOR_QR)
FITS_FACTOR(eigh, FACTOR_EIGH)
FITS_FACTOR(svd, FACTOR_SVD)
FITS_FACTOR(matrix_exp, FACTOR_EXP)
FITS_FACTOR(lu_solve, FACTOR_SOLVE)
FITS_FACTOR(triangular, FACTOR_TRIANGULAR)

/* Copies of the matrix: of one that is solved with one, and with its vectors two; of QR what is left of it, the lengths of its
 * reflections and a row; of SVD its columns, their vectors and lengths. */
static int64_t scratch_matrices(const struct op *op)
{
    const struct value *x = op->inputs[0];
    const int64_t n = upper(x->dims[x->ndim - 1]), m = upper(x->dims[x->ndim - 2]);
    const int64_t count = op->factor.kind == FACTOR_QR     ? m * n + n + (m > n ? m : n)
                          : op->factor.kind == FACTOR_SVD  ? m * n + n * n + n + m /* of no columns, too */
                          : op->factor.kind == FACTOR_EIGH ? 2 * n * n
                          : op->factor.kind == FACTOR_EXP  ? 2 * n * n
                                                           : n * n;

    return (count > 0 ? count : 1) * computed_bytes(op->outputs[0]);
}

static bool fits_always(const struct graph *graph, const struct op *op)
{
    (void)graph;
    (void)op;
    return true;
}

const char *const split_names[SPLIT_AXES] = {NULL, "rows", "columns", "groups", "batches"};

static bool fits_grid(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->sample.of == SAMPLE_GRID;
}

static bool fits_boxes(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return op->sample.of == SAMPLE_BOXES;
}

/* Whole matrices. */
static void tiles_matrices(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_BATCHES] = dealt(op->inputs[0], op->inputs[0]->ndim - 2);
}

enum { CACHED_BAND = 4 }; /* templates/c/attention_paged.c */

int64_t cached_attention_room(const struct op *op)
{
    const int64_t context = upper(op->inputs[CACHED_PAGES]->dims[1]) * op->cached.page;
    const int64_t window = op->cached.window > 0 ? op->cached.window + CACHED_BAND - 1 : context;

    return (window < context ? window : context) / 16 * 16 + 32;
}

/* Of the queries that a group has in a band, or all groups in a row. */
static int64_t scratch_cached_attention(const struct op *op)
{
    const int64_t heads = upper(op->inputs[CACHED_QUERIES]->dims[1]),
                  groups = upper(op->inputs[CACHED_KEYS]->dims[1]);
    const int64_t queries = groups > CACHED_BAND ? heads : heads / groups * CACHED_BAND;

    return queries * cached_attention_room(op) * computed_bytes(op->outputs[0]);
}

/* Groups of heads. */
static void tiles_cached_attention(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_ROWS] = upper(op->inputs[CACHED_KEYS]->dims[1]);
}

/* Of input 0 vectors of elements, which stand in all rows. */
static void tiles_of_rows(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    const struct value *x = op->inputs[0];
    int64_t elements = 1;

    for (int i = 1; i < x->ndim; i++)
        elements *= upper(x->dims[i]);
    tiles[SPLIT_ROWS] = elements / 16;
}

static void tiles_lookup(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_ROWS] = dealt(op->inputs[0], op->inputs[0]->ndim);
}

/* Samples, which are an axis of their log-probabilities. */
static void tiles_ctc(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    tiles[SPLIT_ROWS] = upper(op->inputs[0]->dims[1]);
}

/* Vectors of places, of slopes whole images; boxes, of slopes channels. */
static void tiles_sample(const struct op *op, int64_t tiles[SPLIT_AXES])
{
    const struct value *places = op->inputs[1];
    bool to_images = op->sample.part == SAMPLE_TO_IMAGES, grid = op->sample.of == SAMPLE_GRID;

    tiles[SPLIT_ROWS] = !grid       ? upper(to_images ? op->outputs[0]->dims[1] : places->dims[0])
                        : to_images ? dealt(places, 1)
                                    : dealt(places, 1) * tiles_of(upper(places->dims[1]), panel(op));
}

static const struct algorithm cpu_algorithms[] = {
    {"gemv_panel", GRAPH_OP_CONTRACT, "gemv_panel", NULL, fits_gemv, cost_gemv_panel, tiles_gemv_panel,
     PACKED_PANELS, PACKED_VECTOR, NULL,
     "one row: all of its values times the panels of w, eight vectors at a time, so that every weight is read once",
     .core = true},
    {"gemm_narrow", GRAPH_OP_CONTRACT, "gemm_narrow", NULL, fits_narrow, cost_narrow, tiles_narrow,
     PACKED_PANELS, PACKED_VECTOR, scratch_narrow,
     "in register tiles over all of the inner length; w is widened as it is read, or once for all rows of several tiles",
     .core = true},
    {"gemm_narrow_chip", GRAPH_OP_CONTRACT, "gemm_narrow", NULL, fits_narrow_chip, cost_narrow, tiles_narrow,
     PACKED_PANELS, PACKED_VECTOR, NULL,
     "in register tiles over all of the inner length; w is widened as it is read", .core = true},
    {"gemm_coded", GRAPH_OP_CONTRACT, "gemm_coded", NULL, fits_coded, cost_narrow, tiles_narrow,
     PACKED_PANELS, PACKED_VECTOR, scratch_narrow,
     "in register tiles over all of the inner length; w is made of its codes as it is read, or once for all rows of several tiles",
     .core = true},
    {"gemm_int8", GRAPH_OP_CONTRACT, "gemm_int8", NULL, fits_int8, cost_int8, tiles_narrow, PACKED_PANELS,
     PACKED_VECTOR, NULL,
     "in integers: each row is rounded to int8, and multiplied with the integers of w in register tiles over all of the inner length",
     .scratch_stored = scratch_int8, .core = true, .dots = true},
    {"gemm_panel", GRAPH_OP_CONTRACT, "gemm_panel", NULL, fits_float_panels, cost_gemm_panel,
     tiles_gemm_panel, PACKED_PANELS, PACKED_VECTOR, NULL,
     "in register tiles over all of the inner length, as many rows and panels of w as there are registers",
     .core = true},
    {"gemm_dot", GRAPH_OP_CONTRACT, "gemm_dot", NULL, fits_dot, cost_gemm_dot, tiles_gemm_dot, PACKED_ROWS,
     PACKED_NONE, NULL,
     "in dot products, a few rows and outputs at a time: too few outputs to fill panels, or w as it lies",
     .core = true},
    {"matmul_strided", GRAPH_OP_CONTRACT, "matmul_strided", NULL, fits_strided, cost_strided, tiles_strided,
     PACKED_NONE, PACKED_NONE, NULL,
     "in register tiles from where both operands lie: neither is a weight that could be packed",
     .core = true},
    {"matmul_packed", GRAPH_OP_CONTRACT, "matmul_strided", NULL, fits_packing, cost_packing, tiles_packing,
     PACKED_NONE, PACKED_NONE, scratch_packing,
     "in register tiles over what is packed first, since its neighbours do not lie side by side",
     .core = true, .packs = true},
    {"conv_depthwise", GRAPH_OP_CONV, "conv_depthwise", NULL, fits_depthwise, cost_depthwise, tiles_lines,
     PACKED_COLUMNS, PACKED_NONE, scratch_conv,
     "by line, tile of pixels and vector of channels, all taps at once", .core = true, .turns = conv_turns},
    {"conv_direct", GRAPH_OP_CONV, "conv_direct", "conv_direct_line", fits_direct, cost_conv, tiles_conv,
     PACKED_PANELS, PACKED_VECTOR, scratch_conv,
     "in register tiles of pixels of a line times panels of w; taps that lie outside are left out",
     .core = true, .alone = true, .turns = conv_turns},
    {"conv_winograd4", GRAPH_OP_CONV, "conv_winograd", "conv_winograd_tiles", fits_winograd, cost_winograd4,
     tiles_winograd4, PACKED_WINOGRAD4, PACKED_VECTOR, scratch_winograd4,
     "by Winograd's F(4x4, 3x3), a block of tiles at a time: 36 products for 16 pixels instead of 144",
     .called = "conv2d_winograd", .rounding = 6.25, .core = true, .alone = true},
    {"conv_winograd2", GRAPH_OP_CONV, "conv_winograd", "conv_winograd_tiles", fits_winograd, cost_winograd2,
     tiles_winograd2, PACKED_WINOGRAD2, PACKED_VECTOR, scratch_winograd2,
     "by Winograd's F(2x2, 3x3), a block of tiles at a time: 16 products for 4 pixels instead of 36, and half as many weights\n"
     " * as F(4x4, 3x3) reads",
     .called = "conv2d_winograd", .core = true, .alone = true},
    {"attention_heads", GRAPH_OP_ATTENTION, "attention", NULL, fits_always, cost_heads, tiles_heads,
     PACKED_NONE, PACKED_NONE, scratch_heads,
     "a head at a time: all of its scores, then its weights, then its values", .core = true, .whole = true},
    {"attention_blocks", GRAPH_OP_ATTENTION, "attention", NULL, fits_always, cost_blocks, tiles_blocks,
     PACKED_NONE, PACKED_NONE, scratch_blocks,
     "some queries of a head at a time: so few that their scores stay in the cache", .core = true},
    {"recurrent_ahead", GRAPH_OP_RECURRENT, "recurrent", "recurrent_parts", fits_recurrent_ahead,
     cost_recurrent_panel, NULL, PACKED_PANELS, PACKED_VECTOR, scratch_ahead,
     "step by step, all gates of some units in one register tile, and beside it some of what the input adds to later steps' gates",
     .core = true},
    {"recurrent_panel", GRAPH_OP_RECURRENT, "recurrent", "recurrent_parts", fits_recurrent_panel,
     cost_recurrent_panel, NULL, PACKED_PANELS, PACKED_VECTOR, scratch_recurrent,
     "step by step, some rows and units at a time: all gates of a unit in one register tile, from which its state is made at once",
     .core = true},
    {"pool_planes", GRAPH_OP_POOL, "pool_planes", NULL, fits_pool_planes, op_macs, tiles_planes, PACKED_NONE,
     PACKED_NONE, scratch_pool_planes,
     "some lines of windows at a time, in vectors of columns: their rows are joined first, then the columns of each window",
     .core = true},
    {"conv_plain", GRAPH_OP_CONV, "conv_plain", NULL, fits_conv_plain, cost_conv_plain, tiles_lines,
     PACKED_NONE, PACKED_NONE, NULL,
     "one output at a time over w as it lies: it is no weight that could be packed", .core = true},
    {"conv_int8", GRAPH_OP_CONV, "conv_int8", NULL, fits_int8_rows, cost_int8_rows, tiles_lines, PACKED_ROWS,
     PACKED_NONE, scratch_windows,
     "what the windows of two pixels see becomes rows of int16, which meet a few outputs at a time",
     .core = true},
    {"conv_int8_depthwise", GRAPH_OP_CONV, "conv_int8_depthwise", NULL, fits_int8_depthwise, cost_int8_rows,
     tiles_lines, PACKED_COLUMNS, PACKED_NONE, NULL, "by pixel, a few channels at a time, all taps at once",
     .core = true},
    {"conv_int8_planes", GRAPH_OP_CONV, "conv_int8_planes", NULL, fits_int8_planes, cost_int8_planes, NULL,
     PACKED_COLUMNS, PACKED_NONE, scratch_plane,
     "a channel at a time as a plane of int16, in which neighbours of a line are multiplied together",
     .core = true},
    {"conv_int8_plain", GRAPH_OP_CONV, "conv_int8_plain", NULL, fits_int8_plain, cost_int8_plain, tiles_lines,
     PACKED_NONE, PACKED_NONE, NULL, "one output at a time over w as it lies", .core = true},
    {"pool", GRAPH_OP_POOL, "pool", NULL, fits_pool, op_macs, tiles_lines, PACKED_NONE, PACKED_NONE, NULL,
     "by line and pixel, vectors of channels innermost", .core = true},
    {"layer_norm", GRAPH_OP_NORM, "layer_norm", NULL, fits_always, op_macs, tiles_norm, PACKED_NONE,
     PACKED_NONE, NULL, "a row at a time: its mean, then its variance, then the result", .core = true},
    {"softmax", GRAPH_OP_SOFTMAX, "softmax", NULL, fits_softmax, op_macs, tiles_norm, PACKED_NONE,
     PACKED_NONE, NULL, "a row at a time: its maximum, then exponentials and their sum, then the result",
     .core = true},
    {"softmax_columns", GRAPH_OP_SOFTMAX, "softmax_columns", NULL, fits_softmax_columns, op_macs,
     tiles_softmax_columns, PACKED_NONE, PACKED_NONE, scratch_softmax_columns,
     "a vector of columns at a time: their maxima, then exponentials and their sums, then the results",
     .core = true},
    {"attention_paged", GRAPH_OP_CACHED_ATTENTION, "attention_paged", NULL, fits_always, op_macs,
     tiles_cached_attention, PACKED_NONE, PACKED_NONE, scratch_cached_attention,
     "rows that follow each other in a sequence together, page by page: scores, weights, the mean of the values",
     .core = true},
    {"lookup", GRAPH_OP_LOOKUP, "lookup", NULL, fits_lookup, op_macs, tiles_lookup, PACKED_PANELS,
     PACKED_NONE, NULL, "row by row, across the panels", .core = true},
    {"recent_rows", GRAPH_OP_RECENT, "recent_rows", NULL, fits_always, op_macs, tiles_of_rows, PACKED_NONE,
     PACKED_NONE, NULL, "row by row, from the rows in front of it, then from the state", .core = true,
     .anywhere = true},
    {"scan_rows", GRAPH_OP_CACHED_SCAN, "scan_rows", NULL, fits_always, op_macs, tiles_of_rows, PACKED_NONE,
     PACKED_NONE, NULL, "row by row, each behind the one of its sequence before it", .core = true,
     .anywhere = true},
    {"grid_sample", GRAPH_OP_SAMPLE, "grid_sample", NULL, fits_grid, op_macs, tiles_sample, PACKED_NONE,
     PACKED_NONE, NULL, "a vector of places at a time: where they are, then some channels of each",
     .core = true},
    {"roi_align", GRAPH_OP_SAMPLE, "roi_align", NULL, fits_boxes, op_macs, tiles_sample, PACKED_NONE,
     PACKED_NONE, NULL, "a part of a box at a time: its places, then some channels of all of them",
     .core = true},
    {"nms", GRAPH_OP_NMS, "nms", NULL, fits_always, op_macs, NULL, PACKED_NONE, PACKED_NONE, NULL,
     "box by box, each held against those that stay", .core = true},
    {"ctc", GRAPH_OP_CTC, "ctc", NULL, fits_always, op_macs, tiles_ctc, PACKED_NONE, PACKED_NONE, scratch_ctc,
     "a sample at a time, step by step over its labels and the blanks between them", .core = true},
    {"fft", GRAPH_OP_FFT, "fft", "fft_parts", fits_always, op_macs, tiles_fft, PACKED_NONE, PACKED_NONE,
     scratch_fft, "by passes of small radices between two pairs of planes, over vectors of columns",
     .core = true, .anywhere = true},
    {"lu", GRAPH_OP_FACTOR, "lu", NULL, fits_lu, op_macs, tiles_matrices, PACKED_NONE, PACKED_NONE, NULL,
     "in place, column by column, with the largest pivot", .core = true, .anywhere = true},
    {"lu_order", GRAPH_OP_FACTOR, "lu_order", NULL, fits_lu_order, op_macs, tiles_matrices, PACKED_NONE,
     PACKED_NONE, NULL, "one exchange after the other", .core = true, .anywhere = true},
    {"cholesky", GRAPH_OP_FACTOR, "cholesky", NULL, fits_cholesky, op_macs, tiles_matrices, PACKED_NONE,
     PACKED_NONE, NULL, "row by row, in dot products", .core = true, .anywhere = true},
    {"qr", GRAPH_OP_FACTOR, "qr", NULL, fits_qr, op_macs, tiles_matrices, PACKED_NONE, PACKED_NONE,
     scratch_matrices, "by Householder's reflections", .core = true, .anywhere = true},
    {"eigh", GRAPH_OP_FACTOR, "eigh", "jacobi_parts", fits_eigh, op_macs, tiles_matrices, PACKED_NONE,
     PACKED_NONE, scratch_matrices, "by Jacobi's rotations, sweep by sweep", .core = true, .anywhere = true},
    {"svd", GRAPH_OP_FACTOR, "svd", "jacobi_parts", fits_svd, op_macs, tiles_matrices, PACKED_NONE,
     PACKED_NONE, scratch_matrices, "by rotations of pairs of columns", .core = true, .anywhere = true},
    {"matrix_exp", GRAPH_OP_FACTOR, "matrix_exp", NULL, fits_matrix_exp, op_macs, tiles_matrices, PACKED_NONE,
     PACKED_NONE, scratch_matrices, "by the series of what is halved, and squares", .core = true,
     .anywhere = true},
    {"lu_solve", GRAPH_OP_FACTOR, "lu_solve", NULL, fits_lu_solve, op_macs, tiles_matrices, PACKED_NONE,
     PACKED_NONE, scratch_matrices, "by elimination with the largest pivot, of all columns at a time",
     .core = true, .anywhere = true},
    {"triangular", GRAPH_OP_FACTOR, "triangular", NULL, fits_triangular, op_macs, tiles_matrices, PACKED_NONE,
     PACKED_NONE, NULL, "row by row, of all columns at a time", .core = true, .anywhere = true},
    {"recurrent_dot", GRAPH_OP_RECURRENT, "recurrent", "recurrent_parts", fits_recurrent_dot,
     cost_recurrent_dot, NULL, PACKED_NONE, PACKED_NONE, scratch_recurrent,
     "step by step and row by row, in dot products with the weight as it lies", .core = true},
    {"recurrent_gradient", GRAPH_OP_RECURRENT_GRADIENT, "recurrent_gradient", "recurrent_parts", fits_always,
     cost_recurrent_gradient, NULL, PACKED_NONE, PACKED_NONE, scratch_recurrent,
     "step by step, from the last one computed back: the gates of all rows, then by the weight as it lies what they give the step before",
     .core = true}};

#define BY_THREADS "a thread an output: its window times the weight"
#define BY_TILES                                                                                             \
    "in tiles of pixels and channels, 4 x 4 a thread: 16 taps at a time go through shared memory, on two pages"

#define BY_OUTPUT_TILES "tiles of 64 x 64 outputs a block, 4 x 4 a thread, over pages in shared memory"
#define BY_WARPS "a warp a column of w and some rows of x, its lanes along the inner length"

static const struct algorithm cuda_algorithms[] = {
    {"attention_online", GRAPH_OP_ATTENTION, "attention_online", NULL, fits_always, cost_blocks, NULL,
     PACKED_NONE, PACKED_NONE, NULL,
     "some queries of a head at a time, over all keys once: a sum of values that shrinks as larger scores are found"},
    {"attention_paged", GRAPH_OP_CACHED_ATTENTION, "attention_paged", NULL, fits_always, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, NULL,
     "a block some heads of a row, whose warps take turns over its pages: a sum of values that shrinks as larger scores are found"},
    {"recurrent_rows", GRAPH_OP_RECURRENT, "recurrent_rows", NULL, fits_recurrent_dot, cost_recurrent_dot,
     NULL, PACKED_NONE, PACKED_NONE, scratch_recurrent,
     "step by step, some rows a block: eight threads for a unit, with the weight as it lies"},
    {"recurrent_rows_gradient", GRAPH_OP_RECURRENT_GRADIENT, "recurrent_rows_gradient", NULL, fits_always,
     cost_recurrent_gradient, NULL, PACKED_NONE, PACKED_NONE, NULL,
     "step by step, from the last one computed back, some rows a block: the gates, then what they give the step before"},
    {"conv_tile", GRAPH_OP_CONV, "conv_tile", NULL, fits_conv_tile, cost_conv_tile, NULL, PACKED_COLUMNS,
     PACKED_NONE, scratch_conv_tile, BY_TILES, .turns = conv_turns_device},
    {"conv_thread", GRAPH_OP_CONV, "conv", NULL, fits_conv_thread, cost_conv_thread, NULL, PACKED_COLUMNS,
     PACKED_NONE, NULL, BY_THREADS, .turns = conv_turns_device},
    {"conv_tile_plain", GRAPH_OP_CONV, "conv_tile", NULL, fits_conv_tile_plain, cost_conv_tile_plain, NULL,
     PACKED_NONE, PACKED_NONE, scratch_conv_tile, BY_TILES ", the weight as it lies",
     .turns = conv_turns_device},
    {"conv_plain", GRAPH_OP_CONV, "conv", NULL, fits_conv_plain, cost_conv_thread_plain, NULL, PACKED_NONE,
     PACKED_NONE, NULL, BY_THREADS " as it lies", .turns = conv_turns_device},
    {"pool", GRAPH_OP_POOL, "pool", NULL, fits_always, op_macs, NULL, PACKED_NONE, PACKED_NONE, NULL,
     "a thread an output, tap by tap"},
    {"matmul_tiles", GRAPH_OP_CONTRACT, "matmul_tiles", NULL, fits_cuda_floats, cost_cuda_tiles, NULL,
     PACKED_NONE, PACKED_NONE, NULL, BY_OUTPUT_TILES},
    {"matmul_dots", GRAPH_OP_CONTRACT, "matmul_dots", NULL, fits_cuda_floats, cost_cuda_dots, NULL,
     PACKED_NONE, PACKED_NONE, NULL, BY_WARPS},
    {"matmul_plain", GRAPH_OP_CONTRACT, "matmul_plain", NULL, fits_cuda_plain, cost_cuda_plain, NULL,
     PACKED_NONE, PACKED_NONE, NULL, "a thread an output"},
    {"narrow_tiles", GRAPH_OP_CONTRACT, "matmul_tiles", NULL, fits_cuda_narrow, cost_cuda_tiles, NULL,
     PACKED_ROWS, PACKED_NONE, NULL, BY_OUTPUT_TILES},
    {"narrow_dots", GRAPH_OP_CONTRACT, "matmul_dots", NULL, fits_cuda_halves, cost_cuda_dots, NULL,
     PACKED_ROWS, PACKED_NONE, NULL, BY_WARPS},
    {"scaled_dots", GRAPH_OP_CONTRACT, "scaled_dots", NULL, fits_cuda_scaled, cost_cuda_dots, NULL,
     PACKED_ROWS, PACKED_NONE, NULL,
     "a warp some columns of w, its lanes along the inner length, and some rows of x, which a block shares"},
    {"int8_tiles", GRAPH_OP_CONTRACT, "int8_tiles", NULL, fits_cuda_int8, cost_cuda_tiles, NULL, PACKED_ROWS,
     PACKED_NONE, NULL, "in integers: rows of x are rounded to int8; " BY_OUTPUT_TILES,
     .scratch_stored = scratch_cuda_int8},
    {"int8_dots", GRAPH_OP_CONTRACT, "int8_dots", NULL, fits_cuda_int8, cost_cuda_dots, NULL, PACKED_ROWS,
     PACKED_NONE, NULL, "in integers: rows of x are rounded to int8; " BY_WARPS,
     .scratch_stored = scratch_cuda_int8},
    {"lookup", GRAPH_OP_LOOKUP, "lookup", NULL, fits_lookup, op_macs, NULL, PACKED_ROWS, PACKED_NONE, NULL,
     "a thread an element, along the rows"},
    {"softmax_warps", GRAPH_OP_SOFTMAX, "softmax_warps", NULL, fits_cuda_softmax_warps, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, NULL, "a warp a row, which its lanes keep in registers"},
    {"softmax_blocks", GRAPH_OP_SOFTMAX, "softmax_blocks", NULL, fits_cuda_softmax_blocks, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, NULL,
     "a block a row: its maximum, then the sum of the exponentials, then the result"},
    {"softmax_threads", GRAPH_OP_SOFTMAX, "softmax_threads", NULL, fits_cuda_softmax_threads, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, NULL,
     "a thread a column: its maximum, then the sum of the exponentials, then the result"},
    {"layer_norm_warps", GRAPH_OP_NORM, "layer_norm_warps", NULL, fits_cuda_norm_warps, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, NULL, "a warp a row, which its lanes keep in registers"},
    {"layer_norm_blocks", GRAPH_OP_NORM, "layer_norm_blocks", NULL, fits_always, op_macs, NULL, PACKED_NONE,
     PACKED_NONE, NULL, "a block a row: its mean, then its variance, then the result"},
    {"grid_sample", GRAPH_OP_SAMPLE, "grid_sample", NULL, fits_grid, op_macs, NULL, PACKED_NONE, PACKED_NONE,
     NULL, "a thread a place: where it is, then some channels of it"},
    {"roi_align", GRAPH_OP_SAMPLE, "roi_align", NULL, fits_boxes, op_macs, NULL, PACKED_NONE, PACKED_NONE,
     NULL, "a thread a part of a channel, place by place"},
    {"nms", GRAPH_OP_NMS, "nms", NULL, fits_always, op_macs, NULL, PACKED_NONE, PACKED_NONE, NULL,
     "box by box, whom the threads of a block hold against those that stay"},
    {"ctc", GRAPH_OP_CTC, "ctc", NULL, fits_always, op_macs, NULL, PACKED_NONE, PACKED_NONE,
     scratch_ctc_blocks, "a block a sample, step by step, whose threads share its states"},
    {"cholesky_blocks", GRAPH_OP_FACTOR, "cholesky_blocks", NULL, fits_cholesky_blocks, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, NULL, "a block a matrix, column by column, a thread a row of it"},
    {"triangular_blocks", GRAPH_OP_FACTOR, "triangular_blocks", NULL, fits_triangular_blocks, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, NULL,
     "a block a matrix, row by row, each of which is taken from all that are left"},
    {"lu_solve_blocks", GRAPH_OP_FACTOR, "lu_solve_blocks", NULL, fits_lu_solve_blocks, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, scratch_factor_blocks,
     "a block a matrix, by elimination with the largest pivot"},
    {"matrix_exp_blocks", GRAPH_OP_FACTOR, "matrix_exp_blocks", NULL, fits_matrix_exp_blocks, op_macs, NULL,
     PACKED_NONE, PACKED_NONE, scratch_factor_blocks,
     "a block a matrix, by the series of what is halved, and squares"},
};

static const struct {
    const struct algorithm *rows;
    int count;
} algorithm_tables[DEVICE_COUNT] = {
    [DEVICE_CPU] = {cpu_algorithms, (int)(sizeof cpu_algorithms / sizeof *cpu_algorithms)},
    [DEVICE_CUDA] = {cuda_algorithms, (int)(sizeof cuda_algorithms / sizeof *cuda_algorithms)},
};

const struct algorithm *algorithm_named(const struct backend *backend, const char *name)
{
    const struct algorithm *row;

    for (int i = 0; (row = algorithm_of(backend, i)); i++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

int64_t algorithm_scratch(const struct algorithm *algorithm, const struct op *op,
                          const struct storage *storage)
{
    if (!algorithm)
        return 0;
    return algorithm->scratch_stored ? algorithm->scratch_stored(op, storage)
           : algorithm->scratch      ? algorithm->scratch(op)
                                     : 0;
}

const struct algorithm *algorithm_of(const struct backend *backend, int index)
{
    const enum device device = backend_device(backend);
    int left = index - algorithm_tables[device].count;

    if (left < 0)
        return &algorithm_tables[device].rows[index];
    for (int i = 0; device != DEVICE_CPU && i < algorithm_tables[DEVICE_CPU].count; i++)
        if (cpu_algorithms[i].anywhere && left-- == 0)
            return &cpu_algorithms[i];
    return NULL;
}

const struct algorithm *algorithm_at(int index)
{
    for (int device = 0; device < DEVICE_COUNT; index -= algorithm_tables[device++].count)
        if (index < algorithm_tables[device].count)
            return &algorithm_tables[device].rows[index];
    return NULL;
}

bool algorithm_is_first(int index)
{
    const struct algorithm *row = algorithm_at(index);

    for (int i = 0; i < index; i++)
        if (algorithm_at(i)->op == row->op && strcmp(algorithm_at(i)->name, row->name) == 0)
            return false;
    return true;
}
