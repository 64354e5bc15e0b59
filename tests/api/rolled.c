/* rolled.c - each block of a list writes its own buffers, with hooks, without, and where backward is kept for. */
#include "rolled.h"
#include "check.h"

#include <math.h>

static struct rolled_params params;
static struct rolled net;
static MODC_ALIGNED char block[ROLLED_PARAM_BYTES], packed[ROLLED_PACKED_BYTES], workspace[1 << 16];

static enum modc_status look(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

static bool is_near(float a, float b)
{
    return fabsf(a - b) < 1e-5f;
}

/* One call changes every level from 1 to 0.75, and every mean from 0 to a tenth of that of the block's input: 2, and 1 behind
 * another block. */
static void check(void)
{
    static const float x[4] = {1, 3, 3, 1};
    float levels[4], norms[4], level[2], mean[2];
    char key[] = "levels.0.level", other[] = "norms.0.norm.running_mean";

    rolled_reset(&params, 1);
    CHECK_OK(rolled_pack(&params, packed, sizeof packed));
    CHECK_OK(rolled_forward(&net, x, levels, norms));
    for (int i = 0; i < 4; i++)
        CHECK(is_near(levels[i], x[i] * 0.875f * 0.875f * 0.875f)); /* 0.5 * 1 + 0.5 * 0.75 */
    for (char i = 0; i < 3; i++) {
        key[7] = other[6] = (char)('0' + i);
        CHECK_OK(rolled_get(&params, key, level));
        CHECK_OK(rolled_get(&params, other, mean));
        CHECK(is_near(level[0], 0.75f) && is_near(level[1], 0.75f));
        CHECK(is_near(mean[0], i == 0 ? 0.2f : 0.1f) && is_near(mean[1], i == 0 ? 0.2f : 0.1f));
    }
}

int main(void)
{
    struct modc_hook hook = {.call = look};

    CHECK_OK(rolled_bind(&params, block, sizeof block));
    CHECK_OK(rolled_init(&net, &params, workspace, sizeof workspace));
    rolled_train(&net, true);
    check();
    CHECK_OK(rolled_register_forward_hook(&net, ROLLED_ROOT, &hook, 0));
    check();
    return 0;
}
