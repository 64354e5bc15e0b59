/* roll.c - a run of calls of one region, each on what the call before it gave, becomes one op with a count: a loop over the
 * instances of an `N x Call` list.
 *
 * note [rolled backward]
 * Where the calls keep for backward, the parts behind forward are rolled with it: backward goes from the last instance to the
 * first, on the gradient that the one before it gave. The blocks that parts share lie behind each other as one. What goes from
 * one instance to the next is read again in backward, as input of the one or result of the other: it lies in a further block,
 * the last output of the rolled forward and the last input of the rolled backward. */
#include "passes/pass.h"
#include "passes/toolkit.h"

/* A run of neighbours, of one part. */
struct run {
    struct op **ops;
    int count;
};

static void add_op(struct graph *graph, struct run *run, struct op *op)
{
    ARENA_PUSH(&graph->cx->arena, run->ops, run->count, op);
}

/* Whether `next` calls the instance behind that of `last`, on its result, with all else as it was. What a region reads or writes
 * of an instance by pointers of their own (slots) lies in no array that a loop could walk over. */
static bool follows(const struct op *first, const struct op *last, const struct op *next)
{
    const struct module *a = last->invoke.instance, *b = next->invoke.instance;

    if (next->code != GRAPH_OP_CALL || next->invoke.region != first->invoke.region ||
        next->invoke.part != first->invoke.part || !a->array || !b->array || a->parent != b->parent ||
        b->index != a->index + a->subtree + 1 || next->input_count < 1 ||
        next->invoke.region->slot_count > 0 || next->invoke.region->graph->result_count != 1 ||
        next->inputs[0] != last->outputs[0] || !dims_equal(next->inputs[0], next->outputs[0]) ||
        next->inputs[0]->dtype != next->outputs[0]->dtype)
        return false;
    for (int i = 1; i < next->input_count; i++)
        if (next->inputs[i] != first->inputs[i] || next->inputs[i] == first->inputs[0])
            return false;
    return true;
}

/* The calls that follow each other from op `at` on. */
static struct run find_run(struct graph *graph, int at)
{
    struct run run = {0};

    do
        add_op(graph, &run, graph->ops[at++]);
    while (at < graph->op_count && follows(run.ops[0], graph->ops[at - 1], graph->ops[at]));
    return run;
}

static void remove_ops(struct graph *graph, const struct op *first, int count)
{
    for (int at = graph_position(graph, first); count > 0; count--)
        graph_remove(graph, at);
}

/* ---- calls that keep nothing -------------------------------------------------------------------------------------- */

static void roll_whole(struct graph *graph, const struct run *run)
{
    struct op *first = run->ops[0];
    struct op *last;
    int count = 1;

    while (count < run->count && graph_uses(run->ops[count - 1]->outputs[0]) == 1)
        count++;
    if (count == 1)
        return;
    last = run->ops[count - 1];
    remove_ops(graph, run->ops[1], count - 1);
    first->invoke.count = count;
    first->outputs[0] = last->outputs[0];
    first->outputs[0]->op = first;
}

/* ---- calls that keep for backward --------------------------------------------------------------------------------- */

/* Where the inputs of a CALL_BACKWARD are: behind the block the gradient, then what it reads. */
enum { BLOCK, GRADIENT, READS };

/* The one op of a part that reads the block; NULL: there is none. */
static struct op *find_part(const struct graph *graph, const struct value *block, enum call_part part)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        if (op->code == GRAPH_OP_CALL && op->invoke.part == part && op->inputs[BLOCK] == block)
            return op;
    }
    return NULL;
}

/* The same part of all calls of the run, from the last to the first, without anything between. False: they are not so. */
static bool find_parts(struct graph *graph, const struct run *forward, enum call_part part, struct run *run)
{
    for (int i = forward->count - 1; i >= 0; i--) {
        struct op *op = find_part(graph, forward->ops[i]->outputs[1], part);

        if (op)
            add_op(graph, run, op);
    }
    if (run->count == 0)
        return part == CALL_COMMIT;
    if (run->count != forward->count)
        return false;
    for (int i = 1, at = graph_position(graph, run->ops[0]); i < run->count; i++)
        if (at + i >= graph->op_count || graph->ops[at + i] != run->ops[i])
            return false;
    return true;
}

static int count_reads(const struct op *op, const struct value *value)
{
    int count = 0;

    for (int i = READS; i < op->input_count; i++)
        count += op->inputs[i] == value;
    return count;
}

/* Whether backward's calls go from one to the next, and read nothing that differs but what the instances hand on. */
static bool is_chain(const struct run *forward, const struct run *backward)
{
    const int last = forward->count - 1;
    const struct op *outer = backward->ops[0];

    for (int i = last; i >= 0; i--) {
        const struct op *op = backward->ops[last - i], *own = forward->ops[i];
        const struct value *x = own->inputs[0], *y = own->outputs[0];

        if (op->output_count != 1 || op->invoke.region->graph->region->wanted[0] != true ||
            (i < last && op->inputs[GRADIENT] != backward->ops[last - i - 1]->outputs[0]) ||
            (i > 0 && graph_uses(op->outputs[0]) != 1))
            return false;
        for (int k = READS; k < op->input_count; k++)
            if (op->inputs[k] != x && op->inputs[k] != y && op->inputs[k] != outer->inputs[k])
                return false;
        if (i < last && graph_uses(y) != 1 + count_reads(op, y) + count_reads(backward->ops[last - i - 1], y))
            return false;
    }
    return true;
}

/* Whether backward reads what goes from one instance to the next. */
static bool reads_between(const struct run *forward, const struct run *backward)
{
    const struct op *op = backward->ops[0];

    return count_reads(op, forward->ops[forward->count - 1]->inputs[0]) > 0 ||
           count_reads(op, forward->ops[forward->count - 1]->outputs[0]) > 0;
}

static void roll_backward(struct graph *graph, const struct run *forward, const struct run *backward,
                          struct value *block, struct value *between)
{
    const int count = forward->count;
    struct op *op = backward->ops[0], *inner = backward->ops[count - 1];
    const struct value *last_x = forward->ops[count - 1]->inputs[0];
    struct value **inputs = ARENA_ARRAY(&graph->cx->arena, op->input_count + 1, struct value *);

    for (int k = 0; k < op->input_count; k++)
        inputs[k] = k == BLOCK ? block : op->inputs[k] == last_x ? forward->ops[0]->inputs[0] : op->inputs[k];
    inputs[op->input_count] = between;
    remove_ops(graph, backward->ops[1], count - 1);
    graph_inputs(graph, op, inputs, op->input_count + (between != NULL));
    op->tail_first = op->input_count;
    op->invoke.instance = forward->ops[0]->invoke.instance;
    op->invoke.count = count;
    op->call = inner->call;
    op->outputs[0] = inner->outputs[0];
    op->outputs[0]->op = op;
}

static void roll_commit(struct graph *graph, const struct run *forward, const struct run *commit,
                        struct value *block)
{
    struct op *op = commit->ops[0];

    remove_ops(graph, commit->ops[1], forward->count - 1);
    graph_input(graph, op, BLOCK, block);
    op->invoke.instance = forward->ops[0]->invoke.instance;
    op->invoke.count = forward->count;
}

static void roll_saving(struct graph *graph, const struct run *forward)
{
    const struct dim *none = dim_const(&graph->cx->arena, 0);
    struct op *first = forward->ops[0], *last = forward->ops[forward->count - 1];
    struct run backward = {0}, commit = {0};
    struct value *between = NULL;

    if (!find_parts(graph, forward, CALL_BACKWARD, &backward) ||
        !find_parts(graph, forward, CALL_COMMIT, &commit) || !is_chain(forward, &backward))
        return;
    if (reads_between(forward, &backward)) {
        between = graph_value(graph, first, DTYPE_UINT8, 1, &none);
        between->name = arena_format(&graph->cx->arena, "%s_between", first->invoke.instance->parent->name);
    }
    roll_backward(graph, forward, &backward, first->outputs[1], between);
    if (commit.count > 0)
        roll_commit(graph, forward, &commit, first->outputs[1]);
    first->outputs[1]->name = arena_format(&graph->cx->arena, "%s_kept",
                                           first->invoke.instance->parent->name);
    remove_ops(graph, forward->ops[1], forward->count - 1);
    first->invoke.count = forward->count;
    first->outputs[0] = last->outputs[0];
    first->outputs[0]->op = first;
}

void pass_roll(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];
        struct run run;

        if (op->code != GRAPH_OP_CALL || (op->invoke.part != CALL_WHOLE && op->invoke.part != CALL_FORWARD) ||
            op->invoke.region->graph->result_count != 1)
            continue;
        run = find_run(graph, i);
        if (run.count > 1)
            (op->invoke.part == CALL_WHOLE ? roll_whole : roll_saving)(graph, &run);
    }
}
