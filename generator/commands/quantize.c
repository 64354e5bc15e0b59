/* quantize.c - see quantize.h.
 *
 * note [measures]
 * What rounding costs is measured on the inputs of --inputs by one program of the model in float32, which loads files of the rounded
 * weights as the numbers that they stand for. A measure of two tensors is the root of the mean square of their difference over that of the float32
 * one; of a model it is that of the output that is furthest off. */
#include "commands/quantize.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
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

/* A parameter that the spec has in fewer bits. */
struct weight {
    const struct module_tensor *tensor;
    struct weights_use use;      /* as what it is rounded now; storage NULL: it stays float32 */
    const struct storage *asked; /* as the spec has it */
    const float *floats;
    struct scaled_weight scaled; /* its integers, if it has some now */
    struct scaled_weight held;   /* what the file had */
    char *rounded;               /* what it stands for now, float32 */
    bool is_rounded;             /* it has that */
    double error;                /* measures: of it, */
    double output;               /* of what its module returns (negative: that is not known), */
    double alone;                /* and of the model where no other is rounded */
};

struct quantized {
    struct cx *cx;
    const struct plan *plan;
    const struct module_tree *tree;
    struct text *out;
    struct weights_file file;
    struct weight *weights;
    int count;
    struct run *run;                         /* the program, or NULL */
    const char *base_outputs, *base_modules; /* what it gave in float32 */
    double error;                            /* of the model; negative: not measured */
    bool json;
};

/* ---- rounding ----------------------------------------------------------------------------------------------- */

static double bits_of(const struct weight *w)
{
    const struct storage *storage = w->use.storage;
    const double k = (double)w->tensor->dims[!w->use.transposed];

    if (!storage)
        return 32.0;
    return (double)storage_plain(storage)->bits +
           (storage_is_scaled(storage)
                ? (double)storage_groups(storage, w->tensor->dims[!w->use.transposed]) * 8.0 *
                      dtype_rows[storage->scale].bytes / k
                : 0.0);
}

/* As `storage` now (NULL: it stays float32). False after a fault. */
static bool round_weight(struct quantized *q, struct weight *w, const struct storage *storage)
{
    const int64_t count = module_tensor_count(w->tensor);
    struct difference sum = {0};
    const char *fault;
    float *rounded = (float *)(void *)w->rounded;

    if (w->is_rounded && w->use.storage == storage)
        return true;
    w->is_rounded = true;
    w->use.storage = storage;
    w->scaled.storage.name = NULL;
    if (storage_is_scaled(storage)) {
        w->scaled = w->held.storage.name && storage_holds(&w->held.storage, storage)
                        ? w->held
                        : scaled_round(q->cx, &w->use, w->tensor, w->floats);
        fault = scaled_fault(q->cx, &w->scaled);
        if (fault) {
            diag_error(q->cx, nowhere, "%s cannot be rounded to %s: its scales would have %s",
                       w->tensor->path, storage_text(&q->cx->arena, storage), fault);
            diag_hint(q->cx, "its numbers are not finite, or too large for scales in %s",
                      dtype_rows[storage->scale].name);
            return false;
        }
        scaled_numbers(&w->scaled, DTYPE_FLOAT32, w->rounded);
    }
    for (int64_t i = 0; i < count; i++) {
        char half[2];

        if (!storage)
            rounded[i] = w->floats[i];
        if (storage && !storage_is_scaled(storage)) {
            modc_store(half, (enum modc_dtype)storage->dtype, (double)w->floats[i]);
            rounded[i] = (float)modc_number(half, (enum modc_dtype)storage->dtype);
        }

        const double difference = (double)rounded[i] - (double)w->floats[i];

        sum.squares += difference * difference;
        sum.of += (double)w->floats[i] * (double)w->floats[i];
    }
    w->error = difference_relative(&sum);
    return true;
}

static bool has_key(const struct quantized *q, const char *path)
{
    for (int i = 0; i < q->tree->key_count; i++)
        if (strcmp(q->tree->keys[i]->path, path) == 0)
            return true;
    return false;
}

static bool find_weights(struct quantized *q)
{
    const struct weights_use *uses = weights_uses(q->cx, q->plan);

    q->weights = ARENA_ARRAY(&q->cx->arena, q->tree->key_count + 1, struct weight);
    for (int i = 0; i < q->tree->key_count; i++) {
        const struct module_tensor *tensor = q->tree->keys[i];
        struct weight *w = &q->weights[q->count];

        if (!uses[i].storage || tensor->dtype != DTYPE_FLOAT32)
            continue;
        if (uses[i].apart || has_key(q, arena_format(&q->cx->arena, "%s_scale", tensor->path))) {
            diag_warning(q->cx, nowhere,
                         "%s stays float32 in the file: no scales go with all products that have it",
                         tensor->path);
            continue;
        }
        *w = (struct weight){
            .tensor = tensor,
            .use = uses[i],
            .asked = uses[i].storage,
            .floats = (const float *)(const void *)(q->file.tensors + q->plan->param_offsets[i]),
            .held = q->file.scaled[i],
            .output = -1.0};
        w->rounded = arena_alloc(&q->cx->arena, (size_t)module_tensor_count(tensor) * sizeof(float) + 1);
        q->count++;
    }
    if (q->count > 0)
        return true;
    diag_error(q->cx, nowhere, "%s packs no weight in fewer bits", q->plan->model);
    diag_hint(q->cx, "`storage: int8` in the spec, for one, does");
    return false;
}

/* ---- files -------------------------------------------------------------------------------------------------- */

static const struct weight *weight_of(const struct quantized *q, const struct module_tensor *tensor)
{
    for (int i = 0; i < q->count; i++)
        if (q->weights[i].tensor == tensor->first)
            return &q->weights[i];
    return NULL;
}

static struct weights_tensor plain_tensor(const struct quantized *q, const struct module_tensor *tensor)
{
    struct weights_tensor out = {.name = tensor->path,
                                 .dtype = tensor->dtype,
                                 .ndim = tensor->ndim,
                                 .bytes = q->file.tensors + q->plan->param_offsets[tensor->first->key]};

    memcpy(out.dims, tensor->dims, sizeof out.dims);
    return out;
}

/* The same, of 16 bits. */
static void halve(struct arena *arena, const struct weight *w, struct weights_tensor *out)
{
    const int64_t count = module_tensor_count(w->tensor);
    char *bytes = arena_alloc(arena, (size_t)count * 2 + 1);

    out->dtype = w->use.storage->dtype;
    out->bytes = bytes;
    modc_convert(bytes, (enum modc_dtype)out->dtype, w->rounded, MODC_FLOAT32, (size_t)count);
}

/* The integers and the scales. */
static void put_scaled(struct arena *arena, const struct weight *w, struct weights_tensor *out)
{
    const struct scaled_weight *scaled = &w->scaled;
    const struct storage *storage = &scaled->storage;
    const char *text = storage_text(arena, storage);
    const bool bytes = storage->bits == 8;

    out[0] = (struct weights_tensor){
        .name = w->tensor->path,
        .about = arena_format(arena, "%s%s", text, scaled->transposed ? " transposed" : ""),
        .dtype = bytes ? DTYPE_INT8 : DTYPE_UINT8,
        .ndim = 2,
        .dims = {scaled->n, bytes ? scaled->k : (scaled->k + 1) / 2},
        .bytes = scaled->integers};
    out[1] = (struct weights_tensor){.name = arena_format(arena, "%s_scale", w->tensor->path),
                                     .dtype = storage->scale,
                                     .ndim = storage->group > 0 ? 2 : 1,
                                     .dims = {scaled->n, storage_groups(storage, scaled->k)},
                                     .bytes = scaled->scales};
}

/* A file of all that a state_dict has, as it is rounded now; a tie stands there once. */
static const char *file_of(struct quantized *q, struct arena *arena, size_t *length)
{
    struct weights_tensor *list = ARENA_ARRAY(arena, 2 * q->tree->key_count + 1, struct weights_tensor);
    int count = 0;

    for (int i = 0; i < q->tree->key_count; i++) {
        const struct module_tensor *tensor = q->tree->keys[i];
        const struct weight *w = weight_of(q, tensor);

        if ((tensor->kind != MODULE_PARAMETER && !tensor->persistent) || tensor->first != tensor)
            continue;
        list[count] = plain_tensor(q, tensor);
        if (w && w->scaled.storage.name)
            put_scaled(arena, w, list + count++);
        else if (w && w->use.storage)
            halve(arena, w, list + count);
        count++;
    }
    return weights_file_bytes(q->cx, arena, list, count, length);
}

/* The same at a path, if it is not NULL. */
static int write_weights(struct quantized *q, const char *path, size_t *length)
{
    struct arena own = {0};
    const char *bytes = file_of(q, &own, length);
    int status = bytes ? EXIT_DONE : EXIT_FILE;

    errno = 0;
    if (bytes && path && modc_write_file(path, bytes, *length) != MODC_OK) {
        diag_error(q->cx, nowhere, "cannot write '%s': %s", path, strerror(errno));
        status = EXIT_FILE;
    }
    arena_free(&own);
    return status;
}

/* ---- measures ----------------------------------------------------------------------------------------------- */

/* Of an item of two files, note [measures]; negative: it is no float. */
static double distance(const struct modc_item *item, const struct modc_item *base)
{
    struct difference sum = {0};

    return difference_add(&sum, item, base) ? difference_relative(&sum) : -1.0;
}

static const char *in_folder(const struct quantized *q, const char *name)
{
    return arena_format(&q->cx->arena, "%s/%s", run_folder(q->run), name);
}

/* Runs it on the weights that are rounded now. modules: what each of them returns goes there, too; or NULL. */
static int call_model(struct quantized *q, const char *outputs, const char *modules)
{
    const char *weights = in_folder(q, "weights.safetensors");
    struct run_option options[] = {{.name = "--weights", .value = weights, .reads = true},
                                   {.name = "--inputs", .value = q->cx->options->inputs, .reads = true},
                                   {.name = "--outputs", .value = outputs, .writes = true},
                                   {.name = "--modules", .value = modules, .writes = true}};
    size_t length;
    int status;

    status = write_weights(q, weights, &length);
    return status == EXIT_DONE ? run_call(q->run, options, modules ? 4 : 3) : status;
}

/* The largest of the float outputs; negative: there are none. */
static bool measure_outputs(struct quantized *q, const char *outputs, double *largest)
{
    struct modc_reader reader, base;
    struct modc_item item, other;

    *largest = -1.0;
    if (!tensor_file_open(q->cx, nowhere, outputs, &reader))
        return false;
    if (tensor_file_open(q->cx, nowhere, q->base_outputs, &base)) {
        for (size_t at = 0; modc_reader_next(&base, &at, &other);) {
            char name[256];

            modc_item_name(&other, name, sizeof name);
            if (modc_reader_find(&reader, name, &item))
                *largest = fmax(*largest, distance(&item, &other));
        }
        modc_unmap(base.bytes, base.length);
    }
    modc_unmap(reader.bytes, reader.length);
    return true;
}

static bool measure_modules(struct quantized *q, const char *modules)
{
    struct modc_reader reader, base;
    struct modc_item item, other;

    if (!tensor_file_open(q->cx, nowhere, modules, &reader))
        return false;
    if (tensor_file_open(q->cx, nowhere, q->base_modules, &base)) {
        for (int i = 0; i < q->count; i++) {
            const char *path = q->weights[i].tensor->owner->path;

            if (modc_reader_find(&reader, path, &item) && modc_reader_find(&base, path, &other))
                q->weights[i].output = distance(&item, &other);
        }
        modc_unmap(base.bytes, base.length);
    }
    modc_unmap(reader.bytes, reader.length);
    return true;
}

static bool round_all(struct quantized *q, const struct storage *const *storages)
{
    for (int i = 0; i < q->count; i++)
        if (!round_weight(q, &q->weights[i], storages ? storages[i] : NULL))
            return false;
    return true;
}

/* The model as it is rounded now. */
static int measure(struct quantized *q, double *error)
{
    const char *outputs = in_folder(q, "outputs.safetensors");
    int status = call_model(q, outputs, NULL);

    if (status == EXIT_DONE && !measure_outputs(q, outputs, error))
        status = EXIT_FILE;
    return status;
}

static int measure_base(struct quantized *q)
{
    q->base_outputs = in_folder(q, "base.safetensors");
    q->base_modules = in_folder(q, "base_modules.safetensors");
    return round_all(q, NULL) ? call_model(q, q->base_outputs, q->base_modules) : EXIT_FILE;
}

static int measure_all(struct quantized *q)
{
    const char *outputs = in_folder(q, "outputs.safetensors");
    const char *modules = in_folder(q, "modules.safetensors");
    int status = call_model(q, outputs, modules);

    if (status == EXIT_DONE && (!measure_outputs(q, outputs, &q->error) || !measure_modules(q, modules)))
        status = EXIT_FILE;
    return status;
}

/* ---- a budget ----------------------------------------------------------------------------------------------- */

/* note [budgets]
 * What each weight costs the model alone is measured; squares of these are thought to add up, and to go with those of the errors of the
 * weights. The weight that saves most of the sum for a byte more is widened, to 8 bits, to bfloat16, to float32, until the root of the
 * sum is within the budget; then those that need not be as wide as they are go back. Where the measure of all is above the budget,
 * it starts again with less of one. */
enum { MOST_LEVELS = 4 };

struct level {
    const struct storage *storage;
    double bits;      /* of all of the weight */
    double predicted; /* what is left of the model's error: its square */
};

struct ladder {
    struct level levels[MOST_LEVELS];
    int count, at;
};

static const struct storage *wider(const struct storage *storage)
{
    return storage->bits < 8                    ? storage_find("int8")
           : storage->bits < STORAGE_CODED_BITS ? storage_find("bfloat16")
                                                : NULL;
}

/* Rounded so, the weight is as it was afterwards. */
static bool climb(struct quantized *q, struct weight *w, struct ladder *ladder)
{
    const double asked = w->error;
    const struct storage *storage = w->asked;

    for (int i = 0; i < MOST_LEVELS; i++, storage = wider(storage)) {
        if (!round_weight(q, w, storage))
            return false;

        const double ratio = asked > 0.0 ? w->error / asked : 0.0;

        ladder->levels[ladder->count++] = (struct level){storage,
                                                         bits_of(w) * (double)module_tensor_count(w->tensor),
                                                         w->alone * w->alone * ratio * ratio};
        if (!storage)
            break;
    }
    return round_weight(q, w, w->asked);
}

static int measure_each(struct quantized *q, struct ladder *ladders)
{
    const struct storage **one = ARENA_ARRAY(&q->cx->arena, q->count, const struct storage *);
    int status = EXIT_DONE;

    if (!round_all(q, one))
        return EXIT_FILE;
    for (int i = 0; i < q->count && status == EXIT_DONE; i++) {
        struct weight *w = &q->weights[i];

        progress_step("measuring what %s costs ...", w->tensor->path);
        if (!round_weight(q, w, w->asked))
            return EXIT_FILE;
        status = measure(q, &w->alone);
        if (status == EXIT_DONE && (!climb(q, w, &ladders[i]) || !round_weight(q, w, NULL)))
            status = EXIT_FILE;
    }
    return status;
}

static double predicted(const struct quantized *q, const struct ladder *ladders)
{
    double sum = 0.0;

    for (int i = 0; i < q->count; i++)
        sum += ladders[i].levels[ladders[i].at].predicted;
    return sqrt(sum);
}

/* What the next level saves for a bit more; there is one. */
static double worth(const struct ladder *ladder)
{
    const struct level *own = &ladder->levels[ladder->at];

    return (own[0].predicted - own[1].predicted) / fmax(own[1].bits - own[0].bits, 1.0);
}

/* The next weight to widen; -1: all are float32. */
static int most_for_a_byte(const struct quantized *q, const struct ladder *ladders)
{
    int best = -1;

    for (int i = 0; i < q->count; i++)
        if (ladders[i].at + 1 < ladders[i].count && (best < 0 || worth(&ladders[i]) > worth(&ladders[best])))
            best = i;
    return best;
}

static void choose_levels(const struct quantized *q, struct ladder *ladders, double most)
{
    for (int next; predicted(q, ladders) > most && (next = most_for_a_byte(q, ladders)) >= 0;)
        ladders[next].at++;
    for (int i = 0; i < q->count; i++)
        while (ladders[i].at > 0) {
            ladders[i].at--;
            if (predicted(q, ladders) <= most)
                continue;
            ladders[i].at++;
            break;
        }
}

/* Leaves the weights rounded so that the measure is within the budget. */
static int keep_budget(struct quantized *q, double budget)
{
    struct ladder *ladders = ARENA_ARRAY(&q->cx->arena, q->count, struct ladder);
    double most = budget;
    int status;

    if (q->error <= budget)
        return EXIT_DONE;
    status = measure_each(q, ladders);
    while (status == EXIT_DONE && q->error > budget) {
        choose_levels(q, ladders, most);
        for (int i = 0; i < q->count; i++)
            if (!round_weight(q, &q->weights[i], ladders[i].levels[ladders[i].at].storage))
                return EXIT_FILE;
        progress_step("measuring what is proposed ...");
        status = measure_all(q);
        if (predicted(q, ladders) == 0.0) /* nothing is rounded */
            break;
        most = most > 1e-9 ? 0.7 * most * fmin(1.0, budget / q->error) : 0.0;
    }
    return status;
}

/* ---- what is printed ---------------------------------------------------------------------------------------- */

static const char *percent(struct quantized *q, double value)
{
    return difference_percent(&q->cx->arena, value);
}

static const char *stored_as(struct quantized *q, const struct storage *storage)
{
    return storage ? storage_text(&q->cx->arena, storage) : "float32";
}

static double bits_of_all(const struct quantized *q)
{
    double bits = 0.0, count = 0.0;

    for (int i = 0; i < q->count; i++) {
        bits += bits_of(&q->weights[i]) * (double)module_tensor_count(q->weights[i].tensor);
        count += (double)module_tensor_count(q->weights[i].tensor);
    }
    return bits / count;
}

static void print_table(struct quantized *q, bool measured)
{
    int path = (int)strlen("outputs"), storage = (int)strlen("storage");

    for (int i = 0; i < q->count; i++) {
        const int length = (int)strlen(q->weights[i].tensor->path);
        const int words = (int)strlen(stored_as(q, q->weights[i].use.storage));

        path = length > path ? length : path;
        storage = words > storage ? words : storage;
    }
    text_printf(q->out, "%-*s  %-*s  %6s  %8s%s\n", path, "weight", storage, "storage", "bits", "error",
                measured ? "  of module" : "");
    for (int i = 0; i < q->count; i++) {
        const struct weight *w = &q->weights[i];

        text_printf(q->out, "%-*s  %-*s  %6.2f  %8s", path, w->tensor->path, storage,
                    stored_as(q, w->use.storage), bits_of(w), percent(q, w->error));
        text_printf(q->out, measured ? "  %9s\n" : "\n", percent(q, w->output));
    }
    text_printf(q->out, "%-*s  %-*s  %6.2f\n", path, "in all", storage, "", bits_of_all(q));
    if (measured)
        text_printf(q->out, "%-*s  %-*s  %6s  %8s\n", path, "outputs", storage, "", "", percent(q, q->error));
}

static void put_mapping(struct text *text, const char *line, const char *between, const char *key,
                        const char *storage, bool json)
{
    text_add(text, line);
    if (json)
        text_json_string(text, key);
    else if (strpbrk(key, "*?") || (key[0] >= '0' && key[0] <= '9'))
        text_printf(text, "\"%s\"", key);
    else
        text_add(text, key);
    text_add(text, between);
    if (json)
        text_json_string(text, storage);
    else
        text_add(text, storage);
}

/* What the spec says and, behind it, what differs. */
static void print_mapping(struct quantized *q, struct text *text, bool json)
{
    const struct spec *spec = q->tree->spec;
    const char *line = json ? "" : "  ", *between = ": ";
    bool any = false;

    text_add(text, json ? "{" : "storage:\n");
    for (int i = 0; i < spec->storage_count; i++) {
        const struct spec_storage *own = &spec->storages[i];

        put_mapping(text, json && any ? ", " : line, between, own->pattern ? own->pattern : "default",
                    own->kind ? storage_text(&q->cx->arena, own->kind) : own->dtype, json);
        text_add(text, json ? "" : "\n");
        any = true;
    }
    for (int i = 0; i < q->count; i++) {
        const struct weight *w = &q->weights[i];

        if (w->use.storage == w->asked)
            continue;
        put_mapping(text, json && any ? ", " : line, between, w->tensor->path, stored_as(q, w->use.storage),
                    json);
        text_add(text, json ? "" : "\n");
        any = true;
    }
    text_add(text, json ? "}" : "");
}

static void put_number(struct text *text, const char *key, double value)
{
    text_printf(text, ", \"%s\": ", key);
    if (value < 0.0 || !isfinite(value))
        text_add(text, "null");
    else
        text_double(text, value);
}

static void print_json(struct quantized *q, size_t length, bool proposed)
{
    text_add(q->out, "{\"weights\": [");
    for (int i = 0; i < q->count; i++) {
        const struct weight *w = &q->weights[i];

        text_add(q->out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
        text_json_string(q->out, w->tensor->path);
        text_add(q->out, ", \"module\": ");
        text_json_string(q->out, w->tensor->owner->path);
        text_add(q->out, ", \"storage\": ");
        text_json_string(q->out, stored_as(q, w->use.storage));
        put_number(q->out, "bits", bits_of(w));
        put_number(q->out, "error", w->error);
        put_number(q->out, "module_error", w->output);
        text_add(q->out, "}");
    }
    text_add(q->out, "\n]");
    put_number(q->out, "bits", bits_of_all(q));
    put_number(q->out, "error", q->error);
    text_printf(q->out, ", \"bytes\": %zu", length);
    if (proposed) {
        text_add(q->out, ", \"storage\": ");
        print_mapping(q, q->out, true);
    }
    text_add(q->out, "}\n");
}

/* ---- the command -------------------------------------------------------------------------------------------- */

/* The entry that the program calls: forward, or the first. */
static bool returns_floats(const struct program *program)
{
    const struct graph *graph = program->entries[0].graphs[0][0];

    for (int i = 0; i < program->entry_count; i++)
        if (strcmp(program->entries[i].name, "forward") == 0)
            graph = program->entries[i].graphs[0][0];
    for (int i = 0; i < graph->output_count; i++)
        if (dtype_is_float(graph->outputs[i]->dtype) || dtype_is_complex(graph->outputs[i]->dtype))
            return true;
    return false;
}

static int measure_model(struct quantized *q, const struct plan *plain, const struct storage **storages)
{
    const struct options *options = q->cx->options;
    int count, status;
    const struct output_file *files;

    if (options->budget && !returns_floats(plain->program)) {
        diag_error(q->cx, nowhere, "--budget: %s has no output of floats to measure", q->plan->model);
        return EXIT_COMMAND_LINE;
    }
    progress_step("writing %s.c ...", plain->model);
    files = emit_files(q->cx, plain, &count);
    q->run = run_open(q->cx, plain, files, count, &status);
    if (!q->run)
        return status;
    status = measure_base(q);
    if (status == EXIT_DONE)
        status = round_all(q, storages) ? measure_all(q) : EXIT_FILE;
    if (status == EXIT_DONE && options->budget)
        status = keep_budget(q, strtod(options->budget, NULL));
    run_close(q->run);
    return status;
}

static void print_result(struct quantized *q, size_t length, bool proposed)
{
    const struct options *options = q->cx->options;

    if (q->json) {
        print_json(q, length, proposed);
        return;
    }
    print_table(q, options->inputs != NULL);
    text_printf(q->out, "\n%s bytes%s%s\n", summary_number(q->cx, (double)length),
                options->out_dir ? " in " : "", options->out_dir ? options->out_dir : "");
    if (!options->budget)
        return;
    if (!proposed) {
        text_printf(q->out, "\nthat is within the budget of %s\n", percent(q, strtod(options->budget, NULL)));
        return;
    }
    text_printf(q->out, "\nwithin the budget of %s, and in the file, is\n\n",
                percent(q, strtod(options->budget, NULL)));
    print_mapping(q, q->out, false);
}

int quantize(struct cx *cx, const struct plan *plan, const struct plan *plain, struct text *out)
{
    const struct options *options = cx->options;
    struct quantized q = {.cx = cx, .plan = plan, .tree = plan->program->tree, .out = out, .error = -1.0};
    const struct storage **storages;
    size_t length;
    bool proposed = false;
    int status = EXIT_DONE;

    q.json = options->format && strcmp(options->format, "json") == 0;
    if (!weights_read(cx, plan, options->weights, weights_uses(cx, plan), &q.file))
        return EXIT_FILE;
    if (!find_weights(&q))
        return EXIT_SPEC;
    storages = ARENA_ARRAY(&cx->arena, q.count, const struct storage *);
    for (int i = 0; i < q.count; i++)
        storages[i] = q.weights[i].asked;
    if (plain)
        status = measure_model(&q, plain, storages);
    else
        status = round_all(&q, storages) ? EXIT_DONE : EXIT_FILE;
    if (status != EXIT_DONE)
        return status;
    for (int i = 0; i < q.count; i++)
        proposed |= q.weights[i].use.storage != q.weights[i].asked;
    status = write_weights(&q, options->out_dir, &length);
    if (status == EXIT_DONE)
        print_result(&q, length, proposed);
    return status;
}
