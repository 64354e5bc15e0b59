/* test_chat.c - blanks around braces, what becomes of values that are known, and the runtime's functions over texts. What models'
 * templates make of turns, tests/support/chats.py looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"
#include "emit/emit_chat.h"
#include "modc_template.h"
#include "template/chat.h"

static struct options options;

static const struct chat *read(struct cx *cx, const char *text)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);
    const struct chat *chat;

    *source = (struct source){.name = "none/test.jinja", .text = text, .length = strlen(text)};
    chat = chat_of_source(cx, source, NULL);
    diag_print(cx, stderr, DIAG_PLAIN);
    assert_non_null(chat);
    return chat;
}

/* The template makes this text of any turns. */
static void check_text(const char *template, const char *text)
{
    struct cx cx = {.options = &options};
    const struct chat *chat = read(&cx, template);
    const struct chat_step *step = chat->steps.count > 0 ? chat->steps.list[0] : NULL;

    if (step) {
        assert_int_equal(chat->steps.count, 1);
        assert_int_equal(step->kind, CHAT_STEP_PUT);
        assert_int_equal(step->expr->op, CHAT_OP_LITERAL);
    }
    assert_string_equal(step ? step->expr->text : "", text);
    arena_free(&cx.arena);
}

static void test_blanks(void **state)
{
    (void)state;
    check_text("", "");
    check_text("a\n", "a");
    check_text("a\n\n", "a\n");
    check_text("a\r\nb\r\n", "a\nb");
    check_text("a {{- 'b' -}} c", "abc");
    check_text("a\n  {% if true %}\n  b\n  {% endif %}\nc", "a\n  b\nc");
    check_text("a  {% if true %}b{% endif %}", "a  b");
    check_text("a\n  {%+ if true +%}\nb{% endif %}", "a\n  \nb");
    check_text("a\n  {# c #}\n  b", "a\n  b");
    check_text("a {#- c -#} b", "ab");
    check_text("{% if true -%}\n\n a{% endif %}", "a");
    check_text("  {% if true %}\n  {% endif %}\n b", " b");
    check_text("\n {{ 'a' }}\n", "\n a");
    check_text("{{ '}}' }}{{ \"%}\" }}", "}}%}");
    check_text("\xc2\xa0{%- if true %}a{% endif %}", "a");
}

static void test_known(void **state)
{
    (void)state;
    check_text("{{ 'a' ~ 1 ~ true ~ none }}", "a1TrueNone");
    check_text("{{ 'a' 'b' + 'c' }}", "abc");
    check_text("{{ '\\x41\\u00e9\\n\\q\\'' }}", "A\xc3\xa9\n\\q'");
    check_text("{{ 7 % 3 }} {{ (2 - 7) % 3 }} {{ 1 - 2 }}", "1 1 -1");
    check_text("{% if tools %}{{ tools[0].x }}{% else %}b{% endif %}", "b");
    check_text("{% if tools is defined and tools is none %}a{% endif %}", "a");
    check_text("{% if x is defined and x.y %}a{% endif %}{{ 'b' if x }}", "");
    check_text("{% set x = 'a' %}{% set x = x + 'b' %}{{ x }}{{ x | length }}", "ab2");
    check_text("{% set ns = namespace(a='x') %}{% set ns.a = ns.a + 'y' %}{{ ns.a }}", "xy");
    check_text("{{ 'b' in ['a', 'b'] }} {{ 'b' in 'abc' }} {{ 1 < 2 }} {{ not 1 == 2 }}",
               "True True True True");
    check_text("{{ ('a' or 'b') ~ ('' or 'b') ~ ('a' and 'b') }}", "abb");
    check_text("{{ y | default('a') }}{{ '' | default('b', true) }}", "ab");
    check_text("{{ 'abc'.startswith('ab') }} {{ 'x' is string }} {{ 1 is string }}", "True True False");
    check_text("{% for x in y %}{{ x }}{% endfor %}a", "a");
}

/* What is emitted has this in it. */
static void check_c(const char *template, const char *line)
{
    struct cx cx = {.options = &options};
    const char *text = emit_chat_source(&cx, "m", "m.yaml", read(&cx, template));

    if (!strstr(text, line))
        fprintf(stderr, "%s", text);
    assert_non_null(strstr(text, line));
    arena_free(&cx.arena);
}

static void test_c(void **state)
{
    (void)state;
    check_c("{% for m in messages %}{{ m.role }}{% endfor %}", "        modc_put(p, m->role);\n");
    check_c("{% if messages[0].name is not defined %}a{% endif %}",
            "    if (modc_turn_at(p, messages, 0)->name.data == NULL)\n");
    check_c("{% if messages | length > 2 and not add_generation_prompt %}a{% endif %}",
            "    if (messages.count > 2 && !p->add_generation_prompt)\n");
    check_c(
        "{% if not (messages[0].role == 'a' or messages | length != 2) %}a{% endif %}",
        "    if (!(modc_same(modc_turn_at(p, messages, 0)->role, MODC_TEXT(\"a\")) || messages.count != 2))\n");
    check_c("{% set p = messages[0].content %}{{ p }}{{ p }}", "    const struct modc_text p_ = ");
    check_c("{% set int = messages | length %}{{ int }}{{ int }}", "    const int int_ = messages.count;\n");
    check_c("{{ '?\?/' }}{{ messages[0].role }}", "MODC_TEXT(\"?\\077/\")");
}

static struct modc_text text_of(const char *text)
{
    return (struct modc_text){text, strlen(text)};
}

static void check_same(struct modc_text text, const char *expected)
{
    assert_int_equal(text.bytes, strlen(expected));
    assert_memory_equal(text.data, expected, text.bytes);
}

static void test_texts(void **state)
{
    struct modc_prompt prompt = {0};

    (void)state;
    check_same(modc_strip(text_of(" \t\xe3\x80\x80 a b\xc2\xa0\n")), "a b");
    check_same(modc_strip(text_of("\xe2\x80\x8b")), "\xe2\x80\x8b"); /* U+200B is no space */
    check_same(modc_strip(text_of(" ")), "");
    check_same(modc_strip_left_of(text_of("xyxa"), text_of("yx")), "a");
    check_same(modc_strip_right_of(text_of("a\xc3\xa9"), text_of("\xc3\xa9")), "a");
    check_same(modc_split_part(&prompt, text_of("a--b---c"), text_of("--"), 1), "b");
    check_same(modc_split_part(&prompt, text_of("a--b---c"), text_of("--"), -1), "-c");
    check_same(modc_split_part(&prompt, text_of(""), text_of("--"), 0), "");
    assert_int_equal(prompt.status, MODC_OK);
    check_same(modc_split_part(&prompt, text_of("a"), text_of("--"), 1), "");
    assert_int_equal(prompt.status, MODC_ARGUMENT);
    assert_int_equal(modc_characters(text_of("a\xc3\xa9\xf0\x9f\x99\x82")), 3);
    assert_int_equal(modc_modulo(-5, 3), 1);
    assert_true(modc_contains(text_of("aab"), text_of("ab")) && modc_contains(text_of(""), text_of("")));
    assert_false(modc_same(MODC_NO_TEXT, text_of("")));
}

static void test_turns(void **state)
{
    static const struct modc_turn turns[4];
    const struct modc_turn_list all = {turns, 4, 1}, back = modc_turns_reversed(all);
    const struct modc_turn_list part = modc_turns_slice(back, 1, -1);

    (void)state;
    assert_ptr_equal(back.first, turns + 3);
    assert_ptr_equal(part.first, turns + 2);
    assert_int_equal(part.count, 2);
    assert_int_equal(modc_turns_slice(all, 3, 2).count, 0);
    assert_int_equal(modc_turns_slice(all, -9, MODC_END).count, 4);
    assert_true(modc_has_turn(all, -4) && !modc_has_turn(all, -5) && !modc_has_neighbour(all, -1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blanks), cmocka_unit_test(test_known), cmocka_unit_test(test_c),
        cmocka_unit_test(test_texts),  cmocka_unit_test(test_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
