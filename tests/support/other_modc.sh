#!/bin/sh
# other_modc.sh - modc built by another compiler, which has to write the same bytes. Run from the root.
#
#     other_modc.sh CMAKE BUILD COMPILER
set -e
if ! test -f "$2/CMakeCache.txt"; then
    "$1" -S . -B "$2" -DCMAKE_C_COMPILER="$3" -DMODC_TESTS=OFF
fi
exec "$1" --build "$2" --target modc -j 2
