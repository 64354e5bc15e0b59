/* steps.c - training as a program calls it: the same bytes on one thread and on two, and what a step refuses, which changes
 * nothing. */
#include "check.h"
#include "pupil.h"
#include "student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RACES_ALONE
#define RACES_ALONE 0
#endif
enum { BATCH = STUDENT_MAX_BATCH, STEPS = 12, FILE_BYTES = 1 << 16 };

/* What a program places for one model that is trained. */
struct place {
    struct student_params params;
    struct student net;
    struct student_training training;
    MODC_ALIGNED char parameters[STUDENT_PARAM_BYTES], packed[STUDENT_PACKED_BYTES];
    MODC_ALIGNED char workspace[STUDENT_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES], block[STUDENT_TRAINING_BYTES];
};

struct files {
    char weights[FILE_BYTES], state[FILE_BYTES];
    size_t weights_length, state_length;
};

static struct place one, two, before;
static struct files first, second;
static float x[BATCH * 12];
static int64_t word[BATCH], target[BATCH];
static const int64_t far_words[] = {9, -1}, far_targets[] = {5, -1};

static void start(struct place *place, uint64_t seed, const struct modc_executor *executor)
{
    memset(place, 0x5a, sizeof *place);
    CHECK_OK(student_bind(&place->params, place->parameters, sizeof place->parameters));
    CHECK_OK(student_reset(&place->params, seed));
    CHECK_OK(student_pack(&place->params, place->packed, sizeof place->packed));
    CHECK_OK(student_init(&place->net, &place->params, place->workspace, sizeof place->workspace));
    CHECK_OK(student_set_executor(&place->net, executor));
    CHECK_OK(student_training_init(&place->training, &place->net, place->block, sizeof place->block));
    student_seed(&place->net, seed);
}

static enum modc_status step(struct place *place, int batch)
{
    float loss;

    return student_train_step(&place->training, batch, x, word, target, &loss);
}

static void train(struct place *place, int steps)
{
    for (int i = 0; i < steps; i++) {
        CHECK_OK(step(place, i % 3 == 2 ? BATCH / 2 : BATCH));
        CHECK_OK(student_schedule_step(&place->training, 0));
    }
}

static void save(const struct place *place, struct files *files)
{
    CHECK_OK(
        student_save_bytes(&place->params, files->weights, sizeof files->weights, &files->weights_length));
    CHECK_OK(student_training_save_bytes(&place->training, files->state, sizeof files->state,
                                         &files->state_length));
}

static bool same_files(void)
{
    return first.weights_length == second.weights_length && first.state_length == second.state_length &&
           memcmp(first.weights, second.weights, first.weights_length) == 0 &&
           memcmp(first.state, second.state, first.state_length) == 0;
}

/* From one seed: again, on two threads, with half of it from files. */
static void test_same_bytes(const struct modc_executor *pool)
{
    start(&one, 3, NULL);
    train(&one, STEPS);
    save(&one, &first);
    start(&two, 3, NULL);
    train(&two, STEPS);
    save(&two, &second);
    CHECK(same_files());
    start(&two, 3, pool);
    train(&two, STEPS);
    save(&two, &second);
    CHECK(same_files());
    start(&two, 4, pool);
    train(&two, STEPS);
    save(&two, &second);
    CHECK(!same_files());
}

/* ---- what is refused ------------------------------------------------------------------------------------ */

static void keep(void)
{
    memcpy(&before, &one, sizeof one);
}

/* Parameters, their packed copy, optimiser with its steps, schedule, states and averages are as they were. */
static void check_kept(void)
{
    for (int i = 0; i < student_model.key_count; i++) {
        const struct modc_key *key = &student_model.keys[i];
        const size_t block = modc_key_block(&student_model, i);

        if ((key->flags & MODC_KEY_PARAMETER) == 0)
            continue;
        CHECK(memcmp(one.parameters + block, before.parameters + block, modc_key_bytes(key)) == 0);
    }
    CHECK(memcmp(one.packed, before.packed, sizeof one.packed) == 0);
    CHECK(memcmp(&one.training.optimizer, &before.training.optimizer, sizeof one.training.optimizer) == 0);
    CHECK(memcmp(one.block + STUDENT_GRADIENT_BYTES, before.block + STUDENT_GRADIENT_BYTES,
                 STUDENT_OPTIMIZER_BYTES) == 0);
}

/* Not even buffers and random numbers have moved. */
static void check_untouched(void)
{
    check_kept();
    CHECK(memcmp(one.parameters, before.parameters, sizeof one.parameters) == 0);
    CHECK(memcmp(one.block, before.block, sizeof one.block) == 0);
    CHECK(one.net.base.counter == before.net.base.counter &&
          one.params.base.version == before.params.base.version &&
          one.params.base.buffer_version == before.params.base.buffer_version);
}

static void test_indices(void)
{
    for (int i = 0; i < 2; i++) {
        int64_t kept = target[3];

        target[3] = far_targets[i];
        CHECK(step(&one, BATCH) == MODC_INDEX && one.net.base.fault_value == far_targets[i] &&
              one.net.base.fault_index == 3);
        check_untouched();
        target[3] = kept;
        kept = word[5];
        word[5] = far_words[i];
        CHECK(step(&one, BATCH) == MODC_INDEX && one.net.base.fault_value == far_words[i] &&
              one.net.base.fault_index == 5);
        check_untouched();
        word[5] = kept;
    }
}

static void test_sizes(void)
{
    static const int wrong[] = {0, -1, BATCH + 1, 1}; /* of one row there is no variance */
    float loss;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(step(&one, wrong[i]) == MODC_SIZE);
        check_untouched();
    }
    CHECK(student_train_step(NULL, BATCH, x, word, target, &loss) == MODC_POINTER);
    CHECK(student_train_step(&one.training, BATCH, x, NULL, target, &loss) == MODC_POINTER);
    CHECK(student_train_step(&one.training, BATCH, x, word, target, NULL) == MODC_POINTER);
    CHECK(student_train_step(&one.training, BATCH, (const float *)(const void *)((const char *)x + 2), word,
                             target, &loss) == MODC_ALIGNMENT);
    check_untouched();
}

/* Of inputs, and of one gradient between backward and step. */
static void test_nonfinite(void)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};

    for (int i = 0; i < 3; i++) {
        float *bias, kept = x[7], loss;

        x[7] = (float)values[i];
        CHECK(step(&one, BATCH) == MODC_NONFINITE);
        check_kept();
        x[7] = kept;

        memcpy(&one, &before, sizeof one);
        CHECK_OK(student_loss(&one.net, BATCH, x, word, target, &loss));
        CHECK_OK(student_loss_backward(&one.net, BATCH));
        bias = modc_gradient_at(&one.training.base, STUDENT_GRADIENT_HEAD_BIAS);
        CHECK(bias != NULL);
        kept = bias[4];
        bias[4] = (float)values[i];
        memcpy(&two.block, &one.block, sizeof one.block);
        CHECK(student_step(&one.training) == MODC_NONFINITE);
        CHECK(modc_optimizer_step(&one.training.optimizer.base) == MODC_NONFINITE);
        check_kept();
        CHECK(memcmp(&two.block, &one.block, sizeof one.block) == 0); /* nothing was clipped */
        bias[4] = kept;
        CHECK_OK(student_step(&one.training));
        CHECK(memcmp(one.parameters, before.parameters, sizeof one.parameters) != 0);
        memcpy(&one, &before, sizeof one);
    }
}

static void test_schedule_end(void)
{
    for (int i = 0; i < 40 - STEPS; i++)
        CHECK_OK(student_schedule_step(&one.training, 0));
    keep();
    CHECK(student_schedule_step(&one.training, 0) == MODC_SIZE);
    check_untouched();
}

/* ---- state files ---------------------------------------------------------------------------------------- */

static void check_refused(const char *bytes, size_t length, enum modc_status expected, const char *name)
{
    const char *fault;

    CHECK(student_training_load_bytes(&one.training, bytes, length, &fault) == expected);
    CHECK(name ? fault != NULL && strcmp(fault, name) == 0 : fault == NULL);
    check_untouched();
}

/* Some bytes of the header of `first.state`, exchanged for others of the same length, then back. */
static void check_header(const char *text, const char *instead, enum modc_status expected, const char *name)
{
    size_t length = strlen(text), at = 0;

    CHECK(strlen(instead) == length);
    while (at + length < first.state_length && memcmp(first.state + at, text, length) != 0)
        at++;
    CHECK(at + length < first.state_length);
    memcpy(first.state + at, instead, length);
    check_refused(first.state, first.state_length, expected, name);
    memcpy(first.state + at, text, length);
}

/* The same through a file. */
static void test_paths(void)
{
    char path[] = "steps_XXXXXX";
    const char *fault = "";
    const void *bytes;
    size_t length;
    int file = mkstemp(path);

    CHECK(file >= 0 && close(file) == 0);
    CHECK_OK(student_training_save(&one.training, path));
    CHECK_OK(modc_map(path, &bytes, &length));
    CHECK(length == first.state_length && memcmp(bytes, first.state, length) == 0);
    modc_unmap(bytes, length);
    CHECK_OK(student_training_load(&one.training, path, &fault));
    CHECK(fault == NULL);
    check_untouched();
    CHECK_OK(modc_write_file(path, second.state, second.state_length));
    CHECK(student_training_load(&one.training, path, &fault) == MODC_KEYS && strcmp(fault, "optimizer") == 0);
    CHECK_OK(modc_write_file(path, first.state, first.state_length - 1));
    CHECK(student_training_load(&one.training, path, NULL) == MODC_FORMAT);
    CHECK(remove(path) == 0);
    CHECK(student_training_load(&one.training, path, &fault) == MODC_FILE && fault == NULL);
    CHECK(student_training_save(&one.training, "no/such/folder") == MODC_FILE);
    check_untouched();
}

static void test_files(void)
{
    static struct pupil_params params;
    static struct pupil net;
    static struct pupil_training training;
    static MODC_ALIGNED char parameters[PUPIL_PARAM_BYTES], packed[PUPIL_PACKED_BYTES];
    static MODC_ALIGNED char workspace[PUPIL_LOSS_TRAIN_BACKWARD_WORKSPACE_BYTES],
        block[PUPIL_TRAINING_BYTES];
    float loss;
    char *cut;

    CHECK_OK(pupil_bind(&params, parameters, sizeof parameters));
    CHECK_OK(pupil_reset(&params, 3));
    CHECK_OK(pupil_pack(&params, packed, sizeof packed));
    CHECK_OK(pupil_init(&net, &params, workspace, sizeof workspace));
    CHECK_OK(pupil_training_init(&training, &net, block, sizeof block));
    CHECK_OK(pupil_train_step(&training, BATCH, x, word, target, &loss));
    CHECK_OK(pupil_training_save_bytes(&training, second.state, sizeof second.state, &second.state_length));
    check_refused(second.state, second.state_length, MODC_KEYS, "optimizer");
    check_refused(first.weights, first.weights_length, MODC_KEYS, "optimizer"); /* no state at all */

    check_header("state.head.weight.exp_avg\":{\"dtype\":\"F32\",\"shape\":[5,40]",
                 "state.head.weight.exp_avg\":{\"dtype\":\"F32\",\"shape\":[40,5]", MODC_KEYS,
                 "state.head.weight.exp_avg");
    check_header("param_groups.1.lr", "param_groups.2.lr", MODC_KEYS, "param_groups.1.lr");
    check_header("ema.n_averaged", "ema.n_averages", MODC_KEYS, "ema.n_averaged");
    for (size_t length = 0; length < first.state_length; length++) {
        cut = malloc(length + 1); /* what is read behind it is seen */
        CHECK(cut != NULL);
        memcpy(cut, first.state, length);
        CHECK(student_training_load_bytes(&one.training, cut, length, NULL) == MODC_FORMAT);
        free(cut);
    }
    check_untouched();
    CHECK_OK(student_training_load_bytes(&one.training, first.state, first.state_length, NULL));
    test_paths();
}

int main(void)
{
    struct modc_executor *pool;

    for (int i = 0; i < BATCH * 12; i++)
        x[i] = sinf((float)i * 1.3f);
    for (int i = 0; i < BATCH; i++) {
        word[i] = i * 5 % 9;
        target[i] = i == 6 ? -100 : i * 3 % 5;
    }
    CHECK_OK(modc_pool_create(2, &pool));
    test_same_bytes(pool);
    modc_pool_destroy(pool);
    if (RACES_ALONE) /* one thread has none */
        return 0;
    keep();
    test_indices();
    test_sizes();
    test_nonfinite();
    test_files();
    keep();
    test_schedule_end();
    return 0;
}
