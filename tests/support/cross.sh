#!/usr/bin/env bash
# cross.sh - a case of tests/vectors/cases.txt, compiled for another machine and run by an emulator.
#
#     CC=aarch64-linux-gnu-gcc CFLAGS="-O2 -static" RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" PYTHON=python3 \
#         tests/support/cross.sh MODC WORK CASE     from the root of the repository
set -euo pipefail

modc=$1 work=$2
read -r -a words <<<"$(grep "^$3 " tests/vectors/cases.txt)"
spec=${words[1]} settings=() options=()
for ((i = 2; i < ${#words[@]}; i++)); do
    case ${words[i]} in
    --set | --dtype | --plan) settings+=("${words[i]}" "${words[i + 1]}") && i=$((i + 1)) ;;
    *) options+=("${words[i]}") ;;
    esac
done

rm -rf "$work"
mkdir -p "$work"
"$modc" generate "$spec" -o "$work" ${settings[@]+"${settings[@]}"} >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
header=$(basename "$work"/*.h .h)
# As `modc run` compiles.
objects=()
for source in "$work"/*.c runtime/*.c runtime/driver/*.c; do
    object=$work/object_${#objects[@]}.o
    # shellcheck disable=SC2086
    $CC $CFLAGS -I"$work" -Iruntime -DMODC_LIBM -DMODC_MODEL="${header}_model" -c -o "$object" "$source"
    objects+=("$object")
done
# shellcheck disable=SC2086
$CC $CFLAGS -o "$work/program" "${objects[@]}" -lm
state=build/vectors/$3/state.safetensors
$RUNNER "$work/program" "${options[@]}" --state "$work/state.safetensors" --outputs "$work/outputs.safetensors"
if [ -e "$state" ]; then
    "$PYTHON" tests/oracle/compare.py "$state" "$work/state.safetensors"
fi
