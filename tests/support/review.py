#!/usr/bin/env python3
"""What a review of emitted text shows: for typical edits of specs, how far the diff of the .c and the .h goes beyond them.

    review.py [--update] [--show] MODC WORK [EDIT...]     from the root of the repository

tests/review/edits.txt has the edits, tests/review/limits.txt what each may be. Of the text before and after:

hunks    those of `diff -U3` over the .c and over the .h, for each module that the edit changes: the modules that `modc diff`
         names, with those inside of what comes or goes, and for a class whose statements change its modules; at least 1.
stray    changed lines that hold neither a changed number nor a changed name. Nothing is erased from the text before it is
         compared; the words of a line are its numbers, and its names in parts: `policy->fc_1.weight` has policy, fc, 1, weight.
         Changed names are the words of more than one letter of which the spec has more or fewer after the edit, its numbers
         too, and the last parts of the paths and the words of the modules that `modc diff` names; where the last part is a
         number, the path as a whole.
         - A line that goes and one that comes in its place are a pair: of a run of changed lines those are paired, in order,
           that have most words in common, and at least half. A pair is stray where what one has and the other has not is
           neither a number nor a changed name: letters that move on, another helper, a line that is broken elsewhere.
         - Lines that only go or only come are taken together up to the next blank line: a paragraph. They are stray where none
           of them has a changed name, or a number that the other text has nowhere. The lines of a function that only one of the
           texts has are told by the function's own name.

The columns of limits.txt are: edit, hunks, stray. What is above its limit is a fault, and so is what is better by more than a
tenth: then the limit stands too high. --update writes limits that are too high down; none is ever raised. --show prints
stray lines. The last line says what the edits are in sum; wanted are a median of 4, a worst of 10, and no stray lines.
"""
import collections
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys

FOLDER = pathlib.Path("tests/review")
SLACK = 0.9
ALIKE = 0.5


def edits():
    """{name: (spec, options, lines)}"""
    found, lines = {}, []
    for line in (FOLDER / "edits.txt").read_text().splitlines():
        if line and line[0].isalpha():
            name, spec, *options = line.split()
            lines = []
            found[name] = (pathlib.Path(spec), options, lines)
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def edited(text, lines):
    """The text of a spec behind an edit."""
    out, at, source = [], 0, text.splitlines()
    for group in "\n".join(lines).split("\n...\n"):
        group = group.splitlines()
        old = [line[1:] for line in group if line[0] in " -"]
        places = [start for start in range(at, len(source)) if source[start:start + len(old)] == old]
        if not old or not places:
            raise ValueError(f"no such lines: {old}")
        out += source[at:places[0]] + [line[1:] for line in group if line[0] in " +"]
        at = places[0] + len(old)
    return "\n".join([*out, *source[at:], ""])


def words_of(line):
    """Numbers, and the parts of names."""
    return re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?|[a-zA-Z]+", line)


def is_number(word):
    return word[0].isdigit()


def surplus(one, other):
    """What either has more often than the other."""
    one, other = collections.Counter(one), collections.Counter(other)
    return set((one - other) | (other - one))


def classes_of(module):
    """The classes of a module and of all inside."""
    return [module["class"], *(name for child in module["children"] for name in classes_of(child))]


def change_of(modc, specs, options):
    """(how many modules the edit changes, the words by which modules and statements are known that it changes)"""
    done = subprocess.run([modc, "diff", "--format", "json", *options, *specs], check=True, stdout=subprocess.PIPE, text=True)
    rows = json.loads(done.stdout)
    dumped = subprocess.run([modc, "check", specs[1], *options, "--dump=module.json"], check=True, stdout=subprocess.PIPE, text=True)
    classes, count, words = classes_of(json.loads(dumped.stdout)), 0, []
    for row in rows["modules"]:
        texts = [row["old"] or "", row["new"] or ""]
        count += 1 + sum(map(int, re.findall(r"with (\d+) modules? inside", "".join(texts))))
        paths = [words_of(path) for path in (row["name"], row.get("new_name", "")) if path]
        words += [path[-1] if not is_number(path[-1]) else " ".join(path) for path in paths if len(path) > 1 or not is_number(path[0])]
        words += [f"{letter} {path[0]}" for path in paths if is_number(path[0]) for letter in "ym"]
        words += words_of(" ".join(texts))
    for row in rows["statements"]:
        count += max(classes.count(row["name"].split(".")[0]), 1)
    return max(count, 1), words


def generated(modc, spec, folder, options):
    """The .c and the .h."""
    subprocess.run([modc, "generate", spec, "-o", folder, *options], check=True, stdout=subprocess.DEVNULL)
    return [next(folder.glob(f"*.{kind}")) for kind in "ch"]


def runs_of(diff):
    """Runs of changed lines, as (those that go, those that come), each with its place in its text; how many hunks there are."""
    runs, hunks, inside, at = [], 0, False, [0, 0]
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            at = [int(number) - 1 for number in re.findall(r"[-+](\d+)", line)[:2]]
            hunks += 1
        if line[0] not in "-+":
            inside = False
            at = at if line.startswith("@@") else [at[0] + 1, at[1] + 1]
            continue
        if not inside:
            runs.append(([], []))
        inside = True
        side = "-+".index(line[0])
        runs[-1][side].append((at[side], line[1:]))
        at[side] += 1
    return runs, hunks


def functions_of(text):
    """By line, which function it is of, with the comment over it; None: none."""
    lines, found, start = text.splitlines(), [], None
    for index, line in enumerate(lines):
        found.append(None)
        if line.startswith("/*") or (start is None and re.match(r"[A-Za-z]", line)):
            start = index
        elif line == "}" and start is not None:
            head = "\n".join(own for own in lines[start:index] if not own.startswith((" *", "/*")))
            name = re.search(r"(\w+)\(", head)
            found[start:] = [name[1] if name else None] * (index + 1 - start)
            start = None
        elif not line and found[index - 1] is None and start is not None and "{" not in "\n".join(lines[start:index]):
            start = None
    return found


def pairs_of(old, new):
    """Lines that stand in each other's place, in order, so that most words are in common: [(index, index)]"""
    one, other = ([collections.Counter(words_of(line)) for line in lines] for lines in (old, new))
    sizes = [[sum(words.values()) for words in side] for side in (one, other)]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    like = {}
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            total = sizes[0][i] + sizes[1][j]
            share = 2 * sum((one[i] & other[j]).values()) / total if total else float(old[i] == new[j])
            like[i, j] = share + best[i + 1][j + 1] if share >= ALIKE else 0.0
            best[i][j] = max(like[i, j], best[i + 1][j], best[i][j + 1])
    found, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        if like[i, j] and like[i, j] == best[i][j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def told(words, names, numbers):
    text = f" {' '.join(words).lower()} "
    return any(word in numbers for word in words) or any(f" {name} " in text for name in names)


def alone(lines, paired, names, numbers):
    """Lines without another in their place that are stray, paragraph by paragraph; None: one that is told by its function."""
    paragraph = []
    for index, line in enumerate([*lines, ""]):
        if line is not None and line.strip() and index not in paired:
            paragraph.append(line)
        elif line is None or not line.strip():
            if paragraph and not told([word for own in paragraph for word in words_of(own)], names, numbers):
                yield from paragraph
            paragraph = []


def stray_lines(runs, names, texts):
    """Those of the runs, with - or + before them."""
    numbers = [{word for word in words_of(text) if is_number(word)} for text in texts]
    functions = [functions_of(text) for text in texts]
    for run in runs:
        old, new = ([line for _, line in side] for side in run)
        pairs = pairs_of(old, new)
        for i, j in pairs:
            differ = surplus(words_of(old[i]), words_of(new[j]))
            if not any(map(is_number, differ)) and not told(differ, names, ()):
                yield from (f"-{old[i]}", f"+{new[j]}")
        for side, sign, paired in ((0, "-", {i for i, _ in pairs}), (1, "+", {j for _, j in pairs})):
            others = set(functions[1 - side])
            lines = [line if functions[side][place] in others else None for place, line in run[side]]
            yield from (sign + line for line in alone(lines, paired, names, numbers[side] - numbers[1 - side]))


def measured(modc, work, name, edit):
    """(hunks for each module, stray lines)"""
    spec, options, lines = edit
    texts = [spec.read_text(), edited(spec.read_text(), lines)]
    specs, files = [], []
    for when, text in zip(("before", "after"), texts):
        folder = work / name / when
        folder.mkdir(parents=True, exist_ok=True)
        specs.append(folder / spec.name)
        specs[-1].write_text(text.replace("extends: ", f"extends: {spec.parent.resolve()}/"))
        files.append(generated(modc, specs[-1], folder, options))
    modules, further = change_of(modc, specs, options)
    names = {word.lower() for word in [*surplus(*(words_of(text) for text in texts)), *further]}
    names = {word for word in names if len(word) > 1 and (not is_number(word) or word not in further)}
    names |= {f"d{name}" for name in names if not is_number(name)}
    hunks, stray = 0, []
    for before, after in zip(*files):
        diff = subprocess.run(["diff", "-U3", before, after], stdout=subprocess.PIPE, text=True).stdout
        runs, count = runs_of(diff)
        hunks += count
        stray += stray_lines(runs, names, [before.read_text(), after.read_text()])
    return hunks / modules, stray


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    modc, work, chosen = words[0], pathlib.Path(words[1]), words[2:]
    table, cases = FOLDER / "limits.txt", edits()
    limits = {row.split()[0]: [float(word) for word in row.split()[1:]] for row in table.read_text().splitlines() if row[0] != "#"}
    faults, totals, rows = 0, [], []
    for name, edit in cases.items():
        limit = limits.get(name, [math.inf, math.inf])
        if not chosen or name in chosen:
            hunks, stray = measured(modc, work, name, edit)
            totals.append((hunks, len(stray)))
            fault = ("more than before" if hunks > limit[0] + 0.05 or len(stray) > limit[1] else
                     "better, tighten the limit (--update)" if hunks < SLACK * limit[0] or len(stray) < SLACK * limit[1] else None)
            print(f"{name}: {hunks:.1f} hunks a module, {len(stray)} stray lines, limits {limit[0]:.1f} and {limit[1]:.0f}"
                  f"{': ' if fault else ''}{fault or ''}")
            if "--show" in sys.argv:
                print("\n".join(stray))
            faults += fault is not None
            limit = [min(limit[0], hunks), min(limit[1], len(stray))]
        rows.append(f"{name:24} {limit[0]:6.1f} {limit[1]:6.0f}")
    if "--update" in sys.argv:
        head = [row for row in table.read_text().splitlines() if row[0] == "#"]
        table.write_text("\n".join([*head, *rows, ""]))
    print(f"{len(totals)} edits: hunks a module: median {statistics.median(hunks for hunks, _ in totals):.1f}, worst "
          f"{max(hunks for hunks, _ in totals):.1f} (wanted: 4, 10); stray lines: {sum(stray for _, stray in totals)} (wanted: 0)")
    return 1 if faults or set(limits) != set(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
