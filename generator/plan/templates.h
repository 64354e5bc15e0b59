/* templates.h - the templates that are built into modc, as text: which there are, and which words they use. emit/template.c
 * fills them. */
#ifndef MODC_TEMPLATES_H
#define MODC_TEMPLATES_H

#include "base/text.h"

/* The text of a template ("c/gemm_panel.c"), or NULL. */
const char *template_find(const char *name);

/* Is `word` an identifier of some template's code (not of its comments)? */
bool template_uses(const char *word);

/* The holes of templates, each file's read once. Start with {0}. */
struct template_holes {
    const char *file;
    const char **names;
    int count;
};
struct template_cache {
    struct template_holes *files;
    int count;
};

/* Does the code of the template have this hole? */
bool template_asks(struct cx *cx, struct template_cache *cache, const char *file, const char *hole);

#endif
