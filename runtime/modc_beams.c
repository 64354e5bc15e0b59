/* modc_beams.c - beam search as a state machine; see modc_beams.h. */
#include "modc_beams.h"

#include <limits.h>

#include "modc_sampling_parts.h"

#define NEVER (-1.0e9f) /* of transformers: what is added to scores that are not to win */

/* ---- memory ------------------------------------------------------------------------------------------------- */

static int candidates_of(const struct modc_generation_options *options)
{
    const int eos = modc_generation_eos(options).count;

    if (eos > INT_MAX / 2 / options->num_beams - 1)
        return INT_MAX;
    return (eos < 1 ? 2 : eos + 1) * options->num_beams;
}

/* Lays arrays one behind the other; memory NULL: counts alone. */
struct layout {
    char *memory;
    uint64_t used;
};

static void *place(struct layout *layout, uint64_t count, uint64_t bytes)
{
    void *at = layout->memory ? layout->memory + layout->used : NULL;

    layout->used += (count * bytes + 7) / 8 * 8;
    return at;
}

static void place_all(struct modc_beams *b, struct layout *layout)
{
    const uint64_t width = (uint64_t)b->width, ids = width * (uint64_t)b->room;

    for (int i = 0; i < 2; i++) {
        b->running[i] = (int64_t *)place(layout, ids, sizeof(int64_t));
        b->finished[i] = (int64_t *)place(layout, ids, sizeof(int64_t));
    }
    b->next_tokens = (int64_t *)place(layout, width, sizeof(int64_t));
    b->running_scores = (float *)place(layout, width, sizeof(float));
    b->finished_scores = (float *)place(layout, 2 * width, sizeof(float));
    b->finished_lengths = (int *)place(layout, 2 * width, sizeof(int));
    b->next_parents = (int *)place(layout, width, sizeof(int));
    b->candidates = (struct modc_candidate *)place(layout, (uint64_t)b->candidate_count,
                                                   sizeof *b->candidates);
    b->ranked = place(layout, (uint64_t)b->candidate_count, sizeof(struct modc_ranked));
    b->shares = (double *)place(layout, width, sizeof(double));
    b->scratch = place(layout, (uint64_t)b->vocabulary, MODC_SAMPLING_BYTES(1));
}

size_t modc_beams_bytes(const struct modc_generation_options *options, int prompt_count, int max_length,
                        int vocabulary)
{
    struct modc_beams beams = {
        .width = options->num_beams, .vocabulary = vocabulary, .room = max_length - prompt_count};
    struct layout layout = {NULL, 0};

    if (beams.room < 1 || vocabulary < 1 || beams.width < 1)
        return 0;
    beams.candidate_count = candidates_of(options);
    if ((uint64_t)beams.room > UINT64_MAX / 128 / (uint64_t)beams.width)
        return SIZE_MAX;
    place_all(&beams, &layout);
    return layout.used > SIZE_MAX ? SIZE_MAX : (size_t)layout.used;
}

enum modc_status modc_beams_begin(struct modc_beams *beams, const struct modc_generation_options *options,
                                  const struct modc_history *prompt, int max_length, int vocabulary,
                                  uint64_t sequence, void *memory, size_t bytes)
{
    struct layout layout = {(char *)memory, 0};
    size_t needed;

    if (!beams || !options || !prompt || !memory)
        return MODC_POINTER;
    if ((uintptr_t)memory % MODC_ALIGN_WIDE != 0)
        return MODC_ALIGNMENT;
    needed = modc_beams_bytes(options, prompt->prompt_count, max_length, vocabulary);
    if (needed == 0 || vocabulary > INT_MAX / options->num_beams ||
        candidates_of(options) > vocabulary * options->num_beams)
        return MODC_SIZE;
    if (bytes < needed)
        return MODC_WORKSPACE;
    *beams = (struct modc_beams){.goes_on = true,
                                 .width = options->num_beams,
                                 .candidate_count = candidates_of(options),
                                 .options = options,
                                 .start = *prompt,
                                 .vocabulary = vocabulary,
                                 .max_length = max_length,
                                 .sequence = sequence,
                                 .room = max_length - prompt->prompt_count};
    place_all(beams, &layout);
    beams->parents = beams->next_parents;
    beams->tokens = beams->next_tokens;
    for (int i = 0; i < beams->width; i++) {
        beams->running_scores[i] = i == 0 ? 0 : NEVER; /* or all would begin with the same token */
        beams->finished_scores[i] = NEVER;
        beams->finished_lengths[i] = 0;
        beams->next_parents[i] = i;
        beams->next_tokens[i] = MODC_UNSET;
    }
    return MODC_OK;
}

/* ---- candidates --------------------------------------------------------------------------------------------- */

/* As long as all beams are the prompt, they have one row. */
static float *row_of(const struct modc_beams *b, float *const *rows, int beam)
{
    return rows[b->length == 0 ? 0 : beam];
}

static enum modc_status process_rows(struct modc_beams *b, float *const *rows)
{
    bool any = false;

    for (int beam = 0; beam < (b->length == 0 ? 1 : b->width); beam++) {
        struct modc_row row = {rows[beam], b->vocabulary, b->scratch};
        struct modc_history history = b->start;
        enum modc_status status;

        if (!row.scores)
            return MODC_POINTER;
        history.ids = b->running[0] + (size_t)beam * (size_t)b->room;
        history.count = b->length;
        modc_process_renormalize(&row);
        status = modc_process(b->options, &history, b->max_length, &row);
        if (status != MODC_OK)
            return status;
        for (int i = 0; i < b->vocabulary; i++) {
            if (isnan(row.scores[i]) || row.scores[i] == INFINITY)
                return MODC_NONFINITE;
            any |= row.scores[i] > -INFINITY;
        }
    }
    return any ? MODC_OK : MODC_NONFINITE;
}

static struct modc_candidate candidate_of(const struct modc_beams *b, float score, int beam, int token)
{
    const bool ends = b->length + 1 >= b->room;

    return (struct modc_candidate){score, beam, token,
                                   ends || modc_ids_have(modc_generation_eos(b->options), token)};
}

static void take_best(struct modc_beams *b, float *const *rows)
{
    struct modc_ranked *ranked = (struct modc_ranked *)b->ranked;
    int count = 0;

    for (int beam = 0; beam < b->width; beam++) {
        const float *row = row_of(b, rows, beam);

        for (int i = 0; i < b->vocabulary; i++)
            modc_heap_offer(ranked, &count, b->candidate_count, row[i] + b->running_scores[beam],
                            beam * b->vocabulary + i);
    }
    for (int left = count; left > 0;)
        (void)modc_heap_pop(ranked, &left, true);
    for (int i = 0; i < count; i++)
        b->candidates[i] = candidate_of(b, -ranked[i].key, ranked[i].index / b->vocabulary,
                                        ranked[i].index % b->vocabulary);
}

/* How much of all probability a beam has left. */
static double share_of(const struct modc_beams *b, float *const *rows, int beam, float max)
{
    const float *row = row_of(b, rows, beam);
    double sum = 0;

    for (int i = 0; i < b->vocabulary; i++)
        if (row[i] > -INFINITY)
            sum += modc_f32s_exp(row[i] + b->running_scores[beam] - max);
    return sum;
}

static bool is_taken(const struct modc_beams *b, int count, int beam, int token)
{
    for (int i = 0; i < count; i++)
        if (b->candidates[i].parent == beam && b->candidates[i].token == token)
            return true;
    return false;
}

/* The best one that is left, where nothing has a probability any more. */
static struct modc_candidate best_left(const struct modc_beams *b, float *const *rows, int count)
{
    struct modc_candidate best = {-INFINITY, -1, 0, false};

    for (int beam = 0; beam < b->width; beam++) {
        const float *row = row_of(b, rows, beam);

        for (int i = 0; i < b->vocabulary; i++) {
            const float score = row[i] + b->running_scores[beam];

            if ((best.parent < 0 || score > best.score) && !is_taken(b, count, beam, i))
                best = candidate_of(b, score, beam, i);
        }
    }
    return best;
}

/* The token of a beam at which the sum passes `wanted`. */
static struct modc_candidate drawn_of(const struct modc_beams *b, float *const *rows, int beam, float max,
                                      double wanted)
{
    const float *row = row_of(b, rows, beam);
    double sum = 0;
    int token = -1;

    for (int i = 0; i < b->vocabulary; i++) {
        const float share = row[i] > -INFINITY ? modc_f32s_exp(row[i] + b->running_scores[beam] - max) : 0;

        if (!(share > 0))
            continue;
        token = i;
        sum += share;
        if (sum > wanted)
            break;
    }
    return candidate_of(b, row[token] + b->running_scores[beam], beam, token);
}

/* The beam to draw from: `wanted` becomes how far to go there. -1: none has a probability left. */
static int beam_of(const struct modc_beams *b, double uniform, double *wanted)
{
    double total = 0;
    int last = -1;

    for (int beam = 0; beam < b->width; beam++)
        total += b->shares[beam];
    *wanted = uniform * total;
    for (int beam = 0; beam < b->width; beam++) {
        if (!(b->shares[beam] > 0))
            continue;
        if (last >= 0)
            *wanted -= b->shares[last];
        last = beam;
        if (*wanted < b->shares[beam])
            break;
    }
    return last;
}

/* Draws without replacement: what was drawn becomes -infinity in its row. */
static void draw_all(struct modc_beams *b, float *const *rows)
{
    float max = -INFINITY;

    for (int beam = 0; beam < b->width; beam++) {
        const float *row = row_of(b, rows, beam);

        for (int i = 0; i < b->vocabulary; i++)
            if (row[i] + b->running_scores[beam] > max)
                max = row[i] + b->running_scores[beam];
    }
    for (int beam = 0; beam < b->width; beam++)
        b->shares[beam] = share_of(b, rows, beam, max);
    for (int n = 0; n < b->candidate_count; n++) {
        double wanted;
        const int beam = beam_of(b, modc_uniform(b->options->seed, b->sequence, b->length, n), &wanted);
        const struct modc_candidate next = beam < 0 ? best_left(b, rows, n)
                                                    : drawn_of(b, rows, beam, max, wanted);
        int at = n;

        row_of(b, rows, next.parent)[next.token] = -INFINITY;
        for (int i = 0; i < b->width; i++)
            if (row_of(b, rows, i) == row_of(b, rows, next.parent))
                b->shares[i] = share_of(b, rows, i, max);
        for (; at > 0 && b->candidates[at - 1].score < next.score; at--)
            b->candidates[at] = b->candidates[at - 1];
        b->candidates[at] = next;
    }
}

enum modc_status modc_beams_propose(struct modc_beams *beams, float *const *rows)
{
    enum modc_status status;

    if (!beams || !rows)
        return MODC_POINTER;
    if (!beams->goes_on)
        return MODC_ARGUMENT;
    status = process_rows(beams, rows);
    if (status != MODC_OK)
        return status;
    if (modc_generation_samples(beams->options))
        draw_all(beams, rows);
    else
        take_best(beams, rows);
    return MODC_OK;
}

/* ---- sequences ---------------------------------------------------------------------------------------------- */

static int64_t *sequence_of(const struct modc_beams *b, int64_t *sequences, int index)
{
    return sequences + (size_t)index * (size_t)b->room;
}

static void swap(int64_t *sequences[2])
{
    int64_t *first = sequences[0];

    sequences[0] = sequences[1];
    sequences[1] = first;
}

/* A running sequence with a token behind it. */
static void extend(const struct modc_beams *b, int64_t *to, const struct modc_candidate *candidate)
{
    memcpy(to, sequence_of(b, b->running[0], candidate->parent), (size_t)b->length * sizeof *to);
    to[b->length] = candidate->token;
}

/* The best `width` of a list, best first, of equal ones the first: they come to stand in front. */
static void rank(struct modc_beams *b, int count)
{
    struct modc_ranked *ranked = (struct modc_ranked *)b->ranked;

    for (int i = 0; i < count; i++) { /* of which there are few */
        const struct modc_ranked moved = ranked[i];
        int at = i;

        for (; at > 0 && ranked[at - 1].key < moved.key; at--)
            ranked[at] = ranked[at - 1];
        ranked[at] = moved;
    }
}

/* sum / length ^ length_penalty */
static float scored(const struct modc_beams *b, float sum, int length)
{
    return sum / (float)pow((double)length, (double)b->options->length_penalty);
}

/* The best that do not stop run on; where there are too few, those that do follow with a score that nothing mends. */
static void choose_running(struct modc_beams *b)
{
    struct modc_ranked *ranked = (struct modc_ranked *)b->ranked;

    for (int i = 0; i < b->candidate_count; i++) {
        const struct modc_candidate *candidate = &b->candidates[i];

        ranked[i] = (struct modc_ranked){candidate->score + (candidate->stops ? NEVER : 0), i};
    }
    rank(b, b->candidate_count);
    for (int w = 0; w < b->width; w++) {
        const struct modc_candidate *candidate = &b->candidates[ranked[w].index];

        extend(b, sequence_of(b, b->running[1], w), candidate);
        b->running_scores[w] = ranked[w].key;
        b->next_parents[w] = candidate->parent;
        b->next_tokens[w] = candidate->token;
    }
}

/* Of those that finished before and those that stop among the first `width`, the best. */
static void choose_finished(struct modc_beams *b)
{
    struct modc_ranked *ranked = (struct modc_ranked *)b->ranked;
    float *scores = b->finished_scores;
    int *lengths = b->finished_lengths, count = b->width;

    for (int i = 0; i < b->width; i++)
        ranked[i] = (struct modc_ranked){scores[i], i};
    for (int i = 0; i < b->width; i++)
        if (b->candidates[i].stops)
            ranked[count++] = (struct modc_ranked){scored(b, b->candidates[i].score, b->length + 1),
                                                   b->width + i};
    rank(b, count);
    for (int w = 0; w < b->width; w++) {
        const int from = ranked[w].index;
        int64_t *to = sequence_of(b, b->finished[1], w);

        if (from >= b->width)
            extend(b, to, &b->candidates[from - b->width]);
        else
            memcpy(to, sequence_of(b, b->finished[0], from), (size_t)lengths[from] * sizeof *to);
        scores[b->width + w] = ranked[w].key;
        lengths[b->width + w] = from < b->width ? lengths[from] : b->length + 1;
    }
    memcpy(scores, scores + b->width, (size_t)b->width * sizeof *scores);
    memcpy(lengths, lengths + b->width, (size_t)b->width * sizeof *lengths);
}

/* Whether the best running one can still be better than the worst finished one. An empty slot is worse than all. */
static bool can_improve(const struct modc_beams *b)
{
    const struct modc_generation_options *o = b->options;
    const bool longest = o->early_stopping == MODC_EARLY_NEVER && o->length_penalty > 0;
    float worst = INFINITY;

    for (int w = 0; w < b->width; w++) {
        const float score = b->finished_lengths[w] > 0 ? b->finished_scores[w] : NEVER;

        worst = score < worst ? score : worst;
    }
    return scored(b, b->running_scores[0], longest ? b->room : b->length) > worst;
}

/* transformers also keeps finished ones from being added behind the end, which a search over one prompt does not reach. */
void modc_beams_advance(struct modc_beams *beams)
{
    bool full = true, all = true;

    choose_running(beams);
    choose_finished(beams);
    swap(beams->running);
    swap(beams->finished);
    beams->length++;
    for (int w = 0; w < beams->width; w++)
        full &= beams->finished_lengths[w] > 0;
    for (int i = 0; i < beams->candidate_count; i++)
        all &= beams->candidates[i].stops;
    beams->goes_on = can_improve(beams) && !(full && beams->options->early_stopping == MODC_EARLY_TRUE) &&
                     !all;
}

enum modc_status modc_beams_step(struct modc_beams *beams, float *const *rows)
{
    const enum modc_status status = modc_beams_propose(beams, rows);

    if (status == MODC_OK)
        modc_beams_advance(beams);
    return status;
}

struct modc_ids modc_beams_running(const struct modc_beams *beams, int beam)
{
    return (struct modc_ids){sequence_of(beams, beams->running[0], beam), beams->length};
}

bool modc_beams_result(const struct modc_beams *beams, int index, struct modc_ids *ids, float *score)
{
    if (index < 0 || index >= beams->width || beams->finished_lengths[index] == 0)
        return false;
    *ids = (struct modc_ids){sequence_of(beams, beams->finished[0], index), beams->finished_lengths[index]};
    *score = beams->finished_scores[index];
    return true;
}
