/* kernels.c - the table of how ops are computed, the registry of kernels, and the calls of them: all that a plan runs. */
#include <string.h>

#include "passes/toolkit.h"
#include "plan/kernels/draft.h"

#define KERNELS(code, row) [GRAPH_OP_##code] = &row##_kernels,
const struct kernel_row *const kernel_rows[GRAPH_OP_COUNT] = {OPS_COMPUTED(KERNELS)};
#undef KERNELS

/* ---- equality ----------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_dim(const struct dim *a, const struct dim *b)
{
    return a == b || (a && b && dim_equal(a, b));
}

bool same_dag(const struct dag *a, const struct dag *b)
{
    return a == b || (a && b && dag_same(a, b));
}

static bool same_passed(const struct hole *a, const struct hole *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        const struct passed *x = &a->passed[i], *y = &b->passed[i];

        if (strcmp(x->name, y->name) != 0 || x->at != y->at || x->offset != y->offset ||
            x->step_count != y->step_count)
            return false;
        for (int j = 0; j < x->step_count; j++)
            if (strcmp(x->steps[j].index, y->steps[j].index) != 0 ||
                !same_text(x->steps[j].name, y->steps[j].name) ||
                !same_dim(x->steps[j].stride, y->steps[j].stride))
                return false;
    }
    return true;
}

static bool same_hole(const struct hole *a, const struct hole *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case HOLE_INT:
        return a->integer == b->integer;
    case HOLE_SOME:
        return true;
    case HOLE_DIM:
        return dim_equal(a->dim, b->dim);
    case HOLE_NUMBER:
        return a->dtype == b->dtype && memcmp(&a->number, &b->number, sizeof a->number) == 0;
    case HOLE_TYPE:
    case HOLE_VECTOR:
        return a->dtype == b->dtype;
    case HOLE_WORD:
        return strcmp(a->word, b->word) == 0;
    case HOLE_KERNEL:
        return a->kernel == b->kernel;
    case HOLE_PARAMETERS:
        return a->first == b->first && a->count == b->count;
    case HOLE_PASSED:
        return same_passed(a, b);
    }
    return false;
}

static bool same_parameters(const struct kernel *a, const struct kernel *b)
{
    if (a->parameter_count != b->parameter_count)
        return false;
    for (int i = 0; i < a->parameter_count; i++) {
        const struct kernel_parameter *x = &a->parameters[i], *y = &b->parameters[i];

        if (x->element.stored != y->element.stored || strcmp(x->name, y->name) != 0 ||
            x->written != y->written || x->restricted != y->restricted || x->kind != y->kind)
            return false;
    }
    return true;
}

static bool same_sizes(const struct kernel *a, const struct kernel *b)
{
    return a->used_count == b->used_count &&
           memcmp(a->used, b->used, (size_t)a->used_count * sizeof *a->used) == 0;
}

/* Whether two cores call kernels of the same types. */
static bool same_callees(const struct kernel *a, const struct kernel *b)
{
    for (int i = 0; i < a->shape_count; i++) { /* the holes are equal, and with them the names */
        const struct kernel *x = a->shapes[i].kernel, *y = b->shapes[i].kernel;

        if (x && !(same_parameters(x, y) && same_sizes(x, y)))
            return false;
    }
    return true;
}

static bool same_template(const struct kernel *a, const struct kernel *b)
{
    if (strcmp(a->template, b->template) != 0 || !same_text(a->parts_template, b->parts_template) ||
        a->parts != b->parts || !a->handed != !b->handed || a->computed != b->computed ||
        a->hole_count != b->hole_count || a->extra_count != b->extra_count ||
        a->pointer_count != b->pointer_count || a->extra_first != b->extra_first ||
        a->score_count != b->score_count || !same_dag(a->scores, b->scores))
        return false;
    for (int i = 0; i < a->hole_count; i++)
        if (!same_hole(&a->holes[i], &b->holes[i]))
            return false;
    for (int i = 0; i < a->pointer_count; i++)
        if (strcmp(a->pointers[i].name, b->pointers[i].name) != 0 ||
            a->pointers[i].element.stored != b->pointers[i].element.stored)
            return false;
    for (int i = 0; i < a->extra_count; i++)
        if (!same_text(a->extras[i].row_name, b->extras[i].row_name) ||
            (!a->extras[i].row_name && !dim_equal(a->extras[i].row, b->extras[i].row)) ||
            !dim_equal(a->extras[i].column, b->extras[i].column) ||
            !same_dim(a->extras[i].batch[0], b->extras[i].batch[0]) ||
            !same_dim(a->extras[i].batch[1], b->extras[i].batch[1]))
            return false;
    return same_callees(a, b);
}

static bool same_wrapper(const struct kernel *a, const struct kernel *b)
{
    if (a->core != b->core || a->parts != b->parts || a->head != b->head)
        return false;
    for (int i = 0; i < a->shape_count; i++) /* as many as the core has */
        if (a->shapes[i].kernel != b->shapes[i].kernel || !same_dim(a->shapes[i].dim, b->shapes[i].dim))
            return false;
    return true;
}

static bool same_slicing(const struct slicing *a, const struct slicing *b)
{
    return a == b || (a && b && a->slices == b->slices && a->axis == b->axis && a->unit == b->unit &&
                      dim_equal(a->extent, b->extent));
}

/* Whether the kernel asks for the distance of neighbours along an axis: element by element not where there is but one, if any. */
static bool asks_stride(const struct kernel *kernel, int axis)
{
    const bool elements = (kernel->kind == NEST_MAP || kernel->kind == NEST_REDUCE) && !kernel->slicing &&
                          (kernel->loops.way == NEST_ELEMENTS || kernel->loops.way == NEST_BLOCKS);

    return !elements || dim_upper(kernel->nest.dims[axis]) != 1;
}

static bool same_nest(const struct kernel *x, const struct kernel *y)
{
    const struct nest *a = &x->nest, *b = &y->nest;

    if (a->ndim != b->ndim || a->operand_count != b->operand_count || a->reorder != b->reorder)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (!dim_equal(a->dims[i], b->dims[i]) || a->reduced[i] != b->reduced[i])
            return false;
    for (int i = 0; i < a->operand_count; i++) {
        if (a->operands[i].dtype != b->operands[i].dtype)
            return false;
        for (int j = 0; j < a->ndim; j++)
            if (asks_stride(x, j) && !dim_equal(a->operands[i].strides[j], b->operands[i].strides[j]))
                return false;
    }
    return true;
}

static bool same_line(const struct kernel *a, const struct kernel *b)
{
    if (!same_dim(a->line.length, b->line.length) || a->line.reverse != b->line.reverse)
        return false;
    for (int i = 0; i < a->nest.operand_count && a->line.length; i++)
        if (!dim_equal(a->line.steps[i], b->line.steps[i]))
            return false;
    return true;
}

static bool same_form(const struct nest_form *a, const struct nest_form *b)
{
    return a->way == b->way && a->lanes == b->lanes && a->turned == b->turned && a->streams == b->streams &&
           a->threads == b->threads && a->outputs == b->outputs && a->split == b->split &&
           a->block == b->block && same_dim(a->vectors, b->vectors);
}

static bool same_loops(const struct kernel *a, const struct kernel *b)
{
    return a->kind == b->kind && same_form(&a->loops, &b->loops) && a->takes_head == b->takes_head &&
           same_nest(a, b) && same_dag(a->dag, b->dag) && same_dim(a->step, b->step) && same_line(a, b) &&
           a->reduce == b->reduce && a->start == b->start && a->given == b->given &&
           a->descending == b->descending && same_slicing(a->slicing, b->slicing);
}

/* Beside what they compute: whether one is a part of others, and what its comment says that would be untrue of the other. Which op
 * or packed entry wants it is no matter. */
static bool same_purpose(const struct kernel *a, const struct kernel *b)
{
    const bool named = a->own_name || a->form == KERNEL_LIBRARY;

    return a->own_name == b->own_name && same_text(a->role, b->role) &&
           (named ? strcmp(a->stem, b->stem) == 0
                  : (a->shape && b->shape) || same_text(a->comment, b->comment));
}

bool kernel_equal(const struct kernel *a, const struct kernel *b)
{
    if (a->form != b->form || !same_purpose(a, b) || a->guarded != b->guarded ||
        a->split.slices != b->split.slices || a->split.axis != b->split.axis ||
        (a->enough && a->split.values != b->split.values) || !same_sizes(a, b) ||
        a->takes_function != b->takes_function || a->function != b->function || a->call_at != b->call_at ||
        !same_dim(a->enough, b->enough) || !same_dag(a->tail, b->tail))
        return false;
    if (!same_parameters(a, b))
        return false;
    return a->form == KERNEL_TEMPLATE  ? same_template(a, b)
           : a->form == KERNEL_WRAPPER ? same_wrapper(a, b)
           : a->form == KERNEL_LIBRARY ? true
                                       : same_loops(a, b);
}

/* ---- the registry ------------------------------------------------------------------------------------------- */

/* What all shapes come to that a loop nest fills: "(16)" of (1, 16, 1, 1) and of (1, 1, 1, 16). */
static const char *common_shape(struct cx *cx, const struct kernel *kernel)
{
    const struct nest *nest = &kernel->nest;
    const struct slicing *slicing = kernel->slicing;
    const struct dim *dims[MAX_DIMS];
    int ndim = 0;

    for (int i = 0; i < nest->ndim; i++)
        if (!nest->reduced[i])
            dims[ndim++] = slicing && slicing->axis == i ? slicing->extent : nest->dims[i];
    return shape_text(&cx->arena, ndim, dims);
}

struct kernel *new_kernel(struct cx *cx, const struct plan *plan, enum kernel_form form)
{
    struct kernel *kernel = ARENA_NEW(&cx->arena, struct kernel);

    kernel->form = form;
    kernel->split.slices = 1;
    kernel->used_count = plan->program->tree->size_count + BLOCK_SIZES;
    kernel->used = ARENA_ARRAY(&cx->arena, kernel->used_count, bool);
    return kernel;
}

const struct kernel *keep_kernel(struct cx *cx, struct plan *plan, struct kernel *kernel)
{
    for (int i = 0; i < plan->kernel_count; i++) {
        struct kernel *other = plan->kernels[i];

        if (!kernel_equal(other, kernel))
            continue;
        if (kernel->slicing && kernel->slicing->count.max > other->slicing->count.max)
            other->slicing->count.max =
                kernel->slicing->count.max; /* calls of other entries have other maxima */
        if (kernel->shape && strcmp(kernel->shape, other->shape) != 0)
            other->shape = common_shape(cx, other);
        return other;
    }
    ARENA_PUSH(&cx->arena, plan->kernels, plan->kernel_count, kernel);
    return kernel;
}

const struct kernel *library_kernel(struct cx *cx, struct plan *plan, const char *name)
{
    struct kernel *kernel = new_kernel(cx, plan, KERNEL_LIBRARY);

    kernel->name = kernel->stem = name;
    return keep_kernel(cx, plan, kernel);
}

const struct dim *enough_results(struct cx *cx, const struct value *y, struct split split)
{
    int64_t one = 1;

    for (int i = 0; i < y->ndim; i++) {
        int64_t constant = 1;

        dim_is_const(y->dims[i], &constant);
        one *= constant;
    }
    return one >= split.values ? NULL : dims_product(cx, y, 0, y->ndim);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

struct kernel_call *add_call(struct making *making, const struct kernel *kernel)
{
    ARENA_PUSH(&making->cx->arena, making->calls->list, making->calls->count,
               ((struct kernel_call){.kernel = kernel}));
    return &making->calls->list[making->calls->count - 1];
}

void add_operand(struct making *making, struct kernel_call *call, struct operand operand)
{
    ARENA_PUSH(&making->cx->arena, call->operands, call->operand_count, operand);
}

void add_value(struct making *making, struct kernel_call *call, const struct value *value)
{
    add_operand(making, call,
                making->entry ? packing_operand(making, value)
                              : (struct operand){.kind = OPERAND_VALUE, .value = value});
}

void add_null(struct making *making, struct kernel_call *call)
{
    add_operand(making, call, (struct operand){.kind = OPERAND_NULL});
}

void add_op_input(struct making *making, struct kernel_call *call, int input)
{
    const struct step *step = making->step;

    if (step_packed(step, input) && step_packed(step, input)->passing)
        add_operand(making, call, passing_operand(step, 0));
    else if (step_packed(step, input))
        add_operand(making, call, (struct operand){.kind = OPERAND_PACKED, .packed = step->packed[input]});
    else
        add_value(making, call, step->op->inputs[input]);
}

void add_sizes(struct making *making, struct kernel_call *call)
{
    const struct module_tree *tree = making->plan->program->tree;
    const struct kernel *kernel = call->kernel;
    const bool *used = kernel->slicing ? kernel->slicing->used : kernel->used;

    for (int i = 0; i < tree->size_count; i++)
        if (used[i])
            add_operand(making, call, (struct operand){.kind = OPERAND_SIZE, .size = &tree->sizes[i]});
    if (kernel->guarded)
        add_operand(making, call, (struct operand){.kind = OPERAND_FAULT});
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

void plan_kernels(struct cx *cx, struct plan *plan)
{
    for (int v = 0; v < plan->variant_count; v++)
        for (int s = 0; s < plan->variants[v]->step_count; s++)
            plan->checks |= op_rows[plan->variants[v]->steps[s].op->code]->fails;
    for (int v = 0; v < plan->variant_count; v++) {
        struct variant *variant = plan->variants[v];

        for (int s = 0; s < variant->step_count && !variant->same; s++) {
            struct step *step = &variant->steps[s];
            struct making making = {cx, plan, variant, step, &step->calls, NULL};

            if (kernel_rows[step->op->code])
                kernel_rows[step->op->code]->make(&making);
            if (step->packed_offset >= 0)
                make_passing(cx, plan, variant, step);
            note_users(cx, variant, step);
        }
    }
    plan->function_kernels = plan->kernel_count;
    for (int g = 1; g <= plan->group_count; g++) { /* the model's last, as its function calls the others */
        struct pack_group *group = plan->groups[g % plan->group_count];

        for (int i = 0; i < group->entry_count; i++) {
            make_packing(cx, plan, group->entries[i]);
            note_entry(&group->entries[i]->calls, group->entries[i]);
        }
    }
    name_kernels(cx, plan);
    order_kernels(cx, plan);
}
