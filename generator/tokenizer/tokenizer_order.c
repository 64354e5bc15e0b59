/* tokenizer_order.c - tokens sorted by what they are behind others: note [order] in modc_grammar.h. */
#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "modc_tokenizer.h"

enum { LONGEST = 255 };

struct piece {
    const uint8_t *bytes;
    int count;
    uint32_t id;
};

static int compare(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    const int less = x->count < y->count ? x->count : y->count;
    const int order = memcmp(x->bytes, y->bytes, (size_t)less);

    if (order != 0)
        return order;
    if (x->count != y->count)
        return x->count - y->count;
    return x->id < y->id ? -1 : x->id > y->id;
}

static struct piece *pieces_of(struct cx *cx, const struct modc_tokenizer *t, int *count)
{
    struct piece *pieces = NULL;

    *count = 0;
    for (int id = 0; id < t->vocabulary; id++) {
        struct modc_decoder decoder;
        char bytes[LONGEST];
        size_t length;

        modc_decoder_init(&decoder, t, MODC_RAW_BYTES);
        decoder.begun = true;
        decoder.stripped = t->decode_strip_count;
        if (modc_decoder_push(&decoder, id, bytes, sizeof bytes, &length) != MODC_OK || length == 0)
            continue;
        const struct piece piece = {(const uint8_t *)arena_copy(&cx->arena, bytes, length), (int)length,
                                    (uint32_t)id};
        ARENA_PUSH(&cx->arena, pieces, *count, piece);
    }
    if (*count > 0)
        qsort(pieces, (size_t)*count, sizeof *pieces, compare);
    return pieces;
}

const struct tokenizer *tokenizer_sorted(struct cx *cx, const struct tokenizer *tokenizer)
{
    struct tokenizer *own = ARENA_NEW(&cx->arena, struct tokenizer);
    struct modc_tokenizer *table = ARENA_NEW(&cx->arena, struct modc_tokenizer);
    struct modc_token_order *order = ARENA_NEW(&cx->arena, struct modc_token_order);
    const struct piece *pieces = pieces_of(cx, tokenizer->table, &order->count);
    uint32_t *ids = ARENA_ARRAY(&cx->arena, order->count, uint32_t);
    uint8_t *shared = ARENA_ARRAY(&cx->arena, order->count, uint8_t);
    uint8_t *more = ARENA_ARRAY(&cx->arena, order->count, uint8_t), *bytes = NULL;

    *own = *tokenizer;
    *table = *tokenizer->table;
    own->table = table;
    own->order_bytes = 0;
    for (int i = 0; i < order->count; i++) {
        int same = 0;

        while (i > 0 && same < pieces[i].count && same < pieces[i - 1].count &&
               pieces[i].bytes[same] == pieces[i - 1].bytes[same])
            same++;
        ids[i] = pieces[i].id;
        shared[i] = (uint8_t)same;
        more[i] = (uint8_t)(pieces[i].count - same);
        for (int k = same; k < pieces[i].count; k++)
            ARENA_PUSH(&cx->arena, bytes, own->order_bytes, pieces[i].bytes[k]);
    }
    order->ids = ids;
    order->shared = shared;
    order->more = more;
    order->bytes = bytes;
    table->order = order->count > 0 ? order : NULL;
    return own;
}
