"""The JSON Schema of specs: that specs/modc.schema.json is what `modc schema` prints, that it takes every spec of the
repository, and refuses what it should. Needs jsonschema and PyYAML.

    python3 tests/support/schema.py MODC    from the root of the repository
"""
import pathlib
import re
import subprocess
import sys

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "specs/modc.schema.json"

# Wrong specs, each by what is put into a right one, with a word of the path to the fault or of the message.
RIGHT = """\
modc: 1
model: policy
sizes: {batch: 8}
inputs: {x: [batch, 4]}
classes:
  Block(dim):
    modules: {fc: 'Linear(dim, dim)'}
    buffers: {mean: {shape: [dim]}}
    forward(x):
      - return fc(x) - mean
modules:
  fc: Linear(4, 2)
  block: Block(2)
forward: return block(fc(x))
entries:
  act(x):
    max: {batch: 1}
    statements: [return fc(x)]
"""
WRONG = [
    ("model: policy\n", "", "'model' is a required property"),
    ("modc: 1\n", "", "'modc' is a required property"),
    ("modc: 1", "modc: 2", "modc"),
    ("model: policy", "model: my-policy", "model"),
    ("sizes:", "size:", "'size'"),
    ("forward:", "foward:", "'foward'"),
    ("batch: 8", "batch: [8]", "sizes"),
    ("[batch, 4]}", "{dtype: int64}}", "inputs"),
    ("[batch, 4]}", "{shape: [batch], dtype: int65}}", "inputs"),
    ("[batch, 4]}", "4}", "inputs"),
    ("fc: Linear(4, 2)", "fc: Linear", "modules"),
    ("fc: Linear(4, 2)", "fc: 3", "modules"),
    ("modules:\n  fc", "dtype: int64\nmodules:\n  fc", "dtype"),
    ("modules:\n  fc", "device: xpu\nmodules:\n  fc", "device"),
    ("modules:\n  fc", "hooks: off\nmodules:\n  fc", "hooks"),
    ("modules:\n  fc", "threads: 0\nmodules:\n  fc", "threads"),
    ("mean: {shape: [dim]}", "mean: {init: ones, value: 3}", "mean"),
    ("mean: {shape: [dim]}", "mean: {init: zeros}", "mean"),
    ("mean: {shape: [dim]}", "mean: {shape: [dim], requires_grad: true}", "mean"),
    ("buffers:", "bufers:", "'bufers'"),
    ("    statements: [return fc(x)]\n", "", "act(x)"),
    ("return fc(x) - mean", "return x[1: 3]", "forward(x)"),
    ("forward(x):", "forward:", "forward"),
    ("entries:", "generation: {sequences: 2}\nentries:", "'context' is a required property"),
    ("entries:", "generation: {context: 8, size: 2}\nentries:", "'size'"),
    ("entries:", "generation: {context: 8, eos: [[1]]}\nentries:", "eos"),
    ("entries:", "generation: {context: 8, defaults: 64}\nentries:", "defaults"),
]


def specs():
    """Name and text of the specs that stand in files, and of the examples of pages, some of which are wrong."""
    for folder in ("specs", "tests/specs", "tests/language", "tests/layers", "examples"):
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            yield str(path.relative_to(ROOT)), path.read_text()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        for number, text in enumerate(re.findall(r"^```yaml\n(.*?)^```$", path.read_text(), re.M | re.S), 1):
            yield f"{path.relative_to(ROOT)}, example {number}", text


def takes(modc, text):
    return subprocess.run([modc, "check", "-"], input=text, text=True, capture_output=True, check=False).returncode == 0


def load(text):
    """As an editor does. (PyYAML makes a boolean of `on`, as YAML 1.1 has it; the schema knows.)"""
    return yaml.safe_load(text)


def check(modc):
    printed = subprocess.run([modc, "schema"], check=True, capture_output=True, text=True).stdout
    if printed != COMMITTED.read_text():
        yield f"{COMMITTED} is not what `modc schema` prints: build the target update-commands"
    schema = yaml.safe_load(printed)  # JSON is YAML
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    count = 0
    for name, text in specs():
        spec = load(text)
        if not isinstance(spec, dict) or "modc" not in spec and "extends" not in spec:
            continue  # a part of a spec
        count += 1
        errors = list(validator.iter_errors(spec))
        if errors and ".md, " in name and not takes(modc, text):
            continue
        for error in errors:
            yield f"{name}: refused at {list(error.absolute_path)}: {error.message[:200]}"
    if count < 15:
        yield f"only {count} specs were found"
    for error in validator.iter_errors(load(RIGHT)):
        yield f"the right spec is refused: {error.message}"
    for old, new, says in WRONG:
        assert RIGHT.count(old) == 1, old
        errors = list(validator.iter_errors(load(RIGHT.replace(old, new))))
        if not any(says in "/".join(map(str, error.absolute_path)) or says in error.message for error in errors):
            yield f"{old!r} became {new!r}: expected a fault at {says}, found {[error.message[:100] for error in errors]}"


def main(arguments):
    faults = list(check(arguments[0]))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
