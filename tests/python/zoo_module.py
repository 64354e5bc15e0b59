#!/usr/bin/env python3
"""zoo_module.py - trains networks of the zoo by modc.Module and by PyTorch, and compares.

    tests/python/zoo_module.py [--list tests/python/zoo_module.txt] [--steps 10] [--cflags FLAGS] [NAME ...]

NAME is as in zoo.py. Without dropout, in training mode: results and gradients of the first step, the losses of all of them, and
the buffers behind. What is printed: the largest difference of each, relative to the largest number, and how long it took to compile.
"""
import argparse
import copy
import sys
import time
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python"))

import torch  # noqa: E402

import modc  # noqa: E402
from zoo import SOURCES, randomised  # noqa: E402

BOUND, LOSS_BOUND = 2e-3, 1e-2


def tensors_of(item):
    if isinstance(item, torch.Tensor):
        return [item]
    if isinstance(item, dict):
        item = item.values()
    return [tensor for part in item for tensor in tensors_of(part)] if isinstance(item, (list, tuple, type({}.values()))) else []


def apart(have, want):
    most = float(want.abs().max()) if want.numel() else 0.0
    return float((have - want).abs().max()) / max(most, 1e-12) if want.numel() else 0.0


def of_network(list_of_gradients):
    """The largest difference of all gradients, relative to the largest number of any of them."""
    most = max((float(want.abs().max()) for _, want in list_of_gradients if want.numel()), default=1.0)
    return max((float((have - want).abs().max()) for have, want in list_of_gradients if want.numel()), default=0.0) / max(most, 1e-12)


def without_dropout(model):
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.p = 0.0
        for name, item in vars(module).items():
            if "drop" in name and isinstance(item, float):
                setattr(module, name, 0.0)
    return model


def loss_of(result):
    floats = [tensor for tensor in tensors_of(result) if tensor.is_floating_point()]
    return sum(tensor.square().mean() for tensor in floats)


def try_one(name, steps, cflags):
    source, _, which = name.partition(":")
    torch.manual_seed(0)
    model, args, kwargs = SOURCES[source](which)
    model = without_dropout(randomised(model.train()))
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    args = tuple(torch.cat([arg, arg.flip(-1)]) if isinstance(arg, torch.Tensor) and arg.shape[0] == 1 else arg for arg in args)
    kwargs = {key: torch.cat([arg, arg.flip(-1)]) if isinstance(arg, torch.Tensor) and arg.shape[0] == 1 else arg
              for key, arg in kwargs.items()}
    other = copy.deepcopy(model)
    net = modc.Module(model, fallback=modc.FallbackPolicy.FALLBACK_DISABLE, cflags=cflags)
    pairs = [(net, torch.optim.SGD(net.parameters(), 1e-3)), (other, torch.optim.SGD(other.parameters(), 1e-3))]
    worst, start = {}, None
    for step in range(steps):
        losses = []
        for f, optimizer in pairs:
            optimizer.zero_grad()
            begin = time.perf_counter()
            loss = loss_of(f(*args, **kwargs))
            start = start or time.perf_counter() - begin
            loss.backward()
            losses.append(loss.detach())
        if step == 0:
            both = list(zip(net.parameters(), other.parameters()))
            lacks = sum((a.grad is None) != (b.grad is None) for a, b in both)
            gradients = [(a.grad, b.grad) for a, b in both if a.grad is not None and b.grad is not None]
            worst["gradients"] = float("inf") if lacks else of_network(gradients)
        worst["loss"] = max(worst.get("loss", 0.0), apart(*losses))
        for _, optimizer in pairs:
            optimizer.step()
    worst["buffers"] = max((apart(a, b) for a, b in zip(net.buffers(), other.buffers()) if a.is_floating_point()), default=0.0)
    good = worst["gradients"] <= BOUND and worst["loss"] <= LOSS_BOUND and worst["buffers"] <= LOSS_BOUND
    return good, ", ".join(f"{key} {value:.1e}" for key, value in worst.items()) + f", {start:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=Path, default=Path(__file__).with_name("zoo_module.txt"))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--cflags", default="-O1 -march=native")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    names = options.names
    if not names:
        names = [line.split()[0] for line in options.list.read_text().splitlines() if line.strip() and line[0] != "#"]
    passed = 0
    for name in names:
        try:
            good, text = try_one(name, options.steps, options.cflags)
        except modc.Error as error:
            good, text = False, f"{type(error).__name__}: {str(error)[:500]}"
        except Exception:
            good, text = False, "crash: " + traceback.format_exc()[-900:]
        passed += good
        print(f"{'ok  ' if good else 'FAIL'} {name:44} {text}", flush=True)
    print(f"{passed} passed, {len(names) - passed} failed")
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
