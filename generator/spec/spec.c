/* spec.c - reads a spec, and checks what needs all of it: what is missing, what is unused, which names go together. Apart from
 * the files of its keys (spec_keys.c), which see one value each. The YAML under them is spec_yaml.c's business, what stands
 * in their values expr.c's.
 *
 * These checks are made only over what was read whole. */
#include "spec/spec.h"

#include <string.h>

#include "base/emitted.h"
#include "spec/spec_extends.h"
#include "spec/spec_reader.h"

/* Names of inputs or of sizes: to look up, and to find near spellings. */
struct known {
    struct names names;
    const char **list;
    int count;
};

static void add_known(struct reader *r, struct known *known, const char *name, struct loc loc)
{
    names_add(&r->cx->arena, &known->names, name, name, loc);
    ARENA_PUSH(&r->cx->arena, known->list, known->count, name);
}

/* An entry, or `forward` with a list of arguments: they are inputs of the model. */
static void check_entry(struct reader *r, const struct spec_function *entry, const struct known *inputs,
                        const struct known *sizes)
{
    for (int i = 0; i < entry->arg_count && r->inputs_good; i++) {
        const struct signature_arg *arg = &entry->args[i];

        if (!names_find(&inputs->names, arg->name)) {
            diag_error(r->cx, arg->loc, "'%s' is no input of the model", arg->name);
            diag_hint_nearest(r->cx, arg->name, inputs->list, inputs->count);
        } else if (arg->value) {
            diag_error(r->cx, arg->loc, "'%s' has a default, but the inputs of a model are always given",
                       arg->name);
        }
    }
    for (int i = 0; i < entry->max_count; i++) {
        if (names_find(&sizes->names, entry->max[i].name))
            continue;
        diag_error(r->cx, entry->max[i].loc, "'%s' is no size of the model", entry->max[i].name);
        diag_hint_nearest(r->cx, entry->max[i].name, sizes->list, sizes->count);
    }
}

/* Each variant of an entry has a function of its own, act_eval, act_train_fenced, and each entry has tables, without the model's
 * name: act_io. */
static void check_variants(struct reader *r, const struct spec_function *entry, const char *other)
{
    static const char *const tables[] = {"_io", "_call", "_backward_call"};
    const char *function = arena_format(&r->cx->arena, "%s_%s", r->spec->model, entry->name);
    size_t length = strlen(other);
    bool taken = false;

    for (int i = 0; emitted_endings[i]; i++)
        taken |= strncmp(entry->name, other, length) == 0 &&
                 strcmp(entry->name + length, emitted_endings[i]) == 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        taken |= strncmp(function, other, length) == 0 && strcmp(function + length, tables[i]) == 0;
    if (taken)
        diag_error(r->cx, entry->loc,
                   "the entry '%s' would have the name of a function or constant of the entry '%s', %s",
                   entry->name, other, function);
}

static void check_forward(struct reader *r)
{
    const struct spec *spec = r->spec;
    const struct spec_module *modules = spec->root.modules;

    if (spec->root.forward || spec->partial)
        return;
    if (!modules) {
        diag_error(r->cx, r->modules_loc, "the spec has neither 'modules' nor 'forward'");
        diag_hint(r->cx, "write a list of modules, or statements: 'forward: return x'");
    } else if (!spec_is_sequential(modules)) {
        diag_error(r->cx, r->modules_loc, "the spec has no 'forward'");
        diag_hint(r->cx, "only a model whose 'modules' is a list, or a 'class: Sequential', needs none");
    } else if (r->inputs_good && spec->input_count > 1) {
        diag_error(r->cx, r->inputs_loc, "the spec has %d inputs, but no 'forward'", spec->input_count);
        diag_hint(r->cx, "a list of modules takes one input; with more of them write 'forward'");
    }
}

static void check_whole(struct reader *r)
{
    const struct spec *spec = r->spec;
    struct loc start = loc_at(spec->source, 0, 1);
    struct known inputs = {0}, sizes = {0};

    if (r->complete) {
        if (!r->has_version) {
            diag_error(r->cx, start, "the spec has no 'modc', the version of its format");
            diag_hint(r->cx, "begin it with 'modc: 1'");
        }
        if (!r->has_model) {
            diag_error(r->cx, start, "the spec has no 'model', the name of the model");
            diag_hint(r->cx, "write 'model: NAME' behind 'modc: 1'");
        }
        if (!r->has_inputs) {
            diag_error(r->cx, start, "the spec has no 'inputs'");
            diag_hint(r->cx, "write 'inputs: {x: [4]}' with the names and shapes of the inputs");
        }
        check_forward(r);
    }
    if (spec->training && spec->training->criterion &&
        !spec_check_unique_in_c(r, &r->arguments, "target", spec->training->loss_loc))
        diag_hint(r->cx, "a loss in the short form has an input 'target'; write it as statements");
    if (spec->generation)
        spec_finish_generation(r);
    for (int i = 0; i < spec->input_count; i++)
        add_known(r, &inputs, spec->inputs[i].name, spec->inputs[i].loc);
    for (int i = 0; i < spec->size_count; i++)
        add_known(r, &sizes, spec->sizes[i].name, spec->sizes[i].loc);
    if (spec->root.forward)
        check_entry(r, spec->root.forward, &inputs, &sizes);
    for (int i = 0; i < spec->entry_count; i++) {
        check_entry(r, spec->entries[i], &inputs, &sizes);
        check_variants(r, spec->entries[i], "forward");
        for (int j = 0; j < spec->entry_count; j++)
            check_variants(r, spec->entries[i], spec->entries[j]->name);
    }
}

struct spec *spec_read(struct cx *cx, const struct source *source)
{
    struct spec *spec = ARENA_NEW(&cx->arena, struct spec);

    cx->spec_room = EXPR_MAX_COUNT + 1;

    struct extended extended = spec_extend(cx, source);
    struct reader reader = {.cx = cx, .spec = spec, .complete = extended.complete}, *r = &reader;
    const struct node *root = extended.root;

    spec->source = source;
    spec->sources = extended.sources;
    spec->source_count = extended.source_count;
    spec->model = "model";
    spec->model_loc = r->modules_loc = r->inputs_loc = loc_at(source, 0, 1);
    spec->threads = 1;
    spec->partial = !root || !r->complete;
    if (root) {
        for (int i = 0; i < root->count; i++)
            spec_read_key(r, root->keys[i], root->items[i]);
        check_whole(r);
    }
    if (spec->dtype_count == 0) {
        int locs = 0;

        ARENA_PUSH(&cx->arena, spec->dtype_locs, locs, spec->model_loc);
        ARENA_PUSH(&cx->arena, spec->dtypes, spec->dtype_count, "float32");
    }
    if (spec->device_count == 0) {
        int locs = 0;

        ARENA_PUSH(&cx->arena, spec->device_locs, locs, spec->model_loc);
        ARENA_PUSH(&cx->arena, spec->devices, spec->device_count, "cpu");
    }
    spec->root.name = spec->model;
    spec->root.loc = spec->model_loc;
    cx->spec_room = 0;
    return spec;
}
