/* toolchain.h - which compilers make a program of a model: one of C and, where there are kernels in CUDA, others for these. */
#ifndef MODC_TOOLCHAIN_H
#define MODC_TOOLCHAIN_H

#include "base/text.h"
#include "commands/process.h"

enum toolchain_role {
    TOOLCHAIN_C,
    TOOLCHAIN_HOST,    /* C that may include the header of CUDA's toolkit */
    TOOLCHAIN_KERNELS, /* .cu */
    TOOLCHAIN_LINKER,
    TOOLCHAIN_ROLES
};

struct toolchain {
    struct process roles[TOOLCHAIN_ROLES];
    const char *libraries; /* the last words of the linker */
    bool emulates;         /* the folder cuda_host/ has what stands for the toolkit */
};

/* $CC alone. */
struct toolchain toolchain_of_c(struct cx *cx);

/* $CXX for kernels, beside the stand-in for a GPU. checks: so that it sees what they do with memory. */
struct toolchain toolchain_of_emulation(struct cx *cx, bool checks);

/* $NVCC for kernels, else nvcc of PATH or of the folder where the toolkit is installed; for the GPU of --target. EXIT_COMPILER: there
 * is none, which was said. */
int toolchain_of_cuda(struct cx *cx, bool flushes, struct toolchain *toolchain);

/* Who compiles a file of a model or the runtime; TOOLCHAIN_ROLES: it is not compiled. */
enum toolchain_role toolchain_role(const struct output_file *file);

#endif
