/* sizes.c - sizes for which PyTorch would refuse a call are refused before anything is read or written. */
#include "check.h"
#include "reach.h"

#include <string.h>

enum { NOTHING = 0x5a };

static enum modc_status look(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

int main(void)
{
    static MODC_ALIGNED char block[REACH_PARAM_BYTES], packed[REACH_PACKED_BYTES];
    static MODC_ALIGNED char workspace[REACH_TRAIN_FENCED_WORKSPACE_BYTES];
    static float x[6 * 4], image[2 * 3 * 8 * 8], a[4], sum[4], y[2 * 4 * 3 * 3];
    struct reach_params params;
    struct reach net;
    struct modc_hook hook = {.call = look};

    CHECK_OK(reach_bind(&params, block, sizeof block));
    CHECK_OK(reach_reset(&params, 1));
    CHECK_OK(reach_pack(&params, packed, sizeof packed));
    CHECK_OK(reach_init(&net, &params, workspace, sizeof workspace));
    for (int mode = 0; mode < 4; mode++) { /* eval and train; fused and fenced */
        reach_train(&net, mode & 1);
        CHECK_OK(reach_pack(&params, packed, sizeof packed)); /* with the statistics that training has left */
        if (mode == 2)
            CHECK_OK(reach_register_forward_hook(&net, REACH_CONV, &hook, 0));
        for (int rows = -1; rows <= 7; rows++) {
            for (int height = -1; height <= 9; height++) {
                bool fits = rows >= (mode & 1 ? 2 : 1) && rows <= 6 && height >= 4 && height <= 8;

                memset(a, NOTHING, sizeof a);
                memset(y, NOTHING, sizeof y);
                CHECK(reach_forward(&net, rows, height, x, image, a, sum, y) == (fits ? MODC_OK : MODC_SIZE));
                CHECK((memchr(a, NOTHING, sizeof a) == a) == !fits);
                CHECK((memchr(y, NOTHING, sizeof y) == y) == !fits);
            }
        }
    }
    return 0;
}
