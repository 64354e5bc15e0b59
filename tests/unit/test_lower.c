/* test_lower.c - graphs as lowering makes them: entries and their modes, boundaries, regions, slots, what the spec's settings become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graphs.h"

#define BLOCKS                                                                                               \
    "classes:\n  Block:\n    modules: {fc: Linear(4, 4)}\n    forward(x):\n      - return relu(fc(x))\n"     \
    "modules:\n  a: Block()\n  b: Block()\nforward:\n  - return b(a(x))\n"

static void check(struct graph *graph, void *data)
{
    const char *fault = graph_check(graph, true);

    (*(int *)data)++;
    if (fault)
        fail_msg("%s: %s", graph->name, fault);
}

static struct model *sound(const char *text, int graphs)
{
    struct model *m = model_read(text);
    int count = 0;

    program_each(m->program, check, &count);
    assert_int_equal(count, graphs);
    return m;
}

static void an_entry_has_a_graph_for_each_mode(void **state)
{
    struct model *m = sound(
        "modc: 1\nmodel: m\nbackward: true\nsizes: {batch: 8}\ninputs: {x: [batch, 4]}\n"
        "modules: {fc: 'Linear(4, 3)', drop: Dropout(0.5)}\nforward:\n  - h = drop(fc(x))\n"
        "  - return h, x\nentries:\n  score(x):\n    max: {batch: 2}\n"
        "    statements:\n      - return fc(x)\n",
        12); /* `score` asks for no mode */
    const struct entry *entry = &m->program->entries[0];

    (void)state;
    assert_int_equal(m->program->entry_count, 2);
    assert_int_equal(entry->sizes[0].max, 8);
    assert_int_equal(m->program->entries[1].sizes[0].max, 2);
    for (int training = 0; training < 2; training++)
        for (int fenced = 0; fenced < 2; fenced++) {
            const struct graph *graph = entry->graphs[training][fenced];

            assert_int_equal(graph->training, training);
            assert_int_equal(graph->fenced, fenced);
            assert_false(graph->saves);
            assert_true(entry->saving[training][fenced]->saves);
            assert_int_equal(graph->result_count, 2);
            assert_string_equal(graph->output_names[0], "h");
            assert_string_equal(graph->output_names[1], "x");
            assert_int_equal(count_ops(graph, GRAPH_OP_RANDOM), training);
            assert_int_equal(count_ops(graph, GRAPH_OP_FENCE), fenced ? 6 : 0); /* root, fc, drop */
            assert_int_equal(count_ops(graph, GRAPH_OP_CONTRACT), 1);
        }
    model_free(m);
}

/* See note [modes]: which graphs of training have the ops of evaluation, and which have their own. */
static void modes_are_one_graph_where_nothing_asks(void **state)
{
    static const struct {
        const char *statements;
        bool one;
    } cases[] = {
        {"forward:\n  - return fc(x)\n", true},
        {"forward:\n  - return drop(fc(x))\n", false},
        {"forward:\n  - return fc(x) * (2 if self.training else 3)\n", false},
        {"forward:\n  - return fc(x)\nentries:\n  learn(x):\n    - return bn(x)\n", false}, /* it writes */
    };

    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        char text[400];
        struct model *m;

        snprintf(text, sizeof text,
                 "modc: 1\nmodel: m\nbackward: true\ninputs: {x: [2, 4]}\nmodules:\n  fc: Linear(4, 4)\n"
                 "  drop: Dropout(0.5)\n  bn: BatchNorm1d(4)\n%s",
                 cases[i].statements);
        m = model_read(text);
        for (int v = 0; v < 4; v++) {
            const struct entry *entry = &m->program->entries[0];
            struct graph *const(*graphs)[2] = v < 2 ? entry->graphs : entry->saving;
            const struct graph *eval = graphs[0][v % 2], *train = graphs[1][v % 2];

            assert_ptr_equal(train->evaluation, cases[i].one ? eval : NULL);
            assert_int_equal(eval->both_modes, cases[i].one);
            assert_int_equal(train->ops == eval->ops, cases[i].one);
            assert_true(train->training && !eval->training);
        }
        model_free(m);
    }
}

/* A module's calls follow its nesting, and keep what they returned. */
static void calls_know_what_they_returned(void **state)
{
    struct model *m = sound(
        "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2, 4]}\nmodules:\n  body:\n    - Linear(4, 3)\n"
        "    - ReLU()\nforward:\n  - return body(x)\n",
        1);
    const struct graph *graph = forward_of(m, false);

    (void)state;
    assert_int_equal(graph->call_count, 3);
    for (int i = 0; i < 3; i++) {
        const struct module_call *call = graph->calls[i];

        assert_int_equal(call->index, i);
        assert_ptr_equal(call->outer, i > 0 ? graph->calls[0] : NULL);
        assert_int_equal(call->result_count, 1);
        assert_true(dim_equals(call->results[0]->dims[1], 3));
        assert_true(call->module->calls > 0);
    }
    assert_ptr_equal(graph->calls[0]->results[0], graph->outputs[0]);
    assert_ptr_equal(graph->outputs[0]->op->call, graph->calls[2]);
    model_free(m);
}

/* Instances of a class that are alike are calls of one region; others are not. */
static void equal_instances_are_one_region(void **state)
{
    struct model *m = sound("modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2, 4]}\n" BLOCKS, 4);
    const struct graph *graph = forward_of(m, false);
    const struct region *region = nth_op(graph, GRAPH_OP_CALL, 0)->invoke.region;

    (void)state;
    assert_int_equal(m->program->region_count, 2); /* by mode */
    assert_string_equal(region->name, "block");
    assert_int_equal(count_ops(graph, GRAPH_OP_CALL), 2);
    assert_ptr_equal(nth_op(graph, GRAPH_OP_CALL, 1)->invoke.region, region);
    assert_string_equal(nth_op(graph, GRAPH_OP_CALL, 1)->invoke.instance->path, "b");
    assert_int_equal(count_ops(graph, GRAPH_OP_CONTRACT), 0);
    assert_int_equal(count_ops(region->graph, GRAPH_OP_CONTRACT), 1);
    assert_ptr_equal(region->graph->root, nth_op(graph, GRAPH_OP_CALL, 0)->invoke.instance);
    model_free(m);
}

static void tied_instances_are_called_inline(void **state)
{
    struct model *m = sound(
        "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2, 4]}\ntie: {b.fc.weight: a.fc.weight}\n" BLOCKS, 1);

    (void)state;
    assert_int_equal(m->program->region_count, 0);
    assert_int_equal(count_ops(forward_of(m, false), GRAPH_OP_CONTRACT), 2);
    model_free(m);
}

/* A view that was made before a write shows what is there now; the slot's tensor is known to be written. */
static void writes_make_new_versions(void **state)
{
    struct model *m = sound(
        "modc: 1\nmodel: m\nhooks: none\ninputs: {x: [2]}\nstate:\n"
        "  s: {shape: [3, 2], init: zeros_()}\nforward:\n  - row = self.s[0]\n  - self.s = self.s + x\n"
        "  - return row\n",
        1);
    const struct graph *graph = forward_of(m, false);
    const struct op *write = nth_op(graph, GRAPH_OP_WRITE, 0);

    (void)state;
    assert_int_equal(graph->slot_count, 1);
    assert_ptr_equal(graph->slots[0], write->outputs[0]);
    assert_ptr_equal(write->inputs[0]->newer, write->outputs[0]);
    assert_ptr_equal(value_root(graph->outputs[0]), write->outputs[0]);
    assert_true(write->write.tensor->written && write->write.tensor->written_in_eval);
    model_free(m);
}

static void settings_are_what_the_spec_says(void **state)
{
    struct model *m = sound(
        "modc: 1\nmodel: m\nhooks: none\npack: none\nthreads: 3\ndenormals: flush\ninputs: {x: [2]}\n"
        "forward:\n  - return x + 1\n",
        1);
    const struct settings *settings = &m->program->settings;

    (void)state;
    assert_false(settings->hooks);
    assert_false(settings->pack);
    assert_true(settings->state_dict);
    assert_true(settings->flushes);
    assert_false(settings->backward);
    assert_int_equal(settings->threads, 3);
    assert_ptr_equal(settings->backend, backend_find("cpu"));
    model_free(m);
}

/* The entry `loss` has forward's inputs, and those of the loss behind them; forward's graph is as it was. */
static void a_loss_is_an_entry(void **state)
{
    struct model *m = sound(
        "modc: 1\nmodel: m\nhooks: none\nbackward: true\ninputs: {x: [2, 4]}\n"
        "modules: {fc: 'Linear(4, 3)'}\nforward:\n  - return fc(x)\ntraining:\n  loss: MSELoss()\n"
        "  optimizer: SGD(lr=0.1)\n",
        4);
    const struct entry *loss = &m->program->entries[1];

    (void)state;
    assert_int_equal(m->program->entry_count, 2);
    assert_true(loss->loss);
    assert_int_equal(loss->model_count, 1);
    assert_int_equal(loss->input_count, 2);
    assert_string_equal(loss->saving[1][0]->inputs[1]->name, "target");
    assert_int_equal(loss->saving[1][0]->result_count, 1);
    assert_int_equal(loss->saving[1][0]->outputs[0]->ndim, 0);
    assert_int_equal(m->program->entries[0].input_count, 1);
    model_free(m);
}

/* Rows: instances take what they read of them as inputs, caches are theirs; a list of modules takes the model's own input. */
static void rows_go_to_those_who_read_them(void **state)
{
    struct model *m = model_read(
        "modc: 1\nmodel: m\nsizes: {rows: 4}\ninputs: {x: [rows, 2, 3]}\nclasses:\n  A():\n"
        "    forward(x):\n      - return cached_attention(x, x, x)\n"
        "modules:\n  - A()\n  - ReLU()\n  - A()\ngeneration: {context: 8}\n");
    const struct entry *entry = &m->program->entries[0];
    const struct op *first = nth_op(entry->graphs[0][0], GRAPH_OP_CALL, 0);
    int caches = 0;

    (void)state;
    assert_int_equal(entry->input_count, 5);
    assert_string_equal(entry->graphs[0][0]->inputs[4]->name, "logit_rows");
    assert_ptr_equal(first->invoke.region, nth_op(entry->graphs[0][0], GRAPH_OP_CALL, 1)->invoke.region);
    assert_int_equal(first->invoke.region->graph->row_input_count, 4); /* slot, sequence, position, pages */
    assert_true(first->input_count >= 5);
    for (int i = 0; i < m->tree->module_count; i++)
        for (int k = 0; k < m->tree->modules[i]->tensor_count; k++)
            caches += m->tree->modules[i]->tensors[k]->cache;
    assert_int_equal(caches, 4);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_has_a_graph_for_each_mode),
        cmocka_unit_test(modes_are_one_graph_where_nothing_asks),
        cmocka_unit_test(calls_know_what_they_returned),
        cmocka_unit_test(equal_instances_are_one_region),
        cmocka_unit_test(tied_instances_are_called_inline),
        cmocka_unit_test(writes_make_new_versions),
        cmocka_unit_test(settings_are_what_the_spec_says),
        cmocka_unit_test(a_loss_is_an_entry),
        cmocka_unit_test(rows_go_to_those_who_read_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
