#!/usr/bin/env bash
# test.sh - builds everything, runs the tests, and the unit and error tests once more with sanitizers.
#
#     scripts/test.sh                           installs what is missing with apt-get
#     MODC_ORACLE_PACKAGES= scripts/test.sh     without PyTorch (and without what needs it)
#     MODC_SHARE=1 scripts/test.sh              the second quarter of what is long; without it the commit's time says which quarter
#     MODC_SHARE=all scripts/test.sh            all of it
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
# Of what is long a quarter is run (modc_shares_of_runs in cmake/ModcTests.cmake): another one at other commits, the same at the same.
share=${MODC_SHARE:-$(($(git log -1 --format=%ct 2>/dev/null || date +%s) % 4))}
case $share in
[0-3]) shares=(--label-exclude "^share[^$share]+\$") ;;
all) shares=() ;;
*) fail "MODC_SHARE is '$share', not 0, 1, 2, 3 or all" ;;
esac
say "testing, of what is long share $share of 0 to 3"
# What is the same with sanitizers is run with them alone; of what is long its sample is run, of what is there for several chips
# and compilers one: `ctest --preset release` runs all.
once='^(unit_(training|weights|stored|emit_kernel|grammar|optim|plan)|errors_command_[a-z]+|long_failing_memory|long_failing_sites'
once+='|long_grammar|api_(elementwise_long|steps_sanitized|offsets_sanitized|dispatch_clang|slices_dispatch|cuda_generation)'
once+='|package_dispatch|generation_(gpt2_checked|gpt2_parts|mamba_checked)|cuda_(nvcc_0|plain_1|faults_clang\+\+)'
once+='|resets_(aarch64|O0|O3)|chip_stm32f103c8_policy|chip_nrf51822_mlp|aarch64_cnn64_5'
once+='|variant_(x86-64_cnn64_5|clang_cnn64_5|scalar_cnn64_5|x86-64_policy_17_gemm_dot))$' # ctest knows ten parentheses
ctest --preset release --parallel "$(nproc)" --exclude-regex "$once" ${shares[@]+"${shares[@]}"} || status=1

say "testing with sanitizers"
ctest --preset asan --parallel "$(nproc)" || status=1

if [ $status -eq 0 ]; then
    say "all tests passed"
else
    say "some tests FAILED"
fi
exit $status
