/* test_training.c - tests/optim/model.yaml through twelve steps in an emitted program, tests/optim/train.c, against PyTorch's
 * (tests/oracle/optim.py): groups, clipping, a parameter without gradient, the schedule, averages, and state files, which
 * PyTorch's optimizer wrote too, and what is refused. Then other optimisers, which go on from a file (tests/optim/resume.c). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backward/backward.h"
#include "commands/options.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "module/training.h"
#include "passes/pass.h"
#include "programs.h"

static void write_text(struct cx *cx, const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(arena_format(&cx->arena, "%s/%s", folder, name), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* The spec with another section from `training:` on; NULL: as it is. */
static const struct source *read_spec(struct cx *cx, const char *section)
{
    const char *error;
    struct source *source = source_read(cx, "tests/optim/model.yaml", SPEC_MAX_BYTES, &error);
    const char *at = source ? strstr(source->text, "training:") : NULL;

    assert_non_null(at);
    if (section) {
        source->text = arena_format(&cx->arena, "%.*s%s", (int)(at - source->text), source->text, section);
        source->length = strlen(source->text);
    }
    return source;
}

static void write_model(struct cx *cx, const char *folder, const char *section)
{
    struct module_tree *tree = module_build(cx, spec_read(cx, read_spec(cx, section)), 0);
    struct output_file *files;
    struct program *graphs;
    struct plan *plan;
    int count;

    tree->training = training_read(cx, tree);
    graphs = lower_program(cx, tree);
    if (diag_errors(cx) > 0)
        diag_print(cx, stderr, DIAG_PLAIN);
    assert_int_equal(diag_errors(cx), 0);
    assert_non_null(tree->training);
    backward_write(cx, graphs);
    pass_run(cx, graphs, NULL, NULL);
    plan = plan_make(cx, graphs);
    assert_non_null(plan);
    files = emit_files(cx, plan, &count);
    for (int i = 0; i < count; i++)
        write_text(cx, folder, files[i].path, files[i].bytes);
}

/* Emits the model, compiles it with tests/optim/PROGRAM.c and runs that. */
static void emit_and_run(const char *program, const char *section, const char *flags)
{
    struct options options = {0};
    struct cx cx = {.options = &options};
    char folder[] = "/tmp/modc_training_XXXXXX", command[4000], compiler[1000];

    make_folder(folder);
    write_model(&cx, folder, section);
    snprintf(compiler, sizeof compiler, "%s -std=c99 -D_POSIX_C_SOURCE=200809L " WARNINGS " %s",
             own_compiler(), flags);
    snprintf(command, sizeof command, /* file by file: modc_once has those of the runtime */
             "for source in tests/optim/%s.c %s/net.c runtime/*.c; do "
             "%s -Iruntime -I%s -c $source -o %s/$(basename $source).o || exit; "
             "done && %s -o %s/run %s/*.o -lm -lpthread && %s/run",
             program, folder, compiler, folder, folder, compiler, folder, folder, folder);
    assert_int_equal(system(command), 0);
    remove_folder(folder);
    arena_free(&cx.arena);
}

static void test_twelve_steps(void **state)
{
    (void)state;
    emit_and_run("train", NULL, "-O2");
    if (!getenv("MODC_TEST_QUICK"))
        emit_and_run("train", NULL, SANITIZE);
}

/* State before the first step, without a count of steps, without any; schedules that know more than the epoch. */
static void test_resumed(void **state)
{
    static const char *const sections[] = {
        "training:\n  loss: MSELoss()\n  optimizer: SGD(lr=0.1)\n  scheduler: StepLR(2)\n",
        "training:\n  loss: MSELoss()\n  optimizer: SGD(lr=0.1, nesterov=True, momentum=0.9)\n  clip: clip_grad_value_(0.05)\n"
        "  scheduler: OneCycleLR(max_lr=0.3, total_steps=8)\n",
        "training:\n  loss: MSELoss()\n  optimizer: Adagrad(lr=0.1, initial_accumulator_value=0.5)\n"
        "  groups: [{params: trunk.*, lr: 0.2}]\n  scheduler: ReduceLROnPlateau(patience=0, cooldown=1)\n",
        "training:\n  loss: MSELoss()\n  optimizer: RMSprop(lr=0.1, momentum=0.9, centered=True)\n"
        "  scheduler: ChainedScheduler([StepLR(2), CosineAnnealingWarmRestarts(T_0=2, T_mult=2)])\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        emit_and_run("resume", sections[i], "-O1");
}

static void emit_scaled(const char *dtype, const char *flags)
{
    char section[600];

    snprintf(section, sizeof section,
             "dtype: %s\ntraining:\n  inputs: {weight: [5, 2]}\n  loss:\n"
             "    - return (output.float() * weight.float()).sum()\n  optimizer: SGD(lr=0.1, momentum=0.9)\n"
             "  clip: clip_grad_norm_(1.5)\n  ema: 0.9\n  master: float32\n"
             "  scaler: GradScaler(init_scale=262144.0, growth_interval=3)\n",
             dtype);
    emit_and_run("scaled", section, flags);
}

/* In 16 bits, with float32 copies, a scaler, and inputs that are infinite. */
static void test_scaled(void **state)
{
    (void)state;
    emit_scaled("float16", SANITIZE);
    emit_scaled("bfloat16", "-O1 -DIS_BFLOAT16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twelve_steps),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_scaled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
