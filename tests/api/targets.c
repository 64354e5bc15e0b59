/* targets.c - a call with a target that a loss does not take ends before anything is written, and says whose it is. */
#include "targets.h"
#include "check.h"

#include <math.h>
#include <string.h>

static struct targets_params params;
static struct targets net;
static MODC_ALIGNED char block[TARGETS_PARAM_BYTES], packed[TARGETS_PACKED_BYTES],
    workspace[TARGETS_WORKSPACE_BYTES];
static float x[12], p[3] = {0.0f, 0.5f, 1.0f}, var[3] = {0.0f, 1.0f, 2.0f}, losses[3], binary, normal;
static int64_t y[3] = {0, -1, 3}, calls;

static enum modc_status call(void)
{
    return targets_forward(&net, x, y, p, var, losses, &binary, &normal, &calls);
}

static void refused(enum modc_status status, int module, int64_t position)
{
    memset(losses, 0x5a, sizeof losses);
    CHECK(call() == status);
    CHECK(net.base.fault_module == module && net.base.fault_index == position);
    CHECK(memchr(losses, 0x5a, sizeof losses) == losses);
}

int main(void)
{
    CHECK_OK(targets_bind(&params, block, sizeof block));
    CHECK_OK(targets_reset(&params, 1));
    CHECK_OK(targets_pack(&params, packed, sizeof packed));
    CHECK_OK(targets_init(&net, &params, workspace, sizeof workspace));
    CHECK_OK(call());
    CHECK(losses[0] > 0 && losses[1] == 0 && losses[2] > 0 && calls == 1);
    y[1] = 4;
    refused(MODC_INDEX, TARGETS_CLASSES, 1);
    CHECK(net.base.fault_value == 4);
    y[1] = -2;
    refused(MODC_INDEX, TARGETS_CLASSES, 1);
    y[1] = -1;
    p[2] = 1.0000001f;
    refused(MODC_ARGUMENT, TARGETS_BINARY, 2);
    p[2] = NAN;
    refused(MODC_ARGUMENT, TARGETS_BINARY, 2);
    p[2] = 1.0f;
    var[0] = -1e-30f;
    refused(MODC_ARGUMENT, TARGETS_ROOT, 0);
    var[0] = NAN; /* as in PyTorch */
    CHECK_OK(call());
    CHECK(isnan(normal) && calls == 2); /* one that fails does not count */
    return 0;
}
