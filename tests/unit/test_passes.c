/* test_passes.c - each pass of the table on small models: what it has to change, and what it has to leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graphs.h"

/* ---- what is measured of a graph -------------------------------------------------------------------------------- */

static int first_of(const struct graph *graph, enum op_code code)
{
    return graph_position(graph, nth_op(graph, code, 0));
}

/* Whether an op is there whose results nobody reads. */
static int has_unused(const struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code != GRAPH_OP_INPUT && graph->ops[i]->output_count == 1 &&
            graph_uses(graph->ops[i]->outputs[0]) == 0)
            return 1;
    return 0;
}

static int is_channels_last(const struct graph *graph)
{
    return nth_op(graph, GRAPH_OP_CONV, 0)->window.channels_last;
}

/* Over the pixels behind the convolution. */
static int maps_of_images(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->code == GRAPH_OP_MAP && graph->ops[i]->outputs[0]->ndim == 4 &&
                 dim_equals(graph->ops[i]->outputs[0]->dims[3], 6);
    return count;
}

/* Maps that stand directly behind what computes a product. */
static int maps_of_products(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        for (int j = 0; graph->ops[i]->code == GRAPH_OP_MAP && j < graph->ops[i]->input_count; j++)
            count += op_rows[graph->ops[i]->inputs[j]->op->code]->weighted;
    return count;
}

static int views_of_maps(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->code == GRAPH_OP_VIEW && graph->ops[i]->inputs[0]->op->code == GRAPH_OP_MAP;
    return count;
}

static int convolutions_of_int8(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->code == GRAPH_OP_CONV && conv_is_int8(graph->ops[i]);
    return count;
}

/* What MODEL_pack is to compute. */
static int prepared(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->output_count > 0 && graph->ops[i]->outputs[0]->prepared;
    return count;
}

static int tails(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->tail != NULL;
    return count;
}

static int saving_layers(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->code == GRAPH_OP_RECURRENT && graph->ops[i]->recurrent.saves;
    return count;
}

static int check_at(const struct graph *graph)
{
    return first_of(graph, GRAPH_OP_CHECK);
}

static int backward_reads(const struct graph *graph)
{
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_CALL && graph->ops[i]->invoke.part == CALL_BACKWARD)
            return graph->ops[i]->input_count;
    return 0;
}

static int instances(const struct graph *graph)
{
    return nth_op(graph, GRAPH_OP_CALL, 0)->invoke.count;
}

/* How many values lie in another one. */
static int resolved_views(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->code == GRAPH_OP_VIEW && graph->ops[i]->outputs[0]->base &&
                 graph->ops[i]->outputs[0]->base != graph->ops[i]->outputs[0];
    return count;
}

static int written_rows(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->code == GRAPH_OP_WRITE && graph->ops[i]->write.rows;
    return count;
}

/* How many factors are for an instruction. */
static int rescaled(const struct graph *graph)
{
    int count = 0;

    for (int i = 0; i < graph->op_count; i++)
        for (int n = 0; graph->ops[i]->dag && n < graph->ops[i]->dag->count; n++)
            count += graph->ops[i]->dag->nodes[n].prim == PRIM_RESCALE;
    return count;
}

static int packed_ops(const struct graph *graph)
{
    return graph->pack_count;
}

/* ---- the cases -------------------------------------------------------------------------------------------------- */

#define HEAD "modc: 1\nmodel: m\nhooks: none\n"
#define PLAIN(inputs, statements) HEAD "inputs: {" inputs "}\nforward:\n" statements
#define MODULES(inputs, modules, statements)                                                                 \
    HEAD "inputs: {" inputs "}\nmodules:\n" modules "forward:\n" statements

#define CALIBRATED                                                                                           \
    MODULES("x: [1, 3, 8, 8]", "  conv: Conv2d(3, 4, 3)\n  act: ReLU()\n", "  - return act(conv(x))\n")      \
    "activations: calibrated\nranges: tests/calibrated/unit.ranges.safetensors\n"
#define SCALED                                                                                               \
    HEAD "inputs: {x: {shape: [2, 4], dtype: int32}}\nbuffers:\n  m: {shape: [4], dtype: int32}\n"           \
         "  s: {shape: [4], dtype: int32}\nforward:\n  - y = requantize(x, self.m, self.s)\n"                \
         "  - z = requantize(y, 2 ** 30, 1)\n  - return requantize(z, 5, 1)\n"
#define SLICED                                                                                                   \
    HEAD                                                                                                         \
        "sizes: {n: 4}\ninputs: {x: {shape: [2, n], dtype: int32}}\nbuffers:\n  m: {shape: [4], dtype: int32}\n" \
        "  s: {shape: [4], dtype: int32}\nforward:\n  - return requantize(x, self.m[:n], self.s[:n])\n"
#define NORMED_CONV                                                                                          \
    MODULES("x: [1, 8, 8, 8]", "  conv: Conv2d(8, 8, 3)\n  bn: BatchNorm2d(8)\n", "  - return bn(conv(x))\n")
#define NORMED_LINES                                                                                         \
    MODULES("x: [1, 8, 8]", "  conv: Conv1d(8, 8, 3)\n  bn: BatchNorm1d(8)\n", "  - return bn(conv(x))\n")
#define SHIFTED_CONV                                                                                         \
    MODULES("x: [1, 8, 8, 8]", "  conv: Conv2d(8, 8, 3)\n", "  - return conv(x) + conv.bias.view(8, 1, 1)\n")
#define CONV_OF(channels)                                                                                    \
    MODULES("x: [1, " channels ", 9, 9]", "  a: Conv2d(" channels ", 16, 3)\n  b: Conv2d(16, 16, 3)\n",      \
            "  - return b(relu(a(x)))\n")
#define ATTENTION(between)                                                                                   \
    PLAIN("q: [2, 4, 8], k: [2, 4, 8], v: [2, 4, 8]",                                                        \
          "  - s = q @ k.transpose(1, 2)\n  - return " between " @ v\n")
#define JOINED(a, b) PLAIN("x: [2, 4], a: [4, 3], b: [4, 5]", "  - return x @ torch.cat((" a ", " b "), 1)\n")
#define GRU(rows) MODULES("x: [16, " rows ", 4]", "  rnn: GRU(4, 32)\n", "  - y, h = rnn(x)\n  - return y\n")
#define DOUBLED(value)                                                                                       \
    HEAD "inputs: {x: [4, 4]}\nparameters:\n  w: {shape: [4, 4], requires_grad: false}\nbackward: true\n"    \
         "forward:\n  - return x + " value "\n"
#define INDEXED(index)                                                                                       \
    PLAIN("x: [5, 3], i: {shape: [2], dtype: int64}", "  - y = x * 2\n  - return y[" index "]\n")
#define BLOCK                                                                                                \
    "classes:\n  Block:\n    modules: {fc: Linear(4, 4)}\n    forward(x):\n      - return relu(fc(x))\n"
#define LISTED                                                                                               \
    HEAD "inputs: {x: [2, 4]}\n" BLOCK "modules:\n  blocks: 3 x Block()\nforward:\n  - return blocks(x)\n"
#define BENT                                                                                                 \
    HEAD "inputs: {x: [2, 4]}\nclasses:\n  Block:\n    modules: {act: Tanh()}\n    forward(x):\n"            \
         "      - return act(x)\nmodules:\n  a: Block()\n  b: Block()\nforward:\n  - return b(a(x))\n"
#define APART                                                                                                \
    HEAD "inputs: {x: [2, 4]}\n" BLOCK "modules:\n  a: Block()\n  b: Block()\nforward:\n  - return b(a(x))\n"

#define KEPT(dtype, statements)                                                                              \
    HEAD "inputs: {x: {shape: [2, 3], dtype: " dtype "}, i: {shape: [2], dtype: int64}}\n"                   \
         "state:\n  s: {shape: [5, 3], dtype: " dtype ", init: zeros_()}\nforward:\n" statements

/* Of a pass: on which model, and what it makes of a number; equal ones: what it has to leave. */
static const struct pass_case {
    const char *pass, *spec;
    int (*measure)(const struct graph *graph); /* NULL: how many ops there are of the code */
    enum op_code code;
    int before, after;
    enum {
        EVAL,
        TRAIN,
        SAVES, /* keeps for backward, evaluated */
        ONCE,  /* EVAL, where each weight is packed once */
        CHIP   /* EVAL, for a chip that has instructions for fixed-point factors, with weights in flash */
    } graph;
} cases[] = {
    {"dead", CONV_OF("16") "backward: true\n", has_unused, GRAPH_OP_COUNT, 1, 0, SAVES},
    {"dead",
     HEAD
     "inputs: {x: [2]}\nstate:\n  s: {shape: [2], init: zeros_()}\nforward:\n  - self.s = x\n  - return x\n",
     NULL, GRAPH_OP_WRITE, 1, 1, EVAL},
    {"keep", GRU("2") "checkpoint: [rnn]\nbackward: true\n", saving_layers, GRAPH_OP_COUNT, 2, 1, SAVES},
    {"keep", GRU("2") "backward: true\n", saving_layers, GRAPH_OP_COUNT, 1, 1, SAVES},
    {"fold", NORMED_CONV, maps_of_images, GRAPH_OP_COUNT, 2, 0, EVAL},
    {"fold", NORMED_CONV, maps_of_images, GRAPH_OP_COUNT, 2, 2, ONCE},
    {"fold", NORMED_LINES, maps_of_products, GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fold", NORMED_LINES, maps_of_products, GRAPH_OP_COUNT, 0, 1, ONCE},
    {"fold", SHIFTED_CONV, maps_of_images, GRAPH_OP_COUNT, 1, 0, EVAL},
    {"fold", SHIFTED_CONV, maps_of_images, GRAPH_OP_COUNT, 1, 0, ONCE},
    {"fold", NORMED_CONV, NULL, GRAPH_OP_CONV, 1, 1, EVAL},
    {"fold", NORMED_CONV, maps_of_images, GRAPH_OP_COUNT, 6, 6, TRAIN},
    {"ranges", CALIBRATED, NULL, GRAPH_OP_MAP, 7, 5, EVAL}, /* that of conv is none */
    {"ranges", NORMED_CONV, NULL, GRAPH_OP_MAP, 7, 7, EVAL},
    {"integer", CALIBRATED, convolutions_of_int8, GRAPH_OP_COUNT, 0, 1, EVAL},
    {"integer", NORMED_CONV, convolutions_of_int8, GRAPH_OP_COUNT, 0, 0, EVAL},
    {"rescale", SCALED, rescaled, GRAPH_OP_COUNT, 0, 2, CHIP}, /* and one that no instruction does */
    {"rescale", SCALED, rescaled, GRAPH_OP_COUNT, 0, 0, ONCE},
    {"rescale", SLICED, rescaled, GRAPH_OP_COUNT, 0, 0,
     CHIP}, /* known when weights are, and as long as the call says */
    {"rescale", CALIBRATED, rescaled, GRAPH_OP_COUNT, 0, 1, CHIP},
    {"parts", JOINED("a", "b"), NULL, GRAPH_OP_CONTRACT, 1, 2, EVAL},
    {"parts", JOINED("a", "b"), NULL, GRAPH_OP_CONCAT, 1, 1, EVAL},
    {"parts", JOINED("a * 2", "b * 3"), NULL, GRAPH_OP_CONTRACT, 1, 1, EVAL},
    {"layout", CONV_OF("16"), is_channels_last, GRAPH_OP_COUNT, 0, 1, EVAL},
    {"layout", PLAIN("x: [2, 3, 4, 5]", "  - return x.permute(0, 2, 3, 1) + 1\n"), NULL, GRAPH_OP_VIEW, 1, 1,
     EVAL},
    {"views", PLAIN("x: [2, 3]", "  - return x.t().t() + 1\n"), NULL, GRAPH_OP_VIEW, 2, 0, EVAL},
    {"views", PLAIN("x: [2, 3]", "  - return x.t() + 1\n"), NULL, GRAPH_OP_VIEW, 1, 1, EVAL},
    {"prepare", DOUBLED("self.w * 2"), prepared, GRAPH_OP_COUNT, 0, 1, SAVES},
    {"prepare", DOUBLED("(self.w * 2).t()"), views_of_maps, GRAPH_OP_COUNT, 1, 0, SAVES},
    {"prepare", PLAIN("x: [4, 4], w: [4, 4]", "  - return x + (w * 2).t()\n") "backward: true\n", prepared,
     GRAPH_OP_COUNT, 0, 0, SAVES},
    {"prepare", DOUBLED("self.w.sum(0)"), prepared, GRAPH_OP_COUNT, 0, 1, SAVES},
    {"prepare", DOUBLED("self.w @ self.w.mT"), prepared, GRAPH_OP_COUNT, 0, 1, SAVES},
    {"prepare", DOUBLED("(self.w * 2) @ (self.w * 2).mT"), prepared, GRAPH_OP_COUNT, 0, 3, SAVES},
    {"prepare", DOUBLED("(self.w * 2) @ (self.w * 2).mT"), views_of_maps, GRAPH_OP_COUNT, 1, 1, SAVES},
    {"prepare", DOUBLED("self.w @ x"), prepared, GRAPH_OP_COUNT, 0, 0, SAVES},
    {"prepare", DOUBLED("torch.matrix_exp(self.w * 2)"), prepared, GRAPH_OP_COUNT, 0, 2, SAVES},
    {"prepare", DOUBLED("torch.linalg.qr(self.w).Q"), prepared, GRAPH_OP_COUNT, 0, 0, SAVES},
    {"fuse", PLAIN("x: []", "  - return torch.special.laguerre_polynomial_l(x, 0).sum() + x\n"), NULL,
     GRAPH_OP_REDUCE, 1, 1, EVAL}, /* of a number that nothing is read for */
    {"fuse", NORMED_LINES, tails, GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse", NORMED_LINES, tails, GRAPH_OP_COUNT, 0, 1, ONCE},
    {"lookup",
     MODULES("i: {shape: [2], dtype: int64}", "  e: Embedding(9, 4)\n",
             "  - return e(i)\nstorage: {e: int8}\n"),
     NULL, GRAPH_OP_LOOKUP, 0, 1, EVAL},
    {"lookup",
     MODULES("i: {shape: [2], dtype: int64}", "  e: Embedding(9, 4)\n", "  - return e(i)\nstorage: int8\n"),
     NULL, GRAPH_OP_LOOKUP, 0, 0, EVAL},
    {"fuse", MODULES("x: [2, 4]", "  fc: Linear(4, 8)\n", "  - return relu(fc(x))\n"), tails, GRAPH_OP_COUNT,
     0, 1, EVAL},
    {"fuse", MODULES("x: [2, 4]", "  fc: Linear(4, 8)\n", "  - h = fc(x)\n  - return h, relu(h)\n"), tails,
     GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse", KEPT("float32", "  - self.s = self.s.index_copy(0, i, x)\n  - return x\n"), written_rows,
     GRAPH_OP_COUNT, 0, 1, EVAL},
    {"fuse", KEPT("float32", "  - self.s = self.s.index_copy(0, i, x)\n  - return x\n"), NULL,
     GRAPH_OP_SCATTER, 1, 0, EVAL},
    {"fuse", KEPT("float32", "  - s = self.s.index_copy(0, i, x)\n  - self.s = s\n  - return s\n"),
     written_rows, GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse", KEPT("float32", "  - self.s = (self.s * 2).index_copy(0, i, x)\n  - return x\n"), written_rows,
     GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse", KEPT("float32", "  - self.s = self.s.index_copy(0, i, x) * 2\n  - return x\n"), written_rows,
     GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse", KEPT("float32", "  - self.s = self.s.index_add(0, i, x)\n  - return x\n"), written_rows,
     GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse", KEPT("float32", "  - self.s = self.s.index_copy(0, i, self.s[1:3])\n  - return x\n"),
     written_rows, GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse",
     HEAD
     "inputs: {x: [2, 3], i: {shape: [2], dtype: int64}}\nstate:\n  s: {shape: [5, 3], init: zeros_()}\n"
     "  a: {shape: [2, 3], init: zeros_()}\nforward:\n  - s = self.s.index_copy(0, i, self.a)\n  - self.a = x\n"
     "  - self.s = s\n  - return x\n",
     written_rows, GRAPH_OP_COUNT, 0, 0, EVAL},
    {"fuse", KEPT("int64", "  - self.s = self.s.index_copy(0, self.s[0, 1:], x)\n  - return x\n"),
     written_rows, GRAPH_OP_COUNT, 0, 0, EVAL},
    {"attention", ATTENTION("softmax(s, 2)"), NULL, GRAPH_OP_ATTENTION, 0, 1, EVAL},
    {"attention", ATTENTION("softmax(s, 2)"), NULL, GRAPH_OP_CONTRACT, 2, 0, EVAL},
    {"attention", ATTENTION("softmax(s, 1)"), NULL, GRAPH_OP_ATTENTION, 0, 0, EVAL},
    {"attention", ATTENTION("log_softmax(s, 2)"), NULL, GRAPH_OP_ATTENTION, 0, 0, EVAL},
    {"attention", ATTENTION("relu(s)"), NULL, GRAPH_OP_CONTRACT, 2, 2, EVAL},
    {"attention", PLAIN("x: [2, 4, 4]", "  - return x @ softmax(x @ x.mT, 2).mT\n"), NULL, GRAPH_OP_ATTENTION,
     0, 1, EVAL},
    {"attention", PLAIN("x: [2, 4, 4]", "  - w = softmax(x @ x.mT, 2)\n  - return x @ w.mT, w\n"), NULL,
     GRAPH_OP_ATTENTION, 0, 0, EVAL},
    {"gates", GRU("1"), NULL, GRAPH_OP_CONTRACT, 1, 0, EVAL},
    {"gates", GRU("2"), NULL, GRAPH_OP_CONTRACT, 1, 1, EVAL},
    {"check", INDEXED("i"), check_at, GRAPH_OP_COUNT, 3, 1, EVAL},
    {"check", INDEXED("i * 2"), check_at, GRAPH_OP_COUNT, 4, 2, EVAL}, /* with what it depends on */
    {"check", INDEXED("i"), NULL, GRAPH_OP_CHECK, 1, 1, EVAL},
    {"regions", BENT "backward: true\n", backward_reads, GRAPH_OP_COUNT, 4, 3, SAVES},
    {"regions", APART "backward: true\n", backward_reads, GRAPH_OP_COUNT, 4, 4, SAVES},
    {"regions", APART, NULL, GRAPH_OP_CALL, 2, 2, EVAL},
    {"roll", LISTED, NULL, GRAPH_OP_CALL, 3, 1, EVAL},
    {"roll", LISTED, instances, GRAPH_OP_COUNT, 1, 3, EVAL},
    {"roll", APART, NULL, GRAPH_OP_CALL, 2, 2, EVAL},
    {"legalise", PLAIN("x: [2, 3]", "  - return x[:, 1:] + 1\n"), resolved_views, GRAPH_OP_COUNT, 0, 1, EVAL},
    {"legalise", PLAIN("x: [2, 3]", "  - return x.t().reshape(6)\n"), NULL, GRAPH_OP_MAP, 0, 1, EVAL},
    {"legalise", PLAIN("x: [2, 3]", "  - return x[:, 1:] + 1\n"), NULL, GRAPH_OP_MAP, 1, 1, EVAL},
    {"legalise", PLAIN("x: [9, 3, 3]", "  - return x @ x.mT\n"), NULL, GRAPH_OP_MAP, 0, 1, EVAL},
    {"legalise", PLAIN("x: [9, 3, 3]", "  - return x.mT @ x\n"), NULL, GRAPH_OP_MAP, 0, 0, EVAL},
    {"legalise", PLAIN("x: [9, 20, 20]", "  - return x @ x.mT\n"), NULL, GRAPH_OP_MAP, 0, 0, EVAL},
    {"split", MODULES("x: [2, 4]", "  fc: Linear(4, 8)\n", "  - return fc(x)\n"), packed_ops, GRAPH_OP_COUNT,
     0, 3, EVAL},
    {"split", PLAIN("x: [2, 3]", "  - return x.t() + 1\n"), packed_ops, GRAPH_OP_COUNT, 0, 0, EVAL},
};
enum { CASES = sizeof cases / sizeof *cases };

static int measure(const struct pass_case *c, const struct graph *graph)
{
    return c->measure ? c->measure(graph) : count_ops(graph, c->code);
}

/* Up to the first pass of that name, and that one. */
static bool run_case(const struct pass_case *c)
{
    struct model *m = model_read(c->spec);
    const struct entry *entry = &m->program->entries[0];
    const struct graph *graph = c->graph == SAVES ? entry->saving[0][0] : entry->graphs[c->graph == TRAIN][0];
    int before, after, pass = 0;

    m->program->settings.packs_once = c->graph == ONCE || c->graph == CHIP;
    m->program->settings.embeds = m->program->settings.dsp = c->graph == CHIP;
    while (strcmp(passes[pass].name, c->pass) != 0)
        pass++;
    backward_write(&m->cx, m->program);
    for (int i = 0; i < pass; i++)
        pass_run_one(m->program, &passes[i], true);
    before = measure(c, graph);
    pass_run_one(m->program, &passes[pass], true);
    after = measure(c, graph);
    if (before != c->before || after != c->after)
        print_message("%s makes %d of %d, not %d of %d, in\n%s", c->pass, after, before, c->after, c->before,
                      c->spec);
    model_free(m);
    return before == c->before && after == c->after;
}

static void passes_change_and_leave(void **state)
{
    int bad = 0;

    (void)state;
    for (int i = 0; i < CASES; i++)
        bad += !run_case(&cases[i]);
    assert_int_equal(bad, 0);
}

static void every_pass_has_cases(void **state)
{
    (void)state;
    for (int i = 0; i < pass_count; i++) {
        bool changes = false, leaves = false;

        for (int k = 0; k < CASES; k++) {
            bool own = strcmp(cases[k].pass, passes[i].name) == 0;

            changes |= own && cases[k].before != cases[k].after;
            leaves |= own && cases[k].before == cases[k].after;
        }
        if (!changes || !leaves)
            fail_msg("no case of what '%s' %s", passes[i].name, changes ? "leaves" : "changes");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_change_and_leave),
        cmocka_unit_test(every_pass_has_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
