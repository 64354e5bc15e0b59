#!/usr/bin/env bash
# cuda_run.sh - nvcc makes a program of a model, which computes on the GPU what a processor does, or says that there is none.
#
#     CC=cc tests/support/cuda_run.sh MODC NVCC
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NVCC=$2 CFLAGS=-O1
cat >"$work/net.yaml" <<'END'
modc: 1
model: net
inputs: {x: [5, 3]}
forward:
  - y = relu(x * 2 + 1)
  - return y, sum(y, 1)
END
modc=$1
run() {
    "$modc" run "$work/net.yaml" "$@" >"$work/said" 2>&1
}
run --outputs "$work/cpu.safetensors"
status=0
run --device cuda --expect "$work/cpu.safetensors" || status=$?
if [ $status != 0 ] && ! { [ $status = 7 ] && grep -q '^net: error: there is no GPU for it: ' "$work/said"; }; then
    cat "$work/said" >&2
    printf 'cuda_run.sh: it ended with status %d\n' $status >&2
    exit 1
fi
