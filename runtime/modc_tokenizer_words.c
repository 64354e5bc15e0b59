/* modc_tokenizer_words.c - models whose tokens are found in a piece as they are: the longest ones from the left (WordPiece), the
 * whole piece (WordLevel), the path of the best score (Unigram). */
#include "modc_tokenizer_parts.h"

/* ---- WordPiece, WordLevel -------------------------------------------------------------------------------------- */

/* The longest token that goes on from a unit of the trie, and how many bytes of the text that is; -1: there is none. */
static int32_t longest(const uint32_t *trie, uint32_t unit, const unsigned char *s, size_t bytes,
                       size_t *taken)
{
    int32_t found = -1;

    for (size_t at = 0; at < bytes && modc_trie_step(trie, &unit, s[at]);) {
        at++;
        if (unit & MODC_TRIE_ENDS) {
            found = modc_trie_value(trie, unit);
            *taken = at;
        }
    }
    return found;
}

static bool is_long(const struct modc_tokenizer *t, const unsigned char *s, size_t bytes)
{
    uint32_t character;
    int count = 0;

    if (bytes <= (size_t)t->most_characters)
        return false;
    for (size_t at = 0; at < bytes; count++)
        at += (size_t)modc_character(s + at, bytes - at, &character);
    return count > t->most_characters;
}

void modc_wordpiece(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until)
{
    const struct modc_tokenizer *t = e->t;
    const int begun = e->tokens->count;
    bool bad = t->model == MODC_WORDPIECE && is_long(t, view->text + from, until - from);
    uint32_t unit = t->trie[0];
    int32_t id;

    if (t->model == MODC_WORDLEVEL) {
        id = modc_find(t, view->text + from, until - from);
        if (id >= 0 || t->unknown >= 0)
            modc_put_token(e, view, id >= 0 ? id : t->unknown, from, until);
        return;
    }
    for (size_t at = from, taken = 0; at < until && !bad; at += taken) {
        id = longest(t->trie, unit, view->text + at, until - at, &taken);
        bad = id < 0;
        if (at == from) /* what follows goes on */
            unit = modc_trie_walk(t->trie, unit, (const unsigned char *)t->prefix, (size_t)t->prefix_bytes);
        if (!bad)
            modc_put_token(e, view, id, at, at + taken);
    }
    if (bad) {
        e->tokens->count = begun;
        modc_put_token(e, view, t->unknown, from, until);
    }
}

/* ---- Unigram ------------------------------------------------------------------------------------------------ */

/* The best path that ends at a byte: its last token. */
struct ending {
    double score;
    uint32_t start;
    int32_t id; /* NONE: no path ends here */
};
enum { NONE = -2 };

static void offer(struct ending *ending, double score, size_t start, int32_t id)
{
    if (ending->id == NONE || score > ending->score)
        *ending = (struct ending){score, (uint32_t)start, id};
}

/* Tokens that begin at a byte; behind them where an unknown character ends, if none is as long as one. */
static void extend(const struct modc_tokenizer *t, const unsigned char *s, size_t bytes, size_t at,
                   size_t character, struct ending *endings)
{
    const double score = at > 0 ? endings[at].score : 0;
    uint32_t unit = t->trie[0];
    bool single = false;

    for (size_t end = at; end < bytes && modc_trie_step(t->trie, &unit, s[end]);) {
        end++;
        if (unit & MODC_TRIE_ENDS) {
            const int32_t id = modc_trie_value(t->trie, unit);

            offer(&endings[end], t->scores[id] + score, at, id);
            single |= end == at + character;
        }
    }
    if (!single)
        offer(&endings[at + character], t->unknown_score + score, at, t->unknown);
}

/* A token, or what stands for one that is unknown. */
static void put_unigram(struct modc_encoder *e, const struct modc_view *view, int32_t id, size_t from,
                        size_t until)
{
    if (id == e->t->unknown)
        id = modc_find(e->t, view->text + from, until - from);
    if (id >= 0) {
        modc_put_token(e, view, id, from, until);
    } else if (e->t->byte_ids) {
        for (size_t i = from; i < until; i++)
            modc_put_token(e, view, e->t->byte_ids[view->text[i]], from, until);
    } else {
        modc_put_token(e, view, e->t->unknown, from, until);
    }
}

void modc_unigram(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until)
{
    const struct modc_tokenizer *t = e->t;
    const unsigned char *s = view->text + from;
    const size_t bytes = until - from;
    unsigned char *const free = e->free;
    const int32_t whole = modc_find(t, s, bytes);
    struct ending *endings;
    size_t behind = 0;

    if (whole >= 0 && (t->flags[whole] & MODC_TOKEN_WHOLE)) {
        modc_put_token(e, view, whole, from, until);
        return;
    }
    endings = modc_take(e, (bytes + 1) * sizeof *endings);
    if (!endings)
        return;
    for (size_t i = 0; i <= bytes; i++)
        endings[i].id = NONE;
    for (size_t at = 0; at < bytes;) {
        uint32_t c;
        const size_t character = (size_t)modc_character(s + at, bytes - at, &c);

        extend(t, s, bytes, at, character, endings);
        at += character;
    }
    for (size_t at = bytes; at > 0; at = endings[at].start) /* the way back becomes the way there */
        endings[endings[at].start].score = (double)at;
    for (size_t at = 0, end; at < bytes; at = end) {
        end = (size_t)endings[at].score;
        if (t->fuse_unknown && endings[end].id == t->unknown) {
            behind = end;
            while (behind < bytes && endings[(size_t)endings[behind].score].id == t->unknown)
                behind = (size_t)endings[behind].score;
            end = behind;
        }
        put_unigram(e, view, endings[end].id, from + at, from + end);
    }
    e->free = free;
}
