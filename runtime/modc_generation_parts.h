/* modc_generation_parts.h - what the files of a generator share. Private to the runtime. */
#ifndef MODC_RUNTIME_GENERATION_PARTS_H
#define MODC_RUNTIME_GENERATION_PARTS_H

#include "modc_device.h"
#include "modc_generation.h"

/* Of one call of the model, so far. */
struct modc_batch {
    int rows, logits;
    int kept; /* so many of both are for others, which wait for one token each */
};

const struct modc_io *modc_logits_of(const struct modc_generation *table);
int64_t *modc_ids_of(const struct modc_generator *gen, int sequence);

/* What the options ask of a generator, beside what they ask of each other. message: NULL, or as modc_generation_check has it. */
enum modc_status modc_check_options(const struct modc_generator *gen,
                                    const struct modc_generation_options *options, char *message,
                                    size_t room);

/* Pages of its own for tokens `from` to before `to`, as far as there are any; *end: up to where. MODC_GPU: of a copy. */
enum modc_status modc_need_pages(struct modc_generator *gen, int sequence, int from, int to, int *end);

/* As many of the sequence's waiting tokens as there is room for: its piece of the call. MODC_GPU: there is none. */
enum modc_status modc_add_piece(struct modc_generator *gen, struct modc_batch *batch, int sequence);

/* MODC_GPU of a recurrent model: its sequences will be read again, from their first tokens. */
enum modc_status modc_call_rows(struct modc_generator *gen, const struct modc_batch *batch);

/* A step, but for its events, which are taken sequence by sequence before anything else happens. */
enum modc_status modc_advance(struct modc_generator *gen);
bool modc_event_of(struct modc_generator *gen, int sequence, struct modc_event *event);

/* Whether its max_time is over. */
bool modc_is_late(const struct modc_generator *gen, int sequence);

/* Of sequences that no step works for, since a search chooses their tokens: one more; whether this one would complete a stop string; and,
 * of a sequence that was only begun, one more as steps tell of them (`last`: with how it ended). */
void modc_push_token(struct modc_generator *gen, int sequence, int64_t token);
bool modc_token_stops(const struct modc_generator *gen, int sequence, int64_t token);
void modc_tell_token(struct modc_generator *gen, int sequence, int64_t token, bool last,
                     struct modc_event *event);

/* A prompt whose responses begin one behind the other. What several have in common is read once. */
struct modc_job {
    const int64_t *ids, *source; /* source: NULL, or what the responses are written from */
    int count, source_count;
    const struct modc_generation_options *options;
    uint64_t number; /* of its first response */
    int sample;      /* its next response */
    int prefix; /* the sequence that reads the prompt but for its last token; -1: none is needed, or not yet */
    bool lent;  /* a response is written by the prefix itself, which is brought back then */
};

/* Starts the job's next response, which is *sequence, or what it needs first: -1. False: that has to wait, or is an error. busy: other
 * sequences write, which will end. */
bool modc_job_launch(struct modc_generator *gen, struct modc_job *job, bool busy, int *sequence,
                     enum modc_status *status);

/* The sequence of a response has ended. */
void modc_job_leave(struct modc_generator *gen, struct modc_job *job, int sequence);

/* modc_generator_write, where the first response has this number. */
enum modc_status modc_write_from(struct modc_generator *gen, uint64_t number,
                                 const struct modc_prompts *prompts,
                                 const struct modc_generation_options *options, struct modc_responses *out,
                                 modc_listener *stream, void *user, void *memory, size_t memory_bytes);

/* Log-probabilities of all tokens of a sequence that asks for those of its prompt; it is read for that. */
enum modc_status modc_score_sequence(struct modc_generator *gen, int sequence);

#endif
