/* emit_header.c - MODEL.h: constants, structs, declarations, and the runtime's functions under the model's name. */
#include "emit/emit_room.h"

#include <ctype.h>
#include <string.h>

#include "base/options.h"
#include "emit/emit_chat.h"
#include "emit/emit_generation.h"
#include "emit/emit_rollout.h"
#include "emit/emit_tokenizer.h"
#include "emit/emit_training.h"
#include "emit/template.h"
#include "modc.h"
#include "module/training.h"
#include "plan/weights.h"

static void print_header_sizes(struct emit *e, struct text *out)
{
    const struct module_tree *tree = e->tree;
    const size_t length = out->length;

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
    for (int i = 0; i < tree->requirement_count; i++)
        text_printf(out, "%s%s%s", i > 0 ? ",\n * " : "/* Every call: ",
                    requirement_text(&e->cx->arena, &tree->requirements[i]),
                    i + 1 == tree->requirement_count ? "; else it is MODC_SIZE. */\n" : "");
    text_add(out, out->length > length ? "\n" : "");
}

static bool is_apart(const struct emit *e)
{
    return e->plan->backend->apart;
}

/* "POLICY_FORWARD_HOST_BYTES" */
static const char *host_constant(struct emit *e, const struct entry *entry)
{
    return arena_format(&e->cx->arena, "%s_%s_HOST_BYTES", e->M, text_upper(&e->cx->arena, entry->name));
}

static void print_header_blocks(struct emit *e, struct text *out)
{
    text_printf(out, "#define %s_SCHEMA 0x%016llxu /* of keys, shapes and types */\n", e->M,
                (unsigned long long)e->plan->schema);
    text_add(out,
             is_apart(e)
                 ? "/* Blocks that the caller places: that of the parameters in the host's memory, at a "
                   "multiple of\n * MODC_ALIGN, the others in the device's, at one of MODC_DEVICE_ALIGN. */\n"
                 : "/* Blocks that the caller places, each at a multiple of MODC_ALIGN. */\n");
    text_printf(out, "#define %s_PARAM_BYTES %lld /* parameters and buffers in PyTorch's layout */\n", e->M,
                (long long)at_least_one(e, e->plan->param_bytes));
    text_printf(out, "#define %s_PACKED_BYTES %lld /* what %s_pack makes of them for the kernels */\n", e->M,
                (long long)at_least_one(e, plan_packed_block(e->plan)), e->m);
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
    for (int i = 0; is_apart(e) && i < e->plan->program->entry_count; i++) {
        const struct entry *entry = &e->plan->program->entries[i];

        text_printf(out, "#define %s %lld /* for %s_%s_host, at the end of a workspace */\n",
                    host_constant(e, entry), (long long)plan_host_bytes(e->plan, entry), e->m, entry->name);
    }
    text_add(out, "\n");
}

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

/* child: what it stands beside others of in one line; NULL: alone. */
static void add_enumerator(struct enumerators *names, const struct module *child, const char *name)
{
    const size_t width = strlen(name) + 2;

    if (child && child == names->last && names->width + width <= EMITTED_WIDTH) {
        text_printf(names->out, " %s,", name);
        names->width += width;
    } else {
        text_printf(names->out, "%s    %s,",
                    names->out->length > 0 && names->out->data[names->out->length - 1] != '\n' ? "\n" : "",
                    name);
        names->width = 3 + width;
    }
    names->last = child;
}

static void print_enumerator(struct enumerators *names, const struct module *module, const char *name)
{
    add_enumerator(names, list_child(module), name);
}

/* The gradients of one child of a list, from `first` on: names that begin alike. */
struct gradient_unit {
    const struct module *child;
    int first, count;
    const char *stem; /* "GPT2_GRADIENT_H_3", in front of the underscore; NULL: not all names begin so */
};

static struct gradient_unit gradient_unit(struct emit *e, int first)
{
    const struct plan *plan = e->plan;
    struct gradient_unit unit = {.child = list_child(plan->gradients[first]->owner), .first = first};
    const char *flat = unit.child ? emitted_flat(e->cx, unit.child->path) : "";
    size_t length;

    unit.stem = arena_format(&e->cx->arena, "%s_GRADIENT_%s", e->M, text_upper(&e->cx->arena, flat));
    length = strlen(unit.stem);
    for (int i = first; i < plan->gradient_count && list_child(plan->gradients[i]->owner) == unit.child;
         i++) {
        unit.count++;
        if (unit.stem && (strncmp(plan->gradient_names[i], unit.stem, length) != 0 ||
                          plan->gradient_names[i][length] != '_'))
            unit.stem = NULL;
    }
    return unit;
}

/* Whether both are children of one list and have names that end alike. */
static bool same_gradients(const struct plan *plan, const struct gradient_unit *a,
                           const struct gradient_unit *b)
{
    if (!a->child || !b->child || a->child->parent != b->child->parent || a->count != b->count || !a->stem ||
        !b->stem)
        return false;
    for (int i = 0; i < a->count; i++)
        if (strcmp(plan->gradient_names[a->first + i] + strlen(a->stem),
                   plan->gradient_names[b->first + i] + strlen(b->stem)) != 0)
            return false;
    return true;
}

static int equal_units(struct emit *e, const struct gradient_unit *unit)
{
    int count = 1;

    for (int next = unit->first + unit->count; next < e->plan->gradient_count; count++) {
        const struct gradient_unit other = gradient_unit(e, next);

        if (!same_gradients(e->plan, unit, &other))
            return count;
        next += other.count;
    }
    return count;
}

/* "GPT2_GRADIENTS_OF_H" */
static const char *gradients_macro(struct emit *e, const struct gradient_unit *unit)
{
    const char *list = emitted_flat(e->cx, unit->child->parent->path);

    return arena_format(&e->cx->arena, "%s_GRADIENTS_OF_%s_%s", e->M, text_upper(&e->cx->arena, list),
                        unit->child->name);
}

static void define_gradients(struct emit *e, struct text *out, const struct gradient_unit *unit)
{
    const char *name = gradients_macro(e, unit);
    size_t width = 0;

    text_printf(
        out, "/* As many for each child of %s that is like the first; of that they are %s%s, ... */\n",
        unit->child->parent->path, unit->stem, e->plan->gradient_names[unit->first] + strlen(unit->stem));
    text_printf(out, "#define %s(child)", name);
    for (int i = 0; i < unit->count; i++) {
        const char *end = e->plan->gradient_names[unit->first + i] + strlen(unit->stem);
        const size_t own = strlen(end) + 10;

        if (i == 0 || width + own > EMITTED_WIDTH - 2) {
            text_add(out, " \\\n   ");
            width = 3;
        }
        text_printf(out, " child##%s%s", end, i + 1 < unit->count ? "," : "");
        width += own;
    }
    text_add(out, "\n\n");
}

static void print_header_gradients(struct emit *e, struct text *out)
{
    enum { FEW = 2 };
    struct text lines = text_new(&e->cx->arena), macros = text_new(&e->cx->arena);
    struct enumerators names = {.out = &lines};

    if (e->plan->gradient_count == 0)
        return;
    for (int first = 0; first < e->plan->gradient_count;) {
        const struct gradient_unit unit = gradient_unit(e, first);
        const int equal = unit.child ? equal_units(e, &unit) : 1;

        if (equal <= FEW) {
            for (int i = first; i < first + unit.count; i++)
                print_enumerator(&names, e->plan->gradients[i]->owner, e->plan->gradient_names[i]);
            first += unit.count;
            continue;
        }
        define_gradients(e, out, &unit);
        text_printf(&macros, "#undef %s\n", gradients_macro(e, &unit));
        names.last = NULL;
        for (int i = 0; i < equal; i++, first += unit.count)
            add_enumerator(&names, unit.child,
                           arena_format(&e->cx->arena, "%s(%s)", gradients_macro(e, &unit),
                                        gradient_unit(e, first).stem));
        names.last = NULL;
    }
    text_printf(out, "/* Gradients of parameters, in the order of modc_%s. */\nenum {\n",
                has_gradients(e) ? "gradient_at" : "optimizer_update");
    text_printf(out, "%s\n    %s_GRADIENTS\n};\n%s\n", lines.data, e->M, macros.data ? macros.data : "");
}

static void print_header_modules(struct emit *e, struct text *out)
{
    struct enumerators names = {.out = out};

    text_add(out, "/* Modules, for hooks and tables. */\nenum {\n");
    for (int i = 0; i < e->tree->module_count; i++)
        print_enumerator(&names, e->tree->modules[i], module_constant(e, e->tree->modules[i]));
    text_printf(out, "\n    %s_MODULES\n};\n\n", e->M);
}

/* A macro of the runtime that defines functions of the model, whose names the text has without the model's. */
struct wrappers {
    const char *macro, *names;
    bool (*has)(const struct emit *e);
};

static bool is_any(const struct emit *e)
{
    return e != NULL;
}

static bool is_hosted(const struct emit *e)
{
    return e->target->hosted;
}

static bool has_state(const struct emit *e)
{
    return e->tree->state_count > 0;
}

static bool has_gradients_alone(const struct emit *e)
{
    return has_backward(e) && !has_optimizer(e);
}

static bool has_hosted_optimizer(const struct emit *e)
{
    return has_optimizer(e) && is_hosted(e);
}

static bool has_step(const struct emit *e)
{
    return has_optimizer(e) && has_gradients(e);
}

static bool has_scaler(const struct emit *e)
{
    return has_optimizer(e) && e->tree->training->scales;
}

static bool has_schedule(const struct emit *e)
{
    return has_optimizer(e) && e->tree->training->schedule;
}

static bool has_hooks(const struct emit *e)
{
    return e->plan->program->settings.hooks;
}

static bool has_backward_hooks(const struct emit *e)
{
    return has_hooks(e) && has_backward(e);
}

static bool has_externs(const struct emit *e)
{
    return e->tree->extern_count > 0;
}

static bool is_split(const struct emit *e)
{
    return e->plan->threads > 0;
}

static const struct wrappers wrappers[] = {
    {"FUNCTIONS",
     "bind load_bytes save_bytes pack reset changed to get named_parameters named_buffers init train eval seed print",
     is_any},
    {"HOSTED_FUNCTIONS", "load save create destroy", is_hosted},
    {"STATE_FUNCTIONS", "reset_state", has_state},
    {"ISA_FUNCTIONS", "isa set_isa", is_dispatched},
    {"TRAINING_FUNCTIONS", "training_init", has_gradients_alone},
    {"OPTIMIZER_FUNCTIONS", "training_init training_save_bytes training_load_bytes", has_optimizer},
    {"OPTIMIZER_FILE_FUNCTIONS", "training_save training_load", has_hosted_optimizer},
    {"STEP_FUNCTIONS", "step", has_step},
    {"SCALER_FUNCTIONS", "loss_scale step_skipped", has_scaler},
    {"SCHEDULE_FUNCTIONS", "schedule_step", has_schedule},
    {"BACKWARD_FUNCTIONS", "set_grad_enabled requires_grad_", has_backward},
    {"GRADIENT_FUNCTIONS", "zero_grad get_gradient", has_gradients},
    {"HOOK_FUNCTIONS", "register_forward_pre_hook register_forward_hook attach", has_hooks},
    {"BACKWARD_HOOK_FUNCTIONS", "register_full_backward_pre_hook register_full_backward_hook",
     has_backward_hooks},
    {"EXTERN_FUNCTIONS", "set_extern", has_externs},
    {"THREAD_FUNCTIONS", "set_executor set_threads", is_split},
    {"DEVICE_FUNCTIONS", "set_stream sync device download", is_apart},
};

/* The runtime's functions under the model's name, which the runtime's headers define and document. */
static void print_wrappers(struct emit *e, struct text *out)
{
    text_printf(out, "/* The runtime's functions for this model, as modc.h%s%s %s them: */\n",
                has_optimizer(e) ? is_apart(e) ? ", modc_optim.h" : " and modc_optim.h" : "",
                is_apart(e) ? " and modc_device.h" : "", has_optimizer(e) || is_apart(e) ? "have" : "has");
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        const char *word = wrappers[i].names;
        size_t column = 0;

        if (!wrappers[i].has(e))
            continue;
        text_printf(out, "MODC_%s(%s)", wrappers[i].macro, e->m);
        while (*word) {
            const size_t length = strcspn(word, " "), own = strlen(e->m) + 1 + length;
            const bool breaks = column + 2 + own + strlen(" */") > EMITTED_WIDTH;

            text_add(out, column == 0 ? "\n    /* " : breaks ? ",\n     * " : ", ");
            column = column == 0 || breaks ? strlen("    /* ") + own : column + 2 + own;
            text_printf(out, "%s_%.*s", e->m, (int)length, word);
            word += length + (word[length] == ' ');
        }
        text_add(out, " */\n");
    }
    text_add(out, "\n");
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
    if (is_apart(e) && plan_most_kept(e->plan) > 0)
        text_printf(&out, "    void *kept_slots[%d]; /* what hooks gave, for backward */\n",
                    plan_most_kept(e->plan) * (e->plan->group_count > 1 ? e->tree->module_count : 1));
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

    if (is_apart(e)) {
        text_printf(
            out,
            "/* %s_%s with gradients of results and inputs in the host's memory, behind %s_%s_host. */\n"
            "enum modc_status %s_%s_host(struct %s *net",
            e->m, backward_name(e, entry), e->m, entry->name, e->m, backward_name(e, entry), e->m);
        print_backward_arguments(e, out, graph);
        text_add(out, ");\n\n");
    }

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
            " * After an error neither parameters nor optimiser have changed%s. */\n",
            e->m, e->m, e->m, is_apart(e) ? ", but for MODC_GPU" : "");
    else
        text_printf(
            out,
            "/* One step of training: the loss and its gradients, each of which updates its parameter as soon as it is complete and\n"
            " * is not kept. Inputs without elements are MODC_SIZE. After an error neither parameters nor optimiser have changed,\n"
            " * but for %sMODC_NONFINITE: then those parameters alone whose gradients are NaN or infinite have not. */\n",
            is_apart(e) ? "MODC_GPU, and for " : "");
    text_printf(out, "enum modc_status %s_train_step(struct %s_training *training", e->m, e->m);
    print_arguments(e, out, entry_graph(loss_entry(e)));
    text_add(out, ");\n\n");
}

/* What stands over a header: how its model is called, from the block of parameters to the first entry. */
static void print_header_usage(struct emit *e, struct text *out)
{
    const char *m = e->m;

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
        text_printf(out, " *     %s_pack(&params, packed_block, %s);\n", m,
                    is_apart(e) ? arena_format(&e->cx->arena, "%s_PACKED_BYTES", e->M)
                                : "sizeof packed_block");
    }
    text_printf(out, " *     %s_init(&net, &params, workspace, %s);\n", m,
                is_apart(e) ? arena_format(&e->cx->arena, "%s_WORKSPACE_BYTES", e->M) : "sizeof workspace");
    if (e->plan->program->entry_count > 0) {
        const struct entry *entry = &e->plan->program->entries[0];
        struct text call = text_new(&e->cx->arena);

        pass_arguments(e, &call, entry_graph(entry));
        text_printf(out, " *     %s_%s(&net%s);\n", m, entry->name, call.data);
    }
    if (is_apart(e))
        text_printf(out,
                    " *     %s_sync(&net);\n *\n"
                    " * packed_block, workspace and the tensors of calls lie in the GPU's memory.\n",
                    m);
    text_add(out, " */\n");
}

/* From the guard to what makes a header of C one of C++. */
static void print_header_includes(struct emit *e, struct text *out)
{
    text_printf(out, "#ifndef MODC_MODEL_%s_H\n#define MODC_MODEL_%s_H\n\n", e->M, e->M);
    if (target_sets_align(e->target))
        text_printf(out, "#ifndef MODC_ALIGN\n#define MODC_ALIGN %d\n#endif\n", e->target->align);
    text_printf(
        out,
        "#include \"%s\"%s%s\n\n#if MODC_ABI != %d\n#error \"%s.h was written for another modc runtime; run modc again\"\n#endif\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        has_optimizer(e) ? "modc_optim.h"
        : is_apart(e)    ? "modc_device.h"
                         : "modc.h",
        has_optimizer(e) && is_apart(e) ? "\n#include \"modc_device.h\"" : "",
        arena_format(&e->cx->arena, "%s%s", e->tree->rollout ? "\n#include \"modc_rollout.h\"" : "",
                     program_generates(e->plan->program) && e->tree->chat
                         ? "\n#include \"modc_generation.h\"\n#include \"modc_template.h\""
                     : program_generates(e->plan->program) ? "\n#include \"modc_generation.h\""
                     : e->tree->chat                       ? "\n#include \"modc_template.h\""
                     : e->tree->tokenizer                  ? "\n#include \"modc_tokenizer.h\""
                                                           : ""),
        MODC_ABI, e->m);
}

/* The bodies that the program is linked with. */
static void print_externs(struct emit *e, struct text *out)
{
    if (!has_externs(e))
        return;
    text_printf(
        out,
        "/* What you write, for the Externs of the spec: see struct modc_extern_call. Compiled with\n"
        " * -DMODC_NO_EXTERNS the model needs none of them: contexts have their own then, by %s_set_extern. */\n",
        e->m);
    for (int i = 0; i < e->tree->extern_count; i++) {
        const struct extern_body *body = e->tree->externs[i];

        text_printf(out, "enum modc_status %s_extern_%s(struct modc_extern_call *call);\n", e->m, body->name);
        if (has_backward(e) && body->backward)
            text_printf(out, "enum modc_status %s_extern_%s_backward(struct modc_extern_call *call);\n", e->m,
                        body->name);
    }
    text_add(out, "\n");
}

static void print_context(struct emit *e, struct text *out)
{
    text_printf(
        out,
        "/* A context: mode, hooks, state, workspace. Many may share one parameter struct. */\nstruct %s {\n"
        "    struct modc_context base;\n%s%s%s%s%s};\n\n",
        e->m, e->plan->backend->apart ? "    struct modc_cuda cuda; /* its stream */\n" : "",
        has_externs(e) ? "    struct modc_extern *externs; /* bodies of its own */\n" : "",
        e->plan->threads > 0 ? "    struct modc_threading threading;\n" : "",
        is_dispatched(e) ? "    const struct modc_isa *isa; /* what calls run on */\n" : "",
        saved_members(e));
}

static void print_training_struct(struct emit *e, struct text *out)
{
    const int count = e->plan->gradient_count > 0 ? e->plan->gradient_count : 1;
    const char *m = e->m;

    if (has_gradients(e))
        text_printf(
            out,
            "/* %s of a context's parameters, in the same struct as these; see %s_get_gradient. */\nstruct %s_training {\n"
            "    struct modc_training base;\n    struct %s_params gradients;\n",
            has_optimizer(e) ? "Gradients and optimiser" : "Gradients", m, m, m);
    else
        text_printf(
            out,
            "/* The optimiser of a context's parameters. */\nstruct %s_training {\n    struct modc_training base;\n",
            m);
    if (is_apart(e)) /* see modc_present_on_host */
        text_printf(out, "%s    bool wants[%d];\n",
                    has_gradients(e)
                        ? arena_format(&e->cx->arena, "    uint64_t present[%d];\n    double numbers[%d];\n",
                                       count, count)
                        : "",
                    count);
    if (has_optimizer(e))
        text_printf(out, "    struct %s_optimizer optimizer;\n", m);
    text_add(out, "};\n\n");
}

static void print_entry_declaration(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);

    text_add(out, "/* ");
    for (int i = 0; i < graph->output_count; i++)
        text_printf(out, "%s%s %s", i ? ", " : "", c_output(e->cx, graph, i),
                    value_shown_text(&e->cx->arena, graph->outputs[i], graph->complex[i]));
    text_add(out, " from");
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, "%s %s %s", i ? "," : "", graph->inputs[i]->name,
                    value_shown_text(&e->cx->arena, graph->inputs[i], graph->inputs[i]->op->input.complex));
    text_printf(out, " */\nenum modc_status %s_%s(struct %s *net", e->m, entry->name, e->m);
    print_arguments(e, out, graph);
    text_add(out, ");\n\n");
    if (!is_apart(e))
        return;
    text_printf(
        out,
        "/* The same with pointers of the host: copies in and out, and waits. Takes %s bytes more of the workspace. */\n"
        "enum modc_status %s_%s_host(struct %s *net",
        host_constant(e, entry), e->m, entry->name, e->m);
    print_arguments(e, out, graph);
    text_add(out, ");\n\n");
}

void print_header(struct emit *e, struct text *out)
{
    print_header_usage(e, out);
    print_header_includes(e, out);
    print_header_sizes(e, out);
    print_header_modules(e, out);
    print_externs(e, out);
    print_context(e, out);
    print_params(e, out); /* what changes with the extents of a module stands together from here on */
    print_header_gradients(e, out);
    print_header_blocks(e, out);
    if (has_optimizer(e))
        emit_training_header(e->cx, out, e->plan);
    if (has_backward(e))
        print_training_struct(e, out);
    for (int i = 0; i < e->plan->program->entry_count; i++) {
        print_entry_declaration(e, out, &e->plan->program->entries[i]);
        if (has_gradients(e))
            print_backward_declaration(e, out, &e->plan->program->entries[i]);
    }
    if (has_optimizer(e))
        print_step_declaration(e, out);
    if (e->tree->rollout)
        emit_rollout_header(e->cx, out, (struct rollout_names){e->m, e->M}, e->tree->rollout);
    if (e->tree->tokenizer)
        emit_tokenizer_header(out, e->m, e->M, e->tree->tokenizer);
    if (e->tree->chat)
        emit_chat_header(out, e->m, e->tree->chat);
    if (program_generates(e->plan->program))
        emit_generation_header(e, out);
    text_printf(
        out,
        "/* The model in tables: inputs, outputs, keys, modules, entries. */\nextern const struct modc_model %s_model;\n\n",
        e->m);
    if (e->weights)
        text_printf(out,
                    "/* Binds the weights that are embedded in the program; nothing is copied. */\n"
                    "enum modc_status %s_bind_embedded(struct %s_params *params);\n\n",
                    e->m, e->m);
    print_wrappers(e, out);
    text_add(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
