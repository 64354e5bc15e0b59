/* test_grammar.c - grammars with the tokenizers of tests/tokens: which tokens may come is what trying each of them says, and what is
 * written so matches. Which texts an automaton takes, tests/support/grammar.py looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"
#include "base/text.h"
#include "grammar/grammar.h"
#include "modc_beams.h"
#include "modc_grammar.h"
#include "tokenizer/tokenizer.h"

static struct options options;

enum { MOST_TOKENS = 120, MOST_VOCABULARY = 800, TEXT = 4096 };

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

/* Of each tokenizer and grammar; and every how many tokenizers. Under sanitizers a text takes thirty times as long. */
#if defined SANITIZED
enum { TEXTS = 4, EVERY = 5 };
#else
enum { TEXTS = 200, EVERY = 1 };
#endif

static const struct tokenizer *read_tokenizer(struct cx *cx, const char *name)
{
    const struct tokenizer *tokenizer = tokenizer_read(
        cx, (struct loc){0}, arena_format(&cx->arena, "tests/tokens/%s.json", name));

    diag_print(cx, stderr, DIAG_PLAIN);
    assert_non_null(tokenizer);
    return tokenizer_sorted(cx, tokenizer);
}

static struct modc_grammar *make(struct cx *cx, const struct tokenizer *tokenizer, bool schema,
                                 const char *text)
{
    const struct grammar_text pattern = {.text = text, .length = strlen(text)};
    struct source *source = ARENA_NEW(&cx->arena, struct source);
    struct modc_grammar *grammar;

    *source = (struct source){.name = "test", .text = text, .length = strlen(text)};
    grammar = schema ? grammar_of_schema(cx, "x", (struct loc){0}, source, GRAMMAR_DEPTH)
                     : grammar_of_regex(cx, "x", &pattern);
    if (grammar && !grammar_open_states(cx, grammar, tokenizer, (struct loc){0}))
        grammar = NULL;
    diag_print(cx, stderr, DIAG_PLAIN);
    return grammar;
}

/* ---- the plain definition: the whole text is decoded with each token behind it --------------------------------------- */

static int state_of(const struct modc_grammar *g, const char *text, size_t bytes)
{
    int state = MODC_GRAMMAR_BEGIN;

    for (size_t i = 0; i < bytes && state != 0; i++)
        state = g->next[state * g->classes + g->class_of[(unsigned char)text[i]]];
    return state;
}

static int state_of_ids(const struct modc_grammar *g, const int64_t *ids, int count, size_t *bytes)
{
    char text[TEXT];

    assert_int_equal(modc_decode(g->tokenizer, ids, count, MODC_RAW_BYTES, text, sizeof text, bytes),
                     MODC_OK);
    return state_of(g, text, *bytes);
}

/* A token may come that adds to the text what it can go on with and be finished behind; the first one may add nothing. */
static bool may_come(const struct modc_grammar *g, int64_t *ids, int count, int64_t id)
{
    size_t before, after;
    int state;

    if (modc_token_is_special(g->tokenizer, id))
        return false;
    ids[count] = id;
    state_of_ids(g, ids, count, &before);
    state = state_of_ids(g, ids, count + 1, &after);
    return state != 0 && (g->flags[state] & MODC_GRAMMAR_OPEN) != 0 && (after > before || count == 0);
}

static void check_mask(const struct modc_grammar *g, const int64_t *ids, int count, uint32_t state)
{
    const int vocabulary = g->tokenizer->vocabulary;
    int64_t copy[MOST_TOKENS + 1];
    uint32_t bits[MOST_VOCABULARY / 32 + 1], slow[MOST_VOCABULARY / 32 + 1];
    struct modc_tokenizer plain = *g->tokenizer;
    struct modc_grammar same = *g;
    const int found = modc_grammar_tokens(g, state, vocabulary, bits);

    memcpy(copy, ids, (size_t)count * sizeof *ids);
    plain.order = NULL;
    same.tokenizer = &plain;
    assert_int_equal(modc_grammar_tokens(&same, state, vocabulary, slow), found);
    for (int id = 0; id < vocabulary; id++) {
        assert_int_equal(bits[id / 32] >> (id % 32) & 1, slow[id / 32] >> (id % 32) & 1);
        assert_int_equal(bits[id / 32] >> (id % 32) & 1, may_come(g, copy, count, id));
    }
}

/* ---- texts of random rows ------------------------------------------------------------------------------------------- */

static uint64_t randoms;

static float random_score(void)
{
    randoms = randoms * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(randoms >> 33) / (double)(1u << 31) * 4 - 2);
}

/* One text; `checked`: each mask is. Returns whether it ended by itself. */
static bool write_text(const struct modc_grammar *g, struct modc_generation_options *o, uint64_t number,
                       bool checked)
{
    const int vocabulary = g->tokenizer->vocabulary +
                           3; /* a model may have more rows than there are tokens */
    const int64_t eos = o->eos_token_id.ids[0];
    static float scores[MOST_VOCABULARY];
    static uint64_t scratch[MOST_VOCABULARY];
    int64_t ids[MOST_TOKENS + 1], prompt = 5;
    struct modc_row row = {scores, vocabulary, scratch};
    struct modc_history history = {
        .prompt = &prompt, .prompt_count = 1, .ids = ids, .grammar = MODC_GRAMMAR_BEGIN};
    size_t bytes;
    int state;

    while (history.count < MOST_TOKENS) {
        int64_t id;

        if (checked)
            check_mask(g, ids, history.count, history.grammar);
        assert_int_equal(modc_grammar_state(g, &history), history.grammar);
        for (int i = 0; i < vocabulary; i++)
            scores[i] = random_score();
        if (history.count > 20) /* or few end */
            scores[eos] += 4;
        assert_int_equal(modc_next_token(o, &history, 1000, number, &row, &id), MODC_OK);
        if (id == eos)
            break;
        ids[history.count++] = id;
        history.grammar = modc_grammar_advance(g, history.grammar, id);
    }
    state = state_of_ids(g, ids, history.count, &bytes);
    assert_int_not_equal(state, 0);
    if (history.count < MOST_TOKENS)
        assert_true(g->flags[state] & MODC_GRAMMAR_ENDS);
    return history.count < MOST_TOKENS;
}

#define PERSON                                                                                               \
    "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", \"maxLength\": 9}, \"age\": "  \
    "{\"type\": \"integer\"}, \"of\": {\"anyOf\": [{\"type\": \"null\"}, {\"type\": \"array\", \"items\": "  \
    "{\"enum\": [\"the\", \"model\", 1.5]}, \"maxItems\": 4}]}}, \"required\": [\"name\"]}"

static const struct {
    bool schema;
    const char *text;
} grammars[] = {
    {false, "[a-z]+( [a-z]+)*"},
    {false, "(the|an?|model) [^ ]{2,6}\\.?"},
    {false, "[0-9]{4}-[0-9]{2}|(yes|no)*"},
    {false, "( ?[a-z])*[.!?]"},
    {false, " *the.*"},
    {true, PERSON},
};

/* Every tokenizer with every grammar that its tokens can spell. */
static void check_tokenizer(const char *name, uint64_t spelt)
{
    struct cx cx = {.options = &options};
    const struct tokenizer *tokenizer = read_tokenizer(&cx, name);
    const int64_t eos = tokenizer->table->vocabulary + 1;

    for (int i = 0; i < COUNT(grammars); i++) {
        struct modc_generation_options o;
        struct modc_grammar *grammar = make(&cx, tokenizer, grammars[i].schema, grammars[i].text);
        int ended = 0;

        assert_int_equal(grammar != NULL, spelt >> i & 1);
        if (!grammar)
            continue;
        modc_generation_defaults(&o);
        o.grammar = grammar;
        o.eos_token_id = (struct modc_ids){&eos, 1};
        o.do_sample = 1;
        o.temperature = 2;
        for (int k = 0; k < TEXTS; k++)
            ended += write_text(grammar, &o, (uint64_t)k, k < 2);
        assert_true(ended > TEXTS / 4);
        o.do_sample = 0;
        o.temperature = MODC_UNSET;
        write_text(grammar, &o, 0, true);
    }
    arena_free(&cx.arena);
}

static void test_tokenizers(void **state)
{
    static const char *const names[] = {"gpt2",    "llama2", "llama3",  "qwen2",   "o200k",
                                        "mistral", "gemma",  "roberta", "unigram", "narrow"};

    (void)state;
    for (int i = 0; i < COUNT(names); i += EVERY)
        check_tokenizer(names[i], 0x3f);
    check_tokenizer("spaces", 0x1f);
    check_tokenizer("bert", 0x1f);
    check_tokenizer("cased", 0x3f);
}

/* No more states than a text needs, also on the way: many counts would not fit else. */
static void test_states(void **state)
{
    static const struct {
        bool schema;
        const char *text;
        int states; /* with that of no text */
    } rows[] = {
        {false, "", 2},
        {false, "a", 3},
        {false, "(ab|cb|db)*", 3},
        {false, "(a|b)*abb", 5},
        {false, "[a-z]{1,1000}", 1002},
        {false, "[a-z]{0,20000}", 20002},
        {false, "(a?){300}", 302},
        {false, ".", 10},
        {true, "{\"type\": \"boolean\"}", 9},
        {true, "{\"type\": \"string\", \"maxLength\": 3000}", 27004},
        {true, "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 99999}", 7},
        {true, "{\"type\": \"number\", \"multipleOf\": 0.01}", 8},
        {true, "{\"type\": \"array\", \"items\": {\"$ref\": \"#\"}}", 16},
        {true, "{\"type\": \"object\", \"properties\": {\"default\": {\"$ref\": \"#\"}}}", 43},
        {true, "{}", 549},
    };
    struct cx cx = {.options = &options};
    const struct tokenizer *tokenizer = read_tokenizer(&cx, "gpt2");

    (void)state;
    for (int i = 0; i < COUNT(rows); i++)
        assert_int_equal(make(&cx, tokenizer, rows[i].schema, rows[i].text)->states, rows[i].states);
    arena_free(&cx.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_states), cmocka_unit_test(test_tokenizers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
