/* storage.h - as what weights are packed that are computed with in float32: floats of 16 bits, or integers with scales. */
#ifndef MODC_STORAGE_H
#define MODC_STORAGE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"

/* note [storage]
 * The weight of a product has a row for each of its outputs. As floats each element is rounded by itself. As integers, `group` of a
 * row, one behind the other, are multiples of one scale, each of the nearest: note [scaled panels] in modc_simd_scalar.h has the
 * formulas and where everything lies. A bfloat16 of 12 bits is the same number, whose sign and exponent are a code: note [coded
 * panels] there. It is so in panels alone; rows are of bfloat16. */
enum { STORAGE_LEAST_GROUP = 8, STORAGE_MOST_GROUP = 4096, STORAGE_CODED_BITS = 12 };

struct storage {
    const char *name; /* "int4"; what is left out of it is the table's */
    enum dtype dtype; /* of what holds it; of integers int8, a byte */
    int bits;         /* of an element */
    int group;        /* elements that share a scale; 0: all of a row */
    enum dtype scale; /* of a scale, of integers */
    bool gguf;        /* rounded as in GGUF files, else as torchao does */
    bool
        dynamic; /* multiplied with rows that are rounded to int8, too: note [rows in int8] in modc_simd_dot.h */
};

/* By name, as it is where nothing else is said; NULL: there is none. */
const struct storage *storage_find(const char *name);

/* In order; NULL behind the last. */
const struct storage *storage_kind(int index);

static inline bool storage_is_scaled(const struct storage *storage)
{
    return storage && storage->scale != storage->dtype;
}

/* Whether panels have it in bytes of their own order, not as an array of its type. */
static inline bool storage_is_coded(const struct storage *storage)
{
    return storage && storage->bits == STORAGE_CODED_BITS;
}

static inline bool storage_in_bytes(const struct storage *storage)
{
    return storage_is_scaled(storage) || storage_is_coded(storage);
}

/* The same numbers as an array of their type. */
const struct storage *storage_plain(const struct storage *storage);

bool storage_equal(const struct storage *a, const struct storage *b); /* NULL: as it is computed with */

/* Whether one's integers and scales are the other's, whatever rows they are multiplied with. */
bool storage_holds(const struct storage *a, const struct storage *b);

/* The type of scales where nothing else is said: of groups float16, of whole rows float32. */
enum dtype storage_scale(int group);

/* As specs have it: "int4(group=32)". */
const char *storage_text(struct arena *arena, const struct storage *storage);

/* The reverse, as strictly: false where storage_text has no such text. The name is the table's. */
bool storage_parse(const char *text, struct storage *storage);

/* What kernels that read it are called: "int4_64". */
const char *storage_word(struct arena *arena, const struct storage *storage);

/* Steps in K that lie together, of one row, in scaled panels. */
int storage_steps(const struct storage *storage);

/* Of scaled panels over k steps: elements that share a scale, bytes in front of the elements, those of coded ones too, and of all. */
int64_t storage_group(const struct storage *storage, int64_t k);
int64_t storage_groups(const struct storage *storage, int64_t k); /* scales of a row */
int64_t storage_head(const struct storage *storage, int64_t k);
int64_t storage_panel(const struct storage *storage, int64_t k);

/* Of n rows and k steps, in scaled or coded panels. */
int64_t storage_panels(const struct storage *storage, int64_t n, int64_t k);

/* Of scaled rows over k steps: bytes of the integers of one, and of n rows with their scales. */
int64_t storage_row_bytes(const struct storage *storage, int64_t k);
int64_t storage_rows(const struct storage *storage, int64_t n, int64_t k);

/* And of a row in int8 that these are multiplied with. */
int64_t storage_rounded(int64_t k);

/* Of rows in int8 that these are multiplied with: elements that are summed up by themselves, bytes of a row. */
int64_t storage_part(const struct storage *storage, int64_t k);
int64_t storage_first(const struct storage *storage, int64_t k); /* bytes of it in front of its integers */
int64_t storage_row(const struct storage *storage, int64_t k);

#endif
