/* modc_generation_write.c - batches of prompts to responses, by samples or by beams; see modc_generation.h. */
#include "modc_generation_parts.h"

#include <string.h>

/* ---- samples ----------------------------------------------------------------------------------------------------- */

struct writing {
    struct modc_generator *gen;
    const struct modc_prompts *prompts;
    const struct modc_generation_options *options;
    uint64_t number; /* of the first prompt */
    struct modc_responses *out;
    modc_listener *stream;
    void *user;
    struct modc_job job; /* of the prompt whose responses begin next */
    int prompt;
    int running; /* responses that are written */
};

static const int64_t *prompt_of(const struct modc_generator *gen, const struct modc_prompts *prompts, int i,
                                int *count)
{
    if (prompts->ids == NULL) {
        *count = 1;
        return &gen->table->start;
    }

    const int from = prompts->offsets != NULL ? prompts->offsets[i] : 0;

    *count = prompts->offsets != NULL ? prompts->offsets[i + 1] - from : prompts->count;
    return prompts->ids + from;
}

/* Tokens that a prompt and a response have at most. */
static int most_of(const struct modc_generator *gen, const struct modc_generation_options *options, int count)
{
    const int most = modc_generation_length(options, count);

    return most < gen->table->context ? most : gen->table->context;
}

static int prompt_count(const struct modc_prompts *prompts)
{
    return prompts->offsets != NULL || prompts->source_offsets != NULL ? prompts->count : 1;
}

/* The prompt's source, for a sequence that has begun. */
static enum modc_status encode_source(struct modc_generator *gen, const struct modc_prompts *prompts, int i,
                                      int sequence)
{
    const int from = prompts->source_offsets != NULL ? prompts->source_offsets[i] : 0;

    if (prompts->sources == NULL)
        return MODC_OK;
    return modc_generator_encode(gen, sequence, prompts->sources + from,
                                 prompts->source_offsets != NULL ? prompts->source_offsets[i + 1] - from
                                                                 : prompts->source_count);
}

static bool has_free(const struct modc_generator *gen)
{
    for (int i = 0; i < gen->table->sequences; i++)
        if (!gen->sequences[i].used)
            return true;
    return false;
}

/* A sequence of the prompt's first tokens; -1 under an error. */
static enum modc_status begin(struct modc_generator *gen, const struct modc_job *job, int count, bool reads,
                              int *sequence)
{
    enum modc_status status = reads ? modc_generator_read(gen, job->ids, count, sequence)
                                    : modc_generator_begin(gen, job->ids, count, job->options, 0, sequence);

    if (status == MODC_OK && job->source != NULL) {
        status = modc_generator_encode(gen, *sequence, job->source, job->source_count);
        if (status != MODC_OK)
            modc_generator_end(gen, *sequence);
    }
    if (status != MODC_OK)
        *sequence = -1;
    return status;
}

bool modc_job_launch(struct modc_generator *gen, struct modc_job *job, bool busy, int *sequence,
                     enum modc_status *status)
{
    const int count = job->count, samples = job->options->num_return_sequences;
    const bool last = job->sample + 1 == samples;
    struct modc_sequence *s;

    *sequence = -1;
    if (job->prefix < 0 && !has_free(gen))
        return false;
    if (job->prefix < 0 && samples > 1 && count > 1) {
        *status = begin(gen, job, count - 1, true, &job->prefix);
        return *status == MODC_OK;
    }
    if (job->prefix < 0) {
        *status = begin(gen, job, count, false, sequence);
    } else if (job->lent || gen->sequences[job->prefix].active) {
        return false;
    } else {
        *sequence = job->prefix;
        if (!last && has_free(gen)) {
            *status = modc_generator_fork(gen, job->prefix, 0, sequence);
        } else if (!last) {
            if (busy)
                return false;
            job->lent = true;
        }
        if (*status == MODC_OK) {
            gen->sequences[*sequence].options = *job->options; /* by which it begins to write */
            *status = modc_generator_extend(gen, *sequence, job->ids + count - 1, 1);
        }
        if (*status == MODC_OK && last)
            job->prefix = -1;
    }
    if (*status != MODC_OK)
        return false;
    s = &gen->sequences[*sequence];
    s->number = job->number + (uint64_t)job->sample++;
    s->options = *job->options;
    return true;
}

void modc_job_leave(struct modc_generator *gen, struct modc_job *job, int sequence)
{
    const bool lent = job->lent && sequence == job->prefix;

    if (lent)
        job->lent = false;
    if (lent && modc_generator_keep(gen, sequence, job->count - 1) == MODC_OK) {
        gen->sequences[sequence].row = -1;
        return;
    }
    if (lent) /* a recurrent model: the prompt is read again */
        job->prefix = -1;
    modc_generator_end(gen, sequence);
}

static void start_job(struct writing *w, int prompt)
{
    const struct modc_prompts *prompts = w->prompts;
    struct modc_job *job = &w->job;
    const int from = prompts->source_offsets != NULL ? prompts->source_offsets[prompt] : 0;

    w->prompt = prompt;
    *job = (struct modc_job){.options = w->options,
                             .number = w->number +
                                       (uint64_t)prompt * (uint64_t)w->options->num_return_sequences,
                             .prefix = -1};
    job->ids = prompt_of(w->gen, prompts, prompt, &job->count);
    if (prompts->sources == NULL)
        return;
    job->source = prompts->sources + from;
    job->source_count = prompts->source_offsets != NULL ? prompts->source_offsets[prompt + 1] - from
                                                        : prompts->source_count;
}

/* As many as there is room for. */
static enum modc_status launch_all(struct writing *w)
{
    enum modc_status status = MODC_OK;
    int sequence;

    while (w->prompt < prompt_count(w->prompts) &&
           modc_job_launch(w->gen, &w->job, w->running > 0, &sequence, &status)) {
        if (sequence >= 0) {
            const int row = w->prompt * w->options->num_return_sequences + w->job.sample - 1;

            w->gen->sequences[sequence].row = row;
            w->out->lengths[row] = 0;
            w->running++;
        }
        if (w->job.sample == w->options->num_return_sequences && w->prompt + 1 < prompt_count(w->prompts))
            start_job(w, w->prompt + 1);
        else if (w->job.sample == w->options->num_return_sequences)
            w->prompt++;
    }
    return status;
}

/* An event of a response. */
static void take(struct writing *w, const struct modc_event *given)
{
    struct modc_generator *gen = w->gen;
    struct modc_responses *out = w->out;
    struct modc_event event = *given;
    const int row = gen->sequences[event.sequence].row;
    int64_t *ids = out->ids + (size_t)row * (size_t)out->room;
    int *length = &out->lengths[row];

    if (event.token >= 0) {
        if (out->log_probs != NULL)
            out->log_probs[(size_t)row * (size_t)out->room + (size_t)*length] = w->options->zero_first &&
                                                                                        *length == 0
                                                                                    ? 0
                                                                                    : event.log_prob;
        ids[(*length)++] = event.token;
    }
    if (w->stream != NULL && w->stream(w->user, row, &event) != 0 && event.finish == MODC_FINISH_NONE)
        event.finish = MODC_FINISH_USER;
    if (event.finish == MODC_FINISH_NONE)
        return;
    if (out->finishes != NULL)
        out->finishes[row] = event.finish;
    for (int i = *length; i < out->room; i++) {
        ids[i] = out->pad;
        if (out->log_probs != NULL)
            out->log_probs[(size_t)row * (size_t)out->room + (size_t)i] = 0;
    }
    w->running--;
    modc_job_leave(gen, &w->job, event.sequence);
}

/* Sequences that are a response, or a beam. */
static void end_rows(struct modc_generator *gen)
{
    for (int i = 0; i < gen->table->sequences; i++)
        if (gen->sequences[i].used && gen->sequences[i].row >= 0)
            modc_generator_end(gen, i);
}

static void leave(struct writing *w)
{
    end_rows(w->gen);
    if (w->job.prefix >= 0)
        modc_generator_end(w->gen, w->job.prefix);
}

static enum modc_status write_samples(struct writing *w)
{
    enum modc_status status;

    start_job(w, 0);
    status = launch_all(w);
    while (status == MODC_OK && (w->running > 0 || w->prompt < prompt_count(w->prompts))) {
        /* nobody works, and there is something to do: sequences that are held by others */
        status = modc_generator_active(w->gen) > 0 ? modc_advance(w->gen) : MODC_FULL;
        for (int i = 0; status == MODC_OK && i < w->gen->table->sequences; i++) {
            struct modc_event event;

            while (modc_event_of(w->gen, i, &event))
                take(w, &event);
        }
        if (status == MODC_OK)
            status = launch_all(w);
    }
    leave(w);
    return status;
}

/* ---- beams -------------------------------------------------------------------------------------------------------- */

struct search {
    struct modc_generator *gen;
    struct modc_beams beams;
    int sequences[MODC_MAX_BEAMS]; /* of the running beams; -1: none yet */
    float *rows[MODC_MAX_BEAMS];
};

/* A row of logits as float, where it lies. */
static float *row_of(struct modc_generator *gen, int row)
{
    const struct modc_io *io = modc_logits_of(gen->table);
    const size_t vocabulary = (size_t)gen->table->vocabulary;
    char *at = (char *)gen->logits + (size_t)row * vocabulary * modc_dtype_bytes(io->dtype);

    if (io->dtype == MODC_FLOAT64) {
        for (size_t i = 0; i < vocabulary; i++) {
            double wide;
            float value;

            memcpy(&wide, at + i * sizeof wide, sizeof wide);
            value = (float)wide;
            memcpy(at + i * sizeof value, &value, sizeof value);
        }
    }
    return (float *)(void *)at;
}

/* One call for all running beams: their rows. */
static enum modc_status call_beams(struct search *search, int count)
{
    struct modc_generator *gen = search->gen;
    struct modc_batch batch = {0, 0, 0};
    enum modc_status status;

    for (int i = 0; i < count; i++) {
        struct modc_sequence *s = &gen->sequences[search->sequences[i]];

        MODC_TRY(modc_add_piece(gen, &batch, search->sequences[i]));
        if (s->piece.count == 0)
            return MODC_FULL;
    }
    status = modc_call_rows(gen, &batch);
    for (int i = 0; i < count && status == MODC_OK; i++) {
        struct modc_sequence *s = &gen->sequences[search->sequences[i]];

        s->done += s->piece.count;
        search->rows[i] = s->piece.logits > 0 ? row_of(gen, s->piece.first + s->piece.logits - 1) : NULL;
    }
    return status;
}

/* The beam that is gone on from. At first there is the prompt alone, which all of them are: others than the first count where fewer
 * tokens may come than there are beams. */
static int parent_of(const struct search *search, int parent)
{
    return search->sequences[parent] >= 0 ? parent : 0;
}

/* A step of the search. */
static enum modc_status choose(struct search *search)
{
    struct modc_beams *beams = &search->beams;
    const enum modc_status status = modc_beams_propose(beams, search->rows);

    if (status != MODC_OK)
        return status;

    const bool late = modc_is_late(search->gen, search->sequences[0]);

    for (int i = 0; i < beams->candidate_count; i++) {
        struct modc_candidate *candidate = &beams->candidates[i];
        const int parent = parent_of(search, candidate->parent);

        candidate->stops |= late ||
                            modc_token_stops(search->gen, search->sequences[parent], candidate->token);
    }
    modc_beams_advance(beams);
    return MODC_OK;
}

/* Beam i goes on from parents[i], with tokens[i] behind it: the first of a parent's children has its sequence, others a fork. */
static enum modc_status follow(struct search *search)
{
    struct modc_generator *gen = search->gen;
    const int width = search->beams.width;
    int next[MODC_MAX_BEAMS];
    bool taken[MODC_MAX_BEAMS] = {false};
    enum modc_status status = MODC_OK;

    for (int i = 0; i < width; i++) {
        const int parent = parent_of(search, search->beams.parents[i]);

        next[i] = taken[parent] ? -1 : search->sequences[parent];
        taken[parent] = true;
    }
    for (int i = 0; i < width; i++)
        if (search->sequences[i] >= 0 && !taken[i])
            modc_generator_end(gen, search->sequences[i]);
    for (int i = 0; i < width && status == MODC_OK; i++)
        if (next[i] < 0) {
            status = modc_generator_fork(gen, search->sequences[parent_of(search, search->beams.parents[i])],
                                         0, &next[i]);
            if (status == MODC_OK)
                gen->sequences[next[i]].row = 0;
        }
    for (int i = 0; i < width && status == MODC_OK; i++)
        modc_push_token(gen, next[i], search->beams.tokens[i]);
    memcpy(search->sequences, next, sizeof next);
    return status;
}

static enum modc_status search_beams(struct search *search, const struct modc_prompts *prompts, int prompt,
                                     const int64_t *ids, int count,
                                     const struct modc_generation_options *options, uint64_t number,
                                     void *memory, size_t bytes)
{
    struct modc_generator *gen = search->gen;
    struct modc_history history = {.prompt = ids, .prompt_count = count};
    enum modc_status status = modc_generator_begin(gen, ids, count, options, number, &search->sequences[0]);
    struct modc_sequence *s;

    if (status != MODC_OK)
        return status;
    s = &gen->sequences[search->sequences[0]];
    s->row = 0;
    status = encode_source(gen, prompts, prompt, search->sequences[0]);
    if (status != MODC_OK)
        return status;
    history.encoder = s->source;
    history.encoder_count = s->source_count;
    for (int i = 1; i < MODC_MAX_BEAMS; i++)
        search->sequences[i] = -1;
    status = modc_beams_begin(&search->beams, options, &history, most_of(gen, options, count),
                              gen->table->vocabulary, number, memory, bytes);
    while (status == MODC_OK && s->done < s->length)
        status = call_beams(search, 1);
    while (status == MODC_OK) {
        status = choose(search);
        if (status != MODC_OK || !search->beams.goes_on)
            break;
        status = follow(search);
        if (status == MODC_OK)
            status = call_beams(search, search->beams.width);
    }
    return status;
}

/* The index-th best of a prompt's finished beams, as a response. */
static enum modc_status give_beam(const struct search *search, int index, int row, struct modc_responses *out)
{
    int64_t *to = out->ids + (size_t)row * (size_t)out->room;
    struct modc_ids found = {NULL, 0};
    float score = 0;

    if (modc_beams_result(&search->beams, index, &found, &score) && found.count > out->room)
        return MODC_SIZE;
    out->lengths[row] = found.count;
    for (int i = 0; i < out->room; i++)
        to[i] = i < found.count ? found.ids[i] : out->pad;
    if (out->scores != NULL)
        out->scores[row] = score;
    return MODC_OK;
}

/* Of a response, by another reading. */
static enum modc_status score_beam(struct writing *w, const int64_t *ids, int count, int row)
{
    struct modc_generator *gen = w->gen;
    const size_t at = (size_t)row * (size_t)w->out->room;
    const int length = w->out->lengths[row];
    struct modc_generation_options options;
    enum modc_status status;
    int sequence;

    modc_generation_defaults(&options);
    options.logprobs = MODC_LOGPROBS_FULL;
    status = modc_generator_begin(gen, ids, count, &options, 0, &sequence);
    if (status != MODC_OK)
        return status;
    status = encode_source(gen, w->prompts, row / w->options->num_return_sequences, sequence);
    if (status == MODC_OK && length > 0)
        status = modc_generator_extend(gen, sequence, w->out->ids + at, length);
    if (status == MODC_OK)
        status = modc_score_sequence(gen, sequence);
    for (int i = 0; i < w->out->room && status == MODC_OK; i++)
        w->out->log_probs[at + (size_t)i] = i < length && !(i == 0 && w->options->zero_first)
                                                ? modc_generator_log_probs(gen, sequence)[count + i]
                                                : 0;
    modc_generator_end(gen, sequence);
    return status;
}

/* Tells of a response, token by token as of a sample, and finds out how it ended. */
static enum modc_status tell_beam(struct writing *w, const int64_t *ids, int count, int row)
{
    struct modc_responses *out = w->out;
    const size_t at = (size_t)row * (size_t)out->room;
    const int length = out->lengths[row];
    struct modc_event event = {.sequence = -1, .token = -1, .finish = MODC_FINISH_LENGTH};
    int sequence;
    const enum modc_status status = modc_generator_begin(w->gen, ids, count, w->options, 0, &sequence);

    if (status != MODC_OK)
        return status;
    if (length == 0 && w->stream != NULL) /* fewer finished than are wanted */
        w->stream(w->user, row, &event);
    for (int i = 0; i < length; i++) {
        modc_tell_token(w->gen, sequence, out->ids[at + (size_t)i], i + 1 == length, &event);
        event.sequence = -1;
        if (w->options->logprobs != 0 && out->log_probs != NULL)
            event.log_prob = out->log_probs[at + (size_t)i];
        if (w->stream != NULL && w->stream(w->user, row, &event) != 0 && i + 1 < length) {
            event.finish = MODC_FINISH_USER;
            out->lengths[row] = i + 1;
            break;
        }
    }
    for (int i = out->lengths[row]; i < length; i++) {
        out->ids[at + (size_t)i] = out->pad;
        if (out->log_probs != NULL)
            out->log_probs[at + (size_t)i] = 0;
    }
    if (out->finishes != NULL)
        out->finishes[row] = event.finish;
    modc_generator_end(w->gen, sequence);
    return MODC_OK;
}

static enum modc_status write_beams(struct writing *w, void *memory, size_t bytes)
{
    const struct modc_generation_options *options = w->options;
    const int each = options->num_return_sequences;
    enum modc_status status = MODC_OK;

    for (int i = 0; i < prompt_count(w->prompts) && status == MODC_OK; i++) {
        struct search search = {.gen = w->gen};
        int count;
        const int64_t *ids = prompt_of(w->gen, w->prompts, i, &count);

        status = search_beams(&search, w->prompts, i, ids, count, options, w->number + (uint64_t)i, memory,
                              bytes);
        end_rows(w->gen);
        for (int k = 0; k < each && status == MODC_OK; k++) {
            status = give_beam(&search, k, i * each + k, w->out);
            if (status == MODC_OK && w->out->log_probs != NULL)
                status = score_beam(w, ids, count, i * each + k);
        }
        for (int k = 0; k < each && status == MODC_OK; k++)
            status = tell_beam(w, ids, count, i * each + k);
    }
    return status;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

enum modc_status modc_generator_write(struct modc_generator *gen, const struct modc_prompts *prompts,
                                      const struct modc_generation_options *options,
                                      struct modc_responses *out, modc_listener *stream, void *user,
                                      void *memory, size_t memory_bytes)
{
    return modc_write_from(gen, 0, prompts, options, out, stream, user, memory, memory_bytes);
}

enum modc_status modc_write_from(struct modc_generator *gen, uint64_t number,
                                 const struct modc_prompts *prompts,
                                 const struct modc_generation_options *options, struct modc_responses *out,
                                 modc_listener *stream, void *user, void *memory, size_t memory_bytes)
{
    struct writing writing = {gen, prompts, options, number, out, stream, user, {.prefix = -1}, 0, 0};
    enum modc_status status;

    if (gen == NULL || gen->table == NULL || prompts == NULL || out == NULL ||
        (prompts->ids == NULL && (prompts->sources == NULL || gen->table->start < 0)) || out->ids == NULL ||
        out->lengths == NULL)
        return MODC_POINTER;
    if (modc_generator_active(gen) > 0)
        return MODC_BUSY;
    if (options == NULL)
        writing.options = options = &gen->options;
    status = modc_check_options(gen, options, gen->message, sizeof gen->message);
    if (status != MODC_OK)
        return status;
    for (int i = 0; i < prompt_count(prompts); i++) {
        int count;

        prompt_of(gen, prompts, i, &count);
        if (count < 1 || most_of(gen, options, count) - count > out->room)
            return MODC_SIZE;
    }
    if (options->num_beams == 1)
        return write_samples(&writing);
    if (options->num_beams > MODC_MAX_BEAMS || options->num_beams > gen->table->sequences ||
        options->num_beams > gen->logits_room)
        return MODC_SIZE;
    return write_beams(&writing, memory, memory_bytes);
}
