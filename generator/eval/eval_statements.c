/* eval_statements.c - assignments, to names and to parts of the model, and `return`. */
#include "eval/evaluator.h"

#include <assert.h>
#include <string.h>

#include "graph/graph.h"

/* The self.NAME in self.NAME, self.NAME[...] and self.NAME[...][...], or NULL. */
static const struct expr *self_attribute(const struct expr *target)
{
    while (target->kind == EXPR_INDEX)
        target = target->a;
    return target->kind == EXPR_ATTR && target->a->kind == EXPR_NAME && strcmp(target->a->text, "self") == 0
               ? target
               : NULL;
}

static struct scope *scope_self(struct scope *scope)
{
    while (scope && !scope->self)
        scope = scope->outer;
    return scope;
}

/* self.NAME = value, self.NAME[...] = value */
static void assign_self(struct eval *eval, struct scope *scope, const struct expr *target, struct ev value)
{
    struct scope *owner = scope_self(scope);
    struct value *view = NULL;

    if (!owner) {
        diag_error(eval->cx, target->loc, "a function has no self to write to");
        return;
    }
    if (value.kind == EV_BAD)
        return;
    if (value.kind == EV_NONE && eval->at.source && target->loc.offset == eval->at.offset)
        return; /* a body of the tables that has nothing to write in this mode */
    if (target->kind == EXPR_INDEX) {
        struct ev part = eval_expr(eval, scope, target);

        if (part.kind == EV_BAD)
            return;
        if (part.kind != EV_TENSOR) {
            diag_error(eval->cx, target->loc, "only buffers and state can be written");
            return;
        }
        view = part.tensor;
    }
    if (ev_is_number(&value))
        value = ev_tensor(value.loc, build_scalar(eval, value.loc, &value));
    if (value.kind != EV_TENSOR) {
        if (value.kind != EV_BAD)
            diag_error(eval->cx, value.loc, "a tensor is needed here, found %s", ev_kind_text(&value));
        return;
    }
    assert(eval->write); /* only what a graph is made of has statements and a self */
    eval->write(eval, owner->self, self_attribute(target)->text, target->loc, view, value.tensor);
}

static int leaf_count(const struct ev *value)
{
    int count = 0;

    if (value->kind != EV_TUPLE)
        return 1;
    for (int i = 0; i < value->count; i++)
        count += leaf_count(&value->items[i]);
    return count;
}

/* The names as the parts of the value lie in each other: "y, (h, c)". */
static const char *nested_names(struct arena *arena, const struct expr *target, const struct ev *value,
                                int *next)
{
    const char *text = "";

    for (int i = 0; i < value->count; i++) {
        const struct ev *item = &value->items[i];
        const char *part = item->kind == EV_TUPLE
                               ? arena_format(arena, "(%s)", nested_names(arena, target, item, next))
                               : target->items[(*next)++]->text;

        text = arena_format(arena, "%s%s%s", text, i > 0 ? ", " : "", part);
    }
    return text;
}

/* A value has another number of parts than there are names for. */
static void bad_count(struct eval *eval, const struct expr *target, const struct ev *value)
{
    bool names = leaf_count(value) == target->count;
    int next = 0;

    diag_error(eval->cx, target->loc, "there are %d values for %d names", value->count, target->count);
    for (int i = 0; i < target->count; i++)
        names &= target->items[i]->kind == EXPR_NAME;
    if (names)
        diag_hint(eval->cx, "some of them are tuples: %s",
                  nested_names(&eval->cx->arena, target, value, &next));
}

/* What is bound in the statements of a class of torch.nn has that name only if it was made there. */
static void name_value(const struct eval *eval, struct value *value, const char *name)
{
    const bool local = eval->call && !eval->call->module->spec_class;
    const struct module_call *made = value->op->call;

    while (local && made && made != eval->call)
        made = made->outer;
    if (value->name || value->op->code == GRAPH_OP_TENSOR || (local && !made))
        return;
    value->name = name;
    value->local = local;
}

static void assign(struct eval *eval, struct scope *scope, const struct expr *target, struct ev value)
{
    if (self_attribute(target)) {
        assign_self(eval, scope, target, value);
        return;
    }
    switch (target->kind) {
    case EXPR_NAME:
        if (value.kind == EV_TENSOR)
            name_value(eval, value.tensor, target->text);
        scope_bind(eval, scope, target->text, value);
        return;
    case EXPR_TUPLE:
    case EXPR_LIST:
        if (value.kind != EV_BAD && value.kind != EV_TUPLE) {
            diag_error(eval->cx, target->loc, "%s cannot be taken apart into %d names", ev_kind_text(&value),
                       target->count);
            value = ev_bad(target->loc);
        } else if (value.kind == EV_TUPLE && value.count != target->count) {
            bad_count(eval, target, &value);
            value = ev_bad(target->loc);
        }
        for (int i = 0; i < target->count; i++)
            assign(eval, scope, target->items[i],
                   value.kind == EV_TUPLE ? value.items[i] : ev_bad(target->loc));
        return;
    case EXPR_INDEX:
        diag_error(eval->cx, target->loc,
                   "only parts of buffers and state can be written, as self.NAME[...]");
        diag_hint(eval->cx, "build a new tensor with cat or where");
        return;
    default:
        assert(!"a target that the parser takes");
    }
}

/* What `h += x` leaves in h: a tensor keeps its type and shape, as if it was written over. (PyTorch has no @= of its own.) */
static struct ev augmented(struct eval *eval, const struct stmt *stmt, const struct ev *old,
                           const struct ev *value)
{
    struct ev out = eval_binary(eval, stmt->loc, stmt->op, old, value);
    struct arena *arena = &eval->cx->arena;
    const struct value *h = old->tensor;
    bool same;

    if (out.kind != EV_TENSOR || old->kind != EV_TENSOR || stmt->op == OP_MATMUL ||
        stmt->target->kind != EXPR_NAME)
        return out; /* what self.NAME can hold, the write says */
    same = out.tensor->ndim == h->ndim;
    for (int i = 0; same && i < h->ndim; i++)
        same = dim_equal(out.tensor->dims[i], h->dims[i]);
    if (!same) {
        diag_error(eval->cx, stmt->loc, "output with shape %s doesn't match the broadcast shape %s",
                   shape_text(arena, h->ndim, h->dims),
                   shape_text(arena, out.tensor->ndim, out.tensor->dims));
        diag_hint(eval->cx, "write '%s = ...' to give it another shape", stmt->target->text);
        return ev_bad(stmt->loc);
    }
    if (!build_type_fits(eval, stmt->loc, stmt->target->text, h->dtype, out.tensor->dtype))
        return ev_bad(stmt->loc);
    return ev_tensor(stmt->loc, build_cast(eval, stmt->loc, out.tensor, h->dtype));
}

struct ev eval_run(struct eval *eval, struct scope *scope, struct stmt *const *statements, int count,
                   bool once)
{
    for (int i = 0; i < count; i++) {
        const struct stmt *stmt = statements[i];
        struct ev value;

        value = stmt->value ? eval_expr(eval, scope, stmt->value) : ev_none(stmt->loc);
        if (once && value.kind == EV_BAD)
            return value;
        switch (stmt->kind) {
        case STMT_ASSIGN:
            assign(eval, scope, stmt->target, value);
            break;
        case STMT_AUGMENT: {
            struct ev old = eval_expr(eval, scope, stmt->target);

            assign(eval, scope, stmt->target, augmented(eval, stmt, &old, &value));
            break;
        }
        case STMT_RETURN:
            if (i + 1 == count)
                return value;
            if (!stmt->value || stmt->value->kind != EXPR_BAD)
                diag_error(eval->cx, statements[i + 1]->loc, "nothing can follow 'return'");
            return ev_bad(stmt->loc);
        case STMT_EXPR:
            scope->partial |= stmt->value->kind == EXPR_BAD;
            break;
        }
    }
    return scope->partial ? ev_bad((struct loc){0}) : ev_none((struct loc){0});
}

struct ev eval_statements(struct eval *eval, struct scope *scope, struct stmt *const *statements, int count)
{
    return eval_run(eval, scope, statements, count, false);
}
