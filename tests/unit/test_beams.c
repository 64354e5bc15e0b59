/* test_beams.c - beam search, and greedy generation beside it, against transformers (tests/oracle/sampling.py); drawn beams against
 * the probabilities of draws without replacement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "modc_beams.h"
#include "sampling.h"

enum { MAX_BEAMS = 5, MAX_NEW = 24 };

static _Alignas(8) char block[4096];
static float logits[MAX_BEAMS][MAX_VOCABULARY];
static float *const rows[MAX_BEAMS] = {logits[0], logits[1], logits[2], logits[3], logits[4]};

static uint32_t mixed(uint32_t value)
{
    value = (value ^ value >> 16) * 0x7feb352du;
    value = (value ^ value >> 15) * 0x846ca68bu;
    return value ^ value >> 16;
}

/* The model of tests/oracle/sampling.py: logits by the last two tokens and the length. */
static void compute_logits(uint32_t seed, const struct modc_history *history, int vocabulary, float *row)
{
    const int length = history->prompt_count + history->count;
    uint32_t numbers[3] = {0, 0, (uint32_t)length}, at = mixed(seed);

    for (int i = 0; i < 2 && i < length; i++) {
        const int from = length - 1 - i;

        numbers[i] = (uint32_t)(from < history->prompt_count ? history->prompt[from]
                                                             : history->ids[from - history->prompt_count]);
    }
    for (int i = 0; i < 3; i++)
        at = mixed(at + numbers[i] + 1);
    for (int v = 0; v < vocabulary; v++)
        row[v] = (float)(mixed(at + (uint32_t)v + 1) >> 12) / 131072 - 4;
}

struct search {
    struct modc_generation_options options;
    int64_t prompt[MAX_IDS];
    struct modc_history history;
    uint32_t seed;
    int vocabulary, max_length;
};

static void compute_rows(const struct search *s, const struct modc_beams *beams)
{
    for (int w = 0; w < (beams->length == 0 ? 1 : beams->width); w++) {
        struct modc_history history = s->history;
        const struct modc_ids running = modc_beams_running(beams, w);

        history.ids = running.ids;
        history.count = beams->length == 0 ? 0 : running.count;
        compute_logits(s->seed, &history, s->vocabulary, logits[w]);
    }
}

/* The beams' memory, with nothing behind it. */
static void *begin(const struct search *s, struct modc_beams *beams, uint64_t sequence)
{
    const size_t bytes = modc_beams_bytes(&s->options, s->history.prompt_count, s->max_length, s->vocabulary);
    void *memory = malloc(bytes);

    assert_int_equal(modc_beams_begin(beams, &s->options, &s->history, s->max_length, s->vocabulary, sequence,
                                      memory, bytes),
                     MODC_OK);
    return memory;
}

/* Parents and tokens say what became of each beam. */
static void check_parents(const struct modc_beams *beams, int64_t before[MAX_BEAMS][MAX_NEW])
{
    for (int w = 0; w < beams->width; w++) {
        const struct modc_ids running = modc_beams_running(beams, w);

        assert_memory_equal(running.ids, before[beams->parents[w]],
                            (size_t)(beams->length - 1) * sizeof *running.ids);
        assert_true(running.ids[beams->length - 1] == beams->tokens[w]);
    }
    for (int w = 0; w < beams->width; w++)
        memcpy(before[w], modc_beams_running(beams, w).ids, (size_t)beams->length * sizeof(int64_t));
}

static int check_beams(struct search *s, const struct case_line *c)
{
    int64_t before[MAX_BEAMS][MAX_NEW];
    struct modc_beams beams;
    void *memory = begin(s, &beams, 0);
    char *at = c->fields[4];
    int bad = 0;

    while (beams.goes_on) {
        compute_rows(s, &beams);
        if (modc_beams_step(&beams, rows) != MODC_OK)
            fail_msg("beams.txt:%d: step %d fails", c->number, beams.length);
        check_parents(&beams, before);
    }
    assert_int_equal(modc_beams_step(&beams, rows), MODC_ARGUMENT);
    for (int i = 0; i < s->options.num_return_sequences; i++) {
        char *end = at + strcspn(at, ","), *rest;
        const bool last = *end == '\0';
        int64_t expected[MAX_IDS];
        struct modc_ids found = {NULL, 0};
        float score = 0, wanted;
        int count;

        *end = '\0';
        wanted = strtof(at, &rest);
        count = read_ids(rest + strspn(rest, " "), expected);
        if (!modc_beams_result(&beams, i, &found, &score) || found.count != count ||
            memcmp(found.ids, expected, (size_t)count * sizeof *expected) != 0 ||
            fabsf(score - wanted) > 1e-4f * (1 + fabsf(wanted))) {
            print_error("beams.txt:%d: sequence %d: %d tokens of %g, not %d of %g\n", c->number, i,
                        found.count, (double)score, count, (double)wanted);
            bad++;
        }
        at = last ? end : end + 1;
    }
    assert_true(*at == '\0');
    free(memory);
    return bad;
}

static int check_greedy(struct search *s, const struct case_line *c)
{
    static _Alignas(8) char scratch[MODC_SAMPLING_BYTES(MAX_VOCABULARY)];
    int64_t expected[MAX_IDS], found[MAX_NEW];
    const int count = read_ids(c->fields[4], expected);
    struct modc_history history = s->history;
    struct modc_row row = {logits[0], s->vocabulary, scratch};

    history.ids = found;
    while (history.prompt_count + history.count < s->max_length) {
        compute_logits(s->seed, &history, s->vocabulary, logits[0]);
        assert_int_equal(
            modc_next_token(&s->options, &history, s->max_length, 0, &row, &found[history.count]), MODC_OK);
        history.count++;
        if (modc_ids_have(modc_generation_eos(&s->options), found[history.count - 1]))
            break;
    }
    if (history.count == count && memcmp(found, expected, (size_t)count * sizeof *found) == 0)
        return 0;
    print_error("beams.txt:%d: %d tokens, not %d\n", c->number, history.count, count);
    return 1;
}

static void test_cases(void **state)
{
    FILE *file = fopen("tests/sampling/beams.txt", "r");
    struct case_line c = {.number = 0};
    int cases = 0, bad = 0;

    (void)state;
    assert_non_null(file);
    for (; read_case(file, &c); cases++) {
        struct modc_option_memory memory = {block, sizeof block, 0};
        struct search s = {.seed = 0};
        char message[200];

        assert_int_equal(c.count, 5);
        if (!read_options(c.fields[0], &s.options, &memory, message, sizeof message))
            fail_msg("beams.txt:%d: %s", c.number, message);
        s.vocabulary = atoi(c.fields[1]);
        s.seed = (uint32_t)strtoul(c.fields[2], NULL, 10);
        s.history = (struct modc_history){.prompt = s.prompt,
                                          .prompt_count = read_ids(c.fields[3], s.prompt)};
        s.max_length = modc_generation_length(&s.options, s.history.prompt_count);
        if (modc_generation_check(&s.options, s.vocabulary, message, sizeof message) != MODC_OK)
            fail_msg("beams.txt:%d: %s", c.number, message);
        bad += s.options.num_beams > 1 ? check_beams(&s, &c) : check_greedy(&s, &c);
    }
    fclose(file);
    assert_int_equal(bad, 0);
    assert_true(cases > 200);
}

/* ---- drawn beams ---------------------------------------------------------------------------------------------- */

static struct search search_of(int beams, int vocabulary, int max_new)
{
    struct search s = {.seed = 11, .vocabulary = vocabulary};

    modc_generation_defaults(&s.options);
    s.options.num_beams = beams;
    s.options.max_new_tokens = max_new;
    s.prompt[0] = 3;
    s.history.prompt_count = 1;
    s.max_length = 1 + max_new;
    return s;
}

/* The first step of two beams draws four of five tokens: the one that is left out fits its probability, and so does the pair that is
 * the best of those that were drawn. */
static void test_draws(void **state)
{
    enum { VOCABULARY = 5, DRAWS = 20000 };
    struct search s = search_of(2, VOCABULARY, 3);
    double p[VOCABULARY], expected[VOCABULARY] = {0}, norm;
    int counts[VOCABULARY] = {0};

    (void)state;
    s.history.prompt = s.prompt;
    s.options.do_sample = 1;
    s.options.seed = 4;
    for (int d = 0; d < DRAWS; d++) {
        struct modc_beams beams;
        void *memory = begin(&s, &beams, (uint64_t)d);
        bool drawn[VOCABULARY] = {false};

        compute_rows(&s, &beams);
        norm = modc_log_sum(logits[0], VOCABULARY);
        for (int i = 0; i < VOCABULARY; i++)
            p[i] = exp((double)logits[0][i] - norm);
        assert_int_equal(modc_beams_propose(&beams, rows), MODC_OK);
        assert_int_equal(beams.candidate_count, 4);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(beams.candidates[i].parent, 0);
            assert_true(i == 0 || beams.candidates[i - 1].score >= beams.candidates[i].score);
            assert_true(fabs((double)beams.candidates[i].score - log(p[beams.candidates[i].token])) < 1e-5);
            assert_false(drawn[beams.candidates[i].token]);
            drawn[beams.candidates[i].token] = true;
        }
        for (int i = 0; i < VOCABULARY; i++)
            counts[i] += !drawn[i];
        free(memory);
    }
    for (int a = 0; a < VOCABULARY; a++) { /* all orders of four */
        for (int b = 0; b < VOCABULARY; b++) {
            for (int c = 0; c < VOCABULARY; c++) {
                for (int d = 0; d < VOCABULARY; d++) {
                    if (a == b || a == c || a == d || b == c || b == d || c == d)
                        continue;
                    expected[10 - a - b - c - d] += p[a] * p[b] / (1 - p[a]) * p[c] / (1 - p[a] - p[b]) *
                                                    p[d] / (1 - p[a] - p[b] - p[c]);
                }
            }
        }
    }
    for (int i = 0; i < VOCABULARY; i++) {
        const double mean = DRAWS * expected[i];

        if (fabs(counts[i] - mean) > 5 * sqrt(mean) + 5)
            fail_msg("token %d is left out %d times, not %g", i, counts[i], mean);
    }
}

/* Fewer tokens with a probability than candidates: the rest is made up, and the search ends. */
static void test_few(void **state)
{
    struct search s = search_of(4, 20, 8);

    (void)state;
    s.history.prompt = s.prompt;
    s.options.eos_token_id = (struct modc_ids){(const int64_t[]){2, 7}, 2};
    for (int k = 1; k < 12; k++) {
        struct modc_beams beams;
        void *memory;

        s.options.do_sample = k % 2;
        s.options.top_k = k;
        s.options.top_p = k % 2 ? 0.3f : 1;
        memory = begin(&s, &beams, (uint64_t)k);
        while (beams.goes_on) {
            compute_rows(&s, &beams);
            for (int w = 0; w < 4; w++)
                for (int i = 0; i < 20; i++)
                    if (i % 11 > k)
                        logits[w][i] = -INFINITY;
            assert_int_equal(modc_beams_step(&beams, rows), MODC_OK);
        }
        assert_true(beams.length <= 8);
        free(memory);
    }
}

/* Rows that are hostile: a step is right or says so, and every search ends. */
static void test_hostile(void **state)
{
    static const float values[] = {NAN, INFINITY, -INFINITY, 0, 1, -1e30f, 3e38f, -3e38f};
    int drawn = 0, failed = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct search s = search_of(1 + round % 5, 6 + round % 7, 1 + round % 9);
        struct modc_beams beams;
        void *memory;

        s.history.prompt = s.prompt;
        s.options.do_sample = round / 2 % 2;
        s.options.temperature = round % 3 ? MODC_UNSET : 1e-20f;
        s.options.length_penalty = round % 4 ? 1 : 1e30f;
        s.options.early_stopping = (enum modc_early_stopping)(round % 3);
        s.options.remove_invalid_values = round % 5 == 0;
        s.options.eos_token_id = (struct modc_ids){(const int64_t[]){1, 2}, round % 3};
        memory = begin(&s, &beams, (uint64_t)round);
        while (beams.goes_on) {
            const int length = beams.length;
            enum modc_status status;

            for (int w = 0; w < beams.width; w++)
                for (int i = 0; i < s.vocabulary; i++)
                    logits[w][i] = modc_uniform(3, 0, drawn++, 0) < 0.1
                                       ? values[(int)(modc_uniform(3, 1, drawn++, 0) * 8)]
                                       : (float)modc_uniform(3, 2, drawn++, 0);
            status = modc_beams_step(&beams, rows);
            assert_int_equal(beams.length, length + (status == MODC_OK));
            if (status != MODC_OK) {
                assert_int_equal(status, MODC_NONFINITE);
                failed++;
                break;
            }
            for (int w = 0; w < beams.width; w++)
                assert_true(beams.parents[w] >= 0 && beams.parents[w] < beams.width && beams.tokens[w] >= 0 &&
                            beams.tokens[w] < s.vocabulary);
        }
        free(memory);
    }
    assert_true(failed > 100 && failed < 2900);
}

/* ---- stops and faults ----------------------------------------------------------------------------------------- */

/* What the caller stops is a finished sequence, as an EOS makes one. */
static void test_stops(void **state)
{
    struct search s = search_of(3, 20, 9);
    struct modc_beams beams;
    struct modc_ids ids = {NULL, 0};
    float score, last = INFINITY;
    void *memory;

    (void)state;
    s.history.prompt = s.prompt;
    memory = begin(&s, &beams, 0);
    compute_rows(&s, &beams);
    assert_int_equal(modc_beams_step(&beams, rows), MODC_OK);
    assert_false(modc_beams_result(&beams, 0, &ids, &score));
    compute_rows(&s, &beams);
    assert_int_equal(modc_beams_propose(&beams, rows), MODC_OK);
    for (int i = 0; i < beams.candidate_count; i++)
        beams.candidates[i].stops = true;
    modc_beams_advance(&beams);
    assert_false(beams.goes_on);
    for (int i = 0; i < 3; i++) {
        assert_true(modc_beams_result(&beams, i, &ids, &score));
        assert_int_equal(ids.count, 2);
        assert_true(fabsf(score - beams.candidates[i].score / 2) < 1e-5f);
        assert_true(score <= last);
        last = score;
    }
    assert_false(modc_beams_result(&beams, 3, &ids, &score));
    assert_false(modc_beams_result(&beams, -1, &ids, &score));
    free(memory);
}

static int refuse(void *user, const struct modc_history *history, float *scores, int vocabulary)
{
    (void)user;
    (void)history;
    (void)scores;
    (void)vocabulary;
    return 1;
}

static void test_faults(void **state)
{
    struct search s = search_of(2, 4, 3);
    struct modc_beams beams;
    size_t bytes = modc_beams_bytes(&s.options, 1, 4, 4);
    char *memory = malloc(bytes);

    (void)state;
    s.history.prompt = s.prompt;
#define BEGIN(length, vocabulary, at, room)                                                                  \
    modc_beams_begin(&beams, &s.options, &s.history, length, vocabulary, 0, at, room)
    assert_int_equal(BEGIN(4, 4, NULL, bytes), MODC_POINTER);
    assert_int_equal(BEGIN(4, 4, memory + 1, bytes), MODC_ALIGNMENT);
    assert_int_equal(BEGIN(4, 4, memory, bytes - 1), MODC_WORKSPACE);
    assert_int_equal(BEGIN(1, 4, memory, bytes), MODC_SIZE);
    assert_int_equal(BEGIN(4, 1, memory, bytes), MODC_SIZE);
    assert_int_equal(BEGIN(4, 4, memory, bytes), MODC_OK);
    assert_int_equal(modc_beams_step(&beams, NULL), MODC_POINTER);
    for (int i = 0; i < 4; i++)
        logits[0][i] = -INFINITY;
    assert_int_equal(modc_beams_step(&beams, rows), MODC_NONFINITE);
    logits[0][0] = NAN;
    assert_int_equal(modc_beams_step(&beams, rows), MODC_NONFINITE);
    logits[0][0] = INFINITY;
    assert_int_equal(modc_beams_step(&beams, rows), MODC_NONFINITE);
    assert_int_equal(beams.length, 0);
    s.options.processor = refuse;
    compute_rows(&s, &beams);
    assert_int_equal(modc_beams_step(&beams, rows), MODC_HOOK_ERROR);
    s.options.processor = NULL;
    s.options.remove_invalid_values = true;
    logits[0][0] = NAN;
    assert_int_equal(modc_beams_step(&beams, rows), MODC_OK);
    s.options.num_beams = 0;
    assert_int_equal(modc_beams_bytes(&s.options, 1, 4, 4), 0);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),   cmocka_unit_test(test_draws), cmocka_unit_test(test_few),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_stops), cmocka_unit_test(test_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
