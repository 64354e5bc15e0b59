/* test_expr.c - expressions, statements, signatures: what they mean, where they stand, and how faults are
 * said. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"
#include "spec/expr.h"

enum what { EXPRESSION, MODULE, STATEMENT, BLOCK, SIGNATURE };

struct parsed {
    struct cx cx;
    struct source source;
    struct expr *expr;
    struct stmt *stmt;
};

static struct parsed *parse(enum what what, const char *text)
{
    struct parsed *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->source = (struct source){.name = "t", .text = text, .length = strlen(text)};
    if (what == EXPRESSION)
        p->expr = expr_parse(&p->cx, &p->source, 0, p->source.length);
    else if (what == MODULE)
        p->expr = expr_parse_module(&p->cx, &p->source, 0, p->source.length);
    else
        p->stmt = stmt_parse(&p->cx, &p->source, 0, p->source.length);
    return p;
}

static void done(struct parsed *p)
{
    arena_free(&p->cx.arena);
    free(p);
}

static void assert_prints(enum what what, const char *text, const char *expected)
{
    struct parsed *p = parse(what, text);
    struct text out = text_new(&p->cx.arena);

    if (diag_errors(&p->cx) > 0)
        diag_print(&p->cx, stderr, false);
    assert_int_equal(diag_errors(&p->cx), 0);
    if (p->expr)
        expr_print(&out, p->expr);
    else
        stmt_print(&out, p->stmt);
    assert_string_equal(out.data, expected);
    done(p);
}

/* One error, with `message` in it, at `column` of the first line. */
static void assert_fails(enum what what, const char *text, int column, const char *message)
{
    struct parsed *p = parse(what, text);

    if (diag_errors(&p->cx) != 1 || !strstr(p->cx.items[0].text, message) ||
        p->cx.items[0].loc.column != column) {
        print_message("'%s':\n", text);
        diag_print(&p->cx, stderr, false);
    }
    assert_int_equal(diag_errors(&p->cx), 1);
    assert_non_null(strstr(p->cx.items[0].text, message));
    assert_int_equal(p->cx.items[0].loc.column, column);
    if (p->expr)
        assert_int_equal(p->expr->kind, EXPR_BAD);
    else
        assert_int_equal(p->stmt->value->kind, EXPR_BAD);
    done(p);
}

static void operators_bind_as_in_python(void **state)
{
    static const char *const cases[][2] = {
        {"a + b * c", "a + (b * c)"},
        {"a * b + c", "(a * b) + c"},
        {"a - b - c", "(a - b) - c"},
        {"a ** b ** c", "a ** (b ** c)"},
        {"-a ** b", "-(a ** b)"},
        {"a ** -b", "a ** (-b)"},
        {"a ** -b ** c", "a ** (-(b ** c))"},
        {"-a * b", "(-a) * b"},
        {"a @ b // c % d / e", "(((a @ b) // c) % d) / e"},
        {"~a & b | c ^ d", "((~a) & b) | (c ^ d)"},
        {"a | b == c", "(a | b) == c"},
        {"a + 1 < b * 2", "(a + 1) < (b * 2)"},
        {"not a == b and c or d", "((not (a == b)) and c) or d"},
        {"not not a", "not (not a)"},
        {"a if b else c if d else e", "a if b else (c if d else e)"},
        {"a + 1 if b or c else d", "(a + 1) if (b or c) else d"},
        {"(a + b) * c", "(a + b) * c"},
        {"--a", "-(-a)"},
        {"+a", "+a"},
        {"-x.y[0](1)", "-x.y[0](1)"},
        {"-1", "-1"},
        {"(-1).f", "(-1).f"},
        {"a <= b", "a <= b"},
        {"a >= b", "a >= b"},
        {"a != b", "a != b"},
        {"a > b", "a > b"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_prints(EXPRESSION, cases[i][0], cases[i][1]);
}

static void primaries_are_read(void **state)
{
    static const char *const cases[][2] = {
        {"f()", "f()"},
        {"f(a, b=1, c=(1, 2),)", "f(a, b=1, c=(1, 2))"},
        {"nn.Linear(4, 2)(x).y", "nn.Linear(4, 2)(x).y"},
        {"x[0]", "x[0]"},
        {"x[0,]", "x[0,]"},
        {"x[1:2, ::3, :, 4:, :-5, a:b:c, ..., None]", "x[1:2, ::3, :, 4:, :-5, a:b:c, ..., None]"},
        {"x[1: 3]", "x[1:3]"},
        {"()", "()"},
        {"(a,)", "(a,)"},
        {"a, b", "(a, b)"},
        {"a,", "(a,)"},
        {"[]", "[]"},
        {"[1, [2], (3,)]", "[1, [2], (3,)]"},
        {"True, false, null, None", "(True, False, None, None)"},
        {"x.max(1).values", "x.max(1).values"},
        {"pooler['dense'](x)", "pooler['dense'](x)"},
        {"float('-inf')", "float('-inf')"},
        {"f(a\n  , b # comment\n  )", "f(a, b)"},
        {"f(a, \\\n b)", "f(a, b)"},
        {"f(x == 1)", "f(x == 1)"},
        {"gr\xc3\xb6\xc3\x9f"
         "e + 1",
         "gr\xc3\xb6\xc3\x9f"
         "e + 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_prints(EXPRESSION, cases[i][0], cases[i][1]);
}

static void numbers_are_pythons(void **state)
{
    static const char *const cases[][2] = {
        {"0", "0"},
        {"00", "0"},
        {"1_000", "1000"},
        {"0x1F", "31"},
        {"0b101", "5"},
        {"0o17", "15"},
        {"1e-12", "1e-12"},
        {"1.", "1.0"},
        {".5", "0.5"},
        {"1_0.2_5e1_0", "102500000000.0"},
        {"5E+3", "5000.0"},
        {"1e400", "inf"},
        {"9223372036854775807", "9223372036854775807"},
        {"3e-4", "0.0003"},
        {"-9223372036854775808", "-9223372036854775808"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_prints(EXPRESSION, cases[i][0], cases[i][1]);

    struct parsed *p = parse(EXPRESSION, "7");

    assert_int_equal(p->expr->kind, EXPR_INT);
    assert_true(p->expr->number == 7.0);
    done(p);
}

static void strings_resolve_escapes(void **state)
{
    struct parsed *p = parse(EXPRESSION, "'a\\n\\t\\\\\\'\"' \"b\\x41\\u00e9\\101\" r'\\n' 'c'");

    (void)state;
    assert_int_equal(diag_errors(&p->cx), 0);
    assert_int_equal(p->expr->kind, EXPR_STRING);
    assert_string_equal(p->expr->text, "a\n\t\\'\"bA\xc3\xa9"
                                       "A\\nc");
    done(p);
}

static void modules_repeat_and_follow_rules(void **state)
{
    static const char *const cases[][2] = {
        {"Linear(4, 2)", "Linear(4, 2)"},
        {"12 x Block(256)", "12 x Block(256)"},
        {"2 * n x Block(x, x=x)", "(2 * n) x Block(x, x=x)"},
        {"x x X()", "x x X()"},
        {"ModuleList(12 x Block(256))", "ModuleList(12 x Block(256))"},
        {"ModuleList([Linear(i, i) for i in (1, 2)])", "ModuleList([Linear(i, i) for i in (1, 2)])"},
        {"Block(d) for i, d in enumerate((1, 2))", "Block(d) for i, d in enumerate((1, 2))"},
        {"Block(d) for (i, d) in e", "Block(d) for i, d in e"},
        {"Block(d) for i, (d, [e, f]), in y", "Block(d) for i, (d, (e, f)) in y"},
        {"Block(d) for i, in y", "Block(d) for (i,) in y"},
        {"A() if c else B()", "A() if c else B()"},
        {"2 x A() if c else B()", "2 x (A() if c else B())"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_prints(MODULE, cases[i][0], cases[i][1]);
    assert_fails(EXPRESSION, "12 x Block(256)", 4, "found 'x'");
    assert_fails(EXPRESSION, "f(y, i for i in x)", 6, "stands alone in its brackets");
    assert_fails(MODULE, "2 x 3 x A()", 7, "stands alone");
    assert_fails(MODULE, "2 x A() for i in y", 9, "stands alone");
    assert_fails(MODULE, "A() for (i, (j, 3)) in y", 17, "expected a name behind 'for'");
    assert_fails(MODULE, "A() for (i, (j, k) in y", 9, "'(' is never closed");
    assert_fails(MODULE, "A() for i of y", 11, "expected 'in'");
    assert_fails(MODULE, "4x A()", 1, "'4x' is not a number");
    assert_fails(MODULE, "A(), B()", 4, "found ','");
}

static void statements_are_read(void **state)
{
    static const char *const cases[][2] = {
        {"features = trunk(observation)", "features = trunk(observation)"},
        {"return logits, value", "return (logits, value)"},
        {"return", "return"},
        {"y, (h, c) = lstm(x, (h0, c0))", "(y, (h, c)) = lstm(x, (h0, c0))"},
        {"[a, b] = x", "(a, b) = x"},
        {"a, = x", "(a,) = x"},
        {"self.seen += 1", "self.seen += 1"},
        {"self.history[:-1] = self.history[1:].clone()", "self.history[:-1] = self.history[1:].clone()"},
        {"x[0][1] = y", "x[0][1] = y"},
        {"x **= 2", "x **= 2"},
        {"x //= 2", "x //= 2"},
        {"x @= w", "x @= w"},
        {"x |= a == b", "x |= a == b"},
        {"print(x)", "print(x)"},
        {"qkv = qkv(x)", "qkv = qkv(x)"},
        {"y = f(a,\n      b)", "y = f(a, b)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_prints(STATEMENT, cases[i][0], cases[i][1]);
}

static void faults_have_places(void **state)
{
    static const struct {
        enum what what;
        const char *text;
        int column;
        const char *message;
    } cases[] = {
        {EXPRESSION, "", 1, "expected an expression, found the end"},
        {EXPRESSION, "f(a, b", 2, "'(' is never closed"},
        {EXPRESSION, "x[1", 2, "'[' is never closed"},
        {EXPRESSION, "f(a b)", 5, "expected ',' or ')', found 'b'"},
        {EXPRESSION, "f(a]", 4, "expected ',' or ')', found ']'"},
        {EXPRESSION, "a)", 2, "')' closes nothing"},
        {EXPRESSION, "a b", 3, "expected an operator or the end, found 'b'"},
        {EXPRESSION, "a +", 4, "expected an expression, found the end"},
        {EXPRESSION, "a = b", 3, "found '='"},
        {EXPRESSION, "a not b", 3, "there is no operator 'not'"},
        {EXPRESSION, "a && b", 3, "there is no operator '&&'"},
        {EXPRESSION, "a << b", 3, "there is no operator '<<'"},
        {EXPRESSION, "{1: 2}", 2, "the names in braces are strings"},
        {EXPRESSION, "a ? b", 3, "the character '?' has no meaning"},
        {EXPRESSION,
         "\xe2\x80\x9c"
         "a",
         1, "U+201C"},
        {EXPRESSION, "a\xc2\xa0+ b", 2, "U+00A0"},
        {EXPRESSION, "f(a=1, a=2)", 8, "'a' is given twice"},
        {EXPRESSION, "f(a=1, 2)", 8, "without a name stands behind 'a='"},
        {EXPRESSION, "f(1=2)", 3, "must be the name of an argument"},
        {EXPRESSION, "x[]", 3, "expected an index"},
        {EXPRESSION, "x.", 3, "expected a name behind '.'"},
        {EXPRESSION, "trunk.0(x)", 6, "is not reached by '.'"},
        {EXPRESSION, "'abc", 1, "never closed"},
        {EXPRESSION, "'a\\x4'", 3, "cut off"},
        {EXPRESSION, "'a\\0'", 3, "cannot hold the character U+0000"},
        {EXPRESSION, "012", 1, "does not begin with 0"},
        {EXPRESSION, "1__0", 1, "is not a number"},
        {EXPRESSION, "0x", 1, "is not a number"},
        {EXPRESSION, "2jj", 1, "is not a number"},
        {EXPRESSION, "0x2j", 1, "is not a number"},
        {EXPRESSION, "9223372036854775808", 1, "too large"},
        {EXPRESSION, "99999999999999999999", 1, "too large"},
        {EXPRESSION, "lambda x = x", 13, "expected ':' behind 'lambda'"},
        {EXPRESSION, "a if b", 7, "expected 'else'"},
        {EXPRESSION, "a + not b", 5, "'not' needs parentheses"},
        {EXPRESSION, "return", 1, "found the word 'return'"},
        {STATEMENT, "f(x) = 3", 1, "cannot be assigned to"},
        {STATEMENT, "(1 + x)[0] = 3", 1, "cannot be assigned to"},
        {STATEMENT, "a, 1 = x", 4, "cannot be assigned to"},
        {STATEMENT, "True = 1", 1, "cannot be assigned to"},
        {STATEMENT, "a, b += 1", 1, "a tuple takes no '+='"},
        {STATEMENT, "() = x", 1, "the tuple is empty"},
        {STATEMENT, "x = ", 4, "expected an expression, found the end"},
        {STATEMENT, "  # nothing", 12, "found nothing"},
        {STATEMENT, "x = a; y = b", 6, "there is no operator ';'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(cases[i].what, cases[i].text, cases[i].column, cases[i].message);
}

static void nesting_is_bounded(void **state)
{
    static const char *const parts[][3] = {
        {"(", "x", ")"},  {"[", "", "]"},  {"-", "x", ""},    {"x+", "x", ""},
        {"x**", "x", ""}, {"f(", "", ")"}, {"not ", "x", ""}, {"x if y else ", "x", ""},
        {"", "x", ".y"},  {"", "x", "()"}, {"x[", "0", "]"},  {"", "x", " * x"}};

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (int count = 60; count <= 60000; count *= 1000) {
            struct cx cx = {0};
            struct text text = text_new(&cx.arena);

            for (int k = 0; k < count; k++)
                text_add(&text, parts[i][0]);
            text_add(&text, parts[i][1]);
            for (int k = 0; k < count; k++)
                text_add(&text, parts[i][2]);

            struct source source = {.name = "t", .text = text.data, .length = text.length};
            struct expr *expr = expr_parse(&cx, &source, 0, source.length);

            if (count == 60) {
                assert_int_equal(diag_errors(&cx), 0);
                assert_true(expr->height <= EXPR_MAX_DEPTH);
            } else {
                assert_int_equal(diag_errors(&cx), 1);
                assert_non_null(strstr(cx.items[0].text, "nests more than 200 levels"));
            }
            arena_free(&cx.arena);
        }
    }
}

static void every_node_knows_its_text(void **state)
{
    struct parsed *p = parse(STATEMENT, "y = fc(x,\n  (a + b) * c) # end");
    const struct expr *call = p->stmt->value, *product;

    (void)state;
    assert_int_equal(call->kind, EXPR_CALL);
    product = call->items[1];
    assert_string_equal(stmt_source(&p->cx, p->stmt), "y = fc(x, (a + b) * c)");
    assert_string_equal(expr_source(&p->cx, call), "fc(x, (a + b) * c)");
    assert_string_equal(expr_source(&p->cx, product), "(a + b) * c");
    assert_string_equal(expr_source(&p->cx, product->a), "(a + b)");
    assert_string_equal(expr_source(&p->cx, product->b), "c");
    assert_int_equal(product->loc.line, 2);
    assert_int_equal(product->loc.column, 3);
    assert_int_equal(product->loc.length, 11);
    assert_int_equal(product->name_loc.column, 11);
    done(p);

    p = parse(EXPRESSION, "Linear(in_features=4, out_feature=3).weight[0:2]");
    assert_int_equal(p->expr->a->a->name_locs[1].column, 23);
    assert_int_equal(p->expr->a->a->name_locs[1].length, 11);
    assert_int_equal(p->expr->a->name_loc.column, 38);
    assert_int_equal(p->expr->loc.length, 48);
    assert_string_equal(expr_source(&p->cx, p->expr->items[0]), "0:2");
    done(p);

    p = parse(EXPRESSION, "f(\n  'a  # b', # c\n  d\n)");
    assert_string_equal(expr_source(&p->cx, p->expr), "f('a  # b', d)");
    done(p);
}

static void blocks_have_a_statement_a_line(void **state)
{
    static const char text[] =
        "\n  # first\n  y = f(x,\n    2) # tail\n\n  z = 'a # b'\r\n  w = 1 + \\\n    2\n  return y, z\n";
    struct source source = {.name = "t", .text = text, .length = sizeof text - 1};
    struct cx cx = {0};
    int count = 0;
    struct stmt **list = stmt_parse_block(&cx, &source, 0, source.length, &count);

    (void)state;
    assert_int_equal(diag_errors(&cx), 0);
    assert_int_equal(count, 4);
    assert_string_equal(stmt_source(&cx, list[0]), "y = f(x, 2)");
    assert_string_equal(stmt_source(&cx, list[1]), "z = 'a # b'");
    assert_int_equal(list[2]->value->kind, EXPR_BINARY);
    assert_int_equal(list[3]->kind, STMT_RETURN);
    assert_int_equal(list[3]->loc.line, 9);
    arena_free(&cx.arena);
}

static void blocks_say_every_fault(void **state)
{
    static const char text[] = "x = (1\ny = 2\nz = = 3\nw = 'a\nreturn ]\nreturn y\n";
    struct source source = {.name = "t", .text = text, .length = sizeof text - 1};
    struct cx cx = {0};
    int count = 0;

    (void)state;
    stmt_parse_block(&cx, &source, 0, source.length, &count);
    assert_int_equal(count, 6); /* what is at fault has a value that is bad */
    assert_int_equal(diag_errors(&cx), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(cx.items[i].loc.line, i == 0 ? 1 : i + 2);
    arena_free(&cx.arena);
}

/* Quotes, brackets and backslashes that the text ends in. */
static void blocks_end_with_their_text(void **state)
{
    static const char *const texts[] = {"x = 'a",    "x = (\ny = \"", "x = \\",      "x = 'a\\",
                                        "x = (\\\n", "x = [\n'a\\'",  "x = 1 # end", "x = (\n# end"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct source source = {.name = "t", .text = texts[i], .length = strlen(texts[i])};
        struct cx cx = {0};
        int count = 0;

        stmt_parse_block(&cx, &source, 0, source.length, &count);
        assert_true(diag_errors(&cx) > 0 || count == 1);
        arena_free(&cx.arena);
    }
}

static bool signature(struct cx *cx, const char *text, struct signature *out)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);

    *source = (struct source){.name = "t", .text = text, .length = strlen(text)};
    return signature_parse(cx, source, 0, source->length, out);
}

static void signatures_have_names_and_defaults(void **state)
{
    struct cx cx = {0};
    struct signature s;

    (void)state;
    assert_true(signature(&cx, "Block(dim, heads, dropout=0.0, sizes=(1, 2))", &s));
    assert_string_equal(s.name, "Block");
    assert_int_equal(s.count, 4);
    assert_true(s.has_args);
    assert_null(s.args[1].value);
    assert_string_equal(s.args[2].name, "dropout");
    assert_int_equal(s.args[2].loc.column, 19);
    assert_int_equal(s.args[3].value->kind, EXPR_TUPLE);
    assert_true(signature(&cx, "Block", &s));
    assert_false(s.has_args);
    assert_true(signature(
        &cx, "f(x: Tensor, *rest, mask: Optional[Tensor] = None, **options: Any) -> Tuple[Tensor, ...]", &s));
    assert_int_equal(s.count, 4);
    assert_int_equal(s.args[1].gather, GATHER_TUPLE);
    assert_true(s.args[2].keyword);
    assert_int_equal(s.args[2].value->kind, EXPR_NONE);
    assert_int_equal(s.args[3].gather, GATHER_DICT);
    assert_true(signature(&cx, "act()", &s));
    assert_true(s.has_args);
    assert_int_equal(s.count, 0);
    arena_free(&cx.arena);
}

/* What a block text is read as. */
static const char *print_block(struct cx *cx, struct source *source, const char *text)
{
    struct text out = text_new(&cx->arena);
    int count;

    *source = (struct source){.name = "t", .text = text, .length = strlen(text)};

    struct stmt **list = stmt_parse_block(cx, source, 0, source->length, &count);

    for (int i = 0; i < count; i++) {
        stmt_print(&out, list[i]);
        text_add(&out, "\n");
    }
    return out.data;
}

static void blocks_are_what_stands_deeper(void **state)
{
    static const char *const cases[][2] = {
        {"if a: b = c\nelif d:\n  e()\n  # no\n\nelse :\n    f()\n",
         "if a:\n    b = c\nelif d:\n    e()\nelse:\n    f()\n"},
        {"for i, (a, b) in enumerate(x):\n  if i:\n    continue\n  y = f(\n a)\nelse:\n  pass\nz",
         "for i, (a, b) in enumerate(x):\n    if i:\n        continue\n    y = f(a)\nelse:\n    pass\nz\n"},
        {"  with torch.no_grad():\n      \"\"\"two\n lines: (\n\"\"\"\n      del a, b\n  raise E(f'{x}') from e",
         "with torch.no_grad():\n    'two\\n lines: (\\n'\n    del (a, b)\nraise E(f'{x}')\n"},
        {"x: Tensor\ny: List[int] = [*a, b]\na = b = c\nassert x.shape[0] == 3, 'no'",
         "pass\ny = [*a, b]\na = b = c\nassert x.shape[0] == 3, 'no'\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cx cx = {0};
        struct source source, again;
        const char *once = print_block(&cx, &source, cases[i][0]);

        assert_string_equal(once, cases[i][1]);
        assert_string_equal(print_block(&cx, &again, once), once);
        assert_int_equal(diag_errors(&cx), 0);
        arena_free(&cx.arena);
    }
}

static void formatted_strings_and_comprehensions(void **state)
{
    (void)state;
    assert_prints(EXPRESSION, "f'a{i:02d}b{{}}' 'c{' \"d\"", "f'a{i:02d}b{{}}c{{d'");
    assert_prints(EXPRESSION, "f'{x[\"k\"]!r}{f\"{y}\"}'", "f'{x['k']!r}{f'{y}'}'");
    assert_prints(EXPRESSION, "rf'\\d{x}'", "f'\\\\d{x}'");
    assert_prints(EXPRESSION, "[a for b in c if d if e for a, _ in b]",
                  "[a for b in c if d if e for a, _ in b]");
    assert_prints(EXPRESSION, "sum(x * y for x, y in zip(a, b))", "sum((x * y) for x, y in zip(a, b))");
    assert_prints(EXPRESSION, "f(*a, b, *c[1:], **d)", "f(*a, b, *c[1:], **d)");
    assert_prints(EXPRESSION, "{'a': x, \"b\": [y]}", "{'a': x, 'b': [y]}");
    assert_prints(EXPRESSION, "'''a\n\"b'''", "'a\\n\"b'");
    assert_fails(EXPRESSION, "f'{x + }'", 7, "expected an expression");
    assert_fails(EXPRESSION, "f'{}'", 4, "expected an expression");
    assert_fails(EXPRESSION, "'''abc''", 1, "never closed");
}

static void functions_of_a_text(void **state)
{
    static const char text[] =
        "  @jit.export\n  def f(self, x: Tensor, *, y=2) -> Tensor:\n      'doc'\n      return x\n\n"
        "  # g\n  def g(): pass\n";
    struct cx cx = {0};
    struct source source = {.name = "t", .text = text, .length = sizeof text - 1};
    int count;
    struct def *defs = def_parse_all(&cx, &source, 0, source.length, &count);

    (void)state;
    assert_true(def_begins(&source, 0, source.length));
    assert_int_equal(diag_errors(&cx), 0);
    assert_int_equal(count, 2);
    assert_string_equal(defs[0].signature.name, "f");
    assert_int_equal(defs[0].signature.count, 2);
    assert_int_equal(defs[0].body.count, 2);
    assert_int_equal(defs[1].body.list[0]->kind, STMT_PASS);
    arena_free(&cx.arena);
}

static void signatures_that_are_wrong(void **state)
{
    static const char *const cases[][2] = {
        {"f(a, a)", "two arguments 'a'"},        {"f(a=1, b)", "'b' has no default"},
        {"f(*args, *more)", "there is one '*'"}, {"f(self, x)", "'self' is not written"},
        {"f(**all, x)", "nothing stands"},       {"f(x", "'(' is never closed"},
        {"f(*args=1)", "has no default"},        {"1f(x)", "is not a number"},
        {"f(x) y", "expected the end"},          {"lambda(x)", "expected a name"},
        {"f(in)", "expected the name"},          {"f(1)", "expected the name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cx cx = {0};
        struct signature s;

        assert_false(signature(&cx, cases[i][0], &s));
        assert_int_equal(diag_errors(&cx), 1);
        assert_non_null(strstr(cx.items[0].text, cases[i][1]));
        arena_free(&cx.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_in_python),
        cmocka_unit_test(primaries_are_read),
        cmocka_unit_test(numbers_are_pythons),
        cmocka_unit_test(strings_resolve_escapes),
        cmocka_unit_test(modules_repeat_and_follow_rules),
        cmocka_unit_test(statements_are_read),
        cmocka_unit_test(faults_have_places),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(every_node_knows_its_text),
        cmocka_unit_test(blocks_have_a_statement_a_line),
        cmocka_unit_test(blocks_say_every_fault),
        cmocka_unit_test(blocks_end_with_their_text),
        cmocka_unit_test(signatures_have_names_and_defaults),
        cmocka_unit_test(blocks_are_what_stands_deeper),
        cmocka_unit_test(formatted_strings_and_comprehensions),
        cmocka_unit_test(functions_of_a_text),
        cmocka_unit_test(signatures_that_are_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
