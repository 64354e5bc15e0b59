/* diff_texts.c - modules, tensors and values as a spec would write them, for the two sides of a line. Apart from what is
 * compared, since every part says its values so. */
#include "commands/diff_parts.h"

#include "module/module.h"
#include <stdlib.h>
#include <string.h>

static void print_literal(struct text *text, const char *value)
{
    char *end;
    double number = strtod(value, &end);

    if (!*end && strpbrk(value, ".e"))
        text_double(text, number); /* 1e-5 in a table is Python's 1e-05 */
    else
        text_add(text, value);
}

/* The default of a constructor's argument as ev_text prints a value; NULL: there is none. */
static const char *default_text(struct compare *c, const struct module *module, int arg)
{
    struct text text = text_new(&c->cx->arena);

    if (module->spec_class) {
        if (!module->spec_class->args[arg].value)
            return NULL;
        expr_print(&text, module->spec_class->args[arg].value);
    } else if (module->layer) {
        if (!module->layer->args[arg].value)
            return NULL;
        print_literal(&text, module->layer->args[arg].value);
    } else { /* "input, alpha=1.0": NAME=VALUE behind the tensors, then inplace=False */
        const char *name = module->args[arg].name;
        const char *at = strstr(module->elementwise->args, arena_format(&c->cx->arena, "%s=", name));

        if (strcmp(name, "inplace") == 0)
            return "False";
        if (!at)
            return NULL;
        at += strlen(name) + 1;
        print_literal(&text, arena_copy(&c->cx->arena, at, strcspn(at, ",")));
    }
    return text.data;
}

/* (3, 3) of an argument that takes one number for several is 3. */
static const char *arg_text(const struct side *side, const struct module *module, int arg)
{
    struct eval eval = {.cx = side->cx};
    const struct ev *value = &module->args[arg].value;
    enum arg_kind kind = module->layer ? module->layer->args[arg].kind : ARG_ANY;
    const char *text = ev_text(&eval, value), *first;

    if (kind < ARG_SINGLE || kind > ARG_SIX || value->kind != EV_TUPLE || value->count == 0)
        return text;
    first = ev_text(&eval, &value->items[0]);
    for (int i = 1; i < value->count; i++)
        if (strcmp(first, ev_text(&eval, &value->items[i])) != 0)
            return text;
    return first;
}

const char *diff_constructor(struct compare *c, const struct side *side, const struct module *module)
{
    struct text text = text_new(&c->cx->arena);
    int count = 0;

    text_add(&text, module->class_name);
    if (!module->parent || (module->layer && module->layer->container != LAYER_PLAIN))
        return text.data;
    text_add(&text, "(");
    for (int i = 0; i < module->arg_count; i++) {
        const char *value = arg_text(side, module, i), *otherwise = default_text(c, module, i);

        if (!otherwise)
            text_printf(&text, "%s%s", count++ ? ", " : "", value);
        else if (strcmp(value, otherwise) != 0)
            text_printf(&text, "%s%s=%s", count++ ? ", " : "", module->args[i].name, value);
    }
    text_add(&text, ")");
    return text.data;
}

const char *diff_tensor_text(struct compare *c, const struct module_tensor *tensor)
{
    struct text text = text_new(&c->cx->arena);

    text_printf(&text, "%s (", dtype_rows[tensor->dtype].name);
    for (int i = 0; i < tensor->ndim; i++)
        text_printf(&text, "%s%lld", i ? ", " : "", (long long)tensor->dims[i]);
    text_add(&text, ")");
    return text.data;
}

const char *diff_init_text(struct compare *c, const struct module_tensor *tensor)
{
    static const char *const names[] = {
        [INIT_UNIFORM] = "uniform_", [INIT_NORMAL] = "normal_", [INIT_WITHIN] = "trunc_normal_"};
    struct text text = text_new(&c->cx->arena);

    if (tensor->init == INIT_VALUE)
        return arena_format(
            &c->cx->arena, "values %016llx",
            (unsigned long long)text_hash(tensor->value->data,
                                          (size_t)tensor_count(tensor->value) * sizeof *tensor->value->data));
    if (tensor->init == INIT_CONSTANT) {
        text_add(&text, "constant_(");
        text_double(&text, tensor->a);
    } else {
        text_printf(&text, "%s(", names[tensor->init]);
        text_double(&text, tensor->a);
        text_add(&text, ", ");
        text_double(&text, tensor->b);
        if (tensor->init == INIT_WITHIN) {
            text_add(&text, ", ");
            text_double(&text, tensor->low);
            text_add(&text, ", ");
            text_double(&text, tensor->high);
        }
    }
    text_add(&text, ")");
    return text.data;
}

static const char *shared_text(struct compare *c, const struct module_tensor *tensor)
{
    return tensor->first == tensor ? "its own"
                                   : arena_format(&c->cx->arena, "same as %s", tensor->first->path);
}

void diff_tensor_texts(struct compare *c, const struct module_tensor *old, const struct module_tensor *new,
                       const char *texts[2])
{
    static const char *const kinds[] = {
        [MODULE_PARAMETER] = "parameter", [MODULE_BUFFER] = "buffer", [MODULE_STATE] = "state"};
    const struct module_tensor *tensors[2] = {old, new};
    const char *inits[2] = {diff_init_text(c, old), diff_init_text(c, new)};

    for (int i = 0; i < 2; i++)
        texts[i] = diff_tensor_text(c, tensors[i]);

    /* a layer's follows from its arguments */
    bool inits_count = old->owner->spec_class && new->owner->spec_class &&strcmp(texts[0], texts[1]) == 0;

    for (int i = 0; i < 2; i++) {
        struct text text = text_new(&c->cx->arena);

        text_add(&text, texts[i]);
        if (old->kind != new->kind)
            text_printf(&text, ", %s", kinds[tensors[i]->kind]);
        if (old->persistent != new->persistent)
            text_add(&text, tensors[i]->persistent ? ", persistent" : ", not persistent");
        if (old->requires_grad != new->requires_grad && old->kind == new->kind)
            text_add(&text, tensors[i]->requires_grad ? ", trained" : ", frozen");
        if (strcmp(shared_text(c, old), shared_text(c, new)) != 0)
            text_printf(&text, ", %s", shared_text(c, tensors[i]));
        if (inits_count && strcmp(inits[0], inits[1]) != 0)
            text_printf(&text, ", %s", inits[i]);
        texts[i] = text.data;
    }
}
