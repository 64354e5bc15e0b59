/* conv_tile.c - how a GPU's convolutions go: a thread an output, or in tiles, of which some deal out their sums to several blocks.
 * Costs are in multiply-adds of all lanes, as figures of a large GPU say it; measured nowhere. */
#include "passes/toolkit.h"
#include "plan/algorithm.h"

enum {
    PROCESSORS = 132, /* each of which wants a block at least */
    THREADS = 512,    /* and so many threads to have something to do while memory is waited for */
    SIDE = 4,         /* of what a thread of a tile computes */
    TAPS = 16,        /* of a step of a tile */
    FEWEST = 8        /* steps of a piece, or adding the pieces costs more than it saves */
};

static int64_t tiles_of(int64_t count, int64_t tile)
{
    return (count + tile - 1) / tile;
}

static int64_t pixels_of(const struct op *op)
{
    const struct value *y = op->outputs[0];

    return dim_upper(y->dims[0]) * dim_upper(y->dims[1]) * dim_upper(y->dims[2]);
}

static int64_t channels_of(const struct op *op)
{
    return dim_upper(op->outputs[0]->dims[3]) / op->window.groups; /* a group's */
}

static int64_t taps_of(const struct op *op)
{
    return (int64_t)op->window.kernel[0] * op->window.kernel[1] * dim_upper(op->inputs[0]->dims[3]) /
           op->window.groups;
}

struct conv_tile conv_tile_of(const struct op *op)
{
    int64_t pixels = pixels_of(op), channels = channels_of(op), steps = tiles_of(taps_of(op), TAPS), blocks;
    struct conv_tile tile = {.rows = 64, .columns = channels > 32 ? 64 : 32, .pieces = 1};

    tile.bands = tiles_of(channels, tile.columns);
    blocks = tile.bands * op->window.groups;
    if (blocks * tiles_of(pixels, tile.rows) < PROCESSORS)
        tile.rows = 32;
    tile.threads = tile.rows * tile.columns / (SIDE * SIDE);
    tile.x_values = TAPS * tile.rows / tile.threads;
    tile.w_values = TAPS * tile.columns / tile.threads;
    tile.blocks = blocks * tiles_of(pixels, tile.rows);
    if (tile.blocks > 0 && tile.blocks < PROCESSORS)
        tile.pieces = (int)(2 * PROCESSORS / tile.blocks);
    if (tile.pieces > steps / FEWEST)
        tile.pieces = steps < 2 * FEWEST ? 1 : (int)(steps / FEWEST);
    tile.blocks *= tile.pieces;
    return tile;
}

int64_t scratch_conv_tile(const struct op *op)
{
    const struct conv_tile tile = conv_tile_of(op);
    const enum dtype computed = backend_element(&backends[DEVICE_CUDA], op->outputs[0]->dtype).computed;

    return tile.pieces == 1 ? 0
                            : tile.pieces * pixels_of(op) * channels_of(op) * op->window.groups *
                                  dtype_rows[computed].bytes;
}

static bool is_image(const struct op *op)
{
    return op->window.channels_last && !op->head;
}

/* A weight that lies as columns is read by threads side by side at places side by side. */
bool fits_conv_thread(const struct graph *graph, const struct op *op)
{
    return op_is_packed(graph, op) && is_image(op);
}

/* Pixels are counted by int, and bands of channels by what a launch has 16 bits for. */
bool fits_conv_tile_plain(const struct graph *graph, const struct op *op)
{
    (void)graph;
    return is_image(op) && pixels_of(op) < INT32_MAX / 2 &&
           conv_tile_of(op).bands * op->window.groups <= UINT16_MAX;
}

bool fits_conv_tile(const struct graph *graph, const struct op *op)
{
    return fits_conv_thread(graph, op) && fits_conv_tile_plain(graph, op);
}

/* Of each product both factors are loaded; where outputs are few, most of the machine does nothing. */
double cost_conv_thread(const struct op *op)
{
    const double outputs = (double)pixels_of(op) * (double)channels_of(op) * op->window.groups;
    const double busy = (double)PROCESSORS * THREADS;

    return 4 * op_macs(op) * (outputs > 0 && outputs < busy ? busy / outputs : 1);
}

double cost_conv_thread_plain(const struct op *op)
{
    return 1.5 * cost_conv_thread(op);
}

double cost_conv_tile(const struct op *op)
{
    const struct conv_tile tile = conv_tile_of(op);
    const double blocks = (double)tile.blocks, taps = (double)tiles_of(taps_of(op), TAPS) * TAPS;
    const double each = (double)tile.rows * tile.columns * taps / tile.pieces;

    return each * (blocks < PROCESSORS ? PROCESSORS : blocks) + 1000;
}

double cost_conv_tile_plain(const struct op *op)
{
    return 1.2 * cost_conv_tile(op);
}
