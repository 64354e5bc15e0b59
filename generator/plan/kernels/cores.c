/* cores.c - cores of maps and of reductions: see note [cores] in plan/kernel.h. What differs between calls becomes arguments of the
 * core, and the kernel a wrapper that states them. */
#include <string.h>

#include "plan/kernels/draft.h"

/* What cores call an extent or a distance: the plan has one of each name, so that equal cores are equal records. */
static const struct size *core_length(struct cx *cx, struct plan *plan, const char *name)
{
    const struct module_tree *tree = plan->program->tree;
    struct size *length;

    name = size_name(cx, tree, name);
    for (int i = 0; i < plan->length_count; i++)
        if (strcmp(plan->lengths[i]->name, name) == 0)
            return plan->lengths[i];
    length = ARENA_NEW(&cx->arena, struct size);
    *length = (struct size){
        .name = name, .c_name = name, .index = tree->size_count + plan->length_count, .max = INT32_MAX};
    ARENA_PUSH(&cx->arena, plan->lengths, plan->length_count, length);
    return length;
}

/* A core and its wrapper, while what differs between calls becomes arguments. */
struct wrapping {
    struct cx *cx;
    struct plan *plan;
    struct kernel *core, *wrapper;
};

static struct wrapping begin_core(struct cx *cx, struct plan *plan, struct kernel *wrapper)
{
    struct wrapping w = {cx, plan, new_kernel(cx, plan, KERNEL_NEST), wrapper};

    w.core->kind = wrapper->kind;
    w.core->nest = wrapper->nest;
    w.core->own_name = true;
    return w;
}

/* Argument number `at` of the core. */
static const struct dim *argument(struct wrapping *w, int at)
{
    return dim_size(&w->cx->arena, w->core->lengths[at]);
}

static const struct dim *add_argument(struct wrapping *w, const struct dim *dim, const char *name)
{
    const struct size *length = core_length(w->cx, w->plan, name);

    ARENA_PUSH(&w->cx->arena, w->core->lengths, w->core->length_count, length);
    ARENA_PUSH(&w->cx->arena, w->wrapper->shapes, w->wrapper->shape_count,
               ((struct kernel_shape){length->c_name, dim}));
    return argument(w, w->core->length_count - 1);
}

/* Rows that lie dense are as far apart as they are long; where no extent is the distance, another one may be. */
static const struct dim *distance(struct wrapping *w, const struct dim *dim, const char *name)
{
    const int axes = w->core->nest.ndim;

    for (int at = axes - 1; at >= 0; at--)
        if (dim_equal(w->wrapper->shapes[at].dim, dim))
            return argument(w, at);
    for (int at = axes; at < w->wrapper->shape_count; at++)
        if (dim_equal(w->wrapper->shapes[at].dim, dim))
            return argument(w, at);
    return add_argument(w, dim, name);
}

/* The dag with arguments for the sizes that it computes with, as a mean does with the number of its elements. */
static const struct dag *general_dag(struct wrapping *w, const struct dag *own)
{
    struct arena *arena = &w->cx->arena;
    struct dag *dag = ARENA_NEW(arena, struct dag);
    int count = 0;

    *dag = *own;
    dag->nodes = ARENA_ARRAY(arena, own->count, struct dag_node);
    dag->room = own->count;
    memcpy(dag->nodes, own->nodes, (size_t)own->count * sizeof *own->nodes);
    for (int i = 0; i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_DIM)
            dag->nodes[i].dim = distance(w, dag->nodes[i].dim, arena_format(arena, "size%d", count++));
    return dag;
}

/* By which letter the loop over an axis is called: those over what is reduced run inside of the others. */
static char loop_letter(const struct nest *nest, int axis)
{
    int before = 0;

    for (int i = 0; i < nest->ndim; i++)
        before += i < axis ? nest->reduced[i] <= nest->reduced[axis] : nest->reduced[i] < nest->reduced[axis];
    return (char)('i' + before);
}

/* Extents are ni, nj, ... of the loops over i, j, ...; x0_i is how far x0 goes with each step of i. */
static void generalise(struct wrapping *w)
{
    struct arena *arena = &w->cx->arena;
    struct nest *nest = &w->core->nest;
    const struct nest own = *nest;

    nest->operands = ARENA_ARRAY(arena, own.operand_count, struct nest_operand);
    nest->normal = true;
    for (int i = 0; i < own.ndim; i++)
        nest->dims[i] = add_argument(
            w, own.dims[i], own.ndim == 1 ? "count" : arena_format(arena, "n%c", loop_letter(&own, i)));
    for (int j = 0; j < own.operand_count; j++) {
        nest->operands[j] = own.operands[j];
        for (int i = 0; i < own.ndim; i++) {
            const struct dim *stride = own.operands[j].strides[i];
            const char *name = j > 0 ? arena_format(arena, "x%d_%c", j - 1, loop_letter(&own, i))
                                     : arena_format(arena, "y_%c", loop_letter(&own, i));

            if (!dim_equals(stride, 0) && !dim_equals(stride, 1))
                nest->operands[j].strides[i] = distance(w, stride, name);
        }
    }
}

/* A dag over inputs of the same types, which stands for all that a core's argument may compute; NULL: these are not of one
 * type, or it does not read them all. */
static const struct dag *any_dag(struct arena *arena, const struct dag *dag)
{
    const enum dtype dtype = dag->nodes[dag->result].dtype;
    const bool *loads = dag_loads(arena, dag);
    struct dag *any = dag_new(arena, dag->input_count);
    int sum = -1;

    for (int i = 0; i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_LOAD && dag->nodes[i].dtype != dtype)
            return NULL;
    for (int i = 0; i < dag->input_count; i++) {
        const int own = loads[i] ? dag_load(arena, any, i, dtype) : -1;

        if (own < 0)
            return NULL;
        sum = dag_add(arena, any,
                      (struct dag_node){.prim = sum < 0 ? PRIM_NEG : PRIM_ADD,
                                        .dtype = dtype,
                                        .args = {sum < 0 ? own : sum, sum < 0 ? -1 : own, -1}});
    }
    any->result = sum;
    return any;
}

/* Whether a core may take what the dag computes as an argument. */
static bool is_function(struct cx *cx, const struct dag *dag)
{
    return dag->input_count > 0 && !dag_knows_sizes(dag) && any_dag(&cx->arena, dag);
}

static const struct element_function *function_of(struct wrapping *w, const struct dag *dag,
                                                  const char *label, const struct op *op)
{
    const bool as_is = dag_is_identity(dag);

    return element_function(w->cx, w->plan, as_is ? NULL : dag, dag->nodes[dag->result].dtype, label, op);
}

/* ---- maps ------------------------------------------------------------------------------------------------------- */

/* A map that computes something, whose rows are long enough for vectors, and which is not dealt out. */
static bool map_has_core(const struct kernel *kernel)
{
    enum { LEAST = 8 };
    const struct nest *nest = &kernel->nest;

    return nest->ndim > 0 && dim_equals(nest->operands[0].strides[nest->ndim - 1], 1) &&
           dim_upper(nest->dims[nest->ndim - 1]) >= LEAST && !kernel->slicing &&
           !dag_is_identity(kernel->dag) && kernel->dag->nodes[kernel->dag->result].prim != PRIM_CONST;
}

/* What tells a core from another one of as many inputs and axes: which of them stay where they are while loops go on, "_x1_j" of
 * one that moves with j alone, "_x2_set" of a single value; "_apart" where rows do not lie dense. */
static const char *ways_of(struct cx *cx, const struct kernel *core, int inputs)
{
    const struct nest *nest = &core->nest;
    struct text text = text_new(&cx->arena);

    for (int j = 1; j <= inputs; j++) {
        struct text moves = text_new(&cx->arena);

        for (int i = 0; i < nest->ndim; i++)
            if (!dim_equals(nest->operands[j].strides[i], 0))
                text_printf(&moves, "%c", loop_letter(nest, i));
        if (moves.length == 0)
            text_printf(&text, "_x%d_set", j - 1);
        else if (moves.length < (size_t)nest->ndim)
            text_printf(&text, "_x%d_%s", j - 1, moves.data);
    }
    if (nest->ndim < 3 && core->length_count > nest->ndim)
        text_add(&text, "_apart");
    return text.length > 0 ? text.data : "";
}

bool map_takes_function(struct cx *cx, const struct kernel *kernel)
{
    return map_has_core(kernel) && is_function(cx, kernel->dag) &&
           map_form(&kernel->nest, kernel->dag, true).way == NEST_ROWS;
}

const struct kernel *keep_map(struct cx *cx, struct plan *plan, struct kernel *kernel, const struct op *op,
                              const char *stem)
{
    static const char *const axes[] = {"", "", "_rows", "_planes"};
    const int ndim = kernel->nest.ndim;
    const char *label = op ? outer_words(cx, op_label(op)) : "";
    const char *end = ndim < 4 ? axes[ndim] : arena_format(&cx->arena, "_%dd", ndim);
    struct wrapping w = begin_core(cx, plan, kernel);
    const char *ways;

    if (!map_has_core(kernel) || !plan->backend->vectors)
        return keep_nest(cx, plan, kernel, stem);
    generalise(&w);
    ways = ways_of(cx, w.core, kernel->dag->input_count);
    if (map_takes_function(cx, kernel)) {
        kernel->function = function_of(&w, kernel->dag, label, op);
        w.core->takes_function = w.core->needs_function = true;
        w.core->dag = any_dag(&cx->arena, kernel->dag);
        w.core->comment = "y = F of the inputs, for each element.";
        kernel->comment = "";
        label = arena_format(&cx->arena, "%d", kernel->dag->input_count);
    } else {
        w.core->dag = general_dag(&w, kernel->dag);
        w.core->comment = arena_format(&cx->arena, "y = %s, for each element.", dag_text(cx, w.core->dag));
        label = arena_format(&cx->arena, "%s_%d", label, kernel->dag->input_count);
    }
    kernel->form = KERNEL_WRAPPER;
    kernel->core = keep_nest(cx, plan, w.core, arena_format(&cx->arena, "map_%s%s%s", label, end, ways));
    return keep_nest(cx, plan, kernel, stem);
}

/* ---- reductions ------------------------------------------------------------------------------------------------- */

/* The nest with what is reduced behind the rest, but for the axis that vectors run along, which stays the last. */
static struct nest kept_first(struct arena *arena, const struct nest *own)
{
    const int last = own->ndim - 1;
    struct nest nest = *own;
    int order[MAX_DIMS], count = 0;

    if (own->ndim == 0)
        return nest;
    nest.operands = ARENA_ARRAY(arena, own->operand_count, struct nest_operand);
    for (int reduced = 0; reduced < 2; reduced++)
        for (int i = 0; i < last; i++)
            if (own->reduced[i] == reduced)
                order[count++] = i;
    order[count++] = last;
    for (int j = 0; j < own->operand_count; j++)
        nest.operands[j] = own->operands[j];
    for (int i = 0; i < count; i++) {
        nest.dims[i] = own->dims[order[i]];
        nest.reduced[i] = own->reduced[order[i]];
        for (int j = 0; j < own->operand_count; j++)
            nest.operands[j].strides[i] = own->operands[j].strides[order[i]];
    }
    return nest;
}

/* One that runs over vectors, of whose elements a function is reduced. */
static bool reduction_has_core(struct cx *cx, const struct kernel *kernel, const struct nest_form *form)
{
    return (form->way == NEST_ROWS || form->way == NEST_COLUMNS) && !reduce_is_arg(kernel->reduce) &&
           !kernel->slicing && is_function(cx, kernel->dag);
}

/* "sum_rows_by_4_in_blocks": what is reduced, over how many axes, with how many vectors at a time; note [exact sums]. */
static const char *reduction_stem(struct cx *cx, const struct kernel *core, const char *ways,
                                  const char *label)
{
    static const char *const kinds[] = {
        [REDUCE_SUM] = "sum", [REDUCE_PROD] = "prod", [REDUCE_MAX] = "max", [REDUCE_MIN] = "min"};
    const struct nest *nest = &core->nest;
    const struct nest_form *form = &core->loops;
    struct text stem = text_new(&cx->arena);
    int reduced = 0, extras = nest->operand_count - 1 - core->dag->input_count;

    for (int i = 0; i < nest->ndim; i++)
        reduced += nest->reduced[i];
    text_printf(&stem, "%s_%s", kinds[core->reduce], form->way == NEST_ROWS ? "rows" : "columns");
    if (nest->ndim != 2)
        text_printf(&stem, "_%dd", nest->ndim);
    if (reduced != 1)
        text_printf(&stem, "_over_%d", reduced);
    if (form->way == NEST_ROWS && form->streams > 1)
        text_printf(&stem, "_by_%d", form->streams);
    if (form->split >= 0 && (form->way == NEST_ROWS || reduced > 1))
        text_printf(&stem, "_in_blocks%s", form->block == 1 ? "_of_1" : "");
    if (core->dag->input_count > 1)
        text_printf(&stem, "_of_%d", core->dag->input_count);
    text_add(&stem, ways);
    if (!core->takes_function)
        text_printf(&stem, "_then_%s", label);
    if (extras > 0)
        text_printf(&stem, "_reads_%d", extras);
    return stem.data;
}

const struct kernel *keep_reduction(struct cx *cx, struct plan *plan, struct kernel *kernel,
                                    const struct op *op, const char *stem)
{
    const char *label = tail_label(cx, op), *ways;
    const struct nest nest = kept_first(&cx->arena, &kernel->nest);
    const struct nest_form form = reduce_core_form(&nest, kernel->reduce, kernel->dag, kernel->tail);
    struct wrapping w = begin_core(cx, plan, kernel);

    if (!reduction_has_core(cx, kernel, &form) || !plan->backend->vectors)
        return keep_nest(cx, plan, kernel, stem);
    w.core->nest = nest;
    w.core->reduce = kernel->reduce;
    generalise(&w);
    ways = ways_of(cx, w.core, kernel->dag->input_count);
    w.core->loops = form;
    if (form.way == NEST_COLUMNS) {
        w.core->loops.vectors = add_argument(&w, dim_const(&cx->arena, form.streams), "vectors");
        w.core->loops.streams = MOST_COLUMNS;
    }
    kernel->head = function_of(&w, kernel->dag, "", op);
    w.core->takes_head = true;
    w.core->dag = any_dag(&cx->arena, kernel->dag);
    w.core->comment = "y = what HEAD gives for each element, reduced";
    if (is_function(cx, kernel->tail)) {
        kernel->function = function_of(&w, kernel->tail, label, op);
        w.core->takes_function = w.core->needs_function = true;
        w.core->tail = any_dag(&cx->arena, kernel->tail);
        w.core->comment = arena_format(&cx->arena, "%s, then TAIL.", w.core->comment);
    } else {
        w.core->tail = general_dag(&w, kernel->tail);
        w.core->comment = arena_format(&cx->arena, "%s, then %s.", w.core->comment,
                                       dag_text(cx, w.core->tail));
    }
    kernel->form = KERNEL_WRAPPER;
    kernel->core = keep_nest(cx, plan, w.core, reduction_stem(cx, w.core, ways, label));
    return keep_nest(cx, plan, kernel, stem);
}
