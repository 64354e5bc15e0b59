#!/usr/bin/env python3
"""test_export.py - what modc.export writes of small modules, and what it says of those that it cannot."""
import dataclasses
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

try:
    import torch  # noqa: E402
except ImportError:
    print("there is no PyTorch")
    sys.exit(77)
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import modc  # noqa: E402

HERE = Path(__file__).resolve()


class Block(nn.Module):
    def __init__(self, dim, stride=1, bias=True):
        super().__init__()
        self.fc = nn.Linear(dim, 4 * dim, bias=bias)
        self.out = nn.Linear(4 * dim, dim)
        self.stride = stride

    def forward(self, x):
        h = F.relu(self.fc(x))
        return x + self.out(h)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4), Block(4), Block(4, bias=False)])
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Basic(nn.Module):
    """With a part that some instances lack, one that an attribute leaves out, and a list of as many as are wanted."""
    def __init__(self, inplanes, planes, stride=1, depth=1, order="first"):
        super().__init__()
        self.conv = nn.Conv2d(inplanes, planes, 3, stride, 1)
        self.down = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride), nn.ReLU()) if inplanes != planes else None
        self.layers = nn.ModuleList([nn.Conv2d(planes, planes, 1) for _ in range(depth)])
        self.more = nn.ModuleList([nn.Tanh()] if depth < 3 else [])
        self.order = order

    def forward(self, x):
        identity = x
        out = self.conv(x)
        if self.down is not None:
            identity = self.down(x)
        for layer in self.layers:
            out = layer(out)
        for layer in self.more:
            out = layer(out)
        if self.order == "last":
            out = out.flip(1)
        return out + identity


class Looped(nn.Module):
    def __init__(self, depth, doubled):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(depth)])
        self.doubled = doubled

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if self.doubled:
                x = torch.tanh(x)
        return x


class Two(nn.Module):
    def __init__(self, down, more):
        super().__init__()
        self.aa = nn.Tanh() if more else nn.Identity()
        self.down = nn.Linear(4, 4) if down else None

    def forward(self, x):
        y = self.aa(x)
        if self.down is not None:
            x = self.down(x)
        return y * 2 + x


class Shifting(nn.Module):
    """What is no longer than a window is not shifted, whatever `shift` says."""
    def __init__(self, window, shift):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.window, self.shift = window, shift

    def forward(self, x):
        shift = self.shift if x.shape[1] > self.window else 0
        y = self.fc(x)
        first, second = y[0], y[1]
        if shift > 0:
            mask = x.new_ones(x.shape[1:])
            mask[:shift] = 0
            mask[shift:2 * shift] += 3
            first = torch.roll(first, shift, 0) * mask
        return torch.stack([first, second])


class Adding(nn.Module):
    """Which reads a tensor, changes it, and reads it."""
    def forward(self, x):
        y = torch.tanh(x)
        z = torch.zeros_like(x)
        return torch.cat([y * 2, z + 3, y.add_(1), z.sub_(y)])


class Renaming(nn.Module):
    """In which a name stands for another one while a loop goes on to change that."""
    def __init__(self, down):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.down = nn.Linear(4, 4) if down else None

    def forward(self, x):
        start = x if self.down is None else self.down(x)
        for layer in self.layers:
            x = layer(x) + (x if self.down is None else start)
        for layer in self.layers:
            x = torch.tanh(layer(x))
        mean = x.mean(0)
        x = x - mean
        wide = torch.cat([x, x * 2], 1)
        return wide[:, 1:5] * mean


class Keeping(nn.Module):
    def __init__(self, n, p, act=None):
        super().__init__()
        self.n, self.p, self.act = n, p, act or nn.Identity()

    def forward(self, x):
        return self.act(x / (1.0 - self.p) * self.n)


class Holding(nn.Module):
    def __init__(self, n, p, act=None):
        super().__init__()
        self.inner = Keeping(n, p, act)

    def forward(self, x):
        return self.inner(x)


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = 0.25
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        x = F.dropout(self.norm(self.fc(x)), self.p, self.training)
        x = F.dropout(x, p=self.p if self.training else 0.0, training=True)
        if self.training:
            keep = x.new_empty((x.shape[0], 1)).bernoulli_(0.75)
            x = x * keep.div_(0.75)
        return x


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        y = self.fc(x)
        self.seen += 1
        self.mean = 0.9 * self.mean + 0.1 * y.mean(0)
        return y - self.mean


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.h = torch.zeros(2, 4)
        self.seen = torch.ones(3, 4)

    def forward(self, x):
        self.h = torch.tanh(self.fc(x) + self.h)
        self.seen[0] = self.h[1]
        return self.h, self.seen * 2


class Forgetful(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = None

    def forward(self, x):
        self.h = x if self.h is None else self.h + x
        return self.h * 1


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.fc = nn.Linear(4, 4).requires_grad_(False)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.fc(self.embed(tokens)))


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: object = None


class Structures(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.sum = Inner(), Sum()

    def forward(self, xs, *, scale=2.0, mask=None):
        h = self.inner(xs[0]) + self.inner.half(xs[1]) + self.sum(xs) + self.sum(xs[:1])
        return {"out": Output(h * scale), "none": mask, "more": [h.relu()]}


class Dense(nn.Module):
    def forward(self, x):
        found = []
        for function in (torch.relu, torch.tanh, torch.sigmoid):
            x = function(x)
            found.append(x)
        return torch.cat(found[::-1])


class Sum(nn.Module):
    def forward(self, tensors):
        return torch.cat(tensors).sum(0)


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)

    def half(self, x):
        return self.fc(x) / 2


class Sized(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.table = nn.Parameter(torch.randn(10, 4))

    def forward(self, x):
        b, t, _ = x.shape
        if b + t <= 3:
            raise ValueError("too few")
        x = x + self.table[:t]
        return self.fc(x).view(b * t, 4)


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, 4, 4, 4)

    def forward(self, x):
        x = self.proj(x)
        _, _, H, W = x.shape
        return x.flatten(2).transpose(1, 2), H, W


class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.dw = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x, H, W):
        y = x.transpose(1, 2).view(x.shape[0], -1, H, W)
        return x + self.dw(y).flatten(2).transpose(1, 2)


class Patches(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = Embed()
        self.mix = nn.ModuleList([Mix(), Mix()])

    def forward(self, image):
        x, H, W = self.embed(image)
        for mix in self.mix:
            x = mix(x, H, W)
        return x.view(H, W, -1)


class Fixed(nn.Module):
    def forward(self, x):
        assert x.shape[0] == 5, f"{x.shape[0]} rows"
        return x * 2


class Looping(nn.Module):
    def forward(self, x):
        return torch.stack([x[i] * i for i in range(x.shape[0])])


class Branching(nn.Module):
    def forward(self, x):
        if x.shape[0] > 4:
            return x * 2
        return x


class Remainder(nn.Module):
    def forward(self, x):
        if x.shape[0] % 7 > 9:
            return x * 2
        return x


class Asking(nn.Module):
    def forward(self, x):
        assert x.sum() == x.sum()
        return x if x.sum() > 0 else -x


class Random(nn.Module):
    def forward(self, x):
        import random
        return x * random.random()


class States(nn.Module):
    """Parts of results under names that are used again."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.LSTM(4, 4), nn.LSTM(4, 4), nn.LSTM(4, 4)
        self.register_buffer("one", torch.eye(9), persistent=False)
        self.register_buffer("other", torch.eye(9), persistent=False)

    def forward(self, x, hidden):
        results = self.a(x, hidden)
        y, first = results
        y, second = self.b(y, first)
        results = self.c(y, hidden)
        return results[0] @ self.one[:4, :4], first, second, results[1], y @ self.other[:4, :4]


class Doubled(nn.TransformerEncoderLayer):
    def _ff_block(self, x):
        return super()._ff_block(x) * 2


class Transforming(nn.Module):
    """Layers of nn.Transformer as they are made; one that computes something else, and one that was changed."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2)
        self.doubled = Doubled(8, 2, 16)
        self.changed = nn.TransformerEncoderLayer(8, 2, 16)
        self.changed.dropout1.p = 0.5

    def forward(self, x, mask):
        return self.decoder(x, self.changed(self.doubled(self.encoder(x))), tgt_mask=mask)


class Changing(nn.Module):
    def forward(self, x):
        x += 1
        return x * 2


class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, g):
        return g


class Custom(nn.Module):
    def forward(self, x):
        return Double.apply(x) + 1


class Modal(nn.Module):
    def forward(self, x):
        return (x, x + 1) if self.training else x * 2


class Elsewhere(nn.Module):
    def forward(self, x):
        return nn.Linear(4, 4)(x)


class Cancelling(nn.Module):
    """A sum of which little more than rounding is left."""
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(512, 4)
        self.fc.weight.data[:, 256:] = -self.fc.weight.data[:, :256]
        self.fc.bias.data.zero_()

    def forward(self, x):
        return self.fc(torch.cat([x, x + 0.0001], 1))


class Numbered(nn.Module):
    """Whose `repeat.1` and `repeat_1` are flattened to one name."""
    def __init__(self):
        super().__init__()
        self.repeat = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        self.repeat_1 = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.repeat_1(self.repeat(x))


class Lying(nn.Module):
    """One that computes something else when it is called again."""
    def forward(self, x):
        Lying.calls = getattr(Lying, "calls", 0) + 1
        return x * min(Lying.calls, 2)


def line_of(text):
    """The first line of this file with a text."""
    return next(i for i, line in enumerate(HERE.read_text(encoding="utf-8").splitlines(), 1) if text in line)


def docs_example(page, fence):
    """The first block of a kind on a page of docs/, behind its part about exporting."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition("\n## Exporting")[2]
    return text.partition(f"```{fence}\n")[2].partition("```")[0]


class Exports(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="modc-exports-")
        self.addCleanup(self.folder.cleanup)
        torch.manual_seed(0)

    def export(self, model, *args, **options):
        """The text of the spec behind its first lines."""
        made = modc.export(model, args, Path(self.folder.name) / "net.yaml", **{"check": False, **options})
        self.made = made
        return made.spec.read_text(encoding="utf-8").partition("inputs:\n")[2]

    def refused(self, kind, text, model, *args, **options):
        with self.assertRaises(kind) as caught:
            self.export(model, *args, **options)
        self.assertEqual(str(caught.exception), text)

    def test_classes(self):
        model = Blocks()
        text = self.export(model, torch.randn(2, 4), check=True)
        self.assertEqual(text, """\
  x: [2, 4]

classes:
  Block(bias=True):
    modules:
      fc: Linear(4, 16, bias=bias)
      out: Linear(16, 4)
    forward(x): |
      h = F.relu(self.fc(x))
      return x + self.out(h)

modules:
  blocks:
    - 2 x Block()
    - Block(bias=False)
  head: Linear(4, 2)

forward: |
  for block in self.blocks:
      x = block(x)
  return self.head(x)
""")
        self.assertLess(max(self.made.differences), 1e-5)
        net = modc.compile(self.made.spec, weights=self.made.weights, cflags="-O0")
        self.assertEqual(list(net.state_dict("torch")), list(model.state_dict()))

    def test_conditions(self):
        """Classes of which instances lack a part are one, with a condition."""
        model = nn.Sequential(Basic(2, 2), Basic(2, 4, 2), Basic(4, 4, order="last"), Basic(4, 4, depth=3))
        text = self.export(model, torch.randn(1, 2, 6, 6), check=True)
        self.assertEqual(text.partition("classes:\n")[2], """\
  Basic(in_channels, out_channels, stride=1, depth=1, order='first', down=False, more=False):
    modules:
      conv: Conv2d(in_channels, out_channels, 3, stride=stride, padding=1)
      down: Sequential(Conv2d(2, 4, 1, stride=stride), ReLU()) if down else None
      layers: depth x Conv2d(out_channels, out_channels, 1)
      more: ModuleList([Tanh()]) if more else ModuleList([])
    forward(x): |
      out = self.conv(x)
      identity = x if self.down is None else self.down(x)
      for layer in self.layers:
          out = layer(out)
      if len(self.more) > 0:
          for item in self.more:
              out = item(out)
          if order == 'last':
              out = out.flip(1)
      return out + identity

modules:
  - Basic(2, 2, more=True)
  - Basic(2, 4, stride=2, down=True, more=True)
  - Basic(4, 4, order='last', more=True)
  - Basic(4, 4, depth=3)
""")
        self.assertLess(max(self.made.differences), 1e-5)

    def test_blocks(self):
        """A condition stands around whole blocks, or there are two classes."""
        model = nn.Sequential(Looped(3, False), Looped(3, True), Looped(2, False), Looped(4, True))
        text = self.export(model, torch.randn(2, 4), check=True)
        self.assertEqual(text.partition("classes:\n")[2], """\
  Looped(depth, doubled=False):
    modules:
      layers: depth x Linear(4, 4)
    forward(x): |
      for layer in self.layers:
          x = layer(x)
          if doubled:
              x = torch.tanh(x)
      return x

modules:
  - Looped(3)
  - Looped(3, doubled=True)
  - Looped(2)
  - Looped(4, doubled=True)
""")

    def test_two_conditions(self):
        model = nn.Sequential(Two(True, False), Two(True, True), Two(False, False), Two(False, True))
        text = self.export(model, torch.randn(2, 4), check=True)
        self.assertIn("""\
      aa: Tanh() if aa else Identity()
      down: Linear(4, 4) if down else None
""", text)
        self.assertIn("""\
  - Two(down=True)
  - Two(down=True, aa=True)
  - Two()
  - Two(aa=True)
""", text)

    def test_attributes_in_vain(self):
        """Where an attribute says something to no end, it is as if it said nothing."""
        model = nn.Sequential(Shifting(2, 0), Shifting(2, 1), Shifting(9, 1))
        text = self.export(model, torch.randn(2, 5, 4), check=True)
        self.assertEqual(text.partition("classes:\n")[2], """\
  Shifting(shift):
    modules:
      fc: Linear(4, 4)
    forward(x): |
      y = self.fc(x)
      if shift != 0:
          mask = x.new_ones((x.shape[1], x.shape[2]))
          mask[:1] = 0
          part = mask[1:2]
          part += 3
          mask[1:2] = part
          first = torch.roll(y[0], 1, 0) * mask
          return torch.stack([first, y[1]])
      else:
          return torch.stack([y[0], y[1]])

modules:
  - Shifting(0)
  - Shifting(1)
  - Shifting(0)
""")

    def test_changes(self):
        """What reads a tensor is written before that is changed, and not before another one is."""
        text = self.export(Adding(), torch.randn(2, 4), check=True)
        self.assertIn("""\
forward: |
  y = torch.tanh(x)
  z = torch.zeros_like(x)
  product = y * 2
  y += 1
  sum_ = z + 3
  z -= y
  return torch.cat([product, sum_, y, z])
""", text)

    def test_names_in_loops(self):
        model = nn.Sequential(Renaming(False), Renaming(True))
        text = self.export(model, torch.randn(2, 4), check=True)
        self.assertEqual(text.partition("classes:\n")[2], """\
  Renaming(down=False):
    modules:
      layers: 2 x Linear(4, 4)
      down: Linear(4, 4) if down else None
    forward(x): |
      if self.down is not None:
          start = self.down(x)
      for layer in self.layers[0:2]:
          if self.down is not None:
              x = layer(x) + start
          else:
              x = layer(x) + x
      for layer in self.layers[0:2]:
          x = torch.tanh(layer(x))
      mean = x.mean(0)
      x = x - mean
      wide = torch.cat([x, x * 2], 1)
      return wide[:, 1:5] * mean

modules:
  - Renaming()
  - Renaming(down=True)
""")

    def test_expressions(self):
        """Numbers that follow from arguments, in their parentheses; Identity where others have more; all arguments where some
        differ."""
        model = nn.Sequential(Keeping(2, 0.25), Keeping(4, 0.5), Keeping(2, 0.5, nn.Tanh()), Holding(4, 0.75), Holding(2, 0.75, nn.Tanh()))
        text = self.export(model, torch.randn(3, 8), check=True)
        self.assertEqual(text.partition("classes:\n")[2], """\
  Keeping(n, p, act=False):
    modules:
      act: Tanh() if act else Identity()
    forward(x): |
      return self.act(x / (1.0 - p) * n)

  Holding(n, act=False):
    modules:
      inner: Keeping(n, 0.75, act=act)
    forward(x): |
      return self.inner(x)

modules:
  - Keeping(2, 0.25)
  - Keeping(4, 0.5)
  - Keeping(2, 0.5, act=True)
  - Holding(4)
  - Holding(2, act=True)
""")

    def test_modes(self):
        text = self.export(Dropping(), torch.randn(3, 4), check=True)
        self.assertIn("""\
forward: |
  x = F.dropout(self.norm(self.fc(x)), p=0.25, training=self.training)
  x = F.dropout(x, p=0.25 if self.training else 0.0, training=True)
  if self.training:
      keep = x.new_empty((x.shape[0], 1))
      keep = keep.bernoulli_(0.75)
      keep /= 0.75
      x = x * keep
  return x
""", text)

    def test_model_is_left_as_it_was(self):
        model, x = Counting(), torch.randn(2, 4)
        model.fc.eval()
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        state = torch.get_rng_state()
        text = self.export(model, x, check=True)
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        self.assertTrue(all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items()))
        self.assertTrue(model.training and not model.fc.training)
        self.assertIn("""\
buffers:
  seen: {shape: [], dtype: int64, init: zeros}
  mean: {shape: [4], init: zeros}

eval: [fc]

forward: |
  y = self.fc(x)
  self.seen += 1
  self.mean = self.mean * 0.9 + y.mean(0) * 0.1
  return y - self.mean
""", text)

    def test_state(self):
        text = self.export(Recurrent(), torch.randn(2, 4), check=True)
        self.assertIn("""\
state:
  h: {shape: [2, 4]}
  seen: {value: "torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])"}

forward: |
  self.h = torch.tanh(self.fc(x) + self.h)
  self.seen[0] = self.h[1]
  return self.h, self.seen * 2
""", text)
        with self.assertRaisesRegex(RuntimeError, "^the compiled model is not PyTorch's in a second call: output 0 .*\n"
                                    "hint: calls keep 'h', which was no tensor at first: let __init__ make it one, zeros for "
                                    "instance$"):
            self.export(Forgetful(), torch.randn(2, 4), check=True)

    def test_names_that_meet_in_C(self):
        model = Numbered()
        self.export(model, torch.randn(2, 4))
        net = modc.compile(self.made.spec, weights=self.made.weights, cflags="-O0")
        self.assertEqual(list(net.state_dict("torch")), list(model.state_dict()))
        self.assertIn("NUMBERED_REPEAT__1", net.c_source)

    def test_tied_and_frozen(self):
        text = self.export(Tied(), torch.tensor([1, 2]))
        self.assertIn("tie:\n  head.weight: embed.weight\n\nfreeze: [fc]\n", text)

    def test_numbers(self):
        """A name that is needed again is another one from the start."""
        text = self.export(Dense(), torch.randn(2, 4), check=True)
        self.assertIn("""\
  x_1 = torch.relu(x)
  x_2 = torch.tanh(x_1)
  x = torch.sigmoid(x_2)
  return torch.cat([x, x_2, x_1])
""", text)

    def test_structures(self):
        text = self.export(Structures(), [torch.randn(2, 4), torch.randn(2, 4)], kwargs={"scale": 3.0}, check=True)
        self.assertIn("""\
  xs_0: [2, 4]
  xs_1: [2, 4]
""", text)
        self.assertIn("""\
forward: |
  h = self.inner(xs_0) + self.inner.fc(xs_1) / 2 + self.sum(xs_0, xs_1) + self.sum(xs_0)
  return h * 3.0, h.relu()
""", text)

    def test_parts_of_results(self):
        state = torch.randn(1, 2, 4), torch.randn(1, 2, 4)
        text = self.export(States(), torch.randn(3, 2, 4), state, check=True)
        self.assertIn("""\
forward: |
  results = self.a(x, (hidden_0, hidden_1))
  a = results[1][0]
  a_1 = results[1][1]
  y, second = self.b(results[0], (a, a_1))
  results = self.c(y, (hidden_0, hidden_1))
  return results[0] @ self.one[:4, :4], a, a_1, second[0], second[1], results[1][0], results[1][1], y @ self.other[:4, :4]
""", text)
        self.assertEqual(text.count("{value: \"load_file('net.tables.safetensors')['one']\", persistent: false}"), 2)

    def test_transformers(self):
        text = self.export(Transforming(), torch.randn(3, 5, 8), torch.zeros(5, 5), check=True)
        self.assertIn("""\
  encoder: TransformerEncoder(TransformerEncoderLayer(8, 2, dim_feedforward=16, activation=F.gelu, norm_first=True), 2, norm=LayerNorm(8))
  decoder: TransformerDecoder(TransformerDecoderLayer(8, 2, dim_feedforward=16, batch_first=True), 2)
  doubled: Doubled()
""", text)
        self.assertIn("dropout1: Dropout()\n", text)

    def test_sizes(self):
        self.export(Sized(), torch.randn(2, 5, 4), dynamic_shapes={"x": {0: ("batch", 8), 1: ("length", 10)}}, check=True)
        text = self.made.spec.read_text(encoding="utf-8")
        self.assertIn("""\
sizes:
  batch: 8
  length: 10
  require: [batch + length > 3]

inputs:
  x: [batch, length, 4]
""", text)
        self.assertIn("""\
  b, t, _ = x.shape
  x = x + self.table[:t]
  return self.fc(x).view(b * t, 4)
""", text)

    def test_sizes_of_other_modules(self):
        """Sizes that calls choose go from the module that knows them to those that need them."""
        self.export(Patches(), torch.randn(1, 3, 8, 12), dynamic_shapes={"image": {2: ("height", 16), 3: ("width", 16)}}, check=True)
        text = self.made.spec.read_text(encoding="utf-8")
        self.assertIn("""\
  Embed():
    modules:
      proj: Conv2d(3, 4, 4, stride=4)
    forward(x): |
      x = self.proj(x)
      return x.flatten(2).transpose(1, 2), x.shape[2], x.shape[3]

  Mix():
    modules:
      dw: Conv2d(4, 4, 3, padding=1)
    forward(x, H, W): |
      y = x.transpose(1, 2).view(x.shape[0], -1, H, W)
      return x + self.dw(y).flatten(2).transpose(1, 2)
""", text)
        self.assertIn("""\
forward: |
  x, H, W = self.embed(image)
  for item in self.mix:
      x = item(x, H, W)
  return x.view(H, W, -1)
""", text)

    def test_sizes_refused(self):
        sizes = {"dynamic_shapes": {"x": {0: ("n", 8)}}}
        self.refused(modc.ExportError, """\
error: what the model does depends on a size of the call: it is
    return torch.stack([x[0] * 0, x[1] * 1, x[2] * 2])
with n = 3, but
    return torch.stack([x[0] * 0, x[1] * 1])
with n = 2
hint: compute with whole tensors in place of loops over a size, or let the size be fixed""", Looping(), torch.randn(3, 4), **sizes)
        self.refused(modc.ExportError, f"""\
{HERE}:{line_of("if x.shape[0] > 4:")}: error: the model decides by a size of the call: 5 > 4 with n = 5, but 4 > 4 with n = 4
    if x.shape[0] > 4:
hint: choose by torch.where, or let the size be fixed""", Branching(), torch.randn(5, 4), **sizes)
        self.refused(modc.ExportError, "error: the model does not take other sizes: with n = 4 it raises AssertionError: 4 rows\n"
                     "hint: let these sizes be fixed", Fixed(), torch.randn(5, 4), **sizes)
        self.refused(modc.ExportError, "error: dynamic_shapes names 'y', which is no argument of the model\nhint: it has x",
                     Branching(), torch.randn(5, 4), dynamic_shapes={"y": {0: "n"}})

    def test_refused(self):
        x = torch.randn(3, 4)
        self.refused(TypeError, "modc.export takes a torch.nn.Module, not what is of type int", 3, x)
        self.refused(modc.ExportError, f"""\
error: Branching.forward(x) cannot be called so: missing a required argument: 'x'
hint: args and kwargs are those of one call""", Branching())
        self.refused(modc.ExportError, f"""\
{HERE}:{line_of("return x if x.sum() > 0")}: error: the model asks for whether a tensor is true (__bool__), which is known only \
when it runs
    return x if x.sum() > 0 else -x
hint: choose by torch.where, or let an argument of the module decide""", Asking(), x)
        self.refused(modc.ExportError, f"""\
{HERE}:{line_of("return x * random.random()")}: error: the model asks Python for a random number (random.random), and what it \
does with it is not in the tensors
    return x * random.random()
hint: draw with torch.rand, and choose by multiplying or torch.where""", Random(), x)
        self.refused(modc.ExportError, f"""\
{HERE}:{line_of("return nn.Linear(4, 4)(x)")}: error: a Linear is called that is no submodule of the model
    return nn.Linear(4, 4)(x)
hint: make it in __init__, as an attribute of a module""", Elsewhere(), x)

    def warned(self, text, model, *args, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spec = self.export(model, *args, **options)
        self.assertEqual([str(item.message) for item in caught if item.category is modc.ExportWarning], [text])
        return spec

    def test_warnings(self):
        x = torch.randn(3, 4)
        before = x.clone()
        self.warned(f"{HERE}:{line_of('x += 1')}: the model changes its argument 'x' in place; the compiled model leaves it as it "
                    "is", Changing(), x)
        self.assertTrue(torch.equal(x, before))
        self.warned(f"{HERE}:{line_of('return Double.apply(x) + 1')}: Double has a backward of its own; the compiled model "
                    "differentiates what its forward computes", Custom(), x)
        text = self.warned(f"{Path(self.folder.name) / 'net.yaml'} has no training mode: error: the model gives 2 tensors in "
                           "training mode and 1 in evaluation mode\nhint: return the same in both; or export one mode: "
                           "training=False", Modal(), x)
        self.assertIn('eval: ["*"]', text)
        self.refused(modc.ExportError, "error: the model gives 2 tensors in training mode and 1 in evaluation mode\n"
                     "hint: return the same in both; or export one mode: training=False", Modal(), x, training=True)

    def test_keys(self):
        from modc._export.export import check_keys
        net = modc.compile("modc: 1\nmodel: one\ninputs: {x: [2, 4]}\nmodules: {fc: Linear(4, 2)}\nforward: return fc(x)\n",
                           cflags="-O0")
        entry = "of the compiled model's state_dict is"
        for linear, text in ((nn.Linear(4, 3), f"entry 0 {entry} 'fc.weight' (2, 4), of PyTorch's 'fc.weight' (3, 4)"),
                             (nn.Linear(4, 2, bias=False), f"entry 1 {entry} 'fc.bias' (2,), of PyTorch's nothing")):
            with self.assertRaises(RuntimeError) as caught:
                check_keys(net, nn.ModuleDict({"fc": linear}))
            self.assertEqual(str(caught.exception), text)

    def test_distance(self):
        """What PyTorch itself is from float64 may the compiled model be, too."""
        self.export(Cancelling(), torch.randn(2, 256), check=True, training=False)
        self.assertGreater(max(self.made.differences), 1e-4)
        with self.assertRaisesRegex(RuntimeError, r"^the compiled model is not PyTorch's: output 0 \d\.\de[+-]\d\d$"):
            self.export(Lying(), torch.randn(2, 4), check=True, training=False)

    def test_docs(self):
        """The example of docs/python.md, as a file, since names come from the source."""
        script = Path(self.folder.name) / "example.py"
        script.write_text(docs_example("python.md", "python"), encoding="utf-8")
        ran = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                             cwd=self.folder.name, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=False)
        self.assertEqual((ran.stdout, ran.stderr), (docs_example("python.md", "yaml") + "\n", ""))

    def test_compile(self):
        model, x = Blocks(), torch.randn(2, 4)
        net = modc.compile(model, x, cflags="-O0")
        self.assertLess(float((net(x) - model(x)).abs().max()), 1e-5)


class Command(unittest.TestCase):
    def run_command(self, *words):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(HERE.parent)])}
        ran = subprocess.run([sys.executable, "-m", "modc", "export", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding="utf-8", env=environment, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    def test_export(self):
        with tempfile.TemporaryDirectory() as folder:
            status, out, err = self.run_command("test_export:Sized", "-o", f"{folder}/net.yaml", "--input", "2,5,4", "--dynamic",
                                                "x:0=batch:8", "--name", "sized", "--no-check")
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out, f"{folder}/net.yaml: 19 lines; {folder}/net.safetensors\n")
            text = Path(f"{folder}/net.yaml").read_text(encoding="utf-8")
            self.assertTrue(text.startswith("modc: 1\nmodel: sized\n\nsizes:\n  batch: 8\n\ninputs:\n  x: [batch, 5, 4]\n"), text)

    def test_messages(self):
        """In one process: each takes PyTorch's second to start."""
        from contextlib import redirect_stderr
        from io import StringIO
        from modc._export.command import main
        sys.path.insert(0, str(HERE.parent))
        for words, text in (
                (["test_export"], "'test_export' is not MODULE:NAME, as in torchvision.models:resnet18"),
                (["nowhere.at_all:x"], "there is no Python module 'nowhere.at_all'\nhint: it is looked for here and in $PYTHONPATH"),
                (["nowhere/nets.py:x"], "there is no file 'nowhere/nets.py'"),
                (["test_export:Nothing"], "the module 'test_export' has no 'Nothing'"),
                (["test_export:ROOT.name"], "'test_export:ROOT.name' is of type str: neither a torch.nn.Module nor a function that makes "
                 "one"),
                (["os:getcwd"], "'os:getcwd' gives what is of type str, not a torch.nn.Module or one with its arguments"),
                (["test_export:Sized", "--input", "3,x"], "--input 3,x: it is [NAME=]DIMS[:DTYPE[:END]], as in 1,3,224,224 or "
                 "tokens=2,16:int64:1000"),
                (["test_export:Sized", "--input", "3,4", "--dynamic", "x"], "--dynamic x: it is NAME:AXIS=SIZE[:MAX], as in "
                 "x:0=batch:64")):
            error = StringIO()
            with redirect_stderr(error), warnings.catch_warnings():
                self.assertEqual(main([*words, "-o", "/nowhere/net.yaml"]), 1)
            self.assertEqual(error.getvalue(), f"modc: error: {text}\n")


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.sep in sys.argv[1]:
        os.environ["MODC_EXECUTABLE"] = sys.argv.pop(1)
    unittest.main()
