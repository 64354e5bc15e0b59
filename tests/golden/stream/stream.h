/* stream.h - written by modc from stream.yaml; change the spec, not this file. It is yours, under
 * any terms.
 *
 *     struct stream_params params;
 *     struct stream net;
 *     stream_bind(&params, param_block, sizeof param_block);
 *     stream_load(&params, "stream.safetensors", MODC_STRICT, &report);
 *     stream_pack(&params, packed_block, sizeof packed_block);
 *     stream_init(&net, &params, workspace, sizeof workspace);
 *     stream_forward(&net, sample, output_0, steps);
 */
#ifndef MODC_MODEL_STREAM_H
#define MODC_MODEL_STREAM_H

#include "modc.h"

#if MODC_ABI != 5
#error "stream.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Modules, for hooks and tables. */
enum {
    STREAM_ROOT,
    STREAM_MIX,
    STREAM_ACT,
    STREAM_OUT,
    STREAM_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct stream {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct stream_params {
    struct modc_params base;
    struct { const float *weight, *bias; } mix; /* (16, 40), (16) */
    struct { const float *weight, *bias; } out; /* (2, 16), (2) */
};

#define STREAM_SCHEMA 0xb2f50a6fc229b1cau /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define STREAM_PARAM_BYTES 2816 /* parameters and buffers in PyTorch's layout */
#define STREAM_PACKED_BYTES 2624 /* what stream_pack makes of them for the kernels */
#define STREAM_STATE_BYTES 256 /* at the head of every workspace */
#define STREAM_WORKSPACE_BYTES 384
#define STREAM_TRAIN_WORKSPACE_BYTES 384
#define STREAM_FENCED_WORKSPACE_BYTES 832
#define STREAM_TRAIN_FENCED_WORKSPACE_BYTES 832

/* output_0 float32 (2), steps int64 () from sample float32 (8) */
enum modc_status stream_forward(struct stream *net, const float *sample, float *output_0,
                                int64_t *steps);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model stream_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(stream)
    /* stream_bind, stream_load_bytes, stream_save_bytes, stream_pack, stream_reset,
     * stream_changed, stream_to, stream_get, stream_named_parameters, stream_named_buffers,
     * stream_init, stream_train, stream_eval, stream_seed, stream_print */
MODC_HOSTED_FUNCTIONS(stream)
    /* stream_load, stream_save, stream_create, stream_destroy */
MODC_STATE_FUNCTIONS(stream)
    /* stream_reset_state */
MODC_HOOK_FUNCTIONS(stream)
    /* stream_register_forward_pre_hook, stream_register_forward_hook, stream_attach */

#ifdef __cplusplus
}
#endif
#endif
