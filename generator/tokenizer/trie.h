/* trie.h - lays texts out as a trie of the runtime: note [double arrays] in modc_tokenizer_trie.h. */
#ifndef MODC_TRIE_H
#define MODC_TRIE_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

struct trie_key {
    const unsigned char *bytes;
    size_t count;   /* at least one */
    uint32_t value; /* below 2^31 */
};

/* The units of keys, which it sorts and of which no two have the same bytes. NULL: they need more than MODC_TRIE_MOST. */
const uint32_t *trie_build(struct arena *arena, struct trie_key *keys, int count, int *units);

#endif
