/* tokenizer.c - a tokenizer.json from its sections to tables; see tokenizer.h. */
#include "tokenizer/tokenizer_reader.h"

#include <string.h>

#include "modc_tokenizer.h"

/* ---- what is said, and members of objects ------------------------------------------------------------------------- */

bool tokenizer_refuse(struct tokenizer_reader *r, const struct json *at, const char *path, const char *format,
                      ...)
{
    va_list args;
    const char *refusal;

    va_start(args, format);
    refusal = arena_vformat(&r->cx->arena, format, args);
    va_end(args);
    diag_error(r->cx, diag_loc(r->cx, r->source, at->at, 1), "%s: %s", path[0] ? path : "the file", refusal);
    return false;
}

const char *tokenizer_path(struct tokenizer_reader *r, const char *path, const char *key, int index)
{
    const char *own = arena_format(&r->cx->arena, "%s%s%s", path, path[0] && key[0] ? "." : "", key);

    return index < 0 ? own : arena_format(&r->cx->arena, "%s[%d]", own, index);
}

static bool wrong_kind(struct tokenizer_reader *r, const struct json *found, const char *path,
                       const char *key, const char *expected)
{
    return tokenizer_refuse(r, found, tokenizer_path(r, path, key, -1), "expected %s, found %s", expected,
                            json_kind_name(found));
}

bool tokenizer_bool(struct tokenizer_reader *r, const struct json *object, const char *path, const char *key,
                    bool *value)
{
    const struct json *found = json_member(object, key);

    if (!found)
        return true;
    if (found->kind != JSON_TRUE && found->kind != JSON_FALSE)
        return wrong_kind(r, found, path, key, "true or false");
    *value = found->kind == JSON_TRUE;
    return true;
}

bool tokenizer_text(struct tokenizer_reader *r, const struct json *object, const char *path, const char *key,
                    const struct json **value)
{
    const struct json *found = json_member(object, key);

    if (!found)
        return true;
    if (found->kind != JSON_STRING)
        return wrong_kind(r, found, path, key, "a text");
    *value = found;
    return true;
}

bool tokenizer_whole(struct tokenizer_reader *r, const struct json *object, const char *path, const char *key,
                     int64_t most, int64_t *value)
{
    const struct json *found = json_member(object, key);

    if (!found)
        return true;
    if (found->kind != JSON_NUMBER || found->number < 0 || found->number > (double)most ||
        (double)(int64_t)found->number != found->number)
        return wrong_kind(r, found, path, key,
                          arena_format(&r->cx->arena, "an integer from 0 to %lld", (long long)most));
    *value = (int64_t)found->number;
    return true;
}

static bool is_word_of(const struct json *key, const char *words)
{
    for (size_t length; *words; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        if (key->bytes == length && memcmp(key->text, words, length) == 0)
            return true;
    }
    return false;
}

bool tokenizer_keys(struct tokenizer_reader *r, const struct json *object, const char *path, const char *keys)
{
    if (object->kind != JSON_OBJECT)
        return wrong_kind(r, object, path, "", "an object");
    for (int i = 0; i < object->count; i++)
        if (!is_word_of(&object->keys[i], keys) && object->items[i].kind != JSON_NULL)
            return tokenizer_refuse(r, &object->keys[i], tokenizer_path(r, path, object->keys[i].text, -1),
                                    "this version of modc does not know the key");
    return true;
}

const struct json *tokenizer_sequence(struct tokenizer_reader *r, const struct json *object, const char *path,
                                      const char *key)
{
    const struct json *list = json_member(object, key);

    if (!tokenizer_keys(r, object, path, arena_format(&r->cx->arena, "type %s", key)))
        return NULL;
    if (list && list->kind == JSON_LIST)
        return list;
    tokenizer_refuse(r, object, path, "it has no list of %s", key);
    return NULL;
}

const char *tokenizer_type(struct tokenizer_reader *r, const struct json *object, const char *path)
{
    const struct json *type = NULL;

    if (object->kind != JSON_OBJECT) {
        wrong_kind(r, object, path, "", "an object");
        return NULL;
    }
    if (!tokenizer_text(r, object, path, "type", &type))
        return NULL;
    if (!type) {
        tokenizer_refuse(r, object, path, "it has no type");
        return NULL;
    }
    return type->text;
}

/* ---- kinds of characters: note [kinds] in modc_tokenizer.h ----------------------------------------------------------- */

void tokenizer_add_set(struct tokenizer_reader *r, const struct characters *characters, uint64_t *mask)
{
    ARENA_PUSH(&r->cx->arena, r->sets, r->set_count, ((struct kind_set){characters, mask}));
}

/* Kinds while they are told apart: of each character, and how many characters have each. */
struct kinds {
    uint8_t *of;
    uint32_t sizes[MODC_MAX_KINDS];
    int count;
};

/* Tells characters apart that are in the set from those that are not. False: there are too many kinds then. */
static bool refine(struct kinds *kinds, const struct characters *set)
{
    uint32_t inside[MODC_MAX_KINDS] = {0};
    int made[MODC_MAX_KINDS];
    const int count = kinds->count;

    for (uint32_t c = characters_next(set, 0); c < UNICODE_CHARACTERS; c = characters_next(set, c + 1))
        inside[kinds->of[c]]++;
    for (int i = 0; i < count; i++) {
        made[i] = i;
        if (inside[i] == 0 || inside[i] == kinds->sizes[i])
            continue;
        if (kinds->count == MODC_MAX_KINDS)
            return false;
        made[i] = kinds->count++;
        kinds->sizes[made[i]] = inside[i];
        kinds->sizes[i] -= inside[i];
    }
    for (uint32_t c = characters_next(set, 0); c < UNICODE_CHARACTERS; c = characters_next(set, c + 1))
        kinds->of[c] = (uint8_t)made[kinds->of[c]];
    return true;
}

/* The table of kinds by pages of 128 characters, each page once. */
static void page_kinds(struct tokenizer_reader *r, const uint8_t *kinds)
{
    enum { PAGE = 128, PAGES = UNICODE_CHARACTERS / PAGE };
    uint16_t *pages = ARENA_ARRAY(&r->cx->arena, PAGES, uint16_t);
    uint8_t *kept = ARENA_ARRAY(&r->cx->arena, UNICODE_CHARACTERS, uint8_t);
    int count = 0;

    for (int page = 0; page < PAGES; page++) {
        int same = 0;

        while (same < count && memcmp(kept + same * PAGE, kinds + page * PAGE, PAGE) != 0)
            same++;
        if (same == count)
            memcpy(kept + count++ * PAGE, kinds + page * PAGE, PAGE);
        pages[page] = (uint16_t)same;
    }
    r->t->kinds = kept;
    r->t->kind_pages = pages;
    r->own->kind_pages = count;
}

bool tokenizer_kinds(struct tokenizer_reader *r, const struct json *root)
{
    struct kinds kinds = {ARENA_ARRAY(&r->cx->arena, UNICODE_CHARACTERS, uint8_t), {UNICODE_CHARACTERS}, 1};
    uint32_t members[MODC_MAX_KINDS]; /* a character of each kind */

    if (r->set_count == 0)
        return true;
    for (int i = 0; i < r->set_count; i++)
        if (!refine(&kinds, r->sets[i].characters))
            return tokenizer_refuse(r, root, "", "its patterns tell more than %d kinds of characters apart",
                                    MODC_MAX_KINDS);
    for (uint32_t c = 0; c < UNICODE_CHARACTERS; c++)
        members[kinds.of[c]] = c;
    for (int i = 0; i < r->set_count; i++)
        for (int k = 0; k < kinds.count; k++)
            if (characters_have(r->sets[i].characters, members[k]))
                *r->sets[i].mask |= MODC_KIND(k);
    page_kinds(r, kinds.of);
    for (int i = 0; i < r->t->stage_count; i++)
        if (r->t->stages[i].nodes)
            regex_finish(r, &r->t->stages[i]);
    for (int i = 0; i < r->t->step_count; i++)
        if (r->t->steps[i].pattern)
            regex_finish(r, (struct modc_stage *)r->t->steps[i].pattern);
    return true;
}

/* ---- the sections --------------------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Bytes for each one of a text, and beside them. */
struct amount {
    int64_t rate, rest;
};

/* Of steps that are made at once: the text before and the one behind them, which is there while each makes its own. */
static int64_t plain_amount(const struct modc_tokenizer *t, int first, int64_t rate)
{
    int64_t behind = rate;

    for (int i = first; i < first + t->steps[first].plain_steps; i++)
        behind *= t->steps[i].growth;
    return rate + behind;
}

/* What a call needs of the workspace: a text that normalisers make beside the one before it, with what they are made of; what
 * stages make of a piece; the piece. Sections between added tokens, and pieces, come one after the other. */
static bool count_workspace(struct tokenizer_reader *r)
{
    enum { SPAN = sizeof(struct modc_span) + 1, SYMBOL = 41, ENDING = 16, LETTER = 12, MOST = 1 << 28 };
    struct modc_tokenizer *t = r->t;
    struct amount text = {1, 0}, made = {0, 0};
    int64_t at_once = 0;

    for (int i = 0; i < t->step_count; i++) {
        const int64_t growth = t->steps[i].growth > 0 ? t->steps[i].growth : 1;
        const struct amount before = text;
        const int64_t letters = t->steps[i].kind <= MODC_STEP_NFKD ? t->letter_rate * (int64_t)LETTER : 0;

        if (t->steps[i].plain)
            at_once = plain_amount(t, i, text.rate);
        text.rate *= growth;
        text.rest = text.rest * growth + t->steps[i].to_bytes;
        made.rate = larger(made.rate, (before.rate + text.rate) * SPAN + before.rate * letters);
        made.rate = larger(made.rate, at_once + before.rate + text.rate + before.rate * letters);
        made.rest = larger(made.rest, (before.rest + text.rest) * SPAN + before.rest * letters + 512);
    }
    for (int i = 0; i < t->stage_count && text.rate < MOST && text.rest < MOST; i++) {
        if (t->stages[i].kind == MODC_STAGE_SPLIT)
            continue;
        if (t->stages[i].kind == MODC_STAGE_METASPACE)
            text = (struct amount){text.rate * t->stages[i].mark_bytes,
                                   (text.rest + 1) * t->stages[i].mark_bytes};
        text.rest++;
        made.rate += text.rate * SPAN;
        made.rest += text.rest * SPAN + 32;
    }
    if (t->model == MODC_BPE || t->model == MODC_UNIGRAM) {
        const int own = t->model == MODC_BPE ? SYMBOL + (t->suffix_bytes > 0) : ENDING;

        made.rate += text.rate * own;
        made.rest += (text.rest + t->suffix_bytes) * own + 64;
    }
    if (text.rate >= MOST || text.rest >= MOST || made.rate > MOST || made.rest > MOST)
        return tokenizer_refuse(r, r->root, "",
                                "a text would need %lld times its bytes of workspace, and %lld bytes",
                                (long long)made.rate, (long long)made.rest);
    t->workspace_rate = made.rate < 1 ? 1 : (int)made.rate;
    t->workspace_rest = (int)made.rest;
    return true;
}

static bool read_sections(struct tokenizer_reader *r, const struct json *root)
{
    static const char *const unused[] = {"truncation", "padding"};
    const struct json *normalizer = json_member(root, "normalizer");
    const struct json *splits = json_member(root, "pre_tokenizer");
    const struct json *post = json_member(root, "post_processor"), *decoder = json_member(root, "decoder");

    if (!tokenizer_keys(
            r, root, "",
            "version truncation padding added_tokens normalizer pre_tokenizer post_processor decoder model"))
        return false;
    for (int i = 0; i < COUNT(unused); i++) {
        const struct json *found = json_member(root, unused[i]);

        if (!found)
            continue;
        tokenizer_refuse(r, found, unused[i], "texts keep their length here");
        diag_hint(r->cx, "no_%s() of the tokenizer, before it is saved, takes it out of the file", unused[i]);
        return false;
    }
    if (normalizer && !normalizer_read(r, normalizer, "normalizer"))
        return false;
    if (splits && !pre_tokenizer_read(r, splits, "pre_tokenizer"))
        return false;
    if (!model_read(r, root))
        return false;
    return (!post || post_processor_read(r, post, "post_processor")) && decoder_read(r, decoder, "decoder");
}

/* A token that tokenizer_config.json names: a text, or {content: text}. */
static int64_t named_token(struct tokenizer_reader *r, const struct json *config, const char *key)
{
    const struct json *token = json_member(config, key);

    if (token && token->kind == JSON_OBJECT)
        token = json_member(token, "content");
    return token && token->kind == JSON_STRING ? vocabulary_find(r, token->text, token->bytes) : -1;
}

/* The file beside tokenizer.json that says which tokens begin and end texts; nothing is wrong where there is none. */
static bool read_config(struct tokenizer_reader *r)
{
    const char *error = NULL;
    const char *path = source_beside(r->cx, r->source, "tokenizer_config.json");
    FILE *file = fopen(path, "rb");
    const struct source *source;
    const struct json *config;

    if (!file)
        return true;
    fclose(file);
    source_depend(r->cx, path);
    source = source_read(r->cx, path, TOKENIZER_MAX_BYTES, &error);
    config = source ? json_read(r->cx, source) : NULL;
    if (!config)
        return !source;
    r->t->bos = named_token(r, config, "bos_token");
    r->t->eos = named_token(r, config, "eos_token");
    r->t->pad = named_token(r, config, "pad_token");
    if (r->t->unk < 0)
        r->t->unk = named_token(r, config, "unk_token");
    return true;
}

const struct tokenizer *tokenizer_of_source(struct cx *cx, const struct source *source)
{
    struct tokenizer *own = ARENA_NEW(&cx->arena, struct tokenizer);
    struct modc_tokenizer *table = ARENA_NEW(&cx->arena, struct modc_tokenizer);
    struct tokenizer_reader r = {.cx = cx, .source = source, .own = own, .t = table};
    const struct json *root;

    own->path = table->name = source->name;
    own->table = table;
    own->hash = text_hash(source->text, source->length);
    table->bos = table->eos = table->pad = table->unk = table->unknown = -1;
    root = r.root = json_read(cx, source);
    if (!root || !read_sections(&r, root) || !count_workspace(&r))
        return NULL;
    return read_config(&r) ? own : NULL;
}

const struct tokenizer *tokenizer_read(struct cx *cx, struct loc loc, const char *path)
{
    const char *error = NULL;
    const struct source *source;

    source_depend(cx, path);
    source = source_read(cx, path, TOKENIZER_MAX_BYTES, &error);
    if (source)
        return tokenizer_of_source(cx, source);
    cx->unreadable = true;
    diag_error(cx, loc, "%s", error);
    return NULL;
}

static int64_t mapping_bytes(const struct modc_mapping *mapping)
{
    return mapping->count > 0 ? 6 * (int64_t)mapping->count + 2 + 4 * (int64_t)mapping->at[mapping->count]
                              : 0;
}

int64_t tokenizer_bytes(const struct tokenizer *tokenizer)
{
    enum { PAGE = 128, PAGES = UNICODE_CHARACTERS / PAGE };
    const struct modc_tokenizer *t = tokenizer->table;
    const int64_t count = t->vocabulary;
    int64_t bytes = (int64_t)sizeof *t + t->starts[count] + 4 * (count + 1) + count +
                    4 * (int64_t)t->trie_units + tokenizer->added_bytes +
                    (t->added.count + t->added_normal.count) * (int64_t)sizeof *t->added.list;

    bytes += (t->byte_ids ? 256 * 4 : 0) + (t->joints ? (int64_t)1 << (t->joint_bits - 3) : 0);
    bytes += (t->lefts ? 2 * count : 0) + (t->ranks ? 4 * count : 0) + (t->scores ? 8 * count : 0);
    bytes += t->split_starts ? 4 * (count + 1) + 6 * (int64_t)t->split_starts[count] : 0;
    bytes += t->kinds ? tokenizer->kind_pages * (int64_t)PAGE + 2 * PAGES : 0;
    for (int i = 0; i < t->stage_count; i++)
        bytes += t->stages[i].node_count * (int64_t)sizeof *t->stages[i].nodes;
    for (int i = 0; i < t->step_count; i++) {
        const struct modc_step *step = &t->steps[i];

        bytes += step->pattern ? step->pattern->node_count * (int64_t)sizeof *step->pattern->nodes : 0;
        bytes += step->plain ? 256 : 0;
        bytes += step->charsmap ? 4 * (int64_t)step->charsmap->units + step->charsmap->text_bytes : 0;
    }
    if (t->order)
        bytes += 6 * (int64_t)t->order->count + tokenizer->order_bytes;
    if (t->unicode)
        bytes += mapping_bytes(&t->unicode->canonical) + mapping_bytes(&t->unicode->compatible) +
                 mapping_bytes(&t->unicode->lower) + 5 * (int64_t)t->unicode->class_count +
                 12 * (int64_t)t->unicode->pair_count;
    return bytes;
}
