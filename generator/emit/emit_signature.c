/* emit_signature.c - arguments of entries, and which variants and constants belong to them. */
#include "emit/emit_room.h"

#include "base/emitted.h"
#include "emit/dispatch.h"
#include "module/training.h"

const struct graph *entry_graph(const struct entry *entry)
{
    return entry->graphs[0][0];
}

/* Sizes that the entry takes: all of the model's, in order. */
void print_sizes(struct emit *e, struct text *out)
{
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", int %s", e->tree->sizes[i].c_name);
}

void print_arguments(struct emit *e, struct text *out, const struct graph *graph)
{
    print_sizes(e, out);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", const %s *%s", dtype_rows[graph->inputs[i]->dtype].c,
                    c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->result_count; i++)
        text_printf(out, ", %s *%s", dtype_rows[graph->outputs[i]->dtype].c, c_output(e->cx, graph, i));
}

void pass_arguments(struct emit *e, struct text *out, const struct graph *graph)
{
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", %s", e->tree->sizes[i].c_name);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", %s", c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->result_count; i++)
        text_printf(out, ", %s", c_output(e->cx, graph, i));
}

bool is_constant_input(const struct value *value)
{
    return value->op->code == GRAPH_OP_INPUT && value->op->input.constant;
}

/* Results whose gradients backward takes, and inputs whose gradients it gives. */
bool has_gradient(const struct graph *graph, const struct value *value)
{
    return dtype_is_float(value->dtype) && !graph->loss && !is_constant_input(value);
}

bool is_scaled(const struct emit *e, const struct graph *graph)
{
    return graph->loss && training_scales(e->tree->training);
}

/* Gradients that backward takes and gives, of a scaled loss inside alone; with `typed` as parameters, else as what is passed. uses: only those in
 * it; NULL: all. */
static void add_gradients(struct emit *e, struct text *out, const struct graph *graph, bool typed,
                          const struct uses *uses)
{
    for (int i = 0; i < graph->result_count + graph->input_count; i++) {
        bool result = i < graph->result_count;
        const struct value *value = result ? graph->outputs[i] : graph->inputs[i - graph->result_count];
        const char *name = c_gradient(e->cx, graph, result ? graph->output_names[i] : value->name, result);

        if (!has_gradient(graph, value) && !(uses && result && is_scaled(e, graph)))
            continue;
        if (uses && !uses_name(uses, name))
            continue;
        text_add(out, ", ");
        if (typed)
            text_printf(out, "%s%s *", result ? "const " : "", dtype_rows[value->dtype].c);
        text_add(out, name);
    }
}

/* The function behind backward takes the inputs that forward noted too, and of all only what it uses. */
void pass_second_arguments(struct emit *e, struct text *out, const struct variant *variant)
{
    const struct graph *graph = variant->graph;
    const struct uses *uses = printed_of(e, variant)->uses[PART_BACKWARD];

    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", %s", e->tree->sizes[i].c_name);
    for (int i = 0; i < graph->input_count; i++)
        if (uses_name(uses, c_argument(e->cx, graph->inputs[i]->name)))
            text_printf(out, ", net->saved_inputs[%d]", i);
    add_gradients(e, out, graph, false, uses);
}

void print_second_arguments(struct emit *e, struct text *out, const struct variant *variant)
{
    const struct graph *graph = variant->graph;
    const struct uses *uses = printed_of(e, variant)->uses[PART_BACKWARD];

    print_sizes(e, out);
    for (int i = 0; i < graph->input_count; i++)
        if (uses_name(uses, c_argument(e->cx, graph->inputs[i]->name)))
            text_printf(out, ", const %s *%s", dtype_rows[graph->inputs[i]->dtype].c,
                        c_argument(e->cx, graph->inputs[i]->name));
    add_gradients(e, out, graph, true, uses);
}

void print_backward_arguments(struct emit *e, struct text *out, const struct graph *graph)
{
    print_sizes(e, out);
    add_gradients(e, out, graph, true, NULL);
}

bool saves(enum emitted_variant kind)
{
    return kind == EMITTED_SAVING || kind == EMITTED_SAVING_FENCED;
}

const struct variant *entry_variant(const struct emit *e, const struct entry *entry, int training,
                                    enum emitted_variant kind)
{
    const struct graph *graph = (saves(kind) ? entry->saving : entry->graphs)[training][kind & 1];

    return graph ? plan_variant(e->plan, graph) : NULL;
}

/* POLICY_WORKSPACE_BYTES, POLICY_ACT_TRAIN_FENCED_WORKSPACE_BYTES */
const char *macs_constant(struct emit *e, const struct entry *entry)
{
    return text_upper(&e->cx->arena, arena_format(&e->cx->arena, "macs_of_%s", entry->name));
}

const char *workspace_constant(struct emit *e, const struct entry *entry, int training,
                               enum emitted_variant kind)
{
    return arena_format(&e->cx->arena, "%s_%s", e->M, emitted_workspace(e->cx, entry->name, training, kind));
}

/* POLICY_MAX_BATCH, or the constant of an entry with a maximum of its own. */
const char *max_constant(struct emit *e, const struct entry *entry, int size)
{
    const struct size *own = &entry->sizes[size], *all = &e->tree->sizes[size];

    return arena_format(&e->cx->arena, "%s_%s", e->M,
                        emitted_max(e->cx, own->max != all->max ? entry->name : NULL, all->name));
}

int64_t at_least_one(const struct emit *e, int64_t bytes)
{
    return bytes > 0 ? bytes : e->plan->align;
}

int64_t variant_bytes(const struct emit *e, const struct variant *variant)
{
    return at_least_one(e, e->plan->state_bytes + variant->peak);
}

bool has_backward(const struct emit *e)
{
    return e->plan->program->settings.backward;
}

/* Whether gradients are kept, by functions that are called alone: `update: fused` has a step as a whole. */
bool has_gradients(const struct emit *e)
{
    return has_backward(e) && !e->plan->program->settings.fused;
}

bool is_dispatched(const struct emit *e)
{
    return dispatch_has(e->cx, e->plan);
}

/* Whether it has all of `training:`. */
bool has_optimizer(const struct emit *e)
{
    return e->tree->training != NULL;
}

const struct entry *loss_entry(const struct emit *e)
{
    return &e->plan->program->entries[e->plan->program->entry_count - 1];
}
