/* adjoint.c - one function for each op that differentiates. Gradients are made of the ops that there are, and where that is
 * shorter of statements, by the same evaluator that lowers the spec's: so passes and kernels know nothing of them. */
#include "passes/adjoint.h"

#include <assert.h>
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

typedef void adjoint_row(const struct adjoint *a, struct op *op, struct value *g);

/* ---- parts of several ops ------------------------------------------------------------------------------------- */

/* The value of statements over these tensors and integers; ends of lists are NULL. */
struct named {
    const char *name;
    struct value *tensor; /* or */
    const struct dim *dim;
};

static struct value *statements(const struct adjoint *a, struct op *op, const char *text,
                                const struct named *names)
{
    struct eval *eval = a->eval;
    struct scope scope = {0};

    eval->at = op->loc;
    for (; names->name; names++)
        scope_bind(eval, &scope, names->name,
                   names->tensor ? ev_tensor(op->loc, names->tensor) : ev_dim(op->loc, names->dim));
    return eval_body(eval, &scope, text).tensor;
}

static const struct dim *whole(const struct adjoint *a, int64_t number)
{
    return dim_const(&a->eval->cx->arena, number);
}

struct value *adjoint_zeros(struct eval *eval, struct loc loc, enum dtype dtype, int ndim,
                            const struct dim *const *dims)
{
    struct ev zero = ev_float(loc, 0);
    struct value *value = build_cast(eval, loc, build_scalar(eval, loc, &zero), dtype);

    return build_expand(eval, loc, value, ndim, dims);
}

static struct value *zeros_like(const struct adjoint *a, const struct value *x)
{
    return adjoint_zeros(a->eval, x->loc, x->dtype, x->ndim, x->dims);
}

struct value *adjoint_sum(struct eval *eval, struct loc loc, struct value *a, struct value *b)
{
    struct dag *dag = dag_new(&eval->cx->arena, 2);
    struct value *both[2] = {a, b};

    dag->result = dag_prim(&eval->cx->arena, dag, PRIM_ADD, a->dtype,
                           dag_load(&eval->cx->arena, dag, 0, a->dtype),
                           dag_load(&eval->cx->arena, dag, 1, a->dtype), 0);
    return build_map(eval, loc, "add", dag, both, 2);
}

/* What was broadcast from x's dims to g's, summed back. */
static struct value *sum_to(const struct adjoint *a, const struct value *x, struct value *g)
{
    bool axes[MAX_DIMS] = {false}, any = false;
    int lead = g->ndim - x->ndim;

    for (int i = 0; i < g->ndim; i++) {
        axes[i] = i < lead || (dim_equals(x->dims[i - lead], 1) && !dim_equals(g->dims[i], 1));
        any |= axes[i];
    }
    if (any)
        g = build_reduce(a->eval, g->loc, g, REDUCE_SUM, axes, false);
    return build_reshape(a->eval, g->loc, g, x->ndim, x->dims);
}

/* g, which lacks the axes that were reduced, with the dims of x. */
static struct value *spread(const struct adjoint *a, const struct op *op, struct value *g,
                            const struct value *x, bool expand)
{
    const struct dim *dims[MAX_DIMS];

    for (int i = 0; i < x->ndim; i++)
        dims[i] = op->reduce.axes[i] ? whole(a, 1) : x->dims[i];
    g = build_reshape(a->eval, op->loc, g, x->ndim, dims);
    return expand ? build_expand(a->eval, op->loc, g, x->ndim, x->dims) : g;
}

/* ---- elementwise ---------------------------------------------------------------------------------------------- */

/* A map of the loads that the dag has, of all these values. */
static struct value *map_of(const struct adjoint *a, const struct op *op, struct dag *dag,
                            struct value *const *values, int count)
{
    struct arena *arena = &a->eval->cx->arena;
    const bool *loads;
    struct dag *own = dag_new(arena, count);
    struct value **read = ARENA_ARRAY(arena, count + 1, struct value *);
    int *nodes = ARENA_ARRAY(arena, count + 1, int), used = 0;

    dag->input_count = count;
    loads = dag_loads(arena, dag);
    for (int i = 0; i < count; i++) {
        if (!loads[i])
            continue;
        nodes[i] = dag_load(arena, own, used, values[i]->dtype);
        read[used++] = values[i];
    }
    own->result = dag_inline(arena, own, dag, nodes);
    own->input_count = used;
    if (used == 1 && dag_is_identity(own))
        return read[0];
    return build_map(a->eval, op->loc, arena_format(arena, "d%s", op->label), own, read, used);
}

static void map_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct arena *arena = &a->eval->cx->arena;
    int count = op->input_count;
    struct value **values = ARENA_ARRAY(arena, count + 2, struct value *);

    memcpy(values, op->inputs, (size_t)count * sizeof *values);
    for (int i = 0; i < count; i++) {
        struct dag *dag;

        if (!a->wants(a, op->inputs[i]))
            continue;
        dag = op->gradients ? op->gradients[i] : dag_gradient(arena, op->dag, i);
        values[count] = op->gradients ? op->outputs[0] : g;
        values[count + 1] = g;
        if (dag && dag->nodes[dag->result].prim != PRIM_CONST)
            a->give(a, op->inputs[i],
                    sum_to(a, op->inputs[i], map_of(a, op, dag, values, count + (op->gradients ? 2 : 1))));
        else /* steps alone: there is a gradient, which is 0 */
            a->give(a, op->inputs[i], zeros_like(a, op->inputs[i]));
    }
}

/* ---- reductions ----------------------------------------------------------------------------------------------- */

/* Whether x is y, as numbers of x's type. */
static struct value *is_same(const struct adjoint *a, struct value *x, struct value *y, bool equal_nans)
{
    return statements(a, y->op, equal_nans ? "return _same(x, y)" : "return (x == y).to(x.dtype)",
                      (struct named[]){{"x", x, NULL}, {"y", y, NULL}, {NULL, NULL, NULL}});
}

/* x with its reduced axes behind the others, as one. */
static struct value *reduced_last(const struct adjoint *a, const struct op *op, struct value *x, int *perm)
{
    const struct dim *dims[MAX_DIMS], *length = whole(a, 1);
    int n = 0;

    for (int i = 0; i < x->ndim; i++)
        if (!op->reduce.axes[i])
            perm[n++] = i;
    for (int i = 0, k = n; i < x->ndim; i++) {
        if (!op->reduce.axes[i])
            continue;
        perm[k++] = i;
        length = dim_mul(&a->eval->cx->arena, length, x->dims[i]);
    }
    for (int i = 0; i < n; i++)
        dims[i] = x->dims[perm[i]];
    dims[n] = length;
    return build_reshape(a->eval, op->loc, build_permute(a->eval, op->loc, x, perm), n + 1, dims);
}

/* Each element gets the product of all others, which is right where some are 0. */
static struct value *product_gradient(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *flat;
    const struct dim *dims[MAX_DIMS];
    int perm[MAX_DIMS], back[MAX_DIMS];

    flat = reduced_last(a, op, x, perm);
    g = build_reshape(a->eval, op->loc, g, flat->ndim - 1, flat->dims);
    flat = statements(a, op,
                      "one = torch.ones_like(x[..., :1])\n"
                      "before = torch.cat([one, x[..., :-1]], -1).cumprod(-1)\n"
                      "behind = torch.cat([one, x[..., 1:].flip(-1)], -1).cumprod(-1).flip(-1)\n"
                      "return g.unsqueeze(-1) * before * behind",
                      (struct named[]){{"x", flat, NULL}, {"g", g, NULL}, {NULL, NULL, NULL}});
    for (int i = 0; i < x->ndim; i++) {
        dims[i] = x->dims[perm[i]];
        back[perm[i]] = i;
    }
    return build_permute(a->eval, op->loc, build_reshape(a->eval, op->loc, flat, x->ndim, dims), back);
}

static void reduce_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *same;

    assert(!op->head && !op->tail);
    switch (op->reduce.kind) {
    case REDUCE_SUM:
        a->give(a, x, spread(a, op, g, x, true));
        break;
    case REDUCE_PROD:
        a->give(a, x, product_gradient(a, op, g));
        break;
    case REDUCE_MAX:
    case REDUCE_MIN: /* in equal parts to all that are as large */
        same = is_same(a, x, spread(a, op, op->outputs[0], x, false), op->reduce.equal_nans);
        a->give(a, x,
                statements(
                    a, op, "return g / n * same",
                    (struct named[]){
                        {"same", same, NULL},
                        {"n", build_reduce(a->eval, op->loc, same, REDUCE_SUM, op->reduce.axes, true), NULL},
                        {"g", spread(a, op, g, x, false), NULL},
                        {NULL, NULL, NULL}}));
        break;
    default:
        break;
    }
}

/* ---- products ------------------------------------------------------------------------------------------------- */

/* (..., m, n) as (..., n, m). */
static struct value *transposed(const struct adjoint *a, struct value *x)
{
    int perm[MAX_DIMS];

    for (int i = 0; i < x->ndim; i++)
        perm[i] = i < x->ndim - 2 ? i : 2 * x->ndim - 3 - i;
    return build_permute(a->eval, x->loc, x, perm);
}

/* All leading axes as one. */
static struct value *as_matrix(const struct adjoint *a, struct value *x)
{
    struct arena *arena = &a->eval->cx->arena;
    const struct dim *dims[2] = {whole(a, 1), x->dims[x->ndim - 1]};

    for (int i = 0; i < x->ndim - 1; i++)
        dims[0] = dim_mul(arena, dims[0], x->dims[i]);
    return build_reshape(a->eval, x->loc, x, 2, dims);
}

static struct value *product(const struct adjoint *a, const struct op *op, struct value *x, struct value *y)
{
    struct value *inputs[2] = {x, y};
    struct op *own = op_new(a->eval, GRAPH_OP_CONTRACT, arena_format(&a->eval->cx->arena, "d%s", op->label),
                            inputs, 2);

    return build_op(a->eval, op->loc, own);
}

/* Of a matrix that is the transpose of another, as a Linear's weight is, the other's is made at once. */
static void give_matrix(const struct adjoint *a, struct op *op, struct value *x, struct value *y,
                        struct value *g)
{
    const struct op *view = y->op;
    bool turned = view->code == GRAPH_OP_VIEW && view->view.kind == VIEW_PERMUTE && y->ndim == 2 &&
                  view->view.perm[0] == 1;

    if (turned)
        a->give(a, view->inputs[0], product(a, op, transposed(a, g), x));
    else
        a->give(a, y, product(a, op, transposed(a, x), g));
}

static void contract_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *y = op->inputs[1];
    bool rows = x->ndim == 1;

    if (rows && y->ndim == 2) {
        x = as_matrix(a, x);
        g = as_matrix(a, g);
    }
    if (a->wants(a, op->inputs[0])) {
        struct value *dx = product(a, op, g, transposed(a, y));

        a->give(a, op->inputs[0],
                rows ? build_reshape(a->eval, op->loc, dx, 1, op->inputs[0]->dims) : sum_to(a, x, dx));
    }
    if (a->wants(a, y) && y->ndim == 2)
        give_matrix(a, op, as_matrix(a, x), y, as_matrix(a, g));
    else if (a->wants(a, y))
        a->give(a, y, sum_to(a, y, product(a, op, transposed(a, x), g)));
    if (op->contract.bias && a->wants(a, op->inputs[2]))
        a->give(a, op->inputs[2], sum_to(a, op->inputs[2], as_matrix(a, g)));
}

/* ---- windows -------------------------------------------------------------------------------------------------- */

static void conv_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    const bool axes[MAX_DIMS] = {[0] = true, [2] = true, [3] = true};

    if (a->wants(a, op->inputs[0]))
        a->give(a, op->inputs[0], conv_input_gradient(a->eval, op->loc, op, g));
    if (a->wants(a, op->inputs[1]))
        a->give(a, op->inputs[1], conv_weight_gradient(a->eval, op->loc, op, g));
    if (op->window.bias && a->wants(a, op->inputs[2]))
        a->give(a, op->inputs[2], build_reduce(a->eval, op->loc, g, REDUCE_SUM, axes, false));
}

static struct ev pair(const struct adjoint *a, struct loc loc, const int *numbers)
{
    const struct ev items[2] = {ev_int(a->eval, loc, numbers[0]), ev_int(a->eval, loc, numbers[1])};

    return ev_tuple(a->eval, loc, items, 2);
}

/* Windows side by side that fill the image, of few cells. */
static bool fills_image(const struct adjoint *a, const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    bool fills = op->window.kernel[0] * op->window.kernel[1] <= 9;

    for (int i = 0; i < 2; i++)
        fills &= op->window.kernel[i] == op->window.stride[i] && op->window.padding[i] == 0 &&
                 op->window.dilation[i] == 1 &&
                 dim_equal(x->dims[2 + i],
                           dim_mul(&a->eval->cx->arena, y->dims[2 + i], whole(a, op->window.kernel[i])));
    return fills;
}

/* Then each cell of all windows is one map: it gets the gradient where it is the maximum and none before it is. */
static struct value *cell_gradient(const struct adjoint *a, struct op *op, struct value *const *cells, int at,
                                   struct value *g)
{
    struct arena *arena = &a->eval->cx->arena;
    struct named names[13] = {{"y", op->outputs[0], NULL}, {"g", g, NULL}};
    struct text text = text_new(arena);
    struct value *cell;

    text_printf(&text, "return torch.where(((x%d == y) | (x%d != x%d))", at, at, at);
    for (int i = 0; i <= at; i++) {
        names[2 + i] = (struct named){arena_format(arena, "x%d", i), cells[i], NULL};
        if (i < at)
            text_printf(&text, " & (x%d != y) & (x%d == x%d)", i, i, i);
    }
    text_add(&text, ", g, 0)");
    cell = statements(a, op, text.data, names);
    cell->op->label = "dmax_pool";
    return cell;
}

static struct value *cells_gradient(const struct adjoint *a, struct op *op, struct value *g)
{
    struct eval *eval = a->eval;
    const struct dim *one = whole(a, 1),
                     *dims[6] = {g->dims[0], g->dims[1], g->dims[2], one, g->dims[3], one};
    struct value *cells[9], *rows[9], *columns[9];
    int height = op->window.kernel[0], width = op->window.kernel[1];

    for (int k = 0; k < height * width; k++) {
        cells[k] = build_slice(eval, op->loc, op->inputs[0], 2, whole(a, k / width), whole(a, height),
                               g->dims[2]);
        cells[k] = build_slice(eval, op->loc, cells[k], 3, whole(a, k % width), whole(a, width), g->dims[3]);
        columns[k % width] = build_reshape(eval, op->loc, cell_gradient(a, op, cells, k, g), 6, dims);
        if (k % width == width - 1)
            rows[k / width] = build_concat(eval, op->loc, "stack", columns, width, 5);
    }
    return build_reshape(eval, op->loc, build_concat(eval, op->loc, "stack", rows, height, 3), 4,
                         op->inputs[0]->dims);
}

/* Whether windows may lie in the padding alone, as those do that step over the whole image. */
static bool may_miss(const struct op *op)
{
    bool misses = false;

    for (int i = 0; i < 2; i++)
        misses |= op->window.padding[i] > 0 && dim_lower(op->inputs[0]->dims[2 + i]) < op->window.dilation[i];
    return misses;
}

/* The elements of the windows' maxima, the first of those that are as large, get their gradients. */
static struct value *max_gradient(const struct adjoint *a, struct op *op, struct value *g)
{
    struct eval *eval = a->eval;
    struct arena *arena = &eval->cx->arena;
    struct value *x = op->inputs[0], *place;
    const struct dim *places[3] = {x->dims[0], x->dims[1], dim_mul(arena, x->dims[2], x->dims[3])};
    const struct dim *windows[3] = {g->dims[0], g->dims[1], dim_mul(arena, g->dims[2], g->dims[3])};
    struct scope scope = {0};
    struct ev found;

    if (fills_image(a, op))
        return cells_gradient(a, op, g);
    eval->at = op->loc;
    scope_bind(eval, &scope, "x", ev_tensor(op->loc, x));
    scope_bind(eval, &scope, "g", ev_tensor(op->loc, g));
    scope_bind(eval, &scope, "kernel", pair(a, op->loc, op->window.kernel));
    scope_bind(eval, &scope, "stride", pair(a, op->loc, op->window.stride));
    scope_bind(eval, &scope, "padding", pair(a, op->loc, op->window.padding));
    scope_bind(eval, &scope, "dilation", pair(a, op->loc, op->window.dilation));
    scope_bind(eval, &scope, "ceil_mode", ev_bool(op->loc, op->window.ceil_mode));
    place =
        eval_body(
            eval, &scope,
            "return F.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode, return_indices=True)[1]")
            .tensor;
    if (may_miss(op)) {
        scope_bind(eval, &scope, "place", ev_tensor(op->loc, place));
        found = eval_body(
            eval, &scope,
            "rows = (torch.arange(g.shape[2]) * stride[0] - padding[0]) % dilation[0] < x.shape[2]\n"
            "columns = (torch.arange(g.shape[3]) * stride[1] - padding[1]) % dilation[1] < x.shape[3]\n"
            "met = rows[:, None] & columns\n"
            "return torch.where(met, place, 0), torch.where(met, g, 0)");
        place = found.items[0].tensor;
        g = found.items[1].tensor;
    }
    x = build_scatter_inside(eval, op->loc, "dmax_pool", adjoint_zeros(eval, op->loc, x->dtype, 3, places), 2,
                             build_reshape(eval, op->loc, place, 3, windows),
                             build_reshape(eval, op->loc, g, 3, windows), PRIM_ADD, true);
    return build_reshape(eval, op->loc, x, 4, op->inputs[0]->dims);
}

/* A pool of ones, divided by that number, or as the op divides where it is 0. */
static struct value *pooled_ones(const struct adjoint *a, const struct op *op, int divisor)
{
    struct eval *eval = a->eval;
    struct value *x = op->inputs[0], *ones;
    struct ev one = ev_float(op->loc, 1);
    const struct dim *dims[4] = {whole(a, 1), whole(a, 1), x->dims[2], x->dims[3]};
    struct op *pool;

    ones = build_expand(eval, op->loc, build_cast(eval, op->loc, build_scalar(eval, op->loc, &one), x->dtype),
                        4, dims);
    pool = op_new(eval, GRAPH_OP_POOL, "pooled_ones", &ones, 1);
    pool->window = op->window;
    pool->window.divisor = divisor;
    return build_op(eval, op->loc, pool);
}

/* Each element of a window gets g by the number that the window divides by; where these differ, that is how many elements the
 * window has by the mean of as many ones. */
static struct value *mean_gradient(const struct adjoint *a, struct op *op, struct value *g)
{
    struct eval *eval = a->eval;
    const struct value *x = op->inputs[0];
    const struct dim *dims[6], *lengths[2];
    int divisor = op->window.divisor ? op->window.divisor : op->window.kernel[0] * op->window.kernel[1],
        before[2];

    if (pool_is_uneven(op))
        g = statements(a, op, "return g * (mean / count)",
                       (struct named[]){{"g", g, NULL},
                                        {"mean", pooled_ones(a, op, 0), NULL},
                                        {"count", pooled_ones(a, op, 1), NULL},
                                        {NULL, NULL, NULL}});
    else
        g = statements(a, op, "return g / n",
                       (struct named[]){{"g", g, NULL}, {"n", NULL, whole(a, divisor)}, {NULL, NULL, NULL}});
    for (int i = 0; i < 6; i++)
        dims[i] = i < 4 ? g->dims[i] : whole(a, 1);
    g = build_reshape(eval, op->loc, g, 6, dims);
    for (int i = 0; i < 2; i++) {
        dims[4 + i] = whole(a, op->window.kernel[i]);
        before[i] = op->window.padding[i];
        lengths[i] = x->dims[2 + i];
    }
    return sum_windows(eval, op->loc, build_expand(eval, op->loc, g, 6, dims), 2, 2, op->window.stride,
                       op->window.dilation, before, lengths);
}

static void pool_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    a->give(a, op->inputs[0], op->window.kind == POOL_MAX ? max_gradient(a, op, g) : mean_gradient(a, op, g));
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* Mean and deviation are made again of x. Half types are computed in float32. */
static void norm_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct eval *eval = a->eval;
    struct value *x = op->inputs[0], *weight = op->norm.weight ? op->inputs[1] : NULL;
    struct value *bias = op->norm.bias ? op->inputs[op->norm.weight ? 2 : 1] : NULL;
    struct ev axes[MAX_DIMS], out;
    struct scope scope = {0};

    for (int i = 0; i < op->norm.axes; i++)
        axes[i] = ev_int(eval, op->loc, x->ndim - op->norm.axes + i);
    eval->at = op->loc;
    scope_bind(eval, &scope, "input", ev_tensor(op->loc, x));
    scope_bind(eval, &scope, "gradient", ev_tensor(op->loc, g));
    scope_bind(eval, &scope, "weight", weight ? ev_tensor(op->loc, weight) : ev_float(op->loc, 1));
    scope_bind(eval, &scope, "axes", ev_tuple(eval, op->loc, axes, op->norm.axes));
    scope_bind(eval, &scope, "eps", ev_float(op->loc, op->norm.eps));
    scope_bind(eval, &scope, "dtype",
               ev_dtype(op->loc, x->dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32));
    out = eval_body(
        eval, &scope,
        "x = input.to(dtype)\n"
        "g = gradient.to(dtype)\n"
        "centred = x - x.mean(axes, keepdim=True)\n"
        "scale = torch.rsqrt((centred * centred).mean(axes, keepdim=True) + eps)\n"
        "normal = centred * scale\n"
        "scaled = g * weight\n"
        "rest = scaled - scaled.mean(axes, keepdim=True) - normal * (scaled * normal).mean(axes, keepdim=True)\n"
        "return (scale * rest).to(input.dtype), g * normal");
    if (a->wants(a, x))
        a->give(a, x, out.items[0].tensor);
    if (weight && a->wants(a, weight))
        a->give(a, weight, build_cast(eval, op->loc, sum_to(a, weight, out.items[1].tensor), weight->dtype));
    if (bias && a->wants(a, bias))
        a->give(a, bias, sum_to(a, bias, g));
}

static void softmax_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    static const char *const plain = "return y * (g - (g * y).sum(axis, keepdim=True))";
    static const char *const logarithm = "return g - torch.exp(y) * g.sum(axis, keepdim=True)";

    a->give(a, op->inputs[0],
            statements(a, op, op->softmax.log ? logarithm : plain,
                       (struct named[]){{"y", op->outputs[0], NULL},
                                        {"g", g, NULL},
                                        {"axis", NULL, whole(a, op->softmax.axis)},
                                        {NULL, NULL, NULL}}));
}

/* x with each element where its neighbour stands that a scan comes to later, or with `back` earlier; 0 comes in at that end. */
static struct value *moved(const struct adjoint *a, const struct op *op, struct value *x, bool back)
{
    struct ev none = {.kind = EV_NONE, .loc = op->loc};
    int64_t before = op->scan.reverse == back ? 1 : -1;

    return pad_axis(a->eval, op->loc, PAD_CONSTANT, x, op->scan.axis, whole(a, before), whole(a, -before),
                    pad_fill(a->eval, op->loc, &none, x->dtype));
}

/* Gradients go the other way: what an element gets goes on to the one before it, but where that is cut off. */
static void decayed_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    static const char *const held[2] = {
        "return cat((before.unsqueeze(axis), y.narrow(axis, 0, y.shape[axis] - 1)), axis)",
        "return cat((y.narrow(axis, 1, y.shape[axis] - 1), before.unsqueeze(axis)), axis)"};
    struct eval *eval = a->eval;
    bool given = op->scan.given, reverse = op->scan.reverse;
    struct value *before = given ? op->inputs[0] : NULL, *x = op->inputs[given], *cut = op->inputs[given + 1];
    struct value *factor = op->input_count == given + 3 ? op->inputs[given + 2] : NULL;
    struct value *sum = build_decayed(eval, op->loc, NULL, g, moved(a, op, cut, true),
                                      factor ? moved(a, op, factor, true) : NULL, op->scan.factor,
                                      op->scan.axis, !reverse);
    struct scope scope = {0};

    if (a->wants(a, x))
        a->give(a, x, sum);
    eval->at = op->loc;
    scope_bind(eval, &scope, "sum", ev_tensor(op->loc, sum));
    scope_bind(eval, &scope, "cut", ev_tensor(op->loc, cut));
    scope_bind(eval, &scope, "factor",
               factor ? ev_tensor(op->loc, factor) : ev_float(op->loc, op->scan.factor));
    scope_bind(eval, &scope, "axis", ev_int(eval, op->loc, op->scan.axis));
    scope_bind(eval, &scope, "first", ev_int(eval, op->loc, reverse ? -1 : 0));
    if (before && a->wants(a, before))
        a->give(a, before,
                eval_body(eval, &scope, "return where(cut, 0, sum * factor).select(axis, first)").tensor);
    if (!factor || !a->wants(a, factor))
        return;
    if (before) {
        scope_bind(eval, &scope, "y", ev_tensor(op->loc, op->outputs[0]));
        scope_bind(eval, &scope, "before", ev_tensor(op->loc, before));
        scope_bind(eval, &scope, "other", eval_body(eval, &scope, held[reverse]));
    } else {
        scope_bind(eval, &scope, "other", ev_tensor(op->loc, moved(a, op, op->outputs[0], false)));
    }
    a->give(a, factor, eval_body(eval, &scope, "return where(cut, 0, sum * other)").tensor);
}

/* Of products the elements from the first 0 on take no part in what stands before; that 0 gets what the others make. */
static void scan_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    static const char *const products =
        "zero = x == 0\n"
        "zeros = zero.cumsum(axis)\n"
        "first = zero & (zeros == 1)\n"
        "others = torch.where(first, 1, x).cumprod(axis)\n"
        "before = _sums_from_end(g * y, axis) / torch.where(zero, 1, x)\n"
        "there = _sums_from_end(g * others, axis)\n"
        "return torch.where(zeros == 0, before, torch.where(first, there, 0))";

    if (op->scan.kind == SCAN_DECAYED) {
        decayed_adjoint(a, op, g);
        return;
    }
    if (op->scan.kind == SCAN_SUM) {
        a->give(a, op->inputs[0],
                build_scan(a->eval, op->loc, g, op->scan.axis, SCAN_SUM, !op->scan.reverse));
        return;
    }
    a->give(a, op->inputs[0],
            statements(a, op, products,
                       (struct named[]){{"x", op->inputs[0], NULL},
                                        {"y", op->outputs[0], NULL},
                                        {"g", g, NULL},
                                        {"axis", NULL, whole(a, op->scan.axis)},
                                        {NULL, NULL, NULL}}));
}

static void ctc_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct op *slope = op_new(a->eval, GRAPH_OP_CTC, "dctc", op->inputs, op->input_count);

    slope->ctc = op->ctc;
    slope->ctc.gradient = true;
    /* what zero_infinity leaves out may have no slope */
    a->give(a, op->inputs[0],
            statements(a, op, "return torch.where(g[:, None] == 0, 0, d * g[:, None])",
                       (struct named[]){{"d", build_op(a->eval, op->loc, slope), NULL},
                                        {"g", g, NULL},
                                        {NULL, NULL, NULL}}));
}

/* ---- recurrent layers ----------------------------------------------------------------------------------------- */

/* What each step's gates, whose gradients are d (L, N, G), add up to with what they were multiplied by: the state before the step,
 * which is that of the step beside it or, at a row's first step, the one that was given. */
static struct value *state_weight_gradient(const struct adjoint *a, struct op *op, struct value *d)
{
    static const char *const sums[2] = {"return d[1:].flatten(0, 1).t() @ y[:-1].flatten(0, 1)",
                                        "return d[:-1].flatten(0, 1).t() @ y[1:].flatten(0, 1)"};
    static const char *const firsts[3] = {
        "return sum + d[0].t() @ h", "return sum + d[-1].t() @ h",
        "return sum + d.gather(0, (lengths - 1)[None, :, None].expand(1, d.shape[1], d.shape[2]))[0].t() @ h"};
    struct value *state = recurrent_input(op, RECURRENT_STATE),
                 *lengths = recurrent_input(op, RECURRENT_LENGTHS);
    bool reverse = op->recurrent.reverse;
    struct value *sum = statements(
        a, op, sums[reverse],
        (struct named[]){{"d", d, NULL}, {"y", op->outputs[0], NULL}, {NULL, NULL, NULL}});

    if (!state)
        return sum;
    return statements(a, op, firsts[reverse + (reverse && lengths)],
                      (struct named[]){{"sum", sum, NULL},
                                       {"d", d, NULL},
                                       {"h", state, NULL},
                                       {lengths ? "lengths" : NULL, lengths, NULL},
                                       {NULL, NULL, NULL}});
}

/* The op that goes back through time; g: what came for the results of op. */
static struct op *through_time(const struct adjoint *a, struct op *op, struct value *const *g)
{
    static const enum recurrent_input given[] = {RECURRENT_WEIGHT, RECURRENT_CELL, RECURRENT_PROJECTION,
                                                 RECURRENT_LENGTHS};
    struct arena *arena = &a->eval->cx->arena;
    struct value *y = op->outputs[0], *roles[RECURRENT_INPUTS] = {NULL}, *inputs[RECURRENT_INPUTS];
    const struct dim *saved[] = {
        y->dims[0], y->dims[1],
        dim_mul(arena, whole(a, recurrent_saved(op->recurrent.kind)), recurrent_width(arena, op))};
    enum recurrent_kind kind = op->recurrent.kind;
    bool has_last = op->recurrent.has[RECURRENT_LENGTHS], lstm = kind == RECURRENT_LSTM,
         gru = kind == RECURRENT_GRU;
    int count = 0, made = 2 + gru + lstm + op->recurrent.has[RECURRENT_PROJECTION];
    struct op *back;

    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        roles[given[i]] = recurrent_input(op, given[i]);
    roles[RECURRENT_STATE] = gru ? recurrent_input(op, RECURRENT_STATE) : NULL;
    roles[RECURRENT_D_STATES] = g[0] ? g[0] : zeros_like(a, y);
    roles[RECURRENT_D_LAST] = has_last ? g[1] : NULL;
    roles[RECURRENT_D_CELL] = lstm ? g[1 + has_last] : NULL;
    roles[RECURRENT_STATES] = lstm ? NULL : y;
    op->recurrent.saves = recurrent_saved(kind) > 0;
    roles[RECURRENT_SAVED] = op->recurrent.saves ? graph_value(a->eval->graph, op, y->dtype, 3, saved) : NULL;
    for (int i = 0; i < RECURRENT_INPUTS; i++)
        if (roles[i])
            inputs[count++] = roles[i];
    back = op_new(a->eval, GRAPH_OP_RECURRENT_GRADIENT, arena_format(arena, "d%s", op->label), inputs, count);
    back->recurrent.kind = kind;
    back->recurrent.reverse = op->recurrent.reverse;
    for (int i = 0; i < RECURRENT_INPUTS; i++)
        back->recurrent.has[i] = roles[i] != NULL;
    back->recurrent.to_state = op->recurrent.has[RECURRENT_STATE] &&
                               a->wants(a, recurrent_input(op, RECURRENT_STATE));
    build_outputs(a->eval, op->loc, back, made);
    return back;
}

static void recurrent_adjoint(const struct adjoint *a, struct op *op, struct value *const *g)
{
    struct op *back = through_time(a, op, g);
    enum recurrent_kind kind = op->recurrent.kind;
    struct value *weight = recurrent_input(op, RECURRENT_WEIGHT), *bias = recurrent_input(op, RECURRENT_BIAS);
    struct value *state = recurrent_input(op, RECURRENT_STATE), *cell = recurrent_input(op, RECURRENT_CELL);
    struct value *projection = recurrent_input(op, RECURRENT_PROJECTION);
    struct value *hidden = back->outputs[kind == RECURRENT_GRU]; /* of what the state adds to the gates */

    a->give(a, op->inputs[RECURRENT_GATES], back->outputs[0]);
    if (a->wants(a, weight))
        a->give(a, weight, state_weight_gradient(a, op, hidden));
    if (bias && a->wants(a, bias))
        a->give(a, bias, sum_to(a, bias, as_matrix(a, hidden)));
    if (state && a->wants(a, state))
        a->give(a, state, back->outputs[1 + (kind == RECURRENT_GRU)]);
    if (cell && a->wants(a, cell))
        a->give(a, cell, back->outputs[2]);
    if (projection && a->wants(a, projection))
        a->give(a, projection,
                statements(a, op,
                           "put = kept[..., 3 * h:4 * h] * torch.tanh(kept[..., 4 * h:])\n"
                           "return d.flatten(0, 1).t() @ put.flatten(0, 1)",
                           (struct named[]){{"kept", op->outputs[op->output_count - 1], NULL},
                                            {"d", back->outputs[3], NULL},
                                            {"h", NULL, recurrent_width(&a->eval->cx->arena, op)},
                                            {NULL, NULL, NULL}}));
}

/* ---- places --------------------------------------------------------------------------------------------------- */

static void concat_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct arena *arena = &a->eval->cx->arena;
    const struct dim *start = whole(a, 0);
    int axis = op->concat.axis;

    for (int i = 0; i < op->input_count; i++) {
        const struct dim *length = op->inputs[i]->dims[axis];

        if (a->wants(a, op->inputs[i]))
            a->give(a, op->inputs[i], build_slice(a->eval, op->loc, g, axis, start, whole(a, 1), length));
        start = dim_add(arena, start, length);
    }
}

static void gather_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0];

    a->give(a, x,
            build_scatter_inside(a->eval, op->loc, arena_format(&a->eval->cx->arena, "d%s", op->label),
                                 zeros_like(a, x), op->gather.axis, op->inputs[1], g, PRIM_ADD,
                                 op->gather.along));
}

/* What a scatter would take from x. */
static struct value *taken(const struct adjoint *a, const struct op *op, struct value *x)
{
    return build_gather_inside(a->eval, op->loc, "taken", x, op->scatter.axis, op->inputs[1],
                               op->scatter.along);
}

/* The part of a scatter's source that is taken: the index may be smaller. */
static struct value *source_of(const struct adjoint *a, const struct op *op)
{
    struct value *source = op->inputs[2];
    const struct value *index = op->inputs[1];

    for (int i = 0; i < source->ndim && op->scatter.along; i++)
        if (!dim_equal(source->dims[i], index->dims[i]))
            source = build_slice(a->eval, op->loc, source, i, whole(a, 0), whole(a, 1), index->dims[i]);
    return source;
}

/* The gradient of that part; the rest has none. */
static void give_source(const struct adjoint *a, const struct op *op, struct value *g)
{
    struct value *source = op->inputs[2];

    for (int i = 0; i < source->ndim; i++) {
        struct value *parts[2] = {g};
        const struct dim *dims[MAX_DIMS];

        if (dim_equal(source->dims[i], g->dims[i]))
            continue;
        memcpy(dims, g->dims, sizeof dims);
        dims[i] = dim_sub(&a->eval->cx->arena, source->dims[i], g->dims[i]);
        parts[1] = adjoint_zeros(a->eval, op->loc, g->dtype, g->ndim, dims);
        g = build_concat(a->eval, op->loc, "concat", parts, 2, i);
    }
    a->give(a, source, g);
}

static struct value *put(const struct adjoint *a, const struct op *op, struct value *x, struct value *source,
                         enum prim prim)
{
    return build_scatter_inside(a->eval, op->loc, "put", x, op->scatter.axis, op->inputs[1], source, prim,
                                op->scatter.along);
}

/* Products: each factor gets the product of the others, which is the result without it where it is not 0; that of a 0 that is
 * alone is made with a 1 in its place. */
static void product_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *source = source_of(a, op), *y = op->outputs[0], *filled, *zero, *zeros;

    filled = statements(a, op, "return torch.where(x == 0, 1, x)",
                        (struct named[]){{"x", x, NULL}, {NULL, NULL, NULL}});
    a->give(a, x,
            statements(a, op, "return g * whole / x",
                       (struct named[]){{"g", g, NULL},
                                        {"whole", put(a, op, filled, source, PRIM_MUL), NULL},
                                        {"x", filled, NULL},
                                        {NULL, NULL, NULL}}));
    if (!a->wants(a, op->inputs[2]))
        return;
    zero = statements(a, op, "return (x == 0).to(x.dtype)",
                      (struct named[]){{"x", source, NULL}, {NULL, NULL, NULL}});
    zeros = taken(a, op, put(a, op, zeros_like(a, x), zero, PRIM_ADD));
    filled = statements(a, op, "return torch.where((n == 1) & (x == 0), 1, x)",
                        (struct named[]){{"x", source, NULL}, {"n", zeros, NULL}, {NULL, NULL, NULL}});
    give_source(
        a, op,
        statements(
            a, op,
            "return torch.where((n == 1) & (x == 0), g * alone, g * whole / torch.where(x == 0, 1, x))",
            (struct named[]){{"x", source, NULL},
                             {"n", zeros, NULL},
                             {"g", taken(a, op, g), NULL},
                             {"alone", taken(a, op, put(a, op, x, filled, PRIM_MUL)), NULL},
                             {"whole", taken(a, op, y), NULL},
                             {NULL, NULL, NULL}}));
}

/* In equal parts to all that are the least, or the most. */
static void extreme_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *source = source_of(a, op), *y = op->outputs[0], *held, *came, *share;

    held = is_same(a, x, y, false);
    came = is_same(a, source, taken(a, op, y), false);
    share = statements(
        a, op, "return g / n",
        (struct named[]){{"g", g, NULL}, {"n", put(a, op, held, came, PRIM_ADD), NULL}, {NULL, NULL, NULL}});
    a->give(a, x,
            statements(a, op, "return same * g",
                       (struct named[]){{"same", held, NULL}, {"g", share, NULL}, {NULL, NULL, NULL}}));
    give_source(a, op,
                statements(a, op, "return same * g",
                           (struct named[]){
                               {"same", came, NULL}, {"g", taken(a, op, share), NULL}, {NULL, NULL, NULL}}));
}

static void scatter_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0], *source = op->inputs[2];

    switch (op->dag->nodes[op->dag->result].prim) {
    case PRIM_LOAD:
        if (a->wants(a, x))
            a->give(a, x, put(a, op, g, zeros_like(a, source), PRIM_LOAD));
        if (a->wants(a, source))
            give_source(a, op, taken(a, op, g));
        break;
    case PRIM_ADD:
        a->give(a, x, g);
        if (a->wants(a, source))
            give_source(a, op, taken(a, op, g));
        break;
    case PRIM_MUL:
        product_adjoint(a, op, g);
        break;
    default:
        extreme_adjoint(a, op, g);
        break;
    }
}

/* ---- views and writes ----------------------------------------------------------------------------------------- */

/* Which elements along its axis a slice shows. */
static struct value *shown(const struct adjoint *a, struct op *slice)
{
    return statements(a, slice, "return torch.arange(n) * step + start",
                      (struct named[]){{"n", NULL, slice->outputs[0]->dims[slice->view.axis]},
                                       {"step", NULL, slice->view.step},
                                       {"start", NULL, slice->view.start},
                                       {NULL, NULL, NULL}});
}

/* A slice with a step is every so many elements of the whole. */
static void slice_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct eval *eval = a->eval;
    struct value *x = op->inputs[0];
    int axis = op->view.axis;
    int64_t step;

    if (dim_equals(op->view.step, 1)) {
        a->give_part(a, x, axis, op->view.start, op->outputs[0]->dims[axis], g);
        return;
    }
    if (dim_is_const(op->view.step, &step) && step == -1 && dim_equal(x->dims[axis], g->dims[axis])) {
        a->give(a, x, build_flip(eval, op->loc, g, axis));
        return;
    }
    a->give(a, x,
            build_scatter_inside(eval, op->loc, "dslice", zeros_like(a, x), axis, shown(a, op), g, PRIM_LOAD,
                                 false));
}

static void window_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0];
    int axis = op->view.axis, perm[MAX_DIMS], stride, dilation, before = 0;
    int64_t step = 0, apart = 0;

    dim_is_const(op->view.step, &step);
    dim_is_const(op->view.dilation, &apart);
    stride = (int)step;
    dilation = (int)apart;
    for (int i = 0; i < g->ndim; i++) /* the elements of a window behind the windows */
        perm[i] = i <= axis ? i : i == axis + 1 ? g->ndim - 1 : i - 1;
    g = build_permute(a->eval, op->loc, g, perm);
    a->give(a, x, sum_windows(a->eval, op->loc, g, axis, 1, &stride, &dilation, &before, &x->dims[axis]));
}

static void view_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *x = op->inputs[0];
    int back[MAX_DIMS];

    if (op->view.detached)
        return;
    switch (op->view.kind) {
    case VIEW_PERMUTE:
        for (int i = 0; i < x->ndim; i++)
            back[op->view.perm[i]] = i;
        a->give(a, x, build_permute(a->eval, op->loc, g, back));
        break;
    case VIEW_SLICE:
        slice_adjoint(a, op, g);
        break;
    case VIEW_EXPAND:
        a->give(a, x, sum_to(a, x, g));
        break;
    case VIEW_RESHAPE:
        a->give(a, x, build_reshape(a->eval, op->loc, g, x->ndim, x->dims));
        break;
    case VIEW_WINDOW:
        window_adjoint(a, op, g);
        break;
    }
}

/* The view of a tensor as one of another of the same dims. */
static struct value *same_view(const struct adjoint *a, struct value *view, const struct value *root,
                               struct value *other)
{
    struct value *input;
    struct op *op;

    if (view == root)
        return other;
    input = same_view(a, view->op->inputs[0], root, other);
    op = op_new(a->eval, GRAPH_OP_VIEW, view->op->label, &input, 1);
    op->view = view->op->view;
    op->loc = view->op->loc;
    graph_value(a->eval->graph, op, other->dtype, view->ndim, view->dims);
    ARENA_PUSH(&a->eval->cx->arena, a->eval->graph->ops, a->eval->graph->op_count, op);
    return op->outputs[0];
}

/* g with other elements where a slice shows it. */
static struct value *put_slice(const struct adjoint *a, struct op *slice, struct value *g,
                               struct value *other)
{
    struct arena *arena = &a->eval->cx->arena;
    int axis = slice->view.axis, count = 0;
    const struct dim *start = slice->view.start, *end = dim_add(arena, start, other->dims[axis]);
    const struct dim *behind = dim_sub(arena, g->dims[axis], end), *one = whole(a, 1);
    struct value *pieces[3];

    if (!dim_equals(slice->view.step, 1))
        return build_scatter_inside(a->eval, slice->loc, "put", g, axis, shown(a, slice), other, PRIM_LOAD,
                                    false);
    if (!dim_equals(start, 0))
        pieces[count++] = build_slice(a->eval, slice->loc, g, axis, whole(a, 0), one, start);
    pieces[count++] = other;
    if (!dim_equals(behind, 0))
        pieces[count++] = build_slice(a->eval, slice->loc, g, axis, end, one, behind);
    return build_concat(a->eval, slice->loc, "concat", pieces, count, axis);
}

/* g, of root's dims, with other elements where the view shows root. Indices make slices, and reshapes that drop or add ones. */
static struct value *put_seen(const struct adjoint *a, struct value *view, struct value *root,
                              struct value *g, struct value *other)
{
    struct op *op = view->op;

    if (view == root)
        return other;
    assert(op->view.kind == VIEW_SLICE || op->view.kind == VIEW_RESHAPE);
    if (op->view.kind == VIEW_SLICE)
        other = put_slice(a, op, same_view(a, op->inputs[0], root, g), other);
    else
        other = build_reshape(a->eval, op->loc, other, op->inputs[0]->ndim, op->inputs[0]->dims);
    return put_seen(a, op->inputs[0], root, g, other);
}

/* A layer that writes running statistics, or as embedding does a parameter, does so beside the gradients' way. What is written
 * over in state gets nothing; what stays, its own. */
static void write_adjoint(const struct adjoint *a, struct op *op, struct value *g)
{
    struct value *slot = op->inputs[0], *target = op->inputs[1];

    assert(dag_is_identity(op->dag));
    if (op->write.detached) {
        a->give(a, slot, g);
        return;
    }
    if (a->wants(a, op->inputs[2]))
        a->give(a, op->inputs[2], sum_to(a, op->inputs[2], same_view(a, target, slot, g)));
    if (target != slot && a->wants(a, slot))
        a->give(a, slot, put_seen(a, target, slot, g, zeros_like(a, target)));
}

/* ---- the table: of ops of one result --------------------------------------------------------------------------- */

static adjoint_row *const rows[GRAPH_OP_COUNT] = {
    [GRAPH_OP_VIEW] = view_adjoint,       [GRAPH_OP_MAP] = map_adjoint,
    [GRAPH_OP_REDUCE] = reduce_adjoint,   [GRAPH_OP_CONTRACT] = contract_adjoint,
    [GRAPH_OP_CONV] = conv_adjoint,       [GRAPH_OP_POOL] = pool_adjoint,
    [GRAPH_OP_NORM] = norm_adjoint,       [GRAPH_OP_SOFTMAX] = softmax_adjoint,
    [GRAPH_OP_CONCAT] = concat_adjoint,   [GRAPH_OP_GATHER] = gather_adjoint,
    [GRAPH_OP_SCATTER] = scatter_adjoint, [GRAPH_OP_SCAN] = scan_adjoint,
    [GRAPH_OP_CTC] = ctc_adjoint,         [GRAPH_OP_WRITE] = write_adjoint,
};

void adjoint_give(const struct adjoint *adjoint, struct op *op, struct value *const *gradients)
{
    if (op->code == GRAPH_OP_RECURRENT)
        recurrent_adjoint(adjoint, op, gradients);
    else
        rows[op->code](adjoint, op, gradients[0]);
}
