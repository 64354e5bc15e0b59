"""Compares modc with the PyTorch that is installed, on random specs.

    python3 tests/oracle/live.py --modc build/modc [--count 12] [--seed 1]     # seeds 1 .. 12
    python3 tests/oracle/live.py --modc build/modc --seed 17 --count 1 --keep /tmp/live

A spec that fails stays in the folder given by --keep, with all its files. Exit status 1 if any did.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import sys
import tempfile

import torch

import modc_run
import random_specs


def check(modc, folder, run, timeout):
    """None, or what went wrong and how to see it again."""
    options = [str(folder / text) if text.endswith(".safetensors") else text for text in run["options"]]
    kept = "program_" + "_".join(text.partition("=")[2] for text in options if "=" in text and "scale" not in text)
    options += ["--keep", str(folder / kept)]  # one for all runs of the spec with the same plan
    state = run["state"] and str(folder / run["state"])
    return modc_run.check(modc, str(folder / "spec.yaml"), options, state, timeout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1, help="of the first spec; the others follow")
    parser.add_argument("--keep", help="folder for specs that fail (default: a new one in the temporary folder)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    torch.set_num_threads(1)
    modc = modc_run.command_of(args.modc)
    if modc is None:
        print(f"there is no {args.modc}", file=sys.stderr)
        return 2
    keep = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="modc-live-")).absolute()
    print(f"torch {torch.__version__}, seeds {args.seed} to {args.seed + args.count - 1}, {args.modc}", flush=True)
    specs = runs = failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        work = []
        for seed in range(args.seed, args.seed + args.count):
            folder = keep / f"seed-{seed}"
            found = random_specs.write(seed, folder)
            work.append((seed, folder, found,
                         [pool.submit(check, modc, folder, run, args.timeout) for run in found["runs"]]))
        for seed, folder, found, futures in work:
            faults = [(run["name"], future.result()) for run, future in zip(found["runs"], futures)]
            specs, runs = specs + 1, runs + len(faults)
            faults = [(name, fault) for name, fault in faults if fault]
            names = ", ".join(run["name"] for run in found["runs"])
            result = "FAILED" if faults else "ok"
            print(f"seed {seed}: {found['kind']}, {found['dtype']}, {names}: {result}", flush=True)
            for name, fault in faults:
                print(f"   {name}: {fault}", flush=True)
            if faults:
                failed += 1
                print(f"   spec: {folder / 'spec.yaml'}\n   all of it again: python3 tests/oracle/live.py --modc "
                      f"{shlex.quote(args.modc)} --seed {seed} --count 1", flush=True)
            else:
                shutil.rmtree(folder)
    print(f"torch {torch.__version__}: {specs} specs, {runs} runs, {failed} specs failed"
          + (f", kept in {keep}" if failed else ""))
    if not failed and not args.keep:
        keep.rmdir()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
