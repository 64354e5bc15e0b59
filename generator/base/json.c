/* json.c - reads JSON; see json.h. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_NESTING = 64 };

struct parser {
    struct cx *cx;
    const struct source *source;
    const char *text;
    size_t at, length;
    int depth;
    bool failed;
};

static bool json_fail(struct parser *p, size_t at, const char *what)
{
    if (!p->failed)
        diag_error(p->cx, diag_loc(p->cx, p->source, at, 1), "this is no JSON: %s", what);
    p->failed = true;
    return false;
}

static void skip_space(struct parser *p)
{
    while (p->at < p->length && strchr(" \t\r\n", p->text[p->at]) && p->text[p->at])
        p->at++;
}

static bool take(struct parser *p, char wanted)
{
    skip_space(p);
    if (p->at >= p->length || p->text[p->at] != wanted)
        return false;
    p->at++;
    return true;
}

/* ---- strings ------------------------------------------------------------------------------------------------ */

static bool read_hex(struct parser *p, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = p->at < p->length && p->text[p->at] ? strchr(digits, p->text[p->at]) : NULL;

        if (!digit)
            return json_fail(p, p->at, "\\u wants four hexadecimal digits");
        *value = *value << 4 | (uint32_t)((digit - digits) % 16);
    }
    return true;
}

static void add_utf8(struct text *out, uint32_t c)
{
    char bytes[4];
    int count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (int i = count - 1; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 63));
    bytes[0] = (char)(count == 1 ? c : (0xf00u >> count & 0xff) | c);
    text_add_bytes(out, bytes, (size_t)count);
}

/* Behind a backslash. */
static bool read_escape(struct parser *p, struct text *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char name = p->text[p->at];
    const char *found = name ? strchr(names, name) : NULL;
    uint32_t c, low;

    if (found) {
        text_add_bytes(out, values + (found - names), 1);
        p->at++;
        return true;
    }
    if (name != 'u')
        return json_fail(p, p->at, "no such escape in a string");
    p->at++;
    if (!read_hex(p, &c))
        return false;
    if (c >= 0xd800 && c < 0xe000) {
        if (c >= 0xdc00 || strncmp(p->text + p->at, "\\u", 2) != 0)
            return json_fail(p, p->at, "half of a pair of surrogates");
        p->at += 2;
        if (!read_hex(p, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return json_fail(p, p->at, "half of a pair of surrogates");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    add_utf8(out, c);
    return true;
}

/* Behind its first quote. Strings without escapes are the common ones. */
static bool read_string(struct parser *p, struct json *json)
{
    struct text out = {0};

    json->kind = JSON_STRING;
    json->at = p->at - 1;
    for (size_t from = p->at;;) {
        const unsigned char byte = (unsigned char)p->text[p->at];
        int bytes;

        if (p->at >= p->length)
            return json_fail(p, json->at, "the string does not end");
        if (byte == '"' || byte == '\\') {
            if (byte == '"' && !out.data) {
                json->text = arena_copy(&p->cx->arena, p->text + from, p->at - from);
                json->bytes = p->at++ - from;
                return true;
            }
            if (!out.data)
                out = text_new(&p->cx->arena);
            text_add_bytes(&out, p->text + from, p->at - from);
            p->at++;
            if (byte == '"')
                break;
            if (!read_escape(p, &out))
                return false;
            from = p->at;
            continue;
        }
        bytes = byte < 0x80 ? byte >= 0x20 : text_utf8_length(p->text + p->at);
        if (bytes == 0)
            return json_fail(p, p->at,
                             byte < 0x20 ? "a control character in a string" : "bytes that are no UTF-8");
        p->at += (size_t)bytes;
    }
    json->text = out.data;
    json->bytes = out.length;
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------------- */

static size_t digits(const struct parser *p, size_t at)
{
    size_t count = 0;

    while (p->text[at + count] >= '0' && p->text[at + count] <= '9')
        count++;
    return count;
}

static bool read_number(struct parser *p, struct json *json)
{
    const char *text = p->text;
    size_t at = p->at, count;

    at += text[at] == '-';
    count = digits(p, at);
    if (count == 0 || (text[at] == '0' && count > 1))
        return json_fail(p, p->at, "expected a value");
    at += count;
    if (text[at] == '.') {
        count = digits(p, ++at);
        if (count == 0)
            return json_fail(p, at, "a digit is missing");
        at += count;
    }
    if (text[at] == 'e' || text[at] == 'E') {
        at++;
        at += text[at] == '+' || text[at] == '-';
        count = digits(p, at);
        if (count == 0)
            return json_fail(p, at, "a digit is missing");
        at += count;
    }
    json->kind = JSON_NUMBER;
    json->bytes = at - p->at;
    json->text = arena_copy(&p->cx->arena, text + p->at, json->bytes);
    json->number = strtod(json->text, NULL);
    p->at = at;
    return true;
}

static bool read_value(struct parser *p, struct json *json);

static bool read_key(struct parser *p, struct json *key)
{
    if (!take(p, '"'))
        return json_fail(p, p->at, "expected a key in quotes");
    return read_string(p, key) && (take(p, ':') || json_fail(p, p->at, "expected ':'"));
}

/* Behind the first bracket. */
static bool read_items(struct parser *p, struct json *json)
{
    const bool object = json->kind == JSON_OBJECT;
    const char end = object ? '}' : ']';
    int keys = 0;

    if (take(p, end))
        return true;
    if (++p->depth > MOST_NESTING)
        return json_fail(p, json->at, "it is nested too deeply");
    do {
        struct json key = {0}, item = {0};

        if (object && !read_key(p, &key))
            return false;
        if (!read_value(p, &item))
            return false;
        if (object)
            ARENA_PUSH(&p->cx->arena, json->keys, keys, key);
        ARENA_PUSH(&p->cx->arena, json->items, json->count, item);
    } while (take(p, ','));
    p->depth--;
    return take(p, end) || json_fail(p, p->at, object ? "expected ',' or '}'" : "expected ',' or ']'");
}

static bool read_value(struct parser *p, struct json *json)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};

    skip_space(p);
    json->at = p->at;
    for (int i = 0; i < COUNT(words); i++) {
        if (strncmp(p->text + p->at, words[i].word, strlen(words[i].word)) == 0) {
            json->kind = words[i].kind;
            p->at += strlen(words[i].word);
            return true;
        }
    }
    if (take(p, '"'))
        return read_string(p, json);
    if (take(p, '{') || take(p, '[')) {
        json->kind = p->text[p->at - 1] == '{' ? JSON_OBJECT : JSON_LIST;
        return read_items(p, json);
    }
    return read_number(p, json);
}

const struct json *json_read(struct cx *cx, const struct source *source)
{
    return json_read_part(cx, source, 0, source->length);
}

const struct json *json_read_part(struct cx *cx, const struct source *source, size_t from, size_t until)
{
    struct parser p = {.cx = cx, .source = source, .text = source->text, .at = from, .length = until};
    struct json *json = ARENA_NEW(&cx->arena, struct json);

    if (!read_value(&p, json))
        return NULL;
    skip_space(&p);
    if (p.at < p.length) {
        json_fail(&p, p.at, "something stands behind its end");
        return NULL;
    }
    return json;
}

/* ---- looking into it --------------------------------------------------------------------------------------------- */

const struct json *json_member(const struct json *object, const char *key)
{
    for (int i = 0; object && object->kind == JSON_OBJECT && i < object->count; i++)
        if (json_is_text(&object->keys[i], key))
            return object->items[i].kind == JSON_NULL ? NULL : &object->items[i];
    return NULL;
}

const char *json_kind_name(const struct json *json)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",        [JSON_FALSE] = "false",   [JSON_TRUE] = "true",
        [JSON_NUMBER] = "a number",  [JSON_STRING] = "a text", [JSON_LIST] = "a list",
        [JSON_OBJECT] = "an object",
    };

    return names[json->kind];
}

bool json_is_text(const struct json *json, const char *text)
{
    return json->kind == JSON_STRING && json->bytes == strlen(text) &&
           memcmp(json->text, text, json->bytes) == 0;
}
