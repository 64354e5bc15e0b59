/* bags.c - offsets of bags begin at 0, do not fall and do not pass the end, as PyTorch has it. */
#include "bags.h"
#include "check.h"

#include <string.h>

static struct bags_params params;
static struct bags net;
static MODC_ALIGNED char block[BAGS_PARAM_BYTES], packed[BAGS_PACKED_BYTES], workspace[1 << 16];

struct trial {
    int count;
    int32_t offsets[4];
    enum modc_status status;
};

int main(void)
{
    static const int32_t ids[] = {1, 2, 3, 4, 5, 6};
    static const struct trial trials[] = {
        {3, {0, 2, 4}, MODC_OK},
        {3, {0, 0, 6}, MODC_OK},
        {2, {0, 5}, MODC_OK},
        {4, {0, 2, 2, 5}, MODC_OK},
        {1, {0}, MODC_OK},
        {3, {1, 2, 4}, MODC_INDEX},
        {3, {-1, 2, 4}, MODC_INDEX},
        {3, {0, 4, 2}, MODC_INDEX},
        {3, {0, -1, 2}, MODC_INDEX},
        {4, {0, 3, 3, 2}, MODC_INDEX},
        {2, {0, 7}, MODC_INDEX},
        {1, {6}, MODC_INDEX},
        {2, {0, INT32_MAX}, MODC_INDEX},
        {1, {INT32_MIN}, MODC_INDEX},
        {1, {1}, MODC_INDEX},
    };
    float sums[8], most[8], ends[8];

    CHECK(sizeof workspace >= BAGS_WORKSPACE_BYTES && sizeof workspace >= BAGS_CLOSED_WORKSPACE_BYTES);
    CHECK_OK(bags_bind(&params, block, sizeof block));
    bags_reset(&params, 1);
    CHECK_OK(bags_pack(&params, packed, sizeof packed));
    CHECK_OK(bags_init(&net, &params, workspace, sizeof workspace));
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const struct trial *trial = &trials[i];

        CHECK(bags_forward(&net, 6, trial->count, ids, trial->offsets, sums, most) == trial->status);
        CHECK(bags_closed(&net, 6, trial->count, ids, trial->offsets, ends) == trial->status);
    }
    CHECK(bags_forward(&net, 0, 1, ids, trials[4].offsets, sums, most) == MODC_OK && sums[0] == 0);
    CHECK(bags_forward(&net, 0, 1, ids, trials[14].offsets, sums, most) == MODC_INDEX);
    return 0;
}
