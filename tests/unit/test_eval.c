/* test_eval.c - expressions and statements over known and unknown values: what they give, which ops they build, of which
 * shapes and types, and how faults are said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graphs.h"

static const struct loc nowhere;

/* What the statements below see: x float32 (2, 3), i int64 (2), b bool (3), and y float32 (n, 3), of which n is a size. */
struct room {
    struct bench *b;
    struct size size;
    struct scope scope;
};

static struct room *room_new(void)
{
    struct room *r = calloc(1, sizeof *r);
    const struct dim *n;
    struct value *y;

    assert_non_null(r);
    r->b = bench_new();
    r->size = (struct size){.name = "n", .max = 100};
    n = dim_size(&r->b->cx.arena, &r->size);
    y = INPUT(r->b, 5, 3);
    y->dims[0] = n;
    scope_bind(&r->b->eval, &r->scope, "n", ev_dim(nowhere, n));
    scope_bind(&r->b->eval, &r->scope, "x", ev_tensor(nowhere, INPUT(r->b, 2, 3)));
    scope_bind(&r->b->eval, &r->scope, "y", ev_tensor(nowhere, y));
    scope_bind(&r->b->eval, &r->scope, "i",
               ev_tensor(nowhere, input(r->b, DTYPE_INT64, (const int[]){2, 0})));
    scope_bind(&r->b->eval, &r->scope, "b", ev_tensor(nowhere, input(r->b, DTYPE_BOOL, (const int[]){3, 0})));
    return r;
}

static void room_free(struct room *r)
{
    arena_free(&r->b->cx.arena);
    free(r->b);
    free(r);
}

/* The value of statements, the last of which returns it. */
static struct ev run(struct room *r, const char *text)
{
    struct source *source = ARENA_NEW(&r->b->cx.arena, struct source);
    struct stmt **statements;
    int count;

    *source = (struct source){.name = "t", .text = text, .length = strlen(text)};
    statements = stmt_parse_block(&r->b->cx, source, 0, source->length, &count);
    return eval_statements(&r->b->eval, &r->scope, statements, count);
}

/* ---- what is known ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *text, *value; /* as Python prints it */
} known[] = {
    {"1 + 2 * 3", "7"},
    {"7 // -2", "-4"},
    {"7 % -2", "-1"},
    {"7 / 2", "3.5"},
    {"-7.5 % 2", "0.5"},
    {"-7.5 // 2", "-4.0"},
    {"2 ** 10", "1024"},
    {"2 ** -1", "0.5"},
    {"(-1) ** 9223372036854775806", "1"},
    {"0 ** 0", "1"},
    {"6 & 3", "2"},
    {"6 | 3", "7"},
    {"6 ^ 3", "5"},
    {"True & False", "False"},
    {"True ^ False", "True"},
    {"True + True", "2"},
    {"~5", "-6"},
    {"not 0", "True"},
    {"1 < 2 < 3", "True"},
    {"1 < 2 > 3", "False"},
    {"3 <= 3", "True"},
    {"3 >= 4", "False"},
    {"3 == 3.0", "True"},
    {"3 != 3", "False"},
    {"'a' + 'b'", "'ab'"},
    {"'a' in 'cab'", "True"},
    {"2 not in (1, 3)", "True"},
    {"None is None", "True"},
    {"0 or 5", "5"},
    {"0 and 1 // 0", "0"}, /* the other side is not evaluated */
    {"1 if 2 > 1 else 1 // 0", "1"},
    {"(1, 2) + (3,)", "(1, 2, 3)"},
    {"[0] * 3", "[0, 0, 0]"},
    {"2 * (1, 2)", "(1, 2, 1, 2)"},
    {"(1, 2, 3)[-1]", "3"},
    {"(1, 2, 3, 4)[1::2]", "(2, 4)"},
    {"(1, 2, 3, 4)[-2:9]", "(3, 4)"},
    {"len((1, 2))", "2"},
    {"range(3, 0, -1)", "(3, 2, 1)"},
    {"range(9223372036854775806, 9223372036854775807, 5)", "(9223372036854775806,)"},
    {"enumerate('ab' == 'ab' and (7, 8), 1)", "((1, 7), (2, 8))"},
    {"zip((1, 2), (3, 4, 5))", "((1, 3), (2, 4))"},
    {"reversed((1, 2))", "(2, 1)"},
    {"list((1, 2))", "[1, 2]"},
    {"min(3, 1, 2)", "1"},
    {"max((3, 1, 2))", "3"},
    {"sum((1, 2), 10)", "13"},
    {"abs(-3)", "3"},
    {"abs(-3.5)", "3.5"},
    {"pow(2, 3)", "8"},
    {"sqrt(16)", "4.0"},
    {"floor(2.5)", "2"},
    {"int(2.9)", "2"},
    {"float('-inf') < 0", "True"},
    {"bool(())", "False"},
    {"torch.float32.itemsize", "4"},
    /* sizes */
    {"n * 2 + n", "3 * n"},
    {"n - n", "0"},
    {"n ** 2", "n * n"},
    {"n >= 0", "True"},
    {"n > 100", "False"},
    {"n < 101", "True"},
    {"n <= 100", "True"},
    {"n == n + 1", "False"},
    {"n != n", "False"},
    {"(n * 6) // 3", "2 * n"},
    {"(n * 6) % 3", "0"},
    {"max(n, 0)", "n"},
    {"y.shape", "(n, 3)"},
    {"y.shape[0] is not None", "True"},
    {"len(y)", "n"},
    {"x.ndim", "2"},
    {"x.dtype == torch.float32", "True"},
};

static void known_values_are_pythons(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        struct room *r = room_new();
        struct ev out = run(r, arena_format(&r->b->cx.arena, "return %s", known[k].text));

        if (diag_errors(&r->b->cx) > 0)
            diag_print(&r->b->cx, stderr, DIAG_PLAIN);
        if (strcmp(ev_text(&r->b->eval, &out), known[k].value) != 0)
            fail_msg("%s: %s in place of %s", known[k].text, ev_text(&r->b->eval, &out), known[k].value);
        assert_int_equal(diag_errors(&r->b->cx), 0);
        room_free(r);
    }
}

/* ---- what a graph computes ---------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *shape;
    enum dtype dtype;
    enum op_code code; /* of the op that makes the result */
} built[] = {
    {"return x + 1", "(2, 3)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"return i + 1", "(2)", DTYPE_INT64, GRAPH_OP_MAP},
    {"return i / 2", "(2)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"return x > 0", "(2, 3)", DTYPE_BOOL, GRAPH_OP_MAP},
    {"return -x", "(2, 3)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"return ~b", "(3)", DTYPE_BOOL, GRAPH_OP_MAP},
    {"return x + x[:1]", "(2, 3)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"return x.exp()", "(2, 3)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"return y @ x.T", "(n, 2)", DTYPE_FLOAT32, GRAPH_OP_CONTRACT},
    {"return x.mT", "(3, 2)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x[1]", "(3)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x[-1, 0]", "()", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x[:, 1:]", "(2, 2)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x[..., ::2]", "(2, 2)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x[:, 1::2]", "(2, 1)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x.permute(1, 0)", "(3, 2)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x[:, None]", "(2, 1, 3)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return y[1:]", "(max(n - 1, 0), 3)", DTYPE_FLOAT32, GRAPH_OP_VIEW},
    {"return x[i]", "(2, 3)", DTYPE_FLOAT32, GRAPH_OP_GATHER},
    {"return x[[1, 0, 1]]", "(3, 3)", DTYPE_FLOAT32, GRAPH_OP_GATHER},
    {"return sum((x, x))", "(2, 3)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"z = x[0]\n(p, q) = (z, z * 2)\nreturn q", "(3)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"z = x\nz += 1\nreturn z", "(2, 3)", DTYPE_FLOAT32, GRAPH_OP_MAP},
    {"z = i\nz *= 2\nreturn z", "(2)", DTYPE_INT64, GRAPH_OP_MAP},
};

static void ops_have_shapes_and_types(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof built / sizeof *built; k++) {
        struct room *r = room_new();
        struct ev out = run(r, built[k].text);

        if (diag_errors(&r->b->cx) > 0)
            diag_print(&r->b->cx, stderr, DIAG_PLAIN);
        assert_int_equal(out.kind, EV_TENSOR);
        assert_string_equal(shape_text(&r->b->cx.arena, out.tensor->ndim, out.tensor->dims), built[k].shape);
        assert_int_equal(out.tensor->dtype, built[k].dtype);
        assert_int_equal(out.tensor->op->code, built[k].code);
        assert_null(graph_check(&r->b->graph, true));
        room_free(r);
    }
}

/* ---- faults ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int column;
    const char *message, *hint; /* NULL: none */
} faults[] = {
    {"1 // 0", 13, "division by zero", NULL},
    {"1.5 % 0", 14, "division by zero", NULL},
    {"0 ** -1", 8, "division by zero: 0 to a negative power", NULL},
    {"9223372036854775807 + 1", 8, "does not fit 64 bits", NULL},
    {"3 ** 41", 8, "3 ** 41 does not fit 64 bits", NULL},
    {"(-8.0) ** 0.5", 8, "is a complex number", NULL},
    {"10.0 ** 400", 8, "is too large", NULL},
    {"'a' - 1", 8, "'-' does not take a string and an integer", NULL},
    {"n > 5", 8, "'n > 5' depends on sizes", "make the size a constant"},
    {"n & 1", 8, "'n & 1' depends on sizes", "make the size a constant"},
    {"1 if n / 2 else 2", 13, "'n / 2' depends on sizes", "make the size a constant"},
    {"1 if x else 2", 13, "a condition must be known while generating, found a tensor",
     "where(condition, a, b)"},
    {"x and x", 8, "'and' does not take a tensor and a tensor", "for tensors write '&'"},
    {"x is x", 8, "'is' does not take", "compare with =="},
    {"0 < x < 1 < 2", 8, "comparisons of tensors are not chained", "(a < b) & (b < c)"},
    {"-b", 8, "unary '-' does not take a bool tensor", "logical_not"},
    {"~x", 8, "'~' takes bool or integer tensors, not float32", NULL},
    {"not x", 8, "'not' does not take a tensor", "write '~'"},
    {"z + 1", 8, "'z' is not known here", NULL},
    {"yes", 8, "'yes' is not known here", "a bool is written true or false"},
    {"Linear", 8, "Linear is a module", "declare it under 'modules:'"},
    {"x.shap", 10, "a tensor has no attribute 'shap'", "did you mean 'shape'?"},
    {"x.device.type", 17, "nothing is known of a device", NULL},
    {"(1, 2)[::0]", 8, "whose step is not 0", NULL},
    {"i.mT", 10, "mT takes a tensor of at least two dimensions", NULL},
    {"x[2]", 10, "index 2 is out of range for dimension 0 of size 2", NULL},
    {"x[0, 0, 0]", 8, "too many indices: 3", NULL},
    {"x[..., ...]", 15, "only one '...'", NULL},
    {"x[::0]", 12, "the step of a slice must be positive, found 0", NULL},
    {"x[::-1]", 12, "the step of a slice must be positive, found -1", "PyTorch refuses"},
    {"x['a']", 10, "an index takes integers, slices, None and '...', not a string", NULL},
    {"x[b]", 10, "an index that is a mask", "where(mask, a, b)"},
    {"x[x]", 10, "an index must be int64 or int32, found float32", NULL},
    {"(1, 2)[2]", 15, "index 2 is out of range: there are 2", NULL},
    {"(1, 2)['a']", 8, "the index of a tuple is one integer", NULL},
    {"(1, 2)[0, 1]", 8, "found several", NULL},
    {"3[0]", 8, "an integer has no elements to index", NULL},
    {"3(1)", 8, "an integer cannot be called", NULL},
    {"exp(x, x, x)", 15, "exp takes", "it is exp("},
    {"exp()", 8, "exp misses the argument 'input'", "it is exp("},
    {"exp(inpt=x)", 12, "exp has no argument 'inpt'", "did you mean 'input'?"},
    {"exp(x, input=x)", 15, "exp got argument 'input' twice", NULL},
    {"len(1)", 8, "len takes one tuple", NULL},
    {"range(0)[0]", 17, "index 0 is out of range", NULL},
    {"range(1, 2, 0)", 8, "range takes one to three integers", NULL},
    {"int('a')", 8, "int() takes one number", NULL},
    {"int(n / 2)", 8, "depends on sizes", "an integer where it is written"},
    {"log(0)", 12, "log(0) is not a number", NULL},
    {"(0,) * 70000", 8, "a tuple or list has more than 65536 items", NULL},
};

/* One error at that column, and what helps. */
static void faults_are_said_where_they_are(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        struct room *r = room_new();
        const struct diag_item *items;
        struct ev out = run(r, arena_format(&r->b->cx.arena, "return %s", faults[k].text));
        const char *hint = NULL;

        items = r->b->cx.items;
        assert_int_equal(out.kind, EV_BAD);
        if (diag_errors(&r->b->cx) != 1 || !strstr(items[0].text, faults[k].message) ||
            items[0].loc.column != faults[k].column) {
            diag_print(&r->b->cx, stderr, DIAG_PLAIN);
            fail_msg("%s: one error at column %d is expected: %s", faults[k].text, faults[k].column,
                     faults[k].message);
        }
        for (int i = 0; i < r->b->cx.item_count; i++)
            if (items[i].level == DIAG_HINT)
                hint = items[i].text;
        if (!faults[k].hint != !hint || (hint && !strstr(hint, faults[k].hint)))
            fail_msg("%s: hint '%s' in place of '%s'", faults[k].text, hint ? hint : "(none)",
                     faults[k].hint ? faults[k].hint : "(none)");
        room_free(r);
    }
}

/* Statements that are wrong as such. */
static void statements_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"(a, c) = (1, 2, 3)", "there are 3 values for 2 names"},
        {"(a, c) = 1", "an integer cannot be taken apart into 2 names"},
        {"z = (x, 1)\nz[0] = 1", "the items of a tuple are not changed"},
        {"self.h = x", "a function has no self to write to"},
        {"return 1\nz = 2", "nothing can follow 'return'"},
        {"x += y[:, None]", "doesn't match the broadcast shape"},
        {"i += x[:, 0]", "int64"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct room *r = room_new();

        run(r, wrong[k].text);
        if (diag_errors(&r->b->cx) != 1 || !strstr(r->b->cx.items[0].text, wrong[k].message)) {
            diag_print(&r->b->cx, stderr, DIAG_PLAIN);
            fail_msg("%s: %s", wrong[k].text, wrong[k].message);
        }
        room_free(r);
    }
}

/* A body calls by names that all families share: of each form there is one of a name. */
static void functions_have_names_of_their_own(void **state)
{
    static const unsigned forms[] = {FUNCTION_TORCH, FUNCTION_FUNCTIONAL, FUNCTION_METHOD, FUNCTION_HIDDEN,
                                     FUNCTION_RETURNS};

    (void)state;
    for (const struct function_family *family = function_families; family->rows; family++) {
        for (const struct function_row *row = family->rows; row->signature; row++) {
            char name[64];

            snprintf(name, sizeof name, "%.*s", (int)strcspn(row->signature, "("), row->signature);
            for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
                if ((row->flags & forms[f]) && function_find(name, forms[f]) != row)
                    fail_msg("%s: there is another %s", family->name, name);
            if ((row->flags & FUNCTION_HIDDEN) && elementwise_find(name))
                fail_msg("%s: %s is a line of elementwise.c, too", family->name, name);
        }
    }
}

/* Whatever is wrong with a call stands at the call, if it is an argument's default: each function of tensors that are too small,
 * of the wrong type, or none. */
static void faults_of_defaults_are_the_calls(void **state)
{
    static const char *const values[] = {"t", "x", "b", "i", "1", "None", "x, t", "i, i", "x, 9"};

    (void)state;
    for (const struct function_family *family = function_families; family->rows; family++) {
        for (const struct function_row *row = family->rows; row->signature; row++) {
            if ((row->flags & FUNCTION_HIDDEN) || !strchr(row->signature, '='))
                continue;
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                struct room *r = room_new();
                const char *before = row->flags & FUNCTION_FUNCTIONAL ? "F."
                                     : row->flags & FUNCTION_TORCH    ? "torch."
                                     : row->flags & FUNCTION_VISION   ? "torchvision."
                                     : row->flags & FUNCTION_METHOD   ? "x."
                                                                      : "";

                scope_bind(&r->b->eval, &r->scope, "t",
                           ev_tensor(nowhere, input(r->b, DTYPE_FLOAT32, (const int[]){0})));
                run(r, arena_format(&r->b->cx.arena, "return %s%.*s(%s)", before,
                                    (int)strcspn(row->signature, "("), row->signature, values[v]));
                for (int i = 0; i < r->b->cx.item_count; i++) {
                    const struct diag_item *item = &r->b->cx.items[i];

                    if (item->loc.source && strcmp(item->loc.source->name, "t") != 0)
                        fail_msg("%s of %s: %s is said in %s", row->signature, values[v], item->text,
                                 item->loc.source->name);
                }
                room_free(r);
            }
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_are_pythons),
        cmocka_unit_test(ops_have_shapes_and_types),
        cmocka_unit_test(faults_are_said_where_they_are),
        cmocka_unit_test(statements_are_refused),
        cmocka_unit_test(functions_have_names_of_their_own),
        cmocka_unit_test(faults_of_defaults_are_the_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
