#!/usr/bin/env bash
# chip.sh - a bundle for a chip: compiled in its folder by the words of its README, linked with newlib-nano into the RAM
# and flash that the table of targets says, and run on all inputs where there is an emulator, with an eye on the stack.
#
#     CC=arm-none-eabi-gcc RUNNER=qemu-arm tests/support/chip.sh MODC WORK CHIP "INPUTS INPUT EXPECTED NAME" SPEC OPTIONS...
set -euo pipefail

modc=$1 chip=$3
read -r inputs input expected name <<<"$4"
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 4
rm -rf "$work/folder"
"$modc" generate "$@" --target "$chip" --bundle -o "$work/folder"
model=$(basename "$work"/folder/*.cmake .cmake)

(cd "$work/folder" && $(sed -n "s|^ *[^ ]*-gcc \(-.*-c\) .*|${CC} -Wall -Wextra -Wconversion -Werror -ffunction-sections -fdata-sections \1|p" \
    "${model}_README.txt") ./*.c ./*.S)
flags=$(sed -n 's|^ *[^ ]*-gcc \(-.*\) -c .*|\1|p' "$work/folder/${model}_README.txt")

# bytes COLUMN: of the chip in the table
bytes() {
    "$modc" help targets | awk -v chip="$chip" -v column="$1" \
        '$1 == chip { print $column * ($(column + 1) == "MB" ? 1048576 : 1024) }'
}
stack=$(CC=$CC CFLAGS="$flags -Os" "$modc" summary "$@" --target "$chip" --measure |
    awk -v entry="${model}_forward" '$1 == entry { gsub(",", "", $2); print $2 }')
cat >"$work/data.S" <<END
    .section .test, "a"
    .global inputs, inputs_end, expected, expected_end
    .balign 8
inputs: .incbin "$inputs"
inputs_end: .balign 8
expected: .incbin "$expected"
expected_end:
END
cat >"$work/memory.ld" <<END
ENTRY(start)
MEMORY {
    FLASH (rx) : ORIGIN = 0x08000000, LENGTH = $(bytes 4)
    RAM (rw) : ORIGIN = 0x20000000, LENGTH = $(bytes 2)
    TEST (r) : ORIGIN = 0x60000000, LENGTH = 16M
}
SECTIONS {
    .text : { *(.text* .rodata* .ARM.ex*) } >FLASH
    .data : { *(.data*) } >RAM AT>FLASH
    .bss : { *(.bss* COMMON) } >RAM
    .test : { *(.test) } >TEST
}
END
$CC $flags -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$work/folder" -DHEADER="\"$model.h\"" -DMODEL="$model" \
    -DCAPITALS="${model^^}" -DSTACK="$stack" -DINPUT="\"$input\"" \
    -DEXPECT="\"$name\"" -c -o "$work/chip.o" tests/api/chip.c
$CC $flags -c -o "$work/data.o" "$work/data.S"
$CC $flags --specs=nano.specs -nostartfiles -Wl,--gc-sections -Wl,--no-warn-rwx-segments -T "$work/memory.ld" \
    -o "$work/image" "$work/chip.o" "$work/data.o" "$work"/folder/*.o -lm
if [ -n "${RUNNER:-}" ]; then
    $RUNNER "$work/image"
fi
