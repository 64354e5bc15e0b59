/* spec_yaml.c - YAML text to nodes; with yaml_faults.c the only code that knows libyaml. Apart from spec.c, which reads keys
 * and need not know how YAML came to see them.
 *
 * note [flow]: YAML splits `[Linear(4, 64), Tanh()]` at every comma. So of a collection in brackets
 * libyaml only says where it begins and ends; `split_flow` splits the source text itself, heeding brackets
 * and quotes. Where libyaml refuses what stands inside, that is said with the spelling that works.
 *
 * note [faults]: libyaml stops at its first fault. To say them all, the text is read until it passes:
 * after each fault the part that YAML refused is masked in a copy (then its node is BAD) or the copy is
 * cut there. Only then nodes are built. Bytes never move, so offsets in the copy are offsets in the file. */
#include "spec/spec_yaml.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "spec/spec.h"
#include "spec/yaml_reader.h"
#include "spec/yaml_text.h"

enum { mark_step = 256, max_rounds = 30, max_nodes = 1000000 };

bool node_is_empty(const struct node *node)
{
    return node->kind == NODE_SCALAR && node->length == 0 && node->style == NODE_PLAIN;
}

const char *node_kind_text(const struct node *node)
{
    if (node_is_empty(node))
        return "nothing";
    return node->kind == NODE_LIST  ? (node->count > 0 ? "a list" : "an empty list")
           : node->kind == NODE_MAP ? "a mapping"
                                    : "text";
}

struct loc yaml_place(struct yaml_reader *r, size_t begin, size_t end)
{
    return diag_loc(r->cx, r->source, begin, end > begin ? end - begin : 1);
}

const char *node_quoted_line(struct cx *cx, const struct node *node)
{
    return scan_quoted_line(&cx->arena, node->source->text, node->offset);
}

/* What stands before libyaml: bytes and tabs ------------------------------------------------------------- */

/* The characters that YAML takes. */
static bool is_printable(const char *s, int length)
{
    const unsigned char *u = (const unsigned char *)s;

    if (length == 1)
        return *u == '\t' || *u == '\n' || *u == '\r' || (*u >= 0x20 && *u < 0x7f);
    if (length == 2)
        return u[0] != 0xc2 || u[1] >= 0xa0 || u[1] == 0x85;
    if (length == 3 && u[0] == 0xef)
        return memcmp(u, "\xef\xbb\xbf", 3) != 0 && memcmp(u, "\xef\xbf\xbe", 3) != 0 &&
               memcmp(u, "\xef\xbf\xbf", 3) != 0;
    return true;
}

static unsigned character(const char *s, int length)
{
    unsigned code = (unsigned char)s[0] & (length == 1 ? 0x7fu : 0xffu >> (length + 1));

    for (int i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)s[i] & 0x3fu);
    return code;
}

static bool check_bytes(struct yaml_reader *r)
{
    const char *text = r->source->text;

    if (r->end >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        diag_error(r->cx, yaml_place(r, 0, 1), "the file is UTF-16");
        diag_hint(r->cx, "save it as UTF-8");
        return false;
    }
    for (size_t at = r->begin; at < r->end;) {
        int length = text_utf8_length(text + at);

        if (length == 0) {
            diag_error(r->cx, yaml_place(r, at, at + 1), "the byte 0x%02x is not UTF-8",
                       (unsigned)(unsigned char)text[at]);
            diag_hint(r->cx, "save the file as UTF-8");
            return false;
        }
        if (!is_printable(text + at, length)) {
            diag_error(r->cx, yaml_place(r, at, at + 1), "a control character (U+%04X) in the text",
                       character(text + at, length));
            diag_hint(r->cx, text[at] ? "leave it out" : "is this a text file? a spec is UTF-8");
            return false;
        }
        at += (size_t)length;
    }
    return true;
}

/* Says every tab in an indentation. Other tabs between tokens become spaces in the copy, since libyaml
 * refuses some. */
static bool check_tabs(struct yaml_reader *r)
{
    bool good = true;

    for (size_t at = r->begin; at < r->end; at++) {
        size_t line = at, stop = scan_line_end(r->yaml, at);
        bool tab = false;

        for (; at < stop && (r->yaml[at] == ' ' || r->yaml[at] == '\t'); at++)
            tab |= r->yaml[at] == '\t';
        if (tab && at < stop && r->yaml[at] != '#') {
            size_t first = line;

            while (r->yaml[first] != '\t')
                first++;
            diag_error(r->cx, yaml_place(r, first, first + 1),
                       "a tab in the indentation: YAML indents with spaces");
            good = false;
        }
        for (bool between = true; line < stop; line++) {
            if (r->yaml[line] == '\t' && between)
                r->yaml[line] = ' ';
            if (r->yaml[line] != ' ')
                between = r->yaml[line] == '-' || r->yaml[line] == ':';
        }
        at = stop;
    }
    return good;
}

/* Reading events ----------------------------------------------------------------------------------------- */

static void count_characters(struct yaml_reader *r)
{
    size_t count = 0, at = r->begin;

    r->mark_count = 0;
    for (; at < r->end; at++) {
        if (((unsigned char)r->yaml[at] & 0xc0) == 0x80)
            continue;
        if (count++ % mark_step == 0)
            r->marks[r->mark_count++] = at;
    }
}

size_t yaml_offset(const struct yaml_reader *r, yaml_mark_t mark)
{
    size_t step = mark.index / mark_step, left = mark.index % mark_step;

    if (step >= r->mark_count)
        return r->end;

    size_t at = r->marks[step];

    while (left > 0 && at < r->end) {
        at++;
        left -= ((unsigned char)r->yaml[at] & 0xc0) != 0x80;
    }
    return at < r->end ? at : r->end;
}

static void open_parser(struct yaml_reader *r)
{
    count_characters(r);
    if (!yaml_parser_initialize(&r->parser))
        arena_out_of_memory();
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->yaml + r->begin, r->end - r->begin);
}

/* Reads all events once. True where libyaml has nothing to say (any more). */
static bool passes(struct yaml_reader *r)
{
    yaml_event_t event;
    size_t done = r->begin, flow = SIZE_MAX;
    int depth = 0, flow_depth = 0;
    bool more = true, good = true;

    open_parser(r);
    while (more) {
        if (!yaml_parser_parse(&r->parser, &event)) {
            yaml_fault_explain(r, done, flow);
            good = false;
            break;
        }

        bool is_list = event.type == YAML_SEQUENCE_START_EVENT,
             is_map = event.type == YAML_MAPPING_START_EVENT;

        if (is_list || is_map) {
            bool in_flow = is_list ? event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                                   : event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;

            depth++;
            if (in_flow && flow_depth++ == 0)
                flow = yaml_offset(r, event.start_mark);
            if (depth > SPEC_MAX_NESTING) {
                size_t at = yaml_offset(r, event.start_mark);

                diag_error(r->cx, yaml_place(r, at, at + 1), "the spec nests more than %d levels deep",
                           SPEC_MAX_NESTING);
                r->fatal = true;
                more = false;
            }
        } else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
            depth--;
            if (flow_depth > 0 && --flow_depth == 0)
                flow = SIZE_MAX;
        }
        more = more && event.type != YAML_STREAM_END_EVENT;
        if (event.type != YAML_STREAM_START_EVENT)
            done = yaml_offset(r, event.end_mark);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&r->parser);
    return good;
}

/* Nodes -------------------------------------------------------------------------------------------------- */

static struct node *node_new(struct yaml_reader *r, enum node_kind kind, size_t begin, size_t end)
{
    struct node *node = ARENA_NEW(&r->cx->arena, struct node);

    node->kind = kind;
    node->source = r->source;
    node->offset = begin;
    node->length = end - begin;
    node->loc = yaml_place(r, begin, end);
    node->value = "";
    if (++r->node_count > max_nodes && !r->fatal) {
        diag_error(r->cx, node->loc, "the spec has more than %d keys, values and items", (int)max_nodes);
        r->fatal = true;
    }
    return node;
}

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* The escape at text[at] to `to`, in no more bytes than it had; returns how many. *used: how many it had. */
static size_t resolve_escape(const char *text, size_t at, char *to, size_t *used)
{
    char c = text[at + 1];
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;

    *used = 2 + (size_t)digits;
    if (digits == 0) {
        *to = c == '"' || c == '\\' || c == '/' ? c : ' ';
        return 1;
    }
    for (int i = 0; i < digits; i++)
        code = code * 16 + (uint32_t)hex_value(text[at + 2 + (size_t)i]);
    if (code < 0x80) {
        *to = code < 0x20 || code == 0x7f ? ' ' : (char)code;
        return 1;
    }

    size_t count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = count; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((count == 2 ? 0xc0 : count == 3 ? 0xe0 : 0xf0) | code);
    return count;
}

/* Resolves the escapes of a quoted text in the copy of the source; what becomes shorter is filled with
 * blanks at the end of its line, so that all lines stay where they are. */
static void unescape(struct yaml_reader *r, struct node *node, char quote)
{
    const char *text = r->source->text;
    size_t from = node->offset, end = node->offset + node->length, to = from;

    if (!r->unescaped) {
        r->unescaped = ARENA_NEW(&r->cx->arena, struct source);
        *r->unescaped = *r->source;
        r->unescaped->text = arena_copy(&r->cx->arena, text, r->source->length);
    }

    char *copy = (char *)(uintptr_t)r->unescaped->text; /* ours: made just above */

    while (from < end) {
        if (scan_ends_line(text[from])) {
            memset(copy + to, ' ', from - to);
            to = ++from;
        } else if (quote == '\'' && text[from] == '\'') {
            copy[to++] = '\'';
            from += 2;
        } else if (quote == '"' && text[from] == '\\' && scan_ends_line(text[from + 1])) {
            copy[to++] = ' ';
            from++;
        } else if (quote == '"' && text[from] == '\\') {
            size_t used;

            to += resolve_escape(text, from, copy + to, &used);
            from += used;
        } else {
            copy[to++] = text[from++];
        }
    }
    memset(copy + to, ' ', end - to);
    node->source = r->unescaped;
}

/* Text in quotes, which stand at `begin` and before `end`. */
static struct node *quoted_node(struct yaml_reader *r, size_t begin, size_t end)
{
    const char *text = r->source->text;
    struct node *node = node_new(r, NODE_SCALAR, begin + 1, end - 1);
    char quote = text[begin];

    node->style = NODE_QUOTED;
    if (node->length > 0 && memchr(text + begin + 1, quote == '"' ? '\\' : '\'', node->length))
        unescape(r, node, quote);
    node->value = arena_copy(&r->cx->arena, node->source->text + node->offset, node->length);
    return node;
}

static struct node *bad_node(struct yaml_reader *r, size_t begin, size_t end)
{
    return node_new(r, NODE_BAD, begin, end);
}

/* Aliases, anchors and tags, whose first sign is at `at`. */
static struct node *refuse(struct yaml_reader *r, size_t at)
{
    const char *text = r->source->text;
    size_t last, open, end;

    scan_walk(text, at, scan_line_end(text, at), ",]}", &last, &open);
    end = last > at ? last : at + 1;
    diag_error(r->cx, yaml_place(r, at, at + 1), "YAML takes '%c' at the start for %s, and a spec has none",
               text[at], yaml_fault_meaning(text[at]) ? yaml_fault_meaning(text[at]) : "something else");
    yaml_fault_hint(r, at, end);
    return bad_node(r, at, end);
}

static bool check_keys(struct yaml_reader *r, struct node *map)
{
    struct names names = {0};
    int count = 0;

    for (int i = 0; i < map->count; i++) {
        struct node *key = map->keys[i];

        if (key->kind == NODE_BAD)
            continue;
        if (key->kind != NODE_SCALAR || key->length == 0) {
            diag_error(r->cx, key->loc, "a key must be a name, found %s",
                       key->kind == NODE_SCALAR ? "nothing"
                       : key->kind == NODE_LIST ? "a list"
                                                : "a mapping");
            continue;
        }

        const struct name_entry *first = names_add(&r->cx->arena, &names, key->value, key->value, key->loc);

        if (first) {
            diag_error(r->cx, key->loc, "the key '%s' is given twice", key->value);
            diag_note(r->cx, first->loc, "first given here");
            continue;
        }
        map->keys[count] = key;
        map->items[count++] = map->items[i];
    }
    map->count = count;
    return true;
}

static struct node *split_flow(struct yaml_reader *r, size_t begin, size_t end, int depth);

/* One item of a collection in brackets, from its source text. */
static struct node *flow_item(struct yaml_reader *r, size_t begin, size_t end, int depth)
{
    const char *text = r->source->text;
    size_t open;

    if (begin < end && (text[begin] == '[' || text[begin] == '{') &&
        scan_find_close(text, begin, end, &open) == end - 1)
        return split_flow(r, begin, end, depth + 1);
    if (begin < end && (text[begin] == '"' || text[begin] == '\'') && end - begin >= 2 &&
        scan_skip_quoted(text, begin, end, false) == end && text[end - 1] == text[begin])
        return quoted_node(r, begin, end);
    if (begin < end && strchr("*&!", text[begin]))
        return refuse(r, begin);

    struct node *node = node_new(r, NODE_SCALAR, begin, end);

    node->value = arena_copy(&r->cx->arena, text + begin, end - begin);
    return node;
}

/* `key: value` in braces. */
static void flow_entry(struct yaml_reader *r, struct node *map, size_t begin, size_t end, int depth)
{
    const char *text = r->source->text;
    size_t last, open, colon = begin;
    bool quoted = text[begin] == '"' || text[begin] == '\'';

    for (;; colon++) {
        colon = scan_walk(text, colon, end, ":", &last, &open);
        if (colon >= end || quoted || colon + 1 == end || scan_is_blank(text[colon + 1]))
            break;
    }
    if (colon >= end) {
        r->complete = false;
        diag_error(r->cx, yaml_place(r, begin, end), "expected 'key: value'");
        if (memchr(text + begin, ':', end - begin))
            diag_hint(r->cx, "YAML wants a blank behind the ':'");
        return;
    }
    scan_walk(text, begin, colon, "", &last, &open);

    int items = map->count;
    struct node *key = flow_item(r, begin, last, depth);
    struct node *value = flow_item(r, scan_skip_blanks(text, colon + 1, end), end, depth);

    ARENA_PUSH(&r->cx->arena, map->keys, items, key);
    ARENA_PUSH(&r->cx->arena, map->items, map->count, value);
}

/* See note [flow]. The brackets stand at `begin` and before `end`. */
static struct node *split_flow(struct yaml_reader *r, size_t begin, size_t end, int depth)
{
    const char *text = r->source->text;
    struct node *node = node_new(r, text[begin] == '[' ? NODE_LIST : NODE_MAP, begin, end);
    size_t at = begin + 1, stop = end - 1;

    node->flow = true;
    if (depth > SPEC_MAX_NESTING) {
        diag_error(r->cx, node->loc, "the spec nests more than %d levels deep", SPEC_MAX_NESTING);
        return bad_node(r, begin, end);
    }
    while ((at = scan_skip_blanks(text, at, stop)) < stop && !r->fatal) {
        size_t last, open, comma = scan_walk(text, at, stop, ",", &last, &open);

        if (last > at && node->kind == NODE_LIST) {
            struct node *item = flow_item(r, at, last, depth);

            ARENA_PUSH(&r->cx->arena, node->items, node->count, item);
        } else if (last > at) {
            flow_entry(r, node, at, last, depth);
        }
        at = comma + 1;
    }
    if (node->kind == NODE_MAP)
        check_keys(r, node);
    return node;
}

static struct node *build_scalar(struct yaml_reader *r, const yaml_event_t *event)
{
    const char *text = r->source->text;
    size_t begin = yaml_offset(r, event->start_mark), end = yaml_offset(r, event->end_mark);
    struct node *node;

    if (yaml_fault_is_masked(r, begin))
        return bad_node(r, begin, end);
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return refuse(r, begin);
    switch (event->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        node = quoted_node(r, begin, end);
        break;
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE:
        begin = scan_line_end(text, begin); /* behind the sign and what may follow it there */
        node = node_new(r, NODE_SCALAR, begin < end ? begin : end, end);
        node->loc = yaml_place(r, yaml_offset(r, event->start_mark), yaml_offset(r, event->start_mark) + 1);
        node->style = event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE ? NODE_LITERAL : NODE_FOLDED;
        break;
    default:
        node = node_new(r, NODE_SCALAR, begin, end);
        break;
    }
    node->value = arena_copy(&r->cx->arena, (const char *)event->data.scalar.value,
                             event->data.scalar.length);
    return node;
}

static void next_event(struct yaml_reader *r, yaml_event_t *event)
{
    if (!yaml_parser_parse(&r->parser, event)) /* it read the same text before: only memory can have failed */
        arena_out_of_memory();
}

static struct node *build(struct yaml_reader *r, yaml_event_t *event, int depth);

static struct node *build_flow(struct yaml_reader *r, size_t begin)
{
    size_t end = begin;

    for (int depth = 1; depth > 0;) {
        yaml_event_t event;

        next_event(r, &event);
        if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            depth++;
        else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
            depth--;
        end = yaml_offset(r, event.end_mark);
        yaml_event_delete(&event);
    }
    return split_flow(r, begin, end, 0);
}

static struct node *build_block(struct yaml_reader *r, enum node_kind kind, size_t begin, int depth)
{
    struct node *node = node_new(r, kind, begin, begin + 1);

    while (!r->fatal) {
        yaml_event_t event;
        struct node *key = NULL;

        next_event(r, &event);
        if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            break;
        }

        struct node *item = build(r, &event, depth + 1);

        if (kind == NODE_MAP) {
            int keys = node->count;

            key = item;
            next_event(r, &event);
            item = build(r, &event, depth + 1);
            ARENA_PUSH(&r->cx->arena, node->keys, keys, key);
        }
        ARENA_PUSH(&r->cx->arena, node->items, node->count, item);
        node->length = item->offset + item->length > begin ? item->offset + item->length - begin
                                                           : node->length;
    }
    if (kind == NODE_MAP)
        check_keys(r, node);
    return node;
}

/* The node that starts with `event`, which is deleted. */
static struct node *build(struct yaml_reader *r, yaml_event_t *event, int depth)
{
    size_t begin = yaml_offset(r, event->start_mark);
    bool list = event->type == YAML_SEQUENCE_START_EVENT, marked = false, flow = false;
    struct node *node;

    switch (event->type) {
    case YAML_SCALAR_EVENT:
        node = build_scalar(r, event);
        yaml_event_delete(event);
        return node;
    case YAML_SEQUENCE_START_EVENT:
        flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        marked = event->data.sequence_start.anchor || event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        marked = event->data.mapping_start.anchor || event->data.mapping_start.tag;
        break;
    default: /* an alias */
        yaml_event_delete(event);
        return refuse(r, begin);
    }
    yaml_event_delete(event);
    if (marked) { /* its brackets are not at `begin`, and it is bad anyway */
        node = refuse(r, begin);
        build_block(r, NODE_LIST, begin, depth);
        return node;
    }
    return flow ? build_flow(r, begin) : build_block(r, list ? NODE_LIST : NODE_MAP, begin, depth);
}

static struct node *build_document(struct yaml_reader *r)
{
    struct node *root = NULL;
    bool more = true, said = false;

    open_parser(r);
    while (more && !r->fatal) {
        yaml_event_t event;

        next_event(r, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && root && !said) {
            size_t at = yaml_offset(r, event.start_mark);

            diag_error(r->cx, yaml_place(r, at, scan_line_end(r->source->text, at)),
                       "a second document: a spec is one");
            said = true;
        }
        if (event.type == YAML_DOCUMENT_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT ||
            event.type == YAML_STREAM_START_EVENT || event.type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&event);
            continue;
        }

        struct node *node = build(r, &event, 1);

        root = root ? root : node;
    }
    yaml_parser_delete(&r->parser);
    return root;
}

struct node *node_read(struct cx *cx, const struct source *source, bool *complete)
{
    struct yaml_reader reader = {.cx = cx, .source = source, .end = source->length, .complete = true},
                       *r = &reader;

    *complete = false;
    assert(source->length <= SPEC_MAX_BYTES);
    if (source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
        r->begin = 3;
    r->yaml = arena_copy(&cx->arena, source->text, source->length);
    r->marks = ARENA_ARRAY(&cx->arena, source->length / mark_step + 1, size_t);
    if (!check_bytes(r) || !check_tabs(r))
        return NULL;
    for (int round = 0; !passes(r) && !r->fatal; round++) {
        if (round >= max_rounds)
            return NULL;
    }
    if (r->fatal)
        return NULL;

    struct node *root = build_document(r);

    *complete = r->complete && !r->fatal;
    return r->fatal ? NULL : root;
}

struct node *node_read_mapping(struct cx *cx, const struct source *source, bool *complete)
{
    int errors = diag_errors(cx);
    struct node *root = node_read(cx, source, complete);

    if (root && root->kind == NODE_MAP)
        return root;
    *complete = false;
    if (root && root->kind != NODE_BAD)
        diag_error(cx, root->loc, "a spec is a mapping of keys to values, found %s", node_kind_text(root));
    else if (!root && diag_errors(cx) == errors)
        diag_error(cx, loc_at(source, 0, 1), "the spec is empty");
    else
        return NULL;
    diag_hint(cx, "begin it with 'modc: 1'");
    return NULL;
}
