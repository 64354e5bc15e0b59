/* manual.c - the manual page in the macros of man(7); see manual.h. */
#include "commands/manual.h"

#include <string.h>

#include "commands/help.h"

/* Text as roff prints it: '-' as one would type it, no requests at the start of a line. */
static void roff(struct text *text, const char *string)
{
    for (const char *c = string; *c; c++) {
        if ((c == string || c[-1] == '\n') && strchr(".'", *c))
            text_add(text, "\\&");
        if (*c == '\\')
            text_add(text, "\\e");
        else if (*c == '-')
            text_add(text, "\\-");
        else
            text_add_bytes(text, c, 1);
    }
}

static void bold(struct text *text, const char *string)
{
    text_add(text, "\\fB");
    roff(text, string);
    text_add(text, "\\fR");
}

static void italic(struct text *text, const char *string)
{
    text_add(text, "\\fI");
    roff(text, string);
    text_add(text, "\\fR");
}

/* The paragraph under a head, which was printed since .TP. */
static void definition(struct text *text, const char *string)
{
    text_add(text, "\n");
    roff(text, string);
    text_add(text, ".\n");
}

/* Paragraphs of help: lines that are indented stay as they are. */
static void paragraphs(struct text *text, const char *string)
{
    bool literal = false;

    text_add(text, ".IP\n");
    for (const char *end; *string; string = *end ? end + 1 : end) {
        bool indented = strncmp(string, "  ", 2) == 0;

        end = string + strcspn(string, "\n");
        if (indented != literal)
            text_add(text, indented ? ".nf\n" : ".fi\n");
        literal = indented;
        roff(text, arena_copy(text->arena, string, (size_t)(end - string)));
        text_add(text, "\n");
    }
    if (literal)
        text_add(text, ".fi\n");
}

static void print_commands(struct text *text)
{
    text_add(text, ".SH COMMANDS\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const struct command_row *row = &command_rows[i];

        text_add(text, ".TP\n");
        bold(text, row->name);
        if (row->argument) {
            text_add(text, " ");
            italic(text, row->argument);
        }
        definition(text, row->text);
        if (row->more)
            paragraphs(text, row->more);
    }
}

/* "(generate, check)", "(all commands)" */
static void print_owners(struct text *text, unsigned commands)
{
    int count = 0, said = 0;

    for (int i = 0; i < COMMAND_COUNT; i++)
        count += (commands >> i) & 1;
    text_add(text, count == COMMAND_COUNT ? " (all commands" : " (");
    for (int i = 0; i < COMMAND_COUNT && count < COMMAND_COUNT; i++) {
        if (!(commands & 1u << i))
            continue;
        text_add(text, said++ ? ", " : "");
        roff(text, command_rows[i].name);
    }
    text_add(text, ")");
}

static void print_options(struct text *text)
{
    text_add(text, ".SH OPTIONS\n");
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];

        if (!row->text)
            continue;
        text_add(text, ".TP\n");
        bold(text, help_option_name(text->arena, row));
        if (row->value && !row->optional) {
            text_add(text, " ");
            italic(text, row->value);
        }
        print_owners(text, row->commands);
        definition(text, row->text);
    }
}

void manual_print(struct text *text, const char *version)
{
    text_printf(text,
                ".\\\" Written by `modc help \\-\\-man`.\n.TH MODC 1 \"\" \"modc %s\" \"User Commands\"\n",
                version);
    text_add(text, ".SH NAME\nmodc \\- compiles torch.nn module trees to C\n.SH SYNOPSIS\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        text_add(text, i ? ".br\n" : "");
        bold(text, "modc");
        text_add(text, " ");
        roff(text, help_usage(text->arena, (enum command)i));
        text_add(text, "\n");
    }
    text_add(text, ".SH DESCRIPTION\n");
    roff(text, help_purpose);
    text_add(
        text,
        ".\nA SPEC that is \\- is read from standard input.\nThe value of an option is the next word or, behind a "
        "long one, stands after an equals sign.\nFiles of tensors are safetensors.\n");
    print_commands(text);
    print_options(text);
    text_add(text, ".SH EXIT STATUS\n");
    for (int i = 0; i < exit_row_count; i++) {
        text_printf(text, ".TP\n%d", i);
        definition(text, exit_rows[i]);
    }
    text_add(text, ".SH ENVIRONMENT\n");
    for (int i = 0; environment_rows[i].name; i++) {
        text_add(text, ".TP\n");
        bold(text, environment_rows[i].name);
        definition(text, environment_rows[i].text);
    }
}
