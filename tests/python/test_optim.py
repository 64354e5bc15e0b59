#!/usr/bin/env python3
"""test_optim.py [MODC] - modc.optim: training that goes from PyTorch to C and back is training in PyTorch alone.

Each case trains three steps in PyTorch, three in emitted C (go_on.c), three in PyTorch, and is compared with nine steps of
PyTorch: parameters, state, schedule and averages. Exits with 77 where there is no PyTorch."""
import ast
import copy
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent.parent / "python"))
try:
    import torch
except ImportError:
    sys.exit(77)
import modc

if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():  # the command, where it is not build/modc
    command = Path(sys.argv.pop(1)).resolve()
    modc.executable = lambda: command

from modc import optim
from modc._build import Compiler, make_once, run_command, runtime_folder

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

SPEC = """modc: 1
model: net
dtype: {dtype}
inputs: {{x: [5, 4]}}
modules:
  trunk: [Linear(4, 8), Tanh(), Linear(8, 8)]
  head: Linear(8, 2)
freeze: trunk.0.bias
forward: return head(tanh(trunk(x)))
training:
  loss: MSELoss()
  optimizer: {optimizer}
  groups:
    - {{params: "*.bias", weight_decay: 0.0, lr: 0.02}}
"""

# optimizer, scheduler or "", decay of averages or 0
CASES = [
    ("SGD(lr=0.05)", "", 0),
    ("SGD(lr=0.05, momentum=0.9, nesterov=True)", "CosineAnnealingWarmRestarts(T_0=2)", 0.9),
    ("SGD(lr=0.05, momentum=0.9, dampening=0.1, maximize=True)", "CyclicLR(base_lr=0.01, max_lr=0.1, step_size_up=4)", 0),
    ("Adam(lr=0.01, betas=(0.8, 0.95), amsgrad=True)",
     "ReduceLROnPlateau(patience=0, factor=0.5, threshold=0.5, cooldown=1)", 0),
    ("AdamW(lr=0.01, weight_decay=0.1)",
     "SequentialLR([LinearLR(total_iters=2), CosineAnnealingLR(T_max=9)], milestones=[2])", 0.8),
    ("RMSprop(lr=0.01)", "", 0),
    ("RMSprop(lr=0.01, momentum=0.8, centered=True, eps=0.01)", "OneCycleLR(max_lr=0.1, total_steps=12)", 0),
    ("Adagrad(lr=0.05, lr_decay=0.1, initial_accumulator_value=0.5)",
     "ChainedScheduler([ExponentialLR(gamma=0.9), StepLR(4)])", 0),
    ("Adadelta(lr=0.5, rho=0.7)", "MultiStepLR([2, 5])", 0),
    ("Adamax(lr=0.01)", "PolynomialLR(total_iters=20, power=2.0)", 0),
    ("NAdam(lr=0.01, weight_decay=0.2)", "ConstantLR(factor=0.5, total_iters=4)", 0.7),
    ("RAdam(lr=0.05, betas=(0.8, 0.9))", "StepLR(step_size=2)", 0),
]
NEWER = [  # arguments that PyTorch 1 has not
    ("Adam(lr=0.01, weight_decay=0.2, decoupled_weight_decay=True)", "", 0),
    ("NAdam(lr=0.01, weight_decay=0.2, decoupled_weight_decay=True, maximize=True)", "", 0),
]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
        self.head = torch.nn.Linear(8, 2)
        self.trunk[0].bias.requires_grad_(False)

    def forward(self, x):
        return self.head(torch.tanh(self.trunk(x)))


def called(text, space, *first, **more):
    """The text of a call, with further arguments: schedulers take the optimizer, those that hold others in the lists, too."""
    def make(node):
        if isinstance(node, ast.List):
            return [make(item) for item in node.elts]
        if not isinstance(node, ast.Call):
            return ast.literal_eval(node)
        name, args = node.func.id, [make(arg) for arg in node.args]
        named = {keyword.arg: make(keyword.value) for keyword in node.keywords}
        return getattr(space, name)(*(() if name == "ChainedScheduler" else first), *args, **named, **more)
    return make(ast.parse(text, mode="eval").body)


class Training:
    """A model with all that trains it, in PyTorch."""

    def __init__(self, optimizer, scheduler, decay, dtype):
        torch.manual_seed(1)
        torch.set_default_dtype(dtype)
        self.model = Model()
        self.x, self.target = torch.randn(5, 4), torch.randn(5, 2)
        biases = [self.model.head.bias, self.model.trunk[2].bias]  # in any order; a frozen one is left out, as by C
        others = [parameter for parameter in self.model.parameters() if parameter.dim() > 1] + [self.model.trunk[0].bias]
        groups = [{"params": biases, "weight_decay": 0.0, "lr": 0.02}, {"params": others}]
        self.optimizer = called(optimizer, torch.optim, groups,
                                foreach=optimizer.startswith("NAdam"))  # whose other way was wrong in PyTorch 1
        self.scheduler = called(scheduler, torch.optim.lr_scheduler, self.optimizer) if scheduler else None
        self.averaged = torch.optim.swa_utils.AveragedModel(
            self.model, avg_fn=lambda average, value, _: decay * average + (1 - decay) * value) if decay else None

    def steps(self, count):
        for _ in range(count):
            self.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(self.model(self.x), self.target)
            loss.backward()
            self.optimizer.step()
            if self.averaged:
                self.averaged.update_parameters(self.model)
            if self.scheduler:
                plateau = isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
                self.scheduler.step(*([loss.item()] if plateau else []))

    def more(self):
        return {"scheduler": self.scheduler, "averaged": self.averaged}

    def tensors(self):
        """All that training changes, by name."""
        averaged = {f"averaged.{name}": tensor for name, tensor in self.averaged.state_dict().items()} if self.averaged else {}
        return {**self.model.state_dict(), **optim.to_tensors(self.optimizer, self.model, **self.more()), **averaged}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="modc-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        self.folder = Path(folder.name)

    def program(self, optimizer, scheduler, decay, dtype, more=""):
        spec = SPEC.format(optimizer=optimizer, dtype=dtype)
        spec += f"  scheduler: {scheduler}\n" if scheduler else ""
        spec += (f"  ema: {decay}\n" if decay else "") + more
        run_command(["generate", "-", "-o", self.folder / "net"], stdin=spec)
        compiler = Compiler(cflags="-O0")
        objects = sorted(make_once(*runtime_folder(compiler)).glob("*.o"))
        real = {"float32": "float", "float64": "double", "float16": "modc_half"}[dtype]
        compiler.run(compiler.command("-Wall", "-Werror", f"-DREAL={real}", *(["-DSCHEDULED"] if scheduler else []),
                                      "-I", self.folder / "net", FOLDER / "go_on.c", self.folder / "net" / "net.c", *objects,
                                      "-lm", "-lpthread", "-o", self.folder / "go_on"))
        return self.folder / "go_on"

    def in_c(self, program, training, steps):
        """Goes on in C, and takes back what it made. The text that the program wrote where it failed."""
        weights, state, data = (self.folder / f"{name}.safetensors" for name in ("weights", "state", "data"))
        save_tensors(weights, training.model.state_dict())
        save_tensors(data, {"x": training.x, "target": training.target})
        optim.save(state, training.optimizer, training.model, **training.more())
        ran = subprocess.run([program, weights, state, data, str(steps)], stderr=subprocess.PIPE, encoding="utf-8", check=False)
        if ran.returncode == 0:
            training.model.load_state_dict(modc.load_file(weights, arrays="torch"))
            optim.load(state, training.optimizer, training.model, **training.more())
        return ran.stderr

    def equal(self, have, wanted, rtol):
        self.assertEqual(sorted(have), sorted(wanted))
        for name, tensor in wanted.items():
            self.assertEqual(have[name].shape, tensor.shape, name)
            if not torch.allclose(have[name].double(), tensor.double(), rtol=rtol, atol=rtol / 10):
                self.fail(f"{name}: {have[name]} is not {tensor}")

    def there_and_back(self, optimizer, scheduler, decay, dtype):
        plain, other = (Training(optimizer, scheduler, decay, getattr(torch, dtype)) for _ in range(2))
        program = self.program(optimizer, scheduler, decay, dtype)
        for training in (plain, other):
            training.steps(3)
        plain.steps(3)
        self.assertEqual(self.in_c(program, other, 3), "")
        rtol = 1e-9 if dtype == "float64" else 1e-4
        self.equal(other.tensors(), plain.tensors(), rtol)
        for training in (plain, other):
            training.steps(3)
        self.equal(other.tensors(), plain.tensors(), rtol)


def save_tensors(path, tensors):
    from modc._files import safetensors_bytes
    path.write_bytes(safetensors_bytes({name: tensor.detach() for name, tensor in tensors.items()}))


class ThereAndBack(Case):
    def test_cases(self):
        for i, case in enumerate(CASES + (NEWER if VERSION >= (2, 6) else [])):
            with self.subTest(case):
                self.there_and_back(*case, "float32" if i % 4 == 3 else "float64")

    def test_begins_and_ends_in_c(self):
        """Without a step before: no parameter has a state yet, and one that a schedule has not begun."""
        training, plain = (Training(*CASES[1], torch.float64) for _ in range(2))
        self.assertEqual(self.in_c(self.program(*CASES[1], "float64"), training, 2), "")
        plain.steps(2)
        self.equal(training.tensors(), plain.tensors(), 1e-9)

    def test_other_optimizers_are_refused_by_c(self):
        program = self.program(*CASES[0], "float64")
        training = Training("SGD(lr=0.05, momentum=0.9)", "", 0, torch.float64)
        training.steps(1)
        self.assertEqual(self.in_c(program, training, 1)[:7], "state: ")


@unittest.skipIf(VERSION < (2, 3), "torch.amp.GradScaler has no 'cpu' yet")
class Scaled(Case):
    """float16 with float32 copies and a scaler."""

    def made(self):
        torch.manual_seed(2)
        model = Model().half()
        masters = {name: parameter.detach().float().requires_grad_() for name, parameter in model.named_parameters()
                   if parameter.requires_grad}
        biases = [masters["trunk.2.bias"], masters["head.bias"]]
        optimizer = torch.optim.Adam([{"params": biases, "weight_decay": 0.0, "lr": 0.02}, {"params": [
            master for master in masters.values() if master.dim() > 1]}], lr=0.01)
        return model, masters, optimizer, torch.amp.GradScaler("cpu", init_scale=512.0, growth_interval=2)

    def stepped(self, count):
        model, masters, optimizer, scaler = self.made()
        x, target = torch.randn(5, 4).half(), torch.randn(5, 2).half()
        for _ in range(count):
            model.zero_grad()
            scaler.scale(torch.nn.functional.mse_loss(model(x), target)).backward()
            for name, parameter in model.named_parameters():
                if name in masters:
                    masters[name].grad = parameter.grad.float()
            scaler.step(optimizer)
            scaler.update()
            with torch.no_grad():
                for name, master in masters.items():
                    model.get_parameter(name).copy_(master)
        return model, masters, optimizer, scaler, {"x": x, "target": target}

    def in_c(self, program, steps, model, masters, optimizer, scaler, data):
        weights, state, given = (self.folder / f"{name}.safetensors" for name in ("weights", "state", "data"))
        save_tensors(weights, model.state_dict())
        save_tensors(given, data)
        optim.save(state, optimizer, model, scaler=scaler, masters=masters)
        subprocess.run([program, weights, state, given, str(steps)], check=True)
        return modc.load_file(weights, arrays="torch"), state

    def test_there_and_back(self):
        program = self.program("Adam(lr=0.01)", "", 0, "float16", "  master: float32\n  scaler: GradScaler(init_scale=512.0)\n")
        for before, steps in ((3, 0), (0, 0), (3, 2)):
            with self.subTest(before=before, steps=steps):
                model, masters, optimizer, scaler, data = self.stepped(before)
                weights, state = self.in_c(program, steps, model, masters, optimizer, scaler, data)
                other, copies, own, read = self.made()
                other.load_state_dict(weights)
                optim.load(state, own, other, scaler=read, masters=copies)
                if steps == 0:  # nothing is lost on the way
                    self.assertEqual(read.state_dict(), scaler.state_dict())
                    self.equal(optim.to_tensors(own, other, scaler=read, masters=copies),
                               optim.to_tensors(optimizer, model, scaler=scaler, masters=masters), 0)
                    self.equal(copies, masters, 0)
                else:
                    self.assertEqual(read.state_dict()["scale"], 4 * 512.0)
                    for name, copy in copies.items():
                        self.assertTrue(torch.equal(copy.half(), other.get_parameter(name)), name)
                        self.assertFalse(torch.equal(copy.half().float(), copy), name)

    def test_messages(self):
        model, masters, optimizer, scaler, _ = self.stepped(1)
        tensors = optim.to_tensors(optimizer, model, masters=masters)
        for wrong, text in ((tensors, "the file has no scaler.scale: its spec has no `scaler`"),
                            ({**tensors, "master.head.bias": torch.ones(3)},
                             "master.head.bias has shape (3,) in the file, (2,) here")):
            with self.assertRaises(ValueError) as caught:
                optim.from_tensors(wrong, optimizer, model, scaler=scaler, masters=masters)
            self.assertEqual(str(caught.exception), text)


class Messages(Case):
    def made(self, optimizer="Adam(lr=0.01)", scheduler="", decay=0):
        training = Training(optimizer, scheduler, decay, torch.float32)
        training.steps(1)
        return training

    def refused(self, tensors, training, text, **more):
        before = copy.deepcopy(training.tensors())
        with self.assertRaises(ValueError) as caught:
            optim.from_tensors(tensors, training.optimizer, training.model, **{**training.more(), **more})
        self.assertEqual(str(caught.exception), text)
        self.equal(training.tensors(), before, 0)

    def test_files(self):
        path = self.folder / "weights.safetensors"
        training = self.made()
        save_tensors(path, training.model.state_dict())
        with self.assertRaises(modc.FileError) as caught:
            optim.load(path, training.optimizer, training.model)
        self.assertEqual(str(caught.exception), f"{path}: it is no state file of an optimizer: it has no 'optimizer'\n"
                         "hint: NET_training_save and modc.optim.save write them; weights are for load_state_dict")

    def test_optimizers(self):
        training = self.made()
        tensors = optim.to_tensors(training.optimizer, training.model)
        self.refused(tensors, self.made("SGD(lr=0.1)"), "the file is of Adam, the optimizer is SGD")
        with self.assertRaises(ValueError) as caught:
            optim.to_tensors(torch.optim.Rprop(training.model.parameters()), training.model)
        self.assertEqual(str(caught.exception), "modc has no optimizer Rprop, but SGD, Adam, AdamW, RMSprop, Adagrad, "
                         "Adadelta, Adamax, NAdam, RAdam")
        with self.assertRaises(ValueError) as caught:
            optim.to_tensors(training.optimizer, training.model.trunk[0])
        self.assertEqual(str(caught.exception), "a parameter of the optimizer, of shape (2,), is none of the model's")

        class Own(torch.optim.AdamW):
            pass
        tensors = optim.to_tensors(Own(training.model.parameters()), training.model)
        self.assertEqual(optim.text_of(tensors["optimizer"]), "AdamW")

    def test_groups(self):
        training = self.made()
        tensors = optim.to_tensors(training.optimizer, training.model)
        other = self.made()
        other.optimizer = torch.optim.Adam(other.model.parameters())
        self.refused(tensors, other, "the file has 2 parameter groups, the optimizer has 1")
        model = other.model
        other.optimizer = torch.optim.Adam([{"params": [model.head.bias]}, {"params": [
            parameter for parameter in model.parameters() if parameter is not model.head.bias]}])
        self.refused(tensors, other, "no parameter group of the file is that of the optimizer with head.bias: "
                     "trunk.2.bias is in one of them alone")
        wrong = {**tensors, "state.head.weight.exp_avg": torch.ones(3)}
        self.refused(wrong, training, "state.head.weight.exp_avg has shape (3,) in the file, head.weight has (2, 8)")

    def test_groups_in_another_order(self):
        """They are told by their parameters."""
        training, other = self.made(), self.made()
        tensors = optim.to_tensors(training.optimizer, training.model)
        other.optimizer.param_groups.reverse()
        other.optimizer.param_groups[0]["lr"] = 5.0
        optim.from_tensors(tensors, other.optimizer, other.model)
        self.assertEqual([group["lr"] for group in other.optimizer.param_groups], [0.01, 0.02])

    def test_schedulers(self):
        training = self.made(scheduler="StepLR(2)")
        tensors = optim.to_tensors(training.optimizer, training.model)
        self.refused(tensors, training, "the file is of 0 schedulers, those that hold others counted; given are 1")
        tensors = optim.to_tensors(training.optimizer, training.model, scheduler=training.scheduler)
        other = self.made(scheduler="CosineAnnealingWarmRestarts(T_0=2)")
        self.refused(tensors, other, "scheduler 0 of the file is no CosineAnnealingWarmRestarts: it has no T_cur")

    def test_averages(self):
        training = self.made(decay=0.9)
        tensors = optim.to_tensors(training.optimizer, training.model)
        self.refused(tensors, training, "the file has no ema.n_averaged: its spec has no `ema`")
        tensors = optim.to_tensors(training.optimizer, training.model, averaged=training.averaged)
        short = {name: tensor for name, tensor in tensors.items() if name != "ema.module.head.bias"}
        self.refused(short, training, "the file has no ema.module.head.bias")
        self.refused({**tensors, "ema.module.head.bias": torch.ones(3)}, training,
                     "ema.module.head.bias has shape (3,) in the file, (2,) here")

    def test_older_pytorch(self):
        training = self.made("NAdam(lr=0.01)")
        tensors = optim.to_tensors(training.optimizer, training.model)
        tensors["param_groups.0.maximize"] = torch.tensor(True)
        for group in training.optimizer.param_groups:
            group.pop("maximize", None)
        with self.assertRaises(ValueError) as caught:
            optim.from_tensors(tensors, training.optimizer, training.model)
        self.assertEqual(str(caught.exception), "the file has maximize=True, which NAdam of this PyTorch has not")

    def test_wrapped(self):
        """A model in a wrapper is named as without it."""
        training = self.made()
        self.assertEqual(set(optim.paths_of(torch.nn.DataParallel(training.model)).values()),
                         {name for name, _ in training.model.named_parameters()})


if __name__ == "__main__":
    unittest.main()
