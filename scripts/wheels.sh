#!/usr/bin/env bash
# wheels.sh - wheels for every Linux with glibc on x86-64 and on aarch64, and the source archive, built on Debian 12.
#
#     scripts/wheels.sh [FOLDER]     default: build/wheels
#
# The command in them is static, and so needs no libc and no libyaml of the machine; the rest is sources, and a static
# library of the runtime. For aarch64 this needs gcc-aarch64-linux-gnu and, since parts of modc are made by a program of the build,
# qemu-user; libyaml comes out of Debian's package for that machine. With auditwheel in PATH it looks at both in the end; with
# TORCH_PYTHON=python, one that has PyTorch 2, the wheel's backend of torch.compile is tried.
set -euo pipefail
cd "$(dirname "$0")/.."

# What is missing, all at once, with Debian's package that has it.
lacks=()
while read -r tool package; do
    type -p "$tool" >/dev/null || lacks+=("$tool ($package)")
done <<'END'
python3 python3
cmake cmake
cc gcc
aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
qemu-aarch64 qemu-user
apt-get apt
dpkg-deb dpkg
readelf binutils
pkg-config pkg-config
END
if type -p pkg-config >/dev/null && ! [ -f "$(pkg-config --variable=libdir yaml-0.1)/libyaml.a" ]; then
    lacks+=("libyaml.a (libyaml-dev)")
fi
if [ ${#lacks[@]} -gt 0 ]; then
    printf 'wheels.sh: needs %s\n' "${lacks[@]}" >&2
    exit 1
fi

mkdir -p "${1:-build/wheels}"
out=$(cd "${1:-build/wheels}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# backend FUNCTION ARGUMENTS...: of the build backend.
backend() {
    PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 python3 -c 'import sys, modc_build
name, folder, *platform = sys.argv[1:]
print(getattr(modc_build, name)(folder, {"platform": platform[0]} if platform else None))' "$@" >"$work/said" ||
        { cat "$work/said" >&2; exit 1; }
    tail -n 1 "$work/said"
}

# tags MACHINE: of every Linux with glibc there; not of those with musl, for which the library of the runtime is not made.
tags() {
    echo "manylinux_2_17_$1.manylinux2014_$1"
}

backend build_sdist "$out"
CMAKE_ARGS="-DCMAKE_EXE_LINKER_FLAGS=-static" backend build_wheel "$out" "$(tags x86_64)"

# libyaml for aarch64, by an apt of its own, which leaves the machine's alone.
apt=(-qq -o "Dir::State=$work/state" -o Dir::State::status=/dev/null -o "Dir::Cache=$work/cache" -o APT::Architecture=arm64
    -o APT::Architectures=arm64 -o APT::Sandbox::User=root)
mkdir -p "$work/state" "$work/cache"
apt-get "${apt[@]}" update
(cd "$work" && apt-get "${apt[@]}" download libyaml-dev)
dpkg-deb -x "$work"/libyaml-dev_*.deb "$work/root"
export PKG_CONFIG_LIBDIR=$work/root/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/root
CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
    -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu -DCMAKE_EXE_LINKER_FLAGS=-static" \
    backend build_wheel "$out" "$(tags aarch64)"

for wheel in "$out"/*.whl; do
    machine=x86_64
    [[ $wheel == *aarch64* ]] && machine=aarch64
    rm -rf "$work/wheel"
    python3 -m zipfile -e "$wheel" "$work/wheel"
    command=$work/wheel/modc/bin/modc
    chmod +x "$command"
    if ! readelf -d "$command" | grep -q "There is no dynamic section"; then
        echo "wheels.sh: $wheel: the command is not static" >&2
        exit 1
    fi
    run=()
    [ "$(uname -m)" = "$machine" ] || run=("qemu-$machine")
    "${run[@]}" "$command" check specs/cartpole/policy.yaml
    if type -p auditwheel >/dev/null; then
        auditwheel show "$wheel"
    fi
done

# With TORCH_PYTHON, an interpreter that has PyTorch 2 or later: torch.compile finds the backend of the installed wheel.
if [ -n "${TORCH_PYTHON:-}" ]; then
    "$TORCH_PYTHON" -m venv "$work/venv"
    "$TORCH_PYTHON" -c 'import torch; from pathlib import Path; print(Path(torch.__file__).parents[1])' \
        >"$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch.pth"
    "$work/venv/bin/pip" install -q --no-index --no-deps "$out"/modc-*x86_64.whl
    MODC_CACHE=$work/cache CFLAGS=-O0 "$work/venv/bin/python" - <<'END'
import torch

assert "modc" in torch.compiler.list_backends(), torch.compiler.list_backends()
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
net, x = torch.compile(model, backend="modc"), torch.randn(3, 4)
assert torch.allclose(net(x), model(x), atol=1e-6)
net(x).sum().backward()
have = model[0].weight.grad.clone()
model.zero_grad()
model(x).sum().backward()
assert torch.allclose(have, model[0].weight.grad, atol=1e-6)
import modc
assert modc.prefix().parts[-1] == "modc" and (modc.prefix() / "bin").is_dir()
print(f"torch.compile(backend=\"modc\") of {modc.prefix()} with PyTorch {torch.__version__}")
END
fi
