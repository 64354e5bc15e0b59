/* adjoint_window.c - gradients of convolutions and pools. */
#include "backward/adjoint_rows.h"
#include "functions/rows.h"

static void give_conv(const struct adjoint *a, struct op *op, struct value *g)
{
    const bool axes[MAX_DIMS] = {[0] = true, [2] = true, [3] = true};

    if (a->wants(a, op->inputs[0]))
        a->give(a, op->inputs[0], conv_input_gradient(a->eval, op->loc, op, g));
    if (a->wants(a, op->inputs[1]))
        a->give(a, op->inputs[1], conv_weight_gradient(a->eval, op->loc, op, g));
    if (op->window.bias && a->wants(a, op->inputs[2]))
        a->give(a, op->inputs[2], build_reduce(a->eval, op->loc, g, REDUCE_SUM, axes, false));
}

const struct adjoint_row conv_adjoint = {.one = give_conv};

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
                 dim_equal(x->dims[2 + i], dim_mul(&a->eval->cx->arena, y->dims[2 + i],
                                                   adjoint_number(a, op->window.kernel[i])));
    return fills;
}

/* Then each cell of all windows is one map: it gets the gradient where it is the maximum and none before it is. */
static struct value *cell_gradient(const struct adjoint *a, struct op *op, struct value *const *cells, int at,
                                   struct value *g)
{
    struct arena *arena = &a->eval->cx->arena;
    struct adjoint_name names[13] = {{"y", op->outputs[0], NULL}, {"g", g, NULL}};
    struct text text = text_new(arena);
    struct value *cell;

    text_printf(&text, "return torch.where(((x%d == y) | (x%d != x%d))", at, at, at);
    for (int i = 0; i <= at; i++) {
        names[2 + i] = (struct adjoint_name){arena_format(arena, "x%d", i), cells[i], NULL};
        if (i < at)
            text_printf(&text, " & (x%d != y) & (x%d == x%d)", i, i, i);
    }
    text_add(&text, ", g, 0)");
    cell = adjoint_run(a, op, text.data, names);
    cell->op->label = "dmax_pool";
    return cell;
}

static struct value *cells_gradient(const struct adjoint *a, struct op *op, struct value *g)
{
    struct eval *eval = a->eval;
    const struct dim *one = adjoint_number(a, 1),
                     *dims[6] = {g->dims[0], g->dims[1], g->dims[2], one, g->dims[3], one};
    struct value *cells[9], *rows[9], *columns[9];
    int height = op->window.kernel[0], width = op->window.kernel[1];

    for (int k = 0; k < height * width; k++) {
        cells[k] = build_slice(eval, op->loc, op->inputs[0], 2, adjoint_number(a, k / width),
                               adjoint_number(a, height), g->dims[2]);
        cells[k] = build_slice(eval, op->loc, cells[k], 3, adjoint_number(a, k % width),
                               adjoint_number(a, width), g->dims[3]);
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
    const struct dim *dims[4] = {adjoint_number(a, 1), adjoint_number(a, 1), x->dims[2], x->dims[3]};
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
        g = adjoint_run(a, op, "return g * (mean / count)",
                        (struct adjoint_name[]){{"g", g, NULL},
                                                {"mean", pooled_ones(a, op, 0), NULL},
                                                {"count", pooled_ones(a, op, 1), NULL},
                                                {NULL, NULL, NULL}});
    else
        g = adjoint_run(a, op, "return g / n",
                        (struct adjoint_name[]){
                            {"g", g, NULL}, {"n", NULL, adjoint_number(a, divisor)}, {NULL, NULL, NULL}});
    for (int i = 0; i < 6; i++)
        dims[i] = i < 4 ? g->dims[i] : adjoint_number(a, 1);
    g = build_reshape(eval, op->loc, g, 6, dims);
    for (int i = 0; i < 2; i++) {
        dims[4 + i] = adjoint_number(a, op->window.kernel[i]);
        before[i] = op->window.padding[i];
        lengths[i] = x->dims[2 + i];
    }
    return sum_windows(eval, op->loc, build_expand(eval, op->loc, g, 6, dims), 2, 2, op->window.stride,
                       op->window.dilation, before, lengths);
}

static void give_pool(const struct adjoint *a, struct op *op, struct value *g)
{
    a->give(a, op->inputs[0], op->window.kind == POOL_MAX ? max_gradient(a, op, g) : mean_gradient(a, op, g));
}

const struct adjoint_row pool_adjoint = {.one = give_pool};
