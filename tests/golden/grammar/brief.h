/* brief.h - written by modc from grammar_small.yaml; change the spec, not this file. It is yours,
 * under any terms.
 *
 *     struct brief_params params;
 *     struct brief net;
 *     brief_bind(&params, param_block, sizeof param_block);
 *     brief_load(&params, "brief.safetensors", MODC_STRICT, &report);
 *     brief_pack(&params, packed_block, sizeof packed_block);
 *     brief_init(&net, &params, workspace, sizeof workspace);
 *     brief_forward(&net, rows, logits, token, position, sequence, pages, logit_rows, output);
 */
#ifndef MODC_MODEL_BRIEF_H
#define MODC_MODEL_BRIEF_H

#include "modc.h"
#include "modc_generation.h"

#if MODC_ABI != 5
#error "brief.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define BRIEF_MAX_ROWS 4
#define BRIEF_MAX_LOGITS 4

/* Modules, for hooks and tables. */
enum {
    BRIEF_ROOT,
    BRIEF_WORDS,
    BRIEF_HEAD,
    BRIEF_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct brief {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct brief_params {
    struct modc_params base;
    struct { const float *weight; } words; /* (10, 4) */
    struct { const float *weight, *bias; } head; /* (10, 4), (10) */
};

#define BRIEF_SCHEMA 0x76a7fbf6cbde9187u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define BRIEF_PARAM_BYTES 448 /* parameters and buffers in PyTorch's layout */
#define BRIEF_PACKED_BYTES 384 /* what brief_pack makes of them for the kernels */
#define BRIEF_WORKSPACE_BYTES 128
#define BRIEF_TRAIN_WORKSPACE_BYTES 128

/* output float32 (logits, 10) from token int64 (rows), position int64 (rows), sequence int64
 * (rows), pages int64 (1, 1), logit_rows int64 (logits) */
enum modc_status brief_forward(struct brief *net, int rows, int logits, const int64_t *token,
                               const int64_t *position, const int64_t *sequence,
                               const int64_t *pages, const int64_t *logit_rows, float *output);

/* Text to ids of tokens and back (brief_tokenizer.c, modc_tokenizer.h): BPE,
 * small_tokenizer.json. */
extern const struct modc_tokenizer brief_tokenizer;

#define BRIEF_TOKENIZER_VOCABULARY 10
#define BRIEF_TOKENIZER_UNK 0
#define BRIEF_TOKENIZER_TEXT 34 /* bytes of text that a token completes at most */
/* Of workspace, for a text of so many bytes. */
#define BRIEF_TOKENIZER_BYTES(bytes) ((size_t)(bytes)*159 + 1203)

/* brief_encode_text, brief_decode_text, brief_decoder_init, brief_token_id, brief_token_text; see
 * modc_tokenizer.h. */
MODC_TOKENIZER_FUNCTIONS(brief)

/* Writes by the model, token by token: modc_generation.h. */
extern const struct modc_generation brief_generation;

#define BRIEF_CONTEXT 8 /* tokens of a sequence */
#define BRIEF_SEQUENCES 1 /* that are held at a time */
/* The block of brief_generator_init. */
#define BRIEF_GENERATOR_BYTES \
    MODC_GENERATOR_BYTES(BRIEF_MAX_ROWS, BRIEF_MAX_LOGITS, \
                         BRIEF_SEQUENCES, BRIEF_CONTEXT, 1, 10, BRIEF_TOKENIZER_TEXT, 4, 0)

/* What texts can be made to match: `grammar` of the options. */
extern const struct modc_grammar brief_grammar_letters;
extern const struct modc_grammar brief_grammar_either;

/* brief_generator_init, brief_options */
MODC_GENERATION_FUNCTIONS(brief)

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model brief_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(brief)
    /* brief_bind, brief_load_bytes, brief_save_bytes, brief_pack, brief_reset, brief_changed,
     * brief_to, brief_get, brief_named_parameters, brief_named_buffers, brief_init, brief_train,
     * brief_eval, brief_seed, brief_print */
MODC_HOSTED_FUNCTIONS(brief)
    /* brief_load, brief_save, brief_create, brief_destroy */

#ifdef __cplusplus
}
#endif
#endif
