/* templates.h - the templates that are built into modc, as text: which there are, and which words they use. emit/template.c
 * fills them. */
#ifndef MODC_TEMPLATES_H
#define MODC_TEMPLATES_H

#include "base/backend.h"
#include "base/text.h"

/* The text of a template of the machine ("gemm_panel"), or NULL. */
const char *template_find(const struct backend *backend, const char *name);

/* Is `word` an identifier of some template's code (not of its comments)? */
bool template_uses(const char *word);

/* The holes of a machine's templates, each file's read once. */
struct template_holes {
    const char *file;
    const char **names;
    int count;
};
struct template_cache {
    const struct backend *backend;
    struct template_holes *files;
    int count;
};

/* Does the code of the template have this hole? */
bool template_asks(struct cx *cx, struct template_cache *cache, const char *file, const char *hole);

#endif
