/* heights.c - a product of weights that do not stay in cache, for any number of rows: each of some is what it is alone, one is the
 * sum in doubles. Nothing is read or written behind the last row. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "heights.h"
#include "heights_narrow.h"
#include "heights_rows.h"
#include "heights_split.h"

enum { ROWS = HEIGHTS_MAX_ROWS, DEPTH = 731, COLUMNS = 730, UNTOUCHED = 0x5a };

static float x[ROWS * DEPTH], z[ROWS * COLUMNS], y[(ROWS + 1) * COLUMNS];
static double expected[ROWS * COLUMNS];

/* To the nearest bfloat16, of two the even one. */
static float stored(float weight, bool narrow)
{
    uint32_t bits;

    if (!narrow)
        return weight;
    memcpy(&bits, &weight, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&weight, &bits, sizeof bits);
    return weight;
}

static void expect(const float *weight, const float *bias, bool narrow)
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            double sum = bias[c];

            for (int k = 0; k < DEPTH; k++)
                sum += (double)x[r * DEPTH + k] * stored(weight[c * DEPTH + k], narrow);
            sum += z[r * COLUMNS + c];
            expected[r * COLUMNS + c] = sum > 0 ? sum : 0;
        }
}

static void compare(int rows)
{
    for (int i = 0; i < rows * COLUMNS; i++)
        CHECK(fabs(y[i] - expected[i]) < 2e-5);
    for (int i = rows * COLUMNS; i < (rows + 1) * COLUMNS; i++) {
        float untouched;

        memset(&untouched, UNTOUCHED, sizeof untouched);
        CHECK(memcmp(y + i, &untouched, sizeof untouched) == 0);
    }
}

#define TRY(name, NAME, narrow)                                                                              \
    do {                                                                                                     \
        static MODC_ALIGNED char block[NAME##_PARAM_BYTES], packed[NAME##_PACKED_BYTES];                     \
        static MODC_ALIGNED char workspace[NAME##_WORKSPACE_BYTES];                                          \
        struct name##_params params;                                                                         \
        struct name net;                                                                                     \
                                                                                                             \
        CHECK_OK(name##_bind(&params, block, sizeof block));                                                 \
        CHECK_OK(name##_reset(&params, 7));                                                                  \
        CHECK_OK(name##_pack(&params, packed, sizeof packed));                                               \
        CHECK_OK(name##_init(&net, &params, workspace, sizeof workspace));                                   \
        expect(params.wide.weight, params.wide.bias, narrow);                                                \
        for (int rows = 0; rows <= ROWS; rows++) {                                                           \
            memset(y, UNTOUCHED, sizeof y);                                                                  \
            CHECK_OK(name##_forward(&net, rows, x, z, y));                                                   \
            compare(rows);                                                                                   \
        }                                                                                                    \
    } while (0)

int main(void)
{
    for (int i = 0; i < ROWS * DEPTH; i++)
        x[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        z[i] = (float)(i * 53 % 97) / 97 - 0.5f;
    TRY(heights, HEIGHTS, false);
    TRY(heights_narrow, HEIGHTS_NARROW, true);
    TRY(heights_split, HEIGHTS_SPLIT, false); /* by columns */
    TRY(heights_rows, HEIGHTS_ROWS, false);
    return 0;
}
