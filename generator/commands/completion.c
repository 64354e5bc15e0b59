/* completion.c - scripts for bash, zsh and fish; see completion.h. Each asks nothing of modc while it completes: all words
 * stand in it. */
#include "commands/completion.h"

#include <string.h>

#include "commands/catalogue.h"
#include "commands/help.h"

/* ---- what is completed by what ------------------------------------------------------------------------------ */

/* What can stand for a value or an argument. */
struct complement {
    enum { BY_NOTHING, BY_WORDS, BY_FILES, BY_FOLDERS, BY_SPECS } kind;
    const char *const *words;
    int count;
};

static struct complement of_words(const char *const *words, int count)
{
    return (struct complement){BY_WORDS, words, count};
}

static struct complement of_option(struct cx *cx, const struct option_row *row)
{
    struct complement none = {BY_NOTHING, NULL, 0};
    int count;
    const char *const *words = option_values(cx, row, &count);

    if (count > 0)
        return of_words(words, count);
    if (row->value && strcmp(row->value, "FILE") == 0)
        none.kind = BY_FILES;
    else if (row->value && strcmp(row->value, "DIR") == 0)
        none.kind = BY_FOLDERS;
    return none;
}

static struct complement of_argument(struct cx *cx, enum command command)
{
    const char *argument = command_rows[command].argument, **names = NULL;
    int count = 0, layers, functions;
    const char *const *words;

    if (!argument)
        return (struct complement){BY_NOTHING, NULL, 0};
    if (command == COMMAND_HELP) {
        words = command_names(cx, &count);
        return of_words(words, count);
    }
    if (command == COMMAND_LAYERS) {
        const struct catalogue_entry *list = catalogue_layers(cx, &layers),
                                     *others = catalogue_functions(cx, &functions);

        for (int i = 0; i < layers; i++)
            ARENA_PUSH(&cx->arena, names, count, list[i].name);
        for (int i = 0; i < functions; i++)
            ARENA_PUSH(&cx->arena, names, count, others[i].name);
        return of_words(names, count);
    }
    if (strchr(argument, '|')) {
        words = help_choices(cx, argument, &count);
        return of_words(words, count);
    }
    return (struct complement){BY_SPECS, NULL, 0};
}

/* Options that help shows, and the two that every command has. */
static bool is_shown(const struct option_row *row, enum command command)
{
    return row->text && (row->commands & 1u << command);
}

/* "generate", not "--version". */
static bool is_word(enum command command)
{
    return command_rows[command].name[0] != '-';
}

static void add_words(struct text *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        text_printf(text, "%s%s", i ? " " : "", words[i]);
}

/* ---- bash ------------------------------------------------------------------------------------------------- */

static void bash_complement(struct text *text, struct complement complement)
{
    static const char *const actions[] = {
        [BY_NOTHING] = ":", [BY_FILES] = "files", [BY_FOLDERS] = "folders", [BY_SPECS] = "specs"};

    if (complement.kind == BY_WORDS) {
        text_add(text, "words='");
        add_words(text, complement.words, complement.count);
        text_add(text, "' ;;\n");
    } else {
        text_printf(text, "by=%s ;;\n", actions[complement.kind]);
    }
}

/* The pattern of the commands that have the option: "    generate:-o|layers:-o) ". */
static void bash_commands(struct text *text, const struct option_row *row)
{
    int count = 0, all = 0;

    for (int c = 0; c < COMMAND_COUNT; c++)
        all += is_shown(row, (enum command)c);
    if (all == COMMAND_COUNT)
        text_printf(text, "    *:%s", row->name);
    for (int c = 0; c < COMMAND_COUNT && all < COMMAND_COUNT; c++)
        if (is_shown(row, (enum command)c))
            text_printf(text, "%s%s:%s", count++ ? "|" : "    ", command_rows[c].name, row->name);
    text_add(text, ") ");
}

static const char bash_head[] =
    "# Completion of modc for bash, written by `modc completion bash`.\n"
    "_modc() {\n"
    "    local line=() word command option value typed words= by= i IFS=$' \\t\\n'\n"
    "\n"
    "    # bash takes words apart at '=': put them together again\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        if [[ $i -gt 0 && ( ${COMP_WORDS[i]} == '=' || ${COMP_WORDS[i - 1]} == '=' ) ]]; then\n"
    "            line[${#line[@]} - 1]+=${COMP_WORDS[i]}\n"
    "        else\n"
    "            line+=(\"${COMP_WORDS[i]}\")\n"
    "        fi\n"
    "    done\n"
    "    word=${line[${#line[@]} - 1]} command=${line[1]} option= value=$word\n"
    "    if [[ $word == --*=* ]]; then\n"
    "        option=${word%%=*} value=${word#*=}\n"
    "    elif [[ ${#line[@]} -gt 2 && ${line[${#line[@]} - 2]} == -?* ]]; then\n"
    "        option=${line[${#line[@]} - 2]}\n"
    "    fi\n"
    "    typed=${value%\"${value##*=}\"} # of a value with '=' in it, which bash does not replace\n"
    "\n"
    "    case $command:$option in\n";

static const char bash_tail[] =
    "        esac\n"
    "        ;;\n"
    "    esac\n"
    "\n"
    "    case $by in\n"
    "    '') COMPREPLY=($(compgen -W \"$words\" -- \"$value\")) ;;\n"
    "    :) COMPREPLY=() ;;\n"
    "    *)\n"
    "        IFS=$'\\n'\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        case $by in\n"
    "        files) COMPREPLY=($(compgen -f -- \"$value\")) ;;\n"
    "        folders) COMPREPLY=($(compgen -d -- \"$value\")) ;;\n"
    "        specs) COMPREPLY=($(compgen -f -X '!*.yaml' -- \"$value\"; compgen -f -X '!*.yml' -- \"$value\"\n"
    "                            compgen -d -- \"$value\")) ;;\n"
    "        esac\n"
    "        ;;\n"
    "    esac\n"
    "    COMPREPLY=(\"${COMPREPLY[@]#\"$typed\"}\")\n"
    "}\n"
    "complete -F _modc modc\n";

/* The words that follow a command, and those that begin with a '-'. */
static void print_bash_words(struct text *text)
{
    text_add(text, "    *)\n"
                   "        if [[ $word == --*=* ]]; then\n"
                   "            return # a flag has no value\n"
                   "        fi\n"
                   "        case ${#line[@]}:$command:$word in\n"
                   "        2:*) words='");
    for (int c = 0; c < COMMAND_COUNT; c++)
        text_printf(text, "%s%s", c ? " " : "", command_rows[c].name);
    text_add(text, " --help' ;;\n");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (!is_word((enum command)c))
            continue;
        text_printf(text, "        *:%s:-*) words='", command_rows[c].name);
        for (int i = 0; i < option_row_count; i++)
            if (is_shown(&option_rows[i], (enum command)c))
                text_printf(text, "%s ", option_rows[i].name);
        text_add(text, "--help' ;;\n");
    }
}

static void print_bash(struct cx *cx, struct text *text)
{
    text_add(text, bash_head);
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];

        if (!row->value || !row->text)
            continue;
        bash_commands(text, row);
        if (row->optional) /* behind '=' alone */
            text_add(text, "[[ $word == *=* ]] && ");
        bash_complement(text, of_option(cx, row));
    }
    print_bash_words(text);
    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (!command_rows[c].argument)
            continue;
        text_printf(text, "        *:%s:*) ", command_rows[c].name);
        bash_complement(text, of_argument(cx, (enum command)c));
    }
    text_add(text, bash_tail);
}

/* ---- zsh -------------------------------------------------------------------------------------------------- */

/* Inside '...'; of a description also what _arguments and _describe would take for its end. */
static void zsh_text(struct text *text, const char *string)
{
    for (; *string; string++) {
        if (*string == '\'')
            text_add(text, "'\\'");
        else if (strchr(":[]", *string))
            text_add(text, "\\");
        text_add_bytes(text, string, 1);
    }
}

static void zsh_complement(struct text *text, struct complement complement)
{
    static const char *const actions[] = {[BY_NOTHING] = " ",
                                          [BY_FILES] = "_files",
                                          [BY_FOLDERS] = "_files -/",
                                          [BY_SPECS] = "_files -g \"*.(yaml|yml)\""};

    if (complement.kind == BY_WORDS) {
        text_add(text, "(");
        add_words(text, complement.words, complement.count);
        text_add(text, ")");
    } else {
        text_add(text, actions[complement.kind]);
    }
}

static void print_zsh(struct cx *cx, struct text *text)
{
    text_add(text, "#compdef modc\n"
                   "# Completion of modc for zsh, written by `modc completion zsh`.\n"
                   "_modc() {\n"
                   "    local -a commands\n"
                   "    commands=(\n");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        text_printf(text, "        '%s:", command_rows[c].name);
        zsh_text(text, command_rows[c].text);
        text_add(text, "'\n");
    }
    text_add(text, "    )\n"
                   "    if (( CURRENT == 2 )); then\n"
                   "        _describe command commands\n"
                   "        return\n"
                   "    fi\n"
                   "    shift words\n"
                   "    (( CURRENT-- ))\n"
                   "    case $words[1] in\n");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        const char *argument = command_rows[c].argument;

        if (!is_word((enum command)c))
            continue;
        text_printf(text, "    %s)\n        _arguments '--help[show what it does]'", command_rows[c].name);
        for (int i = 0; i < option_row_count; i++) {
            const struct option_row *row = &option_rows[i];

            if (!is_shown(row, (enum command)c))
                continue;
            text_printf(text, " \\\n            '*%s%s[", row->name,
                        !row->value           ? ""
                        : row->optional       ? "=-"
                        : row->name[1] == '-' ? "="
                                              : "+");
            zsh_text(text, row->text);
            text_add(text, "]");
            if (row->value) {
                text_add(text, row->optional ? "::" : ":");
                zsh_text(text, row->value);
                text_add(text, ":");
                zsh_complement(text, of_option(cx, row));
            }
            text_add(text, "'");
        }
        if (argument) {
            text_add(text, " \\\n            '*:");
            zsh_text(text, argument);
            text_add(text, ":");
            zsh_complement(text, of_argument(cx, (enum command)c));
            text_add(text, "'");
        }
        text_add(text, "\n        ;;\n");
    }
    text_add(text, "    esac\n"
                   "}\n"
                   "if [ \"$funcstack[1]\" = _modc ]; then\n" /* found in $fpath: the file is the function */
                   "    _modc \"$@\"\n"
                   "else\n"
                   "    compdef _modc modc\n"
                   "fi\n");
}

/* ---- fish ------------------------------------------------------------------------------------------------- */

static void fish_text(struct text *text, const char *string)
{
    text_add(text, "'");
    for (; *string; string++) {
        if (*string == '\'' || *string == '\\')
            text_add(text, "\\");
        text_add_bytes(text, string, 1);
    }
    text_add(text, "'");
}

static void fish_complement(struct text *text, struct complement complement)
{
    static const char *const actions[] = {[BY_NOTHING] = " -x",
                                          [BY_FILES] = " -r -F",
                                          [BY_FOLDERS] = " -x -a '(__fish_complete_directories)'",
                                          [BY_SPECS] = " -k -x -a '(__fish_complete_suffix .yaml)'"};

    if (complement.kind == BY_WORDS) {
        text_add(text, " -x -a '");
        add_words(text, complement.words, complement.count);
        text_add(text, "'");
    } else {
        text_add(text, actions[complement.kind]);
    }
}

static void print_fish(struct cx *cx, struct text *text)
{
    text_add(text, "# Completion of modc for fish, written by `modc completion fish`.\n"
                   "complete -c modc -f\n");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (is_word((enum command)c))
            text_printf(text, "complete -c modc -n __fish_use_subcommand -a %s -d ", command_rows[c].name);
        else
            text_printf(text, "complete -c modc -n __fish_use_subcommand -l %s -d ",
                        command_rows[c].name + 2);
        fish_text(text, command_rows[c].text);
        text_add(text, "\n");
    }
    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (!command_rows[c].argument)
            continue;
        text_printf(text, "complete -c modc -n '__fish_seen_subcommand_from %s'", command_rows[c].name);
        fish_complement(text, of_argument(cx, (enum command)c));
        text_add(text, "\n");
    }
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];

        if (!row->text)
            continue;
        text_add(text, "complete -c modc -n '__fish_seen_subcommand_from");
        for (int c = 0; c < COMMAND_COUNT; c++)
            if (is_shown(row, (enum command)c) && is_word((enum command)c))
                text_printf(text, " %s", command_rows[c].name);
        if (row->name[1] == '-')
            text_printf(text, "' -l %s", row->name + 2);
        else
            text_printf(text, "' -s %s", row->name + 1);
        if (row->value && !row->optional) /* which fish does not know */
            fish_complement(text, of_option(cx, row));
        text_add(text, " -d ");
        fish_text(text, row->text);
        text_add(text, "\n");
    }
}

void completion_print(struct cx *cx, struct text *text, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(cx, text);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(cx, text);
    else
        print_fish(cx, text);
}
