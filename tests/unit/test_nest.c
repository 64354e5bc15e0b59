/* test_nest.c - the normal form of loop nests: what is dropped, merged, and put innermost; and how the loops run.
 * That the elements stay the same is what test_emit_kernel.c shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/nest_form.h"
#include "plan/plan_dag.h"
#include "plan/plan_halves.h"

static struct arena arena;
static const struct size batch_size = {"batch", 32, 0, "batch", 0, NULL},
                         tokens_size = {"tokens", 128, 1, "tokens", 0, NULL};
static const struct dim *batch, *tokens;

static int set_up(void **state)
{
    (void)state;
    batch = dim_size(&arena, &batch_size);
    tokens = dim_size(&arena, &tokens_size);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static const struct dim *k(int64_t value)
{
    return dim_const(&arena, value);
}

static const struct dim *mul(const struct dim *a, const struct dim *b)
{
    return dim_mul(&arena, a, b);
}

/* One axis: its length, whether it is reduced, and the strides of up to five operands. */
struct axis {
    const struct dim *dim;
    bool reduced;
    const struct dim *strides[5];
};

static struct nest make(int ndim, const struct axis *axes, int operands)
{
    struct nest nest = {.ndim = ndim, .operand_count = operands};

    nest.operands = ARENA_ARRAY(&arena, operands, struct nest_operand);
    for (int i = 0; i < ndim; i++) {
        nest.dims[i] = axes[i].dim;
        nest.reduced[i] = axes[i].reduced;
        for (int j = 0; j < operands; j++)
            nest.operands[j].strides[i] = axes[i].strides[j];
    }
    return nest;
}

/* "64 batch: 1 1; ..." : lengths, an r for reduced, strides */
static const char *text_of(const struct nest *nest)
{
    struct text text = text_new(&arena);

    for (int i = 0; i < nest->ndim; i++) {
        text_add(&text, i > 0 ? "; " : "");
        dim_print(&text, nest->dims[i]);
        text_add(&text, nest->reduced[i] ? " r:" : ":");
        for (int j = 0; j < nest->operand_count; j++) {
            text_add(&text, j > 0 ? ", " : " ");
            dim_print(&text, nest->operands[j].strides[i]);
        }
    }
    return text.data;
}

static void expect(struct nest nest, const char *expected)
{
    nest_normalise(&arena, &nest);
    assert_string_equal(text_of(&nest), expected);
    nest_normalise(&arena, &nest); /* nothing more to do */
    assert_string_equal(text_of(&nest), expected);
}

#define NEST(operands, ...)                                                                                  \
    make((int)(sizeof((const struct axis[]){__VA_ARGS__}) / sizeof(struct axis)),                            \
         (const struct axis[]){__VA_ARGS__}, operands)

static void test_drops_and_merges(void **state)
{
    (void)state;
    /* dense operands are one loop, also over sizes and with axes of 1 */
    expect(NEST(2, {k(4), false, {k(15), k(15)}}, {k(1), false, {k(15), k(0)}}, {k(5), false, {k(3), k(3)}},
                {k(3), false, {k(1), k(1)}}),
           "60: 1, 1");
    expect(NEST(2, {batch, false, {mul(tokens, k(64)), mul(tokens, k(64))}}, {tokens, false, {k(64), k(64)}},
                {k(64), false, {k(1), k(1)}}),
           "64 * batch * tokens: 1, 1");
    /* a broadcast input keeps its axes apart, but not the others' */
    expect(NEST(3, {k(2), false, {k(60), k(60), k(0)}}, {k(4), false, {k(15), k(15), k(0)}},
                {k(5), false, {k(3), k(3), k(3)}}, {k(3), false, {k(1), k(1), k(1)}}),
           "8: 15, 15, 0; 15: 1, 1, 1");
    /* a slice: rows with a gap */
    expect(NEST(2, {k(4), false, {k(6), k(10)}}, {k(2), false, {k(3), k(5)}}, {k(3), false, {k(1), k(1)}}),
           "8: 3, 5; 3: 1, 1");
    expect(NEST(1, {k(1), false, {k(1)}}), "");
}

static void test_orders_maps(void **state)
{
    (void)state;
    /* all operands in the same other order: one loop */
    expect(NEST(2, {k(3), false, {k(1), k(1)}}, {k(5), false, {k(3), k(3)}}), "15: 1, 1");
    /* a transposition writes along rows */
    expect(NEST(2, {k(3), false, {k(5), k(1)}}, {k(5), false, {k(1), k(3)}}), "3: 5, 1; 5: 1, 3");
    expect(NEST(2, {k(5), false, {k(1), k(3)}}, {k(3), false, {k(5), k(1)}}), "3: 5, 1; 5: 1, 3");
    /* but goes along what most operands have contiguous */
    expect(NEST(3, {k(3), false, {k(5), k(1), k(1)}}, {k(5), false, {k(1), k(3), k(3)}}),
           "5: 1, 3, 3; 3: 5, 1, 1");
    /* or where all stay or go on: an image by pixels, however many inputs are there once a channel */
    expect(
        NEST(5, {k(3), false, {k(5), k(5), k(1), k(1), k(1)}}, {k(5), false, {k(1), k(1), k(0), k(0), k(0)}}),
        "3: 5, 5, 1, 1, 1; 5: 1, 1, 0, 0, 0");
}

static void test_orders_reductions(void **state)
{
    struct nest nest;

    (void)state;
    /* over rows: reduced last; over columns: the kept axis last */
    expect(NEST(2, {k(7), false, {k(1), k(9)}}, {k(9), true, {k(0), k(1)}}), "7: 1, 9; 9 r: 0, 1");
    expect(NEST(2, {k(7), true, {k(0), k(9)}}, {k(9), false, {k(1), k(1)}}), "7 r: 0, 9; 9: 1, 1");
    /* means over height and width, channels first and channels last */
    expect(NEST(2, {batch, false, {k(8), k(96)}}, {k(8), false, {k(1), k(12)}}, {k(3), true, {k(0), k(4)}},
                {k(4), true, {k(0), k(1)}}),
           "8 * batch: 1, 12; 12 r: 0, 1");
    expect(NEST(2, {batch, false, {k(8), k(96)}}, {k(8), false, {k(1), k(1)}}, {k(3), true, {k(0), k(32)}},
                {k(4), true, {k(0), k(8)}}),
           "batch: 8, 96; 12 r: 0, 8; 8: 1, 1");
    /* a middle axis: the kept ones behind it merge */
    expect(NEST(2, {k(5), false, {k(12), k(84)}}, {k(7), true, {k(0), k(12)}}, {k(4), false, {k(3), k(3)}},
                {k(3), false, {k(1), k(1)}}),
           "5: 12, 84; 7 r: 0, 12; 12: 1, 1");
    /* neither is contiguous */
    expect(NEST(2, {k(7), true, {k(0), k(18)}}, {k(9), false, {k(1), k(2)}}), "9: 1, 2; 7 r: 0, 18");

    /* reduced axes change places only where the reduction allows it */
    nest = NEST(2, {k(3), true, {k(0), k(1)}}, {k(5), true, {k(0), k(3)}});
    expect(nest, "3 r: 0, 1; 5 r: 0, 3");
    nest = NEST(2, {k(3), true, {k(0), k(1)}}, {k(5), true, {k(0), k(3)}});
    nest.reorder = true;
    expect(nest, "15 r: 0, 1");
}

/* ---- how the loops run ------------------------------------------------------------------------------------------ */

static struct dag *copy_of(void)
{
    return dag_identity(&arena, DTYPE_FLOAT32);
}

static struct nest floats(struct nest nest)
{
    for (int i = 0; i < nest.operand_count; i++)
        nest.operands[i].dtype = DTYPE_FLOAT32;
    return nest;
}

static enum nest_way way_of_map(struct nest nest, const struct dag *dag)
{
    nest = floats(nest);
    return map_form(&nest, dag, true).way;
}

static void test_forms_of_maps(void **state)
{
    struct dag *zero = dag_new(&arena, 0), *negated = copy_of();

    (void)state;
    zero->result = dag_const(&arena, zero, DTYPE_FLOAT32, 0);
    negated->result = dag_prim(&arena, negated, PRIM_NEG, DTYPE_FLOAT32, negated->result, 0, 0);
    assert_int_equal(
        way_of_map(NEST(2, {k(4), false, {k(16), k(32)}}, {k(16), false, {k(1), k(1)}}), copy_of()),
        NEST_BYTES);
    assert_int_equal(way_of_map(NEST(1, {k(16), false, {k(1)}}), zero), NEST_ZEROS);
    assert_int_equal(
        way_of_map(NEST(2, {k(9), false, {k(16), k(1)}}, {k(16), false, {k(1), k(9)}}), copy_of()),
        NEST_TURNED);
    assert_int_equal(
        way_of_map(NEST(2, {k(7), false, {k(16), k(1)}}, {k(16), false, {k(1), k(7)}}), copy_of()),
        NEST_ELEMENTS);
    assert_int_equal(way_of_map(NEST(2, {k(16), false, {k(1), k(1)}}), negated), NEST_ROWS);
    assert_int_equal(way_of_map(NEST(2, {k(7), false, {k(1), k(1)}}), negated), NEST_ELEMENTS);
    assert_int_equal(way_of_map(NEST(2, {k(16), false, {k(1), k(2)}}), negated), NEST_ELEMENTS);
}

static struct nest_form form_of(struct nest nest, enum reduce_kind kind)
{
    const struct dag *head = copy_of();

    nest = floats(nest);
    return reduce_form(&nest, kind, head, reduce_tail(&arena, kind, head, DTYPE_FLOAT32), true);
}

static void test_forms_of_reductions(void **state)
{
    const struct nest rows = NEST(2, {k(4), false, {k(1), k(5000)}}, {k(5000), true, {k(0), k(1)}});
    const struct nest columns = NEST(2, {k(3000), true, {k(0), k(64)}}, {k(64), false, {k(1), k(1)}});
    struct nest_form form = form_of(rows, REDUCE_SUM);

    (void)state;
    assert_int_equal(form.way, NEST_ROWS);
    assert_true(form.streams == 4 && form.split == 1 && form.block == 4 * 1024);
    assert_int_equal(form_of(rows, REDUCE_MAX).split, -1);
    assert_int_equal(form_of(rows, REDUCE_PROD).way, NEST_ELEMENTS);
    assert_int_equal(form_of(rows, REDUCE_ARGMAX).way, NEST_ROWS);
    form = form_of(columns, REDUCE_SUM);
    assert_int_equal(form.way, NEST_COLUMNS);
    assert_true(form.streams == 4 && form.split == 0 && form.block == 1024);
    assert_int_equal(form_of(columns, REDUCE_ARGMAX).way, NEST_ELEMENTS);
    assert_int_equal(form_of(NEST(2, {k(64), false, {k(1), k(1)}}), REDUCE_SUM).way, NEST_ELEMENTS);
    assert_int_equal(form_of(columns, REDUCE_ANY).way, NEST_ELEMENTS);
}

/* Without vectors: which reductions the threads of a block share, and by how many. */
static void test_forms_of_blocks(void **state)
{
    const struct nest rows = NEST(2, {k(4), false, {k(1), k(5000)}}, {k(5000), true, {k(0), k(1)}});
    const struct nest columns = NEST(2, {k(50000), true, {k(0), k(64)}}, {k(64), false, {k(1), k(1)}});
    const struct {
        struct nest nest;
        enum reduce_kind kind;
        int threads, outputs; /* 0: a thread makes an output */
        int64_t block;
    } cases[] = {
        {rows, REDUCE_SUM, 1024, 1, 0},
        {rows, REDUCE_ARGMAX, 1024, 1, 0},
        {NEST(1, {k(63), true, {k(0), k(1)}}), REDUCE_MAX, 0, 0, 0},
        {NEST(1, {k(64), true, {k(0), k(1)}}), REDUCE_MAX, 32, 1, 0},
        {NEST(1, {k(256), true, {k(0), k(1)}}), REDUCE_PROD, 64, 1, 0},
        {NEST(1, {k(1024 * 1024), true, {k(0), k(1)}}), REDUCE_SUM, 1024, 1, 0},
        {NEST(1, {k(1024 * 1024 + 1), true, {k(0), k(1)}}), REDUCE_SUM, 1024, 1, 1024 * 1024},
        {columns, REDUCE_SUM, 256, 8, 32 * 1024},
        {columns, REDUCE_MIN, 256, 8, 0},
        {NEST(2, {k(64), true, {k(0), k(65536)}}, {k(65536), false, {k(1), k(1)}}), REDUCE_SUM, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct dag *head = copy_of();
        struct nest nest = floats(cases[i].nest);
        const struct nest_form form = reduce_form(
            &nest, cases[i].kind, head, reduce_tail(&arena, cases[i].kind, head, DTYPE_FLOAT32), false);

        assert_int_equal(form.way, cases[i].threads > 0 ? NEST_BLOCKS : NEST_ELEMENTS);
        assert_int_equal(form.threads, cases[i].threads);
        assert_int_equal(form.outputs, cases[i].outputs);
        assert_int_equal(form.block, cases[i].block);
    }
}

/* A DAG of halves as kernels are told it: float32 alone, rounded where a value of the type was, but for what a store rounds. */
static void test_told(void **state)
{
    static const double numbers[] = {0.1, -3.7, 1000.3, 1e-30, 65519};
    struct dag *dag = dag_new(&arena, 2);
    const enum dtype half = DTYPE_BFLOAT16;
    int x, y, sum;
    const struct dag *told;
    struct text text = text_new(&arena);

    (void)state;
    x = dag_load(&arena, dag, 0, half);
    y = dag_cast(&arena, dag, dag_load(&arena, dag, 1, DTYPE_FLOAT16), DTYPE_FLOAT32);
    sum = dag_prim(&arena, dag, PRIM_ADD, half, dag_prim(&arena, dag, PRIM_MUL, half, x, x, 0),
                   dag_cast(&arena, dag, y, half), 0);
    dag->result = dag_prim(&arena, dag, PRIM_NEG, half, sum, 0, 0);
    told = dag_told(&arena, dag);
    dag_print(&text, told);
    assert_string_equal(text.data, "-as_bfloat16(as_bfloat16(x0 * x0) + as_bfloat16(x1))");
    for (int i = 0; i < told->count; i++)
        assert_int_equal(told->nodes[i].dtype, DTYPE_FLOAT32);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            const union scalar inputs[] = {{.f = dtype_round(half, numbers[i])},
                                           {.f = dtype_round(DTYPE_FLOAT16, numbers[j])}};

            assert_true(dag_eval(dag, inputs, NULL).f == dag_eval(told, inputs, NULL).f);
        }
    dag->result = sum; /* what is stored is rounded by the store */
    text = text_new(&arena);
    dag_print(&text, dag_told(&arena, dag));
    assert_string_equal(text.data, "as_bfloat16(x0 * x0) + as_bfloat16(x1)");
    dag = dag_identity(&arena, DTYPE_FLOAT32); /* without halves it is what it was */
    assert_ptr_equal(dag_told(&arena, dag), dag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_drops_and_merges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orders_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orders_reductions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forms_of_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forms_of_reductions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forms_of_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_told, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
