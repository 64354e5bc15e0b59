/* plan_value.c - where each value lies. Offsets in the workspace come later. */
#include <assert.h>
#include <string.h>

#include "plan/planner.h"

int64_t planner_value_bytes(struct arena *arena, const struct value *value)
{
    int64_t bytes = dtype_rows[value->dtype].bytes;

    return __builtin_mul_overflow(bytes, dims_most(arena, value->ndim, value->dims), &bytes) ? INT64_MAX
                                                                                             : bytes;
}

/* What is made of a value that is too large is not said as well, where that was: constants are no results of ops that are looked
 * at. */
bool planner_check_size(struct cx *cx, const struct value *value)
{
    bool follows = false;

    if (planner_value_bytes(&cx->arena, value) / dtype_rows[value->dtype].bytes <= INT32_MAX)
        return true;
    for (int i = 0; i < value->op->input_count; i++)
        follows |= planner_value_bytes(&cx->arena, value->op->inputs[i]) /
                       dtype_rows[value->op->inputs[i]->dtype].bytes >
                   INT32_MAX;
    if (follows && diag_errors(cx) > 0)
        return false;
    diag_error(cx, value->loc, "a value of shape %s has more than 2**31 elements at the maxima of its sizes",
               shape_text(&cx->arena, value->ndim, value->dims));
    return false;
}

bool planner_is_output(const struct graph *graph, const struct value *base, int *index)
{
    for (int i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i]->base == base) {
            *index = i;
            return true;
        }
    }
    return false;
}

static int gradient_index(const struct plan *plan, const struct module_tensor *tensor)
{
    int index = 0;

    while (plan->gradients[index] != tensor)
        index++;
    return index;
}

/* The number of a parameter's gradient; in a region behind that of its first one. */
static void number_gradient(struct planner *planner, struct place *place, const struct module_tensor *tensor)
{
    const struct graph *graph = planner->variant->graph;

    place->tensor = tensor;
    place->index = gradient_index(planner->plan, tensor);
    place->name = planner->plan->gradient_names[place->index];
    if (!graph->region)
        return;
    place->index -= plan_first_gradient(planner->plan, graph->root);
    place->name = place->index > 0 ? arena_format(&planner->cx->arena, "gradient + %d", place->index)
                                   : "gradient";
}

/* The result whose gradient a region's YIELD gives. */
static int given_result(const struct graph *graph, const struct value *value)
{
    int before = value->result, result = 0;

    while (!graph->region->given[result] || before-- > 0)
        result++;
    return result;
}

static bool is_wanted(const struct graph *graph, int input)
{
    const struct value *value = graph->inputs[input];

    return graph->region ? graph->region->wanted[input]
                         : dtype_is_float(value->dtype) && !value->op->input.constant;
}

/* The input that output `index` of the graph is the gradient of. */
static const struct value *gradient_input(const struct graph *graph, int index)
{
    int before = 0;

    for (int i = graph->result_count; i < index; i++)
        before += graph->gradient_of[i - graph->result_count] == NULL;
    for (int i = 0; i < graph->input_count; i++)
        if (is_wanted(graph, i) && before-- == 0)
            return graph->inputs[i];
    return NULL;
}

/* A gradient, output place->index of the graph: of a parameter, or of an input, which goes to the caller. */
static void place_gradient(struct planner *planner, struct place *place)
{
    const struct graph *graph = planner->variant->graph;
    const struct module_tensor *tensor = graph->gradient_of[place->index - graph->result_count];
    const struct value *input;

    if (tensor) {
        place->kind = PLACE_GRADIENT;
        number_gradient(planner, place, tensor);
        return;
    }
    input = gradient_input(graph, place->index);
    place->kind = PLACE_OUTPUT;
    place->name = graph->region ? region_gradient(planner->cx, graph, input)
                                : c_gradient(planner->cx, graph, input->name, false);
}

/* Whether what reads the value, or a view of it, takes it as a number; but for what MODEL_pack runs. */
static bool is_read_as_number(const struct value *value)
{
    for (int u = 0; u < value->user_count; u++) {
        const struct op *op = value->users[u];

        if (op->code == GRAPH_OP_VIEW && !is_read_as_number(op->outputs[0]))
            return false;
        if (op->code == GRAPH_OP_VIEW || (op->output_count == 1 && op->outputs[0]->prepared))
            continue;
        for (int j = 0; j < op->input_count; j++)
            if (op->inputs[j] == value && !op_reads_number(op, j))
                return false;
    }
    return true;
}

/* A constant of equal elements that is a number wherever it is read, and need not lie anywhere. */
static bool is_number(const struct graph *graph, const struct value *base)
{
    const struct tensor *tensor = base->constant;
    int64_t count = tensor ? tensor_count(tensor) : 0;
    int index;

    if (count == 0 || planner_is_output(graph, base, &index))
        return false;
    for (int64_t i = 1; i < count; i++)
        if (memcmp(&tensor->data[i], &tensor->data[0], sizeof tensor->data[0]) != 0)
            return false;
    return is_read_as_number(base);
}

/* ---- by what makes the value: those that are there, or are another ---------------------------------------------- */

static void place_input(struct planner *planner, struct place *place, struct value *value)
{
    place->kind = PLACE_INPUT;
    place->index = value->op->input.index;
    place->name = region_input(planner->cx, planner->variant->graph, value);
}

static void place_tensor(struct planner *planner, struct place *place, struct value *value)
{
    const struct graph *graph = planner->variant->graph;

    place->tensor = value->op->tensor.tensor;
    place->kind = place->tensor->kind == MODULE_STATE ? PLACE_STATE : PLACE_TENSOR;
    if (!region_has_slot(graph->region, place->tensor))
        return;
    place->kind = PLACE_SLOT;
    place->name = region_slot(planner->cx, graph, place->tensor);
}

static void place_const(struct planner *planner, struct place *place, struct value *value)
{
    place->kind = is_number(planner->variant->graph, value) ? PLACE_NUMBER : PLACE_CONST;
    if (place->kind == PLACE_CONST)
        place->name = plan_constant(planner->cx, planner->plan, value);
}

/* What a boundary or a write is given, or what that lies in, so that nobody walks from one to the next. */
static const struct value *memory_given(const struct planner *planner, const struct value *given)
{
    const struct value *same = planner->variant->places[given->base->id].same;

    return same ? same : given->base;
}

static void place_written(struct planner *planner, struct place *place, struct value *value)
{
    *place = planner->variant->places[value->op->inputs[0]->base->id];
    place->same = memory_given(planner, value->op->inputs[0]);
}

static void place_yielded(struct planner *planner, struct place *place, struct value *value)
{
    const struct graph *graph = planner->variant->graph;

    place->kind = PLACE_INPUT;
    place->name = graph->region ? region_result(planner->cx, graph, "dy", given_result(graph, value))
                                : c_gradient(planner->cx, graph, value->name, true);
}

static void place_updated(struct planner *planner, struct place *place, struct value *value)
{
    place->kind = PLACE_TENSOR;
    number_gradient(planner, place, value->op->gradient.tensor);
}

static void place_before(struct planner *planner, struct place *place, struct value *value)
{
    place->kind = value->op->gradient.present ? PLACE_PRESENT : PLACE_GRADIENT;
    number_gradient(planner, place, value->op->gradient.tensor);
}

static void place_at_boundary(struct planner *planner, struct place *place, struct value *value)
{
    place->kind = PLACE_FENCE;
    place->index = -1;
    place->same = memory_given(planner, value->op->inputs[value->result]);
}

/* NULL: it is computed, and lies where those want it that read it. */
static void (*const placers[GRAPH_OP_COUNT])(struct planner *planner, struct place *place,
                                             struct value *value) = {
    [GRAPH_OP_INPUT] = place_input,     [GRAPH_OP_TENSOR] = place_tensor,
    [GRAPH_OP_CONST] = place_const,     [GRAPH_OP_WRITE] = place_written,
    [GRAPH_OP_YIELD] = place_yielded,   [GRAPH_OP_UPDATE] = place_updated,
    [GRAPH_OP_GRADIENT] = place_before, [GRAPH_OP_FENCE] = place_at_boundary,
};

static void place_computed(struct planner *planner, struct place *place, struct value *value)
{
    const struct graph *graph = planner->variant->graph;

    if (value->prepared) {
        place->kind = PLACE_PACKED;
        place->packed = planner_need_packed(planner, (struct packing){PACKED_DENSE, NULL, -1, 1}, value);
    } else if (!planner_is_output(graph, value, &place->index)) {
        place->kind = PLACE_WORKSPACE;
        place->bytes = plan_aligned(planner->plan, planner_value_bytes(&planner->cx->arena, value));
    } else if (place->index >= graph->result_count) {
        place_gradient(planner, place);
    } else {
        place->kind = PLACE_OUTPUT;
        place->name = graph->region ? region_result(planner->cx, graph, "y", place->index)
                                    : c_output(planner->cx, graph, place->index);
    }
}

/* Where a base value lies; workspace offsets and names come later. */
void planner_place_value(struct planner *planner, struct value *value)
{
    struct place *place = &planner->variant->places[value->id];

    if (value->base != value || place->kind != PLACE_NONE)
        return;
    if (placers[value->op->code])
        placers[value->op->code](planner, place, value);
    else
        place_computed(planner, place, value);
}
