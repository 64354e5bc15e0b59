"""Does the oracle find faults? Plants each of tests/oracle/faults/*.patch in a copy of the sources, builds modc and lets
live.py draw specs until one fails. Only those are compiled that the fault changes, if it is one of the generator.

    python3 tests/oracle/faults.py [NAME...] [--count 5000]    # names of patches; default: all, which takes an hour
    python3 tests/oracle/faults.py --check                     # only whether every patch still applies

The first line of a patch says what it breaks. A patch that does not apply, that does not compile without warnings, or
that makes emitted code which does not, is an error; so is a fault that is not found in so many specs.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = pathlib.Path(__file__).resolve().parent / "faults"
FLAGS = "-O1 -march=native"  # faults of modc's own need neither sanitizers nor every kind of vectors


def apply(patch, folder, *options):
    """What git says where the patch does not apply."""
    done = subprocess.run(["git", "apply", "-C1", *options, str(patch)], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)})
    return done.stderr.strip() if done.returncode != 0 else None


def copy_sources(folder):
    """Without what was built, and what is not needed here."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns("build", ".git", "vectors", "golden", "__pycache__"))


def configure(folder):
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DMODC_TESTS=OFF", "-DMODC_INSTALL=OFF"]
    if shutil.which("ccache"):
        options.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build", *options], check=True, stdout=subprocess.DEVNULL)


def build(folder, jobs):
    done = subprocess.run(["cmake", "--build", folder / "build", "--target", "modc", "--parallel", str(jobs)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode != 0 else None


def draw(folder, seed, count, jobs, *options):
    """(the first seed that fails, or None; how it fails)"""
    done = subprocess.run([sys.executable, "tests/oracle/live.py", "--modc", "build/modc", "--first", "--seed", str(seed),
                           "--count", str(count), "--jobs", str(jobs), "--flags", FLAGS, "--keep", str(folder / "found"), *options],
                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    shutil.rmtree(folder / "found", ignore_errors=True)
    failed = re.search(r"^seed (\d+): .*FAILED\n(.*)", done.stdout, re.MULTILINE)
    if failed:
        return int(failed.group(1)), failed.group(2).strip()
    if not re.search(r": \d+ specs, \d+ runs, 0 specs failed", done.stdout):
        raise RuntimeError(done.stdout[-2000:])
    return None, None


def find(planted, clean, count, jobs, options):
    """(how many specs it took, how it failed), or None. What fails without the fault too does not count."""
    seed = 0
    while seed < count:
        found, how = draw(planted, seed, count - seed, jobs, *options)
        if found is None:
            return None
        if draw(clean, found, 1, 1)[0] is None:
            return found + 1, how
        print(f"seed {found} fails without a fault", flush=True)
        seed = found + 1
    return None


def try_patch(patch, planted, clean, args):
    """(good, a line about it)"""
    text = patch.read_text()
    what, fault = text.split("\n", 1)[0], apply(patch, planted)
    if fault:
        return False, f"{patch.stem}: does not apply any more: {fault}"
    try:
        fault = build(planted, args.jobs)
        if fault:
            return False, f"{patch.stem}: does not compile: {fault[-1500:]}"
        found = find(planted, clean, args.count, args.jobs, [] if "+++ b/runtime/" in text else
                     ["--unlike", clean / "build/modc", "--drawn", clean / "drawn"])
    finally:
        apply(patch, planted, "-R")
    if found is None:
        return False, f"{patch.stem}: NOT FOUND in {args.count} specs: {what}"
    if "the C compiler" in found[1]:
        return False, f"{patch.stem}: emitted code does not compile without warnings"
    return True, f"{patch.stem}: found after {found[0]} specs: {what}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    patches = [patch for patch in sorted(FAULTS.glob("*.patch")) if not args.names or patch.stem in args.names]
    if args.check:
        faults = [f"{patch.stem}: {fault}" for patch in patches if (fault := apply(patch, ROOT, "--check"))]
        print("\n".join(faults) or f"{len(patches)} patches apply")
        return 1 if faults else 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="modc-faults-") as text:
        clean, planted = pathlib.Path(text, "clean"), pathlib.Path(text, "planted")
        for folder in (clean, planted):
            copy_sources(folder)
            configure(folder)
        if build(clean, args.jobs):
            print("modc does not compile", file=sys.stderr)
            return 1
        for patch in patches:
            good, line = try_patch(patch, planted, clean, args)
            failed += not good
            print(line, flush=True)
    print(f"{len(patches)} faults, {len(patches) - failed} found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
