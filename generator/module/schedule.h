/* schedule.h - the schedulers of torch.optim.lr_scheduler, one row each: arguments, checks, and what they are for the
 * runtime, which steps them (runtime/modc_schedule.c). */
#ifndef MODC_SCHEDULE_H
#define MODC_SCHEDULE_H

#include "module/optim.h"

#define SCHEDULE_MAX_NODES 64

struct schedule_field {
    const char *name;  /* of struct modc_scheduler */
    const char *value; /* an expression over the arguments */
    const char *when;  /* NULL: always */
};

struct schedule_row {
    const char *signature; /* behind `optimizer` and without last_epoch: "StepLR(step_size, gamma=0.1)" */
    const char *kind;      /* enum modc_schedule_kind */
    struct layer_check checks[10];
    const char *integers;                       /* names of arguments that are integers, with blanks around */
    struct schedule_field fields[8], groups[8]; /* groups: one number for each parameter group */
    bool holds;                                 /* its first argument is a list of schedulers */
    const char *doc;                            /* one line, without a full stop */
};

extern const struct schedule_row schedule_rows[]; /* ends with a row without signature */

struct schedule {
    const struct schedule_row *row;
    const char *name; /* "StepLR" */
    struct loc loc;
    struct scope args;
    struct schedule **children;
    int child_count;
};

/* What `StepLR(step_size=10)` means for groups of an optimiser, its arguments evaluated in `scope`. NULL after a fault,
 * which was said. */
struct schedule *schedule_read(struct eval *eval, struct scope *scope, const struct expr *expr,
                               const struct optim *optim, int group_count);

/* What it sets momentum, or beta1, of a group to when it starts: lines of the optimiser depend on it. False: it does not. */
bool schedule_momentum(struct cx *cx, const struct schedule *schedule, int group, double *out);

/* How many schedulers it is, with those that it holds. */
int schedule_nodes(const struct schedule *schedule);

/* static const struct modc_scheduler NAME[], and arrays that it points to. */
void emit_schedule(struct cx *cx, struct text *out, const struct schedule *schedule, const char *name,
                   int group_count);

#endif
