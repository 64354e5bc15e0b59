#!/usr/bin/env bash
# gpu_tests.sh - the tests of the label gpu, where no GPU is: a compiler that takes nvcc's place and a tool that takes
# compute-sanitizer's run them on the stand-in. They pass, and fail where kernels fail; without a GPU they are skipped.
#
#     CC=cc tests/support/gpu_tests.sh MODC CUDA_HOST WORK PYTHON [all]     from the root of the repository
#
# Without `all`: the vectors, and what is skipped.
set -euo pipefail

modc=$1 work=$3 python=$4
export CUDA_HOST=$2 NVCC=tests/support/nvcc_stand_in.sh NVCCFLAGS=-O1 CFLAGS=-O0
NVCC=$PWD/$NVCC
rm -rf "$work"
mkdir -p "$work"
cat >"$work/compute-sanitizer" <<'END'
#!/usr/bin/env bash
[ "$1 $3 $4" = "--tool --error-exitcode 9" ] || exit 1
shift 4
"$@" 2>/dev/null && echo '========= ERROR SUMMARY: 0 errors' && exit
echo '========= ERROR SUMMARY: 1 error'
exit 9
END
chmod +x "$work/compute-sanitizer"

# expects STATUS TEXT COMMAND...: what it ends with, and something that it says.
expects() {
    local status=0 wanted=$1 text=$2

    shift 2
    "$@" >"$work/said" 2>&1 || status=$?
    if [ $status != "$wanted" ] || ! grep -q "$text" "$work/said"; then
        tail -n 30 "$work/said" >&2
        printf 'gpu_tests.sh: status %d of %s\n' $status "$*" >&2
        exit 1
    fi
}
vectors=("$python" tests/oracle/vectors.py --modc "$modc" --gpu --jobs 2 --keep "$work/programs" 'policy_*')
training=("$python" tests/oracle/cuda_training.py --modc "$modc" --gpu --every 80 --work "$work/training")
sanitize=("$python" tests/oracle/gpu_sanitize.py --modc "$modc" --sanitizer "$work/compute-sanitizer" --keep "$work/programs" --every 60)

expects 0 ' cases, 0 failed$' "${vectors[@]}"
expects 77 'there is no GPU for it: ' env CUDA_HOST_DEVICES=0 "${vectors[@]}"
expects 77 'compute-sanitizer is missing' "${sanitize[@]}" --sanitizer "$work/none" --tool memcheck
expects 77 'of models on cuda is missing' env NVCC="$work/none" "${vectors[@]}"
[ "${5:-}" = all ] || exit 0
expects 0 ' optimisers, 0 failed$' "${training[@]}"
for tool in memcheck racecheck initcheck synccheck; do
    expects 0 "^$tool: [1-9]* programs, 0 failed" "${sanitize[@]}" --tool $tool
done
expects 1 ', [1-9][0-9]* failed$' env CUDA_HOST_FAIL_LAUNCH=1 "${vectors[@]}"
expects 1 ', [1-9][0-9]* failed$' env CUDA_HOST_FAIL_LAUNCH=1 "${training[@]}"
sed -i 's/^echo .*1 error.*/echo "========= ERROR SUMMARY: 0 errors"; exit/' "$work/compute-sanitizer" # one that is blind
expects 1 'it does not see a fault that is planted' "${sanitize[@]}" --tool memcheck
expects 77 'there is no GPU for it: ' env CUDA_HOST_DEVICES=0 "${training[@]}"
