#!/usr/bin/env python3
"""`checkpoint:` changes where backward's values come from, not what they are, and leaves a block the memory of its input.

    CC=cc python3 tests/support/checkpoint.py MODC WORK SPEC INPUTS     from the root of the repository

SPEC has the constants `count`, of blocks that are checkpoints, and `rate`, of its dropout; INPUTS, with gradients of its
results, begin with that of the blocks, x. It is compared with the same spec without `checkpoint`, where dropout draws too,
which PyTorch cannot say.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracle"))
import safetensors_io  # noqa: E402

COUNTS = (4, 8, 16)


def output_of(*command):
    flags = {**os.environ, "CFLAGS": "-O0"}
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, env=flags).stdout


def check_numbers(modc, work, spec, plain, inputs):
    """Results and gradients of both."""
    expect = work / "expect.safetensors"
    common = ["--seed", "5", "--inputs", inputs, "--backward", "--train", "--set", "rate=0.25"]
    output_of(modc, "run", plain, *common, "--outputs", expect)
    gradients = [name for name, record in safetensors_io.read(expect)[0].items() if name.startswith("grad.") and any(record.data)]
    if len(gradients) < 20:
        yield f"few gradients are compared: {gradients}"
    try:
        output_of(modc, "run", spec, *common, "--expect", expect)
    except subprocess.CalledProcessError as fault:
        yield f"{fault.stdout}{fault.stderr}"


def growths(modc, spec):
    """The bytes of workspace that one more block takes, from each pair of counts."""
    found = []
    for count in COUNTS:
        plan = json.loads(output_of(modc, "check", spec, "--dump=plan.json", "--set", f"count={count}"))
        found += [variant["workspace"] for variant in plan["variants"] if variant["function"] == "forward_train_saving"]
    return {(more - less) / (n - m) for m, n, less, more in zip(COUNTS, COUNTS[1:], found, found[1:])}


def check(modc, work, spec, inputs):
    plain = work / spec.name
    plain.write_text(re.sub(r"^checkpoint:.*\n", "", spec.read_text(), flags=re.MULTILINE))
    yield from check_numbers(modc, work, spec, plain, inputs)
    size, own, kept = len(safetensors_io.read(inputs)[0]["x"].data), growths(modc, spec), growths(modc, plain)
    if max(own) > 1.05 * size:  # many buffers do not always fit into their bound
        yield f"a block has an input of {size} bytes and takes {own}"
    if min(kept) < 10 * size:
        yield f"without checkpoint a block takes {kept} bytes, as if its values were not kept"


def main():
    modc, work, spec, inputs = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
    work.mkdir(parents=True, exist_ok=True)
    faults = list(check(modc, work, spec, inputs))
    print("\n".join(faults) or f"{spec}: the same numbers in less memory")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
