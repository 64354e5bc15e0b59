/* spec_extends.h - a spec with all that it extends, as one tree of nodes. Private to the spec room. */
#ifndef MODC_SPEC_EXTENDS_H
#define MODC_SPEC_EXTENDS_H

#include "spec/spec_yaml.h"

#define SPEC_MAX_BASES 16

struct extended {
    struct node *root;             /* NULL where nothing is left to read */
    bool complete;                 /* as node_read's, over all files */
    const struct source **sources; /* the spec, what it extends, what that extends, ... */
    int source_count;
};

/* What is wrong is said, and what could be read is there. The keys are those of the specs laid over each other, without
 * `extends`; `set` and `add` may each stand there several times, in the order in which they apply. */
struct extended spec_extend(struct cx *cx, const struct source *source);

#endif
