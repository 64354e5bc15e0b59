#!/usr/bin/env bash
# bench.sh - the benchmarks run, and everyone in them computes the same numbers. Times nothing.
#
#     CC=cc tests/support/bench.sh MODC WORK     from the root of the repository
#
# Exit status 77 where bench/setup has not been run.
set -euo pipefail

modc=$1
export MODC_BENCH_BUILD=$2

bench/run --check --modc "$modc" --peers ort,emx,eager policy digits
bench/denormals --check --modc "$modc" --only sum --only underflow
bench/sweep --check --modc "$modc" --only '1x17-33' --only '8-8x64k3s2' --only 'argmax-rows-32x64' \
    --only 'channels-turned-8x64x64x40'
bench/train --check --modc "$modc" --peers eager mlp cnn
bench/rollout --check --modc "$modc"
"${MODC_BENCH_PYTHON:-${XDG_CACHE_HOME:-$HOME/.cache}/modc-bench/bin/python}" bench/gpu --emulate --modc "$modc" policy1 train
