"""Compares modc with the PyTorch that is installed, on random specs.

    python3 tests/oracle/live.py --modc build/modc [--count 200] [--seed 0]    # seeds 0 .. 199
    python3 tests/oracle/live.py --modc build/modc --seed 17 --count 1 --keep /tmp/live
    python3 tests/oracle/live.py --modc build/modc --count 5000 --gate         # what a release needs
    python3 tests/oracle/live.py --modc build/modc --kind decoder              # models of rows alone

Each spec is compiled once, strictly, and run several times; the runtime is compiled once for all. A spec that fails is
shrunk (shrink.py) and stays in the folder given by --keep, with all its files and the commands that repeat it. At the
end stands how often ops, rows, arguments, dtypes and ranks were drawn. Exit status 1 if a spec failed, or if --gate found
what was drawn less than 50 times.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import shlex
import shutil
import sys
import tempfile
import time
import traceback
import warnings

import torch

import modc_run
import program
import random_specs
import rows
import shrink

ENOUGH = 50  # draws of each thing in a run with --gate
# Ops that no step of a plan has: they are resolved before, or stand in what packs.
ROWS = ("layer ", "torch.", "functional.", "method.")
NO_STEPS = {"input", "tensor", "const", "view", "panels"}


def try_spec(seed, args, catalogue, runtime):
    """{seed, lines, drawn, runs, good}: one spec, drawn, compiled and run; what a worker does."""
    folder = args.keep / f"seed-{seed}"
    drawn = args.drawn / folder.name if args.drawn else folder
    if (drawn / "runs.json").exists():
        found = json.loads((drawn / "runs.json").read_text())
    else:
        found = random_specs.write(seed, drawn, catalogue, kind=args.kind)
    if args.unlike and program.are_alike(args.modc, args.unlike, drawn, found, args.timeout):
        if drawn == folder:
            shutil.rmtree(folder)
        return {"seed": seed, "lines": [f"seed {seed}: {found['kind']}, alike"], "drawn": [], "runs": 0, "good": True}
    if drawn != folder:
        shutil.copytree(drawn, folder)
    again = f"python3 tests/oracle/live.py --modc {shlex.quote(args.modc_text)} --seed {seed} --count 1"
    again += f" --kind {args.kind}" if args.kind else ""
    lines, drawn, runs = [], [], len(found["runs"])
    flags = program.FLAGS[seed % len(program.FLAGS)] if args.flags is None else args.flags
    faults, ops = program.check(args.modc, folder, found, runtime, flags, args.timeout)
    names = ", ".join(run["name"] for run in found["runs"])
    lines.append(f"seed {seed}: {found['kind']}, {found['dtype']}, {names}: {'FAILED' if faults else 'ok'}")
    lines += [f"   {name}: {text}" for name, text in faults]
    if faults:
        lines.append(f"   spec: {folder / 'spec.yaml'}\n   all of it again: {again}")
    else:
        shutil.rmtree(folder)
        drawn = found["drawn"] + ops + [f"run {run['name']}" for run in found["runs"]] + [f"model {found['dtype']}"]
        if any(run["name"].startswith("backward") for run in found["runs"]):
            drawn += [f"backward {name}" for name in dict.fromkeys(found["drawn"]) if name.startswith(ROWS)]
    return {"seed": seed, "lines": lines, "drawn": drawn, "runs": runs, "good": not faults, "found": found,
            "flags": flags, "faults": faults}


JOB = None  # args, catalogue, runtime: what a worker has from its parent


def work(seed):
    try:
        return try_spec(seed, *JOB)
    except Exception:  # of the oracle itself
        return {"seed": seed, "lines": [f"seed {seed}: the oracle failed", traceback.format_exc()], "drawn": [], "runs": 0,
                "good": False, "found": None, "faults": []}


def wanted(catalogue):
    """All that --gate wants to be drawn."""
    found = []
    for line, row, place in rows.draws_of(catalogue):
        own = f"layer {line.name}" if place == "layer" else f"{place}.{line.name}"
        found.append(own)
        found += [f"backward {own}"] if rows.has_gradients([own]) else []
        found += [f"{line.name}.{argument['name']}" for argument in row["arguments"]
                  if f"{line.name}.{argument['name']}" not in rows.NOT_DRAWN and argument["name"] != "..."
                  and rows.is_here((line.since or {}).get(argument["name"]) if isinstance(line.since, dict) else None)]
    for op in catalogue["ops"].values():
        found += [f"op {op['name']}"] if op["name"] not in NO_STEPS else []
        found += [f"algorithm {name}" for name in op["algorithms"]]
    found += [f"dtype {name}" for name in (*rows.INTEGERS, "bool", "float32", "float64")] + [f"rank {n}" for n in range(6)]
    return list(dict.fromkeys(found))


def print_counts(counts, catalogue, all_arguments):
    """How often things were drawn, by kind; returns what was drawn too seldom."""
    every = wanted(catalogue)
    kinds = [("ops", "op "), ("algorithms", "algorithm "), ("layers", "layer "), ("torch", "torch."),
             ("torch.nn.functional", "functional."), ("methods", "method."), ("dtypes", "dtype "), ("ranks", "rank "),
             ("runs", "run "), ("models", "model "), ("with gradients", "backward ")]
    print("drawn:")
    shown = set()
    for title, prefix in kinds:
        names = [name for name in dict.fromkeys([*every, *sorted(counts)]) if name.startswith(prefix)]
        shown |= set(names)
        print(f"  {title}: " + ", ".join(f"{name[len(prefix):]} {counts[name]}" for name in names))
    arguments = [name for name in every if name not in shown]
    if all_arguments:
        print("  arguments: " + ", ".join(f"{name} {counts[name]}" for name in arguments))
    else:
        print(f"  arguments: {sum(counts[name] > 0 for name in arguments)} of {len(arguments)} (--gate lists them)")
    return [f"{name} {counts[name]}" for name in every if counts[name] < ENOUGH]


def command(text):
    found = modc_run.command_of(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no {text}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first spec; the others follow")
    parser.add_argument("--kind", choices=["decoder"], help="of all specs: models of rows (default: kinds take turns)")
    parser.add_argument("--keep", help="folder for specs that fail (default: a new one in the temporary folder)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=120, help="of each process, in seconds")
    parser.add_argument("--gate", action="store_true", help=f"fail if something was drawn less than {ENOUGH} times")
    parser.add_argument("--first", action="store_true", help="stop at the first spec that fails, as it is")
    parser.add_argument("--unlike", type=command, metavar="MODC", help="try only specs of which this one makes other code")
    parser.add_argument("--drawn", type=pathlib.Path, help="folder where drawn specs stay, and are found by another run")
    parser.add_argument("--flags", help="of the compiler, or cuda, or 'cuda checked' (default: by seed)")
    parser.add_argument("--shrink", type=int, default=3, help="how many failing specs are made smaller")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # what is deprecated is drawn too
    args.modc_text, args.modc = args.modc, modc_run.command_of(args.modc)
    if args.modc is None:
        print(f"there is no {args.modc_text}", file=sys.stderr)
        return 2
    start = time.monotonic()
    args.drawn = args.drawn and args.drawn.absolute()
    args.keep = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="modc-live-")).absolute()
    catalogue = rows.catalogue_of(args.unlike or args.modc)
    last = args.seed + args.count - 1
    print(f"torch {torch.__version__}, seeds {args.seed} to {last}, {args.modc_text}", flush=True)
    global JOB
    failed, runs, counts, tried = [], 0, collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="modc-runtime-") as runtime:
        program.build_runtime(runtime)
        JOB = args, catalogue, runtime
        with multiprocessing.get_context("fork").Pool(max(1, args.jobs)) as pool:
            for result in pool.imap(work, range(args.seed, last + 1)):
                tried += 1
                print("\n".join(result["lines"]), flush=True)
                runs += result["runs"]
                counts.update(result["drawn"])
                if not result["good"]:
                    failed.append(result)
                    if args.first:
                        pool.terminate()
                        break
        for result in [] if args.first else [r for r in failed if r["found"] and r["found"]["kind"] != "decoder"][:args.shrink]:
            print(f"seed {result['seed']}, made smaller:", flush=True)
            print("\n".join("   " + line for line in shrink.shrink(
                args.modc, args.keep / f"seed-{result['seed']}", result["found"], result["faults"], runtime,
                result["flags"], args.timeout)), flush=True)
    seldom = print_counts(counts, catalogue, args.gate) if args.gate or args.count >= ENOUGH else []
    print(f"torch {torch.__version__}: {tried} specs, {runs} runs, {len(failed)} specs failed"
          + (f", kept in {args.keep}" if failed else "") + f", {time.monotonic() - start:.0f} s")
    if args.gate and seldom:
        print(f"drawn less than {ENOUGH} times: {', '.join(seldom)}")
    if not any(args.keep.iterdir()):
        args.keep.rmdir()
    return 1 if failed or (args.gate and seldom) else 0


if __name__ == "__main__":
    sys.exit(main())
