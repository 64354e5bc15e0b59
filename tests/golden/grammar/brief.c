/* brief.c - written by modc from grammar_small.yaml; change the spec, not this file. It is yours,
 * under any terms. */
#include "brief.h"

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

/* y (rows, 4) = x0 (10, 4) at x1 (rows) along dimension 0 */
static MODC_KERNEL void words_embedding(float *y, const float *x0, const int64_t *x1, int rows)
{
    for (int i = 0; i < rows; i++) {
        const float *from = x0 + (ptrdiff_t)x1[i] * 4;

        memcpy(y + i * 4, from, (size_t)4 * sizeof *from);
    }
}

/* y (logits, 10) = x (logits, 4) . weight (10, 4)^T + bias */
static MODC_KERNEL void head_linear(
    float *restrict y, const float *restrict x, const float *restrict w, const float *restrict bias,
    int logits)
{
    gemm_panel(y, x, w, bias, 1, logits, 10, 4, 4, 10, modc_f32_as_is);
}

/* y (logits, 4) = x0 (rows, 4) at x1 (logits) along dimension 0 */
static MODC_KERNEL void root_last(float *y, const float *x0, const int64_t *x1, int logits)
{
    for (int i = 0; i < logits; i++) {
        const float *from = x0 + (ptrdiff_t)x1[i] * 4;

        memcpy(y + i * 4, from, (size_t)4 * sizeof *from);
    }
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 160.0
#define RTOL_OF_BRIEF 0.0f /* what Winograd's products add to a few last places */

#define TENSORS_OF_FORWARD_EVAL \
    float *const words = (void *)(ws + 0); /* (rows, 4) */ \
    float *const last = (void *)(ws + 64); /* (logits, 4) */ \

/* What a context works with. */
#define CONTEXT_OF_BRIEF \
    const struct brief_params *const p MODC_UNUSED = (const void *)net->base.params; \
    const struct brief_packed *const k MODC_UNUSED = net->base.params->packed; \
    char *const ws MODC_UNUSED = net->base.workspace

/* What the kernels read */
struct brief_packed {
    MODC_ALIGNED float head_weight[64]; /* panels [1][4][16] */
    MODC_ALIGNED float head_bias[16]; /* zero padded */
};

typedef char brief_packed_fits[MODC_PACKED_FITS(struct brief_packed, BRIEF_PACKED_BYTES)];

static enum modc_status brief_pack_all(struct modc_params *params)
{
    const struct brief_params *p = (const void *)params;
    struct brief_packed *k = params->packed;

    modc_f32_pack(k->head_weight, p->head.weight, 10, 4, 4, 1);
    memset(k->head_bias, 0, sizeof k->head_bias);
    memcpy(k->head_bias, p->head.bias, sizeof(float) * 10);
    return MODC_OK;
}

static enum modc_status brief_forward_eval(struct brief *net, int rows, int logits,
                                           const int64_t *token, const int64_t *position,
                                           const int64_t *sequence, const int64_t *pages,
                                           const int64_t *logit_rows, float *output)
{
    CONTEXT_OF_BRIEF;
    TENSORS_OF_FORWARD_EVAL;

    MODC_TRY(modc_check_index(&net->base, BRIEF_ROOT, position, MODC_INT64, rows, 0, 8));
    MODC_TRY(modc_check_index(&net->base, BRIEF_ROOT, sequence, MODC_INT64, rows, 0, 1));
    MODC_TRY(modc_check_index(&net->base, BRIEF_ROOT, pages, MODC_INT64, 1, 0, 1));
    MODC_TRY(modc_check_index(&net->base, BRIEF_ROOT, logit_rows, MODC_INT64, logits, 0, rows));

    /* words: Embedding(10, 4) */
    MODC_TRY(modc_check_index(&net->base, BRIEF_WORDS, token, MODC_INT64, rows, 0, 10));
    words_embedding(words, p->words.weight, token, rows);
    root_last(last, words, logit_rows, logits);

    /* head: Linear(4, 10) */
    head_linear(output, last, k->head_weight, k->head_bias, logits);
    return MODC_OK;
}

enum modc_status brief_forward(struct brief *net, int rows, int logits, const int64_t *token,
                               const int64_t *position, const int64_t *sequence,
                               const int64_t *pages, const int64_t *logit_rows, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && token && position && sequence && pages && logit_rows && output, POINTER);
    MODC_NEED((uintptr_t)output % 4 == 0, ALIGNMENT);
    MODC_NEED(((uintptr_t)token | (uintptr_t)position | (uintptr_t)sequence | (uintptr_t)pages |
               (uintptr_t)logit_rows) % MODC_ALIGN_WIDE == 0, ALIGNMENT);
    MODC_NEED(rows >= 0 && rows <= BRIEF_MAX_ROWS, SIZE);
    MODC_NEED(logits >= 0 && logits <= BRIEF_MAX_LOGITS, SIZE);
    MODC_TRY(modc_check(&net->base, BRIEF_WORKSPACE_BYTES, true, false));
    status = brief_forward_eval(net, rows, logits, token, position, sequence, pages, logit_rows,
                                output);
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"rows", BRIEF_MAX_ROWS},
                                               {"logits", BRIEF_MAX_LOGITS}};

MODC_CALL(
    brief, forward,
    (net, sizes[0], sizes[1], inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], outputs[0]))

static const struct modc_io forward_io[] = {
    {"token", MODC_INT64, 1, {BRIEF_MAX_ROWS}, {0}, false},
    {"position", MODC_INT64, 1, {BRIEF_MAX_ROWS}, {0}, true},
    {"sequence", MODC_INT64, 1, {BRIEF_MAX_ROWS}, {0}, true},
    {"pages", MODC_INT64, 2, {1, 1}, {-1, -1}, true},
    {"logit_rows", MODC_INT64, 1, {BRIEF_MAX_LOGITS}, {1}, true},
    {"output", MODC_FLOAT32, 2, {BRIEF_MAX_LOGITS, 10}, {1, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 5, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(BRIEF), BRIEF_MAX_ROWS,
               BRIEF_MAX_LOGITS),
};

static const struct modc_module modules_table[] = {
    {"", "", "brief", "", -1, 2, false},
    {"words", "words", "Embedding", "10, 4", 0, 0, false},
    {"head", "head", "Linear", "in_features=4, out_features=10, bias=True", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("words.weight", BRIEF_WORDS, FLOAT32, NORMAL(0.0, 1.0), 2, {10, 4}),
    MODC_PARAMETER("head.weight", BRIEF_HEAD, FLOAT32, UNIFORM(0.5), 2, {10, 4}),
    MODC_PARAMETER("head.bias", BRIEF_HEAD, FLOAT32, UNIFORM(0.5), 1, {10}),
};

const struct modc_model brief_model = {
    .abi = MODC_ABI, .name = "brief", .schema = BRIEF_SCHEMA,
    .rtol = RTOL_OF_BRIEF,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct brief_params),
    .context_bytes = sizeof(struct brief),
    .param_block = BRIEF_PARAM_BYTES,
    .packed_block = BRIEF_PACKED_BYTES, .pack = brief_pack_all,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = BRIEF_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
    .generation = &brief_generation,
};

static const int64_t eos_table[] = {1};

/* The grammar 'letters': classes of bytes; of each state, where these lead, and flags: 1, a text
 * ends; 2, tokens can finish one. */
const struct modc_grammar brief_grammar_letters = {
    .name = "letters",
    .tokenizer = &brief_tokenizer,
    .states = 7,
    .classes = 5,
    .class_of = (const uint8_t[256]){
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,
    },
    .next = (const uint16_t[35]){
        0, 0, 0, 0, 0,
        0, 0, 2, 0, 0,
        0, 3, 0, 2, 2,
        0, 0, 4, 0, 0,
        0, 0, 0, 5, 0,
        0, 0, 0, 0, 6,
        0, 0, 0, 0, 0,
    },
    .flags = (const uint8_t[7]){
        0, 2, 3, 2, 2, 2, 3,
    },
};

/* The grammar 'either': classes of bytes; of each state, where these lead, and flags: 1, a text
 * ends; 2, tokens can finish one. */
const struct modc_grammar brief_grammar_either = {
    .name = "either",
    .tokenizer = &brief_tokenizer,
    .states = 19,
    .classes = 13,
    .class_of = (const uint8_t[256]){
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
        3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
        6, 6, 6, 6, 6, 6, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 8, 8, 10, 11, 11, 11, 12, 5,
        5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
    },
    .next = (const uint16_t[247]){
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        2, 3, 0, 0, 0, 0, 4, 5, 6, 7, 8, 9, 10,
        11, 0, 0, 0, 0, 0, 12, 13, 14, 15, 16, 17, 18,
        0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 6, 6, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 6, 6, 6, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 11, 11, 11, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 12, 12, 12, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 12, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 14, 14, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 14, 14, 14, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    },
    .flags = (const uint8_t[19]){
        0, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    },
};

static const struct modc_grammar *const grammars_table[] = {&brief_grammar_letters,
                                                            &brief_grammar_either};

const struct modc_generation brief_generation = {
    .model = &brief_model, .entry = 0,
    .rows = BRIEF_MAX_ROWS, .logits = BRIEF_MAX_LOGITS, .rows_size = 0, .logits_size = 1,
    .vocabulary = 10,
    .context = BRIEF_CONTEXT, .sequences = BRIEF_SEQUENCES, .page = 8, .per = 1,
    .encoder = -1,
    .eos = {eos_table, MODC_ROWS(eos_table)},
    .pad = -1,
    .grammars = grammars_table, .grammar_count = MODC_ROWS(grammars_table),
    .tokenizer = &brief_tokenizer, .token_bytes = BRIEF_TOKENIZER_TEXT,
};
