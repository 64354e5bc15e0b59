/* firmware.h - written by modc from firmware.yaml; change the spec, not this file. It is yours,
 * under any terms.
 *
 * For --target stm32f411, STM32F411xE: nothing in it needs an operating system.
 *
 *     struct firmware_params params;
 *     struct firmware net;
 *     firmware_bind(&params, param_block, sizeof param_block);
 *     firmware_load_bytes(&params, file, sizeof file, MODC_STRICT, NULL);
 *     firmware_pack(&params, packed_block, sizeof packed_block);
 *     firmware_init(&net, &params, workspace, sizeof workspace);
 *     firmware_forward(&net, image, output);
 */
#ifndef MODC_MODEL_FIRMWARE_H
#define MODC_MODEL_FIRMWARE_H

#ifndef MODC_ALIGN
#define MODC_ALIGN 8
#endif
#include "modc.h"

#if MODC_ABI != 5
#error "firmware.h was written for another modc runtime; run modc again"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Modules, for hooks and tables. */
enum {
    FIRMWARE_ROOT,
    FIRMWARE_0,
    FIRMWARE_1,
    FIRMWARE_2,
    FIRMWARE_3,
    FIRMWARE_4,
    FIRMWARE_5,
    FIRMWARE_6,
    FIRMWARE_7,
    FIRMWARE_8,
    FIRMWARE_9,
    FIRMWARE_10,
    FIRMWARE_11,
    FIRMWARE_12,
    FIRMWARE_MODULES
};

/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */
struct firmware {
    struct modc_context base;
};

/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */
struct firmware_params {
    struct modc_params base;
    struct { const float *weight, *bias; } _0; /* (6, 1, 3, 3), (6) */
    struct { const float *weight, *bias; /* (6), (6) */
             float *running_mean, *running_var; /* (6), (6); written in training mode */
             int64_t *num_batches_tracked; } _1; /* (); written in training mode */
    struct { const float *weight, *bias; } _4; /* (6, 1, 3, 3), (6) */
    struct { const float *weight, *bias; } _8; /* (24), (24) */
    struct { const float *weight, *bias; } _9; /* (16, 24), (16) */
    struct { const float *weight, *bias; } _11; /* (3, 16), (3) */
};

#define FIRMWARE_SCHEMA 0x2daf120bac562aaeu /* of keys, shapes and types */
/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */
#define FIRMWARE_PARAM_BYTES 2584 /* parameters and buffers in PyTorch's layout */
#define FIRMWARE_PACKED_BYTES 2448 /* what firmware_pack makes of them for the kernels */
#define FIRMWARE_WORKSPACE_BYTES 1920
#define FIRMWARE_TRAIN_WORKSPACE_BYTES 1920

/* output float32 (1, 3) from image float32 (1, 1, 8, 8) */
enum modc_status firmware_forward(struct firmware *net, const float *image, float *output);

/* The model in tables: inputs, outputs, keys, modules, entries. */
extern const struct modc_model firmware_model;

/* The runtime's functions for this model, as modc.h has them: */
MODC_FUNCTIONS(firmware)
    /* firmware_bind, firmware_load_bytes, firmware_save_bytes, firmware_pack, firmware_reset,
     * firmware_changed, firmware_to, firmware_get, firmware_named_parameters,
     * firmware_named_buffers, firmware_init, firmware_train, firmware_eval, firmware_seed,
     * firmware_print */

#ifdef __cplusplus
}
#endif
#endif
