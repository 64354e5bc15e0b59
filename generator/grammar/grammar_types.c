/* grammar_types.c - what a JSON schema says of values of each type, of all schemas that hold at once: note [all] in grammar_schema.h.
 * Properties come in the order of the schema, no others than those that it names. */
#include "grammar/grammar_schema.h"

#include <math.h>
#include <string.h>

enum { MOST_PROPERTIES = 1000, MOST_ITEMS = 1000000 };

/* ---- values -------------------------------------------------------------------------------------------------------- */

struct part *schema_word(const struct schema *s, const char *text)
{
    return part_text(s->cx, text, strlen(text));
}

struct part *schema_quoted(const struct schema *s, struct part *part)
{
    return part_both(s->cx, schema_word(s, "\""), part_both(s->cx, part, schema_word(s, "\"")));
}

struct part *schema_pattern(const struct schema *s, const char *pattern)
{
    const struct grammar_text text = {.text = pattern, .length = strlen(pattern)};

    return pattern_read(s->cx, &text, false);
}

struct part *schema_value(const struct schema *s, const struct json *json)
{
    static const char *const words[] = {[JSON_NULL] = "null", [JSON_FALSE] = "false", [JSON_TRUE] = "true"};
    const bool list = json->kind == JSON_LIST;
    struct part *all;

    if (json->kind == JSON_STRING)
        return schema_quoted(s, part_json_text(s->cx, json->text, json->bytes));
    if (json->kind != JSON_LIST && json->kind != JSON_OBJECT)
        return json->kind == JSON_NUMBER ? part_text(s->cx, json->text, json->bytes)
                                         : schema_word(s, words[json->kind]);
    all = part_new(s->cx, PART_ALL);
    part_add(s->cx, all, schema_word(s, list ? "[" : "{"));
    for (int i = 0; i < json->count; i++) {
        if (i > 0)
            part_add(s->cx, all, s->comma);
        if (!list) {
            part_add(s->cx, all, schema_value(s, &json->keys[i]));
            part_add(s->cx, all, s->colon);
        }
        part_add(s->cx, all, schema_value(s, &json->items[i]));
    }
    part_add(s->cx, all, schema_word(s, list ? "]" : "}"));
    return all;
}

/* A whole number from 0 on; `otherwise` where there is no such key. */
static bool read_whole(struct schema *s, const struct demand *demand, const char *key, int otherwise,
                       int *value)
{
    const struct json *found = schema_member(demand->schema, key);

    *value = otherwise;
    if (!found)
        return true;
    if (found->kind != JSON_NUMBER || found->number < 0 || found->number > MOST_ITEMS ||
        found->number != floor(found->number)) {
        schema_refuse(s, found, schema_path_to(s, demand->path, key), "expected a whole number from 0 to %d",
                      MOST_ITEMS);
        return false;
    }
    *value = (int)found->number;
    return true;
}

/* The closest bounds of a count that the keys of all say. False after an error; none is between them: *most is below *least. */
static bool read_bounds(struct schema *s, const struct all *all, const char *least_key, const char *most_key,
                        int *least, int *most)
{
    *least = 0;
    *most = PART_ENDLESS;
    for (int i = 0; i < all->count; i++) {
        const struct demand *demand = &all->list[i];
        int from, to;

        if (!read_whole(s, demand, least_key, 0, &from) ||
            !read_whole(s, demand, most_key, PART_ENDLESS, &to))
            return false;
        if (to != PART_ENDLESS && to < from) {
            schema_refuse(s, schema_member(demand->schema, most_key),
                          schema_path_to(s, demand->path, most_key), "it is less than %s, %d", least_key,
                          from);
            return false;
        }
        *least = from > *least ? from : *least;
        *most = *most == PART_ENDLESS || (to != PART_ENDLESS && to < *most) ? to : *most;
    }
    return true;
}

static bool are_crossed(int least, int most)
{
    return most != PART_ENDLESS && most < least;
}

static struct part *meet(struct schema *s, struct part *part, struct part *other)
{
    if (!part || !other)
        return NULL;
    return part_meet(s->cx, s->name, part, other, s->loc);
}

/* ---- texts ------------------------------------------------------------------------------------------------------------ */

static struct part *characters(const struct schema *s)
{
    struct ranges ranges = {0};

    ranges_settle(s->cx, &ranges, true);
    return part_json_set(s->cx, &ranges);
}

static struct part *read_pattern(struct schema *s, const struct demand *demand, const struct json *pattern)
{
    struct grammar_text text;

    if (pattern->kind != JSON_STRING)
        return schema_refuse(s, pattern, schema_path_to(s, demand->path, "pattern"),
                             "expected a regular expression, found %s", json_kind_name(pattern));
    text = (struct grammar_text){
        .text = pattern->text, .length = pattern->bytes, .loc = diag_loc(s->cx, s->source, pattern->at, 1)};
    if (pattern->at + 1 + pattern->bytes <= s->source->length &&
        memcmp(s->source->text + pattern->at + 1, pattern->text, pattern->bytes) == 0) {
        text.source = s->source;
        text.offset = pattern->at + 1;
    }
    return pattern_read(s->cx, &text, true);
}

#define DATE                                                                                                  \
    "[1-9]\\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[" \
    "0-8]))|([1-9]\\d(0[48]|[2468][048]|[13579][26])|([2468][048]|[13579][26])00)-02-29"
#define TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?(Z|[+\\-]([01]\\d|2[0-3]):[0-5]\\d)"
#define BYTE "(\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])"
#define LABEL "[A-Za-z0-9]([A-Za-z0-9\\-]*[A-Za-z0-9])?"

/* What comes of a `format`: of some of them not all that may. */
static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", DATE},
    {"time", TIME},
    {"date-time", "(" DATE ")T" TIME},
    {"duration",
     "P(\\d+W|((\\d+D|\\d+M(\\d+D)?|\\d+Y(\\d+M(\\d+D)?)?)(T(\\d+S|\\d+M(\\d+S)?|\\d+H(\\d+M(\\d+S)?)?))?|"
     "T(\\d+S|\\d+M(\\d+S)?|\\d+H(\\d+M(\\d+S)?)?)))"},
    {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
    {"ipv4", BYTE "(\\." BYTE "){3}"},
    {"hostname", LABEL "(\\." LABEL ")*"},
    {"email", "[A-Za-z0-9_+\\-]+(\\.[A-Za-z0-9_+\\-]+)*@" LABEL "(\\." LABEL ")+"},
};

static struct part *read_format(struct schema *s, const struct demand *demand, const struct json *format)
{
    const char *names = "";

    for (int i = 0; i < COUNT(formats); i++)
        if (format->kind == JSON_STRING && json_is_text(format, formats[i].name))
            return schema_pattern(s, formats[i].pattern);
    schema_refuse(s, format, schema_path_to(s, demand->path, "format"),
                  "this version of modc does not know the format");
    for (int i = 0; i < COUNT(formats); i++)
        names = arena_format(&s->cx->arena, "%s%s%s", names,
                             i == 0                    ? ""
                             : i + 1 == COUNT(formats) ? " and "
                                                       : ", ",
                             formats[i].name);
    diag_hint(s->cx, "there are %s; 'pattern' takes a regular expression", names);
    return NULL;
}

struct part *schema_read_text(struct schema *s, const struct all *all)
{
    struct part *text = NULL;
    int least, most;

    if (!read_bounds(s, all, "minLength", "maxLength", &least, &most))
        return NULL;
    for (int i = 0; i < all->count; i++) {
        const struct json *pattern = schema_member(all->list[i].schema, "pattern"),
                          *format = schema_member(all->list[i].schema, "format");
        struct part *parts[2] = {NULL, NULL};

        if (pattern && !(parts[0] = read_pattern(s, &all->list[i], pattern)))
            return NULL;
        if (format && !(parts[1] = read_format(s, &all->list[i], format)))
            return NULL;
        for (int k = 0; k < 2; k++) {
            if (parts[k])
                text = text ? meet(s, text, parts[k]) : parts[k];
            if (parts[k] && !text)
                return NULL;
        }
    }
    if (are_crossed(least, most))
        return part_never(s->cx);
    if (text && least == 0 && most == PART_ENDLESS)
        return text;
    return text ? meet(s, text, part_times(s->cx, characters(s), least, most))
                : part_times(s->cx, characters(s), least, most);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

/* What a key says of a number; NULL: an error. */
static struct part *read_limit(struct schema *s, const struct demand *demand, const char *key)
{
    const struct json *json = schema_member(demand->schema, key);
    const char *path = schema_path_to(s, demand->path, key);
    const bool open = strncmp(key, "excl", 4) == 0, from = strstr(key, "inimum") != NULL;
    struct decimal decimal;
    struct part *part;

    if (json->kind != JSON_NUMBER)
        return schema_refuse(s, json, path, "expected a number, found %s", json_kind_name(json));
    if (!decimal_read(s->cx, json->text, &decimal))
        return schema_refuse(s, json, path, "a number of more than 60 digits");
    if (strcmp(key, "multipleOf") != 0)
        return from ? part_digits_from(s->cx, &decimal, open) : part_digits_to(s->cx, &decimal, open);
    if (!(json->number > 0))
        return schema_refuse(s, json, path, "expected a number above 0");
    part = part_multiples(s->cx, &decimal);
    return part ? part
                : schema_refuse(
                      s, json, path,
                      "an automaton for it would be too large: there are those for whole numbers up to "
                      "10000, and for 3 digits with a fraction");
}

struct part *schema_read_number(struct schema *s, const struct all *all, bool whole)
{
    static const char *const keys[] = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum",
                                       "multipleOf"};
    struct part *number = NULL;

    for (int i = 0; i < all->count; i++) {
        for (int k = 0; k < COUNT(keys); k++) {
            struct part *limit;

            if (!schema_member(all->list[i].schema, keys[k]))
                continue;
            limit = read_limit(s, &all->list[i], keys[k]);
            if (!limit)
                return NULL;
            if (!number)
                number = schema_pattern(s, whole ? "-?(0|[1-9][0-9]*)" : "-?(0|[1-9][0-9]*)(\\.[0-9]+)?");
            number = meet(s, number, limit);
            if (!number)
                return NULL;
        }
    }
    if (number)
        return number;
    return schema_pattern(s,
                          whole ? "-?(0|[1-9][0-9]*)" : "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+\\-]?[0-9]+)?");
}

/* ---- what is in lists and objects ------------------------------------------------------------------------------------- */

/* A value of which nothing is said may be anything, but not endlessly deep. */
static struct part *read_inner(struct schema *s, struct all *inner, int left)
{
    inner->left = left - (inner->count == 0);
    return inner->left < 0 ? part_never(s->cx) : schema_read_all(s, inner);
}

/* The key that says what stands behind the first items, and the list of these; either may be NULL. */
static void items_of(const struct json *schema, const struct json **first, const struct json **rest)
{
    const struct json *items = schema_member(schema, "items");
    const bool old = items && items->kind == JSON_LIST; /* as drafts before 2020 have it */

    *first = old ? items : schema_member(schema, "prefixItems");
    *rest = old ? schema_member(schema, "additionalItems") : items;
}

/* The i-th item, or (i at the number of those that are named or beyond) all that follow. */
static struct part *read_item(struct schema *s, const struct all *all, int i)
{
    struct all inner = {.count = 0};

    for (int k = 0; k < all->count; k++) {
        const struct demand *demand = &all->list[k];
        const struct json *first, *rest;

        items_of(demand->schema, &first, &rest);
        if (first && i < first->count)
            schema_demand(
                s, &inner, &first->items[i],
                schema_path_at(
                    s,
                    schema_path_to(s, demand->path,
                                   schema_member(demand->schema, "prefixItems") ? "prefixItems" : "items"),
                    i),
                demand->left);
        else if (rest)
            schema_demand(s, &inner, rest,
                          schema_path_to(s, demand->path,
                                         first && !schema_member(demand->schema, "prefixItems")
                                             ? "additionalItems"
                                             : "items"),
                          demand->left);
    }
    return read_inner(s, &inner, all->left);
}

/* False after an error: what is said of items that no automaton sees. named: how many have schemas of their own. */
static bool check_items(struct schema *s, const struct all *all, int most, int *named, bool *more)
{
    *named = 0;
    *more = true;
    for (int i = 0; i < all->count; i++) {
        const struct demand *demand = &all->list[i];
        const struct json *unique = schema_member(demand->schema, "uniqueItems"), *first, *rest;

        items_of(demand->schema, &first, &rest);
        if (first && first->kind != JSON_LIST) {
            schema_refuse(s, first, schema_path_to(s, demand->path, "prefixItems"),
                          "expected a list of schemas, found %s", json_kind_name(first));
            return false;
        }
        if (unique && unique->kind == JSON_TRUE && (most == PART_ENDLESS || most > 1)) {
            schema_refuse(s, unique, schema_path_to(s, demand->path, "uniqueItems"),
                          "an automaton cannot compare items with each other");
            return false;
        }
        if (first && first->count > *named)
            *named = first->count;
        *more &= !first || rest != NULL;
    }
    return true;
}

/* From the last item that is named on: `more` is what may follow those in front of it. */
static struct part *read_array(struct schema *s, const struct all *all)
{
    int least, most, named;
    bool others;
    struct part *list, *rest;

    if (!read_bounds(s, all, "minItems", "maxItems", &least, &most) ||
        !check_items(s, all, most, &named, &others))
        return NULL;
    if (!others && (most == PART_ENDLESS || most > named))
        most = named;
    if (are_crossed(least, most))
        return part_never(s->cx);
    if (most != PART_ENDLESS && most < named)
        named = most;
    rest = most == PART_ENDLESS || most > named ? read_item(s, all, named) : part_never(s->cx);
    if (!rest)
        return NULL;
    if (named == 0) {
        list = part_both(s->cx, rest,
                         part_times(s->cx, part_both(s->cx, s->comma, rest), least > 1 ? least - 1 : 0,
                                    most == PART_ENDLESS ? PART_ENDLESS
                                    : most > 1           ? most - 1
                                                         : 0));
    } else {
        list = part_times(s->cx, part_both(s->cx, s->comma, rest), least > named ? least - named : 0,
                          most == PART_ENDLESS ? PART_ENDLESS : most - named);
        for (int i = named - 1; i >= 0; i--) {
            struct part *item = read_item(s, all, i);

            if (!item)
                return NULL;
            list = part_both(s->cx, item, list);
            if (i > 0)
                list = part_both(s->cx, s->comma, list);
            if (i > 0 && i >= least)
                list = part_either(s->cx, list, NULL);
        }
    }
    if (most == 0)
        list = part_new(s->cx, PART_ALL);
    else if (least == 0)
        list = part_either(s->cx, list, NULL);
    return part_both(s->cx, schema_word(s, "["), part_both(s->cx, list, schema_word(s, "]")));
}

/* ---- objects ---------------------------------------------------------------------------------------------------------- */

/* What all properties are called, in the order in which they are first named. */
struct names {
    const struct json **list; /* keys */
    bool *required;
    int count;
};

static int find_name(const struct names *names, const struct json *name)
{
    for (int i = 0; name->kind == JSON_STRING && i < names->count; i++)
        if (names->list[i]->bytes == name->bytes &&
            memcmp(names->list[i]->text, name->text, name->bytes) == 0)
            return i;
    return -1;
}

static bool add_names(struct schema *s, const struct demand *demand, struct names *names)
{
    const struct json *properties = schema_member(demand->schema, "properties");

    if (properties && properties->kind != JSON_OBJECT) {
        schema_refuse(s, properties, schema_path_to(s, demand->path, "properties"),
                      "expected an object, found %s", json_kind_name(properties));
        return false;
    }
    for (int i = 0; properties && i < properties->count; i++) {
        if (find_name(names, &properties->keys[i]) >= 0)
            continue;
        if (names->count == MOST_PROPERTIES) {
            schema_refuse(s, properties, schema_path_to(s, demand->path, "properties"),
                          "there are more than %d", MOST_PROPERTIES);
            return false;
        }
        ARENA_PUSH(&s->cx->arena, names->list, names->count, &properties->keys[i]);
    }
    return true;
}

static bool mark_required(struct schema *s, const struct demand *demand, struct names *names)
{
    const struct json *list = schema_member(demand->schema, "required");
    const char *path = schema_path_to(s, demand->path, "required");

    if (list && list->kind != JSON_LIST) {
        schema_refuse(s, list, path, "expected a list of properties, found %s", json_kind_name(list));
        return false;
    }
    for (int i = 0; list && i < list->count; i++) {
        const int found = find_name(names, &list->items[i]);

        if (found < 0) {
            schema_refuse(s, &list->items[i], schema_path_at(s, path, i), "it names none of the properties");
            return false;
        }
        names->required[found] = true;
    }
    return true;
}

/* Whether a schema of others says anything. */
static bool says_nothing(const struct json *schema)
{
    return !schema || schema->kind == JSON_TRUE || (schema->kind == JSON_OBJECT && schema->count == 0);
}

/* Where properties are named no others are written. */
static bool check_others(struct schema *s, const struct all *all, const struct names *names)
{
    static const char *const keys[] = {"propertyNames", "minProperties", "maxProperties"};

    for (int i = 0; names->count > 0 && i < all->count; i++) {
        const struct demand *demand = &all->list[i];
        const struct json *others = schema_member(demand->schema, "additionalProperties"),
                          *properties = schema_member(demand->schema, "properties");

        if (properties && properties->count > 0 && !says_nothing(others) && others->kind != JSON_FALSE) {
            schema_refuse(s, others, schema_path_to(s, demand->path, "additionalProperties"),
                          "an object has either properties or others, not both: no others are written");
            return false;
        }
        for (int k = 0; k < COUNT(keys); k++)
            if (schema_member(demand->schema, keys[k])) {
                schema_refuse(
                    s, schema_member(demand->schema, keys[k]), schema_path_to(s, demand->path, keys[k]),
                    "of an object whose properties are named this version of modc does not know the key");
                return false;
            }
    }
    return true;
}

/* A property, or (name NULL) the value of any key. */
static struct part *read_property(struct schema *s, const struct all *all, const struct json *name)
{
    struct all inner = {.count = 0};

    for (int i = 0; i < all->count; i++) {
        const struct demand *demand = &all->list[i];
        const struct json *properties = schema_member(demand->schema, "properties"),
                          *others = schema_member(demand->schema, "additionalProperties"),
                          *own = name && properties ? schema_member(properties, name->text) : NULL;

        if (own)
            schema_demand(s, &inner, own,
                          schema_path_to(s, schema_path_to(s, demand->path, "properties"), name->text),
                          demand->left);
        else if (others)
            schema_demand(s, &inner, others, schema_path_to(s, demand->path, "additionalProperties"),
                          demand->left);
    }
    return read_inner(s, &inner, all->left);
}

/* Any keys, with values of one kind. */
static struct part *read_map(struct schema *s, const struct all *all)
{
    struct all names = {.left = all->left};
    struct part *value = read_property(s, all, NULL), *key, *pair, *list;
    int least, most;

    if (!value || !read_bounds(s, all, "minProperties", "maxProperties", &least, &most))
        return NULL;
    for (int i = 0; i < all->count; i++) {
        const struct json *own = schema_member(all->list[i].schema, "propertyNames");

        if (own)
            schema_demand(s, &names, own, schema_path_to(s, all->list[i].path, "propertyNames"),
                          all->list[i].left);
    }
    key = schema_quoted(s, part_times(s->cx, characters(s), 0, PART_ENDLESS));
    if (names.count > 0)
        key = meet(s, key, schema_read_all(s, &names));
    if (!key)
        return NULL;
    if (are_crossed(least, most))
        return part_never(s->cx);
    pair = part_both(s->cx, key, part_both(s->cx, s->colon, value));
    list = part_both(s->cx, pair,
                     part_times(s->cx, part_both(s->cx, s->comma, pair), least > 1 ? least - 1 : 0,
                                most == PART_ENDLESS ? PART_ENDLESS
                                : most > 1           ? most - 1
                                                     : 0));
    if (most == 0)
        list = part_new(s->cx, PART_ALL);
    else if (least == 0)
        list = part_either(s->cx, list, NULL);
    return part_both(s->cx, schema_word(s, "{"), part_both(s->cx, list, schema_word(s, "}")));
}

/* From the last property on: `more` is what may follow one that was written, `first` what may where none was. */
static struct part *read_object(struct schema *s, const struct all *all)
{
    struct names names = {0};
    struct part *more = part_new(s->cx, PART_ALL), *first = more;

    for (int i = 0; i < all->count; i++)
        if (!add_names(s, &all->list[i], &names))
            return NULL;
    names.required = ARENA_ARRAY(&s->cx->arena, names.count + 1, bool);
    for (int i = 0; i < all->count; i++)
        if (!mark_required(s, &all->list[i], &names))
            return NULL;
    if (!check_others(s, all, &names))
        return NULL;
    if (names.count == 0) {
        for (int i = 0; i < all->count; i++)
            if (schema_member(all->list[i].schema, "properties"))
                return schema_word(s, "{}");
        return read_map(s, all);
    }
    for (int i = names.count - 1; i >= 0; i--) {
        struct part *value = read_property(s, all, names.list[i]), *pair, *begun;

        if (!value)
            return NULL;
        pair = part_both(s->cx, schema_value(s, names.list[i]), part_both(s->cx, s->colon, value));
        begun = part_both(s->cx, pair, more);
        first = names.required[i] ? begun : part_either(s->cx, begun, first);
        pair = part_both(s->cx, s->comma, pair);
        more = part_both(s->cx, names.required[i] ? pair : part_either(s->cx, pair, NULL), more);
    }
    return part_both(s->cx, schema_word(s, "{"), part_both(s->cx, first, schema_word(s, "}")));
}

/* ---- types ------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int types;
} type_names[] = {
    {"object", TYPE_OBJECT},
    {"array", TYPE_ARRAY},
    {"string", TYPE_STRING},
    {"integer", TYPE_INTEGER},
    {"number", TYPE_INTEGER | TYPE_OTHER},
    {"boolean", TYPE_BOOLEAN},
    {"null", TYPE_NULL},
};

/* 0 after an error. */
static int find_type(struct schema *s, const struct json *json, const char *path)
{
    for (int i = 0; i < COUNT(type_names); i++)
        if (json->kind == JSON_STRING && json_is_text(json, type_names[i].name))
            return type_names[i].types;
    schema_refuse(s, json, path, "expected one of object, array, string, integer, number, boolean and null");
    return 0;
}

int schema_types(struct schema *s, const struct all *all)
{
    int left = TYPE_ANY;

    for (int i = 0; i < all->count; i++) {
        const struct json *type = schema_member(all->list[i].schema, "type");
        const bool many = type && type->kind == JSON_LIST && type->count > 0;
        int own = 0;

        for (int k = 0; type && k < (many ? type->count : 1); k++) {
            const int found = find_type(s, many ? &type->items[k] : type,
                                        schema_path_to(s, all->list[i].path, "type"));

            if (found == 0)
                return -1;
            own |= found;
        }
        left &= type ? own : TYPE_ANY;
    }
    return left;
}

struct part *schema_read_types(struct schema *s, const struct all *all, int types)
{
    struct part *either = part_new(s->cx, PART_EITHER), *parts[6];
    int count = 0;

    if (types & TYPE_OBJECT)
        parts[count++] = read_object(s, all);
    if (types & TYPE_ARRAY)
        parts[count++] = read_array(s, all);
    if (types & TYPE_STRING) {
        struct part *text = schema_read_text(s, all);

        parts[count++] = text ? schema_quoted(s, text) : NULL;
    }
    if (types & (TYPE_INTEGER | TYPE_OTHER))
        parts[count++] = schema_read_number(s, all, !(types & TYPE_OTHER));
    if (types & TYPE_BOOLEAN)
        parts[count++] = schema_pattern(s, "true|false");
    if (types & TYPE_NULL)
        parts[count++] = schema_word(s, "null");
    for (int i = 0; i < count; i++) {
        if (!parts[i])
            return NULL;
        part_add(s->cx, either, parts[i]);
    }
    return either->count == 1 ? either->parts[0] : either;
}
