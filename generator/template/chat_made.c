/* chat_made.c - values of a template's expressions: how they are made, of which kinds they are, what they are used as. Apart from
 * chat_value.c, which follows the expressions. */
#include "template/chat_lowerer.h"

#include <string.h>

#include "modc_template.h"

/* ---- making them ---------------------------------------------------------------------------------------------- */

struct value chat_refuse(struct lowerer *l, const struct chat_node *at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    diag_error(l->r->cx, diag_loc(l->r->cx, l->r->source, at->at, at->end - at->at), "%s",
               arena_vformat(&l->r->cx->arena, format, args));
    va_end(args);
    l->r->failed = true;
    return (struct value){.kind = CHAT_BAD};
}

struct chat_expr *chat_expr_new(struct lowerer *l, enum chat_op op, enum chat_kind kind)
{
    struct chat_expr *expr = ARENA_NEW(&l->r->cx->arena, struct chat_expr);

    expr->op = op;
    expr->kind = kind;
    expr->weight = 1;
    return expr;
}

const struct chat_expr *chat_literal_text(struct lowerer *l, const char *text, size_t bytes)
{
    struct chat_expr *expr = chat_expr_new(l, CHAT_OP_LITERAL, CHAT_TEXT);

    expr->text = text;
    expr->bytes = bytes;
    expr->weight += (int)(bytes / 64);
    return expr;
}

const struct chat_expr *chat_variable_expr(struct lowerer *l, struct chat_variable *variable,
                                           enum chat_kind kind)
{
    struct chat_expr *expr = chat_expr_new(l, CHAT_OP_VARIABLE, kind);

    expr->variable = variable;
    return expr;
}

const struct chat_expr *chat_literal_number(struct lowerer *l, enum chat_kind kind, int64_t number)
{
    struct chat_expr *expr = chat_expr_new(l, CHAT_OP_LITERAL, kind);

    expr->number = number;
    return expr;
}

/* Of arguments, which may be NULL. */
struct chat_expr *chat_made_of(struct lowerer *l, enum chat_op op, enum chat_kind kind, const char *text,
                               const struct chat_expr *a, const struct chat_expr *b,
                               const struct chat_expr *c)
{
    struct chat_expr *expr = chat_expr_new(l, op, kind);

    expr->text = text;
    expr->args[0] = a;
    expr->args[1] = b;
    expr->args[2] = c;
    expr->count = c ? 3 : b ? 2 : a ? 1 : 0;
    for (int i = 0; i < expr->count; i++)
        expr->weight += expr->args[i]->weight;
    return expr;
}

struct value chat_runtime(enum chat_kind kind, const struct chat_expr *expr)
{
    return (struct value){.kind = kind, .expr = expr};
}

struct value chat_known_text(struct lowerer *l, const char *text, size_t bytes)
{
    return (struct value){.kind = CHAT_TEXT, .known = true, .expr = chat_literal_text(l, text, bytes)};
}

struct value chat_known_bool(struct lowerer *l, bool is)
{
    return (struct value){.kind = CHAT_BOOL, .known = true, .expr = chat_literal_number(l, CHAT_BOOL, is)};
}

struct value chat_known_int(struct lowerer *l, int64_t number)
{
    return (struct value){.kind = CHAT_INT,
                          .known = true,
                          .natural = number >= 0,
                          .expr = chat_literal_number(l, CHAT_INT, number)};
}

struct modc_text chat_text_of(struct value value)
{
    return (struct modc_text){value.expr->text, value.expr->bytes};
}

bool chat_is_bad(struct value value)
{
    return value.kind == CHAT_BAD;
}

static const struct value bad = {.kind = CHAT_BAD};

/* ---- what they are ------------------------------------------------------------------------------------------------ */

const char *chat_kind_name(struct value value)
{
    static const char *const names[] = {
        [CHAT_UNDEFINED] = "nothing",
        [CHAT_NONE] = "none",
        [CHAT_BOOL] = "true or false",
        [CHAT_INT] = "a number",
        [CHAT_TEXT] = "a text",
        [CHAT_TURN] = "a turn",
        [CHAT_TURNS] = "turns",
        [CHAT_LIST] = "a list",
        [CHAT_PARTS] = "the parts of a text",
        [CHAT_LOOP] = "a loop",
        [CHAT_NAMESPACE] = "a namespace",
        [CHAT_FUNCTION] = "a function",
        [CHAT_MIXED] = "of several kinds",
        [CHAT_REFUSED] = "not known",
        [CHAT_BAD] = "wrong",
    };

    return names[value.kind];
}

struct value chat_wrong_kind(struct lowerer *l, const struct chat_node *at, const char *expected,
                             struct value found)
{
    if (chat_is_bad(found))
        return bad;
    return chat_refuse(l, at, "expected %s, found %s", expected, chat_kind_name(found));
}

/* The name is one of another environment, or written wrongly. */
struct value chat_undefined(struct lowerer *l, const struct chat_node *at, struct value value)
{
    static const char *const names[] = {"messages", "add_generation_prompt", "bos_token", "eos_token", "role",
                                        "content",  "reasoning_content",     "loop"};

    chat_refuse(l, at, "nothing defines '%s'", value.name ? value.name : "else");
    if (value.name)
        diag_hint_nearest(l->r->cx, value.name, names, COUNT(names));
    return (struct value){.kind = CHAT_BAD};
}

static bool is_false(struct value value)
{
    return value.kind == CHAT_BOOL && value.known && value.expr->number == 0;
}

/* What a text may be where it is absent. */
bool chat_is_lack(struct value value)
{
    return value.kind == CHAT_UNDEFINED || value.kind == CHAT_NONE || is_false(value);
}

bool chat_is_same(struct value a, struct value b)
{
    if (a.kind != b.kind || a.known != b.known)
        return false;
    if (a.known)
        return a.kind == CHAT_TEXT ? modc_same(chat_text_of(a), chat_text_of(b))
                                   : a.expr->number == b.expr->number;
    if (a.kind == CHAT_NAMESPACE)
        return a.scope == b.scope && strcmp(a.name, b.name) == 0;
    return a.kind == CHAT_UNDEFINED || a.kind == CHAT_NONE || (a.kind == CHAT_LIST && a.items == b.items);
}

struct value chat_either(struct value a, struct value b)
{
    const struct value mixed = {.kind = CHAT_MIXED};

    if (chat_is_bad(a) || chat_is_bad(b))
        return bad;
    if (chat_is_same(a, b))
        return a;
    if (a.kind == b.kind && a.kind >= CHAT_BOOL && a.kind <= CHAT_TURNS) {
        if (a.may_lack && b.may_lack && a.lack != b.lack)
            return mixed;
        return (struct value){.kind = a.kind,
                              .may_lack = a.may_lack || b.may_lack,
                              .lack = a.may_lack ? a.lack : b.lack,
                              .made = a.made || b.made,
                              .natural = a.natural && b.natural};
    }
    if (a.kind != CHAT_TEXT) {
        const struct value swapped = a;

        a = b;
        b = swapped;
    }
    if (a.kind != CHAT_TEXT || !chat_is_lack(b) || (a.may_lack && a.lack != b.kind))
        return mixed;
    a.known = false;
    a.may_lack = true;
    a.lack = b.kind;
    return a;
}

const struct chat_expr *chat_expr_as(struct lowerer *l, struct value value, enum chat_kind kind)
{
    if (kind == CHAT_TEXT && value.kind != CHAT_TEXT)
        return chat_expr_new(l, CHAT_OP_ABSENT, CHAT_TEXT);
    return value.expr;
}

/* ---- what they are used as ------------------------------------------------------------------------------------------ */

/* Why a text that may be absent has to be there. */
static const char *absence(struct lowerer *l, const struct chat_node *node)
{
    return arena_format(&l->r->cx->arena, "a text is not there: %.*s", (int)(node->end - node->at),
                        l->r->source->text + node->at);
}

/* A text; NULL after an error. */
const struct chat_expr *chat_text_expr(struct lowerer *l, struct value value, const struct chat_node *node)
{
    if (value.kind != CHAT_TEXT) {
        chat_wrong_kind(l, node, "a text", value);
        return NULL;
    }
    if (!value.may_lack)
        return value.expr;
    return chat_made_of(l, CHAT_OP_NEEDED, CHAT_TEXT, absence(l, node), value.expr, NULL, NULL);
}

const struct chat_expr *chat_number_expr(struct lowerer *l, struct value value, const struct chat_node *node)
{
    if (value.kind == CHAT_INT)
        return value.expr;
    chat_wrong_kind(l, node, "a number", value);
    return NULL;
}

/* Whether a text, or a turn, is there that may not be. */
struct value chat_there(struct lowerer *l, struct value value)
{
    const struct chat_expr *expr = value.expr;

    if (value.kind == CHAT_TURN)
        return chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_HAS, CHAT_BOOL,
                                                    expr->text ? "modc_has_neighbour" : "modc_has_turn",
                                                    expr->args[0], expr->args[1], NULL));
    return chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_THERE, CHAT_BOOL, NULL, value.expr, NULL, NULL));
}

struct value chat_truth_of(struct lowerer *l, struct value value)
{
    const struct chat_expr *zero = chat_literal_number(l, CHAT_INT, 0), *count;

    switch (value.kind) {
    case CHAT_UNDEFINED:
    case CHAT_NONE:
        return chat_known_bool(l, false);
    case CHAT_BOOL:
        return value;
    case CHAT_INT:
        return value.known ? chat_known_bool(l, value.expr->number != 0)
                           : chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_BINARY, CHAT_BOOL,
                                                                  "!=", value.expr, zero, NULL));
    case CHAT_TEXT:
        return value.known ? chat_known_bool(l, value.expr->bytes > 0)
                           : chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_FULL, CHAT_BOOL, NULL,
                                                                  value.expr, NULL, NULL));
    case CHAT_TURNS:
        count = chat_made_of(l, CHAT_OP_COUNT, CHAT_INT, NULL, value.expr, NULL, NULL);
        return chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_BINARY, CHAT_BOOL, ">", count, zero, NULL));
    case CHAT_LIST:
        return chat_known_bool(l, value.count > 0);
    case CHAT_TURN: /* it has a role */
        return value.may_lack ? chat_there(l, value) : chat_known_bool(l, true);
    case CHAT_PARTS:
    case CHAT_LOOP:
    case CHAT_NAMESPACE:
    case CHAT_FUNCTION:
        return chat_known_bool(l, true);
    default:
        return bad;
    }
}

struct value chat_not(struct lowerer *l, struct value value)
{
    if (value.kind == CHAT_BOOL && value.known)
        return chat_known_bool(l, value.expr->number == 0);
    if (value.kind == CHAT_BOOL)
        value.expr = chat_contrary(&l->r->cx->arena, value.expr);
    return value;
}

const struct chat_expr *chat_choice(struct lowerer *l, enum chat_kind kind, const struct chat_expr *asked,
                                    const struct chat_expr *then, const struct chat_expr *other)
{
    return chat_made_of(l, CHAT_OP_CHOICE, kind, NULL, asked, then, other);
}

const struct chat_expr *chat_shown(struct lowerer *l, struct value value, const struct chat_node *node)
{
    switch (value.kind) {
    case CHAT_TEXT:
        if (value.may_lack && value.lack != CHAT_UNDEFINED) {
            const char *lack = value.lack == CHAT_NONE ? "None" : "False";

            return chat_choice(l, CHAT_TEXT, chat_there(l, value).expr, value.expr,
                               chat_literal_text(l, lack, strlen(lack)));
        }
        return value.expr;
    case CHAT_INT:
        if (value.known) {
            const char *digits = arena_format(&l->r->cx->arena, "%lld", (long long)value.expr->number);

            return chat_literal_text(l, digits, strlen(digits));
        }
        return chat_made_of(l, CHAT_OP_MADE, CHAT_TEXT, "digits", value.expr, NULL, NULL);
    case CHAT_BOOL:
        if (value.known)
            return value.expr->number ? chat_literal_text(l, "True", 4) : chat_literal_text(l, "False", 5);
        return chat_choice(l, CHAT_TEXT, value.expr, chat_literal_text(l, "True", 4),
                           chat_literal_text(l, "False", 5));
    case CHAT_NONE:
        return chat_literal_text(l, "None", 4);
    case CHAT_UNDEFINED:
        if (!value.name) /* 'a' if x */
            return chat_literal_text(l, "", 0);
        chat_undefined(l, node, value);
        return NULL;
    default:
        chat_wrong_kind(l, node, "a text", value);
        return NULL;
    }
}
