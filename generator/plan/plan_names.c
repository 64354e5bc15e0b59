/* plan_names.c - what things are called in emitted code: sizes, arguments, locals, constants, functions of regions. Apart from
 * plan_value.c, because names follow rules of their own. */
#include <ctype.h>
#include <string.h>

#include "base/names.h"
#include "plan/planner.h"
#include "plan/templates.h"
#include "spec/emitted.h"

const char *c_path(struct cx *cx, const char *path)
{
    struct text text = text_new(&cx->arena);

    while (*path) {
        size_t length = strcspn(path, ".");
        char *part = arena_copy(&cx->arena, path, length);

        if (text.length > 0)
            text_add(&text, ".");
        text_add(&text, spec_c_name(cx, part)); /* "0" becomes "_0" */
        path += length + (path[length] == '.');
    }
    return text.data;
}

const char *c_argument(struct cx *cx, const char *name)
{
    static const char *const locals[] = {
        "p",          "k",          "s",         "ws",        "net",    "status",  "i",        "in",
        "out",        "buffers",    "sizes",     "dims",      "index",  "inputs",  "outputs",  "params",
        "base",       "float_mode", "gradients", "training",  "module", "counter", "gradient", "kept",
        "kept_slots", "zeros",      "given",     "optimizer", "memcpy", "memset"};

    bool taken = strstr(name, "_call") || strstr(name, "_shadow"); /* of boundaries and of slots */

    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        taken |= strcmp(locals[i], name) == 0;
    return taken ? arena_format(&cx->arena, "%s_", name) : spec_c_name(cx, name);
}

/* Identifiers in functions and in kernels: what a template calls something gets an underscore. */
void planner_name_sizes(struct cx *cx, struct program *program)
{
    const struct module_tree *tree = program->tree;

    for (int i = 0; i < tree->size_count; i++) {
        const char *name = c_argument(cx, tree->sizes[i].name);

        tree->sizes[i].c_name = template_uses(name) ? arena_format(&cx->arena, "%s_", name) : name;
        for (int j = 0; j < program->entry_count; j++)
            program->entries[j].sizes[i].c_name = tree->sizes[i].c_name;
    }
}

const char *c_output(struct cx *cx, const struct graph *graph, int index)
{
    const char *name = c_argument(cx, graph->output_names[index]);
    const struct module_tree *tree = graph->program->tree;
    bool taken = false;

    for (int i = 0; i < graph->input_count; i++)
        taken |= strcmp(c_argument(cx, graph->inputs[i]->name), name) == 0;
    for (int i = 0; i < tree->size_count; i++)
        taken |= strcmp(tree->sizes[i].c_name, name) == 0;
    return taken ? arena_format(&cx->arena, "%s_out", name) : name;
}

const char *c_gradient(struct cx *cx, const struct graph *graph, const char *name, bool result)
{
    const struct module_tree *tree = graph->program->tree;
    const char *own = arena_format(&cx->arena, "d%s", name);
    bool taken;

    for (int i = 0; i < graph->input_count && result; i++)
        if (strcmp(graph->inputs[i]->name, name) == 0)
            own = arena_format(&cx->arena, "d%s_out", name);
    taken = strcmp(own, c_argument(cx, own)) != 0;
    for (int i = 0; i < graph->input_count; i++)
        taken |= strcmp(c_argument(cx, graph->inputs[i]->name), own) == 0;
    for (int i = 0; i < graph->result_count; i++)
        taken |= strcmp(c_output(cx, graph, i), own) == 0;
    for (int i = 0; i < tree->size_count; i++)
        taken |= strcmp(tree->sizes[i].c_name, own) == 0;
    return taken ? arena_format(&cx->arena, "%s_", own) : own;
}

static bool is_constant_name(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->constant_count; i++)
        if (strcmp(plan->constant_names[i], name) == 0)
            return true;
    return false;
}

const char *plan_constant(struct cx *cx, struct plan *plan, struct value *value)
{
    const struct tensor *tensor = value->constant;
    size_t bytes = (size_t)tensor_count(tensor) * sizeof *tensor->data;

    for (int i = 0; i < plan->constant_count; i++) {
        const struct tensor *other = plan->constants[i]->constant;

        if (other->dtype == tensor->dtype && tensor_count(other) == tensor_count(tensor) &&
            memcmp(other->data, tensor->data, bytes) == 0)
            return plan->constant_names[i];
    }

    const char *stem = value->name ? value->name : "constant";
    uint64_t hash = text_hash(tensor->data, bytes);
    const char *name = arena_format(&cx->arena, "%s_%04x", stem, (unsigned)(hash & 0xffff));
    int count = plan->constant_count;

    if (is_constant_name(plan, name))
        name = arena_format(&cx->arena, "%s_%016llx", stem, (unsigned long long)hash);
    if (is_constant_name(plan, name)) /* the same bytes in another type */
        name = arena_format(&cx->arena, "%s_%s", name, dtype_rows[tensor->dtype].name);
    ARENA_PUSH(&cx->arena, plan->constants, plan->constant_count, value);
    ARENA_PUSH(&cx->arena, plan->constant_names, count, name);
    return name;
}

/* A local name: the spec's own, else the module's, else the function's. */
const char *planner_local_name(struct planner *planner, const struct value *value)
{
    struct variant *variant = planner->variant;
    struct cx *cx = planner->cx;
    const char *path = value->op->call ? relative_path(variant->graph->root, value->op->call->module->path)
                                       : "";
    const char *stem = value->name ? c_argument(cx, value->name)
                       : path[0]   ? (isdigit((unsigned char)path[0])
                                          ? arena_format(&cx->arena, "y%s", emitted_flat(cx, path))
                                          : emitted_flat(cx, path))
                                   : (value->op->label ? value->op->label : "value");
    const char *name = stem;

    for (int round = 1;; round++) {          /* h, h_b, h_c, ...: numbers are for shapes */
        bool taken = round == 't' - 'a' + 1; /* int32_t */

        for (int i = 0; i < variant->graph->value_count && !taken; i++)
            taken = variant->places[i].name && variant->places[i].kind != PLACE_CONST &&
                    strcmp(variant->places[i].name, name) == 0;
        for (int i = 0; i < variant->graph->input_count && !taken; i++)
            taken = planner->arguments[i] && variant->graph->inputs[i] != value &&
                    strcmp(planner->arguments[i], name) == 0;
        for (int i = 0; i < variant->graph->result_count && planner->results && !taken; i++)
            taken = variant->graph->outputs[i]->base != value && strcmp(planner->results[i], name) == 0;
        for (int i = 0; i < planner->plan->program->tree->size_count && !taken; i++)
            taken = strcmp(planner->plan->program->tree->sizes[i].c_name, name) == 0;
        if (!taken && strcmp(name, c_argument(cx, name)) == 0)
            return name;
        name = round < 26 ? arena_format(&cx->arena, "%s_%c", stem, 'a' + round)
                          : arena_format(&cx->arena, "%s_%c%d", stem, 'a' + round % 26, round / 26);
    }
}

/* POLICY_GRADIENT_TRUNK_0_WEIGHT; underscores follow where another constant has that name. */
const char *planner_gradient_name(struct cx *cx, const struct plan *plan, struct names *taken,
                                  const struct module_tensor *tensor)
{
    const char *name = emitted_gradient(cx, tensor->path);

    while (names_add(&cx->arena, taken, name, "", tensor->loc))
        name = arena_format(&cx->arena, "%s_", name);
    return arena_format(&cx->arena, "%s_%s", spec_upper_c_name(cx, plan->model), name);
}

/* ---- functions of regions ---- */

const char *region_input(struct cx *cx, const struct value *input)
{
    return input->name ? c_argument(cx, input->name)
                       : arena_format(&cx->arena, "x%d", input->op->input.index);
}

const char *region_result(struct cx *cx, const struct graph *graph, const char *stem, int result)
{
    return graph->result_count == 1 ? stem : arena_format(&cx->arena, "%s%d", stem, result);
}

const char *region_slot(struct cx *cx, const struct graph *graph, const struct module_tensor *slot)
{
    return c_argument(cx, emitted_flat(cx, relative_path(graph->root, slot->path)));
}

/* "_to_x_mask": the inputs whose gradients it gives. */
static const char *wanted_words(struct cx *cx, const struct region *region)
{
    struct text words = text_new(&cx->arena);

    text_add(&words, "_to");
    for (int i = 0; i < region->graph->input_count; i++)
        if (region->wanted && region->wanted[i])
            text_printf(&words, "_%s", region_input(cx, region->graph->inputs[i]));
    return words.data;
}

/* "_4x64": the shape of its first input. */
static const char *shape_words(struct cx *cx, const struct region *region)
{
    const struct value *input = region->graph->input_count > 0 ? region->graph->inputs[0] : NULL;
    struct text words = text_new(&cx->arena);

    for (int i = 0; input && i < input->ndim; i++) {
        text_add(&words, i ? "x" : "_");
        for (const char *c = dim_text(&cx->arena, input->dims[i]); *c; c++)
            if (isalnum((unsigned char)*c) || *c == '_')
                text_printf(&words, "%c", *c);
    }
    return words.data;
}

static bool is_function(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->variant_count; i++)
        if (strcmp(plan->variants[i]->function, name) == 0)
            return true;
    return false;
}

const char *planner_region_function(struct cx *cx, const struct plan *plan, const struct region *region)
{
    const struct graph *graph = region->graph;
    struct arena *arena = &cx->arena;
    const char *kind = arena_format(arena, "%s%s%s", graph->training ? "train" : "eval",
                                    region->plain ? "_saving" : "", graph->fenced ? "_fenced" : "");
    const char *more[] = {"", region->plain ? wanted_words(cx, region) : "",
                          arena_format(arena, "_%s", region->entry), shape_words(cx, region)};
    const char *stem = region->name, *name = arena_format(arena, "%s_%s", stem, kind);

    for (size_t i = 1; is_function(plan, name) && i < sizeof more / sizeof *more; i++) {
        stem = arena_format(arena, "%s%s", stem, more[i]);
        name = arena_format(arena, "%s_%s", stem, kind);
    }
    for (int round = 2; is_function(plan, name); round++)
        name = arena_format(arena, "%s_%d_%s", stem, round, kind);
    return name;
}
