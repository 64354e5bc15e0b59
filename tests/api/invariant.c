/* invariant.c - rows are the same bits whatever rows are beside them: one by one, in parts, and with other sequences between. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "invariant.h"

enum { TOKENS = 12, VOCABULARY = 60 };

static MODC_ALIGNED char params_block[INVARIANT_PARAM_BYTES], packed[INVARIANT_PACKED_BYTES];
static MODC_ALIGNED char workspace[INVARIANT_WORKSPACE_BYTES];
static struct invariant_params params;
static struct invariant net;
static int64_t pages[3 * 5];

/* Logits of all rows: `count` tokens of sequence 0 from `from` on, and some of another sequence in front of them. */
static void call(int from, int count, int others, int others_from, float *logits)
{
    int64_t token[TOKENS], position[TOKENS], sequence[TOKENS], rows[TOKENS];
    float out[TOKENS * VOCABULARY];

    for (int i = 0; i < others + count; i++) {
        const int at = i < others ? others_from + i : from + i - others;

        token[i] = (at * 17 + (i < others ? 5 : 3)) % VOCABULARY;
        position[i] = at;
        sequence[i] = i < others ? 2 : 0;
        rows[i] = i;
    }
    CHECK(invariant_forward(&net, others + count, others + count, token, position, sequence, pages, rows,
                            out) == MODC_OK);
    memcpy(logits, out + others * VOCABULARY, (size_t)count * VOCABULARY * sizeof *out);
}

int main(void)
{
    static const int parts[][4] = {{1, 1, 1, 1}, {2, 3, 2, 5}, {7, 1, 3, 1}, {4, 4, 2, 2}, {11, 1, 0, 0}};
    float whole[TOKENS * VOCABULARY], part[TOKENS * VOCABULARY];

    for (int i = 0; i < 15; i++)
        pages[i] = 14 - i;
    CHECK(invariant_bind(&params, params_block, sizeof params_block) == MODC_OK);
    CHECK(invariant_reset(&params, 5) == MODC_OK);
    CHECK(invariant_pack(&params, packed, sizeof packed) == MODC_OK);
    CHECK(invariant_init(&net, &params, workspace, sizeof workspace) == MODC_OK);
    call(0, TOKENS, 0, 0, whole);
    for (int k = 0; k < (int)(sizeof parts / sizeof *parts); k++) {
        int others_from = 0;

        for (int at = 0, i = 0; at < TOKENS; i++) {
            int count = i < 4 && parts[k][i] > 0 ? parts[k][i] : 1, others = (i * 5 + k) % 4;

            count = at + count > TOKENS ? TOKENS - at : count;
            others = others + count > TOKENS ? TOKENS - count : others;
            call(at, count, others, others_from, part);
            CHECK(memcmp(part, whole + at * VOCABULARY, (size_t)count * VOCABULARY * sizeof *part) == 0);
            at += count;
            others_from += others;
        }
    }
    return 0;
}
