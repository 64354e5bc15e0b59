/* modc_generation.h - sequences of tokens that a model of rows continues: their pages of the cache, one call of the model for all of
 * them at a time, what is told of each token. Models without `generation:` do without it. Nothing here allocates, prints or keeps
 * globals; modc_sampling.h says how a token is picked.
 *
 *     static MODC_ALIGNED char block[GPT2_GENERATOR_BYTES];
 *     struct modc_event events[GPT2_SEQUENCES];
 *
 *     gpt2_generator_init(&gen, &net, block, sizeof block);
 *     modc_generator_begin(&gen, ids, count, NULL, 0, &id);
 *     while (modc_generator_active(&gen) > 0 && modc_generator_step(&gen, events, GPT2_SEQUENCES, &n) == MODC_OK)
 *         for (int i = 0; i < n; i++) ... events[i].token, events[i].text
 *     modc_generator_end(&gen, id);
 *
 * note [steps]
 * Of a sequence the first `done` tokens are in the cache, those behind wait. A step puts waiting tokens of all sequences into the rows
 * of one call: first those of sequences that wait for one, then prompts, as many as there is room for, in turns. So prompts are read
 * in parts while others write on. Where a sequence's last token was among the rows and it is to go on, the next one is picked: an event.
 * A call that fails changes nothing: the step may be made again.
 *
 * note [pages]
 * The keys and values of a sequence lie in pages of the cache, which are taken as it grows. Sequences that were forked share pages
 * until one of them writes there; it gets a copy of that page then.
 *
 * note [generators on a GPU]
 * The same functions write with a model on a GPU. The block is the host's, better pinned, since logits are copied there: those that a step
 * asked for. What the model keeps, and rows while they are computed, is in the context's workspace, which has modc_host_bytes of forward (and
 * of the encoder) behind what the entry needs, as a context that was created has. A step waits once, for its logits; save, load and
 * encode wait, too, and nothing else does. MODC_GPU: a call or copy did not start, or failed (modc_device_failed has CUDA's words); the
 * sequences are as they were, and the step may be made again, if the device still works. Of a recurrent model it is longer then: what
 * it remembers may have gone on in part, so that the call's sequences are read again from their first tokens. */
#ifndef MODC_RUNTIME_GENERATION_H
#define MODC_RUNTIME_GENERATION_H

#include "modc.h"
#include "modc_beams.h"
#include "modc_grammar.h"
#include "modc_sampling.h"
#include "modc_template.h"
#include "modc_tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the table of a model ------------------------------------------------------------------------------------ */

struct modc_default { /* of `defaults:`: what modc_generation_set takes */
    const char *name, *value;
};

/* Of `template:`: NAME_chat. */
typedef enum modc_status modc_chat_function(const struct modc_turn *turns, int count, struct modc_chat *chat,
                                            char *out, size_t room, size_t *bytes);

/* Emitted. Its forward takes token, position, sequence, pages and logit_rows, and gives (logits, vocabulary). */
struct modc_generation {
    const struct modc_model *model;
    int entry;                  /* forward's index */
    int rows, logits;           /* how many there are in a call at most: maxima of two sizes */
    int rows_size, logits_size; /* which sizes these are */
    int vocabulary;
    int context, sequences, page,
        per;           /* tokens of a sequence, sequences, tokens of a page, pages of a sequence */
    const int *caches; /* which states of the model keep rows for each token: (sequences * per * page, ...) */
    int cache_count;
    const int *memories; /* and for each sequence: (sequences, ...) */
    int memory_count;
    bool recurrent; /* some of these change with each token */
    bool alone;     /* a call has one row of a sequence at most */
    int encoder; /* the entry that reads a source, by two inputs: ids, and the sequence; -1: there is none */
    int source;  /* ids of one at most */
    int source_size; /* which size that is */
    size_t encoded;  /* bytes of what it returns, at most */
    int64_t start;   /* with an encoder: the id in front of what is written; -1: none is said */
    struct modc_ids eos;
    int64_t pad; /* -1: none */
    const struct modc_default *defaults;
    int default_count;
    const struct modc_grammar *const *grammars; /* of `grammars:` */
    int grammar_count;
    modc_chat_function *chat;               /* NULL: no template */
    const struct modc_tokenizer *tokenizer; /* NULL: ids alone */
    int token_bytes;                        /* of the text that a token completes, at most */
};

enum {
    MODC_MAX_STOP = 128, /* bytes of a stop string */
    MODC_MAX_TOP = 20    /* top_logprobs */
};

/* Logits that are kept of a call: one for each sequence, and at least 16, if the call has so many. */
#define MODC_GENERATION_LOGITS(logits, sequences)                                                            \
    ((logits) < ((sequences) > 16 ? (sequences) : 16) ? (logits) : ((sequences) > 16 ? (sequences) : 16))
/* Of the text of one sequence: what is held, and that of all tokens that a step may bring, each of which has logits. */
#define MODC_GENERATION_TEXT(token_bytes, logits) ((token_bytes) * (logits) + 2 * MODC_MAX_STOP + 16)
#define MODC_GENERATION_PART(count, bytes) (((size_t)(count) * (size_t)(bytes) + 63) / 64 * 64)

/* The block of a generator. element: bytes of a logit, 4 or 8; encoded: of what an encoder returns, or 0. */
#define MODC_GENERATOR_BYTES(rows, logits, sequences, context, per, vocabulary, token_bytes, element,        \
                             encoded)                                                                        \
    (MODC_GENERATION_PART(rows, 8) * 3 +                                                                     \
     MODC_GENERATION_PART(MODC_GENERATION_LOGITS(logits, sequences), 8) +                                    \
     MODC_GENERATION_PART((sequences) * (per), 8) + MODC_GENERATION_PART((sequences) * (per), 4) +           \
     MODC_GENERATION_PART(sequences, sizeof(struct modc_sequence)) +                                         \
     MODC_GENERATION_PART(sequences, (size_t)(context)*8) +                                                  \
     MODC_GENERATION_PART(sequences, (size_t)(context)*4) +                                                  \
     MODC_GENERATION_PART(sequences,                                                                         \
                          MODC_GENERATION_TEXT(token_bytes, MODC_GENERATION_LOGITS(logits, sequences))) +    \
     MODC_GENERATION_PART(MODC_GENERATION_LOGITS(logits, sequences), (size_t)(vocabulary) * (element)) +     \
     MODC_GENERATION_PART(1, encoded) + MODC_GENERATION_PART(vocabulary, 4) +                                \
     MODC_GENERATION_PART(1, MODC_SAMPLING_BYTES(vocabulary)))

/* ---- what is told ---------------------------------------------------------------------------------------------- */

enum modc_finish {
    MODC_FINISH_NONE,   /* it goes on */
    MODC_FINISH_EOS,    /* the token is one of eos_token_id */
    MODC_FINISH_LENGTH, /* max_new_tokens or max_length */
    MODC_FINISH_STOP,   /* a stop string */
    MODC_FINISH_FULL,   /* the context ends, or there is no page left */
    MODC_FINISH_TIME,   /* max_time */
    MODC_FINISH_USER,   /* modc_generator_stop, or a listener */
    MODC_FINISH_FAULT   /* no token could be picked: event.status */
};

struct modc_event {
    int sequence;
    int64_t token;  /* -1: none came, with FULL, TIME, FAULT */
    float log_prob; /* of the token, by the logits as they came; 0 unless `logprobs` asks for it */
    const char *
        text; /* that it completes, until the next step: what may still become a stop string comes later. NULL: no tokenizer */
    int bytes;
    enum modc_finish finish;
    enum modc_status status; /* with FAULT */
    const struct modc_alternative
        *top; /* the likeliest, with `top_logprobs`, until the next step; else NULL */
    int top_count;
};

/* ---- a generator ------------------------------------------------------------------------------------------------ */

/* What a call computes of a sequence: tokens from `done` on. */
struct modc_piece {
    int count;         /* of tokens */
    int logits, first; /* how many of its last ones have logits, and which row of these is the first */
    int guesses;       /* how many of these are tokens that may come next */
    bool full;         /* there was no page for any */
};

struct modc_sequence {
    int used, active;      /* it is there; steps work for it */
    int reads;             /* no tokens are picked */
    int row;               /* of the responses of modc_generator_write; -1: none */
    int length, done;      /* tokens; of these in the cache */
    int prompt;            /* tokens that were given, up to where it began to write */
    int pages;             /* that it has */
    uint64_t number, turn; /* for random numbers; since when it waits */
    double started;
    const int64_t *source; /* what it is written from; NULL: nothing */
    int source_count;
    uint32_t grammar; /* where what it wrote stands in its options' grammar */
    struct modc_generation_options options;
    struct modc_decoder decoder;
    struct modc_piece piece; /* of the step that runs */
    struct modc_alternative top[MODC_MAX_TOP];
    int text_bytes, text_sent; /* of its text that is there; of that, told by events of the last step */
};

struct modc_generation_machine; /* modc_device.h */

struct modc_generator {
    const struct modc_generation *table;
    struct modc_context *net;
    const struct modc_generation_machine *machine;     /* that the model is on */
    int64_t *token, *position, *sequence, *logit_rows; /* of the rows of a call */
    int64_t *pages;                                    /* (sequences, per) */
    size_t row_bytes;                                  /* of these five, one behind the other */
    int *owners;                                       /* how many sequences have a page */
    struct modc_sequence *sequences;
    int64_t *ids; /* (sequences, context) */
    float *log_probs;
    char *texts;
    void *logits, *encoded; /* encoded: what the encoder returns, which nobody reads */
    float *scores;
    void *scratch;
    int logits_room;
    uint64_t turns;
    struct modc_generation_options options; /* those of the model's `defaults:` */
    int64_t option_lists[32];
    double (*clock)(void *user); /* seconds, for max_time; NULL: it is not looked at */
    void *clock_user;
    char message[200]; /* what was wrong with options, of the last begin */
};

/* `net` was initialised, and is the generator's from now on: its caches are. MODC_POINTER, MODC_ALIGNMENT; MODC_WORKSPACE: of the block,
 * or of the context: note [generators on a GPU]. */
enum modc_status modc_generator_init(struct modc_generator *gen, const struct modc_generation *table,
                                     struct modc_context *net, void *block, size_t bytes);

/* Hosted builds (modc_generation_host.c): with a block of its own, which is pinned for a model on a GPU, and a clock. MODC_MEMORY;
 * MODC_GPU; and as modc_generator_init. To be destroyed in front of `net`. */
enum modc_status modc_generator_create(const struct modc_generation *table, struct modc_context *net,
                                       struct modc_generator **gen);
void modc_generator_destroy(struct modc_generator *gen); /* only of this one; NULL is allowed */

/* What a model's `defaults:` make of modc_generation_defaults, with its own eos and pad; `grammar` among them is the name of one. memory: of lists, as modc_generation_set takes
 * it; may be NULL where the defaults have none. */
enum modc_status modc_generation_options_of(const struct modc_generation *table,
                                            struct modc_generation_options *options,
                                            struct modc_option_memory *memory);

/* One of the model's grammars; NULL: it has none of this name. */
const struct modc_grammar *modc_generation_grammar(const struct modc_generation *table, const char *name);

/* A sequence that begins with these tokens; steps will continue it. options: copied, what they point to is not; NULL: the model's.
 * number: two sequences with one seed and one number draw the same. MODC_FULL: as many are there as there can be; MODC_SIZE: no token,
 * or no room behind them; MODC_INDEX: an id; MODC_ARGUMENT: an option, gen->message says which. */
enum modc_status modc_generator_begin(struct modc_generator *gen, const int64_t *ids, int count,
                                      const struct modc_generation_options *options, uint64_t number,
                                      int *sequence);

/* Tokens that are only read into the cache, for others to fork, or to go on from by modc_generator_extend: it is active until that is
 * done, and has no events. */
enum modc_status modc_generator_read(struct modc_generator *gen, const int64_t *ids, int count,
                                     int *sequence);

/* Reads what the sequence is written from, by the model's encoder: between begin (with the tokens that a decoder starts from) and the
 * first step. The ids stay the caller's, and are looked at by penalties of the encoder's. MODC_UNSUPPORTED: the model has none. */
enum modc_status modc_generator_encode(struct modc_generator *gen, int sequence, const int64_t *source,
                                       int count);

/* One call of the model. events: room for one of each sequence, MODC_SIZE else; with prompt_lookup_num_tokens there may be as many more of
 * each. *count: how many came, 0 too while prompts are read. */
enum modc_status modc_generator_step(struct modc_generator *gen, struct modc_event *events, int room,
                                     int *count);

/* Sequences that a step would work for. */
int modc_generator_active(const struct modc_generator *gen);

/* More tokens behind those that are there, and it goes on as after a prompt of all: the next turn of a talk. */
enum modc_status modc_generator_extend(struct modc_generator *gen, int sequence, const int64_t *ids,
                                       int count);

/* Another sequence with the same tokens, which shares their pages, and writes on by itself. */
enum modc_status modc_generator_fork(struct modc_generator *gen, int sequence, uint64_t number, int *other);

/* Only its first tokens stay. It does not go on until modc_generator_extend. MODC_UNSUPPORTED: a recurrent model, which cannot go back
 * but to none. */
enum modc_status modc_generator_keep(struct modc_generator *gen, int sequence, int tokens);

/* It does not go on until modc_generator_extend: its next event, or none. */
enum modc_status modc_generator_stop(struct modc_generator *gen, int sequence);

enum modc_status modc_generator_end(struct modc_generator *gen, int sequence);

/* The sequence as bytes: its tokens, and all that the model keeps of them, so that another program with the same model goes on from
 * there (by modc_generator_extend, or forks) without computing it. *length: how many bytes these are; out NULL: that alone. MODC_SIZE:
 * more than `room`. */
enum modc_status modc_generator_save(const struct modc_generator *gen, int sequence, void *out, size_t room,
                                     size_t *length);

/* MODC_FORMAT: they are no such bytes, or some are missing; MODC_KEYS: of another model; MODC_FULL. Weights are not looked at. */
enum modc_status modc_generator_load(struct modc_generator *gen, const void *bytes, size_t length,
                                     int *sequence);

/* Its tokens; of the first *prompt of them it was given. NULL: there is no such sequence. Until it ends. */
const int64_t *modc_generator_ids(const struct modc_generator *gen, int sequence, int *count, int *prompt);

/* Their log-probabilities, as far as `logprobs` asked for them; 0 of the first one. */
const float *modc_generator_log_probs(const struct modc_generator *gen, int sequence);

/* Of given tokens, without writing: log_probs[i] of ids[i] behind those before it, log_probs[0] = 0. One sequence has to be free. */
enum modc_status modc_generator_score(struct modc_generator *gen, const int64_t *ids, int count,
                                      float *log_probs);

/* The logits themselves: (count, vocabulary), row i of what stands behind the ids before it; row 0 is 0. */
enum modc_status modc_generator_logits(struct modc_generator *gen, const int64_t *ids, int count,
                                       float *logits);

/* Both of what is written from a source, of a model with an encoder: row i and log_probs[i] of ids[i], also of the first, which stands
 * behind the model's start. One of the two may be NULL. MODC_UNSUPPORTED: the model has no encoder, or no start. */
enum modc_status modc_generator_score_source(struct modc_generator *gen, const int64_t *source,
                                             int source_count, const int64_t *ids, int count,
                                             float *log_probs, float *logits);

/* ---- batches ---------------------------------------------------------------------------------------------------- */

/* Prompts: row i has ids[offsets[i]] to ids[offsets[i + 1]], or (offsets NULL) there is one of `count` ids. */
struct modc_prompts {
    const int64_t *ids;
    const int *offsets;
    int count;
    /* With an encoder: what each response is written from, as offsets say (NULL: `source_count` ids of the one prompt). Then ids may be
     * NULL: each response begins with the model's start. */
    const int64_t *sources;
    const int *source_offsets;
    int source_count;
};

/* Rows of `room` tokens, as many as prompts times num_return_sequences, those of a prompt together. Behind a response stands `pad`. */
struct modc_responses {
    int64_t *ids;
    float *log_probs; /* NULL: not wanted */
    int *lengths;
    enum modc_finish *finishes; /* NULL */
    float *scores;              /* of beams; NULL */
    int room;
    int64_t pad;
};

/* Called with each event while a batch is written; `row` of the responses. Nonzero: that row ends with MODC_FINISH_USER. Of beams all events
 * of a prompt come when its search has ended, with `sequence` -1. */
typedef int modc_listener(void *user, int row, const struct modc_event *event);

enum { MODC_MAX_BEAMS = 64 };

/* Continues all prompts, as many at a time as there are sequences, others as these end; draws of a row depend on the seed and on its
 * number. What several responses have in common is computed once. Sequences that are there stay; where one of them is active, that is
 * MODC_BUSY. Beams: one prompt after the other, num_beams sequences; memory of MODC_BEAMS_BYTES or more (modc_beams.h); their
 * log_probs are computed by another reading. MODC_SIZE: room for a response, which ends where the context does, is missing, or
 * sequences for beams; MODC_FULL: of the cache, or all sequences are held. A row of which no token could be picked ends with
 * MODC_FINISH_FAULT. */
enum modc_status modc_generator_write(struct modc_generator *gen, const struct modc_prompts *prompts,
                                      const struct modc_generation_options *options,
                                      struct modc_responses *out, modc_listener *stream, void *user,
                                      void *memory, size_t memory_bytes);

/* Under the model's name, in emitted headers. */
#define MODC_GENERATION_FUNCTIONS(m)                                                                         \
    static inline enum modc_status m##_generator_init(struct modc_generator *gen, struct m *net,             \
                                                      void *block, size_t bytes)                             \
    {                                                                                                        \
        return modc_generator_init(gen, &m##_generation, &net->base, block, bytes);                          \
    }                                                                                                        \
    static inline enum modc_status m##_options(struct modc_generation_options *options,                      \
                                               struct modc_option_memory *memory)                            \
    {                                                                                                        \
        return modc_generation_options_of(&m##_generation, options, memory);                                 \
    }

#ifdef __cplusplus
}
#endif

#endif
