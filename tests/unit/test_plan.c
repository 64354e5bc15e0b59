/* test_plan.c - what a plan says of small models: which algorithm computes an op and how --plan takes another, what is packed,
 * where values lie and how they are called, the parts of a graph that keeps for backward, the bound of its workspace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graphs.h"
#include "plan/algorithm.h"
#include "plan/plan.h"
#include "plan/planner.h"
#include "plan/target.h"
#include "plan/weights.h"

#define HEAD "modc: 1\nmodel: m\nhooks: none\n"
#define MODEL(modules, statements)                                                                           \
    HEAD "sizes: {batch: 8}\ninputs: {x: [batch, 64]}\nmodules:\n  up: Linear(64, 48)\n" modules             \
         "forward:\n" statements
#define UP(statements) MODEL("", statements)
#define LINEAR(statements) MODEL("  down: Linear(48, 64)\n", statements)

static struct model *planned_as(const char *text, const char **forced, int count, struct plan **plan)
{
    struct model *m = model_with(text, forced, count);

    backward_write(&m->cx, m->program);
    pass_run(&m->cx, m->program, NULL, NULL);
    *plan = plan_make(&m->cx, m->program);
    assert_non_null(*plan);
    return m;
}

static struct model *planned(const char *text, struct plan **plan)
{
    return planned_as(text, NULL, 0, plan);
}

static const struct variant *variant_of(const struct plan *plan, const char *function)
{
    for (int i = 0; i < plan->variant_count; i++)
        if (strcmp(plan->variants[i]->function, function) == 0)
            return plan->variants[i];
    fail_msg("there is no function '%s'", function);
    return NULL;
}

static const struct step *step_of(const struct variant *variant, enum op_code code, int nth)
{
    for (int s = 0; s < variant->step_count; s++)
        if (variant->steps[s].op->code == code && nth-- == 0)
            return &variant->steps[s];
    fail_msg("there is no such step");
    return NULL;
}

static const struct place *place_of(const struct variant *variant, const struct value *value)
{
    return &variant->places[value->base->id];
}

static const char *algorithm_in(const char *text, const char **forced, int count, enum op_code code)
{
    struct plan *plan;
    struct model *m = planned_as(text, forced, count, &plan);
    const char *name = step_of(variant_of(plan, "forward_eval"), code, 0)->algorithm->name;

    model_free(m);
    return name;
}

/* ---- algorithms --------------------------------------------------------------------------------------------------- */

static void the_cheapest_that_fits_is_taken(void **state)
{
    (void)state;
    assert_string_equal(algorithm_in(UP("  - return up(x)\n"), NULL, 0, GRAPH_OP_CONTRACT), "gemm_panel");
    assert_string_equal(algorithm_in(HEAD "inputs: {x: [1, 64]}\nmodules: {fc: 'Linear(64, 1)'}\n"
                                          "forward:\n  - return fc(x)\n",
                                     NULL, 0, GRAPH_OP_CONTRACT),
                        "gemm_dot");
}

/* Where the wish does not fit, or is for another op, it is as without. */
static void plan_forces_what_fits(void **state)
{
    static const char *dot[] = {"contract=gemm_dot"}, *other[] = {"conv=gemm_dot"},
                      *unfit[] = {"contract=conv_direct"};
    const char *spec = UP("  - return up(x)\n");

    (void)state;
    assert_string_equal(algorithm_in(spec, dot, 1, GRAPH_OP_CONTRACT), "gemm_dot");
    assert_string_equal(algorithm_in(spec, other, 1, GRAPH_OP_CONTRACT), "gemm_panel");
    assert_string_equal(algorithm_in(spec, unfit, 1, GRAPH_OP_CONTRACT), "gemm_panel");
}

/* On a GPU: tiles where channels are many, of which a sum goes in pieces where tiles are few; else a thread an output. Weights that
 * are packed lie as columns; what lies as it is has rows of its own. */
static void windows_on_a_gpu(void **state)
{
    static const struct {
        const char *size, *layer, *algorithm;
        int pieces;
    } cases[] = {
        {"64, 64, 56, 56", "'Conv2d(64, 128, 3, padding=1)'", "conv_tile", 1},
        {"1, 512, 7, 7", "'Conv2d(512, 512, 3, padding=1)'", "conv_tile", 16},
        {"1, 512, 7, 7", "'Conv2d(512, 512, 1)'", "conv_tile", 4}, /* of few taps few pieces */
        {"1, 64, 7, 7", "'Conv2d(64, 64, 1)'", "conv_thread", 0},
        {"64, 64, 56, 56", "'Conv2d(64, 64, 3, padding=1, groups=64)'", "conv_thread", 0},
        {"64, 3, 56, 56", "'Conv2d(3, 4, 3)'", "conv_thread", 0},
        {"64, 64, 56, 56", "'MaxPool2d(2)'", "pool", 0},
    };

    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        struct arena arena = {0};
        const char *text = arena_format(
            &arena, HEAD "device: cuda\ninputs: {x: [%s]}\nmodules: {c: %s}\nforward:\n  - return c(x)\n",
            cases[i].size, cases[i].layer);
        const enum op_code code = cases[i].pieces || cases[i].algorithm[0] == 'c' ? GRAPH_OP_CONV
                                                                                  : GRAPH_OP_POOL;
        struct plan *plan;
        struct model *m = planned(text, &plan);
        const struct step *step = step_of(variant_of(plan, "forward_eval"), code, 0);

        assert_string_equal(step->algorithm->name, cases[i].algorithm);
        if (code == GRAPH_OP_CONV)
            assert_int_equal(step->packed[1].entry->format, PACKED_COLUMNS);
        if (cases[i].pieces > 0)
            assert_int_equal(conv_tile_of(step->op).pieces, cases[i].pieces);
        assert_int_equal(step->scratch_offset >= 0, cases[i].pieces > 1);
        model_free(m);
        arena_free(&arena);
    }
    assert_string_equal(algorithm_in(HEAD "device: cuda\ninputs: {x: [8, 64, 9, 9], w: [64, 64, 3, 3]}\n"
                                          "forward:\n  - return F.conv2d(x, w)\n",
                                     NULL, 0, GRAPH_OP_CONV),
                        "conv_tile_plain");
}

/* ---- packed weights ------------------------------------------------------------------------------------------------- */

/* Panels of whole vectors, zeros behind the last columns; the same weight in another mode is the same entry. */
static void weights_are_packed_once(void **state)
{
    struct plan *plan;
    struct model *m = planned(LINEAR("  - return down(relu(up(x)))\n"), &plan);
    const struct pack_group *group = plan->groups[0];
    const int lanes = backend_lanes(plan->backend, DTYPE_FLOAT32);

    (void)state;
    assert_int_equal(plan->group_count, 1);
    assert_int_equal(group->entry_count, 2);
    for (int i = 0; i < 2; i++) {
        const struct packed *entry = group->entries[i];
        const int64_t n = i ? 64 : 48, k = i ? 48 : 64;

        assert_string_equal(entry->name, i ? "down_weight" : "up_weight");
        assert_int_equal(entry->format, PACKED_PANELS);
        assert_int_equal(entry->n, n);
        assert_int_equal(entry->k, k);
        assert_int_equal(entry->count, (n + lanes - 1) / lanes * lanes * k);
        assert_int_equal(entry->offset % plan->align, 0);
        assert_true(entry->offset + 4 * entry->count <= group->bytes);
    }
    assert_true(group->entries[0]->offset != group->entries[1]->offset);
    assert_ptr_equal(step_packed(step_of(plan->variants[0], GRAPH_OP_CONTRACT, 0), 1), group->entries[0]);
    assert_ptr_equal(step_packed(step_of(plan->variants[1], GRAPH_OP_CONTRACT, 0), 1), group->entries[0]);
    assert_null(step_packed(step_of(plan->variants[0], GRAPH_OP_CONTRACT, 0), 0));
    model_free(m);
}

/* Dropout keeps training mode from turning the columns of the weight instead of the image: it reads the parameter. */
static void training_alone_packs_nothing(void **state)
{
    struct plan *plan;
    struct model *m = planned("modc: 1\nmodel: m\nhooks: none\ninputs: {x: [1, 4, 6, 6]}\nmodules:\n"
                              "  - Conv2d(4, 16, 3)\n  - Flatten()\n  - Dropout()\n  - Linear(256, 16)\n",
                              &plan);

    (void)state;
    assert_int_equal(plan->groups[0]->entry_count, 2);
    assert_non_null(step_packed(step_of(variant_of(plan, "forward_eval"), GRAPH_OP_CONTRACT, 0), 1));
    assert_null(step_packed(step_of(variant_of(plan, "forward_train"), GRAPH_OP_CONTRACT, 0), 1));
    model_free(m);
}

/* How many entries of the groups hold the parameter, in whatever form. */
static int forms_of(const struct plan *plan, const struct module_tensor *tensor)
{
    int count = 0;

    for (int g = 0; g < plan->group_count; g++)
        for (int i = 0; i < plan->groups[g]->entry_count; i++) {
            const struct packed *entry = plan->groups[g]->entries[i];
            bool holds = false;

            for (int k = 0; k < entry->operand_count; k++)
                holds |= entry->operands[k]->base->op->code == GRAPH_OP_TENSOR &&
                         entry->operands[k]->base->op->tensor.tensor == tensor;
            count += holds;
        }
    return count;
}

/* Of all weights of convolutions and products, how often the one that is packed most often is. */
static int most_forms(const struct plan *plan)
{
    const struct module_tree *tree = plan->program->tree;
    int most = 0;

    for (int i = 0; i < tree->key_count; i++) {
        const struct module_tensor *tensor = tree->keys[i];
        int forms = tensor->kind == MODULE_PARAMETER && tensor->ndim > 1 ? forms_of(plan, tensor) : 0;

        most = forms > most ? forms : most;
    }
    return most;
}

static int passing_weights(const struct plan *plan)
{
    int count = 0;

    for (int v = 0; v < plan->variant_count; v++)
        for (int s = 0; s < plan->variants[v]->step_count; s++)
            count += plan->variants[v]->steps[s].packed_offset >= 0;
    return count;
}

/* Those of regions, whose functions serve several instances, and of the model. */
static void weights_of_networks_are_packed_once(void **state)
{
    static const char *const networks[] = {"specs/networks/resnet8.yaml", "specs/networks/mobilenet_v1.yaml",
                                           "specs/digits/cnn.yaml"};
    static const struct {
        const char *what;
        struct options options;
        bool embedded, once;
        int forms; /* folded, as it is, and turned, of which a transposed one has parts */
    } builds[] = {
        {"hosted, with hooks", {0}, false, false, 1},
        {"hosted, in training", {.backward = true}, false, false, 6},
        {"--weights", {.weights = "w.safetensors"}, true, true, 1},
        {"--weights, in training", {.weights = "w.safetensors", .backward = true}, true, true, 1},
        {"--target", {.target = NULL}, false, true, 1},
        {"--target, in training", {.backward = true}, false, true, 1},
    };

    (void)state;
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++)
        for (size_t b = 0; b < sizeof builds / sizeof *builds; b++) {
            struct options options = builds[b].options;
            struct cx cx = {.options = &options};
            const char *error = NULL;
            struct spec *spec;
            struct program *program;
            struct plan *plan;
            int forms, passing;

            if (builds[b].once && !builds[b].embedded)
                options.target = target_parse(&cx, "cortex-m7");
            spec = spec_read(&cx, source_read(&cx, networks[n], SPEC_MAX_BYTES, &error));
            assert_true(settings_apply(&cx, spec));
            spec->hooks = SPEC_DEFAULT; /* on a chip too */
            program = lower_program(&cx, module_build(&cx, spec, 0));
            assert_int_equal(program->settings.packs_once, builds[b].once);
            backward_write(&cx, program);
            pass_run(&cx, program, NULL, NULL);
            plan = plan_make(&cx, program);
            forms = most_forms(plan);
            passing = passing_weights(plan);
            if (builds[b].options.backward && !builds[b].once ? forms < 2 || forms > builds[b].forms
                                                              : forms != builds[b].forms)
                fail_msg("%s, %s: a weight is packed %d times", networks[n], builds[b].what, forms);
            assert_int_equal(passing > 0, builds[b].once == builds[b].options.backward);
            if (builds[b].embedded) /* nor does it lie beside that as PyTorch has it */
                assert_true(weights_length(&cx, plan) < plan->param_bytes * 11 / 10);
            arena_free(&cx.arena);
        }
}

/* Inputs, results and the gradients of both, some of which are called as what functions have of their own. */
static void arguments_have_names_of_their_own(void **state)
{
    enum { ROOM = 16 };
    static const char *const specs[] = {
        "modc: 1\nmodel: m\ninputs: {out: [2], out_: [2]}\nforward:\n  - return out_ * 2, out + 1, out_\n",
        "modc: 1\nmodel: m\ninputs: {dout: [2], x: [2]}\nforward:\n  - out = x * dout\n  - out_ = x + 1\n"
        "  - dout_ = x - 1\n  - return out, out_, dout_\n",
        "modc: 1\nmodel: m\ninputs: {x: [2]}\nforward:\n  - output_1 = x * 2\n  - return output_1, x + 1\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct model *m = model_read(specs[i]);
        struct graph *graph = m->program->entries[0].graphs[0][0];
        const char *names[ROOM];
        int count = 0;

        planner_call_arguments(&m->cx, graph);
        for (int k = 0; k < graph->input_count; k++) {
            names[count++] = c_argument(&m->cx, graph->inputs[k]->name);
            names[count++] = c_gradient(&m->cx, graph, graph->inputs[k]->name, false);
        }
        for (int k = 0; k < graph->result_count; k++) {
            names[count++] = c_output(&m->cx, graph, k);
            names[count++] = c_gradient(&m->cx, graph, graph->output_names[k], true);
        }
        for (int k = 0; k < count; k++)
            for (int l = 0; l < k; l++)
                assert_string_not_equal(names[k], names[l]);
        model_free(m);
    }
}

/* The head of a language model that has the embedding's weight reads that, where each is packed once. */
static void tied_heads_read_the_embedding(void **state)
{
    (void)state;
    for (int once = 0; once < 2; once++) {
        struct model *m = model_read("modc: 1\nmodel: m\ninputs: {x: {shape: [8], dtype: int64}}\nmodules:\n"
                                     "  tokens: Embedding(64, 32)\n  fc: Linear(32, 32)\n"
                                     "  head: Linear(32, 64, bias=False)\n"
                                     "tie: {head.weight: tokens.weight}\n"
                                     "forward:\n  - return head(fc(tokens(x)))\n");
        struct plan *plan;
        const struct variant *eval;

        m->program->settings.packs_once = once;
        pass_run(&m->cx, m->program, NULL, NULL);
        plan = plan_make(&m->cx, m->program);
        eval = variant_of(plan, "forward_eval");
        assert_non_null(step_packed(step_of(eval, GRAPH_OP_CONTRACT, 0), 1));
        assert_int_equal(step_packed(step_of(eval, GRAPH_OP_CONTRACT, 1), 1) == NULL, once);
        model_free(m);
    }
}

/* The scale of BatchNorm is in the weight, or what the convolution does last with the weight as it is. */
static void scales_are_folded_or_tails(void **state)
{
#define NORMED(channels)                                                                                     \
    "modc: 1\nmodel: m\ninputs: {x: [1, " channels ", 12, 12]}\nmodules:\n"                                  \
    "  conv: Conv2d(" channels ", " channels ", 3, bias=False)\n  bn: BatchNorm2d(" channels ")\n"           \
    "forward:\n  - return relu(bn(conv(x)))\n"
    static const struct {
        const char *spec;
        bool once;
        const char *weight; /* of evaluation, and of the other modes */
        const char *others;
    } cases[] = {
        {NORMED("8"), false, "conv_weight_folded", "conv_weight"},
        {NORMED("8"), true, "conv_weight", "conv_weight"},
        {NORMED("64"), false, "conv_weight_folded_winograd", "conv_weight"},
        {NORMED("64"), true, "conv_weight", "conv_weight"}, /* the state_dict could not be given back */
        {NORMED("64") "state_dict: none\n", true, "conv_weight_winograd", "conv_weight_winograd"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model *m = model_read(cases[i].spec);
        struct plan *plan;

        m->program->settings.packs_once = cases[i].once;
        pass_run(&m->cx, m->program, NULL, NULL);
        plan = plan_make(&m->cx, m->program);
        for (int v = 0; v < plan->variant_count; v++) {
            const struct packed *weight = step_packed(step_of(plan->variants[v], GRAPH_OP_CONV, 0), 1);
            const bool eval = strcmp(plan->variants[v]->function, "forward_eval") == 0;

            assert_string_equal(weight->name, eval ? cases[i].weight : cases[i].others);
            assert_int_equal(weight->passing, !eval && !cases[i].once);
        }
        model_free(m);
    }
}

/* Of each convolution of forward: 4 and 2: Winograd's F(4x4, 3x3) and F(2x2, 3x3), d: direct. */
static const char *convolutions(struct arena *arena, const struct variant *variant)
{
    struct text text = text_new(arena);

    for (int s = 0; s < variant_end(variant, PART_FORWARD); s++) {
        const struct algorithm *row = variant->steps[s].algorithm;

        if (variant->steps[s].op->code != GRAPH_OP_CONV)
            continue;
        assert_int_equal(variant->steps[s].bound && row->rounding > 1, 0);
        text_add(&text, row->weight == PACKED_WINOGRAD4 ? "4" : row->weight == PACKED_WINOGRAD2 ? "2" : "d");
    }
    return text.data;
}

/* Errors that normalisation amplifies have to be small in front: note [rounding]. */
static void what_a_chain_amplifies_rounds_less(void **state)
{
#define CHAIN(count, loop)                                                                                   \
    HEAD "inputs: {x: [1, 64, 16, 16]}\nmodules:\n"                                                          \
         "  convs: " count " x Conv2d(64, 64, 3, padding=1, bias=False)\n"                                   \
         "  norms: " count " x BatchNorm2d(64)\n"                                                            \
         "forward:\n  - y, z = x, x\n  - |\n    for c, n in zip(self.convs, self.norms):\n        " loop     \
         "\n"
#define BLOCKS(count)                                                                                        \
    HEAD "inputs: {x: [1, 64, 16, 16]}\nclasses:\n  Block:\n    modules:\n"                                  \
         "      conv: Conv2d(64, 64, 3, padding=1, bias=False)\n      norm: BatchNorm2d(64)\n"               \
         "    forward(x):\n      - return relu(norm(conv(x)))\n"                                             \
         "modules:\n  blocks: " count " x Block()\nforward:\n"
    static const struct {
        const char *text, *function, *choices;
    } cases[] = {
        {CHAIN("16", "y = relu(n(c(y)))") "  - return y\n", "forward_eval", "4444444444444444"},
        {CHAIN("24", "y = relu(n(c(y)))") "  - return y\n", "forward_eval", "222222244444444444444444"},
        /* a network that has more, whatever is done */
        {CHAIN("28", "y = relu(n(c(y)))") "  - return y\n", "forward_eval", "2222222222222222222222222222"},
        /* no normalisation, residual connections, concatenations: little is amplified */
        {CHAIN("28", "y, z = relu(c(y)), n(z)") "  - return y\n", "forward_eval",
         "4444444444444444444444444444"},
        {CHAIN("28", "y = relu(y + n(c(y)))") "  - return y\n", "forward_eval",
         "4444444444444444444444444444"},
        {CHAIN("28", "y = relu(y + c(n(y)))") "  - return y\n", "forward_eval",
         "4444444444444444444444444444"},
        /* one of two results */
        {CHAIN("24", "y, z = relu(n(c(y))), relu(c(z))") "  - return z, y\n", "forward_eval",
         "242424242424244444444444444444444444444444444444"},
        /* a class has one function for all its calls, be they a loop or not */
        {BLOCKS("16") "  - return blocks(x)\n", "block_eval", "4"},
        {BLOCKS("24") "  - return blocks(x)\n", "block_eval", "2"},
        {BLOCKS("24") "  - h = blocks[0](x) + x\n  - return blocks(h)\n", "block_eval", "2"},
        {BLOCKS("3") "  - h = blocks[0](x)\n  - return blocks[1](h), blocks[2](h)\n", "block_eval", "4"},
        /* normalised by a step of its own, as the weights are for backward */
        {"backward: true\n" CHAIN("24", "y = relu(n(c(y)))") "  - return y\n", "forward_eval_saving",
         "222222222222224444444444"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *plan;
        struct model *m = planned(cases[i].text, &plan);

        assert_string_equal(convolutions(&m->cx.arena, variant_of(plan, cases[i].function)),
                            cases[i].choices);
        model_free(m);
    }
}

/* A walk over all calls of all ops is not endless: of so many, none rounds more. */
static void few_ops_are_walked_over(void **state)
{
    static const struct {
        const char *loop, *choices;
    } cases[] = {{"range(4)", "4"}, {"range(420)", "2"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan *plan;
        struct model *m = planned(
            arena_format(&arena,
                         HEAD "inputs: {x: [1, 64, 16, 16]}\nclasses:\n  Block:\n    modules:\n"
                              "      conv: Conv2d(64, 64, 3, padding=1)\n    forward(x):\n      - |\n"
                              "        for i in %s:\n            x = max_pool2d(x, 3, 1, 1)\n"
                              "      - return conv(x)\nmodules:\n  blocks: 1000 x Block()\n"
                              "forward:\n  - return blocks(x)\n",
                         cases[i].loop),
            &plan);

        assert_string_equal(convolutions(&m->cx.arena, variant_of(plan, "block_eval")), cases[i].choices);
        model_free(m);
        arena_free(&arena);
    }
}

/* What --plan asks for is taken. */
static void rounding_binds_no_wish(void **state)
{
    const char *forced[] = {"conv=conv_winograd4"};
    struct plan *plan;
    struct model *m = planned_as(CHAIN("28", "y = relu(n(c(y)))") "  - return y\n", forced, 1, &plan);
    const struct variant *variant = variant_of(plan, "forward_eval");

    (void)state;
    for (int s = 0; s < variant->step_count; s++)
        if (variant->steps[s].op->code == GRAPH_OP_CONV)
            assert_int_equal(variant->steps[s].algorithm->weight, PACKED_WINOGRAD4);
    model_free(m);
}

static void nothing_is_packed_without_leave(void **state)
{
    struct plan *plan;
    struct model *m = planned(UP("  - return up(x)\n") "pack: none\n", &plan);

    (void)state;
    assert_int_equal(plan->groups[0]->entry_count, 0);
    assert_int_equal(plan->groups[0]->bytes, 0);
    model_free(m);
}

/* ---- places and names ------------------------------------------------------------------------------------------------ */

static void values_lie_where_they_belong(void **state)
{
    struct plan *plan;
    struct model *m = planned(
        HEAD "inputs: {x: [4, 8]}\nstate:\n  seen: {shape: [4, 8], init: zeros_()}\n"
             "parameters:\n  w: {shape: [8]}\nforward:\n  - h = softmax(x * self.w, -1)\n"
             "  - self.seen = self.seen + h\n  - return softmax(h.t(), -1), x[:, 1:] + h[:, 1:]\n",
        &plan);
    const struct variant *variant = variant_of(plan, "forward_eval");
    const struct graph *graph = variant->graph;
    const struct step *first = step_of(variant, GRAPH_OP_SOFTMAX, 0);

    (void)state;
    assert_int_equal(place_of(variant, graph->inputs[0])->kind, PLACE_INPUT);
    assert_int_equal(place_of(variant, graph->outputs[0])->kind, PLACE_OUTPUT);
    assert_int_equal(place_of(variant, graph->outputs[1])->kind, PLACE_OUTPUT);
    assert_int_equal(place_of(variant, graph->outputs[1])->index, 1);
    assert_int_equal(place_of(variant, first->op->outputs[0])->kind, PLACE_WORKSPACE);
    assert_string_equal(place_of(variant, first->op->outputs[0])->name, "h");
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->code == GRAPH_OP_TENSOR)
            assert_int_equal(place_of(variant, graph->ops[i]->outputs[0])->kind,
                             graph->ops[i]->tensor.tensor->kind == MODULE_STATE ? PLACE_STATE : PLACE_TENSOR);
    assert_int_equal(plan->param_bytes, plan_aligned(plan, 8 * 4));
    assert_int_equal(plan->state_bytes, plan_aligned(plan, 32 * 4));
    model_free(m);
}

static void no_two_values_have_one_name(void **state)
{
    struct plan *plan;
    struct model *m = planned(
        LINEAR("  - h = relu(up(x))\n  - h = down(h)\n  - h = relu(up(h))\n  - return down(h)\n"), &plan);
    const struct variant *variant = variant_of(plan, "forward_eval");

    (void)state;
    for (int i = 0; i < variant->step_count; i++)
        for (int j = 0; j < i; j++) {
            const struct place *a = place_of(variant, variant->steps[i].op->outputs[0]);
            const struct place *b = place_of(variant, variant->steps[j].op->outputs[0]);

            assert_string_not_equal(a->name, b->name);
        }
    model_free(m);
}

/* What a function calls something itself is no name of an argument, and what kernels do none of a size; words that only
 * templates have are free. */
static void names_of_c_are_kept_clear(void **state)
{
    struct plan *plan;
    struct model *m = planned(
        HEAD "sizes: {row: 2, rows: 4}\ninputs: {k: [row * rows, 8]}\nforward:\n  - return k\n", &plan);
    const struct graph *graph = variant_of(plan, "forward_eval")->graph;

    (void)state;
    assert_string_equal(c_argument(&m->cx, "k"), "k_");
    assert_string_equal(c_output(&m->cx, graph, 0), "k__out");
    assert_string_equal(plan->program->tree->sizes[0].c_name, "row_");
    assert_string_equal(plan->program->tree->sizes[1].c_name, "rows");
    assert_string_equal(c_path(&m->cx, "trunk.0.default"), "trunk._0.default_");
    model_free(m);
}

/* ---- the workspace ----------------------------------------------------------------------------------------------------- */

/* What is live in a step does not overlap, and the whole is as large as what is live in one step at most. */
static void the_workspace_is_at_its_bound(void **state)
{
    struct plan *plan;
    struct model *m = planned(LINEAR("  - h = tanh(up(x))\n  - g = tanh(down(h))\n  - h = tanh(up(g))\n"
                                     "  - return down(h) + g\n"),
                              &plan);
    const struct variant *variant = variant_of(plan, "forward_eval");

    (void)state;
    assert_true(variant->interval_count >= 3);
    assert_int_equal(variant->peak, variant->bound);
    for (int i = 0; i < variant->interval_count; i++)
        for (int j = 0; j < i; j++) {
            const struct interval *a = &variant->intervals[i], *b = &variant->intervals[j];
            bool together = a->first <= b->last && b->first <= a->last;

            assert_true(!together || a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
            assert_true(a->offset + a->bytes <= variant->peak);
        }
    model_free(m);
}

/* A concatenation's parts are made where it is. */
static void parts_are_made_in_place(void **state)
{
    struct plan *plan;
    struct model *m = planned(UP("  - return torch.cat((up(x), up(x * 2)), 1)\n"), &plan);
    const struct variant *variant = variant_of(plan, "forward_eval");
    const struct value *y = variant->graph->outputs[0];

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct value *part = step_of(variant, GRAPH_OP_CONTRACT, i)->op->outputs[0];

        assert_ptr_equal(part->base, y);
        assert_true(dim_equals(part->offset, 48 * i));
        assert_true(dim_equals(part->strides[0], 96));
    }
    for (int s = 0; s < variant->step_count; s++)
        assert_int_not_equal(variant->steps[s].op->code, GRAPH_OP_CONCAT);
    model_free(m);
}

/* ---- parts ------------------------------------------------------------------------------------------------------------- */

static void a_graph_that_saves_has_two_parts(void **state)
{
    struct plan *plan;
    struct model *m = planned(LINEAR("  - return down(tanh(up(x)))\n") "backward: true\n", &plan);
    const struct variant *plain = variant_of(plan, "forward_eval"),
                         *saving = variant_of(plan, "forward_eval_saving");

    (void)state;
    assert_int_equal(variant_parts(plain), 1);
    assert_int_equal(plain->yield, -1);
    assert_int_equal(variant_parts(saving), 2);
    assert_int_equal(saving->commit, -1);
    assert_int_equal(saving->steps[saving->yield].op->code, GRAPH_OP_YIELD);
    assert_int_equal(variant_first(saving, PART_FORWARD), 0);
    assert_int_equal(variant_end(saving, PART_FORWARD), saving->yield);
    assert_int_equal(variant_first(saving, PART_BACKWARD), saving->yield + 1);
    assert_int_equal(variant_end(saving, PART_BACKWARD), saving->step_count);
    assert_int_equal(variant_part(saving, saving->yield), PART_FORWARD);
    assert_int_equal(variant_part(saving, saving->step_count - 1), PART_BACKWARD);
    assert_int_equal(plan->gradient_count, 4);
    assert_string_equal(plan->gradient_names[0], "M_GRADIENT_UP_WEIGHT");
    model_free(m);
}

/* A class that is used twice is one variant, in front of what calls it; with hooks and gradients it has three parts. */
static void a_region_has_parts_of_its_own(void **state)
{
    struct plan *plan;
    struct model *m = planned("modc: 1\nmodel: m\nbackward: true\ninputs: {x: [2, 4]}\nclasses:\n  Block:\n"
                              "    modules: {fc: Linear(4, 4)}\n    forward(x):\n      - return tanh(fc(x))\n"
                              "modules:\n  a: Block()\n  b: Block()\nforward:\n  - return b(a(x))\n",
                              &plan);
    const struct variant *region = variant_of(plan, "block_eval_saving_fenced");
    const struct variant *forward = variant_of(plan, "forward_eval_saving_fenced");
    int at[2] = {0};

    (void)state;
    assert_int_equal(variant_parts(region), 3);
    assert_int_equal(region->steps[region->commit].op->code, GRAPH_OP_COMMIT);
    assert_int_equal(variant_end(region, PART_BACKWARD), region->commit);
    assert_int_equal(variant_first(region, PART_COMMIT), region->commit + 1);
    assert_true(region->kept_bytes > 0);
    assert_null(region->entry);
    assert_non_null(forward->entry);
    for (int i = 0; i < plan->variant_count; i++) {
        at[0] = plan->variants[i] == region ? i : at[0];
        at[1] = plan->variants[i] == forward ? i : at[1];
    }
    assert_true(at[0] < at[1]);
    model_free(m);
}

/* Of elements of an array one that is written makes that of all no constant. */
static void elements_of_an_array_are_written_together(void **state)
{
    struct plan *plan;
    struct model *m = planned(HEAD "inputs: {x: [2, 4]}\nmodules:\n  norms: 2 x BatchNorm1d(4)\n"
                                   "eval: [norms.1]\nforward:\n  - return norms(x)\n",
                              &plan);
    const struct module_tree *tree = plan->program->tree;
    const struct module *list = module_child(tree->root, "norms");
    const struct module_tensor *fixed = module_find_tensor(list->children[1], "running_mean");

    (void)state;
    assert_true(module_find_tensor(list->children[0], "running_mean")->written);
    assert_false(fixed->written);
    assert_int_equal(plan_written(plan, fixed), WRITTEN);
    assert_int_equal(plan_written(plan, module_find_tensor(list->children[0], "weight")), 0);
    model_free(m);
}

/* What is left when so many equal statements were planned. */
static size_t bytes_of(const char *inputs, const char *modules, const char *statement, int count)
{
    struct arena arena = {0};
    struct text text = text_new(&arena);
    struct plan *plan;
    struct model *m;
    size_t used;

    text_printf(&text, HEAD "inputs: {%s}\n%sforward:\n  - y = x\n", inputs, modules);
    for (int i = 0; i < count; i++)
        text_printf(&text, "  - %s\n", statement);
    text_add(&text, "  - return y\n");
    m = planned(text.data, &plan);
    used = m->cx.arena.used;
    model_free(m);
    arena_free(&arena);
    return used;
}

/* Pages that are touched are a third of the time of long specs. 256 and 512 are where lists grow that are cut and pushed on. */
static void a_statement_takes_little_memory(void **state)
{
    static const struct {
        const char *inputs, *modules, *statement;
        size_t most;
    } rows[] = {
        {"x: [4, 16]", "", "y = y.permute(1, 0)", 8500},
        {"x: [4, 16]", "", "y = relu(y) + x", 22000},
        {"x: [4, 16]", "", "y = y - y.sum()", 14500},
        {"x: [4, 16]", "modules:\n  fc: Linear(16, 16)\n", "y = fc(y)", 14500},
        {"x: [4, 16]", "modules:\n  ln: LayerNorm(16)\n", "y = ln(y)", 12600},
        {"x: [1, 4, 8, 8]", "modules:\n  conv: Conv2d(4, 4, 3, padding=1)\n", "y = conv(y)", 25000},
        {"x: [1, 4, 8, 8]", "modules:\n  pool: MaxPool2d(3, stride=1, padding=1)\n", "y = pool(y)", 15700},
    };

    (void)state;
    for (int i = 0; i < COUNT(rows); i++) {
        const size_t few = bytes_of(rows[i].inputs, rows[i].modules, rows[i].statement, 256),
                     many = bytes_of(rows[i].inputs, rows[i].modules, rows[i].statement, 512);

        if (many - few > 256 * rows[i].most)
            fail_msg("%s takes %zu bytes, at most %zu", rows[i].statement, (many - few) / 256, rows[i].most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_that_fits_is_taken),
        cmocka_unit_test(plan_forces_what_fits),
        cmocka_unit_test(windows_on_a_gpu),
        cmocka_unit_test(weights_are_packed_once),
        cmocka_unit_test(training_alone_packs_nothing),
        cmocka_unit_test(weights_of_networks_are_packed_once),
        cmocka_unit_test(scales_are_folded_or_tails),
        cmocka_unit_test(tied_heads_read_the_embedding),
        cmocka_unit_test(arguments_have_names_of_their_own),
        cmocka_unit_test(what_a_chain_amplifies_rounds_less),
        cmocka_unit_test(few_ops_are_walked_over),
        cmocka_unit_test(rounding_binds_no_wish),
        cmocka_unit_test(nothing_is_packed_without_leave),
        cmocka_unit_test(values_lie_where_they_belong),
        cmocka_unit_test(no_two_values_have_one_name),
        cmocka_unit_test(names_of_c_are_kept_clear),
        cmocka_unit_test(the_workspace_is_at_its_bound),
        cmocka_unit_test(parts_are_made_in_place),
        cmocka_unit_test(a_graph_that_saves_has_two_parts),
        cmocka_unit_test(a_region_has_parts_of_its_own),
        cmocka_unit_test(elements_of_an_array_are_written_together),
        cmocka_unit_test(a_statement_takes_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
