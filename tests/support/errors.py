"""Compares what `modc check` says of the specs of tests/errors with their .err, byte for byte, and checks that
`--diagnostics=json` says the same: one JSON object a line, with the same errors, warnings, notes and hints at the same
places.

    python3 tests/support/errors.py MODC [CASE...]     from the root of the repository; without a case, all of them
    python3 tests/support/errors.py --text MODC        without JSON, for builds that start slowly
    python3 tests/support/errors.py --update MODC      writes every .err

A case whose exit status is not 1 says so in a comment: `# status: 3`. Specs that only others extend lie in folders below.
"""
import difflib
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
        elif re.fullmatch(r"(at least )?\d+ more errors? (was|were) not shown", line):
            said.append(["note", None, line, [], []])
    return said


def printable(text):
    """As a terminal gets it."""
    return re.sub(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\ufffd]", "?", text)


def of_json(text):
    """The same of JSON."""
    def place(item):
        if item["length"] < (1 if item["file"] else 0):
            raise ValueError(f"no length: {item}")
        return (item["file"], item["line"], item["column"]) if item["file"] else None

    items = [json.loads(line) for line in text.splitlines()]
    return [[item["level"], place(item), printable(item["message"]), [printable(hint) for hint in item["hints"]],
             [(place(note), printable(note["message"])) for note in item["notes"]]] for item in items]


def check(modc, path, *options):
    """What modc says of a spec; and a fault of its exit status."""
    status = re.search(r"^# status: (\d+)$", path.read_text(errors="replace"), re.M)
    expected = int(status[1]) if status else 1
    result = subprocess.run([modc, "check", *options, path.name], cwd=FOLDER, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, timeout=60, check=False)
    faults = [] if result.returncode == expected else [f"exit status {result.returncode}, expected {expected}"]
    return result.stderr.decode(), faults


def compare(modc, path, json_too=True):
    """The faults of one case."""
    said, faults = check(modc, path)
    expected = path.with_suffix(".err").read_text() if path.with_suffix(".err").exists() else ""
    if not expected:
        faults.append("there is no .err: read what modc says, then build the target update-errors")
    faults += difflib.unified_diff(expected.splitlines(), said.splitlines(), "expected", "found", lineterm="")
    if not json_too:
        return faults
    in_json, more = check(modc, path, "--diagnostics=json")
    try:
        found, wanted = of_json(in_json), of_text(said)
        if found != wanted:
            more += [f"text: {item}" for item in wanted if item not in found]
            more += [f"json: {item}" for item in found if item not in wanted]
            more.append("the JSON says something else than the text")
    except (ValueError, KeyError, TypeError) as fault:
        more.append(f"the JSON cannot be read: {fault!r}")
    return faults + more


def main(arguments):
    option = arguments.pop(0) if arguments[0] in ("--update", "--text") else None
    update = option == "--update"
    modc = str(pathlib.Path(arguments[0]).resolve())
    chosen = [FOLDER / f"{case}.yaml" for case in arguments[1:]] or sorted(FOLDER.glob("*.yaml"))
    faults = {path: [] for path in FOLDER.glob("*.err") if not path.with_suffix(".yaml").exists()}
    for path in faults:
        faults[path] = ["there is no spec of this name"]
    for path in chosen:
        if update:
            said, faults[path] = check(modc, path)
            if not path.with_suffix(".err").exists() or path.with_suffix(".err").read_text() != said:
                path.with_suffix(".err").write_text(said)
                print(f"wrote {path.with_suffix('.err')}")
        else:
            faults[path] = compare(modc, path, json_too=option != "--text")
    for path, said in faults.items():
        for line in said:
            print(f"{path}: {line}")
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
