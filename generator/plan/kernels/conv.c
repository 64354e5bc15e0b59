/* conv.c - kernels of convolutions and of pools. */
#include "plan/kernels/draft.h"

#include "passes/toolkit.h"

/* ---- windows ------------------------------------------------------------------------------------------------- */

static const char *window_stem(struct cx *cx, const struct op *op, const char *base)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    struct text text = text_new(&cx->arena);

    text_add(&text, base);
    name_dims(cx, &text, 3, x->dims + 1);
    text_add(&text, "_to");
    name_dims(cx, &text, 3, y->dims + 1);
    text_printf(&text, "_k%d", op->window.kernel[0]);
    if (op->window.kernel[1] != op->window.kernel[0])
        text_printf(&text, "x%d", op->window.kernel[1]);
    text_add(&text, tail_name(op, base));
    return text.data;
}

static const char *conv_stem(struct cx *cx, const struct op *op)
{
    return window_stem(cx, op, "conv2d");
}

static const char *pool_stem(struct cx *cx, const struct op *op)
{
    return window_stem(cx, op, op->window.kind == POOL_MAX ? "max_pool2d" : "avg_pool2d");
}

/* `joined`: so many lines are one, of x and of y. */
static void holes_image(struct draft *draft, int joined)
{
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    struct arena *arena = &draft->cx->arena;
    const struct dim *count = dim_const(arena, joined);

    hole_extent(draft, "T_n", y->dims[0]);
    hole_extent(draft, "T_h", dim_floordiv(arena, x->dims[1], count));
    hole_extent(draft, "T_w", dim_mul(arena, x->dims[2], count));
    hole_extent(draft, "T_oh", dim_floordiv(arena, y->dims[1], count));
    hole_dim(draft, "T_ow", dim_mul(arena, y->dims[2], count));
    hole_shape(draft, "T_kh", op->window.kernel[0]);
    hole_shape(draft, "T_kw", op->window.kernel[1]);
    hole_shape(draft, "T_sh", op->window.stride[0]);
    hole_shape(draft, "T_sw", op->window.stride[1]);
    hole_shape(draft, "T_ph", op->window.padding[0]);
    hole_shape(draft, "T_pw", op->window.padding[1]);
    hole_shape(draft, "T_dh", op->window.dilation[0]);
    hole_shape(draft, "T_dw", op->window.dilation[1]);
}

/* ---- convolutions -------------------------------------------------------------------------------------------- */

/* What converts one line of the input, (w, c), with the convolution's head: a loop nest of its own. */
static void take_head(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0];
    const struct dim *zero = dim_const(&cx->arena, 0);
    struct nest nest = {.ndim = 2, .operand_count = 1 + op->head->input_count};
    struct text stem = text_new(&cx->arena);
    struct passed *passed = NULL;
    int count = 0, first = draft->kernel->parameter_count;
    struct kernel *line;
    const struct kernel *kept;

    nest.operands = ARENA_ARRAY(&cx->arena, nest.operand_count, struct nest_operand);
    for (int i = 0; i < 2; i++) {
        nest.dims[i] = x->dims[2 + i];
        nest.operands[1].strides[i] = x->strides[2 + i];
    }
    nest.operands[0] = (struct nest_operand){draft->kernel->computed, {x->dims[3], dim_const(&cx->arena, 1)}};
    nest.operands[1].dtype = x->dtype;
    for (int i = conv_head_first(op); i < op->tail_first; i++) {
        const struct value *operand = op->inputs[i];
        bool varies = operand->ndim > 0 && !dim_equals(operand->dims[operand->ndim - 1], 1);
        const char *name = arena_format(&cx->arena, "h%d", draft->head_count);

        nest.operands[2 + draft->head_count++] = (struct nest_operand){
            operand->dtype, {zero, varies ? operand->strides[operand->ndim - 1] : zero}};
        add_parameter(draft, element_of(draft, operand->dtype), false, name);
        draft->kernel->parameters[draft->kernel->parameter_count - 1].restricted = false;
        ARENA_PUSH(&cx->arena, passed, count, (struct passed){.name = name});
    }
    line = new_nest(cx, draft->plan, NEST_MAP, nest);
    line->role = "convert";
    line->dag = op->head;
    line->comment = arena_format(&cx->arena, "a line of an image, y %s = %s",
                                 shape_text(&cx->arena, 2, x->dims + 2), dag_text(cx, op->head));
    text_add(&stem, "line");
    name_dims(cx, &stem, 2, x->dims + 2);
    kept = keep_nest(cx, draft->plan, line, stem.data);
    pass_sizes(draft, &passed, &count, kept->used, NULL);
    hole_kernel(draft, "T_CONVERT", kept);
    hole_parameters(draft, "T_HEAD_ARGS", first);
    hole_passed(draft, "T_HEAD_PASS", passed, count);
    hole_dim(draft, "T_xn", x->strides[0]);
    hole_dim(draft, "T_xh", x->strides[1]);
    draft->kernel->comment = arena_format(&cx->arena, "%s;\n * x is converted line by line: %s",
                                          draft->kernel->comment, dag_text(cx, op->head));
}

/* Does a line of windows reach over the ends of a line of x, or may it? */
static bool is_clipped(const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    int64_t in = 0, out = 0, last;

    if (!dim_is_const(x->dims[2], &in) || !dim_is_const(y->dims[2], &out))
        return true;
    last = (out - 1) * op->window.stride[1] - op->window.padding[1]; /* pixel of x */
    return op->window.padding[1] > 0 ||
           last + (int64_t)(op->window.kernel[1] - 1) * op->window.dilation[1] >= in;
}

/* Do the taps of a line of a window lie apart in what is read? */
static bool is_loose(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0];
    const struct dim *pixel = op->head ? x->dims[3] : row_stride(cx, x);

    return op->window.kernel[1] > 1 &&
           (op->window.dilation[1] > 1 || op->window.groups > 1 || !dim_equal(pixel, x->dims[3]));
}

/* Where y lies: in pixels T_ldy apart, or in planes, of which a band is made in v. */
static void holes_result(struct draft *draft)
{
    const struct op *op = draft->op;
    const struct value *y = op->outputs[0];
    bool turned = conv_is_turned(op);
    const struct element made = element_of(draft, draft->kernel->computed);

    name_pointer(draft, "lines", op->head ? made : draft->input);
    name_pointer(draft, "out", turned ? made : draft->result);
    hole_int(draft, "T_head", op->head != NULL);
    hole_int(draft, "T_turned", turned);
    if (!turned) {
        hole_dim(draft, "T_ldy", row_stride(draft->cx, y));
    } else {
        hole_dim(draft, "T_yn", y->strides[0]);
        hole_dim(draft, "T_yc", y->strides[3]);
        hole_dim(draft, "T_yh", y->strides[1]);
        hole_shape(draft, "T_ldv", conv_band(op));
    }
    if (op->head) {
        hole_shape(draft, "T_ring", conv_lines(op));
        hole_shape(draft, "T_behind", conv_band_offset(op));
    } else {
        hole_int(draft, "T_ring", 0);
        hole_int(draft, "T_behind", 0);
    }
}

/* Of a weight that lies as it is. */
static void holes_plain(struct draft *draft)
{
    static const char *const strides[] = {"T_wo", "T_wh", "T_ww", "T_wc"};
    const struct value *weight = draft->op->inputs[1];

    for (int i = 0; i < 4; i++)
        hole_dim(draft, strides[i], weight->strides[i]);
    hole_int(draft, "T_across", dim_equals(weight->strides[0], 1));
}

static void holes_winograd(struct draft *draft, enum packed_format weights)
{
    static const struct part_parameter parameters[] = {
        {"m", PARAMETER_VALUES, true, "v"},       {"v", PARAMETER_VALUES, true, NULL},
        {"x", PARAMETER_VALUES, false, NULL},     {"w", PARAMETER_VALUES, false, NULL},
        {"first", PARAMETER_COUNT, false, NULL},  {"count", PARAMETER_COUNT, false, NULL},
        {"columns", PARAMETER_COUNT, false, NULL}};
    static const struct part_row part = {parameters, COUNT(parameters)};
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const struct winograd plan = winograd_of(op, weights);
    struct arena *arena = &draft->cx->arena;

    hole_int(draft, "T_side", plan.side);
    hole_int(draft, "T_out", plan.outputs);
    hole_int(draft, "T_planes", plan.planes);
    hole_shape(draft, "T_block", plan.block);
    hole_shape(draft, "T_chunk", plan.chunk);
    hole_some(draft, "T_some_stream", plan.stream);
    hole_some(draft, "T_some_rest", dim_upper(y->dims[3]) % plan.chunk > 0);
    hole_int(draft, "T_stream_kb", draft->plan->backend->cost.cache_bytes / 1024);
    hole_int(draft, "T_fixed_tiles",
             dim_is_const(y->dims[0], NULL) && dim_is_const(y->dims[1], NULL) &&
                 dim_is_const(y->dims[2], NULL));
    draft->part = &part;
    draft->part_comment = arena_format(
        arena, "products of %lld tiles of x %s, for %lld channels of y %s at a time", (long long)plan.block,
        shape_text(arena, 4, x->dims), (long long)plan.chunk, shape_text(arena, 4, y->dims));
}

/* Room for the lines of a window, which is the same for all that are not very tall. */
static void hole_most_lines(struct draft *draft)
{
    int most = 8;

    while (most < draft->op->window.kernel[0])
        most *= 2;
    hole_some(draft, "T_most_kh", most);
}

static void holes_line(struct draft *draft, int joined)
{
    static const struct part_parameter parameters[] = {
        {"y", PARAMETER_VALUES, true, "out"},    {"ldy", PARAMETER_COUNT, false, NULL},
        {"lines", PARAMETER_LINES, false, NULL}, {"w", PARAMETER_VALUES, false, NULL},
        {"bias", PARAMETER_VALUES, false, NULL}, {"columns", PARAMETER_COUNT, false, NULL}};
    static const struct part_row part = {parameters, COUNT(parameters)};
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    struct arena *arena = &draft->cx->arena;
    const struct dim *count = dim_const(arena, joined);
    bool apart = conv_is_apart(op);

    hole_int(draft, "T_apart", apart);
    hole_int(draft, "T_after", apart && (op->tail || draft->kernel->function));
    hole_most_lines(draft);
    hole_some(draft, "T_some_clipped", is_clipped(op));
    hole_some(draft, "T_some_loose", is_loose(draft->cx, op));
    draft->part = &part;
    draft->part_comment = arena_format(
        arena, "a line of y (%s, %s) = windows of %d x %d of lines of x (%s, %s), times the weight",
        dim_text(arena, dim_mul(arena, y->dims[2], count)), dim_text(arena, y->dims[3]), op->window.kernel[0],
        op->window.kernel[1], dim_text(arena, dim_mul(arena, x->dims[2], count)),
        dim_text(arena, x->dims[3]));
}

/* ---- on a GPU ------------------------------------------------------------------------------------------------- */

/* Where the weight (o, kh, kw, c) lies: packed as columns, or as it is. */
static void holes_weight(struct draft *draft)
{
    static const char *const strides[] = {"T_wo", "T_wh", "T_ww", "T_wc"};
    struct arena *arena = &draft->cx->arena;
    const struct op *op = draft->op;
    const struct value *weight = op->inputs[1];
    const struct dim *at[4], *dense = weight->dims[0];
    bool even = true;

    if (draft->step->algorithm->weight == PACKED_COLUMNS) {
        at[0] = dim_const(arena, 1);
        for (int i = 3; i > 0; dense = dim_mul(arena, dense, weight->dims[i--]))
            at[i] = dense;
    } else {
        for (int i = 0; i < 4; i++)
            at[i] = weight->strides[i];
    }
    for (int i = 0; i < 4; i++)
        hole_dim(draft, strides[i], at[i]);
    for (int i = 3; i > 1; i--)
        even &= dim_equal(at[i - 1], dim_mul(arena, at[i], weight->dims[i]));
    hole_int(draft, "T_even", even);
    hole_int(draft, "T_across", dim_equals(at[0], 1));
}

static void holes_tile(struct draft *draft)
{
    const struct op *op = draft->op;
    const struct conv_tile tile = conv_tile_of(op);

    hole_int(draft, "T_tm", tile.rows);
    hole_int(draft, "T_tn", tile.columns);
    hole_int(draft, "T_threads", tile.threads);
    hole_int(draft, "T_xs", tile.x_values);
    hole_int(draft, "T_ws", tile.w_values);
    hole_int(draft, "T_bands", tile.bands);
    hole_int(draft, "T_banded", tile.bands > 1);
    hole_int(draft, "T_pieces", tile.pieces);
    hole_int(draft, "T_pieced", tile.pieces > 1);
    hole_int(draft, "T_grouped", op->window.groups > 1);
    hole_int(draft, "T_reach", (int64_t)op->window.kernel[0] * op->window.dilation[0]);
}

static void holes_device(struct draft *draft)
{
    hole_dim(draft, "T_channels", draft->op->outputs[0]->dims[3]);
    holes_weight(draft);
    holes_tile(draft);
}

/* ---- of a convolution's kernel ---------------------------------------------------------------------------------- */

static void holes_conv(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    const struct dim *groups = dim_const(&cx->arena, op->window.groups);
    enum packed_format weights = draft->step->algorithm->weight;
    bool device = draft->plan->backend->apart, by_channel = weights == PACKED_COLUMNS && !device;
    int joined = weights == PACKED_PANELS ? conv_joined_lines(op) : 1;

    draft->apart = winograd_side(weights) > 0 || (conv_is_apart(op) && !conv_is_int8(op));
    add_weighted(draft);
    add_scratch(draft, "v");
    hole_shape(draft, "T_zero", op->window.zero);
    holes_image(draft, joined);
    hole_int(draft, "T_fixed_ow", dim_is_const(y->dims[2], NULL) && dim_is_const(x->dims[2], NULL));
    hole_extent(draft, "T_c", by_channel ? x->dims[3] : dim_floordiv(&cx->arena, x->dims[3], groups));
    hole_dim(draft, "T_ldx", op->head ? x->dims[3] : row_stride(cx, x));
    hole_extent(draft, "T_oc", dim_floordiv(&cx->arena, y->dims[3], groups));
    holes_result(draft);
    if (device)
        holes_device(draft);
    else if (weights == PACKED_NONE)
        holes_plain(draft);
    else if (winograd_side(weights) > 0)
        holes_winograd(draft, weights);
    else if (!conv_is_int8(op)) /* whose weight lies as rows or columns do */
        holes_line(draft, joined);
    hole_shape(draft, "T_groups", op->window.groups);
    hole_shape(draft, "T_bias", op->window.bias);
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s = conv2d(x %s%s, weight (%s, %d, %d, %s))%s, channels last%s%s",
        shape_text(&cx->arena, 4, y->dims), shape_text(&cx->arena, 4, x->dims),
        op->window.zero ? arena_format(&cx->arena, " - %d", op->window.zero) : "",
        dim_text(&cx->arena, y->dims[3]), op->window.kernel[0], op->window.kernel[1],
        dim_text(&cx->arena, dim_floordiv(&cx->arena, x->dims[3], groups)), op->window.bias ? " + bias" : "",
        conv_is_turned(op) ? "; those of y are planes in memory" : "",
        joined > 1 ? arena_format(&cx->arena, "; %d lines are one", joined) : "");
    if (op->head)
        take_head(draft);
    else
        hole_parameters(draft, "T_HEAD_ARGS", draft->kernel->parameter_count);
}

static bool conv_writes(struct arena *arena, const struct step *step, const struct value *y)
{
    return value_is_rows(arena, y) || (step->algorithm->turns && step->algorithm->turns(step->op, y));
}

const struct kernel_row conv_kernels = {.writes = conv_writes,
                                        .stem = conv_stem,
                                        .make = make_template,
                                        .holes = holes_conv,
                                        .operands = weighted_operands};

/* ---- pools --------------------------------------------------------------------------------------------------- */

static void hole_constant(struct draft *draft, const char *name, int64_t value)
{
    hole_dim(draft, name, dim_const(&draft->cx->arena, value));
}

/* Images and windows: arguments of the core. */
static void holes_windows(struct draft *draft, int channels)
{
    static const char *const sides[][5] = {{"T_kh", "T_sh", "T_ph", "T_dh"},
                                           {"T_kw", "T_sw", "T_pw", "T_dw"}};
    static const char *const xs[] = {"T_h", "T_w"}, *const ys[] = {"T_oh", "T_ow"};
    const struct op *op = draft->op;
    int lines = op->window.channels_last ? 1 : 2;
    bool dilated = op->window.dilation[0] > 1 || op->window.dilation[1] > 1;

    hole_dim(draft, "T_n", op->outputs[0]->dims[0]);
    hole_dim(draft, "T_c", op->inputs[0]->dims[channels]);
    for (int i = 0; i < 2; i++) {
        hole_dim(draft, xs[i], op->inputs[0]->dims[lines + i]);
        hole_dim(draft, ys[i], op->outputs[0]->dims[lines + i]);
        hole_constant(draft, sides[i][0], op->window.kernel[i]);
        hole_constant(draft, sides[i][1], op->window.stride[i]);
        hole_constant(draft, sides[i][2], op->window.padding[i]);
        if (dilated)
            hole_constant(draft, sides[i][3], op->window.dilation[i]);
    }
    hole_int(draft, "T_dilated", dilated);
}

/* Of planes: how lines of windows lie in the scratch, and which vectors are not full. */
static void holes_planes(struct draft *draft)
{
    enum { FEW = 8 }; /* taps that are joined in one piece */
    const struct op *op = draft->op;
    struct pool_plan plan = pool_plan_of(op);
    const struct dim *wide = plan.compact ? dim_const(&draft->cx->arena, plan.wide) : op->inputs[0]->dims[3];

    hole_int(draft, "T_compact", plan.compact);
    hole_constant(draft, "T_lines", plan.lines);
    hole_constant(draft, "T_room", plan.room);
    hole_dim(draft, "T_wide", wide);
    hole_int(draft, "T_few", op->window.kernel[0] <= FEW && op->window.kernel[1] <= FEW);
    hole_int(draft, "T_step", op->window.stride[1] <= 2 ? op->window.stride[1] : 3);
    hole_most_lines(draft);
    hole_int(draft, "T_rest", !is_whole(draft, wide));
    hole_int(draft, "T_part", plan.compact || !is_whole(draft, op->outputs[0]->dims[3]));
}

static void holes_pool(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    bool is_max = op->window.kind == POOL_MAX, uneven = pool_is_uneven(op);

    add_input(draft);
    add_scratch(draft, "v");
    holes_windows(draft, op->window.channels_last ? 3 : 1);
    hole_int(draft, "T_is_max", is_max);
    hole_int(draft, "T_clipped_h", window_is_clipped(op, 0, false));
    hole_int(draft, "T_clipped_w", window_is_clipped(op, 1, false));
    hole_int(draft, "T_uneven", uneven);
    hole_int(draft, "T_count_include_pad", uneven && op->window.count_include_pad);
    if (!is_max && !uneven)
        hole_constant(draft, "T_area",
                      op->window.divisor ? op->window.divisor : op->window.kernel[0] * op->window.kernel[1]);
    hole_int(draft, "T_planes", !op->window.channels_last);
    if (op->window.channels_last) {
        hole_int(draft, "T_rest", !is_whole(draft, x->dims[3]));
        hole_dim(draft, "T_ldx", row_stride(cx, x));
        hole_dim(draft, "T_ldy", row_stride(cx, y));
    } else if (!draft->plan->backend->apart) {
        holes_planes(draft);
    }
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s = %s of windows of %d x %d of x %s%s", shape_text(&cx->arena, 4, y->dims),
        is_max ? "maximum" : "mean", op->window.kernel[0], op->window.kernel[1],
        shape_text(&cx->arena, 4, x->dims), op->window.channels_last ? ", channels last" : "");
}

static bool pool_writes(struct arena *arena, const struct step *step, const struct value *y)
{
    return step->op->window.channels_last ? value_is_rows(arena, y) : value_is_dense(arena, y);
}

const struct kernel_row pool_kernels = {.writes = pool_writes,
                                        .stem = pool_stem,
                                        .make = make_template,
                                        .holes = holes_pool,
                                        .operands = input_operand};
