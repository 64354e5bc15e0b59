/* eval_statements.c - assignments: to names, to items of lists and to parts of the model. */
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
    if (eval->building && target->kind == EXPR_ATTR) {
        eval->building->assign(eval, owner->self, target->text, target->loc, value);
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
        if (part.kind != EV_TENSOR && part.kind != EV_COMPLEX) {
            diag_error(eval->cx, target->loc, "only buffers and state can be written");
            return;
        }
        view = part.tensor;
    }
    if (ev_is_number(&value))
        value = ev_tensor(value.loc, build_scalar(eval, value.loc, &value));
    if (value.kind != EV_TENSOR && value.kind != EV_COMPLEX) {
        if (value.kind != EV_BAD)
            diag_error(eval->cx, value.loc, "a tensor is needed here, found %s", ev_kind_text(&value));
        return;
    }
    assert(eval->write); /* only what a graph is made of has statements and a self */
    value = eval_without_grad(eval, value);
    eval->write(eval, owner->self, self_attribute(target)->text, target->loc, view, &value);
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

/* xs[a:b] = values */
static void assign_items(struct eval *eval, const struct expr *target, const struct ev *base,
                         const struct ev *slice, const struct ev *value)
{
    int64_t ends[2] = {0, base->count}, step = 1;
    struct ev *items;
    int count;

    for (int i = 0; i < 2; i++) {
        if (slice->items[i].kind != EV_NONE && !ev_get_int(&slice->items[i], &ends[i]))
            step = 0;
        ends[i] += ends[i] < 0 ? base->count : 0;
        ends[i] = ends[i] < 0 ? 0 : ends[i] > base->count ? base->count : ends[i];
    }
    if (slice->items[2].kind != EV_NONE && !ev_get_int(&slice->items[2], &step))
        step = 0;
    if (step != 1) {
        diag_error(eval->cx, slice->loc, "of a list, a slice of known integers and step 1 is assigned to");
        return;
    }
    if (!eval_through(eval, value->loc, value, &items, &count))
        return;
    for (int64_t i = ends[0]; i < ends[1]; i++)
        if (!ev_remove(eval, target->loc, base, (int)ends[0]))
            return;
    for (int i = 0; i < count; i++)
        if (!ev_insert(eval, target->loc, base, (int)ends[0] + i, NULL, items[i]))
            return;
}

/* xs[i] = value, of a list or dict. */
static void assign_item(struct eval *eval, const struct expr *target, const struct ev *base,
                        const struct ev *index, struct ev value)
{
    int64_t at;

    if (!ev_may_change(eval, target->loc, base))
        return;
    if (base->kind == EV_DICT && index->kind == EV_STRING) {
        ev_set_key(eval, target->loc, base, index->text, value);
        return;
    }
    if (base->kind == EV_DICT) {
        diag_error(eval->cx, index->loc, "the keys of a dict are strings");
        return;
    }
    if (index->kind == EV_SLICE) {
        assign_items(eval, target, base, index, &value);
        return;
    }
    if (!ev_get_int(index, &at)) {
        diag_error(eval->cx, index->loc, "an item of a list has one integer");
        return;
    }
    at += at < 0 ? base->count : 0;
    if (at < 0 || at >= base->count)
        diag_error(eval->cx, index->loc, "index %s is out of range: there are %d", ev_text(eval, index),
                   base->count);
    else
        ev_replace(eval, target->loc, base, (int)at, value);
}

/* x[...] = value, of a local, and of what self.NAME holds where a tensor chooses the part. */
static void assign_index(struct eval *eval, struct scope *scope, const struct expr *target, struct ev value)
{
    struct ev base = eval_expr(eval, scope, target->a), index;
    struct ev *items = ARENA_ARRAY(&eval->cx->arena, target->count + 1, struct ev);

    if (base.kind == EV_BAD || value.kind == EV_BAD)
        return;
    if (base.kind == EV_DICT || (base.kind == EV_TUPLE && base.list)) {
        index = target->count == 1 ? eval_expr(eval, scope, target->items[0]) : ev_none(target->loc);
        if (index.kind != EV_BAD)
            assign_item(eval, target, &base, &index, value);
        return;
    }
    if (base.kind == EV_TUPLE) {
        diag_error(eval->cx, target->loc, "the items of a tuple are not changed");
        diag_hint(eval->cx, "make a list of it: list(...)");
        return;
    }
    for (int i = 0; i < target->count; i++)
        items[i] = eval_expr(eval, scope, target->items[i]);
    if (base.kind == EV_TENSOR || base.kind == EV_COMPLEX)
        eval_index_write(eval, target->loc, &base, items, target->count, &value);
    else
        diag_error(eval->cx, target->loc, "only parts of tensors can be written, found %s",
                   ev_kind_text(&base));
}

/* Whether a tensor or a list chooses the part. */
static bool has_places(struct eval *eval, struct scope *scope, const struct expr *target)
{
    bool places = false;

    for (int i = 0; target->kind == EXPR_INDEX && i < target->count; i++) {
        struct ev item = target->items[i]->kind == EXPR_SLICE ? ev_none(target->loc)
                                                              : eval_expr(eval, scope, target->items[i]);

        places |= item.kind == EV_TENSOR || item.kind == EV_TUPLE;
    }
    return places;
}

static bool has_rest(const struct expr *target)
{
    for (int i = 0; i < target->count; i++)
        if (target->items[i]->kind == EXPR_STAR)
            return true;
    return false;
}

/* a, *rest = xs: what the others leave is a list. */
static void assign_rest(struct eval *eval, struct scope *scope, const struct expr *target,
                        const struct ev *value)
{
    struct ev *items;
    int count, at = 0, rest;

    if (!eval_through(eval, target->loc, value, &items, &count))
        count = -1;
    rest = count - (target->count - 1);
    if (count >= 0 && rest < 0)
        diag_error(eval->cx, target->loc, "there are %d values for %d names", count, target->count);
    for (int i = 0; i < target->count; i++) {
        const struct expr *part = target->items[i];
        const bool star = part->kind == EXPR_STAR;

        if (rest < 0)
            eval_assign(eval, scope, star ? part->a : part, ev_bad(target->loc));
        else if (star)
            eval_assign(eval, scope, part->a, ev_list(eval, target->loc, items + at, rest));
        else
            eval_assign(eval, scope, part, ev_fresh(eval, items[at]));
        at += star ? rest : 1;
    }
}

/* config.NAME = value, of a namespace. False: it is none. */
static bool assign_attribute(struct eval *eval, struct scope *scope, const struct expr *target,
                             struct ev value)
{
    struct ev base;

    if (target->kind != EXPR_ATTR || (target->a->kind != EXPR_NAME && target->a->kind != EXPR_ATTR))
        return false;
    if (target->a->kind == EXPR_ATTR)
        base = eval->building ? eval_expr(eval, scope, target->a) : ev_none(target->loc);
    else if (!eval_find_name(eval, scope, target->a, &base))
        return false;
    if (base.kind != EV_DICT || !base.list)
        return false;
    if (value.kind != EV_BAD && ev_may_change(eval, target->loc, &base))
        ev_set_key(eval, target->loc, &base, target->text, value);
    return true;
}

void eval_assign(struct eval *eval, struct scope *scope, const struct expr *target, struct ev value)
{
    struct ev *items = NULL, base;
    int count = 0;

    if (assign_attribute(eval, scope, target, value))
        return;
    if (self_attribute(target) &&
        (eval->building ? target->kind == EXPR_ATTR : !has_places(eval, scope, target))) {
        assign_self(eval, scope, target, value);
        return;
    }
    switch (target->kind) {
    case EXPR_NAME:
        if (value.kind == EV_TENSOR || value.kind == EV_COMPLEX)
            name_value(eval, value.tensor, target->text);
        scope_bind(eval, scope, target->text, value);
        return;
    case EXPR_TUPLE:
    case EXPR_LIST:
        if (value.kind != EV_BAD && has_rest(target)) {
            assign_rest(eval, scope, target, &value);
            return;
        }
        if (value.kind != EV_BAD && !eval_sequence(eval, target->loc, &value, &items, &count)) {
            diag_error(eval->cx, target->loc, "%s cannot be taken apart into %d names", ev_kind_text(&value),
                       target->count);
            items = NULL;
        } else if (value.kind != EV_BAD && count != target->count) {
            value = ev_tuple(eval, value.loc, items, count);
            bad_count(eval, target, &value);
            items = NULL;
        }
        for (int i = 0; i < target->count; i++) {
            const struct expr *part = target->items[i];

            eval_assign(eval, scope, part->kind == EXPR_STAR ? part->a : part, /* of what is wrong alone */
                        items && count == target->count ? ev_fresh(eval, items[i]) : ev_bad(target->loc));
        }
        return;
    case EXPR_INDEX:
        assign_index(eval, scope, target, value);
        return;
    case EXPR_ATTR:
        base = eval->building ? eval_expr(eval, scope, target->a) : ev_none(target->loc);
        if (base.kind == EV_BAD || (eval->building && eval->building->assign_to(eval, &base, target, value)))
            return;
        diag_error(eval->cx, target->loc, "only attributes of 'self' are assigned to");
        diag_hint(eval->cx, "a statement writes buffers and state of its own module: self.NAME = ...");
        return;
    default:
        assert(!"a target that the parser takes");
    }
}

/* What an operation made for x, in the type and the shape that x keeps; `name`: what the spec could bind instead, or NULL. */
static struct ev in_form_of(struct eval *eval, struct loc loc, const char *what, const char *name,
                            const struct ev *x, const struct ev *out)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev pairs = ev_tensor(loc, x->tensor), to = ev_tensor(loc, out->tensor);

    if (x->kind == EV_COMPLEX && out->kind == EV_COMPLEX) {
        const struct ev made = in_form_of(eval, loc, what, name, &pairs, &to);

        return made.kind == EV_TENSOR ? ev_complex(loc, made.tensor) : made;
    }
    if (x->kind == EV_TENSOR && out->kind == EV_COMPLEX) {
        diag_error(eval->cx, loc, "%s is real, and cannot become complex in place", what);
        diag_hint(eval->cx, "x.to(torch.cfloat) is a complex tensor of its own");
        return ev_bad(loc);
    }
    if (x->kind != EV_TENSOR || out->kind != EV_TENSOR) {
        if (x->kind != EV_BAD && out->kind != EV_BAD)
            diag_error(eval->cx, loc, "%s changes a tensor in place, found %s", what,
                       ev_kind_text(x->kind != EV_TENSOR ? x : out));
        return ev_bad(loc);
    }
    if (!dims_equal(out->tensor, x->tensor)) {
        diag_error(eval->cx, loc, "output with shape %s doesn't match the broadcast shape %s",
                   shape_text(arena, x->tensor->ndim, x->tensor->dims),
                   shape_text(arena, out->tensor->ndim, out->tensor->dims));
        if (name)
            diag_hint(eval->cx, "write '%s = ...' to give it another shape", name);
        return ev_bad(loc);
    }
    if (!build_type_fits(eval, loc, what, x->tensor->dtype, out->tensor->dtype))
        return ev_bad(loc);
    return ev_tensor(loc, build_cast(eval, loc, out->tensor, x->tensor->dtype));
}

/* The newest version of x after it became `to`. */
static struct ev become(struct eval *eval, struct loc loc, const char *what, const struct ev *x,
                        const struct ev *to)
{
    struct ev old = *x;

    if (to->kind == EV_BAD || !eval->graph)
        return *to;
    old.loc = loc;
    return build_in_place(eval, loc, what, x->tensor, to->tensor) ? ev_fresh(eval, old) : ev_bad(loc);
}

struct ev eval_become(struct eval *eval, struct loc loc, const char *what, const struct ev *x,
                      const struct ev *out)
{
    struct ev to = in_form_of(eval, loc, what, NULL, x, out);

    return become(eval, loc, what, x, &to);
}

/* What `h += x` leaves in h; `whole`: it is no part of a tensor. (PyTorch has no @= of its own, so that makes another tensor.) */
static struct ev augmented(struct eval *eval, const struct stmt *stmt, bool whole, const struct ev *old,
                           const struct ev *value)
{
    const char *name = stmt->targets[0]->kind == EXPR_NAME ? stmt->targets[0]->text : NULL;
    struct ev out = eval_binary(eval, stmt->loc, stmt->op, old, value);

    if ((out.kind != EV_TENSOR && out.kind != EV_COMPLEX) ||
        (old->kind != EV_TENSOR && old->kind != EV_COMPLEX) || old->integer || stmt->op == OP_MATMUL ||
        (self_attribute(stmt->targets[0]) && !eval->building))
        return out; /* what self.NAME can hold, the write says */
    out = in_form_of(eval, stmt->loc, name ? name : "the part", name, old, &out);
    return whole ? become(eval, stmt->loc, name ? name : "this", old, &out) : out;
}

/* xs += [x]: the list itself grows. False: it is no list, or a fault was said. */
static bool extended(struct eval *eval, const struct stmt *stmt, const struct ev *old, const struct ev *value)
{
    struct ev *items;
    int count;

    if (stmt->op != OP_ADD || old->kind != EV_TUPLE || !old->cell || value->kind == EV_BAD ||
        !eval_through(eval, stmt->loc, value, &items, &count))
        return false;
    for (int i = 0; i < count; i++)
        if (!ev_insert(eval, stmt->loc, old, old->cell->count, NULL, items[i]))
            return false;
    return true;
}

void eval_augment(struct eval *eval, struct scope *scope, const struct stmt *stmt, const struct ev *value)
{
    const struct expr *target = stmt->targets[0];
    struct ev old = eval_expr(eval, scope, target), now;
    const bool tensor = old.kind == EV_TENSOR || old.kind == EV_COMPLEX;
    bool whole = tensor && target->kind != EXPR_INDEX;

    if (tensor && target->kind == EXPR_INDEX) { /* an item of a list is the tensor itself */
        const struct ev base = eval_expr(eval, scope, target->a);

        whole = ev_is_sequence(&base);
    }
    if (tensor && eval->no_grad && !eval->building && !self_attribute(target)) {
        diag_error(eval->cx, stmt->loc, "what has gradients is not changed in place under no_grad");
        diag_hint(eval->cx, "write the operation out: h = h + x");
        return;
    }
    now = ev_fresh(eval, *value);
    if (extended(eval, stmt, &old, &now))
        return;
    now = augmented(eval, stmt, whole, &old, &now);
    if (!tensor || !eval->building || target->kind != EXPR_ATTR) /* whose tensor is the same */
        eval_assign(eval, scope, target, now);
}
