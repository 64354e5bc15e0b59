/* trie.c - a double array, laid out level by level: units near the root, which every text passes, stand together. */
#include "tokenizer/trie.h"

#include <stdlib.h>
#include <string.h>

#include "modc_tokenizer_trie.h"

enum {
    LABELS = 256,
    TRIES = 64, /* free units that are tried before those are left to single successors */
    ROOM = MODC_TRIE_MOST + LABELS
};

/* Keys first..until, which share `depth` bytes, and the unit where these end. */
struct branch {
    int first, until, unit;
    uint32_t depth;
};

struct builder {
    uint32_t *units;
    int *next, *before; /* units that are not used, in a ring that begins at `room` */
    bool *is_base;
    int room, end; /* units that there are; behind the last that is used */
    int from;      /* before it several successors have found no room */
};

static int compare(const void *left, const void *right)
{
    const struct trie_key *a = left, *b = right;
    const int order = memcmp(a->bytes, b->bytes, a->count < b->count ? a->count : b->count);

    return order ? order : (a->count > b->count) - (a->count < b->count);
}

static bool is_free(const struct builder *b, int unit)
{
    return b->next[unit] >= 0;
}

static void use(struct builder *b, int unit)
{
    b->next[b->before[unit]] = b->next[unit];
    b->before[b->next[unit]] = b->before[unit];
    b->next[unit] = -1;
    b->end = unit >= b->end ? unit + 1 : b->end;
}

static bool fits(const struct builder *b, int base, const unsigned char *labels, int count, bool ends)
{
    if (base < 1 || base + LABELS > b->room || b->is_base[base] || (ends && !is_free(b, base - 1)))
        return false;
    for (int i = 0; i < count; i++)
        if (!is_free(b, base + labels[i]))
            return false;
    return true;
}

/* Tries free units from `at` on; *at is where it gave up. */
static int try_bases(const struct builder *b, int *at, const unsigned char *labels, int count, bool ends)
{
    for (int tries = 0; *at < b->room && tries < TRIES; *at = b->next[*at], tries++)
        if (fits(b, *at - labels[0], labels, count, ends))
            return *at - labels[0];
    return 0;
}

/* A base with room for these labels, and for a value where a text ends; 0: there is none. A single label takes what others left free;
 * several are tried from where the last ones found room on. */
static int find_base(struct builder *b, const unsigned char *labels, int count, bool ends)
{
    int first = b->next[b->room];
    int base = count <= 1 ? try_bases(b, &first, labels, count, ends) : 0;

    while (base == 0 && b->from < b->room) {
        while (b->from < b->room && !is_free(b, b->from))
            b->from++;
        base = try_bases(b, &b->from, labels, count, ends);
    }
    return base;
}

/* Places what a branch leads to. Branches that go on are put behind the others. */
static bool place(struct builder *b, const struct trie_key *keys, const struct branch *own,
                  struct branch *branches, int *branch_count)
{
    const bool ends = keys[own->first].count == own->depth;
    unsigned char labels[LABELS] = {0};
    int starts[LABELS + 1], count = 0, base;

    for (int i = own->first + ends; i < own->until; i++) {
        if (count > 0 && keys[i].bytes[own->depth] == labels[count - 1])
            continue;
        starts[count] = i;
        labels[count++] = keys[i].bytes[own->depth];
    }
    starts[count] = own->until;
    if (count == 0 && keys[own->first].value < MODC_TRIE_MOST) {
        b->units[own->unit] |= MODC_TRIE_ENDS | MODC_TRIE_LAST | keys[own->first].value << MODC_TRIE_BASE;
        return true;
    }
    base = find_base(b, labels, count, ends);
    if (base == 0)
        return false;
    b->is_base[base] = true;
    b->units[own->unit] |= (uint32_t)base << MODC_TRIE_BASE | (ends ? MODC_TRIE_ENDS : 0);
    if (ends) {
        use(b, base - 1);
        b->units[base - 1] = keys[own->first].value << 1;
    }
    for (int i = 0; i < count; i++) {
        use(b, base + labels[i]);
        b->units[base + labels[i]] = (uint32_t)labels[i] << MODC_TRIE_LABEL | MODC_TRIE_USED;
        branches[(*branch_count)++] = (struct branch){starts[i], starts[i + 1], base + labels[i],
                                                      own->depth + 1};
    }
    return true;
}

const uint32_t *trie_build(struct arena *arena, struct trie_key *keys, int count, int *units)
{
    struct builder b = {.room = 64 * LABELS, .from = 1};
    struct branch *branches;
    int branch_count = 1;

    qsort(keys, (size_t)count, sizeof *keys, compare);
    for (int i = 0; i < count && b.room < ROOM; i++)
        b.room += keys[i].count < LABELS ? 2 * (int)keys[i].count + 4 : ROOM;
    b.room = b.room < ROOM ? b.room : ROOM;
    b.units = ARENA_ARRAY(arena, b.room, uint32_t);
    b.next = ARENA_ARRAY(arena, b.room + 1, int);
    b.before = ARENA_ARRAY(arena, b.room + 1, int);
    b.is_base = ARENA_ARRAY(arena, b.room, bool);
    branches = ARENA_ARRAY(arena, b.room, struct branch);
    for (int i = 0; i <= b.room; i++) {
        b.next[i] = i < b.room ? i + 1 : 0;
        b.before[i] = i > 0 ? i - 1 : b.room;
    }
    use(&b, 0);
    b.units[0] = count > 0 ? MODC_TRIE_USED : MODC_TRIE_NOWHERE;
    branches[0] = (struct branch){0, count, 0, 0};
    for (int i = 0; i < branch_count; i++)
        if (count > 0 && !place(&b, keys, &branches[i], branches, &branch_count))
            return NULL;
    *units = b.end + LABELS < b.room ? b.end + LABELS : b.room;
    return b.units;
}
