"""Runs the cases of tests/vectors/cases.txt through `modc run`. Needs nothing but Python: no torch, no numpy.

    python3 tests/oracle/vectors.py --modc build/modc [NAME...]     # names may have * and ?
"""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import compare
import safetensors_io

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests" / "vectors"


def run(modc, line, timeout):
    """(name, None or what went wrong, with the command to repeat it)"""
    name, spec, *options = line.split()
    command = [*modc, "run", spec, *options]
    repeat = f"\n  repeat: cd {ROOT} && {shlex.join(command)}"
    after = VECTORS / name / "state.safetensors"
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder, "state.safetensors")
        if after.exists():
            command += ["--state", str(state)]
        try:
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=timeout)
        except subprocess.TimeoutExpired:
            return name, f"no end after {timeout} s{repeat}"
        if done.returncode != 0:
            text = "\n    ".join(done.stdout.strip().splitlines()[-30:])
            return name, f"exit status {done.returncode}\n    {text}{repeat}"
        if after.exists():
            if not state.exists():
                return name, f"--state wrote nothing{repeat}"
            lines, good = compare.compare(safetensors_io.read(after)[0], safetensors_io.read(state)[0])
            if not good:
                text = "\n    ".join(lines)
                return name, f"the state_dict after the call differs\n    {text}{repeat} --state /tmp/state.safetensors"
    return name, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    modc = shlex.split(args.modc)
    if os.path.exists(modc[0]):
        modc[0] = os.path.abspath(modc[0])
    lines = [line for line in (VECTORS / "cases.txt").read_text().splitlines() if line and not line.startswith("#")]
    if args.names:
        lines = [line for line in lines if any(fnmatch.fnmatchcase(line.split()[0], name) for name in args.names)]
    if not lines:
        print("no such case", file=sys.stderr)
        return 2
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, fault in pool.map(lambda line: run(modc, line, args.timeout), lines):
            print(f"{name}: {fault or 'ok'}", flush=True)
            failed += fault is not None
    print(f"{len(lines)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
