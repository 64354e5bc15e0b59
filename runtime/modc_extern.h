/* modc_extern.h - bodies in C of a spec's Externs. A part of modc.h, which includes it. */
#ifndef MODC_EXTERN_H
#define MODC_EXTERN_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor that is there to be read. */
struct modc_const_tensor {
    const void *data;
    enum modc_dtype dtype;
    int ndim;
    int dims[MODC_MAX_DIMS];
};

/* What the body of an Extern is called with; all tensors are row-major, without gaps.
 *
 * Forward fills the outputs, whose shapes are those that the spec says, from the inputs. Backward has the same inputs, what the
 * outputs were in `results`, and by output its gradient (data NULL: it is 0); it fills, and does not add to, the gradients of
 * those inputs that are wanted (data not NULL).
 *
 * The body returns MODC_OK, or any other status, which ends the model's call as that of a hook does: module and path are then
 * those of the fault. While it runs the context is busy, as in a hook. */
struct modc_extern_call {
    const struct modc_context *context;
    const struct modc_model *model;
    const char *name; /* the body's */
    int module;       /* the Extern's, a constant of the header */
    const char *path; /* and its path */
    bool training;    /* the mode of the call */
    void *user;       /* of modc_set_extern; NULL where the program's own body runs */
    const struct modc_const_tensor *inputs;
    int input_count;
    const struct modc_tensor *outputs; /* NULL in backward */
    int output_count;
    const struct modc_const_tensor *results, *grad_outputs; /* NULL in forward; output_count each */
    const struct modc_tensor *grad_inputs;                  /* NULL in forward; input_count */
};

/* A body of a context's own. The caller owns it, sets what stands first, leaves the rest 0, and keeps it until it is taken off. */
struct modc_extern {
    enum modc_status (*call)(struct modc_extern_call *call);
    enum modc_status (*backward)(
        struct modc_extern_call *call); /* NULL: it has none, which is MODC_UNSUPPORTED */
    void *user;
    const char *name;
    struct modc_extern *next, **list; /* list: NULL while it is set nowhere */
};

/* From now on Externs of this name have that body in calls of the context; NULL: the one that the program is linked with, if it
 * is: MODC_UNSUPPORTED then. MODC_POINTER, MODC_NAME (the model has none of the name), MODC_ARGUMENT (it is set already). */
enum modc_status modc_set_extern(struct modc_context *net, const char *name, struct modc_extern *body);

/* For emitted code. MODC_UNSUPPORTED: there is no body. */
#define MODC_READS(...) ((const struct modc_const_tensor[]){__VA_ARGS__})
#define MODC_WRITES(...) ((const struct modc_tensor[]){__VA_ARGS__})
enum modc_status modc_call_extern(struct modc_context *net, const char *name, int module, int input_count,
                                  int output_count, const struct modc_const_tensor *inputs,
                                  const struct modc_tensor *outputs);
enum modc_status modc_call_extern_backward(struct modc_context *net, const char *name, int module,
                                           int input_count, int output_count,
                                           const struct modc_const_tensor *inputs,
                                           const struct modc_const_tensor *results,
                                           const struct modc_const_tensor *grad_outputs,
                                           const struct modc_tensor *grad_inputs);

/* A body by the name that the spec has for it. NULL: the program has none; backward NULL: nor has the spec. */
struct modc_extern_row {
    const char *name;
    enum modc_status (*call)(struct modc_extern_call *call);
    enum modc_status (*backward)(struct modc_extern_call *call);
};

/* Models with an Extern. */
#define MODC_EXTERN_FUNCTIONS(model)                                                                         \
    static inline enum modc_status model##_set_extern(struct model *net, const char *name,                   \
                                                      struct modc_extern *body)                              \
    {                                                                                                        \
        return modc_set_extern(&net->base, name, body);                                                      \
    }

#ifdef __cplusplus
}
#endif
#endif
