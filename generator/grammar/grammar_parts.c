/* grammar_parts.c - how parts are put together, and sets of characters. */
#include "grammar/grammar_parts.h"

#include <stdlib.h>
#include <string.h>

struct part *part_new(struct cx *cx, enum part_kind kind)
{
    struct part *part = ARENA_NEW(&cx->arena, struct part);

    part->kind = kind;
    return part;
}

struct part *part_never(struct cx *cx)
{
    return part_new(cx, PART_EITHER);
}

bool part_is_never(const struct part *part)
{
    return part->is_never || (part->kind == PART_EITHER && part->count == 0);
}

static bool is_nothing(const struct part *part)
{
    return part->kind == PART_ALL && part->count == 0 && !part->is_never;
}

void part_add(struct cx *cx, struct part *part, struct part *other)
{
    if (part_is_never(other)) {
        part->is_never |= part->kind == PART_ALL;
        return;
    }
    if (part->kind != PART_ALL || !is_nothing(other))
        ARENA_PUSH(&cx->arena, part->parts, part->count, other);
}

struct part *part_times(struct cx *cx, struct part *part, int least, int most)
{
    struct part *times;

    if (part_is_never(part) && least == 0)
        return part_new(cx, PART_ALL);
    if (is_nothing(part) || part_is_never(part) || (least == 1 && most == 1))
        return part;
    times = part_new(cx, PART_TIMES);
    ARENA_PUSH(&cx->arena, times->parts, times->count, part);
    times->least = least;
    times->most = most;
    return times;
}

struct part *part_either(struct cx *cx, struct part *part, struct part *other)
{
    struct part *either = part_new(cx, PART_EITHER);

    part_add(cx, either, part);
    part_add(cx, either, other ? other : part_new(cx, PART_ALL));
    return either;
}

struct part *part_both(struct cx *cx, struct part *part, struct part *other)
{
    struct part *all = part_new(cx, PART_ALL);

    part_add(cx, all, part);
    part_add(cx, all, other);
    return all;
}

/* ---- sets of characters --------------------------------------------------------------------------------------- */

void ranges_add(struct cx *cx, struct ranges *ranges, uint32_t from, uint32_t to)
{
    const struct range range = {from, to};

    ARENA_PUSH(&cx->arena, ranges->list, ranges->count, range);
}

static int compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* Sorted and apart. */
static void join(struct ranges *ranges)
{
    int count = 0;

    if (ranges->count == 0)
        return;
    qsort(ranges->list, (size_t)ranges->count, sizeof *ranges->list, compare);
    for (int i = 1; i < ranges->count; i++) {
        struct range *last = &ranges->list[count];

        if (ranges->list[i].from > last->to + 1)
            ranges->list[++count] = ranges->list[i];
        else if (ranges->list[i].to > last->to)
            last->to = ranges->list[i].to;
    }
    ranges->count = count + 1;
}

static struct ranges others(struct cx *cx, const struct ranges *ranges)
{
    struct ranges result = {0};
    uint32_t from = 0;

    for (int i = 0; i < ranges->count; i++) {
        if (ranges->list[i].from > from)
            ranges_add(cx, &result, from, ranges->list[i].from - 1);
        from = ranges->list[i].to + 1;
    }
    if (from <= LAST_CHARACTER)
        ranges_add(cx, &result, from, LAST_CHARACTER);
    return result;
}

void ranges_settle(struct cx *cx, struct ranges *ranges, bool negative)
{
    enum { FIRST_SURROGATE = 0xd800, LAST_SURROGATE = 0xdfff };

    join(ranges);
    if (!negative)
        *ranges = others(cx, ranges);
    ranges_add(cx, ranges, FIRST_SURROGATE, LAST_SURROGATE);
    join(ranges);
    *ranges = others(cx, ranges);
}

struct part *part_set(struct cx *cx, const struct ranges *ranges)
{
    struct part *part = part_new(cx, PART_SET);

    part->ranges = ranges->list;
    part->count = ranges->count;
    return part;
}

static struct part *character(struct cx *cx, uint32_t c)
{
    struct ranges ranges = {0};

    ranges_add(cx, &ranges, c, c);
    return part_set(cx, &ranges);
}

static uint32_t next_character(const char **at)
{
    const unsigned char *s = (const unsigned char *)*at;
    const int length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t c = length == 1 ? s[0] : s[0] & (0x7fu >> length);

    for (int i = 1; i < length; i++)
        c = c << 6 | (s[i] & 0x3fu);
    *at += length;
    return c;
}

struct part *part_text(struct cx *cx, const char *text, size_t bytes)
{
    struct part *all = part_new(cx, PART_ALL);

    for (const char *at = text; at < text + bytes;)
        part_add(cx, all, character(cx, next_character(&at)));
    return all;
}

/* ---- within strings of JSON -------------------------------------------------------------------------------------- */

/* How json.dumps writes it. NULL: as it is. */
static const char *escape_of(struct cx *cx, uint32_t c)
{
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (int i = 0; letters[i]; i += 2)
        if ((uint32_t)letters[i] == c)
            return arena_format(&cx->arena, "\\%c", letters[i + 1]);
    return c < 0x20 ? arena_format(&cx->arena, "\\u%04x", (unsigned)c) : NULL;
}

struct part *part_json_set(struct cx *cx, const struct ranges *ranges)
{
    struct part *either = part_new(cx, PART_EITHER);
    struct ranges plain = {0};

    for (int i = 0; i < ranges->count; i++) {
        uint32_t c = ranges->list[i].from;

        for (; c <= ranges->list[i].to && c <= '\\'; c++) {
            const char *escape = escape_of(cx, c);

            if (escape && escape[1] == 'u')
                continue;
            if (escape)
                part_add(cx, either, part_text(cx, escape, strlen(escape)));
            else
                ranges_add(cx, &plain, c, c);
        }
        if (c <= ranges->list[i].to)
            ranges_add(cx, &plain, c, ranges->list[i].to);
    }
    join(&plain);
    if (plain.count > 0)
        part_add(cx, either, part_set(cx, &plain));
    return either->count == 1 ? either->parts[0] : either;
}

struct part *part_json_text(struct cx *cx, const char *text, size_t bytes)
{
    struct part *all = part_new(cx, PART_ALL);

    for (const char *at = text; at < text + bytes;) {
        const uint32_t c = next_character(&at);
        const char *escape = escape_of(cx, c);

        part_add(cx, all, escape ? part_text(cx, escape, strlen(escape)) : character(cx, c));
    }
    return all;
}
