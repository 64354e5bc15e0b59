/* catalogue_page.c - a page of docs/layers/ for each layer, from its row, and one for all functions. Apart from catalogue.c, which prints for
 * terminals. */
#include "commands/catalogue.h"

#include <string.h>

#include "eval/pytorch.h"
#include "layers/layers.h"
#include "ops/elementwise.h"

static const char *const kind_texts[] = {
    [ARG_ANY] = "any value",
    [ARG_INT] = "integer",
    [ARG_FLOAT] = "number",
    [ARG_BOOL] = "True or False",
    [ARG_STRING] = "string",
    [ARG_SINGLE] = "integer, or a tuple of one",
    [ARG_PAIR] = "integer, or a tuple of two",
    [ARG_TRIPLE] = "integer, or a tuple of three",
    [ARG_FOUR] = "integer, or a tuple of four",
    [ARG_SIX] = "integer, or a tuple of six",
    [ARG_TUPLE] = "tuple of integers",
    [ARG_INTS] = "integer, or a tuple",
    [ARG_FLOATS] = "None, a number, or a tuple of numbers",
    [ARG_OPTION] = "None, or a value",
    [ARG_MODULE] = "a module",
    [ARG_CALLABLE] = "a function or a module",
    [ARG_SIZES] = "a shape over sizes, several, or a function that gives them",
};

static void print_args(struct text *text, const struct layer_row *row)
{
    for (int i = 0; i < COUNT(row->args) && row->args[i].name; i++) {
        const struct layer_arg *arg = &row->args[i];

        if (i == 0)
            text_add(text, "\n| argument | is | default |\n|---|---|---|\n");
        text_printf(text, "| `%s` | %s%s | ", arg->name, kind_texts[arg->kind],
                    arg->keyword ? ", given by name" : "");
        text_printf(text, arg->value ? "`%s` |\n" : "needed |\n", arg->value);
    }
}

static void print_tensors(struct text *text, const char *what, const struct layer_tensor *tensors, int limit)
{
    for (int i = 0; i < limit && tensors[i].name; i++) {
        const struct layer_tensor *tensor = &tensors[i];

        if (i == 0)
            text_printf(text, "\n| %s | shape | initially | where |\n|---|---|---|---|\n", what);
        text_printf(text, "| `%s` | ", tensor->name);
        if (tensor->shape)
            text_printf(text, "`(%s)`", tensor->shape);
        text_printf(text, "%s%s | `%s`", tensor->dtype ? " " : "", tensor->dtype ? tensor->dtype : "",
                    tensor->value ? tensor->value : tensor->init);
        if (tensor->with)
            text_printf(text, ", `%s`", tensor->with);
        if (tensor->zero_row)
            text_printf(text, ", row `%s` 0", tensor->zero_row);
        text_add(text, " | ");
        if (tensor->when)
            text_printf(text, "`%s`", tensor->when);
        text_printf(text, "%s |\n", tensor->optional ? "; may be missing in a file" : "");
    }
}

static void print_children(struct text *text, const struct layer_row *row)
{
    for (int i = 0; i < COUNT(row->children) && row->children[i].name; i++) {
        const struct layer_child *child = &row->children[i];

        text_printf(text, "%s| `%s` | `%s` | ", i == 0 ? "\n| module | is | where |\n|---|---|---|\n" : "",
                    child->name, child->call);
        text_printf(text, child->when ? "`%s` |\n" : "|\n", child->when);
    }
    for (int i = 0; i < COUNT(row->resets) && row->resets[i].tensors; i++)
        text_printf(text, "\nWhen all is there, `%s` of %s%s%s.\n", row->resets[i].init,
                    row->resets[i].tensors[0] == '*' ? "all parameters" : row->resets[i].tensors,
                    row->resets[i].least > 1 ? " that are matrices or more" : "",
                    row->resets[i].least > 1 ? ", in their order" : "");
}

static void print_checks(struct text *text, const struct layer_row *row)
{
    for (int i = 0; i < COUNT(row->checks) && row->checks[i].condition; i++)
        text_printf(text, "%s- `%s`\n", i == 0 ? "\nRefused unless\n\n" : "", row->checks[i].condition);
}

static void print_body(struct text *text, const char *what, const char *body)
{
    if (what)
        text_printf(text, "\n%s\n", what);
    text_add(text, "\n    ");
    for (const char *c = body; *c; c++)
        text_printf(text, *c == '\n' ? "\n        " : "%c", *c);
    text_add(text, "\n");
}

static void print_row(struct cx *cx, struct text *text, const struct layer_row *row)
{
    text_printf(text, "# %s\n\n%s: %s.\n\n    %s\n", row->name, row->external ? "Of modc" : "In torch.nn",
                row->doc, layer_signature(cx, row));
    print_args(text, row);
    print_tensors(text, "parameter", row->params, COUNT(row->params));
    print_tensors(text, "buffer", row->buffers, COUNT(row->buffers));
    print_children(text, row);
    print_checks(text, row);
    if (row->forward)
        print_body(text, "It computes", row->forward);
    for (int i = 0; i < COUNT(row->methods) && row->methods[i]; i++)
        print_body(text, i == 0 ? "Its methods compute" : NULL, row->methods[i]);
}

static void print_line(struct text *text, const struct elementwise_row *row)
{
    text_printf(text, "# %s\n\nOf each element `x`", row->module);
    text_printf(
        text,
        "; the class of the function `%s(%s)`.\n\n    %s\n\nIts derivative, where `g` is the gradient of the result:\n\n"
        "    %s\n",
        row->name, row->args, row->forward, row->backward);
    if (row->flags & ELEMENTWISE_INPLACE)
        text_add(
            text,
            "\nWith `inplace=True` whoever reads its input behind it reads the result, as in PyTorch; the tensor of a caller stays.\n");
}

static void print_index(struct text *text)
{
    text_add(
        text,
        "# Layers\n\nClasses of torch.nn that a spec can name, each with a page made from the row that the compiler "
        "reads\n(`modc layers NAME`). PyTorch's other classes are not supported yet.\n"
        "[functions.md](functions.md) lists functions and methods, [missing.md](missing.md) those of PyTorch that are not there.\n");
    for (const struct layer_family *family = layer_families; family->rows; family++) {
        text_printf(text, "\n## %s\n\n", family->name);
        for (const struct layer_row *row = family->rows; row->name; row++)
            text_printf(text, "- [%s](%s.md): %s\n", row->name, row->name, row->doc);
    }
    text_add(text, "\n## elementwise\n\n");
    for (int i = 0; i < elementwise_row_count; i++)
        if (elementwise_rows[i].module)
            text_printf(text, "- [%s](%s.md): `%s`\n", elementwise_rows[i].module, elementwise_rows[i].module,
                        elementwise_rows[i].forward);
}

static void print_function(struct text *text, const char *signature, unsigned flags)
{
    text_printf(text, "| `%s` | %s | %s | %s |\n", signature, flags & FUNCTION_TORCH ? "x" : "",
                flags & FUNCTION_FUNCTIONAL ? "x" : "", flags & FUNCTION_METHOD ? "x" : "");
}

static void print_function_head(struct text *text, const char *family)
{
    text_printf(text, "\n## %s\n\n| function | torch. | F. | method |\n|---|---|---|---|\n", family);
}

/* All functions, on one page. */
static const char *print_functions(struct cx *cx)
{
    struct text text = text_new(&cx->arena);

    text_add(
        &text,
        "# Functions and methods\n\nWhat statements can call, by family, and where PyTorch has it: as `torch.NAME`, as "
        "`torch.nn.functional.NAME`,\nas a method of a tensor, which then is the first argument. "
        "`modc layers NAME` shows what one computes.\nThose of the family returns are torchrl's, in `torchrl.objectives.value.functional`; those of transformers are in `torch.nn`; those of generation are modc's own, for models with `generation:`.\n");
    for (const struct function_family *family = function_families; family->rows; family++) {
        bool any = false;

        for (const struct function_row *row = family->rows; row->signature; row++) {
            if (!(row->flags & FUNCTION_VISIBLE))
                continue;
            if (!any)
                print_function_head(&text, family->name);
            print_function(&text, row->signature, row->flags);
            any = true;
        }
    }
    print_function_head(&text, "elementwise");
    for (int i = 0; i < elementwise_row_count; i++) {
        const struct elementwise_row *line = &elementwise_rows[i];

        if ((function_flags(line) & FUNCTION_VISIBLE) && !function_find(line->name, FUNCTION_VISIBLE))
            print_function(&text, arena_format(&cx->arena, "%s(%s)", line->name, line->args),
                           function_flags(line));
    }
    return text.data;
}

/* What PyTorch has and modc has not, class by class. */
static const char *print_missing(struct cx *cx)
{
    struct text text = text_new(&cx->arena);

    text_add(&text,
             "# What is missing\n\nFunctions of torch, torch.linalg, torch.special, torch.fft and "
             "torch.nn.functional (`F.NAME`), and methods and\nattributes of tensors (`x.NAME`), that "
             "PyTorch 2.15 has and modc refuses, with what its messages say of them. All other names are\n"
             "taken: [functions.md](functions.md).\n");
    for (const struct pytorch_class *row = pytorch_classes; row->title; row++) {
        text_printf(&text, "\n## %s\n\nEach %s.\n\n", row->title, row->reason);
        if (row->hint)
            text_printf(&text, "> %s\n\n", row->hint);
        for (const char *name = row->names + 1; *name; name += strcspn(name, " ") + 1)
            text_printf(&text, "%s`%.*s`", name == row->names + 1 ? "" : " ", (int)strcspn(name, " "), name);
        text_add(&text, "\n");
    }
    return text.data;
}

struct output_file *catalogue_pages(struct cx *cx, int *count)
{
    struct output_file *files = NULL;
    const char *const *names, *functions = print_functions(cx), *missing = print_missing(cx);
    int name_count;
    struct text index = text_new(&cx->arena);

    *count = 0;
    print_index(&index);
    ARENA_PUSH(&cx->arena, files, *count, ((struct output_file){"README.md", index.data, index.length}));
    ARENA_PUSH(&cx->arena, files, *count,
               ((struct output_file){"functions.md", functions, strlen(functions)}));
    ARENA_PUSH(&cx->arena, files, *count, ((struct output_file){"missing.md", missing, strlen(missing)}));
    names = layer_names(cx, &name_count);
    for (int i = 0; i < name_count; i++) {
        const struct layer_row *row = layer_find(names[i]);
        struct text text = text_new(&cx->arena);

        if (row)
            print_row(cx, &text, row);
        else
            print_line(&text, elementwise_module(names[i]));
        ARENA_PUSH(
            &cx->arena, files, *count,
            ((struct output_file){arena_format(&cx->arena, "%s.md", names[i]), text.data, text.length}));
    }
    return files;
}
