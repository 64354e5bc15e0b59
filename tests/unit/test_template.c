/* test_template.c - the filler: holes, conditions, T_IF, tails, the comment, layout; and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/options.h"
#include "emit/template.h"

static struct cx cx;

static const struct filling fillings[] = {
    {"T_m", "batch"},  {"T_n", "64"},      {"T_k", "batch * 3"}, {"T_on", "1"},
    {"T_off", "0"},    {"T_form", "2"},    {"T_rows", "rows"},   {"T_ARGS", ", int b"},
    {"T_PASS", ", b"}, {"T_RESTRICT", ""}, {"T_real", "float"},
};

static const struct fill_pointer pointers[] = {
    {"x", "float", "modc_f32", NULL, NULL},
    {"w", "modc_half", "modc_half", "modc_half_to_f32", "modc_f32_to_half"}};

static const char *tail(void *data, bool vector, const char *value, const char *row, const char *column,
                        const char *count)
{
    *(bool *)data = true;
    return arena_format(&cx.arena, "%s(%s, %s, %s%s%s)", vector ? "wide" : "tail", value, row, column,
                        count ? ", " : "", count ? count : "");
}

static const char *score(void *data, const char *value, const char *row, const char *column)
{
    *(bool *)data = true;
    return arena_format(&cx.arena, "score(%s, %s, %s)", value, row, column);
}

static const char *const sizes[] = {"rows", "rows_", "exp", "x"};

static const char *filled_among(int size_count, const char *text, bool *called)
{
    struct text out = text_new(&cx.arena);
    bool unused;
    struct fill fill = {.name = "fc_relu",
                        .parts = "line",
                        .comment = "y = x",
                        .vector = "modc_f32",
                        .holes = fillings,
                        .count = (int)(sizeof fillings / sizeof *fillings),
                        .pointers = pointers,
                        .pointer_count = (int)(sizeof pointers / sizeof *pointers),
                        .sizes = sizes,
                        .size_count = size_count,
                        .epilogue = tail,
                        .score = score,
                        .data = called ? called : &unused};

    template_fill(&cx, &out, text, &fill);
    return out.data;
}

static const char *filled(const char *text, bool *called)
{
    return filled_among(0, text, called);
}

#define FILLS(text, expected) assert_string_equal(filled(text, NULL), expected)
#define FILLS_AMONG_SIZES(text, expected) assert_string_equal(filled_among(4, text, NULL), expected)

static void test_holes(void **state)
{
    (void)state;
    FILLS("T_NAME(T_n);\n", "fc_relu(64);\n");
    FILLS("T_NAME_tile(y, T_PARTS_band);\n", "fc_relu_tile(y, line_band);\n");
    FILLS("a = T_k * 2;\n", "a = (batch * 3) * 2;\n"); /* an expression stands in parentheses */
    FILLS("f(x T_ARGS);\n", "f(x, int b);\n");
    FILLS("T_V(load)(x) + T_S(exp)(y);\n", "modc_f32_load(x) + modc_f32s_exp(y);\n");
    FILLS("T_real *T_RESTRICT y;\n", "float *y;\n");
    FILLS("WHAT_m = 1;\n", "WHAT_m = 1;\n"); /* T_m inside of a word is none */
}

/* What a template calls as a size is called gives way, where it is not a function, a pointer's name, or nothing at all. */
static void test_sizes(void **state)
{
    (void)state;
    FILLS_AMONG_SIZES("int rows = T_n, columns = rows * 2 + T_rows;\n",
                      "int rows__ = 64, columns = rows__ * 2 + rows;\n");
    FILLS_AMONG_SIZES("y[arrows + rows] = exp(T_IF(T_on, rows, exp)); /* rows */\n",
                      "y[arrows + rows__] = exp(rows__); /* rows */\n");
    FILLS_AMONG_SIZES("T_V(exp)(T_GET(x, x[rows])) + T_OF(x, load)(x);\n",
                      "modc_f32_exp(x_[rows__]) + modc_f32_load(x_);\n");
    FILLS_AMONG_SIZES("#if MODC_LANES > 1\nrows++;\n#endif\n", "#if MODC_LANES > 1\nrows__++;\n#endif\n");
    FILLS("int rows = 1;\n", "int rows = 1;\n");
}

/* What goes by the element that a pointer points to. */
static void test_pointers(void **state)
{
    (void)state;
    FILLS("T_of_x *x, T_of_w *w;\n", "float *x, modc_half *w;\n");
    FILLS("T_OF(x, load)(x) * T_OF(w, load)(w);\n", "modc_f32_load(x) * modc_half_load(w);\n");
    FILLS("T_OF(T_IF(T_on, w, x), load)(p);\n", "modc_half_load(p);\n");
    FILLS("T_MOST(x, load)(x, n) * T_MOST(w, load)(w, n);\n",
          "line_load(x, n) * modc_half_load_most(w, n);\n");
    FILLS("w[0] = T_PUT(w, T_GET(x, x[0]) + T_GET(w, w[0]));\n",
          "w[0] = modc_f32_to_half(x[0] + modc_half_to_f32(w[0]));\n");
    FILLS("#if T_converts_w && !T_converts_x\na;\n#endif\n", "a;\n");
    FILLS("T_IF(T_converts_x, a, b);\n", "b;\n");
}

static void test_head_comment(void **state)
{
    (void)state;
    FILLS("/* T_m is for readers. */\nint a;\n", "int a;\n");
    FILLS("T_COMMENT\nint a;\n", "/* y = x */\nint a;\n");
}

static void test_conditions(void **state)
{
    (void)state;
    FILLS("#if T_on\na;\n#else\nb;\n#endif\n", "a;\n");
    FILLS("#if T_off\na;\n#elif T_form == 2\nb;\n#else\nc;\n#endif\n", "b;\n");
    FILLS("#if T_form == 2\na;\n#elif T_on\nb;\n#endif\n", "a;\n"); /* the first that holds */
    FILLS("#if T_on && (T_off || !T_off) && T_n % 16 == 0\na;\n#endif\n", "a;\n");
}

static void test_nested_conditions(void **state)
{
    (void)state;
    FILLS("#if T_off\n#if T_on\na;\n#else\nb;\n#endif\n#else\nc;\n#endif\n", "c;\n");
    FILLS("#if T_on\n#if T_off\na;\n#else\nb;\n#endif\n#endif\nc;\n", "b;\nc;\n");
    /* those of the compiler stay, what is in them is decided */
    FILLS("#if MODC_LANES > 1\n#if T_off\na;\n#endif\nb;\n#endif\n", "#if MODC_LANES > 1\nb;\n#endif\n");
}

static void test_choices(void **state)
{
    (void)state;
    FILLS("x = T_IF(T_on, f(a, b), c);\n", "x = f(a, b);\n");
    FILLS("x = T_IF(T_off, f(a, b), T_n);\n", "x = 64;\n");
    FILLS("x = T_IF(T_off, a, T_IF(T_on, b, c));\n", "x = b;\n");
    FILLS("x = T_IF(T_off, T_nowhere, b);\n", "x = b;\n"); /* nothing fills it, nor has to */
    FILLS("f(x T_MORE(T_on, g(a, b), T_n) T_PASS);\n", "f(x, g(a, b), 64, b);\n");
    FILLS("f(x T_MORE(T_form == 1, a, b) T_PASS);\n", "f(x, b);\n");
}

static void test_tails(void **state)
{
    bool called = false;

    (void)state;
    filled("y = 1;\n", &called);
    assert_false(called);
    assert_string_equal(filled("y = T_EPILOGUE(sum[i], r + 1, c);\n", &called),
                        "y = tail(sum[i], r + 1, c);\n");
    assert_true(called);
    FILLS("s = T_SCORE(s[r], row, T_n - 1);\n", "s = score(s[r], row, 64 - 1);\n");
    FILLS("y = T_EPILOGUE_V(sum, 0, T_n);\n", "y = wide(sum, 0, 64);\n");
    FILLS("y = T_EPILOGUE_PART(sum, 0, c, T_n - c);\n", "y = wide(sum, 0, c, 64 - c);\n");
}

static void test_layout(void **state)
{
    (void)state;
    FILLS("x[i * 1 + 0] = a - 0;\n", "x[i] = a;\n");
    FILLS("x[i * 0 + j] = f(a,\n       b);\n", "x[j] = f(a, b);\n");
    FILLS("c = k / 1 % 3, d = k / 4 % 1, e = a + k % 1 + b;\n", "c = k % 3, d = 0, e = a + b;\n");
    FILLS("x[a + (h * 8 + q) * 1 + c] = b[(h + 1) * 1];\n", "x[a + h * 8 + q + c] = b[h + 1];\n");
    FILLS("i = k / (3 * 1) * 2 + i * (64 / 16) + (7 / 2);\n", "i = k / 3 * 2 + i * 4 + 7 / 2;\n");
    /* what groups stays: sums of floats too, of which each is rounded */
    FILLS("x = (a - b) - c, y = (a + b) + (c + d);\n", "x = (a - b) - c, y = (a + b) + (c + d);\n");
    FILLS("i = k / (3 * n) - (a - b) + (c + d) * 2;\n", "i = k / (3 * n) - (a - b) + (c + d) * 2;\n");
    FILLS("f(a + (b + c), (float)x, (const T *)y, (int)(a * b));\n",
          "f(a + (b + c), (float)x, (const T *)y, (int)(a * b));\n");
    FILLS("if (r < (min(n, 1)) && (a < b ? c : d)) {\n", "if (r < min(n, 1) && (a < b ? c : d)) {\n");
    FILLS("int a __attribute__((unused)) = f((n * 2), 8), b = x * 1.0f + 0.0f;\n",
          "int a __attribute__((unused)) = f(n * 2, 8), b = x * 1.0f + 0.0f;\n");
}

static const char *fitted(const char *text)
{
    const char *fits = emit_fit(&cx.arena, text);

    for (const char *line = fits; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= EMITTED_WIDTH);
    return fits;
}

#define FORTY "a_word_of_some_thirty_nine_characters__ "

static void test_lines(void **state)
{
    (void)state;
    assert_string_equal(fitted("int a;\n"), "int a;\n");
    /* arguments of a long call have lines of their own, whatever it is called */
    assert_non_null(strstr(
        fitted("    with_a_long_name(first_argument, second_argument, third_argument, fourth_argument, "
               "fifth_argument, sixth_argument);\n"),
        "long_name(\n        first_argument"));
    /* a choice breaks before what it chooses, sums before products, strings last */
    assert_string_equal(
        fitted(
            "    sum[i] = BIAS && i < tile ? load(bias + column + i % vectors * MODC_LANES + more) : modc_f32_set(0);\n"),
        "    sum[i] = BIAS && i < tile ? load(bias + column + i % vectors * MODC_LANES + more)\n"
        "                              : modc_f32_set(0);\n");
    assert_non_null(strstr(fitted("    y = " FORTY "* b + c * " FORTY "* another_one_of_them_in_the_end;\n"),
                           "* b +\n        c *"));
    assert_non_null(strstr(fitted("    {\"" FORTY FORTY FORTY "\", 1},\n"), "\"\n     \""));
}

static void test_comments(void **state)
{
    (void)state;
    assert_string_equal(fitted("/* " FORTY FORTY "is long\n * goes on */\n"),
                        "/* " FORTY FORTY "is long\n * goes on */\n");
    assert_string_equal(fitted("/* " FORTY FORTY "is too long as it stands\n * and goes on */\n"),
                        "/* " FORTY FORTY "is too long as it\n * stands and goes on */\n");
    /* not into another clause, or a list */
    assert_non_null(strstr(fitted("/* " FORTY FORTY "and that is all of it;\n * then more */\n"),
                           "of it;\n * then more */\n"));
    assert_non_null(strstr(fitted("/* " FORTY FORTY FORTY "\n *     item */\n"), "\n *     item */\n"));
    /* behind code it goes in front, or the value under its name */
    assert_string_equal(fitted("    " FORTY "member; /* " FORTY FORTY "*/\n"),
                        "    /* " FORTY FORTY "*/\n    " FORTY "member;\n");
    assert_string_equal(fitted("    int " FORTY "= value; /* " FORTY FORTY "*/\n"),
                        "    int " FORTY "=\n        value; /* " FORTY FORTY "*/\n");
}

/* Faults of a template are faults of modc: it says so and ends. */
static void refuses(const char *text)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        filled(text, NULL);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_FAULT);
}

static void test_refused(void **state)
{
    (void)state;
    refuses("f(x T_MORE(T_on));\n");
    refuses("a = T_missing;\n");
    refuses("#if T_on\na;\n");
    refuses("#if T_on +\n#endif\n");
    refuses("#if T_m\na;\n#endif\n"); /* no number */
    refuses("x = T_IF(T_on, a);\n");
    refuses("x = T_EPILOGUE(a, b, c;\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointers),   cmocka_unit_test(test_holes),
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_head_comment),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_nested_conditions),
        cmocka_unit_test(test_choices),    cmocka_unit_test(test_tails),
        cmocka_unit_test(test_layout),     cmocka_unit_test(test_lines),
        cmocka_unit_test(test_comments),   cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
