/* modc_schedule.c - the schedulers of torch.optim.lr_scheduler. Recursive as there: an epoch's lr is made of the one that a
 * group has, so that edits from outside stay; `closed` are PyTorch's closed forms, which SequentialLR begins with. */
#include "modc_optim.h"

#include <math.h>

#define PI 3.14159265358979323846

static double *lr_of(const struct modc_scheduling *s, int group)
{
    return &s->groups[group].hyper[MODC_LR];
}

static double factor(const struct modc_scheduling *s, int64_t epoch, int group)
{
    return s->lambda ? s->lambda(epoch, group, s->user) : 1;
}

static int milestones_at(const struct modc_scheduler *scheduler, int64_t epoch)
{
    int count = 0;

    for (int i = 0; i < scheduler->milestone_count; i++)
        count += scheduler->milestones[i] == epoch;
    return count;
}

static int milestones_up_to(const struct modc_scheduler *scheduler, int64_t epoch)
{
    int count = 0;

    for (int i = 0; i < scheduler->milestone_count; i++)
        count += scheduler->milestones[i] <= epoch;
    return count;
}

static double half_cosine(double part)
{
    return (1 + cos(PI * part)) / 2;
}

/* ---- the lr of a group --------------------------------------------------------------------------------- */

static double cosine(const struct modc_scheduler *scheduler, double lr, double base, double t)
{
    double length = (double)scheduler->length, low = scheduler->eta_min;

    if (fmod(t - 1 - length, 2 * length) == 0)
        return lr + (base - low) * (1 - cos(PI / length)) / 2;
    return (1 + cos(PI * t / length)) / (1 + cos(PI * (t - 1) / length)) * (lr - low) + low;
}

/* get_lr of the kinds that know nothing but the epoch; `first`: the scheduler is being built. */
static double next_lr(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                      const struct modc_schedule *state, int group, bool first)
{
    double lr = *lr_of(s, group), base = s->groups[group].initial_lr;
    double t = (double)state->last_epoch, length = (double)scheduler->length;

    switch (scheduler->kind) {
    case MODC_LAMBDA:
        return base * factor(s, state->last_epoch, group);
    case MODC_MULTIPLICATIVE:
        return first ? lr : lr * factor(s, state->last_epoch, group);
    case MODC_STEP:
        return t == 0 || state->last_epoch % scheduler->length != 0 ? lr : lr * scheduler->gamma;
    case MODC_MULTI_STEP: {
        int count = milestones_at(scheduler, state->last_epoch);

        return count == 0 ? lr : lr * pow(scheduler->gamma, count);
    }
    case MODC_CONSTANT:
        if (t == 0)
            return lr * scheduler->start;
        return t == length ? lr * (1 / scheduler->start) : lr;
    case MODC_LINEAR: {
        double rise = scheduler->end - scheduler->start;

        if (t == 0)
            return lr * scheduler->start;
        return first || t > length ? lr : lr * (1 + rise / (length * scheduler->start + (t - 1) * rise));
    }
    case MODC_EXPONENTIAL:
        return first ? lr : lr * scheduler->gamma;
    case MODC_POLYNOMIAL:
        if (first || t > length)
            return lr;
        return lr * pow((1 - t / length) / (1 - (t - 1) / length), scheduler->power);
    case MODC_COSINE:
        return first ? lr : cosine(scheduler, lr, base, t);
    case MODC_RESTARTS:
        return scheduler->eta_min +
               (base - scheduler->eta_min) * half_cosine((double)state->cycle / (double)state->length);
    default:
        return lr;
    }
}

static double closed_lr(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                        const struct modc_schedule *state, int group)
{
    double base = s->groups[group].initial_lr, t = (double)state->last_epoch,
           length = (double)scheduler->length;
    double part = fmin(t, length) / length;

    switch (scheduler->kind) {
    case MODC_STEP:
        return base * pow(scheduler->gamma, (double)(state->last_epoch / scheduler->length));
    case MODC_MULTI_STEP:
        return base * pow(scheduler->gamma, milestones_up_to(scheduler, state->last_epoch));
    case MODC_CONSTANT:
        return base * (scheduler->start + (t >= length) * (1 - scheduler->start));
    case MODC_LINEAR:
        return base * (scheduler->start + (scheduler->end - scheduler->start) * part);
    case MODC_EXPONENTIAL:
        return base * pow(scheduler->gamma, t);
    case MODC_POLYNOMIAL:
        return base * pow(1 - part, scheduler->power);
    case MODC_COSINE:
        return scheduler->eta_min + (base - scheduler->eta_min) * half_cosine(t / length);
    default:
        return next_lr(s, scheduler, state, group, false);
    }
}

/* ---- cycles, of lr and momentum ------------------------------------------------------------------------ */

static void cyclic(const struct modc_scheduling *s, const struct modc_scheduler *scheduler, double t)
{
    double total = (double)(scheduler->length + scheduler->further),
           rising = (double)scheduler->length / total;
    double cycle = floor(1 + t / total), x = 1 + t / total - cycle;
    double height = x <= rising ? x / rising : (x - 1) / (rising - 1);

    if (scheduler->mode == MODC_TRIANGULAR2)
        height *= 1 / pow(2, cycle - 1);
    if (scheduler->mode == MODC_EXP_RANGE)
        height *= pow(scheduler->gamma, t);
    for (int i = 0; i < s->group_count; i++) {
        *lr_of(s, i) = scheduler->initial_lr[i] + (scheduler->max_lr[i] - scheduler->initial_lr[i]) * height;
        if (scheduler->max_momentum)
            s->groups[i].hyper[s->momentum] = scheduler->max_momentum[i] -
                                              (scheduler->max_momentum[i] - scheduler->base_momentum[i]) *
                                                  height;
    }
}

static double between(const struct modc_scheduler *scheduler, double from, double to, double part)
{
    return scheduler->linear ? (to - from) * part + from : to + (from - to) * half_cosine(part);
}

/* Phases end at pct * T - 1, with three of them at 2 * pct * T - 2, and at T - 1; the last one goes on behind that. */
static void one_cycle(const struct modc_scheduling *s, const struct modc_scheduler *scheduler, double t)
{
    double total = (double)scheduler->length, ends[3] = {0, 0, 0}, start = 0;
    int phases = scheduler->three_phase ? 3 : 2, phase = 0;

    ends[0] = scheduler->power * total - 1;
    ends[1] = 2 * scheduler->power * total - 2;
    ends[phases - 1] = total - 1;
    while (phase < phases - 1 && t > ends[phase])
        start = ends[phase++];
    for (int i = 0; i < s->group_count; i++) {
        /* where lr and momentum are when a phase begins and when the last one ends */
        const double low = scheduler->initial_lr[i], high = scheduler->max_lr[i],
                     least = scheduler->min_lr[i];
        const double lrs[4] = {low, high, phases == 3 ? low : least, least};
        double part = (t - start) / (ends[phase] - start);

        *lr_of(s, i) = between(scheduler, lrs[phase], lrs[phase + 1], part);
        if (scheduler->max_momentum) {
            const double most = scheduler->max_momentum[i],
                         momenta[4] = {most, scheduler->base_momentum[i], most, most};

            s->groups[i].hyper[s->momentum] = between(scheduler, momenta[phase], momenta[phase + 1], part);
        }
    }
}

/* ---- plateau ------------------------------------------------------------------------------------------- */

static bool is_better(const struct modc_scheduler *scheduler, double metric, double best)
{
    double threshold = scheduler->threshold;

    if (scheduler->maximum)
        return metric > (scheduler->absolute ? best + threshold : best * (threshold + 1));
    return metric < (scheduler->absolute ? best - threshold : best * (1 - threshold));
}

static void plateau(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                    struct modc_schedule *state, double metric)
{
    state->last_epoch++;
    if (is_better(scheduler, metric, state->best)) {
        state->best = metric;
        state->bad_epochs = 0;
    } else {
        state->bad_epochs++;
    }
    if (state->cooldown > 0) {
        state->cooldown--;
        state->bad_epochs = 0;
    }
    if (state->bad_epochs <= scheduler->patience)
        return;
    for (int i = 0; i < s->group_count; i++) {
        double lr = *lr_of(s, i), next = lr * scheduler->start;

        next = scheduler->min_lr[i] > next ? scheduler->min_lr[i] : next;
        if (lr - next > scheduler->eps)
            *lr_of(s, i) = next;
    }
    state->cooldown = scheduler->cooldown;
    state->bad_epochs = 0;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* Sets the values of state->last_epoch. */
static enum modc_status set_values(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                                   const struct modc_schedule *state, bool first)
{
    if (scheduler->kind == MODC_ONE_CYCLE && state->last_epoch > scheduler->length)
        return MODC_SIZE;
    if (scheduler->kind == MODC_ONE_CYCLE)
        one_cycle(s, scheduler, (double)state->last_epoch);
    else if (scheduler->kind == MODC_CYCLIC)
        cyclic(s, scheduler, (double)state->last_epoch);
    else
        for (int i = 0; i < s->group_count; i++)
            *lr_of(s, i) = next_lr(s, scheduler, state, i, first);
    return MODC_OK;
}

static enum modc_status step(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                             struct modc_schedule *state, double metric, bool first);

/* The index-th of those that a scheduler holds, counted in nodes from itself. */
static int child_at(const struct modc_scheduler *scheduler, int index)
{
    int at = 1;

    for (; index > 0; index--)
        at += scheduler[at].nodes;
    return at;
}

static enum modc_status sequential(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                                   struct modc_schedule *state, double metric)
{
    int index, child;

    state->last_epoch++;
    index = milestones_up_to(scheduler, state->last_epoch);
    child = child_at(scheduler, index);
    if (index == 0 || scheduler->milestones[index - 1] != state->last_epoch)
        return step(s, scheduler + child, state + child, metric, false);
    state[child].last_epoch = 0;
    if (scheduler[child].kind == MODC_CYCLIC)
        return set_values(s, scheduler + child, state + child, false);
    for (int i = 0; i < s->group_count; i++)
        *lr_of(s, i) = closed_lr(s, scheduler + child, state + child, i);
    return MODC_OK;
}

static enum modc_status step(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                             struct modc_schedule *state, double metric, bool first)
{
    enum modc_status status = MODC_OK;

    switch (scheduler->kind) {
    case MODC_PLATEAU:
        plateau(s, scheduler, state, metric);
        return MODC_OK;
    case MODC_SEQUENTIAL:
        return sequential(s, scheduler, state, metric);
    case MODC_CHAINED:
        for (int child = 1; child < scheduler->nodes && status == MODC_OK; child += scheduler[child].nodes)
            status = step(s, scheduler + child, state + child, metric, false);
        return status;
    case MODC_RESTARTS:
        if (!first && ++state->cycle >= state->length) {
            state->cycle %= state->length;
            state->length *= scheduler->further;
        }
        break;
    default:
        break;
    }
    state->last_epoch++;
    status = set_values(s, scheduler, state, first);
    if (status != MODC_OK)
        state->last_epoch--;
    return status;
}

/* As SequentialLR has it: schedulers were built, and now take back what they did. */
static void undo(const struct modc_scheduler *scheduler, struct modc_schedule *state)
{
    bool holds = scheduler->kind == MODC_SEQUENTIAL || scheduler->kind == MODC_CHAINED;

    if (!holds)
        state->last_epoch--;
    for (int child = 1; holds && child < scheduler->nodes; child += scheduler[child].nodes)
        undo(scheduler + child, state + child);
}

static void build(const struct modc_scheduling *s, const struct modc_scheduler *scheduler,
                  struct modc_schedule *state)
{
    *state = (struct modc_schedule){.last_epoch = -1, .length = scheduler->length};
    for (int child = 1; child < scheduler->nodes; child += scheduler[child].nodes)
        build(s, scheduler + child, state + child);
    for (int i = 0; i < s->group_count; i++) {
        struct modc_group *group = &s->groups[i];

        if (scheduler->kind == MODC_CYCLIC)
            group->hyper[MODC_LR] = scheduler->initial_lr[i];
        if (scheduler->kind == MODC_ONE_CYCLE)
            group->initial_lr = scheduler->initial_lr[i];
        if (isnan(group->initial_lr) && scheduler->kind != MODC_PLATEAU)
            group->initial_lr = group->hyper[MODC_LR];
    }
    switch (scheduler->kind) {
    case MODC_PLATEAU:
        state->last_epoch = 0;
        state->best = scheduler->maximum ? -(double)INFINITY : (double)INFINITY;
        break;
    case MODC_SEQUENTIAL: {
        int child = child_at(scheduler, milestones_up_to(scheduler, 0));

        for (int i = 0; i < s->group_count; i++)
            s->groups[i].hyper[MODC_LR] = s->groups[i].initial_lr;
        state->last_epoch = 0;
        undo(scheduler, state);
        (void)step(s, scheduler + child, state + child, 0, true);
        break;
    }
    case MODC_CHAINED:
        break;
    default:
        (void)step(s, scheduler, state, 0, true);
        break;
    }
}

void modc_schedule_start(struct modc_scheduling *scheduling)
{
    if (scheduling->scheduler)
        build(scheduling, scheduling->scheduler, scheduling->state);
}

enum modc_status modc_schedule_step(struct modc_scheduling *scheduling, double metric)
{
    if (!scheduling->scheduler)
        return MODC_UNSUPPORTED;
    return step(scheduling, scheduling->scheduler, scheduling->state, metric, false);
}
