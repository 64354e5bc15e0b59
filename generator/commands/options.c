/* options.c - reads the command line by the table of help.c. Faults are said like those of a spec, without a place. */
#include "commands/options.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/terminal.h"
#include "commands/help.h"
#include "emit/bundle.h"
#include "plan/algorithm.h"
#include "plan/target.h"
#include "plan/weights_file.h"
#include "spec/spec.h"

struct reader {
    struct cx *cx;
    struct options *options;
    char **words;
    int count, at; /* at: the next word */
    int status;
};

static const struct loc nowhere = {0};

static bool wrong(struct reader *r)
{
    r->status = EXIT_COMMAND_LINE;
    return false;
}

static const char *command_name(const struct reader *r)
{
    return command_rows[r->options->command].name;
}

static void hint_help(struct reader *r)
{
    if (r->options->command < COMMAND_LAYERS)
        diag_hint(r->cx, "'modc help %s' shows its options", command_name(r));
    else
        diag_hint(r->cx, "'modc help' shows what there is");
}

/* ---- values ----------------------------------------------------------------------------------------------- */

static bool is_whole(const char *text)
{
    char *end;

    errno = 0;
    strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && errno == 0;
}

static bool is_real(const char *text)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    return text[0] && !*end && errno == 0 && value >= 0;
}

static bool bad_value(struct reader *r, const char *name, const char *value, const char *expected)
{
    diag_error(r->cx, nowhere, "%s cannot be '%s'", name, value);
    diag_hint(r->cx, "%s", expected);
    return wrong(r);
}

static bool take_set(struct reader *r, const char *value)
{
    const char *equals = strchr(value, '=');
    struct options *options = r->options;

    if (!equals || equals == value || !equals[1])
        return bad_value(r, "--set", value, "write it as NAME=VALUE: --set hidden=128");
    ARENA_PUSH(&r->cx->arena, options->settings, options->setting_count,
               ((struct setting){arena_copy(&r->cx->arena, value, (size_t)(equals - value)), equals + 1}));
    return true;
}

/* The algorithms of an op, or (NULL) the ops that have algorithms: each once. */
static const char **algorithm_names(struct reader *r, const char *op, int *count)
{
    const struct algorithm *row;
    const char **names = NULL;

    *count = 0;
    for (int i = 0; (row = algorithm_at(i)); i++) {
        const char *own = op_rows[row->op]->name, *name = op ? row->name : own;
        bool there = op && strcmp(own, op) != 0;

        for (int j = 0; j < *count; j++)
            there |= strcmp(names[j], name) == 0;
        if (!there)
            ARENA_PUSH(&r->cx->arena, names, *count, name);
    }
    return names;
}

static bool is_among(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static const char *joined(struct reader *r, const char *const *names, int count)
{
    struct text text = text_new(&r->cx->arena);

    for (int i = 0; i < count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", names[i]);
    return text.data;
}

/* --plan split=3 */
static bool take_split(struct reader *r, const char *value)
{
    enum { most = 64 };
    char *end;
    long slices = strtol(value, &end, 10);

    if (value[strspn(value, "0123456789")] || !*value || slices < 1 || slices > most) {
        diag_error(r->cx, nowhere, "--plan: split is a number of slices from 1 to %d, not '%s'", most, value);
        return wrong(r);
    }
    r->options->split = (int)slices;
    return true;
}

static bool take_plan(struct reader *r, const char *value)
{
    const char *equals = strchr(value, '=');
    struct options *options = r->options;
    const char **names;
    char *op;
    int count;

    if (!equals || equals == value || !equals[1])
        return bad_value(r, "--plan", value, "write it as OP=ALGORITHM: --plan contract=gemm_dot");
    op = arena_copy(&r->cx->arena, value, (size_t)(equals - value));
    if (strcmp(op, "split") == 0)
        return take_split(r, equals + 1);
    names = algorithm_names(r, NULL, &count);
    if (!is_among(op, names, count)) {
        diag_error(r->cx, nowhere, "--plan: no op '%s' has algorithms to choose from", op);
        diag_hint_nearest(r->cx, op, names, count);
        diag_hint(r->cx, "there are: %s", joined(r, names, count));
        return wrong(r);
    }
    names = algorithm_names(r, op, &count);
    if (!is_among(equals + 1, names, count)) {
        diag_error(r->cx, nowhere, "--plan: %s has no algorithm '%s'", op, equals + 1);
        diag_hint_nearest(r->cx, equals + 1, names, count);
        diag_hint(r->cx, "it has: %s", joined(r, names, count));
        return wrong(r);
    }
    for (int i = 0; i < options->plan_count; i++) { /* the last one counts */
        if (strncmp(options->plans[i], value, strlen(op) + 1) == 0) {
            options->plans[i] = value;
            return true;
        }
    }
    ARENA_PUSH(&r->cx->arena, options->plans, options->plan_count, value);
    return true;
}

static bool take_device(struct reader *r, const char *value)
{
    r->options->device = spec_device(r->cx, value, nowhere);
    if (!r->options->device)
        r->status = EXIT_DEVICE;
    return r->options->device != NULL;
}

static bool take_dtype(struct reader *r, const char *value)
{
    enum dtype dtype;

    if (!dtype_find(value, &dtype))
        return bad_value(r, "--dtype", value,
                         "a model computes in float32, float64, float16, bfloat16, complex64 or complex128");
    if (!dtype_is_float(dtype) && !dtype_is_complex(dtype)) {
        diag_error(r->cx, nowhere, "a model does not compute in %s", dtype_rows[dtype].name);
        return wrong(r);
    }
    r->options->dtype = dtype_rows[dtype].name;
    return true;
}

/* "text, json or markdown" */
static const char *choice_text(struct cx *cx, const char *const *words, int count)
{
    struct text text = text_new(&cx->arena);

    for (int i = 0; i < count; i++)
        text_printf(&text, "%s%s", i == 0 ? "" : i < count - 1 ? ", " : " or ", words[i]);
    return text.data;
}

/* Whether it is one of the words that the option has. */
static bool take_choice(struct reader *r, const struct option_row *row, const char *value)
{
    int count;
    const char *const *words = option_values(r->cx, row, &count);

    if (is_among(value, words, count))
        return true;
    diag_error(r->cx, nowhere, "%s cannot be '%s'", row->name, value);
    diag_hint_nearest(r->cx, value, words, count);
    diag_hint(r->cx, "it takes %s", choice_text(r->cx, words, count));
    return wrong(r);
}

/* avx512,avx2: the vectors that emitted code may use; it is always right without any. */
static bool take_isa(struct reader *r, const char *value)
{
    static const struct {
        const char *name;
        int width;
    } sets[] = {{"avx512", 16}, {"avx2", 8}, {"sse2", 4}, {"neon", 4}, {"scalar", 0}};

    r->options->isa = value;
    r->options->isa_widths = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        int i = 0;

        while (i < COUNT(sets) && (strlen(sets[i].name) != length || strncmp(sets[i].name, at, length) != 0))
            i++;
        if (i == COUNT(sets))
            return bad_value(r, "--isa", value,
                             "it takes avx512, avx2, sse2, neon and scalar, with commas between them");
        r->options->isa_widths |= sets[i].width;
        at += length;
        if (!*at)
            return true;
    }
}

static void hand_on(struct reader *r, const struct option_row *row, const char *value)
{
    struct options *options = r->options;
    bool reads = row->kind == OPTION_RUN_READ, writes = row->kind == OPTION_RUN_WRITE;

    ARENA_PUSH(&r->cx->arena, options->run_options, options->run_option_count,
               ((struct run_option){row->name, value, reads, writes}));
}

static bool take_value(struct reader *r, const struct option_row *row, const char *value)
{
    void *field = (char *)r->options + row->field;

    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case OPTION_TEXT:
        if (!value[0])
            return bad_value(r, row->name, value, "it needs a value");
        *(const char **)field = value;
        return true;
    case OPTION_REAL:
        if (!is_real(value))
            return bad_value(r, row->name, value, "it takes a number that is not negative");
        *(const char **)field = value;
        return true;
    case OPTION_CHOICE:
    case OPTION_DUMP:
        *(const char **)field = value;
        return take_choice(r, row, value);
    case OPTION_EARLY:
        return take_choice(r, row, value);
    case OPTION_DTYPE:
        return take_dtype(r, value);
    case OPTION_SET:
        return take_set(r, value);
    case OPTION_PLAN:
        return take_plan(r, value);
    case OPTION_DEVICE:
        return take_device(r, value);
    case OPTION_ISA:
        return take_isa(r, value);
    case OPTION_DISPATCH:
        r->options->dispatch = true;
        if (!row->value || !take_choice(r, row, value))
            return !row->value;
        break;
    case OPTION_TARGET:
        r->options->target = target_parse(r->cx, value);
        return r->options->target || wrong(r);
    case OPTION_BACKWARD:
        r->options->backward = true;
        break;
    case OPTION_RUN_WHOLE:
        if (!is_whole(value))
            return bad_value(r, row->name, value, "it takes an integer that is not negative");
        break;
    case OPTION_RUN_REAL:
        if (!is_real(value))
            return bad_value(r, row->name, value, "it takes a number that is not negative");
        break;
    default:
        break;
    }
    hand_on(r, row, value);
    return true;
}

const struct run_option *options_run(const struct options *options, const char *name)
{
    const struct run_option *found = NULL;

    for (int i = 0; i < options->run_option_count; i++)
        if (strcmp(options->run_options[i].name, name) == 0)
            found = &options->run_options[i]; /* the last one counts */
    return found;
}

/* ---- words ------------------------------------------------------------------------------------------------ */

static bool unknown_option(struct reader *r, const char *name)
{
    const char *const *names;
    int count;

    if (r->options->command < COMMAND_LAYERS)
        diag_error(r->cx, nowhere, "modc %s has no option %s", command_name(r), name);
    else
        diag_error(r->cx, nowhere, "modc %s takes no option %s", command_name(r), name);
    names = option_names(r->cx, r->options->command, &count);
    diag_hint_nearest(r->cx, name, names, count);
    hint_help(r);
    return wrong(r);
}

/* --name, --name VALUE, --name=VALUE, -o DIR, -oDIR */
static bool take_option(struct reader *r, const char *word)
{
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    const char *name = word, *value = NULL;
    const struct option_row *row;

    if (equals) {
        name = arena_copy(&r->cx->arena, word, (size_t)(equals - word));
        value = equals + 1;
    } else if (word[1] != '-' && word[2]) {
        name = arena_copy(&r->cx->arena, word, 2);
        value = word + 2;
    }
    row = option_find(r->options->command, name);
    if (!row)
        return unknown_option(r, value && !equals ? word : name);
    if (!row->value && value) {
        diag_error(r->cx, nowhere, "%s takes no value", name);
        return wrong(r);
    }
    if (row->optional && !value) {
        int count;

        value = help_choices(r->cx, row->value, &count)[0];
    }
    if (row->value && !value) {
        if (r->at == r->count) {
            diag_error(r->cx, nowhere, "%s needs a value: %s %s", name, name, row->value);
            return wrong(r);
        }
        value = r->words[r->at++];
    }
    return take_value(r, row, value);
}

static bool take_argument(struct reader *r, const char *word)
{
    const struct command_row *row = &command_rows[r->options->command];

    if (!row->argument) {
        diag_error(r->cx, nowhere, "modc %s takes no argument, found '%s'", row->name, word);
        return wrong(r);
    }
    if (!r->options->argument) {
        int count;
        const char *const *choices = help_choices(r->cx, row->argument, &count);

        if (count > 1 && !is_among(word, choices, count)) {
            diag_error(r->cx, nowhere, "modc %s takes %s, found '%s'", row->name,
                       choice_text(r->cx, choices, count), word);
            diag_hint_nearest(r->cx, word, choices, count);
            return wrong(r);
        }
        r->options->argument = word;
    } else if (strchr(row->argument, ' ') && !r->options->second) {
        r->options->second = word;
    } else {
        if (r->options->second)
            diag_error(r->cx, nowhere, "modc %s takes %s, found '%s' too", row->name, row->argument, word);
        else
            diag_error(r->cx, nowhere, "modc %s takes one %s, found '%s' and '%s'", row->name, row->argument,
                       r->options->argument, word);
        hint_help(r);
        return wrong(r);
    }
    return true;
}

/* What the last option of that name says, or NULL: how faults are to be said must be known before the first one. */
static const char *early_value(int count, char **words, const char *name)
{
    const char *value = NULL;
    size_t length = strlen(name);

    for (int i = 1; i < count && strcmp(words[i], "--") != 0; i++) {
        if (strcmp(words[i], name) == 0 && i + 1 < count)
            value = words[i + 1];
        else if (strncmp(words[i], name, length) == 0 && words[i][length] == '=')
            value = words[i] + length + 1;
    }
    return value;
}

static struct options early_options(int count, char **words)
{
    const char *format = early_value(count, words, "--diagnostics");
    struct options options = {.color = early_value(count, words, "--color")};

    if (format && strcmp(format, "json") == 0)
        options.diagnostics = DIAG_JSON;
    else if (format && strcmp(format, "sarif") == 0)
        options.diagnostics = DIAG_SARIF;
    else
        options.diagnostics = terminal_wants_color(stderr, options.color) ? DIAG_COLOR : DIAG_PLAIN;
    return options;
}

/* Commands that need Python, as `python -m modc` has them. */
static bool is_of_python(const char *word)
{
    return strcmp(word, "convert") == 0 || strcmp(word, "export") == 0;
}

static bool take_command(struct reader *r)
{
    const char *word;
    const struct command_row *row;

    if (r->at == r->count) {
        diag_error(r->cx, nowhere, "a command is missing");
        diag_hint(r->cx, "'modc help' shows what there is");
        return wrong(r);
    }
    word = r->words[r->at++];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        word = "help";
    row = command_find(word);
    if (!row) {
        const char *const *names;
        int count;

        diag_error(r->cx, nowhere, "there is no command '%s'", word);
        if (is_of_python(word)) {
            diag_hint(r->cx, "it is of the Python package: python -m modc %s", word);
            return wrong(r);
        }
        names = command_names(r->cx, &count);
        diag_hint_nearest(r->cx, word, names, count);
        diag_hint(r->cx, "'modc help' shows what there is");
        return wrong(r);
    }
    r->options->command = (enum command)(row - command_rows);
    return true;
}

/* `modc help --version` */
static bool names_command(const struct reader *r, const char *word)
{
    return r->options->command == COMMAND_HELP && command_find(word);
}

static bool take_words(struct reader *r)
{
    bool only_arguments = false;

    if (!take_command(r))
        return false;
    while (r->at < r->count) {
        const char *word = r->words[r->at++];

        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            const char *name = command_name(r);

            *r->options = early_options(r->count, r->words);
            r->options->command = COMMAND_HELP;
            r->options->argument = name;
            return true;
        } else if (only_arguments || word[0] != '-' || !word[1] || names_command(r, word)) {
            if (!take_argument(r, word))
                return false;
        } else if (!take_option(r, word)) {
            return false;
        }
    }
    return true;
}

bool options_parse(struct cx *cx, int count, char **words, struct options *options, int *status)
{
    struct reader r = {.cx = cx, .options = options, .words = words, .count = count, .at = 1};
    const struct command_row *row;

    *options = early_options(count, words);
    if (options->diagnostics == DIAG_JSON)
        arena_last_words("{\"level\":\"error\",\"file\":null,\"line\":0,\"column\":0,\"length\":0,"
                         "\"message\":\"out of memory\",\"hints\":[],\"notes\":[]}\n");
    if (options->diagnostics == DIAG_SARIF)
        arena_last_words(
            "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
            "\"tool\":{\"driver\":{\"name\":\"modc\"}},\"invocations\":[{\"executionSuccessful\":false}],"
            "\"results\":[{\"level\":\"error\",\"message\":{\"text\":\"out of memory\"}}]}]}\n");
    if (!take_words(&r)) {
        *status = r.status;
        return false;
    }
    if (bundle_is_arduino(options)) { /* its builds say nothing to the assembler */
        options->target = options->target ? options->target : target_parse(cx, "hosted=no");
        options->weights_as = options->weights && !options->weights_as ? "c" : options->weights_as;
    }
    row = &command_rows[options->command];
    if (options->command == COMMAND_DIFF && !options->second)
        diag_error(cx, nowhere, "modc diff needs two specs, OLD and NEW");
    else if (options->second && strcmp(options->argument, "-") == 0 && strcmp(options->second, "-") == 0)
        diag_error(cx, nowhere, "standard input is one spec: only one of OLD and NEW can be '-'");
    else if (options->manual && options->argument)
        diag_error(cx, nowhere, "--man prints the whole manual page, not that of a command");
    else if (row->argument && strchr(row->argument, '|') && !options->argument)
        diag_error(cx, nowhere, "modc %s needs a word: %s", row->name, row->argument);
    else if (row->argument && row->argument[0] != '[' && !options->argument)
        diag_error(cx, nowhere, "modc %s needs a %s", row->name, row->argument);
    else if (options->command == COMMAND_GENERATE && !options->out_dir &&
             (options->depfile || (!options->dump && !options->explain)))
        diag_error(cx, nowhere, "modc generate needs -o DIR, where the files go");
    else if (options->dispatch && options->target && !options->target->hosted)
        diag_error(cx, nowhere,
                   "--dispatch is for services that do not know their machine; --target %s is one chip",
                   options->target->name);
    else if (options->deptarget && !options->depfile)
        diag_error(cx, nowhere, "--deptarget is said in the file of --depfile, which is not asked for");
    else if (bundle_is_arduino(options) && options->target && options->target->hosted)
        diag_error(cx, nowhere, "--bundle=arduino is for boards; --target %s has an operating system",
                   options->target->name);
    else if (bundle_is_arduino(options) && options->weights_as && strcmp(options->weights_as, "c") != 0)
        diag_error(cx, nowhere, "--bundle=arduino has weights as an array of C; --weights-as is %s",
                   options->weights_as);
    else if (options->command == COMMAND_QUANTIZE && !options->weights)
        diag_error(cx, nowhere, "modc quantize needs --weights FILE, the state_dict");
    else if (options->budget && !options->inputs)
        diag_error(cx, nowhere, "--budget is of outputs, which need --inputs FILE");
    else if (options->ranges && !options->inputs)
        diag_error(cx, nowhere, "--ranges are measured on inputs: --inputs FILE has them");
    else if (options->ranges && (options->out_dir || options->budget))
        diag_error(cx, nowhere,
                   "%s is of weights that `storage:` rounds: leave --ranges out, which is of activations",
                   options->out_dir ? "-o" : "--budget");
    else if (options->weights_as && !options->weights)
        diag_error(cx, nowhere, "--weights-as is about the file of --weights, which is not given");
    else
        return true;
    hint_help(&r);
    *status = EXIT_COMMAND_LINE;
    return false;
}
