/* generation.c - a generator under random calls, for three small models (generation*.yaml). Each token is that of
 * a plain reference, which runs the model over all tokens of one sequence alone, in a context of its own; texts and ends are those of
 * their definitions; pages have as many owners as there are sequences with them. Seeds can be arguments. Of models on a GPU less of it. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "keeper.h"
#include "modc_device.h"
#include "modc_host.h"
#include "runner.h"
#include "writer.h"

enum {
    SEQUENCES = WRITER_SEQUENCES,
    CONTEXT = WRITER_CONTEXT,
    VOCABULARY = 10,
    ROWS = WRITER_MAX_ROWS,
    TEXT = 512,
    GUESSES = 4
};

/* ---- models ----------------------------------------------------------------------------------------------------- */

struct kind {
    const char *name;
    const struct modc_generation *table;
    const struct modc_tokenizer *tokenizer;
    struct modc_context *net, *plain; /* of the generator; of the reference */
    void *block;
    size_t bytes;
    int modules[2]; /* that have a hook which may fail: the first block, and the last of all */
};

static struct modc_params *device_params;

static struct kind make_on_device(struct kind kind, uint64_t seed)
{
    const struct modc_model *model = kind.table->model;

    CHECK_OK(modc_params_create(model, &device_params));
    CHECK_OK(modc_reset(device_params, seed));
    CHECK_OK(modc_pack(device_params, NULL, 0));
    CHECK_OK(modc_create(model, device_params, 0, &kind.net));
    CHECK_OK(modc_create(model, device_params, 0, &kind.plain));
    CHECK_OK(model->device->allocate_host(
        &kind.block, kind.bytes)); /* of which copies are made when the stream gets there */
    return kind;
}

static void end_on_device(const struct kind *kind)
{
    if (kind->table->model->device == NULL)
        return;
    kind->table->model->device->release_host(kind->block);
    modc_destroy(kind->net);
    modc_destroy(kind->plain);
    modc_params_destroy(device_params);
}

#define KIND(m, M)                                                                                           \
    static struct m##_params m##_params;                                                                     \
    static struct m m##_net, m##_plain;                                                                      \
    static MODC_ALIGNED char m##_weights[M##_PARAM_BYTES], m##_packed[M##_PACKED_BYTES],                     \
        m##_work[2][M##_FENCED_WORKSPACE_BYTES], m##_block[M##_GENERATOR_BYTES];                             \
    static struct kind make_##m(uint64_t seed)                                                               \
    {                                                                                                        \
        if (m##_model.device != NULL)                                                                        \
            return make_on_device((struct kind){#m,                                                          \
                                                &m##_generation,                                             \
                                                &m##_tokenizer,                                              \
                                                NULL,                                                        \
                                                NULL,                                                        \
                                                NULL,                                                        \
                                                sizeof m##_block,                                            \
                                                {M##_BLOCKS_0, M##_HEAD}},                                   \
                                  seed);                                                                     \
        CHECK_OK(m##_bind(&m##_params, m##_weights, sizeof m##_weights));                                    \
        CHECK_OK(m##_reset(&m##_params, seed));                                                              \
        CHECK_OK(m##_pack(&m##_params, m##_packed, sizeof m##_packed));                                      \
        CHECK_OK(m##_init(&m##_net, &m##_params, m##_work[0], sizeof m##_work[0]));                          \
        CHECK_OK(m##_init(&m##_plain, &m##_params, m##_work[1], sizeof m##_work[1]));                        \
        return (struct kind){                                                                                \
            #m,        &m##_generation,  &m##_tokenizer,          &m##_net.base, &m##_plain.base,            \
            m##_block, sizeof m##_block, {M##_BLOCKS_0, M##_HEAD}};                                          \
    }

KIND(writer, WRITER)
KIND(runner, RUNNER)
KIND(keeper, KEEPER)

/* ---- random numbers --------------------------------------------------------------------------------------------- */

static uint64_t state;

static int below(int count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)count);
}

static bool chance(int percent)
{
    return below(100) < percent;
}

/* ---- what is expected ------------------------------------------------------------------------------------------- */

/* A sequence as it should be. */
struct mirror {
    bool used, active, reads;
    int64_t ids[CONTEXT];
    int length, prompt, sent; /* sent: bytes of the text since it began to write */
    int read;                 /* tokens that the reference has computed */
    uint64_t number;
    struct modc_generation_options options;
    char text[TEXT];
};

static struct kind kind;
static struct modc_generator gen;
static struct mirror mirrors[SEQUENCES];

/* Logits behind the first `count` ids of a mirror, by the reference: those before them were its, too. */
static void logits_behind(struct mirror *m, int count, float *logits)
{
    const struct modc_generation *t = kind.table;
    const struct modc_entry *entry = &t->model->entries[t->entry];
    const int slot = (int)(m - mirrors);
    int64_t position[ROWS], sequence[ROWS], pages[SEQUENCES * 10], row;
    double out[VOCABULARY];
    float single[VOCABULARY];
    const bool is_single = t->model->entries[t->entry].outputs[0].dtype == MODC_FLOAT32;

    CHECK(t->per == 10 && count > 0);
    for (int i = 0; i < SEQUENCES * 10; i++)
        pages[i] = SEQUENCES * 10 - 1 - i;
    if (m->read >= count)
        m->read = 0;
    while (m->read < count) {
        const int rows = count - m->read < ROWS ? count - m->read : ROWS;
        const void *inputs[2 * 5] = {m->ids + m->read, position, sequence, pages, &row};
        void *outputs[2] = {is_single ? (void *)single : out};
        int sizes[16] = {0};

        for (int i = 0; i < rows; i++) {
            position[i] = m->read + i;
            sequence[i] = slot;
        }
        row = rows - 1;
        sizes[t->rows_size] = rows;
        sizes[t->logits_size] = 1;
        CHECK_OK(t->model->device != NULL
                     ? t->model->device->call_host(kind.plain, entry, sizes, inputs, outputs)
                     : entry->call(kind.plain, sizes, inputs, outputs));
        m->read += rows;
    }
    for (int i = 0; i < VOCABULARY; i++)
        logits[i] = is_single ? single[i] : (float)out[i];
}

static float log_prob_of(const float *logits, int64_t id)
{
    return (float)((double)logits[id] - modc_log_sum(logits, VOCABULARY));
}

/* The text of the first `count` tokens behind the prompt. */
static int text_of(const struct mirror *m, int count, char *text)
{
    size_t bytes = 0;

    CHECK_OK(modc_decode(kind.tokenizer, m->ids + m->prompt, count,
                         m->options.skip_special_tokens ? 0 : MODC_KEEP_SPECIAL, text, TEXT, &bytes));
    return (int)bytes;
}

static bool find_stop(const struct modc_generation_options *o, const char *text, int bytes, int *begin,
                      int *end)
{
    for (*begin = 0; *begin < bytes; ++*begin)
        for (int i = 0; i < o->stop_count; i++) {
            const int length = (int)strlen(o->stop[i]);

            *end = *begin + length;
            if (*end <= bytes && memcmp(text + *begin, o->stop[i], (size_t)length) == 0)
                return true;
        }
    return false;
}

/* Of a text without a stop string: the bytes that belong to none, whatever comes. */
static int settled(const struct modc_generation_options *o, const char *text, int bytes)
{
    for (int at = 0; at < bytes; at++)
        for (int i = 0; i < o->stop_count; i++)
            if ((int)strlen(o->stop[i]) > bytes - at &&
                memcmp(text + at, o->stop[i], (size_t)(bytes - at)) == 0)
                return at;
    return bytes;
}

static int length_of(const struct mirror *m)
{
    return modc_generation_length(&m->options, m->prompt);
}

/* An event of the sequence is what should come. */
static void check_event(const struct modc_event *event)
{
    struct mirror *m = &mirrors[event->sequence];
    const int most = length_of(m) < CONTEXT ? length_of(m) : CONTEXT;
    enum modc_finish finish = MODC_FINISH_NONE;
    float logits[VOCABULARY], raw[VOCABULARY];
    MODC_ALIGNED char scratch[MODC_SAMPLING_BYTES(VOCABULARY)];
    struct modc_row row = {logits, VOCABULARY, scratch};
    const struct modc_history history = {.prompt = m->ids,
                                         .prompt_count = m->prompt,
                                         .ids = m->ids + m->prompt,
                                         .count = m->length - m->prompt};
    char text[TEXT];
    int bytes, begin, end;
    enum modc_status status;
    int64_t id;

    CHECK(m->used && m->active && !m->reads);
    if (m->length >= most) {
        CHECK(event->token == -1 &&
              event->finish == (m->length >= CONTEXT ? MODC_FINISH_FULL : MODC_FINISH_LENGTH));
    } else {
        logits_behind(m, m->length, logits);
        memcpy(raw, logits, sizeof raw);
        status = modc_next_token(&m->options, &history, most, m->number, &row, &id);
        CHECK(status == event->status && (status == MODC_OK || status == MODC_NONFINITE));
        if (status == MODC_OK) {
            CHECK(event->token == id);
            CHECK(fabsf(event->log_prob - (m->options.logprobs != 0 ? log_prob_of(raw, id) : 0)) < 1e-5f);
            m->ids[m->length++] = id;
            finish = modc_ids_have(modc_generation_eos(&m->options), id) ? MODC_FINISH_EOS
                     : m->length >= length_of(m)                         ? MODC_FINISH_LENGTH
                     : m->length >= CONTEXT                              ? MODC_FINISH_FULL
                                                                         : MODC_FINISH_NONE;
        } else {
            CHECK(event->token == -1 && event->finish == MODC_FINISH_FAULT);
        }
    }
    bytes = text_of(m, m->length - m->prompt, text);
    if (find_stop(&m->options, text, bytes, &begin, &end)) {
        finish = MODC_FINISH_STOP;
        bytes = m->options.include_stop_str_in_output ? end : begin;
    } else if (event->finish == MODC_FINISH_NONE) {
        bytes = settled(&m->options, text, bytes);
    }
    CHECK(event->token == -1 || event->finish == finish);
    CHECK(event->text != NULL && m->sent + event->bytes <= TEXT);
    memcpy(m->text + m->sent, event->text, (size_t)event->bytes);
    m->sent += event->bytes;
    CHECK(m->sent == bytes && memcmp(m->text, text, (size_t)bytes) == 0);
    m->active = event->finish == MODC_FINISH_NONE;
}

/* Sequences are as they should be, and pages have as many owners as sequences have them. */
static void check_state(void)
{
    int owners[SEQUENCES * 10] = {0}, active = 0;

    for (int i = 0; i < SEQUENCES; i++) {
        const struct mirror *m = &mirrors[i];
        int count, prompt;
        const int64_t *ids = modc_generator_ids(&gen, i, &count, &prompt);

        CHECK((ids != NULL) == m->used);
        if (!m->used)
            continue;
        CHECK(count == m->length && memcmp(ids, m->ids, (size_t)count * sizeof *ids) == 0);
        CHECK(prompt == m->prompt);
        active += m->active;
        CHECK(gen.sequences[i].done <= m->length &&
              gen.sequences[i].pages * kind.table->page >= gen.sequences[i].done);
        for (int k = 0; k < gen.sequences[i].pages; k++)
            owners[gen.pages[i * kind.table->per + k]]++;
    }
    CHECK(memcmp(owners, gen.owners, sizeof owners) == 0);
    CHECK(modc_generator_active(&gen) == active);
}

/* ---- hooks that fail ---------------------------------------------------------------------------------------------- */

static int calls_left = -1; /* until one fails; -1: none does */

static enum modc_status fail_at_last(struct modc_hook_call *call)
{
    (void)call;
    return calls_left >= 0 && calls_left-- == 0 ? MODC_HOOK_ERROR : MODC_OK;
}

static enum modc_status do_nothing(struct modc_hook_call *call)
{
    (void)call;
    return MODC_OK;
}

/* ---- options ------------------------------------------------------------------------------------------------------ */

static const int64_t letters[] = {3, 4, 5, 6, 7, 8, 9};
static const char *const stops[] = {"bca", "ab", " a", "c a", "abcabc", "cc", "b", "bcabcab"};

static struct modc_generation_options some_options(void)
{
    struct modc_generation_options o;

    modc_generation_defaults(&o);
    o.max_new_tokens = 1 + below(chance(50) ? 6 : 40);
    o.seed = (uint64_t)below(4);
    if (chance(50))
        o.temperature = 0.5f + 0.25f * (float)below(8);
    if (chance(20))
        o.top_k = 1 + below(6);
    if (chance(20))
        o.top_p = 0.5f + 0.1f * (float)below(5);
    if (o.top_k > 0 || o.top_p < 1)
        o.temperature = o.temperature < 0 ? 1 : o.temperature;
    if (chance(20))
        o.repetition_penalty = 1.2f;
    if (chance(20))
        o.no_repeat_ngram_size = 2 + below(2);
    if (chance(10))
        o.presence_penalty = 0.5f;
    if (chance(30))
        o.eos_token_id = (struct modc_ids){letters + below(5), 1 + below(2)};
    if (chance(10) && o.eos_token_id.count > 0)
        o.min_new_tokens = below(4) < o.max_new_tokens ? below(2) : 0;
    if (chance(10))
        o.suppress_tokens = (struct modc_ids){letters + below(5), 1};
    if (chance(50)) {
        o.stop_count = 1 + below(3);
        o.stop = stops + below(8 - o.stop_count + 1);
        o.include_stop_str_in_output = chance(50);
    }
    o.skip_special_tokens = chance(70);
    if (chance(30)) {
        o.prompt_lookup_num_tokens = 1 + below(GUESSES);
        o.max_matching_ngram_size = 1 + below(3);
    }
    o.logprobs = chance(40) ? (unsigned)below(8) : 0;
    return o;
}

static int some_ids(int64_t *ids, int most)
{
    const int count = 1 + below(most);

    for (int i = 0; i < count; i++)
        ids[i] = below(VOCABULARY);
    return count;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static int used_count(void)
{
    int used = 0;

    for (int i = 0; i < SEQUENCES; i++)
        used += mirrors[i].used;
    return used;
}

static void begin_writing(struct mirror *m)
{
    m->active = true;
    m->reads = false;
    m->prompt = m->length;
    m->sent = 0;
}

static void begin(bool reads)
{
    int64_t ids[CONTEXT];
    const int count = some_ids(ids, chance(80) ? 12 : CONTEXT);
    const struct modc_generation_options options = some_options();
    const uint64_t number = (uint64_t)below(3);
    int at = -7;
    enum modc_status status = reads ? modc_generator_read(&gen, ids, count, &at)
                                    : modc_generator_begin(&gen, ids, count, &options, number, &at);
    struct mirror *m = &mirrors[at < 0 ? 0 : at];

    if (used_count() == SEQUENCES) {
        CHECK(status == MODC_FULL && at == -7);
        return;
    }
    CHECK(status == MODC_OK && at >= 0 && at < SEQUENCES && !m->used);
    *m = (struct mirror){.used = true, .length = count, .number = reads ? 0 : number};
    m->options = reads ? gen.options : options;
    memcpy(m->ids, ids, (size_t)count * sizeof *ids);
    begin_writing(m);
    m->reads = reads;
}

static void step(void)
{
    enum { MOST = SEQUENCES * (1 + GUESSES) };
    struct modc_event events[MOST];
    int count = -1, waiting = 0, left = 0;
    enum modc_status status;
    bool writes[SEQUENCES];
    const bool fails = chance(15);
    const int room = chance(70) ? MOST : SEQUENCES + below(MOST - SEQUENCES);

    for (int i = 0; i < SEQUENCES; i++)
        waiting += mirrors[i].used && mirrors[i].active ? mirrors[i].length - gen.sequences[i].done : 0;
    CHECK(modc_generator_step(&gen, events, SEQUENCES - 1, &count) == MODC_SIZE && count == 0);
    if (fails && waiting > 0) {
        calls_left = below(2);
        CHECK(modc_generator_step(&gen, events, MOST, &count) == MODC_HOOK_ERROR && count == 0);
        calls_left = -1;
        check_state();
    }
    for (int i = 0; i < SEQUENCES; i++)
        writes[i] = mirrors[i].used && mirrors[i].active && !mirrors[i].reads &&
                    mirrors[i].length - gen.sequences[i].done == 1;
    status = modc_generator_step(&gen, events, room, &count);
    CHECK(status == MODC_OK && count >= 0 && count <= room);
    for (int i = 0; i < count; i++) {
        writes[events[i].sequence] = false;
        check_event(&events[i]);
        waiting += events[i].token >= 0;
    }
    for (int i = 0; i < SEQUENCES; i++) {
        struct mirror *m = &mirrors[i];

        if (m->used && m->reads && gen.sequences[i].done == m->length)
            m->active = false;
        left += m->used && m->active ? m->length - gen.sequences[i].done : 0;
        CHECK(!writes[i]); /* there are rows for all that wait for one token */
    }
    CHECK(waiting == 0 || left < waiting); /* it gets on */
}

static void extend(int i)
{
    struct mirror *m = &mirrors[i];
    int64_t ids[CONTEXT];
    const int count = some_ids(ids, 8);
    enum modc_status status = modc_generator_extend(&gen, i, ids, count);

    if (!m->used) {
        CHECK(status == MODC_NAME);
    } else if (m->length + count > CONTEXT) {
        CHECK(status == MODC_SIZE);
    } else {
        CHECK(status == MODC_OK);
        memcpy(m->ids + m->length, ids, (size_t)count * sizeof *ids);
        m->length += count;
        begin_writing(m);
    }
}

static void fork_it(int i)
{
    const uint64_t number = (uint64_t)below(3);
    int at = -7;
    enum modc_status status = modc_generator_fork(&gen, i, number, &at);

    if (!mirrors[i].used || used_count() == SEQUENCES) {
        CHECK(status == (mirrors[i].used ? MODC_FULL : MODC_NAME) && at == -7);
        return;
    }
    CHECK(status == MODC_OK && !mirrors[at].used);
    mirrors[at] = mirrors[i];
    mirrors[at].number = number;
    mirrors[at].read = 0;
}

static void keep(int i)
{
    struct mirror *m = &mirrors[i];
    const int tokens = chance(10) ? m->length + 1 : chance(30) ? 0 : below(m->length + 1);
    enum modc_status status = modc_generator_keep(&gen, i, tokens);

    if (!m->used) {
        CHECK(status == MODC_NAME);
    } else if (tokens > m->length) {
        CHECK(status == MODC_SIZE);
    } else if (status == MODC_UNSUPPORTED) {
        CHECK(kind.table->recurrent && tokens > 0 && tokens < gen.sequences[i].done);
    } else {
        CHECK(status == MODC_OK);
        m->length = tokens;
        m->prompt = m->prompt < tokens ? m->prompt : tokens;
        m->active = false;
        m->read = m->read < tokens && !kind.table->recurrent ? m->read : 0;
    }
}

static void score(void)
{
    struct mirror *m = &mirrors[0];
    int64_t ids[CONTEXT];
    const int count = some_ids(ids, CONTEXT);
    float found[CONTEXT], logits[VOCABULARY];
    struct mirror before;
    enum modc_status status;

    if (chance(20)) {
        calls_left = below(4);
        status = modc_generator_score(&gen, ids, count, found);
        CHECK(status == (used_count() == SEQUENCES ? MODC_FULL : MODC_HOOK_ERROR) || calls_left >= 0);
        calls_left = -1;
        check_state();
    }
    status = modc_generator_score(&gen, ids, count, found);
    if (used_count() == SEQUENCES) {
        CHECK(status == MODC_FULL);
        return;
    }
    CHECK(status == MODC_OK && found[0] == 0);
    before = *m;
    m->read = 0;
    memcpy(m->ids, ids, (size_t)count * sizeof *ids);
    for (int i = 1; i < count; i++) {
        logits_behind(m, i, logits);
        CHECK(fabsf(found[i] - log_prob_of(logits, ids[i])) < 1e-5f);
    }
    *m = before;
    m->read = 0;
}

static void end_it(int i)
{
    CHECK(modc_generator_end(&gen, i) == (mirrors[i].used ? MODC_OK : MODC_NAME));
    mirrors[i].used = mirrors[i].active = false;
}

/* A model that keeps other numbers does not take it, whatever their size. */
static void refuse_of_others(const char *bytes, size_t length)
{
    enum { STATES = 16 };
    struct modc_generation others = *kind.table;
    struct modc_model model = *others.model;
    struct modc_key states[STATES],
        *first = &states[others.cache_count > 0 ? others.caches[0] : others.memories[0]];
    int at;

    CHECK(model.state_count <= STATES);
    memcpy(states, model.states, (size_t)model.state_count * sizeof *states);
    first->dtype = first->dtype == MODC_INT8 ? MODC_UINT8 : MODC_INT64;
    CHECK(modc_dtype_bytes(first->dtype) == modc_dtype_bytes(model.states[first - states].dtype));
    model.states = states;
    others.model = &model;
    gen.table = &others;
    CHECK(modc_generator_load(&gen, bytes, length, &at) == MODC_KEYS);
    gen.table = kind.table;
}

/* Saved, and loaded as another one. */
static void save(int i)
{
    static MODC_ALIGNED char bytes[1 << 16];
    const struct mirror *m = &mirrors[i];
    size_t length = 0;
    int at = -7;
    enum modc_status status = modc_generator_save(&gen, i, NULL, 0, &length);

    if (!m->used) {
        CHECK(status == MODC_NAME);
        return;
    }
    CHECK(status == MODC_OK && length <= sizeof bytes);
    CHECK(modc_generator_save(&gen, i, bytes, length - 1, &length) == MODC_SIZE);
    CHECK_OK(modc_generator_save(&gen, i, bytes, length, &length));
    CHECK(modc_generator_load(&gen, bytes, (size_t)below((int)length), &at) == MODC_FORMAT);
    refuse_of_others(bytes, length);
    status = modc_generator_load(&gen, bytes, length, &at);
    if (m->length == 0 || used_count() == SEQUENCES) {
        CHECK(status == (m->length == 0 ? MODC_FORMAT : MODC_FULL));
        return;
    }
    CHECK(status == MODC_OK && !mirrors[at].used);
    mirrors[at] = *m;
    mirrors[at].active = false;
    mirrors[at].number = 0;
    mirrors[at].read = 0;
    mirrors[at].options = gen.options;
}

static void stop(int i)
{
    CHECK(modc_generator_stop(&gen, i) == (mirrors[i].used ? MODC_OK : MODC_NAME));
    mirrors[i].active = false;
}

/* ---- batches -------------------------------------------------------------------------------------------------------- */

enum { PROMPTS = 7, ANSWERS = 4, MOST_ROWS = PROMPTS * ANSWERS };

struct listening {
    int left; /* events until it stops a row; -1: never */
    int row;  /* which it stopped; -1: none */
    int events[MOST_ROWS];
    bool ended[MOST_ROWS];
};

static int listen(void *user, int row, const struct modc_event *event)
{
    struct listening *l = user;

    CHECK(row >= 0 && row < MOST_ROWS && !l->ended[row]);
    l->events[row] += event->token >= 0;
    l->ended[row] = event->finish != MODC_FINISH_NONE;
    if (l->left != 0 || l->row >= 0) {
        l->left -= l->left > 0;
        return 0;
    }
    l->row = row;
    l->ended[row] = true;
    return 1;
}

/* A row of a batch is what a sequence alone writes with its number. */
static void check_row(const int64_t *prompt, int count, const struct modc_generation_options *options,
                      int number, const int64_t *ids, int length, enum modc_finish finish, bool cut)
{
    struct mirror *m = &mirrors[0];
    enum modc_finish expected = MODC_FINISH_NONE;

    *m = (struct mirror){.used = true, .length = count, .prompt = count, .number = (uint64_t)number};
    m->options = *options;
    memcpy(m->ids, prompt, (size_t)count * sizeof *prompt);
    for (int i = 0; i < length || expected == MODC_FINISH_NONE; i++) {
        const int most = length_of(m) < CONTEXT ? length_of(m) : CONTEXT;
        const struct modc_history history = {
            .prompt = m->ids, .prompt_count = count, .ids = m->ids + count, .count = m->length - count};
        float logits[VOCABULARY];
        MODC_ALIGNED char scratch[MODC_SAMPLING_BYTES(VOCABULARY)], text[TEXT];
        struct modc_row row = {logits, VOCABULARY, scratch};
        int begin, end;
        int64_t id;
        enum modc_status status;

        if (cut && i == length) {
            expected = MODC_FINISH_USER;
            break;
        }
        if (m->length >= most) {
            expected = m->length >= CONTEXT ? MODC_FINISH_FULL : MODC_FINISH_LENGTH;
            CHECK(i == length);
            break;
        }
        CHECK(i <= length && expected == MODC_FINISH_NONE);
        logits_behind(m, m->length, logits);
        status = modc_next_token(&m->options, &history, most, m->number, &row, &id);
        if (status == MODC_NONFINITE) { /* all that could come is forbidden */
            expected = MODC_FINISH_FAULT;
            CHECK(i == length);
            break;
        }
        CHECK(status == MODC_OK && i < length && ids[i] == id);
        m->ids[m->length++] = id;
        if (find_stop(&m->options, text, text_of(m, m->length - count, text), &begin, &end))
            expected = MODC_FINISH_STOP;
        else if (modc_ids_have(modc_generation_eos(&m->options), id))
            expected = MODC_FINISH_EOS;
        else if (m->length >= most)
            expected = m->length >= length_of(m) ? MODC_FINISH_LENGTH : MODC_FINISH_FULL;
        if (cut && expected == MODC_FINISH_NONE && i + 1 == length)
            expected = MODC_FINISH_USER;
    }
    CHECK(finish == expected);
    *m = (struct mirror){.used = false};
}

/* With some sequences there that the caller holds. */
static void write_batch(void)
{
    int64_t ids[PROMPTS * CONTEXT], out_ids[MOST_ROWS * CONTEXT];
    int offsets[PROMPTS + 1] = {0}, lengths[MOST_ROWS];
    enum modc_finish finishes[MOST_ROWS];
    float log_probs[MOST_ROWS * CONTEXT], scores[MOST_ROWS];
    struct modc_generation_options options = some_options();
    struct listening listening = {.left = chance(40) ? below(12) : -1, .row = -1};
    struct modc_responses out = {out_ids, log_probs, lengths, finishes, scores, CONTEXT, 9};
    struct modc_prompts prompts = {.ids = ids, .offsets = offsets, .count = 1 + below(PROMPTS)};
    const int held = chance(70) ? 0 : chance(30) ? SEQUENCES : below(SEQUENCES);
    enum modc_status status;
    struct mirror *m = &mirrors[0];

    for (int i = 0; i < prompts.count; i++)
        offsets[i + 1] = offsets[i] + some_ids(ids + offsets[i], chance(80) ? 8 : CONTEXT - 1);
    if (chance(50) && modc_generation_samples(&options))
        options.num_return_sequences = 1 + below(ANSWERS);
    options.max_new_tokens = options.max_new_tokens < CONTEXT ? options.max_new_tokens : CONTEXT;
    for (int i = 0; i < held; i++) {
        struct modc_event events[SEQUENCES];
        int at, count;

        CHECK_OK(modc_generator_begin(&gen, ids, 1, NULL, 0, &at));
        if (i == 0) {
            CHECK(modc_generator_write(&gen, &prompts, &options, &out, NULL, NULL, NULL, 0) == MODC_BUSY);
            CHECK_OK(modc_generator_step(&gen, events, SEQUENCES, &count));
        }
        CHECK_OK(modc_generator_stop(&gen, at));
    }
    if (chance(20)) { /* what a call that fails leaves is what was there */
        calls_left = below(6);
        status = modc_generator_write(&gen, &prompts, &options, &out, NULL, NULL, NULL, 0);
        CHECK(status == MODC_HOOK_ERROR || calls_left >= 0);
        calls_left = -1;
        CHECK(modc_generator_active(&gen) == 0);
        for (int i = 0; i < SEQUENCES; i++)
            CHECK(gen.sequences[i].used == (i < held));
    }
    status = modc_generator_write(&gen, &prompts, &options, &out, listen, &listening, NULL, 0);
    if (held == SEQUENCES) {
        CHECK(status == MODC_FULL);
    } else {
        CHECK(status == MODC_OK);
        for (int row = 0; row < prompts.count * options.num_return_sequences; row++) {
            const int i = row / options.num_return_sequences;

            CHECK(listening.ended[row] && listening.events[row] == lengths[row]);
            check_row(ids + offsets[i], offsets[i + 1] - offsets[i], &options, row, out_ids + row * CONTEXT,
                      lengths[row], finishes[row], row == listening.row);
            for (int k = lengths[row]; k < CONTEXT; k++)
                CHECK(out_ids[row * CONTEXT + k] == 9 && log_probs[row * CONTEXT + k] == 0);
        }
    }
    for (int i = 0; i < SEQUENCES; i++)
        CHECK(gen.sequences[i].used == (i < held) &&
              modc_generator_end(&gen, i) == (i < held ? MODC_OK : MODC_NAME));
    *m = (struct mirror){.used = false};
}

static double now;

/* Each look at it takes a second. */
static double clock_of(void *user)
{
    (void)user;
    return now++;
}

/* Candidates of a reference's step that end their search: behind so many looks at the clock, or by a stop string within the last token. */
static void mark_stops(struct modc_beams *beams, struct mirror *m, int step)
{
    const struct modc_generation_options *o = beams->options;

    m->prompt = beams->start.prompt_count;
    m->options = *o;
    for (int i = 0; i < beams->candidate_count; i++) {
        struct modc_candidate *candidate = &beams->candidates[i];
        const int length = beams->length;
        char text[TEXT];

        if (o->max_time > 0 && (float)(step + 1) >= o->max_time)
            candidate->stops = true;
        if (length > 0)
            memcpy(m->ids + m->prompt, modc_beams_running(beams, candidate->parent).ids,
                   (size_t)length * sizeof *m->ids);
        m->ids[m->prompt + length] = candidate->token;

        const int before = text_of(m, length, text), after = text_of(m, length + 1, text);

        for (int k = 0; k < o->stop_count; k++) {
            const int bytes = (int)strlen(o->stop[k]);

            for (int end = before + 1; end <= after; end++)
                candidate->stops |= end >= bytes &&
                                    memcmp(text + end - bytes, o->stop[k], (size_t)bytes) == 0;
        }
    }
}

/* What a listener was told of responses. */
struct told {
    char texts[2 * MODC_MAX_BEAMS][TEXT];
    int bytes[2 * MODC_MAX_BEAMS], tokens[2 * MODC_MAX_BEAMS];
    enum modc_finish finishes[2 * MODC_MAX_BEAMS];
};

static int hear(void *user, int row, const struct modc_event *event)
{
    struct told *told = user;

    CHECK(told->finishes[row] == MODC_FINISH_NONE);
    memcpy(told->texts[row] + told->bytes[row], event->text != NULL ? event->text : "", (size_t)event->bytes);
    told->bytes[row] += event->bytes;
    told->tokens[row] += event->token >= 0;
    told->finishes[row] = event->finish;
    return 0;
}

/* A response was told whole, up to its stop string. */
static void check_told(const struct told *told, struct mirror *m, int row, int count, enum modc_finish finish)
{
    char text[TEXT];
    int bytes = text_of(m, count, text), begin, end;
    const int length = m->prompt + count;
    enum modc_finish expected = MODC_FINISH_LENGTH;

    if (count > 0 && modc_ids_have(modc_generation_eos(&m->options), m->ids[length - 1]))
        expected = MODC_FINISH_EOS;
    else if (count > 0 && length < length_of(m))
        expected = length < CONTEXT ? MODC_FINISH_TIME : MODC_FINISH_FULL;
    if (find_stop(&m->options, text, bytes, &begin, &end)) {
        expected = MODC_FINISH_STOP;
        bytes = m->options.include_stop_str_in_output ? end : begin;
    }
    CHECK(finish == expected && told->finishes[row] == finish && told->tokens[row] == count);
    CHECK(told->bytes[row] == bytes && memcmp(told->texts[row], text, (size_t)bytes) == 0);
}

/* Beams of a prompt by rows of the reference. */
static void write_beams(void)
{
    enum { WIDTH = 4 };
    int64_t ids[2 * CONTEXT], out_ids[2 * WIDTH * CONTEXT];
    int offsets[3] = {0}, lengths[2 * WIDTH];
    enum modc_finish finishes[2 * WIDTH];
    float log_probs[2 * WIDTH * CONTEXT], scores[2 * WIDTH];
    struct modc_responses out = {out_ids, log_probs, lengths, finishes, scores, CONTEXT, 9};
    struct modc_prompts prompts = {.ids = ids, .offsets = offsets, .count = 2};
    struct modc_generation_options options;
    static MODC_ALIGNED char memory[1 << 16], own[1 << 16];
    static struct told told;

    modc_generation_defaults(&options);
    options.max_new_tokens = 1 + below(12);
    options.num_beams = 2 + below(WIDTH - 1);
    options.num_return_sequences = 1 + below(options.num_beams);
    options.length_penalty = (float)below(3);
    options.early_stopping = (enum modc_early_stopping)below(3);
    options.eos_token_id = (struct modc_ids){letters + below(5), 1 + below(2)};
    options.no_repeat_ngram_size = chance(30) ? 2 : 0;
    options.stop_count = chance(50) ? 1 + below(3) : 0;
    options.stop = stops + below(8 - options.stop_count + 1);
    options.include_stop_str_in_output = chance(30);
    options.max_time = chance(20) ? (float)(1 + below(6)) : 0;
    gen.clock = clock_of;
    for (int i = 0; i < 2; i++)
        offsets[i + 1] = offsets[i] + some_ids(ids + offsets[i], chance(80) ? 10 : CONTEXT - 1);
    if (chance(20)) {
        calls_left = below(6);
        CHECK(modc_generator_write(&gen, &prompts, &options, &out, NULL, NULL, memory, sizeof memory) ==
                  MODC_HOOK_ERROR ||
              calls_left >= 0);
        calls_left = -1;
        check_state();
    }
    CHECK(modc_generator_write(&gen, &prompts, &options, &out, NULL, NULL, memory, 64) == MODC_WORKSPACE);
    check_state();
    memset(&told, 0, sizeof told);
    CHECK_OK(modc_generator_write(&gen, &prompts, &options, &out, hear, &told, memory, sizeof memory));
    check_state();
    gen.clock = NULL;
    for (int i = 0; i < 2; i++) {
        const int count = offsets[i + 1] - offsets[i];
        const struct modc_history history = {.prompt = ids + offsets[i], .prompt_count = count};
        const int most = modc_generation_length(&options, count);
        struct modc_beams beams;
        float rows[WIDTH][VOCABULARY], *pointers[WIDTH];
        struct mirror *m = &mirrors[0];

        CHECK_OK(modc_beams_begin(&beams, &options, &history, most < CONTEXT ? most : CONTEXT, VOCABULARY,
                                  (uint64_t)i, own, sizeof own));
        memcpy(m->ids, ids + offsets[i], (size_t)count * sizeof *ids);
        while (beams.goes_on) {
            for (int w = 0; w < options.num_beams; w++) {
                const struct modc_ids behind = beams.length > 0 ? modc_beams_running(&beams, w)
                                                                : (struct modc_ids){NULL, 0};

                if (behind.count > 0)
                    memcpy(m->ids + count, behind.ids, (size_t)behind.count * sizeof *ids);
                m->read = 0;
                logits_behind(m, count + behind.count, rows[w]);
                pointers[w] = rows[w];
            }
            CHECK_OK(modc_beams_propose(&beams, pointers));
            mark_stops(&beams, m, beams.length);
            modc_beams_advance(&beams);
        }
        for (int k = 0; k < options.num_return_sequences; k++) {
            const int row = i * options.num_return_sequences + k;
            struct modc_ids found = {NULL, 0};
            float score = 0;

            modc_beams_result(&beams, k, &found, &score);
            CHECK(found.count == lengths[row] && fabsf(score - scores[row]) < 1e-4f);
            for (int j = 0; j < found.count; j++) {
                float logits[VOCABULARY];

                CHECK(found.ids[j] == out_ids[row * CONTEXT + j]);
                m->ids[count + j] = found.ids[j];
                m->read = 0;
                logits_behind(m, count + j, logits);
                CHECK(fabsf(log_probs[row * CONTEXT + j] - log_prob_of(logits, found.ids[j])) < 1e-4f);
            }
            check_told(&told, m, row, found.count, finishes[row]);
        }
        *m = (struct mirror){.used = false};
    }
}

/* ---- what is refused ------------------------------------------------------------------------------------------------ */

/* Of a context that writes. */
static size_t workspace_needed(void)
{
    const struct modc_entry *entry = &kind.table->model->entries[kind.table->entry];

    return entry->workspace[0] +
           (kind.table->model->device != NULL ? kind.table->model->device->generation->room(entry) : 0);
}

static void test_refused(void)
{
    static const char long_stop[] =
        "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc"
        "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc";
    const char *const texts[] = {long_stop};
    int64_t ids[CONTEXT + 1] = {3, 4, 5};
    struct modc_generation_options options;
    struct modc_event events[SEQUENCES];
    struct modc_generator other;
    const size_t workspace = kind.net->workspace_bytes;
    int at, count;

    CHECK(modc_generator_init(NULL, kind.table, kind.net, kind.block, kind.bytes) == MODC_POINTER);
    CHECK(modc_generator_init(&other, kind.table, kind.net, NULL, kind.bytes) == MODC_POINTER);
    CHECK(modc_generator_init(&other, kind.table, kind.net, (char *)kind.block + 4, kind.bytes - 4) ==
          MODC_ALIGNMENT);
    CHECK(modc_generator_init(&other, kind.table, kind.net, kind.block, kind.bytes - 1) == MODC_WORKSPACE);
    kind.net->workspace_bytes = workspace_needed() - 1;
    CHECK(modc_generator_init(&other, kind.table, kind.net, kind.block, kind.bytes) == MODC_WORKSPACE);
    kind.net->workspace_bytes = workspace;
    CHECK(modc_generator_begin(&gen, NULL, 1, NULL, 0, &at) == MODC_POINTER);
    CHECK(modc_generator_begin(&gen, ids, 1, NULL, 0, NULL) == MODC_POINTER);
    CHECK(modc_generator_begin(&gen, ids, 0, NULL, 0, &at) == MODC_SIZE);
    CHECK(modc_generator_begin(&gen, ids, CONTEXT + 1, NULL, 0, &at) == MODC_SIZE);
    ids[1] = VOCABULARY;
    CHECK(modc_generator_begin(&gen, ids, 2, NULL, 0, &at) == MODC_INDEX);
    ids[1] = -1;
    CHECK(modc_generator_begin(&gen, ids, 2, NULL, 0, &at) == MODC_INDEX);
    ids[1] = 4;
    modc_generation_defaults(&options);
    options.top_p = 2;
    CHECK(modc_generator_begin(&gen, ids, 2, &options, 0, &at) == MODC_ARGUMENT &&
          strstr(gen.message, "top_p") != NULL);
    modc_generation_defaults(&options);
    options.stop = texts;
    options.stop_count = 1;
    CHECK(modc_generator_begin(&gen, ids, 2, &options, 0, &at) == MODC_ARGUMENT &&
          strstr(gen.message, "128") != NULL);
    modc_generation_defaults(&options);
    options.max_time = 3;
    CHECK(modc_generator_begin(&gen, ids, 2, &options, 0, &at) == MODC_ARGUMENT &&
          strstr(gen.message, "clock") != NULL);
    gen.clock = clock_of;
    options.max_new_tokens = 20;
    CHECK_OK(modc_generator_begin(&gen, ids, 2, &options, 0, &at));
    for (int i = 0; i < 3; i++)
        CHECK(modc_generator_step(&gen, events, SEQUENCES, &count) == MODC_OK && count == 1 &&
              events[0].finish == (i < 2 ? MODC_FINISH_NONE : MODC_FINISH_TIME));
    CHECK_OK(modc_generator_end(&gen, at));
    gen.clock = NULL;
    CHECK(modc_generator_keep(&gen, SEQUENCES, 0) == MODC_NAME && modc_generator_end(&gen, -1) == MODC_NAME);
    CHECK(modc_generator_ids(&gen, 0, NULL, NULL) == NULL &&
          modc_generator_log_probs(&gen, SEQUENCES) == NULL);
    CHECK_OK(modc_generator_begin(&gen, ids, 2, NULL, 0, &at));
    CHECK(modc_generator_encode(&gen, at, ids, 2) == MODC_UNSUPPORTED);
    CHECK_OK(modc_generator_end(&gen, at));
}

/* A sequence between others: their last response is written by what has read the prompt, where no other is free. */
static void test_lent(void)
{
    int64_t ids[] = {3, 4, 5, 6, 3, 9}, out_ids[3 * CONTEXT];
    int lengths[3];
    enum modc_finish finishes[3];
    struct modc_responses out = {out_ids, NULL, lengths, finishes, NULL, CONTEXT, 0};
    const struct modc_prompts prompts = {.ids = ids, .count = 6};
    struct modc_generation_options options;

    modc_generation_defaults(&options);
    options.max_new_tokens = 9;
    options.temperature = 1;
    options.num_return_sequences = 3;
    for (int i = 0; i < SEQUENCES - 1; i++) {
        int at;

        CHECK_OK(modc_generator_read(&gen, ids, 1, &at));
        CHECK_OK(modc_generator_stop(&gen, at));
    }
    CHECK_OK(modc_generator_write(&gen, &prompts, &options, &out, NULL, NULL, NULL, 0));
    for (int i = 0; i < SEQUENCES - 1; i++)
        CHECK_OK(modc_generator_end(&gen, i));
    for (int row = 0; row < 3; row++)
        check_row(ids, 6, &options, row, out_ids + row * CONTEXT, lengths[row], finishes[row], false);
    check_state();
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

/* A fork and what it came from write in the same steps, from the first one on. */
static void test_forks(void)
{
    int64_t ids[] = {3, 4, 5};
    struct modc_generation_options options;
    struct modc_event events[SEQUENCES];
    int first, other, count;

    modc_generation_defaults(&options);
    options.max_new_tokens = 9;
    for (int steps = 0; steps < 3; steps++) {
        CHECK_OK(modc_generator_begin(&gen, ids, 1 + steps, &options, 0, &first));
        for (int i = 0; i < steps; i++)
            CHECK(modc_generator_step(&gen, events, SEQUENCES, &count) == MODC_OK);
        CHECK_OK(modc_generator_fork(&gen, first, 1, &other));
        for (int i = 0; i < 3; i++) {
            const int lengths[] = {gen.sequences[first].length, gen.sequences[other].length};

            CHECK(modc_generator_step(&gen, events, SEQUENCES, &count) == MODC_OK);
            CHECK(gen.sequences[first].length - lengths[0] == gen.sequences[other].length - lengths[1]);
            CHECK(gen.sequences[first].length == gen.sequences[other].length &&
                  gen.sequences[first].done > 0);
        }
        CHECK_OK(modc_generator_end(&gen, first));
        CHECK_OK(modc_generator_end(&gen, other));
    }
}

static void run(struct kind made, uint64_t seed, int rounds)
{
    struct modc_hook failing[] = {{.call = fail_at_last}, {.call = fail_at_last}},
                     idle = {.call = do_nothing};

    kind = made;
    state = seed;
    memset(mirrors, 0, sizeof mirrors);
    memset(kind.block, 0xa5, kind.bytes);
    CHECK_OK(modc_generator_init(&gen, kind.table, kind.net, kind.block, kind.bytes));
    for (int i = 0; i < 2; i++)
        CHECK_OK(modc_register_forward_hook(kind.net, kind.modules[i], &failing[i], 0));
    CHECK_OK(modc_register_forward_hook(kind.plain, kind.modules[1], &idle,
                                        0)); /* so that both run the same kernels */
    test_refused();
    test_lent();
    test_forks();
    for (int round = 0; round < rounds; round++) {
        const int what = below(100), i = below(SEQUENCES);

        if (what < 55)
            step();
        else if (what < 67)
            begin(chance(20));
        else if (what < 75)
            extend(i);
        else if (what < 82)
            fork_it(i);
        else if (what < 87)
            keep(i);
        else if (what < 90)
            stop(i);
        else if (what < 93)
            save(i);
        else if (what < 97)
            end_it(i);
        else
            score();
        check_state();
        if (round % 40 == 39) {
            for (int k = 0; k < SEQUENCES; k++)
                end_it(k);
            check_state();
            for (int k = 0; k < SEQUENCES * 10; k++)
                CHECK(gen.owners[k] == 0);
            for (int k = 0; k < 2; k++)
                write_batch();
            write_beams();
        }
    }
    modc_hook_remove(&idle);
    for (int i = 0; i < 2; i++)
        modc_hook_remove(&failing[i]);
    end_on_device(&kind);
}

int main(int argc, char **argv)
{
    const bool device = writer_model.device != NULL;
    const int first = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : device ? 1 : 6;
    const int rounds = device ? 45 : 1200;

    for (int seed = first; seed < first + count; seed++) {
        run(seed % 3 == 0 ? make_keeper((uint64_t)seed) : make_writer((uint64_t)seed), (uint64_t)seed,
            rounds);
        run(make_runner((uint64_t)seed), (uint64_t)seed, rounds);
    }
    return 0;
}
