/* modc_tokenizer_bpe.c - byte pair encoding of a piece. Most pieces are a token; short ones are merged in arrays on the stack, long
 * ones over a heap in the workspace, so that no text takes more than n log n steps. */
#include "modc_tokenizer_parts.h"

enum {
    FOREIGN = 1 << 30, /* in an id: a byte's token, or an unknown one; neither is merged */
    SMALL = 64         /* bytes of a piece that is merged on the stack */
};
#define NO_RANK UINT32_MAX

/* A piece, and its symbols from left to right; symbol i has the bytes from at[i] on. note [affixes] */
struct piece {
    const struct modc_tokenizer *t;
    const unsigned char *s;
    size_t bytes;
    size_t suffix; /* of them, those of a suffix */
    bool goes_on;  /* what it began with was left out */
};

/* Where tokens begin in the trie that begin at a byte of a piece. */
static uint32_t start_of(const struct piece *p, uint32_t from)
{
    const struct modc_tokenizer *t = p->t;

    if (!t->prefix || (from == 0 && !p->goes_on))
        return t->trie[0];
    return modc_trie_walk(t->trie, t->trie[0], (const unsigned char *)t->prefix, (size_t)t->prefix_bytes);
}

/* ---- merges: note [merges] -------------------------------------------------------------------------------------- */

/* Whether a token is made of a left part of so many bytes, and then the rank of that merge. */
static bool is_made(const struct modc_tokenizer *t, int32_t id, uint32_t left, uint32_t *rank)
{
    if (t->split_starts) {
        for (uint32_t i = t->split_starts[id]; i < t->split_starts[id + 1]; i++) {
            if (t->split_lefts[i] == left) {
                *rank = t->split_ranks[i];
                return true;
            }
        }
        return false;
    }
    if (t->lefts && t->lefts[id] != left)
        return false;
    *rank = t->ranks ? t->ranks[id] : (uint32_t)id;
    return true;
}

/* What a symbol of the bytes from..middle, which ends at *unit of the trie, becomes with the one that ends at `until`; -1: nothing.
 * Then *unit is where that ends. */
static int32_t merge_of(const struct piece *p, uint32_t from, uint32_t middle, uint32_t until, uint32_t *unit,
                        uint32_t *rank)
{
    const struct modc_tokenizer *t = p->t;
    const uint32_t both = modc_trie_walk(t->trie, *unit, p->s + middle, until - middle);
    const uint32_t left = middle - from + (from > 0 || p->goes_on ? (uint32_t)t->prefix_bytes : 0);
    const int32_t id = modc_trie_value(t->trie, both);

    *unit = both;
    return id >= 0 && is_made(t, id, left, rank) ? id : -1;
}

/* ---- symbols ------------------------------------------------------------------------------------------------ */

/* One of the symbols of a piece, from left to right: where it begins and its token, where that ends in the trie; what it and the next one
 * become. Behind the last one stands where the piece ends. */
struct symbol {
    uint32_t at, unit;
    int32_t id, made; /* made: -1, nothing */
    uint32_t rank, made_unit;
};

/* Puts symbols of bytes that are in no vocabulary: their bytes' tokens, or an unknown one. How many there are then. */
static uint32_t put_foreign(const struct modc_tokenizer *t, const unsigned char *s, uint32_t from,
                            uint32_t bytes, struct symbol *symbols, uint32_t count)
{
    if (t->byte_ids && !t->byte_level) {
        for (uint32_t i = 0; i < bytes; i++, count++) {
            symbols[count].at = from + i;
            symbols[count].id = t->byte_ids[s[from + i]] | FOREIGN;
        }
        return count;
    }
    if (t->fuse_unknown && count > 0 && symbols[count - 1].id == (t->unknown | FOREIGN))
        return count;
    symbols[count].at = from;
    symbols[count].id = t->unknown | FOREIGN;
    return count + 1;
}

/* How many bytes the symbol has that a piece begins with at a byte; where it ends in the trie. */
static uint32_t first_symbol(const struct piece *p, uint32_t from, uint32_t *unit)
{
    uint32_t character, bytes = 1;

    if (!p->t->byte_level)
        bytes = (uint32_t)modc_character(p->s + from, p->bytes - p->suffix - from, &character);
    if (from + bytes + p->suffix == p->bytes)
        bytes += (uint32_t)p->suffix;
    *unit = modc_trie_walk(p->t->trie, start_of(p, from), p->s + from, bytes);
    return bytes;
}

/* The symbols that a piece begins with; how many there are. */
static uint32_t begin_symbols(const struct piece *p, struct symbol *symbols)
{
    uint32_t count = 0;

    for (uint32_t from = 0, bytes, unit; from < p->bytes; from += bytes) {
        bytes = first_symbol(p, from, &unit);

        const int32_t id = modc_trie_value(p->t->trie, unit);

        if (id >= 0)
            symbols[count++] = (struct symbol){.at = from, .unit = unit, .id = id};
        else
            count = put_foreign(p->t, p->s, from, bytes, symbols, count);
    }
    symbols[count].at = (uint32_t)p->bytes;
    return count;
}

/* The same text without what is in no vocabulary and has no token that says so. */
static bool leave_out(struct modc_encoder *e, struct piece *p)
{
    const struct piece whole = *p;
    unsigned char *kept = modc_take(e, p->bytes);
    int32_t id;

    if (!kept)
        return false;
    p->bytes = 0;
    for (uint32_t from = 0, bytes, unit; from < whole.bytes; from += bytes) {
        bytes = first_symbol(&whole, from, &unit);
        id = modc_trie_value(p->t->trie, unit);
        if (id >= 0) {
            memcpy(kept + p->bytes, whole.s + from, bytes);
            p->bytes += bytes;
        } else if (from + bytes == whole.bytes) {
            p->suffix = 0; /* with what had it */
        }
        p->goes_on |= id < 0 && from == 0;
    }
    p->s = kept;
    return true;
}

/* The same with its suffix behind it. */
static bool add_suffix(struct modc_encoder *e, struct piece *p)
{
    unsigned char *own = modc_take(e, p->bytes + (size_t)p->t->suffix_bytes);

    if (!own)
        return false;
    memcpy(own, p->s, p->bytes);
    memcpy(own + p->bytes, p->t->suffix, (size_t)p->t->suffix_bytes);
    p->suffix = (size_t)p->t->suffix_bytes;
    p->bytes += p->suffix;
    p->s = own;
    return true;
}

/* ---- short pieces ------------------------------------------------------------------------------------------- */

static void rank_small(const struct piece *p, struct symbol *symbols, uint32_t count, uint32_t i)
{
    struct symbol *own = &symbols[i];

    own->made = -1;
    own->rank = NO_RANK;
    if (i + 1 >= count || ((own->id | own[1].id) & FOREIGN))
        return;
    own->made_unit = own->unit;
    own->made = merge_of(p, own->at, own[1].at, own[2].at, &own->made_unit, &own->rank);
    if (own->made < 0)
        own->rank = NO_RANK;
}

/* Where ranks are equal, merges are one, or ordered by their parts. */
static bool comes_first(const struct symbol *own, const struct symbol *other)
{
    if (own->rank != other->rank)
        return own->rank < other->rank;
    if (own->id != other->id)
        return own->id < other->id;
    return own[1].id < other[1].id;
}

/* How many symbols are left. */
static uint32_t merge_small(const struct piece *p, struct symbol *symbols, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rank_small(p, symbols, count, i);
    while (count > 1) {
        uint32_t best = 0;

        for (uint32_t i = 1; i + 1 < count; i++)
            if (symbols[i].made >= 0 && comes_first(&symbols[i], &symbols[best]))
                best = i;
        if (symbols[best].made < 0)
            break;
        symbols[best].id = symbols[best].made;
        symbols[best].unit = symbols[best].made_unit;
        memmove(symbols + best + 1, symbols + best + 2,
                (count - best - 1) * sizeof *symbols); /* with the end */
        count--;
        rank_small(p, symbols, count, best);
        if (best > 0)
            rank_small(p, symbols, count, best - 1);
    }
    return count;
}

/* ---- long pieces ------------------------------------------------------------------------------------------------ */

/* Symbols in a list, and a heap of those that can be merged with the next one. */
struct large {
    struct symbol *symbols;
    uint32_t *next, *before, *heap, *where;
    uint32_t count, heaped;
};
#define NOT_HEAPED UINT32_MAX

static bool is_less(const struct large *m, uint32_t i, uint32_t other)
{
    const struct symbol *a = &m->symbols[i], *b = &m->symbols[other];

    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->id != b->id)
        return a->id < b->id;
    if (m->symbols[m->next[i]].id != m->symbols[m->next[other]].id)
        return m->symbols[m->next[i]].id < m->symbols[m->next[other]].id;
    return i < other;
}

static void set_place(struct large *m, uint32_t place, uint32_t symbol)
{
    m->heap[place] = symbol;
    m->where[symbol] = place;
}

static void sift_up(struct large *m, uint32_t place)
{
    const uint32_t symbol = m->heap[place];

    for (; place > 0 && is_less(m, symbol, m->heap[(place - 1) / 2]); place = (place - 1) / 2)
        set_place(m, place, m->heap[(place - 1) / 2]);
    set_place(m, place, symbol);
}

static void sift_down(struct large *m, uint32_t place)
{
    const uint32_t symbol = m->heap[place];

    for (uint32_t child; (child = 2 * place + 1) < m->heaped; place = child) {
        if (child + 1 < m->heaped && is_less(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!is_less(m, m->heap[child], symbol))
            break;
        set_place(m, place, m->heap[child]);
    }
    set_place(m, place, symbol);
}

static void drop(struct large *m, uint32_t symbol)
{
    const uint32_t place = m->where[symbol];

    if (place == NOT_HEAPED)
        return;
    m->where[symbol] = NOT_HEAPED;
    if (--m->heaped == place)
        return;
    set_place(m, place, m->heap[m->heaped]);
    sift_up(m, place);
    sift_down(m, m->where[m->heap[place]]);
}

/* What a symbol and the next one become. */
static void look_up(const struct piece *p, struct large *m, uint32_t i)
{
    const uint32_t next = m->next[i];
    struct symbol *own = &m->symbols[i];

    own->made = -1;
    if (next >= m->count || ((own->id | m->symbols[next].id) & FOREIGN))
        return;
    own->made_unit = own->unit;
    own->made = merge_of(p, own->at, m->symbols[next].at, m->symbols[m->next[next]].at, &own->made_unit,
                         &own->rank);
}

/* The same after one of both has changed; it is in no heap. */
static void rank_again(const struct piece *p, struct large *m, uint32_t i)
{
    look_up(p, m, i);
    if (m->symbols[i].made < 0)
        return;
    set_place(m, m->heaped, i);
    sift_up(m, m->heaped++);
}

static void merge_large(const struct piece *p, struct large *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        m->next[i] = i + 1;
        m->before[i] = i - 1;
        m->where[i] = NOT_HEAPED;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        look_up(p, m, i);
        if (m->symbols[i].made >= 0)
            set_place(m, m->heaped++, i);
    }
    for (uint32_t i = m->heaped / 2; i-- > 0;)
        sift_down(m, i);
    while (m->heaped > 0) {
        const uint32_t i = m->heap[0], other = m->next[i], front = m->before[i];

        drop(m, i);
        drop(m, other);
        if (i > 0)
            drop(m, front);
        m->symbols[i].id = m->symbols[i].made;
        m->symbols[i].unit = m->symbols[i].made_unit;
        m->next[i] = m->next[other];
        if (m->next[i] < m->count)
            m->before[m->next[i]] = i;
        rank_again(p, m, i);
        if (i > 0)
            rank_again(p, m, front);
    }
}

static bool take_large(struct modc_encoder *e, struct large *m, size_t bytes)
{
    struct symbol *symbols = modc_take(e, (bytes + 1) * sizeof *symbols);
    uint32_t *all = modc_take(e, 4 * bytes * sizeof *all);

    if (!symbols || !all)
        return false;
    m->symbols = symbols;
    m->next = all;
    m->before = all + bytes;
    m->heap = all + 2 * bytes;
    m->where = all + 3 * bytes;
    m->heaped = 0;
    return true;
}

/* ---- pieces ------------------------------------------------------------------------------------------------- */

/* How far a piece has been gone through of which something was left out. */
struct way {
    size_t at, wide, kept,
        kept_wide; /* bytes of the whole piece and of what was kept; as wide as the package has them */
};

/* Where the package says that the first `kept` bytes of what was kept end in the whole piece: it counts bytes of what stands for
 * them in byte-level BPE, one for printing ones of ASCII and else two, and those that were left out not at all. */
static size_t place(struct way *way, const struct piece *kept, const unsigned char *whole, size_t bytes,
                    size_t until)
{
    const bool byte_level = kept->t->byte_level;

    for (; way->kept < until; way->kept++)
        way->kept_wide += byte_level && (kept->s[way->kept] < '!' || kept->s[way->kept] > '~') ? 2 : 1;
    while (way->at < bytes) {
        const size_t wide = byte_level && (whole[way->at] < '!' || whole[way->at] > '~') ? 2 : 1;

        if (way->wide + wide > way->kept_wide)
            break;
        way->wide += wide;
        way->at++;
    }
    return way->at;
}

/* Puts a token of the bytes start..end of a piece. */
static void put_token(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until,
                      const struct piece *p, struct way *way, int32_t id, uint32_t start, uint32_t end)
{
    const unsigned char *const whole = view->text + from;

    end = end > p->bytes - p->suffix ? (uint32_t)(p->bytes - p->suffix) : end;
    if (p->t->leaves_out) {
        const size_t first = place(way, p, whole, until - from, start);
        size_t last = place(way, p, whole, until - from, end);

        last += way->wide < way->kept_wide; /* a part of the next one */
        modc_put_token(e, view, id & ~FOREIGN, from + first, from + last);
    } else {
        modc_put_token(e, view, id & ~FOREIGN, from + start, from + end);
    }
}

static void merge(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until)
{
    const struct modc_tokenizer *t = e->t;
    struct piece p = {.t = t, .s = view->text + from, .bytes = until - from};
    struct way way = {0, 0, 0, 0};
    unsigned char *const free = e->free;
    int32_t whole;

    if (t->suffix && !add_suffix(e, &p))
        return;
    whole = modc_find(t, p.s, p.bytes);
    if (whole >= 0 && (t->flags[whole] & MODC_TOKEN_WHOLE)) {
        modc_put_token(e, view, whole, from, until);
        e->free = free;
        return;
    }
    if (t->leaves_out && !leave_out(e, &p))
        return;
    if (p.bytes <= SMALL) {
        struct symbol symbols[SMALL + 1];
        const uint32_t count = merge_small(&p, symbols, begin_symbols(&p, symbols));

        for (uint32_t i = 0; i < count; i++)
            put_token(e, view, from, until, &p, &way, symbols[i].id, symbols[i].at, symbols[i + 1].at);
    } else {
        struct large m;

        if (!take_large(e, &m, p.bytes))
            return;
        m.count = begin_symbols(&p, m.symbols);
        merge_large(&p, &m);
        for (uint32_t i = 0; i < m.count; i = m.next[i])
            put_token(e, view, from, until, &p, &way, m.symbols[i].id, m.symbols[i].at,
                      m.symbols[m.next[i]].at);
    }
    e->free = free;
}

/* Whether merges of what stands in front of a character cannot reach it, nor unknown ones be one with it. */
static bool is_apart(const struct modc_tokenizer *t, uint32_t before, uint32_t character,
                     const unsigned char *s, size_t bytes)
{
    const uint32_t joint = MODC_JOINT(before, character, t->joint_bits);

    return !(t->joints[joint / 8] >> joint % 8 & 1) && (!t->fuse_unknown || modc_find(t, s, bytes) >= 0);
}

void modc_bpe(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until)
{
    const unsigned char *s = view->text;
    uint32_t before = 0, character;

    for (size_t at = from, bytes; e->t->joints && at < until && e->status == MODC_OK; at += bytes) {
        bytes = (size_t)modc_character(s + at, until - at, &character);
        if (at > from && is_apart(e->t, before, character, s + at, bytes)) {
            merge(e, view, from, at);
            from = at;
        }
        before = character;
    }
    if (e->status == MODC_OK)
        merge(e, view, from, until);
}
