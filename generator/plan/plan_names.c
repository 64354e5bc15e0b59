/* plan_names.c - what things are called in emitted code: sizes, arguments, locals, constants, functions of regions. Apart from
 * plan_value.c, because names follow rules of their own. */
#include <ctype.h>
#include <string.h>

#include "base/emitted.h"
#include "base/names.h"
#include "plan/planner.h"
#include "plan/weights.h"

const char *c_path(struct cx *cx, const char *path)
{
    struct text text = text_new(&cx->arena);

    while (*path) {
        size_t length = strcspn(path, ".");
        char *part = arena_copy(&cx->arena, path, length);

        if (text.length > 0)
            text_add(&text, ".");
        text_add(&text, emitted_name(cx, part)); /* "0" becomes "_0" */
        path += length + (path[length] == '.');
    }
    return text.data;
}

struct called {
    struct names given;       /* inputs, as the spec says them */
    struct names inputs, all; /* in C: inputs and sizes; these and results */
    struct names gradients;   /* of inputs and results, where no argument is called so */
};

static void call(struct cx *cx, struct names *names, const char *name)
{
    names_add(&cx->arena, names, name, "", (struct loc){0});
}

/* What the gradient is called where no argument is called so. */
static const char *gradient_name(struct cx *cx, const struct called *called, const char *name, bool result)
{
    const bool twice = result && names_find(&called->given, name);

    return c_argument(cx, arena_format(&cx->arena, "d%s%s", name, twice ? "_out" : ""));
}

void planner_call_arguments(struct cx *cx, struct graph *graph)
{
    const struct module_tree *tree = graph->program->tree;
    struct called *called = ARENA_NEW(&cx->arena, struct called);

    graph->called = called;
    for (int i = 0; i < tree->size_count; i++) {
        call(cx, &called->inputs, tree->sizes[i].c_name);
        call(cx, &called->all, tree->sizes[i].c_name);
    }
    for (int i = 0; i < graph->input_count; i++) {
        call(cx, &called->given, graph->inputs[i]->name);
        call(cx, &called->inputs, c_argument(cx, graph->inputs[i]->name));
        call(cx, &called->all, c_argument(cx, graph->inputs[i]->name));
    }
    for (int i = 0; i < graph->result_count; i++)
        call(cx, &called->all, c_output(cx, graph, i));
    for (int i = 0; i < graph->input_count; i++)
        call(cx, &called->gradients, gradient_name(cx, called, graph->inputs[i]->name, false));
    for (int i = 0; i < graph->result_count; i++)
        call(cx, &called->gradients, gradient_name(cx, called, graph->output_names[i], true));
}

const char *c_output(struct cx *cx, const struct graph *graph, int index)
{
    const char *name = c_argument(cx, graph->output_names[index]);

    return names_find(&graph->called->inputs, name) ? arena_format(&cx->arena, "%s_out", name) : name;
}

/* Of `x` beside an argument `dx` it is `dx_`, and beside one of that name, too, `dx_gradient`. */
const char *c_gradient(struct cx *cx, const struct graph *graph, const char *name, bool result)
{
    const struct called *called = graph->called;
    const char *own = gradient_name(cx, called, name, result), *other;

    if (!names_find(&called->all, own))
        return own;
    other = arena_format(&cx->arena, "%s_", own);
    return names_find(&called->all, other) || names_find(&called->gradients, other)
               ? arena_format(&cx->arena, "%s_gradient", own)
               : other;
}

const char *plan_constant_words(struct cx *cx, const struct plan *plan, int constant)
{
    return arena_format(&cx->arena, "%s_words", plan->constant_names[constant]);
}

/* Whether a constant is called so, or the words of a large one. */
static bool is_constant_name(struct cx *cx, const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->constant_count; i++)
        if (strcmp(plan->constant_names[i], name) == 0 ||
            (constant_is_large(plan->constants[i]->constant) &&
             strcmp(plan_constant_words(cx, plan, i), name) == 0))
            return true;
    return false;
}

static bool is_free_constant(struct cx *cx, const struct plan *plan, const struct value *value,
                             const char *name)
{
    return !is_constant_name(cx, plan, name) &&
           !(constant_is_large(value->constant) &&
             is_constant_name(cx, plan, arena_format(&cx->arena, "%s_words", name)));
}

/* "constant_frequency", or by its shape; what else the name would stand for has its type or a number behind it. */
static const char *constant_name(struct cx *cx, const struct plan *plan, const struct value *value)
{
    struct text stem = text_new(&cx->arena);
    const char *name;

    text_add(&stem, "constant");
    if (value->name)
        text_printf(&stem, "_%s", value->name);
    for (int i = 0; i < value->constant->ndim && !value->name; i++)
        text_printf(&stem, "%s%lld", i ? "x" : "_", (long long)value->constant->dims[i]);
    name = stem.data;
    if (!is_free_constant(cx, plan, value, name))
        name = arena_format(&cx->arena, "%s_%s", stem.data, dtype_rows[value->dtype].name);
    for (int round = 2; !is_free_constant(cx, plan, value, name); round++)
        name = arena_format(&cx->arena, "%s_%d", stem.data, round);
    return name;
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

    const char *name = constant_name(cx, plan, value);
    int count = plan->constant_count;

    ARENA_PUSH(&cx->arena, plan->constants, plan->constant_count, value);
    ARENA_PUSH(&cx->arena, plan->constant_names, count, name);
    return name;
}

/* ---- locals --------------------------------------------------------------------------------------------------------- */

/* note [names of locals]
 * A value is called as the spec's words say that it is: by the local that it is bound to, the module that makes it, what makes it
 * there. The first of these that no other value of the function has is its name; where two have the same, both go on to the
 * next, but what a module gives back, where hooks see it, keeps its name. So a statement that comes or goes changes the names of
 * those values alone that share a word with it. */
enum { WORDS = 4 };

struct named {
    struct place *place;
    const char *const *words;
    int at;
    bool result; /* what a module gives back, as its boundary shows it */
};

/* Values of one module call or statement after another have the same. */
struct words {
    const struct module *module; /* whose call makes it */
    const char *name;            /* of the value, or NULL */
    const char *label;           /* what makes it there, or NULL */
    bool local;
    const char *list[WORDS]; /* the best first; the last stands for all behind it */
    struct words *next;
};

enum { WORDS_LISTS = 1024 };

static const char *joined(struct cx *cx, const char *a, const char *b)
{
    const char *name = arena_format(&cx->arena, "%s_%s", a, b);

    return text_ends_with(name, "_t") ? arena_format(&cx->arena, "%s_", name) : name; /* int32_t */
}

const char *op_words(struct cx *cx, const struct op *op)
{
    const char *label = op->label ? op->label : op_rows[op->code]->name;

    return op->first ? arena_format(&cx->arena, "%s_fused", op->first) : label;
}

static void find_words(struct planner *planner, struct words *own)
{
    struct cx *cx = planner->cx;
    const char *path = own->module ? relative_path(planner->variant->graph->root, own->module->path) : "";
    const char *flat = isdigit((unsigned char)path[0])
                           ? arena_format(&cx->arena, "y%s", emitted_flat(cx, path))
                           : emitted_flat(cx, path);
    const char *label = own->label ? emitted_flat(cx, own->label) : "value", *name = own->name;
    int count = 0;

    if (name && !(path[0] && own->local))
        own->list[count++] = name;
    if (name && path[0] && count == 0)
        own->list[count++] = joined(cx, arena_format(&cx->arena, "%s_of", name), flat);
    if (path[0])
        own->list[count++] = flat;
    if (name && path[0] && count < 3)
        own->list[count++] = joined(cx, arena_format(&cx->arena, "%s_of", name), flat);
    if (!name && !path[0])
        own->list[count++] = label;
    if (count < WORDS)
        own->list[count++] = joined(cx, arena_format(&cx->arena, "%s_of", label),
                                    name && !path[0] ? name
                                    : path[0]        ? flat
                                                     : "model");
    while (count < WORDS)
        own->list[count] = own->list[count - 1], count++;
    for (int i = 0; i < WORDS; i++)
        own->list[i] = c_local(cx, own->list[i]);
}

static bool same_word(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The names that the value may have. `lists` has those that were found. */
static const char *const *words_of(struct planner *planner, struct words **lists, const struct value *value)
{
    struct cx *cx = planner->cx;
    const struct op *op = value->op;
    const struct words wanted = {.module = op->call ? op->call->module : NULL,
                                 .name = value->name,
                                 .label = op->label ? op_words(cx, op) : NULL,
                                 .local = value->local};
    const char *key = wanted.name ? wanted.name : wanted.label ? wanted.label : "";
    const unsigned hash = (unsigned)text_hash(key, strlen(key)) +
                          (wanted.module ? 31u * (unsigned)wanted.module->index : 0);
    struct words **list = &lists[hash % WORDS_LISTS], *own = *list;

    while (own && !(own->module == wanted.module && own->local == wanted.local &&
                    same_word(own->name, wanted.name) && same_word(own->label, wanted.label)))
        own = own->next;
    if (!own) {
        own = ARENA_NEW(&cx->arena, struct words);
        *own = wanted;
        own->next = *list;
        *list = own;
        find_words(planner, own);
    }
    return own->list;
}

static void take(struct planner *planner, struct names *names, const char *name)
{
    if (name)
        names_add(&planner->cx->arena, names, name, "", (struct loc){0});
}

/* What the function calls something else, but for other functions. */
static struct names taken_names(struct planner *planner)
{
    const struct variant *variant = planner->variant;
    const struct graph *graph = variant->graph;
    const struct module_tree *tree = planner->plan->program->tree;
    struct names taken = {0};

    for (int i = 0; i < graph->input_count; i++)
        take(planner, &taken, planner->arguments[i]);
    for (int i = 0; planner->results && i < graph->result_count; i++)
        take(planner, &taken, planner->results[i]);
    for (int i = 0; i < tree->size_count; i++)
        take(planner, &taken, tree->sizes[i].c_name);
    for (int i = 0; i < graph->value_count; i++)
        if (variant->places[i].kind != PLACE_CONST)
            take(planner, &taken, variant->places[i].name);
    return taken;
}

/* Takes the name, unless it stands for something else already, or for a function. */
static bool is_another(struct planner *planner, struct names *taken, const char *name)
{
    return names_find(&planner->plan->functions_taken, name) ||
           names_add(&planner->cx->arena, taken, name, "", (struct loc){0});
}

/* By value id: what hooks see of a module's results, made by the module itself. */
static const bool *shown_results(const struct planner *planner)
{
    const struct variant *variant = planner->variant;
    bool *shown = ARENA_ARRAY(&planner->cx->arena, variant->graph->value_count + 1, bool);

    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;
        const bool results = op->code == GRAPH_OP_FENCE && op->fence.kind == FENCE_FORWARD;

        for (int slot = 0; results && slot < fence_slot_count(op); slot++) {
            const struct value *value = op->inputs[fence_value_in(op, slot)];

            if (fence_shows_whole(op, slot) && value->op->call && value->op->call->module == op->fence.module)
                shown[value->id] = true;
        }
    }
    return shown;
}

/* Those whose name another one has, or something else, go on to their next. False: all have one of their own, or none left. */
static bool part_names(struct planner *planner, const struct names *taken, struct named *list, int count)
{
    struct names seen = {0}, twice = {0}, results = {0}, rivals = {0};
    bool again = false;

    for (int i = 0; i < count; i++) {
        const char *word = list[i].words[list[i].at];

        if (names_find(taken, word) || is_another(planner, &seen, word))
            take(planner, &twice, word);
        if (list[i].result && (names_find(taken, word) || is_another(planner, &results, word)))
            take(planner, &rivals, word);
    }
    for (int i = 0; i < count; i++) {
        const char *word = list[i].words[list[i].at];

        if (list[i].at + 1 == WORDS || !names_find(&twice, word) ||
            (list[i].result && !names_find(&rivals, word)))
            continue;
        list[i].at++;
        again = true;
    }
    return again;
}

void planner_name_locals(struct planner *planner)
{
    struct variant *variant = planner->variant;
    bool *known = ARENA_ARRAY(&planner->cx->arena, variant->graph->value_count + 1, bool);
    const bool *shown = shown_results(planner);
    struct words **lists = ARENA_ARRAY(&planner->cx->arena, WORDS_LISTS, struct words *);
    struct named *list = NULL;
    struct names taken = taken_names(planner), words = {0};
    int count = 0, *rounds; /* by word: so many of "word_2", "word_3" are taken */

    for (int s = 0; s < variant->step_count; s++) {
        for (int j = 0; j < variant->steps[s].op->output_count; j++) {
            const struct value *base = variant->steps[s].op->outputs[j]->base;
            struct place *place = &variant->places[base->id];

            if (place->kind != PLACE_WORKSPACE || place->name || known[base->id])
                continue;
            known[base->id] = true;
            ARENA_PUSH(&planner->cx->arena, list, count,
                       ((struct named){place, words_of(planner, lists, base), 0, shown[base->id]}));
        }
    }
    while (part_names(planner, &taken, list, count))
        ;
    rounds = ARENA_ARRAY(&planner->cx->arena, count + 1, int);
    for (int i = 0; i < count; i++) {
        const char *word = list[i].words[list[i].at], *name = word;
        const struct name_entry *before = names_add(&planner->cx->arena, &words, word, "", (struct loc){0});
        int *round = &rounds[before ? before->index : words.count - 1];

        for (; is_another(planner, &taken, name); ++*round)
            name = arena_format(&planner->cx->arena, "%s_%d", word, *round + 2);
        list[i].place->name = name;
    }
}

/* POLICY_GRADIENT_TRUNK_0_WEIGHT; underscores follow where another constant has that name. */
const char *planner_gradient_name(struct cx *cx, const struct plan *plan, struct names *taken,
                                  const struct module_tensor *tensor)
{
    const char *name = emitted_gradient(cx, tensor->path);

    while (names_add(&cx->arena, taken, name, "", tensor->loc))
        name = arena_format(&cx->arena, "%s_", name);
    return arena_format(&cx->arena, "%s_%s", text_upper(&cx->arena, plan->model), name);
}

/* ---- functions of regions ---- */

const char *size_name(struct cx *cx, const struct module_tree *tree, const char *name)
{
    for (int i = 0; i < tree->size_count; i++)
        if (strcmp(tree->sizes[i].c_name, name) == 0)
            return size_name(cx, tree, arena_format(&cx->arena, "%s_", name));
    return name;
}

const char *region_input(struct cx *cx, const struct graph *graph, const struct value *input)
{
    const char *name = input->name ? c_argument(cx, input->name)
                                   : arena_format(&cx->arena, "x%d", input->op->input.index);

    return size_name(cx, graph->program->tree, name);
}

static bool is_input(struct cx *cx, const struct graph *graph, const char *name)
{
    for (int i = 0; graph && i < graph->input_count; i++)
        if (strcmp(region_input(cx, graph, graph->inputs[i]), name) == 0)
            return true;
    return false;
}

/* What the spec says keeps its name. */
static const char *beside_inputs(struct cx *cx, const struct graph *graph, const char *name)
{
    name = size_name(cx, graph->program->tree, name);
    return is_input(cx, graph, name) ? beside_inputs(cx, graph, arena_format(&cx->arena, "%s_", name)) : name;
}

const char *region_result(struct cx *cx, const struct graph *graph, const char *stem, int result)
{
    return beside_inputs(cx, graph,
                         graph->result_count == 1 ? stem : arena_format(&cx->arena, "%s%d", stem, result));
}

const char *region_gradient(struct cx *cx, const struct graph *graph, const struct value *input)
{
    const char *name = beside_inputs(cx, graph,
                                     arena_format(&cx->arena, "d%s", region_input(cx, graph, input)));

    for (int i = 0; i < graph->result_count; i++)
        if (strcmp(region_result(cx, graph, "dy", i), name) == 0)
            return beside_inputs(cx, graph, arena_format(&cx->arena, "%s_in", name));
    return name;
}

const char *region_slot(struct cx *cx, const struct graph *graph, const struct module_tensor *slot)
{
    return beside_inputs(cx, graph, c_argument(cx, emitted_flat(cx, relative_path(graph->root, slot->path))));
}

/* "_to_x_mask": the inputs whose gradients it gives. */
static const char *wanted_words(struct cx *cx, const struct region *region)
{
    struct text words = text_new(&cx->arena);

    text_add(&words, "_to");
    for (int i = 0; i < region->graph->input_count; i++)
        if (region->wanted && region->wanted[i])
            text_printf(&words, "_%s", region_input(cx, region->graph, region->graph->inputs[i]));
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

static void take_inputs(struct cx *cx, struct names *names, const struct graph *graph)
{
    for (int i = 0; graph && i < graph->input_count; i++)
        names_add(&cx->arena, names, region_input(cx, graph, graph->inputs[i]), "", (struct loc){0});
}

struct names planner_argument_names(struct cx *cx, const struct program *program)
{
    struct names names = {0};

    for (int i = 0; i < program->entry_count; i++) {
        const struct graph *graph = program->entries[i].graphs[0][0];

        for (int o = 0; o < graph->result_count; o++)
            names_add(&cx->arena, &names, c_argument(cx, graph->output_names[o]), "", (struct loc){0});
        take_inputs(cx, &names, graph);
    }
    for (int i = 0; i < program->region_count; i++)
        take_inputs(cx, &names, program->regions[i]->graph);
    return names;
}

/* A function that is planned already, or what a caller may call one of its arguments, which then would hide the function. */
static bool is_taken(const struct plan *plan, const struct names *arguments, const char *name)
{
    return names_find(&plan->functions_taken, name) || names_find(arguments, name);
}

const char *planner_region_function(struct cx *cx, const struct plan *plan, const struct names *arguments,
                                    const struct region *region)
{
    const struct graph *graph = region->graph;
    struct arena *arena = &cx->arena;
    const char *kind = arena_format(arena, "%s%s%s", graph->training ? "train" : "eval",
                                    region->plain ? "_saving" : "", graph->fenced ? "_fenced" : "");
    const char *more[] = {"", region->plain ? wanted_words(cx, region) : "",
                          arena_format(arena, "_%s", region->entry), shape_words(cx, region)};
    const char *stem = region->name, *name = arena_format(arena, "%s_%s", stem, kind);

    for (size_t i = 1; is_taken(plan, arguments, name) && i < sizeof more / sizeof *more; i++) {
        stem = arena_format(arena, "%s%s", stem, more[i]);
        name = arena_format(arena, "%s_%s", stem, kind);
    }
    for (int round = 2; is_taken(plan, arguments, name); round++)
        name = arena_format(arena, "%s_%d_%s", stem, round, kind);
    return name;
}
