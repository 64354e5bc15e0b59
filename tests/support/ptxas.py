"""Compiles a .cu file with nvcc, without a warning, and holds what ptxas says of each kernel to a plan.

    python3 tests/support/ptxas.py NVCC FILE.cu PLAN.json ARCHITECTURE[,...] [FLAG...]    77 (skipped): there is no nvcc

What is wrong would be seen: each number is also tried one too high.

PLAN.json has for each kernel its bytes of shared memory and how many registers it may have, as `__launch_bounds__` and the blocks
that are to fit onto a multiprocessor allow. No kernel may spill registers or have a stack.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def plain(mangled):
    """The kernel's own name: kernels are static, so nvcc puts words in front of it."""
    for length, start in ((int(found[1]), found.end()) for found in re.finditer(r"(?<!\d)(\d+)", mangled)):
        name = mangled[start:start + length]
        if re.fullmatch(r"[A-Za-z]\w*", name) and len(name) == length and not name.startswith(("_GLOBAL_", "INTERNAL")):
            return name
    return mangled


def kernels(said):
    """{name: {shared, registers, stack, spills}} of what `-Xptxas -v` prints; of functions that kernels call, no registers."""
    found, name = {}, None
    for line in said.splitlines():
        if match := re.search(r"(?:Compiling entry function '|Function properties for )(\w+)", line):
            name = plain(match[1])
            found.setdefault(name, {"shared": 0, "registers": 0, "stack": 0, "spills": 0})
        elif name and (match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            found[name]["stack"] = int(match[1])
            found[name]["spills"] = int(match[2]) + int(match[3])
        elif name and (match := re.search(r"Used (\d+) registers", line)):
            found[name]["registers"] = int(match[1])
            shared = re.search(r"(\d+) bytes smem", line)
            found[name]["shared"] = int(shared[1]) if shared else 0
            name = None
    return found


def check(found, plan):
    """What is not as planned, a line each."""
    for name in sorted(found.keys() - plan.keys()):
        yield f"{name}: not in the plan"
    for name, planned in plan.items():
        has = found.get(name)
        if not has:
            yield f"{name}: not in the file"
            continue
        if has["stack"] or has["spills"]:
            yield f"{name}: {has['stack']} bytes of stack, {has['spills']} of registers that are spilled"
        if has["shared"] != planned["shared"]:
            yield f"{name}: {has['shared']} bytes of shared memory, the plan has {planned['shared']}"
        if not 0 < has["registers"] <= planned["registers"]:
            yield f"{name}: {has['registers']} registers, at most {planned['registers']} are planned"


def blind(found, plan):
    """Which numbers of the first kernel could be wrong without a line of check()."""
    name = next(iter(plan))
    for key in ("stack", "spills", "shared", "registers"):
        wrong = {**found.get(name, {}), key: 1 + max(plan[name].get(key, 0), found.get(name, {}).get(key, 0))}
        if not list(check({**found, name: wrong}, plan)):
            yield f"{name}: one more of {key} goes unseen"


def main(nvcc, path, plan_path, architectures, *flags):
    if not shutil.which(nvcc):
        print(f"{nvcc} is not there: nothing is said of machine code")
        return 77
    with open(plan_path) as file:
        plan = json.load(file)
    failed = False
    for architecture in architectures.split(","):
        with tempfile.TemporaryDirectory() as folder:
            command = [nvcc, "-std=c++17", f"-arch={architecture}", "-O3", "-Werror", "all-warnings", "-Xptxas", "-v", *flags,
                       "-cubin", path, "-o", os.path.join(folder, "out.cubin")]
            run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            print(run.stdout + run.stderr)
            return 1
        found = kernels(run.stdout + run.stderr)
        for line in [*check(found, plan), *blind(found, plan)]:
            print(f"{architecture}: {line}")
            failed = True
        print(f"{architecture}: {len(found)} kernels, at most {max(k['registers'] for k in found.values())} registers")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
