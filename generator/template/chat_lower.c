/* chat_lower.c - statements of a template as steps of C; see note [values] in chat_lowerer.h. */
#include "template/chat_lowerer.h"

#include <assert.h>
#include <string.h>

#include "base/emitted.h"
#include "modc_template.h"

enum { MOST_PASSES = 1000, MOST_LOOPS = 3, MOST_SLOTS = 200 };

static void lower_list(struct lowerer *l, const struct chat_statements *statements, struct chat_steps *steps);

/* ---- variables ------------------------------------------------------------------------------------------------------ */

static bool is_within(const struct scope *scope, const struct scope *outer)
{
    for (; scope; scope = scope->outer)
        if (scope->key == outer->key)
            return true;
    return false;
}

/* By something that is in sight there. */
static bool name_is_taken(const struct lowerer *l, const char *name, const struct scope *scope)
{
    static const char *const own[] = {"turns", "count",  "chat", "out", "room", "bytes",
                                      "p",     "prompt", "i",    "j",   "k"};

    for (int i = 0; i < COUNT(own); i++)
        if (strcmp(own[i], name) == 0)
            return true;
    for (int i = 0; i < l->name_count; i++)
        if (strcmp(l->names[i].name, name) == 0 &&
            (is_within(scope, l->names[i].scope) || is_within(l->names[i].scope, scope)))
            return true;
    return strncmp(name, "modc_", 5) == 0;
}

/* A variable under a name that nothing else in sight has. In a loop what other scopes have, too, is the turn's: message_content. */
static struct chat_variable *variable_new(struct lowerer *l, const char *name, const struct scope *scope)
{
    struct arena *arena = &l->r->cx->arena;
    struct chat_variable *variable = ARENA_NEW(arena, struct chat_variable);
    const char *own = c_local(l->r->cx, name);

    if (name_is_taken(l, own, scope) && scope->target && strcmp(scope->target, name) != 0)
        own = arena_format(arena, "%s_%s", scope->target, name);
    while (name_is_taken(l, own, scope))
        own = arena_format(arena, "%s_", own);
    ARENA_PUSH(arena, l->names, l->name_count, ((struct c_name){own, scope}));
    variable->name = own;
    variable->scope = scope->key;
    return variable;
}

static bool is_slot(const struct slot *slot, const void *scope, const char *name, const char *member)
{
    return slot->scope == scope && strcmp(slot->name, name) == 0 && !slot->member == !member &&
           (!member || strcmp(slot->member, member) == 0);
}

/* Its index, or -1. */
static int find_slot(const struct lowerer *l, const void *scope, const char *name, const char *member)
{
    for (int i = 0; i < l->slot_count; i++)
        if (is_slot(&l->slots[i], scope, name, member))
            return i;
    return -1;
}

static int slot_of(struct lowerer *l, const struct scope *scope, const char *name, const char *member)
{
    int i = find_slot(l, scope->key, name, member);

    if (i < 0 && l->slot_count == MOST_SLOTS) {
        chat_fail(l->r, 0, 1, "it sets more than %d names", MOST_SLOTS);
        i = 0;
    } else if (i < 0) {
        const char *own = member ? arena_format(&l->r->cx->arena, "%s_%s", name, member) : name;
        struct slot slot = {scope->key, scope->loops, name, member, NULL, {0}, false};

        slot.variable = variable_new(l, own, scope);
        ARENA_PUSH(&l->r->cx->arena, l->slots, l->slot_count, slot);
        i = l->slot_count - 1;
    }
    return i;
}

/* ---- states --------------------------------------------------------------------------------------------------------- */

static void set_entry(struct lowerer *l, int slot, struct value value)
{
    struct state *state = &l->state;

    if (slot >= state->count) {
        state->entries = arena_grow(&l->r->cx->arena, state->entries, (size_t)state->count, (size_t)slot + 16,
                                    sizeof *state->entries);
        state->count = slot + 16;
    }
    state->entries[slot] = (struct entry){true, value};
}

static bool is_set(const struct state *state, int slot)
{
    return slot >= 0 && slot < state->count && state->entries[slot].set;
}

static struct state copy_of(struct lowerer *l, const struct state *state)
{
    struct state copy = *state;

    copy.present = ARENA_ARRAY(&l->r->cx->arena, state->present_count + 1, struct present);
    if (state->present_count > 0)
        memcpy(copy.present, state->present, (size_t)state->present_count * sizeof *copy.present);
    copy.entries = ARENA_ARRAY(&l->r->cx->arena, state->count + 1, struct entry);
    if (state->count > 0)
        memcpy(copy.entries, state->entries, (size_t)state->count * sizeof *copy.entries);
    return copy;
}

/* Out of a scope: what it set is gone. */
static void leave(struct lowerer *l, const void *scope)
{
    for (int i = 0; i < l->slot_count && i < l->state.count; i++)
        if (l->slots[i].scope == scope)
            l->state.entries[i].set = false;
}

/* What a name is from a scope outwards. */
static struct value look_outwards(struct lowerer *l, const struct state *state, const struct scope *scope,
                                  const char *name)
{
    static const char *const functions[] = {"raise_exception", "strftime_now", "namespace", "range", "dict",
                                            "cycler",          "joiner",       "lipsum"};

    for (; scope; scope = scope->outer) {
        const int slot = find_slot(l, scope->key, name, NULL);

        if (is_set(state, slot))
            return state->entries[slot].value;
        if (scope->loop && strcmp(name, "loop") == 0)
            return (struct value){.kind = CHAT_LOOP, .loop = scope->loop};
    }
    if (strcmp(name, "tools") == 0 || strcmp(name, "documents") == 0)
        return (struct value){.kind = CHAT_NONE};
    if (strcmp(name, "add_generation_prompt") == 0) {
        struct chat_expr *option = chat_expr_new(l, CHAT_OP_OPTION, CHAT_BOOL);

        option->text = name;
        return (struct value){.kind = CHAT_BOOL, .expr = option};
    }
    for (int i = 0; i < COUNT(functions); i++)
        if (strcmp(name, functions[i]) == 0)
            return (struct value){.kind = CHAT_FUNCTION, .name = name};
    return (struct value){.kind = CHAT_UNDEFINED, .name = name};
}

struct value chat_lookup(struct lowerer *l, const char *name)
{
    return look_outwards(l, &l->state, l->scope, name);
}

struct value chat_member(struct lowerer *l, struct value space, const char *name)
{
    const int slot = find_slot(l, space.scope, space.name, name);

    return is_set(&l->state, slot) ? l->state.entries[slot].value
                                   : (struct value){.kind = CHAT_UNDEFINED, .name = name};
}

static bool is_of_c(struct value value)
{
    return value.kind >= CHAT_BOOL && value.kind <= CHAT_TURNS;
}

/* The variable holds a value of C from here on. */
static struct value held(struct lowerer *l, struct slot *slot, struct value value)
{
    if (value.known || !is_of_c(value))
        return value;
    if (slot->variable->kind == CHAT_UNDEFINED)
        slot->variable->kind = value.kind;
    value.expr = chat_variable_expr(l, slot->variable, value.kind);
    if (value.kind == CHAT_TURN) /* where there was none, the call has failed */
        value.may_lack = false;
    return value;
}

static const struct scope *scope_of(const struct lowerer *l, const struct slot *slot)
{
    for (const struct scope *scope = l->scope; scope; scope = scope->outer)
        if (scope->key == slot->scope)
            return scope;
    return NULL;
}

/* What a slot is in a state where it was not set: for a name what it is outside of its scope. */
static struct value unset(struct lowerer *l, const struct state *state, struct slot *slot)
{
    const struct scope *scope = scope_of(l, slot);

    if (slot->member || !scope)
        return (struct value){.kind = CHAT_UNDEFINED, .name = slot->member ? slot->member : slot->name};
    return look_outwards(l, state, scope->outer, slot->name);
}

/* Where two ways meet. */
static struct state merged(struct lowerer *l, const struct state *a, const struct state *other)
{
    const struct state before = l->state, end = *other, *b = &end;
    struct state both;

    if (a->dead || b->dead)
        return a->dead ? *b : *a;
    l->state = (struct state){.present = a->present};
    while (l->state.present_count < a->present_count && l->state.present_count < b->present_count &&
           a->present[l->state.present_count].turn == b->present[l->state.present_count].turn &&
           a->present[l->state.present_count].field == b->present[l->state.present_count].field)
        l->state.present_count++;
    for (int i = 0; i < l->slot_count; i++) {
        struct slot *slot = &l->slots[i];
        struct value x, y, value;

        if (!is_set(a, i) && !is_set(b, i))
            continue;
        x = is_set(a, i) ? a->entries[i].value : unset(l, a, slot);
        y = is_set(b, i) ? b->entries[i].value : unset(l, b, slot);
        value = chat_either(x, y);
        if (!value.known && is_of_c(value)) {
            value = held(l, slot, value);
            if ((!is_set(a, i) || !is_set(b, i)) && !slot->variable->first)
                slot->variable->first = chat_expr_as(l, is_set(a, i) ? y : x, value.kind);
        }
        set_entry(l, i, value);
    }
    both = l->state;
    l->state = before;
    return both;
}

/* ---- steps ---------------------------------------------------------------------------------------------------------- */

static struct chat_step *add_step(struct lowerer *l, struct chat_steps *steps, enum chat_step_kind kind,
                                  const struct chat_expr *expr)
{
    struct chat_step *step = ARENA_NEW(&l->r->cx->arena, struct chat_step);

    step->kind = kind;
    step->expr = expr;
    ARENA_PUSH(&l->r->cx->arena, steps->list, steps->count, step);
    return step;
}

static void fail_at(struct lowerer *l, const struct chat_statement *at, const char *message)
{
    chat_fail(l->r, at->at, at->end, "%s", message);
}

/* What is put, in parts: texts that are joined are put one after the other, and of a choice one is. */
static void put(struct lowerer *l, const struct chat_expr *expr, struct chat_steps *steps)
{
    if (expr->op == CHAT_OP_JOIN) {
        for (int i = 0; i < expr->count; i++)
            put(l, expr->list[i], steps);
    } else if (expr->op == CHAT_OP_CHOICE) {
        struct chat_step *step = add_step(l, steps, CHAT_STEP_IF, expr->args[0]);

        put(l, expr->args[1], &step->body);
        put(l, expr->args[2], &step->other);
    } else if (expr->op != CHAT_OP_ABSENT && (expr->op != CHAT_OP_LITERAL || expr->bytes > 0)) {
        add_step(l, steps, CHAT_STEP_PUT, expr);
    }
}

static bool is_call_of(const struct chat_node *node, const char *name)
{
    return node->kind == CHAT_NODE_CALL && node->a->kind == CHAT_NODE_NAME &&
           strcmp(node->a->text, name) == 0;
}

static void lower_put(struct lowerer *l, const struct chat_node *node, struct chat_steps *steps)
{
    const struct chat_expr *expr;

    if (!is_call_of(node, "raise_exception")) {
        const struct value value = chat_value(l, node);

        expr = value.kind == CHAT_BAD ? NULL : chat_shown(l, value, node);
        if (expr)
            put(l, expr, steps);
        return;
    }
    if (node->count != 1) {
        chat_refuse(l, node, "'raise_exception' takes one text");
        return;
    }

    const struct value why = chat_value(l, node->args[0]);

    expr = why.kind == CHAT_BAD ? NULL : chat_shown(l, why, node->args[0]);
    if (expr)
        add_step(l, steps, CHAT_STEP_REFUSE, expr);
    l->state.dead = true;
}

/* Joins what a slot was ever set to. */
static void widen(struct lowerer *l, struct slot *slot, struct value value)
{
    struct value all = slot->is_set ? chat_either(slot->all, value) : value;

    if (!slot->is_set || all.kind != slot->all.kind || all.known != slot->all.known ||
        all.may_lack != slot->all.may_lack || all.made != slot->all.made ||
        all.natural != slot->all.natural) {
        l->changed = true;
        slot->all = all;
        slot->is_set = true;
    }
}

static void set_slot(struct lowerer *l, int i, struct value value, const struct chat_statement *at,
                     struct chat_steps *steps)
{
    struct slot *slot = &l->slots[i];
    const bool keeps = slot->member && value.made && slot->loops < l->scope->loops;
    struct chat_step *step;

    if (value.kind == CHAT_BAD || value.kind == CHAT_NAMESPACE || value.kind == CHAT_LIST) {
        set_entry(l, i, value);
        return;
    }
    if (value.kind > CHAT_TURNS) {
        chat_fail(l->r, at->at, at->end, "no variable is %s here", chat_kind_name(value));
        set_entry(l, i, (struct value){.kind = CHAT_BAD});
        return;
    }
    if (is_of_c(value) && !value.known && slot->variable->kind != CHAT_UNDEFINED &&
        slot->variable->kind != value.kind)
        chat_fail(l->r, at->at, at->end, "'%s' is %s here, and of another kind elsewhere", slot->name,
                  chat_kind_name(value));
    step = add_step(l, steps, CHAT_STEP_SET, value.expr);
    step->variable = slot->variable;
    if (keeps) {
        struct chat_expr *kept = chat_expr_new(l, CHAT_OP_KEPT, CHAT_TEXT);

        kept->args[0] = chat_variable_expr(l, slot->variable, CHAT_TEXT);
        kept->args[1] = value.expr;
        kept->count = 2;
        step->expr = kept;
        value.made = false;
    }
    value.name = slot->member ? slot->member : slot->name;
    widen(l, slot, value);
    set_entry(l, i, held(l, slot, value));
}

/* {% set ns = namespace(a=1) %} */
static void lower_namespace(struct lowerer *l, const struct chat_statement *statement,
                            struct chat_steps *steps)
{
    const struct chat_node *node = statement->value;
    const struct value space = {.kind = CHAT_NAMESPACE, .name = statement->text, .scope = l->scope->key};

    for (int i = 0; i < node->count; i++) {
        if (!node->keywords[i]) {
            chat_refuse(l, node->args[i], "a namespace takes name=value");
            return;
        }
        set_slot(l, slot_of(l, l->scope, statement->text, node->keywords[i]), chat_value(l, node->args[i]),
                 statement, steps);
    }
    set_entry(l, slot_of(l, l->scope, statement->text, NULL), space);
}

/* What is not known may be for tools, which nobody uses then: an error waits until the name is asked for. */
static void lower_name(struct lowerer *l, const struct chat_statement *statement, struct chat_steps *steps)
{
    const int slot = slot_of(l, l->scope, statement->text, NULL);
    const struct diag_mark mark = diag_mark(l->r->cx);
    const bool failed = l->r->failed;
    struct value value = chat_value(l, statement->value);
    struct diag_item *said = NULL;

    if (value.kind != CHAT_BAD) {
        set_slot(l, slot, value, statement, steps);
        return;
    }
    for (int i = mark.items; i < l->r->cx->item_count; i++)
        ARENA_PUSH(&l->r->cx->arena, said, value.count, l->r->cx->items[i]);
    value.kind = CHAT_REFUSED;
    value.said = said;
    diag_rewind(l->r->cx, mark);
    l->r->failed = failed;
    set_entry(l, slot, value);
}

static void lower_set(struct lowerer *l, const struct chat_statement *statement, struct chat_steps *steps)
{
    struct value space;
    const struct scope *scope = l->scope;

    if (!statement->member && is_call_of(statement->value, "namespace")) {
        lower_namespace(l, statement, steps);
        return;
    }
    if (!statement->member) {
        lower_name(l, statement, steps);
        return;
    }
    space = chat_lookup(l, statement->text);
    if (space.kind != CHAT_NAMESPACE) {
        chat_fail(l->r, statement->at, statement->end, "'%s' is no namespace here", statement->text);
        return;
    }
    while (scope->key != space.scope)
        scope = scope->outer;

    const struct value value = chat_value(l, statement->value);

    set_slot(l, slot_of(l, scope, space.name, statement->member), value, statement, steps);
}

/* What an if has asked for is there behind it: a text of a variable, or of a loop's turn, that may be absent else. */
static void narrow(struct lowerer *l, const struct chat_expr *asked, bool is)
{
    const struct chat_expr *of = asked->args[0];

    if (asked->op == CHAT_OP_NOT)
        narrow(l, of, !is);
    if (asked->op == CHAT_OP_BINARY && strcmp(asked->text, is ? "&&" : "||") == 0) {
        narrow(l, asked->args[0], is);
        narrow(l, asked->args[1], is);
    }
    if (!is || (asked->op != CHAT_OP_THERE && asked->op != CHAT_OP_FULL))
        return;
    if (of->op == CHAT_OP_FIELD && of->args[0]->op == CHAT_OP_VARIABLE && of->args[0]->variable->is_turn) {
        struct state own = copy_of(l, &l->state);

        own.present[own.present_count++] = (struct present){of->args[0]->variable, of->text};
        l->state = own;
    }
    if (of->op != CHAT_OP_VARIABLE)
        return;
    for (int i = 0; i < l->state.count && i < l->slot_count; i++) {
        struct entry *entry = &l->state.entries[i];

        if (entry->set && entry->value.kind == CHAT_TEXT && !entry->value.known &&
            entry->value.expr->op == CHAT_OP_VARIABLE && entry->value.expr->variable == of->variable)
            entry->value.may_lack = false;
    }
}

static void lower_if(struct lowerer *l, const struct chat_statement *statement, struct chat_steps *steps)
{
    struct value is = chat_truth(l, statement->value);
    struct state before, then;
    struct chat_step *step;

    if (is.kind == CHAT_BAD)
        return;
    if (is.known) {
        lower_list(l, is.expr->number ? &statement->body : &statement->other, steps);
        return;
    }
    step = add_step(l, steps, CHAT_STEP_IF, is.expr);
    before = copy_of(l, &l->state);
    narrow(l, is.expr, true);
    lower_list(l, &statement->body, &step->body);
    then = l->state;
    l->state = before;
    narrow(l, is.expr, false);
    lower_list(l, &statement->other, &step->other);
    l->state = merged(l, &then, &l->state);
}

/* ---- loops ---------------------------------------------------------------------------------------------------------- */

/* Members that a body sets are whatever they are set to anywhere. */
static void widen_members(struct lowerer *l, const struct chat_statements *body)
{
    for (int i = 0; i < body->count; i++) {
        const struct chat_statement *statement = &body->list[i];

        widen_members(l, &statement->body);
        widen_members(l, &statement->other);
        if (statement->kind != CHAT_SET || !statement->member)
            continue;

        const struct value space = chat_lookup(l, statement->text);
        const int s = space.kind == CHAT_NAMESPACE ? find_slot(l, space.scope, space.name, statement->member)
                                                   : -1;
        struct value value;

        if (s < 0 || !l->slots[s].is_set)
            continue;
        if (!is_set(&l->state, s))
            l->slots[s].variable->first = chat_expr_as(l, (struct value){.kind = CHAT_UNDEFINED},
                                                       l->slots[s].all.kind);
        value = chat_either(is_set(&l->state, s) ? l->state.entries[s].value
                                                 : (struct value){.kind = CHAT_UNDEFINED},
                            l->slots[s].all);
        set_entry(l, s, held(l, &l->slots[s], value));
    }
}

static bool is_member(const struct lowerer *l, const struct chat_variable *variable)
{
    for (int i = 0; i < l->slot_count; i++)
        if (l->slots[i].variable == variable)
            return l->slots[i].member;
    return false;
}

/* The turns that a loop goes over, as a variable that does not change meanwhile. */
static const struct chat_expr *turns_of(struct lowerer *l, const struct chat_statement *statement,
                                        struct chat_steps *steps)
{
    struct value value = chat_value(l, statement->value);
    struct chat_step *step;
    int slot;

    if (value.kind == CHAT_BAD || value.kind == CHAT_UNDEFINED) /* of which Jinja says that it is empty */
        return NULL;
    if (value.kind != CHAT_TURNS) {
        chat_refuse(l, statement->value, "a loop goes over turns here, and not over %s",
                    chat_kind_name(value));
        return NULL;
    }
    if (value.expr->op == CHAT_OP_VARIABLE && !is_member(l, value.expr->variable))
        return value.expr;
    slot = slot_of(l, l->scope, arena_format(&l->r->cx->arena, "%s_turns", statement->text), NULL);
    step = add_step(l, steps, CHAT_STEP_SET, value.expr);
    step->variable = l->slots[slot].variable;
    step->variable->kind = CHAT_TURNS;
    return chat_variable_expr(l, step->variable, CHAT_TURNS);
}

static void lower_for(struct lowerer *l, const struct chat_statement *statement, struct chat_steps *steps)
{
    struct loop loop = {.filtered = statement->test};
    struct scope *scope = ARENA_NEW(&l->r->cx->arena, struct scope);
    const struct scope *outer = l->scope;
    struct state before;
    struct loop *own = ARENA_NEW(&l->r->cx->arena, struct loop);
    struct chat_step *used;
    int target;

    *scope = (struct scope){outer, statement, own, statement->text, outer->loops + 1};
    if (scope->loops > MOST_LOOPS) {
        fail_at(l, statement, "loops are nested too deeply");
        return;
    }
    loop.turns = turns_of(l, statement, steps);
    if (!loop.turns)
        return;
    used = add_step(l, steps, CHAT_STEP_SET, chat_expr_new(l, CHAT_OP_USED, CHAT_USED));
    target = slot_of(l, outer, arena_format(&l->r->cx->arena, "%s_used", statement->text), NULL);
    used->variable = l->slots[target].variable;
    used->variable->kind = CHAT_USED;
    loop.step = add_step(l, steps, CHAT_STEP_FOR, loop.turns);
    loop.step->used = used->variable;
    loop.step->depth = outer->loops;
    loop.step->scope = statement;
    *own = loop;
    widen_members(l, &statement->body);
    before = copy_of(l, &l->state);
    l->scope = scope;
    target = slot_of(l, scope, statement->text, NULL);
    loop.step->variable = l->slots[target].variable;
    loop.step->variable->is_turn = true;
    set_entry(l, target, held(l, &l->slots[target], (struct value){.kind = CHAT_TURN}));
    if (statement->test) {
        struct value is = chat_not(l, chat_truth(l, statement->test));

        if (is.kind != CHAT_BAD && !(is.known && !is.expr->number))
            add_step(l, &add_step(l, &loop.step->body, CHAT_STEP_IF, is.expr)->body, CHAT_STEP_CONTINUE,
                     NULL);
    }
    lower_list(l, &statement->body, &loop.step->body);
    l->scope = outer;
    l->state.dead = false; /* members were widened: however the last turn ended, they are variables */
    leave(l, statement);
    l->state = merged(l, &before, &l->state);
}

static void lower_generation(struct lowerer *l, const struct chat_statement *statement,
                             struct chat_steps *steps)
{
    const struct scope *outer = l->scope;
    struct scope *scope = ARENA_NEW(&l->r->cx->arena, struct scope);
    struct chat_step *step = add_step(l, steps, CHAT_STEP_SPAN, NULL);

    *scope = (struct scope){outer, statement, NULL, outer->target, outer->loops};
    step->scope = statement;
    l->scope = scope;
    l->chat->spans = true;
    lower_list(l, &statement->body, &step->body);
    leave(l, statement);
    l->scope = outer;
}

/* ---- the template --------------------------------------------------------------------------------------------------- */

static void lower_statement(struct lowerer *l, const struct chat_statement *statement,
                            struct chat_steps *steps)
{
    switch (statement->kind) {
    case CHAT_PUT_DATA:
        put(l, chat_literal_text(l, statement->text, statement->bytes), steps);
        break;
    case CHAT_PUT_VALUE:
        lower_put(l, statement->value, steps);
        break;
    case CHAT_IF:
        lower_if(l, statement, steps);
        break;
    case CHAT_FOR:
        lower_for(l, statement, steps);
        break;
    case CHAT_SET:
        lower_set(l, statement, steps);
        break;
    case CHAT_GENERATION:
        lower_generation(l, statement, steps);
        break;
    case CHAT_BREAK:
    case CHAT_CONTINUE:
        if (!l->scope->loop)
            fail_at(l, statement, "it stands in no loop");
        add_step(l, steps, statement->kind == CHAT_BREAK ? CHAT_STEP_BREAK : CHAT_STEP_CONTINUE, NULL);
        l->state.dead = true;
        break;
    }
}

static void lower_list(struct lowerer *l, const struct chat_statements *statements, struct chat_steps *steps)
{
    for (int i = 0; i < statements->count && !l->state.dead; i++)
        lower_statement(l, &statements->list[i], steps);
}

struct chat *chat_lower(struct chat_reader *r, const struct chat_statements *statements,
                        const struct chat_special *special)
{
    struct lowerer lowerer = {.r = r, .special = special}, *l = &lowerer;
    const struct scope root = {0};
    const struct diag_mark mark = diag_mark(r->cx);
    int messages, passes = 0;

    l->scope = &root;
    messages = slot_of(l, &root, "messages", NULL);
    do {
        diag_rewind(r->cx, mark);
        r->failed = false;
        l->changed = false;
        l->state = (struct state){0};
        for (int i = 0; i < l->slot_count; i++) {
            l->slots[i].variable->kind = CHAT_UNDEFINED;
            l->slots[i].variable->first = NULL;
        }
        l->chat = ARENA_NEW(&r->cx->arena, struct chat);
        l->chat->messages = l->slots[messages].variable;
        set_entry(l, messages,
                  held(l, &l->slots[messages], (struct value){.kind = CHAT_TURNS, .natural = true}));
        lower_list(l, statements, &l->chat->steps);
    } while (l->changed && ++passes < MOST_PASSES);
    assert(!l->changed); /* kinds only become more */
    if (r->failed)
        return NULL;
    chat_settle(&r->cx->arena, l->chat);
    return l->chat;
}
