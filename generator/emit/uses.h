/* uses.h - which names the body of a function uses, noted by whoever prints them, so that its head declares these alone. */
#ifndef MODC_USES_H
#define MODC_USES_H

#include "base/dim.h"
#include "base/names.h"
#include "tree/tree.h"

struct uses {
    struct arena *arena;
    const struct module_tree *tree; /* whose sizes dimensions are over */
    struct names names;
};

struct uses *uses_new(struct arena *arena, const struct module_tree *tree);

/* Notes a name; returns it, so that it can be printed at once. */
const char *use(struct uses *uses, const char *name);

/* Notes the sizes that a dimension is over; returns the dimension. */
const struct dim *use_dim(struct uses *uses, const struct dim *dim);

/* Notes all that another one has. */
void use_all(struct uses *uses, const struct uses *others);

bool uses_name(const struct uses *uses, const char *name);

#endif
