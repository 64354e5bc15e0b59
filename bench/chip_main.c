/* chip_main.c - what bench/chip counts: CALLS calls of a model with embedded weights, with other bytes each time, on qemu-arm, which has
 * Linux around a Cortex-M4's instructions. Exit status: 0, or that something failed. */
#include HEADER

#include "../tests/api/chip_start.h"

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)

enum { MOST = 65536 }; /* bytes of an input, of an output */

static struct JOIN(MODEL, _params) params;
static struct MODEL net;
static MODC_ALIGNED char workspace[JOIN(CAPITALS, _WORKSPACE_BYTES)];
static MODC_ALIGNED unsigned char inputs[MOST], outputs[4][MOST];

static int run(void)
{
    const struct modc_entry *entry = &JOIN(MODEL, _model).entries[0];
    const int sizes[] = {1};
    const void *in[] = {inputs};
    void *out[] = {outputs[0], outputs[1], outputs[2], outputs[3]};
    unsigned random = 1;

    if (JOIN(MODEL, _bind_embedded)(&params) != MODC_OK ||
        JOIN(MODEL, _init)(&net, &params, workspace, sizeof workspace) != MODC_OK ||
        entry->input_count != 1 || entry->output_count > 4)
        return 1;
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < MOST;
             i += 512) { /* few instructions beside the model's: others stay as they are */
            random = random * 1664525u + 1013904223u;
            inputs[i + (int)(random >> 26)] = (unsigned char)(random >> 16);
        }
        if (entry->call(&net.base, sizes, in, out) != MODC_OK)
            return 2;
    }
    return 0;
}
