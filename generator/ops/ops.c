/* ops.c - the op table, and what its rows share. The rows' functions are in ops/<family>.c; this file is apart from
 * them because passes and plan ask the same questions of every op. */
#include "ops/ops.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ops/rows.h"

/* ---- shapes -------------------------------------------------------------------------------------------------- */

int64_t tensor_count(const struct tensor *tensor)
{
    int64_t count = 1;

    for (int i = 0; i < tensor->ndim; i++)
        count *= tensor->dims[i];
    return count;
}

bool dims_equal(const struct value *a, const struct value *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (!dim_equal(a->dims[i], b->dims[i]))
            return false;
    return true;
}

static const struct dim *product(struct arena *arena, int ndim, const struct dim *const *dims)
{
    const struct dim *count = dim_const(arena, 1);

    for (int i = 0; i < ndim; i++)
        count = dim_mul(arena, count, dims[i]);
    return count;
}

const struct dim *dims_count(struct arena *arena, const struct value *value)
{
    return product(arena, value->ndim, value->dims);
}

const char *shape_text(struct arena *arena, int ndim, const struct dim *const *dims)
{
    struct text text = text_new(arena);

    text_add(&text, "(");
    for (int i = 0; i < ndim; i++) {
        text_add(&text, i > 0 ? ", " : "");
        dim_print(&text, dims[i]);
    }
    text_add(&text, ")");
    return text.data;
}

const char *value_shape(struct arena *arena, const struct value *value)
{
    return shape_text(arena, value->ndim, value->dims);
}

const char *dims_differ(struct arena *arena, const struct dim *a, const struct dim *b)
{
    const struct dim *difference = dim_sub(arena, a, b);
    bool never = dim_lower(difference) > 0 || dim_upper(difference) < 0;

    return arena_format(arena, "%s and %s %s", dim_text(arena, a), dim_text(arena, b),
                        never ? "differ" : "agree only for some sizes");
}

double dims_upper(int ndim, const struct dim *const *dims)
{
    double count = 1;

    for (int i = 0; i < ndim; i++)
        count *= (double)dim_upper(dims[i]);
    return count;
}

bool dims_broadcast(struct cx *cx, const struct dim **dims, int *ndim, const struct value *value)
{
    const struct dim *merged[MAX_DIMS];
    int count = *ndim > value->ndim ? *ndim : value->ndim;

    (void)cx;
    for (int i = 1; i <= count; i++) { /* from the last axis */
        const struct dim *a = i <= *ndim ? dims[*ndim - i] : NULL;
        const struct dim *b = i <= value->ndim ? value->dims[value->ndim - i] : NULL;

        if (!a || (b && dim_equals(a, 1)))
            merged[count - i] = b;
        else if (!b || dim_equals(b, 1) || dim_equal(a, b))
            merged[count - i] = a;
        else
            return false;
    }
    memcpy(dims, merged, (size_t)count * sizeof *dims);
    *ndim = count;
    return true;
}

/* Every load of the tail has the type of what it reads. */
static bool tail_fits(const struct op *op, enum dtype dtype)
{
    for (int i = 0; i < op->tail->count; i++) {
        const struct dag_node *node = &op->tail->nodes[i];
        int input = op->tail_first + node->input - 1;

        if (node->prim != PRIM_LOAD)
            continue;
        if (node->input == 0 ? node->dtype != dtype
                             : input >= op->input_count || op->inputs[input]->dtype != node->dtype)
            return false;
    }
    return true;
}

const char *set_output(struct cx *cx, struct op *op, enum dtype dtype, int ndim,
                       const struct dim *const *dims)
{
    struct value *output = op->outputs[0];
    bool typed = ndim <= MAX_DIMS && (!op->tail || tail_fits(op, dtype));

    assert(typed);
    (void)typed;
    output->dtype = op->tail ? op->tail->nodes[op->tail->result].dtype : dtype;
    output->ndim = ndim;
    memmove(output->dims, dims, (size_t)ndim * sizeof *dims);
    for (int i = op->tail ? op->tail_first : op->input_count; i < op->input_count; i++) {
        const struct dim *joined[MAX_DIMS];
        int count = ndim;
        bool fits;

        memcpy(joined, output->dims, sizeof joined);
        fits = dims_broadcast(cx, joined, &count, op->inputs[i]) && count == ndim;
        for (int k = 0; fits && k < ndim; k++)
            fits = dim_equal(joined[k], output->dims[k]);
        assert(fits);
    }
    return NULL;
}

/* ---- walks --------------------------------------------------------------------------------------------------- */

void walk_start(struct walk *walk, int ndim, const int64_t *dims)
{
    walk->ndim = ndim;
    walk->streams = 0;
    for (int i = 0; i < ndim; i++) {
        walk->dims[i] = dims[i];
        walk->index[i] = 0;
    }
}

void walk_add(struct walk *walk, const struct tensor *tensor)
{
    int64_t stride = 1;
    int stream = walk->streams++, missing = walk->ndim - tensor->ndim;

    assert(stream < WALK_STREAMS && missing >= 0);
    walk->at[stream] = 0;
    for (int i = walk->ndim - 1; i >= 0; i--) {
        int64_t dim = i >= missing ? tensor->dims[i - missing] : 1;

        walk->strides[stream][i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
}

void walk_next(struct walk *walk)
{
    for (int i = walk->ndim - 1; i >= 0; i--) {
        bool carry = ++walk->index[i] == walk->dims[i];

        for (int k = 0; k < walk->streams; k++)
            walk->at[k] += carry ? -walk->strides[k][i] * (walk->dims[i] - 1) : walk->strides[k][i];
        if (!carry)
            return;
        walk->index[i] = 0;
    }
}

void dag_run_start(struct dag_run *run, const struct dag *dag)
{
    run->dag = dag;
    run->values = run->few;
    if (dag->count <= (int)(sizeof run->few / sizeof *run->few))
        return;
    run->values = calloc((size_t)dag->count, sizeof *run->values);
    if (!run->values)
        arena_out_of_memory();
}

void dag_run_end(struct dag_run *run)
{
    if (run->values != run->few)
        free(run->values);
}

union scalar dag_run_once(struct dag_run *run)
{
    return dag_eval_in(run->dag, run->inputs, NULL, run->values);
}

void run_tail(const struct op *op, const struct tensor *const *inputs, struct tensor *output)
{
    int64_t count = tensor_count(output);
    struct dag_run run;
    struct walk walk;

    if (!op->tail || dag_is_identity(op->tail))
        return;
    dag_run_start(&run, op->tail);
    walk_start(&walk, output->ndim, output->dims);
    for (int i = op->tail_first; i < op->input_count; i++)
        walk_add(&walk, inputs[i]);
    for (int64_t e = 0; e < count; e++, walk_next(&walk)) {
        run.inputs[0] = output->data[e];
        for (int i = 0; i < walk.streams; i++)
            run.inputs[i + 1] = inputs[op->tail_first + i]->data[walk.at[i]];
        output->data[e] = dag_run_once(&run);
    }
    dag_run_end(&run);
}

void round_output(struct tensor *output, enum dtype dtype)
{
    int64_t count = tensor_count(output);

    for (int64_t e = 0; dtype != DTYPE_FLOAT64 && e < count; e++)
        output->data[e].f = dtype_round(dtype, output->data[e].f);
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

/* The maker has set the outputs. */
static const char *given_infer(struct cx *cx, struct op *op)
{
    (void)cx, (void)op;
    return NULL;
}

static const char *fence_infer(struct cx *cx, struct op *op)
{
    (void)cx;
    assert(op->output_count == op->input_count);
    for (int i = 0; i < op->input_count; i++) {
        op->outputs[i]->dtype = op->inputs[i]->dtype;
        op->outputs[i]->ndim = op->inputs[i]->ndim;
        memcpy(op->outputs[i]->dims, op->inputs[i]->dims, sizeof op->inputs[i]->dims);
    }
    return NULL;
}

static const char *random_infer(struct cx *cx, struct op *op)
{
    return set_output(cx, op, DTYPE_FLOAT32, op->outputs[0]->ndim, op->outputs[0]->dims);
}

int conv_head_first(const struct op *op)
{
    return 2 + op->window.bias;
}

/* The inputs of a tail may have any strides. */
static bool in_tail(const struct op *op, int input)
{
    return op->tail && input >= op->tail_first;
}

static enum op_accepts dense_accepts(const struct op *op, int input)
{
    return in_tail(op, input) ? ACCEPT_ANY : ACCEPT_DENSE;
}

static enum op_accepts window_accepts(const struct op *op, int input)
{
    if (in_tail(op, input))
        return ACCEPT_ANY;
    if (op->head && (input == 0 || input >= conv_head_first(op)))
        return ACCEPT_ANY; /* lines of it are converted one by one */
    return input == 0 && op->window.channels_last ? ACCEPT_ROWS : ACCEPT_DENSE;
}

static enum op_accepts contract_accepts(const struct op *op, int input)
{
    if (in_tail(op, input))
        return ACCEPT_ANY;
    return input == 0 ? ACCEPT_ROWS : input == 1 ? ACCEPT_ANY : ACCEPT_DENSE;
}

static enum op_accepts norm_accepts(const struct op *op, int input)
{
    if (in_tail(op, input))
        return ACCEPT_ANY;
    return input == 0 && op->norm.axes == 1 ? ACCEPT_ROWS : ACCEPT_DENSE;
}

static enum op_accepts softmax_accepts(const struct op *op, int input)
{
    return in_tail(op, input) ? ACCEPT_ANY : softmax_is_last(op) ? ACCEPT_ROWS : ACCEPT_DENSE;
}

int op_bias_at(const struct op *op)
{
    if (op->code == GRAPH_OP_RECURRENT)
        return recurrent_at(op, RECURRENT_BIAS);
    return (op->code == GRAPH_OP_CONTRACT && op->contract.bias) ||
                   (op->code == GRAPH_OP_CONV && op->window.bias)
               ? 2
               : -1;
}

/* Of what lies by steps and rows the last axis alone has to be contiguous: see pass_reads. */
static enum op_accepts recurrent_accepts(const struct op *op, int input)
{
    return recurrent_by_rows(op, input) ? ACCEPT_ANY : ACCEPT_DENSE;
}

const struct op_row op_rows[GRAPH_OP_COUNT] = {
    [GRAPH_OP_INPUT] = {.name = "input", .infer = given_infer},
    [GRAPH_OP_TENSOR] = {.name = "tensor", .infer = given_infer, .pure = true},
    [GRAPH_OP_CONST] = {.name = "const", .infer = given_infer, .pure = true},
    [GRAPH_OP_VIEW] = {.name = "view", .infer = view_infer, .interpret = view_interpret, .pure = true},
    [GRAPH_OP_MAP] = {.name = "map", .infer = map_infer, .interpret = map_interpret, .pure = true},
    [GRAPH_OP_REDUCE] = {.name = "reduce",
                         .infer = reduce_infer,
                         .interpret = reduce_interpret,
                         .pure = true},
    [GRAPH_OP_CONTRACT] = {"contract", contract_infer, contract_interpret, contract_accepts, .pure = true},
    [GRAPH_OP_CONV] = {"conv", conv_infer, conv_interpret, window_accepts, .pure = true},
    [GRAPH_OP_POOL] = {"pool", pool_infer, pool_interpret, window_accepts, .pure = true},
    [GRAPH_OP_NORM] = {"norm", norm_infer, norm_interpret, norm_accepts, .pure = true},
    [GRAPH_OP_SOFTMAX] = {"softmax", softmax_infer, softmax_interpret, softmax_accepts, .pure = true},
    [GRAPH_OP_ATTENTION] = {.name = "attention", .infer = attention_infer, .pure = true},
    [GRAPH_OP_RECURRENT] = {"recurrent", recurrent_infer, recurrent_interpret, recurrent_accepts,
                            .pure = true},
    [GRAPH_OP_RECURRENT_GRADIENT] = {"recurrent_gradient", recurrent_gradient_infer, NULL, recurrent_accepts,
                                     .pure = true},
    [GRAPH_OP_CONCAT] = {.name = "concat",
                         .infer = concat_infer,
                         .interpret = concat_interpret,
                         .pure = true},
    [GRAPH_OP_GATHER] = {.name = "gather",
                         .infer = gather_infer,
                         .interpret = gather_interpret,
                         .pure = true},
    [GRAPH_OP_SCATTER] = {.name = "scatter",
                          .infer = scatter_infer,
                          .interpret = scatter_interpret,
                          .pure = true},
    [GRAPH_OP_SCAN] = {.name = "scan", .infer = scan_infer, .interpret = scan_interpret, .pure = true},
    [GRAPH_OP_SORT] = {.name = "sort", .infer = sort_infer, .interpret = sort_interpret, .pure = true},
    [GRAPH_OP_CTC] = {.name = "ctc", .infer = ctc_infer, .accepts = dense_accepts, .pure = true},
    [GRAPH_OP_CHECK] = {.name = "check", .infer = given_infer, .accepts = dense_accepts},
    [GRAPH_OP_WRITE] = {.name = "write", .infer = write_infer},
    [GRAPH_OP_FENCE] = {.name = "fence", .infer = fence_infer, .accepts = dense_accepts},
    [GRAPH_OP_RANDOM] = {.name = "random", .infer = random_infer},
    [GRAPH_OP_CALL] = {.name = "call", .infer = given_infer, .accepts = dense_accepts},
    [GRAPH_OP_PANELS] = {.name = "panels",
                         .infer = panels_infer,
                         .interpret = panels_interpret,
                         .pure = true},
    [GRAPH_OP_YIELD] = {.name = "yield", .infer = given_infer},
    [GRAPH_OP_UPDATE] = {.name = "update", .infer = given_infer, .accepts = dense_accepts},
    [GRAPH_OP_GRADIENT] = {.name = "gradient", .infer = given_infer},
};

/* ---- all ops ------------------------------------------------------------------------------------------------- */

#define INTERPRET_BYTES (1 << 20)
#define INTERPRET_WORK (1 << 28) /* bytes and multiply-adds of one compilation: a second or two */

/* A dag that reads run-time sizes has no value now. */
static bool has_sizes(const struct dag *dag)
{
    for (int i = 0; dag && i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_DIM)
            return true;
    return false;
}

static bool is_known(const struct op *op)
{
    if (!op_rows[op->code].interpret || op->output_count != 1)
        return false;
    if (has_sizes(op->dag) || has_sizes(op->head) || has_sizes(op->tail))
        return false;
    if (op->input_count >= WALK_STREAMS && op->code != GRAPH_OP_CONCAT)
        return false;
    if (op->code == GRAPH_OP_VIEW && ((op->view.start && !dim_is_const(op->view.start, NULL)) ||
                                      (op->view.step && !dim_is_const(op->view.step, NULL)) ||
                                      (op->view.dilation && !dim_is_const(op->view.dilation, NULL))))
        return false;
    for (int i = 0; i < op->input_count; i++)
        if (!op->inputs[i]->constant)
            return false;
    return true;
}

struct tensor *op_interpret(struct cx *cx, const struct op *op)
{
    const struct value *value = op->outputs[0];
    struct tensor *output;
    const struct tensor **inputs;
    int64_t count = 1;
    double work;

    if (!is_known(op))
        return NULL;
    output = ARENA_NEW(&cx->arena, struct tensor);
    output->dtype = value->dtype;
    output->ndim = value->ndim;
    for (int i = 0; i < value->ndim; i++) {
        if (!dim_is_const(value->dims[i], &output->dims[i]) || output->dims[i] < 0)
            return NULL;
        if (__builtin_mul_overflow(count, output->dims[i], &count))
            return NULL;
    }
    if (count > INTERPRET_BYTES / dtype_rows[output->dtype].bytes)
        return NULL;
    work = cx->evaluated + (double)count * sizeof *output->data + op_macs(op);
    if (work > INTERPRET_WORK)
        return NULL;
    cx->evaluated = work;
    output->data = ARENA_ARRAY(&cx->arena, count, union scalar);
    inputs = ARENA_ARRAY(&cx->arena, op->input_count + 1, const struct tensor *);
    for (int i = 0; i < op->input_count; i++)
        inputs[i] = op->inputs[i]->constant;
    op_rows[op->code].interpret(op, inputs, output);
    return output;
}

double op_macs(const struct op *op)
{
    static double (*const macs[GRAPH_OP_COUNT])(const struct op *op) = {
        [GRAPH_OP_CONTRACT] = contract_macs,   [GRAPH_OP_ATTENTION] = attention_macs,
        [GRAPH_OP_RECURRENT] = recurrent_macs, [GRAPH_OP_RECURRENT_GRADIENT] = recurrent_macs,
        [GRAPH_OP_CONV] = conv_macs,           [GRAPH_OP_POOL] = pool_macs,
        [GRAPH_OP_REDUCE] = reduce_macs,
    };

    return macs[op->code] ? macs[op->code](op) : 0;
}
