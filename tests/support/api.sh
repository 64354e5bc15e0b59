#!/usr/bin/env bash
# api.sh - emits models, compiles them with the runtime and a program of tests/api, and runs it.
#
#     CC=cc CXX=g++ FLAGS=... tests/support/api.sh MODC WORK PROGRAM SPEC...     from the root of the repository
#
# A SPEC may have options of `modc generate` behind it. With SHARED=1 the models become WORK/models.so, which the program
# gets as its argument, and is not linked with. With QUANTIZED=SPEC there is WORK/narrow.safetensors before, weights of the spec as
# integers. RUNNER is a command that runs what another compiler made. FLAGS_NAME are flags of
# the model NAME alone, FLAGS_program those of the program, FLAGS_kernels those of .cu files. Models on cuda run on the stand-in for a GPU, or with NVCC=nvcc on a GPU.
set -euo pipefail

modc=$1 work=$2 program=$3
shift 3
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
c="${CC:-cc} -std=c99 -O1 ${FLAGS:-} -Wvla $warnings -I$work -Iruntime -Itests/api"
shared=${SHARED:+-fPIC}

rm -rf "$work"
mkdir -p "$work"
if [ -n "${QUANTIZED:-}" ]; then
    CC=${CC##* } CFLAGS=-O0 "$modc" run "$QUANTIZED" --seed 19 --state "$work/floats.safetensors" >"$work/said" 2>&1 &&
        "$modc" quantize "$QUANTIZED" --weights "$work/floats.safetensors" -o "$work/narrow.safetensors" >"$work/said" 2>&1 ||
        { cat "$work/said" >&2; exit 1; }
fi
for spec in "$@"; do
    # shellcheck disable=SC2086
    "$modc" generate $spec -o "$work" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
done

# What a file has of its own: of generate --dispatch what the comment of the model says, if the file is for this machine.
flags_of() {
    local name=${1##*/}

    name=FLAGS_${name%.*}
    echo "${!name:-}"
    case $(${CC:-cc} -dumpmachine):${1##*/} in
    x86_64*:*_aarch64_*.c) return 0 ;;
    x86_64*:*.c | aarch64*:*_aarch64_*.c) ;;
    *) return 0 ;;
    esac
    sed -n "s|^ \*     cc -O3 \(-march=.*\) -c ${1##*/}\$|\1|p" "$work"/*.c
}

models=() runtime=()
if compgen -G "$work/*.cu" >/dev/null && [ -n "${NVCC:-}" ]; then
    for source in "$work"/*.cu runtime/cuda/*.cu runtime/cuda/*.c; do
        # shellcheck disable=SC2086
        $NVCC ${NVCCFLAGS--O1 -arch=native} -I"$work" -Iruntime -c -o "$work/${source##*/}.o" "$source"
        runtime+=("$work/${source##*/}.o")
    done
elif compgen -G "$work/*.cu" >/dev/null; then
    c="$c -Iruntime/cuda_host"
    for source in "$work"/*.cu runtime/cuda/*.cu runtime/cuda/*.c runtime/cuda_host/*.c; do
        case $source in
        *.cu) compile="${CXX:-c++} -x c++ -std=c++17 -fno-exceptions ${FLAGS_kernels:-}" ;;
        *) compile=${CC:-cc} ;;
        esac
        $compile -O1 ${FLAGS_cuda:-} -Wall -Wextra -Werror -I"$work" -Iruntime -Iruntime/cuda_host -c -o "$work/${source##*/}.o" "$source"
        runtime+=("$work/${source##*/}.o")
    done
fi
for source in "$work"/*.[cS] runtime/*.c; do
    [ -e "$source" ] || continue
    object=$work/${source##*/}.o
    # shellcheck disable=SC2046
    $c $shared $(flags_of "$source") -c -o "$object" "$source"
    case $source in runtime/*) runtime+=("$object") ;; *) models+=("$object") ;; esac
done
if [ -n "$shared" ]; then
    ${CC:-cc} ${FLAGS:-} -shared -o "$work/models.so" "${models[@]}" "${runtime[@]}" -lm
    models=()
fi
link=${NVCC:-${CC:-cc}}
case ${NVCC:+nvcc }$program in
nvcc*.c) $NVCC ${FLAGS_program:-} -D_POSIX_C_SOURCE=200809L -I"$work" -Iruntime -Itests/api -c -o "$work/program.o" "$program" ;;
*.cc) link=${CXX:-g++} && ${CXX:-g++} -std=c++17 -O1 ${FLAGS:-} $warnings -I"$work" -Iruntime -c -o "$work/program.o" "$program" ;;
*) $c ${FLAGS_program:-} -D_POSIX_C_SOURCE=200809L -c -o "$work/program.o" "$program" ;;
esac
$link ${FLAGS:-} -o "$work/program" "$work/program.o" ${models[@]+"${models[@]}"} "${runtime[@]}" -lm -lpthread -ldl \
    ${LIBS:-}
${RUNNER:-} "$work/program" ${shared:+"$work/models.so"}
