/* modc_tokenizer_find.c - what is found by its bytes: tokens, added tokens, matches of patterns. */
#include "modc_tokenizer_parts.h"

/* ---- tokens ------------------------------------------------------------------------------------------------- */

int32_t modc_find(const struct modc_tokenizer *t, const unsigned char *s, size_t bytes)
{
    return modc_trie_value(t->trie, modc_trie_walk(t->trie, t->trie[0], s, bytes));
}

/* ---- added tokens -------------------------------------------------------------------------------------------- */

/* The first of first..until whose byte at `depth` is not below `byte`; those that end before stand in front. */
static int narrow(const struct modc_tokenizer *t, const struct modc_added_set *set, int first, int until,
                  size_t depth, unsigned byte)
{
    while (first < until) {
        const int middle = first + (until - first) / 2;
        const struct modc_added *added = &set->list[middle];

        if (added->length <= depth || (unsigned char)t->added_bytes[added->at + depth] < byte)
            first = middle + 1;
        else
            until = middle;
    }
    return first;
}

const struct modc_added *modc_find_added(const struct modc_tokenizer *t, const struct modc_added_set *set,
                                         const unsigned char *s, size_t bytes)
{
    const struct modc_added *found = NULL;
    int first = 0, until = set->count;

    if (!(set->first[s[0] >> 5] >> (s[0] & 31) & 1))
        return NULL;
    for (size_t depth = 0; depth < bytes && first < until; depth++) {
        first = narrow(t, set, first, until, depth, s[depth]);
        until = narrow(t, set, first, until, depth, s[depth] + 1u);
        if (first < until && set->list[first].length == depth + 1)
            found = &set->list[first];
    }
    return found;
}

/* ---- patterns ----------------------------------------------------------------------------------------------- */

/* A text that a pattern is matched in. */
struct subject {
    const struct modc_tokenizer *t;
    const struct modc_stage *stage;
    const unsigned char *s;
    size_t bytes;
};

static inline uint64_t kind_at(const struct subject *in, size_t at, size_t *next)
{
    uint32_t character;

    if (in->s[at] < 0x80) {
        *next = at + 1;
        return MODC_KIND(in->t->kinds[in->s[at]]);
    }
    *next = at + (size_t)modc_character(in->s + at, in->bytes - at, &character);
    return modc_kind(in->t, character);
}

/* Behind as many characters of a node's set as there are; how many. */
static inline size_t run(const struct subject *in, const struct modc_node *node, size_t at, uint32_t *count)
{
    uint32_t n = 0;

    for (size_t next; n < node->most && at < in->bytes && (kind_at(in, at, &next) & node->set); n++)
        at = next;
    *count = n;
    return at;
}

static bool is_ahead(const struct subject *in, const struct modc_node *node, size_t at)
{
    size_t next;

    return at < in->bytes && (kind_at(in, at, &next) & node->set) != 0;
}

/* Where a match of node `index` and what follows it ends, from `at` on. As deep as the pattern has nodes. */
static bool match_node(const struct subject *in, int index, size_t at, size_t *end)
{
    for (;;) {
        const struct modc_node *node = &in->stage->nodes[index];
        uint32_t count;
        size_t until;

        switch (node->op) {
        case MODC_NODE_END:
            *end = at;
            return true;
        case MODC_NODE_EITHER:
            if (match_node(in, node->next, at, end))
                return true;
            index = node->other;
            continue;
        case MODC_NODE_AHEAD:
        case MODC_NODE_NOT_AHEAD:
            if (is_ahead(in, node, at) != (node->op == MODC_NODE_AHEAD))
                return false;
            break;
        default:
            until = run(in, node, at, &count);
            if (count < node->least)
                return false;
            if (node->op == MODC_NODE_SET && count > node->least) {
                for (; count > node->least; count--, until = modc_before(in->s, until))
                    if (match_node(in, node->next, until, end))
                        return true;
            }
            at = until;
            break;
        }
        index = node->next;
    }
}

static bool match_at(const struct subject *in, size_t at, size_t *end)
{
    size_t next;
    const uint64_t kind = kind_at(in, at, &next);

    for (int i = 0; i < in->stage->alternative_count; i++)
        if ((in->stage->firsts[i] & kind) && match_node(in, in->stage->alternatives[i], at, end))
            return true;
    return false;
}

/* The same of the bytes of a mark. */
static bool match_mark(const struct modc_stage *stage, const unsigned char *s, size_t bytes, size_t from,
                       size_t *begin, size_t *end)
{
    const size_t length = (size_t)stage->mark_bytes;

    while (from < bytes) {
        const unsigned char *found = memchr(s + from, (unsigned char)stage->mark[0], bytes - from);

        if (!found || bytes - (size_t)(found - s) < length)
            return false;
        from = (size_t)(found - s);
        if (memcmp(found, stage->mark, length) == 0) {
            *begin = from;
            *end = from + length;
            return true;
        }
        from++;
    }
    return false;
}

bool modc_match(const struct modc_tokenizer *t, const struct modc_stage *stage, const unsigned char *s,
                size_t bytes, size_t from, size_t *begin, size_t *end)
{
    const struct subject in = {t, stage, s, bytes};
    uint32_t character;

    if (!stage->nodes)
        return match_mark(stage, s, bytes, from, begin, end);
    while (from < bytes) {
        if (match_at(&in, from, end)) {
            *begin = from;
            return true;
        }
        from += (size_t)modc_character(s + from, bytes - from, &character);
    }
    return false;
}
