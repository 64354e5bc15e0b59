/* graph.c - lowers the entries of a model: runs their statements over graph values, in each mode, fused and fenced.
 *
 * Apart from eval.c, because this file knows what calling a module means: its body, its boundary, its region. */
#include "graph/graph.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/names.h"
#include "spec/emitted.h"

/* ---- editing ---------------------------------------------------------------------------------------------- */

void graph_need(struct graph *graph, struct need need)
{
    if (dim_lower(need.dim) >= (need.not_one ? 2 : 0) || (need.not_one && dim_equals(need.dim, 0)))
        return;
    for (int i = 0; i < graph->need_count; i++)
        if (graph->needs[i].not_one == need.not_one && dim_equal(graph->needs[i].dim, need.dim))
            return;
    ARENA_PUSH(&graph->cx->arena, graph->needs, graph->need_count, need);
}

struct value *graph_value(struct graph *graph, struct op *op, enum dtype dtype, int ndim,
                          const struct dim *const *dims)
{
    struct value *value = ARENA_NEW(&graph->cx->arena, struct value);

    value->id = graph->value_count++;
    value->op = op;
    value->dtype = dtype;
    value->ndim = ndim;
    memcpy(value->dims, dims, (size_t)ndim * sizeof *dims);
    value->result = op->output_count;
    value->loc = op->loc;
    ARENA_PUSH(&graph->cx->arena, op->outputs, op->output_count, value);
    return value;
}

void graph_replace(struct graph *graph, struct value *from, struct value *to)
{
    for (int i = 0; i < graph->op_count; i++)
        for (int j = 0; j < graph->ops[i]->input_count; j++)
            if (graph->ops[i]->inputs[j] == from)
                graph->ops[i]->inputs[j] = to;
    for (int i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == from)
            graph->outputs[i] = to;
    if (!to->name)
        to->name = from->name;
}

int graph_uses(const struct graph *graph, const struct value *value)
{
    int uses = 0;

    for (int i = 0; i < graph->op_count; i++)
        for (int j = 0; j < graph->ops[i]->input_count; j++)
            uses += graph->ops[i]->inputs[j] == value;
    for (int i = 0; i < graph->output_count; i++)
        uses += graph->outputs[i] == value;
    return uses;
}

int graph_position(const struct graph *graph, const struct op *op)
{
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i] == op)
            return i;
    return -1;
}

void graph_insert(struct graph *graph, int position, struct op *op)
{
    ARENA_PUSH(&graph->cx->arena, graph->ops, graph->op_count, op);
    memmove(graph->ops + position + 1, graph->ops + position,
            (size_t)(graph->op_count - 1 - position) * sizeof *graph->ops);
    graph->ops[position] = op;
}

void graph_remove(struct graph *graph, int position)
{
    memmove(graph->ops + position, graph->ops + position + 1,
            (size_t)(graph->op_count - 1 - position) * sizeof *graph->ops);
    graph->op_count--;
}

struct value *value_root(struct value *value)
{
    while (value->op->code == GRAPH_OP_VIEW)
        value = value->op->inputs[0];
    return value;
}

bool value_is_slot(const struct value *value)
{
    return value->op->code == GRAPH_OP_TENSOR || value->op->code == GRAPH_OP_WRITE;
}

void program_each(struct program *program, void (*visit)(struct graph *graph, void *data), void *data)
{
    for (int i = 0; i < program->region_count; i++)
        if (program->regions[i]->graph)
            visit(program->regions[i]->graph, data);
    for (int i = 0; i < program->entry_count; i++)
        for (int training = 0; training < 2; training++)
            for (int fenced = 0; fenced < 2; fenced++)
                if (program->entries[i].graphs[training][fenced])
                    visit(program->entries[i].graphs[training][fenced], data);
    for (int i = 0; i < program->entry_count; i++)
        for (int training = 0; training < 2; training++)
            for (int fenced = 0; fenced < 2; fenced++)
                if (program->entries[i].saving[training][fenced])
                    visit(program->entries[i].saving[training][fenced], data);
}

/* ---- lowering --------------------------------------------------------------------------------------------- */

struct lower {
    struct eval eval; /* first: eval's callbacks find the rest */
    struct program *program;
    const struct entry *entry;
    bool fenced;
};

static struct ev call_module(struct eval *eval, struct module *module, const struct call *call);

static struct module_tensor *slot_tensor(const struct value *root)
{
    return root->op->code == GRAPH_OP_TENSOR ? root->op->tensor.tensor : root->op->write.tensor;
}

/* The newest version of a tensor of the tree. */
static struct value *slot_value(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    struct graph *graph = eval->graph;
    struct arena *arena = &eval->cx->arena;
    struct op *op;
    struct value *value;
    int count = graph->slot_count;

    for (int i = 0; i < graph->slot_count; i++)
        if (graph->slot_tensors[i] == tensor)
            return graph->slots[i];
    op = op_new(eval, GRAPH_OP_TENSOR, tensor->name, NULL, 0);
    op->tensor.tensor = tensor;
    op->loc = loc;
    value = graph_value(graph, op, tensor->dtype, tensor->ndim, tensor->shape);
    value->name = tensor->name;
    ARENA_PUSH(arena, graph->ops, graph->op_count, op);
    ARENA_PUSH(arena, graph->slots, graph->slot_count, value);
    ARENA_PUSH(arena, graph->slot_tensors, count, tensor);
    return value;
}

static struct ev read_tensor(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    for (const struct module_tensor *shared = tensor; shared; shared = shared->source)
        shared->owner->calls++;
    if (tensor->is_constant)
        return ev_tensor(loc, build_const(eval, loc, tensor->value));
    return ev_tensor(loc, slot_value(eval, tensor->first, loc));
}

/* A view made before a write, or a change in place, shows what is there now, as in PyTorch: its chain is made again over the
 * newest version. */
static struct value *refresh(struct eval *eval, struct value *value)
{
    struct value *base, *fresh;
    struct op *old, *op;

    while (value->newer)
        value = value->newer;
    old = value->op;
    base = old->code == GRAPH_OP_VIEW ? refresh(eval, old->inputs[0]) : NULL;
    if (!base || base == old->inputs[0])
        return value;
    op = op_new(eval, GRAPH_OP_VIEW, old->label, &base, 1);
    op->view = old->view;
    op->loc = old->loc;
    fresh = graph_value(eval->graph, op, value->dtype, value->ndim, value->dims);
    fresh->name = value->name;
    ARENA_PUSH(&eval->cx->arena, eval->graph->ops, eval->graph->op_count, op);
    return fresh;
}

static bool same_view(const struct value *a, const struct value *b)
{
    if (a == b)
        return true;
    if (a->op->code != GRAPH_OP_VIEW || b->op->code != GRAPH_OP_VIEW ||
        a->op->view.kind != b->op->view.kind || !dims_equal(a, b))
        return false;
    if (a->op->view.kind == VIEW_SLICE &&
        (a->op->view.axis != b->op->view.axis || !dim_equal(a->op->view.start, b->op->view.start) ||
         !dim_equal(a->op->view.step, b->op->view.step)))
        return false;
    if (a->op->view.kind == VIEW_WINDOW)
        return false;
    if (a->op->view.kind == VIEW_PERMUTE &&
        memcmp(a->op->view.perm, b->op->view.perm, sizeof a->op->view.perm) != 0)
        return false;
    return same_view(a->op->inputs[0], b->op->inputs[0]);
}

static bool write_tensor(struct eval *eval, struct module *self, const char *name, struct loc loc,
                         struct value *target, struct value *value)
{
    struct arena *arena = &eval->cx->arena;
    struct module_tensor *tensor = module_find_tensor(self, name);
    struct graph *graph = eval->graph;
    const struct dim *dims[MAX_DIMS];
    struct value *slot, *inputs[3];
    struct op *op;
    int ndim;

    if (!tensor || tensor->none) {
        const char **known = NULL;
        int count = 0;

        for (int i = 0; i < self->child_count; i++) {
            if (strcmp(self->children[i]->name, name) == 0) {
                diag_error(eval->cx, loc, "'%s' is a module; only buffers and state can be written", name);
                return false;
            }
        }
        for (int i = 0; i < self->tensor_count; i++)
            if (self->tensors[i]->kind != MODULE_PARAMETER)
                ARENA_PUSH(arena, known, count, self->tensors[i]->name);
        diag_error(eval->cx, loc, "there is no buffer or state '%s' to write", name);
        if (diag_nearest(name, known, count))
            diag_hint_nearest(eval->cx, name, known, count);
        else
            diag_hint(eval->cx, "declare it under 'state:' or 'buffers:'");
        return false;
    }
    if (tensor->faulty)
        return false;
    if (tensor->kind == MODULE_PARAMETER && !eval->within) { /* functions of the tables may: embedding does */
        diag_error(eval->cx, loc, "'%s' is a parameter; only buffers and state can be written", name);
        diag_note(eval->cx, tensor->loc, "'%s' is declared here", tensor->path);
        return false;
    }
    slot = slot_value(eval, tensor, loc);
    if (!target)
        target = slot;
    if (value_root(target) != slot) {
        diag_error(eval->cx, loc, "a part of '%s' that a tensor chooses cannot be written", name);
        diag_hint(eval->cx,
                  "integers and slices name parts; self.%s = self.%s.index_copy(0, index, value) writes rows",
                  name, name);
        return false;
    }
    ndim = target->ndim;
    memcpy(dims, target->dims, sizeof dims);
    bool fits = dims_broadcast(eval->cx, dims, &ndim, value) && ndim == target->ndim;

    for (int i = 0; fits && i < ndim; i++)
        fits = dim_equal(dims[i], target->dims[i]);
    if (!fits) {
        diag_error(eval->cx, loc, "a value of shape %s does not fit %s'%s' of shape %s",
                   shape_text(arena, value->ndim, value->dims), target == slot ? "" : "the part of ", name,
                   shape_text(arena, target->ndim, target->dims));
        if (target == slot)
            diag_note(eval->cx, tensor->loc, "'%s' is declared here", tensor->path);
        return false;
    }
    if (!build_type_fits(eval, loc, name, tensor->dtype, value->dtype))
        return false;
    if (value_root(value) == slot) {
        if (same_view(value, target))
            return true;
        diag_error(eval->cx, loc, "this reads from '%s' while it writes to it", name);
        diag_hint(eval->cx, "write a copy of what is read, made by .clone()");
        return false;
    }
    value = build_cast(eval, loc, value, tensor->dtype);
    if (!value)
        return false;
    inputs[0] = slot;
    inputs[1] = target;
    inputs[2] = value;
    op = op_new(eval, GRAPH_OP_WRITE, "write", inputs, 3);
    op->loc = loc;
    op->dag = dag_identity(arena, tensor->dtype);
    op->write.tensor = tensor;
    op->write.detached = eval->within != NULL;
    tensor->written = true;
    tensor->written_in_eval |= !eval->training;

    struct value *next = graph_value(graph, op, tensor->dtype, tensor->ndim, tensor->shape);

    next->name = tensor->name;
    slot->newer = next;
    ARENA_PUSH(arena, graph->ops, graph->op_count, op);
    for (int i = 0; i < graph->slot_count; i++)
        if (graph->slot_tensors[i] == tensor)
            graph->slots[i] = next;
    return true;
}

/* ---- tensors inside values -------------------------------------------------------------------------------- */

static void gather_tensors(struct eval *eval, const struct ev *value, struct value ***list, int *count)
{
    if (value->kind == EV_TENSOR)
        ARENA_PUSH(&eval->cx->arena, *list, *count, value->tensor);
    for (int i = 0; value->kind == EV_TUPLE && i < value->count; i++)
        gather_tensors(eval, &value->items[i], list, count);
}

/* The same value with its tensors, in order, taken from `list`. */
static struct ev scatter_tensors(struct eval *eval, const struct ev *value, struct value *const *list,
                                 int *at)
{
    struct ev out = *value;

    if (value->kind == EV_TENSOR)
        out.tensor = list[(*at)++];
    if (value->kind == EV_TUPLE) {
        out.items = ARENA_ARRAY(&eval->cx->arena, value->count + 1, struct ev);
        for (int i = 0; i < value->count; i++)
            out.items[i] = scatter_tensors(eval, &value->items[i], list, at);
    }
    return out;
}

/* A module boundary: `values` come back as what hooks may have made of them. */
static void fence(struct eval *eval, struct module *module, enum fence_kind kind, struct value **values,
                  int count, int seen)
{
    struct op *op = op_new(eval, GRAPH_OP_FENCE, kind == FENCE_FORWARD ? "forward_hook" : "forward_pre_hook",
                           values, count);

    op->loc = module->loc;
    op->fence.module = module;
    op->fence.kind = kind;
    op->fence.seen = seen;
    for (int i = 0; i < count; i++) {
        struct value *out = graph_value(eval->graph, op, values[i]->dtype, values[i]->ndim, values[i]->dims);

        out->name = values[i]->name;
        values[i] = out;
    }
    ARENA_PUSH(&eval->cx->arena, eval->graph->ops, eval->graph->op_count, op);
}

/* ---- regions ---------------------------------------------------------------------------------------------- */

static int count_instances(const struct module_tree *tree, const char *signature)
{
    int count = 0;

    for (int i = 0; i < tree->module_count; i++)
        count += tree->modules[i]->signature && tree->modules[i]->parent &&
                 strcmp(tree->modules[i]->signature, signature) == 0;
    return count;
}

static void add_break(struct text *name)
{
    if (name->length > 0 && name->data[name->length - 1] != '_')
        text_add(name, "_");
}

/* Words as a part of a name in C: LayerNorm as layer_norm, 0.5 as 0p5, -1 as m1. */
static void add_words(struct text *name, const char *words)
{
    for (const char *c = words; *c; c++) {
        char before = c > words ? c[-1] : ' ';
        bool upper = isupper((unsigned char)*c);

        if (isalnum((unsigned char)*c)) {
            if (upper && isalnum((unsigned char)before) && !isupper((unsigned char)before))
                add_break(name);
            text_printf(name, "%c", tolower((unsigned char)*c));
        } else if (isdigit((unsigned char)c[1]) && (*c == '.' || *c == '-')) {
            text_add(name, *c == '.' ? "p" : "m");
        } else if (c[1]) {
            add_break(name);
        }
    }
}

/* What set and add brought below an instance: "_norm_identity". */
static void add_changes(struct text *name, const struct module *instance, const struct module *module)
{
    for (int i = 0; i < module->child_count; i++) {
        const struct module *child = module->children[i];

        if (!child->changed) {
            add_changes(name, instance, child);
            continue;
        }
        add_break(name);
        add_words(name, child->path + strlen(instance->path) + 1);
        add_break(name);
        add_words(name, child->class_name);
    }
}

/* Named by what its instances share, block_64_2_norm_identity, as far as that is short; then by class, arguments and what
 * stands for all of it. Another region's name is not taken. */
static const char *region_name(struct eval *eval, const struct module *module)
{
    enum { longest = 32 };
    const struct program *program = ((struct lower *)eval)->program;
    struct arena *arena = &eval->cx->arena;
    struct text name = text_new(arena);
    const char *shorter;
    bool taken;

    add_words(&name, module->class_name);
    shorter = arena_string(arena, name.data);
    for (int i = 0; i < module->arg_count; i++) {
        if (module->args[i].value.kind == EV_NONE)
            continue;
        add_break(&name);
        add_words(&name, ev_text(eval, &module->args[i].value));
    }
    if (name.length <= longest)
        shorter = arena_string(arena, name.data);
    add_changes(&name, module, module);
    taken = emitted_struct(name.data);
    for (int i = 0; i < program->region_count; i++)
        taken |= strcmp(program->regions[i]->name, name.data) == 0 &&
                 strcmp(program->regions[i]->signature, module->signature) != 0;
    if (!taken && name.length <= longest)
        return name.data;
    return arena_format(arena, "%s_%04x", shorter,
                        (unsigned)(text_hash(module->signature, strlen(module->signature)) & 0xffff));
}

static struct ev run_class(struct eval *eval, struct module *module, const struct call *call);

/* State lies in the context by path, and what is tied may lie in another module: an instance with either is not like
 * the others of its class. */
static bool is_special(const struct module *module)
{
    for (int i = 0; i < module->tensor_count; i++)
        if (module->tensors[i]->kind == MODULE_STATE || module->tensors[i]->tied)
            return true;
    for (int i = 0; i < module->child_count; i++)
        if (is_special(module->children[i]))
            return true;
    return false;
}

/* Which parts of an instance stay in evaluation mode while the others train. */
static void add_fixed(struct text *key, const struct module_tree *tree, const struct module *module)
{
    for (int i = 1; i <= module->subtree; i++)
        if (tree->modules[module->index + i]->always_eval)
            text_printf(key, " fixed %d", i);
}

/* Random numbers differ by instance, what may end the call stands where the call can end, and a change of an argument in
 * place is seen by the caller. */
static bool needs_inline(const struct graph *graph)
{
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i]->newer)
            return true;
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_RANDOM || graph->ops[i]->code == GRAPH_OP_CHECK)
            return true;
    return false;
}

/* The region of this class, arguments and shapes; lowered at its first call. Its graph is NULL where it has to be called
 * inline; NULL after a fault. */
static struct region *find_region(struct eval *eval, struct module *module, const struct call *call)
{
    struct lower *outer = (struct lower *)eval;
    struct program *program = outer->program;
    struct arena *arena = &eval->cx->arena;
    struct text key = text_new(arena);
    struct region *region;
    struct call inner = *call;
    struct lower lower = *outer;
    struct graph *graph;
    int errors = diag_errors(eval->cx);

    text_printf(&key, "%s %d %d", module->signature, eval->training, outer->fenced);
    for (int i = 0; i < call->count; i++)
        text_printf(&key, " %s%s%s%s", call->names[i] ? call->names[i] : "", call->names[i] ? "=" : "",
                    ev_text(eval, &call->args[i]),
                    call->args[i].kind == EV_TENSOR ? dtype_rows[call->args[i].tensor->dtype].name : "");
    text_printf(&key, " %s", outer->entry->name);
    if (eval->training)
        add_fixed(&key, program->tree, module);
    for (int i = 0; i < program->region_count; i++)
        if (strcmp(program->regions[i]->key, key.data) == 0)
            return program->regions[i]->result.kind == EV_BAD ? NULL : program->regions[i];

    region = ARENA_NEW(arena, struct region);
    region->key = key.data;
    region->signature = module->signature;
    region->name = region_name(eval, module);
    graph = ARENA_NEW(arena, struct graph);
    *graph = (struct graph){.cx = eval->cx,
                            .program = program,
                            .name = region->name,
                            .root = module,
                            .region = region,
                            .training = eval->training,
                            .fenced = outer->fenced};
    lower.eval.graph = graph;
    lower.eval.call = NULL;
    inner.args = ARENA_ARRAY(arena, call->count + 1, struct ev);
    for (int i = 0; i < call->count; i++) {
        struct value **tensors = NULL, *input;
        int count = 0, at = 0;

        gather_tensors(eval, &call->args[i], &tensors, &count);
        for (int j = 0; j < count; j++) {
            struct op *op = op_new(&lower.eval, GRAPH_OP_INPUT, "input", NULL, 0);

            op->input.index = graph->input_count;
            op->loc = call->loc;
            input = graph_value(graph, op, tensors[j]->dtype, tensors[j]->ndim, tensors[j]->dims);
            if (module->spec_class->forward && i < module->spec_class->forward->arg_count)
                input->name = module->spec_class->forward->args[i].name;
            ARENA_PUSH(arena, graph->ops, graph->op_count, op);
            ARENA_PUSH(arena, graph->inputs, graph->input_count, input);
            tensors[j] = input;
        }
        inner.args[i] = scatter_tensors(eval, &call->args[i], tensors, &at);
    }
    region->result = run_class(&lower.eval, module, &inner);
    if (region->result.kind == EV_BAD || diag_errors(eval->cx) > errors) {
        region->result = ev_bad(call->loc);
        ARENA_PUSH(arena, program->regions, program->region_count, region);
        return NULL;
    }
    gather_tensors(eval, &region->result, &graph->outputs, &graph->output_count);
    graph->result_count = graph->output_count;
    graph->output_names = ARENA_ARRAY(arena, graph->output_count + 1, const char *);
    region->graph = needs_inline(graph) ? NULL : graph;
    ARENA_PUSH(arena, program->regions, program->region_count, region);
    return region;
}

/* An instance calls and writes what the one that the region was lowered from calls and writes. */
static void mark_called(struct module *module, const struct module *like)
{
    module->calls += like->calls > 0;
    for (int i = 0; i < module->tensor_count; i++) {
        module->tensors[i]->written |= like->tensors[i]->written;
        module->tensors[i]->written_in_eval |= like->tensors[i]->written_in_eval;
    }
    for (int i = 0; i < module->child_count; i++)
        mark_called(module->children[i], like->children[i]);
}

static struct ev call_region(struct eval *eval, struct module *module, struct region *region,
                             const struct call *call)
{
    struct value **inputs = NULL, **outputs;
    int count = 0, at = 0;
    struct op *op;

    mark_called(module, region->graph->root);
    for (int i = 0; i < call->count; i++)
        gather_tensors(eval, &call->args[i], &inputs, &count);
    op = op_new(eval, GRAPH_OP_CALL, region->name, inputs, count);
    op->loc = call->loc;
    op->invoke.region = region;
    op->invoke.instance = module;
    op->invoke.count = 1;
    outputs = ARENA_ARRAY(&eval->cx->arena, region->graph->output_count + 1, struct value *);
    for (int i = 0; i < region->graph->output_count; i++) {
        const struct value *out = region->graph->outputs[i];

        outputs[i] = graph_value(eval->graph, op, out->dtype, out->ndim, out->dims);
    }
    ARENA_PUSH(&eval->cx->arena, eval->graph->ops, eval->graph->op_count, op);
    return scatter_tensors(eval, &region->result, outputs, &at);
}

/* ---- calling modules -------------------------------------------------------------------------------------- */

/* Threads the first argument through the children; the others go to every one. Where no statement calls the list, since
 * the model is one, each child is its own place. */
static struct ev call_children(struct eval *eval, struct module *module, const struct call *call)
{
    struct call next = *call;
    bool written = call->loc.offset != module->loc.offset;

    if (call->count == 0 || (call->names[0] && strcmp(call->names[0], "input") != 0)) {
        diag_error(eval->cx, call->loc, "'%s' takes an input", module->path);
        return ev_bad(call->loc);
    }
    next.names = ARENA_ARRAY(&eval->cx->arena, call->count, const char *);
    memcpy(next.names + 1, call->names + 1, (size_t)(call->count - 1) * sizeof *call->names);
    next.args = ARENA_ARRAY(&eval->cx->arena, call->count, struct ev);
    memcpy(next.args, call->args, (size_t)call->count * sizeof *call->args);
    for (int i = 0; i < module->child_count; i++) {
        next.loc = written ? call->loc : module->children[i]->loc;
        next.args[0] = call_module(eval, module->children[i], &next);
        if (next.args[0].kind == EV_BAD)
            return next.args[0];
    }
    return next.args[0];
}

static struct ev run_class(struct eval *eval, struct module *module, const struct call *call)
{
    struct lower *lower = (struct lower *)eval;
    const struct spec_class *class = module->spec_class;
    struct scope *own;

    if (!class->forward) {
        if (!class->modules || class->modules->kind != SPEC_MODULE_LIST) {
            assert(diag_errors(eval->cx) > 0); /* spec.c has looked */
            return ev_bad(call->loc);
        }
        return call_children(eval, module, call);
    }
    own = ARENA_NEW(&eval->cx->arena, struct scope);
    own->outer = module_scope(eval, lower->program->tree, module);
    if (!eval_bind(eval, own, arena_format(&eval->cx->arena, "%s.forward", class->name), class->forward->args,
                   class->forward->arg_count, 0, call))
        return ev_bad(call->loc);

    int errors = diag_errors(eval->cx);
    struct ev result = eval_statements(eval, own, class->forward->statements, class->forward->count);

    if (diag_errors(eval->cx) > errors && module->parent && module->arg_count > 0)
        diag_note(eval->cx, module->loc, "in '%s', which is %s", module->path, module->text);
    return result;
}

/* A function of the module's row: "forward(input): return ...". */
static struct ev run_row(struct eval *eval, struct module *module, const char *text, const struct call *call)
{
    struct lower *lower = (struct lower *)eval;
    struct arena *arena = &eval->cx->arena;
    const char *colon = strchr(text, ':');
    const struct signature *signature = eval_signature(eval, arena_copy(arena, text, (size_t)(colon - text)));
    struct scope *own = ARENA_NEW(arena, struct scope);
    struct ev out;

    own->outer = module_scope(eval, lower->program->tree, module);
    if (!eval_bind(
            eval, own,
            arena_format(arena, "%s.%s", module->layer->name, arena_copy(arena, text, strcspn(text, "("))),
            signature->args, signature->count, 0, call))
        return ev_bad(call->loc);
    eval->at = call->loc;
    out = eval_body(eval, own, colon + 1 + strspn(colon + 1, " "));
    if (out.kind == EV_BAD && module->loc.line != call->loc.line)
        diag_note(eval->cx, module->loc, "'%s' is %s", module->path, module->text);
    return out;
}

static struct ev call_method(struct eval *eval, struct module *module, const char *method,
                             const struct call *call)
{
    return module->faulty ? ev_bad(call->loc) : run_row(eval, module, method, call);
}

static struct ev run_layer(struct eval *eval, struct module *module, const struct call *call)
{
    const struct layer_row *row = module->layer;

    if (row->container == LAYER_SEQUENTIAL)
        return call_children(eval, module, call);
    if (!row->forward) {
        diag_error(eval->cx, call->loc, "%s cannot be called", row->name);
        if (row->container == LAYER_MODULE_DICT && isdigit((unsigned char)module->name[0]))
            diag_hint(eval->cx, "modules in a list have no names: leave out the '- ', or the name");
        else if (module_holds_parameters(module))
            diag_hint(eval->cx,
                      row->container == LAYER_PARAMETER_LIST ? "its parameters are %s[0], %s[1], ..."
                                                             : "its parameters are %s.NAME, %s['NAME'], ...",
                      module->path, module->path);
        else if (row->container != LAYER_PLAIN)
            diag_hint(eval->cx,
                      row->container == LAYER_MODULE_LIST ? "call its children: %s[0](x)"
                                                          : "call its children: %s.NAME(x)",
                      module->path);
        return ev_bad(call->loc);
    }
    return run_row(eval, module, row->forward, call);
}

static struct ev run_activation(struct eval *eval, struct module *module, const struct call *call)
{
    const struct signature *signature = eval_signature(eval, "forward(input)");
    struct scope own = {0};
    struct ev args[8];
    int count = 1;

    if (!eval_bind(eval, &own, arena_format(&eval->cx->arena, "%s.forward", module->class_name),
                   signature->args, signature->count, 0, call))
        return ev_bad(call->loc);
    args[0] = own.items[0].value;
    if (args[0].kind != EV_TENSOR) {
        diag_error(eval->cx, args[0].loc, "%s takes a tensor, found %s", module->class_name,
                   ev_kind_text(&args[0]));
        return ev_bad(call->loc);
    }
    for (int i = 0; i < module->arg_count - ((module->elementwise->flags & ELEMENTWISE_INPLACE) != 0); i++)
        args[count++] = module->args[i].value;

    struct ev out = build_elementwise(eval, call->loc, module->elementwise, args, count);
    bool inplace = false;

    if (module->elementwise->flags & ELEMENTWISE_INPLACE)
        ev_get_bool(&module->args[module->arg_count - 1].value, &inplace);
    if (inplace && out.kind == EV_TENSOR &&
        !build_in_place(eval, call->loc, module->class_name, args[0].tensor, out.tensor)) {
        diag_note(eval->cx, module->loc, "'%s' is %s", module->path, module->text);
        return ev_bad(call->loc);
    }
    return out;
}

/* What the first call of a lazy module says of it; whether the others agree. Unless it resolves, nothing is to be done.
 * False after a fault. */
static bool see_call(struct eval *eval, struct module *module, const struct call *call)
{
    struct module_tree *tree = ((struct lower *)eval)->program->tree;
    const struct layer_row *row = module->lazy;
    const char *name = layer_find(row->becomes)->args[0].name;
    const struct value *input = NULL;
    int64_t extent;
    int axis;

    for (int i = 0; i < call->count; i++)
        if (call->args[i].kind == EV_TENSOR &&
            (call->names[i] ? strcmp(call->names[i], "input") == 0 : i == 0))
            input = call->args[i].tensor;
    axis = !input || row->axis >= 0 ? row->axis : input->ndim + row->axis;
    if (!input || axis < 0 || axis >= input->ndim) {
        diag_error(eval->cx, call->loc, "%s takes its %s from dimension %d of its input, found %s", row->name,
                   name, row->axis,
                   input ? shape_text(&eval->cx->arena, input->ndim, input->dims) : "no tensor");
        diag_note(eval->cx, module->loc, "'%s' is %s", module->path, module->text);
        return false;
    }
    if (!dim_is_const(input->dims[axis], &extent)) {
        diag_error(eval->cx, call->loc, "'%s' would have %s=%s, which is known at run time", module->path,
                   name, dim_text(&eval->cx->arena, input->dims[axis]));
        diag_hint(eval->cx, "parameters have one shape; put the size under constants: if it is fixed");
        return false;
    }
    if (module->layer == row)
        return module_resolve(eval->cx, tree, module, extent, call->loc);
    if (extent == module->extent)
        return true;
    diag_error(eval->cx, call->loc, "'%s' has %s=%lld from its first call, and gets %lld here", module->path,
               name, (long long)module->extent, (long long)extent);
    diag_note(eval->cx, module->first_call, "its first call is here");
    diag_hint(eval->cx, "a module has one shape: make one for each");
    return false;
}

static struct ev call_module(struct eval *eval, struct module *module, const struct call *call)
{
    struct lower *lower = (struct lower *)eval;
    struct arena *arena = &eval->cx->arena;
    struct module_call *outer = eval->call, *own = ARENA_NEW(arena, struct module_call);
    bool training = eval->training;
    struct call inner = *call;
    struct value **inputs = NULL;
    int input_count = 0, at = 0;
    struct ev out;

    if (module->faulty)
        return ev_bad(call->loc);
    for (int i = 0; i < call->count; i++)
        if (call->args[i].kind == EV_BAD)
            return ev_bad(call->loc);
    if (module->is_slice)
        return run_layer(eval, module, call);
    if (lower->program->resolving && module->lazy && !see_call(eval, module, call))
        return ev_bad(call->loc);
    module->calls++;
    *own = (struct module_call){
        .module = module, .outer = outer, .loc = call->loc, .index = eval->graph->call_count};
    ARENA_PUSH(arena, eval->graph->calls, eval->graph->call_count, own);
    if (module->always_eval)
        eval->training = false;
    eval->call = own;
    if (module->spec_class && !lower->fenced && !eval->graph->saves && !lower->program->resolving &&
        !is_special(module) && count_instances(lower->program->tree, module->signature) > 1) {
        struct region *region = find_region(eval, module, call);

        if (!region || region->graph) {
            out = own->result = region ? call_region(eval, module, region, call) : ev_bad(call->loc);
            eval->call = outer;
            eval->training = training;
            return out;
        }
    }
    if (lower->fenced) {
        inner.args = ARENA_ARRAY(arena, call->count + 1, struct ev);
        for (int i = 0; i < call->count; i++)
            gather_tensors(eval, &call->args[i], &inputs, &input_count);
        fence(eval, module, FENCE_FORWARD_PRE, inputs, input_count, 0);
        for (int i = 0; i < call->count; i++)
            inner.args[i] = scatter_tensors(eval, &call->args[i], inputs, &at);
    }
    if (module->spec_class)
        out = run_class(eval, module, &inner);
    else if (module->layer)
        out = run_layer(eval, module, &inner);
    else if (module->elementwise)
        out = run_activation(eval, module, &inner);
    else
        assert(!"a module without a body");
    if (lower->fenced && out.kind != EV_BAD) {
        struct value **values = NULL, **given = NULL;
        int count = 0, given_count = 0;

        for (int i = 0; i < call->count; i++)
            gather_tensors(eval, &call->args[i], &given, &given_count);
        for (int i = 0; i < input_count; i++) { /* what became of an argument in place is the caller's, too */
            struct value *now = refresh(eval, inputs[i]);

            if (now != inputs[i] && !build_in_place(eval, call->loc, module->class_name, given[i], now))
                return ev_bad(call->loc);
            ARENA_PUSH(arena, values, count, now);
        }
        gather_tensors(eval, &out, &values, &count);
        fence(eval, module, FENCE_FORWARD, values, count, input_count);
        at = input_count;
        out = scatter_tensors(eval, &out, values, &at);
    }
    own->result = out;
    eval->call = outer;
    eval->training = training;
    if (out.kind == EV_TENSOR && out.tensor->op->call == own && !out.tensor->name)
        out.tensor->name = NULL;
    return out;
}

/* ---- entries ---------------------------------------------------------------------------------------------- */

/* The dtype and shape of an input; false after a fault. */
static bool lower_input(struct lower *lower, struct scope *scope, const struct spec_input *spec,
                        struct value **out)
{
    struct eval *eval = &lower->eval;
    int errors = diag_errors(eval->cx);
    struct ev shape = eval_expr(eval, scope, spec->shape);

    if (diag_errors(eval->cx) > errors)
        diag_hint(eval->cx,
                  "a dimension that each call chooses is declared under 'sizes:', with its maximum");
    enum dtype dtype = eval->default_dtype;
    const struct dim *dims[MAX_DIMS];
    struct op *op;

    if (spec->dtype) {
        struct scope none = {0}; /* its name is the dtype's, whatever else may have that name */
        struct ev type = eval_expr(eval, &none, spec->dtype);

        if (type.kind == EV_BAD)
            return false;
        assert(type.kind == EV_DTYPE);
        dtype = type.dtype;
    }
    if (shape.kind != EV_TUPLE || shape.count > MAX_DIMS) {
        if (shape.kind != EV_BAD)
            diag_error(eval->cx, spec->shape->loc, "a shape is a list of at most %d dimensions", MAX_DIMS);
        return false;
    }
    for (int i = 0; i < shape.count; i++) {
        if (shape.items[i].kind != EV_INT) {
            if (shape.items[i].kind != EV_BAD)
                diag_error(eval->cx, shape.items[i].loc, "a dimension is an integer or a size, found %s",
                           ev_kind_text(&shape.items[i]));
            return false;
        }
        dims[i] = shape.items[i].dim;
        if (dim_lower(dims[i]) < 0 || dim_upper(dims[i]) > 1 << 30) {
            diag_error(eval->cx, shape.items[i].loc, "dimension %s %s %s",
                       dim_text(&eval->cx->arena, dims[i]), dim_is_const(dims[i], NULL) ? "is" : "may be",
                       dim_lower(dims[i]) < 0 ? "negative" : "larger than 2**30");
            return false;
        }
    }
    op = op_new(eval, GRAPH_OP_INPUT, spec->name, NULL, 0);
    op->loc = spec->loc;
    op->input.index = eval->graph->input_count;
    op->input.constant = spec->constant;
    *out = graph_value(eval->graph, op, dtype, shape.count, dims);
    (*out)->name = spec->name;
    ARENA_PUSH(&eval->cx->arena, eval->graph->ops, eval->graph->op_count, op);
    ARENA_PUSH(&eval->cx->arena, eval->graph->inputs, eval->graph->input_count, *out);
    return true;
}

/* Names of what is returned, as `written` by the return (NULL: not written out): a plain name, else output, or output_
 * and the position. */
static void name_outputs(struct graph *graph, const struct expr *written, const struct ev *result, int *at)
{
    bool tuple = written && (written->kind == EXPR_TUPLE || written->kind == EXPR_LIST);
    const char *name = written && written->kind == EXPR_NAME ? written->text : NULL;

    if (result->kind == EV_TUPLE) {
        for (int i = 0; i < result->count; i++)
            name_outputs(graph, tuple ? written->items[i] : NULL, &result->items[i], at);
        return;
    }
    for (int i = 0; name && i < *at; i++)
        if (strcmp(graph->output_names[i], name) == 0)
            name = NULL;
    if (!name)
        name = graph->output_count == 1 ? "output" : arena_format(&graph->cx->arena, "output_%d", *at);
    graph->output_names[(*at)++] = name;
}

/* Everything returned, as tensors. */
static bool flatten_result(struct eval *eval, struct ev *result)
{
    switch (result->kind) {
    case EV_TENSOR:
        return true;
    case EV_INT:
    case EV_FLOAT:
    case EV_BOOL:
        *result = ev_tensor(result->loc, build_scalar(eval, result->loc, result));
        return result->kind == EV_TENSOR;
    case EV_TUPLE:
        for (int i = 0; i < result->count; i++)
            if (!flatten_result(eval, &result->items[i]))
                return false;
        return true;
    case EV_BAD:
        return false;
    default:
        diag_error(eval->cx, result->loc, "an entry returns tensors, found %s", ev_kind_text(result));
        return false;
    }
}

/* ---- the loss of training --------------------------------------------------------------------------------- */

/* The target of a loss in the short form, as an input: of the output's dims and type, or class indices for all but the axis of
 * classes. */
static struct value *lower_target(struct eval *eval, struct module *criterion, const struct spec_input *spec,
                                  const struct value *output)
{
    static const char *const of_classes[] = {"CrossEntropyLoss", "NLLLoss", "NLLLoss2d", "MultiMarginLoss"};
    struct graph *graph = eval->graph;
    const struct dim *dims[MAX_DIMS];
    enum dtype dtype = strcmp(criterion->class_name, "MultiLabelMarginLoss") == 0 ? DTYPE_INT64
                                                                                  : output->dtype;
    struct op *op = op_new(eval, GRAPH_OP_INPUT, "target", NULL, 0);
    int axis = output->ndim, ndim = 0;
    struct value *value;

    for (size_t i = 0; i < sizeof of_classes / sizeof *of_classes; i++) {
        if (strcmp(criterion->class_name, of_classes[i]) != 0)
            continue;
        axis = output->ndim > 1;
        dtype = DTYPE_INT64;
    }
    for (int i = 0; i < output->ndim; i++)
        if (i != axis)
            dims[ndim++] = output->dims[i];
    op->loc = spec->loc;
    op->input.index = graph->input_count;
    value = graph_value(graph, op, dtype, ndim, dims);
    value->name = spec->name;
    ARENA_PUSH(&eval->cx->arena, graph->ops, graph->op_count, op);
    ARENA_PUSH(&eval->cx->arena, graph->inputs, graph->input_count, value);
    return value;
}

/* loss(output, target) */
static struct ev call_criterion(struct eval *eval, const struct spec_training *training,
                                struct module *criterion, const struct spec_input *target,
                                const struct ev *result)
{
    struct ev args[2] = {*result};
    const char *names[2] = {NULL, NULL};
    struct loc locs[2] = {training->loss_loc, training->loss_loc};
    struct call call = {.loc = training->loss_loc, .args = args, .names = names, .locs = locs, .count = 2};
    struct ev out;

    if (criterion->faulty)
        return ev_bad(training->loss_loc);
    if (result->kind != EV_TENSOR) {
        diag_error(eval->cx, training->loss_loc, "the model returns several values, of which %s takes one",
                   criterion->class_name);
        diag_hint(eval->cx, "write the loss as statements over what forward returns");
        return ev_bad(training->loss_loc);
    }
    args[1] = ev_tensor(training->loss_loc, lower_target(eval, criterion, target, result->tensor));
    eval->call = NULL;
    out = run_layer(eval, criterion, &call);
    return out;
}

/* The names of what forward returned; those that it did not name are output, output_1. */
static void bind_results(struct eval *eval, struct scope *scope, const struct expr *written,
                         const struct ev *result)
{
    struct graph *graph = eval->graph;
    struct value **values = NULL;
    int count = 0, named = 0;

    gather_tensors(eval, result, &values, &count);
    graph->output_count = count;
    graph->output_names = ARENA_ARRAY(&eval->cx->arena, count + 1, const char *);
    name_outputs(graph, written, result, &named);
    for (int i = 0; i < count; i++)
        scope_bind(eval, scope, graph->output_names[i], ev_tensor(values[i]->loc, values[i]));
    graph->output_count = 0;
}

/* The loss of what forward returned; bad after a fault. */
static struct ev lower_loss(struct lower *lower, struct scope *scope, const struct expr *returned,
                            struct ev result, const struct ev *args)
{
    struct eval *eval = &lower->eval;
    const struct entry *entry = lower->entry;
    const struct spec_training *training = lower->program->tree->spec->training;
    struct scope own = {.outer = scope};
    struct ev loss;

    eval->call = NULL;
    if (training->criterion) {
        loss = call_criterion(eval, training, entry->criterion, entry->inputs[entry->input_count - 1],
                              &result);
    } else {
        for (int i = 0; i < entry->model_count; i++)
            scope_bind(eval, &own, entry->inputs[i]->name, args[i]);
        bind_results(eval, &own, returned, &result);
        for (int i = entry->model_count; i < entry->input_count; i++)
            scope_bind(eval, &own, entry->inputs[i]->name, args[i]);
        loss = eval_statements(eval, &own, training->loss, training->loss_count);
    }
    if (loss.kind == EV_BAD)
        return loss;
    if (loss.kind != EV_TENSOR || !dtype_is_float(loss.tensor->dtype) || loss.tensor->ndim != 0) {
        diag_error(eval->cx, training->loss_loc, "a loss is one floating number, found %s%s%s",
                   ev_kind_text(&loss), loss.kind == EV_TENSOR ? " " : "",
                   loss.kind != EV_TENSOR ? ""
                   : loss.tensor->ndim == 0
                       ? dtype_rows[loss.tensor->dtype].name
                       : shape_text(&eval->cx->arena, loss.tensor->ndim, loss.tensor->dims));
        if (loss.kind == EV_NONE)
            diag_hint(eval->cx, "end it with '- return NAME'");
        else if (loss.kind == EV_TENSOR && loss.tensor->ndim > 0)
            diag_hint(eval->cx, "reduce it, as by .mean()");
        return ev_bad(training->loss_loc);
    }
    return loss;
}

static struct graph *lower_entry(struct program *program, struct entry *entry, bool training, bool fenced,
                                 bool saves)
{
    struct module_tree *tree = program->tree;
    struct lower lower = {.program = program, .entry = entry, .fenced = fenced};
    struct eval *eval = &lower.eval;
    struct graph *graph = ARENA_NEW(&program->cx->arena, struct graph);
    struct scope *scope, *own;
    struct call call = {0};
    const struct expr *returned = NULL;
    struct ev result;
    int named = 0;
    bool fine = true;

    *graph = (struct graph){.cx = program->cx,
                            .program = program,
                            .name = entry->name,
                            .root = tree->root,
                            .training = training,
                            .fenced = fenced,
                            .loss = entry->loss,
                            .saves = saves};
    eval->cx = program->cx;
    eval->graph = graph;
    eval->default_dtype = tree->dtype;
    eval->training = training && !tree->root->always_eval;
    eval->globals = module_global_scope(eval, tree, true);
    eval->call_module = call_module;
    eval->call_method = call_method;
    eval->write = write_tensor;
    eval->read = read_tensor;
    eval->refresh = refresh;
    eval->partial = tree->spec->partial;
    tree->sizes = entry->sizes;
    scope = module_scope(eval, tree, tree->root);
    own = ARENA_NEW(&program->cx->arena, struct scope);
    own->outer = scope;

    struct scope *shapes = module_global_scope(eval, tree, true);
    struct ev *args = ARENA_ARRAY(&program->cx->arena, entry->input_count + 1, struct ev);
    struct value **values = ARENA_ARRAY(&program->cx->arena, entry->input_count + 1, struct value *);

    for (int i = 0; i < entry->input_count; i++)
        if (entry->inputs[i]->shape && !lower_input(&lower, shapes, entry->inputs[i], &values[i]))
            values[i] = NULL, fine = false;
    if (fenced && entry->model_count > 0 && fine)
        fence(eval, tree->root, FENCE_FORWARD_PRE, values, entry->model_count, 0);
    for (int i = 0; i < entry->input_count; i++) {
        args[i] = ev_tensor(entry->inputs[i]->loc, values[i]); /* bad where the input is */
        if (i < entry->model_count)
            scope_bind(eval, own, entry->inputs[i]->name, args[i]);
    }
    call.loc = entry->spec ? entry->spec->loc : tree->root->loc;
    call.args = args;
    call.count = entry->model_count;
    call.names = ARENA_ARRAY(&program->cx->arena, entry->input_count + 1, const char *);
    call.locs = ARENA_ARRAY(&program->cx->arena, entry->input_count + 1, struct loc);
    if (entry->spec)
        result = eval_statements(eval, own, entry->spec->statements, entry->spec->count);
    else
        result = call_children(eval, tree->root, &call);
    if (result.kind == EV_NONE || (result.kind == EV_TUPLE && result.count == 0)) {
        if (tree->spec->partial)
            return NULL; /* its end may be what could not be read */
        diag_error(program->cx, call.loc, "'%s' returns nothing", entry->name);
        diag_hint(program->cx, "end it with '- return NAME'");
        return NULL;
    }
    if (!flatten_result(eval, &result) || !fine)
        return NULL;
    if (fenced) {
        struct value **all = NULL;
        int count = 0, at = entry->model_count;

        for (int i = 0; i < entry->model_count; i++)
            ARENA_PUSH(&program->cx->arena, all, count, values[i]);
        gather_tensors(eval, &result, &all, &count);
        fence(eval, tree->root, FENCE_FORWARD, all, count, entry->model_count);
        result = scatter_tensors(eval, &result, all, &at);
    }
    if (entry->spec && entry->spec->count > 0)
        returned = entry->spec->statements[entry->spec->count - 1]->value;
    if (entry->loss) {
        result = lower_loss(&lower, scope, returned, result, args);
        returned = NULL;
        if (result.kind == EV_BAD)
            return NULL;
        result.tensor->name = "loss";
    }
    gather_tensors(eval, &result, &graph->outputs, &graph->output_count);
    graph->result_count = graph->output_count;
    for (int i = 0; i < graph->output_count; i++)
        graph->outputs[i] = refresh(eval, graph->outputs[i]);
    graph->output_names = ARENA_ARRAY(&program->cx->arena, graph->output_count + 1, const char *);
    name_outputs(graph, returned, &result, &named);
    if (entry->loss)
        graph->output_names[0] = "loss";
    return graph;
}

static const struct spec_input *find_input(const struct spec *spec, const char *name)
{
    for (int i = 0; i < spec->input_count; i++)
        if (strcmp(spec->inputs[i].name, name) == 0)
            return &spec->inputs[i];
    return NULL;
}

/* Inputs and maxima of an entry. */
static bool read_entry(struct program *program, struct entry *entry, const struct spec_function *spec)
{
    struct module_tree *tree = program->tree;
    struct cx *cx = program->cx;
    struct eval eval = {.cx = cx, .default_dtype = tree->dtype, .partial = tree->spec->partial};
    int count = spec && spec->has_args ? spec->arg_count : tree->spec->input_count;

    entry->spec = spec;
    entry->inputs = ARENA_ARRAY(&cx->arena, count + 1, const struct spec_input *);
    for (int i = 0; i < count; i++) {
        bool own = spec && spec->has_args;

        entry->inputs[i] = own ? find_input(tree->spec, spec->args[i].name) : &tree->spec->inputs[i];
        if (!entry->inputs[i])
            return false; /* spec.c said so */
    }
    entry->input_count = entry->model_count = count;
    entry->sizes = ARENA_ARRAY(&cx->arena, tree->size_count + 1, struct size);
    memcpy(entry->sizes, tree->sizes, (size_t)tree->size_count * sizeof *tree->sizes);
    for (int i = 0; spec && i < spec->max_count; i++) {
        struct ev max = eval_expr(&eval, module_global_scope(&eval, tree, false), spec->max[i].max);
        int64_t value;
        int at = -1;

        for (int j = 0; j < tree->size_count; j++)
            if (strcmp(tree->sizes[j].name, spec->max[i].name) == 0)
                at = j;
        if (at < 0 || max.kind == EV_BAD)
            return false; /* said already: the former by spec.c */
        if (!ev_get_int(&max, &value) || value < 1 || value > tree->sizes[at].max) {
            diag_error(cx, spec->max[i].max->loc,
                       "the maximum of '%s' must be an integer from 1 to %lld here, found %s",
                       spec->max[i].name, (long long)tree->sizes[at].max, ev_text(&eval, &max));
            return false;
        }
        entry->sizes[at].max = value;
    }
    return true;
}

static bool any_called(const struct module *module)
{
    if (module->calls > 0)
        return true;
    for (int i = 0; i < module->child_count; i++)
        if (any_called(module->children[i]))
            return true;
    return false;
}

/* Nothing calls the settings of a section (MultiStep), an empty list does no work, and a layer uses its parts as it likes. */
static bool may_be_unused(const struct module *module)
{
    if (module->parent && module->parent->layer && module->parent->layer->container == LAYER_PLAIN)
        return true;
    if (!module->layer)
        return false;
    return module->layer->container == LAYER_PLAIN ? !module->layer->forward : module->child_count == 0;
}

static bool has_keys(const struct module_tree *tree, const struct module *module)
{
    for (int i = 0; i < tree->key_count; i++) {
        int owner = tree->keys[i]->owner->index;

        if (owner >= module->index && owner <= module->index + module->subtree)
            return true;
    }
    return false;
}

/* Where one place of the spec makes many modules, the first of them is said. */
static void warn_unused(struct cx *cx, const struct module_tree *tree)
{
    struct names said = {0};

    for (int i = 1; i < tree->module_count; i++) {
        const struct module *module = tree->modules[i];
        const char *place = arena_format(&cx->arena, "%s:%zu", module->loc.source->name, module->loc.offset);

        if (any_called(module))
            continue;
        i += module->subtree;
        if (may_be_unused(module) || names_add(&cx->arena, &said, place, module->path, module->loc))
            continue;
        diag_warning(cx, module->loc, "module '%s' is never called%s", module->path,
                     has_keys(tree, module) ? "; its weights are kept" : "");
        diag_hint(cx, "call it in a statement of 'forward' or of an entry, or leave it out");
    }
}

/* Every size must be found from some input. */
static void check_sizes(struct program *program)
{
    const struct module_tree *tree = program->tree;

    for (int i = 0; i < tree->size_count; i++) {
        const struct entry *forward = &program->entries[0];
        const struct graph *graph = forward->graphs[0][0];
        bool used = false;

        for (int j = 0; graph && j < graph->input_count; j++) {
            for (int d = 0; d < graph->inputs[j]->ndim; d++) {
                const struct size *size;

                used |= dim_is_size(graph->inputs[j]->dims[d], &size) && size->index == i;
            }
        }
        if (graph && !used) {
            diag_error(program->cx, tree->spec->sizes[i].loc,
                       "no input has the size '%s' as a dimension, so it would have no value",
                       tree->spec->sizes[i].name);
            diag_hint(program->cx,
                      "a size takes its value from an input's shape; use constants: for fixed numbers");
        }
    }
}

/* Without hooks, and where there are any with them. */
static void lower_variants(struct program *program, struct entry *entry, bool training, bool saves)
{
    int count = program->tree->spec->hooks == SPEC_OFF || program->resolving ? 1 : 2;

    for (int fenced = 0; fenced < count; fenced++)
        (saves ? entry->saving : entry->graphs)[training][fenced] = lower_entry(program, entry, training,
                                                                                fenced, saves);
}

/* Of the forward entry, as one of its own: MODEL_loss. */
static void lower_loss_entry(struct program *program)
{
    const struct spec *spec = program->tree->spec;
    const struct spec_training *training = spec->training;
    struct arena *arena = &program->cx->arena;
    struct entry *entry = &program->entries[program->entry_count];
    int more = training->input_count + (training->criterion != NULL);

    if (!read_entry(program, entry, spec->root.forward))
        return;
    entry->name = "loss";
    entry->loss = true;
    entry->inputs = ARENA_ARRAY(arena, entry->model_count + more + 1, const struct spec_input *);
    for (int i = 0; i < entry->model_count; i++)
        entry->inputs[i] = &spec->inputs[i];
    for (int i = 0; i < training->input_count; i++)
        entry->inputs[entry->model_count + i] = &training->inputs[i];
    if (training->criterion) {
        struct spec_input *target = ARENA_NEW(arena, struct spec_input);

        entry->criterion = module_criterion(program->cx, program->tree);
        *target = (struct spec_input){.name = "target", .loc = training->loss_loc};
        entry->inputs[entry->model_count + more - 1] = target;
    }
    entry->input_count = entry->model_count + more;
    program->entry_count++;
    for (int training_mode = 0; training_mode < 2; training_mode++) {
        lower_variants(program, entry, training_mode, false);
        if (diag_errors(program->cx) == 0)
            lower_variants(program, entry, training_mode, true);
    }
}

/* Into a program; unless it resolves, also the variants with hooks. */
static struct program *lower_entries(struct cx *cx, struct module_tree *tree, bool resolving)
{
    struct program *program = ARENA_NEW(&cx->arena, struct program);
    const struct spec *spec = tree->spec;
    struct size *sizes = tree->sizes;
    bool saves = spec->backward && !spec->fused && !resolving; /* fused: of the loss alone */

    program->cx = cx;
    program->tree = tree;
    program->resolving = resolving;
    program->entries = ARENA_ARRAY(&cx->arena, spec->entry_count + 3, struct entry);
    for (int i = -1; i < spec->entry_count; i++) {
        struct entry *entry = &program->entries[program->entry_count];
        const struct spec_function *function = i < 0 ? spec->root.forward : spec->entries[i];

        if (i < 0 && !function && !(spec->root.modules && spec->root.modules->kind == SPEC_MODULE_LIST))
            continue; /* spec.c said so */
        entry->name = i < 0 ? "forward" : function->name;
        tree->sizes = sizes;
        if (!read_entry(program, entry, function))
            continue;
        program->entry_count++;
        if (i < 0 && !function && entry->input_count != 1)
            continue; /* spec.c said so */
        for (int training = 0; training < 2; training++)
            lower_variants(program, entry, training, false);
        for (int training = 0; training < 2 && saves && diag_errors(cx) == 0; training++)
            lower_variants(program, entry, training, true);
    }
    tree->sizes = sizes; /* the last entry may have had others */
    if (spec->training && !resolving && diag_errors(cx) == 0)
        lower_loss_entry(program);
    tree->sizes = sizes;
    return program;
}

bool graph_resolve(struct cx *cx, struct module_tree *tree)
{
    int errors = diag_errors(cx);
    bool called;

    if (tree->lazy_count == 0)
        return true;
    lower_entries(cx, tree, true);
    called = diag_errors(cx) > errors || tree->partial; /* or would be, but for that */
    for (int i = 0; i < tree->lazy_count && !called; i++) {
        const struct module *module = tree->lazy[i];

        if (module->layer != module->lazy || module->faulty)
            continue;
        diag_error(cx, module->loc, "'%s' is never called, so its %s is not known", module->path,
                   layer_find(module->lazy->becomes)->args[0].name);
        diag_hint(cx, "call it, or write %s with all its arguments", module->lazy->becomes);
    }
    for (int i = 0; i < tree->module_count; i++)
        tree->modules[i]->calls = 0;
    module_finish(cx, tree);
    return diag_errors(cx) == errors;
}

struct program *graph_lower(struct cx *cx, struct module_tree *tree)
{
    struct program *program = lower_entries(cx, tree, false);

    if (diag_errors(cx) == 0) {
        if (program->entry_count > 0)
            check_sizes(program);
        warn_unused(cx, tree);
    }
    return program;
}

/* ---- check ------------------------------------------------------------------------------------------------ */

const char *graph_check(const struct graph *graph)
{
    bool *made = ARENA_ARRAY(&graph->cx->arena, graph->value_count + 1, bool);
    bool *replaced = ARENA_ARRAY(&graph->cx->arena, graph->value_count + 1, bool);

    for (int i = 0; i < graph->pack_count; i++)
        for (int j = 0; j < graph->pack_ops[i]->output_count; j++)
            made[graph->pack_ops[i]->outputs[j]->id] = true;
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];

        for (int j = 0; j < op->input_count; j++) {
            struct value *input = op->inputs[j], *root = value_root(input);

            if (!made[input->id])
                return arena_format(&graph->cx->arena, "op %d (%s) uses value %d before it is made", i,
                                    op_rows[op->code].name, input->id);
            if (replaced[root->id])
                return arena_format(&graph->cx->arena, "op %d (%s) reads '%s' after it was written", i,
                                    op_rows[op->code].name, slot_tensor(root)->path);
        }
        if (op->code == GRAPH_OP_WRITE)
            replaced[op->inputs[0]->id] = true;
        for (int j = 0; j < op->output_count; j++) {
            if (op->outputs[j]->op != op || op->outputs[j]->result != j)
                return arena_format(&graph->cx->arena, "output %d of op %d (%s) does not know its op", j, i,
                                    op_rows[op->code].name);
            if (op->outputs[j]->id >= graph->value_count || made[op->outputs[j]->id])
                return arena_format(&graph->cx->arena, "value %d is made twice", op->outputs[j]->id);
            made[op->outputs[j]->id] = true;
        }
    }
    for (int i = 0; i < graph->output_count; i++)
        if (!made[graph->outputs[i]->id])
            return arena_format(&graph->cx->arena, "output %d is never made", i);
    return NULL;
}

/* ---- dump ------------------------------------------------------------------------------------------------- */

static void dump_detail(struct text *text, const struct op *op)
{
    static const char *const roles[RECURRENT_INPUTS] = {
        "gates",        "weight",     "bias",  "state",  "cell",    "projected", "lengths",
        "input_weight", "input_bias", "saved", "states", "dstates", "dlast",     "dcell"};

    switch (op->code) {
    case GRAPH_OP_TENSOR:
        text_printf(text, " %s", op->tensor.tensor->path);
        break;
    case GRAPH_OP_VIEW:
        if (op->view.kind == VIEW_PERMUTE)
            for (int i = 0; i < op->inputs[0]->ndim; i++)
                text_printf(text, "%s%d", i ? ", " : " perm ", op->view.perm[i]);
        if (op->view.kind == VIEW_SLICE) {
            text_printf(text, " axis %d from ", op->view.axis);
            dim_print(text, op->view.start);
            text_add(text, " step ");
            dim_print(text, op->view.step);
        }
        if (op->view.kind == VIEW_WINDOW) {
            text_printf(text, " axis %d step ", op->view.axis);
            dim_print(text, op->view.step);
            text_add(text, " dilation ");
            dim_print(text, op->view.dilation);
        }
        break;
    case GRAPH_OP_REDUCE:
        text_add(text, " axes");
        for (int i = 0; i < op->inputs[0]->ndim; i++)
            if (op->reduce.axes[i])
                text_printf(text, " %d", i);
        break;
    case GRAPH_OP_CONV:
    case GRAPH_OP_POOL:
        text_printf(text, " kernel %dx%d stride %d,%d padding %d,%d%s", op->window.kernel[0],
                    op->window.kernel[1], op->window.stride[0], op->window.stride[1], op->window.padding[0],
                    op->window.padding[1], op->window.channels_last ? " channels last" : "");
        break;
    case GRAPH_OP_SOFTMAX:
        text_add(text, op->softmax.safe ? " safe" : "");
        break;
    case GRAPH_OP_ATTENTION:
        text_add(text, op->attention.safe ? " safe" : "");
        if (op->attention.causal)
            text_printf(text, " causal, %lld ahead", (long long)op->attention.ahead);
        break;
    case GRAPH_OP_RECURRENT:
    case GRAPH_OP_RECURRENT_GRADIENT:
        text_printf(text, "%s%s", op->recurrent.reverse ? " reverse" : "",
                    op->recurrent.saves ? " saves" : "");
        for (int i = op->code == GRAPH_OP_RECURRENT ? RECURRENT_BIAS : 0; i < RECURRENT_INPUTS; i++)
            text_printf(text, "%s%s", op->recurrent.has[i] ? " " : "", op->recurrent.has[i] ? roles[i] : "");
        break;
    case GRAPH_OP_FENCE:
        text_printf(text, " %s", op->fence.module->path[0] ? op->fence.module->path : "(model)");
        break;
    case GRAPH_OP_CALL:
        text_printf(text, " %s of %s", op->invoke.region->name, op->invoke.instance->path);
        if (op->invoke.count > 1)
            text_printf(text, " and %d more", op->invoke.count - 1);
        break;
    case GRAPH_OP_WRITE:
        text_printf(text, " %s", op->write.tensor->path);
        break;
    case GRAPH_OP_UPDATE:
        text_printf(text, " %s", op->gradient.tensor->path);
        break;
    case GRAPH_OP_GRADIENT:
        text_printf(text, " of %s%s", op->gradient.tensor->path,
                    op->gradient.present ? ": is there one" : "");
        break;
    case GRAPH_OP_GATHER:
        text_printf(text, " %s %d", op->gather.along ? "along" : "axis", op->gather.axis);
        break;
    case GRAPH_OP_SCATTER:
        text_printf(text, " %s %d", op->scatter.along ? "along" : "axis", op->scatter.axis);
        break;
    case GRAPH_OP_SCAN:
        text_printf(text, " axis %d%s%s", op->scan.axis, op->scan.reverse ? " reverse" : "",
                    op->scan.given ? " from" : "");
        break;
    case GRAPH_OP_SORT:
        text_printf(text, " axis %d%s", op->sort.axis, op->sort.descending ? " descending" : "");
        break;
    case GRAPH_OP_CTC:
        text_printf(text, " blank %lld%s", (long long)op->ctc.blank, op->ctc.gradient ? " gradient" : "");
        break;
    case GRAPH_OP_CHECK:
        if (op->check.kind != CHECK_INDEX)
            text_add(text, op->check.kind == CHECK_DIVISOR ? " not 0" : " true");
        else
            text_printf(text, " in [%s%s, %s)", op->check.negative ? "-" : "",
                        op->check.negative ? dim_text(text->arena, op->check.extent) : "0",
                        dim_text(text->arena, op->check.extent));
        break;
    default:
        break;
    }
    if (op->head) {
        text_add(text, " head ");
        dag_print(text, op->head);
    }
    if (op->dag) {
        text_add(text, " = ");
        dag_print(text, op->dag);
    }
    if (op->tail) {
        text_add(text, " tail ");
        dag_print(text, op->tail);
    }
}

static void dump_values(struct text *text, struct value *const *values, int count)
{
    for (int i = 0; i < count; i++)
        text_printf(text, "%s%%%d", i ? ", " : "", values[i]->id);
}

static void dump_op(struct text *text, const struct op *op, bool json)
{
    struct arena *arena = text->arena;
    const struct module_call *call = op->call;

    if (json) {
        struct text detail = text_new(arena);

        dump_detail(&detail, op);
        text_printf(text, "{\"op\": \"%s\", \"label\": ", op_rows[op->code].name);
        text_json_string(text, op->label ? op->label : "");
        text_add(text, ", \"detail\": ");
        text_json_string(text, detail.data);
        text_add(text, ", \"module\": ");
        text_json_string(text, call ? call->module->path : "");
        text_add(text, ", \"inputs\": [");
        for (int i = 0; i < op->input_count; i++)
            text_printf(text, "%s%d", i ? ", " : "", op->inputs[i]->id);
        text_add(text, "], \"outputs\": [");
        for (int i = 0; i < op->output_count; i++) {
            const struct value *value = op->outputs[i];

            text_printf(text,
                        "%s{\"id\": %d, \"dtype\": \"%s\", \"prepared\": %s, \"shape\": ", i ? ", " : "",
                        value->id, dtype_rows[value->dtype].name, value->prepared ? "true" : "false");
            text_json_string(text, shape_text(arena, value->ndim, value->dims));
            text_add(text, "}");
        }
        text_add(text, "]}");
        return;
    }
    text_add(text, "  ");
    dump_values(text, op->outputs, op->output_count);
    text_printf(text, " = %s", op_rows[op->code].name);
    if (op->label && strcmp(op->label, op_rows[op->code].name) != 0)
        text_printf(text, ".%s", op->label);
    if (op->input_count > 0) {
        text_add(text, " ");
        dump_values(text, op->inputs, op->input_count);
    }
    dump_detail(text, op);
    text_add(text, "  :");
    for (int i = 0; i < op->output_count; i++)
        text_printf(text, " %s %s%s", dtype_rows[op->outputs[i]->dtype].name,
                    shape_text(arena, op->outputs[i]->ndim, op->outputs[i]->dims),
                    op->outputs[i]->prepared ? " prepared" : "");
    if (call && call->module->path[0])
        text_printf(text, "  # %s", call->module->path);
    text_add(text, "\n");
}

void graph_dump(struct text *text, const struct graph *graph, bool json)
{
    const char *mode = graph->training ? "train" : "eval";
    const char *fenced = graph->saves    ? (graph->fenced ? "saving, fenced" : "saving")
                         : graph->fenced ? "fenced"
                                         : "fused";

    if (json) {
        text_printf(text,
                    "{\"graph\": \"%s\", \"region\": %s, \"mode\": \"%s\", \"variant\": \"%s\", \"ops\": [\n",
                    graph->name, graph->region ? "true" : "false", mode, fenced);
        for (int i = 0; i < graph->op_count; i++) {
            text_add(text, i ? ",\n" : "");
            dump_op(text, graph->ops[i], true);
        }
        text_add(text, "], \"pack\": [");
        for (int i = 0; i < graph->pack_count; i++) {
            text_add(text, i ? ",\n" : "");
            dump_op(text, graph->pack_ops[i], true);
        }
        text_add(text, "], \"outputs\": [");
        for (int i = 0; i < graph->output_count; i++)
            text_printf(text, "%s%d", i ? ", " : "", graph->outputs[i]->id);
        text_add(text, "]}");
        return;
    }
    text_printf(text, "%s %s, %s, %s\n", graph->region ? "region" : "entry", graph->name, mode, fenced);
    for (int i = 0; i < graph->pack_count; i++) {
        text_add(text, "  pack");
        dump_op(text, graph->pack_ops[i], false);
    }
    for (int i = 0; i < graph->op_count; i++)
        dump_op(text, graph->ops[i], false);
    text_add(text, "  return ");
    dump_values(text, graph->outputs, graph->output_count);
    text_add(text, "\n");
}

struct dump {
    struct text *text;
    bool json;
    int count;
};

static void dump_one(struct graph *graph, void *data)
{
    struct dump *dump = data;

    if (dump->json)
        text_add(dump->text, dump->count++ ? ",\n" : "[");
    else if (dump->count++)
        text_add(dump->text, "\n");
    graph_dump(dump->text, graph, dump->json);
}

void program_dump(struct text *text, const struct program *program, bool json)
{
    struct dump dump = {text, json, 0};

    program_each((struct program *)program, dump_one, &dump);
    if (json)
        text_add(text, dump.count ? "]\n" : "[]\n");
}
