/* plan_choose.c - how each step is computed: its algorithm, what of its operands is packed, into how many slices it is split. */
#include <string.h>

#include "base/options.h"
#include "passes/toolkit.h"
#include "plan/algorithm.h"
#include "plan/cost.h"
#include "plan/kernel.h"
#include "plan/planner.h"

const struct packed *step_packed(const struct step *step, int input)
{
    return step->packed ? step->packed[input].entry : NULL;
}

static struct packing weight_packing(const struct planner *planner, const struct op *op,
                                     const struct algorithm *row)
{
    const struct graph *graph = planner->variant->graph;

    return (struct packing){.format = row->weight,
                            .storage = op_storage(graph, op),
                            .n_axis = op_rows[op->code]->outputs_axis,
                            .groups = row->weight == PACKED_PANELS ? op_weight_groups(op) : 1,
                            .woven = row->weight == PACKED_PANELS && op_rows[op->code]->woven};
}

/* The weight is wanted by rows, as the parameter has them. */
static bool reads_parameter(const struct planner *planner, const struct op *op, const struct algorithm *row)
{
    const struct value *weight = op->inputs[1];

    return row->weight == PACKED_ROWS && weight->base->op->code == GRAPH_OP_TENSOR &&
           dim_equals(weight->strides[0], 1) && !op_storage(planner->variant->graph, op);
}

/* Whether another op needs the op's weight packed as this algorithm wants it. */
static bool is_packed_already(struct planner *planner, const struct op *op, const struct algorithm *row)
{
    struct home home = planner_find_home(planner, op->inputs[1]);

    return pack_find(planner->cx, home.group, home.root, weight_packing(planner, op, row), op->inputs[1]);
}

/* A fenced variant runs only while hooks do, training mode without backward for who draws dropout; gradients of inputs are for
 * callers of backward, not for a step of training. */
static bool is_seldom_run(const struct planner *planner, const struct op *op)
{
    const struct graph *graph = planner->variant->graph;
    int index = 0;

    return graph->fenced || (graph->training && !graph->saves) ||
           (planner->plan->program->tree->training &&
            planner_is_output(graph, op->outputs[0]->base, &index) && index >= graph->result_count);
}

/* Backward reads weights turned. Where each is packed once, it turns them in each call: a chip that trains has the parameters in RAM,
 * and packs once a step whatever it packs; embedded ones lie there as PyTorch has them, or packed (find_held). */
static bool is_backward_of_once(const struct planner *planner, const struct op *op)
{
    const struct settings *settings = &planner->plan->program->settings;

    return planner->behind_yield && settings->packs_once &&
           !(settings->embeds && op_storage(planner->variant->graph, op));
}

/* An embedding looks it up, say: where each weight is packed once, a product reads the same. */
static bool lies_there_anyway(const struct planner *planner, const struct op *op)
{
    const struct op *source = op->inputs[1]->base->op;

    return planner->plan->read_in_place && source->code == GRAPH_OP_TENSOR &&
           source->tensor.tensor->kind != MODULE_STATE && source->tensor.tensor->key >= 0 &&
           planner->plan->read_in_place[source->tensor.tensor->first->key];
}

/* Of weights that are part of the program, what of backward reads them turned makes them of what forward reads: they lie there
 * once. What lies there in PyTorch's layout is read so. */
static bool find_held(struct planner *planner, const struct op *op, struct packed_at *held)
{
    const struct op *source = op->inputs[1]->base->op;
    struct home home;

    if (!planner->behind_yield || !planner->plan->program->settings.embeds ||
        source->code != GRAPH_OP_TENSOR || plan_written(planner->plan, source->tensor.tensor))
        return false;
    home = planner_find_home(planner, op->inputs[1]);
    for (int i = 0; i < home.group->entry_count; i++)
        if (home.group->entries[i]->permutes == source->tensor.tensor && home.group->entries[i]->read) {
            *held = (struct packed_at){home.group->entries[i], home.inside};
            return true;
        }
    return false;
}

/* What has no algorithm that reads the parameter packs it in passing where the block would hold it twice: what is seldom run, as
 * evaluation may have folded it, unless backward reads it as it is anyway. */
static bool packs_in_passing(struct planner *planner, const struct op *op, const struct algorithm *row)
{
    const struct settings *settings = &planner->plan->program->settings;
    const bool seldom = !settings->packs_once && !settings->backward && is_seldom_run(planner, op);
    struct packed_at held;

    if (storage_in_bytes(op_storage(planner->variant->graph, op)))
        return false;
    if (find_held(planner, op, &held))
        return !is_packed_already(planner, op, row);
    return op_reads_packed(op) && op->inputs[1]->base->op->code == GRAPH_OP_TENSOR &&
           (seldom || is_backward_of_once(planner, op)) && !is_packed_already(planner, op, row);
}

/* What can read the parameter adds no packed weights of its own there: every step would pack them. Where it lies packed alone, the
 * parameter itself is what is added. */
static bool adds_packed(struct planner *planner, const struct op *op, const struct algorithm *row)
{
    struct packed_at held;

    if (op_rows[op->code]->weighted && find_held(planner, op, &held))
        return row->weight == PACKED_NONE || reads_parameter(planner, op, row);
    if (!op_rows[op->code]->unpacked || row->weight == PACKED_NONE ||
        !(is_seldom_run(planner, op) || is_backward_of_once(planner, op) || lies_there_anyway(planner, op)))
        return false;
    return !reads_parameter(planner, op, row) && !is_packed_already(planner, op, row);
}

/* Weights of 16 or 36 planes are made for the fused forward in eval mode alone; what else has the same weights uses them. */
static bool is_worth_packing(struct planner *planner, const struct op *op, const struct algorithm *row)
{
    const struct graph *graph = planner->variant->graph;

    return winograd_side(row->weight) == 0 || (!graph->fenced && !graph->training) ||
           is_packed_already(planner, op, row);
}

const struct algorithm *planner_choose(struct planner *planner, const struct op *op, bool bound)
{
    const struct algorithm *row;
    const char *wish = op_forced(planner->cx, op->code);
    const struct algorithm *best = NULL;
    bool best_adds = false;

    for (int i = 0; (row = algorithm_of(planner->plan->backend, i)); i++) {
        bool adds;

        if (row->op != op->code || !row->fits(planner->variant->graph, op))
            continue;
        if (wish && strcmp(row->name, wish) == 0)
            return row;
        if ((bound && row->rounding > 1) || !is_worth_packing(planner, op, row))
            continue;
        adds = adds_packed(planner, op, row);
        if (!best || (best_adds && !adds) || (adds == best_adds && row->cost(op) < best->cost(op))) {
            best = row;
            best_adds = adds;
        }
    }
    return best;
}

/* On a GPU a core is run by many threads, each of which computes a slice: as many as there are along one axis, and as have room to
 * work in. */
static struct split deal_out(const struct step *step)
{
    enum { MOST = 2048, MOST_BYTES = 64 * 1024 * 1024 };
    const struct algorithm *algorithm = step->algorithm && step->algorithm->core ? step->algorithm : NULL;
    int64_t tiles[SPLIT_AXES] = {0},
            scratch = algorithm && algorithm->scratch ? algorithm->scratch(step->op) : 0;
    int64_t most = scratch > 0 && MOST_BYTES / scratch < MOST ? MOST_BYTES / scratch : MOST;
    struct split split = {.slices = 1};

    if (algorithm && algorithm->tiles)
        algorithm->tiles(step->op, tiles);
    for (int axis = SPLIT_NONE + 1; axis < SPLIT_AXES; axis++) {
        const int64_t slices = tiles[axis] < most ? tiles[axis] : most;

        if (slices > split.slices)
            split = (struct split){.axis = (enum split_axis)axis, .slices = (int)slices};
    }
    return split;
}

/* How the step is dealt out. A loop nest has tiles of some cache lines. */
struct split planner_split_step(struct planner *planner, const struct step *step)
{
    const struct op *op = step->op;
    const struct value *y = op_result(op);
    int64_t tiles[SPLIT_AXES] = {0};
    int always = planner->cx->options ? planner->cx->options->split : 0;
    int threads = always > 0 ? always : planner->plan->program->settings.threads;
    struct split split = {.slices = 1};

    if (planner->plan->backend->apart)
        return deal_out(step);
    if (threads < 2)
        return split;
    if (step->algorithm && step->algorithm->tiles)
        step->algorithm->tiles(op, tiles);
    else if (step->algorithm)
        return split;
    else if (kernels_slice(op))
        tiles[SPLIT_ROWS] = planner_value_bytes(&planner->cx->arena, y) / 256 + (always > 0 && y->ndim > 0);
    split = cost_split(planner->plan->backend, op, step->algorithm, tiles, threads, always > 0);
    if (split.slices > 1)
        planner->plan->threads = threads;
    return split;
}

/* Whether it takes one of the rows of algorithms.c to compute the op, of which some row fits whatever is built. */
bool planner_needs_algorithm(const struct planner *planner, enum op_code code)
{
    const struct algorithm *row;
    bool needs = false;

    (void)planner;
    for (int i = 0; (row = algorithm_at(i));
         i++) /* of all machines: what one has no row for is not computed there */
        needs |= row->op == code;
    return needs;
}

static bool depends_on_buffers(const struct packed *entry)
{
    for (int i = 0; i < entry->operand_count; i++) {
        const struct op *op = entry->operands[i]->base->op;

        if (op->code == GRAPH_OP_TENSOR && op->tensor.tensor->kind == MODULE_BUFFER)
            return true;
        if (entry->operand_entries[i] && depends_on_buffers(entry->operand_entries[i]))
            return true;
    }
    return false;
}

struct packed_at planner_need_packed(struct planner *planner, struct packing packing, struct value *value)
{
    struct home home = planner_find_home(planner, value);
    const struct packed *entry = pack_entry(planner->cx, home.group, home.root, packing, value);

    planner->variant->uses_packed = true;
    planner->variant->uses_buffers |= depends_on_buffers(entry);
    return (struct packed_at){entry, home.inside};
}

/* The weight, for this step alone. */
static void pack_passing_weight(struct planner *planner, struct step *step, struct packing packing)
{
    struct value *weight = step->op->inputs[1];
    struct home home = planner_find_home(planner, weight);

    struct packed *entry = pack_passing(planner->cx, home.group, home.root, packing, weight);

    entry->source_offset = plan_aligned(planner->plan, entry->count * dtype_rows[entry->dtype].bytes);
    find_held(planner, step->op, &entry->source);
    step->packed[1] = (struct packed_at){entry, home.inside};
    planner->variant->uses_packed = true; /* of other channels it may read some */
}

static void pack_input(struct planner *planner, struct step *step, int input, struct packing packing)
{
    step->packed[input] = planner_need_packed(planner, packing, step->op->inputs[input]);
}

static bool is_dense(const struct value *value)
{
    return value->ndim == 1 && (dim_equals(value->strides[0], 1) || dim_equals(value->dims[0], 1));
}

static bool in_place_dense(const struct value *value)
{
    return value->base->op->code == GRAPH_OP_TENSOR && is_dense(value);
}

/* Of so many groups, each padded apart. -1: there is none. What a call brings is read where it lies. */
static void pack_bias(struct planner *planner, struct step *step, int input, int groups)
{
    struct value *bias = input >= 0 ? step->op->inputs[input] : NULL;
    int64_t n = 0, panel;

    if (!bias || !value_is_static(planner->variant->graph, bias))
        return;
    panel = backend_lanes(planner->plan->backend, bias->dtype);
    dim_is_const(bias->dims[0], &n);
    if (!in_place_dense(bias) || (step->algorithm->bias == PACKED_VECTOR && n / groups % panel != 0))
        pack_input(planner, step, input, (struct packing){PACKED_VECTOR, NULL, 0, groups});
}

/* No kernel reads a bias whose elements do not lie side by side, such as one that is expanded. */
static bool has_loose_bias(const struct planner *planner, const struct op *op)
{
    const int bias = op_bias_at(op);

    return bias >= 0 && value_is_static(planner->variant->graph, op->inputs[bias]) &&
           !is_dense(op->inputs[bias]);
}

/* Weights and biases in the formats that the algorithm wants. */
void planner_pack_weights(struct planner *planner, struct step *step)
{
    const struct op *op = step->op;
    const struct algorithm *algorithm = step->algorithm;
    struct packing packing;
    int added, bias;

    if (!algorithm || (algorithm->weight == PACKED_NONE && !has_loose_bias(planner, op)))
        return;
    step->packed = ARENA_ARRAY(&planner->cx->arena, op->input_count, struct packed_at);
    if (algorithm->weight == PACKED_NONE) {
        pack_bias(planner, step, op_bias_at(op), 1);
        return;
    }
    packing = weight_packing(planner, op, algorithm);
    if (packs_in_passing(planner, op, algorithm))
        pack_passing_weight(planner, step, packing);
    else if (!reads_parameter(planner, op, algorithm))
        pack_input(planner, step, 1, packing);
    pack_bias(planner, step, op_bias_at(op), packing.groups);
    added = op_second_weight(op, &bias);
    if (added < 0)
        return;
    pack_input(planner, step, added, (struct packing){PACKED_PANELS, .n_axis = 1, .groups = 1});
    pack_bias(planner, step, bias, 1);
}
