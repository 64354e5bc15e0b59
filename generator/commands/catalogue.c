/* catalogue.c - what a spec can name; see catalogue.h. */
#include "commands/catalogue.h"

#include <ctype.h>
#include <string.h>

#include "eval/pytorch.h"
#include "layers/layers.h"
#include "plan/algorithm.h"

/* ---- signatures ------------------------------------------------------------------------------------------- */

/* "negative_slope=0.01" behind the tensors: what the class takes. */
static const char *number_args(const struct elementwise_row *line)
{
    const char *args = line->args;

    for (int i = 0; i < line->tensors && args; i++) {
        args = strchr(args, ',');
        args = args ? args + 1 + strspn(args + 1, " ") : NULL;
    }
    return args ? args : "";
}

static const char *module_signature(struct cx *cx, const struct elementwise_row *line)
{
    const char *args = number_args(line);
    bool inplace = (line->flags & ELEMENTWISE_INPLACE) != 0;

    return arena_format(&cx->arena, "%s(%s%s%s)", line->module, args, args[0] && inplace ? ", " : "",
                        inplace ? "inplace=False" : "");
}

static const char *function_name(struct cx *cx, const struct function_row *row)
{
    return arena_copy(&cx->arena, row->signature, strcspn(row->signature, "("));
}

/* ---- all -------------------------------------------------------------------------------------------------- */

const struct catalogue_entry *catalogue_layers(struct cx *cx, int *count)
{
    struct catalogue_entry *list = NULL;

    *count = 0;
    for (const struct layer_family *family = layer_families; family->rows; family++)
        for (const struct layer_row *row = family->rows; row->name; row++)
            ARENA_PUSH(&cx->arena, list, *count,
                       ((struct catalogue_entry){family->name, row->name, layer_signature(cx, row),
                                                 row->doc ? row->doc : "", 0}));
    for (int i = 0; i < elementwise_row_count; i++) {
        const struct elementwise_row *line = &elementwise_rows[i];

        if (line->module)
            ARENA_PUSH(&cx->arena, list, *count,
                       ((struct catalogue_entry){"elementwise", line->module, module_signature(cx, line),
                                                 line->forward, 0}));
    }
    return list;
}

const struct catalogue_entry *catalogue_functions(struct cx *cx, int *count)
{
    struct catalogue_entry *list = NULL;

    *count = 0;
    for (const struct function_family *family = function_families; family->rows; family++)
        for (const struct function_row *row = family->rows; row->signature; row++)
            if ((row->flags & FUNCTION_VISIBLE) && !(row->flags & FUNCTION_HIDDEN))
                ARENA_PUSH(&cx->arena, list, *count,
                           ((struct catalogue_entry){family->name, function_name(cx, row), row->signature, "",
                                                     row->flags & FUNCTION_VISIBLE}));
    for (int i = 0; i < elementwise_row_count; i++) {
        const struct elementwise_row *line = &elementwise_rows[i];

        if ((function_flags(line) & FUNCTION_VISIBLE) && !function_find(line->name, FUNCTION_VISIBLE))
            ARENA_PUSH(&cx->arena, list, *count,
                       ((struct catalogue_entry){"elementwise functions", line->name,
                                                 arena_format(&cx->arena, "%s(%s)", line->name, line->args),
                                                 line->forward, function_flags(line) & FUNCTION_VISIBLE}));
    }
    return list;
}

static void print_list(struct text *text, const struct catalogue_entry *list, int count, bool functions)
{
    int column = 0;

    for (int i = 0; i < count; i++) {
        const char *head = functions ? list[i].signature : list[i].name;
        int length = (int)strlen(head);

        if (i == 0 || strcmp(list[i].family, list[i - 1].family) != 0) {
            text_add(text, "\n");
            text_styled(text, STYLE_BOLD, list[i].family);
            text_add(text, "\n");
            column = 0;
            for (int k = i; k < count && strcmp(list[k].family, list[i].family) == 0; k++) {
                int other = (int)strlen(functions ? list[k].signature : list[k].name);

                column = other > column && other <= 40 ? other : column;
            }
        }
        text_printf(text, "  %s", head);
        if (list[i].doc[0])
            text_printf(text, "%*s  %s", length < column ? column - length : 0, "", list[i].doc);
        text_add(text, "\n");
    }
}

void catalogue_print(struct cx *cx, struct text *text)
{
    int count;
    const struct catalogue_entry *list = catalogue_layers(cx, &count);

    text_add(
        text,
        "'modc layers NAME' shows a layer's arguments, parameters and initialisation, or where a function is\n"
        "found and what it does.\n");
    print_list(text, list, count, false);
    list = catalogue_functions(cx, &count);
    print_list(text, list, count, true);
}

/* ---- for programs ----------------------------------------------------------------------------------------- */

/* The length of the part before the next comma that stands outside of brackets and quotes. */
static size_t part_length(const char *text)
{
    int depth = 0;
    bool quoted = false;
    size_t i = 0;

    for (; text[i] && (depth > 0 || quoted || text[i] != ','); i++) {
        quoted ^= text[i] == '\'';
        depth += !quoted && strchr("([", text[i]) ? 1 : !quoted && strchr(")]", text[i]) ? -1 : 0;
    }
    return i;
}

/* The arguments of "softmax(input, dim=None)" as a list; those behind "*" are given by name alone. */
static void json_arguments(struct cx *cx, struct text *text, const char *signature)
{
    const char *at = strchr(signature, '(') + 1;
    const char *rest = arena_copy(&cx->arena, at, strlen(at) - 1);

    text_add(text, "\"arguments\": [");
    for (bool first = true, keyword = false; *rest; rest += strspn(rest, ", ")) {
        size_t length = part_length(rest), name = strcspn(rest, "=,");

        if (strncmp(rest, "*,", 2) == 0) {
            keyword = true;
            rest++;
            continue;
        }
        text_add(text, first ? "{\"name\": " : ", {\"name\": ");
        text_json_string(text, arena_copy(&cx->arena, rest, name < length ? name : length));
        text_add(text, ", \"default\": ");
        if (name < length)
            text_json_string(text, arena_copy(&cx->arena, rest + name + 1, length - name - 1));
        else
            text_add(text, "null");
        text_add(text, keyword ? ", \"keyword\": true}" : "}");
        rest += length;
        first = false;
    }
    text_add(text, "]");
}

static void json_places(struct text *text, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } places[] = {{FUNCTION_TORCH, "torch"},
                  {FUNCTION_FUNCTIONAL, "functional"},
                  {FUNCTION_METHOD, "method"},
                  {FUNCTION_RETURNS, "returns"},
                  {FUNCTION_VISION, "torchvision"},
                  {FUNCTION_NN, "nn"},
                  {FUNCTION_ROWS, "generation"},
                  {FUNCTION_OWN, "own"},
                  {FUNCTION_QUANTIZATION, "quantization"}};
    bool first = true;

    text_add(text, "\"places\": [");
    for (int i = 0; i < COUNT(places); i++) {
        if (!(flags & places[i].flag))
            continue;
        text_printf(text, "%s\"%s\"", first ? "" : ", ", places[i].name);
        first = false;
    }
    text_add(text, "], ");
}

static void json_entries(struct cx *cx, struct text *text, const struct catalogue_entry *list, int count,
                         bool functions)
{
    for (int i = 0; i < count; i++) {
        text_add(text, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
        text_json_string(text, list[i].name);
        text_add(text, ", \"family\": ");
        text_json_string(text, list[i].family);
        text_add(text, ", ");
        if (functions)
            json_places(text, list[i].places);
        json_arguments(cx, text, list[i].signature);
        text_add(text, "}");
    }
}

void catalogue_print_json(struct cx *cx, struct text *text)
{
    int count;
    const struct catalogue_entry *list = catalogue_layers(cx, &count);

    text_add(text, "{\n  \"layers\": [");
    json_entries(cx, text, list, count, false);
    list = catalogue_functions(cx, &count);
    text_add(text, "\n  ],\n  \"functions\": [");
    json_entries(cx, text, list, count, true);
    text_add(text, "\n  ],\n  \"ops\": [");
    for (int op = 0; op < GRAPH_OP_COUNT; op++) {
        const struct algorithm *row;
        bool first = true;

        text_printf(text, "%s\n    {\"name\": \"%s\", \"algorithms\": [", op ? "," : "", op_rows[op]->name);
        for (int i = 0; (row = algorithm_at(i)); i++) {
            if ((int)row->op != op || !algorithm_is_first(i))
                continue;
            text_printf(text, "%s\"%s\"", first ? "" : ", ", row->name);
            first = false;
        }
        text_add(text, "]}");
    }
    text_add(text, "\n  ]\n}\n");
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

/* A body of the tables, indented; further lines by `more`. */
static void print_body(struct text *text, const char *body, int more)
{
    text_add(text, "\n  ");
    for (const char *c = body; *c; c++) {
        text_add_bytes(text, c, 1);
        if (*c == '\n')
            text_printf(text, "%*s", 2 + more, "");
    }
    text_add(text, "\n");
}

static void print_head(struct text *text, const char *signature)
{
    text_styled(text, STYLE_BOLD, signature);
    text_add(text, "\n\n");
}

static void print_layer(struct cx *cx, struct text *text, const struct layer_row *row)
{
    print_head(text, layer_signature(cx, row));
    text_printf(text, "%s\n", row->doc ? row->doc : "");
    print_tensors(text, "parameters", row->params, COUNT(row->params));
    print_tensors(text, "buffers", row->buffers, COUNT(row->buffers));
    for (int i = 0; i < COUNT(row->children) && row->children[i].name; i++)
        text_printf(text, "%s  %s: %s%s%s\n", i == 0 ? "\nmodules\n" : "", row->children[i].name,
                    row->children[i].call, row->children[i].when ? "  if " : "",
                    row->children[i].when ? row->children[i].when : "");
    for (int i = 0; i < COUNT(row->resets) && row->resets[i].tensors; i++)
        text_printf(text, "\nthen %s of %s%s\n", row->resets[i].init, row->resets[i].tensors,
                    row->resets[i].least > 1 ? ", matrices and more" : "");
    if (row->forward)
        print_body(text, row->forward, 4);
    for (int i = 0; i < COUNT(row->methods) && row->methods[i]; i++)
        print_body(text, row->methods[i], 4);
}

static void print_module_line(struct cx *cx, struct text *text, const struct elementwise_row *line)
{
    print_head(text, module_signature(cx, line));
    text_printf(text, "elementwise: %s\n", line->forward);
}

/* "found as torch.softmax, F.softmax and x.softmax(...)" */
static void print_places(struct text *text, const char *name, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *before, *behind;
    } places[] = {{FUNCTION_TORCH, "torch.", ""},
                  {FUNCTION_FUNCTIONAL, "torch.nn.functional.", ""},
                  {FUNCTION_METHOD, "x.", "()"},
                  {FUNCTION_RETURNS, "torchrl.objectives.value.functional.", ", here by its bare name"},
                  {FUNCTION_VISION, "torchvision.", ""},
                  {FUNCTION_NN, "torch.nn.", ""},
                  {FUNCTION_ROWS, "", ", in models with generation:"},
                  {FUNCTION_OWN, "", ", modc's own"},
                  {FUNCTION_QUANTIZATION, "torch.ao.quantization.", ", here by its bare name too"}};
    int count = 0, at = 0;

    for (int i = 0; i < COUNT(places); i++)
        count += (flags & places[i].flag) != 0;
    for (int i = 0; i < COUNT(places); i++) {
        if (!(flags & places[i].flag))
            continue;
        text_printf(text, "%s%s%s%s",
                    at == 0           ? "found as "
                    : at == count - 1 ? " and "
                                      : ", ",
                    places[i].before, name, places[i].behind);
        at++;
    }
    text_add(text, flags & FUNCTION_METHOD ? " of a tensor x\n" : "\n");
}

static void print_function(struct cx *cx, struct text *text, const struct function_row *row)
{
    print_head(text, row->signature);
    print_places(text, function_name(cx, row), row->flags);
    if (row->body)
        print_body(text, row->body, 0);
}

static void print_line(struct cx *cx, struct text *text, const struct elementwise_row *line)
{
    print_head(text, arena_format(&cx->arena, "%s(%s)", line->name, line->args));
    print_places(text, line->name, function_flags(line));
    text_printf(text, "\nelementwise: %s\n", line->forward);
}

/* Without the name space that PyTorch's users write before it. */
static const char *bare_name(const char *name)
{
    static const char *const spaces[] = {"torch.nn.functional.",
                                         "torch.nn.",
                                         "torch.Tensor.",
                                         "torch.",
                                         "nn.functional.",
                                         "nn.",
                                         "F.",
                                         "Tensor.",
                                         "x."};

    for (int i = 0; i < COUNT(spaces); i++)
        if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
            return name + strlen(spaces[i]);
    return name;
}

static void unknown_name(struct cx *cx, const char *name, const char *bare)
{
    const char **known = NULL;
    int known_count = 0, layers, functions;
    const struct catalogue_entry *list = catalogue_layers(cx, &layers);
    const struct catalogue_entry *others = catalogue_functions(cx, &functions);

    if (pytorch_has(PYTORCH_MODULE | PYTORCH_FUNCTIONAL | PYTORCH_TORCH | PYTORCH_METHOD, bare)) {
        diag_error(cx, (struct loc){0}, "%s is not supported yet by this version of modc", bare);
        diag_hint(cx, "'modc layers' lists what there is");
        return;
    }
    for (int i = 0; i < layers; i++)
        ARENA_PUSH(&cx->arena, known, known_count, list[i].name);
    for (int i = 0; i < functions; i++)
        ARENA_PUSH(&cx->arena, known, known_count, others[i].name);
    diag_error(cx, (struct loc){0}, "there is no layer or function '%s'", name);
    diag_hint_nearest(cx, bare, known, known_count);
    diag_hint(cx, "'modc layers' lists what there is");
}

/* LeakyReLU and leaky_relu. */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "_");
        b += strspn(b, "_");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

/* A layer has a function beside it, and the reverse. */
static void print_other(struct cx *cx, struct text *text, const char *name)
{
    for (int functions = 0; functions < 2; functions++) {
        int count;
        const struct catalogue_entry *list = functions ? catalogue_functions(cx, &count)
                                                       : catalogue_layers(cx, &count);

        for (int i = 0; i < count; i++)
            if (strcmp(list[i].name, name) != 0 && same_letters(list[i].name, name)) {
                text_printf(text, "\nsee also the %s %s\n", functions ? "function" : "layer",
                            list[i].signature);
                break; /* a second name of it says the same */
            }
    }
}

bool catalogue_print_one(struct cx *cx, struct text *text, const char *name)
{
    const char *bare = bare_name(name);
    const struct layer_row *row = layer_find(bare);
    const struct elementwise_row *module = elementwise_module(bare), *line = elementwise_find(bare);
    const struct function_row *function = function_find(bare, FUNCTION_VISIBLE);

    if (row)
        print_layer(cx, text, row);
    else if (module)
        print_module_line(cx, text, module);
    else if (function)
        print_function(cx, text, function);
    else if (line && !(line->flags & ELEMENTWISE_HIDDEN))
        print_line(cx, text, line);
    else
        unknown_name(cx, name, bare);
    if (diag_errors(cx) == 0)
        print_other(cx, text, bare);
    return diag_errors(cx) == 0;
}
