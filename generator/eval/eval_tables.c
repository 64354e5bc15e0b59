/* eval_tables.c - texts of the tables: signatures, bodies, shapes, defaults. Each is parsed once, as it may run for every call
 * of every module. */
#include "eval/evaluator.h"

#include <assert.h>
#include <string.h>

/* A text of the tables, parsed once: bodies run for every call of every module. */
struct parsed {
    const char *text;
    struct source *source;
    struct signature *signature; /* what it was parsed as: one of these three */
    struct stmt **statements;
    struct expr *expr;
    int count; /* of statements */
    struct parsed *next;
};

/* Its entry, empty when the text comes first. */
static struct parsed *find_parsed(struct eval *eval, const char *text)
{
    struct cx *cx = eval->cx;
    struct parsed **slot =
        &cx->parsed[text_hash(text, strlen(text)) % (sizeof cx->parsed / sizeof *cx->parsed)];
    struct parsed *parsed = *slot;

    while (parsed && strcmp(parsed->text, text) != 0)
        parsed = parsed->next;
    if (!parsed) {
        parsed = ARENA_NEW(&cx->arena, struct parsed);
        *parsed = (struct parsed){.text = text, .next = *slot};
        *slot = parsed;
    }
    return parsed;
}

static struct source *table_source(struct eval *eval, const char *text)
{
    struct source *source = ARENA_NEW(&eval->cx->arena, struct source);

    *source = (struct source){.name = "<expression>", .text = text, .length = strlen(text)};
    return source;
}

const struct signature *eval_signature(struct eval *eval, const char *text)
{
    struct parsed *parsed = find_parsed(eval, text);

    if (!parsed->signature) {
        struct source *source = table_source(eval, text);
        bool fine;

        parsed->signature = ARENA_NEW(&eval->cx->arena, struct signature);
        fine = signature_parse(eval->cx, source, 0, source->length, parsed->signature);
        assert(fine && "signature of a table");
        (void)fine;
    }
    return parsed->signature;
}

/* note [places in tables]
 * What goes wrong inside a body of the tables, or with a default of a function, went wrong in the user's call, so every node of a
 * parsed table text gets the place of that call (eval->at). Defaults of layers stay where they are: a check of several arguments
 * is said at one that was given. */
void eval_place(struct expr *expr, struct loc loc)
{
    if (!expr)
        return;
    expr->loc = expr->name_loc = loc;
    expr->end = loc.offset + (size_t)loc.length; /* its text is what stands there */
    eval_place(expr->a, loc);
    eval_place(expr->b, loc);
    eval_place(expr->c, loc);
    for (int i = 0; i < expr->count; i++) {
        eval_place(expr->items[i], loc);
        if (expr->name_locs)
            expr->name_locs[i] = loc;
    }
}

static void place_statements(struct stmt *const *list, int count, struct loc loc)
{
    for (int i = 0; i < count; i++) {
        list[i]->loc = loc;
        eval_place(list[i]->value, loc);
        for (int k = 0; k < list[i]->target_count; k++)
            eval_place(list[i]->targets[k], loc);
        for (int k = 0; k < list[i]->block_count; k++) {
            eval_place(list[i]->blocks[k].condition, loc);
            place_statements(list[i]->blocks[k].list, list[i]->blocks[k].count, loc);
        }
    }
}

static struct loc place_of_text(struct eval *eval, const struct source *source)
{
    return eval->at.source ? eval->at : (struct loc){.source = source};
}

struct ev eval_text(struct eval *eval, struct scope *scope, const char *text)
{
    struct parsed *parsed = find_parsed(eval, text);

    if (!parsed->expr) {
        int errors = diag_errors(eval->cx);

        parsed->source = table_source(eval, text);
        parsed->expr = expr_parse(eval->cx, parsed->source, 0, parsed->source->length);
        if (diag_errors(eval->cx) > errors && eval->at.source) /* a text of the spec's: extra_repr */
            diag_note(eval->cx, eval->at, "it stands here");
    }
    eval_place(parsed->expr, place_of_text(eval, parsed->source));
    return eval_expr(eval, scope, parsed->expr);
}

struct ev eval_body(struct eval *eval, struct scope *scope, const char *text)
{
    struct parsed *parsed = find_parsed(eval, text);
    struct loc at;

    if (!parsed->statements) {
        parsed->source = table_source(eval, text);
        parsed->statements = stmt_parse_block(eval->cx, parsed->source, 0, parsed->source->length,
                                              &parsed->count);
    }
    at = place_of_text(eval, parsed->source);
    place_statements(parsed->statements, parsed->count, at);
    return eval_run(eval, scope, parsed->statements, parsed->count, true);
}

struct ev eval_body_at(struct eval *eval, struct scope *scope, const char *text, struct loc loc)
{
    const struct loc at = eval->at;
    struct ev out;

    eval->at = loc;
    out = eval_body(eval, scope, text);
    eval->at = at;
    return out;
}
