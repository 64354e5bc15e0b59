#!/usr/bin/env python3
"""Runs the examples of pages in docs/ and in the READMEs of examples/: what a page shows is what happens.

    docs.py MODC WORK PAGE.md     from the root of the repository; WORK is a folder for what is made

A page's blocks, in their order, in one folder that starts empty but for `specs` and `examples`, or, for a page
examples/NAME/README.md, in that folder of a copy of examples/:
    ```yaml     a spec. A first line `# name.yaml` names the file that it becomes; others are spec.yaml. `modc check` takes
                it, or says just what a block without a language right behind it shows.
    ```c        a file of that name, in the same way.
    ```sh       is run by bash, with modc in PATH; a block without a language right behind it shows what it prints, where
                a line may be `...` for any lines, and `...` within a line stands for any text.
    ```python   is run behind those above it in its section (##), and shows what it alone prints; with the package of the
                checkout, and not where what it imports is not installed.
A block after the comment `<!-- not run -->` is for the eye alone.
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import quick


def blocks(page):
    """(line, language, text, directly behind the block before, run) of each block."""
    lines = page.read_text(encoding="utf-8").split("\n")
    end, skip, at = -2, False, 0
    while at < len(lines):
        if lines[at] == "<!-- not run -->":
            skip = True
        elif lines[at].startswith("```"):
            first = at
            at += 1
            while lines[at] != "```":
                at += 1
            yield first + 1, lines[first][3:], "\n".join(lines[first + 1:at]) + "\n", first == end + 1, not skip
            end, skip = at, False
        at += 1


def same(shown, printed):
    """Line by line; `...` stands for any lines, or for any text within one."""
    pattern = "".join("(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
                      for line in shown.rstrip("\n").split("\n"))
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


class Page:
    def __init__(self, modc, work, page):
        self.modc, self.work, self.page, self.faults, self.examples = modc, work, page, 0, 0
        if page.parent.parent.name == "examples":
            shutil.rmtree(work, ignore_errors=True)
            self.work = work / page.parent
            shutil.copytree(page.parent.parent, work / "examples", ignore=shutil.ignore_patterns("build", "__pycache__"))
            (work / "specs").symlink_to(Path("specs").resolve())
        else:
            work.mkdir(parents=True, exist_ok=True)
            for old in work.iterdir():
                if old.is_symlink() or old.is_file():
                    old.unlink()
            for folder in ("specs", "examples"):
                (work / folder).symlink_to(Path(folder).resolve())
        self.environment = dict(os.environ, PATH=f"{modc.parent}:{os.environ['PATH']}", NO_COLOR="1")
        self.environment.update(PYTHONPATH=str(Path("python").resolve()), MODC_EXECUTABLE=str(modc))
        if page.parent.name == "docs":  # what examples/ compiles runs for a while, with the flags of who calls
            tools = work.with_name(work.name + "_tools")
            tools.mkdir(exist_ok=True)
            quick.write_compilers(tools, "-O0")
            self.environment.update(CFLAGS="-O0", PATH=f"{tools}:{self.environment['PATH']}")
        self.lines, self.section, self.program = page.read_text(encoding="utf-8").split("\n"), None, ""

    def fault(self, line, text):
        self.faults += 1
        print(f"{self.page}:{line}: {text}", file=sys.stderr)

    def run(self, command):
        done = subprocess.run(command, cwd=self.work, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        return done.returncode, done.stdout

    def expect(self, line, command, shown, fails):
        status, printed = self.run(command)
        self.examples += 1
        if shown is None and (status != 0 or (fails is False and printed)):
            self.fault(line, f"status {status}:\n{printed}")
        elif shown is not None and not same(shown, printed):
            self.fault(line, f"prints\n{printed}")

    def file(self, text, name):
        match = re.match(r"(?:# |/\* )([\w.]+\.(?:yaml|c|cc|h|txt|build))\b", text)
        path = self.work / (match.group(1) if match else name)
        path.write_text(text, encoding="utf-8")
        return path.name

    def python(self, line, text, shown):
        section = max((i for i in range(line) if self.lines[i].startswith("## ")), default=0)
        if section != self.section:
            self.section, self.program = section, ""
        before, self.program = self.program, self.program + text
        imported = set(re.findall(r"^import (\w+)", self.program, re.M)) - {"modc"}
        if any(importlib.util.find_spec(name) is None for name in imported):
            return
        mark = "---- here it begins"
        self.examples += 1
        status, printed = self.run([sys.executable, "-c", f"{before}\nprint({mark!r}, flush=True)\n{text}"])
        printed = printed.split(mark + "\n", 1)[-1]
        if status != 0 or not same(shown or "", printed):
            self.fault(line, f"status {status}, prints\n{printed}")

    def check(self):
        found = [block for block in blocks(self.page)]
        for at, (line, language, text, _, run) in enumerate(found):
            shown = found[at + 1][2] if at + 1 < len(found) and found[at + 1][1] == "" and found[at + 1][3] else None
            if not run or language in ("", "text"):
                continue
            if language == "yaml":
                self.expect(line, [self.modc, "check", self.file(text, "spec.yaml")], shown, False)
            elif language == "sh":
                self.expect(line, ["bash", "-euc", text], shown, True)
            elif language == "python":
                self.python(line, text, shown)
            elif language in ("c", "cpp", "cmake", "meson", "make"):
                self.file(text, "program.c")
            else:
                self.fault(line, f"what is a block of '{language}'?")


def main():
    modc, work, page = (Path(word) for word in sys.argv[1:4])
    checked = Page(modc.resolve(), work, page)
    checked.check()
    print(f"{page}: {checked.examples} examples, {checked.faults} faults")
    return 1 if checked.faults else 0


if __name__ == "__main__":
    sys.exit(main())
