/* eval_bind.c - the arguments of a call, bound to a signature. */
#include "eval/evaluator.h"

#include <string.h>

#include "eval/pytorch.h"

static void hint_signature(struct eval *eval, const char *what, const struct signature_arg *args, int count)
{
    struct text text = text_new(&eval->cx->arena);

    for (int i = 0; i < count; i++) {
        bool first = args[i].keyword && (i == 0 || !args[i - 1].keyword);

        text_printf(&text, "%s%s%s%s%s", i ? ", " : "",
                    first && args[i].gather == GATHER_NONE && (i == 0 || args[i - 1].gather == GATHER_NONE)
                        ? "*, "
                        : "",
                    args[i].gather == GATHER_TUPLE  ? "*"
                    : args[i].gather == GATHER_DICT ? "**"
                                                    : "",
                    args[i].name, args[i].value ? "=" : "");
        if (args[i].value)
            expr_print(&text, args[i].value);
    }
    diag_hint(eval->cx, "it is %s(%s)", what, text.data);
}

/* A call that is being bound to a signature. */
struct binder {
    struct eval *eval;
    struct scope *scope;
    const char *what;
    const struct signature_arg *args;
    int count;
    bool *given; /* by argument */
    int places;  /* that positional arguments have */
    int rest;    /* *args, or -1 */
    int options; /* **kwargs, or -1 */
};

/* Which argument has that name; -1 after an error: none. */
static int named_place(const struct binder *binder, const char *name, struct loc loc)
{
    struct cx *cx = binder->eval->cx;
    const char **known = ARENA_ARRAY(&cx->arena, binder->count + 1, const char *);

    for (int j = 0; j < binder->count; j++) {
        known[j] = binder->args[j].name;
        if (strcmp(known[j], name) == 0 && binder->args[j].gather == GATHER_NONE)
            return j;
    }
    if (binder->options >= 0)
        return binder->options;
    diag_error(cx, loc, "%s has no argument '%s'", binder->what, name);
    if (strcmp(name, "out") == 0 && pytorch_has(PYTORCH_TORCH | PYTORCH_METHOD, binder->what))
        diag_hint(cx, "x.copy_(%s(...)) writes the result into x", binder->what);
    else if (diag_nearest(name, known, binder->count))
        diag_hint_nearest(cx, name, known, binder->count);
    else
        hint_signature(binder->eval, binder->what, binder->args, binder->count);
    return -1;
}

/* x.permute(0, 2, 1), ones(2, 3): the positional arguments from `first` on as one tuple. How many they are. */
static int bind_gathered(const struct binder *binder, const struct call *call, int first, int place)
{
    int n = 0;

    while (first + n < call->count && !call->names[first + n])
        n++;
    scope_bind(binder->eval, binder->scope, binder->args[place].name,
               ev_tuple(binder->eval, loc_join(call->args[first].loc, call->args[first + n - 1].loc),
                        call->args + first, n));
    binder->given[place] = true;
    return n;
}

/* What goes into *args and **kwargs. */
static void bind_rest(const struct binder *binder, const struct call *call)
{
    struct arena *arena = &binder->eval->cx->arena;
    struct ev *items = NULL, *options = NULL;
    const char **names = NULL;
    int count = 0, option_count = 0, name_count = 0, position = 0;

    for (int i = 0; i < call->count; i++) {
        bool known = false;

        if (!call->names[i] && position++ >= binder->places)
            ARENA_PUSH(arena, items, count, call->args[i]);
        for (int j = 0; call->names[i] && j < binder->count; j++)
            known |= binder->args[j].gather == GATHER_NONE &&
                     strcmp(binder->args[j].name, call->names[i]) == 0;
        if (!call->names[i] || known)
            continue;
        ARENA_PUSH(arena, options, option_count, call->args[i]);
        ARENA_PUSH(arena, names, name_count, call->names[i]);
    }
    if (binder->rest >= 0) {
        scope_bind(binder->eval, binder->scope, binder->args[binder->rest].name,
                   ev_tuple(binder->eval, call->loc, items, count));
        binder->given[binder->rest] = true;
    }
    if (binder->options >= 0) {
        scope_bind(binder->eval, binder->scope, binder->args[binder->options].name,
                   ev_dict(binder->eval, call->loc, names, options, option_count));
        binder->given[binder->options] = true;
    }
}

/* False after a fault. */
static bool bind_given(const struct binder *binder, const struct call *call, int gather)
{
    struct cx *cx = binder->eval->cx;
    bool fine = true;
    int position = 0;

    for (int i = 0; i < call->count; i++) {
        bool named = call->names[i] != NULL;
        int at;

        fine &= call->args[i].kind != EV_BAD;
        if (!named && position == gather - 1 && call->args[i].kind != EV_TUPLE) {
            i += bind_gathered(binder, call, i, position) - 1;
            position = binder->places;
            continue;
        }
        if (!named && position >= binder->places && binder->rest >= 0)
            continue;
        if (!named && position >= binder->places) {
            diag_error(cx, call->args[i].loc, "%s takes %d%s argument%s, found %d", binder->what,
                       binder->places, binder->places < binder->count ? " positional" : "",
                       binder->places == 1 ? "" : "s", call->count);
            hint_signature(binder->eval, binder->what, binder->args, binder->count);
            return false;
        }
        at = named ? named_place(binder, call->names[i], call->locs[i]) : position++;
        if (at >= 0 && at == binder->options)
            continue;
        if (at >= 0 && binder->given[at])
            diag_error(cx, call->locs[i], "%s got argument '%s' twice", binder->what, binder->args[at].name);
        if (at < 0 || binder->given[at]) {
            fine = false;
            continue;
        }
        binder->given[at] = true;
        scope_bind(binder->eval, binder->scope, binder->args[at].name, call->args[i]);
    }
    return fine;
}

/* What no argument was given for. False after a fault, of which an argument that is missing is said where the call has
 * no other. */
static bool bind_defaults(const struct binder *binder, struct loc loc, bool fine)
{
    struct scope nothing = {0}, *outside = binder->scope->outer ? binder->scope->outer : &nothing;

    for (int j = 0; j < binder->count; j++) {
        const struct signature_arg *arg = &binder->args[j];
        struct ev value;

        if (binder->given[j])
            continue;
        if (!arg->value) {
            if (fine) {
                diag_error(binder->eval->cx, loc, "%s misses the argument '%s'", binder->what, arg->name);
                hint_signature(binder->eval, binder->what, binder->args, binder->count);
            }
            fine = false;
            continue;
        }
        value = eval_expr(binder->eval, outside, arg->value);
        fine &= value.kind != EV_BAD;
        scope_bind(binder->eval, binder->scope, arg->name, value);
    }
    return fine;
}

bool eval_bind(struct eval *eval, struct scope *scope, const char *what, const struct signature_arg *args,
               int count, int gather, const struct call *call)
{
    struct binder binder = {eval, scope, what, args, count, NULL, 0, -1, -1};
    bool fine;

    binder.given = ARENA_ARRAY(&eval->cx->arena, count + 1, bool);
    scope_reserve(eval, scope, count);
    while (binder.places < count && !args[binder.places].keyword && args[binder.places].gather == GATHER_NONE)
        binder.places++;
    for (int i = 0; i < count; i++) {
        binder.rest = args[i].gather == GATHER_TUPLE ? i : binder.rest;
        binder.options = args[i].gather == GATHER_DICT ? i : binder.options;
    }
    fine = bind_given(&binder, call, gather);
    bind_rest(&binder, call);
    return bind_defaults(&binder, call->loc, fine);
}
