/* emit_grammar.c - prints the grammars of a model's generator. */
#include "emit/emit_grammar.h"

#include "modc_grammar.h"

enum { COLUMNS = 100 };

void emit_grammar_header(struct text *out, const char *m, const struct generation *generation)
{
    if (generation->grammar_count > 0)
        text_add(out, "/* What texts can be made to match: `grammar` of the options. */\n");
    for (int i = 0; i < generation->grammar_count; i++)
        text_printf(out, "extern const struct modc_grammar %s_grammar_%s;\n", m,
                    generation->grammars[i]->name);
    if (generation->grammar_count > 0)
        text_add(out, "\n");
}

/* As many numbers in a line as go there. */
static void print_numbers(struct text *out, const uint8_t *bytes, const uint16_t *words, int count)
{
    int column = 0;

    for (int i = 0; i < count; i++) {
        const int number = bytes ? bytes[i] : words[i];
        const int width = 2 + (number > 9) + (number > 99) + (number > 999) + (number > 9999);

        if (column + 1 + width > COLUMNS)
            column = 0;
        text_printf(out, "%s%d,", column == 0 ? i > 0 ? "\n        " : "        " : " ", number);
        column = column == 0 ? 8 + width : column + 1 + width;
    }
    text_add(out, "\n");
}

static void print_grammar(struct text *out, const char *m, const struct modc_grammar *g)
{
    text_printf(
        out,
        "\n/* The grammar '%s': classes of bytes; of each state, where these lead, and flags: 1, a text ends; 2, "
        "tokens can finish one. */\nconst struct modc_grammar %s_grammar_%s = {\n    .name = \"%s\",\n"
        "    .tokenizer = &%s_tokenizer,\n    .states = %d,\n    .classes = %d,\n"
        "    .class_of = (const uint8_t[256]){\n",
        g->name, m, g->name, g->name, m, g->states, g->classes);
    print_numbers(out, g->class_of, NULL, 256);
    text_printf(out, "    },\n    .next = (const uint16_t[%d]){\n", g->states * g->classes);
    for (int i = 0; i < g->states; i++)
        print_numbers(out, NULL, g->next + i * g->classes, g->classes);
    text_printf(out, "    },\n    .flags = (const uint8_t[%d]){\n", g->states);
    print_numbers(out, g->flags, NULL, g->states);
    text_add(out, "    },\n};\n");
}

void emit_grammar_source(struct text *out, const char *m, const struct generation *generation)
{
    for (int i = 0; i < generation->grammar_count; i++)
        print_grammar(out, m, generation->grammars[i]);
    if (generation->grammar_count > 0)
        text_add(out, "\nstatic const struct modc_grammar *const grammars_table[] = {");
    for (int i = 0; i < generation->grammar_count; i++)
        text_printf(out, "%s&%s_grammar_%s", i ? ", " : "", m, generation->grammars[i]->name);
    if (generation->grammar_count > 0)
        text_add(out, "};\n");
}
