/* test_emit_lines.c - kernels of gather, scatter, scan and sort: what they compute on the stand-in of a GPU is, bit for bit, what
 * they compute in C, which the vectors of PyTorch hold to. Buffers are exactly as large as they need be.
 *
 * MODC_TEST_SEED chooses other numbers; MODC_TEST_KEEP keeps the files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/emit_kernel.h"
#include "gpu.h"

/* y and x (batch, LENGTH, COLUMNS); indices, or what is gathered, (batch, COUNT, COLUMNS). */
enum { BATCH = 3, LENGTH = 7, COLUMNS = 5, COUNT = 4, OPERANDS = 3 };
static struct cx cx;
#define ARENA (&cx.arena)
static const struct size batch = {"batch", 9, 0, "batch", 0, NULL};
static const struct size *const sizes[] = {&batch};

struct line_case {
    const char *name;
    void (*emit)(const struct line_case *c, struct text *out, const struct nest_scene *scene);
    enum dtype dtype;     /* of what is moved, added, ordered */
    bool rows;            /* an index for each row, not for each element */
    bool given, again;    /* SCAN: from a start that is given; in reverse. SORT: descending */
    int counts[OPERANDS]; /* elements of operands; 0: there is none */
    enum dtype dtypes[OPERANDS];
    int indices; /* the operand that holds such; 0: none */
};

static uint32_t draw(void)
{
    static uint64_t state;

    if (state == 0)
        state = getenv("MODC_TEST_SEED") ? strtoull(getenv("MODC_TEST_SEED"), NULL, 10) : 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static const struct dim *k(int64_t value)
{
    return dim_const(ARENA, value);
}

static void lay_out(struct nest_operand *operand, enum dtype dtype, int64_t a, int64_t b, int64_t c)
{
    operand->dtype = dtype;
    operand->strides[0] = k(a);
    operand->strides[1] = k(b);
    operand->strides[2] = k(c);
}

static struct nest nest_of(int64_t middle, int operands)
{
    struct nest nest = {.ndim = 3, .operand_count = operands};

    nest.operands = ARENA_ARRAY(ARENA, operands, struct nest_operand);
    nest.dims[0] = dim_size(ARENA, &batch);
    nest.dims[1] = k(middle);
    nest.dims[2] = k(COLUMNS);
    return nest;
}

static void lay_indices(const struct line_case *c, struct nest_operand *operand)
{
    if (c->rows)
        lay_out(operand, DTYPE_INT64, COUNT, 1, 0);
    else
        lay_out(operand, DTYPE_INT64, COUNT * COLUMNS, COLUMNS, 1);
}

static void emit_gather(const struct line_case *c, struct text *out, const struct nest_scene *scene)
{
    struct nest nest = nest_of(COUNT, 3);

    lay_out(&nest.operands[0], c->dtype, COUNT * COLUMNS, COLUMNS, 1);
    lay_out(&nest.operands[1], c->dtype, LENGTH * COLUMNS, 0, 1);
    lay_indices(c, &nest.operands[2]);
    emit_gather_kernel(&cx, out, c->name, "Gathers.", nest, k(COLUMNS), scene);
}

static const struct dag *sum_of(enum dtype dtype)
{
    struct dag *dag = dag_new(ARENA, 2);
    const int a = dag_load(ARENA, dag, 0, dtype), b = dag_load(ARENA, dag, 1, dtype);

    dag->result = dag_prim(ARENA, dag, PRIM_ADD, dtype, a, b, -1);
    return dag;
}

static void emit_scatter(const struct line_case *c, struct text *out, const struct nest_scene *scene)
{
    struct nest nest = nest_of(COUNT, 3);

    lay_out(&nest.operands[0], c->dtype, LENGTH * COLUMNS, 0, 1);
    lay_out(&nest.operands[1], c->dtype, COUNT * COLUMNS, COLUMNS, 1);
    lay_indices(c, &nest.operands[2]);
    emit_scatter_kernel(&cx, out, c->name, "Scatters.", nest, sum_of(c->dtype), k(COLUMNS), scene);
}

static struct line line_of(bool reverse)
{
    const struct dim **steps = ARENA_ARRAY(ARENA, OPERANDS, const struct dim *);

    for (int i = 0; i < OPERANDS; i++)
        steps[i] = k(COLUMNS);
    return (struct line){k(LENGTH), steps, reverse};
}

/* Over (batch, COLUMNS): the axis of the line is not among them. */
static struct nest nest_of_lines(int operands)
{
    struct nest nest = nest_of(1, operands);

    nest.ndim = 2;
    nest.dims[1] = k(COLUMNS);
    return nest;
}

static void lay_line(struct nest_operand *operand, enum dtype dtype, int64_t length)
{
    lay_out(operand, dtype, length * COLUMNS, 1, 0);
}

static void emit_scan(const struct line_case *c, struct text *out, const struct nest_scene *scene)
{
    struct nest nest = nest_of_lines(2 + c->given);

    lay_line(&nest.operands[0], c->dtype, LENGTH);
    if (c->given)
        lay_line(&nest.operands[1], c->dtype, 1);
    lay_line(&nest.operands[1 + c->given], c->dtype, LENGTH);
    emit_scan_kernel(&cx, out, c->name, "Scans.", nest, line_of(c->again), sum_of(c->dtype), 0, c->given,
                     scene);
}

static void emit_sort(const struct line_case *c, struct text *out, const struct nest_scene *scene)
{
    struct nest nest = nest_of_lines(2);

    lay_line(&nest.operands[0], DTYPE_INT64, LENGTH);
    lay_line(&nest.operands[1], c->dtype, LENGTH);
    emit_sort_kernel(&cx, out, c->name, "Sorts.", nest, line_of(false), c->again, scene);
}

#define Y (BATCH * LENGTH * COLUMNS)
#define TAKEN (BATCH * COUNT * COLUMNS)
#define ROWS (BATCH * COUNT)
#define STARTS (BATCH * COLUMNS)
static const struct line_case cases[] = {
#define GATHER(name, dtype, rows)                                                                            \
    {                                                                                                        \
#name, emit_gather, dtype, rows, false, false,                                                       \
            {TAKEN, Y, rows ? ROWS : TAKEN }, {dtype, dtype, DTYPE_INT64 }, 2                                \
    }
#define SCATTER(name, dtype, rows)                                                                           \
    {                                                                                                        \
#name, emit_scatter, dtype, rows, false, false,                                                      \
            {Y, TAKEN, rows ? ROWS : TAKEN }, {dtype, dtype, DTYPE_INT64 }, 2                                \
    }
#define SCAN(name, dtype, given, again)                                                                      \
    {                                                                                                        \
#name, emit_scan, dtype, false, given, again,                                                        \
            {Y, given ? STARTS : Y, given ? Y : 0 }, {dtype, dtype, dtype }, 0                               \
    }
#define SORT(name, dtype, again)                                                                             \
    {                                                                                                        \
#name, emit_sort, dtype, false, false, again, {Y, Y, 0 }, {DTYPE_INT64, dtype, DTYPE_BOOL }, 0       \
    }
    GATHER(take, DTYPE_FLOAT32, false),          GATHER(take_rows, DTYPE_FLOAT64, true),
    GATHER(take_whole, DTYPE_INT16, false),      SCATTER(put, DTYPE_FLOAT32, false),
    SCATTER(put_rows, DTYPE_FLOAT32, true),      SCATTER(put_whole, DTYPE_INT64, true),
    SCAN(sums, DTYPE_FLOAT32, false, false),     SCAN(sums_back, DTYPE_FLOAT64, false, true),
    SCAN(sums_from, DTYPE_FLOAT32, true, false), SCAN(sums_whole, DTYPE_INT64, true, true),
    SORT(order, DTYPE_FLOAT32, false),           SORT(order_down, DTYPE_FLOAT64, true),
    SORT(order_whole, DTYPE_INT32, false),
};
enum { CASES = sizeof cases / sizeof *cases };

static void write_number(FILE *file, enum dtype dtype, bool index)
{
    const int whole = index ? (int)(draw() % LENGTH) : (int)(draw() % 19) - 9;
    const double d = whole / 4.0 + (draw() % 3) * 1e-3;
    const float f = (float)d;
    const int64_t l = whole;

    switch (dtype) {
    case DTYPE_FLOAT32:
        fwrite(&f, sizeof f, 1, file);
        break;
    case DTYPE_FLOAT64:
        fwrite(&d, sizeof d, 1, file);
        break;
    default: /* little-endian: the low bytes */
        fwrite(&l, (size_t)dtype_rows[dtype].bytes, 1, file);
        break;
    }
}

static void write_program(const char *folder, enum device device)
{
    const struct nest_scene scene = {.sizes = sizes, .size_count = 1, .device = device, .prefix = "on"};
    char path[100];
    FILE *file;

    snprintf(path, sizeof path, "%s/kernels.%s", folder, backends[device].suffix);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(
        file,
        "#include <stddef.h>\n#include <stdio.h>\n#include <stdlib.h>\n%s#include \"modc_simd.h\"\n\nMODC_KERNELS_BEGIN\n\n",
        programs[device].includes);
    for (int i = 0; i < CASES; i++) {
        struct text text = text_new(ARENA);

        cases[i].emit(&cases[i], &text, &scene);
        fprintf(file, "%s\n", text.data);
    }
    fprintf(file, "MODC_KERNELS_END\n\n%sint main(void)\n{\n", programs[device].functions);
    for (int i = 0; i < CASES; i++) {
        const struct line_case *c = &cases[i];

        fputs("    {\n", file);
        for (int j = 0; j < OPERANDS && c->counts[j] > 0; j++)
            fprintf(file, "        %s p%d = load(%d);\n", device == DEVICE_CUDA ? "at" : "void *", j,
                    c->counts[j] * dtype_rows[c->dtypes[j]].bytes);
        fprintf(file, "        %s%s(%s", programs[device].call, c->name, programs[device].first);
        for (int j = 0; j < OPERANDS && c->counts[j] > 0; j++)
            fprintf(file, "p%d, ", j);
        fprintf(file, "%d);\n        store(p0, %d);\n", BATCH, c->counts[0] * dtype_rows[c->dtypes[0]].bytes);
        for (int j = 0; j < OPERANDS && c->counts[j] > 0; j++)
            fprintf(file, "        free(p%d);\n", j);
        fputs("    }\n", file);
    }
    fputs("    return 0;\n}\n", file);
    assert_int_equal(fclose(file), 0);
}

static void test_lines(void **state)
{
    char folder[] = "/tmp/modc_lines_XXXXXX", command[1000];
    FILE *in;

    (void)state;
    if (!has_program(GPU_COMPILER))
        skip();
    make_folder(folder);
    write_program(folder, DEVICE_CPU);
    write_program(folder, DEVICE_CUDA);
    snprintf(command, sizeof command, "%s/in", folder);
    in = fopen(command, "wb");
    assert_non_null(in);
    for (int i = 0; i < CASES; i++)
        for (int j = 0; j < OPERANDS; j++)
            for (int e = 0; e < cases[i].counts[j]; e++)
                write_number(in, cases[i].dtypes[j], cases[i].indices == j && j > 0);
    assert_int_equal(fclose(in), 0);
    snprintf(command, sizeof command,
             "%s -std=c99 " WARNINGS
             " -O1 -ffp-contract=off -Iruntime -o %s/plain %s/kernels.c -lm && %s/plain <%s/in >%s/wanted",
             own_compiler(), folder, folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    assert_true(build_for_gpu(folder));
    for (int i = 0; i < GPU_ORDERS; i++) {
        assert_true(run_on_gpu(folder, i));
        snprintf(command, sizeof command, "cmp %s/wanted %s/out", folder, folder);
        assert_int_equal(system(command), 0);
    }
    remove_folder(folder);
    arena_free(ARENA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
