"""Makes a drawn spec that fails smaller, as long as PyTorch takes it and modc fails in the same way.

    python3 tests/oracle/shrink.py FOLDER [--modc build/modc]      # a folder that live.py kept

Tried, again and again while something helps: returning less, leaving out lines of the YAML (statements, modules, classes,
entries, inputs, sizes), replacing a statement by one of its operands, calls with fewer arguments, smaller numbers, smaller
sizes, inputs of fewer dimensions. The result stays in FOLDER/small.
"""
import argparse
import ast
import copy
import json
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time
import types

import torch

import modc_run
import program
import random_specs
import safetensors_io

SECONDS = 100  # for one spec


def way(fault):
    """What tells one kind of fault from another: its text without names, numbers and places."""
    line = next((line for line in fault.splitlines() if "error" in line), fault.splitlines()[0])
    line = re.sub(r"^.*?error: ", "", line) if "error:" in line else line
    line = re.sub(r"'[^']*'|\([^)]*\)|‘[^’]*’", "_", line)
    return re.sub(r"\w*\d\w*|\S*\.safetensors", "_", line).strip()


class Small:
    """files: {name: text}; run: its options without files, and the values of sizes."""

    def __init__(self, files, sizes):
        self.files, self.sizes = files, sizes

    def with_file(self, name, text):
        return Small({**self.files, name: text}, self.sizes)


class Shrinker:
    def __init__(self, modc, folder, found, run, runtime, flags, timeout):
        self.modc, self.folder, self.runtime, self.flags, self.timeout = modc, folder, runtime, flags, timeout
        self.found, self.run, self.tries = found, run, 0
        files = ("--weights", "--inputs", "--expect", "--rtol")
        options = run["options"]
        skip = {at + k for at, word in enumerate(options) if word in files for k in (0, 1)}
        self.options = [word for at, word in enumerate(options) if at not in skip and word != "--sequence"]
        self.until = time.monotonic() + SECONDS

    def fault_of(self, small):
        """How modc fails on it; None where it does not, or PyTorch does."""
        self.tries += 1
        folder = self.folder / "small"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, text in small.files.items():
            (folder / name).write_text(text)
        generator = random.Random(self.tries if self.tries < 2 else 1)
        try:
            model = random_specs.Model(folder / "spec.yaml")
            weights = random_specs.draw_weights(model.spec, model.spec.build(0), generator)
            options = list(self.options)
            if weights:
                safetensors_io.save(folder / "weights.safetensors", weights)
                model.weights = weights
                options += ["--weights", "weights.safetensors"]
            entry = model.spec.entries.get(options[options.index("--entry") + 1]) if "--entry" in options else None
            names = [name for name, _ in entry[0]] if entry else list(model.spec.inputs)
            described = {}
            for name in names:
                shape, dtype = model.spec.inputs[name]
                _, kind, values, extent = self.found["inputs"][name]
                described[name] = ([str(dim) for dim in shape], kind, values, extent)
            sizes = {name: min(small.sizes.get(name, most), most) for name, most in model.spec.sizes.items()}
            given = random_specs.draw_inputs(described, str(model.spec.dtype).replace("torch.", ""), names,
                                             {**model.spec.constants, **sizes}, generator,
                                             5 if self.found["sequence"] else None)
            drawn = types.SimpleNamespace(sequence=self.found["sequence"], winograd=False, numbers="small")
            run = random_specs.write_run(model, folder, self.run["name"], options, given, drawn, self.found["mixed"],
                                         bool(self.run["state"]))
        except Exception:  # whatever it is, this spec is none
            return None
        faults, _ = program.check(self.modc, folder, {"runs": [run]}, self.runtime, self.flags, self.timeout)
        return faults[0][1] if faults else None

    def shrink(self, small):
        fault = self.fault_of(small)
        if fault is None:
            return None, None
        self.wanted = way(fault)
        again = True
        while again and time.monotonic() < self.until:
            again = False
            for changes in (whole_files, fewer_returns, fewer_lines, fewer_entries, simpler_lines, smaller_sizes):
                at = 0
                while time.monotonic() < self.until:
                    candidates = changes(small)
                    found = None
                    while at < len(candidates) and time.monotonic() < self.until:
                        own = self.fault_of(candidates[at])
                        if own is not None and way(own) == self.wanted:
                            found = candidates[at]
                            break
                        at += 1
                    if found is None:
                        break
                    small, again = found, True
        return small, self.fault_of(small)


def whole_files(small):
    """Without what it extends: the base alone."""
    if "base.yaml" not in small.files:
        return []
    found = [Small({"spec.yaml": small.files["base.yaml"]}, small.sizes)]
    if "middle.yaml" in small.files:
        found.append(Small({"base.yaml": small.files["base.yaml"], "spec.yaml": small.files["middle.yaml"]}, small.sizes))
    return found


def changed_lines(small):
    """(name, lines, index) of every line of the files, the last first."""
    for name, text in small.files.items():
        lines = text.splitlines()
        for i in range(len(lines) - 1, -1, -1):
            yield name, lines, i


def with_lines(small, name, lines):
    return small.with_file(name, "\n".join(lines) + "\n")


def fewer_returns(small):
    found = []
    for name, lines, i in changed_lines(small):
        head, word, rest = lines[i].partition("return ")
        if not word:
            continue
        try:
            parts = ast.parse(rest, mode="eval").body
        except SyntaxError:
            continue
        if not isinstance(parts, ast.Tuple):
            continue
        texts = [ast.unparse(part) for part in parts.elts]
        for kept in [[text] for text in texts] + [texts[:k] + texts[k + 1:] for k in range(len(texts))]:
            found.append(with_lines(small, name, [*lines[:i], f"{head}return {', '.join(kept)}", *lines[i + 1:]]))
    return found


def indent(line):
    return len(line) - len(line.lstrip())


def fewer_lines(small):
    """Each line left out, with what is indented below it."""
    found = []
    for name, lines, i in changed_lines(small):
        end = i + 1
        while end < len(lines) and (not lines[end].strip() or indent(lines[end]) > indent(lines[i])):
            end += 1
        if lines[i].strip() and not lines[i].startswith(("modc:", "model:")):
            found.append(with_lines(small, name, lines[:i] + lines[end:]))
    return found


def fewer_entries(small):
    """Each entry of `sizes: {...}` and the like left out."""
    found = []
    for name, lines, i in changed_lines(small):
        match = re.match(r"^(\s*[\w(), ]+:) \{(.*)\}$", lines[i])
        if match and lines[i].startswith(("sizes", "constants")):
            parts = match.group(2).split(", ")
            for k in range(len(parts)):
                rest = parts[:k] + parts[k + 1:]
                new = [f"{match.group(1)} {{{', '.join(rest)}}}"] if rest else []
                found.append(with_lines(small, name, lines[:i] + new + lines[i + 1:]))
    return found


def smaller_nodes(node):
    """Expressions that may stand for one, simpler ones."""
    found = []
    if isinstance(node, ast.Call):
        found += [arg for arg in node.args if not isinstance(arg, (ast.Constant, ast.Starred))]
        found += [node.func.value] if isinstance(node.func, ast.Attribute) and \
            not (isinstance(node.func.value, ast.Name) and node.func.value.id in ("torch", "F", "nn", "self")) else []
        for k in range(len(node.keywords)):
            own = copy.deepcopy(node)
            del own.keywords[k]
            found.append(own)
        if node.args:
            own = copy.deepcopy(node)
            own.args.pop()
            found.append(own)
    elif isinstance(node, ast.BinOp):
        found += [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        found.append(node.operand)
    elif isinstance(node, (ast.Subscript, ast.Attribute)):
        found.append(node.value)
    elif isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1:
        for k in range(len(node.elts)):
            own = copy.deepcopy(node)
            del own.elts[k]
            found.append(own)
    elif isinstance(node, ast.IfExp):
        found += [node.body, node.orelse]
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        found += [ast.Constant(n) for n in (0, 1, 2) if abs(n) < abs(node.value)]
    return found


def simpler(expression):
    """Texts of an expression with one node made simpler."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError:
        return []
    found = []
    for place in ast.walk(tree):
        for field, value in ast.iter_fields(place):
            slots = [(value, k) for k in range(len(value))] if isinstance(value, list) else [(None, None)]
            for list_, k in slots:
                node = list_[k] if list_ is not None else value
                if not isinstance(node, ast.expr):
                    continue
                for other in smaller_nodes(node):
                    if list_ is not None:
                        list_[k] = other
                    else:
                        setattr(place, field, other)
                    found.append(ast.unparse(tree))
                if list_ is not None:
                    list_[k] = node
                else:
                    setattr(place, field, node)
    return sorted(dict.fromkeys(found), key=len)


def simpler_lines(small):
    """Statements, constructors and shapes with less in them."""
    found = []
    for name, lines, i in changed_lines(small):
        if lines[i].lstrip().startswith("- "):
            match = re.match(r"^(\s*-? *(?:return |[\w., \[\]:()]+ [-+*]?= )?)(.+)$", lines[i])
        else:
            match = re.match(r"^(\s*\w+: *(?:\{shape: )?)([^{}]+?)((?:, \w+: [^{}]+)?\}?)$", lines[i])
        if not match or not lines[i].startswith(" "):
            continue
        tail = match.group(3) if match.lastindex == 3 else ""
        found += [with_lines(small, name, [*lines[:i], match.group(1) + text + tail, *lines[i + 1:]])
                  for text in simpler(match.group(2))]
    return found


def smaller_sizes(small):
    """Smaller maxima, and smaller values of the run."""
    found = [Small(small.files, {**small.sizes, name: n}) for name, value in small.sizes.items()
             for n in (1, 2, 3) if n < value]
    for name, lines, i in changed_lines(small):
        if lines[i].startswith(("sizes:", "constants:")):
            for match in re.finditer(r": (\d+)", lines[i]):
                for n in (1, 2, 3):
                    if n < int(match.group(1)):
                        text = lines[i][:match.start(1)] + str(n) + lines[i][match.end(1):]
                        found.append(with_lines(small, name, [*lines[:i], text, *lines[i + 1:]]))
    return found


def shrink(modc, folder, found, faults, runtime, flags, timeout):
    """Lines that say what is left of a spec that random_specs.write made and that failed so."""
    run = next(run for run in found["runs"] if run["name"] == faults[0][0])
    files = {path.name: path.read_text() for path in folder.glob("*.yaml")}
    shrinker = Shrinker(modc, folder, found, run, runtime, flags, timeout)
    small, fault = shrinker.shrink(Small(files, run["sizes"]))
    if small is None:
        return ["with other numbers it does not fail"]
    return [f"after {shrinker.tries} tries, at {', '.join(f'{k} = {v}' for k, v in small.sizes.items()) or 'no sizes'}:",
            *(f"{name}:\n   " + text.rstrip().replace("\n", "\n   ") for name, text in sorted(small.files.items())),
            *fault.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--modc", default="build/modc")
    parser.add_argument("--flags", default=program.FLAGS[0])
    parser.add_argument("--timeout", type=float, default=120)
    args = parser.parse_args()
    torch.set_num_threads(1)
    modc, folder = modc_run.command_of(args.modc), args.folder.absolute()
    found = json.loads((folder / "runs.json").read_text())
    with tempfile.TemporaryDirectory(prefix="modc-runtime-") as runtime:
        program.build_runtime(runtime)
        faults, _ = program.check(modc, folder, found, runtime, args.flags, args.timeout)
        if not faults:
            print("nothing fails")
            return 1
        print("\n".join(shrink(modc, folder, found, faults, runtime, args.flags, args.timeout)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
