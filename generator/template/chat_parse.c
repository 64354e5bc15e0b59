/* chat_parse.c - tokens to statements and expressions, as Jinja's own parser has them. What a name means is not known here. */
#include "template/chat_parts.h"

#include <string.h>

enum { MOST_NESTING = 60 };

struct parser {
    struct chat_reader *r;
    const struct chat_token *token;
    int depth;  /* of expressions and blocks */
    int blocks; /* that are open */
};

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static const char *found(const struct parser *p)
{
    const struct chat_token *token = p->token;

    if (token->kind == CHAT_TOKEN_END || token->kind == CHAT_TOKEN_DATA)
        return token->kind == CHAT_TOKEN_END ? "the end" : "text";
    return arena_format(&p->r->cx->arena, "'%.*s'", (int)(token->end - token->at),
                        p->r->source->text + token->at);
}

static bool expected(struct parser *p, const char *what)
{
    if (p->r->failed)
        return false;
    return chat_fail(p->r, p->token->at, p->token->end, "expected %s, found %s", what, found(p));
}

static bool is_sign(const struct parser *p, const char *sign)
{
    return p->token->kind == CHAT_TOKEN_SIGN && strcmp(p->token->text, sign) == 0;
}

static bool is_name(const struct parser *p, const char *name)
{
    return p->token->kind == CHAT_TOKEN_NAME && strcmp(p->token->text, name) == 0;
}

static bool take_sign(struct parser *p, const char *sign)
{
    const bool is = is_sign(p, sign);

    p->token += is;
    return is;
}

static bool take_name(struct parser *p, const char *name)
{
    const bool is = is_name(p, name);

    p->token += is;
    return is;
}

static bool want_sign(struct parser *p, const char *sign)
{
    return take_sign(p, sign) || expected(p, arena_format(&p->r->cx->arena, "'%s'", sign));
}

static bool deeper(struct parser *p)
{
    return ++p->depth <= MOST_NESTING ||
           chat_fail(p->r, p->token->at, p->token->end, "the template is nested too deeply");
}

/* ---- expressions: NULL after an error ------------------------------------------------------------------------------- */

static struct chat_node *parse_value(struct parser *p);
static struct chat_node *parse_or(struct parser *p);
static struct chat_node *parse_unary(struct parser *p, bool filters);

static struct chat_node *node_of(struct parser *p, enum chat_node_kind kind, size_t at)
{
    struct chat_node *node = ARENA_NEW(&p->r->cx->arena, struct chat_node);

    node->kind = kind;
    node->at = at;
    node->end = p->token[-1].end;
    return node;
}

static struct chat_node *binary(struct parser *p, struct chat_node *a, const char *sign, struct chat_node *b)
{
    struct chat_node *node;

    if (!a || !b)
        return NULL;
    node = node_of(p, CHAT_NODE_BINARY, a->at);
    node->text = sign;
    node->a = a;
    node->b = b;
    return node;
}

/* Up to the closing sign, with keyword=value among them. */
static bool parse_args(struct parser *p, struct chat_node *node, const char *end)
{
    struct arena *arena = &p->r->cx->arena;
    int keywords = 0;

    while (!is_sign(p, end)) {
        const char *keyword = NULL;
        struct chat_node *arg;

        if (p->token->kind == CHAT_TOKEN_NAME && p->token[1].kind == CHAT_TOKEN_SIGN &&
            strcmp(p->token[1].text, "=") == 0) {
            keyword = p->token->text;
            p->token += 2;
        }
        arg = parse_value(p);
        if (!arg)
            return false;
        ARENA_PUSH(arena, node->args, node->count, arg);
        ARENA_PUSH(arena, node->keywords, keywords, keyword);
        if (!take_sign(p, ","))
            break;
    }
    if (!want_sign(p, end))
        return false;
    node->end = p->token[-1].end;
    return true;
}

static struct chat_node *parse_list(struct parser *p, const char *end)
{
    struct chat_node *list = node_of(p, CHAT_NODE_LIST, p->token->at);

    p->token++;
    return parse_args(p, list, end) ? list : NULL;
}

/* 'a' 'b' is one text. */
static struct chat_node *parse_text(struct parser *p)
{
    struct text text = text_new(&p->r->cx->arena);
    const size_t at = p->token->at;
    struct chat_node *node;

    for (; p->token->kind == CHAT_TOKEN_TEXT; p->token++)
        text_add_bytes(&text, p->token->text, p->token->bytes);
    node = node_of(p, CHAT_NODE_TEXT, at);
    node->text = text.data;
    node->bytes = text.length;
    return node;
}

static struct chat_node *parse_word(struct parser *p)
{
    static const struct {
        const char *word, *meaning;
    } constants[] = {{"true", "true"},   {"True", "true"}, {"false", "false"},
                     {"False", "false"}, {"none", "none"}, {"None", "none"}};
    const struct chat_token *token = p->token++;
    struct chat_node *node = node_of(p, CHAT_NODE_NAME, token->at);

    node->text = token->text;
    for (int i = 0; i < COUNT(constants); i++) {
        if (strcmp(token->text, constants[i].word) == 0) {
            node->kind = CHAT_NODE_CONST;
            node->text = constants[i].meaning;
        }
    }
    return node;
}

static struct chat_node *parse_primary(struct parser *p)
{
    struct chat_node *node;
    const size_t at = p->token->at;

    switch (p->token->kind) {
    case CHAT_TOKEN_TEXT:
        return parse_text(p);
    case CHAT_TOKEN_NAME:
        return parse_word(p);
    case CHAT_TOKEN_INT:
        p->token++;
        node = node_of(p, CHAT_NODE_INT, at);
        node->number = p->token[-1].number;
        return node;
    default:
        break;
    }
    if (is_sign(p, "["))
        return parse_list(p, "]");
    if (is_sign(p, "{")) {
        chat_fail(p->r, at, at + 1, "dictionaries are not known here");
        return NULL;
    }
    if (!take_sign(p, "(")) {
        expected(p, "a value");
        return NULL;
    }
    node = parse_value(p);
    if (node && is_sign(p, ",")) { /* (a, b): as good as a list */
        struct chat_node *list = node_of(p, CHAT_NODE_LIST, at);

        ARENA_PUSH(&p->r->cx->arena, list->args, list->count, node);
        p->token++;
        list->keywords = NULL;
        while (!is_sign(p, ")")) {
            node = parse_value(p);
            if (!node)
                return NULL;
            ARENA_PUSH(&p->r->cx->arena, list->args, list->count, node);
            if (!take_sign(p, ","))
                break;
        }
        node = list;
    }
    return node && want_sign(p, ")") ? node : NULL;
}

/* a[...]: an item, or a slice. */
static struct chat_node *parse_item(struct parser *p, struct chat_node *of)
{
    struct arena *arena = &p->r->cx->arena;
    struct chat_node *node = node_of(p, CHAT_NODE_ITEM, of->at), *part = NULL;

    p->token++;
    node->a = of;
    if (!is_sign(p, ":")) {
        part = parse_value(p);
        if (!part)
            return NULL;
    }
    node->b = part;
    if (is_sign(p, ":")) {
        node->kind = CHAT_NODE_SLICE;
        ARENA_PUSH(arena, node->args, node->count, part);
        while (node->count < 3 && take_sign(p, ":")) {
            part = NULL;
            if (!is_sign(p, "]") && !is_sign(p, ":")) {
                part = parse_value(p);
                if (!part)
                    return NULL;
            }
            ARENA_PUSH(arena, node->args, node->count, part);
        }
        while (node->count < 3)
            ARENA_PUSH(arena, node->args, node->count, NULL);
    } else if (part->kind == CHAT_NODE_TEXT) {
        node->kind = CHAT_NODE_MEMBER;
        node->text = part->text;
        node->bytes = part->bytes;
    }
    if (!want_sign(p, "]"))
        return NULL;
    node->end = p->token[-1].end;
    return node;
}

static struct chat_node *parse_call(struct parser *p, struct chat_node *of)
{
    struct chat_node *node = node_of(p, CHAT_NODE_CALL, of->at);

    p->token++;
    node->a = of;
    return parse_args(p, node, ")") ? node : NULL;
}

static struct chat_node *parse_postfix(struct parser *p, struct chat_node *node)
{
    while (node) {
        if (take_sign(p, ".")) {
            struct chat_node *of = node;

            if (p->token->kind != CHAT_TOKEN_NAME) {
                expected(p, "a name");
                return NULL;
            }
            p->token++;
            node = node_of(p, CHAT_NODE_MEMBER, of->at);
            node->a = of;
            node->text = p->token[-1].text;
            node->bytes = p->token[-1].bytes;
        } else if (is_sign(p, "[")) {
            node = parse_item(p, node);
        } else if (is_sign(p, "(")) {
            node = parse_call(p, node);
        } else {
            break;
        }
    }
    return node;
}

static struct chat_node *parse_filter(struct parser *p, struct chat_node *of)
{
    struct chat_node *node;

    if (p->token->kind != CHAT_TOKEN_NAME) {
        expected(p, "a filter");
        return NULL;
    }
    p->token++;
    node = node_of(p, CHAT_NODE_FILTER, of->at);
    node->a = of;
    node->text = p->token[-1].text;
    return !take_sign(p, "(") || parse_args(p, node, ")") ? node : NULL;
}

/* Behind `is`: a test, with an argument in parentheses, or beside it. */
static struct chat_node *parse_test(struct parser *p, struct chat_node *of)
{
    const bool negated = take_name(p, "not");
    struct chat_node *node, *outer;

    if (p->token->kind != CHAT_TOKEN_NAME) {
        expected(p, "a test");
        return NULL;
    }
    p->token++;
    node = node_of(p, CHAT_NODE_TEST, of->at);
    node->a = of;
    node->text = p->token[-1].text;
    if (take_sign(p, "(")) {
        if (!parse_args(p, node, ")"))
            return NULL;
    } else if (p->token->kind == CHAT_TOKEN_TEXT || p->token->kind == CHAT_TOKEN_INT ||
               (p->token->kind == CHAT_TOKEN_NAME && !is_name(p, "else") && !is_name(p, "or") &&
                !is_name(p, "and"))) {
        struct chat_node *arg;

        if (is_name(p, "is")) {
            chat_fail(p->r, p->token->at, p->token->end, "tests make no chain");
            return NULL;
        }
        arg = parse_postfix(p, parse_primary(p));

        if (!arg)
            return NULL;
        ARENA_PUSH(&p->r->cx->arena, node->args, node->count, arg);
        node->end = arg->end;
    }
    if (!negated)
        return node;
    outer = node_of(p, CHAT_NODE_NOT, of->at);
    outer->a = node;
    return outer;
}

static struct chat_node *parse_filters(struct parser *p, struct chat_node *node)
{
    while (node) {
        if (take_sign(p, "|"))
            node = parse_filter(p, node);
        else if (take_name(p, "is"))
            node = parse_test(p, node);
        else if (is_sign(p, "("))
            node = parse_call(p, node);
        else
            break;
    }
    return node;
}

static struct chat_node *parse_unary(struct parser *p, bool filters)
{
    const size_t at = p->token->at;
    struct chat_node *node = NULL;

    if (!deeper(p))
        return NULL;
    if (take_sign(p, "-")) {
        struct chat_node *of = parse_unary(p, false);

        if (of) {
            node = node_of(p, CHAT_NODE_MINUS, at);
            node->a = of;
        }
    } else {
        node = parse_primary(p);
    }
    node = parse_postfix(p, node);
    if (filters)
        node = parse_filters(p, node);
    p->depth--;
    return node;
}

/* Operators of one rank, from the left. */
static const char *take_one_of(struct parser *p, const char *const *signs)
{
    for (; *signs; signs++)
        if (take_sign(p, *signs))
            return *signs;
    return NULL;
}

static struct chat_node *parse_products(struct parser *p)
{
    static const char *const signs[] = {"*", "//", "/", "%", "**", NULL};
    struct chat_node *node = parse_unary(p, true);

    for (const char *sign; node && (sign = take_one_of(p, signs));)
        node = binary(p, node, sign, parse_unary(p, true));
    return node;
}

static struct chat_node *parse_joins(struct parser *p)
{
    struct chat_node *node = parse_products(p);

    while (node && take_sign(p, "~"))
        node = binary(p, node, "~", parse_products(p));
    return node;
}

static struct chat_node *parse_sums(struct parser *p)
{
    static const char *const signs[] = {"+", "-", NULL};
    struct chat_node *node = parse_joins(p);

    for (const char *sign; node && (sign = take_one_of(p, signs));)
        node = binary(p, node, sign, parse_joins(p));
    return node;
}

static const char *take_comparison(struct parser *p)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">", NULL};
    const char *sign = take_one_of(p, signs);

    if (sign)
        return sign;
    if (take_name(p, "in"))
        return "in";
    if (is_name(p, "not") && p->token[1].kind == CHAT_TOKEN_NAME && strcmp(p->token[1].text, "in") == 0) {
        p->token += 2;
        return "not in";
    }
    return NULL;
}

static struct chat_node *parse_comparison(struct parser *p)
{
    struct chat_node *node = parse_sums(p);
    const char *sign = node ? take_comparison(p) : NULL;

    if (!sign)
        return node;
    node = binary(p, node, sign, parse_sums(p));
    if (node && take_comparison(p)) {
        chat_fail(p->r, p->token[-1].at, p->token[-1].end,
                  "one comparison is known here, and no chain of them");
        return NULL;
    }
    return node;
}

static struct chat_node *parse_not(struct parser *p)
{
    const size_t at = p->token->at;
    struct chat_node *node, *of;

    if (!take_name(p, "not"))
        return parse_comparison(p);
    of = deeper(p) ? parse_not(p) : NULL;
    p->depth--;
    if (!of)
        return NULL;
    node = node_of(p, CHAT_NODE_NOT, at);
    node->a = of;
    return node;
}

static struct chat_node *parse_and(struct parser *p)
{
    struct chat_node *node = parse_not(p);

    while (node && take_name(p, "and"))
        node = binary(p, node, "and", parse_not(p));
    return node;
}

static struct chat_node *parse_or(struct parser *p)
{
    struct chat_node *node = parse_and(p);

    while (node && take_name(p, "or"))
        node = binary(p, node, "or", parse_and(p));
    return node;
}

static struct chat_node *parse_value(struct parser *p)
{
    struct chat_node *node = deeper(p) ? parse_or(p) : NULL;

    while (node && take_name(p, "if")) {
        struct chat_node *choice = node_of(p, CHAT_NODE_CHOICE, node->at);

        choice->a = node;
        choice->b = parse_or(p);
        if (!choice->b)
            return NULL;
        if (take_name(p, "else")) {
            choice->c = parse_value(p);
            if (!choice->c)
                return NULL;
        }
        choice->end = p->token[-1].end;
        node = choice;
    }
    p->depth--;
    return node;
}

/* ---- statements ----------------------------------------------------------------------------------------------------- */

static bool parse_statements(struct parser *p, struct chat_statements *statements);

static bool end_block(struct parser *p)
{
    if (p->token->kind != CHAT_TOKEN_BLOCK_END)
        return expected(p, "'%}'");
    p->token++;
    return true;
}

/* {% name %}, which closes a block. */
static bool is_end(const struct parser *p, const char *name)
{
    return p->token->kind == CHAT_TOKEN_BLOCK && p->token[1].kind == CHAT_TOKEN_NAME &&
           strcmp(p->token[1].text, name) == 0;
}

static bool take_end(struct parser *p, const char *name)
{
    const bool is = is_end(p, name);

    p->token += is ? 2 : 0;
    return is;
}

static bool parse_body(struct parser *p, struct chat_statements *body)
{
    bool good;

    p->blocks++;
    good = deeper(p) && parse_statements(p, body);
    p->depth--;
    p->blocks--;
    return good;
}

/* Behind the body of a block. */
static bool close_block(struct parser *p, const struct chat_statement *of, const char *name)
{
    if (take_end(p, name))
        return end_block(p);
    return !p->r->failed && chat_fail(p->r, of->at, of->end, "there is no {%% %s %%} for it", name);
}

/* Behind `if` and `elif`. */
static bool parse_if(struct parser *p, struct chat_statement *statement)
{
    statement->kind = CHAT_IF;
    statement->value = parse_value(p);
    if (!statement->value || !end_block(p) || !parse_body(p, &statement->body))
        return false;
    if (is_end(p, "elif")) {
        struct chat_statement other = {.at = p->token->at, .end = p->token[1].end};

        p->token += 2;
        if (!deeper(p) || !parse_if(p, &other))
            return false;
        p->depth--;
        ARENA_PUSH(&p->r->cx->arena, statement->other.list, statement->other.count, other);
        return true;
    }
    if (take_end(p, "else") && (!end_block(p) || !parse_body(p, &statement->other)))
        return false;
    return close_block(p, statement, "endif");
}

static bool parse_for(struct parser *p, struct chat_statement *statement)
{
    statement->kind = CHAT_FOR;
    if (p->token->kind != CHAT_TOKEN_NAME)
        return expected(p, "a name");
    statement->text = p->token++->text;
    if (is_sign(p, ","))
        return chat_fail(p->r, p->token->at, p->token->end, "a loop has one variable here, over turns");
    if (!take_name(p, "in"))
        return expected(p, "'in'");
    statement->value = parse_or(p);
    if (!statement->value)
        return false;
    if (take_name(p, "if")) {
        statement->test = parse_value(p);
        if (!statement->test)
            return false;
    }
    statement->end = p->token[-1].end;
    if (!end_block(p) || !parse_body(p, &statement->body))
        return false;
    if (is_end(p, "else"))
        return chat_fail(p->r, p->token->at, p->token[1].end, "'else' of a loop is not known here");
    return close_block(p, statement, "endfor");
}

static bool parse_set(struct parser *p, struct chat_statement *statement)
{
    statement->kind = CHAT_SET;
    if (p->token->kind != CHAT_TOKEN_NAME)
        return expected(p, "a name");
    statement->text = p->token++->text;
    if (take_sign(p, ".")) {
        if (p->token->kind != CHAT_TOKEN_NAME)
            return expected(p, "a name");
        statement->member = p->token++->text;
    }
    if (!want_sign(p, "="))
        return false;
    statement->value = parse_value(p);
    statement->end = p->token[-1].end;
    return statement->value && end_block(p);
}

static bool parse_block(struct parser *p, struct chat_statement *statement)
{
    const struct chat_token *word = p->token;

    if (word->kind != CHAT_TOKEN_NAME)
        return expected(p, "a statement");
    p->token++;
    statement->end = word->end;
    if (strcmp(word->text, "if") == 0)
        return parse_if(p, statement);
    if (strcmp(word->text, "for") == 0)
        return parse_for(p, statement);
    if (strcmp(word->text, "set") == 0)
        return parse_set(p, statement);
    if (strcmp(word->text, "generation") == 0) {
        statement->kind = CHAT_GENERATION;
        return end_block(p) && parse_body(p, &statement->body) && close_block(p, statement, "endgeneration");
    }
    if (strcmp(word->text, "break") == 0 || strcmp(word->text, "continue") == 0) {
        statement->kind = word->text[0] == 'b' ? CHAT_BREAK : CHAT_CONTINUE;
        return end_block(p);
    }
    chat_fail(p->r, word->at, word->end, "'%s' is not known here", word->text);
    diag_hint(p->r->cx, "statements are if, for, set, generation, break and continue");
    return false;
}

/* {{ ... }} */
static bool parse_put(struct parser *p, struct chat_statement *statement)
{
    statement->kind = CHAT_PUT_VALUE;
    statement->value = parse_value(p);
    if (!statement->value)
        return false;
    statement->end = p->token[-1].end;
    if (p->token->kind != CHAT_TOKEN_PUT_END)
        return expected(p, "'}}'");
    p->token++;
    return true;
}

/* Up to what closes the block that they are in. */
static bool parse_statements(struct parser *p, struct chat_statements *statements)
{
    static const char *const ends[] = {"elif", "else", "endif", "endfor", "endgeneration"};

    for (;;) {
        struct chat_statement statement = {.at = p->token->at, .end = p->token->end};

        if (p->token->kind == CHAT_TOKEN_END)
            return true;
        for (int i = 0; i < COUNT(ends); i++) {
            if (is_end(p, ends[i]))
                return p->blocks > 0 ||
                       chat_fail(p->r, p->token[1].at, p->token[1].end, "'%s' closes nothing", ends[i]);
        }
        if (p->token->kind == CHAT_TOKEN_DATA) {
            statement.kind = CHAT_PUT_DATA;
            statement.text = p->token->text;
            statement.bytes = p->token++->bytes;
        } else if (p->token++->kind == CHAT_TOKEN_PUT ? !parse_put(p, &statement)
                                                      : !parse_block(p, &statement)) {
            return false;
        }
        ARENA_PUSH(&p->r->cx->arena, statements->list, statements->count, statement);
    }
}

bool chat_parse(struct chat_reader *r, struct chat_statements *statements)
{
    struct parser parser = {r, r->tokens, 0, 0};

    return parse_statements(&parser, statements);
}
