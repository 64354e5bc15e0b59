"""Writes tests/api/hooks.txt: which hooks PyTorch 2.15 calls, in which order, for tests/specs/hooked.yaml.

    python3 tests/oracle/hooks.py            # needs torch 2.15
    python3 tests/oracle/hooks.py --check    # does this torch still say the same?

A line is a call of a hook: which of the two calls it belongs to, its kind, the module (`.`: the root), whose hook it is (g:
a global one; a, b: the module's own, of which b was registered last, with prepend), and in backward a letter for each gradient
of an input and of an output: `-` there is none, `0` it is zero, `+` it is not.
"""
import pathlib
import sys

import torch
from torch.nn.modules import module as hooks

from spec_torch import Spec

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = ROOT / "tests/api/hooks.txt"


def letters(gradients):
    return "".join("-" if gradient is None else "+" if gradient.any() else "0" for gradient in gradients)


def listen(root, log):
    """Each kind of hook, globally and twice on each module; their handles."""
    paths = {module: path or "." for path, module in root.named_modules()}

    def listener(kind, tag):
        def hear(module, *given):
            if module in paths:
                words = [kind, paths[module], tag]
                log(" ".join(words + ([letters(gradients) for gradients in given] if kind.startswith("backward") else [])))
        return hear

    kinds = {"forward_pre": "forward_pre", "forward": "forward", "backward_pre": "full_backward_pre", "backward": "full_backward"}
    for kind, name in kinds.items():
        yield getattr(hooks, f"register_module_{name}_hook")(listener(kind, "g"))
        for module in paths:
            yield getattr(module, f"register_{name}_hook")(listener(kind, "a"))
            yield getattr(module, f"register_{name}_hook")(listener(kind, "b"), prepend=True)


def calls():
    """The lines of forward and backward, then of a loss, in which no input has a gradient."""
    spec = Spec(str(ROOT / "tests/specs/hooked.yaml"), {}, None)
    root, lines = spec.build(0), []
    x = torch.randn(3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    mask = torch.arange(12).reshape(3, 4) % 3 != 1
    spec.size_values = spec.find_sizes({"x": x, "mask": mask})
    for call in ("forward", "loss"):
        own = x.clone().requires_grad_(call == "forward")
        handles = list(listen(root, lambda line, call=call: lines.append(f"{call} {line}")))
        logits, shares = root(own, mask)
        ((logits * logits).mean() + shares[:, 0].mean()).backward()
        for handle in handles:
            handle.remove()
    return "".join(line + "\n" for line in lines)


def main():
    if "--check" in sys.argv[1:]:
        return 0 if calls() == PATH.read_text() else 4
    if not torch.__version__.startswith("2.15."):
        print("the order is written with torch 2.15; use --check", file=sys.stderr)
        return 2
    PATH.write_text(calls())
    return 0


if __name__ == "__main__":
    sys.exit(main())
