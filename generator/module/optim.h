/* optim.h - the optimisers of torch.optim: a row each, which says arguments, checks, state and what a step does.
 *
 * note [optimiser lines]
 * A step of one parameter is what torch.optim's single-tensor path computes. `scalars` are made once for the parameter, in
 * double, over the hyper-parameters, `step` (1 at the first) and each other; one that is named as a scalar of the state is
 * written there. `lines` run for each element, over param, grad, the state, the scalars and the hyper-parameters: one
 * assignment each, in order, of expressions of elementwise.h. Both stand only where their condition over the arguments
 * holds, which is known while generating. A hyper-parameter that is a number is a scalar of the call, so that it may
 * change from step to step; one that was 0 and for whose sake lines were left out stays 0. */
#ifndef MODC_OPTIM_H
#define MODC_OPTIM_H

#include "eval/eval.h"
#include "layers/layers.h"

/* ---- classes of torch.optim, as a spec calls them: optimisers and schedulers ------------------------------ */

/* The name in front of a row's signature: "AdamW". */
const char *optim_class(struct cx *cx, const char *signature);

/* Optimisers, schedulers, clippings: classes, or functions, of which a spec calls one. */
struct optim_family {
    const char *what, *one, *example; /* "optimizer", "an optimizer", "AdamW(lr=3e-4)" */
    const char *spaces; /* they may stand behind, with a blank around each: " optim torch.optim " */
    const void *rows;   /* begin with their signature; one without ends */
    size_t size;        /* of a row */
};

/* The row of what is called, by its bare name or behind one of the spaces. NULL after a fault, which was said. */
const void *optim_find(struct cx *cx, const struct optim_family *family, const struct expr *expr);

/* Binds the arguments of a call, evaluated in `scope`, to a signature; the one that is called `apart` (NULL: none) is not
 * evaluated but given in *out, where it is there. False after a fault. */
bool optim_bind(struct eval *eval, struct scope *scope, const struct expr *expr,
                const struct signature *signature, struct scope *args, const char *apart,
                const struct expr **out);

/* What an argument is bound to; NULL: there is none of that name. */
const struct ev *optim_argument(const struct scope *args, const char *name);

bool optim_condition(struct cx *cx, const struct scope *args, const char *condition);

/* "SGD: argument 'lr' must be a number, found 'fast'". */
void optim_wrong(struct eval *eval, const char *class, const char *name, const struct ev *value,
                 const char *expected);

/* The checks of a row, at the argument that a condition names first where the user wrote it, else at `loc`. False after an
 * error. */
bool optim_check(struct eval *eval, const char *class, struct loc loc, struct scope *args,
                 const struct layer_check *checks, int most);

/* ---- optimisers ----------------------------------------------------------------------------------------- */

#define OPTIM_MAX_STATES 3
#define OPTIM_MAX_HYPERS 8

struct optim_line {
    const char *name, *value;
    const char *when; /* NULL: always */
};

struct optim_state {
    const char *name;    /* the state_dict's */
    const char *when;    /* NULL: always */
    const char *initial; /* over the arguments; NULL: 0 */
    bool scalar;         /* of no dimensions, in float32, or float64 where the parameter is */
};

struct optim_row {
    const char *signature; /* behind `params`: "Adam(lr=1e-3, betas=(0.9, 0.999), ...)" */
    struct layer_check checks[8];
    const char *fixed; /* arguments that the class gives itself, as statements */
    bool uncounted;    /* the state has no `step` */
    bool eager;        /* state is there before the first step */
    struct optim_state states[OPTIM_MAX_STATES];
    const struct optim_line *scalars, *lines; /* NULL as a name ends */
    const char *doc;                          /* one line, without a full stop */
};

extern const struct optim_row optim_rows[]; /* ends with a row without signature */

/* An optimiser with its arguments: of all parameters, or of one group. */
struct optim {
    const struct optim_row *row;
    const char *name; /* "AdamW" */
    struct loc loc;
    struct scope args; /* by name, with beta1 and beta2 of betas */
};

/* What `AdamW(lr=3e-4)` means, its arguments evaluated in `scope`; `optim.AdamW` and `torch.optim.AdamW` too. NULL after a
 * fault, which was said. */
struct optim *optim_read(struct eval *eval, struct scope *scope, const struct expr *expr);

/* `base` with other values of some arguments, which `call` names. NULL after a fault. */
struct optim *optim_group(struct eval *eval, const struct optim *base, const struct call *call);

/* The same optimiser with another number, which is not checked. */
struct optim *optim_with(struct eval *eval, const struct optim *base, const char *name, double number);

/* Whether a condition over the arguments holds. */
bool optim_holds(struct cx *cx, const struct optim *optim, const char *condition);

/* The arguments that are numbers, in the order of the signature: pairs are two, "beta1" and "beta2". */
int optim_hypers(struct cx *cx, const struct optim *optim, const char *names[OPTIM_MAX_HYPERS],
                 double values[OPTIM_MAX_HYPERS]);

/* The tensors that a parameter's state holds, beside its step. */
int optim_states(struct cx *cx, const struct optim *optim,
                 const struct optim_state *states[OPTIM_MAX_STATES]);
double optim_initial(struct cx *cx, const struct optim *optim, const struct optim_state *state);

/* What the functions of a step are named by: the class, the type ("sgd_float32"); `marked`: which lines it has, too
 * ("sgd_momentum_decay_float32"). */
const char *optim_step_name(struct cx *cx, const struct optim *optim, enum dtype dtype, bool marked);

/* A step on float32 copies of parameters of 16 bits (note [float32 copies] in training.h): what happens to the gradient first. */
struct optim_copy {
    bool scaled;  /* it is divided by the scale */
    bool normed;  /* times a factor, which clip_grad_norm_ gives */
    bool limited; /* clip_grad_value_ */
};

/* emit_optim.c: the kernel over elements and, as NAME_step, the modc_update of runtime/modc_optim.h that calls it. `dtype` is the
 * parameter's, floating; a complex one is its parts, which are twice as many. scene: for a GPU, whose kernels go to `kernels`; NAME_scalars
 * and NAME_launch then take the step's place, `fused`: which leaves a parameter alone where MODC_LEFT_OUT says so. Else NULL.
 * copy: of a parameter of 16 bits that has one; or NULL. */
struct nest_scene;
void emit_optim_step(struct cx *cx, struct text *out, const struct optim *optim, enum dtype dtype,
                     const char *name, bool fused, const struct optim_copy *copy,
                     const struct nest_scene *scene, struct text *kernels);

#endif
