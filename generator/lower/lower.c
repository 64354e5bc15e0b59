/* lower.c - lowers the entries of a model: runs their statements over graph values, in each mode, fused and fenced.
 *
 * Apart from the evaluator, because this room knows what calling a module means: its body, its boundary, its region. */
#include "lower/lower.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/names.h"
#include "lower/lower_parts.h"
#include "modc_tokenizer.h"
#include "tokenizer/tokenizer.h"

/* Whether the input's shape comes of a section `generation:` that is faulty, which was said. */
static bool is_of_faulty(const struct module_tree *tree, const struct spec_input *input)
{
    const struct spec *spec = tree->spec;

    for (int i = spec->generation && !tree->generation ? spec->generation->first_input : spec->input_count;
         i < spec->input_count; i++)
        if (&spec->inputs[i] == input)
            return true;
    return false;
}

/* The dtype and shape of an input; false after a fault. */
static bool lower_input(struct lower *lower, struct scope *scope, const struct spec_input *spec,
                        struct value **out)
{
    struct eval *eval = &lower->eval;
    int errors = diag_errors(eval->cx);
    struct ev shape = eval_expr(eval, scope, spec->shape);

    if (diag_errors(eval->cx) > errors)
        diag_hint(eval->cx,
                  "a dimension that each call chooses is declared under 'sizes:', with its maximum");
    const struct module_tree *tree = lower->tree;
    enum dtype dtype = tree->complex ? dtype_of_parts(tree->dtype) : tree->dtype;
    const struct dim *dims[MAX_DIMS];
    int most = MAX_DIMS, ndim;
    struct op *op;

    if (spec->dtype) {
        struct ev type = eval_stored_dtype(eval, spec->dtype);

        if (type.kind == EV_BAD)
            return false;
        dtype = type.dtype;
    }
    most -= dtype_is_complex(dtype); /* graphs have one more: the parts */
    if (shape.kind != EV_TUPLE || shape.count > most) {
        if (shape.kind != EV_BAD)
            diag_error(eval->cx, spec->shape->loc, "a shape is a list of at most %d dimensions", most);
        return false;
    }
    for (int i = 0; i < shape.count; i++) {
        if (shape.items[i].kind != EV_INT) {
            if (shape.items[i].kind != EV_BAD)
                diag_error(eval->cx, shape.items[i].loc, "a dimension is an integer or a size, found %s",
                           ev_kind_text(&shape.items[i]));
            return false;
        }
        dims[i] = shape.items[i].dim;
        if (dim_lower(dims[i]) < 0 || dim_upper(dims[i]) > 1 << 30) {
            diag_error(eval->cx, shape.items[i].loc, "dimension %s %s %s",
                       dim_text(&eval->cx->arena, dims[i]), dim_is_const(dims[i], NULL) ? "is" : "may be",
                       dim_lower(dims[i]) < 0 ? "negative" : "larger than 2**30");
            return false;
        }
    }
    op = op_new(eval, GRAPH_OP_INPUT, spec->name, NULL, 0);
    op->loc = spec->loc;
    op->input.index = eval->graph->input_count;
    op->input.constant = spec->constant;
    op->input.complex = dtype_is_complex(dtype);
    ndim = shape.count;
    if (op->input.complex)
        dims[ndim++] = dim_const(&eval->cx->arena, 2);
    *out = graph_value(eval->graph, op, dtype_part(dtype), ndim, dims);
    (*out)->name = spec->name;
    graph_append(eval->graph, op);
    ARENA_PUSH(&eval->cx->arena, eval->graph->inputs, eval->graph->input_count, *out);
    return true;
}

/* What stands for the item of a result where all items are written, up to the first *xs. */
static const struct expr *written_item(const struct expr *written, int item)
{
    if (!written || (written->kind != EXPR_TUPLE && written->kind != EXPR_LIST) || item >= written->count)
        return NULL;
    for (int i = 0; i <= item; i++)
        if (written->items[i]->kind == EXPR_STAR || written->items[i]->kind == EXPR_FOR)
            return NULL;
    return written->items[item];
}

/* A key that may be the name of an output. */
static bool is_word(const char *key)
{
    if (isdigit((unsigned char)key[0]))
        return false;
    while (isalnum((unsigned char)*key) || *key == '_')
        key++;
    return *key == 0;
}

/* Whether one of the first `count` outputs is called so. */
static bool has_output(const struct graph *graph, const char *name, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(graph->output_names[i], name) == 0)
            return true;
    return false;
}

/* A name that an output has already, or none, becomes its number. */
static void name_output(struct graph *graph, const char *name, int *at)
{
    if (!name || !name[0] || has_output(graph, name, *at))
        name = graph->output_count == 1 ? "output" : arena_format(&graph->cx->arena, "output_%d", *at);
    while (has_output(graph, name, *at)) /* an earlier one may be called by a number that it does not have */
        name = arena_format(&graph->cx->arena, "%s_", name);
    graph->output_names[(*at)++] = name;
}

void lower_name_outputs(struct graph *graph, const struct expr *written, const struct ev *result, int *at)
{
    if (result->kind != EV_TUPLE && result->kind != EV_DICT) {
        name_output(graph, written && written->kind == EXPR_NAME ? written->text : NULL, at);
        return;
    }
    for (int i = 0; i < result->count; i++) {
        if (result->kind == EV_DICT && ev_has_value(&result->items[i]))
            name_output(graph, is_word(result->fields[i]) ? result->fields[i] : NULL, at);
        else
            lower_name_outputs(graph, written_item(written, i), &result->items[i], at);
    }
}

/* Everything returned, as tensors. */
static bool flatten_result(struct eval *eval, struct ev *result)
{
    switch (result->kind) {
    case EV_COMPLEX:
        if (result->integer) /* a number */
            *result = ev_complex(result->loc,
                                 build_cast(eval, result->loc, result->tensor, eval->default_dtype));
        return result->kind == EV_COMPLEX;
    case EV_TENSOR:
        return true;
    case EV_INT:
    case EV_FLOAT:
    case EV_BOOL:
        *result = ev_tensor(result->loc, build_scalar(eval, result->loc, result));
        return result->kind == EV_TENSOR;
    case EV_TUPLE:
    case EV_DICT:
        for (int i = 0; i < result->count; i++)
            if (!flatten_result(eval, &result->items[i]))
                return false;
        return true;
    case EV_BAD:
        return false;
    default:
        diag_error(eval->cx, result->loc, "an entry returns tensors, found %s", ev_kind_text(result));
        return false;
    }
}

static enum dtype autocast_dtype(const struct spec *spec)
{
    return spec->autocast && strcmp(spec->autocast, "float16") == 0 ? DTYPE_FLOAT16 : DTYPE_BFLOAT16;
}

/* An evaluator over a graph of its own, in which calls are lowered; its scope is the root's. */
static struct scope *start_graph(struct lower *lower, bool training, bool saves)
{
    struct program *program = lower->program;
    struct module_tree *tree = lower->tree;
    struct eval *eval = &lower->eval;
    struct graph *graph = ARENA_NEW(&program->cx->arena, struct graph);

    *graph = (struct graph){.cx = program->cx,
                            .program = program,
                            .name = lower->entry->name,
                            .root = tree->root,
                            .training = training,
                            .fenced = lower->fenced,
                            .loss = lower->entry->loss,
                            .saves = saves};
    *eval = (struct eval){.cx = program->cx,
                          .pool = eval_pool_new(&program->cx->arena),
                          .graph = graph,
                          .default_dtype = tree->dtype,
                          .casts = tree->spec->autocast != NULL,
                          .cast_dtype = autocast_dtype(tree->spec),
                          .training = training && !tree->root->always_eval,
                          .call_module = lower_module,
                          .call_method = lower_method,
                          .module_scope = lower_module_scope,
                          .class_attribute = lower_class_attribute,
                          .write = lower_write,
                          .read = lower_read,
                          .row_value = lower_row_value,
                          .find_row_name = lower_find_row_name,
                          .cache = lower_cache,
                          .memory = lower_memory,
                          .write_rows = lower_write_rows,
                          .resolves = program->resolving,
                          .partial = tree->spec->partial};
    tree->sizes = lower->entry->sizes;
    eval->globals = module_global_scope(eval, tree, true);
    return module_scope(eval, tree, tree->root);
}

/* The inputs as values, behind the boundary of the root, and as what statements see. False after a fault. */
static bool lower_inputs(struct lower *lower, struct value **values, struct ev *args)
{
    const struct entry *entry = lower->entry;
    const struct entry_source *source = lower->source;
    struct module_tree *tree = lower->tree;
    struct scope *shapes = module_global_scope(&lower->eval, tree, true);
    bool fine = true, *complex = ARENA_ARRAY(&lower->eval.cx->arena, entry->input_count + 1, bool);

    for (int i = 0; i < entry->input_count; i++)
        if (source->inputs[i]->shape && (is_of_faulty(tree, source->inputs[i]) ||
                                         !lower_input(lower, shapes, source->inputs[i], &values[i])))
            values[i] = NULL, fine = false;
    for (int i = 0; i < entry->input_count; i++)
        complex[i] = values[i] && values[i]->op->input.complex;
    if (lower->fenced && entry->model_count > 0 && fine)
        lower_fence(&lower->eval, tree->root, FENCE_FORWARD_PRE, values, complex, entry->model_count, 0);
    for (int i = 0; i < entry->input_count; i++) { /* bad where the input is */
        struct value *seen = values[i] && tree->calibrated
                                 ? lower_range(&lower->eval, source->inputs[i]->name, values[i])
                                 : values[i];

        args[i] = complex[i] ? ev_complex(source->inputs[i]->loc, seen)
                             : ev_tensor(source->inputs[i]->loc, seen);
    }
    return fine;
}

/* How many inputs a list of modules is called with: those of rows are no business of it. */
static int listed_inputs(const struct module_tree *tree, const struct entry *entry)
{
    return tree->spec->generation ? tree->spec->generation->first_input : entry->model_count;
}

/* What the statements return, or the list of modules; bad where that is nothing, which is said. */
static struct ev run_entry(struct lower *lower, struct scope *scope, struct ev *args)
{
    const struct entry *entry = lower->entry;
    const struct entry_source *source = lower->source;
    const struct module_tree *tree = lower->tree;
    struct eval *eval = &lower->eval;
    struct arena *arena = &eval->cx->arena;
    struct call call = {.loc = source->spec ? source->spec->loc : tree->root->loc,
                        .args = args,
                        .count = source->spec ? entry->model_count : listed_inputs(tree, entry),
                        .names = ARENA_ARRAY(arena, entry->input_count + 1, const char *),
                        .locs = ARENA_ARRAY(arena, entry->input_count + 1, struct loc)};
    struct ev result;

    if (source->spec)
        result = eval_statements(eval, scope, source->spec->statements, source->spec->count);
    else
        result = lower_children(eval, tree->root, &call);
    if (result.kind != EV_NONE && ((result.kind != EV_TUPLE && result.kind != EV_DICT) || result.count > 0))
        return ev_frozen(eval, result);
    if (!tree->spec->partial) { /* else its end may be what could not be read */
        diag_error(eval->cx, call.loc, "'%s' returns nothing", entry->name);
        diag_hint(eval->cx, "end it with '- return NAME'");
    }
    return ev_bad(call.loc);
}

/* What is returned, behind the boundary of the root. */
static struct ev leave_root(struct lower *lower, struct value **inputs, struct ev result)
{
    const int count = lower->entry->model_count;
    struct value **all = NULL;
    int all_count = 0, complex_count = 0, at = count;
    bool *complex = NULL;
    struct op *fence;

    for (int i = 0; i < count; i++) {
        ARENA_PUSH(&lower->eval.cx->arena, all, all_count, inputs[i]);
        ARENA_PUSH(&lower->eval.cx->arena, complex, complex_count,
                   lower->eval.graph->inputs[i]->op->input.complex);
    }
    lower_gather(&lower->eval, &result, &all, &all_count);
    lower_gather_complex(&lower->eval, &result, &complex, &complex_count);
    fence = lower_fence(&lower->eval, lower->tree->root, FENCE_FORWARD, all, complex, all_count, count);
    build_share(&lower->eval, all + count, fence->inputs + count, 0, all_count - count);
    return lower_scatter(&lower->eval, &result, all, &at);
}

static struct graph *lower_entry(struct program *program, struct entry *entry,
                                 const struct entry_source *source, bool training, bool fenced, bool saves)
{
    struct lower lower = {
        .program = program, .tree = source->tree, .entry = entry, .source = source, .fenced = fenced};
    struct eval *eval = &lower.eval;
    struct arena *arena = &program->cx->arena;
    struct scope *scope = start_graph(&lower, training, saves), *own = ARENA_NEW(arena, struct scope);
    struct graph *graph = eval->graph;
    struct ev *args = ARENA_ARRAY(arena, entry->input_count + 1, struct ev), result;
    struct value **values = ARENA_ARRAY(arena, entry->input_count + 1, struct value *), **results = NULL;
    const struct expr *returned = NULL;
    const bool fine = lower_inputs(&lower, values, args);
    int named = 0, count = 0, complex_count = 0;

    own->outer = scope;
    for (int i = 0; i < entry->model_count; i++)
        scope_bind(eval, own, source->inputs[i]->name, args[i]);
    if (fine)
        lower_start_rows(&lower, args);
    result = run_entry(&lower, own, args);
    if (!flatten_result(eval, &result) || !fine)
        return NULL;
    if (fenced)
        result = leave_root(&lower, values, result);
    if (own->returned)
        returned = own->returned->value;
    if (entry->loss) {
        result = lower_loss(&lower, scope, returned, result, args);
        returned = NULL;
        if (result.kind == EV_BAD)
            return NULL;
        result.tensor->name = "loss";
    }
    result = ev_fresh(eval, result);
    if (result.kind == EV_BAD)
        return NULL;
    lower_gather(eval, &result, &results, &count);
    lower_gather_complex(eval, &result, &graph->complex, &complex_count);
    for (int i = 0; i < count; i++)
        graph_return(graph, results[i]);
    graph->result_count = graph->output_count;
    graph->output_names = ARENA_ARRAY(arena, graph->output_count + 1, const char *);
    lower_name_outputs(graph, returned, &result, &named);
    if (entry->loss)
        graph->output_names[0] = "loss";
    return saves && lower_find_shared(lower.tree, graph)
               ? lower_entry(program, entry, source, training, fenced, saves)
               : graph;
}

static const struct spec_input *find_input(const struct spec *spec, const char *name)
{
    for (int i = 0; i < spec->input_count; i++)
        if (strcmp(spec->inputs[i].name, name) == 0)
            return &spec->inputs[i];
    return NULL;
}

bool lower_read_entry(struct program *program, struct entry *entry, struct entry_source *source,
                      const struct spec_function *spec)
{
    struct module_tree *tree = source->tree;
    struct cx *cx = program->cx;
    struct eval eval = {.cx = cx, .default_dtype = tree->dtype, .partial = tree->spec->partial};
    int count = spec && spec->has_args ? spec->arg_count : tree->spec->input_count, unmet;

    source->spec = spec;
    source->inputs = ARENA_ARRAY(&cx->arena, count + 1, const struct spec_input *);
    for (int i = 0; i < count; i++) {
        bool own = spec && spec->has_args;

        source->inputs[i] = own ? find_input(tree->spec, spec->args[i].name) : &tree->spec->inputs[i];
        if (!source->inputs[i])
            return false; /* the spec room said so */
    }
    entry->input_count = entry->model_count = count;
    entry->sizes = ARENA_ARRAY(&cx->arena, tree->size_count + 1, struct size);
    memcpy(entry->sizes, tree->sizes, (size_t)tree->size_count * sizeof *tree->sizes);
    for (int i = 0; spec && i < spec->max_count; i++) {
        struct ev max = eval_expr(&eval, module_global_scope(&eval, tree, false), spec->max[i].max);
        int64_t value;
        int at = -1;

        for (int j = 0; j < tree->size_count; j++)
            if (strcmp(tree->sizes[j].name, spec->max[i].name) == 0)
                at = j;
        if (at < 0 || max.kind == EV_BAD)
            return false; /* said already: the former by the spec room */
        if (!ev_get_int(&max, &value) || value < 1 || value > tree->sizes[at].max) {
            diag_error(cx, spec->max[i].max->loc,
                       "the maximum of '%s' must be an integer from 1 to %lld here, found %s",
                       spec->max[i].name, (long long)tree->sizes[at].max, ev_text(&eval, &max));
            return false;
        }
        entry->sizes[at].max = value;
    }
    unmet = module_limit_sizes(&cx->arena, tree, entry->sizes);
    if (unmet < 0)
        return true;
    diag_error(cx, spec->max[0].loc, "with these maxima no sizes meet %s",
               requirement_text(&cx->arena, &tree->requirements[unmet]));
    diag_note(cx, tree->requirements[unmet].loc, "it is required here");
    return false;
}

static bool any_called(const struct module *module)
{
    if (module->calls > 0)
        return true;
    for (int i = 0; i < module->child_count; i++)
        if (any_called(module->children[i]))
            return true;
    return false;
}

/* Nothing calls the settings of a section (MultiStep), an empty list does no work, and a layer uses its parts as it likes. */
static bool may_be_unused(const struct module *module)
{
    if (module->parent && module->parent->layer && module->parent->layer->container == LAYER_PLAIN)
        return true;
    if (!module->layer)
        return false;
    return module->layer->container == LAYER_PLAIN ? !module->layer->forward : module->child_count == 0;
}

static bool has_keys(const struct module_tree *tree, const struct module *module)
{
    for (int i = 0; i < tree->key_count; i++) {
        int owner = tree->keys[i]->owner->index;

        if (owner >= module->index && owner <= module->index + module->subtree)
            return true;
    }
    return false;
}

/* Where one place of the spec makes many modules, the first of them is said. */
static void warn_unused(struct cx *cx, const struct module_tree *tree)
{
    struct names said = {0};

    for (int i = 1; i < tree->module_count; i++) {
        const struct module *module = tree->modules[i];
        const char *place = arena_format(&cx->arena, "%s:%u", module->loc.source->name, module->loc.offset);

        if (any_called(module))
            continue;
        i += module->subtree;
        if (may_be_unused(module) || names_add(&cx->arena, &said, place, module->path, module->loc))
            continue;
        diag_warning(cx, module->loc, "module '%s' is never called%s", module->path,
                     has_keys(tree, module) ? "; its weights are kept" : "");
        diag_hint(cx, "call it in a statement of 'forward' or of an entry, or leave it out");
    }
}

/* A call takes every size: one that nothing uses would be asked for in vain. */
static void check_sizes(struct program *program)
{
    const struct module_tree *tree = program->tree;

    for (int i = 0; i < tree->size_count; i++) {
        if (tree->sizes_used[i])
            continue;
        diag_error(program->cx, tree->spec->sizes[i].loc, "no shape and no statement uses the size '%s'",
                   tree->spec->sizes[i].name);
        diag_hint(program->cx,
                  "it would be an argument of every call; use constants: for fixed numbers, or leave it out");
    }
}

/* Whether what was lowered in evaluation is what training would have: note [modes] in graph.h. */
static bool serves_both(const struct program *program, struct graph *const graphs[2])
{
    for (int fenced = 0; fenced < 2; fenced++)
        if (graphs[fenced] && graphs[fenced]->asks_mode)
            return false;
    return graphs[0] && !program->resolving;
}

void lower_variants(struct program *program, struct entry *entry, const struct entry_source *source,
                    bool training, bool saves)
{
    int count = program->tree->spec->hooks == SPEC_OFF || program->resolving ? 1 : 2;
    struct graph *(*graphs)[2] = saves ? entry->saving : entry->graphs;
    const bool both = training && serves_both(program, graphs[0]);

    for (int fenced = 0; fenced < count && !program->full; fenced++)
        graphs[training][fenced] = !both ? lower_entry(program, entry, source, training, fenced, saves)
                                   : graphs[0][fenced] ? graph_in_training(graphs[0][fenced])
                                                       : NULL;
}

/* Whether training alone changes one of them, so that it is nothing to compute once in evaluation, and something in training. */
static bool any_changes_in_training(struct module_tensor *const *tensors, int count)
{
    for (int i = 0; i < count; i++)
        if (tensors[i]->written && !tensors[i]->written_in_eval)
            return true;
    return false;
}

static void part_modes(struct graph *graph, void *data)
{
    (void)data;
    if (graph->evaluation)
        graph_part_modes(graph);
}

static struct settings read_settings(const struct spec *spec, int variant)
{
    return (struct settings){.source = spec->source,
                             .backend = backend_find(spec_variant_device(spec, variant)),
                             .pack = spec->pack != SPEC_OFF,
                             .packs_once = spec->packs_once,
                             .embeds = spec->embeds,
                             .dsp = spec->dsp,
                             .small = spec->small,
                             .hooks = spec->hooks != SPEC_OFF,
                             .state_dict = spec->state_dict != SPEC_OFF,
                             .winograd = spec->winograd != SPEC_OFF,
                             .flushes = spec->flushes,
                             .backward = spec->backward,
                             .fused = spec->fused,
                             .threads = spec->threads};
}

/* Whether the graphs return tensors of the same types and shapes. */
static bool return_alike(const struct graph *a, const struct graph *b)
{
    if (a->result_count != b->result_count)
        return false;
    for (int i = 0; i < a->result_count; i++) {
        const struct value *x = a->outputs[i], *y = b->outputs[i];

        if (x->dtype != y->dtype || x->ndim != y->ndim)
            return false;
        for (int k = 0; k < x->ndim; k++)
            if (!dim_equal(x->dims[k], y->dims[k]))
                return false;
    }
    return true;
}

static const char *results_text(struct arena *arena, const struct graph *graph)
{
    const char *text = "";

    for (int i = 0; i < graph->result_count; i++) {
        const struct value *value = graph->outputs[i];

        text = arena_format(arena, "%s%s%s %s", text, i > 0 ? ", " : "", dtype_rows[value->dtype].name,
                            shape_text(arena, value->ndim, value->dims));
    }
    return text;
}

/* An entry is one function in C: each mode has its own `return`, but the results are alike, and have the names that they have in
 * evaluation mode. */
static void join_modes(struct program *program, struct entry *entry, struct loc loc)
{
    struct arena *arena = &program->cx->arena;
    const struct graph *first = entry->graphs[0][0], *second = entry->graphs[1][0];
    struct graph *all[] = {entry->graphs[0][1], entry->graphs[1][0], entry->graphs[1][1], entry->saving[0][0],
                           entry->saving[0][1], entry->saving[1][0], entry->saving[1][1]};

    if (!first || !second)
        return;
    if (!return_alike(first, second)) {
        diag_error(program->cx, loc, "'%s' returns other tensors in training mode: %s, not %s", entry->name,
                   results_text(arena, second), results_text(arena, first));
        diag_hint(program->cx,
                  "return what both modes have; what is of no use in one of them may be zeros there");
        return;
    }
    for (int i = 0; i < COUNT(all); i++)
        for (int k = 0; all[i] && k < first->result_count; k++)
            all[i]->output_names[k] = first->output_names[k];
}

/* Into a program; unless it resolves, also the variants with hooks. */
static struct program *lower_entries(struct cx *cx, struct module_tree *tree, bool resolving)
{
    struct program *program = ARENA_NEW(&cx->arena, struct program);
    const struct spec *spec = tree->spec;
    struct size *sizes = tree->sizes;
    bool saves = spec->backward && !spec->fused && !resolving; /* fused: of the loss alone */

    program->cx = cx;
    program->tree = tree;
    program->settings = read_settings(spec, tree->variant);
    program->resolving = resolving;
    program->entries = ARENA_ARRAY(&cx->arena, spec->entry_count + 3, struct entry);
    for (int i = -1; i < spec->entry_count; i++) {
        struct entry *entry = &program->entries[program->entry_count];
        struct entry_source source = {.tree = tree};
        const struct spec_function *function = i < 0 ? spec->root.forward : spec->entries[i];

        if (i < 0 && !function && !spec_is_sequential(spec->root.modules))
            continue; /* the spec room said so */
        entry->name = i < 0 ? "forward" : function->name;
        tree->sizes = sizes;
        if (!lower_read_entry(program, entry, &source, function))
            continue;
        program->entry_count++;
        if (i < 0 && !function && listed_inputs(tree, entry) != 1)
            continue; /* the spec room said so */
        for (int training = 0; training < 2; training++)
            lower_variants(program, entry, &source, training, false);
        for (int training = 0; training < 2 && saves && diag_errors(cx) == 0; training++)
            lower_variants(program, entry, &source, training, true);
        join_modes(program, entry, function ? function->loc : tree->root->loc);
    }
    tree->sizes = sizes; /* the last entry may have had others */
    if (spec->training && !resolving && diag_errors(cx) == 0)
        lower_loss_entry(program, tree);
    tree->sizes = sizes;
    if (any_changes_in_training(tree->keys, tree->key_count))
        program_each_mode(program, part_modes, NULL);
    return program;
}

bool lower_resolve(struct cx *cx, struct module_tree *tree)
{
    int errors = diag_errors(cx);
    bool called;

    if (tree->lazy_count == 0 && !tree->spec->generation)
        return true;
    lower_entries(cx, tree, true);
    called = diag_errors(cx) > errors || tree->partial; /* or would be, but for that */
    for (int i = 0; i < tree->lazy_count && !called; i++) {
        const struct module *module = tree->lazy[i];

        if (module->resolved || module->faulty || (module->parent->lazy && !module->parent->resolved))
            continue;
        diag_error(cx, module->loc, "'%s' is never called, so its %s %s not known", module->path,
                   module_waits_for(module), module->lazy->channels ? "are" : "is");
        if (module->lazy->becomes)
            diag_hint(cx, "call it, or write %s with all its arguments", module->lazy->becomes);
        else
            diag_hint(cx, "call it, or leave it out");
    }
    for (int i = 0; i < tree->module_count; i++)
        tree->modules[i]->calls = 0;
    module_finish(cx, tree);
    return diag_errors(cx) == errors;
}

/* Whether every entry could be lowered. */
static bool is_complete(const struct program *program)
{
    for (int i = 0; i < program->entry_count; i++)
        if (!program->entries[i].graphs[0][0] || !program->entries[i].graphs[1][0])
            return false;
    return program->entry_count > 0;
}

/* Ids of the tokenizer have logits. */
static void check_vocabulary(const struct program *program)
{
    const struct module_tree *tree = program->tree;
    int64_t logits;

    if (!tree->tokenizer || !program_generates(program))
        return;
    logits = dim_upper(program->entries[0].graphs[0][0]->outputs[0]->dims[1]);
    if (tree->tokenizer->table->vocabulary > logits)
        diag_error(program->cx, tree->spec->generation->loc,
                   "the tokenizer has %d tokens, and the model logits of %lld",
                   tree->tokenizer->table->vocabulary, (long long)logits);
}

struct program *lower_program(struct cx *cx, struct module_tree *tree)
{
    struct program *program = lower_entries(cx, tree, false);

    if (diag_errors(cx) == 0 && !is_complete(program))
        return NULL;
    if (diag_errors(cx) == 0) {
        if (program->entry_count > 0)
            check_sizes(program);
        if (tree->generation && program->entry_count > 0 && !program_generates(program)) {
            diag_warning(
                cx, tree->spec->generation->loc,
                "forward is no function from one int64 token a row to logits, (logits, n): the model gets no generator");
            diag_hint(cx,
                      "take one input beside those of 'generation:', and return the logits of last(x) alone");
        }
        check_vocabulary(program);
        lower_check_positions(program);
        if (tree->generation && tree->spec->generation->encoder && program_encoder(program) < 0) {
            diag_error(cx, tree->spec->generation->encoder_loc,
                       "'%s' is no entry that takes int64 (tokens) and an int64, the sequence",
                       tree->spec->generation->encoder);
            diag_hint(cx,
                      "entries: {%s(source, target): ...}, inputs: {source: {shape: [tokens], dtype: int64}, "
                      "target: {shape: [], dtype: int64}}",
                      tree->spec->generation->encoder);
        }
        warn_unused(cx, tree);
    }
    return program;
}
