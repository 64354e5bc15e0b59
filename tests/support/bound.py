"""Checks the workspace that modc plans for a spec, from what `--dump=plan.json` says of steps, values and buffers.

    python3 tests/support/bound.py MODC SPEC [OPTION...]     from the root of the repository
    python3 tests/support/bound.py --faults MODC SPEC        every single change of a buffer is noticed

No buffers that are live in one step overlap; the workspace is no larger than what is live in some step; a buffer is
live from the step that makes the first of its values to the last that reads one, and no longer; a value is written over
only by a map that is the last to read it; the constants of the header are what the plan needs, and with backward what the
summary deals out to modules.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SLACK = 0.02 # of random specs
SEARCH_SLACK = 0.005 # where a placing at the bound is not always there, or not found: see is_many


def lives(variant):
    """id -> (step that makes it, last step that needs it), from the steps alone; -1 makes the inputs."""
    steps = variant["steps"]
    made, used = {}, {}
    for at, step in enumerate(steps):
        for value in step["inputs"]:
            used[value] = at
        for value in step["outputs"]:
            made.setdefault(value, at)
    for value in variant["outputs"]:
        used[value] = len(steps) - 1
    return {value: (made.get(value, -1), max(used.get(value, -1), made.get(value, -1))) for value in made.keys() | used}


def is_many(variant):
    """Regions, in which some buffers lie in holes of a block; what keeps for the backward of their calls; and backward with
    hooks, of many small buffers."""
    keeps = variant["function"].endswith("_saving") and any(step["op"] == "call" for step in variant["steps"])
    return variant["region"] or keeps or variant["function"].endswith("_saving_fenced")


def check_memory(variant, align, slack=0.0):
    """Where the buffers lie: in the workspace or, of a region, in the block that its parts keep. slack: of the bound, what many
    buffers may lie above it: that they fit is not always so, and to find out takes exponential time."""
    for kept in (False, True):
        yield from check_block([own for own in variant["buffers"] if own["kept"] == kept], len(variant["steps"]),
                               variant["kept" if kept else "workspace"], align,
                               max(slack * (len(variant["buffers"]) > 20), SEARCH_SLACK * is_many(variant)), kept)


def check_block(buffers, count, size, align, slack, kept):
    for at, own in enumerate(buffers):
        if own["offset"] < 0 or own["offset"] % align or own["bytes"] <= 0 or own["bytes"] % align:
            yield f"{own['name']} is not in units of {align} bytes"
        if not 0 <= own["first"] <= own["last"] < count:
            yield f"{own['name']} is live in no step"
        for other in buffers[:at]:
            if (own["first"] <= other["last"] and other["first"] <= own["last"] and
                    own["offset"] < other["offset"] + other["bytes"] and
                    other["offset"] < own["offset"] + own["bytes"]):
                yield f"{own['name']} overlaps {other['name']}"
    peak = max((own["offset"] + own["bytes"] for own in buffers), default=0)
    bound = max((sum(own["bytes"] for own in buffers if own["first"] <= step <= own["last"])
                 for step in range(count)), default=0)
    if peak != size or not bound <= peak <= bound * (1 + slack):
        yield f"{'block' if kept else 'workspace'} {size}, peak {peak}, bound {bound}"


def check_values(variant):
    """What the buffers hold, and when."""
    steps, life, home = variant["steps"], lives(variant), {}
    for at, own in enumerate(variant["buffers"]):
        for value in own["values"]:
            if value in home:
                yield f"value {value} lies in two buffers"
            home[value] = at
            if not own["first"] <= life[value][0] or not life[value][1] <= own["last"]:
                yield (f"{own['name']} is live in steps {own['first']} to {own['last']}, "
                       f"its value {value} in {life[value][0]} to {life[value][1]}")
        if own["values"]:
            first, last = min(life[value][0] for value in own["values"]), max(life[value][1] for value in own["values"])
            if (own["first"], own["last"]) != (max(first, 0), last):
                yield f"{own['name']} is live in steps {own['first']} to {own['last']}, needed in {first} to {last}"
        order = sorted(own["values"], key=lambda value: life[value][0])
        for k, value in enumerate(order[1:], 1):
            op = steps[life[value][0]]["op"]
            if op not in ("map", "fence"):
                yield f"{op} makes value {value} in the memory of another"
            if op == "map" and any(life[before][1] > life[value][0] for before in order[:k]):
                yield f"value {value} writes over one in {own['name']} that is still read"
    for at, step in enumerate(steps):
        for k, value in enumerate(step["outputs"]):
            outside = step["op"] == "fence" and step["inputs"][k] not in home
            empty = step["bytes"][k] == 0
            caller = step["op"] == "yield"  # gradients that come with the second call
            if not (value in home or value in variant["outputs"] or step["op"] == "write" or outside or empty or caller):
                yield f"value {value} of step {at} ({step['op']} {step['label']}) has no memory"


def check_other(variant, workspaces):
    """Buffers that hold no value: what a region or an algorithm works in, the second buffer of a loop, shadows of slots."""
    left = [own for own in variant["buffers"] if not own["values"]]

    def take(name, step, size):
        for own in left:
            if own["name"] == name and own["first"] == own["last"] == step and own["bytes"] >= size:
                left.remove(own)
                return True
        return False

    for at, step in enumerate(variant["steps"]):
        if "calls" in step:
            size = workspaces[step["calls"]]
            if size and not take(step["calls"], at, size):
                yield f"step {at}: {step['calls']} has no {size} bytes to work in"
            if step["turns"] and not take("second buffer", at, 1):
                yield f"step {at}: the loop over {step['calls']} has no second buffer"
        if step["op"] == "yield" and len(step["outputs"]) > 1 and not variant["region"]:  # zeros, for those of its outputs that the caller leaves out
            last = max(lives(variant)[value][1] for value in step["outputs"])
            zeros = [own for own in left if (own["name"], own["first"], own["last"]) == ("zeros", at, last)]
            if not zeros or zeros[0]["bytes"] < max(step["bytes"]):
                yield f"step {at}: there are no zeros for the gradients of results"
            else:
                left.remove(zeros[0])
        if "scratch" in step and not take("scratch", at, step["scratch"]):
            yield f"step {at}: {step['algorithm']} has no {step['scratch']} bytes of scratch"
        passing = step.get("passing")
        if passing and not take(passing["name"], at, passing["bytes"]):
            yield f"step {at}: {step['algorithm']} has no {passing['bytes']} bytes for {passing['name']}"
    for own in left:
        if (own["first"], own["last"]) != (0, len(variant["steps"]) - 1):
            yield f"{own['name']} holds nothing"


def check(plan, slack=0.0):
    workspaces = {}
    for variant in plan["variants"]:
        for fault in (*check_memory(variant, plan["align"], slack), *check_values(variant), *check_other(variant, workspaces)):
            yield f"{variant['function']}: {fault}"
        workspaces[variant["function"]] = variant["workspace"]


def check_header(plan, text):
    """The constants that tell the caller how large his blocks are."""
    found = {name: int(number) for name, number in re.findall(r"^#define (\w+_BYTES) (\d+)", text, re.M)}
    model = plan["model"].upper()
    copied = {name: found.pop(name) for name in list(found) if name.endswith("_HOST_BYTES")}
    yield from (f"{name} is {number}, not in units of {plan['align']}" for name, number in copied.items() if number % plan["align"])
    expected = {f"{model}_PARAM_BYTES": plan["parameters"] or plan["align"], # no block has 0 bytes
                f"{model}_PACKED_BYTES": plan["packed"] or plan["align"]}
    if any(variant["function"].endswith("_saving") for variant in plan["variants"]):
        expected[f"{model}_GRADIENT_BYTES"] = plan["gradients"] or plan["align"]
    for variant in plan["variants"]:
        match = re.fullmatch(r"(\w+?)_(eval|train)(_fenced|_saving|_saving_fenced)?", variant["function"])
        entry, mode, kind = match.groups() if match else (None, None, None)
        if entry in plan["entries"]:
            name = [model, *([] if entry == "forward" else [entry.upper()]), *(["TRAIN"] if mode == "train" else []),
                    *({"_fenced": ["FENCED"], "_saving": ["BACKWARD"], "_saving_fenced": ["FENCED", "BACKWARD"]}.get(kind, [])), "WORKSPACE_BYTES"]
            expected["_".join(name)] = plan["state"] + variant["workspace"] or plan["align"]
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            yield f"the header has no {name}"
        elif name not in expected and name not in (f"{model}_STATE_BYTES", f"{model}_OPTIMIZER_BYTES"):
            yield f"the header has {name}, which the plan does not know"
        elif name in expected and name in found and found[name] != expected[name]:
            yield f"{name} is {found[name]}, expected {expected[name]}"


def check_summary(plan, header, text):
    """What `modc summary` says of a step: that each module is as large as its children, the first as the header's blocks."""
    lines = text.split("\nbytes of ", 1)[1].split("\nsaved, working:")[0].splitlines()
    titles = re.findall("(parameters|packed|gradients|optimizer|saved|working)", lines[0])
    rows = []
    for line in lines[1:]:
        name, *cells = line.split()
        rows.append((len(line) - len(line.lstrip()), name, [0 if cell == "-" else int(cell.replace(",", "")) for cell in cells]))
    for at, (depth, name, cells) in enumerate(rows):
        inside = [row for row in rows[at + 1:next((k for k in range(at + 1, len(rows)) if rows[k][0] <= depth), len(rows))]
                  if row[0] == depth + 2]
        for title, own, *parts in zip(titles, cells, *(row[2] for row in inside)):
            if own < sum(parts):
                yield f"the summary gives {name} {own} bytes of {title}, its parts {sum(parts)}"
    found = {name: int(number) for name, number in re.findall(rf"^#define {plan['model'].upper()}_(\w+_BYTES) (\d+)", header, re.M)}
    whole = dict(zip(titles, rows[0][2]))
    entry = ("" if plan["entries"][-1] != "loss" else "LOSS_") if "optimizer" in whole else ""
    for title, name in (("parameters", "PARAM_BYTES"), ("packed", "PACKED_BYTES"), ("gradients", "GRADIENT_BYTES"),
                        ("optimizer", "OPTIMIZER_BYTES"), ("workspace", f"{entry}TRAIN_BACKWARD_WORKSPACE_BYTES")):
        own = whole["saved"] + whole["working"] if title == "workspace" else whole.get(title)
        if own is not None and (own or plan["align"]) != (found[name] or plan["align"]):
            yield f"the summary gives the model {own} bytes of {title}, the header {found[name]}"


def changed(plan):
    """The plan with one buffer changed, for every buffer and change that must not go unseen."""
    for v, variant in enumerate(plan["variants"]):
        for b, own in enumerate(variant["buffers"]):
            beside = [other["offset"] for k, other in enumerate(variant["buffers"]) if k != b and
                      other["first"] <= own["last"] and own["first"] <= other["last"]]
            changes = [("offset", offset) for offset in beside]
            changes += [("offset", own["offset"] + 1), ("offset", variant["workspace"]), ("first", own["first"] + 1),
                        ("last", own["last"] - 1), ("bytes", 0)]
            changes += [("last", own["last"] + 1)] if own["values"] else []
            changes += [("values", own["values"][1:])] if own["values"] else []
            for key, value in changes:
                other = copy.deepcopy(plan)
                other["variants"][v]["buffers"][b][key] = value
                yield f"{variant['function']}: {own['name']}: {key} {value}", other
        other = copy.deepcopy(plan)
        other["variants"][v]["workspace"] += plan["align"]
        yield f"{variant['function']}: a larger workspace", other


def planned(modc, spec, options=()):
    """(plan, text of the header). `modc` is a list of words."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*modc, "generate", spec, *options, "--dump=plan.json", "-o", folder], capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        plan = json.loads(done.stdout)
        return plan, pathlib.Path(folder, plan["model"] + ".h").read_text()


def faults_of(modc, spec, options=()):
    plan, header = planned(modc, spec, options)
    return [*check(plan), *check_header(plan, header)]


def main():
    arguments = sys.argv[1:]
    faults = arguments[0] == "--faults"
    modc, spec, *options = arguments[faults:]
    plan, header = planned([modc], spec, options)
    said = [*check(plan), *check_header(plan, header)]
    if any(variant["function"].endswith("_train_saving") for variant in plan["variants"]):
        summary = subprocess.run([modc, "summary", spec, *options], capture_output=True, text=True, check=True).stdout
        said += check_summary(plan, header, summary)
    if faults:
        said += [f"not noticed: {what}" for what, other in changed(plan) if not any(check(other))]
    print("\n".join(said) or f"{spec}: {len(plan['variants'])} variants, "
          f"{sum(len(variant['buffers']) for variant in plan['variants'])} buffers")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
