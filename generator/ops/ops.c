/* ops.c - the op table, and what its rows share: shapes, walks, and the questions that one asks of every op. The rows are in
 * the files of their families. */
#include "ops/ops.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "modc.h"
#include "ops/rows.h"

/* ---- shapes -------------------------------------------------------------------------------------------------- */

union scalar scalar_load(enum dtype dtype, const char *from)
{
    union scalar value = {.i = 0};
    int32_t four;
    int16_t two;

    if (dtype_is_float(dtype)) {
        value.f = modc_number(from, (enum modc_dtype)dtype);
        return value;
    }
    switch (dtype_rows[dtype].bytes) {
    case 8:
        memcpy(&value.i, from, 8);
        break;
    case 4:
        memcpy(&four, from, 4);
        value.i = four;
        break;
    case 2:
        memcpy(&two, from, 2);
        value.i = two;
        break;
    default:
        value.i = dtype == DTYPE_INT8   ? (int64_t) * (const signed char *)from
                  : dtype == DTYPE_BOOL ? *from != 0
                                        : (int64_t) * (const unsigned char *)from;
        break;
    }
    return value;
}

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
    const char *where = never ? NULL : dim_agreement(arena, a, b);

    return arena_format(arena, "%s and %s %s%s", dim_text(arena, a), dim_text(arena, b),
                        never   ? "differ"
                        : where ? "agree only where "
                                : "agree only for some sizes",
                        where ? where : "");
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

    if (ndim > MAX_DIMS || (op->tail && !tail_fits(op, dtype)))
        return "a tail reads another type than it is given";
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
        if (!fits)
            return "what a tail reads does not broadcast to the result";
    }
    return NULL;
}

bool is_of_rows(const struct value *value, const struct dim *rows)
{
    return value->dtype == DTYPE_INT64 && value->ndim == 1 && dim_equal(value->dims[0], rows);
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

void count_dag(struct op_work *work, double values, const struct dag *dag)
{
    work->values = values;
    for (int i = 0; dag && i < dag->count; i++)
        work->functions += prim_is_long(dag->nodes[i].prim) ? values : 0;
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

#define OP_ROW(code, row) [GRAPH_OP_##code] = &op_row_##row,
const struct op_row *const op_rows[GRAPH_OP_COUNT] = {OPS(OP_ROW)};
#undef OP_ROW

bool in_tail(const struct op *op, int input)
{
    return op->tail && input >= op->tail_first;
}

enum op_accepts dense_accepts(const struct op *op, int input)
{
    return in_tail(op, input) ? ACCEPT_ANY : ACCEPT_DENSE;
}

/* A dag of `count` inputs loads no others. */
static bool loads_inside(const struct dag *dag, int count)
{
    for (int i = 0; dag && i < dag->count; i++)
        if (dag->nodes[i].prim == PRIM_LOAD && (dag->nodes[i].input < 0 || dag->nodes[i].input >= count))
            return false;
    return true;
}

const char *op_broken(struct cx *cx, const struct op *op)
{
    const struct op_row *row = op_rows[op->code];

    if (op->tail ? op->tail_first < 0 || op->tail_first > op->input_count : op->tail_first != op->input_count)
        return "its tail begins where it has no inputs";
    if (!loads_inside(op->tail, 1 + op->input_count - op->tail_first))
        return "its tail loads an input that it has not";
    if (op->tail && row->tail == TAIL_NONE)
        return "it cannot have a tail";
    return row->broken ? row->broken(cx, op) : NULL;
}

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
    const struct op_row *row = op_rows[op->code];

    if (!row->interpret || op->output_count != 1)
        return false;
    if (has_sizes(op->dag) || has_sizes(op->head) || has_sizes(op->tail))
        return false;
    if ((op->input_count >= WALK_STREAMS && !row->many) || (row->known && !row->known(op)))
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
    op_rows[op->code]->interpret(op, inputs, output);
    return output;
}

double op_macs(const struct op *op)
{
    return op_rows[op->code]->macs ? op_rows[op->code]->macs(op) : 0;
}

struct op_work op_work(const struct op *op)
{
    const struct value *result = op_result(op);
    struct op_work work = {0};

    if (op_rows[op->code]->work)
        op_rows[op->code]->work(op, &work);
    else if (result)
        work.values = dims_upper(result->ndim, result->dims);
    return work;
}

double value_bytes(const struct value *value)
{
    return dims_upper(value->ndim, value->dims) * (double)dtype_rows[value->dtype].bytes;
}

double op_bytes(const struct op *op)
{
    double bytes = 0;

    if (op_rows[op->code]->bytes)
        return op_rows[op->code]->bytes(op);
    for (int i = 0; i < op->input_count; i++)
        bytes += value_bytes(op->inputs[i]);
    for (int i = 0; i < op->output_count; i++)
        bytes += value_bytes(op->outputs[i]);
    return bytes;
}

bool op_is_step(const struct op *op)
{
    return !op_rows[op->code]->source && op->code != GRAPH_OP_VIEW;
}

const struct value *op_result(const struct op *op)
{
    if (op_rows[op->code]->target > 0)
        return op->inputs[op_rows[op->code]->target];
    return op->output_count > 0 ? op->outputs[0] : NULL;
}

bool op_carries(const struct op *op, int input)
{
    return !op_rows[op->code]->carries || op_rows[op->code]->carries(op, input);
}

bool op_reads_number(const struct op *op, int input)
{
    return op_rows[op->code]->mapped && op_rows[op->code]->mapped(op, input);
}

bool op_reads_packed(const struct op *op)
{
    return op_rows[op->code]->weighted && !op_rows[op->code]->unpacked;
}

int op_weight_groups(const struct op *op)
{
    return op_rows[op->code]->groups ? op_rows[op->code]->groups(op) : 1;
}

int op_second_weight(const struct op *op, int *bias)
{
    *bias = -1;
    return op_rows[op->code]->second ? op_rows[op->code]->second(op, bias) : -1;
}

int op_bias_at(const struct op *op)
{
    return op_rows[op->code]->bias ? op_rows[op->code]->bias(op) : -1;
}

enum dtype op_computed(const struct op *op)
{
    for (int i = 0; op->tail && i < op->tail->count; i++)
        if (op->tail->nodes[i].prim == PRIM_LOAD && op->tail->nodes[i].input == 0)
            return op->tail->nodes[i].dtype;
    return op->outputs[0]->dtype;
}

bool op_takes_tail(const struct op *op)
{
    const struct op_row *row = op_rows[op->code];

    return row->tail > TAIL_OWN && (!row->tails || row->tails(op));
}

int op_columns(const struct op *op)
{
    return op_rows[op->code]->columns ? op_rows[op->code]->columns(op) : op->outputs[0]->ndim > 0;
}

const char *op_forced(const struct cx *cx, enum op_code code)
{
    const struct options *options = cx->options;
    size_t length = strlen(op_rows[code]->name);

    for (int i = 0; options && i < options->plan_count; i++)
        if (strncmp(options->plans[i], op_rows[code]->name, length) == 0 && options->plans[i][length] == '=')
            return options->plans[i] + length + 1;
    return NULL;
}
