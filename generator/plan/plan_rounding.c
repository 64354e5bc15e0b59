/* plan_rounding.c - which products may not be computed by an algorithm that rounds more than one that adds term by term.
 *
 * note [rounding]
 * Each product adds to the error of its results a variance, relative to their mean square and in units of what it adds where it
 * multiplies and adds as it is written: 1, or what its algorithm's row says. Such errors are independent, so that their
 * variances add. From one op to the next a variance stays what it is relative to the mean square, but
 *
 *     normalisation   takes away what values have in common, and errors have not: behind it a relative variance is
 *                     pi / (pi - 1) times what it was, as BatchNorm and ReLU make it in wide networks with random weights (the
 *                     rate at which their gradients explode). It is seen by what reads statistics, folded into weights or not
 *     adding          adds mean squares and errors, as residual connections do: what is normalised has the mean square 1, other
 *                     products that of their input
 *     concatenation   has the mean of both, each operand by its elements
 *
 * So 8, 16 and 24 convolutions with BatchNorm and ReLU have 44, 980 and 21,000 units: noise behind each convolution in double
 * gave 47, 1,030 and 17,000, without BatchNorm 41 instead of 24. Groups of channels have less in common and whole images next to
 * nothing (24 convolutions with GroupNorm(8, 64) gave 260), and averages make errors smaller (DenseNet-121 gave 420), neither of
 * which is looked at: with residual connections and concatenations it makes no difference to what is chosen.
 *
 * Where a call's results would have more than MOST units, the products that gain least time for what they add do without, in the
 * order of that quotient, until they have not: those in front add most. Where a network amplifies so much that it has more if all
 * add term by term, all do without; and where a walk over all ops of all calls would take long. */
#include <stdlib.h>

#include "passes/toolkit.h"
#include "plan/algorithm.h"
#include "plan/planner.h"

#define AMPLIFIED 1.4669422 /* pi / (pi - 1) */
/* Units: (7.2e-5 / 4e-7)^2, as a convolution of 576 products that adds term by term is 4e-7 off. */
#define MOST 32000.0
#define MOST_OPS 400000 /* of a walk */

/* Of a value: its mean square, the variance of its errors, and its number on the tape. */
struct drift {
    double size, error;
    int node;
};

/* A product. */
struct site {
    const struct algorithm *row,
        *plain; /* how it is computed; how by what rounds no more than term by term */
    bool bound; /* to `plain` */
    int number; /* of those that may be bound, in the order in which a walk meets them; 0: none */
    double weight,
        saved; /* what `row` adds to the error of a result beside `plain`; the cost that it saves */
};

/* What a walk does with errors: `from` times `factor` is a part of `to`; the error of `node` has what a call of a site adds to a
 * mean square of `size`. */
struct term {
    int to, from;
    double factor;
};

struct visit {
    struct site *site;
    int node;
    double size, saved;
};

/* What is known of a graph, by value id: its values while it is walked over, and which are made of statistics. */
struct flow {
    struct graph *graph;
    struct drift *values;
    bool *statistics;
    struct site **sites; /* of products that some algorithm rounds more, when they have been met */
};

struct rounding {
    struct planner planner; /* to ask how an op would be computed */
    struct flow **flows;
    int flow_count;
    int walked; /* ops of this walk */
    bool endless, taping;
    int node_count; /* on the tape, 0 for all that has no errors */
    struct term *terms;
    struct visit *visits;
    int term_count, visit_count;
};

static bool is_statistic(const struct value *value)
{
    const struct op *op = value->base->op;

    return op->code == GRAPH_OP_TENSOR && op->tensor.tensor->kind == MODULE_BUFFER;
}

static void find_statistics(struct flow *flow)
{
    const struct graph *graph = flow->graph;

    for (int i = 0; i < graph->pack_count; i++) {
        const struct op *op = graph->pack_ops[i];
        bool *made = &flow->statistics[op->outputs[0]->id];

        for (int j = 0; j < op->input_count; j++)
            *made |= is_statistic(op->inputs[j]) || flow->statistics[op->inputs[j]->base->id];
        for (int j = 1; j < op->output_count; j++)
            flow->statistics[op->outputs[j]->id] = *made;
    }
}

static struct flow *flow_of(struct rounding *r, struct graph *graph)
{
    struct arena *arena = &r->planner.cx->arena;
    struct flow *flow;

    for (int i = 0; i < r->flow_count; i++)
        if (r->flows[i]->graph == graph)
            return r->flows[i];
    flow = ARENA_NEW(arena, struct flow);
    flow->graph = graph;
    flow->values = ARENA_ARRAY(arena, graph->value_count + 1, struct drift);
    flow->statistics = ARENA_ARRAY(arena, graph->value_count + 1, bool);
    flow->sites = ARENA_ARRAY(arena, graph->value_count + 1, struct site *);
    find_statistics(flow);
    ARENA_PUSH(arena, r->flows, r->flow_count, flow);
    return flow;
}

static bool some_row_rounds_more(const struct rounding *r, enum op_code code)
{
    const struct algorithm *row;

    for (int i = 0; (row = algorithm_of(r->planner.plan->backend, i)); i++)
        if (row->op == code && row->rounding > 1)
            return true;
    return false;
}

/* NULL: none of its algorithms rounds more. */
static struct site *site_of(struct rounding *r, struct flow *flow, const struct op *op)
{
    struct site **site = &flow->sites[op->outputs[0]->id];

    if (*site || !some_row_rounds_more(r, op->code))
        return *site;
    *site = ARENA_NEW(&r->planner.cx->arena, struct site);
    r->planner.variant->graph = flow->graph;
    (*site)->row = planner_choose(&r->planner, op, false);
    (*site)->plain = planner_choose(&r->planner, op, true);
    return *site;
}

/* Of the result's elements so many are the operand's. */
static double share_of(const struct op *op, int input)
{
    int64_t own, all;

    if (op->code != GRAPH_OP_CONCAT)
        return 1;
    return dim_is_const(op->inputs[input]->dims[op->concat.axis], &own) &&
                   dim_is_const(op->outputs[0]->dims[op->concat.axis], &all) && all > 0
               ? (double)own / (double)all
               : 1.0 / op->input_count;
}

static double rounding_of(const struct algorithm *row)
{
    return row->rounding > 0 ? row->rounding : 1;
}

/* An operand that is added to a product, say. */
static bool is_of_tail(const struct op *op, int input)
{
    return op_rows[op->code]->weighted && input > 1;
}

static void walk(struct rounding *r, struct flow *flow);

static void walk_call(struct rounding *r, struct flow *flow, const struct op *op)
{
    struct graph *graph = op->invoke.region->graph;
    struct flow *inside = flow_of(r, graph);

    if (op->invoke.part != CALL_WHOLE && op->invoke.part != CALL_FORWARD)
        return;
    for (int i = 0; i < graph->input_count && i < op->input_count; i++)
        inside->values[graph->inputs[i]->base->id] = flow->values[op->inputs[i]->base->id];
    for (int i = 0; i < op->invoke.count; i++) {
        walk(r, inside);
        if (i + 1 < op->invoke.count)
            inside->values[graph->inputs[0]->base->id] = inside->values[graph->outputs[0]->base->id];
    }
    for (int i = 0; i < graph->result_count; i++)
        flow->values[op->outputs[i]->id] = inside->values[graph->outputs[i]->base->id];
}

static void tape(struct rounding *r, struct flow *flow, const struct op *op, struct site *site,
                 struct drift product, double scale)
{
    struct arena *arena = &r->planner.cx->arena;

    for (int j = 0; j < op->input_count; j++)
        ARENA_PUSH(arena, r->terms, r->term_count,
                   ((struct term){product.node, flow->values[op->inputs[j]->base->id].node,
                                  share_of(op, j) * (is_of_tail(op, j) ? 1 : scale)}));
    if (site && !site->bound && rounding_of(site->row) > rounding_of(site->plain))
        ARENA_PUSH(
            arena, r->visits, r->visit_count,
            ((struct visit){site, product.node, product.size, site->plain->cost(op) - site->row->cost(op)}));
}

/* A product with its tail, or anything else that makes values of values. */
static void walk_op(struct rounding *r, struct flow *flow, const struct op *op)
{
    struct site *site = op_rows[op->code]->weighted ? site_of(r, flow, op) : NULL;
    struct drift y = {0, 0, 0}, tail = {0, 0, 0};
    bool normalises = op->code == GRAPH_OP_NORM;
    double scale = 1;

    for (int j = 0; j < op->input_count; j++) {
        const struct value *base = op->inputs[j]->base;
        const struct drift *x = &flow->values[base->id];
        struct drift *to = is_of_tail(op, j) ? &tail : &y;

        normalises |= is_statistic(base) || flow->statistics[base->id];
        to->size += share_of(op, j) * x->size;
        to->error += share_of(op, j) * x->error;
    }
    if (normalises && y.size > 0) {
        scale = AMPLIFIED / y.size;
        y.size = 1;
    }
    y.error *= scale;
    if (op_rows[op->code]->weighted)
        y.error += (site ? rounding_of(site->bound ? site->plain : site->row) : 1) * y.size;
    if (r->taping) {
        y.node = ++r->node_count;
        tape(r, flow, op, site, y, scale);
    }
    y.size += tail.size;
    y.error += tail.error;
    for (int j = 0; j < op->output_count; j++)
        flow->values[op->outputs[j]->id] = y;
}

/* Over the forward of a graph, whose inputs are known. */
static void walk(struct rounding *r, struct flow *flow)
{
    const struct graph *graph = flow->graph;

    for (int i = 0; i < graph->op_count && graph->ops[i]->code != GRAPH_OP_YIELD && !r->endless; i++) {
        const struct op *op = graph->ops[i];

        r->endless = ++r->walked > MOST_OPS;
        if (op->code == GRAPH_OP_CALL)
            walk_call(r, flow, op);
        else if (op_is_step(op) && op->output_count > 0)
            walk_op(r, flow, op);
    }
}

static const struct drift *result_of(const struct flow *flow, int result)
{
    return &flow->values[flow->graph->outputs[result]->base->id];
}

/* Of a result as the last walk has left it. */
static double error_of(const struct flow *flow, int result)
{
    const struct drift *y = result_of(flow, result);

    return y->size > 0 ? y->error / y->size : 0;
}

static void walk_entry(struct rounding *r, struct flow *flow)
{
    for (int i = 0; i < flow->graph->input_count; i++)
        flow->values[flow->graph->inputs[i]->base->id] = (struct drift){.size = 1};
    r->walked = 0;
    walk(r, flow);
}

/* What each site that may be bound adds to the result's error: back over the tape. */
static struct site **weigh(struct rounding *r, struct flow *flow, int result, int *count)
{
    struct arena *arena = &r->planner.cx->arena;
    struct site **sites = NULL;
    double *parts;

    *count = r->node_count = r->term_count = r->visit_count = 0;
    r->taping = true;
    walk_entry(r, flow);
    r->taping = false;
    parts = ARENA_ARRAY(arena, r->node_count + 1, double); /* of a node's error, in the result's */
    parts[result_of(flow, result)->node] = 1;
    for (int i = r->term_count - 1; i >= 0; i--)
        parts[r->terms[i].from] += r->terms[i].factor * parts[r->terms[i].to];
    for (int i = 0; i < r->visit_count; i++)
        r->visits[i].site->number = 0;
    for (int i = 0; i < r->visit_count; i++) {
        const struct visit *visit = &r->visits[i];
        struct site *site = visit->site;

        if (parts[visit->node] <= 0)
            continue;
        if (site->number == 0) {
            ARENA_PUSH(arena, sites, *count, site);
            site->number = *count;
            site->weight = site->saved = 0;
        }
        site->weight += (rounding_of(site->row) - rounding_of(site->plain)) * visit->size *
                        parts[visit->node];
        site->saved += visit->saved;
    }
    return sites;
}

/* Those first that save least for what they add. */
static int by_saving(const void *a, const void *b)
{
    const struct site *x = *(struct site *const *)a, *y = *(struct site *const *)b;
    const double left = x->saved * y->weight, right = y->saved * x->weight;

    return left != right ? (left > right) - (left < right) : x->number - y->number;
}

static double error_with(struct rounding *r, struct flow *flow, int result, struct site **sites, int count,
                         int bound)
{
    for (int i = 0; i < count; i++)
        sites[i]->bound = i < bound;
    walk_entry(r, flow);
    return error_of(flow, result);
}

/* The least number of sites that is enough for the result; else all. */
static void bound_result(struct rounding *r, struct flow *flow, int result)
{
    int count, few = 0, enough;
    struct site **sites = weigh(r, flow, result, &count);

    if (count == 0)
        return;
    qsort(sites, (size_t)count, sizeof *sites, by_saving);
    for (enough = count; few < enough;) {
        const int middle = few + (enough - few) / 2;

        if (error_with(r, flow, result, sites, count, middle) <= MOST)
            enough = middle;
        else
            few = middle + 1;
    }
    error_with(r, flow, result, sites, count, enough);
}

/* Of one entry, in evaluation. What is bound stays so. */
static void bound_graph(struct rounding *r, struct graph *graph)
{
    struct flow *flow;

    if (!graph)
        return;
    flow = flow_of(r, graph);
    walk_entry(r, flow);
    for (int i = 0; i < graph->result_count && !r->endless; i++)
        if (error_of(flow, i) > MOST)
            bound_result(r, flow, i);
}

void planner_bound_rounding(struct cx *cx, struct plan *plan)
{
    struct variant *variant = ARENA_NEW(&cx->arena, struct variant);
    struct rounding *r = ARENA_NEW(&cx->arena, struct rounding);

    r->planner = (struct planner){.cx = cx, .plan = plan, .variant = variant};
    plan->rounding = r;
    for (int i = 0; i < plan->program->entry_count; i++) {
        const struct entry *entry = &plan->program->entries[i];

        bound_graph(r, entry->graphs[0][0]);
        bound_graph(r, entry->saving[0][0]);
    }
}

bool planner_is_bound(const struct planner *planner, const struct op *op)
{
    const struct rounding *r = planner->plan->rounding;

    if (r->endless)
        return true;
    for (int i = 0; i < r->flow_count && op_rows[op->code]->weighted; i++)
        if (r->flows[i]->graph == planner->variant->graph) {
            const struct site *site = r->flows[i]->sites[op->outputs[0]->id];

            return site && site->bound;
        }
    return false;
}
