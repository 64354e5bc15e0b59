/* catalogue.c - `modc layers`; see catalogue.h. */
#include "catalogue.h"

#include <string.h>

#include "layers.h"

enum { COLUMN = 16 };

static void print_line(struct text *text, const char *name, const char *what)
{
    text_printf(text, "  %-*s %s\n", COLUMN, name, what ? what : "");
}

void catalogue_print(struct text *text)
{
    text_add(text, "'modc layers NAME' shows arguments, parameters and initialisation of one.\n");
    for (int i = 0; layer_families[i]; i++) {
        text_printf(text, "\n%s\n", layer_family_names[i]);
        for (const struct layer_row *row = layer_families[i]; row->name; row++)
            print_line(text, row->name, row->doc);
    }
    text_add(text, "\nelementwise functions\n");
    for (int i = 0; i < elementwise_row_count; i++)
        if (elementwise_rows[i].module)
            print_line(text, elementwise_rows[i].module, elementwise_rows[i].forward);
}

/* ---- one -------------------------------------------------------------------------------------------------- */

static void print_tensors(struct text *text, const char *title, const struct layer_tensor *tensors, int limit)
{
    for (int i = 0; i < limit && tensors[i].name; i++) {
        const struct layer_tensor *tensor = &tensors[i];

        if (i == 0)
            text_printf(text, "\n%s\n", title);
        text_printf(text, "  %s", tensor->name);
        if (tensor->shape)
            text_printf(text, "  (%s)", tensor->shape);
        if (tensor->dtype)
            text_printf(text, "  %s", tensor->dtype);
        if (tensor->value)
            text_printf(text, "  = %s", tensor->value);
        if (tensor->init)
            text_printf(text, "  %s", tensor->init);
        if (tensor->with)
            text_printf(text, ", %s", tensor->with);
        if (tensor->when)
            text_printf(text, "  if %s", tensor->when);
        text_add(text, tensor->optional ? "  may be missing in a file\n" : "\n");
    }
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static void print_row(struct text *text, const struct layer_row *row)
{
    text_printf(text, "%s(", row->name);
    if (row->container != LAYER_PLAIN)
        text_add(text, "...");
    for (int i = 0; i < COUNT(row->args) && row->args[i].name; i++)
        text_printf(text, "%s%s%s%s", i ? ", " : "", row->args[i].name, row->args[i].value ? "=" : "",
                    row->args[i].value ? row->args[i].value : "");
    text_printf(text, ")\n\n%s\n", row->doc ? row->doc : "");
    print_tensors(text, "parameters", row->params, COUNT(row->params));
    print_tensors(text, "buffers", row->buffers, COUNT(row->buffers));
    if (row->forward) {
        text_add(text, "\n  ");
        for (const char *c = row->forward; *c; c++)
            text_printf(text, *c == '\n' ? "\n      " : "%c", *c);
        text_add(text, "\n");
    }
}

/* "input, negative_slope=0.01" behind the tensors: what the class takes. */
static const char *number_args(const struct elementwise_row *row)
{
    const char *args = row->args;

    for (int i = 0; i < row->tensors && args; i++) {
        args = strchr(args, ',');
        args = args ? args + 1 + strspn(args + 1, " ") : NULL;
    }
    return args ? args : "";
}

static void print_line_of_table(struct text *text, const struct elementwise_row *row)
{
    const char *args = number_args(row);
    bool inplace = (row->flags & ELEMENTWISE_INPLACE) != 0;

    text_printf(text, "%s(%s%s%s)\n\n", row->module, args, args[0] && inplace ? ", " : "",
                inplace ? "inplace=False" : "");
    text_printf(text, "elementwise: %s\n", row->forward);
}

bool catalogue_print_one(struct cx *cx, struct text *text, const char *name)
{
    const char *bare = strncmp(name, "torch.nn.", 9) == 0 ? name + 9 : strncmp(name, "nn.", 3) == 0 ? name + 3 : name;
    const struct layer_row *row = layer_find(bare);
    const struct elementwise_row *line = row ? NULL : elementwise_module(bare);
    const char *const *names;
    int count;

    if (row) {
        print_row(text, row);
    } else if (line) {
        print_line_of_table(text, line);
    } else {
        diag_error(cx, (struct loc){0}, "there is no layer '%s'", name);
        names = layer_names(cx, &count);
        diag_hint_nearest(cx, bare, names, count);
        diag_hint(cx, "'modc layers' lists them");
        return false;
    }
    return true;
}
