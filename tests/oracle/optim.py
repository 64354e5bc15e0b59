"""Writes tests/optim/steps.safetensors: what PyTorch 2.15 makes of parameters in ten steps of its optimisers.

    python3 tests/oracle/optim.py           # needs torch 2.15

Case number i is line i of tests/optim/cases.txt. `param` and `grads` are what all cases start from; `i.float64.param` has
the parameter after each step, `i.float64.NAME` the state NAME after the last. Behind each step, lr becomes 0.95 of itself.
"""
import os
import pathlib
import sys

import torch

import safetensors_io

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "optim"
VERSION = "2.15."
COUNT, STEPS = 21, 10


def run(case, param, grads):
    """The parameter after each step, and the state after the last."""
    name, arguments = case.split("(", 1)
    weight = torch.nn.Parameter(param.clone())
    foreach = "" if "foreach" in arguments else "foreach=False"
    separator = ", " if foreach and arguments != ")" else ""
    optimizer = eval(f"torch.optim.{name}([weight], {arguments[:-1]}{separator}{foreach})")
    params = []
    for grad in grads:
        weight.grad = grad.clone()
        optimizer.step()
        params.append(weight.detach().clone())
        for group in optimizer.param_groups:
            group["lr"] *= 0.95
    return torch.stack(params), optimizer.state_dict()["state"].get(0, {})


def main():
    os.chdir(ROOT)
    print(f"torch {torch.__version__}")
    if not torch.__version__.startswith(VERSION):
        print(f"they are made with torch {VERSION}x", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    lines = (FOLDER / "cases.txt").read_text().splitlines()
    cases = [line for line in lines if line and not line.startswith("#")]
    tensors = {"param": torch.randn(COUNT), "grads": torch.randn(STEPS, COUNT)}
    tensors["grads"][:, 0] = 0
    for i, case in enumerate(cases):
        for dtype in (torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            params, state = run(case, tensors["param"].to(dtype), tensors["grads"].to(dtype))
            key = f"{i}.{str(dtype).removeprefix('torch.')}"
            tensors[f"{key}.param"] = params
            for name, value in state.items():
                tensors[f"{key}.{name}"] = value
    safetensors_io.save(FOLDER / "steps.safetensors", tensors)
    print(f"{len(cases)} cases, {(FOLDER / 'steps.safetensors').stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
