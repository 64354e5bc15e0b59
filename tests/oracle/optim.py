"""Writes tests/optim/*.safetensors: what PyTorch 2.15 makes of parameters in ten steps of its optimisers, and of learning
rates in 50 steps of its schedulers.

    python3 tests/oracle/optim.py           # needs torch 2.15

Case number i is line i of tests/optim/cases.txt. `param` and `grads` are what all cases start from; `i.float64.param` has
the parameter after each step, `i.float64.NAME` the state NAME after the last. Behind each step, lr becomes 0.95 of itself.

Case number i of schedules.safetensors is line i of tests/optim/schedules.txt. `i` has lr and momentum (or beta1, or 0) of
both groups, from before the first step on; `metrics` is what ReduceLROnPlateau sees.

net_*.safetensors: tests/optim/model.yaml through twelve steps, and a state file as modc writes it, of PyTorch's optimizer.

scaled_*.safetensors: the same model in float16 and bfloat16 through twelve steps of float32 copies under a GradScaler, some of which
have an infinite input: the parameters and copies behind all, and of each step the scale and whether it was skipped.
"""
import math
import os
import pathlib
import re
import sys

import torch
from torch.optim import lr_scheduler

import safetensors_io

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import modc.optim

FOLDER = ROOT / "tests" / "optim"
VERSION = "2.15."
COUNT, STEPS, STEPS_OF_SCHEDULES = 21, 10, 50


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


def read_cases(name):
    lines = (FOLDER / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def build_scheduler(text, optimizer):
    """The scheduler of a case: each constructor gets the optimizer, as its first argument or, for a chain, as its last."""
    def call(name):
        def make(*args, **kwargs):
            if name == "ChainedScheduler":
                return lr_scheduler.ChainedScheduler(*args, optimizer=optimizer, **kwargs)
            if name in ("LambdaLR", "MultiplicativeLR"):
                return getattr(lr_scheduler, name)(optimizer, [lambda t: 1 / (1 + 0.1 * t), lambda t: 0.97])
            return getattr(lr_scheduler, name)(optimizer, *args, **kwargs)
        return make
    return eval(text, {name: call(name) for name in re.findall(r"\w+(?=\()", text)})


def momentum(group):
    return group["betas"][0] if "betas" in group else group.get("momentum", 0)


def run_schedule(case, metrics):
    name, text = case.split(" ", 1)
    name, _, arguments = name.partition("(")
    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": lr} for lr in (0.1, 0.02)]
    optimizer = eval(f"torch.optim.{name}(groups, {arguments or ')'}", {"torch": torch, "groups": groups})
    scheduler = build_scheduler(text, optimizer)
    rows = []
    for step in range(STEPS_OF_SCHEDULES + 1):
        rows.append([[group["lr"], momentum(group)] for group in optimizer.param_groups])
        if step == 20:
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
        optimizer.step()
        if step < STEPS_OF_SCHEDULES:
            scheduler.step(*([metrics[step].item()] if text.startswith("ReduceLROnPlateau") else []))
    return torch.tensor(rows, dtype=torch.float64)


def write_schedules():
    cases = read_cases("schedules.txt")
    generator = torch.Generator().manual_seed(1)
    noise = torch.rand(STEPS_OF_SCHEDULES, generator=generator, dtype=torch.float64)
    tensors = {"metrics": 1 + noise + torch.tensor([math.exp(-t / 5) for t in range(STEPS_OF_SCHEDULES)])}
    for i, case in enumerate(cases):
        tensors[str(i)] = run_schedule(case, tensors["metrics"])
    safetensors_io.save(FOLDER / "schedules.safetensors", tensors)
    print(f"{len(cases)} schedules, {(FOLDER / 'schedules.safetensors').stat().st_size} bytes")


class Net(torch.nn.Module):
    """tests/optim/model.yaml, with what its `training:` says."""

    def __init__(self):
        super().__init__()
        self.trunk = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
        self.head = torch.nn.Linear(8, 2)
        self.trunk[0].bias.requires_grad_(False)

    def forward(self, x):
        return self.head(torch.tanh(self.trunk(x)))

    def optimizer(self):
        biases, others = [self.trunk[2].bias, self.head.bias], [self.trunk[0].weight, self.trunk[2].weight]
        groups = [{"params": biases, "weight_decay": 0.0}, {"params": [self.head.weight], "lr": 0.05}, {"params": others}]
        return torch.optim.NAdam(groups, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1, decoupled_weight_decay=True,
                                 foreach=False)


def schedule_of_net(optimizer):
    return lr_scheduler.SequentialLR(optimizer, [lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=3),
                                                 lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4)], milestones=[3])


def run_net(net, optimizer, scheduler, average, x, weight, steps):
    for step in steps:
        optimizer.zero_grad()
        (net(x) * weight).sum().backward()
        if step == 4:
            net.head.bias.grad = None
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.5, foreach=False)
        optimizer.step()
        average.update_parameters(net)
        scheduler.step()


def write_net():
    """The model before, in the middle and behind twelve steps, with the state file of the middle."""
    torch.manual_seed(3)
    net = Net()
    x, weight = torch.randn(5, 4), torch.randn(5, 2)
    optimizer = net.optimizer()
    scheduler = schedule_of_net(optimizer)
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))

    def save(name, tensors):
        safetensors_io.save(FOLDER / f"net_{name}.safetensors", {key: value.clone() for key, value in tensors.items()})

    save("data", {"x": x, "weight": weight})
    save("before", net.state_dict())
    run_net(net, optimizer, scheduler, average, x, weight, range(6))
    save("middle", net.state_dict())
    trained = [name for name, parameter in net.named_parameters() if parameter.requires_grad]
    save("middle_state", modc.optim.to_tensors(optimizer, net, scheduler=scheduler, averaged=average))
    run_net(net, optimizer, scheduler, average, x, weight, range(6, 12))
    save("behind", net.state_dict())
    save("behind_average", {name: average.module.get_parameter(name).detach() for name in trained})


PLANTED = (4, 8, 9)


def write_scaled(dtype):
    """Steps on float32 copies, as Apex's O2 and DeepSpeed take them, with the scaler of PyTorch itself."""
    torch.manual_seed(5)
    net = Net().to(dtype)
    x, weight = torch.randn(5, 4).to(dtype), torch.randn(5, 2).to(dtype)
    trained = {name: parameter for name, parameter in net.named_parameters() if parameter.requires_grad}
    tensors = {"x": x, "weight": weight, **{f"before.{name}": value.clone() for name, value in net.state_dict().items()}}
    copies = {name: parameter.detach().float().requires_grad_() for name, parameter in trained.items()}
    optimizer = torch.optim.SGD(copies.values(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=262144.0, growth_interval=3)
    average = {name: copy.detach().clone() for name, copy in copies.items()}
    scales, skipped, taken = [], [], 0
    for step in range(12):
        net.zero_grad()
        given = x.clone()
        if step in PLANTED:
            given[1, 2] = math.inf
        scaler.scale((net(given).float() * weight.float()).sum()).backward()
        for name, parameter in trained.items():
            copies[name].grad = parameter.grad.float()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(copies.values(), 1.5, foreach=False)
        before = [copy.detach().clone() for copy in copies.values()]
        scaler.step(optimizer)
        scaler.update()
        skipped.append(all(torch.equal(old, new) for old, new in zip(before, copies.values())))
        scales.append(scaler.get_scale())
        with torch.no_grad():
            for name, parameter in trained.items():
                parameter.copy_(copies[name])
                if not skipped[-1]:
                    average[name] = 0.9 * average[name] + (1 - 0.9) * copies[name] if taken else copies[name].clone()
        taken += not skipped[-1]
    tensors.update({f"behind.{name}": value.clone() for name, value in net.state_dict().items()})
    tensors.update({f"master.{name}": copy.detach() for name, copy in copies.items()})
    tensors.update({f"average.{name}": value.detach() for name, value in average.items()})
    tensors["scales"], tensors["skipped"] = torch.tensor(scales), torch.tensor(skipped)
    name = str(dtype).removeprefix("torch.")
    safetensors_io.save(FOLDER / f"scaled_{name}.safetensors", tensors)
    print(f"{name}: scales {scales}, skipped {''.join('01'[skip] for skip in skipped)}")


def main():
    os.chdir(ROOT)
    print(f"torch {torch.__version__}")
    if not torch.__version__.startswith(VERSION):
        print(f"they are made with torch {VERSION}x", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    cases = read_cases("cases.txt")
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
    torch.set_default_dtype(torch.float32)
    write_schedules()
    write_net()
    write_scaled(torch.float16)
    write_scaled(torch.bfloat16)
    return 0


if __name__ == "__main__":
    sys.exit(main())
