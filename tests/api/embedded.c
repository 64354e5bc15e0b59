/* embedded.c - weights inside the program: the same results and tensors as those of the file they came from. */
#include "check.h"
#include "cnn.h"
#include "llama.h"
#include "policy.h"
#include "tables.h"

#include <math.h>
#include <string.h>

enum { BATCH = 5, ROOM = 4096 };

static void *room(size_t bytes)
{
    void *block = NULL;

    CHECK(posix_memalign(&block, MODC_ALIGN, bytes + MODC_ALIGN) == 0);
    memset(block, 0, bytes + MODC_ALIGN);
    return block;
}

/* One call of an entry at BATCH rows of input that repeats itself. */
static void call(struct modc_context *net, int entry, int batch, float out[2][ROOM])
{
    static float in[ROOM];
    const void *inputs[] = {in};
    void *outputs[] = {out[0], out[1]};

    for (int i = 0; i < ROOM; i++)
        in[i] = (float)((i * 37) % 101) / 101.0f - 0.25f;
    memset(out, 0, 2 * sizeof *out);
    CHECK_OK(net->model->entries[entry].call(net, &batch, inputs, outputs));
}

static void same_tensors(const struct modc_params *params, const char *file)
{
    struct modc_reader saved, original;
    struct modc_item item, other;
    const void *bytes;
    size_t length, own;
    int count = 0;
    void *written;

    CHECK_OK(modc_map(file, &bytes, &length));
    CHECK_OK(modc_save_bytes(params, NULL, 0, &own));
    written = room(own);
    CHECK(modc_save_bytes(params, (char *)written + 2, own, &own) == MODC_ALIGNMENT);
    CHECK_OK(modc_save_bytes(params, written, own, &own));
    CHECK_OK(modc_reader_open(&original, bytes, length, NULL));
    CHECK_OK(modc_reader_open(&saved, written, own, NULL));
    CHECK(saved.count == original.count && saved.count > 0);
    for (int key = 0; key < params->model->key_count; key++) { /* unpacked, or copied from where it lies */
        struct modc_tensor tensor;

        CHECK_OK(modc_get_tensor(params, key, &tensor));
        CHECK(modc_get(params, key, (char *)written + 1) == (tensor.data ? MODC_OK : MODC_ALIGNMENT));
    }
    CHECK_OK(modc_save_bytes(params, written, own, &own));
    for (size_t at = 0; modc_reader_next(&original, &at, &item); count++) {
        char name[256];

        modc_item_name(&item, name, sizeof name);
        CHECK(modc_reader_find(&saved, name, &other));
        CHECK(other.dtype == item.dtype && other.ndim == item.ndim && other.bytes == item.bytes);
        CHECK(memcmp(other.dims, item.dims, sizeof *item.dims * (size_t)item.ndim) == 0);
        CHECK(memcmp(other.data, item.data, item.bytes) == 0);
    }
    CHECK((size_t)count == original.count);
    free(written);
    modc_unmap(bytes, length);
}

static void check(const struct modc_model *model, struct modc_params *embedded, const char *file)
{
    static float expected[2][ROOM], found[2][ROOM];
    struct modc_params *loaded;
    struct modc_context *one, *other;
    const float tolerance = model->rtol > 0 ? 1e-5f : 1e-6f; /* embedded weights are folded in double */

    CHECK(embedded->read_only);
    CHECK_OK(modc_params_create(model, &loaded));
    CHECK_OK(modc_load(loaded, file, MODC_STRICT, NULL));
    CHECK_OK(modc_pack(loaded, NULL, 0));
    CHECK_OK(modc_create(model, loaded, 0, &one));
    CHECK_OK(modc_create(model, embedded, 0, &other));
    for (int entry = 0; entry < model->entry_count; entry++) {
        int batch = model->entries[entry].max_sizes[0] < BATCH ? model->entries[entry].max_sizes[0] : BATCH;

        call(one, entry, batch, expected);
        call(other, entry, batch, found);
        for (int i = 0; i < 2 * ROOM; i++)
            CHECK(fabsf(found[i / ROOM][i % ROOM] - expected[i / ROOM][i % ROOM]) <=
                  tolerance * fmaxf(1.0f, fabsf(expected[i / ROOM][i % ROOM])));
    }
    same_tensors(embedded, file);
    CHECK(modc_load(embedded, file, MODC_STRICT, NULL) == MODC_READ_ONLY);
    CHECK(modc_reset(embedded, 0) == MODC_READ_ONLY);
    modc_destroy(one);
    modc_destroy(other);
    modc_params_destroy(loaded);
}

int main(void)
{
    static struct cnn_params cnn;
    static struct policy_params policy;
    static struct tables_params tables;
    static struct llama_params llama;
    static float image[64], output[10];
    struct cnn *net;

    CHECK_OK(cnn_bind_embedded(&cnn));
    check(&cnn_model, &cnn.base, "specs/digits/weights_cnn.safetensors");
    CHECK_OK(policy_bind_embedded(&policy));
    check(&policy_model, &policy.base, "specs/cartpole/weights.safetensors");

    CHECK_OK(tables_bind_embedded(&tables)); /* with a large constant behind the tensors */
    check(&tables_model, &tables.base, "build/vectors/tables_3/weights.safetensors");

    CHECK_OK(llama_bind_embedded(&llama)); /* blocks of a class that hold another one each */
    same_tensors(&llama.base, "tests/generation/llama.safetensors");

    CHECK_OK(cnn_create(&cnn, &net));
    cnn_train(net, true);
    CHECK(cnn_forward(net, 1, image, output) == MODC_READ_ONLY);
    cnn_eval(net);
    CHECK_OK(cnn_forward(net, 1, image, output));
    cnn_destroy(net);
    return 0;
}
