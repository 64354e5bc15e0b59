/* modc_template.c - what a chat template's function in emitted code calls. */
#include "modc_template.h"

#include <string.h>

/* ---- what goes wrong ------------------------------------------------------------------------------------------ */

static void fail(struct modc_prompt *p, enum modc_status status, struct modc_text why)
{
    if (p->status != MODC_OK)
        return;
    p->status = status;
    p->refusal = why;
}

#define FAIL(p, why) fail(p, MODC_ARGUMENT, MODC_TEXT(why))

enum modc_status modc_refuse(struct modc_prompt *p, struct modc_text why, size_t *bytes)
{
    fail(p, MODC_ARGUMENT, why);
    return modc_prompt_end(p, bytes);
}

/* ---- characters ------------------------------------------------------------------------------------------------- */

/* Bytes of the space at the start of s, of `bytes` bytes; 0: there is none. What Python's str.isspace says. */
static size_t space_at(const char *s, size_t bytes)
{
    const unsigned char *u = (const unsigned char *)s;

    if (bytes == 0)
        return 0;
    if (u[0] < 0x80)
        return u[0] == ' ' || (u[0] >= 0x09 && u[0] <= 0x0d) || (u[0] >= 0x1c && u[0] <= 0x1f);
    if (bytes >= 2 && u[0] == 0xc2)
        return u[1] == 0x85 || u[1] == 0xa0 ? 2 : 0;
    if (bytes < 3)
        return 0;
    if (u[0] == 0xe1)
        return u[1] == 0x9a && u[2] == 0x80 ? 3 : 0;
    if (u[0] == 0xe2 && u[1] == 0x80)
        return u[2] <= 0x8a || u[2] == 0xa8 || u[2] == 0xa9 || u[2] == 0xaf ? 3 : 0;
    if (u[0] == 0xe2)
        return u[1] == 0x81 && u[2] == 0x9f ? 3 : 0;
    return u[0] == 0xe3 && u[1] == 0x80 && u[2] == 0x80 ? 3 : 0;
}

static bool is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes of the character at the start, and of the one at the end. */
static size_t first_bytes(struct modc_text text)
{
    size_t bytes = 1;

    while (bytes < text.bytes && is_inside(text.data[bytes]))
        bytes++;
    return bytes;
}

static size_t last_bytes(struct modc_text text)
{
    size_t bytes = 1;

    while (bytes < text.bytes && is_inside(text.data[text.bytes - bytes]))
        bytes++;
    return bytes;
}

int modc_characters(struct modc_text text)
{
    int count = 0;

    for (size_t i = 0; i < text.bytes; i++)
        count += !is_inside(text.data[i]);
    return count;
}

int modc_modulo(int a, int b)
{
    const int rest = a % b;

    return rest < 0 ? rest + b : rest;
}

/* ---- texts within texts --------------------------------------------------------------------------------------- */

static bool is_at(struct modc_text text, size_t at, struct modc_text part)
{
    return part.bytes <= text.bytes - at && memcmp(text.data + at, part.data, part.bytes) == 0;
}

/* Where the part stands first from `at` on; beyond the text: nowhere. The part is not empty. */
static size_t find(struct modc_text text, size_t at, struct modc_text part)
{
    while (at < text.bytes) {
        const char *found = memchr(text.data + at, part.data[0], text.bytes - at);

        if (!found)
            break;
        at = (size_t)(found - text.data);
        if (is_at(text, at, part))
            return at;
        at++;
    }
    return SIZE_MAX;
}

bool modc_same(struct modc_text a, struct modc_text b)
{
    return a.data && b.data && a.bytes == b.bytes && is_at(a, 0, b);
}

bool modc_contains(struct modc_text text, struct modc_text part)
{
    return part.bytes == 0 || find(text, 0, part) != SIZE_MAX;
}

bool modc_starts_with(struct modc_text text, struct modc_text start)
{
    return start.bytes == 0 || is_at(text, 0, start);
}

bool modc_ends_with(struct modc_text text, struct modc_text end)
{
    return end.bytes <= text.bytes && (end.bytes == 0 || is_at(text, text.bytes - end.bytes, end));
}

static struct modc_text cut(struct modc_text text, size_t from, size_t until)
{
    return (struct modc_text){text.data + from, until - from};
}

struct modc_text modc_split_part(struct modc_prompt *p, struct modc_text text, struct modc_text separator,
                                 int i)
{
    size_t from = 0, at;

    if (i < 0) {
        for (at = find(text, 0, separator); at != SIZE_MAX; at = find(text, at + separator.bytes, separator))
            i++;
        i++;
    }
    for (; i > 0; i--) {
        at = find(text, from, separator);
        if (at == SIZE_MAX)
            break;
        from = at + separator.bytes;
    }
    if (i != 0) {
        FAIL(p, "a text has fewer parts than the template asks for");
        return MODC_TEXT("");
    }
    at = find(text, from, separator);
    return text.bytes == 0 ? text : cut(text, from, at < text.bytes ? at : text.bytes);
}

struct modc_text modc_strip_left(struct modc_text text)
{
    for (size_t bytes; (bytes = space_at(text.data, text.bytes)) > 0;)
        text = cut(text, bytes, text.bytes);
    return text;
}

struct modc_text modc_strip_right(struct modc_text text)
{
    while (text.bytes > 0) {
        const size_t bytes = last_bytes(text);

        if (space_at(text.data + text.bytes - bytes, bytes) != bytes)
            break;
        text.bytes -= bytes;
    }
    return text;
}

struct modc_text modc_strip(struct modc_text text)
{
    return modc_strip_right(modc_strip_left(text));
}

struct modc_text modc_strip_left_of(struct modc_text text, struct modc_text characters)
{
    while (text.bytes > 0) {
        const size_t bytes = first_bytes(text);

        if (!modc_contains(characters, cut(text, 0, bytes)))
            break;
        text = cut(text, bytes, text.bytes);
    }
    return text;
}

struct modc_text modc_strip_right_of(struct modc_text text, struct modc_text characters)
{
    while (text.bytes > 0) {
        const size_t bytes = last_bytes(text);

        if (!modc_contains(characters, cut(text, text.bytes - bytes, text.bytes)))
            break;
        text.bytes -= bytes;
    }
    return text;
}

struct modc_text modc_strip_of(struct modc_text text, struct modc_text characters)
{
    return modc_strip_right_of(modc_strip_left_of(text, characters), characters);
}

struct modc_text modc_needed(struct modc_prompt *p, struct modc_text text, const char *name)
{
    if (text.data)
        return text;
    fail(p, MODC_ARGUMENT, (struct modc_text){name, strlen(name)});
    return MODC_TEXT("");
}

/* ---- turns ------------------------------------------------------------------------------------------------------ */

bool modc_has_neighbour(struct modc_turn_list turns, int i)
{
    return i >= 0 && i < turns.count;
}

bool modc_has_turn(struct modc_turn_list turns, int i)
{
    return modc_has_neighbour(turns, i < 0 ? i + turns.count : i);
}

const struct modc_turn *modc_neighbour(struct modc_prompt *p, struct modc_turn_list turns, int i)
{
    static const struct modc_turn none = {{"", 0}, {"", 0}, {NULL, 0}, {NULL, 0}};
    const struct modc_turn *turn;

    if (!modc_has_neighbour(turns, i)) {
        FAIL(p, "there are fewer turns than the template asks for");
        return &none;
    }
    turn = turns.first + i * turns.step;
    return p->continues && turn == p->turns + p->count - 1 ? &p->final : turn;
}

const struct modc_turn *modc_turn_at(struct modc_prompt *p, struct modc_turn_list turns, int i)
{
    return modc_neighbour(p, turns, i < 0 ? i + turns.count : i);
}

/* Where Python's slices begin and end. */
static int bounded(int i, int count)
{
    if (i < 0)
        i += count;
    return i < 0 ? 0 : i > count ? count : i;
}

struct modc_turn_list modc_turns_slice(struct modc_turn_list turns, int from, int until)
{
    from = bounded(from, turns.count);
    until = bounded(until, turns.count);
    if (from >= until)
        return (struct modc_turn_list){turns.first, 0, 1};
    return (struct modc_turn_list){turns.first + from * turns.step, until - from, turns.step};
}

struct modc_turn_list modc_turns_reversed(struct modc_turn_list turns)
{
    if (turns.count == 0)
        return turns;
    return (struct modc_turn_list){turns.first + (turns.count - 1) * turns.step, turns.count, -turns.step};
}

/* ---- what becomes part of the text ---------------------------------------------------------------------------------- */

/* Stands behind the last turn's content where that is to be continued: the text is cut there. What transformers has, to the
 * letter, since a template may look at the content. */
#define MARK "CONTINUE_FINAL_MESSAGE_TAG"

/* Looks for the mark in what is put. transformers takes the space behind it for a sign that nothing was trimmed. */
static void look_for_mark(struct modc_prompt *p, struct modc_text text)
{
    const struct modc_text mark = MODC_TEXT(MARK);
    struct modc_text content = p->turns[p->count - 1].content, solid;
    size_t at = SIZE_MAX;

    if (text.bytes == 0)
        return;
    if (p->awaits)
        p->is_spaced = text.data[0] == ' ';
    p->awaits = false;
    for (size_t i = find(text, 0, mark); i != SIZE_MAX; i = find(text, i + 1, mark))
        at = i;
    if (at != SIZE_MAX) {
        solid = modc_strip_right(cut(text, 0, at));
        p->is_cut = true;
        p->cut = p->length + at;
        p->cut_solid = solid.bytes > 0 ? p->length + solid.bytes : p->solid;
        p->is_whole = modc_ends_with(solid, modc_strip(content));
        p->awaits = at + mark.bytes == text.bytes;
        p->is_spaced = !p->awaits && text.data[at + mark.bytes] == ' ';
    }
    solid = modc_strip_right(text);
    if (solid.bytes > 0)
        p->solid = p->length + solid.bytes;
}

/* What has no room is counted. */
static void copy(char *out, size_t room, size_t at, struct modc_text text)
{
    if (text.bytes > 0 && at < room)
        memcpy(out + at, text.data, text.bytes < room - at ? text.bytes : room - at);
}

void modc_put(struct modc_prompt *p, struct modc_text text)
{
    if (p->makes) {
        copy(p->workspace, p->workspace_bytes - p->kept, p->used, text);
        p->used += text.bytes;
        return;
    }
    if (p->continues)
        look_for_mark(p, text);
    copy(p->out, p->room, p->length, text);
    p->length += text.bytes;
}

void modc_put_digits(struct modc_prompt *p, int number)
{
    char digits[24];
    size_t at = sizeof digits;
    unsigned rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;

    do
        digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        digits[--at] = '-';
    modc_put(p, (struct modc_text){digits + at, sizeof digits - at});
}

void modc_put_json(struct modc_prompt *p, struct modc_text text)
{
    static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    size_t from = 0;

    modc_put(p, MODC_TEXT("\""));
    for (size_t i = 0; i < text.bytes; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const char *name = c == '\0' ? NULL : strchr(names, c);
        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

        if (c >= 0x20 && !name)
            continue;
        if (name)
            escape[1] = letters[name - names];
        modc_put(p, cut(text, from, i));
        modc_put(p, (struct modc_text){escape, name ? 2 : sizeof escape});
        from = i + 1;
    }
    if (text.bytes > 0)
        modc_put(p, cut(text, from, text.bytes));
    modc_put(p, MODC_TEXT("\""));
}

void modc_put_replaced(struct modc_prompt *p, struct modc_text text, struct modc_text from,
                       struct modc_text to)
{
    size_t at = 0;

    for (size_t next; (next = find(text, at, from)) != SIZE_MAX; at = next + from.bytes) {
        modc_put(p, cut(text, at, next));
        modc_put(p, to);
    }
    if (text.bytes > 0)
        modc_put(p, cut(text, at, text.bytes));
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
    return upper(c) >= 'A' && upper(c) <= 'Z';
}

/* Which letters are in upper case. */
enum casing { LOWER, UPPER, FIRST, BEHIND_OTHERS, OF_WORDS };

/* Whether what stands behind this character is. */
static bool begins_upper(enum casing casing, char c)
{
    if (casing == OF_WORDS)
        return space_at(&c, 1) > 0 || (c != '\0' && strchr("-({[<", c));
    return casing == UPPER || (casing == BEHIND_OTHERS && !is_letter(c));
}

static void put_cased(struct modc_prompt *p, struct modc_text text, enum casing casing)
{
    bool is_upper = casing != LOWER;

    for (size_t i = 0; i < text.bytes; i++) {
        const char own = text.data[i], c = is_upper ? upper(own) : lower(own);

        if ((unsigned char)own >= 0x80) {
            FAIL(p, "a text in upper or lower case has other letters than those of ASCII");
            return;
        }
        modc_put(p, (struct modc_text){&c, 1});
        is_upper = begins_upper(casing, own);
    }
}

void modc_put_upper(struct modc_prompt *p, struct modc_text text)
{
    put_cased(p, text, UPPER);
}

void modc_put_lower(struct modc_prompt *p, struct modc_text text)
{
    put_cased(p, text, LOWER);
}

void modc_put_capitalized(struct modc_prompt *p, struct modc_text text)
{
    put_cased(p, text, FIRST);
}

void modc_put_title(struct modc_prompt *p, struct modc_text text)
{
    put_cased(p, text, BEHIND_OTHERS);
}

void modc_put_title_words(struct modc_prompt *p, struct modc_text text)
{
    put_cased(p, text, OF_WORDS);
}

/* ---- dates -------------------------------------------------------------------------------------------------------- */

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool is_date(const struct modc_date *d)
{
    static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return d->year >= 1000 && d->year <= 9999 && d->month >= 1 && d->month <= 12 && d->day >= 1 &&
           d->day <= days[d->month - 1] + (d->month == 2 && is_leap(d->year)) && d->hour >= 0 &&
           d->hour < 24 && d->minute >= 0 && d->minute < 60 && d->second >= 0 && d->second < 61;
}

/* From 0, of the year. */
static int day_of_year(const struct modc_date *d)
{
    static const short before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};

    return before[d->month - 1] + d->day - 1 + (d->month > 2 && is_leap(d->year));
}

/* Sunday is 0. */
static int day_of_week(const struct modc_date *d)
{
    const int past = d->year - 1;

    return (1 + past + past / 4 - past / 100 + past / 400 + day_of_year(d)) % 7;
}

static void put_padded(struct modc_prompt *p, int number, int width, char pad)
{
    for (int least = 10; width > 1; width--, least *= 10)
        if (number < least) {
            for (; width > 1; width--)
                modc_put(p, (struct modc_text){&pad, 1});
            break;
        }
    modc_put_digits(p, number);
}

static void put_name(struct modc_prompt *p, const char *name, bool whole)
{
    modc_put(p, (struct modc_text){name, whole ? strlen(name) : 3});
}

/* False: the letter stands for no number. */
static bool put_number_of_date(struct modc_prompt *p, const struct modc_date *d, char letter, bool bare)
{
    const int week = day_of_week(d), monday = (week + 6) % 7, year = day_of_year(d);
    const struct {
        char letter, pad;
        int width, number;
    } numbers[] = {{'C', '0', 2, d->year / 100},
                   {'d', '0', 2, d->day},
                   {'e', ' ', 2, d->day},
                   {'H', '0', 2, d->hour},
                   {'I', '0', 2, (d->hour + 11) % 12 + 1},
                   {'j', '0', 3, year + 1},
                   {'m', '0', 2, d->month},
                   {'M', '0', 2, d->minute},
                   {'S', '0', 2, d->second},
                   {'u', '0', 1, monday + 1},
                   {'U', '0', 2, (year + 7 - week) / 7},
                   {'w', '0', 1, week},
                   {'W', '0', 2, (year + 7 - monday) / 7},
                   {'y', '0', 2, d->year % 100},
                   {'Y', '0', 4, d->year}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].letter == letter) {
            put_padded(p, numbers[i].number, bare ? 1 : numbers[i].width, numbers[i].pad);
            return true;
        }
    return false;
}

static void put_date(struct modc_prompt *p, const struct modc_date *d, struct modc_text format);

static void put_part_of_date(struct modc_prompt *p, const struct modc_date *d, char letter)
{
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"},
                             *const months[] = {"January",   "February", "March",    "April",
                                                "May",       "June",     "July",     "August",
                                                "September", "October",  "November", "December"};
    static const struct {
        char letter;
        struct modc_text format;
    } longer[] = {{'c', {"%a %b %e %H:%M:%S %Y", 20}},
                  {'D', {"%m/%d/%y", 8}},
                  {'x', {"%m/%d/%y", 8}},
                  {'F', {"%Y-%m-%d", 8}},
                  {'r', {"%I:%M:%S %p", 11}},
                  {'R', {"%H:%M", 5}},
                  {'T', {"%H:%M:%S", 8}},
                  {'X', {"%H:%M:%S", 8}},
                  {'n', {"\n", 1}},
                  {'t', {"\t", 1}}};

    if (letter == 'a' || letter == 'A')
        put_name(p, days[day_of_week(d)], letter == 'A');
    else if (letter == 'b' || letter == 'h' || letter == 'B')
        put_name(p, months[d->month - 1], letter == 'B');
    else if (letter == 'p')
        modc_put(p, d->hour < 12 ? MODC_TEXT("AM") : MODC_TEXT("PM"));
    else if (letter == '%')
        modc_put(p, MODC_TEXT("%"));
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        if (longer[i].letter == letter)
            put_date(p, d, longer[i].format);
}

static void put_date(struct modc_prompt *p, const struct modc_date *d, struct modc_text format)
{
    for (size_t i = 0; i < format.bytes; i++) {
        bool bare;

        if (format.data[i] != '%' || i + 1 == format.bytes) {
            modc_put(p, (struct modc_text){format.data + i, 1});
            continue;
        }
        bare = format.data[++i] == '-' && i + 1 < format.bytes;
        i += bare;
        if (!put_number_of_date(p, d, format.data[i], bare))
            put_part_of_date(p, d, format.data[i]);
    }
}

void modc_put_dated(struct modc_prompt *p, struct modc_text format)
{
    const struct modc_date *now = p->chat ? p->chat->now : NULL;

    if (!now)
        FAIL(p, "the template asks for the time, and `now` is not there");
    else if (!is_date(now))
        FAIL(p, "`now` is no date of the years 1000 to 9999");
    else
        put_date(p, now, format);
}

/* ---- texts in the workspace ----------------------------------------------------------------------------------------- */

static size_t make(struct modc_prompt *p)
{
    p->makes = true;
    return p->used;
}

static bool has_room(struct modc_prompt *p)
{
    if (p->status == MODC_OK && p->needed < p->used + p->kept)
        p->needed = p->used + p->kept;
    if (p->used + p->kept <= p->workspace_bytes)
        return true;
    fail(p, MODC_WORKSPACE, MODC_TEXT("the workspace is too small"));
    return false;
}

/* What was put since `from`. */
static struct modc_text made(struct modc_prompt *p, size_t from)
{
    p->makes = false;
    if (has_room(p) && p->used > from)
        return (struct modc_text){p->workspace + from, p->used - from};
    p->used = from;
    return MODC_TEXT("");
}

static struct modc_text made_by(struct modc_prompt *p, void put(struct modc_prompt *, struct modc_text),
                                struct modc_text text)
{
    const size_t from = make(p);

    put(p, text);
    return made(p, from);
}

struct modc_text modc_join(struct modc_prompt *p, int count, const struct modc_text *texts)
{
    const size_t from = make(p);

    for (int i = 0; i < count; i++)
        modc_put(p, texts[i]);
    return made(p, from);
}

struct modc_text modc_digits(struct modc_prompt *p, int number)
{
    const size_t from = make(p);

    modc_put_digits(p, number);
    return made(p, from);
}

struct modc_text modc_json(struct modc_prompt *p, struct modc_text text)
{
    return made_by(p, modc_put_json, text);
}

struct modc_text modc_upper(struct modc_prompt *p, struct modc_text text)
{
    return made_by(p, modc_put_upper, text);
}

struct modc_text modc_lower(struct modc_prompt *p, struct modc_text text)
{
    return made_by(p, modc_put_lower, text);
}

struct modc_text modc_capitalized(struct modc_prompt *p, struct modc_text text)
{
    return made_by(p, modc_put_capitalized, text);
}

struct modc_text modc_title(struct modc_prompt *p, struct modc_text text)
{
    return made_by(p, modc_put_title, text);
}

struct modc_text modc_title_words(struct modc_prompt *p, struct modc_text text)
{
    return made_by(p, modc_put_title_words, text);
}

struct modc_text modc_dated(struct modc_prompt *p, struct modc_text format)
{
    return made_by(p, modc_put_dated, format);
}

struct modc_text modc_replaced(struct modc_prompt *p, struct modc_text text, struct modc_text from,
                               struct modc_text to)
{
    const size_t start = make(p);

    modc_put_replaced(p, text, from, to);
    return made(p, start);
}

struct modc_text modc_keep(struct modc_prompt *p, struct modc_text old, struct modc_text text)
{
    char *end;

    if (text.bytes == 0)
        return text;
    end = p->workspace ? p->workspace + p->workspace_bytes : NULL;
    if (old.bytes > 0 && p->kept >= old.bytes && old.data == end - p->kept)
        p->kept -= old.bytes;
    p->kept += text.bytes;
    if (!has_room(p)) {
        p->kept -= text.bytes;
        return MODC_TEXT("");
    }
    memmove(end - p->kept, text.data, text.bytes);
    return (struct modc_text){end - p->kept, text.bytes};
}

/* ---- a call --------------------------------------------------------------------------------------------------------- */

void modc_span_begin(struct modc_prompt *p)
{
    p->span_from = p->length;
}

void modc_span_end(struct modc_prompt *p)
{
    if (p->length > UINT32_MAX) {
        fail(p, MODC_SIZE, MODC_TEXT("the text has 2^32 bytes"));
        return;
    }
    if (p->chat && p->spans < p->chat->span_room)
        p->chat->spans[p->spans] = (struct modc_span){(uint32_t)p->span_from, (uint32_t)p->length};
    p->spans++;
}

/* The last turn's content with the mark behind it, in the workspace. */
static void continue_final(struct modc_prompt *p)
{
    struct modc_text parts[2] = {{NULL, 0}, MODC_TEXT(MARK " ")};

    p->final = p->turns[p->count - 1];
    parts[0] = p->final.content;
    p->final.content = modc_join(p, 2, parts);
    p->continues = true;
}

enum modc_status modc_prompt_begin(struct modc_prompt *p, const struct modc_turn *turns, int count,
                                   struct modc_chat *chat, char *out, size_t room)
{
    static const struct modc_chat nothing = {0};
    const struct modc_chat *asked = chat ? chat : &nothing;

    *p = (struct modc_prompt){.out = out, .room = room, .turns = turns, .count = count, .chat = chat};
    p->workspace = asked->workspace;
    p->workspace_bytes = p->workspace ? asked->workspace_bytes : 0;
    p->add_generation_prompt = asked->add_generation_prompt;
    if (count > 0 && (!turns || (!out && room > 0) || (!asked->spans && asked->span_room > 0)))
        return p->status = MODC_POINTER;
    for (int i = 0; i < count; i++)
        if (!turns[i].role.data || !turns[i].content.data)
            return p->status = MODC_POINTER;
    if (count < 1)
        FAIL(p, "there is no turn");
    else if (asked->continue_final_message && asked->add_generation_prompt)
        FAIL(p, "the last turn is continued, or another one begins");
    else if (asked->continue_final_message && asked->spans)
        FAIL(p, "there are no spans where the last turn is continued");
    else if (asked->continue_final_message)
        continue_final(p);
    return p->status;
}

enum modc_status modc_prompt_end(struct modc_prompt *p, size_t *bytes)
{
    if (p->continues && p->status == MODC_OK) {
        if (!p->is_cut || !p->is_whole)
            FAIL(p, "the last turn cannot be continued: the template changes its content");
        p->length = p->is_spaced ? p->cut : p->cut_solid;
    }
    if (!bytes)
        fail(p, MODC_POINTER, MODC_TEXT(""));
    if (p->chat) {
        p->chat->span_count = p->spans;
        p->chat->workspace_needed = p->needed;
        p->chat->refusal = p->refusal;
    }
    if (bytes)
        *bytes = p->status == MODC_OK ? p->length : 0;
    if (p->status != MODC_OK)
        return p->status;
    if (p->length < p->room)
        p->out[p->length] = '\0';
    return p->length > p->room ? MODC_SIZE : MODC_OK;
}
