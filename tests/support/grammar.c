/* grammar.c - grammars of standard input, for grammar.py. A request is a letter, a space, a length in bytes, a line feed and so many
 * bytes: `r` a pattern, `s` a JSON schema, from then on the grammar, with the answer "states classes", or the first message; `t` a text,
 * with the answer 0 (no text of the grammar begins so), 1 (one does) or 2 (it is one). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "grammar/grammar.h"
#include "modc_grammar.h"

enum { MOST = 1 << 22 };

static const struct modc_grammar *read_grammar(struct cx *cx, char kind, const char *bytes, size_t count)
{
    struct source *source = ARENA_NEW(&cx->arena, struct source);
    const struct modc_grammar *grammar;

    *source = (struct source){.name = "stdin", .text = arena_copy(&cx->arena, bytes, count), .length = count};
    if (kind == 's') {
        grammar = grammar_of_schema(cx, "x", loc_at(source, 0, 1), source, GRAMMAR_DEPTH);
    } else {
        const struct grammar_text text = {source->text, count, source, 0, loc_at(source, 0, 1)};

        grammar = grammar_of_regex(cx, "x", &text);
    }
    if (grammar)
        printf("%d %d\n", grammar->states, grammar->classes);
    else
        printf("%d:%d: %s\n", cx->items[0].loc.line, cx->items[0].loc.column, cx->items[0].text);
    return grammar;
}

static int try_text(const struct modc_grammar *grammar, const char *bytes, size_t count)
{
    int state = MODC_GRAMMAR_BEGIN;

    for (size_t i = 0; grammar && i < count; i++)
        state = grammar->next[state * grammar->classes + grammar->class_of[(unsigned char)bytes[i]]];
    return !grammar || state == 0 ? 0 : grammar->flags[state] & MODC_GRAMMAR_ENDS ? 2 : 1;
}

int main(void)
{
    static char bytes[MOST + 1];
    static struct options options;
    struct cx cx = {.options = &options};
    const struct modc_grammar *grammar = NULL;
    char kind;
    size_t count;

    while (scanf(" %c %zu", &kind, &count) == 2 && getchar() == '\n' && count <= MOST) {
        if (fread(bytes, 1, count, stdin) != count)
            return 1;
        bytes[count] = 0;
        if (kind == 't') {
            printf("%d\n", try_text(grammar, bytes, count));
        } else {
            arena_free(&cx.arena);
            cx = (struct cx){.options = &options};
            grammar = read_grammar(&cx, kind, bytes, count);
        }
        fflush(stdout);
    }
    arena_free(&cx.arena);
    return 0;
}
