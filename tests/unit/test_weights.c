/* test_weights.c - what `generate --weights` embeds is what the emitted model itself packs and keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/options.h"
#include "commands/process.h"
#include "commands/settings.h"
#include "emit/bundle.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "passes/pass.h"
#include "plan/target.h"
#include "plan/weights.h"

struct model {
    struct cx cx;
    struct options options;
    struct plan *plan;
    struct embedded_weights *weights;
    int status;
};

/* Of a file that is not named by --weights, what another build packs would be embedded. */
static struct model *make_as(const char *spec, const char *weights, struct setting *settings,
                             int setting_count, const char *target, bool named)
{
    struct model *model = calloc(1, sizeof *model);
    const char *error = NULL;
    struct source *source;
    struct program *program;

    assert_non_null(model);
    model->options = (struct options){
        .settings = settings, .setting_count = setting_count, .weights = named ? weights : NULL};
    model->cx.options = &model->options;
    model->options.target = target ? target_parse(&model->cx, target) : NULL;
    source = source_read(&model->cx, spec, SPEC_MAX_BYTES, &error);
    assert_non_null(source);

    struct spec *read = spec_read(&model->cx, source);

    assert_true(settings_apply(&model->cx, read));
    program = lower_program(&model->cx, module_build(&model->cx, read, 0));
    assert_int_equal(diag_errors(&model->cx), 0);
    pass_run(&model->cx, program, NULL, NULL);
    model->plan = plan_make(&model->cx, program);
    assert_non_null(model->plan);
    model->weights = weights_embed(&model->cx, model->plan, weights, &model->status);
    return model;
}

static struct model *make(const char *spec, const char *weights, struct setting *settings, int setting_count,
                          const char *target)
{
    return make_as(spec, weights, settings, setting_count, target, true);
}

static void forget(struct model *model)
{
    arena_free(&model->cx.arena);
    free(model);
}

/* Compiles the emitted model; its program writes the packed block and then every key to stdout. */
static const struct source *run_pack(struct model *model, const char *weights)
{
    static const char text[] =
        "#include \"modc.h\"\n#include <stdio.h>\n#include <stdlib.h>\n"
        "extern const struct modc_model MODC_MODEL;\n"
        "int main(int argc, char **argv)\n{\n"
        "    struct modc_params *p = NULL;\n    struct modc_tensor t;\n"
        "    if (argc < 2 || modc_params_create(&MODC_MODEL, &p) != MODC_OK ||\n"
        "        modc_load(p, argv[1], MODC_STRICT, NULL) != MODC_OK || modc_pack(p, NULL, 0) != MODC_OK)\n"
        "        return 1;\n"
        "    if (MODC_MODEL.packed_block)\n"
        "        fwrite(p->packed, 1, MODC_MODEL.packed_block, stdout);\n"
        "    for (int i = 0; i < MODC_MODEL.key_count; i++) {\n"
        "        modc_get_tensor(p, i, &t);\n"
        "        fwrite(t.data, 1, modc_tensor_bytes(&t), stdout);\n    }\n"
        "    modc_params_destroy(p);\n    return 0;\n}\n";
    struct cx *cx = &model->cx;
    const char *error = NULL, *folder = process_make_folder(cx, &error), *cc = getenv("CC");
    struct process linker = {0}, program = {0};
    int count = 0, all;
    struct output_file *files = emit_files(cx, model->plan, &count), *with_main;
    const struct source *said;

    assert_non_null(folder);
    with_main = ARENA_ARRAY(&cx->arena, count + 1, struct output_file);
    memcpy(with_main, files, (size_t)count * sizeof *files);
    with_main[count] = (struct output_file){"main.c", text, strlen(text), NULL};
    all = count + 1;
    files = bundle_runtime(cx, with_main, &all, 0);
    assert_true(output_write(cx, folder, files, all, &error));
    process_words(cx, &linker, cc && cc[0] ? cc : "cc");
    process_words(cx, &linker, "-o");
    process_word(cx, &linker, arena_format(&cx->arena, "%s/program", folder));
    for (int i = 0; i < all; i++) { /* one by one: modc_once has those of the runtime */
        struct process compiler = {0};
        const char *object = arena_format(&cx->arena, "%s/%s.o", folder, files[i].path);

        if (!text_ends_with(files[i].path, ".c"))
            continue;
        process_words(cx, &compiler, cc && cc[0] ? cc : "cc");
        process_words(cx, &compiler, "-O1 -ffp-contract=off -c -o");
        process_word(cx, &compiler, object);
        process_word(cx, &compiler, arena_format(&cx->arena, "-DMODC_MODEL=%s_model", model->plan->model));
        process_word(cx, &compiler, arena_format(&cx->arena, "%s/%s", folder, files[i].path));
        assert_true(process_run(&compiler, 1, 1));
        assert_true(process_succeeded(&compiler));
        process_word(cx, &linker, object);
    }
    process_word(cx, &linker, "-lm");
    assert_true(process_run(&linker, 1, 1));
    assert_true(process_succeeded(&linker));
    process_word(cx, &program, arena_format(&cx->arena, "%s/program", folder));
    process_word(cx, &program, weights);
    program.said = arena_format(&cx->arena, "%s/said", folder);
    assert_true(process_run(&program, 1, 1));
    assert_true(process_succeeded(&program));
    said = source_read(cx, program.said, (size_t)1 << 30, &error);
    process_remove_folder();
    assert_non_null(said);
    return said;
}

static double number(enum dtype dtype, const char *from)
{
    float single;
    double twice;

    memcpy(&single, from, sizeof single);
    if (dtype == DTYPE_FLOAT32)
        return (double)single;
    memcpy(&twice, from, sizeof twice);
    return twice;
}

/* Permutations agree exactly; what is computed within 4 ulp of the largest value of its entry, since the emitted code
 * rounds square roots and divisions in its own order; within 64 behind sums, whose terms may nearly cancel. */
static void compare_entry(const struct packed *entry, const char *found, const char *expected)
{
    int size = dtype_rows[entry->dtype].bytes;
    double largest = 0, error = 0, ulp = entry->dtype == DTYPE_FLOAT32 ? 0x1p-24 : 0x1p-53;
    bool sums = entry->op != NULL;

    for (int i = 0; i < entry->operand_count; i++)
        sums |= entry->operand_entries[i] != NULL;
    if (!dtype_is_float(entry->dtype) ||
        (entry->dag && dag_is_identity(entry->dag) && !entry->operand_entries[0])) {
        assert_memory_equal(found, expected, (size_t)(entry->count * size));
        return;
    }
    assert_true(entry->dtype == DTYPE_FLOAT32 || entry->dtype == DTYPE_FLOAT64);
    for (int64_t i = 0; i < entry->count; i++) {
        double x = number(entry->dtype, found + i * size), y = number(entry->dtype, expected + i * size);

        largest = fmax(largest, fabs(y));
        error = fmax(error, fabs(x - y));
    }
    if (error > (sums ? 64 : 4) * largest * ulp)
        fail_msg("%s: error %g, largest value %g", entry->name, error, largest);
}

static void compare_group(const struct pack_group *group, const char *found, const char *expected)
{
    for (int i = 0; i < group->entry_count; i++)
        if (group->entries[i]->read)
            compare_entry(group->entries[i], found + group->entries[i]->offset,
                          expected + group->entries[i]->offset);
    for (int i = 0; i < group->child_count; i++) {
        const struct pack_child *child = &group->children[i];

        for (int k = 0; k < (child->count > 0 ? child->count : 1); k++) {
            int64_t at = child->offset + k * child->group->bytes;

            compare_group(child->group, found + at, expected + at);
        }
    }
}

/* A tensor that lies only packed: as many values as the tensor, and the same ones when both are sorted. */
static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void compare_packed_only(const struct module_tensor *tensor, const struct packed *entry,
                                const char *found, const char *expected)
{
    int64_t count = module_tensor_count(tensor), zeros = entry->count - count;
    int size = dtype_rows[tensor->dtype].bytes;
    double *x = calloc((size_t)entry->count + 1, sizeof *x), *y = calloc((size_t)entry->count + 1, sizeof *y);

    assert_non_null(x);
    assert_non_null(y);
    assert_true(zeros >= 0);
    for (int64_t i = 0; i < entry->count; i++)
        x[i] = number(tensor->dtype, found + i * size);
    for (int64_t i = 0; i < count; i++)
        y[i] = number(tensor->dtype, expected + i * size);
    qsort(x, (size_t)entry->count, sizeof *x, by_number);
    qsort(y, (size_t)entry->count, sizeof *y, by_number); /* the rest of y is 0, as the padding of x */
    assert_memory_equal(x, y, (size_t)entry->count * sizeof *x);
    free(x);
    free(y);
}

/* Returns how many keys lie only packed. */
static int check_model(struct model *model, const char *weights)
{
    int align = model->plan->align;
    const struct module_tree *tree = model->plan->program->tree;
    const struct embedded_weights *embedded = model->weights;
    const struct source *said;
    const char *expected;
    int only_packed = 0;

    assert_non_null(embedded);
    assert_int_equal(embedded->length % align, 0);
    said = run_pack(model, weights);
    compare_group(model->plan->groups[0], embedded->bytes, said->text);
    expected = said->text + plan_packed_block(model->plan);
    for (int i = 0; i < tree->key_count; i++) {
        size_t bytes = (size_t)(module_tensor_count(tree->keys[i]) * dtype_rows[tree->keys[i]->dtype].bytes);

        if (embedded->raw[i] >= 0) {
            assert_int_equal(embedded->raw[i] % align, 0);
            assert_memory_equal((const char *)embedded->bytes + embedded->raw[i], expected, bytes);
            assert_null(embedded->packed[i]);
        } else {
            assert_non_null(embedded->packed[i]);
            assert_false(tree->keys[i]->written);
            compare_packed_only(tree->keys[i], embedded->packed[i],
                                (const char *)embedded->bytes + embedded->packed_at[i], expected);
            only_packed++;
        }
        expected += bytes;
    }
    assert_ptr_equal(expected, said->text + said->length);
    forget(model);
    return only_packed;
}

static int check(const char *spec, const char *weights, struct setting *settings, int setting_count,
                 const char *target)
{
    return check_model(make(spec, weights, settings, setting_count, target), weights);
}

/* Folded weights, and those of Winograd's transform. */
static int check_folded(const char *spec, const char *weights)
{
    return check_model(make_as(spec, weights, NULL, 0, NULL, false), weights);
}

static void test_packed_block(void **state)
{
    struct setting dim = {"dim", "16"};

    (void)state;
    assert_int_equal(check("specs/digits/mlp.yaml", "specs/digits/weights_mlp.safetensors", NULL, 0, NULL),
                     3);
    assert_true(check("specs/digits/cnn.yaml", "specs/digits/weights_cnn.safetensors", NULL, 0, NULL) >= 1);
    assert_true(
        check("tests/specs/cnn64.yaml", "build/vectors/cnn64_64/weights.safetensors", NULL, 0, NULL) >= 2);
    assert_true(check("specs/cartpole/policy.yaml", "specs/cartpole/weights.safetensors", NULL, 0, NULL) >=
                1);
    assert_true(check("tests/layers/folded.yaml", "build/vectors/layers_folded/weights.safetensors", NULL, 0,
                      NULL) >= 1);
    assert_true(check_folded("tests/layers/folded.yaml", "build/vectors/layers_folded/weights.safetensors") >=
                0);
    assert_true(check("tests/layers/parametrizations.yaml",
                      "build/vectors/layers_parametrizations/weights.safetensors", NULL, 0, NULL) >= 0);
    assert_true(check_folded("tests/specs/winograd.yaml", "build/vectors/winograd_2/weights.safetensors") >=
                0);
    assert_true(
        check("tests/specs/stream.yaml", "build/vectors/stream_12/weights.safetensors", NULL, 0, NULL) >= 1);
    assert_true(check("tests/specs/blocks.yaml", "build/vectors/blocks16_32/weights.safetensors", &dim, 1,
                      NULL) >= 12);
    assert_true(check("tests/specs/blocks.yaml", "build/vectors/blocks16_32/weights.safetensors", &dim, 1,
                      "hosted=no") >= 12);
}

static bool said(const struct model *model, const char *text)
{
    for (int i = 0; i < model->cx.item_count; i++)
        if (strstr(model->cx.items[i].text, text))
            return true;
    return false;
}

static void test_refused(void **state)
{
    struct model *model;

    (void)state;
    model = make("specs/digits/mlp.yaml", "specs/digits/weights_cnn.safetensors", NULL, 0, NULL);
    assert_null(model->weights);
    assert_int_equal(model->status, EXIT_FILE);
    assert_true(said(model, "Error(s) in loading state_dict for Sequential:"));
    assert_true(said(model, "Missing key(s) in state_dict: \"3.weight\", \"3.bias\"."));
    assert_true(said(model, "size mismatch for 1.weight: copying a param with shape torch.Size([16])"));
    forget(model);

    model = make("specs/digits/mlp.yaml", "specs/digits/mlp.yaml", NULL, 0, NULL);
    assert_null(model->weights);
    assert_true(said(model, "Error while deserializing header"));
    forget(model);

    model = make("specs/digits/mlp.yaml", "specs/no_such_file", NULL, 0, NULL);
    assert_null(model->weights);
    assert_int_equal(model->status, EXIT_FILE);
    assert_true(said(model, "cannot read 'specs/no_such_file'"));
    forget(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_block),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
