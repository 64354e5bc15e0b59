/* tokenizer_text.c - the section `normalizer`. */
#include "tokenizer/tokenizer_reader.h"

#include <string.h>

#include "modc_tokenizer_parts.h"

enum { MOST_GROWTH = 1 << 20 }; /* bytes that all steps make of a byte */

static bool add_step(struct tokenizer_reader *r, const struct json *json, const char *path,
                     struct modc_step step)
{
    int64_t growth = step.growth; /* with all steps before it */

    if (r->t->step_count == MODC_MAX_STEPS)
        return tokenizer_refuse(r, json, path, "there are more than %d steps", MODC_MAX_STEPS);
    for (int i = 0; i < r->t->step_count; i++)
        growth *= r->t->steps[i].growth;
    if (growth > MOST_GROWTH)
        return tokenizer_refuse(r, json, path, "a text could become more than %d times as long", MOST_GROWTH);
    r->t->steps[r->t->step_count++] = step;
    return true;
}

static struct modc_step *last_step(struct tokenizer_reader *r)
{
    return &r->t->steps[r->t->step_count - 1];
}

/* The mask of a step's kinds; steps are not moved. */
static void add_kinds(struct tokenizer_reader *r, enum unicode_set set, uint64_t *mask)
{
    struct characters *characters = characters_new(&r->cx->arena);

    characters_add_set(characters, set);
    tokenizer_add_set(r, characters, mask);
}

static struct modc_unicode *need_unicode(struct tokenizer_reader *r)
{
    if (!r->t->unicode)
        r->t->unicode = ARENA_NEW(&r->cx->arena, struct modc_unicode);
    return (struct modc_unicode *)r->t->unicode;
}

static bool read_form(struct tokenizer_reader *r, const struct json *json, const char *path,
                      enum modc_step_kind kind)
{
    const bool compatible = kind == MODC_STEP_NFKC || kind == MODC_STEP_NFKD;
    struct modc_unicode *unicode = need_unicode(r);

    unicode->canonical = unicode_mappings.canonical;
    unicode->class_from = unicode_mappings.class_from;
    unicode->class_of = unicode_mappings.class_of;
    unicode->class_count = unicode_mappings.class_count;
    if (compatible)
        unicode->compatible = unicode_compatible;
    if (kind == MODC_STEP_NFC || kind == MODC_STEP_NFKC) {
        unicode->pairs = unicode_mappings.pairs;
        unicode->pair_count = unicode_mappings.pair_count;
    }
    if (r->t->letter_rate < (compatible ? 6 : 2))
        r->t->letter_rate = compatible ? 6 : 2;
    return add_step(r, json, path, (struct modc_step){.kind = kind, .growth = compatible ? 12 : 3});
}

static bool read_lowercase(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    need_unicode(r)->lower = unicode_mappings.lower;
    return add_step(r, json, path, (struct modc_step){.kind = MODC_STEP_LOWERCASE, .growth = 2});
}

static bool read_accents(struct tokenizer_reader *r, const struct json *json, const char *path,
                         enum unicode_set set)
{
    if (!add_step(r, json, path, (struct modc_step){.kind = MODC_STEP_STRIP_ACCENTS, .growth = 1}))
        return false;
    add_kinds(r, set, &last_step(r)->kinds);
    return true;
}

static bool read_strip(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    bool left = true, right = true;

    if (!tokenizer_keys(r, json, path, "type strip_left strip_right") ||
        !tokenizer_bool(r, json, path, "strip_left", &left) ||
        !tokenizer_bool(r, json, path, "strip_right", &right) ||
        !add_step(r, json, path,
                  (struct modc_step){
                      .kind = MODC_STEP_STRIP, .growth = 1, .flags = (left ? 1u : 0u) | (right ? 2u : 0u)}))
        return false;
    add_kinds(r, UNICODE_BLANK, &last_step(r)->kinds);
    return true;
}

static bool read_replace(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *content = NULL, *pattern = json_member(json, "pattern");
    const struct json *from = json_member(pattern, "String"), *regex = json_member(pattern, "Regex");
    struct modc_step step = {.kind = MODC_STEP_REPLACE};
    int least = 1; /* bytes of what is replaced */

    if (!tokenizer_keys(r, json, path, "type pattern content") ||
        !tokenizer_text(r, json, path, "content", &content))
        return false;
    step.to = content ? content->text : "";
    step.to_bytes = content ? (int)content->bytes : 0;
    path = tokenizer_path(r, path, "pattern", -1);
    if (regex && regex->kind == JSON_STRING) {
        struct modc_stage *stage = ARENA_NEW(&r->cx->arena, struct modc_stage);

        step.pattern = stage;
        if (!regex_read(r, regex, tokenizer_path(r, path, "Regex", -1), regex->text, regex->bytes, stage))
            return false;
        least = regex_least(r, stage);
    } else if (from && from->kind == JSON_STRING && from->bytes > 0) {
        step.from = from->text;
        step.from_bytes = (int)from->bytes;
        least = step.from_bytes;
    } else {
        return tokenizer_refuse(r, pattern ? pattern : json, path,
                                "expected {\"String\": ...} or {\"Regex\": ...}");
    }
    step.growth = step.to_bytes > least ? (step.to_bytes + least - 1) / least : 1;
    return add_step(r, json, path, step);
}

static bool read_precompiled(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *map = NULL;
    struct modc_step step = {.kind = MODC_STEP_CHARSMAP};
    const char *own = tokenizer_path(r, path, "precompiled_charsmap", -1);

    if (!tokenizer_keys(r, json, path, "type precompiled_charsmap") ||
        !tokenizer_text(r, json, path, "precompiled_charsmap", &map))
        return false;
    if (!map)
        return tokenizer_refuse(r, json, own, "it is missing");
    return charsmap_read(r, map, own, &step.charsmap, &step.growth) && add_step(r, json, path, step);
}

static bool read_prepend(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *text = NULL;

    if (!tokenizer_keys(r, json, path, "type prepend") || !tokenizer_text(r, json, path, "prepend", &text))
        return false;
    if (!text || text->bytes == 0)
        return true;
    return add_step(
        r, json, path,
        (struct modc_step){
            .kind = MODC_STEP_PREPEND, .to = text->text, .to_bytes = (int)text->bytes, .growth = 1});
}

/* In the order in which BERT's goes. */
static bool read_bert(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    bool clean = true, han = true, lower = true, accents = true;

    if (!tokenizer_keys(r, json, path, "type clean_text handle_chinese_chars strip_accents lowercase") ||
        !tokenizer_bool(r, json, path, "clean_text", &clean) ||
        !tokenizer_bool(r, json, path, "handle_chinese_chars", &han) ||
        !tokenizer_bool(r, json, path, "lowercase", &lower))
        return false;
    accents = lower; /* where nothing is said */
    if (!tokenizer_bool(r, json, path, "strip_accents", &accents))
        return false;
    if (clean) {
        if (!add_step(r, json, path, (struct modc_step){.kind = MODC_STEP_CLEAN, .growth = 1}))
            return false;
        add_kinds(r, UNICODE_CONTROL, &last_step(r)->kinds);
        add_kinds(r, UNICODE_CLEANED, &last_step(r)->more_kinds);
    }
    if (han) {
        if (!add_step(r, json, path, (struct modc_step){.kind = MODC_STEP_HAN, .growth = 2}))
            return false;
        add_kinds(r, UNICODE_IDEOGRAPH, &last_step(r)->kinds);
    }
    if (accents &&
        !(read_form(r, json, path, MODC_STEP_NFD) && read_accents(r, json, path, UNICODE_ACCENT_OF_BERT)))
        return false;
    return !lower || read_lowercase(r, json, path);
}

/* ---- plain characters: the note in modc_tokenizer.h -------------------------------------------------------------------- */

static bool goes_by_characters(enum modc_step_kind kind)
{
    return kind != MODC_STEP_STRIP && kind != MODC_STEP_REPLACE && kind != MODC_STEP_PREPEND;
}

/* What a row of steps makes of each byte. What a map of characters takes away counts as a part of the character in front of it, and a
 * carriage return may be of one cluster with what follows. A normal form makes one of characters between which another step has taken
 * away what stood there. */
static const uint8_t *plain_of(struct tokenizer_reader *r, const struct modc_step *steps, int count)
{
    enum { ROOM = 1 << 16 };
    struct modc_tokenizer alone = *r->t;
    struct modc_tokens tokens = {0};
    uint8_t *plain = ARENA_ARRAY(&r->cx->arena, 256, uint8_t);
    unsigned char *workspace = arena_alloc(&r->cx->arena, ROOM);
    bool maps = false, joins = false; /* joins: nothing may go before all steps have seen it between others */

    memcpy(alone.steps, steps, (size_t)count * sizeof *steps);
    alone.step_count = count;
    for (int i = 0; i < count; i++) {
        maps |= steps[i].kind == MODC_STEP_CHARSMAP;
        joins |= steps[i].kind == MODC_STEP_CHARSMAP || steps[i].kind <= MODC_STEP_NFKD;
    }
    memset(plain, MODC_PLAIN_NOT, 256);
    for (int c = 0; c < 0x80; c++) {
        const unsigned char byte = (unsigned char)c;
        struct modc_view view = {.text = &byte, .bytes = 1};
        struct modc_encoder e = {.t = &alone, .text = &byte, .bytes = 1, .tokens = &tokens};

        e.free = workspace;
        e.end = workspace + ROOM;
        if (!modc_normalise(&e, &view) || (maps && c == '\r') || (joins && view.bytes == 0))
            continue;
        if (view.bytes == 0)
            plain[c] = MODC_PLAIN_GONE;
        else if (view.bytes == 1)
            plain[c] = view.text[0];
    }
    return plain;
}

void normalizer_finish(struct tokenizer_reader *r)
{
    for (int i = 0, count; i < r->t->step_count; i += count) {
        for (count = 0; i + count < r->t->step_count && goes_by_characters(r->t->steps[i + count].kind);
             count++)
            continue;
        if (count > 0) {
            r->t->steps[i].plain = plain_of(r, &r->t->steps[i], count);
            r->t->steps[i].plain_steps = count;
        }
        count += count == 0;
    }
}

/* ---- the section ----------------------------------------------------------------------------------------------- */

static bool read_sequence(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *list = tokenizer_sequence(r, json, path, "normalizers");

    for (int i = 0; list && i < list->count; i++)
        if (!normalizer_read(r, &list->items[i], tokenizer_path(r, path, "normalizers", i)))
            return false;
    return list != NULL;
}

bool normalizer_read(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    static const struct {
        const char *type;
        enum modc_step_kind kind;
    } forms[] = {
        {"NFC", MODC_STEP_NFC}, {"NFD", MODC_STEP_NFD}, {"NFKC", MODC_STEP_NFKC}, {"NFKD", MODC_STEP_NFKD}};
    static const struct {
        const char *type;
        bool (*read)(struct tokenizer_reader *r, const struct json *json, const char *path);
    } rows[] = {{"Lowercase", read_lowercase}, {"Strip", read_strip},
                {"Replace", read_replace},     {"Prepend", read_prepend},
                {"BertNormalizer", read_bert}, {"Precompiled", read_precompiled},
                {"Sequence", read_sequence}};
    const char *type = tokenizer_type(r, json, path);

    if (!type)
        return false;
    for (int i = 0; i < COUNT(forms); i++)
        if (strcmp(forms[i].type, type) == 0)
            return read_form(r, json, path, forms[i].kind);
    for (int i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].type, type) == 0)
            return rows[i].read(r, json, path);
    if (strcmp(type, "StripAccents") == 0)
        return read_accents(r, json, path, UNICODE_ACCENT);
    return tokenizer_refuse(r, json, path, "this version of modc does not know a %s '%s'", "normalizer",
                            type);
}
