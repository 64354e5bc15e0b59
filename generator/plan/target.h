/* target.h - what a model is compiled for: limits of RAM and flash, the alignment of its blocks, whether there is an
 * operating system, and the compiler that one would use. --target names a chip or describes an own one; or it names the
 * architecture of a GPU, for models on cuda, whose host has an operating system. */
#ifndef MODC_TARGET_H
#define MODC_TARGET_H

#include "base/text.h"

enum { HOSTED_ALIGN = 64, FIRMWARE_ALIGN = 8 }; /* a vector or cache line; the largest scalar */

/* The architecture of GPUs, as nvcc's -arch names it. Of a multiprocessor: */
struct gpu {
    const char *name, *what; /* "sm_90", and for people */
    int threads, blocks;     /* how many it runs at a time */
    int64_t shared;          /* bytes of shared memory, of which each block costs GPU_BLOCK_RESERVED more */
    int64_t shared_block;    /* bytes that one block can have, where its launch asks for them */
};
enum {
    GPU_BLOCK_THREADS = 1024,
    GPU_BLOCK_SHARED = 48 * 1024,
    GPU_BLOCK_RESERVED = 1024
}; /* of a block of any */

struct target {
    const char *name;             /* as the user wrote it: "stm32f411,ram=100K" */
    const char *what;             /* for people */
    const char *compiler, *flags; /* that one would use */
    int64_t ram, flash;           /* bytes; 0: no limit */
    const struct gpu *gpu;        /* NULL: none was named */
    int64_t memory;               /* of the GPU, bytes; 0: no limit */
    int align;                    /* of the blocks that the caller places: MODC_ALIGN */
    int pointer;                  /* bytes of one */
    bool
        dsp; /* Arm's instructions for halves of words and upper halves of products: MODC_DSP of modc_simd.h */
    bool hosted; /* malloc, files and threads: modc_host.c can be compiled, hooks are on by default */
};

/* What --target says, or a hosted one without limits. */
const struct target *target_of(const struct cx *cx);

/* Whether MODC_ALIGN has to be set for it: modc.h would choose another. */
bool target_sets_align(const struct target *target);

/* A name, `key=value` with ram, flash, hosted and align (of a GPU with memory), or both, between commas. NULL after a fault that was
 * said. */
const struct target *target_parse(struct cx *cx, const char *text);

const char *const *target_names(struct cx *cx, int *count);

/* `modc help targets` */
void target_print_all(struct text *text);

#endif
