/* emit_tables.c - the model in tables: struct modc_model and what it points to. */
#include "emit/emit_room.h"

#include <string.h>

#include "base/emitted.h"
#include "base/options.h"
#include "emit/emit_names.h"
#include "plan/weights.h"

static void print_io(struct emit *e, struct text *out, const struct entry *entry, struct value *const *values,
                     int count, bool outputs)
{
    const struct graph *graph = entry_graph(entry);

    for (int i = 0; i < count; i++) {
        const struct value *value = values[i];
        const bool complex = outputs ? graph->complex[i] : value->op->input.complex;
        const int ndim = value->ndim - complex;

        text_add(out, "    {");
        text_c_string(out, outputs ? graph->output_names[i] : value->name);
        text_printf(out, ", %s, %d, {", dtype_rows[value_shown_dtype(value, complex)].modc, ndim);
        for (int d = 0; d < ndim; d++) {
            const struct size *size;

            text_add(out, d ? ", " : "");
            if (!dim_is_const(value->dims[d], NULL) && dim_is_size(value->dims[d], &size))
                text_add(out, max_constant(e, entry, size->index));
            else
                text_printf(out, "%lld", (long long)dim_upper(value->dims[d]));
        }
        text_printf(out, "%s}, {", ndim == 0 ? "0" : "");
        for (int d = 0; d < ndim; d++) {
            const struct size *size;

            text_printf(out, "%s%d", d ? ", " : "",
                        dim_is_const(value->dims[d], NULL)   ? -1
                        : dim_is_size(value->dims[d], &size) ? size->index
                                                             : -2);
        }
        text_printf(out, "%s}%s},\n", ndim == 0 ? "0" : "", is_constant_input(value) ? ", true" : ", false");
    }
}

/* Inputs, then outputs. */
static void print_inputs_and_outputs(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);

    text_printf(out, "static const struct modc_io %s_io[] = {\n", entry->name);
    print_io(e, out, entry, graph->inputs, graph->input_count, false);
    print_io(e, out, entry, graph->outputs, graph->result_count, true);
    if (graph->input_count + graph->result_count == 0)
        text_add(out, "    {\"\", MODC_BOOL, 0, {0}, {0}, false}, /* it has none */\n");
    text_add(out, "};\n\n");
}

static bool is_expression(const struct dim *dim)
{
    const struct size *size;

    return !dim_is_const(dim, NULL) && !dim_is_size(dim, &size);
}

static bool has_expression(const struct value *value)
{
    for (int d = 0; d < value->ndim; d++)
        if (is_expression(value->dims[d]))
            return true;
    return false;
}

/* Whether modc_shape needs more than the table. */
static bool needs_shape(const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    bool needed = false;

    for (int i = 0; i < graph->input_count; i++)
        needed |= has_expression(graph->inputs[i]);
    for (int i = 0; i < graph->output_count; i++)
        needed |= has_expression(graph->outputs[i]);
    return needed;
}

/* What is marked: the sizes in its expressions. */
static void print_shape_case(struct emit *e, struct text *out, const struct value *value, int index,
                             bool *used)
{
    if (!has_expression(value))
        return;
    text_printf(out, "    case %d:\n", index);
    for (int d = 0; d < value->ndim; d++) {
        if (!is_expression(value->dims[d]))
            continue;
        dim_mark_sizes(value->dims[d], used);
        text_printf(out, "        dims[%d] = %s;\n", d, dim_c_text(e->cx, value->dims[d], false));
    }
    text_add(out, "        break;\n");
}

static void print_shape_function(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    struct text body = text_new(&e->cx->arena);
    bool *used = ARENA_ARRAY(&e->cx->arena, e->tree->size_count + 1, bool);

    for (int i = 0; i < graph->input_count; i++)
        print_shape_case(e, &body, graph->inputs[i], -1 - i, used);
    for (int i = 0; i < graph->output_count; i++)
        print_shape_case(e, &body, graph->outputs[i], i, used);
    text_printf(out, "static void %s_shape(const int *sizes, int index, int *dims)\n{\n", entry->name);
    for (int i = 0; i < e->tree->size_count; i++)
        if (used[e->tree->sizes[i].index])
            text_printf(out, "    const int %s = sizes[%d];\n", e->tree->sizes[i].c_name, i);
    text_printf(out, "\n    switch (index) {\n%s    default:\n        break;\n    }\n}\n\n", body.data);
}

static void print_call_function(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);

    text_printf(out, "MODC_CALL(%s, %s, (net", e->m, entry->name);
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", sizes[%d]", i);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", inputs[%d]", i);
    for (int i = 0; i < graph->output_count; i++)
        text_printf(out, ", outputs[%d]", i);
    text_add(out, "))\n");
}

static void print_entry_row(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    const char *first = workspace_constant(e, entry, 0, EMITTED_FUSED);
    const bool saving = entry->saving[0][0], fenced = entry->graphs[0][1];

    text_printf(out, "    MODC_ENTRY(%s, %d, %d, ", entry->name, graph->input_count, graph->output_count);
    text_add(out, macs_constant(e, entry));
    text_printf(out, needs_shape(entry) ? ", %s_shape" : ", NULL", entry->name);
    text_printf(out, has_gradients(e) ? ", %s_backward_call" : ", NULL", entry->name);
    text_printf(out, ", MODC_%s(%.*s)",
                saving   ? fenced ? "SAVING_HOOKED" : "SAVING"
                : fenced ? "HOOKED"
                         : "PLAIN",
                (int)(strlen(first) - strlen("_WORKSPACE_BYTES")), first);
    for (int s = 0; s < e->tree->size_count; s++)
        text_printf(out, ", %s", max_constant(e, entry, s));
    text_add(out, e->tree->size_count > 0 ? "),\n" : ", 0),\n");
}

static void print_sizes_table(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;

    if (tree->size_count == 0)
        return;
    text_add(out, "static const struct modc_size sizes_table[] = {");
    for (int i = 0; i < tree->size_count; i++) {
        text_add(out, i ? ", {" : "{");
        text_c_string(out, tree->sizes[i].name);
        text_printf(out, ", %s_%s}", e->M, emitted_max(e->cx, NULL, tree->sizes[i].name));
    }
    text_add(out, "};\n\n");
}

/* What calls require of sizes: for those who choose sizes that a call will take, or say why it took none. */
static void print_requirements_table(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;
    bool *used = ARENA_ARRAY(&e->cx->arena, tree->size_count + 1, bool);
    struct text tests = text_new(&e->cx->arena);

    if (tree->requirement_count == 0)
        return;
    text_add(out, "static const char *const requirements_table[] = {\n");
    for (int i = 0; i < tree->requirement_count; i++) {
        const struct requirement *requirement = &tree->requirements[i];

        dim_mark_sizes(requirement->left, used);
        dim_mark_sizes(requirement->right, used);
        text_add(out, "    ");
        text_c_string(out, requirement_text(&e->cx->arena, requirement));
        text_add(out, ",\n");
        text_printf(&tests, "    if (!(%s))\n        return %d;\n", requirement_c_text(e, requirement), i);
    }
    text_add(out, "};\n\n/* The first that these sizes do not meet; -1: they meet all. */\n"
                  "static int unmet_requirement(const int *sizes)\n{\n");
    for (int i = 0; i < tree->size_count; i++)
        if (used[i])
            text_printf(out, "    const int %s = sizes[%d];\n", tree->sizes[i].c_name, i);
    text_printf(out, "\n%s    return -1;\n}\n\n", tests.data);
}

/* Bodies of the user's. */
static void print_externs_table(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;

    if (tree->extern_count == 0)
        return;
    for (int linked = 1; linked >= 0; linked--) {
        text_add(out, linked ? "#ifndef MODC_NO_EXTERNS\n" : "#else\n");
        text_add(out, "static const struct modc_extern_row externs_table[] = {\n");
        for (int i = 0; i < tree->extern_count; i++) {
            const char *name = tree->externs[i]->name;

            if (!linked)
                text_printf(out, "    {\"%s\", NULL, NULL},\n", name);
            else if (has_backward(e) && tree->externs[i]->backward)
                text_printf(out, "    {\"%s\", %s_extern_%s, %s_extern_%s_backward},\n", name, e->m, name,
                            e->m, name);
            else
                text_printf(out, "    {\"%s\", %s_extern_%s, NULL},\n", name, e->m, name);
        }
        text_add(out, "};\n");
    }
    text_add(out, "#endif\n\n");
}

/* What is packed as integers: note [integers] in modc.h. */
static void print_integers_table(struct emit *e, struct text *out)
{
    const struct plan *plan = e->plan;

    if (!plan->uses)
        return;
    text_add(out, "static const struct modc_integers integers_table[] = {\n");
    for (int i = 0; i < e->tree->key_count; i++) {
        const struct weights_use *use = &plan->uses[i];

        if (plan->scale_offsets[i] < 0)
            continue;
        text_printf(out, "    MODC_INTEGERS(%d, %lld, %d, %d, %s, %s, %s), /* %s */\n", i,
                    (long long)plan->scale_offsets[i], use->storage->bits, use->storage->group,
                    dtype_rows[use->storage->scale].modc + sizeof "MODC_" - 1,
                    use->storage->gguf ? "GGUF" : "SYMMETRIC",
                    use->apart        ? "PARTS"
                    : use->transposed ? "COLUMNS"
                                      : "ROWS",
                    text_in_comment(&e->cx->arena, e->tree->keys[i]->path));
    }
    text_add(out, "};\n\n");
}

/* Of struct modc_model: blocks, and the tables that the file has. */
static void print_model_tables(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;

    text_printf(out, "    .param_block = %s_PARAM_BYTES,\n", e->M);
    if (plan_packed_block(e->plan) > 0)
        text_printf(out, "    .packed_block = %s_PACKED_BYTES, .pack = %s_pack_all,\n", e->M, e->m);
    if (e->plan->state_bytes > 0)
        text_printf(out, "    .state_block = %s_STATE_BYTES,\n", e->M);
    if (e->tree->state_count > 0)
        text_add(out, "    .state_count = MODC_ROWS(states_table), .states = states_table,\n");
    if (tree->size_count > 0)
        text_add(out, "    .size_count = MODC_ROWS(sizes_table), .sizes = sizes_table,\n");
    if (tree->requirement_count > 0)
        text_add(out, "    .requirements = requirements_table, .unmet = unmet_requirement,\n");
    if (tree->key_count > 0)
        text_add(out, "    .key_count = MODC_ROWS(keys_table), .keys = keys_table,\n");
    if (count_draws(e) > 0)
        text_add(out, "    .draw_count = MODC_ROWS(draws_table), .draws = draws_table,\n");
    else if (tree->key_count > 0)
        text_add(out, "    .draw_count = MODC_DRAWS_OF_KEYS,\n");
    text_printf(
        out,
        "    .module_count = %s_MODULES, .modules = modules_table,\n    .entry_count = MODC_ROWS(entries_table), .entries = entries_table,\n",
        e->M);
}

/* What a model has where its spec or the command line asks for it. */
static void print_model_abilities(struct emit *e, struct text *out)
{
    if (e->weights)
        text_printf(out, "    .bind_embedded = %s_bind_all,\n", e->m);
    if (e->unpacks)
        text_printf(out, "    .unpack = %s_unpack,\n", e->m);
    if (e->plan->threads > 0)
        text_printf(out, "    .threads = %d,\n    .threading = offsetof(struct %s, threading),\n",
                    e->plan->threads, e->m);
    if (is_dispatched(e))
        text_add(out, "    .dispatch = &dispatch_table,\n");
    if (has_backward(e))
        text_printf(out,
                    "    .gradient_count = %s, .gradients = %s,\n    .gradient_block = %s_GRADIENT_BYTES,\n"
                    "    .training_bytes = sizeof(struct %s_training),\n",
                    e->plan->gradient_count > 0 ? arena_format(&e->cx->arena, "%s_GRADIENTS", e->M) : "0",
                    lists_gradients(e) ? "gradients_table" : "NULL", e->M, e->m);
    if (has_gradients(e))
        text_printf(out, "    .gradients_offset = offsetof(struct %s_training, gradients),\n", e->m);
    if (has_optimizer(e))
        text_printf(
            out,
            "    .training_block = %s_TRAINING_BYTES,\n    .training_init = training_init_call,\n    .train_step = train_step_call,\n",
            e->M);
    if (e->tree->extern_count > 0)
        text_printf(out,
                    "    .extern_count = MODC_ROWS(externs_table), .externs = externs_table,\n"
                    "    .extern_list = offsetof(struct %s, externs),\n",
                    e->m);
    if (e->plan->uses)
        text_add(
            out,
            "    .integer_count = MODC_ROWS(integers_table), .integers = integers_table,\n    .integer_code = &modc_integer_code,\n");
    if (e->plan->backend->apart)
        text_printf(out, "    .device = &modc_%s_device,\n", e->plan->backend->name);
    if (e->tree->rollout)
        text_printf(out, "    .rollout = &%s_rollout_table,\n", e->m);
    if (program_generates(e->plan->program))
        text_printf(out, "    .generation = &%s_generation,\n", e->m);
}

void print_tables(struct emit *e, struct text *out)
{
    const struct program *program = e->plan->program;

    text_add(out, "/* ---- tables ---- */\n\n");
    print_sizes_table(e, out);
    print_requirements_table(e, out);
    print_externs_table(e, out);
    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];

        if (needs_shape(entry))
            print_shape_function(e, out, entry);
        print_call_function(e, out, entry);
        if (has_gradients(e))
            print_backward_call(e, out, entry);
    }
    text_add(out, "\n");
    for (int i = 0; i < program->entry_count; i++)
        print_inputs_and_outputs(e, out, &program->entries[i]);
    text_add(out, "static const struct modc_entry entries_table[] = {\n");
    for (int i = 0; i < program->entry_count; i++)
        print_entry_row(e, out, &program->entries[i]);
    text_add(out, "};\n\n");
    print_row_tables(e, out);
    print_integers_table(e, out);
    text_printf(
        out,
        "const struct modc_model %s_model = {\n    .abi = MODC_ABI, .name = \"%s\", .schema = %s_SCHEMA,\n    .rtol = RTOL_OF_%s,\n"
        "    .align = MODC_ALIGN, .tensor_align = %d,\n    .params_bytes = sizeof(struct %s_params),\n    .context_bytes = sizeof(struct %s),\n",
        e->m, e->m, e->M, e->M, e->plan->align, e->m, e->m);
    print_model_tables(e, out);
    print_model_abilities(e, out);
    text_add(out, "};\n");
}
