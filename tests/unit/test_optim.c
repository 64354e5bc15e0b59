/* test_optim.c - the optimisers: ten steps of each case of tests/optim/cases.txt in an emitted program, in float64 and
 * float32, by every compiler, against PyTorch's (tests/oracle/optim.py); their arguments; their names.
 *
 * MODC_TEST_QUICK compiles in one way alone, MODC_TEST_KEEP keeps the files. */
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

#include "base/names.h"
#include "modc_optim.h"
#include "module/optim.h"
#include "programs.h"

#define STEPS 10
#define MOST 100 /* elements and cases */
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

static struct optim *read_optim(const char *text)
{
    struct eval eval = {.cx = &cx, .default_dtype = DTYPE_FLOAT32};
    struct scope nothing = {0};
    struct source *source = ARENA_NEW(ARENA, struct source);

    *source = (struct source){.name = "case", .text = text, .length = strlen(text)};
    return optim_read(&eval, &nothing, expr_parse(&cx, source, 0, source->length));
}

static const char **read_cases(int *count)
{
    const char *error, **cases = NULL;
    const struct source *source = source_read(&cx, FOLDER "cases.txt", 1 << 16, &error);

    assert_non_null(source);
    *count = 0;
    for (const char *c = source->text; *c; c += strcspn(c, "\n") + 1)
        if (*c != '#')
            ARENA_PUSH(ARENA, cases, *count, arena_copy(ARENA, c, strcspn(c, "\n")));
    return cases;
}

/* ---- the program --------------------------------------------------------------------------------------- */

/* Half types compute in float32: they lie near float64's results, as near as ten roundings. */
static const struct {
    enum dtype dtype;
    const char *expected;
    double tolerance, least; /* of the largest value; and what no difference needs to be below */
} dtypes[] = {
    {DTYPE_FLOAT64, "float64", 1e-10, 0},
    {DTYPE_FLOAT32, "float32", 1e-5, 0},
    {DTYPE_FLOAT16, "float64", 0.005, 0x1p-20},
    {DTYPE_BFLOAT16, "float64", 0.04, 0},
};
#define DTYPES 4

static const char program_head[] =
    "#include <stdio.h>\n#include <stdlib.h>\n\n#include \"modc_optim.h\"\n#include \"modc_simd.h\"\n\nMODC_KERNELS_BEGIN\n\n";

/* Reads param and grads, as double; writes param after each step, then the states. */
static const char program_tail[] =
    "\nMODC_KERNELS_END\n\n"
    "struct run {\n    modc_update *step;\n    enum modc_dtype dtype;\n    int state_count, scalar[3];\n"
    "    double initial[3], hyper[8];\n};\n\n"
    "static const struct run runs[] = {\n%s};\n\n"
    "static void *make(size_t count, enum modc_dtype dtype, const double *values, double initial)\n{\n"
    "    char *made = malloc(count * modc_dtype_bytes(dtype));\n\n"
    "    for (size_t i = 0; made && i < count; i++)\n"
    "        modc_store(made + i * modc_dtype_bytes(dtype), dtype, values ? values[i] : initial);\n"
    "    return made;\n}\n\n"
    "static void show(const void *from, enum modc_dtype dtype, size_t count)\n{\n"
    "    for (size_t i = 0; i < count; i++) {\n"
    "        double value = modc_number((const char *)from + i * modc_dtype_bytes(dtype), dtype);\n\n"
    "        fwrite(&value, sizeof value, 1, stdout);\n    }\n}\n\n"
    "int main(void)\n{\n    static double values[11][COUNT];\n\n"
    "    if (fread(values, sizeof values, 1, stdin) != 1)\n        return 1;\n"
    "    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {\n"
    "        const struct run *run = &runs[r];\n"
    "        enum modc_dtype scalar = run->dtype == MODC_FLOAT64 ? MODC_FLOAT64 : MODC_FLOAT32;\n"
    "        double hyper[8];\n        void *state[3] = {NULL, NULL, NULL};\n"
    "        void *param = make(COUNT, run->dtype, values[0], 0);\n\n"
    "        for (int i = 0; i < 8; i++)\n            hyper[i] = run->hyper[i];\n"
    "        for (int i = 0; i < run->state_count; i++)\n"
    "            state[i] = make(run->scalar[i] ? 1 : COUNT, run->scalar[i] ? scalar : run->dtype, NULL, run->initial[i]);\n"
    "        for (int step = 1; step <= 10; step++) {\n"
    "            void *grad = make(COUNT, run->dtype, values[step], 0);\n\n"
    "            run->step(param, grad, state, COUNT, hyper, step);\n"
    "            show(param, run->dtype, COUNT);\n            hyper[0] *= 0.95;\n            free(grad);\n        }\n"
    "        for (int i = 0; i < run->state_count; i++) {\n"
    "            show(state[i], run->scalar[i] ? scalar : run->dtype, run->scalar[i] ? 1 : COUNT);\n"
    "            free(state[i]);\n        }\n"
    "        free(param);\n    }\n    return 0;\n}\n";

static void add_run(struct text *runs, const struct optim *optim, enum dtype dtype)
{
    const struct optim_state *states[OPTIM_MAX_STATES];
    const char *names[OPTIM_MAX_HYPERS];
    double hypers[OPTIM_MAX_HYPERS];
    int count = optim_states(&cx, optim, states), hyper_count = optim_hypers(&cx, optim, names, hypers);

    assert_string_equal(names[0], "lr");
    text_printf(runs, "    {%s_step, %s, %d, {", optim_step_name(&cx, optim, dtype, true),
                dtype_rows[dtype].modc, count);
    for (int i = 0; i < count; i++)
        text_printf(runs, "%s%d", i ? ", " : "", states[i]->scalar);
    text_printf(runs, "%s}, {", count == 0 ? "0" : "");
    for (int i = 0; i < count; i++)
        text_printf(runs, "%s%.17g", i ? ", " : "", optim_initial(&cx, optim, states[i]));
    text_printf(runs, "%s}, {", count == 0 ? "0" : "");
    for (int i = 0; i < hyper_count; i++)
        text_printf(runs, "%s%.17g", i ? ", " : "", hypers[i]);
    text_add(runs, "}},\n");
}

static void write_program(const char *path, const char *const *cases, int case_count, int elements)
{
    FILE *file = fopen(path, "w");
    struct text text = text_new(ARENA), runs = text_new(ARENA);
    struct names printed = {0};

    assert_non_null(file);
    for (int i = 0; i < case_count; i++) {
        const struct optim *optim = read_optim(cases[i]);

        assert_non_null(optim);
        for (int j = 0; j < DTYPES; j++) {
            const char *name = optim_step_name(&cx, optim, dtypes[j].dtype, true);

            if (!names_add(ARENA, &printed, name, name, (struct loc){0}))
                emit_optim_step(&cx, &text, optim, dtypes[j].dtype, name, false, NULL, NULL, NULL);
            add_run(&runs, optim, dtypes[j].dtype);
        }
    }
    fprintf(file, "#define COUNT %d\n%s%s", elements, program_head, text.data);
    fprintf(file, program_tail, runs.data);
    fclose(file);
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* A tensor of the vectors as doubles; how many. */
static int get_tensor(const struct modc_reader *reader, const char *name, double *out)
{
    struct modc_item item;
    size_t size;

    if (!modc_reader_find(reader, name, &item))
        fail_msg("%s is missing", name);
    size = modc_dtype_bytes((enum modc_dtype)item.dtype);
    for (size_t i = 0; i < item.bytes / size; i++)
        out[i] = modc_number((const char *)item.data + i * size, (enum modc_dtype)item.dtype);
    return (int)(item.bytes / size);
}

/* What the program wrote for one tensor, relative to its largest value. */
static int compare(const char *how, const char *what, const char *name, FILE *file, const double *expected,
                   int count, int type)
{
    double largest = 0, worst = 0, value;
    int at = 0;

    for (int i = 0; i < count; i++)
        largest = fmax(largest, fabs(expected[i]));
    for (int i = 0; i < count; i++) {
        assert_int_equal(fread(&value, sizeof value, 1, file), 1);
        if (!(fabs(value - expected[i]) <= worst)) {
            worst = fabs(value - expected[i]);
            at = i;
        }
    }
    if (worst <= dtypes[type].tolerance * largest + dtypes[type].least)
        return 0;
    print_error("%s: %s: %s[%d] differs by %.3g of %.3g\n", how, what, name, at, worst, largest);
    return 1;
}

static int compare_all(const char *how, const char *path, const struct modc_reader *reader,
                       const char *const *cases, int case_count)
{
    FILE *file = fopen(path, "rb");
    double expected[STEPS * MOST];
    int bad = 0;

    assert_non_null(file);
    for (int i = 0; i < case_count; i++) {
        const struct optim_state *states[OPTIM_MAX_STATES];
        int state_count = optim_states(&cx, read_optim(cases[i]), states);

        for (int j = 0; j < DTYPES; j++) {
            const char *prefix = arena_format(ARENA, "%d.%s", i, dtypes[j].expected);
            int count = get_tensor(reader, arena_format(ARENA, "%s.param", prefix), expected);

            bad += compare(how, cases[i], dtype_rows[dtypes[j].dtype].name, file, expected, count, j);
            for (int k = 0; k < state_count; k++) {
                count = get_tensor(reader, arena_format(ARENA, "%s.%s", prefix, states[k]->name), expected);
                bad += compare(how, cases[i], states[k]->name, file, expected, count, j);
            }
        }
    }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    return bad;
}

static void test_steps(void **state)
{
    static const char *const kinds[][2] = {{"", "-O0 -DMODC_LANES=1"},
                                           {"", "-O2"},
                                           {"", "-O2 -mavx512f"},
                                           {"clang", "-O1 -march=x86-64-v3"},
                                           {"clang", SANITIZE}};
    char folder[] = "/tmp/modc_optim_XXXXXX", command[1000];
    static double values[(STEPS + 1) * MOST];
    int case_count, elements, bad = 0;
    const char **cases = read_cases(&case_count), *error;
    const struct source *file = source_read(&cx, FOLDER "steps.safetensors", 1 << 24, &error);
    struct modc_reader reader;
    FILE *inputs;

    (void)state;
    assert_non_null(file);
    make_folder(folder);
    assert_int_equal(modc_reader_open(&reader, file->text, file->length, NULL), MODC_OK);
    elements = get_tensor(&reader, "param", values);
    get_tensor(&reader, "grads", values + elements);
    inputs = fopen(arena_format(ARENA, "%s/in", folder), "wb");
    assert_non_null(inputs);
    fwrite(values, sizeof *values, (size_t)(STEPS + 1) * (size_t)elements, inputs);
    fclose(inputs);
    write_program(arena_format(ARENA, "%s/steps.c", folder), cases, case_count, elements);
    for (int i = 0; i < (getenv("MODC_TEST_QUICK") ? 1 : 5); i++) {
        const char *compiler = *kinds[i][0] ? kinds[i][0] : own_compiler();
        const char *how = arena_format(ARENA, "%s %s", compiler, kinds[i][1]);

        if (!runs_here(kinds[i][1]) || !has_program(compiler))
            continue;
        snprintf(
            command, sizeof command,
            "%s -std=c99 " WARNINGS
            " -Iruntime -o %s/steps %s/steps.c runtime/modc_state.c runtime/modc_integers.c runtime/modc_report.c "
            "runtime/modc_safetensors.c runtime/modc_safetensors_write.c runtime/modc_dtype.c runtime/modc_names.c -lm && %s/steps <%s/in >%s/out",
            how, folder, folder, folder, folder, folder);
        assert_int_equal(system(command), 0);
        bad += compare_all(how, arena_format(ARENA, "%s/out", folder), &reader, cases, case_count);
    }
    remove_folder(folder);
    assert_int_equal(bad, 0);
    assert_int_equal(diag_errors(&cx), 0);
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* What reading it says, without places; "" for nothing. */
static const char *said(const char *text)
{
    struct text all = text_new(ARENA);
    const struct optim *optim;

    cx.item_count = cx.errors = 0;
    optim = read_optim(text);
    assert_true(!optim == (cx.item_count > 0));
    for (int i = 0; i < cx.item_count; i++)
        text_printf(&all, "%s%s", i ? "; " : "", cx.items[i].text);
    return all.data;
}

static void test_arguments(void **state)
{
    (void)state;
    assert_string_equal(said("torch.optim.SGD(1e-2, 0.9, 0, 0.1, True)"), "");
    assert_string_equal(said("optim.Adam(lr=1, fused=False)"), "");
    assert_string_equal(said("AdamW(betas=[0.9, 0.95])"), "");
    assert_string_equal(said("SGD(lr=-1)"), "SGD: Invalid learning rate: -1");
    assert_string_equal(said("SGD(momentum=-0.5)"), "SGD: Invalid momentum value: -0.5");
    assert_string_equal(said("SGD(nesterov=True)"),
                        "SGD: Nesterov momentum requires a momentum and zero dampening");
    assert_string_equal(said("SGD(momentum=0.9, dampening=0.1, nesterov=True)"),
                        "SGD: Nesterov momentum requires a momentum and zero dampening");
    assert_string_equal(said("Adam(betas=(0.9, 1.0))"), "Adam: Invalid beta parameter at index 1: 1.0");
    assert_string_equal(said("Adam(betas=(-0.1, 0.9))"), "Adam: Invalid beta parameter at index 0: -0.1");
    assert_string_equal(said("Adam(betas=(0, 0.999))"),
                        "Adam: betas must be either both floats or both Tensors");
    assert_string_equal(said("NAdam(betas=(0, 0.999))"), "");
    assert_string_equal(said("AdamW(eps=-1e-8)"), "AdamW: Invalid epsilon value: -1e-08");
    assert_string_equal(said("AdamW(weight_decay=-1)"), "AdamW: Invalid weight_decay value: -1");
    assert_string_equal(said("RMSprop(alpha=-1)"), "RMSprop: Invalid alpha value: -1");
    assert_string_equal(said("RMSprop(alpha=1.5)"), "");
    assert_string_equal(said("Adagrad(lr_decay=-1)"), "Adagrad: Invalid lr_decay value: -1");
    assert_string_equal(said("Adagrad(initial_accumulator_value=-1)"),
                        "Adagrad: Invalid initial_accumulator_value value: -1");
    assert_string_equal(said("Adadelta(rho=1.1)"), "Adadelta: Invalid rho value: 1.1");
    assert_string_equal(said("NAdam(momentum_decay=-1)"), "NAdam: Invalid momentum_decay value: -1");
    assert_string_equal(said("AdamX()"), "modc does not know the optimizer 'AdamX'; did you mean 'Adam'?");
    assert_string_equal(
        said("Lion()"),
        "modc does not know the optimizer 'Lion'; it knows SGD, Adam, AdamW, RMSprop, Adagrad, "
        "Adadelta, Adamax, NAdam, RAdam");
    assert_string_equal(said("AdamW"), "an optimizer is needed here, as AdamW(lr=3e-4)");
    assert_string_equal(
        said("AdamW(learning_rate=1)"),
        "AdamW has no argument 'learning_rate'; it is AdamW(lr=0.001, betas=(0.9, 0.999), eps=1e-08, "
        "weight_decay=0.01, amsgrad=False, *, maximize=False, foreach=None, capturable=False, "
        "differentiable=False, fused=None)");
    assert_string_equal(said("AdamW(weight_deca=1)"),
                        "AdamW has no argument 'weight_deca'; did you mean 'weight_decay'?");
    assert_string_equal(said("AdamW(lr='fast')"), "AdamW: argument 'lr' must be a number, found 'fast'");
    assert_string_equal(said("AdamW(amsgrad=1)"), "AdamW: argument 'amsgrad' must be True or False, found 1");
    assert_string_equal(said("AdamW(betas=0.9)"), "AdamW: argument 'betas' must be two numbers, found 0.9");
}

static void test_names(void **state)
{
    static const struct {
        const char *optim, *name;
    } cases[] = {
        {"SGD()", "sgd_float32"},
        {"SGD(momentum=0.9, nesterov=True, weight_decay=1e-4)", "sgd_momentum_nesterov_decay_float32"},
        {"Adam(amsgrad=True, maximize=True)", "adam_amsgrad_maximize_float32"},
        {"Adam(weight_decay=0.1, decoupled_weight_decay=True)", "adam_decay_decoupled_float32"},
        {"Adam(decoupled_weight_decay=True)", "adam_float32"},
        {"AdamW()", "adamw_decay_float32"},
        {"AdamW(weight_decay=0)", "adamw_float32"},
        {"RMSprop(centered=True)", "rmsprop_centered_float32"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(optim_step_name(&cx, read_optim(cases[i].optim), DTYPE_FLOAT32, true),
                            cases[i].name);
}

/* A group has what its optimiser has, but for what it says itself. */
static void test_groups(void **state)
{
    struct eval eval = {.cx = &cx};
    struct loc nowhere = {0};
    struct optim *base = read_optim("AdamW(lr=0.1, betas=(0.8, 0.9))"), *group;
    struct ev args[] = {ev_float(nowhere, 0.0), ev_float(nowhere, 0.5)};
    const char *names[] = {"weight_decay", "lr"}, *hypers[OPTIM_MAX_HYPERS];
    struct loc locs[2] = {{0}};
    struct call call = {.args = args, .names = names, .locs = locs, .count = 2};
    double values[OPTIM_MAX_HYPERS];

    (void)state;
    group = optim_group(&eval, base, &call);
    assert_non_null(group);
    assert_int_equal(optim_hypers(&cx, group, hypers, values), 5);
    assert_string_equal(hypers[1], "beta1");
    assert_float_equal(values[0], 0.5, 0);
    assert_float_equal(values[1], 0.8, 0);
    assert_float_equal(values[4], 0.0, 0);
    assert_string_equal(optim_step_name(&cx, group, DTYPE_FLOAT64, true), "adamw_float64");
    args[1] = ev_float(nowhere, -0.5);
    assert_null(optim_group(&eval, base, &call));
    assert_string_equal(cx.items[0].text, "AdamW: Invalid learning rate: -0.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_steps, tear_down),
        cmocka_unit_test_teardown(test_arguments, tear_down),
        cmocka_unit_test_teardown(test_names, tear_down),
        cmocka_unit_test_teardown(test_groups, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
