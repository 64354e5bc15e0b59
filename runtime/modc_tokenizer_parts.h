/* modc_tokenizer_parts.h - what the files of the tokenizer share; nobody else includes it. */
#ifndef MODC_TOKENIZER_PARTS_H
#define MODC_TOKENIZER_PARTS_H

#include "modc_tokenizer.h"
#include "modc_tokenizer_trie.h"

#include <string.h>

enum { MODC_NO_CHARACTER = 0xfffd }; /* stands for a byte that is no UTF-8 */

/* A text on its way: the one that the caller gave, or one that was made of it. The caller's is what it has from `base` on, behind `front`
 * bytes that stand for its first character. Of one that was made `spans` says of each byte what it came from; NULL where nobody asks. */
struct modc_view {
    const unsigned char *text;
    size_t bytes, base, front;
    const struct modc_span *spans;
    bool made;
};

/* A call of modc_encode. */
struct modc_encoder {
    const struct modc_tokenizer *t;
    const unsigned char *text;
    size_t bytes;
    unsigned flags;
    struct modc_tokens *tokens;
    unsigned char *free, *end; /* of the workspace */
    enum modc_status status;
    int first;    /* of the tokens that are the text's own */
    bool origins; /* it is kept what texts that are made come from */
};

/* A character of UTF-8: its bytes, or 0 where there is none. */
static inline int modc_utf8(const unsigned char *s, size_t left, uint32_t *character)
{
    uint32_t c = s[0];

    *character = c;
    if (c < 0x80)
        return 1;
    if (c < 0xc2 || left < 2 || (s[1] & 0xc0) != 0x80)
        return 0;
    if (c < 0xe0) {
        *character = (c & 31) << 6 | (s[1] & 63u);
        return 2;
    }
    if (left < 3 || (s[2] & 0xc0) != 0x80)
        return 0;
    if (c < 0xf0) {
        *character = (c & 15) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u);
        return *character >= 0x800 && (*character < 0xd800 || *character > 0xdfff) ? 3 : 0;
    }
    if (c > 0xf4 || left < 4 || (s[3] & 0xc0) != 0x80)
        return 0;
    *character = (c & 7) << 18 | (s[1] & 63u) << 12 | (s[2] & 63u) << 6 | (s[3] & 63u);
    return *character >= 0x10000 && *character < 0x110000 ? 4 : 0;
}

/* The same, where a byte that is none is U+FFFD. */
static inline int modc_character(const unsigned char *s, size_t left, uint32_t *character)
{
    const int bytes = modc_utf8(s, left, character);

    if (bytes > 0)
        return bytes;
    *character = MODC_NO_CHARACTER;
    return 1;
}

/* Writes a character as UTF-8: its bytes. */
static inline int modc_put_utf8(unsigned char *s, uint32_t c)
{
    if (c < 0x80) {
        s[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        s[0] = (unsigned char)(0xc0 | c >> 6);
        s[1] = (unsigned char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        s[0] = (unsigned char)(0xe0 | c >> 12);
        s[1] = (unsigned char)(0x80 | (c >> 6 & 63));
        s[2] = (unsigned char)(0x80 | (c & 63));
        return 3;
    }
    s[0] = (unsigned char)(0xf0 | c >> 18);
    s[1] = (unsigned char)(0x80 | (c >> 12 & 63));
    s[2] = (unsigned char)(0x80 | (c >> 6 & 63));
    s[3] = (unsigned char)(0x80 | (c & 63));
    return 4;
}

/* Where the character begins that ends before s + at; at > 0. */
static inline size_t modc_before(const unsigned char *s, size_t at)
{
    uint32_t c;

    if (s[at - 1] < 0x80)
        return at - 1;
    for (size_t back = 2; back <= 4 && back <= at; back++)
        if (modc_utf8(s + at - back, back, &c) == (int)back)
            return at - back;
    return at - 1;
}

/* ---- modc_tokenizer_find.c: what is found by its bytes ------------------------------------------------------ */

/* The token of the model that has these bytes, or -1. */
int32_t modc_find(const struct modc_tokenizer *t, const unsigned char *s, size_t bytes);

/* An added token that begins there, the longest one; or NULL. */
const struct modc_added *modc_find_added(const struct modc_tokenizer *t, const struct modc_added_set *set,
                                         const unsigned char *s, size_t bytes);

/* The bit of a character's kind. */
static inline uint64_t modc_kind(const struct modc_tokenizer *t, uint32_t character)
{
    return MODC_KIND(t->kinds[(uint32_t)t->kind_pages[character >> 7] << 7 | (character & 127)]);
}

/* The next match of a stage's pattern at `from` or behind it: where it begins and ends. False: there is none. */
bool modc_match(const struct modc_tokenizer *t, const struct modc_stage *stage, const unsigned char *s,
                size_t bytes, size_t from, size_t *begin, size_t *end);

/* ---- modc_tokenizer_clusters.c ----------------------------------------------------------------------------------- */

/* Bytes of the cluster that a text begins with; it has at least one. */
size_t modc_cluster(const struct modc_tokenizer *t, const struct modc_charsmap *map, const unsigned char *s,
                    size_t bytes);

/* ---- modc_tokenizer_text.c: normalisers ----------------------------------------------------------------------- */

/* The view after all steps; what was made lies in the workspace, from e->free on. */
bool modc_normalise(struct modc_encoder *e, struct modc_view *view);

/* ---- modc_tokenizer_bpe.c, modc_tokenizer_words.c: the bytes from..until of a view become tokens -------------------- */

void modc_bpe(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until);
void modc_wordpiece(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until);
void modc_unigram(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until);

/* ---- modc_tokenizer.c --------------------------------------------------------------------------------------- */

/* A token of the bytes from..until of a view. */
void modc_put_token(struct modc_encoder *e, const struct modc_view *view, int32_t id, size_t from,
                    size_t until);

/* What a byte of a view comes from. */
struct modc_span modc_origin(const struct modc_encoder *e, const struct modc_view *view, size_t at);

/* The part of a view from one byte to another, as a view. */
struct modc_view modc_part(const struct modc_view *view, size_t from, size_t until);

/* Memory of the workspace, aligned for any number; NULL, with the status, where there is none left. */
void *modc_take(struct modc_encoder *e, size_t bytes);

#endif
