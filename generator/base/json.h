/* json.h - a JSON file as a tree in which every value knows its place: as strictly as RFC 8259 has it, in UTF-8. */
#ifndef MODC_JSON_H
#define MODC_JSON_H

#include "base/diag.h"

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_OBJECT };

struct json {
    enum json_kind kind;
    size_t at;        /* in the source */
    const char *text; /* STRING: without its escapes, in UTF-8, and a 0 behind; NUMBER: as it is written */
    size_t bytes;     /* of it */
    double number;
    struct json *items; /* LIST; OBJECT: the values */
    struct json *keys;  /* OBJECT: STRINGs */
    int count;
};

/* NULL after an error at its place. */
const struct json *json_read(struct cx *cx, const struct source *source);

/* The same of some bytes of a source. */
const struct json *json_read_part(struct cx *cx, const struct source *source, size_t from, size_t until);

/* The value of a key, or NULL: of no key, or of null. */
const struct json *json_member(const struct json *object, const char *key);

/* "null", "a number": for messages. */
const char *json_kind_name(const struct json *json);

bool json_is_text(const struct json *json, const char *text);

#endif
