/* transformer.c - the parts of MultiheadAttention and of the classes around it: what they refuse, projections, masks. */
#include "functions/rows.h"
#include "graph/graph.h"

#include <math.h>
#include <string.h>

/* ---- what MultiheadAttention takes ---- */

static bool check_dims(struct eval *eval, const struct ev *arg, const char *name,
                       const struct dim *const *dims, int ndim)
{
    const struct value *x = arg->tensor;
    bool same = x->ndim >= ndim;

    for (int i = 0; same && i < ndim; i++)
        same = dim_equal(x->dims[i], dims[i]);
    if (!same)
        diag_error(eval->cx, arg->loc, "the shape of %s is %s, but should be %s%s", name,
                   shape_text(&eval->cx->arena, x->ndim, x->dims), shape_text(&eval->cx->arena, ndim, dims),
                   x->ndim > ndim ? " and any width" : "");
    return same;
}

/* None, or bool, or of the type of the query; of so many dimensions. */
static bool check_mask(struct eval *eval, const char *name, const struct ev *mask, const struct value *query,
                       int least, int most)
{
    if (mask->kind == EV_NONE)
        return true;
    if (!need_tensor(eval, name, mask))
        return false;
    if (mask->tensor->ndim < least || mask->tensor->ndim > most) {
        diag_error(eval->cx, mask->loc, "for a query of %d dimensions %s has %d%s, found %s", query->ndim,
                   name, least, most > least ? " or 3" : "", ev_text(eval, mask));
        return false;
    }
    if (mask->tensor->dtype == DTYPE_BOOL || mask->tensor->dtype == query->dtype)
        return true;
    diag_error(eval->cx, mask->loc, "%s is bool or has the type of the query, %s, found %s", name,
               dtype_rows[query->dtype].name, dtype_rows[mask->tensor->dtype].name);
    return false;
}

/* The sizes of what is attended. */
struct extents {
    const struct dim *batch, *heads, *queries, *keys; /* batch: NULL where there is none */
};

static bool check_masks(struct eval *eval, const struct ev *padding, const struct ev *mask,
                        const struct value *query, const struct extents *extents)
{
    const bool batched = extents->batch;
    const struct dim *pad[] = {batched ? extents->batch : extents->keys, extents->keys};
    const struct dim *flat[] = {extents->queries, extents->keys};
    const struct dim *deep[] = {batched ? dim_mul(&eval->cx->arena, extents->batch, extents->heads)
                                        : extents->heads,
                                extents->queries, extents->keys};

    if (!check_mask(eval, "key_padding_mask", padding, query, batched + 1, batched + 1) ||
        !check_mask(eval, "attn_mask", mask, query, 2, 3))
        return false;
    if (padding->kind == EV_TENSOR && !check_dims(eval, padding, "key_padding_mask", pad, batched + 1))
        return false;
    return mask->kind == EV_NONE || (mask->tensor->ndim == 2 ? check_dims(eval, mask, "attn_mask", flat, 2)
                                                             : check_dims(eval, mask, "attn_mask", deep, 3));
}

/* Whether the query is batched. packed: one matrix projects all three. */
static struct ev fn_check_multihead(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *query = args[0].tensor, *key = args[1].tensor;
    const struct ev *padding = &args[3], *mask = &args[4];
    struct extents extents = {.heads = args[7].dim};
    bool causal, batch_first, packed, batched;
    (void)count;

    for (int i = 0; i < 3; i++)
        if (!need_tensor(eval, "MultiheadAttention", &args[i]))
            return BAD;
    if (!need_bool(eval, "is_causal", &args[5], &causal))
        return BAD;
    ev_get_bool(&args[8], &batch_first);
    ev_get_bool(&args[9], &packed);
    batched = query->ndim == 3;
    if ((query->ndim != 2 && !batched) || key->ndim != query->ndim || args[2].tensor->ndim != query->ndim) {
        diag_error(eval->cx, loc,
                   "query, key and value are all 3-D, or without a batch 2-D, found %s, %s and %s",
                   ev_text(eval, &args[0]), ev_text(eval, &args[1]), ev_text(eval, &args[2]));
        return BAD;
    }
    if (!dim_equal(query->dims[query->ndim - 1], args[6].dim)) {
        diag_error(eval->cx, args[0].loc, "was expecting embedding dimension of %s, but got %s",
                   ev_text(eval, &args[6]), ev_text(eval, &args[0]));
        return BAD;
    }
    if (batched && !dim_equal(query->dims[!batch_first], key->dims[!batch_first])) {
        diag_error(eval->cx, loc, "query and key have one batch, in dimension %d, found %s and %s",
                   !batch_first, ev_text(eval, &args[0]), ev_text(eval, &args[1]));
        return BAD;
    }
    if (!check_dims(eval, &args[2], "value", key->dims, packed ? key->ndim : key->ndim - 1))
        return BAD;
    extents.batch = batched ? query->dims[!batch_first] : NULL;
    extents.queries = query->dims[batched && batch_first];
    extents.keys = key->dims[batched && batch_first];
    if (!check_masks(eval, padding, mask, query, &extents))
        return BAD;
    if (causal && mask->kind == EV_NONE) {
        diag_error(eval->cx, args[5].loc, "need attn_mask if specifying the is_causal hint");
        diag_hint(eval->cx, "nn.Transformer.generate_square_subsequent_mask(length) makes it");
        return BAD;
    }
    return ev_bool(loc, batched);
}

/* Whether both are the same tensor, as Python's `is` has it. */
static struct ev fn_is_same(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval, (void)count;
    return ev_bool(loc, args[0].kind == EV_TENSOR && args[1].kind == EV_TENSOR &&
                            args[0].tensor == args[1].tensor);
}

/* ---- the classes around it ---- */

static struct ev fn_is_module(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)eval, (void)count;
    return ev_bool(loc, args[0].kind == EV_CONSTRUCTOR || args[0].kind == EV_MODULE);
}

/* The function that a word means; anything else is itself. */
static struct ev fn_activation(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev out = args[0];
    (void)eval, (void)count;

    if (out.kind == EV_STRING && (strcmp(out.text, "relu") == 0 || strcmp(out.text, "gelu") == 0))
        eval_find_function(out.text, FUNCTION_FUNCTIONAL | FUNCTION_TORCH, loc, &out);
    return out;
}

/* What a copy of TransformerDecoderLayer calls: its __setstate__ knows no activation that is a module, and takes relu, which then
 * hides the module. */
static struct ev fn_copied_activation(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    if (args[0].kind == EV_MODULE && module_is_copied(args[1].module))
        args[0] = ev_string(loc, "relu");
    return fn_activation(eval, args, count, loc);
}

static struct ev fn_is_activation(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    return ev_bool(loc, fn_activation(eval, args, count, loc).kind != EV_STRING);
}

/* The list, callable as a Sequential. */
static struct ev fn_in_turn(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct module *list = ARENA_NEW(&eval->cx->arena, struct module);
    (void)count;

    *list = *args[0].module;
    list->layer = layer_find("Sequential");
    list->is_slice = true;
    return ev_module(loc, list);
}

static struct ev fn_check_transformer(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *src = args[0].tensor, *tgt = args[1].tensor;
    bool batch_first = false;
    int batch;
    (void)count;

    for (int i = 0; i < 2; i++)
        if (!need_tensor(eval, "Transformer", &args[i]))
            return BAD;
    ev_get_bool(&args[3], &batch_first);
    batch = !batch_first;
    if (src->ndim == 3 && (tgt->ndim <= batch || !dim_equal(src->dims[batch], tgt->dims[batch]))) {
        diag_error(eval->cx, loc, "the batch number of src and tgt must be equal, found %s and %s",
                   ev_text(eval, &args[0]), ev_text(eval, &args[1]));
        return BAD;
    }
    for (int i = 0; i < 2; i++) {
        const struct value *x = args[i].tensor;

        if (x->ndim > 0 && dim_equal(x->dims[x->ndim - 1], args[2].dim))
            continue;
        diag_error(eval->cx, args[i].loc,
                   "the feature number of src and tgt must be equal to d_model, %s; found %s",
                   ev_text(eval, &args[2]), ev_text(eval, &args[i]));
        return BAD;
    }
    return ev_none(loc);
}

/* Whether all that the value holds is that number: one that is expanded. */
static bool is_filled(const struct value *value, double number)
{
    while (value->op->code == GRAPH_OP_VIEW)
        value = value->op->inputs[0];
    return value->constant && tensor_count(value->constant) == 1 && value->constant->data[0].f == number;
}

/* triu(1) of a matrix that is filled with -inf: see fn_band. */
static bool is_band_above(const struct op *op)
{
    const struct dag_node *choice, *kept, *gap, *diagonal;

    if (op->code != GRAPH_OP_MAP || strcmp(op->label, "band") != 0 ||
        !is_filled(op->inputs[0], -(double)INFINITY))
        return false;
    choice = &op->dag->nodes[op->dag->result];
    if (choice->prim != PRIM_SELECT || op->dag->nodes[choice->args[2]].number != 0)
        return false;
    kept = &op->dag->nodes[choice->args[0]];
    if (kept->prim != PRIM_GE)
        return false;
    gap = &op->dag->nodes[kept->args[0]];
    diagonal = &op->dag->nodes[kept->args[1]];
    return gap->prim == PRIM_SUB && diagonal->prim == PRIM_CONST && diagonal->integer == 1;
}

/* Whether a mask is known to be generate_square_subsequent_mask(length). */
static bool is_square_mask(const struct value *mask, const struct dim *length)
{
    const struct tensor *known = mask->constant;
    int64_t columns;

    if (mask->ndim != 2 || !dim_equal(mask->dims[0], length) || !dim_equal(mask->dims[1], length) ||
        !dtype_is_float(mask->dtype))
        return false;
    if (!known)
        return is_band_above(mask->op);
    columns = known->dims[1];
    for (int64_t i = 0; i < tensor_count(known); i++)
        if (known->data[i].f != (i % columns > i / columns ? -(double)INFINITY : 0.0))
            return false;
    return true;
}

/* What the caller says; None asks whether the mask is the causal one. */
static struct ev fn_is_causal_mask(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    bool causal = false;
    (void)count;

    if (args[1].kind != EV_NONE)
        return need_bool(eval, "is_causal", &args[1], &causal) ? ev_bool(loc, causal) : BAD;
    return ev_bool(loc, args[0].kind == EV_TENSOR && is_square_mask(args[0].tensor, args[2].dim));
}

extern const struct function_row transformer_functions[];

const struct function_row transformer_functions[] = {
    {"_check_multihead(query, key, value, key_padding_mask, attn_mask, is_causal, embed_dim, num_heads, batch_first, packed)",
     HIDDEN, .build = fn_check_multihead},
    {"_is_same(a, b)", HIDDEN, .build = fn_is_same},
    {"_in_projection(query, key, value, weight, bias, weights, biases)", HIDDEN,
     .body = "packed = weight is not None and _is_same(key, value)\n"
             "e = query.shape[-1]\n"
             "return (linear(query, weight, bias).chunk(3, -1) if packed and _is_same(query, key) else"
             " (linear(query, weights[0], biases[0]),)"
             " + linear(key, weight[e:], None if bias is None else bias[e:]).chunk(2, -1) if packed else"
             " (linear(query, weights[0], biases[0]), linear(key, weights[1], biases[1]),"
             " linear(value, weights[2], biases[2])))"},
    {"_more_keys(x, bias, zero)", HIDDEN,
     .body = "heads, width = x.shape[-3], x.shape[-1]\n"
             "x = x if bias is None else"
             " cat([x, bias.reshape(heads, 1, width).expand(x.shape[:-2] + (1, width))], -2)\n"
             "return F.pad(x, (0, 0, 0, 1)) if zero else x"},
    {"_attention_mask(q, mask, padding, more)", HIDDEN,
     .body = "mask = (mask if mask is None or mask.ndim == 2 or q.ndim == 3 else"
             " mask.reshape(q.shape[:-1] + mask.shape[-1:]))\n"
             "padding = padding if padding is None or q.ndim == 3 else padding[:, None, None, :]\n"
             "a, b = _added_mask(q, mask, more), _added_mask(q, padding, more)\n"
             "return b if a is None else a if b is None else a + b"},
    {"_added_mask(q, mask, more)", HIDDEN,
     .body = "x = (mask if mask is None or mask.dtype is not torch.bool else"
             " where(mask, -inf, 0.0).to(q.dtype))\n"
             "return x if x is None or more == 0 else F.pad(x, (0, more))"},
    {"_attention_weighted(q, k, v, mask, dropout_p)", HIDDEN,
     .body = "scores = q @ k.mT * _attention_scale(q.shape[-1])\n"
             "weights = _attention_softmax(scores if mask is None else scores + mask, False)\n"
             "weights = weights if dropout_p == 0 else F.dropout(weights, dropout_p)\n"
             "return weights @ v, weights"},
    {"_is_module(value)", HIDDEN, .build = fn_is_module},
    {"_activation(value)", HIDDEN, .build = fn_activation},
    {"_copied_activation(value, layer)", HIDDEN, .build = fn_copied_activation},
    {"_is_activation(value)", HIDDEN, .build = fn_is_activation},
    {"_in_turn(layers)", HIDDEN, .build = fn_in_turn},
    {"_check_transformer(src, tgt, d_model, batch_first)", HIDDEN, .build = fn_check_transformer},
    {"_is_causal_mask(mask, is_causal, length)", HIDDEN, .build = fn_is_causal_mask},
    {"Transformer.generate_square_subsequent_mask(sz, device=None, dtype=None)", FUNCTION_NN,
     .body = "return torch.full((sz, sz), -inf, dtype=dtype).triu(1)"},
    {.signature = NULL},
};
