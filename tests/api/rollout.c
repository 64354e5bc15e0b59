/* rollout.c - n-step returns and windows against the definition, written from the formula: random episodes, in exact memory, so
 * that a sanitizer sees what is read or written too much; calls that are refused leave everything as it was. */
#include "rollout.h"
#include "agents.h"
#include "check.h"

#include <math.h>
#include <string.h>

static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * below >> 32);
}

/* ---- rollouts of any model, by its table ---------------------------------------------------------------------- */

struct copy {
    const struct modc_rollout_table *table;
    void *rollout;
    size_t bytes; /* of the struct of pointers */
    unsigned char *data[32];
    int batch, time;
};

static struct copy make(const struct modc_rollout_table *table, size_t bytes, int batch, int time)
{
    struct copy copy = {
        .table = table, .rollout = calloc(1, bytes), .bytes = bytes, .batch = batch, .time = time};

    CHECK(copy.rollout && table->count <= 32);
    for (int i = 0; i < table->count; i++) {
        size_t own = table->tensors[i].bytes * (size_t)batch * (size_t)time;

        copy.data[i] = calloc(own > 0 ? own : 1, 1);
        CHECK(copy.data[i]);
        memcpy((char *)copy.rollout + table->tensors[i].at, &copy.data[i], sizeof copy.data[i]);
    }
    return copy;
}

static void drop(struct copy *copy)
{
    for (int i = 0; i < copy->table->count; i++)
        free(copy->data[i]);
    free(copy->rollout);
}

static void fill(struct copy *copy, uint32_t ends)
{
    for (int i = 0; i < copy->table->count; i++) {
        const struct modc_rollout_tensor *tensor = &copy->table->tensors[i];
        size_t each = modc_dtype_bytes(tensor->dtype),
               count = tensor->bytes / each * (size_t)copy->batch * (size_t)copy->time;

        for (size_t e = 0; e < count && tensor->role < MODC_ROLLOUT_ORIGINAL; e++) {
            if (tensor->dtype == MODC_BOOL)
                ((bool *)copy->data[i])[e] = i == copy->table->mask ? draw(4) > 0 : draw(100) < ends;
            else if (tensor->dtype == MODC_FLOAT32)
                ((float *)copy->data[i])[e] = (float)draw(4000) / 1000 - 2;
            else if (tensor->dtype == MODC_FLOAT64)
                ((double *)copy->data[i])[e] = (double)draw(4000) / 1000 - 2;
            else
                memset(copy->data[i] + e * each, (int)draw(256), each);
        }
    }
}

/* Steps of a row from `from` on into those of another copy from `to` on. */
static void move(const struct copy *a, int from, struct copy *b, int to, int row, int steps)
{
    for (int i = 0; i < a->table->count; i++) {
        size_t each = a->table->tensors[i].bytes;

        memcpy(b->data[i] + ((size_t)row * (size_t)b->time + (size_t)to) * each,
               a->data[i] + ((size_t)row * (size_t)a->time + (size_t)from) * each, each * (size_t)steps);
    }
}

/* ---- the definition -------------------------------------------------------------------------------------------- */

static bool is_near(double value, double expected, enum modc_dtype dtype)
{
    return fabs(value - expected) <= (dtype == MODC_FLOAT32 ? 2e-5 : 1e-12) * (1 + fabs(expected));
}

/* The element e of what a tensor has for an agent at a step. */
static const unsigned char *at(const struct copy *copy, int tensor, int row, int t, int agent, size_t e)
{
    const struct modc_rollout_tensor *own = &copy->table->tensors[tensor];
    size_t step = (size_t)row * (size_t)copy->time + (size_t)t,
           part = own->bytes / (size_t)copy->table->agents;

    return copy->data[tensor] + step * own->bytes + (size_t)agent * part + e * modc_dtype_bytes(own->dtype);
}

static double number(const unsigned char *data, enum modc_dtype dtype)
{
    float narrow;
    double wide;

    memcpy(&narrow, data, sizeof narrow);
    if (dtype == MODC_FLOAT32)
        return narrow;
    memcpy(&wide, data, sizeof wide);
    return wide;
}

static int64_t whole(const unsigned char *data)
{
    int64_t found;

    memcpy(&found, data, sizeof found);
    return found;
}

/* The window of a step: how many steps it reaches further. */
static int reach(const struct copy *copy, int row, int t, int agent)
{
    int k = 0;

    while (k + 1 < copy->table->n_steps && t + k + 1 < copy->time &&
           !*at(copy, copy->table->done, row, t + k, agent, 0))
        k++;
    return k;
}

static void check_step(const struct copy *was, const struct copy *is, int row, int t, int agent)
{
    const struct modc_rollout_table *table = was->table;
    const int k = reach(was, row, t, agent);

    for (int i = 0; i < table->count; i++) {
        const struct modc_rollout_tensor *tensor = &table->tensors[i];
        const size_t each = modc_dtype_bytes(tensor->dtype), bytes = tensor->bytes / (size_t)table->agents;
        const unsigned char *got = at(is, i, row, t, agent, 0);

        switch (tensor->role) {
        case MODC_ROLLOUT_STAYS:
            CHECK(memcmp(got, at(was, i, row, t, agent, 0), bytes) == 0);
            break;
        case MODC_ROLLOUT_MOVES:
            CHECK(memcmp(got, at(was, i, row, t + k, agent, 0), bytes) == 0);
            break;
        case MODC_ROLLOUT_REWARD:
            for (size_t e = 0; e < bytes / each; e++) {
                double sum = 0;

                for (int j = 0; j <= k; j++)
                    sum += pow(table->gamma, j) * number(at(was, i, row, t + j, agent, e), tensor->dtype);
                CHECK(is_near(number(got + e * each, tensor->dtype), sum, tensor->dtype));
            }
            break;
        case MODC_ROLLOUT_ORIGINAL:
            CHECK(memcmp(got, at(was, tensor->reward, row, t, agent, 0), bytes) == 0);
            break;
        case MODC_ROLLOUT_GAMMA:
            CHECK(is_near(number(got, tensor->dtype), pow(table->gamma, k + 1), tensor->dtype));
            break;
        case MODC_ROLLOUT_STEPS:
            CHECK(whole(got) == k + 1);
            break;
        case MODC_ROLLOUT_NONTERMINAL:
            CHECK(*got == (k > 0 && (table->mask < 0 || *at(was, table->mask, row, t, agent, 0))));
            break;
        case MODC_ROLLOUT_INDEX:
            CHECK(whole(got) == t + k);
            break;
        case MODC_ROLLOUT_DONE_AT:
            CHECK(*got == *at(was, table->done, row, t + k, agent, 0));
            break;
        case MODC_ROLLOUT_TERMINATED_AT:
            CHECK(*got == *at(was, table->terminated, row, t + k, agent, 0));
            break;
        }
    }
}

static void check_all(const struct copy *was, const struct copy *is)
{
    for (int row = 0; row < was->batch; row++)
        for (int t = 0; t < was->time; t++)
            for (int agent = 0; agent < was->table->agents; agent++)
                check_step(was, is, row, t, agent);
}

static bool is_same(const struct copy *a, const struct copy *b)
{
    for (int i = 0; i < a->table->count; i++)
        if (memcmp(a->data[i], b->data[i], a->table->tensors[i].bytes * (size_t)a->batch * (size_t)a->time) !=
            0)
            return false;
    return true;
}

static struct copy same_as(const struct copy *other)
{
    struct copy copy = make(other->table, other->bytes, other->batch, other->time);

    for (int row = 0; row < other->batch && other->time > 0; row++)
        move(other, 0, &copy, 0, row, other->time);
    return copy;
}

/* ---- cases ------------------------------------------------------------------------------------------------------ */

static void check_batch(const struct modc_rollout_table *table, size_t bytes, int batch, int time,
                        uint32_t ends)
{
    struct copy was = make(table, bytes, batch, time), is;

    fill(&was, ends);
    is = same_as(&was);
    CHECK_OK(modc_n_step(table, is.rollout, batch, time));
    check_all(&was, &is);
    drop(&was);
    drop(&is);
}

/* Fed in pieces, then flushed: every step comes out once, in order, with its window. */
static void check_pieces(const struct modc_rollout_table *table, size_t bytes, int batch, int time,
                         uint32_t ends)
{
    struct copy was = make(table, bytes, batch, time), is = make(table, bytes, batch, time);
    size_t room = table->held_bytes * (size_t)table->n_steps * (size_t)batch;
    unsigned char *block = malloc(room > 0 ? room : 1);
    struct modc_window window;
    int given = 0, taken = 0, count;

    fill(&was, ends);
    CHECK(block && modc_window_init(&window, table, batch, block, room) == MODC_OK);
    while (taken < time) {
        int steps = given < time ? (int)draw((uint32_t)(time - given) + 1) : 0;
        struct copy piece = make(table, bytes, batch, steps);
        int ready = given < time ? modc_window_ready(&window, steps) : window.held;
        struct copy out = make(table, bytes, batch, ready);

        for (int row = 0; row < batch && steps > 0; row++)
            move(&was, given, &piece, 0, row, steps);
        count = -1;
        if (ready > 0)
            CHECK((given < time
                       ? modc_window_push(&window, piece.rollout, steps, out.rollout, ready - 1, &count)
                       : modc_window_flush(&window, out.rollout, ready - 1, &count)) == MODC_SIZE &&
                  count == -1);
        CHECK_OK(given < time ? modc_window_push(&window, piece.rollout, steps, out.rollout, ready, &count)
                              : modc_window_flush(&window, out.rollout, ready, &count));
        CHECK(count == ready);
        for (int row = 0; row < batch && count > 0; row++)
            move(&out, 0, &is, taken, row, count);
        given += steps;
        taken += count;
        drop(&piece);
        drop(&out);
    }
    check_all(&was, &is);
    drop(&was);
    drop(&is);
    free(block);
}

static void check_refusals(void)
{
    struct copy was = make(&rollout_rollout_table, sizeof(struct rollout_rollout), 2, 5), is;
    struct rollout_rollout changed, *own;
    struct modc_window window;
    unsigned char block[ROLLOUT_WINDOW_BYTES(1)];
    int count = -1;

    fill(&was, 30);
    is = same_as(&was);
    own = is.rollout;
    changed = *own;
    changed.next.reward = NULL;
    CHECK(rollout_n_step(&changed, 2, 5) == MODC_POINTER);
    changed = *own;
    changed.next.short_ = NULL;
    CHECK(rollout_n_step(&changed, 2, 5) == MODC_POINTER);
    changed = *own;
    changed.next.done = NULL;
    CHECK(rollout_n_step(&changed, 2, 5) == MODC_POINTER);
    changed = *own;
    changed.next.terminated = NULL; /* which says how windows end */
    CHECK(rollout_n_step(&changed, 2, 5) == MODC_POINTER);
    changed = *own;
    changed.next.reward = (float *)(void *)((char *)own->next.reward + 1);
    CHECK(rollout_n_step(&changed, 2, 1) == MODC_ALIGNMENT);
    CHECK(rollout_n_step(NULL, 2, 5) == MODC_POINTER && rollout_n_step(own, -1, 5) == MODC_SIZE &&
          rollout_n_step(own, 2, -1) == MODC_SIZE);
    CHECK(rollout_n_step(own, INT32_MAX, INT32_MAX) == MODC_SIZE);
    CHECK_OK(rollout_n_step(own, 0, 5));
    CHECK_OK(rollout_n_step(own, 2, 0));
    CHECK(is_same(&was, &is));
    changed = *own;
    changed.default_ = NULL; /* nothing reads it */
    changed.valid = NULL;    /* every step counts */
    changed.gamma = NULL;
    changed.next.original_reward = NULL;
    CHECK_OK(rollout_n_step(&changed, 2, 5));

    CHECK(modc_window_init(&window, &rollout_rollout_table, 1, block, sizeof block - 1) == MODC_SIZE);
    CHECK(modc_window_init(&window, &rollout_rollout_table, 1, NULL, sizeof block) == MODC_POINTER);
    CHECK(modc_window_init(&window, &rollout_rollout_table, -1, block, sizeof block) == MODC_SIZE);
    CHECK_OK(modc_window_init(&window, &rollout_rollout_table, 1, block, sizeof block));
    CHECK(modc_window_set(&window, 0) == MODC_ARGUMENT && modc_window_set(&window, 5) == MODC_ARGUMENT);
    CHECK(modc_window_push(&window, NULL, 1, NULL, 0, &count) == MODC_POINTER);
    CHECK(modc_window_push(&window, own, -1, NULL, 0, &count) == MODC_SIZE && count == -1);
    CHECK(modc_window_push(&window, own, 5, NULL, 1, &count) == MODC_POINTER); /* a step would come out */
    CHECK_OK(modc_window_push(&window, own, 4, NULL, 0, &count));
    CHECK(count == 0 && window.held == 4);
    drop(&was);
    drop(&is);
}

static void check_bind(void)
{
    static MODC_ALIGNED unsigned char block[ROLLOUT_ROLLOUT_BYTES(3, 7)];
    struct rollout_rollout rollout = {0}, before = rollout;

    CHECK(rollout_rollout_bind(&rollout, block, 100, 3, 7) == MODC_SIZE &&
          memcmp(&rollout, &before, sizeof rollout) == 0);
    CHECK(rollout_rollout_bind(&rollout, block + 1, sizeof block - 1, 3, 7) == MODC_ALIGNMENT);
    CHECK(rollout_rollout_bind(&rollout, NULL, sizeof block, 3, 7) == MODC_POINTER);
    CHECK(rollout_rollout_bind(&rollout, block, sizeof block, 3, -7) == MODC_SIZE);
    CHECK_OK(rollout_rollout_bind(&rollout, block, sizeof block, 3, 7));
    memset(rollout.observation, 1, sizeof(float) * 3 * 7 * 4);
    memset(rollout.info.terminated_at_gather_index, 1, 3 * 7);
    CHECK(rollout_model.rollout == &rollout_rollout_table);
    CHECK_OK(modc_n_step(rollout_model.rollout, &rollout, 3, 7));
}

int main(void)
{
    static const int times[] = {0, 1, 2, 3, 4, 5, 9, 33, 150};
    static const uint32_t ends[] = {0, 5, 40, 100};
    const struct modc_rollout_table *tables[] = {&rollout_rollout_table, &agents_rollout_table};
    const size_t bytes[] = {sizeof(struct rollout_rollout), sizeof(struct agents_rollout)};

    for (size_t model = 0; model < 2; model++)
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
            for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
                check_batch(tables[model], bytes[model], 1 + (int)draw(3), times[i], ends[k]);
                check_pieces(tables[model], bytes[model], (int)draw(3), times[i], ends[k]);
            }
    check_refusals();
    check_bind();
    return 0;
}
