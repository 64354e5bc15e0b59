/* test_kernel.c - kernels as data: which a small plan has, what they are called, what calls of them pass, and when two are
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plans.h"

/* As it stands in a model, behind its core. */
static const char *text_of(struct model *m, const struct kernel *kernel)
{
    struct kernel_texts *texts = kernel_texts_new(&m->cx, m->plan);

    if (kernel->core)
        kernel_text(texts, kernel->core);
    return kernel_text(texts, kernel);
}

/* The first call of the kernel in the model's variants. */
static const struct kernel_call *call_of(const struct model *m, const struct kernel *kernel)
{
    for (int v = 0; v < m->plan->variant_count; v++)
        for (int s = 0; s < m->plan->variants[v]->step_count; s++) {
            const struct kernel_calls *calls = &m->plan->variants[v]->steps[s].calls;

            for (int i = 0; i < calls->count; i++)
                if (calls->list[i].kernel == kernel)
                    return &calls->list[i];
        }
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void test_names(void **state)
{
    struct model *m = with("  fc: Linear(64, 32)\n  act: ReLU()\n  out: Linear(32, 2)\n", "out(act(fc(x)))");

    (void)state;
    assert_non_null(find(m, "fc_linear_fused"));
    assert_non_null(find(m, "out_linear"));
    for (int i = 0; i < m->plan->kernel_count; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(m->plan->kernels[i]->name, m->plan->kernels[j]->name);
    forget(m);
}

/* What copies a run of elements, or fills panels, is a call of a function that is there. */
static void test_library(void **state)
{
    struct model *m = with("  fc: Linear(64, 32)\n  act: ReLU()\n", "act(fc(x)), x");
    const struct kernel *copy = find(m, "memcpy"), *pack = find(m, "modc_f32_pack");
    const struct kernel_call *call;

    (void)state;
    assert_true(copy && copy->form == KERNEL_LIBRARY && pack && pack->form == KERNEL_LIBRARY);
    call = call_of(m, copy);
    assert_int_equal(call->operand_count, 3);
    assert_int_equal(call->operands[2].kind, OPERAND_BYTES);
    assert_int_equal(call->operands[2].dtype, DTYPE_FLOAT32);
    assert_int_equal(dim_upper(call->operands[2].count), 64 * 256);
    assert_int_equal(m->plan->groups[0]->entry_count, 1);
    call = m->plan->groups[0]->entries[0]->calls.list;
    assert_ptr_equal(call->kernel, pack);
    assert_int_equal(call->operand_count, 6);
    for (int i = 2; i < 6; i++)
        assert_int_equal(call->operands[i].kind, OPERAND_NUMBER);
    assert_true(call->operands[2].offset == 32 && call->operands[3].offset == 64); /* n, k */
    assert_true(call->operands[4].offset == 64 && call->operands[5].offset == 1);
    assert_null(find(m, "pack_fc_weight"));
    forget(m);
}

/* Another activation changes no name: a module that is one function is called forward and dinput, what is fused to a product is
 * not told. */
static void test_names_of_functions(void **state)
{
    static const char *const activations[] = {"ReLU", "Tanh"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        char spec[400];
        struct model *m;

        snprintf(spec, sizeof spec,
                 "modc: 1\nmodel: t\nsizes: {batch: 256}\nbackward: true\ninputs:\n  x: [batch, 64]\n"
                 "modules:\n  fc: Linear(64, 32)\n  act: %s()\nforward:\n  - return act(fc(x))\n",
                 activations[i]);
        m = make(spec);
        assert_true(find(m, "fc_linear") && find(m, "fc_linear_fused") && find(m, "act_forward") &&
                    find(m, "act_dinput"));
        assert_true(find(m, "fc_linear_fused")->users.module ==
                    find(m, "fc_linear")->users.module); /* they stand together */
        forget(m);
    }
}

/* Another width, and a module in front, change no name of the others. */
static void test_names_stay(void **state)
{
    struct model *m = with("  fc: Linear(64, 48)\n  act: ReLU()\n  out: Linear(48, 2)\n", "out(act(fc(x)))");
    struct model *more = with(
        "  norm: LayerNorm(64)\n  fc: Linear(64, 32)\n  act: ReLU()\n  out: Linear(32, 2)\n",
        "out(act(fc(norm(x))))");

    (void)state;
    assert_true(find(m, "fc_linear_fused") && find(m, "out_linear"));
    assert_true(find(more, "fc_linear_fused") && find(more, "out_linear"));
    assert_non_null(find(more, "norm_layer_norm"));
    forget(m);
    forget(more);
}

/* What several share is called after the first, so that no name changes where others come to share it. */
static void test_shared(void **state)
{
    struct model *one = with("  trunk: [Linear(64, 64), ReLU()]\n", "trunk(x)");
    struct model *two = with("  trunk: [Linear(64, 64), ReLU(), Linear(64, 64), ReLU()]\n", "trunk(x)");

    (void)state;
    assert_non_null(find(one, "trunk_0_linear_fused"));
    assert_non_null(find(two, "trunk_0_linear_fused"));
    assert_null(find(two, "trunk_2_linear_fused"));
    assert_string_equal(find(two, "trunk_0_linear_fused")->users.path, "trunk_0");
    forget(one);
    forget(two);
}

/* Values of different shapes share the loops that these come to, whatever ops want them; then the comment tells the loops' shape. */
static void test_shared_shapes(void **state)
{
    struct model *m = make(
        "modc: 1\nmodel: t\nhooks: none\ninputs:\n  u: [1, 16, 1, 1]\n  v: [1, 1, 1, 16]\n"
        "  w: [2, 8, 4]\n  z: [16, 4]\n"
        "forward:\n  - return tanh(u), tanh(v), w.sum(-1), z.sum(-1), tanh(u).cumsum(1)\n");
    const struct kernel *map = find(m, "root_tanh"), *sum = find(m, "root_sum");

    (void)state;
    assert_true(map && sum);
    assert_string_equal(map->comment, "y (16) = tanh(x0)");
    assert_string_equal(sum->comment, "y (16) = sum of x0");
    for (int i = 0; i < m->plan->kernel_count; i++)
        assert_true(m->plan->kernels[i] == map || strncmp(m->plan->kernels[i]->name, "root_tanh", 9) != 0);
    forget(m);
    m = make("modc: 1\nmodel: t\nhooks: none\ninputs:\n  u: [1, 16, 1, 1]\nforward:\n  - return tanh(u)\n");
    assert_string_equal(find(m, "root_tanh")->comment,
                        "y (1, 16, 1, 1) = tanh(x0)"); /* it serves nothing else */
    forget(m);
}

/* Packing calls what functions call, where it computes the same. */
static void test_shared_by_packing(void **state)
{
    struct model *m = make("modc: 1\nmodel: t\nhooks: none\nsizes: {batch: 256}\ninputs:\n"
                           "  x: [batch, 16]\nmodules:\n  norm: BatchNorm1d(16)\n  act: Tanh()\n"
                           "forward:\n  - return norm(act(x))\n");

    (void)state;
    assert_non_null(find(m, "norm_scale"));
    assert_null(find(m, "pack_norm_weight_prepared"));
    forget(m);
}

/* A product is called what the spec calls it, with a bias and without. */
static void test_products(void **state)
{
    struct model *m = with("  fc: Linear(64, 32, bias=False)\n  out: Linear(32, 2)\n",
                           "out(fc(x)) @ ones(2, 3)");

    (void)state;
    assert_non_null(find(m, "fc_linear"));
    assert_non_null(find(m, "out_linear"));
    assert_non_null(find(m, "root_matmul"));
    forget(m);
}

/* Kernels that would have one name tell what stays: here what they read. */
static void test_told_apart(void **state)
{
    struct model *told = make(
        "modc: 1\nmodel: t\nhooks: none\nsizes: {batch: 256}\ninputs:\n  u: [batch, 64]\n"
        "  v: [batch, 32]\nforward:\n  - return exp(u).cumsum(-1), exp(v).cumsum(-1)\n");

    (void)state;
    assert_non_null(find(told, "root_exp")); /* the first keeps the name */
    assert_non_null(find(told, "root_exp_v"));
    forget(told);
}

/* Cores come first; then all of a module stands together, and what calls another one behind it. */
static void test_order(void **state)
{
    struct model *m = make(
        "modc: 1\nmodel: t\nsizes: {batch: 256}\nbackward: true\ninputs:\n  x: [batch, 64]\n"
        "modules:\n  a: Linear(64, 32)\n  act: Tanh()\n  b: Linear(32, 16)\n"
        "forward:\n  - h = act(a(x))\n  - return b(h) * x[:, :16]\n");
    int rank = -1;

    (void)state;
    for (int i = 0; i < m->plan->function_kernels; i++) {
        const struct kernel *kernel = m->plan->kernels[i];
        const int own = kernel->own_name ? -1 : kernel->users.module;

        assert_true(own >= rank);
        rank = own;
        for (int j = i; kernel->core && j < m->plan->kernel_count; j++)
            assert_ptr_not_equal(m->plan->kernels[j], kernel->core);
    }
    assert_non_null(
        find(m, "b_dweight_accumulate")); /* outside of calls: the parameter's module says whose it is */
    forget(m);
}

/* ---- cores and wrappers --------------------------------------------------------------------------------------------- */

static void test_cores(void **state)
{
    struct model *m = with("  fc: Linear(64, 32)\n  act: ReLU()\n  two: Linear(32, 48)\n  act2: ReLU()\n",
                           "act2(two(act(fc(x))))");
    const struct kernel *a = find(m, "fc_linear_fused"), *b = find(m, "two_linear_fused");

    (void)state;
    assert_true(a && b);
    assert_int_equal(a->form, KERNEL_WRAPPER);
    assert_ptr_equal(a->core, b->core); /* shapes are arguments */
    assert_false(kernel_equal(a, b));
    assert_int_equal(a->core->form, KERNEL_TEMPLATE);
    assert_true(a->shape_count > 0 && a->shape_count == a->core->shape_count);
    assert_non_null(strstr(text_of(m, a), a->core->name));
    assert_null(strstr(text_of(m, b->core), "48"));
    forget(m);
}

/* A core takes the function of its tail as an argument, whatever it is: calls of one core have theirs each. */
static void test_tails(void **state)
{
    struct model *m = with("  fc: Linear(64, 64)\n  act: ReLU()\n  two: Linear(64, 64)\n  act2: Tanh()\n"
                           "  three: Linear(64, 64)\n  four: Linear(64, 64)\n",
                           "four(x) + three(act2(two(act(fc(x)))))");
    const struct kernel *a = find(m, "fc_linear_fused"), *b = find(m, "two_linear_fused"),
                        *plain = find(m, "three_linear");
    const struct kernel *onto = find(m, "four_linear_fused");
    struct kernel_texts *texts = kernel_texts_new(&m->cx, m->plan);
    const char *text;

    (void)state;
    assert_true(a && b && plain && onto);
    assert_ptr_equal(a->core, b->core);
    assert_ptr_equal(a->core, plain->core);
    assert_ptr_not_equal(a->core, onto->core); /* it reads another value */
    assert_true(a->core->takes_function && onto->core->takes_function);
    assert_null(a->core->tail);
    assert_null(plain->function->dag);
    text = kernel_text(texts, a->core);
    assert_non_null(strstr(text, "modc_f32 (*TAIL_V)(modc_f32 x)"));
    assert_non_null(strstr(text, "TAIL_V(sum[i])"));
    assert_null(strstr(text, "relu"));
    assert_non_null(strstr(kernel_text(texts, a), ", relu_v);"));
    assert_non_null(strstr(kernel_text(texts, b), ", modc_f32_tanh);"));
    assert_non_null(strstr(kernel_text(texts, plain), ", modc_f32_as_is);"));
    text = kernel_functions(texts);
    assert_non_null(strstr(text, "MODC_INLINE modc_f32 relu_v(modc_f32 x0)"));
    assert_null(strstr(text, "tanh"));   /* the runtime has it */
    assert_null(strstr(text, "relu_s")); /* nobody calls it with one value */
    assert_string_equal(kernel_functions(texts), "");
    forget(m);
}

/* A map is a core for each number of inputs and axes, which takes what it computes as an argument; dense rows are as far apart as they are long. */
static void test_maps(void **state)
{
    struct model *m = make("modc: 1\nmodel: t\nhooks: none\nsizes: {batch: 256}\ninputs:\n  x: [batch, 64]\n"
                           "  y: [batch, 24]\n  b: [64]\n  c: [24]\nforward:\n"
                           "  - return exp(x), exp(y), x + b, y[:, :20] + c[:20], y + c\n");
    const struct kernel *flat = find(m, "root_exp"), *other = find(m, "root_exp_y");
    const struct kernel *dense = find(m, "root_add"), *part = NULL;
    const char *text;

    (void)state;
    assert_true(flat && other && dense);
    assert_int_equal(flat->form, KERNEL_WRAPPER);
    assert_ptr_equal(flat->core, other->core);
    assert_int_equal(flat->shape_count, 1);
    assert_string_equal(flat->shapes[0].name, "count");
    text = text_of(m, flat->core);
    assert_non_null(strstr(text, "modc_f32 (*F)(modc_f32 x0))\n"));
    assert_non_null(strstr(text_of(m, flat), "    map_1(y, x0, 64 * batch, modc_f32_exp);\n"));
    assert_int_equal(dense->shape_count, 2); /* ni, nj: the distance is nj */
    for (int i = 0; i < m->plan->kernel_count; i++) {
        const struct kernel *kernel = m->plan->kernels[i];

        if (kernel->form == KERNEL_WRAPPER && kernel->core->nest.ndim == 2 && kernel->shape_count > 2)
            part = kernel;
    }
    assert_non_null(part); /* of 20 in rows of 24 */
    assert_ptr_not_equal(part->core, dense->core);
    forget(m);
}

/* A reduction is a core for each number of axes and inputs, which takes what is reduced and what comes behind it as arguments;
 * a mean, which computes with sizes, is the core's own. */
static void test_reductions(void **state)
{
    struct model *m = make(
        "modc: 1\nmodel: t\nhooks: none\nsizes: {batch: 256}\ninputs:\n  x: [batch, 64]\n  y: [48, batch, 24]\n"
        "  z: [batch, 8]\nforward:\n"
        "  - return x.sum(0), exp(z).sum(0), tanh(x.mean(0)), y.amax(-1), x.sum(1), x.argmax(1)\n");
    const struct kernel *sum = find(m, "root_sum"), *other = find(m, "root_sum_z"), *mean = NULL,
                        *rows = NULL;
    struct kernel_texts *texts = kernel_texts_new(&m->cx, m->plan);
    const char *text;

    (void)state;
    for (int i = 0; i < m->plan->kernel_count; i++) {
        const struct kernel *kernel = m->plan->kernels[i];

        if (kernel->form == KERNEL_WRAPPER && strncmp(kernel->core->name, "sum_columns_then_", 17) == 0)
            mean = kernel;
        if (kernel->form == KERNEL_WRAPPER && strncmp(kernel->core->name, "sum_rows_by_4", 13) == 0)
            rows = kernel;
    }
    assert_true(sum && other && mean && rows);
    assert_ptr_equal(sum->core, other->core); /* of 64 columns and of 8 */
    text = kernel_text(texts, sum->core);
    assert_non_null(strstr(text, "modc_f32 (*HEAD)(modc_f32 x0), modc_f32 (*TAIL)(modc_f32 x0))"));
    assert_non_null(strstr(text, "start += 1024")); /* note [exact sums] */
    assert_non_null(
        strstr(kernel_text(texts, sum), "(y, x0, batch, 64, 4, modc_f32_as_is, modc_f32_as_is);"));
    assert_non_null(strstr(kernel_text(texts, other), "(y, x0, batch, 8, 1, modc_f32_exp, modc_f32_as_is);"));
    assert_ptr_not_equal(mean->core, sum->core);
    assert_null(strstr(kernel_text(texts, mean->core), "TAIL"));
    text = kernel_text(texts, rows->core);
    assert_non_null(strstr(text, "float (*TAIL)(float x0))")); /* one number for each row */
    assert_non_null(strstr(kernel_text(texts, rows), ", modc_f32_as_is, modc_f32s_as_is);"));
    forget(m);
}

/* Two functions of one word. */
static void test_tail_words(void **state)
{
    struct model *m = with(
        "  fc: Linear(64, 64)\n  act: LeakyReLU(0.1)\n  two: Linear(64, 64)\n  act2: LeakyReLU(0.2)\n",
        "act2(two(act(fc(x))))");
    const struct kernel *a = find(m, "fc_linear_fused"), *b = find(m, "two_linear_fused");

    (void)state;
    assert_true(a && b && a->core == b->core);
    assert_string_equal(a->function->name, "leaky_relu");
    assert_string_equal(b->function->name, "leaky_relu_0_2");
    assert_string_not_equal(text_of(m, a), text_of(m, b));
    forget(m);
}

/* The wrappers of cores of a template: how many, and the first two. */
static int wrappers_of(const struct model *m, const char *file, const struct kernel *found[2])
{
    int count = 0;

    for (int i = 0; i < m->plan->kernel_count; i++) {
        const struct kernel *kernel = m->plan->kernels[i];

        if (kernel->form != KERNEL_WRAPPER || strcmp(kernel->core->template, file) != 0)
            continue;
        if (count < 2)
            found[count] = kernel;
        count++;
    }
    return count;
}

static const struct kernel *callee(const struct kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->shape_count; i++)
        if (strcmp(kernel->shapes[i].name, name) == 0)
            return kernel->shapes[i].kernel;
    return NULL;
}

/* Kernels that a core calls are arguments of it, so that it serves whatever shapes these compute in. */
static void test_callees(void **state)
{
    struct model *m = make("modc: 1\nmodel: m\nhooks: none\ninputs: {q: [2, 24, 16], r: [3, 40, 32]}\n"
                           "forward:\n"
                           "  - a = scaled_dot_product_attention(q, q, q)\n"
                           "  - b = scaled_dot_product_attention(r, r, r)\n"
                           "  - return a, b\n");
    const struct kernel *found[2];
    const char *text;

    (void)state;
    assert_int_equal(wrappers_of(m, "attention", found), 2);
    assert_ptr_equal(found[0]->core, found[1]->core);
    assert_non_null(callee(found[0], "SCORES"));
    assert_ptr_not_equal(callee(found[0], "SCORES"), callee(found[1], "SCORES"));
    text = text_of(m, found[0]->core);
    assert_non_null(strstr(text, "void (*const SCORES)(float *restrict y, "));
    assert_null(strstr(text, callee(found[0], "SCORES")->name));
    text = text_of(m, found[0]);
    assert_non_null(strstr(text, callee(found[0], "SCORES")->name));
    forget(m);
}

/* On a GPU attention calls none: what scores go through is a function of its own, whose operands lie by batches, too. */
static void test_scores(void **state)
{
    struct model *m = make("modc: 1\nmodel: m\nhooks: none\ndevice: cuda\n"
                           "inputs: {q: [2, 3, 24, 16], bias: [3, 24, 24], mask: [2, 1, 1, 24]}\n"
                           "forward:\n"
                           "  - a = softmax(q @ q.mT + bias, -1) @ q\n"
                           "  - b = softmax(q @ q.mT + mask, -1) @ q\n"
                           "  - c = softmax(q @ q.mT * mask, -1) @ q\n"
                           "  - d = softmax(q @ q.mT * mask, -1) @ q * bias[..., :16]\n"
                           "  - return a, b, c, d\n");
    const struct kernel *kernels[4];
    int count = 0;

    (void)state;
    for (int i = 0; i < m->plan->kernel_count; i++) {
        if (!m->plan->kernels[i]->scores)
            continue;
        assert_true(count < 4);
        kernels[count++] = m->plan->kernels[i];
    }
    assert_int_equal(count, 4);
    for (int i = 0; i < count; i++) {
        const char *text = text_of(m, kernels[i]);
        const bool tail = kernels[i]->tail != NULL;
        struct tail_operand extras[2];
        struct kernel other = *kernels[i];

        assert_int_equal(kernels[i]->score_count, 1);
        assert_int_equal(kernels[i]->extra_count, 1 + tail);
        assert_non_null(strstr(text, "_score(float x, float e0)\n"));
        assert_non_null(strstr(text, dim_equals(kernels[i]->extras[0].row, 0)
                                         ? "_score(weight[r], e0[batch0 * 24 + key])"
                                         : "_score(weight[r], e0[batch1 * 576 + row * 24 + key])"));
        assert_true(!tail == !strstr(text, "= value * e1[batch1 * 576 + row * 24 + column]"));
        other.scores = NULL;
        assert_false(kernel_equal(kernels[i], &other));
        other = *kernels[i];
        memcpy(extras, other.extras, (size_t)other.extra_count * sizeof *extras);
        other.extras = extras;
        assert_true(kernel_equal(kernels[i], &other));
        extras[0].batch[0] = extras[0].batch[1];
        extras[0].batch[1] = kernels[i]->extras[0].batch[0];
        assert_false(kernel_equal(kernels[i], &other));
    }
    forget(m);
}

/* Both directions of a layer are one core, with the parts that others of its kind share. */
static void test_directions(void **state)
{
    struct model *m = make("modc: 1\nmodel: m\nhooks: none\ninputs: {x: [5, 2, 16]}\n"
                           "modules: {gru: 'GRU(16, 32, bidirectional=True)'}\n"
                           "forward:\n  - y, _ = gru(x)\n  - return y\n");
    const struct kernel *found[2];

    (void)state;
    assert_int_equal(wrappers_of(m, "recurrent", found), 2);
    assert_ptr_equal(found[0]->core, found[1]->core);
    assert_non_null(found[0]->core->parts);
    assert_null(found[0]->parts);
    forget(m);
}

/* A core has the branches that its calls need. */
static void test_some(void **state)
{
    struct model *small = with("  fc: Linear(64, 64)\n", "fc(x)");
    struct model *large = with("  fc: Linear(64, 2048)\n", "fc(x)");
    struct model *both = with("  fc: Linear(64, 2048)\n  two: Linear(2048, 64)\n  three: Linear(64, 64)\n",
                              "three(two(fc(x)))");
    const char *text;

    (void)state;
    text = text_of(small, find(small, "fc_linear")->core);
    assert_false(strstr(text, "wide") || strstr(text, "1024"));
    text = text_of(large, find(large, "fc_linear")->core);
    assert_true(strstr(text, "wide = ") && strstr(text, "<= 256 * 1024 ? N : band;"));
    text = text_of(both, find(both, "fc_linear")->core);
    assert_ptr_equal(find(both, "fc_linear")->core, find(both, "three_linear")->core);
    assert_true(strstr(text, "wide = ") && strstr(text, "<= 256 * 1024 ? N : band;"));
    assert_null(strstr(text, "MODC_PREFETCH"));
    forget(small);
    forget(large);
    forget(both);
}

/* Parts that tails share are a kernel for each shape, of one core; the whole's core is told which. */
static void test_parts(void **state)
{
    struct model *m = with(
        "  first: Conv2d(1, 64, 3, padding=1)\n  one: Conv2d(64, 64, 3, padding=2, dilation=2)\n"
        "  act: ReLU()\n  two: Conv2d(64, 64, 3, padding=2, dilation=2)\n  act2: Tanh()\n"
        "  three: Conv2d(64, 32, 3, padding=2, dilation=2)\n",
        "three(act2(two(act(one(first(x.view(batch, 1, 8, 8)))))))");
    const struct kernel *one = find(m, "one_conv2d_fused"), *two = find(m, "two_conv2d_fused"),
                        *three = find(m, "three_conv2d");
    const char *text;

    (void)state;
    assert_true(one && two && three);
    assert_non_null(one->parts);
    assert_ptr_equal(one->parts, two->parts);
    assert_ptr_not_equal(one->parts, three->parts);
    assert_ptr_equal(one->parts->core, three->parts->core);
    assert_ptr_equal(one->core, two->core);
    assert_ptr_equal(one->core, three->core);
    assert_non_null(strstr(text_of(m, three), ", NULL);")); /* no tail comes after its lines */
    assert_true(one->alone && one->parts->alone && !one->core->alone);
    assert_non_null(strstr(text_of(m, two), one->parts->name));
    assert_non_null(strstr(text_of(m, three), three->parts->name));
    assert_non_null(strstr(text_of(m, one->parts), "MODC_ALONE"));
    text = text_of(m, one->core);
    assert_non_null(strstr(text, "void (*const LINE)("));
    assert_null(strstr(text, one->parts->name));
    forget(m);
}

/* The most that a call of a core has is what it has room for; windows that are not very tall get the same. */
static void test_most(void **state)
{
    struct model *m = with("  one: Conv2d(1, 2, 3, padding=1)\n  two: Conv2d(2, 4, 5, padding=2)\n",
                           "two(one(x.view(batch, 1, 8, 8)))");
    const struct kernel *one = find(m, "one_conv2d"), *two = find(m, "two_conv2d");

    (void)state;
    assert_true(one && two && one->core == two->core);
    assert_non_null(strstr(text_of(m, one->core), "lines[8];"));
    forget(m);
}

/* ---- equality --------------------------------------------------------------------------------------------------------- */

static void test_equality(void **state)
{
    struct model *m = with("  fc: Linear(64, 32)\n  act: ReLU()\n  out: Linear(32, 2)\n", "out(act(fc(x)))");
    const struct kernel *kernel = find(m, "fc_linear_fused");
    struct kernel other = *kernel;
    struct kernel_parameter parameters[8];

    (void)state;
    other.name = "another";
    assert_true(kernel_equal(kernel, &other)); /* the name does not count */
    other.comment = "y = something else";
    assert_false(kernel_equal(kernel, &other));
    other = *kernel;
    other.split.slices = 2;
    assert_false(kernel_equal(kernel, &other));
    other = *kernel;
    memcpy(parameters, kernel->parameters, (size_t)kernel->parameter_count * sizeof *parameters);
    parameters[0].restricted = !parameters[0].restricted;
    other.parameters = parameters;
    assert_false(kernel_equal(kernel, &other));
    other = *kernel->core;
    other.hole_count--;
    assert_false(kernel_equal(kernel->core, &other));
    for (int i = 0; i < m->plan->kernel_count; i++)
        for (int j = 0; j < i; j++)
            assert_false(kernel_equal(m->plan->kernels[i], m->plan->kernels[j]));
    forget(m);
}

/* Of `forward` in evaluation and training: one function serves both where no module asks for the mode. */
static void test_modes(void **state)
{
    struct model *plain = with("  fc: Linear(64, 32)\n  act: ReLU()\n", "act(fc(x))");
    struct model *drawn = with("  fc: Linear(64, 32)\n  drop: Dropout(p=0.5)\n", "drop(fc(x))");
    struct model *fixed = with("  fc: Linear(64, 32)\n  drop: Dropout(p=0.0)\n", "drop(fc(x))");

    (void)state;
    assert_int_equal(plain->plan->variant_count, 2);
    assert_null(plain->plan->variants[0]->same);
    assert_ptr_equal(plain->plan->variants[1]->same, plain->plan->variants[0]);
    assert_null(drawn->plan->variants[1]->same);
    assert_ptr_equal(fixed->plan->variants[1]->same, fixed->plan->variants[0]);
    forget(plain);
    forget(drawn);
    forget(fixed);
}

/* ---- text: records in, C out ------------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    struct model *m = with("  fc: Linear(64, 32)\n  act: ReLU()\n", "act(fc(x))");
    static const char *const named[] = {"output", "x", "k", "p", "batch"};
    const struct variant *variant = m->plan->variants[0];
    struct kernel nest = {
        .name = "twice", .comment = "y (3) = x0", .form = KERNEL_NEST, .kind = NEST_SORT, .parameters = NULL};
    const struct dim *one = dim_const(&m->cx.arena, 1), *steps[2] = {one, one};
    struct uses *uses = uses_new(&m->cx.arena, m->plan->program->tree);
    struct nest_operand operands[2] = {{.dtype = DTYPE_INT64}, {.dtype = DTYPE_FLOAT32}};

    (void)state;
    assert_string_equal(kernel_step(&m->cx, variant, uses, &variant->steps[variant->step_count - 1]),
                        "    fc_linear_fused(output, x, k->fc_weight, p->fc.bias, batch);\n");
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_true(uses_name(uses, named[i]));
    assert_false(uses_name(uses, "x0") || uses_name(uses, "ws") || uses_name(uses, "net"));
    nest.nest = (struct nest){.operands = operands, .operand_count = 2};
    nest.line = (struct line){dim_const(&m->cx.arena, 3), steps, false};
    nest.used = ARENA_ARRAY(&m->cx.arena, 2, bool);
    assert_non_null(
        strstr(text_of(m, &nest), "static MODC_KERNEL void twice(int64_t *y, const float *x0)\n{\n"));
    nest.descending = true;
    assert_non_null(strstr(text_of(m, &nest), "if (u < v)\n        return 1;"));
    forget(m);
}

/* ---- operands ----------------------------------------------------------------------------------------------------------- */

static void test_operands(void **state)
{
    struct model *m = with("  fc: Linear(64, 32, bias=False)\n  act: ReLU()\n", "act(fc(x))");
    const struct kernel_call *call = call_of(m, find(m, "fc_linear_fused"));

    (void)state;
    assert_non_null(call);
    assert_int_equal(call->operand_count, 5);
    assert_int_equal(call->operands[0].kind, OPERAND_VALUE);
    assert_int_equal(call->operands[1].kind, OPERAND_VALUE);
    assert_int_equal(call->operands[2].kind, OPERAND_PACKED);
    assert_string_equal(call->operands[2].packed.entry->name, "fc_weight");
    assert_int_equal(call->operands[3].kind, OPERAND_NULL); /* no bias */
    assert_int_equal(call->operands[4].kind, OPERAND_SIZE);
    assert_string_equal(call->operands[4].size->c_name, "batch");
    forget(m);
}

/* What a packed entry is filled from. */
static void test_packing(void **state)
{
    struct model *m = with("  fc: Linear(64, 32)\n", "fc(x)");
    const struct packed *entry = m->plan->groups[0]->entries[0];

    (void)state;
    assert_int_equal(entry->calls.count, 1);
    assert_int_equal(entry->calls.list[0].operands[0].kind, OPERAND_ENTRY);
    assert_ptr_equal(entry->calls.list[0].operands[0].packed.entry, entry);
    assert_int_equal(entry->calls.list[0].operands[1].kind, OPERAND_TENSOR);
    assert_string_equal(entry->calls.list[0].operands[1].tensor->path, "fc.weight");
    assert_true(m->plan->function_kernels < m->plan->kernel_count);
    forget(m);
}

/* The result comes first and is written; what is read is not. */
static void test_parameters(void **state)
{
    struct model *m = with("  norm: LayerNorm(64)\n  act: Softmax(dim=-1)\n  fc: Linear(64, 7)\n",
                           "fc(act(norm(x)))");

    (void)state;
    for (int i = 0; i < m->plan->kernel_count; i++) {
        const struct kernel *kernel = m->plan->kernels[i];

        assert_true(kernel->parameter_count > 0);
        assert_true(kernel->parameters[0].written);
        if (kernel->form == KERNEL_NEST)
            assert_int_equal(kernel->parameter_count, kernel->nest.operand_count);
    }
    forget(m);
}

/* A slice of one of three lines, of an only row: no loop outside has an index, and rows begin where their pointers are. */
static void test_single_lines(void **state)
{
    struct model *m = calloc(1, sizeof *m);
    int nests = 0;

    (void)state;
    m->options.split = 3;
    plan_spec(
        m, "modc: 1\nmodel: t\nhooks: none\nsizes: {rows: 1}\ninputs: {x: [rows, 3, 72], c: [rows, 1, 36]}\n"
           "forward:\n  - a, b = x.chunk(2, -1)\n  - return cat([a * c - b * 2, b * c + a], -1)\n");
    for (int i = 0; i < m->plan->kernel_count; i++) {
        if (m->plan->kernels[i]->form != KERNEL_NEST)
            continue;
        assert_null(strstr(text_of(m, m->plan->kernels[i]), "+ ;"));
        nests++;
    }
    assert_true(nests >= 2);
    forget(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),      cmocka_unit_test(test_shared_by_packing),
        cmocka_unit_test(test_names_stay), cmocka_unit_test(test_names_of_functions),
        cmocka_unit_test(test_shared),     cmocka_unit_test(test_shared_shapes),
        cmocka_unit_test(test_products),   cmocka_unit_test(test_told_apart),
        cmocka_unit_test(test_order),      cmocka_unit_test(test_maps),
        cmocka_unit_test(test_cores),      cmocka_unit_test(test_tails),
        cmocka_unit_test(test_library),    cmocka_unit_test(test_tail_words),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_some),
        cmocka_unit_test(test_equality),   cmocka_unit_test(test_modes),
        cmocka_unit_test(test_text),       cmocka_unit_test(test_operands),
        cmocka_unit_test(test_packing),    cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_callees),    cmocka_unit_test(test_scores),
        cmocka_unit_test(test_directions), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_most),       cmocka_unit_test(test_single_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
