"""Draws a spec, weights and inputs from a seed, and what PyTorch makes of them.

    python3 tests/oracle/random_specs.py SEED FOLDER     # spec.yaml, weights, and inputs and expect of some runs

Trees, classes, statements and runs are drawn here, calls of the rows of modc's catalogue in rows.py.

What is drawn is the same in torch 1.13 and 2.15, and well-conditioned: comparisons that decide something are between
inputs and constants, never between computed floats, where the last bit would decide. A draw that PyTorch refuses, or
whose results are huge, tiny or lost in rounding, is thrown away, and the next one of the same seed is taken.
"""
import argparse
import ast
import functools
import json
import math
import pathlib
import random
import re
import shutil
from collections import namedtuple

import torch
from torch import nn

import modc_run
import program
import random_generation
import rows
import safetensors_io
import torch_run
from spec_torch import List, Spec, Uncertain, drawn_range

# The kinds of specs by seed: any thirteen in a row have them all. How many rows of the catalogue each draws.
KINDS = ["rows", "graph", "rows", "tensors", "rows", "images", "rows", "list", "rows", "rows", "stream", "rows", "decoder"]
ROWS = {"rows": 15, "graph": 4, "tensors": 4, "images": 3, "list": 0, "stream": 0, "decoder": 0}
INTEGERS = ["int8", "int4", "int4(group=8, scale=bfloat16)", "int8(group=16, rounding=gguf)", "int4(group=16, rounding=gguf)",
            "{default: int4(group=8, scale=float32)}"]
UNARY = ["relu({a})", "tanh({a})", "sigmoid({a})", "gelu({a})", "leaky_relu({a}, 0.2)", "{a}.abs()", "-{a}", "sin({a})",
         "cos({a})", "exp(-{a}.abs())", "sqrt({a}.abs() + 0.25)", "{a} ** 2", "{a} * 0.5 + 1.0", "1.5 - {a}",
         "2 / ({a} * {a} + 1.0)", "torch.tanh({a} / 2)", "F.relu({a} - 0.125)", "rsqrt({a} * {a} + 0.5)",
         "log1p({a}.abs())", "silu({a})", "softplus({a})", "hardtanh({a})", "elu({a})", "erf({a})", "{a}.clone()",
         "minimum({a}, {a} * 0.25)", "gelu({a}, approximate='tanh')"]
BINARY = ["{a} + {b}", "{a} - 0.5 * {b}", "{a} * {b}", "{a} / ({b}.abs() + 1.5)", "maximum({a}, {b})",
          "minimum({a}, {b})", "0.25 * {a} + 0.75 * {b}"]
# Of a complex tensor z, one of its shape.
COMPLEX = ["{z} * (0.5 - 0.25j)", "{z} * {z}.conj() + 1j", "{z} / (2 + {z}.abs())", "torch.exp({z} * 0.1)", "{z}.roll(1, -1) - 2 * {z}",
           "torch.polar({z}.abs() + 0.5, {z}.real * 0.5)", "{z} + {z}.sum(-1, keepdim=True) * 0.25j", "{z}.flip(-1) - {z}.imag",
           "torch.fft.ifft(torch.fft.fft({z}) * 0.5)", "torch.fft.fft({z}, norm='ortho')", "torch.stack(({z}, 1j * {z})).mean(0)",
           "torch.cat(({z}[..., 1:], {z}[..., :1]), -1)", "torch.einsum('...i,...j->...i', {z}, {z}) * 0.1", "2 / ({z} + (4 + 1j))",
           "torch.tanh({z} * 0.25)", "torch.asin({z} * 0.25)", "torch.acosh({z} * 0.1 + 2)", "torch.atan({z} * 0.125)", "({z} * 0.1 + 2) ** ({z} * 0.25)", "{z}.reshape(-1, {z}.shape[-1]).T.T.view({z}.shape)", "torch.view_as_complex(torch.view_as_real({z}) * 0.5)"]
# Changes of a in place, of which b has the shape.
IN_PLACE = ["{a} += {b} * 0.5", "{a} *= 0.75", "{a} -= 1.25", "{a} += {b}", "{a}.mul_(0.5)", "{a}.add_({b}, alpha=0.5)", "{a}.copy_({b})",
            "{a}.lerp_({b}, 0.25)", "{a}.clamp_(-50, 50)", "{a}.div_(2).sub_(0.125)", "{a}.square_().mul_(0.25)",
            "{a}.addcmul_({b}, {b}, value=0.125)", "{a}.real.mul_(1.5)", "{a}[...] = {b} * 0.25", "{a}.fill_(0.5)"]
# What stands around a layer that has a weight.
PARAMETRIZED = {"Linear": ["nn.utils.weight_norm({m})", "nn.utils.weight_norm({m}, dim=None)", "orthogonal({m})", "spectral_norm({m})",
                           "nn.utils.spectral_norm({m})", "orthogonal({m}, orthogonal_map='cayley')"],
                "Conv2d": ["nn.utils.weight_norm({m})", "spectral_norm({m}, n_power_iterations=2)", "nn.utils.spectral_norm({m})"]}
ACTIVATIONS = ["ReLU()", "Tanh()", "Sigmoid()", "GELU()", "GELU(approximate='tanh')", "LeakyReLU()", "LeakyReLU(0.2)",
               "LeakyReLU(negative_slope=0.125)"]
# Words of C, and those that emitted code has for itself, are names like any other; a child may have that of a function
# of PyTorch.
LOCALS = ["h", "y", "z", "mixed", "features", "total", "default", "left", "right", "union", "part", "register", "score",
          "k", "p", "s", "i", "ws", "net", "status", "x0", "e0", "y2", "row", "out_", "fc_out",
          "fc_call", "head_in_slots", "line", "sum_", "out", "din"]
CHILDREN = ["fc", "head", "trunk", "norm", "linear", "default", "proj", "encoder", "static", "inner", "outer",
            "softmax", "base", "k", "p", "y", "packed", "weight", "out"]
INPUTS = ["x", "x1", "image", "query", "data", "signal", "in_", "table_in", "sample", "value"]
SIZES = {"batch": ["batch", "batch", "n", "b", "rows", "p"], "tokens": ["tokens", "tokens", "t", "w", "k"],
         "height": ["height", "h", "lines"], "more": ["length", "more", "many"]}

CLASSES = {
    "Residual(dim, expand=2)": """
    modules:
      norm: LayerNorm(dim)
      up: Linear(dim, expand * dim)
      act: {activation}
      down: Linear(expand * dim, dim)
    parameters:
      scale: {{shape: [dim], init: ones}}
    forward(x):
      - return x + down(act(up(norm(x)))) * scale""",
    "Gate(dim, out, wide=True)": """
    modules:
      value: Linear(dim, out)
      gate: Linear(dim, out, bias=False)
      skip: Linear(dim, out) if wide else Identity()
    buffers:
      offset:
        value: 0.125 * arange(0, out)
        persistent: {persistent}
    forward(x, more=None):
      - v = value(x) * sigmoid(gate(x)) + offset
      - return skip(x) + v if more == None else skip(x) + v * more""",
    "Affine(dim)": """
    parameters:
      weight: {{shape: [dim], init: normal_(mean=1.0, std=0.25)}}
      bias: {{shape: [dim]}}
    forward(x):
      - return x * weight + bias""",
    "Stack(dim, count)": """
    modules:
      blocks: count x Affine(dim)
      layers:
        - Linear(dim, dim + i) for i in range(2)
        - {activation}
      last: Linear(dim + 1, dim)
    forward(x):
      - h = blocks(x)
      - return last(layers[2](layers[1](layers[0](h) + x)))""",
    "Head(dim, out)": """
    modules:
      - Linear(dim, 2 * dim)
      - {activation}
      - Linear(2 * dim, out)""",
    "ConvBlock(cin, cout, stride=1)": """
    modules:
      conv: Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
      norm: BatchNorm2d(cout)
      skip: Conv2d(cin, cout, 1, stride=stride) if cin != cout or stride != 1 else Identity()
    forward(x):
      - h = norm(conv(x))
      - return relu(h + skip(x))""",
}
# A tree in which one class stands deep in two others, which call it with values of other shapes: once and again, of one
# instance and of several, under lists and beside what is never called.
CLASSES |= {
    "Feed(dim)": """
    modules:
      wi: Linear(dim, dim + 3, bias=False)
      act: {activation}
      wo: Linear(dim + 3, dim, bias=False)
    forward(x):
      - return wo(act(wi(x)))""",
    "Layer(dim)": """
    modules:
      feed: Feed(dim)
    forward(x):
      - return 0.5 * x + 0.5 * feed(x)""",
    "Near(dim)": """
    modules:
      layer: [Affine(dim), Layer(dim)]
    forward(x):
      - return layer[1](layer[0](x))""",
    "Far(dim)": """
    modules:
      layer:
        - Affine(dim)
        - Layer(dim)
        - Feed(dim)
    forward(x, y):
      - h = layer[1](x.unsqueeze(0))
      - return layer[2](layer[1](h[0] + y)) + h[0]""",
    "Lower(dim, count)": """
    modules:
      block: count x Near(dim)
    forward(x):
      - return block(x)""",
    "Upper(dim)": """
    modules:
      block: [Far(dim), Near(dim)]
    forward(x, y):
      - h = block[0](x, y)
      - return block[1](stack([h, y]))[0]""",
    "Tree(dim, count=1)": """
    modules:
      lower: Lower(dim, count)
      upper: Upper(dim)
    forward(x):
      - h = lower(x)
      - return upper(h, x) + lower(h.unsqueeze(0))[0]""",
}
# The same with a buffer that is read, written and read again.
WRITING = {
    "Affine(dim)": """
    parameters:
      weight: {{shape: [dim], init: normal_(mean=1.0, std=0.25)}}
      bias: {{shape: [dim]}}
    buffers:
      level: {{shape: [dim], init: ones}}
    forward(x):
      - y = x * weight * level + bias
      - self.level = 0.5 * level + 0.5 * weight
      - return 0.5 * y + 0.5 * level * x""",
}
NEEDS = {"Stack(dim, count)": ["Affine(dim)"],
         "Tree(dim, count=1)": ["Affine(dim)", "Feed(dim)", "Layer(dim)", "Near(dim)", "Far(dim)", "Lower(dim, count)",
                                "Upper(dim)"]}
FUNCTIONS = {
    "swap(v)": ["half = v.shape[-1] // 2", "return cat([v[..., half:], v[..., :half]], dim=-1)"],
    "blend(v, w, amount=0.25)": ["return v * amount + w * (1.0 - amount)"],
    "pair(v)": ["return v * 0.5, (v.abs(), 1.5)"],
    "centre(v)": ["m = v.mean(dim=-1, keepdim=True)", "return v - m"],
}


class Dim(namedtuple("Dim", "factor atoms")):
    """A product of a number and of sorted texts: sizes, and bracketed expressions that are known only as such."""

    def __new__(cls, factor, atoms=()):
        return super().__new__(cls, factor, tuple(sorted(atoms)))

    @property
    def const(self):
        return self.factor if not self.atoms else None

    def __str__(self):
        return " * ".join(([str(self.factor)] if self.factor != 1 or not self.atoms else []) + list(self.atoms))

    def times(self, other):
        return Dim(self.factor * other.factor, self.atoms + other.atoms)

    def plus(self, other):
        if self.atoms == other.atoms:
            return Dim(self.factor + other.factor, self.atoms)
        return Dim(1, (f"({' + '.join(sorted((str(self), str(other))))})",))

    def stepped(self, step):
        """The length of [::step]."""
        if self.const is not None:
            return Dim(-(-self.const // step))
        return Dim(1, (f"(({self} + {step - 1}) // {step})",))

    def less(self, number):
        return Dim(self.const - number) if self.const is not None else Dim(1, (f"({self} - {number})",))

    def window(self, kernel, stride, padding, dilation=1):
        gap = 2 * padding - dilation * (kernel - 1) - 1
        if self.const is not None:
            return Dim((self.const + gap) // stride + 1)
        if stride == 1:
            return self if gap == -1 else Dim(1, (f"({self} {'-' if gap < -1 else '+'} {abs(gap + 1)})",))
        return Dim(1, (f"(({self} + {gap}) // {stride} + 1)",))


class Value(namedtuple("Value", "name dims kind raw uses base values extent", defaults=(None, None))):
    """`kind`: float (the model's dtype), int (int64), bool, or another dtype, which only rows take. `values`, `extent`: of
    an input, see rows.numbers. `raw`: a copy of inputs, so that comparing it is safe. `uses`: statements needed.
    `base`: equal for values that may share memory, where `+=` would show in both."""


class Rejected(Exception):
    pass


class Shaped(namedtuple("Shaped", "shape")):
    """What a Dim says of a value at some sizes."""


class Draw:
    def __init__(self, seed, attempt, catalogue=None):
        self.random = random.Random(f"{seed}.{attempt}")
        self.kind, self.own = KINDS[seed % len(KINDS)], f"{seed}.{attempt}"
        self.dtype = "float64" if self.random.random() < 0.2 else "float32"
        self.constants, self.sizes, self.inputs = {}, {}, {}  # inputs: name: (dims, kind)
        self.classes, self.functions = {}, set()
        self.tensors = {"parameters": {}, "buffers": {}, "state": {}}
        self.modules = {}  # name: YAML lines
        self.shared = []  # (name, dims in, dims out) of modules that may be called once more
        self.statements, self.values, self.names = [], [], set()
        self.entry, self.sequence, self.dropout, self.batchnorm, self.winograd, self.attends = None, False, False, False, False, False
        self.backward = self.trains = False
        self.rows = rows_of(seed, catalogue) + self.through_time(catalogue) if catalogue else []
        self.probes = {}  # size: its values where rows are tried, the maximum first
        self.shapes = {}  # name: {probe: shape} of values whose dims only `name.shape[i]` says
        self.wanted = []  # names of rows' results: something has to return them
        self.bare = set()  # functions that are called without `torch.` or `F.`
        self.drawn = []
        own = random.Random(f"{self.own}.storage")
        narrow = self.dtype == "float32" and own.random() < 0.15
        self.storage = own.choice(["bfloat16", "float16", "bfloat16(bits=12)", *INTEGERS]) if narrow else None
        self.dynamic = self.storage in INTEGERS and random.Random(f"{self.own}.dynamic").random() < 0.4
        own = random.Random(f"{self.own}.half")
        if self.dtype == "float32" and not narrow and own.random() < 0.1:
            self.dtype = own.choice(["bfloat16", "float16"])
        own = random.Random(f"{self.own}.autocast")
        casts = self.dtype == "float32" and not narrow and own.random() < AUTOCAST_RATE
        casts = casts and rows.HERE >= rows.version("2.15")  # whose lists these are
        self.autocast = own.choice(["bfloat16", "bfloat16", "float16"]) if casts else None

    def through_time(self, catalogue):
        """Sometimes a recurrent layer, out of turn: there are few such rows, and much can be wrong with their gradients."""
        own = random.Random(f"{self.own}.through_time")
        found = [row for row in rows.draws_of(catalogue) if row[0].name in ("RNN", "LSTM", "GRU")]
        return [(*own.choice(found), None)] if found and ROWS[self.kind] and own.random() < 0.15 else []

    # ---- small draws

    def chance(self, p):
        return self.random.random() < p

    def pick(self, items):
        return self.random.choice(list(items))

    def number(self, n):
        """The number, or the name of a constant that is it."""
        named = [name for name, value in self.constants.items() if value == n]
        return named[0] if named and self.chance(0.7) else str(n)

    def features(self):
        return self.pick([1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 17, 31, self.pick([33, 40, 64, 70]), *self.constants.values()])

    def new_name(self, words):
        name = self.pick(words)
        while name in self.names or name.upper() in {n.upper() for n in self.names}:
            name = f"{name.rstrip('0123456789')}{self.random.randrange(100)}"
        self.names.add(name)
        return name

    def size(self, name, most):
        name = self.pick(SIZES[name])
        self.sizes[name] = most
        self.names.add(name)
        # Other values than those of other sizes, by which they are told apart; the last is so large that what is the same
        # there as at the maximum is constant.
        beyond = 2 * most + 7 + len(self.probes)
        self.probes[name] = [most, 1, 2, beyond]
        for _ in range(20 if most > 3 else 0):
            self.probes[name] = [most, *self.random.sample(range(1, most), 2), beyond]
            if all(own[1:3] != self.probes[name][1:3] for key, own in self.probes.items() if key != name):
                break
        self.probes[name] += [min(edge, most) for edge in range(3)]
        return Dim(1, (name,))

    def input(self, name, dims, kind="float", values="normal", extent=None):
        if any(" - " in atom for dim in dims for atom in dim.atoms):
            raise rows.Refused("a dimension may be negative")
        self.inputs[name] = (dims, kind, values, extent)
        self.names.add(name)
        self.values.append(Value(name, tuple(dims), kind, True, frozenset(), name, values, extent))
        return self.values[-1]

    # ---- statements

    def say(self, text, dims, kind, operands, raw=False, view=False):
        """Appends `NAME = text`; sometimes NAME is that of an operand, whose old value is then gone. `view`: the result
        may share memory with the first operand."""
        dims = tuple(dims)
        if len(dims) > 6:
            return None
        again = [v for v in operands if v.name not in self.inputs and v.kind == kind and v.name not in self.shapes
                 and v.name not in self.wanted]
        if again and self.chance(0.15):
            name = again[0].name
            self.values = [v for v in self.values if v.name != name]
        else:
            name = self.new_name(LOCALS)
        uses = frozenset().union(*(v.uses for v in operands), {len(self.statements)})
        self.statements.append(f"{name} = {text}")
        self.values.append(Value(name, dims, kind, raw, uses, operands[0].base if view else len(self.statements)))
        return self.values[-1]

    def say_parts(self, targets, text, parts, operand):
        """Appends `TARGETS = text`, where {0}, {1} of targets are new names; parts are (dims, view) of each."""
        names = [self.new_name(LOCALS) for _ in parts]
        self.statements.append(f"{targets.format(*names)} = {text}")
        uses = operand.uses | {len(self.statements) - 1}
        for name, (dims, view) in zip(names, parts):
            base = operand.base if view else f"{len(self.statements)} {name}"
            self.values.append(Value(name, tuple(dims), operand.kind, operand.raw and view, uses, base))

    def some(self, kind=None, test=lambda v: True):
        """A value; later ones are likelier."""
        found = [v for v in self.values if v.kind == kind or (kind is None and v.kind in ("float", "int", "bool"))]
        found = [v for v in found if not any(dim.const == 0 for dim in v.dims) and test(v)]
        if not found:
            return None
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    def partner(self, value, kind=None):
        """A value that broadcasts against another: equal, one, or absent dimensions."""
        def fits(other):
            pairs = zip(reversed(value.dims), reversed(other.dims))
            return other is not value and all(a == b or a.const == 1 or b.const == 1 for a, b in pairs)
        return self.some(kind, fits)

    @staticmethod
    def broadcast(a, b):
        longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
        tail = [y if x.const == 1 else x for x, y in zip(longer[len(longer) - len(shorter):], shorter)]
        return longer[:len(longer) - len(shorter)] + tuple(tail)

    def step(self):
        choices = [self.unary, self.binary, self.slice, self.cat, self.reshape, self.permute, self.reduce, self.matmul,
                   self.where, self.integer, self.compare, self.softmax, self.call_function, self.parameter, self.shape,
                   self.parts, self.add_in_place, self.make_tensor, self.condition, self.complex, self.complex_tensor] + [self.attention] * 2
        if self.kind == "graph":
            choices += [self.module] * 8
        if self.kind == "images":
            choices += [self.image_module] * 14 + [self.module]
        self.pick(choices)()

    def unary(self):
        a = self.some("float")
        return a and self.say(self.pick(UNARY).format(a=a.name), a.dims, "float", [a])

    def binary(self):
        a = self.some("float")
        b = a and self.partner(a, self.pick(["float", "float", "float", "int"]))
        if not b:
            return None
        text = self.pick(BINARY if b.kind == "float" else ["{a} + {b}", "{a} * {b} * 0.25"])
        a, b = (a, b) if b.kind == "int" or self.chance(0.5) else (b, a)
        return self.say(text.format(a=a.name, b=b.name), self.broadcast(a.dims, b.dims), "float", [a, b])

    def is_never_empty(self, dim):
        """At sizes of at least 1."""
        ones = self.probe_count() - 2
        return all(self.shape_at([Dim(1, (atom,))], ones)[0] > 0 for atom in dim.atoms)

    def slice(self):
        a = self.some(None, lambda v: v.dims)
        if not a:
            return None
        items, dims = [], []
        for dim in a.dims:
            n = dim.const
            way = self.random.randrange(9)
            if way == 0 and n is not None and n > 1:
                low = self.random.randrange(n)
                high = self.random.randrange(low + 1, n + 1)
                items.append(f"{low}:{high}" if self.chance(0.7) else f"{low - n}:{high}")
                dims.append(Dim(high - low))
            elif way == 1:
                step = self.pick([2, 3])
                items.append(f"::{step}")
                dims.append(dim.stepped(step))
            elif way == 2 and n is not None and n > 1:  # of a size it is max(size - 1, 0), which no Dim says
                items.append(self.pick(["1:", ":-1"]))
                dims.append(dim.less(1))
            elif way == 3 and len(a.dims) > 1 and (n is not None or self.is_never_empty(dim)):
                items.append(self.pick(["0", "-1"] if n is None else [str(self.random.randrange(n)), "-1"]))
            elif way == 4 and len(a.dims) < 5:
                items += ["None", ":"]
                dims += [Dim(1), dim]
            else:
                items.append(":")
                dims.append(dim)
        if set(items) == {":"}:
            return None
        whole = 0
        while whole < len(items) and items[whole] == ":":
            whole += 1
        if whole > 1 and self.chance(0.7):
            items = ["..."] + items[whole:]
        while len(items) > 1 and items[-1] == ":" and "..." not in items:
            items.pop()
        return self.say(f"{a.name}[{', '.join(items)}]", dims, a.kind, [a], a.raw, view=True)

    def cat(self):
        a = self.some("float", lambda v: v.dims)
        if not a:
            return None
        axis = self.random.randrange(len(a.dims))

        def fits(v):
            return len(v.dims) == len(a.dims) and all(i == axis or x == y
                                                      for i, (x, y) in enumerate(zip(a.dims, v.dims)))

        parts = [a] + [self.some("float", fits) for _ in range(self.pick([1, 1, 2]))]
        dims = list(a.dims)
        for part in parts[1:]:
            dims[axis] = dims[axis].plus(part.dims[axis])
        shown = axis if self.chance(0.5) else axis - len(dims)
        tail = f", dim={shown}" if self.chance(0.7) else f", {shown}"
        return self.say(f"cat([{', '.join(p.name for p in parts)}]{'' if shown == 0 else tail})", dims, "float", parts)

    def reshape(self):
        a = self.some(None, lambda v: v.dims)
        if not a:
            return None
        ways, old = [], list(a.dims)
        i = self.random.randrange(len(old))
        n = old[i].const
        if len(old) > 1:
            j = self.random.randrange(len(old) - 1)
            merged = old[:j] + [old[j].times(old[j + 1])] + old[j + 2:]
            free = j if merged[j].const is None and self.chance(0.4) else None
            text = ", ".join("-1" if k == free else str(d) for k, d in enumerate(merged))
            ways += [(f"{a.name}.reshape({text})", merged), (f"{a.name}.reshape(({text},))", merged)]
            rest = Dim(1)
            for dim in old[j:]:
                rest = rest.times(dim)
            ways += [(f"{a.name}.flatten({j})", old[:j] + [rest]), (f"flatten({a.name}, {j})", old[:j] + [rest])]
            if n == 1:
                ways += [(f"{a.name}.squeeze({i})", old[:i] + old[i + 1:])] * 2
        for divisor in (d for d in range(2, n or 0) if n % d == 0):
            parts = old[:i] + [Dim(divisor), Dim(n // divisor)] + old[i + 1:]
            ways.append((f"{a.name}.reshape({', '.join(map(str, parts))})", parts))
        if len(old) < 5:
            ways.append((f"{a.name}.unsqueeze({i})", old[:i] + [Dim(1)] + old[i:]))
        text, dims = self.pick(ways)
        return self.say(text, dims, a.kind, [a], a.raw, view=True)

    def permute(self):
        a = self.some(None, lambda v: len(v.dims) > 1)
        if not a:
            return None
        order = list(range(len(a.dims)))
        if len(order) == 2 and self.chance(0.5):
            order, text = [1, 0], f"{a.name}.T"
        elif self.chance(0.3):
            order[-2:] = order[:-3:-1]
            text = self.pick([f"{a.name}.mT", f"{a.name}.transpose(-1, -2)"])
        elif self.chance(0.3):
            i, j = self.random.sample(order, 2)
            order[i], order[j] = order[j], order[i]
            text = f"transpose({a.name}, {i}, {j})"
        else:
            self.random.shuffle(order)
            text = f"{a.name}.permute({', '.join(map(str, order))})"
        return self.say(text, [a.dims[i] for i in order], a.kind, [a], a.raw, view=True)

    def reduce(self):
        a = self.some(None, lambda v: v.dims)
        exact = self.some("float", lambda v: v.dims and v.raw)
        if exact and self.chance(0.2):
            axis, keep = self.random.randrange(len(exact.dims)), self.chance(0.5)
            dims = exact.dims[:axis] + ((Dim(1),) if keep else ()) + exact.dims[axis + 1:]
            text = f"{exact.name}.{self.pick(['argmax', 'argmin'])}({axis}{', keepdim=True' if keep else ''})"
            return self.say(text, dims, "int", [exact])
        if not a:
            return None
        axes = sorted(self.random.sample(range(len(a.dims)), self.pick([1, 1, 1, min(2, len(a.dims))])))
        keep = self.chance(0.4)
        dims = [Dim(1) if i in axes else d for i, d in enumerate(a.dims) if keep or i not in axes]
        shown = [i if self.chance(0.5) else i - len(a.dims) for i in axes]
        one, tail = len(axes) == 1, ", keepdim=True" if keep else ""
        where = f"dim={shown[0]}" if one else f"dim=({', '.join(map(str, shown))})"
        if a.kind == "bool":
            if not one:
                return None
            name = self.pick(["any", "all", "sum"])
            return self.say(f"{a.name}.{name}({where}{tail})", dims, "int" if name == "sum" else "bool", [a])
        ways = ["sum", "amax", "amin"] + (["mean", "mean"] if a.kind == "float" else [])
        if one:
            ways += ["max", "min"]
            if a.kind == "float" and (a.dims[axes[0]].const or 0) > 2:
                ways += ["var", "std"]
        way = self.pick(ways)
        text = f"{a.name}.{way}({where}{tail})"
        if way in ("max", "min"):
            return self.say(text + ".values", dims, a.kind, [a], a.raw)
        if way in ("sum", "mean") and self.chance(0.1):
            return self.say(f"{a.name}.{way}()", [], a.kind, [a])
        if way == "sum" and a.kind == "float":
            text += " * 0.25"
        return self.say(text, dims, a.kind, [a], a.raw and way in ("amax", "amin"))

    def matmul(self):
        a = self.some("float", lambda v: len(v.dims) >= 1)
        if not a:
            return None
        b = self.some("float", lambda v: 2 <= len(v.dims) and len(a.dims) >= 2 and v.dims[-2] == a.dims[-1]
                      and all(x == y for x, y in zip(reversed(a.dims[:-2]), reversed(v.dims[:-2]))))
        if b and self.chance(0.6):
            longer = a.dims if len(a.dims) >= len(b.dims) else b.dims
            dims = longer[:-2] + (a.dims[-2], b.dims[-1])
            text = self.pick(["{a} @ {b}", "matmul({a}, {b})", "({b}.mT @ {a}.mT).mT"]).format(a=a.name, b=b.name)
            return self.say(f"({text}) * 0.25" if self.chance(0.5) else text, dims, "float", [a, b])
        if len(a.dims) < 2:
            return None
        gram = self.chance(0.5)
        dims = a.dims[:-2] + ((a.dims[-2],) * 2 if gram else (a.dims[-1],) * 2)
        text = self.pick(["{a} @ {a}.transpose(-2, -1)", "{a}[..., ::2] @ {a}[..., ::2].mT"] if gram
                         else ["{a}.mT @ {a}", "{a}.mT @ {a}.mT.mT"])
        return self.say(text.format(a=a.name) + " * 0.125", dims, "float", [a])

    def where(self):
        a = self.some("float", lambda v: v.dims)
        mask = a and self.some("bool", lambda v: v.dims)
        if not mask:
            return None
        for text, dims in ((mask.name, mask.dims), (mask.name + "[..., None]", mask.dims + (Dim(1),)),
                           (mask.name + "[:, None]", mask.dims[:1] + (Dim(1),) + mask.dims[1:])):
            pairs = list(zip(reversed(a.dims), reversed(dims)))
            if all(x == y or x.const == 1 or y.const == 1 for x, y in pairs) and len(dims) <= 5:
                dims = self.broadcast(a.dims, dims)
                if self.chance(0.5) and dims == a.dims:
                    return self.say(f"{a.name}.masked_fill({text}, {self.pick(['0.0', '-1.5', '2'])})", dims, "float",
                                    [a, mask])
                other = self.some("float", lambda v: v.dims == a.dims)
                second = self.pick([other.name, f"{a.name} * 0.5", "0.0"])
                return self.say(f"where({text}, {a.name}, {second})", dims, "float", [a, mask, other])
        return None

    def integer(self):
        a = self.some("int")
        if not a:
            return None
        if self.chance(0.2):
            text = self.pick(["{a}.float()", "{a} / 2", "{a}.to(float32) * 0.5", "{a} * 0.25"])
            return self.say(text.format(a=a.name), a.dims, "float", [a])
        b = self.partner(a, "int")
        if b and self.chance(0.5):
            text = self.pick(["{a} + {b}", "{a} - {b}", "{a} * 2 - {b}"]).format(a=a.name, b=b.name)
            return self.say(text, self.broadcast(a.dims, b.dims), "int", [a, b])
        text = self.pick(["{a} // 2", "{a} % 3", "{a} // -3", "{a} % -4", "-{a}", "{a} + 7", "3 - {a}", "{a} * {a}",
                          "{a}.abs()", "{a} % 5 - {a} // 2"]).format(a=a.name)
        return self.say(text, a.dims, "int", [a])

    def compare(self):
        m = self.some("bool")
        other = m and self.partner(m, "bool")
        if other and self.chance(0.4):
            text = self.pick(["{a} & {b}", "{a} | {b}", "{a} ^ {b}", "{a} & ~{b}", "{a} == {b}"])
            return self.say(text.format(a=m.name, b=other.name), self.broadcast(m.dims, other.dims), "bool", [m, other])
        if m and self.chance(0.3):
            text, kind = self.pick([("~{a}", "bool"), ("{a}.long()", "int"), ("{a}.float()", "float"),
                                    ("{a} * 2", "int")])
            return self.say(text.format(a=m.name), m.dims, kind, [m])
        a = self.some("int" if self.chance(0.5) else "float", lambda v: v.kind == "int" or v.raw)
        if not a:
            return None
        right = self.pick(["1", "-2", "0"] if a.kind == "int" else ["0.25", "-0.5", "0", "inf"])
        return self.say(f"{a.name} {self.pick(['==', '!=', '<', '<=', '>', '>='])} {right}", a.dims, "bool", [a])

    def softmax(self):
        a = self.some("float", lambda v: v.dims)
        if not a or not self.chance(0.4):
            return None
        axis = self.random.randrange(len(a.dims))
        texts = ["F.softmax({a}, {i})", "{a}.softmax(dim={i})", "log_softmax({a}, dim={i})"]
        if "softmax" not in self.modules:  # a child of this name would be meant
            self.names.add("softmax")
            texts.append("softmax({a}, dim={i})")
        return self.say(self.pick(texts).format(a=a.name, i=axis), a.dims, "float", [a])

    def attention(self):
        """Of a value's rows to those of another, or of all of them to each other; over biases and masks."""
        a = self.some("float", lambda v: 3 <= len(v.dims) <= 4 and v.dims[-1].const != 1)
        b = a and self.some("float", lambda v: v.dims[:-2] == a.dims[:-2] and v.dims[-1] == a.dims[-1])
        if not b:
            return None
        x, y, dims = a.name, b.name, a.dims
        if self.chance(0.5):
            rows = functools.reduce(Dim.times, a.dims[:-1])
            x, dims, b = f"{x}.flatten(0, -2)", (rows, a.dims[-1]), a
            y = x
        scores = f"{x} @ {y}.mT * {self.pick(['0.1', '0.25'])}"
        way = self.random.randrange(4)
        if way == 0:
            scores += f" + {y}.sum(-1)[..., None, :]"
        elif way == 1:
            scores = f"({scores}).masked_fill({y}.sum(-1)[..., None, :] * 0.0 != 0.0, -inf)"
        text = self.pick([f"F.softmax({scores}, -1) @ {y}", f"({y}.mT @ F.softmax({scores}, -1).mT).mT"])
        if way == 2:
            text = f"F.scaled_dot_product_attention({x}, {y}, {y}, is_causal={self.chance(0.7)})"
        self.attends = True
        return self.say(text + self.pick(["", "", " * 0.5"]), dims, "float", [a, b])

    def parts(self):
        """Several names at once."""
        a = self.some("float", lambda v: v.dims)
        if not a:
            return None
        if self.chance(0.4):
            self.functions.add("pair(v)")
            self.names.add("pair")
            if self.chance(0.5):
                return self.say(f"pair({a.name})[1][0] * 0.5", a.dims, "float", [a])
            rest = self.new_name(["rest", "factor"])
            self.say_parts("{0}, ({1}, " + rest + ")", f"pair({a.name})", [(a.dims, False)] * 2, a)
            left = self.values[-1]
            return self.say(f"{left.name} * {rest}", a.dims, "float", [left])
        i = self.random.randrange(len(a.dims))
        n = a.dims[i].const
        if n is None or n < 2:
            return None
        half = (n + 1) // 2
        parts = [a.dims[:i] + (Dim(m),) + a.dims[i + 1:] for m in (half, n - half)]
        return self.say_parts("{0}, {1}", f"{a.name}.chunk(2, dim={i})", [(dims, True) for dims in parts], a)

    def add_in_place(self):
        """A change in place of a value that shares its memory with no other."""
        bases = [v.base for v in self.values]
        a = self.some("float", lambda v: not v.raw and v.base not in self.inputs and bases.count(v.base) == 1)
        if not a:
            return None
        b = self.some("float", lambda v: v.dims == a.dims)
        self.statements.append(self.pick(IN_PLACE).format(a=a.name, b=b.name))
        uses = a.uses | b.uses | {len(self.statements) - 1}
        self.values = [v for v in self.values if v.name != a.name] + [a._replace(uses=uses)]
        return self.values[-1]

    def complex(self):
        """By way of complex tensors, whose parts lie side by side."""
        a = self.some("float", lambda v: v.dims and v.dims[-1].const and v.dims[-1].const % 2 == 0)
        if not a:
            return None
        z = self.pick(["torch.view_as_complex({a}.unflatten(-1, (-1, 2)).contiguous())", "torch.complex({a}[..., ::2], {a}[..., 1::2])"])
        text = self.pick(COMPLEX).format(z="z_")
        return self.say(f"torch.view_as_real(({text}).resolve_conj()).flatten(-2)".replace("z_", z.format(a=a.name)), a.dims, "float", [a])

    def complex_tensor(self):
        """A parameter or buffer of a complex type, beside a value whose parts lie side by side."""
        a = self.some("float", lambda v: v.dims and v.dims[-1].const and v.dims[-1].const % 2 == 0)
        if not a:
            return None
        n, name = a.dims[-1].const // 2, self.new_name(["phase", "turn", "carrier"])
        z, m = f"torch.view_as_complex({a.name}.unflatten(-1, (-1, 2)).contiguous())", self.pick([0, 0, 1, 3])
        self.tensors[self.pick(["parameters", "buffers"])][name] = \
            f"{{shape: [{n}{f', {m}' * (m > 0)}], dtype: {'complex64' if self.dtype == 'float32' else 'complex128'}, init: ones}}"
        text = f"{z} @ {name}.to({z}.dtype) * 0.25" if m else self.pick(["{z} * {p}", "{z} + {p} * 1j", "({z} - {p}.conj()) * 0.5"])
        return self.say(f"torch.view_as_real({text.format(z=z, p=name)}).flatten(-2)",
                        a.dims[:-1] + (Dim(2 * m),) if m else a.dims, "float", [a])

    def make_tensor(self):
        """zeros, ones, full and arange beside a value."""
        a = self.some("float", lambda v: v.dims and v.dims[-1].const)
        if not a or not self.chance(0.5):
            return None
        shape, n = ", ".join(map(str, a.dims)), a.dims[-1].const
        text = self.pick(["{a} + 0.5 * ones(({s}))", "{a} * ones({s})", "{a} - full(({s}), 0.25)",
                          "{a} + arange({n}) * 0.25", "{a} + ones_like({a})", "maximum({a}, zeros_like({a}))",
                          "cat([{a}, zeros(({s}))], dim=0)", "{a}[None].expand(2, {s})"])
        dims = a.dims
        if text.startswith("cat"):
            dims = (dims[0].plus(dims[0]),) + dims[1:]
        elif "expand" in text:
            dims = (Dim(2),) + dims
        shape = shape + "," if len(a.dims) == 1 and "((" in text else shape
        return self.say(text.format(a=a.name, s=shape, n=n), dims, "float", [a], view="expand" in text)

    def condition(self):
        """A condition that is known while generating."""
        a = self.some("float", lambda v: v.dims)
        if not a or not self.chance(0.5):
            return None
        tests = [f"{a.name}.ndim == 2", "self.training", f"{a.name}.shape[-1] > 4 and {a.name}.ndim > 1"
                 if a.dims[-1].const else "not self.training", *(f"{name} >= 8" for name in self.constants)]
        return self.say(f"{a.name} * 2.0 if {self.pick(tests)} else {a.name} - 0.5", a.dims, "float", [a])

    def call_function(self):
        name = self.pick([name for name in FUNCTIONS if name != "pair(v)"])
        word = name.partition("(")[0]
        a = self.some("float", lambda v: v.dims and (v.dims[-1].const or 0) > 1)
        b = a and self.partner(a, "float")
        if not a or (word == "blend" and not b):
            return None
        self.functions.add(name)
        self.names.add(word)
        if word == "blend":
            text = self.pick(["blend({a}, {b})", "blend({a}, {b}, 0.5)", "blend({a}, w={b}, amount=0.75)"])
            return self.say(text.format(a=a.name, b=b.name), self.broadcast(a.dims, b.dims), "float", [a, b])
        return self.say(f"{word}({a.name})", a.dims, "float", [a])

    def parameter(self):
        """A parameter or buffer of the top level, broadcast over the last dimension."""
        a = self.some("float", lambda v: v.dims and v.dims[-1].const)
        if not a:
            return None
        n = a.dims[-1].const
        section = self.pick(["parameters", "buffers"])
        name = self.new_name(["gain", "shift", "table"])
        if self.chance(0.2):
            m = self.features()
            self.tensors[section][name] = f"{{shape: [{n}, {m}], init: ones}}"
            return self.say(f"{a.name} @ {name} * 0.25", a.dims[:-1] + (Dim(m),), "float", [a])
        self.tensors[section][name] = self.pick([f"{{shape: [{n}], init: ones}}", f"{{shape: [{n}]}}",
                                                 f"{{value: 0.25 * arange({n})}}"])
        return self.say(self.pick(["{a} * {p}", "{a} + {p}", "({a} - {p}) * 0.5"]).format(a=a.name, p=name), a.dims,
                        "float", [a])

    def shape(self):
        """What shapes say, as numbers."""
        a = self.some("float", lambda v: v.dims)
        if not a or not self.chance(0.5):
            return None
        i = self.random.randrange(len(a.dims))
        count = self.pick([f"{a.name}.shape[{i}]", f"{a.name}.size({i - len(a.dims)})", f"{a.name}.ndim", *self.sizes])
        return self.say(f"{a.name} * ({count} + 1) * 0.125", a.dims, "float", [a])

    # ---- rows of the catalogue; what rows.Call needs

    @staticmethod
    def constant_dim(number):
        return Dim(number)

    def some_size(self, most):
        """A size of the spec, perhaps a new one, of at most that many."""
        old = [name for name in self.sizes if 3 <= self.sizes[name] <= most]
        if most >= 3 and len(self.sizes) < 3 and self.chance(0.3 if old else 0.7):
            return self.size(self.pick([word for word in SIZES if not self.names & set(SIZES[word])] or ["more"]), most)
        return Dim(1, (self.pick(old),)) if old else Dim(self.random.randint(1, most))

    BEYOND = 3  # the first probe of zeros, which say shapes alone: it is beyond all maxima, those behind it are 0, 1, 2

    def probe_count(self):
        return self.BEYOND + 4 if self.sizes else 1

    def sizes_at(self, probe):
        return {name: values[probe] for name, values in self.probes.items()}

    def shape_at(self, dims, probe):
        names = {**self.sizes_at(probe), **{name: Shaped(shapes[probe]) for name, shapes in self.shapes.items()
                                            if probe in shapes}}
        return tuple(eval(str(dim), {}, names) for dim in dims)

    def numbers_at(self, value, probe):
        shape = self.shape_at(value.dims, probe)
        if probe >= self.BEYOND:
            return torch.full(shape, int(value.values == "lengths"), dtype=getattr(torch, self.dtype_text(value.kind)))
        extent = value.extent and self.shape_at([value.extent], probe)[0]
        return rows.numbers(random.Random(f"{value.name} {probe}"), value.kind, value.values or "normal", shape,
                            getattr(torch, self.dtype_text(value.kind)), extent)

    def dtype_text(self, kind):
        return {"float": self.dtype, "int": "int64"}.get(kind, kind)

    def kind_of_dtype(self, dtype):
        name = str(dtype).replace("torch.", "")
        return {self.dtype: "float", "int64": "int"}.get(name, name)

    def has_child(self, name):
        return name in self.modules

    def new_operand(self, dims, kind, values, extent, weight):
        if not weight:
            nothing = self.shape_at(dims, self.probe_count() - 3) if self.sizes else ()
            if any(n < 0 for n in nothing):
                raise rows.Refused("an input of less than nothing")
            return self.input(self.new_name(INPUTS), dims, kind, values, extent)
        name = self.new_name(["table", "gain", "kernel"])
        self.tensors["parameters"][name] = f"{{shape: [{', '.join(map(str, dims))}]}}"
        return Value(name, tuple(dims), "float", False, frozenset(), name)

    def mark(self):
        return (dict(self.inputs), list(self.values), set(self.names), dict(self.sizes), dict(self.probes),
                dict(self.tensors["parameters"]), set(self.bare), self.dropout)

    def restore(self, kept):
        self.inputs, self.values, self.names, self.sizes, self.probes, parameters, self.bare, self.dropout = kept
        self.tensors["parameters"] = parameters

    def row(self):
        """The next row in turn: a call of it, with a module where it is a layer."""
        line, row, place, due = self.rows.pop()
        for tries in range(60):
            try:
                call = rows.Call(self, line, row, place, due if tries < 40 else None).draw()
                break
            except rows.FAULTS:
                continue
        else:
            return
        self.names |= self.bare
        if call.module:
            name = self.new_name(CHILDREN)
            self.modules[name] = [" " + call.module]
            call.text = call.text.replace("{module}", self.pick(["", "", "self."]) + name)
            self.batchnorm = self.batchnorm or line.train
        if call.results is None:
            self.say_number(call)
        else:
            self.say_results(call)
        self.drawn += call.drawn

    def say_number(self, call):
        """Where the result is no tensor."""
        a = call.operands[0]
        text = call.text + ("[-1]" if isinstance(call.scalar, tuple) else "")
        text = f"{a.name} if {text} else -{a.name}" if isinstance(call.scalar, bool) else f"{a.name} * ({text})"
        self.wanted.append(self.say(text, a.dims, "float", [a], view=isinstance(call.scalar, bool)).name)

    def say_results(self, call):
        """Names for a row's results, whose dims are known by trying."""
        names = [self.new_name(LOCALS) for _ in call.results]
        uses = frozenset().union(*(v.uses for v in call.operands), {len(self.statements)})
        self.statements.append(f"{call.target.format(*names)} = {call.text}")
        raw = all(v.raw for v in call.operands) and not call.module
        base = call.operands[0].base if call.operands else names[0]
        for name, (kind, shapes) in zip(names, call.results):
            dims = tuple(self.dim_of(name, i, shapes, call.operands) for i in range(len(shapes[0])))
            exact = kind != "float" and raw
            self.values.append(Value(name, dims, kind, exact, uses, base))
        self.wanted += names

    def dim_of(self, name, i, shapes, operands):
        found = {probe: shape[i] for probe, shape in shapes.items()}
        if len(set(found.values())) == 1:
            return Dim(found[0])
        for value in operands:
            for dim in value.dims:
                if dim.const is None and all(self.shape_at([dim], probe)[0] == n for probe, n in found.items()):
                    return dim
        self.shapes[name] = shapes
        return Dim(1, (f"{name}.shape[{i}]",))

    # ---- modules

    def use_class(self, name):
        for needed in [*NEEDS.get(name, ()), name]:
            text = WRITING.get(needed) if random.Random(f"{self.own}.{needed}").random() < 0.25 else None
            self.classes.setdefault(needed, (text or CLASSES[needed]).format(activation=self.pick(ACTIVATIONS),
                                                                   persistent=self.pick(["true", "false"])))
            self.names.add(needed.partition("(")[0])

    def linear(self, n, out):
        n, out = self.number(n), self.number(out)
        return self.pick([f"Linear({n}, {out})", f"Linear({n}, {out})", f"Linear({n}, {out}, bias=False)",
                          f"Linear(in_features={n}, out_features={out})", f"nn.Linear({n}, {out}, True)"])

    def dropout_module(self):
        p = self.pick(["0.0", "0.25", "p=0.5"])
        self.dropout = self.dropout or p != "0.0"
        return f"Dropout({p})"

    def layer(self, dims):
        """A module for values whose last dimension is a number: (YAML of one line, dims of its result)."""
        n = dims[-1].const
        out = self.features()
        way = self.random.randrange(15)
        if way < 4:
            return self.linear(n, out), dims[:-1] + (Dim(out),)
        if way < 7:
            return self.pick(ACTIVATIONS), dims
        if way == 7 and n > 2:
            m = dims[-2].const if len(dims) > 1 else None
            if m and self.chance(0.3):
                return f"LayerNorm([{m}, {n}])", dims
            return self.pick([f"LayerNorm({self.number(n)})", f"LayerNorm({n}, eps=1e-3)", f"LayerNorm(({n},))",
                              f"LayerNorm({n}, elementwise_affine=False)"]), dims
        if way == 8:
            return self.dropout_module(), dims
        if way == 9 and n > 2:
            self.use_class("Residual(dim, expand=2)")
            return self.pick([f"Residual({self.number(n)})", f"Residual({n}, expand=3)", self.repeated(n)]), dims
        if way == 10:
            self.use_class("Gate(dim, out, wide=True)")
            if self.chance(0.4):
                return f"Gate({n}, {n}, wide=False)", dims
            return f"Gate({n}, out={out})", dims[:-1] + (Dim(out),)
        if way == 11:
            self.use_class("Head(dim, out)")
            return f"Head({self.number(n)}, {out})", dims[:-1] + (Dim(out),)
        if way == 12:
            self.use_class("Stack(dim, count)")
            return f"Stack({n}, {self.pick([1, 2, 4])})", dims
        if way == 13:
            self.use_class("Tree(dim, count=1)")
            return self.pick([f"Tree({self.number(n)})", f"Tree({n}, count=2)", f"2 x Tree({n})"]), dims
        self.use_class("Affine(dim)")
        return self.pick([f"Affine({n})", f"2 x Affine({n})", f"Affine({n}) for i in range(2)"]), dims

    def parametrized(self, text):
        """A layer whose weight is computed, now and then."""
        ways = PARAMETRIZED.get(text.partition("(")[0], []) if text.endswith(")") else []
        if max(map(int, re.findall(r"\d+", text)), default=0) > 128:  # which would work on a square matrix of that side
            ways = [way for way in ways if "orthogonal" not in way]
        return self.pick(ways).format(m=text) if ways and self.chance(0.2) else text

    def repeated(self, n):
        """Several of a class that has weights to pack."""
        own, text = self.pick([("Residual(dim, expand=2)", f"Residual({n})"), ("Head(dim, out)", f"Head({n}, {n})"),
                               ("Gate(dim, out, wide=True)", f"Gate({n}, {n})")][0 if n > 2 else 1:])
        self.use_class(own)
        return f"{self.pick([2, 3, 4])} x {text}"

    def image_layer(self, dims):
        """The same for (N, C, H, W)."""
        c = dims[1].const
        way = self.random.randrange(10)
        if way < 4:
            kernel, stride, padding = self.pick([1, 2, 3, 3, 3, 5]), self.pick([1, 1, 2]), self.pick([0, 1, 1, 2])
            dilation = self.pick([1, 1, 1, 2])
            out, groups = self.pick([1, 2, 3, 4, 8, 16, 16, 16, self.pick([17, 20, 33])]), 1
            if c == 16 and self.chance(0.7):  # what Winograd takes
                kernel, stride, dilation, out, self.winograd = 3, 1, 1, 16, True
            elif self.chance(0.2):
                groups = self.pick([n for n in range(1, c + 1) if c % n == 0])
                out = groups * self.pick([1, 2, 3])
            if min(d.const or 99 for d in dims[2:]) + 2 * padding < dilation * (kernel - 1) + 1:
                return "Identity()", dims
            arguments = [self.number(c), str(out), self.pick([str(kernel), f"kernel_size=({kernel}, {kernel})"])]
            for name, value, usual in (("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1),
                                       ("groups", groups, 1)):
                if value != usual:
                    arguments.append(f"{name}={value}")
            if self.chance(0.3):
                arguments.append("bias=False")
            found = tuple(d.window(kernel, stride, padding, dilation) for d in dims[2:])
            return f"Conv2d({', '.join(arguments)})", (dims[0], Dim(out)) + found
        if way < 6:
            self.batchnorm = True
            return self.pick([f"BatchNorm2d({self.number(c)})", f"BatchNorm2d({c}, eps=1e-3, momentum=0.25)",
                              f"BatchNorm2d({c}, affine=False)"]), dims
        if way < 8:
            kernel, other = self.pick([2, 2, 3]), None
            stride, padding = self.pick([None, 1, 2]), self.pick([0, 0, 1])
            if self.chance(0.2):
                other = self.pick([2, 3, 4])
            if min(d.const or 99 for d in dims[2:]) < max(kernel, other or 0):
                return self.pick(ACTIVATIONS), dims
            text = f"({kernel}, {other})" if other else f"{kernel}"
            text += (f", stride={stride}" if stride else "") + (f", padding={padding}" if padding else "")
            found = tuple(d.window(k, stride or k, padding) for d, k in zip(dims[2:], (kernel, other or kernel)))
            name = self.pick(["MaxPool2d", "MaxPool2d", "AvgPool2d"])
            if name == "AvgPool2d" and self.chance(0.3):
                text += self.pick([", count_include_pad=False", ", divisor_override=3"])
            return f"{name}({text})", dims[:2] + found
        if way == 8:
            return self.pick(ACTIVATIONS), dims
        self.use_class("ConvBlock(cin, cout, stride=1)")
        self.batchnorm = True
        out, stride = self.pick([c, 2, 4, 8]), self.pick([1, 1, 2])
        found = tuple(d.window(3, stride, 1) for d in dims[2:])
        return f"ConvBlock({c}, {out}" + (f", stride={stride}" if stride > 1 else "") + ")", (dims[0], Dim(out)) + found

    def layers(self, dims, count, layer):
        """(lines of a YAML list, dims of its result)"""
        lines = []
        for _ in range(count):
            text, after = layer(dims)
            text = self.parametrized(text)
            if self.chance(0.15) and "[" not in text:
                activation, dropout = self.pick(ACTIVATIONS), self.dropout_module()
                text = self.pick([f"[{text}, {activation}]", f"[{text}, {activation}, {dropout}]"]
                                 + ([] if " x " in text or " for " in text else [f"Sequential({text}, {activation})"]))
            lines.append("- " + text)
            dims = after
        return lines, dims

    def add_module(self, a, layer):
        """A new child that is called with a value, or an old one once more."""
        again = [m for m in self.shared if m[1][-1] == a.dims[-1]] if layer == self.layer else []
        if again and self.chance(0.25):
            name, _, after = self.pick(again)
            return self.say(f"{name}({a.name})", a.dims[:-1] + after[-1:], "float", [a], view=True)
        name = self.new_name(CHILDREN)
        more = ""
        if self.chance(0.3):
            lines, dims = self.layers(a.dims, self.pick([2, 3, 4]), layer)
            self.modules[name] = ["", *("  " + line for line in lines)]
        elif layer == self.layer and self.chance(0.15):
            inner, dims = self.layer(a.dims)
            self.modules[name] = ["", f"  part: {inner}", f"  act: {self.pick(ACTIVATIONS)}"]
            return self.say(f"{name}.act({name}['part']({a.name}))" if self.chance(0.5) else
                            f"self.{name}.act({name}.part({a.name}))", dims, "float", [a], view=True)
        else:
            text, dims = layer(a.dims)
            text = self.parametrized(text)
            if layer == self.layer and self.chance(0.15):
                text, dims = self.repeated(a.dims[-1].const), a.dims
            self.modules[name] = [" " + text]
            if text.startswith("Gate") and self.chance(0.3):
                more = f", more={a.name}[..., :1]"
        if layer == self.layer:
            self.shared.append((name, a.dims, dims))
        form = "self." if self.chance(0.15) else ""
        return self.say(f"{form}{name}({a.name}{more})", dims, "float", [a], view=True)

    def module(self):
        a = self.some("float", lambda v: v.dims and v.dims[-1].const)
        return a and self.add_module(a, self.layer)

    def image_module(self):
        a = self.some("float", lambda v: len(v.dims) == 4 and v.dims[1].const and v.dims[1].const <= 16)
        return a and self.add_module(a, self.image_layer)

    # ---- whole specs

    def dimension(self, name, most, sized=0.75):
        return self.size(name, most) if self.chance(sized) else Dim(self.random.randrange(1, most + 1))

    def make(self):
        if self.chance(0.6):
            self.constants["width"] = self.pick([4, 6, 8, 12, 16, 24])
            self.names.add("width")
        getattr(self, "make_" + self.kind)()
        return self

    def make_rows(self):
        while self.rows:
            self.row()
            if self.chance(0.2):
                self.pick([self.step, self.module])()
        self.body(len(self.statements))

    def make_list(self):
        batch = self.dimension("batch", 9)
        if self.chance(0.6):
            dims = (batch, Dim(self.pick([1, 2, 3])), *(Dim(self.pick([5, 6, 8, 9])) for _ in range(2)))
            self.input("image", dims)
            lines, dims = self.layers(dims, self.pick([2, 3, 5]), self.image_layer)
            lines.append("- Flatten()")
            flat = dims[1].times(dims[2]).times(dims[3])
            dims = (dims[0], flat)
        else:
            dims = (batch, *([self.dimension("tokens", 7)] if self.chance(0.5) else []), Dim(self.features()))
            self.input("x", dims)
            lines = []
        more, _ = self.layers(dims, self.pick([2, 3, 4]), self.layer)
        self.modules = lines + more
        self.statements = None

    def make_graph(self):
        batch = self.dimension("batch", 8)
        tokens = [self.dimension("tokens", 7)] if self.chance(0.6) else []
        self.input("x", (batch, *tokens, Dim(self.features())))
        if self.chance(0.5):
            self.input("query", (batch, Dim(self.features())))
        if self.chance(0.4):
            self.input("mask", (batch, *tokens), "bool")
        self.module()
        self.body(self.random.randrange(5, 12))

    def make_tensors(self):
        batch, tokens = self.dimension("batch", 6), self.dimension("tokens", 9)
        n = self.pick([2, 3, 6, 8, 12])
        self.input("x", (batch, tokens, Dim(n)))
        self.input("y", self.pick([(batch, Dim(1), Dim(n)), (Dim(n),), (tokens, Dim(n)), (batch, tokens, Dim(n))]))
        self.input("count", (batch, tokens), "int")
        self.input("mask", (batch, tokens), "bool")
        self.body(self.random.randrange(6, 16))

    def make_images(self):
        batch = self.dimension("batch", 5)
        height = self.dimension("height", 9, 0.3)
        if height.const is not None:
            height = Dim(self.pick([5, 6, 8, 9]))
        self.input("image", (batch, Dim(self.pick([1, 2, 3, 4])), height, Dim(self.pick([5, 7, 8]))))
        self.image_module()
        self.body(self.random.randrange(4, 9))

    def make_stream(self):
        width, hidden, out = self.features(), self.pick([3, 4, 8]), self.features()
        self.sequence = True
        self.input("sample", (Dim(width),))
        self.modules = {"mix": [f" Linear({width}, {hidden})"], "out": [f" Linear({hidden}, {out})"]}
        self.names |= {"mix", "out", "memory", "steps"}
        state, say = self.tensors["state"], self.statements.append
        self.tensors["buffers" if self.chance(0.4) else "state"]["steps"] = "{shape: [], dtype: int64}"
        if self.chance(0.5):
            state["memory"] = f"{{shape: [{hidden}]}}"
            say(self.pick(["self.memory = tanh(mix(sample) + 0.5 * memory)", "self.memory += tanh(mix(sample))",
                           "self.memory = memory * 0.75 + mix(sample)"]))
            say("self.steps += 1")
            say("h = memory * 1.5")
        else:
            window = self.pick([2, 3, 5])
            state["memory"] = f"{{shape: [{window}, {hidden}], init: {self.pick(['zeros', 'ones'])}}}"
            say("self.memory[:-1] = self.memory[1:].clone()")
            say("self.memory[-1] = mix(sample)")
            say("self.steps += 2")
            say(self.pick(["h = memory.mean(dim=0)", "h = self.memory[0] + memory[-1]", "h = memory.amax(dim=0)"]))
        if self.chance(0.4):
            self.tensors["buffers"]["level"] = f"{{shape: [{width}], init: ones}}"
            say("self.level = 0.75 * level + 0.25 * sample")
            say("self.steps += sample.shape[0]")
        say(self.pick(["return out(h), steps", "y = out(h)\nreturn y", "return out(h), memory, steps % 3"]))
        self.statements = "\n".join(self.statements).split("\n")

    def body(self, count):
        tries = 0
        while self.rows or (len(self.statements) < count and tries < 8 * count):
            tries += 1
            if self.rows and self.chance(0.3):
                self.row()
            else:
                self.step()
        used = [v for v in self.values if v.name not in self.inputs]
        if not used:
            raise Rejected("no statement")
        last = used[-1]
        others = used[:-1]
        if self.chance(0.75):  # what nothing else uses; otherwise any values, and the rest is work for nothing
            others = [v for v in others if not any(v is not w and v.uses <= w.uses for w in used)]
        returned = [last] + self.random.sample(others, min(len(others), self.pick([0, 1, 3, 3, 4])))
        for v in reversed(used):
            if v.name in self.wanted and v not in returned and not self.is_used(v, returned):
                returned.append(v)
        if self.chance(0.4):
            self.entry = self.closure(self.pick([v for v in used if v.kind == "float"] or used))
        texts = [v.name for v in returned]
        if self.chance(0.3) and len(last.dims) and last.kind == "float":
            texts.append(f"{last.name}[..., :1] * 2.0")
        if self.chance(0.15) and last.kind == "float" and last.dims and last.dims[-1].const and last.dims[-1].const % 2 == 0:
            texts.append(f"torch.view_as_complex({last.name}.unflatten(-1, (-1, 2)).contiguous()) * (0.5 - 1j)")
        if self.chance(0.3) and len(texts) == 1 and self.statements[-1].startswith(last.name + " = "):
            texts[0] = self.statements.pop().partition(" = ")[2]
        texts += self.written([v for v in used[:-1] if v.kind == "float" and v.dims and v.dims[-1].const])
        self.statements.append("return " + ", ".join(texts))

    def written(self, values):
        """Statements that write state, with the gradients of one of the values; the names of what comes of it, mostly none."""
        own = random.Random(f"{self.own}.written")
        if not values or own.random() > 0.25:
            return []
        value = own.choice(values)
        section, n = self.tensors[own.choice(["buffers", "state"])], value.dims[-1].const
        axes = ", ".join(map(str, range(len(value.dims) - 1)))
        row = f"0.125 * {value.name}.sum(dim=({axes},))" if axes else value.name
        if own.random() < 0.5:
            section["level"] = f"{{shape: [{n}], init: ones}}"
            self.statements += [f"kept = {value.name} * level", f"self.level = 0.5 * level + {row}", f"kept = kept + {value.name} * level"]
        else:
            section["memory"] = f"{{shape: [3, {n}], init: ones}}"
            self.statements += [f"self.memory[-1] = {row}", "self.memory[:-1] = self.memory[1:].clone()",
                                f"self.memory[-1] = {row} * 2.0", f"kept = {value.name} * memory.mean(dim=0)"]
        return ["kept"]

    def is_used(self, value, returned):
        """Whether what is returned depends on it."""
        own = max(value.uses)
        needed = frozenset().union(*(v.uses for v in returned))
        return any(re.search(rf"\b{value.name}\b", self.statements[i].partition(" = ")[2]) for i in needed if i != own)

    def closure(self, value):
        """An entry that returns a value and does no more than it needs."""
        statements = [self.statements[i] for i in sorted(value.uses)]
        text = "\n".join(statements)
        words = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
        arguments = [name for name in self.inputs if name in words]
        sizes = {atom for name in arguments for dim in self.inputs[name][0] for atom in dim.atoms}
        if not arguments or any(size in words for size in set(self.sizes) - sizes):
            return None
        lowered = {size: self.random.randrange(1, self.sizes[size] + 1) for size in sorted(sizes) if self.chance(0.5)}
        return arguments, lowered, statements + [f"return {value.name}"]

    # ---- text

    def is_constant(self, name):
        """Whether backward makes no gradient of an input."""
        kind = self.inputs[name][1]
        return kind.startswith("float") and random.Random(f"{self.own}.{name}").random() < 0.1

    def requirement(self):
        """What all sizes up to the maxima meet, so that it changes no shape; yet bounds, checks and the workspace know it."""
        random_ = random.Random(f"{self.own}.require")
        if random_.random() >= 0.2:
            return []
        terms = [name if random_.random() < 0.5 else f"2 * {name}" for name in self.sizes]
        most = sum(top * (1 + (" " in term)) for top, term in zip(self.sizes.values(), terms))
        product = " * ".join(self.sizes)
        return [random_.choice([f"require: {' + '.join(terms)} <= {most}", f"require: [0 <= {product}, {most} >= {' + '.join(terms)}]",
                                f"require: {product} < {math.prod(self.sizes.values()) + 1}"])]

    def yaml(self):
        lines = ["modc: 1", "model: drawn"]
        if self.dtype != "float32" or self.chance(0.2):
            lines.append(f"dtype: {self.dtype}")
        if self.storage:
            lines.append(f"storage: {self.storage}")
        if self.dynamic:
            lines.append("activations: int8")
        if self.autocast:
            lines.append(f"autocast: {self.autocast}")
        if self.constants:
            lines.append("constants: {" + ", ".join(f"{k}: {v}" for k, v in self.constants.items()) + "}")
        if self.sizes:
            lines.append("sizes: {" + ", ".join([*(f"{k}: {v}" for k, v in self.sizes.items()), *self.requirement()]) + "}")
        lines += ["", "inputs:"]
        for name, (dims, kind, _, _) in self.inputs.items():
            shape = f"[{', '.join(self.number(d.const) if d.const is not None else str(d) for d in dims)}]"
            more = f", dtype: {self.dtype_text(kind)}" if kind != "float" else ""
            more += ", requires_grad: false" if self.is_constant(name) else ""
            lines.append(f"  {name}: " + (f"{{shape: {shape}{more}}}" if more else shape))
        if self.functions:
            lines += ["", "functions:"]
            for name in sorted(self.functions):
                lines += [f"  {name}:", *(f"    - {text}" for text in FUNCTIONS[name])]
        if self.classes:
            lines += ["", "classes:"]
            for name, text in self.classes.items():
                lines += [f"  {name}:" + text]
        if isinstance(self.modules, list):
            lines += ["", "modules:", *("  " + line for line in self.modules)]
        elif self.modules:
            lines += ["", "modules:"]
            for name, (first, *rest) in self.modules.items():
                lines += [f"  {name}:{first}", *("  " + line for line in rest)]
        for section, tensors in self.tensors.items():
            if tensors:
                lines += ["", f"{section}:", *(f"  {name}: {text}" for name, text in tensors.items())]
        if self.statements:
            block = self.chance(0.3)
            lines += ["", "forward:" + (" |" if block else "")]
            lines += ["  " + text for text in self.as_body()] if block else ["  - " + text for text in self.statements]
        if self.entry:
            arguments, lowered, statements = self.entry
            lines += ["", "entries:", f"  act({', '.join(arguments)}):"]
            if lowered:
                lines.append("    max: {" + ", ".join(f"{k}: {v}" for k, v in lowered.items()) + "}")
            lines += ["    statements:", *(f"      - {text}" for text in statements)]
        return "\n".join(lines) + "\n"


    def as_body(self):
        """The statements in other words of Python, which compute the same: loops that run once, branches that are taken, lists,
        dicts, comprehensions, annotations."""
        lines = [f"def forward(self, {', '.join(self.inputs)}):", "    # as a class of PyTorch has it"] if self.chance(0.3) else []
        indent = "    " * bool(lines)
        for text in self.statements:
            name, equals, value = text.partition(" = ")
            if not equals or not re.fullmatch(r"[a-z]\w*", name) or self.chance(0.6):
                lines.append(indent + text)
                continue
            form = self.pick([
                "for _ in range(3):\n    {t}\n    break", "for {n} in [{v}]:\n    pass", "if {c}:\n    {t}\nelse:\n    {n} = None",
                "if not {c}:\n    raise ValueError(f'{{self.training!r}}')\nelif {c}: {t}", "{n}: Tensor = {v}", "{n} = [{v} for _ in range(1)][0]",
                "{n} = {{'a': {v}}}['a']", "_list = []\n_list.append({v})\n{n} = _list.pop()", "_, {n} = (0, {v})",
                "_dict = dict(a={v})\nfor _key, {n} in _dict.items():\n    assert _key == 'a', _key", "{n} = _{n} = {v}\ndel _{n}"])
            condition = self.pick(["True", "self.training is not None", "1 in (0, 1)", "isinstance(2, int)"])
            lines += [indent + line for line in form.format(n=name, v=value, t=text, c=condition).split("\n")]
        return lines


# ---- the same in several files ------------------------------------------------------------------------------------

def replacement(module, text, pick):
    """A module that can stand in the place of another; None where none comes to mind."""
    if isinstance(module, (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.LeakyReLU)):
        return pick([*ACTIVATIONS, "[" + ", ".join(pick(ACTIVATIONS) for _ in range(2)) + "]"])
    if isinstance(module, nn.Linear) and ".weight" not in text:
        linear = f"Linear({module.in_features}, {module.out_features}, bias={pick([True, False])})"
        return pick([linear, f"[{linear}, {pick(ACTIVATIONS)}]"])
    return pick(["Identity()", *ACTIVATIONS]) if isinstance(module, (nn.LayerNorm, nn.Identity)) else None


def draw_changes(draw, root, generator):
    """[(set or add, path, module)], in the order in which they apply."""
    changes, text = [], draw.yaml()
    modules = list(root.named_modules())
    for path, module in generator.sample(modules, len(modules)):
        if len(changes) >= 4:
            break
        if any(path == other or other.startswith(path + ".") or path.startswith(other + ".") for _, other, _ in changes):
            continue
        found = replacement(module, text, generator.choice) if path else None
        if found:
            changes.append(("set", path, found))
            if found.startswith("[") and generator.random() < 0.4:  # a change of what the change brought
                changes.append(("set", f"{path}.1", generator.choice(ACTIVATIONS)))
        if isinstance(module, List) or (not path and draw.statements is None):
            changes.append(("add", f"{path}.{generator.choice(['extra', 'more', '99'])}".strip("."),
                            generator.choice([*ACTIVATIONS, "Identity()"])))
    return changes


def extending(draw, root, generator):
    """{file: text}: spec.yaml, which extends a drawn spec with changes, perhaps through another."""
    changes, text, own = draw_changes(draw, root, generator), draw.yaml(), ""
    at = text.find("\nentries:")
    if at >= 0 and generator.random() < 0.5:
        text, own = text[:at] + "\n", text[at:]
    for name, value in draw.constants.items():  # another value there is overruled here
        if generator.random() < 0.5:
            text = text.replace(f"constants: {{{name}: {value}", f"constants: {{{name}: {value + 3}")
            own = f"constants: {{{name}: {value}}}\n" + own
    cut = generator.randrange(len(changes) + 1)
    levels = [changes[:cut], changes[cut:]] if generator.random() < 0.4 else [changes]
    files = {"base.yaml": text}
    for i, level in enumerate(levels):
        lines = [f"extends: {list(files)[-1]}"]
        for kind in ("set", "add"):
            lines += [f"{kind}:"] * any(change[0] == kind for change in level)
            lines += [f"  {path}: {module}" for own_kind, path, module in level if own_kind == kind]
        last = i == len(levels) - 1
        files["spec.yaml" if last else "middle.yaml"] = "\n".join(lines) + "\n" + (own if last else "")
    return files


# ---- tensors and runs ---------------------------------------------------------------------------------------------

def normal(generator, shape, dtype):
    """The same numbers in every version of torch."""
    if dtype.is_complex:
        return torch.view_as_complex(normal(generator, (*shape, 2), torch.float64)).to(dtype)
    count = 1
    for n in shape:
        count *= n
    return torch.tensor([generator.gauss(0, 1) for _ in range(count)], dtype=torch.float64).reshape(shape).to(dtype)


def draw_sections(root, generator):
    """`tie:` and `eval:` over a model without: text for the end of its spec, mostly none."""
    lines, ties = [], {}
    parameters = dict(root.named_parameters())
    for name, tensor in parameters.items() if generator.random() < 0.5 else ():
        def fits(other):
            path = other
            while path in ties:
                path = ties[path]
            return path != name and parameters[other].shape == tensor.shape and parameters[other].dtype == tensor.dtype

        others = [other for other in parameters if fits(other)]
        if name.rpartition(".")[2] in ("weight_v", "weight_orig", "original", "original1"):
            continue  # what a parametrization begins with comes from it
        if others and generator.random() < 0.5:
            ties[name] = generator.choice(others)
    if ties:
        lines += ["tie:", *(f"  {name}: {source}" for name, source in ties.items())]
    if generator.random() < 0.3:
        lines += draw_patterns("eval", root, generator)
    return "\n".join(["", *lines, ""]) if lines else ""


def draw_patterns(key, root, generator):
    """[the line of a key that names modules by patterns]; none where there is no module."""
    paths = [path for path, _ in root.named_modules() if path]
    if not paths:
        return []
    patterns = [generator.choice(paths) for _ in range(generator.choice([1, 1, 2]))]
    patterns = [path + ".*" if any(other.startswith(path + ".") for other in paths) and generator.random() < 0.3
                else path for path in patterns]
    return [f"{key}: [{', '.join(patterns)}]"]


def draw_backward(root, generator):
    """What stands in a spec whose gradients are wanted, beside `backward` or `training`."""
    again = draw_patterns("checkpoint", root, generator) if generator.random() < 0.4 else []
    frozen = draw_frozen([name for name, _ in root.named_parameters()], generator) if generator.random() < 0.25 else []
    return "\n".join([*again, *frozen, ""])


def draw_frozen(names, generator):
    """[the line of `freeze`]: a parameter, those of its module or all of its name."""
    if not names:
        return []
    module, dot, name = generator.choice(names).rpartition(".")
    patterns = [f"{module}{dot}{name}", *([f"{module}.*", f"*.{name}"] if dot else [])]
    return [f'freeze: ["{generator.choice(patterns)}"]']


OPTIMIZERS = ["SGD(lr=0.02)", "SGD(lr=0.02, momentum=0.9)", "SGD(lr=0.01, momentum=0.5, nesterov=True, weight_decay=0.1)",
              "SGD(lr=0.02, momentum=0.5, dampening=0.25)", "AdamW(lr=0.01, eps=0.1)", "Adam(lr=0.01, eps=0.1, amsgrad=True)",
              "RMSprop(lr=0.01, eps=0.1)", "Adagrad(lr=0.02, eps=0.1)"]
TERMS = ["({v} * {v}).mean()", "tanh({v}).sum() * 0.125", "F.mse_loss({v}, torch.ones_like({v}))",
         "F.smooth_l1_loss({v}, torch.zeros_like({v}), reduction='sum') * 0.125"]


AUTOCAST_RATE = 0.08
GROUPS = ["lr: 0.003", "weight_decay: 0.05", "lr: 0.004, weight_decay: 0.02"]
SCALERS = ["GradScaler(init_scale=16.0)", "GradScaler(init_scale=1024.0, growth_interval=1)"] if hasattr(torch.amp, "GradScaler") else []


def draw_training(draw, root, generator):
    """`training:` over results that have names, with `update: fused` or `backward: true`: text for the end of the spec, or none.
    Optimizers are such that small gradients make small steps."""
    returned = ast.parse((draw.statements or ["return output"])[-1].removeprefix("return ")).body[0].value
    words = [node.id for node in getattr(returned, "elts", [returned]) if isinstance(node, ast.Name)]
    kinds = {"output": "float", **{value.name: value.kind for value in draw.values}}
    names = [name for name in dict.fromkeys(words) if kinds.get(name) == "float"]
    if generator.random() > 0.5 or not names or draw.dropout or not any(parameter.requires_grad for parameter in root.parameters()):
        return ""
    terms = [generator.choice(TERMS).format(v=name) for name in names]
    clip = generator.choice(["", "", "clip_grad_norm_(0.5)", "clip_grad_value_(0.05)"])
    if "value" in clip and any(parameter.is_complex() for parameter in root.parameters()):
        clip = ""
    fused = "norm" not in clip and generator.random() < 0.5
    own, half, more = random.Random(f"{generator.getstate()[1][:4]}"), draw.dtype in ("float16", "bfloat16"), []
    if half:  # without copies PyTorch's steps are rounded at more places: docs/departures.md
        more.append("  master: float32")
    if not fused and SCALERS and own.random() < 0.4 and not any(p.is_complex() for p in root.parameters()):
        more.append(f"  scaler: {own.choice(SCALERS)}")
    trained = [name for name, parameter in root.named_parameters() if parameter.requires_grad]
    last = own.choice(trained).rpartition(".")[2]
    places = sum(parameter is not None for module in root.modules() for parameter in module._parameters.values())
    tied = places > len(list(root.parameters()))
    if own.random() < 0.3 and not tied and not all(name.rpartition(".")[2] == last for name in trained):
        patterns = [last] * (last in trained) + [f"*.{last}"] * any(name.endswith(f".{last}") for name in trained)
        more.append(f"  groups: [{{params: {json.dumps(patterns)}, {own.choice(GROUPS)}}}]")
    return "\n".join(["training:", "  loss:", *(f"    - loss{i} = {term}" for i, term in enumerate(terms)),
                      "    - return 0.1 * (" + " + ".join(f"loss{i}" for i in range(len(terms))) + ")",
                      f"  optimizer: {generator.choice(OPTIMIZERS)}", *([f"  clip: {clip}"] if clip else []), *more,
                      "update: fused" if fused else "backward: true", ""])


def draw_weights(spec, root, generator):
    ranges = spec.see_ranges(root)
    state = root.state_dict()
    for key in spec.ties:
        del state[key]
    for key, tensor in state.items():
        if key in ranges:
            state[key] = drawn_range(key, tensor, normal(generator, tuple(tensor.shape), torch.float64))
            continue
        if not tensor.is_floating_point() and not tensor.is_complex():
            state[key] = tensor + generator.randrange(5)
            continue
        noise = normal(generator, tuple(tensor.shape), tensor.dtype)
        if key.endswith("running_var"):
            state[key] = 0.5 + noise.abs()
        elif tensor.dim() >= 2:
            state[key] = noise * (tensor.numel() / tensor.shape[0]) ** -0.5
        else:
            state[key] = tensor + 0.25 * noise
    for key in spec.ties:  # a file may have it or not
        if generator.random() < 0.5:
            state[key] = state[spec.origin(key)].clone()
    return state


HALVES = (torch.float16, torch.bfloat16)


def draw_inputs(inputs, dtype, names, sizes, generator, steps=None):
    """`inputs`: name: (dims, kind, values, extent) as texts; `dtype`: the model's."""
    found = {}
    for name in names:
        dims, kind, values, extent = inputs[name]
        shape = tuple(eval(str(dim), {}, sizes) for dim in dims)
        extent = extent and eval(str(extent), {}, sizes)
        own = {"float": dtype, "int": "int64"}.get(kind, kind)
        found[name] = rows.numbers(generator, kind, values, shape if steps is None else (steps, *shape),
                                   getattr(torch, own), extent)
    return found


def distances(after, exact, least):
    """{key of the state_dict: how far it may lie from PyTorch's}: four times its distance from a float64 run, and no less than
    `least`, since a mean of nearly equal values is divided by their small deviation where norms follow each other."""
    found = {}
    exact = {name: program.parts(tensor) for name, tensor in exact.items()}
    for name, tensor in after.items():
        tensor = program.parts(tensor)
        if tensor.dtype in (torch.float32, *HALVES) and tensor.numel() and torch.isfinite(tensor).all():
            largest = exact[name].double().abs().max().item()
            distance = (tensor.double() - exact[name].double()).abs().max().item() / max(largest, 1e-30)
            found[name] = max(4 * distance, least, program.least_of(tensor.dtype) if tensor.dtype in HALVES else 0)
    return found


def tolerances(outputs, exact, mixed, winograd, autocast=None):
    """{name: relative tolerance that it needs where that is more than the design's own}, or Rejected. `exact`: the same
    from a float64 run of the model. `mixed`: float64 values may come from float32 ones. `winograd`: it may be used."""
    found, half = {}, bool(autocast) or any(tensor.dtype in HALVES for tensor in outputs.values())
    narrow = program.least_of(getattr(torch, autocast)) if autocast else 0
    for name, tensor in outputs.items():
        if tensor.numel() > 40000:
            raise Rejected(f"{name} has {tensor.numel()} elements")
        if not tensor.is_floating_point() and half and not torch.equal(tensor, exact[name]):
            raise Rejected(f"{name} is what it is by its rounding")
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        finite = torch.isfinite(tensor)
        if (finite != torch.isfinite(exact[name])).any():
            raise Rejected(f"{name} is finite by its rounding")
        if not finite.any():
            continue
        wide = exact[name][finite].double()
        largest, worst = tensor[finite].abs().max().item(), (tensor[finite].double() - wide).abs().max().item()
        if largest == worst == 0:
            continue
        if not 1e-3 < largest < 1e4:
            raise Rejected(f"the largest value of {name} is {largest}")
        distance = worst / wide.abs().max().clamp(min=1e-30).item()
        if distance > (4 * max(program.least_of(tensor.dtype), narrow) if half else 1e-4):
            raise Rejected(f"rounding errors of {distance:.1e}")
        least = 1e-6 if mixed and tensor.dtype == torch.float64 else program.least_of(tensor.dtype)
        if narrow:
            found[name] = max(4 * distance, least, narrow)
        if 4 * distance > least or (mixed and tensor.dtype == torch.float64):
            found[name] = max(4 * distance, least)
        if winograd and tensor.dtype == torch.float32:
            found[name] = max(found.get(name, 0), 1e-4)
    return found


def draw_upstream(outputs, generator):
    """grad.OUTPUT of floating outputs; some are left out, which means zero."""
    return {f"grad.{name}": normal(generator, tuple(tensor.shape), tensor.dtype) for name, tensor in outputs.items()
            if (tensor.is_floating_point() or tensor.is_complex()) and (len(outputs) == 1 or generator.random() < 0.85)}


def gradient_limits(outputs, exact, mixed):
    """{grad.NAME: how far it may lie from PyTorch's}: ten times what the design has for outputs, relative to its largest
    number and no less than a hundredth of the largest gradient, or four times PyTorch's distance from a float64 run."""
    gradients = {name: tensor for name, tensor in outputs.items() if name.startswith("grad.")}
    finite = {name: torch.isfinite(tensor) for name, tensor in gradients.items()}
    largest = max([tensor[finite[name]].abs().max().item() for name, tensor in gradients.items() if finite[name].any()], default=0)
    if largest > 1e5:
        raise Rejected(f"the largest gradient is {largest}")
    found = {}
    for name, tensor in gradients.items():
        if (finite[name] != torch.isfinite(exact[name])).any():
            raise Rejected(f"{name} is finite by its rounding")
        if not finite[name].any():
            continue
        worst = (tensor[finite[name]].double() - exact[name][finite[name]].double()).abs().max().item()
        scale = max(tensor[finite[name]].abs().max().item(), largest / 100)
        if worst > (10 * program.least_of(tensor.dtype) if tensor.dtype in HALVES else 1e-3) * scale:
            raise Rejected(f"rounding errors of {name}: {worst:.1e} of {scale:.1e}")
        least = 1e-5 if mixed and tensor.dtype == torch.float64 else 10 * program.least_of(tensor.dtype)
        found[name] = max(least * scale, 4 * worst, program.lost(tensor.dtype))
    return found


def zero_by_chance(model, outputs, inputs, generator, sequence, how):
    """Which of the outputs are 0 and are not where inputs differ a little: what rounding leaves of a sum that cancels."""
    zeros = [name for name, tensor in outputs.items()
             if tensor.is_floating_point() and tensor.numel() and not tensor.any() and not name.startswith("grad.")]
    if not zeros:
        return []
    moved = {name: tensor * (1 + (4 * torch.finfo(tensor.dtype).eps if tensor.dtype in HALVES else 1e-6) * normal(generator, tuple(tensor.shape), tensor.dtype)) if tensor.is_floating_point() else tensor
             for name, tensor in inputs.items()}
    other = model.run(moved, sequence, **how)[0]
    return [name for name in zeros if other[name].any()]


def draw_sizes(draw, generator, most, way):
    if way == 0:
        return dict(most)
    return {name: generator.choice([1, 1, 2, top, generator.randrange(1, top + 1), *([0] if way == 2 else [])])
            if top > 1 else top for name, top in most.items()} if way else dict(most)


def plan_runs(draw, root, generator, catalogue):
    """[(name, options, entry, maxima, draw of sizes)]"""
    runs = [("at_maxima", [], None, draw.sizes, 0)]
    if draw.sizes:
        runs.append(("smaller", [], None, draw.sizes, 1))
        if generator.random() < 0.15:
            runs.append(("empty", [], None, draw.sizes, 2))
    paths = [path for path, _ in root.named_modules()]
    if generator.random() < 0.15 or (len(paths) == 1 and generator.random() < 0.2):
        runs.append(("fence", ["--hooks", "fence"], None, draw.sizes, 1))
    elif len(paths) > 1 and generator.random() < 0.4:
        options = []
        for _ in range(generator.choice([1, 1, 2, 3])):
            option = generator.choice(["--hooks", "--pre-hooks"])
            options += [option, f"{generator.choice(paths)}=scale:{generator.choice([0.5, -1.0, 1.5, 2.0])}"]
        runs.append(("hooks", options, None, draw.sizes, 1))
    if draw.batchnorm and not draw.dropout:
        runs.append(("train", ["--train"], None, draw.sizes, 0))
        if generator.random() < 0.3:
            runs.append(("train_hooks", ["--train", "--hooks", f"{generator.choice(paths)}=scale:-1.5"], None, draw.sizes, 1))
    if generator.random() < 0.15:
        ops = catalogue["ops"].values() if catalogue else ()
        plans = [f"{op['name']}={generator.choice(op['algorithms'])}" for op in ops if len(op["algorithms"]) > 1]
        runs.append(("plan", [text for plan in plans for text in ("--plan", plan)], None, draw.sizes, 1))
    if draw.winograd:
        for tile in "42":
            runs.append((f"winograd{tile}", ["--plan", f"conv=conv_winograd{tile}"], None, draw.sizes, 1))
    if draw.attends:
        runs.append(("heads", ["--plan", "attention=attention_heads"], None, draw.sizes, 1))
    if draw.entry:
        runs.append(("act", ["--entry", "act"], "act", {**draw.sizes, **draw.entry[1]}, 1))
    if draw.backward:
        runs.append(("backward", ["--backward"], None, draw.sizes, 1))
        if draw.batchnorm and not draw.dropout:
            runs.append(("backward_train", ["--backward", "--train"], None, draw.sizes, 0))
        if draw.entry:
            runs.append(("backward_act", ["--backward", "--entry", "act"], "act", {**draw.sizes, **draw.entry[1]}, 1))
    apart = random.Random(str(generator.getstate()[1][:8]))  # so that what is drawn stays what it was
    if apart.random() < 0.2:
        runs.append(("split", ["--plan", f"split={apart.choice([2, 2, 3, 5])}"], None, draw.sizes, 1))
    if draw.backward and apart.random() < 0.6:
        known = hasattr(torch.nn.Module, "register_full_backward_pre_hook")  # since 2.0
        kinds = ["--hooks", "--pre-hooks", "--backward-hooks", "--backward-pre-hooks" if known else "--backward-hooks"]
        options = [text for _ in range(apart.choice([1, 2, 3])) for text in
                   (apart.choice(kinds), f"{apart.choice(paths)}=scale:{apart.choice([0.5, -1.0, 1.5, 2.0])}")]
        runs.append(("backward_hooks", ["--backward", *options], None, draw.sizes, 1))
    if draw.backward and apart.random() < 0.3:
        runs.append(("backward_again", ["--backward", "--repeat", apart.choice("23")], None, draw.sizes, 1))
    if draw.trains:
        runs.append(("steps", ["--steps", apart.choice("123")], None, draw.sizes, 1))
    return runs


class Model:
    """A spec in PyTorch, and once more in float64, on the same weights."""

    def __init__(self, path, weights=None):
        self.spec, self.weights = Spec(path), weights
        self.wide = self.spec if self.spec.dtype == torch.float64 else Spec(path, None, "float64")
        self.spec.careful = self.wide.careful = True

    def run(self, inputs, sequence=False, **options):
        """(outputs, the same in float64, the state_dict afterwards, that in float64) of a call after building and loading."""
        root = self.spec.build(0)
        if self.weights:
            self.spec.load(root, self.weights)
        wide_root = None
        if self.wide is not self.spec:
            wide_root = self.wide.build(0)
            wide_root.load_state_dict(root.state_dict())
        outputs = self.call(self.spec, root, inputs, sequence, options)
        if self.spec.rows and self.spec.rows.unsure:
            raise Rejected("what is kept was rounded by chance")
        torch_run.round_as(self.wide, self.spec)
        exact = self.call(self.wide, wide_root, inputs, sequence, options) if wide_root else outputs
        return outputs, exact, root.state_dict(), (wide_root or root).state_dict()

    @staticmethod
    def call(spec, root, inputs, sequence, options):
        inputs = {name: tensor.to(spec.inputs[name][1] if name in spec.inputs else spec.dtype) for name, tensor in inputs.items()}
        if "steps" in options:
            return spec.train(root, inputs, **options)
        return (spec.run_sequence if sequence else spec.run)(root, inputs, **options)


def rows_of(seed, catalogue):
    """[(line, row, place, due)] in turn: every row comes once before one comes again, in an order that changes, and so do
    its arguments."""
    every = rows.draws_of(catalogue)
    counts = [ROWS[kind] for kind in KINDS]
    at = seed // len(KINDS) * sum(counts) + sum(counts[:seed % len(KINDS)])
    found = []
    for i in range(at, at + counts[seed % len(KINDS)] if every else at):
        turn = i // len(every)
        order = list(range(len(every)))
        random.Random(turn).shuffle(order)
        own = order[i % len(every)]
        found.append((*every[own], rows.due(*every[own][:2], turn + own)))
    return found


def write(seed, folder, catalogue=None, log=lambda text: None, kind=None):
    """Fills the folder and returns what runs.json holds: {kind, dtype, rejected, drawn, inputs, runs: [{name, options,
    ...}]}. All paths in options are relative to the folder. `catalogue`: rows.catalogue_of, whose rows are drawn too. `kind`:
    "decoder", or that of the seed."""
    folder = pathlib.Path(folder)
    rejected = 0
    for attempt in range(200):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            if (kind or KINDS[seed % len(KINDS)]) == "decoder":
                found = write_decoder(seed, attempt, folder)
            else:
                found = write_once(seed, attempt, folder, catalogue)
        except (Rejected, Uncertain, *rows.FAULTS) as fault:  # what PyTorch says to a wrong shape
            log(f"seed {seed}, draw {attempt}: {type(fault).__name__}: {fault}")
            rejected += 1
            continue
        found = {"seed": seed, "torch": torch.__version__, "rejected": rejected, **found}
        (folder / "runs.json").write_text(json.dumps(found, indent=1) + "\n")
        return found
    raise AssertionError(f"nothing could be drawn from seed {seed}")


def write_once(seed, attempt, folder, catalogue):
    draw = Draw(seed, attempt, catalogue).make()
    generator = random.Random(f"{seed}.{attempt}.numbers")
    path = folder / "spec.yaml"
    path.write_text(draw.yaml())
    if draw.dtype in ("float16", "bfloat16") and "complex" in path.read_text():
        raise Rejected("complex numbers of halves, which modc has not")
    if draw.autocast and any(word in path.read_text() for word in ("GRU", "LSTM", "RNN", "Recurrent", "AdaptiveLogSoftmax")):
        raise Rejected("under autocast modc has some recurrent layers, and AdaptiveLogSoftmaxWithLoss otherwise: docs/departures.md")
    composition = random.Random(f"{seed}.{attempt}.extends")
    if composition.random() < 0.25:
        for name, text in extending(draw, Spec(path).build(0), composition).items():
            (folder / name).write_text(text)
    plain = Spec(path).build(0)
    if sum(parameter.numel() for parameter in plain.parameters()) > 1e6:
        raise Rejected("a large model")
    if draw.dynamic and not list(plain.parameters()):
        raise Rejected("integers without a weight")
    sections = draw_sections(plain, random.Random(f"{seed}.{attempt}.sections"))
    draw.numbers = f"{seed}.{attempt}.backward"
    draw.backward = not draw.sequence and not draw.autocast and draw.storage not in INTEGERS and rows.has_gradients(draw.drawn) and random.Random(draw.numbers).random() < 0.5
    if draw.backward:
        sections += draw_backward(plain, random.Random(f"{seed}.{attempt}.checkpoint"))
        training = draw_training(draw, plain, random.Random(f"{seed}.{attempt}.training"))
        draw.trains = bool(training)
        draw.backward = "update: fused" not in training
        sections += training or "backward: true\n"
    path.write_text(path.read_text() + sections)
    model = Model(path)
    root = model.spec.build(0)
    weights = draw_weights(model.spec, root, generator)
    shared = ["--weights", "weights.safetensors"] if weights else []
    if weights:
        safetensors_io.save(folder / "weights.safetensors", weights)
        model.weights = weights
    inputs = {name: ([str(dim) for dim in dims], kind, values, extent and str(extent))
              for name, (dims, kind, values, extent) in draw.inputs.items()}
    mixed = any(value.kind in ("float32", "float64") for value in draw.values)
    runs = []
    for name, options, entry, most, way in plan_runs(draw, root, generator, catalogue):
        names = draw.entry[0] if entry else draw.inputs
        for attempt in range(4):
            try:
                sizes = draw_sizes(draw, generator, most, way)
                given = draw_inputs(inputs, draw.dtype, names, sizes, generator, 5 if draw.sequence else None)
                run = write_run(model, folder, name, [*options, *shared], given, draw, mixed,
                                bool(weights) and name in ("at_maxima", "train", "steps"))
                run["sizes"] = sizes
                break
            except (Rejected, Uncertain, *rows.FAULTS):
                if name in ("at_maxima", "steps"):  # without a loss that depends on parameters there is no training
                    raise
        else:
            if name == "act":
                raise Rejected("an entry that never runs: its maxima are too small for a window")
            continue
        runs.append(run)
    return {"kind": draw.kind, "dtype": draw.dtype, "integers": draw.storage in INTEGERS, "statements": len(draw.statements or ()), "drawn": draw.drawn,
            "inputs": inputs, "mixed": mixed, "sequence": draw.sequence, "runs": runs}


def write_decoder(seed, attempt, folder):
    """The same of a model of rows."""
    draw = random_generation.Drawn(seed, attempt)
    generator = random.Random(f"{seed}.{attempt}.numbers")
    path = folder / "spec.yaml"
    path.write_text(draw.yaml())
    model = Model(path)
    root = model.spec.build(0)
    model.weights = draw_weights(model.spec, root, generator)
    safetensors_io.save(folder / "weights.safetensors", model.weights)
    runs = []
    for name, options, given, count, how in draw.runs(root, generator):
        try:
            run = write_run(model, folder, name, [*options, "--weights", "weights.safetensors"], given, how, False, name == "at_maxima")
        except Rejected:
            if name == "at_maxima":
                raise
            continue
        runs.append({**run, "sizes": {"rows": count}})
    return {"kind": draw.kind, "dtype": draw.dtype, "statements": 0, "drawn": [], "inputs": {}, "mixed": False, "sequence": True,
            "runs": runs}


def write_run(model, folder, name, options, inputs, draw, mixed, state):
    """One run: its files, and what live.py needs of it. `tolerances`: of outputs that need more than the design's."""
    safetensors_io.save(folder / f"{name}.inputs.safetensors", inputs)
    options = [*options, "--inputs", f"{name}.inputs.safetensors", *(["--sequence"] if draw.sequence else [])]
    args = torch_run.parse(["run", "spec.yaml", *options])
    how = torch_run.options_of(args)
    limits = {}
    if args.steps:
        how = {"steps": args.steps}
        if not all(tensor.numel() for tensor in inputs.values()):
            raise Rejected("a batch of nothing")
    if args.backward:
        inputs = {**inputs, **draw_upstream(model.run(inputs, **how)[0], random.Random(f"{draw.numbers}.{name}"))}
        safetensors_io.save(folder / f"{name}.inputs.safetensors", inputs)
        how["backward"] = True
    outputs, exact, after, after_exact = model.run(inputs, draw.sequence, **how)
    if chance := zero_by_chance(model, outputs, inputs, random.Random(f"{draw.numbers}.{name}"), draw.sequence, how):
        raise Rejected(f"{', '.join(chance)}: 0 by chance")
    real = [{key: program.parts(tensor) for key, tensor in all_.items()} for all_ in (outputs, exact)]
    plain = [{key: tensor for key, tensor in all_.items() if key in outputs and not key.startswith("grad.")} for all_ in real]
    needed = tolerances(*plain, mixed, draw.winograd, draw.autocast)
    if args.backward:
        limits = gradient_limits(*real, mixed)
    safetensors_io.save(folder / f"{name}.expect.safetensors", outputs)
    options += ["--expect", f"{name}.expect.safetensors"]
    if needed:
        options += ["--rtol", f"{max(needed.values()):.1e}"]
    nothing = [program.lost(tensor.dtype) for tensor in outputs.values() if tensor.is_floating_point() and not tensor.any()]
    if nothing:
        options += ["--atol", f"{max(nothing):.1e}"]
    printed, state_needed = None, {}
    if state:
        if args.steps and not all(torch.isfinite(tensor).all() for tensor in after.values()):
            raise Rejected("an endless step")
        state_needed = distances(after, after_exact, 1e-4 if args.steps else 2e-5)
        safetensors_io.save(folder / f"{name}.state.safetensors", after)
        root = model.spec.build(program.SEED)
        written = {id(module.weight) for module in root.modules() if getattr(module, "max_norm", None) is not None}
        initial = {key: tensor.detach() for key, tensor in root.named_parameters() if id(tensor) not in written}
        safetensors_io.save(folder / f"{name}.initial.safetensors", initial)
        printed = repr(root) if torch.__version__.startswith("2.15.") else None  # others print norms otherwise
    return {"name": name, "options": options, "tolerances": needed, "limits": limits, "state_tolerances": state_needed, "repr": printed,
            "state": f"{name}.state.safetensors" if state else None,
            "initial": f"{name}.initial.safetensors" if state else None}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("folder")
    parser.add_argument("--modc", default="build/modc", help="whose rows are drawn")
    args = parser.parse_args()
    torch.set_num_threads(1)
    modc = modc_run.command_of(args.modc)
    print(json.dumps(write(args.seed, args.folder, modc and rows.catalogue_of(modc), print), indent=1))


if __name__ == "__main__":
    main()
