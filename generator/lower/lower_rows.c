/* lower_rows.c - what every module can read of the rows of a call, and the caches in which rows are kept: note [rows] in graph.h. */
#include <string.h>

#include "graph/make.h"
#include "lower/lower_parts.h"
#include "tree/generation.h"

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static const char *const names[ROW_VALUE_COUNT] = {
    [ROW_POSITION] = "position", [ROW_SEQUENCE] = "sequence", [ROW_PAGES] = "pages",
    [ROW_LOGITS] = "logit_rows", [ROW_SLOT] = "slot",
};

/* Every element is in [0, extent), or the call ends. */
static bool is_within(struct eval *eval, struct loc loc, struct value *value, int64_t extent)
{
    return build_in_range(eval, loc, value->name, value, dim_const(&eval->cx->arena, extent), false);
}

/* Where a row's keys and values are kept: the page of its position, and its place there. */
static struct value *find_slots(struct eval *eval, struct loc loc, const struct generation *generation,
                                struct value *const *rows)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *flat[1] = {dims_count(arena, rows[ROW_PAGES])};
    struct scope scope = {.outer = NULL};
    struct ev at, slot;

    scope_bind(eval, &scope, "position", ev_tensor(loc, rows[ROW_POSITION]));
    scope_bind(eval, &scope, "sequence", ev_tensor(loc, rows[ROW_SEQUENCE]));
    at = eval_text(eval, &scope,
                   generation->per == 1
                       ? "sequence"
                       : arena_format(arena, "sequence * %lld + position // %lld", (long long)generation->per,
                                      (long long)generation->page));
    if (at.kind != EV_TENSOR)
        return NULL;
    scope_bind(eval, &scope, "page",
               ev_tensor(loc, build_gather_inside(eval, loc, "page",
                                                  build_reshape(eval, loc, rows[ROW_PAGES], 1, flat), 0,
                                                  at.tensor, false)));
    slot = eval_text(
        eval, &scope,
        arena_format(arena,
                     generation->per == 1 ? "page * %lld + position" : "page * %lld + position %% %lld",
                     (long long)generation->page, (long long)generation->page));
    if (slot.kind == EV_TENSOR)
        slot.tensor->name = names[ROW_SLOT];
    return slot.kind == EV_TENSOR ? slot.tensor : NULL;
}

/* A call has one row of a sequence, or it ends. */
static void need_one_row(struct eval *eval, struct loc loc, struct value *sequence)
{
    struct scope scope = {.outer = NULL};
    struct ev apart;

    scope_bind(eval, &scope, "sequence", ev_tensor(loc, sequence));
    apart = eval_text(eval, &scope, "(sequence[:, None] == sequence).sum(1) == 1");
    if (apart.kind == EV_TENSOR)
        build_holds(eval, loc, apart.tensor);
}

void lower_start_rows(struct lower *lower, struct ev *args)
{
    const struct generation *generation = lower->tree->generation;
    const struct entry *entry = lower->entry;
    struct eval *eval = &lower->eval;
    struct value **rows = eval->graph->rows;
    const struct loc loc = lower->tree->spec->generation ? lower->tree->spec->generation->loc
                                                         : lower->tree->root->loc;
    int found = 0;

    if (!generation)
        return;
    for (int i = 0; i < entry->model_count; i++) {
        const struct spec_input *input = lower->source->inputs[i];

        if (input < lower->tree->spec->inputs + lower->tree->spec->generation->first_input ||
            args[i].kind != EV_TENSOR)
            continue;
        for (int k = 0; k < ROW_SLOT; k++) {
            if (strcmp(input->name, names[k]) != 0)
                continue;
            rows[k] = args[i].tensor;
            found++;
        }
    }
    if (found < ROW_SLOT) {
        memset(rows, 0, ROW_VALUE_COUNT * sizeof *rows);
        return;
    }
    eval->at = loc;
    is_within(eval, loc, rows[ROW_POSITION], generation->context);
    is_within(eval, loc, rows[ROW_SEQUENCE], generation->sequences);
    is_within(eval, loc, rows[ROW_PAGES], generation_pages(generation));
    build_in_range(eval, loc, names[ROW_LOGITS], rows[ROW_LOGITS], rows[ROW_POSITION]->dims[0], false);
    rows[ROW_SLOT] = find_slots(eval, loc, generation, rows);
    if (lower->tree->one_row)
        need_one_row(eval, loc, rows[ROW_SEQUENCE]);
}

/* A region takes what it reads of the rows as inputs behind its own. */
static struct value *add_row_input(struct eval *eval, enum row_value which, const struct value *like)
{
    struct graph *graph = eval->graph;
    struct op *op = op_new(eval, GRAPH_OP_INPUT, "input", NULL, 0);
    struct value *value;

    op->input.index = graph->input_count;
    op->input.constant = true;
    op->loc = like->loc;
    value = graph_value(graph, op, like->dtype, like->ndim, like->dims);
    value->name = names[which];
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i]->name && strcmp(graph->inputs[i]->name, value->name) == 0)
            value->name = arena_format(&eval->cx->arena, "%s_of_rows", names[which]);
    graph_insert(graph, graph->input_count, op);
    ARENA_PUSH(&eval->cx->arena, graph->inputs, graph->input_count, value);
    ARENA_PUSH(&eval->cx->arena, graph->row_inputs, graph->row_input_count, which);
    return graph->rows[which] = value;
}

struct value *lower_row_value(struct eval *eval, int which)
{
    struct lower *lower = (struct lower *)eval;
    const struct value *like;

    if (eval->graph->rows[which] || !eval->graph->region)
        return eval->graph->rows[which];
    like = lower_row_value(&lower->outer->eval, which);
    return like ? add_row_input(eval, which, like) : NULL;
}

bool lower_find_row_name(struct eval *eval, const char *name, struct loc loc, struct ev *out)
{
    for (int which = ROW_POSITION; which <= ROW_SEQUENCE; which++) {
        struct value *value = strcmp(name, names[which]) == 0 ? lower_row_value(eval, which) : NULL;

        if (!value)
            continue;
        *out = ev_tensor(loc, value);
        return true;
    }
    return false;
}

void lower_add_row_inputs(struct eval *eval, const struct graph *region, struct value ***inputs, int *count)
{
    for (int i = 0; i < region->row_input_count; i++)
        ARENA_PUSH(&eval->cx->arena, *inputs, *count, lower_row_value(eval, region->row_inputs[i]));
}

/* ---- caches ---------------------------------------------------------------------------------------------------- */

/* How many caches calls of each module have used in the graph so far, by the module's index. */
static int *count_caches(struct eval *eval)
{
    struct graph *graph = eval->graph;

    if (!graph->caches)
        graph->caches = ARENA_ARRAY(&eval->cx->arena, graph->program->tree->module_count + 1, int);
    return graph->caches;
}

bool lower_has_cached(const struct graph *graph, const struct module *instance, const struct region *region)
{
    const int *own = graph->caches, *inside = region->graph->caches;

    for (int i = 0; own && inside && i <= instance->subtree; i++)
        if (own[instance->index + i] > 0 && inside[region->graph->root->index + i] > 0)
            return true;
    return false;
}

void lower_add_cached(struct eval *eval, const struct module *instance, const struct region *region)
{
    const int *inside = region->graph->caches;

    for (int i = 0; inside && i <= instance->subtree; i++)
        count_caches(eval)[instance->index + i] += inside[region->graph->root->index + i];
}

static bool is_taken(const struct module *module, const char *name)
{
    const struct module_tensor *tensor = module_find_tensor(module, name);

    return module_child(module, name) || (tensor && !tensor->cache);
}

/* cached_keys, of a second cache of the module cached_keys_2. */
static const char *cache_name(struct arena *arena, const struct module *module, const char *what, int number)
{
    const char *name = number > 0 ? arena_format(arena, "cached_%s_%d", what, number + 1)
                                  : arena_format(arena, "cached_%s", what);

    while (is_taken(module, name))
        name = arena_format(arena, "%s_", name);
    return name;
}

/* Rows of the cache as one of `like`; false after an error. */
static bool fits_cache(struct eval *eval, struct loc loc, const char *what, const struct value *like)
{
    for (int i = 1; i < like->ndim; i++) {
        if (dim_is_const(like->dims[i], NULL))
            continue;
        diag_error(eval->cx, loc, "%s of a row have a shape that sizes decide, %s, and cannot be kept", what,
                   shape_text(&eval->cx->arena, like->ndim, like->dims));
        return false;
    }
    return true;
}

static bool is_alike(const struct module_tensor *tensor, const struct value *like, enum dtype dtype,
                     int64_t rows)
{
    bool alike = tensor->dtype == dtype && tensor->ndim == like->ndim && tensor->dims[0] == rows;

    for (int i = 1; alike && i < like->ndim; i++)
        alike = dim_equals(like->dims[i], tensor->dims[i]);
    return alike;
}

/* The state of the module; made while that may be. NULL after an error. */
static struct module_tensor *find_state(struct eval *eval, struct loc loc, struct module *module,
                                        const char *name, enum module_cache kind, const struct value *like,
                                        enum dtype dtype, int64_t rows, const char *what)
{
    struct lower *lower = (struct lower *)eval;
    struct module_tensor *tensor = module_find_tensor(module, name);

    if (!tensor && lower->program->resolving) {
        tensor = module_add_cache(eval->cx, lower->tree, module, name, kind, like, rows, loc);
        tensor->dtype = dtype;
    }
    if (tensor && is_alike(tensor, like, dtype, rows))
        return tensor;
    diag_error(eval->cx, loc,
               "what is kept here of a row, %s of shape %s, has another shape in other calls of '%s'", what,
               shape_text(&eval->cx->arena, like->ndim, like->dims),
               module->path[0] ? module->path : lower->tree->name);
    return NULL;
}

/* As what rows as `like` are kept; NULL: as they are. What the next row is made of is never narrow. */
static const struct narrow *find_narrow(const struct eval *eval, enum module_cache kind,
                                        const struct value *like)
{
    return kind == CACHE_SEQUENCES || like->dtype != DTYPE_FLOAT32
               ? NULL
               : ((const struct lower *)eval)->tree->generation->cache;
}

/* cached_keys and, of scaled ones, cached_keys_scale. False after an error. */
static bool find_cache(struct eval *eval, struct loc loc, struct module *module, const char *what, int number,
                       enum module_cache kind, const struct value *like, int64_t rows, struct eval_kept *out)
{
    struct arena *arena = &eval->cx->arena;
    const struct narrow *narrow = find_narrow(eval, kind, like);

    if (!fits_cache(eval, loc, what, like))
        return false;
    *out = (struct eval_kept){.narrow = narrow};
    out->rows = find_state(eval, loc, module, cache_name(arena, module, what, number), kind, like,
                           narrow ? narrow->dtype : like->dtype, rows, what);
    if (out->rows && narrow && narrow->most > 0) {
        struct value lines = *like;

        lines.ndim--;
        what = arena_format(arena, "%s_scale", what);
        out->scales = find_state(eval, loc, module, cache_name(arena, module, what, number), kind, &lines,
                                 like->dtype, rows, what);
        return out->scales != NULL;
    }
    return out->rows != NULL;
}

/* What another call has made; false: nothing yet. */
static bool look_up(struct eval *eval, struct module *module, const char *what, struct eval_kept *out)
{
    struct arena *arena = &eval->cx->arena;

    *out = (struct eval_kept){
        .rows = module_find_tensor(module, cache_name(arena, module, what, 0)),
        .scales = module_find_tensor(module,
                                     cache_name(arena, module, arena_format(arena, "%s_scale", what), 0)),
    };
    return out->rows != NULL;
}

bool lower_cache(struct eval *eval, struct loc loc, enum module_cache kind, const char *const *what,
                 const struct value *const *like, int count, struct eval_kept *out)
{
    const struct generation *generation = ((struct lower *)eval)->tree->generation;
    const int64_t rows = kind == CACHE_SEQUENCES ? generation->sequences
                                                 : generation_pages(generation) * generation->page;
    struct module *module = eval_module(eval);
    int number = count_caches(eval)[module->index]++;

    for (int i = 0; i < count; i++)
        if (!find_cache(eval, loc, module, what[i], number, kind, like[i], rows, &out[i]))
            return false;
    return true;
}

bool lower_memory(struct eval *eval, struct loc loc, enum module_cache kind, int64_t each,
                  const char *const *what, const struct value *const *like, int count, struct eval_kept *out)
{
    struct lower *lower = (struct lower *)eval;
    struct module *module = eval_module(eval);

    lower->tree->one_row |= kind == CACHE_SEQUENCES;
    for (int i = 0; i < count; i++) {
        const int64_t rows = like ? lower->tree->generation->sequences * (like[i]->ndim > 1 ? each : 1) : 0;

        if (like ? !find_cache(eval, loc, module, what[i], 0, kind, like[i], rows, &out[i])
                 : !look_up(eval, module, what[i], &out[i]))
            return false;
    }
    return true;
}

/* ---- tables of positions ---------------------------------------------------------------------------------------- */

void lower_check_positions(const struct program *program)
{
    const struct module_tree *tree = program->tree;
    const struct graph *graph = program->entry_count > 0 ? program->entries[0].graphs[0][0] : NULL;
    const struct value *position = graph ? graph->rows[ROW_POSITION] : NULL;

    for (int i = 0; tree->generation && position && i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        const struct module *module = op->call ? op->call->module : NULL;
        int64_t rows;

        if (op->code != GRAPH_OP_CHECK || op->check.kind != CHECK_INDEX || op->inputs[0] != position ||
            !dim_is_const(op->check.extent, &rows) || rows >= tree->generation->context)
            continue;
        diag_error(
            program->cx, op->loc, "%s has %lld rows, and positions go up to %lld, since 'context' is %lld",
            module && module->path[0] ? arena_format(&program->cx->arena, "'%s'", module->path) : "the table",
            (long long)rows, (long long)tree->generation->context - 1, (long long)tree->generation->context);
        diag_hint(program->cx, "a table of learned positions bounds 'context': it is at most %lld",
                  (long long)rows);
    }
}
