/* test_weights.c - what `generate --weights` embeds is what the emitted model itself packs and keeps; of a file with integers and scales,
 * these. */
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
#include "commands/quantize.h"
#include "commands/settings.h"
#include "emit/bundle.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "modc.h"
#include "passes/pass.h"
#include "plan/target.h"
#include "plan/weights_file.h"

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
    with_main[count] = (struct output_file){"main.c", text, strlen(text), NULL, NULL};
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

/* ---- integers with scales ------------------------------------------------------------------------------------- */

static char folder[64];

static const char *in_folder(struct cx *cx, const char *name)
{
    return arena_format(&cx->arena, "%s/%s", folder, name);
}

static void write_tensors(struct cx *cx, const char *path, const struct weights_tensor *tensors, int count)
{
    size_t length;
    const char *bytes = weights_file_bytes(cx, &cx->arena, tensors, count, &length);

    assert_non_null(bytes);
    assert_int_equal(modc_write_file(path, bytes, length), MODC_OK);
}

/* Numbers of some size, of which each group of eight has another, for all that the model loads. */
static void write_floats(struct cx *cx, const struct module_tree *tree, const char *path)
{
    struct weights_tensor *list = ARENA_ARRAY(&cx->arena, tree->key_count, struct weights_tensor);
    uint32_t state = 1;

    for (int i = 0; i < tree->key_count; i++) {
        const struct module_tensor *tensor = tree->keys[i]->first;
        const int64_t count = module_tensor_count(tensor);
        float *numbers = ARENA_ARRAY(&cx->arena, count + 1, float);

        assert_int_equal(tensor->dtype, DTYPE_FLOAT32);
        for (int64_t k = 0; k < count; k++) {
            state = state * 1664525u + 1013904223u;
            numbers[k] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * (float)(k / 8 % 5 + 1);
        }
        list[i] = (struct weights_tensor){
            .name = tree->keys[i]->path, .dtype = tensor->dtype, .ndim = tensor->ndim, .bytes = numbers};
        memcpy(list[i].dims, tensor->dims, sizeof list[i].dims);
        if (tree->keys[i]->first != tree->keys[i])
            list[i].bytes = list[tensor->key].bytes;
    }
    write_tensors(cx, path, list, tree->key_count);
}

static void quantize_file(const char *spec, const char *weights, const char *to)
{
    struct model *model = make(spec, weights, NULL, 0, NULL);
    struct text out = text_new(&model->cx.arena);

    model->options.out_dir = to;
    assert_int_equal(quantize(&model->cx, model->plan, NULL, &out), EXIT_DONE);
    assert_non_null(strstr(out.data, "mix                   int8(group=8, rounding=gguf)    10.00"));
    forget(model);
}

/* The tensors of a file as they may be written again, with what is said of them. */
static struct weights_tensor *read_tensors(struct cx *cx, const char *path, int *count)
{
    static const char *const about[][2] = {{"mix", "int8(group=8, rounding=gguf) transposed"},
                                           {"embed.weight", "int4(group=8, scale=bfloat16)"},
                                           {"blocks.0.up.weight", "int8"},
                                           {"blocks.1.up.weight", "int8"},
                                           {"blocks.0.down.weight", "int4(group=16)"},
                                           {"blocks.1.down.weight", "int4(group=16)"}};
    const char *error = NULL;
    const struct source *source = source_read(cx, path, 1 << 20, &error);
    struct weights_tensor *list = NULL;
    struct modc_reader reader;
    struct modc_item item;

    assert_non_null(source);
    assert_int_equal(modc_reader_open(&reader, source->text, source->length, NULL), MODC_OK);
    *count = 0;
    for (size_t at = 0; modc_reader_next(&reader, &at, &item);) {
        char name[64];
        struct weights_tensor own = {.dtype = (enum dtype)item.dtype, .ndim = item.ndim, .bytes = item.data};

        modc_item_name(&item, name, sizeof name);
        own.name = arena_format(&cx->arena, "%s", name);
        for (int d = 0; d < item.ndim; d++)
            own.dims[d] = (int64_t)item.dims[d];
        for (size_t i = 0; i < sizeof about / sizeof *about; i++)
            if (strcmp(name, about[i][0]) == 0)
                own.about = about[i][1];
        ARENA_PUSH(&cx->arena, list, *count, own);
    }
    return list;
}

static const char *const quantized = "tests/api/quantized.yaml", *const with_rows =
                                                                     "tests/api/quantized_rows.yaml";

/* The panels hold what the file does, bit for bit what packing makes of the floats; and so they do of a file that does not say what
 * its integers are, where it is what the spec says. */
static void test_scaled(void **state)
{
    struct cx cx = {0};
    const char *floats = in_folder(&cx, "floats"), *file = in_folder(&cx, "file"),
               *bare = in_folder(&cx, "bare");
    struct model *packed, *taken;
    struct weights_tensor *list;
    int count;

    (void)state;
    packed = make(quantized, "specs/no_such_file", NULL, 0, NULL);
    write_floats(&cx, packed->plan->program->tree, floats);
    forget(packed);
    quantize_file(quantized, floats, file);
    packed = make(quantized, floats, NULL, 0, NULL);
    taken = make(quantized, file, NULL, 0, NULL);
    assert_non_null(packed->weights);
    assert_non_null(taken->weights);
    assert_int_equal(taken->weights->length, packed->weights->length);
    assert_memory_equal(taken->weights->bytes, packed->weights->bytes, packed->weights->length);

    list = read_tensors(&cx, file, &count);
    write_tensors(&cx, in_folder(&cx, "again"), list, count);
    assert_true(count > 10);
    for (int i = 0; i < count; i++)
        list[i].about = NULL;
    write_tensors(&cx, bare, list, count);
    forget(taken);
    taken = make(quantized, bare, NULL, 0, NULL);
    assert_non_null(taken->weights);
    assert_memory_equal(taken->weights->bytes, packed->weights->bytes, packed->weights->length);
    forget(taken);
    forget(packed);

    packed = make(with_rows, floats, NULL, 0, NULL);
    taken = make(with_rows, file, NULL, 0, NULL);
    assert_non_null(taken->weights);
    assert_int_equal(taken->weights->length, packed->weights->length);
    assert_memory_equal(taken->weights->bytes, packed->weights->bytes, packed->weights->length);
    forget(taken);
    forget(packed);
    arena_free(&cx.arena);
}

/* Floats of a model that has no `storage` are what the integers stand for: of the dtype of the scales, exactly. */
static void test_stand_for(void **state)
{
    struct cx cx = {0};
    const char *file = in_folder(&cx, "file");
    int count;
    const struct weights_tensor *list = read_tensors(&cx, file, &count), *mix = NULL, *scale = NULL;
    struct weights_file read;
    struct model *model = make(quantized, file, NULL, 0, NULL);
    const struct plan *plan = model->plan;
    const float *numbers = NULL;

    (void)state;
    assert_true(weights_read(&model->cx, plan, file, weights_uses(&model->cx, plan), &read));
    for (int i = 0; i < plan->program->tree->key_count; i++)
        if (strcmp(plan->program->tree->keys[i]->path, "mix") == 0)
            numbers = (const float *)(const void *)(read.tensors + plan->param_offsets[i]);
    for (int i = 0; i < count; i++) {
        mix = strcmp(list[i].name, "mix") == 0 ? &list[i] : mix;
        scale = strcmp(list[i].name, "mix_scale") == 0 ? &list[i] : scale;
    }
    assert_true(mix && scale && numbers);
    assert_int_equal(mix->dims[0], 32);
    assert_int_equal(mix->dims[1], 40);
    for (int row = 0; row < 32; row++)
        for (int k = 0; k < 40; k++) {
            const double whole = ((const signed char *)mix->bytes)[row * 40 + k];
            const double own = modc_number((const char *)scale->bytes + (row * 5 + k / 8) * 2, MODC_FLOAT16);

            assert_true((double)numbers[k * 32 + row] == whole * own);
        }
    forget(model);
    arena_free(&cx.arena);
}

/* What a file may have wrong with `mix`. */
struct hostile {
    const char *about; /* NULL: as it is */
    enum dtype dtype, scale_dtype;
    int rows, groups; /* fewer than there are */
    bool no_scale, not_a_number, unsaid;
    const char *says;
};

static void check_hostile(const struct hostile *hostile)
{
    static uint16_t scales[32 * 5];
    struct cx cx = {0};
    const char *file = in_folder(&cx, "hostile");
    int count, kept = 0;
    struct weights_tensor *list = read_tensors(&cx, in_folder(&cx, "file"), &count);
    struct model *model;

    for (int i = 0; i < count; i++) {
        struct weights_tensor own = list[i];

        if (hostile->unsaid)
            own.about = NULL;
        if (strcmp(own.name, "mix") == 0) {
            own.about = hostile->about ? hostile->about : own.about;
            own.dtype = hostile->dtype ? hostile->dtype : own.dtype;
            own.dims[1] = own.dtype == DTYPE_FLOAT32 ? own.dims[1] / 4 : own.dims[1];
            own.dims[0] -= hostile->rows;
        }
        if (strcmp(own.name, "mix_scale") == 0) {
            if (hostile->no_scale)
                continue;
            memcpy(scales, own.bytes, sizeof scales);
            if (hostile->not_a_number)
                scales[17] = 0x7e00;
            own.bytes = scales;
            own.dtype = hostile->scale_dtype ? hostile->scale_dtype : own.dtype;
            own.dims[0] = hostile->scale_dtype ? own.dims[0] / 2 : own.dims[0];
            own.dims[1] -= hostile->groups;
        }
        list[kept++] = own;
    }
    write_tensors(&cx, file, list, kept);
    model = make(quantized, file, NULL, 0, NULL);
    assert_null(model->weights);
    assert_int_equal(model->status, EXIT_FILE);
    if (!said(model, hostile->says))
        fail_msg("'%s', not '%s'", model->cx.items[0].text, hostile->says);
    forget(model);
    arena_free(&cx.arena);
}

static void test_hostile(void **state)
{
    static const struct hostile cases[] = {
        {.no_scale = true, .says = "mix is held as int8(group=8, rounding=gguf), and there is no mix_scale"},
        {.scale_dtype = DTYPE_FLOAT32, .says = "whose scales are float16, not F32"},
        {.not_a_number = true, .says = "mix_scale has NaN in row 3"},
        {.rows = 1, .says = "size mismatch for mix: copying a param with shape torch.Size([31, 40])"},
        {.groups = 1, .says = "size mismatch for mix_scale: copying a param with shape torch.Size([32, 4])"},
        {.about = "int5", .says = "its metadata say 'int5' of mix, which is no storage of integers"},
        {.about = "bfloat16", .says = "its metadata say 'bfloat16' of mix"},
        {.about = "int8(group=9)", .says = "its metadata say 'int8(group=9)' of mix"},
        {.about = "int8(group=8, rounding=gguf)",
         .says = "size mismatch for mix: copying a param with shape torch.Size([32, 40])"},
        {.about = "int4(group=8)",
         .says = "mix is held as int4(group=8), whose integers are U8, two in a byte, not I8"},
        {.about = "int8(group=8) transposed",
         .says = "holds mix as int8(group=8), not as int8(group=8, rounding=gguf)"},
        {.dtype = DTYPE_UINT8, .says = "whose integers are I8, not U8"},
        {.dtype = DTYPE_FLOAT32, .says = "whose integers are I8, not F32"},
        {.dtype = DTYPE_FLOAT32, .unsaid = true, .says = "Unexpected key(s) in state_dict: \"mix_scale\""},
        {.no_scale = true,
         .unsaid = true,
         .says = "size mismatch for mix: copying a param with shape torch.Size([32, 40])"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_hostile(&cases[i]);
}

/* A file that ends anywhere is refused. */
static void test_cut(void **state)
{
    struct cx cx = {0};
    const char *error = NULL, *cut = in_folder(&cx, "cut");
    const struct source *file = source_read(&cx, in_folder(&cx, "file"), 1 << 20, &error);

    (void)state;
    assert_non_null(file);
    for (size_t length = 0; length < file->length; length += 397) {
        struct model *model;

        assert_int_equal(modc_write_file(cut, file->text, length), MODC_OK);
        model = make(quantized, cut, NULL, 0, NULL);
        assert_null(model->weights);
        assert_true(said(model, "Error while deserializing header"));
        forget(model);
    }
    arena_free(&cx.arena);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_weights.XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"floats", "file", "again", "bare", "hostile", "cut"};
    char path[128];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_block), cmocka_unit_test(test_refused), cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_stand_for),    cmocka_unit_test(test_hostile), cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
