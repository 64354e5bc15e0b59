/* grammar_schema.c - a JSON schema to parts: the texts of the values that it takes, each written in one way but for a space that may
 * stand behind a comma and a colon. Here is what has to hold at once, and which of alternatives: notes in grammar_schema.h. */
#include "grammar/grammar_schema.h"

#include <math.h>
#include <string.h>

/* Keys that lead to other schemas: bits of `done`. */
enum { DONE_REF = 1, DONE_ALL = 2, DONE_ANY = 4, DONE_ONE = 8 };

static const char annotations[] =
    " title description default examples $schema $id $comment $defs definitions deprecated readOnly writeOnly ";
static const char known[] =
    " $ref allOf anyOf oneOf enum const type properties required additionalProperties propertyNames "
    "minProperties maxProperties items prefixItems additionalItems minItems maxItems uniqueItems minLength "
    "maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ";

/* ---- what is wrong ------------------------------------------------------------------------------------------------ */

struct part *schema_refuse(struct schema *s, const struct json *at, const char *path, const char *format, ...)
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

const char *schema_path_to(const struct schema *s, const char *path, const char *key)
{
    return arena_format(&s->cx->arena, "%s%s%s", path, path[0] ? "." : "", key);
}

const char *schema_path_at(const struct schema *s, const char *path, int index)
{
    return arena_format(&s->cx->arena, "%s[%d]", path, index);
}

const struct json *schema_member(const struct json *object, const char *key)
{
    for (int i = 0; object->kind == JSON_OBJECT && i < object->count; i++)
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

/* It is a schema, of keys that are known. */
static bool check_schema(struct schema *s, const struct demand *demand)
{
    const struct json *json = demand->schema;

    if (json->kind == JSON_TRUE || json->kind == JSON_FALSE)
        return true;
    if (json->kind != JSON_OBJECT) {
        schema_refuse(s, json, demand->path, "expected a schema, which is an object, found %s",
                      json_kind_name(json));
        return false;
    }
    for (int i = 0; i < json->count; i++) {
        const char *key = json->keys[i].text;

        if (has_word(annotations, key) || has_word(known, key))
            continue;
        schema_refuse(s, &json->keys[i], schema_path_to(s, demand->path, key),
                      "this version of modc does not know the key here");
        return false;
    }
    return true;
}

/* ---- references ---------------------------------------------------------------------------------------------------- */

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
        json = json->kind == JSON_OBJECT ? schema_member(json, name) : NULL;
    }
    return *at ? NULL : json;
}

/* Whether a reference somewhere in a schema leads to the target. seen: those that were looked through. */
static bool leads_to(struct schema *s, const struct json *json, const struct json *target,
                     const struct json ***seen, int *count)
{
    if (json->kind != JSON_OBJECT && json->kind != JSON_LIST)
        return false;
    for (int i = 0; i < json->count; i++) {
        const struct json *item = &json->items[i], *next;

        if (json->kind == JSON_OBJECT && item->kind == JSON_OBJECT &&
            json_is_text(&json->keys[i], "properties")) {
            for (int k = 0; k < item->count; k++) /* whose keys are names */
                if (leads_to(s, &item->items[k], target, seen, count))
                    return true;
            continue;
        }
        if (json->kind == JSON_OBJECT &&
            has_word(" $defs definitions default examples enum const ", json->keys[i].text))
            continue;
        if (json->kind == JSON_LIST || !json_is_text(&json->keys[i], "$ref") || item->kind != JSON_STRING) {
            if (leads_to(s, item, target, seen, count))
                return true;
            continue;
        }
        next = find_target(s, item->text);
        if (next == target)
            return true;
        for (int k = 0; next && k < *count; k++)
            if ((*seen)[k] == next)
                next = NULL;
        if (!next)
            continue;
        ARENA_PUSH(&s->cx->arena, *seen, *count, next);
        if (leads_to(s, next, target, seen, count))
            return true;
    }
    return false;
}

static bool is_recursive(struct schema *s, const struct json *target)
{
    const struct json **seen = NULL;
    int count = 0;

    return leads_to(s, target, target, &seen, &count);
}

/* What the demand's $ref names, with the references that are left behind it, which may be below 0. NULL after an error. */
static const struct json *follow(struct schema *s, const struct demand *demand, const char **path, int *left)
{
    const struct json *ref = schema_member(demand->schema, "$ref"),
                      *target = ref->kind == JSON_STRING ? find_target(s, ref->text) : NULL;

    if (!target) {
        schema_refuse(s, ref, schema_path_to(s, demand->path, "$ref"),
                      "it names nothing in this file: expected such as \"#/$defs/name\"");
        return NULL;
    }
    *path = ref->text + 1 + (ref->text[1] == '/');
    *left = demand->left - is_recursive(s, target);
    s->is_cut |= *left < 0;
    return target;
}

/* Nothing stands beside the reference: what it names is read once. */
static struct part *read_reference(struct schema *s, const struct demand *demand)
{
    struct definition definition = {.left = 0};
    struct all all = {.count = 0};
    const char *path;
    int at = 0;

    definition.schema = follow(s, demand, &path, &definition.left);
    if (!definition.schema)
        return NULL;
    if (definition.left < 0)
        return part_never(s->cx);
    while (at < s->count &&
           (s->definitions[at].schema != definition.schema || s->definitions[at].left != definition.left))
        at++;
    if (at < s->count)
        return s->definitions[at].part;
    all.left = definition.left;
    schema_demand(s, &all, definition.schema, path, definition.left);
    definition.part = schema_read_all(s, &all);
    if (definition.part)
        ARENA_PUSH(&s->cx->arena, s->definitions, s->count, definition);
    return definition.part;
}

/* ---- what holds at once --------------------------------------------------------------------------------------------- */

void schema_demand(struct schema *s, struct all *all, const struct json *schema, const char *path, int left)
{
    const struct demand demand = {schema, path, left, 0};

    ARENA_PUSH(&s->cx->arena, all->list, all->count, demand);
}

static bool is_alone(const struct json *schema, const char *key)
{
    for (int i = 0; i < schema->count; i++)
        if (!json_is_text(&schema->keys[i], key) && !has_word(annotations, schema->keys[i].text))
            return false;
    return schema_member(schema, key) != NULL;
}

/* A key that has not been followed; NULL: it has, or there is none. */
static const struct json *take_key(struct demand *demand, const char *key, unsigned bit)
{
    const struct json *found = demand->done & bit ? NULL : schema_member(demand->schema, key);

    demand->done |= bit;
    return found;
}

static bool check_list(struct schema *s, const struct json *list, const char *path)
{
    if (list->kind == JSON_LIST && list->count > 0)
        return true;
    schema_refuse(s, list, path, "expected a list of schemas, found %s",
                  list->kind == JSON_LIST ? "an empty one" : json_kind_name(list));
    return false;
}

/* References and `allOf`, followed. False after an error; *never: no value is all of this. */
static bool expand(struct schema *s, struct all *all, bool *never)
{
    for (int i = 0; i < all->count && !*never; i++) {
        struct demand demand = all->list[i];
        const struct json *list;
        const char *path;
        int left;

        if (!check_schema(s, &demand))
            return false;
        *never = demand.schema->kind == JSON_FALSE;
        if (demand.schema->kind != JSON_OBJECT)
            continue;
        if (take_key(&demand, "$ref", DONE_REF)) {
            const struct json *target = follow(s, &demand, &path, &left);

            if (!target)
                return false;
            *never = left < 0;
            schema_demand(s, all, target, path, left);
        }
        list = take_key(&demand, "allOf", DONE_ALL);
        path = schema_path_to(s, demand.path, "allOf");
        if (list && !check_list(s, list, path))
            return false;
        for (int k = 0; list && k < list->count; k++)
            schema_demand(s, all, &list->items[k], schema_path_at(s, path, k), demand.left);
        all->list[i] = demand;
    }
    return true;
}

/* Each alternative, with all that stands beside it. */
static struct part *read_either(struct schema *s, const struct all *all, int which, const struct json *list,
                                const char *path)
{
    struct part *either = part_new(s->cx, PART_EITHER);

    if (!check_list(s, list, path))
        return NULL;
    for (int i = 0; i < list->count; i++) {
        struct all one = {.left = all->left};
        struct part *part;

        for (int k = 0; k < all->count; k++)
            ARENA_PUSH(&s->cx->arena, one.list, one.count, all->list[k]);
        schema_demand(s, &one, &list->items[i], schema_path_at(s, path, i), all->list[which].left);
        part = schema_read_all(s, &one);
        if (!part)
            return NULL;
        part_add(s->cx, either, part);
    }
    return either;
}

/* ---- values that are listed ------------------------------------------------------------------------------------------ */

static bool is_same(const struct json *a, const struct json *b)
{
    bool same = a->kind == b->kind && a->count == b->count;

    if (same && a->kind == JSON_NUMBER)
        return a->number == b->number;
    if (same && a->kind == JSON_STRING)
        return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
    for (int i = 0; same && i < a->count; i++) {
        const struct json *other = a->kind == JSON_LIST ? &b->items[i] : schema_member(b, a->keys[i].text);

        same = other && is_same(&a->items[i], other);
    }
    return same;
}

static int type_of(const struct json *json)
{
    static const int types[] = {
        [JSON_NULL] = TYPE_NULL,    [JSON_FALSE] = TYPE_BOOLEAN, [JSON_TRUE] = TYPE_BOOLEAN,
        [JSON_NUMBER] = TYPE_OTHER, [JSON_STRING] = TYPE_STRING, [JSON_LIST] = TYPE_ARRAY,
        [JSON_OBJECT] = TYPE_OBJECT};

    return json->kind == JSON_NUMBER && json->number == floor(json->number) ? TYPE_INTEGER
                                                                            : types[json->kind];
}

/* Whether a value is one of those that a demand lists, if it does. */
static bool is_listed(const struct demand *demand, const struct json *value)
{
    const struct json *list = schema_member(demand->schema, "enum"),
                      *one = schema_member(demand->schema, "const");
    bool found = !list;

    for (int i = 0; list && i < list->count && !found; i++)
        found = is_same(&list->items[i], value);
    return found && (!one || is_same(one, value));
}

static bool has_key(const struct all *all, const char *words)
{
    for (int i = 0; i < all->count; i++)
        for (int k = 0; all->list[i].schema->kind == JSON_OBJECT && k < all->list[i].schema->count; k++)
            if (has_word(words, all->list[i].schema->keys[k].text))
                return true;
    return false;
}

/* A value, if it is all that stands beside where it is listed: else a part of no text. */
static struct part *read_listed(struct schema *s, const struct all *all, const struct json *value,
                                const char *path, int types)
{
    struct part *part = schema_value(s, value), *rule = NULL;

    for (int i = 0; i < all->count; i++)
        if (!is_listed(&all->list[i], value))
            return part_never(s->cx);
    if (!(type_of(value) & types))
        return part_never(s->cx);
    if (value->kind == JSON_STRING && has_key(all, " minLength maxLength pattern format ")) {
        rule = schema_read_text(s, all);
        rule = rule ? schema_quoted(s, rule) : NULL;
    } else if (value->kind == JSON_NUMBER &&
               has_key(all, " minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ")) {
        struct decimal decimal;

        if (!decimal_read(s->cx, value->text, &decimal))
            return schema_refuse(s, value, path,
                                 "a number of more than 60 digits beside keys that say more of numbers");
        rule = schema_read_number(s, all, false);
        if (rule) { /* which has no exponents */
            struct part *plain = schema_word(s, arena_format(&s->cx->arena, "%s%s%s%s",
                                                             decimal.negative ? "-" : "", decimal.whole,
                                                             *decimal.fraction ? "." : "", decimal.fraction));

            rule = part_meet(s->cx, s->name, plain, rule, s->loc);
            return !rule || part_is_never(rule) ? rule : part;
        }
    } else if (
        (value->kind == JSON_LIST && has_key(all, " items prefixItems minItems maxItems uniqueItems ")) ||
        (value->kind == JSON_OBJECT &&
         has_key(all,
                 " properties required additionalProperties propertyNames minProperties maxProperties "))) {
        return schema_refuse(s, value, path, "%s beside keys that say more of such values",
                             json_kind_name(value));
    } else {
        return part;
    }
    return rule ? part_meet(s->cx, s->name, part, rule, s->loc) : NULL;
}

/* The values of the first list, as far as they are what else is said. */
static struct part *read_values(struct schema *s, const struct all *all, const struct demand *demand,
                                int types)
{
    const struct json *list = schema_member(demand->schema, "enum"),
                      *one = schema_member(demand->schema, "const");
    struct part *either = part_new(s->cx, PART_EITHER);
    const char *path = schema_path_to(s, demand->path, one ? "const" : "enum");
    const struct all beside = {.list = &(struct demand){.schema = demand->schema, .path = demand->path},
                               .count = 1};
    const int own = schema_types(s, &beside);

    if (!one && (list->kind != JSON_LIST || list->count == 0))
        return schema_refuse(s, list, path, "expected a list of values, found %s",
                             list->kind == JSON_LIST ? "an empty one" : json_kind_name(list));
    for (int i = 0; i < (one ? 1 : list->count); i++) {
        const struct json *value = one ? one : &list->items[i];
        const char *at = one ? path : schema_path_at(s, path, i);
        struct part *part;

        if (!(type_of(value) & own))
            return schema_refuse(s, value, at, "the value is not of the type that stands beside it");
        part = read_listed(s, all, value, at, types);
        if (!part)
            return NULL;
        part_add(s->cx, either, part);
    }
    return either;
}

/* ---- schemas --------------------------------------------------------------------------------------------------------- */

static struct part *read_expanded(struct schema *s, struct all *all)
{
    const struct demand *listed = NULL;
    bool never = false;
    int types;

    if (!expand(s, all, &never))
        return NULL;
    if (never)
        return part_never(s->cx);
    for (int i = 0; i < all->count; i++) {
        static const struct {
            const char *key;
            unsigned bit;
        } keys[] = {{"anyOf", DONE_ANY}, {"oneOf", DONE_ONE}};

        for (int k = 0; k < COUNT(keys); k++) {
            const struct json *list = take_key(&all->list[i], keys[k].key, keys[k].bit);

            if (list)
                return read_either(s, all, i, list, schema_path_to(s, all->list[i].path, keys[k].key));
        }
        if (!listed &&
            (schema_member(all->list[i].schema, "enum") || schema_member(all->list[i].schema, "const")))
            listed = &all->list[i];
    }
    types = schema_types(s, all);
    if (types < 0)
        return NULL;
    return listed ? read_values(s, all, listed, types) : schema_read_types(s, all, types);
}

struct part *schema_read_all(struct schema *s, const struct all *all)
{
    struct all own = {.left = all->left};
    struct part *part;

    if (s->depth == GRAMMAR_MAX_DEPTH)
        return schema_refuse(s, all->count > 0 ? all->list[0].schema : s->root,
                             all->count > 0 ? all->list[0].path : "", "too many schemas in schemas");
    if (s->reads == GRAMMAR_MAX_SCHEMAS) {
        schema_refuse(s, s->root, "", "more than %d schemas come of it, with their combinations",
                      GRAMMAR_MAX_SCHEMAS);
        diag_hint(
            s->cx,
            "alternatives beside alternatives are read in each combination, and a schema that is part of itself, "
            "or may be anything, as often as 'depth' says, in each of its places");
        return NULL;
    }
    s->reads++;
    s->depth++;
    if (all->count == 1 && !all->list[0].done && is_alone(all->list[0].schema, "$ref")) {
        part = read_reference(s, &all->list[0]);
    } else {
        for (int i = 0; i < all->count; i++)
            ARENA_PUSH(&s->cx->arena, own.list, own.count, all->list[i]);
        part = read_expanded(s, &own);
    }
    s->depth--;
    return part;
}

struct modc_grammar *grammar_of_schema(struct cx *cx, const char *name, struct loc loc,
                                       const struct source *source, int depth)
{
    struct schema schema = {
        .cx = cx, .name = name, .loc = loc, .source = source, .root = json_read(cx, source)};
    struct all all = {.left = depth};
    struct part *part;

    if (!schema.root)
        return NULL;
    schema.comma = schema_pattern(&schema, ", ?");
    schema.colon = schema_pattern(&schema, ": ?");
    schema_demand(&schema, &all, schema.root, "", depth);
    part = schema_read_all(&schema, &all);
    if (part && part_is_never(part)) {
        schema_refuse(&schema, schema.root, "", "no value is all that it asks for");
        if (schema.is_cut)
            diag_hint(cx,
                      "a schema that is part of itself is followed 'depth' times within itself, which is %d",
                      depth);
        return NULL;
    }
    return part ? grammar_of_part(cx, name, part, loc) : NULL;
}
