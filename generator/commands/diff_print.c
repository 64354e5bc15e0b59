/* diff_print.c - what modc diff found, for people, for pull requests and for programs; see diff.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/diff.h"

const char *const diff_part_names[DIFF_PARTS] = {
    [DIFF_SETTINGS] = "settings", [DIFF_CONSTANTS] = "constants", [DIFF_SIZES] = "sizes",
    [DIFF_INPUTS] = "inputs",     [DIFF_MODULES] = "modules",     [DIFF_STATEMENTS] = "statements",
    [DIFF_ENTRIES] = "entries",   [DIFF_OUTPUTS] = "outputs",     [DIFF_KEYS] = "state_dict",
    [DIFF_TENSORS] = "tensors",
};

static const char *part_title(enum diff_part part)
{
    return part == DIFF_TENSORS ? "tensors outside of the state_dict" : diff_part_names[part];
}

/* ---- lines that say the same of neighbours ------------------------------------------------------------------ */

/* A path with one of its numbers counting: "blocks.0..11.fc1". */
struct run {
    const char *last;  /* the path that was met last */
    int part;          /* which component counts; -1: only one path so far */
    int64_t first, to; /* its values */
};

/* One line, or several neighbours of which the same is to be said. */
struct group {
    struct diff_line line; /* of the first; texts NULL or shared */
    struct run name, new_name;
    int count;
};

/* The part'th component of a path, if it is a number. */
static bool number_at(const char *path, int part, int64_t *value, const char **begin, const char **end)
{
    for (; part > 0; part--) {
        path = strchr(path, '.');
        if (!path)
            return false;
        path++;
    }
    *begin = path;
    *end = path + strcspn(path, ".");
    if (*begin == *end || (size_t)(*end - *begin) != strspn(*begin, "0123456789") || *end - *begin > 9)
        return false;
    *value = strtoll(path, NULL, 10);
    return true;
}

static int part_count(const char *path)
{
    int count = 1;

    for (; *path; path++)
        count += *path == '.';
    return count;
}

/* Whether `path` is the next one of the run; extends it then. */
static bool run_extend(struct cx *cx, struct run *run, const char *path)
{
    for (int part = 0; part < part_count(path); part++) {
        const char *begin, *end;
        int64_t value;

        if ((run->part >= 0 && run->part != part) || !number_at(path, part, &value, &begin, &end) ||
            value == 0)
            continue;
        if (strcmp(run->last, arena_format(&cx->arena, "%.*s%lld%s", (int)(begin - path), path,
                                           (long long)value - 1, end)) != 0)
            continue;
        if (run->part < 0)
            run->first = value - 1;
        run->part = part;
        run->to = value;
        run->last = path;
        return true;
    }
    return false;
}

static const char *run_text(struct cx *cx, const struct run *run)
{
    const char *begin, *end;
    int64_t value;

    if (run->part < 0 || !number_at(run->last, run->part, &value, &begin, &end))
        return run->last;
    return arena_format(&cx->arena, "%.*s%lld..%lld%s", (int)(begin - run->last), run->last,
                        (long long)run->first, (long long)run->to, end);
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool group_extend(struct cx *cx, struct group *group, const struct diff_line *line)
{
    struct run name = group->name, new_name = group->new_name;
    bool alike = same(group->line.old, line->old) && same(group->line.new, line->new);
    bool moved = line->kind == DIFF_MOVED && line->same && group->line.same;

    if (group->line.kind != line->kind || !(alike || moved) || !run_extend(cx, &name, line->name) ||
        (line->new_name && !run_extend(cx, &new_name, line->new_name)))
        return false;
    group->name = name;
    group->new_name = new_name;
    group->count++;
    if (!alike)
        group->line.old = group->line.new = NULL;
    return true;
}

static struct group *make_groups(struct cx *cx, const struct diff_section *section, int *count)
{
    enum { look_back = 64 };
    struct group *groups = NULL;

    *count = 0;
    for (int i = 0; i < section->count; i++) {
        const struct diff_line *line = &section->lines[i];
        bool found = false;

        for (int k = *count - 1; k >= 0 && k >= *count - look_back && !found; k--)
            found = group_extend(cx, &groups[k], line);
        if (!found)
            ARENA_PUSH(&cx->arena, groups, *count,
                       ((struct group){*line, {line->name, -1, 0, 0}, {line->new_name, -1, 0, 0}, 1}));
    }
    return groups;
}

/* "encoder -> backbone" */
static const char *group_name(struct cx *cx, const struct group *group)
{
    const char *name = run_text(cx, &group->name);

    return group->line.new_name ? arena_format(&cx->arena, "%s -> %s", name, run_text(cx, &group->new_name))
                                : name;
}

/* ---- amounts ---------------------------------------------------------------------------------------------- */

/* "4.2 k"; not negative. */
static const char *amount(struct cx *cx, double value)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    int unit = 0;

    while (value >= 1000 && unit < COUNT(units) - 1) {
        value /= 1000;
        unit++;
    }
    return arena_format(&cx->arena, "%.*f%s", unit > 0 && value != floor(value) ? 1 : 0, value, units[unit]);
}

/* "+89 %", "" where there was nothing. */
static const char *percent(struct cx *cx, const struct diff_number *number)
{
    double change = number->old > 0 ? 100 * (number->new - number->old) / number->old : 0;

    if (number->old <= 0 || number->new < 0 || fabs(change) < 0.05)
        return "";
    return arena_format(&cx->arena, "%+.*f %%", fabs(change) < 1 ? 1 : 0, change);
}

static bool number_differs(const struct diff_number *number)
{
    return number->old != number->new;
}

static const char *number_name(struct cx *cx, const struct diff_number *number)
{
    const char *title = summary_kinds[number->kind].title;

    return title ? arena_format(&cx->arena, "%s: %s", title, number->name) : number->name;
}

static const char *number_text(struct cx *cx, double value)
{
    return value < 0 ? "-" : summary_number(cx, value);
}

static const char *number_change(struct cx *cx, const struct diff_number *number)
{
    double change = number->new - number->old;

    if (number->old < 0 || number->new < 0)
        return number->old < 0 ? "new" : "gone";
    return arena_format(&cx->arena, "%s%s", change < 0 ? "-" : "+", summary_number(cx, fabs(change)));
}

/* ---- the line for a commit message ------------------------------------------------------------------------ */

/* Of "trunk.2": 5. */
static size_t parent_length(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? (size_t)(dot - path) : 0;
}

static bool same_parent(const struct diff_line *line)
{
    size_t length = parent_length(line->name);

    return length == parent_length(line->new_name) && strncmp(line->name, line->new_name, length) == 0;
}

static bool is_number(const char *path)
{
    const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;

    return name[0] >= '0' && name[0] <= '9';
}

/* Another number in the same list: what was put in or taken out says why. */
static bool is_shifted(const struct diff_line *line)
{
    return line->kind == DIFF_MOVED && line->same && same_parent(line) && is_number(line->name) &&
           is_number(line->new_name);
}

static const char *piece(struct cx *cx, const struct group *group, enum diff_part part)
{
    static const char *const nouns[DIFF_PARTS] = {
        [DIFF_CONSTANTS] = "constant ",  [DIFF_SIZES] = "size ",    [DIFF_INPUTS] = "input ",
        [DIFF_STATEMENTS] = "function ", [DIFF_ENTRIES] = "entry ", [DIFF_OUTPUTS] = "output "};
    const struct diff_line *line = &group->line;
    const char *name = run_text(cx, &group->name), *noun = nouns[part] ? nouns[part] : "";

    switch (line->kind) {
    case DIFF_ADDED:
        return noun[0] ? arena_format(&cx->arena, "adds %s%s", noun, name)
                       : arena_format(&cx->arena, "adds %s: %s", name, line->new);
    case DIFF_REMOVED:
        return arena_format(&cx->arena, "removes %s%s", noun, name);
    case DIFF_MOVED:
        return arena_format(&cx->arena, "%s %s to %s", same_parent(line) ? "renames" : "moves", name,
                            run_text(cx, &group->new_name));
    case DIFF_CHANGED:
        break;
    }
    return part == DIFF_STATEMENTS ? arena_format(&cx->arena, "changes %s", name)
                                   : arena_format(&cx->arena, "%s: %s -> %s", name, line->old, line->new);
}

/* The first number of that kind whose name begins so, where both sides have it and it differs; or NULL. */
static const struct diff_number *first_change(const struct diff *diff, enum summary_kind kind,
                                              const char *begin)
{
    for (int i = 0; i < diff->number_count; i++) {
        const struct diff_number *number = &diff->numbers[i];

        if (number->kind == kind && strncmp(number->name, begin, strlen(begin)) == 0)
            return number->old >= 0 && number->new >= 0 && number_differs(number) ? number : NULL;
    }
    return NULL;
}

/* Of parameters, of the weights in flash, and of the first entry's workspace and MACs. */
static void add_amounts(struct cx *cx, struct text *text, const struct diff *diff)
{
    static const struct {
        enum summary_kind kind;
        const char *begin, *noun;
    } rows[] = {{SUMMARY_COUNT, "parameters", "parameters"},
                {SUMMARY_FLASH, "weights", "flash"},
                {SUMMARY_RAM, "workspace", "workspace"},
                {SUMMARY_GPU, "workspace", "workspace"},
                {SUMMARY_MACS, "", "MACs"}};
    const char *separator = text->length > 0 ? "; " : "";

    for (int i = 0; i < COUNT(rows); i++) {
        const struct diff_number *number = first_change(diff, rows[i].kind, rows[i].begin);
        bool bytes = summary_kinds[rows[i].kind].title != NULL;
        double change = number ? number->new - number->old : 0;

        if (!number)
            continue;
        text_add(text, separator);
        if (rows[i].kind == SUMMARY_MACS && percent(cx, number)[0])
            text_printf(text, "%s %s", percent(cx, number), rows[i].noun);
        else
            text_printf(text, "%s%s %s", change < 0 ? "-" : "+",
                        bytes ? text_bytes(&cx->arena, (int64_t)fabs(change)) : amount(cx, fabs(change)),
                        rows[i].noun);
        separator = ", ";
    }
}

const char *diff_summary(const struct diff *diff)
{
    /* The rest follows from these, or is told where nothing else is. */
    static const enum diff_part order[] = {DIFF_SETTINGS,   DIFF_SIZES,    DIFF_INPUTS, DIFF_MODULES,
                                           DIFF_STATEMENTS, DIFF_ENTRIES,  DIFF_KEYS,   DIFF_TENSORS,
                                           DIFF_OUTPUTS,    DIFF_CONSTANTS};
    enum { main_parts = 6, most = 2 };
    struct cx *cx = diff->cx;
    struct text text = text_new(&cx->arena);
    int said = 0, more = 0;

    if (!diff->differs)
        return "no differences";
    for (int i = 0; i < COUNT(order) && !(i >= main_parts && said > 0); i++) {
        int count;
        struct group *groups = make_groups(cx, &diff->sections[order[i]], &count);

        for (int k = 0; k < count; k++) {
            if (is_shifted(&groups[k].line) && count > 1)
                continue;
            if (said < most)
                text_printf(&text, "%s%s", said ? ", " : "", piece(cx, &groups[k], order[i]));
            else
                more++;
            said++;
        }
    }
    if (more > 0)
        text_printf(&text, " and %d more change%s", more, more == 1 ? "" : "s");
    add_amounts(cx, &text, diff);
    return text.data;
}

/* ---- does a file of OLD load? ------------------------------------------------------------------------------ */

static bool loads(const struct diff *diff, bool strict)
{
    return diff->shapes.count + diff->dtypes.count + diff->ties.count == 0 &&
           (!strict || diff->missing.count + diff->unexpected.count == 0);
}

static void add_cause(struct text *text, int *said, int count, const char *one, const char *many)
{
    if (count > 0)
        text_printf(text, "%s%d %s", (*said)++ ? ", " : "", count, count == 1 ? one : many);
}

static const char *loads_text(const struct diff *diff)
{
    struct text text = text_new(&diff->cx->arena);
    int said = 0;

    if (loads(diff, true))
        return "yes";
    text_add(&text, loads(diff, false) ? "only non-strict: " : "no: ");
    add_cause(&text, &said, diff->shapes.count, "key has another shape", "keys have another shape");
    add_cause(&text, &said, diff->dtypes.count, "key has a type that is not converted",
              "keys have types that are not converted");
    add_cause(&text, &said, diff->ties.count, "key would have to equal the one that it is tied to",
              "keys would have to equal those that they are tied to");
    add_cause(&text, &said, diff->missing.count, "key is missing in it", "keys are missing in it");
    add_cause(&text, &said, diff->unexpected.count, "key of it is not known", "keys of it are not known");
    return text.data;
}

/* ---- text ------------------------------------------------------------------------------------------------- */

enum { MOST_LINES = 60 }; /* of a section; JSON has all */

static const char *group_text(struct cx *cx, const struct group *group)
{
    const struct diff_line *line = &group->line;

    if (!line->old && !line->new)
        return arena_format(&cx->arena, "%d in all, otherwise as they were", group->count);
    if (line->kind == DIFF_MOVED && line->same)
        return line->new;
    return line->old && line->new ? arena_format(&cx->arena, "%s -> %s", line->old, line->new)
           : line->old            ? line->old
                                  : line->new;
}

static void print_section(struct text *text, const struct diff *diff, enum diff_part part)
{
    static const char marks[] = {
        [DIFF_ADDED] = '+', [DIFF_REMOVED] = '-', [DIFF_CHANGED] = '~', [DIFF_MOVED] = '>'};
    static const enum style styles[] = {[DIFF_ADDED] = STYLE_ADDED,
                                        [DIFF_REMOVED] = STYLE_REMOVED,
                                        [DIFF_CHANGED] = STYLE_CHANGED,
                                        [DIFF_MOVED] = STYLE_CHANGED};
    enum { widest = 40 };
    int count, width = 0;
    struct group *groups = make_groups(diff->cx, &diff->sections[part], &count);

    if (count == 0)
        return;
    text_add(text, "\n");
    text_styled(text, STYLE_BOLD, part_title(part));
    text_add(text, "\n");
    for (int i = 0; i < count && i < MOST_LINES; i++) {
        int length = (int)strlen(group_name(diff->cx, &groups[i]));

        width = length > width && length <= widest ? length : width;
    }
    for (int i = 0; i < count && i < MOST_LINES; i++) {
        text_style(text, styles[groups[i].line.kind]);
        text_printf(text, "%c %-*s  %s", marks[groups[i].line.kind], width, group_name(diff->cx, &groups[i]),
                    group_text(diff->cx, &groups[i]));
        text_style(text, STYLE_PLAIN);
        text_add(text, "\n");
    }
    if (count > MOST_LINES)
        text_printf(text, "  and %d more\n", count - MOST_LINES);
}

static void print_numbers(struct text *text, const struct diff *diff)
{
    bool first = true;

    for (int i = 0; i < diff->number_count; i++) {
        const struct diff_number *number = &diff->numbers[i];

        if (!number_differs(number))
            continue;
        if (first) {
            text_add(text, "\n");
            text_styled(
                text, STYLE_BOLD,
                "                                                     old           new        change");
            text_add(text, "\n");
        }
        first = false;
        text_printf(text, "%-42s %13s %13s %13s", number_name(diff->cx, number),
                    number_text(diff->cx, number->old), number_text(diff->cx, number->new),
                    number_change(diff->cx, number));
        text_printf(text, percent(diff->cx, number)[0] ? "  %7s\n" : "%s\n", percent(diff->cx, number));
    }
}

static void print_text(struct text *text, const struct diff *diff)
{
    if (!diff->differs) {
        text_add(text, "no differences\n");
        return;
    }
    text_printf(text, "--- %s\n+++ %s\n", diff->paths[0], diff->paths[1]);
    for (int i = 0; i < DIFF_PARTS; i++) {
        print_section(text, diff, (enum diff_part)i);
        if (i == DIFF_KEYS) {
            bool strict = loads(diff, true);

            text_add(text, diff->sections[i].count > 0 ? "  files of OLD still load: "
                                                       : "\nfiles of OLD still load: ");
            text_styled(text, strict ? STYLE_ADDED : STYLE_REMOVED, loads_text(diff));
            text_add(text, "\n");
        }
    }
    print_numbers(text, diff);
    text_add(text, "\n");
    text_styled(text, STYLE_BOLD, diff_summary(diff));
    text_add(text, "\n");
}

/* ---- markdown --------------------------------------------------------------------------------------------- */

/* As code in a cell of a table; "" where there is none. */
static void add_cell(struct text *text, const char *cell)
{
    text_add(text, "|");
    if (cell && cell[0]) {
        text_add(text, " `");
        for (; *cell; cell++) {
            if (*cell == '|')
                text_add(text, "\\");
            text_add_bytes(text, *cell == '`' ? "'" : cell, 1);
        }
        text_add(text, "`");
    }
    text_add(text, " ");
}

static void mark_section(struct text *text, const struct diff *diff, enum diff_part part)
{
    int count;
    struct group *groups = make_groups(diff->cx, &diff->sections[part], &count);

    if (count == 0)
        return;
    text_printf(text, "\n| %s | old | new |\n|---|---|---|\n", part_title(part));
    for (int i = 0; i < count && i < MOST_LINES; i++) {
        const struct diff_line *line = &groups[i].line;

        add_cell(text, group_name(diff->cx, &groups[i]));
        if (!line->old && !line->new) {
            add_cell(text, NULL);
            text_printf(text, "| %d in all, otherwise as they were |\n", groups[i].count);
            continue;
        }
        add_cell(text, line->old);
        if (line->kind == DIFF_MOVED && line->same)
            text_add(text, "| the same |\n");
        else
            add_cell(text, line->new);
        if (line->kind != DIFF_MOVED || !line->same)
            text_add(text, "|\n");
    }
    if (count > MOST_LINES)
        text_printf(text, "| and %d more | | |\n", count - MOST_LINES);
}

static void mark_numbers(struct text *text, const struct diff *diff)
{
    bool first = true;

    for (int i = 0; i < diff->number_count; i++) {
        const struct diff_number *number = &diff->numbers[i];

        if (!number_differs(number))
            continue;
        if (first)
            text_add(text, "\n| | old | new | change | |\n|---|--:|--:|--:|--:|\n");
        first = false;
        text_printf(text, "| %s | %s | %s | %s | %s |\n", number_name(diff->cx, number),
                    number_text(diff->cx, number->old), number_text(diff->cx, number->new),
                    number_change(diff->cx, number), percent(diff->cx, number));
    }
}

static void print_markdown(struct text *text, const struct diff *diff)
{
    text_printf(text, "**%s**", diff->model);
    text_printf(text, ": %s\n", diff_summary(diff));
    if (!diff->differs)
        return;
    text_printf(text, "\nFiles of the old spec still load: **%s**.\n", loads_text(diff));
    for (int i = 0; i < DIFF_PARTS; i++)
        mark_section(text, diff, (enum diff_part)i);
    mark_numbers(text, diff);
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void add_member(struct text *text, const char *name, const char *value)
{
    text_printf(text, ", \"%s\": ", name);
    if (value)
        text_json_string(text, value);
    else
        text_add(text, "null");
}

static void json_section(struct text *text, const struct diff_section *section)
{
    static const char *const kinds[] = {[DIFF_ADDED] = "added",
                                        [DIFF_REMOVED] = "removed",
                                        [DIFF_CHANGED] = "changed",
                                        [DIFF_MOVED] = "moved"};

    text_add(text, "[");
    for (int i = 0; i < section->count; i++) {
        const struct diff_line *line = &section->lines[i];

        text_printf(text, "%s\n    {\"change\": \"%s\"", i ? "," : "", kinds[line->kind]);
        add_member(text, "name", line->name);
        if (line->kind == DIFF_MOVED)
            add_member(text, "new_name", line->new_name);
        add_member(text, "old", line->old);
        add_member(text, "new", line->new);
        text_add(text, "}");
    }
    text_add(text, section->count > 0 ? "\n  ]" : "]");
}

static void json_keys(struct text *text, const char *name, const struct diff_keys *keys)
{
    text_printf(text, ", \"%s\": [", name);
    for (int i = 0; i < keys->count; i++) {
        text_add(text, i ? ", " : "");
        text_json_string(text, keys->names[i]);
    }
    text_add(text, "]");
}

static void json_number(struct text *text, const char *name, double value)
{
    if (value < 0)
        text_printf(text, ", \"%s\": null", name);
    else
        text_printf(text, ", \"%s\": %.0f", name, value);
}

static void print_json(struct text *text, const struct diff *diff)
{
    text_add(text, "{\n  \"format\": 1,\n  \"old\": ");
    text_json_string(text, diff->paths[0]);
    text_add(text, ",\n  \"new\": ");
    text_json_string(text, diff->paths[1]);
    text_printf(text, ",\n  \"differs\": %s,\n  \"summary\": ", diff->differs ? "true" : "false");
    text_json_string(text, diff_summary(diff));
    for (int i = 0; i < DIFF_PARTS; i++) {
        text_printf(text, ",\n  \"%s\": ", diff_part_names[i]);
        json_section(text, &diff->sections[i]);
    }
    text_printf(text, ",\n  \"loads\": {\"strict\": %s, \"non_strict\": %s",
                loads(diff, true) ? "true" : "false", loads(diff, false) ? "true" : "false");
    json_keys(text, "shapes", &diff->shapes);
    json_keys(text, "dtypes", &diff->dtypes);
    json_keys(text, "ties", &diff->ties);
    json_keys(text, "missing", &diff->missing);
    json_keys(text, "unexpected", &diff->unexpected);
    text_add(text, "},\n  \"numbers\": [");
    for (int i = 0; i < diff->number_count; i++) {
        text_printf(text, "%s\n    {\"kind\": \"%s\"", i ? "," : "",
                    summary_kinds[diff->numbers[i].kind].word);
        add_member(text, "name", diff->numbers[i].name);
        json_number(text, "old", diff->numbers[i].old);
        json_number(text, "new", diff->numbers[i].new);
        text_add(text, "}");
    }
    text_add(text, "\n  ]\n}\n");
}

void diff_print(struct text *text, const struct diff *diff, const char *format)
{
    if (format && strcmp(format, "json") == 0)
        print_json(text, diff);
    else if (format && strcmp(format, "markdown") == 0)
        print_markdown(text, diff);
    else
        print_text(text, diff);
}
