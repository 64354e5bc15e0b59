/* grammar.c - what models write by their grammars (tests/api/grammar.yaml, grammar_words.yaml): by samples, by beams, where a sequence
 * was forked, and as trying every token would have it. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "spaced.h"
#include "written.h"

enum { PROMPT = 3, MOST = 60, ROWS = 200, TEXT = 4096 };

static MODC_ALIGNED char block[SPACED_GENERATOR_BYTES > WRITTEN_GENERATOR_BYTES ? SPACED_GENERATOR_BYTES
                                                                                : WRITTEN_GENERATOR_BYTES];
static MODC_ALIGNED char beam_memory[1 << 20];
static struct modc_generator gen;
static const int64_t prompt[PROMPT] = {5, 300, 17};
static int64_t ids[ROWS * MOST];
static int lengths[ROWS];
static enum modc_finish finishes[ROWS];

/* ---- the plain definition -------------------------------------------------------------------------------------------- */

/* Where the whole text stands, and how long it is. */
static int state_of(const struct modc_grammar *g, const int64_t *list, int count, size_t *bytes)
{
    static char text[TEXT];
    int state = MODC_GRAMMAR_BEGIN;

    CHECK_OK(modc_decode(g->tokenizer, list, count, MODC_RAW_BYTES, text, sizeof text, bytes));
    for (size_t i = 0; i < *bytes; i++)
        state = g->next[state * g->classes + g->class_of[(unsigned char)text[i]]];
    return state;
}

/* Of a text without its EOS. */
static void check_text(const struct modc_grammar *g, const int64_t *list, int count, enum modc_finish finish)
{
    size_t bytes;
    const int state = state_of(g, list, finish == MODC_FINISH_EOS ? count - 1 : count, &bytes);

    CHECK(state != 0);
    CHECK(finish == MODC_FINISH_EOS || finish == MODC_FINISH_LENGTH);
    CHECK(finish != MODC_FINISH_EOS || (g->flags[state] & MODC_GRAMMAR_ENDS) != 0);
}

/* A processor that tries every token. */
static int try_tokens(void *user, const struct modc_history *history, float *scores, int vocabulary)
{
    const struct modc_generation_options *options = user;
    const struct modc_grammar *g = gen.table->grammars[options->seed];
    int64_t list[MOST + 1];
    size_t before, after;
    const int state = state_of(g, history->ids, history->count, &before);

    memcpy(list, history->ids, (size_t)history->count * sizeof *list);
    for (int id = 0; id < vocabulary; id++) {
        int next;

        list[history->count] = id;
        next = state_of(g, list, history->count + 1, &after);
        if (modc_ids_have(options->eos_token_id, id)
                ? (g->flags[state] & MODC_GRAMMAR_ENDS) == 0
                : next == 0 || id >= g->tokenizer->vocabulary || modc_token_is_special(g->tokenizer, id) ||
                      (after == before && history->count > 0))
            scores[id] = -INFINITY;
    }
    return 0;
}

/* ---- what is written ------------------------------------------------------------------------------------------------- */

static void write_rows(struct modc_generation_options *options, int rows)
{
    const struct modc_prompts prompts = {.ids = prompt, .count = PROMPT};
    struct modc_responses out = {.ids = ids, .lengths = lengths, .finishes = finishes, .room = MOST};

    options->max_new_tokens = MOST;
    options->num_return_sequences = rows;
    CHECK_OK(
        modc_generator_write(&gen, &prompts, options, &out, NULL, NULL, beam_memory, sizeof beam_memory));
}

static int check_rows(const struct modc_grammar *g, int rows)
{
    int ended = 0;

    for (int i = 0; i < rows; i++) {
        check_text(g, ids + i * MOST, lengths[i], finishes[i]);
        ended += finishes[i] == MODC_FINISH_EOS;
    }
    return ended;
}

static void test_grammar(int number)
{
    const struct modc_grammar *g = gen.table->grammars[number];
    struct modc_generation_options options = gen.options, plain;
    int64_t best[MOST];
    int length;

    options.grammar = g;
    options.do_sample = 1;
    options.temperature = 2;
    write_rows(&options, ROWS);
    CHECK(check_rows(g, ROWS) > 0);

    options = gen.options;
    options.grammar = g;
    options.num_beams = 4;
    write_rows(&options, 3);
    check_rows(g, 3);

    options.num_beams = 1;
    write_rows(&options, 1);
    check_rows(g, 1);
    length = lengths[0];
    memcpy(best, ids, sizeof best);
    plain = gen.options;
    plain.grammar = NULL;
    plain.processor = try_tokens;
    plain.user = &plain;
    plain.seed = (uint64_t)number;
    write_rows(&plain, 1);
    CHECK(length == lengths[0] && memcmp(best, ids, (size_t)length * sizeof *ids) == 0);
}

/* Both go on from where the first one was. */
static void test_fork(const struct modc_grammar *g)
{
    struct modc_generation_options options = gen.options;
    struct modc_event events[16];
    int sequence, other, count, steps = 0;

    options.grammar = g;
    options.do_sample = 1;
    options.temperature = 2;
    options.max_new_tokens = MOST;
    CHECK_OK(modc_generator_begin(&gen, prompt, PROMPT, &options, 0, &sequence));
    while (modc_generator_active(&gen) > 0 && steps++ < 5)
        CHECK_OK(modc_generator_step(&gen, events, 16, &count));
    CHECK_OK(modc_generator_fork(&gen, sequence, 1, &other));
    while (modc_generator_active(&gen) > 0) {
        CHECK_OK(modc_generator_step(&gen, events, 16, &count));
        for (int i = 0; i < count; i++) {
            int tokens, given;
            const int64_t *list = modc_generator_ids(&gen, events[i].sequence, &tokens, &given);

            if (events[i].finish != MODC_FINISH_NONE)
                check_text(g, list + given, tokens - given, events[i].finish);
        }
    }
    CHECK_OK(modc_generator_end(&gen, sequence));
    CHECK_OK(modc_generator_end(&gen, other));
}

static void test_options(void)
{
    struct modc_generation_options options = gen.options;
    int sequence;

    CHECK(modc_generation_grammar(gen.table, "maybe") == gen.table->grammars[2]);
    CHECK(modc_generation_grammar(gen.table, "none") == NULL);
    options.grammar = modc_generation_grammar(gen.table, "maybe");
    options.min_new_tokens = 30; /* which no text of the grammar has */
    write_rows(&options, 1);
    CHECK(finishes[0] == MODC_FINISH_EOS && lengths[0] < 30);
    check_rows(options.grammar, 1);
    options.ignore_eos = true;
    CHECK(modc_generator_begin(&gen, prompt, PROMPT, &options, 0, &sequence) == MODC_ARGUMENT);
    CHECK(strstr(gen.message, "grammar is set") != NULL);
}

static void test_model(void)
{
    for (int i = 0; i < gen.table->grammar_count; i++) {
        test_grammar(i);
        test_fork(gen.table->grammars[i]);
    }
    test_options();
}

/* Of random weights, which both models have room for. */
#define RUN(name, NAME)                                                                                      \
    do {                                                                                                     \
        static MODC_ALIGNED char params_block[NAME##_PARAM_BYTES], packed[NAME##_PACKED_BYTES];              \
        static MODC_ALIGNED char workspace[NAME##_WORKSPACE_BYTES];                                          \
        static struct name##_params params;                                                                  \
        static struct name net;                                                                              \
                                                                                                             \
        CHECK_OK(name##_bind(&params, params_block, sizeof params_block));                                   \
        CHECK_OK(name##_reset(&params, 3));                                                                  \
        CHECK_OK(name##_pack(&params, packed, sizeof packed));                                               \
        CHECK_OK(name##_init(&net, &params, workspace, sizeof workspace));                                   \
        CHECK_OK(name##_generator_init(&gen, &net, block, sizeof block));                                    \
        test_model();                                                                                        \
    } while (0)

int main(void)
{
    RUN(written, WRITTEN);
    CHECK(gen.options.grammar == NULL);
    RUN(spaced, SPACED);
    CHECK(gen.options.grammar == &spaced_grammar_person);
    return 0;
}
