"""Every algorithm of every op but those of sequences stands in one model, tests/specs/rows.yaml, on a processor and on cuda, whose text the
suite of compilers compiles: so no two of them have functions of one name, whatever operands they share. Those that no
costs choose there are forced. On cuda the operands of tests/specs/rows_wide.yaml choose others.
Those of sequences stand in a decoder and in a Mamba, those of narrow weights in a model of its own, for a processor, for a chip and on
cuda; those of rows in integers, too, which many rows have others for.

    python3 tests/support/algorithms.py MODC WORK COMPILER FLAGS     from the root of the repository; FLAGS with commas
    CXX compiles kernels
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

SPEC, WIDE = "tests/specs/rows.yaml", "tests/specs/rows_wide.yaml"
CODED = "tests/specs/storage_coded.yaml"
NARROW, DYNAMIC, INTEGERS = "tests/specs/storage_int8.yaml", "tests/specs/dynamic.yaml", "tests/specs/integers.yaml"
WRITERS = ("tests/specs/decoder.yaml", "specs/networks/mamba.yaml")
# For what the others are always better, but where --plan or `pack: none` asks for them.
FORCED = {"attention_heads": "attention=attention_heads", "recurrent_dot": "recurrent=recurrent_dot"}
CUDA, BACKWARD = ["--device", "cuda"], ["--backward"]
# (name of a folder, spec, options)
MODELS = [("all", SPEC, BACKWARD), ("cuda", SPEC, CUDA + BACKWARD), ("cuda_wide", WIDE, CUDA),
          ("coded", CODED, []), ("coded_cuda", CODED, CUDA),
          ("narrow", NARROW, []), ("narrow_chip", NARROW, ["--target", "cortex-m4"]), ("narrow_cuda", NARROW, CUDA),
          ("dynamic", DYNAMIC, []), ("dynamic_cuda", DYNAMIC, [*CUDA, "--set", "batch=16384"]),
          ("integers", INTEGERS, []), ("integers_chip", INTEGERS, ["--target", "cortex-m4"]),
          *((f"{pathlib.Path(spec).stem}{''.join(options[1:])}", spec, options) for spec in WRITERS for options in ([], CUDA)),
          *((name, SPEC, ["--plan", plan]) for name, plan in sorted(FORCED.items()))]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def said(command, sources):
    return subprocess.run([*command, "-Werror", "-fsyntax-only", "-Iruntime", *sources], capture_output=True, text=True).stderr


def main(modc, work, compiler, flags):
    kernels = [*shlex.split(os.environ.get("CXX", "c++")), "-x", "c++", "-std=c++17", "-fno-exceptions", "-Wall", "-Wextra",
               "-Iruntime/cuda_host"]
    catalogue = json.loads(output_of(modc, "layers", "--format", "json"))
    algorithms = {name for op in catalogue["ops"] for name in op["algorithms"]}
    seen, faults = set(), []
    for name, spec, options in MODELS:
        folder = pathlib.Path(work, name)
        chosen = set(re.findall(r"; (\w+)(?:;| with| \(asked)", output_of(modc, "check", spec, "--explain", *options)))
        if name not in FORCED:
            seen |= chosen
        elif name not in chosen:
            faults.append(f"{name} cannot be forced")
        output_of(modc, "generate", spec, "-o", str(folder), *options)
        own = [f"-I{folder}", folder / f"{pathlib.Path(spec).stem}.c"]
        text = said([compiler, "-std=c99", *flags.split(","), "-Wconversion"], own)
        if options[:2] == CUDA:
            text += said(kernels, [own[0], own[1].with_suffix(".cu")])
        if text:
            faults.append(f"{name}: {text[:3000]}")
    faults += [f"{name} is in no spec of {SPEC}, {WIDE}, {CODED}, {NARROW}, {DYNAMIC}, {INTEGERS} and {WRITERS}" for name in sorted(algorithms - seen - set(FORCED))]
    faults += [f"{name} need not be forced" for name in sorted(seen & set(FORCED))]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
