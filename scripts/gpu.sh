#!/usr/bin/env bash
# gpu.sh - the tests of the label gpu on a machine that one has for minutes: builds modc, runs them, and leaves a report.
#
#     scripts/gpu.sh REPORT                                   in about 8 minutes at most
#     SECONDS_IN_ALL=300 EVERY=4 JOBS=8 scripts/gpu.sh REPORT     of every fourth spec, in less
#     MODC=/somewhere/modc scripts/gpu.sh REPORT              with a modc that was built elsewhere
#
# It installs nothing and downloads nothing. It needs nvcc (in PATH, in /usr/local/cuda/bin, or as $NVCC), a GPU, a C compiler and
# Python 3; and, to build modc, libyaml with its header. Where that is missing, a modc built elsewhere with -DMODC_STATIC_YAML=ON runs
# (of a machine whose libc is no newer). CMake and make are used where they are. compute-sanitizer is of CUDA's toolkit.
#
# REPORT/summary.txt has a line for each suite, failed.txt what did not pass; beside them is what each printed. Exit status: 0 all is well, 1 something failed, 77 nvcc
# or a GPU is missing.
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

[ $# = 1 ] || fail "where does the report go?  scripts/gpu.sh REPORT"
mkdir -p "$1"
report=$(cd "$1" && pwd)
total=${SECONDS_IN_ALL:-400} every=${EVERY:-1} jobs=${JOBS:-$(nproc)}
work=${WORK:-$report/work}
PATH=$PATH:/usr/local/cuda/bin
mkdir -p "$work"
: >"$report/summary.txt"

note() {
    echo "$*" | tee -a "$report/summary.txt"
}

# The steps of the build without CMake: the runtime, and templates and runtime as text of a C file.
build_by_hand() {
    local names

    command -v gcc >/dev/null && cc=gcc || cc=cc
    mapfile -t names < <(find templates runtime -name '*.c' -o -name '*.cu' -o -name '*.h' -o -name '*.S' -o -name '*.cmake' |
        grep -v '^runtime/binding/')
    $cc -O1 -o "$work/embed" cmake/embed.c
    "$work/embed" "$work/embedded.c" . "${names[@]}" LICENSE NOTICE
    mkdir -p "$work/objects"
    printf '%s\n' generator/*/*.c generator/*/*/*.c runtime/*.c "$work/embedded.c" | sort -u |
        xargs -P "$jobs" -I{} sh -c "$cc -std=c11 -O1 -Igenerator -Iruntime -c {} -o \
            $work/objects/\$(echo {} | tr / _).o"
    $cc -o "$work/modc" "$work"/objects/*.o -lyaml -lm -pthread
}

build() {
    if command -v cmake >/dev/null && command -v pkg-config >/dev/null && pkg-config --exists yaml-0.1; then
        cmake -S . -B "$work/build" -DMODC_TESTS=OFF -DMODC_INSTALL=OFF -DMODC_WERROR=OFF && cmake --build "$work/build" --parallel "$jobs" &&
            cp "$work/build/modc" "$work/modc"
    else
        build_by_hand
    fi
}

if [ -n "${MODC:-}" ]; then
    modc=$MODC
else
    say "building modc"
    build >"$report/build.txt" 2>&1 || {
        tail -n 5 "$report/build.txt" >&2
        fail "modc cannot be built here (see build.txt): give one that was built elsewhere, MODC=/somewhere/modc"
    }
    modc=$work/modc
fi
note "modc: $("$modc" --version) of $(git rev-parse --short HEAD 2>/dev/null || echo no repository), there after $SECONDS s"
{
    uname -a
    "${NVCC:-nvcc}" --version
    nvidia-smi
} >"$report/machine.txt" 2>&1 || true
note "nvcc: $(grep -o 'release.*' "$report/machine.txt" || echo none)"
note "GPU: $(nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader 2>/dev/null | head -1 || true)"
export XDG_CACHE_HOME=$work/cache CFLAGS=-O1

say "looking for a GPU"
status=0
python3 tests/oracle/gpu.py --modc "$modc" -- true >"$report/probe.txt" 2>&1 || status=$?
if [ $status != 0 ]; then
    note "$(head -1 "$report/probe.txt")"
    exit $status
fi

# suite NAME SHARE COMMAND...: it has so many hundredths of what is left of the time.
failed=0
suite() {
    local name=$1 left=$(((total - SECONDS) * $2 / 100)) from=$SECONDS status=0

    shift 2
    if [ $left -lt 5 ]; then
        note "$name: no time"
        return
    fi
    say "$name, $left s"
    # shellcheck disable=SC2086
    timeout $((left + 30)) "$@" ${with_seconds:+--seconds $left} >"$report/$name.txt" 2>&1 || status=$?
    case $status in
    0) result=passed ;;
    77) result=skipped ;;
    124) result="FAILED: no end" failed=1 ;;
    *) result=FAILED failed=1 ;;
    esac
    note "$name: $result after $((SECONDS - from)) s: $(tail -n 1 "$report/$name.txt")"
}

with_seconds=
suite calls 25 env NVCC="${NVCC:-nvcc}" CC="${CC:-cc}" tests/support/api.sh "$modc" "$work/calls" tests/api/cuda_failing.c \
    "tests/specs/trained.yaml --device cuda"
suite writing 25 env NVCC="${NVCC:-nvcc}" CC="${CC:-cc}" tests/support/api.sh "$modc" "$work/writing" tests/api/cuda_writing.c \
    tests/api/cuda_writing.yaml
with_seconds=1
suite vectors 55 python3 tests/oracle/vectors.py --modc "$modc" --gpu --jobs "$jobs" --every "$every" --keep "$work/programs"
suite training 30 python3 tests/oracle/cuda_training.py --modc "$modc" --gpu --jobs "$jobs" --every "$every" --work "$work/training"
shares=(25 33 50 90)
for tool in memcheck racecheck initcheck synccheck; do
    suite $tool "${shares[0]}" python3 tests/oracle/gpu_sanitize.py --modc "$modc" --tool $tool --jobs "$jobs" --every $((every * 4)) \
        --keep "$work/programs"
    shares=("${shares[@]:1}")
done
say "the report is in $report"
grep -h ': ' "$report"/{vectors,training,memcheck,racecheck,initcheck,synccheck}.txt | grep -vE ': (ok|found)$|, 0 failed' >"$report/failed.txt" || true
exit $failed
