"""Writes tests/oracle/names.txt: the names of what can be called, or read of a tensor, in PyTorch 2.15.

    python3 tests/oracle/names.py            # needs torch 2.15

tests/support/names.py holds modc against them: it runs without PyTorch.
"""
import inspect
import pathlib
import types

import torch
import torch.nn.functional

VERSION = "2.15."
SPACES = {"torch": torch, "torch.linalg": torch.linalg, "torch.special": torch.special, "torch.fft": torch.fft,
          "F": torch.nn.functional, "x": torch.Tensor}
# What a name space imports for its own sake.
IMPORTED = {"torch.overrides", "torch._jit_internal", "torch._C", "typing"}


def names_of(space, holder):
    for name in sorted(dir(holder)):
        value = getattr(holder, name, None)
        if name.startswith("_") or inspect.isclass(value) or isinstance(value, types.ModuleType):
            continue
        if space != "x" and not callable(value):
            continue
        if space == "F" and getattr(value, "__module__", None) in IMPORTED and not name.startswith("native_"):
            continue
        yield name


def main():
    if not torch.__version__.startswith(VERSION):
        raise SystemExit(f"this is PyTorch {torch.__version__}; the names are those of {VERSION}")
    lines = ["# Written by tests/oracle/names.py with torch " + VERSION.rstrip(".") + "; change that, not this file.",
             "# A name space and what it has; x is a tensor."]
    for space, holder in SPACES.items():
        lines += [f"{space} {name}" for name in names_of(space, holder)]
    pathlib.Path(__file__).with_name("names.txt").write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 2} names")


if __name__ == "__main__":
    main()
