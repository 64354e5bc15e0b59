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
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                      digits[] = "0123456789_";
    const char *at = key->value;

    at += strspn(at, letters);
    while (at > key->value && *at && (strchr(letters, *at) || strchr(digits, *at)))
        at++;
    if (at > key->value && !*at && at - key->value <= 40)
        return true;
    diag_error(
        r->cx, key->loc,
        "the name of a grammar is a letter, then letters, digits and underscores, at most 40, found '%s'",
        key->value);
    return false;
}

/* A character of `count` hexadecimal digits, in UTF-8. */
static void add_code(struct text *text, const char *digits, int count)
{
    uint32_t code = 0;
    char bytes[4];
    int length = 1;

    for (int i = 0; i < count; i++)
        code = code * 16 + (uint32_t)(digits[i] <= '9' ? digits[i] - '0' : (digits[i] | 0x20) - 'a' + 10);
    if (code >= 0x80)
        length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = length; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(length == 1 ? code : (0xf00u >> length & 0xff) | code);
    text_add_bytes(text, bytes, (size_t)length);
}

/* What stands behind a backslash; returns how many bytes that was. */
static size_t add_escape(struct text *text, const char *at)
{
    static const char letters[] = "n\nt\tr\rf\fv\vb\ba\ae\033";
    const int digits = *at == 'x' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;

    if (digits > 0) {
        add_code(text, at + 1, digits);
        return 1 + (size_t)digits;
    }
    for (int i = 0; letters[i]; i += 2)
        if (letters[i] == *at) {
            text_add_bytes(text, &letters[i + 1], 1);
            return 1;
        }
    text_add_bytes(text, at, 1);
    return 1;
}

/* What YAML makes of a scalar, also in braces, of which the spec's reader has the text as it stands there, with blanks for what only
 * other texts than expressions have. */
static const char *exact_text(struct reader *r, const struct node *node)
{
    const char *at = node->loc.source->text + node->offset, *end = at + node->length;
    const char quote = node->style == NODE_QUOTED ? at[-1] : 0;
    struct text text = text_new(&r->cx->arena);

    if (node->style == NODE_LITERAL || node->style == NODE_FOLDED) { /* without the end of its last line */
        const size_t length = strlen(node->value);

        return arena_copy(&r->cx->arena, node->value,
                          length - (length > 0 && node->value[length - 1] == '\n'));
    }
    while (at < end) {
        if (*at == '\n' || *at == '\r') {
            while (text.length > 0 && strchr(" \t", text.data[text.length - 1]))
                text.data[--text.length] = 0;
            at += strspn(at, " \t\r\n");
            text_add(&text, " ");
        } else if (quote == '"' && *at == '\\') {
            at += 1 + add_escape(&text, at + 1);
        } else {
            text_add_bytes(&text, at, 1);
            at += quote == '\'' && *at == '\'' ? 2 : 1;
        }
    }
    return text.data;
}

static void read_regex(struct reader *r, struct spec_grammar *grammar, const struct node *key,
                       const struct node *node)
{
    grammar->text_loc = node->loc;
    if (!spec_read_text(r, key, node, "a regular expression"))
        return;
    grammar->regex = exact_text(r, node);
    if (node->length != strlen(grammar->regex) ||
        memcmp(node->loc.source->text + node->offset, grammar->regex, node->length) != 0)
        return;
    grammar->source = node->loc.source;
    grammar->offset = node->offset;
}

static void read_depth(struct reader *r, struct spec_grammar *grammar, const struct node *key,
                       const struct node *node)
{
    const struct expr *expr;

    if (!spec_read_text(r, key, node, "a depth"))
        return;
    expr = expr_parse(r->cx, node->source, node->offset, node->length);
    if (expr->kind == EXPR_INT && expr->integer >= 1 && expr->integer <= GRAMMAR_MOST_DEPTH)
        grammar->depth = (int)expr->integer;
    else if (expr->kind != EXPR_BAD)
        diag_error(r->cx, node->loc, "expected a depth from 1 to %d, found '%s'", GRAMMAR_MOST_DEPTH,
                   node->value);
}

/* {regex: text} or {schema: file, depth: number}. */
static void read_described(struct reader *r, struct spec_grammar *grammar, const struct node *node)
{
    const struct node *depth = NULL;

    for (int i = 0; i < node->count; i++) {
        const struct node *key = node->keys[i], *item = node->items[i];

        if (strcmp(key->value, "regex") == 0) {
            read_regex(r, grammar, key, item);
        } else if (strcmp(key->value, "schema") == 0) {
            grammar->schema = spec_read_text(r, key, item, "the path of a JSON schema");
            grammar->text_loc = item->loc;
        } else if (strcmp(key->value, "depth") == 0) {
            read_depth(r, grammar, key, item);
            depth = key;
        } else {
            spec_unknown_key(r, key, "a grammar", SPEC_IN_GRAMMAR);
            return;
        }
    }
    if (node->count != 1 + (depth != NULL))
        diag_error(r->cx, node->loc, "a grammar has either 'regex' or 'schema'");
    else if (depth && !grammar->schema)
        diag_error(r->cx, depth->loc, "a depth is that of a 'schema'");
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
        return grammar_of_schema(cx, grammar->name, grammar->loc, source,
                                 grammar->depth > 0 ? grammar->depth : GRAMMAR_DEPTH);
    cx->unreadable = true;
    diag_error(cx, grammar->text_loc, "%s", error);
    return NULL;
}

static struct modc_grammar *make_regex(struct cx *cx, const struct spec_grammar *grammar)
{
    const bool whole = grammar->source != NULL;
    const struct grammar_text text = {.text = whole ? grammar->source->text + grammar->offset
                                                    : grammar->regex,
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
        diag_error(cx, grammar->loc, "the grammar '%s' and the entry '%s' have the same name in C",
                   grammar->name, spec->entries[i]->name);
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
        diag_error(cx, generation->grammars[0].loc,
                   "grammars need the texts of tokens: 'tokenizer' says which they are");
        return;
    }
    if (spec->tokens && spec->tokens->table->decode_suffix) {
        diag_error(
            cx, generation->grammars[0].loc,
            "grammars need tokens that are the same text wherever they stand, which the decoder BPEDecoder has not");
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
