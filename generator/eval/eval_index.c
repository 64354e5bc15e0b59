/* eval_index.c - x[...] of tensors, tuples, and modules that hold others. */
#include "eval/evaluator.h"

#include <string.h>

/* A bound of a slice, clamped into 0 .. extent as Python does. Where sizes decide its sign it counts from the front, and
 * a call in which it is negative is refused. */
static const struct dim *slice_bound(struct eval *eval, const struct ev *bound, const struct dim *extent,
                                     const struct dim *absent)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *value = bound->dim, *zero = dim_const(arena, 0);

    if (bound->kind == EV_NONE)
        return absent;
    if (dim_upper(value) < 0)
        value = dim_add(arena, value, extent);
    else
        build_need(eval, value);
    return dim_min(arena, dim_max(arena, value, zero), extent);
}

static struct value *index_slice(struct eval *eval, struct value *value, int axis, const struct ev *slice)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent = value->dims[axis], *zero = dim_const(arena, 0), *length;
    int64_t step = 1;

    for (int i = 0; i < 3; i++) {
        if (slice->items[i].kind == EV_BOOL)
            slice->items[i] = ev_int(eval, slice->items[i].loc, slice->items[i].integer);
        if (slice->items[i].kind != EV_NONE && slice->items[i].kind != EV_INT) {
            diag_error(eval->cx, slice->items[i].loc, "a slice takes integers, not %s",
                       ev_kind_text(&slice->items[i]));
            return NULL;
        }
    }
    if (slice->items[2].kind == EV_INT && !dim_is_const(slice->items[2].dim, &step)) {
        diag_error(eval->cx, slice->items[2].loc, "the step of a slice must be known while generating");
        return NULL;
    }
    if (step <= 0) {
        diag_error(eval->cx, slice->items[2].loc, "the step of a slice must be positive, found %lld",
                   (long long)step);
        if (step < 0)
            diag_hint(eval->cx, "PyTorch refuses negative steps too");
        return NULL;
    }

    if (step > (int64_t)1 << 40) /* further than any dimension goes, and so is this */
        step = (int64_t)1 << 40;

    const struct dim *start = slice_bound(eval, &slice->items[0], extent, zero);
    const struct dim *stop = slice_bound(eval, &slice->items[1], extent, extent);

    length = dim_sub(arena, stop, start);
    if (!dim_equal(length, extent)) /* a dimension is none below 0, whatever its bounds say */
        length = dim_max(arena, length, zero);
    if (step > 1)
        length = dim_floordiv(arena, dim_add(arena, length, dim_const(arena, step - 1)),
                              dim_const(arena, step));
    return build_slice(eval, slice->loc, value, axis, start, dim_const(arena, step), length);
}

struct value *eval_select(struct eval *eval, struct value *value, int axis, const struct ev *index)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *extent = value->dims[axis], *at = index->dim, *dims[MAX_DIMS];
    struct loc loc = index->loc;
    int64_t size, i;
    int n = 0;

    if (dim_upper(at) < 0)
        at = dim_add(arena, at, extent);
    if (dim_is_const(extent, &size) && dim_is_const(at, &i) && (i < 0 || i >= size)) {
        diag_error(eval->cx, loc, "index %s is out of range for dimension %d of size %lld",
                   dim_text(arena, index->dim), axis, (long long)size);
        return NULL;
    }
    /* sizes count from 1 here, as far as bounds can tell: at 0 there is nothing to choose from */
    if (dim_lower(at) < -1 || dim_lower(dim_sub(arena, extent, at)) < 0 ||
        dim_upper(dim_sub(arena, extent, at)) <= 0) {
        diag_error(eval->cx, loc,
                   "index %s is out of range for dimension %d of size %s, for some values of the sizes",
                   dim_text(arena, index->dim), axis, dim_text(arena, extent));
        return NULL;
    }
    build_need(eval, at);
    build_need(eval, dim_sub(arena, dim_sub(arena, extent, at), dim_const(arena, 1)));
    value = build_slice(eval, loc, value, axis, at, dim_const(arena, 1), dim_const(arena, 1));
    if (!value)
        return NULL;
    for (int d = 0; d < value->ndim; d++)
        if (d != axis)
            dims[n++] = value->dims[d];
    return build_reshape(eval, loc, value, n, dims);
}

static bool takes_axis(const struct ev *item)
{
    return item->kind == EV_INT || item->kind == EV_SLICE || item->kind == EV_TENSOR ||
           item->kind == EV_TUPLE;
}

/* A list of integers as a tensor; NULL after an error. */
static struct value *index_list(struct eval *eval, const struct ev *list)
{
    struct tensor *tensor = ARENA_NEW(&eval->cx->arena, struct tensor);

    tensor->dtype = DTYPE_INT64;
    tensor->ndim = 1;
    tensor->dims[0] = list->count;
    tensor->data = ARENA_ARRAY(&eval->cx->arena, list->count + 1, union scalar);
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].kind == EV_BAD)
            return NULL;
        if (list->items[i].kind == EV_INT && ev_get_int(&list->items[i], &tensor->data[i].i))
            continue;
        diag_error(eval->cx, list->items[i].loc, "a list as an index has integers, found %s",
                   ev_text(eval, &list->items[i]));
        return NULL;
    }
    return build_const(eval, list->loc, tensor);
}

/* A tensor of integers, or a list of them, as an index; NULL after an error. */
static struct value *index_value(struct eval *eval, const struct ev *item)
{
    struct value *index = item->kind == EV_TENSOR ? item->tensor : index_list(eval, item);

    if (!index)
        return NULL;
    if (index->dtype == DTYPE_BOOL || index->dtype == DTYPE_UINT8) {
        diag_error(eval->cx, item->loc,
                   "an index that is a mask would give a shape that depends on its values");
        diag_hint(eval->cx, "where(mask, a, b) and masked_fill keep the shape");
        return NULL;
    }
    if (index->dtype != DTYPE_INT64 && index->dtype != DTYPE_INT32) {
        diag_error(eval->cx, item->loc, "an index must be int64 or int32, found %s",
                   dtype_rows[index->dtype].name);
        return NULL;
    }
    return index;
}

/* Indices that are tensors, and the axes that they are for, in order. Where a part is written there may be a mask instead, of
 * the axes from `axes[0]` on. */
struct places {
    struct value *indices[MAX_DIMS], *mask;
    int axes[MAX_DIMS], count;
    struct loc loc;
    bool writes;
};

/* Brings the axes of places together: to where they are, or, where others stand between, to the front. Which is the first. */
static int gather_axes(const struct places *places, int ndim, int *perm)
{
    const int count = places->count;
    int n = 0, first = places->axes[0];

    if (places->axes[count - 1] - first != count - 1)
        first = 0;
    for (int i = 0; i < first; i++)
        perm[n++] = i;
    for (int i = 0; i < count; i++)
        perm[n++] = places->axes[i];
    for (int i = first; i < ndim; i++) {
        bool indexed = false;

        for (int k = 0; k < count; k++)
            indexed |= places->axes[k] == i;
        if (!indexed)
            perm[n++] = i;
    }
    return first;
}

static void too_many(struct eval *eval, struct loc loc, int taken, int ndim, const struct dim *const *dims)
{
    diag_error(eval->cx, loc, "too many indices: %d for a tensor of shape %s", taken,
               shape_text(&eval->cx->arena, ndim, dims));
}

/* x[i, :, j]: the dimensions to which the indices broadcast take the place of their axes, or come first where others stand
 * between these. */
static struct value *index_places(struct eval *eval, struct value *value, const struct places *places)
{
    int perm[MAX_DIMS], first;

    if (places->count == 1)
        return build_gather(eval, places->loc, "index", value, places->axes[0], places->indices[0], false,
                            true);
    first = gather_axes(places, value->ndim, perm);
    value = build_permute(eval, places->loc, value, perm);
    return value ? build_gather_places(eval, places->loc, value, first, places->indices, places->count)
                 : NULL;
}

static bool is_mask(const struct places *places, const struct ev *item)
{
    return places->writes && item->kind == EV_TENSOR && item->tensor->dtype == DTYPE_BOOL;
}

/* A mask as the one place that there is. False after an error. */
static bool take_mask(struct eval *eval, const struct ev *item, const struct value *x, int *axis,
                      struct places *places)
{
    const struct value *mask = item->tensor;
    bool fits = places->count == 0 && !places->mask;

    for (int i = 0; fits && i < mask->ndim; i++)
        fits = dim_equal(mask->dims[i], x->dims[*axis + i]);
    places->mask = item->tensor;
    places->axes[0] = *axis;
    *axis += mask->ndim;
    if (!fits)
        diag_error(
            eval->cx, item->loc,
            "a mask of shape %s does not stand here: it has the dimensions of %s that it chooses from, and no "
            "other tensor beside it",
            shape_text(&eval->cx->arena, mask->ndim, mask->dims),
            shape_text(&eval->cx->arena, x->ndim, x->dims));
    return fits;
}

/* The part that integers, slices, None and '...' choose, and the places in it that tensors name. NULL after an error. */
static struct value *index_part(struct eval *eval, struct loc loc, struct value *value,
                                const struct ev *items, int count, struct places *places)
{
    struct arena *arena = &eval->cx->arena;
    int taken = 0, axis = 0;
    bool ellipsis = false;

    for (int i = 0; i < count; i++) {
        if (items[i].kind == EV_BAD)
            return NULL;
        taken += is_mask(places, &items[i]) ? items[i].tensor->ndim : takes_axis(&items[i]);
        if (items[i].kind == EV_ELLIPSIS && ellipsis) {
            diag_error(eval->cx, items[i].loc, "an index can have only one '...'");
            return NULL;
        }
        ellipsis |= items[i].kind == EV_ELLIPSIS;
    }
    if (taken > value->ndim) {
        too_many(eval, loc, taken, value->ndim, value->dims);
        return NULL;
    }
    for (int i = 0; i < count && value; i++) {
        const struct dim *dims[MAX_DIMS + 1];
        struct value *index;

        switch (items[i].kind) {
        case EV_INT:
            value = eval_select(eval, value, axis, &items[i]);
            break;
        case EV_SLICE:
            value = index_slice(eval, value, axis++, &items[i]);
            break;
        case EV_ELLIPSIS: {
            int rest = 0;

            for (int j = i + 1; j < count; j++)
                rest += is_mask(places, &items[j]) ? items[j].tensor->ndim : takes_axis(&items[j]);
            axis = value->ndim - rest;
            break;
        }
        case EV_NONE:
            if (value->ndim == MAX_DIMS) {
                diag_error(eval->cx, items[i].loc, "a tensor has at most %d dimensions", MAX_DIMS);
                return NULL;
            }
            memcpy(dims, value->dims, sizeof(dims[0]) * (size_t)axis);
            dims[axis] = dim_const(arena, 1);
            memcpy(dims + axis + 1, value->dims + axis, sizeof(dims[0]) * (size_t)(value->ndim - axis));
            value = build_reshape(eval, loc, value, value->ndim + 1, dims);
            axis++;
            break;
        case EV_TUPLE:
        case EV_TENSOR:
            if (is_mask(places, &items[i])) {
                if (!take_mask(eval, &items[i], value, &axis, places))
                    return NULL;
                break;
            }
            index = index_value(eval, &items[i]);
            if (!index)
                return NULL;
            if (index->ndim == 0 && !places->writes) { /* as an integer */
                value = build_gather(eval, items[i].loc, "index", value, axis, index, false, true);
                break;
            }
            if (places->mask || (places->count > 0 && (index->ndim == 0 || places->indices[0]->ndim == 0))) {
                diag_error(eval->cx, items[i].loc,
                           "a part is written by one mask, or by tensors that all have dimensions, or none");
                return NULL;
            }
            places->loc = places->count == 0 ? items[i].loc : loc;
            places->axes[places->count] = axis++;
            places->indices[places->count++] = index;
            break;
        default:
            diag_error(eval->cx, items[i].loc, "an index takes integers, slices, None and '...', not %s",
                       ev_kind_text(&items[i]));
            return NULL;
        }
    }
    return value;
}

static struct ev index_tensor(struct eval *eval, struct loc loc, struct value *value, const struct ev *items,
                              int count)
{
    const int first = eval->graph ? eval->graph->value_count : 0;
    struct places places = {.loc = loc};
    struct value *part = index_part(eval, loc, value, items, count, &places);
    struct ev out;

    if (part && places.count > 0)
        part = index_places(eval, part, &places);
    out = ev_tensor(loc, part);
    return places.count > 0 ? build_apart(eval, out, first) : out; /* which is a copy */
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* x where the mask is false, else the source, which is as long as what a mask may choose: one. */
static struct value *put_masked(struct eval *eval, struct loc loc, const char *what, struct value *x,
                                const struct places *places, const struct ev *source, bool accumulate)
{
    struct arena *arena = &eval->cx->arena;
    const int behind = x->ndim - places->axes[0] - places->mask->ndim;
    const struct dim *dims[MAX_DIMS];
    struct value *mask = places->mask, *value = build_scalar(eval, loc, source);
    struct ev to, old = ev_tensor(loc, x);

    if (value &&
        value->ndim > behind) { /* one for all that are chosen, as often as there are axes of the mask */
        int at = value->ndim - behind - 1, n = 0;

        if (!dim_equals(value->dims[at], 1) || value->ndim + mask->ndim - 1 > x->ndim) {
            diag_error(
                eval->cx, loc,
                "%s: how many elements of %s a mask chooses is not known, so that a value of shape %s may not "
                "fit them",
                what, shape_text(arena, x->ndim, x->dims), shape_text(arena, value->ndim, value->dims));
            diag_hint(eval->cx,
                      "where(mask, a, b) takes a value for each place, masked_scatter one after the other");
            return NULL;
        }
        for (int i = 0; i < value->ndim; i++)
            for (int k = 0; k < (i == at ? mask->ndim : 1); k++)
                dims[n++] = value->dims[i];
        value = build_reshape(eval, loc, value, n, dims);
    }
    to = ev_tensor(loc, value);
    if (value && accumulate)
        to = build_binary(eval, loc, PRIM_ADD, "add", &old, &to);
    value = to.kind == EV_BAD ? NULL : build_filling(eval, loc, what, x, &to);
    for (int i = 0; i < mask->ndim + behind; i++)
        dims[i] = i < mask->ndim ? mask->dims[i] : dim_const(arena, 1);
    mask = value ? build_reshape(eval, loc, mask, mask->ndim + behind, dims) : NULL;
    to = ev_tensor(loc, value);
    return mask ? build_where(eval, loc, mask, &to, &old).tensor : NULL;
}

/* x with the source at places that tensors name. */
static struct value *put_places(struct eval *eval, struct loc loc, const char *what, struct value *x,
                                const struct places *places, const struct ev *source, bool accumulate)
{
    int perm[MAX_DIMS], back[MAX_DIMS], first = gather_axes(places, x->ndim, perm), ndim = 0;
    const struct dim *dims[MAX_DIMS];
    struct value shape = {.dtype = x->dtype}, *value;

    for (int i = 0; i < places->count; i++) {
        if (!dims_broadcast(eval->cx, dims, &ndim, places->indices[i])) {
            diag_error(eval->cx, loc, "%s: the indices do not broadcast", what);
            return NULL;
        }
    }
    if (x->ndim - places->count + ndim > MAX_DIMS) {
        diag_error(eval->cx, loc, "a tensor has at most %d dimensions", MAX_DIMS);
        return NULL;
    }
    x = build_permute(eval, loc, x, perm);
    if (!x)
        return NULL;
    for (int i = 0; i < first; i++)
        shape.dims[shape.ndim++] = x->dims[i];
    for (int i = 0; i < ndim; i++)
        shape.dims[shape.ndim++] = dims[i];
    for (int i = first + places->count; i < x->ndim; i++)
        shape.dims[shape.ndim++] = x->dims[i];
    value = build_filling(eval, loc, what, &shape, source);
    if (value)
        value = build_scatter_places(eval, places->loc, x, first, places->indices, places->count, value,
                                     accumulate ? PRIM_ADD : PRIM_LOAD);
    for (int i = 0; i < x->ndim; i++)
        back[perm[i]] = i;
    return value ? build_permute(eval, loc, value, back) : NULL;
}

/* The part as it is to be; *part: the one that it is now. NULL after an error. */
static struct value *put(struct eval *eval, struct loc loc, const char *what, struct value *x,
                         const struct ev *items, int count, const struct ev *source, bool accumulate,
                         struct value **part)
{
    struct places places = {.loc = loc, .writes = true};
    struct ev now, sum = *source;

    *part = index_part(eval, loc, x, items, count, &places);
    if (!*part || source->kind == EV_BAD)
        return NULL;
    if (places.mask)
        return put_masked(eval, loc, what, *part, &places, source, accumulate);
    if (places.count > 0)
        return put_places(eval, loc, what, *part, &places, source, accumulate);
    now = ev_tensor(loc, *part);
    if (accumulate)
        sum = build_binary(eval, loc, PRIM_ADD, "add", &now, source);
    return sum.kind == EV_BAD ? NULL : build_filling(eval, loc, what, *part, &sum);
}

/* What indexes the pairs as `items` do the complex tensor: `...` ends in front of them. NULL after an error. */
static const struct ev *items_of_pairs(struct eval *eval, struct loc loc, const struct value *pairs,
                                       const struct ev *items, int *count)
{
    struct ev *all = ARENA_ARRAY(&eval->cx->arena, *count + 1, struct ev);
    struct ev *none = ARENA_ARRAY(&eval->cx->arena, 3, struct ev);
    bool ellipsis = false;
    int taken = 0;

    for (int i = 0; i < *count; i++) {
        all[i] = items[i];
        ellipsis |= items[i].kind == EV_ELLIPSIS;
        taken += takes_axis(&items[i]);
    }
    if (taken == pairs->ndim) {
        too_many(eval, loc, taken, pairs->ndim - 1, pairs->dims);
        return NULL;
    }
    for (int i = 0; i < 3; i++)
        none[i] = ev_none(loc);
    all[*count] = (struct ev){.kind = EV_SLICE, .loc = loc, .items = none};
    *count += ellipsis;
    return all;
}

bool eval_index_write(struct eval *eval, struct loc loc, const struct ev *base, const struct ev *items,
                      int count, const struct ev *source)
{
    struct value *part, *to, *x = base->tensor;
    struct ev pairs = *source;

    if (base->kind == EV_COMPLEX) {
        items = items_of_pairs(eval, loc, x, items, &count);
        if (source->kind == EV_COMPLEX || source->kind == EV_TENSOR || ev_is_number(source))
            pairs = ev_tensor(source->loc, eval_pairs(eval, source->loc, source, x->dtype));
    }
    to = items ? put(eval, loc, "a write", x, items, count, &pairs, false, &part) : NULL;
    return to && build_in_place(eval, loc, "this write", part, to);
}

struct value *eval_index_put(struct eval *eval, struct loc loc, const char *what, struct value *x,
                             const struct ev *items, int count, const struct ev *source, bool accumulate)
{
    struct value *part;

    return put(eval, loc, what, x, items, count, source, accumulate, &part);
}

/* A bound of a slice as Python takes it: from the end where it is negative, and within low .. high. */
static int64_t clamped(int64_t bound, int count, int64_t low, int64_t high)
{
    bound += bound < 0 ? count : 0;
    return bound < low ? low : bound > high ? high : bound;
}

/* Python's first index, end and step of a slice of `count` items, of which the step stays within 2 * count. False: they are not
 * integers that are known, or the step is 0. */
static bool slice_range(const struct ev *slice, int count, int64_t bound[3])
{
    int64_t low, high;

    bound[2] = 1;
    for (int i = 0; i < 3; i++)
        if (slice->items[i].kind != EV_NONE && !ev_get_int(&slice->items[i], &bound[i]))
            return false;
    if (bound[2] == 0)
        return false;
    low = bound[2] < 0 ? -1 : 0;
    high = bound[2] < 0 ? count - 1 : count;
    bound[0] = slice->items[0].kind == EV_NONE ? (bound[2] < 0 ? high : low)
                                               : clamped(bound[0], count, low, high);
    bound[1] = slice->items[1].kind == EV_NONE ? (bound[2] < 0 ? low : high)
                                               : clamped(bound[1], count, low, high);
    bound[2] = bound[2] > count ? count + 1 : bound[2] < -count ? -count - 1 : bound[2];
    return true;
}

/* Whether a slice goes on at `at`. */
static bool in_slice(int64_t at, const int64_t bound[3])
{
    return bound[2] > 0 ? at < bound[1] : at > bound[1];
}

/* Lists of modules. */
static bool has_slices(const struct ev *value)
{
    return value->kind == EV_MODULE && value->module->layer &&
           (value->module->layer->container == LAYER_SEQUENTIAL ||
            value->module->layer->container == LAYER_MODULE_LIST);
}

/* A list of some of the children. It is no part of the tree: only they are called. */
static struct module *slice_of(struct eval *eval, const struct module *module, const int64_t bound[3])
{
    struct module *slice = ARENA_NEW(&eval->cx->arena, struct module);

    *slice = (struct module){.path = module->path,
                             .name = module->name,
                             .class_name = module->class_name,
                             .loc = module->loc,
                             .name_loc = module->name_loc,
                             .text = module->text,
                             .layer = module->layer,
                             .is_slice = true};
    for (int64_t i = bound[0]; in_slice(i, bound); i += bound[2])
        ARENA_PUSH(&eval->cx->arena, slice->children, slice->child_count, module->children[i]);
    return slice;
}

int eval_element_count(const struct module *module)
{
    return module_holds_parameters(module) ? module->tensor_count : module->child_count;
}

static const char *element_name(const struct module *module, int index)
{
    return module_holds_parameters(module) ? module->tensors[index]->name : module->children[index]->name;
}

static struct ev index_fault(struct eval *eval, struct loc loc, const struct ev *base, const struct ev *items,
                             int count)
{
    if (base->kind == EV_TUPLE || base->kind == EV_MODULE || base->kind == EV_FILE)
        diag_error(eval->cx, loc, "the index of %s is one %s, found %s", ev_kind_text(base),
                   base->kind == EV_TUPLE  ? "integer, or a slice of integers whose step is not 0"
                   : base->kind == EV_FILE ? "name"
                                           : "integer or name",
                   count != 1 ? "several" : ev_text(eval, &items[0]));
    else
        diag_error(eval->cx, loc, "%s has no elements to index", ev_kind_text(base));
    return ev_bad(loc);
}

static struct ev index_tuple(struct eval *eval, struct loc loc, const struct ev *tuple,
                             const struct ev *index)
{
    int64_t at, bound[3];
    struct ev item, *part;
    int n = 0;

    if (ev_get_int(index, &at)) {
        if (at < 0)
            at += tuple->count;
        if (at < 0 || at >= tuple->count) {
            eval_raises(eval, "IndexError");
            diag_error(eval->cx, index->loc, "index %s is out of range: there are %d", ev_text(eval, index),
                       tuple->count);
            return ev_bad(loc);
        }
        item = tuple->items[at];
        item.loc = loc;
        return ev_fresh(eval, item);
    }
    if (index->kind != EV_SLICE || !slice_range(index, tuple->count, bound))
        return index_fault(eval, loc, tuple, index, 1);
    part = ARENA_ARRAY(&eval->cx->arena, tuple->count + 1, struct ev);
    for (int64_t k = bound[0]; in_slice(k, bound); k += bound[2])
        part[n++] = tuple->items[k];
    return tuple->list ? ev_list(eval, loc, part, n) : ev_tuple(eval, loc, part, n);
}

static struct ev index_dict(struct eval *eval, struct loc loc, const struct ev *dict, const struct ev *key)
{
    const int at = key->kind == EV_STRING ? ev_find_key(dict, key->text) : -1;
    struct ev item;

    if (at < 0) {
        eval_raises(eval, "KeyError");
        diag_error(eval->cx, key->loc, "the dict has no key %s", ev_text(eval, key));
        if (key->kind == EV_STRING)
            diag_hint_nearest(eval->cx, key->text, dict->fields, dict->count);
        return ev_bad(loc);
    }
    item = dict->items[at];
    item.loc = loc;
    return ev_fresh(eval, item);
}

static struct ev index_module(struct eval *eval, struct loc loc, const struct ev *base,
                              const struct ev *index)
{
    struct module *module = base->module;
    int count = eval_element_count(module);
    int64_t at, bound[3];

    if (has_slices(base) && index->kind == EV_SLICE && slice_range(index, module->child_count, bound))
        return ev_module(loc, slice_of(eval, module, bound));
    if (index->kind == EV_STRING)
        return eval_module_attribute(eval, module, loc, index->text, index->loc);
    if (!ev_get_int(index, &at))
        return index_fault(eval, loc, base, index, 1);
    if (at < 0)
        at += count;
    if (at >= 0 && at < count)
        return eval_module_attribute(eval, module, loc, element_name(module, (int)at), index->loc);
    diag_error(eval->cx, index->loc, "index %s is out of range: '%s' has %d %s", ev_text(eval, index),
               module->path, count, module_holds_parameters(module) ? "parameters" : "children");
    return ev_bad(loc);
}

static struct ev index_complex(struct eval *eval, struct loc loc, struct value *pairs, const struct ev *items,
                               int count)
{
    const struct ev *all = items_of_pairs(eval, loc, pairs, items, &count);
    struct ev out = all ? index_tensor(eval, loc, pairs, all, count) : ev_bad(loc);

    return out.kind == EV_TENSOR ? ev_complex(loc, out.tensor) : out;
}

struct ev eval_index(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev base = eval_expr(eval, scope, expr->a);
    struct ev *items = ARENA_ARRAY(&eval->cx->arena, expr->count, struct ev);
    const int first = eval->graph ? eval->graph->value_count : 0;

    for (int i = 0; i < expr->count; i++)
        items[i] = eval_expr(eval, scope, expr->items[i]);
    if (base.kind == EV_BAD)
        return base;
    if (base.kind == EV_SPACE && base.module) /* self[0] */
        base = ev_module(base.loc, base.module);
    if (base.kind == EV_TENSOR)
        return build_seen(index_tensor(eval, expr->loc, base.tensor, items, expr->count), first);
    if (base.kind == EV_COMPLEX)
        return build_seen(index_complex(eval, expr->loc, base.tensor, items, expr->count), first);
    for (int i = 0; i < expr->count; i++)
        if (items[i].kind == EV_BAD)
            return items[i];
    if (expr->count == 1 && base.kind == EV_TUPLE)
        return index_tuple(eval, expr->loc, &base, items);
    if (expr->count == 1 && base.kind == EV_DICT)
        return index_dict(eval, expr->loc, &base, items);
    if (expr->count == 1 && base.kind == EV_MODULE)
        return index_module(eval, expr->loc, &base, items);
    if (expr->count == 1 && base.kind == EV_FILE && items[0].kind == EV_STRING)
        return eval_file_tensor(eval, expr->loc, &base, items);
    return index_fault(eval, expr->loc, &base, items, expr->count);
}
