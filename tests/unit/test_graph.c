/* test_graph.c - editing keeps uses and places; and for everything that graph_check names a broken graph that it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/make.h"
#include "graphs.h"

static const struct loc nowhere;

static void sound(const struct graph *graph)
{
    const char *fault = graph_check(graph, true);

    if (fault)
        fail_msg("%s", fault);
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

/* A spec's forward, evaluated; or with hooks, or with backward, or behind a pass. */
struct made {
    const char *spec; /* NULL: small() */
    bool fenced, saves;
    const char *behind; /* all passes up to this one */
};

static const struct made SMALL = {0};

#define IN_SPEC(inputs, statements)                                                                          \
    {                                                                                                        \
        .spec = "modc: 1\nmodel: m\nhooks: none\ninputs: {" inputs "}\nforward:\n" statements                \
    }

static const struct made SLICED = IN_SPEC("x: [2, 3]", "  - return x[:, 1:] + 1\n");
static const struct made FLAT = IN_SPEC("x: [2, 3]", "  - return x.flatten() + 1\n");
static const struct made WIDER = IN_SPEC("x: [1, 3]", "  - return x.expand(4, 3)\n");
static const struct made WINDOWS = IN_SPEC("x: [2, 6]", "  - return x.unfold(1, 3, 2) * 2\n");
static const struct made SUMMED = IN_SPEC("x: [2, 3]", "  - return x.sum(1)\n");
static const struct made NUMBERS = IN_SPEC("x: [2, 3]", "  - return x + torch.tensor([1.0, 2.0, 3.0])\n");
static const struct made JOINED = IN_SPEC("x: [2, 3]", "  - return torch.cat((x, x * 2), 1)\n");
static const struct made SUMS = IN_SPEC("x: [2, 3]", "  - return x.cumsum(1)\n");
static const struct made SORTED = IN_SPEC("x: [2, 3]", "  - return x.argsort(1)\n");
static const struct made SPECTRUM = IN_SPEC("x: [2, 6]", "  - return torch.fft.rfft(x).real\n");
static const struct made SAMPLED = IN_SPEC("x: [2, 3, 4, 5], g: [2, 6, 7, 2]",
                                           "  - return grid_sample(x, g)\n");
static const struct made ALIGNED_BOXES = IN_SPEC("x: [2, 3, 4, 5], b: [6, 5]",
                                                 "  - return ops.roi_align(x, b, 2)\n");
static const struct made BOXES = IN_SPEC("x: [6, 4], s: [6]", "  - return ops.nms(x, s, 0.5, 3)\n");
static const struct made CHANCES = IN_SPEC("x: [2, 3]", "  - return softmax(x, 1)\n");
static const struct made NORMED = IN_SPEC("x: [2, 3]", "  - return F.layer_norm(x, (3,))\n");
static const struct made PRODUCT = IN_SPEC("x: [2, 3], w: [3, 4]", "  - return x @ w\n");
static const struct made PICKED = IN_SPEC("x: [5, 3], i: {shape: [2], dtype: int64}", "  - return x[i]\n");
static const struct made PUT = IN_SPEC("x: [5, 3], i: {shape: [2, 3], dtype: int64}, y: [2, 3]",
                                       "  - return x.scatter(0, i, y)\n");
static const struct made ALIGNED = IN_SPEC(
    "p: [4, 2, 3], t: {shape: [2, 2], dtype: int64}, a: {shape: [2], dtype: int64}",
    "  - return ctc_loss(log_softmax(p, 2), t, a, a)\n");
static const struct made SOLVED = IN_SPEC("x: [3, 3], y: [3, 2]", "  - return torch.linalg.solve(x, y)\n");
static const struct made CONVOLVED = IN_SPEC("x: [1, 4, 8, 8], w: [6, 4, 3, 3], b: [6]",
                                             "  - return F.conv2d(x, w, b)\n");
static const struct made CONVOLVED_BYTES = IN_SPEC(
    "x: {shape: [1, 4, 8, 8], dtype: int8}, w: {shape: [6, 4, 3, 3], dtype: int8}",
    "  - return F.conv2d(x.to(torch.int32) - 3, w.to(torch.int32))\n");
static const struct made POOLED = IN_SPEC("x: [1, 4, 8, 8]", "  - return F.max_pool2d(x, 2)\n");
static const struct made ATTENDED = {
    .spec = "modc: 1\nmodel: m\nhooks: none\ninputs: {q: [2, 4, 8], k: [2, 4, 8], v: [2, 4, 8]}\nforward:\n"
            "  - return F.scaled_dot_product_attention(q, k, v)\n",
    .behind = "attention"};
static const struct made REMEMBERED = {
    .spec = "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [3, 2, 4]}\nmodules: {rnn: 'GRU(4, 5)'}\nforward:\n"
            "  - y, h = rnn(x)\n  - return y\n"};
static const struct made EXTERN = {
    .spec =
        "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2, 4]}\nmodules: {f: 'Extern(\"f\", [2])'}\nforward:\n"
        "  - return f(x)\n"};
static const struct made HOOKED = {
    .spec = "modc: 1\nmodel: m\ninputs: {x: [2, 4]}\nmodules: {act: ReLU()}\nforward:\n  - return act(x)\n",
    .fenced = true};

/* A slot that is read as it was and as it becomes. */
static const struct made COUNTER = {
    .spec =
        "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2]}\nstate:\n  total: {shape: [2], init: zeros_()}\n"
        "forward:\n  - h = self.total + x\n  - self.total = h\n  - return h * self.total\n"};

/* Rows of a slot. */
static const struct made KEPT = {
    .spec = "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2, 3], i: {shape: [2], dtype: int64}}\n"
            "state:\n  s: {shape: [5, 3], init: zeros_()}\n"
            "forward:\n  - self.s = self.s.index_copy(0, i, x)\n  - return self.s * 2\n",
    .behind = "fuse"};
static const struct made CACHED = {
    .spec = "modc: 1\nmodel: m\nhooks: none\nsizes: {rows: 4}\ninputs: {x: [rows, 2, 3], b: [2, 5]}\n"
            "generation: {context: 8}\nforward:\n  - return cached_attention(x, x, x, bias=b)\n"};
static const struct made SCALED = {
    .spec = "modc: 1\nmodel: m\nhooks: none\nsizes: {rows: 4}\ninputs: {x: [rows, 2, 3]}\n"
            "generation: {context: 8, cache: int8}\nforward:\n  - return cached_attention(x, x, x)\n"};

#define BLOCKS                                                                                               \
    "inputs: {x: [2, 4]}\nclasses:\n  Block:\n    modules: {fc: Linear(4, 4)}\n"                             \
    "    forward(x):\n      - return relu(fc(x))\nmodules:\n  a: Block()\n  b: Block()\n"                    \
    "forward:\n  - return b(a(x))\n"

static const struct made CALLS = {.spec = "modc: 1\nmodel: m\nhooks: none\n" BLOCKS};
static const struct made PARTS_OF_CALLS = {
    .spec = "modc: 1\nmodel: m\nbackward: true\n" BLOCKS, .fenced = true, .saves = true};

/* What stands there before it is broken is sound. */
struct broken {
    struct graph *graph;
    struct op *op; /* the first of the case's code */
    struct arena *arena;
    struct value *x; /* the first input */
};

/* A copy of what the op reads, which it reads in its place. */
static struct value *twin(struct broken *b, int input)
{
    struct value *copy = ARENA_NEW(b->arena, struct value);

    *copy = *b->op->inputs[input];
    b->op->inputs[input] = copy;
    return copy;
}

/* As if the op had read such a value all along. */
static void retype(struct broken *b, int input)
{
    b->op->inputs[input]->dtype = b->op->inputs[input]->dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT32
                                                                               : DTYPE_FLOAT64;
}

static struct op *part_of(const struct broken *b, enum call_part part)
{
    for (int i = 0; i < b->graph->op_count; i++)
        if (b->graph->ops[i]->code == GRAPH_OP_CALL && b->graph->ops[i]->invoke.part == part)
            return b->graph->ops[i];
    fail_msg("there is no such part");
    return NULL;
}

#define BREAK(name) static void name(struct broken *b)

BREAK(move_in_front)
{
    graph_move(b->graph, 3, 2);
}
BREAK(read_too_late)
{
    struct op *last = b->graph->outputs[0]->op;

    for (int i = 0; i < last->input_count; i++)
        if (last->inputs[i] == b->op->outputs[0])
            graph_input(b->graph, last, i, b->op->inputs[0]);
}
BREAK(make_twice)
{
    b->op->outputs[0]->id = b->op->inputs[0]->id;
}
BREAK(forget_op)
{
    b->op->outputs[0]->op = b->op->inputs[0]->op;
}
BREAK(forget_result)
{
    b->op->outputs[0]->result = 1;
}
BREAK(other_dims)
{
    memcpy(b->op->outputs[0]->dims, b->op->inputs[0]->dims, sizeof b->x->dims);
}
BREAK(other_type)
{
    b->op->outputs[0]->dtype = DTYPE_FLOAT64;
}
BREAK(fewer_dims)
{
    b->op->outputs[0]->dims[b->op->outputs[0]->ndim - 1] = dim_const(b->arena, 7);
}
BREAK(not_made)
{
    graph_remove(b->graph, graph_position(b->graph, b->op));
}
BREAK(more_results)
{
    b->graph->result_count = b->graph->output_count + 1;
}
BREAK(other_input)
{
    b->x->op->input.index = 1;
}
BREAK(absent_input)
{
    struct op *op = make_like(b->graph, b->x->op);

    b->graph->inputs[0] = graph_value(b->graph, op, DTYPE_FLOAT32, b->x->ndim, b->x->dims);
}
BREAK(read_in_secret)
{
    b->op->inputs[1] = b->x;
}
BREAK(return_in_secret)
{
    b->graph->outputs[1] = b->graph->outputs[0];
}
BREAK(reader_that_reads_not)
{
    b->x->users[0] = b->graph->outputs[1]->op;
}
BREAK(not_placed)
{
    b->op->placed = false;
}
BREAK(elsewhere)
{
    b->op->outputs[0]->base = b->x;
}
BREAK(no_offset)
{
    b->op->outputs[0]->offset = NULL;
}
BREAK(no_strides)
{
    b->op->outputs[0]->strides[0] = NULL;
}

BREAK(early_tail)
{
    b->op->tail_first = 0;
}
BREAK(greedy_tail)
{
    b->op->tail = dag_new(b->arena, 2);
    b->op->tail->result = dag_load(b->arena, b->op->tail, 1, DTYPE_FLOAT32);
}
BREAK(tail_of_map)
{
    b->op->tail = dag_identity(b->arena, DTYPE_FLOAT32);
}
BREAK(retype_first)
{
    retype(b, 0);
}
BREAK(no_dag)
{
    b->op->dag = NULL;
}
BREAK(same_axes)
{
    b->op->view.perm[0] = 0;
}
BREAK(take_twice)
{
    struct value **inputs = ARENA_ARRAY(b->arena, 2, struct value *);

    inputs[0] = inputs[1] = b->op->inputs[0];
    graph_inputs(b->graph, b->op, inputs, 2);
    b->op->tail_first = 2;
}
BREAK(view_axis)
{
    b->op->view.axis = 2;
}
BREAK(view_start)
{
    b->op->view.start = dim_const(b->arena, 2);
}
BREAK(view_kind)
{
    b->op->view.kind = (enum view_kind)9;
}
BREAK(head_of_two)
{
    b->op->head = dag_new(b->arena, 2);
    b->op->head->result = dag_load(b->arena, b->op->head, 1, DTYPE_FLOAT32);
}
BREAK(no_elements)
{
    b->op->outputs[0]->constant = NULL;
}
BREAK(two_sources)
{
    graph_value(b->graph, b->op, DTYPE_FLOAT32, b->x->ndim, b->x->dims);
}
BREAK(join_axis)
{
    b->op->concat.axis = 2;
}
BREAK(join_types)
{
    twin(b, 1)->dtype = DTYPE_FLOAT64;
}
BREAK(scan_axis)
{
    b->op->scan.axis = MAX_DIMS;
}
BREAK(scan_bools)
{
    b->op->dag->nodes[b->op->dag->result].dtype = DTYPE_BOOL;
}
BREAK(scan_from)
{
    take_twice(b);
    twin(b, 0)->dtype = DTYPE_FLOAT64;
    b->op->scan.given = true;
}
BREAK(sort_axis)
{
    b->op->sort.axis = -1;
}
BREAK(fft_numbers)
{
    b->op->inputs[3] = b->op->inputs[2];
}
BREAK(fft_axis)
{
    b->op->fft.axis = 2;
}
BREAK(fft_length)
{
    b->op->fft.length = 5;
}
BREAK(boxes_of_numbers)
{
    b->op->inputs[1] = b->op->inputs[0];
}
BREAK(sample_nothing)
{
    b->op->sample.part = SAMPLE_TO_PLACES;
}
BREAK(sample_at_images)
{
    b->op->inputs[1] = b->op->inputs[0];
}
BREAK(softmax_axis)
{
    b->op->softmax.axis = 2;
}
BREAK(norm_axes)
{
    b->op->norm.axes = 3;
}
BREAK(product_of_one)
{
    b->op->contract.bias = true;
}
BREAK(index_that_is_real)
{
    b->op->inputs[1]->dtype = DTYPE_FLOAT32;
}
BREAK(gather_axis)
{
    b->op->gather.axis = 2;
}
BREAK(gather_one)
{
    graph_inputs(b->graph, b->op, b->op->inputs, 1);
    b->op->tail_first = 1;
}
BREAK(put_another_type)
{
    retype(b, 2);
}
BREAK(look_at_two)
{
    graph_value(b->graph, b->op, DTYPE_FLOAT32, b->x->ndim, b->x->dims);
}
BREAK(of_no_extern)
{
    b->op->external.module = b->graph->root;
}
BREAK(extern_counts)
{
    b->op->external.inputs = 2;
}
BREAK(extern_alone)
{
    b->op->external.backward = true;
}
BREAK(no_bound)
{
    b->op->check.extent = NULL;
}
BREAK(align_numbers)
{
    twin(b, 0)->ndim = 2;
}
BREAK(solve_nothing)
{
    b->op->factor.kind = FACTOR_LU;
}
BREAK(solve_row)
{
    twin(b, 1)->ndim = 1;
}
BREAK(conv_groups)
{
    b->op->window.groups = 3;
}
BREAK(conv_nothing)
{
    b->op->window.groups = 0;
}
BREAK(conv_kernel)
{
    b->op->window.kernel[1] = 2;
}
BREAK(conv_types)
{
    retype(b, 1);
}
BREAK(conv_zero)
{
    b->op->window.zero = 300;
}
BREAK(conv_bias)
{
    b->op->inputs[2]->dims[0] = dim_const(b->arena, 5);
}
BREAK(pool_padding)
{
    b->op->window.padding[0] = 2;
}
BREAK(attend_to_rows)
{
    b->op->inputs[2]->ndim = 1;
}
BREAK(no_weight)
{
    b->op->recurrent.has[RECURRENT_WEIGHT] = false;
}
BREAK(fence_of_more)
{
    b->op->fence.seen = 3;
}
BREAK(write_elsewhere)
{
    graph_input(b->graph, b->op, 1, b->x);
}
BREAK(write_another_type)
{
    b->op->dag = dag_identity(b->arena, DTYPE_FLOAT64);
}
BREAK(write_too_much)
{
    twin(b, 2)->dims[0] = dim_const(b->arena, 3);
}
BREAK(rows_to_a_part)
{
    graph_input(b->graph, b->op, 1, b->x);
}
BREAK(rows_at_reals)
{
    twin(b, 2)->dtype = DTYPE_FLOAT32;
}
BREAK(rows_too_wide)
{
    twin(b, 3)->dims[1] = dim_const(b->arena, 4);
}
BREAK(attend_alone)
{
    graph_inputs(b->graph, b->op, b->op->inputs, CACHED_PAGES);
    b->op->tail_first = CACHED_PAGES;
}
BREAK(keys_too_wide)
{
    twin(b, CACHED_KEYS)->dims[2] = dim_const(b->arena, 4);
}
BREAK(sequences_that_are_real)
{
    twin(b, CACHED_SEQUENCE)->dtype = DTYPE_FLOAT32;
}
BREAK(bias_of_one)
{
    twin(b, CACHED_PAGES + 1)->ndim = 1;
}
BREAK(no_scales)
{
    graph_inputs(b->graph, b->op, b->op->inputs, CACHED_PAGES + 1);
    b->op->tail_first = CACHED_PAGES + 1;
}
BREAK(scales_of_lines)
{
    twin(b, CACHED_PAGES + 2)->dims[1] = dim_const(b->arena, 3);
}
BREAK(values_of_16_bits)
{
    twin(b, CACHED_VALUES)->dtype = DTYPE_FLOAT16;
}
BREAK(no_page)
{
    b->op->cached.page = 0;
}
BREAK(call_takes)
{
    b->x->dims[0] = dim_const(b->arena, 3);
}
BREAK(call_gives)
{
    part_of(b, CALL_WHOLE)->outputs[0]->dims[0] = dim_const(b->arena, 3);
}
BREAK(part_without_block)
{
    part_of(b, CALL_FORWARD)->outputs[1]->dtype = DTYPE_INT32;
}
BREAK(part_of_no_block)
{
    part_of(b, CALL_COMMIT)->inputs[0] = b->x;
}
BREAK(part_takes)
{
    part_of(b, CALL_BACKWARD)->invoke.reads = NULL;
}
BREAK(part_gives)
{
    part_of(b, CALL_BACKWARD)->outputs[0]->dims[0] = dim_const(b->arena, 3);
}

/* code: of the op that is broken; GRAPH_OP_COUNT: none. */
static const struct broken_case {
    const struct made *made;
    enum op_code code;
    void (*breaks)(struct broken *b);
    const char *words; /* what is to be said of it */
    enum {
        TYPES,
        ALWAYS,
        RESOLVED
    } when; /* of graph_check with types alone; without, too; behind legalise */
} broken_cases[] = {
    {&SMALL, GRAPH_OP_COUNT, move_in_front, "before it is made", ALWAYS},
    {&COUNTER, GRAPH_OP_WRITE, read_too_late, "after it was written", ALWAYS},
    {&SMALL, GRAPH_OP_VIEW, make_twice, "is made twice", ALWAYS},
    {&SMALL, GRAPH_OP_VIEW, forget_op, "does not know its op", ALWAYS},
    {&SMALL, GRAPH_OP_VIEW, forget_result, "does not know its op", ALWAYS},
    {&SMALL, GRAPH_OP_VIEW, not_made, "output 1 is never made", ALWAYS},
    {&SMALL, GRAPH_OP_COUNT, more_results, "fewer outputs than results", ALWAYS},
    {&SMALL, GRAPH_OP_COUNT, other_input, "input 0 is another", ALWAYS},
    {&SMALL, GRAPH_OP_COUNT, absent_input, "input 0 does not stand there", ALWAYS},
    {&SMALL, GRAPH_OP_MAP, read_in_secret, "is read 2 times and knows of 1", ALWAYS},
    {&SMALL, GRAPH_OP_COUNT, return_in_secret, "and knows of", ALWAYS},
    {&SMALL, GRAPH_OP_COUNT, reader_that_reads_not, "knows a reader", ALWAYS},
    {&SMALL, GRAPH_OP_INPUT, not_placed, "does not know that it stands there", ALWAYS},
    {&SMALL, GRAPH_OP_VIEW, elsewhere, "lies nowhere", RESOLVED},
    {&SMALL, GRAPH_OP_MAP, no_offset, "lies nowhere", RESOLVED},
    {&SMALL, GRAPH_OP_MAP, no_strides, "lies nowhere", RESOLVED},
    {&SMALL, GRAPH_OP_VIEW, other_dims, "would be float32 (3, 2)", TYPES},
    {&SMALL, GRAPH_OP_VIEW, other_type, "is float64", TYPES},
    {&SMALL, GRAPH_OP_MAP, fewer_dims, "would be float32 (2, 3)", TYPES},
    {&SUMMED, GRAPH_OP_REDUCE, fewer_dims, "would be float32 (2)", TYPES},
    {&SUMMED, GRAPH_OP_REDUCE, early_tail, "its tail begins", TYPES},
    {&SUMMED, GRAPH_OP_REDUCE, greedy_tail, "its tail loads an input", TYPES},
    {&SMALL, GRAPH_OP_MAP, tail_of_map, "it cannot have a tail", TYPES},
    {&SMALL, GRAPH_OP_MAP, retype_first, "it loads another type", TYPES},
    {&SMALL, GRAPH_OP_MAP, no_dag, "nothing to compute", TYPES},
    {&SUMMED, GRAPH_OP_REDUCE, take_twice, "it reduces one value", TYPES},
    {&SUMMED, GRAPH_OP_REDUCE, head_of_two, "its head loads an input", TYPES},
    {&SMALL, GRAPH_OP_VIEW, same_axes, "no permutation", TYPES},
    {&SMALL, GRAPH_OP_VIEW, take_twice, "a view is of one value", TYPES},
    {&SMALL, GRAPH_OP_VIEW, view_kind, "it is no kind of view", TYPES},
    {&SLICED, GRAPH_OP_VIEW, view_axis, "(view): its axis is not there", TYPES},
    {&SLICED, GRAPH_OP_VIEW, view_start, "it shows what is not there", TYPES},
    {&WINDOWS, GRAPH_OP_VIEW, view_axis, "(view): its axis is not there", TYPES},
    {&FLAT, GRAPH_OP_VIEW, fewer_dims, "not as many elements", TYPES},
    {&WIDER, GRAPH_OP_VIEW, fewer_dims, "no broadcast of those", TYPES},
    {&NUMBERS, GRAPH_OP_CONST, no_elements, "it has no elements", TYPES},
    {&SMALL, GRAPH_OP_INPUT, two_sources, "makes one value", TYPES},
    {&JOINED, GRAPH_OP_CONCAT, join_axis, "(concat): its axis is not there", TYPES},
    {&JOINED, GRAPH_OP_CONCAT, join_types, "its parts have several types", TYPES},
    {&SUMS, GRAPH_OP_SCAN, scan_axis, "(scan): its axis is not there", TYPES},
    {&SUMS, GRAPH_OP_SCAN, scan_bools, "it scans another type", TYPES},
    {&SUMS, GRAPH_OP_SCAN, scan_from, "it begins with another type", TYPES},
    {&SORTED, GRAPH_OP_SORT, sort_axis, "(sort): its axis is not there", TYPES},
    {&SPECTRUM, GRAPH_OP_FFT, fft_numbers, "the operands of a Fourier transform", TYPES},
    {&SPECTRUM, GRAPH_OP_FFT, fft_axis, "it has no pairs along its last axis", TYPES},
    {&SPECTRUM, GRAPH_OP_FFT, fft_length, "its length is none", TYPES},
    {&BOXES, GRAPH_OP_NMS, boxes_of_numbers, "it takes boxes, their order", TYPES},
    {&SAMPLED, GRAPH_OP_SAMPLE, sample_nothing, "it takes images and places", TYPES},
    {&SAMPLED, GRAPH_OP_SAMPLE, retype_first, "it samples another type", TYPES},
    {&SAMPLED, GRAPH_OP_SAMPLE, sample_at_images, "its grid is not one", TYPES},
    {&ALIGNED_BOXES, GRAPH_OP_SAMPLE, sample_at_images, "its boxes are not five", TYPES},
    {&CHANCES, GRAPH_OP_SOFTMAX, softmax_axis, "(softmax): its axis is not there", TYPES},
    {&NORMED, GRAPH_OP_NORM, norm_axes, "its axes are not there", TYPES},
    {&PRODUCT, GRAPH_OP_CONTRACT, product_of_one, "the operands of a product", TYPES},
    {&PRODUCT, GRAPH_OP_CONTRACT, retype_first, "it multiplies types", TYPES},
    {&PICKED, GRAPH_OP_GATHER, gather_axis, "(gather): its axis is not there", TYPES},
    {&PICKED, GRAPH_OP_GATHER, gather_one, "it has two inputs", TYPES},
    {&PICKED, GRAPH_OP_CHECK, look_at_two, "it looks at one value", TYPES},
    {&PICKED, GRAPH_OP_CHECK, no_bound, "its bound is not there", TYPES},
    {&EXTERN, GRAPH_OP_EXTERN, of_no_extern, "its body is of no Extern", TYPES},
    {&EXTERN, GRAPH_OP_EXTERN, extern_counts, "it has not the values that it counts", TYPES},
    {&EXTERN, GRAPH_OP_EXTERN, extern_alone, "no gradient comes to it, or goes", TYPES},
    {&PUT, GRAPH_OP_SCATTER, put_another_type, "it puts another type", TYPES},
    {&PUT, GRAPH_OP_SCATTER, index_that_is_real, "its index is no integer", TYPES},
    {&ALIGNED, GRAPH_OP_CTC, align_numbers, "it takes log-probabilities", TYPES},
    {&SOLVED, GRAPH_OP_FACTOR, solve_nothing, "it takes a matrix", TYPES},
    {&SOLVED, GRAPH_OP_FACTOR, solve_row, "matrices are float32 or float64", TYPES},
    {&CONVOLVED, GRAPH_OP_CONV, conv_nothing, "the operands of a convolution", TYPES},
    {&CONVOLVED, GRAPH_OP_CONV, conv_groups, "its channels do not fit", TYPES},
    {&CONVOLVED, GRAPH_OP_CONV, conv_kernel, "its weight is not as large", TYPES},
    {&CONVOLVED, GRAPH_OP_CONV, conv_types, "(conv): it multiplies types", TYPES},
    {&CONVOLVED_BYTES, GRAPH_OP_CONV, conv_zero, "it takes a number from x that is none of int8", TYPES},
    {&CONVOLVED, GRAPH_OP_CONV, conv_bias, "its bias is not one number", TYPES},
    {&POOLED, GRAPH_OP_POOL, take_twice, "the operands of a pool", TYPES},
    {&POOLED, GRAPH_OP_POOL, pool_padding, "its padding is over half", TYPES},
    {&ATTENDED, GRAPH_OP_ATTENTION, attend_to_rows, "the operands of two products", TYPES},
    {&REMEMBERED, GRAPH_OP_RECURRENT, no_weight, "the inputs that it names", TYPES},
    {&HOOKED, GRAPH_OP_FENCE, fence_of_more, "a result for each of its values", TYPES},
    {&COUNTER, GRAPH_OP_WRITE, write_elsewhere, "no part of its slot", TYPES},
    {&COUNTER, GRAPH_OP_WRITE, write_another_type, "it writes another type", TYPES},
    {&COUNTER, GRAPH_OP_WRITE, write_too_much, "does not fit where it goes", TYPES},
    {&KEPT, GRAPH_OP_WRITE, rows_to_a_part, "it writes rows to a part", TYPES},
    {&KEPT, GRAPH_OP_WRITE, rows_at_reals, "its rows are no list", TYPES},
    {&KEPT, GRAPH_OP_WRITE, rows_too_wide, "its rows do not fit", TYPES},
    {&CACHED, GRAPH_OP_CACHED_ATTENTION, attend_alone, "it takes queries, keys, values", TYPES},
    {&CACHED, GRAPH_OP_CACHED_ATTENTION, keys_too_wide, "keys and values do not fit", TYPES},
    {&CACHED, GRAPH_OP_CACHED_ATTENTION, sequences_that_are_real, "whose tokens its rows are", TYPES},
    {&CACHED, GRAPH_OP_CACHED_ATTENTION, bias_of_one, "its bias does not fit", TYPES},
    {&CACHED, GRAPH_OP_CACHED_ATTENTION, no_page, "its settings are wrong", TYPES},
    {&SCALED, GRAPH_OP_CACHED_ATTENTION, no_scales, "it takes scales of what is kept in integers", TYPES},
    {&SCALED, GRAPH_OP_CACHED_ATTENTION, scales_of_lines, "its scales do not fit", TYPES},
    {&SCALED, GRAPH_OP_CACHED_ATTENTION, values_of_16_bits, "its queries, keys and values do not fit", TYPES},
    {&CALLS, GRAPH_OP_CALL, call_takes, "input 0 is not what its region takes", TYPES},
    {&CALLS, GRAPH_OP_CALL, call_gives, "output 0 is not what its region gives", TYPES},
    {&CALLS, GRAPH_OP_CALL, take_twice, "it has not what its region takes and gives", TYPES},
    {&PARTS_OF_CALLS, GRAPH_OP_CALL, part_without_block, "its block is not there", TYPES},
    {&PARTS_OF_CALLS, GRAPH_OP_CALL, part_of_no_block, "its block is not there", TYPES},
    {&PARTS_OF_CALLS, GRAPH_OP_CALL, part_takes, "it does not say what it reads", TYPES},
    {&PARTS_OF_CALLS, GRAPH_OP_CALL, part_gives, "output 0 is not what its region gives", TYPES},
};
enum { BROKEN_CASES = sizeof broken_cases / sizeof *broken_cases };

/* What was said of each: which case is for which message. */
static char said[BROKEN_CASES][200];

/* graph_check of the case's graph, which is broken; what it says stays. */
static bool break_one(int at)
{
    const struct broken_case *c = &broken_cases[at];
    struct small s = {0};
    struct model *m = c->made->spec ? model_read(c->made->spec) : NULL;
    struct broken b = {0};
    const char *fault;
    bool good;

    if (m) {
        if (c->made->saves)
            backward_write(&m->cx, m->program);
        if (c->made->behind)
            run_up_to(m, c->made->behind);
        b.graph = (c->made->saves ? m->program->entries[0].saving
                                  : m->program->entries[0].graphs)[0][c->made->fenced];
        b.arena = &m->cx.arena;
    } else {
        s = small();
        b.graph = s.graph;
        b.arena = &s.b->cx.arena;
    }
    if (c->when == RESOLVED)
        pass_legalise(b.graph);
    b.x = b.graph->inputs[0];
    b.op = c->code < GRAPH_OP_COUNT ? nth_op(b.graph, c->code, 0) : NULL;
    sound(b.graph);
    c->breaks(&b);
    fault = graph_check(b.graph, c->when == TYPES);
    good = fault && strstr(fault, c->words);
    if (!good)
        print_message("%s: '%s' in place of '%s'\n", c->made->spec ? c->made->spec : "small",
                      fault ? fault : "nothing", c->words);
    else
        snprintf(said[at], sizeof said[at], "%s", fault);
    if (m)
        model_free(m);
    else
        bench_free(s.b);
    return good;
}

/* Dims that are not those of a permutation: this takes infer. */
static void types_are_checked_where_they_are_asked_for(void **state)
{
    struct small s = small();

    (void)state;
    memcpy(s.view->dims, s.sum->dims, sizeof s.view->dims);
    assert_null(graph_check(s.graph, false));
    assert_non_null(graph_check(s.graph, true));
    bench_free(s.b);
}

static void broken_graphs_are_refused(void **state)
{
    int bad = 0;

    (void)state;
    for (int i = 0; i < BROKEN_CASES; i++)
        bad += !break_one(i);
    assert_int_equal(bad, 0);
}

/* ---- every message has a case ----------------------------------------------------------------------------------- */

/* Whether a case has said the message: all of it that is no number, in order. */
static bool was_said(const char *message)
{
    for (int i = 0; i < BROKEN_CASES; i++) {
        const char *at = said[i], *piece = message;

        while (at && *piece) {
            size_t length = strcspn(piece, "%");
            char words[200];

            snprintf(words, sizeof words, "%.*s", (int)length, piece);
            at = strstr(at, words);
            piece += length + (piece[length] ? 2 : 0);
        }
        if (at)
            return true;
    }
    return false;
}

/* The strings with blanks in a function of these that a file has; `ending`: of its name. */
static int unsaid(const char *path, const char *beginning, const char *ending)
{
    FILE *file = fopen(path, "r");
    char line[400];
    bool inside = false;
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *open = strchr(line, '('), *from = line, *quote;
        size_t length = open ? (size_t)(open - line) : 0;

        if (line[0] != ' ' && line[0] != '{' && line[0] != '\n' && open)
            inside = length >= strlen(ending) && strstr(line, beginning) &&
                     strncmp(open - strlen(ending), ending, strlen(ending)) == 0;
        while (inside && (quote = strchr(from, '"')) != NULL) {
            char *end = strchr(quote + 1, '"');

            assert_non_null(end);
            *end = '\0';
            from = end + 1;
            if (strchr(quote + 1, ' ') && !was_said(quote + 1)) {
                print_message("%s: no broken graph for '%s'\n", path, quote + 1);
                count++;
            }
        }
    }
    fclose(file);
    return count;
}

static void every_message_has_a_broken_graph(void **state)
{
    static const char *const families[] = {
        "attention", "cached_attention", "contract", "ctc",    "effect", "factor",
        "fft",       "gather",           "map",      "nms",    "norm",   "ops",
        "recurrent", "sample",           "scan",     "source", "view",   "window"};
    char path[100];
    int count = unsaid("generator/graph/graph_check.c", " *check_", "");

    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        snprintf(path, sizeof path, "generator/ops/%s.c", families[i]);
        count += unsaid(path, "static const char *", "_broken") +
                 unsaid(path, "const char *op_broken", "_broken");
    }
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_know_their_readers),
        cmocka_unit_test(replacing_moves_all_uses),
        cmocka_unit_test(ops_come_and_go),
        cmocka_unit_test(types_are_checked_where_they_are_asked_for),
        cmocka_unit_test(broken_graphs_are_refused),
        cmocka_unit_test(every_message_has_a_broken_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
