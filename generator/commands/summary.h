/* summary.h - `modc summary`: what a model consists of and what it needs. */
#ifndef MODC_SUMMARY_H
#define MODC_SUMMARY_H

#include "commands/memory.h"

/* What a module adds to the blocks of training. */
enum summary_memory {
    SUMMARY_PARAMETERS, /* and buffers */
    SUMMARY_PACKED,
    SUMMARY_GRADIENTS,
    SUMMARY_OPTIMIZER,
    SUMMARY_SAVED,   /* in the workspace at its fullest: what forward keeps for backward */
    SUMMARY_WORKING, /* the same: all else */
    SUMMARY_MEMORIES
};

struct summary_row {
    const char *shape; /* of what the module returns; NULL: never called */
    int64_t parameters;
    double macs;                      /* of the first entry */
    int64_t memory[SUMMARY_MEMORIES]; /* bytes; where there is backward */
};

enum summary_kind {
    SUMMARY_COUNT,
    SUMMARY_MACS,
    SUMMARY_RAM,
    SUMMARY_GPU, /* memory of a device that has its own */
    SUMMARY_FLASH,
    SUMMARY_KINDS
};

struct summary_kind_row {
    const char *word;  /* in JSON */
    const char *title; /* of lines of bytes; NULL: others */
};
extern const struct summary_kind_row summary_kinds[SUMMARY_KINDS];

/* A line below the table: a number of elements, of multiply-adds, or of bytes. */
struct summary_total {
    enum summary_kind kind;
    const char *name; /* "workspace of forward, eval"; unique within its kind */
    double value;
    const char *at; /* " at batch 256", or "" */
};

/* Shapes and MACs of modules are those of the first entry that calls one, in evaluation mode. */
struct summary {
    struct cx *cx;
    const struct plan *plan;
    const struct module_tree *tree;
    struct summary_row *rows;     /* by module, children included in parameters, macs and memory */
    struct summary_total *totals; /* by kind */
    int total_count;
    const struct variant *training; /* whose workspace `memory` is of; NULL: there is no backward */
    int fullest;                    /* its step where most is live */
};

struct summary *summary_make(struct cx *cx, const struct plan *plan);
/* Of a second dtype only what differs from the first: memory, under the prefix of its names. */
void summary_print(struct text *text, struct summary *summary);

/* What print(model) shows in PyTorch. */
void summary_print_repr(struct text *text, const struct module_tree *tree);

/* 5,494,272 */
const char *summary_number(struct cx *cx, double value);

/* What a target that was named has to hold, and what it has. */
void summary_print_target(struct cx *cx, struct text *text, const struct memory *memory);

/* The same of the GPU of --target: its memory, how many kernels a call starts, and what these ask of it by the text of NAME.cu. */
void summary_print_gpu(struct text *text, struct summary *summary, const struct memory *memory,
                       const char *kernels);

#endif
