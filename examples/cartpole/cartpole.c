/* cartpole.c - learns to balance a pole from scratch, by n-step actor-critic, without Python and without allocating.
 *
 *     cartpole [--seed N | --seeds N] [--updates N] [--save FILE] [--record FILE] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "cart_pole.h"

enum { ROWS = AGENT_ACT_MAX_BATCH, STEPS = AGENT_MAX_BATCH / ROWS, SAMPLES = ROWS * STEPS, UPDATES = 600, LAST = 100, TESTS = 100 };

static struct agent_params params;
static struct agent net, actor;
static struct agent_training training;
static struct agent_rollout rollout;
static struct cart_pole tasks[ROWS];
static MODC_ALIGNED char param_block[AGENT_PARAM_BYTES], packed_block[AGENT_PACKED_BYTES], training_block[AGENT_TRAINING_BYTES];
static MODC_ALIGNED char workspace[AGENT_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES], actor_workspace[AGENT_ACT_WORKSPACE_BYTES];
static MODC_ALIGNED char rollout_block[AGENT_ROLLOUT_BYTES(ROWS, STEPS)];

static void need(enum modc_status status, const char *what)
{
    if (status == MODC_OK)
        return;
    fprintf(stderr, "cartpole: %s: %s\n", what, modc_status_text(status));
    exit(1);
}

static void start(uint64_t seed)
{
    need(agent_bind(&params, param_block, sizeof param_block), "parameters");
    need(agent_reset(&params, seed), "initial weights"); /* as PyTorch's modules after torch.manual_seed(seed) */
    need(agent_pack(&params, packed_block, sizeof packed_block), "packing");
    need(agent_init(&net, &params, workspace, sizeof workspace), "workspace");
    need(agent_init(&actor, &params, actor_workspace, sizeof actor_workspace), "workspace");
    need(agent_training_init(&training, &net, training_block, sizeof training_block), "training");
    need(agent_rollout_bind(&rollout, rollout_block, sizeof rollout_block, ROWS, STEPS), "rollout");
    for (int row = 0; row < ROWS; row++) {
        tasks[row].random = seed * 1000 + (uint64_t)row;
        cart_pole_reset(&tasks[row]);
    }
}

/* The last episodes' lengths, which are their returns. */
struct returns {
    int last[LAST], count;
};

static double mean_of(const struct returns *returns)
{
    int most = returns->count < LAST ? returns->count : LAST, sum = 0;

    for (int i = 0; i < most; i++)
        sum += returns->last[i];
    return most ? (double)sum / most : 0;
}

/* STEPS steps of each task, with actions drawn as the actor says. */
static void collect(struct returns *returns, uint64_t *random)
{
    for (int t = 0; t < STEPS; t++) {
        float observations[ROWS][4], logits[ROWS][2];

        for (int row = 0; row < ROWS; row++)
            cart_pole_observe(&tasks[row], observations[row]);
        need(agent_act(&actor, ROWS, observations[0], logits[0]), "act");
        for (int row = 0; row < ROWS; row++) {
            const int at = row * STEPS + t;
            const double right = 1 / (1 + exp((double)logits[row][0] - (double)logits[row][1]));

            memcpy(rollout.observation + 4 * at, observations[row], sizeof observations[row]);
            rollout.action[at] = cart_pole_random(random) < right;
            rollout.next.terminated[at] = cart_pole_step(&tasks[row], rollout.action[at], &rollout.next.done[at]);
            rollout.next.reward[at] = 1;
            cart_pole_observe(&tasks[row], rollout.next.observation + 4 * at);
            if (rollout.next.done[at]) {
                returns->last[returns->count++ % LAST] = tasks[row].steps;
                cart_pole_reset(&tasks[row]);
            }
        }
    }
}

static float update(void)
{
    float loss;

    need(agent_n_step(&rollout, ROWS, STEPS), "n-step returns");
    need(agent_train_step(&training, SAMPLES, rollout.observation, rollout.action, rollout.next.reward, rollout.gamma,
                          rollout.next.observation, rollout.info.terminated_at_gather_index, &loss), "a step");
    need(agent_schedule_step(&training, 0), "the schedule");
    return loss;
}

/* What the policy does at its best: the mean return of episodes that it has not learned from. */
static double test(uint64_t seed, bool draws)
{
    struct cart_pole task = {.random = seed + 1000000};
    int sum = 0, episodes = draws ? 1 : TESTS;

    for (int i = 0; i < episodes; i++) {
        bool done = false;

        cart_pole_reset(&task);
        while (!done) {
            float observation[4], logits[2];
            char line[64];

            cart_pole_observe(&task, observation);
            need(agent_act(&actor, 1, observation, logits), "act");
            cart_pole_step(&task, logits[1] > logits[0], &done);
            if (!draws || (!isatty(1) && task.steps % 50 != 0))
                continue;
            cart_pole_draw(&task, line);
            printf(isatty(1) ? "\r%s %3d" : "%s %3d\n", line, task.steps);
            fflush(stdout);
            if (isatty(1))
                usleep(10000);
        }
        sum += task.steps;
    }
    if (draws && isatty(1))
        putchar('\n');
    return (double)sum / episodes;
}

/* What an update is made of, for reference.py. */
static void record(FILE *file, const float *loss)
{
    if (loss) {
        fwrite(loss, sizeof *loss, 1, file);
        return;
    }
    fwrite(rollout.observation, sizeof(float), SAMPLES * 4, file);
    fwrite(rollout.action, sizeof(int64_t), SAMPLES, file);
    fwrite(rollout.next.observation, sizeof(float), SAMPLES * 4, file);
    fwrite(rollout.next.reward, sizeof(float), SAMPLES, file);
    fwrite(rollout.next.done, sizeof(bool), SAMPLES, file);
    fwrite(rollout.next.terminated, sizeof(bool), SAMPLES, file);
}

static double learn(uint64_t seed, int updates, FILE *file)
{
    struct returns returns = {{0}, 0};
    uint64_t random = seed + 77;
    bool shows = isatty(2);
    double score;

    start(seed);
    for (int i = 1; i <= updates; i++) {
        float loss;

        collect(&returns, &random);
        if (file)
            record(file, NULL);
        loss = update();
        if (file)
            record(file, &loss);
        if (shows && (i % 20 == 0 || i == updates))
            fprintf(stderr, "\rseed %llu: %4d of %d updates, %6d steps, %5d episodes, mean return of the last %d: %5.1f ",
                    (unsigned long long)seed, i, updates, i * SAMPLES, returns.count, LAST, mean_of(&returns));
    }
    score = test(seed, false);
    if (shows)
        fputs("\r\033[K", stderr);
    printf("seed %llu: mean return of %d episodes %.1f, after %d steps and %d episodes\n", (unsigned long long)seed, TESTS, score,
           updates * SAMPLES, returns.count);
    fflush(stdout);
    return score;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int count, char **arguments)
{
    const char *save = NULL, *recording = NULL;
    double scores[100];
    int seed = 0, seeds = 1, updates = UPDATES;
    FILE *file = NULL;
    static char line[BUFSIZ];

    setvbuf(stdout, line, _IOLBF, sizeof line); /* else it would be allocated */
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[++i] : "";
        char *end;
        long number = strtol(value, &end, 10);
        bool whole = *value && !*end && number >= 0 && number < 1000000;

        if (strcmp(name, "--seed") == 0 && whole)
            seed = (int)number;
        else if (strcmp(name, "--seeds") == 0 && whole && number > 0 && number <= 100)
            seeds = (int)number;
        else if (strcmp(name, "--updates") == 0 && whole)
            updates = (int)number;
        else if (strcmp(name, "--save") == 0 && *value)
            save = value;
        else if (strcmp(name, "--record") == 0 && *value)
            recording = value;
        else {
            fprintf(stderr, "usage: cartpole [--seed N | --seeds N] [--updates N] [--save FILE] [--record FILE]\n");
            return 2;
        }
    }
    if (recording && !(file = fopen(recording, "wb"))) {
        perror(recording);
        return 1;
    }
    for (int i = 0; i < seeds; i++)
        scores[i] = learn((uint64_t)(seed + i), updates, file);
    if (file && fclose(file) != 0) {
        perror(recording);
        return 1;
    }
    if (seeds > 1) {
        qsort(scores, (size_t)seeds, sizeof *scores, by_size);
        printf("median of %d seeds: %.1f\n", seeds, (scores[(seeds - 1) / 2] + scores[seeds / 2]) / 2);
    }
    printf("%zu bytes: %zu of parameters, %zu packed, %zu of gradients and optimizer, %zu of workspace, %zu of the rollout\n",
           sizeof param_block + sizeof packed_block + sizeof training_block + sizeof workspace + sizeof actor_workspace + sizeof rollout_block,
           sizeof param_block, sizeof packed_block, sizeof training_block, sizeof workspace + sizeof actor_workspace, sizeof rollout_block);
    if (save) {
        need(agent_save(&params, save), save);
        printf("saved: %s\n", save);
    }
    test((uint64_t)seed, true);
    return 0;
}
