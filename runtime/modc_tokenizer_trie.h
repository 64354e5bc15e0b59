/* modc_tokenizer_trie.h - texts by their bytes: note [double arrays]. The generator lays tries out, the tokenizer walks over them. */
#ifndef MODC_TOKENIZER_TRIE_H
#define MODC_TOKENIZER_TRIE_H

#include <stdbool.h>
#include <stdint.h>

/* note [double arrays]
 * A trie is an array of units of 32 bits. Unit 0 is the root. What byte b leads to from a unit is the unit at its base + b, if that has
 * b as its label; no two units have one base. A unit that ends a text says so: its value stands in the unit at base - 1, or, where no
 * byte leads on, in the place of the base. Bits of a unit: 0 to 7 the label, 8 MODC_TRIE_ENDS, 9 MODC_TRIE_LAST (the value is here),
 * 10 to 30 the base or value. Bit 31 is set in units that are none: values, and what is not used. */
enum { MODC_TRIE_ENDS = 1 << 8, MODC_TRIE_LAST = 1 << 9, MODC_TRIE_BASE = 10, MODC_TRIE_MOST = 1 << 21 };
#define MODC_TRIE_NONE 0x80000000u

/* Goes on by a byte; false, and where it was, if no text does. */
static inline bool modc_trie_step(const uint32_t *trie, uint32_t *unit, unsigned char byte)
{
    uint32_t next;

    if (*unit & MODC_TRIE_LAST)
        return false;
    next = trie[(*unit >> MODC_TRIE_BASE) + byte];
    if ((next & (MODC_TRIE_NONE | 0xffu)) != byte)
        return false;
    *unit = next;
    return true;
}

/* The value of the text that ends at a unit, or -1. */
static inline int32_t modc_trie_value(const uint32_t *trie, uint32_t unit)
{
    if (unit & MODC_TRIE_LAST)
        return (int32_t)(unit >> MODC_TRIE_BASE);
    return unit & MODC_TRIE_ENDS ? (int32_t)(trie[(unit >> MODC_TRIE_BASE) - 1] & ~MODC_TRIE_NONE) : -1;
}

#endif
