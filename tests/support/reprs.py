#!/usr/bin/env python3
"""What modc prints of modules is what PyTorch 2.15 prints: tests/reprs, made by tests/oracle/reprs.py.

    reprs.py MODC WORK     from the root of the repository; CC compiles one of the models, for MODEL_print

All constructors of classes.txt are children of one model, so that one `modc summary --repr` prints them; what modc refuses
is left out of a second try. That is a fault, unless modc says that it is not supported yet, or does not have the class yet:
those are named.
"""
import difflib
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

FOLDER = Path("tests/reprs")
LINES_BEFORE = 5  # of the spec that is made of all constructors

PROGRAM = """#include <stdio.h>
#include "{name}.h"

static void put(void *user, const char *text, size_t length)
{{
    fwrite(text, 1, length, user);
}}

int main(void)
{{
    {name}_print(put, stdout);
    putchar('\\n');
    return 0;
}}
"""


def read_classes():
    """[(constructor, what it prints)]"""
    found = []
    for line in (FOLDER / "classes.txt").read_text().splitlines():
        if line.startswith("    "):
            found[-1][1].append(line)
        elif not line.startswith("#"):
            found.append((line, []))
    return [(constructor, textwrap.dedent("\n".join(shown))) for constructor, shown in found]


def model_of(constructors):
    modules = "".join(f"  m{i}: {json.dumps(text)}\n" for i, text in enumerate(constructors))
    return f"modc: 1\nmodel: classes\ninputs: {{x: [4]}}\nforward: return x\nmodules:\n{modules}"


def print_of(items):
    return "classes(\n" + "".join(f"  (m{i}): " + shown.replace("\n", "\n  ") + "\n" for i, shown in enumerate(items)) + ")\n"


class Reprs:
    def __init__(self, modc, work):
        self.modc, self.work, self.faults = modc, work, 0

    def fault(self, text):
        self.faults += 1
        print(text)

    def compare(self, name, expected, found):
        if expected != found:
            lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "PyTorch", "modc", "", "", 1, "")
            self.fault(f"{name} prints otherwise:\n" + textwrap.indent("\n".join(lines), "    "))

    def print_spec(self, path):
        """(stdout, [(line, message)] of errors)"""
        done = subprocess.run([self.modc, "summary", "--repr", "--diagnostics=json", path], capture_output=True, text=True)
        said = [json.loads(line) for line in done.stderr.splitlines()]
        return done.stdout, [(item["line"], item["message"]) for item in said if item["level"] == "error"]

    def check_classes(self):
        """The spec of all that modc takes."""
        has = subprocess.run([self.modc, "layers"], capture_output=True, text=True, check=True).stdout
        layers = set(re.findall(r"^  (\w+)(?:  |$)", has, re.MULTILINE))
        classes, skipped = [], []
        for item in read_classes():
            (classes if item[0].split("(")[0] in layers else skipped).append(item)
        if skipped:
            print("not in modc layers yet: " + ", ".join(dict.fromkeys(item[0].split("(")[0] for item in skipped)))
        path = self.work / "classes.yaml"
        while True:
            path.write_text(model_of([constructor for constructor, _ in classes]))
            found, errors = self.print_spec(path)
            if not errors:
                break
            refused = {line - LINES_BEFORE - 1: message for line, message in reversed(errors)}
            for i, message in sorted(refused.items()):
                if "not supported yet" in message:
                    print(f"not supported yet: {classes[i][0]}")
                else:
                    self.fault(f"{classes[i][0]}: {message}")
            classes = [item for i, item in enumerate(classes) if i not in refused]
        self.compare("classes.txt", print_of([shown for _, shown in classes]), found)
        print(f"{len(classes)} constructors, {len(skipped)} skipped")
        return path

    def check_specs(self):
        for path in sorted(FOLDER.glob("*.yaml")):
            found, errors = self.print_spec(path)
            for line, message in errors:
                self.fault(f"{path}:{line}: {message}")
            if not errors:
                self.compare(path, path.with_suffix(".txt").read_text(), found)

    def check_compiled(self, path):
        """MODEL_print of the emitted model says what the command says."""
        name = re.search("^model: (.*)$", path.read_text(), re.MULTILINE).group(1)
        subprocess.run([self.modc, "generate", path, "-o", self.work], check=True, capture_output=True)
        (self.work / "print.c").write_text(PROGRAM.format(name=name))
        runtime = [f"runtime/{part}.c" for part in ("modc_names", "modc_state", "modc_integers", "modc_report", "modc_hook", "modc_safetensors", "modc_safetensors_write", "modc_dtype", "modc_reset")]
        subprocess.run([os.environ.get("CC", "cc"), "-O0", "-w", "-Iruntime", self.work / "print.c", self.work / f"{name}.c",
                        *runtime, "-lm", "-o", self.work / "print"], check=True)
        done = subprocess.run([self.work / "print"], capture_output=True, text=True, check=True)
        self.compare(f"{name}_print", self.print_spec(path)[0], done.stdout)


def main():
    modc, work = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    reprs = Reprs(modc, work)
    classes = reprs.check_classes()
    reprs.check_specs()
    for path in (classes, FOLDER / "nested.yaml"):
        reprs.check_compiled(path)
    return 1 if reprs.faults else 0


if __name__ == "__main__":
    sys.exit(main())
