/* plan_dump.c - prints a plan, as text or as JSON. */
#include "plan/algorithm.h"
#include "plan/planner.h"

/* The values that lie in a buffer of the workspace: what is written there, and what is in place behind it. */
static void dump_values_json(struct text *text, const struct variant *variant,
                             const struct interval *interval)
{
    int count = 0;

    for (int i = 0; i < variant->graph->value_count; i++) {
        const struct place *place = &variant->places[i];
        const struct place *memory = place;

        while (memory->same)
            memory = &variant->places[memory->same->id];
        if (memory->kind == PLACE_WORKSPACE && memory->bytes > 0 && memory->name == interval->what &&
            memory->first == interval->first)
            text_printf(text, "%s%d", count++ ? ", " : "", i);
    }
}

static void dump_variant_json(struct text *text, const struct plan *plan, const struct variant *variant)
{
    text_printf(text,
                "{\"function\": \"%s\", \"region\": %s, \"workspace\": %lld, \"kept\": %lld, \"steps\": [\n",
                variant->function, variant->graph->region ? "true" : "false", (long long)variant->peak,
                (long long)variant->kept_bytes);
    for (int s = 0; s < variant->step_count; s++) {
        const struct step *step = &variant->steps[s];
        const int64_t scratch = planner_scratch_bytes(plan, step),
                      passing = planner_passing_bytes(plan, step);

        text_printf(text, "%s  {\"op\": \"%s\", \"label\": ", s ? ",\n" : "", op_rows[step->op->code]->name);
        text_json_string(text, step->op->label ? step->op->label : "");
        text_printf(text,
                    ", \"algorithm\": \"%s\", \"module\": ", step->algorithm ? step->algorithm->name : "");
        text_json_string(text, step->op->call ? step->op->call->module->path : "");
        if (step->split.slices > 1)
            text_printf(text, ", \"split\": \"%s\", \"slices\": %d", split_names[step->split.axis],
                        step->split.slices);
        if (step->op->code != GRAPH_OP_CALL && scratch > 0)
            text_printf(text, ", \"scratch\": %lld", (long long)scratch);
        if (passing > 0)
            text_printf(text, ", \"passing\": {\"name\": \"%s\", \"bytes\": %lld}",
                        step_packed(step, 1)->name, (long long)passing);
        text_printf(text, ", \"outputs\": [");
        for (int j = 0; j < step->op->output_count; j++)
            text_printf(text, "%s%d", j ? ", " : "", step->op->outputs[j]->base->id);
        text_printf(text, "], \"inputs\": [");
        for (int j = 0; j < step->op->input_count; j++)
            text_printf(text, "%s%d", j ? ", " : "", step->op->inputs[j]->base->id);
        text_add(text, "], \"bytes\": [");
        for (int j = 0; j < step->op->output_count; j++)
            text_printf(text, "%s%lld", j ? ", " : "",
                        (long long)planner_value_bytes(text->arena, step->op->outputs[j]));
        text_add(text, "]");
        if (step->op->code == GRAPH_OP_CALL)
            text_printf(text, ", \"calls\": \"%s\", \"count\": %d, \"turns\": %s",
                        plan_variant(plan, step->op->invoke.region->graph)->function, step->op->invoke.count,
                        call_turns(step->op) ? "true" : "false");
        text_add(text, "}");
    }
    text_add(text, "],\n \"outputs\": [");
    for (int i = 0; i < variant->graph->output_count; i++)
        text_printf(text, "%s%d", i ? ", " : "", variant->graph->outputs[i]->base->id);
    text_add(text, "],\n \"buffers\": [\n");
    for (int i = 0; i < variant->interval_count; i++) {
        const struct interval *own = &variant->intervals[i];

        text_printf(text, "%s  {\"name\": ", i ? ",\n" : "");
        text_json_string(text, own->what);
        text_printf(
            text,
            ", \"offset\": %lld, \"bytes\": %lld, \"first\": %d, \"last\": %d, \"kept\": %s, \"values\": [",
            (long long)own->offset, (long long)own->bytes, own->first, own->last,
            own->kept ? "true" : "false");
        dump_values_json(text, variant, own);
        text_add(text, "]}");
    }
    text_add(text, "]}");
}

static void dump_variant(struct text *text, const struct variant *variant)
{
    text_printf(text, "%s: workspace %lld bytes, bound %lld\n", variant->function, (long long)variant->peak,
                (long long)variant->bound);
    for (int s = 0; s < variant->step_count; s++) {
        const struct step *step = &variant->steps[s];

        text_printf(text, "  %2d %s%s%s", s, op_rows[step->op->code]->name, step->algorithm ? " " : "",
                    step->algorithm ? step->algorithm->name : "");
        for (int j = 0, n = 0; j < step->op->input_count; j++)
            if (step_packed(step, j))
                text_printf(text, "%s%s%s", n++ ? ", " : " packed ", step_packed(step, j)->name,
                            step_packed(step, j)->passing ? " in passing" : "");
        if (step->split.slices > 1)
            text_printf(text, " in %d slices by %s", step->split.slices, split_names[step->split.axis]);
        text_add(text, " ->");
        for (int j = 0; j < step->op->output_count; j++) {
            const struct place *place = &variant->places[step->op->outputs[j]->base->id];

            text_printf(text, " %s", place->name ? place->name : "(slot)");
        }
        text_add(text, "\n");
    }
    for (int i = 0; i < variant->interval_count; i++)
        text_printf(text, "  %s[%lld, %lld) %s, steps %d to %d\n", variant->intervals[i].kept ? "kept " : "",
                    (long long)variant->intervals[i].offset,
                    (long long)(variant->intervals[i].offset + variant->intervals[i].bytes),
                    variant->intervals[i].what, variant->intervals[i].first, variant->intervals[i].last);
}

void plan_dump(struct text *text, const struct plan *plan, bool json)
{
    if (json) {
        text_printf(
            text,
            "{\"model\": \"%s\", \"parameters\": %lld, \"gradients\": %lld, \"state\": %lld, \"packed\": %lld, \"align\": %d, "
            "\"entries\": [",
            plan->model, (long long)plan->param_bytes, (long long)plan->gradient_block,
            (long long)plan->state_bytes, (long long)plan_packed_block(plan), plan->align);
        for (int i = 0; i < plan->program->entry_count; i++)
            text_printf(text, "%s\"%s\"", i ? ", " : "", plan->program->entries[i].name);
        text_add(text, "],\n\"variants\": [\n");
        for (int i = 0; i < plan->variant_count; i++) {
            text_add(text, i ? ",\n" : "");
            dump_variant_json(text, plan, plan->variants[i]);
        }
        text_add(text, "],\n\"packed_entries\": [\n");
    } else {
        text_printf(text, "%s: parameters %lld bytes, packed %lld, state %lld\n", plan->model,
                    (long long)plan->param_bytes, (long long)plan_packed_block(plan),
                    (long long)plan->state_bytes);
        for (int i = 0; i < plan->variant_count; i++)
            dump_variant(text, plan->variants[i]);
    }
    for (int g = 0, n = 0; g < plan->group_count; g++) {
        const struct pack_group *group = plan->groups[g];

        for (int i = 0; i < group->entry_count; i++, n++) {
            const struct packed *entry = group->entries[i];

            if (json) {
                text_printf(text, "%s  {\"group\": \"%s\", \"name\": \"%s\", \"layout\": ", n ? ",\n" : "",
                            group->name, entry->name);
                text_json_string(text, entry->comment);
                text_printf(text, ", \"read\": %s, \"offset\": %lld, \"bytes\": %lld}",
                            entry->read ? "true" : "false", (long long)entry->offset,
                            (long long)(entry->count * dtype_rows[entry->dtype].bytes));
            } else {
                text_printf(text, "%s %s%s%s %s = ", entry->read ? "packed" : "packing", group->name,
                            group->name[0] ? "." : "", entry->name, entry->comment);
                pack_entry_text(text, entry);
                text_add(text, "\n");
            }
        }
    }
    if (json)
        text_add(text, "]}\n");
}
