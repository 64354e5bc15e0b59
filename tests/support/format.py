"""Holds every C and CUDA file to .clang-format, and those of generator/ and runtime/ to what one can read in one go.

    python3 tests/support/format.py [CLANG_FORMAT] [--fix]     from the root of the repository; 1 where a file differs or is
                                                               too long; --fix lays out what differs

Without exceptions but one: goldens are what modc emits. Other versions of clang-format than the one that .clang-format
names lay out some lines otherwise: 77 (skipped) there.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "cmake", "examples", "generator", "runtime", "templates", "tests")
KINDS = ("*.[ch]", "*.cu")
EMITTED = ("tests/golden/",)
TEMPLATES = "templates/"
SCREENS = ("generator/", "runtime/")
FILE_LINES, FUNCTION_LINES = 1200, 90
VERSION = re.search(r"clang-format (\d+)", (ROOT / ".clang-format").read_text())[1]


def sources():
    """Of git, where it knows them: else a program that was built beside an example would count."""
    listed = subprocess.run(["git", "ls-files", *(f"{folder}/{kind}" for folder in FOLDERS for kind in KINDS)], cwd=ROOT,
                            capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [path for path in listed.stdout.splitlines() if (ROOT / path).exists()]
    return [str(path.relative_to(ROOT)) for folder in FOLDERS for kind in KINDS for path in sorted((ROOT / folder).rglob(kind))]


def functions(text):
    """The names of a file's functions, which .clang-format has laid out, each with its lines from its head to its end."""
    lines, body = text.split("\n"), None
    for number, line in enumerate(lines):
        if line == "{":
            body = number
        elif line == "}" and body:
            head = next(i for i in range(body - 1, -1, -1) if lines[i][:1] not in (" ", "#"))
            yield re.search(r"(\w+)\(", " ".join(lines[head:body]))[1], number + 1 - head
            body = None


def long_parts(path, text):
    """What of a file is longer than it may be."""
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{path} has {lines} lines, more than {FILE_LINES}"
    for name, count in functions(text):
        if count > FUNCTION_LINES:
            yield f"{path}: {name} has {count} lines, more than {FUNCTION_LINES}"


# What clang-format takes for a declaration in a template, with names and operators of the same length that it does not.
STANDS_IN = ((r"\bT_([VS])\((\w+)\)(?=\()", r"T_\1_\2_"), (r"\bT_(OF|MOST)\((\w+), (\w+)\)(?=\()", r"T_\1_\2__\3_"),
             (r"\bT_MORE\((\w+) && ", r"T_MORE(\1 != "))
STOOD_IN = ((r"\bT_(OF|MOST)_(\w+?)__(\w+)_\b", r"T_\1(\2, \3)"), (r"\bT_([VS])_(\w+)_\b", r"T_\1(\2)"),
            (r"\bT_MORE\((\w+) != ", r"T_MORE(\1 && "))


def replaced(text, rules):
    for pattern, by in rules:
        text = re.sub(pattern, by, text)
    return text


def lay_out(program, path):
    """Text of a template as it is to be."""
    text = (ROOT / path).read_text()
    stand_in = replaced(text, STANDS_IN)
    if replaced(stand_in, STOOD_IN) != text:
        sys.exit(f"{path}: STANDS_IN cannot be taken back")
    done = subprocess.run([program, f"--assume-filename={path}"], cwd=ROOT, input=stand_in, capture_output=True, text=True,
                          check=True)
    return replaced(done.stdout, STOOD_IN)


def templates_differ(program, paths, fix):
    """The templates with lines that are laid out otherwise, which --fix writes."""
    for path in paths:
        text, wanted = (ROOT / path).read_text(), lay_out(program, path)
        if text == wanted:
            continue
        if fix:
            (ROOT / path).write_text(wanted)
        else:
            same = len(os.path.commonprefix([text.split("\n"), wanted.split("\n")]))
            yield f"{path}: line {same + 1}"


def main():
    words = [word for word in sys.argv[1:] if word != "--fix"]
    program, fix = words[0] if words else "clang-format", "--fix" in sys.argv
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if f"version {VERSION}." not in version:
        print(f"this is {version.strip()}; the layout is that of clang-format {VERSION}")
        return 77
    files = [path for path in sources() if not path.startswith(EMITTED)]
    long = [fault for path in files if path.startswith(SCREENS)
            for fault in long_parts(path, (ROOT / path).read_text())]
    print("\n".join(long), end="\n" if long else "")
    templates = [path for path in files if path.startswith(TEMPLATES)]
    files = [path for path in files if not path.startswith(TEMPLATES)]
    if fix:
        subprocess.run([program, "-i", *files], cwd=ROOT, check=True)
    wrong = list(templates_differ(program, templates, fix))
    print("\n".join(wrong), end="\n" if wrong else "")
    said = subprocess.run([program, "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True)
    lines = collections.defaultdict(list)
    for path, line in re.findall(r"^(.*?):(\d+):\d+: error: code should be clang-formatted", said.stderr, re.M):
        if line not in lines[path]:
            lines[path].append(line)
    for path, found in lines.items():
        print(f"{path}: line{'s' * (len(found) > 1)} {', '.join(found[:8])}{', ...' * (len(found) > 8)}")
    if lines or wrong:
        print("not laid out as .clang-format says; mend with\n    python3 tests/support/format.py --fix")
    elif said.returncode != 0:
        print(said.stderr)
    else:
        print(f"{len(files) + len(templates)} files")
    return 1 if said.returncode != 0 or wrong or long else 0


if __name__ == "__main__":
    sys.exit(main())
