/* nests.c - kernels that are loop nests: map, write, concat, reduce, gather, scatter, scan, sort, random. */
#include <string.h>

#include "plan/kernels/draft.h"
#include "plan/plan_join.h"

/* ---- nests ---------------------------------------------------------------------------------------------------- */

/* `operand` along the axes of `whole` (broadcast: 0). */
static struct nest_operand nest_operand(struct cx *cx, const struct value *operand, const struct value *whole)
{
    struct nest_operand out = {.dtype = operand->dtype};

    for (int i = 0; i < whole->ndim; i++) {
        int at = i - (whole->ndim - operand->ndim);

        out.strides[i] = at < 0 || dim_equals(operand->dims[at], 1) ? dim_const(&cx->arena, 0)
                                                                    : operand->strides[at];
    }
    return out;
}

const char *shapes_comment(struct cx *cx, const struct value *y, const char *what)
{
    return arena_format(&cx->arena, "y %s = %s", shape_text(&cx->arena, y->ndim, y->dims), what);
}

const char *dag_text(struct cx *cx, const struct dag *dag)
{
    struct text text = text_new(&cx->arena);

    dag_print(&text, dag);
    return text.data;
}

/* The sizes of the spec that it takes: a core takes none. */
static void mark_nest(const struct kernel *kernel, bool *used)
{
    const struct nest *nest = &kernel->nest;

    if (kernel->length_count > 0)
        return;
    for (int i = 0; i < nest->ndim; i++) {
        dim_mark_sizes(nest->dims[i], used);
        for (int j = 0; j < nest->operand_count; j++)
            dim_mark_sizes(nest->operands[j].strides[i], used);
    }
    if (kernel->dag)
        dag_mark_sizes(kernel->dag, used);
    if (kernel->tail)
        dag_mark_sizes(kernel->tail, used);
    if (kernel->step)
        dim_mark_sizes(kernel->step, used);
    if (!kernel->line.length)
        return;
    dim_mark_sizes(kernel->line.length, used);
    for (int j = 0; j < nest->operand_count; j++)
        dim_mark_sizes(kernel->line.steps[j], used);
}

struct kernel *new_nest(struct cx *cx, const struct plan *plan, enum nest_kind kind, struct nest nest)
{
    struct kernel *kernel = new_kernel(cx, plan, KERNEL_NEST);

    kernel->kind = kind;
    kernel->nest = nest;
    nest_normalise(&cx->arena, &kernel->nest);
    return kernel;
}

/* Whether the dag divides integers. */
static bool divides_integers(const struct dag *dag)
{
    for (int i = 0; dag && i < dag->count; i++)
        if (!dtype_is_float(dag->nodes[i].dtype) &&
            (dag->nodes[i].prim == PRIM_FLOORDIV || dag->nodes[i].prim == PRIM_MOD))
            return true;
    return false;
}

const struct kernel *keep_nest(struct cx *cx, struct plan *plan, struct kernel *kernel, const char *stem)
{
    struct arena *arena = &cx->arena;

    kernel->stem = stem;
    kernel->guarded = plan->backend->apart && plan->checks &&
                      (kernel->kind == NEST_GATHER || kernel->kind == NEST_SCATTER ||
                       divides_integers(kernel->dag) || divides_integers(kernel->tail));
    if (kernel->kind == NEST_MAP)
        kernel->loops = map_form(&kernel->nest, kernel->dag, plan->backend->vectors);
    else if (kernel->kind == NEST_REDUCE && kernel->length_count == 0) /* of a core it is said */
        kernel->loops = reduce_form(&kernel->nest, kernel->reduce, kernel->dag, kernel->tail,
                                    plan->backend->vectors);
    kernel->loops.core = kernel->length_count > 0;
    mark_nest(kernel, kernel->used);
    for (int i = 0; i < kernel->nest.operand_count; i++)
        ARENA_PUSH(arena, kernel->parameters, kernel->parameter_count,
                   ((struct kernel_parameter){
                       .element = backend_element(plan->backend, kernel->nest.operands[i].dtype),
                       .name = i ? arena_format(arena, "x%d", i - 1) : "y",
                       .written = i == 0}));
    return keep_kernel(cx, plan, kernel);
}

/* Which axis is dealt out, and how many tiles it has, each of `unit` elements: one that is not reduced, the outermost that
 * has a tile for each slice whatever the sizes are, else that with the most. Tiles of a contiguous axis are whole cache
 * lines. -1: there is none. */
static int sliced_axis(const struct nest *nest, int slices, int64_t *tiles, int *unit)
{
    int axis = -1;

    *tiles = 0;
    for (int i = 0; i < nest->ndim; i++) {
        int line = dim_equals(nest->operands[0].strides[i], 1) ? 64 : 1;
        int64_t own = (dim_upper(nest->dims[i]) + line - 1) / line;
        bool fixed = dim_is_const(nest->dims[i], NULL) && own >= slices;

        if (nest->reduced[i] || (!fixed && own <= *tiles))
            continue;
        *tiles = own;
        axis = i;
        *unit = line;
        if (fixed)
            break;
    }
    return axis;
}

/* Deals an axis out, unless there is none. */
static void slice_nest(struct cx *cx, const struct plan *plan, struct kernel *kernel,
                       const struct value *target, struct split split)
{
    const struct module_tree *tree = plan->program->tree;
    struct slicing *slicing;
    int64_t tiles;
    int unit = 1, axis = sliced_axis(&kernel->nest, split.slices, &tiles, &unit);

    if (split.slices < 2 || axis < 0)
        return;
    slicing = ARENA_NEW(&cx->arena, struct slicing);
    slicing->slices = split.slices;
    slicing->axis = axis;
    slicing->unit = unit;
    slicing->extent = kernel->nest.dims[axis];
    slicing->count.name = slicing->count.c_name = size_name(cx, tree, "count");
    slicing->count.index = tree->size_count;
    slicing->count.max = (tiles + split.slices - 1) / split.slices * unit;
    slicing->used = ARENA_ARRAY(&cx->arena, kernel->used_count, bool);
    kernel->split = (struct split){.slices = split.slices, .values = split.values};
    kernel->enough = enough_results(cx, target, split);
    if (kernel->enough)
        dim_mark_sizes(kernel->enough, slicing->used);
    mark_nest(kernel, slicing->used);
    kernel->nest.dims[axis] = dim_size(&cx->arena, &slicing->count);
    kernel->comment = arena_format(&cx->arena, "%s; a slice: %s of %s", kernel->comment,
                                   slicing->count.c_name, dim_text(&cx->arena, slicing->extent));
    kernel->slicing = slicing;
}

/* "add_4x8": the op's own words, then a shape. */
static const char *stem_of(struct cx *cx, const struct op *op, const struct value *shape)
{
    struct text text = text_new(&cx->arena);

    text_add(&text, op_label(op));
    name_dims(cx, &text, shape->ndim, shape->dims);
    return text.data;
}

static const char *result_stem(struct cx *cx, const struct op *op)
{
    return stem_of(cx, op, op->outputs[0]);
}

/* A call with the result, then all inputs of the op. */
static struct kernel_call *call_op(struct making *making, const struct kernel *kernel)
{
    const struct op *op = making->step->op;
    struct kernel_call *call = add_call(making, kernel);

    add_value(making, call, op->outputs[0]);
    for (int i = 0; i < op->input_count; i++)
        add_value(making, call, op->inputs[i]);
    return call;
}

/* ---- map, write, concat ----------------------------------------------------------------------------------------- */

struct kernel *map_nest(struct cx *cx, const struct plan *plan, const struct value *target,
                        const struct dag *dag, struct value *const *inputs, int count)
{
    struct nest nest = {.ndim = target->ndim, .operand_count = count + 1};
    struct kernel *kernel;

    memcpy(nest.dims, target->dims, sizeof nest.dims);
    nest.operands = ARENA_ARRAY(&cx->arena, count + 1, struct nest_operand);
    nest.operands[0] = nest_operand(cx, target, target);
    for (int i = 0; i < target->ndim; i++) /* a size-1 axis of the target has stride, but one step */
        nest.operands[0].strides[i] = target->strides[i];
    for (int i = 0; i < count; i++)
        nest.operands[1 + i] = nest_operand(cx, inputs[i], target);
    kernel = new_nest(cx, plan, NEST_MAP, nest);
    kernel->dag = dag;
    kernel->shape = shape_text(&cx->arena, target->ndim, target->dims);
    kernel->comment = dag_text(cx, dag);
    return kernel;
}

/* The dag over the inputs that lie somewhere, which become *inputs: the others are numbers in it. */
static const struct dag *with_numbers(struct cx *cx, const struct variant *variant, const struct dag *dag,
                                      struct value *const **inputs, int *count)
{
    struct arena *arena = &cx->arena;
    struct dag *own = dag_new(arena, *count);
    struct value **left = ARENA_ARRAY(arena, *count + 1, struct value *);
    int *nodes = ARENA_ARRAY(arena, *count + 1, int), used = 0;

    for (int i = 0; i < *count; i++) {
        const struct value *base = (*inputs)[i]->base;
        const enum dtype read = dag_input_type(dag, i, base->dtype);
        struct dag_node number = {.prim = PRIM_CONST, .dtype = read, .args = {-1, -1, -1}};

        if (variant->places[base->id].kind != PLACE_NUMBER) {
            nodes[i] = dag_load(arena, own, used, read);
            left[used++] = (*inputs)[i];
            continue;
        }
        if (dtype_is_float(base->dtype))
            number.number = base->constant->data[0].f;
        else
            number.integer = base->constant->data[0].i;
        nodes[i] = dag_add(arena, own, number);
    }
    if (used == *count)
        return dag;
    own->result = dag_inline(arena, own, dag, nodes);
    own->input_count = used;
    *inputs = left;
    *count = used;
    return dag_is_identity(own) ? own : dag_told(arena, own);
}

/* Whether a map is one run of elements that are copied, or all 0. */
static bool is_run(const struct kernel *kernel)
{
    const struct nest *nest = &kernel->nest;
    const bool zeros = dag_is_zero(kernel->dag);

    if (kernel->slicing || nest->ndim > 1 || !(zeros || dag_is_identity(kernel->dag)))
        return false;
    if (!zeros && nest->operands[0].dtype != nest->operands[1].dtype)
        return false;
    return nest->ndim == 0 || (dim_equals(nest->operands[0].strides[0], 1) &&
                               (zeros || dim_equals(nest->operands[1].strides[0], 1)));
}

/* A value that is a struct modc_tensor of its own where the step stands, and has so many elements; else NULL. */
static const struct value *as_tensor(const struct making *making, const struct value *value,
                                     const struct dim *count)
{
    const struct variant *variant = making->variant;
    const struct place *place = variant && value ? &variant->places[value->base->id] : NULL;
    const int step = variant ? (int)(making->step - variant->steps) : 0;

    if (!place || value->base != value || !dim_equal(dims_count(&making->cx->arena, value), count))
        return NULL;
    if (place->kind == PLACE_FENCE) /* what an earlier part left is no more than a pointer */
        return variant_part(variant, place->first) == variant_part(variant, step) ? value : NULL;
    return place->shown ? value : NULL;
}

/* Such a map: memcpy or memset. */
static void call_run(struct making *making, const struct kernel *run, const struct value *target,
                     const struct value *input)
{
    const struct backend *backend = making->plan->backend;
    struct cx *cx = making->cx;
    const bool zeros = dag_is_zero(run->dag);
    const struct dim *count = run->nest.ndim > 0 ? run->nest.dims[0] : dim_const(&cx->arena, 1);
    const struct value *tensor = as_tensor(making, zeros ? NULL : input, count);
    struct kernel_call *call = add_call(making,
                                        library_kernel(cx, making->plan,
                                                       zeros                         ? backend->zeros
                                                       : target->dtype == DTYPE_BOOL ? backend->copy_bools
                                                                                     : backend->copy));

    add_value(making, call, target);
    if (zeros)
        add_operand(making, call, (struct operand){.kind = OPERAND_NUMBER});
    else
        add_value(making, call, input);
    add_operand(making, call,
                (struct operand){.kind = OPERAND_BYTES,
                                 .dtype = target->dtype,
                                 .value = tensor ? tensor : as_tensor(making, target, count),
                                 .count = count});
}

/* A call with the result, then these inputs. */
static void call_nest(struct making *making, const struct kernel *kernel, const struct value *target,
                      struct value *const *inputs, int count)
{
    struct kernel_call *call = add_call(making, kernel);

    add_value(making, call, target);
    for (int i = 0; i < count; i++)
        add_value(making, call, inputs[i]);
    add_sizes(making, call);
}

/* The kernel that it calls; NULL: memcpy or memset does it. */
static const struct kernel *call_map(struct making *making, struct split split, const char *stem,
                                     const struct value *target, const struct dag *dag,
                                     struct value *const *inputs, int count)
{
    struct cx *cx = making->cx;
    const struct dag *own = with_numbers(cx, making->variant, dag, &inputs, &count);
    struct kernel *kernel = map_nest(cx, making->plan, target, own, inputs, count);
    const struct kernel *kept;

    if (own->nodes[own->result].prim == PRIM_CONST && strncmp(stem, "copy_", 5) == 0)
        stem = arena_format(&cx->arena, "fill_%s", stem + 5);
    slice_nest(cx, making->plan, kernel, target, split);
    if (is_run(kernel)) {
        call_run(making, kernel, target, count > 0 ? inputs[0] : NULL);
        return NULL;
    }
    kept = keep_map(cx, making->plan, kernel, making->step->op, stem);
    call_nest(making, kept, target, inputs, count);
    return kept;
}

/* What moves elements and computes nothing. */
static void call_copy(struct making *making, const struct value *target, struct value *const *input)
{
    struct cx *cx = making->cx;
    struct text stem = text_new(&cx->arena);

    text_add(&stem, "copy");
    name_dims(cx, &stem, target->ndim, target->dims);
    call_map(making, (struct split){.slices = 1}, stem.data, target, dag_identity(&cx->arena, target->dtype),
             input, 1);
}

/* Of a step of a variant whose inputs all lie somewhere; else NULL. */
static struct drafted_kernel *nest_like(struct making *making)
{
    const struct op *op = making->step->op;

    for (int i = 0; i < op->input_count; i++)
        if (!making->variant || making->variant->places[op->inputs[i]->base->id].kind == PLACE_NUMBER)
            return NULL;
    return making->variant && op->input_count > 0 ? drafted_like(making, false) : NULL;
}

static void make_map(struct making *making)
{
    const struct op *op = making->step->op;
    struct drafted_kernel *drafted = nest_like(making);
    const struct kernel *kernel;

    if (drafted && drafted->kernel) {
        call_nest(making, drafted->kernel, op->outputs[0], op->inputs, op->input_count);
        return;
    }
    kernel = call_map(making, making->step->split, result_stem(making->cx, op), op->outputs[0], op->dag,
                      op->inputs, op->input_count);
    if (drafted)
        drafted->kernel = kernel;
}

static const char *write_stem(struct cx *cx, const struct op *op)
{
    return stem_of(cx, op, op->inputs[1]);
}

static void make_rows(struct making *making);

static void make_write(struct making *making)
{
    const struct op *op = making->step->op;

    if (op->write.rows)
        make_rows(making);
    else
        call_map(making, making->step->split, write_stem(making->cx, op), op->inputs[1], op->dag,
                 op->inputs + 2, op->input_count - 2);
}

static void make_concat(struct making *making)
{
    const struct op *op = making->step->op;
    struct arena *arena = &making->cx->arena;

    for (int i = 0; i < op->input_count; i++) {
        struct value *part = ARENA_NEW(arena, struct value);

        *part = join_part(arena, op, i);
        if (!join_is_done(arena, op, i))
            call_copy(making, part, &op->inputs[i]);
    }
}

const struct kernel_row map_kernels = {
    .stem = result_stem, .make = make_map, .writes = writes_lines, .slices = true};
const struct kernel_row write_kernels = {.stem = write_stem, .make = make_write, .slices = true};
const struct kernel_row concat_kernels = {.stem = result_stem, .make = make_concat, .writes = writes_lines};

/* ---- gather, scatter -------------------------------------------------------------------------------------------- */

/* Operands: `indexed` where its index is 0, what comes from there or goes there, the index; all along the axes of `over`. */
static struct nest indexed_nest(struct cx *cx, const struct value *indexed, const struct value *other,
                                const struct value *index, const struct value *over, int axis, bool along)
{
    struct nest nest = {.ndim = over->ndim, .operand_count = 3};
    const struct dim *zero = dim_const(&cx->arena, 0);
    int more = along ? 0 : index->ndim - 1; /* axes of `over` for the one that is indexed */

    nest.operands = ARENA_ARRAY(&cx->arena, 3, struct nest_operand);
    nest.operands[0].dtype = indexed->dtype;
    nest.operands[1] = nest_operand(cx, other, over);
    nest.operands[2].dtype = index->dtype;
    for (int i = 0; i < over->ndim; i++) {
        bool at_index = i >= axis && i <= axis + more;

        nest.dims[i] = over->dims[i];
        nest.operands[0].strides[i] = at_index ? zero : indexed->strides[i < axis ? i : i - more];
        nest.operands[1].strides[i] = other->strides[i];
        nest.operands[2].strides[i] = along ? index->strides[i] : at_index ? index->strides[i - axis] : zero;
    }
    return nest;
}

/* Distance of neighbours along an axis; 0 where there is but one element. */
static const struct dim *step_along(struct cx *cx, const struct value *value, int axis)
{
    return value->ndim > 0 ? value->strides[axis] : dim_const(&cx->arena, 0);
}

static void make_gather(struct making *making)
{
    struct cx *cx = making->cx;
    const struct op *op = making->step->op;
    const struct value *y = op->outputs[0], *x = op->inputs[0], *index = op->inputs[1];
    struct nest nest = indexed_nest(cx, x, y, index, y, op->gather.axis, op->gather.along);
    struct nest_operand from = nest.operands[0];
    struct kernel *kernel;

    nest.operands[0] = nest.operands[1]; /* y comes first */
    nest.operands[1] = from;
    kernel = new_nest(cx, making->plan, NEST_GATHER, nest);
    kernel->step = step_along(cx, x, op->gather.axis);
    kernel->comment = shapes_comment(cx, y,
                                     arena_format(&cx->arena, "x0 %s at x1 %s along dimension %d",
                                                  shape_text(&cx->arena, x->ndim, x->dims),
                                                  shape_text(&cx->arena, index->ndim, index->dims),
                                                  op->gather.axis));
    add_sizes(making, call_op(making, keep_nest(cx, making->plan, kernel, result_stem(cx, op))));
}

static const char *scatter_way(const struct op *op)
{
    switch (op->dag->nodes[op->dag->result].prim) {
    case PRIM_ADD:
        return ", and is added";
    case PRIM_MUL:
        return ", as a factor";
    case PRIM_MAX:
        return ", where it is larger";
    case PRIM_MIN:
        return ", where it is smaller";
    default:
        return "";
    }
}

/* What goes into y at the index. dag: of what stands there and what comes; NULL: what comes. */
static void call_scatter(struct making *making, const struct value *y, const struct value *index,
                         const struct value *source, int axis, bool along, const struct dag *dag,
                         const char *way)
{
    struct cx *cx = making->cx;
    struct kernel *kernel = new_nest(cx, making->plan, NEST_SCATTER,
                                     indexed_nest(cx, y, source, index, along ? index : source, axis, along));
    struct kernel_call *call;

    kernel->dag = dag;
    kernel->step = step_along(cx, y, axis);
    kernel->comment = arena_format(&cx->arena, "y %s: x0 %s goes to x1 %s along dimension %d%s",
                                   shape_text(&cx->arena, y->ndim, y->dims),
                                   shape_text(&cx->arena, source->ndim, source->dims),
                                   shape_text(&cx->arena, index->ndim, index->dims), axis, way);
    call = add_call(making, keep_nest(cx, making->plan, kernel, result_stem(cx, making->step->op)));
    add_value(making, call, y);
    add_value(making, call, source);
    add_value(making, call, index);
    add_sizes(making, call);
}

/* A copy of input 0, then what goes into it. */
static void make_scatter(struct making *making)
{
    const struct op *op = making->step->op;

    call_copy(making, op->outputs[0], op->inputs);
    call_scatter(making, op->outputs[0], op->inputs[1], op->inputs[2], op->scatter.axis, op->scatter.along,
                 op->dag, scatter_way(op));
}

/* Of a write: what stands there already stays. */
static void make_rows(struct making *making)
{
    const struct op *op = making->step->op;
    struct dag *dag = dag_new(&making->cx->arena, 2);

    dag->result = dag_load(&making->cx->arena, dag, 1, op->inputs[3]->dtype);
    call_scatter(making, op->inputs[1], op->inputs[2], op->inputs[3], 0, false, dag, "");
}

const struct kernel_row gather_kernels = {.stem = result_stem, .make = make_gather, .writes = writes_lines};
const struct kernel_row scatter_kernels = {.stem = result_stem, .make = make_scatter, .writes = writes_lines};

/* ---- scan, sort: what runs along one axis, for all others ---------------------------------------------------------- */

static struct kernel *line_nest(struct making *making, enum nest_kind kind, int axis, bool reverse,
                                bool given)
{
    struct cx *cx = making->cx;
    const struct op *op = making->step->op;
    const struct value *y = op->outputs[0];
    const struct dim **steps = ARENA_ARRAY(&cx->arena, op->input_count + 1, const struct dim *);
    struct nest nest = {.operand_count = op->input_count + 1};
    struct kernel *kernel;

    nest.operands = ARENA_ARRAY(&cx->arena, op->input_count + 1, struct nest_operand);
    for (int i = 0; i < y->ndim; i++)
        if (i != axis)
            nest.dims[nest.ndim++] = y->dims[i];
    for (int k = 0; k < op->input_count + 1; k++) {
        struct nest_operand *own = &nest.operands[k];
        int count = 0;

        if (k == 1 && given) { /* it has all axes but this one */
            own->dtype = op->inputs[0]->dtype;
            memcpy(own->strides, op->inputs[0]->strides, sizeof own->strides);
            steps[k] = dim_const(&cx->arena, 0);
            continue;
        }
        *own = nest_operand(cx, k > 0 ? op->inputs[k - 1] : y, y);
        steps[k] = own->strides[axis];
        for (int i = 0; i < y->ndim; i++)
            if (i != axis)
                own->strides[count++] = own->strides[i];
    }
    kernel = new_nest(cx, making->plan, kind, nest);
    kernel->line = (struct line){y->dims[axis], steps, reverse};
    return kernel;
}

/* "sums of x0 along dimension 1", or the dag, in which the element before is called so. */
static const char *scan_text(struct cx *cx, const struct op *op)
{
    static const char *const kinds[] = {"sums", "products"};
    struct arena *arena = &cx->arena;
    const char *end = op->scan.reverse ? ", from its end" : "",
               *before = arena_format(arena, "x%d", op->input_count);
    struct dag *own = dag_new(arena, op->input_count + 1);
    int *nodes = ARENA_ARRAY(arena, op->input_count + 1, int);
    struct text text = text_new(arena);

    if ((op->scan.kind == SCAN_SUM || op->scan.kind == SCAN_PRODUCT) && op->dag->count == 3)
        return arena_format(arena, "%s of x0 along dimension %d%s", kinds[op->scan.kind], op->scan.axis, end);
    for (int i = op->scan.given - 1; i < op->input_count; i++) {
        const int at = 1 + i - op->scan.given;
        const enum dtype dtype = dag_input_type(op->dag, at, op->outputs[0]->dtype);

        nodes[at] = dag_load(arena, own, at > 0 ? i : op->input_count, dtype);
    }
    own->result = dag_inline(arena, own, op->dag, nodes);
    for (const char *at = dag_text(cx, own); *at; at++) {
        if (strncmp(at, before, strlen(before)) == 0) {
            text_add(&text, "before");
            at += strlen(before) - 1;
        } else {
            text_printf(&text, "%c", *at);
        }
    }
    return arena_format(arena, "%s along dimension %d%s%s", text.data, op->scan.axis, end,
                        op->scan.given ? " and x0" : "");
}

static void make_scan(struct making *making)
{
    struct cx *cx = making->cx;
    const struct op *op = making->step->op;
    struct kernel *kernel = line_nest(making, NEST_SCAN, op->scan.axis, op->scan.reverse, op->scan.given);

    kernel->dag = op->dag;
    kernel->start = op->scan.kind == SCAN_PRODUCT;
    kernel->given = op->scan.given;
    kernel->comment = shapes_comment(cx, op->outputs[0], scan_text(cx, op));
    add_sizes(making, call_op(making, keep_nest(cx, making->plan, kernel, result_stem(cx, op))));
}

static void make_sort(struct making *making)
{
    struct cx *cx = making->cx;
    const struct op *op = making->step->op;
    struct kernel *kernel = line_nest(making, NEST_SORT, op->sort.axis, false, false);

    kernel->descending = op->sort.descending;
    kernel->comment = shapes_comment(cx, op->outputs[0],
                                     arena_format(&cx->arena, "%s of x0 along dimension %d",
                                                  op->sort.descending ? "descending order" : "order",
                                                  op->sort.axis));
    add_sizes(making, call_op(making, keep_nest(cx, making->plan, kernel, result_stem(cx, op))));
}

const struct kernel_row scan_kernels = {.stem = result_stem, .make = make_scan, .writes = writes_lines};
const struct kernel_row sort_kernels = {.stem = result_stem, .make = make_sort, .writes = writes_lines};

/* ---- reduce ----------------------------------------------------------------------------------------------------- */

static const char *reduce_stem(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0];
    struct text text = text_new(&cx->arena);

    text_printf(&text, "%s_over", stem_of(cx, op, x));
    for (int i = 0; i < x->ndim; i++)
        if (op->reduce.axes[i])
            text_printf(&text, "_%d", i);
    return text.data;
}

/* The shape that the loops run over: the head's whole one. */
static struct value reduced_shape(struct cx *cx, const struct op *op)
{
    struct value whole = {0};

    for (int i = 0; i < op->tail_first; i++)
        if (op->inputs[i]->ndim > whole.ndim)
            whole.ndim = op->inputs[i]->ndim;
    for (int i = 0; i < whole.ndim; i++) {
        whole.dims[i] = dim_const(&cx->arena, 1);
        for (int j = 0; j < op->tail_first; j++) {
            int at = i - (whole.ndim - op->inputs[j]->ndim);

            if (at >= 0 && !dim_equals(op->inputs[j]->dims[at], 1))
                whole.dims[i] = op->inputs[j]->dims[at];
        }
    }
    return whole;
}

/* Along the axes of the whole shape, from strides along the result's: 0 where it is reduced. */
static void spread_strides(struct cx *cx, const struct op *op, int ndim, const struct dim *const *strides,
                           struct nest_operand *operand)
{
    int axis = 0;

    for (int i = 0; i < ndim; i++) {
        operand->strides[i] = op->reduce.axes[i] ? dim_const(&cx->arena, 0) : strides[axis];
        if (!op->reduce.axes[i] || op->reduce.keepdim)
            axis++;
    }
}

static struct nest reduce_nest(struct cx *cx, const struct op *op)
{
    const struct value *y = op->outputs[0];
    const struct value whole = reduced_shape(cx, op);
    struct nest nest = {
        .ndim = whole.ndim, .operand_count = 1 + op->input_count, .reorder = !reduce_is_arg(op->reduce.kind)};

    nest.operands = ARENA_ARRAY(&cx->arena, 1 + op->input_count, struct nest_operand);
    for (int i = 0; i < whole.ndim; i++) {
        nest.dims[i] = whole.dims[i];
        nest.reduced[i] = op->reduce.axes[i];
    }
    nest.operands[0].dtype = y->dtype;
    spread_strides(cx, op, whole.ndim, y->strides, &nest.operands[0]);
    for (int j = 0; j < op->input_count; j++) {
        const struct value *operand = op->inputs[j];
        struct nest_operand over = nest_operand(cx, operand, j < op->tail_first ? &whole : y);

        nest.operands[1 + j] = over;
        if (j >= op->tail_first) /* it lies along the output's axes */
            spread_strides(cx, op, whole.ndim, over.strides, &nest.operands[1 + j]);
    }
    return nest;
}

static const struct kernel *reduce_kernel(struct making *making)
{
    struct cx *cx = making->cx;
    const struct op *op = making->step->op;
    struct kernel *kernel = new_nest(cx, making->plan, NEST_REDUCE, reduce_nest(cx, op));

    kernel->dag = op->head ? op->head : dag_told(&cx->arena, dag_identity(&cx->arena, op->inputs[0]->dtype));
    kernel->tail = op->tail ? op->tail
                            : dag_told(&cx->arena, reduce_tail(&cx->arena, op->reduce.kind, kernel->dag,
                                                               op->outputs[0]->dtype));
    kernel->reduce = op->reduce.kind;
    kernel->before = making->entry ? "pack" : NULL;
    kernel->shape = shape_text(&cx->arena, op->outputs[0]->ndim, op->outputs[0]->dims);
    kernel->comment = arena_format(&cx->arena, "%.*s of %s%s%s", (int)strcspn(op->label, op->tail ? "_" : ""),
                                   op->label, dag_text(cx, kernel->dag), op->tail ? ", then " : "",
                                   op->tail ? dag_text(cx, op->tail) : "");
    slice_nest(cx, making->plan, kernel, op->outputs[0], making->step->split);
    return keep_reduction(cx, making->plan, kernel, op, reduce_stem(cx, op));
}

static void make_reduce(struct making *making)
{
    const struct op *op = making->step->op;
    struct drafted_kernel *drafted = nest_like(making);
    const struct kernel *kernel = drafted ? drafted->kernel : NULL;

    if (!kernel)
        kernel = reduce_kernel(making);
    if (drafted)
        drafted->kernel = kernel;
    call_nest(making, kernel, op->outputs[0], op->inputs, op->input_count);
}

const struct kernel_row reduce_kernels = {
    .stem = reduce_stem, .make = make_reduce, .writes = writes_lines, .slices = true};

/* ---- random ----------------------------------------------------------------------------------------------------- */

/* Of the call behind the YIELD. */
static bool is_backward(const struct making *making)
{
    const struct variant *variant = making->variant;

    return variant->yield >= 0 && making->step - variant->steps >= variant->yield;
}

static void make_random(struct making *making)
{
    struct cx *cx = making->cx;
    const struct op *op = making->step->op;
    const struct value *y = op->outputs[0];
    struct nest nest = {.ndim = y->ndim, .operand_count = 1 + op->input_count};
    const struct module *module = op->random.module;
    struct kernel *kernel;
    struct kernel_call *call;

    memcpy(nest.dims, y->dims, sizeof nest.dims);
    nest.operands = ARENA_ARRAY(&cx->arena, 1 + op->input_count, struct nest_operand);
    nest.operands[0] = nest_operand(cx, y, y);
    for (int i = 0; i < op->input_count; i++)
        nest.operands[1 + i] = nest_operand(cx, op->inputs[i], y);
    kernel = new_nest(cx, making->plan, NEST_RANDOM, nest);
    kernel->tail = op->tail;
    if (op->tail && !dag_is_identity(op->tail) && !dag_knows_sizes(op->tail))
        kernel->function = element_function(cx, making->plan, op->tail,
                                            op->tail->nodes[op->tail->result].dtype,
                                            outer_words(cx, op_label(op)), op);
    kernel->shape = shape_text(&cx->arena, y->ndim, y->dims);
    kernel->comment = kernel->function ? "" : op->tail ? dag_text(cx, op->tail) : "uniform [0, 1)";
    call = call_op(making, keep_nest(cx, making->plan, kernel, result_stem(cx, op)));
    add_operand(making, call, /* a stream for each draw of each module */
                (struct operand){.kind = OPERAND_STREAM,
                                 .earlier = is_backward(making),
                                 .offset = (module ? module->index : 0) +
                                           op->random.draw * making->plan->program->tree->module_count});
    add_sizes(making, call);
}

const struct kernel_row random_kernels = {.stem = result_stem, .make = make_random, .writes = writes_dense};
