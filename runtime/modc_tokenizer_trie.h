/* modc_tokenizer_trie.h - texts by their bytes: note [double arrays]. The generator lays tries out, the tokenizer walks over them. */
#ifndef MODC_TOKENIZER_TRIE_H
#define MODC_TOKENIZER_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* note [double arrays]
 * A trie is an array of units of 32 bits. Unit 0 is the root. What byte b leads to from a unit is the unit at its base + b, if that is in
 * use and has b as its label; no two units have one base. A unit that ends a text says so: its value stands in the unit at base - 1, one
 * bit further up, or, where no byte leads on, in the place of the base. Bits of a unit: 0 MODC_TRIE_USED, 1 to 8 the label, 9
 * MODC_TRIE_ENDS, 10 MODC_TRIE_LAST (the value is here), 11 to 31 the base or value. Values and units of no use have no bit 0. */
enum {
    MODC_TRIE_USED = 1,
    MODC_TRIE_LABEL = 1, /* where it begins */
    MODC_TRIE_ENDS = 1 << 9,
    MODC_TRIE_LAST = 1 << 10,
    MODC_TRIE_BASE = 11,
    MODC_TRIE_MOST = 1 << 21 /* units, and values that stand in the place of a base */
};

/* Goes on by a byte; false, and where it was, if no text does. */
static inline bool modc_trie_step(const uint32_t *trie, uint32_t *unit, unsigned char byte)
{
    uint32_t next;

    if (*unit & MODC_TRIE_LAST)
        return false;
    next = trie[(*unit >> MODC_TRIE_BASE) + byte];
    if ((next & 0x1ffu) != ((uint32_t)byte << MODC_TRIE_LABEL | MODC_TRIE_USED))
        return false;
    *unit = next;
    return true;
}

/* The value of the text that ends at a unit, or -1. */
static inline int32_t modc_trie_value(const uint32_t *trie, uint32_t unit)
{
    if (!(unit & MODC_TRIE_ENDS))
        return -1;
    if (unit & MODC_TRIE_LAST)
        return (int32_t)(unit >> MODC_TRIE_BASE);
    return (int32_t)(trie[(unit >> MODC_TRIE_BASE) - 1] >> 1);
}

/* A unit that no byte leads on from and no text ends at. */
#define MODC_TRIE_NOWHERE ((uint32_t)MODC_TRIE_LAST)

/* Where so many bytes lead from a unit; MODC_TRIE_NOWHERE: no text goes on so. */
static inline uint32_t modc_trie_walk(const uint32_t *trie, uint32_t unit, const unsigned char *s,
                                      size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!modc_trie_step(trie, &unit, s[i]))
            return MODC_TRIE_NOWHERE;
    return unit;
}

#endif
