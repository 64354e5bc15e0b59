/* diff_parts.h - what the files that compare two models share. Private to diff.c, diff_texts.c, diff_modules.c and
 * diff_interface.c. */
#ifndef MODC_DIFF_PARTS_H
#define MODC_DIFF_PARTS_H

#include "base/names.h"
#include "commands/diff.h"

/* One of the two specs. */
struct side {
    const struct summary *summary;
    const struct module_tree *tree;
    const struct spec *spec;
    struct cx *cx;                  /* the compilation it belongs to */
    const struct module **partners; /* by index: in the other tree, or NULL */
    uint64_t *hashes;               /* by index: of all that a module contains, without its name */
};

struct compare {
    struct cx *cx;
    struct diff *diff;
    struct side old, new;
};

bool diff_same(const char *a, const char *b);
void diff_add(struct compare *c, enum diff_part part, struct diff_line line);
/* Where both are there and equal, there is nothing to say. */
void diff_add_pair(struct compare *c, enum diff_part part, const char *name, const char *old,
                   const char *new);

/* ---- diff_texts.c: as a spec would write them ---- */

/* As one would write it, with values for names and without what is the default: "Conv2d(1, 16, 3, padding=1)". */
const char *diff_constructor(struct compare *c, const struct side *side, const struct module *module);
const char *diff_tensor_text(struct compare *c, const struct module_tensor *tensor);
/* The texts of a tensor that both sides have. Behind shape and dtype stands what else differs. */
void diff_tensor_texts(struct compare *c, const struct module_tensor *old, const struct module_tensor *new,
                       const char *texts[2]);
const char *diff_init_text(struct compare *c, const struct module_tensor *tensor);

/* ---- what is compared: each part adds its lines ---- */

/* diff_modules.c: pairs the modules too, which what follows needs */
void diff_modules(struct compare *c);

/* diff_interface.c */
void diff_interface(struct compare *c);
void diff_entries(struct compare *c);

#endif
