"""Compiles .cu files as users would, with nvcc, without a warning, and looks at what ptxas says of each kernel: nothing is spilled, and
no stack is used.

    python3 tests/support/nvcc.py NVCC ARCHITECTURE[,...] FILE.cu...    from the root of the repository; 77 (skipped): there is no nvcc
    python3 tests/support/nvcc.py NVCC ARCHITECTURE[,...] --modc build/modc [--part 3/8] [--every 4]

With --modc: what it generates for cuda of every so many specs of tests/vectors/cases.txt, one part of these, with the constants, dtypes and
gradients that their cases have. Which of them have a stack, since a function of CUDA's has one, tests/vectors/cuda_stacks.txt says.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import ptxas

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "oracle"))
import archives  # noqa: E402
import modc_run  # noqa: E402
import vectors  # noqa: E402

STACKS = archives.ARCHIVES / "cuda_stacks.txt"
# Its array is indexed by what nobody knows before.
PLANTED = "extern \"C\" __global__ void planted(int *y)\n{\n    int a[8];\n\n    for (int i = 0; i < 8; i++)\n        a[y[i] & 7] = y[i + 8];\n" \
          "    y[0] = a[y[1] & 7];\n}\n"


def stacks():
    """{spec: {function of CUDA's library: bytes}}"""
    found = {}
    for line in STACKS.read_text().splitlines():
        if line and not line.startswith("#"):
            spec, function, count = line.split()
            found.setdefault(spec, {})[function] = int(count)
    return found


def reached(ptx):
    """{function or kernel: all that it calls, and what these call}, by the names of the text"""
    calls, name = {}, ""
    for match in re.finditer(r"^(?:\.\w+ )*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)|\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?(\w+),", ptx,
                             re.MULTILINE):
        name = match[1] or name
        calls.setdefault(name, set()).update({match[2]} if match[2] else ())
    grown = True
    while grown:
        grown = False
        for callees in calls.values():
            more = callees.union(*(calls.get(callee, ()) for callee in callees))
            grown |= len(more) > len(callees)
            callees |= more
    return calls


def compiled(nvcc, architecture, file):
    """(None or what the compiler says against the file, {kernel: as ptxas.kernels has it, and what it `calls`})"""
    file = pathlib.Path(file)
    flags = ["-ftz=true"] if "#define MODC_FLUSHES" in file.read_text() else []
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([nvcc, "-std=c++17", f"-arch={architecture}", "-O2", *flags, "-Werror", "all-warnings", "-Xptxas", "-v",
                               "-keep", "-keep-dir", folder, "-Iruntime", f"-I{file.parent}", "-cubin", str(file), "-o",
                               f"{folder}/out.cubin"], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stdout + done.stderr, {}
        ptx = pathlib.Path(folder, f"{file.stem}.ptx").read_text()
    found = ptxas.kernels(done.stdout + done.stderr)
    calls = {ptxas.plain(name): callees for name, callees in reached(ptx).items()}
    return None, {name: {**kernel, "calls": calls.get(name, set())} for name, kernel in found.items()}


def faults(kernels, allowed, seen):
    """What is wrong with them, a line each. Adds to `seen` which functions are the reason of a stack that is allowed."""
    for name, kernel in kernels.items():
        reasons = [function for function in allowed if function in kernel["calls"] and kernel["stack"] <= allowed[function]]
        if kernel["spills"] or (kernel["stack"] and not reasons):
            yield f"{name}: {kernel['stack']} bytes of stack, {kernel['spills']} of registers that are spilled"
        elif kernel["stack"]:
            seen.update(reasons)


class Look:
    """At files, for some architectures."""

    def __init__(self, nvcc, architectures):
        self.nvcc, self.architectures = nvcc, architectures
        self.files = self.kernels = self.registers = 0
        self.wrong = []

    def at(self, label, file, allowed, seen):
        for architecture in self.architectures:
            refused, kernels = compiled(self.nvcc, architecture, file)
            lines = [refused] if refused else faults(kernels, allowed, seen)
            self.wrong += [f"{label} for {architecture}: {line}" for line in lines]
            self.kernels += sum(kernel["registers"] > 0 for kernel in kernels.values())
            self.registers = max([self.registers, *(kernel["registers"] for kernel in kernels.values())])
        self.files += 1

    def at_planted(self):
        """A stack has to be seen."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "planted.cu")
            file.write_text(PLANTED)
            refused, kernels = compiled(self.nvcc, self.architectures[0], file)
        if refused or not list(faults(kernels, {}, set())):
            self.wrong.append(refused or "a stack goes unseen")

    def at_spec(self, modc, lines, allowed):
        """The models of its cases, each once."""
        spec, seen, known = lines[0].split()[1], set(), set()
        for settings in (vectors.settings(line.split()) for line in lines):
            if tuple(settings) in known:
                continue
            known.add(tuple(settings))
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([*modc, "generate", spec, "--device", "cuda", *settings, "-o", folder], capture_output=True,
                                      text=True)
                if done.returncode != 0:
                    self.wrong.append(f"{spec} {' '.join(settings)}: {done.stderr}")
                for file in sorted(pathlib.Path(folder).glob("*.cu")):
                    self.at(" ".join([spec, *settings, file.name]), file, allowed, seen)
        self.wrong += [f"{spec}: no kernel has a stack for {function}, but {STACKS.name} says so" for function in allowed.keys() - seen]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nvcc")
    parser.add_argument("architectures")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--modc")
    parser.add_argument("--part", default="0/1", help="with --modc")
    parser.add_argument("--every", type=int, default=1, help="with --modc")
    args = parser.parse_args()
    if not shutil.which(args.nvcc):
        print(f"{args.nvcc} is not there: nothing is said of machine code")
        return 77
    look = Look(args.nvcc, args.architectures.split(","))
    look.at_planted()
    for file in args.files:
        look.at(file, file, {}, set())
    if args.modc:
        refused, allowed, by_spec = vectors.refused_cases(), stacks(), {}
        for line in vectors.on_cuda(list(archives.table().values()), "plain", args.part, args.every):
            if line.split()[0] not in refused:
                by_spec.setdefault(line.split()[1], []).append(line)
        for spec, lines in by_spec.items():
            look.at_spec(modc_run.command_of(args.modc), lines, allowed.get(spec, {}))
    print("\n".join([*look.wrong, f"{look.files} files, {look.kernels} kernels of at most {look.registers} registers, "
                                  f"{len(look.wrong)} faults"]))
    return 1 if look.wrong or look.kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
