#!/usr/bin/env bash
# readme.sh - what README.md and ARCHITECTURE.md say holds: runs the commands (sh blocks) of the first with a given modc and
# compares what they print with the block that follows, but for lines of times; the spec and the program that it shows
# are those of the repository. The second's spec gives the lines of dumps and emitted code that it shows (text blocks),
# a spec of the tests the code of a region ("c emitted" blocks).
#
#     tests/support/readme.sh MODC WORK     from the root of the repository; WORK is a folder for what is made
set -euo pipefail

modc=$1
work=$2
mkdir -p "$work"

# block KIND N [FILE]: the Nth block of that kind, which may be empty; N 0: all of them.
block() {
    awk -v kind="$1" -v wanted="$2" '
        !inside && /^```/ { inside = 1; show = $0 == "```" kind && (++n == wanted || !wanted); next }
        inside && /^```$/ { inside = 0; show = 0; next }
        show { print }' "${3:-README.md}"
}

same() {
    if ! diff -u "$1" "$2"; then
        printf 'README.md: %s is not what it shows\n' "$3" >&2
        exit 1
    fi
}

block yaml 1 >"$work/spec"
same specs/cartpole/policy.yaml "$work/spec" specs/cartpole/policy.yaml
block c 1 >"$work/program"
same examples/balance/balance.c "$work/program" examples/balance/balance.c
block cmake 1 >"$work/project"
same examples/digits/CMakeLists.txt "$work/project" examples/digits/CMakeLists.txt

# What README.md shows of a longer file stands there so.
part() {
    block "$1" 1 | while IFS= read -r line; do
        if ! grep -qxF -e "$line" "$2"; then
            printf 'README.md: this is not in %s: %s\n' "$2" "$line" >&2
            exit 1
        fi
    done
}
part meson examples/activations/meson.build
part make examples/balance/Makefile

# What is printed is shown in the block right behind the command's.
awk '!inside && /^```/ { inside = 1; shown = $0 == "```" && last == NR - 1; if ($0 == "```sh") n++; if (shown) print n; next }
    inside && /^```$/ { inside = 0; last = NR }' README.md >"$work/shown"
count=$(grep -c '^```sh$' README.md)
plain=0
for ((i = 1; i <= count; i++)); do
    block sh "$i" | sed -e "s|build/modc|$modc|g" -e "s|build/\(policy\|balance\)|$work/\1|g" >"$work/command"
    status=0
    bash -e "$work/command" >"$work/output" 2>&1 || status=$?
    if grep -qx "$i" "$work/shown"; then
        plain=$((plain + 1))
        block "" $plain | grep -v '^min ' >"$work/wanted"
        grep -v '^min \|^modc: note: \(the machine is busy\|min has not\)' "$work/output" >"$work/found" || true
        same "$work/wanted" "$work/found" "$(head -n 1 "$work/command")"
    elif [ $status -ne 0 ]; then
        cat "$work/command" "$work/output" >&2
        exit 1
    fi
done

block yaml 1 ARCHITECTURE.md >"$work/tiny.yaml"
for room in module graph plan; do
    "$modc" check "$work/tiny.yaml" --dump=$room
done >"$work/dumps"
"$modc" generate "$work/tiny.yaml" -o "$work"
"$modc" generate tests/specs/blocks_bare.yaml --backward -o "$work"

# printed KIND FILE...: every line of ARCHITECTURE.md's blocks of that kind is in one of the files.
printed() {
    block "$1" 0 ARCHITECTURE.md | while IFS= read -r line; do
        if ! grep -qxF -e "$line" "${@:2}"; then
            printf 'ARCHITECTURE.md: modc does not print: %s\n' "$line" >&2
            exit 1
        fi
    done
}

printed text "$work/dumps" "$work/tiny.c"
printed "c emitted" "$work/blocks.c"
