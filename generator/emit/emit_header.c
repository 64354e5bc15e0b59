/* emit_header.c - MODEL.h: constants, structs, declarations, and the runtime's functions under the model's name. */
#include "emit/emit_room.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "emit/bundle.h"
#include "emit/dispatch.h"
#include "emit/emit_names.h"
#include "emit/emit_rollout.h"
#include "emit/emit_training.h"
#include "emit/template.h"
#include "module/training.h"
#include "passes/toolkit.h"
#include "plan/weights.h"

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
/* Names of an enum: a line each, but those of one child of a list together, as many as fit. */
struct enumerators {
    struct text *out;
    const struct module *last; /* of the name before: a child of a list, or NULL */
    size_t width;              /* of the line so far */
};

static const struct module *list_child(const struct module *module)
{
    const struct module *found = NULL;

    for (; module->parent; module = module->parent)
        if (module->parent->child_count > 1 && isdigit((unsigned char)module->name[0]))
            found = module;
    return found;
}

static void print_enumerator(struct enumerators *names, const struct module *module, const char *name)
{
    const struct module *child = list_child(module);
    const size_t width = strlen(name) + 2;

    if (child && child == names->last && names->width + width <= EMITTED_WIDTH) {
        text_printf(names->out, " %s,", name);
        names->width += width;
    } else {
        text_printf(names->out, "%s    %s,", names->width > 0 ? "\n" : "", name);
        names->width = 3 + width;
    }
    names->last = child;
}

static void print_header_gradients(struct emit *e, struct text *out)
{
    struct enumerators names = {.out = out};

    if (e->plan->gradient_count == 0)
        return;
    text_printf(out, "/* Gradients of parameters, in the order of modc_%s. */\nenum {\n",
                has_gradients(e) ? "gradient_at" : "optimizer_update");
    for (int i = 0; i < e->plan->gradient_count; i++)
        print_enumerator(&names, e->plan->gradients[i]->owner, e->plan->gradient_names[i]);
    text_printf(out, "\n    %s_GRADIENTS\n};\n\n", e->M);
}

static void print_header_modules(struct emit *e, struct text *out)
{
    struct enumerators names = {.out = out};

    text_add(out, "/* Modules, for hooks and tables. */\nenum {\n");
    for (int i = 0; i < e->tree->module_count; i++)
        print_enumerator(&names, e->tree->modules[i], module_constant(e, e->tree->modules[i]));
    text_printf(out, "\n    %s_MODULES\n};\n\n", e->M);
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
    if (e->plan->program->settings.hooks) {
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
    if (e->plan->program->settings.hooks)
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
const char *backward_name(struct emit *e, const struct entry *entry)
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

void print_header(struct emit *e, struct text *out)
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
