"""Specs that people nearly wrote: small changes of specs that are right. What modc accepts has to compile without a warning.

    python3 tests/support/mutate.py MODC WORK [--compilers gcc,clang] [--cxx g++] [--count 60] [--seed 0] [--run EVERY]

From the root of the repository. Each mutant is a spec of tests/specs, tests/growth,
tests/layers or specs with one to three changes: another number, two lines swapped, a line gone or twice, another class or
function in a call's place, arguments swapped or gone, another operator, a name of the spec that becomes a word of C, of its
headers or of the model, a key of the spec more or less; and it is generated with options drawn at random.

modc ends with status 0, or with 1 and a message that has a place; within some seconds, without a sanitizer's word. What it
wrote is read by each compiler, as C99 or gnu17, and the header as C++. With --run each EVERYth that is accepted runs once
under the sanitizers, with numbers from its seed. What is found stays in WORK/found, a folder each, with how to see it again.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The last are drawn seldom: a change of one of their many lines is seldom accepted, and they take long to compile.
FOLDERS = (("tests/specs", "tests/growth", "specs/cartpole", "specs/digits"),) * 3 + (("tests/layers",),)
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]

NUMBERS = ["0", "1", "2", "3", "4", "5", "7", "8", "15", "16", "17", "31", "33", "64", "100", "255", "1024", "-1", "-2", "0.5",
           "1e-3", "1e30", "inf", "None", "True", "2147483647", "(1, 2)", "(3,)"]
OPERATORS = [" + ", " - ", " * ", " / ", " // ", " % ", " ** ", " @ ", " == ", " < ", " >= ", " & "]
WORDS = ["int", "float", "double", "default", "restrict", "class", "template", "NAN", "INFINITY", "INT32_MAX", "M_PI", "NULL",
         "_Bool", "errno", "main", "exp", "floorf", "memcpy", "malloc", "linux", "unix", "i386", "MODC_OK", "modc", "net",
         "params", "workspace", "batch", "i", "j", "n", "x", "y", "w", "ws", "p", "k", "self", "hooks", "status", "forward",
         "init", "pack", "bind", "true", "I", "EOF", "stdin", "X", "Fc", "fc", "_", "_0", "__a", "a__b", "gemm_panel", "size_t",
         "int64_t", "MODC_KERNEL", "sizes", "output", "output_1", "index", "y0", "j1", "signal", "abs", "div"]
# What functions of emitted code have of their own; and "out", whose gradient is "dout".
WORDS += re.findall(r'"(\w+)"', re.search(r"locals\[\] = \{(.*?)\};", (ROOT / "generator/base/emitted.c").read_text(), re.DOTALL)[1])
KEYS = ["hooks: none", "pack: none", "state_dict: none", "winograd: off", "backward: true", "dtype: float64", "threads: 2",
        "dtype: [float64, float32]", "storage: bfloat16", "storage: float16", "denormals: flush", "checkpoint: ['*']",
        "freeze: ['*.weight']", "eval: ['*']", "update: fused", "training: {loss: MSELoss(), optimizer: SGD(lr=0.1)}",
        "training: {loss: CrossEntropyLoss(), optimizer: AdamW(lr=1e-3), clip: clip_grad_norm_(1.0), ema: 0.9}"]
OPTIONS = [[], [], [], ["--backward"], ["--backward"], ["--dtype", "float64"], ["--isa", "none"], ["--bundle"],
           ["--target", "cortex-m4"], ["--line-numbers"], ["--dispatch", "avx2,avx512"]]
NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")


def catalogue(modc):
    """(classes, functions) that `modc layers` lists"""
    lines = subprocess.run([modc, "layers"], check=True, capture_output=True, text=True).stdout.splitlines()
    names = [line.split()[0] for line in lines if re.match(r" +\S", line)]
    return ([name for name in names if name[0].isupper() and "(" not in name],
            [name.split("(")[0] for name in names if "(" in name])


class Mutator:
    def __init__(self, rng, classes, functions):
        self.rng, self.classes, self.functions = rng, classes, functions
        self.changes = [self.number] * 6 + [self.swap_lines] * 2 + [self.drop_line] * 3 + [self.double_line] + \
                       [self.other_call] * 3 + [self.arguments] * 3 + [self.operator] + [self.rename] * 4 + [self.key] * 3

    def replace(self, text, matches, by):
        """One of the matches becomes by(match)."""
        matches = list(matches)
        if not matches:
            return text
        match = self.rng.choice(matches)
        return text[:match.start()] + by(match) + text[match.end():]

    def lines(self, text):
        lines = text.splitlines()
        return lines, [i for i, line in enumerate(lines) if line.strip() and not line.startswith(("modc:", "model:"))]

    def number(self, text):
        def other(match):
            old = match.group()
            if old.isdigit() and self.rng.random() < 0.5:
                return str(max(0, int(old) + self.rng.choice([-1, 1, int(old)])))
            return self.rng.choice(NUMBERS)
        return self.replace(text, (m for m in NUMBER.finditer(text) if m.start() > text.find("model:")), other)

    def swap_lines(self, text):
        lines, own = self.lines(text)
        if len(own) > 1:
            a, b = self.rng.sample(own, 2)
            if self.rng.random() < 0.7:  # neighbours of one indent are likely to be accepted
                a = self.rng.choice(own[:-1])
                b = own[own.index(a) + 1]
            lines[a], lines[b] = lines[b], lines[a]
        return "\n".join(lines) + "\n"

    def drop_line(self, text):
        lines, own = self.lines(text)
        if own:
            del lines[self.rng.choice(own)]
        return "\n".join(lines) + "\n"

    def double_line(self, text):
        lines, own = self.lines(text)
        if own:
            at = self.rng.choice(own)
            lines.insert(at, lines[at])
        return "\n".join(lines) + "\n"

    def other_call(self, text):
        def other(match):
            return self.rng.choice(self.classes if match.group()[0].isupper() else self.functions)
        return self.replace(text, re.finditer(r"(?<![\w.])[A-Za-z_]\w*(?=\()", text), other)

    def arguments(self, text):
        def other(match):
            parts = match.group(1).split(", ")
            what = self.rng.randrange(3)
            if what == 0 and len(parts) > 1:
                self.rng.shuffle(parts)
            elif what == 1:
                parts.pop(self.rng.randrange(len(parts)))
            else:
                parts.insert(self.rng.randrange(len(parts) + 1), self.rng.choice(NUMBERS))
            return f"({', '.join(parts)})"
        return self.replace(text, re.finditer(r"\(([^()\n]+)\)", text), other)

    def operator(self, text):
        return self.replace(text, re.finditer(r" (?:[-+*/%@&<]|//|\*\*|==|>=) ", text), lambda _: self.rng.choice(OPERATORS))

    def rename(self, text):
        """A key of the spec and all places that name it."""
        keys = re.findall(r"^\s+([A-Za-z_]\w*):", text, re.MULTILINE) + re.findall(r"- (\w+) = ", text)
        model = re.search(r"^model: (\w+)", text, re.MULTILINE)
        if not keys or not model:
            return text
        old, stem = self.rng.choice(keys), model.group(1)
        new = self.rng.choice(WORDS + [f"{stem.upper()}_PACKED_BYTES", f"{stem}_forward", f"{stem}_params", stem,
                                       stem.upper(), self.rng.choice(keys).upper(), self.rng.choice(keys)])
        if self.rng.random() < 0.1:
            return re.sub(rf"^model: {stem}", f"model: {new}", text, flags=re.MULTILINE)
        return re.sub(rf"(?<![\w'\"]){old}(?=\W)", new, text)

    def key(self, text):
        added = self.rng.choice(KEYS)
        kept = [line for line in text.splitlines() if not line.startswith(added.split(":")[0] + ":")]
        return "\n".join([*kept, added]) + "\n"

    def mutant(self, text):
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            text = self.rng.choice(self.changes)(text)
        return text


class Faults:
    def __init__(self, work):
        self.folder, self.count = work / "found", 0
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, name, spec, command, what):
        self.count += 1
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "net.yaml").write_text(spec)
        (folder / "how.txt").write_text(f"{' '.join(map(str, command))}\n\n{what}\n")
        print(f"{folder}: {' '.join(map(str, command))}\n{what[:1500]}", flush=True)


def run(command, seconds=60, **more):
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=seconds, **more)
    except subprocess.TimeoutExpired:
        return None, f"still runs after {seconds} s"
    return done.returncode, done.stderr


def generated(modc, out, path, options):
    """Whether modc accepts it; what is wrong with how it ended, or None; the command"""
    command = [modc, "generate", path, "-o", out, *options]
    status, said = run(command, 30)
    if status == 0:
        return True, None, command
    refused = re.search(r"\.yaml:\d+:\d+: error: ", said)
    if status == 1 and refused or status == 3 and refused and "cannot read" in said:
        return False, None, command
    if status == 2 and options:  # what a spec of this kind cannot be generated with
        return False, None, command
    return False, f"status {status}\n{said}", command


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modc")
    parser.add_argument("work")
    parser.add_argument("--compilers", default="gcc,clang")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=int, default=0, metavar="EVERY")
    args = parser.parse_args()
    work = pathlib.Path(args.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    bases = [sorted(path for folder in folders for path in (ROOT / folder).glob("*.yaml")) for folders in FOLDERS]
    classes, functions = catalogue(args.modc)
    faults, accepted = Faults(work), 0

    for number in range(args.seed, args.seed + args.count):
        rng = random.Random(number)
        base = rng.choice(rng.choice(bases))
        text = base.read_text().replace("extends: ", f"extends: {base.parent}/")
        spec = Mutator(rng, classes, functions).mutant(text)
        options, name, out = rng.choice(OPTIONS), f"{number}", work / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        path = work / "net.yaml"
        path.write_text(spec)
        good, what, command = generated(args.modc, out, path, options)
        if what:
            faults.add(name, spec, command, f"of {base.name}: {what}")
        if not good:
            continue
        accepted += 1
        for turn, compiler in enumerate(filter(None, args.compilers.split(","))):
            standard = ("-std=c99", "-std=gnu17")[(turn + number) % 2]
            sources = sorted(out.glob("*.c"))
            command = [compiler, standard, *WARNINGS, "-Wstrict-prototypes", "-Wvla", "-Werror", "-fsyntax-only", "-Iruntime",
                       f"-I{out}", *sources]
            status, said = run(command, cwd=ROOT)
            if status != 0 or said:
                faults.add(name, spec, command, f"of {base.name}, {options}: {said}")
        for header in sorted(out.glob("*.h")) if args.cxx else []:
            command = [args.cxx, "-std=c++17", *WARNINGS, "-Werror", "-fsyntax-only", "-Iruntime", f"-I{out}",
                       "-x", "c++", "/dev/null", "-include", header]
            status, said = run(command, cwd=ROOT)
            if status != 0 or said:
                faults.add(name, spec, command, f"of {base.name}, {options}: {said}")
        if args.run and accepted % args.run == 0:
            flags = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
            command = [args.modc, "run", path, *(["--backward"] if "--backward" in options else [])]
            status, said = run(command, 300, env=os.environ | {"CFLAGS": flags, "UBSAN_OPTIONS": "print_stacktrace=1"})
            if status not in (0, 2, 3) or "runtime error" in said or "Sanitizer" in said:
                faults.add(name, spec, command, f"of {base.name}, CFLAGS={flags!r}: status {status}\n{said}")
    print(f"{args.count} mutants, {accepted} accepted, {faults.count} faults")
    return 1 if faults.count else 0


if __name__ == "__main__":
    sys.exit(main())
