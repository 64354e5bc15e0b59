#!/usr/bin/env bash
# dispatch.sh - modc_add_model(... DISPATCH): the program of tests/api/dispatch.c with libraries of CMake, on this machine
# and on emulated ones that have less; objects have the instructions of their set alone, and share no functions that a
# linker would take from one for all.
#
#     CC=cc QEMU=qemu-x86_64 tests/support/dispatch.sh CMAKE PREFIX WORK      from the root of the repository; QEMU may be empty
set -euo pipefail

cmake=$1 prefix=$2 work=$3
rm -rf "$work"
mkdir -p "$work"

fail() {
    printf 'dispatch.sh: %s\n' "$*" >&2
    exit 1
}

cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(dispatch LANGUAGES C)
find_package(modc REQUIRED)
modc_add_model(policy SPEC $PWD/specs/cartpole/policy.yaml DISPATCH STATIC)
modc_add_model(cnn SPEC $PWD/specs/digits/cnn.yaml DISPATCH SHARED)
modc_add_model(bytes SPEC $PWD/tests/api/bytes.yaml DISPATCH STATIC)
modc_add_model(plain SPEC $PWD/specs/cartpole/policy.yaml OBJECT)
add_executable(dispatch $PWD/tests/api/dispatch.c)
target_link_libraries(dispatch PRIVATE policy cnn bytes plain)
END

# build FOLDER FLAGS TARGET
build() {
    {
        "$cmake" -S "$work" -B "$work/$1" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="-O1 $2"
        "$cmake" --build "$work/$1" --target "$3" --parallel 2
    } >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "no build with '$2'"; }
}
build any "" dispatch
build native "-march=native" policy

# ---- on machines of several kinds

# runs ISAS BYTES COMMAND...: what the program prints of the models: of those with products of bytes there may be more.
runs() {
    local isas=$1 bytes=$2

    shift 2
    "$@" "$work/any/dispatch" >"$work/found" 2>"$work/said" || { cat "$work/said" >&2; fail "$* fails"; }
    printf 'policy: %s\ncnn: %s\nbytes: %s\n' "$isas" "$isas" "$bytes" | diff - "$work/found" >&2 ||
        fail "other instruction sets than expected: $*"
}
v3="x86-64-v3 x86-64"

# has FLAG...: this machine, as Linux says it.
has() {
    for flag in "$@"; do
        grep -qw "$flag" /proc/cpuinfo || return 1
    done
}
if ! has avx2 fma bmi1 bmi2 f16c movbe abm; then
    runs x86-64 x86-64 env
else
    bytes=$v3 wide=
    if has avx_vnni; then bytes="x86-64-v3-vnni $bytes"; fi
    if has avx512f avx512bw avx512cd avx512dq avx512vl; then
        bytes="x86-64-v4 $bytes" wide=1
        if has avx512_vnni; then bytes="x86-64-v4-vnni $bytes"; fi
    fi
    runs "${wide:+x86-64-v4 }$v3" "$bytes" env
fi
if [ -n "${QEMU:-}" ]; then
    runs "$v3" "$v3" "$QEMU" -cpu Haswell
    runs x86-64 x86-64 "$QEMU" -cpu Haswell,-movbe # all of a level, or none of it
    runs x86-64 x86-64 "$QEMU" -cpu Haswell,-xsave # no wide registers in the operating system
    runs x86-64 x86-64 "$QEMU" -cpu Nehalem
fi

# ---- what is in the objects

# counts OBJECT: how many registers of 256 and of 512 bits its code names, as "some none".
counts() {
    local code

    code=$(objdump -d --no-show-raw-insn "$1")
    for register in ymm zmm; do
        if grep -q "%$register" <<<"$code"; then printf 'some '; else printf 'none '; fi
    done
}

# holds FOLDER FILE YMM ZMM
holds() {
    local object

    object=$(find "$work/$1" -name "$2.o")
    [ -n "$object" ] || fail "there is no $2.o"
    [ "$(counts "$object")" = "$3 $4 " ] || fail "$1/$2.o has $(counts "$object")of ymm and zmm"
    if nm "$object" | grep -E ' [WVuC] '; then
        fail "$1/$2.o has symbols that are shared"
    fi
}
for model in policy cnn; do
    holds any $model.c none none
    holds any ${model}_x86_64_v3.c some none
    holds any ${model}_x86_64_v4.c some some
    for isa in x86_64_v3 x86_64_v4; do
        defined=$(nm -g --defined-only "$(find "$work/any" -name "${model}_$isa.c.o")" | cut -d' ' -f3)
        [ "$defined" = ${model}_code_$isa ] || fail "${model}_$isa.c.o defines $defined"
    done
done
# Instructions for products of bytes are where they may be, and are in use there.
for isa in "" _x86_64_v3 _x86_64_v3_vnni _x86_64_v4 _x86_64_v4_vnni; do
    count=$(objdump -d --no-show-raw-insn "$(find "$work/any" -name "bytes$isa.c.o")" | grep -c vpdpbusd || true)
    case $isa in
    *_vnni) [ "$count" -gt 0 ] || fail "bytes$isa.c.o multiplies no bytes" ;;
    *) [ "$count" = 0 ] || fail "bytes$isa.c.o has vpdpbusd" ;;
    esac
done
holds any bytes_x86_64_v3_vnni.c some none
holds any bytes_x86_64_v4_vnni.c some some
for isa in x86_64_v3_vnni x86_64_v4_vnni; do # a model without such products
    nm "$(find "$work/any" -name "policy_$isa.c.o")" | grep . && fail "policy_$isa.c.o has something in it"
done
for source in "$prefix"/share/modc/runtime/*.c; do
    holds any "$(basename "$source")" none none
done
holds native policy.c none none
if nm -D --defined-only "$work/any/libcnn.so" | grep cnn_code; then
    fail "the shared library gives its tables to others"
fi
