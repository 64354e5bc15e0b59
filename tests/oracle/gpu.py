"""Whether there is what tests of the label gpu need: nvcc, as modc finds it, and a GPU that a program of it runs on.

    python3 tests/oracle/gpu.py --modc build/modc -- COMMAND...     runs a command where there is; else 77 (skipped)
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import modc_run

SPEC = "modc: 1\nmodel: probe\ninputs: {x: [2]}\nforward:\n  - return x + 1\n"


def is_missing(modc):
    """Says what is missing, once for a process. What is wrong with modc itself is not missing: tests will tell."""
    with tempfile.TemporaryDirectory() as folder:
        spec = pathlib.Path(folder, "probe.yaml")
        spec.write_text(SPEC)
        done = subprocess.run([*modc, "run", str(spec), "--device", "cuda"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode == 7 or (done.returncode == 5 and "of models on cuda is missing" in said):
        print(f"skipped: {said.strip().splitlines()[0]}")
        return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    modc = modc_run.command_of(args.modc)
    if modc is None:
        print(f"there is no {args.modc}", file=sys.stderr)
        return 2
    return 77 if is_missing(modc) else subprocess.run(args.command).returncode


if __name__ == "__main__":
    sys.exit(main())
