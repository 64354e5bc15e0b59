/* indices.c - a call with an index outside ends before anything is written, and says which, where and whose. */
#include "check.h"
#include "gather.h"

#include <string.h>

enum { NOTHING = 0x5a, N = 5, M = 4 };

static struct gather_params params;
static struct gather net;
static MODC_ALIGNED char block[GATHER_PARAM_BYTES], workspace[GATHER_FENCED_WORKSPACE_BYTES];
static float x[N * 4 * M], columns[N * N * 2 * M], chosen[N * 3 * M], along[N * 4 * 2], one[4 * M],
    ends[N * 4 * 2], part[N * 2], counted[N], seen[4 * M], rows[N * 2 * M], table[4], clamped[N * 4 * M],
    turned[3 * N * M];
static int64_t i_[N * 2], k_[N * 4 * 2], z;
static int32_t j[3];

static enum modc_status look(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

static enum modc_status call(void)
{
    return gather_forward(&net, N, M, x, i_, j, k_, &z, columns, chosen, along, one, ends, part, counted,
                          seen, rows, table, clamped, turned);
}

/* A call with one wrong index, which is `value` at `position`. */
static void refused(int64_t value, int64_t position)
{
    memset(columns, NOTHING, sizeof columns);
    memset(table, NOTHING, sizeof table);
    CHECK(call() == MODC_INDEX);
    CHECK(net.base.fault_module == GATHER_ROOT && net.base.fault_value == value &&
          net.base.fault_index == position);
    CHECK(memchr(columns, NOTHING, sizeof columns) == columns &&
          memchr(table, NOTHING, sizeof table) == table);
}

int main(void)
{
    struct modc_hook hook = {.call = look};

    for (int e = 0; e < N * 4 * M; e++)
        x[e] = (float)e;
    CHECK_OK(gather_bind(&params, block, sizeof block));
    CHECK_OK(gather_init(&net, &params, workspace, sizeof workspace));
    for (int fenced = 0; fenced < 2; fenced++) {
        if (fenced)
            CHECK_OK(gather_register_forward_hook(&net, GATHER_ROOT, &hook, 0));
        gather_reset_state(&net);
        for (int round = 1; round < N; round++) { /* a call that fails does not count */
            i_[3] = 4;
            refused(4, 3);
            i_[3] = -5;
            refused(-5, 3);
            i_[3] = -4;
            j[2] = -1;
            refused(-1, 2);
            j[2] = 3;
            k_[7] = M;
            refused(M, 7);
            k_[7] = M - 1;
            z = INT64_MIN;
            refused(INT64_MIN, 0);
            z = -N;
            CHECK_OK(call());
            CHECK(seen[0] == (float)(round * 4 * M) && one[0] == 0.0f && counted[N - 1] == 3.0f * N - 2.0f);
        }
        refused(N, 0); /* the counter itself has grown too far; it stays */
        refused(N, 0);
        CHECK(gather_forward(&net, 0, M, x, i_, j, k_, &z, columns, chosen, along, one, ends, part, counted,
                             seen, rows, table, clamped, turned) != MODC_OK);
    }
    return 0;
}
