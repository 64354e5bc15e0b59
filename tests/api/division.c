/* division.c - a call that would divide integers by 0 ends before anything is written, and says where the 0 is. */
#include "division.h"
#include "check.h"

#include <string.h>

static struct division_params params;
static struct division net;
static MODC_ALIGNED char block[DIVISION_PARAM_BYTES + 1], workspace[DIVISION_WORKSPACE_BYTES];
static int64_t i_[4] = {-7, 7, 300, 257}, rest[4], both[4], calls;
static uint8_t u[4] = {2, 3, 4, 5}, narrow[4];
static int16_t h[4] = {2, -2, 7, -1};

static enum modc_status call(void)
{
    return division_forward(&net, i_, u, h, rest, narrow, both, &calls);
}

static void refused(int64_t position)
{
    memset(rest, 0x5a, sizeof rest);
    CHECK(call() == MODC_DIVISION);
    CHECK(net.base.fault_module == DIVISION_ROOT && net.base.fault_index == position &&
          net.base.fault_value == 0);
    CHECK(rest[0] == 0x5a5a5a5a5a5a5a5a);
}

int main(void)
{
    CHECK_OK(division_bind(&params, block, sizeof block));
    CHECK_OK(division_init(&net, &params, workspace, sizeof workspace));
    CHECK_OK(call());
    CHECK(rest[0] == -1 && rest[1] == 1 && rest[2] == 0 && rest[3] == 2);
    CHECK(narrow[0] == 0 && narrow[2] == 0 && narrow[3] == 5); /* by 249, 44 and 1 */
    CHECK(both[0] == -4 + 1 && both[1] == -4 - 1 && both[2] == 42 + 6 && both[3] == -257 && calls == 1);
    u[3] = 0;
    refused(3);
    u[3] = 5;
    h[1] = 0;
    refused(1);
    h[1] = -2;
    i_[2] = 256; /* 0 as a byte */
    refused(2);
    i_[2] = 300;
    CHECK_OK(call());
    CHECK(calls == 2); /* one that fails does not count */
    return 0;
}
