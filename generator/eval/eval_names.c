/* eval_names.c - what a name means: in the scopes of the spec, then among the functions and constants of PyTorch. */
#include "eval/evaluator.h"

#include <math.h>
#include <string.h>

#include "eval/pytorch.h"

static struct binding *find_binding(const struct scope *scope, const char *name)
{
    if (scope->index.count > 0) {
        const struct name_entry *entry = names_find(&scope->index, name);

        return entry ? &scope->items[entry->index] : NULL;
    }
    for (int i = 0; i < scope->count; i++)
        if (strcmp(scope->items[i].name, name) == 0)
            return &scope->items[i];
    return NULL;
}

/* Where there are many names, adds those that are not in the index yet. */
static void index_rest(struct eval *eval, struct scope *scope)
{
    for (int i = scope->index.count; scope->count >= NAMES_INDEXED_FROM && i < scope->count; i++)
        names_add(&eval->cx->arena, &scope->index, scope->items[i].name, "", scope->items[i].value.loc);
}

void scope_reserve(struct eval *eval, struct scope *scope, int more)
{
    const int room = scope->count + more;
    struct binding *items;

    if (room <= scope->room)
        return;
    items = eval_take(eval, (size_t)room * sizeof *items);
    if (scope->count > 0)
        memcpy(items, scope->items, (size_t)scope->count * sizeof *items);
    eval_give(eval, scope->items, (size_t)scope->room * sizeof *items);
    scope->items = items;
    scope->room = room;
}

void scope_give(struct eval *eval, struct scope *scope)
{
    eval_give(eval, scope->items, (size_t)scope->room * sizeof *scope->items);
    scope->items = NULL;
    scope->count = scope->room = 0;
}

void scope_bind(struct eval *eval, struct scope *scope, const char *name, struct ev value)
{
    struct binding *known = find_binding(scope, name);

    if (known) {
        known->value = value;
        return;
    }
    if (scope->count == scope->room)
        scope_reserve(eval, scope, scope->room > 0 ? scope->room : 1);
    scope->items[scope->count++] = (struct binding){name, value};
    index_rest(eval, scope);
}

void scope_unbind(struct eval *eval, struct scope *scope, int item)
{
    memmove(scope->items + item, scope->items + item + 1,
            sizeof *scope->items * (size_t)(scope->count - item - 1));
    scope->count--;
    scope->index = (struct names){0};
    index_rest(eval, scope);
}

static struct ev ev_function(struct loc loc, const struct function_row *row,
                             const struct elementwise_row *line)
{
    return (struct ev){.kind = EV_FUNCTION,
                       .loc = loc,
                       .function = row,
                       .elementwise = line,
                       .text = line ? line->name : NULL};
}

bool eval_find_function(const char *name, unsigned flags, struct loc loc, struct ev *out)
{
    const struct function_row *row = function_find(name, flags);
    const struct elementwise_row *line = row ? NULL : elementwise_find(name);

    if (line && !(function_flags(line) & flags))
        line = NULL;
    if (!row && !line)
        return false;
    *out = ev_function(loc, row, line);
    out->text = name;
    return true;
}

bool eval_find_in_place(struct eval *eval, const char *name, unsigned flags, unsigned spaces, struct loc loc,
                        struct ev *out)
{
    size_t length = strlen(name);

    if (length < 2 || name[length - 1] != '_' || !pytorch_has(spaces, name) ||
        !eval_find_function(arena_copy(&eval->cx->arena, name, length - 1), flags, loc, out) ||
        (out->function && (out->function->flags & FUNCTION_VIEW) &&
         !(out->function->flags & FUNCTION_METHOD)))
        return false;
    out->text = name;
    out->in_place = true;
    return true;
}
/* Name spaces as modules are imported by habit. */
static const struct {
    const char *name, *space;
} spaces[] = {
    {"torch", "torch"},           {"nn", "torch.nn"},
    {"F", "torch.nn.functional"}, {"torchvision", "torchvision"},
    {"ops", "torchvision.ops"},   {"math", "math"},
};

bool eval_find_global(const char *name, struct loc loc, struct ev *out)
{
    enum dtype dtype;

    if (eval_find_function(name, FUNCTION_FUNCTIONAL | FUNCTION_HIDDEN, loc, out) ||
        eval_find_function(
            name, FUNCTION_TORCH | FUNCTION_RETURNS | FUNCTION_ROWS | FUNCTION_QUANTIZATION | FUNCTION_OWN,
            loc, out))
        return true;
    if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0 || strcmp(name, "pi") == 0) {
        *out = ev_float(loc, name[0] == 'i'   ? INFINITY
                             : name[0] == 'n' ? (double)NAN
                                              : 3.14159265358979323846);
        return true;
    }
    for (int i = 0; i < COUNT(spaces); i++) {
        if (strcmp(name, spaces[i].name) != 0)
            continue;
        *out = (struct ev){.kind = EV_SPACE, .loc = loc, .text = spaces[i].space};
        return true;
    }
    if (eval_find_complex_dtype(name, loc, out))
        return true;
    if (dtype_find(name, &dtype) && dtype_is_supported(dtype)) {
        *out = ev_dtype(loc, dtype);
        out->text = name;
        return true;
    }
    return false;
}

bool eval_find_name(struct eval *eval, struct scope *scope, const struct expr *expr, struct ev *out)
{
    for (struct scope *s = scope; s; s = s->outer) {
        const struct binding *known = find_binding(s, expr->text);

        if (known) {
            *out = known->value;
            out->loc = s->of_row ? out->loc : expr->loc;
            *out = ev_fresh(eval, *out);
            return true;
        }
        if (strcmp(expr->text, "self") == 0 && s->self) {
            *out = (struct ev){.kind = EV_SPACE, .loc = expr->loc, .text = "self", .module = s->self};
            return true;
        }
        if (s->find && s->find(eval, s, expr->text, expr->loc, out)) {
            *out = ev_frozen(eval, *out); /* what is the model's */
            return true;
        }
    }
    return false;
}

/* Words that YAML takes for a bool, or Python nearly does. */
static bool is_like_bool(const char *name)
{
    static const char *const words[] = {"yes", "no",  "on",   "off",   "Yes", "No",
                                        "On",  "Off", "TRUE", "FALSE", "YES", "NO"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

void eval_module_as_value(struct eval *eval, struct loc loc, const char *name)
{
    diag_error(eval->cx, loc, "%s is a module, and cannot be made inside an expression", name);
    diag_hint(eval->cx, "declare it under 'modules:' and call it by its name there");
}

#define ATTENTION_HINT                                                                                       \
    "scaled_dot_product_attention(q, k, v) takes (batch, heads, tokens, channels): q.transpose(1, 2)"
#define DROP_HINT "x * dropout(ones(x.shape[0], 1, 1), 0.1, self.training) drops whole rows"
#define INIT_HINT                                                                                            \
    "initial values are said where a parameter is declared: {shape: [4], init: normal_(std=0.02)}"
#define PLAIN_HINT                                                                                           \
    "leave out what stands around its constructor: Linear(4, 2) in place of weight_norm(Linear(4, 2))"
#define ROWS_HINT                                                                                            \
    "'generation: {context: 1024}' gives 'forward' of a model of rows this input: docs/generation.md"
#define LOAD_HINT "load_file('FILE.safetensors')['KEY'] is a tensor of a file"

/* What people paste from PyTorch's surroundings, and what says it here; `where` such a name stands (0: alone). */
static const struct {
    const char *name, *hint;
    unsigned where;
} habits[] = {
    {"position", ROWS_HINT, 0},
    {"sequence", ROWS_HINT, 0},
    {"print", "nothing prints while a model runs: a hook sees what its modules give"},
    {"np", "write torch's function of the same name"},
    {"numpy", "write torch's function of the same name"},
    {"Tensor", "isinstance(x, Tensor) asks for it; nothing else takes a type", 0},
    {"rearrange", "x.reshape(b, h, w).permute(0, 2, 1) says the same in torch's words", HABIT_CALLS},
    {"Rearrange", "a statement says it: x.reshape(b, h, w).permute(0, 2, 1)", HABIT_CALLS},
    {"einops", "x.reshape(b, h, w).permute(0, 2, 1) says the same in torch's words", 0},
    {"reduce", "x.reshape(b, h, w).mean(2) or .amax(2) says the same in torch's words", 0},
    {"Reduce", "a statement says it: x.mean((2, 3)), x.amax((2, 3))", HABIT_CALLS},
    {"repeat", "x.repeat(1, 2) and x.expand(3, -1) say the same in torch's words", 0},
    {"jnp", "write torch's function of the same name", 0},
    {"jax", "write torch's function of the same name", 0},
    {"tf", "write torch's function of the same name", 0},
    {"xformers", ATTENTION_HINT, 0},
    {"flash_attn", ATTENTION_HINT, 0},
    {"memory_efficient_attention", ATTENTION_HINT, 0},
    {"flash_attn_func", ATTENTION_HINT, 0},
    {"flash_attn_varlen_func", ATTENTION_HINT, 0},
    {"copy", "tensors do not change under other names: leave it out; 'N x CALL' makes N modules", 0},
    {"deepcopy", "'N x CALL' makes N modules with parameters of their own", HABIT_CALLS},
    {"compile", "leave it out: modc compiles the whole model", HABIT_CALLS | HABIT_TORCH},
    {"remove_weight_norm", PLAIN_HINT, HABIT_CALLS},
    {"remove_spectral_norm", PLAIN_HINT, HABIT_CALLS},
    {"remove_parametrizations", PLAIN_HINT, HABIT_CALLS},
    {"checkpoint", "name the module under 'checkpoint:'", 0},
    {"checkpoint_sequential", "name the modules under 'checkpoint:'", 0},
    {"utils",
     "what is checkpointed is said under 'checkpoint:', weight_norm(Linear(4, 2)) where the module is made",
     HABIT_TORCH},
    {"amp", "types are said by 'dtype:' and 'storage:'", HABIT_TORCH},
    {"autocast", "types are said by 'dtype:' and 'storage:'", HABIT_TORCH},
    {"DropPath", DROP_HINT, HABIT_CALLS},
    {"StochasticDepth", DROP_HINT, HABIT_CALLS},
    {"drop_path", DROP_HINT, 0},
    {"stochastic_depth", DROP_HINT, 0},
    {"triton", "write what the kernel computes with torch's functions", 0},
    {"to_2tuple", "write the pair: (3, 3)", 0},
    {"trunc_normal_", INIT_HINT, 0},
    {"normal_", INIT_HINT, 0},
    {"kaiming_normal_", INIT_HINT, 0},
    {"xavier_uniform_", INIT_HINT, 0},
    {"cuda", "where a model runs is said by 'device:'", HABIT_TORCH},
    {"script", "leave it out: modc compiles the whole model", HABIT_TORCH},
    {"no_grad", "it stands over a block: 'with torch.no_grad():'", HABIT_TORCH},
    {"inference_mode", "it stands over a block: 'with torch.inference_mode():'", HABIT_TORCH},
    {"List", "types stand in annotations alone", 0},
    {"Optional", "types stand in annotations alone", 0},
    {"Tuple", "types stand in annotations alone", 0},
    {"setattr", "self.NAME = value writes a buffer or a state", 0},
    {"logger", "nothing prints while a model runs: a hook sees what its modules give", 0},
    {"logging", "nothing prints while a model runs: a hook sees what its modules give", 0},
    {"warnings", "nothing prints while a model runs: a hook sees what its modules give", 0},
    {"load", LOAD_HINT, HABIT_NAME | HABIT_TORCH},
    {"from_numpy", LOAD_HINT, HABIT_NAME | HABIT_TORCH},
    {"create_model", "a model of a library is written out: its modules, its classes", HABIT_CALLS},
    {"from_pretrained", "a model of a library is written out; its weights come by --weights", HABIT_CALLS},
};

bool eval_hint_habit(struct cx *cx, const char *name, unsigned where)
{
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
        if (strcmp(habits[i].name, name) == 0 && ((habits[i].where ? habits[i].where : HABIT_NAME) & where)) {
            diag_hint(cx, "%s", habits[i].hint);
            return true;
        }
    }
    return false;
}

void eval_hint_integer(struct eval *eval, const struct ev *value)
{
    double number;
    bool whole = false;

    for (int i = 0; value->kind == EV_TUPLE && i < value->count; i++)
        whole |= value->items[i].kind == EV_FLOAT && ev_get_number(&value->items[i], &number) &&
                 floor(number) == number;
    if (whole || (value->kind == EV_FLOAT && ev_get_number(value, &number) && floor(number) == number))
        diag_hint(eval->cx, "'/' gives a float: 'a // b' divides integers, int(x) makes one");
}

void eval_missing(struct eval *eval, struct loc loc, const char *space, const char *name, const char *shown,
                  unsigned where)
{
    const struct pytorch_class *why = pytorch_why(space, name);

    if (why)
        diag_error(eval->cx, loc, "%s %s", shown, why->reason);
    else
        diag_error(eval->cx, loc, "%s is not supported yet by this version of modc", shown);
    if (!eval_hint_habit(eval->cx, name, where) && why && why->hint)
        diag_hint(eval->cx, "%s", why->hint);
}

/* Whether the target binds the name. */
static bool binds(const struct expr *target, const char *name)
{
    if (target->kind == EXPR_NAME)
        return strcmp(target->text, name) == 0;
    for (int i = 0; target->kind == EXPR_TUPLE && i < target->count; i++)
        if (binds(target->items[i], name))
            return true;
    return false;
}

/* A statement in a block that would bind the name, or NULL. */
static const struct stmt *find_assignment(struct stmt *const *list, int count, const char *name, bool inside)
{
    const struct stmt *found = NULL;

    for (int i = 0; i < count && !found; i++) {
        for (int k = 0; k < list[i]->target_count && inside; k++)
            if (binds(list[i]->targets[k], name))
                return list[i];
        for (int k = 0; k < list[i]->block_count && !found; k++)
            found = find_assignment(list[i]->blocks[k].list, list[i]->blocks[k].count, name, true);
    }
    return found;
}

static void unknown_name(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    const char **known = NULL;
    bool partial = eval->partial;
    int known_count = 0, count;

    if (diag_said(eval->cx, expr->loc))
        return;
    if (diag_is_full(eval->cx)) {
        diag_error(eval->cx, expr->loc, "'%s' is not known here", expr->text);
        return;
    }
    for (struct scope *s = scope; s; s = s->outer) {
        partial |= s->partial;
        for (int i = 0; i < s->count; i++)
            ARENA_PUSH(&eval->cx->arena, known, known_count, s->items[i].name);
        if (s->names)
            s->names(eval, s, &known, &known_count);
    }
    partial &= !diag_nearest(expr->text, known, known_count);
    for (struct scope *s = scope; s; s = s->outer)
        if (s->explain && s->explain(eval, s, expr->text, expr->loc))
            return;

    const bool has_rows = eval->graph && eval->graph->program && eval->graph->program->tree->generation;
    const char *const *functions = function_names(eval->cx,
                                                  FUNCTION_TORCH | FUNCTION_FUNCTIONAL | FUNCTION_RETURNS |
                                                      FUNCTION_OWN | (has_rows ? FUNCTION_ROWS : 0),
                                                  &count);

    for (int i = 0; i < count; i++)
        ARENA_PUSH(&eval->cx->arena, known, known_count, functions[i]);
    if (partial)
        return; /* it may be a name of what could not be read */
    if (pytorch_has(PYTORCH_FUNCTIONAL | PYTORCH_TORCH | PYTORCH_DTYPE, expr->text)) {
        eval_missing(eval, expr->loc, "torch", expr->text, expr->text, HABIT_NAME);
        return;
    }
    if (layer_find(expr->text) || elementwise_module(expr->text) || pytorch_has(PYTORCH_MODULE, expr->text)) {
        eval_module_as_value(eval, expr->loc, expr->text);
        return;
    }
    for (struct scope *s = scope; s; s = s->outer) {
        const struct stmt *binding = find_assignment(s->statements, s->statement_count, expr->text, false);

        if (!binding)
            continue;
        diag_error(eval->cx, expr->loc, "'%s' has no value here", expr->text);
        diag_note(eval->cx, binding->loc, "this did not run before");
        return;
    }
    diag_error(eval->cx, expr->loc, "'%s' is not known here", expr->text);
    if (eval_hint_habit(eval->cx, expr->text, HABIT_NAME))
        return;
    if (is_like_bool(expr->text))
        diag_hint(eval->cx, "a bool is written true or false");
    else
        diag_hint_nearest(eval->cx, expr->text, known, known_count);
}

bool eval_find_class(struct eval *eval, const char *name, bool own, struct loc loc, struct ev *out)
{
    if (!eval->building || !eval->building->is_class(eval, name, own))
        return false;
    *out = ev_class(loc, name);
    return true;
}

struct ev eval_name(struct eval *eval, struct scope *scope, const struct expr *expr)
{
    struct ev out;

    if (eval_find_name(eval, scope, expr, &out) ||
        (eval->find_row_name && eval->find_row_name(eval, expr->text, expr->loc, &out)) ||
        eval_find_class(eval, expr->text, true, expr->loc, &out) ||
        eval_find_global(expr->text, expr->loc, &out) ||
        eval_find_in_place(eval, expr->text, FUNCTION_FUNCTIONAL, PYTORCH_FUNCTIONAL, expr->loc, &out) ||
        eval_find_class(eval, expr->text, false, expr->loc, &out) ||
        eval_find_quantization(eval, expr->text, expr->loc, &out))
        return out;
    unknown_name(eval, scope, expr);
    return ev_bad(expr->loc);
}
