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
    bool fused;
};

/* The index of the group that the parameter belongs to; -1: none. */
int training_group_of(const struct training *training, const struct module_tensor *tensor);

/* NULL: the spec has no `training:`, or after a fault, which was said. The tree is whole: lazy modules are resolved. */
struct training *training_read(struct cx *cx, struct module_tree *tree);

#endif
