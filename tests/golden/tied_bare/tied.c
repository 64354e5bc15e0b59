/* tied.c - written by modc from tied_bare.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "tied.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* One tile at (row, column); rows and columns are constants of the call. */
MODC_INLINE void gemm_panel_tile(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int columns, const int row, const int column, const int BIAS, const int M,
    const int N, const int K, const int LDX, const int LDY, modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int vectors = (columns + MODC_LANES - 1) / MODC_LANES, tile = rows * vectors;
    const int sets = MODC_TILE_SETS(tile, K), whole = K / sets * sets; /* sets of sums share K */
    modc_f32 sum[MODC_TILE_REGISTERS];

    MODC_TILE_FENCE;
    x += row * LDX;
    w += MODC_PANEL_AT(column, K, 16);
    MODC_UNROLL
    for (int i = 0; i < tile * sets; i++)
        sum[i] = BIAS && i < tile ? modc_f32_load(bias + column + i % vectors * MODC_LANES)
                                  : modc_f32_set(0);
    MODC_ROLL
    for (int k = 0; k < whole; k += sets) {
        MODC_UNROLL
        for (int i = 0; i < tile * sets; i++)
            sum[i] += x[i / vectors % rows * LDX + k + i / tile] *
                      modc_f32_load(
                          w + MODC_PANEL_AT(i % vectors * MODC_LANES, K, 16) + (k + i / tile) * 16);
    }
    for (int k = whole; k < K; k++) {
        MODC_UNROLL
        for (int i = 0; i < tile; i++)
            sum[i] += x[i / vectors * LDX + k] *
                      modc_f32_load(w + MODC_PANEL_AT(i % vectors * MODC_LANES, K, 16) + k * 16);
    }
    MODC_UNROLL
    for (int i = tile; i < tile * sets; i++)
        sum[i % tile] += sum[i];
    MODC_UNROLL
    for (int i = 0; i < tile; i++) {
        const int r = row + i / vectors, c = column + i % vectors * MODC_LANES;
        const int rest = columns - i % vectors * MODC_LANES;

        modc_f32_store_most(y + r * LDY + c, TAIL_V(sum[i]), rest);
    }
}

/* Rows from ... to - 1 and columns left ... right - 1 in tiles of `rows` rows, a constant of the
 * call. */
MODC_INLINE void gemm_panel_block(
    const int rows, const int from, const int to, const int left, const int right,
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES;

    for (int r = from; r < to; r += rows) {
        int c = left;

        for (; c <= right - band; c += band)
            gemm_panel_tile(y, x, w, bias, rows, band, r, c, BIAS, M, N, K, LDX, LDY, TAIL_V);
        if (c < right)
            gemm_panel_tile(y, x, w, bias, rows, N % band, r, c, BIAS, M, N, K, LDX, LDY, TAIL_V);
    }
}

/* In register tiles over all of the inner length, as many rows and panels of w as there are
 * registers. */
MODC_INLINE void gemm_panel(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    modc_f32 (*TAIL_V)(modc_f32 x))
{
    MODC_EACH_HEIGHT(gemm_panel_block, M, 0, N, y, x, w, bias, BIAS, M, N, K, LDX, LDY, TAIL_V);
}

/* y (batch, 6) = x (batch, 6) . weight (6, 6)^T;
 * then tanh(x0) */
static MODC_KERNEL void embed_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 0, batch, 6, 6, 6, 6, modc_f32_tanh);
}

/* y (batch, 6) = x (batch, 6) . weight (6, 6)^T + bias */
static MODC_KERNEL void head_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch)
{
    gemm_panel(y, x, w, bias, 1, batch, 6, 6, 6, 6, modc_f32_as_is);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 1152.0
#define RTOL_OF_TIED 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const embed = (void *)(ws + 0); /* (batch, 6) */ \

/* What a context works with. */
#define CONTEXT_OF_TIED \
    const struct tied_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct tied_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct tied_packed {
    MODC_ALIGNED float embed_weight[96]; /* panels [1][6][16] */
    MODC_ALIGNED float head_bias[16]; /* zero padded */
};

typedef char tied_packed_fits[MODC_PACKED_FITS(struct tied_packed, TIED_PACKED_BYTES)];

static enum modc_status tied_pack_all(struct modc_params *params)
{
    const struct tied_params *p = (const void *)params;
    struct tied_packed *k = params->packed;

    modc_f32_pack(k->embed_weight, p->embed.weight, 6, 6, 6, 1);
    memset(k->head_bias, 0, sizeof k->head_bias);
    memcpy(k->head_bias, p->head.bias, sizeof(float) * 6);
    return MODC_OK;
}

static void tied_forward_eval(struct tied *net, int batch, const float *x, float *output)
{
    CONTEXT_OF_TIED;
    TENSORS_OF_FORWARD_EVAL;

    /* embed: Linear(6, 6, bias=False)
     * act: Tanh() */
    embed_linear_fused(embed, x, k->embed_weight, NULL, batch);

    /* head: Linear(6, 6) */
    head_linear(output, embed, k->embed_weight, k->head_bias, batch);
}

enum modc_status tied_forward(struct tied *net, int batch, const float *x, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= TIED_MAX_BATCH, SIZE);
    MODC_TRY(modc_check(&net->base, TIED_WORKSPACE_BYTES, true, false));
    tied_forward_eval(net, batch, x, output);
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", TIED_MAX_BATCH}};

MODC_CALL(tied, forward, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 2, {TIED_MAX_BATCH, 6}, {0, -1}, false},
    {"output", MODC_FLOAT32, 2, {TIED_MAX_BATCH, 6}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(TIED), TIED_MAX_BATCH),
};

/* in the order in which PyTorch draws */
static const struct modc_draw draws_table[] = {
    {0, MODC_INIT_UNIFORM, -0.40824829046386296, 0.40824829046386296}, /* embed.weight */
    /* head.weight; dropped, since it is tied */
    {-1 - (1), MODC_INIT_UNIFORM, -0.40824829046386296, 0.40824829046386296},
    {2, MODC_INIT_UNIFORM, -0.4082482904638631, 0.4082482904638631}, /* head.bias */
};

static const struct modc_module modules_table[] = {
    {"", "", "tied", "", -1, 3, false},
    {"embed", "embed", "Linear", "in_features=6, out_features=6, bias=False", 0, 0, false},
    {"act", "act", "Tanh", "", 0, 0, false},
    {"head", "head", "Linear", "in_features=6, out_features=6, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_FROZEN("embed.weight", TIED_EMBED, FLOAT32, UNIFORM(0.4082483), 2, {6, 6}),
    MODC_TIED(FROZEN, 1, "head.weight", TIED_HEAD, FLOAT32, UNIFORM(0.4082483), 2, {6, 6}),
    MODC_PARAMETER("head.bias", TIED_HEAD, FLOAT32, UNIFORM(0.4082483), 1, {6}),
};

const struct modc_model tied_model = {
    .abi = MODC_ABI, .name = "tied", .schema = TIED_SCHEMA,
    .rtol = RTOL_OF_TIED,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct tied_params),
    .context_bytes = sizeof(struct tied),
    .param_block = TIED_PARAM_BYTES,
    .packed_block = TIED_PACKED_BYTES, .pack = tied_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_ROWS(draws_table), .draws = draws_table,
    .module_count = TIED_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
