/* kernel.h - the text of one kernel for each distinct (op, shape, dtype, attributes, fused tail), and the calls. */
#ifndef MODC_KERNEL_H
#define MODC_KERNEL_H

#include "plan/plan.h"

struct kernel {
    const char *name, *text;
};

/* Kernels of one emitted file, in the order of first use. */
struct kernels {
    struct cx *cx;
    const struct plan *plan;
    struct kernel *list;
    int count;
    struct printed *printed; /* what they were printed from */
    int printed_count;
};

/* How the function that is being printed writes its operands. */
struct naming {
    const struct plan *plan;
    const struct variant *variant;
    const struct size *const *sizes;
};

/* The C text of a pointer to the first element of `value`. */
const char *value_pointer(struct cx *cx, const struct variant *variant, const struct value *value);

/* p->trunk._0.weight of a tensor, relative to the variant's root. */
const char *tensor_member(struct cx *cx, const struct module *root, const struct module_tensor *tensor);

/* Statements that run the step, indented by four; empty for what emit.c prints itself (calls, boundaries). */
const char *kernel_step(struct kernels *kernels, const struct variant *variant, const struct step *step);

/* The statements that fill a packed entry; `k` is the packed struct, `p` the parameters of the group's root. */
const char *kernel_pack(struct kernels *kernels, const struct packed *entry);

/* The statements that copy a permuted entry back into PyTorch's layout: out[] from the packed struct `k`; `inside` is "" or
 * the instance that holds the entry. */
const char *kernel_unpack(struct kernels *kernels, const struct packed *entry, const char *inside);

/* Does an array of the parameter struct hold this module's children (`N x Call`)? */
bool module_is_array(const struct module *module);

#endif
