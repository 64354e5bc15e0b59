/* modc_beams.h - beam search over rows of logits, without a model. Nothing here allocates, prints or keeps globals.
 *
 * The rules are those of transformers 5.24 (_beam_search in generation/utils.py) for one prompt:
 *     modc_beams_begin(&beams, ...)
 *     while (beams.goes_on):   rows[w]: logits behind running beam w; the first time those behind the prompt, in rows[0]
 *         modc_beams_step(&beams, rows)
 *         running beam w now is what beams.parents[w] was, with beams.tokens[w] behind it: the caller's caches follow
 *     modc_beams_result(&beams, 0, ...), the best, and so on to num_return_sequences
 * Stop strings and limits of time are the caller's: modc_beams_propose, then candidates[i].stops = true, then modc_beams_advance.
 *
 * note [scores]
 * A row becomes its log-softmax before it is processed, so penalties multiply. Scores are sums in float, as there; a finished
 * sequence's is its sum / (tokens behind the prompt, EOS counted) ^ length_penalty. Equal scores: the lower beam, then the lower id. Where
 * tokens are drawn, candidates are drawn one behind the other without replacement, from the softmax over all beams. */
#ifndef MODC_RUNTIME_BEAMS_H
#define MODC_RUNTIME_BEAMS_H

#include "modc_sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

struct modc_candidate {
    float score; /* of the sequence so far, not yet divided by its length */
    int parent;  /* running beam */
    int64_t token;
    bool stops; /* EOS, or the length ends */
};

/* For each step's outcome; other members are the runtime's. */
struct modc_beams {
    bool goes_on;
    int width;                         /* num_beams */
    int length;                        /* tokens behind the prompt of the running ones */
    const int *parents;                /* width */
    const int64_t *tokens;             /* width */
    struct modc_candidate *candidates; /* best first */
    int candidate_count;

    const struct modc_generation_options *options;
    struct modc_history start;
    int vocabulary, max_length;
    uint64_t sequence;
    int room;                                /* tokens of a sequence */
    int64_t *running[2], *finished[2];       /* width of room; [1]: where the next ones are made */
    float *running_scores, *finished_scores; /* width */
    int *finished_lengths;                   /* width; 0: the slot is empty */
    int *next_parents;
    int64_t *next_tokens;
    void *ranked;   /* heap of candidates */
    double *shares; /* width; of what is left to be drawn */
    void *scratch;
};

/* Bytes for a search. SIZE_MAX: more than there can be. */
size_t modc_beams_bytes(const struct modc_generation_options *options, int prompt_count, int max_length,
                        int vocabulary);

/* prompt: without generated tokens; what it points to, options and memory outlive the search. max_length: modc_generation_length, or less.
 * sequence: of its random numbers. memory starts at a multiple of MODC_ALIGN_WIDE. MODC_POINTER, MODC_ALIGNMENT, MODC_WORKSPACE;
 * MODC_SIZE: no room for a token, or a vocabulary with less than the candidates. */
enum modc_status modc_beams_begin(struct modc_beams *beams, const struct modc_generation_options *options,
                                  const struct modc_history *prompt, int max_length, int vocabulary,
                                  uint64_t sequence, void *memory, size_t bytes);

/* Fills candidates from the rows, which are changed. MODC_NONFINITE: a score is NaN or +infinity, or all are -infinity; MODC_HOOK_ERROR;
 * MODC_ARGUMENT: the search has ended. Under an error nothing has changed but rows and candidates. */
enum modc_status modc_beams_propose(struct modc_beams *beams, float *const *rows);

/* Makes running and finished sequences of the candidates. */
void modc_beams_advance(struct modc_beams *beams);

/* Both. */
enum modc_status modc_beams_step(struct modc_beams *beams, float *const *rows);

/* What a running beam has behind the prompt. */
struct modc_ids modc_beams_running(const struct modc_beams *beams, int beam);

/* The index-th best finished sequence behind the prompt, and its score. False: there are fewer. */
bool modc_beams_result(const struct modc_beams *beams, int index, struct modc_ids *ids, float *score);

#ifdef __cplusplus
}
#endif

#endif
