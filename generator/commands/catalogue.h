/* catalogue.h - what a spec can name, layers and functions, from the tables that the compiler uses: for `modc layers`, the
 * schema and shells. */
#ifndef MODC_CATALOGUE_H
#define MODC_CATALOGUE_H

#include "base/text.h"

struct catalogue_entry {
    const char *family;    /* "convolution"; equal ones follow each other */
    const char *name;      /* "Conv2d", "softmax" */
    const char *signature; /* "Linear(in_features, out_features, bias=True)" */
    const char *doc;       /* one line; a formula where the table has no other */
    unsigned places;       /* functions: FUNCTION_TORCH and the like of layers.h */
};

const struct catalogue_entry *catalogue_layers(struct cx *cx, int *count);
const struct catalogue_entry *catalogue_functions(struct cx *cx, int *count);

/* All of them, by family. */
void catalogue_print(struct cx *cx, struct text *text);

/* The same for programs: layers, functions and where they are found, each with its arguments and their defaults (null: it
 * is needed; a container's or a tensor's further arguments: "..."), and the ops with their algorithms. */
void catalogue_print_json(struct cx *cx, struct text *text);

/* What has that name, which may be written as in PyTorch: nn.Linear, F.relu. False after a fault that was said. */
bool catalogue_print_one(struct cx *cx, struct text *text, const char *name);

/* Pages in Markdown, NAME.md for each layer, functions.md, and README.md, which lists them: docs/layers/. */
struct output_file *catalogue_pages(struct cx *cx, int *count);

#endif
