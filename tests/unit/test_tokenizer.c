/* test_tokenizer.c - JSON, patterns, how merges are kept, and what the runtime makes of small tables. What models' tokenizers make of
 * texts, tests/support/tokens.py looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/options.h"
#include "base/text.h"
#include "modc_tokenizer.h"
#include "modc_tokenizer_trie.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trie.h"

static struct options options;

static const struct json *parse(struct cx *cx, const char *text)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);

    *source = (struct source){.name = "test.json", .text = text, .length = strlen(text)};
    return json_read(cx, source);
}

static const struct modc_tokenizer *read(struct cx *cx, const char *text)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);
    const struct tokenizer *tokenizer;

    *source = (struct source){.name = "none/test.json", .text = text, .length = strlen(text)};
    tokenizer = tokenizer_of_source(cx, source);
    diag_print(cx, stderr, DIAG_PLAIN);
    assert_non_null(tokenizer);
    return tokenizer->table;
}

/* The ids of a text as digits with spaces between them. */
static const char *ids_of(const struct modc_tokenizer *t, const char *text)
{
    static char line[512];
    static MODC_ALIGNED char workspace[1 << 16];
    int64_t ids[64];
    struct modc_tokens tokens = {ids, NULL, 64, 0};
    size_t at = 0;

    assert_int_equal(modc_encode(t, text, strlen(text), 0, &tokens, workspace, sizeof workspace), MODC_OK);
    line[0] = '\0';
    for (int i = 0; i < tokens.count; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%lld", i ? " " : "", (long long)ids[i]);
    return line;
}

static void test_json(void **state)
{
    struct cx cx = {.options = &options};
    const struct json *json = parse(
        &cx, " {\"a\": [1, -2.5e3, true, null], \"\\u00e9\\ud83d\\ude42\\n\": \"x\\u0000y\", \"b\": {}} ");

    (void)state;
    assert_non_null(json);
    assert_int_equal(json->count, 3);
    assert_true(json_member(json, "a")->items[1].number == -2500);
    assert_int_equal(json_member(json, "a")->items[2].kind, JSON_TRUE);
    assert_true(json_is_text(&json->keys[1], "\xc3\xa9\xf0\x9f\x99\x82\n"));
    assert_int_equal(json->items[1].bytes, 3);
    assert_memory_equal(json->items[1].text, "x\0y", 3);
    assert_int_equal(json->items[1].at, 56);
    assert_null(json_member(json, "c"));
    assert_null(json_member(parse(&cx, "{\"a\": null}"), "a"));
    assert_int_equal(diag_errors(&cx), 0);
    assert_null(parse(&cx, ""));
    assert_null(parse(&cx, "01"));
    assert_null(parse(&cx, "\"\xff\""));
    assert_null(parse(&cx, "[1,]"));
    arena_free(&cx.arena);
}

#define SPLIT(pattern)                                                                                                             \
    "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"a\": 1, \"b\": 2, \"aa\": 3, \"ab\": 4, " \
    "\"1\": 5, \"12\": 6, \" \": 7}}, \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Isolated\", \"pattern\": "          \
    "{\"Regex\": \"" pattern "\"}}}"

static void test_patterns(void **state)
{
    static const struct {
        const char *json, *text, *ids;
    } rows[] = {
        {SPLIT("a"), "aab", "1 1 2"},
        {SPLIT("a+"), "aab", "3 2"},
        {SPLIT("a*b"), "aab", "0"},
        {SPLIT("a?b"), "aab", "1 4"},
        {SPLIT("[^b]|b"), "ab ", "1 2 7"},
        {SPLIT("\\\\p{N}{1,2}"), "121", "6 5"},
        {SPLIT("(?:a|b)?1"), "ab12", "1 0 0"},
        {SPLIT("(?i:A)(?!b)"), "aab", "1 4"},
        {SPLIT("a++a|a"), "aa", "1 1"},
        {SPLIT("[a-z&&[^b]]+"), "aab", "3 2"},
        {SPLIT("\\\\s+(?!\\\\S)|a"), "a  a", "1 7 7 1"},
        {SPLIT("\\\\x{61}\\\\u0062"), "abab", "4 4"},
    };
    struct cx cx = {.options = &options};

    (void)state;
    for (int i = 0; i < COUNT(rows); i++)
        assert_string_equal(ids_of(read(&cx, rows[i].json), rows[i].text), rows[i].ids);
    arena_free(&cx.arena);
}

#define BPE(merges)                                                                                                                     \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"ab\": 3, \"bc\": 4, \"abc\": 5}, \"merges\": [" merges \
    "]}}"

static void test_merges(void **state)
{
    struct cx cx = {.options = &options};
    const struct modc_tokenizer *in_order = read(&cx, BPE("\"a b\", \"b c\", \"ab c\""));
    const struct modc_tokenizer *ranked = read(&cx, BPE("\"b c\", \"a b\", \"a bc\""));
    const struct modc_tokenizer *all = read(&cx, BPE("\"a b\", \"b c\", \"a bc\", \"ab c\""));
    const struct modc_tokenizer *listed = read(&cx, BPE("\"b c\", \"a b\", \"ab c\", \"a bc\""));

    (void)state;
    assert_true(in_order->lefts && !in_order->ranks && !in_order->split_starts);
    assert_true(ranked->lefts && ranked->ranks && !ranked->split_starts);
    assert_true(!all->lefts && !all->ranks && !all->split_starts);
    assert_true(!listed->lefts && listed->split_starts);
    assert_string_equal(ids_of(in_order, "abc"), "5");
    assert_string_equal(ids_of(ranked, "abc"), "5");
    assert_string_equal(ids_of(in_order, "abbc"), "3 4");
    assert_string_equal(ids_of(ranked, "abcb"), "5 1");
    assert_string_equal(ids_of(all, "aabcbc"), "0 5 4");
    assert_string_equal(ids_of(listed, "xabcx"), "5"); /* what is in no vocabulary is left out */
    arena_free(&cx.arena);
}

/* Less workspace than a long piece needs. */
static void test_workspace(void **state)
{
    static char text[3000];
    static MODC_ALIGNED char workspace[sizeof text * 48];
    struct cx cx = {.options = &options};
    const struct modc_tokenizer *t = read(&cx, BPE("\"a b\", \"b c\", \"ab c\""));
    int64_t ids[sizeof text];
    struct modc_tokens tokens = {ids, NULL, sizeof text, 0};

    (void)state;
    memset(text, 'a', sizeof text);
    assert_true(modc_encode_bytes(t, sizeof text) <= sizeof workspace);
    assert_int_equal(modc_encode(t, text, sizeof text, 0, &tokens, workspace, sizeof text), MODC_WORKSPACE);
    assert_int_equal(
        modc_encode(t, text, sizeof text, 0, &tokens, workspace, modc_encode_bytes(t, sizeof text)), MODC_OK);
    assert_int_equal(tokens.count, sizeof text);
    arena_free(&cx.arena);
}

/* Every text is found with its value, and none but these: with bytes of 0, texts that others begin with, and large values. */
static void test_trie(void **state)
{
    enum { COUNT_OF_KEYS = 3000, LONGEST = 6 };
    static unsigned char bytes[COUNT_OF_KEYS][LONGEST];
    static struct trie_key keys[COUNT_OF_KEYS + 1];
    struct cx cx = {.options = &options};
    int units = 0;
    const uint32_t *trie = trie_build(&cx.arena, keys, 0, &units);

    (void)state;
    assert_int_equal(modc_trie_value(trie, modc_trie_walk(trie, trie[0], bytes[0], 1)), -1);
    assert_int_equal(modc_trie_value(trie, trie[0]), -1);
    for (uint32_t i = 0; i < COUNT_OF_KEYS;
         i++) { /* of two digits to the base 3, and one to the base 256, several times */
        const uint32_t digits[LONGEST] = {i % 256, i / 256 % 3, i / 768, 0, i % 7, 255};

        for (int k = 0; k < LONGEST; k++)
            bytes[i][k] = (unsigned char)digits[k];
        keys[i] = (struct trie_key){bytes[i], i % 3 == 0 ? LONGEST : 3, i % 5 == 0 ? 0x7fffffff - i : i};
    }
    trie = trie_build(&cx.arena, keys, COUNT_OF_KEYS, &units);
    assert_non_null(trie);
    assert_in_range(units, COUNT_OF_KEYS, 4 * LONGEST * COUNT_OF_KEYS);
    for (uint32_t i = 0; i < COUNT_OF_KEYS; i++) {
        const uint32_t value = i % 5 == 0 ? 0x7fffffff - i : i;
        const uint32_t three = modc_trie_walk(trie, trie[0], bytes[i], 3);
        const uint32_t all = modc_trie_walk(trie, three, bytes[i] + 3, LONGEST - 3);

        assert_int_equal(modc_trie_value(trie, trie[0]), -1);
        assert_int_equal(modc_trie_value(trie, modc_trie_walk(trie, trie[0], bytes[i], 2)), -1);
        assert_int_equal(modc_trie_value(trie, three), i % 3 == 0 ? -1 : (int32_t)value);
        assert_int_equal(modc_trie_value(trie, all), i % 3 == 0 ? (int32_t)value : -1);
        assert_int_equal(modc_trie_walk(trie, all, bytes[i], 1), MODC_TRIE_NOWHERE);
    }
    arena_free(&cx.arena);
}

/* As many units as an offset reaches, and no more. */
static void test_trie_limit(void **state)
{
    enum { MOST = 1 << 21 };
    struct cx cx = {.options = &options};
    static const unsigned char bytes[MOST + 1];
    struct trie_key key[2] = {{bytes, MOST / 2, 0}};
    int units;

    (void)state;
    assert_non_null(trie_build(&cx.arena, key, 1, &units));
    key[0].count = MOST + 1;
    assert_null(trie_build(&cx.arena, key, 1, &units));
    arena_free(&cx.arena);
}

/* What a step takes away from between two characters makes these neighbours, whether offsets are asked for or not. */
static void test_neighbours(void **state)
{
    static const char text[] = "ae\x01\xcc\x81"
                               "a\xc3\xa9\x01\x01\xcc\xa7";
    static MODC_ALIGNED char workspace[1 << 16];
    struct cx cx = {.options = &options};
    const struct modc_tokenizer *t = read(
        &cx,
        "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"BertNormalizer\", "
        "\"handle_chinese_chars\": false, \"strip_accents\": false, \"lowercase\": false}, {\"type\": \"NFC\"}]}, "
        "\"model\": {\"type\": \"BPE\", \"unk_token\": \"a\", \"merges\": [], "
        "\"vocab\": {\"a\": 0, \"e\": 1, \"\\u0301\": 2, \"\\u00e9\": 3, \"\\u0327\": 4, \"\\u0229\": 5}}}");
    struct modc_span spans[16];
    int64_t ids[16];
    struct modc_tokens tokens = {ids, spans, 16, 0};

    (void)state;
    assert_string_equal(ids_of(t, text), "0 3 0 5 2");
    assert_int_equal(modc_encode(t, text, sizeof text - 1, 0, &tokens, workspace, sizeof workspace), MODC_OK);
    assert_int_equal(tokens.count, 5);
    assert_int_equal(ids[1], 3);
    assert_int_equal(ids[3], 5);
    arena_free(&cx.arena);
}

/* ---- maps of characters ------------------------------------------------------------------------------------------ */

/* A tokenizer whose normalizer is a map of characters: units of a double array, then texts. */
static const char *json_of_map(struct cx *cx, const uint32_t *units, int count, const char *texts)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct text bytes = text_new(&cx->arena), json = text_new(&cx->arena);

    for (int i = -1; i < count; i++) {
        const uint32_t unit = i < 0 ? 4 * (uint32_t)count : units[i];
        const unsigned char four[] = {unit & 255, unit >> 8 & 255, unit >> 16 & 255, unit >> 24};

        text_add_bytes(&bytes, four, sizeof four);
    }
    text_add(&bytes, texts);
    while (bytes.length % 3 != 0)
        text_add_bytes(&bytes, "", 1);
    text_add(
        &json,
        "{\"model\": {\"type\": \"BPE\", \"unk_token\": \"a\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}, "
        "\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"");
    for (size_t i = 0; i < bytes.length; i += 3) {
        const unsigned char *s = (const unsigned char *)bytes.data + i;
        const char four[] = {digits[s[0] >> 2], digits[(s[0] & 3) << 4 | s[1] >> 4],
                             digits[(s[1] & 15) << 2 | s[2] >> 6], digits[s[2] & 63]};

        text_add_bytes(&json, four, sizeof four);
    }
    text_add(&json, "\"}}");
    return json.data;
}

/* What stands behind a unit begins at a base, of which a unit says how it differs from the unit's own place. */
static uint32_t unit_of(uint32_t at, uint32_t base, uint32_t label)
{
    return (at ^ base) << 10 | label;
}

/* A byte that is no UTF-8 is found as U+FFFD, three bytes of a map: it grows more than these. */
static void test_map_of_no_character(void **state)
{
    static const unsigned char key[] = {0xd8, 0x80, 0xef, 0xbf, 0xbd}; /* U+0600, U+FFFD */
    static uint32_t units[256 * (sizeof key + 1) + 256];
    static MODC_ALIGNED char workspace[1 << 16];
    struct cx cx = {.options = &options};
    char texts[501] = "";
    int64_t ids[600];
    struct modc_tokens tokens = {ids, NULL, 600, 0};
    const struct modc_tokenizer *t;
    uint32_t at = 0, base = 256, label = 0;

    (void)state;
    for (size_t i = 0; i < sizeof key; i++, base += 256) {
        units[at] = unit_of(at, base, label);
        label = key[i];
        at = base ^ label;
    }
    units[at] = unit_of(at, base, label) | 1u << 8;
    units[base] = 1u << 31;
    memset(texts, 'b', sizeof texts - 1);
    t = read(&cx, json_of_map(&cx, units, sizeof units / sizeof *units, texts));
    assert_true(modc_encode_bytes(t, 3) <= sizeof workspace);
    assert_int_equal(modc_encode(t, "\xd8\x80\xff", 3, 0, &tokens, workspace, modc_encode_bytes(t, 3)),
                     MODC_OK);
    assert_int_equal(tokens.count, sizeof texts - 1);
    assert_int_equal(ids[0], 1);
    arena_free(&cx.arena);
}

/* A double array that leads back into itself, with millions of keys that become parts of one text. */
static void test_map_without_end(void **state)
{
    enum { UNITS = 512, TEXT = 50000 };
    static uint32_t units[UNITS];
    static char texts[TEXT + 1];
    struct cx cx = {.options = &options};
    struct source source = {.name = "none/test.json"};

    (void)state;
    units[0] = unit_of(0, 256, 0);
    for (uint32_t label = 1; label < 256; label++)
        units[256 + label] = label < 128 ? unit_of(256 + label, 256, label)
                                         : unit_of(256 + label, label, label) | 1u << 8;
    for (uint32_t label = 128; label < 256; label++)
        units[label] = 1u << 31 | (label - 128) * (TEXT / 128);
    memset(texts, 'b', TEXT);
    source.text = json_of_map(&cx, units, UNITS, texts);
    source.length = strlen(source.text);
    assert_null(tokenizer_of_source(&cx, &source));
    assert_int_equal(diag_errors(&cx), 1);
    assert_non_null(strstr(cx.items[0].text, "it has too many characters"));
    arena_free(&cx.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_merges),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_trie),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_trie_limit),
        cmocka_unit_test(test_map_of_no_character),
        cmocka_unit_test(test_map_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
