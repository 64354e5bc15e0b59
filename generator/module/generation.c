/* generation.c - reads `generation:`. Apart from spec.c, because its values want the model's constants. */
#include "module/generation.h"

#include <string.h>

#include "base/narrow.h"
#include "base/text.h"
#include "eval/eval.h"
#include "modc_sampling.h"

struct reader {
    struct cx *cx;
    struct eval eval;
    struct scope *scope; /* of the model's constants */
    bool fine;
};

enum { MOST_TOKENS = 1 << 24, MOST_SEQUENCES = 1 << 16 };

/* An integer from `least` to `most`; `least` after an error. */
static int64_t read_number(struct reader *r, const struct expr *expr, const char *what, int64_t least,
                           int64_t most)
{
    struct ev value = eval_expr(&r->eval, r->scope, expr);
    int64_t number;

    if (value.kind != EV_BAD && ev_get_int(&value, &number) && number >= least && number <= most)
        return number;
    if (value.kind != EV_BAD)
        diag_error(r->cx, expr->loc, "'%s' is an integer from %lld to %lld, found %s", what, (long long)least,
                   (long long)most, ev_text(&r->eval, &value));
    r->fine = false;
    return least;
}

static void read_ids(struct reader *r, const struct expr *expr, struct generation *generation)
{
    struct ev value = eval_expr(&r->eval, r->scope, expr), *items = &value;
    int count = 1;

    if (value.kind == EV_TUPLE) {
        items = value.items;
        count = value.count;
    }
    for (int i = 0; i < count; i++) {
        int64_t id;

        if (items[i].kind == EV_BAD) {
            r->fine = false;
        } else if (!ev_get_int(&items[i], &id) || id < 0 || id > INT32_MAX) {
            diag_error(r->cx, expr->loc, "'eos' is the id of a token or a list of such, found %s",
                       ev_text(&r->eval, &items[i]));
            r->fine = false;
        } else {
            ARENA_PUSH(&r->cx->arena, generation->eos, generation->eos_count, id);
        }
    }
}

/* As modc_generation_set takes it: "0.8", "true", "1, 2". NULL after an error. */
static const char *value_text(struct reader *r, const struct spec_option *option, const struct ev *value)
{
    struct arena *arena = &r->cx->arena;
    struct text text = text_new(arena);
    double number;
    bool flag;

    if (value->kind == EV_STRING)
        return value->text;
    if (ev_get_bool(value, &flag) && value->kind == EV_BOOL)
        return flag ? "true" : "false";
    if (ev_get_number(value, &number)) {
        text_double(&text, number);
        return value->kind == EV_INT ? arena_format(arena, "%lld", (long long)number) : text.data;
    }
    for (int i = 0; value->kind == EV_TUPLE && i < value->count; i++) {
        if (!ev_get_number(&value->items[i], &number))
            break;
        text_add(&text, i ? ", " : "");
        if (value->items[i].kind == EV_INT)
            text_printf(&text, "%lld", (long long)number);
        else
            text_double(&text, number);
        if (i + 1 == value->count)
            return text.data;
    }
    if (value->kind != EV_BAD)
        diag_error(r->cx, option->value->loc,
                   "an option is a number, true or false, a text or a list of numbers, found %s",
                   ev_text(&r->eval, value));
    r->fine = false;
    return NULL;
}

/* `grammar: name`, which the runtime's setter has not: the name stands there as it is. */
static void read_grammar(struct reader *r, struct generation *generation, const struct spec_option *option)
{
    const struct spec_generation *spec = generation->spec;
    const struct expr *name = option->value;
    const char **known = ARENA_ARRAY(&r->cx->arena, spec->grammar_count, const char *);
    const struct generation_default own = {option->name, name->text};

    for (int i = 0; i < spec->grammar_count; i++) {
        known[i] = spec->grammars[i].name;
        if (name->kind == EXPR_NAME && strcmp(known[i], name->text) == 0) {
            ARENA_PUSH(&r->cx->arena, generation->defaults, generation->default_count, own);
            return;
        }
    }
    r->fine = false;
    if (name->kind == EXPR_BAD)
        return;
    diag_error(r->cx, name->loc, "'grammar' is the name of one of 'grammars'");
    if (name->kind == EXPR_NAME)
        diag_hint_nearest(r->cx, name->text, known, spec->grammar_count);
}

/* Each is said to be wrong where it stands; together they are checked by what the runtime checks. */
static void read_defaults(struct reader *r, struct generation *generation)
{
    enum { LISTS = 32 }; /* as many as a generator has room for */
    const struct spec_generation *spec = generation->spec;
    struct modc_generation_options options;
    int64_t lists[LISTS];
    struct modc_option_memory memory = {lists, sizeof lists, 0};
    char message[200];

    modc_generation_defaults(&options);
    options.eos_token_id = (struct modc_ids){generation->eos, generation->eos_count};
    options.pad_token_id = generation->pad;
    for (int i = 0; i < spec->default_count; i++) {
        const struct spec_option *option = &spec->defaults[i];
        struct generation_default own = {.name = option->name};
        struct ev value;

        if (strcmp(own.name, "grammar") == 0) {
            read_grammar(r, generation, option);
            continue;
        }
        value = eval_expr(&r->eval, r->scope, option->value);
        own.value = value_text(r, option, &value);
        if (!own.value)
            continue;
        if (modc_generation_set(&options, own.name, own.value, &memory, message, sizeof message) != MODC_OK) {
            diag_error(r->cx, option->loc, "%s", message);
            r->fine = false;
        }
        ARENA_PUSH(&r->cx->arena, generation->defaults, generation->default_count, own);
    }
    if (r->fine && modc_generation_check(&options, 0, message, sizeof message) != MODC_OK) {
        diag_error(r->cx, spec->loc, "%s", message);
        r->fine = false;
    }
}

struct generation *generation_read(struct cx *cx, struct module_tree *tree)
{
    struct reader reader = {.cx = cx, .fine = true}, *r = &reader;
    const struct spec_generation *spec = tree->spec->generation;
    struct generation *generation;

    if (!spec || spec->context->kind == EXPR_BAD || !spec->sequences || !spec->page)
        return NULL;
    generation = ARENA_NEW(&cx->arena, struct generation);
    r->eval = (struct eval){.cx = cx, .default_dtype = tree->dtype, .partial = tree->partial};
    r->scope = module_global_scope(&r->eval, tree, true);
    generation->spec = spec;
    generation->context = read_number(r, spec->context, "context", 1, MOST_TOKENS);
    generation->sequences = read_number(r, spec->sequences, "sequences", 1, MOST_SEQUENCES);
    generation->page = r->fine ? read_number(r, spec->page, "page", 1, generation->context) : 1;
    generation->per = (generation->context + generation->page - 1) / generation->page;
    generation->pad = spec->pad ? read_number(r, spec->pad, "pad", 0, INT32_MAX) : -1;
    generation->encoder = spec->encoder;
    generation->invariant = spec->invariant;
    generation->cache = spec->cache ? narrow_find(spec->cache) : NULL;
    generation->start = spec->start ? read_number(r, spec->start, "start", 0, INT32_MAX) : generation->pad;
    if (spec->eos)
        read_ids(r, spec->eos, generation);
    for (int i = 0; i < spec->grammar_count; i++)
        if (spec->grammars[i].table)
            ARENA_PUSH(&cx->arena, generation->grammars, generation->grammar_count, spec->grammars[i].table);
    read_defaults(r, generation);
    return r->fine ? generation : NULL;
}
