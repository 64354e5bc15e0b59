/* pair.c - written by modc from pair.yaml; change the spec, not this file. It is yours, under any
 * terms.
 *
 * Compiled for several instruction sets, of which each context takes the best that its machine has:
 *
 *     cc -O3 -march=x86-64 -c pair.c
 *     cc -O3 -march=x86-64-v3 -c pair_x86_64_v3.c
 *     cc -O3 -march=x86-64-v4 -c pair_x86_64_v4.c
 */
#include "pair.h"

#include <string.h>

#ifndef MODC_CODE /* else this is included by a file for one instruction set */
#define MODC_CODE pair_code
#define MODC_ONCE
#if defined MODC_X86_64 && defined __AVX__
#error "compile pair.c with -march=x86-64: it is for machines without AVX, too"
#endif
#endif

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* where(x0 <= 0.0, 0.0, x0) */
MODC_INLINE modc_f32 relu_v(modc_f32 x0)
{
    return modc_f32_select(modc_f32_le(x0, modc_f32_set(0.0f)), modc_f32_set(0.0f), x0);
}

/* rows x outputs of y at (row, column); both are constants of the call. */
MODC_INLINE void gemm_dot_slice_tile(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int outputs, const int row, const int column, const int BIAS, const int M,
    const int N, const int K, const int LDX, const int LDY, const int LDW, float (*TAIL)(float x),
    const int slice)
{
    const int tile = rows * outputs, whole = K / MODC_LANES * MODC_LANES;
    modc_f32 sum[MODC_DOT_ROWS * MODC_DOT_OUTPUTS], a[MODC_DOT_ROWS];

    x += row * LDX;
    w += column * LDW;
    MODC_UNROLL
    for (int i = 0; i < tile; i++)
        sum[i] = modc_f32_set(0);
    MODC_ROLL
    for (int k = 0; k < whole; k += MODC_LANES) {
        MODC_UNROLL
        for (int i = 0; i < rows; i++) {
            a[i] = modc_f32_load(x + i * LDX + k);
            MODC_KEEP(a[i]);
        }
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            modc_f32 b = modc_f32_load(w + j * LDW + k);

            MODC_KEEP(b);
            MODC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[i * outputs + j] += a[i] * b;
        }
    }
    if (whole < K) {
        MODC_UNROLL
        for (int i = 0; i < tile; i++)
            sum[i] += modc_f32_load_part(x + i / outputs * LDX + whole, K - whole) *
                      modc_f32_load_part(w + i % outputs * LDW + whole, K - whole);
    }
    MODC_UNROLL
    for (int i = 0; i < rows; i++) {
        float total[MODC_DOT_OUTPUTS];

        modc_f32_sums(sum + i * outputs, total, outputs);
        MODC_UNROLL
        for (int j = 0; j < outputs; j++) {
            const float value = BIAS ? total[j] + bias[column + j] : total[j];

            y[(row + i) * LDY + column + j] = TAIL(value);
        }
    }
}

/* Rows from ... to - 1, `rows` at a time, a constant of the call. */
MODC_INLINE void gemm_dot_slice_block(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int from, const int to, const int BIAS, const int M, const int N,
    const int K, const int LDX, const int LDY, const int LDW, float (*TAIL)(float x),
    const int slice)
{
    for (int r = from; r < to; r += rows) {
        int c = 0;

        for (; c <= N - MODC_DOT_OUTPUTS; c += MODC_DOT_OUTPUTS)
            gemm_dot_slice_tile(
                y, x, w, bias, rows, MODC_DOT_OUTPUTS, r, c, BIAS, M, N, K, LDX, LDY, LDW, TAIL,
                slice);
        if (c < N)
            gemm_dot_slice_tile(
                y, x, w, bias, rows, N % MODC_DOT_OUTPUTS, r, c, BIAS, M, N, K, LDX, LDY, LDW, TAIL,
                slice);
    }
}

/* In dot products, a few rows and outputs at a time: too few outputs to fill panels, or w as it
 * lies. */
MODC_INLINE void gemm_dot_slice(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    const int LDW, float (*TAIL)(float x), const int slice)
{
    const int all = (M + MODC_DOT_ROWS - 1) / MODC_DOT_ROWS;
    const int from = modc_share(all, slice, 2) * MODC_DOT_ROWS;
    const int to = modc_min(modc_share(all, slice + 1, 2) * MODC_DOT_ROWS, M);
    const int whole = to / MODC_DOT_ROWS * MODC_DOT_ROWS;

    gemm_dot_slice_block(
        y, x, w, bias, MODC_DOT_ROWS, from, whole, BIAS, M, N, K, LDX, LDY, LDW, TAIL, slice);
    gemm_dot_slice_block(y, x, w, bias, 1, whole, to, BIAS, M, N, K, LDX, LDY, LDW, TAIL, slice);
}

/* One tile at (row, column); rows and columns are constants of the call. */
MODC_INLINE void gemm_panel_slice_of_columns_tile(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int rows, const int columns, const int row, const int column, const int BIAS, const int M,
    const int N, const int K, const int LDX, const int LDY, modc_f32 (*TAIL_V)(modc_f32 x),
    const int slice)
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
MODC_INLINE void gemm_panel_slice_of_columns_block(
    const int rows, const int from, const int to, const int left, const int right,
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    modc_f32 (*TAIL_V)(modc_f32 x), const int slice)
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES;

    for (int r = from; r < to; r += rows) {
        int c = left;

        for (; c <= right - band; c += band)
            gemm_panel_slice_of_columns_tile(
                y, x, w, bias, rows, band, r, c, BIAS, M, N, K, LDX, LDY, TAIL_V, slice);
        if (c < right)
            gemm_panel_slice_of_columns_tile(
                y, x, w, bias, rows, N % band, r, c, BIAS, M, N, K, LDX, LDY, TAIL_V, slice);
    }
}

/* Rows from ... to - 1 over a slice's columns. */
MODC_INLINE void gemm_panel_slice_of_columns_rows(
    const int rows, const int from, const int to, float *restrict y, const float *restrict x,
    const float *restrict w, const float *restrict bias, const int BIAS, const int M, const int N,
    const int K, const int LDX, const int LDY, modc_f32 (*TAIL_V)(modc_f32 x), const int slice)
{
    const int band = MODC_TILE_VECTORS(rows) * MODC_LANES;
    const int bands = (N + band - 1) / band, left = modc_share(bands, slice, 2) * band;
    const int right = modc_min(modc_share(bands, slice + 1, 2) * band, N);
    const int wide = N * K * (int)sizeof(float) <= 256 * 1024 ? N : band;

    for (int c = left; c < right; c += wide)
        gemm_panel_slice_of_columns_block(
            rows, from, to, c, modc_min(c + wide, right), y, x, w, bias, BIAS, M, N, K, LDX, LDY,
            TAIL_V, slice);
}

/* In register tiles over all of the inner length, as many rows and panels of w as there are
 * registers. */
MODC_INLINE void gemm_panel_slice_of_columns(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    const int BIAS, const int M, const int N, const int K, const int LDX, const int LDY,
    modc_f32 (*TAIL_V)(modc_f32 x), const int slice)
{
    MODC_EACH_HEIGHT(
        gemm_panel_slice_of_columns_rows, M, y, x, w, bias, BIAS, M, N, K, LDX, LDY, TAIL_V, slice);
}

/* y = what HEAD gives for each element, reduced, then TAIL. */
MODC_INLINE void sum_columns(
    float *y, const float *x0, const int nj, const int ni, const int vectors,
    modc_f32 (*HEAD)(modc_f32 x0), modc_f32 (*TAIL)(modc_f32 x0))
{
    const modc_f32 zero = modc_f32_set(0.0f);
    int i = 0;

    for (; i <= ni - vectors * MODC_LANES; i += vectors * MODC_LANES) {
        modc_f32 sums[8];

        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            sums[s] = zero;
        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 parts[8];

            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                parts[s] = zero;
            for (int j = start; j < stop; j++) {
                MODC_UNROLL
                for (int s = 0; s < vectors; s++)
                    parts[s] += HEAD(modc_f32_load(x0 + j * ni + i + s * MODC_LANES));
            }
            MODC_UNROLL
            for (int s = 0; s < vectors; s++)
                sums[s] += parts[s];
        }
        MODC_UNROLL
        for (int s = 0; s < vectors; s++)
            modc_f32_store(y + i + s * MODC_LANES, TAIL(sums[s]));
    }
    for (; i <= ni - MODC_LANES; i += MODC_LANES) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++)
                part += HEAD(modc_f32_load(x0 + j * ni + i));
            sum += part;
        }
        modc_f32_store(y + i, TAIL(sum));
    }
    if (i < ni) {
        modc_f32 sum = zero;

        for (int start = 0; start < nj; start += 1024) {
            const int stop = nj - start < 1024 ? nj : start + 1024;
            modc_f32 part = zero;

            for (int j = start; j < stop; j++)
                part += HEAD(modc_f32_load_part(x0 + j * ni + i, ni - i));
            sum += part;
        }
        modc_f32_store_part(y + i, TAIL(sum), ni - i);
    }
}

/* y (batch, 512) = x (batch, 256) . weight (512, 256)^T + bias;
 * then relu(x0);
 * one of 2 slices, by columns */
static MODC_KERNEL void wide_linear_fused(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch, const int slice)
{
    gemm_panel_slice_of_columns(y, x, w, bias, 1, batch, 512, 256, 256, 512, relu_v, slice);
}

struct wide_linear_fused_call {
    float *y;
    const float *x, *w, *bias;
    int batch;
};

static void wide_linear_fused_slice(const void *call, int slice)
{
    const struct wide_linear_fused_call *c = call;

    wide_linear_fused(c->y, c->x, c->w, c->bias, c->batch, slice);
}

static void wide_linear_fused_split(const struct modc_threading *threading, float *y,
                                    const float *x, const float *w, const float *bias, int batch)
{
    const struct wide_linear_fused_call call = {y, x, w, bias, batch};

    modc_split(threading, 2, wide_linear_fused_slice, &call);
}

/* y (batch, 8) = x (batch, 512) . weight (8, 512)^T + bias;
 * one of 2 slices, by rows */
static MODC_KERNEL void narrow_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int batch, const int slice)
{
    gemm_dot_slice(y, x, w, bias, 1, batch, 8, 512, 512, 8, 512, modc_f32s_as_is, slice);
}

struct narrow_linear_call {
    float *y;
    const float *x, *w, *bias;
    int batch;
};

static void narrow_linear_slice(const void *call, int slice)
{
    const struct narrow_linear_call *c = call;

    narrow_linear(c->y, c->x, c->w, c->bias, c->batch, slice);
}

static void narrow_linear_split(const struct modc_threading *threading, float *y, const float *x,
                                const float *w, const float *bias, int batch)
{
    const struct narrow_linear_call call = {y, x, w, bias, batch};

    modc_split(8 * batch >= 312 ? threading : NULL, 2, narrow_linear_slice, &call);
}

/* y (512) = sum of x0 */
static MODC_KERNEL void root_sum(float *y, const float *x0, int batch)
{
    sum_columns(y, x0, batch, 512, 8, modc_f32_as_is, modc_f32_as_is);
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 8683520.0
#define RTOL_OF_PAIR 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const h = (void *)(ws + 0); /* (batch, 512) */ \

/* What a context works with. */
#define CONTEXT_OF_PAIR \
    const struct pair_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct pair_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct pair_packed {
    MODC_ALIGNED float wide_weight[131072]; /* panels [32][256][16] */
};

typedef char pair_packed_fits[MODC_PACKED_FITS(struct pair_packed, PAIR_PACKED_BYTES)];

static void pair_forward_eval(struct pair *net, int batch, const float *x, float *output_0,
                              float *output_1)
{
    CONTEXT_OF_PAIR;
    TENSORS_OF_FORWARD_EVAL;

    /* wide: Linear(256, 512) */
    wide_linear_fused_split(&net->threading, h, x, k->wide_weight, p->wide.bias, batch);

    /* narrow: Linear(512, 8) */
    narrow_linear_split(&net->threading, output_0, h, p->narrow.weight, p->narrow.bias, batch);
    root_sum(output_1, h, batch);
}

/* What contexts call that run on the instruction set that this was compiled for. */
struct pair_code {
    void (*forward_eval)(struct pair *net, int batch, const float *x, float *output_0,
                         float *output_1);
};

MODC_HIDDEN const struct pair_code MODC_CODE = {
    .forward_eval = pair_forward_eval,
};

#ifdef MODC_ONCE /* packing, what users call, tables */

#ifdef MODC_X86_64
MODC_HIDDEN extern const struct pair_code pair_code_x86_64_v3;
MODC_HIDDEN extern const struct pair_code pair_code_x86_64_v4;
#endif

static const struct modc_isa isas_table[] = { /* the best one first */
#ifdef MODC_X86_64
    {"x86-64-v4", modc_has_x86_64_v4, &pair_code_x86_64_v4},
    {"x86-64-v3", modc_has_x86_64_v3, &pair_code_x86_64_v3},
#endif
    {MODC_ISA, NULL, &pair_code},
};

static const struct modc_dispatch dispatch_table = {sizeof isas_table / sizeof *isas_table,
                                                    isas_table,
                                                    offsetof(struct pair, isa)};

static const struct pair_code *pair_code_of(const struct pair *net)
{
    return net->isa->code;
}

MODC_KERNELS_BEGIN

MODC_KERNELS_END

static enum modc_status pair_pack_all(struct modc_params *params)
{
    const struct pair_params *p = (const void *)params;
    struct pair_packed *k = params->packed;

    modc_f32_pack(k->wide_weight, p->wide.weight, 512, 256, 256, 1);
    return MODC_OK;
}

enum modc_status pair_forward(struct pair *net, int batch, const float *x, float *output_0,
                              float *output_1)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && x && output_0 && output_1, POINTER);
    MODC_NEED(((uintptr_t)x | (uintptr_t)output_0 | (uintptr_t)output_1) % 4 == 0, ALIGNMENT);
    MODC_NEED(batch >= 0 && batch <= PAIR_MAX_BATCH, SIZE);
    MODC_TRY(modc_check(&net->base, PAIR_WORKSPACE_BYTES, true, false));
    pair_code_of(net)->forward_eval(net, batch, x, output_0, output_1);
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"batch", PAIR_MAX_BATCH}};

MODC_CALL(pair, forward, (net, sizes[0], inputs[0], outputs[0], outputs[1]))

static const struct modc_io forward_io[] = {
    {"x", MODC_FLOAT32, 2, {PAIR_MAX_BATCH, 256}, {0, -1}, false},
    {"output_0", MODC_FLOAT32, 2, {PAIR_MAX_BATCH, 8}, {0, -1}, false},
    {"output_1", MODC_FLOAT32, 1, {512}, {-1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 2, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(PAIR), PAIR_MAX_BATCH),
};

static const struct modc_module modules_table[] = {
    {"", "", "pair", "", -1, 2, false},
    {"wide", "wide", "Linear", "in_features=256, out_features=512, bias=True", 0, 0, false},
    {"narrow", "narrow", "Linear", "in_features=512, out_features=8, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("wide.weight", PAIR_WIDE, FLOAT32, UNIFORM(0.0625), 2, {512, 256}),
    MODC_PARAMETER("wide.bias", PAIR_WIDE, FLOAT32, UNIFORM(0.0625), 1, {512}),
    MODC_PARAMETER("narrow.weight", PAIR_NARROW, FLOAT32, UNIFORM(0.044194174), 2, {8, 512}),
    MODC_PARAMETER("narrow.bias", PAIR_NARROW, FLOAT32, UNIFORM(0.044194174), 1, {8}),
};

const struct modc_model pair_model = {
    .abi = MODC_ABI, .name = "pair", .schema = PAIR_SCHEMA,
    .rtol = RTOL_OF_PAIR,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct pair_params),
    .context_bytes = sizeof(struct pair),
    .param_block = PAIR_PARAM_BYTES,
    .packed_block = PAIR_PACKED_BYTES, .pack = pair_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = PAIR_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
    .threads = 2,
    .threading = offsetof(struct pair, threading),
    .dispatch = &dispatch_table,
};
#endif
