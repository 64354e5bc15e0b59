/* modc_optim.h - what trains a model beside its backward: the steps of an optimiser, schedules of its learning rate,
 * clipping, averages, and files of all that. Models without `training:` do without it. Nothing here allocates or prints.
 *
 * Emitted code has a struct modc_optimizer_table and
 *     struct MODEL_optimizer {
 *         struct modc_optimizer base;
 *         struct modc_group groups[];
 *         struct modc_schedule schedules[]; where there is a scheduler
 *         double steps[];
 *     };
 * over the gradients of struct MODEL_training. A step of training is forward, loss and backward, which the model has, then
 * modc_optimizer_update; modc_schedule_step(&optimizer.scheduling, metric) comes when the program wants it. */
#ifndef MODC_RUNTIME_OPTIM_H
#define MODC_RUNTIME_OPTIM_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimisers: modc_optim.c -------------------------------------------------------------------------- */

enum { MODC_MAX_HYPERS = 8, MODC_MAX_STATES = 3, MODC_MAX_SCALARS = 16, MODC_LR = 0 };

/* With `master: float32`, behind the numbers of a group: by what gradients are multiplied, and then, or between which value and its
 * negative they are taken; behind the states: the float32 copy of the parameter. */
enum { MODC_UNSCALE = MODC_MAX_HYPERS, MODC_CLIP, MODC_COPY = MODC_MAX_STATES };
#define MODC_NO_COPY ((size_t)-1)

/* One step of one parameter of `count` elements: changes it and its state, whose tensors stand in the optimiser's order.
 * hyper: the numbers of its group; step: 1 at the first. */
typedef void modc_update(void *param, const void *grad, void *const *state, size_t count, const double *hyper,
                         double step);

/* The same on a device, hyper and state as there: the numbers that the step of one parameter computes with, which change from step to step and so lie in the
 * device's memory; and the start of its kernel, which gives 0 or the device's error. state: of scalars the host's. */
typedef void modc_scalars(const double *hyper, double step, void *const *state, double *scalars);
typedef int modc_launch_update(void *stream, void *param, const void *grad, void *const *state, size_t count,
                               const double *scalars);
struct modc_device_update {
    modc_scalars *scalars;
    modc_launch_update *launch;
};

/* A parameter group, as PyTorch's param_groups have it: what a schedule changes, and a user may. */
struct modc_group {
    double hyper[MODC_MAX_HYPERS]; /* in the order of the optimiser's arguments; lr is the first */
    double initial_lr;             /* where schedules start from; NaN: there is none */
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
    int nodes;               /* how many schedulers it is, with those that it holds */
    int64_t length, further; /* step_size, total_iters, T_max, T_0, total_steps, step_size_up; T_mult,
                                                 step_size_down */
    double gamma, start, end, power,
        eta_min; /* factor of ConstantLR and ReduceLROnPlateau: start; pct_start: power */
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

/* ---- the objects --------------------------------------------------------------------------------------- */

/* torch.amp.GradScaler: a number that the loss is multiplied by, so that small gradients are not lost in 16 bits. */
struct modc_scaler {
    float scale; /* 0: there is none */
    double growth_factor, backoff_factor;
    int64_t growth_interval; /* after so many steps in a row it grows */
    int64_t growth_tracker;  /* steps since it changed */
};

struct modc_optimizer_state {
    const char *name; /* the state_dict's: "exp_avg" */
    bool scalar;      /* of no dimensions, float32, or float64 where the parameter is */
    double initial;
};

struct modc_optimizer_group {
    const double *hyper; /* what they begin with */
    unsigned fixed;      /* bit i: hyper i is 0 and stays so, since the step was written without it */
    int state_count;
    const struct modc_optimizer_state *states;
};

/* How the parameter of one of the model's gradients is updated. */
struct modc_optimizer_param {
    modc_update *update;
    int group;
    size_t count;                   /* elements; complex ones are two */
    size_t states[MODC_MAX_STATES]; /* offsets in the block */
    size_t average;                 /* the same, with `ema` */
};

/* What a state file holds, in no particular order, but that the state of a parameter stands together; note [state files] in modc_optim_state.c. */
enum modc_saved_kind {
    MODC_SAVED_CONSTANT,   /* value: what names the optimiser, its groups and flags, and has to be the same */
    MODC_SAVED_HYPER,      /* group, item: count numbers of modc_group.hyper */
    MODC_SAVED_INITIAL_LR, /* group */
    MODC_SAVED_STEP,       /* gradient */
    MODC_SAVED_STATE,      /* gradient, item */
    MODC_SAVED_SCHEDULE,   /* scheduler, item: modc_schedule_field */
    MODC_SAVED_AVERAGE,    /* gradient */
    MODC_SAVED_COPY,       /* gradient */
    MODC_SAVED_SCALER,     /* item: modc_scaler_field */
    MODC_SAVED_AVERAGED    /* how often averages were taken */
};
enum modc_schedule_field {
    MODC_LAST_EPOCH,
    MODC_T_CUR,
    MODC_T_I,
    MODC_BEST,
    MODC_NUM_BAD_EPOCHS,
    MODC_COOLDOWN_COUNTER
};

enum modc_scaler_field {
    MODC_SCALE,
    MODC_GROWTH_FACTOR,
    MODC_BACKOFF_FACTOR,
    MODC_GROWTH_INTERVAL,
    MODC_GROWTH_TRACKER
};

struct modc_saved {
    const char *name;
    enum modc_saved_kind kind;
    int index, item, count;
    enum modc_dtype dtype; /* CONSTANT; of `count` elements, 0: of none dimensions */
    const void *value;
};

enum modc_clip { MODC_CLIP_NONE, MODC_CLIP_NORM, MODC_CLIP_VALUE };

/* What `training:` says, constant. */
struct modc_optimizer_table {
    const char *name;          /* "AdamW" */
    int hyper_count, momentum; /* which one schedules cycle, -1: none */
    const char *const *hypers; /* "lr", "beta1", ... */
    bool counted;              /* the state has a `step` */
    bool eager;                /* state is there before the first step */
    int group_count, param_count, saved_count;
    const struct modc_optimizer_group *groups;
    const struct modc_optimizer_param *params; /* one for each of the model's gradients, in their order */
    const struct modc_scheduler *scheduler;    /* NULL: none */
    const struct modc_saved *saved;
    enum modc_clip clip;
    double max_norm, norm_type; /* CLIP_VALUE: max_norm is the value */
    bool error_if_nonfinite;
    bool averages;
    double decay;
    const size_t
        *copies; /* by gradient: where in the block its float32 copy is, or MODC_NO_COPY; NULL: none has */
    struct modc_scaler scaler;                /* as it begins */
    size_t block;                             /* bytes that modc_optimizer_init takes */
    size_t groups_at, schedules_at, steps_at; /* offsets in struct MODEL_optimizer */
    /* On a device, by gradient: how it is updated; offsets in struct MODEL_optimizer of double[MODC_MAX_SCALARS] and of
     * double[MODC_MAX_STATES] for states that are scalars, and as the step leaves them; and in the block of the first. */
    const struct modc_device_update *updates;
    size_t scalars_at, scalar_states_at, next_states_at, device_scalars;
};

/* At the head of struct MODEL_optimizer, in front of its groups, schedules and steps. Belongs to one struct modc_training. */
struct modc_optimizer {
    const struct modc_optimizer_table *table;
    struct modc_training *training;
    struct modc_scheduling scheduling; /* groups, where the schedule is, the caller's lambda */
    double *steps;                     /* by gradient: how many it has had */
    char *block;
    int64_t averaged;
    double
        total_norm; /* of the gradients, as the last clip of `training:` found it; NaN: there was none, or it is by value */
    bool left_out; /* `update: fused`: a gradient of this step was NaN or infinite */
    struct modc_scaler scaler;
    bool skipped; /* with a scaler: the last step was left out, since a gradient was NaN or infinite */
    bool unscaled, found; /* gradients are divided by the scale already; one of them was NaN or infinite */
    double unscale, clip; /* of those with copies: what MODC_UNSCALE and MODC_CLIP will be */
};

/* Makes an optimiser, whatever the memory held: no step was taken, the schedule is at its start. block: table->block bytes,
 * for states and averages. A schedule with LambdaLR or MultiplicativeLR calls `lambda` from here on (NULL: 1). MODC_POINTER,
 * MODC_ALIGNMENT, MODC_SIZE. */
enum modc_status modc_optimizer_init(struct modc_optimizer *optimizer,
                                     const struct modc_optimizer_table *table, struct modc_training *training,
                                     void *block, size_t bytes, modc_lr_lambda *lambda, void *user);

/* Both at their start, and the context in training mode. block: model->training_block bytes, the gradients' and the optimiser's.
 * As modc_training_init and modc_optimizer_init. */
enum modc_status modc_optimizer_start(struct modc_optimizer *optimizer,
                                      const struct modc_optimizer_table *table,
                                      struct modc_training *training, struct modc_context *net, void *block,
                                      size_t bytes);

/* optimizer.step(): parameters without gradient are left alone, decay, state and step count included. Weights are packed
 * again. Nothing has changed after MODC_READ_ONLY, MODC_POINTER (a parameter lies nowhere), MODC_NONFINITE (a gradient is NaN
 * or infinite). */
enum modc_status modc_optimizer_step(struct modc_optimizer *optimizer);

/* modc_optimizer_clip, modc_optimizer_step and, with `ema`, modc_average_update: all of them or, after an error, none. */
enum modc_status modc_optimizer_update(struct modc_optimizer *optimizer);

/* With `scaler`, as torch.amp.GradScaler. The loss's backward gives gradients times the scale, as of scaler.scale(loss); what a
 * program gives to other backwards it multiplies itself. modc_optimizer_update does then what is said here in one: unscale, clip, step,
 * modc_scaler_update; a step that is left out is MODC_OK. modc_optimizer_step is scaler.step: it unscales where that has not
 * happened, and leaves the step out where a gradient is not finite. MODC_UNSUPPORTED: the spec has no scaler. */
enum modc_status modc_optimizer_unscale(
    struct modc_optimizer *optimizer); /* again before the next step: nothing */
enum modc_status modc_scaler_update(struct modc_optimizer *optimizer);

/* For emitted code, in front of the backward of a loss with a scaler on a device: *gradient is where that has the scale, in the loss's type.
 * MODC_GPU. */
enum modc_status modc_send_loss_scale(struct modc_training *training, float scale, enum modc_dtype dtype,
                                      const void **gradient);

/* scaler.get_scale(), 1 without a scaler; whether the last step was left out. */
float modc_loss_scale(const struct modc_optimizer *optimizer);
bool modc_step_skipped(const struct modc_optimizer *optimizer);

/* For emitted code, with `update: fused`: before a step, whether it can be taken (as above); the update of one parameter, by a
 * gradient that the caller has; behind all of them, packs the weights again. A parameter whose gradient is NaN or infinite is left
 * alone, and the end of the step is then MODC_NONFINITE. */
enum modc_status modc_optimizer_begin(struct modc_optimizer *optimizer);
void modc_optimizer_apply(struct modc_optimizer *optimizer, int index, const void *gradient);
enum modc_status modc_optimizer_end(struct modc_optimizer *optimizer);

/* The former on a device, which finds out whether the gradient is finite; the end of the step waits for that, and is also the status of
 * a check that has failed, with nothing changed. MODC_GPU. */
enum modc_status modc_optimizer_launch(struct modc_optimizer *optimizer, int index, const void *gradient);

/* The type of a parameter's state and average; for modc_optim_state.c, as what follows. */
enum modc_dtype modc_optimizer_dtype(const struct modc_optimizer *optimizer, int index);

/* The state of a parameter as before its first step, and where a tensor of it lies. */
enum modc_status modc_optimizer_reset_state(struct modc_optimizer *optimizer, int index);
void *modc_optimizer_state_at(const struct modc_optimizer *optimizer, int index, int state);

/* param_groups[group][name] ("lr", "beta1"). MODC_NAME, MODC_UNSUPPORTED: it was 0 when the step was written. */
enum modc_status modc_optimizer_get(const struct modc_optimizer *optimizer, int group, const char *name,
                                    double *value);
enum modc_status modc_optimizer_set(struct modc_optimizer *optimizer, int group, const char *name,
                                    double value);

/* torch.nn.utils.clip_grad_norm_ and clip_grad_value_ of the gradients that are there. *total (may be NULL) is the norm
 * before; it is summed in double, in the order of the parameters. MODC_NONFINITE: it is not finite, with
 * error_if_nonfinite; nothing has changed. MODC_UNSUPPORTED: values of complex gradients. */
enum modc_status modc_clip_grad_norm(struct modc_training *training, double max_norm, double norm_type,
                                     bool error_if_nonfinite, double *total);
enum modc_status modc_clip_grad_value(struct modc_training *training, double value);

/* The clipping of `training:`, if it has one. */
enum modc_status modc_optimizer_clip(struct modc_optimizer *optimizer, double *total);

/* With `ema`: takes the parameters into their averages, the first time as they are; exchanges parameters and averages, to
 * evaluate with these, and again to go on (before the first update both are the same). MODC_UNSUPPORTED: the spec has none. MODC_POINTER, MODC_READ_ONLY. */
enum modc_status modc_average_update(struct modc_optimizer *optimizer);
enum modc_status modc_average_swap(struct modc_optimizer *optimizer);

/* ---- state files: modc_optim_state.c ------------------------------------------------------------------- */

/* A safetensors file of the optimiser, its schedule and averages; as modc_save_bytes. */
enum modc_status modc_optimizer_save_bytes(const struct modc_optimizer *optimizer, void *out, size_t capacity,
                                           size_t *length);

/* Takes one back. MODC_FORMAT; MODC_KEYS: it is another optimiser's, or one of other groups, parameters or shapes: *fault
 * (may be NULL) names the first tensor that does not fit, "" where the file has one more. Nothing has changed then. */
enum modc_status modc_optimizer_load_bytes(struct modc_optimizer *optimizer, const void *bytes, size_t length,
                                           const char **fault);

/* The same with memory for modc_reader_open_indexed, or NULL. */
enum modc_status modc_optimizer_load_indexed(struct modc_optimizer *optimizer, const void *bytes,
                                             size_t length, void *memory, size_t memory_bytes,
                                             const char **fault);

/* Hosted builds, modc_optim_host.c: over these two, as modc_save and modc_load. MODC_FILE (errno says more), MODC_MEMORY. */
enum modc_status modc_optimizer_save(const struct modc_optimizer *optimizer, const char *path);
enum modc_status modc_optimizer_load(struct modc_optimizer *optimizer, const char *path, const char **fault);

/* ---- the functions of a model ---------------------------------------------------------------------------- */

/* What emitted headers have under the model's name where the spec has `training:`; see MODC_FUNCTIONS in modc.h.
 * training_init is modc_optimizer_start with MODEL_TRAINING_BYTES. */
#define MODC_OPTIMIZER_FUNCTIONS(model)                                                                      \
    static inline enum modc_status model##_training_init(struct model##_training *training,                  \
                                                         struct model *net, void *block, size_t bytes)       \
    {                                                                                                        \
        return modc_optimizer_start(&training->optimizer.base, &model##_optimizer_table, &training->base,    \
                                    &net->base, block, bytes);                                               \
    }                                                                                                        \
    static inline enum modc_status model##_training_save_bytes(const struct model##_training *training,      \
                                                               void *out, size_t capacity, size_t *length)   \
    {                                                                                                        \
        return modc_optimizer_save_bytes(&training->optimizer.base, out, capacity, length);                  \
    }                                                                                                        \
    static inline enum modc_status model##_training_load_bytes(                                              \
        struct model##_training *training, const void *bytes, size_t length, const char **fault)             \
    {                                                                                                        \
        return modc_optimizer_load_bytes(&training->optimizer.base, bytes, length, fault);                   \
    }

/* Hosted builds. */
#define MODC_OPTIMIZER_FILE_FUNCTIONS(model)                                                                 \
    static inline enum modc_status model##_training_save(const struct model##_training *training,            \
                                                         const char *path)                                   \
    {                                                                                                        \
        return modc_optimizer_save(&training->optimizer.base, path);                                         \
    }                                                                                                        \
    static inline enum modc_status model##_training_load(struct model##_training *training,                  \
                                                         const char *path, const char **fault)               \
    {                                                                                                        \
        return modc_optimizer_load(&training->optimizer.base, path, fault);                                  \
    }

/* Where gradients are kept. Behind backward: clips, updates the parameters whose gradients are there and packs them, or
 * changes nothing. */
#define MODC_STEP_FUNCTIONS(model)                                                                           \
    static inline enum modc_status model##_step(struct model##_training *training)                           \
    {                                                                                                        \
        return modc_optimizer_update(&training->optimizer.base);                                             \
    }

/* Where the spec has a scaler: what the loss is multiplied by, and whether the last step was left out. */
#define MODC_SCALER_FUNCTIONS(model)                                                                         \
    static inline float model##_loss_scale(const struct model##_training *training)                          \
    {                                                                                                        \
        return modc_loss_scale(&training->optimizer.base);                                                   \
    }                                                                                                        \
    static inline bool model##_step_skipped(const struct model##_training *training)                         \
    {                                                                                                        \
        return modc_step_skipped(&training->optimizer.base);                                                 \
    }

/* With a schedule: scheduler.step(); metric is for ReduceLROnPlateau. */
#define MODC_SCHEDULE_FUNCTIONS(model)                                                                       \
    static inline enum modc_status model##_schedule_step(struct model##_training *training, double metric)   \
    {                                                                                                        \
        return modc_schedule_step(&training->optimizer.base.scheduling, metric);                             \
    }

#ifdef __cplusplus
}
#endif
#endif
