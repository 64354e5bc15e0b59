/* test_stored.c - what a kernel points to is no matter of what it computes in: here all of that but scratch is stored in 16 bits,
 * and what is emitted is compiled by gcc and clang, run and compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>

#include "emit/template.h"
#include "plans.h"

/* ---- kernels of 16 bits ----------------------------------------------------------------------------------------- */

static bool flag_of(const struct kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->hole_count; i++)
        if (strcmp(kernel->holes[i].name, name) == 0)
            return kernel->holes[i].integer != 0;
    return false;
}

/* Of matrices, which no narrow type stores: graph_check refuses them; of rows that become integers from float32, as check_storage
 * of module_paths.c says; of integers alone. */
static bool is_of_floats(const char *template)
{
    static const char *const names[] = {"cholesky",
                                        "conv_int8",
                                        "conv_int8_depthwise",
                                        "conv_int8_plain",
                                        "conv_int8_planes",
                                        "eigh",
                                        "gemm_coded",
                                        "gemm_int8",
                                        "jacobi_parts",
                                        "lu",
                                        "lu_order",
                                        "lu_solve",
                                        "matrix_exp",
                                        "qr",
                                        "svd",
                                        "triangular"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(template, names[i]) == 0)
            return true;
    return false;
}

/* Scratch of each template, which holds what is computed, and the pointers that are scratch where a flag says so. */
static const struct scratch {
    const char *template, *name, *flag;
} scratch[] = {{"conv_direct", "v", NULL},
               {"conv_direct", "lines", "T_head"},
               {"conv_direct", "out", "T_turned"},
               {"conv_depthwise", "v", NULL},
               {"conv_depthwise", "lines", "T_head"},
               {"conv_depthwise", "out", "T_turned"},
               {"conv_winograd", "v", NULL},
               {"conv_winograd", "m", NULL},
               {"conv_winograd_tiles", "v", NULL},
               {"conv_winograd_tiles", "m", NULL},
               {"gemm_coded", "v", NULL},
               {"gemm_narrow", "v", NULL},
               {"gemm_int8", "v", NULL},
               {"pool_planes", "v", NULL},
               {"softmax_columns", "v", NULL},
               {"ctc", "v", NULL},
               {"fft", "v", NULL},
               {"fft", "w", NULL}, /* factors are of the type that is computed in */
               {"fft", "scale", NULL},
               {"attention", "s", NULL},
               {"attention_paged", "s", NULL},
               {"matmul_strided", "v", NULL},
               {"matmul_strided", "p", "T_packs_x"},
               {"matmul_strided", "q", "T_packs_w"},
               {"recurrent", "v", NULL},
               {"recurrent", "inputs", "T_ahead"},
               {"recurrent_gradient", "v", NULL},
               {"recurrent_gradient", "slopes", "T_projects"},
               /* a convolution transposes into planes of what it computes in alone */
               {"conv_direct", "y", "T_turned"},
               {"conv_depthwise", "y", "T_turned"}};

/* Parts that read or write the scratch of the kernel that calls them, where a flag of that says so. */
static const struct {
    const char *role, *name, *flag;
} handed_scratch[] = {{"scores", "y", NULL}, {"scores", "w", "T_turned"}, {"scores", "q", "T_turned"},
                      {"values", "p", NULL}, {"softmax", "y", NULL},      {"softmax", "x", NULL},
                      {"values", "x", NULL}, {"keys", "y", NULL},         {"convert", "y", NULL},
                      {"project", "y", NULL}};

/* `whole`: of which it is a part, or the kernel itself. */
static bool is_scratch(const struct kernel *kernel, const struct kernel *whole, const char *name)
{
    const char *template = kernel->core && kernel->form == KERNEL_WRAPPER ? kernel->core->template
                                                                          : kernel->template;

    for (size_t i = 0; i < sizeof handed_scratch / sizeof *handed_scratch && kernel->role; i++)
        if (strcmp(kernel->role, handed_scratch[i].role) == 0 && strcmp(name, handed_scratch[i].name) == 0 &&
            (!handed_scratch[i].flag || flag_of(whole, handed_scratch[i].flag)))
            return true;
    for (size_t i = 0; i < sizeof scratch / sizeof *scratch && template; i++)
        if (strcmp(template, scratch[i].template) == 0 && strcmp(name, scratch[i].name) == 0 &&
            (!scratch[i].flag || flag_of(kernel, scratch[i].flag)))
            return true;
    if (whole != kernel && template && strcmp(template, "conv_direct_line") == 0)
        return (strcmp(name, "lines") == 0 && flag_of(whole, "T_head")) ||
               (strcmp(name, "y") == 0 && flag_of(whole, "T_turned")) ||
               (strcmp(name, "out") == 0 && flag_of(whole, "T_turned"));
    return false;
}

/* The kernel that it is a part of, or else itself. */
static const struct kernel *whole_of(const struct model *m, const struct kernel *kernel)
{
    for (int i = 0; i < m->plan->kernel_count; i++) {
        const struct kernel *whole = m->plan->kernels[i];

        for (int j = 0; j < whole->shape_count; j++)
            if (whole->form == KERNEL_WRAPPER && whole->shapes[j].kernel == kernel)
                return whole;
        if (whole->parts == kernel)
            return whole;
    }
    return kernel;
}

static void narrow(struct element *element, enum dtype stored)
{
    if (element->stored == DTYPE_FLOAT32)
        element->stored = stored;
}

/* A copy of the kernel, whose core has another name. */
static struct kernel *narrow_kernel(struct model *m, const struct kernel *own, const struct kernel *whole,
                                    enum dtype stored)
{
    struct arena *arena = &m->cx.arena;
    struct kernel *kernel = ARENA_NEW(arena, struct kernel);

    *kernel = *own;
    kernel->parameters = ARENA_ARRAY(arena, own->parameter_count + 1, struct kernel_parameter);
    kernel->pointers = ARENA_ARRAY(arena, own->pointer_count + 1, struct kernel_pointer);
    kernel->extras = ARENA_ARRAY(arena, own->extra_count + 1, struct tail_operand);
    kernel->nest.operands = ARENA_ARRAY(arena, own->nest.operand_count + 1, struct nest_operand);
    kernel->shapes = ARENA_ARRAY(arena, own->shape_count + 1, struct kernel_shape);
    for (int i = 0; i < own->parameter_count; i++) {
        kernel->parameters[i] = own->parameters[i];
        if (!is_scratch(own, whole, own->parameters[i].name))
            narrow(&kernel->parameters[i].element, stored);
    }
    for (int i = 0; i < own->pointer_count; i++) {
        kernel->pointers[i] = own->pointers[i];
        if (!is_scratch(own, whole, own->pointers[i].name))
            narrow(&kernel->pointers[i].element, stored);
    }
    for (int i = 0; i < own->extra_count; i++) {
        kernel->extras[i] = own->extras[i];
        narrow(&kernel->extras[i].element, stored);
    }
    for (int i = 0; i < own->nest.operand_count; i++) {
        struct nest_operand *operand = &kernel->nest.operands[i];

        *operand = own->nest.operands[i];
        if (operand->dtype == DTYPE_FLOAT32 && !is_scratch(own, whole, own->parameters[i].name))
            operand->dtype = stored;
    }
    for (int i = 0; i < own->shape_count; i++) {
        kernel->shapes[i] = own->shapes[i];
        if (own->shapes[i].kernel)
            kernel->shapes[i].kernel = narrow_kernel(m, own->shapes[i].kernel,
                                                     whole_of(m, own->shapes[i].kernel), stored);
    }
    if (own->form == KERNEL_NEST && own->kind == NEST_MAP) {
        kernel->loops = map_form(&kernel->nest, own->dag, true);
        kernel->loops.core = own->loops.core;
    }
    return kernel;
}

/* The wrapper's core with the elements that its call has. */
static struct kernel *narrow_core(struct model *m, struct kernel *wrapper)
{
    struct kernel *core = ARENA_NEW(&m->cx.arena, struct kernel);

    *core = *wrapper->core;
    core->name = arena_format(&m->cx.arena, "%s_core", wrapper->name);
    core->parameters = wrapper->parameters;
    core->pointers = wrapper->pointers;
    core->extras = ARENA_ARRAY(&m->cx.arena, core->extra_count + 1, struct tail_operand);
    for (int i = 0; i < core->extra_count; i++) {
        core->extras[i] = wrapper->core->extras[i];
        core->extras[i].element = wrapper->extras[i].element;
    }
    core->shapes = ARENA_ARRAY(&m->cx.arena, core->shape_count + 1, struct kernel_shape);
    for (int i = 0; i < core->shape_count; i++) {
        core->shapes[i] = wrapper->core->shapes[i];
        if (core->shapes[i].kernel)
            core->shapes[i].kernel = wrapper->shapes[i].kernel;
    }
    core->nest.operands = ARENA_ARRAY(&m->cx.arena, core->nest.operand_count + 1, struct nest_operand);
    for (int i = 0; i < core->nest.operand_count; i++) {
        core->nest.operands[i] = wrapper->core->nest.operands[i];
        core->nest.operands[i].dtype = wrapper->nest.operands[i].dtype;
    }
    if (core->form == KERNEL_NEST && core->kind == NEST_MAP) {
        core->loops = map_form(&core->nest, core->dag, true);
        core->loops.core = true;
    }
    wrapper->core = core;
    return core;
}

/* Whether the plan's wrappers call it: each gets one of its own here. */
static bool is_core(const struct model *m, const struct kernel *kernel)
{
    for (int i = 0; i < m->plan->kernel_count; i++)
        if (m->plan->kernels[i]->form == KERNEL_WRAPPER && m->plan->kernels[i]->core == kernel)
            return true;
    return false;
}

/* Values of 16 bits as structs, so that C refuses what reads or writes one and does not convert it. */
static const char *strict_text(struct model *m, enum dtype stored)
{
    static const char *const loads[] = {"load", "load_part", "load_rest", "load_most"};
    static const char *const stores[] = {"store", "store_part", "store_most"};
    const char *type = dtype_rows[stored].c, *word = type + strlen("modc_");
    struct text text = text_new(&m->cx.arena);

    text_add(&text, "struct value {\n    uint16_t bits;\n};\n\n"
                    "static inline struct value strict_value(uint16_t bits)\n{\n"
                    "    const struct value value = {bits};\n\n    return value;\n}\n\n"
                    "static inline const uint16_t *strict_from(const struct value *p)\n{\n"
                    "    return &p->bits;\n}\n\n"
                    "static inline uint16_t *strict_to(struct value *p)\n{\n    return &p->bits;\n}\n\n");
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        text_printf(&text, "#define %s_%s(p%s) %s_%s(strict_from(p)%s)\n", type, loads[i], i ? ", ..." : "",
                    type, loads[i], i ? ", __VA_ARGS__" : "");
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        text_printf(&text, "#define %s_%s(p, ...) %s_%s(strict_to(p), __VA_ARGS__)\n", type, stores[i], type,
                    stores[i]);
    text_printf(&text, "#define modc_f32_to_%s(a) strict_value(modc_f32_to_%s(a))\n", word, word);
    text_printf(&text, "#define %s_to_f32(a) %s_to_f32((a).bits)\n#define %s struct value\n\n", type, type,
                type);
    return text.data;
}

/* Every kernel of the plan with values that are stored so, in the order in which they call each other. */
static const char *narrow_text(struct model *m, enum dtype stored, bool strict)
{
    struct text text = text_new(&m->cx.arena), kernels = text_new(&m->cx.arena);
    struct kernel_texts *texts = kernel_texts_new(&m->cx, m->plan);

    text_add(&text,
             "#include <stdlib.h>\n#include <string.h>\n\n#include \"modc.h\"\n#include \"modc_simd.h\"\n\n"
             "MODC_KERNELS_BEGIN\n\n");
    if (strict)
        text_add(&text, strict_text(m, stored));
    for (int i = 0; i < m->plan->kernel_count; i++) {
        const struct kernel *own = m->plan->kernels[i];
        struct kernel *kernel;

        if (own->form == KERNEL_LIBRARY || (own->form != KERNEL_WRAPPER && is_core(m, own)) ||
            (own->form == KERNEL_WRAPPER &&
             own->core->form == KERNEL_LIBRARY)) /* packs what is never stored so */
            continue;
        kernel = narrow_kernel(m, own, whole_of(m, own), stored);
        if (kernel->form == KERNEL_WRAPPER)
            text_printf(&kernels, "%s\n", kernel_text(texts, narrow_core(m, kernel)));
        text_printf(&kernels, "%s\n", kernel_text(texts, kernel));
    }
    text_printf(&text, "%s%sMODC_KERNELS_END\n", kernel_functions(texts), kernels.data);
    return emit_fit(&m->cx.arena, text.data);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[200];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *const compilers[] = {"gcc", "clang"};

/* With every compiler that is here. `rest` is a format for the folder: what is compiled, and what then runs. */
static void compile(const char *flags, const char *folder, const char *files, bool runs)
{
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        char command[1000];

        snprintf(command, sizeof command,
                 "if command -v %s >/dev/null; then cd %s && %s -std=c99 -march=native " WARNINGS
                 " -Wno-unused-function -I$OLDPWD/runtime %s %s %s; fi",
                 compilers[i], folder, compilers[i], flags, files, runs ? "-lm && ./a.out" : "");
        assert_int_equal(system(command), 0);
    }
}

/* ---- every template --------------------------------------------------------------------------------------------- */

static const char *read_text(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "r");
    struct text text = text_new(arena);
    char part[4096];

    assert_non_null(file);
    for (size_t length; (length = fread(part, 1, sizeof part, file)) > 0;)
        text_add_bytes(&text, part, length);
    fclose(file);
    return text.data;
}

static void mark(bool *seen, char *const *names, int count, const char *template)
{
    for (int i = 0; i < count && template; i++)
        seen[i] |= strcmp(names[i], template) == 0;
}

/* The names of all templates. */
static int list_templates(struct arena *arena, char **names, int room)
{
    DIR *folder = opendir("templates/c");
    int count = 0;

    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const size_t length = strlen(entry->d_name);

        if (length < 3 || strcmp(entry->d_name + length - 2, ".c") != 0)
            continue;
        assert_true(count < room);
        names[count++] = arena_copy(arena, entry->d_name, length - 2);
    }
    closedir(folder);
    return count;
}

/* Specs that use all templates in many ways; each kernel of theirs, loop nests too, compiles without a warning. With
 * MODC_TEST_QUICK those of forward alone. */
static void test_templates(void **state)
{
    static const char *const specs[] = {
        "tests/layers/attention.yaml",       "tests/layers/rnn.yaml",
        "tests/layers/rnn_lengths.yaml",     "tests/layers/losses_ctc.yaml",
        "tests/layers/pooling.yaml",         "tests/layers/conv.yaml",
        "tests/layers/softmax.yaml",         "tests/layers/norms.yaml",
        "tests/specs/winograd.yaml",         "tests/specs/depthwise.yaml",
        "tests/specs/stream.yaml",           "tests/layers/dense.yaml",
        "tests/specs/gather.yaml",           "tests/layers/functions_reductions.yaml",
        "tests/layers/functions_index.yaml", "tests/layers/functions_fft.yaml",
        "tests/layers/functions_boxes.yaml", "tests/layers/functions_grid.yaml"};
    static const char *planned[] = {"conv=conv_plain"};
    static const char *const alone[] = {"tests/layers/conv.yaml", "tests/specs/decoder.yaml",
                                        "specs/networks/mamba.yaml", "tests/specs/storage.yaml"};
    const size_t paired = 2 * (sizeof specs / sizeof *specs);
    static const enum dtype types[] = {DTYPE_BFLOAT16, DTYPE_FLOAT16};
    struct arena arena = {0};
    char *names[64], folder[] = "/tmp/modc_stored_XXXXXX";
    bool seen[64] = {false}, missing = false;
    const int count = list_templates(&arena, names, 64);
    const bool quick = getenv("MODC_TEST_QUICK") != NULL;

    (void)state;
    make_folder(folder);
    for (size_t i = 0; i < paired + sizeof alone / sizeof *alone; i += quick && i < paired ? 2 : 1) {
        struct model *m = calloc(1, sizeof *m);

        if (i == paired) {
            m->options.plans = planned;
            m->options.plan_count = 1;
        }
        m->options.backward = i < paired && i % 2 == 1;
        plan_spec(m, read_text(&m->cx.arena, i < paired ? specs[i / 2] : alone[i - paired]));
        for (int k = 0; k < m->plan->kernel_count; k++) {
            mark(seen, names, count, m->plan->kernels[k]->template);
            mark(seen, names, count, m->plan->kernels[k]->parts_template);
        }
        write_file(folder, "run.c", narrow_text(m, types[i / 2 % 2], true));
        compile("-fsyntax-only", folder, "run.c", false);
        forget(m);
    }
    for (int i = 0; i < count && !quick; i++) {
        seen[i] |= is_of_floats(names[i]);
        if (!seen[i])
            print_error("no spec uses %s\n", names[i]);
        missing |= !seen[i];
    }
    assert_false(missing);
    arena_free(&arena);
    remove_folder(folder);
}

static bool is_word(const char *text, const char *word)
{
    const char *end = text + strlen(word);

    return strncmp(text, word, strlen(word)) == 0 && !strchr("_abcdefghijklmnopqrstuvwxyz0123456789", *end);
}

/* Whether it stands where nothing is converted: behind the #else of a T_converts_. */
static bool is_guarded(const char *text, const char *at)
{
    const char *last = NULL, *otherwise = NULL, *end = NULL;

    for (const char *line = text; line < at; line = strchr(line, '\n') + 1) {
        if (strncmp(line, "#if T_converts_", 15) == 0)
            last = line;
        else if (strncmp(line, "#else", 5) == 0)
            otherwise = line;
        else if (strncmp(line, "#endif", 6) == 0)
            end = line;
    }
    return last && otherwise > last && end < otherwise;
}

/* No template points to what it computes in but for scratch, under the names above and those that are made of it. */
static void test_scratch(void **state)
{
    static const struct {
        const char *template, *name;
    } local[] = {
        {"conv_winograd_tiles", "mp"},
        {"conv_winograd_tiles", "vp"},
        {"attention_paged", "score"},
        {"attention_paged", "weight"},
        {"ctc", "from"},
        {"ctc", "behind"},
        {"ctc", "before"},
        {"ctc", "slope"},
        {"recurrent", "ahead"},
        {"recurrent", "gates"},
        {"gemm_coded", "v"},
        {"gemm_narrow", "v"},
        {"gemm_int8", "v"},
        {"pool_planes", "columns"},
        {"pool_planes", "joined"},
        {"pool_planes", "at"},
        {"conv_winograd", "m"},
        {"recurrent_parts", "p"},
        {"matmul_strided", "to"},
        {"fft", NULL}, /* what is stored goes in and out of planes in functions that take T_of_x and T_of_y */
        {"fft_parts", NULL},
        {"grid_sample", "weights"},
        {"roi_align", "part"},
        {"roi_align", "weights"}};
    struct arena arena = {0};
    char *names[64];
    const int count = list_templates(&arena, names, 64);
    int found = 0;

    (void)state;
    for (int i = 0; i < count; i++) {
        const char *text = read_text(&arena, arena_format(&arena, "templates/c/%s.c", names[i]));

        for (const char *at = text; (at = strstr(at, "T_real *")); at++) {
            const char *name = at + strlen("T_real *");
            bool known = false;

            name += strspn(name, "* ");
            for (const char *const *word =
                     (const char *const[]){"T_RESTRICT ", "restrict ", "const ", "*", NULL};
                 *word; word++)
                if (strncmp(name, *word, strlen(*word)) == 0)
                    name += strlen(*word);
            for (size_t j = 0; j < sizeof scratch / sizeof *scratch; j++)
                known |= !scratch[j].flag && strcmp(names[i], scratch[j].template) == 0 &&
                         is_word(name, scratch[j].name);
            for (size_t j = 0; j < sizeof local / sizeof *local; j++)
                known |= strcmp(names[i], local[j].template) == 0 &&
                         (!local[j].name || is_word(name, local[j].name));
            if (!known && !is_of_floats(names[i]) && !is_guarded(text, at))
                fail_msg("templates/c/%s.c: T_real *%.20s is no scratch", names[i], name);
            found++;
        }
    }
    assert_true(found > 0);
    arena_free(&arena);
}

/* A softmax by rows keeps its exponentials in y: one that would round them is not its work. */
static void test_fits(void **state)
{
    static const struct {
        const char *module;
        bool fits;
    } cases[] = {{"  soft: Softmax(-1)\n", true}, {"  soft: LogSoftmax(-1)\n", true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model *m = with(cases[i].module, "soft(x)");
        const struct variant *variant = m->plan->variants[0];
        const struct algorithm *algorithm = algorithm_named(m->plan->backend, "softmax");
        const struct op *op = NULL;

        for (int s = 0; s < variant->step_count; s++)
            if (variant->steps[s].algorithm == algorithm)
                op = variant->steps[s].op;
        assert_non_null(op);
        assert_true(algorithm->fits(variant->graph, op));
        op->outputs[0]->dtype = DTYPE_BFLOAT16;
        assert_int_equal(algorithm->fits(variant->graph, op), cases[i].fits);
        forget(m);
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct kernel *kernel, const char *template, enum nest_kind kind)
{
    const struct kernel *core = kernel->form == KERNEL_WRAPPER ? kernel->core : kernel;

    if (!template)
        return core->form == KERNEL_NEST && core->kind == kind;
    return core->template && strcmp(core->template, template) == 0;
}

/* A function that calls the kernel with what it takes. */
static const char *entry_text(struct model *m, const struct kernel *kernel, const char *name,
                              const char *type)
{
    struct text text = text_new(&m->cx.arena);

    text_printf(&text,
                "\nvoid run_%s(%s *y, const %s *x, const %s *w, const %s *bias, float *v);\n\n"
                "void run_%s(%s *y, const %s *x, const %s *w, const %s *bias, float *v)\n{\n    %s(",
                name, type, type, type, type, name, type, type, type, type, kernel->name);
    for (int i = 0; i < kernel->parameter_count; i++) {
        const char *own = kernel->parameters[i].name;

        text_printf(&text, "%s%s", i ? ", " : "", strcmp(own, "x0") == 0 ? "x" : own);
    }
    text_printf(&text, "%s);\n    (void)w;\n    (void)bias;\n    (void)v;\n}\n",
                kernel->used[0] ? ", 37" : "");
    return text.data;
}

static const char *wide_text(struct model *m)
{
    struct text text = text_new(&m->cx.arena), kernels = text_new(&m->cx.arena);
    struct kernel_texts *texts = kernel_texts_new(&m->cx, m->plan);

    text_add(
        &text,
        "#include <stdlib.h>\n#include <string.h>\n\n#include \"modc_simd.h\"\n\nMODC_KERNELS_BEGIN\n\n");
    for (int i = 0; i < m->plan->kernel_count; i++)
        if (m->plan->kernels[i]->form != KERNEL_LIBRARY)
            text_printf(&kernels, "%s\n", kernel_text(texts, m->plan->kernels[i]));
    text_printf(&text, "%s%sMODC_KERNELS_END\n", kernel_functions(texts), kernels.data);
    return emit_fit(&m->cx.arena, text.data);
}

/* Inputs are such as 8 bits hold, so what is computed is the same in both, and only storing rounds: by 2^-8 of the value at most,
 * half a last place of 8 bits. ROUNDINGS: how often that happens until a result is there; 1 / 255 has room for how they multiply. */
static const char compare_text[] =
    "#include <math.h>\n\n"
    "#include \"modc_simd.h\"\n\n"
    "enum { SIZE = 37 * 4096 };\n\n"
    "void run_wide(float *, const float *, const float *, const float *, float *);\n"
    "void run_narrow(modc_bfloat16 *, const modc_bfloat16 *, const modc_bfloat16 *, const modc_bfloat16 *,\n"
    "                float *);\n"
    "static float x[SIZE], y[SIZE], w[SIZE], bias[4096], v[SIZE];\n"
    "static modc_bfloat16 narrow_x[SIZE], narrow_y[SIZE], narrow_w[SIZE], narrow_bias[4096];\n\n"
    "static void fill(float *wide, modc_bfloat16 *narrow, int count, int step, int range, float scale)\n"
    "{\n"
    "    for (int i = 0; i < count; i++) {\n"
    "        wide[i] = (float)(i * step % range - range / 2) * scale;\n"
    "        narrow[i] = modc_f32_to_bfloat16(wide[i]);\n"
    "    }\n"
    "}\n\n"
    "int main(void)\n"
    "{\n"
    "    int differ = 0;\n\n"
    "    fill(x, narrow_x, SIZE, 11, 29, 0.125f);\n"
    "    fill(w, narrow_w, SIZE, 7, 13, 0.0625f);\n"
    "    fill(bias, narrow_bias, 4096, 1, 5, 1.0f);\n"
    "    run_wide(y, x, w, bias, v);\n"
    "    run_narrow(narrow_y, narrow_x, narrow_w, narrow_bias, v);\n"
    "    for (int i = 0; i < SIZE; i++) {\n"
    "        const double found = (double)modc_bfloat16_to_f32(narrow_y[i]), expected = (double)y[i];\n\n"
    "        if (!(fabs(found - expected) <= fabs(expected) * ROUNDINGS / 255))\n"
    "            return 1;\n"
    "        differ += i > 0 && fabs(expected) > 0 && (y[i] < y[i - 1] || y[i] > y[i - 1]);\n"
    "    }\n"
    "    return differ < 16;\n"
    "}\n";

static void test_numbers(void **state)
{
    static const char images[] =
        "  one: Conv2d(1, 16, 3, padding=1)\n  two: Conv2d(16, 48, 3, padding=1)\n"
        "  pool: MaxPool2d(3, 2, 1)\n  thin: Conv2d(48, 48, 3, padding=1, groups=48)\n"
        "  three: Conv2d(48, 8, 1)\n";
    static const char seen[] = "three(thin(pool(two(one(x.view(batch, 1, 8, 8))))))";
    static const struct {
        const char *modules, *result, *template;
        enum nest_kind kind; /* where there is no template */
        int roundings;
    } cases[] = {{"  fc: Linear(64, 48)\n", "fc(x)", "gemm_panel", 0, 1},
                 {"  fc: Linear(64, 3)\n", "fc(x)", "gemm_dot", 0, 1},
                 {"  norm: LayerNorm(64)\n", "norm(x)", "layer_norm", 0, 1},
                 {"  soft: Softmax(-1)\n", "soft(x)", "softmax", 0, 2},
                 {"  soft: Softmax(1)\n", "soft(x.view(batch, 4, 16))", "softmax_columns", 0, 1},
                 {images, seen, "conv_direct", 0, 1},
                 {images, seen, "conv_depthwise", 0, 1},
                 {images, seen, "pool", 0, 1},
                 {"  pool: AvgPool2d(2)\n", "pool(x.view(batch, 1, 8, 8))", "pool_planes", 0, 1},
                 {"  act: Tanh()\n", "act(x)", NULL, NEST_MAP, 1},
                 {"  act: Tanh()\n", "act(x).sum(1)", NULL, NEST_REDUCE, 1},
                 {"  act: Tanh()\n", "act(x).sum(0)", NULL, NEST_REDUCE, 1}};
    char folder[] = "/tmp/modc_stored_XXXXXX";

    (void)state;
    make_folder(folder);
    write_file(folder, "compare.c", compare_text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model *m = with(cases[i].modules, cases[i].result);
        const struct kernel *kernel = NULL;

        for (int k = 0; k < m->plan->kernel_count; k++) {
            const struct kernel *own = m->plan->kernels[k];

            if (!is_core(m, own) && is_wanted(own, cases[i].template, cases[i].kind) &&
                !flag_of(own, "T_head") && !flag_of(own, "T_turned"))
                kernel = own;
        }
        assert_non_null(kernel);
        write_file(folder, "wide.c",
                   arena_format(&m->cx.arena, "%s%s", wide_text(m), entry_text(m, kernel, "wide", "float")));
        write_file(folder, "narrow.c",
                   arena_format(&m->cx.arena, "%s%s", narrow_text(m, DTYPE_BFLOAT16, false),
                                entry_text(m, kernel, "narrow", "modc_bfloat16")));
        compile(arena_format(&m->cx.arena, "-O2 -DROUNDINGS=%d", cases[i].roundings), folder,
                "wide.c narrow.c compare.c", true);
        forget(m);
    }
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
