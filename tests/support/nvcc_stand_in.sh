#!/usr/bin/env bash
# nvcc_stand_in.sh - takes command lines of nvcc, and compiles for this processor, beside the stand-in for a GPU, which looks at what
# kernels do: so that the tests of the label gpu are tested where there is none. CUDA_HOST is the stand-in, as a library.
#
#     CUDA_HOST=libmodc_cuda_host.a NVCC=tests/support/nvcc_stand_in.sh modc run SPEC --device cuda
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
words=() links=1 kernels=
for word in "$@"; do
    case $word in
    -arch=*) continue ;;
    -c) links= ;;
    *.cu) kernels=1 ;;
    esac
    words+=("$word")
done
if [ -n "$kernels" ]; then
    set -- -x c++ -std=c++17 -fno-exceptions -g -fsanitize=thread,alignment
    if [ -n "$links" ]; then
        object=$(mktemp)
        trap 'rm -f "$object"' EXIT
        c++ "$@" -I"$root/runtime/cuda_host" "${words[@]}" -c -o "$object"
        c++ -o "$(sed -E 's/.*-o ([^ ]+).*/\1/' <<<"${words[*]}")" "$object" "$CUDA_HOST" -ldl -lm -pthread
        exit
    fi
    exec c++ "$@" -I"$root/runtime/cuda_host" "${words[@]}"
elif [ -n "$links" ]; then
    exec c++ "${words[@]}" "$CUDA_HOST" -ldl -lm -pthread
fi
exec cc -I"$root/runtime/cuda_host" "${words[@]}"
