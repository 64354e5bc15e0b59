/* dqn_replay.c - learns the values of actions (deep Q-learning) from a ring buffer of n-step transitions, which a window makes of
 * single steps as they come. Nothing is allocated.
 *
 *     dqn_replay [--seed N] [--steps N] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cartpole/cart_pole.h"
#include "dqn.h"

enum { BATCH = DQN_MAX_BATCH, CAPACITY = 16384, FIRST = 1000, EVERY = 2, COPY = 500, TESTS = 20 };

/* What a window puts out, as a ring: step i of what came lies at i % CAPACITY. */
static struct {
    float observation[CAPACITY][4], behind[CAPACITY][4], reward[CAPACITY], gamma[CAPACITY];
    int64_t action[CAPACITY];
    bool terminated[CAPACITY];
    int count;
} ring;

static struct dqn_params params, older;
static struct dqn net, target;
static struct dqn_training training;
static struct dqn_window window;
static MODC_ALIGNED char param_block[2][DQN_PARAM_BYTES], packed_block[2][DQN_PACKED_BYTES],
    training_block[DQN_TRAINING_BYTES];
static MODC_ALIGNED char workspace[DQN_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES],
    target_workspace[DQN_BEST_WORKSPACE_BYTES];
static char window_block[DQN_WINDOW_BYTES(1)];

static void need(enum modc_status status, const char *what)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "dqn_replay: %s: %s\n", what, modc_status_text(status));
    exit(1);
}

static void start(uint64_t seed)
{
    need(dqn_bind(&params, param_block[0], sizeof param_block[0]), "parameters");
    need(dqn_bind(&older, param_block[1], sizeof param_block[1]), "parameters");
    need(dqn_reset(&params, seed), "initial weights");
    need(dqn_to(&params, &older.base), "a copy");
    need(dqn_pack(&params, packed_block[0], sizeof packed_block[0]), "packing");
    need(dqn_pack(&older, packed_block[1], sizeof packed_block[1]), "packing");
    need(dqn_init(&net, &params, workspace, sizeof workspace), "workspace");
    need(dqn_init(&target, &older, target_workspace, sizeof target_workspace), "workspace");
    need(dqn_training_init(&training, &net, training_block, sizeof training_block), "training");
    need(dqn_window_init(&window, 1, window_block, sizeof window_block), "window");
}

/* A step goes into the window; what comes out of it, at most one, into the ring. */
static void remember(struct dqn_rollout *step)
{
    const int at = ring.count % CAPACITY;
    struct dqn_rollout out = {
        .observation = ring.observation[at], .action = &ring.action[at], .gamma = &ring.gamma[at]};
    int count;

    out.next.observation = ring.behind[at];
    out.next.reward = &ring.reward[at];
    out.info.terminated_at_gather_index = &ring.terminated[at];
    need(dqn_window_push(&window, step, 1, &out, 1, &count), "a step");
    ring.count += count;
}

static float learn(uint64_t *random)
{
    static float observation[BATCH][4], behind[BATCH][4], reward[BATCH], gamma[BATCH], value[BATCH];
    static int64_t action[BATCH];
    static bool terminated[BATCH];
    const int held = ring.count < CAPACITY ? ring.count : CAPACITY;
    float loss;

    for (int i = 0; i < BATCH; i++) {
        const int from = (int)(cart_pole_random(random) * held);

        memcpy(observation[i], ring.observation[from], sizeof observation[i]);
        memcpy(behind[i], ring.behind[from], sizeof behind[i]);
        action[i] = ring.action[from];
        reward[i] = ring.reward[from];
        gamma[i] = ring.gamma[from];
        terminated[i] = ring.terminated[from];
    }
    need(dqn_best(&target, BATCH, behind[0], value), "values");
    need(dqn_train_step(&training, BATCH, observation[0], action, reward, gamma, terminated, value, &loss),
         "a step");
    return loss;
}

static int64_t best_action(const float observation[4])
{
    float values[2];

    dqn_set_grad_enabled(&net, false); /* nothing is kept for backward */
    need(dqn_forward(&net, 1, observation, values), "values");
    dqn_set_grad_enabled(&net, true);
    return values[1] > values[0];
}

static double test(uint64_t seed)
{
    struct cart_pole task = {.random = seed + 1000000};
    int sum = 0;

    for (int i = 0; i < TESTS; i++) {
        bool done = false;

        cart_pole_reset(&task);
        while (!done) {
            float observation[4];

            cart_pole_observe(&task, observation);
            cart_pole_step(&task, best_action(observation), &done);
        }
        sum += task.steps;
    }
    return (double)sum / TESTS;
}

static void play(uint64_t seed, int steps)
{
    struct cart_pole task = {.random = seed};
    uint64_t random = seed + 77;
    float observation[4], next[4], reward = 1, loss = 0;
    int64_t action;
    bool done, terminated;
    struct dqn_rollout step = {.observation = observation, .action = &action};
    int last = 0, episodes = 0;

    step.next.observation = next;
    step.next.reward = &reward;
    step.next.done = &done;
    step.next.terminated = &terminated;
    cart_pole_reset(&task);
    for (int i = 1; i <= steps; i++) {
        const double explores = i > steps / 4 ? 0.02 : 1 - 0.98 * i / (steps / 4.0);

        cart_pole_observe(&task, observation);
        action = cart_pole_random(&random) < explores ? cart_pole_random(&random) < 0.5
                                                      : best_action(observation);
        terminated = cart_pole_step(&task, action, &done);
        cart_pole_observe(&task, next);
        remember(&step);
        if (done) {
            last = task.steps;
            episodes++;
            cart_pole_reset(&task);
        }
        if (ring.count >= FIRST && i % EVERY == 0)
            loss = learn(&random);
        if (i % COPY == 0) {
            need(dqn_to(&params, &older.base), "a copy");
            need(dqn_pack(&older, NULL, 0), "packing");
        }
        if (isatty(2) && (i % 1000 == 0 || i == steps))
            fprintf(stderr, "\r%6d of %d steps, %4d episodes, the last one of %3d steps, loss %.4f%s", i,
                    steps, episodes, last, (double)loss, i == steps ? "\n" : "");
    }
}

int main(int count, char **arguments)
{
    long seed = 0, steps = 60000;

    for (int i = 1; i < count; i += 2) {
        long *const option = strcmp(arguments[i], "--seed") == 0    ? &seed
                             : strcmp(arguments[i], "--steps") == 0 ? &steps
                                                                    : NULL;
        char *end = NULL;

        if (option && i + 1 < count)
            *option = strtol(arguments[i + 1], &end, 10);
        if (!end || *end || end == arguments[i + 1] || *option < 0 || *option > 100000000) {
            fprintf(stderr, "usage: dqn_replay [--seed N] [--steps N]\n");
            return 2;
        }
    }
    start((uint64_t)seed);
    play((uint64_t)seed, (int)steps);
    printf("mean return of %d episodes %.1f, after %ld steps\n", TESTS, test((uint64_t)seed), steps);
    printf(
        "%zu bytes: %zu of the network, twice, %zu of gradients and optimizer, %zu of workspace, %zu of the window, %zu of the ring of %d steps\n",
        sizeof param_block + sizeof packed_block + sizeof training_block + sizeof workspace +
            sizeof target_workspace + sizeof window_block + sizeof ring,
        sizeof param_block + sizeof packed_block, sizeof training_block,
        sizeof workspace + sizeof target_workspace, sizeof window_block, sizeof ring, (int)CAPACITY);
    return 0;
}
