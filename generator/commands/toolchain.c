/* toolchain.c - see toolchain.h.
 *
 * nvcc knows where its toolkit has headers and libraries, and which of them its programs need: so it compiles the C over them too, and
 * links. */
#define _POSIX_C_SOURCE 200809L

#include "commands/toolchain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/compiler.h"
#include "commands/options.h"
#include "plan/target.h"

static const char installed_nvcc[] = "/usr/local/cuda/bin/nvcc";

struct toolchain toolchain_of_c(struct cx *cx)
{
    struct toolchain toolchain = {.libraries = "-lm -pthread"};

    for (int i = 0; i < TOOLCHAIN_ROLES; i++)
        toolchain.roles[i] = compiler_words(cx, "cc", "-O3 -march=native");
    return toolchain;
}

struct toolchain toolchain_of_emulation(struct cx *cx, bool checks)
{
    struct toolchain toolchain = toolchain_of_c(cx);
    struct process *kernels = &toolchain.roles[TOOLCHAIN_KERNELS];

    *kernels = compiler_of(cx, "CXX", "c++", "CXXFLAGS", "-O2");
    process_words(cx, kernels, "-x c++ -std=c++17 -fno-exceptions");
    if (checks)
        process_words(cx, kernels, "-g -fsanitize=thread,alignment");
    toolchain.libraries = "-ldl -lm -pthread";
    toolchain.emulates = true;
    return toolchain;
}

/* Where there is none, nvcc would take `native` for the oldest that it knows, which lacks what kernels use. */
static bool has_gpu(void)
{
    static const char *const drivers[] = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu"};

    for (int i = 0; i < COUNT(drivers); i++)
        if (access(drivers[i], F_OK) == 0)
            return true;
    return false;
}

int toolchain_of_cuda(struct cx *cx, bool flushes, struct toolchain *toolchain)
{
    const char *name = process_find(cx, "nvcc") ? "nvcc" : installed_nvcc;
    const struct gpu *gpu = target_of(cx)->gpu;
    struct process nvcc = compiler_of(cx, "NVCC", name, "NVCCFLAGS",
                                      gpu         ? "-O2"
                                      : has_gpu() ? "-O2 -arch=native"
                                                  : "-O2 -arch=sm_80");

    if (!process_find(cx, nvcc.words[0])) {
        diag_error(cx, (struct loc){0}, "the compiler '%s' of models on cuda is missing", nvcc.words[0]);
        diag_hint(cx, "it is of CUDA's toolkit, and %s say which one is used", nvcc.from);
        diag_hint(cx, "--emulate runs the model on this processor, without it");
        return EXIT_COMPILER;
    }
    if (gpu) /* behind $NVCCFLAGS, too */
        process_word(cx, &nvcc, arena_format(&cx->arena, "-arch=%s", gpu->name));
    *toolchain = toolchain_of_c(cx);
    toolchain->libraries = "-lm -lpthread";
    for (int i = TOOLCHAIN_HOST; i < TOOLCHAIN_ROLES; i++)
        toolchain->roles[i] = compiler_copy(cx, &nvcc);
    process_word(cx, &toolchain->roles[TOOLCHAIN_KERNELS], "-std=c++17");
    if (flushes)
        process_word(cx, &toolchain->roles[TOOLCHAIN_KERNELS], "-ftz=true");
    return EXIT_DONE;
}

enum toolchain_role toolchain_role(const struct output_file *file)
{
    static const struct {
        const char *front, *end;
        enum toolchain_role role;
    } rows[] = {{"modc_cuda", ".c", TOOLCHAIN_HOST},
                {"", ".c", TOOLCHAIN_C},
                {"", ".S", TOOLCHAIN_C},
                {"", ".cu", TOOLCHAIN_KERNELS}};

    for (int i = 0; i < COUNT(rows); i++)
        if (strncmp(file->path, rows[i].front, strlen(rows[i].front)) == 0 &&
            text_ends_with(file->path, rows[i].end))
            return rows[i].role;
    return TOOLCHAIN_ROLES;
}
