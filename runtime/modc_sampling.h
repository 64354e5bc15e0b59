/* modc_sampling.h - what becomes of a row of logits: options, processors, draws, log-probabilities. It knows neither models nor
 * tokenizers; modc_beams.h has the search over several rows. Nothing here allocates, prints or keeps globals.
 *
 * The rules are those of transformers 5.24 (generation/logits_process.py), in its order and with its names; temperature 0 is greedy.
 *
 * note [rows]
 * A row is one float for each token of the vocabulary, and is changed in place; -infinity is a token that cannot come. Processors
 * never loop or fail over what a row holds: those that compute probabilities leave a row alone that has a NaN or +infinity, or
 * nothing but -infinity. Whoever picks a token of such a row gets MODC_NONFINITE. remove_invalid_values makes numbers of them
 * first. What is forbidden is -infinity whatever it was; transformers adds -infinity for bad words, so that those of +infinity and
 * NaN come back.
 *
 * note [draws]
 * Random numbers are Philox words of (seed, number of the sequence, its own step), so what a sequence draws depends neither on others
 * beside it nor on how rows are put together. PyTorch's numbers are others: it draws for a whole batch. */
#ifndef MODC_RUNTIME_SAMPLING_H
#define MODC_RUNTIME_SAMPLING_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options ------------------------------------------------------------------------------------------------ */

enum { MODC_UNSET = -1 }; /* of an id, a length, a flag or a temperature: nothing was said */

enum modc_early_stopping { MODC_EARLY_FALSE, MODC_EARLY_TRUE, MODC_EARLY_NEVER };

/* Of `logprobs`. */
enum { MODC_LOGPROBS_PROMPT = 1, MODC_LOGPROBS_RESPONSE = 2, MODC_LOGPROBS_FULL = 4 };

struct modc_ids {
    const int64_t *ids;
    int count;
};

struct modc_grammar;

struct modc_biased {
    struct modc_ids ids;
    float bias;
};

/* What came so far of a sequence, in two parts, so that nobody needs to copy them together. */
struct modc_history {
    const int64_t *prompt;
    int prompt_count;
    const int64_t *ids; /* that were generated */
    int count;
    const int64_t *encoder; /* what an encoder read; NULL: the prompt, as in a decoder alone */
    int encoder_count;
    uint32_t grammar; /* where these stand in the options' grammar; 0: it is found by reading them */
};

/* The user's own, behind all that do not need sampling. Nonzero ends it all with MODC_HOOK_ERROR. */
typedef int modc_processor(void *user, const struct modc_history *history, float *scores, int vocabulary);

/* What modc_generation_defaults fills in stands behind each. The setter's names are the members', with `max_tokens` for max_new_tokens,
 * `n` for num_return_sequences, and `stop_sequences` and `stop_strings` for stop. */
struct modc_generation_options {
    /* how long */
    int max_new_tokens; /* MODC_UNSET: 20, where max_length says nothing either */
    int min_new_tokens; /* 0; before so many, no EOS */
    int max_length;     /* MODC_UNSET; counts the prompt */
    int min_length;     /* 0; counts the prompt */
    float max_time;     /* 0: none; seconds */

    /* how a token is picked */
    int do_sample; /* MODC_UNSET: samples where one of the options down to eta_cutoff is given; 0: greedy or beams; 1: samples */
    float temperature;    /* MODC_UNSET: 1; 0: greedy */
    int top_k;            /* 0: off; Hugging Face has 50 */
    float top_p;          /* 1: off */
    float min_p;          /* 0: off */
    float typical_p;      /* 1: off */
    float top_h;          /* 0: off */
    float epsilon_cutoff; /* 0: off */
    float eta_cutoff;     /* 0: off */
    uint64_t seed;        /* 0 */

    /* what changes scores */
    float repetition_penalty;                  /* 1: off */
    float encoder_repetition_penalty;          /* 1: off */
    float presence_penalty, frequency_penalty; /* 0: off; over what was generated */
    int no_repeat_ngram_size;                  /* 0: off */
    int encoder_no_repeat_ngram_size;          /* 0: off */
    const struct modc_ids *bad_words_ids;      /* none; sequences */
    int bad_words_count;
    const struct modc_biased *sequence_bias; /* none */
    int sequence_bias_count;
    struct modc_ids suppress_tokens, begin_suppress_tokens; /* none */
    int64_t forced_bos_token_id;                            /* MODC_UNSET; behind a prompt of one token */
    struct modc_ids forced_eos_token_id; /* none; where the length ends, it is one of them */
    int exponential_decay_start;         /* MODC_UNSET: off; new tokens from which on EOS becomes likelier */
    float exponential_decay_factor;      /* 1; for each token */
    const struct modc_grammar *grammar;  /* NULL; what may be written: modc_grammar.h */
    bool remove_invalid_values;          /* false */
    bool renormalize_logits;             /* false */
    modc_processor *processor;           /* NULL */
    void *user;

    /* beams */
    int num_beams;                           /* 1 */
    float length_penalty;                    /* 1; more favours longer ones */
    enum modc_early_stopping early_stopping; /* MODC_EARLY_FALSE */
    int num_return_sequences;                /* 1 */

    /* where a sequence ends, and what is told of it; none of it is read here but the ids */
    struct modc_ids eos_token_id; /* none */
    int64_t pad_token_id;         /* MODC_UNSET */
    bool ignore_eos;              /* false */
    const char *const *stop;      /* none; texts */
    int stop_count;
    bool include_stop_str_in_output; /* true, as transformers has it */
    bool skip_special_tokens;        /* true */
    unsigned logprobs;               /* 0: none; MODC_LOGPROBS_... */
    int top_logprobs;                /* 0; so many of the likeliest beside each token's */
    bool zero_first;                 /* false; torchrl has 0 as the first log-probability of a response */
    int prompt_lookup_num_tokens;    /* 0: off */
    int max_matching_ngram_size;     /* 2; of the lookup */

    uint64_t given; /* the setter's: a bit for each name it was called with */
};

void modc_generation_defaults(struct modc_generation_options *options);

/* Those of Hugging Face: do_sample 0, top_k 50, which then counts as not given. */
void modc_generation_defaults_hf(struct modc_generation_options *options);

/* Whether all options go together and with ids below `vocabulary` (0: it is not known). message: NULL, or room for a text such as
 *     top_p is 1.5: it takes a number from 0 to 1; 1 is off
 * which is cut where it is longer. MODC_ARGUMENT: a value or a conflict; MODC_INDEX: an id; MODC_POINTER. */
enum modc_status modc_generation_check(const struct modc_generation_options *options, int vocabulary,
                                       char *message, size_t room);

/* Where ids of lists go that are given as text; the block starts at a multiple of 8. Lists point into it. */
struct modc_option_memory {
    void *block;
    size_t bytes, used;
};

/* Sets one option: "temperature", "0.8". Flags are true and false (1 and 0), ids "1, 2", sequences "1 2, 3", biases "1 2: -3.5, 7: 2",
 * exponential_decay_length_penalty "5, 1.1", logprobs words of prompt, response, full. A text of `stop` is added to those that are
 * there, and stays the caller's. memory: NULL where no list is set. MODC_NAME: there is no such option, and the message has the one that
 * is spelled nearly so; MODC_ARGUMENT: the value, or a name after its other one; MODC_MEMORY. Ranges are the check's. */
enum modc_status modc_generation_set(struct modc_generation_options *options, const char *name,
                                     const char *value, struct modc_option_memory *memory, char *message,
                                     size_t room);

/* The name of an option by its number, from 0 on; NULL: there are no more. */
const char *modc_generation_name(int index);

/* Whether tokens are drawn. */
bool modc_generation_samples(const struct modc_generation_options *options);

/* Tokens of the prompt and behind it at which a sequence ends. */
int modc_generation_length(const struct modc_generation_options *options, int prompt_count);

/* The ids that end a sequence: none with ignore_eos. */
struct modc_ids modc_generation_eos(const struct modc_generation_options *options);
bool modc_ids_have(struct modc_ids ids, int64_t id);

/* ---- processors --------------------------------------------------------------------------------------------- */

/* Bytes of scratch for a row. */
#define MODC_SAMPLING_BYTES(vocabulary) ((size_t)(vocabulary)*8)

struct modc_row {
    float *scores; /* note [rows] */
    int vocabulary;
    void *scratch; /* MODC_SAMPLING_BYTES, at a multiple of 8 */
};

/* All that are on, in this order: sequence bias, encoder repetition, repetition, presence and frequency (vLLM's, which transformers has
 * not), no repeated n-gram, encoder's n-grams, bad words, min_length, min_new_tokens, grammar, forced BOS, forced EOS, invalid values, decay of
 * length, suppress, suppress at the beginning, the user's; where tokens are drawn: temperature, top_h, top_k, top_p, min_p, typical,
 * epsilon, eta; last renormalize. max_length: modc_generation_length. The options have passed the check. MODC_POINTER,
 * MODC_HOOK_ERROR. */
enum modc_status modc_process(const struct modc_generation_options *options,
                              const struct modc_history *history, int max_length, struct modc_row *row);

/* Each alone. `keep`: so many of the best always stay, at least 1. Ids that are not below the vocabulary are passed over. */
void modc_process_sequence_bias(struct modc_row *row, const struct modc_history *history,
                                const struct modc_biased *list, int count);
void modc_process_encoder_repetition(struct modc_row *row, const struct modc_history *history, float penalty);
void modc_process_repetition(struct modc_row *row, const struct modc_history *history, float penalty);
void modc_process_presence(struct modc_row *row, const struct modc_history *history, float presence,
                           float frequency);
void modc_process_no_repeat_ngram(struct modc_row *row, const struct modc_history *history, int size);
void modc_process_encoder_ngram(struct modc_row *row, const struct modc_history *history, int size);
void modc_process_bad_words(struct modc_row *row, const struct modc_history *history,
                            const struct modc_ids *list, int count, struct modc_ids eos);
void modc_process_suppress(struct modc_row *row, struct modc_ids ids);
void modc_process_force(struct modc_row *row, struct modc_ids ids); /* 0 for these, -infinity for others */
void modc_process_invalid(struct modc_row *row);
void modc_process_decay(struct modc_row *row, int steps, float factor,
                        struct modc_ids eos); /* steps: beyond the start */
void modc_process_temperature(struct modc_row *row, float temperature);
void modc_process_top_h(struct modc_row *row, float top_h);
void modc_process_top_k(struct modc_row *row, int k, int keep);
void modc_process_top_p(struct modc_row *row, float p, int keep);
void modc_process_min_p(struct modc_row *row, float p, int keep);
void modc_process_typical(struct modc_row *row, float mass, int keep);
void modc_process_epsilon(struct modc_row *row, float epsilon, int keep);
void modc_process_eta(struct modc_row *row, float epsilon, int keep);
void modc_process_renormalize(struct modc_row *row);

/* ---- picking a token ---------------------------------------------------------------------------------------- */

/* From 0 to below 1: note [draws]. number: of the draw in its step, from 0 on. */
double modc_uniform(uint64_t seed, uint64_t sequence, int step, int number);

/* The best one; of equal ones the lowest id. MODC_NONFINITE, MODC_SIZE (no vocabulary). */
enum modc_status modc_best_token(const float *scores, int vocabulary, int64_t *id);

/* The first id at which the sum of probabilities is over `uniform`. MODC_NONFINITE, MODC_SIZE. */
enum modc_status modc_draw_token(const float *scores, int vocabulary, double uniform, int64_t *id);

/* A row of raw logits to the next token of a sequence: processes it, then draws step history->count, or takes the best. */
enum modc_status modc_next_token(const struct modc_generation_options *options,
                                 const struct modc_history *history, int max_length, uint64_t sequence,
                                 struct modc_row *row, int64_t *id);

/* ---- log-probabilities -------------------------------------------------------------------------------------- */

/* max + log(sum of exp(x - max)), summed in double: a log-probability is logits[id] minus this. NaN or infinite: note [rows]. */
double modc_log_sum(const float *logits, int vocabulary);

/* Of `count` ids over the same row; -infinity of one that is not in it. */
enum modc_status modc_log_probs(const float *logits, int vocabulary, const int64_t *ids, int count,
                                float *log_probs);

struct modc_alternative {
    int64_t id;
    float log_prob;
};

/* The best `count` tokens, best first, of equal ones the lowest id first; fewer where the vocabulary is smaller, behind which the id is
 * -1. */
enum modc_status modc_best_tokens(const float *logits, int vocabulary, struct modc_alternative *best,
                                  int count);

/* ---- prompt lookup ------------------------------------------------------------------------------------------ */

/* What may come next, as it came before: behind the first place where the last `ngram` tokens stand, else the last ngram - 1, and so on,
 * at most `count` tokens, which end before an EOS. Returns how many; none behind max_length - 1 tokens. */
int modc_prompt_lookup(const struct modc_history *history, int ngram, int count, int max_length,
                       struct modc_ids eos, int64_t *ids);

#ifdef __cplusplus
}
#endif

#endif
