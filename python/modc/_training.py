"""What trains a net of a spec with `training:` beside train_step: its optimizer and its scheduler, as torch.optim has them.

All of it belongs to the thread that asks, as its gradients do.
"""
import ctypes
import math
import os
from collections.abc import Mapping

from modc import _library as lib
from modc._errors import Error

LAMBDAS = ("LambdaLR", "MultiplicativeLR")


def number_of(value, name):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is a number, not a {type(value).__name__}") from None


class Part:
    """What this thread's training has."""

    def __init__(self, net, what):
        self._net, self._library, self.about = net, net.library, net.about.get("optimizer")
        if self.about is None:
            raise Error(f"{what}: the spec of {net.name} has no `training:`")

    def _context(self):
        return self._net._core.context()

    @property
    def _training(self):
        return self._context().trainer(self._net._core)

    @property
    def _pointer(self):
        return self._library.optimizer(self._training)

    def _state(self):
        """The norm that was clipped, how often averages were taken, the schedule's last epoch, the scale, whether the last step
        was skipped."""
        state = (ctypes.c_double * 5)()
        self._library.optimizer_state(self._pointer, state)
        return state


class Group(Mapping):
    """One of param_groups: its numbers by PyTorch's names, which may be set, and `params`, the keys of its parameters."""

    def __init__(self, optimizer, index):
        self._optimizer, self._index = optimizer, index
        hypers = optimizer.about["hypers"]
        self._hypers = {"betas" if hyper == "beta1" else hyper: ("beta1", "beta2") if hyper == "beta1" else (hyper,)
                        for hyper in hypers if hyper != "beta2"}

    def _get(self, hyper):
        value = ctypes.c_double()
        self._optimizer._library.optimizer_get(self._optimizer._pointer, self._index, hyper.encode(), ctypes.byref(value))
        return value.value

    def __getitem__(self, name):
        if name == "params":
            return self._optimizer._params(self._index)
        if name == "initial_lr":
            return self._optimizer._library.initial_lr(self._optimizer._pointer, self._index)
        values = tuple(map(self._get, self._hypers[name]))
        return values if name == "betas" else values[0]

    def __setitem__(self, name, value):
        label = f"param_groups[{self._index}][{name!r}]"
        if name not in self._hypers:
            raise KeyError(f"{label}: {self._optimizer.about['name']} has {', '.join(self._hypers)}")
        if name == "betas" and (not isinstance(value, (tuple, list)) or len(value) != 2):
            raise TypeError(f"{label} is two numbers, not {value!r}")
        for hyper, part in zip(self._hypers[name], value if name == "betas" else (value,)):
            status = self._optimizer._library.optimizer_set(self._optimizer._pointer, self._index, hyper.encode(),
                                                            number_of(part, label))
            if status != lib.OK:
                raise ValueError(f"{label} is 0 in the spec, and its step was written without it: another one needs `{name}` "
                                 "there")

    def __iter__(self):
        yield "params"
        yield from self._hypers
        if not math.isnan(self["initial_lr"]):
            yield "initial_lr"

    def __len__(self):
        return len(list(iter(self)))

    def __repr__(self):
        return f"Group({dict(self)})"


class Optimizer(Part):
    """net.optimizer: what the spec's `training:` says, with the numbers of its groups."""

    def __init__(self, net):
        super().__init__(net, "optimizer")
        self.param_groups = [Group(self, i) for i in range(len(self.about["groups"]))]

    def _params(self, index):
        about = self._net.about
        return [about["keys"][about["gradients"][gradient]]["name"] for gradient in self.about["groups"][index]]

    @property
    def lr(self):
        """The learning rate of the first group; setting it sets all."""
        return self.param_groups[0]["lr"]

    @lr.setter
    def lr(self, value):
        value = number_of(value, "lr")
        for group in self.param_groups:
            group["lr"] = value

    @property
    def total_norm(self):
        """The norm of the gradients before the last `clip: clip_grad_norm_(...)` of the spec; None: there was none."""
        norm = self._state()[0]
        return None if math.isnan(norm) else norm

    @property
    def n_averaged(self):
        """How many steps the averages of `ema` have."""
        return int(self._state()[1])

    @property
    def scale(self):
        """What the loss is multiplied by for its gradients, as `scaler.get_scale()`: 1 where the spec has no `scaler`."""
        return self._state()[3]

    @property
    def skipped(self):
        """Whether the last step was left out, since a gradient was NaN or infinite, with a `scaler`."""
        return bool(self._state()[4])

    def step(self):
        """Clips as the spec says, steps with the gradients that are there, and takes averages: all of it or nothing."""
        if self.about["fused"]:
            raise Error(f"optimizer.step(): the spec of {self._net.name} has `update: fused`, which keeps no gradients; "
                        "train_step() steps")
        context = self._context()
        self._library.check(self._library.optimizer_update(self._pointer), "optimizer.step()")
        context.last = None  # of other parameters

    def reset(self):
        """As before the first step: numbers of groups, states, schedule, averages."""
        self._library.check(self._library.optimizer_reset(self._pointer), "optimizer.reset()")

    def save(self, path):
        """Writes all of it to a safetensors file: NET_training_load reads it in C, and modc.optim.load into torch.optim."""
        status = self._library.optimizer_save(self._pointer, os.fsencode(path))
        if status == lib.FILE:
            raise OSError(f"{os.fspath(path)} cannot be written")
        self._library.check(status, f"optimizer.save({os.fspath(path)!r})")

    def load(self, path):
        """Takes it from a file of save(), NET_training_save or modc.optim.save. ValueError of one that does not fit, and
        nothing has changed."""
        fault = ctypes.c_char_p()
        status = self._library.optimizer_load(self._pointer, os.fsencode(path), ctypes.byref(fault))
        if status == lib.FILE:
            raise OSError(f"{os.fspath(path)} cannot be read")
        if status == lib.FORMAT:
            raise ValueError(f"{os.fspath(path)} is no safetensors file")
        if status == lib.KEYS:
            name = (fault.value or b"").decode("utf-8", "replace")
            raise ValueError(f"{os.fspath(path)} does not fit the training of {self._net.name}: "
                             + (f"'{name}' is not there, or is another" if name else "it has a tensor more"))
        self._library.check(status, f"optimizer.load({os.fspath(path)!r})")

    def __repr__(self):
        lines = [f"{self.about['name']} ("]
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}", *[f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]]
        return "\n".join([*lines, ")"])


class Scheduler(Part):
    """net.scheduler: that of the spec's `training:`."""

    def __init__(self, net):
        super().__init__(net, "scheduler")
        if not self.about["schedulers"]:
            raise Error(f"scheduler: the `training:` of {net.name} has no scheduler")
        self.name = self.about["schedulers"][0]

    @property
    def last_epoch(self):
        return int(self._state()[2])

    def get_last_lr(self):
        """The learning rate of each group."""
        return [group["lr"] for group in Optimizer(self._net).param_groups]

    def step(self, metric=None):
        """To be called when an epoch has ended, or with each step, as PyTorch's. ReduceLROnPlateau takes its metric."""
        if (metric is None) == (self.name == "ReduceLROnPlateau"):
            raise TypeError(f"scheduler.step() of {self.name} takes " + ("the metric" if metric is None else "nothing"))
        status = self._library.schedule_step(self._pointer, 0.0 if metric is None else number_of(metric, "the metric"))
        self._raise_of_lambda()
        if status == lib.SIZE:
            raise ValueError(f"scheduler.step(): {self.name} has no further step")
        self._library.check(status, "scheduler.step()")

    def set_lr_lambda(self, lr_lambda):
        """The function of LambdaLR or MultiplicativeLR, of an epoch, or a list with one for each group. The schedule is then at
        its start, and the lr of groups is the spec's."""
        if not any(name in LAMBDAS for name in self.about["schedulers"]):
            raise Error(f"set_lr_lambda(): {self.name} takes no function")
        count = len(self.about["groups"])
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(functions) != count or not all(map(callable, functions)):
            raise TypeError(f"set_lr_lambda() takes a function, or a list of {count}, one for each group")
        memory = self._context().memory

        def run(epoch, group, _):
            try:
                return float(functions[group](epoch))
            except BaseException as error:  # it goes on in Python when C has ended
                memory.lambda_error = error
                return 1.0
        memory.lr_lambda, memory.lambda_error = lib.LambdaFunction(run), None  # which C calls from now on
        self._library.schedule_lambda(self._pointer, memory.lr_lambda)
        self._raise_of_lambda()

    def _raise_of_lambda(self):
        memory = self._context().memory
        error, memory.lambda_error = getattr(memory, "lambda_error", None), None
        if error is not None:
            raise error

    def __repr__(self):
        return f"<{self.name}, last_epoch {self.last_epoch}, lr {', '.join(f'{lr:g}' for lr in self.get_last_lr())}>"
