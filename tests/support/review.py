#!/usr/bin/env python3
"""What a review of emitted text shows: for typical edits of specs, how far the diff of the .c and the .h goes beyond them.

    review.py [--update] [--show] MODC WORK [EDIT...]     from the root of the repository

tests/review/edits.txt has the edits, tests/review/limits.txt what each may be. Of the text before and after:

hunks    those of `diff -U3` over the .c and over the .h, for each module that the edit changes: the modules that `modc diff`
         names, with those inside of what comes or goes, and for a class whose statements change its modules; at least 1.
stray    changed statements that hold neither a changed number nor a changed name. A statement is read as one, over however many
         lines it is broken: a call, a declaration, a head, a row of a table, a comment. Nothing is erased from the text before
         it is compared; the words of a statement are its numbers, and its names in parts: `policy->fc_1.weight` has policy, fc,
         1, weight. Changed names are
         - the words of more than one letter of which the spec has more or fewer after the edit, its numbers of 5 and more too,
           the last parts of the paths and the words of the modules that `modc diff` names; where the last part is a number,
           that number where it stands as a part of a name (`y_5`, `_5`, `CNN_5`, "5.weight");
         - what only one of the texts defines: a function, a tensor, a packed weight, a macro, a constant of an enum. But not
           where the other text has a function or packed weight that is the same but for its name, or a tensor whose name is
           the same but for whose it is: that is a rename, and a rename that none of the other words tells is stray.
         A statement that goes and one that comes in its place are a pair: of a run of changed ones those are paired, in order,
         that have most words in common, and at least half. A pair is stray where what one has and the other has not is neither
         a number nor a changed name. Statements that only go or only come are taken together up to the next blank line: a
         paragraph. They are stray where none of them has a changed name, or a number that the other text has nowhere; so are
         statements that are broken elsewhere, and functions that stand elsewhere. Of functions that both texts have the statements
         are compared with each other; those of a function that only one has, or whose name is a changed one, are told by its name.

The columns of limits.txt are: edit, hunks, stray. What is above its limit is a fault, and so is what is better by more than a
tenth: then the limit stands too high. --update writes limits that are too high down; none is ever raised. --show prints
stray statements. The last line says what the edits are in sum; wanted are a median of 4, a worst of 10, and no stray statements.
"""
import collections
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

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


def without_numbers(text):
    """The text without its numbers, but with the names of the functions that it calls."""
    return re.sub(r"\d+", "0", text), tuple(re.findall(r"(\w+)\(", text))


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
    """How many modules the edit changes; the words by which modules and statements are known that it changes; numbers that are
    names of such modules."""
    done = subprocess.run([modc, "diff", "--format", "json", *options, *specs], check=True, stdout=subprocess.PIPE, text=True)
    rows = json.loads(done.stdout)
    dumped = subprocess.run([modc, "check", specs[1], *options, "--dump=module.json"], check=True, stdout=subprocess.PIPE, text=True)
    classes, count, words, parts = classes_of(json.loads(dumped.stdout)), 0, [], set()
    for row in rows["modules"]:
        texts = [row["old"] or "", row["new"] or ""]
        count += 1 + sum(map(int, re.findall(r"with (\d+) modules? inside", "".join(texts))))
        for path in filter(None, (row["name"], row.get("new_name", ""))):
            last = path.split(".")[-1]
            (parts.add if is_number(last) else words.extend)(last if is_number(last) else words_of(last)[-1:])
        words += words_of(" ".join(texts))
    for row in rows["statements"]:
        count += max(classes.count(row["name"].split(".")[0]), 1)
    return max(count, 1), words, parts


def generated(modc, spec, folder, options):
    """The .c and the .h."""
    subprocess.run([modc, "generate", spec, "-o", folder, *options], check=True, stdout=subprocess.DEVNULL)
    return [next(folder.glob(f"*.{kind}")) for kind in "ch"]


def statements_of(text):
    """The text statement by statement, each as (its lines as one, the index of the first line, how many lines)."""
    found, start, depth, comment = [], 0, 0, False
    lines = text.splitlines()
    for index, line in enumerate(lines):
        comment = (comment or line.lstrip().startswith("/*")) and "*/" not in line
        code = re.sub(r"/\*.*?(\*/|$)|\"(\\.|[^\"])*\"", "", line).rstrip(" \\")
        depth += 0 if comment or line.lstrip().startswith("*") else code.count("(") - code.count(")")
        ended = line.rstrip(" \\").endswith("*/") and lines[start].lstrip().startswith("/*")
        if not comment and (ended or not code.strip() or (depth <= 0 and code[-1] in ";{},:") or line.startswith("#")):
            found.append((" ".join(own.strip() for own in lines[start:index + 1]), start, index + 1 - start))
            start, depth = index + 1, 0
    return found


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


def opcodes(one, other):
    """As difflib's, by `diff`."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in "ab"]
        for file, rows in zip(files, (one, other)):
            file.write_text("".join(row + "\n" for row in rows))
        text = subprocess.run(["diff", *files], stdout=subprocess.PIPE, text=True).stdout
    for head in re.findall(r"^(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$", text, re.M):
        first, last, what, start, stop = int(head[0]), int(head[1] or head[0]), head[2], int(head[3]), int(head[4] or head[3])
        yield (first if what == "a" else first - 1, last, start if what == "d" else start - 1, stop)


def parts_of(text):
    """{function: its statements, None: those of no function}, a statement as statements_of gives it."""
    functions, parts = functions_of(text), {None: []}
    for row in statements_of(text):
        parts.setdefault(functions[row[1]], []).append(row)
    return parts


def lines_of(lines, statements):
    return [line for _, start, count in statements for line in lines[start:start + count]]


def runs_of(texts):
    """Runs of changed statements, as (function, those that go, those that come): of functions that both texts have, and of what stands
    outside of functions. Lines of statements that are broken elsewhere."""
    sides = [parts_of(text) for text in texts]
    lines = [text.splitlines() for text in texts]
    runs, broken = [], []
    for name in sorted(sides[0].keys() & sides[1].keys(), key=str):
        one, other = sides[0][name], sides[1][name]
        at = 0, 0
        if [row[0] for row in one] == [row[0] for row in other] and lines_of(lines[0], one) == lines_of(lines[1], other):
            continue
        for a, b, c, d in [*opcodes(*([row[0] for row in rows] for rows in (one, other))), (len(one), len(one), len(other), len(other))]:
            for (_, start, count), (_, place, others) in zip(one[at[0]:a], other[at[1]:c]):
                if lines[0][start:start + count] != lines[1][place:place + others]:
                    broken += ["-" + line for line in lines[0][start:start + count]]
            runs.append((name, *([text for text, _, _ in rows] for rows in (one[a:b], other[c:d]))))
            at = b, d
    return runs, broken


def hunks_of(before, after):
    diff = subprocess.run(["diff", "-U3", before, after], stdout=subprocess.PIPE, text=True).stdout
    return sum(line.startswith("@@") for line in diff.splitlines())


def definitions_of(text):
    """[(kind, name, what it is, without its name)], of what a text defines."""
    found = [("macro", name, name) for name in re.findall(r"^#define (\w+)", text, re.M)]
    found += [("constant", name, name) for name in re.findall(r"^ *([A-Z]\w*), *$", text, re.M)]
    for name, size, form in re.findall(r"^    MODC_ALIGNED \w+ (\w+)\[(\d+)\]; /\* (.*) \*/$", text, re.M):
        found.append(("packed", name, f"{size} {form} {re.match('_?[a-z0-9]+', name)[0]}"))
    for kind, name in re.findall(r"^    (const struct modc_tensor|\w+ \*const) (\w+) = ", text, re.M):
        found.append(("tensor", name, f"{re.sub('_of_.*', '', name)} {kind}"))
    lines, functions = text.splitlines(), functions_of(text)
    for name in set(functions) - {None}:
        own = " ".join(line for line, of in zip(lines, functions) if of == name and not line.startswith(("/*", " *")))
        found.append(("function", name, re.sub(rf"\b{name}\b", "", own)))
        found += [("parameter", parameter, parameter) for parameter in re.findall(r"(\w+)[,)]", own.split("{")[0])]
    return found


def changed_definitions(texts, telling):
    """What only one of the texts defines, of tensors also more often or as another type, without what the other one has under
    another name."""
    known = [definitions_of(text) for text in texts]
    names = [collections.defaultdict(set), collections.defaultdict(set)]
    for found, side in zip(names, known):
        for kind, name, what in side:
            found[kind, what].add(name)
    renamed = {name for what in set(names[0]) & set(names[1]) if not names[0][what] & names[1][what]
               for side in names for name in side[what]
               if not any(telling.tells(own, words_of(own), ()) for own in names[0][what] | names[1][what])}
    tensors = [[row for row in side if row[0] == "tensor"] for side in known]
    others = [{row[:2] for row in side} for side in known]
    return ({name for _, name, _ in surplus(*tensors)} | {name for _, name in others[0] ^ others[1]}) - renamed


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


class Telling:
    """What tells why a statement changed."""

    def __init__(self, words, numbers, parts, texts):
        self.words = words      # of the spec, in parts, separated by blanks
        self.numbers = numbers  # of the spec
        self.parts = parts      # numbers that are names of modules
        self.defined = set()    # what only one of the texts defines
        self.defined = changed_definitions(texts, self)
        own = [{word for word in words_of(text) if is_number(word)} for text in texts]
        self.only = [own[0] - own[1], own[1] - own[0]]

    def tells(self, text, words, numbers):
        """Whether one of the words, which are of the text, is a name that changed, or one of the numbers."""
        own = f" {' '.join(words).lower()} "
        return (any(word in numbers or word in self.numbers for word in words) or any(f" {name} " in own for name in self.words) or
                any(part in (words if text.startswith("/*") else re.findall(r'(?:_|"|(?<![0-9])\.)(\d+)', text)) for part in self.parts) or
                any(name in self.defined for name in re.findall(r"\w+", text)))


def alone(rows, paired, telling, numbers):
    """Statements without another in their place that are stray, paragraph by paragraph."""
    paragraph = []
    for index, row in enumerate([*rows, ""]):
        if row.strip() and index not in paired:
            paragraph.append(row)
        elif not row.strip():
            text = " ".join(paragraph)
            if paragraph and not telling.tells(text, words_of(text), numbers):
                yield from paragraph
            paragraph = []


def stray_statements(texts, telling):
    """Those that are stray, with - or + before them."""
    runs, broken = runs_of(texts)
    left, all_alone = ([], []), ([], [])
    for name, old, new in runs:
        if name and telling.tells(name, words_of(name), telling.numbers):
            continue
        pairs = pairs_of(old, new)
        for i, j in pairs:
            differ = surplus(words_of(old[i]), words_of(new[j]))
            names = " ".join(surplus(re.findall(r"\w+", old[i]), re.findall(r"\w+", new[j])))
            if differ and not any(map(is_number, differ)) and not telling.tells(names, differ, ()):
                yield from (f"-{old[i]}", f"+{new[j]}")
        for side, rows, paired in ((0, old, {i for i, _ in pairs}), (1, new, {j for _, j in pairs})):
            left[side].extend(alone(rows, paired, telling, telling.only[side]))
            all_alone[side].extend(row for index, row in enumerate(rows) if index not in paired)
    forms = [{without_numbers(row) for row in side} for side in all_alone]
    for side, sign in ((0, "-"), (1, "+")):
        yield from (sign + row for row in left[side] if words_of(row) and
                    not (any(map(is_number, words_of(row))) and row not in all_alone[1 - side] and without_numbers(row) in forms[1 - side]))
    yield from broken
    yield from moved_functions(texts, telling)


def moved_functions(texts, telling):
    """Functions that one text has and that are another's by another name, which nothing tells; and what both have elsewhere."""
    names = [list(dict.fromkeys(name for name in functions_of(text) if name)) for text in texts]
    both = set(names[0]) & set(names[1])
    for sign, own in zip("-+", names):
        yield from (f"{sign}{name}(" for name in own if name not in both and not telling.tells(name, words_of(name), telling.numbers))
    for a, b, c, d in opcodes(*([name for name in own if name in both] for own in names)):
        yield from (f"moved: {name}(" for name in [name for name in names[1] if name in both][c:d])


def measured(modc, work, name, edit):
    """(hunks for each module, stray statements)"""
    spec, options, lines = edit
    texts = [spec.read_text(), edited(spec.read_text(), lines)]
    specs, files = [], []
    for when, text in zip(("before", "after"), texts):
        folder = work / name / when
        folder.mkdir(parents=True, exist_ok=True)
        specs.append(folder / spec.name)
        specs[-1].write_text(text.replace("extends: ", f"extends: {spec.parent.resolve()}/"))
        files.append(generated(modc, specs[-1], folder, options))
    modules, further, parts = change_of(modc, specs, options)
    own = surplus(*(words_of(text) for text in texts))
    names = {word.lower() for word in [*own, *further] if len(word) > 1 and not is_number(word)}
    names |= {f"d{name}" for name in names}
    numbers = {word for word in own if is_number(word) and float(word) >= 5}
    hunks, stray = 0, []
    for before, after in zip(*files):
        texts = [before.read_text(), after.read_text()]
        hunks += hunks_of(before, after)
        stray += stray_statements(texts, Telling(names, numbers, parts, texts))
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
            print(f"{name}: {hunks:.1f} hunks a module, {len(stray)} stray statements, limits {limit[0]:.1f} and {limit[1]:.0f}"
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
          f"{max(hunks for hunks, _ in totals):.1f} (wanted: 4, 10); stray statements: {sum(stray for _, stray in totals)} (wanted: 0)")
    return 1 if faults or set(limits) != set(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
