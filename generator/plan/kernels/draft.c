/* draft.c - how the record of a template's kernel is drawn up: its parameters, its holes, and what all templates get. */
#include "plan/kernels/draft.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "passes/toolkit.h"

/* ---- parameters --------------------------------------------------------------------------------------------- */

void add_parameter(struct draft *draft, struct element element, bool written, const char *name)
{
    struct kernel *kernel = draft->kernel;

    ARENA_PUSH(&draft->cx->arena, kernel->parameters, kernel->parameter_count,
               ((struct kernel_parameter){element, name, written, true}));
}

void hole_divisor(struct draft *draft, const char *name, const struct dim *dim)
{
    hole_dim(draft, name, dim_equals(dim, 0) ? dim_const(&draft->cx->arena, 1) : dim);
}

void guard_reads(struct draft *draft)
{
    draft->kernel->guarded = draft->plan->backend->apart && draft->plan->checks;
}

void name_pointer(struct draft *draft, const char *name, struct element element)
{
    ARENA_PUSH(&draft->cx->arena, draft->kernel->pointers, draft->kernel->pointer_count,
               ((struct kernel_pointer){name, element}));
}

void add_input(struct draft *draft)
{
    add_parameter(draft, draft->input, false, "x");
}

void add_scratch(struct draft *draft, const char *name)
{
    if (draft->step->scratch_offset >= 0)
        add_parameter(draft, element_of(draft, draft->kernel->computed), true, name);
}

void add_weighted(struct draft *draft)
{
    add_input(draft);
    add_parameter(draft, draft->weights, false, "w");
    add_parameter(draft, draft->bias, false, "bias");
}

/* ---- holes -------------------------------------------------------------------------------------------------- */

/* Does a template of the kernel ask for it? Then it tells the kernel from others. */
static bool is_asked(const struct draft *draft, const char *name)
{
    const struct algorithm *algorithm = draft->step->algorithm;

    return template_asks(draft->cx, &draft->plan->templates, algorithm->template, name) ||
           (algorithm->parts && template_asks(draft->cx, &draft->plan->templates, algorithm->parts, name));
}

static void add_hole(struct draft *draft, struct hole hole)
{
    struct kernel *kernel = draft->kernel;

    if (is_asked(draft, hole.name))
        ARENA_PUSH(&draft->cx->arena, kernel->holes, kernel->hole_count, hole);
}

void hole_int(struct draft *draft, const char *name, int64_t value)
{
    add_hole(draft, (struct hole){.name = name, .kind = HOLE_INT, .integer = value});
}

void hole_some(struct draft *draft, const char *name, int64_t value)
{
    add_hole(draft, (struct hole){.name = name, .kind = HOLE_SOME, .integer = value});
}

void hole_shape(struct draft *draft, const char *name, int64_t value)
{
    hole_dim(draft, name, dim_const(&draft->cx->arena, value));
}

void hole_dim(struct draft *draft, const char *name, const struct dim *dim)
{
    dim_mark_sizes(dim, draft->kernel->used);
    add_hole(draft, (struct hole){.name = name, .kind = HOLE_DIM, .dim = dim});
}

void hole_extent(struct draft *draft, const char *name, const struct dim *dim)
{
    hole_dim(draft, name, dim);
    hole_int(draft, arena_format(&draft->cx->arena, "T_fixed_%s", name + 2), dim_is_const(dim, NULL));
}

void hole_number(struct draft *draft, const char *name, enum dtype dtype, double number)
{
    add_hole(draft, (struct hole){.name = name,
                                  .kind = HOLE_NUMBER,
                                  .dtype = element_of(draft, dtype).computed,
                                  .number = number});
}

void hole_type(struct draft *draft, const char *name, enum dtype dtype)
{
    add_hole(draft, (struct hole){.name = name, .kind = HOLE_TYPE, .dtype = dtype});
}

void hole_word(struct draft *draft, const char *name, const char *word)
{
    add_hole(draft, (struct hole){.name = name, .kind = HOLE_WORD, .word = word});
}

void hole_kernel(struct draft *draft, const char *name, const struct kernel *kernel)
{
    add_hole(draft, (struct hole){.name = name, .kind = HOLE_KERNEL, .kernel = kernel});
}

void hole_parameters(struct draft *draft, const char *name, int first)
{
    add_hole(draft, (struct hole){.name = name,
                                  .kind = HOLE_PARAMETERS,
                                  .first = first,
                                  .count = draft->kernel->parameter_count - first});
}

void hole_passed(struct draft *draft, const char *name, const struct passed *passed, int count)
{
    add_hole(draft, (struct hole){.name = name, .kind = HOLE_PASSED, .passed = passed, .count = count});
}

void pass_sizes(struct draft *draft, struct passed **list, int *count, const bool *used,
                const struct size *block)
{
    const struct module_tree *tree = draft->plan->program->tree;
    struct arena *arena = &draft->cx->arena;

    for (int i = 0; i < tree->size_count; i++) {
        if (!used[i])
            continue;
        ARENA_PUSH(arena, *list, *count, (struct passed){.name = tree->sizes[i].c_name});
        draft->kernel->used[i] = true;
    }
    for (int i = 0; block && i < BLOCK_SIZES; i++)
        if (used[block[i].index])
            ARENA_PUSH(arena, *list, *count, (struct passed){.name = block[i].c_name});
}

/* ---- shapes ------------------------------------------------------------------------------------------------- */

const struct dim *dims_product(struct cx *cx, const struct value *value, int first, int last)
{
    const struct dim *out = dim_const(&cx->arena, 1);

    for (int i = first; i < last; i++)
        out = dim_mul(&cx->arena, out, value->dims[i]);
    return out;
}

const struct dim *row_stride(struct cx *cx, const struct value *value)
{
    for (int i = value->ndim - 2; i >= 0; i--)
        if (!dim_equals(value->dims[i], 1))
            return value->strides[i];
    return value->ndim > 0 ? value->dims[value->ndim - 1] : dim_const(&cx->arena, 1);
}

const struct dim *batch_stride(struct cx *cx, const struct value *operand, int batch)
{
    int axis = operand->ndim - 4 + batch;

    return axis >= 0 && !dim_equals(operand->dims[axis], 1) ? operand->strides[axis]
                                                            : dim_const(&cx->arena, 0);
}

struct element element_of(const struct draft *draft, enum dtype stored)
{
    return backend_element(draft->plan->backend, stored);
}

int lanes_of(const struct draft *draft, enum dtype dtype)
{
    return backend_lanes(draft->plan->backend, dtype);
}

bool is_whole(const struct draft *draft, const struct dim *dim)
{
    int64_t extent;

    return dim_is_const(dim, &extent) && extent % lanes_of(draft, draft->op->outputs[0]->dtype) == 0;
}

/* ---- what all templates get ---------------------------------------------------------------------------------- */

/* The operands that the tail reads, and whether it has a vector form. */
static void take_tail(struct draft *draft, const struct dag *tail)
{
    struct kernel *kernel = draft->kernel;
    const struct op *op = draft->op;
    struct arena *arena = &draft->cx->arena;
    enum dtype lanes;

    kernel->tail = tail;
    if (!tail)
        return;
    kernel->lanes = dag_vectorises(tail, &lanes) && lanes == kernel->computed ? lanes : 0;
    kernel->tail_shared = dag_is_shared(tail);
    for (int i = op->tail_first; i < op->input_count; i++) {
        struct tail_operand own = {.element = element_of(draft, op->inputs[i]->dtype)};
        bool fits = tail_strides(arena, op->inputs[i], op, &own.row, &own.column);

        assert(fits && "legalise copied what does not fit");
        (void)fits;
        dim_mark_sizes(own.row, kernel->used);
        ARENA_PUSH(arena, kernel->extras, kernel->extra_count, own);
    }
    dag_mark_sizes(tail, kernel->used);
}

/* Types, and whether there is a tail and what it can do. */
static void common_holes(struct draft *draft)
{
    const struct kernel *kernel = draft->kernel;
    const struct step *step = draft->step;
    bool single = kernel->computed == DTYPE_FLOAT32, vectors = !kernel->tail || kernel->lanes;

    hole_type(draft, "T_real", kernel->computed);
    hole_int(draft, "T_line", draft->plan->backend->vector_bytes / dtype_rows[draft->weights.stored].bytes);
    add_hole(draft, (struct hole){.name = "T_vec", .kind = HOLE_VECTOR, .dtype = kernel->computed});
    hole_word(draft, "T_LANES", single ? "MODC_LANES" : "MODC_LANES64");
    hole_int(draft, "T_P", lanes_of(draft, kernel->computed));
    hole_int(draft, "T_vector_tail", vectors);
    hole_int(draft, "T_tail", kernel->tail != NULL);
    hole_int(draft, "T_pure_tail", vectors && kernel->extra_count == 0);
    hole_word(draft, "T_ROWS", "MODC_DOT_ROWS");
    hole_word(draft, "T_OUTPUTS", "MODC_DOT_OUTPUTS");
    hole_int(draft, "T_slices", kernel->split.slices);
    for (int axis = SPLIT_NONE + 1; axis < SPLIT_AXES; axis++)
        hole_int(draft, arena_format(&draft->cx->arena, "T_by_%s", split_names[axis]),
                 (int)kernel->split.axis == axis);
    if (step->scratch_offset >= 0 && kernel->split.slices > 1)
        hole_dim(draft, "T_scratch",
                 dim_const(&draft->cx->arena, algorithm_scratch(step->algorithm, draft->op, draft->narrow) /
                                                  dtype_rows[kernel->computed].bytes));
}

/* ---- cores --------------------------------------------------------------------------------------------------- */

static void add_shape(struct cx *cx, struct kernel *core, struct kernel *wrapper, const char *name,
                      const struct dim *dim)
{
    ARENA_PUSH(&cx->arena, core->shapes, core->shape_count, ((struct kernel_shape){.name = name}));
    ARENA_PUSH(&cx->arena, wrapper->shapes, wrapper->shape_count,
               ((struct kernel_shape){.name = name, .dim = dim}));
}

/* A kernel that the core calls, with what it takes of the sizes. */
static void add_callee(struct cx *cx, struct kernel *core, struct kernel *wrapper, const char *name,
                       const struct kernel *callee)
{
    const struct kernel_shape shape = {.name = name, .kernel = callee};

    ARENA_PUSH(&cx->arena, core->shapes, core->shape_count, shape);
    ARENA_PUSH(&cx->arena, wrapper->shapes, wrapper->shape_count, shape);
    for (int i = 0; i < core->used_count - BLOCK_SIZES; i++)
        core->used[i] |= callee->used[i];
}

/* What is passed on, with strides that are arguments of the core. */
static const struct passed *pass_by_shapes(struct cx *cx, struct kernel *core, struct kernel *wrapper,
                                           const struct hole *hole)
{
    struct passed *list = ARENA_ARRAY(&cx->arena, hole->count + 1, struct passed);

    for (int i = 0; i < hole->count; i++) {
        list[i] = hole->passed[i];
        for (int j = 0; j < list[i].step_count; j++) {
            struct passed_step *step = &list[i].steps[j];

            step->name = text_upper(&cx->arena, arena_format(&cx->arena, "%s_%s", list[i].name, step->index));
            add_shape(cx, core, wrapper, step->name, step->stride);
            step->stride = NULL;
        }
    }
    return list;
}

/* A hole of the wrapper as the core has it: T_ldx is LDX. Words of templates are small, so none is that. */
static struct hole core_hole(struct cx *cx, struct kernel *core, struct kernel *wrapper, struct hole hole)
{
    const char *name = text_upper(&cx->arena, hole.name + 2);

    switch (hole.kind) {
    case HOLE_DIM:
        add_shape(cx, core, wrapper, name, hole.dim);
        return (struct hole){.name = hole.name, .kind = HOLE_WORD, .word = name, .dim = hole.dim};
    case HOLE_KERNEL:
        add_callee(cx, core, wrapper, name, hole.kernel);
        return (struct hole){.name = hole.name, .kind = HOLE_WORD, .word = name};
    case HOLE_PASSED:
        hole.passed = pass_by_shapes(cx, core, wrapper, &hole);
        return hole;
    default:
        return hole;
    }
}

/* Whether the core may serve for other tails that read as many operands. */
static bool shares_tail(struct cx *cx, const struct kernel *kernel)
{
    bool *sizes = ARENA_ARRAY(&cx->arena, kernel->used_count, bool), any = false;

    if (!kernel->tail)
        return true;
    dag_mark_sizes(kernel->tail, sizes);
    for (int i = 0; i < kernel->used_count; i++)
        any |= sizes[i];
    return kernel->lanes && !any;
}

/* What a core of kernels hands on to them tells it from others: "_e0_tokens". */
static const char *handed_on(const struct draft *draft, const struct kernel *core)
{
    const struct module_tree *tree = draft->plan->program->tree;
    struct text text = text_new(&draft->cx->arena);

    for (int i = core->extra_first; i < core->parameter_count; i++)
        text_printf(&text, "_%s", core->parameters[i].name);
    for (int i = 0; i < tree->size_count; i++)
        if (core->used[i])
            text_printf(&text, "_%s", tree->sizes[i].name);
    return text.data;
}

/* Makes the kernel a wrapper of a core of that name, which is not kept yet: see note [cores]. */
static struct kernel *new_core(const struct draft *draft, struct kernel *wrapper, const char *stem)
{
    struct cx *cx = draft->cx;
    struct kernel *core = new_kernel(cx, draft->plan, KERNEL_TEMPLATE);
    const bool handed = wrapper->parts && !wrapper->parts->own_name; /* not the same for all shapes */
    bool *used = core->used, calls = handed;

    *core = *wrapper;
    core->used = used;
    core->block = NULL;
    core->enough = NULL;
    core->split.values = 0;
    core->stem = stem;
    core->own_name = true;
    core->comment = NULL;
    core->call_at = 0;
    core->alone = false;
    core->function = NULL;
    core->guarded = false;
    core->handed = handed ? wrapper->parts : NULL;
    core->parts = handed ? NULL : wrapper->parts;
    core->holes = NULL;
    core->hole_count = 0;
    wrapper->form = KERNEL_WRAPPER;
    wrapper->parts = handed ? wrapper->parts : NULL;
    wrapper->parts_template = NULL;
    for (int i = 0; i < wrapper->hole_count; i++) {
        calls |= wrapper->holes[i].kind == HOLE_KERNEL;
        ARENA_PUSH(&cx->arena, core->holes, core->hole_count,
                   core_hole(cx, core, wrapper, wrapper->holes[i]));
    }
    if (core->handed)
        add_callee(cx, core, wrapper, text_upper(&cx->arena, core->handed->role), core->handed);
    if (calls)
        core->stem = arena_format(&cx->arena, "%s%s", core->stem, handed_on(draft, core));
    core->extras = ARENA_ARRAY(&cx->arena, core->extra_count + 1, struct tail_operand);
    for (int i = 0; i < core->extra_count; i++) {
        core->extras[i] = wrapper->extras[i];
        core->extras[i].row_name = arena_format(&cx->arena, "LDE%d", i);
        add_shape(cx, core, wrapper, core->extras[i].row_name, core->extras[i].row);
    }
    return core;
}

/* Keeps what several share, of which `own` is one that has as many holes; returns the plan's own. */
static struct kernel *keep_shared(const struct draft *draft, const struct kernel *own, struct kernel *shared)
{
    shared = (struct kernel *)keep_kernel(draft->cx, draft->plan, shared);
    for (int i = 0; i < shared->hole_count; i++)
        if (shared->holes[i].kind == HOLE_SOME && shared->holes[i].integer < own->holes[i].integer)
            shared->holes[i].integer = own->holes[i].integer;
    return shared;
}

/* Whether what it takes is asked for behind all else, and may be missing: T_after. */
static bool asks_after(const struct kernel *core)
{
    for (int i = 0; i < core->hole_count; i++)
        if (strcmp(core->holes[i].name, "T_after") == 0)
            return core->holes[i].integer == 1;
    return false;
}

/* Makes the draft a wrapper of a core, of which there may be one. */
static const struct kernel *wrap_core(struct draft *draft)
{
    struct cx *cx = draft->cx;
    struct kernel *wrapper = draft->kernel, *core;
    const char *how = draft->step->algorithm->how;
    const bool shared = wrapper->function != NULL;

    core = new_core(draft, wrapper, core_stem(draft, shared));
    core->comment = arena_format(&cx->arena, "%c%s.", toupper((unsigned char)*how), how + 1);
    core->takes_function = shared;
    core->needs_function = !asks_after(core);
    if (shared)
        core->tail = NULL;
    else if (core->tail)
        dag_mark_sizes(core->tail, core->used);
    wrapper->core = keep_shared(draft, wrapper, core);
    return keep_kernel(cx, draft->plan, wrapper);
}

/* ---- parts -------------------------------------------------------------------------------------------------- */

/* Named by what it has in common with others. */
static const char *parts_stem(const struct draft *draft)
{
    const struct kernel_row *row = kernel_rows[draft->op->code];
    struct cx *cx = draft->cx;
    struct op shape = *draft->op;

    if (row->parts_stem)
        return row->parts_stem(draft->op);
    shape.tail = NULL;
    return arena_format(&cx->arena, "%s%s", row->stem(cx, &shape),
                        strrchr(draft->step->algorithm->parts, '_'));
}

/* What parts are told that are a kernel of their own: they know neither bias, tail nor slices, whatever the whole has. */
static struct hole apart_from(struct hole hole)
{
    static const struct {
        const char *name;
        int64_t value;
    } own[] = {{"T_tail", 0}, {"T_vector_tail", 1}, {"T_pure_tail", 1}, {"T_bias", 0}, {"T_slices", 1}};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(hole.name, own[i].name) == 0)
            hole = (struct hole){.name = hole.name, .kind = HOLE_INT, .integer = own[i].value};
    if (strncmp(hole.name, "T_by_", 5) == 0)
        hole.integer = 0;
    return hole;
}

/* What the kernel's pointer of that name points to; of a count nothing. */
static struct element element_through(const struct kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->pointer_count; i++)
        if (strcmp(kernel->pointers[i].name, name) == 0)
            return kernel->pointers[i].element;
    for (int i = 0; i < kernel->parameter_count; i++)
        if (strcmp(kernel->parameters[i].name, name) == 0)
            return kernel->parameters[i].element;
    return (struct element){0};
}

/* Makes them a wrapper of a core, behind which the whole's tails stand. */
static void wrap_parts(const struct draft *draft, struct kernel *parts)
{
    struct arena *arena = &draft->cx->arena;

    parts->alone = true;
    parts->pointers = draft->kernel->pointers;
    parts->pointer_count = draft->kernel->pointer_count;
    parts->comment = draft->part_comment;
    for (int i = 0; i < draft->part->count; i++) {
        const struct part_parameter *own = &draft->part->parameters[i];
        const struct kernel_parameter parameter = {
            element_through(draft->kernel, own->of ? own->of : own->name), own->name, own->written, true,
            own->kind};

        ARENA_PUSH(arena, parts->parameters, parts->parameter_count, parameter);
    }
    parts->extra_first = parts->parameter_count;
    parts->core = keep_shared(draft, parts, new_core(draft, parts, core_part_stem(draft, parts)));
}

/* Parts that are a kernel of their own take the sizes that they ask for. */
static const struct kernel *parts_kernel(const struct draft *draft)
{
    const struct kernel *whole = draft->kernel;
    struct kernel *parts = new_kernel(draft->cx, draft->plan, KERNEL_TEMPLATE);
    const char *file = draft->step->algorithm->parts;

    parts->stem = parts_stem(draft);
    parts->role = strrchr(file, '_') + 1; /* "conv_direct_line" -> "line" */
    parts->own_name = kernel_rows[draft->op->code]->parts_stem != NULL;
    parts->template = file;
    parts->computed = whole->computed;
    for (int i = 0; i < whole->hole_count; i++) {
        const struct hole *hole = &whole->holes[i];

        if (!template_asks(draft->cx, &draft->plan->templates, file, hole->name))
            continue;
        if (hole->kind == HOLE_DIM && !dim_is_const(hole->dim, NULL))
            dim_mark_sizes(hole->dim, parts->used);
        ARENA_PUSH(&draft->cx->arena, parts->holes, parts->hole_count, apart_from(*hole));
    }
    if (draft->part)
        wrap_parts(draft, parts);
    return keep_shared(draft, parts, parts);
}

/* ---- a kernel of a template ---------------------------------------------------------------------------------- */

static void add_extras(struct draft *draft)
{
    const struct op *op = draft->op;
    struct kernel *kernel = draft->kernel;

    int own = kernel_rows[op->code]->own_inputs;

    kernel->extra_first = kernel->parameter_count;
    for (int i = own > 0 ? own : kernel->tail ? op->tail_first : op->input_count; i < op->input_count; i++)
        add_parameter(draft, element_of(draft, op->inputs[i]->dtype), false,
                      arena_format(&draft->cx->arena, "e%d", kernel->parameter_count - kernel->extra_first));
    if (!draft->over_y)
        return;
    kernel->parameters[0].restricted = false;
    for (int i = kernel->extra_first; i < kernel->parameter_count; i++)
        kernel->parameters[i].restricted = false;
}

/* Behind what the op's own row has said. */
static void finish_comment(struct draft *draft)
{
    struct arena *arena = &draft->cx->arena;
    struct kernel *kernel = draft->kernel;
    const char *how = draft->step->algorithm->how;

    if (kernel->tail)
        kernel->comment = arena_format(arena, "%s;\n * %s %s", kernel->comment,
                                       kernel->tail == draft->op->tail ? "then" : "before that y is",
                                       kernel->function ? "" : dag_text(draft->cx, kernel->tail));
    if (kernel->tail && kernel->function)
        kernel->call_at = (int)strlen(kernel->comment);
    if (!draft->step->algorithm->core)
        kernel->comment = arena_format(arena, "%s.\n * %c%s", kernel->comment, toupper((unsigned char)*how),
                                       how + 1);
    if (kernel->split.slices > 1)
        kernel->comment = arena_format(arena, "%s;\n * one of %d slices, by %s", kernel->comment,
                                       kernel->split.slices, split_names[kernel->split.axis]);
    if (!value_is_dense(arena, draft->op->outputs[0]))
        kernel->comment = arena_format(arena, "%s;\n * y is a part of a larger value", kernel->comment);
}

static const char *template_stem(const struct draft *draft)
{
    struct arena *arena = &draft->cx->arena;
    const char *stem = kernel_rows[draft->op->code]->stem(draft->cx, draft->op);

    if (!value_is_dense(arena, draft->op->outputs[0]))
        stem = arena_format(arena, "%s_part", stem);
    if (draft->narrow)
        stem = arena_format(arena, "%s_%s", stem, storage_word(arena, draft->narrow));
    return stem;
}

const struct kernel *template_kernel(struct draft *draft, const struct step *step)
{
    struct cx *cx = draft->cx;
    const struct op *op = step->op;
    const struct value *y = op->outputs[0];
    const struct kernel_row *row = kernel_rows[op->code];
    struct kernel *kernel = new_kernel(cx, draft->plan, KERNEL_TEMPLATE);

    draft->step = step;
    const struct packed *packed = step_packed(step, 1);

    draft->op = op;
    draft->kernel = kernel;
    draft->result = element_of(draft, y->dtype);
    draft->result.computed = element_of(draft, op_computed(op)).computed;
    draft->bias = draft->result;
    if (op_bias_at(op) >= 0)
        draft->bias = element_of(draft, op->inputs[op_bias_at(op)]->dtype);
    draft->narrow = packed && packed->format != PACKED_PANELS ? storage_plain(packed->storage)
                    : packed                                  ? packed->storage
                                                              : NULL;
    draft->weights = draft->narrow         ? (struct element){packed->dtype, draft->result.computed}
                     : op->input_count > 1 ? element_of(draft, op->inputs[1]->dtype)
                                           : draft->result;
    draft->input = element_of(draft, op->inputs[0]->dtype);
    kernel->template = step->algorithm->template;
    kernel->role = draft->role;
    kernel->block = draft->block;
    kernel->split = step->split;
    kernel->computed = draft->result.computed;
    take_tail(draft, row->tail ? row->tail(op) : op->tail);
    common_holes(draft);
    add_parameter(draft, draft->result, true, "y");
    if (step->algorithm->core && !op_tail_narrows(op) &&
        shares_tail(cx, kernel)) /* functions return what they take */
        kernel->function = element_function(cx, draft->plan, kernel->tail, kernel->computed,
                                            kernel->tail ? tail_label(cx, op) : "", op);
    hole_int(draft, "T_taken", kernel->function != NULL);
    row->holes(draft);
    add_extras(draft);
    finish_comment(draft);
    if (kernel->split.slices > 1)
        kernel->enough = enough_results(cx, y, kernel->split);
    kernel->stem = template_stem(draft);
    kernel->alone = step->algorithm->alone;
    if (step->algorithm->parts && draft->apart)
        kernel->parts = parts_kernel(draft);
    else
        kernel->parts_template = step->algorithm->parts;
    return step->algorithm->core ? wrap_core(draft) : keep_kernel(cx, draft->plan, kernel);
}

/* The result is added to what lies in its own memory. */
static bool accumulates(const struct variant *variant, const struct op *op)
{
    const struct place *place;

    if (!variant) /* MODEL_pack runs it */
        return false;
    place = &variant->places[op->outputs[0]->base->id];
    for (int i = op->tail_first; i < op->input_count && op->tail; i++) {
        const struct place *own = &variant->places[op->inputs[i]->base->id];

        if (own->kind == PLACE_GRADIENT && place->kind == PLACE_GRADIENT && own->index == place->index)
            return true;
    }
    return false;
}

void input_operand(struct making *making, struct kernel_call *call)
{
    add_value(making, call, making->step->op->inputs[0]);
}

void weighted_operands(struct making *making, struct kernel_call *call)
{
    int bias = op_bias_at(making->step->op);

    input_operand(making, call);
    add_op_input(making, call, 1);
    if (bias < 0)
        add_null(making, call);
    else
        add_op_input(making, call, bias);
}

void make_template(struct making *making)
{
    const struct op *op = making->step->op;
    int head_count;
    const struct kernel *kernel = drafted_kernel(making, accumulates(making->variant, op), &head_count);
    struct kernel_call *call = add_call(making, kernel);

    add_value(making, call, op->outputs[0]);
    kernel_rows[op->code]->operands(making, call);
    if (making->step->scratch_offset >= 0)
        add_operand(making, call,
                    (struct operand){.kind = OPERAND_SCRATCH,
                                     .dtype = kernel->computed,
                                     .offset = making->step->scratch_offset});
    for (int i = op->input_count - (kernel->parameter_count - kernel->extra_first) - head_count;
         i < op->input_count; i++)
        add_value(making, call, op->inputs[i]);
    add_sizes(making, call);
}
