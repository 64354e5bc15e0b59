/* emit_entry.c - what users call: entries, backward, a step of training; and the choice of an instruction set. */
#include "emit/emit_room.h"

#include <string.h>

#include "base/options.h"
#include "emit/dispatch.h"
#include "emit/emit_names.h"
#include "module/training.h"

/* The variants of entries, each once: what generate --dispatch compiles for several instruction sets. */
void print_code(struct emit *e, struct text *out)
{
    struct text members = text_new(&e->cx->arena), values = text_new(&e->cx->arena);

    for (int i = 0; i < e->plan->variant_count; i++) {
        const struct variant *variant = e->plan->variants[i];

        if (variant->graph->region || variant->same)
            continue;
        text_printf(&members, "    %s (*%s)(struct %s *net",
                    variant->fails[PART_FORWARD] ? "enum modc_status" : "void", variant->function, e->m);
        print_arguments(e, &members, variant->graph);
        text_add(&members, ");\n");
        text_printf(&values, "    .%s = %s_%s,\n", variant->function, e->m, variant->function);
        if (variant->yield < 0)
            continue;
        text_printf(&members, "    %s (*%s)(struct %s *net",
                    variant->fails[PART_BACKWARD] ? "enum modc_status" : "void",
                    part_function(e, variant, PART_BACKWARD), e->m);
        print_second_arguments(e, &members, variant);
        text_add(&members, ");\n");
        text_printf(&values, "    .%s = %s_%s,\n", part_function(e, variant, PART_BACKWARD), e->m,
                    part_function(e, variant, PART_BACKWARD));
    }
    text_printf(
        out,
        "/* What contexts call that run on the instruction set that this was compiled for. */\nstruct %s_code {\n%s};\n\n"
        "MODC_HIDDEN const struct %s_code MODC_CODE = {\n%s};\n\n",
        e->m, members.data, e->m, values.data);
}

/* A line for each set, with the best one of a machine last, or first; those of a machine for it alone. */
static void print_isas(struct emit *e, struct text *out, bool best_first,
                       void (*print)(struct emit *e, struct text *out, const struct isa_row *isa))
{
    const struct isa_row *const *rows;
    const int count = dispatch_rows(e->cx, e->plan, &rows);
    int end;

    for (int first = 0; first < count; first = end) {
        for (end = first; end < count && rows[end]->machine == rows[first]->machine;)
            end++;
        text_printf(out, "%s\n", rows[first]->machine->wants);
        for (int i = first; i < end; i++)
            print(e, out, rows[best_first ? first + end - 1 - i : i]);
        text_add(out, "#endif\n");
    }
}

static void declare_isa(struct emit *e, struct text *out, const struct isa_row *isa)
{
    text_printf(out, "MODC_HIDDEN extern const struct %s_code %s_code_%s;\n", e->m, e->m, isa->suffix);
}

static void print_isa(struct emit *e, struct text *out, const struct isa_row *isa)
{
    text_printf(out, "    {\"%s\", modc_has_%s, &%s_code_%s},\n", isa->name, isa->suffix, e->m, isa->suffix);
}

/* What there is once, in front of all else: the choice of each context. */
void print_choice(struct emit *e, struct text *out)
{
    print_isas(e, out, false, declare_isa);
    text_add(out, "\nstatic const struct modc_isa isas_table[] = { /* the best one first */\n");
    print_isas(e, out, true, print_isa);
    text_printf(
        out,
        "    {MODC_ISA, NULL, &%s_code},\n};\n\n"
        "static const struct modc_dispatch dispatch_table = {sizeof isas_table / sizeof *isas_table, isas_table,\n"
        "                                                    offsetof(struct %s, isa)};\n\n"
        "static const struct %s_code *%s_code_of(const struct %s *net)\n{\n    return net->isa->code;\n}\n\n",
        e->m, e->m, e->m, e->m, e->m);
}

static void print_call_of(struct emit *e, struct text *out, const struct variant *variant, bool backward,
                          const char *indent)
{
    const struct variant *shown = variant->same ? variant->same : variant;
    struct text call = text_new(&e->cx->arena);

    if (backward)
        pass_second_arguments(e, &call, shown);
    else
        pass_arguments(e, &call, variant->graph);
    if (e->plan->program->settings.flushes)
        text_printf(out, "%sfloat_mode = modc_flush_denormals();\n", indent);
    text_printf(out, "%s%s", indent,
                variant->fails[backward ? PART_BACKWARD : PART_FORWARD] ? "status = " : "");
    text_printf(out, is_dispatched(e) ? "%s_code_of(net)->" : "%s_", e->m);
    text_printf(out, "%s(net%s);\n", backward ? part_function(e, shown, PART_BACKWARD) : shown->function,
                call.data);
    if (e->plan->program->settings.flushes)
        text_printf(out, "%smodc_set_float_mode(float_mode);\n", indent);
}

/* Tests the workspace and calls the variant. */
static void print_choice_of(struct emit *e, struct text *out, const struct entry *entry, int training,
                            enum emitted_variant kind, const char *indent)
{
    const struct variant *variant = entry_variant(e, entry, training, kind);

    text_printf(out, "%sMODC_TRY(modc_check(&net->base, %s, %s, %s));\n", indent,
                workspace_constant(e, entry, training, kind), variant->uses_packed ? "true" : "false",
                variant->uses_buffers ? "true" : "false");
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
                variant->fails[PART_FORWARD] ? "status != MODC_OK ? 0 : " : "",
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
    if (fused->writes_buffers && e->plan->backend->apart)
        text_printf(&done, "%smodc_cuda_wrote(&net->base);\n", indent);
    if (fused->draws)
        text_printf(&done,
                    e->plan->backend->apart ? "%sstatus = modc_cuda_drawn(&net->base);\n"
                                            : "%snet->base.counter++;\n",
                    indent);
    if (done.length > 0 && (fenced || fused->fails[PART_FORWARD]))
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

/* A side of a requirement, in 64 bits where the maxima of its sizes leave 32. */
static const char *side_text(struct emit *e, const struct dim *side)
{
    struct arena *arena = &e->cx->arena;
    struct size *wide;

    if (dim_fits(side, INT32_MAX))
        return dim_c_text(e->cx, side, false);
    wide = ARENA_ARRAY(arena, e->tree->size_count + 1, struct size);
    for (int i = 0; i < e->tree->size_count; i++) {
        wide[i] = e->tree->sizes[i];
        wide[i].limits = NULL;
        wide[i].c_name = arena_format(arena, "(int64_t)%s", wide[i].c_name);
    }
    return dim_c_text(e->cx, dim_over(arena, side, wide), false);
}

const char *requirement_c_text(struct emit *e, const struct requirement *requirement)
{
    return arena_format(&e->cx->arena, "%s %s %s", side_text(e, requirement->left), requirement->op,
                        side_text(e, requirement->right));
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

        const char *mode = in[0] && in[1] ? "" : in[1] ? "!net->base.training" : "net->base.training";

        if (*mode && dim_is_const(need->dim, NULL)) /* never in this mode */
            text_printf(out, "    MODC_NEED(%s, SIZE);\n", mode);
        else
            text_printf(out, "    MODC_NEED(%s%s%s %s, SIZE);\n", mode, *mode ? " || " : "",
                        dim_c_text(e->cx, need->dim, false), need->not_one ? "!= 1" : ">= 0");
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
                        bytes == 8 ? "    MODC_NEED(%s%s%s %% MODC_ALIGN_WIDE == 0, ALIGNMENT);\n"
                                   : "    MODC_NEED(%s%s%s %% %d == 0, ALIGNMENT);\n",
                        count > 1 ? "(" : "", tensors.data, count > 1 ? ")" : "", bytes);
    }
}

/* The same with pointers of the host. */
static void print_host_call(struct emit *e, struct text *out, const struct entry *entry, bool backward)
{
    const struct graph *graph = entry_graph(entry);
    struct text arrays[2] = {text_new(&e->cx->arena), text_new(&e->cx->arena)};
    const int counts[] = {backward ? graph->result_count : graph->input_count,
                          backward ? graph->input_count : graph->result_count};

    text_printf(out, "enum modc_status %s_%s_host(struct %s *net", e->m,
                backward ? backward_name(e, entry) : entry->name, e->m);
    if (backward)
        print_backward_arguments(e, out, graph);
    else
        print_arguments(e, out, graph);
    text_add(out, ")\n{\n");
    for (int made = 0; made < 2; made++)
        for (int i = 0; i < counts[made]; i++) {
            const bool output = made != backward;
            const struct value *value = output ? graph->outputs[i] : graph->inputs[i];
            const char *name = output ? graph->output_names[i] : value->name;

            text_printf(&arrays[made], "%s%s", i ? ", " : "",
                        !backward ? output ? c_output(e->cx, graph, i) : c_argument(e->cx, name)
                        : !has_gradient(graph, value) ? "NULL"
                                                      : c_gradient(e->cx, graph, name, output));
        }
    text_printf(out, "    const void *given[%d] = {%s};\n    void *made[%d] = {%s};\n",
                2 * counts[0] > 0 ? 2 * counts[0] : 1, counts[0] ? arrays[0].data : "NULL",
                2 * counts[1] > 0 ? 2 * counts[1] : 1, counts[1] ? arrays[1].data : "NULL");
    if (e->tree->size_count > 0) {
        text_add(out, "    const int all_sizes[] = {");
        for (int i = 0; i < e->tree->size_count; i++)
            text_printf(out, "%s%s", i ? ", " : "", e->tree->sizes[i].c_name);
        text_add(out, "};\n");
    }
    text_printf(
        out,
        "\n    return net == NULL ? MODC_POINTER\n"
        "                       : modc_%s_host(&net->base, &%s_model.entries[%d], %s, given, made);\n}\n\n",
        backward ? "backward" : "call", e->m, (int)(entry - e->plan->program->entries),
        e->tree->size_count > 0 ? "all_sizes" : "NULL");
}

/* A machine of its own: what the caller's pointers point to is there. */
static void print_on_device(struct emit *e, struct text *out, const struct graph *graph)
{
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, "    MODC_ON_DEVICE(%s);\n", c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->output_count; i++)
        text_printf(out, "    MODC_ON_DEVICE(%s);\n", c_output(e->cx, graph, i));
}

void print_entry(struct emit *e, struct text *out, const struct entry *entry)
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
    text_printf(out, "{\n    enum modc_status status = MODC_OK;\n%s\n    MODC_NEED(net",
                e->plan->program->settings.flushes ? "    uint64_t float_mode;\n" : "");
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, " && %s", c_argument(e->cx, graph->inputs[i]->name));
    for (int i = 0; i < graph->output_count; i++)
        text_printf(out, " && %s", c_output(e->cx, graph, i));
    text_add(out, ", POINTER);\n");
    print_alignment(e, out, graph, false);
    for (int i = 0; i < e->tree->size_count; i++) {
        const char *size = e->tree->sizes[i].c_name;

        text_printf(out, "    MODC_NEED(%s >= 0 && %s <= %s, SIZE);\n", size, size,
                    max_constant(e, entry, i));
    }
    for (int i = 0; i < e->tree->requirement_count; i++)
        text_printf(out, "    MODC_NEED(%s, SIZE);\n", requirement_c_text(e, &e->tree->requirements[i]));
    print_needs(e, out, entry);
    if (e->plan->backend->apart)
        print_on_device(e, out, graph);
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
    if (e->plan->backend->apart)
        print_host_call(e, out, entry, false);
}

/* The second call of one kind, in the mode that the first was in. */
/* Statements that another condition each is for; braces where one of the two has several. */
static void print_either(struct text *out, const char *indent, const char *condition, const char *first,
                         const char *second)
{
    const bool single = strchr(first, '\n')[1] == 0 && strchr(second, '\n')[1] == 0;

    text_printf(out, "%sif (%s)%s\n%s", indent, condition, single ? "" : " {", first);
    text_printf(out, "%s%s\n%s", indent, single ? "else" : "} else {", second);
    if (!single)
        text_printf(out, "%s}\n", indent);
}

static void print_second_call(struct emit *e, struct text *out, const struct entry *entry,
                              enum emitted_variant kind, const char *indent)
{
    const struct variant *eval = entry_variant(e, entry, 0, kind), *train = entry_variant(e, entry, 1, kind);
    const char *deeper = arena_format(&e->cx->arena, "%s    ", indent);
    struct text training = text_new(&e->cx->arena), other = text_new(&e->cx->arena);

    if (train->same == eval) {
        print_call_of(e, out, eval, true, indent);
        return;
    }
    print_call_of(e, &training, train, true, deeper);
    print_call_of(e, &other, eval, true, deeper);
    print_either(out, indent, "net->base.saved % 2 == 0", training.data, other.data);
}

static void print_gradients_on_device(struct emit *e, struct text *out, const struct graph *graph)
{
    for (int i = 0; i < graph->result_count; i++)
        if (has_gradient(graph, graph->outputs[i]))
            text_printf(out, "    MODC_ON_DEVICE(%s);\n",
                        c_gradient(e->cx, graph, graph->output_names[i], true));
    for (int i = 0; i < graph->input_count; i++)
        if (has_gradient(graph, graph->inputs[i]))
            text_printf(out, "    MODC_ON_DEVICE(%s);\n",
                        c_gradient(e->cx, graph, graph->inputs[i]->name, false));
}

/* The gradient of a loss with a scaler on a machine of its own: its optimiser's is sent there. */
static void print_sent_scale(struct emit *e, struct text *out, const struct graph *graph)
{
    const char *gradient = c_gradient(e->cx, graph, graph->output_names[0], true);

    text_printf(out, "    const void *%s;\n\n", gradient);
    emit_line(out, arena_format(&e->cx->arena,
                                "    MODC_TRY(modc_send_loss_scale(net->base.trainer, "
                                "modc_loss_scale(&training->optimizer.base), %s, &%s));",
                                dtype_rows[graph->outputs[0]->dtype].modc, gradient));
}

/* The same, in its type, and on a processor. */
static void print_scale(struct emit *e, struct text *out, const struct graph *graph)
{
    const enum dtype dtype = graph->outputs[0]->dtype;
    const char *format = dtype == DTYPE_FLOAT16    ? "modc_f32_to_half(%s)"
                         : dtype == DTYPE_BFLOAT16 ? "modc_f32_to_bfloat16(%s)"
                         : dtype == DTYPE_FLOAT64  ? "(double)%s"
                                                   : "%s";
    struct text scale = text_new(&e->cx->arena);

    text_printf(out, "    const struct %s_training *training = (const void *)net->base.trainer;\n", e->m);
    if (e->plan->backend->apart) {
        print_sent_scale(e, out, graph);
        return;
    }
    text_printf(&scale, format, "modc_loss_scale(&training->optimizer.base)");
    emit_line(out, arena_format(&e->cx->arena, "    const %s %s[] = {%s};", dtype_rows[dtype].c,
                                c_gradient(e->cx, graph, graph->output_names[0], true), scale.data));
    text_add(out, "\n");
}

void print_backward(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);
    struct text none = text_new(&e->cx->arena);
    int results = 0; /* whose gradients it takes */

    if (!has_gradients(e))
        text_printf(out,
                    "/* Behind %s_loss, with its sizes: updates the parameters that are wanted. */\nstatic ",
                    e->m);
    text_printf(out, "enum modc_status %s_%s(struct %s *net", e->m, backward_name(e, entry), e->m);
    print_backward_arguments(e, out, graph);
    text_printf(out, ")\n{\n    enum modc_status status = MODC_OK;\n%s\n",
                e->plan->program->settings.flushes ? "    uint64_t float_mode;\n" : "");
    for (int i = 0; i < graph->result_count; i++)
        if (has_gradient(graph, graph->outputs[i]))
            text_printf(&none, "%s%s", results++ > 0 ? " || " : "",
                        c_gradient(e->cx, graph, graph->output_names[i], true));
    if (results > 0)
        text_printf(out,
                    results > 1 ? "    MODC_NEED(net && (%s), POINTER);\n"
                                : "    MODC_NEED(net && %s, POINTER);\n",
                    none.data);
    else
        text_add(out, "    MODC_NEED(net, POINTER);\n");
    print_alignment(e, out, graph, true);
    text_printf(out, "    MODC_TRY(modc_backward_begin(&net->base, %d));\n",
                (int)(entry - e->plan->program->entries));
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, "    MODC_NEED(%s == net->saved_sizes[%d], SIZE);\n", e->tree->sizes[i].c_name, i);
    if (is_scaled(e, graph))
        print_scale(e, out, graph);
    if (e->plan->backend->apart)
        print_gradients_on_device(e, out, graph);
    if (entry_variant(e, entry, 0, EMITTED_SAVING_FENCED)) {
        struct text hooked = text_new(&e->cx->arena), other = text_new(&e->cx->arena);

        print_second_call(e, &hooked, entry, EMITTED_SAVING_FENCED, "        ");
        print_second_call(e, &other, entry, EMITTED_SAVING, "        ");
        print_either(out, "    ", "net->base.saved_hooked", hooked.data, other.data);
    } else {
        print_second_call(e, out, entry, EMITTED_SAVING, "    ");
    }
    text_add(out, "    return status;\n}\n\n");
    if (e->plan->backend->apart && has_gradients(e))
        print_host_call(e, out, entry, true);
}

/* Through arrays, for struct modc_entry. */
void print_backward_call(struct emit *e, struct text *out, const struct entry *entry)
{
    const struct graph *graph = entry_graph(entry);

    text_printf(out, "MODC_BACKWARD_CALL(%s, %s, %s, (net", e->m, entry->name, backward_name(e, entry));
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", sizes[%d]", i);
    for (int i = 0; i < graph->result_count; i++)
        if (has_gradient(graph, graph->outputs[i]))
            text_printf(out, ", output_gradients[%d]", i);
    for (int i = 0; i < graph->input_count; i++)
        if (has_gradient(graph, graph->inputs[i]))
            text_printf(out, ", input_gradients[%d]", i);
    text_add(out, "))\n");
}

/* Whether an axis of the input, or of one before it, has the same length in front of this one. */
static bool is_repeated(const struct graph *graph, int input, int axis)
{
    const struct dim *dim = graph->inputs[input]->dims[axis];

    for (int i = 0; i <= input; i++)
        for (int d = 0; d < (i < input ? graph->inputs[i]->ndim : axis); d++)
            if (dim_equal(graph->inputs[i]->dims[d], dim))
                return true;
    return false;
}

/* Conditions under which an input has no elements, each once. */
static const char *empty_inputs(struct emit *e, const struct graph *graph)
{
    struct text out = text_new(&e->cx->arena);

    for (int i = 0; i < graph->input_count; i++) {
        for (int d = 0; d < graph->inputs[i]->ndim; d++) {
            const struct dim *dim = graph->inputs[i]->dims[d];

            if (dim_lower(dim) <= 0 && !is_repeated(graph, i, d))
                text_printf(&out, "%s%s == 0", out.length ? " || " : "", dim_c_text(e->cx, dim, false));
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

void print_train_step(struct emit *e, struct text *out)
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

    text_printf(out, "MODC_TRAIN_CALLS(%s, (training", m);
    for (int i = 0; i < e->tree->size_count; i++)
        text_printf(out, ", sizes[%d]", i);
    for (int i = 0; i < graph->input_count; i++)
        text_printf(out, ", inputs[%d]", i);
    text_add(out, ", loss))\n\n");
}
