/* modc_main.c - the driver: runs one entry of one model on tensors from files. It is what `modc run` builds,
 * and serves vectors and benchmarks, through struct modc_model alone.
 *
 *     cc -DMODC_MODEL=policy_model modc_main.c policy.c modc_*.c -lm
 *
 * Messages go to stderr, results to stdout. Exit status: 0 done, 2 the command line, 3 a file, its shapes or
 * the indices in it, 4 numbers differ, 6 a fault of modc itself. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "modc.h"
#include "modc_time.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MODC_MODEL
#error "compile with -DMODC_MODEL=NAME_model"
#endif
extern const struct modc_model MODC_MODEL;

enum { EXIT_OK = 0, EXIT_USAGE = 2, EXIT_FILES = 3, EXIT_DIFFER = 4, EXIT_BUG = 6 };
enum { MAX_HOOKS = 64, NAME = 256 };

struct hook_option {
    const char *text;
    enum modc_hook_kind kind;
};

struct options {
    const char *weights, *inputs, *outputs, *state, *expect, *entry, *isa; /* isa NULL: the best one */
    bool train, time, sequence, backward;
    uint64_t seed;
    double rtol, atol; /* negative: not given */
    long repeat;       /* 0: not given */
    long steps;        /* 0: none */
    int threads;       /* 0: not given */
    struct hook_option hooks[MAX_HOOKS];
    int hook_count;
};

/* By kind. */
static const struct {
    const char *option;
    enum modc_status (*add)(struct modc_context *net, int module, struct modc_hook *hook, unsigned flags);
} hook_kinds[] = {
    [MODC_HOOK_FORWARD_PRE] = {"--pre-hooks", modc_register_forward_pre_hook},
    [MODC_HOOK_FORWARD] = {"--hooks", modc_register_forward_hook},
    [MODC_HOOK_BACKWARD_PRE] = {"--backward-pre-hooks", modc_register_full_backward_pre_hook},
    [MODC_HOOK_BACKWARD] = {"--backward-hooks", modc_register_full_backward_hook},
};

/* A hook of the command line: the identity, or one that multiplies a module's first tensor. */
struct scale {
    struct modc_hook hook;
    bool identity;
    double factor;
    struct buffer **buffers;
};

/* Memory that hooks gave values; lives until the call ends. */
struct buffer {
    struct buffer *next;
};

struct run {
    const struct modc_model *model;
    const struct modc_entry *entry;
    struct options options;
    struct modc_params *params;
    struct modc_context *net;
    struct modc_executor *pool; /* or NULL */
    struct scale scales[MAX_HOOKS];
    struct buffer *buffers;
    int steps;                                  /* --sequence: calls in a row; otherwise 1 */
    int *sizes;                                 /* of the model; -1: not known yet */
    int *size_by;                               /* which input gave it, or -1 */
    struct modc_named_tensor *inputs, *outputs; /* with the steps in front, if there are any */
    /* outputs and, with --backward, gradients of inputs and of parameters */
    struct modc_named_tensor *results;
    int result_count, named_from;   /* from there on the names are their own */
    struct modc_training *training; /* --backward */
    void *gradient_block;
    struct modc_named_tensor *output_gradients, *input_gradients;
    const void **out_gradients; /* of one call */
    void **in_gradients;
    double largest_gradient; /* of those that are expected */
    const void **in;         /* of one call */
    void **out;
};

static int fail(int status, const char *where, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Prints "where: error: ..." and returns status. */
static int fail(int status, const char *where, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: error: ", where);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

static void *zeroed(size_t count, size_t bytes)
{
    void *block = calloc(count > 0 ? count : 1, bytes);

    if (block == NULL) {
        fail(EXIT_BUG, "modc", "out of memory");
        exit(EXIT_BUG);
    }
    return block;
}

/* "grad.weight" */
static const char *gradient_name(const char *name)
{
    static const char front[] = "grad.";
    char *out = zeroed(sizeof front + strlen(name), 1);

    memcpy(out, front, sizeof front);
    strcpy(out + sizeof front - 1, name);
    return out;
}

static void write_stderr(void *user, const char *text, size_t length)
{
    (void)user;
    fwrite(text, 1, length, stderr);
}

/* ---- options ------------------------------------------------------------------------------------------- */

static const char usage[] =
    "options:\n"
    "  --weights FILE    safetensors with the state_dict (else: embedded weights, or drawn from the seed)\n"
    "  --inputs FILE     one tensor for each input (else: random ones, at the maxima of the sizes)\n"
    "  --outputs FILE    writes one tensor for each output\n"
    "  --state FILE      writes the state_dict after the calls\n"
    "  --expect FILE     compares the outputs that the file has\n"
    "  --entry NAME      which entry to call (else: forward)\n"
    "  --train           training mode\n"
    "  --backward        gradients too: inputs may have grad.OUTPUT (else: zero), outputs get grad.INPUT and grad.KEY\n"
    "  --steps N         N steps of training on the same batch; the output is the loss of the last one\n"
    "  --seed N          of initial weights, dropout and random inputs (else: 0)\n"
    "  --sequence        inputs have one dimension more in front: as many calls, whose outputs are stacked\n"
    "  --repeat N        calls N times (with --time: measures N times)\n"
    "  --time            prints how long a call takes\n"
    "  --threads N       runs on N threads (else: those of the spec, as far as there are processors)\n"
    "  --dispatch NAME   runs on this instruction set (else: on the best that the machine has)\n"
    "  --rtol X --atol X tolerances, relative to the largest expected value and absolute\n"
    "  --hooks MODULE=scale:X, --pre-hooks MODULE=scale:X\n"
    "                    multiplies a module's first output, or input, by X\n"
    "  --backward-hooks MODULE=scale:X, --backward-pre-hooks MODULE=scale:X\n"
    "                    multiplies the gradient of a module's first input, or output, by X\n"
    "  --hooks fence     a hook that does nothing, so that the fenced variant runs\n";

static bool parse_real(const char *text, double *out)
{
    char *end;

    errno = 0;
    *out = strtod(text, &end);
    return *text != '\0' && *end == '\0' && errno == 0;
}

static bool parse_whole(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* Takes one option with its value. False: the value is wrong, or there is no such option. */
static bool set_option(struct options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"--weights", &o->weights}, {"--inputs", &o->inputs}, {"--outputs", &o->outputs},
                 {"--state", &o->state},     {"--expect", &o->expect}, {"--entry", &o->entry},
                 {"--dispatch", &o->isa}};
    uint64_t number;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = value;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof hook_kinds / sizeof hook_kinds[0]; i++) {
        if (strcmp(name, hook_kinds[i].option) != 0)
            continue;
        if (o->hook_count == MAX_HOOKS)
            return false;
        o->hooks[o->hook_count++] = (struct hook_option){value, (enum modc_hook_kind)i};
        return true;
    }
    if (strcmp(name, "--seed") == 0)
        return parse_whole(value, &o->seed);
    if (strcmp(name, "--rtol") == 0)
        return parse_real(value, &o->rtol) && o->rtol >= 0.0;
    if (strcmp(name, "--atol") == 0)
        return parse_real(value, &o->atol) && o->atol >= 0.0;
    if (strcmp(name, "--repeat") == 0 && parse_whole(value, &number) && number > 0 && number <= 1000000000u) {
        o->repeat = (long)number;
        return true;
    }
    if (strcmp(name, "--steps") == 0 && parse_whole(value, &number) && number > 0 && number <= 1000000000u) {
        o->steps = (long)number;
        return true;
    }
    if (strcmp(name, "--threads") == 0 && parse_whole(value, &number) && number > 0 &&
        number <= MODC_POOL_THREADS) {
        o->threads = (int)number;
        return true;
    }
    return false;
}

static int parse_options(struct options *o, int count, char **arguments)
{
    static const char *const with_value[] = {"--weights",
                                             "--inputs",
                                             "--outputs",
                                             "--state",
                                             "--expect",
                                             "--entry",
                                             "--hooks",
                                             "--pre-hooks",
                                             "--seed",
                                             "--rtol",
                                             "--atol",
                                             "--repeat",
                                             "--threads",
                                             "--dispatch",
                                             "--steps",
                                             "--backward-hooks",
                                             "--backward-pre-hooks"};
    const size_t known = sizeof with_value / sizeof with_value[0];

    memset(o, 0, sizeof *o);
    o->rtol = o->atol = -1.0;
    for (int i = 1; i < count; i++) {
        char name[32];
        const char *text = arguments[i], *equals = strchr(text, '=');
        size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text), k = 0;

        if (length >= sizeof name)
            return fail(EXIT_USAGE, "modc", "no option %s\n%s", text, usage);
        memcpy(name, text, length);
        name[length] = '\0';
        while (k < known && strcmp(name, with_value[k]) != 0)
            k++;
        if (k == known) {
            bool *flag = strcmp(text, "--train") == 0      ? &o->train
                         : strcmp(text, "--time") == 0     ? &o->time
                         : strcmp(text, "--sequence") == 0 ? &o->sequence
                         : strcmp(text, "--backward") == 0 ? &o->backward
                                                           : NULL;

            if (flag == NULL)
                return fail(EXIT_USAGE, "modc", "no option %s\n%s", text, usage);
            *flag = true;
            continue;
        }
        if (equals == NULL && i + 1 == count)
            return fail(EXIT_USAGE, "modc", "%s needs a value", name);

        const char *value = equals != NULL ? equals + 1 : arguments[++i];

        if (!set_option(o, name, value))
            return fail(EXIT_USAGE, "modc", "%s cannot be '%s'", name, value);
    }
    return EXIT_OK;
}

/* ---- shapes -------------------------------------------------------------------------------------------- */

static const char *dtype_name(enum modc_dtype dtype)
{
    static const char *const names[] = {"bool",    "uint8",    "int8",    "int16",   "int32",    "int64",
                                        "float16", "bfloat16", "float32", "float64", "complex64"};

    return names[dtype];
}

/* "[3, 5]" */
static void found_text(const struct modc_item *item, char *out)
{
    int at = snprintf(out, NAME, "[");

    for (int i = 0; i < item->ndim && i < MODC_MAX_DIMS && at < NAME - 32; i++)
        at += snprintf(out + at, (size_t)(NAME - at), "%s%llu", i > 0 ? ", " : "",
                       (unsigned long long)item->dims[i]);
    snprintf(out + at, (size_t)(NAME - at), "%s]", item->ndim > MODC_MAX_DIMS ? ", ..." : "");
}

/* "[batch, 4]", with "steps" in front for --sequence; a dimension that is an expression prints as its
 * maximum. */
static void expected_text(const struct run *run, const struct modc_io *io, char *out)
{
    int at = snprintf(out, NAME, "[%s", run->options.sequence ? io->ndim > 0 ? "steps, " : "steps" : "");

    for (int i = 0; i < io->ndim && at < NAME - 64; i++) {
        at += snprintf(out + at, (size_t)(NAME - at), "%s", i > 0 ? ", " : "");
        if (io->size_of[i] >= 0)
            at += snprintf(out + at, (size_t)(NAME - at), "%.40s", run->model->sizes[io->size_of[i]].name);
        else
            at += snprintf(out + at, (size_t)(NAME - at), "%s%d", io->size_of[i] == -2 ? "up to " : "",
                           io->max_dims[i]);
    }
    snprintf(out + at, (size_t)(NAME - at), "]");
}

/* Sets or checks the size that dimension `axis` of input `index` is. */
static int take_size(struct run *run, int index, int axis, uint64_t found)
{
    const struct modc_io *io = &run->entry->inputs[index];
    int size = io->size_of[axis], max = run->entry->max_sizes[size];
    const char *name = run->model->sizes[size].name, *file = run->options.inputs;

    if (found > (uint64_t)max)
        return fail(EXIT_FILES, file, "%s: dimension %d is %s = %llu, over its maximum %d", io->name, axis,
                    name, (unsigned long long)found, max);
    if (run->sizes[size] >= 0 && run->sizes[size] != (int)found)
        return fail(EXIT_FILES, file, "%s: dimension %d is %s = %llu, but %s has %s = %d", io->name, axis,
                    name, (unsigned long long)found, run->entry->inputs[run->size_by[size]].name, name,
                    run->sizes[size]);
    run->sizes[size] = (int)found;
    run->size_by[size] = index;
    return EXIT_OK;
}

static int check_input(struct run *run, int index, const struct modc_item *item)
{
    const struct modc_io *io = &run->entry->inputs[index];
    const char *file = run->options.inputs;
    int front = run->options.sequence ? 1 : 0;
    char expected[NAME], found[NAME];

    expected_text(run, io, expected);
    found_text(item, found);
    if (item->dtype < 0 || !modc_converts(io->dtype, (enum modc_dtype)item->dtype))
        return fail(EXIT_FILES, file, "%s: expected dtype %s, found %s", io->name, dtype_name(io->dtype),
                    item->dtype < 0 ? item->dtype_name : dtype_name((enum modc_dtype)item->dtype));
    if (item->ndim != io->ndim + front)
        return fail(EXIT_FILES, file, "%s: expected shape %s, found %s", io->name, expected, found);
    if (front > 0) {
        if (item->dims[0] == 0 || item->dims[0] > 1000000000 ||
            (run->steps > 0 && item->dims[0] != (uint64_t)run->steps))
            return fail(EXIT_FILES, file,
                        "%s: expected shape %s, found %s: the steps of all inputs must agree", io->name,
                        expected, found);
        run->steps = (int)item->dims[0];
    }
    for (int i = 0; i < io->ndim; i++) {
        uint64_t dim = item->dims[i + front];

        if (io->size_of[i] >= 0) {
            int status = take_size(run, index, i, dim);

            if (status != EXIT_OK)
                return status;
        } else if (io->size_of[i] == -1 && dim != (uint64_t)io->max_dims[i]) {
            return fail(EXIT_FILES, file, "%s: expected shape %s, found %s", io->name, expected, found);
        }
    }
    return EXIT_OK;
}

/* Gives a tensor its shape for the sizes of this run, and memory. index as modc_shape takes
 * it. */
static void make_tensor(struct run *run, const struct modc_io *io, int index, struct modc_named_tensor *named)
{
    struct modc_tensor *tensor = &named->tensor;
    int dims[MODC_MAX_DIMS] = {0}, front = run->options.sequence ? 1 : 0;
    size_t bytes;

    modc_shape(run->entry, run->sizes, index, dims);
    named->name = io->name;
    tensor->dtype = io->dtype;
    tensor->ndim = io->ndim + front;
    if (front > 0)
        tensor->dims[0] = run->steps;
    for (int i = 0; i < io->ndim; i++) /* sizes that leave less than nothing are refused by the call */
        tensor->dims[i + front] = dims[i] < 0 ? 0 : dims[i];
    bytes = modc_tensor_bytes(tensor);
    if (posix_memalign(&tensor->data, 64, bytes > 0 ? bytes : 64) != 0) {
        fail(EXIT_BUG, "modc", "out of memory");
        exit(EXIT_BUG);
    }
    memset(tensor->data, 0xff, bytes); /* NaN: what a call forgets to write shows */
}

static size_t count_of(const struct modc_tensor *tensor)
{
    return modc_tensor_bytes(tensor) / modc_dtype_bytes(tensor->dtype);
}

/* The same for the gradient of an input or output, whose name is there already. */
static void make_gradient(struct run *run, const struct modc_io *io, int index,
                          struct modc_named_tensor *named)
{
    const char *name = named->name;

    make_tensor(run, io, index, named);
    named->name = name;
}

/* ---- inputs -------------------------------------------------------------------------------------------- */

static const struct modc_io *find_io(const struct modc_io *ios, int count, const struct modc_item *item)
{
    for (int i = 0; i < count; i++) {
        if (modc_item_is(item, ios[i].name))
            return &ios[i];
    }
    return NULL;
}

/* A tensor that no entry takes is most likely a wrong name. */
static int check_names(const struct run *run, const struct modc_reader *reader)
{
    struct modc_item item;

    for (size_t at = 0; modc_reader_next(reader, &at, &item);) {
        bool known = false;
        char name[NAME];

        for (int i = 0; i < run->model->entry_count; i++) {
            const struct modc_entry *entry = &run->model->entries[i];

            known = known || find_io(entry->inputs, entry->input_count, &item) != NULL;
        }
        modc_item_name(&item, name, sizeof name);
        for (int i = 0; i < run->entry->output_count && run->options.backward; i++)
            known = known || modc_item_is(&item, run->output_gradients[i].name);
        if (!known)
            return fail(EXIT_FILES, run->options.inputs, "%s: no input has this name", name);
    }
    return EXIT_OK;
}

static int read_inputs(struct run *run, const struct modc_reader *reader)
{
    const struct modc_entry *entry = run->entry;
    const char *file = run->options.inputs;
    int front = run->options.sequence ? 1 : 0, status = check_names(run, reader);

    for (int i = 0; i < entry->input_count && status == EXIT_OK; i++) {
        struct modc_item item;

        if (!modc_reader_find(reader, entry->inputs[i].name, &item))
            status = fail(EXIT_FILES, file, "%s: there is no tensor for this input", entry->inputs[i].name);
        else
            status = check_input(run, i, &item);
    }
    for (int i = 0; i < run->model->size_count; i++) {
        if (run->sizes[i] < 0)
            run->sizes[i] = entry->max_sizes[i];
    }
    if (run->steps == 0)
        run->steps = 1;
    for (int i = 0; i < entry->input_count && status == EXIT_OK; i++) {
        struct modc_named_tensor *named = &run->inputs[i];
        struct modc_item item;
        char found[NAME];

        make_tensor(run, &entry->inputs[i], -1 - i, named);
        if (!modc_reader_find(reader, named->name, &item))
            continue; /* cannot be */
        found_text(&item, found);
        for (int k = 0; k < named->tensor.ndim; k++) {
            if (item.dims[k] != (uint64_t)named->tensor.dims[k] && status == EXIT_OK)
                status = fail(EXIT_FILES, file, "%s: dimension %d must be %d for these sizes, found %s",
                              named->name, k - front, named->tensor.dims[k], found);
        }
        if (status == EXIT_OK)
            modc_convert(named->tensor.data, named->tensor.dtype, item.data, (enum modc_dtype)item.dtype,
                         count_of(&named->tensor));
    }
    return status;
}

static bool is_real(const struct modc_io *io)
{
    return modc_converts(MODC_FLOAT32, io->dtype);
}

/* Numbers in [-1, 1). */
static void fill_random(const struct modc_tensor *tensor, uint64_t *state)
{
    for (size_t k = 0; k < count_of(tensor); k++) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        modc_store((char *)tensor->data + k * modc_dtype_bytes(tensor->dtype), tensor->dtype,
                   (double)(*state >> 11) / 4503599627370496.0 - 1.0);
    }
}

/* Random numbers for floats, 0 for the others, which may be indices. */
static void make_inputs(struct run *run)
{
    const struct modc_entry *entry = run->entry;
    uint64_t state = run->options.seed * 2 + 0x9e3779b97f4a7c15u;

    run->steps = 1;
    for (int i = 0; i < run->model->size_count; i++)
        run->sizes[i] = entry->max_sizes[i];
    for (int i = 0; i < entry->input_count; i++) {
        struct modc_tensor *tensor = &run->inputs[i].tensor;

        make_tensor(run, &entry->inputs[i], -1 - i, &run->inputs[i]);
        if (is_real(&entry->inputs[i]))
            fill_random(tensor, &state);
        else
            memset(tensor->data, 0, modc_tensor_bytes(tensor));
    }
    for (int i = 0; i < entry->output_count && run->options.backward; i++) {
        if (!is_real(&entry->outputs[i]))
            continue;
        make_gradient(run, &entry->outputs[i], i, &run->output_gradients[i]);
        fill_random(&run->output_gradients[i].tensor, &state);
    }
}

/* grad.<output>; an absent one is zero. */
static int read_gradients(struct run *run, const struct modc_reader *reader)
{
    const struct modc_entry *entry = run->entry;
    const char *file = run->options.inputs;

    for (int i = 0; i < entry->output_count; i++) {
        struct modc_named_tensor *named = &run->output_gradients[i];
        struct modc_item item;
        char found[NAME];

        if (!is_real(&entry->outputs[i]))
            continue;
        make_gradient(run, &entry->outputs[i], i, named);
        memset(named->tensor.data, 0, modc_tensor_bytes(&named->tensor));
        if (!modc_reader_find(reader, named->name, &item))
            continue;
        found_text(&item, found);
        if (!modc_item_has_shape(&item, named->tensor.ndim, named->tensor.dims) || item.dtype < 0 ||
            !modc_converts(named->tensor.dtype, (enum modc_dtype)item.dtype))
            return fail(EXIT_FILES, file,
                        "%s: expected the shape and a floating type of the output, found %s %s", named->name,
                        item.dtype_name, found);
        modc_convert(named->tensor.data, named->tensor.dtype, item.data, (enum modc_dtype)item.dtype,
                     count_of(&named->tensor));
    }
    return EXIT_OK;
}

/* Maps a file and checks that it is safetensors. On success the caller unmaps reader->bytes. */
static int open_file(const char *path, struct modc_reader *reader)
{
    struct modc_report *report = zeroed(1, sizeof *report);
    const void *bytes = NULL;
    size_t length = 0;
    int status = EXIT_OK;

    if (modc_map(path, &bytes, &length) != MODC_OK) {
        status = fail(EXIT_FILES, path, "%s", strerror(errno));
    } else if (modc_reader_open(reader, bytes, length, report) != MODC_OK) {
        report->status = MODC_FORMAT;
        fprintf(stderr, "%s: error: ", path);
        modc_report_print(report, write_stderr, NULL);
        fputc('\n', stderr);
        modc_unmap(bytes, length);
        status = EXIT_FILES;
    }
    free(report);
    return status;
}

static int prepare_inputs(struct run *run)
{
    struct modc_reader reader;
    int status = EXIT_OK;

    for (int i = 0; i < run->model->size_count; i++)
        run->sizes[i] = run->size_by[i] = -1;
    if (run->options.inputs == NULL) {
        make_inputs(run);
    } else {
        status = open_file(run->options.inputs, &reader);
        if (status != EXIT_OK)
            return status;
        status = read_inputs(run, &reader);
        if (status == EXIT_OK && run->options.backward)
            status = read_gradients(run, &reader);
        modc_unmap(reader.bytes, reader.length);
    }
    for (int i = 0; i < run->entry->output_count && status == EXIT_OK; i++)
        make_tensor(run, &run->entry->outputs[i], i, &run->outputs[i]);
    for (int i = 0; i < run->entry->input_count && status == EXIT_OK && run->options.backward; i++)
        if (is_real(&run->entry->inputs[i]) && !run->entry->inputs[i].constant)
            make_gradient(run, &run->entry->inputs[i], -1 - i, &run->input_gradients[i]);
    return status;
}

/* ---- weights and hooks --------------------------------------------------------------------------------- */

static int prepare_weights(struct run *run)
{
    const struct modc_model *model = run->model;
    const char *path = run->options.weights;
    enum modc_status status = modc_params_create(model, &run->params);

    if (status != MODC_OK)
        return fail(EXIT_BUG, model->name, "%s", modc_status_text(status));
    if (path != NULL) {
        struct modc_report *report = zeroed(1, sizeof *report);

        status = modc_load(run->params, path, MODC_STRICT, report);
        if (status == MODC_FILE) {
            fail(EXIT_FILES, path, "%s", strerror(errno));
        } else if (status != MODC_OK) {
            fprintf(stderr, "%s: error: ", path);
            modc_report_print(report, write_stderr, NULL);
            fputc('\n', stderr);
        }
        free(report);
        if (status != MODC_OK)
            return EXIT_FILES;
    } else if (model->bind_embedded != NULL) {
        memset(run->params, 0, model->params_bytes);
        status = model->bind_embedded(run->params);
    } else {
        status = modc_reset(run->params, run->options.seed);
    }
    if (status == MODC_OK && (path != NULL || model->bind_embedded == NULL))
        status = modc_pack(run->params, NULL, 0);
    return status == MODC_OK ? EXIT_OK : fail(EXIT_BUG, model->name, "%s", modc_status_text(status));
}

static enum modc_status run_scale(struct modc_hook_call *call)
{
    struct scale *scale = call->user;
    const struct {
        struct modc_tensor *tensors;
        int count;
    } changed[] = {[MODC_HOOK_FORWARD_PRE] = {call->inputs, call->input_count},
                   [MODC_HOOK_FORWARD] = {call->outputs, call->output_count},
                   [MODC_HOOK_BACKWARD_PRE] = {call->grad_outputs, call->grad_output_count},
                   [MODC_HOOK_BACKWARD] = {call->grad_inputs, call->grad_input_count}};
    struct modc_tensor *tensor = changed[scale->hook.kind].tensors;
    int count = changed[scale->hook.kind].count;

    for (; count > 0 && tensor->data == NULL; count--) /* of what has a gradient */
        tensor++;
    if (scale->identity || count == 0)
        return MODC_OK;

    size_t bytes = modc_tensor_bytes(tensor), each = modc_dtype_bytes(tensor->dtype);
    bool real = modc_converts(MODC_FLOAT32, tensor->dtype) && tensor->dtype != MODC_FLOAT64;
    double factor = real ? (double)(float)scale->factor : scale->factor;
    struct buffer *buffer;
    void *block;

    if (posix_memalign(&block, 64, 64 + bytes) != 0)
        return MODC_MEMORY;
    buffer = block;
    buffer->next = *scale->buffers;
    *scale->buffers = buffer;

    char *to = (char *)block + 64, *from = tensor->data;

    for (size_t at = 0; at < bytes; at += each) {
        modc_store(to + at, tensor->dtype, modc_number(from + at, tensor->dtype) * factor);
        if (tensor->dtype == MODC_COMPLEX64)
            modc_store(to + at + 4, MODC_FLOAT32, modc_number(from + at + 4, MODC_FLOAT32) * factor);
    }
    tensor->data = to;
    return MODC_OK;
}

static int register_hook(struct run *run, int index)
{
    static const char kind[] = "scale:";
    const struct hook_option *option = &run->options.hooks[index];
    struct scale *scale = &run->scales[index];
    const char *equals = strrchr(option->text, '=');
    char path[NAME] = "";
    int module = 0;

    scale->hook.call = run_scale;
    scale->hook.user = scale;
    scale->buffers = &run->buffers;
    scale->identity = strcmp(option->text, "fence") == 0;
    if (!scale->identity) {
        if (equals == NULL || (size_t)(equals - option->text) >= sizeof path ||
            strncmp(equals + 1, kind, sizeof kind - 1) != 0 ||
            !parse_real(equals + sizeof kind, &scale->factor))
            return fail(EXIT_USAGE, "modc", "a hook is 'fence' or MODULE=scale:NUMBER, not '%s'",
                        option->text);
        memcpy(path, option->text, (size_t)(equals - option->text));
        if (modc_get_submodule(run->model, path, &module) != MODC_OK)
            return fail(EXIT_USAGE, "modc", "%s has no module '%s'", run->model->name, path);
    }

    enum modc_status status = hook_kinds[option->kind].add(run->net, module, &scale->hook, 0);

    return status == MODC_OK ? EXIT_OK
                             : fail(EXIT_USAGE, "modc", "%s: %s", hook_kinds[option->kind].option,
                                    modc_status_text(status));
}

static int prepare_context(struct run *run)
{
    enum modc_status status = modc_create(run->model, run->params, 0, &run->net);

    if (status != MODC_OK)
        return fail(EXIT_BUG, run->model->name, "%s", modc_status_text(status));
    modc_seed(run->net, run->options.seed);
    modc_train(run->net, run->options.train);
    if (run->options.backward || run->options.steps > 0) {
        bool steps = run->options.steps > 0;
        size_t bytes = steps ? run->model->training_block : run->model->gradient_block;

        run->training = zeroed(1, run->model->training_bytes);
        if (posix_memalign(&run->gradient_block, 64, bytes) != 0)
            return fail(EXIT_BUG, "modc", "out of memory");
        status = (steps ? run->model->training_init : modc_training_init)(run->training, run->net,
                                                                          run->gradient_block, bytes);
        if (status != MODC_OK)
            return fail(EXIT_BUG, run->model->name, "%s", modc_status_text(status));
    }
    for (int i = 0; i < run->options.hook_count; i++) {
        int result = register_hook(run, i);

        if (result != EXIT_OK)
            return result;
    }
    return EXIT_OK;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static void free_buffers(struct run *run)
{
    while (run->buffers != NULL) {
        struct buffer *next = run->buffers->next;

        free(run->buffers);
        run->buffers = next;
    }
}

/* Of one step, in a tensor of all; NULL where there is none. */
static void *part_at(const struct run *run, const struct modc_tensor *tensor, int step)
{
    return tensor->data == NULL
               ? NULL
               : (char *)tensor->data + modc_tensor_bytes(tensor) / (size_t)run->steps * (size_t)step;
}

static enum modc_status backward_step(struct run *run, int step)
{
    for (int i = 0; i < run->entry->output_count; i++)
        run->out_gradients[i] = part_at(run, &run->output_gradients[i].tensor, step);
    for (int i = 0; i < run->entry->input_count; i++)
        run->in_gradients[i] = part_at(run, &run->input_gradients[i].tensor, step);
    return run->entry->backward(run->net, run->sizes, run->out_gradients, run->in_gradients);
}

static enum modc_status call_step(struct run *run, int step)
{
    for (int i = 0; i < run->entry->input_count; i++)
        run->in[i] = part_at(run, &run->inputs[i].tensor, step);
    for (int i = 0; i < run->entry->output_count; i++)
        run->out[i] = part_at(run, &run->outputs[i].tensor, step);

    enum modc_status status = run->options.steps > 0
                                  ? run->model->train_step(run->training, run->sizes, run->in, run->out[0])
                                  : run->entry->call(run->net, run->sizes, run->in, run->out);

    if (status == MODC_OK && run->options.backward)
        status = backward_step(run, step);
    free_buffers(run);
    return status;
}

static int call_failed(const struct run *run, enum modc_status status)
{
    const struct modc_context *net = run->net;
    bool known = net->fault_module >= 0 && net->fault_module < run->model->module_count;
    const char *path = known ? run->model->modules[net->fault_module].path : "";
    const char *colon = path[0] != '\0' ? ": " : "", *where = run->model->name,
               *text = modc_status_text(status);

    if (status == MODC_INDEX)
        return fail(EXIT_FILES, where, "%s%s%s (value %lld at position %lld)", path, colon, text,
                    (long long)net->fault_value, (long long)net->fault_index);
    if (status == MODC_ARGUMENT)
        return fail(EXIT_FILES, where, "%s%s%s (at position %lld)", path, colon, text,
                    (long long)net->fault_index);
    if (status == MODC_UNSUPPORTED)
        return fail(EXIT_USAGE, where, "%s has no variant for this mode", run->entry->name);
    return fail(status == MODC_SIZE || status == MODC_DIVISION || status == MODC_NONFINITE ? EXIT_FILES
                                                                                           : EXIT_BUG,
                where, "%s%s%s", path, colon, text);
}

static int call_all(struct run *run)
{
    long repeat = run->options.steps > 0                          ? run->options.steps
                  : run->options.repeat > 0 && !run->options.time ? run->options.repeat
                                                                  : 1;

    for (long i = 0; i < repeat; i++) {
        for (int step = 0; step < run->steps; step++) {
            enum modc_status status = call_step(run, step);

            if (status != MODC_OK)
                return call_failed(run, status);
        }
    }
    return EXIT_OK;
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* Outputs and, with --backward, the gradients that there are. */
static void gather_results(struct run *run)
{
    const struct modc_model *model = run->model;
    int most = run->entry->output_count + run->entry->input_count + model->gradient_count;

    run->results = zeroed((size_t)most, sizeof run->results[0]);
    for (int i = 0; i < run->entry->output_count; i++)
        run->results[run->result_count++] = run->outputs[i];
    for (int i = 0; i < run->entry->input_count && run->options.backward; i++)
        if (run->input_gradients[i].tensor.data != NULL)
            run->results[run->result_count++] = run->input_gradients[i];
    run->named_from = run->result_count;
    for (int i = 0; i < model->gradient_count && run->options.backward; i++) {
        const struct modc_key *key = &model->keys[model->gradients[i].key];
        struct modc_named_tensor *named = &run->results[run->result_count];
        const void *data;

        if (modc_get_gradient(run->training, key->name, &data) != MODC_OK || data == NULL)
            continue;
        named->name = gradient_name(key->name);
        named->tensor.data = (void *)(uintptr_t)data; /* read alone */
        named->tensor.dtype = key->dtype;
        named->tensor.ndim = key->ndim;
        memcpy(named->tensor.dims, key->dims, sizeof key->dims);
        run->result_count++;
    }
}

static int write_outputs(const struct run *run)
{
    const char *path = run->options.outputs;
    size_t length = 0;
    int count = run->result_count;
    enum modc_status status = modc_write_tensors(run->results, count, NULL, 0, &length);

    if (status == MODC_OK) {
        char *bytes = zeroed(length, 1);

        status = modc_write_tensors(run->results, count, bytes, length, &length);
        errno = 0;
        if (status == MODC_OK)
            status = modc_write_file(path, bytes, length);
        free(bytes);
    }
    if (status == MODC_OK)
        return EXIT_OK;
    return fail(EXIT_FILES, path, "%s", status == MODC_FILE ? strerror(errno) : modc_status_text(status));
}

static int write_state(const struct run *run)
{
    enum modc_status status = modc_save(run->params, run->options.state);

    if (status == MODC_OK)
        return EXIT_OK;
    return fail(EXIT_FILES, run->options.state, "%s",
                status == MODC_FILE ? strerror(errno) : modc_status_text(status));
}

static double default_rtol(enum modc_dtype dtype)
{
    switch (dtype) {
    case MODC_FLOAT64:
        return 1e-12;
    case MODC_FLOAT16:
        return 1.0 / 512; /* two units in the last place of the largest value */
    case MODC_BFLOAT16:
        return 1.0 / 64;
    case MODC_FLOAT32:
    case MODC_COMPLEX64:
        return 1e-5;
    default:
        return 0.0;
    }
}

/* The distance of two numbers: NaN equals NaN, an infinity equals itself, both are infinitely far from
 * others. */
static double distance(double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0.0 : (double)INFINITY;
    return got == want ? 0.0 : fabs(got - want);
}

struct difference {
    double largest; /* finite expected value, absolute */
    double error;   /* the largest distance */
    size_t at;
    double got, want;
};

/* Element k of a tensor as a number; complex ones have two. int64 goes through double only to be printed. */
static double part_of(const char *data, enum modc_dtype dtype, size_t k)
{
    if (dtype == MODC_COMPLEX64)
        return modc_number(data + k * 4, MODC_FLOAT32);
    return modc_number(data + k * modc_dtype_bytes(dtype), dtype);
}

static struct difference compare(const struct modc_tensor *got, const char *want, enum modc_dtype want_dtype)
{
    struct difference d = {0.0, 0.0, 0, 0.0, 0.0};
    size_t parts = got->dtype == MODC_COMPLEX64 ? 2 : 1, count = count_of(got) * parts;
    size_t each = modc_dtype_bytes(got->dtype);
    bool exact = !modc_converts(MODC_FLOAT32, got->dtype) && got->dtype != MODC_COMPLEX64;

    for (size_t k = 0; k < count; k++) {
        double x = part_of(got->data, got->dtype, k), y = part_of(want, want_dtype, k),
               error = distance(x, y);

        if (exact && error == 0.0 && memcmp((const char *)got->data + k * each, want + k * each, each) != 0)
            error = 1.0; /* int64 that differ below a double */
        if (!isnan(y) && !isinf(y) && fabs(y) > d.largest)
            d.largest = fabs(y);
        if (error > d.error) {
            d.error = error;
            d.at = k / parts;
            d.got = x;
            d.want = y;
        }
    }
    return d;
}

/* "[3, 1]": the indices of element `at`. */
static void place_text(const struct modc_tensor *tensor, size_t at, char *out)
{
    int index[MODC_MAX_DIMS + 1] = {0}, length = snprintf(out, NAME, "[");

    for (int i = tensor->ndim - 1; i >= 0; i--) {
        size_t dim = tensor->dims[i] > 0 ? (size_t)tensor->dims[i] : 1;

        index[i] = (int)(at % dim);
        at /= dim;
    }
    for (int i = 0; i < tensor->ndim; i++)
        length += snprintf(out + length, (size_t)(NAME - length), "%s%d", i > 0 ? ", " : "", index[i]);
    snprintf(out + length, (size_t)(NAME - length), "]");
}

static int expect_output(const struct run *run, const struct modc_named_tensor *named,
                         const struct modc_item *item)
{
    const struct modc_tensor *tensor = &named->tensor;
    const char *file = run->options.expect;
    char found[NAME], expected[NAME], place[NAME];
    struct modc_item own = {NULL, 0, NULL, 0, tensor->ndim, {0}, NULL, 0};

    for (int i = 0; i < tensor->ndim; i++)
        own.dims[i] = (uint64_t)tensor->dims[i];
    found_text(item, found);
    found_text(&own, expected);
    if (!modc_item_has_shape(item, tensor->ndim, tensor->dims))
        return fail(EXIT_FILES, file, "%s: the output has shape %s, found %s", named->name, expected, found);
    if (item->dtype < 0 || !modc_converts(tensor->dtype, (enum modc_dtype)item->dtype))
        return fail(EXIT_FILES, file, "%s: the output has dtype %s, found %s", named->name,
                    dtype_name(tensor->dtype), item->dtype_name);

    struct difference d = compare(tensor, item->data, (enum modc_dtype)item->dtype);
    double rtol = run->options.rtol >= 0.0 ? run->options.rtol
                                           : fmax(default_rtol(tensor->dtype),
                                                  tensor->dtype == MODC_FLOAT32 ? run->model->rtol : 0.0);
    double atol = run->options.atol >= 0.0 ? run->options.atol : 0.0;

    if (strncmp(named->name, "grad.", 5) ==
        0) { /* ten times that, of no less than a hundredth of the largest gradient */
        rtol *= run->options.rtol >= 0.0 ? 1.0 : 10.0;
        d.largest = fmax(d.largest, run->largest_gradient / 100.0);
    }

    bool good = d.error == 0.0 || d.error <= rtol * d.largest + atol;

    place_text(tensor, d.at, place);
    printf("%s: largest error %.3g, relative %.3g, at %s", named->name, d.error,
           d.largest > 0.0 ? d.error / d.largest
           : d.error > 0.0 ? (double)INFINITY
                           : 0.0,
           place);
    if (d.error > 0.0)
        printf(": %.9g, expected %.9g", d.got, d.want);
    printf("%s\n", good ? "" : " (differs)");
    return good ? EXIT_OK : EXIT_DIFFER;
}

/* The largest finite number of those gradients. */
static double largest_of(const struct run *run, const struct modc_reader *reader)
{
    double largest = 0.0;
    struct modc_item item;

    for (int i = run->entry->output_count; i < run->result_count; i++) {
        if (!modc_reader_find(reader, run->results[i].name, &item) || item.dtype < 0)
            continue;
        for (size_t k = 0; k < item.bytes / modc_dtype_bytes((enum modc_dtype)item.dtype); k++) {
            double value = fabs(part_of(item.data, (enum modc_dtype)item.dtype, k));

            largest = isfinite(value) && value > largest ? value : largest;
        }
    }
    return largest;
}

/* Outputs that the file does not have are not compared; a tensor that is no output is an error, and so is a
 * file without any output: nothing would have been checked. */
static int expect_outputs(struct run *run, const struct modc_reader *reader)
{
    struct modc_item item;
    int status = EXIT_OK, found = 0;

    for (size_t at = 0; modc_reader_next(reader, &at, &item);) {
        bool known = false;
        char name[NAME];

        for (int i = 0; i < run->result_count; i++)
            known = known || modc_item_is(&item, run->results[i].name);
        modc_item_name(&item, name, sizeof name);
        if (!known)
            return fail(EXIT_FILES, run->options.expect, "%s: %s has no output of this name", name,
                        run->entry->name);
    }
    run->largest_gradient = largest_of(run, reader);
    for (int i = 0; i < run->result_count; i++) {
        if (!modc_reader_find(reader, run->results[i].name, &item))
            continue;

        int result = expect_output(run, &run->results[i], &item);

        if (result == EXIT_FILES)
            return result;
        status = result != EXIT_OK ? result : status;
        found++;
    }
    return found > 0
               ? status
               : fail(EXIT_FILES, run->options.expect, "there is no output of %s in it", run->entry->name);
}

static int check_expected(struct run *run)
{
    struct modc_reader reader;
    int status = open_file(run->options.expect, &reader);

    if (status != EXIT_OK)
        return status;
    status = expect_outputs(run, &reader);
    modc_unmap(reader.bytes, reader.length);
    return status;
}

/* ---- time ---------------------------------------------------------------------------------------------- */

/* Three digits: 1.23, 12.3, 123. */
static void print_short(double value, const char *unit)
{
    int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

    if (value > 0.0 && value < 0.00995)
        printf("%.2g %s", value, unit);
    else
        printf("%.*f %s", digits, value, unit);
}

static void print_time(double seconds)
{
    if (seconds < 999.5e-9)
        print_short(seconds * 1e9, "ns");
    else if (seconds < 999.5e-6)
        print_short(seconds * 1e6, "us");
    else if (seconds < 999.5e-3)
        print_short(seconds * 1e3, "ms");
    else
        print_short(seconds, "s");
}

/* One line: the shortest and the median call, the work at the maxima of the sizes, the workspace of the
 * variant. */
static void print_times(const struct run *run, const struct modc_times *times)
{
    const struct modc_entry *entry = run->entry;
    int mode = run->options.train ? MODC_TRAIN : MODC_EVAL;
    size_t bytes = modc_hooked(run->net) ? entry->fenced_workspace[mode] : entry->workspace[mode];
    bool full = true;

    for (int i = 0; i < run->model->size_count; i++)
        full = full && run->sizes[i] == entry->max_sizes[i];
    printf("min ");
    print_time(times->min);
    printf("  median ");
    print_time(times->median);
    if (full) { /* what the table says holds for the maxima alone */
        printf("  ");
        print_short(entry->macs * 1e-6, "MMAC");
        printf("  ");
        print_short(2e-9 * entry->macs / times->min, "GFLOP/s");
    }
    printf("  ");
    print_short((double)bytes / 1024, "KB");
    printf("  %ld calls", times->samples * times->inner);
    if (modc_get_isa(run->net) != NULL)
        printf("  %s", modc_get_isa(run->net)->name);
    printf("\n");
}

static int call_once(void *run)
{
    return (int)call_step(run, 0);
}

/* --repeat measures single calls; else there are as many as two seconds have room for. */
static int measure(struct run *run)
{
    long asked = run->options.repeat, most = asked > 0 ? asked : 1000;
    double *samples = zeroed((size_t)most, sizeof samples[0]);
    struct modc_times times;
    int status = modc_time(call_once, run, asked > 0 ? 0.0 : 2.0, most < 10 ? most : 10, most, samples,
                           &times);

    if (status == 0)
        print_times(run, &times);
    free(samples);
    return status == 0 ? EXIT_OK : call_failed(run, (enum modc_status)status);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static int start_threads(struct run *run)
{
    int threads = run->options.threads;
    enum modc_status status;
    long processors = 1;

#if defined _SC_NPROCESSORS_ONLN
    processors = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    if (run->model->threads == 0) {
        if (threads > 1)
            fprintf(stderr, "modc: note: no step of %s is split, so that it runs on one thread\n",
                    run->model->name);
        return EXIT_OK;
    }
    if (threads == 0) {
        threads = run->model->threads < MODC_POOL_THREADS ? run->model->threads : MODC_POOL_THREADS;
        if (processors >= 1 && processors < threads)
            threads = (int)processors;
    }
    status = modc_pool_create(threads, &run->pool);
    if (status == MODC_OK)
        status = modc_set_executor(run->net, run->pool);
    if (status != MODC_OK)
        return fail(EXIT_BUG, run->model->name, "%d threads: %s", threads, modc_status_text(status));
    return EXIT_OK;
}

/* ---- instruction sets ---------------------------------------------------------------------------------- */

static int choose_isa(struct run *run)
{
    const char *name = run->options.isa;
    enum modc_status status;

    if (name == NULL || strcmp(name, "best") == 0)
        return EXIT_OK;
    status = modc_set_isa(run->net, name);
    if (status == MODC_OK)
        return EXIT_OK;
    return fail(EXIT_USAGE, "modc",
                status == MODC_UNSUPPORTED ? "--dispatch %s: this machine does not have it"
                                           : "--dispatch %s: %s is not compiled for it",
                name, run->model->name);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static int find_entry(struct run *run)
{
    const struct modc_model *model = run->model;
    const char *name = run->options.steps > 0       ? "loss"
                       : run->options.entry != NULL ? run->options.entry
                                                    : "forward";
    int index = 0;

    if (run->options.steps > 0 && model->train_step == NULL)
        return fail(EXIT_USAGE, model->name, "the spec has no 'training'");

    if (modc_get_entry(model, name, &index) != MODC_OK &&
        (run->options.entry != NULL || model->entry_count == 0)) {
        fail(EXIT_USAGE, "modc", "%s has no entry '%s'", model->name, name);
        for (int i = 0; i < model->entry_count; i++)
            fprintf(stderr, "%s %s", i == 0 ? "hint: it has" : ",", model->entries[i].name);
        fputc('\n', stderr);
        return EXIT_USAGE;
    }
    run->entry = &model->entries[index];
    run->sizes = zeroed((size_t)model->size_count, sizeof run->sizes[0]);
    run->size_by = zeroed((size_t)model->size_count, sizeof run->size_by[0]);
    run->inputs = zeroed((size_t)run->entry->input_count, sizeof run->inputs[0]);
    run->outputs = zeroed((size_t)run->entry->output_count, sizeof run->outputs[0]);
    run->in = zeroed((size_t)run->entry->input_count, sizeof run->in[0]);
    run->out = zeroed((size_t)run->entry->output_count, sizeof run->out[0]);
    if (!run->options.backward)
        return EXIT_OK;
    if (run->entry->backward == NULL)
        return fail(EXIT_USAGE, model->name, "it was generated without gradients");
    run->output_gradients = zeroed((size_t)run->entry->output_count, sizeof run->output_gradients[0]);
    run->input_gradients = zeroed((size_t)run->entry->input_count, sizeof run->input_gradients[0]);
    run->out_gradients = zeroed((size_t)run->entry->output_count, sizeof run->out_gradients[0]);
    run->in_gradients = zeroed((size_t)run->entry->input_count, sizeof run->in_gradients[0]);
    for (int i = 0; i < run->entry->output_count; i++)
        run->output_gradients[i].name = gradient_name(run->entry->outputs[i].name);
    for (int i = 0; i < run->entry->input_count; i++)
        run->input_gradients[i].name = gradient_name(run->entry->inputs[i].name);
    return EXIT_OK;
}

/* Everything that reads comes before everything that writes; the clock comes last, because its calls go on
 * with the state that the asked ones left. */
static int run_all(struct run *run)
{
    int status = find_entry(run);

    if (status == EXIT_OK)
        status = prepare_inputs(run);
    if (status == EXIT_OK)
        status = prepare_weights(run);
    if (status == EXIT_OK)
        status = prepare_context(run);
    if (status == EXIT_OK)
        status = choose_isa(run);
    if (status == EXIT_OK)
        status = start_threads(run);
    if (status == EXIT_OK)
        status = call_all(run);
    if (status == EXIT_OK)
        gather_results(run);
    if (status == EXIT_OK && run->options.outputs != NULL)
        status = write_outputs(run);
    if (status == EXIT_OK && run->options.state != NULL)
        status = write_state(run);
    if (status != EXIT_OK)
        return status;

    int differ = run->options.expect != NULL ? check_expected(run) : EXIT_OK;

    if (run->options.time && (differ == EXIT_OK || differ == EXIT_DIFFER))
        status = measure(run);
    return differ != EXIT_OK ? differ : status;
}

static void free_gradients(struct run *run)
{
    for (int i = 0; run->output_gradients != NULL && i < run->entry->output_count; i++) {
        free(run->output_gradients[i].tensor.data);
        free((void *)(uintptr_t)run->output_gradients[i].name);
    }
    for (int i = 0; run->input_gradients != NULL && i < run->entry->input_count; i++) {
        free(run->input_gradients[i].tensor.data);
        free((void *)(uintptr_t)run->input_gradients[i].name);
    }
    for (int i = run->named_from; i < run->result_count; i++)
        free((void *)(uintptr_t)run->results[i].name);
    free(run->results);
    free(run->output_gradients);
    free(run->input_gradients);
    free(run->out_gradients);
    free(run->in_gradients);
    free(run->training);
    free(run->gradient_block);
}

static void free_all(struct run *run)
{
    for (int i = 0; run->entry != NULL && i < run->entry->input_count; i++)
        free(run->inputs[i].tensor.data);
    for (int i = 0; run->entry != NULL && i < run->entry->output_count; i++)
        free(run->outputs[i].tensor.data);
    free_gradients(run);
    free(run->sizes);
    free(run->size_by);
    free(run->inputs);
    free(run->outputs);
    free(run->in);
    free(run->out);
    modc_destroy(run->net);
    modc_pool_destroy(run->pool);
    modc_params_destroy(run->params);
}

int main(int count, char **arguments)
{
    struct run *run = zeroed(1, sizeof *run);
    int status;

    run->model = &MODC_MODEL;
    if (run->model->abi != MODC_ABI)
        status = fail(EXIT_BUG, run->model->name, "it was written for another modc runtime");
    else
        status = parse_options(&run->options, count, arguments);
    if (status == EXIT_OK)
        status = run_all(run);
    free_all(run);
    free(run);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK)
        status = fail(EXIT_FILES, "stdout", "%s", strerror(errno));
    return status;
}
