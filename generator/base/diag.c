/* diag.c - collects what is wrong and prints it for people or for editors. Apart, since every room says
 * faults but none prints: the order, the limit of 20 and the two formats are decided here alone. */
#include "base/diag.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/sarif.h"
#include "base/text.h"

/* Places ------------------------------------------------------------------------------------------------- */

static bool has_bom(const struct source *source)
{
    return source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0;
}

/* Lines end with \n, \r\n or a lone \r. text[at + 1] may be read, since a source ends with 0. */
static bool ends_line(const char *text, size_t at)
{
    return text[at] == '\n' || (text[at] == '\r' && text[at + 1] != '\n');
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Moves `loc` forward to `offset`. A byte order mark takes no column. */
static void advance(struct loc *loc, size_t offset)
{
    const char *text = loc->source->text;
    size_t at = loc->offset;

    if (at == 0 && offset > 0 && has_bom(loc->source))
        at = offset < 3 ? offset : 3;
    for (; at < offset; at++) {
        if (ends_line(text, at)) {
            loc->line++;
            loc->column = 1;
        } else if (text[at] != '\r' && starts_character(text[at])) {
            loc->column++;
        }
    }
    loc->offset = offset;
}

static void measure(struct loc *loc, size_t bytes)
{
    const char *text = loc->source->text;

    loc->length = 0;
    for (size_t at = loc->offset; at < loc->offset + bytes; at++) {
        if (text[at] == '\n' || text[at] == '\r')
            break;
        if (starts_character(text[at]))
            loc->length++;
    }
    if (loc->length < 1)
        loc->length = 1;
}

static void clip(const struct source *source, size_t *offset, size_t *bytes)
{
    if (*offset > source->length)
        *offset = source->length;
    if (*bytes > source->length - *offset)
        *bytes = source->length - *offset;
}

struct loc loc_at(const struct source *source, size_t offset, size_t bytes)
{
    struct loc loc = {.source = source, .line = 1, .column = 1};

    clip(source, &offset, &bytes);
    advance(&loc, offset);
    measure(&loc, bytes);
    return loc;
}

struct loc diag_loc(struct cx *cx, const struct source *source, size_t offset, size_t bytes)
{
    struct loc loc = {.source = source, .line = 1, .column = 1};

    bool known = cx->place.source == source && cx->place.text == source->text;

    clip(source, &offset, &bytes);
    if (known && cx->place.offset <= offset) {
        loc.line = cx->place.line;
        loc.column = cx->place.column;
        loc.offset = cx->place.offset;
    } else if (known && cx->place.offset - offset < offset) { /* back by less than from 0 */
        size_t start = offset;

        loc.line = cx->place.line;
        for (size_t at = cx->place.offset; at > offset; at--)
            loc.line -= ends_line(source->text, at - 1);
        while (start > 0 && !ends_line(source->text, start - 1))
            start--;
        loc.offset = start;
    }
    advance(&loc, offset);
    cx->place.source = source;
    cx->place.text = source->text;
    cx->place.offset = offset;
    cx->place.line = loc.line;
    cx->place.column = loc.column;
    measure(&loc, bytes);
    return loc;
}

struct loc loc_part(struct loc loc, int skip, int length)
{
    loc.column += skip;
    loc.offset += (size_t)skip;
    loc.length = length < 1 ? 1 : length;
    return loc;
}

struct loc loc_join(struct loc first, struct loc last)
{
    if (!first.source || first.source != last.source || first.line != last.line || last.column < first.column)
        return first;
    if (last.column + last.length > first.column + first.length)
        first.length = last.column + last.length - first.column;
    return first;
}

/* Saying ------------------------------------------------------------------------------------------------- */

static bool same_place(struct loc a, struct loc b)
{
    return a.source == b.source && a.offset == b.offset && a.line == b.line && a.column == b.column;
}

static bool holds(const struct diag_item *items, int count, const struct diag_item *wanted, bool any_text)
{
    for (int i = 0; i < count; i++)
        if (items[i].level == wanted->level && same_place(items[i].loc, wanted->loc) &&
            (any_text || strcmp(items[i].text, wanted->text) == 0))
            return true;
    return false;
}

static void add(struct cx *cx, enum diag_level level, struct loc loc, const char *text, const char *format)
{
    struct diag_item item = {.level = level, .loc = loc, .text = text, .format = format};

    ARENA_PUSH(&cx->arena, cx->items, cx->item_count, item);
}

/* Errors and warnings. Decides whether this one, with the notes and hints behind it, is kept. */
static void say(struct cx *cx, enum diag_level level, struct loc loc, const char *text, const char *format)
{
    struct diag_item item = {.level = level, .loc = loc, .text = text, .format = format};
    bool variant = cx->variant.text && level == DIAG_ERROR;

    cx->dropping = true;
    cx->faults += level == DIAG_ERROR;
    if (holds(cx->items, cx->item_count, &item, variant) ||
        holds(cx->hidden, cx->hidden_count, &item, variant))
        return;
    if (level == DIAG_ERROR && cx->errors >= DIAG_MAX_ERRORS) {
        if (cx->hidden_count < DIAG_MAX_HIDDEN) {
            ARENA_PUSH(&cx->arena, cx->hidden, cx->hidden_count, item);
            cx->errors++;
        }
        return;
    }
    *(level == DIAG_ERROR ? &cx->errors : &cx->warnings) += 1;
    cx->dropping = false;
    add(cx, level, loc, text, format);
    if (variant)
        add(cx, DIAG_NOTE, cx->variant.loc, cx->variant.text, cx->variant.text);
}

void diag_error(struct cx *cx, struct loc loc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(cx, DIAG_ERROR, loc, arena_vformat(&cx->arena, format, args), format);
    va_end(args);
}

void diag_warning(struct cx *cx, struct loc loc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(cx, DIAG_WARNING, loc, arena_vformat(&cx->arena, format, args), format);
    va_end(args);
}

void diag_note(struct cx *cx, struct loc loc, const char *format, ...)
{
    va_list args;

    if (cx->dropping)
        return;
    va_start(args, format);
    add(cx, DIAG_NOTE, loc, arena_vformat(&cx->arena, format, args), format);
    va_end(args);
}

void diag_hint(struct cx *cx, const char *format, ...)
{
    va_list args;

    if (cx->dropping)
        return;
    va_start(args, format);
    add(cx, DIAG_HINT, (struct loc){0}, arena_vformat(&cx->arena, format, args), format);
    va_end(args);
}

bool diag_said(const struct cx *cx, struct loc loc)
{
    bool said = false;

    for (int i = 0; i < cx->item_count; i++)
        said |= cx->items[i].level == DIAG_ERROR && same_place(cx->items[i].loc, loc);
    for (int i = 0; i < cx->hidden_count; i++)
        said |= same_place(cx->hidden[i].loc, loc);
    return said;
}

struct diag_mark diag_mark(const struct cx *cx)
{
    return (struct diag_mark){cx->item_count, cx->errors, cx->warnings, cx->hidden_count, cx->faults};
}

void diag_rewind(struct cx *cx, struct diag_mark mark)
{
    cx->item_count = mark.items;
    cx->errors = mark.errors;
    cx->warnings = mark.warnings;
    cx->hidden_count = mark.hidden;
    cx->faults = mark.faults;
    cx->dropping = true;
}

bool diag_is_full(const struct cx *cx)
{
    return cx->hidden_count >= DIAG_MAX_HIDDEN;
}

int diag_faults(const struct cx *cx)
{
    return cx->faults;
}

int diag_errors(const struct cx *cx)
{
    return cx->errors;
}

/* A source that outlives the compilation that read it. */
static const struct source *keep_source(struct cx *cx, const struct source *source)
{
    struct source *kept;
    struct loc *from;

    if (!source)
        return NULL;
    kept = ARENA_NEW(&cx->arena, struct source);
    *kept = (struct source){.name = arena_copy(&cx->arena, source->name, strlen(source->name)),
                            .text = arena_copy(&cx->arena, source->text, source->length),
                            .length = source->length};
    if (source->from) {
        from = ARENA_NEW(&cx->arena, struct loc);
        *from = *source->from;
        from->source = keep_source(cx, from->source);
        kept->from = from;
    }
    return kept;
}

static const char *keep_text(struct cx *cx, const char *text)
{
    return text ? arena_copy(&cx->arena, text, strlen(text)) : NULL;
}

void diag_take_over(struct cx *cx, const struct cx *other)
{
    for (int i = 0; i < other->item_count; i++) {
        struct diag_item item = other->items[i];

        item.loc.source = keep_source(cx, item.loc.source);
        item.text = keep_text(cx, item.text);
        item.format = keep_text(cx, item.format);
        item.word = keep_text(cx, item.word);
        item.instead = keep_text(cx, item.instead);
        ARENA_PUSH(&cx->arena, cx->items, cx->item_count, item);
    }
    cx->errors += other->errors;
    cx->warnings += other->warnings;
}

/* Near spellings ----------------------------------------------------------------------------------------- */

enum { near_limit = 64 }; /* longer names get no suggestion */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edit distance where swapping two neighbours counts once; letters that differ in case cost `case_cost`. */
static int distance(const char *a, const char *b, int case_cost)
{
    int rows[3][near_limit + 1];
    int a_length = (int)strlen(a), b_length = (int)strlen(b);

    for (int j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            char ca = a[i - 1], cb = b[j - 1];
            int cost = ca == cb ? 0 : lower(ca) == lower(cb) ? case_cost : 1;
            int best = above[j - 1] + cost;

            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && ca == b[j - 2] && a[i - 2] == cb && above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *diag_nearest(const char *name, const char *const *known, int count)
{
    size_t length = strlen(name);
    const char *nearest = NULL;
    int nearest_distance = 0, nearest_exact = 0;

    if (length == 0 || length > near_limit)
        return NULL;
    for (int i = 0; i < count; i++) {
        if (!known[i] || strlen(known[i]) > near_limit || strcmp(known[i], name) == 0)
            continue;

        const int longer = abs((int)strlen(known[i]) - (int)length); /* so many letters go in any case */
        int loose = longer > (int)length / 3 ? longer : distance(name, known[i], 0), exact;

        if (loose > (int)length / 3)
            continue;
        exact = distance(name, known[i], 1);
        if (!nearest || loose < nearest_distance || (loose == nearest_distance && exact < nearest_exact)) {
            nearest = known[i];
            nearest_distance = loose;
            nearest_exact = exact;
        }
    }
    return nearest;
}

void diag_hint_nearest(struct cx *cx, const char *name, const char *const *known, int count)
{
    const char *nearest = cx->dropping ? NULL : diag_nearest(name, known, count);

    if (!nearest)
        return;
    diag_hint(cx, "did you mean '%s'?", nearest);
    cx->items[cx->item_count - 1].word = name;
    cx->items[cx->item_count - 1].instead = nearest;
}

/* Printing ----------------------------------------------------------------------------------------------- */

static const char *level_name(enum diag_level level)
{
    static const char *const names[] = {
        [DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note", [DIAG_HINT] = "hint"};

    return names[level];
}

/* The bytes of the character at `text`, which ends with 0; *good: a terminal shows it as one. */
static size_t read_character(const char *text, bool *good)
{
    const unsigned char *u = (const unsigned char *)text;
    int length = text_utf8_length(text);

    *good = length > 0 && (u[0] >= 0x20 || u[0] == '\t') && u[0] != 0x7f && !(u[0] == 0xc2 && u[1] < 0xa0);
    return length > 0 ? (size_t)length : 1;
}

/* Text of a user may hold what is no UTF-8, and control characters, which a terminal would obey. */
static void add_printable(struct text *out, const char *text, size_t length)
{
    size_t bytes;
    bool good;

    for (size_t i = 0; i < length; i += bytes) {
        bytes = read_character(text + i, &good);
        text_add_bytes(out, good ? text + i : "?", good ? bytes : 1);
    }
}

static size_t next_character(const char *text, size_t at, size_t end)
{
    for (at++; at < end && !starts_character(text[at]);)
        at++;
    return at;
}

/* The line of `loc` and the caret under it. Of a very long line only the part around the caret is shown. */
static void add_snippet(struct text *out, struct loc loc)
{
    enum { before_limit = 120, after_limit = 120 };
    const char *text = loc.source->text;
    size_t begin = loc.offset, end = loc.offset;
    int before = 0, after = 0;

    while (begin > 0 && !ends_line(text, begin - 1) && before < before_limit) {
        begin--;
        before += starts_character(text[begin]);
    }
    while (end < loc.source->length && text[end] != '\n' && text[end] != '\r' && after < after_limit) {
        end = next_character(text, end, loc.source->length);
        after++;
    }
    if (begin == 0 && has_bom(loc.source) && end >= 3)
        begin = 3;

    bool cut_before = begin > 0 && !ends_line(text, begin - 1) && !(begin == 3 && has_bom(loc.source));
    bool cut_after = end < loc.source->length && text[end] != '\n' && text[end] != '\r';

    if (cut_before)
        text_add(out, "...");
    add_printable(out, text + begin, end - begin);
    text_add(out, cut_after ? "...\n" : "\n");
    if (cut_before)
        text_add(out, "   ");
    for (size_t at = begin; at < loc.offset;) {
        bool good;

        text_add(out, text[at] == '\t' ? "\t" : " ");
        at += read_character(text + at, &good);
    }
    text_style(out, STYLE_CARET);
    text_add(out, "^");
    for (int i = 1; i < loc.length && i < after; i++)
        text_add(out, "~");
    text_style(out, STYLE_PLAIN);
    text_add(out, "\n");
}

/* "error: text". */
static void add_message(struct text *out, const struct diag_item *item)
{
    static const enum style styles[] = {[DIAG_ERROR] = STYLE_ERROR,
                                        [DIAG_WARNING] = STYLE_WARNING,
                                        [DIAG_NOTE] = STYLE_NOTE,
                                        [DIAG_HINT] = STYLE_NOTE};
    bool heads = item->level == DIAG_ERROR || item->level == DIAG_WARNING;

    text_style(out, styles[item->level]);
    text_printf(out, "%s: ", level_name(item->level));
    text_style(out, STYLE_PLAIN);
    if (heads)
        text_style(out, STYLE_BOLD);
    add_printable(out, item->text, strlen(item->text));
    if (heads)
        text_style(out, STYLE_PLAIN);
    text_add(out, "\n");
}

static void add_header(struct text *out, const struct diag_item *item)
{
    text_style(out, STYLE_BOLD);
    if (item->loc.source) {
        add_printable(out, item->loc.source->name, strlen(item->loc.source->name));
        text_printf(out, ":%d:%d: ", item->loc.line, item->loc.column);
    } else {
        text_add(out, "modc: ");
    }
    text_style(out, STYLE_PLAIN);
    add_message(out, item);
}

/* An error or warning with the notes and hints that belong to it: items[first .. first + count). */
struct group {
    const struct cx *cx;
    int first, count;
    int source; /* sources in the order in which they were first named */
};

static int compare_groups(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    struct loc loc_a = a->cx->items[a->first].loc, loc_b = b->cx->items[b->first].loc;

    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (loc_a.offset != loc_b.offset)
        return loc_a.offset < loc_b.offset ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Two sources of one name are one file: spec_yaml.c keeps a second copy in which quoted text is unescaped. */
static bool same_source(const struct source *a, const struct source *b)
{
    return a == b || (a && b && strcmp(a->name, b->name) == 0);
}

static struct group *make_groups(struct arena *arena, const struct cx *cx, int *count)
{
    struct group *groups = NULL;
    const struct source **sources = NULL;
    int source_count = 0;

    *count = 0;
    for (int i = 0; i < cx->item_count; i++) {
        bool starts = cx->items[i].level == DIAG_ERROR || cx->items[i].level == DIAG_WARNING;

        if (!starts && *count > 0) {
            groups[*count - 1].count++;
            continue;
        }

        struct group group = {.cx = cx, .first = i, .count = 1};

        while (group.source < source_count && !same_source(sources[group.source], cx->items[i].loc.source))
            group.source++;
        if (group.source == source_count)
            ARENA_PUSH(arena, sources, source_count, cx->items[i].loc.source);
        ARENA_PUSH(arena, groups, *count, group);
    }
    if (*count > 1)
        qsort(groups, (size_t)*count, sizeof *groups, compare_groups);
    return groups;
}

static void add_json_place(struct text *out, struct loc loc)
{
    text_add(out, "\"file\":");
    if (loc.source)
        text_json_string(out, loc.source->name);
    else
        text_add(out, "null");
    text_printf(out, ",\"line\":%d,\"column\":%d,\"length\":%d,\"message\":", loc.line, loc.column,
                loc.length);
}

/* The chain of specs by which modc came to the file of an error, from the inside out: the note for each. */
static const struct loc *next_extension(const struct loc *loc)
{
    return loc->source ? loc->source->from : NULL;
}

static const char extended_text[] = "extended here";

static void add_json_note(struct text *out, const char *separator, struct loc loc, const char *text)
{
    text_printf(out, "%s{", separator);
    add_json_place(out, loc);
    text_json_string(out, text);
    text_add(out, "}");
}

static void add_json_group(struct text *out, const struct diag_item *items, int count)
{
    const char *separator = "";

    text_printf(out, "{\"level\":\"%s\",", level_name(items[0].level));
    add_json_place(out, items[0].loc);
    text_json_string(out, items[0].text);
    text_add(out, ",\"hints\":[");
    for (int i = 1; i < count; i++) {
        if (items[i].level != DIAG_HINT)
            continue;
        text_add(out, separator);
        text_json_string(out, items[i].text);
        separator = ",";
    }
    text_add(out, "],\"notes\":[");
    separator = "";
    for (int i = 1; i < count; i++) {
        if (items[i].level != DIAG_NOTE)
            continue;
        add_json_note(out, separator, items[i].loc, items[i].text);
        separator = ",";
    }
    for (const struct loc *from = next_extension(&items[0].loc); from; from = next_extension(from)) {
        add_json_note(out, separator, *from, extended_text);
        separator = ",";
    }
    text_add(out, "]}\n");
}

static void add_group(struct text *out, const struct diag_item *items, int count)
{
    for (int i = 0; i < count; i++) {
        if (items[i].level == DIAG_HINT) {
            add_message(out, &items[i]);
            continue;
        }
        add_header(out, &items[i]);
        if (i == 0 && items[i].loc.source)
            add_snippet(out, items[i].loc);
    }
    for (const struct loc *from = next_extension(&items[0].loc); from; from = next_extension(from)) {
        struct diag_item note = {.level = DIAG_NOTE, .loc = *from, .text = extended_text};

        add_header(out, &note);
    }
}

/* "2 more errors were not shown", or NULL. */
static const char *more_text(struct arena *arena, const struct cx *cx)
{
    int more = cx->errors - DIAG_MAX_ERRORS;

    return more > 0
               ? arena_format(arena, "%s%d more error%s not shown", more < DIAG_MAX_HIDDEN ? "" : "at least ",
                              more, more == 1 ? " was" : "s were")
               : NULL;
}

static void print_sarif(struct text *out, const struct cx *cx, const struct group *groups, int count)
{
    struct sarif_result *results = ARENA_ARRAY(out->arena, count + 1, struct sarif_result);

    for (int i = 0; i < count; i++)
        results[i] = (struct sarif_result){&cx->items[groups[i].first], groups[i].count};
    sarif_print(out, results, count, more_text(out->arena, cx), cx->errors > 0);
}

void diag_print(const struct cx *cx, FILE *file, enum diag_style style)
{
    struct arena arena = {0};
    struct text out = text_new(&arena);
    int count;
    struct group *groups = make_groups(&arena, cx, &count);
    struct diag_item more = {.level = DIAG_NOTE, .text = more_text(&arena, cx)};
    bool json = style == DIAG_JSON;

    out.color = style == DIAG_COLOR;
    if (style == DIAG_SARIF)
        print_sarif(&out, cx, groups, count);
    for (int i = 0; i < count && style != DIAG_SARIF; i++) {
        if (json)
            add_json_group(&out, &cx->items[groups[i].first], groups[i].count);
        else
            add_group(&out, &cx->items[groups[i].first], groups[i].count);
    }
    if (more.text && json)
        add_json_group(&out, &more, 1);
    else if (more.text && style != DIAG_SARIF)
        text_printf(&out, "%s\n", more.text);
    fwrite(out.data, 1, out.length, file);
    arena_free(&arena);
}
