/* contract.c - kernels of products. */
#include "plan/kernels/draft.h"

#include <string.h>

#include "passes/toolkit.h"
#include "plan/cuda_rows.h"

static const char *base_name(const struct op *op)
{
    return strncmp(op->label, "linear", 6) == 0 ? "linear" : "matmul";
}

static const char *contract_stem(struct cx *cx, const struct op *op)
{
    const struct value *x = op->inputs[0], *y = op->outputs[0];
    struct text text = text_new(&cx->arena);

    text_add(&text, base_name(op));
    name_dims(cx, &text, x->ndim, x->dims);
    text_add(&text, "_to_");
    name_dim(cx, &text, y->dims[y->ndim - 1]);
    text_add(&text, tail_name(op, base_name(op)));
    return text.data;
}

/* Of the two batch axes that stand before the rows, of which some are rows, too. */
static void holes_batches(struct draft *draft, int merged)
{
    static const char *const batches[2] = {"T_batch0", "T_batch1"}, *const ys[2] = {"T_y0", "T_y1"};
    static const char *const xs[2] = {"T_x0", "T_x1"}, *const ws[2] = {"T_w0", "T_w1"};
    struct cx *cx = draft->cx;
    const struct value *y = draft->op->outputs[0];
    const struct dim *zero = dim_const(&cx->arena, 0), *one = dim_const(&cx->arena, 1);

    for (int b = 0; b < 2; b++) {
        int axis = y->ndim - 4 + b - merged;

        hole_dim(draft, batches[b], axis >= 0 ? y->dims[axis] : one);
        hole_dim(draft, ys[b], axis >= 0 ? y->strides[axis] : zero);
        hole_dim(draft, xs[b], batch_stride(cx, draft->op->inputs[0], b - merged));
        hole_dim(draft, ws[b], batch_stride(cx, draft->op->inputs[1], b - merged));
    }
}

/* y = x . w, or in vectors along the rows of y its transpose: columns = columns of w . x. What is packed first is in v. */
static void holes_strided(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *w = op->inputs[1], *y = op->outputs[0];
    const struct product plan = product_of(op, draft->step->algorithm->packs);
    const bool turned = plan.form == PRODUCT_ROWS;
    const struct element packed = element_of(draft, draft->kernel->computed);
    const struct dim *m = dims_product(cx, y, y->ndim - 2 - plan.merged, y->ndim - 1),
                     *n = y->dims[y->ndim - 1];

    holes_batches(draft, plan.merged);
    hole_extent(draft, "T_m", turned ? n : m);
    hole_extent(draft, "T_n", turned ? m : n);
    hole_extent(draft, "T_k", x->dims[x->ndim - 1]);
    hole_dim(draft, "T_ym", y->strides[y->ndim - 2]);
    hole_dim(draft, "T_xm", turned ? w->strides[w->ndim - 1] : x->strides[x->ndim - 2]);
    hole_dim(draft, "T_xk", turned ? w->strides[w->ndim - 2] : x->strides[x->ndim - 1]);
    hole_dim(draft, "T_wk", turned ? x->strides[x->ndim - 1] : w->strides[w->ndim - 2]);
    hole_dim(draft, "T_wn", turned ? x->strides[x->ndim - 2] : w->strides[w->ndim - 1]);
    hole_int(draft, "T_form", plan.form);
    hole_int(draft, "T_packs_x", plan.packs_x);
    hole_int(draft, "T_packs_w", plan.packs_w);
    hole_int(draft, "T_packs", plan.packs_x || plan.packs_w);
    hole_int(draft, "T_turns", turned);
    hole_int(draft, "T_copies", y->dtype == DTYPE_FLOAT32);
    name_pointer(draft, "p", plan.packs_x ? packed : draft->input);
    name_pointer(draft, "q", plan.packs_w ? packed : draft->weights);
    if (plan.packs_w && plan.form == PRODUCT_COLUMNS) {
        hole_shape(draft, "T_block", plan.block);
        hole_shape(draft, "T_ldv", plan.stride);
    }
    if (plan.packs_x) {
        hole_shape(draft, "T_room", plan.room);
        hole_shape(draft, "T_rows", plan.rows);
    }
}

void holes_rows(struct draft *draft, const struct dim *k)
{
    const struct storage *storage = draft->narrow;
    const bool scaled = storage_is_scaled(storage);
    int64_t depth = 0;

    dim_is_const(k, &depth);
    hole_int(draft, "T_scaled", scaled);
    hole_dim(draft, "T_ldw", scaled ? dim_const(&draft->cx->arena, storage_row_bytes(storage, depth)) : k);
    if (!scaled)
        return;
    hole_int(draft, "T_bits", storage->bits);
    hole_int(draft, "T_grouped", storage->group > 0);
    hole_int(draft, "T_group", storage->group);
    hole_int(draft, "T_groups", storage_groups(storage, depth));
    hole_int(draft, "T_scales", step_packed(draft->step, 1)->n * storage_row_bytes(storage, depth));
    name_pointer(draft, "s", (struct element){storage->scale, DTYPE_FLOAT32});
}

static bool is_fours(const struct dim *dim)
{
    int64_t value;

    return dim_is_const(dim, &value) && value % 4 == 0;
}

/* Whether rows of x and columns of w lie in one piece and are a multiple of four elements apart; shorter ones than a warp has lanes
 * are read at once anyway. */
static bool reads_fours(struct draft *draft, const struct dim *xm, const struct dim *wn, int merged)
{
    enum { LANES = 32 };
    struct cx *cx = draft->cx;
    const struct value *x = draft->op->inputs[0], *w = draft->op->inputs[1];
    bool fours = dim_equals(x->strides[x->ndim - 1], 1) &&
                 (step_packed(draft->step, 1) || dim_equals(w->strides[w->ndim - 2], 1)) &&
                 is_fours(x->dims[x->ndim - 1]) && dim_upper(x->dims[x->ndim - 1]) > LANES && is_fours(xm) &&
                 is_fours(wn);

    for (int b = 0; b < 2; b++)
        fours &= is_fours(batch_stride(cx, x, b - merged)) && is_fours(batch_stride(cx, w, b - merged));
    return fours;
}

/* y = x . w of threads, which read all operands where they lie; packed weights as rows. */
static void holes_threads(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *w = op->inputs[1], *y = op->outputs[0];
    const bool packed = step_packed(draft->step, 1);
    const int merged = packed ? y->ndim - 2 : product_of(op, false).merged;
    const struct dim *m = dims_product(cx, y, y->ndim - 2 - merged, y->ndim - 1), *n = y->dims[y->ndim - 1],
                     *k = x->dims[x->ndim - 1], *one = dim_const(&cx->arena, 1);
    const struct dim *xm = packed ? row_stride(cx, x) : x->strides[x->ndim - 2];
    const struct dim *wn = packed ? k : w->strides[w->ndim - 1];
    const int64_t rows = product_rows_at_once(op);
    int64_t extent;

    holes_batches(draft, merged);
    hole_int(draft, "T_batched", y->ndim - 2 - merged);
    hole_dim(draft, "T_total", dims_product(cx, y, 0, y->ndim - 1));
    hole_dim(draft, "T_m", m);
    hole_dim(draft, "T_n", n);
    hole_dim(draft, "T_k", k);
    hole_dim(draft, "T_ym", packed ? row_stride(cx, y) : y->strides[y->ndim - 2]);
    hole_dim(draft, "T_xm", xm);
    hole_dim(draft, "T_xk", x->strides[x->ndim - 1]);
    hole_dim(draft, "T_wk", packed ? one : w->strides[w->ndim - 2]);
    hole_dim(draft, "T_wn", wn);
    hole_int(draft, "T_each", rows);
    hole_int(draft, "T_even", dim_is_const(m, &extent) && extent % rows == 0);
    hole_int(draft, "T_fours", reads_fours(draft, xm, wn, merged));
    hole_int(draft, "T_ahead", rows == 1 ? 4 : rows < 8 ? 2 : 1);
    hole_int(draft, "T_along_m", dim_equals(xm, 1) && !dim_equals(k, 1));
    hole_int(draft, "T_along_n", dim_equals(wn, 1));
    if (!draft->narrow || !storage_is_scaled(draft->narrow)) {
        hole_int(draft, "T_scaled", false);
        return;
    }

    const struct scaled_dots dots = scaled_dots_of(op, draft->narrow);
    const int64_t depth = dim_upper(k);
    const bool parted = draft->narrow->group > 0 || depth > storage_part(draft->narrow, depth);

    holes_rows(draft, k);
    hole_int(draft, "T_columns", dots.columns);
    hole_int(draft, "T_chunk", dots.chunk);
    hole_int(draft, "T_page", dots.page);
    hole_int(draft, "T_part", dots.part);
    hole_int(draft, "T_parted", parted);
    hole_int(draft, "T_span", storage_part(draft->narrow, INT64_MAX));
    hole_dim(draft, "T_row", dim_const(&cx->arena, storage_rounded(depth)));
}

/* How gemm_panel goes over w: see its head. */
static void holes_order(struct draft *draft, const struct dim *n, const struct dim *k)
{
    enum { STAY_KB = 256, STREAM_KB = 1024 };
    int64_t columns = 0, depth = 0, bytes;

    dim_is_const(n, &columns);
    dim_is_const(k, &depth);
    bytes = columns * depth * dtype_rows[draft->weights.stored].bytes;
    hole_int(draft, "T_stay_kb", STAY_KB);
    hole_int(draft, "T_stream_kb", STREAM_KB);
    hole_some(draft, "T_some_pass", bytes > STAY_KB * 1024);
    hole_some(draft, "T_some_stream", bytes > STREAM_KB * 1024);
}

void holes_narrow(struct draft *draft, const struct dim *k)
{
    const struct storage *storage = draft->narrow;
    const bool scaled = storage_is_scaled(storage), coded = storage_is_coded(storage);
    int64_t depth = 0;

    dim_is_const(k, &depth);
    hole_int(draft, "T_widens", draft->step->scratch_offset >= 0);
    hole_int(draft, "T_bits", storage->bits);
    hole_int(draft, "T_packs", storage->bits < 8);
    hole_int(draft, "T_coded", coded);
    hole_int(draft, "T_scaled", scaled);
    hole_int(draft, "T_grouped", scaled && storage->group > 0);
    hole_int(draft, "T_group", storage->group);
    hole_int(draft, "T_together", storage_steps(storage) == 4);
    hole_shape(draft, "T_head", scaled || coded ? storage_head(storage, depth) : 0);
    hole_shape(draft, "T_panel",
               scaled ? storage_panel(storage, depth) : depth * lanes_of(draft, draft->kernel->computed));
    name_pointer(draft, "s", (struct element){scaled ? storage->scale : DTYPE_FLOAT32, DTYPE_FLOAT32});
}

/* Rows as integers: see the head of gemm_int8. */
static void holes_int8(struct draft *draft, const struct dim *k)
{
    const struct storage *storage = draft->narrow;
    int64_t depth = 0;

    dim_is_const(k, &depth);
    if (!storage->dynamic)
        return;
    hole_int(draft, "T_parted", storage->group > 0 || depth > storage_part(storage, depth));
    hole_int(draft, "T_part", (int)storage_part(storage, INT64_MAX));
    hole_shape(draft, "T_row", storage_row(storage, depth));
    hole_shape(draft, "T_first", storage_first(storage, depth));
}

/* From so many bytes on a weight is fetched ahead. Neighbours in a network drive out of the second cache what would fit alone. Where it
 * does stay there, that takes four bits in integers 6 % longer, 8 bits 25 %. */
static int64_t ahead_from(const struct storage *storage)
{
    return storage->dynamic && storage->bits < 8 ? 128 * 1024 : 1024 * 1024;
}

static void holes_contract(struct draft *draft)
{
    struct cx *cx = draft->cx;
    const struct op *op = draft->op;
    const struct value *x = op->inputs[0], *w = op->inputs[1], *y = op->outputs[0];
    const struct dim *k = x->dims[x->ndim - 1], *n = y->dims[y->ndim - 1];
    const struct packed *packed = step_packed(draft->step, 1);
    int64_t bytes = packed ? packed->count * dtype_rows[packed->dtype].bytes : 0;

    add_weighted(draft);
    add_scratch(draft, "v");
    if (draft->narrow && !draft->plan->backend->apart) {
        holes_narrow(draft, k);
        holes_int8(draft, k);
        hole_int(draft, "T_single", dim_equals(dims_product(cx, y, 0, y->ndim - 1), 1));
    }
    hole_dim(draft, "T_bias",
             dim_const(&cx->arena, op->contract.bias)); /* a constant of each call, no flag */
    if (draft->plan->backend->apart || !draft->step->algorithm->weight) {
        if (draft->plan->backend->apart)
            holes_threads(draft);
        else
            holes_strided(draft);
        draft->kernel->comment = arena_format(
            &cx->arena, "y %s = x %s . w %s%s%s", shape_text(&cx->arena, y->ndim, y->dims),
            shape_text(&cx->arena, x->ndim, x->dims), shape_text(&cx->arena, w->ndim, w->dims),
            draft->plan->backend->apart && op->contract.bias ? " + bias" : "",
            draft->narrow
                ? arena_format(&cx->arena, ", weight in %s", storage_text(&cx->arena, draft->narrow))
                : "");
        return;
    }
    hole_extent(draft, "T_m", dims_product(cx, y, 0, y->ndim - 1));
    hole_extent(draft, "T_n", n);
    hole_extent(draft, "T_k", k);
    hole_dim(draft, "T_ldx", row_stride(cx, x));
    hole_dim(draft, "T_ldy", row_stride(cx, y));
    hole_dim(draft, "T_ldw", packed ? k : w->strides[1]);
    holes_order(draft, n, k);
    hole_int(draft, "T_cached", bytes <= draft->plan->backend->cost.near_bytes);
    hole_int(draft, "T_streams", bytes > 1024 * 1024);
    hole_int(draft, "T_ahead", draft->narrow && bytes > ahead_from(draft->narrow));
    draft->kernel->comment = arena_format(
        &cx->arena, "y %s = x %s . weight (%s, %s)^T%s%s", shape_text(&cx->arena, y->ndim, y->dims),
        shape_text(&cx->arena, x->ndim, x->dims), dim_text(&cx->arena, n), dim_text(&cx->arena, k),
        op->contract.bias ? " + bias" : "",
        draft->narrow ? arena_format(&cx->arena, ", weight in %s%s", storage_text(&cx->arena, draft->narrow),
                                     draft->narrow->dynamic ? ", rows of x in int8" : "")
                      : "");
}

static bool contract_writes(struct arena *arena, const struct step *step, const struct value *y)
{
    return step->algorithm->weight == PACKED_NONE ? writes_last(arena, step, y) : value_is_rows(arena, y);
}

const struct kernel_row contract_kernels = {.writes = contract_writes,
                                            .stem = contract_stem,
                                            .make = make_template,
                                            .holes = holes_contract,
                                            .operands = weighted_operands};
