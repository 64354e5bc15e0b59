/* eval_flow.c - runs statements: loops are unrolled, and of branches the one runs whose condition holds.
 *
 * note [unrolling]
 * All that decides how statements run is known while generating, so a loop becomes its iterations and an `if` one of its
 * blocks. A run of equal instances of a class becomes a loop of the emitted code again in passes/roll.c. The first fault of a
 * loop ends it, since the next iterations would say it again; what it binds is bad then. `spent` counts what loops do, so that
 * no spec takes long. */
#include "eval/evaluator.h"

#include <assert.h>
#include <string.h>

#include "graph/graph.h"

enum flow { FLOW_NEXT, FLOW_RETURN, FLOW_BREAK, FLOW_CONTINUE };

/* Statements of one function that run. */
struct run {
    struct eval *eval;
    struct scope *scope;
    bool once;          /* the first fault ends all */
    int loops;          /* that run, in one another */
    const char *caught; /* the exception whose `except` runs */
    struct ev result;
};

static enum flow run_list(struct run *run, struct stmt *const *list, int count);

static enum flow run_block(struct run *run, const struct stmt_block *block)
{
    return run_list(run, block->list, block->count);
}

static enum flow leave(struct run *run, struct ev result)
{
    run->result = result;
    return FLOW_RETURN;
}

/* ---- faults ---- */

static void bind_bad(struct run *run, const struct expr *target)
{
    if (target->kind == EXPR_NAME)
        scope_bind(run->eval, run->scope, target->text, ev_bad(target->loc));
    for (int i = 0; target->kind == EXPR_TUPLE && i < target->count; i++)
        bind_bad(run, target->items[i]);
}

/* It is not known which statements run: what they bind is bad, and where one of them returns, so is the result. */
static void abandon(struct run *run, const struct stmt *stmt)
{
    for (int i = 0; i < stmt->target_count; i++)
        bind_bad(run, stmt->targets[i]);
    run->scope->partial |= stmt->kind == STMT_RETURN || stmt->kind == STMT_DEL;
    for (int i = 0; i < stmt->block_count && stmt->kind != STMT_DEF; i++)
        for (int k = 0; k < stmt->blocks[i].count; k++)
            abandon(run, stmt->blocks[i].list[k]);
}

static enum flow give_up(struct run *run, const struct stmt *stmt)
{
    abandon(run, stmt);
    return run->once ? leave(run, ev_bad(stmt->loc)) : FLOW_NEXT;
}

/* ---- if, for, with ---- */

static enum flow run_if(struct run *run, const struct stmt *stmt)
{
    for (int i = 0; i < stmt->block_count; i++) {
        const struct stmt_block *block = &stmt->blocks[i];
        bool truth = true;

        if (block->condition && !eval_condition(run->eval, run->scope, block->condition, &truth))
            return give_up(run, stmt);
        if (truth)
            return run_block(run, block);
    }
    return FLOW_NEXT;
}

/* Which iteration a fault is in, by the values of its names as far as a line has room for them. */
static void note_iteration(struct run *run, const struct stmt *stmt, const struct ev *item, int i, int count)
{
    struct eval *eval = run->eval;
    const struct ev *names = item->kind == EV_TUPLE ? item->items : item;
    const int name_count = item->kind == EV_TUPLE ? item->count : 1;
    struct text values = text_new(&eval->cx->arena);

    for (int k = 0; k < name_count; k++) {
        const char *value = names[k].kind == EV_MODULE                              ? names[k].module->path
                            : ev_is_number(&names[k]) || names[k].kind == EV_STRING ? ev_text(eval, &names[k])
                                                                                    : NULL;

        if (value && value[0] && values.length < 60)
            text_printf(&values, "%s%s", values.length > 0 ? ", " : ": ", value);
    }
    diag_note(eval->cx, stmt->loc, "in iteration %d of %d%s", i + 1, count,
              values.length > 0 ? values.data : "");
}

static enum flow run_while(struct run *run, const struct stmt *stmt)
{
    struct eval *eval = run->eval;
    enum flow flow = FLOW_NEXT;
    bool truth = true;

    eval->loops++;
    run->loops++;
    while (flow == FLOW_NEXT) {
        const int errors = diag_faults(eval->cx);

        if (!eval_condition(eval, run->scope, stmt->value, &truth) || !eval_spend(eval, stmt->loc, 1)) {
            flow = give_up(run, stmt);
            break;
        }
        if (!truth)
            break;
        flow = run_block(run, &stmt->blocks[0]);
        if (flow == FLOW_CONTINUE)
            flow = FLOW_NEXT;
        if (diag_faults(eval->cx) == errors && eval->spent <= EVAL_MAX_STEPS)
            continue;
        flow = give_up(run, stmt);
        break;
    }
    eval->loops--;
    run->loops--;
    if (flow == FLOW_BREAK)
        return FLOW_NEXT;
    return flow == FLOW_NEXT && !truth && stmt->block_count > 1 ? run_block(run, &stmt->blocks[1]) : flow;
}

static enum flow run_for(struct run *run, const struct stmt *stmt)
{
    struct eval *eval = run->eval;
    struct ev over = eval_expr(eval, run->scope, stmt->value), *items;
    enum flow flow = FLOW_NEXT;
    int count;

    if (!eval_through(eval, stmt->value->loc, &over, &items, &count))
        return give_up(run, stmt);
    eval->loops++;
    run->loops++;
    for (int i = 0; i < count && flow == FLOW_NEXT; i++) {
        const int errors = diag_faults(eval->cx);

        eval_assign(eval, run->scope, stmt->targets[0], ev_fresh(eval, items[i]));
        if (eval_spend(eval, stmt->loc, 1))
            flow = run_block(run, &stmt->blocks[0]);
        if (flow == FLOW_CONTINUE)
            flow = FLOW_NEXT;
        if (diag_faults(eval->cx) == errors && eval->spent <= EVAL_MAX_STEPS)
            continue;
        if (!run->once && diag_faults(eval->cx) > errors)
            note_iteration(run, stmt, &items[i], i, count);
        eval->loops--;
        run->loops--;
        return give_up(run, stmt);
    }
    eval->loops--;
    run->loops--;
    if (flow == FLOW_BREAK)
        return FLOW_NEXT;
    return flow == FLOW_NEXT && stmt->block_count > 1 ? run_block(run, &stmt->blocks[1]) : flow;
}

/* Tensors in it that ops from `first` on make, without their gradients. */
static struct ev without_grad(struct eval *eval, struct ev value, int first)
{
    struct ev *items;
    struct ev function;

    if (value.kind == EV_COMPLEX) {
        const struct ev pairs = without_grad(eval, ev_tensor(value.loc, value.tensor), first);

        value.tensor = pairs.tensor;
        return value;
    }
    if (value.kind == EV_TENSOR && dtype_is_float(value.tensor->dtype) && value.tensor->op &&
        value.tensor->op->code != GRAPH_OP_TENSOR && value.tensor->op->code != GRAPH_OP_INPUT &&
        graph_position(eval->graph, value.tensor->op) >= first &&
        eval_find_function("detach", FUNCTION_TORCH, value.loc, &function))
        return function.function->build(eval, &value, 1, value.loc);
    if (value.kind != EV_TUPLE && value.kind != EV_DICT)
        return value;
    items = ARENA_ARRAY(&eval->cx->arena, value.count + 1, struct ev);
    for (int i = 0; i < value.count; i++)
        items[i] = without_grad(eval, value.items[i], first);
    value.items = items;
    if (value.cell && value.count > 0)
        memcpy(value.cell->items, items, sizeof *items * (size_t)value.count);
    return value;
}

struct ev eval_without_grad(struct eval *eval, struct ev value)
{
    return eval->no_grad ? without_grad(eval, value, 0) : value;
}

static enum flow run_inside(struct run *run, const struct stmt *stmt)
{
    return run_block(run, &stmt->blocks[0]);
}

/* What is made inside has no gradients for those who read it behind. */
static enum flow run_no_grad(struct run *run, const struct stmt *stmt)
{
    struct eval *eval = run->eval;
    const bool outer = eval->no_grad;
    const int first = eval->graph ? eval->graph->op_count : 0;
    enum flow flow;

    eval->no_grad = true;
    flow = run_block(run, &stmt->blocks[0]);
    eval->no_grad = outer;
    if (!eval->graph || eval->building)
        return flow;
    for (int i = 0; i < run->scope->count; i++) {
        struct ev *value = &run->scope->items[i].value;

        *value = without_grad(eval, ev_fresh(eval, *value), first);
    }
    if (flow == FLOW_RETURN)
        run->result = without_grad(eval, run->result, first);
    return flow;
}

/* Contexts by their last name: of torch, torch.autograd, torch.amp, torch.cuda.amp. */
static const struct {
    const char *name;
    enum flow (*run)(struct run *run, const struct stmt *stmt);
} contexts[] = {
    {"no_grad", run_no_grad},
    {"inference_mode", run_no_grad},
    {"cached", run_inside}, /* of parametrize: a parameter is computed once for each call anyhow */
};

static enum flow run_with(struct run *run, const struct stmt *stmt)
{
    const struct expr *callee = stmt->value->kind == EXPR_CALL ? stmt->value->a : NULL;

    if (stmt->value->kind == EXPR_BAD)
        return give_up(run, stmt);
    for (int i = 0; callee && (callee->kind == EXPR_ATTR || callee->kind == EXPR_NAME) && i < COUNT(contexts);
         i++)
        if (strcmp(callee->text, contexts[i].name) == 0 && stmt->value->count == 0)
            return contexts[i].run(run, stmt);
    diag_error(run->eval->cx, stmt->value->loc, "'with' takes torch.no_grad() or torch.inference_mode()");
    diag_hint(run->eval->cx,
              "leave it out, and its block further to the left: types and devices are the model's");
    return give_up(run, stmt);
}

/* ---- assert, raise ---- */

/* a op b of integers of which sizes decide one: a call needs it. False: it is none of these, and nothing was done. */
static bool need_comparison(struct eval *eval, enum expr_op op, const struct ev *a, const struct ev *b)
{
    struct arena *arena = &eval->cx->arena;
    const struct dim *one = dim_const(arena, 1), *up, *down;
    int64_t known;

    if (a->kind != EV_INT || b->kind != EV_INT || op < OP_EQ || op > OP_GE || op == OP_NE)
        return false;
    up = dim_sub(arena, b->dim, a->dim);
    down = dim_sub(arena, a->dim, b->dim);
    if (dim_is_const(up, &known))
        return false;
    if (op == OP_LT)
        up = dim_sub(arena, up, one);
    if (op == OP_GT)
        down = dim_sub(arena, down, one);
    if (dim_upper(op == OP_GT || op == OP_GE ? down : up) < 0 || (op == OP_EQ && dim_upper(down) < 0))
        return false; /* it never holds */
    if (op != OP_GT && op != OP_GE)
        build_need(eval, up);
    if (op != OP_LT && op != OP_LE)
        build_need(eval, down);
    return true;
}

/* False after an error, or (with *holds false) where it does not hold. Sizes that decide it make it a condition of a call. */
static bool check(struct run *run, const struct expr *expr, bool *holds)
{
    struct eval *eval = run->eval;
    struct ev a, b, out;

    *holds = true;
    if (expr->kind == EXPR_BINARY && expr->op == OP_AND)
        return check(run, expr->a, holds) && (!*holds || check(run, expr->b, holds));
    if (expr->kind == EXPR_BINARY && expr->op >= OP_EQ && expr->op <= OP_GE) {
        a = eval_expr(eval, run->scope, expr->a);
        b = eval_expr(eval, run->scope, expr->b);
        if (need_comparison(eval, expr->op, &a, &b))
            return true;
        out = eval_binary(eval, expr->loc, expr->op, &a, &b);
    } else if (expr->kind == EXPR_CHAIN) {
        a = eval_expr(eval, run->scope, expr->items[0]);
        for (int i = 1; i < expr->count; i++, a = b) {
            b = eval_expr(eval, run->scope, expr->items[i]);
            if (need_comparison(eval, expr->chain[i - 1], &a, &b))
                continue;
            out = eval_binary(eval, expr->loc, expr->chain[i - 1], &a, &b);
            if (out.kind == EV_BAD || !ev_get_bool(&out, holds) || !*holds)
                break;
        }
        if (a.kind != EV_TENSOR && b.kind != EV_TENSOR)
            return a.kind != EV_BAD && b.kind != EV_BAD;
        out = a.kind == EV_TENSOR ? a : b;
    } else {
        out = eval_expr(eval, run->scope, expr);
    }
    if (out.kind == EV_BAD || ev_get_bool(&out, holds))
        return out.kind != EV_BAD;
    if (ev_is_number(&out)) {
        eval_depends_on_sizes(eval, expr->loc, &out);
    } else {
        diag_error(eval->cx, expr->loc, "what is asserted must be known while generating, found %s",
                   ev_kind_text(&out));
        if (out.kind == EV_TENSOR)
            diag_hint(eval->cx, "leave it out: values of tensors are known to a call alone");
    }
    return false;
}

/* The text of a message, or what is said without one. */
static const char *message_text(struct run *run, const struct expr *message, const char *otherwise)
{
    struct ev value = message ? eval_expr(run->eval, run->scope, message) : ev_none(run->result.loc);

    if (value.kind == EV_STRING)
        return value.text;
    return value.kind == EV_BAD || value.kind == EV_NONE ? otherwise : ev_text(run->eval, &value);
}

static enum flow run_assert(struct run *run, const struct stmt *stmt, const struct expr *condition,
                            const struct expr *message)
{
    bool holds;

    if (!check(run, condition, &holds))
        return run->once ? leave(run, ev_bad(stmt->loc)) : FLOW_NEXT;
    if (holds)
        return FLOW_NEXT;
    eval_raises(run->eval, "AssertionError");
    diag_error(run->eval->cx, stmt->loc, "this does not hold: %s",
               message_text(run, message, expr_source(run->eval->cx, condition)));
    return leave(run, ev_bad(stmt->loc));
}

static enum flow run_raise(struct run *run, const struct stmt *stmt)
{
    const struct expr *raised = stmt->value, *name = raised && raised->kind == EXPR_CALL ? raised->a : raised;
    const struct expr *message = raised && raised->kind == EXPR_CALL && raised->count > 0 ? raised->items[0]
                                                                                          : NULL;
    const char *text = message_text(run, message, "");

    if (!raised) {
        eval_raises(run->eval, run->caught);
        diag_error(run->eval->cx, stmt->loc, "the statements raise %s again",
                   run->caught ? run->caught : "an exception");
        return leave(run, ev_bad(stmt->loc));
    }
    if (name->kind == EXPR_NAME || name->kind == EXPR_ATTR)
        eval_raises(run->eval, name->text);
    if (raised->kind != EXPR_BAD)
        diag_error(run->eval->cx, stmt->loc, "the statements raise %s%s%s",
                   name->kind == EXPR_NAME || name->kind == EXPR_ATTR ? name->text : "an exception",
                   text[0] ? ": " : "", text);
    return leave(run, ev_bad(stmt->loc));
}

/* torch._assert(condition, message) */
static bool is_assert_call(const struct expr *expr)
{
    return expr->kind == EXPR_CALL && expr->count == 2 &&
           (expr->a->kind == EXPR_NAME || expr->a->kind == EXPR_ATTR) &&
           strcmp(expr->a->text, "_assert") == 0;
}

/* print(...), warnings.warn(...), logger.info(...): nothing of it is computed. */
static bool is_printed(const struct run *run, const struct expr *expr)
{
    static const char *const names[] = {"print", "warnings", "logger", "logging", "_logger", "log"};
    const struct expr *root = expr->kind == EXPR_CALL ? expr->a : NULL;
    struct ev other;

    if (root && root->kind == EXPR_ATTR)
        root = root->a;
    for (int i = 0; root && root->kind == EXPR_NAME && i < COUNT(names); i++)
        if (strcmp(root->text, names[i]) == 0 && (root != expr->a || i == 0))
            return !eval_find_name(run->eval, run->scope, root, &other);
    return false;
}

/* ---- try, import ---- */

void eval_raises(struct eval *eval, const char *exception)
{
    if (eval->trying > 0 && diag_faults(eval->cx) == eval->tried_faults)
        eval->raised = exception;
}

/* Exceptions with the one that they are a kind of. */
static const struct {
    const char *name, *base;
} exceptions[] = {
    {"KeyError", "LookupError"},
    {"IndexError", "LookupError"},
    {"ModuleNotFoundError", "ImportError"},
    {"NotImplementedError", "RuntimeError"},
    {"ZeroDivisionError", "ArithmeticError"},
    {"UnicodeError", "ValueError"},
};

static bool is_kind_of(const char *exception, const char *type)
{
    if (strcmp(type, exception) == 0 || strcmp(type, "Exception") == 0 || strcmp(type, "BaseException") == 0)
        return true;
    for (int i = 0; i < COUNT(exceptions); i++)
        if (strcmp(exceptions[i].name, exception) == 0 && strcmp(exceptions[i].base, type) == 0)
            return true;
    return false;
}

static bool takes(const struct expr *types, const char *exception)
{
    if (!types)
        return true;
    for (int i = 0; types->kind == EXPR_TUPLE && i < types->count; i++)
        if (takes(types->items[i], exception))
            return true;
    return (types->kind == EXPR_NAME || types->kind == EXPR_ATTR) && is_kind_of(exception, types->text);
}

static const struct stmt_block *block_of(const struct stmt *stmt, const char *word)
{
    for (int i = 1; i < stmt->block_count; i++)
        if (strcmp(stmt->blocks[i].word, word) == 0)
            return &stmt->blocks[i];
    return NULL;
}

/* Whether values decide in a call if one of the ops from `first` on ends it. */
static bool may_end(const struct graph *graph, int first)
{
    for (int i = first; graph && i < graph->op_count; i++)
        if (op_rows[graph->ops[i]->code]->fails)
            return true;
    return false;
}

/* The block runs; which exception ended it: what was said of that is forgotten where an `except` takes it. */
static enum flow run_tried(struct run *run, const struct stmt *stmt, const struct stmt_block **handler)
{
    struct eval *eval = run->eval;
    const struct diag_mark mark = diag_mark(eval->cx);
    const int first = eval->graph ? eval->graph->op_count : 0, outer_faults = eval->tried_faults;
    const char *outer_raised = eval->raised, *message = "";
    const bool once = run->once;
    enum flow flow;

    eval->trying++;
    eval->tried_faults = mark.faults;
    eval->raised = NULL;
    run->once = true;
    flow = run_block(run, &stmt->blocks[0]);
    run->once = once;
    eval->trying--;
    run->caught = eval->raised;
    eval->tried_faults = outer_faults;
    eval->raised = outer_raised;
    if (diag_faults(eval->cx) == mark.faults) {
        if (block_of(stmt, "except") && may_end(eval->graph, first)) {
            diag_error(eval->cx, stmt->loc, "whether this fails is decided by values, in a call");
            diag_hint(eval->cx, "leave 'try' out: the call ends with a status then");
            return give_up(run, stmt);
        }
        return flow;
    }
    for (int i = 1; i < stmt->block_count && run->caught && !*handler; i++)
        if (strcmp(stmt->blocks[i].word, "except") == 0 && takes(stmt->blocks[i].condition, run->caught))
            *handler = &stmt->blocks[i];
    if (!*handler) {
        if (!run->caught && block_of(stmt, "except"))
            diag_hint(eval->cx,
                      "'try' takes what is known to fail in Python, too: raise, assert, keys, imports");
        if (mark.faults == outer_faults) /* the first of the block around it, too */
            eval->raised = run->caught;
        return flow == FLOW_RETURN ? flow : leave(run, ev_bad(stmt->loc));
    }
    if (mark.items < eval->cx->item_count)
        message = eval->cx->items[mark.items].text;
    diag_rewind(eval->cx, mark);
    if ((*handler)->name)
        scope_bind(eval, run->scope, (*handler)->name, ev_string(stmt->loc, message));
    return FLOW_NEXT;
}

static enum flow run_try(struct run *run, const struct stmt *stmt)
{
    const char *caught = run->caught;
    const struct stmt_block *handler = NULL, *finally = block_of(stmt, "finally"), *next;
    enum flow flow = run_tried(run, stmt, &handler), last;

    next = handler ? handler : block_of(stmt, "else");
    if (flow == FLOW_NEXT && next)
        flow = run_block(run, next);
    run->caught = caught;
    if (!finally)
        return flow;
    const struct ev result = run->result;

    last = run_block(run, finally);
    if (last != FLOW_NEXT)
        return last;
    run->result = result;
    return flow;
}

/* What PyTorch's own code imports; its names are there without. */
static enum flow run_import(struct run *run, const struct stmt *stmt)
{
    static const char *const known[] = {"torch",     "math",  "typing",      "functools", "collections",
                                        "itertools", "copy",  "warnings",    "logging",   "dataclasses",
                                        "types",     "abc",   "enum",        "os",        "sys",
                                        "inspect",   "numpy", "torchvision", "numbers",   "__future__"};

    for (int i = 0; i < COUNT(known); i++)
        if (strcmp(stmt->value->text, known[i]) == 0)
            return FLOW_NEXT;
    eval_raises(run->eval, "ModuleNotFoundError");
    diag_error(run->eval->cx, stmt->loc, "there is no module '%s' while generating", stmt->value->text);
    diag_hint(run->eval->cx, "functions of PyTorch need no import; of others write what they compute");
    return run->once ? leave(run, ev_bad(stmt->loc)) : FLOW_NEXT;
}

/* ---- statements ---- */

static void run_def(struct run *run, const struct stmt *stmt)
{
    const struct spec_function function = {.name = stmt->signature->name,
                                           .loc = stmt->signature->loc,
                                           .args = stmt->signature->args,
                                           .arg_count = stmt->signature->count,
                                           .statements = stmt->blocks[0].list,
                                           .count = stmt->blocks[0].count};

    if (stmt->target_count > 0)
        scope_bind(run->eval, run->scope, function.name, eval_function(run->eval, run->scope, function));
    else
        run->scope->partial = true;
}

static void run_del(struct run *run, const struct expr *value)
{
    struct scope *scope = run->scope;
    struct ev old;

    for (int i = 0; value->kind == EXPR_TUPLE && i < value->count; i++)
        run_del(run, value->items[i]);
    if (value->kind != EXPR_NAME)
        return;
    for (int i = 0; i < scope->count; i++) {
        if (strcmp(scope->items[i].name, value->text) != 0)
            continue;
        scope_unbind(run->eval, scope, i);
        return;
    }
    old = eval_expr(run->eval, scope, value); /* says what is wrong with a name that is none */
    if (old.kind != EV_BAD)
        diag_error(run->eval->cx, value->loc, "'%s' is no local of these statements", value->text);
}

static enum flow run_value(struct run *run, const struct stmt *stmt, struct ev value)
{
    switch (stmt->kind) {
    case STMT_ASSIGN:
        for (int i = 0; i < stmt->target_count; i++)
            eval_assign(run->eval, run->scope, stmt->targets[i], value);
        break;
    case STMT_AUGMENT:
        eval_augment(run->eval, run->scope, stmt, &value);
        break;
    case STMT_RETURN:
        run->scope->returned = stmt;
        return leave(run, value);
    default:
        run->scope->partial |= stmt->value->kind == EXPR_BAD;
    }
    return FLOW_NEXT;
}

static enum flow run_stmt(struct run *run, const struct stmt *stmt)
{
    struct ev value;

    switch (stmt->kind) {
    case STMT_IF:
        return run_if(run, stmt);
    case STMT_FOR:
        return run_for(run, stmt);
    case STMT_WHILE:
        return run_while(run, stmt);
    case STMT_WITH:
        return run_with(run, stmt);
    case STMT_BREAK:
    case STMT_CONTINUE:
        if (run->loops > 0)
            return stmt->kind == STMT_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
        diag_error(run->eval->cx, stmt->loc, "this stands in no 'for'");
        return leave(run, ev_bad(stmt->loc));
    case STMT_ASSERT:
        return run_assert(run, stmt, stmt->value, stmt->message);
    case STMT_RAISE:
        return run_raise(run, stmt);
    case STMT_DEL:
        run_del(run, stmt->value);
        return FLOW_NEXT;
    case STMT_PASS:
        return FLOW_NEXT;
    case STMT_TRY:
        return run_try(run, stmt);
    case STMT_IMPORT:
        return run_import(run, stmt);
    case STMT_DEF:
        run_def(run, stmt);
        return FLOW_NEXT;
    default:
        break;
    }
    if (stmt->kind == STMT_EXPR && is_printed(run, stmt->value))
        return FLOW_NEXT;
    if (stmt->kind == STMT_EXPR && is_assert_call(stmt->value))
        return run_assert(run, stmt, stmt->value->items[0], stmt->value->items[1]);
    value = stmt->value ? eval_expr(run->eval, run->scope, stmt->value) : ev_none(stmt->loc);
    if (run->once && value.kind == EV_BAD)
        return leave(run, value);
    return run_value(run, stmt, value);
}

static enum flow run_list(struct run *run, struct stmt *const *list, int count)
{
    for (int i = 0; i < count; i++) {
        enum flow flow;

        if (!eval_spend(run->eval, list[i]->loc, 1))
            return leave(run, ev_bad(list[i]->loc));
        flow = run_stmt(run, list[i]);
        if (flow == FLOW_NEXT)
            continue;
        if (i + 1 == count ||
            (list[i]->kind != STMT_RETURN && list[i]->kind != STMT_BREAK && list[i]->kind != STMT_CONTINUE))
            return flow;
        if (list[i]->kind != STMT_RETURN) {
            diag_error(run->eval->cx, list[i + 1]->loc, "nothing can follow '%s'",
                       list[i]->kind == STMT_BREAK ? "break" : "continue");
        } else if (!list[i]->value || list[i]->value->kind != EXPR_BAD) {
            diag_error(run->eval->cx, list[i + 1]->loc, "nothing can follow 'return'");
        }
        return leave(run, ev_bad(list[i]->loc));
    }
    return FLOW_NEXT;
}

struct ev eval_run(struct eval *eval, struct scope *scope, struct stmt *const *statements, int count,
                   bool once)
{
    struct run run = {.eval = eval, .scope = scope, .once = once || eval->trying > 0};
    const int loops = eval->loops;
    enum flow flow;

    scope->statements = statements;
    scope->statement_count = count;
    eval->loops = once ? 0 : loops; /* what bodies of the tables do is known to end */
    flow = run_list(&run, statements, count);
    eval->loops = loops;
    if (flow == FLOW_RETURN)
        return run.result;
    return scope->partial ? ev_bad((struct loc){0}) : ev_none((struct loc){0});
}

struct ev eval_statements(struct eval *eval, struct scope *scope, struct stmt *const *statements, int count)
{
    return eval_run(eval, scope, statements, count, false);
}
