/* emit_function.c - the functions of variants: one for each part, with its steps in running order. */
#include "emit/emit_room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit_names.h"
#include "emit/template.h"

/* Whether the call stands in the other one, or in one that does. */
static bool is_within(const struct module_call *call, const struct module_call *other)
{
    while (call && call != other)
        call = call->outer;
    return call;
}

/* A line of the spec computes something: a layer, whatever `add` put below it, but no container, nor what calls its parts. */
static bool is_line(const struct graph *graph, const struct module_call *call)
{
    const struct module *module = call->module;

    for (int i = call->index + 1; i < graph->call_count && is_within(graph->calls[i], call); i++)
        if (!graph->calls[i]->module->changed)
            return false;
    if (module->child_count > 0)
        return module->elementwise || (module->layer && module->layer->container == LAYER_PLAIN);
    return !module->spec_class || module->text[0];
}

/* Where the spec's own words stand over calls: once for each module, so that other arguments of it change one place. Else comments
 * have the modules' paths. */
static bool is_quoted(const struct variant *variant)
{
    return !variant->graph->training && !variant->graph->fenced && variant->yield < 0;
}

/* What of a variant's module calls a comment has named, and the first step of each. */
struct naming {
    int next;   /* all before are named */
    bool *said; /* by number of the call */
    int *first; /* -1: other steps compute it */
};

static struct naming naming_new(struct emit *e, const struct variant *variant, int end)
{
    const int count = variant->graph->call_count;
    struct naming naming = {.said = ARENA_ARRAY(&e->cx->arena, count + 1, bool),
                            .first = ARENA_ARRAY(&e->cx->arena, count + 1, int)};

    for (int i = 0; i < count; i++)
        naming.first[i] = -1;
    for (int s = end - 1; s >= 0; s--)
        if (variant->steps[s].op->call)
            naming.first[variant->steps[s].op->call->index] = s;
    return naming;
}

/* The leaf modules over a step: of those before `until` that none names yet all but the ones with steps behind it. */
static void print_calls(struct emit *e, struct text *out, const struct variant *variant,
                        struct naming *naming, int s, int until)
{
    const struct graph *graph = variant->graph;
    struct text lines = text_new(&e->cx->arena);
    bool quoted = false;

    while (naming->next < graph->call_count && naming->said[naming->next])
        naming->next++;
    for (int i = naming->next; i < until && is_quoted(variant); i++)
        quoted |= !naming->said[i] && naming->first[i] <= s && !e->quoted[graph->calls[i]->module->index];
    for (int i = naming->next; i < until; i++) {
        const struct module *module = graph->calls[i]->module;

        if (naming->said[i] || naming->first[i] > s)
            continue;
        naming->said[i] = true;
        if (!is_line(graph, graph->calls[i]))
            continue;
        if (lines.length > 0)
            text_add(&lines, quoted ? "\n     * " : ", ");
        text_add(&lines, text_in_comment(&e->cx->arena, relative_path(graph->root, module->path)));
        if (quoted)
            text_printf(&lines, ": %s", text_in_comment(&e->cx->arena, module->text));
        e->quoted[module->index] |= quoted;
        text_add(&lines, spec_line(e, module));
    }
    if (lines.length > 0)
        text_printf(out, "\n    /* %s */\n", lines.data);
}

/* Behind the pointer in a struct modc_tensor: MODC_FLOAT32, 2, {batch, 64} */
static const char *tensor_text(struct emit *e, const struct value *like, bool complex)
{
    const int ndim = like->ndim - complex;
    struct text out = text_new(&e->cx->arena);

    text_printf(&out, "%s, %d, {", dtype_rows[value_shown_dtype(like, complex)].modc, ndim);
    for (int d = 0; d < ndim; d++)
        text_printf(&out, "%s%s", d ? ", " : "", dim_c_text(e->cx, use_dim(e->uses, like->dims[d]), false));
    text_printf(&out, "%s}", ndim == 0 ? "0" : "");
    return out.data;
}

/* What hooks see: a local or another slot, or {x, MODC_FLOAT32, 2, {batch, 64}}, ... */
static const char *slot_texts(struct emit *e, const struct variant *variant, const struct op *op)
{
    struct text out = text_new(&e->cx->arena);

    for (int i = 0; i < fence_slot_count(op); i++) {
        const int at = fence_value_in(op, i);
        const struct place *place = at < 0 ? NULL : &variant->places[op->inputs[at]->base->id];

        if (place && (place->kind == PLACE_FENCE || place->shown) && fence_shows_whole(op, i))
            text_printf(&out, ", %s", use(e->uses, place->name));
        else
            text_printf(&out, ", {%s, %s}",
                        at < 0 ? "NULL" : value_pointer(e->cx, variant, e->uses, op->inputs[at]),
                        tensor_text(e, fence_like(op, i), fence_is_complex(op, i)));
    }
    return out.data;
}

/* Where a module's call begins: its boundary names it, --line-numbers its line. */
static void print_module(struct emit *e, struct text *out, const struct variant *variant,
                         const struct step *step)
{
    const struct module *module = step->op->fence.module;
    const struct op *before = step > variant->steps ? step[-1].op : NULL;

    const char *line = module == variant->graph->root ? "" : spec_line(e, module);

    if (line[0])
        text_printf(out, "\n    /* %s%s */\n",
                    text_in_comment(&e->cx->arena, relative_path(variant->graph->root, module->path)), line);
    else if (!(before && before->code == GRAPH_OP_FENCE && before->fence.kind == FENCE_FORWARD_PRE))
        text_add(out, "\n"); /* modules that begin together stand together */
}

/* Hooks run here; see MODC_ENTER and its like in modc.h. */
static void print_fence(struct emit *e, struct text *out, const struct variant *variant,
                        const struct step *step)
{
    static const struct {
        const char *hooks, *none;
        bool begins, backward;
    } kinds[] = {
        [FENCE_FORWARD_PRE] = {"MODC_ENTER", "MODC_ENTER_NONE", true, false},
        [FENCE_FORWARD] = {"MODC_LEAVE", "MODC_LEAVE_NONE", false, false},
        [FENCE_BACKWARD_PRE] = {"MODC_BACKWARD_ENTER", "MODC_BACKWARD_ENTER_NONE", true, true},
        [FENCE_BACKWARD] = {"MODC_BACKWARD_LEAVE", "MODC_BACKWARD_LEAVE_NONE", false, true},
    };
    const struct op *op = step->op;
    const enum fence_kind kind = op->fence.kind;

    if (kind == FENCE_FORWARD_PRE)
        print_module(e, out, variant, step);
    text_printf(out, "    %s(%s, %s", fence_slot_count(op) > 0 ? kinds[kind].hooks : kinds[kind].none,
                use(e->uses, "net"), step->boundary);
    if (kinds[kind].begins)
        text_printf(out, ", %s", module_number(e, variant, op->fence.module));
    text_printf(out, "%s);\n", slot_texts(e, variant, op));
    for (int i = 0; i < fence_slot_count(op); i++) {
        const int at = fence_value_in(op, i);
        const struct place *place = at < 0 ? NULL : &variant->places[op->outputs[at]->id];

        if (place && place->index >= 0)
            text_printf(out, "    %s[%d] = %s.data;\n", use(e->uses, "kept_slots"), place->index,
                        use(e->uses, place->name));
    }
}

/* Whether kernels run on a machine of its own, so that checks and copies are started as they are. */
static bool is_apart(const struct emit *e)
{
    return e->plan->backend->apart;
}

/* What a call that ends with a status stands in. */
static const char *try_macro(const struct variant *variant, enum part part)
{
    return !variant->graph->fenced ? "MODC_TRY"
           : part == PART_FORWARD  ? "MODC_TRY_HOOKED"
                                   : "MODC_TRY_BACKWARD";
}

/* Of the elements of an input, by modc_check_index and its like. */
static void print_check(struct emit *e, struct text *out, const struct variant *variant, const struct op *op,
                        enum part part)
{
    static const char *const names[] = {
        [CHECK_INDEX] = "index", [CHECK_DIVISOR] = "divisor", [CHECK_TRUE] = "true"};
    const struct value *value = op->inputs[0];
    const char *extent = op->check.kind == CHECK_INDEX
                             ? dim_c_text(e->cx, use_dim(e->uses, op->check.extent), true)
                             : "";

    use(e->uses, "net");
    if (is_apart(e))
        text_printf(out, "    %s(modc_cuda_check_%s, net->cuda.head, ", run_macro(variant, part),
                    names[op->check.kind]);
    else
        text_printf(out, "    %s(modc_check_%s(&net->base, ", try_macro(variant, part),
                    names[op->check.kind]);
    text_printf(out, "%s, %s, %s, %s",
                module_number(e, variant, op->call ? op->call->module : variant->graph->root),
                value_pointer(e->cx, variant, e->uses, value), dtype_rows[value->dtype].modc,
                dim_c_text(e->cx, use_dim(e->uses, dims_count(&e->cx->arena, value)), false));
    if (op->check.kind == CHECK_INDEX)
        text_printf(out, ", %s%s, %s", op->check.negative ? "-" : "", op->check.negative ? extent : "0",
                    extent);
    text_add(out, is_apart(e) ? ");\n" : "));\n");
}

/* A list of tensors that a body of the user's reads or writes, one a line; those that are not there (NULL) are as others are. */
static void print_tensors(struct emit *e, struct text *out, const struct variant *variant, const char *macro,
                          struct value *const *values, struct value *const *like, int count)
{
    const char *begin = ",\n        ";

    if (count == 0)
        text_printf(out, "%sNULL", begin);
    for (int i = 0; i < count; i++)
        text_printf(out, "%s%s%s{%s, %s}", i ? ",\n" : begin,
                    i ? arena_format(&e->cx->arena, "%*s", 9 + (int)strlen(macro), "") : macro, i ? "" : "(",
                    values[i] ? value_pointer(e->cx, variant, e->uses, values[i]) : "NULL",
                    tensor_text(e, like[i], false));
    text_add(out, count > 0 ? ")" : "");
}

/* The call of such a body, or of its backward. */
static void print_extern(struct emit *e, struct text *out, const struct variant *variant, const struct op *op,
                         enum part part)
{
    struct arena *arena = &e->cx->arena;
    const bool backward = op->external.backward;
    const int inputs = op->external.inputs, results = op->external.results;
    struct value *const *forward = backward ? op->inputs + inputs : op->outputs;
    struct value **given = ARENA_ARRAY(arena, results + 1, struct value *);
    struct value **wanted = ARENA_ARRAY(arena, inputs + 1, struct value *);

    text_printf(out, "    %s(modc_call_extern%s(&%s->base, \"%s\", %s, %d, %d", try_macro(variant, part),
                backward ? "_backward" : "", use(e->uses, "net"), op->external.module->body->name,
                module_number(e, variant, op->external.module), inputs, results);
    print_tensors(e, out, variant, "MODC_READS", op->inputs, op->inputs, inputs);
    print_tensors(e, out, variant, backward ? "MODC_READS" : "MODC_WRITES", forward, forward, results);
    for (int i = inputs + results; i < op->input_count; i++)
        given[op->external.given[i - inputs - results]] = op->inputs[i];
    for (int i = 0; backward && i < op->output_count; i++)
        wanted[op->external.wanted[i]] = op->outputs[i];
    if (backward) {
        print_tensors(e, out, variant, "MODC_READS", given, forward, results);
        print_tensors(e, out, variant, "MODC_WRITES", wanted, op->inputs, inputs);
    }
    text_add(out, "));\n");
}

/* Where a region's parts keep what they share, or where it works. */
const char *block_name(struct emit *e, const struct variant *variant, bool kept)
{
    return use(e->uses, variant->graph->region && kept ? "kept" : "ws");
}

static bool is_kept_slots(const struct interval *interval)
{
    return strcmp(interval->what, "kept") == 0;
}

static void print_kept_slots(struct emit *e, struct text *out, const struct variant *variant)
{
    bool kept = false;

    for (int i = 0; i < variant->interval_count; i++)
        kept |= is_kept_slots(&variant->intervals[i]) && variant->intervals[i].kept;
    if (is_apart(e)) { /* the host reads them; each instance of a region has some */
        const char *net = use(e->uses, "net");

        if (variant->graph->region)
            text_printf(out, "    void **const kept_slots = %s->kept_slots + %d * %s;\n", net,
                        plan_most_kept(e->plan), use(e->uses, "module"));
        else
            text_printf(out, "    void **const kept_slots = %s->kept_slots;\n", net);
        return;
    }
    text_printf(out,
                "    void **const kept_slots = (void *)(%s + %lld); /* what hooks gave, for backward */\n",
                block_name(e, variant, kept), (long long)variant->kept_offset);
}

/* The slots of an earlier part that one reads values in: `x_call_in[] = {[0] = {.data = kept_slots[3]}}`. */
static void print_slots_again(struct emit *e, struct text *out, const struct variant *variant, int s)
{
    static const char *const ends[] = {[FENCE_FORWARD_PRE] = "in",
                                       [FENCE_FORWARD] = "out",
                                       [FENCE_BACKWARD_PRE] = "dout",
                                       [FENCE_BACKWARD] = "din"};
    const struct step *step = &variant->steps[s];
    const struct op *op = step->op;
    const char *name = arena_format(&e->cx->arena, "%s_%s", step->boundary, ends[op->fence.kind]);
    struct text items = text_new(&e->cx->arena);
    bool used = false;

    for (int i = 0; i < fence_slot_count(op); i++) {
        const int at = fence_value_in(op, i);
        const struct place *place = at < 0 ? NULL : &variant->places[op->outputs[at]->id];
        const int kept = place ? place->index : -1;

        used |= kept >= 0 && uses_name(e->uses, place->name);
        if (kept >= 0)
            text_printf(&items, "%s[%d] = {.data = kept_slots[%d]}", items.length ? ", " : "", i, kept);
    }
    if (used)
        text_printf(out, "    const struct modc_tensor %s[] = {%s};\n", name, items.data);
}

/* What a part uses of the workspace. */
static void print_locals(struct emit *e, struct text *out, const struct variant *variant, enum part part)
{
    const bool all = variant_parts(variant) == 1;
    struct text again = text_new(&e->cx->arena);

    if (!all && uses_name(e->uses, "zeros"))
        text_printf(out, "    char *const zeros = %s + %lld;\n", use(e->uses, "ws"),
                    (long long)variant->zeros_offset);
    for (int s = 0; s < variant_first(variant, part); s++)
        if (variant->steps[s].op->code == GRAPH_OP_FENCE)
            print_slots_again(e, &again, variant, s);
    if (!all && (again.length > 0 || uses_name(e->uses, "kept_slots")))
        print_kept_slots(e, out, variant);
    text_add(out, again.data);
    for (int i = 0; i < variant->shadow_count; i++) {
        const struct module_tensor *tensor = variant->shadows[i];
        const int64_t count = module_tensor_parts(tensor);
        const char *name = shadow_name(e->cx, tensor);

        if (all || uses_name(e->uses, name))
            text_printf(out, "    %s (*const %s)[%lld] = (void *)(%s + %lld);\n", dtype_rows[tensor->dtype].c,
                        name, (long long)(count > 0 ? count : 1), use(e->uses, "ws"),
                        (long long)variant->shadow_offsets[i]);
    }
    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;
        const struct value *block = op->code == GRAPH_OP_CALL ? call_block(op)
                                                              : NULL; /* which the calls place */

        for (int j = 0; j < op->output_count; j++) {
            const struct value *value = op->outputs[j]->base;
            const struct place *place = &variant->places[value->id];
            const bool first = place->kind == PLACE_WORKSPACE && place->first == s && place->output == j;

            if (!first || (block && value == block->base) || (!all && !uses_name(e->uses, place->name)))
                continue;
            if (place->shown)
                text_printf(out, "    const struct modc_tensor %s = {%s + %lld, %s};\n", place->name,
                            block_name(e, variant, place->kept), (long long)place->offset,
                            tensor_text(e, value, false));
            else
                text_printf(out, "    %s *const %s = (void *)(%s + %lld); /* %s */\n",
                            dtype_rows[value->dtype].c, place->name, block_name(e, variant, place->kept),
                            (long long)place->offset, shape_of(e->cx, value));
        }
    }
}

static const char *shadow_source(struct emit *e, const struct module_tensor *tensor)
{
    if (tensor->kind == MODULE_STATE)
        return arena_format(&e->cx->arena, "%s->%s", use(e->uses, "s"), emitted_flat(e->cx, tensor->path));
    return arena_format(&e->cx->arena, "%s->%s", use(e->uses, "p"),
                        tensor_member(e->cx, e->tree->root, tensor));
}

static void print_shadows(struct emit *e, struct text *out, const struct variant *variant, bool commit)
{
    for (int i = 0; i < variant->shadow_count; i++) {
        const struct module_tensor *tensor = variant->shadows[i];
        const char *shadow = use(e->uses, shadow_name(e->cx, tensor));
        const char *source = shadow_source(e, tensor);

        if (module_tensor_count(tensor) > 0 && is_apart(e)) {
            use(e->uses, "net");
            text_printf(out,
                        commit ? "    %s(modc_cuda_commit, net->cuda.head, %s, %s, sizeof *(%s));\n"
                               : "    %s(modc_cuda_copy, %s, %s, sizeof *(%s));\n",
                        run_macro(variant, PART_FORWARD), commit ? source : shadow, commit ? shadow : source,
                        shadow);
        } else if (module_tensor_count(tensor) > 0)
            text_printf(out, commit ? "    MODC_COMMIT(%s, %s);\n" : "    MODC_SHADOW(%s, %s);\n", shadow,
                        source);
    }
}

/* Over the steps of a module in the second call. */
static void print_backward_comment(struct emit *e, struct text *out, const struct variant *variant,
                                   const struct module_call *call)
{
    while (call->outer && !is_line(variant->graph, call))
        call = call->outer;
    if (is_line(variant->graph, call) && call->module->path[0])
        text_printf(out, "\n    /* %s, backward%s */\n",
                    text_in_comment(&e->cx->arena, relative_path(variant->graph->root, call->module->path)),
                    spec_line(e, call->module));
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
        return arena_format(&e->cx->arena, "%s->base.wants[%s]", use(e->uses, "training"),
                            gradient_number(variant, e->uses, place));
    return use(e->uses, place->name);
}

/* Gradients of results that the caller leaves out are zero. */
static void print_zeros(struct emit *e, struct text *out, const struct variant *variant)
{
    const struct op *op = variant->steps[variant->yield].op;
    struct text any = text_new(&e->cx->arena), each = text_new(&e->cx->arena);

    for (int j = 0; j < op->output_count; j++) {
        const struct place *place = &variant->places[op->outputs[j]->id];
        const char *type = dtype_rows[op->outputs[j]->dtype].c;

        text_printf(&any, "%s!%s", j ? " || " : "", use(e->uses, place->name));
        text_printf(&each, "    if (!%s)\n        %s = (const %s *)(const void *)zeros;\n", place->name,
                    place->name, type);
    }
    if (is_apart(e))
        text_printf(out, "    if (%s)\n        %s(modc_cuda_zero, %s, 0, %lld);\n%s", any.data,
                    run_macro(variant, PART_BACKWARD), use(e->uses, "zeros"), (long long)variant->zeros_bytes,
                    each.data);
    else
        text_printf(out, "    if (%s)\n        memset(%s, 0, %lld);\n%s", any.data, use(e->uses, "zeros"),
                    (long long)variant->zeros_bytes, each.data);
}

/* Marks the gradients that a variant adds to: those of its graph from `first` on, and of the regions that it calls. */
static void mark_given(struct emit *e, const struct variant *variant, int first, bool *given)
{
    const struct graph *graph = variant->graph;
    const int own = graph->region ? plan_first_gradient(e->plan, graph->root) : 0;

    for (int i = graph->result_count; i < graph->output_count; i++) {
        const struct place *place = &variant->places[graph->outputs[i]->base->id];

        if (place->kind == PLACE_GRADIENT)
            given[first + place->index] = true;
    }
    for (int s = 0; s < variant->step_count; s++) {
        const struct op *op = variant->steps[s].op;

        for (int i = 0; op->code == GRAPH_OP_CALL && op->invoke.part == CALL_BACKWARD && i < op->invoke.count;
             i++) {
            const struct module *instance =
                i ? op->invoke.instance->parent->children[atoi(op->invoke.instance->name) + i]
                  : op->invoke.instance;

            mark_given(e, plan_variant(e->plan, op->invoke.region->graph),
                       first + plan_first_gradient(e->plan, instance) - own, given);
        }
    }
}

/* Which gradients of parameters there are now: `list` and what ends the call. */
static void print_given(struct emit *e, struct text *list, struct text *end, const struct variant *variant)
{
    const int all = e->plan->gradient_count;
    bool *given = ARENA_ARRAY(&e->cx->arena, all + 1, bool);
    int count = 0;

    mark_given(e, variant, 0, given);
    for (int g = 0; g < all; g++)
        count += given[g];
    for (int g = 0, n = 0; count < all && g < all; g++)
        if (given[g])
            text_printf(list, "%s%s", n++ ? ", " : "    static const int given[] = {",
                        e->plan->gradient_names[g]);
    if (list->length > 0)
        text_add(list, "};\n");
    if (list->length > 0)
        text_printf(end, "\n    modc_backward_end(&%s->base, given, MODC_ROWS(given));\n",
                    use(e->uses, "net"));
    else
        text_printf(end, "\n    modc_backward_end(&%s->base, NULL, %s);\n", use(e->uses, "net"),
                    count > 0 ? arena_format(&e->cx->arena, "%s_GRADIENTS", e->M) : "0");
}

/* What one condition is for. A statement alone needs no braces. */
void print_guarded(struct text *out, const char *indent, const char *condition, const char *statements)
{
    bool single = strchr(statements, '\n') == statements + strlen(statements) - 1;

    text_printf(out, "%sif (%s)%s\n", indent, condition, single ? "" : " {");
    print_indented(out, statements);
    if (!single)
        text_printf(out, "%s}\n", indent);
}

static void print_update(struct emit *e, struct text *out, const struct variant *variant, const struct op *op,
                         enum part part)
{
    const char *arguments = arena_format(&e->cx->arena, "%s, %s, %s", use(e->uses, "optimizer"),
                                         variant->places[op->outputs[0]->id].name,
                                         value_pointer(e->cx, variant, e->uses, op->inputs[0]));

    if (is_apart(e))
        emit_line(out, arena_format(&e->cx->arena, "    %s(modc_optimizer_launch(%s));",
                                    try_macro(variant, part), arguments));
    else
        text_printf(out, "    modc_optimizer_apply(%s);\n", arguments);
}

/* The steps of a part behind the first. */
static void print_later_steps(struct emit *e, struct text *body, const struct variant *variant,
                              enum part part)
{
    const struct module_call *last = NULL;
    const int end = variant_end(variant, part);

    if (part == PART_BACKWARD && variant->zeros_bytes > 0)
        print_zeros(e, body, variant);
    for (int s = variant_first(variant, part), next; s < end; s = next) {
        int guard = variant->guards[s];
        struct text steps = text_new(&e->cx->arena);

        for (next = s; next < end && variant->guards[next] == guard; next++) {
            const struct step *step = &variant->steps[next];
            const struct op *op = step->op;
            bool fence = op->code == GRAPH_OP_FENCE;

            if (op->call && op->call != last && next > s && !fence)
                break;
            if (op->call && op->call != last && !fence)
                print_backward_comment(e, body, variant, op->call);
            last = op->call && !fence ? op->call : last;
            if (op->code == GRAPH_OP_CHECK)
                print_check(e, &steps, variant, op, part);
            else if (op->code == GRAPH_OP_EXTERN)
                print_extern(e, &steps, variant, op, part);
            else if (fence)
                print_fence(e, &steps, variant, step);
            else if (op->code == GRAPH_OP_UPDATE)
                print_update(e, &steps, variant, op, part);
            else if (op->code == GRAPH_OP_CALL)
                print_region_call(e, &steps, variant, step);
            else
                text_add(&steps, kernel_step(e->cx, variant, e->uses, step));
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
    const int end = variant_end(variant, PART_FORWARD);
    struct naming naming = naming_new(e, variant, end);
    int *next = ARENA_ARRAY(&e->cx->arena, end + 1,
                            int); /* by step: the call of the next behind it that has one */

    next[end] = graph->call_count;
    for (int s = end - 1; s >= 0; s--)
        next[s] = s + 1 < end && variant->steps[s + 1].op->call && !graph->fenced
                      ? variant->steps[s + 1].op->call->index
                      : next[s + 1];
    print_shadows(e, body, variant, false);
    for (int s = 0; s < end; s++) {
        const struct step *step = &variant->steps[s];
        int until = next[s];

        if (step->op->call && until <= step->op->call->index)
            until = step->op->call->index + 1;
        if (step->op->code == GRAPH_OP_CALL &&
            until < graph->call_count) /* what follows an instance is not its own */
            until = step->op->call->index + 1;
        if (step->op->code == GRAPH_OP_FENCE) {
            print_fence(e, body, variant, step);
            continue;
        }
        if (!graph->fenced)
            print_calls(e, body, variant, &naming, s, until);
        if (step->op->code == GRAPH_OP_CALL)
            print_region_call(e, body, variant, step);
        else if (step->op->code == GRAPH_OP_CHECK)
            print_check(e, body, variant, step->op, PART_FORWARD);
        else if (step->op->code == GRAPH_OP_EXTERN)
            print_extern(e, body, variant, step->op, PART_FORWARD);
        else
            text_add(body, kernel_step(e->cx, variant, e->uses, step));
    }
    if (variant->shadow_count > 0) {
        text_add(body, "\n");
        print_shadows(e, body, variant, true);
    }
}

static void print_trainer(struct emit *e, struct text *out, const struct variant *variant)
{
    const bool gradients = !variant->graph->region && uses_name(e->uses, "gradients");
    const char *m = e->m;

    if (uses_name(e->uses, "optimizer"))
        text_printf(out,
                    "    struct %s_training *training = (void *)%s->base.trainer;\n"
                    "    struct modc_optimizer *optimizer = &training->optimizer.base;\n",
                    m, use(e->uses, "net"));
    else if (gradients || uses_name(e->uses, "training"))
        text_printf(out, "    const struct %s_training *training = (const void *)%s->base.trainer;\n", m,
                    use(e->uses, "net"));
    if (gradients)
        text_printf(out,
                    is_apart(e) ? "    const struct %s_tensors *gradients = &training->gradients.device;\n"
                                : "    const struct %s_params *gradients = &training->gradients;\n",
                    m);
}

/* The tensors of a function, as a macro among those of all functions: where they lie and how large they are is then in one place
 * of the file, and another extent touches no function. */
static void print_macro(struct emit *e, const char *name, const char *lines)
{
    struct arena *arena = &e->cx->arena;
    struct text wide = text_new(arena);

    for (const char *line = lines; *line;
         line += strcspn(line, "\n") + 1) /* as much as the end of the line takes */
        text_printf(&wide, "  %.*s\n", (int)strcspn(line, "\n"), line);
    text_printf(&e->tensors, "#define %s \\\n", name);
    for (const char *line = emit_fit(arena, wide.data); *line; line += strcspn(line, "\n") + 1)
        text_printf(&e->tensors, "%.*s \\\n", (int)strcspn(line, "\n") - 2, line + 2);
    text_add(&e->tensors, "\n");
}

void print_body(struct emit *e, struct printed *printed, enum part part)
{
    const struct variant *variant = printed->variant;
    struct text body = text_new(&e->cx->arena), out = text_new(&e->cx->arena);
    struct text locals = text_new(&e->cx->arena), given = text_new(&e->cx->arena);
    const bool region = variant->graph->region != NULL;

    e->uses = printed->uses[part] = uses_new(&e->cx->arena, e->tree);
    if (part == PART_FORWARD)
        print_steps(e, &body, variant);
    else
        print_later_steps(e, &body, variant, part);
    if (part != PART_FORWARD && !region)
        print_given(e, &given, &body, variant);
    print_locals(e, &locals, variant, part);
    if (!region)
        text_printf(&out, "    CONTEXT_OF_%s;\n", e->M);
    if (locals.length > 0) {
        const char *name = text_upper(
            &e->cx->arena, arena_format(&e->cx->arena, "tensors_of_%s", part_function(e, variant, part)));

        print_macro(e, name, locals.data);
        text_printf(&out, "    %s;\n", name);
    }
    print_trainer(e, &out, variant);
    text_add(&out, given.data);
    if (out.length > 0 && body.length > 0 && body.data[0] != '\n')
        text_add(&out, "\n");
    text_add(&out, body.data);
    printed->bodies[part] = out.data;
}

/* The forward of a variant that saves no more than another one leaves. */
static void print_same_forward(struct emit *e, struct text *out, const struct variant *variant)
{
    text_printf(out, "#define %s_%s %s_%s /* backward reads what it leaves */\n\n", e->m, variant->function,
                e->m, variant->same_forward->function);
}

/* One function of an entry's variant. */
static void print_function(struct emit *e, struct text *out, const struct printed *printed, enum part part)
{
    const struct variant *variant = printed->variant;
    const struct graph *graph = variant->graph;
    const struct uses *uses = printed->uses[part];

    text_printf(out, "static %s %s_%s(struct %s *net", variant->fails[part] ? "enum modc_status" : "void",
                e->m, part_function(e, variant, part), e->m);
    if (part == PART_BACKWARD)
        print_second_arguments(e, out, variant);
    else
        print_arguments(e, out, graph);
    text_add(out, ")\n{\n");
    for (int i = 0; i < e->tree->size_count; i++)
        if (!uses_name(uses, e->tree->sizes[i].c_name))
            text_printf(out, "    (void)%s;\n", e->tree->sizes[i].c_name);
    for (int i = 0; i < graph->input_count && part == PART_FORWARD; i++)
        if (!uses_name(uses, c_argument(e->cx, graph->inputs[i]->name)))
            text_printf(out, "    (void)%s;\n", c_argument(e->cx, graph->inputs[i]->name));
    text_printf(out, "%s%s}\n\n", printed->bodies[part], variant->fails[part] ? "    return MODC_OK;\n" : "");
}

/* forward_eval_saving -> forward_eval_backward, forward_eval_saving_fenced -> forward_eval_backward_fenced */
const char *part_function(struct emit *e, const struct variant *variant, enum part part)
{
    static const char *const parts[] = {[PART_BACKWARD] = "backward", [PART_COMMIT] = "commit"};
    const char *fenced = variant->graph->fenced ? "_fenced" : "";
    size_t length = strlen(variant->function) - strlen("saving") - strlen(fenced);

    if (part == PART_FORWARD)
        return variant->function;
    return arena_format(&e->cx->arena, "%.*s%s%s", (int)length, variant->function, parts[part], fenced);
}

const struct printed *printed_of(const struct emit *e, const struct variant *variant)
{
    const struct variant *shown = variant->same ? variant->same : variant;

    for (int i = 0; i < e->printed_count; i++)
        if (e->printed[i].variant == shown)
            return &e->printed[i];
    assert(!"functions are printed before what calls them");
    return NULL;
}

void print_variant(struct emit *e, struct text *out, const struct variant *variant)
{
    struct printed printed = {.variant = variant};

    const int first = variant->same_forward ? PART_FORWARD + 1 : PART_FORWARD;

    for (int part = first; part < variant_parts(variant); part++)
        print_body(e, &printed, (enum part)part);
    ARENA_PUSH(&e->cx->arena, e->printed, e->printed_count, printed);
    if (variant->same_forward)
        print_same_forward(e, out, variant);
    for (int part = first; part < variant_parts(variant); part++)
        print_function(e, out, &printed, (enum part)part);
}
