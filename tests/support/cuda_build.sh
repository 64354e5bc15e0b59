#!/usr/bin/env bash
# cuda_build.sh - examples/cuda_service by nvcc, with modc as it is installed: it answers as with the stand-in, or says that there is
# no GPU. Its folder enables the language CUDA; another, with two variants out of a bundle, is linked by C. A third asks in its spec for a
# flag of nvcc, then no longer, and is for another GPU than the project.
#
#     CC=cc tests/support/cuda_build.sh CMAKE PREFIX WORK NVCC     from the root of the repository
set -euo pipefail

cmake=$1 prefix=$2 work=$3
export CUDACXX=$4
rm -rf "$work"
mkdir -p "$work/linked"
cp -R examples "$work/examples"
cp -R specs "$work/specs"

# built SOURCE ARGUMENT...: what is there is compiled for one GPU, and linked.
built() {
    local source=$1

    shift
    {
        "$cmake" -S "$source" -B "$source/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CUDA_ARCHITECTURES=90 "$@"
        "$cmake" --build "$source/build"
    } >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
}

built "$work/examples/cuda_service"
status=0
(cd "$work/examples/cuda_service" && build/cuda_service ../../specs/digits) >"$work/printed" 2>&1 || status=$?
if [ $status = 3 ]; then
    grep -q '^cuda_service: there is no GPU: ' "$work/printed"
else
    [ $status = 0 ]
    grep -qF 'of 360 images 353 are read right' "$work/printed"
fi

"$prefix/bin/modc" generate specs/cartpole/policy.yaml --device cuda --bundle -o "$work/linked/nets"
cat >"$work/linked/main.c" <<'END'
#include "policy.h"

int main(void)
{
    const char *text;

    return policy_model.device->find(&text) == MODC_OK || text[0] ? 0 : 1;
}
END
cat >"$work/linked/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(linked C)
add_subdirectory(nets)
add_executable(main main.c)
target_link_libraries(main policy)
END
built "$work/linked" -DCMAKE_CUDA_ARCHITECTURES=75 # which is too old for a model, so that there is the default
grep -q 'Linking C executable main' "$work/said"
"$work/linked/build/main"

# Kernels that flush do not link without the flag.
mkdir "$work/flushing folder"
cd "$work/flushing folder"
cat >net.yaml <<'END'
modc: 1
model: net
denormals: flush
inputs: {x: [5]}
forward:
  - return x * 2
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(flushing C)
find_package(modc REQUIRED)
modc_enable_cuda()
modc_add_model(net SPEC net.yaml DEVICE cuda SHARED OPTIONS --target sm_87)
END
built . -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
grep ' -o [^ ]*/net[.]cu[.]o' build/compile_commands.json >"$work/words"
grep -q 'code=.*sm_87' "$work/words"
if grep 'sm_90' "$work/words"; then exit 1; fi
grep 'modc_cuda_kernels[.]cu[.]o' build/compile_commands.json | grep 'sm_90' | grep -q 'sm_87'
grep -qx -e -ftz=true build/net.modc/net.nvcc
sed -i 's/flush$/keep/' net.yaml
built .
[ -e build/net.modc/net.nvcc ] && [ ! -s build/net.modc/net.nvcc ]
