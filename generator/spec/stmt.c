/* stmt.c - statements and blocks of them. Apart from expr.c, since an expression stands in more places than a statement does.
 *
 * note [lines]
 * A block text is read a line at a time, each with a parser of its own, so that a fault ends with its line. Blocks are what
 * stands deeper than the line above, as in Python; `struct lines` keeps the columns of those that are open. A statement in
 * a place of its own (an item of a list) is one line, so its block stands behind the ':'. */
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
    {"elif", "it stands below the block of an 'if', as far to the left"},
    {"else", "it stands below the block of an 'if' or 'for', as far to the left"},
    {"class", "classes stand under 'classes'"},
    {"except", "it stands below the block of a 'try', as far to the left"},
    {"finally", "it stands below the block of a 'try', as far to the left"},
    {"global", NULL},
    {"nonlocal", NULL},
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

static void check_target(struct parser *p, struct expr *target, bool whole);

/* One of several targets, of which one may take what is left: *rest. */
static void check_part(struct parser *p, struct expr *targets, int i)
{
    p->in_target = true;
    for (int k = 0; k < i; k++)
        if (targets->items[i]->kind == EXPR_STAR && targets->items[k]->kind == EXPR_STAR)
            parser_fail(p, targets->items[i]->loc, "one target takes what is left");
    check_target(p, targets->items[i], true);
    p->in_target = false;
}

/* What may stand before `=`: NAME, tuples of targets, self.NAME, and indices of NAME and self.NAME. */
static void check_target(struct parser *p, struct expr *target, bool whole)
{
    const bool inside = p->in_target;

    switch (target->kind) {
    case EXPR_NAME:
        return;
    case EXPR_STAR:
        if (target->tuple || !inside || target->a->kind != EXPR_NAME)
            break;
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
            check_part(p, target, i);
        return;
    case EXPR_ATTR: /* of what, is known where it runs */
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

/* `a = b = value`: the current token is the first '='. */
static void parse_assignment(struct parser *p, struct stmt *stmt, struct expr *target)
{
    struct expr *next;

    stmt->kind = STMT_ASSIGN;
    check_target(p, target, true);
    if (p->failed)
        stmt->kind = STMT_EXPR;
    for (; !p->failed; target = next) {
        parser_next(p);
        ARENA_PUSH(&p->cx->arena, stmt->targets, stmt->target_count, target);
        next = stmt->value = parser_tuple(p);
        if (!parser_is_symbol(p, "="))
            return;
        check_target(p, next, true);
    }
}

/* An expression, or what has one on its left. */
static void parse_value(struct parser *p, struct stmt *stmt)
{
    struct expr *left = parser_tuple(p);

    stmt->value = left;
    if (parser_is_symbol(p, ":") && left->kind != EXPR_BAD) { /* an annotation, of which nothing is known */
        check_target(p, left, true);
        parser_next(p);
        parser_conditional(p);
        if (p->token.kind == TOKEN_END && !p->failed) {
            stmt->kind = STMT_PASS;
            stmt->value = NULL;
        }
    }
    if (parser_is_symbol(p, "=")) {
        parse_assignment(p, stmt, left);
        return;
    }
    for (int i = 0; i < COUNT(augments); i++) {
        if (!parser_is_symbol(p, augments[i].symbol))
            continue;
        if (left->kind == EXPR_TUPLE || left->kind == EXPR_LIST)
            parser_fail(p, left->loc, "a tuple takes no '%s'", augments[i].symbol);
        check_target(p, left, true);
        if (p->failed)
            return;
        parser_next(p);
        stmt->kind = STMT_AUGMENT;
        stmt->op = augments[i].op;
        ARENA_PUSH(&p->cx->arena, stmt->targets, stmt->target_count, left);
        stmt->value = parser_tuple(p);
        if (parser_is_symbol(p, "="))
            parser_fail(p, p->token.loc, "'%s' is one statement; this is a second '='", augments[i].symbol);
        return;
    }
}

static void parse_return(struct parser *p, struct stmt *stmt)
{
    if (p->token.kind != TOKEN_END)
        stmt->value = parser_tuple(p);
}

static void parse_assert(struct parser *p, struct stmt *stmt)
{
    stmt->value = parser_conditional(p);
    if (parser_take_symbol(p, ","))
        stmt->message = parser_conditional(p);
}

static void parse_raise(struct parser *p, struct stmt *stmt)
{
    if (p->token.kind == TOKEN_END) /* again, what `except` has */
        return;
    stmt->value = parser_conditional(p);
    if (parser_is_name(p, "from")) {
        parser_next(p);
        parser_conditional(p);
    }
}

static void parse_del(struct parser *p, struct stmt *stmt)
{
    stmt->value = parser_tuple(p);
    for (int i = 0; i < (stmt->value->kind == EXPR_TUPLE ? stmt->value->count : 1); i++) {
        const struct expr *name = stmt->value->kind == EXPR_TUPLE ? stmt->value->items[i] : stmt->value;

        if (name->kind != EXPR_NAME && parser_fail(p, name->loc, "only names can be deleted"))
            diag_hint(p->cx, "leave it out: what nothing reads takes no memory");
    }
}

/* `import a.b as c`, `from a import b`: which module, and nothing of what it has. */
static void parse_import(struct parser *p, struct stmt *stmt)
{
    stmt->value = ARENA_NEW(&p->cx->arena, struct expr);
    *stmt->value = (struct expr){.kind = EXPR_NAME, .text = ".", .loc = p->token.loc};
    if (p->token.kind == TOKEN_NAME)
        stmt->value->text = p->token.text;
    else if (!parser_is_symbol(p, "."))
        parser_fail(p, p->token.loc, "expected the name of a module, found %s", parser_found(p));
    while (p->token.kind != TOKEN_END && !p->failed)
        parser_next(p);
    stmt->value->end = p->last.end;
}

static void parse_nothing(struct parser *p, struct stmt *stmt)
{
    (void)p;
    (void)stmt;
}

/* Statements that a word begins; the parser is behind it. */
static const struct {
    const char *word;
    enum stmt_kind kind;
    void (*parse)(struct parser *p, struct stmt *stmt);
} simple[] = {
    {"return", STMT_RETURN, parse_return},
    {"pass", STMT_PASS, parse_nothing},
    {"del", STMT_DEL, parse_del},
    {"assert", STMT_ASSERT, parse_assert},
    {"raise", STMT_RAISE, parse_raise},
    {"break", STMT_BREAK, parse_nothing},
    {"continue", STMT_CONTINUE, parse_nothing},
    {"import", STMT_IMPORT, parse_import},
    {"from", STMT_IMPORT, parse_import},
};

static struct stmt *new_stmt(struct parser *p)
{
    struct stmt *stmt = ARENA_NEW(&p->cx->arena, struct stmt);

    stmt->kind = STMT_EXPR;
    stmt->loc = p->token.loc;
    return stmt;
}

static void end_stmt(struct parser *p, struct stmt *stmt)
{
    stmt->loc = loc_join(stmt->loc, p->last.loc);
    stmt->end = p->last.end;
}

struct stmt *stmt_parse_simple(struct parser *p)
{
    struct stmt *stmt = new_stmt(p);
    struct loc first = stmt->loc;
    int i = 0;

    if (p->token.kind == TOKEN_END)
        parser_fail(p, first, "expected a statement, found nothing");
    while (i < COUNT(simple) && !parser_is_name(p, simple[i].word))
        i++;
    if (refuse_word(p)) {
        /* nothing of it can be read */
    } else if (i < COUNT(simple)) {
        stmt->kind = simple[i].kind;
        parser_next(p);
        simple[i].parse(p, stmt);
    } else {
        parse_value(p, stmt);
    }
    parser_expect_end(p);
    end_stmt(p, stmt);
    if (p->failed) {
        stmt->value = parser_bad(p, first);
        if (stmt->kind != STMT_ASSIGN && stmt->kind != STMT_AUGMENT)
            stmt->kind = stmt->kind == STMT_RETURN ? STMT_RETURN : STMT_EXPR;
    }
    return stmt;
}

/* ---- lines ---- */

struct lines lines_new(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    return (struct lines){.cx = cx, .source = source, .at = offset, .stop = offset + length};
}

bool lines_next(struct lines *lines)
{
    lines->at = lex_skip_blanks(lines->source->text, lines->at, lines->stop);
    return lines->at < lines->stop;
}

size_t lines_column(const struct lines *lines)
{
    size_t begin = lines->at;

    while (begin > 0 && lines->source->text[begin - 1] != '\n' && lines->source->text[begin - 1] != '\r')
        begin--;
    return lines->at - begin;
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
            at = lex_string_end(text, at, stop) - 1;
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

struct parser lines_take(struct lines *lines)
{
    size_t begin = lines->at;

    lines->at = statement_end(lines->source->text, begin, lines->stop);
    return parser_new(lines->cx, lines->source, begin, lines->at - begin);
}

void lines_skip(struct lines *lines, size_t column)
{
    while (lines_next(lines) && lines_column(lines) > column)
        lines_take(lines);
}

static struct loc first_of_line(const struct lines *lines)
{
    return diag_loc(lines->cx, lines->source, lines->at, 1);
}

/* Whether a line in `column` goes on with the innermost block; what fits no block is said, and does. */
static bool goes_on(struct lines *lines, size_t column)
{
    const size_t *columns = lines->columns;
    int outer = lines->depth - 1;

    if (column == columns[lines->depth])
        return true;
    while (column < columns[lines->depth] && outer > 0 && columns[outer] > column)
        outer--;
    if (column < columns[lines->depth] && outer > 0 && columns[outer] == column)
        return false;
    if (!lines->faulty && column > columns[lines->depth])
        diag_error(lines->cx, first_of_line(lines),
                   "this line stands deeper than the one above, which begins no block");
    else if (!lines->faulty)
        diag_error(lines->cx, first_of_line(lines), "this line stands as deep as none of the blocks above");
    lines->faulty = true;
    return true;
}

static struct stmt *parse_line(struct lines *lines, struct parser *p, size_t column);

/* Statements of one depth from here on. Depths count from 1. */
static struct stmt_block parse_block(struct lines *lines)
{
    struct stmt_block block = {0};

    lines->columns[++lines->depth] = lines_column(lines);
    while (lines_next(lines)) {
        size_t column = lines_column(lines);

        if (!goes_on(lines, column))
            break;

        struct parser p = lines_take(lines);

        ARENA_PUSH(&lines->cx->arena, block.list, block.count, parse_line(lines, &p, column));
    }
    lines->depth--;
    return block;
}

struct stmt_block lines_block(struct lines *lines, struct parser *p, size_t column, const char *what)
{
    struct stmt_block block = {0};
    struct loc colon = p->token.loc;

    if (!parser_take_symbol(p, ":")) {
        if (parser_fail(p, colon, "expected ':' behind '%s', found %s", what, parser_found(p)) &&
            parser_is_symbol(p, "="))
            diag_hint(p->cx, "a comparison is written '=='");
        return block;
    }
    if (p->token.kind != TOKEN_END) {
        ARENA_PUSH(&p->cx->arena, block.list, block.count, stmt_parse_simple(p));
        return block;
    }
    if (!lines) {
        if (parser_fail(p, colon, "expected a statement behind ':'"))
            diag_hint(p->cx, "blocks stand in block text: '- |' with the lines below");
    } else if (!lines_next(lines) || lines_column(lines) <= column) {
        parser_fail(p, colon, "expected a block below '%s', further to the right", what);
    } else if (lines->depth > STMT_MAX_DEPTH) {
        parser_fail(p, colon, "blocks nest more than %d deep", STMT_MAX_DEPTH);
    } else {
        block = parse_block(lines);
    }
    if (p->failed && lines)
        lines_skip(lines, column);
    return block;
}

static void add_block(struct parser *p, struct stmt *stmt, struct stmt_block block)
{
    ARENA_PUSH(&p->cx->arena, stmt->blocks, stmt->block_count, block);
}

/* The parser at the word of one that goes on with the statement in `column`, or false. */
static bool take_word(struct lines *lines, struct parser *p, size_t column, const char *word)
{
    struct lines ahead;
    struct parser next;

    if (!lines || !lines_next(lines) || lines_column(lines) != column)
        return false;
    ahead = *lines;
    next = lines_take(&ahead);
    next.quiet = true;
    parser_next(&next);
    if (!parser_is_name(&next, word))
        return false;
    *p = lines_take(lines);
    parser_next(p);
    parser_next(p);
    return true;
}

static void parse_if(struct lines *lines, struct parser *p, struct stmt *stmt, size_t column)
{
    const char *word = "if";
    struct parser next;

    do {
        struct expr *condition = parser_conditional(p);
        struct stmt_block block = lines_block(lines, p, column, word);

        block.condition = p->failed ? parser_bad(p, stmt->loc) : condition;
        if (stmt->block_count == 0)
            end_stmt(p, stmt);
        add_block(p, stmt, block);
        word = "elif";
        next = *p;
        p = &next;
    } while (take_word(lines, p, column, word));
    if (take_word(lines, p, column, "else"))
        add_block(p, stmt, lines_block(lines, p, column, "else"));
}

static void parse_for(struct lines *lines, struct parser *p, struct stmt *stmt, size_t column)
{
    struct expr *target = parser_names(p);
    struct parser next;

    if (!parser_is_name(p, "in"))
        parser_fail(p, p->token.loc, "expected 'in', found %s", parser_found(p));
    parser_next(p);
    stmt->value = parser_tuple(p);
    if (!p->failed)
        ARENA_PUSH(&p->cx->arena, stmt->targets, stmt->target_count, target);
    add_block(p, stmt, lines_block(lines, p, column, "for"));
    end_stmt(p, stmt);
    next = *p;
    if (!p->failed && take_word(lines, &next, column, "else"))
        add_block(p, stmt, lines_block(lines, &next, column, "else"));
}

static void parse_while(struct lines *lines, struct parser *p, struct stmt *stmt, size_t column)
{
    struct parser next;

    stmt->value = parser_conditional(p);
    add_block(p, stmt, lines_block(lines, p, column, "while"));
    end_stmt(p, stmt);
    next = *p;
    if (!p->failed && take_word(lines, &next, column, "else"))
        add_block(p, stmt, lines_block(lines, &next, column, "else"));
}

static void parse_with(struct lines *lines, struct parser *p, struct stmt *stmt, size_t column)
{
    stmt->value = parser_conditional(p);
    if (parser_is_name(p, "as") || parser_is_symbol(p, ","))
        if (parser_fail(p, p->token.loc, "'with' takes one context, without a name"))
            diag_hint(p->cx, "write 'with torch.no_grad():'");
    add_block(p, stmt, lines_block(lines, p, column, "with"));
    end_stmt(p, stmt);
}

/* `except E as e:` and what else follows a `try`. */
static void parse_try(struct lines *lines, struct parser *p, struct stmt *stmt, size_t column)
{
    struct parser next = *p;
    struct stmt_block block;

    add_block(p, stmt, lines_block(lines, p, column, "try"));
    end_stmt(p, stmt);
    while (!p->failed && take_word(lines, &next, column, "except")) {
        struct expr *types = NULL;
        const char *name = NULL;

        if (!parser_is_symbol(&next, ":"))
            types = parser_conditional(&next);
        if (parser_is_name(&next, "as")) {
            parser_next(&next);
            name = next.token.text;
            parser_next(&next);
        }
        block = lines_block(lines, &next, column, "except");
        block.condition = types;
        block.word = "except";
        block.name = name;
        add_block(p, stmt, block);
        p->failed |= next.failed;
    }
    if (stmt->block_count > 1 && !p->failed && take_word(lines, &next, column, "else")) {
        block = lines_block(lines, &next, column, "else");
        block.word = "else";
        add_block(p, stmt, block);
        p->failed |= next.failed;
    }
    if (!p->failed && take_word(lines, &next, column, "finally")) {
        block = lines_block(lines, &next, column, "finally");
        block.word = "finally";
        add_block(p, stmt, block);
        p->failed |= next.failed;
    }
    if (stmt->block_count == 1 && parser_fail(p, stmt->loc, "expected 'except' or 'finally' below 'try'"))
        diag_hint(p->cx, "they stand as far to the left");
}

/* A function of the statements around it. */
static void parse_inner_def(struct lines *lines, struct parser *p, struct stmt *stmt, size_t column)
{
    struct expr *name = ARENA_NEW(&p->cx->arena, struct expr);
    struct def def = def_parse(lines, p, column);

    *name = (struct expr){.kind = EXPR_NAME, .text = def.signature.name, .loc = def.signature.loc};
    stmt->signature = ARENA_NEW(&p->cx->arena, struct signature);
    *stmt->signature = def.signature;
    if (def.good)
        ARENA_PUSH(&p->cx->arena, stmt->targets, stmt->target_count, name);
    add_block(p, stmt, def.body);
    end_stmt(p, stmt);
}

/* Statements with blocks; the parser is behind the word, but at that of a `def`. */
static const struct {
    const char *word;
    enum stmt_kind kind;
    void (*parse)(struct lines *lines, struct parser *p, struct stmt *stmt, size_t column);
} compound[] = {
    {"if", STMT_IF, parse_if},       {"for", STMT_FOR, parse_for}, {"while", STMT_WHILE, parse_while},
    {"with", STMT_WITH, parse_with}, {"try", STMT_TRY, parse_try}, {"def", STMT_DEF, parse_inner_def},
};

/* A statement that stands in `column`, with its blocks. Without `lines` it is all on one line. */
static struct stmt *parse_line(struct lines *lines, struct parser *p, size_t column)
{
    struct stmt *stmt = NULL;

    parser_next(p);
    for (int i = 0; i < COUNT(compound) && !stmt; i++) {
        if (!parser_is_name(p, compound[i].word))
            continue;
        stmt = new_stmt(p);
        stmt->kind = compound[i].kind;
        if (stmt->kind != STMT_DEF)
            parser_next(p);
        compound[i].parse(lines, p, stmt, column);
        if (p->failed && stmt->kind != STMT_IF)
            stmt->value = parser_bad(p, stmt->loc);
    }
    if (!stmt)
        stmt = stmt_parse_simple(p);
    if (lines && p->failed)
        lines_skip(lines, column);
    return stmt;
}

static struct stmt *parse_alone(struct parser *p)
{
    struct stmt *stmt = parse_line(NULL, p, 0);

    parser_expect_end(p);
    return stmt;
}

struct stmt *stmt_parse(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    return parse_alone(&p);
}

struct stmt *stmt_parse_refused(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    p.quiet = true;
    return parse_alone(&p);
}

struct stmt **stmt_parse_block(struct cx *cx, const struct source *source, size_t offset, size_t length,
                               int *count)
{
    struct lines lines = lines_new(cx, source, offset, length);
    struct stmt_block block = {0};

    if (lines_next(&lines))
        block = parse_block(&lines);
    *count = block.count;
    return block.list;
}
