"""Two modes of one module as one text; models in one of them; and those whose training mode draws nothing, so that it can be
compared."""
import contextlib
import difflib
import re

import torch
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

TOKEN = re.compile(r"\d+\.\d*(?:e[+-]?\d+)?|\w+|'(?:[^'\\]|\\.)*'|\s+|.")
NUMBER = re.compile(r"(?:\d+\.\d*(?:e[+-]?\d+)?|\d+(?:e[+-]?\d+)?|True|False|None)$")
FLAGS = {("False", "True"): "self.training", ("True", "False"): "not self.training"}

# By the name of a function: the position and name of the argument that says how much is dropped, and what drops nothing.
CALM = {"dropout": (1, "p", 0.0), "dropout1d": (1, "p", 0.0), "dropout2d": (1, "p", 0.0), "dropout3d": (1, "p", 0.0),
        "alpha_dropout": (1, "p", 0.0), "feature_dropout": (1, "p", 0.0), "feature_alpha_dropout": (1, "p", 0.0),
        "bernoulli_": (1, "p", 1.0), "scaled_dot_product_attention": (4, "dropout_p", 0.0)}
# What draws, and what takes its place.
STEADY = {"rand": "ones", "randn": "ones", "rand_like": "ones_like", "randn_like": "ones_like"}


def both(evaluation, training):
    """The statements of two modes as those of one body."""
    lines = []
    matcher = difflib.SequenceMatcher(None, evaluation, training, autojunk=False)
    for kind, e, e_end, t, t_end in matcher.get_opcodes():
        if kind == "equal":
            lines += evaluation[e:e_end]
            continue
        here, there = evaluation[e:e_end], training[t:t_end]
        front = alike(here, there)
        here, there = here[len(front):], there[len(front):]
        back = alike(here[::-1], there[::-1])[::-1]
        here, there = here[:len(here) - len(back)], there[:len(there) - len(back)]
        lines += front
        if there and here and not back and (e_end, t_end) == (len(evaluation), len(training)) and there[-1].startswith("return"):
            lines += ["if self.training:"] + ["    " + line for line in there] + here
            continue
        for condition, block in (("if self.training:", there), ("else:" if there else "if not self.training:", here)):
            if block:
                lines += [condition] + ["    " + line for line in block]
        lines += back
    return lines


def alike(here, there):
    """As many first statements of two lists as can be one each."""
    found = []
    for a, b in zip(here, there):
        one = chosen(a, b)
        if one is None:
            break
        found.append(one)
    return found


def chosen(here, there):
    """One statement of two that differ in numbers alone; None."""
    here, there = TOKEN.findall(here), TOKEN.findall(there)
    if len(here) != len(there):
        return None
    text = ""
    for i, (a, b) in enumerate(zip(here, there)):
        if a == b:
            text += a
        elif (a, b) in FLAGS:
            text += FLAGS[a, b]
        elif NUMBER.match(a) and NUMBER.match(b):
            alone = i and here[i - 1] in "=(" and i + 1 < len(here) and here[i + 1] in ",)"
            item = f"{b} if self.training else {a}"
            text += item if alone else f"({item})"
        else:
            return None
    return text


def signature(evaluation, training):
    """The arguments of both modes: where one has more, these are the last ones. None: they differ otherwise."""
    short, long = sorted((evaluation, training), key=len)
    return None if long[:len(short)] != short else short + [f"{name}=None" for name in long[len(short):]]


def calmed(name, args, kwargs):
    """A call that draws as one that does not: (name, args, kwargs); None where there is none."""
    last = name.rsplit(".", 1)[-1]
    if last in STEADY:
        return name[:-len(last)] + STEADY[last], args, kwargs
    if last not in CALM:
        return None
    position, word, nothing = CALM[last]
    if len(args) > position:
        return name, (*args[:position], nothing, *args[position + 1:]), kwargs
    if word in kwargs or last != "scaled_dot_product_attention":
        return name, args, {**kwargs, word: nothing}
    return name, args, kwargs


class Calm(TorchFunctionMode):
    """PyTorch while it draws nothing."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = resolve_name(function) or getattr(function, "__name__", "")
        changed = calmed(name, args, kwargs or {})
        if changed is None:
            return function(*args, **(kwargs or {}))
        name, args, kwargs = changed
        last = name.rsplit(".", 1)[-1]
        return (getattr(torch, last) if last in STEADY.values() else function)(*args, **kwargs)


@contextlib.contextmanager
def calm_modules(model):
    """A block in which the model's modules of torch.nn drop nothing."""
    held = []
    for module in model.modules():
        name = "p" if isinstance(module, nn.modules.dropout._DropoutNd) else \
            "dropout" if isinstance(module, (nn.MultiheadAttention, nn.RNNBase)) else None
        if name is not None:
            held.append((module, name, getattr(module, name)))
            setattr(module, name, 0.0)
    try:
        yield
    finally:
        for module, name, value in held:
            setattr(module, name, value)


def calm_calls(scope):
    """Makes the calls of a scope, and of those below it, ones that draw nothing. False: one of them draws whatever is done."""
    from modc._export.trace import RANDOM
    good = True
    for call in scope.calls:
        if getattr(call, "child", None) is not None:
            good = calm_calls(call.child) and good
        elif call.module is None and hasattr(call, "args"):
            changed = calmed(call.name, call.args, call.kwargs)
            if changed is not None:
                call.name, call.args, call.kwargs = changed
            elif call.name.rsplit(".", 1)[-1] in RANDOM:
                good = False
        elif isinstance(call.module, (nn.RReLU, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)):
            good = False
    return good


@contextlib.contextmanager
def in_mode(model, training):
    """A block with a model in a mode; where it came in training mode, what was in evaluation in it stays so."""
    modes = [(module, module.training) for module in model.modules()]
    fixed = [module for module, mode in modes if model.training and not mode]
    try:
        model.train(training)
        for module in fixed:
            module.training = False
        yield
    finally:
        for module, mode in modes:
            module.training = mode
