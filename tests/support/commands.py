"""Runs the command lines of a transcript and compares what they print with what stands there.

    python3 tests/support/commands.py MODC FILE...             from the root of the repository
    python3 tests/support/commands.py --update MODC FILE...    writes what they print into the files

A transcript has shell commands behind `$ `, or `> ` where one goes on, and under each what it prints to stdout and
stderr, with `[STATUS]` at the end where that is not 0. An empty line and lines with `# ` in front of a command are the
author's. All commands of a file run in one new folder, in which `modc` is MODC and $ROOT is the repository. CC is not
seen by them, but is what `cc` runs, which optimises little whatever it is told (quick.py).
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import quick

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_transcript(lines):
    """Strings for the author's lines, (lines, shell text) for commands."""
    own, at = [], 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("$ "):
            begin = at - 1
            while at < len(lines) and lines[at].startswith("> "):
                at += 1
            yield from own
            yield lines[begin:at], "\n".join(text[2:] for text in lines[begin:at])
            own = []
        elif line == "":
            own = [line]
        elif line.startswith("# ") and (own or at == 1):
            own.append(line)
        else:
            own = []  # what a command printed


def run(command, folder, environment):
    """The lines that a command prints, and its status behind them."""
    result = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    lines = result.stdout.decode(errors="backslashreplace").rstrip("\n").splitlines()
    if any(line.startswith("$ ") for line in lines):
        sys.exit(f"{command}: prints a line that would be taken for a command")
    return lines + ([f"[{result.returncode}]"] if result.returncode else [])


def play(path, modc):
    """The transcript as it is when its commands are run."""
    played = []
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder) / "tools"
        tools.mkdir()
        (tools / "modc").symlink_to(pathlib.Path(modc).resolve())
        quick.write_compilers(tools, "-O1")
        work = pathlib.Path(folder) / "work"
        work.mkdir()
        environment = {name: value for name, value in os.environ.items() if not re.match("LC_|LANG|(CC|CFLAGS|(CXX|NVCC)(FLAGS)?)$|CUDA_HOST_", name)}
        environment |= {"PATH": f"{tools}:{environment['PATH']}", "ROOT": str(ROOT), "LC_ALL": "C"}
        for part in read_transcript(path.read_text().splitlines()):
            played += [part] if isinstance(part, str) else part[0] + run(part[1], work, environment)
    return "\n".join(played) + "\n"


def main(arguments):
    update = arguments[0] == "--update"
    modc, *paths = arguments[update:]
    good = True
    for path in map(pathlib.Path, paths):
        expected, found = path.read_text(), play(path, modc)
        if update and expected != found:
            path.write_text(found)
            print(f"wrote {path}")
        elif expected != found:
            good = False
            sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), found.splitlines(True), str(path), "found"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
