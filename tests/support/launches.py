"""What `modc summary --target sm_90` says that kernels share is what ptxas makes of them.

    python3 tests/support/launches.py MODC NVCC SPEC...     77 (skipped): there is no nvcc

What is wrong would be seen: a kernel that shares more is planted.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import ptxas

ARCHITECTURE = "sm_90"


def said(modc, spec):
    """How many kernels share how much, by bytes."""
    text = subprocess.run([modc, "summary", spec, "--device", "cuda", "--target", ARCHITECTURE], check=True, capture_output=True,
                          text=True).stdout
    found = collections.Counter()
    for more, shared in re.findall(r"^\w+(?: and (\d+) more)? +[\d,]+ +([\d,]+|-) +[\d,]+ +[\d,]+$", text.split("\na block of")[1], re.M):
        found[int(shared.replace(",", "").replace("-", "0"))] += 1 + int(more or 0)
    return found


def made(nvcc, path):
    """The same as ptxas has it."""
    run = subprocess.run([nvcc, "-std=c++17", f"-arch={ARCHITECTURE}", "-O1", "-Xptxas", "-v,-O0", "-Iruntime", "-cubin", path, "-o",
                          path + ".cubin"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return collections.Counter(kernel["shared"] for kernel in ptxas.kernels(run.stdout + run.stderr).values())


def main(modc, nvcc, *specs):
    if not shutil.which(nvcc):
        print(f"{nvcc} is not there: nothing is said of machine code")
        return 77
    failed = False
    for spec in specs:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([modc, "generate", spec, "--device", "cuda", "-o", folder], check=True)
            path = next(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".cu"))
            summary, machine = said(modc, spec), made(nvcc, path)
        print(f"{spec}: {dict(machine)}")
        planted = machine + collections.Counter([64])
        if summary != machine or summary == planted or not any(machine.keys()):
            print(f"{spec}: summary says {dict(summary)}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
