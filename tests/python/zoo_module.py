#!/usr/bin/env python3
"""zoo_module.py - trains networks of the zoo by modc.Module and by PyTorch, and compares.

    tests/python/zoo_module.py [--list tests/python/zoo_module.txt] [--results tests/python/zoo_module_results.txt] [NAME ...]

NAME is as in zoo.py. In training mode, without dropout: the gradients of the first step, the losses of all of them, and the
buffers behind. They have to be within 1e-4 of PyTorch's, gradients relative to the largest number of the parameter's, and to no
less than a hundredth of the largest of all; or within four times the distance that PyTorch itself has from its own float64, where
that is more; or no further than PyTorch is where its parameters are moved by up to four last bits, a few times: rounding decides
which way some ReLUs go. Then "modc's" and "PyTorch's" are the distances of both from float64, in the same order:
gradients/losses/buffers; PyTorch's is the largest of those.
"""
import copy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402

import zoo_run  # noqa: E402
from zoo import made  # noqa: E402

import modc  # noqa: E402
from modc._export.export import OWN_TIMES, doubled  # noqa: E402

BOUND = 1e-4  # ten times that of results
NUDGED = 4  # so many times are parameters moved
FLOOR = 0.01  # of the largest gradient: smaller ones are compared as if they were this


def tensors_of(item):
    if isinstance(item, torch.Tensor):
        return [item]
    if isinstance(item, dict):
        item = list(item.values())
    return [tensor for part in item for tensor in tensors_of(part)] if isinstance(item, (list, tuple)) else []


def largest(tensors):
    return max((float(tensor.abs().max()) for tensor in tensors if tensor.numel()), default=0.0)


def apart(have, want, floor=0.0):
    """The largest difference of tensors, each relative to the largest number of its own, or to `floor`."""
    return max((largest([a.double() - b.double()]) / max(largest([b]), floor, 1e-12) for a, b in zip(have, want)), default=0.0)


def without_dropout(model):
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.p = 0.0
        for name, item in vars(module).items():
            if "drop" in name and isinstance(item, float):
                setattr(module, name, 0.0)
    return model


def twice(item):
    """Two of a batch of one, so that statistics are of something."""
    return torch.cat([item, item.flip(-1)]) if isinstance(item, torch.Tensor) and item.shape[0] == 1 else item


def train(model, args, kwargs, steps):
    """({parameter: gradient of the first step}, the losses, the buffers behind) of SGD."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    gradients, losses = {}, []
    for step in range(steps):
        optimizer.zero_grad()
        loss = sum(tensor.square().mean() for tensor in tensors_of(model(*args, **kwargs)) if tensor.is_floating_point())
        loss.backward()
        losses.append(loss.detach())
        if step == 0:
            gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()
                         if parameter.grad is not None}
        optimizer.step()
    return gradients, losses, [buffer for buffer in model.buffers() if buffer.is_floating_point()]


def nudged(model, seed):
    """A copy in which each number of the parameters is moved by up to OWN_TIMES last bits."""
    model, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                steps = torch.randint(-OWN_TIMES, OWN_TIMES + 1, parameter.shape, generator=generator)
                parameter.mul_(1 + steps * torch.finfo(parameter.dtype).eps)
    return model


def distances(have, want):
    """Of gradients, losses and buffers."""
    if have[0].keys() != want[0].keys():
        return float("inf"), 0.0, 0.0
    floor = FLOOR * largest(want[0].values())
    return apart(have[0].values(), want[0].values(), floor), apart(have[1], want[1]), apart(have[2], want[2])


def try_one(name, options):
    """The row of a network."""
    model, args, kwargs = made(name)
    model = without_dropout(model.train())
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    args, kwargs = tuple(map(twice, args)), {key: twice(item) for key, item in kwargs.items()}
    start = copy.deepcopy(model)
    try:
        net = modc.Module(model, fallback=modc.FallbackPolicy.FALLBACK_DISABLE, cflags=options.cflags)
        have = train(net, args, kwargs, options.steps)
    except modc.Error as error:
        return {"reason": f"{type(error).__name__}: {str(error)[:500]}".replace("\n", " ")}
    want = train(copy.deepcopy(start), args, kwargs, options.steps)
    apart_by = distances(have, want)
    row = dict(zip(("gradients", "losses", "buffers"), (f"{distance:.1e}" for distance in apart_by)))
    if not all(distance <= BOUND for distance in apart_by):
        exact = train(copy.deepcopy(start).double(), doubled(args), doubled(kwargs), options.steps)
        mine, own = distances(have, exact), distances(want, exact)
        moved = [distances(train(nudged(start, seed), args, kwargs, options.steps), exact) for seed in range(NUDGED)]
        most = [max(items) for items in zip(own, *moved)]
        row["modc's"], row["PyTorch's"] = ("/".join(f"{distance:.0e}" for distance in item) for item in (mine, most))
        if not all(distance <= max(BOUND, OWN_TIMES * plain, near) for distance, plain, near in zip(apart_by, own, most)):
            row["reason"] = "too far from PyTorch"
    return row


def add_arguments(parser):
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--cflags", default="-O1 -march=native")


if __name__ == "__main__":
    torch.set_num_threads(1)
    zoo_run.run(__file__, __doc__, try_one, ["gradients", "losses", "buffers", "modc's", "PyTorch's"], add_arguments)
