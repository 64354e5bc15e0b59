/* tokenizer_model.c - the section `model`: its vocabulary, and how it makes tokens of pieces. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "modc_tokenizer_parts.h"
#include "tokenizer/tokenizer_vocabulary.h"

/* ---- the vocabulary ------------------------------------------------------------------------------------------- */

/* The ids of `added_tokens` may lie above the model's. */
static int64_t count_ids(const struct json *root, const struct json *vocab)
{
    const struct json *added = json_member(root, "added_tokens");
    int64_t count = vocab->kind == JSON_LIST ? vocab->count : 0;

    for (int i = 0; vocab->kind == JSON_OBJECT && i < vocab->count; i++)
        if (vocab->items[i].number + 1 > (double)count && vocab->items[i].number < 1e12)
            count = (int64_t)vocab->items[i].number + 1;
    for (int i = 0; added && added->kind == JSON_LIST && i < added->count; i++) {
        const struct json *id = json_member(&added->items[i], "id");

        if (id && id->number + 1 > (double)count && id->number < 1e12)
            count = (int64_t)id->number + 1;
    }
    return count;
}

static bool read_vocabulary(struct tokenizer_reader *r, const struct json *root, const struct json *model)
{
    const struct json *vocab = json_member(model, "vocab");

    if (!vocab || vocab->kind != JSON_OBJECT)
        return tokenizer_refuse(r, vocab ? vocab : model, "model.vocab",
                                "expected an object of tokens and ids");
    if (!vocabulary_start(r, vocab, "model.vocab", count_ids(root, vocab)))
        return false;
    for (int i = 0; i < vocab->count; i++) {
        const struct json *id = &vocab->items[i];

        if (id->kind != JSON_NUMBER || id->number < 0 || id->number != floor(id->number))
            return tokenizer_refuse(r, id, "model.vocab", "the id of '%s' is no whole number",
                                    vocab->keys[i].text);
        if (!vocabulary_add(r, id, "model.vocab", &vocab->keys[i], (int64_t)id->number))
            return false;
    }
    return true;
}

/* unk_token, which is a token of the model. */
static bool read_unknown(struct tokenizer_reader *r, const struct json *model)
{
    const struct json *unknown = NULL;

    if (!tokenizer_text(r, model, "model", "unk_token", &unknown))
        return false;
    if (!unknown)
        return true;
    r->t->unknown = (int32_t)vocabulary_find(r, unknown->text, unknown->bytes);
    if (r->t->unknown < 0)
        return tokenizer_refuse(r, unknown, "model.unk_token", "'%s' is not in the vocabulary",
                                unknown->text);
    r->t->unk = r->t->unknown;
    return true;
}

/* What only bytes have: in byte-level BPE each byte's token, else <0x00> to <0xFF>, of which all are there. */
static bool read_bytes(struct tokenizer_reader *r, const struct json *model, bool fallback)
{
    int32_t *ids = ARENA_ARRAY(&r->cx->arena, 256, int32_t);
    int there = 0;

    for (int i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;
        const char *name = arena_format(&r->cx->arena, "<0x%02X>", i);

        ids[i] = r->byte_level ? modc_find(r->t, &byte, 1) : (int32_t)vocabulary_find(r, name, strlen(name));
        there += ids[i] >= 0;
    }
    if (!r->byte_level && (!fallback || there == 0))
        return true;
    if (!r->byte_level && there < 256)
        return tokenizer_refuse(r, model, "model.byte_fallback",
                                "%d of the tokens <0x00> to <0xFF> are missing", 256 - there);
    if (r->byte_level && fallback)
        return tokenizer_refuse(r, model, "model.byte_fallback", "pieces are bytes already");
    r->t->byte_ids = ids;
    return true;
}

/* ---- merges: note [merges] in modc_tokenizer.h ------------------------------------------------------------------------- */

struct merge {
    int32_t made, left, right;
    uint32_t rank;
    uint32_t bytes; /* of the left part */
};

/* The parts of a merge: "a b", or ["a", "b"]. */
static bool read_parts(struct tokenizer_reader *r, const struct json *json, const char *path,
                       struct merge *merge)
{
    const char *text[2];
    size_t bytes[2];
    int32_t *ids[2] = {&merge->left, &merge->right};

    if (json->kind == JSON_LIST && json->count == 2 && json->items[0].kind == JSON_STRING &&
        json->items[1].kind == JSON_STRING) {
        for (int i = 0; i < 2; i++) {
            text[i] = json->items[i].text;
            bytes[i] = json->items[i].bytes;
        }
    } else {
        const char *space = json->kind == JSON_STRING ? memchr(json->text, ' ', json->bytes) : NULL;

        if (!space || memchr(space + 1, ' ', json->bytes - (size_t)(space - json->text) - 1))
            return tokenizer_refuse(r, json, path, "a merge is two tokens: \"a b\", or [\"a\", \"b\"]");
        text[0] = json->text;
        bytes[0] = (size_t)(space - json->text);
        text[1] = space + 1;
        bytes[1] = json->bytes - bytes[0] - 1;
    }
    for (int i = 0; i < 2; i++) {
        const int64_t id = vocabulary_find(r, text[i], bytes[i]);

        if (id < 0)
            return tokenizer_refuse(r, json, path, "'%.*s' is not in the vocabulary", (int)bytes[i], text[i]);
        *ids[i] = (int32_t)id;
        if (id == r->t->unknown || (r->t->byte_ids && !r->byte_level && (r->t->flags[id] & MODC_TOKEN_BYTE)))
            return tokenizer_refuse(r, json, path, "'%s' stands for what is unknown, and cannot be merged",
                                    r->vocabulary[id]);
    }
    return true;
}

static size_t length_of(const struct modc_tokenizer *t, int32_t id)
{
    return t->starts[id + 1] - t->starts[id];
}

/* What two tokens make, whose bytes stand one behind the other; those of the right one without the prefix of what goes on. */
static int32_t made_of(struct tokenizer_reader *r, const struct merge *merge)
{
    const struct modc_tokenizer *t = r->t;
    const size_t prefix = (size_t)t->prefix_bytes, left = length_of(t, merge->left);
    const size_t right = length_of(t, merge->right) - prefix;
    unsigned char *both = arena_alloc(&r->cx->arena, left + right + 1);

    memcpy(both, t->bytes + t->starts[merge->left], left);
    memcpy(both + left, t->bytes + t->starts[merge->right] + prefix, right);
    return modc_find(t, both, left + right);
}

/* Whether a token has the prefix of what goes on in a piece, where there is one. */
static bool goes_on(const struct modc_tokenizer *t, int32_t id)
{
    const size_t prefix = (size_t)t->prefix_bytes;

    return length_of(t, id) >= prefix &&
           (prefix == 0 || memcmp(t->bytes + t->starts[id], t->prefix, prefix) == 0);
}

static int compare_merges(const void *left, const void *right)
{
    const struct merge *a = left, *b = right;

    if (a->made != b->made)
        return a->made < b->made ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Sorted by what they make; of equal ones the last counts. */
static int settle_merges(struct merge *merges, int count)
{
    int kept = 0;

    qsort(merges, (size_t)count, sizeof *merges, compare_merges);
    for (int i = 0; i < count; i++)
        if (i + 1 == count || merges[i].made != merges[i + 1].made || merges[i].bytes != merges[i + 1].bytes)
            merges[kept++] = merges[i];
    return kept;
}

static int compare_ranks(const void *left, const void *right)
{
    const struct merge *a = left, *b = right;

    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Whether every way to split a token is a merge, and their ranks are in the order of the token, then of the parts. */
static bool are_all(struct tokenizer_reader *r, const struct merge *merges, int count)
{
    const struct modc_tokenizer *t = r->t;
    struct merge *sorted = ARENA_ARRAY(&r->cx->arena, count + 1, struct merge);
    int64_t ways = 0;

    for (int i = 0; i < t->vocabulary && ways <= count; i++) {
        const unsigned char *s = t->bytes + t->starts[i];
        const size_t bytes = length_of(t, i);

        if (modc_find(t, s, bytes) != i)
            continue;
        for (size_t left = 1; left < bytes; left++)
            ways += modc_find(t, s, left) >= 0 && modc_find(t, s + left, bytes - left) >= 0;
    }
    if (ways != count)
        return false;
    memcpy(sorted, merges, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_ranks);
    for (int i = 1; i < count; i++) {
        const struct merge *a = &sorted[i - 1], *b = &sorted[i];

        if (a->made > b->made ||
            (a->made == b->made && (a->left > b->left || (a->left == b->left && a->right > b->right))))
            return false;
    }
    return true;
}

/* At most one merge for each token: its left part, and ranks where they are not in the order of ids. */
static void put_single(struct tokenizer_reader *r, const struct merge *merges, int count)
{
    uint16_t *lefts = ARENA_ARRAY(&r->cx->arena, r->t->vocabulary, uint16_t);
    uint32_t *ranks = ARENA_ARRAY(&r->cx->arena, r->t->vocabulary, uint32_t);

    for (int i = 0; i < count; i++) {
        lefts[merges[i].made] = (uint16_t)merges[i].bytes;
        ranks[merges[i].made] = merges[i].rank;
        if (i > 0 && merges[i].rank < merges[i - 1].rank)
            r->t->ranks = ranks;
    }
    r->t->lefts = lefts;
}

static void put_splits(struct tokenizer_reader *r, const struct merge *merges, int count)
{
    uint32_t *starts = ARENA_ARRAY(&r->cx->arena, r->t->vocabulary + 1, uint32_t);
    uint16_t *lefts = ARENA_ARRAY(&r->cx->arena, count + 1, uint16_t);
    uint32_t *ranks = ARENA_ARRAY(&r->cx->arena, count + 1, uint32_t);

    for (int i = 0; i < count; i++) {
        starts[merges[i].made + 1]++;
        lefts[i] = (uint16_t)merges[i].bytes;
        ranks[i] = merges[i].rank;
    }
    for (int i = 0; i < r->t->vocabulary; i++)
        starts[i + 1] += starts[i];
    r->t->split_starts = starts;
    r->t->split_lefts = lefts;
    r->t->split_ranks = ranks;
}

static bool read_merges(struct tokenizer_reader *r, const struct json *model)
{
    const struct json *list = json_member(model, "merges");
    struct merge *merges;
    int count = 0;
    bool single = true;

    if (!list || list->kind != JSON_LIST)
        return tokenizer_refuse(r, list ? list : model, "model.merges", "expected a list");
    merges = ARENA_ARRAY(&r->cx->arena, list->count + 1, struct merge);
    for (int i = 0; i < list->count; i++) {
        const char *path = tokenizer_path(r, "model", "merges", i);
        struct merge *merge = &merges[count];

        if (!read_parts(r, &list->items[i], path, merge))
            return false;
        if (!goes_on(r->t, merge->right))
            return tokenizer_refuse(r, &list->items[i], path, "'%s' does not begin with the prefix '%s'",
                                    r->vocabulary[merge->right], r->t->prefix);
        merge->rank = (uint32_t)i;
        merge->bytes = (uint32_t)length_of(r->t, merge->left);
        merge->made = made_of(r, merge);
        if (merge->made < 0)
            return tokenizer_refuse(r, &list->items[i], path,
                                    "what '%s' and '%s' make is not in the vocabulary",
                                    r->vocabulary[merge->left], r->vocabulary[merge->right]);
        if (merge->bytes > UINT16_MAX)
            return tokenizer_refuse(r, &list->items[i], path, "a token has more than %d bytes", UINT16_MAX);
        count++;
    }
    count = settle_merges(merges, count);
    for (int i = 1; i < count; i++)
        single = single && merges[i].made != merges[i - 1].made;
    if (single)
        put_single(r, merges, count);
    else if (r->t->prefix || !are_all(r, merges, count))
        put_splits(r, merges, count);
    return true;
}

/* Sets the bits of characters that stand beside each other in tokens; how many are set. */
static int64_t set_joints(const struct modc_tokenizer *t, uint8_t *joints, int bits)
{
    int64_t count = 0;

    for (int i = 0; i < t->vocabulary; i++) {
        const unsigned char *s = t->bytes + t->starts[i];
        const size_t bytes = length_of(t, i);
        uint32_t before = 0, character;

        for (size_t at = 0, own; at < bytes; at += own, before = character) {
            own = (size_t)modc_character(s + at, bytes - at, &character);

            const uint32_t joint = MODC_JOINT(before, character, bits);

            if (at == 0)
                continue;
            count += !(joints[joint / 8] >> joint % 8 & 1);
            joints[joint / 8] |= (uint8_t)(1u << joint % 8);
        }
    }
    return count;
}

/* note [joints] in modc_tokenizer.h: of pieces that are characters, and of which nothing is left out. */
static void mark_joints(struct tokenizer_reader *r)
{
    int bits = MODC_JOINT_BITS - 1;
    int64_t count;

    do {
        uint8_t *joints = ARENA_ARRAY(&r->cx->arena, 1 << ++bits >> 3, uint8_t);

        count = set_joints(r->t, joints, bits);
        r->t->joints = joints;
        r->t->joint_bits = bits;
    } while (8 * count > (int64_t)1 << bits && bits < MODC_JOINT_BITS_MOST);
}

/* Tokens whose bytes, as a piece, become the token alone. */
static void mark_whole(struct tokenizer_reader *r, bool ignore_merges)
{
    struct modc_tokenizer *t = r->t;
    const size_t room = ((size_t)t->longest + 8) * 64 + 1024;
    unsigned char *workspace = arena_alloc(&r->cx->arena, room);
    uint8_t *flags = (uint8_t *)t->flags;
    bool *whole = ARENA_ARRAY(&r->cx->arena, t->vocabulary + 1, bool);

    for (int i = 0; i < t->vocabulary; i++) {
        int64_t ids[2];
        struct modc_tokens tokens = {.ids = ids, .room = 2};
        const size_t bytes = length_of(t, i), suffix = (size_t)t->suffix_bytes;
        const struct modc_view view = {.text = t->bytes + t->starts[i],
                                       .bytes = bytes - (bytes > suffix ? suffix : 0)};
        struct modc_encoder e = {.t = t, .text = view.text, .bytes = view.bytes, .tokens = &tokens};

        if (bytes <= suffix || modc_find(t, view.text, bytes) != i ||
            (suffix > 0 && memcmp(view.text + view.bytes, t->suffix, suffix) != 0))
            continue;
        e.free = workspace;
        e.end = workspace + room;
        if (!ignore_merges)
            (t->model == MODC_UNIGRAM ? modc_unigram : modc_bpe)(&e, &view, 0, view.bytes);
        whole[i] = ignore_merges || (tokens.count == 1 && ids[0] == i && e.status == MODC_OK);
    }
    for (int i = 0; i < t->vocabulary; i++)
        if (whole[i])
            flags[i] |= MODC_TOKEN_WHOLE;
}

/* ---- models ------------------------------------------------------------------------------------------------- */

/* What tokens are written with: note [affixes] in modc_tokenizer.h. An empty one is none. */
static bool read_affix(struct tokenizer_reader *r, const struct json *model, const char *key,
                       const char **affix, int *count)
{
    const struct json *text = NULL;
    unsigned char *bytes;
    size_t own;

    if (!tokenizer_text(r, model, "model", key, &text))
        return false;
    if (!text || text->bytes == 0)
        return true;
    bytes = (unsigned char *)arena_copy(&r->cx->arena, text->text, text->bytes);
    own = text->bytes;
    if (r->byte_level && !vocabulary_bytes(text->text, text->bytes, bytes, &own))
        return tokenizer_refuse(r, text, tokenizer_path(r, "model", key, -1),
                                "it has characters that stand for no byte");
    *affix = (const char *)bytes;
    *count = (int)own;
    return true;
}

static bool read_affixes(struct tokenizer_reader *r, const struct json *model, bool fallback, bool ignore)
{
    struct modc_tokenizer *t = r->t;

    if (!read_affix(r, model, "continuing_subword_prefix", &t->prefix, &t->prefix_bytes) ||
        !read_affix(r, model, "end_of_word_suffix", &t->suffix, &t->suffix_bytes))
        return false;
    if (!t->prefix && !t->suffix)
        return true;
    if (fallback)
        return tokenizer_refuse(r, json_member(model, "byte_fallback"), "model.byte_fallback",
                                "this version of modc knows it of tokens without prefix and suffix");
    return !ignore || tokenizer_refuse(r, json_member(model, "ignore_merges"), "model.ignore_merges",
                                       "this version of modc knows it of tokens without prefix and suffix");
}

static bool read_bpe(struct tokenizer_reader *r, const struct json *root, const struct json *model)
{
    const struct json *dropout = json_member(model, "dropout");
    bool fallback = false, ignore = false, bare;

    if (!tokenizer_keys(
            r, model, "model",
            "type dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk byte_fallback "
            "ignore_merges vocab merges") ||
        !tokenizer_bool(r, model, "model", "fuse_unk", &r->t->fuse_unknown) ||
        !tokenizer_bool(r, model, "model", "byte_fallback", &fallback) ||
        !tokenizer_bool(r, model, "model", "ignore_merges", &ignore) ||
        !read_affixes(r, model, fallback, ignore))
        return false;
    if (dropout && (dropout->kind != JSON_NUMBER || dropout->number != 0))
        return tokenizer_refuse(r, dropout, "model.dropout", "tokens that are drawn are for training");
    if (!read_vocabulary(r, root, model) || !vocabulary_read_added(r, root))
        return false;
    r->t->byte_level = r->byte_level;
    if (!vocabulary_finish(r) || !read_unknown(r, model) || !read_bytes(r, model, fallback) ||
        !read_merges(r, model))
        return false;
    bare = !r->t->prefix && !r->t->suffix;
    for (int i = 0; r->byte_level && i < 256; i++)
        r->t->leaves_out |= (r->t->byte_ids[i] < 0 || !bare) && r->t->unknown < 0;
    r->t->leaves_out |= !r->byte_level && r->t->unknown < 0 && !r->t->byte_ids;
    if (!r->byte_level && !r->t->leaves_out && !ignore &&
        bare) /* else a piece may be a token that no merge makes */
        mark_joints(r);
    mark_whole(r, ignore);
    return true;
}

static bool read_wordpiece(struct tokenizer_reader *r, const struct json *root, const struct json *model)
{
    const struct json *prefix = NULL;
    int64_t most = 100;

    if (!tokenizer_keys(r, model, "model",
                        "type unk_token continuing_subword_prefix max_input_chars_per_word vocab") ||
        !tokenizer_text(r, model, "model", "continuing_subword_prefix", &prefix) ||
        !tokenizer_whole(r, model, "model", "max_input_chars_per_word", INT32_MAX, &most) ||
        !read_vocabulary(r, root, model) || !vocabulary_read_added(r, root))
        return false;
    if (!vocabulary_finish(r))
        return false;
    r->t->prefix = prefix ? prefix->text : "##";
    r->t->prefix_bytes = prefix ? (int)prefix->bytes : 2;
    r->t->most_characters = (int)most;
    if (!read_unknown(r, model))
        return false;
    return r->t->unknown >= 0 || tokenizer_refuse(r, model, "model.unk_token", "it is missing");
}

static bool read_wordlevel(struct tokenizer_reader *r, const struct json *root, const struct json *model)
{
    if (!tokenizer_keys(r, model, "model", "type unk_token vocab") || !read_vocabulary(r, root, model) ||
        !vocabulary_read_added(r, root))
        return false;
    if (!vocabulary_finish(r) || !read_unknown(r, model))
        return false;
    return r->t->unknown >= 0 || tokenizer_refuse(r, model, "model.unk_token", "it is missing");
}

/* A score as the package reads it: its digits as an integer, rounded, times or over a power of ten, rounded again. The nearest
 * number may be another one, and paths of equal scores then part otherwise. */
static double score_of(const struct json *number)
{
    const char *at = number->text + (number->text[0] == '-');
    uint64_t digits = 0;
    int exponent = 0;
    bool behind = false;
    double value;

    for (; *at && *at != 'e' && *at != 'E'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');

        if (*at == '.') {
            behind = true;
        } else if (digits > (UINT64_MAX - digit) / 10) { /* no more of them count */
            exponent += !behind;
        } else {
            digits = digits * 10 + digit;
            exponent -= behind;
        }
    }
    exponent += *at ? atoi(at + 1) : 0;
    if (exponent < -300 || exponent > 300)
        return number->number;
    value = exponent < 0 ? (double)digits / pow(10, -exponent) : (double)digits * pow(10, exponent);
    return number->text[0] == '-' ? -value : value;
}

static bool read_unigram(struct tokenizer_reader *r, const struct json *root, const struct json *model)
{
    enum { PENALTY = 10 }; /* what an unknown character costs beside the rarest token */
    const struct json *vocab = json_member(model, "vocab");
    int64_t unknown = -1;
    bool fallback = false;
    double *scores, least = INFINITY;

    if (!tokenizer_keys(r, model, "model", "type unk_id vocab byte_fallback") ||
        !tokenizer_bool(r, model, "model", "byte_fallback", &fallback) ||
        !tokenizer_whole(r, model, "model", "unk_id", VOCABULARY_MOST - 1, &unknown))
        return false;
    if (!vocab || vocab->kind != JSON_LIST ||
        !vocabulary_start(r, vocab, "model.vocab", count_ids(root, vocab)))
        return vocab && vocab->kind == JSON_LIST
                   ? false
                   : tokenizer_refuse(r, model, "model.vocab", "expected a list");
    scores = ARENA_ARRAY(&r->cx->arena, r->t->vocabulary + 1, double);
    for (int i = 0; i < vocab->count; i++) {
        const struct json *row = &vocab->items[i];

        if (row->kind != JSON_LIST || row->count != 2 || row->items[0].kind != JSON_STRING ||
            row->items[1].kind != JSON_NUMBER || !isfinite(row->items[1].number))
            return tokenizer_refuse(r, row, tokenizer_path(r, "model", "vocab", i),
                                    "expected a token and its score");
        if (!vocabulary_add(r, row, "model.vocab", &row->items[0], i))
            return false;
        scores[i] = score_of(&row->items[1]);
        least = scores[i] < least ? scores[i] : least;
    }
    if (unknown < 0 || unknown >= vocab->count)
        return tokenizer_refuse(r, model, "model.unk_id", "it is no token of the vocabulary");
    if (!vocabulary_read_added(r, root) || !vocabulary_finish(r))
        return false;
    r->t->unknown = (int32_t)unknown;
    r->t->unk = unknown;
    r->t->fuse_unknown = true;
    r->t->scores = scores;
    r->t->unknown_score = least - PENALTY;
    if (!read_bytes(r, model, fallback))
        return false;
    mark_whole(r, false);
    return true;
}

bool model_read(struct tokenizer_reader *r, const struct json *root)
{
    static const struct {
        const char *type;
        enum modc_token_model model;
        bool (*read)(struct tokenizer_reader *r, const struct json *root, const struct json *model);
    } rows[] = {{"BPE", MODC_BPE, read_bpe},
                {"WordPiece", MODC_WORDPIECE, read_wordpiece},
                {"WordLevel", MODC_WORDLEVEL, read_wordlevel},
                {"Unigram", MODC_UNIGRAM, read_unigram}};
    const struct json *model = json_member(root, "model");
    const char *type = model ? tokenizer_type(r, model, "model") : NULL;

    if (!model)
        return tokenizer_refuse(r, root, "model", "it is missing");
    for (int i = 0; type && i < COUNT(rows); i++) {
        if (strcmp(rows[i].type, type) != 0)
            continue;
        if (r->byte_level && rows[i].model != MODC_BPE)
            return tokenizer_refuse(r, model, "model", "only BPE stands behind the pre-tokenizer ByteLevel");
        r->t->model = rows[i].model;
        r->own->model = type;
        return rows[i].read(r, root, model);
    }
    return type &&
           tokenizer_refuse(r, model, "model", "this version of modc does not know a %s '%s'", "model", type);
}
