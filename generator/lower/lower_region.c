/* lower_region.c - instances of a class that are alike become one region: its graph, its name, calls of it. */
#include <ctype.h>
#include <string.h>

#include "base/emitted.h"
#include "lower/lower_parts.h"

static void add_break(struct text *name)
{
    if (name->length > 0 && name->data[name->length - 1] != '_')
        text_add(name, "_");
}

/* Words as a part of a name in C: LayerNorm as layer_norm. */
static void add_words(struct text *name, const char *words)
{
    for (const char *c = words; *c; c++) {
        char before = c > words ? c[-1] : ' ';
        bool upper = isupper((unsigned char)*c);

        if (isalnum((unsigned char)*c)) {
            if (upper && isalnum((unsigned char)before) && !isupper((unsigned char)before))
                add_break(name);
            text_printf(name, "%c", tolower((unsigned char)*c));
        } else if (c[1]) {
            add_break(name);
        }
    }
}

/* Whether instances of the class differ in their arguments, or in what set and add brought below them. */
static bool has_kinds(const struct module_tree *tree, const struct module *module)
{
    for (int i = 0; i < tree->module_count; i++) {
        const struct module *other = tree->modules[i];

        if (other->signature && other->parent && strcmp(other->class_name, module->class_name) == 0 &&
            strcmp(other->signature, module->signature) != 0)
            return true;
    }
    return false;
}

/* Whether the struct or the functions of a region `name` would have the name of what each model has, or of an entry. */
static bool is_of_model(const struct program *program, const char *name)
{
    const struct spec *spec = program->tree->spec;
    const size_t length = strlen(program->tree->name);
    const char *own = strncmp(name, program->tree->name, length) == 0 && name[length] == '_'
                          ? name + length + 1
                          : name;
    bool entry = strcmp(own, "forward") == 0 || strcmp(own, program->tree->name) == 0; /* policy_eval */

    for (int i = 0; i < spec->entry_count; i++)
        entry |= strcmp(spec->entries[i]->name, own) == 0;
    return entry || emitted_struct(name) || emitted_function(name);
}

/* Named by the class; where its instances differ, by the list or module that the first of them is in, too. Another region's name
 * is not taken. */
static const char *region_name(struct eval *eval, const struct module *module)
{
    const struct program *program = ((struct lower *)eval)->program;
    struct arena *arena = &eval->cx->arena;
    struct text name = text_new(arena);
    const char *own;

    if (has_kinds(program->tree, module)) {
        const char *path = module->array ? module->parent->path : module->path;

        text_add(&name, isdigit((unsigned char)path[0]) ? "y" : ""); /* of a list */
        add_words(&name, path);
        add_break(&name);
    }
    add_words(&name, module->class_name);
    own = is_of_model(program, name.data) ? arena_format(arena, "%s_", name.data) : name.data;
    for (int i = 0, round = 2; i < program->region_count; i++) {
        if (strcmp(program->regions[i]->name, own) != 0 ||
            strcmp(program->regions[i]->signature, module->signature) == 0)
            continue;
        own = arena_format(arena, "%s_%d", name.data, round++);
        i = -1;
    }
    return own;
}

/* What is tied may lie in another module: an instance with that is not like the others of its class. */
static bool is_special(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (module->tensors[i]->tied)
            return true;
    for (int i = 0; i < module->child_count; i++)
        if (is_special(module->children[i]))
            return true;
    return false;
}

/* Steps are numbers of the code: those of one instance are not another's. */
static bool has_ranges(struct arena *arena, const struct module_tree *tree, const struct module *module)
{
    for (int i = 0; i <= module->subtree && tree->calibrated; i++)
        if (module_range(tree, tree->modules[module->index + i]->path) ||
            module_range(tree, arena_format(arena, "%s" RANGE_INPUT, tree->modules[module->index + i]->path)))
            return true;
    return false;
}

bool lower_has_region(struct eval *eval, const struct module *module)
{
    const struct lower *lower = (const struct lower *)eval;

    return module->signature && !lower->program->resolving && !is_special(module) &&
           !has_ranges(&eval->cx->arena, lower->tree, module) && !(eval->graph->saves && module->shared) &&
           module->instances > 1;
}

/* Which parts of an instance stay in evaluation mode while the others train. */
static void add_fixed(struct text *key, const struct module_tree *tree, const struct module *module)
{
    for (int i = 1; i <= module->subtree; i++)
        if (tree->modules[module->index + i]->always_eval)
            text_printf(key, " fixed %d", i);
}

/* As what parameters of one instance are packed, and of another are not. */
static void add_stored(struct text *key, const struct module_tree *tree, const struct module *module)
{
    for (int i = 0; i <= module->subtree && tree->narrow; i++) {
        const struct module *part = tree->modules[module->index + i];

        for (int j = 0; j < part->tensor_count; j++)
            if (part->tensors[j]->stored)
                text_printf(key, " stored %d %d %s", i, j,
                            part->tensors[j]->storage ? storage_text(key->arena, part->tensors[j]->storage)
                                                      : "as it is");
    }
}

/* What backward does for one instance and not for another: parameters that are frozen, checkpoints. */
static void add_saving(struct text *key, const struct module_tree *tree, const struct module *module)
{
    for (int i = 0; i <= module->subtree; i++) {
        const struct module *part = tree->modules[module->index + i];

        if (part->checkpoint)
            text_printf(key, " checkpoint %d", i);
        for (int j = 0; j < part->tensor_count; j++)
            if (part->tensors[j]->kind == MODULE_PARAMETER && !part->tensors[j]->requires_grad)
                text_printf(key, " frozen %d %d", i, j);
    }
}

/* A change of an argument in place is seen by the caller. What may end a call stands in front of all that it writes, which
 * a region could not see to; with hooks it may end anywhere. */
static bool needs_inline(const struct graph *graph)
{
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i]->newer || graph->inputs[i]->sharing.lost)
            return true;
    for (int i = 0; i < graph->op_count && !graph->fenced; i++)
        if (op_rows[graph->ops[i]->code]->fails)
            return true;
    return false;
}

static void add_slot(struct region *region, const struct module_tensor *tensor)
{
    for (int i = 0; i < region->slot_count; i++)
        if (region->slots[i] == tensor)
            return;
    ARENA_PUSH(&region->graph->cx->arena, region->slots, region->slot_count, tensor);
}

/* See struct region. */
static void find_slots(struct region *region)
{
    for (int i = 0; i < region->graph->op_count; i++) {
        const struct op *op = region->graph->ops[i];

        if (op->code == GRAPH_OP_TENSOR && op->tensor.tensor->kind == MODULE_STATE)
            add_slot(region, op->tensor.tensor);
        if (op->code == GRAPH_OP_WRITE)
            add_slot(region, op->write.tensor);
        for (int j = 0; op->code == GRAPH_OP_CALL && j < op->invoke.region->slot_count; j++)
            add_slot(region, region_tensor(op, op->invoke.region->slots[j]));
    }
}

/* What an op calls, or reads a tensor of; NULL: neither. */
static const struct module *named_module(const struct op *op)
{
    return op->code == GRAPH_OP_CALL     ? op->invoke.instance
           : op->code == GRAPH_OP_TENSOR ? op->tensor.tensor->owner
                                         : NULL;
}

bool lower_find_shared(struct module_tree *tree, const struct graph *graph)
{
    const int count = tree->module_count;
    int *named = ARENA_ARRAY(&graph->cx->arena, count + 1, int); /* by module: how often in those before it */
    bool found = false;

    for (int i = 0; i < graph->op_count; i++) {
        const struct module *module = named_module(graph->ops[i]);

        if (module)
            named[module->index + 1]++;
    }
    for (int i = 0; i < count; i++)
        named[i + 1] += named[i];
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        const struct module *own = op->code == GRAPH_OP_CALL ? op->invoke.instance : NULL;

        if (own && named[own->index + own->subtree + 1] - named[own->index] > 1)
            found = tree->modules[own->index]->shared = true;
    }
    return found;
}

/* Random numbers of a module differ by how often it has drawn in the graph: a region knows only its own draws. */
static bool has_drawn(struct graph *graph, const struct module *instance, const struct region *region)
{
    const struct module_tree *tree = graph->program->tree;

    for (int i = 0; i <= instance->subtree; i++)
        if (graph_draws(region->graph, tree->modules[region->graph->root->index + i]) > 0 &&
            graph_draws(graph, tree->modules[instance->index + i]) > 0)
            return true;
    return false;
}

bool lower_fits_region(struct eval *eval, const struct module *module, const struct region *region)
{
    struct graph *graph = eval->graph;

    return region->graph && !has_drawn(graph, module, region) && !lower_has_cached(graph, module, region) &&
           !(graph->saves && module->checkpoint && region->slot_count > 0);
}

static struct ev *result_of(struct region *region)
{
    return &((struct lowered_region *)region)->result;
}

/* What the body calls its argument at `i`; NULL: it has no such argument, or several share it. */
static const char *argument_name(struct eval *eval, const struct module *module, int i)
{
    const struct spec_function *forward = module->spec_class ? module->spec_class->forward : NULL;
    const struct signature *signature = module->layer ? lower_row_signature(eval, module->layer->forward)
                                                      : NULL;

    if (signature)
        return i < signature->count ? signature->args[i].name : NULL;
    return forward && i < forward->arg_count && forward->args[i].gather == GATHER_NONE ? forward->args[i].name
                                                                                       : NULL;
}

/* What a tensor of an argument is called in a region: as the argument, and of a list or dict (item >= 0) with its number. NULL: it
 * has no name of its own. */
static const char *input_name(struct eval *eval, const struct graph *graph, const struct module *module,
                              const struct call *call, int argument, int item)
{
    const char *name = call->names[argument];

    if (!name)
        name = argument_name(eval, module, argument);
    if (name && item >= 0)
        name = arena_format(&graph->cx->arena, "%s_%d", name, item);
    for (int i = 0; name && i < graph->input_count; i++)
        if (graph->inputs[i]->name && strcmp(graph->inputs[i]->name, name) == 0)
            return NULL;
    return name;
}

struct region *lower_find_region(struct eval *eval, struct module *module, const struct call *call)
{
    struct lower *outer = (struct lower *)eval;
    struct program *program = outer->program;
    struct arena *arena = &eval->cx->arena;
    struct text key = text_new(arena);
    struct region *region;
    struct ev *result;
    struct call inner = *call;
    struct lower lower = *outer;
    struct graph *graph;
    struct value **results = NULL;
    const bool training = eval_in_training(eval);
    int errors = diag_errors(eval->cx), result_count = 0, complex_count = 0;

    text_printf(&key, "%s %d %d %d", module->signature, training, outer->fenced, eval->graph->saves);
    for (int i = 0; i < call->count; i++)
        text_printf(&key, " %s%s%s%s", call->names[i] ? call->names[i] : "", call->names[i] ? "=" : "",
                    ev_text(eval, &call->args[i]),
                    ev_has_value(&call->args[i]) ? dtype_rows[call->args[i].tensor->dtype].name : "");
    text_printf(&key, " %s", outer->entry->name);
    if (training)
        add_fixed(&key, program->tree, module);
    add_stored(&key, program->tree, module);
    if (eval->graph->saves)
        add_saving(&key, program->tree, module);
    for (int i = 0; i < program->region_count; i++)
        if (strcmp(program->regions[i]->key, key.data) == 0)
            return result_of(program->regions[i])->kind == EV_BAD ? NULL : program->regions[i];

    region = &ARENA_NEW(arena, struct lowered_region)->region;
    result = result_of(region);
    region->key = key.data;
    region->signature = module->signature;
    region->name = region_name(eval, module);
    region->entry = outer->entry->name;
    graph = ARENA_NEW(arena, struct graph);
    *graph = (struct graph){.cx = eval->cx,
                            .program = program,
                            .name = region->name,
                            .root = module,
                            .region = region,
                            .training = training,
                            .fenced = outer->fenced,
                            .loss = eval->graph->loss,
                            .saves = eval->graph->saves};
    lower.eval.graph = graph;
    lower.eval.call = NULL;
    lower.outer = outer;
    inner.args = ARENA_ARRAY(arena, call->count + 1, struct ev);
    for (int i = 0; i < call->count; i++) {
        struct value **tensors = NULL, *input;
        int count = 0, at = 0;

        lower_gather(eval, &call->args[i], &tensors, &count);
        for (int j = 0; j < count; j++) {
            struct op *op = op_new(&lower.eval, GRAPH_OP_INPUT, "input", NULL, 0);

            op->input.index = graph->input_count;
            op->loc = call->loc;
            input = graph_value(graph, op, tensors[j]->dtype, tensors[j]->ndim, tensors[j]->dims);
            input->name = input_name(eval, graph, module, call, i, count > 1 ? j : -1);
            graph_append(graph, op);
            ARENA_PUSH(arena, graph->inputs, graph->input_count, input);
            tensors[j] = input;
        }
        inner.args[i] = lower_scatter(eval, &call->args[i], tensors, &at);
    }
    *result = lower_bounded(&lower.eval, module, &inner);
    if (result->kind != EV_BAD && graph->saves && lower_find_shared(outer->tree, graph))
        return lower_find_region(eval, module, call);
    if (result->kind == EV_BAD || diag_errors(eval->cx) > errors) {
        *result = ev_bad(call->loc);
        ARENA_PUSH(arena, program->regions, program->region_count, region);
        return NULL;
    }
    *result = ev_fresh(&lower.eval, *result);
    lower_gather(eval, result, &results, &result_count);
    lower_gather_complex(eval, result, &graph->complex, &complex_count);
    for (int i = 0; i < result_count; i++)
        graph_return(graph, results[i]);
    graph->result_count = graph->output_count;
    graph->output_names = ARENA_ARRAY(arena, graph->output_count + 1, const char *);
    region->graph = needs_inline(graph) ? NULL : graph;
    if (region->graph)
        find_slots(region);
    ARENA_PUSH(arena, program->regions, program->region_count, region);
    return region;
}

/* An instance calls and writes what the one that the region was lowered from calls and writes. */
static void mark_called(struct module *module, const struct module *like)
{
    module->calls += like->calls > 0;
    for (int i = 0; i < module->tensor_count; i++) {
        module->tensors[i]->written |= like->tensors[i]->written;
        module->tensors[i]->written_in_eval |= like->tensors[i]->written_in_eval;
    }
    for (int i = 0; i < module->child_count; i++)
        mark_called(module->children[i], like->children[i]);
}

struct ev lower_call_region(struct eval *eval, struct module *module, struct region *region,
                            const struct call *call)
{
    const struct graph *graph = region->graph;
    struct arena *arena = &eval->cx->arena;
    struct value **inputs = NULL, **values, **inside; /* what it is given, then its results; in the region */
    int count = 0, at;
    struct op *op;

    mark_called(module, region->graph->root);
    for (int i = 0; i < call->count; i++)
        lower_gather(eval, &call->args[i], &inputs, &count);
    lower_add_row_inputs(eval, graph, &inputs, &count);
    lower_add_cached(eval, module, region);
    op = op_new(eval, GRAPH_OP_CALL, region->name, inputs, count);
    op->loc = call->loc;
    op->invoke.region = region;
    op->invoke.instance = module;
    op->invoke.count = 1;
    values = ARENA_ARRAY(arena, count + graph->output_count + 1, struct value *);
    inside = ARENA_ARRAY(arena, count + graph->output_count + 1, struct value *);
    for (int i = 0; i < count; i++) {
        values[i] = inputs[i];
        inside[i] = graph->inputs[i];
    }
    for (int i = 0; i < graph->output_count; i++) {
        struct value *out = inside[count + i] = graph->outputs[i];

        values[count + i] = graph_value(eval->graph, op, out->dtype, out->ndim, out->dims);
    }
    graph_append(eval->graph, op);
    build_share(eval, values, inside, count, count + graph->output_count);
    at = count;
    return lower_scatter(eval, result_of(region), values, &at);
}
