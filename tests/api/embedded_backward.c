/* embedded_backward.c - backward with weights inside the program, which lie there once, packed for forward: the same gradients as
 * those of parameters that lie as PyTorch has them; with hooks, too. */
#include "check.h"
#include "folded.h"
#include "folded_in.h"
#include "rows.h"
#include "rows_in.h"

#include <math.h>
#include <string.h>

enum { ROOM = 1 << 14 };

static float numbers[ROOM];

/* What one context gives. */
struct results {
    float inputs[2][ROOM], gradients[ROOM];
};

static struct results expected, found;

static enum modc_status look(struct modc_hook_call *call)
{
    ++*(int *)call->user;
    return MODC_OK;
}

/* Forward and backward in evaluation mode, all gradients one behind the other; how many numbers there are. */
static int run(const struct modc_model *model, const struct modc_params *params, bool hooked,
               struct results *results)
{
    static float outputs[4][ROOM];
    const struct modc_entry *entry = &model->entries[0];
    const int sizes[] = {2, 3};
    const void *inputs[] = {numbers, numbers + 50},
               *given[] = {numbers, numbers + 100, numbers + 200, numbers + 300};
    void *wanted[] = {results->inputs[0], results->inputs[1]},
         *out[] = {outputs[0], outputs[1], outputs[2], outputs[3]};
    struct modc_context *net;
    struct modc_training *training;
    int calls = 0, count = 0;
    struct modc_hook hook = {.call = look, .user = &calls};

    memset(results, 0, sizeof *results);
    CHECK(entry->input_count <= 2 && entry->output_count <= 4);
    CHECK_OK(modc_create(model, (struct modc_params *)params, 0, &net));
    CHECK_OK(modc_training_create(net, &training));
    modc_train(net, false);
    if (hooked)
        CHECK_OK(modc_register_forward_hook(net, 0, &hook, 0));
    CHECK_OK(entry->call(net, sizes, inputs, out));
    CHECK_OK(entry->backward(net, sizes, given, wanted));
    CHECK(calls == hooked);
    for (int i = 0; i < model->gradient_count; i++) {
        const struct modc_key *key = &model->keys[modc_gradient_key(model, i)];
        const float *gradient = modc_gradient_at(training, i);
        int length = 1;

        for (int d = 0; d < key->ndim; d++)
            length *= key->dims[d];
        CHECK(count + length <= ROOM);
        for (int k = 0; k < length && gradient; k++)
            results->gradients[count + k] = gradient[k];
        count += length;
    }
    if (hooked)
        modc_hook_remove(&hook);
    modc_training_destroy(training);
    modc_destroy(net);
    return count;
}

static void same(const float *a, const float *b)
{
    float largest = 0;

    for (int i = 0; i < ROOM; i++)
        largest = fmaxf(largest, fabsf(b[i]));
    CHECK(largest > 0);
    for (int i = 0; i < ROOM; i++)
        CHECK(fabsf(a[i] - b[i]) <= 1e-5f * largest);
}

static void check(const struct modc_model *model, const char *file, const struct modc_model *inside,
                  const struct modc_params *embedded, int hooks)
{
    struct modc_params *loaded;

    CHECK_OK(modc_params_create(model, &loaded));
    CHECK_OK(modc_load(loaded, file, MODC_STRICT, NULL));
    CHECK_OK(modc_pack(loaded, NULL, 0));
    for (int hooked = 0; hooked <= hooks; hooked++) {
        CHECK(run(model, loaded, hooked, &expected) == run(inside, embedded, hooked, &found));
        same(found.inputs[0], expected.inputs[0]);
        if (model->entries[0].input_count > 1)
            same(found.inputs[1], expected.inputs[1]);
        same(found.gradients, expected.gradients);
    }
    modc_params_destroy(loaded);
}

int main(void)
{
    static struct folded_in_params folded;
    static struct rows_in_params rows;

    for (int i = 0; i < ROOM; i++)
        numbers[i] = (float)((i * 37) % 101) / 101.0f - 0.25f;
    CHECK_OK(folded_in_bind_embedded(&folded));
    check(&folded_model, "build/vectors/layers_folded/weights.safetensors", &folded_in_model, &folded.base,
          0);
    CHECK_OK(rows_in_bind_embedded(&rows));
    check(&rows_model, "build/vectors/blocks16_32/weights.safetensors", &rows_in_model, &rows.base, 1);
    CHECK(ROWS_IN_EMBEDDED_BYTES < 3 * ROWS_PARAM_BYTES / 2);
    return 0;
}
