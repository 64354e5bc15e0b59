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

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import bound  # noqa: E402


def check(modc, folder, run, timeout):
    """None, or what went wrong and how to see it again."""
    options = [str(folder / text) if text.endswith(".safetensors") else text for text in run["options"]]
    kept = "program_" + "_".join(text.partition("=")[2] for text in options if "=" in text and "scale" not in text)
    options += ["--keep", str(folder / kept)]  # one for all runs of the spec with the same plan
    state = run["state"] and str(folder / run["state"])
    return modc_run.check(modc, str(folder / "spec.yaml"), options, state, timeout)


def check_plan(modc, folder):
    """None, or what tests/support/bound.py says of the workspaces."""
    try:
        said = bound.faults_of(modc, str(folder / "spec.yaml"))
    except RuntimeError:  # a run says why
        return None
    return "\n      ".join(["the plan is not as it should be", *said]) if said else None


def report(seed, folder, found, futures, command):
    """Prints how a spec went; whether all its runs are as they should be."""
    faults = [(name, future.result()) for name, future in zip([run["name"] for run in found["runs"]] + ["plan"], futures)]
    faults = [(name, fault) for name, fault in faults if fault]
    names = ", ".join(run["name"] for run in found["runs"])
    print(f"seed {seed}: {found['kind']}, {found['dtype']}, {names}: {'FAILED' if faults else 'ok'}", flush=True)
    for name, fault in faults:
        print(f"   {name}: {fault}", flush=True)
    if faults:
        print(f"   spec: {folder / 'spec.yaml'}\n   all of it again: python3 tests/oracle/live.py --modc "
              f"{shlex.quote(command)} --seed {seed} --count 1", flush=True)
    else:
        shutil.rmtree(folder)
    return not faults


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
    runs, good, work = 0, [], []
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for seed in range(args.seed, args.seed + args.count):
            folder = keep / f"seed-{seed}"
            found = random_specs.write(seed, folder)
            runs += len(found["runs"])
            work.append((seed, folder, found,
                         [*(pool.submit(check, modc, folder, run, args.timeout) for run in found["runs"]),
                          pool.submit(check_plan, modc, folder)]))
            if len(work) > args.jobs:  # the next specs are drawn while these run
                good.append(report(*work.pop(0), args.modc))
        good += [report(*rest, args.modc) for rest in work]
    failed = good.count(False)
    print(f"torch {torch.__version__}: {len(good)} specs, {runs} runs, {failed} specs failed"
          + (f", kept in {keep}" if failed else ""))
    if not failed and not args.keep:
        keep.rmdir()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
