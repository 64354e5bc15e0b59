"""Ten steps of training by every optimiser of tests/optim/cases.txt on cuda, emulated, against the same on a processor: the last loss and
all parameters; and again with threads in another order: the same bits. Needs nothing but Python.

    python3 tests/oracle/cuda_training.py --modc build/modc --work DIR [--every 6]
    python3 tests/oracle/cuda_training.py --modc build/modc --work DIR --gpu     # by nvcc; 77 (skipped) where it or a GPU is missing

One model has an entry of a line for each of some optimisers would have to train apart; so a model for each, with clipping and the like by turns.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

import archives
import compare
import gpu
import modc_run
import safetensors_io

SPEC = """modc: 1
model: net
dtype: {dtype}
inputs: {{x: [5, 4]}}
modules:
  trunk:
    - Linear(4, 8)
    - Tanh()
  head: Linear(8, 2)
forward:
  - return head(trunk(x))
training:
  inputs: {{weight: [5, 2]}}
  loss:
    - return (output.to({wide}) * weight.to({wide})).sum()
  optimizer: {optimizer}
{more}"""

TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-3, "bfloat16": 1.6e-2}  # of 16 bits two steps between numbers

MASTER = "  master: float32\n"
SCALER = "  scaler: GradScaler(init_scale=131072.0, growth_interval=3)\n"
MORE = [("float32", ""), ("float16", "  clip: clip_grad_norm_(0.5)\n  ema: 0.9\n" + MASTER + SCALER), ("float32", "  ema: 0.9\n"),
        ("bfloat16", "  clip: clip_grad_value_(0.1)\n" + MASTER + "update: fused\n"),
        ("float64", "  clip: clip_grad_norm_(0.5, norm_type=1)\n"), ("float32", "  clip: clip_grad_norm_(0.5, norm_type=float('inf'))\n"),
        ("float32", "  clip: clip_grad_value_(0.1)\n" + SCALER), ("bfloat16", MASTER)]


def run(modc, spec, folder, name, *options, seed="0"):
    """(None, loss and parameters), or what went wrong."""
    files = {kind: folder / f"{name}_{kind}.safetensors" for kind in ("outputs", "state")}
    command = [*modc, "run", str(spec), "--steps", "10", "--outputs", str(files["outputs"]), "--state", str(files["state"]),
               *options]
    done = subprocess.run(command, cwd=archives.ROOT, capture_output=True, text=True, env={**os.environ, "CUDA_HOST_SEED": seed})
    if done.returncode != 0:
        return f"{' '.join(command)}: {done.stdout}{done.stderr}", None
    return None, {**safetensors_io.read(files["outputs"])[0], **safetensors_io.read(files["state"])[0]}


def compared(modc, folder, number, optimizer, dtype, more, cuda):
    """One line of what came out, and whether it is good."""
    wide = "float64" if dtype == "float64" else "float32"
    spec = folder / f"net_{number}.yaml"
    spec.write_text(SPEC.format(optimizer=optimizer, dtype=dtype, wide=wide, more=more))
    fault, expected = run(modc, spec, folder, f"cpu_{number}")
    options = "--device", "cuda", "--keep", str(folder / f"net_{number}"), *cuda
    if not fault:
        fault, found = run(modc, spec, folder, f"cuda_{number}", *options)
    if not fault:
        fault, again = run(modc, spec, folder, f"again_{number}", *options, seed="7")
    if not fault and again != found:
        fault = "a second run gives other bits"
    if not fault:
        report, good = compare.compare(expected, found, TOLERANCES[dtype])
        fault = None if good else "\n".join(report)
    return f"{optimizer}, {dtype}, {'; '.join(line.strip() for line in more.splitlines())}: {fault or 'ok'}", fault is None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc")
    parser.add_argument("--work", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="nothing starts later")
    args = parser.parse_args()
    modc = modc_run.command_of(args.modc)
    folder = pathlib.Path(args.work).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    lines = (archives.ROOT / "tests/optim/cases.txt").read_text().splitlines()
    optimizers = [line for line in lines if line and not line.startswith("#")]
    if args.gpu and gpu.is_missing(modc):
        return 77
    cases, end = list(enumerate(optimizers))[::args.every], time.monotonic() + args.seconds
    failed = done = 0

    def run_case(case):
        number, optimizer = case
        if time.monotonic() < end:
            return compared(modc, folder, number, optimizer, *MORE[number // args.every % len(MORE)],
                            [] if args.gpu else ["--emulate=check"])
        return None

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for line, good in filter(None, pool.map(run_case, cases)):
            print(line, flush=True)
            failed += not good
            done += 1
    print(f"{done} optimisers, {failed} failed" + (f"; no time for {len(cases) - done} more" if done < len(cases) else ""))
    return 1 if failed or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
