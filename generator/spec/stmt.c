/* stmt.c - statements, blocks of them, and signatures. Apart from expr.c, since an expression stands in more places than a
 * statement does. */
#include "spec/expr_parser.h"

#include <string.h>

/* ---- statements ---- */

static const struct {
    const char *symbol;
    enum expr_op op;
} augments[] = {{"+=", OP_ADD},       {"-=", OP_SUB},    {"*=", OP_MUL},    {"/=", OP_DIV},
                {"//=", OP_FLOORDIV}, {"**=", OP_POW},   {"@=", OP_MATMUL}, {"&=", OP_BITAND},
                {"|=", OP_BITOR},     {"^=", OP_BITXOR}, {"%=", OP_MOD}};

static const struct {
    const char *word, *hint;
} refused_words[] = {
    {"if", "write 'a if condition else b', with a condition that is known while generating"},
    {"elif", "write 'a if condition else b', with a condition that is known while generating"},
    {"else", "write 'a if condition else b', with a condition that is known while generating"},
    {"for", "lists of modules repeat: '12 x Call' under 'modules'"},
    {"while", "lists of modules repeat: '12 x Call' under 'modules'"},
    {"def", "functions stand under 'functions', classes under 'classes'"},
    {"class", "functions stand under 'functions', classes under 'classes'"},
    {"with", NULL},
    {"try", NULL},
    {"except", NULL},
    {"finally", NULL},
    {"raise", NULL},
    {"assert", NULL},
    {"del", NULL},
    {"global", NULL},
    {"nonlocal", NULL},
    {"import", "functions of PyTorch need no import"},
    {"from", "functions of PyTorch need no import"},
    {"pass", NULL},
    {"break", NULL},
    {"continue", NULL},
    {"yield", NULL},
    {"async", NULL},
    {"await", NULL},
};

static bool refuse_word(struct parser *p)
{
    for (int i = 0; p->token.kind == TOKEN_NAME && i < COUNT(refused_words); i++) {
        if (!parser_is_name(p, refused_words[i].word))
            continue;
        if (parser_fail(p, p->token.loc, "there is no statement '%s'", refused_words[i].word) &&
            refused_words[i].hint)
            diag_hint(p->cx, "%s", refused_words[i].hint);
        return true;
    }
    return false;
}

/* What may stand before `=`: NAME, tuples of targets, self.NAME, and indices of NAME and self.NAME. */
static void check_target(struct parser *p, struct expr *target, bool whole)
{
    switch (target->kind) {
    case EXPR_NAME:
        return;
    case EXPR_LIST:
        target->kind = EXPR_TUPLE; /* Python makes no difference */
        /* fall through */
    case EXPR_TUPLE:
        if (!whole)
            break;
        if (target->count == 0)
            parser_fail(p, target->loc, "nothing is assigned to: the tuple is empty");
        for (int i = 0; i < target->count; i++)
            check_target(p, target->items[i], true);
        return;
    case EXPR_ATTR:
        if (target->a->kind == EXPR_NAME && strcmp(target->a->text, "self") == 0)
            return;
        if (parser_fail(p, target->loc, "only attributes of 'self' are assigned to"))
            diag_hint(p->cx, "a statement writes buffers and state of its own module: self.NAME = ...");
        return;
    case EXPR_INDEX:
        if (target->a->kind == EXPR_INDEX)
            check_target(p, target->a, false);
        if (target->a->kind == EXPR_INDEX || target->a->kind == EXPR_NAME || target->a->kind == EXPR_ATTR ||
            target->a->kind == EXPR_CALL)
            return;
        break;
    default:
        break;
    }
    if (parser_fail(p, target->loc, "this cannot be assigned to"))
        diag_hint(p->cx, "a target is a name, self.NAME, a part of a tensor, as x[0], or a tuple of these");
}

static struct stmt *parse_statement(struct parser *p)
{
    struct stmt *stmt = ARENA_NEW(&p->cx->arena, struct stmt);
    struct loc first;

    parser_next(p);
    first = p->token.loc;
    stmt->kind = STMT_EXPR;
    if (p->token.kind == TOKEN_END)
        parser_fail(p, first, "expected a statement, found nothing");
    if (refuse_word(p)) {
        /* nothing of it can be read */
    } else if (parser_is_name(p, "return")) {
        stmt->kind = STMT_RETURN;
        parser_next(p);
        if (p->token.kind != TOKEN_END)
            stmt->value = parser_tuple(p);
    } else {
        struct expr *left = parser_tuple(p);

        stmt->value = left;
        for (int i = 0; i < COUNT(augments); i++) {
            if (!parser_is_symbol(p, augments[i].symbol))
                continue;
            stmt->kind = STMT_AUGMENT;
            stmt->op = augments[i].op;
            if (left->kind == EXPR_TUPLE || left->kind == EXPR_LIST)
                parser_fail(p, left->loc, "a tuple takes no '%s'", augments[i].symbol);
        }
        if (parser_is_symbol(p, "="))
            stmt->kind = STMT_ASSIGN;
        if (stmt->kind != STMT_EXPR)
            check_target(p, left, true);
        if (p->failed) {
            stmt->kind = STMT_EXPR;
        } else if (stmt->kind != STMT_EXPR) {
            parser_next(p);
            stmt->target = left;
            stmt->value = parser_tuple(p);
            if (parser_is_symbol(p, "="))
                parser_fail(p, p->token.loc, "one assignment is one statement; this is a second '='");
        }
    }
    parser_expect_end(p);
    stmt->loc = loc_join(first, p->last.loc);
    stmt->end = p->last.end;
    if (p->failed)
        stmt->value = parser_bad(p, first);
    return stmt;
}

struct stmt *stmt_parse(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    return parse_statement(&p);
}

struct stmt *stmt_parse_refused(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    p.quiet = true;
    return parse_statement(&p);
}

/* Where the statement that starts at `at` ends: at the end of its line, unless a bracket is open there or
 * a backslash stands before it. A bracket that is closed by none or by a wrong one ends with its own line,
 * so that the next lines are read too. */
static size_t statement_end(const char *text, size_t at, size_t stop)
{
    char open[EXPR_MAX_DEPTH + 1];
    size_t first_line = 0;
    int depth = 0;

    for (; at < stop; at++) {
        char c = text[at];

        if (c == '\n' || c == '\r') {
            if (depth <= 0)
                return at;
            if (first_line == 0)
                first_line = at;
        } else if (c == '\\' && at + 1 < stop) {
            at += text[at + 1] == '\r' && at + 2 < stop && text[at + 2] == '\n' ? 2 : 1;
        } else if (c == '#') {
            while (at + 1 < stop && text[at + 1] != '\n' && text[at + 1] != '\r')
                at++;
        } else if (c == '"' || c == '\'') {
            for (at++; at < stop && text[at] != c && text[at] != '\n' && text[at] != '\r'; at++)
                at += text[at] == '\\' && at + 1 < stop;
            if (at < stop && text[at] != c)
                at--; /* never closed: its line ends it */
        } else if (strchr("([{", c)) {
            if (depth > EXPR_MAX_DEPTH)
                break;
            open[depth++] = c;
        } else if (strchr(")]}", c) && depth > 0) {
            if (open[depth - 1] != (c == ')' ? '(' : c == ']' ? '[' : '{'))
                break;
            depth--;
        }
    }
    if (depth > 0 && first_line > 0)
        return first_line;
    while (at < stop && text[at] != '\n' && text[at] != '\r')
        at++;
    return at < stop ? at : stop; /* a quote or backslash at the very end steps over it */
}

struct stmt **stmt_parse_block(struct cx *cx, const struct source *source, size_t offset, size_t length,
                               int *count)
{
    size_t stop = offset + length;
    struct stmt **list = NULL;

    *count = 0;
    for (size_t at = lex_skip_blanks(source->text, offset, stop); at < stop;
         at = lex_skip_blanks(source->text, at, stop)) {
        size_t end = statement_end(source->text, at, stop);
        struct stmt *stmt = stmt_parse(cx, source, at, end - at);

        ARENA_PUSH(&cx->arena, list, *count, stmt);
        at = end;
    }
    return list;
}

/* ---- signatures ---- */

static void parse_signature_argument(struct parser *p, struct signature *out, bool keyword)
{
    struct signature_arg arg = {.name = p->token.text, .loc = p->token.loc, .keyword = keyword};

    if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text)) {
        bool star = parser_is_symbol(p, "*") || parser_is_symbol(p, "**");

        if (parser_fail(p, p->token.loc, "expected the name of an argument, found %s", parser_found(p)) &&
            star)
            diag_hint(p->cx, "write every argument; '*' alone makes those behind it given by name");
        return;
    }
    if (strcmp(arg.name, "self") == 0 && parser_fail(p, arg.loc, "'self' is not written in a signature"))
        diag_hint(p->cx, "leave it out; statements may use it all the same");
    for (int i = 0; i < out->count; i++) {
        if (strcmp(out->args[i].name, arg.name) == 0 &&
            parser_fail(p, arg.loc, "there are two arguments '%s'", arg.name))
            diag_note(p->cx, out->args[i].loc, "the first one");
    }
    parser_next(p);
    if (parser_is_symbol(p, ":") && parser_fail(p, p->token.loc, "arguments have no annotations"))
        diag_hint(p->cx, "write the name alone, with '=' and its default where it has one");
    if (parser_take_symbol(p, "="))
        arg.value = parser_conditional(p);
    else if (out->count > 0 && out->args[out->count - 1].value && !keyword)
        parser_fail(p, arg.loc, "'%s' has no default, but stands behind '%s', which has one", arg.name,
                    out->args[out->count - 1].name);
    ARENA_PUSH(&p->cx->arena, out->args, out->count, arg);
}

bool signature_parse(struct cx *cx, const struct source *source, size_t offset, size_t length,
                     struct signature *out)
{
    struct parser parser = parser_new(cx, source, offset, length), *p = &parser;

    parser_next(p);
    *out = (struct signature){.name = p->token.text, .loc = p->token.loc};
    if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text)) {
        parser_fail(p, p->token.loc, "expected a name, found %s", parser_found(p));
        return false;
    }
    parser_next(p);
    if (parser_is_symbol(p, "(")) {
        struct loc open = p->token.loc;
        bool keyword = false;

        out->has_args = true;
        parser_next(p);
        while (!parser_is_symbol(p, ")") && p->token.kind != TOKEN_END) {
            if (!keyword && parser_is_symbol(p, "*") && parser_next_is(p, ",")) {
                keyword = true;
                parser_next(p);
                parser_next(p);
                continue;
            }
            parse_signature_argument(p, out, keyword);
            if (!parser_take_symbol(p, ","))
                break;
        }
        parser_close_bracket(p, "(", open, ")");
    }
    if (p->token.kind != TOKEN_END && !p->failed)
        parser_fail(p, p->token.loc, "expected the end of the signature, found %s", parser_found(p));
    return !p->failed;
}
