#!/usr/bin/env bash
# bundle.sh - the CMake files that modc writes: two bundles in one folder compile alone, file by file and by
# add_subdirectory; a model without runtime finds MODC_RUNTIME, or modc::runtime where it is there.
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

# In the folder, with nothing else; what has been compiled is of no use to others.
(
    cd "$work/nets"
    for source in *.c *.S; do
        ${CC:-cc} -std=c99 -O0 $warnings -c "$source"
    done
    rm ./*.o
    grep -q 'Apache License' modc_LICENSE.txt
    grep -q 'belongs to the user' modc_NOTICE.txt
    [ ! -e modc_main.c ]
)

cp examples/balance/balance.c "$work/balance.c"
cat >"$work/models.c" <<END
#include "cnn.h"
#include "firmware.h"
#include "mlp.h"
#include "policy.h"
#include "stream.h"

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

int main(int count, char **arguments)
{
    return strcmp(firmware_model.name, "firmware") != 0 || strcmp(mlp_model.name, "mlp") != 0 ||
           strcmp(policy_model.name, "policy") != 0 || strcmp(stream_model.name, "stream") != 0 ||
           count != 2 || has_other_bytes(arguments[1]);
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
target_link_libraries(models cnn firmware policy mlp stream)
enable_testing()
add_test(NAME balance COMMAND balance)
add_test(NAME models COMMAND models $work/same/cnn_weights.bin)
END
{
    cmake -S "$work" -B "$work/build" -DCMAKE_C_COMPILER="${CC:-cc}" -DCMAKE_C_FLAGS=-O0
    cmake --build "$work/build"
} >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
(cd "$work/build" && ctest --output-on-failure)
