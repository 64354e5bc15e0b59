/* spec_yaml.h - the YAML of a spec as nodes with places: what the keys are read from. Private to the
 * spec room. */
#ifndef MODC_SPEC_YAML_H
#define MODC_SPEC_YAML_H

#include "base/diag.h"

enum node_kind { NODE_BAD, NODE_SCALAR, NODE_LIST, NODE_MAP };
enum node_style { NODE_PLAIN, NODE_QUOTED, NODE_LITERAL, NODE_FOLDED };

struct node {
    enum node_kind kind; /* BAD: a fault was said; silences what follows */
    enum node_style style;
    bool flow; /* LIST, MAP: written in brackets */

    /* The text as the user wrote it: of a scalar without quotes, of a collection with its brackets. `source`
     * is the file, or where quotes held escapes a copy of it in which they are resolved, so that places stay
     * right. */
    const struct source *source;
    size_t offset, length;
    struct loc loc;

    const char *value;   /* SCALAR: what YAML makes of it */
    struct node **keys;  /* MAP: scalars, each text once */
    struct node **items; /* LIST, MAP */
    int count;
};

/* The root, or NULL where nothing is left to read. *complete: no line had to be cut off, so that what is
 * missing is really missing. */
struct node *node_read(struct cx *cx, const struct source *source, bool *complete);

/* The same, which has to be a mapping: else that is said, and the result is NULL. */
struct node *node_read_mapping(struct cx *cx, const struct source *source, bool *complete);

/* `key:` and nothing behind it. */
bool node_is_empty(const struct node *node);

/* What stands there, for messages: "an empty list". */
const char *node_kind_text(const struct node *node);

/* From the node's first character to the end of its line, comments excluded, as a quoted scalar. */
const char *node_quoted_line(struct cx *cx, const struct node *node);

#endif
