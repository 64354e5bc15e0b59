/* cartpole.c - learns to balance a pole from scratch, by n-step actor-critic, without Python and without allocating.
 *
 *     cartpole [--seed N | --seeds N] [--updates N] [--save FILE] [--record FILE] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "show.h"

enum { ROWS = AGENT_ACT_MAX_BATCH, STEPS = AGENT_MAX_BATCH / ROWS, SAMPLES = ROWS * STEPS };

static struct agent_params params;
static struct agent net, actor;
static struct agent_training training;
static struct agent_rollout rollout;
static struct cart_pole tasks[ROWS];
static MODC_ALIGNED char param_block[AGENT_PARAM_BYTES], packed_block[AGENT_PACKED_BYTES],
    training_block[AGENT_TRAINING_BYTES];
static MODC_ALIGNED char workspace[AGENT_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES],
    actor_workspace[AGENT_ACT_WORKSPACE_BYTES];
static MODC_ALIGNED char rollout_block[AGENT_ROLLOUT_BYTES(ROWS, STEPS)], saved[AGENT_PARAM_BYTES + 4096];

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
    need(agent_reset(&params, seed),
         "initial weights"); /* as PyTorch's modules after torch.manual_seed(seed) */
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

/* STEPS steps of each task, with actions drawn as the actor says. */
static void collect(struct progress *progress, uint64_t *random)
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
            rollout.next.terminated[at] = cart_pole_step(&tasks[row], rollout.action[at],
                                                         &rollout.next.done[at]);
            rollout.next.reward[at] = 1;
            cart_pole_observe(&tasks[row], rollout.next.observation + 4 * at);
            if (!rollout.next.done[at])
                continue;
            progress_episode(progress, tasks[row].steps);
            cart_pole_reset(&tasks[row]);
        }
    }
}

/* n-step returns of the rollout, then loss, backward, clipping and a step of the optimizer. */
static float update(void)
{
    float loss;

    need(agent_n_step(&rollout, ROWS, STEPS), "n-step returns");
    need(agent_train_step(&training, SAMPLES, rollout.observation, rollout.action, rollout.next.reward,
                          rollout.gamma, rollout.next.observation, rollout.info.terminated_at_gather_index,
                          &loss),
         "a step");
    need(agent_schedule_step(&training, 0), "the schedule");
    return loss;
}

/* What an update is made of, for reference.py. */
static void record(FILE *file)
{
    fwrite(rollout.observation, sizeof(float), SAMPLES * 4, file);
    fwrite(rollout.action, sizeof(int64_t), SAMPLES, file);
    fwrite(rollout.next.observation, sizeof(float), SAMPLES * 4, file);
    fwrite(rollout.next.reward, sizeof(float), SAMPLES, file);
    fwrite(rollout.next.done, sizeof(bool), SAMPLES, file);
    fwrite(rollout.next.terminated, sizeof(bool), SAMPLES, file);
}

/* What the policy does at its best: the mean return of so many episodes that it has not learned from. */
static double test(uint64_t seed, int episodes, bool draws)
{
    struct cart_pole task = {.random = seed + 1000000};
    int sum = 0;

    for (int i = 0; i < episodes; i++) {
        bool done = false;

        for (cart_pole_reset(&task); !done;) {
            float observation[4], logits[2];

            cart_pole_observe(&task, observation);
            need(agent_act(&actor, 1, observation, logits), "act");
            cart_pole_step(&task, logits[1] > logits[0], &done);
            if (draws)
                show_task(&task, done);
        }
        sum += task.steps;
    }
    return (double)sum / episodes;
}

static double learn(uint64_t seed, int updates, FILE *file)
{
    struct progress progress = {.seed = seed, .updates = updates};
    uint64_t random = seed + 77;

    start(seed);
    while (progress.update < updates) {
        float loss;

        collect(&progress, &random);
        if (file)
            record(file);
        loss = update();
        if (file)
            fwrite(&loss, sizeof loss, 1, file);
        progress_update(&progress, SAMPLES);
    }
    return progress_end(&progress, test(seed, TESTS, false), SAMPLES);
}

int main(int count, char **arguments)
{
    struct command command = command_read(count, arguments);
    double scores[MOST_SEEDS];
    size_t length;

    for (int i = 0; i < command.seeds; i++)
        scores[i] = learn((uint64_t)(command.seed + i), command.updates, command.record);
    show_median(scores, command.seeds);
    printf(
        "%zu bytes: %zu of parameters, %zu packed, %zu of gradients and optimizer, %zu of workspace, %zu of the rollout, %zu of the file\n",
        sizeof param_block + sizeof packed_block + sizeof training_block + sizeof workspace +
            sizeof actor_workspace + sizeof rollout_block + sizeof saved,
        sizeof param_block, sizeof packed_block, sizeof training_block,
        sizeof workspace + sizeof actor_workspace, sizeof rollout_block, sizeof saved);
    need(agent_save_bytes(&params, saved, sizeof saved, &length), "the policy");
    if (!command_close(&command) || !command_save(&command, saved, length))
        return 1;
    test((uint64_t)command.seed, 1, true);
    return 0;
}
