/* tokenizer_vocabulary.c - tokens by id and by their text, added tokens among them. */
#include "tokenizer/tokenizer_vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "modc_tokenizer_parts.h"
#include "tokenizer/trie.h"

/* ---- by their text -------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct tokenizer_reader *r, const char *text, size_t bytes)
{
    uint32_t at = (uint32_t)text_hash(text, bytes) & (r->slot_count - 1);

    for (uint32_t own; (own = r->slots[at]) != 0; at = (at + 1) & (r->slot_count - 1))
        if (r->lengths[own - 1] == bytes && memcmp(r->vocabulary[own - 1], text, bytes) == 0)
            break;
    return at;
}

int64_t vocabulary_find(const struct tokenizer_reader *r, const char *text, size_t bytes)
{
    return r->slot_count == 0 ? -1 : (int64_t)r->slots[slot_of(r, text, bytes)] - 1;
}

bool vocabulary_start(struct tokenizer_reader *r, const struct json *at, const char *path, int64_t count)
{
    struct arena *arena = &r->cx->arena;

    if (count > VOCABULARY_MOST)
        return tokenizer_refuse(r, at, path, "an id is above %d", VOCABULARY_MOST - 1);
    r->t->vocabulary = (int)count;
    r->vocabulary = ARENA_ARRAY(arena, count + 1, const char *);
    r->lengths = ARENA_ARRAY(arena, count + 1, size_t);
    r->t->flags = ARENA_ARRAY(arena, count + 1, uint8_t);
    for (r->slot_count = 16; r->slot_count < 2 * (uint32_t)count; r->slot_count *= 2)
        continue;
    r->slots = ARENA_ARRAY(arena, r->slot_count, uint32_t);
    return true;
}

bool vocabulary_add(struct tokenizer_reader *r, const struct json *at, const char *path,
                    const struct json *token, int64_t id)
{
    const uint32_t slot = slot_of(r, token->text, token->bytes);

    if (r->slots[slot] != 0)
        return tokenizer_refuse(r, at, path, "the token '%s' is there twice", token->text);
    if (r->vocabulary[id])
        return tokenizer_refuse(r, at, path, "'%s' and '%s' have the same id", r->vocabulary[id],
                                token->text);
    r->slots[slot] = (uint32_t)id + 1;
    r->vocabulary[id] = token->text;
    r->lengths[id] = token->bytes;
    return true;
}

/* ---- added tokens --------------------------------------------------------------------------------------------- */

/* One of the section, before it is sorted. */
struct found {
    const unsigned char *bytes;
    size_t count;
    int32_t id;
    uint8_t flags;
    bool normal;
};

static int compare(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    const size_t least = a->count < b->count ? a->count : b->count;
    const int order = least > 0 ? memcmp(a->bytes, b->bytes, least) : 0;

    if (a->normal != b->normal)
        return a->normal - b->normal;
    return order ? order : (a->count > b->count) - (a->count < b->count);
}

/* What normalisers make of a token that is looked for behind them. */
static bool normalised(struct tokenizer_reader *r, struct found *found)
{
    enum { MOST = 1 << 16 };
    const size_t room = found->count * 4096 + MOST;
    struct modc_tokens tokens = {0};
    struct modc_encoder e = {.t = r->t, .text = found->bytes, .bytes = found->count, .tokens = &tokens};
    struct modc_view view = {.text = found->bytes, .bytes = found->count};

    e.free = arena_alloc(&r->cx->arena, room);
    e.end = e.free + room;
    if (!modc_normalise(&e, &view))
        return false;
    found->bytes = view.text;
    found->count = view.bytes;
    return true;
}

static bool read_added(struct tokenizer_reader *r, const struct json *json, const char *path,
                       struct found *found)
{
    const struct json *content = NULL;
    bool special = false, word = false, left = false, right = false, normal = true;
    int64_t id = -1, known;
    uint8_t *flags = (uint8_t *)r->t->flags;

    if (!tokenizer_keys(r, json, path, "id content single_word lstrip rstrip normalized special") ||
        !tokenizer_whole(r, json, path, "id", VOCABULARY_MOST - 1, &id) ||
        !tokenizer_text(r, json, path, "content", &content) ||
        !tokenizer_bool(r, json, path, "special", &special) ||
        !tokenizer_bool(r, json, path, "single_word", &word) ||
        !tokenizer_bool(r, json, path, "lstrip", &left) || !tokenizer_bool(r, json, path, "rstrip", &right) ||
        !tokenizer_bool(r, json, path, "normalized", &normal))
        return false;
    if (id < 0 || !content || content->bytes == 0)
        return tokenizer_refuse(r, json, path, "an added token has an id and a content");
    known = vocabulary_find(r, content->text, content->bytes);
    if (known >= 0 && known != id)
        return tokenizer_refuse(r, json, path, "'%s' has the id %lld in the vocabulary", content->text,
                                (long long)known);
    if (known < 0) {
        if (!vocabulary_add(r, json, path, content, id))
            return false;
        flags[id] |= MODC_TOKEN_ADDED;
    }
    if (special)
        flags[id] |= MODC_TOKEN_SPECIAL;
    *found = (struct found){
        .bytes = (const unsigned char *)content->text,
        .count = content->bytes,
        .id = (int32_t)id,
        .flags = (uint8_t)((left ? MODC_ADDED_LSTRIP : 0) | (right ? MODC_ADDED_RSTRIP : 0) |
                           (word ? MODC_ADDED_WORD : 0) | (special ? MODC_ADDED_SPECIAL : 0)),
        .normal = normal};
    return true;
}

/* Tokens that normalisers changed are decoded so, and left out where a special token is written so. */
static void rename_token(struct tokenizer_reader *r, const struct found *found)
{
    uint8_t *flags = (uint8_t *)r->t->flags;
    const int64_t other = vocabulary_find(r, (const char *)found->bytes, found->count);

    if (other == found->id)
        return;
    flags[found->id] |= MODC_TOKEN_RENAMED;
    if (other < 0 || !(flags[other] & MODC_TOKEN_SPECIAL))
        flags[found->id] &= (uint8_t)~MODC_TOKEN_SPECIAL;
}

/* What their flags ask for. */
static void add_kinds(struct tokenizer_reader *r)
{
    static const enum unicode_set sets[] = {UNICODE_WORD_OF_RUST, UNICODE_WHITE_OF_RUST};

    for (int i = 0; i < COUNT(sets); i++) {
        struct characters *characters = characters_new(&r->cx->arena);

        characters_add_set(characters, sets[i]);
        tokenizer_add_set(r, characters, i == 0 ? &r->t->word_kinds : &r->t->space_kinds);
    }
}

static void put_set(struct tokenizer_reader *r, struct modc_added_set *set, const struct found *list,
                    int count, struct text *bytes)
{
    struct modc_added *rows = ARENA_ARRAY(&r->cx->arena, count + 1, struct modc_added);

    for (int i = 0; i < count; i++) {
        if (list[i].count == 0 || (i > 0 && compare(&list[i], &list[i - 1]) == 0))
            continue;
        rows[set->count++] = (struct modc_added){(uint32_t)bytes->length, (uint32_t)list[i].count, list[i].id,
                                                 list[i].flags};
        set->first[list[i].bytes[0] >> 5] |= 1u << (list[i].bytes[0] & 31);
        text_add_bytes(bytes, list[i].bytes, list[i].count);
    }
    set->list = rows;
}

bool vocabulary_read_added(struct tokenizer_reader *r, const struct json *root)
{
    const struct json *list = json_member(root, "added_tokens");
    const int count = list && list->kind == JSON_LIST ? list->count : 0;
    struct found *found = ARENA_ARRAY(&r->cx->arena, count + 1, struct found);
    struct text bytes = text_new(&r->cx->arena);
    int plain = 0;
    bool asks = false; /* for kinds of characters; offsets that are trimmed do, too */

    if (list && list->kind != JSON_LIST)
        return tokenizer_refuse(r, list, "added_tokens", "expected a list");
    for (int i = 0; i < count; i++)
        if (!read_added(r, &list->items[i], tokenizer_path(r, "", "added_tokens", i), &found[i]))
            return false;
    for (int i = 0; i < count; i++)
        asks |= (found[i].flags & (MODC_ADDED_LSTRIP | MODC_ADDED_RSTRIP | MODC_ADDED_WORD)) || r->byte_level;
    if (asks)
        add_kinds(r);
    if (!tokenizer_kinds(r, root)) /* normalisers know them from here on */
        return false;
    normalizer_finish(r);
    for (int i = 0; i < count; i++) {
        if (found[i].normal && r->t->step_count > 0 && !normalised(r, &found[i]))
            return tokenizer_refuse(r, &list->items[i], tokenizer_path(r, "", "added_tokens", i),
                                    "it is too long");
        if (found[i].normal && r->t->step_count > 0)
            rename_token(r, &found[i]);
        if (r->byte_level && (r->t->flags[found[i].id] & MODC_TOKEN_RENAMED))
            return tokenizer_refuse(r, &list->items[i], tokenizer_path(r, "", "added_tokens", i),
                                    "the normalizer makes another text of it, which ByteLevel would decode");
        plain += !found[i].normal;
    }
    qsort(found, (size_t)count, sizeof *found, compare);
    put_set(r, &r->t->added, found, plain, &bytes);
    put_set(r, &r->t->added_normal, found + plain, count - plain, &bytes);
    r->t->added_bytes = bytes.data;
    r->own->added_bytes = (int)bytes.length;
    return true;
}

/* ---- tables --------------------------------------------------------------------------------------------------- */

/* The byte that a character of byte-level BPE stands for, or -1: printing ones for themselves, others in their order from U+0100. */
static int byte_of(uint32_t c)
{
    int others = 0x100;

    if ((c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xff && c != 0xad))
        return (int)c;
    for (int byte = 0; byte < 256; byte++) {
        if ((byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad))
            continue;
        if ((int)c == others++)
            return byte;
    }
    return -1;
}

bool vocabulary_bytes(const char *token, size_t length, unsigned char *bytes, size_t *count)
{
    *count = 0;
    for (size_t at = 0; at < length;) {
        uint32_t c;
        int byte;

        at += (size_t)modc_character((const unsigned char *)token + at, length - at, &c);
        byte = byte_of(c);
        if (byte < 0)
            return false;
        bytes[(*count)++] = (unsigned char)byte;
    }
    return true;
}

static bool is_byte_token(const char *token, size_t length)
{
    static const char digits[] = "0123456789ABCDEF";

    return length == 6 && memcmp(token, "<0x", 3) == 0 && token[5] == '>' && strchr(digits, token[3]) &&
           strchr(digits, token[4]);
}

/* The model's tokens by their bytes; `found` says which texts can be looked for at all. */
static bool put_trie(struct tokenizer_reader *r, const bool *found)
{
    struct modc_tokenizer *t = r->t;
    struct trie_key *keys = ARENA_ARRAY(&r->cx->arena, t->vocabulary + 1, struct trie_key);
    int count = 0;

    for (int i = 0; i < t->vocabulary; i++) {
        const size_t bytes = t->starts[i + 1] - t->starts[i];

        if (!found[i])
            continue;
        keys[count++] = (struct trie_key){t->bytes + t->starts[i], bytes, (uint32_t)i};
        if ((int)bytes > t->longest)
            t->longest = (int)bytes;
    }
    t->trie = trie_build(&r->cx->arena, keys, count, &t->trie_units);
    return t->trie || tokenizer_refuse(r, r->root, "model.vocab", "its %d tokens have too many bytes", count);
}

bool vocabulary_finish(struct tokenizer_reader *r)
{
    struct modc_tokenizer *t = r->t;
    struct text all = text_new(&r->cx->arena);
    uint32_t *starts = ARENA_ARRAY(&r->cx->arena, t->vocabulary + 1, uint32_t);
    uint8_t *flags = (uint8_t *)t->flags;
    bool *found = ARENA_ARRAY(&r->cx->arena, t->vocabulary + 1, bool);

    for (int i = 0; i < t->vocabulary; i++) {
        const char *token = r->vocabulary[i];
        const size_t length = token ? r->lengths[i] : 0;
        unsigned char *bytes = (unsigned char *)arena_copy(&r->cx->arena, token ? token : "", length);
        size_t count = length;
        const bool mapped = !r->byte_level || vocabulary_bytes(token, length, bytes, &count);

        starts[i] = (uint32_t)all.length;
        if (!token)
            flags[i] |= MODC_TOKEN_NONE;
        else if (is_byte_token(token, length))
            flags[i] |= MODC_TOKEN_BYTE;
        if (mapped)
            text_add_bytes(&all, bytes, count);
        else if (token)
            text_add_bytes(&all, token, length);
        found[i] = token && mapped && length > 0 && !(flags[i] & MODC_TOKEN_ADDED);
    }
    starts[t->vocabulary] = (uint32_t)all.length;
    t->bytes = (const uint8_t *)all.data;
    t->starts = starts;
    return put_trie(r, found);
}
