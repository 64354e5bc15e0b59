/* talker.c - written by modc from template.yaml; change the spec, not this file. It is yours, under
 * any terms. */
#include "talker.h"

#include <string.h>

#include "modc_simd.h"

MODC_KERNELS_BEGIN

/* y (tokens, 4) = x0 (10, 4) at x1 (tokens) along dimension 0 */
static MODC_KERNEL void words_embedding(float *y, const float *x0, const int64_t *x1, int tokens)
{
    for (int i = 0; i < tokens; i++) {
        const float *from = x0 + (ptrdiff_t)x1[i] * 4;

        memcpy(y + i * 4, from, (size_t)4 * sizeof *from);
    }
}

MODC_KERNELS_END

/* Multiply-adds of each entry, how far results are from exact ones, the tensors of each function at
 * their bytes of the workspace. */
#define MACS_OF_FORWARD 0.0
#define RTOL_OF_TALKER 0.0f /* what Winograd's products add to a few last places */

/* What a context works with. */
#define CONTEXT_OF_TALKER \
    const struct talker_params *const p MODC_UNUSED = (const void *)net->base.params; \
    char *const ws MODC_UNUSED = net->base.workspace

static enum modc_status talker_forward_eval(struct talker *net, int tokens, const int64_t *ids,
                                            float *output)
{
    CONTEXT_OF_TALKER;

    /* words: Embedding(10, 4) */
    MODC_TRY(modc_check_index(&net->base, TALKER_WORDS, ids, MODC_INT64, tokens, 0, 10));
    words_embedding(output, p->words.weight, ids, tokens);
    return MODC_OK;
}

enum modc_status talker_forward(struct talker *net, int tokens, const int64_t *ids, float *output)
{
    enum modc_status status = MODC_OK;

    MODC_NEED(net && ids && output, POINTER);
    MODC_NEED((uintptr_t)output % 4 == 0, ALIGNMENT);
    MODC_NEED((uintptr_t)ids % MODC_ALIGN_WIDE == 0, ALIGNMENT);
    MODC_NEED(tokens >= 0 && tokens <= TALKER_MAX_TOKENS, SIZE);
    MODC_TRY(modc_check(&net->base, TALKER_WORKSPACE_BYTES, false, false));
    status = talker_forward_eval(net, tokens, ids, output);
    return status;
}

/* ---- tables ---- */

static const struct modc_size sizes_table[] = {{"tokens", TALKER_MAX_TOKENS}};

MODC_CALL(talker, forward, (net, sizes[0], inputs[0], outputs[0]))

static const struct modc_io forward_io[] = {
    {"ids", MODC_INT64, 1, {TALKER_MAX_TOKENS}, {0}, false},
    {"output", MODC_FLOAT32, 2, {TALKER_MAX_TOKENS, 4}, {0, -1}, false},
};

static const struct modc_entry entries_table[] = {
    MODC_ENTRY(forward, 1, 1, MACS_OF_FORWARD, NULL, NULL, MODC_PLAIN(TALKER), TALKER_MAX_TOKENS),
};

static const struct modc_module modules_table[] = {
    {"", "", "talker", "", -1, 1, false},
    {"words", "words", "Embedding", "10, 4", 0, 0, false},
};

static const struct modc_key keys_table[] = {
    MODC_PARAMETER("words.weight", TALKER_WORDS, FLOAT32, NORMAL(0.0, 1.0), 2, {10, 4}),
};

const struct modc_model talker_model = {
    .abi = MODC_ABI, .name = "talker", .schema = TALKER_SCHEMA,
    .rtol = RTOL_OF_TALKER,
    .align = MODC_ALIGN, .tensor_align = 64,
    .params_bytes = sizeof(struct talker_params),
    .context_bytes = sizeof(struct talker),
    .param_block = TALKER_PARAM_BYTES,
    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,
    .key_count = MODC_ROWS(keys_table), .keys = keys_table,
    .draw_count = MODC_DRAWS_OF_KEYS,
    .module_count = TALKER_MODULES, .modules = modules_table,
    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,
};
