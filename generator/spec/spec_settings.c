/* spec_settings.c - keys of a spec that are one value each: switches, patterns, numbers. Apart from the sections that declare
 * something. */
#include "spec/spec_reader.h"

#include <string.h>

void spec_read_version(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "the format version, 1");

    r->has_version = true;
    if (text && strcmp(text, "1") != 0)
        diag_error(r->cx, node->loc, "the spec has format version %s, this modc reads version 1", text);
}

void spec_read_model(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "the name of the model");

    r->has_model = true;
    if (text && spec_check_model_name(r->cx, text, node->loc)) {
        r->spec->model = r->cx->model = text;
        r->spec->model_loc = node->loc;
    }
}

void spec_read_freeze(struct reader *r, const struct node *key, const struct node *node)
{
    spec_read_patterns(r, key, node, &r->spec->freeze);
}

void spec_read_eval(struct reader *r, const struct node *key, const struct node *node)
{
    spec_read_patterns(r, key, node, &r->spec->eval);
}

void spec_read_tie(struct reader *r, const struct node *key, const struct node *node)
{
    if (!spec_is_mapping(r, key, node, "a mapping of parameters to those whose tensor they share"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_tie tie = {
            .path = node->keys[i]->value, .loc = node->keys[i]->loc, .source_loc = node->items[i]->loc};

        tie.source = spec_read_text(r, node->keys[i], node->items[i],
                                    "the key of a parameter, as embed.weight");
        if (tie.source)
            ARENA_PUSH(&r->cx->arena, r->spec->ties, r->spec->tie_count, tie);
    }
}

/* `off` is the word for it: "none" or "off". */
static enum spec_toggle read_toggle(struct reader *r, const struct node *key, const struct node *node,
                                    const char *off)
{
    static const struct {
        const char *text;
        bool on;
    } others[] = {{"off", false}, {"none", false}, {"false", false}, {"False", false},
                  {"no", false},  {"true", true},  {"True", true},   {"yes", true}};
    const char *text = spec_read_text(r, key, node, arena_format(&r->cx->arena, "%s or on", off));

    if (!text)
        return SPEC_DEFAULT;
    if (strcmp(text, off) == 0)
        return SPEC_OFF;
    if (strcmp(text, "on") == 0)
        return SPEC_ON;
    diag_error(r->cx, node->loc, "'%s' is %s or on, found '%s'", key->value, off, text);
    for (int i = 0; i < COUNT(others); i++)
        if (strcmp(others[i].text, text) == 0)
            diag_hint(r->cx, "write %s", others[i].on ? "on" : off);
    return SPEC_DEFAULT;
}

void spec_read_hooks(struct reader *r, const struct node *key, const struct node *node)
{
    if (node->kind == NODE_MAP)
        diag_error(r->cx, key->loc, "hooks fixed in the spec are not supported yet by this version of modc");
    else
        r->spec->hooks = read_toggle(r, key, node, "none");
}

void spec_read_pack(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->pack = read_toggle(r, key, node, "none");
}

void spec_read_winograd(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->winograd = read_toggle(r, key, node, "off");
}

void spec_read_backward(struct reader *r, const struct node *key, const struct node *node)
{
    if (!spec_read_bool(r, key, node, false))
        return;
    r->spec->backward = true;
    r->spec->backward_loc = node->loc;
}

void spec_read_autocast(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "bfloat16 or float16");

    if (!text)
        return;
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    r->spec->autocast_loc = node->loc;
    if (strcmp(text, "bfloat16") == 0)
        r->spec->autocast = "bfloat16";
    else if (strcmp(text, "float16") == 0 || strcmp(text, "half") == 0)
        r->spec->autocast = "float16";
    else
        diag_error(r->cx, node->loc, "'autocast' is bfloat16 or float16, found '%s'", node->value);
}

void spec_read_denormals(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "keep or flush");

    if (!text)
        return;
    r->spec->flushes = strcmp(text, "flush") == 0;
    if (!r->spec->flushes && strcmp(text, "keep") != 0)
        diag_error(r->cx, node->loc, "'denormals' is keep or flush, found '%s'", text);
}

void spec_read_state_dict(struct reader *r, const struct node *key, const struct node *node)
{
    r->spec->state_dict = read_toggle(r, key, node, "none");
}

void spec_read_threads(struct reader *r, const struct node *key, const struct node *node)
{
    enum { most = 1024 };

    if (!spec_read_text(r, key, node, "a number of threads"))
        return;

    struct expr *expr = expr_parse(r->cx, node->source, node->offset, node->length);

    r->spec->threads_loc = node->loc;
    if (expr->kind == EXPR_INT && expr->integer >= 1 && expr->integer <= most)
        r->spec->threads = (int)expr->integer;
    else if (expr->kind != EXPR_BAD)
        diag_error(r->cx, node->loc, "expected a number of threads from 1 to %d, found '%s'", most,
                   node->value);
}

void spec_read_tokenizer(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "the path of a tokenizer.json");

    if (!text)
        return;
    r->spec->tokenizer = text;
    r->spec->tokenizer_loc = node->loc;
}

void spec_read_template(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "the path of a chat template");

    if (!text)
        return;
    r->spec->template = text;
    r->spec->template_loc = node->loc;
}

void spec_read_checkpoint(struct reader *r, const struct node *key, const struct node *node)
{
    spec_read_patterns(r, key, node, &r->spec->checkpoint);
}

void spec_read_update(struct reader *r, const struct node *key, const struct node *node)
{
    const char *text = spec_read_text(r, key, node, "separate or fused");

    if (!text)
        return;
    r->spec->update_loc = node->loc;
    r->spec->fused = strcmp(text, "fused") == 0;
    if (!r->spec->fused && strcmp(text, "separate") != 0)
        diag_error(r->cx, node->loc, "'update' is separate or fused, found '%s'", text);
}
