/* spec_grammar.c - `grammars:` of `generation:`, and what becomes of them: automata of the runtime, for the tokens of the spec's
 * tokenizer. */
#include "spec/spec_reader.h"

#include <string.h>

#include "base/text.h"
#include "grammar/grammar.h"
#include "modc_grammar.h"
#include "tokenizer/tokenizer.h"

/* A letter, then letters, digits and underscores: it is part of a name in C. */
static bool check_name(struct reader *r, const struct node *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", digits[] = "0123456789_";
    const char *at = key->value;

    at += strspn(at, letters);
    while (at > key->value && *at && (strchr(letters, *at) || strchr(digits, *at)))
        at++;
    if (at > key->value && !*at && at - key->value <= 40)
        return true;
    diag_error(r->cx, key->loc,
               "the name of a grammar is a letter, then letters, digits and underscores, at most 40, found '%s'",
               key->value);
    return false;
}

static void read_regex(struct reader *r, struct spec_grammar *grammar, const struct node *key, const struct node *node)
{
    grammar->regex = spec_read_text(r, key, node, "a regular expression");
    grammar->text_loc = node->loc;
    if (!grammar->regex || node->length != strlen(grammar->regex) ||
        memcmp(node->source->text + node->offset, grammar->regex, node->length) != 0)
        return;
    grammar->source = node->source;
    grammar->offset = node->offset;
}

/* {regex: text} or {schema: file}. */
static void read_described(struct reader *r, struct spec_grammar *grammar, const struct node *node)
{
    for (int i = 0; i < node->count; i++) {
        const struct node *key = node->keys[i], *item = node->items[i];

        if (strcmp(key->value, "regex") == 0) {
            read_regex(r, grammar, key, item);
        } else if (strcmp(key->value, "schema") == 0) {
            grammar->schema = spec_read_text(r, key, item, "the path of a JSON schema");
            grammar->text_loc = item->loc;
        } else {
            spec_unknown_key(r, key, "a grammar", SPEC_IN_GRAMMAR);
            return;
        }
    }
    if (node->count != 1)
        diag_error(r->cx, node->loc, "a grammar has either 'regex' or 'schema'");
}

void spec_read_grammars(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_generation *generation = r->spec->generation;

    if (!spec_is_mapping(r, key, node, "a mapping of names to grammars"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_grammar grammar = {.name = node->keys[i]->value, .loc = node->keys[i]->loc};

        if (!check_name(r, node->keys[i]))
            continue;
        if (node->items[i]->kind == NODE_MAP)
            read_described(r, &grammar, node->items[i]);
        else
            read_regex(r, &grammar, node->keys[i], node->items[i]);
        ARENA_PUSH(&r->cx->arena, generation->grammars, generation->grammar_count, grammar);
    }
}

/* ---- what becomes of them ----------------------------------------------------------------------------------------- */

static void depend_on(struct cx *cx, const char *path)
{
    for (int i = 0; i < cx->read_count; i++)
        if (strcmp(cx->read[i], path) == 0)
            return;
    ARENA_PUSH(&cx->arena, cx->read, cx->read_count, path);
}

static struct modc_grammar *make_schema(struct cx *cx, const struct spec_grammar *grammar)
{
    const char *path = source_beside(cx, grammar->text_loc.source, grammar->schema), *error = NULL;
    const struct source *source;

    depend_on(cx, path);
    source = source_read(cx, path, GRAMMAR_MAX_BYTES, &error);
    if (source)
        return grammar_of_schema(cx, grammar->name, grammar->loc, source);
    cx->unreadable = true;
    diag_error(cx, grammar->text_loc, "%s", error);
    return NULL;
}

static struct modc_grammar *make_regex(struct cx *cx, const struct spec_grammar *grammar)
{
    const bool whole = grammar->source != NULL;
    const struct grammar_text text = {.text = whole ? grammar->source->text + grammar->offset : grammar->regex,
                                      .length = strlen(grammar->regex),
                                      .source = grammar->source,
                                      .offset = grammar->offset,
                                      .loc = grammar->text_loc};

    return grammar_of_regex(cx, grammar->name, &text);
}

/* Functions of entries are named as grammars are. */
static bool check_entries(struct cx *cx, const struct spec *spec, const struct spec_grammar *grammar)
{
    for (int i = 0; i < spec->entry_count; i++) {
        if (strcmp(spec->entries[i]->name, arena_format(&cx->arena, "grammar_%s", grammar->name)) != 0)
            continue;
        diag_error(cx, grammar->loc, "the grammar '%s' and the entry '%s' have the same name in C", grammar->name,
                   spec->entries[i]->name);
        return false;
    }
    return true;
}

void spec_make_grammars(struct cx *cx, struct spec *spec)
{
    const struct spec_generation *generation = spec->generation;

    if (!generation || generation->grammar_count == 0)
        return;
    if (!spec->tokenizer) {
        diag_error(cx, generation->grammars[0].loc, "grammars need the texts of tokens: 'tokenizer' says which they are");
        return;
    }
    if (spec->tokens)
        spec->tokens = tokenizer_sorted(cx, spec->tokens);
    for (int i = 0; i < generation->grammar_count; i++) {
        struct spec_grammar *grammar = &generation->grammars[i];
        struct modc_grammar *table = NULL;

        if (!grammar->regex == !grammar->schema || !check_entries(cx, spec, grammar))
            continue; /* which was said */
        table = grammar->regex ? make_regex(cx, grammar) : make_schema(cx, grammar);
        if (table && spec->tokens && grammar_open_states(cx, table, spec->tokens, grammar->loc))
            grammar->table = table;
    }
}
