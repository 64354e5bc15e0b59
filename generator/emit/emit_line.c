/* emit_line.c - lines of C: where a long one breaks, and comments that fill lines. */
#include "emit/emit_names.h"

#include <ctype.h>
#include <string.h>

#include "emit/template.h"

#define MAX_DEPTH 32 /* of parentheses that lines break in */
#define NARROWEST 36 /* columns: with fewer behind its parenthesis a line goes on at the left */

/* Where a long line may break, and in which columns the parentheses stand that are open there. */
struct break_place {
    size_t position; /* where the next line begins; 0: nowhere */
    bool blank;      /* one is left out there */
    bool quoted;     /* in a string, which is two then */
    int score;       /* the lower the better */
    int depth;
    size_t columns[MAX_DEPTH], choice[MAX_DEPTH]; /* of what is in the parentheses; of the `?` there */
};

/* How well a line breaks at this blank, of what is in the same parentheses: behind a comma, before a choice, behind operators
 * as weakly as they bind; behind =, in a string and behind a parenthesis only where nothing else is. */
enum {
    BREAK_COMMA,
    BREAK_CHOICE,
    BREAK_LOGIC,
    BREAK_SUM,
    BREAK_PRODUCT,
    BREAK_DEPTH,
    BREAK_ASSIGN = 200,
    BREAK_STRING,
    BREAK_OPEN
};

static int break_score(const char *blank)
{
    const char last = blank[-1], before = last == '=' ? blank[-2] : ' ';

    if ((blank[1] == '?' || blank[1] == ':') && blank[2] == ' ')
        return BREAK_CHOICE;
    if (last == '=')
        return strchr("=!<>", before) ? BREAK_LOGIC : BREAK_ASSIGN;
    if (strchr(",;", last))
        return BREAK_COMMA;
    if (blank[-2] == last && strchr("&|", last))
        return BREAK_LOGIC;
    if (blank[-2] != ' ')
        return -1; /* no operator: "case 1: x", "a->b" */
    return strchr("<>", last)      ? BREAK_LOGIC
           : strchr("+-|&^", last) ? BREAK_SUM
           : strchr("*/%", last)   ? BREAK_PRODUCT
                                   : -1;
}

/* The same where no blank is, before the character. */
static int unspaced_score(const char *at, bool quoted)
{
    if (quoted)
        return at[-2] == '\\' && at[-1] == 'n' && *at != '"' ? BREAK_STRING : -1;
    return at[-1] == '(' && *at != ')' ? BREAK_OPEN : -1;
}

/* Notes what the character opens or closes. */
static void walk(struct break_place *here, const char *at, size_t column)
{
    if (*at == '"' && (here->quoted ? at[-1] != '\\' : at[-1] != '\''))
        here->quoted = !here->quoted;
    if (here->quoted)
        return;
    if (strchr("([{", *at) && here->depth + 1 < MAX_DEPTH) {
        here->columns[++here->depth] = column + 1;
        here->choice[here->depth] = 0;
    }
    if (strchr(")]}", *at) && here->depth > 0)
        here->depth--;
}

/* The best place before the line is full, or the first one behind that. `at` is the start, in `column`. */
static struct break_place find_break(const char *line, const struct break_place *at, size_t column)
{
    struct break_place here = *at, best = {.score = 1000};
    size_t margin = strspn(line, " ");

    for (size_t i = at->position; line[i] && (column <= EMITTED_WIDTH || best.position == 0); i++, column++) {
        int score, depth;
        bool blank;

        if (i > 0)
            walk(&here, line + i, column);
        if (i < at->position + 2)
            continue;
        depth = here.depth;
        blank = line[i] == ' ';
        score = !blank        ? unspaced_score(line + i, here.quoted)
                : here.quoted ? BREAK_STRING
                              : break_score(line + i);
        if (score == BREAK_ASSIGN && depth == 0)
            here.columns[0] = column + 1;
        if (score == BREAK_CHOICE && line[i + 1] == '?')
            here.choice[depth] = column + 1;
        here.score = score < BREAK_ASSIGN ? score + BREAK_DEPTH * depth : score;
        if (score < 0 || here.score > best.score ||
            (here.quoted && best.position > 0 && column + 2 > EMITTED_WIDTH))
            continue;
        best = here;
        best.position = i + blank;
        best.blank = blank && !here.quoted;
        if (score == BREAK_ASSIGN || score == BREAK_OPEN)
            best.columns[depth] = margin + 4;
        if (score == BREAK_CHOICE && line[i + 1] == '?')
            best.choice[depth] = best.columns[depth];
        else if (score == BREAK_CHOICE && here.choice[depth] > 0)
            best.columns[depth] = here.choice[depth];
    }
    return best;
}

/* Where the arguments of a function's head or of a call stand that is all of the line: behind its first parenthesis. 0: it is
 * something else. */
static size_t only_call(const char *line)
{
    const char *open = strchr(line, '('), *at;
    size_t indent = strspn(line, " ");
    int depth = 0;

    if (!open || open == line || !(isalnum((unsigned char)open[-1]) || open[-1] == '_') ||
        strchr(line, '=') || strchr(line, '"') || strncmp(line + indent, "return ", 7) == 0 ||
        (indent == 0 && !strstr(line, "MODC_")))
        return 0;
    for (at = open; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0)
            break;
    }
    return *at && (!at[1] || strcmp(at + 1, ";") == 0) ? (size_t)(open - line) + 1 : 0;
}

/* Where the rest of the line begins: behind its parenthesis, or at the left where that leaves too little room. */
static size_t next_column(const char *line, const struct break_place *at, size_t margin)
{
    const size_t column = at->columns[at->depth];
    const struct break_place next = find_break(line, at, column);
    const size_t length = (next.position > 0 ? next.position - 1 : strlen(line)) - at->position;

    return column + NARROWEST > EMITTED_WIDTH || column + length > EMITTED_WIDTH ? margin + 8 : column;
}

/* Of a line that nothing breaks so much of the margin goes that it fits. */
static const char *move_left(const char *line)
{
    const size_t length = strlen(line), margin = strspn(line, " ");
    const struct break_place at = {.position = margin};
    const size_t over = length > EMITTED_WIDTH ? length - EMITTED_WIDTH : 0;

    return over == 0 || find_break(line, &at, margin).position > 0 ? line
                                                                   : line + (over < margin ? over : margin);
}

void emit_line(struct text *text, const char *full)
{
    const char *line = move_left(full);
    size_t margin = strspn(line, " "), column = margin, length = strlen(line);
    size_t first = length > EMITTED_WIDTH ? only_call(line) : 0;
    struct break_place at = {.position = margin, .columns = {margin + 4}};

    text_add_bytes(text, line, first > 0 ? first : margin);
    if (first > 0) { /* all arguments on lines of their own, which are the same whatever its name is */
        column = margin + 4;
        text_printf(text, "\n%*s", (int)column, "");
        at.position = first;
        at.depth = 1;
        at.columns[1] = column;
    }
    while (column + (length - at.position) > EMITTED_WIDTH) {
        struct break_place next = find_break(line, &at, column);

        if (next.position == 0)
            break;
        text_add_bytes(text, line + at.position, next.position - at.position - next.blank);
        column = next_column(line, &next, margin);
        text_printf(text, "%s\n%*s%s", next.quoted ? "\"" : "", (int)column, "", next.quoted ? "\"" : "");
        column += next.quoted;
        at = next;
    }
    text_printf(text, "%s\n", line + at.position);
}

void emit_lines(struct text *text, const char *lines)
{
    for (; *lines; lines += strcspn(lines, "\n") + 1)
        emit_line(text, arena_copy(text->arena, lines, strcspn(lines, "\n")));
}

/* ---- comments ----------------------------------------------------------------------------------------------- */

void emit_comment(struct text *out, const char *comment)
{
    text_add(out, "/* ");
    for (const char *line = comment; *line;) {
        size_t length = strcspn(line, "\n");

        text_add_bytes(out, line, length);
        line += length;
        if (*line++ == 0)
            break;
        text_add(out, "\n * ");
    }
    text_add(out, " */\n");
}

/* Prints what a line of a comment holds, and returns the words that are left over. */
static const char *fill_comment(struct text *out, const char *line, const char *prefix)
{
    const size_t head = strlen(prefix);
    size_t shown = 0; /* of the prefix: none on the first line, which has its own */

    while (!memchr(line, 0, EMITTED_WIDTH - shown + 1)) {
        size_t end = EMITTED_WIDTH;

        while (end > head && (line[end - shown] != ' ' || strcmp(line + end - shown, " */") == 0))
            end--;
        if (end <= head)
            break;
        text_printf(out, "%.*s%.*s\n", (int)shown, prefix, (int)(end - shown), line);
        line += end - shown + 1;
        shown = head;
    }
    if (shown > 0 && *line)
        return line;
    text_printf(out, "%.*s%s\n", (int)shown, prefix, line);
    return "";
}

/* A comment that has lines for itself: what is too long for one goes to the next, unless that is a paragraph, a clause or a
 * list of its own. */
static void fit_comment(struct text *out, const char *comment, const char *end)
{
    struct arena *arena = out->arena;
    const size_t margin = strspn(comment, " ");
    const char *rest = "", *prefix = "";

    while (comment < end) {
        size_t length = strcspn(comment, "\n");
        const char *line = arena_copy(arena, comment, length), *body = line + strspn(line, " /*");
        size_t gap = (size_t)(body - line) - strspn(line, " ") - strspn(line + strspn(line, " "), "/*");

        if (*rest && (gap != 1 || !*body || strchr(".:;", rest[strlen(rest) - 1]))) {
            text_printf(out, "%s%s\n", prefix, rest);
            rest = "";
        }
        if (*rest)
            line = arena_format(arena, "%s%s %s", prefix, rest,
                                strcmp(line + strspn(line, " "), "*/") == 0 ? "*/" : body);
        prefix = arena_format(arena, "%*s *%*s", (int)margin, "", (int)gap, "");
        rest = fill_comment(out, line, prefix);
        comment += length + 1;
    }
    if (*rest)
        text_printf(out, "%s%s\n", prefix, rest);
}

/* Where the comment begins that ends the line; NULL: there is none, or nothing before it. */
static const char *trailing_comment(const char *line)
{
    const char *comment = NULL;

    for (const char *at = strstr(line, "/*"); at; at = strstr(at + 2, "/*"))
        comment = at;
    return comment && comment > line + strspn(line, " ") && text_ends_with(line, "*/") ? comment : NULL;
}

/* A line with a comment behind it: a declaration breaks behind its =, before others goes the comment. */
static void fit_commented(struct text *out, const char *line, const char *comment)
{
    struct arena *arena = out->arena;
    const size_t margin = strspn(line, " ");
    const char *assign = line[margin] == '#' ? NULL : strstr(line, " = ");
    size_t length = (size_t)(comment - line);

    if (assign && assign < comment && margin + 4 + strlen(assign + 3) <= EMITTED_WIDTH) {
        text_printf(out, "%.*s\n%*s%s\n", (int)(assign + 2 - line), line, (int)margin + 4, "", assign + 3);
        return;
    }
    comment = arena_format(arena, "%*s%s\n", (int)margin, "", comment);
    fit_comment(out, comment, comment + strlen(comment));
    while (length > 0 && line[length - 1] == ' ')
        length--;
    emit_line(out, arena_copy(arena, line, length));
}

/* ---- all of a file -------------------------------------------------------------------------------------------- */

/* A line of a macro, which goes on behind a blank. */
static void fit_macro(struct text *out, const char *line)
{
    size_t end = EMITTED_WIDTH - strlen(" \\");

    if (strlen(line) > EMITTED_WIDTH && !text_ends_with(line, "\\")) {
        while (end > 0 && line[end] != ' ')
            end--;
        text_printf(out, "%.*s \\\n   ", (int)end, line);
        line += end;
    }
    text_printf(out, "%s\n", line);
}

/* Behind the line. */
static const char *next_line(const char *text)
{
    text += strcspn(text, "\n");
    return text + (*text == '\n');
}

const char *emit_fit(struct arena *arena, const char *text)
{
    struct text fitted = text_new(arena), *out = &fitted;

    while (*text) {
        const char *end = next_line(text), *line = arena_copy(arena, text, strcspn(text, "\n"));
        const char *first = line + strspn(line, " "), *comment = trailing_comment(line);

        if (strncmp(first, "/*", 2) == 0 && (!strstr(first, "*/") || text_ends_with(line, "*/"))) {
            while (!strstr(line, "*/") && *end) {
                line = arena_copy(arena, end, strcspn(end, "\n"));
                end = next_line(end);
            }
            fit_comment(out, text, end);
        } else if (strlen(line) > EMITTED_WIDTH && comment) {
            fit_commented(out, line, comment);
        } else if (*first == '#' || text_ends_with(line, "\\")) {
            fit_macro(out, line);
        } else {
            emit_line(out, line);
        }
        text = end;
    }
    return fitted.data;
}
