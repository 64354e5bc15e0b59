#!/usr/bin/env bash
# firmware.sh - a spec with `hooks: none` for a chip without an operating system: compiled and linked with libgcc and
# tests/api/firmware.c alone, whose memcpy, memset and memmove are all that the core needs.
#
#     CC=arm-none-eabi-gcc CFLAGS="-mcpu=cortex-m4 ..." tests/support/firmware.sh MODC WORK SPEC [LIBRARY]
set -euo pipefail

modc=$1 work=$2 spec=$3
shift 3
rm -rf "$work"
mkdir -p "$work/spec"
sed -e '/^hooks:/d' -e 's/^modc: 1$/modc: 1\nhooks: none/' "$spec" >"$work/spec/model.yaml"
"$modc" generate "$work/spec/model.yaml" -o "$work" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
header=$(basename "$work"/*.h .h)
flags="$CFLAGS -Os -mthumb -std=c99 -ffreestanding -ffunction-sections -fdata-sections -Wall -Wextra -Wpedantic -Wshadow
    -Wvla -Wconversion -Werror -I$work -Iruntime"
objects=()
for source in "$work"/*.c runtime/modc_*.c tests/api/firmware.c; do
    case $source in */modc_host.c | */modc_main.c) continue ;; esac
    object=$work/object_${#objects[@]}.o
    $CC $flags ${1:+-DWITH_LIBM} -DMODC_MODEL="${header}_model" -c -o "$object" "$source"
    objects+=("$object")
done
$CC $CFLAGS -mthumb -nostdlib -Wl,--gc-sections -Wl,-e,main -Wl,--no-warn-rwx-segments -o "$work/program" "${objects[@]}" \
    "$@" -lgcc
