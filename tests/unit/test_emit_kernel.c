/* test_emit_kernel.c - kernels of map, reduce and random: chosen and random nests and DAGs are written to one file,
 * compiled by every compiler at every width, run, and compared with dag_eval element by element. Buffers are exactly as
 * large as they need be, so that the sanitizers see what goes beyond.
 *
 * MODC_TEST_SEED and MODC_TEST_COUNT choose other and more random cases, MODC_TEST_ALL more compilations, MODC_TEST_QUICK
 * but one, of fewer and smaller cases; MODC_TEST_KEEP keeps the files. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "emit/emit_kernel.h"
#include "gpu.h"

#define RUNS 3 /* of every case, with other sizes and values */
#define MAX_OPERANDS 6

static struct cx cx;
#define ARENA (&cx.arena)

static const struct size batch = {"batch", 9, 0, "batch", 0, NULL},
                         tokens = {"tokens", 40, 1, "tokens", 0, NULL},
                         width = {"default", 700, 2, "default_", 0, NULL},
                         index_size = {"i", 5, 3, "i_", 0, NULL}, large = {"sum", 200000, 4, "sum", 0, NULL};
static const struct size *const sizes[] = {&batch, &tokens, &width, &index_size, &large};
#define SIZES 5

enum kernel_kind { MAP, REDUCE, RANDOM };

struct kernel_case {
    enum kernel_kind kind;
    const char *name;
    struct nest nest; /* as the op has it, not normalised */
    enum reduce_kind reduce;
    const struct dag *dag, *head, *tail; /* MAP, RANDOM: dag */
    bool in_place;                       /* y is x0 */
    double scale;                        /* of float inputs */
    bool special;                        /* NaN and infinities among them */
    bool exact;
    int64_t sizes[RUNS][SIZES];
    const char *text;                        /* of the kernel */
    int64_t strides[MAX_OPERANDS][MAX_DIMS]; /* of operands, in the run that is being computed */
    /* of each run: elements of operand buffers, in order; and what y shall hold */
    int64_t counts[RUNS][MAX_OPERANDS];
    union scalar *values[RUNS][MAX_OPERANDS];
    union scalar *expected[RUNS];
    double *slack[RUNS]; /* of sums: the sum of magnitudes */
};

static int runs(void)
{
    return getenv("MODC_TEST_QUICK") ? 1 : RUNS;
}

static struct kernel_case *cases;
static int case_count;

/* ---- numbers ----------------------------------------------------------------------------------------- */

static uint64_t state = 1;

static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static int pick(int count)
{
    return (int)(draw() % (uint32_t)count);
}

static double real(void) /* in [-1, 1) */
{
    return (double)draw() / 1073741824.0 - 1.0;
}

static union scalar draw_value(const struct kernel_case *c, enum dtype dtype)
{
    union scalar value = {.i = 0};
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};

    switch (dtype) {
    case DTYPE_BOOL:
        value.i = pick(2);
        break;
    case DTYPE_UINT8:
        value.i = pick(256);
        break;
    case DTYPE_INT8:
        value.i = pick(256) - 128;
        break;
    case DTYPE_INT16:
        value.i = pick(65536) - 32768;
        break;
    case DTYPE_INT32:
        value.i = pick(4) ? pick(20) - 10 : (int32_t)(draw() * 2u);
        break;
    case DTYPE_INT64:
        value.i = pick(4) ? pick(20) - 10 : (int64_t)((uint64_t)draw() << 33 ^ draw());
        break;
    default:
        value.f = dtype_round(dtype, c->special && pick(12) == 0 ? special[pick(5)] : real() * c->scale);
        break;
    }
    return value;
}

/* ---- nests ------------------------------------------------------------------------------------------- */

static const struct dim *k(int64_t value)
{
    return dim_const(ARENA, value);
}

static const struct dim *s(const struct size *size)
{
    return dim_size(ARENA, size);
}

static const struct dim *times(const struct dim *a, const struct dim *b)
{
    return dim_mul(ARENA, a, b);
}

static struct nest new_nest(int ndim, const struct dim *const *dims, int operands)
{
    struct nest nest = {.ndim = ndim, .operand_count = operands};

    nest.operands = ARENA_ARRAY(ARENA, operands, struct nest_operand);
    for (int i = 0; i < ndim; i++) {
        nest.dims[i] = dims[i];
        for (int j = 0; j < operands; j++)
            nest.operands[j].strides[i] = k(0);
    }
    return nest;
}

/* Strides of an operand that has the axes of `mask`, lies in the order of `order`, and has `pad` further elements
 * behind each innermost row. */
static void lay_out(struct nest *nest, int operand, enum dtype dtype, unsigned mask, const int *order,
                    int pad)
{
    const struct dim *stride = k(1);
    bool first = true;

    nest->operands[operand].dtype = dtype;
    for (int i = nest->ndim - 1; i >= 0; i--) {
        int axis = order ? order[i] : i;

        if (!(mask >> axis & 1))
            continue;
        nest->operands[operand].strides[axis] = stride;
        stride = times(stride, dim_add(ARENA, nest->dims[axis], k(first ? pad : 0)));
        first = false;
    }
}

static struct kernel_case *new_case(enum kernel_kind kind, const char *name, struct nest nest)
{
    struct kernel_case c = {.kind = kind, .name = name, .nest = nest, .scale = 2.0};

    ARENA_PUSH(ARENA, cases, case_count, c);
    for (int i = 0; i < RUNS; i++)
        for (int j = 0; j < SIZES; j++)
            cases[case_count - 1].sizes[i][j] = i == 0 ? sizes[j]->max : pick((int)sizes[j]->max + 1);
    for (int i = 0; i < RUNS; i++) /* large ones stay affordable */
        cases[case_count - 1].sizes[i][4] = i > 0 ? pick(3000) : getenv("MODC_TEST_QUICK") ? 5003 : 100003;
    if (pick(2))
        cases[case_count - 1].sizes[2][pick(4)] = 0;
    return &cases[case_count - 1];
}

/* ---- dags -------------------------------------------------------------------------------------------- */

struct builder {
    struct dag *dag;
    enum dtype dtype;
    int nodes[40], count; /* of that type */
    bool smooth;          /* no jumps of what is computed */
};

static int prim(struct builder *b, enum prim prim_, int a, int c)
{
    return dag_prim(ARENA, b->dag, prim_, b->dtype, a, c, 0);
}

static int constant(struct builder *b, double number)
{
    return dag_const(ARENA, b->dag, b->dtype, number);
}

static int any_node(struct builder *b)
{
    return b->nodes[pick(b->count)];
}

/* Inputs and numbers are compared only with each other, so that rounding decides nothing. */
static int compare(struct builder *b, int inputs)
{
    static const enum prim tests[] = {PRIM_EQ, PRIM_NE, PRIM_LT, PRIM_LE, PRIM_GT, PRIM_GE};
    int x = b->nodes[pick(inputs)], y = pick(2) ? b->nodes[pick(inputs)] : constant(b, pick(5) - 2);

    if (dtype_is_float(b->dtype) && pick(6) == 0)
        return dag_prim(ARENA, b->dag, PRIM_ISNAN, DTYPE_BOOL, x, 0, 0);
    return dag_prim(ARENA, b->dag, tests[pick(6)], DTYPE_BOOL, x, y, 0);
}

static int random_mask(struct builder *b, int inputs)
{
    int mask = compare(b, inputs);

    if (pick(3) == 0)
        mask = dag_prim(ARENA, b->dag,
                        pick(2)   ? PRIM_AND
                        : pick(2) ? PRIM_OR
                                  : PRIM_XOR,
                        DTYPE_BOOL, mask, compare(b, inputs), 0);
    return pick(4) ? mask : dag_prim(ARENA, b->dag, PRIM_NOT, DTYPE_BOOL, mask, 0, 0);
}

/* tanh keeps everything small */
static int random_float(struct builder *b, int inputs)
{
    int a = any_node(b), c = any_node(b);

    switch (pick(b->dtype == DTYPE_FLOAT64 && pick(4) ? 11 : 22)) {
    case 0:
        return prim(b, PRIM_ADD, a, pick(3) ? c : constant(b, real()));
    case 1:
        return prim(b, PRIM_SUB, a, pick(3) ? c : constant(b, real()));
    case 2:
        return prim(b, PRIM_MUL, a, pick(3) ? c : constant(b, real()));
    case 3:
        return prim(b, PRIM_DIV, a, prim(b, PRIM_ADD, prim(b, PRIM_ABS, c, 0), constant(b, 1.5)));
    case 4:
        return prim(b, PRIM_MIN, a, pick(2) ? c : constant(b, 0.5));
    case 5:
        return prim(b, PRIM_MAX, a, pick(2) ? c : constant(b, 0));
    case 6:
        return prim(b, PRIM_NEG, a, 0);
    case 7:
        return prim(b, PRIM_SQRT, prim(b, PRIM_ADD, prim(b, PRIM_ABS, a, 0), constant(b, 1)), 0);
    case 8:
        return dag_prim(ARENA, b->dag, PRIM_SELECT, b->dtype, random_mask(b, inputs), a, c);
    case 9:
        return dag_cast(ARENA, b->dag, random_mask(b, inputs), b->dtype);
    case 10: {
        struct dag_node dim = {.prim = PRIM_DIM, .dtype = DTYPE_INT64};

        dim.dim = pick(2) ? s(&batch) : dim_add(ARENA, times(s(&tokens), s(&index_size)), k(3));
        return prim(b, PRIM_DIV, a,
                    prim(b, PRIM_ADD, dag_cast(ARENA, b->dag, dag_add(ARENA, b->dag, dim), b->dtype),
                         constant(b, 1)));
    }
    case 11:
        return prim(b, PRIM_EXP, prim(b, PRIM_MIN, a, constant(b, 1)), 0);
    case 12:
        return prim(b, PRIM_EXPM1, prim(b, PRIM_MIN, a, constant(b, 1)), 0);
    case 13:
        return prim(b, PRIM_LOG, prim(b, PRIM_ADD, prim(b, PRIM_ABS, a, 0), constant(b, 1.5)), 0);
    case 14:
        return prim(b, PRIM_LOG1P, prim(b, PRIM_ABS, a, 0), 0);
    case 15:
        return prim(b, PRIM_ERF, a, 0);
    case 16:
        return prim(b, PRIM_RSQRT, prim(b, PRIM_ADD, prim(b, PRIM_ABS, a, 0), constant(b, 1)), 0);
    case 17:
        return prim(b, pick(2) ? PRIM_SIN : PRIM_COS, prim(b, PRIM_TANH, a, 0), 0);
    case 18:
        return prim(b, PRIM_FLOOR, b->nodes[pick(inputs)], 0);
    case 19:
        return prim(b, PRIM_POW,
                    prim(b, PRIM_ADD, prim(b, PRIM_ABS, prim(b, PRIM_TANH, a, 0), 0), constant(b, 0.5)),
                    pick(2) ? constant(b, 1.7) : prim(b, PRIM_TANH, c, 0));
    default:
        return prim(b, PRIM_TANH, a, 0);
    }
}

static int random_integer(struct builder *b, int inputs)
{
    int a = any_node(b), c = pick(3) ? any_node(b) : constant(b, pick(9) - 4);
    static const enum prim two[] = {PRIM_ADD, PRIM_SUB, PRIM_MUL, PRIM_FLOORDIV, PRIM_MOD,
                                    PRIM_MIN, PRIM_MAX, PRIM_AND, PRIM_OR,       PRIM_XOR};
    static const enum prim one[] = {PRIM_NEG, PRIM_ABS, PRIM_NOT};

    switch (pick(6)) {
    case 0:
        return prim(b, one[pick(3)], a, 0);
    case 1:
        return dag_prim(ARENA, b->dag, PRIM_SELECT, b->dtype, random_mask(b, inputs), a, c);
    case 2:
        return pick(2) ? dag_cast(ARENA, b->dag, random_mask(b, inputs), b->dtype)
                       : prim(b, PRIM_POW, a, constant(b, pick(5)));
    default:
        return prim(b, two[pick(10)], a, c);
    }
}

/* A DAG of about `steps` nodes over inputs of one type, all of which it loads. */
static struct dag *random_dag(enum dtype dtype, int inputs, int steps)
{
    struct builder b = {.dag = dag_new(ARENA, inputs), .dtype = dtype};
    int result;

    for (int i = 0; i < inputs; i++)
        b.nodes[b.count++] = dag_load(ARENA, b.dag, i, dtype);
    for (int i = 0; i < steps && b.count < 40; i++)
        b.nodes[b.count++] = dtype_is_float(dtype) ? random_float(&b, inputs) : random_integer(&b, inputs);
    result = b.nodes[b.count - 1];
    for (int i = 0; i < inputs; i++)
        result = dag_prim(ARENA, b.dag, dtype_is_float(dtype) ? PRIM_ADD : PRIM_XOR, dtype, result,
                          b.nodes[i], 0);
    b.dag->result = result;
    return b.dag;
}

/* x0 * x0 + ... of one primitive */
static struct dag *one_prim(enum prim prim_, enum dtype result, enum dtype dtype, int arity)
{
    struct dag *dag = dag_new(ARENA, arity);
    int a = dag_load(ARENA, dag, 0, dtype), b = arity > 1 ? dag_load(ARENA, dag, 1, dtype) : 0;

    dag->result = dag_prim(ARENA, dag, prim_, result, a, b, 0);
    return dag;
}

static struct dag *cast_dag(enum dtype from, enum dtype to)
{
    struct dag *dag = dag_new(ARENA, 1);

    dag->result = dag_cast(ARENA, dag, dag_load(ARENA, dag, 0, from), to);
    return dag;
}

/* ---- what shall come out ------------------------------------------------------------------------------ */

static int64_t offset_of(const struct kernel_case *c, int operand, const int64_t *at)
{
    int64_t offset = 0;

    for (int i = 0; i < c->nest.ndim; i++)
        offset += at[i] * c->strides[operand][i];
    return offset;
}

/* The next place, the last axis fastest, over axes where reduced[i] == reduced; false at the end. */
static bool step(const struct kernel_case *c, const int64_t *dims, bool reduced, int64_t *at)
{
    for (int i = c->nest.ndim - 1; i >= 0; i--) {
        if (c->nest.reduced[i] != reduced)
            continue;
        if (++at[i] < dims[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static bool is_empty(const struct kernel_case *c, const int64_t *dims, bool reduced)
{
    for (int i = 0; i < c->nest.ndim; i++)
        if (c->nest.reduced[i] == reduced && dims[i] == 0)
            return true;
    return false;
}

static void load_inputs(const struct kernel_case *c, int run, int first, int count, const int64_t *at,
                        union scalar *inputs)
{
    for (int i = 0; i < count; i++)
        inputs[i] = c->values[run][first + i][offset_of(c, first + i, at)];
}

static bool better(enum reduce_kind kind, enum dtype dtype, union scalar a, union scalar b)
{
    bool less = kind == REDUCE_MIN || kind == REDUCE_ARGMIN;

    if (!dtype_is_float(dtype))
        return less ? a.i < b.i : a.i > b.i;
    if (isnan(b.f))
        return false;
    return isnan(a.f) || (less ? a.f < b.f : a.f > b.f);
}

static union scalar reduce_one(const struct kernel_case *c, int run, const int64_t *dims, int64_t *at,
                               double *slack)
{
    enum dtype dtype = c->head->nodes[c->head->result].dtype;
    bool floating = dtype_is_float(dtype), product = c->reduce == REDUCE_PROD;
    union scalar inputs[MAX_OPERANDS], result = {.i = 0}, best = {.i = 0};
    int64_t flat = 0;

    if (c->reduce == REDUCE_ALL)
        result.i = 1;
    else if (floating)
        result.f = product;
    else
        result.i = product;
    *slack = 0;
    if (is_empty(c, dims, true))
        return result;
    do {
        union scalar value;

        load_inputs(c, run, 1, c->head->input_count, at, inputs);
        value = dag_eval(c->head, inputs, c->sizes[run]);
        switch (c->reduce) {
        case REDUCE_SUM:
            if (floating)
                result.f += value.f;
            else
                result.i = (int64_t)((uint64_t)result.i + (uint64_t)value.i);
            *slack += floating ? fabs(value.f) : 0;
            break;
        case REDUCE_PROD:
            if (floating)
                result.f *= value.f;
            else
                result.i = (int64_t)((uint64_t)result.i * (uint64_t)value.i);
            break;
        case REDUCE_ANY:
            result.i |= floating ? value.f != 0 : value.i != 0;
            break;
        case REDUCE_ALL:
            result.i &= floating ? value.f != 0 : value.i != 0;
            break;
        default:
            if (flat == 0 || better(c->reduce, dtype, value, best)) {
                best = value;
                if (c->reduce == REDUCE_MAX || c->reduce == REDUCE_MIN)
                    result = value;
                else
                    result.i = flat;
            }
            break;
        }
        flat++;
    } while (step(c, dims, true, at));
    if (floating && c->reduce == REDUCE_PROD)
        *slack = fabs(result.f) * (double)flat;
    return result;
}

static void philox(uint64_t key, uint64_t block, uint64_t stream, uint32_t out[4])
{
    uint32_t x[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t a = (uint32_t)key, b = (uint32_t)(key >> 32);

    for (int round = 0; round < 10; round++, a += 0x9e3779b9u, b += 0xbb67ae85u) {
        uint64_t p = (uint64_t)0xd2511f53u * x[0], q = (uint64_t)0xcd9e8d57u * x[2];
        uint32_t y[4] = {(uint32_t)(q >> 32) ^ x[1] ^ a, (uint32_t)q, (uint32_t)(p >> 32) ^ x[3] ^ b,
                         (uint32_t)p};

        memcpy(x, y, sizeof x);
    }
    memcpy(out, x, sizeof x);
}

#define SEED UINT64_C(0x123456789abcdef0)
#define COUNTER UINT64_C(0x300000007)
#define STREAM 5u

static void expect_run(struct kernel_case *c, int run)
{
    int64_t dims[MAX_DIMS] = {0}, at[MAX_DIMS] = {0};
    bool empty;

    for (int i = 0; i < c->nest.ndim; i++)
        dims[i] = dim_eval(c->nest.dims[i], c->sizes[run]);
    empty = is_empty(c, dims, false) ||
            (is_empty(c, dims, true) && c->reduce >= REDUCE_MAX && c->kind == REDUCE &&
             c->reduce != REDUCE_ANY && c->reduce != REDUCE_ALL);
    if (empty && !is_empty(c, dims, false)) { /* max over nothing is refused before */
        c->sizes[run][0] = -1;
        return;
    }
    for (int j = 0; j < c->nest.operand_count; j++) {
        int64_t last = 0;
        bool none = false;

        for (int i = 0; i < c->nest.ndim; i++) {
            c->strides[j][i] = dim_eval(c->nest.operands[j].strides[i], c->sizes[run]);
            last += (dims[i] - 1) * c->strides[j][i];
            none = none || (dims[i] == 0 && !dim_equals(c->nest.operands[j].strides[i], 0));
        }
        c->counts[run][j] = none || last < 0 ? 0 : last + 1;
        c->values[run][j] = ARENA_ARRAY(ARENA, c->counts[run][j] + 1, union scalar);
        for (int64_t i = 0; i < c->counts[run][j]; i++)
            c->values[run][j][i] = draw_value(c, c->nest.operands[j].dtype);
    }
    if (c->in_place)
        c->values[run][1] = c->values[run][0];
    c->expected[run] = ARENA_ARRAY(ARENA, c->counts[run][0] + 1, union scalar);
    c->slack[run] = ARENA_ARRAY(ARENA, c->counts[run][0] + 1, double);
    memcpy(c->expected[run], c->values[run][0], (size_t)c->counts[run][0] * sizeof *c->expected[run]);
    if (empty)
        return;
    do {
        union scalar inputs[MAX_OPERANDS];
        int64_t y = offset_of(c, 0, at);

        if (c->kind == MAP) {
            load_inputs(c, run, 1, c->dag->input_count, at, inputs);
            c->expected[run][y] = dag_eval(c->dag, inputs, c->sizes[run]);
        } else if (c->kind == REDUCE) {
            enum dtype out = c->nest.operands[0].dtype;
            union scalar value = reduce_one(c, run, dims, at, &c->slack[run][y]);

            if (c->tail) {
                inputs[0] = value;
                load_inputs(c, run, 1 + c->head->input_count, c->tail->input_count - 1, at, inputs + 1);
                value = dag_eval(c->tail, inputs, c->sizes[run]);
            } else if (dtype_is_float(out)) {
                value.f = dtype_round(out, value.f);
            }
            c->expected[run][y] = value;
        } else {
            uint32_t words[4];

            philox(SEED, (uint64_t)y / 4, COUNTER ^ (uint64_t)STREAM << 32, words);
            inputs[0].f = (words[y % 4] >> 8) * 0x1p-24;
            load_inputs(c, run, 1, c->dag->input_count - 1, at, inputs + 1);
            c->expected[run][y] = dag_eval(c->dag, inputs, c->sizes[run]);
        }
    } while (step(c, dims, false, at));
}

/* ---- the program ------------------------------------------------------------------------------------- */

static void write_value(FILE *file, enum dtype dtype, union scalar value)
{
    float single = (float)value.f;
    const void *bytes = dtype == DTYPE_FLOAT32 ? (const void *)&single : (const void *)&value;

    fwrite(bytes, (size_t)dtype_rows[dtype].bytes, 1, file); /* little-endian */
}

static union scalar read_value(FILE *file, enum dtype dtype)
{
    union {
        float f;
        double d;
        bool b;
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
    } raw = {0};
    union scalar value = {.i = 0};

    assert_int_equal(fread(&raw, (size_t)dtype_rows[dtype].bytes, 1, file), 1);
    if (dtype_is_float(dtype))
        value.f = dtype == DTYPE_FLOAT64 ? raw.d : (double)raw.f;
    else
        value.i = dtype == DTYPE_BOOL    ? raw.u8
                  : dtype == DTYPE_UINT8 ? raw.u8
                  : dtype == DTYPE_INT8  ? raw.i8
                  : dtype == DTYPE_INT16 ? raw.i16
                  : dtype == DTYPE_INT32 ? raw.i32
                                         : raw.i64;
    return value;
}

static void emit_case(struct kernel_case *c, enum device device)
{
    const bool vectors = backends[device].vectors;
    const struct nest_scene scene = {.sizes = sizes, .size_count = SIZES, .device = device, .prefix = "on"};
    struct text text = text_new(ARENA);
    const struct dag *head = c->head, *tail = c->tail;
    struct nest nest = c->nest;

    nest.reorder = c->kind == REDUCE && !reduce_is_arg(c->reduce);
    nest = nest_normal(ARENA, nest);
    if (c->kind == REDUCE && !head)
        head = dag_identity(ARENA, nest.operands[1].dtype);
    if (c->kind == REDUCE && !tail)
        tail = reduce_tail(ARENA, c->reduce, head, nest.operands[0].dtype);
    if (c->kind == MAP)
        emit_map_kernel(&cx, &text, c->name, "A map.", nest, map_form(&nest, c->dag, vectors), c->dag, false,
                        &scene);
    else if (c->kind == REDUCE)
        emit_reduce_kernel(&cx, &text, c->name, "A reduction.", nest,
                           reduce_form(&nest, c->reduce, head, tail, vectors), c->reduce, head, tail, false,
                           false, &scene);
    else
        emit_random_kernel(&cx, &text, c->name, "Random numbers.", c->nest, c->dag, NULL, &scene);
    c->text = text.data;
}

static void write_program(const char *path, enum device device)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(
        file,
        "#include <stdio.h>\n#include <stdlib.h>\n%s#include \"modc_special.h\"\n\nMODC_KERNELS_BEGIN\n\n",
        programs[device].includes);
    for (int i = 0; i < case_count; i++)
        fprintf(file, "%s\n", cases[i].text);
    fprintf(file, "MODC_KERNELS_END\n\n%sint main(void)\n{\n", programs[device].functions);
    for (int i = 0; i < case_count; i++) {
        struct kernel_case *c = &cases[i];
        bool used[SIZES] = {0};

        nest_mark_sizes(ARENA, c->nest, used);
        if (c->dag)
            dag_mark_sizes(c->dag, used);
        if (c->head)
            dag_mark_sizes(c->head, used);
        if (c->tail)
            dag_mark_sizes(c->tail, used);
        for (int run = 0; run < runs(); run++) {
            if (c->sizes[run][0] < 0)
                continue;
            fputs("    {\n", file);
            for (int j = 0; j < c->nest.operand_count; j++) {
                const char *type = dtype_rows[c->nest.operands[j].dtype].c;

                if (j == 1 && c->in_place)
                    fprintf(file, "        %s p1 = p0;\n", device == DEVICE_CUDA ? "at" : "void *");
                else
                    fprintf(file, "        %s p%d = load(%" PRId64 " * sizeof(%s));\n",
                            device == DEVICE_CUDA ? "at" : "void *", j, c->counts[run][j], type);
            }
            fprintf(file, "        %s%s(%sp0", programs[device].call, c->name, programs[device].first);
            for (int j = 1; j < c->nest.operand_count; j++)
                fprintf(file, ", p%d", j);
            if (c->kind == RANDOM && device == DEVICE_CUDA) /* of the call before the next */
                fprintf(file, ", random_of(%" PRIu64 "u, %" PRIu64 "u), 1u, %uu", SEED, COUNTER + 1, STREAM);
            else if (c->kind == RANDOM)
                fprintf(file, ", %" PRIu64 "u, %" PRIu64 "u, %uu", SEED, COUNTER, STREAM);
            for (int j = 0; j < SIZES; j++)
                if (used[j])
                    fprintf(file, ", %" PRId64, c->sizes[run][j]);
            fprintf(file, ");\n        store(p0, sizeof(%s) * %" PRId64 ");\n",
                    dtype_rows[c->nest.operands[0].dtype].c, c->counts[run][0]);
            for (int j = 0; j < c->nest.operand_count; j++)
                if (j != 1 || !c->in_place)
                    fprintf(file, "        free(p%d);\n", j);
            fputs("    }\n", file);
        }
    }
    fputs("    return 0;\n}\n", file);
    assert_int_equal(fclose(file), 0);
}

static void write_inputs(const char *path)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    for (int i = 0; i < case_count; i++)
        for (int run = 0; run < runs(); run++)
            for (int j = 0; j < cases[i].nest.operand_count && cases[i].sizes[run][0] >= 0; j++)
                for (int64_t e = 0; e < cases[i].counts[run][j] && (j != 1 || !cases[i].in_place); e++)
                    write_value(file, cases[i].nest.operands[j].dtype, cases[i].values[run][j][e]);
    assert_int_equal(fclose(file), 0);
}

static bool agrees(const struct kernel_case *c, int run, int64_t e, union scalar value)
{
    enum dtype dtype = c->nest.operands[0].dtype;
    double expected = c->expected[run][e].f, tolerance;

    if (!dtype_is_float(dtype))
        return value.i == c->expected[run][e].i;
    if (isnan(expected) || isinf(expected) || c->exact)
        return (isnan(expected) && isnan(value.f)) || value.f == expected;
    tolerance = dtype == DTYPE_FLOAT64 ? 1e-13 : 4e-6; /* of dags of some ten nodes */
    return fabs(value.f - expected) <=
           tolerance * (1 + fabs(expected)) + 1e-6 * (tolerance < 1e-9 ? 1e-8 : 1) * c->slack[run][e];
}

static int check_outputs(const char *path, const char *how)
{
    FILE *file = fopen(path, "rb");
    int bad = 0;

    assert_non_null(file);
    for (int i = 0; i < case_count; i++) {
        struct kernel_case *c = &cases[i];
        bool shown = false;

        for (int run = 0; run < runs(); run++) {
            enum dtype dtype = c->nest.operands[0].dtype;

            for (int64_t e = 0; e < c->counts[run][0] && c->sizes[run][0] >= 0; e++) {
                union scalar value = read_value(file, dtype);

                if (agrees(c, run, e, value) || shown)
                    continue;
                shown = true;
                bad++;
                if (dtype_is_float(dtype))
                    print_error("%s: %s[%" PRId64 "] is %.9g, not %.9g, in run %d of:\n%s\n", how, c->name, e,
                                value.f, c->expected[run][e].f, run, c->text);
                else
                    print_error("%s: %s[%" PRId64 "] is %" PRId64 ", not %" PRId64 ", in run %d of:\n%s\n",
                                how, c->name, e, value.i, c->expected[run][e].i, run, c->text);
            }
        }
    }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    return bad;
}

/* The same kernels for a GPU, on its stand-in, which sees races and what goes beyond. */
static int compare_on_gpu(const char *folder)
{
    char path[100];
    int bad = 0;

    if (!has_program(GPU_COMPILER))
        return 0;
    for (int i = 0; i < case_count; i++)
        emit_case(&cases[i], DEVICE_CUDA);
    snprintf(path, sizeof path, "%s/kernels.cu", folder);
    write_program(path, DEVICE_CUDA);
    if (!build_for_gpu(folder))
        return 1;
    for (int i = 0; i < GPU_ORDERS; i++) {
        snprintf(path, sizeof path, "%s/out", folder);
        bad += run_on_gpu(folder, i) ? check_outputs(path, "on a GPU") : 1;
    }
    return bad;
}

static void build_and_compare(void)
{
    enum effort { QUICK, USUAL, ALL }; /* with MODC_TEST_QUICK, always, with MODC_TEST_ALL */
    static const struct {
        enum effort effort;
        const char *flags;
    } kinds[2][8] = {{{ALL, "-O2 -march=x86-64"},
                      {USUAL, "-O2 -march=x86-64-v3"},
                      {USUAL, "-O2 -march=x86-64-v4"},
                      {QUICK, "-O0 -DMODC_LANES=1"},
                      {ALL, SANITIZE " -march=x86-64"},
                      {ALL, SANITIZE " -march=x86-64-v3"},
                      {ALL, SANITIZE " -march=x86-64-v4"}},
                     {{ALL, "-O2 -march=x86-64"},
                      {ALL, "-O1 -march=x86-64-v3"}, /* -O2 takes clang eight times as long */
                      {ALL, "-O2 -march=x86-64-v3"},
                      {ALL, "-O2 -march=x86-64-v4"},
                      {ALL, "-O2 -DMODC_LANES=1"},
                      {USUAL, SANITIZE " -march=x86-64"},
                      {ALL, SANITIZE " -march=x86-64-v3"},
                      {ALL, SANITIZE " -march=x86-64-v4"}}};
    const enum effort effort = getenv("MODC_TEST_ALL") ? ALL : getenv("MODC_TEST_QUICK") ? QUICK : USUAL;
    const char *compilers[] = {own_compiler(), "clang"};
    char folder[] = "/tmp/modc_kernels_XXXXXX", path[100], command[1000];
    int bad = 0;

    make_folder(folder);
    for (int i = 0; i < case_count; i++)
        for (int run = 0; run < runs(); run++)
            expect_run(&cases[i], run);
    snprintf(path, sizeof path, "%s/in", folder);
    write_inputs(path);
    bad += compare_on_gpu(folder);
    for (int i = 0; i < case_count; i++)
        emit_case(&cases[i], DEVICE_CPU);
    snprintf(path, sizeof path, "%s/kernels.c", folder);
    write_program(path, DEVICE_CPU);
    for (int i = 0; i < 2; i++) {
        if (!has_program(compilers[i]))
            continue;
        for (int j = 0; j < 8 && kinds[i][j].flags; j++) {
            char how[300];

            if (!runs_here(kinds[i][j].flags) || kinds[i][j].effort > effort)
                continue;
            snprintf(how, sizeof how, "%s %s", compilers[i], kinds[i][j].flags);
            snprintf(command, sizeof command,
                     "%s -std=c99 " WARNINGS
                     " -Iruntime -o %s/kernels %s/kernels.c -lm && %s/kernels <%s/in >%s/out",
                     how, folder, folder, folder, folder, folder);
            if (system(command) != 0) {
                print_error("%s\n", command);
                bad++;
                continue;
            }
            snprintf(path, sizeof path, "%s/out", folder);
            bad += check_outputs(path, how);
        }
    }
    remove_folder(folder);
    assert_int_equal(bad, 0);
    case_count = 0;
}

/* ---- chosen cases ------------------------------------------------------------------------------------ */

static const char *case_name(const char *stem)
{
    return arena_format(ARENA, "%s_%d", stem, case_count);
}

static struct kernel_case *map_case(const char *stem, struct nest nest, const struct dag *dag)
{
    struct kernel_case *c = new_case(MAP, case_name(stem), nest);

    c->dag = dag;
    return c;
}

/* Dense operands that have all axes. */
static struct nest dense_nest(int ndim, const struct dim *const *dims, int operands, enum dtype y,
                              enum dtype x)
{
    struct nest nest = new_nest(ndim, dims, operands);

    for (int i = 0; i < operands; i++)
        lay_out(&nest, i, i == 0 ? y : x, ~0u, NULL, 0);
    return nest;
}

static struct dag *relu_dag(void)
{
    struct dag *dag = dag_new(ARENA, 1);
    int x = dag_load(ARENA, dag, 0, DTYPE_FLOAT32), zero = dag_const(ARENA, dag, DTYPE_FLOAT32, 0);

    dag->result = dag_prim(ARENA, dag, PRIM_MAX, DTYPE_FLOAT32, x, zero, 0);
    return dag;
}

/* x0 * (1 / (1 + exp(-x0))) */
static struct dag *silu_dag(enum dtype dtype)
{
    struct builder b = {.dag = dag_new(ARENA, 1), .dtype = dtype};
    int x = dag_load(ARENA, b.dag, 0, dtype), e = prim(&b, PRIM_EXP, prim(&b, PRIM_NEG, x, 0), 0);

    b.dag->result = prim(&b, PRIM_DIV, x, prim(&b, PRIM_ADD, e, constant(&b, 1)));
    return b.dag;
}

static struct dag *add_dag(enum dtype dtype)
{
    return one_prim(PRIM_ADD, dtype, dtype, 2);
}

/* x0 / count */
static struct dag *mean_dag(const struct dim *count)
{
    struct builder b = {.dag = dag_new(ARENA, 1), .dtype = DTYPE_FLOAT32};
    struct dag_node dim = {.prim = PRIM_DIM, .dtype = DTYPE_INT64, .dim = count};
    int x = dag_load(ARENA, b.dag, 0, DTYPE_FLOAT32);

    b.dag->result = prim(&b, PRIM_DIV, x, dag_cast(ARENA, b.dag, dag_add(ARENA, b.dag, dim), DTYPE_FLOAT32));
    return b.dag;
}

/* (x0 - x1)^2 */
static struct dag *square_distance_dag(void)
{
    struct builder b = {.dag = dag_new(ARENA, 2), .dtype = DTYPE_FLOAT32};
    int d = prim(&b, PRIM_SUB, dag_load(ARENA, b.dag, 0, DTYPE_FLOAT32),
                 dag_load(ARENA, b.dag, 1, DTYPE_FLOAT32));

    b.dag->result = prim(&b, PRIM_MUL, d, d);
    return b.dag;
}

static void add_map_cases(void)
{
    const struct dim *flat[] = {k(2048)}, *odd[] = {k(100)}, *rows[] = {s(&batch), k(64)};
    const struct dim *three[] = {s(&batch), s(&tokens), k(20)}, *named[] = {s(&index_size), s(&width)};
    const struct dim *square[] = {k(5), k(9), k(6), k(4)}, *empty[] = {k(3), k(0), k(4)};
    const int swapped[] = {1, 0}, channels_last[] = {0, 2, 3, 1};
    struct nest nest;

    map_case("relu", dense_nest(1, flat, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), relu_dag())->special = true;
    map_case("relu", dense_nest(3, three, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), relu_dag())->in_place = true;
    map_case("silu", dense_nest(1, odd, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), silu_dag(DTYPE_FLOAT32));
    map_case("silu", dense_nest(2, named, 2, DTYPE_FLOAT64, DTYPE_FLOAT64), silu_dag(DTYPE_FLOAT64));
    map_case("empty", dense_nest(3, empty, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), relu_dag());
    map_case("scalar", dense_nest(0, flat, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), silu_dag(DTYPE_FLOAT32));

    nest = dense_nest(2, rows, 3, DTYPE_FLOAT32, DTYPE_FLOAT32); /* a bias */
    lay_out(&nest, 2, DTYPE_FLOAT32, 2, NULL, 0);
    map_case("add", nest, add_dag(DTYPE_FLOAT32));
    nest = dense_nest(2, named, 3, DTYPE_FLOAT32, DTYPE_FLOAT32); /* a column */
    lay_out(&nest, 2, DTYPE_FLOAT32, 1, NULL, 0);
    map_case("add", nest, add_dag(DTYPE_FLOAT32));
    nest = dense_nest(3, three, 3, DTYPE_FLOAT64, DTYPE_FLOAT64); /* one number */
    lay_out(&nest, 2, DTYPE_FLOAT64, 0, NULL, 0);
    map_case("add", nest, add_dag(DTYPE_FLOAT64));
    nest = dense_nest(2, named, 2, DTYPE_FLOAT32, DTYPE_FLOAT32); /* a transposition */
    lay_out(&nest, 1, DTYPE_FLOAT32, 3, swapped, 0);
    map_case("copy", nest, dag_identity(ARENA, DTYPE_FLOAT32))->exact = true;
    nest = dense_nest(4, square, 3, DTYPE_FLOAT32, DTYPE_FLOAT32); /* all channels-last: one loop */
    for (int i = 0; i < 3; i++)
        lay_out(&nest, i, DTYPE_FLOAT32, ~0u, channels_last, 0);
    map_case("add", nest, add_dag(DTYPE_FLOAT32));
    nest = dense_nest(3, three, 2, DTYPE_INT16, DTYPE_INT16); /* rows into wider ones, as of a cat */
    lay_out(&nest, 0, DTYPE_INT16, ~0u, NULL, 7);
    map_case("copy", nest, dag_identity(ARENA, DTYPE_INT16));
    map_case("copy", dense_nest(2, named, 2, DTYPE_BOOL, DTYPE_BOOL), dag_identity(ARENA, DTYPE_BOOL));
}

/* Every primitive over every type, and every cast: in scalar loops, and over vectors where there are any. */
static void add_prim_cases(void)
{
    static const enum dtype types[] = {DTYPE_BOOL,  DTYPE_UINT8, DTYPE_INT8,    DTYPE_INT16,
                                       DTYPE_INT32, DTYPE_INT64, DTYPE_FLOAT32, DTYPE_FLOAT64};
    const struct dim *row[] = {k(83)};

    for (int p = PRIM_ADD; p <= PRIM_NOT; p++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            enum dtype dtype = types[t];
            bool floating = dtype_is_float(dtype), test = p >= PRIM_ISNAN && p <= PRIM_GE;
            bool floating_only = p == PRIM_DIV || (p >= PRIM_EXP && p <= PRIM_COS);
            bool bits = p >= PRIM_AND && p <= PRIM_NOT;
            struct kernel_case *c;

            if ((floating_only && !floating) || (bits && floating))
                continue;
            if ((p == PRIM_AS_FLOAT16 || p == PRIM_AS_BFLOAT16) && dtype != DTYPE_FLOAT32)
                continue;
            if (dtype == DTYPE_BOOL && !bits && !test && p != PRIM_MIN && p != PRIM_MAX)
                continue;
            c = map_case(prim_rows[p].name,
                         dense_nest(1, row, 1 + prim_rows[p].arity, test ? DTYPE_BOOL : dtype, dtype),
                         one_prim((enum prim)p, test ? DTYPE_BOOL : dtype, dtype, prim_rows[p].arity));
            c->special = p != PRIM_SIN && p != PRIM_COS;
            c->exact = p <= PRIM_NEG && p != PRIM_POW;
        }
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t u = 0; u < sizeof types / sizeof *types; u++) {
            if (t != u)
                map_case("cast", dense_nest(1, row, 2, types[u], types[t]), cast_dag(types[t], types[u]))
                    ->scale = 120;
        }
    }
}

static struct kernel_case *reduce_case(const char *stem, struct nest nest, unsigned reduced,
                                       enum reduce_kind kind, const struct dag *head, const struct dag *tail)
{
    struct kernel_case *c;

    for (int i = 0; i < nest.ndim; i++) {
        nest.reduced[i] = reduced >> i & 1;
        if (nest.reduced[i])
            nest.operands[0].strides[i] = k(0);
    }
    c = new_case(REDUCE, case_name(stem), nest);
    c->reduce = kind;
    c->head = head;
    c->tail = tail;
    return c;
}

/* y over the axes that are not reduced, x0 over all. */
static struct nest reduce_nest(int ndim, const struct dim *const *dims, unsigned reduced, int operands,
                               enum dtype y, enum dtype x)
{
    struct nest nest = dense_nest(ndim, dims, operands, y, x);

    lay_out(&nest, 0, y, ~reduced & ((1u << ndim) - 1), NULL, 0);
    for (int i = 0; i < ndim; i++)
        if (reduced >> i & 1)
            nest.operands[0].strides[i] = k(0);
    return nest;
}

static void add_reduce_cases(void)
{
    static const enum reduce_kind kinds[] = {REDUCE_SUM, REDUCE_PROD, REDUCE_MAX,    REDUCE_MIN,
                                             REDUCE_ANY, REDUCE_ALL,  REDUCE_ARGMAX, REDUCE_ARGMIN};
    static const enum dtype types[] = {DTYPE_BOOL,  DTYPE_UINT8,   DTYPE_INT32,
                                       DTYPE_INT64, DTYPE_FLOAT32, DTYPE_FLOAT64};
    const struct dim *cube[] = {k(3), k(100), k(37)}, *sized[] = {s(&batch), s(&width), s(&tokens)};
    const struct dim *rows[] = {s(&batch), s(&large)}, *columns[] = {s(&large), k(3)},
                     *wide[] = {s(&large), k(70)};
    const struct dim *blocks[] = {k(2048), k(10), k(64)}, *flat[] = {k(7), k(1024)};
    const struct dim *long_rows[] = {s(&large), k(2), s(&index_size)};
    const int channels_last[] = {1, 2, 0};
    struct dag *identity = dag_identity(ARENA, DTYPE_FLOAT32);
    struct nest nest;

    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
            enum reduce_kind kind = kinds[n];
            enum dtype out = types[t];

            if (types[t] == DTYPE_BOOL && (kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN))
                continue;
            if (kind == REDUCE_ANY || kind == REDUCE_ALL)
                out = DTYPE_BOOL;
            else if (kind >= REDUCE_ARGMAX || (kind <= REDUCE_PROD && !dtype_is_float(out)))
                out = DTYPE_INT64;
            for (unsigned reduced = 1; reduced < 8; reduced += 1 + (reduced == 1) + (reduced == 4)) {
                bool run_time = (reduced + n) % 2;
                struct kernel_case *c = reduce_case(
                    "reduce", reduce_nest(3, run_time ? sized : cube, reduced, 2, out, types[t]), reduced,
                    kind, dag_identity(ARENA, types[t]), NULL);

                c->special = kind >= REDUCE_MAX && reduced != 2;
                if (kind == REDUCE_PROD)
                    c->scale = 1.3;
            }
        }
    }
    reduce_case("sum", reduce_nest(2, flat, 2, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 2, REDUCE_SUM, identity,
                NULL);
    reduce_case("mean", reduce_nest(2, rows, 2, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 2, REDUCE_SUM, identity,
                mean_dag(s(&large)));
    reduce_case("mean", reduce_nest(2, columns, 1, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 1, REDUCE_SUM, identity,
                mean_dag(s(&large)));
    reduce_case("mean", reduce_nest(2, wide, 1, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 1, REDUCE_SUM, identity,
                mean_dag(s(&large)));
    reduce_case("sum", reduce_nest(3, long_rows, 5, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 5, REDUCE_SUM, identity,
                NULL);
    reduce_case("sum", reduce_nest(3, long_rows, 3, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 3, REDUCE_SUM, identity,
                NULL);
    reduce_case("sum", reduce_nest(3, blocks, 1, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 1, REDUCE_SUM, identity,
                NULL);
    reduce_case("sum", reduce_nest(3, blocks, 5, 2, DTYPE_FLOAT32, DTYPE_FLOAT32), 5, REDUCE_SUM, identity,
                NULL);
    for (unsigned reduced = 1; reduced <= 4; reduced *= 2) { /* variance, then x - mean, over each axis */
        nest = reduce_nest(3, sized, reduced, 4, DTYPE_FLOAT32, DTYPE_FLOAT32);
        lay_out(&nest, 2, DTYPE_FLOAT32, ~reduced & 7, NULL, 0);
        lay_out(&nest, 3, DTYPE_FLOAT32, ~reduced & 7, NULL, 0);
        nest.operands[2].strides[reduced / 2] = nest.operands[3].strides[reduced / 2] = k(0);
        reduce_case("variance", nest, reduced, REDUCE_SUM, square_distance_dag(), add_dag(DTYPE_FLOAT32));
    }
    nest = reduce_nest(3, cube, 6, 2, DTYPE_FLOAT32, DTYPE_FLOAT32); /* channels-last means */
    lay_out(&nest, 1, DTYPE_FLOAT32, 7, channels_last, 0);
    reduce_case("mean", nest, 6, REDUCE_SUM, identity, mean_dag(k(3700)));
    nest = reduce_nest(3, cube, 7, 2, DTYPE_INT64, DTYPE_FLOAT32); /* argmax over all, of a transposed view */
    lay_out(&nest, 1, DTYPE_FLOAT32, 7, channels_last, 0);
    reduce_case("argmax", nest, 7, REDUCE_ARGMAX, identity, NULL);
}

static void add_random_cases(void)
{
    const struct dim *flat[] = {k(64)}, *sized[] = {s(&batch), s(&width)};
    struct nest nest = dense_nest(1, flat, 1, DTYPE_FLOAT32, DTYPE_FLOAT32);
    struct builder b = {.dag = dag_new(ARENA, 2), .dtype = DTYPE_FLOAT32};
    int u = dag_load(ARENA, b.dag, 0, DTYPE_FLOAT32), x = dag_load(ARENA, b.dag, 1, DTYPE_FLOAT32);
    int keep = dag_prim(ARENA, b.dag, PRIM_GE, DTYPE_BOOL, u, constant(&b, 0.25), 0);

    new_case(RANDOM, case_name("uniform"), nest)->dag = dag_identity(ARENA, DTYPE_FLOAT32);
    b.dag->result = dag_prim(ARENA, b.dag, PRIM_SELECT, DTYPE_FLOAT32, keep,
                             prim(&b, PRIM_MUL, x, constant(&b, 1 / 0.75)), constant(&b, 0));
    nest = dense_nest(2, sized, 2, DTYPE_FLOAT32, DTYPE_FLOAT32);
    new_case(RANDOM, case_name("dropout"), nest)->dag = b.dag;
    nest = dense_nest(2, sized, 2, DTYPE_FLOAT32, DTYPE_FLOAT32); /* of an input that is broadcast */
    nest.operands[1].strides[0] = k(0);
    new_case(RANDOM, case_name("dropout"), nest)->dag = b.dag;
    nest = dense_nest(0, flat, 1, DTYPE_FLOAT32, DTYPE_FLOAT32);
    new_case(RANDOM, case_name("uniform"), nest)->dag = dag_identity(ARENA, DTYPE_FLOAT32);
}

/* ---- random cases ------------------------------------------------------------------------------------ */

static const struct dim *random_dim(void)
{
    static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 20, 31, 32, 33};

    switch (pick(8)) {
    case 0:
        return s(&batch);
    case 1:
        return s(&tokens);
    case 2:
        return s(&index_size);
    case 3:
        return dim_floordiv(ARENA, dim_add(ARENA, s(&tokens), k(1)), k(2));
    case 4: /* one or none */
        return dim_min(ARENA, s(pick(2) ? &batch : &index_size), k(1));
    default:
        return k(counts[pick(15)]);
    }
}

static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = pick(i + 1), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
}

static void add_random_case(void)
{
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT32, DTYPE_FLOAT32, DTYPE_FLOAT32,
                                       DTYPE_FLOAT64, DTYPE_INT32,   DTYPE_INT64,   DTYPE_UINT8,
                                       DTYPE_INT8,    DTYPE_INT16};
    const struct dim *dims[4];
    int ndim = pick(5), inputs = 1 + pick(3), tails = 0, shared[MAX_DIMS], order[MAX_DIMS];
    enum dtype dtype = types[pick(10)];
    bool reduction = pick(2);
    unsigned all = (1u << ndim) - 1, reduced = reduction ? draw() & all : 0;
    struct nest nest;
    struct dag *dag = random_dag(dtype, inputs, pick(9)), *tail = NULL;
    enum reduce_kind kind = (enum reduce_kind)pick(reduced ? 8 : 2);
    enum dtype out = dtype;
    struct kernel_case *c;

    if (kind == REDUCE_ANY || kind == REDUCE_ALL)
        kind = REDUCE_SUM;
    if (reduction && (kind >= REDUCE_ARGMAX || (kind <= REDUCE_PROD && !dtype_is_float(dtype))))
        out = DTYPE_INT64;
    if (kind >= REDUCE_ARGMAX) /* near ties are decided by rounding */
        dag = dag_identity(ARENA, dtype), inputs = 1;
    if (reduction && dtype_is_float(out) && pick(2)) {
        tails = pick(2);
        tail = random_dag(out, 1 + tails, pick(5));
    }
    for (int i = 0; i < ndim; i++)
        dims[i] = random_dim();
    nest = new_nest(ndim, dims, 1 + inputs + tails);
    shuffle(shared, ndim);
    for (int i = 0; i <= inputs + tails; i++) {
        unsigned mask = i == 0 || (reduction && i == 1) ? all : pick(3) ? all : draw() & all;
        bool outside = i == 0 || i > inputs;

        shuffle(order, ndim);
        if (pick(3))
            memcpy(order, shared, sizeof order);
        lay_out(&nest, i,
                i == 0       ? out
                : i > inputs ? out
                             : dtype,
                outside ? mask & ~reduced : mask, pick(2) ? order : NULL, pick(5) == 0 ? 1 + pick(4) : 0);
    }
    if (!reduction) {
        map_case("random", nest, dag);
        return;
    }
    c = reduce_case("random", nest, reduced, kind, dag, tail);
    c->scale = kind == REDUCE_PROD ? 0.5 : 1;
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static int tear_down(void **fixture)
{
    (void)fixture;
    assert_int_equal(diag_errors(&cx), 0);
    case_count = 0;
    arena_free(&cx.arena);
    memset(&cx, 0, sizeof cx);
    return 0;
}

static void test_maps(void **fixture)
{
    (void)fixture;
    add_map_cases();
    add_random_cases();
    build_and_compare();
}

static void test_prims(void **fixture)
{
    (void)fixture;
    add_prim_cases();
    build_and_compare();
}

static void test_reductions(void **fixture)
{
    (void)fixture;
    add_reduce_cases();
    build_and_compare();
}

static void test_random_nests(void **fixture)
{
    const int usual = getenv("MODC_TEST_QUICK") ? 20 : 60;
    int count = getenv("MODC_TEST_COUNT") ? atoi(getenv("MODC_TEST_COUNT")) : usual;

    (void)fixture;
    if (getenv("MODC_TEST_SEED"))
        state = strtoull(getenv("MODC_TEST_SEED"), NULL, 10);
    for (int i = 0; i < count; i++)
        add_random_case();
    build_and_compare();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_maps, tear_down),
        cmocka_unit_test_teardown(test_prims, tear_down),
        cmocka_unit_test_teardown(test_reductions, tear_down),
        cmocka_unit_test_teardown(test_random_nests, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
