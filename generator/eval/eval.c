/* eval.c - runs expressions and statements over known and unknown values. Building ops is in build.c.
 *
 * Apart from the parser, because the same trees run twice: while the module tree is built (constants, arguments, shapes)
 * and while graphs are lowered. */
#include "eval/evaluator.h"

#include <string.h>

bool eval_in_training(struct eval *eval)
{
    if (eval->graph)
        eval->graph->asks_mode = true;
    return eval->training;
}

bool eval_condition(struct eval *eval, struct scope *scope, const struct expr *expr, bool *truth)
{
    struct ev condition = eval_expr(eval, scope, expr);

    if (condition.kind == EV_BAD)
        return false;
    if (ev_get_bool(&condition, truth))
        return true;
    if (ev_is_number(&condition)) {
        eval_depends_on_sizes(eval, expr->loc, &condition);
        return false;
    }
    diag_error(eval->cx, expr->loc, "a condition must be known while generating, found %s",
               ev_kind_text(&condition));
    if (condition.kind == EV_TENSOR)
        diag_hint(eval->cx, "where(condition, a, b) chooses by a tensor");
    return false;
}

static struct ev eval_if(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    bool truth;

    if (!eval_condition(eval, scope, expr->b, &truth))
        return ev_bad(expr->loc);
    return eval_expr(eval, scope, truth ? expr->a : expr->c);
}

/* Items that are found one by one. */
struct found {
    struct ev *items;
    int count;
};

/* Adds what a comprehension gives, in a scope of its own. False after a fault. */
static bool comprehend(struct eval *eval, struct scope *scope, const struct expr *expr, struct found *found)
{
    struct ev over = eval_expr(eval, scope, expr->b), *items, value;
    int count;
    bool fine = eval_through(eval, expr->b->loc, &over, &items, &count);

    eval->loops++;
    for (int i = 0; i < count && fine; i++) {
        struct scope *own = ARENA_NEW(&eval->cx->arena, struct scope);
        bool wanted = true;

        own->outer = scope;
        fine = eval_spend(eval, expr->loc, 1);
        if (fine)
            eval_assign(eval, own, expr->c, ev_fresh(eval, items[i]));
        for (int k = 0; k < expr->count && fine && wanted; k++)
            fine = eval_condition(eval, own, expr->items[k], &wanted);
        if (!fine || !wanted)
            continue;
        if (expr->tuple) {
            fine = comprehend(eval, own, expr->a, found);
            continue;
        }
        value = eval_expr(eval, own, expr->a);
        fine = value.kind != EV_BAD && ev_fits(eval, expr->loc, (int64_t)found->count + 1);
        if (fine)
            ARENA_PUSH(&eval->cx->arena, found->items, found->count, value);
    }
    eval->loops--;
    return fine;
}

/* 3 x Linear(4, 4): as many values as the number says. */
static bool eval_repeated(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev **items,
                          int *count)
{
    struct ev times = eval_expr(eval, scope, expr->a), value;
    int64_t number;

    if (times.kind != EV_BAD &&
        (!eval->building || !ev_get_int(&times, &number) || number < 0 || number > EVAL_MAX_REPEAT)) {
        diag_error(eval->cx, expr->a->loc, "the number of modules must be an integer from 0 to %d, found %s",
                   EVAL_MAX_REPEAT, ev_text(eval, &times));
        times.kind = EV_BAD;
    }
    for (int64_t i = 0; times.kind != EV_BAD && i < number; i++) {
        value = eval_expr(eval, scope, expr->b);
        if (value.kind == EV_BAD)
            return false;
        ARENA_PUSH(&eval->cx->arena, *items, *count, value);
    }
    return times.kind != EV_BAD;
}

bool eval_several(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev **items,
                  int *count)
{
    const bool star = expr->kind == EXPR_STAR;
    struct ev value;

    *items = NULL;
    *count = 0;
    if (expr->kind == EXPR_REPEAT)
        return eval_repeated(eval, scope, expr, items, count);
    value = eval_expr(eval, scope, star ? expr->a : expr);
    if (star)
        return eval_through(eval, expr->loc, &value, items, count);
    ARENA_PUSH(&eval->cx->arena, *items, *count, value);
    return true;
}

bool eval_listed(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev **items,
                 int *count)
{
    struct found found = {0};
    bool fine = true;

    if (expr->count == 1 && expr->items[0]->kind == EXPR_FOR) {
        fine = comprehend(eval, scope, expr->items[0], &found);
    } else {
        for (int i = 0; i < expr->count; i++) {
            struct ev *several;
            int many;

            fine &= eval_several(eval, scope, expr->items[i], &several, &many);
            for (int k = 0; k < many; k++)
                ARENA_PUSH(&eval->cx->arena, found.items, found.count, several[k]);
        }
    }
    *items = found.items;
    *count = found.count;
    return fine;
}

static struct ev eval_items(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    const int changes = eval->changes;
    struct ev *items;
    int count;

    if (!eval_listed(eval, scope, expr, &items, &count))
        return ev_bad(expr->loc);
    for (int i = 0; i < count && eval->changes > changes; i++) /* what stands behind may have changed it */
        items[i] = ev_fresh(eval, items[i]);
    return expr->kind == EXPR_LIST ? ev_list(eval, expr->loc, items, count)
                                   : ev_tuple(eval, expr->loc, items, count);
}

/* (x for x in xs), which is gone through at once. */
static struct ev eval_generator(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct found found = {0};

    return comprehend(eval, scope, expr, &found) ? ev_tuple(eval, expr->loc, found.items, found.count)
                                                 : ev_bad(expr->loc);
}

/* A dict of which keys are computed; a later one of the same key counts. */
static struct ev eval_key_pairs(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev out = ev_dict(eval, expr->loc, NULL, NULL, 0);

    for (int i = 0; i < expr->count; i++) {
        struct found found = {0};
        struct ev item;

        if (expr->items[i]->kind == EXPR_FOR && !expr->names[i]) {
            if (!comprehend(eval, scope, expr->items[i], &found))
                return ev_bad(expr->loc);
        } else {
            item = eval_expr(eval, scope, expr->items[i]);
            if (expr->names[i]) {
                struct ev pair[2] = {ev_string(expr->name_locs[i], expr->names[i]), item};

                item = ev_tuple(eval, expr->loc, pair, 2);
            }
            ARENA_PUSH(&eval->cx->arena, found.items, found.count, item);
        }
        for (int k = 0; k < found.count; k++) {
            const struct ev *pair = &found.items[k];

            if (pair->kind == EV_BAD)
                return *pair;
            if (pair->items[0].kind != EV_STRING) {
                diag_error(eval->cx, pair->items[0].loc, "the names in braces are strings, found %s",
                           ev_text(eval, &pair->items[0]));
                return ev_bad(expr->loc);
            }
            if (!ev_set_key(eval, expr->loc, &out, pair->items[0].text, pair->items[1]))
                return ev_bad(expr->loc);
        }
    }
    return ev_fresh(eval, out);
}

static struct ev eval_lambda(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct arena *arena = &eval->cx->arena;
    struct spec_function function = {
        .name = "lambda", .loc = expr->loc, .args = expr->args, .arg_count = expr->arg_count};
    struct stmt *stmt = ARENA_NEW(arena, struct stmt);

    *stmt = (struct stmt){.kind = STMT_RETURN, .loc = expr->a->loc, .value = expr->a, .end = expr->end};
    ARENA_PUSH(arena, function.statements, function.count, stmt);
    return eval_function(eval, scope, function);
}

struct ev eval_function(struct eval *eval, struct scope *scope, struct spec_function function)
{
    struct spec_function *own = ARENA_NEW(&eval->cx->arena, struct spec_function);

    *own = function;
    own->has_args = true;
    return (struct ev){
        .kind = EV_FUNCTION, .loc = own->loc, .text = own->name, .spec_function = own, .names = scope};
}

/* (y := f(x)), which binds around a comprehension that it stands in. */
static struct ev eval_walrus(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev value = eval_expr(eval, scope, expr->a);
    struct expr target = *expr;

    while (!scope->statements && scope->outer && !scope->find)
        scope = scope->outer;
    target.kind = EXPR_NAME;
    if (value.kind != EV_BAD)
        eval_assign(eval, scope, &target, value);
    return value;
}

static struct ev eval_dict(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev *items = ARENA_ARRAY(&eval->cx->arena, expr->count + 1, struct ev);

    for (int i = 0; i < expr->count; i++)
        if (!expr->names[i])
            return eval_key_pairs(eval, scope, expr);
    for (int i = 0; i < expr->count; i++) {
        items[i] = eval_expr(eval, scope, expr->items[i]);
        for (int k = 0; k < i; k++) {
            if (strcmp(expr->names[k], expr->names[i]) != 0)
                continue;
            diag_error(eval->cx, expr->name_locs[i], "the key '%s' is given twice", expr->names[i]);
            return ev_bad(expr->loc);
        }
    }
    return ev_dict(eval, expr->loc, expr->names, items, expr->count);
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
        a = ev_fresh(eval, a); /* b may have changed it in place */
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
    case EXPR_IMAGINARY:
        return eval_complex_number(eval, expr->loc, 0, expr->number);
    case EXPR_STRING:
        return ev_string(expr->loc, expr->text);
    case EXPR_NAME:
        return eval_name(eval, scope, expr);
    case EXPR_TUPLE:
    case EXPR_LIST:
        return eval_items(eval, scope, expr);
    case EXPR_DICT:
        return eval_dict(eval, scope, expr);
    case EXPR_FORMAT:
        return eval_format(eval, scope, expr);
    case EXPR_FOR:
        return eval_generator(eval, scope, expr);
    case EXPR_CALL:
        return eval_call(eval, scope, expr);
    case EXPR_ATTR: {
        const struct ev base = eval_expr(eval, scope, expr->a);

        return eval_attribute(eval, &base, expr);
    }
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
    case EXPR_LAMBDA:
        return eval_lambda(eval, scope, expr);
    case EXPR_WALRUS:
        return eval_walrus(eval, scope, expr);
    case EXPR_IF:
        return eval_if(eval, scope, expr);
    case EXPR_REPEAT:
        diag_error(eval->cx, expr->loc, "modules are repeated only where a list of modules is written");
        return ev_bad(expr->loc);
    case EXPR_STAR: /* stands where the parser takes it alone */
    case EXPR_BAD:
        break;
    }
    return ev_bad(expr->loc);
}
