/* modc_generation.c - sequences, their pages, steps; see modc_generation.h. */
#include "modc_generation_parts.h"

#include <math.h>
#include <string.h>

/* ---- what a generator is made of ------------------------------------------------------------------------------- */

static int page_count(const struct modc_generation *table)
{
    return table->sequences * table->per;
}

static int text_room(const struct modc_generation *table)
{
    return MODC_GENERATION_TEXT(table->token_bytes, MODC_GENERATION_LOGITS(table->logits, table->sequences));
}

const struct modc_io *modc_logits_of(const struct modc_generation *table)
{
    return &table->model->entries[table->entry].outputs[0];
}

int64_t *modc_ids_of(const struct modc_generator *gen, int sequence)
{
    return gen->ids + (size_t)sequence * (size_t)gen->table->context;
}

static float *log_probs_of(const struct modc_generator *gen, int sequence)
{
    return gen->log_probs + (size_t)sequence * (size_t)gen->table->context;
}

static char *text_of(const struct modc_generator *gen, int sequence)
{
    return gen->texts + (size_t)sequence * (size_t)text_room(gen->table);
}

static int64_t *pages_of(const struct modc_generator *gen, int sequence)
{
    return gen->pages + (size_t)sequence * (size_t)gen->table->per;
}

/* NULL: there is no such sequence. */
static struct modc_sequence *find(const struct modc_generator *gen, int sequence)
{
    if (gen == NULL || gen->table == NULL || sequence < 0 || sequence >= gen->table->sequences ||
        !gen->sequences[sequence].used)
        return NULL;
    return &gen->sequences[sequence];
}

/* The next part of the block. */
static void *take(char **block, size_t bytes)
{
    void *part = *block;

    *block += MODC_GENERATION_PART(1, bytes);
    return part;
}

const struct modc_grammar *modc_generation_grammar(const struct modc_generation *table, const char *name)
{
    for (int i = 0; table != NULL && name != NULL && i < table->grammar_count; i++)
        if (strcmp(table->grammars[i]->name, name) == 0)
            return table->grammars[i];
    return NULL;
}

enum modc_status modc_generation_options_of(const struct modc_generation *table,
                                            struct modc_generation_options *options,
                                            struct modc_option_memory *memory)
{
    if (table == NULL || options == NULL)
        return MODC_POINTER;
    modc_generation_defaults(options);
    options->eos_token_id = table->eos;
    options->pad_token_id = table->pad;
    for (int i = 0; i < table->default_count; i++) {
        const struct modc_default *of = &table->defaults[i];
        enum modc_status status;

        if (strcmp(of->name, "grammar") == 0) {
            options->grammar = modc_generation_grammar(table, of->value);
            continue;
        }
        status = modc_generation_set(options, of->name, of->value, memory, NULL, 0);

        if (status != MODC_OK)
            return status;
    }
    return MODC_OK;
}

/* ---- the processor ---------------------------------------------------------------------------------------------- */

static size_t no_room(const struct modc_entry *entry)
{
    (void)entry;
    return 0;
}

static enum modc_status call_entry(struct modc_context *net, const struct modc_entry *entry, const int *sizes,
                                   const void **inputs, void **outputs, const void *block, size_t bytes)
{
    (void)block;
    (void)bytes;
    return entry->call(net, sizes, inputs, outputs);
}

static enum modc_status copy_all(struct modc_context *net, const struct modc_copy *copies, int count)
{
    (void)net;
    for (int i = 0; i < count; i++)
        memcpy(copies[i].to, copies[i].from, copies[i].bytes);
    return MODC_OK;
}

static enum modc_status copy_bytes(struct modc_context *net, void *to, const void *from, size_t bytes)
{
    (void)net;
    memcpy(to, from, bytes);
    return MODC_OK;
}

static enum modc_status wait_for_nothing(struct modc_context *net)
{
    (void)net;
    return MODC_OK;
}

static const struct modc_generation_machine processor = {
    .room = no_room,
    .call = call_entry,
    .copy = copy_all,
    .transfer = copy_bytes,
    .wait = wait_for_nothing,
};

static const struct modc_generation_machine *machine_of(const struct modc_generation *table)
{
    return table->model->device != NULL ? table->model->device->generation : &processor;
}

/* Whether the workspace is enough for calls of the entry; -1: there is none. */
static bool has_room(const struct modc_generation *table, const struct modc_context *net, int entry)
{
    const struct modc_entry *of = entry >= 0 ? &table->model->entries[entry] : NULL;

    return of == NULL || net->workspace_bytes >= of->workspace[0] + machine_of(table)->room(of);
}

enum modc_status modc_generator_init(struct modc_generator *gen, const struct modc_generation *table,
                                     struct modc_context *net, void *block, size_t bytes)
{
    char *at = block;

    if (gen == NULL || table == NULL || net == NULL || block == NULL || net->model != table->model)
        return MODC_POINTER;
    if ((uintptr_t)block % MODC_ALIGN_WIDE != 0)
        return MODC_ALIGNMENT;

    const size_t rows = (size_t)table->rows, sequences = (size_t)table->sequences;
    const size_t element = modc_dtype_bytes(modc_logits_of(table)->dtype),
                 vocabulary = (size_t)table->vocabulary;
    const size_t logits = (size_t)MODC_GENERATION_LOGITS(table->logits, table->sequences);
    const size_t needed = MODC_GENERATOR_BYTES(table->rows, table->logits, table->sequences, table->context,
                                               table->per, table->vocabulary, table->token_bytes, element,
                                               table->encoded);
    struct modc_option_memory memory;

    if (bytes < needed || !has_room(table, net, table->entry) || !has_room(table, net, table->encoder))
        return MODC_WORKSPACE;
    memset(gen, 0, sizeof *gen);
    gen->table = table;
    gen->net = net;
    gen->machine = machine_of(table);
    gen->logits_room = (int)logits;
    gen->token = take(&at, rows * 8);
    gen->position = take(&at, rows * 8);
    gen->sequence = take(&at, rows * 8);
    gen->logit_rows = take(&at, logits * 8);
    gen->pages = take(&at, sequences * (size_t)table->per * 8);
    gen->row_bytes = (size_t)(at - (char *)gen->token);
    gen->owners = take(&at, sequences * (size_t)table->per * 4);
    gen->sequences = take(&at, sequences * sizeof *gen->sequences);
    gen->ids = take(&at, sequences * (size_t)table->context * 8);
    gen->log_probs = take(&at, sequences * (size_t)table->context * 4);
    gen->texts = take(&at, sequences * (size_t)text_room(table));
    gen->logits = take(&at, logits * vocabulary * element);
    gen->encoded = take(&at, table->encoded);
    gen->scores = take(&at, vocabulary * 4);
    gen->scratch = take(&at, MODC_SAMPLING_BYTES(table->vocabulary));
    memset(gen->pages, 0, sequences * (size_t)table->per * 8);
    memset(gen->owners, 0, sequences * (size_t)table->per * 4);
    memset(gen->sequences, 0, sequences * sizeof *gen->sequences);
    memory = (struct modc_option_memory){gen->option_lists, sizeof gen->option_lists, 0};
    return modc_generation_options_of(table, &gen->options, &memory);
}

/* ---- pages ------------------------------------------------------------------------------------------------------ */

/* A page that nobody has; -1: there is none. */
static int find_page(const struct modc_generator *gen)
{
    for (int i = 0; i < page_count(gen->table); i++)
        if (gen->owners[i] == 0)
            return i;
    return -1;
}

/* Of states that have so many parts each: the first `some` of the `of` pieces of a part, to where those of another part are. */
static enum modc_status copy_parts(const struct modc_generator *gen, const int *states, int count, int parts,
                                   int64_t to, int64_t from, int some, int of)
{
    enum { MOST = 32 };
    struct modc_copy copies[MOST];
    int at = 0;

    for (int i = 0; i < count; i++) {
        const size_t part = modc_key_bytes(&gen->table->model->states[states[i]]) / (size_t)parts;
        char *state = modc_state(gen->net, states[i]);

        copies[at++] = (struct modc_copy){state + (size_t)to * part, state + (size_t)from * part,
                                          part / (size_t)of * (size_t)some};
        if (at == MOST || i + 1 == count) {
            MODC_TRY(gen->machine->copy(gen->net, copies, at));
            at = 0;
        }
    }
    return MODC_OK;
}

/* The first tokens of a page, of every cache. */
static enum modc_status copy_page(const struct modc_generator *gen, int64_t to, int64_t from, int tokens)
{
    const struct modc_generation *table = gen->table;

    return tokens == 0 ? MODC_OK
                       : copy_parts(gen, table->caches, table->cache_count, page_count(table), to, from,
                                    tokens, table->page);
}

/* What a recurrent model remembers of a sequence. */
static enum modc_status copy_memories(const struct modc_generator *gen, int to, int from)
{
    const struct modc_generation *table = gen->table;

    return copy_parts(gen, table->memories, table->memory_count, table->sequences, to, from, 1, 1);
}

static void leave_pages(struct modc_generator *gen, int sequence, int from)
{
    struct modc_sequence *s = &gen->sequences[sequence];

    for (int i = from; i < s->pages; i++) {
        gen->owners[pages_of(gen, sequence)[i]]--;
        pages_of(gen, sequence)[i] = 0;
    }
    if (from < s->pages)
        s->pages = from;
}

enum modc_status modc_need_pages(struct modc_generator *gen, int sequence, int from, int to, int *end)
{
    const int size = gen->table->page;
    struct modc_sequence *s = &gen->sequences[sequence];
    int64_t *pages = pages_of(gen, sequence);

    for (int i = from / size; i * size < to; i++) {
        int page;

        if (i < s->pages && gen->owners[pages[i]] == 1)
            continue;
        page = find_page(gen);
        if (page < 0) {
            *end = i * size > from ? i * size : from;
            return MODC_OK;
        }
        if (i < s->pages) {
            MODC_TRY(copy_page(gen, page, pages[i], from - i * size > 0 ? from - i * size : 0));
            gen->owners[pages[i]]--;
        } else {
            s->pages = i + 1;
        }
        gen->owners[page] = 1;
        pages[i] = page;
    }
    *end = to;
    return MODC_OK;
}

/* ---- sequences -------------------------------------------------------------------------------------------------- */

static enum modc_status check_ids(const struct modc_generator *gen, const int64_t *ids, int count, int before)
{
    if (ids == NULL)
        return MODC_POINTER;
    if (count < 1 || count > gen->table->context - before)
        return MODC_SIZE;
    for (int i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= gen->table->vocabulary)
            return MODC_INDEX;
    return MODC_OK;
}

static enum modc_status refuse(const char *text, char *message, size_t room)
{
    size_t i = 0;

    for (; message != NULL && text[i] != 0 && i + 1 < room; i++)
        message[i] = text[i];
    if (message != NULL && room > 0)
        message[i] = 0;
    return MODC_ARGUMENT;
}

enum modc_status modc_check_options(const struct modc_generator *gen,
                                    const struct modc_generation_options *options, char *message, size_t room)
{
    enum modc_status status = modc_generation_check(options, gen->table->vocabulary, message, room);

    if (status != MODC_OK)
        return status;
    if (options->stop_count > 0 && gen->table->tokenizer == NULL)
        return refuse("stop has texts, and the model has no tokenizer: use eos_token_id", message, room);
    for (int i = 0; i < options->stop_count; i++)
        if (strlen(options->stop[i]) > MODC_MAX_STOP)
            return refuse("stop has a text of more than 128 bytes", message, room);
    if (options->top_logprobs > MODC_MAX_TOP)
        return refuse("top_logprobs is over 20", message, room);
    if (options->max_time > 0 && gen->clock == NULL)
        return refuse("max_time is set, and the generator has no clock", message, room);
    if (options->grammar != NULL && modc_generation_eos(options).count == 0)
        return refuse("grammar is set, and no eos_token_id counts, by which a text could end", message, room);
    return MODC_OK;
}

/* It writes, or goes on, behind all tokens that are there. */
static void start(struct modc_generator *gen, struct modc_sequence *s)
{
    s->active = 1;
    s->reads = 0;
    s->prompt = s->length;
    s->turn = ++gen->turns;
    s->started = gen->clock != NULL ? gen->clock(gen->clock_user) : 0;
    s->text_bytes = s->text_sent = 0;
    s->grammar = MODC_GRAMMAR_BEGIN;
    if (gen->table->tokenizer != NULL)
        modc_decoder_init(&s->decoder, gen->table->tokenizer,
                          s->options.skip_special_tokens ? 0 : MODC_KEEP_SPECIAL);
}

static int find_free(const struct modc_generator *gen)
{
    for (int i = 0; i < gen->table->sequences; i++)
        if (!gen->sequences[i].used)
            return i;
    return -1;
}

enum modc_status modc_generator_begin(struct modc_generator *gen, const int64_t *ids, int count,
                                      const struct modc_generation_options *options, uint64_t number,
                                      int *sequence)
{
    struct modc_sequence *s;
    enum modc_status status;
    int at;

    if (gen == NULL || gen->table == NULL || sequence == NULL)
        return MODC_POINTER;
    gen->message[0] = 0;
    options = options != NULL ? options : &gen->options;
    status = check_ids(gen, ids, count, 0);
    if (status == MODC_OK)
        status = modc_check_options(gen, options, gen->message, sizeof gen->message);
    if (status != MODC_OK)
        return status;
    at = find_free(gen);
    if (at < 0)
        return MODC_FULL;
    s = &gen->sequences[at];
    memset(s, 0, sizeof *s);
    s->used = 1;
    s->row = -1;
    s->length = count;
    s->number = number;
    s->options = *options;
    memcpy(modc_ids_of(gen, at), ids, (size_t)count * sizeof *ids);
    memset(log_probs_of(gen, at), 0, (size_t)count * sizeof(float));
    start(gen, s);
    *sequence = at;
    return MODC_OK;
}

enum modc_status modc_generator_read(struct modc_generator *gen, const int64_t *ids, int count, int *sequence)
{
    enum modc_status status = modc_generator_begin(gen, ids, count, NULL, 0, sequence);

    if (status == MODC_OK)
        gen->sequences[*sequence].reads = 1;
    return status;
}

enum modc_status modc_generator_extend(struct modc_generator *gen, int sequence, const int64_t *ids,
                                       int count)
{
    struct modc_sequence *s = find(gen, sequence);
    enum modc_status status;

    if (s == NULL)
        return MODC_NAME;
    status = check_ids(gen, ids, count, s->length);
    if (status != MODC_OK)
        return status;
    memcpy(modc_ids_of(gen, sequence) + s->length, ids, (size_t)count * sizeof *ids);
    memset(log_probs_of(gen, sequence) + s->length, 0, (size_t)count * sizeof(float));
    s->length += count;
    start(gen, s);
    return MODC_OK;
}

enum modc_status modc_generator_fork(struct modc_generator *gen, int sequence, uint64_t number, int *other)
{
    struct modc_sequence *s = find(gen, sequence);
    int at;

    if (s == NULL)
        return MODC_NAME;
    if (other == NULL)
        return MODC_POINTER;
    at = find_free(gen);
    if (at < 0)
        return MODC_FULL;
    MODC_TRY(copy_memories(gen, at, sequence));
    gen->sequences[at] = *s;
    gen->sequences[at].number = number;
    gen->sequences[at].turn = ++gen->turns; /* two of one turn would be taken for one */
    gen->sequences[at].row = -1;
    memcpy(modc_ids_of(gen, at), modc_ids_of(gen, sequence), (size_t)s->length * sizeof(int64_t));
    memcpy(log_probs_of(gen, at), log_probs_of(gen, sequence), (size_t)s->length * sizeof(float));
    memcpy(text_of(gen, at), text_of(gen, sequence), (size_t)s->text_bytes);
    memcpy(pages_of(gen, at), pages_of(gen, sequence), (size_t)gen->table->per * sizeof(int64_t));
    for (int i = 0; i < s->pages; i++)
        gen->owners[pages_of(gen, at)[i]]++;
    *other = at;
    return MODC_OK;
}

enum modc_status modc_generator_keep(struct modc_generator *gen, int sequence, int tokens)
{
    struct modc_sequence *s = find(gen, sequence);

    if (s == NULL)
        return MODC_NAME;
    if (tokens < 0 || tokens > s->length)
        return MODC_SIZE;
    if (gen->table->recurrent && tokens > 0 && tokens < s->done)
        return MODC_UNSUPPORTED;
    s->length = tokens;
    s->done = s->done < tokens ? s->done : tokens;
    s->prompt = s->prompt < tokens ? s->prompt : tokens;
    s->active = 0;
    s->text_bytes = s->text_sent = 0;
    leave_pages(gen, sequence, (tokens + gen->table->page - 1) / gen->table->page);
    return MODC_OK;
}

enum modc_status modc_generator_stop(struct modc_generator *gen, int sequence)
{
    struct modc_sequence *s = find(gen, sequence);

    if (s == NULL)
        return MODC_NAME;
    s->active = 0;
    return MODC_OK;
}

enum modc_status modc_generator_end(struct modc_generator *gen, int sequence)
{
    struct modc_sequence *s = find(gen, sequence);

    if (s == NULL)
        return MODC_NAME;
    leave_pages(gen, sequence, 0);
    s->used = s->active = 0;
    return MODC_OK;
}

int modc_generator_active(const struct modc_generator *gen)
{
    int active = 0;

    for (int i = 0; gen != NULL && gen->table != NULL && i < gen->table->sequences; i++)
        active += gen->sequences[i].used && gen->sequences[i].active;
    return active;
}

const int64_t *modc_generator_ids(const struct modc_generator *gen, int sequence, int *count, int *prompt)
{
    const struct modc_sequence *s = find(gen, sequence);

    if (s == NULL)
        return NULL;
    if (count != NULL)
        *count = s->length;
    if (prompt != NULL)
        *prompt = s->prompt;
    return modc_ids_of(gen, sequence);
}

const float *modc_generator_log_probs(const struct modc_generator *gen, int sequence)
{
    return find(gen, sequence) != NULL ? log_probs_of(gen, sequence) : NULL;
}

/* ---- a call of the model ---------------------------------------------------------------------------------------- */

/* Whether the log-probabilities of its prompt are wanted. */
static bool scores_prompt(const struct modc_sequence *s)
{
    return (s->options.logprobs & (MODC_LOGPROBS_PROMPT | MODC_LOGPROBS_FULL)) != 0;
}

/* Tokens that it has at most. */
static int most_tokens(const struct modc_generator *gen, const struct modc_sequence *s)
{
    const int most = modc_generation_length(&s->options, s->prompt);

    return most < gen->table->context ? most : gen->table->context;
}

/* Tokens that may come next, behind those that are there: checked by the same call, they cost little more than one. How many. */
static int guess(struct modc_generator *gen, int sequence, int room)
{
    const struct modc_sequence *s = &gen->sequences[sequence];
    int64_t *ids = modc_ids_of(gen, sequence);
    const struct modc_history history = {
        .prompt = ids, .prompt_count = s->prompt, .ids = ids + s->prompt, .count = s->length - s->prompt};
    const int most = most_tokens(gen, s) - s->length - 1, wanted = s->options.prompt_lookup_num_tokens;

    if (wanted == 0 || s->reads || s->options.top_logprobs > 0 || gen->table->recurrent)
        return 0;
    room = room < most ? room : most;
    room = room < wanted ? room : wanted;
    return room > 0
               ? modc_prompt_lookup(&history, s->options.max_matching_ngram_size, room, s->length + room + 1,
                                    modc_generation_eos(&s->options), ids + s->length)
               : 0;
}

/* As many of the sequence's waiting tokens as there is room for: its piece of the call. */
enum modc_status modc_add_piece(struct modc_generator *gen, struct modc_batch *batch, int sequence)
{
    struct modc_sequence *s = &gen->sequences[sequence];
    struct modc_piece *piece = &s->piece;
    const int rows = gen->table->rows - batch->rows, logits = gen->logits_room - batch->logits;
    const int waiting = s->length - s->done;
    int count = waiting < rows ? waiting : rows, end;

    if (scores_prompt(s) && count > logits)
        count = logits;
    if (gen->table->alone && count > 1)
        count = 1;
    if (count == waiting && logits == 0 && !s->reads)
        count--;
    *piece = (struct modc_piece){.first = batch->logits};
    if (count <= 0)
        return MODC_OK;
    if (waiting == 1)
        count += guess(gen, sequence, (rows < logits ? rows : logits) - 1 - batch->kept);
    MODC_TRY(modc_need_pages(gen, sequence, s->done, s->done + count, &end));
    if (end == s->done) {
        piece->full = true;
        return MODC_OK;
    }
    piece->count = end - s->done;
    piece->guesses = end > s->length ? end - s->length : 0;
    piece->logits = scores_prompt(s) ? piece->count : end >= s->length && !s->reads ? 1 + piece->guesses : 0;
    for (int i = 0; i < piece->count; i++) {
        gen->token[batch->rows + i] = modc_ids_of(gen, sequence)[s->done + i];
        gen->position[batch->rows + i] = s->done + i;
        gen->sequence[batch->rows + i] = sequence;
    }
    for (int i = 0; i < piece->logits; i++)
        gen->logit_rows[batch->logits + i] = batch->rows + piece->count - piece->logits + i;
    batch->rows += piece->count;
    batch->logits += piece->logits;
    return MODC_OK;
}

enum modc_status modc_call_rows(struct modc_generator *gen, const struct modc_batch *batch)
{
    enum { MOST_SIZES = 16 };
    const struct modc_generation *table = gen->table;
    const struct modc_entry *entry = &table->model->entries[table->entry];
    const void *inputs[2 * 5] = {gen->token, gen->position, gen->sequence, gen->pages, gen->logit_rows};
    void *outputs[2] = {gen->logits};
    int sizes[MOST_SIZES] = {0};
    enum modc_status status;

    sizes[table->rows_size] = batch->rows;
    sizes[table->logits_size] = batch->logits;
    status = gen->machine->call(gen->net, entry, sizes, inputs, outputs, gen->token, gen->row_bytes);
    if (status == MODC_GPU && table->recurrent) /* which may have gone on with a part of it */
        for (int i = 0; i < batch->rows; i++)
            gen->sequences[gen->sequence[i]].done = 0;
    return status;
}

/* A row of logits as float, which the sampler may change. */
static float *scores_of(struct modc_generator *gen, int row)
{
    const size_t vocabulary = (size_t)gen->table->vocabulary;

    if (modc_logits_of(gen->table)->dtype == MODC_FLOAT32) {
        memcpy(gen->scores, (const float *)gen->logits + (size_t)row * vocabulary,
               vocabulary * sizeof(float));
    } else {
        const double *from = (const double *)gen->logits + (size_t)row * vocabulary;

        for (size_t i = 0; i < vocabulary; i++)
            gen->scores[i] = (float)from[i];
    }
    return gen->scores;
}

enum modc_status modc_generator_encode(struct modc_generator *gen, int sequence, const int64_t *source,
                                       int count)
{
    enum { MOST_SIZES = 16 };
    struct modc_sequence *s = find(gen, sequence);
    const struct modc_generation *table;
    const struct modc_entry *entry;
    int sizes[MOST_SIZES] = {0};
    const int64_t target = sequence;
    const void *inputs[2 * 2] = {source, &target};
    void *outputs[2];
    enum modc_status status;

    if (s == NULL)
        return MODC_NAME;
    table = gen->table;
    if (table->encoder < 0)
        return MODC_UNSUPPORTED;
    if (source == NULL)
        return MODC_POINTER;
    if (count < 1 || count > table->source)
        return MODC_SIZE;
    entry = &table->model->entries[table->encoder];
    sizes[table->source_size] = count;
    outputs[0] = gen->encoded;
    status = gen->machine->call(gen->net, entry, sizes, inputs, outputs, NULL, 0);
    if (status != MODC_OK)
        return status;
    s->source = source;
    s->source_count = count;
    return MODC_OK;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

/* How many of the last bytes may still become a stop string. */
static int find_held(const struct modc_generation_options *options, const char *text, int bytes)
{
    for (int held = bytes < MODC_MAX_STOP ? bytes : MODC_MAX_STOP; held > 0; held--)
        for (int i = 0; i < options->stop_count; i++)
            if (strlen(options->stop[i]) > (size_t)held &&
                memcmp(options->stop[i], text + bytes - held, (size_t)held) == 0)
                return held;
    return 0;
}

/* Where the first stop string in the text begins and ends; false: there is none. */
static bool find_stop(const struct modc_generation_options *options, const char *text, int bytes, int *begin,
                      int *end)
{
    for (int at = 0; at < bytes; at++) {
        for (int i = 0; i < options->stop_count; i++) {
            const int length = (int)strlen(options->stop[i]);

            if (length > bytes - at || memcmp(options->stop[i], text + at, (size_t)length) != 0)
                continue;
            *begin = at;
            *end = at + length;
            return true;
        }
    }
    return false;
}

/* Whether a stop string ends behind the first `from` bytes. */
static bool ends_by_stop(const struct modc_generation_options *options, const char *text, int from, int bytes)
{
    for (int i = 0; i < options->stop_count; i++) {
        const int length = (int)strlen(options->stop[i]);

        for (int end = from + 1 > length ? from + 1 : length; end <= bytes; end++)
            if (length > 0 && memcmp(options->stop[i], text + end - length, (size_t)length) == 0)
                return true;
    }
    return false;
}

/* The text that the token completes, and whether a stop string is in it. `ends`: no more tokens come. */
static void tell_text(struct modc_generator *gen, int sequence, struct modc_event *event)
{
    struct modc_sequence *s = &gen->sequences[sequence];
    const size_t room = (size_t)text_room(gen->table);
    char *text = text_of(gen, sequence);
    size_t more = 0;
    int begin, end;

    event->text = NULL;
    event->bytes = 0;
    if (gen->table->tokenizer == NULL)
        return;
    if (event->token >= 0 && modc_decoder_push(&s->decoder, event->token, text + s->text_bytes,
                                               room - (size_t)s->text_bytes, &more) == MODC_OK)
        s->text_bytes += (int)more;
    event->text = text += s->text_sent;
    if (find_stop(&s->options, text, s->text_bytes - s->text_sent, &begin, &end)) {
        event->bytes = s->options.include_stop_str_in_output ? end : begin;
        event->finish = MODC_FINISH_STOP;
        s->text_bytes = s->text_sent += event->bytes;
        return;
    }
    if (event->finish != MODC_FINISH_NONE) {
        more = 0;
        if (modc_decoder_end(&s->decoder, text_of(gen, sequence) + s->text_bytes,
                             room - (size_t)s->text_bytes, &more) == MODC_OK)
            s->text_bytes += (int)more;
        event->bytes = s->text_bytes - s->text_sent;
    } else {
        event->bytes = s->text_bytes - s->text_sent -
                       find_held(&s->options, text, s->text_bytes - s->text_sent);
    }
    s->text_sent += event->bytes;
}

/* What was told goes: events of the next step come. */
static void drop_told(struct modc_generator *gen, int sequence)
{
    struct modc_sequence *s = &gen->sequences[sequence];
    char *text = text_of(gen, sequence);

    s->text_bytes -= s->text_sent;
    memmove(text, text + s->text_sent, (size_t)s->text_bytes);
    s->text_sent = 0;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

bool modc_is_late(const struct modc_generator *gen, int sequence)
{
    const struct modc_sequence *s = &gen->sequences[sequence];

    return s->options.max_time > 0 && gen->clock != NULL &&
           gen->clock(gen->clock_user) - s->started >= (double)s->options.max_time;
}

static enum modc_finish find_finish(const struct modc_generator *gen, int sequence, int64_t token)
{
    const struct modc_sequence *s = &gen->sequences[sequence];

    if (modc_ids_have(modc_generation_eos(&s->options), token))
        return MODC_FINISH_EOS;
    if (s->length >= modc_generation_length(&s->options, s->prompt))
        return MODC_FINISH_LENGTH;
    if (s->length >= gen->table->context)
        return MODC_FINISH_FULL;
    return modc_is_late(gen, sequence) ? MODC_FINISH_TIME : MODC_FINISH_NONE;
}

/* It ends without a token. */
static void finish(struct modc_generator *gen, int sequence, enum modc_finish how, enum modc_status status,
                   struct modc_event *event)
{
    *event = (struct modc_event){.sequence = sequence, .token = -1, .finish = how, .status = status};
    tell_text(gen, sequence, event);
    gen->sequences[sequence].active = 0;
}

/* Of the tokens that were given, those behind the piece's rows. */
static void score_given(struct modc_generator *gen, int sequence)
{
    const struct modc_sequence *s = &gen->sequences[sequence];
    const struct modc_piece *piece = &s->piece;
    const int64_t *ids = modc_ids_of(gen, sequence);

    for (int i = 0; i < piece->logits; i++) {
        const int next = s->done + piece->count - piece->logits + i + 1;

        if (next < s->prompt) /* others have theirs */
            modc_log_probs(scores_of(gen, piece->first + i), gen->table->vocabulary, ids + next, 1,
                           log_probs_of(gen, sequence) + next);
    }
}

/* The token behind the sequence's last one. */
static void pick(struct modc_generator *gen, int sequence, int row, struct modc_event *event)
{
    struct modc_sequence *s = &gen->sequences[sequence];
    int64_t *ids = modc_ids_of(gen, sequence);
    const struct modc_history history = {.prompt = ids,
                                         .prompt_count = s->prompt,
                                         .ids = ids + s->prompt,
                                         .count = s->length - s->prompt,
                                         .encoder = s->source,
                                         .encoder_count = s->source_count,
                                         .grammar = s->grammar};
    struct modc_row scores = {scores_of(gen, row), gen->table->vocabulary, gen->scratch};
    const double sum = s->options.logprobs != 0 ? modc_log_sum(scores.scores, scores.vocabulary) : 0;
    enum modc_status status;
    int64_t token;

    if (s->length >= most_tokens(gen, s)) {
        finish(gen, sequence, s->length >= gen->table->context ? MODC_FINISH_FULL : MODC_FINISH_LENGTH,
               MODC_OK, event);
        return;
    }
    status = modc_next_token(&s->options, &history, most_tokens(gen, s), s->number, &scores, &token);
    if (status != MODC_OK) {
        finish(gen, sequence, MODC_FINISH_FAULT, status, event);
        return;
    }
    *event = (struct modc_event){.sequence = sequence, .token = token};
    if (s->options.logprobs != 0) { /* of the logits as they came: `scores` has changed */
        scores_of(gen, row);
        event->log_prob = (float)((double)gen->scores[token] - sum);
    }
    if (s->options.top_logprobs > 0) {
        scores_of(gen, row);
        modc_best_tokens(gen->scores, gen->table->vocabulary, s->top, s->options.top_logprobs);
        event->top = s->top;
        event->top_count = s->options.top_logprobs;
    }
    ids[s->length] = token;
    log_probs_of(gen,
                 sequence)[s->length] = s->options.zero_first && s->length == s->prompt ? 0 : event->log_prob;
    s->length++;
    if (s->options.grammar != NULL)
        s->grammar = modc_grammar_advance(s->options.grammar, s->grammar, token);
    event->finish = find_finish(gen, sequence, token);
    tell_text(gen, sequence, event);
    s->active = event->finish == MODC_FINISH_NONE;
}

/* The sequence whose turn comes behind `turn`, of those that wait for one token (or for more). -1: none. */
static int next_in_turn(const struct modc_generator *gen, uint64_t turn, bool writes)
{
    int found = -1;

    for (int i = 0; i < gen->table->sequences; i++) {
        const struct modc_sequence *s = &gen->sequences[i];

        if (s->used && s->active && (s->length - s->done == 1) == writes && s->turn > turn &&
            (found < 0 || s->turn < gen->sequences[found].turn))
            found = i;
    }
    return found;
}

enum modc_status modc_advance(struct modc_generator *gen)
{
    struct modc_batch batch = {0, 0, 0};
    enum modc_status status = MODC_OK;

    for (int i = 0; i < gen->table->sequences; i++) {
        struct modc_sequence *s = &gen->sequences[i];

        s->piece = (struct modc_piece){0};
        drop_told(gen, i);
        if (s->used && s->active && s->done == s->length && s->length > 0) /* guesses that nobody took */
            s->done--;
        batch.kept += s->used && s->active && s->length - s->done == 1;
    }
    for (int writes = 1; writes >= 0; writes--) {
        uint64_t turn = 0;
        int i;

        while (status == MODC_OK && (i = next_in_turn(gen, turn, writes)) >= 0) {
            turn = gen->sequences[i].turn;
            batch.kept -= writes;
            status = modc_add_piece(gen, &batch, i);
        }
    }
    if (status == MODC_OK && batch.rows > 0)
        status = modc_call_rows(gen, &batch);
    for (int i = 0; i < gen->table->sequences; i++) {
        struct modc_sequence *s = &gen->sequences[i];

        if (status != MODC_OK)
            s->piece = (struct modc_piece){0};
        s->piece.full = s->piece.full && batch.rows == 0; /* else others may leave pages */
        if (s->piece.count == 0)
            continue;
        score_given(gen, i);
        s->done += s->piece.count - s->piece.guesses;
        s->turn = ++gen->turns;
        if (s->done == s->length && s->reads)
            s->active = 0;
    }
    return status;
}

bool modc_event_of(struct modc_generator *gen, int sequence, struct modc_event *event)
{
    struct modc_sequence *s = &gen->sequences[sequence];
    const struct modc_piece piece = s->piece;
    int64_t guessed;

    s->piece = (struct modc_piece){0};
    if (!s->used || !s->active)
        return false;
    if (piece.full) {
        finish(gen, sequence, MODC_FINISH_FULL, MODC_OK, event);
        return true;
    }
    if (piece.count == 0 || s->done < s->length)
        return false;
    guessed = piece.guesses > 0 ? modc_ids_of(gen, sequence)[s->length] : -1;
    pick(gen, sequence, piece.first + piece.logits - 1 - piece.guesses, event);
    if (s->active && event->token == guessed) { /* the call has seen it: the next row is the one behind it */
        s->done++;
        s->piece = piece;
        s->piece.guesses--;
    }
    return true;
}

enum modc_status modc_generator_step(struct modc_generator *gen, struct modc_event *events, int room,
                                     int *count)
{
    enum modc_status status;

    if (gen == NULL || gen->table == NULL || events == NULL || count == NULL)
        return MODC_POINTER;
    *count = 0;
    if (room < gen->table->sequences)
        return MODC_SIZE;
    status = modc_advance(gen);
    for (int i = 0; status == MODC_OK && i < gen->table->sequences; i++)
        while (*count < room - (gen->table->sequences - 1 - i) && modc_event_of(gen, i, &events[*count]))
            ++*count;
    return status;
}

/* ---- tokens that were chosen elsewhere ---------------------------------------------------------------------------- */

void modc_push_token(struct modc_generator *gen, int sequence, int64_t token)
{
    struct modc_sequence *s = &gen->sequences[sequence];
    size_t more = 0;

    modc_ids_of(gen, sequence)[s->length++] = token;
    if (s->options.stop_count == 0)
        return;
    if (modc_decoder_push(&s->decoder, token, text_of(gen, sequence) + s->text_bytes,
                          (size_t)(text_room(gen->table) - s->text_bytes), &more) == MODC_OK)
        s->text_bytes += (int)more;
    s->text_sent = s->text_bytes < MODC_MAX_STOP ? 0 : s->text_bytes - MODC_MAX_STOP + 1;
    drop_told(gen, sequence);
}

bool modc_token_stops(const struct modc_generator *gen, int sequence, int64_t token)
{
    const struct modc_sequence *s = &gen->sequences[sequence];
    struct modc_decoder decoder = s->decoder;
    char *text = text_of(gen, sequence);
    size_t more = 0;

    return s->options.stop_count > 0 &&
           modc_decoder_push(&decoder, token, text + s->text_bytes,
                             (size_t)(text_room(gen->table) - s->text_bytes), &more) == MODC_OK &&
           ends_by_stop(&s->options, text, s->text_bytes, s->text_bytes + (int)more);
}

void modc_tell_token(struct modc_generator *gen, int sequence, int64_t token, bool last,
                     struct modc_event *event)
{
    struct modc_sequence *s = &gen->sequences[sequence];

    drop_told(gen, sequence);
    modc_ids_of(gen, sequence)[s->length++] = token;
    *event = (struct modc_event){.sequence = sequence, .token = token};
    if (last) {
        event->finish = find_finish(gen, sequence, token);
        if (event->finish == MODC_FINISH_NONE) /* a stop string, unless that was not why */
            event->finish = MODC_FINISH_TIME;
    }
    tell_text(gen, sequence, event);
    if (!last)
        event->finish = MODC_FINISH_NONE;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* A call of this sequence alone. */
static enum modc_status read_piece(struct modc_generator *gen, int sequence)
{
    struct modc_batch batch = {0, 0, 0};

    MODC_TRY(modc_add_piece(gen, &batch, sequence));
    return gen->sequences[sequence].piece.count > 0 ? modc_call_rows(gen, &batch) : MODC_FULL;
}

/* Reads all of it: log-probabilities, or (logits not NULL) the logits of each token but the first, without the first `skip` rows. */
static enum modc_status read_scored(struct modc_generator *gen, int sequence, float *logits, int skip)
{
    const size_t vocabulary = (size_t)gen->table->vocabulary;
    struct modc_sequence *s = &gen->sequences[sequence];

    while (s->done < s->length) {
        const enum modc_status status = read_piece(gen, sequence);
        const struct modc_piece *piece = &s->piece;

        if (status != MODC_OK)
            return status;
        if (logits == NULL)
            score_given(gen, sequence);
        for (int i = 0; logits != NULL && i < piece->logits; i++) {
            const int next = s->done + piece->count - piece->logits + i + 1;

            if (next < s->length)
                memcpy(logits + (size_t)(next - skip) * vocabulary, scores_of(gen, piece->first + i),
                       vocabulary * sizeof *logits);
        }
        s->done += piece->count;
    }
    return MODC_OK;
}

enum modc_status modc_score_sequence(struct modc_generator *gen, int sequence)
{
    return read_scored(gen, sequence, NULL, 0);
}

/* A sequence of ids, whose log-probabilities are wanted. */
static enum modc_status begin_scored(struct modc_generator *gen, const int64_t *ids, int count, int *sequence)
{
    struct modc_generation_options options;

    modc_generation_defaults(&options);
    options.logprobs = MODC_LOGPROBS_PROMPT;
    return modc_generator_begin(gen, ids, count, &options, 0, sequence);
}

enum modc_status modc_generator_score(struct modc_generator *gen, const int64_t *ids, int count,
                                      float *log_probs)
{
    enum modc_status status;
    int sequence;

    if (gen == NULL || gen->table == NULL || log_probs == NULL)
        return MODC_POINTER;
    status = begin_scored(gen, ids, count, &sequence);
    if (status != MODC_OK)
        return status;
    status = modc_score_sequence(gen, sequence);
    if (status == MODC_OK)
        memcpy(log_probs, log_probs_of(gen, sequence), (size_t)count * sizeof *log_probs);
    modc_generator_end(gen, sequence);
    return status;
}

enum modc_status modc_generator_logits(struct modc_generator *gen, const int64_t *ids, int count,
                                       float *logits)
{
    enum modc_status status;
    int sequence;

    if (gen == NULL || gen->table == NULL || logits == NULL)
        return MODC_POINTER;
    status = begin_scored(gen, ids, count, &sequence);
    if (status != MODC_OK)
        return status;
    memset(logits, 0, (size_t)gen->table->vocabulary * sizeof *logits);
    status = read_scored(gen, sequence, logits, 0);
    modc_generator_end(gen, sequence);
    return status;
}

enum modc_status modc_generator_score_source(struct modc_generator *gen, const int64_t *source,
                                             int source_count, const int64_t *ids, int count,
                                             float *log_probs, float *logits)
{
    enum modc_status status;
    int sequence;

    if (gen == NULL || gen->table == NULL || (log_probs == NULL && logits == NULL))
        return MODC_POINTER;
    if (gen->table->encoder < 0 || gen->table->start < 0)
        return MODC_UNSUPPORTED;
    status = check_ids(gen, ids, count, 1);
    if (status == MODC_OK)
        status = begin_scored(gen, &gen->table->start, 1, &sequence);
    if (status != MODC_OK)
        return status;
    status = modc_generator_encode(gen, sequence, source, source_count);
    if (status == MODC_OK)
        status = modc_generator_extend(gen, sequence, ids, count);
    if (status == MODC_OK)
        status = read_scored(gen, sequence, logits, 1);
    if (status == MODC_OK && logits == NULL)
        memcpy(log_probs, log_probs_of(gen, sequence) + 1, (size_t)count * sizeof *log_probs);
    for (int i = 0; status == MODC_OK && logits != NULL && log_probs != NULL && i < count; i++)
        modc_log_probs(logits + (size_t)i * (size_t)gen->table->vocabulary, gen->table->vocabulary, ids + i,
                       1, log_probs + i);
    modc_generator_end(gen, sequence);
    return status;
}
