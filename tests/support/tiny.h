/* tiny.h - a model whose tables are written by hand, for the tests of the runtime. For one file of a program.
 *
 * Tiny: mask (not persistent), embed: Embedding(3, 2), norm: BatchNorm1d(2), blocks: a ModuleList of three
 * Linears, head: Linear(2, 3, bias=False) tied to embed. forward(x) is blocks[1](blocks[0](x)), where block 0
 * doubles and block 1 adds one: the hooks matter here, not the numbers. */
#ifndef TINY_H
#define TINY_H

#include <string.h>

#include "modc.h"

enum {
    TINY,
    TINY_EMBED,
    TINY_NORM,
    TINY_BLOCKS,
    TINY_BLOCKS_0,
    TINY_BLOCKS_1,
    TINY_BLOCKS_2,
    TINY_HEAD,
    MODULES
};

enum {
    MASK,
    EMBED_WEIGHT,
    NORM_WEIGHT,
    NORM_BIAS,
    NORM_MEAN,
    NORM_VAR,
    NORM_COUNT,
    B0_WEIGHT,
    B0_BIAS,
    B1_WEIGHT,
    B1_BIAS,
    B2_WEIGHT,
    HEAD_WEIGHT,
    KEYS
};

struct tiny_params {
    struct modc_params head;
    void *tensors[KEYS];
};

struct tiny {
    struct modc_context head;
    const struct modc_isa *isa;
};

static const struct modc_module modules[] = {
    {"", "", "Tiny", "", -1, 7, false},
    {"embed", "embed", "Embedding", "3, 2", 0, 0, false},
    {"norm", "norm", "BatchNorm1d", "2, eps=1e-05", 0, 0, false},
    {"blocks", "blocks", "ModuleList", "", 0, 3, true},
    {"blocks.0", "0", "Linear", "in_features=2, out_features=2, bias=True", 3, 0, false},
    {"blocks.1", "1", "Linear", "in_features=2, out_features=2, bias=True", 3, 0, false},
    {"blocks.2", "2", "Linear", "in_features=2, out_features=2, bias=False", 3, 0, false},
    {"head", "head", "Linear", "in_features=2, out_features=3, bias=False", 0, 0, false},
};

static const bool mask_value[] = {true, false, true};
static const struct modc_key keys[] = {
    MODC_UNSAVED("mask", TINY, BOOL, VALUE(mask_value), 1, {3}),
    MODC_PARAMETER("embed.weight", TINY_EMBED, FLOAT32, UNIFORM(0), 2, {3, 2}),
    MODC_PARAMETER("norm.weight", TINY_NORM, FLOAT32, CONSTANT(1.0), 1, {2}),
    MODC_PARAMETER("norm.bias", TINY_NORM, FLOAT32, CONSTANT(0.0), 1, {2}),
    MODC_BUFFER("norm.running_mean", TINY_NORM, FLOAT32, CONSTANT(0.0), 1, {2}),
    MODC_BUFFER("norm.running_var", TINY_NORM, FLOAT32, CONSTANT(1.0), 1, {2}),
    MODC_OPTIONAL("norm.num_batches_tracked", TINY_NORM, INT64, CONSTANT(0.0), 0, {0}),
    MODC_PARAMETER("blocks.0.weight", TINY_BLOCKS_0, FLOAT32, UNIFORM(0), 2, {2, 2}),
    MODC_PARAMETER("blocks.0.bias", TINY_BLOCKS_0, FLOAT32, UNIFORM(0), 1, {2}),
    MODC_PARAMETER("blocks.1.weight", TINY_BLOCKS_1, FLOAT32, UNIFORM(0), 2, {2, 2}),
    MODC_PARAMETER("blocks.1.bias", TINY_BLOCKS_1, FLOAT32, UNIFORM(0), 1, {2}),
    MODC_PARAMETER("blocks.2.weight", TINY_BLOCKS_2, FLOAT32, UNIFORM(0), 2, {2, 2}),
    MODC_TIED(PARAMETER, HEAD_WEIGHT - EMBED_WEIGHT, "head.weight", TINY_HEAD, FLOAT32, UNIFORM(0), 2,
              {3, 2}),
};
/* Behind these, one of a tie, of whole rows, and by columns. */
static const struct modc_integers integers[] = {
    MODC_INTEGERS(EMBED_WEIGHT, 768, 4, 8, FLOAT16, SYMMETRIC, ROWS),
    MODC_INTEGERS(B0_WEIGHT, 832, 8, 0, FLOAT32, SYMMETRIC, ROWS),
    MODC_INTEGERS(B2_WEIGHT, 896, 8, 8, BFLOAT16, GGUF, COLUMNS),
};
enum { BLOCK = 960 };

static const struct modc_draw draws[] = {
    {EMBED_WEIGHT, MODC_INIT_NORMAL, 0, 1}, {EMBED_WEIGHT, MODC_INIT_ROW, 0, 1},
    {B0_WEIGHT, MODC_INIT_UNIFORM, -1, 1},  {B0_BIAS, MODC_INIT_UNIFORM, -1, 1},
    {B1_WEIGHT, MODC_INIT_UNIFORM, -1, 1},  {B1_BIAS, MODC_INIT_UNIFORM, -1, 1},
    {B1_BIAS, MODC_INIT_CONSTANT, 0.25, 0}, {-1 - HEAD_WEIGHT, MODC_INIT_UNIFORM, -1, 1},
    {B2_WEIGHT, MODC_INIT_UNIFORM, -1, 1},
};

static const struct modc_io input = {"x", MODC_FLOAT32, 2, {4, 2}, {0, -1}, false};
static const struct modc_io output = {"y", MODC_FLOAT32, 2, {4, 2}, {0, -1}, false};
static const struct modc_size sizes[] = {{"batch", 4}};
static const int max_sizes[] = {4};
static const struct modc_key states[] = {
    MODC_UNSAVED("steps", TINY, INT64, CONSTANT(7.0), 0, {0}),
};

static void tiny_shape(const int *given, int index, int *dims)
{
    (void)index;
    dims[0] = given[0];
    dims[1] = 2;
}

static enum modc_status fail_inside = MODC_OK;

/* As the emitter writes fenced code. */
static enum modc_status tiny_call(struct modc_context *net, const int *given, const void *const *inputs,
                                  void *const *outputs)
{
    struct modc_tensor x = {(void *)(uintptr_t)inputs[0], MODC_FLOAT32, 2, {given[0], 2}};
    struct modc_tensor a = {outputs[0], MODC_FLOAT32, 2, {given[0], 2}}, b = a;
    struct modc_call root, block;
    enum modc_status status = modc_check(net, 128, false, false);

    if (status != MODC_OK)
        return status;
    status = modc_call_begin(net, &root, TINY, &x, 1);
    if (status != MODC_OK)
        return modc_call_failed(net, status);

    status = modc_call_begin(net, &block, TINY_BLOCKS_0, &x, 1);
    if (status != MODC_OK)
        return modc_call_failed(net, status);
    for (int i = 0; i < given[0] * 2; i++)
        ((float *)a.data)[i] = 2.0f * ((float *)x.data)[i];
    status = modc_call_end(net, &block, &a, 1);
    if (status != MODC_OK)
        return modc_call_failed(net, status);

    status = modc_call_begin(net, &block, TINY_BLOCKS_1, &a, 1);
    if (status == MODC_OK)
        status = fail_inside;
    if (status != MODC_OK)
        return modc_call_failed(net, status);
    for (int i = 0; i < given[0] * 2; i++)
        ((float *)b.data)[i] = 1.0f + ((float *)a.data)[i];
    status = modc_call_end(net, &block, &b, 1);
    if (status != MODC_OK)
        return modc_call_failed(net, status);

    status = modc_call_end(net, &root, &b, 1);
    if (status != MODC_OK)
        return modc_call_failed(net, status);
    if (b.data != outputs[0])
        memcpy(outputs[0], b.data, (size_t)given[0] * 2 * sizeof(float));
    return MODC_OK;
}

static const struct modc_entry entries[] = {
    {
        .name = "forward",
        .input_count = 1,
        .output_count = 1,
        .inputs = &input,
        .outputs = &output,
        .max_sizes = max_sizes,
        .workspace = {128, 128},
        .fenced_workspace = {128, 128},
        .macs = 8.0,
        .shape = tiny_shape,
        .call = tiny_call,
    },
};

static bool on_no_machine(void)
{
    return false;
}

static const struct modc_isa isas[] = {{"wide", on_no_machine, NULL}, {"plain", NULL, NULL}};
static const struct modc_dispatch dispatch = {2, isas, offsetof(struct tiny, isa)};

/* Tests may ask for smaller batches. */
static int most_batch = 4;
static const char *const requirements[] = {"batch <= most"};

static int unmet_requirement(const int *given)
{
    return given[0] <= most_batch ? -1 : 0;
}

const struct modc_model tiny_model = {
    .abi = MODC_ABI,
    .name = "tiny",
    .align = 64,
    .tensor_align = 64,
    .params_bytes = sizeof(struct tiny_params),
    .context_bytes = sizeof(struct tiny),
    .param_block = BLOCK,
    .state_block = 64,
    .size_count = 1,
    .key_count = KEYS,
    .module_count = MODULES,
    .entry_count = 1,
    .state_count = 1,
    .draw_count = sizeof draws / sizeof draws[0],
    .sizes = sizes,
    .keys = keys,
    .modules = modules,
    .entries = entries,
    .states = states,
    .draws = draws,
    .dispatch = &dispatch,
    .requirements = requirements,
    .unmet = unmet_requirement,
    .integer_count = sizeof integers / sizeof integers[0],
    .integers = integers,
    .integer_code = &modc_integer_code,
};

#endif
