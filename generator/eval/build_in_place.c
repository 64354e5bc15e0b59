/* build_in_place.c - what changes in place, and what shares its memory.
 *
 * note [memory]
 * Values are never written to: what changes in place gets a newer version, and whoever has the old one asks for that
 * (build_newest), so that a name, and a view that was made before, shows what PyTorch's memory would. A view is followed through
 * the ops that made it, to what it shows; a change of a part becomes a change of the whole. Some views are copies in PyTorch
 * (flip, repeat, a reshape of what has gaps): these are marked `own`, and nothing goes through them. Where strides decide
 * between the two and are not known, the view is `unsure`: then what one of the two became in place is not known of the other,
 * and to read it is an error. The same holds of what shares memory through calls of regions and boundaries with hooks,
 * where no view leads (`with`), unless it is the same tensor.
 *
 * x.t_() leaves the memory as it is, and all views of it: x itself, under all its names, is another view from then on
 * (`turned`, which build_shown follows). Two views of one shape are one value here, and two tensors in PyTorch: such a value
 * (`twice`) is not turned. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluator.h"
#include "graph/graph.h"
#include "graph/make.h"

/* The view that makes the value of another one, in the same memory; NULL: none does. */
static const struct op *view_of(const struct value *value)
{
    if (value->sharing.own)
        return NULL;
    return !value->sharing.view && value->op->code == GRAPH_OP_VIEW ? value->op : value->sharing.view;
}

/* What the value shows, a part of it or the same; NULL: itself. */
static struct value *shown_by(const struct value *value)
{
    const struct op *view = view_of(value);

    return view ? view->inputs[0] : value->sharing.part ? NULL : value->sharing.with;
}

struct value *build_storage(struct value *value)
{
    struct value *storage = value, *shown;

    while (!storage->sharing.storage && (shown = shown_by(storage)) != NULL)
        storage = shown;
    if (storage->sharing.storage)
        storage = storage->sharing.storage;
    value->sharing.storage = storage;
    return storage;
}

/* Before anything lies in it. */
static void set_own(struct value *view, bool own)
{
    view->sharing.own = own;
    view->sharing.storage = NULL;
}

/* The views that lead from `of` to `base` again, over `other`; NULL: none do. */
static struct value *over(struct eval *eval, const struct value *of, const struct value *base,
                          struct value *other)
{
    const struct op *view = of == base ? NULL : view_of(of);
    struct value *shown, *out;
    struct op *op;

    if (!view && of != base && shown_by(of))
        return over(eval, shown_by(of), base, other);
    if (!view)
        return of == base ? other : NULL;
    shown = over(eval, view->inputs[0], base, other);
    if (!shown)
        return NULL;
    op = op_new(eval, GRAPH_OP_VIEW, view->label, &shown, 1);
    op->view = view->view;
    out = make_view(build_site(eval, view->loc), op, of->ndim, of->dims);
    out->sharing.unsure = of->sharing.unsure;
    return out;
}

/* What the value is the same tensor as, of those that stand for each other. */
static struct value *first_of_same(struct value *value)
{
    while (value->sharing.with && !value->sharing.part)
        value = value->sharing.with;
    return value;
}

/* `value` stands for `of` from now on, and `other` for `base`, which share memory. */
static void share(struct eval *eval, struct value *value, struct value *of, struct value *base,
                  struct value *other)
{
    struct value *shown = of == base ? NULL : over(eval, of, base, other);

    if (shown && view_of(shown)) {
        value->sharing.view = view_of(shown);
        value->sharing.unsure = shown->sharing.unsure;
    } else {
        value->sharing.part = of != base && shown != other;
        value->sharing.with = value->sharing.part ? other : first_of_same(other);
    }
}

/* A value's place in a list, and the number of what it lies in. */
struct lying {
    int storage, at;
};

static int by_storage(const void *a, const void *b)
{
    const struct lying *one = a, *other = b;

    return one->storage != other->storage ? (one->storage < other->storage ? -1 : 1) : one->at - other->at;
}

void build_share(struct eval *eval, struct value *const *values, struct value *const *of, int first,
                 int count)
{
    struct lying *lying = ARENA_ARRAY(&eval->cx->arena, count + 1, struct lying);
    int *with = ARENA_ARRAY(&eval->cx->arena, count + 1, int); /* the first of the list that lies there */

    for (int i = 0; i < count; i++)
        lying[i] = (struct lying){build_storage(of[i])->id, i};
    qsort(lying, (size_t)count, sizeof *lying, by_storage);
    for (int i = 0; i < count; i++)
        with[lying[i].at] = i > 0 && lying[i].storage == lying[i - 1].storage ? with[lying[i - 1].at]
                                                                              : lying[i].at;
    for (int i = first; i < count; i++)
        if (with[i] != i)
            share(eval, values[i], of[i], of[with[i]], values[with[i]]);
}

/* ---- views and copies --------------------------------------------------------------------------------------------- */

enum { LOOKED_AT = 64 }; /* values, until an order of elements counts as not known */

static bool find_strides(const struct eval *eval, const struct value *value, struct value *out, int *left);

/* Strides that leave no gaps between elements in row-major order. An axis of one element has no say. */
static bool are_dense(const struct eval *eval, const struct value *value)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *stride = dim_const(arena, 1);

    for (int i = value->ndim - 1; i >= 0; i--) {
        if (!dim_equals(value->dims[i], 1) && !dim_equal(value->strides[i], stride))
            return false;
        stride = dim_mul(arena, stride, value->dims[i]);
    }
    return true;
}

/* The elements surely lie row-major without gaps. Elementwise functions keep the order of what they are given. */
static bool is_dense(const struct eval *eval, const struct value *value, int *left)
{
    const struct op *op = value->sharing.view ? value->sharing.view : value->op;
    struct value shown, own = *value;

    if (value->ndim == 0)
        return true;
    if (--*left < 0)
        return false;
    if (op->code == GRAPH_OP_INPUT)
        return !eval->graph->region;
    if (op->code == GRAPH_OP_FENCE)
        return is_dense(eval, op->inputs[value->result], left);
    if (op->code == GRAPH_OP_VIEW && value->sharing.own)
        return op->view.kind == VIEW_RESHAPE || op->view.kind == VIEW_EXPAND;
    if (op->code == GRAPH_OP_VIEW)
        return find_strides(eval, op->inputs[0], &shown, left) &&
               view_resolve(&eval->cx->arena, op, &shown, &own) && are_dense(eval, &own);
    for (int i = 0; i < op->input_count && op_rows[op->code]->order == OP_ORDER_KEPT; i++)
        if (!is_dense(eval, op->inputs[i], left))
            return false;
    return op_rows[op->code]->order != OP_ORDER_UNKNOWN;
}

bool build_is_dense(struct eval *eval, const struct value *value)
{
    int left = LOOKED_AT;

    return is_dense(eval, value, &left);
}

struct ev build_beside(struct ev out, struct value *of)
{
    out.tensor->sharing = (struct sharing){.with = of, .part = true};
    return out;
}

/* The strides of a value in PyTorch, into a copy of it. False: they are not known. */
static bool find_strides(const struct eval *eval, const struct value *value, struct value *out, int *left)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *stride = dim_const(arena, 1);
    const struct op *op = view_of(value);
    struct value *shown;

    *out = *value;
    out->offset = dim_const(arena, 0);
    if (is_dense(eval, value, left)) {
        for (int i = value->ndim - 1; i >= 0; i--) {
            out->strides[i] = stride;
            stride = dim_mul(arena, stride, value->dims[i]);
        }
        return true;
    }
    if (!op || *left < 0)
        return false;
    shown = ARENA_NEW(arena, struct value);
    return find_strides(eval, op->inputs[0], shown, left) && view_resolve(arena, op, shown, out);
}

bool build_strides(struct eval *eval, const struct value *value, struct value *out)
{
    int left = LOOKED_AT;

    return find_strides(eval, value, out, &left);
}

/* Another value of the same elements: a copy in PyTorch, or, where `unsure`, perhaps one. */
static struct value *apart(struct eval *eval, struct loc loc, struct value *value, bool unsure)
{
    struct op *op = op_new(eval, GRAPH_OP_VIEW, "copy", &value, 1);
    struct value *out;

    op->view.kind = VIEW_RESHAPE;
    out = make_view(build_site(eval, loc), op, value->ndim, value->dims);
    set_own(out, !unsure);
    out->sharing.unsure = unsure;
    return out;
}

struct value *build_reshaped(struct eval *eval, struct loc loc, struct value *value, int ndim,
                             const struct dim *const *dims, bool always)
{
    struct value from, *out = build_reshape(eval, loc, value, ndim, dims), to;
    bool known = true;
    int left = LOOKED_AT;

    if (!out || out == value || !eval->graph || always)
        return out;
    if (!find_strides(eval, value, &from, &left)) {
        out->sharing.unsure = true;
        return out;
    }
    to = *out;
    if (view_resolve(&eval->cx->arena, &(struct op){.view.kind = VIEW_RESHAPE}, &from, &to))
        return out;
    for (int i = 0; i < from.ndim; i++) /* with one element along it an axis has no say */
        known &= dim_is_const(from.dims[i], NULL);
    set_own(out, known);
    out->sharing.unsure = !known;
    return out;
}

struct value *build_contiguous(struct eval *eval, struct loc loc, struct value *value)
{
    struct value from;
    int left = LOOKED_AT;
    bool known = true;

    if (!eval->graph)
        return value;
    if (!find_strides(eval, value, &from, &left))
        return apart(eval, loc, value, true);
    for (int i = 0; i < value->ndim; i++)
        known &= dim_is_const(value->dims[i], NULL);
    return are_dense(eval, &from) ? value : apart(eval, loc, value, !known);
}

struct ev build_apart(struct eval *eval, struct ev out, int first)
{
    if (!eval->graph)
        return out;
    for (int i = 0; out.kind == EV_TUPLE && i < out.count; i++)
        out.items[i] = build_apart(eval, out.items[i], first);
    if (out.kind != EV_TENSOR && out.kind != EV_COMPLEX)
        return out;
    if (out.tensor->id < first)
        out.tensor = apart(eval, out.loc, out.tensor, false);
    else if (view_of(out.tensor))
        set_own(out.tensor, true);
    return out;
}

/* ---- newest versions ---------------------------------------------------------------------------------------------- */

static struct value *is_lost(struct eval *eval, struct loc loc, struct value *value, struct loc change)
{
    if (value->sharing.said)
        return NULL;
    value->sharing.said = true;
    diag_error(
        eval->cx, loc,
        "this may share memory with a tensor that was changed in place, and modc cannot tell whether it does");
    if (change.source)
        diag_note(eval->cx, change, "it was changed here");
    diag_hint(eval->cx, "keep x.clone(), which shares nothing, or x.view(...), which always does");
    return NULL;
}

/* What was written, whole, where the slice shows of `base`; NULL: that was something else. */
static struct value *written_as(struct eval *eval, const struct op *slice, const struct value *old,
                                const struct value *base)
{
    const struct dim *at = dim_const(&eval->cx->arena, 0), *length;
    const struct op *joined = base->op;

    if (slice->view.kind != VIEW_SLICE || !dim_equals(slice->view.step, 1) ||
        joined->code != GRAPH_OP_CONCAT || joined->concat.axis != slice->view.axis)
        return NULL;
    for (int i = 0; i < joined->input_count; i++) {
        length = joined->inputs[i]->dims[joined->concat.axis];
        if (dim_equal(at, slice->view.start) && dim_equal(length, old->dims[slice->view.axis]))
            return joined->inputs[i];
        at = dim_add(&eval->cx->arena, at, length);
    }
    return NULL;
}

/* The same view of another value. */
static struct value *view_again(struct eval *eval, const struct op *view, const struct value *old,
                                struct value *base)
{
    struct value *part = written_as(eval, view, old, base), *out;
    struct op *op = op_new(eval, GRAPH_OP_VIEW, view->label, &base, 1);

    op->view = view->view;
    op->loc = view->loc;
    if (part) { /* which is read at once */
        out = apart(eval, view->loc, part, false);
        out->sharing = (struct sharing){.view = op};
    } else {
        out = make_view(build_site(eval, view->loc), op, old->ndim, old->dims);
    }
    if (out)
        value_take_name(out, old);
    return out;
}

/* Which need not be asked again until something changes. */
static struct value *newest(struct eval *eval, struct value *value)
{
    value->renewals = eval->graph->renewals;
    return value;
}

/* What a value is to be asked for before the newest version of it is known; NULL: nothing. */
static struct value *asked_first(const struct value *value)
{
    const struct op *view = view_of(value);

    return value->sharing.with ? value->sharing.with : view ? view->inputs[0] : NULL;
}

/* Of a value the newest version, where `base` is that of what is asked first. */
static struct value *newest_over(struct eval *eval, struct loc loc, struct value *value, struct value *base)
{
    if (base == asked_first(value))
        return newest(eval, value);
    if (value->sharing.with ? value->sharing.part : value->sharing.unsure)
        return is_lost(eval, loc, value, base->loc);
    if (value->sharing.with)
        return base;
    base = view_again(eval, view_of(value), value, base);
    if (base && !base->sharing.own && view_of(base)) /* so that who asks again finds it */
        value->newer = base;
    return base;
}

struct value *build_newest(struct eval *eval, struct loc loc, struct value *value)
{
    struct value **over = NULL, *first; /* those over it, from the one that is asked for */
    int count = 0;

    for (;; value = first) {
        while (value->newer)
            value = value->newer;
        if (value->renewals == eval->graph->renewals)
            break;
        if (value->sharing.lost)
            return is_lost(eval, loc, value, *value->sharing.lost);
        first = asked_first(value);
        if (!first)
            break;
        ARENA_PUSH(&eval->cx->arena, over, count, value);
    }
    newest(eval, value);
    while (value && count > 0)
        value = newest_over(eval, loc, over[--count], value);
    return value;
}

struct value *build_shown(struct eval *eval, struct loc loc, struct value *value)
{
    struct value *last;

    do {
        last = value;
        while (value->turned || value->newer)
            value = value->turned ? value->turned : value->newer;
        value = build_newest(eval, loc, value);
    } while (value && value != last);
    return value;
}

struct ev build_seen(struct ev out, int first)
{
    for (int i = 0; out.kind == EV_TUPLE && i < out.count; i++)
        build_seen(out.items[i], first);
    if ((out.kind == EV_TENSOR || out.kind == EV_COMPLEX) && out.tensor->id < first)
        out.tensor->sharing.twice = true;
    return out;
}

bool build_turn(struct eval *eval, struct loc loc, const char *what, struct value *x, struct value *to)
{
    const struct op *op = x->op;
    const bool given = x->sharing.with || (op->code == GRAPH_OP_INPUT && eval->graph->region) ||
                       (op->code == GRAPH_OP_FENCE && op->fence.kind == FENCE_FORWARD_PRE &&
                        op->fence.module != eval->graph->root);

    if (x->sharing.fixed || value_is_slot(x)) {
        diag_error(eval->cx, loc, "%s: a parameter, buffer, state or constant of a module keeps its shape",
                   what);
        diag_hint(eval->cx, "write x = x.%.*s(...), which is another view of it", (int)strlen(what) - 1,
                  what);
        return false;
    }
    if (given || x->sharing.twice) {
        diag_error(eval->cx, loc,
                   "%s: this tensor has names elsewhere, and it is not known whether these see its shape",
                   what);
        diag_hint(eval->cx, "write x = x.%.*s(...)", (int)strlen(what) - 1, what);
        return false;
    }
    eval->changes++;
    x->turned = to;
    return true;
}

/* ---- changes ------------------------------------------------------------------------------------------------------ */

/* `whole` with `part` where the slice shows it. */
static struct value *with_slice(struct eval *eval, struct loc loc, struct value *whole,
                                const struct op *slice, struct value *part)
{
    struct arena *arena = &eval->cx->arena;
    const int axis = slice->view.axis;
    const struct dim *zero = dim_const(arena, 0), *one = dim_const(arena, 1), *start = slice->view.start;
    const struct dim *end = dim_add(arena, start, part->dims[axis]), *extent = whole->dims[axis];
    struct value *parts[3];
    struct ev index, step = ev_dim(loc, slice->view.step), from = ev_dim(loc, start);
    int count = 0;

    if (dim_equals(slice->view.step, 1)) {
        if (!dim_equals(start, 0))
            parts[count++] = build_slice(eval, loc, whole, axis, zero, one, start);
        parts[count++] = part;
        if (!dim_equal(end, extent))
            parts[count++] = build_slice(eval, loc, whole, axis, end, one, dim_sub(arena, extent, end));
        for (int i = 0; i < count; i++)
            if (!parts[i])
                return NULL;
        return build_concat(eval, loc, "write", parts, count, axis);
    }
    index = ev_tensor(loc, build_arange(eval, loc, part->dims[axis]));
    if (index.kind != EV_BAD)
        index = build_binary(eval, loc, PRIM_MUL, "index", &index, &step);
    if (index.kind != EV_BAD)
        index = build_binary(eval, loc, PRIM_ADD, "index", &index, &from);
    return index.kind == EV_BAD
               ? NULL
               : build_scatter_inside(eval, loc, "write", whole, axis, index.tensor, part, PRIM_LOAD, false);
}

/* What the view shows of becomes, where what it shows becomes `part`. NULL after an error. */
static struct value *with_part(struct eval *eval, struct loc loc, const char *what, const struct op *view,
                               struct value *part)
{
    struct arena *arena = &eval->cx->arena;
    struct value *whole = view->inputs[0];
    int back[MAX_DIMS];

    if (view->view.detached && eval->graph->saves) {
        diag_error(eval->cx, loc, "%s would change in place what detach() shows, beside the gradients' way",
                   what);
        diag_hint(eval->cx, "write x.detach().clone() to change a copy");
        return NULL;
    }
    switch (view->view.kind) {
    case VIEW_PERMUTE:
        for (int i = 0; i < part->ndim; i++)
            back[view->view.perm[i]] = i;
        return build_permute(eval, loc, part, back);
    case VIEW_EXPAND:
        if (!dim_equal(dims_count(arena, part), dims_count(arena, whole)))
            break;
        return build_reshape(eval, loc, part, whole->ndim, whole->dims);
    case VIEW_RESHAPE:
        return build_reshape(eval, loc, part, whole->ndim, whole->dims);
    case VIEW_SLICE:
        return with_slice(eval, loc, whole, view, part);
    case VIEW_WINDOW:
        break;
    }
    diag_error(eval->cx, loc,
               "%s: more than one element of the written-to tensor refers to a single memory location", what);
    diag_hint(eval->cx, "clone() the tensor first");
    return NULL;
}

static void lose(struct eval *eval, struct loc loc, struct value *value)
{
    struct loc *change = ARENA_NEW(&eval->cx->arena, struct loc);

    *change = loc;
    while (value->newer)
        value = value->newer;
    value = build_storage(value);
    while (value->newer)
        value = value->newer;
    if (value->sharing.with)
        lose(eval, loc, value->sharing.with);
    value->sharing.lost = change;
    eval->graph->renewals++; /* what shows it is asked again */
}

/* Writes to a tensor of the tree. */
static bool write_tensor(struct eval *eval, struct loc loc, const char *what, struct value *slot,
                         struct value *x, struct value *to)
{
    const struct module_tensor *tensor = slot->op->code == GRAPH_OP_WRITE ? slot->op->write.tensor
                                                                          : slot->op->tensor.tensor;

    if (eval->building) {
        eval->building->change(eval, tensor, loc);
        return true;
    }
    if (tensor->kind != MODULE_PARAMETER) {
        const struct ev value = ev_of_tensor(loc, tensor,
                                             build_storage(to) == slot ? build_copy(eval, loc, to) : to);

        return value.tensor && eval->write(eval, tensor->owner, tensor->name, loc, x, &value);
    }
    diag_error(eval->cx, loc, "%s would change the parameter '%s' in place", what, tensor->path);
    diag_hint(eval->cx, "parameters change by training alone; x.clone() is a tensor of one's own");
    return false;
}

bool build_in_place(struct eval *eval, struct loc loc, const char *what, struct value *x, struct value *to)
{
    struct value *part = x, *slot = value_root(x), *with;
    const int first = eval->graph ? eval->graph->value_count : 0;
    const struct op *view;

    if (!eval->graph || x == to || dim_equals(dims_count(&eval->cx->arena, x), 0))
        return true;
    eval->changes++;
    if (value_is_slot(slot) && build_storage(x) == slot)
        return write_tensor(eval, loc, what, slot, x, to);
    if (build_storage(x)->sharing.fixed) {
        diag_error(eval->cx, loc, "%s would change a constant of the model in place", what);
        diag_hint(eval->cx,
                  "a buffer that 'self.NAME = ...' writes is none; x.clone() is a tensor of one's own");
        return false;
    }
    while (!part->sharing.unsure && (view = view_of(part)) != NULL) {
        to = with_part(eval, loc, what, view, to);
        if (!to)
            return false;
        part = view->inputs[0];
    }
    if (part->sharing.unsure)
        lose(eval, loc, view_of(part)->inputs[0]);
    to = build_apart(eval, ev_tensor(loc, to), view_of(to) ? first : 0).tensor;
    if (part->sharing.with && !part->sharing.part) {
        with = build_newest(eval, loc, part->sharing.with);
        return with && build_in_place(eval, loc, what, with, to);
    }
    if (part->sharing.with)
        lose(eval, loc, part->sharing.with);
    graph_renew(eval->graph, part, to);
    return true;
}

struct value *build_filling(struct eval *eval, struct loc loc, const char *what, const struct value *x,
                            const struct ev *source)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS];
    const int first = eval->graph ? eval->graph->value_count : 0;
    struct value *value;
    bool fits;
    int ndim = x->ndim;

    if (source->kind != EV_TENSOR && !ev_is_number(source)) {
        diag_error(eval->cx, source->loc, "%s takes a tensor or a number, found %s", what,
                   ev_text(eval, source));
        return NULL;
    }
    value = build_scalar(eval, loc, source);
    value = value ? build_cast(eval, loc, value, x->dtype) : NULL;
    while (value && value->ndim > x->ndim && dim_equals(value->dims[0], 1)) /* as PyTorch does */
        value = build_reshape(eval, loc, value, value->ndim - 1, value->dims + 1);
    if (!value)
        return NULL;
    for (int i = 0; i < ndim; i++)
        dims[i] = x->dims[i];
    fits = dims_broadcast(eval->cx, dims, &ndim, value) && ndim == x->ndim;
    for (int i = 0; fits && i < ndim; i++)
        fits = dim_equal(dims[i], x->dims[i]);
    if (fits)
        value = build_expand(eval, loc, value, x->ndim, x->dims);
    if (fits)
        return value ? build_apart(eval, ev_tensor(loc, value), first).tensor : NULL;
    diag_error(eval->cx, loc, "%s: a value of shape %s does not fit a tensor of shape %s", what,
               shape_text(arena, value->ndim, value->dims), shape_text(arena, x->ndim, x->dims));
    return NULL;
}
