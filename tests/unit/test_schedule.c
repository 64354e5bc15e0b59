/* test_schedule.c - the schedulers: 50 steps of each case of tests/optim/schedules.txt, through the emitted tables and
 * runtime/modc_schedule.c, against PyTorch's (tests/oracle/optim.py); their arguments. */
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

#include "modc_optim.h"
#include "module/schedule.h"
#include "programs.h"

#define STEPS 50
#define FOLDER "tests/optim/"

static struct cx cx;
#define ARENA (&cx.arena)

static int tear_down(void **state)
{
    (void)state;
    arena_free(&cx.arena);
    memset(&cx, 0, sizeof cx);
    return 0;
}

static const struct expr *parse(const char *text)
{
    struct source *source = ARENA_NEW(ARENA, struct source);

    *source = (struct source){.name = "case", .text = text, .length = strlen(text)};
    return expr_parse(&cx, source, 0, source->length);
}

/* "SGD(momentum=0.9) StepLR(7)": NULL where the schedule has a fault. */
static struct schedule *read_case(const char *text, struct optim **optim)
{
    struct eval eval = {.cx = &cx, .default_dtype = DTYPE_FLOAT32};
    struct scope nothing = {0};
    const char *first = arena_copy(ARENA, text, strcspn(text, " "));

    *optim = optim_read(&eval, &nothing,
                        parse(strchr(first, '(') ? first : arena_format(ARENA, "%s()", first)));
    assert_non_null(*optim);
    return schedule_read(&eval, &nothing, parse(text + strlen(first) + 1), *optim, 2);
}

static const char program_head[] =
    "#include <math.h>\n#include <stdio.h>\n#include \"modc_optim.h\"\n\n"
    "static double lambda(int64_t epoch, int group, void *user)\n{\n    (void)user;\n"
    "    return group == 0 ? 1 / (1 + 0.1 * (double)epoch) : 0.97;\n}\n\n"
    "static void run(const struct modc_scheduler *scheduler, int momentum, const double *metrics, double first)\n{\n"
    "    struct modc_schedule state[64];\n"
    "    struct modc_group groups[2] = {{{0.1}, NAN}, {{0.02}, NAN}};\n"
    "    struct modc_scheduling s = {scheduler, state, groups, 2, momentum, lambda, NULL};\n\n"
    "    for (int i = 0; i < 2; i++)\n        if (momentum > 0)\n            groups[i].hyper[momentum] = first;\n"
    "    modc_schedule_start(&s);\n"
    "    for (int step = 0; step <= 50; step++) {\n"
    "        for (int i = 0; i < 2; i++) {\n"
    "            double row[2] = {groups[i].hyper[0], momentum > 0 ? groups[i].hyper[momentum] : 0};\n\n"
    "            fwrite(row, sizeof row, 1, stdout);\n"
    "            if (step == 20)\n                groups[i].hyper[0] *= 0.5;\n        }\n"
    "        if (step < 50 && modc_schedule_step(&s, metrics[step]) != MODC_OK)\n            return;\n"
    "    }\n}\n\n";

/* Which hyper-parameter is cycled, and its value; 0: none. */
static int momentum_of(const struct optim *optim, double *value)
{
    const char *names[OPTIM_MAX_HYPERS];
    double values[OPTIM_MAX_HYPERS];
    int count = optim_hypers(&cx, optim, names, values);

    for (int i = 0; i < count; i++) {
        *value = values[i];
        if (strcmp(names[i], "momentum") == 0 || strcmp(names[i], "beta1") == 0)
            return i;
    }
    return 0;
}

static void write_program(const char *path, const char *const *cases, int count)
{
    FILE *file = fopen(path, "w");
    struct text tables = text_new(ARENA), calls = text_new(ARENA);

    assert_non_null(file);
    for (int i = 0; i < count; i++) {
        struct optim *optim;
        const struct schedule *schedule = read_case(cases[i], &optim);
        double value = 0;
        int momentum;

        assert_non_null(schedule);
        momentum = momentum_of(optim, &value);
        emit_schedule(&cx, &tables, schedule, arena_format(ARENA, "case_%d", i), 2);
        text_printf(&calls, "    run(case_%d, %d, metrics, %.17g);\n", i, momentum, value);
    }
    fprintf(file,
            "%s%s\nint main(void)\n{\n    static double metrics[50];\n\n"
            "    if (fread(metrics, sizeof metrics, 1, stdin) != 1)\n        return 1;\n%s    return 0;\n}\n",
            program_head, tables.data, calls.data);
    fclose(file);
}

static void test_values(void **state)
{
    char folder[] = "/tmp/modc_schedule_XXXXXX", command[1000];
    const char **cases = NULL, *error;
    const struct source *text = source_read(&cx, FOLDER "schedules.txt", 1 << 16, &error);
    const struct source *file = source_read(&cx, FOLDER "schedules.safetensors", 1 << 24, &error);
    struct modc_reader reader;
    struct modc_item item;
    FILE *out;
    int count = 0, bad = 0;

    (void)state;
    assert_non_null(text);
    assert_non_null(file);
    make_folder(folder);
    for (const char *c = text->text; *c; c += strcspn(c, "\n") + 1)
        if (*c != '#')
            ARENA_PUSH(ARENA, cases, count, arena_copy(ARENA, c, strcspn(c, "\n")));
    write_program(arena_format(ARENA, "%s/run.c", folder), cases, count);
    assert_int_equal(modc_reader_open(&reader, file->text, file->length, NULL), MODC_OK);
    assert_true(modc_reader_find(&reader, "metrics", &item));
    out = fopen(arena_format(ARENA, "%s/in", folder), "wb");
    assert_non_null(out);
    fwrite(item.data, item.bytes, 1, out);
    fclose(out);
    snprintf(command, sizeof command,
             "%s -std=c99 -O1 " WARNINGS
             " -Iruntime -o %s/run %s/run.c runtime/modc_schedule.c -lm && %s/run <%s/in >%s/out",
             own_compiler(), folder, folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    out = fopen(arena_format(ARENA, "%s/out", folder), "rb");
    assert_non_null(out);
    for (int i = 0; i < count; i++) {
        bool shown = false;

        assert_true(modc_reader_find(&reader, arena_format(ARENA, "%d", i), &item));
        assert_int_equal(item.bytes, (STEPS + 1) * 4 * sizeof(double));
        for (int j = 0; j < (STEPS + 1) * 4; j++) {
            double expected = modc_number((const double *)item.data + j, MODC_FLOAT64), value;

            assert_int_equal(fread(&value, sizeof value, 1, out), 1);
            if (fabs(value - expected) <= 1e-10 * fabs(expected) + 1e-16 || shown)
                continue;
            print_error("%s: step %d: %s of group %d is %.17g, not %.17g\n", cases[i], j / 4,
                        j % 2 ? "momentum" : "lr", j / 2 % 2, value, expected);
            shown = true;
            bad++;
        }
    }
    assert_int_equal(fgetc(out), EOF);
    fclose(out);
    remove_folder(folder);
    assert_int_equal(bad, 0);
}

/* What reading it says; "" for nothing. */
static const char *said(const char *text)
{
    struct text all = text_new(ARENA);
    struct optim *optim;
    const struct schedule *schedule;

    cx.item_count = cx.errors = 0;
    schedule = read_case(text, &optim);
    assert_true(!schedule == (cx.item_count > 0));
    for (int i = 0; i < cx.item_count; i++)
        text_printf(&all, "%s%s", i ? "; " : "", cx.items[i].text);
    return all.data;
}

static void test_arguments(void **state)
{
    (void)state;
    assert_string_equal(said("SGD StepLR(0)"), "StepLR: step_size must be positive, found 0");
    assert_string_equal(said("SGD StepLR(2.5)"),
                        "StepLR: argument 'step_size' must be an integer, found 2.5");
    assert_string_equal(said("SGD StepLR(3, gama=0.1)"),
                        "StepLR has no argument 'gama'; did you mean 'gamma'?");
    assert_string_equal(said("SGD MultiStepLR(3)"),
                        "MultiStepLR: argument 'milestones' must be a list of integers, found 3");
    assert_string_equal(said("SGD ConstantLR(2)"),
                        "ConstantLR: Constant multiplicative factor expected to be between 0 and 1.");
    assert_string_equal(
        said("SGD LinearLR(0)"),
        "LinearLR: Starting multiplicative factor expected to be greater than 0 and less or equal to 1.");
    assert_string_equal(said("SGD LinearLR(end_factor=2)"),
                        "LinearLR: Ending multiplicative factor expected to be between 0 and 1.");
    assert_string_equal(said("SGD CosineAnnealingWarmRestarts(0)"),
                        "CosineAnnealingWarmRestarts: Expected positive integer T_0, but got 0");
    assert_string_equal(said("SGD CosineAnnealingWarmRestarts(3, 0)"),
                        "CosineAnnealingWarmRestarts: Expected integer T_mult >= 1, but got 0");
    assert_string_equal(
        said("Adagrad OneCycleLR(0.1, 50)"),
        "OneCycleLR: optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
    assert_string_equal(said("SGD OneCycleLR(0.1)"),
                        "OneCycleLR: You must define either total_steps OR (epochs AND steps_per_epoch)");
    assert_string_equal(said("SGD OneCycleLR(0.1, 0)"),
                        "OneCycleLR: Expected positive integer total_steps, but got 0");
    assert_string_equal(said("SGD OneCycleLR(0.1, 50, pct_start=1.5)"),
                        "OneCycleLR: Expected float between 0 and 1 pct_start, but got 1.5");
    assert_string_equal(said("SGD OneCycleLR(0.1, 10, pct_start=0.1)"),
                        "OneCycleLR: pct_start times the steps must not be 1: the first phase has no steps");
    assert_string_equal(said("SGD OneCycleLR(0.1, 10, anneal_strategy='sin')"),
                        "OneCycleLR: anneal_strategy must be one of 'cos' or 'linear', instead got sin");
    assert_string_equal(said("SGD OneCycleLR([0.1], 10)"), "OneCycleLR: expected 2 values for max_lr, got 1");
    assert_string_equal(said("SGD CyclicLR(0.1, 0.2, mode='square')"),
                        "CyclicLR: mode is invalid and scale_fn is None");
    assert_string_equal(said("SGD ReduceLROnPlateau(factor=1)"),
                        "ReduceLROnPlateau: Factor should be < 1.0.");
    assert_string_equal(said("SGD ReduceLROnPlateau(mode='up')"), "ReduceLROnPlateau: mode up is unknown!");
    assert_string_equal(said("SGD SequentialLR([], [])"), "SequentialLR: expected a list of schedulers");
    assert_string_equal(
        said("SGD SequentialLR([StepLR(2)], [3])"),
        "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
        "milestone points, but got number of schedulers 1 and the number of milestones to be equal to 1");
    assert_string_equal(said("SGD SequentialLR([StepLR(2), OneCycleLR(0.1, 9)], [3])"),
                        "SequentialLR cannot hold OneCycleLR");
    assert_string_equal(
        said("SGD ChainedScheduler([ReduceLROnPlateau()])"),
        "ChainedScheduler does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to "
        "be specified when calling `step`, but got one at index 0 in the given schedulers sequence.");
    assert_string_equal(said("SGD StepRL(2)"),
                        "modc does not know the scheduler 'StepRL'; did you mean 'StepLR'?");
    assert_string_equal(said("SGD 3"), "a scheduler is needed here, as StepLR(step_size=10)");
}

static void test_steps(void **state)
{
    struct modc_scheduler one_cycle = {.kind = MODC_ONE_CYCLE, .nodes = 1, .length = 2, .power = 0.3};
    struct modc_schedule place;
    struct modc_group group = {{0.1}, (double)NAN};
    const double lr = 0.1;
    struct modc_scheduling s = {&one_cycle, &place, &group, 1, 0, NULL, NULL}, none = {0};

    (void)state;
    one_cycle.initial_lr = one_cycle.max_lr = one_cycle.min_lr = &lr;
    modc_schedule_start(&s);
    assert_int_equal(modc_schedule_step(&s, 0), MODC_OK);
    assert_int_equal(modc_schedule_step(&s, 0), MODC_OK);
    assert_int_equal(modc_schedule_step(&s, 0), MODC_SIZE);
    assert_int_equal(modc_schedule_step(&s, 0), MODC_SIZE);
    assert_int_equal(place.last_epoch, 2);
    modc_schedule_start(&none);
    assert_int_equal(modc_schedule_step(&none, 0), MODC_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values, tear_down),
        cmocka_unit_test_teardown(test_arguments, tear_down),
        cmocka_unit_test_teardown(test_steps, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
