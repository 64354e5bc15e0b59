/* chat_settle.c - what following the statements of a template left: variables that nobody reads, texts beside each other, ifs
 * without anything in them; and where variables begin. */
#include "template/chat_parts.h"

#include <string.h>

struct settler {
    struct arena *arena;
    bool changed;
};

/* ---- texts in the workspace ------------------------------------------------------------------------------------------- */

static bool expr_makes(const struct chat_expr *expr, bool is_put)
{
    bool makes = expr && (expr->op == CHAT_OP_JOIN || (expr->op == CHAT_OP_MADE && !is_put));

    for (int i = 0; expr && !makes && i < COUNT(expr->args); i++)
        makes = expr_makes(expr->args[i], false);
    return makes;
}

static bool find_makers(struct chat_steps *steps)
{
    steps->makes = false;
    for (int i = 0; i < steps->count; i++) {
        struct chat_step *step = steps->list[i];

        steps->makes |= find_makers(&step->body);
        steps->makes |= find_makers(&step->other);
        steps->makes |= expr_makes(step->expr, step->kind == CHAT_STEP_PUT);
    }
    return steps->makes;
}

/* ---- who reads what --------------------------------------------------------------------------------------------- */

/* `but` does not count: what only its own steps read is not read. */
static void count_reads(const struct chat_expr *expr, const struct chat_variable *but)
{
    if (!expr)
        return;
    if (expr->op == CHAT_OP_VARIABLE && expr->variable != but)
        expr->variable->reads++;
    for (int i = 0; i < COUNT(expr->args); i++)
        count_reads(expr->args[i], but);
    for (int i = 0; expr->list && i < expr->count; i++)
        count_reads(expr->list[i], but);
}

static void count_all(const struct chat_steps *steps)
{
    for (int i = 0; i < steps->count; i++) {
        const struct chat_step *step = steps->list[i];

        count_reads(step->expr, step->kind == CHAT_STEP_SET ? step->variable : NULL);
        if (step->kind == CHAT_STEP_SET) {
            step->variable->writes++;
            count_reads(step->variable->first, NULL);
        }
        if (step->kind == CHAT_STEP_FOR && step->body.makes)
            step->used->reads++;
        count_all(&step->body);
        count_all(&step->other);
    }
}

static void forget_counts(const struct chat_steps *steps)
{
    for (int i = 0; i < steps->count; i++) {
        if (steps->list[i]->variable)
            steps->list[i]->variable->reads = steps->list[i]->variable->writes = 0;
        forget_counts(&steps->list[i]->body);
        forget_counts(&steps->list[i]->other);
    }
}

/* ---- steps that go ------------------------------------------------------------------------------------------------ */

static bool is_literal(const struct chat_step *step)
{
    return step->kind == CHAT_STEP_PUT && step->expr->op == CHAT_OP_LITERAL;
}

/* One text for two. */
static void join(struct settler *s, struct chat_step *first, const struct chat_step *second)
{
    struct chat_expr *both = ARENA_NEW(s->arena, struct chat_expr);
    struct text text = text_new(s->arena);

    *both = *first->expr;
    text_add_bytes(&text, first->expr->text, first->expr->bytes);
    text_add_bytes(&text, second->expr->text, second->expr->bytes);
    both->text = text.data;
    both->bytes = text.length;
    first->expr = both;
}

/* What is set is of the variable's kind; a value of another kind is never asked for there. */
static bool fits(struct settler *s, struct chat_step *step)
{
    const enum chat_kind kind = step->variable->kind;
    struct chat_expr *absent;

    if (step->variable->reads == 0 ||
        (step->expr && step->expr->op == CHAT_OP_VARIABLE && step->expr->variable == step->variable))
        return false;
    if (step->expr && step->expr->kind == kind)
        return true;
    absent = ARENA_NEW(s->arena, struct chat_expr);
    absent->op = CHAT_OP_ABSENT;
    absent->kind = CHAT_TEXT;
    step->expr = absent;
    return kind == CHAT_TEXT;
}

const struct chat_expr *chat_contrary(struct arena *arena, const struct chat_expr *expr)
{
    static const char *const signs[][2] = {{"==", "!="}, {"<", ">="}, {">", "<="}};
    struct chat_expr *not = ARENA_NEW(arena, struct chat_expr);

    if (expr->op == CHAT_OP_NOT)
        return expr->args[0];
    *not = *expr;
    for (int i = 0; expr->op == CHAT_OP_BINARY && i < 2 * COUNT(signs); i++) {
        if (strcmp(expr->text, signs[i / 2][i % 2]) == 0) {
            not ->text = signs[i / 2][1 - i % 2];
            return not ;
        }
    }
    *not = (struct chat_expr){.op = CHAT_OP_NOT, .kind = CHAT_BOOL, .args = {expr}, .count = 1};
    return not ;
}

/* An if without steps where it is true asks for the contrary. */
static void turn_round(struct settler *s, struct chat_step *step)
{
    step->expr = chat_contrary(s->arena, step->expr);
    step->body = step->other;
    step->other = (struct chat_steps){0};
}

static bool stays(struct settler *s, struct chat_step *step)
{
    if (step->kind == CHAT_STEP_SET)
        return fits(s, step);
    if (step->kind == CHAT_STEP_FOR)
        return step->body.count > 0;
    if (step->kind != CHAT_STEP_IF)
        return true;
    if (step->body.count == 0 && step->other.count > 0)
        turn_round(s, step);
    return step->body.count > 0;
}

static void tidy(struct settler *s, struct chat_steps *steps)
{
    int count = 0;

    for (int i = 0; i < steps->count; i++) {
        struct chat_step *step = steps->list[i], *last = count > 0 ? steps->list[count - 1] : NULL;

        tidy(s, &step->body);
        tidy(s, &step->other);
        if (!stays(s, step))
            s->changed = true;
        else if (last && is_literal(last) && is_literal(step))
            join(s, last, step);
        else
            steps->list[count++] = step;
    }
    steps->count = count;
}

/* ---- where variables begin -------------------------------------------------------------------------------------------- */

static bool expr_mentions(const struct chat_expr *expr, const struct chat_variable *variable)
{
    bool found = expr && expr->op == CHAT_OP_VARIABLE && expr->variable == variable;

    for (int i = 0; expr && !found && i < COUNT(expr->args); i++)
        found = expr_mentions(expr->args[i], variable);
    for (int i = 0; expr && expr->list && !found && i < expr->count; i++)
        found = expr_mentions(expr->list[i], variable);
    return found;
}

static bool mentions(const struct chat_step *step, const struct chat_variable *variable);

static bool list_mentions(const struct chat_steps *steps, const struct chat_variable *variable)
{
    for (int i = 0; i < steps->count; i++)
        if (mentions(steps->list[i], variable))
            return true;
    return false;
}

static bool mentions(const struct chat_step *step, const struct chat_variable *variable)
{
    const bool sets = step->kind == CHAT_STEP_SET;

    return (sets && step->variable == variable) || expr_mentions(step->expr, variable) ||
           (sets && expr_mentions(step->variable->first, variable)) || list_mentions(&step->body, variable) ||
           list_mentions(&step->other, variable);
}

/* In the innermost list of its scope that holds all of its steps. */
static void declare(struct settler *s, const struct chat_steps *steps, struct chat_variable *variable)
{
    struct chat_step *first = NULL;
    int count = 0;

    for (int i = 0; i < steps->count; i++) {
        if (!mentions(steps->list[i], variable))
            continue;
        if (count++ == 0)
            first = steps->list[i];
    }
    if (!first)
        return;
    if (count == 1 && first->kind == CHAT_STEP_IF && !expr_mentions(first->expr, variable) &&
        list_mentions(&first->body, variable) != list_mentions(&first->other, variable)) {
        declare(s, list_mentions(&first->body, variable) ? &first->body : &first->other, variable);
        return;
    }
    if (first->kind == CHAT_STEP_SET && first->variable == variable)
        variable->first = NULL;
    ARENA_PUSH(s->arena, first->declared, first->declared_count, variable);
}

static bool is_declared(const struct chat_steps *steps, const struct chat_variable *variable)
{
    for (int i = 0; i < steps->count; i++) {
        const struct chat_step *step = steps->list[i];

        for (int k = 0; k < step->declared_count; k++)
            if (step->declared[k] == variable)
                return true;
        if (is_declared(&step->body, variable) || is_declared(&step->other, variable))
            return true;
    }
    return false;
}

/* The variables of a scope that steps below set. */
static void declare_all(struct settler *s, const struct chat_steps *home, const void *scope,
                        const struct chat_steps *steps)
{
    for (int i = 0; i < steps->count; i++) {
        struct chat_step *step = steps->list[i];

        if (step->kind == CHAT_STEP_SET && step->variable->scope == scope &&
            !is_declared(home, step->variable))
            declare(s, home, step->variable);
        declare_all(s, home, scope, &step->body);
        declare_all(s, home, scope, &step->other);
    }
}

static void declare_scopes(struct settler *s, const struct chat_steps *steps)
{
    for (int i = 0; i < steps->count; i++) {
        struct chat_step *step = steps->list[i];

        if (step->scope)
            declare_all(s, &step->body, step->scope, &step->body);
        declare_scopes(s, &step->body);
        declare_scopes(s, &step->other);
    }
}

void chat_settle(struct arena *arena, struct chat *chat)
{
    struct settler settler = {arena, true};

    while (settler.changed) {
        settler.changed = false;
        find_makers(&chat->steps);
        forget_counts(&chat->steps);
        chat->messages->reads = chat->messages->writes = 0;
        count_all(&chat->steps);
        tidy(&settler, &chat->steps);
    }
    chat->messages->scope = chat; /* the emitter's own */
    declare_all(&settler, &chat->steps, NULL, &chat->steps);
    declare_scopes(&settler, &chat->steps);
}
