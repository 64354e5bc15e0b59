/* truth.c - bytes of bools that are neither 0 nor 1 are true, as in PyTorch, from memory and from a file; UBSan watches. */
#include "truth.h"
#include "check.h"

#include <string.h>

enum { MOST = 48, BYTES = 1024, SIDE = 4, CELLS = SIDE * SIDE };

static char results[2][MOST][BYTES];

static enum modc_status look(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

/* Twice, so that the state comes from these inputs. */
static void call(struct truth *net, const unsigned char *mask, const unsigned char *other, int turn)
{
    const struct modc_entry *entry = &truth_model.entries[0];
    float x[CELLS];
    const void *inputs[] = {mask, other, x};
    void *outputs[MOST];

    for (int i = 0; i < CELLS; i++)
        x[i] = (float)(i * 7 % 5) - 1.5f;
    for (int i = 0; i < entry->output_count; i++)
        outputs[i] = results[turn][i];
    for (int i = 0; i < 2; i++)
        CHECK_OK(entry->call(&net->base, NULL, inputs, outputs));
}

/* As it would be with 1 in place of every byte but 0. */
static void check(struct truth *net)
{
    unsigned char bytes[2][CELLS], truths[2][CELLS];

    for (int i = 0; i < CELLS; i++) {
        bytes[0][i] = (unsigned char)(i % 3 == 0 ? 0 : 1 << i % 8);
        bytes[1][i] = (unsigned char)(i % 4 == 0 ? 0 : 255 - i);
        truths[0][i] = bytes[0][i] != 0;
        truths[1][i] = bytes[1][i] != 0;
    }
    memset(results, 0, sizeof results);
    call(net, truths[0], truths[1], 0);
    call(net, bytes[0], bytes[1], 1);
    for (int i = 0; i < truth_model.entries[0].output_count; i++)
        CHECK(memcmp(results[0][i], results[1][i], BYTES) == 0);
}

static struct truth_params params;
static struct truth net;
static MODC_ALIGNED char block[TRUTH_PARAM_BYTES], packed[TRUTH_PACKED_BYTES],
    workspace[TRUTH_FENCED_WORKSPACE_BYTES], file[8192];

int main(void)
{
    struct modc_hook hook = {.call = look};
    unsigned char keep[SIDE];
    char *in_block;
    size_t length;

    CHECK(truth_model.entries[0].output_count <= MOST);
    CHECK_OK(truth_bind(&params, block, sizeof block));
    truth_reset(&params, 1);
    CHECK_OK(truth_pack(&params, packed, sizeof packed));
    CHECK_OK(truth_init(&net, &params, workspace, sizeof workspace));
    check(&net);
    CHECK_OK(truth_register_forward_hook(&net, TRUTH_ROOT, &hook, 0));
    check(&net);

    /* What a file has for `keep` is 0 or 1 in memory. */
    in_block = block + ((const char *)params.keep - block);
    memcpy(in_block, "\2\0\377\1", SIDE);
    CHECK_OK(truth_save_bytes(&params, file, sizeof file, &length));
    CHECK_OK(truth_load_bytes(&params, file, length, MODC_STRICT, NULL));
    CHECK_OK(truth_get(&params, "keep", keep));
    CHECK(memcmp(keep, "\1\0\1\1", SIDE) == 0 && memcmp(in_block, keep, SIDE) == 0);
    return 0;
}
