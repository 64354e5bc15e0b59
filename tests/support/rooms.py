#!/usr/bin/env python3
"""Rooms call nothing to their right: reads the include lines of generator/, and fails where one names a room behind its own.

    rooms.py GENERATOR
    rooms.py --planted GENERATOR    also copies it, plants a wrong include, and fails unless that is seen

The order is ARCHITECTURE.md's. A folder that is not in it fails too: a new room says where it stands. What rooms do not look into
stands in CLOSED: passes not even by way of other headers.

emit prints records and reads nothing that is printed: a file of it that compares or searches texts stands in TEXTS, with what
these texts are. One that no longer does must go from there."""

import pathlib
import re
import shutil
import sys
import tempfile

ROOMS = ["base", "tokenizer", "template", "grammar", "spec", "tree", "ops", "graph", "layers", "eval", "functions", "module", "lower", "backward", "passes", "plan", "emit",
         "commands"]
FRONT = {"spec", "layers", "eval", "functions", "lower", "backward"}
CLOSED = {"passes": FRONT | {"module"}, "plan": FRONT, "emit": FRONT}
THROUGH = {"passes"}  # of these, what their headers include counts as theirs
RUNTIME = {"modc.h", "modc_device.h", "modc_generation.h", "modc_optim.h", "modc_sampling.h", "modc_simd.h", "modc_special.h", "modc_template.h", "modc_tokenizer.h",
           "modc_grammar.h", "modc_tokenizer_parts.h", "modc_tokenizer_trie.h"}  # what --weights reads files and constants are computed with
SEARCHES = re.compile(r"\b(strstr|strcmp|strncmp|strpbrk|mentions|take_identifiers)\(")
TEXTS = {
    "bundle.c": "names of files, and the head of one that was there",
    "emit_chat.c": "operators of C",
    "emit_expr.c": "names in use; identifiers of what callers give as text",
    "emit_function.c": "whether an interval is that of what hooks gave",
    "emit_header.c": "the name of an entry",
    "emit_line.c": "lines that are too long",
    "emit_loops.c": "which parameters a nest uses: printed text",
    "emit_optim.c": "names of an optimiser's variables",
    "emit_params.c": "names of specs and of lists",
    "emit_region.c": "names of modules",
    "emit_rollout.c": "names of what is recorded",
    "emit_rows.c": "names of tensors and modules; rows of equal modules",
    "emit_training.c": "names of an optimiser's and a scheduler's options",
    "kernel.c": "the spec's words of modules; types of parameters",
    "template.c": "templates, and the lines that they become",
    "tidy.c": "signs and parentheses that filling a template left",
}


def texts_of(folder):
    """One line for every file of emit that searches texts and is not in TEXTS, or the other way round."""
    found = {path.name for path in (folder / "emit").glob("*.[ch]") if SEARCHES.search(path.read_text())}
    return [f"emit/{name}: it searches texts: what it asks for belongs into the plan" for name in sorted(found - set(TEXTS))] + \
           [f"emit/{name}: it searches no texts: TEXTS of rooms.py still says so" for name in sorted(set(TEXTS) - found)]


def includes_of(path):
    """Number and name of what a file includes of generator/."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        include = re.match(r'#\s*include "([^"]+)"', line)
        if include and include[1] not in RUNTIME:
            yield number, include[1]


def reached(folder, name, seen):
    """What a header includes, itself or by way of others."""
    path = folder / name
    for _, other in includes_of(path) if path.exists() else ():
        if other not in seen:
            seen.add(other)
            reached(folder, other, seen)
    return seen


def faults_of(folder):
    """One line for every include that is wrong, and every file of emit that searches what it should not."""
    faults = texts_of(folder)
    for path in sorted(folder.rglob("*.[ch]")):
        room = path.relative_to(folder).parts[0]
        if room not in ROOMS:
            faults.append(f"{path.relative_to(folder)}: '{room}' is no room of tests/support/rooms.py")
            continue
        for number, include in includes_of(path):
            other = include.split("/")[0]
            place = f"{path.relative_to(folder)}:{number}"
            closed = CLOSED.get(room, set())
            far = reached(folder, include, set()) if room in THROUGH else ()
            if other not in ROOMS or "/" not in include:
                faults.append(f"{place}: '{include}' names no room")
            elif ROOMS.index(other) > ROOMS.index(room):
                faults.append(f"{place}: {room} includes '{include}', which stands behind it")
            elif other in closed:
                faults.append(f"{place}: {room} includes '{include}': it does not look into {other}")
            faults += [f"{place}: {room} includes '{name}' by way of '{include}': it does not look into {name.split('/')[0]}"
                       for name in sorted(far) if name.split("/")[0] in closed]
    return faults


def sees_planted(folder):
    """Whether wrong lines are seen that are written into a copy."""
    planted = {"passes/toolkit.h": '#include "plan/plan.h"\n', "graph/graph.c": '#  include "eval/eval.h"\n',
               "passes/fuse.c": '#include "eval/eval.h"\n', "graph/make.h": '#include "tree/tree.h"\n#include "spec/expr.h"\n',
               "plan/cost.c": '#include "spec/spec.h"\n', "base/dim.c": '#include "dim.h"\n', "attic/old.c": '#include "base/dim.h"\n',
               "emit/emit_pack.c": "static bool found(const char *body) { return strstr(body, \"p->\"); }\n"}
    seen = True
    with tempfile.TemporaryDirectory() as temporary:
        for name, line in planted.items():
            copy = pathlib.Path(temporary) / name.replace("/", "_")
            shutil.copytree(folder, copy)
            path = copy / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(line + (path.read_text() if path.exists() else ""))
            if not any(name in fault for fault in faults_of(copy)):
                print(f"rooms.py does not see '{line.strip()}' in {name}")
                seen = False
    return seen


def main():
    planted = sys.argv[1] == "--planted"
    folder = pathlib.Path(sys.argv[-1])
    faults = faults_of(folder)
    print("\n".join(faults))
    if faults or (planted and not sees_planted(folder)):
        sys.exit(1)


main()
