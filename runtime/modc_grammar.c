/* modc_grammar.c - tokens against an automaton of bytes; see modc_grammar.h. */
#include "modc_grammar.h"

#include <math.h>
#include <string.h>

/* ---- where a sequence stands: note [grammars] --------------------------------------------------------------------- */

enum { BEGUN = 1 << 16, STRIPPED = 17, MOST_STRIPPED = 0x7fff };

static int state_of(uint32_t place)
{
    return (int)(place & 0xffff);
}

static struct modc_decoder decoder_of(const struct modc_tokenizer *t, uint32_t place)
{
    struct modc_decoder decoder;

    modc_decoder_init(&decoder, t, MODC_RAW_BYTES);
    decoder.begun = (place & BEGUN) != 0;
    decoder.stripped = (int)(place >> STRIPPED);
    return decoder;
}

static uint32_t place_of(int state, const struct modc_decoder *decoder)
{
    const int stripped = decoder->stripped < MOST_STRIPPED ? decoder->stripped : MOST_STRIPPED;

    return (uint32_t)state | (decoder->begun ? (uint32_t)BEGUN : 0) | (uint32_t)stripped << STRIPPED;
}

/* Tokens decode here as they do behind any others. */
static bool is_within(const struct modc_tokenizer *t, uint32_t place)
{
    const bool asks = t->decode_prefix != NULL || t->decode_join != NULL ||
                      (t->decode_mark != NULL && t->decode_mark_first);

    return t->decode_bytes ||
           (((place & BEGUN) != 0 || !asks) && (int)(place >> STRIPPED) >= t->decode_strip_count);
}

/* ---- one token ----------------------------------------------------------------------------------------------------- */

static int walk(const struct modc_grammar *g, int state, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count && state != 0; i++)
        state = g->next[state * g->classes + g->class_of[(unsigned char)bytes[i]]];
    return state;
}

/* Behind the token; 0: it does not go on. *adds: it has text, or changes how the next one decodes. */
static uint32_t try_token(const struct modc_grammar *g, uint32_t place, int64_t id, bool *adds)
{
    struct modc_decoder decoder = decoder_of(g->tokenizer, place);
    char bytes[MODC_GRAMMAR_TOKEN];
    size_t count = 0;
    uint32_t after;
    int state;

    if (modc_decoder_push(&decoder, id, bytes, sizeof bytes, &count) != MODC_OK)
        return 0;
    state = walk(g, state_of(place), bytes, count);
    if (state == 0)
        return 0;
    after = place_of(state, &decoder);
    *adds = count > 0 || after != place;
    return after;
}

uint32_t modc_grammar_advance(const struct modc_grammar *grammar, uint32_t state, int64_t id)
{
    bool adds;

    return state_of(state) != 0 ? try_token(grammar, state, id, &adds) : 0;
}

uint32_t modc_grammar_state(const struct modc_grammar *grammar, const struct modc_history *history)
{
    uint32_t state = MODC_GRAMMAR_BEGIN;

    for (int i = 0; i < history->count && state != 0; i++)
        state = modc_grammar_advance(grammar, state, history->ids[i]);
    return state;
}

bool modc_grammar_ends(const struct modc_grammar *grammar, uint32_t state)
{
    return (grammar->flags[state_of(state)] & MODC_GRAMMAR_ENDS) != 0;
}

/* ---- all tokens ---------------------------------------------------------------------------------------------------- */

static bool is_open(const struct modc_grammar *g, int state)
{
    return (g->flags[state] & MODC_GRAMMAR_OPEN) != 0;
}

static int try_all(const struct modc_grammar *g, uint32_t place, int vocabulary, uint32_t *bits)
{
    int found = 0;

    for (int id = 0; id < vocabulary; id++) {
        bool adds = false;
        const uint32_t after = try_token(g, place, id, &adds);

        if (after == 0 || !adds || !is_open(g, state_of(after)))
            continue;
        bits[id / 32] |= (uint32_t)1 << (id % 32);
        found++;
    }
    return found;
}

/* note [order] */
static int try_order(const struct modc_grammar *g, int state, int vocabulary, uint32_t *bits)
{
    const struct modc_token_order *order = g->tokenizer->order;
    const uint8_t *at = order->bytes;
    uint16_t states[MODC_GRAMMAR_TOKEN + 1];
    int failed = MODC_GRAMMAR_TOKEN, found = 0; /* at this byte the last one that was looked at failed */

    states[0] = (uint16_t)state;
    for (int i = 0; i < order->count; i++) {
        const int shared = order->shared[i], more = order->more[i];
        const uint8_t *bytes = at;
        int now;

        at += more;
        if (shared > failed)
            continue;
        now = states[shared];
        failed = MODC_GRAMMAR_TOKEN;
        for (int j = 0; j < more; j++) {
            now = g->next[now * g->classes + g->class_of[bytes[j]]];
            if (now == 0) {
                failed = shared + j;
                break;
            }
            states[shared + j + 1] = (uint16_t)now;
        }
        if (now == 0 || !is_open(g, now) || order->ids[i] >= (uint32_t)vocabulary)
            continue;
        bits[order->ids[i] / 32] |= (uint32_t)1 << (order->ids[i] % 32);
        found++;
    }
    return found;
}

int modc_grammar_tokens(const struct modc_grammar *grammar, uint32_t state, int vocabulary, uint32_t *bits)
{
    const struct modc_tokenizer *t = grammar->tokenizer;
    const int known = vocabulary < t->vocabulary ? vocabulary : t->vocabulary;

    memset(bits, 0, ((size_t)vocabulary + 31) / 32 * sizeof *bits);
    if (state_of(state) == 0)
        return 0;
    if (t->order != NULL && is_within(t, state))
        return try_order(grammar, state_of(state), known, bits);
    return try_all(grammar, state, known, bits);
}

/* ---- a row --------------------------------------------------------------------------------------------------------- */

static bool has_bit(const uint32_t *bits, int64_t id)
{
    return (bits[id / 32] >> (id % 32) & 1) != 0;
}

void modc_grammar_mask(const struct modc_grammar *grammar, uint32_t state, struct modc_ids eos,
                       struct modc_row *row)
{
    uint32_t *bits = (uint32_t *)row->scratch;
    int found = modc_grammar_tokens(grammar, state, row->vocabulary, bits);
    const bool ends = modc_grammar_ends(grammar, state);
    bool scored = false;

    for (int i = 0; i < eos.count; i++) {
        const int64_t id = eos.ids[i];

        if (id < 0 || id >= row->vocabulary)
            continue;
        if (has_bit(bits, id)) {
            bits[id / 32] &= ~((uint32_t)1 << (id % 32));
            found--;
        }
        scored |= row->scores[id] > -INFINITY;
    }
    for (int i = 0; i < eos.count && ends; i++) {
        const int64_t id = eos.ids[i];

        if (id < 0 || id >= row->vocabulary)
            continue;
        bits[id / 32] |= (uint32_t)1 << (id % 32);
        if (found == 0 && !scored)
            row->scores[id] = 0;
    }
    for (int i = 0; i < row->vocabulary; i++)
        row->scores[i] = has_bit(bits, i) ? row->scores[i] : -INFINITY;
}
