/* elements.h - functions of elements, while the texts of kernels are made. Private to elements.c and kernel.c. */
#ifndef MODC_ELEMENTS_H
#define MODC_ELEMENTS_H

#include "emit/kernel.h"

/* In which forms a function of elements is called. */
struct forms {
    bool scalar, vector;
};

struct kernel_texts {
    struct cx *cx;
    const struct plan *plan;
    struct forms *called, *printed; /* by number of the function */
    struct core_forms {
        const struct kernel *core;
        struct forms takes;
    } * cores;
    int core_count;
    struct text launchers; /* CUDA: what C calls */
};

/* Notes that the function is called in these forms. */
void call_function(struct kernel_texts *texts, const struct element_function *function, struct forms forms);

/* Which forms of a function a core takes, in the order scalar, vector. */
void keep_forms(struct kernel_texts *texts, const struct kernel *core, struct forms forms);
struct forms core_forms(const struct kernel_texts *texts, const struct kernel *core);

#endif
