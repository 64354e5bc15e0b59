#!/usr/bin/env bash
# subproject.sh - tests/package with modc as a subdirectory, as FetchContent brings it: modc is built, then used; the
# project's own installation has nothing of it.
#
#     CC=cc CMAKE_GENERATOR=Ninja tests/support/subproject.sh CMAKE MODC WORK     from the root of the repository
set -euo pipefail

cmake=$1 modc=$2 work=$3
root=$PWD
rm -rf "$work"
mkdir -p "$(dirname "$work")"
cp -R tests/package "$work"
CC="${CMAKE_C_COMPILER_LAUNCHER:-} ${CC:-cc}" CFLAGS=-O1 "$modc" run "$work/net.yaml" --seed 1 --state "$work/models/net.safetensors"
cd "$work"
{
    "$cmake" -S . -B build -DMODC_SOURCE="$root" -DMODC_WERROR=ON -DHIDDEN=4 -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG=-O0 # the flags of wheel.sh, whose objects it may have
    "$cmake" --build build --parallel 2
    "$cmake" --install build --prefix installed
} >said 2>&1 || { cat said >&2; exit 1; }
build/use >output
grep -F "net 0.359, narrow 0.359, wide 0.258" output
[ ! -e installed ] || { find installed >&2; exit 1; }
