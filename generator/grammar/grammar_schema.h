/* grammar_schema.h - what the files that read JSON schemas share.
 *
 * note [all]
 * A schema is read as all that has to hold of a value at once: itself, the schemas of its `allOf`, those that its `$ref` names. Each
 * key is looked for in all of them: of properties and items it is again all that they say. Alternatives (`anyOf`, `oneOf`) are taken
 * one by one, each with what stands beside it. What contradicts itself is a part of no text, which alternatives leave out.
 *
 * note [depth]
 * An automaton has no memory for texts of any depth. A reference to a schema that is part of itself is followed `depth` times within
 * each other, and so often stands what may be anything within itself; then it takes no text, so that lists end and what is optional is
 * left out. */
#ifndef MODC_GRAMMAR_SCHEMA_H
#define MODC_GRAMMAR_SCHEMA_H

#include "base/json.h"
#include "grammar/grammar_parts.h"

/* One of the schemas that hold at once. */
struct demand {
    const struct json *schema;
    const char *path;
    int left;      /* references that may still be followed */
    unsigned done; /* of its keys that lead to other schemas, those that were followed */
};

struct all {
    struct demand *list;
    int count;
    int left; /* of what may be anything */
};

/* What a schema that a $ref names became, with so many references left. */
struct definition {
    const struct json *schema;
    int left;
    struct part *part;
};

struct schema {
    struct cx *cx;
    const char *name; /* of the grammar, and who says so */
    struct loc loc;
    const struct source *source;
    const struct json *root;
    struct definition *definitions;
    int count;
    int depth;
    int reads;   /* schemas so far, each as often as it was read */
    bool is_cut; /* a reference was not followed: note [depth] */
    struct part *comma, *colon;
};

/* NULL: an error, of something at a path. */
struct part *schema_refuse(struct schema *s, const struct json *at, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
const char *schema_path_to(const struct schema *s, const char *path, const char *key);
const char *schema_path_at(const struct schema *s, const char *path, int index);

/* The value of a key, also where it is null; NULL: there is none. */
const struct json *schema_member(const struct json *object, const char *key);
void schema_demand(struct schema *s, struct all *all, const struct json *schema, const char *path, int left);

/* What a value of all of them is as a text. NULL after an error. */
struct part *schema_read_all(struct schema *s, const struct all *all);

/* ---- grammar_types.c: without alternatives ---- */

enum {
    TYPE_OBJECT = 1,
    TYPE_ARRAY = 2,
    TYPE_STRING = 4,
    TYPE_INTEGER = 8, /* whole numbers */
    TYPE_OTHER = 16,  /* all others: a `number` is both */
    TYPE_BOOLEAN = 32,
    TYPE_NULL = 64,
    TYPE_ANY = 127
};

/* What is left of the types that all `type` keys allow. -1 after an error. */
int schema_types(struct schema *s, const struct all *all);
struct part *schema_read_types(struct schema *s, const struct all *all, int types);

/* Of strings without their quotes, and numbers, alone. */
struct part *schema_read_text(struct schema *s, const struct all *all);
struct part *schema_read_number(struct schema *s, const struct all *all, bool whole);

/* The one text of a value. */
struct part *schema_value(const struct schema *s, const struct json *json);
struct part *schema_word(const struct schema *s, const char *text);
struct part *schema_quoted(const struct schema *s, struct part *part);
struct part *schema_pattern(const struct schema *s, const char *pattern);

#endif
