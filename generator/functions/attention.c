/* attention.c - scaled_dot_product_attention. */
#include "functions/rows.h"
#include "graph/graph.h"

static struct ev fn_check_attention(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *query, *mask = args[3].tensor;
    bool causal;
    (void)count;

    for (int i = 0; i < 3; i++)
        if (!need_tensor(eval, "scaled_dot_product_attention", &args[i]))
            return BAD;
    query = args[0].tensor;
    for (int i = 0; i < 3; i++) {
        if (args[i].tensor->ndim < 2) {
            diag_error(eval->cx, loc,
                       "expected query, key, and value to all be at least 2 dimensional, found %s",
                       ev_text(eval, &args[i]));
            return BAD;
        }
        if (args[i].tensor->dtype != query->dtype || !dtype_is_float(query->dtype)) {
            diag_error(eval->cx, loc,
                       "expected query, key, and value to have the same floating dtype, found %s, %s and %s",
                       dtype_rows[query->dtype].name, dtype_rows[args[1].tensor->dtype].name,
                       dtype_rows[args[2].tensor->dtype].name);
            return BAD;
        }
    }
    if (!need_bool(eval, "is_causal", &args[4], &causal))
        return BAD;
    if (args[3].kind == EV_NONE)
        return ev_none(loc);
    if (!need_tensor(eval, "scaled_dot_product_attention", &args[3]))
        return BAD;
    if (causal) {
        diag_error(eval->cx, loc, "explicit attn_mask should not be set when is_causal=True");
        return BAD;
    }
    if (mask->dtype == DTYPE_BOOL || mask->dtype == DTYPE_FLOAT32 || mask->dtype == query->dtype)
        return ev_none(loc);
    diag_error(eval->cx, args[3].loc,
               "expected attn_mask dtype to be bool or float or to match query dtype, found %s",
               dtype_rows[mask->dtype].name);
    return BAD;
}

/* Heads of key or value, each for as many of the query as there are more of these: grouped queries. */
static struct ev fn_grouped(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *query = args[0].tensor, *x = args[1].tensor;
    const struct dim *times;
    (void)count;

    if (query->ndim < 3 || x->ndim < 3) {
        diag_error(eval->cx, loc, "enable_gqa takes heads in dimension -3, found %s and %s",
                   ev_text(eval, &args[0]), ev_text(eval, &args[1]));
        return BAD;
    }
    if (!dim_divides(&eval->cx->arena, query->dims[query->ndim - 3], x->dims[x->ndim - 3], &times)) {
        diag_error(
            eval->cx, loc,
            "number of heads in key and value must divide the number of heads in query, found %s and %s",
            dim_text(&eval->cx->arena, x->dims[x->ndim - 3]),
            dim_text(&eval->cx->arena, query->dims[query->ndim - 3]));
        return BAD;
    }
    return ev_dim(loc, times);
}

/* torch._safe_softmax along the last axis: of a row that is blocked altogether nothing, where softmax has NaN. */
static struct ev fn_safe_softmax(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct op *op = op_new(eval, GRAPH_OP_SOFTMAX, "softmax", &args[0].tensor, 1);
    (void)count;

    op->softmax.axis = args[0].tensor->ndim - 1;
    op->softmax.safe = true;
    return ev_tensor(loc, build_op(eval, loc, op));
}

extern const struct function_row attention_functions[];

const struct function_row attention_functions[] = {
    {"scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, "
     "enable_gqa=False)",
     FUNCTIONAL,
     .body = "_check_attention(query, key, value, attn_mask, is_causal)\n"
             "k = key.repeat_interleave(_grouped(query, key), -3) if enable_gqa else key\n"
             "v = value.repeat_interleave(_grouped(query, value), -3) if enable_gqa else value\n"
             "factor = scale if scale != None else _attention_scale(query.shape[-1])\n"
             "scores = _attention_masked(query @ k.mT * factor, attn_mask, is_causal)\n"
             "weights = _attention_softmax(scores, attn_mask != None)\n"
             "return (weights if dropout_p == 0 else F.dropout(weights, dropout_p)) @ v"},
    {"_check_attention(query, key, value, attn_mask, is_causal)", HIDDEN, .build = fn_check_attention},
    {"_grouped(query, input)", HIDDEN, .build = fn_grouped},
    {"_attention_scale(width)", HIDDEN, .body = "return 1.0 if _equal(width, 0) else 1.0 / sqrt(width)"},
    {"_attention_masked(scores, mask, is_causal)", HIDDEN,
     .body = "return (_causal(scores) if is_causal else scores if mask == None else"
             " scores.masked_fill(~mask, -inf) if mask.dtype == torch.bool else scores + mask)"},
    {"_causal(scores)", HIDDEN,
     .body = "return _band(scores, arange(scores.shape[-2], dtype=torch.int32)[:, None],"
             " arange(scores.shape[-1], dtype=torch.int32), 0, 'below', -inf)"},
    {"_attention_softmax(scores, masked)", HIDDEN,
     .body =
         "return scores if _is_empty(scores, -1) else _safe_softmax(scores) if masked else softmax(scores, -1)"},
    {"_safe_softmax(scores)", HIDDEN, .build = fn_safe_softmax},
    {.signature = NULL},
};
