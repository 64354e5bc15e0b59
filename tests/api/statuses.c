/* statuses.c - what an emitted model's functions return, and what they leave alone when they fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnn.h"
#include "policy.h"
#include "stream.h"

#define OK(call) assert_int_equal(call, MODC_OK)

static const char cnn_weights[] = "specs/digits/weights_cnn.safetensors";
static const char policy_weights[] = "specs/cartpole/weights.safetensors";
static const char stream_weights[] = "build/vectors/stream_12/weights.safetensors";

enum { BATCH = 5, PIXELS = BATCH * 64, CLASSES = BATCH * 10 };

/* The fused forward in eval mode has Winograd's scratch, the others more values. */
enum {
    MOST_WORKSPACE = CNN_WORKSPACE_BYTES > CNN_TRAIN_FENCED_WORKSPACE_BYTES ? CNN_WORKSPACE_BYTES
                                                                            : CNN_TRAIN_FENCED_WORKSPACE_BYTES
};

/* A cnn in blocks of its own, one step off every boundary at the end. */
struct fixture {
    MODC_ALIGNED char block[CNN_PARAM_BYTES + MODC_ALIGN];
    MODC_ALIGNED char packed[CNN_PACKED_BYTES + MODC_ALIGN];
    MODC_ALIGNED char workspace[MOST_WORKSPACE + MODC_ALIGN];
    struct cnn_params params;
    struct cnn net;
    struct modc_report report;
    float image[65 * 64], output[65 * 10], expected[CLASSES];
};

static int setup(void **state)
{
    void *memory;

    if (posix_memalign(&memory, MODC_ALIGN, sizeof(struct fixture)) != 0)
        return 1;

    struct fixture *f = memory;

    memset(f, 0, sizeof *f);
    for (int i = 0; i < 65 * 64; i++)
        f->image[i] = (float)((i * 37) % 101) / 101.0f;
    *state = f;
    return cnn_bind(&f->params, f->block, sizeof f->block) != MODC_OK ||
           cnn_load(&f->params, cnn_weights, MODC_STRICT, NULL) != MODC_OK ||
           cnn_pack(&f->params, f->packed, sizeof f->packed) != MODC_OK ||
           cnn_init(&f->net, &f->params, f->workspace, sizeof f->workspace) != MODC_OK ||
           cnn_forward(&f->net, BATCH, f->image, f->expected) != MODC_OK;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void close_to(const float *expected, const float *found, int count, float tolerance)
{
    float largest = 0;

    for (int i = 0; i < count; i++)
        largest = fmaxf(largest, fabsf(expected[i]));
    for (int i = 0; i < count; i++)
        if (!(fabsf(expected[i] - found[i]) <= tolerance * fmaxf(1.0f, largest)))
            fail_msg("at %d: expected %.9g, found %.9g", i, (double)expected[i], (double)found[i]);
}

static void *saved(const struct modc_params *params, size_t *length)
{
    void *bytes;

    OK(modc_save_bytes(params, NULL, 0, length));
    bytes = malloc(*length);
    assert_non_null(bytes);
    OK(modc_save_bytes(params, bytes, *length, length));
    return bytes;
}

/* ---- statuses ------------------------------------------------------------------------------------------ */

static void stale_until_packed(void **state)
{
    struct fixture *f = *state;
    struct cnn_params params;

    OK(cnn_bind(&params, f->block, sizeof f->block));
    OK(cnn_init(&f->net, &params, f->workspace, sizeof f->workspace));
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_STALE);
    OK(cnn_load(&params, cnn_weights, MODC_STRICT, &f->report));
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_STALE);
    OK(cnn_pack(&params, f->packed, sizeof f->packed));
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    assert_memory_equal(f->output, f->expected, sizeof f->expected);
    OK(cnn_load(&params, cnn_weights, MODC_STRICT, &f->report));
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_STALE);
    OK(cnn_pack(&params, NULL, 0));
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    cnn_changed(&params);
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_STALE);
    cnn_train(&f->net, true); /* weights lie packed in training mode too */
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_STALE);
    cnn_eval(&f->net);
    OK(cnn_pack(&params, NULL, 0));
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    assert_memory_equal(f->output, f->expected, sizeof f->expected);
}

static void blocks_off_their_boundary(void **state)
{
    struct fixture *f = *state;
    struct cnn_params params;

    assert_int_equal(cnn_bind(&params, f->block + 4, CNN_PARAM_BYTES), MODC_ALIGNMENT);
    assert_int_equal(cnn_pack(&f->params, f->packed + 4, CNN_PACKED_BYTES), MODC_ALIGNMENT);
    assert_int_equal(cnn_init(&f->net, &f->params, f->workspace + 4, CNN_WORKSPACE_BYTES), MODC_ALIGNMENT);
}

/* A byte or two behind where a float may start. */
static void tensors_off_their_element(void **state)
{
    struct fixture *f = *state;
    char *image = (char *)f->image, *output = (char *)f->output;

    for (int off = 1; off < 4; off++) {
        assert_int_equal(cnn_forward(&f->net, 1, (float *)(void *)(image + off), f->output), MODC_ALIGNMENT);
        assert_int_equal(cnn_forward(&f->net, 1, f->image, (float *)(void *)(output + off)), MODC_ALIGNMENT);
    }
    OK(cnn_forward(&f->net, 1, f->image + 1, f->output + 1));
}

static enum modc_status point_between(struct modc_hook_call *call)
{
    call->outputs[0].data = (char *)call->outputs[0].data + *(int *)call->user;
    return MODC_OK;
}

static void hooks_off_their_element(void **state)
{
    struct fixture *f = *state;
    int off = 2;
    struct modc_hook hook = {.call = point_between, .user = &off};

    OK(cnn_init(&f->net, &f->params, f->workspace, sizeof f->workspace - MODC_ALIGN));
    OK(cnn_register_forward_hook(&f->net, CNN_0, &hook, 0));
    assert_int_equal(cnn_forward(&f->net, 1, f->image, f->output), MODC_ALIGNMENT);
    assert_int_equal(f->net.base.fault_module, CNN_0);
    off = 0;
    OK(cnn_forward(&f->net, 1, f->image, f->output));
    modc_hook_remove(&hook);
}

static void blocks_too_small(void **state)
{
    struct fixture *f = *state;
    struct cnn_params params;

    assert_int_equal(cnn_bind(&params, f->block, CNN_PARAM_BYTES - 1), MODC_SIZE);
    assert_int_equal(cnn_pack(&f->params, f->packed, CNN_PACKED_BYTES - 1), MODC_SIZE);
    OK(cnn_init(&f->net, &f->params, f->workspace, CNN_WORKSPACE_BYTES - 1));
    assert_int_equal(cnn_forward(&f->net, 1, f->image, f->output), MODC_WORKSPACE);
    OK(cnn_init(&f->net, &f->params, f->workspace, CNN_WORKSPACE_BYTES));
    OK(cnn_forward(&f->net, 64, f->image, f->output));
}

static void stream_needs_room_for_its_state(void **state)
{
    static MODC_ALIGNED char block[STREAM_PARAM_BYTES], workspace[STREAM_WORKSPACE_BYTES];
    struct stream_params params;
    struct stream net;

    (void)state;
    OK(stream_bind(&params, block, sizeof block));
    assert_int_equal(stream_init(&net, &params, workspace, STREAM_STATE_BYTES - 1), MODC_WORKSPACE);
    OK(stream_init(&net, &params, workspace, STREAM_STATE_BYTES));
}

static void sizes_out_of_range(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(cnn_forward(&f->net, -1, f->image, f->output), MODC_SIZE);
    assert_int_equal(cnn_forward(&f->net, 65, f->image, f->output), MODC_SIZE);
    for (int i = 0; i < 65 * 10; i++)
        assert_true(f->output[i] == 0);
    OK(cnn_forward(&f->net, 0, f->image, f->output));
    assert_true(f->output[0] == 0);
    OK(cnn_forward(&f->net, 64, f->image, f->output));
    assert_true(f->output[640] == 0);
}

static void pointers(void **state)
{
    struct fixture *f = *state;
    struct cnn_params params;

    assert_int_equal(cnn_forward(&f->net, BATCH, NULL, f->output), MODC_POINTER);
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, NULL), MODC_POINTER);
    assert_int_equal(cnn_bind(&params, NULL, CNN_PARAM_BYTES), MODC_POINTER);
    assert_int_equal(modc_init(&f->net.base, &cnn_model, NULL, f->workspace, sizeof f->workspace),
                     MODC_POINTER);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

/* The state_dict with its key `change` left out or of another shape. */
static void *spoiled(const struct fixture *f, int change, bool leave_out, size_t *length)
{
    struct modc_named_tensor *tensors = calloc((size_t)cnn_model.key_count, sizeof *tensors);
    void *bytes;
    int count = 0;

    assert_non_null(tensors);
    for (int key = 0; key < cnn_model.key_count; key++) {
        if (leave_out && key == change)
            continue;
        tensors[count].name = cnn_model.keys[key].name;
        OK(modc_get_tensor(&f->params.base, key, &tensors[count].tensor));
        if (key == change)
            tensors[count].tensor.dims[0] -= 1;
        count++;
    }
    OK(modc_write_tensors(tensors, count, NULL, 0, length));
    bytes = malloc(*length);
    assert_non_null(bytes);
    OK(modc_write_tensors(tensors, count, bytes, *length, length));
    free(tensors);
    return bytes;
}

static void failed_load_changes_nothing(void **state)
{
    struct fixture *f = *state;
    static MODC_ALIGNED char block[CNN_PARAM_BYTES], before[CNN_PARAM_BYTES];
    struct cnn_params params;
    size_t length;
    int last;

    OK(modc_get_parameter(&cnn_model, "10.bias", &last));
    OK(cnn_bind(&params, block, sizeof block));
    OK(cnn_reset(&params, 11));
    memcpy(before, block, sizeof block);
    for (int leave_out = 0; leave_out < 2; leave_out++) {
        void *bytes = spoiled(f, last, leave_out, &length);
        uint64_t version = params.base.version;

        assert_int_equal(cnn_load_bytes(&params, bytes, length, MODC_STRICT, &f->report), MODC_KEYS);
        assert_int_equal(f->report.missing_count, leave_out);
        assert_int_equal(f->report.fault_count, !leave_out);
        assert_memory_equal(block, before, sizeof block);
        assert_true(params.base.version == version);
        if (leave_out) { /* without MODC_STRICT the rest is loaded */
            OK(cnn_load_bytes(&params, bytes, length, MODC_NON_STRICT, &f->report));
            assert_memory_not_equal(block, before, sizeof block);
        }
        free(bytes);
    }
}

/* ---- training mode ------------------------------------------------------------------------------------- */

static void training_writes_statistics(void **state)
{
    struct fixture *f = *state;
    struct cnn_params fresh;
    static MODC_ALIGNED char block[CNN_PARAM_BYTES], packed[CNN_PACKED_BYTES];
    static MODC_ALIGNED char before[sizeof f->block];
    float mean[16], later[CLASSES];
    int64_t batches = *f->params._1.num_batches_tracked;
    size_t length;
    void *bytes;

    memcpy(mean, f->params._1.running_mean, sizeof mean);
    cnn_train(&f->net, true);
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    assert_true(*f->params._1.num_batches_tracked == batches + 1);
    assert_memory_not_equal(mean, f->params._1.running_mean, sizeof mean);
    OK(cnn_forward(&f->net, BATCH, f->image,
                   f->output)); /* packed weights are still those of the parameters */
    assert_true(*f->params._5.num_batches_tracked == batches + 2);

    cnn_eval(&f->net);
    memcpy(before, f->block, sizeof before);
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, later), MODC_STALE);
    OK(cnn_pack(&f->params, NULL, 0));
    OK(cnn_forward(&f->net, BATCH, f->image, later));
    assert_memory_not_equal(later, f->expected, sizeof later);
    assert_memory_equal(before, f->block, sizeof before);

    bytes = saved(&f->params.base, &length);
    OK(cnn_bind(&fresh, block, sizeof block));
    OK(cnn_load_bytes(&fresh, bytes, length, MODC_STRICT, &f->report));
    OK(cnn_pack(&fresh, packed, sizeof packed));
    OK(cnn_init(&f->net, &fresh, f->workspace, sizeof f->workspace));
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    assert_memory_equal(f->output, later, sizeof later);
    free(bytes);
}

/* ---- hooks --------------------------------------------------------------------------------------------- */

static int calls;

static enum modc_status count_call(struct modc_hook_call *call)
{
    (void)call;
    calls++;
    return MODC_OK;
}

static enum modc_status refuse(struct modc_hook_call *call)
{
    (void)call;
    return MODC_HOOK_ERROR;
}

static enum modc_status double_output(struct modc_hook_call *call)
{
    struct modc_tensor *out = &call->outputs[0];
    float *values = out->data;

    for (int i = 0; i < out->dims[0] * out->dims[1]; i++)
        values[i] *= 2.0f;
    return MODC_OK;
}

static enum modc_status shrink(struct modc_hook_call *call)
{
    call->outputs[0].dims[1] -= 1;
    return MODC_OK;
}

static void failing_hook_leaves_buffers(void **state)
{
    struct fixture *f = *state;
    static char before[sizeof f->block];
    struct modc_hook hook = {.call = refuse}, counter = {.call = count_call};

    memcpy(before, f->block, sizeof before);
    cnn_train(&f->net, true);
    OK(cnn_register_forward_hook(&f->net, CNN_10, &hook, 0));
    OK(cnn_register_forward_hook(&f->net, CNN_5, &counter, 0)); /* both BatchNorms have run by then */
    calls = 0;
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_HOOK_ERROR);
    assert_int_equal(calls, 1);
    assert_int_equal(f->net.base.fault_module, CNN_10);
    assert_memory_equal(before, f->block, sizeof before);
    cnn_eval(&f->net);
    modc_hook_remove(&hook);
    modc_hook_remove(&counter);
    OK(cnn_forward(&f->net, BATCH, f->image, f->output)); /* not stale */
    assert_memory_equal(f->output, f->expected, sizeof f->expected);
}

static void hooks_come_and_go(void **state)
{
    struct fixture *f = *state;
    struct modc_hook hook = {.call = double_output};

    OK(cnn_register_forward_hook(&f->net, CNN_10, &hook, 0));
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    for (int i = 0; i < CLASSES; i++)
        f->output[i] /= 2.0f;
    close_to(f->expected, f->output, CLASSES, 1e-5f);
    modc_hook_remove(&hook);
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    assert_memory_equal(f->output, f->expected, sizeof f->expected);
    assert_int_equal(cnn_register_forward_hook(&f->net, CNN_MODULES, &hook, 0), MODC_INDEX);
}

static void hook_that_changes_dims(void **state)
{
    struct fixture *f = *state;
    struct modc_hook hook = {.call = shrink};

    OK(cnn_register_forward_hook(&f->net, CNN_4, &hook, 0));
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_HOOK_SHAPE);
    assert_int_equal(f->net.base.fault_module, CNN_4);
    assert_string_equal(cnn_model.modules[CNN_4].path, "4");
    modc_hook_remove(&hook);
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
    assert_int_equal(f->net.base.fault_module, -1);
    assert_memory_equal(f->output, f->expected, sizeof f->expected);
}

static void hooked_call_needs_its_workspace(void **state)
{
    struct fixture *f = *state;
    struct modc_hook hook = {.call = count_call};

    OK(cnn_init(&f->net, &f->params, f->workspace, CNN_TRAIN_WORKSPACE_BYTES));
    cnn_train(&f->net, true);
    OK(cnn_register_forward_hook(&f->net, CNN_10, &hook, 0));
    assert_int_equal(cnn_forward(&f->net, BATCH, f->image, f->output), MODC_WORKSPACE);
    modc_hook_remove(&hook);
    OK(cnn_forward(&f->net, BATCH, f->image, f->output));
}

/* ---- state --------------------------------------------------------------------------------------------- */

static void stream_state(void **state)
{
    static MODC_ALIGNED char block[STREAM_PARAM_BYTES], packed[STREAM_PACKED_BYTES];
    static MODC_ALIGNED char workspace[STREAM_TRAIN_FENCED_WORKSPACE_BYTES];
    struct modc_hook hook = {.call = refuse};
    struct stream_params params;
    struct stream net;
    float sample[8] = {0.5f, -1.0f, 2.0f, 0.25f, -0.75f, 1.5f, -2.5f, 1.0f}, first[2], second[2], out[2];
    char before[STREAM_STATE_BYTES];
    int64_t steps = 0;

    (void)state;
    OK(stream_bind(&params, block, sizeof block));
    OK(stream_load(&params, stream_weights, MODC_STRICT, NULL));
    OK(stream_init(&net, &params, workspace, sizeof workspace));
    assert_int_equal(stream_forward(&net, sample, out, &steps), MODC_STALE);
    OK(stream_pack(&params, packed, sizeof packed));
    OK(stream_forward(&net, sample, first, &steps));
    assert_true(steps == 1);

    for (int training = 0; training < 2; training++) { /* `out` runs after every write of the state */
        stream_train(&net, training);
        memcpy(before, workspace, sizeof before);
        OK(stream_register_forward_hook(&net, STREAM_OUT, &hook, 0));
        assert_int_equal(stream_forward(&net, sample, out, &steps), MODC_HOOK_ERROR);
        assert_int_equal(net.base.fault_module, STREAM_OUT);
        assert_memory_equal(before, workspace, sizeof before);
        modc_hook_remove(&hook);
    }
    stream_eval(&net);
    OK(stream_forward(&net, sample, second, &steps));
    assert_true(steps == 2);
    assert_memory_not_equal(first, second, sizeof first);

    modc_reset_state(&net.base);
    OK(stream_forward(&net, sample, out, &steps));
    assert_true(steps == 1);
    assert_memory_equal(out, first, sizeof first);
    OK(stream_forward(&net, sample, out, &steps));
    assert_memory_equal(out, second, sizeof second);
}

/* ---- entries and names --------------------------------------------------------------------------------- */

static void act_is_forward_for_one_row(void **state)
{
    struct modc_params *base;
    struct policy_params *params;
    struct policy *net;
    float observation[8] = {0.1f, -0.7f, 0.03f, 0.9f, -0.2f, 0.4f, 0.15f, -1.1f}, logits[4], value[2], row[2];
    float weight[64 * 64];

    (void)state;
    OK(modc_params_create(&policy_model, &base));
    params = (struct policy_params *)(void *)base;
    OK(policy_load(params, policy_weights, MODC_STRICT, NULL));
    OK(policy_pack(params, NULL, 0));
    OK(policy_create(params, &net));
    OK(policy_forward(net, 2, observation, logits, value));
    for (int i = 0; i < 2; i++) {
        OK(policy_act(net, 1, observation + i * 4, row));
        close_to(logits + i * 2, row, 2, 1e-6f);
    }
    assert_int_equal(policy_act(net, 2, observation, row), MODC_SIZE);

    OK(policy_get(params, "trunk.2.weight", weight));
    assert_memory_equal(weight, params->trunk._2.weight, sizeof weight);
    assert_int_equal(policy_get(params, "trunk.4.weight", weight), MODC_NAME);
    policy_destroy(net);
    modc_params_destroy(base);
}

/* named_parameters are the state_dict's keys in their order, without the buffers. */
static void parameters_in_order(void **state)
{
    static const struct modc_model *const models[] = {&cnn_model, &policy_model, &stream_model};

    (void)state;
    for (int m = 0; m < 3; m++) {
        const struct modc_model *model = models[m];
        struct modc_names it;
        char name[64];
        int key = 0;

        modc_named_parameters(&it, model, 0, "", true, true);
        while (modc_next(&it)) {
            while (key < model->key_count && !(model->keys[key].flags & MODC_KEY_PARAMETER))
                key++;
            assert_int_equal(it.index, key);
            modc_names_text(&it, name, sizeof name);
            assert_string_equal(name, model->keys[key].name);
            key++;
        }
        while (key < model->key_count)
            assert_false(model->keys[key++].flags & MODC_KEY_PARAMETER);
    }
    assert_string_equal(cnn_model.keys[0].name, "0.weight");
    assert_string_equal(cnn_model.keys[4].name, "1.running_mean");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stale_until_packed),
        TEST(blocks_off_their_boundary),
        TEST(tensors_off_their_element),
        TEST(hooks_off_their_element),
        TEST(blocks_too_small),
        TEST(stream_needs_room_for_its_state),
        TEST(sizes_out_of_range),
        TEST(pointers),
        TEST(failed_load_changes_nothing),
        TEST(training_writes_statistics),
        TEST(failing_hook_leaves_buffers),
        TEST(hooks_come_and_go),
        TEST(hook_that_changes_dims),
        TEST(hooked_call_needs_its_workspace),
        TEST(stream_state),
        TEST(act_is_forward_for_one_row),
        TEST(parameters_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
