/* emit.c - prints the files of a model: header, functions, tables. Kernels come from kernel.c. */
#include "emit/emit.h"

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
#include "emit/kernel.h"
#include "emit/template.h"
#include "module/training.h"
#include "passes/pass.h"
#include "plan/target.h"

struct emit {
    struct cx *cx;
    const struct plan *plan;
    const struct module_tree *tree;
    const struct target *target;
    const char *m, *M; /* the model's name, and in capitals */
    const struct embedded_weights *weights;
    bool unpacks; /* some tensors lie only packed */
};

static const char *upper_case(struct cx *cx, const char *text)
{
    char *out = arena_string(&cx->arena, text);

    for (char *c = out; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return out;
}

/* A spec's file without its folder: the same bytes wherever it lies. */
static const char *file_name(const struct source *source)
{
    const char *slash = strrchr(source->name, '/');

    return slash ? slash + 1 : strcmp(source->name, "-") == 0 ? "a spec" : source->name;
}

static const char *spec_name(const struct emit *e)
{
    return file_name(e->tree->spec->source);
}

/* With --line-numbers: where the module, or what a row of the layer table made it for, stands in a spec. Else "". */
static const char *spec_line(const struct emit *e, const struct module *module)
{
    while (module->loc.source && module->loc.source->name[0] == '<' && module->parent)
        module = module->parent;
    if (!e->cx->options->line_numbers || !module->loc.source)
        return "";
    return arena_format(&e->cx->arena, "   %s:%d", file_name(module->loc.source), module->loc.line);
}

static const char *shape_of(struct cx *cx, const struct value *value)
{
    return shape_text(&cx->arena, value->ndim, value->dims);
}

static const char *tensor_shape_text(struct cx *cx, const struct module_tensor *tensor)
{
    return shape_text(&cx->arena, tensor->ndim, tensor->shape);
}

/* POLICY_TRUNK_0; the root is POLICY_ROOT. */
static const char *module_constant(struct emit *e, const struct module *module)
{
    return arena_format(&e->cx->arena, "%s_%s", e->M, emitted_module(e->cx, module->path));
}

/* Whether it stands in emitted code, comments left out: those have the names of modules. */
static bool uses_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; *at; at++) {
        if (at[0] == '/' && at[1] == '*')
            at = strstr(at, "*/") + 1;
        if (at[0] != word[0] || strncmp(at, word, length) != 0)
            continue;

        bool before = at > text &&
                      (isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == '.' || at[-1] == '>');
        bool after = isalnum((unsigned char)at[length]) || at[length] == '_';

        if (!before && !after)
            return true;
    }
    return false;
}

/* ---- struct NAME_params ----------------------------------------------------------------------------------- */

static bool has_tensors(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (module->tensors[i]->key >= 0 && module->tensors[i]->kind != MODULE_STATE)
            return true;
    for (int i = 0; i < module->child_count; i++)
        if (has_tensors(module->children[i]))
            return true;
    return false;
}

/* Classes that a region is made of have named structs, so that functions can take them. */
static const char *struct_name(struct emit *e, const struct module *module)
{
    for (int i = 1; module->signature && module->parent && i < e->plan->group_count; i++)
        if (strcmp(e->plan->groups[i]->root->signature, module->signature) == 0)
            return arena_format(&e->cx->arena, "%s_%s", e->m, e->plan->groups[i]->name);
    return NULL;
}

/* One of an array, or a part of one: the struct's text stands for all of them. */
static bool is_element(const struct module *module)
{
    while (module && !module->array)
        module = module->parent;
    return module;
}

/* Whether backward makes gradients of it and others write it, so that struct MODEL_params is the type of gradients too. */
static bool is_trained(const struct emit *e, const struct module_tensor *tensor)
{
    return e->tree->spec->backward && tensor->kind == MODULE_PARAMETER;
}

static void print_members(struct emit *e, struct text *out, const struct module *module, int indent)
{
    for (int i = 0; i < module->tensor_count; i++) {
        const struct module_tensor *tensor = module->tensors[i];

        if (tensor->key < 0 || tensor->kind == MODULE_STATE)
            continue;
        text_printf(out, "%*s%s%s *%s; /* %s%s", indent, "",
                    tensor->written || is_trained(e, tensor) ? "" : "const ", dtype_rows[tensor->dtype].c,
                    spec_c_name(e->cx, tensor->name), tensor_shape_text(e->cx, tensor),
                    tensor->written_in_eval ? "; written by forward"
                    : tensor->written       ? "; written by forward in training mode"
                                            : "");
        if (tensor->first != tensor && !is_element(module))
            text_printf(out, "; always %s", tensor->first->path);
        text_add(out, " */\n");
    }
    for (int i = 0; i < module->child_count; i++) {
        const struct module *child = module->children[i];
        bool array = module_is_array(child), elements = module_is_array(module);
        const char *named;

        if (!has_tensors(child) || (elements && i > 0))
            continue;
        if (elements) { /* printed as the element type of the array by the parent */
            print_members(e, out, child, indent);
            return;
        }
        named = array ? struct_name(e, child->children[0]) : struct_name(e, child);
        if (named) {
            text_printf(out, "%*sstruct %s %s", indent, "", named, c_path(e->cx, child->name));
        } else {
            text_printf(out, "%*sstruct {\n", indent, "");
            print_members(e, out, child, indent + 4);
            text_printf(out, "%*s} %s", indent, "", c_path(e->cx, child->name));
        }
        if (array)
            text_printf(out, "[%d]", child->child_count);
        text_add(out, ";\n");
    }
}

static void print_params(struct emit *e, struct text *out)
{
    for (int i = 1; i < e->plan->group_count; i++) {
        const struct pack_group *group = e->plan->groups[i];

        if (!has_tensors(group->root))
            continue;
        text_printf(out, "/* %s */\nstruct %s_%s {\n", group->root->signature, e->m, group->name);
        print_members(e, out, group->root, 4);
        text_add(out, "};\n\n");
    }
    text_printf(
        out,
        "/* Nested as the module tree; in PyTorch's layout. `base` is the runtime's. */\nstruct %s_params {\n"
        "    struct modc_params base;\n",
        e->m);
    print_members(e, out, e->tree->root, 4);
    text_add(out, "};\n\n");
}

/* ---- signatures of entries -------------------------------------------------------------------------------- */

static const struct graph *entry_graph(const struct entry *entry)
{
    return entry->graphs[0][0];
}

/* Sizes that the entry takes: all of the model's, in order. */
static void print_sizes(struct emit *e, struct text *out)
{
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", int %s", e->tree->sizes[i].c_name);
}

static void print_arguments(struct emit *e, struct text *out, const struct graph *graph)
{
    print_sizes(e, out);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", const %s *%s", dtype_rows[graph->inputs[i]->dtype].c,
                    c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->result_count; i++)
        text_printf(out, ", %s *%s", dtype_rows[graph->outputs[i]->dtype].c, c_output(e->cx, graph, i));
}

static void pass_arguments(struct emit *e, struct text *out, const struct graph *graph)
{
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", %s", e->tree->sizes[i].c_name);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", %s", c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->result_count; i++)
        text_printf(out, ", %s", c_output(e->cx, graph, i));
}

static bool is_constant_input(const struct value *value)
{
    return value->op->code == GRAPH_OP_INPUT && value->op->input.constant;
}

/* Results whose gradients backward takes, and inputs whose gradients it gives. */
static bool has_gradient(const struct graph *graph, const struct value *value)
{
    return dtype_is_float(value->dtype) && !graph->loss && !is_constant_input(value);
}

/* Gradients that backward takes and gives; with `typed` as parameters, else as what is passed. body: only those that it
 * uses; NULL: all. */
static void add_gradients(struct emit *e, struct text *out, const struct graph *graph, bool typed,
                          const char *body)
{
    for (int i = 0; i < graph->result_count + graph->input_count; i++) {
        bool result = i < graph->result_count;
        const struct value *value = result ? graph->outputs[i] : graph->inputs[i - graph->result_count];
        const char *name = c_gradient(e->cx, graph, result ? graph->output_names[i] : value->name, result);

        if (!has_gradient(graph, value) || (body && !uses_word(body, name)))
            continue;
        text_add(out, ", ");
        if (typed)
            text_printf(out, "%s%s *", result ? "const " : "", dtype_rows[value->dtype].c);
        text_add(out, name);
    }
}

/* The function behind backward takes the inputs that forward noted too, and of all only what it uses. */
static void pass_second_arguments(struct emit *e, struct text *out, const struct variant *variant)
{
    const struct graph *graph = variant->graph;

    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", %s", e->tree->sizes[i].c_name);
    for (int i = 0; i < graph->input_count; i++)
        if (uses_word(variant->second, c_argument(e->cx, graph->inputs[i]->name)))
            text_printf(out, ", net->saved_inputs[%d]", i);
    add_gradients(e, out, graph, false, variant->second);
}

static void print_second_arguments(struct emit *e, struct text *out, const struct variant *variant)
{
    const struct graph *graph = variant->graph;

    print_sizes(e, out);
    for (int i = 0; i < graph->input_count; i++)
        if (uses_word(variant->second, c_argument(e->cx, graph->inputs[i]->name)))
            text_printf(out, ", const %s *%s", dtype_rows[graph->inputs[i]->dtype].c,
                        c_argument(e->cx, graph->inputs[i]->name));
    add_gradients(e, out, graph, true, variant->second);
}

static void print_backward_arguments(struct emit *e, struct text *out, const struct graph *graph)
{
    print_sizes(e, out);
    add_gradients(e, out, graph, true, NULL);
}

static bool saves(enum emitted_variant kind)
{
    return kind == EMITTED_SAVING || kind == EMITTED_SAVING_FENCED;
}

static const struct variant *entry_variant(const struct emit *e, const struct entry *entry, int training,
                                           enum emitted_variant kind)
{
    const struct graph *graph = (saves(kind) ? entry->saving : entry->graphs)[training][kind & 1];

    return graph ? plan_variant(e->plan, graph) : NULL;
}

/* POLICY_WORKSPACE_BYTES, POLICY_ACT_TRAIN_FENCED_WORKSPACE_BYTES */
static const char *workspace_constant(struct emit *e, const struct entry *entry, int training,
                                      enum emitted_variant kind)
{
    return arena_format(&e->cx->arena, "%s_%s", e->M, emitted_workspace(e->cx, entry->name, training, kind));
}

static int64_t at_least_one(const struct emit *e, int64_t bytes)
{
    return bytes > 0 ? bytes : e->plan->align;
}

static int64_t variant_bytes(const struct emit *e, const struct variant *variant)
{
    return at_least_one(e, e->plan->state_bytes + variant->peak);
}

static bool has_backward(const struct emit *e)
{
    return e->tree->spec->backward;
}

/* Whether gradients are kept, by functions that are called alone: `update: fused` has a step as a whole. */
static bool has_gradients(const struct emit *e)
{
    return has_backward(e) && !e->tree->spec->fused;
}

/* Whether it has all of `training:`. */
static bool has_optimizer(const struct emit *e)
{
    return e->tree->training != NULL;
}

static const struct entry *loss_entry(const struct emit *e)
{
    return &e->plan->program->entries[e->plan->program->entry_count - 1];
}

/* ---- header ----------------------------------------------------------------------------------------------- */

static void print_header_constants(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;

    for (int i = 0; i < tree->size_count; i++)
        text_printf(out, "#define %s_%s %lld\n", e->M, emitted_max(e->cx, NULL, tree->sizes[i].name),
                    (long long)tree->sizes[i].max);
    for (int i = 0; i < e->plan->program->entry_count; i++) {
        const struct entry *entry = &e->plan->program->entries[i];

        for (int s = 0; s < tree->size_count; s++)
            if (entry->sizes[s].max != tree->sizes[s].max)
                text_printf(out, "#define %s_%s %lld\n", e->M,
                            emitted_max(e->cx, entry->name, tree->sizes[s].name),
                            (long long)entry->sizes[s].max);
    }
    text_printf(out, "\n/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */\n");
    text_printf(out, "#define %s_PARAM_BYTES %lld /* parameters and buffers in PyTorch's layout */\n", e->M,
                (long long)at_least_one(e, e->plan->param_bytes));
    text_printf(out, "#define %s_PACKED_BYTES %lld /* what %s_pack makes of them for the kernels */\n", e->M,
                (long long)at_least_one(e, e->plan->groups[0]->bytes), e->m);
    if (e->weights)
        text_printf(
            out,
            "#define %s_EMBEDDED_BYTES %lld /* %s_weights.bin: in the program, instead of both blocks */\n",
            e->M, (long long)e->weights->length, e->m);
    if (has_backward(e))
        text_printf(out, "#define %s_GRADIENT_BYTES %lld /* %s */\n", e->M,
                    (long long)at_least_one(e, e->plan->gradient_block),
                    has_gradients(e) ? "of parameters that are trained, and which there are"
                                     : "which parameters are trained: their gradients are not kept");
    if (e->plan->state_bytes > 0)
        text_printf(out, "#define %s_STATE_BYTES %lld /* at the head of every workspace */\n", e->M,
                    (long long)e->plan->state_bytes);
    for (int i = 0; i < e->plan->program->entry_count; i++) {
        for (int v = 0; v < 2 * EMITTED_VARIANTS; v++) {
            const struct entry *entry = &e->plan->program->entries[i];
            const struct variant *variant = entry_variant(e, entry, v & 1, (enum emitted_variant)(v >> 1));

            if (variant)
                text_printf(out, "#define %s %lld%s\n",
                            workspace_constant(e, entry, v & 1, (enum emitted_variant)(v >> 1)),
                            (long long)variant_bytes(e, variant),
                            saves((enum emitted_variant)(v >> 1)) ? " /* forward and backward together */"
                                                                  : "");
        }
    }
    text_add(out, "\n");
}

/* Indices of modc_gradient_at. */
static void print_header_gradients(struct emit *e, struct text *out)
{
    if (e->plan->gradient_count == 0)
        return;
    text_printf(out, "/* Gradients of parameters, in the order of modc_%s. */\nenum {\n",
                has_gradients(e) ? "gradient_at" : "optimizer_update");
    for (int i = 0; i < e->plan->gradient_count; i++)
        text_printf(out, "    %s%s\n", e->plan->gradient_names[i],
                    i + 1 < e->plan->gradient_count ? "," : "");
    text_add(out, "};\n\n");
}

static void print_header_modules(struct emit *e, struct text *out)
{
    text_add(out, "/* Modules, for hooks and tables. */\nenum {\n");
    for (int i = 0; i < e->tree->module_count; i++)
        text_printf(out, "    %s,\n", module_constant(e, e->tree->modules[i]));
    text_printf(out, "    %s_MODULES\n};\n\n", e->M);
}

/* What needs an operating system. */
static void print_hosted_wrappers(struct emit *e, struct text *out)
{
    const char *m = e->m;

    text_printf(
        out,
        "/* In modc_host.c: */\n"
        "static inline enum modc_status %s_load(struct %s_params *params, const char *path, unsigned flags, "
        "struct modc_report *report)\n"
        "{\n    return modc_load(&params->base, path, flags, report);\n}\n\n",
        m, m);
    text_printf(out,
                "static inline enum modc_status %s_save(const struct %s_params *params, const char *path)\n"
                "{\n    return modc_save(&params->base, path);\n}\n\n",
                m, m);
    text_printf(
        out,
        "/* A context with a workspace of its own, by malloc (modc_host.c). */\n"
        "static inline enum modc_status %s_create(struct %s_params *params, struct %s **net)\n{\n"
        "    struct modc_context *base = NULL;\n"
        "    enum modc_status status = modc_create(&%s_model, &params->base, 0, &base);\n\n"
        "    *net = (struct %s *)(void *)base;\n    return status;\n}\n\n"
        "static inline void %s_destroy(struct %s *net)\n{\n    if (net)\n        modc_destroy(&net->base);\n}\n\n",
        m, m, m, m, m, m, m);
}

/* Where the spec has `training:`; block: gradients, then the optimiser's. */
static void print_optimizer_wrappers(struct emit *e, struct text *out)
{
    const char *m = e->m, *M = e->M;

    text_printf(
        out,
        "/* %sptimiser and schedule at their start, in training mode: see modc.h and modc_optim.h. block:\n"
        " * %s_TRAINING_BYTES. */\n"
        "static inline enum modc_status %s_training_init(struct %s_training *training, struct %s *net, "
        "void *block, size_t bytes)\n"
        "{\n    enum modc_status status = modc_training_init(&training->base, &net->base, block, bytes);\n\n"
        "    if (status != MODC_OK)\n        return status;\n    if (bytes < %s_TRAINING_BYTES)\n        return MODC_SIZE;\n"
        "    modc_train(&net->base, true);\n"
        "    return modc_optimizer_init(&training->optimizer.base, &%s_optimizer_table, &training->base, "
        "(char *)block + %s_GRADIENT_BYTES, bytes - %s_GRADIENT_BYTES, NULL, NULL);\n}\n\n",
        has_gradients(e) ? "Gradients, o" : "O", M, m, m, m, M, m, M, M);
    if (has_gradients(e))
        text_printf(
            out,
            "/* Behind backward: clips, updates the parameters whose gradients are there and packs them, or changes\n"
            " * nothing. */\n"
            "static inline enum modc_status %s_step(struct %s_training *training)\n"
            "{\n    return modc_optimizer_update(&training->optimizer.base);\n}\n\n",
            m, m);
    if (e->tree->training->schedule)
        text_printf(
            out,
            "/* scheduler.step(); metric is for ReduceLROnPlateau. */\n"
            "static inline enum modc_status %s_schedule_step(struct %s_training *training, double metric)\n"
            "{\n    return modc_schedule_step(&training->optimizer.base.scheduling, metric);\n}\n\n",
            m, m);
    text_printf(
        out,
        "/* The optimiser's state, as safetensors under PyTorch's names. */\n"
        "static inline enum modc_status %s_training_save_bytes(const struct %s_training *training, void *out, "
        "size_t capacity, size_t *length)\n"
        "{\n    return modc_optimizer_save_bytes(&training->optimizer.base, out, capacity, length);\n}\n\n",
        m, m);
    text_printf(
        out,
        "static inline enum modc_status %s_training_load_bytes(struct %s_training *training, const void *bytes, "
        "size_t length, const char **fault)\n"
        "{\n    return modc_optimizer_load_bytes(&training->optimizer.base, bytes, length, fault);\n}\n\n",
        m, m);
}

static void print_training_wrappers(struct emit *e, struct text *out)
{
    const char *m = e->m;

    if (has_optimizer(e))
        print_optimizer_wrappers(e, out);
    else
        text_printf(
            out,
            "/* Gradients: see modc.h. block: %s_GRADIENT_BYTES. */\n"
            "static inline enum modc_status %s_training_init(struct %s_training *training, struct %s *net, "
            "void *block, size_t bytes)\n"
            "{\n    return modc_training_init(&training->base, &net->base, block, bytes);\n}\n\n",
            e->M, m, m, m);
    text_printf(out,
                "static inline void %s_set_grad_enabled(struct %s *net, bool enabled)\n"
                "{\n    modc_set_grad_enabled(&net->base, enabled);\n}\n\n",
                m, m);
    if (has_gradients(e))
        text_printf(
            out,
            "static inline void %s_zero_grad(struct %s_training *training, bool set_to_none)\n"
            "{\n    modc_zero_grad(&training->base, set_to_none);\n}\n\n"
            "static inline enum modc_status %s_get_gradient(const struct %s_training *training, const char *key, "
            "const void **gradient)\n"
            "{\n    return modc_get_gradient(&training->base, key, gradient);\n}\n\n",
            m, m, m, m);
    text_printf(
        out,
        "/* Of a parameter, a module, or all (\"\"). */\n"
        "static inline enum modc_status %s_requires_grad_(struct %s_training *training, const char *name, "
        "bool requires_grad)\n"
        "{\n    return modc_requires_grad(&training->base, name, requires_grad);\n}\n\n",
        m, m);
}

/* The runtime's functions under the model's name. */
static void print_wrappers(struct emit *e, struct text *out)
{
    const char *m = e->m;

    text_printf(out, "/* Parameters: see modc.h for what each returns. */\n");
    text_printf(
        out,
        "static inline enum modc_status %s_bind(struct %s_params *params, void *block, size_t bytes)\n"
        "{\n    return modc_bind(&params->base, &%s_model, block, bytes);\n}\n\n",
        m, m, m);
    text_printf(out,
                "static inline enum modc_status %s_load_bytes(struct %s_params *params, const void *bytes, "
                "size_t length, unsigned flags, struct modc_report *report)\n"
                "{\n    return modc_load_bytes(&params->base, bytes, length, flags, report);\n}\n\n",
                m, m);
    text_printf(out,
                "static inline enum modc_status %s_save_bytes(const struct %s_params *params, void *out, "
                "size_t capacity, size_t *length)\n"
                "{\n    return modc_save_bytes(&params->base, out, capacity, length);\n}\n\n",
                m, m);
    text_printf(
        out,
        "static inline enum modc_status %s_pack(struct %s_params *params, void *block, size_t bytes)\n"
        "{\n    return modc_pack(&params->base, block, bytes);\n}\n\n",
        m, m);
    text_printf(out,
                "static inline enum modc_status %s_reset(struct %s_params *params, uint64_t seed)\n"
                "{\n    return modc_reset(&params->base, seed);\n}\n\n",
                m, m);
    text_printf(out,
                "static inline void %s_changed(struct %s_params *params)\n"
                "{\n    modc_changed(&params->base);\n}\n\n",
                m, m);
    text_printf(
        out,
        "/* Into the parameters of another dtype of the model (bound), or into others of this one. */\n"
        "static inline enum modc_status %s_to(const struct %s_params *params, struct modc_params *to)\n"
        "{\n    return modc_to(&params->base, to);\n}\n\n",
        m, m);
    text_printf(
        out,
        "/* Copies a parameter or buffer (\"trunk.0.weight\") out, in PyTorch's layout. */\n"
        "static inline enum modc_status %s_get(const struct %s_params *params, const char *key, void *out)\n{\n"
        "    int index;\n"
        "    enum modc_status status = modc_get_parameter(&%s_model, key, &index);\n\n"
        "    if (status != MODC_OK)\n        status = modc_get_buffer(&%s_model, key, &index);\n"
        "    return status == MODC_OK ? modc_get(&params->base, index, out) : status;\n}\n\n",
        m, m, m, m);
    for (int i = 0; i < 2; i++)
        text_printf(
            out,
            "static inline void %s_named_%s(struct modc_names *it, const char *prefix, bool recurse)\n{\n"
            "    modc_named_%s(it, &%s_model, 0, prefix, recurse, true);\n}\n\n",
            m, i ? "buffers" : "parameters", i ? "buffers" : "parameters", m);
    if (e->target->hosted)
        print_hosted_wrappers(e, out);
    text_printf(
        out,
        "/* Contexts. */\n"
        "static inline enum modc_status %s_init(struct %s *net, struct %s_params *params, void *workspace, "
        "size_t bytes)\n"
        "{\n    return modc_init(&net->base, &%s_model, &params->base, workspace, bytes);\n}\n\n",
        m, m, m, m);
    text_printf(
        out,
        "static inline void %s_train(struct %s *net, bool mode)\n{\n    modc_train(&net->base, mode);\n}\n\n",
        m, m);
    text_printf(out,
                "static inline void %s_eval(struct %s *net)\n{\n    modc_train(&net->base, false);\n}\n\n", m,
                m);
    text_printf(
        out,
        "static inline void %s_seed(struct %s *net, uint64_t seed)\n{\n    modc_seed(&net->base, seed);\n}\n\n",
        m, m);
    if (e->plan->state_bytes > 0)
        text_printf(
            out,
            "static inline void %s_reset_state(struct %s *net)\n{\n    modc_reset_state(&net->base);\n}\n\n",
            m, m);
    if (e->cx->options->dispatch)
        text_printf(
            out,
            "/* Instruction sets: what calls of this context run on (\"x86-64-v3\"), chosen by %s_init for the machine; and\n"
            " * another choice (NULL: that of %s_init). */\n"
            "static inline const char *%s_isa(const struct %s *net)\n{\n    return net->isa->name;\n}\n\n"
            "static inline enum modc_status %s_set_isa(struct %s *net, const char *name)\n"
            "{\n    return modc_set_isa(&net->base, name);\n}\n\n",
            m, m, m, m, m, m);
    if (has_backward(e))
        print_training_wrappers(e, out);
    if (e->tree->spec->hooks != SPEC_OFF) {
        text_printf(
            out,
            "/* Hooks: `hook` belongs to the caller, with `call` and `user` set; module is one of the constants above. */\n");
        for (int i = 0; i < (has_backward(e) ? 4 : 2); i++) {
            static const char *const kinds[] = {"forward", "forward_pre", "full_backward",
                                                "full_backward_pre"};

            text_printf(out,
                        "static inline enum modc_status %s_register_%s_hook(struct %s *net, int module, "
                        "struct modc_hook *hook, unsigned flags)\n"
                        "{\n    return modc_register_%s_hook(&net->base, module, hook, flags);\n}\n\n",
                        m, kinds[i], m, kinds[i]);
        }
    }
    if (e->tree->spec->hooks != SPEC_OFF)
        text_printf(
            out,
            "/* Hooks of all modules, shared by any number of contexts; NULL: none. */\n"
            "static inline enum modc_status %s_attach(struct %s *net, const struct modc_hook_set *set)\n"
            "{\n    return modc_attach(&net->base, set);\n}\n\n",
            m, m);
    if (e->plan->threads > 0)
        text_printf(
            out,
            "/* Threads: what calls run on (NULL: one thread), and how many threads of it. */\n"
            "static inline enum modc_status %s_set_executor(struct %s *net, const struct modc_executor *executor)\n"
            "{\n    return modc_set_executor(&net->base, executor);\n}\n\n"
            "static inline enum modc_status %s_set_threads(struct %s *net, int threads)\n"
            "{\n    return modc_set_threads(&net->base, threads);\n}\n\n",
            m, m, m, m);
    text_printf(
        out,
        "static inline void %s_print(void (*write)(void *user, const char *text, size_t length), void *user)\n"
        "{\n    modc_print(&%s_model, write, user);\n}\n\n",
        m, m);
}

/* policy_backward of the entry forward, policy_act_backward of act. */
static const char *backward_name(struct emit *e, const struct entry *entry)
{
    return strcmp(entry->name, "forward") == 0 ? "backward"
                                               : arena_format(&e->cx->arena, "%s_backward", entry->name);
}

/* What forward notes for backward. */
static const char *saved_members(struct emit *e)
{
    struct text out = text_new(&e->cx->arena);
    int inputs = 0;

    for (int i = 0; i < e->plan->program->entry_count; i++)
        if (e->plan->program->entries[i].input_count > inputs)
            inputs = e->plan->program->entries[i].input_count;
    if (!has_backward(e))
        return "";
    if (inputs > 0)
        text_printf(&out,
                    "    const void *saved_inputs[%d]; /* of the last call that keeps for backward */\n",
                    inputs);
    if (e->tree->size_count > 0)
        text_printf(&out, "    int saved_sizes[%d];\n", e->tree->size_count);
    return out.data;
}

static void print_backward_declaration(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);

    text_printf(
        out,
        "/* Behind %s_%s with the same sizes, whose inputs are still there: adds the gradients of the parameters that are\n"
        " * wanted%s. */\n",
        e->m, entry->name,
        graph->loss
            ? ""
            : ", from those of the results (NULL: zero), and gives those of the inputs (NULL: not wanted)");
    text_printf(out, "enum modc_status %s_%s(struct %s *net", e->m, backward_name(e, entry), e->m);
    print_backward_arguments(e, out, graph);
    text_add(out, ");\n\n");
}

static void print_step_declaration(struct emit *e, struct text *out)
{
    if (has_gradients(e))
        text_printf(
            out,
            "/* One step of training: the loss, its gradients, clipping and the step of the optimiser, as %s_loss,\n"
            " * %s_loss_backward and %s_step behind zeroed gradients. Inputs without elements are MODC_SIZE.\n"
            " * After an error neither parameters nor optimiser have changed. */\n",
            e->m, e->m, e->m);
    else
        text_add(
            out,
            "/* One step of training: the loss and its gradients, each of which updates its parameter as soon as it is complete and\n"
            " * is not kept. Inputs without elements are MODC_SIZE. After an error neither parameters nor optimiser have changed,\n"
            " * but for MODC_NONFINITE: then those parameters alone whose gradients are NaN or infinite have not. */\n");
    text_printf(out, "enum modc_status %s_train_step(struct %s_training *training", e->m, e->m);
    print_arguments(e, out, entry_graph(loss_entry(e)));
    text_add(out, ");\n\n");
}

static void print_header(struct emit *e, struct text *out)
{
    const char *m = e->m, *M = e->M;

    text_printf(
        out,
        "/* %s.h - written by modc from %s; change the spec, not this file. It is yours, under any terms.\n"
        " *\n",
        m, spec_name(e));
    if (target_sets_align(e->target))
        text_printf(out, " * For --target %s, %s%s.\n *\n", e->target->name, e->target->what,
                    e->target->hosted ? "" : ": nothing in it needs an operating system");
    text_printf(out, " *     struct %s_params params;\n *     struct %s net;\n", m, m);
    if (e->weights) {
        text_printf(out, " *     %s_bind_embedded(&params);\n", m);
    } else {
        text_printf(out, " *     %s_bind(&params, param_block, sizeof param_block);\n", m);
        if (e->target->hosted)
            text_printf(out, " *     %s_load(&params, \"%s.safetensors\", MODC_STRICT, &report);\n", m, m);
        else
            text_printf(out, " *     %s_load_bytes(&params, file, sizeof file, MODC_STRICT, NULL);\n", m);
        text_printf(out, " *     %s_pack(&params, packed_block, sizeof packed_block);\n", m);
    }
    text_printf(out, " *     %s_init(&net, &params, workspace, sizeof workspace);\n", m);
    if (e->plan->program->entry_count > 0) {
        const struct entry *entry = &e->plan->program->entries[0];
        struct text call = text_new(&e->cx->arena);

        pass_arguments(e, &call, entry_graph(entry));
        text_printf(out, " *     %s_%s(&net%s);\n", m, entry->name, call.data);
    }
    text_printf(out, " */\n#ifndef MODC_MODEL_%s_H\n#define MODC_MODEL_%s_H\n\n", M, M);
    if (target_sets_align(e->target))
        text_printf(out, "#ifndef MODC_ALIGN\n#define MODC_ALIGN %d\n#endif\n", e->target->align);
    text_printf(
        out,
        "#include \"%s\"%s\n\n#if MODC_ABI != 1\n#error \"%s.h was written for another modc runtime; run modc again\"\n#endif\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        has_optimizer(e) ? "modc_optim.h" : "modc.h", e->tree->rollout ? "\n#include \"modc_rollout.h\"" : "",
        m);
    print_header_constants(e, out);
    print_header_modules(e, out);
    print_header_gradients(e, out);
    print_params(e, out);
    text_printf(
        out,
        "/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */\nstruct %s {\n"
        "    struct modc_context base;\n%s%s%s};\n\n",
        m, e->plan->threads > 0 ? "    struct modc_threading threading;\n" : "",
        e->cx->options->dispatch ? "    const struct modc_isa *isa; /* what calls run on */\n" : "",
        saved_members(e));
    if (has_optimizer(e))
        emit_training_header(e->cx, out, e->plan);
    if (has_gradients(e))
        text_printf(
            out,
            "/* %s of a context's parameters, in the same struct as these; see %s_get_gradient. */\nstruct %s_training {\n"
            "    struct modc_training base;\n    struct %s_params gradients;\n",
            has_optimizer(e) ? "Gradients and optimiser" : "Gradients", m, m, m);
    else if (has_backward(e))
        text_printf(
            out,
            "/* The optimiser of a context's parameters. */\nstruct %s_training {\n    struct modc_training base;\n",
            m);
    if (has_optimizer(e))
        text_printf(out, "    struct %s_optimizer optimizer;\n", m);
    if (has_backward(e))
        text_add(out, "};\n\n");
    for (int i = 0; i < e->plan->program->entry_count; i++) {
        const struct entry *entry = &e->plan->program->entries[i];
        const struct graph *graph = entry_graph(entry);
        struct text line = text_new(&e->cx->arena);

        text_add(out, "/* ");
        for (int j = 0; j < graph->output_count; j++)
            text_printf(out, "%s%s %s %s", j ? ", " : "", c_output(e->cx, graph, j),
                        dtype_rows[graph->outputs[j]->dtype].name, shape_of(e->cx, graph->outputs[j]));
        text_add(out, " from");
        for (int j = 0; j < graph->input_count; j++)
            text_printf(out, "%s %s %s %s", j ? "," : "", graph->inputs[j]->name,
                        dtype_rows[graph->inputs[j]->dtype].name, shape_of(e->cx, graph->inputs[j]));
        text_add(out, " */\n");
        text_printf(&line, "enum modc_status %s_%s(struct %s *net", m, entry->name, m);
        print_arguments(e, &line, graph);
        text_add(&line, ");");
        text_printf(out, "%s\n", line.data);
        text_add(out, "\n");
        if (has_gradients(e))
            print_backward_declaration(e, out, entry);
    }
    if (has_optimizer(e))
        print_step_declaration(e, out);
    if (e->tree->rollout)
        emit_rollout_header(e->cx, out, (struct rollout_names){m, M}, e->tree->rollout);
    text_printf(
        out,
        "/* The model in tables: inputs, outputs, keys, modules, entries. */\nextern const struct modc_model %s_model;\n\n",
        m);
    if (e->weights)
        text_printf(out,
                    "/* Binds the weights that are embedded in the program; nothing is copied. */\n"
                    "enum modc_status %s_bind_embedded(struct %s_params *params);\n\n",
                    m, m);
    print_wrappers(e, out);
    text_add(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- constants, packed structs ---------------------------------------------------------------------------- */

/* An initializer: what is not finite by the names of math.h, which are constants. */
static void print_number(struct emit *e, struct text *out, enum dtype dtype, union scalar value)
{
    extern const char *expr_number(struct cx *, enum dtype, double, int64_t);

    if (dtype_is_float(dtype) && !isfinite(value.f)) {
        text_add(out, isnan(value.f) ? "NAN" : value.f > 0 ? "INFINITY" : "-INFINITY");
        return;
    }
    text_add(out, expr_number(e->cx, dtype, dtype_is_float(dtype) ? value.f : 0,
                              dtype_is_float(dtype) ? 0 : value.i));
}

static void print_array(struct emit *e, struct text *out, const char *name, const struct tensor *tensor)
{
    int64_t count = tensor_count(tensor);
    size_t start;

    text_printf(out, "static const %s %s[%lld] MODC_ALIGNED = {\n   %s", dtype_rows[tensor->dtype].c, name,
                (long long)(count > 0 ? count : 1), count > 0 ? "" : " 0");
    start = out->length - 3;
    for (int64_t i = 0; i < count; i++) {
        if (out->length - start > 96) {
            text_add(out, "\n   ");
            start = out->length - 3;
        }
        text_add(out, " ");
        print_number(e, out, tensor->dtype, tensor->data[i]);
        text_add(out, i + 1 < count ? "," : "");
    }
    text_add(out, "\n};\n\n");
}

/* A number of a table, as the spec has it. */
static void print_double(struct emit *e, struct text *out, double number)
{
    if (isfinite(number))
        text_double(out, number);
    else
        print_number(e, out, DTYPE_FLOAT64, (union scalar){.f = number});
}

/* Elements of an array that fills whole lines of plan->align bytes, so that a struct has one layout whatever MODC_ALIGN
 * is, up to that. */
static int64_t whole_lines(const struct emit *e, int64_t count, enum dtype dtype)
{
    int bytes = dtype_rows[dtype].bytes;

    return plan_aligned(e->plan, (count > 0 ? count : 1) * bytes) / bytes;
}

static const char *packed_struct(struct emit *e, const struct pack_group *group)
{
    return arena_format(&e->cx->arena, "%s_%s%spacked", e->m, group->name, group->name[0] ? "_" : "");
}

static void print_packed_structs(struct emit *e, struct text *out)
{
    for (int g = 1; g <= e->plan->group_count; g++) {
        const struct pack_group *group = e->plan->groups[g % e->plan->group_count]; /* the model's last */

        if (group->bytes == 0)
            continue;
        text_printf(out, "/* %s */\nstruct %s {\n",
                    group->name[0] ? group->root->signature : "What the kernels read",
                    packed_struct(e, group));
        for (int i = 0; i < group->entry_count; i++) {
            const struct packed *entry = group->entries[i];

            text_printf(out, "    MODC_ALIGNED %s %s[%lld]; /* %s */\n", dtype_rows[entry->dtype].c,
                        entry->name, (long long)whole_lines(e, entry->count, entry->dtype), entry->comment);
        }
        for (int i = 0; i < group->child_count; i++) {
            const struct pack_child *child = &group->children[i];

            if (child->group->bytes == 0)
                continue;
            text_printf(out, "    struct %s %s", packed_struct(e, child->group), child->member);
            if (child->count > 0)
                text_printf(out, "[%d]", child->count);
            text_add(out, ";\n");
        }
        text_add(out, "};\n\n");
    }
    if (e->plan->groups[0]->bytes > 0)
        text_printf(out, "typedef char %s_packed_fits[sizeof(struct %s) <= %s_PACKED_BYTES ? 1 : -1];\n\n",
                    e->m, packed_struct(e, e->plan->groups[0]), e->M);
    if (e->tree->state_count > 0) {
        text_printf(out, "struct %s_state {\n", e->m);
        for (int i = 0; i < e->tree->state_count; i++) {
            const struct module_tensor *tensor = e->tree->states[i];

            text_printf(out, "    MODC_ALIGNED %s %s[%lld]; /* %s */\n", dtype_rows[tensor->dtype].c,
                        emitted_flat(e->cx, tensor->path),
                        (long long)whole_lines(e, module_tensor_count(tensor), tensor->dtype),
                        tensor_shape_text(e->cx, tensor));
        }
        text_add(out, "};\n\n");
    }
}

static const char *group_params(struct emit *e, const struct pack_group *group)
{
    return group->name[0] ? arena_format(&e->cx->arena, "%s_%s", e->m, group->name)
                          : arena_format(&e->cx->arena, "%s_params", e->m);
}

static const char *module_path_c(struct emit *e, const struct module *root, const struct module *module)
{
    struct module_tensor probe = {.owner = (struct module *)module, .name = "x"};
    char *text = arena_string(&e->cx->arena, tensor_member(e->cx, root, &probe));

    text[strlen(text) - 2] = 0; /* without ".x" */
    return text;
}

static void print_pack_functions(struct emit *e, struct text *out)
{
    for (int g = 1; g <= e->plan->group_count; g++) {
        const struct pack_group *group = e->plan->groups[g % e->plan->group_count];

        struct text body = text_new(&e->cx->arena);

        if (group->bytes == 0)
            continue;
        for (int i = 0; i < group->entry_count; i++)
            text_add(&body, kernel_pack(e->cx, group->entries[i]));
        for (int i = 0; i < group->child_count; i++) {
            const struct pack_child *child = &group->children[i];

            if (child->group->bytes == 0)
                continue;
            if (child->count > 0) {
                const char *list = module_path_c(e, group->root, child->first->parent);

                text_printf(&body,
                            "    for (int i = 0; i < %d; i++)\n        pack_%s(&p->%s[i], &k->%s[i]);\n",
                            child->count, child->group->name, list, child->member);
            } else {
                text_printf(&body, "    pack_%s(&p->%s, &k->%s);\n", child->group->name,
                            module_path_c(e, group->root, child->first), child->member);
            }
        }
        if (group->name[0]) {
            text_printf(out, "static void pack_%s(const struct %s *p, struct %s *k)\n{\n", group->name,
                        group_params(e, group), packed_struct(e, group));
            if (!strstr(body.data, "p->"))
                text_add(out, "    (void)p; /* all of it is made of constants */\n");
        } else {
            text_printf(out, "static enum modc_status %s_pack_all(struct modc_params *params)\n{\n", e->m);
            if (strstr(body.data, "p->"))
                text_printf(
                    out, "    const struct %s_params *p = (const struct %s_params *)(const void *)params;\n",
                    e->m, e->m);
            text_printf(out, "    struct %s *k = params->packed;\n\n", packed_struct(e, group));
        }
        text_add(out, body.data);
        text_add(out, group->name[0] ? "}\n\n" : "    return MODC_OK;\n}\n\n");
    }
}

/* ---- functions of variants -------------------------------------------------------------------------------- */

/* A line of the spec computes something: a layer, whatever `add` put below it, but no container. */
static bool is_line(const struct module *module)
{
    for (int i = 0; i < module->child_count; i++)
        if (!module->children[i]->changed)
            return false;
    if (module->child_count > 0)
        return module->elementwise || (module->layer && module->layer->container == LAYER_PLAIN);
    return !module->spec_class || module->text[0];
}

/* The spec's words of the leaf modules whose calls have numbers from *next to before `until`. */
static void print_calls(struct emit *e, struct text *out, const struct graph *graph, int *next, int until)
{
    struct text lines = text_new(&e->cx->arena);
    int count = 0;

    for (; *next < until; (*next)++) {
        const struct module *module = graph->calls[*next]->module;
        const char *path = relative_path(graph->root, module->path);

        if (!is_line(module))
            continue;
        text_printf(&lines, "%s%s: %s%s", count ? "\n     * " : "", path, module->text, spec_line(e, module));
        count++;
    }
    if (count > 0)
        text_printf(out, "\n    /* %s */\n", lines.data);
    else if (out->length > 2 && out->data[out->length - 2] == ';')
        return;
}

/* The same in both calls. */
static const char *call_variable(struct emit *e, const struct variant *variant, const struct op *fence)
{
    const struct op *op = fence->fence.forward ? fence->fence.forward : fence;
    const struct module *module = op->fence.module;
    const char *flat = module->path[0] ? emitted_flat(e->cx, module->path) : "root";
    int before = 0;

    if (flat[0] == '_')
        flat = arena_format(&e->cx->arena, "m%s", flat);
    /* a module that is called twice */
    for (int s = 0; s < variant->step_count && variant->steps[s].op != op; s++) {
        const struct op *other = variant->steps[s].op;

        before += other->code == GRAPH_OP_FENCE && other->fence.module == module &&
                  other->fence.kind == op->fence.kind;
    }
    return before ? arena_format(&e->cx->arena, "%s_call%d", flat, before + 1) : flat;
}

/* The boundary of forward whose values a boundary has slots for. */
static const struct op *slots_of(const struct op *fence)
{
    return fence->fence.forward ? fence->fence.forward : fence;
}

static int slot_count(const struct op *fence)
{
    return slots_of(fence)->input_count - slots_of(fence)->fence.seen;
}

/* Which of the boundary's values stands in a slot; -1: a gradient that there is not. */
static int value_in_slot(const struct op *fence, int slot)
{
    if (!fence->fence.forward)
        return fence->fence.seen + slot;
    for (int i = fence->fence.seen; i < fence->input_count; i++)
        if (fence->fence.slots[i - fence->fence.seen] == slot)
            return i;
    return -1;
}

static void print_slots(struct emit *e, struct text *out, const struct variant *variant, const struct op *op,
                        const char *array)
{
    text_printf(out, "    struct modc_tensor %s[%d] = {\n", array, slot_count(op));
    for (int i = 0; i < slot_count(op); i++) {
        const struct value *like = slots_of(op)->inputs[slots_of(op)->fence.seen + i];
        int at = value_in_slot(op, i);

        text_printf(out, "        {%s, %s, %d, {",
                    at < 0 ? "NULL" : value_pointer(e->cx, variant, op->inputs[at]),
                    dtype_rows[like->dtype].modc, like->ndim);
        for (int d = 0; d < like->ndim; d++)
            text_printf(out, "%s%s", d ? ", " : "", dim_c_text(e->cx, like->dims[d], false));
        text_printf(out, "%s}},\n", like->ndim == 0 ? "0" : "");
    }
    text_add(out, "    };\n");
}

/* Whether emitted code reads it: forward hooks get a module's inputs from where its pre-hooks left them. */
static bool is_used(const struct variant *variant, const struct value *value)
{
    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;

        for (int j = op->code == GRAPH_OP_FENCE ? op->fence.seen : 0; j < op->input_count; j++)
            if (op->inputs[j]->base == value)
                return true;
    }
    for (int i = 0; i < variant->graph->output_count; i++)
        if (variant->graph->outputs[i]->base == value)
            return true;
    return false;
}

static void print_fence(struct emit *e, struct text *out, const struct variant *variant, const struct op *op)
{
    static const struct {
        const char *hooks, *slots, *call;
        bool begins, backward;
    } kinds[] = {
        [FENCE_FORWARD_PRE] = {"forward pre-hooks", "in", "modc_call_begin", true, false},
        [FENCE_FORWARD] = {"forward hooks", "out", "modc_call_end", false, false},
        [FENCE_BACKWARD_PRE] = {"full backward pre-hooks", "dout", "modc_backward_call_begin", true, true},
        [FENCE_BACKWARD] = {"full backward hooks", "din", "modc_backward_call_end", false, true},
    };
    const enum fence_kind kind = op->fence.kind;
    const char *call = call_variable(e, variant, op);
    const char *array = slot_count(op) > 0
                            ? arena_format(&e->cx->arena, "%s_%s_slots", call, kinds[kind].slots)
                            : "NULL";

    text_printf(out, "\n    /* %s of %s%s */\n", kinds[kind].hooks,
                op->fence.module->path[0] ? op->fence.module->path : "the model",
                spec_line(e, op->fence.module));
    if (slot_count(op) > 0)
        print_slots(e, out, variant, op, array);
    if (kinds[kind].begins)
        text_printf(out, "    struct modc_call %s_call;\n", call);
    text_printf(out, "    status = %s(&net->base, &%s_call, %s%s%s, %d);\n", kinds[kind].call, call,
                kinds[kind].begins ? module_constant(e, op->fence.module) : "",
                kinds[kind].begins ? ", " : "", array, slot_count(op));
    text_printf(out, "    if (status != MODC_OK)\n        return %s(&net->base, status);\n",
                kinds[kind].backward ? "modc_backward_failed" : "modc_call_failed");
    for (int i = 0; i < slot_count(op); i++) {
        const int at = value_in_slot(op, i);
        const struct value *value = at < 0 ? NULL : op->outputs[at];
        const struct place *place = value ? &variant->places[value->id] : NULL;

        if (value && is_used(variant, value))
            text_printf(out, "    %s *const %s = %s[%d].data;\n", dtype_rows[value->dtype].c, place->name,
                        array, i);
        if (value && place->index >= 0)
            text_printf(out, "    kept_slots[%d] = %s;\n", place->index, place->name);
    }
}

/* Of the elements of an input, by modc_check_index and its like. */
static void print_check(struct emit *e, struct text *out, const struct variant *variant, const struct op *op,
                        bool backward)
{
    static const char *const names[] = {
        [CHECK_INDEX] = "index", [CHECK_DIVISOR] = "divisor", [CHECK_TRUE] = "true"};
    const struct value *value = op->inputs[0];
    const char *extent = dim_c_text(e->cx, op->check.extent, true);

    text_printf(out, "    status = modc_check_%s(&net->base, %s, %s, %s, %s", names[op->check.kind],
                op->call ? module_constant(e, op->call->module) : module_constant(e, e->tree->root),
                value_pointer(e->cx, variant, value), dtype_rows[value->dtype].modc,
                dim_c_text(e->cx, dims_count(&e->cx->arena, value), false));
    if (op->check.kind == CHECK_INDEX)
        text_printf(out, ", %s%s, %s", op->check.negative ? "-" : "", op->check.negative ? extent : "0",
                    extent);
    text_printf(out, ");\n    if (status != MODC_OK)\n        return %s;\n",
                !variant->graph->fenced ? "status"
                : backward              ? "modc_backward_failed(&net->base, status)"
                                        : "modc_call_failed(&net->base, status)");
}

static void print_region_call(struct emit *e, struct text *out, const struct variant *variant,
                              const struct step *step)
{
    const struct op *op = step->op;
    const struct variant *region = plan_variant(e->plan, op->invoke.region->graph);
    const struct module *instance = op->invoke.instance;
    const char *params = module_path_c(e, variant->graph->root, instance);
    struct text rest = text_new(&e->cx->arena);
    const char *function = region->same ? region->same->function : region->function;
    const char *group_member = NULL;
    bool packed = region->group->bytes > 0, has = has_tensors(region->group->root);
    const char *y = value_pointer(e->cx, variant, op->outputs[0]), *index = "";

    for (int i = 0; i < variant->group->child_count; i++)
        if (variant->group->children[i].group == region->group &&
            (instance->array ? variant->group->children[i].first->parent == instance->parent
                             : variant->group->children[i].first == instance))
            group_member = variant->group->children[i].member;
    if (region->peak > 0)
        text_printf(&rest, ", ws + %lld", (long long)(step->region_offset));
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(&rest, ", %s", e->tree->sizes[i].c_name);

    if (op->invoke.count == 1) {
        text_printf(out, "    %s(", function);
        if (has)
            text_printf(out, "&p->%s, ", params);
        if (packed)
            text_printf(out, "&k->%s%s, ", group_member,
                        instance->array ? arena_format(&e->cx->arena, "[%s]", instance->name) : index);
        text_printf(out, "net%s", rest.data);
        for (int i = 0; i < op->input_count; i++)
            text_printf(out, ", %s", value_pointer(e->cx, variant, op->inputs[i]));
        for (int i = 0; i < op->output_count; i++)
            text_printf(out, ", %s", value_pointer(e->cx, variant, op->outputs[i]));
        text_add(out, ");\n");
        return;
    }

    /* a loop over the array: two buffers by turns, the last of which is the result */
    const char *type = dtype_rows[op->outputs[0]->dtype].c;
    const char *list = module_path_c(e, variant->graph->root, instance->parent);
    int start = (int)strtol(instance->name, NULL, 10);
    const char *number = start ? arena_format(&e->cx->arena, "%d + i", start) : "i";

    text_printf(
        out,
        "    {\n        %s *const buffers[2] = {(%s *)(void *)(ws + %lld), %s}; /* by turns; the last is the result */\n"
        "        const %s *in = %s;\n\n",
        type, type, (long long)step->scratch_offset, y, type, value_pointer(e->cx, variant, op->inputs[0]));
    text_printf(out, "        for (int i = 0; i < %d; i++) {\n            %s *out = buffers[%si %% 2];\n\n",
                op->invoke.count, type, op->invoke.count % 2 ? "1 - " : "");
    text_printf(out, "            %s(", function);
    if (has)
        text_printf(out, "&p->%s[%s], ", list, number);
    if (packed)
        text_printf(out, "&k->%s[%s], ", group_member, number);
    text_printf(out, "net%s, in", rest.data);
    for (int i = 1; i < op->input_count; i++)
        text_printf(out, ", %s", value_pointer(e->cx, variant, op->inputs[i]));
    text_add(out, ", out);\n            in = out;\n        }\n    }\n");
}

static void print_kept(struct text *out, const struct variant *variant)
{
    text_printf(
        out,
        "    void **const kept_slots = (void **)(void *)(ws + %lld); /* what hooks gave, for backward */\n",
        (long long)variant->kept_offset);
}

/* body: of one of two calls, the first or backward, which declares what it uses; or NULL. */
static void print_locals(struct emit *e, struct text *out, const struct variant *variant, const char *body,
                         bool backward)
{
    int kept = 0;

    if (body && uses_word(body, "zeros"))
        text_printf(out, "    char *const zeros = ws + %lld;\n", (long long)variant->zeros_offset);
    if (body && !backward && uses_word(body, "kept_slots"))
        print_kept(out, variant);
    for (int i = 0; i < variant->shadow_count; i++) {
        const struct module_tensor *tensor = variant->shadows[i];

        if (body &&
            !uses_word(body, arena_format(&e->cx->arena, "%s_shadow", emitted_flat(e->cx, tensor->path))))
            continue;
        text_printf(out, "    %s *const %s_shadow = (%s *)(void *)(ws + %lld); /* committed at the end */\n",
                    dtype_rows[tensor->dtype].c, emitted_flat(e->cx, tensor->path),
                    dtype_rows[tensor->dtype].c, (long long)variant->shadow_offsets[i]);
    }
    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;

        for (int j = 0; j < op->output_count; j++) {
            const struct value *value = op->outputs[j]->base;
            const struct place *place = &variant->places[value->id];
            bool first = place->kind == PLACE_WORKSPACE && place->first == s;

            for (int i = 0; i < j; i++)
                first &= op->outputs[i]->base != value;
            if (backward && place->kind == PLACE_FENCE && place->index >= 0 && uses_word(body, place->name)) {
                if (kept++ == 0)
                    print_kept(out, variant);
                text_printf(out, "    const %s *const %s = kept_slots[%d]; /* %s */\n",
                            dtype_rows[value->dtype].c, place->name, place->index, shape_of(e->cx, value));
            }
            if (!first || (body && !uses_word(body, place->name)))
                continue;
            text_printf(out, "    %s *const %s = (%s *)(void *)(ws + %lld); /* %s */\n",
                        dtype_rows[value->dtype].c, place->name, dtype_rows[value->dtype].c,
                        (long long)place->offset, shape_of(e->cx, value));
        }
    }
}

static const char *shadow_source(struct emit *e, const struct module_tensor *tensor)
{
    if (tensor->kind == MODULE_STATE)
        return arena_format(&e->cx->arena, "s->%s", emitted_flat(e->cx, tensor->path));
    return arena_format(&e->cx->arena, "p->%s", tensor_member(e->cx, e->tree->root, tensor));
}

static void print_shadows(struct emit *e, struct text *out, const struct variant *variant, bool commit)
{
    for (int i = 0; i < variant->shadow_count; i++) {
        const struct module_tensor *tensor = variant->shadows[i];
        const char *shadow = arena_format(&e->cx->arena, "%s_shadow", emitted_flat(e->cx, tensor->path));
        const char *source = shadow_source(e, tensor);

        text_printf(out, "    memcpy(%s, %s, %lld);\n", commit ? source : shadow, commit ? shadow : source,
                    (long long)(module_tensor_count(tensor) * dtype_rows[tensor->dtype].bytes));
    }
}

/* What stands before the spec's line in comments of the second call. */
static void print_backward_comment(struct emit *e, struct text *out, const struct variant *variant,
                                   const struct module_call *call)
{
    const struct module *module = call->module;

    while (call->outer && !is_line(module)) {
        call = call->outer;
        module = call->module;
    }
    if (is_line(module) && module->path[0])
        text_printf(out, "\n    /* %s: %s, backward%s */\n",
                    relative_path(variant->graph->root, module->path), module->text, spec_line(e, module));
}

/* The lines four columns further right. */
static void print_indented(struct text *out, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");

        if (length > 0)
            text_printf(out, "    %.*s", (int)length, lines);
        text_add(out, "\n");
        lines += length + (lines[length] == '\n');
    }
}

/* Under which condition the gradient, output `index` of the graph, is computed. */
static const char *guard_text(struct emit *e, const struct variant *variant, int index)
{
    const struct place *place = &variant->places[variant->graph->outputs[index]->base->id];

    if (place->kind == PLACE_GRADIENT || place->kind == PLACE_TENSOR)
        return arena_format(&e->cx->arena, "training->base.wants[%s]", place->name);
    return place->name;
}

/* Gradients of results that the caller leaves out are zero. */
static void print_zeros(struct emit *e, struct text *out, const struct variant *variant)
{
    const struct op *op = variant->steps[variant->yield].op;
    struct text any = text_new(&e->cx->arena), each = text_new(&e->cx->arena);

    for (int j = 0; j < op->output_count; j++) {
        const struct place *place = &variant->places[op->outputs[j]->id];
        const char *type = dtype_rows[op->outputs[j]->dtype].c;

        text_printf(&any, "%s!%s", j ? " || " : "", place->name);
        text_printf(&each, "    if (!%s)\n        %s = (const %s *)(const void *)zeros;\n", place->name,
                    place->name, type);
    }
    text_printf(out, "    if (%s)\n        memset(zeros, 0, %lld);\n%s", any.data,
                (long long)variant->zeros_bytes, each.data);
}

/* Which gradients of parameters there are now: `list` and what ends the call. */
static void print_given(struct emit *e, struct text *list, struct text *end, const struct variant *variant)
{
    const struct graph *graph = variant->graph;
    int count = 0;

    for (int g = 0; g < e->plan->gradient_count; g++)
        for (int i = graph->result_count; i < graph->output_count; i++)
            if (variant->places[graph->outputs[i]->base->id].kind == PLACE_GRADIENT &&
                variant->places[graph->outputs[i]->base->id].index == g)
                text_printf(list, "%s%s", count++ ? ", " : "    static const int given[] = {",
                            e->plan->gradient_names[g]);
    if (count > 0)
        text_add(list, "};\n");
    text_printf(end, "\n    modc_backward_end(&net->base, %s, %d);\n", count > 0 ? "given" : "NULL", count);
}

/* What one condition is for. A statement alone needs no braces. */
static void print_guarded(struct text *out, const char *indent, const char *condition, const char *statements)
{
    bool single = strchr(statements, '\n') == statements + strlen(statements) - 1;

    text_printf(out, "%sif (%s)%s\n", indent, condition, single ? "" : " {");
    print_indented(out, statements);
    if (!single)
        text_printf(out, "%s}\n", indent);
}

static void print_update(struct emit *e, struct text *out, const struct variant *variant, const struct op *op)
{
    text_printf(out, "    modc_optimizer_apply(optimizer, %s, %s);\n",
                variant->places[op->outputs[0]->id].name, value_pointer(e->cx, variant, op->inputs[0]));
}

/* The steps of the second call. */
static void print_backward_steps(struct emit *e, struct text *body, const struct variant *variant)
{
    const struct module_call *last = NULL;

    if (variant->zeros_bytes > 0)
        print_zeros(e, body, variant);
    for (int s = variant->yield + 1, next; s < variant->step_count; s = next) {
        int guard = variant->guards[s];
        struct text steps = text_new(&e->cx->arena);

        for (next = s; next < variant->step_count && variant->guards[next] == guard; next++) {
            const struct op *op = variant->steps[next].op;
            bool fence = op->code == GRAPH_OP_FENCE;

            if (op->call && op->call != last && next > s && !fence)
                break;
            if (op->call && op->call != last && !fence)
                print_backward_comment(e, body, variant, op->call);
            last = op->call && !fence ? op->call : last;
            if (op->code == GRAPH_OP_CHECK)
                print_check(e, &steps, variant, op, true);
            else if (fence)
                print_fence(e, &steps, variant, op);
            else if (op->code == GRAPH_OP_UPDATE)
                print_update(e, &steps, variant, op);
            else
                text_add(&steps, kernel_step(e->cx, variant, &variant->steps[next]));
        }
        if (guard >= 0)
            print_guarded(body, "    ", guard_text(e, variant, guard), steps.data);
        else
            text_add(body, steps.data);
    }
}

/* The steps of a call, or of the first of two. */
static void print_steps(struct emit *e, struct text *body, const struct variant *variant)
{
    const struct graph *graph = variant->graph;
    int next = 0, end = variant->yield >= 0 ? variant->yield : variant->step_count;

    print_shadows(e, body, variant, false);
    for (int s = 0; s < end; s++) {
        const struct step *step = &variant->steps[s];
        int until = graph->call_count;

        for (int t = s + 1; t < end && !graph->fenced; t++) {
            if (variant->steps[t].op->call) {
                until = variant->steps[t].op->call->index;
                break;
            }
        }
        if (step->op->call && until <= step->op->call->index)
            until = step->op->call->index + 1;
        if (step->op->code == GRAPH_OP_CALL &&
            until < graph->call_count) /* what follows an instance is not its own */
            until = step->op->call->index + 1;
        if (step->op->code == GRAPH_OP_FENCE) {
            print_fence(e, body, variant, step->op);
            continue;
        }
        if (!graph->fenced)
            print_calls(e, body, graph, &next, until);
        if (step->op->code == GRAPH_OP_CALL)
            print_region_call(e, body, variant, step);
        else if (step->op->code == GRAPH_OP_CHECK)
            print_check(e, body, variant, step->op, false);
        else
            text_add(body, kernel_step(e->cx, variant, step));
    }
    if (variant->shadow_count > 0) {
        text_add(body, "\n");
        print_shadows(e, body, variant, true);
    }
}

/* Whether a check of the call may end it. */
static bool fails(const struct variant *variant, bool backward)
{
    if (variant->yield < 0)
        return variant->fails;
    for (int s = backward ? variant->yield : 0; s < (backward ? variant->step_count : variant->yield); s++)
        if (variant->steps[s].op->code == GRAPH_OP_CHECK || variant->steps[s].op->code == GRAPH_OP_FENCE)
            return true;
    return false;
}

/* The body; what it declares depends on what it uses. */
static const char *function_body(struct emit *e, const struct variant *variant, bool backward)
{
    const struct graph *graph = variant->graph;
    struct text body = text_new(&e->cx->arena), out = text_new(&e->cx->arena),
                locals = text_new(&e->cx->arena);
    struct text given = text_new(&e->cx->arena);
    bool region = graph->region != NULL;

    if (backward) {
        print_backward_steps(e, &body, variant);
        print_given(e, &given, &body, variant);
    } else {
        print_steps(e, &body, variant);
    }
    print_locals(e, &locals, variant, variant->yield >= 0 ? body.data : NULL, backward);
    if (!region && uses_word(body.data, "p"))
        text_printf(
            &out,
            "    const struct %s_params *p = (const struct %s_params *)(const void *)net->base.params;\n",
            e->m, e->m);
    if (!region && uses_word(body.data, "k"))
        text_printf(&out, "    const struct %s *k = net->base.params->packed;\n",
                    packed_struct(e, variant->group));
    if (uses_word(body.data, "optimizer"))
        text_printf(&out,
                    "    struct %s_training *training = (struct %s_training *)(void *)net->base.trainer;\n"
                    "    struct modc_optimizer *optimizer = &training->optimizer.base;\n",
                    e->m, e->m);
    else if (uses_word(body.data, "training") || uses_word(body.data, "gradients"))
        text_printf(
            &out,
            "    const struct %s_training *training = (const struct %s_training *)(const void *)net->base.trainer;\n",
            e->m, e->m);
    if (uses_word(body.data, "gradients"))
        text_printf(&out, "    const struct %s_params *gradients = &training->gradients;\n", e->m);
    if (uses_word(body.data, "s"))
        text_printf(&out, "    struct %s_state *s = (struct %s_state *)(void *)net->base.workspace;\n", e->m,
                    e->m);
    if (!region && (locals.length > 0 || uses_word(body.data, "ws"))) {
        if (e->plan->state_bytes > 0)
            text_printf(&out, "    char *const ws = net->base.workspace + %s_STATE_BYTES;\n", e->M);
        else
            text_add(&out, "    char *const ws = net->base.workspace;\n");
    }
    text_add(&out, locals.data);
    text_add(&out, given.data);
    if (fails(variant, backward))
        text_add(&out, "    enum modc_status status;\n");
    if (out.length > 0 && body.length > 0 && body.data[0] != '\n')
        text_add(&out, "\n");
    text_add(&out, body.data);
    return out.data;
}

static void print_region(struct emit *e, struct text *out, struct variant *variant)
{
    const struct graph *graph = variant->graph;
    const char *body = variant->body = function_body(e, variant, false);
    struct text head = text_new(&e->cx->arena);

    for (int i = 0; i < e->plan->variant_count; i++) { /* equal functions are printed once */
        struct variant *other = e->plan->variants[i];

        if (other == variant)
            break;
        if (other->graph->region && !other->same && other->group == variant->group &&
            other->peak == variant->peak && strcmp(other->body, body) == 0) {
            variant->same = other;
            return;
        }
    }
    text_printf(out, "/* %s: %s from %s%s */\n", graph->root->signature, shape_of(e->cx, graph->outputs[0]),
                graph->input_count > 0 ? shape_of(e->cx, graph->inputs[0]) : "nothing",
                spec_line(e, graph->root));
    text_printf(&head, "static void %s(", variant->function);
    if (has_tensors(variant->group->root))
        text_printf(&head, "const struct %s *p, ", group_params(e, variant->group));
    if (variant->group->bytes > 0)
        text_printf(&head, "const struct %s *k, ", packed_struct(e, variant->group));
    text_printf(&head, "struct %s *net", e->m);
    if (variant->peak > 0)
        text_add(&head, ", char *ws");
    print_sizes(e, &head);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(&head, ", const %s *%s", dtype_rows[graph->inputs[i]->dtype].c,
                    variant->places[graph->inputs[i]->id].name);
    for (int i = 0; i < graph->output_count; i++)
        text_printf(&head, ", %s *%s", dtype_rows[graph->outputs[i]->dtype].c,
                    graph->output_count == 1 ? "y" : arena_format(&e->cx->arena, "y%d", i));
    text_add(&head, ")");
    text_printf(out, "%s\n", head.data);
    text_add(out, "{\n");
    if (has_tensors(variant->group->root) && !uses_word(body, "p"))
        text_add(out, "    (void)p;\n");
    if (variant->group->bytes > 0 && !uses_word(body, "k"))
        text_add(out, "    (void)k;\n");
    if (!uses_word(body, "net"))
        text_add(out, "    (void)net;\n");
    for (int i = 0; i < e->tree->size_count; i++)
        if (!uses_word(body, e->tree->sizes[i].c_name))
            text_printf(out, "    (void)%s;\n", e->tree->sizes[i].c_name);
    text_printf(out, "%s}\n\n", body);
}

/* One function of a variant: that of its body, or of the second call's. */
static void print_function(struct emit *e, struct text *out, const struct variant *variant, const char *name,
                           const char *body, bool backward)
{
    const struct graph *graph = variant->graph;
    struct text head = text_new(&e->cx->arena);

    text_printf(&head, "static %s %s_%s(struct %s *net",
                fails(variant, backward) ? "enum modc_status" : "void", e->m, name, e->m);
    if (backward)
        print_second_arguments(e, &head, variant);
    else
        print_arguments(e, &head, graph);
    text_add(&head, ")");
    text_printf(out, "%s\n{\n", head.data);
    if (!uses_word(body, "net"))
        text_add(out, "    (void)net;\n");
    for (int i = 0; i < e->tree->size_count; i++)
        if (!uses_word(body, e->tree->sizes[i].c_name))
            text_printf(out, "    (void)%s;\n", e->tree->sizes[i].c_name);
    for (int i = 0; i < graph->input_count && !backward; i++)
        if (!uses_word(body, c_argument(e->cx, graph->inputs[i]->name)))
            text_printf(out, "    (void)%s;\n", c_argument(e->cx, graph->inputs[i]->name));
    text_printf(out, "%s%s}\n\n", body, fails(variant, backward) ? "    return MODC_OK;\n" : "");
}

/* forward_eval_saving -> forward_eval_backward, forward_eval_saving_fenced -> forward_eval_backward_fenced */
static const char *backward_function(struct emit *e, const struct variant *variant)
{
    const char *fenced = variant->graph->fenced ? "_fenced" : "";
    size_t length = strlen(variant->function) - strlen("saving") - strlen(fenced);

    return arena_format(&e->cx->arena, "%.*sbackward%s", (int)length, variant->function, fenced);
}

static void print_variant(struct emit *e, struct text *out, struct variant *variant)
{
    variant->body = function_body(e, variant, false);
    variant->second = variant->yield >= 0 ? function_body(e, variant, true) : "";
    for (int i = 0; i < e->plan->variant_count; i++) {
        struct variant *other = e->plan->variants[i];

        if (other == variant)
            break;
        if (other->entry == variant->entry && !other->same && strcmp(other->body, variant->body) == 0 &&
            strcmp(other->second, variant->second) == 0) {
            variant->same = other;
            return;
        }
    }
    print_function(e, out, variant, variant->function, variant->body, false);
    if (variant->yield >= 0)
        print_function(e, out, variant, backward_function(e, variant), variant->second, true);
}

/* ---- instruction sets ------------------------------------------------------------------------------------- */

/* The variants of entries, each once: what generate --dispatch compiles for several instruction sets. */
static void print_code(struct emit *e, struct text *out)
{
    struct text members = text_new(&e->cx->arena), values = text_new(&e->cx->arena);

    for (int i = 0; i < e->plan->variant_count; i++) {
        const struct variant *variant = e->plan->variants[i];

        if (variant->graph->region || variant->same)
            continue;
        text_printf(&members, "    %s (*%s)(struct %s *net",
                    fails(variant, false) ? "enum modc_status" : "void", variant->function, e->m);
        print_arguments(e, &members, variant->graph);
        text_add(&members, ");\n");
        text_printf(&values, "    .%s = %s_%s,\n", variant->function, e->m, variant->function);
        if (variant->yield < 0)
            continue;
        text_printf(&members, "    %s (*%s)(struct %s *net",
                    fails(variant, true) ? "enum modc_status" : "void", backward_function(e, variant), e->m);
        print_second_arguments(e, &members, variant);
        text_add(&members, ");\n");
        text_printf(&values, "    .%s = %s_%s,\n", backward_function(e, variant), e->m,
                    backward_function(e, variant));
    }
    text_printf(
        out,
        "/* What contexts call that run on the instruction set that this was compiled for. */\nstruct %s_code {\n%s};\n\n"
        "MODC_HIDDEN const struct %s_code MODC_CODE = {\n%s};\n\n",
        e->m, members.data, e->m, values.data);
}

/* What there is once, in front of all else: the choice of each context. */
static void print_choice(struct emit *e, struct text *out)
{
    text_add(out, "#ifdef MODC_X86_64\n");
    for (int i = 0; i < ISA_ROWS; i++)
        text_printf(out, "MODC_HIDDEN extern const struct %s_code %s_code_%s;\n", e->m, e->m,
                    isa_rows[i].suffix);
    text_add(
        out,
        "#endif\n\nstatic const struct modc_isa isas_table[] = { /* the best one first */\n#ifdef MODC_X86_64\n");
    for (int i = ISA_ROWS - 1; i >= 0; i--)
        text_printf(out, "    {\"%s\", modc_has_%s, &%s_code_%s},\n", isa_rows[i].name, isa_rows[i].suffix,
                    e->m, isa_rows[i].suffix);
    text_printf(
        out,
        "#endif\n    {MODC_ISA, NULL, &%s_code},\n};\n\n"
        "static const struct modc_dispatch dispatch_table = {sizeof isas_table / sizeof *isas_table, isas_table,\n"
        "                                                    offsetof(struct %s, isa)};\n\n"
        "static const struct %s_code *%s_code_of(const struct %s *net)\n{\n    return net->isa->code;\n}\n\n",
        e->m, e->m, e->m, e->m, e->m);
}

/* ---- entries ---------------------------------------------------------------------------------------------- */

static void print_call_of(struct emit *e, struct text *out, const struct variant *variant, bool backward,
                          const char *indent)
{
    const struct variant *shown = variant->same ? variant->same : variant;
    struct text call = text_new(&e->cx->arena);

    if (backward)
        pass_second_arguments(e, &call, shown);
    else
        pass_arguments(e, &call, variant->graph);
    if (e->tree->spec->flushes)
        text_printf(out, "%sfloat_mode = modc_flush_denormals();\n", indent);
    text_printf(out, "%s%s", indent, fails(variant, backward) ? "status = " : "");
    text_printf(out, e->cx->options->dispatch ? "%s_code_of(net)->" : "%s_", e->m);
    text_printf(out, "%s(net%s);\n", backward ? backward_function(e, shown) : shown->function, call.data);
    if (e->tree->spec->flushes)
        text_printf(out, "%smodc_set_float_mode(float_mode);\n", indent);
}

static bool draws(const struct variant *variant)
{
    for (int s = 0; s < variant->step_count; s++)
        if (variant->steps[s].op->code == GRAPH_OP_RANDOM)
            return true;
    return false;
}

/* Tests the workspace and calls the variant. */
static void print_choice_of(struct emit *e, struct text *out, const struct entry *entry, int training,
                            enum emitted_variant kind, const char *indent)
{
    const struct variant *variant = entry_variant(e, entry, training, kind);

    text_printf(out, "%sstatus = modc_check(&net->base, %s, %s, %s);\n", indent,
                workspace_constant(e, entry, training, kind), variant->uses_packed ? "true" : "false",
                variant->uses_buffers ? "true" : "false");
    text_printf(out, "%sif (status != MODC_OK)\n%s    return status;\n", indent, indent);
    print_call_of(e, out, variant, false, indent);
    if (!saves(kind))
        return;
    for (int i = 0; i < variant->graph->input_count; i++)
        text_printf(out, "%snet->saved_inputs[%d] = %s;\n", indent, i,
                    c_argument(e->cx, variant->graph->inputs[i]->name));
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, "%snet->saved_sizes[%d] = %s;\n", indent, i, e->tree->sizes[i].c_name);
    text_printf(out, "%snet->base.saved_version = net->base.params->version;\n", indent);
    text_printf(out, "%snet->base.saved = %s%d;\n", indent,
                fails(variant, false) ? "status != MODC_OK ? 0 : " : "",
                1 + 2 * (int)(entry - e->plan->program->entries) + training);
    if (entry_variant(e, entry, training, EMITTED_SAVING_FENCED))
        text_printf(out, "%snet->base.saved_hooked = %s;\n", indent,
                    kind == EMITTED_SAVING_FENCED ? "true" : "false");
}

/* The checks and the call of one mode. */
static void print_mode(struct emit *e, struct text *out, const struct entry *entry, int training,
                       const char *indent)
{
    const struct variant *fused = entry_variant(e, entry, training, EMITTED_FUSED),
                         *fenced = entry_variant(e, entry, training, EMITTED_FENCED);
    const struct variant *saving = entry_variant(e, entry, training, EMITTED_SAVING);
    const char *deeper = fenced || saving ? arena_format(&e->cx->arena, "%s    ", indent) : indent;
    const char *deepest = arena_format(&e->cx->arena, "%s    ", deeper);
    struct text done = text_new(&e->cx->arena);

    if (fused->writes_buffers)
        text_printf(out,
                    "%sif (net->base.params && net->base.params->read_only)\n%s    return MODC_READ_ONLY;\n",
                    indent, indent);
    if (fenced)
        text_printf(out, "%sif (modc_hooked(&net->base)) {\n", indent);
    if (fenced && saving) {
        text_printf(out, "%sif (modc_saves(&net->base)) {\n", deeper);
        print_choice_of(e, out, entry, training, EMITTED_SAVING_FENCED, deepest);
        text_printf(out, "%s} else {\n", deeper);
        print_choice_of(e, out, entry, training, EMITTED_FENCED, deepest);
        text_printf(out, "%s}\n", deeper);
    } else if (fenced) {
        print_choice_of(e, out, entry, training, EMITTED_FENCED, deeper);
    }
    if (saving) {
        text_printf(out, "%s%sif (modc_saves(&net->base)) {\n", indent, fenced ? "} else " : "");
        print_choice_of(e, out, entry, training, EMITTED_SAVING, deeper);
    }
    if (fenced || saving)
        text_printf(out, "%s} else {\n", indent);
    print_choice_of(e, out, entry, training, EMITTED_FUSED, deeper);
    if (fenced || saving)
        text_printf(out, "%s}\n", indent);
    if (fused->outdates_packed)
        text_printf(&done, "%snet->base.params->buffer_version++;\n", indent);
    if (draws(fused))
        text_printf(&done, "%snet->base.counter++;\n", indent);
    if (done.length > 0 && (fenced || fused->fails))
        print_guarded(out, indent, "status == MODC_OK", done.data);
    else
        text_add(out, done.data);
}

/* What calls need, and in which modes. */
struct needs {
    struct moded_need {
        struct need need;
        bool in[2]; /* evaluation, training */
    } * items;
    int count;
};

/* Adds what a graph and the regions that it calls need. */
static void gather_needs(struct emit *e, const struct graph *graph, struct needs *needs)
{
    for (int i = 0; i < graph->need_count; i++) {
        const struct need *need = &graph->needs[i];
        int at = 0;

        while (at < needs->count && (needs->items[at].need.not_one != need->not_one ||
                                     !dim_equal(needs->items[at].need.dim, need->dim)))
            at++;
        if (at == needs->count)
            ARENA_PUSH(&e->cx->arena, needs->items, needs->count, ((struct moded_need){.need = *need}));
        needs->items[at].in[graph->training] = true;
    }
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_CALL)
            gather_needs(e, graph->ops[i]->invoke.region->graph, needs);
}

static void print_needs(struct emit *e, struct text *out, const struct entry *entry)
{
    struct needs needs = {0};

    for (int training = 0; training < 2; training++)
        for (int fenced = 0; fenced < 2; fenced++)
            if (entry->graphs[training][fenced])
                gather_needs(e, entry->graphs[training][fenced], &needs);
    for (int i = 0; i < needs.count; i++) {
        const bool *in = needs.items[i].in;
        const struct need *need = &needs.items[i].need;

        const char *mode = in[0] && in[1] ? "" : in[1] ? "net->base.training" : "!net->base.training";

        if (*mode && dim_is_const(need->dim, NULL)) /* never in this mode */
            text_printf(out, "    if (%s)\n        return MODC_SIZE;\n", mode);
        else
            text_printf(out, "    if (%s%s%s %s)\n        return MODC_SIZE;\n", mode, *mode ? " && " : "",
                        dim_c_text(e->cx, need->dim, false), need->not_one ? "== 1" : "< 0");
    }
}

/* Of elements of one byte there is nothing to check. */
static void print_alignment(struct emit *e, struct text *out, const struct graph *graph, bool backward)
{
    for (int bytes = 2; bytes <= 8; bytes *= 2) {
        struct text tensors = text_new(&e->cx->arena);
        int count = 0;

        for (int i = 0; i < graph->input_count + graph->result_count; i++) {
            const int o = i - graph->input_count;
            const struct value *value = o < 0 ? graph->inputs[i] : graph->outputs[o];
            const char *name = o < 0 ? value->name : graph->output_names[o];

            if (dtype_rows[value->dtype].bytes != bytes || (backward && !has_gradient(graph, value)))
                continue;
            name = backward ? c_gradient(e->cx, graph, name, o >= 0)
                   : o < 0  ? c_argument(e->cx, name)
                            : c_output(e->cx, graph, o);
            text_printf(&tensors, "%s(uintptr_t)%s", count++ > 0 ? " | " : "", name);
        }
        if (count > 0)
            text_printf(out,
                        bytes == 8 ? "    if (%s%s%s %% MODC_ALIGN_WIDE != 0)\n"
                                   : "    if (%s%s%s %% %d != 0)\n",
                        count > 1 ? "(" : "", tensors.data, count > 1 ? ")" : "", bytes);
        if (count > 0)
            text_add(out, "        return MODC_ALIGNMENT;\n");
    }
}

static void print_entry(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    struct text head = text_new(&e->cx->arena);
    bool one = true;

    for (int kind = 0; kind < EMITTED_VARIANTS; kind++) {
        const struct variant *train = entry_variant(e, entry, 1, (enum emitted_variant)kind);

        one = one && (!train || train->same == entry_variant(e, entry, 0, (enum emitted_variant)kind));
    }

    text_printf(&head, "enum modc_status %s_%s(struct %s *net", e->m, entry->name, e->m);
    print_arguments(e, &head, graph);
    text_add(&head, ")");
    text_printf(out, "%s\n", head.data);
    text_printf(out, "{\n    enum modc_status status;\n%s\n    if (!net",
                e->tree->spec->flushes ? "    uint64_t float_mode;\n" : "");
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, " || !%s", c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->output_count; i++)
        text_printf(out, " || !%s", c_output(e->cx, graph, i));
    text_add(out, ")\n        return MODC_POINTER;\n");
    print_alignment(e, out, graph, false);
    for (int i = 0; i < e->tree->size_count; i++) {
        const char *size = e->tree->sizes[i].c_name;

        text_printf(out, "    if (%s < 0 || %s > %lld)\n        return MODC_SIZE;\n", size, size,
                    (long long)entry->sizes[i].max);
    }
    print_needs(e, out, entry);
    if (one) {
        print_mode(e, out, entry, 0, "    ");
    } else {
        text_add(out, "    if (net->base.training) {\n");
        print_mode(e, out, entry, 1, "        ");
        text_add(out, "    } else {\n");
        print_mode(e, out, entry, 0, "        ");
        text_add(out, "    }\n");
    }
    text_add(out, "    return status;\n}\n\n");
}

/* The second call of one kind, in the mode that the first was in. */
static void print_second_call(struct emit *e, struct text *out, const struct entry *entry,
                              enum emitted_variant kind, const char *indent)
{
    const struct variant *eval = entry_variant(e, entry, 0, kind), *train = entry_variant(e, entry, 1, kind);
    const char *deeper = arena_format(&e->cx->arena, "%s    ", indent);

    if (train->same == eval) {
        print_call_of(e, out, eval, true, indent);
        return;
    }
    text_printf(out, "%sif (net->base.saved %% 2 == 0) {\n", indent);
    print_call_of(e, out, train, true, deeper);
    text_printf(out, "%s} else {\n", indent);
    print_call_of(e, out, eval, true, deeper);
    text_printf(out, "%s}\n", indent);
}

static void print_backward(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    struct text none = text_new(&e->cx->arena);

    if (!has_gradients(e))
        text_printf(out,
                    "/* Behind %s_loss, with its sizes: updates the parameters that are wanted. */\nstatic ",
                    e->m);
    text_printf(out, "enum modc_status %s_%s(struct %s *net", e->m, backward_name(e, entry), e->m);
    print_backward_arguments(e, out, graph);
    text_printf(out, ")\n{\n    enum modc_status status;\n%s\n",
                e->tree->spec->flushes ? "    uint64_t float_mode;\n" : "");
    for (int i = 0; i < graph->result_count; i++)
        if (has_gradient(graph, graph->outputs[i]))
            text_printf(&none, "%s!%s", none.length ? " && " : "",
                        c_gradient(e->cx, graph, graph->output_names[i], true));
    if (none.length > 0)
        text_printf(out, strstr(none.data, "&&") ? "    if (!net || (%s))\n" : "    if (!net || %s)\n",
                    none.data);
    else
        text_add(out, "    if (!net)\n");
    text_add(out, "        return MODC_POINTER;\n");
    print_alignment(e, out, graph, true);
    text_printf(
        out,
        "    status = modc_backward_begin(&net->base, %d);\n    if (status != MODC_OK)\n        return status;\n",
        (int)(entry - e->plan->program->entries));
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, "    if (%s != net->saved_sizes[%d])\n        return MODC_SIZE;\n",
                    e->tree->sizes[i].c_name, i);
    if (entry_variant(e, entry, 0, EMITTED_SAVING_FENCED)) {
        text_add(out, "    if (net->base.saved_hooked) {\n");
        print_second_call(e, out, entry, EMITTED_SAVING_FENCED, "        ");
        text_add(out, "    } else {\n");
        print_second_call(e, out, entry, EMITTED_SAVING, "        ");
        text_add(out, "    }\n");
    } else {
        print_second_call(e, out, entry, EMITTED_SAVING, "    ");
    }
    text_add(out, "    return status;\n}\n\n");
}

/* Through arrays, for struct modc_entry. */
static void print_backward_call(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    struct text outputs = text_new(&e->cx->arena), inputs = text_new(&e->cx->arena);

    text_printf(out,
                "static enum modc_status %s_backward_call(struct modc_context *net, const int *sizes, "
                "const void *const *output_gradients, void *const *input_gradients)\n{\n",
                entry->name);
    if (e->tree->size_count == 0)
        text_add(out, "    (void)sizes;\n");
    for (int i = 0; i < graph->result_count; i++)
        if (has_gradient(graph, graph->outputs[i]))
            text_printf(&outputs, ", output_gradients[%d]", i);
    for (int i = 0; i < graph->input_count; i++)
        if (has_gradient(graph, graph->inputs[i]))
            text_printf(&inputs, ", input_gradients[%d]", i);
    text_add(out, outputs.length > 0 ? "" : "    (void)output_gradients;\n");
    text_add(out, inputs.length > 0 ? "" : "    (void)input_gradients;\n");
    text_printf(out, "    return %s_%s((struct %s *)(void *)net", e->m, backward_name(e, entry), e->m);
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", sizes[%d]", i);
    text_printf(out, "%s%s);\n}\n\n", outputs.data, inputs.data);
}

/* Conditions under which an input has no elements. */
static const char *empty_inputs(struct emit *e, const struct graph *graph)
{
    struct text out = text_new(&e->cx->arena);

    for (int i = 0; i < graph->input_count; i++) {
        for (int d = 0; d < graph->inputs[i]->ndim; d++) {
            const struct dim *dim = graph->inputs[i]->dims[d];
            const char *text = arena_format(&e->cx->arena, "%s == 0", dim_c_text(e->cx, dim, false));

            if (dim_lower(dim) <= 0 && !strstr(out.data, text))
                text_printf(&out, "%s%s", out.length ? " || " : "", text);
        }
    }
    return out.data;
}

/* The parts in turn, on gradients that start anew. */
static void print_parts(struct emit *e, struct text *out, const char *arguments, const char *sizes)
{
    const char *m = e->m;

    text_printf(out,
                "    status = %s_loss(net%s);\n    if (status != MODC_OK)\n        return status;\n"
                "    modc_zero_grad(&training->base, true);\n    status = %s_loss_backward(net%s);\n"
                "    return status == MODC_OK ? %s_step(training) : status;\n",
                m, arguments, m, sizes, m);
}

/* The same where backward updates. */
static void print_fused_parts(struct emit *e, struct text *out, const char *arguments, const char *sizes)
{
    const char *m = e->m;

    text_printf(
        out,
        "    status = modc_optimizer_begin(&training->optimizer.base);\n"
        "    if (status == MODC_OK)\n        status = %s_loss(net%s);\n"
        "    if (status == MODC_OK)\n        status = %s_loss_backward(net%s);\n"
        "    if (status == MODC_OK)\n        status = modc_optimizer_end(&training->optimizer.base);\n",
        m, arguments, m, sizes);
    if (e->tree->training->averages)
        text_add(
            out,
            "    if (status == MODC_OK)\n        status = modc_average_update(&training->optimizer.base);\n");
    text_add(out, "    return status;\n");
}

static void print_train_step(struct emit *e, struct text *out)
{
    const struct entry *entry = loss_entry(e);
    const struct graph *graph = entry_graph(entry);
    struct text call = text_new(&e->cx->arena), sizes = text_new(&e->cx->arena);
    const char *m = e->m, *empty = empty_inputs(e, graph);

    text_printf(out, "enum modc_status %s_train_step(struct %s_training *training", m, m);
    print_arguments(e, out, graph);
    text_printf(
        out,
        ")\n{\n    struct %s *net;\n    enum modc_status status;\n\n    if (!training || !training->base.net)\n"
        "        return MODC_POINTER;\n%s%s%s    net = (struct %s *)(void *)training->base.net;\n",
        m, *empty ? "    if (" : "", empty, *empty ? ")\n        return MODC_SIZE;\n" : "", m);
    pass_arguments(e, &call, graph);
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(&sizes, ", %s", e->tree->sizes[i].c_name);
    (has_gradients(e) ? print_parts : print_fused_parts)(e, out, call.data, sizes.data);
    text_add(out, "}\n\n");

    text_printf(
        out,
        "static enum modc_status %s_start(struct modc_training *training, struct modc_context *net, void *block, "
        "size_t bytes)\n"
        "{\n    return %s_training_init((struct %s_training *)(void *)training, (struct %s *)(void *)net, block, bytes);\n}\n\n",
        m, m, m, m);
    text_printf(
        out,
        "static enum modc_status %s_train_step_call(struct modc_training *training, const int *sizes, "
        "const void *const *inputs, void *loss)\n{\n",
        m);
    if (e->tree->size_count == 0)
        text_add(out, "    (void)sizes;\n");
    if (graph->input_count == 0)
        text_add(out, "    (void)inputs;\n");
    text_printf(out, "    return %s_train_step((struct %s_training *)(void *)training", m, m);
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", sizes[%d]", i);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", inputs[%d]", i);
    text_add(out, ", loss);\n}\n\n");
}

static void print_gradient_table(struct emit *e, struct text *out)
{
    text_add(out, "static const struct modc_gradient gradients_table[] = {\n");
    for (int i = 0; i < e->plan->gradient_count; i++)
        text_printf(out, "    {%d, %lld}, /* %s */\n", e->plan->gradients[i]->key,
                    (long long)e->plan->gradient_offsets[i], e->plan->gradients[i]->path);
    text_add(out, "};\n\n");
}

/* ---- tables ----------------------------------------------------------------------------------------------- */

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

static void print_tables(struct emit *e, struct text *out)
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

/* ---- embedded weights ------------------------------------------------------------------------------------- */

/* Where the packed struct holds an entry of this tensor: "" or "blocks[3]." */
static const char *entry_inside(struct emit *e, const struct pack_group *group, const struct packed *entry,
                                const struct module_tensor *tensor)
{
    for (int i = 0; i < group->entry_count; i++)
        if (group->entries[i] == entry)
            return "";
    for (int i = 0; i < group->child_count; i++) {
        const struct pack_child *child = &group->children[i];

        for (const struct module *module = tensor->owner; module; module = module->parent)
            if (child->count > 0 ? module->parent == child->first->parent : module == child->first)
                return arena_format(&e->cx->arena, child->count > 0 ? "%s[%s].%s" : "%s.%.0s%s",
                                    child->member, module->name,
                                    entry_inside(e, child->group, entry, tensor));
    }
    return "";
}

/* Tensors that lie only packed, back in PyTorch's layout. False: there are none, or nobody asks for them. */
static bool print_unpack(struct emit *e, struct text *out)
{
    struct text cases = text_new(&e->cx->arena);

    if (e->tree->spec->state_dict == SPEC_OFF)
        return false;
    for (int i = 0; e->weights && i < e->tree->key_count; i++) {
        const struct module_tensor *tensor = e->tree->keys[i];
        const struct packed *entry = e->weights->packed[i];

        if (e->weights->raw[i] >= 0 || tensor->first != tensor)
            continue;
        for (int tied = i; tied < e->tree->key_count; tied++)
            if (e->tree->keys[tied]->first == tensor)
                text_printf(&cases, "    case %d: /* %s */\n", tied, e->tree->keys[tied]->path);
        text_printf(&cases, "%s        return MODC_OK;\n",
                    kernel_unpack(e->cx, e->plan, entry, entry_inside(e, e->plan->groups[0], entry, tensor)));
    }
    if (cases.length > 0)
        text_printf(
            out,
            "static enum modc_status %s_unpack(const struct modc_params *params, int index, void *out)\n{\n"
            "    const struct %s *k = params->packed;\n\n    switch (index) {\n%s    default:\n"
            "        return MODC_NAME;\n    }\n}\n\n",
            e->m, packed_struct(e, e->plan->groups[0]), cases.data);
    return cases.length > 0;
}

static void print_embedded(struct emit *e, struct text *out)
{
    const struct embedded_weights *weights = e->weights;

    if (!weights)
        return;
    text_printf(out,
                "/* %s_weights.bin: the packed block, then tensors that it cannot give back. */\n"
                "extern const char %s_weights[];\n\n",
                e->m, e->m);
    text_printf(out,
                "static enum modc_status %s_bind_all(struct modc_params *base)\n{\n"
                "    struct %s_params *p = (struct %s_params *)(void *)base;\n\n",
                e->m, e->m, e->m);
    text_printf(
        out,
        "    memset(p, 0, sizeof *p);\n    base->model = &%s_model;\n    base->version = 1;\n    base->packed_version = 1;\n"
        "    base->read_only = true;\n    base->packed = (void *)(uintptr_t)%s_weights;\n",
        e->m, e->m);
    for (int i = 0; i < e->tree->key_count; i++) {
        const struct module_tensor *tensor = e->tree->keys[i];

        if (weights->raw[i] >= 0)
            text_printf(out, "    p->%s = (%s%s *)(uintptr_t)(%s_weights + %lld);\n",
                        tensor_member(e->cx, e->tree->root, tensor), tensor->written ? "" : "const ",
                        dtype_rows[tensor->dtype].c, e->m, (long long)weights->raw[i]);
    }
    text_printf(out,
                "    return MODC_OK;\n}\n\nenum modc_status %s_bind_embedded(struct %s_params *params)\n{\n"
                "    return %s_bind_all(&params->base);\n}\n\n",
                e->m, e->m, e->m);
}

/* No build tool sees what .incbin reads: the hash is there so that this file changes when the weights do. */
static const char *weights_assembly(struct emit *e)
{
    return arena_format(
        &e->cx->arena,
        "/* %s_weights.S - written by modc; found through -I. The weights have the hash %016llx. */\n"
        "#if defined __APPLE__\n#define SYMBOL _%s_weights\n    .section __TEXT,__const\n"
        "#else\n#define SYMBOL %s_weights\n    .section .rodata\n#endif\n"
        "    .global SYMBOL\n    .balign %d\nSYMBOL:\n    .incbin \"%s_weights.bin\"\n"
        "#if defined __ELF__\n    .section .note.GNU-stack, \"\", %%progbits\n#endif\n",
        e->m, (unsigned long long)text_hash_large(e->weights->bytes, e->weights->length), e->m, e->m,
        e->plan->align, e->m);
}

/* ---- files ------------------------------------------------------------------------------------------------ */

static void print_constants(struct emit *e, struct text *out, const bool *which)
{
    for (int i = 0; i < e->plan->constant_count; i++)
        if (which[i])
            print_array(e, out, e->plan->constant_names[i], e->plan->constants[i]->constant);
}

static void print_kernels(struct emit *e, struct text *out, int from, int until)
{
    if (from == until && from > 0)
        return;
    text_add(out, "MODC_KERNELS_BEGIN\n\n");
    for (int i = from; i < until; i++)
        text_printf(out, "%s\n", kernel_text(e->cx, e->plan, e->plan->kernels[i]));
    text_add(out, "MODC_KERNELS_END\n\n");
}

/* The parts of a source file that are not kernels. */
struct parts {
    struct text functions, packs, entries, tables; /* entries call functions */
};

static void print_plain(struct emit *e, struct text *out, const struct parts *parts)
{
    bool *all = ARENA_ARRAY(&e->cx->arena, e->plan->constant_count + 1, bool);

    memset(all, true, (size_t)e->plan->constant_count * sizeof *all);
    print_constants(e, out, all);
    print_packed_structs(e, out);
    print_kernels(e, out, 0, e->plan->kernel_count);
    text_add(out, parts->packs.data);
    text_add(out, parts->functions.data);
    text_add(out, parts->entries.data);
}

/* note [once]
 * With --dispatch the functions, with what they call and read, are compiled for several instruction sets, and all else
 * once. Packing is among that: packed weights are the same bytes then, whatever runs. */
static void print_dispatched(struct emit *e, struct text *out, const struct parts *parts)
{
    int count = e->plan->constant_count;
    bool *shared = ARENA_ARRAY(&e->cx->arena, count + 1, bool),
         *once = ARENA_ARRAY(&e->cx->arena, count + 1, bool);
    struct text kernels = text_new(&e->cx->arena);

    print_kernels(e, &kernels, 0, e->plan->function_kernels);
    for (int i = 0; i < count; i++) {
        shared[i] = uses_word(kernels.data, e->plan->constant_names[i]) ||
                    uses_word(parts->functions.data, e->plan->constant_names[i]);
        once[i] = !shared[i];
    }
    print_constants(e, out, shared);
    print_packed_structs(e, out);
    text_add(out, kernels.data);
    text_add(out, parts->functions.data);
    print_code(e, out);
    text_add(out, "#ifdef MODC_ONCE /* packing, what users call, tables */\n\n");
    print_choice(e, out);
    print_constants(e, out, once);
    print_kernels(e, out, e->plan->function_kernels, e->plan->kernel_count);
    text_add(out, parts->packs.data);
    text_add(out, parts->entries.data);
}

static void print_source_head(struct emit *e, struct text *out)
{
    text_printf(
        out,
        "/* %s.c - written by modc from %s; change the spec, not this file. It is yours, under any terms.",
        e->m, spec_name(e));
    if (e->cx->options->dispatch) {
        text_add(
            out,
            "\n *\n * Compiled for several instruction sets, of which each context takes the best that its machine has:\n *\n");
        text_printf(out, " *     cc -O3 -march=%s -c %s.c\n", isa_base, e->m);
        for (int i = 0; i < ISA_ROWS; i++)
            text_printf(out, " *     cc -O3 %s -c %s\n", dispatch_flags(e->cx, isa_rows[i].name),
                        dispatch_path(e->cx, e->m, &isa_rows[i]));
    }
    text_printf(out, " */\n#include \"%s.h\"\n\n#include <string.h>\n\n", e->m);
    if (e->cx->options->dispatch)
        text_printf(
            out,
            "#ifndef MODC_CODE /* else this is included by a file for one instruction set */\n#define MODC_CODE %s_code\n"
            "#define MODC_ONCE\n#if defined MODC_X86_64 && defined __AVX__\n"
            "#error \"compile %s.c with -march=%s: it is for machines without AVX, too\"\n#endif\n#endif\n\n",
            e->m, e->m, isa_base);
    if (e->cx->options->isa)
        text_printf(out, "#define MODC_WIDTHS %d /* --isa %s: the vectors to choose from, in floats */\n",
                    e->cx->options->isa_widths, e->cx->options->isa);
    text_add(out, "#include \"modc_simd.h\"\n\n");
    if (e->plan->align < HOSTED_ALIGN)
        text_printf(
            out,
            "#if MODC_ALIGN > %d\n#error \"%s lays its blocks out at multiples of %d; MODC_ALIGN may not be more\"\n"
            "#endif\n\n",
            e->plan->align, e->m, e->plan->align);
}

static const char *source_text(struct emit *e)
{
    struct arena *arena = &e->cx->arena;
    struct text out = text_new(arena), wrapped = text_new(arena);
    struct parts parts = {text_new(arena), text_new(arena), text_new(arena), text_new(arena)};

    for (int i = 0; i < e->plan->variant_count; i++) {
        struct variant *variant = e->plan->variants[i];

        if (variant->graph->region)
            print_region(e, &parts.functions, variant);
        else
            print_variant(e, &parts.functions, variant);
    }
    if (has_optimizer(e)) {
        text_add(&parts.entries, "MODC_KERNELS_BEGIN\n\n");
        emit_training_kernels(e->cx, &parts.entries, e->plan);
        text_add(&parts.entries, "MODC_KERNELS_END\n\n");
    }
    for (int i = 0; i < e->plan->program->entry_count; i++) {
        print_entry(e, &parts.entries, &e->plan->program->entries[i]);
        if (e->plan->program->entries[i].saving[0][0])
            print_backward(e, &parts.entries, &e->plan->program->entries[i]);
    }
    if (has_optimizer(e))
        print_train_step(e, &parts.entries);
    print_pack_functions(e, &parts.packs);
    e->unpacks = print_unpack(e, &parts.packs);
    if (e->tree->rollout)
        emit_rollout_source(e->cx, &parts.tables, (struct rollout_names){e->m, e->M}, e->tree->rollout);
    print_tables(e, &parts.tables);
    if (has_optimizer(e)) {
        text_add(&parts.tables, "\n");
        emit_training_tables(e->cx, &parts.tables, e->plan);
    }

    print_source_head(e, &out);
    if (e->cx->options->dispatch)
        print_dispatched(e, &out, &parts);
    else
        print_plain(e, &out, &parts);
    print_embedded(e, &out);
    text_add(&out, parts.tables.data);
    if (e->cx->options->dispatch)
        text_add(&out, "#endif\n");
    template_wrap(e->cx, &wrapped, out.data);
    return wrapped.data;
}

static void add_file(struct emit *e, struct output_file **files, int *count, const char *name,
                     const void *bytes, size_t length)
{
    ARENA_PUSH(&e->cx->arena, *files, *count, ((struct output_file){name, bytes, length}));
}

static void add_text(struct emit *e, struct output_file **files, int *count, const char *name,
                     const char *text)
{
    add_file(e, files, count, name, text, strlen(text));
}

static void add_model(struct cx *cx, const struct plan *plan, struct output_file **files, int *count)
{
    struct emit e = {.cx = cx,
                     .plan = plan,
                     .tree = plan->program->tree,
                     .target = target_of(cx),
                     .m = plan->model,
                     .weights = plan->weights};
    struct text header = text_new(&cx->arena), wrapped = text_new(&cx->arena);

    e.M = upper_case(cx, plan->model);
    print_header(&e, &header);
    template_wrap(cx, &wrapped, header.data);
    add_text(&e, files, count, arena_format(&cx->arena, "%s.h", e.m), wrapped.data);
    add_text(&e, files, count, arena_format(&cx->arena, "%s.c", e.m), source_text(&e));
    if (cx->options->dispatch) {
        (*files)[*count - 1].flags = dispatch_flags(cx, isa_base);
        for (int i = 0; i < ISA_ROWS; i++) {
            add_text(&e, files, count, dispatch_path(cx, e.m, &isa_rows[i]),
                     dispatch_text(cx, e.m, &isa_rows[i], spec_name(&e)));
            (*files)[*count - 1].flags = dispatch_flags(cx, isa_rows[i].name);
        }
    }
    if (e.weights) {
        add_text(&e, files, count, arena_format(&cx->arena, "%s_weights.S", e.m), weights_assembly(&e));
        add_file(&e, files, count, arena_format(&cx->arena, "%s_weights.bin", e.m), e.weights->bytes,
                 e.weights->length);
    }
}

struct output_file *emit_files(struct cx *cx, const struct plan *plan, int *count)
{
    struct output_file *files = NULL;
    const char *cmake = bundle_cmake(cx, plan);

    *count = 0;
    for (const struct plan *variant = plan; variant; variant = variant->next)
        add_model(cx, variant, &files, count);
    ARENA_PUSH(
        &cx->arena, files, *count,
        ((struct output_file){arena_format(&cx->arena, "%s.cmake", plan->model), cmake, strlen(cmake)}));
    return files;
}
