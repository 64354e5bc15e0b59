#!/usr/bin/env bash
# measure.sh - `summary --measure` says what a linker keeps: its numbers against the map of a program that calls what it
# says; with compilers that know less, what is missing is said.
#
#     ARM=arm-none-eabi-gcc CC=gcc CLANG=clang tests/support/measure.sh MODC WORK     ARM and CLANG may be empty
set -euo pipefail

modc=$1
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
spec=tests/specs/firmware.yaml

fail() {
    printf 'measure.sh: %s\n' "$1" >&2
    [ ! -e "$work/said" ] || cat "$work/said" >&2
    exit 1
}

# measure CC CFLAGS OPTIONS...: into $work/said
measure() {
    CC=$1 CFLAGS=$2 "$modc" summary "$spec" --measure "${@:3}" >"$work/said" 2>&1 || fail "$1 $2: status $?"
}

# says TEXT: in the last measurement
says() {
    grep -qF -e "$1" "$work/said" || fail "'$1' is not said"
}

# number ROW COLUMN: of the last measurement
number() {
    awk -v row="$1" -v column="$2" '$1 == row && !found { gsub(",", ""); print $column; found = 1 }' "$work/said"
}

check_measured() {
    local row

    for row in firmware.c modc_dtype.c modc_hook.c modc_safetensors.c modc_state.c firmware_forward modc_bind modc_pack modc_init; do
        [ "$(number $row 2)" -gt 0 ] || fail "nothing is measured of $row"
    done
}

# In the target's functions no more, and with them no less, than what `ld --gc-sections` keeps of each object.
if [ -n "${ARM:-}" ]; then
    flags="-Os -mcpu=cortex-m4 -mthumb"
    measure "$ARM" "$flags" --target cortex-m4
    check_measured
    says "stack of modc_load_bytes"
    "$modc" generate "$spec" --target cortex-m4 --bundle -o "$work/folder"
    cat >"$work/main.c" <<'END'
#include "firmware.h"

static struct firmware_params params;
static struct firmware net;
static char block[8];
static float x[64], y[3];
void start(void);

void start(void)
{
    firmware_bind(&params, block, sizeof block);
    firmware_load_bytes(&params, block, sizeof block, MODC_STRICT, NULL);
    firmware_pack(&params, block, sizeof block);
    firmware_init(&net, &params, block, sizeof block);
    firmware_forward(&net, x, y);
}
END
    (
        cd "$work"
        $ARM $flags -ffunction-sections -fdata-sections -Ifolder -nostdlib -nostartfiles -Wl,--gc-sections -Wl,-e,start \
            -Wl,--unresolved-symbols=ignore-all -Wl,-Map=map -save-temps=obj -o program main.c folder/*.c
    )
    for object in firmware modc_dtype modc_hook modc_safetensors modc_state; do
        linked=0
        for size in $(sed '1,/^Linker script and memory map/d' "$work/map" | tr '\n' ' ' | sed 's/ \./\n./g' |
            sed -n "s/^\.text[^ ]*  *0x[0-9a-f]*  *\(0x[0-9a-f]*\) [^ ]*-$object\.o.*/\1/p"); do
            linked=$((linked + size))
        done
        [ "$linked" -eq "$(number $object.c 2)" ] || fail "$object: the linker keeps $linked bytes of code"
    done
fi

# Programs for this machine call libraries; a compiler that is not GCC has frames of its own.
for compiler in "${CC:-gcc}" ${CLANG:-}; do
    measure "$compiler" -O1
    check_measured
    says "modc_load "
    says "mmap"
done

# Compilers that know less.
printf '#!/bin/sh\ncase "$*" in *-fstack-usage*) exit 1 ;; esac\nexec %s "$@"\n' "${CC:-gcc}" >"$work/no-stack"
printf '#!/bin/sh\ncase "$*" in *-ffunction-sections*) exit 1 ;; esac\nexec %s "$@"\n' "${CC:-gcc}" >"$work/plain"
printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho words >"$2"\n' >"$work/words"
chmod +x "$work/no-stack" "$work/plain" "$work/words"
measure "$work/no-stack" -O0 --target hosted=no
says "stack: not measured, since the compiler knows no -fstack-usage"
[ "$(number firmware.c 2)" -gt 0 ] || fail "code without stack is not measured"
kept=$(number modc_state.c 2)
measure "$work/plain" -O0 --target hosted=no
[ "$(number modc_state.c 2)" -gt "$kept" ] || fail "without sections of functions, all of a file is linked"
measure "$work/words" -O0 --target hosted=no
says "code and stack: not measured, since '$work/words -O0' writes no ELF files"
