/* test_command.c - the command line: options by the table, what they change, children and their signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands/catalogue.h"
#include "commands/help.h"
#include "commands/options.h"
#include "commands/process.h"
#include "commands/settings.h"
#include "layers/layers.h"
#include "plan/target.h"

struct line {
    struct cx cx;
    struct options options;
    int status;
    bool good;
};

/* Splits at blanks. */
static struct line *parse(struct line *line, const char *text)
{
    struct process words = {0};
    int count = 0;

    memset(line, 0, sizeof *line);
    line->cx.options = &line->options;
    process_word(&line->cx, &words, "modc");
    process_words(&line->cx, &words, text);
    while (words.words[count])
        count++;
    line->good = options_parse(&line->cx, count, (char **)(uintptr_t)words.words, &line->options,
                               &line->status);
    return line;
}

static bool said(const struct cx *cx, const char *text)
{
    for (int i = 0; i < cx->item_count; i++)
        if (strstr(cx->items[i].text, text))
            return true;
    return false;
}

static void test_options(void **state)
{
    struct line l;

    (void)state;
    assert_true(
        parse(&l, "generate a.yaml -o out --set n=3 --set=m=4 --plan conv=conv_direct --bundle")->good);
    assert_int_equal(l.options.command, COMMAND_GENERATE);
    assert_string_equal(l.options.argument, "a.yaml");
    assert_string_equal(l.options.out_dir, "out");
    assert_int_equal(l.options.setting_count, 2);
    assert_string_equal(l.options.settings[1].name, "m");
    assert_string_equal(l.options.settings[1].value, "4");
    assert_int_equal(l.options.plan_count, 1);
    assert_true(l.options.bundle);
    arena_free(&l.cx.arena);

    assert_true(parse(&l, "generate -oout --weights w -")->good);
    assert_string_equal(l.options.argument, "-");
    assert_string_equal(l.options.out_dir, "out");
    assert_string_equal(l.options.weights, "w");
    arena_free(&l.cx.arena);

    assert_true(parse(&l, "run --weights w --hooks=a=scale:2 -- --odd.yaml --time")->good ==
                false); /* two SPECs */
    arena_free(&l.cx.arena);
    assert_true(parse(&l, "run --weights w --hooks=a=scale:2 --time -- --odd.yaml")->good);
    assert_string_equal(l.options.argument, "--odd.yaml");
    assert_int_equal(l.options.run_option_count, 3);
    assert_true(l.options.run_options[0].reads);
    assert_string_equal(l.options.run_options[1].value, "a=scale:2");
    assert_null(l.options.run_options[2].value);
    arena_free(&l.cx.arena);

    assert_true(
        parse(&l, "check a --plan contract=gemm_dot --plan contract=gemm_panel --dtype double")->good);
    assert_int_equal(l.options.plan_count, 1); /* the last one counts */
    assert_string_equal(l.options.plans[0], "contract=gemm_panel");
    assert_string_equal(l.options.dtype, "float64");
    arena_free(&l.cx.arena);

    assert_true(parse(&l, "run a --isa sse2,avx512,neon")->good);
    assert_string_equal(l.options.isa, "sse2,avx512,neon");
    assert_int_equal(l.options.isa_widths, 20);
    arena_free(&l.cx.arena);

    assert_true(parse(&l, "run a --isa avx2 --isa scalar")->good); /* the last one counts */
    assert_int_equal(l.options.isa_widths, 0);
    arena_free(&l.cx.arena);

    assert_true(parse(&l, "summary --help")->good);
    assert_int_equal(l.options.command, COMMAND_HELP);
    assert_string_equal(l.options.argument, "summary");
    arena_free(&l.cx.arena);
    assert_true(parse(&l, "help --version")->good);
    assert_string_equal(l.options.argument, "--version");
    arena_free(&l.cx.arena);
}

static void test_faults(void **state)
{
    static const struct {
        const char *line, *says, *hints;
        int status;
    } cases[] = {
        {"", "a command is missing", "modc help", EXIT_COMMAND_LINE},
        {"generte a", "there is no command 'generte'", "did you mean 'generate'?", EXIT_COMMAND_LINE},
        {"diff a", "needs two specs, OLD and NEW", "modc help diff", EXIT_COMMAND_LINE},
        {"diff a b c", "takes OLD NEW, found 'c' too", "modc help diff", EXIT_COMMAND_LINE},
        {"diff - -", "only one of OLD and NEW", "", EXIT_COMMAND_LINE},
        {"diff a b --format=yaml", "--format cannot be 'yaml'", "text, json or markdown", EXIT_COMMAND_LINE},
        {"generate a", "needs -o DIR", "modc help generate", EXIT_COMMAND_LINE},
        {"check", "modc check needs a SPEC", "modc help check", EXIT_COMMAND_LINE},
        {"check a b", "takes one SPEC, found 'a' and 'b'", "", EXIT_COMMAND_LINE},
        {"check a --explian", "no option --explian", "did you mean '--explain'?", EXIT_COMMAND_LINE},
        {"check a -o x", "no option -o", "modc help check", EXIT_COMMAND_LINE},
        {"check a --explain=yes", "--explain takes no value", "", EXIT_COMMAND_LINE},
        {"check a --set", "--set needs a value: --set NAME=VALUE", "", EXIT_COMMAND_LINE},
        {"check a --set n", "--set cannot be 'n'", "NAME=VALUE", EXIT_COMMAND_LINE},
        {"check a --plan contract=gemm_dott", "no algorithm 'gemm_dott'", "did you mean 'gemm_dot'?",
         EXIT_COMMAND_LINE},
        {"check a --plan contrct=gemm_dot", "no op 'contrct'", "did you mean 'contract'?", EXIT_COMMAND_LINE},
        {"check a --dump=grph", "--dump cannot be 'grph'", "did you mean 'graph'?", EXIT_COMMAND_LINE},
        {"check a --diagnostics jsn", "--diagnostics cannot be 'jsn'", "did you mean 'json'?",
         EXIT_COMMAND_LINE},
        {"check a --color=red", "--color cannot be 'red'", "it takes auto, always or never",
         EXIT_COMMAND_LINE},
        {"check a --dtype float31", "--dtype cannot be 'float31'", "float32", EXIT_COMMAND_LINE},
        {"check a --dtype int64", "does not compute in int64", "", EXIT_COMMAND_LINE},
        {"check a --device cuda:1", "chosen when the model runs", "", EXIT_DEVICE},
        {"check a --device xpu", "PyTorch has the device 'xpu'", "", EXIT_DEVICE},
        {"run a --seed -1", "--seed cannot be '-1'", "", EXIT_COMMAND_LINE},
        {"run a --rtol x", "--rtol cannot be 'x'", "", EXIT_COMMAND_LINE},
        {"layers --bundle", "takes no option --bundle", "", EXIT_COMMAND_LINE},
        {"--version x", "takes no argument", "", EXIT_COMMAND_LINE},
    };
    struct line l;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(&l, cases[i].line);
        if (l.good || l.status != cases[i].status || !said(&l.cx, cases[i].says) ||
            !said(&l.cx, cases[i].hints)) {
            diag_print(&l.cx, stderr, false);
            fail_msg("'%s': good %d, status %d", cases[i].line, l.good, l.status);
        }
        arena_free(&l.cx.arena);
    }
    parse(&l, "--diagnostics=json generte");
    assert_int_equal(l.options.diagnostics, DIAG_JSON); /* known before the first fault */
    arena_free(&l.cx.arena);
    parse(&l, "generte --color always");
    assert_int_equal(l.options.diagnostics, DIAG_COLOR);
    arena_free(&l.cx.arena);
    parse(&l, "generte --color always --color=never");
    assert_int_equal(l.options.diagnostics, DIAG_PLAIN);
    arena_free(&l.cx.arena);
    parse(&l, "check --diagnostics=json --help --color always");
    assert_int_equal(l.options.diagnostics, DIAG_JSON); /* help too */
    assert_string_equal(l.options.color, "always");
    arena_free(&l.cx.arena);
}

static void assert_lines_fit(const char *text)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        if (end - text > 100)
            fail_msg("longer than 100 columns: %.*s", (int)(end - text), text);
    }
}

/* Every option is found by the table for every command it belongs to, and help names it. */
static void test_help(void **state)
{
    struct cx cx = {0};
    struct text overview = text_new(&cx.arena);

    (void)state;
    help_print(&overview, NULL);
    assert_lines_fit(overview.data);
    for (int c = 0; c < COMMAND_COUNT; c++) {
        struct text text = text_new(&cx.arena);

        help_print(&text, &command_rows[c]);
        assert_lines_fit(text.data);
        assert_ptr_equal(command_find(command_rows[c].name), &command_rows[c]);
        for (int i = 0; i < option_row_count; i++) {
            if (!(option_rows[i].commands & 1u << c))
                continue;
            assert_ptr_equal(option_find((enum command)c, option_rows[i].name),
                             &option_rows[i]); /* each name once */
            assert_true(!option_rows[i].text || strstr(text.data, option_rows[i].name));
        }
    }
    arena_free(&cx.arena);
}

static void test_layers(void **state)
{
    struct options options = {0};
    struct cx cx = {.options = &options};
    struct text all = text_new(&cx.arena), one = text_new(&cx.arena);
    const char *const *names;
    int count;

    (void)state;
    catalogue_print(&cx, &all);
    names = layer_names(&cx, &count);
    for (int i = 0; i < count; i++) {
        assert_non_null(strstr(all.data, names[i]));
        assert_true(catalogue_print_one(&cx, &one, names[i]));
    }
    assert_non_null(strstr(one.data, "Linear(in_features, out_features, bias=True)"));
    assert_non_null(strstr(one.data, "weight  (out_features, in_features)  kaiming_uniform_(a=5 ** 0.5)"));
    assert_non_null(strstr(one.data, "LeakyReLU(negative_slope=0.01, inplace=False)"));
    assert_false(catalogue_print_one(&cx, &one, "Linaer"));
    assert_true(said(&cx, "did you mean 'Linear'?"));
    arena_free(&cx.arena);
}

static void test_targets(void **state)
{
    static const struct {
        const char *text;
        int64_t ram, flash;
        int align, pointer;
        bool hosted;
    } cases[] = {
        {"hosted", 0, 0, 64, sizeof(void *), true},
        {"stm32f103c8", 20480, 65536, 8, 4, false},
        {"stm32f411,ram=100K", 102400, 524288, 8, 4, false},
        {"stm32f411,align=32,flash=1M", 131072, 1048576, 32, 4, false},
        {"cortex-m0", 0, 0, 8, 4, false},
        {"ram=65536", 65536, 0, 64, sizeof(void *), true},
        {"ram=64K,hosted=no", 65536, 0, 8, 4, false},
        {"hosted=no,align=64,flash=1G", 0, 1 << 30, 64, 4, false},
        {"esp32,hosted=yes", 327680, 4194304, 8, 4, true},
        {"sm_90", 0, 0, 64, sizeof(void *), true},
        {"sm_86,memory=24G", 0, 0, 64, sizeof(void *), true},
    };
    static const char *const wrong[] = {"",
                                        ",",
                                        "stm32",
                                        "STM32F411",
                                        "stm32f411,nrf52840",
                                        "ram",
                                        "ram=",
                                        "ram=0",
                                        "ram=-1",
                                        "ram=64KB",
                                        "ram=9000000000000000000K",
                                        "ram=99999999999999999999",
                                        "ram=1.5M",
                                        "align=4",
                                        "align=24",
                                        "align=128",
                                        "hosted=true",
                                        "=3",
                                        "hosted=no,",
                                        "ram=1K,,flash=2K",
                                        "sm_75",
                                        "sm_9",
                                        "sm_90a",
                                        "sm_90,ram=1G",
                                        "sm_90,hosted=no",
                                        "sm_90,memory=0",
                                        "memory=1G",
                                        "stm32f411,memory=1G"};
    struct options options = {0};
    struct cx cx = {.options = &options};

    (void)state;
    assert_true(target_of(&cx)->hosted);
    assert_false(target_sets_align(target_of(&cx)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct target *target = target_parse(&cx, cases[i].text);

        assert_non_null(target);
        assert_string_equal(target->name, cases[i].text);
        assert_int_equal(target->ram, cases[i].ram);
        assert_int_equal(target->flash, cases[i].flash);
        assert_int_equal(target->align, cases[i].align);
        assert_int_equal(target->pointer, cases[i].pointer);
        assert_int_equal(target->hosted, cases[i].hosted);
        assert_int_equal(target_sets_align(target), target->align != 64 || !target->hosted);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cx own = {.options = &options};

        if (target_parse(&own, wrong[i]) || diag_errors(&own) != 1)
            fail_msg("--target '%s' is taken", wrong[i]);
        arena_free(&own.arena);
    }
    arena_free(&cx.arena);
}

/* A key that is new needs a place in modc diff, which would say else that specs do not differ. */
static void test_diff_has_all_keys(void **state)
{
    static const char *const shown[] = {
        "modc", /* one version */
        "model",      "dtype",       "device",   "hooks",    "pack",     "state_dict",
        "storage",    "activations", "ranges",   "threads",  "winograd", "denormals", /* settings */
        "constants",  "sizes",       "inputs",   "entries",  "forward",  "functions",
        "methods",                                                               /* parts of these names */
        "classes",    "modules",     "extends",  "set",      "add",      "eval", /* modules, statements */
        "parameters", "buffers",     "state",    "freeze",   "tie",              /* state_dict, tensors */
        "backward",   "checkpoint",  "update",   "training", "rollout",  "tokenizer",
        "template",   "generation",  "autocast", /* settings */
    };

    (void)state;
    for (int i = 0; spec_key(i); i++) {
        const struct spec_key *key = spec_key(i);
        bool found = !(key->where & SPEC_IN_MODEL) || key->value == SPEC_VALUE_LATER;

        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            found |= strcmp(shown[k], key->name) == 0;
        if (!found)
            fail_msg("let diff.c compare what '%s' says, then name it here", key->name);
    }
}

static void test_settings(void **state)
{
    static const char text[] =
        "modc: 1\nmodel: m\nconstants: {wide: 4}\nsizes: {batch: 8}\ninputs:\n  x: [batch, wide]\n"
        "modules:\n  - Linear(wide, 2)\n";
    struct source source = {.name = "m.yaml", .text = text, .length = sizeof text - 1};
    struct setting settings[] = {{"wide", "2 * 8"}, {"batch", "3"}}, unknown = {"wied", "1"},
                   broken = {"wide", "3 +"};
    struct options options = {.settings = settings, .setting_count = 2, .dtype = "float64", .model = "other"};
    struct cx cx = {.options = &options};
    struct spec *spec = spec_read(&cx, &source);
    struct text dump = text_new(&cx.arena);

    (void)state;
    assert_int_equal(diag_errors(&cx), 0);
    assert_true(settings_apply(&cx, spec));
    expr_print(&dump, spec->constants[0].value);
    expr_print(&dump, spec->sizes[0].max);
    assert_string_equal(dump.data, "2 * 83");
    assert_string_equal(spec->dtypes[0], "float64");
    assert_string_equal(spec->model, "other");
    assert_string_equal(spec->root.name, "other");
    options.settings = &unknown;
    options.setting_count = 1;
    assert_false(settings_apply(&cx, spec));
    assert_true(said(&cx, "no size 'wied'"));
    assert_true(said(&cx, "did you mean 'wide'?"));
    assert_false(settings_at_fault(&cx));
    cx.errors = 0;
    options.settings = &broken;
    assert_false(settings_apply(&cx, spec));
    assert_true(settings_at_fault(&cx));
    options.setting_count = 0;
    options.model = "modc";
    assert_false(settings_apply(&cx, spec));
    assert_true(said(&cx, "the prefix 'modc' belongs to the runtime"));
    options.model = "my-net";
    assert_false(settings_apply(&cx, spec));
    assert_true(said(&cx, "'my-net' is not a name"));
    assert_string_equal(spec->model, "other");
    arena_free(&cx.arena);
}

static void test_words(void **state)
{
    static const char *const expected[] = {"ccache", "gcc", "-DX=a b", "-DY=\"z\"", "", "end", NULL};
    struct cx cx = {0};
    struct process process = {0};

    (void)state;
    process_words(&cx, &process, "  ccache gcc '-DX=a b'\t-DY=\\\"z\\\" \"\" end ");
    for (int i = 0; expected[i]; i++)
        assert_string_equal(process.words[i], expected[i]);
    assert_null(process.words[6]);
    arena_free(&cx.arena);
}

static void test_processes(void **state)
{
    struct options options = {0};
    struct cx cx = {.options = &options};
    struct process list[5];
    const char *error = NULL, *folder = process_make_folder(&cx, &error);
    const char *inner = process_make_inner(&cx, folder, "inner", &error);

    (void)state;
    assert_non_null(inner);
    assert_null(process_make_inner(&cx, folder, "inner", &error)); /* it is there */
    assert_non_null(strstr(error, "cannot make a folder"));
    memset(list, 0, sizeof list);
    process_words(&cx, &list[0], "sh -c 'exit 3'");
    process_words(&cx, &list[1], "true");
    process_words(&cx, &list[2], "no_such_program_of_modc");
    process_words(&cx, &list[3], "sh -c 'kill -9 $$'");
    process_words(&cx, &list[4], "sh -c 'echo out; echo err >&2'");
    list[4].said = arena_format(&cx.arena, "%s/said", inner);
    assert_true(process_run(list, 5, 2));
    assert_int_equal(list[0].status, 3);
    assert_true(process_succeeded(&list[1]));
    assert_int_equal(list[2].error, ENOENT);
    assert_int_equal(list[3].signal, SIGKILL);
    assert_true(process_succeeded(&list[4]));
    assert_string_equal(source_read(&cx, list[4].said, 100, &error)->text, "out\nerr\n");
    process_remove_folder();
    assert_int_equal(access(inner, F_OK), -1);
    process_remove_folder();
    assert_int_equal(access(folder, F_OK), -1);
    assert_string_equal(strrchr(process_find(&cx, "sh"), '/'), "/sh");
    assert_null(process_find(&cx, "no_such_program_of_modc"));
    assert_null(process_find(&cx, "/no/such/sh"));
    arena_free(&cx.arena);
}

/* Told to end while a child runs: the child ends, the folder goes, and modc dies by the signal. */
static void test_signal(void **state)
{
    struct cx cx = {0};
    const char *error = NULL, *folder = process_make_folder(&cx, &error);
    int status;
    pid_t pid;

    (void)state;
    assert_non_null(folder);
    pid = fork();
    if (pid == 0) {
        struct process process = {0};

        process_words(&cx, &process,
                      arena_format(&cx.arena, "sh -c 'touch %s/started; exec sleep 60'", folder));
        if (!process_run(&process, 1, 1)) {
            process_remove_folder();
            process_end();
        }
        _exit(0);
    }
    for (int i = 0; i < 500 && access(arena_format(&cx.arena, "%s/started", folder), F_OK) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(access(folder, F_OK), -1);
    process_remove_folder(); /* this process has it open, too */
    arena_free(&cx.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_help),      cmocka_unit_test(test_layers),
        cmocka_unit_test(test_targets),   cmocka_unit_test(test_diff_has_all_keys),
        cmocka_unit_test(test_settings),  cmocka_unit_test(test_words),
        cmocka_unit_test(test_processes), cmocka_unit_test(test_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
