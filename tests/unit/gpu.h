/* gpu.h - for tests of kernels that run on the processor and, on a stand-in, on a GPU: what their programs consist of. Behind
 * cmocka.h. */
#include "base/backend.h"
#include "programs.h"

#define GPU_COMPILER "g++"
enum { GPU_ORDERS = 2 }; /* of threads, in which each program runs */

/* What the program does with operands, and how it calls a kernel: on a GPU's stand-in they lie where it sees who goes beyond. */
static const struct {
    const char *includes, *functions, *call, *first;
} programs[DEVICE_COUNT] = {
    [DEVICE_CPU] =
        {.includes = "",
         .functions =
             "static void *load(size_t bytes)\n{\n    void *p = calloc(bytes, 1);\n\n"
             "    if (bytes > 0 && fread(p, bytes, 1, stdin) != 1)\n        exit(3);\n    return p;\n}\n\n"
             "static void store(void *p, size_t bytes)\n{\n    fwrite(p, 1, bytes, stdout);\n}\n\n",
         .call = "",
         .first = ""},
    [DEVICE_CUDA] =
        {.includes = "#include \"modc_cuda.h\"\n#include \"modc_device.h\"\n",
         .functions =
             "struct at {\n    void *p;\n    template <class T> operator T *() const\n    {\n"
             "        return (T *)p;\n    }\n};\n\n"
             "static at load(size_t bytes)\n{\n    void *p, *host = calloc(bytes + 1, 1);\n\n"
             "    if (bytes > 0 && fread(host, bytes, 1, stdin) != 1)\n        exit(3);\n"
             "    if (cudaMalloc(&p, bytes) || cudaMemcpy(p, host, bytes, cudaMemcpyHostToDevice))\n"
             "        exit(4);\n    free(host);\n    return {p};\n}\n\n"
             "static void store(at from, size_t bytes)\n{\n    void *host = calloc(bytes + 1, 1);\n\n"
             "    if (cudaMemcpy(host, from.p, bytes, cudaMemcpyDeviceToHost))\n        exit(5);\n"
             "    fwrite(host, 1, bytes, stdout);\n    free(host);\n}\n\n"
             "inline at random_of(uint64_t seed, uint64_t counter)\n{\n"
             "    const struct modc_random random = {seed, counter};\n    void *p;\n\n"
             "    if (cudaMalloc(&p, sizeof random) ||\n"
             "        cudaMemcpy(p, &random, sizeof random, cudaMemcpyHostToDevice))\n"
             "        exit(4);\n    return {p};\n}\n\n"
             "static void free(at at)\n{\n    if (cudaFree(at.p))\n        exit(6);\n}\n\n",
         .call = "on_",
         .first = "NULL, "},
};

/* kernels.cu of the folder becomes its program `kernels`, checked; false: it does not compile, which is said. */
static inline bool build_for_gpu(const char *folder)
{
    char command[1000];

    snprintf(
        command, sizeof command,
        GPU_COMPILER
        " -x c++ -std=c++17 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror "
        "-fno-exceptions -fsanitize=thread,alignment -Iruntime/cuda_host -Iruntime -c %s/kernels.cu -o %s/kernels.o && "
        "%s -std=gnu11 -O2 runtime/cuda_host/*.c %s/kernels.o -ldl -lm -o %s/kernels",
        folder, folder, own_compiler(), folder, folder);
    if (system(command) == 0)
        return true;
    print_error("%s\n", command);
    return false;
}

/* The program reads `in` and writes `out`; false: it fails, or a kernel is at fault, which is said. */
static inline bool run_on_gpu(const char *folder, int order)
{
    static const char *const seeds[GPU_ORDERS] = {"0", "7"};
    char command[1000];

    snprintf(command, sizeof command, "CUDA_HOST_SEED=%s %s/kernels <%s/in >%s/out", seeds[order], folder,
             folder, folder);
    if (system(command) == 0)
        return true;
    print_error("%s\n", command);
    return false;
}
