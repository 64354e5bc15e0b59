/* lower_slots.c - tensors of the module tree: their versions, reads, views of them, and writes. */
#include <string.h>

#include "lower/lower_parts.h"

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
    value = graph_value_of(graph, op, tensor);
    value->name = tensor->name;
    value->local = true; /* of its module */
    graph_append(graph, op);
    ARENA_PUSH(arena, graph->slots, graph->slot_count, value);
    ARENA_PUSH(arena, graph->slot_tensors, count, tensor);
    return value;
}

/* A constant: nobody writes to it. */
static struct ev fixed(struct eval *eval, struct loc loc, const struct module_tensor *tensor)
{
    struct value *value = build_const(eval, loc, tensor->value);

    if (value) {
        value->name = tensor->name;
        value->sharing.fixed = true;
    }
    return ev_of_tensor(loc, tensor, value);
}

/* note [parametrizations]. Once for each call of the module that reads it. */
static struct ev read_parametrized(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    struct lower *lower = (struct lower *)eval;
    const struct parametrization *p = tensor->parametrization;
    const struct call call = {.loc = loc};
    struct scope own = {.outer = module_scope(eval, lower->tree, tensor->owner)};
    struct computed computed = {eval->graph, eval->call, tensor, ev_none(loc)};

    for (int i = 0; i < lower->computed_count; i++) {
        const struct computed *other = &lower->computed[i];

        if (other->graph == eval->graph && other->call == eval->call && other->tensor == tensor)
            return other->value;
    }
    tensor->owner->calls++;
    if (p->list) {
        computed.value = lower_module(eval, p->list, &call);
    } else {
        const bool casts = eval->casts;

        eval->at = loc;
        eval->casts =
            false; /* PyTorch makes them of what it does not list, but for orthogonal's product with its base */
        computed.value = eval_body(eval, &own, p->body);
        eval->casts = casts;
    }
    ARENA_PUSH(&eval->cx->arena, lower->computed, lower->computed_count, computed);
    return computed.value;
}

struct ev lower_read(struct eval *eval, struct module_tensor *tensor, struct loc loc)
{
    if (tensor->parametrization)
        return read_parametrized(eval, tensor, loc);
    for (const struct module_tensor *shared = tensor; shared; shared = shared->source)
        shared->owner->calls++;
    if (tensor->is_constant)
        return fixed(eval, loc, tensor);
    return ev_of_tensor(loc, tensor, slot_value(eval, tensor->first, loc));
}

static void no_such_slot(struct eval *eval, const struct module *self, const char *name, struct loc loc)
{
    const char **known = NULL;
    int count = 0;

    for (int i = 0; i < self->child_count; i++) {
        if (strcmp(self->children[i]->name, name) == 0) {
            diag_error(eval->cx, loc, "'%s' is a module; only buffers and state can be written", name);
            return;
        }
    }
    for (int i = 0; i < self->tensor_count; i++)
        if (self->tensors[i]->kind != MODULE_PARAMETER)
            ARENA_PUSH(&eval->cx->arena, known, count, self->tensors[i]->name);
    diag_error(eval->cx, loc, "there is no buffer or state '%s' to write", name);
    if (diag_nearest(name, known, count))
        diag_hint_nearest(eval->cx, name, known, count);
    else
        diag_hint(eval->cx, "declare it under 'state:' or 'buffers:'");
}

/* A value may broadcast to what it is written to, and no further. False after an error. */
static bool shape_fits(struct eval *eval, const struct module_tensor *tensor, struct loc loc,
                       const struct value *slot, const struct value *target, const struct value *value)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    const int pair = dtype_is_complex(tensor->dtype); /* the last dimension of pairs is not said */
    int ndim = target->ndim;
    bool fits;

    memcpy(dims, target->dims, sizeof dims);
    fits = dims_broadcast(eval->cx, dims, &ndim, value) && ndim == target->ndim;
    for (int i = 0; fits && i < ndim; i++)
        fits = dim_equal(dims[i], target->dims[i]);
    if (fits)
        return true;
    diag_error(eval->cx, loc, "a value of shape %s does not fit %s'%s' of shape %s",
               shape_text(arena, value->ndim - pair, value->dims), target == slot ? "" : "the part of ",
               tensor->name, shape_text(arena, target->ndim - pair, target->dims));
    if (target == slot)
        diag_note(eval->cx, tensor->loc, "'%s' is declared here", tensor->path);
    for (int i = 1; i <= target->ndim && i <= value->ndim; i++) { /* self.k[:, past:past + tokens] = k */
        const char *where = dim_agreement(arena, target->dims[target->ndim - i],
                                          value->dims[value->ndim - i]);

        if (!where)
            continue;
        diag_hint(eval->cx, "if that holds in every call, say so under 'sizes:': require: [%s]", where);
        break;
    }
    return false;
}

/* The op after which the slot is what a WRITE makes of it. */
static void append_op(struct eval *eval, struct module_tensor *tensor, struct loc loc, struct value *slot,
                      struct op *op)
{
    struct graph *graph = eval->graph;
    struct value *next;

    op->loc = loc;
    op->write.tensor = tensor;
    op->write.detached = eval->within != NULL;
    tensor->written = true;
    tensor->written_in_eval |= !eval->training;
    next = graph_value_of(graph, op, tensor);
    value_take_name(next, slot);
    graph_renew(graph, slot, next);
    eval->changes++;
    graph_append(graph, op);
    for (int i = 0; i < graph->slot_count; i++)
        if (graph->slot_tensors[i] == tensor)
            graph->slots[i] = next;
}

static void append_write(struct eval *eval, struct module_tensor *tensor, struct loc loc, struct value *slot,
                         struct value *target, struct value *value)
{
    struct op *op = op_new(eval, GRAPH_OP_WRITE, "write", (struct value *[]){slot, target, value}, 3);

    op->dag = dag_identity(&eval->cx->arena, target->dtype);
    append_op(eval, tensor, loc, slot, op);
}

bool lower_write_rows(struct eval *eval, struct module_tensor *tensor, struct loc loc, struct value *index,
                      struct value *rows)
{
    struct value *slot = slot_value(eval, tensor, loc);
    struct op *op = op_new(eval, GRAPH_OP_WRITE, "write", (struct value *[]){slot, slot, index, rows}, 4);

    op->dag = dag_identity(&eval->cx->arena, rows->dtype);
    op->write.rows = true;
    append_op(eval, tensor, loc, slot, op);
    return true;
}

bool lower_write(struct eval *eval, struct module *self, const char *name, struct loc loc,
                 struct value *target, const struct ev *what)
{
    struct module_tensor *tensor = module_find_tensor(self, name);
    struct value *slot, *value = what->tensor;

    if (!tensor || tensor->none) {
        no_such_slot(eval, self, name, loc);
        return false;
    }
    if (tensor->faulty)
        return false;
    if (tensor->kind == MODULE_PARAMETER && !eval->within) { /* functions of the tables may: embedding does */
        diag_error(eval->cx, loc, "'%s' is a parameter; only buffers and state can be written", name);
        diag_note(eval->cx, tensor->loc, "'%s' is declared here", tensor->path);
        return false;
    }
    if (dtype_is_complex(tensor->dtype)) {
        value = eval_pairs(eval, loc, what, value->dtype);
    } else if (what->kind == EV_COMPLEX) {
        diag_error(eval->cx, loc, "'%s' is %s, and what is written to it is complex", name,
                   dtype_rows[tensor->dtype].name);
        diag_note(eval->cx, tensor->loc, "'%s' is declared here", tensor->path);
        value = NULL;
    }
    if (!value)
        return false;
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
    if (!shape_fits(eval, tensor, loc, slot, target, value) ||
        !build_type_fits(eval, loc, name, target->dtype, value->dtype))
        return false;
    if (value_root(value) == slot) {
        if (view_same(value, target))
            return true;
        diag_error(eval->cx, loc, "this reads from '%s' while it writes to it", name);
        diag_hint(eval->cx, "write a copy of what is read, made by .clone()");
        return false;
    }
    value = build_cast(eval, loc, value, target->dtype);
    if (!value)
        return false;
    append_write(eval, tensor, loc, slot, target, value);
    return true;
}
