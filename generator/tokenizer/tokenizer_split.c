/* tokenizer_split.c - the section `pre_tokenizer`: stages that cut a text into pieces. */
#include "tokenizer/tokenizer_reader.h"

#include <string.h>

#include "modc_tokenizer.h"

/* What ByteLevel cuts by, as GPT-2 does. */
static const char gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* A further stage, or NULL after an error. */
static struct modc_stage *add_stage(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    if (r->byte_level) {
        tokenizer_refuse(r, json, path, "something stands behind ByteLevel, which has to be the last");
        return NULL;
    }
    if (r->t->stage_count == MODC_MAX_STAGES) {
        tokenizer_refuse(r, json, path, "there are more than %d steps", MODC_MAX_STAGES);
        return NULL;
    }
    return &r->t->stages[r->t->stage_count++];
}

static bool read_behavior(struct tokenizer_reader *r, const struct json *json, const char *path,
                          enum modc_behavior *behavior)
{
    static const struct {
        const char *name;
        enum modc_behavior behavior;
    } rows[] = {{"Isolated", MODC_ISOLATED},
                {"Removed", MODC_REMOVED},
                {"Contiguous", MODC_CONTIGUOUS},
                {"MergedWithPrevious", MODC_WITH_PREVIOUS},
                {"MergedWithNext", MODC_WITH_NEXT}};
    const struct json *name = NULL;

    if (!tokenizer_text(r, json, path, "behavior", &name))
        return false;
    for (int i = 0; name && i < COUNT(rows); i++) {
        if (json_is_text(name, rows[i].name)) {
            *behavior = rows[i].behavior;
            return true;
        }
    }
    return tokenizer_refuse(r, name ? name : json, tokenizer_path(r, path, "behavior", -1),
                            "it is Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext");
}

static bool read_split(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *pattern = json_member(json, "pattern"), *text;
    struct modc_stage *stage = add_stage(r, json, path);
    bool invert = false;

    if (!stage || !tokenizer_keys(r, json, path, "type pattern behavior invert") ||
        !read_behavior(r, json, path, &stage->behavior) || !tokenizer_bool(r, json, path, "invert", &invert))
        return false;
    path = tokenizer_path(r, path, "pattern", -1);
    if (invert && stage->behavior != MODC_REMOVED && stage->behavior != MODC_ISOLATED)
        return tokenizer_refuse(r, json, path,
                                "it is inverted, which this version of modc knows of Removed alone");
    if (invert && stage->behavior == MODC_REMOVED)
        stage->behavior = MODC_KEPT;
    text = json_member(pattern, "String");
    if (text && text->kind == JSON_STRING && text->bytes > 0) {
        stage->mark = text->text;
        stage->mark_bytes = (int)text->bytes;
        return true;
    }
    text = json_member(pattern, "Regex");
    if (!text || text->kind != JSON_STRING)
        return tokenizer_refuse(r, pattern ? pattern : json, path,
                                "expected {\"String\": ...} or {\"Regex\": ...}");
    return regex_read(r, text, tokenizer_path(r, path, "Regex", -1), text->text, text->bytes, stage);
}

static bool read_byte_level(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    bool space = true, regex = true, trim = true;
    struct modc_stage *stage;

    if (!tokenizer_keys(r, json, path, "type add_prefix_space trim_offsets use_regex") ||
        !tokenizer_bool(r, json, path, "add_prefix_space", &space) ||
        !tokenizer_bool(r, json, path, "trim_offsets", &trim) ||
        !tokenizer_bool(r, json, path, "use_regex", &regex))
        return false;
    if (space) {
        stage = add_stage(r, json, path);
        if (!stage)
            return false;
        stage->kind = MODC_STAGE_SPACE;
    }
    if (regex) {
        stage = add_stage(r, json, path);
        if (!stage || !regex_read(r, json, path, gpt2, strlen(gpt2), stage))
            return false;
    }
    if (r->byte_level)
        return add_stage(r, json, path) != NULL;
    r->byte_level = true;
    return true;
}

static bool read_metaspace(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    static const char *const schemes[] = {"never", "first", "always"};
    const struct json *mark = NULL, *scheme = NULL;
    struct modc_stage *stage = add_stage(r, json, path);
    bool split = true, space = true;

    if (!stage ||
        !tokenizer_keys(r, json, path, "type replacement str_rep prepend_scheme split add_prefix_space") ||
        !tokenizer_text(r, json, path, "replacement", &mark) ||
        !tokenizer_text(r, json, path, "prepend_scheme", &scheme) ||
        !tokenizer_bool(r, json, path, "split", &split) ||
        !tokenizer_bool(r, json, path, "add_prefix_space", &space))
        return false;
    *stage = (struct modc_stage){.kind = MODC_STAGE_METASPACE, .prepend = MODC_PREPEND_ALWAYS};
    stage->mark = mark ? mark->text : "\xe2\x96\x81";
    stage->mark_bytes = mark ? (int)mark->bytes : 3;
    for (int i = 0; scheme && i < COUNT(schemes); i++)
        if (json_is_text(scheme, schemes[i]))
            stage->prepend = (enum modc_prepend)i;
    if (!scheme && !space)
        stage->prepend = MODC_PREPEND_NEVER;
    if (stage->mark_bytes < 1 || stage->mark_bytes != text_utf8_length(stage->mark))
        return tokenizer_refuse(r, mark, tokenizer_path(r, path, "replacement", -1), "it is one character");
    if (split) {
        const struct modc_stage *marked = stage;

        stage = add_stage(r, json, path);
        if (!stage)
            return false;
        stage->behavior = MODC_WITH_NEXT;
        stage->mark = marked->mark;
        stage->mark_bytes = marked->mark_bytes;
    }
    return true;
}

/* A stage that cuts at the characters of a set. */
static bool add_set_stage(struct tokenizer_reader *r, const struct json *json, const char *path,
                          enum unicode_set set, enum modc_behavior behavior)
{
    struct characters *characters = characters_new(&r->cx->arena);
    struct modc_stage *stage = add_stage(r, json, path);

    if (!stage)
        return false;
    characters_add_set(characters, set);
    regex_of_sets(r, (const struct characters *const[]){characters}, 1, false, stage);
    stage->behavior = behavior;
    return true;
}

static bool read_white(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    return add_set_stage(r, json, path, UNICODE_BLANK, MODC_REMOVED);
}

/* \w+|[^\w\s]+ as the package has it elsewhere than in patterns */
static bool read_whitespace(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    struct characters *words = characters_new(&r->cx->arena), *others = characters_new(&r->cx->arena);
    struct modc_stage *stage = add_stage(r, json, path);

    if (!stage)
        return false;
    characters_add_set(words, UNICODE_WORD_OF_RUST);
    characters_add_set(others, UNICODE_WORD_OF_RUST);
    characters_add_set(others, UNICODE_WHITE_OF_RUST);
    characters_invert(others);
    regex_of_sets(r, (const struct characters *const[]){words, others}, 2, true, stage);
    stage->behavior = MODC_KEPT;
    return true;
}

static bool read_delimiter(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *mark = NULL;
    struct modc_stage *stage = add_stage(r, json, path);

    if (!stage || !tokenizer_keys(r, json, path, "type delimiter") ||
        !tokenizer_text(r, json, path, "delimiter", &mark))
        return false;
    if (!mark || mark->bytes == 0)
        return tokenizer_refuse(r, json, tokenizer_path(r, path, "delimiter", -1), "it is one character");
    stage->behavior = MODC_REMOVED;
    stage->mark = mark->text;
    stage->mark_bytes = (int)mark->bytes;
    return true;
}

static bool read_bert(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    return add_set_stage(r, json, path, UNICODE_BLANK, MODC_REMOVED) &&
           add_set_stage(r, json, path, UNICODE_PUNCTUATION, MODC_ISOLATED);
}

static bool read_punctuation(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    enum modc_behavior behavior = MODC_ISOLATED;

    return tokenizer_keys(r, json, path, "type behavior") &&
           (!json_member(json, "behavior") || read_behavior(r, json, path, &behavior)) &&
           add_set_stage(r, json, path, UNICODE_PUNCTUATION, behavior);
}

static bool read_digits(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    bool each = false;

    return tokenizer_keys(r, json, path, "type individual_digits") &&
           tokenizer_bool(r, json, path, "individual_digits", &each) &&
           add_set_stage(r, json, path, UNICODE_NUMERIC, each ? MODC_ISOLATED : MODC_CONTIGUOUS);
}

static bool read_sequence(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    const struct json *list = tokenizer_sequence(r, json, path, "pretokenizers");

    for (int i = 0; list && i < list->count; i++)
        if (!pre_tokenizer_read(r, &list->items[i], tokenizer_path(r, path, "pretokenizers", i)))
            return false;
    return list != NULL;
}

bool pre_tokenizer_read(struct tokenizer_reader *r, const struct json *json, const char *path)
{
    static const struct {
        const char *type;
        bool (*read)(struct tokenizer_reader *r, const struct json *json, const char *path);
    } rows[] = {{"ByteLevel", read_byte_level},  {"Split", read_split},
                {"Sequence", read_sequence},     {"Metaspace", read_metaspace},
                {"WhitespaceSplit", read_white}, {"BertPreTokenizer", read_bert},
                {"Whitespace", read_whitespace}, {"CharDelimiterSplit", read_delimiter},
                {"Digits", read_digits},         {"Punctuation", read_punctuation}};
    const char *type = tokenizer_type(r, json, path);

    for (int i = 0; type && i < COUNT(rows); i++)
        if (strcmp(rows[i].type, type) == 0)
            return rows[i].read(r, json, path);
    return type && tokenizer_refuse(r, json, path, "this version of modc does not know a %s '%s'",
                                    "pre-tokenizer", type);
}
