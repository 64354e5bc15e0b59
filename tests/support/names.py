"""Asks modc about every name of PyTorch (tests/oracle/names.txt): each is taken, or refused with a hint and a reason that
docs/layers/missing.md has; and what that page has is refused.

    python3 tests/support/names.py MODC          from the root of the repository
    python3 tests/support/names.py MODC --list   prints each name with what modc says of it
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AT_ONCE = 18  # modc says no more than 20 errors of a spec
FIRST_LINE = 7  # of the statements
SPEC = """\
modc: 1
model: names
hooks: none
inputs:
  x: [4, 4]
forward:
{}
  - return x * 2
"""


def ask(modc, folder, names):
    """What modc says of each: None, or its error and its hints."""
    path = folder / "names.yaml"
    path.write_text(SPEC.format("\n".join(f"  - a{i} = {name}" for i, name in enumerate(names))))
    result = subprocess.run([modc, "check", "--diagnostics=json", path], capture_output=True, text=True, check=False)
    said = {}
    for line in result.stderr.splitlines():
        item = json.loads(line)
        said[item["line"] - FIRST_LINE] = (item["message"], item["hints"])
    if result.returncode not in (0, 1):
        raise SystemExit(f"modc check ends with status {result.returncode}:\n{path.read_text()}")
    return [said.get(i) for i in range(len(names))]


def listed(page):
    """The names of a page, each as often as it stands there."""
    return [name for line in page.splitlines() if line.startswith("`") for name in re.findall(r"`([^`]+)`", line)]


def main():
    modc, folder = sys.argv[1], tempfile.TemporaryDirectory()
    lines = [line.split() for line in (ROOT / "tests/oracle/names.txt").read_text().splitlines() if line[0] != "#"]
    names = [".".join(line) for line in lines]
    page = listed((ROOT / "docs/layers/missing.md").read_text())
    faults, refused = [], set()
    for at in range(0, len(names), AT_ONCE):
        some = names[at:at + AT_ONCE]
        for name, said in zip(some, ask(modc, pathlib.Path(folder.name), some)):
            if "--list" in sys.argv:
                print(f"{name}: {'taken' if said is None else said[0]}")
            if said is None:
                continue
            last = name.split(".")[-1]
            own = [one for one in (name, name.removeprefix("torch."), last) if one in page]
            refused.update(own)
            if not said[1]:
                faults.append(f"{name} is refused without a hint: {said[0]}")
            if not own:
                faults.append(f"{name} is refused, and docs/layers/missing.md does not have it: {said[0]}")
    faults += [f"docs/layers/missing.md has {name}, which PyTorch has not, or modc takes" for name in page
               if name not in refused]
    faults += [f"docs/layers/missing.md has {name} twice" for name in sorted(set(page)) if page.count(name) > 1]
    print("\n".join(faults))
    print(f"{len(names)} names, {len(refused)} on the page, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
