/* modc_tokenizer.c - text to ids: added tokens are cut out, stages cut the rest into pieces, a model makes tokens of them. */
#include "modc_tokenizer_parts.h"

/* ---- what comes out ------------------------------------------------------------------------------------------- */

void *modc_take(struct modc_encoder *e, size_t bytes)
{
    unsigned char *const taken = e->free;

    bytes = (bytes + 7) / 8 * 8;
    if (bytes > (size_t)(e->end - e->free)) {
        e->status = MODC_WORKSPACE;
        return NULL;
    }
    e->free += bytes;
    return taken;
}

/* The caller's character that has this byte. */
static struct modc_span character_at(const struct modc_encoder *e, size_t at)
{
    uint32_t character;

    for (size_t back = 0; back <= 3 && back <= at; back++) {
        const int bytes = modc_utf8(e->text + at - back, e->bytes - (at - back), &character);

        if (bytes > (int)back)
            return (struct modc_span){(uint32_t)(at - back), (uint32_t)(at - back) + (uint32_t)bytes};
    }
    return (struct modc_span){(uint32_t)at, (uint32_t)at + 1};
}

struct modc_span modc_origin(const struct modc_encoder *e, const struct modc_view *view, size_t at)
{
    if (view->spans)
        return view->spans[at];
    if (view->made)
        return (struct modc_span){0, 0};
    return character_at(e, at < view->front ? view->base : view->base + at - view->front);
}

static bool is_kind(const struct modc_encoder *e, const unsigned char *s, size_t bytes, uint64_t kinds)
{
    uint32_t character;

    if (bytes == 0)
        return false;
    modc_character(s, bytes, &character);
    return (modc_kind(e->t, character) & kinds) != 0;
}

/* The white characters that a token begins with, or ends with: those of an added token, of others spaces. */
static size_t count_white(const struct modc_encoder *e, const unsigned char *s, size_t bytes, bool added,
                          bool behind)
{
    const uint64_t white = e->t->space_kinds;
    size_t count = 0;
    uint32_t character;

    for (; bytes > 0; count++) {
        const size_t begin = behind ? modc_before(s, bytes) : 0;
        const size_t own = behind ? bytes - begin : (size_t)modc_character(s, bytes, &character);

        if (added && white ? !is_kind(e, s + begin, own, white) : s[begin] != ' ')
            break;
        s += behind ? 0 : own;
        bytes -= own;
    }
    return count;
}

/* A span without the white characters at the ends of its token, as byte-level post-processors have it: as many characters of the
 * text, whatever these are. */
static void trim(const struct modc_encoder *e, const unsigned char *s, size_t bytes, bool added,
                 struct modc_span *span)
{
    size_t front = count_white(e, s, bytes, added, false), behind = count_white(e, s, bytes, added, true);
    uint32_t end = span->end;
    uint32_t character;

    if (front == 1 && e->t->trims_prefix && (e->tokens->count == e->first || span->start == 0))
        front = 0;
    for (; front > 0 && span->start < span->end; front--)
        span->start += (uint32_t)modc_character(e->text + span->start, e->bytes - span->start, &character);
    for (; behind > 0 && end > 0; behind--)
        end = (uint32_t)modc_before(e->text, end);
    if (behind == 0)
        span->end = end > span->start ? end : span->start;
}

static void put(struct modc_encoder *e, int64_t id, struct modc_span span)
{
    struct modc_tokens *tokens = e->tokens;

    if (tokens->count < tokens->room) {
        tokens->ids[tokens->count] = id;
        if (tokens->spans)
            tokens->spans[tokens->count] = span;
    }
    if (tokens->count < INT32_MAX)
        tokens->count++;
}

static void put_span(struct modc_encoder *e, const struct modc_view *view, int32_t id, size_t from,
                     size_t until, bool added)
{
    struct modc_span span = {0, 0};

    if (e->tokens->spans && e->tokens->count < e->tokens->room && from < until) {
        if (until > view->bytes)
            until = view->bytes;
        span.start = modc_origin(e, view, from).start;
        span.end = modc_origin(e, view, until - 1).end;
        if (e->t->trims)
            trim(e, view->text + from, until - from, added, &span);
    }
    put(e, id, span);
}

void modc_put_token(struct modc_encoder *e, const struct modc_view *view, int32_t id, size_t from,
                    size_t until)
{
    put_span(e, view, id, from, until, false);
}

/* ---- pieces ------------------------------------------------------------------------------------------------- */

static void cut(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until, int stage);

static void model(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until)
{
    if (e->status != MODC_OK || from == until)
        return;
    switch (e->t->model) {
    case MODC_BPE:
        modc_bpe(e, view, from, until);
        break;
    case MODC_UNIGRAM:
        modc_unigram(e, view, from, until);
        break;
    default:
        modc_wordpiece(e, view, from, until);
        break;
    }
}

/* Cuts the bytes from..until at what a pattern matches. `open` is what began and may yet grow. */
static void split(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until, int index)
{
    const struct modc_stage *stage = &e->t->stages[index];
    const unsigned char *s = view->text + from;
    const size_t bytes = until - from;
    const enum modc_behavior behavior = stage->behavior;
    size_t at = 0, open = 0, begin, end;
    bool follows = false; /* the last one was a match */

    while (at < bytes && modc_match(e->t, stage, s, bytes, at, &begin, &end)) {
        const bool apart = begin > at; /* something lies between */

        switch (behavior) {
        case MODC_ISOLATED:
            cut(e, view, from + at, from + begin, index + 1);
            cut(e, view, from + begin, from + end, index + 1);
            break;
        case MODC_REMOVED:
            cut(e, view, from + at, from + begin, index + 1);
            break;
        case MODC_KEPT:
            cut(e, view, from + begin, from + end, index + 1);
            break;
        case MODC_CONTIGUOUS:
            if (apart) {
                cut(e, view, from + open, from + at, index + 1);
                cut(e, view, from + at, from + begin, index + 1);
                open = begin;
            }
            break;
        case MODC_WITH_PREVIOUS:
            cut(e, view, from + at, from + (apart ? end : begin), index + 1);
            if (!apart)
                cut(e, view, from + begin, from + end, index + 1);
            break;
        case MODC_WITH_NEXT:
            if (apart || follows) {
                cut(e, view, from + open, from + begin, index + 1);
                open = begin;
            }
            break;
        }
        follows = true;
        at = end;
    }
    if (behavior == MODC_CONTIGUOUS) {
        cut(e, view, from + open, from + at, index + 1);
        cut(e, view, from + at, until, index + 1);
    } else if (behavior == MODC_WITH_NEXT) {
        cut(e, view, from + open, until, index + 1);
    } else if (behavior != MODC_KEPT) {
        cut(e, view, from + at, until, index + 1);
    }
}

/* Of the bytes from..until a text of its own, with a space in front. */
static void put_space(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until,
                      int index)
{
    unsigned char *const free = e->free;
    struct modc_view own = {
        .bytes = until - from + 1, .base = view->base + from - view->front, .front = 1, .made = view->made};
    unsigned char *text = modc_take(e, own.bytes);

    if (view->front > from) { /* the view itself has something in front */
        own.front += view->front - from;
        own.base = view->base;
    }
    if (text) {
        text[0] = ' ';
        memcpy(text + 1, view->text + from, until - from);
        own.text = text;
    }
    if (text && view->spans) {
        struct modc_span *spans = modc_take(e, own.bytes * sizeof *spans);

        if (spans) {
            spans[0] = view->spans[from];
            memcpy(spans + 1, view->spans + from, (until - from) * sizeof *spans);
        }
        own.spans = spans;
    }
    if (e->status == MODC_OK)
        cut(e, &own, 0, own.bytes, index + 1);
    e->free = free;
}

/* Whether a mark stands in front of a piece. */
static bool has_front(const struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until,
                      const struct modc_stage *stage)
{
    const size_t mark = (size_t)stage->mark_bytes;

    if (view->text[from] == ' ' ||
        (until - from >= mark && memcmp(view->text + from, stage->mark, mark) == 0))
        return false;
    return stage->prepend == MODC_PREPEND_ALWAYS ||
           (stage->prepend == MODC_PREPEND_FIRST && modc_origin(e, view, from).start == 0);
}

/* What the bytes of a text come from that has marks for the spaces of the bytes from..until, and perhaps one in front. */
static void mark_origins(const struct modc_encoder *e, const struct modc_view *view, size_t from,
                         size_t until, size_t mark, bool front, struct modc_span *spans)
{
    for (size_t i = from; i < until; i++) {
        const struct modc_span span = modc_origin(e, view, i);
        size_t count = view->text[i] == ' ' ? mark : 1;

        for (count += front && i == from ? mark : 0; count > 0; count--)
            *spans++ = span;
    }
}

/* The bytes from..until with a mark for each space, and perhaps one in front. */
static void put_marks(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until,
                      int index)
{
    const struct modc_stage *stage = &e->t->stages[index];
    const size_t mark = (size_t)stage->mark_bytes;
    const unsigned char *const end = view->text + until;
    const bool front = has_front(e, view, from, until, stage);
    unsigned char *const free = e->free, *text, *to;
    struct modc_view own = {.bytes = until - from + (front ? mark : 0), .made = true};

    for (const unsigned char *s = view->text + from; (s = memchr(s, ' ', (size_t)(end - s))); s++)
        own.bytes += mark - 1;
    own.text = to = text = modc_take(e, own.bytes);
    if (text && e->origins) {
        struct modc_span *spans = modc_take(e, own.bytes * sizeof *spans);

        if (spans)
            mark_origins(e, view, from, until, mark, front, spans);
        own.spans = spans;
    }
    if (e->status == MODC_OK) {
        if (front)
            memcpy(to, stage->mark, mark);
        to += front ? mark : 0;
        for (const unsigned char *s = view->text + from; s < end;) {
            const unsigned char *space = memchr(s, ' ', (size_t)(end - s));
            const size_t count = (size_t)((space ? space : end) - s);

            memcpy(to, s, count);
            to += count;
            if (space)
                memcpy(to, stage->mark, mark);
            to += space ? mark : 0;
            s += count + (space != NULL);
        }
        cut(e, &own, 0, own.bytes, index + 1);
    }
    e->free = free;
}

/* The bytes from..until by the stages from `index` on. */
static void cut(struct modc_encoder *e, const struct modc_view *view, size_t from, size_t until, int index)
{
    if (from == until || e->status != MODC_OK)
        return;
    if (index == e->t->stage_count) {
        model(e, view, from, until);
        return;
    }
    switch (e->t->stages[index].kind) {
    case MODC_STAGE_SPLIT:
        split(e, view, from, until, index);
        break;
    case MODC_STAGE_SPACE:
        if (view->text[from] == ' ')
            cut(e, view, from, until, index + 1);
        else
            put_space(e, view, from, until, index);
        break;
    case MODC_STAGE_METASPACE:
        put_marks(e, view, from, until, index);
        break;
    }
}

/* ---- added tokens --------------------------------------------------------------------------------------------- */

static bool is_kind_before(const struct modc_encoder *e, const unsigned char *s, size_t at, uint64_t kinds)
{
    if (at == 0)
        return false;

    const size_t begin = modc_before(s, at);

    return is_kind(e, s + begin, at - begin, kinds);
}

struct modc_view modc_part(const struct modc_view *view, size_t from, size_t until)
{
    struct modc_view own = {
        .text = view->text + from, .bytes = until - from, .base = view->base + from, .made = view->made};

    if (view->spans)
        own.spans = view->spans + from;
    return own;
}

typedef void between(struct modc_encoder *e, struct modc_view view);

/* Puts the added tokens of a set that a view has; what lies between them goes to `rest`. */
static void cut_added(struct modc_encoder *e, const struct modc_view *view, const struct modc_added_set *set,
                      between *rest)
{
    const uint64_t words = e->t->word_kinds, spaces = e->t->space_kinds;
    const unsigned char *s = view->text;
    const size_t bytes = view->bytes;
    size_t done = 0;

    for (size_t at = 0; set->count > 0 && at < bytes && e->status == MODC_OK;) {
        const struct modc_added *added = modc_find_added(e->t, set, s + at, bytes - at);
        size_t start = at, stop;

        if (!added) {
            at++;
            continue;
        }
        stop = at += added->length;
        if ((added->flags & MODC_ADDED_SPECIAL) && (e->flags & MODC_ALL_TEXT))
            continue;
        if ((added->flags & MODC_ADDED_WORD) &&
            (is_kind_before(e, s, start, words) || is_kind(e, s + stop, bytes - stop, words)))
            continue;
        if (added->flags & MODC_ADDED_LSTRIP) {
            while (start > done && is_kind_before(e, s, start, spaces))
                start = modc_before(s, start);
            start = start < done ? done : start;
        }
        if (added->flags & MODC_ADDED_RSTRIP)
            while (is_kind(e, s + stop, bytes - stop, spaces))
                stop += (size_t)modc_character(s + stop, bytes - stop, &(uint32_t){0});
        if (done < start)
            rest(e, modc_part(view, done, start));
        put_span(e, view, added->id, start, stop, true);
        done = stop;
    }
    if (done < bytes && e->status == MODC_OK)
        rest(e, modc_part(view, done, bytes));
}

static void pieces(struct modc_encoder *e, struct modc_view view)
{
    cut(e, &view, 0, view.bytes, 0);
}

static void normal(struct modc_encoder *e, struct modc_view view)
{
    unsigned char *const free = e->free;

    if (e->t->step_count == 0 || modc_normalise(e, &view))
        cut_added(e, &view, &e->t->added_normal, pieces);
    e->free = free;
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

/* Whether it counts what texts that are made come from: for spans, and for a mark that only the text's first piece has, where that is not
 * cut out of the caller's text. */
static bool needs_origins(const struct modc_tokenizer *t, const struct modc_tokens *tokens)
{
    bool made = t->step_count > 0;

    for (int i = 0; i < t->stage_count; i++) {
        if (t->stages[i].kind == MODC_STAGE_METASPACE && t->stages[i].prepend == MODC_PREPEND_FIRST && made)
            return true;
        made |= t->stages[i].kind != MODC_STAGE_SPLIT;
    }
    return tokens->spans != NULL;
}

size_t modc_encode_bytes(const struct modc_tokenizer *t, size_t bytes)
{
    const size_t rate = (size_t)t->workspace_rate, rest = (size_t)t->workspace_rest;

    return bytes > (SIZE_MAX - rest) / rate ? SIZE_MAX : bytes * rate + rest;
}

enum modc_status modc_encode(const struct modc_tokenizer *t, const char *text, size_t bytes, unsigned flags,
                             struct modc_tokens *tokens, void *workspace, size_t workspace_bytes)
{
    struct modc_encoder e = {.t = t, .bytes = bytes, .flags = flags, .tokens = tokens};
    const bool around = !(flags & MODC_NO_TEMPLATE);

    if (!t || !tokens || (!text && bytes > 0) || (!tokens->ids && tokens->room > 0))
        return MODC_POINTER;
    tokens->count = 0;
    if (bytes > INT32_MAX || tokens->room < 0)
        return MODC_SIZE;
    if (workspace && (uintptr_t)workspace % MODC_ALIGN != 0)
        return MODC_ALIGNMENT;
    e.text = (const unsigned char *)text;
    e.origins = needs_origins(t, tokens);
    e.free = workspace ? (unsigned char *)workspace : (unsigned char *)&e;
    e.end = e.free + (workspace ? workspace_bytes : 0);
    for (int i = 0; around && i < t->before_count; i++)
        put(&e, t->before[i], (struct modc_span){0, 0});
    e.first = tokens->count;
    if (bytes > 0) {
        const struct modc_view view = {.text = e.text, .bytes = bytes};

        cut_added(&e, &view, &t->added, normal);
    }
    for (int i = 0; around && i < t->behind_count; i++)
        put(&e, t->behind[i], (struct modc_span){0, 0});
    if (e.status == MODC_OK && tokens->count > tokens->room)
        return MODC_SIZE;
    return e.status;
}

/* ---- tokens ------------------------------------------------------------------------------------------------- */

static bool is_token(const struct modc_tokenizer *t, int64_t id)
{
    return id >= 0 && id < t->vocabulary && !(t->flags[id] & MODC_TOKEN_NONE);
}

/* What normalisers made of an added token, or NULL. */
static const struct modc_added *renamed(const struct modc_tokenizer *t, int64_t id)
{
    for (int i = 0; (t->flags[id] & MODC_TOKEN_RENAMED) && i < t->added_normal.count; i++)
        if (t->added_normal.list[i].id == id)
            return &t->added_normal.list[i];
    return NULL;
}

int64_t modc_token_id(const struct modc_tokenizer *t, const char *token, size_t bytes)
{
    for (int i = 0; i < t->added.count + t->added_normal.count; i++) {
        const struct modc_added *added = i < t->added.count ? &t->added.list[i]
                                                            : &t->added_normal.list[i - t->added.count];
        const uint32_t start = t->starts[added->id];

        if (t->starts[added->id + 1] - start == bytes && memcmp(t->bytes + start, token, bytes) == 0)
            return added->id;
        if (added == renamed(t, added->id) && added->length == bytes &&
            memcmp(t->added_bytes + added->at, token, bytes) == 0)
            return added->id;
    }
    return modc_find(t, (const unsigned char *)token, bytes);
}

const char *modc_token_text(const struct modc_tokenizer *t, int64_t id, size_t *bytes)
{
    const struct modc_added *added;

    *bytes = 0;
    if (!is_token(t, id))
        return NULL;
    added = renamed(t, id);
    if (added) {
        *bytes = added->length;
        return t->added_bytes + added->at;
    }
    *bytes = t->starts[id + 1] - t->starts[id];
    return (const char *)t->bytes + t->starts[id];
}

bool modc_token_is_special(const struct modc_tokenizer *t, int64_t id)
{
    return is_token(t, id) && (t->flags[id] & MODC_TOKEN_SPECIAL) != 0;
}
