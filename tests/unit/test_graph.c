/* test_graph.c - editing keeps uses and places; and for everything that graph_check names a broken graph that it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graphs.h"

static const struct loc nowhere;

static void sound(const struct graph *graph)
{
    const char *fault = graph_check(graph, true);

    if (fault)
        fail_msg("%s", fault);
}

/* What is broken has to be said so. */
static void broken(const struct graph *graph, const char *words)
{
    const char *fault = graph_check(graph, true);

    if (!fault || !strstr(fault, words))
        fail_msg("'%s' in place of '%s'", fault ? fault : "nothing", words);
}

/* x (2, 3) and y (3): z = x + y, then exp(z) transposed; both are returned. */
struct small {
    struct bench *b;
    struct graph *graph;
    struct value *x, *y, *sum, *view;
};

static struct small small(void)
{
    struct small s = {.b = bench_new()};

    s.graph = &s.b->graph;
    s.x = INPUT(s.b, 2, 3);
    s.y = INPUT(s.b, 3);
    s.sum = map_of(s.b, PRIM_ADD, "add", s.x, s.y);
    s.view = build_permute(&s.b->eval, nowhere, s.sum, (const int[]){1, 0});
    graph_return(s.graph, s.sum);
    graph_return(s.graph, s.view);
    s.graph->result_count = 2;
    sound(s.graph);
    return s;
}

/* ---- editing ---------------------------------------------------------------------------------------------------- */

static void values_know_their_readers(void **state)
{
    struct small s = small();

    (void)state;
    assert_int_equal(graph_uses(s.x), 1);
    assert_int_equal(graph_uses(s.sum), 2); /* the view, and it is returned */
    assert_int_equal(graph_uses(s.view), 1);
    assert_int_equal(graph_position(s.graph, s.view->op), 3);
    graph_input(s.graph, s.sum->op, 1, s.x);
    assert_int_equal(graph_uses(s.x), 2);
    assert_int_equal(graph_uses(s.y), 0);
    sound(s.graph);
    bench_free(s.b);
}

static void replacing_moves_all_uses(void **state)
{
    struct small s = small();
    struct value *twice = map_of(s.b, PRIM_MUL, "mul", s.sum, s.sum), *other;

    (void)state;
    graph_return(s.graph, twice);
    assert_int_equal(graph_uses(s.sum), 3);
    other = map_of(s.b, PRIM_SUB, "sub", s.x, s.y);
    graph_move(s.graph, graph_position(s.graph, other->op), 3); /* in front of what reads it then */
    graph_replace(s.graph, s.sum, other);
    assert_int_equal(graph_uses(s.sum), 0);
    assert_int_equal(graph_uses(other), 3);
    assert_ptr_equal(s.graph->outputs[0], other);
    sound(s.graph);
    bench_free(s.b);
}

static void ops_come_and_go(void **state)
{
    struct small s = small();
    struct op *copy = ARENA_NEW(&s.b->cx.arena, struct op);
    bool kept[8] = {true, true, true, true, false};

    (void)state;
    *copy = (struct op){.code = GRAPH_OP_VIEW, .label = "permute", .tail_first = 1};
    copy->view = s.view->op->view;
    copy->inputs = ARENA_ARRAY(&s.b->cx.arena, 1, struct value *);
    copy->inputs[0] = s.sum;
    copy->input_count = 1;
    graph_value(s.graph, copy, s.view->dtype, 2, s.view->dims);
    assert_int_equal(graph_position(s.graph, copy), -1);
    assert_int_equal(s.sum->user_count, 1); /* it does not stand there yet */
    graph_insert(s.graph, 3, copy);
    assert_int_equal(graph_position(s.graph, copy), 3);
    assert_int_equal(graph_position(s.graph, s.view->op), 4);
    sound(s.graph);
    graph_output(s.graph, 1, copy->outputs[0]);
    graph_sweep(s.graph, kept, NULL, NULL);
    assert_int_equal(s.graph->op_count, 4);
    assert_int_equal(graph_position(s.graph, s.view->op), -1);
    sound(s.graph);
    graph_put(s.graph, 3, s.view->op);
    graph_output(s.graph, 1, s.view);
    assert_int_equal(graph_position(s.graph, copy), -1);
    sound(s.graph);
    bench_free(s.b);
}

/* ---- what graph_check refuses ----------------------------------------------------------------------------------- */

static void an_input_that_is_not_made_yet(void **state)
{
    struct small s = small();

    (void)state;
    graph_move(s.graph, 3, 2);
    broken(s.graph, "before it is made");
    bench_free(s.b);
}

static void a_value_that_is_made_twice(void **state)
{
    struct small s = small();

    (void)state;
    s.view->id = s.sum->id;
    broken(s.graph, "is made twice");
    bench_free(s.b);
}

static void a_value_of_another_op(void **state)
{
    struct small s = small();

    (void)state;
    s.view->op = s.sum->op;
    broken(s.graph, "does not know its op");
    bench_free(s.b);
}

/* The planted fault: a permutation whose result has the dims of what it shows. */
static void dims_that_are_not_permuted(void **state)
{
    struct small s = small();

    (void)state;
    memcpy(s.view->dims, s.sum->dims, sizeof s.view->dims);
    broken(s.graph, "would be float32 (3, 2)");
    assert_null(graph_check(s.graph, false)); /* this takes infer */
    bench_free(s.b);
}

static void another_type_than_infer_says(void **state)
{
    struct small s = small();

    (void)state;
    s.view->dtype = DTYPE_FLOAT64;
    broken(s.graph, "is float64");
    bench_free(s.b);
}

static void a_map_that_reads_more_than_it_makes(void **state)
{
    struct small s = small();

    (void)state;
    s.sum->ndim = 1;
    s.sum->dims[0] = s.y->dims[0];
    broken(s.graph, "would be float32 (2, 3)");
    bench_free(s.b);
}

static void a_dag_of_another_type(void **state)
{
    struct small s = small();

    (void)state;
    s.y->dtype = DTYPE_FLOAT64;
    broken(s.graph, "it loads another type");
    bench_free(s.b);
}

static void axes_that_are_no_permutation(void **state)
{
    struct small s = small();

    (void)state;
    s.view->op->view.perm[0] = 0;
    broken(s.graph, "no permutation");
    bench_free(s.b);
}

static void a_slice_of_what_is_not_there(void **state)
{
    struct small s = small();
    const struct dim *one = number(s.b, 1), *two = number(s.b, 2);
    struct value *slice = build_slice(&s.b->eval, nowhere, s.sum, 1, one, one, two);

    (void)state;
    sound(s.graph);
    slice->op->view.start = two;
    broken(s.graph, "it shows what is not there");
    slice->op->view.start = one;
    slice->op->view.axis = 2;
    broken(s.graph, "its axis is not there");
    bench_free(s.b);
}

static void a_reshape_of_other_elements(void **state)
{
    struct small s = small();
    const struct dim *six = number(s.b, 6);
    struct value *flat = build_reshape(&s.b->eval, nowhere, s.sum, 1, &six);

    (void)state;
    flat->dims[0] = number(s.b, 5);
    broken(s.graph, "not as many elements");
    bench_free(s.b);
}

static void a_tail_that_begins_nowhere(void **state)
{
    struct small s = small();
    const bool axes[MAX_DIMS] = {true};
    struct op *op = build_reduce(&s.b->eval, nowhere, s.x, REDUCE_SUM, axes, false)->op;

    (void)state;
    op->tail_first = 0;
    broken(s.graph, "its tail begins");
    op->tail_first = 1;
    op->tail = dag_identity(&s.b->cx.arena, DTYPE_FLOAT32);
    sound(s.graph);
    op->tail = dag_new(&s.b->cx.arena, 2);
    op->tail->result = dag_load(&s.b->cx.arena, op->tail, 1, DTYPE_FLOAT32);
    broken(s.graph, "its tail loads an input");
    bench_free(s.b);
}

static void a_tail_where_none_can_be(void **state)
{
    struct small s = small();

    (void)state;
    s.sum->op->tail = dag_identity(&s.b->cx.arena, DTYPE_FLOAT32);
    broken(s.graph, "it cannot have a tail");
    bench_free(s.b);
}

static void a_result_that_nobody_makes(void **state)
{
    struct small s = small();

    (void)state;
    graph_remove(s.graph, 3);
    broken(s.graph, "output 1 is never made");
    bench_free(s.b);
}

static void inputs_in_another_order(void **state)
{
    struct small s = small();

    (void)state;
    s.x->op->input.index = 1;
    broken(s.graph, "input 0 is another");
    bench_free(s.b);
}

static void a_reader_that_the_value_does_not_know(void **state)
{
    struct small s = small();

    (void)state;
    s.sum->op->inputs[1] = s.x; /* past graph_input */
    broken(s.graph, "is read");
    bench_free(s.b);
}

static void a_return_that_the_value_does_not_know(void **state)
{
    struct small s = small();

    (void)state;
    s.graph->outputs[1] = s.sum;
    broken(s.graph, "is read");
    bench_free(s.b);
}

static void a_reader_that_does_not_read(void **state)
{
    struct small s = small();

    (void)state;
    s.x->users[0] = s.view->op;
    broken(s.graph, "knows a reader");
    bench_free(s.b);
}

static void a_view_that_lies_elsewhere(void **state)
{
    struct small s = small();

    (void)state;
    pass_legalise(s.graph);
    sound(s.graph);
    nth_op(s.graph, GRAPH_OP_VIEW, 0)->outputs[0]->base = s.x;
    broken(s.graph, "lies nowhere");
    bench_free(s.b);
}

/* A slot that is read as it was, behind what wrote it; and a write to what is no part of it. */
#define COUNTER                                                                                              \
    "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2]}\nstate:\n  total: {shape: [2], init: zeros_()}\n"      \
    "forward:\n  - h = self.total + x\n  - self.total = h\n  - return h * self.total\n"

static void a_slot_that_is_read_too_late(void **state)
{
    struct model *m = model_read(COUNTER);
    struct graph *graph = forward_of(m, false);
    struct op *write = nth_op(graph, GRAPH_OP_WRITE, 0);
    struct op *last = graph->outputs[0]->op;

    (void)state;
    sound(graph);
    for (int i = 0; i < last->input_count; i++)
        if (last->inputs[i] == write->outputs[0])
            graph_input(graph, last, i, write->inputs[0]);
    broken(graph, "after it was written");
    model_free(m);
}

static void a_write_to_another_place(void **state)
{
    struct model *m = model_read(COUNTER);
    struct graph *graph = forward_of(m, false);

    (void)state;
    graph_input(graph, nth_op(graph, GRAPH_OP_WRITE, 0), 1, graph->inputs[0]);
    broken(graph, "no part of its slot");
    model_free(m);
}

/* Calls of a region take and give what it does. */
#define BLOCKS                                                                                                   \
    "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2, 4]}\nclasses:\n  Block:\n    modules: {fc: Linear(4, 4)}\n" \
    "    forward(x):\n      - return relu(fc(x))\nmodules:\n  a: Block()\n  b: Block()\n"                        \
    "forward:\n  - return b(a(x))\n"

static void a_call_of_other_dims(void **state)
{
    struct model *m = model_read(BLOCKS);
    struct graph *graph = forward_of(m, false);
    struct op *call = nth_op(graph, GRAPH_OP_CALL, 1);

    (void)state;
    sound(graph);
    call->outputs[0]->dims[0] = dim_const(&m->cx.arena, 3);
    broken(graph, "is not what its region gives");
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_know_their_readers),
        cmocka_unit_test(replacing_moves_all_uses),
        cmocka_unit_test(ops_come_and_go),
        cmocka_unit_test(an_input_that_is_not_made_yet),
        cmocka_unit_test(a_value_that_is_made_twice),
        cmocka_unit_test(a_value_of_another_op),
        cmocka_unit_test(dims_that_are_not_permuted),
        cmocka_unit_test(another_type_than_infer_says),
        cmocka_unit_test(a_map_that_reads_more_than_it_makes),
        cmocka_unit_test(a_dag_of_another_type),
        cmocka_unit_test(axes_that_are_no_permutation),
        cmocka_unit_test(a_slice_of_what_is_not_there),
        cmocka_unit_test(a_reshape_of_other_elements),
        cmocka_unit_test(a_tail_that_begins_nowhere),
        cmocka_unit_test(a_tail_where_none_can_be),
        cmocka_unit_test(a_result_that_nobody_makes),
        cmocka_unit_test(inputs_in_another_order),
        cmocka_unit_test(a_reader_that_the_value_does_not_know),
        cmocka_unit_test(a_return_that_the_value_does_not_know),
        cmocka_unit_test(a_reader_that_does_not_read),
        cmocka_unit_test(a_view_that_lies_elsewhere),
        cmocka_unit_test(a_slot_that_is_read_too_late),
        cmocka_unit_test(a_write_to_another_place),
        cmocka_unit_test(a_call_of_other_dims),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
