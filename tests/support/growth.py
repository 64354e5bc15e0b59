#!/usr/bin/env python3
"""Emitted text grows with distinct layers, not with depth: lines of C of many equal layers, over those of two.

    growth.py [--update] MODC WORK                    from the root of the repository
    growth.py [--update] --work PROGRAM WORK          PROGRAM: modc that counts what it does (tests/support/steps.c)

tests/growth/lines.txt has a row for each spec of tests/growth and each variant: with hooks and without, forward alone and
with --backward. Lines are those of the .c and of the .h as they are emitted; names and numbers count like all else.
tests/growth/steps.txt has rows for the work of the generator: what n to 2n layers take, over what n/2 to n take. That is 2
where work grows with the layers, 4 where it grows with their square.

The columns are: spec, variant, layers, limit, wanted. A ratio above its limit is a fault, and so is one that is better by
more than a tenth: then the limit stands too high. --update writes limits that are too high down; none is ever raised.

Specs have a constant `layers`. A line that ends in `# each` is that of the second layer, and stands for one of each further
layer, whose number it has in place of 1.
"""
import pathlib
import re
import shutil
import subprocess
import sys

FOLDER = pathlib.Path("tests/growth")
VARIANTS = {"forward": ("none", []), "backward": ("none", ["--backward"]),
            "hooks": ("on", []), "hooks_backward": ("on", ["--backward"])}
SLACK = 0.9


def spec_of(name, layers, hooks):
    """The text of a spec with so many layers."""
    lines = []
    for line in (FOLDER / f"{name}.yaml").read_text().splitlines():
        numbers = range(1, layers) if line.endswith("# each") else [1]
        lines += [re.sub(r"(?<=[a-z\[])1(?=[\], ])", str(number), line) for number in numbers]
    return "\n".join([*lines, f"hooks: {hooks}", ""]).replace("extends: ", f"extends: {FOLDER.resolve()}/")


def generated(program, work, name, layers, variant):
    """(what the program said, the folder with the files)"""
    hooks, options = VARIANTS[variant]
    folder = work / f"{name}_{layers}_{variant}"
    shutil.rmtree(folder, ignore_errors=True)  # what is there would be compared, which is work
    folder.mkdir(parents=True)
    (folder / f"{name}.yaml").write_text(spec_of(name, layers, hooks))
    done = subprocess.run([program, "generate", folder / f"{name}.yaml", "-o", folder, "--set", f"layers={layers}", *options],
                          check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout, folder


def lines_of(modc, work, name, layers, variant):
    _, folder = generated(modc, work, name, layers, variant)
    return sum(path.read_text().count("\n") for path in folder.glob("*.[ch]"))


def ratio_of_lines(modc, work, name, layers, variant):
    return lines_of(modc, work, name, layers, variant) / lines_of(modc, work, name, 2, variant)


def ratio_of_steps(program, work, name, layers, variant):
    few, some, many = (int(re.search(r"^(\d+) steps$", generated(program, work, name, count, variant)[0], re.MULTILINE).group(1))
                       for count in (layers // 4, layers // 2, layers))
    return (many - some) / (some - few)


def checked(row, ratio):
    """(the row as it should be, what is wrong)"""
    name, variant, layers, limit, wanted = row.split()
    what = f"{name} {variant} {layers}: {ratio:.3f}, limit {limit}, wanted {wanted}"
    tight = f"{name:8} {variant:14} {layers:>3} {max(ratio + 0.005, float(wanted)):6.2f} {wanted:>6}"
    if ratio > float(limit):
        return row, f"{what}: more than before"
    if ratio < SLACK * float(limit) and float(limit) > float(wanted):
        return tight, f"{what}: better, tighten the limit (--update)"
    return row, None


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    program, work = words[0], pathlib.Path(words[1])
    counts = "--work" in sys.argv
    table = FOLDER / ("steps.txt" if counts else "lines.txt")
    lines, faults = [], 0
    for row in table.read_text().splitlines():
        if row and not row.startswith("#"):
            name, variant, layers, *_ = row.split()
            ratio = (ratio_of_steps if counts else ratio_of_lines)(program, work, name, int(layers), variant)
            row, fault = checked(row, ratio)
            print(fault or f"{row}: {ratio:.3f}")
            faults += fault is not None
        lines.append(row)
    if "--update" in sys.argv:
        table.write_text("\n".join([*lines, ""]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
