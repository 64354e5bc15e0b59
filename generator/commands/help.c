/* help.c - the table of commands and options, and the texts made from it. */
#include "commands/help.h"

#include <string.h>

#include "base/backend.h"
#include "base/dtype.h"
#include "plan/algorithm.h"
#include "plan/target.h"

const struct command_row command_rows[COMMAND_COUNT] = {
    [COMMAND_GENERATE] =
        {"generate", "SPEC", "write the model's sources",
         "Writes NAME.h, NAME.c and NAME.cmake for the model NAME of the spec. Files that would not\n"
         "change are left alone; after a fault nothing is written."},
    [COMMAND_RUN] = {"run", "SPEC", "generate, compile and run once, on tensors from files",
                     "Compiles with $CC $CFLAGS (default: cc -O3 -march=native). All files are safetensors.\n"
                     "Without --weights, parameters are initialised from --seed as PyTorch does it."},
    [COMMAND_CHAT] =
        {"chat", "SPEC", "talk to a model that writes: lines of standard input are answered",
         "Compiles as 'modc run' does. The spec has `generation:`, a tokenizer and, for a model of\n"
         "conversations, a chat template; without one a text is continued. An empty line or the end of\n"
         "the input ends it."},
    [COMMAND_CHECK] = {"check", "SPEC", "everything but writing", NULL},
    [COMMAND_SUMMARY] =
        {"summary", "SPEC", "table: module, output shape, parameters, MACs, RAM, flash",
         "All numbers hold at the maxima of the sizes. --measure compiles with $CC $CFLAGS (default:\n"
         "cc -O3 -march=native, or the compiler and flags of the target with -Os)."},
    [COMMAND_DIFF] =
        {"diff", "OLD NEW", "what changes: modules, keys, shapes, memory, MACs",
         "Compares two specs as far as their plans and says whether files of OLD still load into\n"
         "NEW. The last line fits a commit message. Either may be '-', as in\n"
         "  git show HEAD:policy.yaml | modc diff - policy.yaml\n"
         "The exit status is 0 whether or not they differ."},
    [COMMAND_QUANTIZE] =
        {"quantize", "SPEC", "weights in the fewer bits of `storage:`: what that costs, and a file of them",
         "Rounds the weights of --weights as the spec's `storage` says and writes, with -o, a file that\n"
         "'modc generate --weights' embeds as it is, and programs load. With --inputs the model runs on them,\n"
         "compiled with $CC $CFLAGS (default: cc -O3 -march=native), in float32 and rounded. An error is\n"
         "the root of the mean square of the difference over that of the float32 numbers."},
    [COMMAND_TOKENIZE] =
        {"tokenize", "FILE", "text to ids of tokens and back, by a tokenizer.json",
         "What a model with `tokenizer: FILE` does, without compiling it. Without --text and --ids each line\n"
         "of standard input is a text, for which it prints a line of ids. With --format=json each line is a\n"
         "value of JSON: of a text it prints {\"ids\": [...], \"offsets\": [[0, 5], ...]} in bytes, of a list of\n"
         "ids a text."},
    [COMMAND_LAYERS] =
        {"layers", "[NAME]", "the layers and functions that a spec can name, or all about one",
         "With -o, writes a page in Markdown for each layer, NAME.md, and one that lists them."},
    [COMMAND_SCHEMA] =
        {"schema", NULL, "a JSON Schema of specs, for editors",
         "specs/modc.schema.json is what it prints. An editor with a YAML language server takes it by\n"
         "the first line of a spec:\n"
         "  # yaml-language-server: $schema=modc.schema.json"},
    [COMMAND_COMPLETION] = {"completion", "bash|zsh|fish",
                            "a script that lets a shell complete command lines",
                            "Where modc was installed, shells find it. Else, in bash:\n"
                            "  source <(modc completion bash)"},
    [COMMAND_HELP] = {"help", "[COMMAND]", "this text, or the options of a command", NULL},
    [COMMAND_VERSION] = {"--version", NULL, "the version of modc", NULL},
};

const char help_purpose[] = "Compiles a YAML spec of a torch.nn module tree to standalone C";

const char *const exit_rows[] = {
    [EXIT_DONE] = "done",
    [EXIT_SPEC] = "the spec is wrong",
    [EXIT_COMMAND_LINE] = "the command line is wrong",
    [EXIT_FILE] = "a file cannot be read or written, or does not fit the spec",
    [EXIT_DIFFER] = "numbers differ",
    [EXIT_COMPILER] = "the compiler is missing or failed, or the program died",
    [EXIT_FAULT] = "a fault of modc itself, or no memory left",
    [EXIT_DEVICE] = "no such device",
    [EXIT_KERNELS] = "the emulated GPU found faults",
};
const int exit_row_count = COUNT(exit_rows);

const struct environment_row environment_rows[] = {
    {"CC, CFLAGS", "the compiler of 'run' and 'summary --measure', and its flags"},
    {"CXX, CXXFLAGS", "the same for kernels under 'run --emulate'; else c++ -O2"},
    {"NVCC, NVCCFLAGS", "the same for a GPU; else nvcc of PATH or /usr/local/cuda, -O2 -arch=native"},
    {"CUDA_HOST_SEED", "the order of an emulated GPU's threads: 0 forward, 1 backward, others drawn"},
    {"TMPDIR", "where temporary folders are made; else /tmp"},
    {"XDG_CACHE_HOME", "where run keeps the compiled runtime, in modc/; else ~/.cache"},
    {"NO_COLOR", "no colours, unless --color=always says otherwise"},
    {NULL, NULL},
};

enum {
    GENERATE = 1 << COMMAND_GENERATE,
    RUN = 1 << COMMAND_RUN,
    CHAT = 1 << COMMAND_CHAT,
    CHECK = 1 << COMMAND_CHECK,
    SUMMARY = 1 << COMMAND_SUMMARY,
    DIFF = 1 << COMMAND_DIFF,
    QUANTIZE = 1 << COMMAND_QUANTIZE,
    TOKENIZE = 1 << COMMAND_TOKENIZE,
    LAYERS = 1 << COMMAND_LAYERS,
    SCHEMA = 1 << COMMAND_SCHEMA,
    COMPLETION = 1 << COMMAND_COMPLETION,
    HELP = 1 << COMMAND_HELP,
    ON_SPEC = GENERATE | RUN | CHAT | CHECK | SUMMARY | DIFF,
    ALL = ON_SPEC | QUANTIZE | TOKENIZE | LAYERS | SCHEMA | COMPLETION | HELP | 1 << COMMAND_VERSION
};

#define FIELD(name) offsetof(struct options, name)

/* In the order in which help shows them. */
const struct option_row option_rows[] = {
    {"-o", "DIR", GENERATE | LAYERS, OPTION_TEXT, FIELD(out_dir),
     "folder for the files; it is made if needed"},
    {"--weights", "FILE", GENERATE | CHECK | SUMMARY, OPTION_TEXT, FIELD(weights),
     "safetensors file to embed, in each dtype of the spec"},
    {"--weights-as", "incbin|c", GENERATE, OPTION_CHOICE, FIELD(weights_as),
     "take them in by the assembler, else as an array of C"},
    {"--line-numbers", NULL, GENERATE, OPTION_FLAG, FIELD(line_numbers),
     "let comments say where in the spec a module stands"},
    {"--bundle", "cmake|arduino", GENERATE, OPTION_CHOICE, FIELD(bundle),
     "copy the runtime beside the model; as a library for Arduino", .optional = true},
    {"--depfile", "FILE", GENERATE, OPTION_TEXT, FIELD(depfile),
     "write, for make, which files the emitted ones depend on"},
    {"--deptarget", "FILE", GENERATE, OPTION_TEXT, FIELD(deptarget),
     "in --depfile, let this file depend on them instead"},

    {"--weights", "FILE", RUN | CHAT, OPTION_RUN_READ, 0, "the state_dict; else drawn from --seed"},
    {"--inputs", "FILE", RUN, OPTION_RUN_READ, 0, "one tensor for each input; else random ones"},
    {"--outputs", "FILE", RUN, OPTION_RUN_WRITE, 0, "write one tensor for each output"},
    {"--modules", "FILE", RUN, OPTION_RUN_WRITE, 0,
     "write what each module returned last, its first tensor, by its path"},
    {"--ranges", "FILE", RUN, OPTION_RUN_WRITE, 0,
     "write from where to where what each module is given and returns is: PATH:input, PATH"},
    {"--state", "FILE", RUN, OPTION_RUN_WRITE, 0, "write the state_dict after the call"},
    {"--expect", "FILE", RUN, OPTION_RUN_READ, 0, "compare the outputs with the tensors of the file"},
    {"--rtol", "X", RUN, OPTION_RUN_REAL, 0, "tolerance relative to the largest expected value"},
    {"--atol", "X", RUN, OPTION_RUN_REAL, 0, "absolute tolerance"},
    {"--entry", "NAME", RUN, OPTION_RUN_TEXT, 0, "which entry to call; else forward"},
    {"--train", NULL, RUN, OPTION_RUN_FLAG, 0, "training mode"},
    {"--steps", "N", RUN, OPTION_RUN_WHOLE, 0,
     "N steps of `training:` on the same batch; the output is the last loss"},
    {"--seed", "N", RUN | CHAT, OPTION_RUN_WHOLE, 0,
     "of initial weights, dropout, random inputs and tokens; else 0"},
    {"--time", NULL, RUN, OPTION_RUN_FLAG, 0, "print how long a call takes"},
    {"--threads", "N", RUN | CHAT, OPTION_RUN_WHOLE, 0, "run on so many threads; else on those of the spec"},
    {"--repeat", "N", RUN, OPTION_RUN_WHOLE, 0, "call N times; with --time measure N times"},
    {"--sequence", NULL, RUN, OPTION_RUN_FLAG, 0, "inputs have one dimension more in front: as many calls"},
    {"--hooks", "MODULE=scale:X", RUN, OPTION_RUN_TEXT, 0,
     "multiply a module's output by X; 'fence': no change"},
    {"--pre-hooks", "MODULE=scale:X", RUN, OPTION_RUN_TEXT, 0, "multiply a module's input by X"},
    {"--backward-hooks", "MODULE=scale:X", RUN, OPTION_RUN_TEXT, 0,
     "multiply the gradient of a module's input by X"},
    {"--backward-pre-hooks", "MODULE=scale:X", RUN, OPTION_RUN_TEXT, 0,
     "multiply the gradient of a module's output by X"},
    {"--generate", "TEXT", RUN, OPTION_RUN_TEXT, 0,
     "continue this text, by 'generation:' and 'tokenizer:'; several are a batch"},
    {"--tokens", "IDS", RUN, OPTION_RUN_TEXT, 0, "continue these ids: --tokens '1 15043 3186'"},
    {"--system", "TEXT", CHAT, OPTION_RUN_TEXT, 0, "what the model is told before the first line"},
    {"--option", "NAME=VALUE", RUN | CHAT, OPTION_RUN_TEXT, 0,
     "how to go on: max_new_tokens=64, temperature=0.8, num_beams=4, ..."},
    {"--emulate", "plain|check", RUN, OPTION_CHOICE, FIELD(emulate),
     "a model on cuda runs on this processor; check: races, bounds and unwritten words are found",
     .optional = true},
    {"--extern", "FILE.c", RUN, OPTION_TEXT, FIELD(bodies), "the bodies of the spec's Externs, in C"},
    {"--keep", "DIR", RUN | CHAT, OPTION_TEXT, FIELD(keep),
     "keep sources and program there; what did not change is not compiled again"},

    {"--weights", "FILE", QUANTIZE, OPTION_TEXT, FIELD(weights), "the state_dict: safetensors"},
    {"-o", "FILE", QUANTIZE, OPTION_TEXT, FIELD(out_dir), "write the weights there, rounded"},
    {"--inputs", "FILE", QUANTIZE, OPTION_TEXT, FIELD(inputs),
     "one tensor for each input: measure what modules and the model return"},
    {"--budget", "X", QUANTIZE, OPTION_REAL, FIELD(budget),
     "leave weights wider until the error of the outputs is at most X: 0.01"},
    {"--ranges", "FILE", QUANTIZE, OPTION_TEXT, FIELD(ranges),
     "write there from where to where what modules return on --inputs is, for `activations: calibrated`"},
    {"--format", "text|json", QUANTIZE, OPTION_CHOICE, FIELD(format), "json: all of it for programs"},
    {"--extern", "FILE.c", QUANTIZE, OPTION_TEXT, FIELD(bodies), "the bodies of the spec's Externs, in C"},

    {"--repr", NULL, SUMMARY, OPTION_FLAG, FIELD(repr),
     "print the modules alone, as print(model) does in PyTorch"},
    {"--measure", NULL, SUMMARY, OPTION_FLAG, FIELD(measure),
     "compile it: bytes of code, depth of the stack"},
    {"--format", "text|json|markdown", DIFF, OPTION_CHOICE, FIELD(format),
     "json is described in docs/diff.md"},
    {"--text", "TEXT", TOKENIZE, OPTION_TEXT, FIELD(text), "print the ids of this text"},
    {"--ids", "IDS", TOKENIZE, OPTION_TEXT, FIELD(ids), "print the text of these ids: --ids '1 15043 3186'"},
    {"--no-template", NULL, TOKENIZE, OPTION_FLAG, FIELD(no_template),
     "without the tokens that stand around every text"},
    {"--all-text", NULL, TOKENIZE, OPTION_FLAG, FIELD(all_text), "special tokens in a text are text, too"},
    {"--keep-special", NULL, TOKENIZE, OPTION_FLAG, FIELD(keep_special), "special tokens of ids are text"},
    {"--format", "text|json", TOKENIZE, OPTION_CHOICE, FIELD(format), "json: lines of JSON, in and out"},
    {"--format", "text|json", LAYERS, OPTION_CHOICE, FIELD(format),
     "json: all layers, functions and ops, with arguments"},
    {"--exit-code", NULL, DIFF, OPTION_FLAG, FIELD(exit_code), "exit with status 4 where they differ"},

    {"--backward", NULL, GENERATE | CHECK | SUMMARY | DIFF, OPTION_FLAG, FIELD(backward),
     "with gradients, as backward: true in the spec"},
    {"--backward", NULL, RUN, OPTION_BACKWARD, FIELD(backward),
     "gradients too: inputs grad.OUTPUT, outputs grad.INPUT and grad.KEY"},
    {"--set", "NAME=VALUE", ON_SPEC | QUANTIZE, OPTION_SET, 0,
     "give a constant another value, or a size another maximum"},
    {"--tokenizer", "FILE", ON_SPEC, OPTION_TEXT, FIELD(tokenizer),
     "a tokenizer.json, whatever the spec says"},
    {"--template", "FILE", ON_SPEC, OPTION_TEXT, FIELD(template), "a chat template, whatever the spec says"},
    {"--dtype", "DTYPE", ON_SPEC, OPTION_DTYPE, FIELD(dtype),
     "compute in this type alone, whatever the spec says"},
    {"--model", "NAME", ON_SPEC | QUANTIZE, OPTION_TEXT, FIELD(model),
     "call the model so, whatever the spec says"},
    {"--device", "DEVICE", ON_SPEC, OPTION_DEVICE, FIELD(device),
     "for this device alone, whatever the spec says: cpu or cuda"},
    {"--target", "NAME", ON_SPEC, OPTION_TARGET, 0,
     "for this chip, if it fits, or for this GPU; 'modc help targets' lists them"},
    {"--isa", "LIST", ON_SPEC, OPTION_ISA, FIELD(isa),
     "leave out vectors but those of avx512,avx2,sse2,neon"},
    {"--dispatch", NULL, GENERATE | CHECK, OPTION_DISPATCH, 0,
     "compile for several instruction sets: a context takes the best of them"},
    {"--dispatch", "best|x86-64|x86-64-v3|x86-64-v3-vnni|x86-64-v4|x86-64-v4-vnni|aarch64|aarch64-dotprod",
     RUN, OPTION_DISPATCH, 0, "compile for all that the model gains by, and run on this one"},
    {"--plan", "OP=ALGORITHM", ON_SPEC, OPTION_PLAN, 0,
     "force an algorithm wherever it fits: contract=gemm_dot; split=3: slices for threads"},
    {"--explain", NULL, GENERATE | CHECK, OPTION_FLAG, FIELD(explain),
     "print what was chosen for each module, and why"},
    {"--dump", "ROOM", GENERATE | CHECK, OPTION_DUMP, FIELD(dump),
     "print spec, module, graph (after every pass) or plan; with .json as JSON"},
    {"--validate", NULL, GENERATE | CHECK, OPTION_FLAG, FIELD(validate),
     "let Clang read what was emitted before it is written"},
    {"--man", NULL, HELP, OPTION_FLAG, FIELD(manual),
     "all of it as a manual page: modc help --man | man -l -"},
    {"--diagnostics", "text|json|sarif", ALL & ~RUN, OPTION_EARLY, 0,
     "json: faults as one object a line; sarif: as one log of SARIF 2.1.0"},
    {"--diagnostics", "text|json", RUN, OPTION_EARLY, 0, "json: faults as one object a line"},
    {"--color", "auto|always|never", ALL, OPTION_EARLY, 0, "auto: on a terminal, unless NO_COLOR is set"},
};
const int option_row_count = COUNT(option_rows);

const struct command_row *command_find(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(command_rows[i].name, name) == 0)
            return &command_rows[i];
    return NULL;
}

const struct option_row *option_find(enum command command, const char *name)
{
    for (int i = 0; i < option_row_count; i++)
        if ((option_rows[i].commands & 1u << command) && strcmp(option_rows[i].name, name) == 0)
            return &option_rows[i];
    return NULL;
}

const char *const *command_names(struct cx *cx, int *count)
{
    const char **names = ARENA_ARRAY(&cx->arena, COMMAND_COUNT, const char *);

    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i] = command_rows[i].name;
    *count = COMMAND_COUNT;
    return names;
}

const char *const *option_names(struct cx *cx, enum command command, int *count)
{
    const char **names = NULL;

    *count = 0;
    for (int i = 0; i < option_row_count; i++)
        if (option_rows[i].commands & 1u << command)
            ARENA_PUSH(&cx->arena, names, *count, option_rows[i].name);
    return names;
}

/* ---- values of options ------------------------------------------------------------------------------------ */

const char *const *help_choices(struct cx *cx, const char *value, int *count)
{
    const char **words = NULL;

    *count = 0;
    for (const char *end; *value; value = *end ? end + 1 : end) {
        end = value + strcspn(value, "|");
        ARENA_PUSH(&cx->arena, words, *count, arena_copy(&cx->arena, value, (size_t)(end - value)));
    }
    return words;
}

static const char *const *dtype_names(struct cx *cx, int *count)
{
    const char **names = NULL;

    for (int i = 0; i < DTYPE_COUNT; i++)
        if (dtype_is_complex((enum dtype)i) ||
            (dtype_is_float((enum dtype)i) && dtype_is_supported((enum dtype)i)))
            ARENA_PUSH(&cx->arena, names, *count, dtype_rows[i].name);
    return names;
}

static const char *const *device_names(struct cx *cx, int *count)
{
    const char **names = NULL;

    for (int i = 0; i < DEVICE_COUNT; i++)
        ARENA_PUSH(&cx->arena, names, *count, backends[i].name);
    return names;
}

/* "contract=gemm_dot" */
static const char *const *plan_names(struct cx *cx, int *count)
{
    const struct algorithm *row;
    const char **names = NULL;

    for (int i = 0; (row = algorithm_at(i)); i++)
        if (algorithm_is_first(i))
            ARENA_PUSH(&cx->arena, names, *count,
                       arena_format(&cx->arena, "%s=%s", op_rows[row->op]->name, row->name));
    ARENA_PUSH(&cx->arena, names, *count, "split=2");
    return names;
}

const char *const *option_values(struct cx *cx, const struct option_row *row, int *count)
{
    *count = 0;
    switch (row->kind) {
    case OPTION_CHOICE:
    case OPTION_DISPATCH:
    case OPTION_EARLY:
        return help_choices(cx, row->value, count);
    case OPTION_DUMP:
        return help_choices(cx, "spec|module|graph|plan|spec.json|module.json|graph.json|plan.json", count);
    case OPTION_DEVICE:
        return device_names(cx, count);
    case OPTION_DTYPE:
        return dtype_names(cx, count);
    case OPTION_PLAN:
        return plan_names(cx, count);
    case OPTION_TARGET:
        return target_names(cx, count);
    default:
        return NULL;
    }
}

/* ---- texts ------------------------------------------------------------------------------------------------ */

enum { COLUMN = 30, COLUMNS = 100 }; /* where the texts of options start, and where lines end */

/* Words from column `at` on, which the line has reached; further lines start there too. */
static void print_wrapped(struct text *text, int at, const char *words)
{
    int column = at;

    while (*words) {
        int length = (int)strcspn(words, " ");

        if (column > at && column + 1 + length > COLUMNS) {
            text_printf(text, "\n%*s", at, "");
            column = at;
        }
        text_printf(text, "%s%.*s", column > at ? " " : "", length, words);
        column += length + (column > at);
        words += length + (words[length] == ' ');
    }
    text_add(text, "\n");
}

static void print_row(struct text *text, const char *name, const char *value, const char *what)
{
    int width = (int)strlen(name) + (value ? 1 + (int)strlen(value) : 0);

    text_add(text, "  ");
    text_styled(text, STYLE_BOLD, name);
    text_printf(text, "%s%s", value ? " " : "", value ? value : "");
    if (width > COLUMN - 4)
        text_printf(text, "\n%*s", COLUMN, "");
    else
        text_printf(text, "%*s", COLUMN - 2 - width, "");
    print_wrapped(text, COLUMN, what);
}

static void print_overview(struct text *text)
{
    struct text statuses = text_new(text->arena);

    text_printf(text, "usage: modc COMMAND ...\n\n%s.\n\n", help_purpose);
    for (int i = 0; i < COMMAND_COUNT; i++)
        print_row(text, command_rows[i].name, command_rows[i].argument, command_rows[i].text);
    text_add(
        text,
        "\n'modc help COMMAND' shows the options of a command, 'modc help targets' the names of chips and GPUs.\n"
        "SPEC may be '-': standard input.\n\nEnvironment:\n\n");
    for (int i = 0; environment_rows[i].name; i++)
        print_row(text, environment_rows[i].name, NULL, environment_rows[i].text);
    text_add(&statuses, "Exit status: ");
    for (int i = 0; i < exit_row_count; i++)
        text_printf(&statuses, "%d %s%s", i, exit_rows[i], i < exit_row_count - 1 ? "; " : ".");
    text_add(text, "\n");
    print_wrapped(text, 0, statuses.data);
}

const char *help_usage(struct arena *arena, enum command command)
{
    const struct command_row *row = &command_rows[command];

    return arena_format(arena, "%s%s%s%s%s", row->name, row->argument ? " " : "",
                        row->argument ? row->argument : "", command == COMMAND_GENERATE ? " -o DIR" : "",
                        command == COMMAND_VERSION ? "" : " [OPTION]...");
}

const char *help_option_name(struct arena *arena, const struct option_row *row)
{
    return row->optional ? arena_format(arena, "%s[=%s]", row->name, row->value) : row->name;
}

void help_print(struct text *text, const struct command_row *row)
{
    bool first = true;

    if (!row) {
        print_overview(text);
        return;
    }

    enum command command = (enum command)(row - command_rows);

    text_printf(text, "usage: modc %s\n\nmodc %s: %s.\n", help_usage(text->arena, command), row->name,
                row->text);
    if (row->more)
        text_printf(text, "\n%s\n", row->more);
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *option = &option_rows[i];

        if (!(option->commands & 1u << command) || !option->text)
            continue;
        if (first)
            text_add(text, "\n");
        first = false;
        print_row(text, help_option_name(text->arena, option), option->optional ? NULL : option->value,
                  option->text);
    }
}
