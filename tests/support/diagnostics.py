"""Checks that `--diagnostics=json` says of every spec of tests/errors what its .err says: one JSON object a line, and in
them the same errors, warnings, notes and hints at the same places.

    python3 tests/support/diagnostics.py MODC      from the root of the repository
"""
import json
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path("tests/errors")
HEAD = re.compile(r"(?:(.+?):(\d+):(\d+)|modc): (error|warning|note): (.*)")


def of_text(text):
    """What an .err says: a list of [level, place, message, hints, notes]."""
    said = []
    for line in text.splitlines():
        match = HEAD.fullmatch(line)
        if match:
            file, row, column, level, message = match.groups()
            place = (file, int(row), int(column)) if file else None
            if level == "note":
                said[-1][4].append((place, message))
            else:
                said.append([level, place, message, [], []])
        elif line.startswith("hint: "):
            said[-1][3].append(line[len("hint: "):])
        elif re.fullmatch(r"\d+ more errors? w.* not shown", line):
            said.append(["note", None, line, [], []])
    return said


def of_json(text):
    """The same of JSON."""
    def place(item):
        assert item["length"] >= (1 if item["file"] else 0), item
        return (item["file"], item["line"], item["column"]) if item["file"] else None

    items = [json.loads(line) for line in text.splitlines()]
    return [[item["level"], place(item), printable(item["message"]), [printable(hint) for hint in item["hints"]],
             [(place(note), printable(note["message"])) for note in item["notes"]]] for item in items]


def printable(text):
    """As a terminal gets it."""
    return re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", "?", text)


def main(modc):
    good = True
    for path in sorted(FOLDER.glob("*.yaml")):
        result = subprocess.run([modc, "check", "--diagnostics=json", path.name], cwd=FOLDER, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, check=False)
        try:
            found = of_json(result.stderr.decode())
        except (ValueError, KeyError, AssertionError) as fault:
            found = [repr(fault)]
        expected = of_text(path.with_suffix(".err").read_text(errors="replace"))
        if found != expected:
            good = False
            print(f"{path.name}:", *[f"    text {item}" for item in expected if item not in found],
                  *[f"    json {item}" for item in found if item not in expected], sep="\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve())))
