/* spec_generation.c - the section `generation:`, and the inputs that a model of rows has by it.
 *
 * Each row of a call is a token of some sequence at some position. Behind its own inputs such a model takes, all int64:
 *
 *     position (rows)           of each token in its sequence
 *     sequence (rows)           whose token it is
 *     pages (sequences, per)    by sequence, in which pages of the cache its tokens are kept, in order
 *     logit_rows (logits)       the rows that `last` keeps, whose logits are wanted
 *
 * `rows` is the first dimension of its first input, `logits` a size of its own with the same maximum. */
#include "base/narrow.h"
#include "spec/spec_reader.h"

#include <string.h>

static struct expr *new_node(struct reader *r, enum expr_kind kind, struct loc loc, int height)
{
    struct expr *expr = ARENA_NEW(&r->cx->arena, struct expr);

    *expr = (struct expr){.kind = kind, .loc = loc, .end = loc.offset + loc.length, .height = height};
    return expr;
}

static struct expr *number_node(struct reader *r, struct loc loc, int64_t integer)
{
    struct expr *expr = new_node(r, EXPR_INT, loc, 1);

    expr->integer = integer;
    return expr;
}

static struct expr *binary_node(struct reader *r, enum expr_op op, struct expr *a, struct expr *b)
{
    struct expr *expr = new_node(r, EXPR_BINARY, a->loc, (a->height > b->height ? a->height : b->height) + 1);

    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->name_loc = a->loc;
    return expr;
}

/* 64, or where a sequence is shorter its length. */
static struct expr *usual_page(struct reader *r, struct expr *context)
{
    enum { usual = 64 };
    struct expr *fits = binary_node(r, OP_GT, context, number_node(r, context->loc, usual));
    struct expr *expr = new_node(r, EXPR_IF, context->loc, context->height + 2);

    expr->a = number_node(r, context->loc, usual);
    expr->b = fits;
    expr->c = context;
    return expr;
}

static void read_defaults(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_generation *generation = r->spec->generation;

    if (!spec_is_mapping(r, key, node, "a mapping of options to values"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_option option = {.name = node->keys[i]->value,
                                     .loc = node->keys[i]->loc,
                                     .value = spec_read_expr(r, node->keys[i], node->items[i])};

        ARENA_PUSH(&r->cx->arena, generation->defaults, generation->default_count, option);
    }
}

static void read_cache(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "bfloat16, float16 or int8");
    const struct narrow *narrow = text ? narrow_find(text) : NULL;

    if (narrow)
        r->spec->generation->cache = narrow->name;
    else if (text)
        diag_error(r->cx, node->loc,
                   "keys and values are kept in bfloat16, float16 or int8, or as they are, found '%s'", text);
}

static void read_encoder(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->generation->encoder = spec_read_text(r, key, node, "the name of an entry");
    r->spec->generation->encoder_loc = node->loc;
}

void spec_read_generation(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_generation *generation = ARENA_NEW(&r->cx->arena, struct spec_generation);
    const struct {
        const char *name;
        struct expr **value;
    } values[] = {{"context", &generation->context}, {"sequences", &generation->sequences},
                  {"page", &generation->page},       {"eos", &generation->eos},
                  {"pad", &generation->pad},         {"start", &generation->start}};

    if (!spec_is_mapping(r, key, node, "a mapping with context")) {
        r->spec->partial = true;
        return;
    }
    r->spec->generation = generation;
    generation->loc = key->loc;
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i], *item = node->items[i];
        int k = 0;

        while (k < COUNT(values) && strcmp(values[k].name, part->value) != 0)
            k++;
        if (k < COUNT(values))
            *values[k].value = spec_read_expr(r, part, item);
        else if (strcmp(part->value, "defaults") == 0)
            read_defaults(r, part, item);
        else if (strcmp(part->value, "cache") == 0)
            read_cache(r, part, item);
        else if (strcmp(part->value, "invariant") == 0)
            generation->invariant = spec_read_bool(r, part, item, false);
        else if (strcmp(part->value, "encoder") == 0)
            read_encoder(r, part, item);
        else if (strcmp(part->value, "grammars") == 0)
            spec_read_grammars(r, part, item);
        else
            r->spec->partial |= spec_unknown_key(r, part, "'generation'", SPEC_IN_GENERATION)[0] != 0;
    }
}

/* ---- what it brings ------------------------------------------------------------------------------------------- */

/* The size that counts the rows: the first dimension of the first input. NULL after an error. */
static const struct spec_size *find_rows(struct reader *r)
{
    const struct spec *spec = r->spec;
    const struct spec_input *input = &spec->inputs[0];
    const bool is_list = input->shape->kind == EXPR_LIST || input->shape->kind == EXPR_TUPLE;
    const struct expr *first = is_list && input->shape->count > 0 ? input->shape->items[0] : NULL;

    for (int i = 0; first && first->kind == EXPR_NAME && i < spec->size_count; i++)
        if (strcmp(spec->sizes[i].name, first->text) == 0)
            return &spec->sizes[i];
    if (input->shape->kind == EXPR_BAD || spec->partial)
        return NULL;
    diag_error(r->cx, input->shape->loc,
               "with 'generation:' the first input, '%s', is a list of rows: its first dimension is a size",
               input->name);
    diag_hint(r->cx, "write 'sizes: {rows: 128}' and 'inputs: {%s: {shape: [rows], dtype: int64}}'",
              input->name);
    return NULL;
}

static void add_input(struct reader *r, const char *name, struct expr *const *dims, int count)
{
    struct spec *spec = r->spec;
    const struct loc loc = spec->generation->loc;
    struct spec_input input = {.name = name, .loc = loc, .constant = true};
    struct spec_function *forward = spec->root.forward;
    struct signature_arg argument = {.name = name, .loc = loc};

    if (!spec_check_unique_in_c(r, &r->arguments, name, loc)) {
        diag_hint(r->cx,
                  "'generation:' gives a model this input: leave out your own, and use it by its name");
        return;
    }
    input.shape = new_node(r, EXPR_LIST, loc, 2);
    for (int i = 0; i < count; i++) {
        ARENA_PUSH(&r->cx->arena, input.shape->items, input.shape->count, dims[i]);
        if (dims[i]->height >= input.shape->height)
            input.shape->height = dims[i]->height + 1;
    }
    input.dtype = new_node(r, EXPR_NAME, loc, 1);
    input.dtype->text = "int64";
    ARENA_PUSH(&r->cx->arena, spec->inputs, spec->input_count, input);
    if (forward && forward->has_args)
        ARENA_PUSH(&r->cx->arena, forward->args, forward->arg_count, argument);
}

static struct expr *size_node(struct reader *r, const char *name)
{
    struct expr *expr = new_node(r, EXPR_NAME, r->spec->generation->loc, 1);

    expr->text = name;
    return expr;
}

void spec_finish_generation(struct reader *r)
{
    struct spec *spec = r->spec;
    struct spec_generation *generation = spec->generation;
    const struct spec_size *rows = spec->input_count > 0 ? find_rows(r) : NULL;
    struct spec_size logits = {.name = "logits", .loc = generation->loc};
    struct expr *per, *one;

    if (!generation->context) {
        if (!spec->partial)
            diag_error(r->cx, generation->loc,
                       "'generation' has no 'context', the tokens that a sequence may have");
        generation->context = new_node(r, EXPR_BAD, generation->loc, 1);
    }
    one = number_node(r, generation->loc, 1);
    if (!generation->page)
        generation->page = generation->sequences ? usual_page(r, generation->context) : generation->context;
    if (!generation->sequences)
        generation->sequences = one;
    if (generation->page->kind == EXPR_BAD || generation->context->kind == EXPR_BAD ||
        generation->sequences->kind == EXPR_BAD || !rows) {
        spec->partial = true;
        return;
    }
    logits.max = rows->max;
    generation->first_input = spec->input_count;
    generation->first_size = spec->size_count;
    /* (context + page - 1) // page */
    per = binary_node(
        r, OP_FLOORDIV,
        binary_node(r, OP_SUB, binary_node(r, OP_ADD, generation->context, generation->page), one),
        generation->page);
    add_input(r, "position", (struct expr *[]){size_node(r, rows->name)}, 1);
    add_input(r, "sequence", (struct expr *[]){size_node(r, rows->name)}, 1);
    add_input(r, "pages", (struct expr *[]){generation->sequences, per}, 2);
    if (spec_check_unique(r, &r->values, logits.name, logits.loc) &&
        spec_check_unique_in_c(r, &r->arguments, logits.name, logits.loc))
        ARENA_PUSH(&r->cx->arena, spec->sizes, spec->size_count, logits);
    else
        diag_hint(r->cx,
                  "'generation:' gives a model this size, which counts the rows whose logits are wanted");
    add_input(r, "logit_rows", (struct expr *[]){size_node(r, logits.name)}, 1);
}
