/* emit_region.c - the functions of regions, one for each part, and their calls. Apart from emit_function.c, because what
 * differs between the instances of a class is an argument here; see note [regions] in graph.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/emitted.h"
#include "emit/emit_names.h"
#include "emit/emit_room.h"

const char *module_number(struct emit *e, const struct variant *variant, const struct module *module)
{
    const int behind = module->index - variant->graph->root->index;

    if (!variant->graph->region)
        return module_constant(e, module);
    use(e->uses, "module");
    return behind > 0 ? arena_format(&e->cx->arena, "module + %d", behind) : "module";
}

const char *slot_pointer(struct emit *e, const struct variant *variant, const struct module_tensor *tensor)
{
    const char *flat = emitted_flat(e->cx, tensor->path);

    if (region_has_slot(variant->graph->region, tensor))
        return use(e->uses, region_slot(e->cx, variant->graph, tensor));
    for (int i = 0; i < variant->shadow_count; i++)
        if (variant->shadows[i] == tensor)
            return arena_format(&e->cx->arena, "*%s", use(e->uses, shadow_name(e->cx, tensor)));
    if (tensor->kind == MODULE_STATE)
        return arena_format(&e->cx->arena, "%s->%s", use(e->uses, "s"), flat);
    return arena_format(&e->cx->arena, "%s->%s", use(e->uses, "p"),
                        tensor_member(e->cx, variant->graph->root, tensor));
}

/* The number of a module's first gradient. */
static const char *first_gradient(struct emit *e, const struct variant *variant, const struct module *module)
{
    const int first = plan_first_gradient(e->plan, module);
    int behind;

    if (!variant->graph->region)
        return e->plan->gradient_count > 0 ? e->plan->gradient_names[first] : "0";
    behind = first - plan_first_gradient(e->plan, variant->graph->root);
    use(e->uses, "gradient");
    return behind > 0 ? arena_format(&e->cx->arena, "gradient + %d", behind) : "gradient";
}

/* ---- what a part of a region takes, and what a call gives for it ---- */

/* A parameter of the callee and, of a call, the argument for it. */
struct pair {
    const char *type, *name, *argument;
    const struct uses *uses; /* what the argument names */
};

struct pairs {
    struct emit *e;
    struct pair *list;
    int count;
};

static void add(struct pairs *pairs, const char *type, const char *name, const char *argument)
{
    struct emit *e = pairs->e;

    ARENA_PUSH(&e->cx->arena, pairs->list, pairs->count, ((struct pair){type, name, argument, e->uses}));
    e->uses = uses_new(&e->cx->arena, e->tree); /* of the next one's */
}

static const char *pointer_to(struct emit *e, const struct value *value, bool written)
{
    return arena_format(&e->cx->arena, "%s%s *", written ? "" : "const ", dtype_rows[value->dtype].c);
}

/* One call of a region, or the one statement of a loop over several: there the values that go from one to the next have names. */
struct region_call {
    const struct variant *caller;
    const struct step *step;
    const struct op *op;
    const char *index;      /* of the instance behind the first: "i"; NULL: there is but one */
    const char *in, *out;   /* the region's first input and its result */
    const char *dout, *din; /* their gradients */
};

/* "blocks[3]" of a path; in a loop "blocks[i]". */
static const char *instance_path(struct emit *e, const struct region_call *call, const char *single,
                                 const char *list)
{
    const char *name = call->op->invoke.instance->name;

    if (!call->index)
        return single;
    return strcmp(name, "0") == 0 ? arena_format(&e->cx->arena, "%s[%s]", list, call->index)
                                  : arena_format(&e->cx->arena, "%s[%s + %s]", list, name, call->index);
}

static const char *params_of(struct emit *e, const struct region_call *call)
{
    const struct module *root = call->caller->graph->root, *instance = call->op->invoke.instance;

    return instance_path(e, call, module_path_c(e, root, instance),
                         call->index ? module_path_c(e, root, instance->parent) : NULL);
}

static const char *packed_of(struct emit *e, const struct region_call *call, const struct variant *region)
{
    const struct module *instance = plan_in_group(e->plan, call->caller, call->op->invoke.instance);
    const struct pack_group *group = call->caller->group;

    for (int i = 0; i < group->child_count; i++) {
        const struct pack_child *child = &group->children[i];

        if (child->group == region->group &&
            (instance->array ? child->first->parent == instance->parent : child->first == instance))
            return instance_path(e, call,
                                 instance->array
                                     ? arena_format(&e->cx->arena, "%s[%s]", child->member, instance->name)
                                     : child->member,
                                 child->member);
    }
    assert(!"the caller's packed struct has its instances");
    return "";
}

/* Times how often the loop has come by. */
static const char *stepped(struct emit *e, const struct region_call *call, const char *first, int each)
{
    if (!call->index || each == 0)
        return first;
    return each == 1 ? arena_format(&e->cx->arena, "%s + %s", first, call->index)
                     : arena_format(&e->cx->arena, "%s + %d * %s", first, each, call->index);
}

static int gradients_of(struct emit *e, const struct module *module)
{
    int count = 0;

    for (int i = 0; i < e->plan->gradient_count; i++)
        count += e->plan->gradients[i]->owner->index >= module->index &&
                 e->plan->gradients[i]->owner->index <= module->index + module->subtree;
    return count;
}

/* Which call of the entry the step of a caller is part of: random numbers are those of the first. */
static const char *counter_of(struct emit *e, const struct region_call *call)
{
    const struct variant *caller = call->caller;

    if (caller->graph->region)
        return use(e->uses, e->plan->backend->apart ? "behind" : "counter");
    if (e->plan->backend->apart)
        return variant_part(caller, (int)(call->step - caller->steps)) == PART_FORWARD ? "0" : "1";
    use(e->uses, "net");
    return variant_part(caller, (int)(call->step - caller->steps)) == PART_FORWARD ? "net->base.counter"
                                                                                   : "net->base.counter - 1";
}

/* What is the instance's; call: NULL for the parameters alone. */
static void add_instance(struct pairs *pairs, const struct variant *region, const struct region_call *call)
{
    struct emit *e = pairs->e;
    struct arena *arena = &e->cx->arena;
    const struct module *instance = call ? call->op->invoke.instance : NULL;

    if (has_tensors(region->group->root))
        add(pairs, arena_format(arena, "const struct %s *", group_params(e, region->group)), "p",
            call ? arena_format(arena, "&%s->%s", use(e->uses, "p"), params_of(e, call)) : NULL);
    if (region->group->bytes > 0)
        add(pairs, arena_format(arena, "const struct %s *", packed_struct(e, region->group)), "k",
            call ? arena_format(arena, "&%s->%s", use(e->uses, "k"), packed_of(e, call, region)) : NULL);
    add(pairs, arena_format(arena, "struct %s *", e->m), "net", call ? use(e->uses, "net") : NULL);
    add(pairs, "int", "module",
        call ? stepped(e, call, module_number(e, call->caller, instance), instance->subtree + 1) : NULL);
    if (e->plan->backend->apart) /* how many calls before the next one it is */
        add(pairs, "uint32_t", "behind", call ? counter_of(e, call) : NULL);
    else
        add(pairs, "uint64_t", "counter", call ? counter_of(e, call) : NULL);
    add(pairs, arena_format(arena, "const struct %s *", group_params(e, region->group)), "gradients",
        call && has_tensors(region->group->root)
            ? arena_format(arena, "&%s->%s", use(e->uses, "gradients"), params_of(e, call))
            : NULL);
    add(pairs, "int", "gradient",
        call ? stepped(e, call, first_gradient(e, call->caller, instance), gradients_of(e, instance)) : NULL);
}

/* A factor of an index: the product may be more than an int holds. */
static const char *bytes_text(struct emit *e, int64_t bytes)
{
    return arena_format(&e->cx->arena, bytes > INT32_MAX / 1024 ? "%lldll" : "%lld", (long long)bytes);
}

/* The block of one of the CALL's instances, each of so many bytes. */
static const char *block_at(struct emit *e, const struct region_call *call, const struct value *block,
                            int64_t each)
{
    const struct place *place = &call->caller->places[block->base->id];
    const char *first = arena_format(&e->cx->arena, "%s + %lld", block_name(e, call->caller, place->kept),
                                     (long long)place->offset);

    return call->index ? arena_format(&e->cx->arena, "%s + %s * %s", first, bytes_text(e, each), call->index)
                       : first;
}

static void add_memory(struct pairs *pairs, const struct variant *region, const struct region_call *call)
{
    struct emit *e = pairs->e;
    const struct value *block = call ? call_block(call->op) : NULL;

    add(pairs, "char *", "kept", block ? block_at(e, call, block, region->kept_bytes) : NULL);
    add(pairs, "char *", "ws",
        call ? arena_format(&e->cx->arena, "%s + %lld", use(e->uses, "ws"),
                            (long long)call->step->region_offset)
             : NULL);
    for (int i = 0; i < e->tree->size_count; i++)
        add(pairs, "int", e->tree->sizes[i].c_name, call ? use(e->uses, e->tree->sizes[i].c_name) : NULL);
    for (int i = 0; i < region->graph->region->slot_count; i++) {
        const struct module_tensor *slot = region->graph->region->slots[i];

        add(pairs, arena_format(&e->cx->arena, "%s *", dtype_rows[slot->dtype].c),
            region_slot(e->cx, region->graph, slot),
            call ? slot_pointer(e, call->caller, region_tensor(call->op, slot)) : NULL);
    }
}

static const char *place_name(const struct variant *variant, const struct value *value)
{
    return variant->places[value->base->id].name;
}

/* The argument for the CALL's next input, which in a loop has a name of its own; NULL where it is not `there`. */
static const char *next_input(struct emit *e, const struct region_call *call, int *next, const char *own,
                              bool there)
{
    const struct value *value = there ? call->op->inputs[(*next)++] : NULL;

    return !there ? NULL : own ? own : value_pointer(e->cx, call->caller, e->uses, value);
}

static const char *next_output(struct emit *e, const struct region_call *call, int *next, const char *own)
{
    const struct value *value = call->op->outputs[(*next)++];

    return own ? own : value_pointer(e->cx, call->caller, e->uses, value);
}

/* The values of a part, in the order of the CALL's inputs, then of its outputs. */
static void add_values(struct pairs *pairs, const struct variant *region, enum part part,
                       const struct region_call *call)
{
    struct emit *e = pairs->e;
    const struct graph *graph = region->graph;
    const struct op *op = call ? call->op : NULL,
                    *yield = region->yield >= 0 ? region->steps[region->yield].op : NULL;
    int input = part == PART_FORWARD ? 0 : 1, output = 0; /* of the CALL: behind the block */

#define INPUT(own, there) (!op ? NULL : next_input(e, call, &input, own, there))
#define OUTPUT(own) (!op ? NULL : next_output(e, call, &output, own))
    for (int i = 0; part == PART_BACKWARD && i < yield->output_count; i++)
        add(pairs, pointer_to(e, yield->outputs[i], false), place_name(region, yield->outputs[i]),
            INPUT(call->dout, true));
    for (int i = 0; part != PART_COMMIT && i < graph->input_count; i++)
        add(pairs, pointer_to(e, graph->inputs[i], false), place_name(region, graph->inputs[i]),
            INPUT(i == 0 ? call->in : NULL, part == PART_FORWARD || op->invoke.reads[i]));
    for (int i = 0; part == PART_BACKWARD && i < graph->result_count; i++)
        add(pairs, pointer_to(e, graph->outputs[i], false), place_name(region, graph->outputs[i]),
            INPUT(call->out, op->invoke.reads[graph->input_count + i]));
    for (int i = 0; part == PART_FORWARD && i < graph->result_count; i++)
        add(pairs, pointer_to(e, graph->outputs[i], true), place_name(region, graph->outputs[i]),
            OUTPUT(call->out));
    for (int i = graph->result_count; part == PART_BACKWARD && i < graph->output_count; i++)
        if (!graph->gradient_of[i - graph->result_count])
            add(pairs, pointer_to(e, graph->outputs[i], true), place_name(region, graph->outputs[i]),
                OUTPUT(call->din));
#undef INPUT
#undef OUTPUT
}

static struct pairs pairs_of(struct emit *e, const struct variant *region, enum part part,
                             const struct region_call *call)
{
    struct pairs pairs = {.e = e};
    struct uses *whole = e->uses;

    e->uses = uses_new(&e->cx->arena, e->tree);
    add_instance(&pairs, region, call);
    add_memory(&pairs, region, call);
    add_values(&pairs, region, part, call);
    e->uses = whole;
    return pairs;
}

/* ---- functions ---- */

static void print_part(struct emit *e, struct text *out, const struct variant *variant, enum part part,
                       struct printed *printed)
{
    struct pairs pairs = pairs_of(e, variant, part, NULL);
    int count = 0;

    printed->parameters[part] = ARENA_ARRAY(&e->cx->arena, pairs.count + 1, struct region_parameter);
    printed->counts[part] = pairs.count;
    text_printf(out, "static %s %s(", variant->fails[part] ? "enum modc_status" : "void",
                part_function(e, variant, part));
    for (int i = 0; i < pairs.count; i++) {
        const struct pair *pair = &pairs.list[i];
        const bool used = uses_name(printed->uses[part], pair->name);
        const char *gap = pair->type[strlen(pair->type) - 1] == '*' ? "" : " ";

        printed->parameters[part][i] = (struct region_parameter){pair->type, pair->name, used};
        if (used)
            text_printf(out, "%s%s%s%s", count++ ? ", " : "", pair->type, gap, pair->name);
    }
    text_printf(out, "%s)\n{\n%s%s}\n\n", count ? "" : "void", printed->bodies[part],
                variant->fails[part] ? "    return MODC_OK;\n" : "");
}

void print_region(struct emit *e, struct text *out, const struct variant *variant)
{
    const struct graph *graph = variant->graph;
    struct printed printed = {.variant = variant};

    text_printf(out, "/* %s: %s from %s%s */\n", text_in_comment(&e->cx->arena, graph->root->signature),
                graph->result_count > 0 ? shape_of(e->cx, graph->outputs[0]) : "nothing",
                graph->input_count > 0 ? shape_of(e->cx, graph->inputs[0]) : "nothing",
                spec_line(e, graph->root));
    for (int part = 0; part < variant_parts(variant); part++) {
        print_body(e, &printed, (enum part)part);
        print_part(e, out, variant, (enum part)part, &printed);
    }
    ARENA_PUSH(&e->cx->arena, e->printed, e->printed_count, printed);
}

/* ---- calls ---- */

/* The call, without indentation and semicolon. */
static const char *call_text(struct emit *e, const struct variant *region, const struct region_call *call)
{
    const struct variant *shown = region->same ? region->same : region;
    const enum part part = call_part_of(call->op);
    const struct printed *functions = printed_of(e, region);
    const struct pairs pairs = pairs_of(e, region, part, call);
    struct text out = text_new(&e->cx->arena);
    int printed = 0;

    assert(pairs.count == functions->counts[part]);
    text_printf(&out, "%s%s(", region->fails[part] ? "MODC_TRY(" : "", part_function(e, shown, part));
    for (int i = 0; i < pairs.count; i++) {
        if (!functions->parameters[part][i].used)
            continue;
        text_printf(&out, "%s%s", printed++ ? ", " : "", pairs.list[i].argument);
        use_all(e->uses, pairs.list[i].uses);
    }
    text_printf(&out, ")%s", region->fails[part] ? ")" : "");
    return out.data;
}

/* One call of the loop over a run: its instance is i. */
static struct region_call looped(const struct region_call *whole)
{
    struct region_call call = *whole;

    call.index = "i";
    return call;
}

/* A loop whose calls each read what the one before gave: `first` under a name, then one of two buffers by turns, of which that
 * of the last call is the result: `buffers[(i + 1) % 2]`, for i down to 0. */
static void open_turns(struct emit *e, struct text *out, const struct region_call *call, const char *type,
                       const char *name, const struct value *first)
{
    text_printf(
        out,
        "    {\n        %s *const buffers[2] = {(void *)(%s + %lld), %s}; /* by turns; the last is the result */\n",
        type, use(e->uses, "ws"), (long long)call->step->scratch_offset,
        value_pointer(e->cx, call->caller, e->uses, call->op->outputs[0]));
    text_printf(out, "        const %s *%s = %s;\n\n", type, name,
                value_pointer(e->cx, call->caller, e->uses, first));
}

/* Each call reads what the one before it gave, which nobody reads else. */
static void print_turns(struct emit *e, struct text *out, const struct variant *region,
                        const struct region_call *whole)
{
    const struct op *op = whole->op;
    const char *type = dtype_rows[op->outputs[0]->dtype].c;
    const int count = op->invoke.count;
    struct region_call call = looped(whole);

    call.in = "in";
    call.out = "out";
    open_turns(e, out, whole, type, "in", op->inputs[0]);
    text_printf(out, "        for (int i = 0; i < %d; i++) {\n            %s *out = buffers[%si %% 2];\n\n",
                count, type, count % 2 ? "1 - " : "");
    text_printf(out, "            %s;\n            in = out;\n        }\n    }\n",
                call_text(e, region, &call));
}

/* What goes from one call to the next, in the block that backward reads it in: before the first, or behind the last, it is the
 * run's own. */
static void print_between(struct emit *e, struct text *out, const struct region_call *call,
                          const struct value *own, bool in)
{
    const struct value *between = call_between(call->op);
    const bool back = call->op->invoke.part == CALL_BACKWARD;
    const char *pointer = value_pointer(e->cx, call->caller, e->uses, own),
               *block = value_pointer(e->cx, call->caller, e->uses, between);
    const char *type = arena_format(&e->cx->arena, "%s%s *", in || back ? "const " : "",
                                    dtype_rows[own->dtype].c);
    const char *indent = back ? "            " : "        ";
    const int last = call->op->invoke.count - 1;
    int64_t bytes = 0;

    dim_is_const(between->dims[0], &bytes);
    if (in)
        text_printf(out, "%s%sin = i > 0 ? (void *)(%s + %s * (i - 1)) : %s;\n", indent, type, block,
                    bytes_text(e, bytes / last), pointer);
    else
        text_printf(out, "%s%sout = i < %d ? (void *)(%s + %s * i) : %s;\n", indent, type, last, block,
                    bytes_text(e, bytes / last), pointer);
}

/* Forward that keeps what goes from one to the next. */
static void print_chain(struct emit *e, struct text *out, const struct variant *region,
                        const struct region_call *whole)
{
    const struct op *op = whole->op;
    struct region_call call = looped(whole);

    call.in = "in";
    call.out = "out";
    text_printf(out, "    for (int i = 0; i < %d; i++) {\n", op->invoke.count);
    print_between(e, out, whole, op->inputs[0], true);
    print_between(e, out, whole, op->outputs[0], false);
    text_printf(out, "\n        %s;\n    }\n", call_text(e, region, &call));
}

/* Backward: from the last to the first. */
static void print_back(struct emit *e, struct text *out, const struct variant *region,
                       const struct region_call *whole)
{
    const struct op *op = whole->op;
    const struct graph *graph = region->graph;
    const char *type = dtype_rows[op->outputs[0]->dtype].c;
    struct region_call call = looped(whole);
    int at = 2;

    call.dout = "dout";
    call.din = "din";
    open_turns(e, out, whole, type, "dout", op->inputs[1]);
    text_printf(out, "        for (int i = %d; i >= 0; i--) {\n", op->invoke.count - 1);
    if (op->invoke.reads[0]) {
        print_between(e, out, whole, op->inputs[at], true);
        call.in = "in";
    }
    for (int i = 0; i < graph->input_count; i++)
        at += op->invoke.reads[i];
    if (op->invoke.reads[graph->input_count]) {
        print_between(e, out, whole, op->inputs[at], false);
        call.out = "out";
    }
    text_printf(out, "            %s *din = buffers[(i + 1) %% 2];\n\n", type);
    text_printf(out, "            %s;\n            dout = din;\n        }\n    }\n",
                call_text(e, region, &call));
}

static void print_commits(struct emit *e, struct text *out, const struct variant *region,
                          const struct region_call *whole)
{
    const struct region_call call = looped(whole);

    text_printf(out, "    for (int i = %d; i >= 0; i--)\n        %s;\n", whole->op->invoke.count - 1,
                call_text(e, region, &call));
}

void print_region_call(struct emit *e, struct text *out, const struct variant *variant,
                       const struct step *step)
{
    const struct variant *region = plan_variant(e->plan, step->op->invoke.region->graph);
    const struct region_call call = {.caller = variant, .step = step, .op = step->op};

    if (step->op->invoke.count == 1)
        text_printf(out, "    %s;\n", call_text(e, region, &call));
    else if (step->op->invoke.part == CALL_BACKWARD)
        print_back(e, out, region, &call);
    else if (step->op->invoke.part == CALL_COMMIT)
        print_commits(e, out, region, &call);
    else if (call_between(step->op))
        print_chain(e, out, region, &call);
    else
        print_turns(e, out, region, &call);
}
