/* talker.h - written by modc from template.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct talker_params params;
 *     struct talker net;
 *     talker_bind(&params, param_block, sizeof param_block);
 *     talker_load(&params, "talker.safetensors", MODC_STRICT, &report);
 *     talker_pack(&params, packed_block, sizeof packed_block);
 *     talker_init(&net, &params, workspace, sizeof workspace);
 *     talker_forward(&net, tokens, ids, output);
 */
#ifndef MODC_MODEL_TALKER_H
#define MODC_MODEL_TALKER_H

#include "modc.h"
#include "modc_template.h"

#if MODC_ABI != 5
#error "talker.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TALKER_MAX_TOKENS 8

/* Modules, for hooks and tables. */
enum {
    TALKER_ROOT,
    TALKER_WORDS,
    TALKER_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct talker {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct talker_params {
    struct modc_params base;
    struct { const float *weight; } words; /* (10, 4) */
};

#define TALKER_SCHEMA 0x216b7d9828d0cda6u /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define TALKER_PARAM_BYTES 192 /* parameters and buffers in PyTorch's layout */
#define TALKER_PACKED_BYTES 64 /* what talker_pack makes of them for the kernels */
#define TALKER_WORKSPACE_BYTES 64
#define TALKER_TRAIN_WORKSPACE_BYTES 64

/* output float32 (tokens, 4) from ids int64 (tokens) */
enum modc_status talker_forward(struct talker *net, int tokens, const int64_t *ids, float *output);

/* Turns of a conversation to the text that the model was trained on (talker_template.c,
 * modc_template.h): chat_template.jinja, with the spans of what the assistant says. */
enum modc_status talker_chat(const struct modc_turn *turns, int count, struct modc_chat *chat,
                             char *out, size_t room, size_t *bytes);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model talker_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(talker)
    /* talker_bind, talker_load_bytes, talker_save_bytes, talker_pack, talker_reset,
     * talker_changed, talker_to, talker_get, talker_named_parameters, talker_named_buffers,
     * talker_init, talker_train, talker_eval, talker_seed, talker_print */
MODC_HOSTED_FUNCTIONS(talker)
    /* talker_load, talker_save, talker_create, talker_destroy */

#ifdef __cplusplus
}
#endif
#endif
