/* order.c - the largest so far, quantiles, what is most frequent, and where elements stand among others. */
#include <math.h>
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

/* The largest so far, of floating elements or int64. Where sizes may leave nothing along the axis, that begins with 0. */
static struct ev fn_largest_so_far(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1), *length;
    bool axes[MAX_DIMS] = {false};
    struct value *x = args[0].tensor, *first;
    int axis;
    (void)count;

    if (!need_axis(eval, "cummax", &args[1], x->ndim, &axis))
        return BAD;
    if (x->ndim == 0)
        return args[0];
    length = dim_min(arena, x->dims[axis], one);
    axes[axis] = true;
    first = build_slice(eval, loc, x, axis, dim_const(arena, 0), one, length);
    first = first ? build_reduce(eval, loc, first, REDUCE_SUM, axes, false) : NULL;
    return ev_tensor(loc, first ? build_largest(eval, loc, first, x, axis) : NULL);
}

/* What quantile and nanquantile take; q as a tensor of the input's type. */
static struct ev fn_quantile_q(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const words[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    const struct value *x = args[0].tensor;
    struct value *q;
    bool known = false;
    double number;
    (void)count;

    if (!need_tensor(eval, "quantile", &args[0]))
        return BAD;
    if (x->dtype != DTYPE_FLOAT32 && x->dtype != DTYPE_FLOAT64) {
        diag_error(eval->cx, loc, "%s: the input must be float32 or float64, found %s",
                   outer(eval, "quantile"), dtype_rows[x->dtype].name);
        return BAD;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        known |= args[2].kind == EV_STRING && strcmp(args[2].text, words[i]) == 0;
    if (!known) {
        diag_error(eval->cx, args[2].loc,
                   "%s: interpolation must be one of linear, lower, higher, midpoint or nearest, found %s",
                   outer(eval, "quantile"), ev_text(eval, &args[2]));
        return BAD;
    }
    if (args[1].kind == EV_TENSOR && (args[1].tensor->ndim > 1 || args[1].tensor->dtype != x->dtype)) {
        diag_error(
            eval->cx, args[1].loc,
            "%s: q must be a number, or a tensor of the input's type, %s, of at most one dimension, found "
            "%s of %s",
            outer(eval, "quantile"), dtype_rows[x->dtype].name,
            shape_text(&eval->cx->arena, args[1].tensor->ndim, args[1].tensor->dims),
            dtype_rows[args[1].tensor->dtype].name);
        return BAD;
    }
    if (args[1].kind == EV_TENSOR)
        return args[1];
    if (!ev_get_number(&args[1], &number) || !(number >= 0 && number <= 1)) {
        diag_error(eval->cx, args[1].loc, "%s: q must be in the range [0, 1], found %s",
                   outer(eval, "quantile"), ev_text(eval, &args[1]));
        return BAD;
    }
    q = build_tensor(eval, loc, &args[1], &x->dtype).tensor;
    return ev_tensor(loc, q);
}

/* Two tensors that searchsorted compares: one sequence, or one for each row of the values. */
static struct ev fn_check_sequence(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *sequence = args[0].tensor, *x = args[1].tensor;
    bool fits, right;
    (void)count;

    if (!need_tensor(eval, "searchsorted", &args[0]) || !need_bool(eval, "right", &args[2], &right))
        return BAD;
    if (args[3].kind != EV_NONE &&
        (args[3].kind != EV_STRING ||
         (strcmp(args[3].text, "left") != 0 && strcmp(args[3].text, "right") != 0) ||
         (right && strcmp(args[3].text, "left") == 0))) {
        diag_error(eval->cx, args[3].loc,
                   "%s: side must be 'left' or 'right', and agree with right=%s, found %s",
                   outer(eval, "searchsorted"), right ? "True" : "False", ev_text(eval, &args[3]));
        return BAD;
    }
    if (args[1].kind != EV_TENSOR)
        return ev_is_number(&args[1]) && sequence->ndim == 1
                   ? ev_none(loc)
                   : (need_tensor(eval, "searchsorted", &args[1]), BAD);
    fits = sequence->ndim == 1 || sequence->ndim == x->ndim;
    for (int i = 0; fits && sequence->ndim > 1 && i < x->ndim - 1; i++)
        fits = dim_equal(sequence->dims[i], x->dims[i]);
    if (!fits || sequence->ndim == 0) {
        diag_error(eval->cx, loc,
                   "%s: the sequence %s must have one dimension, or those of the values %s but the last",
                   outer(eval, "searchsorted"), shape_text(arena, sequence->ndim, sequence->dims),
                   shape_text(arena, x->ndim, x->dims));
        return BAD;
    }
    if (sequence->dtype == x->dtype)
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: the sequence is %s, the values are %s", outer(eval, "searchsorted"),
               dtype_rows[sequence->dtype].name, dtype_rows[x->dtype].name);
    return BAD;
}

static struct ev fn_is_tensor(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval, (void)count;
    return ev_bool(loc, args[0].kind == EV_TENSOR);
}

/* How many elements bincount gives: known from elements that are, else what minlength says. */
static struct ev fn_bins(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    int64_t least, most;
    (void)count;

    if (!need_tensor(eval, "bincount", &args[0]) || !need_int(eval, "bincount", &args[1], &least))
        return BAD;
    if (x->ndim != 1 || !dtype_is_int(x->dtype) || least < 0 || least > INT32_MAX) {
        diag_error(
            eval->cx, loc,
            "bincount takes a tensor of integers of one dimension, and a minlength that is not negative, found "
            "%s of %s, and %lld",
            shape_text(&eval->cx->arena, x->ndim, x->dims), dtype_rows[x->dtype].name, (long long)least);
        return BAD;
    }
    most = least;
    for (int64_t i = 0; x->constant && i < tensor_count(x->constant); i++)
        most = x->constant->data[i].i >= most ? x->constant->data[i].i + 1 : most;
    if (x->constant || least > 0)
        return ev_int(eval, loc, most > INT32_MAX ? INT32_MAX : most);
    diag_error(eval->cx, loc, "bincount without minlength would give a shape that depends on the values");
    diag_hint(eval->cx,
              "minlength=N gives N elements: a call with a larger value than N - 1 ends with MODC_INDEX");
    return BAD;
}

/* Both bounds, or neither: then the data has them. */
static struct ev fn_check_bins(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int64_t bins;
    double low, high;
    (void)count;

    if (!need_tensor(eval, "histc", &args[0]) || !need_int(eval, "histc", &args[1], &bins))
        return BAD;
    if (!dtype_is_float(args[0].tensor->dtype))
        diag_error(eval->cx, loc, "histc takes a floating tensor, found %s",
                   dtype_rows[args[0].tensor->dtype].name);
    else if (bins <= 0 || bins > INT32_MAX)
        diag_error(eval->cx, args[1].loc, "histc: bins must be > 0, but got %lld", (long long)bins);
    else if (!ev_get_number(&args[2], &low) || !ev_get_number(&args[3], &high) || !isfinite(low) ||
             !isfinite(high) || low > high)
        diag_error(eval->cx, loc,
                   "histc: min and max must be finite, known while generating and in order, found %s, %s",
                   ev_text(eval, &args[2]), ev_text(eval, &args[3]));
    else
        return ev_bool(loc, low == high && low == 0);
    return BAD;
}

/* How many bins there are. */
static struct ev fn_check_histogram(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *x = args[0].tensor, *bins = args[1].tensor, *weight = args[3].tensor;
    const struct ev *range = &args[2];
    double low, high;
    int64_t n;
    (void)count;

    if (!need_tensor(eval, "histogram", &args[0]))
        return BAD;
    if (!dtype_is_float(x->dtype)) {
        diag_error(eval->cx, args[0].loc, "histogram takes a floating tensor, found %s",
                   dtype_rows[x->dtype].name);
        return BAD;
    }
    if (args[3].kind != EV_NONE) {
        if (!need_tensor(eval, "histogram", &args[3]))
            return BAD;
        if (weight->dtype != x->dtype || !dims_equal(weight, x)) {
            diag_error(eval->cx, args[3].loc, "histogram: weight must be %s %s, as input, found %s %s",
                       dtype_rows[x->dtype].name, shape_text(arena, x->ndim, x->dims),
                       dtype_rows[weight->dtype].name, shape_text(arena, weight->ndim, weight->dims));
            return BAD;
        }
    }
    if (args[1].kind == EV_TENSOR) {
        if (bins->ndim == 1 && bins->dtype == x->dtype && range->kind == EV_NONE &&
            !(dim_is_const(bins->dims[0], &n) && n < 2))
            return ev_dim(loc, dim_sub(arena, bins->dims[0], dim_const(arena, 1)));
        diag_error(
            eval->cx, args[1].loc,
            "histogram: bins must be a number, or without range the edges, %s, one more than there are bins, "
            "found %s %s",
            dtype_rows[x->dtype].name, dtype_rows[bins->dtype].name,
            shape_text(arena, bins->ndim, bins->dims));
        return BAD;
    }
    if (!need_int(eval, "histogram", &args[1], &n))
        return BAD;
    if (n < 1 || n > EVAL_MAX_ITEMS) {
        diag_error(eval->cx, args[1].loc, "histogram: bins must be > 0, but got %lld", (long long)n);
        return BAD;
    }
    if (range->kind == EV_NONE ||
        (range->kind == EV_TUPLE && range->count == 2 && ev_get_number(&range->items[0], &low) &&
         ev_get_number(&range->items[1], &high) && low <= high && high - low < INFINITY))
        return ev_int(eval, loc, n);
    diag_error(eval->cx, range->loc, "histogram: range must be two finite numbers, the lower first, found %s",
               ev_text(eval, range));
    return BAD;
}

/* Known to have no elements. */
static struct ev fn_has_none(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return ev_bool(loc, dim_equals(dims_count(&eval->cx->arena, args[0].tensor), 0));
}

/* The indices of each dimension of a tensor of that shape, whose elements are counted row-major. */
static struct ev fn_unravel(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *dims[MAX_DIMS], *behind = dim_const(arena, 1);
    struct ev index, by, out;
    int ndim;
    (void)count;

    if (!need_tensor(eval, "unravel_index", &args[0]) ||
        !need_shape(eval, "unravel_index", &args[1], NULL, dims, &ndim))
        return BAD;
    if (!dtype_is_int(args[0].tensor->dtype)) {
        diag_error(eval->cx, args[0].loc, "unravel_index takes integers as indices, found %s",
                   dtype_rows[args[0].tensor->dtype].name);
        return BAD;
    }
    index = ev_tensor(loc, build_cast(eval, loc, args[0].tensor, DTYPE_INT64));
    out = ev_tuple(eval, loc, NULL, 0);
    out.items = ARENA_ARRAY(arena, ndim + 1, struct ev);
    out.count = out.total = ndim;
    for (int i = ndim - 1; i >= 0; i--) {
        if (dim_equals(dims[i], 0)) {
            diag_error(eval->cx, args[1].loc, "unravel_index: no index is in a tensor of shape %s",
                       shape_text(arena, ndim, dims));
            return BAD;
        }
        by = ev_dim(loc, behind);
        out.items[i] = build_binary(eval, loc, PRIM_FLOORDIV, "unravel", &index, &by);
        by = ev_dim(loc, dims[i]);
        if (out.items[i].kind != EV_BAD)
            out.items[i] = build_binary(eval, loc, PRIM_MOD, "unravel", &out.items[i], &by);
        if (out.items[i].kind == EV_BAD)
            return BAD;
        behind = dim_mul(arena, behind, dims[i]);
    }
    return out;
}

extern const struct function_row order_functions[];

const struct function_row order_functions[] = {
    /* ---- so far ---- */
    {"cummax(input, dim)", TORCH | METHOD,
     .body = "x = input if input.is_floating_point() else input.long()\n"
             "y = _largest_so_far(x, dim)\n"
             "return _named(y.to(input.dtype), 'values', _largest_at(x, y, dim), 'indices')"},
    /* the order of all integers turns by -1 - x, which overflows for none */
    {"cummin(input, dim)", TORCH | METHOD,
     .body = "x = -input if input.is_floating_point() else -1 - input.long()\n"
             "y = _largest_so_far(x, dim)\n"
             "return _named((-y if input.is_floating_point() else -1 - y).to(input.dtype), 'values',"
             " _largest_at(x, y, dim), 'indices')"},
    {"_largest_so_far(x, dim)", HIDDEN, .build = fn_largest_so_far},
    /* where y, the largest so far, stood last */
    {"_largest_at(x, y, dim)", HIDDEN,
     .body =
         "return _last_of(_still(x), _still(y), dim) if x.ndim > 0 else torch.zeros((), dtype=torch.int64)"},
    {"_last_of(x, y, dim)", HIDDEN,
     .body = "here = (x == y) | isnan(x)\n"
             "at = where(here.movedim(dim, -1), arange(x.shape[dim]), 0)\n"
             "return _largest_so_far(at, -1).movedim(-1, dim)"},
    /* sums of exp(x - most), where `most` is the largest so far: what a sum holds already shrinks as that grows. An infinite
     * one is no number to subtract. */
    {"logcumsumexp(input, dim)", TORCH | METHOD,
     .body = "x = _check_float(input)\n"
             "return input * 1 if input.ndim == 0 or _is_empty(input, dim) else _logcumsumexp(input, dim)"},
    {"_logcumsumexp(x, dim)", HIDDEN,
     .body = "most = _largest_so_far(_still(x), dim)\n"
             "top = where(abs(most) == inf, 0.0, most)\n"
             "length = x.shape[dim]\n"
             "none = torch.full_like(x.narrow(dim, 0, 1), 0)\n"
             "before = cat((none, top.narrow(dim, 0, length - 1)), dim)\n"
             "empty = cat((none == 0, most.narrow(dim, 0, length - 1) == -inf), dim)\n"
             "shrinks = where(empty, 0.0, exp(before - top))\n"
             "return log(_decayed_sum(exp(x - top), shrinks, empty, dim, None, False)) + top"},
    /* ---- in order ---- */
    {"quantile(input, q, dim=None, keepdim=False, interpolation='linear')", TORCH | METHOD,
     .body =
         "return _quantile(input, _quantile_q(input, q, interpolation), dim, keepdim, interpolation, False)"},
    {"nanquantile(input, q, dim=None, keepdim=False, interpolation='linear')", TORCH | METHOD,
     .body =
         "return _quantile(input, _quantile_q(input, q, interpolation), dim, keepdim, interpolation, True)"},
    {"_quantile_q(input, q, interpolation)", HIDDEN, .build = fn_quantile_q},
    {"_quantile(input, q, dim, keepdim, interpolation, ignore)", HIDDEN,
     .body =
         "x = (input.flatten() if dim == None or input.ndim == 0 else input.movedim(dim, -1)).sort(-1).values\n"
         "bad = isnan(x)\n"
         "last = x.shape[-1] - 1\n"
         "some = ((~bad).sum(-1, keepdim=True) - 1).clamp(0) if ignore else last\n"
         "exact = q.reshape(-1) * some\n"
         "ranks = exact if ignore else where(bad.any(-1, keepdim=True), last, exact)\n"
         "y = _at_ranks(x, ranks.expand(x.shape[:-1] + (ranks.shape[-1],)), interpolation)\n"
         "full = (y.reshape((1,) * input.ndim + (q.numel(),)) if dim == None and keepdim else"
         " y.unsqueeze(dim if dim >= 0 else dim + input.ndim) if keepdim and input.ndim > 0 else y)\n"
         "return full.squeeze(-1) if q.ndim == 0 else full.movedim(-1, 0)"},
    {"_at_ranks(x, ranks, interpolation)", HIDDEN,
     .body =
         "at = (floor(ranks) if interpolation == 'lower' else ceil(ranks) if interpolation == 'higher' else"
         " round(ranks) if interpolation == 'nearest' else ranks).long()\n"
         "low = x.gather(-1, at)\n"
         "weight = 0.5 * torch.ones_like(ranks) if interpolation == 'midpoint' else ranks - at\n"
         "return (low.lerp(x.gather(-1, ceil(ranks).long()), weight)"
         " if interpolation == 'linear' or interpolation == 'midpoint' else low)"},
    {"nanmedian(input, dim=None, keepdim=False)", TORCH | METHOD,
     .body =
         "x = input.flatten() if dim == None or input.ndim == 0 else input\n"
         "found = _nanmedian(x, 0, False) if dim == None else _nanmedian(x, dim, keepdim and input.ndim > 0)\n"
         "return found if dim != None else _shared(x, found.values) if _saves() and x.is_floating_point() else found.values"},
    {"_nanmedian(input, dim, keepdim)", HIDDEN,
     .body =
         "order = input.sort(dim)\n"
         "middle = (((~isnan(input)).sum(dim, keepdim=True) - 1) // 2).clamp(0)\n"
         "at = order.indices.gather(dim, middle)\n"
         "values = input.gather(dim, at)\n"
         "return _named(values if keepdim else values.squeeze(dim), 'values', at if keepdim else at.squeeze(dim), 'indices')"},
    /* the first of the longest runs of equal elements, in order; its last element */
    {"mode(input, dim=-1, keepdim=False)", TORCH | METHOD,
     .body = "return _mode(input.flatten() if input.ndim == 0 else input, dim, keepdim and input.ndim > 0)"},
    {"_mode(input, dim, keepdim)", HIDDEN,
     .body =
         "order = input.movedim(dim, -1).sort(-1)\n"
         "x = _still(order.values)\n"
         "start = _largest_so_far(where(x != x.roll(1, -1), arange(x.shape[-1]), 0), -1)\n"
         "end = (arange(x.shape[-1]) - start).argmax(-1, keepdim=True)\n"
         "at = order.indices.gather(-1, end).movedim(-1, dim)\n"
         "values = input.gather(dim, at)\n"
         "return _named(values if keepdim else values.squeeze(dim), 'values', at if keepdim else at.squeeze(dim), 'indices')"},
    /* ---- among others ---- */
    /* each comes behind those of the sequence that are not as large; NaN behind all */
    {"searchsorted(sorted_sequence, input, out_int32=False, right=False, side=None, sorter=None)", TORCH,
     .body = "_check_sequence(sorted_sequence, input, right, side)\n"
             "sequence = sorted_sequence if sorter is None else sorted_sequence.gather(-1, sorter)\n"
             "at = _sought(sequence, input, right or side == 'right')\n"
             "return at.int() if out_int32 else at"},
    {"bucketize(input, boundaries, out_int32=False, right=False)", TORCH,
     .body = "_check_sequence(_check_dims(boundaries, 1, 1), input, right, None)\n"
             "at = _sought(boundaries, input, right)\n"
             "return at.int() if out_int32 else at"},
    {"_is_tensor(value)", HIDDEN, .build = fn_is_tensor},
    {"_sought(sequence, input, right)", HIDDEN,
     .body = "x = input[..., None] if _is_tensor(input) else input\n"
             "among = sequence if sequence.ndim == 1 else sequence[..., None, :]\n"
             "return (~(among > x) if right else ~(among >= x)).sum(-1)"},
    {"_check_sequence(sequence, input, right, side)", HIDDEN, .build = fn_check_sequence},
    {"isin(elements, test_elements, assume_unique=False, invert=False)", TORCH,
     .body =
         "among = (elements[..., None] == test_elements.flatten()).any(-1) if _is_tensor(elements) and _is_tensor(test_elements)"
         " else elements == test_elements if _is_tensor(elements) else (test_elements.flatten() == elements).any()\n"
         "return ~among if invert else among"},
    /* ---- counted ---- */
    {"bincount(input, weights=None, minlength=0)", TORCH | METHOD,
     .body = "bins = _bins(input, minlength)\n"
             "each = (torch.ones_like(input).long() if weights is None else"
             " weights if weights.dtype == torch.float32 else weights.double())\n"
             "return torch.zeros(bins, dtype=each.dtype).index_add(0, input.long(), each)"},
    {"_bins(input, minlength)", HIDDEN, .build = fn_bins},
    {"histc(input, bins=100, min=0, max=0)", TORCH | METHOD,
     .body = "own = _check_bins(input, bins, min, max)\n"
             "x = _still(input.flatten())\n"
             "low = x.amin() if own else torch.full((), min, dtype=x.dtype)\n"
             "high = x.amax() if own else torch.full((), max, dtype=x.dtype)\n"
             "return _histc(x, bins, low - (low == high).to(x.dtype), high + (low == high).to(x.dtype))"},
    {"_histc(x, bins, low, high)", HIDDEN,
     .body = "_check_holds((abs(low) < inf) & (abs(high) < inf), 'range', 'finite')\n"
             "inside = (x >= low) & (x <= high)\n"
             "at = where(inside, (x - low) * bins / (high - low), 0).long().clamp(0, bins - 1)\n"
             "return torch.zeros(bins, dtype=x.dtype).index_add(0, at, inside.to(x.dtype))"},
    {"_check_bins(input, bins, min, max)", HIDDEN, .build = fn_check_bins},
    {"histogram(input, bins, *, range=None, weight=None, density=False)", TORCH | METHOD,
     .body = "n = _check_histogram(input, bins, range, weight)\n"
             "x = input.detach().flatten()\n"
             "edges = bins if _is_tensor(bins) else _edges(x, n, range)\n"
             "at = torch.searchsorted(edges, x, right=True) - 1\n"
             "at = where(x == edges[-1], n - 1, at).clamp(0, n - 1)\n"
             "inside = (x >= edges[0]) & (x <= edges[-1])\n"
             "w = torch.ones_like(x) if weight == None else weight.detach().flatten()\n"
             "sums = zeros(n, dtype=x.dtype).scatter_add(0, at, where(inside, w, 0.0))\n"
             "hist = sums / (sums.sum() * edges.diff()) if density else sums\n"
             "return _named(hist, 'hist', edges, 'bin_edges')"},
    {"_check_histogram(input, bins, range, weight)", HIDDEN, .build = fn_check_histogram},
    {"_edges(x, bins, range)", HIDDEN,
     .body =
         "return (torch.linspace(_low(range[0], range[1]), _high(range[0], range[1]), bins + 1, dtype=x.dtype)"
         " if range != None else torch.linspace(0.0, 1.0, bins + 1, dtype=x.dtype) if _has_none(x) else"
         " _edges_of(x, bins))"},
    {"_has_none(x)", HIDDEN, .build = fn_has_none},
    {"_low(low, high)", HIDDEN, .body = "return low - 0.5 if low == high else low"},
    {"_high(low, high)", HIDDEN, .body = "return high + 0.5 if low == high else high"},
    {"_edges_of(x, bins)", HIDDEN,
     .body = "_check_holds(x.isfinite(), 'input', 'finite numbers')\n"
             "least = x.amin()\n"
             "most = x.amax()\n"
             "low = where(least == most, least - 0.5, least)\n"
             "high = where(least == most, most + 0.5, most)\n"
             "step = (high - low) / bins\n"
             "i = torch.arange(bins + 1)\n"
             "return where(i < (bins + 1) // 2, low + step * i, high - step * (bins - i))"},
    {"unravel_index(indices, shape)", TORCH, .build = fn_unravel},
    {"nonzero_static(input, *, size, fill_value=-1)", TORCH | METHOD,
     .body =
         "return (torch.full((size, input.ndim), fill_value, dtype=torch.int64) if _is_empty(input, None) else"
         " _first_places(_check_dims(input, 1, 8) != 0, size, fill_value))"},
    {"_first_places(found, size, fill_value)", HIDDEN,
     .body = "at = F.pad(found.flatten().int().argsort(descending=True, stable=True), (0, size))[:size]\n"
             "places = torch.stack(torch.unravel_index(at, found.shape), 1)\n"
             "return where(arange(size)[:, None] < found.sum(), places, fill_value)"},
    {.signature = NULL},
};
