/* tokenizer_post.c - the sections `post_processor` and `decoder`. */
#include "tokenizer/tokenizer_reader.h"

#include <string.h>

#include "modc_tokenizer.h"

/* ---- what stands around a text ---------------------------------------------------------------------------------- */

struct around {
    int64_t *before, *behind;
    int before_count, behind_count;
    bool text; /* it was there */
};

static void add_around(struct tokenizer_reader *r, struct around *around, int64_t id)
{
    if (around->text)
        ARENA_PUSH(&r->cx->arena, around->behind, around->behind_count, id);
    else
        ARENA_PUSH(&r->cx->arena, around->before, around->before_count, id);
}

static bool put_around(struct tokenizer_reader *r, const struct json *json, const char *path,
                       const struct around *around)
{
    if (r->t->before || r->t->behind)
        return tokenizer_refuse(r, json, path, "two of the list put tokens around a text");
    r->t->before = around->before;
    r->t->before_count = around->before_count;
    r->t->behind = around->behind;
    r->t->behind_count = around->behind_count;
    return true;
}

/* {"SpecialToken": {"id": "<s>", "type_id": 0}}: its ids, which stand apart. */
static bool add_special(struct tokenizer_reader *r, const struct json *json, const char *path,
                        const struct json *token, struct around *around)
{
    const struct json *name = json_member(token, "id");
    const struct json *row = name && name->kind == JSON_STRING
                                 ? json_member(json_member(json, "special_tokens"), name->text)
                                 : NULL;
    const struct json *ids = json_member(row, "ids");

    if (!ids || ids->kind != JSON_LIST)
        return tokenizer_refuse(r, token, path, "the ids of the token are not in special_tokens");
    for (int i = 0; i < ids->count; i++) {
        const double id = ids->items[i].number;

        if (ids->items[i].kind != JSON_NUMBER || !(id >= 0 && id < r->t->vocabulary) ||
            !r->vocabulary[(int)id])
            return tokenizer_refuse(r, &ids->items[i], path, "this id is no token's");
        add_around(r, around, (int64_t)id);
    }
    return true;
}

static bool read_template(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *single = json_member(json, "single");
    struct around around = {0};

    if (!tokenizer_keys(r, json, path, "type single pair special_tokens"))
        return false;
    path = tokenizer_path(r, path, "single", -1);
    if (!single || single->kind != JSON_LIST)
        return tokenizer_refuse(r, single ? single : json, path, "expected a list");
    for (int i = 0; i < single->count; i++) {
        const struct json *token = json_member(&single->items[i], "SpecialToken");
        const struct json *sequence = json_member(&single->items[i], "Sequence");

        if (token && !add_special(r, json, path, token, &around))
            return false;
        if (!token && (!sequence || around.text))
            return tokenizer_refuse(r, &single->items[i], path, "expected SpecialToken, or one Sequence");
        around.text |= !token;
    }
    return put_around(r, json, tokenizer_path(r, path, "", -1), &around);
}

/* ["</s>", 2] */
static bool read_pair(struct tokenizer_reader *r, const struct json *json, const char *path, const char *key,
                      int64_t *id)
{
    const struct json *pair = json_member(json, key);

    path = tokenizer_path(r, path, key, -1);
    if (!pair || pair->kind != JSON_LIST || pair->count != 2 || pair->items[1].kind != JSON_NUMBER ||
        !(pair->items[1].number >= 0 && pair->items[1].number < r->t->vocabulary) ||
        !r->vocabulary[(int)pair->items[1].number])
        return tokenizer_refuse(r, pair ? pair : json, path, "expected a token and its id");
    *id = (int64_t)pair->items[1].number;
    return true;
}

static bool read_trim(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    bool trims = true, prefix = true;

    if (!tokenizer_bool(r, json, path, "trim_offsets", &trims) ||
        !tokenizer_bool(r, json, path, "add_prefix_space", &prefix))
        return false;
    if (trims) {
        r->t->trims = true;
        r->t->trims_prefix = prefix;
    }
    return true;
}

static bool read_frame(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    struct around around = {0};
    int64_t cls, sep;

    if (!read_pair(r, json, path, "cls", &cls) || !read_pair(r, json, path, "sep", &sep))
        return false;
    add_around(r, &around, cls);
    around.text = true;
    add_around(r, &around, sep);
    return put_around(r, json, path, &around);
}

static bool read_roberta(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    return tokenizer_keys(r, json, path, "type sep cls trim_offsets add_prefix_space") &&
           read_trim(r, json, path) && read_frame(r, json, path);
}

static bool read_bert(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    return tokenizer_keys(r, json, path, "type sep cls") && read_frame(r, json, path);
}

static bool read_byte_level(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    return tokenizer_keys(r, json, path, "type add_prefix_space trim_offsets use_regex") &&
           read_trim(r, json, path);
}

static bool read_sequence(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *list = tokenizer_sequence(r, json, path, "processors");

    for (int i = 0; list && i < list->count; i++)
        if (!post_processor_read(r, &list->items[i], tokenizer_path(r, path, "processors", i)))
            return false;
    return list != NULL;
}

bool post_processor_read(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    static const struct {
        const char *type;
        bool (*read)(struct tokenizer_reader *r, const struct json *json, const char *path);
    } rows[] = {{"TemplateProcessing", read_template},
                {"ByteLevel", read_byte_level},
                {"RobertaProcessing", read_roberta},
                {"BertProcessing", read_bert},
                {"Sequence", read_sequence}};
    const char *type = tokenizer_type(r, json, path);

    for (int i = 0; type && i < COUNT(rows); i++)
        if (strcmp(rows[i].type, type) == 0)
            return rows[i].read(r, json, path);
    return type && tokenizer_refuse(r, json, path, "this version of modc does not know a %s '%s'",
                                    "post-processor", type);
}

/* ---- how ids become text ------------------------------------------------------------------------------------------- */

/* Decoders of a sequence are one behind the other: this says which came, in the order in which they may. */
enum order { NOTHING, REPLACED, BYTES, FUSED, STRIPPED, ALONE };

static bool read_decode_replace(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *content = NULL, *from = json_member(json_member(json, "pattern"), "String");

    if (!tokenizer_keys(r, json, path, "type pattern content") ||
        !tokenizer_text(r, json, path, "content", &content))
        return false;
    if (!from || from->kind != JSON_STRING || from->bytes == 0)
        return tokenizer_refuse(r, json, tokenizer_path(r, path, "pattern", -1),
                                "only {\"String\": ...}, a text, is replaced by this version of modc");
    r->t->decode_replace = (struct modc_step){.kind = MODC_STEP_REPLACE,
                                              .from = from->text,
                                              .from_bytes = (int)from->bytes,
                                              .to = content ? content->text : "",
                                              .to_bytes = content ? (int)content->bytes : 0,
                                              .growth = 1};
    return true;
}

static bool read_decode_strip(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *content = NULL;
    int64_t start = 0, stop = 0;

    if (!tokenizer_keys(r, json, path, "type content start stop") ||
        !tokenizer_text(r, json, path, "content", &content) ||
        !tokenizer_whole(r, json, path, "start", INT32_MAX, &start) ||
        !tokenizer_whole(r, json, path, "stop", INT32_MAX, &stop))
        return false;
    if (!content || !json_is_text(content, " ") || stop != 0)
        return tokenizer_refuse(r, json, path, "this version of modc strips spaces, from the start");
    r->t->decode_strip = " ";
    r->t->decode_strip_bytes = 1;
    r->t->decode_strip_count = (int)start;
    return true;
}

static bool read_decode_metaspace(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *mark = NULL, *scheme = NULL;
    bool split = true, space = true;

    if (!tokenizer_keys(r, json, path, "type replacement str_rep prepend_scheme split add_prefix_space") ||
        !tokenizer_text(r, json, path, "replacement", &mark) ||
        !tokenizer_text(r, json, path, "prepend_scheme", &scheme) ||
        !tokenizer_bool(r, json, path, "split", &split) ||
        !tokenizer_bool(r, json, path, "add_prefix_space", &space))
        return false;
    r->t->decode_mark = mark ? mark->text : "\xe2\x96\x81";
    r->t->decode_mark_bytes = mark ? (int)mark->bytes : 3;
    r->t->decode_mark_first = scheme ? !json_is_text(scheme, "never") : space;
    return true;
}

/* A token with a space would be cleaned up inside, too. */
static bool read_decode_wordpiece(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *prefix = NULL;
    bool cleanup = true;

    if (!tokenizer_keys(r, json, path, "type prefix cleanup") ||
        !tokenizer_text(r, json, path, "prefix", &prefix) ||
        !tokenizer_bool(r, json, path, "cleanup", &cleanup))
        return false;
    r->t->decode_prefix = prefix ? prefix->text : "##";
    r->t->decode_prefix_bytes = prefix ? (int)prefix->bytes : 2;
    r->t->decode_cleanup = cleanup;
    for (int i = 0; cleanup && i < r->t->vocabulary; i++)
        if (r->vocabulary[i] && memchr(r->vocabulary[i], ' ', r->lengths[i]))
            return tokenizer_refuse(
                r, json, tokenizer_path(r, path, "cleanup", -1),
                "the token '%s' has a space, around which this version of modc cleans nothing up",
                r->vocabulary[i]);
    return true;
}

static bool read_decode_bpe(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *suffix = NULL;

    if (!tokenizer_keys(r, json, path, "type suffix") || !tokenizer_text(r, json, path, "suffix", &suffix))
        return false;
    if (suffix && suffix->bytes == 0)
        return tokenizer_refuse(r, suffix, tokenizer_path(r, path, "suffix", -1), "it is empty");
    r->t->decode_suffix = suffix ? suffix->text : "</w>";
    r->t->decode_suffix_bytes = suffix ? (int)suffix->bytes : 4;
    return true;
}

static bool read_one(struct tokenizer_reader *r, const struct json *json, const char *path,
                     enum order *order);

static bool read_decoders(struct tokenizer_reader *r, const struct json *json, const char *path,
                          enum order *order)
{
    const struct json *list = tokenizer_sequence(r, json, path, "decoders");

    for (int i = 0; list && i < list->count; i++)
        if (!read_one(r, &list->items[i], tokenizer_path(r, path, "decoders", i), order))
            return false;
    return list != NULL;
}

static bool read_byte_decoder(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    if (!tokenizer_keys(r, json, path, "type add_prefix_space trim_offsets use_regex"))
        return false;
    if (!r->byte_level)
        return tokenizer_refuse(r, json, path, "bytes are decoded, but the pre-tokenizer makes none");
    r->t->decode_bytes = true;
    return true;
}

static bool read_one(struct tokenizer_reader *r, const struct json *json, const char *path, enum order *order)
{
    static const struct {
        const char *type;
        enum order order;
        bool (*read)(struct tokenizer_reader *r, const struct json *json, const char *path);
    } rows[] = {{"Replace", REPLACED, read_decode_replace},
                {"ByteFallback", BYTES, NULL},
                {"Fuse", FUSED, NULL},
                {"Strip", STRIPPED, read_decode_strip},
                {"ByteLevel", ALONE, read_byte_decoder},
                {"Metaspace", ALONE, read_decode_metaspace},
                {"BPEDecoder", ALONE, read_decode_bpe},
                {"WordPiece", ALONE, read_decode_wordpiece}};
    const char *type = tokenizer_type(r, json, path);

    if (!type)
        return false;
    if (strcmp(type, "Sequence") == 0)
        return read_decoders(r, json, path, order);
    for (int i = 0; i < COUNT(rows); i++) {
        if (strcmp(rows[i].type, type) != 0)
            continue;
        if ((rows[i].order == ALONE && *order != NOTHING) || *order >= rows[i].order ||
            (rows[i].order == STRIPPED && *order != FUSED))
            return tokenizer_refuse(
                r, json, path,
                "decoders stand in the order Replace, ByteFallback, Fuse, Strip, or one stands alone");
        *order = rows[i].order;
        r->t->decode_byte_tokens |= rows[i].order == BYTES;
        return !rows[i].read || rows[i].read(r, json, path);
    }
    return tokenizer_refuse(r, json, path, "this version of modc does not know a %s '%s'", "decoder", type);
}

bool decoder_read(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    struct modc_tokenizer *t = r->t;
    enum order order = NOTHING;
    int64_t longest = 0;

    if (json && !read_one(r, json, path, &order))
        return false;
    if (r->byte_level && !t->decode_bytes)
        return tokenizer_refuse(r, json ? json : r->root, path,
                                "behind the pre-tokenizer ByteLevel it is ByteLevel, too");
    if (!json)
        t->decode_join = " ";
    for (int i = 0; i < t->vocabulary; i++)
        if ((int64_t)r->lengths[i] > longest)
            longest = (int64_t)r->lengths[i];
    for (int i = 0; i < t->added_normal.count; i++)
        if ((int64_t)t->added_normal.list[i].length > longest)
            longest = t->added_normal.list[i].length;
    longest *= t->decode_suffix ? 2 : 1; /* with what waited of the one before */
    longest = (longest + 1) * (t->decode_replace.to_bytes > 3 ? t->decode_replace.to_bytes : 3) + 16;
    t->decode_token_bytes = (int)longest;
    return true;
}
