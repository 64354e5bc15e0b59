/* tokenizer_charsmap.c - the normalizer Precompiled: what SentencePiece makes of characters, taken out of its own form (base64 of a
 * double array and of texts) and laid out as the runtime has it. */
#include <string.h>

#include "modc_tokenizer_parts.h"
#include "tokenizer/tokenizer_reader.h"
#include "tokenizer/trie.h"

enum {
    LONGEST = 5,           /* bytes of a cluster that is looked up as a whole: longer keys are never found */
    MOST_VISITS = 1 << 24, /* of units, in what may be no trie */
    MOST_TEXT = 1 << 24    /* bytes of all that keys become, of which one may end within another one */
};

/* What was in base64. */
struct charsmap {
    const unsigned char *units; /* of 4 bytes, the least first */
    size_t unit_count;
    const char *texts;
    size_t text_bytes;
    bool *is_known; /* of each byte of the texts: from there on it is UTF-8, as far as its 0 */
};

/* Keys while they are collected. */
struct collector {
    struct tokenizer_reader *r;
    const struct charsmap *map;
    struct trie_key *keys;
    int count, visits;
    unsigned char key[LONGEST];
    const char *fault;
};

/* ---- base64 --------------------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* The bytes of a text in base64, as many as *count; NULL: it is none. */
static unsigned char *decode(struct arena *arena, const char *text, size_t length, size_t *count)
{
    unsigned char *bytes = arena_alloc(arena, length / 4 * 3 + 1);
    size_t padding = 0;
    uint32_t held = 0;

    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    *count = 0;
    if (length == 0 || length % 4 != 0)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        const int digit = i < length - padding ? digit_of(text[i]) : 0;

        if (digit < 0)
            return NULL;
        held = held << 6 | (uint32_t)digit;
        for (int k = 2; i % 4 == 3 && k >= 0; k--)
            bytes[(*count)++] = (unsigned char)(held >> 8 * k);
    }
    *count -= padding;
    return bytes;
}

/* ---- the double array ----------------------------------------------------------------------------------------- */

static uint32_t unit_at(const struct charsmap *map, size_t at)
{
    const unsigned char *s = map->units + 4 * at;

    return (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}

/* Where a unit's successors are, to be combined with their labels; Darts keeps it so. */
static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* Whether a text of the map is UTF-8, as far as its 0; each is gone through once. */
static bool is_text(const struct charsmap *map, uint32_t at)
{
    uint32_t character;
    int bytes;

    if (at > map->text_bytes)
        return false;
    for (size_t i = at; i < map->text_bytes && map->texts[i] != '\0' && !map->is_known[i];
         i += (size_t)bytes) {
        bytes = modc_utf8((const unsigned char *)map->texts + i, map->text_bytes - i, &character);
        if (bytes == 0)
            return false;
        map->is_known[i] = true; /* else all of it is refused */
    }
    return true;
}

static const char too_many[] = "it has too many characters";

static void take_key(struct collector *c, size_t leaf, int depth)
{
    const uint32_t value = leaf < c->map->unit_count ? unit_at(c->map, leaf) & ~(1u << 31) : 0;

    if (leaf >= c->map->unit_count || !is_text(c->map, value)) {
        c->fault = "what a character becomes is no text of the map";
        return;
    }
    if (c->count == MODC_TRIE_MOST) { /* of units, and each key has one of its own */
        c->fault = too_many;
        return;
    }
    ARENA_PUSH(&c->r->cx->arena, c->keys, c->count,
               ((struct trie_key){
                   (const unsigned char *)arena_copy(&c->r->cx->arena, (const char *)c->key, (size_t)depth),
                   (size_t)depth, value}));
}

/* Takes the keys behind a unit. Of a text the shortest key counts that it begins with: none stands behind another one. */
static void collect(struct collector *c, size_t at, int depth)
{
    const size_t base = at ^ offset_of(unit_at(c->map, at));

    for (unsigned label = 1; label < 256 && depth < LONGEST && !c->fault; label++) {
        const size_t next = base ^ label;
        uint32_t unit;

        if (++c->visits > MOST_VISITS) {
            c->fault = "it has no end";
            return;
        }
        if (next >= c->map->unit_count)
            continue;
        unit = unit_at(c->map, next);
        if ((unit & (1u << 31 | 0xffu)) != label)
            continue;
        c->key[depth] = (unsigned char)label;
        if (unit >> 8 & 1)
            take_key(c, next ^ offset_of(unit), depth + 1);
        else
            collect(c, next, depth + 1);
    }
}

/* ---- as the runtime has it -------------------------------------------------------------------------------------- */

/* How many bytes of a text a key is found in at least: a byte that is no UTF-8 stands as the three of U+FFFD, of which a key may
 * end with some. */
static size_t least_of(const struct trie_key *key)
{
    static const unsigned char no_character[] = {0xef, 0xbf, 0xbd};
    size_t least = 0;

    for (size_t at = 0, own; at < key->count; at += own, least++) {
        own = key->count - at < sizeof no_character ? key->count - at : sizeof no_character;
        if (memcmp(key->bytes + at, no_character, own) != 0)
            own = 1;
    }
    return least;
}

/* The texts that keys become, each once and with a 0 behind; the values of keys are where these begin. False: they are too long. */
static bool put_texts(struct collector *c, struct charsmap *map, struct modc_charsmap *out, int *growth)
{
    struct text texts = text_new(&c->r->cx->arena);
    uint32_t *placed = ARENA_ARRAY(&c->r->cx->arena, map->text_bytes + 1, uint32_t);
    uint32_t *lengths = ARENA_ARRAY(&c->r->cx->arena, map->text_bytes + 1, uint32_t);

    for (int i = 0; i < c->count; i++) {
        struct trie_key *key = &c->keys[i];
        const size_t least = least_of(key);
        size_t bytes;

        if (placed[key->value] == 0) {
            const char *text = map->texts + key->value;
            const size_t left = map->text_bytes - key->value;
            const char *end = memchr(text, '\0', left);

            bytes = end ? (size_t)(end - text) : left;
            if (texts.length + bytes >= MOST_TEXT)
                return false;
            placed[key->value] = (uint32_t)texts.length + 1;
            lengths[key->value] = (uint32_t)bytes;
            text_add_bytes(&texts, text, bytes);
            text_add_bytes(&texts, "", 1);
        }
        bytes = lengths[key->value];
        key->value = placed[key->value] - 1;
        *growth = (int)((bytes + least - 1) / least) > *growth ? (int)((bytes + least - 1) / least) : *growth;
    }
    out->texts = texts.data;
    out->text_bytes = (int)texts.length;
    return true;
}

/* What ends clusters of characters: the kinds of those that the rules of Unicode tell apart. */
static void add_kinds(struct tokenizer_reader *r, struct modc_charsmap *out)
{
    static const enum unicode_set sets[] = {
        [MODC_CLUSTER_CONTROL] = UNICODE_BREAK_CONTROL,     [MODC_CLUSTER_EXTEND] = UNICODE_BREAK_EXTEND,
        [MODC_CLUSTER_SPACING] = UNICODE_BREAK_SPACING,     [MODC_CLUSTER_PREPEND] = UNICODE_BREAK_PREPEND,
        [MODC_CLUSTER_PICTURE] = UNICODE_BREAK_PICTURE,     [MODC_CLUSTER_LEAD] = UNICODE_BREAK_LEAD,
        [MODC_CLUSTER_VOWEL] = UNICODE_BREAK_VOWEL,         [MODC_CLUSTER_TRAIL] = UNICODE_BREAK_TRAIL,
        [MODC_CLUSTER_CONSONANT] = UNICODE_BREAK_CONSONANT, [MODC_CLUSTER_LINKER] = UNICODE_BREAK_LINKER};

    for (int i = 0; i < COUNT(sets); i++) {
        struct characters *characters = characters_new(&r->cx->arena);

        characters_add_set(characters, sets[i]);
        tokenizer_add_set(r, characters, &out->kinds[i]);
    }
}

bool charsmap_read(struct tokenizer_reader *r, const struct json *json, const char *path,
                   const struct modc_charsmap **charsmap, int *growth)
{
    struct modc_charsmap *out = ARENA_NEW(&r->cx->arena, struct modc_charsmap);
    struct collector c = {.r = r};
    struct charsmap map = {0};
    size_t count = 0;
    const unsigned char *bytes = decode(&r->cx->arena, json->text, json->bytes, &count);

    if (!bytes)
        return tokenizer_refuse(r, json, path, "it is no base64");
    map.units = bytes;
    map.unit_count = count >= 4 ? unit_at(&map, 0) / 4 : 0;
    if (map.unit_count == 0 || map.unit_count > count / 4 - 1)
        return tokenizer_refuse(r, json, path, "it is cut off: %zu bytes", count);
    map.units = bytes + 4;
    map.texts = (const char *)bytes + 4 + 4 * map.unit_count;
    map.text_bytes = count - 4 - 4 * map.unit_count;
    map.is_known = ARENA_ARRAY(&r->cx->arena, map.text_bytes + 1, bool);
    c.map = &map;
    collect(&c, 0, 0);
    if (c.fault)
        return tokenizer_refuse(r, json, path, "%s", c.fault);
    *growth = 1;
    if (!put_texts(&c, &map, out, growth))
        return tokenizer_refuse(r, json, path, "its texts have more than %d bytes", MOST_TEXT);
    out->trie = trie_build(&r->cx->arena, c.keys, c.count, &out->units);
    if (!out->trie)
        return tokenizer_refuse(r, json, path, "%s", too_many);
    add_kinds(r, out);
    *charsmap = out;
    return true;
}
