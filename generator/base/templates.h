/* templates.h - the templates that are built into modc, as text: which there are, and which words they use. emit/template.c
 * fills them. */
#ifndef MODC_TEMPLATES_H
#define MODC_TEMPLATES_H

#include "base/backend.h"
#include "base/text.h"

/* The text of a template of the machine ("gemm_panel"), or NULL. */
const char *template_find(const struct backend *backend, const char *name);

/* Is `word` a hole of some template as cores call it: LDX, which is T_ldx? */
bool template_argument(const char *word);

/* Does some template's code (not its comments) call a function of that name? */
bool template_calls(const char *word);

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
