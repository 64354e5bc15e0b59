/* eval.c - runs expressions and statements over known and unknown values. Building ops is in build.c.
 *
 * Apart from the parser, because the same trees run twice: while the module tree is built (constants, arguments, shapes)
 * and while graphs are lowered. */
#include "eval/evaluator.h"

static struct ev eval_if(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev condition = eval_expr(eval, scope, expr->b);
    bool truth;

    if (condition.kind == EV_BAD)
        return condition;
    if (!ev_get_bool(&condition, &truth)) {
        if (ev_is_number(&condition))
            return eval_depends_on_sizes(eval, expr->b->loc, &condition);
        diag_error(eval->cx, expr->b->loc, "a condition must be known while generating, found %s",
                   ev_kind_text(&condition));
        if (condition.kind == EV_TENSOR)
            diag_hint(eval->cx, "where(condition, a, b) chooses by a tensor");
        return ev_bad(expr->loc);
    }
    return eval_expr(eval, scope, truth ? expr->a : expr->c);
}

static struct ev eval_items(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev *items = ARENA_ARRAY(&eval->cx->arena, expr->count + 1, struct ev), out;

    const int changes = eval->changes;

    for (int i = 0; i < expr->count; i++)
        items[i] = eval_expr(eval, scope, expr->items[i]);
    out = ev_tuple(eval, expr->loc, items, expr->count);
    out.list = expr->kind == EXPR_LIST;
    return eval->changes > changes ? build_newest_of(eval, out)
                                   : out; /* what stands behind may have changed it */
}

static struct ev eval_slice(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    const struct expr *parts[3] = {expr->a, expr->b, expr->c};
    struct ev out = {.kind = EV_SLICE, .loc = expr->loc, .count = 3};

    out.items = ARENA_ARRAY(&eval->cx->arena, 3, struct ev);
    for (int i = 0; i < 3; i++) {
        out.items[i] = parts[i] ? eval_expr(eval, scope, parts[i]) : ev_none(expr->loc);
        if (out.items[i].kind == EV_BAD)
            return ev_bad(expr->loc);
    }
    return out;
}

static struct ev eval_operands(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev a = eval_expr(eval, scope, expr->a), b;
    bool truth;

    if ((expr->op == OP_AND || expr->op == OP_OR) && ev_get_bool(&a, &truth) && truth == (expr->op == OP_OR))
        return a; /* the other side is not evaluated */
    b = eval_expr(eval, scope, expr->b);
    if (a.kind == EV_TENSOR || a.kind == EV_COMPLEX)
        a = build_newest_of(eval, a); /* b may have changed it in place */
    return eval_binary(eval, expr->loc, expr->op, &a, &b);
}

struct ev eval_expr(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    if (build_is_full(eval, expr->loc))
        return ev_bad(expr->loc);
    switch (expr->kind) {
    case EXPR_NONE:
        return ev_none(expr->loc);
    case EXPR_BOOL:
        return ev_bool(expr->loc, expr->integer != 0);
    case EXPR_INT:
        return ev_int(eval, expr->loc, expr->integer);
    case EXPR_FLOAT:
        return ev_float(expr->loc, expr->number);
    case EXPR_STRING:
        return ev_string(expr->loc, expr->text);
    case EXPR_NAME:
        return eval_name(eval, scope, expr);
    case EXPR_TUPLE:
    case EXPR_LIST:
        return eval_items(eval, scope, expr);
    case EXPR_DICT:
        diag_error(eval->cx, expr->loc,
                   "a mapping stands in ModuleDict, ParameterDict and OrderedDict alone");
        return ev_bad(expr->loc);
    case EXPR_CALL:
        return eval_call(eval, scope, expr);
    case EXPR_ATTR:
        return eval_attribute(eval, scope, expr);
    case EXPR_INDEX:
        return eval_index(eval, scope, expr);
    case EXPR_SLICE:
        return eval_slice(eval, scope, expr);
    case EXPR_ELLIPSIS:
        return (struct ev){.kind = EV_ELLIPSIS, .loc = expr->loc};
    case EXPR_UNARY:
        return eval_unary(eval, scope, expr);
    case EXPR_BINARY:
        return eval_operands(eval, scope, expr);
    case EXPR_CHAIN:
        return eval_chain(eval, scope, expr);
    case EXPR_IF:
        return eval_if(eval, scope, expr);
    case EXPR_REPEAT:
    case EXPR_FOR:
        diag_error(eval->cx, expr->loc, "modules are repeated only where a list of modules is written");
        return ev_bad(expr->loc);
    case EXPR_BAD:
        break;
    }
    return ev_bad(expr->loc);
}
