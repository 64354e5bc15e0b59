/* modc_sampling.c - processors of a row of logits, one function each, and their order; see modc_sampling.h.
 *
 * Nothing is sorted as a whole: what is asked for are the best ones, which come off a heap in scratch, so that the worst case is
 * V log V, and the usual one a pass over the row. */
#include "modc_grammar.h"
#include "modc_sampling_parts.h"

#include <float.h>

/* ---- the history as one list -------------------------------------------------------------------------------- */

static int length_of(const struct modc_history *history)
{
    return history->prompt_count + history->count;
}

static int64_t id_at(const struct modc_history *history, int i)
{
    return i < history->prompt_count ? history->prompt[i] : history->ids[i - history->prompt_count];
}

/* Whether the history ends with these. */
static bool ends_with(const struct modc_history *history, const int64_t *ids, int count)
{
    const int length = length_of(history);

    if (count > length)
        return false;
    for (int i = 0; i < count; i++)
        if (id_at(history, length - count + i) != ids[i])
            return false;
    return true;
}

static struct modc_ids encoder_of(const struct modc_history *history)
{
    if (history->encoder)
        return (struct modc_ids){history->encoder, history->encoder_count};
    return (struct modc_ids){history->prompt, history->prompt_count};
}

/* ---- heaps -------------------------------------------------------------------------------------------------- */

static bool comes_first(struct modc_ranked a, struct modc_ranked b, bool high_index)
{
    if (a.key != b.key)
        return a.key > b.key;
    return high_index ? a.index > b.index : a.index < b.index;
}

static void sink(struct modc_ranked *heap, int count, int at, bool high_index)
{
    const struct modc_ranked moved = heap[at];

    for (;;) {
        int child = 2 * at + 1;

        if (child >= count)
            break;
        if (child + 1 < count && comes_first(heap[child + 1], heap[child], high_index))
            child++;
        if (!comes_first(heap[child], moved, high_index))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

void modc_heap_make(struct modc_ranked *heap, int count, bool high_index)
{
    for (int i = count / 2 - 1; i >= 0; i--)
        sink(heap, count, i, high_index);
}

struct modc_ranked modc_heap_pop(struct modc_ranked *heap, int *count, bool high_index)
{
    const struct modc_ranked best = heap[0];

    heap[0] = heap[--*count];
    heap[*count] = best;
    if (*count > 0)
        sink(heap, *count, 0, high_index);
    return best;
}

/* A heap of the best `most` whose root is the worst of them: keys are stored with the sign turned. */
void modc_heap_offer(struct modc_ranked *heap, int *count, int most, float key, int index)
{
    const struct modc_ranked offered = {-key, index};
    int at = *count;

    if (at == most) {
        if (most > 0 && comes_first(heap[0], offered, true)) {
            heap[0] = offered;
            sink(heap, most, 0, true);
        }
        return;
    }
    while (at > 0 && comes_first(offered, heap[(at - 1) / 2], true)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = offered;
    ++*count;
}

/* ---- what is asked of a row --------------------------------------------------------------------------------- */

/* The largest score; false where the row is none that has probabilities. */
bool modc_row_max(const float *scores, int vocabulary, float *max)
{
    float most = -INFINITY;
    bool bad = false;

    for (int i = 0; i < vocabulary; i++) {
        bad |= isnan(scores[i]);
        if (scores[i] > most)
            most = scores[i];
    }
    *max = most;
    return !bad && most > -INFINITY && most < INFINITY;
}

double modc_row_sum(const float *scores, int vocabulary, float max)
{
    double sum = 0;

    for (int i = 0; i < vocabulary; i++)
        if (scores[i] > -INFINITY)
            sum += modc_f32s_exp(scores[i] - max);
    return sum;
}

/* Entropy of the row's softmax. */
static double entropy_of(const struct modc_row *row, float max, double sum)
{
    double weighted = 0;

    for (int i = 0; i < row->vocabulary; i++)
        if (row->scores[i] > -INFINITY)
            weighted += (double)(row->scores[i] - max) * modc_f32s_exp(row->scores[i] - max);
    return log(sum) - weighted / sum;
}

static struct modc_ranked *heap_of(const struct modc_row *row)
{
    return (struct modc_ranked *)row->scratch;
}

/* The k-th largest score. */
static float kth_of(const struct modc_row *row, int k)
{
    struct modc_ranked *heap = heap_of(row);
    int count = 0;

    for (int i = 0; i < row->vocabulary; i++)
        modc_heap_offer(heap, &count, k, row->scores[i], i);
    return -heap[0].key;
}

static int at_most(int count, const struct modc_row *row)
{
    return count < 1 ? 1 : count < row->vocabulary ? count : row->vocabulary;
}

static bool in_row(const struct modc_row *row, int64_t id)
{
    return id >= 0 && id < row->vocabulary;
}

/* ---- penalties ---------------------------------------------------------------------------------------------- */

void modc_process_sequence_bias(struct modc_row *row, const struct modc_history *history,
                                const struct modc_biased *list, int count)
{
    for (int i = 0; i < count; i++) {
        const struct modc_ids ids = list[i].ids;

        if (ids.count > 0 && in_row(row, ids.ids[ids.count - 1]) &&
            ends_with(history, ids.ids, ids.count - 1))
            row->scores[ids.ids[ids.count - 1]] += list[i].bias;
    }
}

/* Once for each token, so a bit says which had their turn. */
static void penalize(struct modc_row *row, uint32_t *turns, const int64_t *ids, int count, float penalty)
{
    for (int i = 0; i < count; i++) {
        uint32_t *turn, bit;
        float *score;

        if (!in_row(row, ids[i]))
            continue;
        turn = &turns[ids[i] / 32];
        bit = (uint32_t)1 << (ids[i] % 32);
        if (*turn & bit)
            continue;
        *turn |= bit;
        score = &row->scores[ids[i]];
        *score = *score < 0 ? *score * penalty : *score / penalty;
    }
}

static uint32_t *begin_turns(const struct modc_row *row)
{
    memset(row->scratch, 0, ((size_t)row->vocabulary + 31) / 32 * sizeof(uint32_t));
    return (uint32_t *)row->scratch;
}

void modc_process_encoder_repetition(struct modc_row *row, const struct modc_history *history, float penalty)
{
    const struct modc_ids ids = encoder_of(history);

    penalize(row, begin_turns(row), ids.ids, ids.count, 1 / penalty);
}

void modc_process_repetition(struct modc_row *row, const struct modc_history *history, float penalty)
{
    uint32_t *turns = begin_turns(row);

    penalize(row, turns, history->prompt, history->prompt_count, penalty);
    penalize(row, turns, history->ids, history->count, penalty);
}

void modc_process_presence(struct modc_row *row, const struct modc_history *history, float presence,
                           float frequency)
{
    int32_t *counts = (int32_t *)row->scratch;

    memset(counts, 0, (size_t)row->vocabulary * sizeof *counts);
    for (int i = 0; i < history->count; i++)
        if (in_row(row, history->ids[i]))
            counts[history->ids[i]]++;
    for (int i = 0; i < row->vocabulary; i++)
        if (counts[i] > 0)
            row->scores[i] -= presence + frequency * (float)counts[i];
}

/* ---- what may not come -------------------------------------------------------------------------------------- */

static void forbid(struct modc_row *row, int64_t id)
{
    if (in_row(row, id))
        row->scores[id] = -INFINITY;
}

void modc_process_no_repeat_ngram(struct modc_row *row, const struct modc_history *history, int size)
{
    const int length = length_of(history), tail = length - (size - 1);

    for (int start = 0; start + size <= length; start++) {
        int same = 0;

        while (same < size - 1 && id_at(history, start + same) == id_at(history, tail + same))
            same++;
        if (same == size - 1)
            forbid(row, id_at(history, start + size - 1));
    }
}

void modc_process_encoder_ngram(struct modc_row *row, const struct modc_history *history, int size)
{
    const struct modc_ids encoder = encoder_of(history);

    for (int start = 0; start <= encoder.count - size; start++)
        if (ends_with(history, encoder.ids + start, size - 1))
            forbid(row, encoder.ids[start + size - 1]);
}

void modc_process_bad_words(struct modc_row *row, const struct modc_history *history,
                            const struct modc_ids *list, int count, struct modc_ids eos)
{
    for (int i = 0; i < count; i++) {
        const struct modc_ids ids = list[i];

        if (ids.count < 1 || (ids.count == 1 && modc_ids_have(eos, ids.ids[0])))
            continue;
        if (ends_with(history, ids.ids, ids.count - 1))
            forbid(row, ids.ids[ids.count - 1]);
    }
}

void modc_process_suppress(struct modc_row *row, struct modc_ids ids)
{
    for (int i = 0; i < ids.count; i++)
        forbid(row, ids.ids[i]);
}

void modc_process_force(struct modc_row *row, struct modc_ids ids)
{
    for (int i = 0; i < row->vocabulary; i++)
        row->scores[i] = -INFINITY;
    for (int i = 0; i < ids.count; i++)
        if (in_row(row, ids.ids[i]))
            row->scores[ids.ids[i]] = 0;
}

void modc_process_invalid(struct modc_row *row)
{
    for (int i = 0; i < row->vocabulary; i++) {
        float *score = &row->scores[i];

        if (isnan(*score))
            *score = 0;
        else if (isinf(*score))
            *score = *score > 0 ? FLT_MAX : -FLT_MAX;
    }
}

void modc_process_decay(struct modc_row *row, int steps, float factor, struct modc_ids eos)
{
    const float rate = (float)(pow((double)factor, steps) - 1);

    for (int i = 0; i < eos.count; i++) {
        bool before = false; /* an id that stands twice */

        for (int j = 0; j < i; j++)
            before |= eos.ids[j] == eos.ids[i];
        if (!before && in_row(row, eos.ids[i]) && isfinite(row->scores[eos.ids[i]]))
            row->scores[eos.ids[i]] += fabsf(row->scores[eos.ids[i]]) * rate;
    }
}

/* ---- where tokens are drawn --------------------------------------------------------------------------------- */

void modc_process_temperature(struct modc_row *row, float temperature)
{
    for (int i = 0; i < row->vocabulary; i++)
        row->scores[i] /= temperature;
}

/* The likeliest 100, as long as their entropies add up to no more than top_h of that of all 100. */
void modc_process_top_h(struct modc_row *row, float top_h)
{
    enum { MOST = 100 };
    struct modc_ranked *heap = heap_of(row);
    double sum = 0, entropy = 0, reached = 0;
    int most = at_most(MOST, row), count = 0, kept = 1;
    float max;

    if (!modc_row_max(row->scores, row->vocabulary, &max))
        return;
    for (int i = 0; i < row->vocabulary; i++)
        modc_heap_offer(heap, &count, most, row->scores[i], i);
    for (int left = count;
         left > 0;) /* the worst come first, and go to the end: then the best stand in front */
        (void)modc_heap_pop(heap, &left, true);
    for (int i = 0; i < count; i++)
        sum += modc_f32s_exp(-heap[i].key - max);
    for (int i = 0; i < count && -heap[i].key > -INFINITY; i++) {
        const double p = modc_f32s_exp(-heap[i].key - max) / sum;

        entropy -= p > 0 ? p * log(p) : 0;
    }
    for (int i = 0; i < count; i++) {
        const double p = modc_f32s_exp(-heap[i].key - max) / sum;

        if (!(p > 0))
            break;
        reached -= p * log(p);
        if (reached > entropy * (double)top_h)
            break;
        kept = i + 1;
    }
    for (int i = 0; i < row->vocabulary; i++)
        row->scores[i] = -INFINITY;
    for (int i = 0; i < kept; i++)
        row->scores[heap[i].index] = -heap[i].key;
}

/* What equals the k-th stays. */
void modc_process_top_k(struct modc_row *row, int k, int keep)
{
    const int kept = at_most(k > keep ? k : keep, row);
    float least;

    if (row->vocabulary < 1 || kept == row->vocabulary)
        return;
    least = kth_of(row, kept);
    for (int i = 0; i < row->vocabulary; i++)
        if (row->scores[i] < least)
            row->scores[i] = -INFINITY;
}

/* A heap of the scores from `least` on. */
static int gather(const struct modc_row *row, float least)
{
    struct modc_ranked *heap = heap_of(row);
    int count = 0;

    for (int i = 0; i < row->vocabulary; i++)
        if (row->scores[i] >= least && row->scores[i] > -INFINITY)
            heap[count++] = (struct modc_ranked){row->scores[i], i};
    modc_heap_make(heap, count, true);
    return count;
}

/* transformers sorts ascending and drops while the sum is at most 1 - p: that is, what stands behind better ones that have p
 * together. Of equal ones the higher id counts as the better, as a stable sort has it. What has less than (1 - p) / V is among those
 * that go, since V of them have less than 1 - p: mostly it is nearly all, and the heap small. */
void modc_process_top_p(struct modc_row *row, float p, int keep)
{
    struct modc_ranked *heap = heap_of(row);
    double sum, better = 0;
    int count, kept = 0;
    float max, least;

    keep = at_most(keep, row);
    if (!modc_row_max(row->scores, row->vocabulary, &max))
        return;
    sum = modc_row_sum(row->scores, row->vocabulary, max);
    least = p < 1 ? (float)((double)max + log((1 - (double)p) * sum / row->vocabulary) - 1e-3) : -INFINITY;
    count = gather(row, least);
    if (count < keep) {
        least = -INFINITY;
        count = gather(row, least);
    }
    while (count > 0 && (kept < keep || better < (double)p * sum)) {
        better += modc_f32s_exp(modc_heap_pop(heap, &count, true).key - max);
        kept++;
    }
    for (int i = 0; i < row->vocabulary; i++)
        if (row->scores[i] < least)
            row->scores[i] = -INFINITY;
    for (int i = 0; i < count; i++)
        row->scores[heap[i].index] = -INFINITY;
}

/* What has less than `least` of the best one's probability goes, but for the `keep` best. */
static void drop_below(struct modc_row *row, float max, float least, int keep)
{
    struct modc_ranked *heap = heap_of(row);
    int count = 0;

    for (int i = 0; i < row->vocabulary; i++)
        modc_heap_offer(heap, &count, at_most(keep, row), row->scores[i], i);
    for (int i = 0; i < row->vocabulary; i++) {
        float *score = &row->scores[i];

        if (modc_f32s_exp(*score - max) < least &&
            comes_first((struct modc_ranked){-*score, i}, heap[0], true))
            *score = -INFINITY;
    }
}

void modc_process_min_p(struct modc_row *row, float p, int keep)
{
    float max;

    if (modc_row_max(row->scores, row->vocabulary, &max))
        drop_below(row, max, p, keep);
}

void modc_process_typical(struct modc_row *row, float mass, int keep)
{
    struct modc_ranked *heap = heap_of(row);
    double sum, norm, entropy, reached = 0;
    float max, last = INFINITY;
    int count = 0, kept = 0;

    if (!modc_row_max(row->scores, row->vocabulary, &max))
        return;
    sum = modc_row_sum(row->scores, row->vocabulary, max);
    norm = (double)max + log(sum);
    entropy = entropy_of(row, max, sum);
    for (int i = 0; i < row->vocabulary; i++)
        if (row->scores[i] > -INFINITY)
            heap[count++] = (struct modc_ranked){-(float)fabs(norm - (double)row->scores[i] - entropy), i};
    modc_heap_make(heap, count, false);
    while (count > 0 && (kept < at_most(keep, row) || last == INFINITY)) {
        const struct modc_ranked next = modc_heap_pop(heap, &count, false);

        reached += modc_f32s_exp(row->scores[next.index] - max) / sum;
        kept++;
        if (last == INFINITY && reached >= (double)mass)
            last = -next.key;
    }
    for (int i = 0; i < count; i++)
        if (-heap[i].key > last)
            row->scores[heap[i].index] = -INFINITY;
}

/* Scores equal to the keep-th stay, too. */
static void cut_off(struct modc_row *row, float max, double sum, double least, int keep)
{
    const float best = kth_of(row, at_most(keep, row));

    for (int i = 0; i < row->vocabulary; i++) {
        float *score = &row->scores[i];

        if (*score < best && modc_f32s_exp(*score - max) < least * sum)
            *score = -INFINITY;
    }
}

void modc_process_epsilon(struct modc_row *row, float epsilon, int keep)
{
    float max;

    if (modc_row_max(row->scores, row->vocabulary, &max))
        cut_off(row, max, modc_row_sum(row->scores, row->vocabulary, max), (double)epsilon, keep);
}

void modc_process_eta(struct modc_row *row, float epsilon, int keep)
{
    double sum, least;
    float max;

    if (!modc_row_max(row->scores, row->vocabulary, &max))
        return;
    sum = modc_row_sum(row->scores, row->vocabulary, max);
    least = sqrt((double)epsilon) * exp(-entropy_of(row, max, sum));
    cut_off(row, max, sum, least < (double)epsilon ? least : (double)epsilon, keep);
}

void modc_process_renormalize(struct modc_row *row)
{
    float max;
    double norm;

    if (!modc_row_max(row->scores, row->vocabulary, &max))
        return;
    norm = log(modc_row_sum(row->scores, row->vocabulary, max));
    for (int i = 0; i < row->vocabulary; i++)
        row->scores[i] = (float)((double)(row->scores[i] - max) - norm);
}

/* ---- all of them -------------------------------------------------------------------------------------------- */

static void process_penalties(const struct modc_generation_options *o, const struct modc_history *history,
                              struct modc_row *row)
{
    if (o->sequence_bias_count > 0)
        modc_process_sequence_bias(row, history, o->sequence_bias, o->sequence_bias_count);
    if (o->encoder_repetition_penalty != 1)
        modc_process_encoder_repetition(row, history, o->encoder_repetition_penalty);
    if (o->repetition_penalty != 1)
        modc_process_repetition(row, history, o->repetition_penalty);
    if (o->presence_penalty != 0 || o->frequency_penalty != 0)
        modc_process_presence(row, history, o->presence_penalty, o->frequency_penalty);
    if (o->no_repeat_ngram_size > 0)
        modc_process_no_repeat_ngram(row, history, o->no_repeat_ngram_size);
    if (o->encoder_no_repeat_ngram_size > 0)
        modc_process_encoder_ngram(row, history, o->encoder_no_repeat_ngram_size);
}

static void process_ids(const struct modc_generation_options *o, const struct modc_history *history,
                        int max_length, struct modc_row *row)
{
    const struct modc_ids eos = modc_generation_eos(o), bos = {&o->forced_bos_token_id, 1};
    const int length = length_of(history), prompt = history->prompt_count;
    const int begin = prompt > 1 || o->forced_bos_token_id < 0 ? prompt : prompt + 1;

    modc_process_bad_words(row, history, o->bad_words_ids, o->bad_words_count, eos);
    if (length < o->min_length || history->count < o->min_new_tokens)
        modc_process_suppress(row, eos);
    if (o->grammar)
        modc_grammar_mask(o->grammar,
                          history->grammar != 0 ? history->grammar : modc_grammar_state(o->grammar, history),
                          eos, row);
    if (o->forced_bos_token_id >= 0 && length == 1)
        modc_process_force(row, bos);
    if (o->forced_eos_token_id.count > 0 && length == max_length - 1)
        modc_process_force(row, o->forced_eos_token_id);
    if (o->remove_invalid_values)
        modc_process_invalid(row);
    if (o->exponential_decay_start >= 0 && history->count > o->exponential_decay_start)
        modc_process_decay(row, history->count - o->exponential_decay_start, o->exponential_decay_factor,
                           eos);
    modc_process_suppress(row, o->suppress_tokens);
    if (length == begin)
        modc_process_suppress(row, o->begin_suppress_tokens);
}

static void process_samples(const struct modc_generation_options *o, struct modc_row *row)
{
    const int eos = modc_generation_eos(o).count;
    const int keep = o->num_beams < 2 ? 1 : eos > 0 ? eos + 1 : 2;

    if (o->temperature > 0 && o->temperature != 1)
        modc_process_temperature(row, o->temperature);
    if (o->top_h > 0)
        modc_process_top_h(row, o->top_h);
    if (o->top_k > 0)
        modc_process_top_k(row, o->top_k, keep);
    if (o->top_p < 1)
        modc_process_top_p(row, o->top_p, keep);
    if (o->min_p > 0)
        modc_process_min_p(row, o->min_p, keep);
    if (o->typical_p < 1)
        modc_process_typical(row, o->typical_p, keep);
    if (o->epsilon_cutoff > 0)
        modc_process_epsilon(row, o->epsilon_cutoff, keep);
    if (o->eta_cutoff > 0)
        modc_process_eta(row, o->eta_cutoff, keep);
}

enum modc_status modc_process(const struct modc_generation_options *options,
                              const struct modc_history *history, int max_length, struct modc_row *row)
{
    if (!options || !history || !row || !row->scores || !row->scratch)
        return MODC_POINTER;
    process_penalties(options, history, row);
    process_ids(options, history, max_length, row);
    if (options->processor && options->processor(options->user, history, row->scores, row->vocabulary) != 0)
        return MODC_HOOK_ERROR;
    if (modc_generation_samples(options))
        process_samples(options, row);
    if (options->renormalize_logits)
        modc_process_renormalize(row);
    return MODC_OK;
}
