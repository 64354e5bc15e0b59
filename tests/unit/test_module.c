/* test_module.c - the tree that comes of a spec: what set and add make of it, in which order initial values are drawn, what
 * may share a function or lie in an array, what is tied, frozen or fixed, and what differs by dtype. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "commands/options.h"
#include "module/module.h"

/* Three equal instances of a class, and a list of two layers. */
#define MODEL                                                                                                \
    "modc: 1\nmodel: m\nconstants: {dim: 4}\ninputs: {x: [4]}\n"                                             \
    "classes:\n"                                                                                             \
    "  Block(dim, wide=2):\n"                                                                                \
    "    modules:\n"                                                                                         \
    "      norm: LayerNorm(dim)\n"                                                                           \
    "      mlp:\n"                                                                                           \
    "        - Linear(dim, wide * dim)\n"                                                                    \
    "        - Linear(wide * dim, dim)\n"                                                                    \
    "    forward(x):\n"                                                                                      \
    "      - return mlp(norm(x))\n"                                                                          \
    "modules:\n"                                                                                             \
    "  blocks: 3 x Block(dim)\n"                                                                             \
    "  head: [Linear(dim, 2), ReLU()]\n"                                                                     \
    "parameters:\n"                                                                                          \
    "  scale: {shape: [2], init: normal_()}\n"                                                               \
    "forward:\n"                                                                                             \
    "  - return head(blocks(x)) * scale\n"

struct tree {
    struct cx cx;
    struct options options;
    struct source source;
    struct module_tree *tree;
};

static struct tree *read_tree(const char *text)
{
    struct tree *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->cx.options = &t->options;
    t->source = (struct source){.name = "t.yaml", .text = text, .length = strlen(text)};
    t->tree = module_build(&t->cx, spec_read(&t->cx, &t->source), 0);
    if (t->cx.item_count > 0)
        diag_print(&t->cx, stderr, DIAG_PLAIN);
    assert_int_equal(t->cx.item_count, 0);
    return t;
}

static void done(struct tree *t)
{
    arena_free(&t->cx.arena);
    free(t);
}

static struct module *at(const struct tree *t, const char *path)
{
    for (int i = 0; i < t->tree->module_count; i++)
        if (strcmp(t->tree->modules[i]->path, path) == 0)
            return t->tree->modules[i];
    fail_msg("there is no module '%s'", path);
    return NULL;
}

/* "0 1 extra": the names of the children. */
static const char *children(struct tree *t, const char *path)
{
    const struct module *module = at(t, path);
    struct text text = text_new(&t->cx.arena);

    for (int i = 0; i < module->child_count; i++)
        text_printf(&text, "%s%s", i ? " " : "", module->children[i]->name);
    return text.data;
}

static const char *draws(struct tree *t)
{
    struct text text = text_new(&t->cx.arena);

    for (int i = 0; i < t->tree->draw_count; i++)
        if (strstr(t->tree->draws[i].tensor->path, "weight") || !strchr(t->tree->draws[i].tensor->path, '.'))
            text_printf(&text, "%s%s", i ? " " : "", t->tree->draws[i].tensor->path);
    return text.data;
}

static void changes_apply_one_after_the_other(void **state)
{
    struct tree *t = read_tree(MODEL "set:\n"
                                     "  head: [Linear(dim, 8), Tanh(), Linear(8, 2)]\n"
                                     "  head.1: {a: Sigmoid(), b: GELU()}\n"
                                     "  head.1.b: ReLU()\n"
                                     "add:\n"
                                     "  head.1.c: [Tanh()]\n"
                                     "  head.1.c.1: Tanh()\n"
                                     "  blocks.2.mlp.2: Dropout(0.5)\n"
                                     "  tail: 2 x Linear(2, 2)\n");

    (void)state;
    assert_string_equal(children(t, ""), "blocks head tail");
    assert_string_equal(children(t, "head"), "0 1 2");
    assert_string_equal(children(t, "head.1"), "a b c");
    assert_string_equal(at(t, "head.1.a")->class_name, "Sigmoid");
    assert_string_equal(at(t, "head.1.b")->class_name, "ReLU");
    assert_string_equal(children(t, "head.1.c"), "0 1");
    assert_string_equal(children(t, "blocks.2.mlp"), "0 1 2");
    assert_string_equal(children(t, "blocks.1.mlp"), "0 1");
    assert_string_equal(children(t, "tail"), "0 1");
    assert_string_equal(at(t, "tail.0")->text, "Linear(2, 2)");
    assert_int_equal(at(t, "head.1.b")->loc.line, 24);
    done(t);
}

/* What is added may be changed in turn, and what replaces something may be added to. */
static void the_order_is_that_of_the_text(void **state)
{
    struct tree *t = read_tree(MODEL "add:\n"
                                     "  head.more: [Tanh(), Tanh()]\n"
                                     "set:\n"
                                     "  head.more.1: ReLU()\n"
                                     "  blocks.0.mlp.1: [Linear(8, 4)]\n");

    (void)state;
    assert_string_equal(children(t, "head"), "0 1 more");
    assert_string_equal(at(t, "head.more.0")->class_name, "Tanh");
    assert_string_equal(at(t, "head.more.1")->class_name, "ReLU");
    assert_string_equal(children(t, "blocks.0.mlp.1"), "0");
    done(t);
}

static void values_are_drawn_in_their_places(void **state)
{
    struct tree *t = read_tree(MODEL "set:\n"
                                     "  head.0: [Linear(dim, 3), Linear(3, 2)]\n"
                                     "  blocks.1.mlp.0: Linear(dim, 8, bias=False)\n"
                                     "  blocks.2: Identity()\n"
                                     "add:\n"
                                     "  blocks.0.mlp.last: Linear(4, 4)\n"
                                     "  blocks.0.mlp.1.more: Linear(1, 1)\n"
                                     "  tail: Linear(2, 2)\n");

    (void)state;
    assert_string_equal(draws(t), "blocks.0.mlp.0.weight blocks.0.mlp.1.weight "
                                  "blocks.0.mlp.1.more.weight blocks.0.mlp.last.weight blocks.1.mlp.0.weight "
                                  "blocks.1.mlp.1.weight head.0.0.weight head.0.1.weight tail.weight scale");
    done(t);
}

static void arrays_are_lists_left_alone(void **state)
{
    static const char *const changed[] = {
        MODEL "set: {blocks.1: Block(dim)}\n",
        MODEL "set: {blocks.1.norm: Identity()}\n",
        MODEL "set: {blocks.2.mlp.0: 'Linear(dim, 8)'}\n",
        MODEL "add: {blocks.0.mlp.9: Dropout(0.1)}\n",
        MODEL "add: {blocks.3: Block(dim)}\n",
    };
    struct tree *t = read_tree(MODEL);

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(at(t, "blocks")->children[i]->array);
    done(t);
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++) {
        t = read_tree(changed[k]);
        for (int i = 0; i < at(t, "blocks")->child_count; i++)
            assert_false(at(t, "blocks")->children[i]->array);
        done(t);
    }
}

static void equal_changes_share(void **state)
{
    struct tree *t = read_tree(MODEL "set:\n"
                                     "  blocks.0.norm: LayerNorm(dim, eps=0.1)\n"
                                     "  blocks.2.norm: LayerNorm(2 + 2, 0.1)\n"
                                     "add:\n"
                                     "  blocks.3: Block(4)\n"
                                     "  blocks.4: Block(4, wide=3)\n"
                                     "  blocks.5: Block(4)\n"
                                     "  blocks.5.mlp.2: [Tanh(), Dropout(0.5)]\n"
                                     "  blocks.6: Block(4)\n"
                                     "  blocks.6.mlp.2: [Tanh(), Dropout(0.25)]\n");

    (void)state;
    assert_string_equal(at(t, "blocks.1")->signature, "Block(4, 2)");
    assert_string_equal(at(t, "blocks.0")->signature,
                        "Block(4, 2) with norm: LayerNorm((4,), 0.1, True, True)");
    assert_string_equal(at(t, "blocks.0")->signature, at(t, "blocks.2")->signature);
    assert_string_equal(at(t, "blocks.1")->signature, at(t, "blocks.3")->signature);
    assert_string_not_equal(at(t, "blocks.3")->signature, at(t, "blocks.4")->signature);
    assert_string_equal(at(t, "blocks.5")->signature,
                        "Block(4, 2) with mlp.2: Sequential(0: Tanh(), 1: Dropout(0.5, False))");
    assert_string_not_equal(at(t, "blocks.5")->signature, at(t, "blocks.6")->signature);
    done(t);
}

/* The words of a change are the model's own, so a class may stand in an instance of itself. */
static void a_class_inside_its_own_instance(void **state)
{
    struct tree *t = read_tree(MODEL "set:\n"
                                     "  blocks.1.mlp.1: [Linear(8, dim), Block(dim)]\n"
                                     "  blocks.1.mlp.1.1.norm: Block(dim, 3)\n");

    (void)state;
    assert_string_equal(at(t, "blocks.1.mlp.1.1")->signature, "Block(4, 2) with norm: Block(4, 3)");
    assert_string_equal(
        at(t, "blocks.1")->signature,
        "Block(4, 2) with mlp.1: Sequential(0: Linear(8, 4, True), 1: Block(4, 2) with norm: Block(4, 3))");
    done(t);
}

/* "path=first of its tie" of every parameter, with ! where it requires gradients. */
static const char *parameters(struct tree *t)
{
    struct text text = text_new(&t->cx.arena);

    for (int i = 0; i < t->tree->key_count; i++) {
        const struct module_tensor *tensor = t->tree->keys[i];

        text_printf(&text, "%s%s", i ? " " : "", tensor->path);
        if (tensor->first != tensor)
            text_printf(&text, "=%s", tensor->first->path);
        text_add(&text, tensor->requires_grad ? "!" : "");
    }
    return text.data;
}

#define THREE                                                                                                \
    "modc: 1\nmodel: m\ninputs: {x: [2]}\n"                                                                  \
    "modules: {a: 'Linear(2, 2)', b: [Linear(2, 2)], c: 'Linear(2, 2)'}\n"                                   \
    "forward: return c(b(a(x)))\n"

static void ties_lead_to_one_end_and_lie_at_the_first(void **state)
{
    struct tree *t = read_tree(THREE "tie: {a.weight: c.weight, b.0.weight: a.weight, c.bias: b.0.bias}\n");

    (void)state;
    assert_string_equal(
        parameters(t),
        "a.weight! a.bias! b.0.weight=a.weight! b.0.bias! c.weight=a.weight! c.bias=b.0.bias!");
    for (int i = 0; i < t->tree->key_count; i++)
        assert_true(t->tree->keys[i]->tied == (strcmp(t->tree->keys[i]->path, "a.bias") != 0));
    assert_string_equal(module_tensor_origin(t->tree->keys[2])->path, "c.weight");
    assert_string_equal(module_tensor_origin(t->tree->keys[3])->path, "b.0.bias");
    done(t);
}

static void patterns_name_parameters_and_modules(void **state)
{
    static const struct {
        const char *patterns, *expected;
    } cases[] = {
        {"a", "a.weight a.bias b.0.weight! b.0.bias! c.weight! c.bias!"},
        {"'*bias'", "a.weight! a.bias b.0.weight! b.0.bias c.weight! c.bias"},
        {"b.*", "a.weight! a.bias! b.0.weight b.0.bias c.weight! c.bias!"},
        {"['*.0*t', c.bias]", "a.weight! a.bias! b.0.weight b.0.bias! c.weight! c.bias"},
        {"'*'", "a.weight a.bias b.0.weight b.0.bias c.weight c.bias"},
    };
    struct tree *t;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];

        snprintf(text, sizeof text, "%sfreeze: %s\n", THREE, cases[i].patterns);
        t = read_tree(text);
        assert_string_equal(parameters(t), cases[i].expected);
        done(t);
    }
    t = read_tree(THREE "tie: {c.weight: a.weight}\nfreeze: c\n"); /* what is tied is one tensor */
    assert_string_equal(parameters(t), "a.weight a.bias! b.0.weight! b.0.bias! c.weight=a.weight c.bias");
    done(t);
    t = read_tree(THREE "eval: [b, a]\n");
    assert_true(at(t, "a")->always_eval && at(t, "b")->always_eval && at(t, "b.0")->always_eval);
    assert_false(at(t, "c")->always_eval || at(t, "")->always_eval);
    done(t);
    t = read_tree(THREE "checkpoint: [b, a]\nbackward: true\n");
    assert_true(at(t, "a")->checkpoint && at(t, "b")->checkpoint && at(t, "b.0")->checkpoint);
    assert_false(at(t, "c")->checkpoint || at(t, "")->checkpoint);
    done(t);
}

/* Many stars take no more time than pattern and text together allow. */
static void patterns_take_little_time(void **state)
{
    char text[8192] = THREE "freeze: ['*', '";
    struct options options = {0};
    struct cx cx = {.options = &options};
    struct source source = {.name = "t.yaml", .text = text};

    (void)state;
    for (int i = 0; i < 1000; i++)
        strcat(text, "*e*a");
    strcat(text, "']\n");
    source.length = strlen(text);
    module_build(&cx, spec_read(&cx, &source), 0);
    assert_int_equal(diag_errors(&cx), 1);
    arena_free(&cx.arena);
}

static void variants_differ_in_what_has_no_type(void **state)
{
    struct tree *t = read_tree("modc: 1\nmodel: m\ndtype: [float32, float64]\ninputs: {x: [2]}\n"
                               "modules: {norm: BatchNorm2d(2)}\n"
                               "parameters: {own: {shape: [2], dtype: float32}}\n"
                               "buffers: {value: {value: 0.1}, count: {shape: [2], dtype: int64}}\n"
                               "forward: return x\n");
    struct module_tree *wide = module_build(&t->cx, t->tree->spec, 1);
    struct text text = text_new(&t->cx.arena);

    (void)state;
    for (int i = 0; i < wide->key_count; i++)
        text_printf(&text, "%s%s %s", i ? ", " : "", dtype_rows[t->tree->keys[i]->dtype].name,
                    dtype_rows[wide->keys[i]->dtype].name);
    assert_string_equal(text.data,
                        "float32 float32, float32 float64, int64 int64, float32 float64, float32 float64, "
                        "float32 float64, float32 float64, int64 int64");
    assert_string_equal(t->tree->name, "m");
    assert_string_equal(wide->name, "m_float64");
    assert_string_equal(wide->root->class_name, "m");
    done(t);
}

/* The C library's pow(5579, 0.5) is not sqrt(5579), which PyTorch takes: float64 weights would have other bits. */
static void bounds_are_exact(void **state)
{
    struct tree *t = read_tree(
        "modc: 1\nmodel: m\ninputs: {x: [5579]}\n"
        "modules: {fc: \"Linear(5579, 1)\", conv: \"Conv2d(5579, 1, 1)\"}\nforward: return fc(x)\n");
    double bound = 1 / sqrt(5579);

    (void)state;
    assert_memory_equal(&module_find_tensor(at(t, "fc"), "bias")->b, &bound, sizeof bound);
    assert_memory_equal(&module_find_tensor(at(t, "conv"), "bias")->b, &bound, sizeof bound);
    done(t);
}

/* The arguments of a lazy form are those of what it becomes, behind the first; LazyInstanceNorm learns by default. */
static void lazy_forms_take_what_they_become_takes(void **state)
{
    int count = 0;

    (void)state;
    for (const struct layer_family *family = layer_families; family->rows; family++) {
        for (const struct layer_row *row = family->rows; row->name; row++) {
            const struct layer_row *plain = row->becomes ? layer_find(row->becomes) : NULL;
            bool learns = strncmp(row->name, "LazyInstanceNorm", 16) == 0;

            if (!row->becomes)
                continue;
            count++;
            assert_non_null(plain);
            assert_string_equal(row->name + 4, plain->name);
            for (int i = 0; row->args[i].name || plain->args[i + 1].name; i++) {
                const struct layer_arg *own = &row->args[i], *its = &plain->args[i + 1];

                assert_non_null(own->name);
                assert_non_null(its->name);
                assert_string_equal(own->name, its->name);
                assert_int_equal(own->kind, its->kind);
                assert_int_equal(own->keyword, its->keyword);
                assert_int_equal(own->value == NULL, its->value == NULL);
                if (own->value && !(learns && (i == 2 || i == 3)))
                    assert_string_equal(own->value, its->value);
            }
        }
    }
    assert_true(count > 0);
}

/* Messages of checks have brackets of their own: only those with a question are choices. */
static void brackets_of_texts_stay(void **state)
{
    struct options options = {0};
    struct cx cx = {.options = &options};
    struct eval eval = {.cx = &cx};
    struct scope scope = {0};
    struct loc nowhere = {0};

    (void)state;
    scope_bind(&eval, &scope, "x", ev_int(&eval, nowhere, 3));
    assert_string_equal(eval_fill(&eval, &scope, "in [0, 1], not {x}"), "in [0, 1], not 3");
    assert_string_equal(eval_fill(&eval, &scope, "in [0, 1)[x > 2? but {x}][x > 3? much more]?"),
                        "in [0, 1) but 3?");
    assert_string_equal(eval_fill(&eval, &scope, "[x > 2?[x > 1?two ]of {x}"), "[x > 2?two of 3");
    arena_free(&cx.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_apply_one_after_the_other),
        cmocka_unit_test(the_order_is_that_of_the_text),
        cmocka_unit_test(values_are_drawn_in_their_places),
        cmocka_unit_test(arrays_are_lists_left_alone),
        cmocka_unit_test(equal_changes_share),
        cmocka_unit_test(a_class_inside_its_own_instance),
        cmocka_unit_test(ties_lead_to_one_end_and_lie_at_the_first),
        cmocka_unit_test(patterns_name_parameters_and_modules),
        cmocka_unit_test(patterns_take_little_time),
        cmocka_unit_test(variants_differ_in_what_has_no_type),
        cmocka_unit_test(bounds_are_exact),
        cmocka_unit_test(lazy_forms_take_what_they_become_takes),
        cmocka_unit_test(brackets_of_texts_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
