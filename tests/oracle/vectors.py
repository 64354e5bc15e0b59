"""Runs the cases of tests/vectors/cases.txt through `modc run`. Needs nothing but Python: no torch, no numpy.

    python3 tests/oracle/vectors.py --modc build/modc [NAME...]     # names may have * and ?
    python3 tests/oracle/vectors.py --modc build/modc --keep /tmp/programs      # compiles what changed
    python3 tests/oracle/vectors.py --modc build/modc --emulate plain --part 3/8 --every 4    # on cuda, some of the specs
    python3 tests/oracle/vectors.py --modc build/modc --gpu --every 4 --keep /tmp/programs    # the same by nvcc, on a GPU

On cuda all cases are the same, but those that force an algorithm of a processor; what is not computed there yet is listed in
tests/vectors/cuda_refused.txt, has to be refused, and no other case may be. --emulate check: kernels are looked at while they run, in one
case of each spec. There, and on a GPU, those of weights in integers are among them always. --gpu: 77 (skipped) where nvcc or a GPU is missing.
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import subprocess
import sys
import time

import archives
import gpu
import modc_run

ROOT = archives.ROOT


def program(spec, options):
    """A name for the program of a case: by what changes the emitted text, not by what it is run on."""
    parts = [spec, *(os.environ.get(name, "") for name in ("CC", "CFLAGS", "NVCC", "NVCCFLAGS"))]
    for option, value in zip(options, options[1:]):
        parts += [option, value] if option in ("--set", "--dtype", "--plan", "--device", "--target") else []
    parts += [option for option in ("--backward", "--dispatch") if option in options]
    parts += [option for option in options if option.startswith("--emulate")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def reaches(modc, spec, options):
    """None, or which algorithm of --plan no step of the model has."""
    settings = []
    for option, value in zip(options, options[1:]):
        settings += [option, value] if option in ("--set", "--dtype", "--plan", "--device") else []
    done = subprocess.run([*modc, "check", spec, *settings, "--dump=plan.json"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        return f"modc check {spec} {' '.join(settings)}: {done.stderr}"
    steps = [step for variant in json.loads(done.stdout)["variants"] for step in variant["steps"]]
    for option, value in zip(settings, settings[1:]):
        op, _, algorithm = value.partition("=")
        if option == "--plan" and not any(
                step.get("slices") == int(algorithm) if op == "split" else step["op"] == op and step["algorithm"] == algorithm
                for step in steps):
            return f"{option} {value} reaches no step of {spec}"
    return None


REFUSED = ROOT / "tests" / "vectors" / "cuda_refused.txt"
# Kernels that no other spec has, of which costs choose some for many rows alone: (spec, --plan).
INTEGERS = [(spec, plan) for spec, tiles in (("tests/specs/storage_int8.yaml", "narrow_tiles"), ("tests/specs/dynamic.yaml", "int8_tiles"))
            for plan in ("", f"contract={tiles}")]


def refused_cases():
    """{name: words of the message}"""
    lines = [line.split(": ", 1) for line in REFUSED.read_text().splitlines() if line and not line.startswith("#")]
    return dict(lines)


def settings(options):
    """Of the options of a case those that say what is generated on cuda."""
    found = [word for pair in zip(options, options[1:]) for word in pair if pair[0] in ("--set", "--dtype")]
    return found + (["--backward"] if "--backward" in options else [])


def is_refused(modc, spec, options, words):
    """None, or that the spec is not refused on cuda with these words."""
    done = subprocess.run([*modc, "check", spec, "--device", "cuda", *settings(options)], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0 and words in done.stderr:
        return None
    return f"it is in {REFUSED.name}, and is not refused with '{words}': {done.stderr or 'nothing is'}"


def on_cuda(lines, emulate, part, every):
    """Those of the cases that run there: of a part of the specs (\"3/8\": the fourth eighth), of those every so many."""
    by_spec = {}
    for line in lines:
        if " --plan " not in line:
            by_spec.setdefault(line.split()[1], []).append(line)
    index, count = (int(number) for number in part.split("/"))
    chosen = list(by_spec.values())[every // 2::every]
    for spec, plan in INTEGERS if emulate != "plain" else ():
        for line in by_spec.get(spec, [])[:1]:
            name, rest = line.split(" ", 1)
            if plan:
                chosen.append([f"{name}_{plan.partition('=')[2]} {rest} --plan {plan}"])
            elif by_spec[spec] not in chosen:
                chosen.append([line])
    chosen = chosen[index::count]
    return [line for spec in chosen for line in (spec[:1] if emulate == "check" else spec)]


def run(modc, line, timeout, keep, dispatch, cuda, refused):
    """(name, None or what went wrong). cuda: the options of that device, or none."""
    name, spec, *options = line.split()
    if name in refused:
        return name, is_refused(modc, spec, options, refused[name])
    options += ["--dispatch", dispatch] if dispatch else []
    options += cuda
    fault = reaches(modc, spec, options) if "--plan" in options else None
    if fault:
        return name, fault
    if keep:
        options += ["--keep", os.path.join(os.path.abspath(keep), program(spec, options))]
    state = archives.UNPACKED / name / "state.safetensors"
    return name, modc_run.check(modc, spec, options, state if state.exists() else None, timeout, ROOT)


def groups(lines, jobs):
    """Cases of one spec behind each other, since they may share a program; each alone where nobody is beside."""
    by_spec = {}
    for line in lines:
        by_spec.setdefault(line.split()[1] if jobs > 1 else line, []).append(line)
    return list(by_spec.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for the compiled programs; cases that share one compile it once")
    parser.add_argument("--dispatch", help="the instruction set to run on, of those of modc run --dispatch")
    parser.add_argument("--emulate", choices=["plain", "check"], help="on cuda, emulated")
    parser.add_argument("--gpu", action="store_true", help="on cuda, on a GPU")
    parser.add_argument("--part", default="0/1", help="with --emulate and --gpu")
    parser.add_argument("--every", type=int, default=1, help="with --emulate and --gpu")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no case starts later")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    modc = modc_run.command_of(args.modc)
    if not archives.UNPACKED.is_dir():
        archives.unpack()
    lines = list(archives.table().values())
    if args.names:
        lines = [line for line in lines if any(fnmatch.fnmatchcase(line.split()[0], name) for name in args.names)]
    cuda = ["--device", "cuda"] if args.emulate or args.gpu else []
    cuda += [f"--emulate={args.emulate}"] if args.emulate else []
    if cuda:
        lines = on_cuda(lines, args.emulate, args.part, args.every)
    if modc is None or not lines:
        print("no such case" if modc else f"there is no {args.modc}", file=sys.stderr)
        return 2
    if args.gpu and gpu.is_missing(modc):
        return 77
    failed = done = 0
    refused, end = refused_cases() if cuda else {}, time.monotonic() + args.seconds

    def run_group(group):
        return [run(modc, line, args.timeout, args.keep, args.dispatch, cuda, refused) for line in group if time.monotonic() < end]

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for results in pool.map(run_group, groups(lines, args.jobs if args.keep else 1)):
            for name, fault in results:
                print(f"{name}: {fault or 'ok'}", flush=True)
                failed += fault is not None
                done += 1
    print(f"{done} cases, {failed} failed" + (f"; no time for {len(lines) - done} more" if done < len(lines) else ""))
    return 1 if failed or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
