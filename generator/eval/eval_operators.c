/* eval_operators.c - operators over values of all kinds; those over numbers are in eval_numbers.c. */
#include "eval/evaluator.h"

#include <string.h>

const struct operator_row operator_rows[] = {
    [OP_ADD] = {PRIM_ADD, "add"},
    [OP_SUB] = {PRIM_SUB, "sub"},
    [OP_MUL] = {PRIM_MUL, "mul"},
    [OP_DIV] = {PRIM_DIV, "div"},
    [OP_FLOORDIV] = {PRIM_FLOORDIV, "floor_divide"},
    [OP_MOD] = {PRIM_MOD, "remainder"},
    [OP_POW] = {PRIM_POW, "pow"},
    [OP_EQ] = {PRIM_EQ, "eq"},
    [OP_NE] = {PRIM_NE, "ne"},
    [OP_LT] = {PRIM_LT, "lt"},
    [OP_LE] = {PRIM_LE, "le"},
    [OP_GT] = {PRIM_GT, "gt"},
    [OP_GE] = {PRIM_GE, "ge"},
    [OP_BITAND] = {PRIM_AND, "and"},
    [OP_BITOR] = {PRIM_OR, "or"},
    [OP_BITXOR] = {PRIM_XOR, "xor"},
};

struct ev eval_operand_fault(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                             const struct ev *b)
{
    if ((op == OP_AND || op == OP_OR) && ev_is_number(a))
        return eval_depends_on_sizes(eval, loc, a);
    diag_error(eval->cx, loc, "'%s' does not take %s and %s", expr_op_text(op), ev_kind_text(a),
               ev_kind_text(b));
    if (op == OP_IS || op == OP_IS_NOT)
        diag_hint(eval->cx, "compare with %s", op == OP_IS ? "==" : "!=");
    if ((op == OP_AND || op == OP_OR) && (a->kind == EV_TENSOR || b->kind == EV_TENSOR))
        diag_hint(eval->cx, "'%s' takes what is known while generating; for tensors write '%s'",
                  expr_op_text(op), op == OP_AND ? "&" : "|");
    return ev_bad(loc);
}

/* a + b of tuples, lists and strings, a * n and n * a; EV_NONE: not one of these. */
static struct ev sequence_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                                 const struct ev *b)
{
    struct arena *arena = &eval->cx->arena;
    const struct ev *many = a->kind == EV_TUPLE ? a : b, *times = a->kind == EV_TUPLE ? b : a;
    struct ev *items;
    int64_t number, count;

    if (op == OP_ADD && a->kind == EV_STRING && b->kind == EV_STRING)
        return ev_string(loc, arena_format(arena, "%s%s", a->text, b->text));
    if (op == OP_ADD && a->kind == EV_TUPLE && b->kind == EV_TUPLE && a->list == b->list)
        count = (int64_t)a->count + b->count;
    else if (op == OP_MUL && many->kind == EV_TUPLE && ev_get_int(times, &number))
        count = number <= 0 || many->count == 0 ? 0 : number > EVAL_MAX_ITEMS ? number : number * many->count;
    else
        return ev_none(loc);
    if (!ev_fits(eval, loc, count))
        return ev_bad(loc);
    items = ARENA_ARRAY(arena, count + 1, struct ev);
    for (int i = 0; i < count; i++)
        items[i] = op == OP_MUL   ? many->items[i % many->count]
                   : i < a->count ? a->items[i]
                                  : b->items[i - a->count];
    return many->list ? ev_list(eval, loc, items, (int)count) : ev_tuple(eval, loc, items, (int)count);
}

/* `is`: of what there is one of. */
static struct ev eval_is(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                         const struct ev *b)
{
    static const bool single[] = {
        [EV_NONE] = true, [EV_BOOL] = true, [EV_DTYPE] = true, [EV_MODULE] = true, [EV_SPACE] = false};

    if (!single[a->kind] && !single[b->kind])
        return eval_operand_fault(eval, loc, op, a, b);
    return ev_bool(loc, (a->kind == b->kind && ev_equal(a, b)) == (op == OP_IS));
}

static struct ev eval_in(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                         const struct ev *b)
{
    bool found = false;

    if (b->kind == EV_STRING && a->kind == EV_STRING) {
        found = strstr(b->text, a->text) != NULL;
    } else if (b->kind == EV_DICT && a->kind == EV_STRING) {
        found = ev_find_key(b, a->text) >= 0;
    } else if (b->kind == EV_TUPLE && a->kind != EV_TENSOR) {
        for (int i = 0; i < b->count; i++)
            found |= ev_equal(a, &b->items[i]);
    } else if (b->kind == EV_MODULE && a->kind == EV_STRING) {
        found = module_holds_parameters(b->module) ? module_find_tensor(b->module, a->text) != NULL
                                                   : module_child(b->module, a->text) != NULL;
    } else {
        return eval_operand_fault(eval, loc, op, a, b);
    }
    return ev_bool(loc, found == (op == OP_IN));
}

struct ev eval_binary(struct eval *eval, struct loc loc, enum expr_op op, const struct ev *a,
                      const struct ev *b)
{
    bool a_tensor = a->kind == EV_TENSOR, b_tensor = b->kind == EV_TENSOR, truth;
    struct ev out;

    if (a->kind == EV_BAD || b->kind == EV_BAD)
        return ev_bad(loc);
    switch (op) {
    case OP_AND:
    case OP_OR:
        if (!ev_get_bool(a, &truth))
            return eval_operand_fault(eval, loc, op, a, b);
        return truth == (op == OP_OR) ? *a : *b;
    case OP_IS:
    case OP_IS_NOT:
        return eval_is(eval, loc, op, a, b);
    case OP_IN:
    case OP_NOT_IN:
        return eval_in(eval, loc, op, a, b);
    case OP_MATMUL:
        if (a->kind == EV_COMPLEX || b->kind == EV_COMPLEX)
            break;
        if (a_tensor && b_tensor)
            return ev_tensor(loc, eval_matmul(eval, loc, "matmul", a->tensor, b->tensor));
        return eval_operand_fault(eval, loc, op, a, b);
    default:
        break;
    }
    if (a->kind == EV_COMPLEX || b->kind == EV_COMPLEX)
        return eval_complex_binary(eval, loc, op, a, b);
    if (ev_is_number(a) && ev_is_number(b))
        return eval_numbers(eval, loc, op, a, b);
    if ((a_tensor || b_tensor) && (a_tensor || ev_is_number(a)) && (b_tensor || ev_is_number(b)))
        return build_binary(eval, loc, operator_rows[op].prim, operator_rows[op].label, a, b);
    if (op == OP_EQ || op == OP_NE)
        return ev_bool(loc, ev_equal(a, b) == (op == OP_EQ));
    out = sequence_binary(eval, loc, op, a, b);
    return out.kind == EV_NONE ? eval_operand_fault(eval, loc, op, a, b) : out;
}

/* a < b < c: (a < b) and (b < c), with b evaluated once. */
struct ev eval_chain(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev left = eval_expr(eval, scope, expr->items[0]), right, out = left;
    bool truth = true;

    for (int i = 1; i < expr->count && truth; i++) {
        right = eval_expr(eval, scope, expr->items[i]);
        out = eval_binary(eval, expr->loc, expr->chain[i - 1], &left, &right);
        if (out.kind == EV_BAD)
            return out;
        if (out.kind == EV_TENSOR) {
            diag_error(eval->cx, expr->loc, "comparisons of tensors are not chained");
            diag_hint(eval->cx, "write (a < b) & (b < c)");
            return ev_bad(expr->loc);
        }
        ev_get_bool(&out, &truth);
        left = right;
    }
    return out;
}

struct ev eval_unary(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev a = eval_expr(eval, scope, expr->a);
    bool truth;

    if (a.kind == EV_BAD)
        return a;
    if (expr->op == OP_NOT) {
        if (ev_get_bool(&a, &truth))
            return ev_bool(expr->loc, !truth);
        if (ev_is_number(&a))
            return eval_depends_on_sizes(eval, expr->loc, &a);
    } else if (a.kind == EV_TENSOR) {
        struct value *x = a.tensor;
        struct dag *dag = dag_new(&eval->cx->arena, 1);
        int load = dag_load(&eval->cx->arena, dag, 0, x->dtype);

        if (expr->op == OP_POS)
            return a;
        if (expr->op == OP_NEG && x->dtype == DTYPE_BOOL) {
            diag_error(eval->cx, expr->loc, "unary '-' does not take a bool tensor");
            diag_hint(eval->cx, "use '~' or logical_not");
            return ev_bad(expr->loc);
        }
        if (expr->op == OP_INVERT && dtype_is_float(x->dtype)) {
            diag_error(eval->cx, expr->loc, "'~' takes bool or integer tensors, not %s",
                       dtype_rows[x->dtype].name);
            return ev_bad(expr->loc);
        }
        dag->result = dag_prim(&eval->cx->arena, dag, expr->op == OP_NEG ? PRIM_NEG : PRIM_NOT, x->dtype,
                               load, -1, -1);
        return ev_tensor(expr->loc,
                         build_map(eval, expr->loc, expr->op == OP_NEG ? "neg" : "not", dag, &a.tensor, 1));
    } else if (a.kind == EV_FLOAT && expr->op != OP_INVERT) {
        struct ev minus = ev_int(eval, expr->loc, -1);

        return expr->op == OP_POS ? a : eval_binary(eval, expr->loc, OP_MUL, &minus, &a);
    } else if (a.kind == EV_INT || a.kind == EV_BOOL) {
        struct ev zero = ev_int(eval, expr->loc, expr->op == OP_INVERT ? -1 : 0);

        return eval_binary(eval, expr->loc, expr->op == OP_POS ? OP_ADD : OP_SUB, &zero, &a);
    }
    if (a.kind == EV_COMPLEX && expr->op != OP_NOT)
        return eval_complex_unary(eval, expr->loc, expr->op, &a);
    diag_error(eval->cx, expr->loc, "'%s' does not take %s", expr_op_text(expr->op), ev_kind_text(&a));
    if (expr->op == OP_NOT && a.kind == EV_TENSOR)
        diag_hint(eval->cx, "'not' takes what is known while generating; for tensors write '~'");
    return ev_bad(expr->loc);
}
