/* graph_check.c - what always holds in a graph; apart from what edits it, so that neither forgives the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "graph/graph.h"

/* One check: what it has seen so far, by ids of values. `cx` is of its own, so that what infer makes is freed. */
struct check {
    const struct graph *graph;
    struct cx cx;
    bool types;
    bool *made, *replaced;
    const struct value **roots; /* through views; a chain of them is walked once */
    int *read, *returned;
    struct value *copies; /* room for results of one op, as infer makes them */
    struct value **outputs;
    int room;
    uint64_t *readers; /* the sum of what marks them */
};

/* The fault, at the op; it outlives the check. */
static const char *at_op(const struct check *check, const struct op *op, const char *fault)
{
    int at = graph_position(check->graph, op);

    return arena_format(&check->graph->cx->arena, "op %d%s (%s): %s", at < 0 ? op->place : at,
                        at < 0 ? " of MODEL_pack" : "", op_rows[op->code]->name, fault);
}

/* Sums of such marks are equal where ops are the same, each as often, in any order; of others by a chance of 2^-64. */
static uint64_t mark_of(const struct op *op)
{
    uint64_t mark = (uint64_t)(uintptr_t)op * 0x9e3779b97f4a7c15;

    mark = (mark ^ (mark >> 32)) * 0xd6e8feb86659fd93;
    return mark ^ (mark >> 32);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

static const char *check_inputs(struct check *check, const struct op *op)
{
    for (int i = 0; i < op->input_count; i++) {
        const struct value *input = op->inputs[i];

        if (input->id >= check->graph->value_count || !check->made[input->id])
            return at_op(check, op,
                         arena_format(&check->cx.arena, "it uses value %d before it is made", input->id));
        if (check->replaced[check->roots[input->id]->id])
            return at_op(check, op,
                         arena_format(&check->cx.arena, "it reads value %d after it was written", input->id));
        check->read[input->id]++;
        check->readers[input->id] += mark_of(op);
    }
    if (op->code == GRAPH_OP_WRITE)
        check->replaced[op->inputs[0]->id] = true;
    return NULL;
}

static const char *check_outputs(struct check *check, const struct op *op)
{
    for (int i = 0; i < op->output_count; i++) {
        const struct value *output = op->outputs[i];

        if (output->op != op || output->result != i)
            return at_op(check, op, arena_format(&check->cx.arena, "output %d does not know its op", i));
        if (output->id >= check->graph->value_count || check->made[output->id])
            return at_op(check, op, arena_format(&check->cx.arena, "value %d is made twice", output->id));
        check->made[output->id] = true;
        check->roots[output->id] = op->code == GRAPH_OP_VIEW ? check->roots[op->inputs[0]->id] : output;
    }
    return NULL;
}

/* ---- types and dims --------------------------------------------------------------------------------------------- */

static bool alike(const struct value *a, const struct value *b)
{
    return a->dtype == b->dtype && dims_equal(a, b);
}

static bool is_block(const struct value *value)
{
    return value->dtype == DTYPE_UINT8 && value->ndim == 1;
}

/* The gradients of results that come with a region's second part; NULL: it has none. */
static const struct op *yield_of(const struct graph *region)
{
    for (int i = 0; i < region->op_count; i++)
        if (region->ops[i]->code == GRAPH_OP_YIELD)
            return region->ops[i];
    return NULL;
}

/* What a region's part is given, in front of it the block that the parts share. Of BACKWARD: see note [regions]. */
static int taken(struct arena *arena, const struct op *op, const struct value ***values)
{
    const struct graph *region = op->invoke.region->graph;
    const bool backward = op->invoke.part == CALL_BACKWARD,
               forward = op->invoke.part != CALL_COMMIT && !backward;
    const struct op *yield = backward ? yield_of(region) : NULL;
    int count = 0;

    if (!forward)
        ARENA_PUSH(arena, *values, count, op->inputs[0]); /* is_block, besides */
    for (int i = 0; yield && i < yield->output_count; i++)
        ARENA_PUSH(arena, *values, count, yield->outputs[i]);
    for (int i = 0; i < region->input_count; i++)
        if (forward || (backward && op->invoke.reads[i]))
            ARENA_PUSH(arena, *values, count, region->inputs[i]);
    for (int i = 0; backward && i < region->result_count; i++)
        if (op->invoke.reads[region->input_count + i])
            ARENA_PUSH(arena, *values, count, region->outputs[i]);
    return count;
}

/* What it gives: results of forward, or gradients of inputs; behind the former, where parts share one, comes the block. */
static int given(struct arena *arena, const struct op *op, const struct value ***values)
{
    const struct graph *region = op->invoke.region->graph;
    const bool backward = op->invoke.part == CALL_BACKWARD;
    int count = 0;

    for (int i = 0; i < region->result_count && !backward && op->invoke.part != CALL_COMMIT; i++)
        ARENA_PUSH(arena, *values, count, region->outputs[i]);
    for (int i = region->result_count; i < region->output_count && backward; i++)
        if (!region->gradient_of[i - region->result_count]) /* those of parameters it adds itself */
            ARENA_PUSH(arena, *values, count, region->outputs[i]);
    return count;
}

/* A CALL is given and gives what its part of the region is and does. */
static const char *check_region(struct check *check, const struct op *op)
{
    struct arena *arena = &check->cx.arena;
    const enum call_part part = op->invoke.part;
    const struct value **takes = NULL, **gives = NULL;
    const bool block = part == CALL_FORWARD;
    int take_count, give_count;

    if (part == CALL_BACKWARD && !op->invoke.reads)
        return at_op(check, op, "it does not say what it reads");
    if ((part == CALL_BACKWARD || part == CALL_COMMIT) && (op->input_count == 0 || !is_block(op->inputs[0])))
        return at_op(check, op, "its block is not there");
    if (op->invoke.count > 1 &&
        part != CALL_WHOLE) /* rolled: what is between the instances comes in addition */
        return NULL;
    take_count = taken(arena, op, &takes);
    give_count = given(arena, op, &gives);
    if (op->input_count != take_count || op->output_count != give_count + block)
        return at_op(check, op, "it has not what its region takes and gives");
    for (int i = 0; i < take_count; i++)
        if (!alike(op->inputs[i], takes[i]))
            return at_op(check, op, arena_format(arena, "input %d is not what its region takes", i));
    for (int i = 0; i < give_count; i++)
        if (!alike(op->outputs[i], gives[i]))
            return at_op(check, op, arena_format(arena, "output %d is not what its region gives", i));
    return block && !is_block(op->outputs[give_count]) ? at_op(check, op, "its block is not there") : NULL;
}

/* The dims, or of an op that fills more than it reads, what broadcasts to them. */
static bool fits(struct check *check, const struct op *op, const struct value *inferred,
                 const struct value *output)
{
    const struct dim *dims[MAX_DIMS];
    struct value joined = *output;

    if (!op_rows[op->code]->fills)
        return dims_equal(output, inferred);
    memcpy(dims, output->dims, sizeof dims);
    if (!dims_broadcast(&check->cx, dims, &joined.ndim, inferred))
        return false;
    memcpy(joined.dims, dims, sizeof dims);
    return dims_equal(&joined, output);
}

static const char *check_like(struct check *check, const struct op *op, const struct value *inferred)
{
    for (int i = 0; i < op->output_count; i++) {
        const struct value *output = op->outputs[i];
        struct arena *arena = &check->cx.arena;

        if (output->dtype != inferred[i].dtype || !fits(check, op, &inferred[i], output))
            return at_op(check, op,
                         arena_format(arena, "value %d is %s %s and would be %s %s", output->id,
                                      dtype_rows[output->dtype].name,
                                      shape_text(arena, output->ndim, output->dims),
                                      dtype_rows[inferred[i].dtype].name,
                                      shape_text(arena, inferred[i].ndim, inferred[i].dims)));
    }
    return NULL;
}

/* Infers a copy of the op again. */
static const char *check_types(struct check *check, const struct op *op)
{
    struct arena *arena = &check->cx.arena;
    const char *fault = op_broken(&check->cx, op);
    struct op again = *op;

    if (fault)
        return at_op(check, op, fault);
    if (op->output_count > check->room) {
        check->room = 2 * op->output_count;
        check->copies = ARENA_ARRAY(arena, check->room, struct value);
        check->outputs = ARENA_ARRAY(arena, check->room, struct value *);
    }
    for (int i = 0; i < op->output_count; i++) {
        check->copies[i] = *op->outputs[i];
        check->outputs[i] = &check->copies[i];
    }
    again.outputs = check->outputs;
    fault = op_rows[op->code]->infer(&check->cx, &again);
    if (fault)
        return at_op(check, op, fault);
    if (op->code == GRAPH_OP_CALL && (fault = check_region(check, op)))
        return fault;
    return check_like(check, op, check->copies);
}

/* ---- where elements lie ----------------------------------------------------------------------------------------- */

/* Behind legalise: a view lies in what it shows, all else in memory of its own. */
static const char *check_places(struct check *check, const struct op *op)
{
    for (int i = 0; i < op->output_count; i++) {
        const struct value *value = op->outputs[i];
        const struct value *base = op->code == GRAPH_OP_VIEW ? op->inputs[0]->base : value;
        bool placed = value->base == base && base && value->offset;

        for (int k = 0; placed && k < value->ndim; k++)
            placed = value->strides[k] != NULL;
        if (!placed)
            return at_op(check, op, arena_format(&check->cx.arena, "value %d lies nowhere", value->id));
    }
    return NULL;
}

/* ---- uses: note [uses] in graph.h ------------------------------------------------------------------------------- */

static const char *check_uses(struct check *check, const struct op *op)
{
    if (!op->placed)
        return at_op(check, op, "it does not know that it stands there");
    for (int i = 0; i < op->output_count; i++) {
        const struct value *value = op->outputs[i];
        uint64_t readers = 0;

        if (value->user_count != check->read[value->id] || value->returned != check->returned[value->id])
            return at_op(check, op,
                         arena_format(&check->cx.arena, "value %d is read %d times and knows of %d",
                                      value->id, check->read[value->id] + check->returned[value->id],
                                      graph_uses(value)));
        for (int u = 0; u < value->user_count; u++)
            readers += mark_of(value->users[u]);
        if (readers != check->readers[value->id])
            return at_op(
                check, op,
                arena_format(&check->cx.arena, "value %d knows a reader that reads it not", value->id));
    }
    return NULL;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

/* The ops that MODEL_pack runs come first. */
static const struct op *nth(const struct graph *graph, int at)
{
    return at < graph->pack_count ? graph->pack_ops[at] : graph->ops[at - graph->pack_count];
}

static const char *check_interface(struct check *check)
{
    const struct graph *graph = check->graph;
    struct arena *arena = &graph->cx->arena;

    for (int i = 0; i < graph->input_count; i++) {
        const struct value *input = graph->inputs[i];

        if (input->op->code != GRAPH_OP_INPUT || input->op->input.index != i)
            return arena_format(arena, "input %d is another", i);
        if (input->id >= graph->value_count || !check->made[input->id])
            return arena_format(arena, "input %d does not stand there", i);
    }
    if (graph->result_count > graph->output_count)
        return "it has fewer outputs than results";
    for (int i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i]->id >= graph->value_count || !check->made[graph->outputs[i]->id])
            return arena_format(arena, "output %d is never made", i);
        check->returned[graph->outputs[i]->id]++;
    }
    return NULL;
}

static const char *check_ops(struct check *check)
{
    const struct graph *graph = check->graph;
    int count = graph->pack_count + graph->op_count;
    const char *fault = NULL;

    for (int i = 0; !fault && i < count; i++) {
        const struct op *op = nth(graph, i);

        fault = check_inputs(check, op);
        fault = fault ? fault : check_outputs(check, op);
        if (!fault && check->types)
            fault = check_types(check, op);
        if (!fault && graph->resolved)
            fault = check_places(check, op);
    }
    fault = fault ? fault : check_interface(check);
    for (int i = 0; !fault && i < count; i++)
        fault = check_uses(check, nth(graph, i));
    return fault;
}

const char *graph_check(const struct graph *graph, bool types)
{
    struct check check = {.graph = graph, .types = types};
    struct arena *arena = &check.cx.arena;
    const char *fault;

    check.made = ARENA_ARRAY(arena, graph->value_count + 1, bool);
    check.replaced = ARENA_ARRAY(arena, graph->value_count + 1, bool);
    check.roots = ARENA_ARRAY(arena, graph->value_count + 1, const struct value *);
    check.read = ARENA_ARRAY(arena, graph->value_count + 1, int);
    check.readers = ARENA_ARRAY(arena, graph->value_count + 1, uint64_t);
    check.returned = ARENA_ARRAY(arena, graph->value_count + 1, int);
    fault = check_ops(&check);
    arena_free(arena);
    return fault;
}

static void verify(struct graph *graph, void *after)
{
    const char *const *ran = after, *fault = graph_check(graph, true);

    if (!fault)
        return;
    fprintf(stderr, "modc: a fault of modc itself: behind '%s' graph %s is broken: %s\n", *ran, graph->name,
            fault);
    exit(EXIT_FAULT);
}

void program_verify(struct program *program, const char *after, bool last)
{
#ifdef MODC_CHECKS
    last = true;
#endif
    if (last)
        program_each(program, verify, &after);
}
