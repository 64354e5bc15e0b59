/* rollout.h - what `rollout:` means for a finished tree: the tensors that a collector of experience records, and which of them
 * n-step returns read and write. torchrl's MultiStep, of which modc has its batch form and, in runtime/modc_rollout.h, the form
 * that is fed step by step. */
#ifndef MODC_ROLLOUT_H
#define MODC_ROLLOUT_H

#include "module/module.h"

/* What policy_n_step does with a record. Keys that end with done, terminated or truncated, and the done key, stay. */
enum rollout_role {
    ROLLOUT_STAYS,
    ROLLOUT_MOVES,        /* under next: taken from the last step of the window */
    ROLLOUT_REWARD,       /* the sum of the window */
    ROLLOUT_ORIGINAL,     /* the same before */
    ROLLOUT_GAMMA,        /* gamma to the power of the steps in the window */
    ROLLOUT_STEPS,        /* how many these are */
    ROLLOUT_NONTERMINAL,  /* whether next was taken from a later step */
    ROLLOUT_INDEX,        /* the last step of the window */
    ROLLOUT_DONE_AT,      /* done at that step */
    ROLLOUT_TERMINATED_AT /* terminated at that step */
};

struct record {
    const char *key;    /* "next.observation" */
    const char *member; /* the same in C */
    struct loc loc;
    enum dtype dtype;
    int ndim;
    int64_t dims[MAX_DIMS]; /* of a step */
    int64_t count;          /* elements of these */
    enum rollout_role role; /* from ORIGINAL on: written by policy_n_step, and not by the collector */
    int reward;             /* ORIGINAL: the index of the reward */
};

struct rollout {
    const struct spec_rollout *spec;
    struct record *records; /* those of the spec, then those that policy_n_step adds */
    int count, recorded;
    const struct module *multi_step; /* NULL: there is none, and no policy_n_step */
    double gamma;
    int n_steps;                /* at least 1: 0 is the identity as 1 is */
    int done, mask, terminated; /* indices; -1: none */
    int64_t agents;             /* windows of a row: elements of done */
};

/* NULL: the spec has no `rollout:`, or after a fault, which was said. */
struct rollout *rollout_read(struct cx *cx, struct module_tree *tree);

#endif
