#!/usr/bin/env bash
# deb.sh - the Debian package of a build: what it says of itself, and, unpacked into a folder, that it works from there.
#
#     CC=cc tests/support/deb.sh CPACK BUILD WORK     from the root of the repository
set -euo pipefail

cpack=$1 build=$2 work=$3
fail() {
    printf 'deb.sh: %s\n' "$*" >&2
    exit 1
}

rm -rf "$work"
mkdir -p "$work"
"$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$work" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
package=$(ls "$work"/modc_*.deb)
for field in "Package: modc" "Architecture: $(dpkg --print-architecture)" "Section: devel" "Priority: optional"; do
    dpkg-deb -f "$package" | grep -qx "$field" || fail "there is no '$field'"
done
dpkg-deb -f "$package" Depends | grep -q "libc6 (>= .*), libyaml-0-2" || fail "libraries are missing from Depends"

dpkg-deb -x "$package" "$work/root"
root=$work/root/usr
docs=$root/share/doc/modc
[ "$("$root/bin/modc" --version)" = "modc $(dpkg-deb -f "$package" Version)" ] || fail "the command does not run"
grep -q "^License: Apache-2.0$" "$docs/copyright" || fail "there is no copyright file"
gzip -cd "$docs/changelog.gz" | grep -q "^modc ($(dpkg-deb -f "$package" Version)) " || fail "there is no changelog"
gzip -cd "$root/share/man/man1/modc.1.gz" | grep -q '^\.TH' || fail "there is no manual page"
bash -n "$root/share/bash-completion/completions/modc"

# An example, where the package has put it.
cd "$docs/examples/balance"
config=$(find "$root" -name modc.pc)
PKG_CONFIG_PATH=$(dirname "$config") CFLAGS=-O1 make >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
[ "$(build/balance)" = "balanced for 500 steps" ] || fail "the program of examples/balance does not balance"
