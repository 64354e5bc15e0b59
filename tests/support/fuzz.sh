#!/usr/bin/env bash
# fuzz.sh - looks for inputs that a target of tests/fuzz does not survive. Run from the root.
#
#     tests/support/fuzz.sh build              builds the targets into build/asan
#     tests/support/fuzz.sh TARGET SECONDS     spec, expr, compile or safetensors: searches so long
#     tests/support/fuzz.sh minimise TARGET    the corpus becomes the smallest that reaches as much, with what was found
#
# What is found stands in build/asan/found. New inputs that reach new code stay in build/asan/corpus, for the next time.
set -euo pipefail

build=build/asan
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
limits=(-timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256)

case ${1:?} in
build)
    test -f $build/CMakeCache.txt || cmake --preset asan
    exec cmake --build --preset asan --parallel 2
    ;;
minimise)
    target=${2:?} small=$build/minimised
    rm -rf $small
    mkdir -p $small
    $build/fuzz_"$target" -merge=1 -use_counters=0 "${limits[@]}" $small tests/fuzz/corpus/"$target" $build/corpus/"$target"
    rm -rf tests/fuzz/corpus/"$target"
    mv $small tests/fuzz/corpus/"$target"
    exit
    ;;
esac

target=$1
dictionary=tests/fuzz/spec.dict
[ "$target" = safetensors ] && dictionary=tests/fuzz/safetensors.dict
mkdir -p $build/corpus/"$target" $build/found
exec $build/fuzz_"$target" -max_total_time="${2:?}" "${limits[@]}" -dict=$dictionary -print_final_stats=1 \
    -artifact_prefix=$build/found/"$target"- $build/corpus/"$target" tests/fuzz/corpus/"$target"
