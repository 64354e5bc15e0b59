/* signature.c - names with their arguments, as a key of a spec and as Python's `def` writes them. */
#include "spec/expr_parser.h"

#include <string.h>

/* `: Tensor`, `-> Tensor`: nothing of it is known. */
static void skip_annotation(struct parser *p, const char *sign)
{
    if (parser_take_symbol(p, sign))
        parser_conditional(p);
}

static void parse_argument(struct parser *p, struct signature *out, bool keyword, bool annotated)
{
    const struct signature_arg *before = out->count > 0 ? &out->args[out->count - 1] : NULL;
    struct signature_arg arg = {.keyword = keyword};

    if (parser_take_symbol(p, "*"))
        arg.gather = GATHER_TUPLE;
    else if (parser_take_symbol(p, "**"))
        arg.gather = GATHER_DICT;
    arg.name = p->token.text;
    arg.loc = p->token.loc;
    if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text)) {
        parser_fail(p, p->token.loc, "expected the name of an argument, found %s", parser_found(p));
        return;
    }
    if (strcmp(arg.name, "self") == 0 && parser_fail(p, arg.loc, "'self' is not written in a signature"))
        diag_hint(p->cx, "leave it out; statements may use it all the same");
    for (int i = 0; i < out->count; i++) {
        if (strcmp(out->args[i].name, arg.name) == 0 &&
            parser_fail(p, arg.loc, "there are two arguments '%s'", arg.name))
            diag_note(p->cx, out->args[i].loc, "the first one");
    }
    if (before && before->gather == GATHER_DICT)
        parser_fail(p, arg.loc, "nothing stands behind '**%s'", before->name);
    if (keyword && arg.gather == GATHER_TUPLE)
        parser_fail(p, arg.loc, "there is one '*' in a signature");
    parser_next(p);
    if (annotated)
        skip_annotation(p, ":");
    if (parser_is_symbol(p, "=") && arg.gather != GATHER_NONE) {
        parser_fail(p, p->token.loc, "'%s' takes what is left, and has no default", arg.name);
    } else if (parser_take_symbol(p, "=")) {
        arg.value = parser_conditional(p);
    } else if (before && before->value && !keyword && arg.gather == GATHER_NONE) {
        parser_fail(p, arg.loc, "'%s' has no default, but stands behind '%s', which has one", arg.name,
                    before->name);
    }
    ARENA_PUSH(&p->cx->arena, out->args, out->count, arg);
}

/* The arguments, behind their bracket. Of a method the first is `self`, which is left out. */
static void parse_arguments(struct parser *p, struct signature *out, struct loc open, bool def)
{
    bool keyword = false;

    if (def && parser_is_name(p, "self")) {
        parser_next(p);
        skip_annotation(p, ":");
        parser_take_symbol(p, ",");
    }
    while (!parser_is_symbol(p, ")") && p->token.kind != TOKEN_END) {
        if (!keyword && parser_is_symbol(p, "*") && parser_next_is(p, ",")) {
            keyword = true;
            parser_next(p);
            parser_next(p);
            continue;
        }
        if (parser_is_symbol(
                p, "/")) { /* what stands before it is given without a name, and may be with one here */
            parser_next(p);
        } else {
            parse_argument(p, out, keyword, true);
            keyword |= out->count > 0 && out->args[out->count - 1].gather == GATHER_TUPLE;
        }
        if (!parser_take_symbol(p, ","))
            break;
    }
    parser_close_bracket(p, "(", open, ")");
    skip_annotation(p, "->");
}

void signature_parse_lambda(struct parser *p, struct signature *out)
{
    while (!parser_is_symbol(p, ":") && p->token.kind != TOKEN_END) {
        parse_argument(p, out, false, false);
        if (!parser_take_symbol(p, ","))
            break;
    }
}

/* A name, and in brackets its arguments. */
static void parse_signature(struct parser *p, struct signature *out, bool def)
{
    *out = (struct signature){.name = p->token.text, .loc = p->token.loc};
    if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text)) {
        parser_fail(p, p->token.loc, "expected a name, found %s", parser_found(p));
        return;
    }
    parser_next(p);
    if (parser_is_symbol(p, "(")) {
        struct loc open = p->token.loc;

        out->has_args = true;
        parser_next(p);
        parse_arguments(p, out, open, def);
    }
}

bool signature_parse(struct cx *cx, const struct source *source, size_t offset, size_t length,
                     struct signature *out)
{
    struct parser p = parser_new(cx, source, offset, length);

    parser_next(&p);
    parse_signature(&p, out, false);
    if (p.token.kind != TOKEN_END && !p.failed)
        parser_fail(&p, p.token.loc, "expected the end of the signature, found %s", parser_found(&p));
    return !p.failed;
}

/* ---- def ---- */

/* Decorators that say how a function is called, or what a class is; all others (`@torch.jit.export`) say nothing of the numbers. */
static const struct {
    const char *name;
    enum def_kind kind;
    bool dataclass;
} decorators[] = {
    {"property", DEF_PROPERTY, false},   {"cached_property", DEF_PROPERTY, false},
    {"staticmethod", DEF_STATIC, false}, {"classmethod", DEF_CLASS, false},
    {"setter", DEF_SETTER, false},       {"dataclass", DEF_FUNCTION, true},
};

/* What stands in front of a function or a class. */
struct decorated {
    enum def_kind kind;
    bool dataclass;
};

/* Steps over a decorator, which is noted, and over docstrings. */
static bool take_decorator(struct lines *lines, struct decorated *found)
{
    const char *text = lines->source->text + lines->at, *name = text + 1;
    size_t length;

    if (*text != '@' && *text != '"' && *text != '\'')
        return false;
    lines_take(lines);
    if (*text != '@')
        return true;
    length = strcspn(name, "( \t\r\n");
    for (size_t i = 0; i < length; i++) /* behind the last dot */
        if (text[1 + i] == '.')
            name = text + 2 + i;
    length -= (size_t)(name - text - 1);
    for (int i = 0; i < COUNT(decorators); i++) {
        if (strlen(decorators[i].name) != length || memcmp(decorators[i].name, name, length) != 0)
            continue;
        found->kind = decorators[i].kind;
        found->dataclass |= decorators[i].dataclass;
    }
    return true;
}

/* `import torch`: what it names is there without. */
static bool is_import(const struct parser *p)
{
    return parser_is_name(p, "import") || parser_is_name(p, "from");
}

/* Whether the text begins with the word, or a decorator. */
static bool begins(const struct source *source, size_t offset, size_t length, const char *word)
{
    struct lines lines = lines_new(NULL, source, offset, length);
    const size_t letters = strlen(word);
    const char *at;

    if (!lines_next(&lines))
        return false;
    at = source->text + lines.at;
    return lines.at + letters + 1 < lines.stop &&
           (*at == '@' || (memcmp(at, word, letters) == 0 && (at[letters] == ' ' || at[letters] == '\t')));
}

bool def_begins(const struct source *source, size_t offset, size_t length)
{
    return begins(source, offset, length, "def");
}

bool class_begins(const struct source *source, size_t offset, size_t length)
{
    return begins(source, offset, length, "class");
}

struct def def_parse(struct lines *lines, struct parser *p, size_t column)
{
    struct def def = {0};

    if (!parser_is_name(p, "def")) {
        if (parser_fail(p, p->token.loc, "expected 'def', found %s", parser_found(p)))
            diag_hint(p->cx, "this text is functions alone, each with its 'def'");
        return def;
    }
    parser_next(p);
    parse_signature(p, &def.signature, true);
    if (!p->failed && !def.signature.has_args)
        parser_fail(p, p->token.loc, "expected '(', found %s", parser_found(p));
    def.good = !p->failed;
    def.body = lines_block(lines, p, column, "def");
    def.good &= !p->failed;
    return def;
}

struct def *def_parse_all(struct cx *cx, const struct source *source, size_t offset, size_t length,
                          int *count)
{
    struct lines lines = lines_new(cx, source, offset, length);
    struct def *list = NULL;
    struct decorated decorated = {0};
    size_t column = 0;

    *count = 0;
    lines_next(&lines);
    column = lines_column(&lines);
    while (lines_next(&lines)) {
        if (take_decorator(&lines, &decorated))
            continue;

        struct parser p = lines_take(&lines);
        struct def def;

        parser_next(&p);
        if (is_import(&p))
            continue;
        lines.depth = 1;
        lines.columns[1] = column;
        def = def_parse(&lines, &p, column);
        def.kind = decorated.kind;
        decorated = (struct decorated){0};
        if (p.failed)
            lines_skip(&lines, column);
        ARENA_PUSH(&cx->arena, list, *count, def);
    }
    return list;
}

/* ---- class ---- */

/* What stands in a class, below its line: functions, attributes. */
static void parse_members(struct lines *lines, struct class_text *class)
{
    const size_t column = lines_column(lines);
    struct decorated decorated = {0};

    while (lines_next(lines) && lines_column(lines) >= column) {
        struct parser p;
        struct stmt *stmt;
        struct expr *field;

        if (take_decorator(lines, &decorated))
            continue;
        p = lines_take(lines);
        parser_next(&p);
        if (parser_is_name(&p, "def")) {
            struct def def;

            lines->depth = 2;
            lines->columns[2] = column;
            def = def_parse(lines, &p, column);
            def.kind = decorated.kind;
            decorated = (struct decorated){0};
            if (def.kind != DEF_SETTER)
                ARENA_PUSH(&lines->cx->arena, class->defs, class->def_count, def);
            if (p.failed)
                lines_skip(lines, column);
            continue;
        }
        field = ARENA_NEW(&lines->cx->arena, struct expr);
        *field = (struct expr){.kind = EXPR_NAME, .text = p.token.text, .loc = p.token.loc};
        stmt = stmt_parse_simple(&p);
        if (stmt->kind == STMT_PASS && class->dataclass && strcmp(field->text, "pass") != 0)
            ARENA_PUSH(&lines->cx->arena, stmt->targets, stmt->target_count, field);
        if (stmt->target_count == 1 && stmt->targets[0]->kind == EXPR_NAME && stmt->kind != STMT_AUGMENT)
            ARENA_PUSH(&lines->cx->arena, class->attributes, class->attribute_count, stmt);
        else if (stmt->kind != STMT_PASS && !p.failed)
            diag_error(lines->cx, stmt->loc, "a class has functions and attributes, as expansion = 4");
        class->good &= !p.failed;
    }
}

static struct class_text parse_class(struct lines *lines, struct parser *p, size_t column, bool dataclass)
{
    struct class_text class = {.dataclass = dataclass};
    struct loc open;

    if (!parser_is_name(p, "class")) {
        if (parser_fail(p, p->token.loc, "expected 'class', found %s", parser_found(p)))
            diag_hint(p->cx, "this text is classes, each as class NAME(nn.Module):, and functions");
        return class;
    }
    parser_next(p);
    class.name = p->token.text;
    class.loc = open = p->token.loc;
    if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text))
        parser_fail(p, p->token.loc, "expected a name, found %s", parser_found(p));
    parser_next(p);
    open = p->token.loc;
    if (parser_take_symbol(p, "(")) {
        while (!parser_is_symbol(p, ")") && p->token.kind != TOKEN_END) {
            ARENA_PUSH(&p->cx->arena, class.bases, class.base_count, parser_conditional(p));
            if (!parser_take_symbol(p, ","))
                break;
        }
        parser_close_bracket(p, "(", open, ")");
    }
    if (!parser_take_symbol(p, ":"))
        parser_fail(p, p->token.loc, "expected ':' behind 'class', found %s", parser_found(p));
    class.good = !p->failed;
    if (p->failed)
        return class;
    if (p->token.kind != TOKEN_END)
        stmt_parse_simple(p); /* pass */
    else if (!lines_next(lines) || lines_column(lines) <= column)
        parser_fail(p, class.loc, "expected a block below 'class', further to the right");
    else
        parse_members(lines, &class);
    class.good &= !p->failed;
    return class;
}

struct class_text *class_parse_all(struct cx *cx, const struct source *source, size_t offset, size_t length,
                                   int *count)
{
    struct lines lines = lines_new(cx, source, offset, length);
    struct class_text *list = NULL;
    struct decorated decorated = {0};
    size_t column;

    *count = 0;
    lines_next(&lines);
    column = lines_column(&lines);
    while (lines_next(&lines)) {
        struct parser p;
        struct class_text class;

        if (take_decorator(&lines, &decorated))
            continue;
        p = lines_take(&lines);
        parser_next(&p);
        if (is_import(&p))
            continue;
        if (parser_is_name(&p, "if") && parser_next_is(&p, "__name__")) { /* == '__main__' */
            lines_skip(&lines, column);
            continue;
        }
        lines.depth = 1;
        lines.columns[1] = column;
        if (parser_is_name(&p, "def")) { /* a function beside them */
            struct def def = def_parse(&lines, &p, column);

            class = (struct class_text){.good = def.good};
            ARENA_PUSH(&cx->arena, class.defs, class.def_count, def);
        } else if (parser_next_is(&p, "=") || parser_next_is(&p, ":")) { /* a constant */
            struct stmt *stmt = stmt_parse_simple(&p);

            class = (struct class_text){.good = !p.failed};
            if (stmt->kind == STMT_ASSIGN && stmt->target_count == 1 && stmt->targets[0]->kind == EXPR_NAME)
                ARENA_PUSH(&cx->arena, class.attributes, class.attribute_count, stmt);
        } else {
            class = parse_class(&lines, &p, column, decorated.dataclass);
        }
        decorated = (struct decorated){0};
        if (p.failed)
            lines_skip(&lines, column);
        ARENA_PUSH(&cx->arena, list, *count, class);
    }
    return list;
}
