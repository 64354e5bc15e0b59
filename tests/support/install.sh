#!/usr/bin/env bash
# install.sh - installs a build into WORK/stage/opt/modc and moves it to WORK/modc: it shall work wherever it lies.
#
#     tests/support/install.sh CMAKE BUILD WORK
set -euo pipefail

cmake=$1 build=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
DESTDIR=$work/stage "$cmake" --install "$build" --prefix /opt/modc >"$work/said"
mv "$work/stage/opt/modc" "$work/modc"
left=$(find "$work/stage" -type f)
if [ -n "$left" ]; then
    printf 'outside of the prefix: %s\n' "$left" >&2
    exit 1
fi
if grep -rlF -e "$work" -e "$build" -e /opt/modc "$work/modc" | grep -v '/libmodc_runtime\.a$' >&2; then
    printf 'the files above know where they were built or installed\n' >&2
    exit 1
fi
for file in include/modc/modc_device.h share/modc/runtime/cuda/modc_cuda.c share/modc/runtime/cuda/modc_cuda.cmake \
    share/modc/runtime/cuda_host/cuda_runtime.h; do
    [ -e "$work/modc/$file" ] || { printf 'there is no %s\n' $file >&2; exit 1; }
done
