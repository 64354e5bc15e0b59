#!/usr/bin/env bash
# test.sh - builds everything, runs the tests, and the unit and error tests once more with sanitizers.
#
#     scripts/test.sh                           installs what is missing with apt-get
#     MODC_ORACLE_PACKAGES= scripts/test.sh     without PyTorch (and without what needs it)
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

install_missing "$build_packages$test_packages$oracle_packages"
options=(-DMODC_TESTS=ON -DMODC_LONG_TESTS=OFF)
if python=$(oracle_python -c 'import sys; print(sys.executable)'); then
    options=(-DMODC_TESTS=ON -DMODC_LONG_TESTS=ON "-DMODC_PYTHON=$python")
fi

say "building, for the tests and with sanitizers"
configure_and_build asan -DMODC_TESTS=ON
configure_and_build release "${options[@]}" # knows of the other, which writes the same bytes

# A failing suite does not keep the others from running.
status=0
say "testing"
# What is the same with sanitizers is run with them alone; of what is long its sample is run, of what is there for several chips
# and compilers one: `ctest --preset release` runs all.
once='^(unit_(training|weights|stored|emit_kernel|optim)|errors_(specs|command_[a-z]+)|long_failing_(memory|sites)|long_grammar'
once+='|api_(elementwise_long|steps_sanitized|offsets_sanitized|dispatch_clang|slices_dispatch|cuda_generation)|package_dispatch'
once+='|generation_(gpt2|mamba)_checked|generation_gpt2_parts|cuda_(nvcc_0|faults_clang\+\+)|resets_(aarch64|O0|O3)'
once+='|chip_(stm32f103c8_policy|nrf51822_mlp)|variant_x86-64_cnn64_5)$'
ctest --preset release --parallel "$(nproc)" --exclude-regex "$once" || status=1

say "testing with sanitizers"
ctest --preset asan --parallel "$(nproc)" || status=1

if [ $status -eq 0 ]; then
    say "all tests passed"
else
    say "some tests FAILED"
fi
exit $status
