#!/usr/bin/env python3
"""Initial weights are PyTorch's, bit for bit, whatever compiles them: tests/resets, made by tests/oracle/resets.py. Norms and
vectors of parametrizations, which are sums over what is drawn, are that up to the last digits.

    CC=... CFLAGS=... resets.py MODC WORK [NAME...]     from the root of the repository; NAME: of a spec there

With RUNNER the program is one for another machine, which that emulates.
"""
import functools
import os
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, "tests/oracle")
import safetensors_io  # noqa: E402

FOLDER = Path("tests/resets")
FORMATS = {"F32": "f", "F64": "d", "I64": "q"}
SUMS = re.compile(r"\.(original0|weight_g|weight_[uv]|_[uv])$")
NEAR = {"F32": 1e-6, "F64": 1e-14}


def differing(key, expected, found):
    """What of two records is not the same, or None."""
    if expected == found:
        return None
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return f"{found.dtype} {found.shape}, not {expected.dtype} {expected.shape}"
    values = [[value for value, in struct.iter_unpack("<" + FORMATS[expected.dtype], record.data)]
              for record in (expected, found)]
    near = NEAR[expected.dtype] if SUMS.search(key) else 0.0
    places = [i for i, (a, b) in enumerate(zip(*values))
              if struct.pack("<d", a) != struct.pack("<d", b) and not abs(a - b) <= near]
    if not places:
        return None
    at = places[0]
    return f"{len(places)} of {len(values[0])} values, the first at {at}: {values[1][at]!r}, not {values[0][at]!r}"


@functools.cache
def compiled(modc, spec, dtype, work):
    """The command that `modc run` is, or with RUNNER that of a program that is made here."""
    program, runner = work / "program", os.environ.get("RUNNER")
    if not runner:
        return [modc, "run", spec, "--dtype", dtype, "--keep", work]
    subprocess.run([modc, "generate", spec, "--dtype", dtype, "-o", work], check=True, stderr=subprocess.DEVNULL)
    flags = [*shlex.split(os.environ["CFLAGS"]), f"-DMODC_MODEL={spec.stem}_model", "-DMODC_LIBM"]
    subprocess.run([*shlex.split(os.environ["CC"]), *flags, f"-I{work}", "-Iruntime", "-o", program, work / f"{spec.stem}.c",
                    *(path for path in Path("runtime").rglob("*.c") if "cuda" not in str(path)), "-lm"], check=True)
    return [*shlex.split(runner), program]


def main():
    modc, work = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    files = sorted(path for name in sys.argv[3:] or ["*"] for path in FOLDER.glob(f"{name}_*.safetensors"))
    faults = 0
    for path in files:
        name, dtype, seed = re.fullmatch(r"(.*?)(?:_(float64))?_([0-9]+)", path.stem).groups()
        command = compiled(modc, FOLDER / f"{name}.yaml", dtype or "float32", work / f"{name}_{dtype or 'float32'}")
        done = subprocess.run([*command, "--seed", seed, "--state", work / "state.safetensors"], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{path.stem}: exit status {done.returncode}\n{done.stderr}")
            faults += 1
            continue
        expected, found = (safetensors_io.read(file)[0] for file in (path, work / "state.safetensors"))
        if list(expected) != list(found):
            print(f"{path.stem}: keys {sorted(set(expected) ^ set(found))}")
            faults += 1
        for key in expected:
            fault = key in found and differing(key, expected[key], found[key])
            if fault:
                print(f"{path.stem}: {key}: {fault}")
                faults += 1
    print(f"{len(files)} files, {faults} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
