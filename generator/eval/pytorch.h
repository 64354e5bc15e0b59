/* pytorch.h - the names that PyTorch has, whether modc has them or not: so that a message can say "not supported yet"
 * of what a user knows to exist, instead of "not known". */
#ifndef MODC_PYTORCH_H
#define MODC_PYTORCH_H

#include <stdbool.h>

enum {
    PYTORCH_MODULE = 1,     /* classes of torch.nn */
    PYTORCH_FUNCTIONAL = 2, /* torch.nn.functional */
    PYTORCH_TORCH = 4,      /* functions of torch; most are methods of a tensor too */
    PYTORCH_METHOD = 8,     /* methods and attributes of a tensor that are no functions of torch */
    PYTORCH_INIT = 16,      /* torch.nn.init */
    PYTORCH_DTYPE = 32      /* torch.NAME that is a dtype */
};

/* `name` is in one of the name spaces of `spaces`. */
bool pytorch_has(unsigned spaces, const char *name);

/* Names that modc has not, for one reason. */
struct pytorch_class {
    const char *title, *reason, *hint, *names;
};

extern const struct pytorch_class pytorch_classes[]; /* end with one without title */

/* The class of a name that `space`, "torch", "F", "linalg" or, of methods, "x", has in PyTorch; NULL: it is in none. */
const struct pytorch_class *pytorch_why(const char *space, const char *name);

#endif
