/* generation.c - what models of rows have: attention over what is kept of a sequence, the rows whose logits are wanted. modc's own;
 * torch.nn has nothing of it. */
#include <float.h>
#include <math.h>

#include "functions/rows.h"
#include "graph/graph.h"
#include "spec/spec.h"
#include "tree/generation.h"

static const struct generation *generation_of(const struct eval *eval)
{
    return eval->graph && eval->graph->program ? eval->graph->program->tree->generation : NULL;
}

/* Whether the entry has rows; else that is said, of the function `what`. */
static bool need_rows(struct eval *eval, const char *what, struct loc loc)
{
    const struct spec *spec = eval->graph && eval->graph->program ? eval->graph->program->tree->spec : NULL;

    if (generation_of(eval) && eval->row_value && eval->row_value(eval, ROW_SLOT))
        return true;
    if (spec && (spec->generation ? !generation_of(eval) : spec->partial))
        return false; /* it is faulty, which was said */
    if (!spec || !spec->generation) {
        diag_error(eval->cx, loc, "%s is for models with 'generation:'", what);
        diag_hint(eval->cx, "write 'generation: {context: 1024}', and a model of rows: docs/generation.md");
    } else if (diag_errors(eval->cx) == 0) {
        diag_error(eval->cx, loc, "%s: this entry has no rows, which 'forward' alone has", what);
        diag_hint(eval->cx, "let the entry take position, sequence, pages and logit_rows, too");
    }
    return false;
}

/* False where gradients are made, which is said. */
static bool refuse_gradients(struct eval *eval, const char *what, struct loc loc)
{
    if (!eval->graph->saves)
        return true;
    diag_error(eval->cx, loc, "%s has no gradient: what it reads was kept by other calls", what);
    diag_hint(eval->cx, "train the model in a spec of its own, over whole sequences");
    return false;
}

/* (rows, heads, width), floating. */
static bool need_heads(struct eval *eval, const char *name, const struct ev *arg)
{
    const struct value *x = arg->tensor;
    const struct value *rows = eval->row_value(eval, ROW_POSITION);

    if (!need_tensor(eval, "cached_attention", arg))
        return false;
    if (x->ndim == 3 && dim_equal(x->dims[0], rows->dims[0]) && dtype_is_float(x->dtype))
        return true;
    diag_error(eval->cx, arg->loc, "cached_attention: %s is (%s, heads, width), floating, found %s %s", name,
               dim_text(&eval->cx->arena, rows->dims[0]), dtype_rows[x->dtype].name,
               shape_text(&eval->cx->arena, x->ndim, x->dims));
    return false;
}

static bool fit_together(struct eval *eval, const struct ev *args, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *q = args[0].tensor, *k = args[1].tensor, *v = args[2].tensor;
    const struct dim *share;

    if ((q->dtype != k->dtype && (q->dtype != DTYPE_FLOAT32 || !narrow_of(k->dtype))) || k->dtype != v->dtype)
        diag_error(eval->cx, loc, "cached_attention: q, k and v have one type, found %s, %s and %s",
                   dtype_rows[q->dtype].name, dtype_rows[k->dtype].name, dtype_rows[v->dtype].name);
    else if (!dim_equal(k->dims[1], v->dims[1]))
        diag_error(eval->cx, loc, "cached_attention: k and v have the same heads, found %s and %s",
                   shape_text(arena, k->ndim, k->dims), shape_text(arena, v->ndim, v->dims));
    else if (!dim_divides(arena, q->dims[1], k->dims[1], &share))
        diag_error(eval->cx, loc, "cached_attention: the heads of k and v divide those of q, found %s and %s",
                   dim_text(arena, k->dims[1]), dim_text(arena, q->dims[1]));
    else if (!dim_equal(q->dims[2], k->dims[2]))
        diag_error(eval->cx, loc, "cached_attention: q and k have one width, found %s and %s",
                   dim_text(arena, q->dims[2]), dim_text(arena, k->dims[2]));
    else
        return true;
    return false;
}

/* scale, window, softcap; false after an error. */
static bool read_settings(struct eval *eval, const struct ev *args, struct op *op)
{
    int64_t width;

    op->cached.scale = dim_is_const(args[0].tensor->dims[2], &width) && width > 0 ? 1 / sqrt((double)width)
                                                                                  : 1;
    if (args[3].kind != EV_NONE && !ev_get_number(&args[3], &op->cached.scale)) {
        diag_error(eval->cx, args[3].loc, "cached_attention: scale is a number, found %s",
                   ev_text(eval, &args[3]));
        return false;
    }
    if (args[4].kind != EV_NONE && (!ev_get_int(&args[4], &op->cached.window) || op->cached.window < 1)) {
        diag_error(eval->cx, args[4].loc, "cached_attention: window is an integer from 1, found %s",
                   ev_text(eval, &args[4]));
        return false;
    }
    if (args[5].kind != EV_NONE &&
        (!ev_get_number(&args[5], &op->cached.softcap) || !(op->cached.softcap > 0))) {
        diag_error(eval->cx, args[5].loc, "cached_attention: softcap is a number above 0, found %s",
                   ev_text(eval, &args[5]));
        return false;
    }
    return true;
}

/* (heads, distances) */
static bool fits_bias(struct eval *eval, const struct ev *bias, const struct value *q)
{
    const struct value *x = bias->tensor;

    if (!need_tensor(eval, "cached_attention", bias))
        return false;
    if (x->ndim == 2 && x->dtype == q->dtype && dim_equal(x->dims[0], q->dims[1]) &&
        dim_lower(x->dims[1]) > 0)
        return true;
    diag_error(eval->cx, bias->loc,
               "cached_attention: bias is (heads, n), by how far back a key lies, of q's type: found %s %s",
               dtype_rows[x->dtype].name, shape_text(&eval->cx->arena, x->ndim, x->dims));
    return false;
}

/* What 1 stands for in each line of the rows: note [scales] in base/narrow.h. */
static struct value *build_scales(struct eval *eval, const struct narrow *narrow, struct value *rows)
{
    struct scope scope = {.outer = NULL};

    scope_bind(eval, &scope, "rows", ev_tensor(rows->loc, rows));
    scope_bind(eval, &scope, "most", ev_int(eval, rows->loc, narrow->most));
    scope_bind(eval, &scope, "least", ev_float(rows->loc, narrow->most * (double)FLT_MIN));
    scope_bind(eval, &scope, "largest", eval_text(eval, &scope, "rows.abs().amax(-1)"));
    return eval_text(eval, &scope, "where(largest < least, 0.0, largest / most)").tensor;
}

/* Each line of the rows in multiples of its scale, which are rounded where they are kept. */
static struct value *build_multiples(struct eval *eval, struct value *rows, struct value *scales)
{
    struct scope scope = {.outer = NULL};

    scope_bind(eval, &scope, "rows", ev_tensor(rows->loc, rows));
    scope_bind(eval, &scope, "scales", ev_tensor(rows->loc, scales));
    return eval_text(eval, &scope, "rows / scales.unsqueeze(-1)").tensor;
}

/* Puts rows where such are kept, at an index that is inside. */
static bool put_rows(struct eval *eval, struct loc loc, const struct eval_kept *kept, struct value *at,
                     struct value *rows)
{
    if (kept->scales && rows) {
        struct value *scales = build_scales(eval, kept->narrow, rows);

        rows = scales ? build_multiples(eval, rows, scales) : NULL;
        if (!rows || !at || !eval->write_rows(eval, kept->scales, loc, at, scales))
            return false;
    }
    return at && rows && eval->write_rows(eval, kept->rows, loc, at, rows);
}

/* Puts the rows of a call where such are kept; what is there then, or NULL. */
static struct value *keep(struct eval *eval, struct loc loc, const struct eval_kept *kept, struct value *rows,
                          enum row_value where)
{
    return put_rows(eval, loc, kept, eval->row_value(eval, where), rows)
               ? eval->read(eval, kept->rows, loc).tensor
               : NULL;
}

/* The op over what is kept, of inputs up to CACHED_PAGES; bias: NULL where there is none. */
static struct op *attend(struct eval *eval, const char *label, struct loc loc, const struct eval_kept *kept,
                         struct value **inputs, struct value *bias)
{
    int count = CACHED_PAGES + 1;

    for (int i = 0; i < 2 && kept[i].scales; i++)
        inputs[count++] = eval->read(eval, kept[i].scales, loc).tensor;
    if (bias)
        inputs[count++] = bias;
    return op_new(eval, GRAPH_OP_CACHED_ATTENTION, label, inputs, count);
}

/* cached_attention(q, k, v, scale, window, softcap, bias) */
static struct ev fn_cached_attention(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const what[] = {"keys", "values"};
    const struct generation *generation = generation_of(eval);
    struct eval_kept caches[2];
    struct value *inputs[CACHED_MOST];
    struct op *op;
    (void)count;

    if (!need_rows(eval, "cached_attention", loc) || !need_heads(eval, "q", &args[0]) ||
        !need_heads(eval, "k", &args[1]) || !need_heads(eval, "v", &args[2]) ||
        !fit_together(eval, args, loc))
        return BAD;
    if (args[6].kind != EV_NONE && !fits_bias(eval, &args[6], args[0].tensor))
        return BAD;
    if (!refuse_gradients(eval, "cached_attention", loc))
        return BAD;
    if (!eval->cache(eval, loc, CACHE_TOKENS, what,
                     (const struct value *const[]){args[1].tensor, args[2].tensor}, 2, caches))
        return BAD;
    inputs[CACHED_QUERIES] = args[0].tensor;
    inputs[CACHED_KEYS] = keep(eval, loc, &caches[0], args[1].tensor, ROW_SLOT);
    inputs[CACHED_VALUES] = keep(eval, loc, &caches[1], args[2].tensor, ROW_SLOT);
    inputs[CACHED_SEQUENCE] = eval->row_value(eval, ROW_SEQUENCE);
    inputs[CACHED_POSITION] = eval->row_value(eval, ROW_POSITION);
    inputs[CACHED_PAGES] = eval->row_value(eval, ROW_PAGES);
    if (!inputs[CACHED_KEYS] || !inputs[CACHED_VALUES])
        return BAD;
    op = attend(eval, "cached_attention", loc, caches, inputs,
                args[6].kind == EV_TENSOR ? args[6].tensor : NULL);
    op->cached.page = generation->page;
    return read_settings(eval, args, op) ? ev_tensor(loc, build_op(eval, loc, op)) : BAD;
}

/* A tensor of rows; else that is said. */
static bool need_tensor_of_rows(struct eval *eval, const char *what, const struct ev *arg)
{
    const struct value *rows = eval->row_value(eval, ROW_POSITION), *x = arg->tensor;

    if (!need_tensor(eval, what, arg))
        return false;
    if (x->ndim > 0 && dim_equal(x->dims[0], rows->dims[0]))
        return true;
    diag_error(eval->cx, arg->loc, "%s: expected a tensor of rows, (%s, ...), found %s", what,
               dim_text(&eval->cx->arena, rows->dims[0]), shape_text(&eval->cx->arena, x->ndim, x->dims));
    return false;
}

/* The rows whose logits are wanted. */
static struct ev fn_last(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (!need_rows(eval, "last", loc) || !need_tensor_of_rows(eval, "last", &args[0]))
        return BAD;
    return ev_tensor(loc, build_gather_inside(eval, loc, "last", args[0].tensor, 0,
                                              eval->row_value(eval, ROW_LOGITS), false));
}

/* recent(input, n): (rows, n, ...), what stands up to n - 1 tokens back, itself last; 0 in front of the sequence. */
static struct ev fn_recent(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const what[] = {"rows"};
    const struct generation *generation = generation_of(eval);
    struct value like, *inputs[RECENT_INPUTS], *out, *kept;
    struct eval_kept state;
    int64_t n;
    (void)count;

    if (!need_rows(eval, "recent", loc) || !need_tensor_of_rows(eval, "recent", &args[0]) ||
        !need_int(eval, "n", &args[1], &n) || !refuse_gradients(eval, "recent", loc))
        return BAD;
    if (args[0].tensor->ndim >= MAX_DIMS) {
        diag_error(eval->cx, args[0].loc, "recent: the result would have more than %d dimensions", MAX_DIMS);
        return BAD;
    }
    if (n < 2 || n > generation->context) {
        diag_error(eval->cx, args[1].loc, "recent: n is from 2 to %lld, the context, found %lld",
                   (long long)generation->context, (long long)n);
        return BAD;
    }
    like = *args[0].tensor;
    like.ndim++;
    like.dims[1] = dim_const(&eval->cx->arena, n - 1);
    for (int i = 1; i < args[0].tensor->ndim; i++)
        like.dims[i + 1] = args[0].tensor->dims[i];
    if (!eval->cache(eval, loc, CACHE_SEQUENCES, what, (const struct value *const[]){&like}, 1, &state))
        return BAD;
    inputs[RECENT_ROWS] = args[0].tensor;
    inputs[RECENT_STATE] = eval->read(eval, state.rows, loc).tensor;
    inputs[RECENT_SEQUENCE] = eval->row_value(eval, ROW_SEQUENCE);
    inputs[RECENT_POSITION] = eval->row_value(eval, ROW_POSITION);
    out = build_op(eval, loc, op_new(eval, GRAPH_OP_RECENT, "recent", inputs, RECENT_INPUTS));
    kept = out ? build_slice(eval, loc, out, 1, dim_const(&eval->cx->arena, 1),
                             dim_const(&eval->cx->arena, 1), like.dims[1])
               : NULL;
    return kept && keep(eval, loc, &state, kept, ROW_SEQUENCE) ? ev_tensor(loc, out) : BAD;
}

/* cached_scan(decay, x): h = decay * h + x along each sequence. */
static struct ev fn_cached_scan(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    static const char *const what[] = {"state"};
    const struct value *x = args[1].tensor;
    struct value *inputs[CACHED_SCAN_INPUTS], *out;
    struct eval_kept state;
    struct op *op;
    (void)count;

    if (!need_tensor(eval, "cached_scan", &args[0]) || !need_rows(eval, "cached_scan", loc) ||
        !need_tensor_of_rows(eval, "cached_scan", &args[1]) || !refuse_gradients(eval, "cached_scan", loc))
        return BAD;
    if (!dtype_is_float(x->dtype) || args[0].tensor->dtype != x->dtype) {
        diag_error(eval->cx, args[1].loc,
                   "cached_scan: expected floating tensors of one type, found %s and %s",
                   ev_text(eval, &args[0]), ev_text(eval, &args[1]));
        return BAD;
    }
    inputs[CACHED_SCAN_FACTOR] = build_expand(eval, loc, args[0].tensor, x->ndim, x->dims);
    inputs[CACHED_SCAN_TERM] = args[1].tensor;
    if (!inputs[CACHED_SCAN_FACTOR] || !eval->cache(eval, loc, CACHE_SEQUENCES, what, &x, 1, &state))
        return BAD;
    inputs[CACHED_SCAN_STATE] = eval->read(eval, state.rows, loc).tensor;
    inputs[CACHED_SCAN_SEQUENCE] = eval->row_value(eval, ROW_SEQUENCE);
    inputs[CACHED_SCAN_POSITION] = eval->row_value(eval, ROW_POSITION);
    op = op_new(eval, GRAPH_OP_CACHED_SCAN, "cached_scan", inputs, CACHED_SCAN_INPUTS);
    out = build_op(eval, loc, op);
    if (!out || !keep(eval, loc, &state, out, ROW_SEQUENCE))
        return BAD;
    return ev_tensor(loc, out);
}

/* ---- what rows carry to the next ------------------------------------------------------------------------------- */

/* The state of the module under that name; false after an error. */
static bool find_carried(struct eval *eval, const char *what, const struct ev *name, struct loc loc,
                         const struct value *like, struct eval_kept *state)
{
    if (name->kind != EV_STRING) {
        diag_error(eval->cx, name->loc, "%s: name is a text, found %s", what, ev_text(eval, name));
        return false;
    }
    return eval->memory(eval, loc, CACHE_SEQUENCES, 1, &name->text, &like, 1, state);
}

/* carried(name, shape): (rows, *shape), what the row before in the sequence gave to carry; 0 for a sequence's first. */
static struct ev fn_carried(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value like = {.dtype = eval->default_dtype};
    const struct dim *dims[MAX_DIMS];
    struct eval_kept state;
    struct scope scope = {.outer = NULL};
    int ndim;
    (void)count;

    if (!need_rows(eval, "carried", loc) || !refuse_gradients(eval, "carried", loc) ||
        !need_shape(eval, "carried", &args[1], NULL, dims, &ndim))
        return BAD;
    if (ndim + 1 > MAX_DIMS) {
        diag_error(eval->cx, args[1].loc, "carried: a shape has less than %d dimensions", MAX_DIMS);
        return BAD;
    }
    like.ndim = ndim + 1;
    like.dims[0] = eval->row_value(eval, ROW_POSITION)->dims[0];
    for (int i = 0; i < ndim; i++)
        like.dims[i + 1] = dims[i];
    if (!find_carried(eval, "carried", &args[0], loc, &like, &state))
        return BAD;
    scope_bind(eval, &scope, "state", ev_tensor(loc, eval->read(eval, state.rows, loc).tensor));
    scope_bind(eval, &scope, "sequence", ev_tensor(loc, eval->row_value(eval, ROW_SEQUENCE)));
    scope_bind(eval, &scope, "position", ev_tensor(loc, eval->row_value(eval, ROW_POSITION)));
    scope_bind(eval, &scope, "ones", ev_int(eval, loc, ndim));
    return eval_text(eval, &scope,
                     "where((position > 0).view((-1,) + (1,) * ones), _index_inside(state, sequence), 0.0)");
}

/* carry(name, input): what `carried` gives to the next row of each sequence. */
static struct ev fn_carry(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct eval_kept state;
    (void)count;

    if (!need_rows(eval, "carry", loc) || !need_tensor_of_rows(eval, "carry", &args[1]) ||
        !refuse_gradients(eval, "carry", loc))
        return BAD;
    return find_carried(eval, "carry", &args[0], loc, args[1].tensor, &state) &&
                   keep(eval, loc, &state, args[1].tensor, ROW_SEQUENCE)
               ? ev_none(loc)
               : BAD;
}

/* ---- what an encoder gives ------------------------------------------------------------------------------------- */

static const char *const memory_names[] = {"memory_keys", "memory_values", "memory_length"};

/* int64 without dimensions. */
static bool need_target(struct eval *eval, const struct ev *arg)
{
    if (arg->kind == EV_TENSOR && arg->tensor->dtype == DTYPE_INT64 && arg->tensor->ndim == 0)
        return build_in_range(eval, arg->loc, "remember", arg->tensor,
                              dim_const(&eval->cx->arena, generation_of(eval)->sequences), false);
    diag_error(eval->cx, arg->loc, "remember: sequence is an int64 tensor without dimensions, found %s",
               ev_text(eval, arg));
    return false;
}

/* (tokens, heads, width) of a source. */
static bool need_source(struct eval *eval, const char *name, const struct ev *arg)
{
    const struct value *x = arg->tensor;

    if (!need_tensor(eval, "remember", arg))
        return false;
    if (x->ndim == 3 && dtype_is_float(x->dtype))
        return true;
    diag_error(eval->cx, arg->loc, "remember: %s is (tokens, heads, width), floating, found %s %s", name,
               dtype_rows[x->dtype].name, shape_text(&eval->cx->arena, x->ndim, x->dims));
    return false;
}

/* remember(k, v, sequence): what cross_attention of the module then reads for rows of that sequence. */
static struct ev fn_remember(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *like[3], *k = args[0].tensor, *v = args[1].tensor;
    struct value length, *into, *one;
    struct eval_kept states[3];
    struct scope scope = {.outer = NULL};
    int64_t each;
    (void)count;

    if (!generation_of(eval) || !eval->memory) {
        need_rows(eval, "remember", loc);
        return BAD;
    }
    if (!need_source(eval, "k", &args[0]) || !need_source(eval, "v", &args[1]) ||
        !need_target(eval, &args[2]) || !refuse_gradients(eval, "remember", loc))
        return BAD;
    if (k->dtype != v->dtype || !dim_equal(k->dims[0], v->dims[0]) || !dim_equal(k->dims[1], v->dims[1])) {
        diag_error(eval->cx, loc, "remember: k and v have the same tokens and heads, found %s and %s",
                   shape_text(&eval->cx->arena, k->ndim, k->dims),
                   shape_text(&eval->cx->arena, v->ndim, v->dims));
        return BAD;
    }
    each = dim_upper(k->dims[0]);
    length = (struct value){.dtype = DTYPE_INT64, .ndim = 1, .dims = {k->dims[0]}};
    like[0] = k;
    like[1] = v;
    like[2] = &length;
    if (!eval->memory(eval, loc, CACHE_SOURCE, each, memory_names, like, 3, states))
        return BAD;
    scope_bind(eval, &scope, "sequence", args[2]);
    scope_bind(eval, &scope, "each", ev_int(eval, loc, each));
    scope_bind(eval, &scope, "tokens", ev_dim(loc, k->dims[0]));
    into = eval_text(eval, &scope, "sequence * each + arange(tokens)").tensor;
    one = eval_text(eval, &scope, "sequence.view(1)").tensor;
    if (!put_rows(eval, loc, &states[0], into, args[0].tensor) ||
        !put_rows(eval, loc, &states[1], into, args[1].tensor) ||
        !put_rows(eval, loc, &states[2], one,
                  eval_text(eval, &scope, "torch.full((1,), tokens, dtype=torch.int64)").tensor))
        return BAD;
    return ev_none(loc);
}

/* Of a call whose memory is not known yet: something of the shape that it may have. */
static struct ev not_yet(struct eval *eval, const struct ev *q, struct loc loc)
{
    if (eval->resolves)
        return ev_tensor(loc, build_copy(eval, loc, q->tensor));
    diag_error(eval->cx, loc, "cross_attention: nothing is remembered in '%s'",
               eval_module(eval)->path[0] ? eval_module(eval)->path : "the model");
    diag_hint(eval->cx, "let an entry that reads the source call remember(k, v, sequence) in this module");
    return BAD;
}

/* cross_attention(q, scale, softcap): over all that is remembered for each row's sequence. */
static struct ev fn_cross_attention(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct generation *generation = generation_of(eval);
    struct eval_kept states[3];
    struct value *inputs[CACHED_MOST], *k;
    struct scope scope = {.outer = NULL};
    struct ev settings[] = {args[0], args[0], args[0], args[1], ev_none(loc), args[2]};
    struct op *op;
    (void)count;

    if (!need_rows(eval, "cross_attention", loc) || !need_heads(eval, "q", &args[0]) ||
        !refuse_gradients(eval, "cross_attention", loc))
        return BAD;
    if (!eval->memory(eval, loc, CACHE_SOURCE, 0, memory_names, NULL, 3, states))
        return not_yet(eval, &args[0], loc);
    inputs[CACHED_QUERIES] = args[0].tensor;
    inputs[CACHED_KEYS] = k = eval->read(eval, states[0].rows, loc).tensor;
    inputs[CACHED_VALUES] = eval->read(eval, states[1].rows, loc).tensor;
    settings[1].tensor = k;
    settings[2].tensor = inputs[CACHED_VALUES];
    if (!fit_together(eval, settings, loc))
        return BAD;
    scope_bind(eval, &scope, "length", ev_tensor(loc, eval->read(eval, states[2].rows, loc).tensor));
    scope_bind(eval, &scope, "sequence", ev_tensor(loc, eval->row_value(eval, ROW_SEQUENCE)));
    scope_bind(eval, &scope, "sequences", ev_int(eval, loc, generation->sequences));
    inputs[CACHED_SEQUENCE] = eval->row_value(eval, ROW_SEQUENCE);
    inputs[CACHED_POSITION] = eval_text(eval, &scope, "_index_inside(length, sequence) - 1").tensor;
    inputs[CACHED_PAGES] = eval_text(eval, &scope, "arange(sequences).view(-1, 1)").tensor;
    if (!inputs[CACHED_POSITION] || !inputs[CACHED_PAGES])
        return BAD;
    op = attend(eval, "cross_attention", loc, states, inputs, NULL);
    op->cached.page = dim_upper(k->dims[0]) / generation->sequences;
    return read_settings(eval, settings, op) ? ev_tensor(loc, build_op(eval, loc, op)) : BAD;
}

/* Rows at an index that is known to be inside. */
static struct ev fn_index_inside(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    return ev_tensor(
        loc, build_gather_inside(eval, loc, "index_select", args[0].tensor, 0, args[1].tensor, false));
}

extern const struct function_row generation_functions[];

const struct function_row generation_functions[] = {
    {"cached_attention(q, k, v, scale=None, window=None, softcap=None, bias=None)", ROWS,
     .build = fn_cached_attention},
    {"last(input)", ROWS, .build = fn_last},
    {"carried(name, shape)", ROWS, .build = fn_carried},
    {"carry(name, input)", ROWS, .build = fn_carry},
    {"remember(k, v, sequence)", ROWS, .build = fn_remember},
    {"cross_attention(q, scale=None, softcap=None)", ROWS, .build = fn_cross_attention},
    {"_index_inside(input, index)", HIDDEN, .build = fn_index_inside},
    {"recent(input, n)", ROWS, .build = fn_recent},
    {"cached_scan(decay, input)", ROWS, .build = fn_cached_scan},
    {.signature = NULL},
};
