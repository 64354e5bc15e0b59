/* modc_places.h - sorting for the runtime's own files, which allocate nothing.
 *
 * Note [sorting without memory]: a batch takes the smallest MODC_BATCH places that are larger than the last one of the batch
 * before, in one pass over all of them. n places are walked in order in n / MODC_BATCH + 1 passes. Who has memory sorts in it:
 * modc_reader_open_indexed. */
#ifndef MODC_PLACES_H
#define MODC_PLACES_H

#include "modc_device.h"

enum { MODC_BATCH = MODC_SMALL ? 24 : 512 };

struct modc_batch {
    struct modc_place places[MODC_BATCH];
    int count;
    bool started;
    struct modc_place last;
};

static inline bool modc_place_less(const struct modc_place *a, const struct modc_place *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    if (a->second != b->second)
        return a->second < b->second;
    return a->at < b->at;
}

static inline void modc_batch_start(struct modc_batch *batch)
{
    batch->count = 0;
    batch->started = false;
    batch->last.first = batch->last.second = batch->last.at = 0;
}

/* Before the next pass; the one before found something. */
static inline void modc_batch_next(struct modc_batch *batch)
{
    batch->started = true;
    batch->last = batch->places[batch->count - 1];
    batch->count = 0;
}

static inline void modc_batch_offer(struct modc_batch *batch, struct modc_place place)
{
    if (batch->started && !modc_place_less(&batch->last, &place))
        return;

    int i = batch->count;

    if (batch->count == MODC_BATCH) {
        if (!modc_place_less(&place, &batch->places[MODC_BATCH - 1]))
            return;
        i--;
    } else {
        batch->count++;
    }
    for (; i > 0 && modc_place_less(&place, &batch->places[i - 1]); i--)
        batch->places[i] = batch->places[i - 1];
    batch->places[i] = place;
}

#endif
