/* emit_tables.c - the model in tables: struct modc_model and what it points to. */
#include "emit/emit_room.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/bundle.h"
#include "commands/options.h"
#include "commands/weights.h"
#include "emit/dispatch.h"
#include "emit/emit_names.h"
#include "emit/emit_rollout.h"
#include "emit/emit_training.h"
#include "emit/template.h"
#include "module/training.h"
#include "passes/pass.h"

static void print_c_string(struct emit *e, struct text *out, const char *text)
{
    (void)e;
    text_add(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            text_printf(out, "\\%c", *text);
        else if (*text == '\n')
            text_add(out, "\\n");
        else
            text_add_bytes(out, text, 1);
    }
    text_add(out, "\"");
}

/* The array of a tensor's initial value. */
static const char *init_value_name(struct emit *e, const struct module_tensor *tensor)
{
    return arena_format(&e->cx->arena, "%s_value", emitted_flat(e->cx, tensor->path));
}

static const char *const init_kinds[] = {[INIT_CONSTANT] = "MODC_INIT_CONSTANT",
                                         [INIT_UNIFORM] = "MODC_INIT_UNIFORM",
                                         [INIT_NORMAL] = "MODC_INIT_NORMAL",
                                         [INIT_WITHIN] = "MODC_INIT_NORMAL",
                                         [INIT_VALUE] = "MODC_INIT_VALUE"};

static void print_key(struct emit *e, struct text *out, struct module_tensor *tensor, int index)
{
    const struct module_tensor *origin = module_tensor_origin(tensor);
    bool state = tensor->kind == MODULE_STATE;
    struct text flags = text_new(&e->cx->arena);
    struct text a = text_new(&e->cx->arena), b = text_new(&e->cx->arena);

    if (tensor->kind == MODULE_PARAMETER)
        text_add(&flags, "MODC_KEY_PARAMETER");
    if (tensor->persistent)
        text_printf(&flags, "%sMODC_KEY_PERSISTENT", flags.length ? " | " : "");
    if (tensor->optional)
        text_printf(&flags, "%sMODC_KEY_OPTIONAL", flags.length ? " | " : "");
    if (tensor->kind == MODULE_PARAMETER && !tensor->requires_grad)
        text_printf(&flags, "%sMODC_KEY_FROZEN", flags.length ? " | " : "");
    print_double(e, &a, origin->a);
    print_double(e, &b, origin->b);
    text_add(out, "    {");
    print_c_string(e, out, tensor->path);
    text_printf(out, ", %s, %d, {", dtype_rows[tensor->dtype].modc, tensor->ndim);
    for (int d = 0; d < tensor->ndim; d++)
        text_printf(out, "%s%lld", d ? ", " : "", (long long)tensor->dims[d]);
    text_printf(out, "%s}, %s, %s,\n     ", tensor->ndim == 0 ? "0" : "", flags.length ? flags.data : "0",
                module_constant(e, tensor->owner));
    if (state)
        text_printf(out, "0, %lld, %d, ", (long long)e->plan->state_offsets[index], index);
    else
        text_printf(out, "offsetof(struct %s_params, %s), %lld, %d, ", e->m,
                    tensor_member(e->cx, e->tree->root, tensor), (long long)e->plan->param_offsets[index],
                    tensor->first->key);
    text_printf(out, "%s, %s, %s, %s},\n", init_kinds[origin->init], a.data, b.data,
                origin->init == INIT_VALUE ? init_value_name(e, origin) : "NULL");
}

static void print_io(struct emit *e, struct text *out, const char *what, const struct entry *entry,
                     struct value *const *values, int count, bool outputs)
{
    const struct graph *graph = entry_graph(entry);

    if (count == 0)
        return;
    text_printf(out, "static const struct modc_io %s_%s[] = {\n", entry->name, what);
    for (int i = 0; i < count; i++) {
        const struct value *value = values[i];

        text_add(out, "    {");
        print_c_string(e, out, outputs ? graph->output_names[i] : value->name);
        text_printf(out, ", %s, %d, {", dtype_rows[value->dtype].modc, value->ndim);
        for (int d = 0; d < value->ndim; d++)
            text_printf(out, "%s%lld", d ? ", " : "", (long long)dim_upper(value->dims[d]));
        text_printf(out, "%s}, {", value->ndim == 0 ? "0" : "");
        for (int d = 0; d < value->ndim; d++) {
            const struct size *size;

            text_printf(out, "%s%d", d ? ", " : "",
                        dim_is_const(value->dims[d], NULL)   ? -1
                        : dim_is_size(value->dims[d], &size) ? size->index
                                                             : -2);
        }
        text_printf(out, "%s}%s},\n", value->ndim == 0 ? "0" : "",
                    is_constant_input(value) ? ", true" : ", false");
    }
    text_add(out, "};\n\n");
}

static void print_shape_case(struct emit *e, struct text *out, const struct value *value, int index)
{
    text_printf(out, "    case %d:\n", index);
    for (int d = 0; d < value->ndim; d++)
        text_printf(out, "        dims[%d] = %s;\n", d, dim_c_text(e->cx, value->dims[d], false));
    text_add(out, "        break;\n");
}

static void print_shape_function(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    struct text body = text_new(&e->cx->arena);

    for (int i = 0; i < graph->input_count; i++)
        print_shape_case(e, &body, graph->inputs[i], -1 - i);
    for (int i = 0; i < graph->output_count; i++)
        print_shape_case(e, &body, graph->outputs[i], i);
    text_printf(out, "static void %s_shape(const int *sizes, int index, int *dims)\n{\n", entry->name);
    for (int i = 0; i < e->tree->size_count; i++)
        if (uses_word(body.data, e->tree->sizes[i].c_name))
            text_printf(out, "    const int %s = sizes[%d];\n", e->tree->sizes[i].c_name, i);
    if (!uses_word(body.data, "dims"))
        text_add(out, "    (void)dims;\n");
    text_printf(out, "    (void)sizes;\n\n    switch (index) {\n%s    default:\n        break;\n    }\n}\n\n",
                body.data);
}

static void print_call_function(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);

    text_printf(
        out,
        "static enum modc_status %s_call(struct modc_context *net, const int *sizes, const void *const *inputs, "
        "void *const *outputs)\n{\n",
        entry->name);
    if (e->tree->size_count == 0)
        text_add(out, "    (void)sizes;\n");
    if (graph->input_count == 0)
        text_add(out, "    (void)inputs;\n");
    text_printf(out, "    return %s_%s((struct %s *)(void *)net", e->m, entry->name, e->m);
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", sizes[%d]", i);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", inputs[%d]", i);
    for (int i = 0; i < graph->output_count; i++)
        text_printf(out, ", outputs[%d]", i);
    text_add(out, ");\n}\n\n");
}

static void print_draw(struct emit *e, struct text *out, int key, const char *kind, double a, double b)
{
    struct text numbers = text_new(&e->cx->arena);

    print_double(e, &numbers, a);
    text_add(&numbers, ", ");
    print_double(e, &numbers, b);
    text_printf(out, "    {%d, %s, %s},", key, kind, numbers.data);
}

/* The steps of modc_reset; returns how many there are. */
static int print_draws(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;
    int count = 0;

    for (int i = 0; i < tree->draw_count; i++) {
        const struct module_tensor *tensor = tree->draws[i];

        if (!init_draws(tensor->init))
            continue;
        if (count++ == 0)
            text_add(
                out,
                "/* in the order in which PyTorch draws */\nstatic const struct modc_draw draws_table[] = {\n");
        print_draw(e, out, tensor->source ? -1 - tensor->key : tensor->key, init_kinds[tensor->init],
                   tensor->a, tensor->b);
        text_printf(out, " /* %s%s */\n", tensor->path, tensor->source ? "; dropped, since it is tied" : "");
        if (tensor->init == INIT_WITHIN) {
            print_draw(e, out, tensor->key, "MODC_INIT_WITHIN", tensor->low, tensor->high);
            text_add(out, "\n");
            count++;
        }
        if (tensor->zero_row >= 0 && !tensor->source) {
            text_printf(out, "    {%d, MODC_INIT_ROW, 0.0, %lld},\n", tensor->key,
                        (long long)tensor->zero_row);
            count++;
        }
    }
    if (count > 0)
        text_add(out, "};\n\n");
    return count;
}

void print_tables(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;
    const struct program *program = e->plan->program;
    int draw_count;

    text_add(out, "/* ---- tables ---- */\n\n");
    for (int i = 0; i < tree->key_count; i++)
        if (tree->keys[i]->init == INIT_VALUE && !tree->keys[i]->source)
            print_array(e, out, init_value_name(e, tree->keys[i]), tree->keys[i]->value);
    for (int i = 0; i < tree->state_count; i++)
        if (tree->states[i]->init == INIT_VALUE)
            print_array(e, out, init_value_name(e, tree->states[i]), tree->states[i]->value);
    if (tree->size_count > 0) {
        text_add(out, "static const struct modc_size sizes_table[] = {");
        for (int i = 0; i < tree->size_count; i++) {
            text_add(out, i ? ", {" : "{");
            print_c_string(e, out, tree->sizes[i].name);
            text_printf(out, ", %lld}", (long long)tree->sizes[i].max);
        }
        text_add(out, "};\n\n");
    }
    if (tree->key_count > 0) {
        text_add(out, "static const struct modc_key keys_table[] = {\n");
        for (int i = 0; i < tree->key_count; i++)
            print_key(e, out, tree->keys[i], i);
        text_add(out, "};\n\n");
    }
    if (tree->state_count > 0) {
        text_add(out, "static const struct modc_key states_table[] = {\n");
        for (int i = 0; i < tree->state_count; i++)
            print_key(e, out, tree->states[i], i);
        text_add(out, "};\n\n");
    }
    draw_count = print_draws(e, out);
    text_add(out, "static const struct modc_module modules_table[] = {\n");
    for (int i = 0; i < tree->module_count; i++) {
        const struct module *module = tree->modules[i];

        text_add(out, "    {");
        print_c_string(e, out, module->path);
        text_add(out, ", ");
        print_c_string(e, out, module->name ? module->name : "");
        text_add(out, ", ");
        print_c_string(e, out, module->class_name);
        text_add(out, ", ");
        print_c_string(e, out, module_extra_repr(module));
        text_printf(out, ", %d, %d, %s},\n", module->parent ? module->parent->index : -1, module->subtree,
                    module_folds(module) ? "true" : "false");
    }
    text_add(out, "};\n\n");
    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];
        const struct graph *graph = entry_graph(entry);

        print_io(e, out, "inputs", entry, graph->inputs, graph->input_count, false);
        print_io(e, out, "outputs", entry, graph->outputs, graph->result_count, true);
        if (tree->size_count > 0) {
            text_printf(out, "static const int %s_max_sizes[] = {", entry->name);
            for (int s = 0; s < tree->size_count; s++)
                text_printf(out, "%s%lld", s ? ", " : "", (long long)entry->sizes[s].max);
            text_add(out, "};\n\n");
        }
        print_shape_function(e, out, entry);
        print_call_function(e, out, entry);
        if (has_gradients(e))
            print_backward_call(e, out, entry);
    }
    if (has_backward(e) && e->plan->gradient_count > 0)
        print_gradient_table(e, out);
    text_add(out, "static const struct modc_entry entries_table[] = {\n");
    for (int i = 0; i < program->entry_count; i++) {
        const struct entry *entry = &program->entries[i];
        const struct graph *graph = entry_graph(entry);
        struct text macs = text_new(&e->cx->arena);

        text_double(&macs, entry_variant(e, entry, 0, 0)->macs);
        text_add(out, "    {");
        print_c_string(e, out, entry->name);
        text_printf(out, ", %d, %d, ", graph->input_count, graph->output_count);
        text_printf(out, graph->input_count ? "%s_inputs, " : "NULL, ", entry->name);
        text_printf(out, graph->output_count ? "%s_outputs, " : "NULL, ", entry->name);
        text_printf(out, tree->size_count ? "%s_max_sizes,\n" : "NULL,\n", entry->name);
        text_printf(out, "     {%s, %s}, {", workspace_constant(e, entry, 0, 0),
                    workspace_constant(e, entry, 1, 0));
        if (entry->graphs[0][1])
            text_printf(out, "%s, %s}", workspace_constant(e, entry, 0, 1),
                        workspace_constant(e, entry, 1, 1));
        else
            text_add(out, "0, 0}");
        text_printf(out, ", %s, %s_shape, %s_call,\n     ", macs.data, entry->name, entry->name);
        for (int kind = EMITTED_SAVING; entry->saving[0][0] && kind < EMITTED_VARIANTS; kind++)
            for (int mode = 0; mode < 2 && entry_variant(e, entry, mode, (enum emitted_variant)kind); mode++)
                text_printf(out, "%s%s", kind > EMITTED_SAVING || mode > 0 ? ", " : "{",
                            workspace_constant(e, entry, mode, (enum emitted_variant)kind));
        text_add(out, entry->saving[0][0] ? "}, " : "{0, 0}, ");
        text_printf(out, has_gradients(e) ? "%s_backward_call},\n" : "NULL},\n", entry->name);
    }
    text_add(out, "};\n\n");
    text_printf(
        out,
        "const struct modc_model %s_model = {\n    .abi = MODC_ABI,\n    .name = \"%s\",\n    .schema = 0x%016llxu,\n"
        "    .align = MODC_ALIGN,\n    .params_bytes = sizeof(struct %s_params),\n    .context_bytes = sizeof(struct %s),\n"
        "    .param_block = %s_PARAM_BYTES,\n",
        e->m, e->m, (unsigned long long)e->plan->schema, e->m, e->m, e->M);
    if (e->plan->groups[0]->bytes > 0)
        text_printf(out, "    .packed_block = %s_PACKED_BYTES,\n    .pack = %s_pack_all,\n", e->M, e->m);
    if (e->plan->state_bytes > 0)
        text_printf(
            out, "    .state_block = %s_STATE_BYTES,\n    .state_count = %d,\n    .states = states_table,\n",
            e->M, tree->state_count);
    if (tree->size_count > 0)
        text_printf(out, "    .size_count = %d,\n    .sizes = sizes_table,\n", tree->size_count);
    if (tree->key_count > 0)
        text_printf(out, "    .key_count = %d,\n    .keys = keys_table,\n", tree->key_count);
    if (draw_count > 0)
        text_printf(out, "    .draw_count = %d,\n    .draws = draws_table,\n", draw_count);
    text_printf(
        out,
        "    .module_count = %s_MODULES,\n    .modules = modules_table,\n    .entry_count = %d,\n    .entries = entries_table,\n",
        e->M, program->entry_count);
    if (e->weights)
        text_printf(out, "    .bind_embedded = %s_bind_all,\n", e->m);
    if (e->unpacks)
        text_printf(out, "    .unpack = %s_unpack,\n", e->m);
    if (plan_uses(e->plan, PACKED_WINOGRAD4) || plan_uses(e->plan, PACKED_WINOGRAD2))
        text_add(out, "    .rtol = 1e-4f,\n");
    if (e->plan->threads > 0)
        text_printf(out, "    .threads = %d,\n    .threading = offsetof(struct %s, threading),\n",
                    e->plan->threads, e->m);
    if (e->cx->options->dispatch)
        text_add(out, "    .dispatch = &dispatch_table,\n");
    if (has_backward(e))
        text_printf(
            out,
            "    .gradient_count = %d,\n    .gradients = %s,\n    .gradient_block = %s_GRADIENT_BYTES,\n"
            "    .training_bytes = sizeof(struct %s_training),\n",
            e->plan->gradient_count, e->plan->gradient_count > 0 ? "gradients_table" : "NULL", e->M, e->m);
    if (has_gradients(e))
        text_printf(out, "    .gradients_offset = offsetof(struct %s_training, gradients),\n", e->m);
    if (has_optimizer(e))
        text_printf(
            out,
            "    .training_block = %s_TRAINING_BYTES,\n    .training_init = %s_start,\n    .train_step = %s_train_step_call,\n",
            e->M, e->m, e->m);
    if (e->tree->rollout)
        text_printf(out, "    .rollout = &%s_rollout_table,\n", e->m);
    text_add(out, "};\n");
}
