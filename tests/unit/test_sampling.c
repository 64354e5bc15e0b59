/* test_sampling.c - rows of scores against transformers (tests/oracle/sampling.py), draws against their probabilities, options and
 * what is said of them, rows that are hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sampling.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static _Alignas(8) char scratch[MODC_SAMPLING_BYTES(5000)];
static _Alignas(8) char block[4096];

static FILE *open_cases(const char *name)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "tests/sampling/%s", name);
    file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

/* ---- processors ----------------------------------------------------------------------------------------------- */

static bool is_close(float found, float expected)
{
    if (isinf(found) || isinf(expected))
        return found == expected;
    return fabsf(found - expected) <= 1e-5f * (1 + fabsf(expected));
}

static void test_processors(void **state)
{
    FILE *file = open_cases("processors.txt");
    struct case_line c = {.number = 0};
    int bad = 0, cases = 0;

    (void)state;
    for (; read_case(file, &c); cases++) {
        struct modc_generation_options options;
        struct modc_option_memory memory = {block, sizeof block, 0};
        int64_t prompt[MAX_IDS], ids[MAX_IDS];
        float scores[MAX_VOCABULARY], expected[MAX_VOCABULARY];
        struct modc_history history = {.prompt = prompt, .ids = ids};
        struct modc_row row = {scores, 0, scratch};
        char message[200] = "";

        assert_int_equal(c.count, 5);
        if (!read_options(c.fields[0], &options, &memory, message, sizeof message))
            fail_msg("processors.txt:%d: %s", c.number, message);
        history.prompt_count = read_ids(c.fields[1], prompt);
        history.count = read_ids(c.fields[2], ids);
        row.vocabulary = read_scores(c.fields[3], scores);
        assert_int_equal(read_scores(c.fields[4], expected), row.vocabulary);
        if (modc_generation_check(&options, row.vocabulary, message, sizeof message) != MODC_OK)
            fail_msg("processors.txt:%d: %s", c.number, message);
        assert_int_equal(
            modc_process(&options, &history, modc_generation_length(&options, history.prompt_count), &row),
            MODC_OK);
        for (int i = 0; i < row.vocabulary; i++) {
            if (is_close(scores[i], expected[i]))
                continue;
            print_error("processors.txt:%d: score %d is %g, not %g\n", c.number, i, (double)scores[i],
                        (double)expected[i]);
            bad++;
        }
    }
    fclose(file);
    assert_int_equal(bad, 0);
    assert_true(cases > 300);
}

static void assert_scores(const struct modc_row *row, const char *text)
{
    float expected[MAX_VOCABULARY];

    assert_int_equal(read_scores(text, expected), row->vocabulary);
    for (int i = 0; i < row->vocabulary; i++)
        if (!is_close(row->scores[i], expected[i]))
            fail_msg("score %d is %g, not %g", i, (double)row->scores[i], (double)expected[i]);
}

static struct modc_row row_of(float *scores, const char *text)
{
    const int count = read_scores(text, scores);

    return (struct modc_row){scores, count, scratch};
}

static void logarithms(struct modc_row *row)
{
    for (int i = 0; i < row->vocabulary; i++)
        row->scores[i] = logf(row->scores[i]);
}

/* The cases of the reference, and what transformers has no counterpart of. */
static void test_alone(void **state)
{
    const int64_t ids[] = {0, 1, 0, 99, -3};
    const struct modc_history history = {.prompt = ids, .prompt_count = 2, .ids = ids + 2, .count = 3};
    const struct modc_history generated = {.ids = ids, .count = 5};
    float scores[MAX_VOCABULARY];
    struct modc_row row;

    (void)state;
    row = row_of(scores, "2 -2 4");
    modc_process_repetition(&row, &history, 2);
    assert_scores(&row, "1 -4 4");
    row = row_of(scores, "2 -2 4");
    modc_process_presence(&row, &generated, 0.5f, 0.25f);
    assert_scores(&row, "1 -2.75 4");
    modc_process_presence(&row, &(struct modc_history){.prompt = ids, .prompt_count = 5}, 1, 1);
    assert_scores(&row, "1 -2.75 4");
    row = row_of(scores, "3 1 3 1 2");
    modc_process_top_k(&row, 2, 1);
    assert_scores(&row, "3 - 3 - -");
    row = row_of(scores, "3 1 3 1 2");
    modc_process_top_k(&row, 1, 3);
    assert_scores(&row, "3 - 3 - 2");
    row = row_of(scores, "3 1 1 0");
    modc_process_top_k(&row, 2, 1);
    assert_scores(&row, "3 1 1 -");
    row = row_of(scores, ".5 .3 .2");
    logarithms(&row);
    modc_process_top_p(&row, 0.7f, 1);
    assert_scores(&row, "-0.6931472 -1.2039728 -");
    modc_process_top_p(&row, 0, 1);
    assert_scores(&row, "-0.6931472 - -");
    row = row_of(scores, "1 1 1 1");
    modc_process_top_p(&row, 0.5f, 1);
    assert_scores(&row, "- - 1 1");
    row = row_of(scores, ".5 .3 .2");
    logarithms(&row);
    modc_process_min_p(&row, 0.5f, 1);
    assert_scores(&row, "-0.6931472 -1.2039728 -");
}

static int forbid_first(void *user, const struct modc_history *history, float *scores, int vocabulary)
{
    int *calls = user;

    assert_int_equal(vocabulary, 3);
    scores[0] = -INFINITY;
    ++*calls;
    return history->count > 1;
}

static void test_user(void **state)
{
    const int64_t ids[] = {1, 2};
    struct modc_generation_options options;
    struct modc_history history = {.prompt = ids, .prompt_count = 1, .ids = ids, .count = 1};
    float scores[] = {5, 1, 2};
    struct modc_row row = {scores, 3, scratch};
    int calls = 0;
    int64_t id = -1;

    (void)state;
    modc_generation_defaults(&options);
    options.processor = forbid_first;
    options.user = &calls;
    assert_int_equal(modc_next_token(&options, &history, 20, 0, &row, &id), MODC_OK);
    assert_int_equal(id, 2);
    history.count = 2;
    assert_int_equal(modc_next_token(&options, &history, 20, 0, &row, &id), MODC_HOOK_ERROR);
    assert_int_equal(calls, 2);
    row.scratch = NULL;
    assert_int_equal(modc_process(&options, &history, 20, &row), MODC_POINTER);
}

/* ---- draws ---------------------------------------------------------------------------------------------------- */

/* 1e5 draws of what is left of 50 tokens: chi-square over those left is below its 1e-6 quantile, and no other comes. */
static void test_draws(void **state)
{
    enum { VOCABULARY = 50, DRAWS = 100000 };
    static const char *const texts[] = {"temperature=1.5", "temperature=0.8;top_k=12", "top_p=0.8",
                                        "typical_p=0.7", "min_p=0.1;top_k=30"};

    (void)state;
    for (int t = 0; t < COUNT(texts); t++) {
        struct modc_generation_options options;
        const int64_t prompt[] = {3};
        struct modc_history history = {.prompt = prompt, .prompt_count = 1};
        float start[VOCABULARY], scores[VOCABULARY];
        struct modc_row row = {scores, VOCABULARY, scratch};
        int counts[VOCABULARY] = {0}, left = 0;
        double norm, chi = 0;
        char text[64], message[100];

        snprintf(text, sizeof text, "%s", texts[t]);
        assert_true(read_options(text, &options, NULL, message, sizeof message));
        options.seed = 77;
        for (int i = 0; i < VOCABULARY; i++)
            start[i] = 3 * sinf((float)(i * i + t));
        for (int d = 0; d < DRAWS; d++) {
            int64_t id = -1;

            memcpy(scores, start, sizeof scores);
            history.count = d % 100; /* none of these options reads them */
            assert_int_equal(modc_next_token(&options, &history, 1000, (uint64_t)(d / 100), &row, &id),
                             MODC_OK);
            counts[id]++;
        }
        norm = modc_log_sum(scores, VOCABULARY);
        for (int i = 0; i < VOCABULARY; i++) {
            const double expected = DRAWS * exp((double)scores[i] - norm);

            if (scores[i] == -INFINITY) {
                assert_int_equal(counts[i], 0);
                continue;
            }
            left++;
            chi += (counts[i] - expected) * (counts[i] - expected) / expected;
        }
        if (chi > (left - 1) + 7 * sqrt(2.0 * (left - 1)) + 15)
            fail_msg("%s: chi-square of %d tokens is %g", texts[t], left, chi);
    }
}

/* The same uniform goes to the same token as by a running sum in double. */
static void test_inverse(void **state)
{
    float scores[200];

    (void)state;
    for (int round = 0; round < 2000; round++) {
        const double uniform = modc_uniform(5, (uint64_t)round, 3, 0);
        double sum = 0, part = 0;
        int64_t id = -1;
        int expected = 0;

        for (int i = 0; i < 200; i++) {
            scores[i] = 10 * (float)modc_uniform(6, (uint64_t)round, i, 1);
            sum += exp((double)scores[i]);
        }
        while ((part += exp((double)scores[expected])) <= uniform * sum)
            expected++;
        assert_int_equal(modc_draw_token(scores, 200, uniform, &id), MODC_OK);
        if (id != expected && fabs(part / sum - uniform) > 1e-6 &&
            fabs((part - exp((double)scores[expected])) / sum - uniform) > 1e-6)
            fail_msg("round %d: token %d, not %d", round, (int)id, expected);
    }
    assert_int_equal(modc_draw_token(scores, 200, 0, &(int64_t){0}), MODC_OK);
    assert_int_equal(modc_draw_token((const float[]){0, -INFINITY, 0, -INFINITY}, 4, 1, &(int64_t){0}),
                     MODC_OK);
}

/* A draw is that of its seed, sequence and step, and of nothing else. */
static void test_uniform(void **state)
{
    double sum = 0, squares = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        const double u = modc_uniform(1, 2, i, 0);

        assert_true(u >= 0 && u < 1);
        sum += u;
        squares += u * u;
    }
    assert_true(fabs(sum / 10000 - 0.5) < 0.012);
    assert_true(fabs(squares / 10000 - 1.0 / 3) < 0.012);
    assert_true(modc_uniform(1, 2, 3, 0) == modc_uniform(1, 2, 3, 0));
    assert_true(modc_uniform(1, 2, 3, 0) != modc_uniform(2, 2, 3, 0));
    assert_true(modc_uniform(1, 2, 3, 0) != modc_uniform(1, 3, 3, 0));
    assert_true(modc_uniform(1, 2, 3, 0) != modc_uniform(1, 2, 4, 0));
    assert_true(modc_uniform(1, 2, 3, 0) != modc_uniform(1, 2, 3, 1));
}

static void test_greedy(void **state)
{
    int64_t id = -1;

    (void)state;
    assert_int_equal(modc_best_token((const float[]){1, 3, -INFINITY, 3}, 4, &id), MODC_OK);
    assert_int_equal(id, 1);
    assert_int_equal(modc_best_token((const float[]){-INFINITY, -3}, 2, &id), MODC_OK);
    assert_int_equal(id, 1);
    assert_int_equal(modc_best_token((const float[]){1, NAN}, 2, &id), MODC_NONFINITE);
    assert_int_equal(modc_best_token((const float[]){1, INFINITY}, 2, &id), MODC_NONFINITE);
    assert_int_equal(modc_best_token((const float[]){-INFINITY, -INFINITY}, 2, &id), MODC_NONFINITE);
    assert_int_equal(modc_best_token(NULL, 0, &id), MODC_SIZE);
    assert_int_equal(modc_draw_token((const float[]){1, NAN}, 2, 0.5, &id), MODC_NONFINITE);
    assert_int_equal(modc_draw_token((const float[]){1, INFINITY}, 2, 0.5, &id), MODC_NONFINITE);
    assert_int_equal(modc_draw_token((const float[]){-INFINITY}, 1, 0.5, &id), MODC_NONFINITE);
    assert_int_equal(modc_draw_token(NULL, 0, 0.5, &id), MODC_SIZE);
}

static void test_log_probs(void **state)
{
    const float logits[] = {1000, 1002, -INFINITY, 1001, 1002};
    const int64_t ids[] = {1, 2, 0, 7, -1};
    const double norm = 1002 + log(2 + exp(-1) + exp(-2));
    struct modc_alternative best[6];
    float found[5];

    (void)state;
    assert_true(fabs(modc_log_sum(logits, 5) - norm) < 1e-6);
    assert_int_equal(modc_log_probs(logits, 5, ids, 5, found), MODC_OK);
    assert_true(is_close(found[0], (float)(1002 - norm)) && is_close(found[2], (float)(1000 - norm)));
    assert_true(found[1] == -INFINITY && found[3] == -INFINITY && found[4] == -INFINITY);
    assert_int_equal(modc_best_tokens(logits, 5, best, 6), MODC_OK);
    assert_int_equal(best[0].id, 1);
    assert_int_equal(best[1].id, 4);
    assert_int_equal(best[2].id, 3);
    assert_int_equal(best[3].id, 0);
    assert_int_equal(best[4].id, 2);
    assert_int_equal(best[5].id, -1);
    assert_true(best[0].log_prob == found[0] && best[4].log_prob == -INFINITY);
    assert_int_equal(modc_best_tokens(logits, 5, best, 0), MODC_OK);
    assert_int_equal(modc_log_probs((const float[]){NAN, 1}, 2, ids, 1, found), MODC_NONFINITE);
    assert_int_equal(modc_best_tokens((const float[]){INFINITY, 1}, 2, best, 1), MODC_NONFINITE);
    assert_true(isnan(modc_log_sum((const float[]){1, NAN}, 2)));
    assert_true(modc_log_sum((const float[]){1, INFINITY}, 2) == (double)INFINITY);
    assert_true(modc_log_sum((const float[]){-INFINITY}, 1) == -(double)INFINITY);
}

/* ---- hostile rows --------------------------------------------------------------------------------------------- */

static int pick(int count)
{
    static int drawn;

    return (int)(modc_uniform(9, 0, drawn++, 0) * count);
}

/* Whatever a row holds and whatever is on: it ends, stays inside its memory, and a token comes out or a status. */
static void test_hostile(void **state)
{
    static const float values[] = {NAN, INFINITY, -INFINITY, 0, 0, 1, 1, -1e30f, 3e38f, -3e38f, 1e-40f};
    const int rounds = getenv("MODC_TEST_QUICK") ? 20000 : 60000;

    (void)state;
    for (int round = 0; round < rounds; round++) {
        const int vocabulary = 1 + pick(pick(2) ? 3 : 40), kind = pick(4);
        struct modc_generation_options options;
        int64_t ids[12];
        struct modc_history history = {
            .prompt = ids, .prompt_count = pick(6), .ids = ids + 6, .count = pick(7)};
        const struct modc_ids some = {ids, pick(4)};
        const struct modc_ids words[2] = {some, {ids + 4, 2}};
        const struct modc_biased biases[2] = {{{ids, 1}, -INFINITY}, {{ids + 2, 2}, 1e38f}};
        float *scores = malloc((size_t)vocabulary * sizeof *scores);
        void *memory = malloc(MODC_SAMPLING_BYTES(vocabulary));
        struct modc_row row = {scores, vocabulary, memory};
        int64_t id = -1;
        enum modc_status status;

        modc_generation_defaults(&options);
        for (int i = 0; i < 12; i++)
            ids[i] = pick(4) ? pick(vocabulary) : pick(1000) - 500;
        for (int i = 0; i < vocabulary; i++)
            scores[i] = kind == 0   ? values[pick(COUNT(values))]
                        : kind == 1 ? 1
                                    : (float)pick(1 << 20) / (1 << 18);
        if (kind == 2)
            scores[pick(vocabulary)] = values[pick(COUNT(values))];
        if (pick(2)) {
            options.temperature = pick(2) ? 1e-30f : 3;
            options.top_h = pick(2) ? 0.5f : 0;
            options.top_k = pick(50);
            options.top_p = pick(2) ? (float)pick(3) / 2 : 0.7f;
            options.min_p = pick(2) ? 0.3f : 1;
            options.typical_p = pick(2) ? 0.3f : 1;
            options.epsilon_cutoff = pick(2) ? 0.3f : 0;
            options.eta_cutoff = pick(2) ? 0.3f : 0;
        }
        if (pick(2)) {
            options.repetition_penalty = pick(2) ? 1e30f : 0.5f;
            options.encoder_repetition_penalty = 1e-30f;
            options.presence_penalty = options.frequency_penalty = 2;
            options.no_repeat_ngram_size = pick(9);
            options.encoder_no_repeat_ngram_size = pick(9);
            options.sequence_bias = biases;
            options.sequence_bias_count = 2;
        }
        options.bad_words_ids = words;
        options.bad_words_count = pick(3);
        options.suppress_tokens = pick(3) ? (struct modc_ids){0} : some;
        options.eos_token_id = some;
        options.min_length = pick(12);
        options.num_beams = 1 + pick(3);
        options.remove_invalid_values = pick(3) == 0;
        options.renormalize_logits = pick(2);
        if (pick(2)) {
            options.exponential_decay_start = 0;
            options.exponential_decay_factor = 1e30f;
        }
        status = modc_next_token(&options, &history, 12, 4, &row, &id);
        if (status == MODC_OK)
            assert_true(id >= 0 && id < vocabulary && !isnan(scores[id]) && !isinf(scores[id]));
        else
            assert_int_equal(status, MODC_NONFINITE);
        free(scores);
        free(memory);
    }
}

/* A vocabulary of usual size, with all of it in play. */
static void test_large(void **state)
{
    enum { VOCABULARY = 5000 };
    static float scores[VOCABULARY];
    struct modc_row row = {scores, VOCABULARY, scratch};
    int left = 0;

    (void)state;
    for (int i = 0; i < VOCABULARY; i++)
        scores[i] = (float)(i * 7919 % VOCABULARY) * 0.01f;
    modc_process_top_k(&row, 1234, 1);
    for (int i = 0; i < VOCABULARY; i++) {
        assert_true((scores[i] > -INFINITY) == (i * 7919 % VOCABULARY >= VOCABULARY - 1234));
        left += scores[i] > -INFINITY;
    }
    assert_int_equal(left, 1234);
    modc_process_top_p(&row, 0.9f, 1); /* of shares 0.99^k: the first with 1 - 0.99^k over 0.9 */
    left = 0;
    for (int i = 0; i < VOCABULARY; i++)
        left += scores[i] > -INFINITY;
    assert_int_equal(left, 231);
}

/* ---- prompt lookup -------------------------------------------------------------------------------------------- */

static void test_lookup(void **state)
{
    FILE *file = open_cases("lookup.txt");
    struct case_line c = {.number = 0};
    int cases = 0, bad = 0;

    (void)state;
    for (; read_case(file, &c); cases++) {
        int64_t ids[MAX_IDS], eos[MAX_IDS], expected[MAX_IDS], found[MAX_IDS];
        const struct modc_ids ends = {eos, read_ids(c.fields[3], eos)};
        const int count = read_ids(c.fields[4], ids), proposed = read_ids(c.fields[5], expected);

        for (int prompt = 0; prompt <= count; prompt += count > 1 ? count / 2 : 1) { /* wherever it is cut */
            const struct modc_history history = {
                .prompt = ids, .prompt_count = prompt, .ids = ids + prompt, .count = count - prompt};
            const int n = modc_prompt_lookup(&history, atoi(c.fields[0]), atoi(c.fields[1]),
                                             atoi(c.fields[2]), ends, found);

            if (n == proposed && memcmp(found, expected, (size_t)n * sizeof *found) == 0)
                continue;
            print_error("lookup.txt:%d: %d tokens, not %d\n", c.number, n, proposed);
            bad++;
        }
    }
    fclose(file);
    assert_int_equal(bad, 0);
    assert_true(cases > 100);
}

/* ---- options -------------------------------------------------------------------------------------------------- */

/* "NAME=VALUE;...": what the setter or the check says of it; "" for what is right. */
static const char *said(const char *text, int vocabulary)
{
    static char message[256];
    struct modc_generation_options options;
    struct modc_option_memory memory = {block, sizeof block, 0};
    char copy[256];
    enum modc_status status;

    snprintf(copy, sizeof copy, "%s", text);
    if (!read_options(copy, &options, &memory, message, sizeof message))
        return message;
    status = modc_generation_check(&options, vocabulary, message, sizeof message);
    assert_true((status == MODC_OK) == (message[0] == '\0'));
    return message;
}

static void test_messages(void **state)
{
    static const struct {
        const char *options, *said;
    } cases[] = {
        {"", ""},
        {"temperature=0;top_k=5", ""},
        {"temperature=-1", "temperature cannot be '-1': it takes a number from 0 on; 0 is greedy"},
        {"temperature=warm", "temperature cannot be 'warm': it takes a number from 0 on; 0 is greedy"},
        {"temperature=0.8 x", "temperature cannot be '0.8 x': it takes a number from 0 on; 0 is greedy"},
        {"temperature=inf", "temperature cannot be 'inf': it takes a number from 0 on; 0 is greedy"},
        {"temperature=", "temperature cannot be '': it takes a number from 0 on; 0 is greedy"},
        {"do_sample=false;temperature=0.7",
         "temperature is 0.7, which only sampling has, and do_sample is false"},
        {"do_sample=false;temperature=1",
         "temperature is 1, which only sampling has, and do_sample is false"},
        {"do_sample=false;temperature=0", ""},
        {"do_sample=false;top_p=0.5", "top_p is 0.5, which only sampling has, and do_sample is false"},
        {"do_sample=false;top_k=50", ""},
        {"do_sample=maybe", "do_sample cannot be 'maybe': it takes true or false"},
        {"top_p=1.5", "top_p cannot be '1.5': it takes a number from 0 to 1; 1 is off"},
        {"top_k=-1", "top_k cannot be '-1': it takes a whole number from 0 on; 0 is off"},
        {"top_k=1.5", "top_k cannot be '1.5': it takes a whole number from 0 on; 0 is off"},
        {"top_k=99999999999999999999",
         "top_k cannot be '99999999999999999999': it takes a whole number from 0 on; 0 is off"},
        {"typical_p=0", "typical_p cannot be '0': it takes a number over 0, up to 1; 1 is off"},
        {"epsilon_cutoff=1", "epsilon_cutoff cannot be '1': it takes a number from 0 to below 1; 0 is off"},
        {"repetition_penalty=0", "repetition_penalty cannot be '0': it takes a number over 0; 1 is off"},
        {"max_new_tokens=0", "max_new_tokens cannot be '0': it takes a whole number from 1 on"},
        {"max_tokens=5;max_new_tokens=6",
         "max_new_tokens is set, and max_tokens, which is another name for the same"},
        {"num_return_sequences=2;n=2",
         "n is set, and num_return_sequences, which is another name for the same"},
        {"n=2;do_sample=true", ""},
        {"n=2", "num_return_sequences is 2: greedy ones would be the same: set do_sample or num_beams"},
        {"n=3;num_beams=2", "num_return_sequences is 3, which is more than num_beams"},
        {"stop=a;stop_sequences=b", "stop_sequences is set, and stop, which is another name for the same"},
        {"stop=a;stop=b", ""},
        {"stop=", "stop cannot be '': it takes a text of at least one byte"},
        {"max_new_tokens=5;max_length=9",
         "max_length is 9, and max_new_tokens is set, too: one of them says where it ends"},
        {"min_new_tokens=5;min_length=9",
         "min_length is 9, and min_new_tokens is set, too: one of them says where EOS may come"},
        {"min_new_tokens=5;max_new_tokens=4", "min_new_tokens is 5, which is more than max_new_tokens"},
        {"min_new_tokens=21", "min_new_tokens is 21: at most 20 tokens come where max_new_tokens is not set"},
        {"min_length=21;max_length=20", "min_length is 21, which is more than max_length"},
        {"early_stopping=never", "early_stopping is never, which only beams have: num_beams is 1"},
        {"early_stopping=soon", "early_stopping cannot be 'soon': it takes true, false or never"},
        {"length_penalty=1.25", "length_penalty is 1.25, which only beams have: num_beams is 1"},
        {"num_beams=2;length_penalty=-0.5;early_stopping=true", ""},
        {"num_beams=2;prompt_lookup_num_tokens=4",
         "prompt_lookup_num_tokens is 4, which beams have not: num_beams has to be 1"},
        {"top_logprobs=2", "top_logprobs is 2, and logprobs has neither response nor full"},
        {"top_logprobs=2;logprobs=prompt, response", ""},
        {"top_logprobs=200;logprobs=response", "top_logprobs is 200, which is more than the vocabulary has"},
        {"logprobs=all", "logprobs cannot be 'all': it takes words of prompt, response and full, or none"},
        {"eos_token_id=1, 100", "eos_token_id has the id 100: ids are from 0 to 99"},
        {"eos_token_id=-1", "eos_token_id cannot be '-1': it takes ids, such as 1, 2"},
        {"pad_token_id=100", ""},
        {"bad_words_ids=1 2,,3",
         "bad_words_ids cannot be '1 2,,3': it takes sequences of ids, such as 1 2, 3"},
        {"bad_words_ids=1 2, 300", "bad_words_ids has the id 300: ids are from 0 to 99"},
        {"sequence_bias=1 2: -inf, 5: 1e-3", ""},
        {"sequence_bias=1 2: 3, 1 2: 4",
         "sequence_bias has two biases for 1 2: it takes sequences of ids with finite numbers or -inf, such as 1 2: -3.5, 7: 2"},
        {"sequence_bias=1: inf",
         "sequence_bias has a bias of inf: it takes sequences of ids with finite numbers or -inf, such as 1 2: -3.5, 7: 2"},
        {"forced_bos_token_id=3;suppress_tokens=1, 3",
         "forced_bos_token_id is 3, which is in suppress_tokens, too"},
        {"forced_eos_token_id=3, 1;suppress_tokens=1, 3",
         "forced_eos_token_id: all of it is in suppress_tokens, too"},
        {"exponential_decay_length_penalty=5, 1.1",
         "exponential_decay_length_penalty: it makes EOS likelier, and eos_token_id is not set"},
        {"exponential_decay_length_penalty=5, 1.1;eos_token_id=1;ignore_eos=true",
         "exponential_decay_length_penalty: it makes EOS likelier, and ignore_eos is true"},
        {"exponential_decay_length_penalty=5",
         "exponential_decay_length_penalty cannot be '5': it takes tokens from 0 on and a factor over 0, such as 5, 1.1"},
        {"presence_penalty=2.5",
         "presence_penalty cannot be '2.5': it takes a number from -2 to 2; 0 is off"},
        {"temprature=1", "there is no option 'temprature': did you mean 'temperature'?"},
        {"topk=1", "there is no option 'topk': did you mean 'top_k'?"},
        {"diversity_penalty=1", "there is no option 'diversity_penalty'"},
    };

    (void)state;
    for (int i = 0; i < COUNT(cases); i++)
        if (strcmp(said(cases[i].options, 100), cases[i].said) != 0)
            print_error("'%s' says '%s'\n", cases[i].options, said(cases[i].options, 100));
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(said(cases[i].options, 100), cases[i].said);
}

/* What is filled in by hand, which the setter would have refused. */
static void test_checks(void **state)
{
    struct modc_generation_options o;
    const struct modc_ids empty = {NULL, 0};
    const char *const nothing[] = {""};
    char message[128];

    (void)state;
#define REFUSED(status, text, ...)                                                                           \
    do {                                                                                                     \
        modc_generation_defaults(&o);                                                                        \
        __VA_ARGS__;                                                                                         \
        assert_int_equal(modc_generation_check(&o, 10, message, sizeof message), status);                    \
        assert_string_equal(message, text);                                                                  \
    } while (0)
    REFUSED(MODC_OK, "", (void)0);
    REFUSED(MODC_OK, "", modc_generation_defaults_hf(&o));
    REFUSED(MODC_ARGUMENT, "temperature is -0.5: it takes a number from 0 on; 0 is greedy",
            o.temperature = -0.5f);
    REFUSED(MODC_ARGUMENT, "temperature is nan: it takes a number from 0 on; 0 is greedy",
            o.temperature = NAN);
    REFUSED(MODC_ARGUMENT, "top_p is 1.5: it takes a number from 0 to 1; 1 is off", o.top_p = 1.5f);
    REFUSED(MODC_ARGUMENT, "min_p is 1.00001: it takes a number from 0 to 1; 0 is off", o.min_p = 1.00001f);
    REFUSED(MODC_ARGUMENT, "max_new_tokens is 0: it takes a whole number from 1 on", o.max_new_tokens = 0);
    REFUSED(MODC_ARGUMENT, "num_beams is 0: it takes a whole number from 1 on", o.num_beams = 0);
    REFUSED(MODC_ARGUMENT, "repetition_penalty is -1.5e20: it takes a number over 0; 1 is off",
            o.repetition_penalty = -1.5e20f);
    REFUSED(MODC_ARGUMENT, "epsilon_cutoff is 123456: it takes a number from 0 to below 1; 0 is off",
            o.epsilon_cutoff = 123456);
    REFUSED(MODC_ARGUMENT, "eta_cutoff is -0.00025: it takes a number from 0 to below 1; 0 is off",
            o.eta_cutoff = -0.00025f);
    REFUSED(MODC_ARGUMENT, "eta_cutoff is 1000000: it takes a number from 0 to below 1; 0 is off",
            o.eta_cutoff = 1e6f);
    REFUSED(
        MODC_ARGUMENT,
        "exponential_decay_length_penalty is 3, 0: it takes tokens from 0 on and a factor over 0, such as 5, 1.1",
        o.exponential_decay_start = 3;
        o.exponential_decay_factor = 0);
    REFUSED(MODC_INDEX, "pad_token_id has the id -5: ids are from 0 to 9", o.pad_token_id = -5);
    REFUSED(MODC_POINTER, "eos_token_id has a count, and NULL as its ids", o.eos_token_id.count = 2);
    REFUSED(MODC_ARGUMENT, "eos_token_id has a count below 0", o.eos_token_id.count = -2);
    REFUSED(MODC_POINTER, "bad_words_ids is NULL, or its count is below 0", o.bad_words_count = 1);
    REFUSED(MODC_ARGUMENT,
            "bad_words_ids has a sequence without ids: it takes sequences of ids, such as 1 2, 3",
            o.bad_words_count = 1;
            o.bad_words_ids = &empty);
    REFUSED(MODC_ARGUMENT, "stop has an empty text, with which all would stop", o.stop_count = 1;
            o.stop = nothing);
    assert_int_equal(modc_generation_check(NULL, 10, message, sizeof message), MODC_POINTER);
    modc_generation_defaults(&o);
    o.top_p = 7;
    assert_int_equal(modc_generation_check(&o, 10, NULL, 0), MODC_ARGUMENT);
    assert_int_equal(modc_generation_check(&o, 10, message, 10), MODC_ARGUMENT);
    assert_string_equal(message, "top_p is ");
    assert_int_equal(modc_generation_set(&o, "top_p", NULL, NULL, NULL, 0), MODC_POINTER);
    assert_int_equal(modc_generation_set(&o, "stop", "a", NULL, message, sizeof message), MODC_MEMORY);
    assert_string_equal(message, "stop has no room for 'a'");
}

static void test_values(void **state)
{
    struct modc_generation_options o;
    struct modc_option_memory memory = {block, sizeof block, 0};
    char text[] =
        "temperature=2.5e-1;top_k=7;seed=18446744073709551615;do_sample=1;eos_token_id=3, 4 5;stop=ab;stop=c, d;"
        "bad_words_ids=1 2, 3;sequence_bias=1 2: -3.5, 7: .25;exponential_decay_length_penalty=5, 1.1;"
        "logprobs=full;early_stopping=never;forced_bos_token_id=6;ignore_eos=false;max_tokens=12";
    char message[100] = "";

    (void)state;
    assert_true(read_options(text, &o, &memory, message, sizeof message));
    assert_true(o.temperature == 0.25f);
    assert_int_equal(o.top_k, 7);
    assert_true(o.seed == UINT64_MAX);
    assert_int_equal(o.do_sample, 1);
    assert_int_equal(o.eos_token_id.count, 3);
    assert_int_equal(o.eos_token_id.ids[2], 5);
    assert_int_equal(o.stop_count, 2);
    assert_string_equal(o.stop[1], "c, d");
    assert_int_equal(o.bad_words_count, 2);
    assert_int_equal(o.bad_words_ids[0].count, 2);
    assert_int_equal(o.bad_words_ids[1].ids[0], 3);
    assert_true(o.sequence_bias[0].bias == -3.5f && o.sequence_bias[1].bias == 0.25f);
    assert_int_equal(o.sequence_bias[1].ids.ids[0], 7);
    assert_int_equal(o.exponential_decay_start, 5);
    assert_true(o.exponential_decay_factor == 1.1f);
    assert_int_equal(o.logprobs, MODC_LOGPROBS_FULL);
    assert_int_equal(o.early_stopping, MODC_EARLY_NEVER);
    assert_int_equal(o.forced_bos_token_id, 6);
    assert_int_equal(o.max_new_tokens, 12);
    assert_true(modc_generation_samples(&o));
    assert_int_equal(modc_generation_length(&o, 5), 17);
    o.ignore_eos = true;
    assert_int_equal(modc_generation_eos(&o).count, 0);
    o.temperature = 0;
    assert_false(modc_generation_samples(&o));
    modc_generation_defaults(&o);
    assert_false(modc_generation_samples(&o));
    assert_int_equal(modc_generation_length(&o, 5), 25);
    o.top_k = 5;
    assert_true(modc_generation_samples(&o));
    modc_generation_defaults_hf(&o);
    assert_false(modc_generation_samples(&o));
    o.do_sample = 1;
    assert_true(modc_generation_samples(&o));
    o.max_length = 30;
    assert_int_equal(modc_generation_length(&o, 5), 30);
}

/* Every name can be set to something, and the bits of `given` are enough. */
static void test_names(void **state)
{
    static const char *const values[] = {"1", "true", "1, 2", "1 2: 3", "response"};
    int count = 0;

    (void)state;
    for (const char *name; (name = modc_generation_name(count)); count++) {
        bool set = false;

        for (int i = 0; i < COUNT(values) && !set; i++) {
            struct modc_generation_options o;
            struct modc_option_memory memory = {block, sizeof block, 0};

            modc_generation_defaults(&o);
            set = modc_generation_set(&o, name, values[i], &memory, NULL, 0) == MODC_OK;
            assert_true(!set || o.given == (uint64_t)1 << count);
        }
        if (!set && strcmp(name, "epsilon_cutoff") != 0 && strcmp(name, "eta_cutoff") != 0)
            fail_msg("%s takes none of the values", name);
    }
    assert_true(count > 45 && count <= 64);
    assert_null(modc_generation_name(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processors), cmocka_unit_test(test_alone),     cmocka_unit_test(test_user),
        cmocka_unit_test(test_draws),      cmocka_unit_test(test_inverse),   cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_greedy),     cmocka_unit_test(test_log_probs), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_large),      cmocka_unit_test(test_lookup),    cmocka_unit_test(test_messages),
        cmocka_unit_test(test_checks),     cmocka_unit_test(test_values),    cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
