/* modc_optim.h - what trains a model beside its backward: the steps of an optimiser and schedules of its learning rate.
 * Models without `training:` do without it. Nothing here allocates or prints. */
#ifndef MODC_RUNTIME_OPTIM_H
#define MODC_RUNTIME_OPTIM_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimisers ---------------------------------------------------------------------------------------- */

enum { MODC_MAX_HYPERS = 8, MODC_LR = 0 };

/* One step of one parameter of `count` elements: changes it and its state, whose tensors stand in the optimiser's order.
 * hyper: the numbers of its group; step: 1 at the first. */
typedef void modc_update(void *param, const void *grad, void *const *state, size_t count, const double *hyper, double step);

/* A parameter group, as PyTorch's param_groups have it: what a schedule changes, and a user may. */
struct modc_group {
    double hyper[MODC_MAX_HYPERS]; /* in the order of the optimiser's arguments; lr is the first */
    double initial_lr;             /* where schedules start from */
};

/* ---- schedules: modc_schedule.c ------------------------------------------------------------------------ */

enum modc_schedule_kind {
    MODC_LAMBDA,         /* LambdaLR: a function of the user's */
    MODC_MULTIPLICATIVE, /* MultiplicativeLR: the same */
    MODC_STEP,           /* StepLR */
    MODC_MULTI_STEP,     /* MultiStepLR */
    MODC_CONSTANT,       /* ConstantLR: start */
    MODC_LINEAR,         /* LinearLR: start, end */
    MODC_EXPONENTIAL,    /* ExponentialLR */
    MODC_POLYNOMIAL,     /* PolynomialLR */
    MODC_COSINE,         /* CosineAnnealingLR */
    MODC_RESTARTS,       /* CosineAnnealingWarmRestarts */
    MODC_CYCLIC,         /* CyclicLR */
    MODC_ONE_CYCLE,      /* OneCycleLR */
    MODC_PLATEAU,        /* ReduceLROnPlateau */
    MODC_SEQUENTIAL,     /* SequentialLR */
    MODC_CHAINED         /* ChainedScheduler */
};

enum { MODC_TRIANGULAR, MODC_TRIANGULAR2, MODC_EXP_RANGE };

/* The arguments of a scheduler, constant; each kind has its own ones. What SequentialLR and ChainedScheduler hold stands
 * behind them, each followed by what it holds itself. */
struct modc_scheduler {
    enum modc_schedule_kind kind;
    int nodes;                                /* how many schedulers it is, with those that it holds */
    int64_t length, further;                  /* step_size, total_iters, T_max, T_0, total_steps, step_size_up; T_mult,
                                                 step_size_down */
    double gamma, start, end, power, eta_min; /* factor of ConstantLR and ReduceLROnPlateau: start; pct_start: power */
    const int64_t *milestones;
    int milestone_count, mode;
    /* Of each group. OneCycleLR: initial, largest and least lr; CyclicLR: base_lr, max_lr; ReduceLROnPlateau: min_lr. */
    const double *initial_lr, *max_lr, *min_lr;
    const double *base_momentum, *max_momentum; /* of each group, where momentum is cycled; else NULL */
    bool linear, three_phase;                   /* OneCycleLR */
    bool maximum, absolute;                     /* ReduceLROnPlateau: mode max, threshold_mode abs */
    int64_t patience, cooldown;
    double threshold, eps;
};

/* The factor of a group at an epoch, for LambdaLR and MultiplicativeLR. */
typedef double modc_lr_lambda(int64_t epoch, int group, void *user);

/* Where a scheduler is. */
struct modc_schedule {
    int64_t last_epoch;
    int64_t cycle, length; /* CosineAnnealingWarmRestarts: T_cur, T_i */
    double best;           /* ReduceLROnPlateau, as what follows */
    int64_t bad_epochs, cooldown;
};

/* A scheduler over the groups of an optimiser. */
struct modc_scheduling {
    const struct modc_scheduler *scheduler; /* NULL: none */
    struct modc_schedule *state;            /* scheduler->nodes of them */
    struct modc_group *groups;
    int group_count;
    int momentum;           /* which hyper-parameter is cycled: momentum or beta1 */
    modc_lr_lambda *lambda; /* for LambdaLR and MultiplicativeLR, set before modc_schedule_start; NULL: 1 */
    void *user;
};

/* What building the scheduler does in PyTorch: groups whose initial_lr is NaN get their lr for it, the first values are
 * set. */
void modc_schedule_start(struct modc_scheduling *scheduling);

/* scheduler.step(); metric is for ReduceLROnPlateau alone. MODC_SIZE: OneCycleLR has no further steps. */
enum modc_status modc_schedule_step(struct modc_scheduling *scheduling, double metric);

#ifdef __cplusplus
}
#endif
#endif
