#!/usr/bin/env bash
# failing_calls.sh - runs a program over the stand-in for a GPU once whole, then with the first call of CUDA failing, the second and so
# on, then with kernels that fail while they run. It ends with 0, or with 3 where it was told, and prints what it prints when nothing
# fails, or nothing. Who is told is most of them: the others are of what ends something.
#
#     tests/support/failing_calls.sh PROGRAM
set -euo pipefail

expected=$("$1")
for kind in CUDA_HOST_FAIL CUDA_HOST_FAIL_LAUNCH; do
    told=0 untold=0
    for ((number = 1; untold < 12; number++)); do
        status=0
        found=$(env "$kind=$number" "$1") || status=$?
        case $status in
        0) untold=$((untold + 1)) ;;
        3) told=$((told + 1)) untold=0 ;;
        *) echo "$kind=$number: exit status $status" >&2 && exit 1 ;;
        esac
        if [ "$found" != "$expected" ] && [ "$status$found" != 3 ]; then
            echo "$kind=$number: $found, expected $expected" >&2
            exit 1
        fi
    done
    echo "$kind: $told told"
    [ $told -ge 20 ]
done
