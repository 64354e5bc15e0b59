#!/usr/bin/env python3
"""test_training.py - modc.compile of specs with `training:`: steps, the optimizer, schedules, clipping, averages, files."""
import math
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from models import Case, compile, floats, modc

SPEC = """modc: 1
model: fit
sizes: {{batch: 8}}
inputs: {{x: [batch, 2]}}
modules:
  - Linear(2, 4)
  - Tanh()
  - Linear(4, 1)
{backward}
training:
  loss: MSELoss()
  optimizer: {optimizer}
"""


def made(optimizer="SGD(lr=0.1)", *lines, backward="backward: true", **arguments):
    return compile(SPEC.format(optimizer=optimizer, backward=backward) + "".join(f"  {line}\n" for line in lines), **arguments)


ALL = ("groups:\n    - {params: ['*.bias'], lr: 0.2}", "clip: clip_grad_norm_(100.0)", "scheduler: StepLR(2)", "ema: 0.75")
X, TARGET = floats([i % 7 / 7 for i in range(16)], 8, 2), floats([i / 8 for i in range(8)], 8, 1)


def flat(arrays):
    """All numbers of a dict of arrays."""
    found = []

    def walk(item):
        if isinstance(item, list):
            for part in item:
                walk(part)
        else:
            found.append(item)
    for array in arrays.values():
        walk(array.tolist())
    return found


def values(net):
    return flat(net.state_dict("modc"))


class Steps(Case):
    def near(self, have, want, delta=1e-6):
        self.assertEqual(len(have), len(want))
        for one, other in zip(have, want):
            self.assertAlmostEqual(one, other, delta=delta)

    def test_learning_rate(self):
        """A step of SGD is lr times the gradient."""
        net = made("SGD(lr=0.1)", *ALL)
        self.assertEqual(repr(net.optimizer), "SGD (\n" + "".join(
            f"Parameter Group {i}\n    dampening: 0.0\n    initial_lr: {lr}\n    lr: {lr}\n    momentum: 0.0\n    weight_decay: 0.0\n"
            for i, lr in enumerate((0.2, 0.1))) + ")")
        bias, weight = net.optimizer.param_groups
        self.assertEqual([group["params"] for group in (bias, weight)], [["0.bias", "2.bias"], ["0.weight", "2.weight"]])
        self.assertEqual((bias["lr"], weight["lr"], net.optimizer.lr), (0.2, 0.1, 0.2))
        net.optimizer.lr = 0.5
        bias["lr"] = 0.25
        before = {key: flat({"": array}) for key, array in net.state_dict("modc").items()}
        loss = float(net.loss(X, TARGET))
        net.backward()
        gradients = {key: flat({"": array}) for key, array in net.gradients("modc").items()}
        net.optimizer.step()
        for key, array in net.state_dict("modc").items():
            lr = 0.25 if key.endswith("bias") else 0.5
            self.near(flat({"": array}), [w - lr * g for w, g in zip(before[key], gradients[key])])
        self.assertLess(float(net.loss(X, TARGET)), loss)
        self.assertEqual(dict(bias), {"params": ["0.bias", "2.bias"], "lr": 0.25, "momentum": 0.0, "dampening": 0.0,
                                      "weight_decay": 0.0, "initial_lr": 0.2})

    def test_evaluation(self):
        """The loss alone changes nothing."""
        net = made("SGD(lr=0.1)", *ALL)
        before = values(net)
        with net.no_grad():
            loss = float(net.loss(X, TARGET))
        self.assertEqual(values(net), before)
        self.assertAlmostEqual(net.train_step(X, TARGET), loss, places=6)
        self.assertNotEqual(values(net), before)

    def test_clip(self):
        net = made("SGD(lr=0.1)", *ALL)
        self.assertIsNone(net.optimizer.total_norm)
        net.loss(X, TARGET)
        net.backward()
        norm = math.sqrt(sum(value * value for value in flat(net.gradients("modc"))))
        self.assertAlmostEqual(net.clip_grad_norm_(1e9), norm, places=6)
        net.optimizer.step()
        self.assertAlmostEqual(net.optimizer.total_norm, norm, places=6)
        net.clip_grad_norm_(0.01)
        self.near([math.sqrt(sum(value * value for value in flat(net.gradients("modc"))))], [0.01], 1e-5)
        net.zero_grad()
        net.train_step(X, TARGET)
        self.assertNotEqual(net.optimizer.total_norm, norm)
        net.clip_grad_value_(1e-4)
        self.assertLessEqual(max(map(abs, flat(net.gradients("modc")))), 1.001e-4)
        self.assertAlmostEqual(net.clip_grad_norm_(1.0, math.inf), max(map(abs, flat(net.gradients("modc")))), places=7)
        net.zero_grad()
        net.loss(floats([math.nan] * 16, 8, 2), TARGET)
        net.backward()
        self.says(RuntimeError, "clip_grad_norm_(): the norm of the gradients is nan, and they are as they were",
                  net.clip_grad_norm_, 1.0, error_if_nonfinite=True)
        self.says(modc.CallError, "optimizer.step(): a gradient is NaN or infinite", net.optimizer.step)

    def test_scaler(self):
        """A step whose gradients are not finite is left out, and the scale follows."""
        net = made("SGD(lr=0.1)", "scaler: GradScaler(init_scale=256.0, growth_interval=2)")
        self.assertEqual((net.optimizer.scale, net.optimizer.skipped), (256.0, False))
        before = values(net)
        net.train_step(floats([math.inf] * 16, 8, 2), TARGET)
        self.assertEqual((net.optimizer.scale, net.optimizer.skipped, values(net)), (128.0, True, before))
        plain = made("SGD(lr=0.1)")
        plain.load_state_dict(net.state_dict("modc"))
        for scale in (128.0, 256.0, 256.0):
            plain.train_step(X, TARGET)
            net.train_step(X, TARGET)
            self.assertEqual((net.optimizer.scale, net.optimizer.skipped), (scale, False))
            self.near(values(net), values(plain))  # by powers of two nothing is lost
        for one in (net, plain):
            one.zero_grad()
            one.loss(X, TARGET)
            one.backward()
        self.near(flat(net.gradients("modc")), [256.0 * value for value in flat(plain.gradients("modc"))], 1e-4)
        net.optimizer.step()
        self.assertEqual(net.optimizer.scale, 512.0)

    def test_averages(self):
        net = made("SGD(lr=0.1)", *ALL)
        net.train_step(X, TARGET)
        first = values(net)
        net.train_step(X, TARGET)
        second = values(net)
        self.assertEqual(net.optimizer.n_averaged, 2)
        with net.averaged() as same:
            self.assertIs(same, net)
            self.near(values(net), [0.75 * a + 0.25 * b for a, b in zip(first, second)])
        self.assertEqual(values(net), second)

    def test_reset(self):
        net = made("AdamW(lr=0.1)", "scheduler: StepLR(2)", "ema: 0.9")

        def run():
            losses = []
            for _ in range(5):
                losses.append(net.train_step(X, TARGET))
                net.scheduler.step()
            return losses
        losses = run()
        self.assertEqual((net.scheduler.last_epoch, repr(net.scheduler)), (5, "<StepLR, last_epoch 5, lr 0.001>"))
        net.reset(0)
        net.optimizer.reset()
        self.assertEqual((net.scheduler.last_epoch, net.scheduler.get_last_lr()), (0, [0.1]))
        self.assertEqual(run(), losses)
        net.optimizer.param_groups[0]["betas"] = 0.5, 0.75
        self.assertEqual(net.optimizer.param_groups[0]["betas"], (0.5, 0.75))

    def test_files(self):
        """Training goes on where it was."""
        net, other = (made("AdamW(lr=0.1)", "scheduler: StepLR(2)", "ema: 0.9") for _ in range(2))
        with tempfile.TemporaryDirectory() as folder:
            path, weights = Path(folder) / "optim.safetensors", Path(folder) / "net.safetensors"
            for _ in range(3):
                net.train_step(X, TARGET)
                net.scheduler.step()
            net.optimizer.save(path), net.save(weights)
            other.load_state_dict(weights), other.optimizer.load(path)
            for _ in range(3):
                self.assertEqual(other.train_step(X, TARGET), net.train_step(X, TARGET))
                net.scheduler.step(), other.scheduler.step()
            self.assertEqual((other.optimizer.n_averaged, other.scheduler.get_last_lr()), (6, net.scheduler.get_last_lr()))
            load = made("AdamW(lr=0.1)").optimizer.load
            self.says(ValueError, f"{path} does not fit the training of fit: it has a tensor more", load, path)
            self.says(ValueError, f"{weights} does not fit the training of fit: 'optimizer' is not there, or is another", load,
                      weights)
            path.write_bytes(b"no")
            self.says(ValueError, f"{path} is no safetensors file", load, path)
            self.says(OSError, f"{folder}/nowhere cannot be read", load, f"{folder}/nowhere")
            self.says(OSError, f"{folder}/no/where cannot be written", net.optimizer.save, f"{folder}/no/where")


class Schedules(Case):
    def test_ends(self):
        net = made("SGD(lr=0.1)", "scheduler: OneCycleLR(max_lr=1.0, total_steps=2, cycle_momentum=False)")
        net.scheduler.step()
        net.scheduler.step()
        self.says(ValueError, "scheduler.step(): OneCycleLR has no further step", net.scheduler.step)
        self.says(TypeError, "scheduler.step() of OneCycleLR takes nothing", net.scheduler.step, 1.0)
        self.says(modc.Error, "set_lr_lambda(): OneCycleLR takes no function", net.scheduler.set_lr_lambda, abs)

    def test_plateau(self):
        net = made("SGD(lr=1.0)", "scheduler: ReduceLROnPlateau(patience=0, factor=0.5)")
        for metric in (1.0, 2.0, 3.0):
            net.scheduler.step(metric)
        self.assertEqual(net.scheduler.get_last_lr(), [0.25])
        self.says(TypeError, "scheduler.step() of ReduceLROnPlateau takes the metric", net.scheduler.step)
        self.says(TypeError, "the metric is a number, not a str", net.scheduler.step, "low")

    def test_lambda(self):
        net = made("SGD(lr=0.5)", "scheduler: LambdaLR()", "groups:\n    - {params: ['*.bias']}")
        net.scheduler.step()
        self.assertEqual(net.scheduler.get_last_lr(), [0.5, 0.5])
        net.scheduler.set_lr_lambda([lambda epoch: 1 / (1 + epoch), lambda epoch: 2.0 ** epoch])
        self.assertEqual((net.scheduler.last_epoch, net.scheduler.get_last_lr()), (0, [0.5, 0.5]))
        net.scheduler.step()
        self.assertEqual(net.scheduler.get_last_lr(), [0.25, 1.0])
        net.scheduler.set_lr_lambda(lambda epoch: 1 / (1 - epoch))
        self.assertRaises(ZeroDivisionError, net.scheduler.step)
        for wrong in (None, [abs], [abs, 1]):
            self.says(TypeError, "set_lr_lambda() takes a function, or a list of 2, one for each group",
                      net.scheduler.set_lr_lambda, wrong)


class Messages(Case):
    def test_groups(self):
        group = made().optimizer.param_groups[0]
        for name, value, error, text in (
                ("momentum", 0.9, ValueError,
                 "is 0 in the spec, and its step was written without it: another one needs `momentum` there"),
                ("beta", 0.9, KeyError, ": SGD has lr, momentum, dampening, weight_decay"),
                ("lr", "high", TypeError, "is a number, not a str")):
            self.says(error, f"param_groups[0][{name!r}]{'' if text[0] == ':' else ' '}{text}", group.__setitem__, name, value)
        self.says(TypeError, "lr is a number, not a NoneType", setattr, made().optimizer, "lr", None)
        self.says(TypeError, "param_groups[0]['betas'] is two numbers, not 0.9",
                  made("AdamW(lr=0.1)").optimizer.param_groups[0].__setitem__, "betas", 0.9)

    def test_without(self):
        net = made()
        self.says(modc.Error, "scheduler: the `training:` of fit has no scheduler", lambda: net.scheduler)
        self.says(modc.Error, "averaged(): the `training:` of fit has no `ema`", net.averaged().__enter__)
        plain = compile(SPEC.format(optimizer="SGD(lr=0.1)", backward="backward: true").partition("training:")[0])
        self.says(modc.Error, "optimizer: the spec of fit has no `training:`", lambda: plain.optimizer)
        self.says(modc.Error, "scheduler: the spec of fit has no `training:`", lambda: plain.scheduler)
        fused = made(backward="update: fused")
        loss = fused.train_step(X, TARGET)
        self.assertLess(fused.train_step(X, TARGET), loss)
        self.says(modc.Error,
                  "optimizer.step(): the spec of fit has `update: fused`, which keeps no gradients; train_step() steps",
                  fused.optimizer.step)
        for clip in (fused.clip_grad_norm_, fused.clip_grad_value_):
            self.says(modc.Error,
                      f"{clip.__name__}(): fit was compiled without gradients: options=['--backward'], or backward: true in "
                      "the spec, has them", clip, 1.0)


if __name__ == "__main__":
    unittest.main()
