/* modc_tokenizer_decode.c - ids to text, all at once or as they come. */
#include "modc_tokenizer_parts.h"

/* Where text goes: what has no room is counted. */
struct sink {
    char *out;
    size_t room, count;
};

static void add(struct sink *sink, const void *bytes, size_t count)
{
    if (sink->count < sink->room) {
        const size_t left = sink->room - sink->count;

        memcpy(sink->out + sink->count, bytes, count < left ? count : left);
    }
    sink->count += count;
}

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
enum { REPLACEMENT = sizeof replacement - 1 };

/* ---- bytes that may be part of a character ------------------------------------------------------------------------- */

/* Whether more bytes can make a character of these, of which there are fewer than one has. */
static bool is_begun(const unsigned char *s, int count)
{
    static const unsigned char least[3] = {0x80, 0x80, 0x80};
    unsigned char whole[4];
    uint32_t character;

    whole[0] = s[0];
    for (int fill = 0; fill < 2; fill++) { /* the least that may follow, and the most */
        memcpy(whole + 1, least, sizeof least);
        if (fill == 1)
            memset(whole + 1, 0xbf, 3);
        for (int i = 1; i < count; i++)
            whole[i] = s[i];
        if (modc_utf8(whole, 4, &character) > count)
            return true;
    }
    return false;
}

/* What is held is no character: it becomes U+FFFD, for each byte one where `each`. */
static void give_up(struct modc_decoder *d, struct sink *sink, bool each)
{
    for (int i = 0; i < (each ? d->held : d->held > 0); i++)
        add(sink, replacement, REPLACEMENT);
    d->held = 0;
}

static void add_byte(struct modc_decoder *d, struct sink *sink, unsigned char byte, bool each)
{
    uint32_t character;

    if (d->flags & MODC_RAW_BYTES) {
        add(sink, &byte, 1);
        return;
    }
    d->hold[d->held++] = byte;
    if (modc_utf8(d->hold, (size_t)d->held, &character) == d->held) {
        add(sink, d->hold, (size_t)d->held);
        d->held = 0;
    } else if (!is_begun(d->hold, d->held)) {
        const bool alone = d->held == 1;

        d->held -= !alone;
        give_up(d, sink, each);
        if (!alone)
            add_byte(d, sink, byte, each);
    }
}

/* ---- tokens ------------------------------------------------------------------------------------------------- */

/* What `decode_strip` takes away at the start of the text. */
static void add_text(struct modc_decoder *d, struct sink *sink, const char *text, size_t bytes)
{
    const struct modc_tokenizer *t = d->t;
    const size_t strip = (size_t)t->decode_strip_bytes;

    while (d->stripped < t->decode_strip_count && bytes > 0) {
        if (bytes < strip || memcmp(text, t->decode_strip, strip) != 0) {
            d->stripped = t->decode_strip_count;
            break;
        }
        text += strip;
        bytes -= strip;
        d->stripped++;
    }
    add(sink, text, bytes);
}

/* A token in which one text is replaced by another. */
static void add_replaced(struct modc_decoder *d, struct sink *sink, const char *text, size_t bytes)
{
    const struct modc_step *const row = &d->t->decode_replace;
    const size_t length = (size_t)row->from_bytes;
    size_t from = 0;

    for (size_t at = 0; length > 0 && at + length <= bytes;) {
        if (memcmp(text + at, row->from, length) != 0) {
            at++;
            continue;
        }
        add_text(d, sink, text + from, at - from);
        add_text(d, sink, row->to, (size_t)row->to_bytes);
        from = at += length;
    }
    add_text(d, sink, text + from, bytes - from);
}

/* Metaspace: marks are spaces, but those of the first token. */
static void add_marked(struct modc_decoder *d, struct sink *sink, const char *text, size_t bytes)
{
    const size_t mark = (size_t)d->t->decode_mark_bytes;

    for (size_t at = 0; at < bytes;) {
        if (at + mark <= bytes && memcmp(text + at, d->t->decode_mark, mark) == 0) {
            if (d->begun || !d->t->decode_mark_first)
                add(sink, " ", 1);
            at += mark;
        } else {
            add(sink, text + at++, 1);
        }
    }
}

/* What stands behind no space: of " ." the space goes, and so on. */
static bool is_joined(const char *text, size_t bytes)
{
    static const char *const joined[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};

    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++)
        if (bytes >= strlen(joined[i]) && memcmp(text, joined[i], strlen(joined[i])) == 0)
            return true;
    return false;
}

/* WordPiece: a token that does not go on begins a word. */
static void add_word(struct modc_decoder *d, struct sink *sink, const char *text, size_t bytes)
{
    const size_t prefix = (size_t)d->t->decode_prefix_bytes;

    if (d->begun && bytes >= prefix && memcmp(text, d->t->decode_prefix, prefix) == 0) {
        text += prefix;
        bytes -= prefix;
    } else if (d->begun && !(d->t->decode_cleanup && is_joined(text, bytes))) {
        add(sink, " ", 1);
    }
    add(sink, text, bytes);
}

/* BPE with a suffix at the end of words: it is a space, but in the last token. What a token has from its first suffix on waits for the
 * next one. */
static size_t find_suffix(const struct modc_tokenizer *t, const char *text, size_t bytes)
{
    const size_t suffix = (size_t)t->decode_suffix_bytes;
    size_t at = 0;

    while (at + suffix <= bytes && memcmp(text + at, t->decode_suffix, suffix) != 0)
        at++;
    return at + suffix <= bytes ? at : bytes;
}

static void add_waiting(struct modc_decoder *d, struct sink *sink, const char *end)
{
    size_t bytes;
    const char *text = d->waiting >= 0 ? modc_token_text(d->t, d->waiting, &bytes) : NULL;

    d->waiting = -1;
    if (!text)
        return;
    for (size_t at = find_suffix(d->t, text, bytes); at < bytes; at = find_suffix(d->t, text, bytes)) {
        text += at + (size_t)d->t->decode_suffix_bytes;
        bytes -= at + (size_t)d->t->decode_suffix_bytes;
        add(sink, end, strlen(end));
        add(sink, text, find_suffix(d->t, text, bytes));
    }
}

static void add_suffixed(struct modc_decoder *d, struct sink *sink, int64_t id, const char *text,
                         size_t bytes)
{
    const size_t first = find_suffix(d->t, text, bytes);

    add_waiting(d, sink, " ");
    add(sink, text, first);
    d->waiting = first < bytes ? id : -1;
}

/* Whether an id is text, and then its bytes. */
static bool is_text(const struct modc_decoder *d, int64_t id, const char **text, size_t *bytes)
{
    *text = modc_token_text(d->t, id, bytes);
    return *text && ((d->flags & MODC_KEEP_SPECIAL) || !modc_token_is_special(d->t, id));
}

static unsigned char byte_of(const char *text)
{
    const char digits[] = "0123456789ABCDEF";

    return (unsigned char)((strchr(digits, text[3]) - digits) * 16 + (strchr(digits, text[4]) - digits));
}

static bool is_byte_token(const struct modc_tokenizer *t, int64_t id)
{
    return t->decode_byte_tokens && (t->flags[id] & MODC_TOKEN_BYTE) != 0;
}

/* broken: of a run of bytes that are no text, all of which become U+FFFD. */
static void push(struct modc_decoder *d, struct sink *sink, int64_t id, bool broken)
{
    const struct modc_tokenizer *t = d->t;
    const char *text;
    size_t bytes;

    if (!is_text(d, id, &text, &bytes))
        return;
    if (t->decode_bytes) {
        for (size_t i = 0; i < bytes; i++)
            add_byte(d, sink, (unsigned char)text[i], false);
    } else if (is_byte_token(t, id)) {
        d->stripped = t->decode_strip_count > 0 && byte_of(text) != ' ' ? t->decode_strip_count : d->stripped;
        if (broken && !(d->flags & MODC_RAW_BYTES))
            add(sink, replacement, REPLACEMENT);
        else if (d->stripped < t->decode_strip_count)
            add_text(d, sink, " ", 1);
        else
            add_byte(d, sink, byte_of(text), true);
    } else {
        give_up(d, sink, true);
        if (t->decode_mark)
            add_marked(d, sink, text, bytes);
        else if (t->decode_prefix)
            add_word(d, sink, text, bytes);
        else if (t->decode_suffix)
            add_suffixed(d, sink, id, text, bytes);
        else {
            if (d->begun && t->decode_join)
                add(sink, t->decode_join, strlen(t->decode_join));
            add_replaced(d, sink, text, bytes);
        }
    }
    d->begun = true;
}

/* ---- as they come ------------------------------------------------------------------------------------------------ */

void modc_decoder_init(struct modc_decoder *decoder, const struct modc_tokenizer *t, unsigned flags)
{
    memset(decoder, 0, sizeof *decoder);
    decoder->t = t;
    decoder->flags = flags;
    decoder->waiting = -1;
}

/* Takes what a copy of a decoder became, where its text had room. */
static enum modc_status settle(struct modc_decoder *decoder, const struct modc_decoder *after,
                               const struct sink *sink, size_t *bytes)
{
    *bytes = sink->count;
    if (sink->count > sink->room)
        return MODC_SIZE;
    *decoder = *after;
    return MODC_OK;
}

enum modc_status modc_decoder_push(struct modc_decoder *decoder, int64_t id, char *out, size_t room,
                                   size_t *bytes)
{
    struct modc_decoder after = *decoder;
    struct sink sink = {out, room, 0};

    push(&after, &sink, id, false);
    return settle(decoder, &after, &sink, bytes);
}

enum modc_status modc_decoder_end(struct modc_decoder *decoder, char *out, size_t room, size_t *bytes)
{
    struct modc_decoder after = *decoder;
    struct sink sink = {out, room, 0};

    give_up(&after, &sink, !decoder->t->decode_bytes);
    add_waiting(&after, &sink, "");
    after.begun = false;
    after.stripped = 0;
    return settle(decoder, &after, &sink, bytes);
}

/* ---- all at once ---------------------------------------------------------------------------------------------- */

/* Whether the bytes of the tokens from `at` on, as far as these are bytes, are no text; where they end. */
static bool is_broken(const struct modc_decoder *d, const int64_t *ids, int count, int at, int *end)
{
    unsigned char held[4];
    const char *text;
    size_t bytes;
    uint32_t character;
    int n = 0;
    bool broken = false;

    for (; at < count; at++) {
        if (!is_text(d, ids[at], &text, &bytes))
            continue;
        if (!is_byte_token(d->t, ids[at]))
            break;
        if (broken)
            continue;
        held[n++] = byte_of(text);
        if (modc_utf8(held, (size_t)n, &character) == n)
            n = 0;
        else
            broken = !is_begun(held, n);
    }
    *end = at;
    return broken || n > 0;
}

enum modc_status modc_decode(const struct modc_tokenizer *t, const int64_t *ids, int count, unsigned flags,
                             char *out, size_t room, size_t *bytes)
{
    struct sink sink = {out, room, 0};
    struct modc_decoder d;
    int until = 0;
    bool broken = false;

    if (!t || !bytes || (!ids && count > 0) || (!out && room > 0))
        return MODC_POINTER;
    modc_decoder_init(&d, t, flags);
    for (int i = 0; i < count; i++) {
        if (t->decode_byte_tokens && i >= until)
            broken = is_broken(&d, ids, count, i, &until);
        push(&d, &sink, ids[i], broken);
        if (i >= until)
            until = i + 1;
    }
    give_up(&d, &sink, !t->decode_bytes);
    add_waiting(&d, &sink, "");
    *bytes = sink.count;
    if (sink.count < room)
        out[sink.count] = '\0';
    return sink.count > room ? MODC_SIZE : MODC_OK;
}
