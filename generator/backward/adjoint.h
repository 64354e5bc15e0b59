/* adjoint.h - how ops differentiate: from the gradient of an op's result, those of its inputs. */
#ifndef MODC_ADJOINT_H
#define MODC_ADJOINT_H

#include "eval/eval.h"

/* Who asks: backward/backward.c. */
struct adjoint {
    struct eval *eval; /* appends the ops of the gradients; its call is the op's */
    void *data;
    bool (*wants)(const struct adjoint *adjoint,
                  const struct value *value); /* whether a gradient flows to it */
    void (*give)(const struct adjoint *adjoint, struct value *value,
                 struct value *gradient); /* of its dims and type */
    /* The same of `length` elements along an axis from `start` on; nothing comes to the others. */
    void (*give_part)(const struct adjoint *adjoint, struct value *value, int axis, const struct dim *start,
                      const struct dim *length, struct value *gradient);
};

/* Gives the gradients of the op's inputs that are wanted, from those of its results; NULL: nothing came for that one. */
void adjoint_give(const struct adjoint *adjoint, struct op *op, struct value *const *gradients);

/* Zeros of that type and those dims: a view of one. */
struct value *adjoint_zeros(struct eval *eval, struct loc loc, enum dtype dtype, int ndim,
                            const struct dim *const *dims);

/* a + b, of the same dims and type. */
struct value *adjoint_sum(struct eval *eval, struct loc loc, struct value *a, struct value *b);

#endif
