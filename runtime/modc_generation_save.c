/* modc_generation_save.c - sequences as bytes: their tokens, and what the model keeps of them; see modc_generation.h. */
#include "modc_generation_parts.h"

#include <string.h>

/* In front of the ids, what is kept of each token by each cache, and each memory. Little-endian, as machines are that models run on. */
struct head {
    char magic[8];
    uint64_t schema; /* schema_of */
    int32_t length, done, prompt, caches;
    uint64_t bytes; /* of all */
};

static const char magic[8] = "modcseq";

/* Bytes that a cache has of a token, or a memory of a sequence. */
static size_t bytes_of(const struct modc_generation *table, int state, int rows)
{
    return modc_key_bytes(&table->model->states[state]) / (size_t)rows;
}

static int tokens_of_all(const struct modc_generation *table)
{
    return table->sequences * table->per * table->page;
}

/* Of the model's keys, and of how it keeps rows: others keep other things. */
static uint64_t schema_of(const struct modc_generation *table)
{
    uint64_t schema = table->model->schema;

    for (int i = 0; i < table->cache_count + table->memory_count; i++) {
        const bool cache = i < table->cache_count;
        const struct modc_key *key =
            &table->model->states[cache ? table->caches[i] : table->memories[i - table->cache_count]];

        schema = (schema ^ (uint64_t)key->dtype) * 1099511628211u;
        for (int axis = 1; axis < key->ndim; axis++)
            schema = (schema ^ (uint64_t)key->dims[axis]) * 1099511628211u;
    }
    return schema;
}

static size_t bytes_of_sequence(const struct modc_generation *table, int length, int done)
{
    size_t bytes = sizeof(struct head) + (size_t)length * sizeof(int64_t);

    for (int i = 0; i < table->cache_count; i++)
        bytes += (size_t)done * bytes_of(table, table->caches[i], tokens_of_all(table));
    for (int i = 0; i < table->memory_count; i++)
        bytes += bytes_of(table, table->memories[i], table->sequences);
    return bytes;
}

/* Starts copies of what is kept of the sequence out of the model, or into it. */
static enum modc_status start_copies(const struct modc_generator *gen, int sequence, int done, char *bytes,
                                     bool out)
{
    const struct modc_generation *table = gen->table;
    const int64_t *pages = gen->pages + (size_t)sequence * (size_t)table->per;

    for (int i = 0; i < table->cache_count; i++) {
        const size_t each = bytes_of(table, table->caches[i], tokens_of_all(table));
        char *cache = modc_state(gen->net, table->caches[i]);

        for (int at = 0; at < done; at += table->page) {
            const size_t some = each * (size_t)(done - at < table->page ? done - at : table->page);
            char *page = cache + (size_t)pages[at / table->page] * (size_t)table->page * each;

            MODC_TRY(gen->machine->transfer(gen->net, out ? bytes : page, out ? page : bytes, some));
            bytes += some;
        }
    }
    for (int i = 0; i < table->memory_count; i++) {
        const size_t each = bytes_of(table, table->memories[i], table->sequences);
        char *memory = (char *)modc_state(gen->net, table->memories[i]) + (size_t)sequence * each;

        MODC_TRY(gen->machine->transfer(gen->net, out ? bytes : memory, out ? memory : bytes, each));
        bytes += each;
    }
    return MODC_OK;
}

/* The bytes are the caller's again when it returns. */
static enum modc_status copy_kept(const struct modc_generator *gen, int sequence, int done, char *bytes,
                                  bool out)
{
    const enum modc_status started = start_copies(gen, sequence, done, bytes, out),
                           waited = gen->machine->wait(gen->net);

    return started != MODC_OK ? started : waited;
}

enum modc_status modc_generator_save(const struct modc_generator *gen, int sequence, void *out, size_t room,
                                     size_t *length)
{
    const struct modc_sequence *s;
    struct head head = {.caches = 0};
    char *at = out;

    if (gen == NULL || gen->table == NULL || length == NULL)
        return MODC_POINTER;
    if (sequence < 0 || sequence >= gen->table->sequences || !gen->sequences[sequence].used)
        return MODC_NAME;
    s = &gen->sequences[sequence];
    *length = bytes_of_sequence(gen->table, s->length, s->done);
    if (out == NULL)
        return MODC_OK;
    if (room < *length)
        return MODC_SIZE;
    memcpy(head.magic, magic, sizeof magic);
    head.schema = schema_of(gen->table);
    head.length = s->length;
    head.done = s->done;
    head.prompt = s->prompt;
    head.caches = gen->table->cache_count;
    head.bytes = *length;
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    memcpy(at, modc_ids_of(gen, sequence), (size_t)s->length * sizeof(int64_t));
    return copy_kept(gen, sequence, s->done, at + (size_t)s->length * sizeof(int64_t), true);
}

enum modc_status modc_generator_load(struct modc_generator *gen, const void *bytes, size_t length,
                                     int *sequence)
{
    const char *at = bytes;
    struct head head;
    enum modc_status status;
    int64_t first;
    int paged = 0;

    if (gen == NULL || gen->table == NULL || bytes == NULL || sequence == NULL)
        return MODC_POINTER;
    if (length < sizeof head)
        return MODC_FORMAT;
    memcpy(&head, at, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.bytes != length)
        return MODC_FORMAT;
    if (head.schema != schema_of(gen->table) || head.caches != gen->table->cache_count)
        return MODC_KEYS;
    if (head.length < 1 || head.length > gen->table->context || head.done < 0 || head.done > head.length ||
        head.prompt < 0 || head.prompt > head.length)
        return MODC_FORMAT;
    if (bytes_of_sequence(gen->table, head.length, head.done) != length)
        return MODC_KEYS;
    at += sizeof head;
    for (int i = 0; i < head.length; i++) {
        memcpy(&first, at + (size_t)i * sizeof first, sizeof first);
        if (first < 0 || first >= gen->table->vocabulary)
            return MODC_INDEX;
    }
    memcpy(&first, at, sizeof first);
    status = modc_generator_begin(gen, &first, 1, NULL, 0, sequence);
    if (status != MODC_OK)
        return status;

    struct modc_sequence *s = &gen->sequences[*sequence];

    s->active = 0;
    status = modc_need_pages(gen, *sequence, 0, head.done, &paged);
    if (status == MODC_OK && paged < head.done)
        status = MODC_FULL;
    if (status == MODC_OK)
        status = copy_kept(gen, *sequence, head.done,
                           (char *)(uintptr_t)at + (size_t)head.length * sizeof(int64_t), false);
    if (status != MODC_OK) {
        modc_generator_end(gen, *sequence);
        return status;
    }
    memcpy(modc_ids_of(gen, *sequence), at, (size_t)head.length * sizeof(int64_t));
    memset(gen->log_probs + (size_t)*sequence * (size_t)gen->table->context, 0,
           (size_t)head.length * sizeof(float));
    s->length = head.length;
    s->done = head.done;
    s->prompt = head.prompt;
    return MODC_OK;
}
