/* training.h - what `training:` means for a finished tree: the optimiser of each parameter, the schedule, clipping. The loss
 * is the graph's. */
#ifndef MODC_TRAINING_H
#define MODC_TRAINING_H

#include "module/module.h"
#include "module/schedule.h"

/* Parameters with one set of hyper-parameters. Groups stand in the order of `groups:`; those that no group names are the
 * last one. */
struct training_group {
    const struct optim *optim;
    struct module_tensor **params; /* that are trained, in the order of keys; of a tie the first */
    int count;
};

enum training_clip { CLIP_NONE, CLIP_NORM, CLIP_VALUE };

/* Functions of torch.nn.utils, without their parameters. */
struct clip_row {
    const char *signature;
    enum training_clip clip;
    const char *doc; /* one line, without a full stop */
};
extern const struct clip_row clip_rows[]; /* ends with a row without signature */

/* torch.amp.GradScaler, and what it asks of its arguments. */
struct scaler_row {
    const char *signature;
    struct layer_check checks[2];
    const char *doc;
};
extern const struct scaler_row scaler_rows[]; /* one; ends with a row without signature */

/* note [float32 copies]
 * `master: float32`: the optimiser's block holds a float32 copy of each trained parameter of 16 bits. A step widens the gradient,
 * divides it by the scale and clips it in float32, updates the copy and state in float32, and rounds the copy into the parameter.
 * A copy belongs to its parameter as long as its rounding is the parameter, bit for bit; where a program has written another one
 * (loaded it, say), the next step begins with that. So copies need no beginning: zeroed memory is one of no parameter but 0. */
struct training {
    const struct spec_training *spec;
    struct training_group *groups;
    int group_count;
    const struct schedule *schedule; /* NULL: none */
    enum training_clip clip;
    double max_norm, norm_type; /* VALUE: max_norm is the largest value */
    bool error_if_nonfinite;
    bool averages; /* ema: */
    double decay;
    bool master; /* float32 copies of parameters of 16 bits: note [float32 copies] */
    bool scales; /* scaler: */
    double init_scale, growth_factor, backoff_factor;
    int64_t growth_interval;
    bool fused;
};

/* Whether the loss is scaled; of NULL, of which it is not known or there is none, it is not. */
bool training_scales(const struct training *training);

/* Whether the optimiser steps on a float32 copy of the parameter. */
bool training_copies(const struct training *training, const struct module_tensor *tensor);

/* The type of a parameter's state, and of its average. */
enum dtype training_state_dtype(const struct training *training, const struct module_tensor *tensor);

/* The index of the group that the parameter belongs to; -1: none. */
int training_group_of(const struct training *training, const struct module_tensor *tensor);

/* NULL: the spec has no `training:`, or after a fault, which was said. The tree is whole: lazy modules are resolved. */
struct training *training_read(struct cx *cx, struct module_tree *tree);

#endif
