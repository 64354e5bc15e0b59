/* grammar_schema.c - a JSON schema to parts: the texts of the values that it takes, each written in one way but for a space that may
 * stand behind a comma and a colon. Properties come in the order of the schema, no others than those that it names. */
#include "grammar/grammar_parts.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

/* A schema that a $ref names; part NULL: it is being read, so that naming it again is recursion. */
struct definition {
    const struct json *schema;
    struct part *part;
};

struct schema {
    struct cx *cx;
    const struct source *source;
    const struct json *root;
    struct definition *definitions;
    int count;
    int depth;
    struct part *comma, *colon;
};

enum { MOST_PROPERTIES = 1000, MOST_ITEMS = 1000000 };

static const char annotations[] =
    " title description default examples $schema $id $comment $defs definitions deprecated readOnly writeOnly ";

/* ---- what is wrong ------------------------------------------------------------------------------------------------ */

static struct part *schema_refuse(struct schema *s, const struct json *at, const char *path,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));

static struct part *schema_refuse(struct schema *s, const struct json *at, const char *path,
                                  const char *format, ...)
{
    va_list args;
    const char *refusal;

    va_start(args, format);
    refusal = arena_vformat(&s->cx->arena, format, args);
    va_end(args);
    diag_error(s->cx, diag_loc(s->cx, s->source, at->at, 1), "%s: %s", path[0] ? path : "the schema",
               refusal);
    return NULL;
}

static const char *path_to(const struct schema *s, const char *path, const char *key)
{
    return arena_format(&s->cx->arena, "%s%s%s", path, path[0] ? "." : "", key);
}

static const char *path_at(const struct schema *s, const char *path, int index)
{
    return arena_format(&s->cx->arena, "%s[%d]", path, index);
}

/* The value of a key, also where it is null. */
static const struct json *member(const struct json *object, const char *key)
{
    for (int i = 0; i < object->count; i++)
        if (json_is_text(&object->keys[i], key))
            return &object->items[i];
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = strstr(words, word); at && length > 0; at = strstr(at + 1, word))
        if (at > words && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* Keys that are neither annotations nor among these words, which stand between spaces. */
static bool has_only(struct schema *s, const struct json *json, const char *path, const char *words)
{
    for (int i = 0; i < json->count; i++) {
        const char *key = json->keys[i].text;

        if (has_word(annotations, key) || has_word(words, key))
            continue;
        schema_refuse(s, &json->keys[i], path_to(s, path, key),
                      "this version of modc does not know the key here");
        return false;
    }
    return true;
}

/* A whole number from 0 on; `otherwise` where there is no such key. */
static bool read_whole(struct schema *s, const struct json *json, const char *path, const char *key,
                       int otherwise, int *value)
{
    const struct json *found = member(json, key);

    *value = otherwise;
    if (!found)
        return true;
    if (found->kind != JSON_NUMBER || found->number < 0 || found->number > MOST_ITEMS ||
        found->number != floor(found->number)) {
        schema_refuse(s, found, path_to(s, path, key), "expected a whole number from 0 to %d", MOST_ITEMS);
        return false;
    }
    *value = (int)found->number;
    return true;
}

/* `least` and `most` keys of a count. */
static bool read_bounds(struct schema *s, const struct json *json, const char *path, const char *least_key,
                        const char *most_key, int *least, int *most)
{
    if (!read_whole(s, json, path, least_key, 0, least) ||
        !read_whole(s, json, path, most_key, PART_ENDLESS, most))
        return false;
    if (*most == PART_ENDLESS || *most >= *least)
        return true;
    schema_refuse(s, member(json, most_key), path_to(s, path, most_key), "it is less than %s, %d", least_key,
                  *least);
    return false;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static struct part *word(const struct schema *s, const char *text)
{
    return part_text(s->cx, text, strlen(text));
}

static struct part *quoted(const struct schema *s, struct part *part)
{
    return part_both(s->cx, word(s, "\""), part_both(s->cx, part, word(s, "\"")));
}

/* The one text of a value. */
static struct part *read_value(const struct schema *s, const struct json *json)
{
    static const char *const words[] = {[JSON_NULL] = "null", [JSON_FALSE] = "false", [JSON_TRUE] = "true"};
    const bool list = json->kind == JSON_LIST;
    struct part *all;

    if (json->kind == JSON_STRING)
        return quoted(s, part_json_text(s->cx, json->text, json->bytes));
    if (json->kind != JSON_LIST && json->kind != JSON_OBJECT)
        return json->kind == JSON_NUMBER ? part_text(s->cx, json->text, json->bytes)
                                         : word(s, words[json->kind]);
    all = part_new(s->cx, PART_ALL);
    part_add(s->cx, all, word(s, list ? "[" : "{"));
    for (int i = 0; i < json->count; i++) {
        if (i > 0)
            part_add(s->cx, all, s->comma);
        if (!list) {
            part_add(s->cx, all, read_value(s, &json->keys[i]));
            part_add(s->cx, all, s->colon);
        }
        part_add(s->cx, all, read_value(s, &json->items[i]));
    }
    part_add(s->cx, all, word(s, list ? "]" : "}"));
    return all;
}

static bool is_type(const struct json *json, const char *type)
{
    switch (json->kind) {
    case JSON_NULL:
        return strcmp(type, "null") == 0;
    case JSON_FALSE:
    case JSON_TRUE:
        return strcmp(type, "boolean") == 0;
    case JSON_NUMBER:
        return strcmp(type, "number") == 0 ||
               (strcmp(type, "integer") == 0 && json->number == floor(json->number));
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_LIST:
        return strcmp(type, "array") == 0;
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    }
    return false;
}

/* A value beside whose schema a type may stand. */
static bool has_type(const struct json *value, const struct json *type)
{
    if (!type || type->kind == JSON_STRING)
        return !type || is_type(value, type->text);
    for (int i = 0; i < type->count; i++)
        if (type->items[i].kind == JSON_STRING && is_type(value, type->items[i].text))
            return true;
    return false;
}

static struct part *read_enum(struct schema *s, const struct json *json, const char *path)
{
    const struct json *list = member(json, "enum"), *one = member(json, "const"),
                      *type = member(json, "type");
    struct part *either = part_new(s->cx, PART_EITHER);

    if (!has_only(s, json, path, one ? " const type " : " enum type "))
        return NULL;
    if (!one && (list->kind != JSON_LIST || list->count == 0))
        return schema_refuse(s, list, path_to(s, path, "enum"), "expected a list of values, found %s",
                             list->count == 0 && list->kind == JSON_LIST ? "an empty one"
                                                                         : json_kind_name(list));
    for (int i = 0; i < (one ? 1 : list->count); i++) {
        const struct json *value = one ? one : &list->items[i];

        if (!has_type(value, type))
            return schema_refuse(s, value,
                                 one ? path_to(s, path, "const") : path_at(s, path_to(s, path, "enum"), i),
                                 "the value is not of the type that stands beside it");
        part_add(s->cx, either, read_value(s, value));
    }
    return either;
}

/* ---- types ----------------------------------------------------------------------------------------------------------- */

static struct part *read_schema(struct schema *s, const struct json *json, const char *path);

static struct part *characters(const struct schema *s)
{
    struct ranges ranges = {0};

    ranges_settle(s->cx, &ranges, true);
    return part_json_set(s->cx, &ranges);
}

static struct part *read_string(struct schema *s, const struct json *json, const char *path)
{
    const struct json *pattern = member(json, "pattern");
    struct grammar_text text;
    struct part *part;
    int least, most;

    if (!read_bounds(s, json, path, "minLength", "maxLength", &least, &most))
        return NULL;
    if (!pattern)
        return quoted(s, part_times(s->cx, characters(s), least, most));
    path = path_to(s, path, "pattern");
    if (pattern->kind != JSON_STRING)
        return schema_refuse(s, pattern, path, "expected a regular expression, found %s",
                             json_kind_name(pattern));
    if (member(json, "minLength") || member(json, "maxLength"))
        return schema_refuse(s, pattern, path, "a pattern says itself how long a text is, as ^.{1,20}$ does");
    text = (struct grammar_text){
        .text = pattern->text, .length = pattern->bytes, .loc = diag_loc(s->cx, s->source, pattern->at, 1)};
    if (pattern->at + 1 + pattern->bytes <= s->source->length &&
        memcmp(s->source->text + pattern->at + 1, pattern->text, pattern->bytes) == 0) {
        text.source = s->source;
        text.offset = pattern->at + 1;
    }
    part = pattern_read(s->cx, &text, true);
    return part ? quoted(s, part) : NULL;
}

static struct part *read_array(struct schema *s, const struct json *json, const char *path)
{
    const struct json *items = member(json, "items");
    struct part *item, *list;
    int least, most;

    if (!read_bounds(s, json, path, "minItems", "maxItems", &least, &most))
        return NULL;
    if (!items)
        return schema_refuse(s, json, path, "an array has the schema of its items: 'items'");
    item = read_schema(s, items, path_to(s, path, "items"));
    if (!item)
        return NULL;
    list = part_both(s->cx, item,
                     part_times(s->cx, part_both(s->cx, s->comma, item), least > 1 ? least - 1 : 0,
                                most == PART_ENDLESS ? PART_ENDLESS
                                : most > 1           ? most - 1
                                                     : 0));
    if (most == 0)
        list = part_new(s->cx, PART_ALL);
    else if (least == 0)
        list = part_either(s->cx, list, NULL);
    return part_both(s->cx, word(s, "["), part_both(s->cx, list, word(s, "]")));
}

/* Any keys, with values of one schema. */
static struct part *read_map(struct schema *s, const struct json *json, const char *path)
{
    struct part *value = read_schema(s, member(json, "additionalProperties"),
                                     path_to(s, path, "additionalProperties"));
    struct part *pair, *list;

    if (!value)
        return NULL;
    pair = part_both(s->cx, quoted(s, part_times(s->cx, characters(s), 0, PART_ENDLESS)),
                     part_both(s->cx, s->colon, value));
    list = part_both(s->cx, pair, part_times(s->cx, part_both(s->cx, s->comma, pair), 0, PART_ENDLESS));
    return part_both(s->cx, word(s, "{"), part_both(s->cx, part_either(s->cx, list, NULL), word(s, "}")));
}

/* Marks properties that are required; NULL after an error. */
static bool *read_required(struct schema *s, const struct json *json, const struct json *properties,
                           const char *path)
{
    const struct json *list = member(json, "required");
    const int count = properties ? properties->count : 0;
    bool *required = ARENA_ARRAY(&s->cx->arena, count + 1, bool);

    path = path_to(s, path, "required");
    if (list && list->kind != JSON_LIST) {
        schema_refuse(s, list, path, "expected a list of properties, found %s", json_kind_name(list));
        return NULL;
    }
    for (int i = 0; list && i < list->count; i++) {
        int k = 0;

        while (k < count &&
               (list->items[i].kind != JSON_STRING || list->items[i].bytes != properties->keys[k].bytes ||
                memcmp(list->items[i].text, properties->keys[k].text, list->items[i].bytes) != 0))
            k++;
        if (k == count) {
            schema_refuse(s, &list->items[i], path_at(s, path, i), "it names none of the properties");
            return NULL;
        }
        required[k] = true;
    }
    return required;
}

/* From the last property on: `more` is what may follow one that was written, `first` what may where none was. */
static struct part *read_object(struct schema *s, const struct json *json, const char *path)
{
    const struct json *properties = member(json, "properties"),
                      *others = member(json, "additionalProperties");
    struct part *more = part_new(s->cx, PART_ALL), *first = more;
    const bool *required;

    if (properties && properties->kind != JSON_OBJECT)
        return schema_refuse(s, properties, path_to(s, path, "properties"), "expected an object, found %s",
                             json_kind_name(properties));
    if (properties && properties->count > MOST_PROPERTIES)
        return schema_refuse(s, properties, path_to(s, path, "properties"), "there are more than %d",
                             MOST_PROPERTIES);
    required = read_required(s, json, properties, path);
    if (!required)
        return NULL;
    if (others && others->kind != JSON_FALSE && properties)
        return schema_refuse(s, others, path_to(s, path, "additionalProperties"),
                             "an object has either properties or others, not both: no others are written");
    if (!properties && !others)
        return schema_refuse(s, json, path, "an object says which 'properties' it has");
    if (!properties && others->kind != JSON_FALSE)
        return read_map(s, json, path);
    for (int i = properties ? properties->count - 1 : -1; i >= 0; i--) {
        struct part *value = read_schema(
            s, &properties->items[i], path_to(s, path_to(s, path, "properties"), properties->keys[i].text));
        struct part *pair, *begun;

        if (!value)
            return NULL;
        pair = part_both(s->cx, read_value(s, &properties->keys[i]), part_both(s->cx, s->colon, value));
        begun = part_both(s->cx, pair, more);
        first = required[i] ? begun : part_either(s->cx, begun, first);
        pair = part_both(s->cx, s->comma, pair);
        more = part_both(s->cx, required[i] ? pair : part_either(s->cx, pair, NULL), more);
    }
    return part_both(s->cx, word(s, "{"), part_both(s->cx, first, word(s, "}")));
}

static struct part *of_pattern(const struct schema *s, const char *pattern)
{
    const struct grammar_text text = {.text = pattern, .length = strlen(pattern)};

    return pattern_read(s->cx, &text, false);
}

static struct part *read_integer(struct schema *s, const struct json *json, const char *path)
{
    (void)json;
    (void)path;
    return of_pattern(s, "-?(0|[1-9][0-9]*)");
}

static struct part *read_number(struct schema *s, const struct json *json, const char *path)
{
    (void)json;
    (void)path;
    return of_pattern(s, "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+\\-]?[0-9]+)?");
}

static struct part *read_boolean(struct schema *s, const struct json *json, const char *path)
{
    (void)json;
    (void)path;
    return of_pattern(s, "true|false");
}

static struct part *read_null(struct schema *s, const struct json *json, const char *path)
{
    (void)json;
    (void)path;
    return word(s, "null");
}

static const struct {
    const char *name;
    struct part *(*read)(struct schema *s, const struct json *json, const char *path);
    const char *keys;
} types[] = {
    {"object", read_object, "properties required additionalProperties "},
    {"array", read_array, "items minItems maxItems "},
    {"string", read_string, "minLength maxLength pattern "},
    {"integer", read_integer, ""},
    {"number", read_number, ""},
    {"boolean", read_boolean, ""},
    {"null", read_null, ""},
};

static int find_type(struct schema *s, const struct json *json, const char *path)
{
    for (int i = 0; i < COUNT(types); i++)
        if (json->kind == JSON_STRING && json_is_text(json, types[i].name))
            return i;
    schema_refuse(s, json, path, "expected one of object, array, string, integer, number, boolean and null");
    return -1;
}

/* A type, or a list of them. */
static struct part *read_type(struct schema *s, const struct json *json, const char *path)
{
    const struct json *type = member(json, "type");
    const bool many = type->kind == JSON_LIST && type->count > 0;
    struct part *either = part_new(s->cx, PART_EITHER);
    const char *keys = " type ";

    for (int i = 0; i < (many ? type->count : 1); i++) {
        const int found = find_type(s, many ? &type->items[i] : type, path_to(s, path, "type"));

        if (found < 0)
            return NULL;
        keys = arena_format(&s->cx->arena, "%s%s", keys, types[found].keys);
    }
    if (!has_only(s, json, path, keys))
        return NULL;
    for (int i = 0; i < (many ? type->count : 1); i++) {
        const int found = find_type(s, many ? &type->items[i] : type, path);
        struct part *part = types[found].read(s, json, path);

        if (!part)
            return NULL;
        part_add(s->cx, either, part);
    }
    return either->count == 1 ? either->parts[0] : either;
}

/* ---- schemas --------------------------------------------------------------------------------------------------------- */

static struct part *read_either(struct schema *s, const struct json *json, const char *path, const char *key)
{
    const struct json *list = member(json, key);
    struct part *either = part_new(s->cx, PART_EITHER);

    if (!has_only(s, json, path, arena_format(&s->cx->arena, " %s ", key)))
        return NULL;
    path = path_to(s, path, key);
    if (list->kind != JSON_LIST || list->count == 0)
        return schema_refuse(s, list, path, "expected a list of schemas, found %s",
                             list->count == 0 && list->kind == JSON_LIST ? "an empty one"
                                                                         : json_kind_name(list));
    for (int i = 0; i < list->count; i++) {
        struct part *part = read_schema(s, &list->items[i], path_at(s, path, i));

        if (!part)
            return NULL;
        part_add(s->cx, either, part);
    }
    return either;
}

/* What "#/$defs/name" is in the file; NULL: nothing. */
static const struct json *find_target(const struct schema *s, const char *at)
{
    const struct json *json = s->root;

    if (*at++ != '#')
        return NULL;
    while (json && *at == '/') {
        char *name = arena_string(&s->cx->arena, at + 1), *to = name;
        const char *from = name;

        for (; *from && *from != '/'; from++)
            if (from[0] == '~' && (from[1] == '0' || from[1] == '1'))
                *to++ = *++from == '0' ? '~' : '/';
            else
                *to++ = *from;
        at += 1 + (from - name);
        *to = 0;
        json = json->kind == JSON_OBJECT ? member(json, name) : NULL;
    }
    return *at ? NULL : json;
}

static struct part *read_reference(struct schema *s, const struct json *json, const char *path)
{
    const struct json *ref = member(json, "$ref"), *target;
    struct definition definition = {0};
    struct part *part;
    int at = 0;

    if (!has_only(s, json, path, " $ref "))
        return NULL;
    path = path_to(s, path, "$ref");
    target = ref->kind == JSON_STRING ? find_target(s, ref->text) : NULL;
    if (!target)
        return schema_refuse(s, ref, path,
                             "it names nothing in this file: expected such as \"#/$defs/name\"");
    while (at < s->count && s->definitions[at].schema != target)
        at++;
    if (at < s->count && !s->definitions[at].part)
        return schema_refuse(s, ref, path,
                             "a schema that is part of itself: texts of any depth have no automaton");
    if (at < s->count)
        return s->definitions[at].part;
    definition.schema = target;
    ARENA_PUSH(&s->cx->arena, s->definitions, s->count, definition);
    part = read_schema(s, target, ref->text + 1 + (ref->text[1] == '/'));
    s->definitions[at].part = part;
    return part;
}

static struct part *read_keys(struct schema *s, const struct json *json, const char *path)
{
    if (json->kind != JSON_OBJECT)
        return schema_refuse(s, json, path, "expected a schema, which is an object, found %s",
                             json_kind_name(json));
    if (member(json, "$ref"))
        return read_reference(s, json, path);
    if (member(json, "anyOf") || member(json, "oneOf"))
        return read_either(s, json, path, member(json, "anyOf") ? "anyOf" : "oneOf");
    if (member(json, "const") || member(json, "enum"))
        return read_enum(s, json, path);
    if (member(json, "type"))
        return read_type(s, json, path);
    if (!has_only(s, json, path, " "))
        return NULL;
    return schema_refuse(s, json, path,
                         "a schema says what it takes by one of type, enum, const, anyOf, oneOf and $ref");
}

static struct part *read_schema(struct schema *s, const struct json *json, const char *path)
{
    struct part *part;

    if (s->depth == GRAMMAR_MAX_DEPTH)
        return schema_refuse(s, json, path, "too many schemas in schemas");
    s->depth++;
    part = read_keys(s, json, path);
    s->depth--;
    return part;
}

struct modc_grammar *grammar_of_schema(struct cx *cx, const char *name, struct loc loc,
                                       const struct source *source)
{
    struct schema schema = {.cx = cx, .source = source, .root = json_read(cx, source)};
    const struct definition root = {.schema = schema.root};
    struct part *part;

    if (!schema.root)
        return NULL;
    schema.comma = of_pattern(&schema, ", ?");
    schema.colon = of_pattern(&schema, ": ?");
    ARENA_PUSH(&cx->arena, schema.definitions, schema.count, root);
    part = read_schema(&schema, schema.root, "");
    return part ? grammar_of_part(cx, name, part, loc) : NULL;
}
