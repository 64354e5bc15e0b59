/* test_spec.c - what a spec becomes, and every way in which one can be wrong. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/text.h"
#include "spec/spec.h"

#define HEAD "modc: 1\nmodel: m\ninputs: {x: [4]}\n"
#define TAIL "forward: return x\n"

struct read {
    struct cx cx;
    struct source source;
    struct spec *spec;
};

static struct read *read_bytes(const char *text, size_t length)
{
    struct read *r = calloc(1, sizeof *r);
    char *copy = malloc(length + 1); /* of its own size, so that a sanitizer sees what reads behind it */

    assert_non_null(r);
    assert_non_null(copy);
    memcpy(copy, text, length);
    copy[length] = 0;
    r->source = (struct source){.name = "t.yaml", .text = copy, .length = length};
    r->spec = spec_read(&r->cx, &r->source);
    assert_non_null(r->spec);
    return r;
}

static struct read *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static struct read *read_good(const char *text)
{
    struct read *r = read_text(text);

    if (r->cx.item_count > 0)
        diag_print(&r->cx, stderr, false);
    assert_int_equal(r->cx.item_count, 0);
    return r;
}

static void done(struct read *r)
{
    char *text = (char *)(uintptr_t)r->source.text;

    arena_free(&r->cx.arena);
    free(text);
    free(r);
}

static const char *print(struct read *r, const struct expr *expr)
{
    struct text text = text_new(&r->cx.arena);

    expr_print(&text, expr);
    return text.data;
}

static const char *print_stmt(struct read *r, const struct stmt *stmt)
{
    struct text text = text_new(&r->cx.arena);

    stmt_print(&text, stmt);
    return text.data;
}

static const char *dump(struct read *r, bool json)
{
    struct text text = text_new(&r->cx.arena);

    spec_dump(&text, r->spec, json);
    return text.data;
}

/* The first example of the design. */
static const char policy[] =
    "modc: 1                              # format version\n"
    "model: policy                        # prefix of everything emitted\n"
    "dtype: float32                       # float64 float32 float16 bfloat16 complex64 complex128\n"
    "device: cpu                          # cpu, cuda\n"
    "constants: {hidden: 64}\n"
    "sizes: {batch: 256}                  # dimensions chosen at run time, with their maximum\n"
    "\n"
    "inputs:\n"
    "  observation: [batch, 4]            # or {shape: [batch, 4], dtype: int64}\n"
    "\n"
    "modules:\n"
    "  trunk:                             # a list is a Sequential\n"
    "    - Linear(4, hidden)\n"
    "    - Tanh()\n"
    "    - Linear(hidden, hidden)\n"
    "    - Tanh()\n"
    "  actor: Linear(hidden, 2)\n"
    "  critic: Linear(hidden, 1)\n"
    "  n_step: MultiStep(gamma=0.99, n_steps=3)\n"
    "\n"
    "forward:\n"
    "  - features = trunk(observation)\n"
    "  - logits = actor(features)\n"
    "  - value = critic(features)\n"
    "  - return logits, value\n"
    "\n"
    "entries:\n"
    "  act(observation):\n"
    "    max: {batch: 1}\n"
    "    statements:\n"
    "      - return actor(trunk(observation))\n";

static void first_example(void **state)
{
    struct read *r = read_good(policy);
    const struct spec *spec = r->spec;
    const struct spec_module *modules = spec->root.modules;

    (void)state;
    assert_string_equal(spec->model, "policy");
    assert_int_equal(spec->model_loc.line, 2);
    assert_int_equal(spec->dtype_count, 1);
    assert_string_equal(spec->dtypes[0], "float32");
    assert_string_equal(spec->devices[0], "cpu");
    assert_string_equal(spec->constants[0].name, "hidden");
    assert_int_equal(spec->constants[0].value->integer, 64);
    assert_string_equal(spec->sizes[0].name, "batch");
    assert_string_equal(print(r, spec->inputs[0].shape), "[batch, 4]");
    assert_null(spec->inputs[0].dtype);
    assert_int_equal(modules->kind, SPEC_MODULE_MAP);
    assert_int_equal(modules->count, 4);
    assert_int_equal(modules->children[0]->kind, SPEC_MODULE_LIST);
    assert_string_equal(modules->children[0]->name, "trunk");
    assert_int_equal(modules->children[0]->count, 4);
    assert_null(modules->children[0]->children[2]->name);
    assert_string_equal(modules->children[0]->children[2]->text, "Linear(hidden, hidden)");
    assert_int_equal(modules->children[0]->children[2]->text_loc.line, 15);
    assert_int_equal(modules->children[0]->children[2]->text_loc.column, 7);
    assert_int_equal(modules->children[0]->children[2]->text_loc.length, 22);
    assert_string_equal(modules->children[3]->name, "n_step");
    assert_int_equal(modules->children[3]->loc.column, 3);
    assert_int_equal(spec->root.forward->count, 4);
    assert_false(spec->root.forward->has_args);
    assert_string_equal(print_stmt(r, spec->root.forward->statements[3]), "return (logits, value)");
    assert_int_equal(spec->entry_count, 1);
    assert_string_equal(spec->entries[0]->name, "act");
    assert_string_equal(spec->entries[0]->args[0].name, "observation");
    assert_string_equal(spec->entries[0]->max[0].name, "batch");
    assert_int_equal(spec->entries[0]->max[0].max->integer, 1);
    assert_int_equal(spec->threads, 1);
    assert_int_equal(spec->hooks, SPEC_DEFAULT);
    done(r);
}

/* The second example of the design. */
static const char blocks[] =
    "functions:\n"
    "  rotate(x, cos, sin):                  # inlined where it is called; no module, no hook, no state\n"
    "    - half = x.shape[-1] // 2\n"
    "    - return x * cos + cat([-x[..., half:], x[..., :half]], dim=-1) * sin\n"
    "\n"
    "classes:\n"
    "  Block(dim, heads, dropout=0.0, expand=True):\n"
    "    modules:\n"
    "      norm1: LayerNorm(dim)\n"
    "      attn: MultiheadAttention(dim, heads, batch_first=True)\n"
    "      norm2: LayerNorm(dim)\n"
    "      mlp:\n"
    "        - Linear(dim, 4 * dim)\n"
    "        - GELU()\n"
    "        - Linear(4 * dim, dim)\n"
    "        - Dropout(dropout)\n"
    "      out: Linear(dim, dim) if expand else Identity()\n"
    "    parameters:\n"
    "      scale: {shape: [dim], init: normal_(mean=1.0, std=0.02)}\n"
    "    buffers:\n"
    "      frequency:\n"
    "        value: 1.0 / 10000.0 ** (arange(0, dim, 2) / dim)\n"
    "        persistent: false\n"
    "    state:\n"
    "      seen: {shape: [], dtype: int64}\n"
    "    forward(x, mask=None):\n"
    "      - h = norm1(x)\n"
    "      - y, _ = attn(h, h, h, attn_mask=mask)\n"
    "      - x = x + y * scale\n"
    "      - self.seen += 1\n"
    "      - return out(x + mlp(norm2(x)))\n"
    "    extra_repr: dim={dim}, heads={heads}\n"
    "\n"
    "modules:\n"
    "  blocks: 12 x Block(256, 8)            # children 0..11\n"
    "  tail:\n"
    "    - Block(dim, 4, dropout=0.1 * i / 2) for i, dim in enumerate((256, 256))\n"
    "    - LayerNorm(256)\n";

static void second_example(void **state)
{
    char text[4096] = HEAD TAIL;
    struct read *r = read_good(strcat(text, blocks));
    const struct spec *spec = r->spec;
    const struct spec_class *class = spec->classes[0];
    const struct spec_module *list = spec->root.modules->children[0], *tail = spec->root.modules->children[1];

    (void)state;
    assert_int_equal(spec->function_count, 1);
    assert_string_equal(spec->functions[0]->name, "rotate");
    assert_int_equal(spec->functions[0]->arg_count, 3);
    assert_string_equal(print_stmt(r, spec->functions[0]->statements[1]),
                        "return (x * cos) + (cat([-x[..., half:], x[..., :half]], dim=-1) * sin)");

    assert_string_equal(class->name, "Block");
    assert_int_equal(class->arg_count, 4);
    assert_string_equal(class->args[2].name, "dropout");
    assert_string_equal(print(r, class->args[3].value), "True");
    assert_int_equal(class->modules->count, 5);
    assert_int_equal(class->modules->children[3]->count, 4);
    assert_int_equal(class->modules->children[4]->call->kind, EXPR_IF);
    assert_int_equal(class->tensor_count, 3);
    assert_int_equal(class->tensors[0]->kind, SPEC_PARAMETER);
    assert_true(class->tensors[0]->requires_grad);
    assert_string_equal(print(r, class->tensors[0]->shape), "[dim]");
    assert_string_equal(print(r, class->tensors[0]->init), "normal_(mean=1.0, std=0.02)");
    assert_int_equal(class->tensors[1]->kind, SPEC_BUFFER);
    assert_false(class->tensors[1]->persistent);
    assert_string_equal(print(r, class->tensors[1]->value), "1.0 / (10000.0 ** (arange(0, dim, 2) / dim))");
    assert_int_equal(class->tensors[2]->kind, SPEC_STATE);
    assert_string_equal(class->tensors[2]->dtype->text, "int64");
    assert_int_equal(class->forward->arg_count, 2);
    assert_int_equal(class->forward->args[1].value->kind, EXPR_NONE);
    assert_int_equal(class->forward->count, 5);
    assert_int_equal(class->forward->statements[3]->kind, STMT_AUGMENT);
    assert_string_equal(class->extra_repr, "dim={dim}, heads={heads}");

    assert_int_equal(list->kind, SPEC_MODULE_LIST);
    assert_string_equal(list->name, "blocks");
    assert_int_equal(list->count, 1);
    assert_int_equal(list->children[0]->call->kind, EXPR_REPEAT);
    assert_int_equal(list->children[0]->call->a->integer, 12);
    assert_int_equal(tail->children[0]->call->kind, EXPR_FOR);
    assert_int_equal(tail->children[0]->call->c->count, 2);
    done(r);
}

static void brackets_are_split_by_modc(void **state)
{
    struct read *r = read_good(
        HEAD TAIL
        "modules: {a: [Linear(4, 64), Tanh(), # (two,\n"
        "    Conv2d(1, 2, (3, 3))], \"b-c\": {x: Linear(4,\n  2)}, d: \"X(f=[1, 2])\",\n"
        "  e: 3 x Linear(in_features=4, out_features=2)}\n"
        "constants: {pair: (1, 2), list: [1, (2, 3)], word: 'zeros', sum: \"1 + 2\", f: g(a=1, b=2)}\n");
    const struct spec_module *modules = r->spec->root.modules;

    (void)state;
    assert_int_equal(modules->count, 4);
    assert_int_equal(modules->children[0]->count, 3);
    assert_string_equal(modules->children[0]->children[0]->text, "Linear(4, 64)");
    assert_string_equal(modules->children[0]->children[2]->text, "Conv2d(1, 2, (3, 3))");
    assert_string_equal(modules->children[1]->name, "b-c");
    assert_string_equal(modules->children[1]->children[0]->text, "Linear(4, 2)");
    assert_string_equal(modules->children[2]->text, "X(f=[1, 2])");
    assert_string_equal(modules->children[3]->children[0]->text, "3 x Linear(in_features=4, out_features=2)");
    assert_string_equal(print(r, r->spec->constants[0].value), "(1, 2)");
    assert_string_equal(print(r, r->spec->constants[1].value), "[1, (2, 3)]");
    assert_string_equal(print(r, r->spec->constants[2].value), "'zeros'");
    assert_string_equal(print(r, r->spec->constants[3].value), "1 + 2");
    assert_string_equal(print(r, r->spec->constants[4].value), "g(a=1, b=2)");
    done(r);
}

static void statements_take_every_form(void **state)
{
    static const char *const forms[] = {
        "forward:\n  - y = fc(x)\n  - return y\n",
        "forward: |\n  # a comment\n  y = fc(x)\n\n  return y  # the end\n",
        "forward: |2-\n    y = fc(x)\n    return y",
        "forward(x): [y = fc(x), return y]\n",
        "forward:\n  - \"y = fc(x)\"\n  - 'return y'\n",
        "forward:\n  - y = fc(\n      x)\n  - >\n    return\n    y\n",
        "forward:\n  - |\n    y = fc(x)\n    return y\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[512] = HEAD "modules: {fc: Linear(4, 2)}\n";
        struct read *r = read_good(strcat(text, forms[i]));

        assert_int_equal(r->spec->root.forward->count, 2);
        assert_string_equal(print_stmt(r, r->spec->root.forward->statements[0]), "y = fc(x)");
        assert_string_equal(print_stmt(r, r->spec->root.forward->statements[1]), "return y");
        done(r);
    }
}

static void quotes_keep_places(void **state)
{
    struct read *r = read_good(HEAD TAIL "modules:\n"
                                         "  a: \"Conv2d(1, 2, 3, padding_mode=\\\"z\\x65ros\\\")\"\n"
                                         "  b: 'Conv2d(1, 2, 3, padding_mode=''zeros'')'\n"
                                         "  c: Linear(4, 2)\n");
    const struct spec_module *modules = r->spec->root.modules;

    (void)state;
    assert_string_equal(modules->children[0]->text, "Conv2d(1, 2, 3, padding_mode=\"zeros\")");
    assert_string_equal(modules->children[1]->text, "Conv2d(1, 2, 3, padding_mode='zeros')");
    assert_string_equal(modules->children[1]->call->items[3]->text, "zeros");
    assert_int_equal(modules->children[1]->call->loc.line, 7);
    assert_int_equal(modules->children[1]->call->loc.column, 7);
    assert_int_equal(modules->children[2]->call->loc.line, 8);
    assert_int_equal(modules->children[2]->call->loc.column, 6);
    done(r);
}

static void bytes_and_line_ends(void **state)
{
    struct read *r = read_good(
        "\xef\xbb\xbfmodc: 1\r\nmodel: m # \xc3\xa9\xe2\x82\xac\r\ninputs: {x: [4]}\r\n"
        "modules:\r\n  gr\xc3\xb6\xc3\x9f"
        "e: Linear(4, 2)\r\n  b:\tTanh()\r\nforward: |\r\n"
        "  y = x\r\n  return y\r\n");

    (void)state;
    assert_string_equal(r->spec->root.modules->children[0]->name, "gr\xc3\xb6\xc3\x9f"
                                                                  "e");
    assert_string_equal(r->spec->root.modules->children[0]->text, "Linear(4, 2)");
    assert_int_equal(r->spec->root.modules->children[0]->text_loc.line, 5);
    assert_int_equal(r->spec->root.modules->children[0]->text_loc.column, 10);
    assert_string_equal(r->spec->root.modules->children[1]->text, "Tanh()");
    assert_int_equal(r->spec->root.forward->count, 2);
    assert_int_equal(r->spec->root.forward->statements[1]->loc.line, 9);
    assert_int_equal(r->spec->model_loc.column, 8);
    done(r);
    r = read_good("---\rmodc: 1\rmodel: m\rinputs: {x: [4]}\rmodules: [Tanh()]\r...\r");
    assert_int_equal(r->spec->root.modules->loc.line, 5);
    done(r);
}

static void options_are_read(void **state)
{
    struct read *r = read_good(
        "modc: 1\nmodel: m\ninputs:\n  x: {shape: [4], dtype: torch.long}\n  y: (2, 3)\n"
        "  z:\n    - 2\n    - n\nsizes: {n: 2 * 8}\n"
        "dtype: [half, torch.float64]\ndevice: [cpu, cuda:0]\nhooks: none\npack: none\n"
        "state_dict: on\nstorage: half\nthreads: 4\nfreeze: [a.*, \"*.bias\"]\neval: b.*\n"
        "parameters:\n  w: {shape: [2, 2], requires_grad: false}\n" TAIL);
    const struct spec *spec = r->spec;

    (void)state;
    assert_int_equal(spec->dtype_count, 2);
    assert_string_equal(spec->dtypes[0], "float16");
    assert_string_equal(spec->dtypes[1], "float64");
    assert_string_equal(spec->devices[1], "cuda");
    assert_string_equal(spec->inputs[0].dtype->text, "int64");
    assert_string_equal(print(r, spec->inputs[1].shape), "(2, 3)");
    assert_string_equal(print(r, spec->inputs[2].shape), "[2, n]");
    assert_int_equal(spec->hooks, SPEC_OFF);
    assert_int_equal(spec->pack, SPEC_OFF);
    assert_int_equal(spec->state_dict, SPEC_ON);
    assert_string_equal(spec->storages[0].dtype, "float16");
    assert_int_equal(spec->threads, 4);
    assert_int_equal(spec->freeze.count, 2);
    assert_string_equal(spec->freeze.list[1], "*.bias");
    assert_string_equal(spec->eval.list[0], "b.*");
    assert_false(spec->root.tensors[0]->requires_grad);
    assert_null(spec->root.modules);
    done(r);
}

static void names_in_c(void **state)
{
    struct cx cx = {0};

    (void)state;
    assert_string_equal(emitted_name(&cx, "fc1"), "fc1");
    assert_string_equal(emitted_name(&cx, "default"), "default_");
    assert_string_equal(emitted_name(&cx, "new"), "new_");
    assert_string_equal(emitted_name(&cx, "NAN"), "NAN_");
    assert_string_equal(emitted_name(&cx, "UINT_FAST16_WIDTH"), "UINT_FAST16_WIDTH_");
    assert_string_equal(emitted_name(&cx, "M_PIf64x"), "M_PIf64x_");
    assert_string_equal(c_argument(&cx, "size_t"), "size_t_");
    assert_string_equal(c_argument(&cx, "new"), "new_");
    assert_string_equal(c_local(&cx, "default"), "default_");
    assert_string_equal(c_local(&cx, "wchar_t"), "wchar_t_");
    assert_string_equal(emitted_name(&cx, "base"), "base_");
    assert_string_equal(emitted_size(&cx, "index"), "index_");
    assert_string_equal(emitted_name(&cx, "_SIZE_T"), "_SIZE_T___"); /* stddef.h has _SIZE_T_ */
    assert_string_equal(emitted_name(&cx, "__STDC_"), "__STDC___");
    assert_string_equal(emitted_name(&cx, "MODC_LANES"), "MODC_LANES___");
    cx.model = "net";
    assert_string_equal(emitted_name(&cx, "NET_MODULES"), "NET_MODULES___");
    assert_string_equal(c_argument(&cx, "net_load"), "net_load___");
    assert_string_equal(c_argument(&cx, "modc_check"), "modc_check___");
    /* What C does not need keeps its name. */
    assert_string_equal(emitted_name(&cx, "net_load"), "net_load");
    assert_string_equal(emitted_name(&cx, "NET_Block"), "NET_Block");
    assert_string_equal(emitted_name(&cx, "INT_Block"), "INT_Block");
    assert_string_equal(emitted_name(&cx, "M_1"), "M_1");
    assert_string_equal(c_argument(&cx, "isnan"), "isnan");
    assert_string_equal(c_argument(&cx, "assert"), "assert");
    assert_string_equal(c_argument(&cx, "index"), "index");
    assert_string_equal(c_argument(&cx, "base"), "base");
    assert_string_equal(c_local(&cx, "new"), "new");
    assert_string_equal(emitted_name(&cx, "size_t"), "size_t");
    assert_string_equal(emitted_size(&cx, "past"), "past");
    assert_string_equal(c_argument(&cx, "h_t"), "h_t");
    assert_string_equal(c_argument(&cx, "y1"), "y1");
    assert_string_equal(c_argument(&cx, "_x"), "_x");
    assert_string_equal(emitted_name(&cx, "0"), "_0");
    assert_string_equal(emitted_name(&cx, "b-c d"), "b_c_d");
    arena_free(&cx.arena);
}

static void dump_shows_the_spec(void **state)
{
    struct read *r = read_good(HEAD "modules: {fc: [Linear(4, 2), {a: Tanh()}]}\nsizes: {}\n"
                                    "buffers: {b: {value: '\"q\"'}}\nforward: return fc(x) * b\n");

    (void)state;
    assert_string_equal(
        dump(r, false),
        "model: m\ndtypes:\n  - float32\ndevices:\n  - cpu\nconstants:\nsizes:\ninputs:\n  x:\n"
        "    shape: [4]\nmodules:\n  fc:\n    - Linear(4, 2)\n    -\n      a: Tanh()\ntensors:\n  b:\n"
        "    kind: buffer\n    value: 'q'\n    persistent: true\nforward:\n  statements:\n"
        "    - return fc(x) * b\nthreads: 1\n");
    assert_string_equal(
        dump(r, true),
        "{\n  \"model\": \"m\",\n  \"dtypes\": [\n    \"float32\"\n  ],\n  \"devices\": [\n"
        "    \"cpu\"\n  ],\n  \"constants\": {},\n  \"sizes\": {},\n  \"inputs\": {\n    \"x\": {\n"
        "      \"shape\": \"[4]\"\n    }\n  },\n  \"modules\": {\n    \"fc\": [\n"
        "      \"Linear(4, 2)\",\n      {\n        \"a\": \"Tanh()\"\n      }\n    ]\n  },\n"
        "  \"tensors\": {\n    \"b\": {\n      \"kind\": \"buffer\",\n      \"value\": \"'q'\",\n"
        "      \"persistent\": true\n    }\n  },\n  \"forward\": {\n    \"statements\": [\n"
        "      \"return fc(x) * b\"\n    ]\n  },\n  \"threads\": 1\n}\n");
    done(r);
}

/* Faults ------------------------------------------------------------------------------------------------- */

/* One error with this message at this place; `hint` stands in one of its hints, unless it is NULL. */
struct fault {
    const char *text;
    int line, column;
    const char *message, *hint;
};

static void assert_fault(const struct fault *fault)
{
    struct read *r = read_text(fault->text);
    const struct diag_item *item = r->cx.items;
    bool hinted = !fault->hint;

    for (int i = 1; i < r->cx.item_count; i++)
        hinted |= fault->hint && item[i].level == DIAG_HINT && strstr(item[i].text, fault->hint);
    if (diag_errors(&r->cx) != 1 || !strstr(item->text, fault->message) || item->loc.line != fault->line ||
        item->loc.column != fault->column || !hinted) {
        print_message("expected '%s' at %d:%d, hint '%s', of:\n%s\n", fault->message, fault->line,
                      fault->column, fault->hint ? fault->hint : "", fault->text);
        diag_print(&r->cx, stderr, false);
    }
    assert_int_equal(diag_errors(&r->cx), 1);
    assert_non_null(strstr(item->text, fault->message));
    assert_int_equal(item->loc.line, fault->line);
    assert_int_equal(item->loc.column, fault->column);
    assert_true(hinted);
    done(r);
}

static void assert_faults(const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_fault(&faults[i]);
}

#define ASSERT_FAULTS(faults) assert_faults(faults, sizeof(faults) / sizeof *(faults))

static void faults_of_yaml(void **state)
{
    static const struct fault faults[] = {
        {"", 1, 1, "the spec is empty", "modc: 1"},
        {"# nothing\n", 1, 1, "the spec is empty", NULL},
        {"- a\n- b\n", 1, 1, "a spec is a mapping of keys to values, found a list", NULL},
        {"hello\n", 1, 1, "found text", NULL},
        {HEAD TAIL "modules: [LayerNorm([4, 64]), Tanh()]\n", 5, 11, "YAML cannot read this inside brackets",
         "'- LayerNorm([4, 64])'"},
        {HEAD TAIL "modules: {a: X('b')('c', 'd')}\n", 5, 11, "YAML cannot read this inside brackets",
         "'a: X('b')('c', 'd')'"},
        {"modc: 1\nmodel: m\ninputs: {x:[4]}\n" TAIL, 3, 10, "YAML cannot read this",
         "a blank behind the ':'"},
        {HEAD TAIL "freeze: [*.bias]\n", 5, 10, "YAML takes '*' at the start for an alias",
         "quote it: \"*.bias\""},
        {HEAD TAIL "modules: [Linear(4, 2)\nthreads: 2\n", 5, 10, "'[' is never closed", NULL},
        {HEAD "forward:\n  - y = x[1: 3]\n  - return y\n", 5, 5, "YAML takes this statement for a mapping",
         "quote it: \"y = x[1: 3]\""},
        {HEAD "forward: return x[1: 3]\n", 4, 20, "YAML takes ': ' for the end of a key",
         "quote it: \"return x[1: 3]\""},
        {HEAD "forward:\n  - \"a\" + b\n  - return x\n", 5, 5, "YAML takes '\"' at the start for quoted text",
         "quote it: '\"a\" + b'"},
        {HEAD "forward:\n  - 'a'.b\n  - return x\n", 5, 5, "YAML takes ''' at the start",
         "quote it: \"'a'.b\""},
        {HEAD "forward:\n  - [a, b] = f(x)\n  - return x\n", 5, 5, "YAML takes '[' at the start for a list",
         "quote it: \"[a, b] = f(x)\""},
        {HEAD "forward:\n  - [a, b]\n  - return x\n", 5, 5, "YAML takes this statement for a list",
         "\"[a, b]\""},
        {HEAD "forward:\n  - {a: b}\n  - return x\n", 5, 5, "YAML takes this statement for a mapping",
         "\"{a: b}\""},
        {HEAD "forward:\n  - - a\n  - return x\n", 5, 5, "expected a statement, found a list",
         "begins a statement"},
        {HEAD "forward:\n  - *y\n  - return x\n", 5, 5, "YAML takes '*' at the start for an alias", "\"*y\""},
        {HEAD "forward:\n  - *y, z = f(x)\n  - return x\n", 5, 5, "YAML takes '*' at the start for an alias",
         "\"*y, z = f(x)\""},
        {HEAD "forward:\n  - &y z\n  - return x\n", 5, 5, "YAML takes '&' at the start for an anchor",
         "\"&y z\""},
        {HEAD "forward:\n  - !y z\n  - return x\n", 5, 5, "YAML takes '!' at the start for a tag",
         "\"!y z\""},
        {HEAD "forward:\n  - |y\n  - return x\n", 5, 5, "YAML takes '|' at the start for block text",
         "\"|y\""},
        {HEAD "forward:\n  - >y\n  - return x\n", 5, 5, "YAML takes '>' at the start for block text",
         "\">y\""},
        {HEAD "forward:\n  - @y\n  - return x\n", 5, 5, "YAML takes '@' at the start", "\"@y\""},
        {HEAD "forward:\n  - %y\n  - return x\n", 5, 5, "YAML takes '%' at the start", "\"%y\""},
        {HEAD "forward:\n  -\n  - return x\n", 5, 4, "expected a statement, found nothing", NULL},
        {HEAD "forward:\n  - y = f('a #b')\n  - return x\n", 5, 11, "this string is never closed",
         "takes ' #' for a comment"},
        {HEAD TAIL "modules: &a\n  fc: Linear(4, 2)\n", 5, 10, "an anchor, and a spec has none", NULL},
        {HEAD TAIL "constants: !t {a: 1}\n", 5, 12, "a tag, and a spec has none", NULL},
        {HEAD TAIL "---\nmodc: 1\n", 5, 1, "a second document", NULL},
        {HEAD "modules:\n\tfc: Tanh()\n", 5, 1, "a tab in the indentation", NULL},
        {HEAD "forward: return x \xff\n", 4, 19, "the byte 0xff is not UTF-8", NULL},
        {HEAD "forward: return x\x01\n", 4, 18, "a control character (U+0001)", NULL},
        {"\xff\xfem\n", 1, 1, "the file is UTF-16", "save it as UTF-8"},
        {HEAD "modules:\n  a: Tanh()\n b: Tanh()\n  c: Tanh()\n", 6, 2, "does not fit the indentation", NULL},
        {HEAD TAIL "modules:\n  a: Tanh()\n    b: Tanh()\n  c: Tanh()\n", 7, 5,
         "does not fit the indentation", NULL},
        {HEAD "forward:\n  - y = x\n  return y\nthreads: 1\n", 6, 3, "expected 'key: value', or '- item'",
         NULL},
        {HEAD "forward: \"return x\nthreads: 2\n", 4, 10, "this quote is never closed", NULL},
        {HEAD "forward: \"return \\q\"\nthreads: 2\n", 4, 18, "do not know this escape",
         "a backslash is a plain letter"},
        {HEAD TAIL "? [a]\n: 3\n", 5, 3, "a key must be a name, found a list", NULL},
        {HEAD TAIL "threads: 2\nthreads: 3\n", 6, 1, "the key 'threads' is given twice", NULL},
        {HEAD TAIL "modules: {f: Linear(4, 2), g: Tanh(), f: Tanh()}\n", 5, 39, "the key 'f' is given twice",
         NULL},
        {HEAD TAIL "modules: [{f: Linear(4, 2), 'f': Tanh()}]\n", 5, 30, "the key 'f' is given twice", NULL},
        {HEAD TAIL "modules:\n  - Linear(4, x[1: 2])\n", 6, 5, "YAML takes this for a mapping",
         "\"Linear(4, x[1: 2])\""},
        {HEAD TAIL "constants:\n  a: {b: 1}\n", 6, 6, "expected an expression, found a mapping", NULL},
    };

    (void)state;
    ASSERT_FAULTS(faults);
}

static void faults_of_keys(void **state)
{
    static const struct fault faults[] = {
        {"model: m\ninputs: {x: [4]}\n" TAIL, 1, 1, "no 'modc'", "modc: 1"},
        {"modc: 1\ninputs: {x: [4]}\n" TAIL, 1, 1, "no 'model'", "model: NAME"},
        {"modc: 1\nmodel: m\nforward: return 1\n", 1, 1, "no 'inputs'", NULL},
        {"modc: 2\nmodel: m\ninputs: {x: [4]}\n" TAIL, 1, 7, "format version 2", NULL},
        {HEAD, 1, 1, "the spec has neither 'modules' nor 'forward'", "write a list of modules"},
        {HEAD "modules: {a: Tanh()}\n", 4, 1, "the spec has no 'forward'",
         "a 'class: Sequential', needs none"},
        {"modc: 1\nmodel: m\ninputs: {x: [4], y: [4]}\nmodules: [Tanh()]\n", 3, 1, "the spec has 2 inputs",
         NULL},
        {HEAD TAIL "modles: [Tanh()]\n", 5, 1, "a spec has no key 'modles'", "'modules'"},
        {HEAD TAIL "taps: [fc]\n", 5, 1, "'taps' is not supported yet by this version of modc", NULL},
        {HEAD TAIL "extends: no_such.yaml\n", 5, 10, "cannot read 'no_such.yaml': No such file", NULL},
        {HEAD TAIL "winograd: none\n", 5, 11, "'winograd' is off or on, found 'none'", "write off"},
        {HEAD TAIL "denormals: off\n", 5, 12, "'denormals' is keep or flush, found 'off'", NULL},
        {HEAD TAIL "hooks: {a: {forward: f}}\n", 5, 1, "not supported yet", NULL},
        {HEAD TAIL "hooks: off\n", 5, 8, "'hooks' is none or on, found 'off'", NULL},
        {HEAD TAIL "threads: 0\n", 5, 10, "a number of threads from 1 to", NULL},
        {HEAD TAIL "threads: two\n", 5, 10, "a number of threads from 1 to", NULL},
        {HEAD TAIL "threads:\n", 5, 1, "'threads' has no value", NULL},
        {HEAD TAIL "dtype: float33\n", 5, 8, "there is no dtype 'float33'", "'float32'"},
        {HEAD TAIL "dtype: int64\n", 5, 8, "a model computes in", NULL},
        {HEAD TAIL "dtype: float8_e5m2\n", 5, 8, "PyTorch has the dtype 'float8_e5m2', modc has float64",
         NULL},
        {HEAD TAIL "dtype: [float32, float]\n", 5, 18, "the dtype float32 is given twice", NULL},
        {HEAD TAIL "device: xpu\n", 5, 9, "PyTorch has the device 'xpu', modc has cpu and cuda", NULL},
        {HEAD TAIL "device: mtia:0\n", 5, 9, "PyTorch has the device 'mtia'", NULL},
        {HEAD TAIL "device: gpu\n", 5, 9, "there is no device 'gpu'", NULL},
        {"modc: 1\nmodel: m\ninputs: {x: 4}\n" TAIL, 3, 13, "expected a shape", "write [4]"},
        {"modc: 1\nmodel: m\ninputs: {x: {dtype: int64}}\n" TAIL, 3, 10, "the input 'x' has no shape", NULL},
        {"modc: 1\nmodel: m\ninputs: {x: {shape: [1], dtyp: int64}}\n" TAIL, 3, 26,
         "an input has no key 'dtyp'", "'dtype'"},
        {"modc: 1\nmodel: m\ninputs: {}\nforward: return 1\n", 3, 1, "'inputs' is empty", NULL},
        {HEAD TAIL "sizes: {n: 3, require: n}\n", 5, 24, "a requirement compares sizes", NULL},
        {HEAD TAIL "parameters: {w: [3]}\n", 5, 17, "expected {shape:", "{shape: [3]}"},
        {HEAD TAIL "parameters: {w: {init: zeros}}\n", 5, 14, "'w' has neither 'shape' nor 'value'", NULL},
        {HEAD TAIL "buffers: {w: {init: ones, value: 2}}\n", 5, 11, "both 'init' and 'value'", NULL},
        {HEAD TAIL "parameters: {w: {shape: [1], persistent: true}}\n", 5, 30, "is for buffers", NULL},
        {HEAD TAIL "state: {w: {shape: [1], requires_grad: true}}\n", 5, 25, "is for parameters", NULL},
        {HEAD TAIL "state: {w: {shap: [1], shape: [1]}}\n", 5, 13, "a state has no key 'shap'", "'shape'"},
        {HEAD TAIL "buffers: {w: {shape: [1], persistent: no}}\n", 5, 39,
         "expected true or false, found 'no'", NULL},
        {HEAD TAIL "parameters: {w: {shape: [1], init: 3}}\n", 5, 36, "a function of torch.nn.init", NULL},
        {HEAD "forward: []\n", 4, 10, "expected statements, found an empty list", NULL},
        {HEAD "forward:\n", 4, 1, "'forward' has no value", NULL},
        {HEAD "forward: return x\nforward(x): return x\n", 5, 1, "there are two 'forward'", NULL},
        {HEAD "forward(z): return z\n", 4, 9, "'z' is no input of the model", NULL},
        {HEAD "forward(x=1): return x\n", 4, 9, "has a default", NULL},
    };

    (void)state;
    ASSERT_FAULTS(faults);
}

static void faults_of_modules(void **state)
{
    static const struct fault faults[] = {
        {HEAD TAIL "modules: {f: Tanh}\n", 5, 14, "expected a call such as Linear(4, 2), found a name",
         "write Tanh()"},
        {HEAD TAIL "modules: [nn.Tanh]\n", 5, 11, "found a name", "write nn.Tanh()"},
        {HEAD TAIL "modules: [3]\n", 5, 11, "expected a call such as Linear(4, 2)", NULL},
        {HEAD TAIL "modules: [2 x Tanh]\n", 5, 15, "found a name", "write Tanh()"},
        {HEAD TAIL "modules: Tanh()\n", 5, 10,
         "expected a list, or a mapping of names to modules, found one module", "[Tanh()]"},
        {HEAD TAIL "modules:\n  f:\n", 6, 3, "'f' has no value: expected a module", NULL},
        {HEAD TAIL "modules: {a.b: Tanh()}\n", 5, 11, "has a '.' in its name", NULL},
        {HEAD TAIL "modules: {fc: Tanh(), FC: Tanh()}\n", 5, 23, "'fc' and 'FC' give one name in C, FC",
         NULL},
        {HEAD TAIL "modules: {a-b: Tanh(), a_b: Tanh()}\n", 5, 24, "give one name in C, A_B", NULL},
        {HEAD TAIL "modules: {default: Tanh(), default_: Tanh()}\n", 5, 28, "give one name in C", NULL},
        {HEAD TAIL "modules: {fc: Tanh()}\nstate: {fc: {shape: [1]}}\n", 6, 9, "the name 'fc' is taken",
         NULL},
        {HEAD TAIL "modules: {fc: Linear(4, 2}\n", 5, 21, "'(' is never closed", NULL},
        {HEAD TAIL "modules: {a: 4x Tanh()}\n", 5, 14, "'4x' is not a number", "4 x Linear(8, 8)"},
        {HEAD TAIL "classes:\n  B():\n    modules: {class: GELU, a: Tanh()}\n", 7, 22, "not a 'GELU'", NULL},
        {HEAD TAIL "classes:\n  B():\n    forward: return 1\n", 7, 5, "names its arguments", "'forward(x):'"},
        {HEAD TAIL "classes:\n  B:\n    forward(x): return x\n  B(a):\n    forward(x): return x\n", 8, 3,
         "there are two classes 'B'", NULL},
        {HEAD TAIL "classes:\n  B(self): {modules: [Tanh()]}\n", 6, 5, "'self' is not written", NULL},
        {HEAD TAIL "classes:\n  B(a, a): {modules: [Tanh()]}\n", 6, 8, "two arguments 'a'", NULL},
        {HEAD TAIL "classes:\n  B(a): {modules: [Tanh()], foward: 1}\n", 6, 29, "a class has no key 'foward'",
         "'forward'"},
        {HEAD TAIL "classes:\n  B(a):\n", 6, 3, "has no value", NULL},
        {HEAD TAIL "functions:\n  f: return 1\n", 6, 3, "'f' has no list of arguments", "'f(x):'"},
        {HEAD TAIL "functions:\n  f(x): return 1\n  f(y): return 1\n", 7, 3, "there are two functions 'f'",
         NULL},
        {HEAD TAIL "entries:\n  act(z): return 1\n", 6, 7, "'z' is no input of the model", NULL},
        {HEAD TAIL "entries:\n  act(x): {max: {n: 1}, statements: return x}\n", 6, 18, "'n' is no size",
         NULL},
        {HEAD TAIL "entries:\n  act(x): {max: {}}\n", 6, 3, "the entry 'act' has no 'statements'", NULL},
        {HEAD TAIL "entries:\n  act(x): {statement: return x, statements: return x}\n", 6, 12,
         "an entry has no key", "'statements'"},
        {HEAD TAIL "entries:\n  init(x): return x\n", 6, 3, "a function or struct of every model, m_init",
         NULL},
        {HEAD TAIL "entries:\n  forward(x): return x\n", 6, 3, "has a key of its own", NULL},
        {HEAD TAIL "entries:\n  act(x): return x\n  Act(x): return x\n", 7, 3, "give one name in C, ACT",
         NULL},
    };

    (void)state;
    ASSERT_FAULTS(faults);
}

static void faults_of_names(void **state)
{
    static const struct fault faults[] = {
        {"modc: 1\nmodel: 3d\ninputs: {x: [4]}\n" TAIL, 2, 8, "'3d' is not a name", NULL},
        {"modc: 1\nmodel: a-b\ninputs: {x: [4]}\n" TAIL, 2, 8, "'a-b' is not a name", NULL},
        {"modc: 1\nmodel: class\ninputs: {x: [4]}\n" TAIL, 2, 8, "'class' is a keyword", NULL},
        {"modc: 1\nmodel: int\ninputs: {x: [4]}\n" TAIL, 2, 8, "'int' is a keyword", NULL},
        {"modc: 1\nmodel: NAN\ninputs: {x: [4]}\n" TAIL, 2, 8, "'NAN' is a macro", NULL},
        {"modc: 1\nmodel: size_t\ninputs: {x: [4]}\n" TAIL, 2, 8, "'size_t' is a type", NULL},
        {"modc: 1\nmodel: pthread\ninputs: {x: [4]}\n" TAIL, 2, 8, "'pthread.h' is one of C", "pthread_net"},
        {"modc: 1\nmodel: Math\ninputs: {x: [4]}\n" TAIL, 2, 8, "'Math.h' is one of C", "Math_net"},
        {"modc: 1\nmodel: sem\ninputs: {x: [4]}\n" TAIL, 2, 8, "functions of the library", "sem_net"},
        {"modc: 1\nmodel: lambda\ninputs: {x: [4]}\n" TAIL, 2, 8, "'lambda' is a word of the language", NULL},
        {"modc: 1\nmodel: modc\ninputs: {x: [4]}\n" TAIL, 2, 8, "belongs to the runtime", NULL},
        {"modc: 1\nmodel: _m\ninputs: {x: [4]}\n" TAIL, 2, 8, "are reserved", NULL},
        {"modc: 1\nmodel: [m]\ninputs: {x: [4]}\n" TAIL, 2, 8, "expected the name of the model, found a list",
         NULL},
        {HEAD TAIL "constants: {x-y: 1}\n", 5, 13, "'x-y' is not a name", NULL},
        {HEAD TAIL "constants: {in: 1}\n", 5, 13, "'in' is a word of the language", NULL},
        {"modc: 1\nmodel: m\nsizes: {n: 3}\nconstants: {n: 2}\ninputs: {x: [n]}\n" TAIL, 4, 13,
         "the name 'n' is taken", NULL},
        {"modc: 1\nmodel: m\nsizes: {n: 3}\ninputs: {y: [n], N: [n]}\nforward: return y\n", 4, 18,
         "'n' and 'N' give one name in C, N", NULL},
        {"modc: 1\nmodel: m\ninputs: {int: [1], int_: [1]}\nforward: return int\n", 3, 20,
         "give one name in C", NULL},
        {HEAD TAIL "parameters: {a b: {shape: [1]}}\n", 5, 14, "'a b' is not a name", NULL},
        {HEAD TAIL "functions:\n  gr\xc3\xb6sse(x): return x\n", 6, 3, "is not a name", NULL},
    };

    (void)state;
    ASSERT_FAULTS(faults);
}

static void every_fault_is_said(void **state)
{
    static const int lines[] = {4, 6, 7, 8, 9, 11, 12, 14, 17};
    struct read *r = read_text("modc: 1\n"
                               "model: m\n"
                               "inputs: {x: [4]}\n"
                               "dtyp: float32\n" /* no such key */
                               "modules:\n"
                               "  a: [LayerNorm([4, 64])]\n" /* YAML refuses it */
                               "  b: Linear(4,\n"            /* never closed */
                               "  c: \"X\" + 1\n"            /* YAML refuses it */
                               "  d: Tanh\n"                 /* no call */
                               "forward:\n"
                               "  - y = x[1: 2]\n" /* YAML misreads it */
                               "  - y = = x\n"     /* no expression */
                               "  - return y\n"
                               "taps: []\n" /* not yet */
                               "entries:\n"
                               "  act(x):\n"
                               "    - return (\n"); /* never closed */

    (void)state;
    if (diag_errors(&r->cx) != 9)
        diag_print(&r->cx, stderr, false);
    assert_int_equal(diag_errors(&r->cx), 9);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bool said = false;

        for (int k = 0; k < r->cx.item_count; k++)
            said |= r->cx.items[k].level == DIAG_ERROR && r->cx.items[k].loc.line == lines[i];
        assert_true(said);
    }
    done(r);
}

static void nesting_and_length_are_bounded(void **state)
{
    struct arena arena = {0};
    struct text text = text_new(&arena);
    struct read *r;

    (void)state;
    text_add(&text, HEAD TAIL "modules: ");
    for (int i = 0; i < 60000; i++)
        text_add(&text, i < 30000 ? "[" : "]");
    r = read_text(text.data);
    assert_int_equal(diag_errors(&r->cx), 1);
    assert_non_null(strstr(r->cx.items[0].text, "nests more than 64 levels"));
    done(r);

    text = text_new(&arena);
    text_add(&text, HEAD TAIL "modules:\n");
    for (int i = 0; i < 100; i++)
        text_printf(&text, "%*s-\n", i, "");
    r = read_text(text.data);
    assert_non_null(strstr(r->cx.items[0].text, "nests more than 64 levels"));
    done(r);
    arena_free(&arena);
}

/* Cut or damaged at any byte, a spec gives errors or a spec, and never anything else. */
static void any_bytes_are_survived(void **state)
{
    static const char damage[] = "\"'[]{}():,-#*&!|>%@\t\n\\\x01\xff x";
    char text[4096] = HEAD TAIL;
    size_t length = strlen(strcat(text, blocks));
    struct read *r;

    (void)state;
    for (size_t i = 0; i <= length; i++) {
        r = read_bytes(text, i);
        dump(r, true);
        done(r);
    }
    for (size_t i = 0; i < length; i++) {
        char kept = text[i];

        text[i] = damage[i % (sizeof damage - 1)];
        r = read_bytes(text, length);
        dump(r, i % 2);
        for (int k = 0; k < r->cx.item_count; k++)
            assert_true(r->cx.items[k].level == DIAG_HINT || r->cx.items[k].loc.source);
        done(r);
        text[i] = kept;
    }
}

/* Names stay at the base's places, new ones stand behind; what `set` and `add` say is kept in the order in which it
 * applies. */
static void specs_are_laid_over_each_other(void **state)
{
    static const char base[] =
        "modc: 1\nmodel: base\ndtype: float64\nhooks: none\nthreads: 2\n"
        "constants: {a: 1, b: 2, c: 3}\nsizes: {n: 8}\ninputs: {x: [n, a], y: [n]}\n"
        "functions:\n  f(x): return x\n  g(x): return x + b\n"
        "classes:\n  Block(dim): {modules: ['Linear(dim, dim)']}\n  Other(): {modules: [Tanh()]}\n"
        "modules: {fc: 'Linear(1, 1)', old: Tanh()}\n"
        "parameters: {p: {shape: [1]}}\nstate: {s: {shape: [1]}}\n"
        "set: {fc: Tanh(), old: ReLU()}\nadd: {more: Tanh()}\n"
        "freeze: [p]\nforward(x): return fc(x)\nentries:\n  act(x): return x\n  look(y): return y\n";
    static const char middle[] = "extends: ../base.yaml\nconstants: {b: 20, d: 4}\n"
                                 "add: {more.deep: ReLU()}\nset: {fc: GELU()}\n";
    static const char own[] =
        "hooks: on\nextends: sub/middle.yaml\nmodc: 1\nmodel: own\nconstants: {d: 40, a: 10}\n"
        "inputs:\n  y: [n, d]\nclasses:\n  'Block(dim, more=1)': {modules: [Tanh()]}\n"
        "functions:\n  f(x, y):\n    - return x + y\n  h(x): return x\n"
        "modules: {other: Tanh()}\nparameters: {q: {shape: [2]}}\n"
        "forward(x, y): return other(x)\nset: {fc: SiLU()}\nentries: {act(y): return y}\n";
    static const char expected[] =
        "model: own\ndtypes:\n  - float64\ndevices:\n  - cpu\n"
        "constants:\n  a: 10\n  b: 20\n  c: 3\n  d: 40\nsizes:\n  n: 8\n"
        "inputs:\n  x:\n    shape: [n, a]\n  y:\n    shape: [n, d]\n"
        "functions:\n  f:\n    args:\n      - x\n      - y\n    statements:\n      - return x + y\n"
        "  g:\n    args:\n      - x\n    statements:\n      - return x + b\n"
        "  h:\n    args:\n      - x\n    statements:\n      - return x\n"
        "classes:\n  Block:\n    args:\n      - dim\n      - more=1\n    modules:\n      - Tanh()\n"
        "  Other:\n    args:\n    modules:\n      - Tanh()\n"
        "modules:\n  other: Tanh()\n"
        "tensors:\n  p:\n    kind: parameter\n    shape: [1]\n    requires_grad: true\n"
        "  q:\n    kind: parameter\n    shape: [2]\n    requires_grad: true\n  s:\n    kind: state\n    shape: [1]\n"
        "forward:\n  args:\n    - x\n    - y\n  statements:\n    - return other(x)\n"
        "changes:\n  -\n    path: fc\n    set: Tanh()\n  -\n    path: old\n    set: ReLU()\n"
        "  -\n    path: more\n    add: Tanh()\n  -\n    path: more.deep\n    add: ReLU()\n"
        "  -\n    path: fc\n    set: GELU()\n  -\n    path: fc\n    set: SiLU()\n"
        "entries:\n  act:\n    args:\n      - y\n    statements:\n      - return y\n"
        "  look:\n    args:\n      - y\n    statements:\n      - return y\n"
        "freeze:\n  - p\nhooks: on\nthreads: 2\n";
    char folder[] = "/tmp/modc-spec-XXXXXX", name[64], path[64];
    const struct output_file files[] = {{"base.yaml", base, strlen(base), NULL, NULL},
                                        {"sub/middle.yaml", middle, strlen(middle), NULL, NULL}};
    struct cx cx = {0};
    struct source source = {.name = name, .text = own, .length = strlen(own)};
    const char *error = NULL;
    struct text text = text_new(&cx.arena);
    struct spec *spec;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/own.yaml", folder); /* which need not be there: its text is */
    assert_true(output_write(&cx, folder, files, 2, &error));
    spec = spec_read(&cx, &source);
    if (cx.item_count > 0)
        diag_print(&cx, stderr, DIAG_PLAIN);
    assert_int_equal(cx.item_count, 0);
    spec_dump(&text, spec, false);
    assert_string_equal(text.data, expected);
    assert_int_equal(spec->source_count, 3);
    assert_ptr_equal(spec->sources[0], &source);
    assert_string_equal(strrchr(spec->sources[2]->name, '/'), "/base.yaml");
    assert_ptr_equal(spec->constants[0].loc.source, &source);
    assert_string_equal(strrchr(spec->constants[1].loc.source->name, '/'), "/middle.yaml");
    assert_ptr_equal(spec->constants[2].loc.source, spec->sources[2]);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i].path);
        remove(path);
    }
    snprintf(path, sizeof path, "%s/sub", folder);
    rmdir(path);
    rmdir(folder);
    arena_free(&cx.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_example),
        cmocka_unit_test(second_example),
        cmocka_unit_test(brackets_are_split_by_modc),
        cmocka_unit_test(statements_take_every_form),
        cmocka_unit_test(quotes_keep_places),
        cmocka_unit_test(bytes_and_line_ends),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(names_in_c),
        cmocka_unit_test(dump_shows_the_spec),
        cmocka_unit_test(specs_are_laid_over_each_other),
        cmocka_unit_test(faults_of_yaml),
        cmocka_unit_test(faults_of_keys),
        cmocka_unit_test(faults_of_modules),
        cmocka_unit_test(faults_of_names),
        cmocka_unit_test(every_fault_is_said),
        cmocka_unit_test(nesting_and_length_are_bounded),
        cmocka_unit_test(any_bytes_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
