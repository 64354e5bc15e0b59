/* calibrate.c - see calibrate.h.
 *
 * note [parts of inputs]
 * A file may have more rows than a call takes: as many calls are made as its rows need, each of the most that a call takes. All inputs
 * that have more have as many. */
#include "commands/calibrate.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "base/steps.h"
#include "base/tensor_file.h"
#include "base/terminal.h"
#include "commands/difference.h"
#include "commands/run.h"
#include "commands/summary.h"
#include "emit/emit.h"
#include "modc.h"
#include "plan/weights_file.h"
#include "spec/spec.h"

static const struct loc nowhere = {0};

/* Of an input, or of a module by its path. */
struct observed {
    const char *name;
    double least, most;
};

struct calibration {
    struct cx *cx;
    const struct plan *plan;
    const struct graph *graph; /* of the entry that the program calls */
    struct text *out;
    struct modc_reader inputs;
    int64_t rows, most, calls; /* of the inputs: all; of a call; so many calls */
    struct observed *observed; /* inputs, then modules in the order of the file */
    int count;
    double error; /* of the outputs; negative: they are no floats */
};

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

static bool find_input(const struct calibration *c, const struct value *input, struct modc_item *item)
{
    return modc_reader_find(&c->inputs, input->op->label, item);
}

/* Whether the file has more rows of it than a call takes, or as many. */
static bool is_by_rows(const struct value *input, const struct modc_item *item)
{
    if (input->ndim == 0 || item->ndim != input->ndim)
        return false;
    for (int i = 1; i < input->ndim; i++)
        if ((int64_t)item->dims[i] > dim_upper(input->dims[i]))
            return false;
    return (int64_t)item->dims[0] >= dim_upper(input->dims[0]) && dim_upper(input->dims[0]) > 0;
}

/* How many calls; false after a fault. What else is wrong with the inputs the program says. */
static bool count_calls(struct calibration *c)
{
    struct modc_item item;

    c->calls = 1;
    for (int i = 0; i < c->graph->input_count; i++) {
        const struct value *input = c->graph->inputs[i];
        const int64_t most = input->ndim > 0 ? dim_upper(input->dims[0]) : 0;

        if (!find_input(c, input, &item) || !is_by_rows(input, &item) || (int64_t)item.dims[0] == most)
            continue;
        if ((c->rows && (c->rows != (int64_t)item.dims[0] || c->most != most)) ||
            (dim_is_const(input->dims[0], NULL) && (int64_t)item.dims[0] % most != 0)) {
            diag_error(c->cx, nowhere, "%s: the %lld rows of '%s' are not whole calls of %lld",
                       c->cx->options->inputs, (long long)item.dims[0], input->op->label, (long long)most);
            diag_hint(c->cx, "give a number of rows that %lld divides, as many of each input",
                      (long long)most);
            return false;
        }
        c->rows = (int64_t)item.dims[0];
        c->most = most;
        c->calls = (c->rows + most - 1) / most;
    }
    return true;
}

/* The inputs of that call, as a file. */
static int write_part(struct calibration *c, struct arena *arena, int64_t call, const char *path)
{
    struct weights_tensor *list = ARENA_ARRAY(arena, c->graph->input_count + 1, struct weights_tensor);
    struct modc_item item;
    const char *bytes;
    size_t length;
    int count = 0;

    for (int i = 0; i < c->graph->input_count; i++) {
        const struct value *input = c->graph->inputs[i];
        struct weights_tensor *part = &list[count];
        int64_t from = 0;

        if (!find_input(c, input, &item) || item.dtype < 0 || item.ndim > MAX_DIMS)
            continue; /* the program says so */
        *part = (struct weights_tensor){
            .name = input->op->label, .dtype = (enum dtype)item.dtype, .ndim = item.ndim};
        for (int k = 0; k < item.ndim; k++)
            part->dims[k] = (int64_t)item.dims[k];
        if (c->calls > 1 && is_by_rows(input, &item) && part->dims[0] == c->rows) {
            from = call * c->most;
            part->dims[0] = c->rows - from < c->most ? c->rows - from : c->most;
        }
        part->bytes = (const char *)item.data + (from ? item.bytes / item.dims[0] * (size_t)from : 0);
        count++;
    }
    bytes = weights_file_bytes(c->cx, arena, list, count, &length);
    errno = 0;
    if (!bytes || modc_write_file(path, bytes, length) != MODC_OK) {
        diag_error(c->cx, nowhere, "cannot write '%s': %s", path, strerror(errno));
        return EXIT_FILE;
    }
    return EXIT_DONE;
}

/* ---- what is observed ------------------------------------------------------------------------------------------- */

static struct observed *observed_of(struct calibration *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->observed[i].name, name) == 0)
            return &c->observed[i];
    ARENA_PUSH(&c->cx->arena, c->observed, c->count,
               ((struct observed){name, (double)INFINITY, -(double)INFINITY}));
    return &c->observed[c->count - 1];
}

/* A tensor of float32 is within the range of its name from now on; false after a fault. */
static bool observe(struct calibration *c, const char *name, const struct modc_item *item)
{
    struct observed *own;

    if (item->dtype != MODC_FLOAT32 || item->bytes == 0)
        return true;
    own = observed_of(c, name);
    for (size_t at = 0; at < item->bytes; at += sizeof(float)) {
        const double x = modc_number((const char *)item->data + at, MODC_FLOAT32);

        if (!isfinite(x)) {
            diag_error(c->cx, nowhere, "%s is %g on these inputs, which has no range", name, x);
            return false;
        }
        own->least = fmin(own->least, x);
        own->most = fmax(own->most, x);
    }
    return true;
}

/* What a module is given is of use where a product may read it. */
static bool is_of_use(const struct calibration *c, const char *name)
{
    const struct module_tree *tree = c->plan->program->tree;
    const size_t length = strlen(name), suffix = strlen(RANGE_INPUT);

    if (length <= suffix || strcmp(name + length - suffix, RANGE_INPUT) != 0)
        return true;
    for (int i = 1; i < tree->module_count; i++) {
        const struct module *module = tree->modules[i];

        if (strlen(module->path) != length - suffix || strncmp(module->path, name, length - suffix) != 0)
            continue;
        for (int k = 0; k < module->tensor_count; k++)
            if (module->tensors[k]->kind == MODULE_PARAMETER && module->tensors[k]->ndim >= 2)
                return true;
    }
    return false;
}

static bool observe_file(struct calibration *c, const char *path)
{
    struct modc_reader reader;
    struct modc_item item;
    bool fine = true;

    if (!tensor_file_open(c->cx, nowhere, path, &reader))
        return false;
    for (size_t at = 0; fine && modc_reader_next(&reader, &at, &item);) {
        const size_t length = modc_item_name(&item, NULL, 0);
        char *name = arena_alloc(&c->cx->arena, length + 1);

        modc_item_name(&item, name, length + 1);
        if (is_of_use(c, name))
            fine = observe(c, name, &item);
    }
    modc_unmap(reader.bytes, reader.length);
    return fine;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static struct run *open_program(struct calibration *c, const struct plan *plan, int *status)
{
    int count;
    const struct output_file *files;

    progress_step("writing %s.c ...", plan->model);
    files = emit_files(c->cx, plan, &count);
    return run_open(c->cx, plan, files, count, status);
}

static const char *numbered(struct calibration *c, const struct run *run, const char *name, int64_t call)
{
    return arena_format(&c->cx->arena, "%s/%s_%lld.safetensors", run_folder(run), name, (long long)call);
}

static int observe_calls(struct calibration *c, struct run *run)
{
    const char *ranges = arena_format(&c->cx->arena, "%s/ranges.safetensors", run_folder(run));
    int status = EXIT_DONE;

    for (int64_t call = 0; call < c->calls && status == EXIT_DONE; call++) {
        const char *inputs = numbered(c, run, "inputs", call);
        struct run_option options[] = {
            {.name = "--weights", .value = c->cx->options->weights, .reads = true},
            {.name = "--inputs", .value = inputs, .reads = true},
            {.name = "--outputs", .value = numbered(c, run, "base", call), .writes = true},
            {.name = "--ranges", .value = ranges, .writes = true}};
        struct arena own = {0};

        status = write_part(c, &own, call, inputs);
        arena_free(&own);
        if (status == EXIT_DONE)
            status = run_call(run, options, COUNT(options));
        if (status == EXIT_DONE && (!observe_file(c, inputs) || !observe_file(c, ranges)))
            status = EXIT_FILE;
    }
    return status;
}

/* Adds to the sums of an output by its name. */
static bool compare_files(struct calibration *c, const char *path, const char *base_path,
                          struct difference *sums, int count)
{
    struct modc_reader reader, base;
    struct modc_item item, other;
    int at_output = 0;

    if (!tensor_file_open(c->cx, nowhere, path, &reader))
        return false;
    if (tensor_file_open(c->cx, nowhere, base_path, &base)) {
        for (size_t at = 0; modc_reader_next(&base, &at, &other) && at_output < count; at_output++) {
            char name[256];

            modc_item_name(&other, name, sizeof name);
            if (modc_reader_find(&reader, name, &item))
                difference_add(&sums[at_output], &item, &other);
        }
        modc_unmap(base.bytes, base.length);
    }
    modc_unmap(reader.bytes, reader.length);
    return true;
}

/* What the calibrated program returns beside what the other one did. */
static int compare_calls(struct calibration *c, struct run *base, const struct plan *plan)
{
    const int count = c->graph->result_count;
    struct difference *sums = ARENA_ARRAY(&c->cx->arena, count + 1, struct difference);
    int status;
    struct run *run = open_program(c, plan, &status);

    if (!run)
        return status;
    for (int64_t call = 0; call < c->calls && status == EXIT_DONE; call++) {
        const char *outputs = numbered(c, run, "outputs", call);
        struct run_option options[] = {
            {.name = "--weights", .value = c->cx->options->weights, .reads = true},
            {.name = "--inputs", .value = numbered(c, base, "inputs", call), .reads = true},
            {.name = "--outputs", .value = outputs, .writes = true}};

        status = run_call(run, options, COUNT(options));
        if (status == EXIT_DONE && !compare_files(c, outputs, numbered(c, base, "base", call), sums, count))
            status = EXIT_FILE;
    }
    run_close(run);
    for (int i = 0; i < count; i++)
        if (sums[i].of > 0.0 || sums[i].squares > 0.0)
            c->error = fmax(c->error, difference_relative(&sums[i]));
    return status;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static int write_ranges(struct calibration *c)
{
    struct arena *arena = &c->cx->arena;
    struct weights_tensor *list = ARENA_ARRAY(arena, c->count + 1, struct weights_tensor);
    float *numbers = ARENA_ARRAY(arena, 2 * c->count + 1, float);
    const char *path = c->cx->options->ranges, *bytes;
    size_t length;

    for (int i = 0; i < c->count; i++) {
        numbers[2 * i] = (float)c->observed[i].least;
        numbers[2 * i + 1] = (float)c->observed[i].most;
        list[i] = (struct weights_tensor){.name = c->observed[i].name,
                                          .dtype = DTYPE_FLOAT32,
                                          .ndim = 1,
                                          .dims = {2},
                                          .bytes = numbers + 2 * (size_t)i};
    }
    bytes = weights_file_bytes(c->cx, arena, list, c->count, &length);
    errno = 0;
    if (bytes && modc_write_file(path, bytes, length) == MODC_OK)
        return EXIT_DONE;
    if (bytes)
        diag_error(c->cx, nowhere, "cannot write '%s': %s", path, strerror(errno));
    return EXIT_FILE;
}

/* ---- what is printed -------------------------------------------------------------------------------------------- */

static void print_table(struct calibration *c)
{
    int width = (int)strlen("outputs");

    for (int i = 0; i < c->count; i++)
        width = (int)strlen(c->observed[i].name) > width ? (int)strlen(c->observed[i].name) : width;
    text_printf(c->out, "%-*s  %10s  %10s  %10s  %5s\n", width, "range", "from", "to", "scale", "zero");
    for (int i = 0; i < c->count; i++) {
        const struct observed *own = &c->observed[i];
        const struct steps steps = steps_of_range(own->least, own->most);

        text_printf(c->out, "%-*s  %10.5g  %10.5g  %10.5g  %5d\n", width, own->name, own->least, own->most,
                    steps.scale, steps.zero);
    }
    text_printf(c->out, "\noutputs in int8 are off by %s\n", difference_percent(&c->cx->arena, c->error));
    text_printf(c->out, "%d ranges of %s call%s in %s\n", c->count, summary_number(c->cx, (double)c->calls),
                c->calls == 1 ? "" : "s", c->cx->options->ranges);
}

static void print_json(struct calibration *c)
{
    text_add(c->out, "{\"ranges\": [");
    for (int i = 0; i < c->count; i++) {
        const struct observed *own = &c->observed[i];
        const struct steps steps = steps_of_range(own->least, own->most);

        text_add(c->out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
        text_json_string(c->out, own->name);
        text_add(c->out, ", \"from\": ");
        text_double(c->out, own->least);
        text_add(c->out, ", \"to\": ");
        text_double(c->out, own->most);
        text_add(c->out, ", \"scale\": ");
        text_double(c->out, steps.scale);
        text_printf(c->out, ", \"zero\": %d}", steps.zero);
    }
    text_printf(c->out, "\n], \"calls\": %lld, \"error\": ", (long long)c->calls);
    if (c->error < 0.0 || !isfinite(c->error))
        text_add(c->out, "null");
    else
        text_double(c->out, c->error);
    text_add(c->out, "}\n");
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* The entry that the program calls: forward, or the first. */
static const struct graph *called_graph(const struct program *program)
{
    for (int i = 0; i < program->entry_count; i++)
        if (strcmp(program->entries[i].name, "forward") == 0)
            return program->entries[i].graphs[0][0];
    return program->entries[0].graphs[0][0];
}

static int calibrate_on(struct calibration *c, struct run *run,
                        struct plan *(*calibrated)(struct cx *cx, struct spec *spec))
{
    const struct options *options = c->cx->options;
    const struct plan *plan;
    int status = observe_calls(c, run);

    if (status == EXIT_DONE)
        status = write_ranges(c);
    if (status != EXIT_DONE)
        return status;
    plan = calibrated(c->cx, c->plan->program->tree->spec);
    if (!plan)
        return EXIT_SPEC;
    status = compare_calls(c, run, plan);
    if (status == EXIT_DONE)
        (options->format && strcmp(options->format, "json") == 0 ? print_json : print_table)(c);
    return status;
}

int calibrate(struct cx *cx, const struct plan *plain,
              struct plan *(*calibrated)(struct cx *cx, struct spec *spec), struct text *out)
{
    struct calibration c = {
        .cx = cx, .plan = plain, .graph = called_graph(plain->program), .out = out, .error = -1.0};
    int status = EXIT_COMMAND_LINE;
    struct run *run;

    if (!tensor_file_open(cx, nowhere, cx->options->inputs, &c.inputs))
        return EXIT_FILE;
    if (count_calls(&c)) {
        run = open_program(&c, plain, &status);
        if (run) {
            status = calibrate_on(&c, run, calibrated);
            run_close(run);
        }
    }
    modc_unmap(c.inputs.bytes, c.inputs.length);
    return status;
}
