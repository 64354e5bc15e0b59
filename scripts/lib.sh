# shellcheck shell=bash disable=SC2034
# lib.sh - what the scripts beside share: installs what is missing, says what it does.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() {
    printf '\n== %s (%d s)\n' "$*" "$SECONDS"
}

fail() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

# Lines `package: command that succeeds where it is there`. What comes from elsewhere than apt counts as well.
build_packages='
gcc: gcc --version
libc6-dev: echo "#include <stdlib.h>" | gcc -E -
make: make --version
cmake: cmake --version
pkg-config: pkg-config --version
libyaml-dev: pkg-config --exists yaml-0.1
'
test_packages='
g++: g++ --version
clang: clang --version
clang-format: clang-format --version
libclang-rt-dev: echo "int main(void) { return 0; }" | clang -fsanitize=address,undefined -o /dev/null -x c -
libcmocka-dev: pkg-config --exists cmocka
libmicrohttpd-dev: pkg-config --exists libmicrohttpd
libjansson-dev: pkg-config --exists jansson
python3: python3 --version
python3-jsonschema: schema_python
python3-yaml: schema_python
mandoc: command -v mandoc
gcc-aarch64-linux-gnu: aarch64-linux-gnu-gcc --version
libc6-dev-arm64-cross: echo "#include <stdlib.h>" | aarch64-linux-gnu-gcc -E -
python3-venv: python3 -c "import ensurepip, venv"
dpkg-dev: dpkg-shlibdeps --version
ninja-build: ninja --version
meson: meson --version
qemu-user: qemu-aarch64 --version
gcc-arm-none-eabi: arm-none-eabi-gcc --version
libnewlib-arm-none-eabi: echo "#include <stdlib.h>" | arm-none-eabi-gcc -E -
qemu-system-arm: qemu-system-arm --version
'
# PyTorch, for the tests labelled `long`. MODC_ORACLE_PACKAGES="" does without.
oracle_packages=${MODC_ORACLE_PACKAGES-'
python3-torch: oracle_python -c "import torch"
python3-numpy: oracle_python -c "import numpy"
python3-yaml: oracle_python -c "import yaml"
python3-onnx: oracle_python -c "import onnx"
'}

# The Python that has torch: MODC_PYTHON, the first in PATH, or Debian's own.
oracle_python() {
    local python

    for python in ${MODC_PYTHON:-} python3 /usr/bin/python3; do
        if "$python" -c 'import torch, numpy, yaml' 2>/dev/null; then
            "$python" "$@"
            return
        fi
    done
    return 1
}

# Whether a Python has what tests/support/schema.py needs.
schema_python() {
    python3 -c 'import jsonschema, yaml' || /usr/bin/python3 -c 'import jsonschema, yaml'
}

# Installs those packages of a list whose command fails.
install_missing() {
    local package check root=() missing=()

    while IFS=: read -r package check; do
        if [ -n "$package" ] && ! eval "$check" >/dev/null 2>&1; then
            missing+=("$package")
        fi
    done <<<"$1"
    if [ ${#missing[@]} -eq 0 ]; then
        return
    fi
    say "installing ${missing[*]}"
    command -v apt-get >/dev/null || fail "there is no apt-get here; please install: ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "neither root nor sudo; please install: ${missing[*]}"
        root=(sudo)
    fi
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -o=Dpkg::Use-Pty=0 \
        "${missing[@]}" >/dev/null
}

# configure_and_build PRESET OPTIONS...: quiet, unless it fails.
configure_and_build() {
    local preset=$1 log

    shift
    mkdir -p build
    log=build/$preset.log
    if ! { cmake --preset "$preset" "$@" && cmake --build --preset "$preset" --parallel "$(nproc)"; } >"$log" 2>&1; then
        cat "$log" >&2
        fail "the build failed"
    fi
}
