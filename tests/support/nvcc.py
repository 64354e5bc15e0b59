"""Compiles .cu files as users would, with nvcc, without a warning, and looks at what ptxas says of each kernel: nothing is spilled, and
no stack is used.

    python3 tests/support/nvcc.py NVCC ARCHITECTURE[,...] FILE.cu...    from the root of the repository; 77 (skipped): there is no nvcc
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def main(nvcc, architectures, *files):
    if not shutil.which(nvcc):
        print(f"{nvcc} is not there: nothing is said of machine code")
        return 77
    faults, kernels = [], 0
    for file in files:
        for architecture in architectures.split(","):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [nvcc, "-std=c++17", f"-arch={architecture}", "-O2", "-Werror", "all-warnings", "-Xptxas", "-v",
                     "-Iruntime", f"-I{pathlib.Path(file).parent}", "-cubin", file, "-o", f"{folder}/out.cubin"],
                    capture_output=True, text=True)
            if done.returncode != 0:
                faults.append(f"{file} for {architecture}: {done.stdout}{done.stderr}")
                continue
            name = ""
            for line in done.stderr.splitlines():
                entry = re.search(r"Compiling entry function '(\w+)'", line)
                name = entry.group(1) if entry else name
                kernels += entry is not None
                memory = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
                if memory and any(int(count) for count in memory.groups()):
                    faults.append(f"{file} for {architecture}: {name}: {line.strip()}")
    print("\n".join(faults + [f"{kernels} kernels, {len(faults)} faults"]))
    return 1 if faults or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
