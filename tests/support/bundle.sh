#!/usr/bin/env bash
# bundle.sh - the CMake files that modc writes: bundles in one folder compile alone, file by file and by
# add_subdirectory; a model without runtime finds MODC_RUNTIME, or modc::runtime where it is there. One is on CUDA too.
#
#     CC=cc tests/support/bundle.sh MODC WORK     from the root of the repository
set -euo pipefail

modc=$1
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"

"$modc" generate specs/cartpole/policy.yaml --weights specs/cartpole/weights.safetensors --bundle -o "$work/nets"
"$modc" generate specs/digits/mlp.yaml --bundle -o "$work/nets"
"$modc" generate specs/digits/cnn.yaml --weights specs/digits/weights_cnn.safetensors --weights-as c --bundle -o "$work/nets"
"$modc" generate specs/digits/cnn.yaml --weights specs/digits/weights_cnn.safetensors -o "$work/same"
"$modc" generate tests/specs/firmware.yaml -o "$work/bare"
"$modc" generate tests/specs/stream.yaml -o "$work/late"
cat >"$work/pair.yaml" <<END
modc: 1
model: pair
device: [cpu, cuda]
sizes: {batch: 4}
inputs: {x: [batch, 3]}
modules: {fc: "Linear(3, 2)"}
forward:
  - return relu(fc(x))
END
"$modc" generate "$work/pair.yaml" --bundle -o "$work/nets"

# In the folder, with nothing else; what has been compiled is of no use to others.
(
    cd "$work/nets"
    for source in *.c *.S; do
        ${CC:-cc} -std=c99 -O0 $warnings -Icuda_host -c "$source"
    done
    rm ./*.o
    ${CC:-cc} -DMODC_NO_DEVICE -fsyntax-only pair.c # for the processor, as all of a build is that knows of no kernels
    if ${CC:-cc} -DMODC_NO_DEVICE -fsyntax-only pair_cuda.c 2>"$work/said"; then
        exit 1
    fi
    grep -qF "this model is on cuda: modc_add_model(... DEVICE cuda)" "$work/said"
    grep -q 'Apache License' modc_LICENSE.txt
    grep -q 'belongs to the user' modc_NOTICE.txt
    [ ! -e modc_main.c ]
)

cp examples/balance/balance.c "$work/balance.c"
cat >"$work/models.c" <<END
#include "cnn.h"
#include "firmware.h"
#include "mlp.h"
#include "pair.h"
#include "pair_cuda.h"
#include "policy.h"
#include "stream.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const uint64_t cnn_weights[];

/* The array of cnn_weights.c has the bytes that .incbin would take in. */
static int has_other_bytes(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t count = 0;
    int other = !file || (uintptr_t)cnn_weights % MODC_ALIGN != 0;

    for (int byte; !other && (byte = getc(file)) != EOF; count++)
        other = byte != ((const unsigned char *)cnn_weights)[count];
    return other || count != CNN_EMBEDDED_BYTES;
}

typedef char embedded_bytes[POLICY_EMBEDDED_BYTES == $(wc -c <"$work/nets/policy_weights.bin") ? 1 : -1];

/* Both of one spec give the same, of the same parameters. */
static int pair_differs(void)
{
    const float x[4][3] = {{1, 2, 3}, {-1, 0, 1}, {0.5f, -2, 4}};
    float y[4][2], on_cuda[4][2];
    struct modc_params *params, *params_on_cuda;
    struct pair_cuda *net_on_cuda;
    struct pair *net;
    int other;

    if (modc_params_create(&pair_model, &params) != MODC_OK || modc_reset(params, 3) != MODC_OK ||
        modc_params_create(&pair_cuda_model, &params_on_cuda) != MODC_OK ||
        modc_to(params, params_on_cuda) != MODC_OK || modc_pack(params, NULL, 0) != MODC_OK ||
        modc_pack(params_on_cuda, NULL, 0) != MODC_OK || pair_create((struct pair_params *)params, &net) != MODC_OK ||
        pair_cuda_create((struct pair_cuda_params *)params_on_cuda, &net_on_cuda) != MODC_OK)
        return 1;
    other = pair_forward(net, 4, x[0], y[0]) != MODC_OK ||
            pair_cuda_forward_host(net_on_cuda, 4, x[0], on_cuda[0]) != MODC_OK;
    for (int i = 0; i < 8; i++) /* sums of three products, each in an order of its own */
        other |= !(fabsf(y[0][i] - on_cuda[0][i]) <= 1e-6f);
    pair_destroy(net);
    pair_cuda_destroy(net_on_cuda);
    modc_params_destroy(params);
    modc_params_destroy(params_on_cuda);
    return other;
}

int main(int count, char **arguments)
{
    return strcmp(firmware_model.name, "firmware") != 0 || strcmp(mlp_model.name, "mlp") != 0 ||
           strcmp(policy_model.name, "policy") != 0 || strcmp(stream_model.name, "stream") != 0 ||
           count != 2 || has_other_bytes(arguments[1]) || pair_differs();
}
END
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(user C)
set(MODC_RUNTIME $PWD/runtime)
include(bare/firmware.cmake)
add_subdirectory(nets)
include(late/stream.cmake)
add_executable(balance balance.c)
target_link_libraries(balance policy)
add_executable(models models.c)
target_link_libraries(models cnn firmware policy mlp stream pair)
enable_testing()
add_test(NAME balance COMMAND balance)
add_test(NAME models COMMAND models $work/same/cnn_weights.bin)
END
{
    cmake -S "$work" -B "$work/build" -DCMAKE_C_COMPILER="${CC:-cc}" -DCMAKE_C_FLAGS=-O0 -DMODC_CUDA_EMULATE=ON
    cmake --build "$work/build"
} >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
(cd "$work/build" && ctest --output-on-failure)
