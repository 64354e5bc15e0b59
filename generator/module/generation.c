/* generation.c - reads `generation:`. Apart from spec.c, because its values want the model's constants. */
#include "module/generation.h"

#include "eval/eval.h"

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
    if (spec->eos)
        read_ids(r, spec->eos, generation);
    return r->fine ? generation : NULL;
}
