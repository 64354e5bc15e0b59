/* modc_tokenizer_text.c - normalisers: what is made of a text before it is cut into pieces. Each step writes a text of its own, with
 * what every byte of it comes from, which then takes the place of the one before. */
#include "modc_tokenizer_parts.h"

/* A text that a step makes. */
struct made {
    struct modc_encoder *e;
    unsigned char *text;
    struct modc_span *spans; /* NULL: nobody asks for them */
    size_t room, count;
};

static void add_bytes(struct made *made, const void *bytes, size_t count, struct modc_span span)
{
    if (count > made->room - made->count) {
        made->e->status = MODC_WORKSPACE;
        return;
    }
    memcpy(made->text + made->count, bytes, count);
    for (size_t i = 0; made->spans && i < count; i++)
        made->spans[made->count + i] = span;
    made->count += count;
}

/* Bytes of a view as they are. */
static void add_run(struct made *made, const struct modc_view *view, size_t from, size_t until)
{
    if (until - from > made->room - made->count) {
        made->e->status = MODC_WORKSPACE;
        return;
    }
    memcpy(made->text + made->count, view->text + from, until - from);
    for (size_t i = from; made->spans && i < until; i++)
        made->spans[made->count + i - from] = modc_origin(made->e, view, i);
    made->count += until - from;
}

static void add_character(struct made *made, uint32_t character, struct modc_span span)
{
    unsigned char bytes[4];

    add_bytes(made, bytes, (size_t)modc_put_utf8(bytes, character), span);
}

/* ---- tables --------------------------------------------------------------------------------------------------- */

/* Where a sorted list has a value, or -1. */
static int search(const uint32_t *list, int count, uint32_t value)
{
    int first = 0, until = count;

    while (first < until) {
        const int middle = first + (until - first) / 2;

        if (list[middle] < value)
            first = middle + 1;
        else
            until = middle;
    }
    return first < count && list[first] == value ? first : -1;
}

/* What a character becomes; NULL: it stays. */
static const uint32_t *mapped(const struct modc_mapping *mapping, uint32_t character, int *count)
{
    const int found = search(mapping->from, mapping->count, character);

    if (found < 0)
        return NULL;
    *count = mapping->at[found + 1] - mapping->at[found];
    return mapping->to + mapping->at[found];
}

static int class_of(const struct modc_unicode *unicode, uint32_t character)
{
    const int found = character < 0x300 ? -1 : search(unicode->class_from, unicode->class_count, character);

    return found < 0 ? 0 : unicode->class_of[found];
}

enum {
    HANGUL = 0xac00,
    LEADS = 0x1100,
    VOWELS = 0x1161,
    TRAILS = 0x11a7,
    LEAD_COUNT = 19,
    VOWEL_COUNT = 21,
    TRAIL_COUNT = 28,
    HANGUL_COUNT = LEAD_COUNT * VOWEL_COUNT * TRAIL_COUNT
};

/* What two characters are together; 0: nothing. */
static uint32_t composed(const struct modc_unicode *unicode, uint32_t first, uint32_t second)
{
    int low = 0, until = unicode->pair_count;

    if (first - LEADS < LEAD_COUNT && second - VOWELS < VOWEL_COUNT)
        return HANGUL + ((first - LEADS) * VOWEL_COUNT + (second - VOWELS)) * TRAIL_COUNT;
    if (first - HANGUL < HANGUL_COUNT && (first - HANGUL) % TRAIL_COUNT == 0 &&
        second - TRAILS - 1 < TRAIL_COUNT - 1)
        return first + (second - TRAILS);
    while (low < until) {
        const int middle = low + (until - low) / 2;
        const uint32_t *pair = unicode->pairs + 3 * middle;

        if (pair[0] == first && pair[1] == second)
            return pair[2];
        if (pair[0] < first || (pair[0] == first && pair[1] < second))
            low = middle + 1;
        else
            until = middle;
    }
    return 0;
}

/* ---- normal forms --------------------------------------------------------------------------------------------- */

/* A character on its way. `added`: 1 for each that it has more than there were, less for each that it took in. */
struct letter {
    uint32_t character;
    int32_t added;
    uint8_t combining; /* its class */
};

/* Puts letters in the order of their classes, those of one class as they came: of a run that has them. */
static void sort_run(struct letter *letters, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct letter own = letters[i];
        size_t at = i;

        for (; at > 0 && letters[at - 1].combining > own.combining; at--)
            letters[at] = letters[at - 1];
        letters[at] = own;
    }
}

/* One that has no byte of UTF-8 is kept apart by its number, which no character has. */
enum { RAW = 0x200000 };

static size_t decompose(const struct modc_unicode *unicode, bool compatible, uint32_t character,
                        struct letter *letters)
{
    const uint32_t *made = NULL;
    int count = 0;

    if (character - HANGUL < HANGUL_COUNT) {
        const uint32_t index = character - HANGUL, trail = index % TRAIL_COUNT;

        letters[0] = (struct letter){LEADS + index / (VOWEL_COUNT * TRAIL_COUNT), 0, 0};
        letters[1] = (struct letter){VOWELS + index / TRAIL_COUNT % VOWEL_COUNT, 1, 0};
        letters[2] = (struct letter){TRAILS + trail, 1, 0};
        return trail > 0 ? 3 : 2;
    }
    if (compatible)
        made = mapped(&unicode->compatible, character, &count);
    if (!made)
        made = mapped(&unicode->canonical, character, &count);
    if (!made) {
        letters[0] = (struct letter){character, 0, (uint8_t)class_of(unicode, character)};
        return 1;
    }
    for (int i = 0; i < count; i++)
        letters[i] = (struct letter){made[i], i > 0, (uint8_t)class_of(unicode, made[i])};
    return (size_t)count;
}

/* The composition of letters in their order, in place; how many are left. */
static size_t compose(const struct modc_unicode *unicode, struct letter *letters, size_t count)
{
    size_t kept = 0, starter = SIZE_MAX;
    int last = -1; /* class of the letter in front, behind the starter */

    for (size_t i = 0; i < count; i++) {
        const struct letter own = letters[i];

        if (starter != SIZE_MAX && (last < 0 || last < own.combining)) {
            const uint32_t both = composed(unicode, letters[starter].character, own.character);

            if (both) {
                letters[starter].character = both;
                letters[starter].added += own.added - 1;
                continue;
            }
        }
        if (own.combining == 0) {
            starter = kept;
            last = -1;
        } else if (starter != SIZE_MAX) {
            last = own.combining;
        }
        letters[kept++] = own;
    }
    return kept;
}

/* All of a view as letters, decomposed; NULL where they have no room. */
static struct letter *letters_of(struct modc_encoder *e, const struct modc_view *view, bool compatible,
                                 size_t *count)
{
    const size_t most = (size_t)e->t->letter_rate * view->bytes;
    struct letter *letters = modc_take(e, (most + 20) * sizeof *letters);
    size_t run = 0, n = 0; /* run: where letters begin that have classes */

    for (size_t at = 0; letters && at < view->bytes;) {
        uint32_t character;
        const int bytes = modc_utf8(view->text + at, view->bytes - at, &character);
        const size_t own = decompose(e->t->unicode, compatible,
                                     bytes ? character : (uint32_t)RAW + view->text[at], letters + n);

        for (size_t i = n; i < n + own; i++) {
            if (letters[i].combining == 0) {
                sort_run(letters + run, i - run);
                run = i + 1;
            }
        }
        n += own;
        at += bytes ? (size_t)bytes : 1;
    }
    if (letters)
        sort_run(letters + run, n - run);
    *count = n;
    return letters;
}

/* The character of a view at `at`: what it comes from; how many bytes it has. */
static struct modc_span span_at(const struct modc_encoder *e, const struct modc_view *view, size_t at,
                                size_t *bytes)
{
    uint32_t character;

    *bytes = (size_t)modc_character(view->text + at, view->bytes - at, &character);
    return modc_origin(e, view, at);
}

/* Letters that become text. Each takes as many characters of the view as it did when it was made of them; one that is added comes from
 * the character in front. */
struct writer {
    struct made *made;
    const struct modc_view *view;
    struct modc_span span;
    size_t at, bytes;
};

static void add_letter(struct writer *w, struct letter letter)
{
    struct modc_encoder *const e = w->made->e;

    if (letter.added <= 0) {
        if (w->at < w->view->bytes)
            w->span = span_at(e, w->view, w->at, &w->bytes);
        w->at += w->bytes;
    }
    if (letter.character >= RAW) {
        const unsigned char byte = (unsigned char)(letter.character - RAW);

        add_bytes(w->made, &byte, 1, w->span);
    } else {
        add_character(w->made, letter.character, w->span);
    }
    for (int32_t more = letter.added; more < 0 && w->at < w->view->bytes; more++) {
        span_at(e, w->view, w->at, &w->bytes);
        w->at += w->bytes;
    }
    if (letter.added < 0 && w->at > 0)
        w->span = modc_origin(e, w->view, w->at - 1);
}

/* Nothing below U+0300 is decomposed by NFC, and nothing of ASCII by any form. */
static bool is_normal(const struct modc_view *view, enum modc_step_kind kind)
{
    const unsigned char least = kind == MODC_STEP_NFC ? 0xcc : 0x80;

    for (size_t i = 0; i < view->bytes; i++)
        if (view->text[i] >= least)
            return false;
    return true;
}

static void normal_form(struct made *made, const struct modc_view *view, enum modc_step_kind kind)
{
    struct modc_encoder *const e = made->e;
    struct writer writer = {.made = made, .view = view};
    size_t count;
    struct letter *letters = letters_of(e, view, kind == MODC_STEP_NFKC || kind == MODC_STEP_NFKD, &count);

    if (!letters)
        return;
    if (kind == MODC_STEP_NFC || kind == MODC_STEP_NFKC)
        count = compose(e->t->unicode, letters, count);
    for (size_t i = 0; i < count; i++)
        add_letter(&writer, letters[i]);
}

/* ---- maps of characters: note [clusters] in modc_tokenizer.h --------------------------------------------------------- */

enum { CLUSTER = 5 }; /* bytes of a cluster that is looked for as a whole */

/* What is made of a text by its map: the last letter waits, since what goes behind it counts as its own. */
struct mapper {
    const struct modc_charsmap *map;
    struct writer writer;
    struct letter last;
    bool waits;
};

static void flush(struct mapper *m)
{
    if (m->waits)
        add_letter(&m->writer, m->last);
    m->waits = false;
}

static void put_letter(struct mapper *m, uint32_t character, int32_t added)
{
    flush(m);
    m->last = (struct letter){character, added, 0};
    m->waits = true;
}

/* What the shortest text of the map becomes that these bytes begin with; NULL: there is none. */
static const char *in_map(const struct modc_charsmap *map, const unsigned char *s, size_t bytes)
{
    uint32_t unit = map->trie[0];

    for (size_t i = 0; i < bytes && modc_trie_step(map->trie, &unit, s[i]); i++)
        if (unit & MODC_TRIE_ENDS)
            return map->texts + modc_trie_value(map->trie, unit);
    return NULL;
}

/* So many characters become a text, which may be empty. */
static void put_text(struct mapper *m, int32_t count, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t left = strlen(text);

    for (uint32_t character; left > 0; count--) {
        const size_t bytes = (size_t)modc_character(s, left, &character);

        put_letter(m, character, count <= 0);
        s += bytes;
        left -= bytes;
    }
    if (count > 0 && m->waits)
        m->last.added -= count;
}

/* The bytes of a character as a map has it: U+FFFD for a byte that is no UTF-8. How many it has in the text. */
static size_t key_of(const unsigned char *s, size_t bytes, uint32_t *character, unsigned char *key,
                     size_t *key_bytes)
{
    const size_t own = (size_t)modc_utf8(s, bytes, character);

    *key_bytes = (size_t)modc_put_utf8(key, own > 0 ? *character : MODC_NO_CHARACTER);
    if (own == 0)
        *character = (uint32_t)RAW + s[0];
    return own > 0 ? own : 1;
}

/* A cluster as a whole; false where it is too long for that, or not in the map. */
static bool put_whole(struct mapper *m, const unsigned char *s, size_t bytes)
{
    unsigned char key[CLUSTER + 4];
    size_t count = 0, own;
    int32_t characters = 0;
    uint32_t character;
    const char *text;

    for (size_t at = 0; at < bytes; characters++) {
        at += key_of(s + at, bytes - at, &character, key + count, &own);
        count += own;
        if (count > CLUSTER)
            return false;
    }
    text = in_map(m->map, key, count);
    if (text)
        put_text(m, characters, text);
    return text != NULL;
}

static void put_cluster(struct mapper *m, const unsigned char *s, size_t bytes)
{
    unsigned char key[4];
    size_t key_bytes;
    uint32_t character;

    if (put_whole(m, s, bytes))
        return;
    for (size_t at = 0; at < bytes;) {
        at += key_of(s + at, bytes - at, &character, key, &key_bytes);

        const char *text = in_map(m->map, key, key_bytes);

        if (text)
            put_text(m, 1, text);
        else
            put_letter(m, character, 0);
    }
}

/* Whether a byte is a cluster of its own that stays, where the next one is none of a longer character. */
static bool stays(const struct modc_charsmap *map, unsigned char byte)
{
    return byte < 0x80 && byte != '\r' && !in_map(map, &byte, 1);
}

static void map_characters(struct made *made, const struct modc_view *view, const struct modc_step *step)
{
    struct mapper m = {.map = step->charsmap, .writer = {.made = made, .view = view}};

    for (size_t at = 0, bytes; at < view->bytes && made->e->status == MODC_OK; at += bytes) {
        const unsigned char *s = view->text + at;

        if (stays(m.map, s[0]) && (at + 1 == view->bytes || s[1] < 0x80)) {
            put_letter(&m, s[0], 0);
            bytes = 1;
        } else {
            bytes = modc_cluster(made->e->t, m.map, s, view->bytes - at);
            put_cluster(&m, s, bytes);
        }
    }
    flush(&m);
}

/* Whether nothing of a text is in a map. */
static bool stays_all(const struct modc_view *view, const struct modc_charsmap *map)
{
    for (size_t i = 0; i < view->bytes; i++)
        if (!stays(map, view->text[i]))
            return false;
    return true;
}

/* ---- characters one by one ------------------------------------------------------------------------------------ */

static void each_character(struct made *made, const struct modc_view *view, const struct modc_step *step)
{
    const struct modc_tokenizer *t = made->e->t;
    size_t bytes;

    for (size_t at = 0; at < view->bytes && made->e->status == MODC_OK; at += bytes) {
        const struct modc_span span = span_at(made->e, view, at, &bytes);
        uint32_t character;
        const bool valid = modc_utf8(view->text + at, view->bytes - at, &character) > 0;
        const uint64_t kind = step->kinds ? modc_kind(t, valid ? character : MODC_NO_CHARACTER) : 0;
        const uint32_t *to = NULL;
        int count = 0;

        switch (step->kind) {
        case MODC_STEP_LOWERCASE:
            to = valid ? mapped(&t->unicode->lower, character, &count) : NULL;
            break;
        case MODC_STEP_CLEAN:
            if (kind & step->kinds)
                continue;
            if (kind & step->more_kinds) {
                add_bytes(made, " ", 1, span);
                continue;
            }
            break;
        case MODC_STEP_STRIP_ACCENTS:
            if (kind & step->kinds)
                continue;
            break;
        case MODC_STEP_HAN:
            if (kind & step->kinds) {
                add_bytes(made, " ", 1, span);
                add_bytes(made, view->text + at, bytes, span);
                add_bytes(made, " ", 1, span);
                continue;
            }
            break;
        default:
            break;
        }
        for (int i = 0; i < count; i++)
            add_character(made, to[i], span);
        if (!to)
            add_bytes(made, view->text + at, bytes, span);
    }
}

/* The next match of a step at `from` or behind it. */
static bool find(const struct modc_encoder *e, const struct modc_view *view, const struct modc_step *step,
                 size_t from, size_t *begin, size_t *end)
{
    const unsigned char *s = view->text;
    const size_t length = (size_t)step->from_bytes;

    if (step->pattern)
        return modc_match(e->t, step->pattern, s, view->bytes, from, begin, end);
    for (; from + length <= view->bytes; from = *begin + 1) {
        const unsigned char *found = memchr(s + from, (unsigned char)step->from[0], view->bytes - from);

        if (!found || view->bytes - (size_t)(found - s) < length)
            return false;
        *begin = (size_t)(found - s);
        *end = *begin + length;
        if (memcmp(found, step->from, length) == 0)
            return true;
    }
    return false;
}

static void replace(struct made *made, const struct modc_view *view, const struct modc_step *step)
{
    size_t at = 0, begin, end;

    while (find(made->e, view, step, at, &begin, &end) && made->e->status == MODC_OK) {
        add_run(made, view, at, begin);
        add_bytes(made, step->to, (size_t)step->to_bytes, modc_origin(made->e, view, end - 1));
        at = end;
    }
    add_run(made, view, at, view->bytes);
}

static bool is_white(const struct modc_encoder *e, const unsigned char *s, size_t bytes, uint64_t kinds)
{
    uint32_t character;

    modc_character(s, bytes, &character);
    return (modc_kind(e->t, character) & kinds) != 0;
}

/* The view without what is white at its ends; nothing is made for it. */
static void strip(const struct modc_encoder *e, struct modc_view *view, const struct modc_step *step)
{
    size_t from = 0, until = view->bytes, bytes;

    while ((step->flags & 1) && from < until && is_white(e, view->text + from, until - from, step->kinds)) {
        span_at(e, view, from, &bytes);
        from += bytes;
    }
    while ((step->flags & 2) && until > from) {
        const size_t begin = modc_before(view->text, until);

        if (!is_white(e, view->text + begin, until - begin, step->kinds))
            break;
        until = begin;
    }
    *view = modc_part(view, from, until);
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static bool changes(const struct modc_encoder *e, const struct modc_view *view, const struct modc_step *step)
{
    size_t begin, end;

    switch (step->kind) {
    case MODC_STEP_NFC:
    case MODC_STEP_NFD:
    case MODC_STEP_NFKC:
    case MODC_STEP_NFKD:
        return !is_normal(view, step->kind);
    case MODC_STEP_REPLACE:
        return find(e, view, step, 0, &begin, &end);
    case MODC_STEP_CHARSMAP:
        return !stays_all(view, step->charsmap);
    default:
        return view->bytes > 0;
    }
}

static void make(struct made *made, const struct modc_view *view, const struct modc_step *step)
{
    switch (step->kind) {
    case MODC_STEP_NFC:
    case MODC_STEP_NFD:
    case MODC_STEP_NFKC:
    case MODC_STEP_NFKD:
        normal_form(made, view, step->kind);
        break;
    case MODC_STEP_REPLACE:
        replace(made, view, step);
        break;
    case MODC_STEP_CHARSMAP:
        map_characters(made, view, step);
        break;
    case MODC_STEP_PREPEND:
        add_bytes(made, step->to, (size_t)step->to_bytes, modc_origin(made->e, view, 0));
        add_run(made, view, 0, view->bytes);
        break;
    default:
        each_character(made, view, step);
        break;
    }
}

/* A text that a step makes takes the place of the view, which lies in the workspace from `start` on, or nowhere in it. */
static bool step_text(struct modc_encoder *e, struct modc_view *view, const struct modc_step *step,
                      unsigned char *start)
{
    struct made made = {.e = e};

    made.room = view->bytes * (size_t)step->growth + (size_t)step->to_bytes;
    made.spans = e->origins ? modc_take(e, made.room * sizeof *made.spans) : NULL;
    made.text = modc_take(e, made.room);
    if (e->status != MODC_OK)
        return false;
    make(&made, view, step);
    e->free = start;
    if (made.spans) {
        memmove(start, made.spans, made.count * sizeof *made.spans);
        made.spans = modc_take(e, made.count * sizeof *made.spans);
    }
    memmove(e->free, made.text, made.count);
    *view = (struct modc_view){
        .text = modc_take(e, made.count), .bytes = made.count, .spans = made.spans, .made = true};
    return e->status == MODC_OK;
}

/* Some of the steps, one after the other. */
static bool apply(struct modc_encoder *e, struct modc_view *view, int first, int until, unsigned char *start)
{
    for (int i = first; i < until && e->status == MODC_OK; i++) {
        const struct modc_step *step = &e->t->steps[i];

        if (step->kind == MODC_STEP_STRIP)
            strip(e, view, step);
        else if (changes(e, view, step))
            step_text(e, view, step, start);
    }
    return e->status == MODC_OK;
}

/* note [plain characters]: whether a byte is one, and what stands behind it, too, or nothing does. */
static inline bool is_plain(const struct modc_view *view, size_t at, const uint8_t *plain)
{
    return plain[view->text[at]] != MODC_PLAIN_NOT &&
           (at + 1 == view->bytes || plain[view->text[at + 1]] != MODC_PLAIN_NOT);
}

/* The plain characters from `at` on; behind them. */
static size_t add_plain(struct made *made, const struct modc_view *view, size_t at, const uint8_t *plain)
{
    unsigned char *to = made->text + made->count;

    for (; at < view->bytes && is_plain(view, at, plain); at++) {
        *to = plain[view->text[at]];
        to += *to < 0x80;
    }
    made->count = (size_t)(to - made->text);
    return at;
}

/* Steps at once, where nobody asks what their text comes from: those characters that are not plain go through them one by one. */
static bool step_plain(struct modc_encoder *e, struct modc_view *view, int first, unsigned char *start)
{
    const struct modc_step *step = &e->t->steps[first];
    const uint8_t *plain = step->plain;
    struct made made = {.e = e, .room = view->bytes};

    for (int i = first; i < first + step->plain_steps; i++)
        made.room = made.room * (size_t)e->t->steps[i].growth;
    made.text = modc_take(e, made.room);
    for (size_t at = 0, end; made.text && at < view->bytes; at = end) {
        unsigned char *const free = e->free;
        struct modc_view part;

        at = end = add_plain(&made, view, at, plain);
        while (end < view->bytes && !is_plain(view, end, plain))
            end++;
        end += end < view->bytes; /* what stands between two plain ones is apart */
        part = modc_part(view, at, end);
        if (at < end && apply(e, &part, first, first + step->plain_steps, free))
            add_run(&made, &part, 0, part.bytes);
        e->free = free;
        if (e->status != MODC_OK)
            return false;
    }
    if (!made.text)
        return false;
    e->free = start;
    memmove(start, made.text, made.count);
    *view = (struct modc_view){.text = modc_take(e, made.count), .bytes = made.count, .made = true};
    return e->status == MODC_OK;
}

static bool is_same(const struct modc_view *view, const uint8_t *plain)
{
    for (size_t i = 0; i < view->bytes; i++)
        if (plain[view->text[i]] != view->text[i] || view->text[i] >= 0x80)
            return false;
    return true;
}

bool modc_normalise(struct modc_encoder *e, struct modc_view *view)
{
    unsigned char *const start = e->free;

    for (int i = 0, count; i < e->t->step_count && e->status == MODC_OK; i += count) {
        const struct modc_step *step = &e->t->steps[i];

        count = step->plain && !e->origins ? step->plain_steps : 1;
        if (!step->plain || e->origins)
            apply(e, view, i, i + 1, start);
        else if (!is_same(view, step->plain))
            step_plain(e, view, i, start);
    }
    return e->status == MODC_OK;
}
