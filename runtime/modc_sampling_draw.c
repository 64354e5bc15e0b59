/* modc_sampling_draw.c - a token of a row, log-probabilities, and tokens that may follow as they did before; see modc_sampling.h. */
#include "modc_sampling_parts.h"

/* ---- picking a token ---------------------------------------------------------------------------------------- */

double modc_uniform(uint64_t seed, uint64_t sequence, int step, int number)
{
    uint32_t words[4];

    modc_philox(seed, (uint64_t)(uint32_t)step << 32 | (uint32_t)number, sequence, words);
    return ((double)(words[0] >> 5) * 67108864.0 + (double)(words[1] >> 6)) / 9007199254740992.0;
}

enum modc_status modc_best_token(const float *scores, int vocabulary, int64_t *id)
{
    float max;

    if (vocabulary < 1)
        return MODC_SIZE;
    if (!modc_row_max(scores, vocabulary, &max))
        return MODC_NONFINITE;
    for (*id = 0; scores[*id] < max;)
        ++*id;
    return MODC_OK;
}

enum modc_status modc_draw_token(const float *scores, int vocabulary, double uniform, int64_t *id)
{
    double wanted, sum = 0;
    float max;

    if (vocabulary < 1)
        return MODC_SIZE;
    if (!modc_row_max(scores, vocabulary, &max))
        return MODC_NONFINITE;
    wanted = uniform * modc_row_sum(scores, vocabulary, max);
    for (int i = 0; i < vocabulary; i++) {
        const float share = scores[i] > -INFINITY ? modc_f32s_exp(scores[i] - max) : 0;

        if (share > 0)
            *id = i; /* the last one, where `uniform` is 1 */
        sum += share;
        if (share > 0 && sum > wanted)
            break;
    }
    return MODC_OK;
}

enum modc_status modc_next_token(const struct modc_generation_options *options,
                                 const struct modc_history *history, int max_length, uint64_t sequence,
                                 struct modc_row *row, int64_t *id)
{
    const enum modc_status status = modc_process(options, history, max_length, row);

    if (status != MODC_OK)
        return status;
    if (!modc_generation_samples(options))
        return modc_best_token(row->scores, row->vocabulary, id);
    return modc_draw_token(row->scores, row->vocabulary,
                           modc_uniform(options->seed, sequence, history->count, 0), id);
}

/* ---- log-probabilities -------------------------------------------------------------------------------------- */

double modc_log_sum(const float *logits, int vocabulary)
{
    float max;

    if (!modc_row_max(logits, vocabulary, &max))
        return (double)(max < INFINITY && max > -INFINITY ? NAN : max);
    return (double)max + log(modc_row_sum(logits, vocabulary, max));
}

enum modc_status modc_log_probs(const float *logits, int vocabulary, const int64_t *ids, int count,
                                float *log_probs)
{
    const double norm = modc_log_sum(logits, vocabulary);

    if (!isfinite(norm))
        return MODC_NONFINITE;
    for (int i = 0; i < count; i++) {
        const bool known = ids[i] >= 0 && ids[i] < vocabulary;

        log_probs[i] = known ? (float)((double)logits[ids[i]] - norm) : -INFINITY;
    }
    return MODC_OK;
}

static bool is_better(struct modc_alternative a, struct modc_alternative b)
{
    return a.log_prob != b.log_prob ? a.log_prob > b.log_prob : a.id < b.id;
}

enum modc_status modc_best_tokens(const float *logits, int vocabulary, struct modc_alternative *best,
                                  int count)
{
    const double norm = modc_log_sum(logits, vocabulary);
    int held = 0;

    if (!isfinite(norm))
        return MODC_NONFINITE;
    for (int i = 0; i < vocabulary && count > 0; i++) { /* sorted all the time: few are asked for */
        const struct modc_alternative next = {i, logits[i]};
        int at = held;

        if (held == count && !is_better(next, best[held - 1]))
            continue;
        if (held < count)
            held++;
        else
            at--;
        for (; at > 0 && is_better(next, best[at - 1]); at--)
            best[at] = best[at - 1];
        best[at] = next;
    }
    for (int i = 0; i < count; i++) {
        if (i < held)
            best[i].log_prob = (float)((double)best[i].log_prob - norm);
        else
            best[i] = (struct modc_alternative){-1, -INFINITY};
    }
    return MODC_OK;
}

/* ---- prompt lookup ------------------------------------------------------------------------------------------ */

static int64_t id_at(const struct modc_history *history, int i)
{
    return i < history->prompt_count ? history->prompt[i] : history->ids[i - history->prompt_count];
}

/* Where the last `size` tokens stand first with something behind them: the place behind; -1: nowhere. */
static int find_tail(const struct modc_history *history, int length, int size)
{
    for (int start = 0; start + size < length; start++) {
        int same = 0;

        while (same < size && id_at(history, start + same) == id_at(history, length - size + same))
            same++;
        if (same == size)
            return start + size;
    }
    return -1;
}

int modc_prompt_lookup(const struct modc_history *history, int ngram, int count, int max_length,
                       struct modc_ids eos, int64_t *ids)
{
    const int length = history->prompt_count + history->count;
    int found = 0, size = ngram < length - 1 ? ngram : length - 1;

    if (max_length <= length + 1)
        return 0;
    for (; size > 0; size--) {
        const int at = find_tail(history, length, size);

        if (at < 0)
            continue;
        while (found < count && at + found < length && !modc_ids_have(eos, id_at(history, at + found))) {
            ids[found] = id_at(history, at + found);
            found++;
        }
        break;
    }
    return found;
}
