"""Holds every C file to .clang-format, and those of generator/ and runtime/ to what one can read in one go.

    python3 tests/support/format.py [CLANG_FORMAT]     from the root of the repository; 1 where a file differs or is too long

Without exceptions but two: goldens are what modc emits, and a template is laid out as what is emitted of it. Other
versions of clang-format than the one that .clang-format names lay out some lines otherwise: 77 (skipped) there.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "cmake", "examples", "generator", "runtime", "tests")
EMITTED = ("tests/golden/",)
SCREENS = ("generator/", "runtime/")
FILE_LINES, FUNCTION_LINES = 1200, 90
VERSION = re.search(r"clang-format (\d+)", (ROOT / ".clang-format").read_text())[1]


def sources():
    """Of git, where it knows them: else a program that was built beside an example would count."""
    listed = subprocess.run(["git", "ls-files", *(f"{folder}/*.[ch]" for folder in FOLDERS)], cwd=ROOT,
                            capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [path for path in listed.stdout.splitlines() if (ROOT / path).exists()]
    return [str(path.relative_to(ROOT)) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.[ch]"))]


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


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "clang-format"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if f"version {VERSION}." not in version:
        print(f"this is {version.strip()}; the layout is that of clang-format {VERSION}")
        return 77
    files = [path for path in sources() if not path.startswith(EMITTED)]
    long = [fault for path in files if path.startswith(SCREENS)
            for fault in long_parts(path, (ROOT / path).read_text())]
    print("\n".join(long), end="\n" if long else "")
    said = subprocess.run([program, "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True)
    lines = collections.defaultdict(list)
    for path, line in re.findall(r"^(.*?):(\d+):\d+: error: code should be clang-formatted", said.stderr, re.M):
        if line not in lines[path]:
            lines[path].append(line)
    for path, found in lines.items():
        print(f"{path}: line{'s' * (len(found) > 1)} {', '.join(found[:8])}{', ...' * (len(found) > 8)}")
    if lines:
        print(f"not laid out as .clang-format says; mend with\n    {program} -i {' '.join(lines)}")
    elif said.returncode != 0:
        print(said.stderr)
    else:
        print(f"{len(files)} files")
    return 1 if said.returncode != 0 or long else 0


if __name__ == "__main__":
    sys.exit(main())
