#!/usr/bin/env python3
"""Holds chat templates that modc compiled against what transformers made of the same turns: tests/templates/*.jsonl, which
tests/oracle/templates.py writes.

    CC=cc CFLAGS=... python3 tests/support/chats.py MODC [NAME...]    from the root of the repository

Every warning of the compiler is an error."""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path("tests/templates")
CHANGES = "the last turn cannot be continued: the template changes its content"  # transformers looks for it anywhere in the text
# What modc refuses of turns and transformers need not: a text that is absent, letters that are not of ASCII, an item that is not there.
LOOSE = ("a text is not there: ", "a text in upper or lower case has other letters", "there are fewer turns", "a text has fewer parts", CHANGES)
FIELDS = ("role", "content", "name", "reasoning_content")
SPEC = """modc: 1
model: {name}
hooks: none
template: {path}
sizes: {{tokens: 16}}
inputs: {{ids: {{shape: [tokens], dtype: int64}}}}
forward: return ids
"""


def templates():
    """The templates by name."""
    return {path.stem: path for path in sorted(FOLDER.iterdir()) if path.suffix in (".jinja", ".json") and path.stem != "tokenizer_config"}


def build(modc, paths, folder):
    """A program that runs them; their names in the order of its numbers."""
    for name, path in paths.items():
        (folder / f"{name}.yaml").write_text(SPEC.format(name=name, path=path.resolve()))
        subprocess.run([modc, "generate", folder / f"{name}.yaml", "-o", folder], check=True)
    includes = "".join(f'#include "{name}.h"\n' for name in paths)
    (folder / "chats.h").write_text(f"{includes}#define CHATS(X) {' '.join(f'X({name})' for name in paths)}\n")
    flags = shlex.split(os.environ.get("CFLAGS", "-O1"))
    sources = [FOLDER / "driver.c", *(folder / f"{name}_template.c" for name in paths), pathlib.Path("runtime/modc_template.c")]
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=c99", *flags, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
                    "-Werror", f"-I{folder}", "-Iruntime", *sources, "-o", folder / "driver"], check=True)
    return list(paths)


def case_bytes(number, row):
    """A case as the driver reads it."""
    out = [b"%d %d %d %d %d %d %d %d %d %d %d\n" % (
        number, row.get("add_generation_prompt", False), row.get("continue_final_message", False), "spans" in row,
        *row.get("now", [0] * 6), len(row["messages"]))]
    for turn in row["messages"]:
        for field in FIELDS:
            text = turn.get(field)
            out.append(b"-1 " if text is None else b"%d %s" % (len(text.encode()), text.encode()))
    return b"".join(out) + b"\n"


def run(folder, cases):
    """(status, text, spans, why not) of each."""
    done = subprocess.run([folder / "driver"], input=b"".join(case_bytes(number, row) for number, row in cases), capture_output=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(f"exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    lines = done.stdout.decode().split("\n")[:-1]
    for i in range(0, len(lines), 4):
        status, text, spans, why = lines[i:i + 4]
        numbers = list(map(int, spans.split()))
        yield int(status), bytes.fromhex(text).decode(), [numbers[k:k + 2] for k in range(0, len(numbers), 2)], bytes.fromhex(why).decode()


def fault(row, made):
    """What is wrong with what was made of a case, or None. A case that transformers refuses is refused; in words of the template's own
    with the same words."""
    status, text, spans, why = made
    if row["text"] is None:
        return None if status and (not row.get("error") or row["error"] == why or why.startswith(LOOSE)) else f"refused with {why!r}, text {text!r}, for {row.get('error')!r}"
    if status:
        return None if row.get("continue_final_message") and why == CHANGES else f"status {status}: {why}"
    if text != row["text"]:
        return f"the text is\n  {text!r}, not\n  {row['text']!r}"
    return None if spans == row.get("spans", []) else f"spans {spans}"


def main():
    modc, names = sys.argv[1], sys.argv[2:]
    paths = {name: path for name, path in templates().items() if not names or name in names}
    cases = []
    for name, path in paths.items():
        rows = path.with_suffix(".jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        cases += [(list(paths).index(name), json.loads(row)) for row in rows]
    said = []
    with tempfile.TemporaryDirectory() as folder:
        order = build(modc, paths, pathlib.Path(folder))
        made = list(run(pathlib.Path(folder), cases))
        if len(made) != len(cases):
            said.append(f"{len(made)} results of {len(cases)} cases")
        for (number, row), one in zip(cases, made):
            wrong = fault(row, one)
            if wrong:
                said.append(f"{paths[order[number]]}: {row['messages']}: {wrong}")
    print("\n".join([*said, f"{len(cases)} cases of {len(paths)} templates"]))
    sys.exit(bool(said) or not cases)


if __name__ == "__main__":
    main()
