/* chat_value.c - expressions of a template as values: what is known while generating, or an expression of C. See note [values] in
 * chat_lowerer.h. */
#include "template/chat_lowerer.h"

#include <string.h>

#include "modc_template.h"

enum { MOST_WEIGHT = 1000 };

static const struct value bad = {.kind = CHAT_BAD};

/* ---- names -------------------------------------------------------------------------------------------------------- */

static struct value special_value(struct lowerer *l, const struct chat_node *node, int i)
{
    const struct chat_special *special = &l->special[i];

    if (special->state == CHAT_SPECIAL_TEXT)
        return chat_known_text(l, special->text, special->bytes);
    if (special->state == CHAT_SPECIAL_NONE)
        return (struct value){.kind = CHAT_UNDEFINED, .name = node->text};
    chat_refuse(l, node, "no file says which text '%s' is", node->text);
    diag_hint(l->r->cx, "a tokenizer_config.json beside the template may say it: \"%s\": \"<s>\", or null",
              node->text);
    return bad;
}

/* What was said of a name's value. */
static struct value say_again(struct lowerer *l, struct value value)
{
    for (const struct diag_item *said = value.said; said < value.said + value.count; said++) {
        if (said->level == DIAG_HINT)
            diag_hint(l->r->cx, "%s", said->text);
        else
            diag_error(l->r->cx, said->loc, "%s", said->text);
    }
    l->r->failed = true;
    return bad;
}

static struct value name_value(struct lowerer *l, const struct chat_node *node)
{
    struct value value = chat_lookup(l, node->text);

    for (int i = 0; i < CHAT_SPECIALS && value.kind == CHAT_UNDEFINED; i++)
        if (strcmp(node->text, chat_special_names[i]) == 0)
            return special_value(l, node, i);
    if (value.kind == CHAT_REFUSED)
        return say_again(l, value);
    if (value.kind == CHAT_MIXED)
        return chat_refuse(l, node, "'%s' is of another kind in another branch in front of here", node->text);
    return value;
}

/* ---- members ------------------------------------------------------------------------------------------------------ */

static struct value field(struct lowerer *l, struct value turn, const char *name)
{
    struct chat_expr *expr = chat_made_of(l, CHAT_OP_FIELD, CHAT_TEXT, name, turn.expr, NULL, NULL);
    bool needed = strcmp(name, "role") == 0 || strcmp(name, "content") == 0;

    for (int i = 0; i < l->state.present_count; i++)
        needed = needed || (l->state.present[i].turn == turn.expr->variable &&
                            strcmp(l->state.present[i].field, name) == 0);
    return (struct value){.kind = CHAT_TEXT, .may_lack = !needed, .lack = CHAT_UNDEFINED, .expr = expr};
}

/* transformers gives a turn's reasoning_content the name that older templates have, too. */
static struct value turn_member(struct lowerer *l, struct value turn, const char *name)
{
    static const char *const fields[] = {"role", "content", "name", "reasoning_content"};

    if (strcmp(name, "thinking") == 0)
        name = "reasoning_content";
    for (int i = 0; i < COUNT(fields); i++)
        if (strcmp(name, fields[i]) == 0)
            return field(l, turn, fields[i]);
    return (struct value){.kind = CHAT_UNDEFINED, .name = name};
}

static struct value loop_member(struct lowerer *l, const struct loop *loop, const struct chat_node *node)
{
    struct chat_expr *index = chat_expr_new(l, CHAT_OP_INDEX, CHAT_INT);
    const struct chat_expr *count = chat_made_of(l, CHAT_OP_COUNT, CHAT_INT, NULL, loop->turns, NULL, NULL);
    const struct chat_expr *one = chat_literal_number(l, CHAT_INT, 1);
    const struct chat_expr *last = chat_made_of(l, CHAT_OP_BINARY, CHAT_INT, "-", count, one, NULL);
    const struct chat_expr *next = chat_made_of(l, CHAT_OP_BINARY, CHAT_INT, "+", index, one, NULL);
    const struct chat_expr *before = chat_made_of(l, CHAT_OP_BINARY, CHAT_INT, "-", index, one, NULL);
    const struct {
        const char *name;
        enum chat_kind kind;
        const struct chat_expr *expr;
    } members[] = {
        {"index0", CHAT_INT, index},
        {"index", CHAT_INT, next},
        {"first", CHAT_BOOL,
         chat_made_of(l, CHAT_OP_BINARY, CHAT_BOOL, "==", index, chat_literal_number(l, CHAT_INT, 0), NULL)},
        {"last", CHAT_BOOL, chat_made_of(l, CHAT_OP_BINARY, CHAT_BOOL, "==", index, last, NULL)},
        {"length", CHAT_INT, count},
        {"revindex", CHAT_INT, chat_made_of(l, CHAT_OP_BINARY, CHAT_INT, "-", count, index, NULL)},
        {"revindex0", CHAT_INT, chat_made_of(l, CHAT_OP_BINARY, CHAT_INT, "-", last, index, NULL)},
        {"previtem", CHAT_TURN,
         chat_made_of(l, CHAT_OP_AT, CHAT_TURN, "modc_neighbour", loop->turns, before, NULL)},
        {"nextitem", CHAT_TURN,
         chat_made_of(l, CHAT_OP_AT, CHAT_TURN, "modc_neighbour", loop->turns, next, NULL)},
    };

    index->loop = loop->step;
    if (loop->filtered)
        return chat_refuse(l, node, "nothing is known of a loop's steps where it has an 'if'");
    for (int i = 0; i < COUNT(members); i++)
        if (strcmp(node->text, members[i].name) == 0)
            return (struct value){.kind = members[i].kind,
                                  .expr = members[i].expr,
                                  .natural = true,
                                  .may_lack = members[i].kind == CHAT_TURN};
    chat_refuse(l, node, "a loop has no '%s' here", node->text);
    diag_hint(l->r->cx,
              "it has index, index0, first, last, length, revindex, revindex0, previtem and nextitem");
    return bad;
}

/* A function of Python's texts. */
static bool is_of_texts(const char *name)
{
    static const char *const names[] = {
        "capitalize", "casefold",     "center",  "count",    "encode",       "endswith",  "expandtabs",
        "find",       "format",       "index",   "isalnum",  "isalpha",      "isascii",   "isdecimal",
        "isdigit",    "isidentifier", "islower", "isspace",  "isnumeric",    "istitle",   "isprintable",
        "isupper",    "join",         "ljust",   "lower",    "lstrip",       "maketrans", "partition",
        "replace",    "rfind",        "rindex",  "rjust",    "removeprefix", "rsplit",    "removesuffix",
        "rstrip",     "split",        "strip",   "swapcase", "rpartition",   "title",     "startswith",
        "splitlines", "translate",    "upper",   "zfill",    "format_map"};

    for (int i = 0; i < COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return name[0] == '_';
}

static struct value member_of(struct lowerer *l, struct value of, const struct chat_node *node)
{
    struct value value;

    switch (of.kind) {
    case CHAT_TURN:
        return turn_member(l, of, node->text);
    case CHAT_LOOP:
        return loop_member(l, of.loop, node);
    case CHAT_NAMESPACE:
        value = chat_member(l, of, node->text);
        if (value.kind == CHAT_MIXED)
            return chat_refuse(l, node, "'%s' is of another kind in another branch in front of here",
                               node->text);
        return value;
    case CHAT_TEXT: /* Python finds nothing of the name */
        if (is_of_texts(node->text))
            break;
        return (struct value){.kind = CHAT_UNDEFINED, .name = node->text};
    case CHAT_UNDEFINED:
        return chat_undefined(l, node->a, of);
    case CHAT_BAD:
        return bad;
    default:
        break;
    }
    return chat_refuse(l, node, "there is no '%s' of %s here", node->text, chat_kind_name(of));
}

/* There is a first turn and a last one of all. */
static struct value turn_at(struct lowerer *l, struct value turns, const struct chat_expr *i)
{
    const bool end = i->op == CHAT_OP_LITERAL && (i->number == 0 || i->number == -1);

    return (struct value){.kind = CHAT_TURN,
                          .may_lack = !end || !turns.natural,
                          .expr = chat_made_of(l, CHAT_OP_AT, CHAT_TURN, NULL, turns.expr, i, NULL)};
}

static struct value item_of(struct lowerer *l, const struct chat_node *node)
{
    struct value of = chat_value(l, node->a), index = chat_value(l, node->b);
    const struct chat_expr *i = chat_is_bad(of) ? NULL : chat_number_expr(l, index, node->b);
    int64_t known;

    if (!i)
        return bad;
    known = index.known ? index.expr->number : 0;
    known += known < 0 && of.kind == CHAT_LIST ? of.count : 0;
    if (of.kind == CHAT_TURNS)
        return turn_at(l, of, i);
    if (of.kind == CHAT_PARTS)
        return (struct value){
            .kind = CHAT_TEXT,
            .made = of.made,
            .expr = chat_made_of(l, CHAT_OP_PART, CHAT_TEXT, NULL, of.expr->args[0], of.expr->args[1], i)};
    if (of.kind == CHAT_LIST && index.known && known >= 0 && known < of.count)
        return of.items[known];
    if (of.kind == CHAT_UNDEFINED)
        return chat_undefined(l, node->a, of);
    return chat_wrong_kind(l, node->a, "turns, or parts of a text", of);
}

/* A bound of a slice that is not there has this value. */
static const struct chat_expr *bound(struct lowerer *l, const struct chat_node *node, int64_t otherwise)
{
    struct value value;

    if (!node)
        return chat_literal_number(l, CHAT_INT, otherwise);
    value = chat_value(l, node);
    return value.kind == CHAT_NONE ? chat_literal_number(l, CHAT_INT, otherwise)
                                   : chat_number_expr(l, value, node);
}

static struct value slice_of(struct lowerer *l, const struct chat_node *node)
{
    struct value of = chat_value(l, node->a);
    const struct chat_expr *step = bound(l, node->args[2], 1), *from, *until;

    if (chat_is_bad(of) || !step)
        return bad;
    if (of.kind != CHAT_TURNS)
        return chat_wrong_kind(l, node->a, "turns", of);
    if (step->op == CHAT_OP_LITERAL && step->number == -1 && !node->args[0] && !node->args[1])
        return chat_runtime(CHAT_TURNS,
                            chat_made_of(l, CHAT_OP_REVERSED, CHAT_TURNS, NULL, of.expr, NULL, NULL));
    if (step->op != CHAT_OP_LITERAL || step->number != 1)
        return chat_refuse(l, node, "turns are taken one after the other here, or all of them by [::-1]");
    from = bound(l, node->args[0], 0);
    until = bound(l, node->args[1], MODC_END);
    if (!from || !until)
        return bad;
    return chat_runtime(CHAT_TURNS, chat_made_of(l, CHAT_OP_SLICE, CHAT_TURNS, NULL, of.expr, from, until));
}

/* ---- operators ------------------------------------------------------------------------------------------------------ */

static struct value joined(struct lowerer *l, const struct chat_expr *a, const struct chat_expr *b)
{
    const struct chat_expr *sides[2] = {a, b};
    struct chat_expr *join = chat_expr_new(l, CHAT_OP_JOIN, CHAT_TEXT);
    struct arena *arena = &l->r->cx->arena;

    if (!a || !b)
        return bad;
    for (int k = 0; k < 2; k++) {
        const int parts = sides[k]->op == CHAT_OP_JOIN ? sides[k]->count : 1;

        for (int i = 0; i < parts; i++) {
            const struct chat_expr *part = parts == 1 && sides[k]->op != CHAT_OP_JOIN ? sides[k]
                                                                                      : sides[k]->list[i];
            const struct chat_expr *last = join->count > 0 ? join->list[join->count - 1] : NULL;

            if (part->op == CHAT_OP_LITERAL && last && last->op == CHAT_OP_LITERAL) {
                struct text both = text_new(arena);

                text_add_bytes(&both, last->text, last->bytes);
                text_add_bytes(&both, part->text, part->bytes);
                join->list[join->count - 1] = chat_literal_text(l, both.data, both.length);
            } else if (part->op != CHAT_OP_LITERAL || part->bytes > 0) {
                ARENA_PUSH(arena, join->list, join->count, part);
            }
        }
    }
    for (int i = 0; i < join->count; i++)
        join->weight += join->list[i]->weight;
    if (join->count == 0)
        return chat_known_text(l, "", 0);
    if (join->count == 1 && join->list[0]->op == CHAT_OP_LITERAL)
        return chat_known_text(l, join->list[0]->text, join->list[0]->bytes);
    return (struct value){.kind = CHAT_TEXT, .made = true, .expr = join->count == 1 ? join->list[0] : join};
}

static struct value asked(struct lowerer *l, const char *function, const struct chat_expr *a,
                          const struct chat_expr *b)
{
    return chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_ASKED, CHAT_BOOL, function, a, b, NULL));
}

static struct value equal(struct lowerer *l, struct value a, struct value b, const struct chat_node *node)
{
    if (chat_is_bad(a) || chat_is_bad(b))
        return bad;
    if (a.kind == CHAT_TEXT && b.kind == CHAT_TEXT && !(a.known && b.known)) {
        if (a.may_lack && b.may_lack)
            return chat_refuse(l, node, "both texts may not be there");
        return asked(l, "modc_same", a.expr, b.expr);
    }
    if (a.kind == CHAT_TEXT || b.kind == CHAT_TEXT) {
        const struct value text = a.kind == CHAT_TEXT ? a : b, other = a.kind == CHAT_TEXT ? b : a;

        if (other.kind == CHAT_TEXT)
            return chat_known_bool(l, chat_is_same(a, b));
        if (text.may_lack && chat_is_lack(other) && text.lack == other.kind)
            return chat_not(l, chat_there(l, text));
        if (!text.may_lack || text.lack != CHAT_BOOL || (other.kind != CHAT_BOOL && other.kind != CHAT_INT))
            return chat_known_bool(l, false);
    }
    if (a.kind == b.kind && (a.kind == CHAT_INT || a.kind == CHAT_BOOL) && !(a.known && b.known))
        return chat_runtime(CHAT_BOOL,
                            chat_made_of(l, CHAT_OP_BINARY, CHAT_BOOL, "==", a.expr, b.expr, NULL));
    if (a.kind == b.kind && (a.kind <= CHAT_INT))
        return chat_known_bool(l, chat_is_same(a, b));
    if ((a.kind <= CHAT_NONE || b.kind <= CHAT_NONE) && a.kind != CHAT_MIXED && b.kind != CHAT_MIXED)
        return chat_known_bool(l, false);
    return chat_refuse(l, node, "%s and %s are not compared here", chat_kind_name(a), chat_kind_name(b));
}

static struct value either_bool(struct lowerer *l, const char *sign, struct value a, struct value b)
{
    const bool is_or = sign[0] == '|';

    if (chat_is_bad(a) || chat_is_bad(b))
        return bad;
    if (a.known)
        return (a.expr->number != 0) == is_or ? a : b;
    if (b.known)
        return (b.expr->number != 0) == is_or ? b : a;
    return chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_BINARY, CHAT_BOOL, sign, a.expr, b.expr, NULL));
}

static struct value is_in(struct lowerer *l, const struct chat_node *node)
{
    struct value a = chat_value(l, node->a), b = chat_value(l, node->b), found;

    if (chat_is_bad(a) || chat_is_bad(b))
        return bad;
    if (b.kind == CHAT_LIST) {
        found = chat_known_bool(l, false);
        for (int i = 0; i < b.count; i++)
            found = either_bool(l, "||", found, equal(l, a, b.items[i], node));
        return found;
    }
    if (b.kind == CHAT_TURN && a.kind == CHAT_TEXT && a.known) {
        const struct value member = turn_member(l, b, a.expr->text);

        if (member.kind == CHAT_UNDEFINED)
            return chat_known_bool(l, false);
        found = member.may_lack ? chat_there(l, member) : chat_known_bool(l, true);
        return b.may_lack ? either_bool(l, "&&", chat_there(l, b), found) : found;
    }
    if (b.kind == CHAT_TEXT) {
        const struct chat_expr *part = chat_text_expr(l, a, node->a), *text = chat_text_expr(l, b, node->b);

        if (!part || !text)
            return bad;
        return a.known && b.known ? chat_known_bool(l, modc_contains(chat_text_of(b), chat_text_of(a)))
                                  : asked(l, "modc_contains", text, part);
    }
    return chat_wrong_kind(l, node->b, "a text, a list or a turn", b);
}

static struct value compared(struct lowerer *l, const struct chat_node *node)
{
    struct value a = chat_value(l, node->a), b = chat_value(l, node->b);
    const struct chat_expr *x = chat_is_bad(b) ? NULL : chat_number_expr(l, a, node->a);
    const struct chat_expr *y = x ? chat_number_expr(l, b, node->b) : NULL;

    if (!y)
        return bad;
    if (a.known && b.known) {
        const int64_t m = x->number, n = y->number;
        const bool or_equal = node->text[1] == '=';

        return chat_known_bool(l, m == n ? or_equal : (m < n) == (node->text[0] == '<'));
    }
    return chat_runtime(CHAT_BOOL, chat_made_of(l, CHAT_OP_BINARY, CHAT_BOOL, node->text, x, y, NULL));
}

/* Whether a number is of a variable, which may be one more with each turn. */
static bool adds_up(const struct chat_expr *expr)
{
    bool found = expr->op == CHAT_OP_VARIABLE && expr->kind == CHAT_INT;

    for (int i = 0; i < COUNT(expr->args) && expr->kind == CHAT_INT && !found; i++)
        found = expr->args[i] && expr->args[i]->kind == CHAT_INT && adds_up(expr->args[i]);
    return found;
}

static struct value calculated(struct lowerer *l, const struct chat_node *node)
{
    struct value a = chat_value(l, node->a), b = chat_value(l, node->b), value;
    const char sign = node->text[0];
    const struct chat_expr *x, *y;

    if (chat_is_bad(a) || chat_is_bad(b))
        return bad;
    if (sign == '~')
        return joined(l, chat_shown(l, a, node->a), chat_shown(l, b, node->b));
    if (sign == '+' && (a.kind == CHAT_TEXT || b.kind == CHAT_TEXT)) {
        x = chat_text_expr(l, a, node->a);
        return x ? joined(l, x, chat_text_expr(l, b, node->b)) : bad;
    }
    x = chat_number_expr(l, a, node->a);
    y = x ? chat_number_expr(l, b, node->b) : NULL;
    if (!y)
        return bad;
    if (!strchr("+-%", sign))
        return chat_refuse(l, node, "the operator '%s' is not known here", node->text);
    if (sign == '%' && (!b.known || b.expr->number < 1))
        return chat_refuse(l, node->b, "behind '%%' a positive number is known here");
    if (sign != '%' && adds_up(x) && adds_up(y))
        return chat_refuse(l, node, "one variable is not added to another here");
    if (a.known && b.known)
        return chat_known_int(l, sign == '+'   ? x->number + y->number
                                 : sign == '-' ? x->number - y->number
                                               : modc_modulo((int)x->number, (int)y->number));
    value = chat_runtime(CHAT_INT,
                         chat_made_of(l, sign == '%' && !a.natural ? CHAT_OP_MODULO : CHAT_OP_BINARY,
                                      CHAT_INT, node->text, x, y, NULL));
    value.natural = sign == '%' || (sign == '+' && a.natural && b.natural);
    return value;
}

/* `a or b` is a where that is true, else b. */
static struct value either_value(struct lowerer *l, const struct chat_node *node, bool truth)
{
    const bool is_or = node->text[0] == 'o';
    struct value a = truth ? chat_truth(l, node->a) : chat_value(l, node->a);
    struct value is = chat_truth_of(l, a), b, value;

    if (chat_is_bad(is))
        return bad;
    if (is.known && (is.expr->number != 0) == is_or)
        return a;
    b = truth ? chat_truth(l, node->b) : chat_value(l, node->b);
    if (is.known || chat_is_bad(b))
        return b;
    if (a.kind == CHAT_BOOL && b.kind == CHAT_BOOL)
        return either_bool(l, is_or ? "||" : "&&", a, b);
    if (a.may_lack && is_or && a.kind == CHAT_TEXT) /* it is not, where it is taken */
        a.may_lack = false;
    value = chat_either(a, b);
    if (value.kind == CHAT_MIXED || chat_is_bad(value))
        return chat_refuse(l, node, "'%s' stands between %s and %s", node->text, chat_kind_name(a),
                           chat_kind_name(b));
    if (value.known)
        return value;
    value.expr = chat_choice(l, value.kind, is.expr, chat_expr_as(l, is_or ? a : b, value.kind),
                             chat_expr_as(l, is_or ? b : a, value.kind));
    return value;
}

static struct value binary_value(struct lowerer *l, const struct chat_node *node, bool truth)
{
    const char *sign = node->text;

    if (strcmp(sign, "and") == 0 || strcmp(sign, "or") == 0)
        return either_value(l, node, truth);
    if (strcmp(sign, "in") == 0)
        return is_in(l, node);
    if (strcmp(sign, "not in") == 0)
        return chat_not(l, is_in(l, node));
    if (strcmp(sign, "==") == 0)
        return equal(l, chat_value(l, node->a), chat_value(l, node->b), node);
    if (strcmp(sign, "!=") == 0)
        return chat_not(l, equal(l, chat_value(l, node->a), chat_value(l, node->b), node));
    return sign[0] == '<' || sign[0] == '>' ? compared(l, node) : calculated(l, node);
}

static struct value choice_value(struct lowerer *l, const struct chat_node *node)
{
    struct value is = chat_truth(l, node->b), a, b, value;

    if (chat_is_bad(is))
        return bad;
    if (is.known && is.expr->number)
        return chat_value(l, node->a);
    b = node->c ? chat_value(l, node->c) : (struct value){.kind = CHAT_UNDEFINED};
    if (is.known)
        return b;
    a = chat_value(l, node->a);
    value = chat_either(a, b);
    if (value.kind == CHAT_MIXED)
        return chat_refuse(l, node, "'if' stands between %s and %s", chat_kind_name(a), chat_kind_name(b));
    if (value.kind == CHAT_TURN) /* where it is taken it is there, or the call fails */
        value.may_lack = false;
    if (!value.known && value.kind >= CHAT_BOOL && value.kind <= CHAT_TURNS)
        value.expr = chat_choice(l, value.kind, is.expr, chat_expr_as(l, a, value.kind),
                                 chat_expr_as(l, b, value.kind));
    return value;
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

/* Whether a value is of the kinds that Python calls so; a text that may be absent is not always. */
static struct value is_kind(struct lowerer *l, struct value value, bool is, bool absent_is)
{
    if (!value.may_lack || is == absent_is)
        return chat_known_bool(l, is);
    return is ? chat_there(l, value) : chat_not(l, chat_there(l, value));
}

/* A part that may not be there. */
static bool is_far_part(struct value value)
{
    return value.kind == CHAT_TEXT && value.expr->op == CHAT_OP_PART &&
           (value.expr->args[2]->op != CHAT_OP_LITERAL || value.expr->args[2]->number < -1 ||
            value.expr->args[2]->number > 0);
}

static struct value test_value(struct lowerer *l, const struct chat_node *node)
{
    struct value value = chat_value(l, node->a);
    const char *test = node->text;
    const enum chat_kind kind = value.kind, lack = value.lack;
    const bool many = kind == CHAT_TEXT || kind == CHAT_TURN || kind == CHAT_TURNS || kind == CHAT_LIST;

    if (chat_is_bad(value))
        return bad;
    if (is_far_part(value))
        return chat_refuse(l, node, "nobody knows how many parts a text has");
    if ((strcmp(test, "equalto") == 0 || strcmp(test, "eq") == 0) && node->count == 1)
        return equal(l, value, chat_value(l, node->args[0]), node);
    if (node->count > 0)
        return chat_refuse(l, node, "the test '%s' takes no arguments here", test);
    if (strcmp(test, "defined") == 0)
        return is_kind(l, value, kind != CHAT_UNDEFINED, lack != CHAT_UNDEFINED);
    if (strcmp(test, "undefined") == 0)
        return is_kind(l, value, kind == CHAT_UNDEFINED, lack == CHAT_UNDEFINED);
    if (strcmp(test, "none") == 0)
        return is_kind(l, value, kind == CHAT_NONE, lack == CHAT_NONE);
    if (strcmp(test, "string") == 0)
        return is_kind(l, value, kind == CHAT_TEXT, false);
    if (kind > CHAT_LIST)
        return chat_wrong_kind(l, node->a, "a text, a number or turns", value);
    if (strcmp(test, "iterable") == 0 || strcmp(test, "sequence") == 0)
        return is_kind(l, value, many || kind == CHAT_UNDEFINED, lack == CHAT_UNDEFINED);
    if (strcmp(test, "mapping") == 0)
        return is_kind(l, value, kind == CHAT_TURN, false);
    if (strcmp(test, "number") == 0)
        return is_kind(l, value, kind == CHAT_INT || kind == CHAT_BOOL, lack == CHAT_BOOL);
    if (strcmp(test, "boolean") == 0)
        return is_kind(l, value, kind == CHAT_BOOL, lack == CHAT_BOOL);
    if (strcmp(test, "true") == 0 && kind != CHAT_BOOL)
        return chat_known_bool(l, false);
    if (strcmp(test, "false") == 0 && kind != CHAT_BOOL)
        return is_kind(l, value, false, lack == CHAT_BOOL);
    if (strcmp(test, "true") == 0 || strcmp(test, "false") == 0)
        return test[0] == 't' ? value : chat_not(l, value);
    chat_refuse(l, node, "there is no test '%s' here", test);
    diag_hint(
        l->r->cx,
        "tests are defined, undefined, none, string, iterable, sequence, mapping, number, boolean, true, "
        "false and equalto(x)");
    return bad;
}

/* ---- filters and methods of texts -------------------------------------------------------------------------------------- */

/* The argument is there and of the template's own text; the value then. */
static struct value literal_arg(struct lowerer *l, const struct chat_node *node, int i)
{
    struct value value = i < node->count ? chat_value(l, node->args[i]) : bad;

    if (i < node->count &&
        (chat_is_bad(value) || (value.kind == CHAT_TEXT && value.known && value.expr->bytes > 0)))
        return value;
    return chat_refuse(l, node, "it takes a text here that is not empty and that the template says itself");
}

static struct value cut_value(struct lowerer *l, struct value text, const struct chat_expr *expr,
                              const char *function, const struct chat_node *node)
{
    struct value of = bad, value = {.kind = CHAT_TEXT, .made = text.made};
    const bool given = node->count > 0;

    if (given) {
        of = literal_arg(l, node, 0);
        if (chat_is_bad(of))
            return bad;
        function = arena_format(&l->r->cx->arena, "%s_of", function);
    }
    value.expr = chat_made_of(l, CHAT_OP_CUT, CHAT_TEXT, function, expr, given ? of.expr : NULL, NULL);
    return value;
}

static struct value made_value(struct lowerer *l, const char *what, const struct chat_expr *text,
                               const struct chat_expr *a, const struct chat_expr *b)
{
    return (struct value){
        .kind = CHAT_TEXT, .made = true, .expr = chat_made_of(l, CHAT_OP_MADE, CHAT_TEXT, what, text, a, b)};
}

static struct value replaced(struct lowerer *l, const struct chat_expr *text, const struct chat_node *node)
{
    struct value from = literal_arg(l, node, 0), to;

    if (chat_is_bad(from))
        return bad;
    to = node->count == 2 ? chat_value(l, node->args[1]) : (struct value){.kind = CHAT_NONE};
    if (to.kind != CHAT_TEXT || !to.known)
        return chat_refuse(l, node, "'replace' takes two texts here that the template says itself");
    return made_value(l, "replaced", text, from.expr, to.expr);
}

/* What filters and methods have in common; UNDEFINED: it is none of these. */
static struct value text_function(struct lowerer *l, struct value value, const char *name,
                                  const struct chat_node *node)
{
    static const struct {
        const char *name, *function;
    } cuts[] = {{"trim", "modc_strip"},
                {"strip", "modc_strip"},
                {"lstrip", "modc_strip_left"},
                {"rstrip", "modc_strip_right"}},
      makes[] = {{"upper", "upper"},
                 {"lower", "lower"},
                 {"capitalize", "capitalized"},
                 {"title", "title_words"},
                 {"tojson", "json"}};
    const bool filter = node->kind == CHAT_NODE_FILTER;
    const struct chat_node *of = filter ? node->a : node->a->a;
    const bool replaces = strcmp(name, "replace") == 0;

    for (int i = 0; i < COUNT(cuts); i++) {
        const struct chat_expr *text;

        if (strcmp(name, cuts[i].name) != 0 || filter != (i == 0))
            continue;
        text = chat_text_expr(l, value, of);
        return text ? cut_value(l, value, text, cuts[i].function, node) : bad;
    }
    for (int i = 0; i < COUNT(makes); i++) {
        const struct chat_expr *text;

        if (strcmp(name, makes[i].name) != 0 || (!filter && i > 3))
            continue;
        text = chat_text_expr(l, value, of);
        if (text && node->count > 0)
            return chat_refuse(l, node, "'%s' takes no arguments here", name);
        return text ? made_value(l, !filter && i == 3 ? name : makes[i].function, text, NULL, NULL) : bad;
    }
    if (replaces) {
        const struct chat_expr *text = chat_text_expr(l, value, of);

        return text ? replaced(l, text, node) : bad;
    }
    return (struct value){.kind = CHAT_UNDEFINED};
}

static struct value text_method(struct lowerer *l, struct value value, const struct chat_node *node)
{
    const char *name = node->a->text;
    struct value made = text_function(l, value, name, node);
    const bool starts = strcmp(name, "startswith") == 0, ends = strcmp(name, "endswith") == 0;
    const struct chat_expr *text;
    struct value part;

    if (made.kind != CHAT_UNDEFINED)
        return made;
    if (!starts && !ends && strcmp(name, "split") != 0) {
        chat_refuse(l, node->a, "a text has no '%s' here", name);
        diag_hint(
            l->r->cx,
            "it has strip, lstrip, rstrip, upper, lower, capitalize, title, replace, split, startswith and endswith");
        return bad;
    }
    text = chat_text_expr(l, value, node->a->a);
    part = text ? literal_arg(l, node, 0) : bad;
    if (chat_is_bad(part))
        return bad;
    if (node->count > 1)
        return chat_refuse(l, node, "'%s' takes one argument here", name);
    if (!starts && !ends)
        return (struct value){.kind = CHAT_PARTS,
                              .made = value.made,
                              .expr = chat_made_of(l, CHAT_OP_PART, CHAT_TEXT, NULL, text, part.expr,
                                                   chat_literal_number(l, CHAT_INT, 0))};
    if (value.known)
        return chat_known_bool(l, starts ? modc_starts_with(chat_text_of(value), chat_text_of(part))
                                         : modc_ends_with(chat_text_of(value), chat_text_of(part)));
    return asked(l, starts ? "modc_starts_with" : "modc_ends_with", text, part.expr);
}

/* turn.get('name'), turn.get('name', otherwise) */
static struct value turn_method(struct lowerer *l, struct value turn, const struct chat_node *node)
{
    struct value key = node->count > 0 ? chat_value(l, node->args[0]) : bad, member;
    struct value otherwise = node->count == 2 ? chat_value(l, node->args[1])
                                              : (struct value){.kind = CHAT_NONE};

    if (strcmp(node->a->text, "get") != 0 || node->count < 1 || node->count > 2 || key.kind != CHAT_TEXT ||
        !key.known)
        return chat_refuse(l, node,
                           "of a turn's functions get('name') and get('name', otherwise) are known here");
    member = turn_member(l, turn, key.expr->text);
    if (member.kind == CHAT_UNDEFINED)
        return otherwise;
    if (!member.may_lack || chat_is_bad(otherwise))
        return chat_is_bad(otherwise) ? bad : member;
    if (chat_is_lack(otherwise)) {
        member.lack = otherwise.kind;
        return member;
    }
    if (otherwise.kind != CHAT_TEXT)
        return chat_wrong_kind(l, node->args[1], "a text", otherwise);
    otherwise.expr = chat_choice(l, CHAT_TEXT, chat_there(l, member).expr, member.expr, otherwise.expr);
    otherwise.known = false;
    return otherwise;
}

static struct value default_value(struct lowerer *l, struct value value, const struct chat_node *node)
{
    struct value other = node->count > 0 ? chat_value(l, node->args[0]) : chat_known_text(l, "", 0), is,
                 either;
    struct value falsy = node->count > 1 ? chat_truth(l, node->args[1]) : chat_known_bool(l, false);

    if (is_far_part(value))
        return chat_refuse(l, node, "nobody knows how many parts a text has");
    if (chat_is_bad(other) || chat_is_bad(falsy) || !falsy.known || node->count > 2)
        return chat_is_bad(other) || chat_is_bad(falsy)
                   ? bad
                   : chat_refuse(l, node, "'default' takes a value, and true or false, here");
    is = falsy.expr->number ? chat_truth_of(l, value)
                            : is_kind(l, value, value.kind != CHAT_UNDEFINED, value.lack != CHAT_UNDEFINED);
    if (chat_is_bad(is))
        return bad;
    if (is.known)
        return is.expr->number ? value : other;
    value.may_lack = false;
    either = chat_either(value, other);
    if (either.kind == CHAT_MIXED || chat_is_bad(either))
        return chat_refuse(l, node, "'default' stands between %s and %s", chat_kind_name(value),
                           chat_kind_name(other));
    if (!either.known)
        either.expr = chat_choice(l, either.kind, is.expr, value.expr, chat_expr_as(l, other, either.kind));
    return either;
}

static struct value length_of(struct lowerer *l, struct value value, const struct chat_node *node)
{
    struct value length = {.kind = CHAT_INT, .natural = true};
    const struct chat_expr *text;

    if (value.kind == CHAT_LIST)
        return chat_known_int(l, value.count);
    if (value.kind == CHAT_TURNS) {
        length.expr = chat_made_of(l, CHAT_OP_COUNT, CHAT_INT, NULL, value.expr, NULL, NULL);
        return length;
    }
    if (value.kind == CHAT_TEXT && value.known)
        return chat_known_int(l, modc_characters(chat_text_of(value)));
    text = chat_text_expr(l, value, node->a);
    length.expr = text ? chat_made_of(l, CHAT_OP_LENGTH, CHAT_INT, NULL, text, NULL, NULL) : NULL;
    return text ? length : bad;
}

/* The first or the last one. */
static struct value end_of(struct lowerer *l, struct value value, const struct chat_node *node, int64_t i)
{
    if (value.kind == CHAT_TURNS)
        return turn_at(l, value, chat_literal_number(l, CHAT_INT, i));
    if (value.kind == CHAT_PARTS)
        return (struct value){.kind = CHAT_TEXT,
                              .made = value.made,
                              .expr = chat_made_of(l, CHAT_OP_PART, CHAT_TEXT, NULL, value.expr->args[0],
                                                   value.expr->args[1], chat_literal_number(l, CHAT_INT, i))};
    return chat_wrong_kind(l, node->a, "turns, or parts of a text", value);
}

static struct value filter_value(struct lowerer *l, const struct chat_node *node)
{
    struct value value = chat_value(l, node->a), made;
    const char *name = node->text;

    if (chat_is_bad(value))
        return bad;
    made = text_function(l, value, name, node);
    if (made.kind != CHAT_UNDEFINED)
        return made;
    if (strcmp(name, "default") == 0 || strcmp(name, "d") == 0)
        return default_value(l, value, node);
    if (strcmp(name, "length") == 0 || strcmp(name, "count") == 0)
        return length_of(l, value, node);
    if (strcmp(name, "first") == 0 || strcmp(name, "last") == 0)
        return end_of(l, value, node, name[0] == 'f' ? 0 : -1);
    if (strcmp(name, "string") == 0) {
        made.kind = CHAT_TEXT;
        made.expr = chat_shown(l, value, node->a);
        made.known = made.expr && made.expr->op == CHAT_OP_LITERAL;
        made.made = value.kind == CHAT_TEXT ? value.made : value.kind == CHAT_INT;
        return made.expr ? made : bad;
    }
    if (strcmp(name, "list") == 0 && value.kind == CHAT_TURNS)
        return value;
    if (strcmp(name, "reverse") == 0 && value.kind == CHAT_TURNS)
        return chat_runtime(CHAT_TURNS,
                            chat_made_of(l, CHAT_OP_REVERSED, CHAT_TURNS, NULL, value.expr, NULL, NULL));
    chat_refuse(l, node, "there is no filter '%s' of %s here", name, chat_kind_name(value));
    diag_hint(
        l->r->cx,
        "filters of texts are trim, upper, lower, capitalize, title, tojson, replace, length, string and "
        "default; of turns first, last, length, list and reverse");
    return bad;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------- */

/* strftime_now(format): of the time that the caller of the template says. */
static struct value date_value(struct lowerer *l, const struct chat_node *node)
{
    struct value format = literal_arg(l, node, 0);

    if (chat_is_bad(format))
        return bad;
    if (node->count > 1)
        return chat_refuse(l, node, "'strftime_now' takes one text");
    for (size_t i = 0; i < format.expr->bytes; i++) {
        const char *at = format.expr->text + i;
        const size_t left = format.expr->bytes - i;
        const bool bare = left > 1 && at[1] == '-';

        if (at[0] != '%')
            continue;
        if (left < (bare ? 3 : 2) || at[1 + bare] == '\0' ||
            !strchr(bare ? MODC_DATE_NUMBERS : MODC_DATE_LETTERS, at[1 + bare])) {
            const int most = bare ? 3 : 2;

            chat_refuse(l, node->args[0], "'%.*s' is nothing that is known of a date",
                        left < (size_t)most ? (int)left : most, at);
            diag_hint(l->r->cx, "behind '%%' stands one of %s, or '-' and one of %s", MODC_DATE_LETTERS,
                      MODC_DATE_NUMBERS);
            return bad;
        }
        i += bare ? 2 : 1;
    }
    return made_value(l, "dated", format.expr, NULL, NULL);
}

static struct value call_value(struct lowerer *l, const struct chat_node *node)
{
    const struct chat_node *callee = node->a;
    struct value of;

    if (callee->kind == CHAT_NODE_NAME && strcmp(callee->text, "strftime_now") == 0)
        return date_value(l, node);
    if (callee->kind == CHAT_NODE_NAME && strcmp(callee->text, "raise_exception") == 0)
        return chat_refuse(l, node, "'raise_exception' stands alone in {{ }} here");
    if (callee->kind == CHAT_NODE_NAME && strcmp(callee->text, "namespace") == 0)
        return chat_refuse(l, node, "a namespace is made by {%% set name = namespace(...) %%} here");
    if (callee->kind == CHAT_NODE_NAME)
        return chat_refuse(l, callee, "there is no function '%s' here", callee->text);
    if (callee->kind != CHAT_NODE_MEMBER)
        return chat_refuse(l, callee, "only names are called here");
    of = chat_value(l, callee->a);
    if (chat_is_bad(of))
        return bad;
    if (of.kind == CHAT_TURN)
        return turn_method(l, of, node);
    if (of.kind == CHAT_UNDEFINED)
        return chat_undefined(l, callee->a, of);
    return of.kind == CHAT_TEXT ? text_method(l, of, node)
                                : chat_wrong_kind(l, callee->a, "a text or a turn", of);
}

static struct value list_value(struct lowerer *l, const struct chat_node *node)
{
    struct value list = {.kind = CHAT_LIST, .count = node->count};

    list.items = ARENA_ARRAY(&l->r->cx->arena, node->count + 1, struct value);
    for (int i = 0; i < node->count; i++) {
        list.items[i] = chat_value(l, node->args[i]);
        if (chat_is_bad(list.items[i]))
            return bad;
    }
    return list;
}

static struct value value_of(struct lowerer *l, const struct chat_node *node, bool truth)
{
    struct value value;

    switch (node->kind) {
    case CHAT_NODE_TEXT:
        return chat_known_text(l, node->text, node->bytes);
    case CHAT_NODE_INT:
        return chat_known_int(l, node->number);
    case CHAT_NODE_CONST:
        return node->text[0] == 'n' ? (struct value){.kind = CHAT_NONE}
                                    : chat_known_bool(l, strcmp(node->text, "true") == 0);
    case CHAT_NODE_NAME:
        return name_value(l, node);
    case CHAT_NODE_LIST:
        return list_value(l, node);
    case CHAT_NODE_NOT:
        return chat_not(l, chat_truth(l, node->a));
    case CHAT_NODE_MINUS:
        value = chat_value(l, node->a);
        if (value.kind == CHAT_INT && value.known)
            return chat_known_int(l, -value.expr->number);
        return chat_wrong_kind(l, node->a, "a number that the template says itself", value);
    case CHAT_NODE_BINARY:
        return binary_value(l, node, truth);
    case CHAT_NODE_CHOICE:
        return choice_value(l, node);
    case CHAT_NODE_MEMBER:
        return member_of(l, chat_value(l, node->a), node);
    case CHAT_NODE_ITEM:
        return item_of(l, node);
    case CHAT_NODE_SLICE:
        return slice_of(l, node);
    case CHAT_NODE_CALL:
        return call_value(l, node);
    case CHAT_NODE_FILTER:
        return filter_value(l, node);
    case CHAT_NODE_TEST:
        return test_value(l, node);
    }
    return bad;
}

/* Not one that becomes more C than anybody reads: what `or` stands behind is written twice. */
static struct value bounded_value(struct lowerer *l, const struct chat_node *node, bool truth)
{
    struct value value = value_of(l, node, truth);

    if (!chat_is_bad(value) && value.expr && value.expr->weight > MOST_WEIGHT)
        return chat_refuse(l, node, "it is too much for one expression of C");
    return value;
}

struct value chat_value(struct lowerer *l, const struct chat_node *node)
{
    return bounded_value(l, node, false);
}

struct value chat_truth(struct lowerer *l, const struct chat_node *node)
{
    struct value value = bounded_value(l, node, true);

    return chat_is_bad(value) ? bad : chat_truth_of(l, value);
}
