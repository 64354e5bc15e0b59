"""Compares modc with the PyTorch that is installed on the networks of specs/networks, weights and inputs being drawn.

    python3 tests/oracle/networks.py --modc build/modc [NAME...] [--train]

A line `# check: SIZE=VALUE...` of a spec gives the sizes (else: their maxima), `# draw: INPUT LOW HIGH` ranges of inputs.
Outputs are within the design's section 10; their largest error relative to the largest expected value is printed.
"""
import argparse
import pathlib
import re
import sys
import tempfile
import zlib

import torch

import compare
import generation
import make
import modc_run
import safetensors_io
import torch_run

NETWORKS = make.ROOT / "specs" / "networks"


def draw_inputs(path, text):
    sizes = dict(word.split("=") for line in re.findall("^# check:(.*)$", text, re.MULTILINE) for word in line.split())
    ranges = make.ranges_of(text)
    spec = torch_run.Spec(str(path), {}, None)
    shapes = spec.input_shapes({name: int(value) for name, value in sizes.items()})
    writes = re.search("^generation:", text, re.MULTILINE)
    inputs = {name: make.drawn(zlib.crc32(f"{path.stem} {name}".encode()), shape, dtype, ranges.get(name))
              for name, (shape, dtype) in shapes.items() if not (writes and name in generation.INPUTS)}
    if writes:
        (sequences, per), (rows,), (logits,) = (shapes[name][0] for name in ("pages", "position", "logit_rows"))
        plan = [(0, rows // 2), (sequences - 1, rows - rows // 2)] if sequences > 1 else [(0, rows)]
        plan = [(s, 1) for s in range(rows)] if rows <= sequences else plan
        inputs.update(make.rows_of(plan, logits, None, sequences, per))
    return inputs


def unknown_classes(text):
    """Those of torch.nn, and functions, that the installed one does not have yet."""
    own = re.findall(r"^  ([A-Z]\w*)[(:]", text, re.MULTILINE)
    newer = [name for name in ("rms_norm",) if f"{name}(" in text and not hasattr(torch.nn.functional, name)]
    return newer + sorted({name for name in re.findall(r"\b[A-Z]\w*(?=\()", text) if name not in own and not hasattr(torch.nn, name)})


def check(modc, path, folder, train):
    """None, or what went wrong."""
    files = {kind: str(folder / f"{kind}.safetensors") for kind in ("weights", "inputs", "expect")}
    relative = str(path.relative_to(make.ROOT))
    safetensors_io.save(files["weights"], make.weights(zlib.crc32(path.stem.encode()), relative))
    safetensors_io.save(files["inputs"], draw_inputs(path, path.read_text()))
    options = [text for kind in ("weights", "inputs") for text in (f"--{kind}", files[kind])] + ["--train"] * train
    args = torch_run.parse(["run", str(path), *options])
    outputs, _ = torch_run.run(args)
    safetensors_io.save(files["expect"], outputs)
    tolerance = max(compare.TOLERANCE["F32"], 4 * torch_run.own_distance(args))
    largest = max(tensor.abs().max().item() for tensor in outputs.values())
    if not 1e-3 < largest < 1e4:
        return f"the largest output is {largest}: that tests nothing"
    print(f"{path.stem}: tolerance {tolerance:.1e}", flush=True)
    return modc_run.check(modc, relative, [*options, "--expect", files["expect"], "--rtol", f"{tolerance:.1e}"], None, 900,
                          make.ROOT)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("names", nargs="*", help="default: all")
    args = parser.parse_args()
    modc = modc_run.command_of(args.modc)
    paths = [path for path in sorted(NETWORKS.glob("*.yaml")) if not args.names or path.stem in args.names]
    if modc is None or not paths:
        print("no such network" if modc else f"there is no {args.modc}", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    failed = 0
    for path in paths:
        unknown = unknown_classes(path.read_text())
        if unknown:
            print(f"{path.stem}: skipped, torch {torch.__version__} has no {', '.join(unknown)}")
            continue
        with tempfile.TemporaryDirectory(prefix="modc-networks-") as folder:
            fault = check(modc, path, pathlib.Path(folder), args.train)
        print(f"{path.stem}: {fault or 'ok'}", flush=True)
        failed += fault is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
