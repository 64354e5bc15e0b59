/* plan.c - chooses algorithms, places every value and lays out the workspace of every variant. */
#include "plan/plan.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/names.h"
#include "commands/options.h"
#include "module/training.h"
#include "passes/pass.h"
#include "plan/algorithm.h"
#include "plan/cost.h"
#include "plan/kernel.h"
#include "plan/plan_join.h"
#include "plan/plan_order.h"
#include "plan/plan_pack.h"
#include "plan/plan_place.h"
#include "plan/target.h"
#include "spec/emitted.h"

int64_t plan_aligned(const struct plan *plan, int64_t bytes)
{
    return (bytes + plan->align - 1) / plan->align * plan->align;
}

/* ---- names ------------------------------------------------------------------------------------------------ */

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
        "p",         "k",        "s",     "ws",    "net",       "status",  "i",      "in",   "out",
        "buffers",   "sizes",    "dims",  "index", "inputs",    "outputs", "params", "base", "float_mode",
        "gradients", "training", "zeros", "given", "optimizer", "memcpy",  "memset"};

    static const char *const endings[] = {"_slots", "_call",
                                          "_shadow"}; /* of what the fenced variant has by module */
    bool taken = false;

    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        taken |= strcmp(locals[i], name) == 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        taken |= strlen(name) > strlen(endings[i]) &&
                 strcmp(name + strlen(name) - strlen(endings[i]), endings[i]) == 0;
    return taken ? arena_format(&cx->arena, "%s_", name) : spec_c_name(cx, name);
}

/* Identifiers in functions and in kernels: what a template calls something gets an underscore. */
static void name_sizes(struct cx *cx, struct program *program)
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

const char *relative_path(const struct module *root, const char *path)
{
    size_t length = strlen(root->path);

    if (length > 0 && strncmp(path, root->path, length) == 0 && (path[length] == '.' || !path[length]))
        return path + length + (path[length] == '.');
    return path;
}

/* ---- memory of a value ------------------------------------------------------------------------------------ */

static int64_t value_bytes(const struct value *value)
{
    int64_t bytes = dtype_rows[value->dtype].bytes;

    for (int i = 0; i < value->ndim; i++)
        if (__builtin_mul_overflow(bytes, dim_upper(value->dims[i]), &bytes))
            return INT64_MAX;
    return bytes;
}

/* What is made of a value that is too large is not said as well. */
static bool check_size(struct cx *cx, const struct value *value)
{
    bool follows = false;

    if (value_bytes(value) / dtype_rows[value->dtype].bytes <= INT32_MAX)
        return true;
    for (int i = 0; i < value->op->input_count; i++)
        follows |= value_bytes(value->op->inputs[i]) / dtype_rows[value->op->inputs[i]->dtype].bytes >
                   INT32_MAX;
    if (follows)
        return false;
    diag_error(cx, value->loc, "a value of shape %s has more than 2**31 elements at the maxima of its sizes",
               shape_text(&cx->arena, value->ndim, value->dims));
    return false;
}

/* ---- one variant ------------------------------------------------------------------------------------------ */

struct planner {
    struct cx *cx;
    struct plan *plan;
    struct variant *variant;
    int *last_use;   /* by value id: of what owns memory, the step that reads it last */
    int64_t *change; /* by step: how many bytes more are live than in the step before */
    const char **arguments,
        **results; /* the names in C of the graph's inputs and, but in regions, of its results */
};

static bool is_step(const struct op *op)
{
    return op->code != GRAPH_OP_INPUT && op->code != GRAPH_OP_TENSOR && op->code != GRAPH_OP_CONST &&
           op->code != GRAPH_OP_VIEW && op->code != GRAPH_OP_GRADIENT;
}

const char *plan_forced(const struct cx *cx, enum op_code code)
{
    const struct options *options = cx->options;
    size_t length = strlen(op_rows[code]->name);

    for (int i = 0; options && i < options->plan_count; i++)
        if (strncmp(options->plans[i], op_rows[code]->name, length) == 0 && options->plans[i][length] == '=')
            return options->plans[i] + length + 1;
    return NULL;
}

/* Where a packed value lives: with the model or region that the variant belongs to or, where all that it is made of is
 * in one instance of a region's class, with that instance. */
struct home {
    struct pack_group *group;
    const struct module *root;
    const char *inside; /* "blocks[3]." */
};

static struct home find_home(struct planner *planner, const struct value *value);

const struct packed *step_packed(const struct step *step, int input)
{
    return step->packed ? step->packed[input].entry : NULL;
}

/* Of the weight's outputs, each padded apart. */
static int weight_groups(const struct op *op)
{
    return op->code == GRAPH_OP_CONV        ? op->window.groups
           : op->code == GRAPH_OP_RECURRENT ? recurrent_gates(op->recurrent.kind)
                                            : 1;
}

static struct packing weight_packing(const struct planner *planner, const struct op *op,
                                     const struct algorithm *row)
{
    const struct graph *graph = planner->variant->graph;

    return (struct packing){.format = row->weight,
                            .dtype = op_is_narrow(graph, op) ? graph->program->tree->storage
                                                             : op->inputs[1]->dtype,
                            .n_axis = op->code == GRAPH_OP_CONTRACT ? 1 : 0,
                            .groups = row->weight == PACKED_PANELS ? weight_groups(op) : 1,
                            .woven = row->weight == PACKED_PANELS && op->code == GRAPH_OP_RECURRENT};
}

/* The weight is wanted by rows, as the parameter has them. */
static bool reads_parameter(const struct planner *planner, const struct op *op, const struct algorithm *row)
{
    const struct value *weight = op->inputs[1];

    return row->weight == PACKED_ROWS && weight->base->op->code == GRAPH_OP_TENSOR &&
           dim_equals(weight->strides[0], 1) && !op_is_narrow(planner->variant->graph, op);
}

/* Whether another op needs the op's weight packed as this algorithm wants it. */
static bool is_packed_already(struct planner *planner, const struct op *op, const struct algorithm *row)
{
    struct home home = find_home(planner, op->inputs[1]);

    return pack_find(planner->cx, home.group, home.root, weight_packing(planner, op, row), op->inputs[1]);
}

static bool is_output(const struct graph *graph, const struct value *base, int *index)
{
    for (int i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i]->base == base) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* A fenced variant runs only while hooks do; gradients of inputs are for callers of backward, not for a step of training. */
static bool is_seldom_run(const struct planner *planner, const struct op *op)
{
    const struct graph *graph = planner->variant->graph;
    int index = 0;

    return graph->fenced || (planner->plan->program->tree->training &&
                             is_output(graph, op->outputs[0]->base, &index) && index >= graph->result_count);
}

/* What is seldom run adds no packed weights of its own where it can read the parameter: every step would pack them. */
static bool adds_packed(struct planner *planner, const struct op *op, const struct algorithm *row)
{
    struct value *weight = op->code == GRAPH_OP_CONTRACT ? op->inputs[1] : NULL;

    if (!weight || row->weight == PACKED_NONE || !is_seldom_run(planner, op))
        return false;
    if (reads_parameter(planner, op, row))
        return false;
    return !is_packed_already(planner, op, row);
}

/* Weights of 16 or 36 planes are made for the fused forward in eval mode alone; what else has the same weights uses them. */
static bool is_worth_packing(struct planner *planner, const struct op *op, const struct algorithm *row)
{
    const struct graph *graph = planner->variant->graph;

    return winograd_side(row->weight) == 0 || (!graph->fenced && !graph->training) ||
           is_packed_already(planner, op, row);
}

static const struct algorithm *choose(struct planner *planner, const struct op *op)
{
    const char *wish = plan_forced(planner->cx, op->code);
    const struct algorithm *best = NULL;
    bool best_adds = false;

    for (int i = 0; i < algorithm_count; i++) {
        const struct algorithm *row = &algorithms[i];
        bool adds;

        if (row->op != op->code || !row->fits(planner->variant->graph, op))
            continue;
        if (wish && strcmp(row->name, wish) == 0)
            return row;
        if (!is_worth_packing(planner, op, row))
            continue;
        adds = adds_packed(planner, op, row);
        if (!best || (best_adds && !adds) || (adds == best_adds && row->cost(op) < best->cost(op))) {
            best = row;
            best_adds = adds;
        }
    }
    return best;
}

/* ---- threads ---- */

/* How the step is dealt out. A loop nest has tiles of some cache lines. */
static struct split split_step(struct planner *planner, const struct step *step)
{
    const struct op *op = step->op;
    const struct value *y = op->code == GRAPH_OP_WRITE ? op->inputs[1]
                            : op->output_count > 0     ? op->outputs[0]
                                                       : NULL;
    int64_t tiles[SPLIT_AXES] = {0};
    int always = planner->cx->options ? planner->cx->options->split : 0;
    int threads = always > 0 ? always : planner->plan->program->tree->spec->threads;
    struct split split = {.slices = 1};

    if (threads < 2)
        return split;
    if (step->algorithm && step->algorithm->tiles)
        step->algorithm->tiles(op, tiles);
    else if (step->algorithm)
        return split;
    else if (op->code == GRAPH_OP_MAP || op->code == GRAPH_OP_WRITE || op->code == GRAPH_OP_REDUCE)
        tiles[SPLIT_ROWS] = value_bytes(y) / 256 + (always > 0 && y->ndim > 0);
    split = cost_split(op, step->algorithm, tiles, threads, always > 0);
    if (split.slices > 1)
        planner->plan->threads = threads;
    return split;
}

/* Whether it takes one of the rows of algorithms.c to compute the op, of which some row fits whatever is built. */
static bool needs_algorithm(enum op_code code)
{
    bool needs = false;

    for (int i = 0; i < algorithm_count; i++)
        needs |= algorithms[i].op == code;
    return needs;
}

static bool depends_on_buffers(const struct packed *entry)
{
    for (int i = 0; i < entry->operand_count; i++) {
        const struct op *op = entry->operands[i]->base->op;

        if (op->code == GRAPH_OP_TENSOR && op->tensor.tensor->kind == MODULE_BUFFER)
            return true;
        if (entry->operand_entries[i] && depends_on_buffers(entry->operand_entries[i]))
            return true;
    }
    return false;
}

static bool all_below(const struct value *value, const struct module *module)
{
    const struct op *op = value->base->op;
    size_t length = strlen(module->path);
    bool below = true;

    if (op->code == GRAPH_OP_TENSOR)
        return strncmp(op->tensor.tensor->path, module->path, length) == 0 &&
               op->tensor.tensor->path[length] == '.';
    for (int i = 0; i < op->input_count; i++)
        below &= all_below(op->inputs[i], module);
    return below;
}

static const struct value *any_tensor(const struct value *value)
{
    const struct op *op = value->base->op;

    if (op->code == GRAPH_OP_TENSOR)
        return value->base;
    for (int i = 0; i < op->input_count; i++) {
        const struct value *found = any_tensor(op->inputs[i]);

        if (found)
            return found;
    }
    return NULL;
}

/* Whether `module` of an instance is what `first` is of the group's representative. */
static bool same_place(const struct home *home, const struct module *first, const struct module *module)
{
    return strcmp(relative_path(home->group->root, first->path), relative_path(home->root, module->path)) ==
           0;
}

/* From a home to the instance of a class inside it that has the value; false: there is none. */
static bool enter_home(struct planner *planner, struct home *home, const struct value *value)
{
    const struct value *tensor = any_tensor(value);

    for (const struct module *module = tensor ? tensor->op->tensor.tensor->owner : NULL;
         module && module != home->root; module = module->parent) {
        for (int i = 0; module->signature && i < home->group->child_count; i++) {
            const struct pack_child *child = &home->group->children[i];
            bool array = child->count > 0;

            if (strcmp(child->group->root->signature, module->signature) != 0 || !all_below(value, module) ||
                !(array ? same_place(home, child->first->parent, module->parent)
                        : same_place(home, child->first, module)))
                continue;
            home->inside = array ? arena_format(&planner->cx->arena, "%s%s[%s].", home->inside, child->member,
                                                module->name)
                                 : arena_format(&planner->cx->arena, "%s%s.", home->inside, child->member);
            home->group = child->group;
            home->root = module;
            return true;
        }
    }
    return false;
}

static struct home find_home(struct planner *planner, const struct value *value)
{
    struct home home = {planner->variant->group, planner->variant->graph->root, ""};

    while (enter_home(planner, &home, value))
        ;
    return home;
}

static struct packed_at need_packed(struct planner *planner, struct packing packing, struct value *value)
{
    struct home home = find_home(planner, value);
    const struct packed *entry = pack_entry(planner->cx, home.group, home.root, packing, value);

    planner->variant->uses_packed = true;
    planner->variant->uses_buffers |= depends_on_buffers(entry);
    return (struct packed_at){entry, home.inside};
}

static void pack_input(struct planner *planner, struct step *step, int input, struct packing packing)
{
    step->packed[input] = need_packed(planner, packing, step->op->inputs[input]);
}

static bool in_place_dense(const struct value *value)
{
    return value->base->op->code == GRAPH_OP_TENSOR && value->ndim == 1 &&
           (dim_equals(value->strides[0], 1) || dim_equals(value->dims[0], 1));
}

/* Of so many groups, each padded apart. -1: there is none. What a call brings is read where it lies. */
static void pack_bias(struct planner *planner, struct step *step, int input, int groups)
{
    struct value *bias = input >= 0 ? step->op->inputs[input] : NULL;
    int64_t n = 0, panel;

    if (!bias || !value_is_static(planner->variant->graph, bias))
        return;
    panel = 64 / dtype_rows[bias->dtype].bytes;
    dim_is_const(bias->dims[0], &n);
    if (!in_place_dense(bias) || (step->algorithm->bias == PACKED_VECTOR && n / groups % panel != 0))
        pack_input(planner, step, input, (struct packing){PACKED_VECTOR, bias->dtype, 0, groups});
}

/* Weights and biases in the formats that the algorithm wants. */
static void pack_weights(struct planner *planner, struct step *step)
{
    const struct op *op = step->op;
    const struct algorithm *algorithm = step->algorithm;
    struct packing packing;
    int added;

    if (!algorithm || algorithm->weight == PACKED_NONE)
        return;
    step->packed = ARENA_ARRAY(&planner->cx->arena, op->input_count, struct packed_at);
    packing = weight_packing(planner, op, algorithm);
    if (!reads_parameter(planner, op, algorithm))
        pack_input(planner, step, 1, packing);
    pack_bias(planner, step, op_bias_at(op), packing.groups);
    added = op->code == GRAPH_OP_RECURRENT ? recurrent_at(op, RECURRENT_INPUT_WEIGHT) : -1;
    if (added < 0)
        return;
    pack_input(planner, step, added,
               (struct packing){PACKED_PANELS, op->inputs[added]->dtype, .n_axis = 1, .groups = 1});
    pack_bias(planner, step, recurrent_at(op, RECURRENT_INPUT_BIAS), 1);
}

/* The base value whose memory `value` shares: through boundaries and maps that work in place. */
static const struct value *memory_of(const struct variant *variant, const struct value *value)
{
    const struct value *base = value->base;

    while (variant->places[base->id].same)
        base = variant->places[base->id].same;
    return base;
}

static void set_last(struct variant *variant, const struct value *value, int step)
{
    struct place *place = &variant->places[memory_of(variant, value)->id];

    if (step > place->last)
        place->last = step;
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
static const char *local_name(struct planner *planner, const struct value *value)
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

static int gradient_index(const struct plan *plan, const struct module_tensor *tensor)
{
    int index = 0;

    while (plan->gradients[index] != tensor)
        index++;
    return index;
}

/* The input that output `index` of the graph is the gradient of. */
static const struct value *gradient_input(const struct graph *graph, int index)
{
    int before = 0;

    for (int i = graph->result_count; i < index; i++)
        before += graph->gradient_of[i - graph->result_count] == NULL;
    for (int i = 0; i < graph->input_count; i++)
        if (dtype_is_float(graph->inputs[i]->dtype) && !graph->inputs[i]->op->input.constant && before-- == 0)
            return graph->inputs[i];
    return NULL;
}

/* A gradient, output place->index of the graph: of a parameter, or of an input, which goes to the caller. */
static void place_gradient(struct planner *planner, struct place *place)
{
    const struct graph *graph = planner->variant->graph;

    place->tensor = graph->gradient_of[place->index - graph->result_count];
    if (place->tensor) {
        place->kind = PLACE_GRADIENT;
        place->index = gradient_index(planner->plan, place->tensor);
        place->name = planner->plan->gradient_names[place->index];
    } else {
        place->kind = PLACE_OUTPUT;
        place->name = c_gradient(planner->cx, graph, gradient_input(graph, place->index)->name, false);
    }
}

/* Whether the kernel that reads operand `index` is a map over it. */
static bool is_mapped(const struct op *op, int index)
{
    return op->code == GRAPH_OP_MAP || op->code == GRAPH_OP_CONCAT ||
           (op->code == GRAPH_OP_WRITE && index > 1) || (op->code == GRAPH_OP_SCATTER && index == 0);
}

/* A constant of equal elements that is a number wherever it is read, and need not lie anywhere. */
static bool is_number(const struct graph *graph, const struct value *base)
{
    const struct tensor *tensor = base->constant;
    int64_t count = tensor ? tensor_count(tensor) : 0;
    int index;

    if (count == 0 || base->dtype == DTYPE_COMPLEX64 || is_output(graph, base, &index))
        return false;
    for (int64_t i = 1; i < count; i++)
        if (memcmp(&tensor->data[i], &tensor->data[0], sizeof tensor->data[0]) != 0)
            return false;
    for (int i = 0; i < graph->op_count; i++)
        for (int j = 0; j < graph->ops[i]->input_count; j++)
            if (graph->ops[i]->inputs[j]->base == base && !is_mapped(graph->ops[i], j))
                return false;
    return true;
}

/* Where a base value lies; workspace offsets and names come later. */
static void place_value(struct planner *planner, struct value *value)
{
    struct variant *variant = planner->variant;
    struct place *place = &variant->places[value->id];
    struct op *op = value->op;

    if (value->base != value || place->kind != PLACE_NONE)
        return;
    switch (op->code) {
    case GRAPH_OP_INPUT:
        place->kind = PLACE_INPUT;
        place->index = op->input.index;
        place->name = value->name ? c_argument(planner->cx, value->name)
                                  : arena_format(&planner->cx->arena, "x%d", op->input.index);
        return;
    case GRAPH_OP_TENSOR:
        place->tensor = op->tensor.tensor;
        place->kind = place->tensor->kind == MODULE_STATE ? PLACE_STATE : PLACE_TENSOR;
        return;
    case GRAPH_OP_CONST:
        place->kind = is_number(variant->graph, value) ? PLACE_NUMBER : PLACE_CONST;
        if (place->kind == PLACE_CONST)
            place->name = plan_constant(planner->cx, planner->plan, value);
        return;
    case GRAPH_OP_WRITE:
        *place = variant->places[op->inputs[0]->base->id];
        place->same = op->inputs[0]->base;
        return;
    case GRAPH_OP_YIELD:
        place->kind = PLACE_INPUT;
        place->name = c_gradient(planner->cx, variant->graph, value->name, true);
        return;
    case GRAPH_OP_UPDATE:
        place->kind = PLACE_TENSOR;
        place->tensor = op->gradient.tensor;
        place->index = gradient_index(planner->plan, place->tensor);
        place->name = planner->plan->gradient_names[place->index];
        return;
    case GRAPH_OP_GRADIENT:
        place->kind = op->gradient.present ? PLACE_PRESENT : PLACE_GRADIENT;
        place->tensor = op->gradient.tensor;
        place->index = gradient_index(planner->plan, op->gradient.tensor);
        place->name = planner->plan->gradient_names[place->index];
        return;
    case GRAPH_OP_FENCE:
        place->kind = PLACE_FENCE;
        place->index = -1;
        place->same = op->inputs[value->result]->base;
        return;
    default:
        break;
    }
    if (value->prepared) {
        place->kind = PLACE_PACKED;
        place->packed = need_packed(planner, (struct packing){PACKED_DENSE, value->dtype, -1, 1}, value);
        return;
    }
    if (is_output(variant->graph, value, &place->index) && place->index >= variant->graph->result_count) {
        place_gradient(planner, place);
        return;
    }
    if (is_output(variant->graph, value, &place->index)) {
        place->kind = PLACE_OUTPUT;
        place->name = variant->graph->region ? (variant->graph->output_count == 1
                                                    ? "y"
                                                    : arena_format(&planner->cx->arena, "y%d", place->index))
                                             : c_output(planner->cx, variant->graph, place->index);
        return;
    }
    place->kind = PLACE_WORKSPACE;
    place->bytes = plan_aligned(planner->plan, value_bytes(value));
}

/* A map may write over an operand that dies there and has its very dims. */
static void reuse_operand(struct planner *planner, struct op *op, int step)
{
    struct variant *variant = planner->variant;
    struct value *out = op->outputs[0];
    struct place *place = &variant->places[out->id];

    if (op->code != GRAPH_OP_MAP || variant->graph->fenced || place->kind != PLACE_WORKSPACE)
        return;
    for (int i = 0; i < op->input_count; i++) {
        struct value *input = op->inputs[i];
        const struct value *memory = memory_of(variant, input);
        bool alone = true;

        if (input->base != input || variant->places[memory->id].kind != PLACE_WORKSPACE ||
            planner->last_use[memory->id] != step || input->dtype != out->dtype || !dims_equal(input, out))
            continue;
        for (int j = 0; j < op->input_count; j++)
            alone &= j == i || memory_of(variant, op->inputs[j]) != memory;
        if (alone) {
            place->same = memory;
            return;
        }
    }
}

static struct pack_group *find_group(const struct plan *plan, const struct module *root)
{
    for (int i = 1; i < plan->group_count; i++)
        if (strcmp(plan->groups[i]->root->signature, root->signature) == 0)
            return plan->groups[i];
    return NULL;
}

/* The instances of a region inside the packed struct of what calls it. */
static void add_child_group(struct planner *planner, const struct op *op, struct pack_group *group)
{
    struct pack_group *own = planner->variant->group;
    const struct module *instance = op->invoke.instance, *first = instance;
    const char *member;
    int count = 0;

    if (instance->array) {
        const struct module *list = instance->parent;

        member = emitted_flat(planner->cx, relative_path(own->root, list->path));
        first = list->children[0];
        count = list->child_count;
    } else {
        member = emitted_flat(planner->cx, relative_path(own->root, instance->path));
    }
    for (int i = 0; i < own->child_count; i++)
        if (strcmp(own->children[i].member, member) == 0)
            return;
    ARENA_PUSH(&planner->cx->arena, own->children, own->child_count,
               ((struct pack_child){member, group, first, count, 0}));
}

bool plan_uses(const struct plan *plan, enum packed_format format)
{
    for (int g = 0; g < plan->group_count; g++)
        for (int i = 0; i < plan->groups[g]->entry_count; i++)
            if (plan->groups[g]->entries[i]->format == format)
                return true;
    return false;
}

const struct variant *plan_variant(const struct plan *plan, const struct graph *graph)
{
    for (int i = 0; i < plan->variant_count; i++)
        if (plan->variants[i]->graph == graph)
            return plan->variants[i];
    return NULL;
}

/* What a step works in beside its values: the second buffer of a loop over regions, or what its algorithm asks for. */
static int64_t scratch_bytes(const struct plan *plan, const struct step *step)
{
    if (step->op->code == GRAPH_OP_CALL)
        return step->op->invoke.count > 1 ? plan_aligned(plan, value_bytes(step->op->outputs[0])) : 0;
    return step->algorithm && step->algorithm->scratch
               ? plan_aligned(plan, step->algorithm->scratch(step->op) * step->split.slices)
               : 0;
}

static void add_interval(struct planner *planner, const char *what, const struct op *op, int64_t bytes,
                         int first, int last, int64_t *to)
{
    struct variant *variant = planner->variant;

    ARENA_PUSH(&planner->cx->arena, variant->intervals, variant->interval_count,
               ((struct interval){what, op, 0, bytes, first, last, to}));
}

/* What the results of a step are written to, each once, and in its first step alone; NULL: nothing of the kind. */
static struct place *own_place(const struct variant *variant, int s, int output)
{
    const struct op *op = variant->steps[s].op;
    struct place *place = &variant->places[op->outputs[output]->base->id];

    for (int j = 0; j < output; j++)
        if (op->outputs[j]->base == op->outputs[output]->base)
            return NULL;
    return place->kind == PLACE_WORKSPACE && !place->same && place->bytes > 0 && place->first == s ? place
                                                                                                   : NULL;
}

/* ---- lives: from the first step that writes a value to the last that reads it ---- */

/* Which maps work in place, and when everything in the workspace is live. */
static void find_lives(struct planner *planner)
{
    struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;
    int *last_use = planner->last_use;

    for (int i = 0; i < graph->value_count; i++) {
        struct place *place = &variant->places[i];

        last_use[i] = 0;
        if (place->kind == PLACE_WORKSPACE || place->kind == PLACE_NONE)
            place->same = NULL;
        place->first = place->last = -1;
    }
    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;

        for (int j = 0; j < op->output_count; j++) {
            struct place *place = &variant->places[op->outputs[j]->base->id];

            if (place->first < 0)
                place->first = s;
        }
        for (int j = 0; j < op->input_count; j++) /* through aliases */
            last_use[memory_of(variant, op->inputs[j])->id] = s;
    }
    for (int s = 0; s < variant->step_count; s++) {
        struct op *op = variant->steps[s].op;
        const struct value *memory;

        if (op->output_count != 1)
            continue;
        reuse_operand(planner, op, s);
        memory = memory_of(variant, op->outputs[0]);
        if (last_use[op->outputs[0]->id] > last_use[memory->id])
            last_use[memory->id] = last_use[op->outputs[0]->id];
    }
    for (int s = 0; s < variant->step_count; s++) {
        struct op *op = variant->steps[s].op;

        for (int j = 0; j < op->input_count; j++)
            set_last(variant, op->inputs[j], s);
        for (int j = 0; j < op->output_count; j++)
            set_last(variant, op->outputs[j], s);
    }
    for (int i = 0; i < graph->output_count; i++)
        set_last(variant, graph->outputs[i], variant->step_count - 1);
}

/* What a step needs beside its values: what the region that it calls works in, and its scratch. */
static int64_t step_bytes(const struct plan *plan, const struct step *step)
{
    const struct op *op = step->op;

    return scratch_bytes(plan, step) +
           (op->code == GRAPH_OP_CALL ? plan_variant(plan, op->invoke.region->graph)->peak : 0);
}

/* Zeros for gradients of results that are left out, where there are several: as long as any is read. False: there are none. */
static bool find_zeros(const struct planner *planner, int64_t *bytes, int *last)
{
    const struct variant *variant = planner->variant;
    const struct op *op = variant->yield >= 0 ? variant->steps[variant->yield].op : NULL;

    *bytes = 0;
    *last = variant->yield;
    for (int j = 0; op && op->output_count > 1 && j < op->output_count; j++) {
        int64_t own = plan_aligned(planner->plan, value_bytes(op->outputs[j]));
        int end = planner->last_use[op->outputs[j]->id];

        *bytes = own > *bytes ? own : *bytes;
        *last = end > *last ? end : *last;
    }
    return *bytes > 0;
}

/* The liveness bound of the lives that find_lives found; shadows, which are always live, left out. */
static struct load live_bytes(struct planner *planner)
{
    const struct variant *variant = planner->variant;
    struct load load = {0, 0, 0};
    int64_t live = 0, zeros;
    int last;

    memset(planner->change, 0, (size_t)(variant->step_count + 1) * sizeof *planner->change);
    if (find_zeros(planner, &zeros, &last)) {
        planner->change[variant->yield] += zeros;
        planner->change[last + 1] -= zeros;
    }
    for (int s = 0; s < variant->step_count; s++) {
        for (int j = 0; j < variant->steps[s].op->output_count; j++) {
            const struct place *place = own_place(variant, s, j);

            if (place) {
                planner->change[s] += place->bytes;
                planner->change[place->last + 1] -= place->bytes;
            }
        }
    }
    for (int s = 0; s < variant->step_count; s++) {
        int64_t bytes = step_bytes(planner->plan, &variant->steps[s]);

        live += planner->change[s];
        load.sum += live + bytes;
        if (live + bytes <= load.most)
            continue;
        load.most = live + bytes;
        load.at = s;
    }
    return load;
}

static struct load measure(void *data)
{
    find_lives(data);
    return live_bytes(data);
}

/* ---- joins: what is made where a concatenation or a copy wants it ---- */

static void take_place(struct variant *variant, const struct joined *joined, bool own)
{
    variant->places[joined->value->id].kind = own ? PLACE_WORKSPACE : PLACE_NONE;
}

static int find_yield(const struct variant *variant)
{
    for (int s = 0; s < variant->step_count; s++)
        if (variant->steps[s].op->code == GRAPH_OP_YIELD)
            return s;
    return -1;
}

/* A result that backward reads too is kept: the caller may write over his. */
static bool is_kept(const struct variant *variant, const struct op *join, int input)
{
    const struct value *value = value_root(join->inputs[input]);

    if (variant->yield < 0 || variant->places[join->outputs[0]->base->id].kind != PLACE_OUTPUT)
        return false;
    for (int s = variant->yield + 1; s < variant->step_count; s++)
        for (int j = 0; j < variant->steps[s].op->input_count; j++)
            if (value_root(variant->steps[s].op->inputs[j]) == value)
                return true;
    return false;
}

/* Makes operands [first, end) of the join in its result, those of which that can be, unless the bound becomes higher. */
static bool join_operands(struct planner *planner, struct op *op, int first, int end, int64_t *bound)
{
    struct variant *variant = planner->variant;
    struct joined *list = NULL;
    int count = 0;
    int64_t found;

    for (int i = first; i < end; i++) {
        struct joined joined;

        if (is_kept(variant, op, i) || !join_apply(planner->cx, variant, op, i, &joined))
            continue;
        take_place(variant, &joined, false);
        ARENA_PUSH(&planner->cx->arena, list, count, joined);
    }
    if (count == 0)
        return false;
    found = measure(planner).most;
    if (found <= *bound) {
        *bound = found;
        return true;
    }
    while (count-- > 0) {
        join_undo(&list[count]);
        take_place(variant, &list[count], true);
    }
    return false;
}

static bool is_step_left(struct planner *planner, const struct step *step)
{
    if (!op_is_join(step->op))
        return true;
    for (int i = 0; i < step->op->input_count; i++)
        if (!join_is_done(&planner->cx->arena, step->op, i))
            return true;
    return false;
}

/* See note [joins]. A join may make room for others. */
static void join_all(struct planner *planner)
{
    struct variant *variant = planner->variant;
    int kept = 0;
    bool again = !variant->graph->fenced;
    int64_t bound;

    variant->yield = find_yield(variant);
    bound = measure(planner).most;
    for (int round = 0; again && round < 3; round++) {
        again = false;
        for (int i = variant->step_count - 1; i >= 0; i--) {
            struct op *op = variant->steps[i].op;

            if (!op_is_join(op))
                continue;
            if (join_operands(planner, op, 0, op->input_count, &bound)) {
                again = true;
                continue;
            }
            for (int j = op->input_count - 1; j >= 0 && op->input_count > 1; j--)
                again |= join_operands(planner, op, j, j + 1, &bound);
        }
    }
    for (int s = 0; s < variant->step_count; s++)
        if (is_step_left(planner, &variant->steps[s]))
            variant->steps[kept++] = variant->steps[s];
    variant->step_count = kept;
    variant->yield = find_yield(variant);
    find_lives(planner);
}

/* The last step that checks elements, or -1. */
static int last_check(const struct variant *variant)
{
    int last = -1;

    for (int s = 0; s < variant->step_count; s++)
        if (variant->steps[s].op->code == GRAPH_OP_CHECK)
            last = s;
    return last;
}

/* Which gradient a step is for: the one that all that read its results are for. */
static void find_guards(struct planner *planner)
{
    struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;
    enum { NOBODY = -2, SEVERAL = -1 };
    int *own; /* by value */

    variant->guards = ARENA_ARRAY(&planner->cx->arena, variant->step_count + 1, int);
    own = ARENA_ARRAY(&planner->cx->arena, graph->value_count + 1, int);
    for (int i = 0; i < graph->value_count; i++)
        own[i] = NOBODY;
    for (int i = graph->result_count; i < graph->output_count; i++)
        own[graph->outputs[i]->base->id] = i;
    for (int s = variant->step_count - 1; s >= 0; s--) {
        const struct op *op = variant->steps[s].op;
        int guard = NOBODY;

        for (int j = 0; j < op->output_count; j++) {
            int reader = own[op->outputs[j]->base->id];

            guard = reader == NOBODY ? guard : guard == NOBODY || guard == reader ? reader : SEVERAL;
        }
        if (s <= variant->yield || variant->yield < 0 || guard == NOBODY || op->code == GRAPH_OP_FENCE)
            guard = SEVERAL;
        variant->guards[s] = guard;
        for (int j = 0; j < op->input_count; j++) {
            int *reader = &own[op->inputs[j]->base->id];

            *reader = *reader == NOBODY || *reader == guard ? guard : SEVERAL;
        }
    }
}

/* A hook may leave a value anywhere: pointers to those of forward that backward reads. */
static void place_kept(struct planner *planner)
{
    enum { POINTER = 8 }; /* at most */
    struct variant *variant = planner->variant;
    int64_t bytes;

    for (int s = variant->yield + 1; s < variant->step_count && variant->yield >= 0; s++) {
        const struct op *op = variant->steps[s].op;

        for (int j = 0; j < op->input_count; j++) {
            struct place *place = &variant->places[op->inputs[j]->base->id];

            if (place->kind == PLACE_FENCE && place->index < 0 && place->first < variant->yield)
                place->index = variant->kept_count++;
        }
    }
    if (variant->kept_count == 0)
        return;
    bytes = plan_aligned(planner->plan, variant->kept_count * POINTER);
    add_interval(planner, "kept", NULL, bytes, 0, variant->step_count - 1, &variant->kept_offset);
    variant->bound += bytes;
}

static bool plan_one(struct cx *cx, struct plan *plan, struct graph *graph, const struct entry *entry,
                     const char *function)
{
    struct variant *variant = ARENA_NEW(&cx->arena, struct variant);
    struct planner planner = {cx,
                              plan,
                              variant,
                              ARENA_ARRAY(&cx->arena, graph->value_count + 1, int),
                              ARENA_ARRAY(&cx->arena, graph->op_count + 2, int64_t),
                              ARENA_ARRAY(&cx->arena, graph->input_count + 1, const char *),
                              graph->region ? NULL
                                            : ARENA_ARRAY(&cx->arena, graph->result_count + 1, const char *)};
    bool fine = true;
    int zeros_last;

    for (int i = 0; i < graph->input_count; i++)
        planner.arguments[i] = graph->inputs[i]->name ? c_argument(cx, graph->inputs[i]->name) : NULL;
    for (int i = 0; planner.results && i < graph->result_count; i++)
        planner.results[i] = c_output(cx, graph, i);
    variant->graph = graph;
    variant->entry = entry;
    variant->function = function;
    variant->yield = -1;
    variant->group = graph->region ? find_group(plan, graph->root) : plan->groups[0];
    variant->places = ARENA_ARRAY(&cx->arena, graph->value_count + 1, struct place);
    variant->steps = ARENA_ARRAY(&cx->arena, graph->op_count + 1, struct step);
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        struct step *step = &variant->steps[variant->step_count];

        for (int j = 0; j < op->output_count; j++)
            fine &= check_size(cx, op->outputs[j]);
        if (!is_step(op))
            continue;
        step->op = op;
        step->region_offset = step->scratch_offset = -1;
        variant->step_count++;
    }
    if (!fine)
        return false;

    for (int s = 0; s < variant->step_count; s++) { /* before weights look for their home */
        const struct op *op = variant->steps[s].op;

        if (op->code == GRAPH_OP_CALL)
            add_child_group(&planner, op, plan_variant(plan, op->invoke.region->graph)->group);
    }

    /* inputs, tensors and constants; then each step's own values */
    for (int i = 0; i < graph->pack_count; i++)
        if (!is_step(graph->pack_ops[i]) && graph->pack_ops[i]->code != GRAPH_OP_CONST)
            place_value(&planner, graph->pack_ops[i]->outputs[0]);
    for (int i = 0; i < graph->op_count; i++)
        if (!is_step(graph->ops[i]))
            place_value(&planner, graph->ops[i]->outputs[0]);
    for (int s = 0; s < variant->step_count; s++) {
        struct step *step = &variant->steps[s];
        struct op *op = step->op;

        step->algorithm = choose(&planner, op);
        fine = step->algorithm || !needs_algorithm(op->code);
        assert(fine);
        step->split = split_step(&planner, step);
        pack_weights(&planner, step);
        for (int j = 0; j < op->input_count;
             j++) { /* constants and prepared values that are read as they are */
            struct value *base = op->inputs[j]->base;

            if (!step_packed(step, j) && (base->prepared || base->op->code == GRAPH_OP_CONST))
                place_value(&planner, base);
        }
        for (int j = 0; j < op->output_count; j++)
            place_value(&planner, op->outputs[j]);
        if (op->code == GRAPH_OP_WRITE && op->write.tensor->kind != MODULE_STATE) {
            variant->writes_buffers = true;
            variant->outdates_packed |= tensor_changes_in_training(op->write.tensor);
        }
        if (op->code != GRAPH_OP_CALL)
            variant->macs += op_macs(op);
    }

    join_all(&planner);
    if (variant->yield >= 0 && !graph->fenced) {
        order_steps(cx, variant, measure, &planner);
        join_all(&planner);
    }
    for (int s = 0; s < variant->step_count; s++) {
        for (int j = 0; j < variant->steps[s].op->output_count; j++) {
            struct value *base = variant->steps[s].op->outputs[j]->base;
            struct place *place = &variant->places[base->id];

            if ((place->kind == PLACE_WORKSPACE || place->kind == PLACE_FENCE) && !place->name)
                place->name = local_name(&planner, base);
        }
    }
    variant->fails = graph->fenced || last_check(variant) >= 0;

    /* shadows of slots that are written before the call may end: it must be able to fail without a trace */
    for (int s = 0; s < (graph->fenced ? variant->step_count : last_check(variant)); s++) {
        struct module_tensor *tensor = variant->steps[s].op->code == GRAPH_OP_WRITE
                                           ? variant->steps[s].op->write.tensor
                                           : NULL;

        for (int i = 0; tensor && i < variant->shadow_count; i++)
            if (variant->shadows[i] == tensor)
                tensor = NULL;
        if (tensor)
            ARENA_PUSH(&cx->arena, variant->shadows, variant->shadow_count, tensor);
    }

    /* intervals: values, shadows, regions, scratch */
    for (int s = 0; s < variant->step_count; s++) {
        for (int j = 0; j < variant->steps[s].op->output_count; j++) {
            struct place *place = own_place(variant, s, j);

            if (place)
                add_interval(&planner, place->name, variant->steps[s].op->outputs[j]->base->op, place->bytes,
                             s, place->last, &place->offset);
        }
    }
    variant->shadow_offsets = ARENA_ARRAY(&cx->arena, variant->shadow_count + 1, int64_t);
    variant->bound = live_bytes(&planner).most;
    find_guards(&planner);
    if (find_zeros(&planner, &variant->zeros_bytes, &zeros_last))
        add_interval(&planner, "zeros", variant->steps[variant->yield].op, variant->zeros_bytes,
                     variant->yield, zeros_last, &variant->zeros_offset);
    place_kept(&planner);
    for (int i = 0; i < variant->shadow_count; i++) {
        int64_t bytes = plan_aligned(plan, module_tensor_count(variant->shadows[i]) *
                                               dtype_rows[variant->shadows[i]->dtype].bytes);

        add_interval(&planner, variant->shadows[i]->path, NULL, bytes, 0, variant->step_count - 1,
                     &variant->shadow_offsets[i]);
        variant->bound += bytes;
    }
    for (int s = 0; s < variant->step_count; s++) {
        struct step *step = &variant->steps[s];
        const struct op *op = step->op;
        int64_t scratch = scratch_bytes(plan, step);

        if (op->code == GRAPH_OP_CALL) {
            const struct variant *region = plan_variant(plan, op->invoke.region->graph);

            variant->uses_packed |= region->uses_packed;
            variant->uses_buffers |= region->uses_buffers;
            variant->writes_buffers |= region->writes_buffers;
            variant->outdates_packed |= region->outdates_packed;
            variant->macs += region->macs * op->invoke.count;
            if (region->peak > 0)
                add_interval(&planner, region->function, op, region->peak, s, s, &step->region_offset);
        }
        if (scratch > 0)
            add_interval(&planner, op->code == GRAPH_OP_CALL ? "second buffer" : "scratch", op, scratch, s, s,
                         &step->scratch_offset);
    }
    variant->peak = place_intervals(cx, variant->intervals, variant->interval_count, variant->bound);
    for (int i = 0; i < variant->interval_count; i++)
        *variant->intervals[i].to = variant->intervals[i].offset;
    for (int i = 0; i < graph->value_count; i++) {
        struct place *place = &variant->places[i];

        if (place->kind == PLACE_WORKSPACE && place->same) {
            const struct value *memory = place->same;

            while (variant->places[memory->id].same)
                memory = variant->places[memory->id].same;
            place->offset = variant->places[memory->id].offset;
        }
    }
    ARENA_PUSH(&cx->arena, plan->variants, plan->variant_count, variant);
    return true;
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

static void lay_out_tensors(struct cx *cx, struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    struct text text = text_new(&cx->arena);

    plan->param_offsets = ARENA_ARRAY(&cx->arena, tree->key_count + 1, int64_t);
    plan->state_offsets = ARENA_ARRAY(&cx->arena, tree->state_count + 1, int64_t);
    for (int i = 0; i < tree->key_count; i++) {
        const struct module_tensor *tensor = tree->keys[i], *first = tensor->first;

        text_printf(&text, "%s %s", tensor->path, dtype_rows[tensor->dtype].name);
        for (int d = 0; d < tensor->ndim; d++)
            text_printf(&text, " %lld", (long long)tensor->dims[d]);
        if (first == tensor) {
            plan->param_offsets[i] = plan->param_bytes;
            plan->param_bytes += plan_aligned(plan,
                                              module_tensor_count(tensor) * dtype_rows[tensor->dtype].bytes);
        } else {
            plan->param_offsets[i] = plan->param_offsets[first->key];
            text_printf(&text, " as %s", first->path);
        }
        text_add(&text, "\n");
    }
    for (int i = 0; i < tree->state_count; i++) {
        plan->state_offsets[i] = plan->state_bytes;
        plan->state_bytes += plan_aligned(plan, module_tensor_count(tree->states[i]) > 0
                                                    ? module_tensor_count(tree->states[i]) *
                                                          dtype_rows[tree->states[i]->dtype].bytes
                                                    : 1);
    }
    plan->schema = text_hash(text.data, text.length);
}

/* POLICY_GRADIENT_TRUNK_0_WEIGHT; underscores follow where another constant has that name. */
static const char *gradient_name(struct cx *cx, const struct plan *plan, struct names *taken,
                                 const struct module_tensor *tensor)
{
    const char *name = emitted_gradient(cx, tensor->path);

    while (names_add(&cx->arena, taken, name, "", tensor->loc))
        name = arena_format(&cx->arena, "%s_", name);
    return arena_format(&cx->arena, "%s_%s", spec_upper_c_name(cx, plan->model), name);
}

/* Those of parameters that are trained, each once. */
static void lay_out_gradients(struct cx *cx, struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    struct names taken = {0};
    const bool kept = !tree->spec->fused;
    int named = 0;

    for (int i = 0; emitted_constants[i]; i++)
        names_add(&cx->arena, &taken, emitted_constants[i], "", tree->root->loc);
    for (int i = 0; i < tree->module_count; i++)
        names_add(&cx->arena, &taken, emitted_module(cx, tree->modules[i]->path), "", tree->root->loc);
    plan->gradient_offsets = ARENA_ARRAY(&cx->arena, tree->key_count + 1, int64_t);
    for (int i = 0; i < tree->key_count && tree->spec->backward; i++) {
        struct module_tensor *tensor = tree->keys[i];

        if (tensor->kind != MODULE_PARAMETER || !tensor->requires_grad || tensor->first != tensor ||
            !dtype_is_float(tensor->dtype))
            continue;
        plan->gradient_offsets[plan->gradient_count] = plan->gradient_bytes;
        if (kept)
            plan->gradient_bytes += plan_aligned(plan, module_tensor_count(tensor) *
                                                           dtype_rows[tensor->dtype].bytes);
        ARENA_PUSH(&cx->arena, plan->gradients, plan->gradient_count, tensor);
        ARENA_PUSH(&cx->arena, plan->gradient_names, named, gradient_name(cx, plan, &taken, tensor));
    }
    plan->gradient_block = plan->gradient_bytes +
                           (kept ? plan_aligned(plan, 8 * (int64_t)plan->gradient_count) : 0) +
                           plan_aligned(plan, plan->gradient_count);
}

static void lay_out_optimizer(struct cx *cx, struct plan *plan)
{
    const struct training *training = plan->program->tree->training;

    plan->optimizer_places = ARENA_ARRAY(&cx->arena, plan->gradient_count + 1, struct optimizer_place);
    for (int i = 0; i < plan->gradient_count && training; i++) {
        const struct module_tensor *tensor = plan->gradients[i];
        struct optimizer_place *place = &plan->optimizer_places[i];
        const struct optim_state *states[OPTIM_MAX_STATES];
        int count = optim_states(cx, training->groups[training_group_of(training, tensor)].optim, states);
        int64_t bytes = plan_aligned(plan, module_tensor_count(tensor) * dtype_rows[tensor->dtype].bytes);

        for (int j = 0; j < count; j++) {
            place->states[j] = plan->optimizer_bytes + place->bytes;
            place->bytes += states[j]->scalar ? plan_aligned(plan, 8) : bytes;
        }
        if (training->averages) {
            place->average = plan->optimizer_bytes + place->bytes;
            place->bytes += bytes;
        }
        plan->optimizer_bytes += place->bytes;
    }
}

static void lay_out_group(const struct plan *plan, struct pack_group *group)
{
    if (group->bytes > 0)
        return;
    for (int i = 0; i < group->entry_count; i++) {
        group->entries[i]->offset = group->bytes;
        group->bytes += plan_aligned(plan, group->entries[i]->count > 0
                                               ? group->entries[i]->count *
                                                     dtype_rows[group->entries[i]->dtype].bytes
                                               : 1);
    }
    for (int i = 0; i < group->child_count; i++) {
        struct pack_child *child = &group->children[i];

        lay_out_group(plan, child->group);
        child->offset = group->bytes;
        group->bytes += child->group->bytes * (child->count > 0 ? child->count : 1);
    }
}

static const char *region_function(struct cx *cx, const struct plan *plan, const struct region *region,
                                   const char *entry)
{
    const char *mode = region->graph->training ? "train" : "eval";
    const char *name = arena_format(&cx->arena, "%s_%s", region->name, mode);

    for (int i = 0; i < plan->variant_count; i++)
        if (strcmp(plan->variants[i]->function, name) == 0)
            return arena_format(&cx->arena, "%s_%s_%04x", region->name, entry,
                                (unsigned)(text_hash(region->key, strlen(region->key)) & 0xffff));
    return name;
}

static bool calls(const struct graph *graph, const struct region *region)
{
    for (int i = 0; graph && i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_CALL && graph->ops[i]->invoke.region == region)
            return true;
    return false;
}

/* Whether an entry calls the region, itself or by way of others: of what nothing uses the calls were removed. */
static bool is_called(const struct program *program, const struct region *region)
{
    for (int i = 0; i < program->entry_count; i++)
        for (int training = 0; training < 2; training++)
            for (int fenced = 0; fenced < 2; fenced++)
                if (calls(program->entries[i].graphs[training][fenced], region))
                    return true;
    for (int i = 0; i < program->region_count; i++)
        if (calls(program->regions[i]->graph, region) && is_called(program, program->regions[i]))
            return true;
    return false;
}

static void share_writes(struct module *a, struct module *b)
{
    for (int i = 0; i < a->tensor_count; i++) {
        a->tensors[i]->written = b->tensors[i]->written |= a->tensors[i]->written;
        a->tensors[i]->written_in_eval = b->tensors[i]->written_in_eval |= a->tensors[i]->written_in_eval;
    }
    for (int i = 0; i < a->child_count; i++)
        share_writes(a->children[i], b->children[i]);
}

/* Elements of an array have one type in C, in which a tensor is const or not, whichever of them is written. */
static void share_in_arrays(const struct module_tree *tree)
{
    for (int i = 0; i < 2 * tree->module_count; i++) { /* to the first, and from it to the others */
        const struct module *list = tree->modules[i % tree->module_count];

        for (int k = 1; k < list->child_count; k++)
            if (list->children[0]->array && list->children[k]->array &&
                strcmp(list->children[0]->text, list->children[k]->text) == 0)
                share_writes(list->children[0], list->children[k]);
    }
}

/* By mode, then without and with hooks; NULL: there is none. */
static bool plan_variants(struct cx *cx, struct plan *plan, const struct entry *entry,
                          struct graph *const graphs[2][2], const char *kind)
{
    for (int training = 0; training < 2; training++)
        for (int fenced = 0; fenced < 2; fenced++)
            if (graphs[training][fenced] &&
                !plan_one(cx, plan, graphs[training][fenced], entry,
                          arena_format(&cx->arena, "%s_%s%s%s", entry->name, training ? "train" : "eval",
                                       kind, fenced ? "_fenced" : "")))
                return false;
    return true;
}

struct plan *plan_make(struct cx *cx, struct program *program)
{
    struct plan *plan = ARENA_NEW(&cx->arena, struct plan);
    struct pack_group *root = ARENA_NEW(&cx->arena, struct pack_group);

    plan->program = program;
    plan->align = target_of(cx)->align;
    plan->model = program->tree->name;
    root->name = "";
    root->root = program->tree->root;
    ARENA_PUSH(&cx->arena, plan->groups, plan->group_count, root);
    name_sizes(cx, program);
    share_in_arrays(program->tree);
    lay_out_tensors(cx, plan);
    lay_out_gradients(cx, plan);
    lay_out_optimizer(cx, plan);
    for (int i = 0; i < program->region_count; i++) {
        struct region *region = program->regions[i];
        struct pack_group *group;

        if (!region->graph || !is_called(program, region))
            continue;
        group = find_group(plan, region->graph->root);
        if (!group) {
            group = ARENA_NEW(&cx->arena, struct pack_group);
            group->name = region->name;
            group->root = region->graph->root;
            ARENA_PUSH(&cx->arena, plan->groups, plan->group_count, group);
        }
        if (!plan_one(cx, plan, region->graph, NULL, region_function(cx, plan, region, "region")))
            return NULL;
    }
    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];

        if (!plan_variants(cx, plan, entry, entry->graphs, "") ||
            !plan_variants(cx, plan, entry, entry->saving, "_saving"))
            return NULL;
    }
    for (int i = 0; i < plan->group_count; i++) {
        lay_out_group(plan, plan->groups[i]);
        for (int j = 0; j < plan->groups[i]->entry_count; j++) {
            const struct packed *entry = plan->groups[i]->entries[j];

            for (int k = 0; k < entry->operand_count; k++)
                if (entry->operands[k]->base->op->code == GRAPH_OP_CONST)
                    plan_constant(cx, plan, entry->operands[k]->base);
        }
    }
    plan_kernels(cx, plan);
    return plan;
}

/* ---- dump ------------------------------------------------------------------------------------------------- */

/* The values that lie in a buffer of the workspace: what is written there, and what is in place behind it. */
static void dump_values_json(struct text *text, const struct variant *variant,
                             const struct interval *interval)
{
    int count = 0;

    for (int i = 0; i < variant->graph->value_count; i++) {
        const struct place *place = &variant->places[i];
        const struct place *memory = place;

        while (memory->same)
            memory = &variant->places[memory->same->id];
        if (memory->kind == PLACE_WORKSPACE && memory->bytes > 0 && memory->name == interval->what &&
            memory->first == interval->first)
            text_printf(text, "%s%d", count++ ? ", " : "", i);
    }
}

static void dump_variant_json(struct text *text, const struct plan *plan, const struct variant *variant)
{
    text_printf(text, "{\"function\": \"%s\", \"workspace\": %lld, \"steps\": [\n", variant->function,
                (long long)variant->peak);
    for (int s = 0; s < variant->step_count; s++) {
        const struct step *step = &variant->steps[s];

        text_printf(text, "%s  {\"op\": \"%s\", \"label\": ", s ? ",\n" : "", op_rows[step->op->code]->name);
        text_json_string(text, step->op->label ? step->op->label : "");
        text_printf(text,
                    ", \"algorithm\": \"%s\", \"module\": ", step->algorithm ? step->algorithm->name : "");
        text_json_string(text, step->op->call ? step->op->call->module->path : "");
        if (step->split.slices > 1)
            text_printf(text, ", \"split\": \"%s\", \"slices\": %d", split_names[step->split.axis],
                        step->split.slices);
        if (step->op->code != GRAPH_OP_CALL && scratch_bytes(plan, step) > 0)
            text_printf(text, ", \"scratch\": %lld", (long long)scratch_bytes(plan, step));
        text_printf(text, ", \"outputs\": [");
        for (int j = 0; j < step->op->output_count; j++)
            text_printf(text, "%s%d", j ? ", " : "", step->op->outputs[j]->base->id);
        text_printf(text, "], \"inputs\": [");
        for (int j = 0; j < step->op->input_count; j++)
            text_printf(text, "%s%d", j ? ", " : "", step->op->inputs[j]->base->id);
        text_add(text, "], \"bytes\": [");
        for (int j = 0; j < step->op->output_count; j++)
            text_printf(text, "%s%lld", j ? ", " : "", (long long)value_bytes(step->op->outputs[j]));
        text_add(text, "]");
        if (step->op->code == GRAPH_OP_CALL)
            text_printf(text, ", \"calls\": \"%s\", \"count\": %lld",
                        plan_variant(plan, step->op->invoke.region->graph)->function,
                        (long long)step->op->invoke.count);
        text_add(text, "}");
    }
    text_add(text, "],\n \"outputs\": [");
    for (int i = 0; i < variant->graph->output_count; i++)
        text_printf(text, "%s%d", i ? ", " : "", variant->graph->outputs[i]->base->id);
    text_add(text, "],\n \"buffers\": [\n");
    for (int i = 0; i < variant->interval_count; i++) {
        const struct interval *own = &variant->intervals[i];

        text_printf(text, "%s  {\"name\": ", i ? ",\n" : "");
        text_json_string(text, own->what);
        text_printf(text, ", \"offset\": %lld, \"bytes\": %lld, \"first\": %d, \"last\": %d, \"values\": [",
                    (long long)own->offset, (long long)own->bytes, own->first, own->last);
        dump_values_json(text, variant, own);
        text_add(text, "]}");
    }
    text_add(text, "]}");
}

static void dump_variant(struct text *text, const struct variant *variant)
{
    text_printf(text, "%s: workspace %lld bytes, bound %lld\n", variant->function, (long long)variant->peak,
                (long long)variant->bound);
    for (int s = 0; s < variant->step_count; s++) {
        const struct step *step = &variant->steps[s];

        text_printf(text, "  %2d %s%s%s", s, op_rows[step->op->code]->name, step->algorithm ? " " : "",
                    step->algorithm ? step->algorithm->name : "");
        for (int j = 0, n = 0; j < step->op->input_count; j++)
            if (step_packed(step, j))
                text_printf(text, "%s%s", n++ ? ", " : " packed ", step_packed(step, j)->name);
        if (step->split.slices > 1)
            text_printf(text, " in %d slices by %s", step->split.slices, split_names[step->split.axis]);
        text_add(text, " ->");
        for (int j = 0; j < step->op->output_count; j++) {
            const struct place *place = &variant->places[step->op->outputs[j]->base->id];

            text_printf(text, " %s", place->name ? place->name : "(slot)");
        }
        text_add(text, "\n");
    }
    for (int i = 0; i < variant->interval_count; i++)
        text_printf(text, "  [%lld, %lld) %s, steps %d to %d\n", (long long)variant->intervals[i].offset,
                    (long long)(variant->intervals[i].offset + variant->intervals[i].bytes),
                    variant->intervals[i].what, variant->intervals[i].first, variant->intervals[i].last);
}

void plan_dump(struct text *text, const struct plan *plan, bool json)
{
    if (json) {
        text_printf(
            text,
            "{\"model\": \"%s\", \"parameters\": %lld, \"gradients\": %lld, \"state\": %lld, \"packed\": %lld, \"align\": %d, "
            "\"entries\": [",
            plan->model, (long long)plan->param_bytes, (long long)plan->gradient_block,
            (long long)plan->state_bytes, (long long)plan->groups[0]->bytes, plan->align);
        for (int i = 0; i < plan->program->entry_count; i++)
            text_printf(text, "%s\"%s\"", i ? ", " : "", plan->program->entries[i].name);
        text_add(text, "],\n\"variants\": [\n");
        for (int i = 0; i < plan->variant_count; i++) {
            text_add(text, i ? ",\n" : "");
            dump_variant_json(text, plan, plan->variants[i]);
        }
        text_add(text, "],\n\"packed_entries\": [\n");
    } else {
        text_printf(text, "%s: parameters %lld bytes, packed %lld, state %lld\n", plan->model,
                    (long long)plan->param_bytes, (long long)plan->groups[0]->bytes,
                    (long long)plan->state_bytes);
        for (int i = 0; i < plan->variant_count; i++)
            dump_variant(text, plan->variants[i]);
    }
    for (int g = 0, n = 0; g < plan->group_count; g++) {
        const struct pack_group *group = plan->groups[g];

        for (int i = 0; i < group->entry_count; i++, n++) {
            const struct packed *entry = group->entries[i];

            if (json) {
                text_printf(text, "%s  {\"group\": \"%s\", \"name\": \"%s\", \"layout\": ", n ? ",\n" : "",
                            group->name, entry->name);
                text_json_string(text, entry->comment);
                text_printf(text, ", \"offset\": %lld, \"bytes\": %lld}", (long long)entry->offset,
                            (long long)(entry->count * dtype_rows[entry->dtype].bytes));
            } else {
                text_printf(text, "packed %s%s%s %s = ", group->name, group->name[0] ? "." : "", entry->name,
                            entry->comment);
                dag_print(text, entry->dag);
                text_add(text, "\n");
            }
        }
    }
    if (json)
        text_add(text, "]}\n");
}
