#!/usr/bin/env python3
"""Holds tokenizers against what the package `tokenizers` said of them: ids, offsets and decoded texts of tests/tokens.

    python3 tests/support/tokens.py MODC [NAME...]              `modc tokenize`; from the root of the repository
    CC=cc CFLAGS=... python3 tests/support/tokens.py --emitted MODC [NAME...]    what is emitted of a spec, compiled

What is emitted gets bytes that are no UTF-8, too, of which there is nothing to compare with but that it decodes what it encoded."""
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path("tests/tokens")
SPEC = """modc: 1
model: m
hooks: none
tokenizer: {path}
sizes: {{tokens: 16}}
inputs: {{ids: {{shape: [tokens], dtype: int64}}}}
forward: return ids
"""
WHOLE = ("gpt2", "llama3", "o200k")  # what is encoded and decoded is every byte of the text
LOOSE = ("gemma", "llama2")  # of bytes that are no text, the package gives up a whole run: not so token by token


def run(modc, path, values, *options):
    done = subprocess.run([modc, "tokenize", path, "--format=json", *options], input="".join(json.dumps(value) + "\n" for value in values),
                          capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode or done.stderr:
        sys.exit(f"{path}: exit status {done.returncode}\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def by_command(modc, path, rows):
    texts, ids = [row["text"] for row in rows], [row["ids"] for row in rows]
    made, plain = run(modc, path, texts), run(modc, path, texts, "--no-template")
    return {"ids": [row["ids"] for row in made], "offsets": [row["offsets"] for row in made], "plain": [row["ids"] for row in plain],
            "decoded": run(modc, path, ids), "all": run(modc, path, ids, "--keep-special")}


def build(modc, path, folder):
    (folder / "m.yaml").write_text(SPEC.format(path=path.resolve()))
    subprocess.run([modc, "generate", folder / "m.yaml", "-o", folder], check=True)
    flags = shlex.split(os.environ.get("CFLAGS", "-O1"))
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=c99", "-D_POSIX_C_SOURCE=200809L", *flags, "-Wall", "-Wextra", "-Wpedantic",
                    "-Wshadow", "-Wconversion", "-Werror", f"-I{folder}", "-Iruntime", FOLDER / "driver.c", folder / "m_tokenizer.c",
                    *pathlib.Path("runtime").glob("modc_tokenizer*.c"), "-o", folder / "driver"], check=True)


def drive(folder, path, texts, streams):
    data = b"".join(b"%d\n%s" % (len(text), text) for text in texts)
    done = subprocess.run([folder / "driver"], input=data, capture_output=True, check=False, env={**os.environ, **({"STREAMS": "1"} if streams else {})})
    if done.returncode or done.stderr:
        sys.exit(f"{path}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    lines = done.stdout.decode().split("\n")[:-1]
    return [lines[i:i + 6] for i in range(0, len(lines), 6)]


def by_emitted(modc, path, rows):
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build(modc, path, folder)
        made = drive(folder, path, [row["text"].encode() for row in rows], True)
        broken = [bytes(rng.choice(b"a \xc3\xa9\xf0\x9f\x99\x82\xe2\x80\xed\xa0\xff\xc0\x00n") for _ in range(rng.randrange(200))) for _ in range(300)]
        for text, lines in zip(broken, drive(folder, path, broken, path.stem not in LOOSE)):
            if path.stem in WHOLE and bytes.fromhex(lines[5])[-len(text):] != text[-len(text):]:
                sys.exit(f"{path}: of the bytes {text.hex()} come {lines[5]}")
    numbers = [[list(map(int, line.split())) for line in lines[:3]] for lines in made]
    return {"ids": [ids for ids, _, _ in numbers], "offsets": [[[at[i], at[i + 1]] for i in range(0, len(at), 2)] for _, at, _ in numbers],
            "plain": [plain for _, _, plain in numbers], "decoded": [bytes.fromhex(lines[3]).decode() for lines in made],
            "all": [bytes.fromhex(lines[4]).decode() for lines in made]}


def faults(path, rows, found):
    for what, values in found.items():
        if len(values) != len(rows):
            yield f"{path}: {len(values)} lines, not {len(rows)}"
            return
        for row, value in zip(rows, values):
            if row[what] != value:
                yield f"{path}: {what} of {row['text']!r} is {value!r}, not {row[what]!r}"


def main():
    emitted = sys.argv[1] == "--emitted"
    modc, names = sys.argv[1 + emitted], sys.argv[2 + emitted:]
    paths = [FOLDER / f"{name}.json" for name in names] or sorted(FOLDER.glob("*.json"))
    said = []
    for path in paths:
        rows = [json.loads(line) for line in path.with_suffix(".jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
        said += faults(path, rows, (by_emitted if emitted else by_command)(modc, path, rows))
    print("\n".join(said))
    sys.exit(bool(said) or not paths)


main()
