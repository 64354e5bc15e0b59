#!/usr/bin/env bash
# firmware.sh - a spec for a target without an operating system: compiled and linked with libgcc and tests/api/firmware.c
# alone, whose memcpy, memset and memmove are all that the core needs.
#
#     CC=arm-none-eabi-gcc CFLAGS="-mcpu=cortex-m4 ..." tests/support/firmware.sh MODC WORK TARGET SPEC [LIBRARY]
set -euo pipefail

modc=$1 work=$2 target=$3 spec=$4
shift 4
rm -rf "$work"
mkdir -p "$work"
"$modc" generate "$spec" --target "$target" -o "$work" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
structs=$("$modc" summary "$spec" --target "$target" | awk '$1 == "structs" { gsub(",", "", $2); print $2 }')
model=$(basename "$work"/*.h .h)
if grep -E 'modc_(load|save|optimizer_load|optimizer_save|create|destroy)\(' "$work"/*.[ch]; then
    echo "$spec: functions that need an operating system are emitted for $target" >&2
    exit 1
fi
flags="$CFLAGS -Os -mthumb -std=c99 -ffreestanding -ffunction-sections -fdata-sections -Wall -Wextra -Wpedantic -Wshadow
    -Wvla -Wconversion -Werror -I$work -Iruntime"
objects=()
for source in "$work"/*.c runtime/modc_*.c tests/api/firmware.c; do
    case $source in */modc_*host.c | */modc_queue.c | */modc_threads.c) continue ;; esac
    object=$work/object_${#objects[@]}.o
    own=()
    case $source in tests/*) own=(${1:+-DWITH_LIBM} -DHEADER="\"$model.h\"" -DMODEL="$model" -DCAPITALS="${model^^}" -DSTRUCTS="$structs") ;; esac
    $CC $flags ${own[@]+"${own[@]}"} -c -o "$object" "$source"
    objects+=("$object")
done
$CC $CFLAGS -mthumb -nostdlib -Wl,--gc-sections -Wl,-e,main -Wl,--no-warn-rwx-segments -o "$work/program" "${objects[@]}" \
    "$@" -lgcc
