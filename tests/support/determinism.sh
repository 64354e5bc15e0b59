#!/bin/sh
# determinism.sh - what modc writes for a spec depends on nothing but the spec: not on where it is run or where the spec
# lies, the locale, the folder for temporary files, the umask, or the compiler that built modc. Run again, it writes
# nothing.
#
#     tests/support/determinism.sh MODC SPEC WORK [OTHER]     WORK is a folder for what is made; OTHER: another build of modc
set -eu

absolute() {
    (cd "$(dirname "$1")" && printf '%s/%s\n' "$(pwd)" "$(basename "$1")")
}

modc=$(absolute "$1")
spec=$(absolute "$2")
rm -rf "$3"
mkdir -p "$3"
work=$(absolute "$3")
faults=0

fault() {
    printf '%s: %s\n' "$spec" "$1" >&2
    faults=1
}

# same WHAT FOLDER: the folder has the bytes of the first run.
same() {
    diff -r "$work/first" "$2" >"$work/difference" 2>&1 || {
        head -n 40 "$work/difference" >&2
        fault "other bytes $1"
    }
}

# The umask may not take away the owner's bits; times and inodes tell whether a file was written anew.
stamps() {
    (cd "$work/first" && find . -exec stat -c '%n %Y %y %i' {} + | sort)
}

unset LC_ALL LANG
"$modc" generate "$spec" -o "$work/first"
[ -n "$(find "$work/first" -type f)" ] || fault "nothing was written"

if [ $# -gt 3 ]; then
    "$4" generate "$spec" -o "$work/other"
    same "with $4" "$work/other"
    exit $faults
fi

stamps >"$work/before"
sleep 0.02
"$modc" generate "$spec" -o "$work/first"
stamps >"$work/after"
cmp -s "$work/before" "$work/after" || fault "the second run touched its files"

mkdir -p "$work/elsewhere/deep" "$work/temporary"
cp "$(dirname "$spec")"/*.yaml "$work/elsewhere/deep/" # the spec with those that it extends, and their tables
find "$(dirname "$spec")" -maxdepth 1 \( -name "*.safetensors" -o -name "*.json" -o -name "*.jinja" \) -exec cp {} "$work/elsewhere/deep/" \;
(cd "$work/elsewhere" && "$modc" generate "deep/$(basename "$spec")" -o out)
same "from another folder, of a copy of the spec" "$work/elsewhere/out"
(cd / && "$modc" generate "$spec" -o "$work/root")
same "from /" "$work/root"

for locale in C C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do # those that are missing act as C
    LC_ALL=$locale LANG=$locale "$modc" generate "$spec" -o "$work/$locale"
    same "with LC_ALL=$locale" "$work/$locale"
done

(umask 077 && TMPDIR=$work/temporary "$modc" generate "$spec" -o "$work/umask")
same "with another TMPDIR and umask" "$work/umask"
[ -z "$(find "$work/temporary" -type f)" ] || fault "files were left in TMPDIR"
env -i "$modc" generate "$spec" -o "$work/empty"
same "with an empty environment" "$work/empty"
exit $faults
