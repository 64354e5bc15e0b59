#!/usr/bin/env bash
# wheel.sh - the wheel, made by pip out of the source archive, without a network, and used in a new environment.
#
#     CC=cc tests/support/wheel.sh PYTHON WORK     from the root of the repository
set -euo pipefail

python=$1 work=$2
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 CMAKE_ARGS="-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0"
rm -rf "$work"
mkdir -p "$work"
PYTHONPATH=python "$python" -c 'import sys, modc_build; modc_build.build_sdist(sys.argv[1])' "$work"
"$python" -m venv "$work/venv"
export PATH=$work/venv/bin:$PATH
{
    pip wheel --no-index --no-deps -w "$work" "$work"/modc-*.tar.gz
    pip install --no-index "$work"/modc-*.whl
} >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }

# path NAME: what the package says of itself.
path() {
    python -c "import modc; print(modc.$1())"
}

fail() {
    printf 'wheel.sh: %s\n' "$*" >&2
    exit 1
}

version=$(python -c 'import importlib.metadata; print(importlib.metadata.version("modc"))')
[ "$(modc --version)" = "modc $version" ] || fail "modc is not version $version"
[ "$(python -m modc --version)" = "modc $version" ] || fail "python -m modc is not version $version"
status=0
modc check "$work/nothing.yaml" 2>"$work/said" || status=$?
[ $status = 3 ] || fail "the exit status of the command is lost"
if [ -e "$(pkg-config --variable=libdir yaml-0.1)/libyaml.a" ] && ldd "$(path executable)" | grep libyaml >&2; then
    fail "the command needs the library above, which other machines do not have"
fi
[ "$(PKG_CONFIG_PATH=$(path pkgconfig_dir) pkg-config --variable=modc modc)" -ef "$(path executable)" ] ||
    fail "pkg-config does not find it"
[ -e "$(path prefix)/share/cmake/modc/modcConfig.cmake" ] || fail "CMake does not find it"
modc schema | cmp - "$(path schema)"

modc generate specs/cartpole/policy.yaml --weights specs/cartpole/weights.safetensors -o "$work/policy"
"${CC:-cc}" -O1 -I"$(path include_dir)" -I"$work/policy" examples/balance/balance.c "$work"/policy/*.[cS] \
    "$(path runtime_dir)"/*.c -o "$work/balance" -lm
[ "$("$work/balance")" = "balanced for 500 steps" ] || fail "the program of examples/balance does not balance"

# Called from Python: the package has what it compiles.
export MODC_CACHE=$work/cache CFLAGS=-O0
said=$(python -c 'import modc
net = modc.compile("specs/cartpole/policy.yaml", weights="specs/cartpole/weights.safetensors")
print(net.forward.signature(), *(out.shape for out in net(modc.Array((3, 4), "float32"))))')
[ "$said" = "forward(observation: float32[batch, 4]) -> logits: float32[batch, 2], value: float32[batch, 1] (3, 2) (3, 1)" ] ||
    fail "a net of the package says $said"
