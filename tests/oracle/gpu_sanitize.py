"""Programs of models under compute-sanitizer, on a GPU: one case of every so many specs of tests/vectors/cases.txt.

    python3 tests/oracle/gpu_sanitize.py --modc build/modc --keep /tmp/programs --tool memcheck --every 20

A fault for the tool is planted first (tests/cuda/planted.cu), and must be found. 77 (skipped) where nvcc, a GPU or compute-sanitizer is
missing.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

import archives
import gpu
import modc_run
import vectors

FOUND = 9
GENERATOR = {"--set": 1, "--dtype": 1, "--plan": 1}  # what the program does not take, and how many words it has


def nvcc():
    """As modc finds it."""
    words = shlex.split(os.environ.get("NVCC", ""))
    return words or [shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"]


def find_sanitizer(given):
    if given:
        return shutil.which(given)
    beside = pathlib.Path(os.path.realpath(shutil.which(nvcc()[-1]) or "")).parent / "compute-sanitizer"
    return shutil.which("compute-sanitizer") or shutil.which(beside)


def faults(command, timeout):
    """None, or what the tool or the program says."""
    try:
        done = subprocess.run(command, cwd=archives.ROOT, capture_output=True, text=True, errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"no end after {timeout} s\n{shlex.join(map(str, command))}"
    said = done.stdout + done.stderr
    summaries = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
    if done.returncode == 0 and summaries and all(re.match(r"0 (errors|hazards displayed \(0 errors, 0 warnings\))", line) for line in summaries):
        return None
    return "\n".join([f"exit status {done.returncode}", *said.strip().splitlines()[-30:], f"repeat: {shlex.join(map(str, command))}"])


def planted(sanitize, tool, folder):
    """None, or how the tool is blind."""
    program = folder / f"planted_{tool}"
    build = [*nvcc(), *shlex.split(os.environ.get("NVCCFLAGS", "-arch=native")), "-std=c++17", "-Iruntime", "-o", str(program),
             "tests/cuda/planted.cu"]
    done = subprocess.run(build, cwd=archives.ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        return f"{shlex.join(build)}: {done.stdout}{done.stderr}"
    fine = faults([*sanitize, program, "none"], 120)
    if fine:
        return f"where nothing is wrong: {fine}"
    said = faults([*sanitize, program, tool], 120)
    if not said or "SUMMARY" not in said:
        return f"it does not see a fault that is planted: {said or 'nothing is said'}"
    return None


def of_program(options):
    """Those that the driver takes."""
    words, at = [], 0
    while at < len(options):
        if options[at] in GENERATOR:
            at += 1 + GENERATOR[options[at]]
            continue
        words.append(options[at])
        at += 1
    return words


def run(modc, line, sanitize, keep, timeout):
    """(name, None or what is wrong)"""
    name, spec, *options = line.split()
    folder = pathlib.Path(keep).absolute() / vectors.program(spec, [*options, "--device", "cuda"])
    fault = modc_run.check(modc, spec, [*options, "--device", "cuda", "--keep", str(folder)], timeout=timeout, folder=archives.ROOT)
    if fault:
        return name, fault
    program = next(folder.glob("*.stamp")).with_suffix("")
    return name, faults([*sanitize, program, *of_program(options)], timeout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc")
    parser.add_argument("--tool", required=True, choices=["memcheck", "racecheck", "initcheck", "synccheck"])
    parser.add_argument("--sanitizer", help="where compute-sanitizer is; else in PATH, or beside nvcc")
    parser.add_argument("--keep", required=True, help="folder of the compiled programs; that of vectors.py --gpu will do")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no program starts later")
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    modc, sanitizer = modc_run.command_of(args.modc), find_sanitizer(args.sanitizer)
    if modc is None:
        print(f"there is no {args.modc}", file=sys.stderr)
        return 2
    if gpu.is_missing(modc):
        return 77
    if not sanitizer:
        print("skipped: compute-sanitizer is missing, which is of CUDA's toolkit")
        return 77
    sanitize = [sanitizer, "--tool", args.tool, "--error-exitcode", str(FOUND)]
    folder, end = pathlib.Path(args.keep).absolute(), time.monotonic() + args.seconds
    folder.mkdir(parents=True, exist_ok=True)
    blind = planted(sanitize, args.tool, folder)
    print(f"planted: {blind or 'found'}", flush=True)
    if blind:
        return 1
    if not archives.UNPACKED.is_dir():
        archives.unpack()
    refused = vectors.refused_cases()
    lines = [line for line in vectors.on_cuda(list(archives.table().values()), "check", "0/1", args.every)
             if line.split()[0] not in refused]
    failed = done = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for result in pool.map(lambda line: run(modc, line, sanitize, folder, args.timeout) if time.monotonic() < end else None, lines):
            if result:
                print(f"{result[0]}: {result[1] or 'ok'}", flush=True)
                failed += result[1] is not None
                done += 1
    print(f"{args.tool}: {done} programs, {failed} failed" + (f"; no time for {len(lines) - done} more" if done < len(lines) else ""))
    return 1 if failed or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
