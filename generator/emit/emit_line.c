/* emit_line.c - lines of C: where a long one breaks, and comments that fill lines. */
#include "emit/emit_names.h"

#include <string.h>

#include "emit/template.h"

#define MAX_DEPTH 32 /* of parentheses that lines break in */

/* Where a long line may break, and in which columns the parentheses stand that are open there. */
struct break_place {
    size_t position; /* of the space; 0: nowhere */
    int score;       /* the lower the better: outer commas, then outer operators; last resort: = */
    int depth;
    size_t columns[MAX_DEPTH];
};

/* The best place before the line is full. `at` is the start: `column` is where that stands, at->columns what is open. */
static struct break_place find_break(const char *line, const struct break_place *at, size_t column)
{
    struct break_place here = *at, best = {.score = 1000};
    size_t margin = strspn(line, " ");

    for (size_t i = at->position; line[i] && column < EMITTED_WIDTH; i++, column++) {
        if ((line[i] == '(' || line[i] == '[') && here.depth + 1 < MAX_DEPTH)
            here.columns[++here.depth] = column + 1;
        if ((line[i] == ')' || line[i] == ']') && here.depth > 0)
            here.depth--;
        if (here.depth == 0 && i > 0 && line[i] == '=' && line[i + 1] == ' ' && !strchr("=!<>", line[i - 1]))
            here.columns[0] = column + 2;
        if (i == at->position || line[i] != ' ' || !strchr(",+-*/=?:&|", line[i - 1]))
            continue;
        here.score = line[i - 1] == '=' ? 100 : 2 * here.depth + (line[i - 1] != ',');
        if (here.score > best.score)
            continue;
        best = here;
        best.position = i;
        if (line[i - 1] == '=')
            best.columns[0] = margin + 4;
    }
    return best;
}

void emit_line(struct text *text, const char *line)
{
    size_t margin = strspn(line, " "), column = margin;
    struct break_place at = {.position = margin, .columns = {margin + 4}};

    text_add_bytes(text, line, margin);
    while (column + strlen(line + at.position) > EMITTED_WIDTH) {
        struct break_place next = find_break(line, &at, column);

        if (next.position == 0)
            break;
        text_add_bytes(text, line + at.position, next.position - at.position);
        column = next.columns[next.depth];
        text_printf(text, "\n%*s", (int)column, "");
        at = next;
        at.position++;
    }
    text_printf(text, "%s\n", line + at.position);
}

void emit_lines(struct text *text, const char *lines)
{
    for (; *lines; lines += strcspn(lines, "\n") + 1)
        emit_line(text, arena_copy(text->arena, lines, strcspn(lines, "\n")));
}

void emit_comment(struct text *out, const char *comment)
{
    struct text line = text_new(out->arena);

    text_add(&line, "/*");
    while (*comment) {
        size_t length = strcspn(comment, " \n");

        if (line.length + 1 + length > EMITTED_WIDTH - 1) {
            text_printf(out, "%s\n", line.data);
            line = text_new(out->arena);
            text_add(&line, " *");
        }
        text_add(&line, " ");
        text_add_bytes(&line, comment, length);
        if (comment[length] == '\n') {
            text_printf(out, "%s\n", line.data);
            line = text_new(out->arena);
            text_add(&line, " *");
        }
        comment += length + (comment[length] != 0);
    }
    text_printf(out, "%s */\n", line.data);
}
