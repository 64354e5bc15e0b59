/* modc_rollout.c - rollouts in one block, and windows over steps that come a few at a time. */
#include "modc_rollout.h"

#include <stdint.h>

/* ---- rollouts --------------------------------------------------------------------------------------------- */

static void *tensor_of(const struct modc_rollout_table *table, const void *rollout, int tensor)
{
    void *found;

    memcpy(&found, (const unsigned char *)rollout + table->tensors[tensor].at, sizeof found);
    return found;
}

static bool is_made(const struct modc_rollout_tensor *tensor)
{
    return tensor->role >= MODC_ROLLOUT_ORIGINAL;
}

/* Whether so many steps have a size in bytes, and those of a row an int. */
static bool is_countable(const struct modc_rollout_table *table, int batch, int time)
{
    if (batch < 0 || time < 0 || (table->step_bytes > 0 && (size_t)time > INT32_MAX / table->step_bytes))
        return false;
    return batch == 0 || table->step_bytes == 0 ||
           (size_t)time <= (SIZE_MAX / 2) / table->step_bytes / (size_t)batch;
}

enum modc_status modc_rollout_bind(const struct modc_rollout_table *table, void *rollout, void *block,
                                   size_t bytes, int batch, int time)
{
    unsigned char *at = (unsigned char *)block;
    size_t left = bytes;

    if (!table || !rollout || !block)
        return MODC_POINTER;
    if ((uintptr_t)block % MODC_ALIGN != 0)
        return MODC_ALIGNMENT;
    if (!is_countable(table, batch, time))
        return MODC_SIZE;
    for (int pass = 0; pass < 2; pass++) { /* first whether they fit */
        at = (unsigned char *)block;
        left = bytes;
        for (int i = 0; i < table->count; i++) {
            size_t own = table->tensors[i].bytes * (size_t)batch * (size_t)time;

            own = (own + MODC_ALIGN - 1) / MODC_ALIGN * MODC_ALIGN;
            if (own > left)
                return MODC_SIZE;
            if (pass == 1) {
                void *pointer = at;

                memcpy((unsigned char *)rollout + table->tensors[i].at, &pointer, sizeof pointer);
            }
            at += own;
            left -= own;
        }
    }
    return MODC_OK;
}

static size_t element_bytes(enum modc_dtype dtype)
{
    size_t bytes = modc_dtype_bytes(dtype);

    return bytes < MODC_ALIGN_WIDE ? bytes : MODC_ALIGN_WIDE;
}

enum modc_status modc_rollout_check(const struct modc_rollout_table *table, const void *rollout, int batch,
                                    int time)
{
    if (!rollout)
        return MODC_POINTER;
    if (!is_countable(table, batch, time))
        return MODC_SIZE;
    for (int i = 0; i < table->count; i++) {
        const struct modc_rollout_tensor *tensor = &table->tensors[i];
        const void *data = tensor_of(table, rollout, i);

        if (!data &&
            (tensor->role == MODC_ROLLOUT_MOVES || tensor->role == MODC_ROLLOUT_REWARD || i == table->done))
            return MODC_POINTER;
        if ((uintptr_t)data % element_bytes(tensor->dtype) != 0)
            return MODC_ALIGNMENT;
    }
    /* what says how a window ended is made of what is recorded */
    for (int i = 0; i < table->count; i++)
        if (table->tensors[i].role == MODC_ROLLOUT_TERMINATED_AT && tensor_of(table, rollout, i) &&
            !tensor_of(table, rollout, table->terminated))
            return MODC_POINTER;
    return MODC_OK;
}

/* ---- windows ---------------------------------------------------------------------------------------------- */

enum modc_status modc_window_init(struct modc_window *window, const struct modc_rollout_table *table,
                                  int batch, void *block, size_t bytes)
{
    if (!window || !table || !block)
        return MODC_POINTER;
    if (table->n_steps == 0)
        return MODC_ARGUMENT;
    if (!is_countable(table, batch, table->n_steps) ||
        (batch > 0 && bytes / table->held_bytes / (size_t)table->n_steps < (size_t)batch))
        return MODC_SIZE;
    memset(block, 0, table->held_bytes * (size_t)table->n_steps * (size_t)batch);
    *window = (struct modc_window){
        .table = table, .block = (unsigned char *)block, .batch = batch, .n_steps = table->n_steps};
    return MODC_OK;
}

enum modc_status modc_window_set(struct modc_window *window, int n_steps)
{
    if (!window || !window->table)
        return MODC_POINTER;
    if (n_steps < 1 || n_steps > window->table->n_steps)
        return MODC_ARGUMENT;
    window->n_steps = n_steps;
    return MODC_OK;
}

int modc_window_ready(const struct modc_window *window, int time)
{
    const int64_t steps = (int64_t)window->held + time - window->n_steps;

    return time < 1 || steps < 0 ? 0 : (int)steps;
}

/* What is held of tensor i, for all rows, `ahead` steps behind the oldest one. Steps lie one behind the other, in each the tensors in
 * order, and need no alignment. */
static unsigned char *held_at(const struct modc_window *window, int i, int ahead)
{
    const struct modc_rollout_table *table = window->table;
    const int slot = (window->first + ahead) % table->n_steps;
    unsigned char *at = window->block + (size_t)slot * table->held_bytes * (size_t)window->batch;

    for (int k = 0; k < i; k++)
        if (!is_made(&table->tensors[k]))
            at += table->tensors[k].bytes * (size_t)window->batch;
    return at;
}

static void hold(struct modc_window *window, const void *in, int time, int t)
{
    const struct modc_rollout_table *table = window->table;

    for (int i = 0; i < table->count; i++) {
        const struct modc_rollout_tensor *tensor = &table->tensors[i];
        const unsigned char *from = is_made(tensor) ? NULL : (const unsigned char *)tensor_of(table, in, i);
        unsigned char *to = is_made(tensor) ? NULL : held_at(window, i, window->held);

        for (int row = 0; row < window->batch && from; row++)
            memcpy(to + (size_t)row * tensor->bytes,
                   from + ((size_t)row * (size_t)time + (size_t)t) * tensor->bytes, tensor->bytes);
        if (i == table->mask && !from) /* every step counts */
            memset(to, true, tensor->bytes * (size_t)window->batch);
    }
    window->held++;
}

/* Element e of a reward: the sum of that of the oldest step and of k behind it, into `sum`, of its type. */
static void add_up(const struct modc_window *window, int reward, size_t e, int k, void *sum)
{
    const double gamma = window->table->gamma;

    if (window->table->tensors[reward].dtype == MODC_FLOAT64) {
        double total = 0, step;

        for (; k >= 0; k--) {
            memcpy(&step, held_at(window, reward, k) + e * sizeof step, sizeof step);
            total = step + gamma * total;
        }
        memcpy(sum, &total, sizeof total);
    } else {
        float total = 0, step;

        for (; k >= 0; k--) {
            memcpy(&step, held_at(window, reward, k) + e * sizeof step, sizeof step);
            total = step + (float)gamma * total;
        }
        memcpy(sum, &total, sizeof total);
    }
}

static bool flag_at(const struct modc_window *window, int tensor, size_t e, int ahead)
{
    bool flag;

    memcpy(&flag, held_at(window, tensor, ahead) + e * sizeof flag, sizeof flag);
    return flag;
}

/* What tensor i has of the oldest step for the window `own` (row by row, agent by agent), which reaches k steps further. */
static void put(const struct modc_window *window, int i, size_t own, int k, unsigned char *to)
{
    const struct modc_rollout_table *table = window->table;
    const struct modc_rollout_tensor *tensor = &table->tensors[i];
    const size_t bytes = tensor->bytes / (size_t)table->agents, each = modc_dtype_bytes(tensor->dtype);
    int64_t whole = k + 1;
    bool flag = false;

    switch (tensor->role) {
    case MODC_ROLLOUT_STAYS:
    case MODC_ROLLOUT_MOVES:
        memcpy(to, held_at(window, i, tensor->role == MODC_ROLLOUT_MOVES ? k : 0) + own * bytes, bytes);
        return;
    case MODC_ROLLOUT_REWARD:
        for (size_t e = 0; e < bytes / each; e++)
            add_up(window, i, own * (bytes / each) + e, k, to + e * each);
        return;
    case MODC_ROLLOUT_ORIGINAL:
        memcpy(to, held_at(window, tensor->reward, 0) + own * bytes, bytes);
        return;
    case MODC_ROLLOUT_GAMMA:
        memcpy(to, &table->gammas[k + 1], bytes);
        return;
    case MODC_ROLLOUT_INDEX:
        whole = window->passed + k;
        memcpy(to, &whole, bytes);
        return;
    case MODC_ROLLOUT_STEPS:
        memcpy(to, &whole, bytes);
        return;
    case MODC_ROLLOUT_NONTERMINAL:
        flag = k > 0 && (table->mask < 0 || flag_at(window, table->mask, own, 0));
        break;
    case MODC_ROLLOUT_DONE_AT:
        flag = flag_at(window, table->done, own, k);
        break;
    case MODC_ROLLOUT_TERMINATED_AT:
        flag = flag_at(window, table->terminated, own, k);
        break;
    }
    memcpy(to, &flag, bytes);
}

/* The oldest step comes out as step `column` of `columns`. */
static void put_out(struct modc_window *window, void *out, int column, int columns)
{
    const struct modc_rollout_table *table = window->table;
    const int most = window->held < window->n_steps ? window->held : window->n_steps;

    for (int row = 0; row < window->batch; row++) {
        for (int agent = 0; agent < table->agents; agent++) {
            const size_t own = (size_t)row * (size_t)table->agents + (size_t)agent;
            int k = 0;

            while (k + 1 < most && !flag_at(window, table->done, own, k))
                k++;
            for (int i = 0; i < table->count; i++) {
                const size_t bytes = table->tensors[i].bytes;
                unsigned char *to = (unsigned char *)tensor_of(table, out, i);

                if (to)
                    put(window, i, own, k,
                        to + ((size_t)row * (size_t)columns + (size_t)column) * bytes +
                            (size_t)agent * (bytes / (size_t)table->agents));
            }
        }
    }
    window->first = (window->first + 1) % table->n_steps;
    window->held--;
    window->passed++;
}

/* Whether `in` has what windows read and what goes out of it. */
static bool has_all(const struct modc_window *window, const void *in, const void *out)
{
    const struct modc_rollout_table *table = window->table;

    for (int i = 0; i < table->count; i++) {
        const struct modc_rollout_tensor *tensor = &table->tensors[i];
        bool needed = tensor->role == MODC_ROLLOUT_REWARD || i == table->done;

        if (is_made(tensor))
            needed = false;
        else if (out && i != table->mask)
            needed |= tensor_of(table, out, i) != NULL;
        if (out && tensor->role == MODC_ROLLOUT_TERMINATED_AT && tensor_of(table, out, i) &&
            !tensor_of(table, in, table->terminated))
            return false;
        if (needed && !tensor_of(table, in, i))
            return false;
    }
    return true;
}

enum modc_status modc_window_push(struct modc_window *window, const void *in, int time, void *out, int room,
                                  int *count)
{
    int ready, made = 0;

    if (!window || !window->table || !count || (time > 0 && !in))
        return MODC_POINTER;
    if (!is_countable(window->table, window->batch, time) || (int64_t)window->held + time > INT32_MAX)
        return MODC_SIZE;
    ready = modc_window_ready(window, time);
    if (ready > room)
        return MODC_SIZE;
    if ((ready > 0 && !out) || (time > 0 && !has_all(window, in, ready > 0 ? out : NULL)))
        return MODC_POINTER;
    for (int t = 0; t < time; t++) {
        while (window->held >= window->n_steps)
            put_out(window, out, made++, ready);
        hold(window, in, time, t);
    }
    *count = ready;
    return MODC_OK;
}

enum modc_status modc_window_flush(struct modc_window *window, void *out, int room, int *count)
{
    int ready, made = 0;

    if (!window || !window->table || !count)
        return MODC_POINTER;
    ready = window->held;
    if (ready > room)
        return MODC_SIZE;
    if (ready > 0 && !out)
        return MODC_POINTER;
    while (window->held > 0)
        put_out(window, out, made++, ready);
    *count = ready;
    return MODC_OK;
}
