/* integer.c - what `ranges` leaves between two roundings, as ops of integers: what TensorFlow Lite's reference kernels compute, bit for
 * bit, from these weights and steps. Convolutions and products of int8 with weights of int8, a scale for each output; sums, products
 * and means by multipliers in fixed point; what only moves or picks numbers does so with int8. What is left computes in float32 from
 * what int8 stands for. Where hooks look (fenced), and on a GPU, all of it does, with weights that are rounded to the same.
 *
 * note [fixed point]
 * A convolution's sum of (x - zero) w is multiplied by M = scale of x * scale of w / scale of y, which is known when weights are: so
 * multipliers, shifts, weights as int8 and biases as int32 are computed from parameters, by MODEL_pack. M is multiplier / 2^31 / 2^shift *
 * factor, a power of two that is 1 but where M is above 1. A weight's scale is its channel's largest size over 127; larger, where the
 * bias would not fit 2^30 of its steps. */
#include <math.h>
#include <string.h>

#include "base/emitted.h"
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

enum { MOST_BETWEEN = 8 };

/* ---- nodes of dags -------------------------------------------------------------------------------------------- */

static int with_real(struct nodes n, enum prim prim, int a, double number)
{
    return node_two(n, prim, a, dag_const(n.arena, n.dag, n.dag->nodes[a].dtype, number));
}

static int size_of(struct nodes n, int a)
{
    return dag_prim(n.arena, n.dag, PRIM_ABS, n.dag->nodes[a].dtype, a, -1, -1);
}

static int rounded(struct nodes n, int x)
{
    return make_nearest(n.arena, n.dag, size_of(n, x), x);
}

/* The int32 node times that number. */
static int times(struct nodes n, int x, struct fixed fixed)
{
    if (fixed.shift > 0)
        x = node_with(n, PRIM_MUL, x, (int64_t)1 << (fixed.shift < 31 ? fixed.shift : 30));
    x = node_with(n, PRIM_MUL_HIGH, x, fixed.multiplier);
    return fixed.shift < 0 ? node_with(n, PRIM_SHIFT_NEAR, x, -fixed.shift) : x;
}

static int scaled(struct nodes n, int x, double number)
{
    return times(n, x, fixed_of(number));
}

/* ---- what becomes of a result --------------------------------------------------------------------------------- */

/* What rounds a value, and the views and bounds between that and what makes the value. */
struct end {
    const struct op *rounds;              /* quantize */
    const struct op *views[MOST_BETWEEN]; /* the last first */
    int view_count;
    double least, most; /* bounds, which may be infinite */
    bool alone;         /* nothing else reads what lies between, or what is made */
};

/* Returns what makes the value; NULL: too much lies between. */
static struct op *find_maker(const struct op *rounds, struct end *end)
{
    const struct value *value = rounds->inputs[0];

    *end = (struct end){
        .rounds = rounds, .least = -(double)INFINITY, .most = (double)INFINITY, .alone = true};
    for (;; value = value->op->inputs[0]) {
        double least, most;

        end->alone &= pass_only_reader(value) != NULL;
        if (op_bounds(value->op, &least, &most)) {
            end->least = fmin(fmax(least, end->least), end->most);
            end->most = fmin(fmax(most, end->least), end->most);
        } else if (value->op->code != GRAPH_OP_VIEW) {
            return value->op;
        } else if (end->view_count == MOST_BETWEEN) {
            return NULL;
        } else {
            end->views[end->view_count++] = value->op;
        }
    }
}

static int bound(const struct steps *steps, double number, int other)
{
    return isfinite(number) ? (int)fmin(INT8_MAX, fmax(INT8_MIN, round(number / steps->scale) + steps->zero))
                            : other;
}

/* The int32 node, steps of the end's from its zero, as int8 within its bounds. */
static int ended(struct nodes n, int node, const struct end *end)
{
    const struct steps *steps = end->rounds->steps;

    return make_int8(n.arena, n.dag, node_with(n, PRIM_ADD, node, steps->zero),
                     bound(steps, end->least, INT8_MIN), bound(steps, end->most, INT8_MAX));
}

/* The same view of another value. */
static struct value *seen_so(struct site site, const struct op *view, struct value *value)
{
    struct op *copy = make_like(site.graph, view);

    copy->inputs[0] = value;
    return make_view(site, copy, view->outputs[0]->ndim, view->outputs[0]->dims);
}

/* The op's result as int8 takes the place of what was rounded. */
static void put_end(struct graph *graph, int *at, const struct end *end, struct value *value)
{
    for (int i = end->view_count - 1; i >= 0; i--)
        value = seen_so(site_by(graph, at, end->views[i]), end->views[i], value);
    graph_replace(graph, end->rounds->outputs[0], value);
}

/* ---- weights --------------------------------------------------------------------------------------------------- */

/* What MODEL_pack computes of a product's parameters, each (oc) but the weight, which is as a convolution's. */
struct parts {
    struct value *weight, *scale; /* int8; float32 */
    struct value *bias;           /* int32; or NULL */
};

/* (oc): what an integer of a channel's weight stands for. An op of its own, which others read and do not compute again. */
static struct value *scales_of(struct graph *graph, int *at, struct value *weight, struct value *bias,
                               const struct steps *steps)
{
    struct value *inputs[] = {weight, bias};
    struct op *op = make_op(site_by(graph, at, weight->op), GRAPH_OP_REDUCE, "scale", inputs, bias ? 2 : 1);
    struct nodes n = nodes_new(graph, 1);
    int scale;

    op->reduce.kind = REDUCE_MAX;
    for (int i = 1; i < 4; i++)
        op->reduce.axes[i] = true;
    op->tail_first = 1;
    op->head = n.dag;
    n.dag->result = size_of(n, dag_load(n.arena, n.dag, 0, DTYPE_FLOAT32));
    n = nodes_new(graph, bias ? 2 : 1);
    op->tail = n.dag;
    scale = with_real(n, PRIM_DIV, dag_load(n.arena, n.dag, 0, DTYPE_FLOAT32), 127.0);
    if (bias)
        scale = node_two(n, PRIM_MAX, scale,
                         with_real(n, PRIM_MUL, size_of(n, dag_load(n.arena, n.dag, 1, DTYPE_FLOAT32)),
                                   0x1p-30 / steps->scale));
    n.dag->result = with_real(n, PRIM_MAX, scale, 0x1p-60);
    return make_result(site_by(graph, at, weight->op), op);
}

/* What a weight is computed of, mostly: the largest parameter. NULL: of none. */
static const struct module_tensor *parameter_of(const struct value *value, int depth)
{
    const struct module_tensor *largest = NULL;

    if (value->op->code == GRAPH_OP_TENSOR)
        return value->op->tensor.tensor;
    for (int i = 0; i < value->op->input_count && depth > 0; i++) {
        const struct module_tensor *own = parameter_of(value->op->inputs[i], depth - 1);

        if (own && (!largest || module_tensor_count(own) > module_tensor_count(largest)))
            largest = own;
    }
    return largest;
}

/* Of x with these steps; the weight is (oc, c, kh, kw), the bias (oc) or NULL. */
static struct parts take_parts(struct graph *graph, int *at, const struct op *op, struct value *weight,
                               struct value *bias, const struct steps *steps)
{
    struct site site = site_by(graph, at, op);
    const struct dim *one = dim_const(&graph->cx->arena, 1), *by_channel[] = {weight->dims[0], one, one, one};
    struct parts parts = {.scale = scales_of(graph, at, weight, bias, steps)};
    const struct module_tensor *parameter = parameter_of(weight, MOST_BETWEEN);
    struct value *pair[2];
    struct nodes n;
    int scale;

    if (parameter) {
        parts.scale->name = emitted_flat(graph->cx, relative_path(graph->root, parameter->path));
        parts.scale->local = true;
    }
    n = nodes_new(graph, 2);
    n.dag->result = dag_cast(
        n.arena, n.dag,
        with_real(n, PRIM_MAX,
                  with_real(n, PRIM_MIN,
                            rounded(n, node_two(n, PRIM_DIV, dag_load(n.arena, n.dag, 0, DTYPE_FLOAT32),
                                                dag_load(n.arena, n.dag, 1, DTYPE_FLOAT32))),
                            127.0),
                  -127.0),
        DTYPE_INT8);
    pair[0] = weight;
    pair[1] = make_reshape(site, parts.scale, 4, by_channel);
    parts.weight = make_map(site, "quantize", n.dag, pair, 2);
    if (!bias)
        return parts;

    n = nodes_new(graph, 2);
    scale = with_real(n, PRIM_MUL,
                      dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 1, DTYPE_FLOAT32), DTYPE_FLOAT64),
                      steps->scale);
    n.dag->result = dag_cast(
        n.arena, n.dag,
        rounded(n,
                node_two(n, PRIM_DIV,
                         dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 0, DTYPE_FLOAT32), DTYPE_FLOAT64),
                         scale)),
        DTYPE_INT32);
    pair[0] = bias;
    pair[1] = parts.scale;
    parts.bias = make_map(site, "quantize", n.dag, pair, 2);
    return parts;
}

/* Of M = scale * ratio, note [fixed point]: what it is made of, each (oc) and int32. */
enum factor { FACTOR_MULTIPLIER, FACTOR_SHIFT, FACTOR_POWER, FACTOR_COUNT };

static struct value *fixed_part(struct graph *graph, int *at, struct value *scale, double ratio,
                                enum factor which)
{
    static const char *const labels[FACTOR_COUNT] = {"multiplier", "shift", "power"};
    struct nodes n = nodes_new(graph, 1);
    int number = with_real(
        n, PRIM_MUL, dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 0, DTYPE_FLOAT32), DTYPE_FLOAT64),
        ratio);

    number = dag_prim(n.arena, n.dag, which == FACTOR_MULTIPLIER ? PRIM_FIXED : PRIM_FIXED_POWER,
                      DTYPE_FLOAT64, number, -1, -1);
    number = dag_cast(n.arena, n.dag, number, DTYPE_INT32);
    if (which == FACTOR_SHIFT)
        number = node_with(
            n, PRIM_MIN,
            node_with(n, PRIM_MAX, node_two(n, PRIM_SUB, dag_integer(n.arena, n.dag, DTYPE_INT32, 0), number),
                      0),
            31);
    if (which == FACTOR_POWER)
        number = node_two(n, PRIM_POW, dag_integer(n.arena, n.dag, DTYPE_INT32, 2),
                          node_with(n, PRIM_MIN, node_with(n, PRIM_MAX, number, 0), 30));
    n.dag->result = number;
    return make_map(site_by(graph, at, scale->op), labels[which], n.dag, &scale, 1);
}

/* ---- products -------------------------------------------------------------------------------------------------- */

/* A convolution, or a product as one of single elements: note [int8] in ops/window.c. */
struct product {
    struct op *op;
    struct value *whole; /* x in int8, as the op reads it */
    const struct steps *steps;
    struct value *weight; /* (oc, c, kh, kw) */
    struct value *bias;   /* (oc); or NULL */
};

static bool is_known(const struct graph *graph, struct value *value)
{
    return value->dtype == DTYPE_FLOAT32 && value_is_static(graph, value);
}

/* `storage` says of the weight that it stays as it is. */
static bool stays_wide(const struct value *weight)
{
    const struct module_tensor *parameter = parameter_of(weight, MOST_BETWEEN);

    return parameter && parameter->stored && !parameter->storage;
}

/* Whether the op is one whose weights are known, of what is rounded by `back`; NULL: nothing is. */
static bool find_rounded_by(const struct graph *graph, struct op *op, const struct op *back,
                            struct product *product)
{
    const bool conv = op->code == GRAPH_OP_CONV;
    const bool bias = conv ? op->window.bias : op->code == GRAPH_OP_CONTRACT && op->contract.bias;
    struct value *weight;
    double terms = 1.0;

    if ((!conv && op->code != GRAPH_OP_CONTRACT) || op->tail || op->head || !back)
        return false;
    weight = op->inputs[1];
    if (!is_known(graph, weight) || stays_wide(weight) || (!conv && weight->ndim != 2) ||
        (bias && !is_known(graph, op->inputs[2])))
        return false;
    for (int i = 0; i < weight->ndim; i++)
        if (dim_equals(weight->dims[i], 0))
            return false;
    for (int i = conv ? 1 : 0; i < (conv ? weight->ndim : 1); i++) /* (oc, c, kh, kw), (k, n) */
        terms *= (double)dim_upper(weight->dims[i]);
    if (terms > CONV_MOST_TERMS)
        return false;
    *product = (struct product){op, back->inputs[0], back->steps, weight, bias ? op->inputs[2] : NULL};
    return true;
}

/* Of int8. */
static bool find_product(const struct graph *graph, struct op *op, struct product *product)
{
    const bool multiplies = op->code == GRAPH_OP_CONV || op->code == GRAPH_OP_CONTRACT;

    return multiplies && value_whole(op->inputs[0]) && find_rounded_by(graph, op, op->inputs[0]->op, product);
}

/* Of what int8 stands for, which was moved since. */
static bool find_rounded(const struct graph *graph, struct op *op, struct product *product)
{
    const bool multiplies = op->code == GRAPH_OP_CONV || op->code == GRAPH_OP_CONTRACT;

    return multiplies && find_rounded_by(graph, op, value_rounded(op->inputs[0]), product);
}

/* A contraction's weight (k, n) as (n, k, 1, 1). */
static struct value *weight_of(struct graph *graph, int *at, const struct product *product)
{
    static const int turn[] = {1, 0};
    struct site site = site_by(graph, at, product->op);
    const struct dim *one = dim_const(&graph->cx->arena, 1);
    struct value *weight = product->weight;

    if (product->op->code == GRAPH_OP_CONV)
        return weight;
    weight = make_permute(site, weight, turn);
    return make_reshape(site, weight, 4, (const struct dim *[]){weight->dims[0], weight->dims[1], one, one});
}

/* What stands around x by itself is padding of the convolution: it adds nothing. */
static void unpad(struct op *conv, int zero)
{
    struct value *x;
    int64_t around[2];

    while ((x = value_unpadded(conv->inputs[0], zero, around)) != NULL && around[0] + around[1] < 1 << 20) {
        const int space = conv->inputs[0]->op->concat.axis - 2;

        if (space < 0)
            break;
        conv->window.padding[space] += (int)around[0];
        conv->window.extra[space] += (int)(around[1] - around[0]);
        conv->inputs[0] = x;
    }
}

/* The int32 sums, as the convolution has them. */
static struct value *sums_of(struct graph *graph, int *at, const struct product *product,
                             const struct parts *parts)
{
    struct site site = site_by(graph, at, product->op);
    struct arena *arena = &graph->cx->arena;
    const struct dim *one = dim_const(arena, 1), *rows = one;
    struct value *inputs[] = {product->whole, parts->weight, parts->bias};
    const int last = product->whole->ndim - 1, count = parts->bias ? 3 : 2;
    struct op *conv;

    if (product->op->code == GRAPH_OP_CONV) {
        conv = make_op(site, GRAPH_OP_CONV, product->op->label, inputs, count);
        conv->window = product->op->window;
        unpad(conv, product->steps->zero);
    } else {
        for (int i = 0; i < last; i++)
            rows = dim_mul(arena, rows, product->whole->dims[i]);
        inputs[0] = make_reshape(site, product->whole, 4,
                                 (const struct dim *[]){rows, product->whole->dims[last], one, one});
        conv = make_op(site, GRAPH_OP_CONV, product->op->label, inputs, count);
        for (int i = 0; i < 2; i++)
            conv->window.kernel[i] = conv->window.stride[i] = conv->window.dilation[i] = 1;
        conv->window.groups = 1;
    }
    conv->window.bias = parts->bias != NULL;
    conv->window.zero = product->steps->zero;
    return make_result(site, conv);
}

/* (oc) along the channels of a convolution's result. */
static struct value *by_channel(struct graph *graph, int *at, struct value *value)
{
    const struct dim *one = dim_const(&graph->cx->arena, 1);

    return make_reshape(site_by(graph, at, value->op), value, 3,
                        (const struct dim *[]){value->dims[0], one, one});
}

/* As the op's result was. */
static struct value *shaped(struct graph *graph, int *at, const struct product *product, struct value *value)
{
    const struct value *was = product->op->outputs[0];

    return make_reshape(site_by(graph, at, product->op), value, was->ndim, was->dims);
}

static void round_product(struct graph *graph, int *at, const struct product *product, const struct end *end)
{
    const double ratio = product->steps->scale / end->rounds->steps->scale;
    const struct parts parts = take_parts(graph, at, product->op, weight_of(graph, at, product),
                                          product->bias, product->steps);
    struct value *inputs[1 + FACTOR_COUNT];
    struct nodes n = nodes_new(graph, COUNT(inputs));
    int node;

    for (int i = 0; i < FACTOR_COUNT; i++)
        inputs[1 + i] = by_channel(graph, at, fixed_part(graph, at, parts.scale, ratio, (enum factor)i));
    inputs[0] = sums_of(graph, at, product, &parts);
    node = node_two(n, PRIM_MUL, dag_load(n.arena, n.dag, 0, DTYPE_INT32),
                    dag_load(n.arena, n.dag, 1 + FACTOR_POWER, DTYPE_INT32));
    node = node_two(n, PRIM_MUL_HIGH, node, dag_load(n.arena, n.dag, 1 + FACTOR_MULTIPLIER, DTYPE_INT32));
    node = node_two(n, PRIM_SHIFT_NEAR, node, dag_load(n.arena, n.dag, 1 + FACTOR_SHIFT, DTYPE_INT32));
    n.dag->result = ended(n, node, end);
    put_end(graph, at, end,
            shaped(graph, at, product,
                   make_map(site_by(graph, at, end->rounds), "requantize", n.dag, inputs, COUNT(inputs))));
}

/* Where nothing rounds it: float32. */
static void leave_product(struct graph *graph, int *at, const struct product *product)
{
    const struct parts parts = take_parts(graph, at, product->op, weight_of(graph, at, product),
                                          product->bias, product->steps);
    struct value *inputs[2] = {sums_of(graph, at, product, &parts), by_channel(graph, at, parts.scale)};
    struct nodes n = nodes_new(graph, 2);

    n.dag->result = node_two(
        n, PRIM_MUL, dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 0, DTYPE_INT32), DTYPE_FLOAT32),
        with_real(n, PRIM_MUL, dag_load(n.arena, n.dag, 1, DTYPE_FLOAT32), product->steps->scale));
    graph_replace(graph, product->op->outputs[0],
                  shaped(graph, at, product,
                         make_map(site_by(graph, at, product->op), "dequantize", n.dag, inputs, 2)));
}

/* Its weights are what the integers stand for. */
static void round_weight(struct graph *graph, int *at, const struct product *product)
{
    static const int turn[] = {1, 0};
    struct value *weight = weight_of(graph, at, product);
    const struct parts parts = take_parts(graph, at, product->op, weight, product->bias, product->steps);
    const struct dim *one = dim_const(&graph->cx->arena, 1), *first[] = {weight->dims[0], one, one, one};
    struct site site = site_by(graph, at, product->op);
    struct value *pair[2] = {parts.weight, make_reshape(site, parts.scale, 4, first)};
    struct nodes n = nodes_new(graph, 2);

    n.dag->result = node_two(n, PRIM_MUL,
                             dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 0, DTYPE_INT8), DTYPE_FLOAT32),
                             dag_load(n.arena, n.dag, 1, DTYPE_FLOAT32));
    weight = make_map(site, "dequantize", n.dag, pair, 2);
    if (product->op->code == GRAPH_OP_CONTRACT)
        weight = make_permute(site, make_reshape(site, weight, 2, weight->dims), turn);
    graph_input(graph, product->op, 1, weight);
}

/* ---- what is no product of weights ----------------------------------------------------------------------------- */

/* Steps as steps of another scale: RELU, and a REQUANTIZE. */
static bool take_rounded(struct graph *graph, int *at, const struct op *made, const struct end *end)
{
    struct value *whole = made->output_count == 1 ? value_whole(made->outputs[0]) : NULL;
    struct nodes n = nodes_new(graph, 1);

    if (!whole)
        return false;
    n.dag->result = ended(n,
                          scaled(n, make_from_zero(n.arena, n.dag, 0, made->steps),
                                 made->steps->scale / end->rounds->steps->scale),
                          end);
    put_end(graph, at, end, make_map(site_by(graph, at, end->rounds), "requantize", n.dag, &whole, 1));
    return true;
}

/* x0 + x1 or x0 * x1 of two such values: ADD, with 20 bits behind the point, and MUL. */
static bool take_two(struct graph *graph, int *at, const struct op *map, const struct end *end)
{
    const double scale = end->rounds->steps->scale;
    const struct dag_node *node;
    const struct steps *steps[2];
    struct value *whole[2];
    struct nodes n = nodes_new(graph, 2);
    double largest;
    int parts[2], both;

    if (map->code != GRAPH_OP_MAP || map->steps || map->input_count < 1 || map->input_count > 2)
        return false;
    node = &map->dag->nodes[map->dag->result];
    if (node->prim != PRIM_ADD && node->prim != PRIM_MUL)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct dag_node *load = &map->dag->nodes[node->args[i]];
        const struct value *value = load->prim == PRIM_LOAD ? map->inputs[load->input] : NULL;

        whole[i] = value ? value_whole(value) : NULL;
        if (!whole[i])
            return false;
        steps[i] = value_steps(value);
        parts[i] = make_from_zero(n.arena, n.dag, i, steps[i]);
    }
    largest = 2.0 * fmax(steps[0]->scale, steps[1]->scale);
    if (node->prim == PRIM_MUL) {
        both = scaled(n, node_two(n, PRIM_MUL, parts[0], parts[1]),
                      steps[0]->scale * steps[1]->scale / scale);
    } else {
        for (int i = 0; i < 2; i++)
            parts[i] = scaled(n, node_with(n, PRIM_MUL, parts[i], 1 << 20), steps[i]->scale / largest);
        both = scaled(n, node_two(n, PRIM_ADD, parts[0], parts[1]), largest / ((1 << 20) * scale));
    }
    n.dag->result = ended(n, both, end);
    put_end(graph, at, end, make_map(site_by(graph, at, end->rounds), map->label, n.dag, whole, 2));
    return true;
}

/* How many numbers are summed up; 0: that is not known, or too many for int32. */
static int64_t summed(const struct op *sum)
{
    int64_t count = 1, extent;

    for (int i = 0; i < sum->inputs[0]->ndim; i++) {
        if (!sum->reduce.axes[i])
            continue;
        if (!dim_is_const(sum->inputs[0]->dims[i], &extent) || extent < 1 || extent > (1 << 22) / count)
            return 0;
        count *= extent;
    }
    return count;
}

/* Whether the map of one input divides it by that number. */
static bool divides_by(const struct op *map, int64_t count)
{
    const struct dag_node *nodes = map->dag ? map->dag->nodes : NULL,
                          *node = nodes ? &nodes[map->dag->result] : NULL;

    if (map->code != GRAPH_OP_MAP || map->input_count != 1 ||
        (node->prim != PRIM_MUL && node->prim != PRIM_DIV))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct dag_node *number = &nodes[node->args[i]], *other = &nodes[node->args[1 - i]];

        if (number->prim == PRIM_CONST && other->prim == PRIM_LOAD && (i == 1 || node->prim == PRIM_MUL))
            return (float)number->number ==
                   (node->prim == PRIM_MUL ? (float)(1.0 / (double)count) : (float)count);
    }
    return false;
}

/* The sum of axes over their length: MEAN, by a multiplier that the length is in. */
static bool take_mean(struct graph *graph, int *at, const struct op *map, const struct end *end)
{
    const struct op *sum = map->code == GRAPH_OP_MAP && map->input_count == 1 ? map->inputs[0]->op : NULL;
    const struct steps *steps;
    struct value *whole;
    struct nodes n = nodes_new(graph, 1);
    struct fixed fixed;
    int64_t count;
    int bits = 0, node;

    if (!sum || sum->code != GRAPH_OP_REDUCE || sum->reduce.kind != REDUCE_SUM || sum->head || sum->tail)
        return false;
    whole = value_whole(sum->inputs[0]);
    count = summed(sum);
    if (!whole || count < 1 || !divides_by(map, count))
        return false;
    steps = value_steps(sum->inputs[0]);
    fixed = fixed_of(steps->scale / end->rounds->steps->scale);
    while (bits < 31 + fixed.shift && (int64_t)2 << bits <= count)
        bits++;
    fixed.multiplier = (int32_t)(((int64_t)fixed.multiplier << bits) / count);
    fixed.shift -= bits;
    whole = make_reduce(site_by(graph, at, sum), whole, REDUCE_SUM, sum->reduce.axes, sum->reduce.keepdim);
    node = dag_cast(n.arena, n.dag,
                    node_with(n, PRIM_SUB, dag_load(n.arena, n.dag, 0, DTYPE_INT64), count * steps->zero),
                    DTYPE_INT32);
    n.dag->result = ended(n, times(n, node, fixed), end);
    put_end(graph, at, end, make_map(site_by(graph, at, end->rounds), map->label, n.dag, &whole, 1));
    return true;
}

/* Windows over the two axes of space, in two axes behind, of an image whose channels are its last axis: int8 convolutions want them
 * there. */
static struct value *windows_of(struct graph *graph, int *at, const struct op *pool, struct value *value)
{
    for (int i = 0; i < 2; i++)
        value = make_window(site_by(graph, at, pool), value, 1 + i, pool->window.kernel[i],
                            pool->window.stride[i],
                            pool->window.dilation[i] > 1 ? pool->window.dilation[i] : 1);
    return value;
}

static const bool window_axes[MAX_DIMS] = {[4] = true, [5] = true};
static const int channels_last[] = {0, 2, 3, 1}, channels_first[] = {0, 3, 1, 2};

/* Whole windows, each divided by as many numbers. */
static bool is_plain_average(const struct op *pool)
{
    if (pool->code != GRAPH_OP_POOL || pool->window.kind != POOL_AVG)
        return false;
    for (int i = 0; i < 2; i++)
        if (pool->window.padding[i] != 0 || pool->window.extra[i] != 0 || pool->window.dilation[i] > 1 ||
            window_is_clipped(pool, i, true))
            return false;
    return pool->window.divisor == 0 && !pool->window.channels_last && !pool->tail;
}

/* The mean of windows in the steps that they have: AVERAGE_POOL_2D. */
static bool take_average(struct graph *graph, int *at, const struct op *pool, const struct end *end)
{
    struct nodes n = nodes_new(graph, 1);
    const int64_t count = (int64_t)pool->window.kernel[0] * pool->window.kernel[1];
    struct value *whole;
    int sum, near;

    if (!is_plain_average(pool) || !value_whole(pool->inputs[0]) ||
        !steps_equal(value_steps(pool->inputs[0]), end->rounds->steps))
        return false;
    whole = value_whole(pool->inputs[0]);
    whole = windows_of(graph, at, pool, make_permute(site_by(graph, at, pool), whole, channels_last));
    whole = make_reduce(site_by(graph, at, pool), whole, REDUCE_SUM, window_axes, false);
    sum = dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 0, DTYPE_INT64), DTYPE_INT32);
    near = node_with(n, PRIM_FLOORDIV, node_with(n, PRIM_ADD, size_of(n, sum), count / 2), count);
    near = dag_prim(
        n.arena, n.dag, PRIM_SELECT, DTYPE_INT32,
        dag_prim(n.arena, n.dag, PRIM_GT, DTYPE_BOOL, sum, dag_integer(n.arena, n.dag, DTYPE_INT32, 0), -1),
        near, dag_prim(n.arena, n.dag, PRIM_NEG, DTYPE_INT32, near, -1, -1));
    n.dag->result = make_int8(n.arena, n.dag, near, bound(end->rounds->steps, end->least, INT8_MIN),
                              bound(end->rounds->steps, end->most, INT8_MAX));
    whole = make_map(site_by(graph, at, end->rounds), pool->label, n.dag, &whole, 1);
    put_end(graph, at, end, make_permute(site_by(graph, at, pool), whole, channels_first));
    return true;
}

/* Any function of one such value: a table of what each integer gives, by its bits as an unsigned one. */
static bool take_table(struct graph *graph, int *at, struct end *end)
{
    const struct op *maps[MOST_BETWEEN] = {end->rounds};
    const struct value *value = end->rounds->inputs[0];
    struct tensor *table = ARENA_NEW(&graph->cx->arena, struct tensor);
    struct nodes n = nodes_new(graph, 1);
    struct value *whole;
    int count = 1;

    for (end->view_count = 0; !value_whole(value); value = value->op->inputs[0]) {
        if (value->op->code == GRAPH_OP_VIEW && end->view_count < MOST_BETWEEN)
            end->views[end->view_count++] = value->op;
        else if (value->op->code == GRAPH_OP_MAP && value->op->input_count == 1 && count < MOST_BETWEEN)
            maps[count++] = value->op;
        else
            return false;
    }
    *table = (struct tensor){.dtype = DTYPE_INT8,
                             .ndim = 1,
                             .dims = {256},
                             .data = ARENA_ARRAY(&graph->cx->arena, 256, union scalar)};
    for (int i = 0; i < 256; i++) {
        union scalar element = {.i = i > INT8_MAX ? i - 256 : i};

        element = dag_eval(value->op->dag, &element, NULL);
        for (int k = count - 1; k >= 0; k--)
            element = dag_eval(maps[k]->dag, &element, NULL);
        table->data[i] = element;
    }
    whole = value_whole(value);
    n.dag->result = dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 0, DTYPE_INT8), DTYPE_UINT8);
    whole = make_map(site_by(graph, at, end->rounds), "index", n.dag, &whole, 1);
    whole = make_gather(site_by(graph, at, end->rounds), end->rounds->inputs[0]->op->label,
                        make_const(site_by(graph, at, end->rounds), table), 0, whole, false);
    put_end(graph, at, end, whole);
    return true;
}

/* What is rounded next to each other: each part in the steps of the whole. */
static bool take_joined(struct graph *graph, int *at, const struct op *concat, const struct end *end)
{
    struct value **parts;

    if (concat->code != GRAPH_OP_CONCAT)
        return false;
    for (int i = 0; i < concat->input_count; i++)
        if (!value_whole(concat->inputs[i]))
            return false;
    parts = ARENA_ARRAY(&graph->cx->arena, concat->input_count, struct value *);
    for (int i = 0; i < concat->input_count; i++) {
        const struct steps *steps = value_steps(concat->inputs[i]);
        struct nodes n = nodes_new(graph, 1);

        parts[i] = value_whole(concat->inputs[i]);
        n.dag->result = ended(
            n, scaled(n, make_from_zero(n.arena, n.dag, 0, steps), steps->scale / end->rounds->steps->scale),
            end);
        parts[i] = make_map(site_by(graph, at, concat), "requantize", n.dag, &parts[i], 1);
    }
    put_end(graph, at, end,
            make_concat(site_by(graph, at, concat), concat->label, parts, concat->input_count,
                        concat->concat.axis));
    return true;
}

static void take_end(struct graph *graph, const struct op *rounds)
{
    struct end end;
    struct product product;
    struct op *made = find_maker(rounds, &end);
    int at = graph_position(graph, rounds);

    if (!made)
        return;
    if (end.alone && find_product(graph, made, &product)) {
        round_product(graph, &at, &product, &end);
        return;
    }
    if (!take_rounded(graph, &at, made, &end) && !take_two(graph, &at, made, &end) &&
        !take_mean(graph, &at, made, &end) && !take_average(graph, &at, made, &end) &&
        !take_joined(graph, &at, made, &end))
        take_table(graph, &at, &end);
}

/* ---- what only moves or picks ---------------------------------------------------------------------------------- */

/* Bounds that are numbers of these steps: as integers; false: others. */
static bool exact_bounds(const struct steps *steps, double least, double most, int *low, int *high)
{
    const double from = (INT8_MIN - steps->zero) * steps->scale, to = (INT8_MAX - steps->zero) * steps->scale;

    *low = least > from ? steps->zero : INT8_MIN;
    *high = most < to ? steps->zero : INT8_MAX;
    return (least <= from || least == 0.0) && (most >= to || most == 0.0);
}

/* The int8 number everywhere. */
static struct value *filled(struct graph *graph, int *at, const struct op *op, int number, int ndim,
                            const struct dim *const *dims)
{
    struct tensor *fill = ARENA_NEW(&graph->cx->arena, struct tensor);

    fill->dtype = DTYPE_INT8;
    fill->data = ARENA_NEW(&graph->cx->arena, union scalar);
    fill->data[0].i = number;
    return make_expand(site_by(graph, at, op), make_const(site_by(graph, at, op), fill), ndim, dims);
}

/* So many of the least number before and behind the axis. */
static struct value *padded(struct graph *graph, int *at, const struct op *op, struct value *value, int axis,
                            int before, int after)
{
    const int extents[] = {before, 0, after};
    const struct dim *dims[MAX_DIMS];
    struct value *parts[3];
    int count = 0;

    if (before == 0 && after == 0)
        return value;
    memcpy(dims, value->dims, sizeof dims);
    for (int i = 0; i < 3; i++) {
        dims[axis] = dim_const(&graph->cx->arena, extents[i]);
        if (i == 1)
            parts[count++] = value;
        else if (extents[i] > 0)
            parts[count++] = filled(graph, at, op, INT8_MIN, value->ndim, dims);
    }
    return make_concat(site_by(graph, at, op), "pad", parts, count, axis);
}

/* The largest of windows; NULL: of some that reach over the border, so that there are no bounds of what pads. */
static struct value *largest_of(struct graph *graph, int *at, const struct op *pool)
{
    struct value *value = value_whole(pool->inputs[0]);

    if (pool->window.channels_last || pool->window.ceil_mode)
        return NULL;
    value = make_permute(site_by(graph, at, pool), value, channels_last);
    for (int i = 0; i < 2; i++) {
        const int before = pool->window.padding[i], after = before + pool->window.extra[i];

        if (after < 0)
            return NULL;
        value = padded(graph, at, pool, value, 1 + i, before, after);
    }
    value = windows_of(graph, at, pool, value);
    value = make_reduce(site_by(graph, at, pool), value, REDUCE_MAX, window_axes, false);
    return make_permute(site_by(graph, at, pool), value, channels_first);
}

/* The op over int8, standing nowhere yet, where it is one; NULL: it is not. */
static struct op *over_whole(struct graph *graph, const struct op *op)
{
    const struct steps *steps;
    struct op *copy;
    double least, most;
    int low, high;

    if (op->input_count == 0 || !value_whole(op->inputs[0]) || op->tail || op->head)
        return NULL;
    steps = value_steps(op->inputs[0]);
    if (op_bounds(op, &least, &most)) {
        struct nodes n = nodes_new(graph, 1);

        if (!exact_bounds(steps, least, most, &low, &high))
            return NULL;
        copy = make_like(graph, op);
        n.dag->result = make_int8(
            n.arena, n.dag, dag_cast(n.arena, n.dag, dag_load(n.arena, n.dag, 0, DTYPE_INT8), DTYPE_INT32),
            low, high);
        copy->dag = n.dag;
        copy->inputs[0] = value_whole(op->inputs[0]);
        return copy;
    } else if (op->code != GRAPH_OP_VIEW) {
        return NULL;
    }
    copy = make_like(graph, op);
    copy->inputs[0] = value_whole(op->inputs[0]);
    return copy;
}

/* Of the same steps, and zeros between, as those of a padding; NULL: they are not all so, or none is. */
static struct value *joined(struct graph *graph, int *at, const struct op *concat)
{
    struct value **parts = ARENA_ARRAY(&graph->cx->arena, concat->input_count, struct value *);
    const struct steps *steps = NULL;

    for (int i = 0; i < concat->input_count; i++) {
        struct value *part = concat->inputs[i];

        parts[i] = value_whole(part);
        if (!parts[i] && !value_is_filled(part, 0.0))
            return NULL;
        if (parts[i] && steps && !steps_equal(steps, value_steps(part)))
            return NULL;
        steps = parts[i] ? value_steps(part) : steps;
    }
    if (!steps)
        return NULL;
    for (int i = 0; i < concat->input_count; i++)
        if (!parts[i])
            parts[i] = filled(graph, at, concat, steps->zero, concat->inputs[i]->ndim,
                              concat->inputs[i]->dims);
    return make_dequantized(site_by(graph, at, concat),
                            make_concat(site_by(graph, at, concat), concat->label, parts, concat->input_count,
                                        concat->concat.axis),
                            steps);
}

/* Whether it is what bounds a value before that is rounded: that is the end's. */
static bool is_of_end(const struct op *op)
{
    const struct op *reader = op->code == GRAPH_OP_MAP ? pass_only_reader(op->outputs[0]) : NULL;

    return reader && reader->steps && reader->outputs[0]->dtype == DTYPE_INT8;
}

/* What it gives is made of int8, behind the op. */
static void move_over(struct graph *graph, const struct op *op)
{
    struct value *out = op->outputs[0], *whole = NULL;
    int at = graph_position(graph, op);
    struct op *copy;

    if (op->code == GRAPH_OP_CONCAT) {
        whole = joined(graph, &at, op);
        if (whole)
            graph_replace(graph, out, whole);
        return;
    }
    if (op->code == GRAPH_OP_POOL && op->window.kind == POOL_MAX && !op->tail && value_whole(op->inputs[0]))
        whole = largest_of(graph, &at, op);
    else if (!is_of_end(op) && (copy = over_whole(graph, op)) != NULL)
        whole = op->code == GRAPH_OP_VIEW ? make_view(site_by(graph, &at, op), copy, out->ndim, out->dims)
                                          : make_result(site_by(graph, &at, op), copy);
    if (!whole)
        return;
    graph_replace(graph, out, make_dequantized(site_by(graph, &at, op), whole, value_steps(op->inputs[0])));
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

static void to_integers(struct graph *graph)
{
    struct product product;

    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = graph->ops[i];

        if (op->output_count != 1)
            continue;
        if (op->steps && op->outputs[0]->dtype == DTYPE_INT8)
            take_end(graph, op);
        else if (!op->steps)
            move_over(graph, op);
        i = graph_position(graph, op);
    }
    graph_sweep_unused(graph);
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        int at = i;

        if (op->output_count == 1 && find_product(graph, op, &product))
            leave_product(graph, &at, &product);
        i = graph_position(graph, op);
    }
    graph_sweep_unused(graph);
}

/* What hooks look at, or a GPU computes. */
static void to_rounded_weights(struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];
        struct product product;
        int at = i;

        if (op->output_count == 1 && find_rounded(graph, op, &product))
            round_weight(graph, &at, &product);
        i = graph_position(graph, op);
    }
}

void pass_integer(struct graph *graph)
{
    if (!graph->program->tree->calibrated)
        return;
    if (graph->fenced || graph->program->settings.backend != &backends[DEVICE_CPU])
        to_rounded_weights(graph);
    else
        to_integers(graph);
    for (int i = 0; i < graph->op_count; i++)
        graph->ops[i]->steps = NULL;
}
