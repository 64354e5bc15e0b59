/* explain.c - what --explain prints of a plan: a line for each step, with its algorithm, the others that fit, and the
 * time that cost.h thinks it takes at the maxima of the sizes. */
#include <string.h>

#include "base/options.h"
#include "plan/algorithm.h"
#include "plan/cost.h"
#include "plan/plan_pack.h"

static struct cost add_cost(struct cost a, struct cost b, double count)
{
    a.macs += b.macs * count;
    a.bytes += b.bytes * count;
    a.compute += b.compute * count;
    a.reads += b.reads * count;
    a.seconds += b.seconds * count;
    return a;
}

static struct cost step_cost(const struct plan *plan, const struct step *step);

static struct cost variant_cost(const struct plan *plan, const struct variant *variant)
{
    struct cost cost = {0};

    for (int s = 0; s < variant->step_count; s++)
        cost = add_cost(cost, step_cost(plan, &variant->steps[s]), 1);
    return cost;
}

static struct cost step_cost(const struct plan *plan, const struct step *step)
{
    const struct op *op = step->op;

    if (op->code == GRAPH_OP_CALL)
        return add_cost((struct cost){0}, variant_cost(plan, plan_variant(plan, op->invoke.region->graph)),
                        op->invoke.count);
    if (op->code == GRAPH_OP_FENCE)
        return (struct cost){0};
    return cost_of(plan->backend, op, step->algorithm);
}

static void print_seconds(struct text *text, double seconds)
{
    if (seconds < 1e-6)
        text_printf(text, "%.3g ns", seconds * 1e9);
    else if (seconds < 1e-3)
        text_printf(text, "%.3g us", seconds * 1e6);
    else
        text_printf(text, "%.3g ms", seconds * 1e3);
}

/* What limits a step: arithmetic, or memory. */
static void print_cost(struct text *text, struct cost cost)
{
    print_seconds(text, cost.seconds);
    if (cost.compute < cost.reads)
        text_printf(text, cost.bytes < 1e6 ? " to move %.0f KB" : " to move %.4g MB",
                    cost.bytes / (cost.bytes < 1e6 ? 1024 : 1024 * 1024));
    else if (cost.macs > 0)
        text_printf(text, " for %.4g MMAC", cost.macs / 1e6);
}

static void explain_split(struct text *text, const struct variant *variant, const struct step *step)
{
    const struct options *options = variant->graph->cx->options;

    if (step->split.slices < 2)
        return;
    text_printf(text, "; in %d slices by %s", step->split.slices, split_names[step->split.axis]);
    if (options && options->split > 0)
        text_add(text, " (asked for with --plan)");
}

/* The rows that compute such an op, and what keeps the others from it. */
static void explain_choice(struct text *text, const struct variant *variant, const struct step *step)
{
    const struct backend *backend = variant->graph->program->settings.backend;
    const struct algorithm *row;
    const struct op *op = step->op;

    text_add(text, step->algorithm->name);
    if (step_packed(step, 1) && step_packed(step, 1)->storage)
        text_printf(text, " with weights in %s%s", storage_text(text->arena, step_packed(step, 1)->storage),
                    step_packed(step, 1)->storage->dynamic ? " and rows in int8" : "");
    if (step_packed(step, 1) && is_folded(step_packed(step, 1)))
        text_add(text, " with folded weights");
    if (step_packed(step, 1) && step_packed(step, 1)->passing)
        text_add(text, " with weights that each call packs");
    if (op_forced(variant->graph->cx, op->code))
        text_add(text, " (asked for with --plan)");
    for (int a = 0, n = 0; (row = algorithm_of(backend, a)); a++) {
        if (row->op != op->code)
            continue;
        text_add(text, n++ ? ", " : "; ");
        if (row->fits(variant->graph, op))
            text_printf(text, "%s costs %.0f%s", row->name, row->cost(op),
                        step->bound && row->rounding > 1 ? " but rounds too much here" : "");
        else
            text_printf(text, "%s does not fit", row->name);
    }
    if (strncmp(step->algorithm->name, "conv_", 5) == 0 && !dim_is_const(op->outputs[0]->dims[2], NULL))
        text_add(text, "; slower, since its width is a size: pixels at the ends of lines go one by one");
}

void plan_explain(struct text *text, const struct plan *plan)
{
    if (plan->program->settings.packs_once)
        text_add(text, "each weight is packed once, and no scale folded into one\n");
    for (int i = 0; i < plan->variant_count; i++) {
        const struct variant *variant = plan->variants[i];

        text_printf(text, "%s: ", variant->function);
        print_cost(text, variant_cost(plan, variant));
        text_add(text, "\n");
        for (int s = 0; s < variant->step_count; s++) {
            const struct step *step = &variant->steps[s];
            const struct op *op = step->op;
            const char *path = op->call ? op->call->module->path : "";

            text_printf(text, "  %s%s%s: ", path, path[0] ? " " : "", op->label);
            if (op->code == GRAPH_OP_FENCE) {
                text_add(text, "hooks\n");
                continue;
            }
            print_cost(text, step_cost(plan, step));
            text_add(text, "; ");
            if (step->algorithm)
                explain_choice(text, variant, step);
            else
                text_add(text, op->code == GRAPH_OP_CALL     ? "the region's function"
                               : op->code == GRAPH_OP_EXTERN ? "your function"
                                                             : "a loop nest");
            explain_split(text, variant, step);
            text_add(text, "\n");
        }
    }
}
