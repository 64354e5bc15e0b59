"""Checks that generator/base/emitted.c knows every name that emitted code gives to what each model has, and
generator/plan/plan_names.c every local of its functions, so that no name of a spec can meet one.

    python3 tests/support/emitted.py MODC      from the root of the repository
"""
import pathlib
import re
import subprocess
import sys
import tempfile

CASES = [["specs/cartpole/policy.yaml", "--weights", "specs/cartpole/weights.safetensors"],
         ["specs/cartpole/policy.yaml"], ["specs/cartpole/policy.yaml", "--dispatch"], ["specs/digits/cnn.yaml"], ["tests/specs/stream.yaml"], ["tests/specs/blocks.yaml"]]


def listed(source, name):
    """The strings of an array of emitted.c."""
    body = re.search(rf"{name}\[\d*\] = \{{(.*?)\}};", source, re.S)[1]
    return set(re.findall(r'"(\w+)"', body))


def check(folder, source):
    functions, constants, variants = (listed(source, name) for name in ("emitted_functions", "emitted_constants", "emitted_endings"))
    header = next(folder.glob("*.h"))
    model = header.stem
    text = header.read_text() + header.with_suffix(".c").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    own = set(re.findall(rf"^enum modc_status {model}_(\w+)\(struct {model} \*net", text, re.M))  # entries
    entries = own | {entry + variant for entry in own for variant in variants}
    for name in sorted(set(re.findall(rf"^[a-z][\w ]*[ *]{model}_(\w+)(?:\(|\[| MODC| =|;)", text, re.M))):
        if name not in functions | entries:
            yield f"{model}_{name} is not in `emitted_functions`"
    for name in sorted(set(re.findall(rf"^#define {model.upper()}_(\w+)", text, re.M))):
        if name not in constants and not re.fullmatch(r"(\w+_)?(MAX_\w+|WORKSPACE_BYTES)", name):
            yield f"{model.upper()}_{name} is not in `emitted_constants`"
    for name in sorted(set(re.findall(rf"struct {model}_(\w+) \{{", text))):
        if name not in ("params", "packed", "state", "code", "rollout", "window", "training") and not re.fullmatch(r"block|\w+_packed", name):
            yield f"struct {model}_{name}: see emitted_struct"


WIDTH = 100


def check_width(folder):
    """No line is wider, but for words that are so long that nothing breaks them."""
    for path in sorted(folder.rglob("*.[ch]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > WIDTH and max(map(len, line.split())) < WIDTH - 40:
                yield f"{path.name}:{number} has {len(line)} columns: {line.strip()}"


def check_wrappers(known):
    """Functions that macros of the runtime define under the model's name."""
    table = re.search(r"wrappers\[\] = \{\n(.*?)\n\};", pathlib.Path("generator/emit/emit_header.c").read_text(), re.S)[1]
    for names in re.findall(r'FUNCTIONS",\s+"(.*?)"', table):
        for name in names.split():
            if name not in known:
                yield f"{name} is not in `emitted_functions`"


def check_locals():
    """Locals that functions declare, against those that c_argument keeps values away from."""
    names = pathlib.Path("generator/base/emitted.c").read_text()
    known, parts = listed(names, "locals"), re.findall(r'strstr\(name, "(\w+)"\)', names)
    declared = r'"(?: {4})+(?:static )?(?:const )?(?:struct |enum )?[\w%]+ \**(?:const )?\*?(?:const )?(\w+)(?:\[\w*\])? = '
    text = "".join(path.read_text() for path in [pathlib.Path(f"generator/emit/{name}.c") for name in ("emit", "emit_function", "emit_region", "emit_entry")])
    found = set(re.findall(declared, text)) | set(re.findall(r"\*const (\w+) MODC_UNUSED = ", text))  # these have an attribute
    found |= set(re.findall(r'\bcall\.\w+ = "(\w+)"', text))  # of loops over regions
    if len(found) < 10 or not parts:
        yield "locals are declared in another way than is looked for here"
    for name in sorted(found - known):
        if not any(part in name for part in parts):
            yield f"{name} is not in `locals`"


def main(modc):
    source = pathlib.Path("generator/base/emitted.c").read_text()
    faults = [*check_locals(), *check_wrappers(listed(source, "emitted_functions"))]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([modc, "generate", *case, "-o", folder], check=True, stdout=subprocess.DEVNULL)
            faults += [*check(pathlib.Path(folder), source), *check_width(pathlib.Path(folder))]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
