/* test_ops.c - the op table: shapes and messages of infer, reference results against sums written out, views against
 * the elements they stand for, what rows say of ops against what these do. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/ops.h"

static struct cx cx;
static const struct size sizes[] = {{"batch", 32, 0, "batch", 0, NULL},
                                    {"tokens", 128, 1, "tokens", 0, NULL}};

#define ARENA (&cx.arena)
#define INT_ARRAY(...) ((const int64_t[]){__VA_ARGS__})

static const double inf = (double)INFINITY, nan_ = (double)NAN;

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(diag_errors(&cx), 0);
    arena_free(&cx.arena);
    memset(&cx, 0, sizeof cx);
    return 0;
}

/* ---- making values and ops ----------------------------------------------------------------------------------- */

static const struct dim *k(int64_t value)
{
    return dim_const(ARENA, value);
}

static const struct dim *batch(void)
{
    return dim_size(ARENA, &sizes[0]);
}

static const struct dim *tokens(void)
{
    return dim_size(ARENA, &sizes[1]);
}

/* NULL ends the dims. */
static struct value *value(enum dtype dtype, ...)
{
    struct value *made = ARENA_NEW(ARENA, struct value);
    const struct dim *dim;
    va_list dims;

    made->dtype = dtype;
    va_start(dims, dtype);
    while ((dim = va_arg(dims, const struct dim *)) != NULL)
        made->dims[made->ndim++] = dim;
    va_end(dims);
    return made;
}

#define F32(...) value(DTYPE_FLOAT32, __VA_ARGS__, (const struct dim *)NULL)
#define TYPED(dtype, ...) value(dtype, __VA_ARGS__, (const struct dim *)NULL)

static struct op *op_of(enum op_code code, const char *label, int count, struct value *const *inputs)
{
    struct op *op = ARENA_NEW(ARENA, struct op);

    op->code = code;
    op->label = label;
    op->inputs = ARENA_ARRAY(ARENA, count + 1, struct value *);
    for (int i = 0; i < count; i++)
        op->inputs[i] = inputs[i];
    op->input_count = op->tail_first = count;
    op->outputs = ARENA_ARRAY(ARENA, 1, struct value *);
    op->outputs[0] = ARENA_NEW(ARENA, struct value);
    op->output_count = 1;
    return op;
}

#define OP(code, label, ...)                                                                                 \
    op_of(code, label, sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *),                     \
          (struct value *[]){__VA_ARGS__})

static const char *infer(struct op *op)
{
    return op_rows[op->code]->infer(&cx, op);
}

static const char *out_shape(struct op *op)
{
    const char *fault = infer(op);

    return fault ? fault : shape_text(ARENA, op->outputs[0]->ndim, op->outputs[0]->dims);
}

#define CHECK_SHAPE(op, text) assert_string_equal(out_shape(op), text)

/* A constant; its elements count up from `first` by `step`. */
static struct value *counted(enum dtype dtype, double first, double step, int ndim, const int64_t *dims)
{
    struct value *made = ARENA_NEW(ARENA, struct value);
    struct tensor *tensor = ARENA_NEW(ARENA, struct tensor);

    tensor->dtype = made->dtype = dtype;
    tensor->ndim = made->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        tensor->dims[i] = dims[i];
        made->dims[i] = k(dims[i]);
    }
    tensor->data = ARENA_ARRAY(ARENA, tensor_count(tensor), union scalar);
    for (int64_t i = 0; i < tensor_count(tensor); i++) {
        double number = dtype_round(dtype, first + step * (double)i);

        if (dtype_is_float(dtype))
            tensor->data[i].f = number;
        else
            tensor->data[i].i = (int64_t)number;
    }
    made->constant = tensor;
    return made;
}

#define COUNTED(dtype, first, step, ...)                                                                     \
    counted(dtype, first, step, sizeof INT_ARRAY(__VA_ARGS__) / sizeof(int64_t), INT_ARRAY(__VA_ARGS__))

static struct value *listed(int count, const double *numbers)
{
    struct value *made = counted(DTYPE_FLOAT64, 0, 0, 1, INT_ARRAY(count));

    for (int i = 0; i < count; i++)
        made->constant->data[i].f = numbers[i];
    return made;
}

#define LISTED(...) listed(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

/* A view of a constant as another shape, elements shared. */
static struct value *shaped(const struct value *from, int ndim, const int64_t *dims)
{
    struct value *made = counted(from->dtype, 0, 0, ndim, dims);

    memcpy(made->constant->data, from->constant->data,
           (size_t)tensor_count(made->constant) * sizeof(union scalar));
    return made;
}

#define SHAPED(from, ...)                                                                                    \
    shaped(from, sizeof INT_ARRAY(__VA_ARGS__) / sizeof(int64_t), INT_ARRAY(__VA_ARGS__))

static struct tensor *run(struct op *op)
{
    const char *fault = infer(op);
    struct tensor *result;

    if (fault)
        print_error("%s\n", fault);
    assert_null(fault);
    result = op_interpret(&cx, op);
    assert_non_null(result);
    assert_int_equal(result->dtype, op->outputs[0]->dtype);
    return result;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static void check_numbers(const struct tensor *tensor, int count, const double *numbers)
{
    assert_int_equal(tensor_count(tensor), count);
    for (int i = 0; i < count; i++) {
        double found = dtype_is_float(tensor->dtype) ? tensor->data[i].f : (double)tensor->data[i].i;

        if (!same(found, numbers[i])) {
            print_error("element %d is %.17g, not %.17g\n", i, found, numbers[i]);
            fail();
        }
    }
}

#define CHECK_NUMBERS(tensor, ...)                                                                           \
    check_numbers(tensor, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

/* dag of one primitive over inputs 0 and 1 */
static struct dag *binary(enum prim prim, enum dtype dtype)
{
    struct dag *dag = dag_new(ARENA, 2);
    bool compares = prim >= PRIM_EQ && prim <= PRIM_GE;
    int a = dag_load(ARENA, dag, 0, dtype), b = dag_load(ARENA, dag, 1, dtype);

    dag->result = dag_prim(ARENA, dag, prim, compares ? DTYPE_BOOL : dtype, a, b, -1);
    return dag;
}

static void give_tail(struct op *op, struct dag *tail, struct value *input)
{
    op->tail = tail;
    op->tail_first = op->input_count;
    if (input) {
        struct value **inputs = ARENA_ARRAY(ARENA, op->input_count + 1, struct value *);

        memcpy(inputs, op->inputs, (size_t)op->input_count * sizeof *inputs);
        inputs[op->input_count++] = input;
        op->inputs = inputs;
    }
}

/* ---- map ----------------------------------------------------------------------------------------------------- */

static struct op *map_of(enum prim prim, struct value *a, struct value *b)
{
    struct op *op = OP(GRAPH_OP_MAP, "add", a, b);

    op->dag = binary(prim, a->dtype);
    return op;
}

static void test_map_shapes(void **state)
{
    struct op *op;

    (void)state;
    CHECK_SHAPE(map_of(PRIM_ADD, F32(batch(), k(4)), F32(k(4))), "(batch, 4)");
    CHECK_SHAPE(map_of(PRIM_ADD, F32(batch(), k(1)), F32(k(1), tokens())), "(batch, tokens)");
    CHECK_SHAPE(map_of(PRIM_ADD, F32(k(1)), F32(k(0))), "(0)");
    CHECK_SHAPE(map_of(PRIM_ADD, F32(k(3)), value(DTYPE_FLOAT32, (const struct dim *)NULL)), "(3)");
    CHECK_SHAPE(
        map_of(PRIM_ADD, F32(k(2), k(4)), F32(k(3))),
        "add: (2, 4) and (3) do not broadcast: the sizes 4 and 3 differ at dimension 1, and neither is 1");
    CHECK_SHAPE(
        map_of(PRIM_ADD, F32(batch()), F32(tokens())),
        "add: (batch) and (tokens) do not broadcast: the sizes batch and tokens agree only for some sizes at "
        "dimension 0, and neither is 1");
    CHECK_SHAPE(
        map_of(PRIM_ADD, F32(batch()), F32(k(40))),
        "add: (batch) and (40) do not broadcast: the sizes batch and 40 differ at dimension 0, and neither is "
        "1");
    op = map_of(PRIM_LT, F32(batch()), F32(batch()));
    assert_null(infer(op));
    assert_int_equal(op->outputs[0]->dtype, DTYPE_BOOL);
}

static void test_map_values(void **state)
{
    struct op *op = map_of(PRIM_SUB, COUNTED(DTYPE_FLOAT32, 0, 1, 2, 1, 2),
                           COUNTED(DTYPE_FLOAT32, 0, 10, 3, 1));

    (void)state;
    CHECK_NUMBERS(run(op), 0, 1, -10, -9, -20, -19, 2, 3, -8, -7, -18, -17);
    op = map_of(PRIM_ADD, COUNTED(DTYPE_UINT8, 250, 1, 4), COUNTED(DTYPE_UINT8, 3, 0, 1));
    CHECK_NUMBERS(run(op), 253, 254, 255, 0);
    op = map_of(PRIM_ADD, COUNTED(DTYPE_FLOAT32, 0, 0, 0, 4), COUNTED(DTYPE_FLOAT32, 3, 0, 4));
    assert_int_equal(tensor_count(run(op)), 0);
}

/* What is too large, has unknown inputs or reads sizes is not computed. */
static void test_map_limits(void **state)
{
    struct op *op = map_of(PRIM_ADD, COUNTED(DTYPE_FLOAT32, 0, 0, 512, 1), COUNTED(DTYPE_FLOAT32, 0, 0, 512));
    struct dag_node node = {.prim = PRIM_DIM, .dtype = DTYPE_INT64, .args = {-1, -1, -1}};

    (void)state;
    assert_int_equal(tensor_count(run(op)), 512 * 512);
    op = map_of(PRIM_ADD, COUNTED(DTYPE_FLOAT32, 0, 0, 512, 1), COUNTED(DTYPE_FLOAT32, 0, 0, 513));
    assert_null(infer(op));
    assert_null(op_interpret(&cx, op));
    op = map_of(PRIM_ADD, COUNTED(DTYPE_FLOAT32, 0, 0, 4), F32(k(4)));
    assert_null(infer(op));
    assert_null(op_interpret(&cx, op));
    op = op_of(GRAPH_OP_MAP, "size", 0, NULL);
    op->dag = dag_new(ARENA, 0);
    node.dim = batch();
    op->dag->result = dag_add(ARENA, op->dag, node);
    assert_null(infer(op));
    assert_null(op_interpret(&cx, op));
    op->dag = dag_new(ARENA, 0);
    op->dag->result = dag_integer(ARENA, op->dag, DTYPE_INT64, 3);
    CHECK_NUMBERS(run(op), 3);
}

/* ---- reduce -------------------------------------------------------------------------------------------------- */

static struct op *reduce_of(enum reduce_kind kind, struct value *input, unsigned axes, bool keepdim)
{
    struct op *op = OP(GRAPH_OP_REDUCE, "max", input);

    op->reduce.kind = kind;
    op->reduce.keepdim = keepdim;
    for (int i = 0; i < MAX_DIMS; i++)
        op->reduce.axes[i] = axes >> i & 1;
    return op;
}

static void test_reduce_shapes(void **state)
{
    struct op *op;

    (void)state;
    CHECK_SHAPE(reduce_of(REDUCE_SUM, F32(batch(), k(4), tokens()), 2, false), "(batch, tokens)");
    CHECK_SHAPE(reduce_of(REDUCE_SUM, F32(batch(), k(4), tokens()), 6, true), "(batch, 1, 1)");
    CHECK_SHAPE(reduce_of(REDUCE_SUM, F32(batch(), k(4)), 3, false), "()");
    CHECK_SHAPE(reduce_of(REDUCE_MAX, F32(k(3), k(0)), 2, false),
                "max: dimension 1 of (3, 0) has size 0, and there is no max of nothing");
    CHECK_SHAPE(reduce_of(REDUCE_SUM, F32(k(3), k(0)), 2, false), "(3)");
    op = reduce_of(REDUCE_SUM, TYPED(DTYPE_UINT8, k(3)), 1, false);
    assert_null(infer(op));
    assert_int_equal(op->outputs[0]->dtype, DTYPE_INT64);
    op = reduce_of(REDUCE_ANY, F32(k(3)), 1, false);
    assert_null(infer(op));
    assert_int_equal(op->outputs[0]->dtype, DTYPE_BOOL);
    op = reduce_of(REDUCE_ARGMAX, F32(k(3)), 1, false);
    assert_null(infer(op));
    assert_int_equal(op->outputs[0]->dtype, DTYPE_INT64);
    assert_true(op_macs(op) == 3);
}

static void test_reduce_values(void **state)
{
    struct value *x = COUNTED(DTYPE_FLOAT64, 0, 1, 2, 3, 2); /* 0 .. 11 */
    struct value *n = SHAPED(LISTED(1, nan_, 5, 2, nan_, 0, 7, 7, 3), 3, 3);

    (void)state;
    CHECK_NUMBERS(run(reduce_of(REDUCE_SUM, x, 2, false)), 6, 9, 24, 27);
    CHECK_NUMBERS(run(reduce_of(REDUCE_SUM, x, 5, true)), 14, 22, 30);
    CHECK_NUMBERS(run(reduce_of(REDUCE_SUM, x, 7, false)), 66);
    CHECK_NUMBERS(run(reduce_of(REDUCE_PROD, x, 4, false)), 0, 6, 20, 42, 72, 110);
    CHECK_NUMBERS(run(reduce_of(REDUCE_MAX, x, 3, false)), 10, 11);
    CHECK_NUMBERS(run(reduce_of(REDUCE_MIN, x, 1, false)), 0, 1, 2, 3, 4, 5);
    CHECK_NUMBERS(run(reduce_of(REDUCE_ALL, x, 4, false)), 0, 1, 1, 1, 1, 1);
    CHECK_NUMBERS(run(reduce_of(REDUCE_ANY, x, 7, false)), 1);
    CHECK_NUMBERS(run(reduce_of(REDUCE_SUM, x, 0, false)), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    CHECK_NUMBERS(run(reduce_of(REDUCE_MAX, n, 2, false)), nan_, nan_, 7);
    CHECK_NUMBERS(run(reduce_of(REDUCE_ARGMAX, n, 2, false)), 1, 1, 0); /* the first, NaN beyond all */
    CHECK_NUMBERS(run(reduce_of(REDUCE_ARGMIN, n, 2, false)), 1, 1, 2);
    CHECK_NUMBERS(run(reduce_of(REDUCE_ARGMAX, SHAPED(LISTED(1, 3, 9, 9, 0, 2), 2, 3), 3, false)), 2);
    CHECK_NUMBERS(run(reduce_of(REDUCE_MAX, LISTED(-inf, -inf), 1, false)), -inf);
    CHECK_NUMBERS(run(reduce_of(REDUCE_SUM, COUNTED(DTYPE_UINT8, 200, 1, 3), 1, false)), 603);
    CHECK_NUMBERS(run(reduce_of(REDUCE_MAX, COUNTED(DTYPE_INT8, -5, 1, 3), 1, false)), -3);
    CHECK_NUMBERS(run(reduce_of(REDUCE_SUM, COUNTED(DTYPE_FLOAT32, 0, 0, 2, 0), 2, false)), 0, 0);
    CHECK_NUMBERS(run(reduce_of(REDUCE_PROD, COUNTED(DTYPE_FLOAT32, 0, 0, 2, 0), 2, false)), 1, 1);
    CHECK_NUMBERS(run(reduce_of(REDUCE_ALL, COUNTED(DTYPE_BOOL, 0, 0, 0), 1, false)), 1);
}

/* A mean of products: head over two inputs that broadcast, tail over a third. */
static void test_reduce_parts(void **state)
{
    struct value *a = COUNTED(DTYPE_FLOAT64, 1, 1, 2, 3), *b = COUNTED(DTYPE_FLOAT64, 10, 10, 3);
    struct value *c = COUNTED(DTYPE_FLOAT64, 2, 2, 2);
    struct op *op = OP(GRAPH_OP_REDUCE, "mean", a, b);

    (void)state;
    op->reduce.kind = REDUCE_SUM;
    op->reduce.axes[1] = true;
    op->head = binary(PRIM_MUL, DTYPE_FLOAT64);
    give_tail(op, binary(PRIM_DIV, DTYPE_FLOAT64), c);
    CHECK_NUMBERS(run(op), 140.0 / 2, 320.0 / 4);
    assert_true(op_macs(op) == 6);
    give_tail(op, binary(PRIM_LT, DTYPE_FLOAT64), NULL);
    op->tail_first = 2;
    CHECK_NUMBERS(run(op), 0, 0);
}

/* ---- contract ------------------------------------------------------------------------------------------------ */

static struct op *matmul_of(struct value *a, struct value *b)
{
    return OP(GRAPH_OP_CONTRACT, "matmul", a, b);
}

static struct op *linear_of(struct value *a, struct value *b, struct value *bias)
{
    struct op *op = OP(GRAPH_OP_CONTRACT, "linear", a, b, bias);

    op->contract.bias = true;
    return op;
}

static void test_contract_shapes(void **state)
{
    struct op *op = matmul_of(F32(batch(), k(4)), F32(k(4), k(2)));

    (void)state;
    CHECK_SHAPE(op, "(batch, 2)");
    assert_true(op_macs(op) == 32 * 2 * 4);
    CHECK_SHAPE(matmul_of(F32(k(4)), F32(k(4), k(2))), "(2)");
    CHECK_SHAPE(matmul_of(F32(batch(), k(7), k(5), k(4)), F32(k(4), k(2))), "(batch, 7, 5, 2)");
    CHECK_SHAPE(matmul_of(F32(batch(), k(1), k(5), k(4)), F32(k(6), k(4), k(2))), "(batch, 6, 5, 2)");
    CHECK_SHAPE(matmul_of(F32(k(5), k(4)), F32(batch(), k(4), k(2))), "(batch, 5, 2)");
    CHECK_SHAPE(matmul_of(F32(batch(), k(4)), F32(k(8), k(2))),
                "matmul: (batch, 4) x (8, 2): the inner dimensions 4 and 8 differ");
    CHECK_SHAPE(
        matmul_of(F32(k(3), batch()), F32(tokens(), k(2))),
        "matmul: (3, batch) x (tokens, 2): the inner dimensions batch and tokens agree only for some sizes");
    CHECK_SHAPE(matmul_of(F32(k(3), k(5), k(4)), F32(k(2), k(4), k(2))),
                "matmul: (3, 5, 4) x (2, 4, 2): the leading dimensions do not broadcast");
    CHECK_SHAPE(linear_of(F32(batch(), k(4)), F32(k(4), k(2)), F32(k(2))), "(batch, 2)");
    CHECK_SHAPE(linear_of(F32(batch(), k(4)), F32(k(4), k(2)), F32(k(3))),
                "linear: (batch, 4) x (4, 2) + bias (3): the bias needs 2 elements of type float32");
}

static void test_contract_values(void **state)
{
    struct value *a = COUNTED(DTYPE_FLOAT64, 1, 1, 2, 3), *b = COUNTED(DTYPE_FLOAT64, 1, 1, 3, 2);
    struct op *op = linear_of(a, b, LISTED(100, -100));

    (void)state;
    CHECK_NUMBERS(run(matmul_of(a, b)), 22, 28, 49, 64);
    CHECK_NUMBERS(run(op), 122, -72, 149, -36);
    op = linear_of(a, b, LISTED(100, -100));
    give_tail(op, elementwise_dag(&cx, elementwise_find("relu"), DTYPE_FLOAT64, NULL), NULL);
    CHECK_NUMBERS(run(op), 122, 0, 149, 0);
    op = matmul_of(a, b);
    give_tail(op, binary(PRIM_ADD, DTYPE_FLOAT64), SHAPED(LISTED(1000, 2000), 2, 1));
    CHECK_NUMBERS(run(op), 1022, 1028, 2049, 2064);
    CHECK_NUMBERS(run(matmul_of(COUNTED(DTYPE_FLOAT64, 1, 1, 3), b)), 22, 28);
    CHECK_NUMBERS(run(matmul_of(COUNTED(DTYPE_INT8, 100, 0, 1, 2), COUNTED(DTYPE_INT8, 1, 1, 2, 1))), 44);
    CHECK_NUMBERS(run(matmul_of(COUNTED(DTYPE_FLOAT32, 1, 1, 2, 0), COUNTED(DTYPE_FLOAT32, 1, 1, 0, 2))), 0,
                  0, 0, 0);
    assert_int_equal(
        tensor_count(run(matmul_of(COUNTED(DTYPE_FLOAT32, 1, 1, 2, 3), COUNTED(DTYPE_FLOAT32, 1, 1, 3, 0)))),
        0);
    /* batches: a (2, 1, 1, 2), b (2, 2, 1) */
    CHECK_NUMBERS(
        run(matmul_of(COUNTED(DTYPE_FLOAT64, 1, 1, 2, 1, 1, 2), COUNTED(DTYPE_FLOAT64, 1, 1, 2, 2, 1))), 5,
        11, 11, 25);
    CHECK_NUMBERS(run(matmul_of(COUNTED(DTYPE_FLOAT64, 1, 1, 1, 2), COUNTED(DTYPE_FLOAT64, 1, 1, 2, 2, 1))),
                  5, 11);
}

/* ---- conv and pool ------------------------------------------------------------------------------------------- */

static struct op *window_of(enum op_code code, struct value *x, struct value *weight, int kernel, int stride,
                            int padding, int dilation)
{
    struct op *op = weight ? OP(code, "conv2d", x, weight) : OP(code, "pool", x);

    for (int i = 0; i < 2; i++) {
        op->window.kernel[i] = kernel;
        op->window.stride[i] = stride;
        op->window.padding[i] = padding;
        op->window.dilation[i] = dilation;
    }
    op->window.groups = 1;
    op->window.count_include_pad = true;
    return op;
}

static struct op *conv_of(struct value *x, struct value *weight, int stride, int padding, int dilation)
{
    int64_t kernel = 0;

    assert_true(dim_is_const(weight->dims[2], &kernel));
    return window_of(GRAPH_OP_CONV, x, weight, (int)kernel, stride, padding, dilation);
}

static void test_conv_shapes(void **state)
{
    struct op *op = conv_of(F32(batch(), k(3), k(32), tokens()), F32(k(8), k(3), k(3), k(3)), 2, 1, 1);

    (void)state;
    CHECK_SHAPE(op, "(batch, 8, 16, (tokens + 1) // 2)");
    assert_true(op_macs(op) == 32.0 * 8 * 16 * 64 * 27);
    CHECK_SHAPE(conv_of(F32(batch(), k(3), k(7), k(7)), F32(k(8), k(3), k(3), k(3)), 1, 0, 3),
                "(batch, 8, 1, 1)");
    CHECK_SHAPE(conv_of(F32(batch(), k(3), k(2), k(7)), F32(k(8), k(3), k(5), k(5)), 1, 1, 1),
                "conv2d: (batch, 3, 2, 7): the window of 5 is larger than the padded image of 4");
    op = conv_of(F32(batch(), k(6), k(7), k(7)), F32(k(8), k(3), k(3), k(3)), 1, 0, 1);
    op->window.groups = 2;
    CHECK_SHAPE(op, "(batch, 8, 5, 5)");
    op = conv_of(F32(batch(), k(3), k(7), tokens()), F32(k(8), k(3), k(4), k(4)), 1, 1, 1);
    op->window.extra[0] = op->window.extra[1] = 1;
    CHECK_SHAPE(op, "(batch, 8, 7, tokens)");
    op = conv_of(F32(batch(), k(3), k(7), k(7)), F32(k(8), k(3), k(2), k(2)), 2, -1, 1);
    op->window.extra[0] = -2;
    CHECK_SHAPE(op, "(batch, 8, 1, 2)");
    op = conv_of(F32(batch(), k(9), k(7), k(3)), F32(k(8), k(3), k(3), k(3)), 1, 0, 1);
    op->window.channels_last = true;
    op->window.kernel[0] = 3;
    CHECK_SHAPE(op, "(batch, 7, 5, 8)");
}

static struct value *permuted(struct value *x, int a, int b, int c, int d)
{
    struct op *op = OP(GRAPH_OP_VIEW, "permute", x);
    struct value *made;

    op->view.kind = VIEW_PERMUTE;
    op->view.perm[0] = a, op->view.perm[1] = b, op->view.perm[2] = c, op->view.perm[3] = d;
    made = op->outputs[0];
    made->constant = run(op);
    return made;
}

/* Both memory orders against the definition, cell by cell. */
static void test_conv_values(void **state)
{
    enum { N = 2, G = 2, IC = 4, OC = 6, H = 5, W = 5, K = 3 };
    struct value *x = COUNTED(DTYPE_FLOAT64, -40, 0.5, N, IC, H, W),
                 *w = COUNTED(DTYPE_FLOAT64, -3, 0.125, OC, IC / G, K, K);
    struct value *bias = COUNTED(DTYPE_FLOAT64, 1, 1, OC);

    (void)state;
    for (int mode = 0; mode < 16; mode++) {
        int stride = mode & 1 ? 2 : 1,
            padding = mode & 2   ? 2
                      : mode & 8 ? -1
                                 : 0,
            dilation = mode & 4 ? 2 : 1;
        int extra = mode & 8 ? 3 : 0; /* in front crops, behind pads */
        struct op *op = conv_of(x, w, stride, padding, dilation), *last;
        struct tensor *y, *z;
        int64_t at = 0;

        op->inputs[op->input_count++] = bias; /* op_of leaves room for one */
        op->tail_first = 3;
        op->window.bias = true;
        op->window.groups = G;
        op->window.extra[0] = op->window.extra[1] = extra;
        y = run(op);
        for (int n = 0; n < N; n++)
            for (int o = 0; o < OC; o++)
                for (int oh = 0; oh < y->dims[2]; oh++)
                    for (int ow = 0; ow < y->dims[3]; ow++, at++) {
                        double sum = bias->constant->data[o].f;

                        for (int c = 0; c < IC / G; c++)
                            for (int i = 0; i < K; i++)
                                for (int j = 0; j < K; j++) {
                                    int h = oh * stride - padding + i * dilation,
                                        v = ow * stride - padding + j * dilation;
                                    int from = o / (OC / G) * (IC / G) + c;

                                    if (h >= 0 && h < H && v >= 0 && v < W)
                                        sum += x->constant->data[((n * IC + from) * H + h) * W + v].f *
                                               w->constant->data[((o * (IC / G) + c) * K + i) * K + j].f;
                                }
                        assert_true(fabs(sum - y->data[at].f) < 1e-9);
                    }
        last = conv_of(permuted(x, 0, 2, 3, 1), permuted(w, 0, 2, 3, 1), stride, padding, dilation);
        memcpy(last->window.kernel, op->window.kernel, sizeof last->window.kernel);
        memcpy(last->window.extra, op->window.extra, sizeof last->window.extra);
        last->inputs[last->input_count++] = bias;
        last->tail_first = 3;
        last->window.bias = last->window.channels_last = true;
        last->window.groups = G;
        z = run(last);
        for (int64_t e = 0; e < tensor_count(z); e++) {
            int64_t o = e % OC, v = e / OC % y->dims[3], h = e / OC / y->dims[3] % y->dims[2];
            int64_t n = e / OC / y->dims[3] / y->dims[2];

            assert_true(fabs(z->data[e].f - y->data[((n * OC + o) * y->dims[2] + h) * y->dims[3] + v].f) <
                        1e-9);
        }
    }
}

/* The size rule of module-semantics 5.4, for every small case; symbolic dims give the same at every size. */
static void test_pool_sizes(void **state)
{
    (void)state;
    for (int kernel = 1; kernel <= 4; kernel++)
        for (int stride = 1; stride <= 4; stride++)
            for (int padding = 0; padding <= kernel / 2; padding++)
                for (int dilation = 1; dilation <= 2; dilation++)
                    for (int ceil_mode = 0; ceil_mode < 2; ceil_mode++) {
                        struct value *x = F32(k(1), k(1), batch(), batch());
                        struct op *op = window_of(GRAPH_OP_POOL, x, NULL, kernel, stride, padding, dilation);

                        op->window.ceil_mode = ceil_mode != 0;
                        assert_null(infer(op));
                        for (int64_t in = 8; in <= 32; in++) {
                            int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
                            int64_t expected = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;

                            if (ceil_mode && (expected - 1) * stride >= in + padding)
                                expected--;
                            assert_int_equal(dim_eval(op->outputs[0]->dims[2], &in), expected);
                        }
                    }
}

static void test_pool_faults(void **state)
{
    struct op *op = window_of(GRAPH_OP_POOL, F32(k(1), k(1), k(1), k(8)), NULL, 3, 1, 0, 1);

    (void)state;
    CHECK_SHAPE(op, "pool: (1, 1, 1, 8): the window of 3 is larger than the padded image of 1");
    op = window_of(GRAPH_OP_POOL, TYPED(DTYPE_INT64, k(1), k(1), k(8), k(8)), NULL, 3, 1, 0, 1);
    CHECK_SHAPE(op, "pool is not defined for int64");
    op = window_of(GRAPH_OP_POOL, F32(batch(), k(8), k(8), k(5)), NULL, 2, 2, 0, 1);
    op->window.channels_last = true;
    CHECK_SHAPE(op, "(batch, 4, 4, 5)");
    assert_true(op_macs(op) == 32 * 4 * 4 * 5 * 4);
}

static void test_pool_values(void **state)
{
    struct value *x = COUNTED(DTYPE_FLOAT64, 1, 1, 1, 1, 3, 3); /* 1 .. 9 */
    struct op *op = window_of(GRAPH_OP_POOL, x, NULL, 2, 1, 0, 1);

    (void)state;
    CHECK_NUMBERS(run(op), 5, 6, 8, 9);
    op->window.kind = POOL_AVG;
    CHECK_NUMBERS(run(op), 3, 4, 6, 7);
    op->window.divisor = 2;
    CHECK_NUMBERS(run(op), 6, 8, 12, 14);
    op = window_of(GRAPH_OP_POOL, x, NULL, 2, 2, 1, 1);
    CHECK_NUMBERS(run(op), 1, 3, 7, 9);
    op->window.kind = POOL_AVG;
    CHECK_NUMBERS(run(op), 0.25, 1.25, 2.75, 7);
    op->window.count_include_pad = false;
    CHECK_NUMBERS(run(op), 1, 2.5, 5.5, 7);
    op = window_of(GRAPH_OP_POOL, x, NULL, 2, 2, 0, 1);
    op->window.kind = POOL_AVG;
    op->window.ceil_mode = true;
    CHECK_NUMBERS(run(op), 3, 4.5, 7.5, 9); /* what hangs over is not counted */
    op = window_of(GRAPH_OP_POOL, SHAPED(LISTED(nan_, 1, 2, -inf), 1, 1, 2, 2), NULL, 1, 1, 0, 1);
    CHECK_NUMBERS(run(op), nan_, 1, 2, -inf);
    op = window_of(GRAPH_OP_POOL, SHAPED(LISTED(nan_, 1, 2, -inf), 1, 1, 2, 2), NULL, 2, 1, 0, 1);
    CHECK_NUMBERS(run(op), nan_);
    op = window_of(GRAPH_OP_POOL, COUNTED(DTYPE_FLOAT32, -8, 1, 1, 2, 2, 2), NULL, 2, 1, 0, 1);
    CHECK_NUMBERS(run(op), -5, -1);
    op->window.channels_last = true;
    CHECK_NUMBERS(run(op), -2, -1);
}

static struct op *sample_of(enum op_code code);

/* ---- norm, concat, write, the rest --------------------------------------------------------------------------- */

static void test_norm(void **state)
{
    struct value *x = COUNTED(DTYPE_FLOAT64, 0, 1, 2, 4);
    struct op *op = OP(GRAPH_OP_NORM, "layer_norm", x, LISTED(2, 2, 2, 2), LISTED(1, 1, 1, 1));
    double scale = 1 / sqrt(1.25 + 1e-5);
    struct tensor *y;

    (void)state;
    op->norm.axes = 1;
    op->norm.eps = 1e-5;
    op->norm.weight = op->norm.bias = true;
    y = run(op);
    for (int i = 0; i < 8; i++)
        assert_true(fabs(y->data[i].f - ((i % 4 - 1.5) * scale * 2 + 1)) < 1e-14);
    op = OP(GRAPH_OP_NORM, "layer_norm", x, LISTED(1, 2, 3, 4));
    op->norm.axes = 1;
    op->norm.bias = true;
    y = run(op);
    assert_true(fabs(y->data[3].f - (1.5 / sqrt(1.25) + 4)) < 1e-14);
    op = OP(GRAPH_OP_NORM, "layer_norm", F32(batch(), k(4)), F32(k(8)));
    op->norm.axes = 1;
    op->norm.weight = true;
    CHECK_SHAPE(op, "layer_norm: (batch, 4) does not end in the normalized shape (8)");
    op->inputs[1] = F32(k(4));
    CHECK_SHAPE(op, "(batch, 4)");
}

static void test_concat(void **state)
{
    struct op *op = OP(GRAPH_OP_CONCAT, "cat", F32(batch(), k(4)), F32(tokens(), k(4)), F32(k(0), k(4)));

    (void)state;
    CHECK_SHAPE(op, "(batch + tokens, 4)");
    op->concat.axis = 1;
    CHECK_SHAPE(
        op,
        "cat: (batch, 4) and (tokens, 4) along dimension 1: the sizes batch and tokens agree only for some "
        "sizes at dimension 0");
    op = OP(GRAPH_OP_CONCAT, "cat", F32(k(4)), F32(k(4), k(1)));
    CHECK_SHAPE(op, "cat: (4) and (4, 1) have not the same number of dimensions");
    op = OP(GRAPH_OP_CONCAT, "cat", COUNTED(DTYPE_INT64, 0, 1, 2, 1, 2), COUNTED(DTYPE_INT64, 10, 1, 2, 2, 2),
            COUNTED(DTYPE_INT64, 0, 1, 2, 0, 2));
    op->concat.axis = 1;
    CHECK_NUMBERS(run(op), 0, 1, 10, 11, 12, 13, 2, 3, 14, 15, 16, 17);
}

static void test_write(void **state)
{
    struct value *slot = F32(k(8), k(4)), *target = F32(k(8)), *number = F32(k(1));
    struct op *op = OP(GRAPH_OP_WRITE, "write", slot, target, number);

    (void)state;
    op->dag = dag_identity(ARENA, DTYPE_FLOAT32);
    CHECK_SHAPE(op, "(8, 4)");
    assert_null(op_interpret(&cx, op));
}

/* Rows go as they come, to where an index says. */
static void test_write_rows(void **state)
{
    struct op *op = sample_of(GRAPH_OP_WRITE);
    struct op_body body;

    (void)state;
    CHECK_SHAPE(op, "(3, 4)");
    assert_false(op_rows[op->code]->body(op, &body) || op_rows[op->code]->mapped(op, 3));
    assert_ptr_equal(op_result(op), op->inputs[0]);
    op->inputs[3] = F32(k(2), k(3));
    assert_string_equal(op_broken(&cx, op), "its rows do not fit");
}

static void test_cached_attention(void **state)
{
    struct op *op = sample_of(GRAPH_OP_CACHED_ATTENTION);

    (void)state;
    CHECK_SHAPE(op, "(3, 4, 5)");
    op->cached.window = 2;
    assert_true(op_macs(op) == 3 * 4 * 2 / 2 * (2 + 5));
    op->inputs[CACHED_QUERIES] = F32(batch(), k(4), k(2));
    op->inputs[CACHED_SEQUENCE] = op->inputs[CACHED_POSITION] = TYPED(DTYPE_INT64, batch());
    assert_null(op_broken(&cx, op));
    CHECK_SHAPE(op, "(batch, 4, 5)");
    op->inputs[CACHED_QUERIES] = F32(batch(), k(3), k(2));
    assert_string_equal(op_broken(&cx, op), "its queries, keys and values do not fit together");
}

/* Keys and values in integers, with a bias and without. */
static void test_scaled_attention(void **state)
{
    struct op *op = sample_of(GRAPH_OP_CACHED_ATTENTION);
    struct value *bias = cached_bias(op), *scales = COUNTED(DTYPE_FLOAT32, 0, 0.5, 8, 2);
    const double bytes = op_bytes(op);

    (void)state;
    assert_true(bias && !cached_scales(op, CACHED_KEYS) && !cached_scales(op, CACHED_VALUES));
    assert_true(op_rows[op->code]->carries(op, CACHED_PAGES + 1));
    op = OP(GRAPH_OP_CACHED_ATTENTION, "cached_attention", op->inputs[CACHED_QUERIES],
            COUNTED(DTYPE_INT8, 0, 1, 8, 2, 2), COUNTED(DTYPE_INT8, 0, 1, 8, 2, 5),
            op->inputs[CACHED_SEQUENCE], op->inputs[CACHED_POSITION], op->inputs[CACHED_PAGES], scales,
            COUNTED(DTYPE_FLOAT32, 0, 0.5, 8, 2), bias);
    op->cached.page = 2;
    assert_null(op_broken(&cx, op));
    assert_null(infer(op));
    CHECK_SHAPE(op, "(3, 4, 5)");
    assert_ptr_equal(cached_scales(op, CACHED_KEYS), scales);
    assert_ptr_equal(cached_scales(op, CACHED_VALUES), op->inputs[CACHED_PAGES + 2]);
    assert_ptr_equal(cached_bias(op), bias);
    assert_false(op_rows[op->code]->carries(op, CACHED_PAGES + 1));
    assert_true(op_rows[op->code]->carries(op, CACHED_PAGES + 3));
    assert_true(op_bytes(op) ==
                bytes - 2 * 2 * (2 + 5) * 3 + 2 * 2 * 2 * 4); /* of 2 of 4 slots that a row sees */
    op->tail_first = --op->input_count;
    assert_null(op_broken(&cx, op));
    assert_null(cached_bias(op));
    op->inputs[CACHED_QUERIES] = COUNTED(DTYPE_FLOAT64, -1, 0.1, 3, 4, 2);
    assert_string_equal(op_broken(&cx, op), "its queries, keys and values do not fit together");
}

static void test_rows(void **state)
{
    struct value *x = F32(batch(), k(4)), *w = F32(k(4), k(2)), *more = F32(k(2));
    struct op *op = linear_of(x, w, F32(k(2)));

    (void)state;
    for (int i = 0; i < GRAPH_OP_COUNT; i++)
        assert_true(op_rows[i]->name && op_rows[i]->infer);
    give_tail(op, binary(PRIM_ADD, DTYPE_FLOAT32), more);
    assert_null(infer(op));
    assert_int_equal(op_rows[op->code]->accepts(op, 0), ACCEPT_ROWS);
    assert_int_equal(op_rows[op->code]->accepts(op, 1), ACCEPT_ANY);
    assert_int_equal(op_rows[op->code]->accepts(op, 2), ACCEPT_DENSE);
    assert_int_equal(op_rows[op->code]->accepts(op, 3), ACCEPT_ANY);
    assert_false(op_rows[GRAPH_OP_RANDOM]->pure || op_rows[GRAPH_OP_WRITE]->pure ||
                 op_rows[GRAPH_OP_CALL]->pure);

    op = op_of(GRAPH_OP_RANDOM, "random", 0, NULL);
    op->outputs[0]->ndim = 1;
    op->outputs[0]->dims[0] = batch();
    CHECK_SHAPE(op, "(batch)");
    assert_int_equal(op->outputs[0]->dtype, DTYPE_FLOAT32);
    op = OP(GRAPH_OP_FENCE, "fence", x);
    CHECK_SHAPE(op, "(batch, 4)");
    assert_true(dims_equal(op->outputs[0], x) && !dims_equal(x, w) && !dims_equal(x, more));
    assert_string_equal(dim_text(ARENA, dims_count(ARENA, x)), "4 * batch");
}

/* ---- what rows say of their ops, against what the ops do ------------------------------------------------------- */

/* A small op with its result's dims, of constants where it can be interpreted; NULL: there is none here. */
static struct op *sample_of(enum op_code code)
{
    struct value *x = COUNTED(DTYPE_FLOAT32, -2, 0.5, 3, 4), *index = COUNTED(DTYPE_INT64, 0, 1, 3);
    struct value *image = COUNTED(DTYPE_FLOAT32, -8, 0.25, 1, 2, 5, 5);
    struct op *op = NULL;

    if (code == GRAPH_OP_MAP) {
        op = map_of(PRIM_SUB, x, COUNTED(DTYPE_FLOAT32, 1, 2, 3, 4));
    } else if (code == GRAPH_OP_REDUCE) {
        op = OP(code, "sum", x);
        op->reduce.axes[1] = true;
    } else if (code == GRAPH_OP_CONTRACT) {
        op = matmul_of(x, COUNTED(DTYPE_FLOAT32, 1, 0.5, 4, 4));
    } else if (code == GRAPH_OP_CONV) {
        op = conv_of(image, COUNTED(DTYPE_FLOAT32, -3, 1, 3, 2, 3, 3), 1, 1, 1);
    } else if (code == GRAPH_OP_POOL) {
        op = window_of(code, image, NULL, 3, 1, 1, 1);
    } else if (code == GRAPH_OP_NORM) {
        op = OP(code, "layer_norm", x);
        op->norm.axes = 1;
    } else if (code == GRAPH_OP_SOFTMAX) {
        op = OP(code, "softmax", x);
        op->softmax.axis = 1;
    } else if (code ==
               GRAPH_OP_CACHED_ATTENTION) { /* 3 rows of 2 sequences, 4 heads in 2 groups, 4 pages of 2 */
        op = OP(code, "cached_attention", COUNTED(DTYPE_FLOAT32, -1, 0.1, 3, 4, 2),
                COUNTED(DTYPE_FLOAT32, -1, 0.1, 8, 2, 2), COUNTED(DTYPE_FLOAT32, -1, 0.1, 8, 2, 5),
                COUNTED(DTYPE_INT64, 0, 0, 3), index, COUNTED(DTYPE_INT64, 0, 1, 2, 2),
                COUNTED(DTYPE_FLOAT32, 0, 0.5, 4, 3));
        op->cached.scale = 0.5;
        op->cached.page = 2;
    } else if (code == GRAPH_OP_WRITE) { /* rows */
        op = OP(code, "write", x, x, COUNTED(DTYPE_INT64, 2, -1, 2), COUNTED(DTYPE_FLOAT32, 1, 1, 2, 4));
        op->inputs[1] = op->inputs[0];
        op->dag = dag_identity(ARENA, DTYPE_FLOAT32);
        op->write.rows = true;
    } else if (code == GRAPH_OP_RECURRENT) { /* a GRU's gates of 2 steps, 3 rows, 4 units, and its weight */
        op = OP(code, "gru", COUNTED(DTYPE_FLOAT32, -1, 0.05, 2, 3, 12),
                COUNTED(DTYPE_FLOAT32, -1, 0.05, 12, 4));
        op->recurrent.kind = RECURRENT_GRU;
        op->recurrent.has[RECURRENT_GATES] = op->recurrent.has[RECURRENT_WEIGHT] = true;
    } else if (code == GRAPH_OP_CONCAT) {
        op = OP(code, "cat", x, x);
    } else if (code == GRAPH_OP_GATHER) {
        op = OP(code, "take", COUNTED(DTYPE_FLOAT32, 1, 1, 50, 4), index);
    } else if (code == GRAPH_OP_LOOKUP) {
        op = OP(code, "embedding", index, COUNTED(DTYPE_FLOAT32, 1, 1, 4, 50));
    } else if (code == GRAPH_OP_SCATTER) {
        op = OP(code, "put", x, index, x);
        op->dag = binary(PRIM_ADD, DTYPE_FLOAT32);
    } else if (code == GRAPH_OP_SCAN) {
        op = OP(code, "cumsum", x);
        op->dag = binary(PRIM_ADD, DTYPE_FLOAT32);
    } else if (code == GRAPH_OP_FACTOR) {
        op = OP(code, "solve", COUNTED(DTYPE_FLOAT32, -2, 0.5, 3, 3), COUNTED(DTYPE_FLOAT32, -2, 0.5, 3, 4));
        op->factor.kind = FACTOR_SOLVE;
    } else if (code == GRAPH_OP_SORT) {
        op = OP(code, "argsort", x);
    } else if (code == GRAPH_OP_FFT) { /* a real row of 3 values */
        op = OP(code, "rfft", COUNTED(DTYPE_FLOAT32, 1, 1, 2, 3), COUNTED(DTYPE_FLOAT32, 1, 0, 4),
                COUNTED(DTYPE_INT64, 1, 2, 2), COUNTED(DTYPE_FLOAT32, 1, 0, 1));
        op->fft.kind = FFT_FROM_REAL;
        op->fft.axis = 1;
        op->fft.length = 3;
    } else if (code == GRAPH_OP_SAMPLE) { /* 6 places */
        op = OP(code, "grid_sample", image, COUNTED(DTYPE_FLOAT32, -1, 0.1, 1, 6, 2));
        op->sample.mode = SAMPLE_LINEAR;
    } else if (code == GRAPH_OP_VIEW) {
        op = OP(code, "permute", x);
        op->view.kind = VIEW_PERMUTE;
        op->view.perm[0] = 1;
    }
    if (op) {
        assert_null(op_broken(&cx, op));
        assert_null(infer(op));
        for (int i = 0; i < op->input_count; i++)
            op->inputs[i]->base = op->inputs[i];
        op->outputs[0]->base = op->outputs[0];
    }
    return op;
}

/* An op that may be removed does nothing beside its results, and one that ends a call is never removed; what is there already has
 * no kernel; and so on. */
static void test_rows_agree(void **state)
{
#define COMPUTED(code, row) [GRAPH_OP_##code] = true,
    static const bool computed[GRAPH_OP_COUNT] = {OPS_COMPUTED(COMPUTED)};
#undef COMPUTED

    (void)state;
    for (int i = 0; i < GRAPH_OP_COUNT; i++) {
        const struct op_row *row = op_rows[i];
        bool of_weight = row->weighted || row->narrow || row->strided || row->across || row->unpacked ||
                         row->woven || row->outputs_axis > 0 || row->groups || row->second;

        for (int j = 0; j < i; j++)
            assert_string_not_equal(row->name, op_rows[j]->name);
        assert_false(row->pure && (row->acts || row->stays || row->fails || row->parts || row->draws));
        assert_false(row->fails && !(row->stays && row->acts));
        assert_false(row->parts && !row->stays);
        assert_false(row->source && (row->accepts || row->body || row->interpret || row->tail != TAIL_NONE));
        assert_false(computed[i] && (row->source || row->parts || row->fails));
        assert_false(row->target > 0 && !(row->acts && row->lent));
        assert_false(row->varied && !(row->work && row->macs));
        assert_false(of_weight && !row->packs);
        assert_false(row->in_place && !row->interpret);
        assert_false(row->once && !row->interpret);
        assert_false(row->interpret && !sample_of((enum op_code)i));
    }
}

static struct tensor *copied(const struct tensor *tensor)
{
    struct tensor *copy = ARENA_NEW(ARENA, struct tensor);

    *copy = *tensor;
    copy->data = ARENA_ARRAY(ARENA, tensor_count(tensor), union scalar);
    memcpy(copy->data, tensor->data, (size_t)tensor_count(tensor) * sizeof *copy->data);
    return copy;
}

/* The op's result, where it is written over its operand `at`; -1: to memory of its own. */
static struct tensor *run_over(const struct op *op, int at)
{
    const struct tensor *inputs[4];
    struct tensor *result = copied(op_interpret(&cx, op));

    for (int i = 0; i < op->input_count; i++)
        inputs[i] = copied(op->inputs[i]->constant);
    if (at >= 0)
        result->data = inputs[at]->data;
    op_rows[op->code]->interpret(op, inputs, result);
    return result;
}

static bool same_tensors(const struct tensor *a, const struct tensor *b, double factor)
{
    for (int64_t i = 0; i < tensor_count(a); i++)
        if (!same(factor * a->data[i].f, b->data[i].f))
            return false;
    return true;
}

/* Those that may work in place give the same result there, over any operand that has its dims. Others do not all: windows. */
static void test_in_place(void **state)
{
    int held = 0, broken = 0;

    (void)state;
    for (int i = 0; i < GRAPH_OP_COUNT; i++) {
        struct op *op = op_rows[i]->interpret ? sample_of((enum op_code)i) : NULL;

        for (int j = 0; op && j < op->input_count; j++) {
            bool kept;

            if (op->inputs[j]->dtype != op->outputs[0]->dtype || !dims_equal(op->inputs[j], op->outputs[0]))
                continue;
            kept = same_tensors(run_over(op, -1), run_over(op, j), 1);
            assert_true(kept || !op_rows[i]->in_place);
            held += op_rows[i]->in_place;
            broken += !kept;
        }
    }
    assert_true(held >= 2 && broken > 0);
}

/* A product with a weight grows with it; its outputs, of whole groups, lie along the axis that the row says. */
static void test_weights(void **state)
{
    int weighted = 0;

    (void)state;
    for (int i = 0; i < GRAPH_OP_COUNT; i++) {
        struct op *op = op_rows[i]->packs ? sample_of((enum op_code)i) : NULL;
        const struct tensor *weight, *y;
        int64_t outputs;

        if (!op)
            continue;
        weight = op->inputs[1]->constant;
        outputs = weight->dims[op_rows[i]->outputs_axis];
        assert_true(op_rows[i]->packs(op, 1) && !op_rows[i]->packs(op, 0));
        assert_int_equal(outputs % op_weight_groups(op), 0);
        if (op->code == GRAPH_OP_RECURRENT)
            assert_int_equal(outputs / op_weight_groups(op), 4);
        if (!op_rows[i]->weighted)
            continue;
        y = run_over(op, -1);
        assert_int_equal(tensor_count(y) % outputs, 0);
        for (int64_t e = 0; e < tensor_count(weight); e++)
            weight->data[e].f *= 2;
        assert_true(same_tensors(y, run_over(op, -1), 2));
        weighted++;
    }
    assert_true(weighted >= 2);
}

/* What a step costs: some work, of operands and results at least once each but for a table of which rows are looked up. */
static void test_costs(void **state)
{
    (void)state;
    for (int i = 0; i < GRAPH_OP_COUNT; i++) {
        struct op *op = sample_of((enum op_code)i);
        struct op_work work = op ? op_work(op) : (struct op_work){0};

        if (!op)
            continue;
        assert_true(work.macs >= 0 && work.values >= 0 && work.functions >= 0);
        assert_true(work.macs + work.values + work.functions > 0);
        assert_true(work.macs == 0 || work.macs == op_macs(op));
        assert_true(op_bytes(op) > 0);
    }
    assert_true(op_bytes(sample_of(GRAPH_OP_GATHER)) == 2 * 3 * 4 * 4 + 3 * 8);
    assert_true(op_bytes(sample_of(GRAPH_OP_MAP)) == 3 * 3 * 4 * 4);
    assert_true(op_work(sample_of(GRAPH_OP_SOFTMAX)).functions == 12);
    assert_true(op_work(sample_of(GRAPH_OP_CACHED_ATTENTION)).functions == 3 * 4 * 4 / 2);
    assert_true(op_macs(sample_of(GRAPH_OP_CACHED_ATTENTION)) == 3 * 4 * 4 / 2 * (2 + 5));
    assert_true(op_bytes(sample_of(GRAPH_OP_WRITE)) == 2 * 2 * 4 * 4 + 2 * 8);
}

/* A map reads an operand of equal elements as it reads that number. */
static void test_numbers(void **state)
{
    struct op *op = sample_of(GRAPH_OP_MAP);
    const struct tensor *whole;

    (void)state;
    for (int j = 0; j < 2; j++) {
        assert_true(op_reads_number(op, j));
        op->inputs[j] = COUNTED(DTYPE_FLOAT32, 3, 0, 3, 4);
        whole = run_over(op, -1);
        op->inputs[j] = counted(DTYPE_FLOAT32, 3, 0, 0, NULL);
        assert_true(same_tensors(whole, run_over(op, -1), 1));
        op = sample_of(GRAPH_OP_MAP);
    }
    assert_false(op_reads_number(sample_of(GRAPH_OP_CONTRACT), 0));
    assert_true(op_reads_number(sample_of(GRAPH_OP_SCATTER), 0));
    assert_false(op_reads_number(sample_of(GRAPH_OP_SCATTER), 2));
}

/* Where gradients flow, and what is computed. */
static void test_results(void **state)
{
    struct value *slot = F32(k(8), k(4)), *target = F32(k(1), k(4));
    struct op *write = OP(GRAPH_OP_WRITE, "write", slot, target, F32(k(4))), *view = sample_of(GRAPH_OP_VIEW);

    (void)state;
    assert_ptr_equal(op_result(write), target);
    assert_true(op_carries(write, 0) && !op_carries(write, 1) && op_carries(write, 2));
    assert_false(op_reads_number(write, 1));
    write->write.detached = true;
    assert_true(op_carries(write, 0) && !op_carries(write, 2));
    assert_true(op_is_step(write) && !op_is_step(view) && op_carries(view, 0));
    view->view.detached = true;
    assert_false(op_carries(view, 0));
    assert_false(op_is_step(op_of(GRAPH_OP_TENSOR, "tensor", 0, NULL)));
    assert_ptr_equal(op_result(view), view->outputs[0]);
}

/* ---- views --------------------------------------------------------------------------------------------------- */

static struct op *view_of(enum view_kind kind, struct value *x)
{
    struct op *op = OP(GRAPH_OP_VIEW,
                       kind == VIEW_RESHAPE  ? "reshape"
                       : kind == VIEW_EXPAND ? "expand"
                                             : "view",
                       x);

    op->view.kind = kind;
    return op;
}

static struct op *to_dims(struct op *op, const struct value *like)
{
    op->outputs[0]->ndim = like->ndim;
    memcpy(op->outputs[0]->dims, like->dims, sizeof like->dims);
    return op;
}

static void test_view_shapes(void **state)
{
    struct op *op;

    (void)state;
    CHECK_SHAPE(to_dims(view_of(VIEW_RESHAPE, F32(batch(), k(4), k(6))), F32(batch(), k(24))), "(batch, 24)");
    CHECK_SHAPE(to_dims(view_of(VIEW_EXPAND, F32(k(1), k(4))), F32(batch(), tokens(), k(4))),
                "(batch, tokens, 4)");
    op = view_of(VIEW_SLICE, F32(batch(), k(8)));
    op->view.axis = 1;
    op->view.start = k(2);
    op->view.step = k(3);
    op->outputs[0]->dims[1] = k(2);
    CHECK_SHAPE(op, "(batch, 2)");
}

/* x is a buffer of its own. */
static void own_buffer(struct value *x)
{
    const struct dim *stride = k(1);

    x->base = x;
    x->offset = k(0);
    for (int i = x->ndim - 1; i >= 0; i--) {
        x->strides[i] = stride;
        stride = dim_mul(ARENA, stride, x->dims[i]);
    }
}

/* Shapes with sizes: which reshapes need no copy. */
static void test_symbolic_reshape(void **state)
{
    struct value *x = F32(batch(), tokens(), k(8), k(4)), *y;
    struct op *op;

    (void)state;
    own_buffer(x);

    op = to_dims(view_of(VIEW_RESHAPE, x), F32(dim_mul(ARENA, batch(), tokens()), k(2), k(1), k(16)));
    assert_null(infer(op));
    y = op->outputs[0];
    assert_true(view_resolve(ARENA, op, x, y));
    assert_ptr_equal(y->base, x);
    assert_true(dim_equals(y->strides[0], 32) && dim_equals(y->strides[1], 16) &&
                dim_equals(y->strides[3], 1));

    op = view_of(VIEW_PERMUTE, x); /* (batch, 8, tokens, 4) */
    op->view.perm[1] = 2, op->view.perm[2] = 1, op->view.perm[3] = 3;
    assert_null(infer(op));
    y = op->outputs[0];
    assert_true(view_resolve(ARENA, op, x, y));
    assert_true(dim_equals(y->strides[1], 4) && dim_equals(y->strides[2], 32));
    op = to_dims(view_of(VIEW_RESHAPE, y), F32(batch(), k(2), k(4), tokens(), k(2), k(2)));
    assert_null(infer(op));
    assert_true(view_resolve(ARENA, op, y, op->outputs[0]));
    assert_true(dim_equals(op->outputs[0]->strides[1], 16) && dim_equals(op->outputs[0]->strides[3], 32));
    op = to_dims(view_of(VIEW_RESHAPE, y), F32(batch(), k(8), dim_mul(ARENA, tokens(), k(4))));
    assert_null(infer(op));
    assert_false(view_resolve(ARENA, op, y, op->outputs[0]));

    op = view_of(VIEW_SLICE, x); /* columns 2 .. 3: rows with gaps */
    op->view.axis = 3;
    op->view.start = k(2);
    op->view.step = k(1);
    op->outputs[0]->dims[3] = k(2);
    assert_null(infer(op));
    y = op->outputs[0];
    assert_true(view_resolve(ARENA, op, x, y));
    assert_true(dim_equals(y->offset, 2));
    op = view_of(VIEW_SLICE, x);
    op->view.axis = 1;
    op->view.start = dim_sub(ARENA, tokens(), k(1));
    op->view.step = k(-1);
    op->outputs[0]->dims[1] = tokens();
    assert_null(infer(op));
    assert_true(view_resolve(ARENA, op, x, op->outputs[0]));
    assert_string_equal(dim_text(ARENA, op->outputs[0]->offset), "32 * tokens - 32");
    assert_true(dim_equals(op->outputs[0]->strides[1], -32));
}

static uint64_t random_state = 88172645463325252u;

static int roll(int sides)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)((random_state >> 33) % (uint64_t)sides);
}

/* Random dims with that product. */
static void random_dims(struct value *value_, int64_t count)
{
    value_->ndim = 0;
    while (value_->ndim < 5) {
        int64_t factor = count;

        if (count != 1 && value_->ndim < 4)
            do
                factor = 1 + roll((int)count > 12 ? 12 : (int)count);
            while (count % factor != 0);
        value_->dims[value_->ndim++] = k(factor);
        count /= factor;
        if (count == 1 && roll(2))
            return;
    }
}

static int64_t at(const struct dim *dim)
{
    return dim_eval(dim, NULL);
}

/* A random view of x, inferred. */
static struct op *random_view(struct value *x)
{
    enum view_kind kind = (enum view_kind)roll(4);
    struct op *op = view_of(kind, x);
    struct value *y = op->outputs[0];

    if (kind == VIEW_PERMUTE) {
        for (int i = 0; i < x->ndim; i++)
            op->view.perm[i] = i;
        for (int i = 0; i + 1 < x->ndim; i++) {
            int other = i + roll(x->ndim - i), swap = op->view.perm[i];

            op->view.perm[i] = op->view.perm[other];
            op->view.perm[other] = swap;
        }
    } else if (kind == VIEW_SLICE && x->ndim > 0) {
        int axis = op->view.axis = roll(x->ndim);
        int64_t dim = at(x->dims[axis]), step = 1 + roll(2), start = dim > 1 ? roll((int)dim) : 0;

        if (roll(4) == 0)
            step = -step;
        op->view.start = k(start);
        op->view.step = k(step);
        y->dims[axis] = k(step > 0 ? (dim - start + step - 1) / step : start / -step + 1);
    } else if (kind == VIEW_EXPAND && x->ndim < 5) {
        int more = roll(2);

        y->ndim = x->ndim + more;
        for (int i = 0; i < y->ndim; i++) {
            bool free_ = i < more || dim_equals(x->dims[i - more], 1);

            y->dims[i] = free_ ? k(1 + roll(2)) : x->dims[i - more];
        }
    } else {
        op->view.kind = VIEW_RESHAPE;
        random_dims(y, at(dims_count(ARENA, x)));
    }
    assert_null(infer(op));
    return op;
}

/* Whether offsets, by element of y, follow from strides; what a reshape without copy needs. */
static bool is_strided(const struct value *y, const struct tensor *elements)
{
    int64_t strides[MAX_DIMS] = {0}, dense = 1, count = tensor_count(elements);

    for (int i = y->ndim - 1; i >= 0; i--) {
        if (at(y->dims[i]) > 1)
            strides[i] = elements->data[dense].i - elements->data[0].i;
        dense *= at(y->dims[i]);
    }
    for (int64_t e = 0; e < count; e++) {
        int64_t rest = e, offset = elements->data[0].i;

        for (int i = y->ndim - 1; i >= 0; i--) {
            offset += rest % at(y->dims[i]) * strides[i];
            rest /= at(y->dims[i]);
        }
        if (offset != elements->data[e].i)
            return false;
    }
    return true;
}

static void check_view(const struct value *y, const struct tensor *elements)
{
    for (int64_t e = 0; e < tensor_count(elements); e++) {
        int64_t rest = e, offset = at(y->offset);

        for (int i = y->ndim - 1; i >= 0; i--) {
            offset += rest % at(y->dims[i]) * at(y->strides[i]);
            rest /= at(y->dims[i]);
        }
        assert_int_equal(offset, elements->data[e].i);
    }
}

/* Chains of views over 0, 1, 2 ...: strides name the same elements as interpret; a copy is asked for exactly where no
 * strides would do. */
static void test_random_views(void **state)
{
    int copies = 0, reshapes = 0;

    (void)state;
    for (int round = 0; round < 4000; round++) {
        static const int64_t counts[] = {1, 6, 12, 24, 30, 36, 8, 60};
        struct value *x = ARENA_NEW(ARENA, struct value);
        struct tensor *numbers = ARENA_NEW(ARENA, struct tensor);

        random_dims(x, counts[roll(8)]);
        x->dtype = numbers->dtype = DTYPE_INT64;
        numbers->ndim = x->ndim;
        for (int i = 0; i < x->ndim; i++)
            numbers->dims[i] = at(x->dims[i]);
        numbers->data = ARENA_ARRAY(ARENA, tensor_count(numbers), union scalar);
        for (int64_t i = 0; i < tensor_count(numbers); i++)
            numbers->data[i].i = i;
        x->constant = numbers;
        own_buffer(x);
        for (int step = 0; step < 6; step++) {
            struct op *op = random_view(x);
            struct value *y = op->outputs[0];
            struct tensor *elements = op_interpret(&cx, op);

            assert_non_null(elements);
            y->constant = elements;
            reshapes += op->view.kind == VIEW_RESHAPE;
            if (!view_resolve(ARENA, op, x, y)) {
                assert_false(is_strided(y, elements));
                copies++;
                break;
            }
            check_view(y, elements);
            x = y;
        }
        arena_free(ARENA);
        memset(ARENA, 0, sizeof *ARENA);
    }
    assert_true(copies > 100 && copies < reshapes / 2);
}

/* Reshapes of nothing need no copy. */
static void test_empty_views(void **state)
{
    struct value *x = F32(k(2), k(0), k(3)), *y;
    struct op *op = view_of(VIEW_PERMUTE, x);

    (void)state;
    own_buffer(x);
    op->view.perm[0] = 2, op->view.perm[1] = 1, op->view.perm[2] = 0;
    assert_null(infer(op));
    y = op->outputs[0];
    assert_true(view_resolve(ARENA, op, x, y));
    op = to_dims(view_of(VIEW_RESHAPE, y), F32(k(0), k(5)));
    assert_null(infer(op));
    assert_true(view_resolve(ARENA, op, y, op->outputs[0]));
    CHECK_SHAPE(to_dims(view_of(VIEW_RESHAPE, value(DTYPE_INT8, (const struct dim *)NULL)), F32(k(1), k(1))),
                "(1, 1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_map_shapes, tear_down),
        cmocka_unit_test_teardown(test_map_values, tear_down),
        cmocka_unit_test_teardown(test_map_limits, tear_down),
        cmocka_unit_test_teardown(test_reduce_shapes, tear_down),
        cmocka_unit_test_teardown(test_reduce_values, tear_down),
        cmocka_unit_test_teardown(test_reduce_parts, tear_down),
        cmocka_unit_test_teardown(test_contract_shapes, tear_down),
        cmocka_unit_test_teardown(test_contract_values, tear_down),
        cmocka_unit_test_teardown(test_conv_shapes, tear_down),
        cmocka_unit_test_teardown(test_conv_values, tear_down),
        cmocka_unit_test_teardown(test_pool_sizes, tear_down),
        cmocka_unit_test_teardown(test_pool_faults, tear_down),
        cmocka_unit_test_teardown(test_pool_values, tear_down),
        cmocka_unit_test_teardown(test_norm, tear_down),
        cmocka_unit_test_teardown(test_concat, tear_down),
        cmocka_unit_test_teardown(test_write, tear_down),
        cmocka_unit_test_teardown(test_write_rows, tear_down),
        cmocka_unit_test_teardown(test_cached_attention, tear_down),
        cmocka_unit_test_teardown(test_scaled_attention, tear_down),
        cmocka_unit_test_teardown(test_rows, tear_down),
        cmocka_unit_test_teardown(test_rows_agree, tear_down),
        cmocka_unit_test_teardown(test_in_place, tear_down),
        cmocka_unit_test_teardown(test_weights, tear_down),
        cmocka_unit_test_teardown(test_costs, tear_down),
        cmocka_unit_test_teardown(test_numbers, tear_down),
        cmocka_unit_test_teardown(test_results, tear_down),
        cmocka_unit_test_teardown(test_view_shapes, tear_down),
        cmocka_unit_test_teardown(test_symbolic_reshape, tear_down),
        cmocka_unit_test_teardown(test_random_views, tear_down),
        cmocka_unit_test_teardown(test_empty_views, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
