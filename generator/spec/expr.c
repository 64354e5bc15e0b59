/* expr.c - the parser of expressions inside a spec: calls, operators, lists of modules. Apart from spec.c, as layers.c parses
 * the bodies of its rows with it, where there is no YAML; it knows grammar and places, and no names. Statements are stmt.c's,
 * tokens expr_lex.c's.
 *
 * One pass, one token ahead: binary operators climb a table of precedences, everything else is recursive
 * descent. The first fault of an expression ends it: `parser_fail` says it and turns the rest of the text into
 * the end. */
#include "spec/expr_parser.h"

#include <string.h>

#include "base/text.h"

static void count_node(struct parser *p, struct loc loc)
{
    int *room = &p->cx->spec_room;

    if (*room == 1) /* it was said */
        p->quiet = true;
    if (*room > 1)
        --*room;
    if (*room == 1)
        parser_fail(p, loc, "the spec has more than %d expressions", EXPR_MAX_COUNT);
}

static struct expr *node(struct parser *p, enum expr_kind kind, struct loc loc)
{
    struct expr *expr = ARENA_NEW(&p->cx->arena, struct expr);

    count_node(p, loc);
    expr->kind = p->failed ? EXPR_BAD : kind;
    expr->loc = loc;
    expr->end = p->last.end;
    expr->height = 1;
    return expr;
}

struct expr *parser_bad(struct parser *p, struct loc loc)
{
    return node(p, EXPR_BAD, loc);
}

static void too_deep(struct parser *p, struct loc loc)
{
    if (parser_fail(p, loc, "this expression nests more than %d levels deep", EXPR_MAX_DEPTH))
        diag_hint(p->cx, "give parts of it names of their own");
}

/* `child` becomes part of `parent`. Trees stay so low that every room may walk them by recursion. */
static struct expr *adopt(struct parser *p, struct expr *parent, struct expr *child)
{
    if (child->height + 1 > parent->height)
        parent->height = child->height + 1;
    if (parent->height > EXPR_MAX_DEPTH)
        too_deep(p, child->loc);
    return child;
}

/* The text of `expr` now ends behind the last token. */
static void finish(struct parser *p, struct expr *expr, struct loc first)
{
    expr->loc = loc_join(first, p->last.loc);
    expr->end = p->last.end;
}

static bool enter(struct parser *p)
{
    if (++p->depth <= EXPR_MAX_DEPTH)
        return true;
    too_deep(p, p->token.loc);
    return false;
}

static struct expr *parse_item(struct parser *p);
static struct expr *parse_for(struct parser *p, struct expr *a);
static struct expr *parse_star(struct parser *p);

/* A word that is an operator elsewhere, or the arrow of a signature. */
static bool refuse_operator(struct parser *p)
{
    if (parser_is_symbol(p, "->")) {
        if (parser_fail(p, p->token.loc, "there is no operator '->'"))
            diag_hint(p->cx, "leave the annotation out");
        return true;
    }
    if (!parser_is_name(p, "not") && !parser_is_name(p, "in"))
        return false;
    parser_fail(p, p->token.loc, "there is no operator '%s' here", p->token.text);
    return true;
}

bool parser_close_bracket(struct parser *p, const char *open, struct loc open_loc, const char *close)
{
    if (parser_take_symbol(p, close))
        return true;
    if (refuse_operator(p))
        return false;
    if (p->token.kind == TOKEN_END) {
        if (parser_fail(p, open_loc, "'%s' is never closed", open))
            parser_hint_comment(p);
    } else {
        bool equals = parser_is_symbol(p, "=");

        if (parser_fail(p, p->token.loc, "expected ',' or '%s', found %s", close, parser_found(p)) && equals)
            diag_hint(p->cx, "a comparison is written '=='");
    }
    return false;
}

/* [x for x in xs] goes over xs, and *xs stands beside other items. */
static void check_item(struct parser *p, const struct expr *item, int count)
{
    if (item->kind == EXPR_FOR && !p->module && (count > 0 || parser_is_symbol(p, ",")))
        parser_fail(p, item->loc, "what has a 'for' stands alone in its brackets");
}

/* Where nothing takes its items. */
static void refuse_star(struct parser *p, const struct expr *item)
{
    if (item->kind == EXPR_STAR && parser_fail(p, item->loc, "'*' unpacks into a tuple, a list or a call"))
        diag_hint(p->cx, "a tuple of one is written (*xs,)");
}

static struct expr *parse_parenthesis(struct parser *p)
{
    struct loc open = p->token.loc;
    struct expr *tuple = node(p, EXPR_TUPLE, open);
    bool comma = false;

    parser_next(p);
    while (!parser_is_symbol(p, ")") && p->token.kind != TOKEN_END) {
        struct expr *item = adopt(p, tuple, parse_item(p));

        check_item(p, item, tuple->count);
        ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, item);
        if (!parser_take_symbol(p, ","))
            break;
        comma = true;
    }
    if (!parser_close_bracket(p, "(", open, ")"))
        return parser_bad(p, open);
    if (tuple->count == 1 && !comma)
        refuse_star(p, tuple->items[0]);
    if (tuple->count == 1 && !comma)
        tuple = tuple->items[0]; /* only brackets; they belong to its text */
    finish(p, tuple, open);
    return tuple;
}

static struct expr *parse_list(struct parser *p)
{
    struct loc open = p->token.loc;
    struct expr *list = node(p, EXPR_LIST, open);

    parser_next(p);
    while (!parser_is_symbol(p, "]") && p->token.kind != TOKEN_END) {
        struct expr *item = adopt(p, list, parse_item(p));

        check_item(p, item, list->count);
        ARENA_PUSH(&p->cx->arena, list->items, list->count, item);
        if (!parser_take_symbol(p, ","))
            break;
    }
    if (!parser_close_bracket(p, "[", open, "]"))
        return parser_bad(p, open);
    finish(p, list, open);
    return list;
}

/* What stands in the braces of a formatted string, with a parser of its own. */
static struct expr *parse_format_part(struct parser *p, const struct format_part *part)
{
    struct parser inner = parser_new(p->cx, p->source, part->begin, part->end - part->begin);
    struct expr *expr;

    inner.quiet = p->quiet;
    inner.depth = p->depth + 1;
    parser_next(&inner);
    expr = parser_tuple(&inner);
    parser_expect_end(&inner);
    if (inner.failed)
        parser_stop(p);
    return expr;
}

static struct expr *parse_string(struct parser *p)
{
    struct expr *expr = node(p, EXPR_STRING, p->token.loc);
    struct loc first = p->token.loc;
    struct text text = text_new(&p->cx->arena);

    for (; p->token.kind == TOKEN_STRING; parser_next(p)) {
        struct format_part plain = {.text = p->token.text}, *parts = &plain;
        int count = 1;

        if (p->token.parts) {
            parts = p->token.parts;
            count = p->token.part_count;
            expr->kind = EXPR_FORMAT;
        }
        for (int i = 0; i < count; i++) {
            struct expr *item;
            int names = expr->count;

            text_add(&text, parts[i].text ? parts[i].text : "");
            if (parts[i].text) {
                item = node(p, EXPR_STRING, p->token.loc);
                item->text = parts[i].text;
            } else {
                item = parse_format_part(p, &parts[i]);
            }
            ARENA_PUSH(&p->cx->arena, expr->names, names, parts[i].how);
            ARENA_PUSH(&p->cx->arena, expr->items, expr->count, adopt(p, expr, item));
            if (p->failed)
                return parser_bad(p, first);
        }
    }
    expr->text = text.data;
    if (expr->kind == EXPR_STRING)
        expr->count = 0;
    finish(p, expr, first);
    return expr;
}

/* Names for what a container of modules holds, or for values. */
static struct expr *parse_dict(struct parser *p)
{
    struct loc open = p->token.loc;
    struct expr *dict = node(p, EXPR_DICT, open);

    parser_next(p);
    while (!parser_is_symbol(p, "}") && p->token.kind != TOKEN_END) {
        struct loc loc = p->token.loc;
        int names = dict->count, locs = dict->count;

        if (p->token.kind == TOKEN_INT || p->token.kind == TOKEN_FLOAT) {
            if (parser_fail(p, loc, "the names in braces are strings, found %s", parser_found(p)))
                diag_hint(p->cx, p->module ? "write {'act': ReLU()}" : "write {'low': x}; there are no sets");
            break;
        }

        struct expr *key = adopt(p, dict, parser_conditional(p)), *value;
        const char *name = key->kind == EXPR_STRING ? key->text : NULL;

        if (!parser_take_symbol(p, ":")) {
            if (parser_fail(p, p->token.loc, "expected ':' behind a name in braces, found %s",
                            parser_found(p)))
                diag_hint(p->cx, p->module ? "write {'act': ReLU()}" : "write {'low': x}; there are no sets");
            break;
        }
        value = adopt(p, dict, parser_conditional(p));
        if (!name || parser_is_name(p, "for")) {
            struct expr *pair = node(p, EXPR_TUPLE, loc);

            if (p->module && key->kind == EXPR_NAME && !parser_is_name(p, "for") &&
                parser_fail(p, loc, "the names in braces are strings, found '%s'", key->text))
                diag_hint(p->cx, "write {'act': ReLU()}");
            ARENA_PUSH(&p->cx->arena, pair->items, pair->count, adopt(p, pair, key));
            ARENA_PUSH(&p->cx->arena, pair->items, pair->count, adopt(p, pair, value));
            finish(p, pair, loc);
            value = parser_is_name(p, "for") ? adopt(p, dict, parse_for(p, pair)) : adopt(p, dict, pair);
            name = NULL;
        }

        ARENA_PUSH(&p->cx->arena, dict->names, names, name);
        ARENA_PUSH(&p->cx->arena, dict->name_locs, locs, loc);
        ARENA_PUSH(&p->cx->arena, dict->items, dict->count, value);
        if (!parser_take_symbol(p, ","))
            break;
    }
    if (!parser_close_bracket(p, "{", open, "}"))
        return parser_bad(p, open);
    finish(p, dict, open);
    return dict;
}

static struct expr *parse_name(struct parser *p)
{
    static const struct {
        const char *name;
        enum expr_kind kind;
        int64_t integer;
    } constants[] = {{"None", EXPR_NONE, 0}, {"null", EXPR_NONE, 0},  {"True", EXPR_BOOL, 1},
                     {"true", EXPR_BOOL, 1}, {"False", EXPR_BOOL, 0}, {"false", EXPR_BOOL, 0}};
    const char *name = p->token.text;
    struct loc loc = p->token.loc;
    enum expr_kind kind = EXPR_NAME;
    int64_t integer = 0;

    for (int i = 0; i < COUNT(constants); i++) {
        if (strcmp(name, constants[i].name) == 0) {
            kind = constants[i].kind;
            integer = constants[i].integer;
        }
    }
    if (kind == EXPR_NAME && expr_is_keyword(name)) {
        if (strcmp(name, "not") == 0)
            parser_fail(p, loc, "'not' needs parentheses here");
        else if (parser_fail(p, loc, "expected an expression, found the word '%s'", name) &&
                 strcmp(name, "return") == 0)
            diag_hint(p->cx, "it begins a statement; YAML wants a blank behind the '-' of an item");
        return parser_bad(p, loc);
    }
    parser_next(p);

    struct expr *expr = node(p, kind, loc);

    expr->text = kind == EXPR_NAME ? name : NULL;
    expr->integer = integer;
    return expr;
}

static struct expr *parse_atom(struct parser *p)
{
    struct token token = p->token;
    struct expr *expr;

    switch (token.kind) {
    case TOKEN_NAME:
        return parse_name(p);
    case TOKEN_STRING:
        return parse_string(p);
    case TOKEN_INT:
    case TOKEN_FLOAT:
        if (token.huge)
            parser_fail(p, token.loc, "the integer %s is too large: at most %lld", parser_token_text(p),
                        (long long)INT64_MAX);
        parser_next(p);
        expr = node(p,
                    token.imaginary           ? EXPR_IMAGINARY
                    : token.kind == TOKEN_INT ? EXPR_INT
                                              : EXPR_FLOAT,
                    token.loc);
        expr->integer = token.integer;
        expr->number = token.kind == TOKEN_INT ? (double)token.integer : token.number;
        return expr;
    case TOKEN_SYMBOL:
        if (parser_is_symbol(p, "("))
            return parse_parenthesis(p);
        if (parser_is_symbol(p, "["))
            return parse_list(p);
        if (parser_is_symbol(p, "{"))
            return parse_dict(p);
        if (parser_take_symbol(p, "..."))
            return node(p, EXPR_ELLIPSIS, token.loc);
        break;
    case TOKEN_END:
        break;
    }
    if (!parser_is_symbol(p, "->") || !refuse_operator(p))
        parser_fail(p, token.loc, "expected an expression, found %s", parser_found(p));
    return parser_bad(p, token.loc);
}

/* The name in `name=value`: an identifier followed by one '='. */
static bool at_keyword_argument(const struct parser *p)
{
    if (p->token.kind != TOKEN_NAME)
        return false;

    size_t at = lex_skip_blanks(p->source->text, p->at, p->stop);

    return at < p->stop && p->source->text[at] == '=' &&
           (at + 1 >= p->stop || p->source->text[at + 1] != '=');
}

static void parse_argument(struct parser *p, struct expr *call)
{
    struct loc loc = p->token.loc;
    const char *name = NULL;
    int names = call->count, locs = call->count;

    if (at_keyword_argument(p)) {
        name = p->token.text;
        for (int i = 0; i < call->count; i++) {
            if (call->names[i] && strcmp(call->names[i], name) == 0) {
                if (parser_fail(p, loc, "the argument '%s' is given twice", name))
                    diag_note(p->cx, call->name_locs[i], "first given here");
                return;
            }
        }
        parser_next(p);
        parser_next(p);
    } else if (call->count > 0 && call->names[call->count - 1] && !parser_is_symbol(p, "**") &&
               !parser_is_symbol(p, "*")) {
        parser_fail(p, loc, "an argument without a name stands behind '%s='", call->names[call->count - 1]);
        return;
    }

    struct expr *value = adopt(p, call,
                               name                        ? parser_conditional(p)
                               : parser_is_symbol(p, "**") ? parse_star(p)
                                                           : parse_item(p));

    if (!name)
        check_item(p, value, call->count);
    if (!name && parser_is_symbol(p, "=")) {
        parser_fail(p, loc, "what stands before '=' in a call must be the name of an argument");
        return;
    }
    ARENA_PUSH(&p->cx->arena, call->names, names, name);
    ARENA_PUSH(&p->cx->arena, call->name_locs, locs, loc);
    ARENA_PUSH(&p->cx->arena, call->items, call->count, value);
}

static struct expr *parse_call(struct parser *p, struct expr *callee)
{
    struct expr *call = node(p, EXPR_CALL, callee->loc);
    struct loc open = p->token.loc;

    call->a = adopt(p, call, callee);
    parser_next(p);
    while (!parser_is_symbol(p, ")") && p->token.kind != TOKEN_END) {
        parse_argument(p, call);
        if (!parser_take_symbol(p, ","))
            break;
    }
    if (!parser_close_bracket(p, "(", open, ")"))
        return parser_bad(p, callee->loc);
    finish(p, call, callee->loc);
    return call;
}

static bool ends_slice_part(const struct parser *p)
{
    return parser_is_symbol(p, ":") || parser_is_symbol(p, ",") || parser_is_symbol(p, "]") ||
           p->token.kind == TOKEN_END;
}

static struct expr *parse_subscript(struct parser *p)
{
    struct loc first = p->token.loc;
    struct expr *parts[3] = {NULL, NULL, NULL};
    int part = 0;

    if (!parser_is_symbol(p, ":"))
        parts[0] = parser_conditional(p);
    if (!parser_is_symbol(p, ":"))
        return parts[0];

    struct expr *slice = node(p, EXPR_SLICE, first);

    while (part < 2 && parser_take_symbol(p, ":")) {
        part++;
        if (!ends_slice_part(p))
            parts[part] = parser_conditional(p);
    }
    for (int i = 0; i < COUNT(parts); i++) {
        if (parts[i])
            adopt(p, slice, parts[i]);
    }
    slice->a = parts[0];
    slice->b = parts[1];
    slice->c = parts[2];
    finish(p, slice, first);
    return slice;
}

static struct expr *parse_index(struct parser *p, struct expr *base)
{
    struct expr *index = node(p, EXPR_INDEX, base->loc);
    struct loc open = p->token.loc;

    index->a = adopt(p, index, base);
    parser_next(p);
    if (parser_is_symbol(p, "]"))
        parser_fail(p, p->token.loc, "expected an index, found ']'");
    while (!parser_is_symbol(p, "]") && p->token.kind != TOKEN_END) {
        struct expr *item = adopt(p, index, parse_subscript(p));

        ARENA_PUSH(&p->cx->arena, index->items, index->count, item);
        if (!parser_take_symbol(p, ","))
            break;
        index->tuple = true;
    }
    if (!parser_close_bracket(p, "[", open, "]"))
        return parser_bad(p, base->loc);
    finish(p, index, base->loc);
    return index;
}

static struct expr *parse_attribute(struct parser *p, struct expr *base)
{
    struct expr *attr = node(p, EXPR_ATTR, base->loc);

    attr->a = adopt(p, attr, base);
    parser_next(p);
    attr->text = p->token.text;
    attr->name_loc = p->token.loc;
    if (p->token.kind != TOKEN_NAME)
        parser_fail(p, p->token.loc, "expected a name behind '.', found %s", parser_found(p));
    parser_next(p);
    finish(p, attr, base->loc);
    return attr;
}

static struct expr *parse_primary(struct parser *p)
{
    struct expr *expr = parse_atom(p);

    while (!p->failed) {
        if (parser_is_symbol(p, "(")) {
            expr = parse_call(p, expr);
        } else if (parser_is_symbol(p, "[")) {
            expr = parse_index(p, expr);
        } else if (parser_is_symbol(p, ".")) {
            expr = parse_attribute(p, expr);
        } else if (p->token.kind == TOKEN_FLOAT && p->source->text[p->token.loc.offset] == '.') {
            const char *number = parser_token_text(p);

            if (expr->kind == EXPR_INT || expr->kind == EXPR_FLOAT)
                parser_fail(p, expr->loc, "'%s%s' is not a number", expr_source(p->cx, expr), number);
            else if (parser_fail(p, p->token.loc, "a child with a number for its name is not reached by '.'"))
                diag_hint(p->cx, "write it as an index: [%s]", number + 1);
        } else {
            break;
        }
    }
    return p->failed ? parser_bad(p, expr->loc) : expr;
}

struct infix {
    const char *text;
    enum expr_op op;
    int precedence;
};

enum { OR = 1, AND, NOT, COMPARISON, BITOR, BITXOR, BITAND, SUM, PRODUCT };

static const struct infix operators[] = {
    {"or", OP_OR, OR},
    {"and", OP_AND, AND},
    {"==", OP_EQ, COMPARISON},
    {"!=", OP_NE, COMPARISON},
    {"<", OP_LT, COMPARISON},
    {"<=", OP_LE, COMPARISON},
    {">", OP_GT, COMPARISON},
    {">=", OP_GE, COMPARISON},
    {"is", OP_IS, COMPARISON},
    {"in", OP_IN, COMPARISON},
    {"not", OP_NOT_IN, COMPARISON}, /* `not in` */
    {"|", OP_BITOR, BITOR},
    {"^", OP_BITXOR, BITXOR},
    {"&", OP_BITAND, BITAND},
    {"+", OP_ADD, SUM},
    {"-", OP_SUB, SUM},
    {"*", OP_MUL, PRODUCT},
    {"/", OP_DIV, PRODUCT},
    {"//", OP_FLOORDIV, PRODUCT},
    {"%", OP_MOD, PRODUCT},
    {"@", OP_MATMUL, PRODUCT},
};

static const struct infix *binary_operator(const struct parser *p)
{
    if (p->token.kind != TOKEN_SYMBOL && p->token.kind != TOKEN_NAME)
        return NULL;
    for (int i = 0; i < COUNT(operators); i++) {
        if (strcmp(operators[i].text, p->token.text) == 0)
            return operators[i].op != OP_NOT_IN || parser_next_is(p, "in") ? &operators[i] : NULL;
    }
    return NULL;
}

/* Steps over an operator, of one word or two. */
static enum expr_op take_operator(struct parser *p, const struct infix *op)
{
    parser_next(p);
    if (op->op == OP_NOT_IN || (op->op == OP_IS && parser_is_name(p, "not"))) {
        parser_next(p);
        return op->op == OP_IS ? OP_IS_NOT : OP_NOT_IN;
    }
    return op->op;
}

static struct expr *binary(struct parser *p, enum expr_op op, struct loc op_loc, struct expr *a,
                           struct expr *b)
{
    struct expr *expr = node(p, EXPR_BINARY, a->loc);

    expr->op = op;
    expr->name_loc = op_loc;
    expr->a = adopt(p, expr, a);
    expr->b = adopt(p, expr, b);
    finish(p, expr, a->loc);
    return expr;
}

static struct expr *parse_binary(struct parser *p, int lowest);

/* Unary signs and powers; `not` where an operand of that precedence may stand. */
static struct expr *parse_operand(struct parser *p, int lowest)
{
    struct loc loc = p->token.loc;
    enum expr_op op;
    struct expr *expr;

    if (!enter(p))
        return parser_bad(p, loc);
    if (parser_is_name(p, "not") && lowest <= NOT) {
        op = OP_NOT;
    } else if (parser_is_symbol(p, "-")) {
        op = OP_NEG;
    } else if (parser_is_symbol(p, "+")) {
        op = OP_POS;
    } else if (parser_is_symbol(p, "~")) {
        op = OP_INVERT;
    } else {
        expr = parse_primary(p);
        if (parser_is_symbol(p, "**")) {
            struct loc op_loc = p->token.loc;

            parser_next(p);
            expr = binary(p, OP_POW, op_loc, expr, parse_operand(p, PRODUCT + 1));
        }
        p->depth--;
        return expr;
    }
    parser_next(p);
    if (op == OP_NEG && p->token.kind == TOKEN_INT && p->token.huge) {
        parser_next(p);
        expr = node(p, EXPR_INT, loc);
        expr->integer = INT64_MIN;
        expr->number = (double)INT64_MIN;
    } else {
        struct expr *a = op == OP_NOT ? parse_binary(p, NOT) : parse_operand(p, PRODUCT + 1);

        expr = node(p, EXPR_UNARY, loc);
        expr->op = op;
        expr->name_loc = loc;
        expr->a = adopt(p, expr, a);
    }
    finish(p, expr, loc);
    p->depth--;
    return expr;
}

/* One comparison more: `a < b` becomes `a < b < c`. */
static struct expr *lengthen(struct parser *p, struct expr *left, enum expr_op op, struct expr *right)
{
    struct expr *chain = left;
    int links = left->count - 1;

    if (left->kind == EXPR_BINARY) {
        links = 0;
        chain = node(p, EXPR_CHAIN, left->loc);
        chain->name_loc = left->name_loc;
        ARENA_PUSH(&p->cx->arena, chain->chain, links, left->op);
        ARENA_PUSH(&p->cx->arena, chain->items, chain->count, adopt(p, chain, left->a));
        ARENA_PUSH(&p->cx->arena, chain->items, chain->count, adopt(p, chain, left->b));
    }
    ARENA_PUSH(&p->cx->arena, chain->chain, links, op);
    ARENA_PUSH(&p->cx->arena, chain->items, chain->count, adopt(p, chain, right));
    finish(p, chain, left->loc);
    return chain;
}

static struct expr *parse_binary(struct parser *p, int lowest)
{
    struct expr *left = parse_operand(p, lowest);
    const struct infix *op;
    bool compared = false;

    while ((op = binary_operator(p)) && op->precedence >= lowest) {
        struct loc op_loc = p->token.loc;
        enum expr_op code = take_operator(p, op);
        struct expr *right = parse_binary(p, op->precedence + 1);

        if (p->failed)
            break;
        left = compared && op->precedence == COMPARISON ? lengthen(p, left, code, right)
                                                        : binary(p, code, op_loc, left, right);
        compared = op->precedence == COMPARISON;
    }
    return p->failed ? parser_bad(p, left->loc) : left;
}

static struct expr *parse_lambda(struct parser *p)
{
    struct expr *expr = node(p, EXPR_LAMBDA, p->token.loc);
    struct loc first = p->token.loc;
    struct signature signature = {0};

    parser_next(p);
    signature_parse_lambda(p, &signature);
    expr->args = signature.args;
    expr->arg_count = signature.count;
    if (!parser_take_symbol(p, ":"))
        parser_fail(p, p->token.loc, "expected ':' behind 'lambda', found %s", parser_found(p));
    expr->a = adopt(p, expr, parser_conditional(p));
    finish(p, expr, first);
    return p->failed ? parser_bad(p, first) : expr;
}

struct expr *parser_conditional(struct parser *p)
{
    struct loc first = p->token.loc;

    if (!enter(p))
        return parser_bad(p, first);

    if (parser_is_name(p, "lambda")) {
        struct expr *lambda = parse_lambda(p);

        p->depth--;
        return lambda;
    }

    struct expr *a = parse_binary(p, OR);

    if (parser_is_symbol(p, ":=") && a->kind == EXPR_NAME) {
        struct expr *walrus = node(p, EXPR_WALRUS, first);

        parser_next(p);
        walrus->text = a->text;
        walrus->a = adopt(p, walrus, parser_conditional(p));
        finish(p, walrus, first);
        a = walrus;
    }
    if (parser_is_name(p, "if")) {
        struct expr *expr = node(p, EXPR_IF, first);

        parser_next(p);
        expr->a = adopt(p, expr, a);
        expr->b = adopt(p, expr, parse_binary(p, OR));
        if (!parser_is_name(p, "else") && !refuse_operator(p))
            parser_fail(p, p->token.loc, "expected 'else', found %s", parser_found(p));
        parser_next(p);
        expr->c = adopt(p, expr, parser_conditional(p));
        finish(p, expr, first);
        a = expr;
    }
    p->depth--;
    return p->failed ? parser_bad(p, first) : a;
}

/* `N x Call`: the current token is the `x`. */
static struct expr *parse_repeat(struct parser *p, struct expr *count)
{
    struct expr *expr = node(p, EXPR_REPEAT, count->loc);

    expr->name_loc = p->token.loc;
    parser_next(p);
    expr->a = adopt(p, expr, count);
    expr->b = adopt(p, expr, parser_conditional(p));
    finish(p, expr, count->loc);
    if ((parser_is_name(p, "for") || parser_is_name(p, "x")) &&
        parser_fail(p, p->token.loc, "'N x Call' stands alone: it takes no second 'x' and no 'for'"))
        diag_hint(p->cx, "a class of the spec may hold the inner list");
    return expr;
}

struct expr *parser_operation(struct parser *p)
{
    return parse_binary(p, OR);
}

struct expr *parser_names(struct parser *p)
{
    struct loc first = p->token.loc;
    struct expr *tuple = node(p, EXPR_TUPLE, first), *item;
    bool comma = false;

    if (!enter(p))
        return parser_bad(p, first);
    do {
        const char *close = parser_is_symbol(p, "(") ? ")" : parser_is_symbol(p, "[") ? "]" : NULL;
        const char *open = p->token.text;
        struct loc open_loc = p->token.loc;

        if (tuple->count > 0 &&
            (parser_is_name(p, "in") || parser_is_symbol(p, ")") || parser_is_symbol(p, "]")))
            break; /* a trailing comma */
        if (close) {
            parser_next(p);
            item = parser_names(p);
            if (parser_is_name(p, "in"))
                parser_fail(p, open_loc, "'%s' is never closed", open);
            parser_close_bracket(p, open, open_loc, close);
        } else {
            item = node(p, EXPR_NAME, p->token.loc);
            item->text = p->token.text;
            if (p->token.kind != TOKEN_NAME || expr_is_keyword(p->token.text))
                parser_fail(p, p->token.loc, "expected a name behind 'for', found %s", parser_found(p));
            parser_next(p);
        }
        ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, adopt(p, tuple, item));
        comma |= parser_is_symbol(p, ",");
    } while (parser_take_symbol(p, ",") && !p->failed);
    p->depth--;
    finish(p, tuple, first);
    return p->failed ? parser_bad(p, first) : comma ? tuple : tuple->items[0];
}

/* `a for NAMES in SEQUENCE`, with conditions and further `for` where values are written: the current token is the `for`. */
static struct expr *parse_for(struct parser *p, struct expr *a)
{
    struct expr *expr = node(p, EXPR_FOR, a->loc);

    if (!enter(p))
        return parser_bad(p, a->loc);
    expr->name_loc = p->token.loc;
    parser_next(p);
    expr->c = adopt(p, expr, parser_names(p));
    if (!parser_is_name(p, "in"))
        parser_fail(p, p->token.loc, "expected 'in', found %s", parser_found(p));
    parser_next(p);
    expr->b = adopt(p, expr, parser_operation(p));
    while (parser_is_name(p, "if")) {
        parser_next(p);
        ARENA_PUSH(&p->cx->arena, expr->items, expr->count, adopt(p, expr, parser_operation(p)));
    }
    expr->tuple = parser_is_name(p, "for");
    expr->a = adopt(p, expr, expr->tuple ? parse_for(p, a) : a);
    finish(p, expr, a->loc);
    p->depth--;
    return p->failed ? parser_bad(p, a->loc) : expr;
}

/* *a, or in a call **a. */
static struct expr *parse_star(struct parser *p)
{
    struct expr *expr = node(p, EXPR_STAR, p->token.loc);
    struct loc first = p->token.loc;

    expr->tuple = parser_is_symbol(p, "**");
    parser_next(p);
    expr->a = adopt(p, expr, parser_operation(p));
    finish(p, expr, first);
    return expr;
}

/* An expression, or where modules are written, also a rule that stands for several of them; in brackets one for values. */
static struct expr *parse_item(struct parser *p)
{
    struct expr *item;

    if (parser_is_symbol(p, "*"))
        return parse_star(p);
    item = parser_conditional(p);
    if (p->module && parser_is_name(p, "x"))
        return parse_repeat(p, item);
    return parser_is_name(p, "for") ? parse_for(p, item) : item;
}

/* The same outside of brackets. */
static struct expr *parse_bare_item(struct parser *p)
{
    struct expr *item = parse_item(p);

    if (item->kind == EXPR_FOR && !p->module &&
        parser_fail(p, item->name_loc, "'for' stands in brackets here"))
        diag_hint(p->cx, "write [a for a in b] for a list");
    return item;
}

struct expr *parser_tuple(struct parser *p)
{
    struct loc first = p->token.loc;
    struct expr *item = parse_bare_item(p);

    if (!parser_is_symbol(p, ",")) {
        refuse_star(p, item);
        return p->failed ? parser_bad(p, first) : item;
    }

    struct expr *tuple = node(p, EXPR_TUPLE, first);

    adopt(p, tuple, item);
    ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, item);
    while (parser_take_symbol(p, ",")) {
        if (p->token.kind == TOKEN_END || parser_is_symbol(p, "="))
            break;
        item = adopt(p, tuple, parse_bare_item(p));
        ARENA_PUSH(&p->cx->arena, tuple->items, tuple->count, item);
    }
    finish(p, tuple, first);
    return tuple;
}

void parser_expect_end(struct parser *p)
{
    if (p->token.kind == TOKEN_END)
        return;
    if (parser_is_symbol(p, "=")) {
        if (parser_fail(p, p->token.loc, "expected an operator or the end, found '='"))
            diag_hint(p->cx, "a comparison is written '=='");
    } else if (parser_is_symbol(p, ")") || parser_is_symbol(p, "]")) {
        parser_fail(p, p->token.loc, "'%s' closes nothing", p->token.text);
    } else if (!refuse_operator(p)) {
        bool colon = parser_is_symbol(p, ":"), comma = parser_is_symbol(p, ",");

        if (!parser_fail(p, p->token.loc, "expected an operator or the end, found %s", parser_found(p)))
            return;
        if (colon)
            diag_hint(p->cx, "blocks and annotations stand in statements alone");
        else if (comma && p->module)
            diag_hint(p->cx, "several modules are a list, each in a line of its own behind '- '");
    }
}

static struct expr *parse_whole(struct parser *p, struct expr *(*parse)(struct parser *))
{
    struct loc loc;
    struct expr *expr;

    parser_next(p);
    loc = p->token.loc;
    expr = parse(p);
    parser_expect_end(p);
    return p->failed ? parser_bad(p, loc) : expr;
}

struct expr *expr_parse(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    return parse_whole(&p, parser_tuple);
}

struct expr *expr_parse_module(struct cx *cx, const struct source *source, size_t offset, size_t length)
{
    struct parser p = parser_new(cx, source, offset, length);

    p.module = true;
    return parse_whole(&p, parse_item);
}
