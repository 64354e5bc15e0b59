#!/usr/bin/env bash
# fuzz.sh - looks for inputs that a target of tests/fuzz does not survive. Run from the root.
#
#     tests/support/fuzz.sh build              builds the targets into build/asan
#     tests/support/fuzz.sh TARGET SECONDS     spec, expr, compile, safetensors, tokenizer or template: searches so long
#     tests/support/fuzz.sh minimise TARGET    the corpus becomes the smallest that reaches as much, with what was found
#     tests/support/fuzz.sh add TARGET FILE... the corpus takes these inputs besides
#
# What is found stands in build/asan/found. New inputs that reach new code stay in build/asan/corpus, for the next time.
# A corpus is one archive, tests/fuzz/corpus/TARGET.tar: the same inputs give the same bytes. It is unpacked into
# build/asan/known, and replay_TARGET reads it as it is.
set -euo pipefail

build=build/asan
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
limits=(-timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256)

# unpack TARGET: its corpus, into build/asan/known
unpack() {
    rm -rf $build/known/"$1"
    mkdir -p $build/known/"$1"
    tar -xf tests/fuzz/corpus/"$1".tar -C $build/known/"$1"
}

# pack TARGET FOLDER: what the folder holds becomes its corpus
pack() {
    (cd "$2" && LC_ALL=C && printf '%s\n' *) >$build/names
    tar --format=ustar --blocking-factor=1 --mtime=@0 --mode=0644 --owner=0 --group=0 --numeric-owner \
        -cf tests/fuzz/corpus/"$1".tar -C "$2" --files-from=$build/names
}

case ${1:?} in
build)
    test -f $build/CMakeCache.txt || cmake --preset asan
    exec cmake --build --preset asan --parallel 2
    ;;
minimise)
    target=${2:?} small=$build/minimised
    rm -rf $small
    mkdir -p $small $build/corpus/"$target"
    unpack "$target"
    $build/fuzz_"$target" -merge=1 -use_counters=0 "${limits[@]}" $small $build/known/"$target" $build/corpus/"$target"
    pack "$target" $small
    exit
    ;;
add)
    target=${2:?}
    shift 2
    unpack "$target"
    for input in "${@:?}"; do
        cp "$input" $build/known/"$target"/"$(sha1sum <"$input" | cut -d' ' -f1)"
    done
    pack "$target" $build/known/"$target"
    exit
    ;;
esac

target=$1
dictionary=tests/fuzz/spec.dict
[ "$target" = safetensors ] && dictionary=tests/fuzz/safetensors.dict
[ "$target" = tokenizer ] && dictionary=tests/fuzz/tokenizer.dict
[ "$target" = template ] && dictionary=tests/fuzz/template.dict
mkdir -p $build/corpus/"$target" $build/found
unpack "$target"
exec $build/fuzz_"$target" -max_total_time="${2:?}" "${limits[@]}" -dict=$dictionary -print_final_stats=1 \
    -artifact_prefix=$build/found/"$target"- $build/corpus/"$target" $build/known/"$target"
