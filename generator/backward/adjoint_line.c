/* adjoint_line.c - gradients of what runs along lines: norms, softmax, scans, alignments. */
#include "backward/adjoint_rows.h"
#include "functions/rows.h"

/* Mean and deviation are made again of x. Half types are computed in float32. */
static void give_norm(const struct adjoint *a, struct op *op, struct value *g)
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
        "var, mean, off, gap = _moments(x, axes, 0)\n"
        "each = x.sum(axes, keepdim=True).shape\n"
        "scale = torch.rsqrt(var + eps).reshape(each)\n"
        "normal = (gap - off.reshape(each)) * scale\n"
        "scaled = g * weight\n"
        "rest = scaled - scaled.mean(axes, keepdim=True) - normal * (scaled * normal).mean(axes, keepdim=True)\n"
        "return (scale * rest).to(input.dtype), g * normal");
    if (a->wants(a, x))
        a->give(a, x, out.items[0].tensor);
    if (weight && a->wants(a, weight))
        a->give(a, weight,
                build_cast(eval, op->loc, adjoint_sum_to(a, weight, out.items[1].tensor), weight->dtype));
    if (bias && a->wants(a, bias))
        a->give(a, bias, adjoint_sum_to(a, bias, g));
}

const struct adjoint_row norm_adjoint = {.one = give_norm};

static void give_softmax(const struct adjoint *a, struct op *op, struct value *g)
{
    static const char *const plain = "return y * (g - (g * y).sum(axis, keepdim=True))";
    static const char *const logarithm = "return g - torch.exp(y) * g.sum(axis, keepdim=True)";

    a->give(a, op->inputs[0],
            adjoint_run(a, op, op->softmax.log ? logarithm : plain,
                        (struct adjoint_name[]){{"y", op->outputs[0], NULL},
                                                {"g", g, NULL},
                                                {"axis", NULL, adjoint_number(a, op->softmax.axis)},
                                                {NULL, NULL, NULL}}));
}

const struct adjoint_row softmax_adjoint = {.one = give_softmax};

/* x with each element where its neighbour stands that a scan comes to later, or with `back` earlier; 0 comes in at that end. */
static struct value *moved(const struct adjoint *a, const struct op *op, struct value *x, bool back)
{
    struct ev none = {.kind = EV_NONE, .loc = op->loc};
    int64_t before = op->scan.reverse == back ? 1 : -1;

    return pad_axis(a->eval, op->loc, PAD_CONSTANT, x, op->scan.axis, adjoint_number(a, before),
                    adjoint_number(a, -before), pad_fill(a->eval, op->loc, &none, x->dtype));
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
static void give_scan(const struct adjoint *a, struct op *op, struct value *g)
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
    if (op->scan.kind ==
        SCAN_LARGEST) { /* to where it stands, in input 1; what it begins with stands there too */
        a->give(a, op->inputs[1],
                adjoint_run(a, op, "return torch.zeros_like(x).scatter_add(axis, _largest_at(x, y, axis), g)",
                            (struct adjoint_name[]){{"x", op->inputs[1], NULL},
                                                    {"y", op->outputs[0], NULL},
                                                    {"g", g, NULL},
                                                    {"axis", NULL, adjoint_number(a, op->scan.axis)},
                                                    {NULL, NULL, NULL}}));
        return;
    }
    if (op->scan.kind == SCAN_SUM) {
        a->give(a, op->inputs[0],
                build_scan(a->eval, op->loc, g, op->scan.axis, SCAN_SUM, !op->scan.reverse));
        return;
    }
    a->give(a, op->inputs[0],
            adjoint_run(a, op, products,
                        (struct adjoint_name[]){{"x", op->inputs[0], NULL},
                                                {"y", op->outputs[0], NULL},
                                                {"g", g, NULL},
                                                {"axis", NULL, adjoint_number(a, op->scan.axis)},
                                                {NULL, NULL, NULL}}));
}

const struct adjoint_row scan_adjoint = {.one = give_scan};

/* The transform is linear and, but for the sign, its own transpose. Of half a spectrum the middle stands for two. */
static void give_fft(const struct adjoint *a, struct op *op, struct value *g)
{
    static const enum fft_kind kinds[] = {
        [FFT_COMPLEX] = FFT_COMPLEX, [FFT_FROM_REAL] = FFT_TO_REAL, [FFT_TO_REAL] = FFT_FROM_REAL};
    struct eval *eval = a->eval;
    bool from_real = op->fft.kind == FFT_FROM_REAL, to_real = op->fft.kind == FFT_TO_REAL;

    if (from_real)
        g = build_half_spectrum(eval, op->loc, g, op->fft.axis, op->fft.length, 0.5);
    g = build_fft(eval, op->loc, "dfft", kinds[op->fft.kind], g, op->fft.axis, op->fft.length,
                  !op->fft.inverse, op->inputs[3]);
    if (to_real)
        g = build_half_spectrum(eval, op->loc, g, op->fft.axis, op->fft.length, 2);
    a->give(a, op->inputs[0], g);
}

const struct adjoint_row fft_adjoint = {.one = give_fft};

/* Numbers of boxes have none. */
static void give_nms(const struct adjoint *a, struct op *op, struct value *g)
{
    (void)a;
    (void)op;
    (void)g;
}

const struct adjoint_row nms_adjoint = {.one = give_nms};

/* Nobody comes here: functions/generation.c refuses it where gradients are made. */
const struct adjoint_row cached_attention_adjoint = {.one = give_nms};
const struct adjoint_row cached_scan_adjoint = {.one = give_nms};
const struct adjoint_row recent_adjoint = {.one = give_nms};
const struct adjoint_row lookup_adjoint = {.one = give_nms}; /* a pass makes it, behind backward */

static void give_ctc(const struct adjoint *a, struct op *op, struct value *g)
{
    struct op *slope = op_new(a->eval, GRAPH_OP_CTC, "dctc", op->inputs, op->input_count);

    slope->ctc = op->ctc;
    slope->ctc.gradient = true;
    /* what zero_infinity leaves out may have no slope */
    a->give(a, op->inputs[0],
            adjoint_run(a, op, "return torch.where(g[:, None] == 0, 0, d * g[:, None])",
                        (struct adjoint_name[]){{"d", build_op(a->eval, op->loc, slope), NULL},
                                                {"g", g, NULL},
                                                {NULL, NULL, NULL}}));
}

const struct adjoint_row ctc_adjoint = {.one = give_ctc};
