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

/* ---- n-step returns ----------------------------------------------------------------------------------------- */

/* How many steps, of at most `left`, belong to the episode: what stands for a step stands `stride` behind that of the one before. */
static int episode_steps(const bool *done, int stride, int left)
{
    int count = 0;

    if (stride == 1)
        for (uint64_t eight; count + 8 <= left; count += 8) {
            memcpy(&eight, done + count, sizeof eight);
            if (eight != 0)
                break;
        }
    while (count < left && !done[count * stride])
        count++;
    return count < left ? count + 1 : left;
}

/* Each of an episode's steps, of so many bytes, becomes what stands n - 1 steps later, or the last one. */
static inline void move_any(void *steps, size_t bytes, int stride, int count, int n)
{
    unsigned char *const at = (unsigned char *)steps;
    const size_t apart = bytes * (size_t)stride;
    const int whole = count - n + 1;

    if (whole > 0 && stride == 1)
        memmove(at, at + (size_t)(n - 1) * bytes, (size_t)whole * bytes);
    else
        for (int t = 0; t < whole; t++)
            memcpy(at + (size_t)t * apart, at + (size_t)(t + n - 1) * apart, bytes);
    for (int t = whole > 0 ? whole : 0; t < count - 1; t++)
        memcpy(at + (size_t)t * apart, at + (size_t)(count - 1) * apart, bytes);
}

/* The same; sizes that are often are constants. */
static void move_steps(void *steps, size_t bytes, int stride, int count, int n)
{
    switch (bytes) {
    case 4:
        move_any(steps, 4, stride, count, n);
        break;
    case 8:
        move_any(steps, 8, stride, count, n);
        break;
    case 16:
        move_any(steps, 16, stride, count, n);
        break;
    default:
        move_any(steps, bytes, stride, count, n);
    }
}

/* What most windows have, for all steps: gammas[n], n, and whether the step counts (mask: NULL is true). NULL is not wanted. */
static void set_windows(float *gamma, int64_t *steps, bool *nonterminal, const float *gammas,
                        const bool *mask, size_t count, int n)
{
    const float most = gammas[n];

    if (gamma)
        for (size_t i = 0; i < count; i++)
            gamma[i] = most;
    if (steps)
        for (size_t i = 0; i < count; i++)
            steps[i] = n;
    if (nonterminal && mask && n > 1)
        memcpy(nonterminal, mask, count);
    else if (nonterminal)
        memset(nonterminal, n > 1, count);
}

/* Those that the episode's end makes shorter. */
static void set_short_windows(float *gamma, int64_t *steps, bool *nonterminal, const float *gammas,
                              int stride, int count, int n)
{
    const int first = count < n ? 0 : count - n + 1;

    if (gamma)
        for (int t = first; t < count; t++)
            gamma[t * stride] = gammas[count - t];
    if (steps)
        for (int t = first; t < count; t++)
            steps[t * stride] = count - t;
    if (nonterminal)
        nonterminal[(count - 1) * stride] = false;
}

/* The step that a window ends at, of a row in which the episode begins at step `first`. */
static void set_index(int64_t *index, int64_t first, int stride, int count, int n)
{
    for (int t = 0; index && t < count; t++)
        index[t * stride] = first + (t + n < count ? t + n : count) - 1;
}

/* The flag of that step. */
static void set_flag(bool *flag, const bool *flags, int stride, int count, int n)
{
    for (int t = 0; flag && t < count; t++)
        flag[t * stride] = flags[((t + n < count ? t + n : count) - 1) * stride];
}

/* n-step returns that are being made, with what all episodes ask for. */
struct returns {
    const struct modc_rollout_table *table;
    const void *rollout;
    const bool *done, *terminated;
    float *gamma; /* NULL: not wanted, like what follows */
    int64_t *steps;
    bool *nonterminal;
};

static struct returns returns_of(const struct modc_rollout_table *table, const void *rollout)
{
    struct returns returns = {
        .table = table, .rollout = rollout, .done = tensor_of(table, rollout, table->done)};

    if (table->terminated >= 0)
        returns.terminated = tensor_of(table, rollout, table->terminated);
    for (int i = 0; i < table->count; i++) {
        void *const data = tensor_of(table, rollout, i);

        if (table->tensors[i].role == MODC_ROLLOUT_GAMMA)
            returns.gamma = data;
        if (table->tensors[i].role == MODC_ROLLOUT_STEPS)
            returns.steps = data;
        if (table->tensors[i].role == MODC_ROLLOUT_NONTERMINAL)
            returns.nonterminal = data;
    }
    return returns;
}

/* Episodes of an agent in a row, in their order. */
enum { EPISODES = 64 };

struct episodes {
    int count;
    struct episode {
        size_t at;    /* its first step, counted over rows and agents */
        int t, steps; /* the same in its row, and how many there are */
    } episodes[EPISODES];
};

/* One tensor over the episodes. */
static void return_tensor(const struct returns *r, int i, const struct episodes *all)
{
    const struct modc_rollout_tensor *tensor = &r->table->tensors[i];
    const int agents = r->table->agents, n = r->table->n_steps;
    const size_t bytes = agents > 1 ? tensor->bytes / (size_t)agents : tensor->bytes;
    unsigned char *const data = tensor_of(r->table, r->rollout, i);
    const struct episode *const end = all->episodes + all->count;

    switch (data ? tensor->role : MODC_ROLLOUT_STAYS) {
    case MODC_ROLLOUT_REWARD:
        for (const struct episode *e = all->episodes; tensor->sum && e < end; e++)
            tensor->sum(data + e->at * bytes, e->steps);
        break;
    case MODC_ROLLOUT_MOVES:
        for (const struct episode *e = all->episodes; n > 1 && e < end; e++)
            move_steps(data + e->at * bytes, bytes, agents, e->steps, n);
        break;
    case MODC_ROLLOUT_INDEX:
        for (const struct episode *e = all->episodes; e < end; e++)
            set_index((int64_t *)(void *)data + e->at, e->t, agents, e->steps, n);
        break;
    case MODC_ROLLOUT_DONE_AT:
        for (const struct episode *e = all->episodes; e < end; e++)
            set_flag((bool *)data + e->at, r->done + e->at, agents, e->steps, n);
        break;
    case MODC_ROLLOUT_TERMINATED_AT:
        for (const struct episode *e = all->episodes; e < end; e++)
            set_flag((bool *)data + e->at, r->terminated + e->at, agents, e->steps, n);
        break;
    default:
        break;
    }
}

/* The row's episodes of an agent, whose steps begin at `first`, as many at a time as there is room for. */
static void return_episodes(const struct returns *r, size_t first, int time)
{
    const struct modc_rollout_table *table = r->table;
    struct episodes all;

    for (int t = 0; t < time;) {
        for (all.count = 0; all.count < EPISODES && t < time; all.count++) {
            const size_t at = first + (size_t)t * (size_t)table->agents;
            const int steps = episode_steps(r->done + at, table->agents, time - t);

            all.episodes[all.count] = (struct episode){at, t, steps};
            t += steps;
        }
        for (int i = 0; i < table->count; i++)
            return_tensor(r, i, &all);
        for (const struct episode *e = all.episodes; e < all.episodes + all.count; e++)
            set_short_windows(r->gamma ? r->gamma + e->at : NULL, r->steps ? r->steps + e->at : NULL,
                              r->nonterminal ? r->nonterminal + e->at : NULL, table->gammas, table->agents,
                              e->steps, table->n_steps);
    }
}

enum modc_status modc_n_step(const struct modc_rollout_table *table, const void *rollout, int batch, int time)
{
    enum modc_status status = table->n_steps > 0 ? modc_rollout_check(table, rollout, batch, time)
                                                 : MODC_ARGUMENT;
    struct returns returns;

    if (status != MODC_OK)
        return status;
    returns = returns_of(table, rollout);
    for (int i = 0; i < table->count; i++) {
        const struct modc_rollout_tensor *tensor = &table->tensors[i];
        void *original = tensor->role == MODC_ROLLOUT_ORIGINAL ? tensor_of(table, rollout, i) : NULL;

        if (original)
            memcpy(original, tensor_of(table, rollout, tensor->reward),
                   (size_t)batch * (size_t)time * tensor->bytes);
    }
    for (int row = 0; row < batch; row++) {
        const size_t steps = (size_t)time * (size_t)table->agents, first = (size_t)row * steps;
        const bool *mask = table->mask < 0 ? NULL : tensor_of(table, rollout, table->mask);

        set_windows(returns.gamma ? returns.gamma + first : NULL,
                    returns.steps ? returns.steps + first : NULL,
                    returns.nonterminal ? returns.nonterminal + first : NULL, table->gammas,
                    mask ? mask + first : NULL, steps, table->n_steps);
        for (int agent = 0; agent < table->agents; agent++)
            return_episodes(&returns, first + (size_t)agent, time);
    }
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
