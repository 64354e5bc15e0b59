#!/usr/bin/env python3
"""Code grows with distinct shapes alone: 2 and 20 equal blocks have the same kernels, and differ in calls and tables.

    CC=cc python3 tests/support/growth.py MODC WORK SPEC...     from the root of the repository

Each SPEC has a constant `count`.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

CALL = 64  # bytes of code that a call may take: it loads its arguments, and calls


def emitted(modc, work, spec, count, further):
    """The C of the spec with so many blocks."""
    folder = work / f"{spec.stem}_{count}{'_bare' if further else ''}"
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / spec.name
    copy.write_text(spec.read_text() + further)
    subprocess.run([modc, "generate", copy, "-o", folder, "--set", f"count={count}"], check=True, stdout=subprocess.DEVNULL)
    return folder / f"{spec.stem}.c"


def kernels(text):
    return re.search(r"^MODC_KERNELS_BEGIN\n(.*)^MODC_KERNELS_END$", text, re.MULTILINE | re.DOTALL).group(1)


def functions(text):
    """{name: text} of what stands behind the kernels."""
    found = re.finditer(r"^(?:static )?(?:void|enum modc_status) (\w+)\(.*?^\}$", text.split("MODC_KERNELS_END")[1],
                        re.MULTILINE | re.DOTALL)
    return {match.group(1): match.group(0) for match in found}


def shapes_of_statements(text):
    """What is called and done in a function, without the names of values and without numbers."""
    statements = (" ".join(statement.split()) for statement in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).split(";"))
    named = (re.sub(r"\b[A-Za-z_]\w*\b(?!\()", "v", re.sub(r"\b\d+\b", "#", statement)) for statement in statements)
    return {re.sub(r"v(->v|\.v|\[[v#]\])+", "v", statement) for statement in named}


def check_text(small, large):
    """What is wrong."""
    if kernels(small) != kernels(large):
        yield "the kernels differ"
    few, many = functions(small), functions(large)
    if set(few) != set(many):
        yield f"functions of one alone: {sorted(set(few) ^ set(many))}"
    for name in set(few) & set(many):
        new = shapes_of_statements(many[name]) - shapes_of_statements(few[name])
        if new:
            yield f"{name} says something new: {sorted(new)[:3]}"


def compiled(source, flags):
    target = source.with_suffix(".o")
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=c99", *flags, "-Iruntime", "-c", source, "-o", target],
                   check=True)
    return target


def sizes(source, flags):
    """{function: bytes of its code}"""
    lines = subprocess.run(["nm", "--print-size", compiled(source, flags)], check=True, capture_output=True, text=True).stdout
    found = (line.split() for line in lines.splitlines())
    return {words[3]: int(words[1], 16) for words in found if len(words) == 4 and words[2] in "tT"}


def check_code(small, large):
    names = set(re.findall(r"^static MODC_KERNEL(?: MODC_ALONE)? void (\w+)\(", small.read_text(), re.MULTILINE))
    # without what a compiler copies into each caller by its own choice
    few, many = (sizes(source, ["-O1", "-fno-inline"]) for source in (small, large))
    if not names or names - set(few):
        yield f"kernels without code: {sorted(names - set(few))}"
    for name in sorted(names & set(few)):
        if few[name] != many.get(name):
            yield f"{name}: {few[name]} bytes of code, or {many.get(name)}"
    calls = sum(len(re.findall(rf"^ +(?:{'|'.join(names)})\(", source.read_text(), re.MULTILINE)) * sign
                for source, sign in ((large, 1), (small, -1)))
    grown = sum(many.values()) - sum(few.values())
    if not 0 < calls or grown > CALL * calls:
        yield f"{calls} more calls are {grown} more bytes of code"


def main():
    modc, work, failed = sys.argv[1], pathlib.Path(sys.argv[2]), False
    for path in sys.argv[3:]:
        spec = pathlib.Path(path)
        texts = [emitted(modc, work, spec, count, "").read_text() for count in (2, 20)]
        bare = [emitted(modc, work, spec, count, "\nhooks: none\n") for count in (2, 20)]
        for fault in (*check_text(*texts), *check_code(*bare)):
            print(f"{path}: {fault}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
