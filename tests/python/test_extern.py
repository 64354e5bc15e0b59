#!/usr/bin/env python3
"""test_extern.py - Python's functions as bodies of Externs, and modules that modc.export leaves as Externs."""
import copy
import pickle
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

try:
    import numpy  # noqa: E402
    import torch  # noqa: E402
except ImportError:
    print("there is no PyTorch, or no NumPy")
    sys.exit(77)
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import modc  # noqa: E402

HERE = Path(__file__).resolve()
SPEC = (ROOT / "tests" / "api" / "extern.yaml").read_text(encoding="utf-8").replace("model: ext", "model: ext\nhooks: none")
PLAIN = (ROOT / "tests" / "api" / "extern_plain.yaml").read_text(encoding="utf-8").replace("model: plain",
                                                                                         "model: plain\nhooks: none")


def scaled(x, weight):
    return x * weight


def sums(x):
    return (x > 0).sum(1), 2 * x


class Scaling:
    """With a backward of its own, as arrays of NumPy have none."""

    def __call__(self, x, weight):
        return x * weight

    def backward(self, inputs, results, gradients):
        x, weight = inputs
        return gradients[0] * weight, (gradients[0] * x).sum(0)


def line_of(text):
    lines = HERE.read_text(encoding="utf-8").split("\n")
    return next(i for i, line in enumerate(lines, 1) if text in line and "line_of" not in line)


class Bodies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain = modc.compile(PLAIN, cflags="-O0")
        cls.weights = {key: numpy.arange(value.size, dtype="float32").reshape(value.shape) / 7 - 2
                       for key, value in cls.plain.state_dict("numpy").items()}
        cls.plain.load_state_dict(cls.weights)

    def net(self, **externs):
        return modc.compile(SPEC, weights=self.weights, cflags="-O0",
                            externs={"scaled": scaled, "sums": sums, **externs})

    def compare(self, net, x, gradient):
        """Results and gradients of the model that says the same in a spec."""
        have, want = net(x), self.plain(x)
        for a, b in list(zip(have, want))[:3]:
            self.assertEqual(type(a), type(x))
            self.assertTrue((a == b).all())
        dx, expected = net.backward(gradient, None, None, None), self.plain.backward(gradient, None, None, None)
        self.assertLess(float(abs(dx - expected).max()), 1e-5)
        kind = "torch" if isinstance(x, torch.Tensor) else "numpy"
        for key, want in self.plain.gradients(kind).items():
            self.assertLess(float(abs(net.gradients(kind)[key] - want).max()), 1e-4, key)
        net.zero_grad()
        self.plain.zero_grad()

    def test_numbers(self):
        x, gradient = torch.randn(3, 6), torch.randn(3, 8)
        self.compare(self.net(), x, gradient)
        self.compare(self.net(scaled=Scaling()), x.numpy(), gradient.numpy())
        net = self.net(**{"scaled.1": lambda x, weight: x * 0})  # by the path of a module, before the name of the body
        self.assertEqual(float(abs(net(x)[0]).max()), 0)
        self.assertEqual(float(abs(self.net(**{"scaled.0.body": lambda x, weight: x * 0})(x)[0]).max()), 0)

    def test_copies(self):
        x, net = torch.randn(2, 6), self.net()
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            self.assertTrue(torch.equal(other(x)[0], net(x)[0]))

    def refused(self, kind, text, function, *args, **kwargs):
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertEqual(str(caught.exception), text)

    def test_messages(self):
        self.refused(modc.Error, "the body of the Extern 'scaled' is yours to write\nhint: modc.compile(..., externs={'scaled': "
                     "function}) takes it; its C is compiled into programs alone", modc.compile, SPEC, cflags="-O0")
        self.refused(modc.Error, "externs: the spec has no Extern 'scale'\nhint: it has scaled, sums", self.net, scale=scaled)
        self.refused(modc.Error, "externs: the spec has no Extern 'f'", modc.compile, PLAIN, cflags="-O0", externs={"f": scaled})
        self.refused(TypeError, "externs: 'sums' is of type int, not a function", self.net, sums=3)
        self.refused(TypeError, "externs is a dict of functions by name, not what is of type function", modc.compile, SPEC,
                     cflags="-O0", externs=scaled)

        def failing(x, weight):
            raise KeyError("of its own")
        x = torch.randn(3, 6)
        of = "the body of 'scaled.0.body' returned"
        for body, kind, text in (
                (failing, KeyError, "'of its own'"),
                (lambda x, weight: x[:, 1:].contiguous(), TypeError, f"{of} float32 (3, 7), not float32 (3, 8)"),
                (lambda x, weight: x.double(), TypeError, f"{of} float64 (3, 8), not float32 (3, 8)"),
                (lambda x, weight: x.T.contiguous().T, ValueError, f"{of} a tensor that is not contiguous"),
                (lambda x, weight: 3, TypeError, f"{of} int, not float32 (3, 8)"),
                (lambda x, weight: (x, x), TypeError, f"{of} 2 tensors for 1")):
            net = self.net(scaled=body)
            self.refused(kind, text, net, x)
            self.assertEqual(int(net.state()["calls"]), 0)  # as it was
        net = self.net()
        net(x.numpy())
        self.refused(TypeError, "the body of 'scaled.1.body' has no backward: let it have one, backward(inputs, results, "
                     "gradients), or call with tensors of PyTorch", net.backward, numpy.ones((3, 8), "float32"), None, None, None)
        net = self.net(scaled=type("Half", (Scaling,), {"backward": lambda self, *_: [None]})())
        net(x)
        self.refused(TypeError, "the body of 'scaled.1.body' returned 1 gradients for 2", net.backward, torch.ones(3, 8), None,
                     None, None)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.drop = nn.Linear(dim, 3 * dim), nn.Dropout(0.5)
        self.scale = nn.Parameter(torch.full((dim,), 0.5))
        self.register_buffer("shift", torch.arange(float(dim)) / 10)

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x).chunk(3, -1)
        if q.abs().sum() > 0:
            q = q * self.heads
        y = self.drop((q @ k.transpose(-1, -2)).softmax(-1)) @ v
        return y * self.scale + self.shift, y.argmax(-1)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(dim), Attention(dim, heads)

    def forward(self, x):
        return x + self.attn(self.norm(x))[0]


class Many(nn.Module):
    def forward(self, x):
        return x + x.nonzero().sum()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4, 2), Block(4, 2), Block(4, 1)])
        self.many, self.head = Many(), nn.Linear(4, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.many(x))


class Odd(nn.Module):
    """A module below that cannot be read, called in one way or another."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


def odd():
    return Odd(Many())


class Asking(nn.Module):
    """Gives what a function makes of its input and a flag, and cannot be read."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x, *more):
        return self.function(self, x, *more) if x.sum() < 1e9 else x


class Counted(Odd):
    def forward(self, x):
        return self.inner(x, len(x))


class Told(nn.Module):
    """Is called in one way or another, and cannot be read."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, other=None, *, scale=1.0, pair=False):
        y = self.fc(x) * scale
        if y.sum() > 1e9:
            return x
        if other is not None:
            y = y * other
        return (y, y.mean(-1)) if pair else y


class Ways(Odd):
    def forward(self, x, z):
        y = self.inner(x)
        y = y + self.inner(x, other=y, scale=2.0)
        a, b = self.inner(z, pair=True)
        if self.training:
            y = y + self.inner(x, x)
        return y + a.mean() + b.sum(), self.inner(z)


class Mapped(nn.Module):
    def forward(self, x):
        return torch.func.vmap(lambda row: row.softmax(0)[1:] + row.mean() * 2)(x)


class Masked(nn.Module):
    """With a mask as transformers make one: of a function of three numbers, vmapped."""

    def forward(self, x, mask):
        batch, tokens, _ = x.shape
        allowed = lambda b, q, k: (k <= q) & mask[b, k]  # noqa: E731
        for dims in ((None, None, 0), (None, 0, None), (0, None, None)):
            allowed = torch.func.vmap(allowed, dims)
        numbers = torch.arange(tokens)
        return (x @ x.mT).masked_fill(~allowed(torch.arange(batch), numbers, numbers), -1e9).softmax(-1)


class Written(nn.Module):
    def forward(self, x):
        return torch.func.vmap(lambda row: row.clone().add_(1))(x)


LIBRARY = torch.library.Library("modctest", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.impl("twice", lambda x: x * 2, "CPU")
LIBRARY.define("both(Tensor x) -> Tensor")  # of operators that are PyTorch's
LIBRARY.impl("both", lambda x: torch.ops.aten.add(x.sin(), x), "CompositeImplicitAutograd")


class Operators(nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x) + torch.ops.aten.sin(x)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return checkpoint(self.fc, x, use_reentrant=False)


class Chosen(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


class Partial(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="modc-externs-")
        self.addCleanup(self.folder.cleanup)
        torch.manual_seed(0)

    def export(self, model, *args, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = modc.export(model, args, Path(self.folder.name) / "net.yaml", **{"partial": True, "training": False, **options})
        self.warnings = [str(item.message) for item in caught if item.category is modc.ExportWarning]
        self.made, self.text = made, made.spec.read_text(encoding="utf-8")
        return made

    @staticmethod
    def many(where):
        """What the command says of Many's function, which modc has not."""
        return f"""\
{HERE}:{line_of("return x + x.nonzero()")}: error: the method 'nonzero' would give a shape that depends on the values
    return x + x.nonzero().sum(){where}
hint: where(mask, a, b), masked_fill and cumsum keep the shape"""

    def refused(self, text, model, *args, **options):
        with self.assertRaises(modc.ExportError) as caught:
            self.export(model, *args, **{"check": False, **options})
        self.assertEqual(str(caught.exception), text)

    def test_left(self):
        model, x = Model(), torch.randn(2, 5, 4)
        made = self.export(model, x, dynamic_shapes={"x": {0: ("batch", 3), 1: ("tokens", 6)}}, training=True)
        self.assertIn("""\
  Attention():
    modules:
      qkv: Linear(4, 12)
      drop: Dropout()
      body: Extern("attention", [[batch, tokens, 4], [batch, tokens]], dtype=(None, torch.int64), backward=True)
    parameters:
      scale: {shape: [4]}
    buffers:
      shift: {shape: [4], init: zeros}
    forward(x): |
      return self.body(x, self.scale, self.qkv.weight, self.qkv.bias, self.shift)
""", self.text)
        self.assertIn('body: Extern("attention_2", ', self.text)
        self.assertIn('body: Extern("many", [batch, tokens, 4], backward=True)', self.text)
        reason = f"""\
{HERE}:{line_of("if q.abs().sum() > 0:")}: error: the model asks for whether a tensor is true (__bool__), which is known only when \
it runs
    if q.abs().sum() > 0:
note: in module 'blocks.{{}}.attn'
hint: choose by torch.where, or let an argument of the module decide"""
        self.assertEqual(self.warnings, [
            "'blocks.0.attn' and 'blocks.1.attn' are left as the Extern 'attention', whose body is yours to write: "
            + reason.format(0),
            "'blocks.2.attn' is left as the Extern 'attention_2', whose body is yours to write: " + reason.format(2),
            "'many' is left as the Extern 'many', whose body is yours to write: " + self.many("\nnote: in module 'many'")])

        net = modc.compile(made.spec, weights=made.weights, externs=made.externs, options=["--backward"], cflags="-O0")
        self.assertEqual(list(net.state_dict("torch")), list(model.state_dict()))
        want, gradient = model.eval()(x), torch.randn(2, 5, 3)
        self.assertLess(float((net(x) - want).abs().max()), 1e-5)
        want.backward(gradient)
        net.backward(gradient)
        for name, parameter in model.named_parameters():
            self.assertLess(float((net.gradients("torch")[name] - parameter.grad).abs().max()), 1e-4, name)

    def test_command(self):
        from contextlib import redirect_stderr, redirect_stdout
        from io import StringIO
        from modc._export.command import main
        out, err, path = StringIO(), StringIO(), f"{self.folder.name}/net.yaml"
        with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
            status = main([f"{__name__}:odd", "-o", path, "--input", "2,3", "--partial", "--no-check", "--mode", "eval"])
        self.assertEqual((status, out.getvalue()), (0, f"{path}: 20 lines; {self.folder.name}/net.safetensors\n"))
        self.assertEqual(err.getvalue(), "modc: warning: 'inner' is left as the Extern 'many', whose body is yours to write: "
                         + self.many("\nnote: in module 'inner'") + "\n")

    def test_refused(self):
        x = torch.randn(2, 3)
        asked = f"""\
{HERE}:{line_of("return self.function(self, x, *more) if")}: error: the model asks for whether a tensor is true (__bool__), which \
is known only when it runs
    return self.function(self, x, *more) if x.sum() < 1e9 else x
hint: choose by torch.where, or let an argument of the module decide"""
        self.refused(asked, Asking(lambda self, x: x), x)  # the model itself cannot be left
        self.refused(self.many(""), Many(), x)
        self.refused(self.many("\nnote: in module 'inner'"), Odd(Many()), x, partial=False)
        place = f"{HERE}:{line_of('return self.inner(x)')}"
        words = "    return self.inner(x)\nnote: in module 'inner'"

        def count(self, x):
            self.steps += 1
            return x
        self.refused(f"{place}: error: 'inner', which is left as an Extern, changes a tensor in place that "
                     f"it is given, or a buffer\n{words}\nhint: let it return what it computes", Odd(Asking(count)), x)
        self.refused(f"{place}: error: 'inner', which is left as an Extern, gives no tensor\n{words}",
                     Odd(Asking(lambda self, x: None)), x)
        self.refused("error: 'inner', which is left as an Extern, is given ((<tensor 0>, 4), {}), but with other sizes "
                     "((<tensor 0>, 3), {})\nhint: let it take them from the shapes of tensors, or let these sizes be fixed",
                     Counted(Asking(lambda self, x, n: x * n)), torch.randn(4, 3), dynamic_shapes={"x": {0: "batch"}})

    def test_ways(self):
        """Each way of calling is an Extern of its own, with one set of keys."""
        model, x, z = Ways(Told()), torch.randn(3, 4), torch.randn(2, 5, 4)
        made = self.export(model, x, z, dynamic_shapes={"x": {0: ("batch", 6)}, "z": {1: ("tokens", 8)}}, training=True)
        self.assertEqual(self.text.partition("classes:\n")[2], """\
  Told():
    modules:
      fc: Linear(4, 4)
      body: Extern("told", [batch, 4], backward=True)
      body_2: Extern("told_2", [batch, 4], backward=True)
      body_3: Extern("told_3", [[2, tokens, 4], [2, tokens]], backward=True)
      body_4: Extern("told", [2, tokens, 4], backward=True)
      body_5: Extern("told_4", [batch, 4], backward=True)
    forward(x, other=None, way=0): |
      if way == 1:
          return self.body_2(x, other, self.fc.weight, self.fc.bias)
      if way == 2:
          return self.body_3(x, self.fc.weight, self.fc.bias)
      if way == 3:
          return self.body_4(x, self.fc.weight, self.fc.bias)
      if way == 4:
          return self.body_5(x, self.fc.weight, self.fc.bias)
      return self.body(x, self.fc.weight, self.fc.bias)

modules:
  inner: Told()

forward: |
  y = self.inner(x)
  y = y + self.inner(x, other=y, way=1)
  a, b = self.inner(z, way=2)
  if self.training:
      y = y + self.inner(x, way=4)
  return y + a.mean() + b.sum(), self.inner(z, way=3)
""")
        self.assertEqual(list(made.externs), ["inner.body", *(f"inner.body_{i}" for i in (2, 3, 4, 5))])
        self.assertTrue(self.warnings[0].startswith(
            "'inner' is left as the Externs 'told', 'told_2', 'told_3' and 'told_4', whose bodies are yours to write: "))
        net = modc.compile(made.spec, weights=made.weights, externs=made.externs, options=["--backward"], cflags="-O0")
        self.assertEqual(list(net.state_dict("torch")), list(model.state_dict()))
        x, z = torch.randn(6, 4), torch.randn(2, 8, 4)
        for training in (False, True):
            want = model.train(training)(x, z)
            gradients = [torch.randn_like(item) for item in want]
            net.train(training)
            for have, item in zip(net(x, z), want):
                self.assertLess(float((have - item).abs().max()), 1e-5)
            model.zero_grad()
            torch.autograd.backward(want, gradients)
            net.zero_grad()
            net.backward(*gradients)
            for name, parameter in model.named_parameters():
                self.assertLess(float((net.gradients("torch")[name] - parameter.grad).abs().max()), 1e-4, name)

    def test_shapes(self):
        """What follows from sizes: sums of multiples, and products."""
        def give(self, x):
            return x.flatten(0, 1), x.new_zeros(2 * len(x) + 3, x.shape[1])
        self.export(Odd(Asking(give)), torch.randn(4, 5, 2), dynamic_shapes={"x": {0: "batch", 1: ("tokens", 6)}}, check=False)
        self.assertIn('Extern("asking", [[batch * tokens, 2], [2 * batch + 3, tokens]], backward=True)', self.text)
        self.refused("error: 'inner', which is left as an Extern, gives 5, 4, 3, 3 elements along dimension 0, which is no sum or "
                     "product of the sizes of calls\nhint: let these sizes be fixed",
                     Odd(Asking(lambda self, x: x.new_zeros(max(3, len(x)), 2))), torch.randn(5, 2), dynamic_shapes={"x": {0: "batch"}})

    def test_scripted(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
        hint = "hint: export the module that it was made of"
        cause = "error: a torch.jit.ScriptModule is compiled, so that no function of Python's is called"
        self.refused(f"{cause}\n{hint}", scripted, torch.randn(2, 3), partial=False)
        text = f"{HERE}:{line_of('return self.inner(x)')}: {cause}\n    return self.inner(x)\nnote: in module 'inner'\n{hint}"
        self.refused(text, Odd(scripted), torch.randn(2, 3), partial=False)
        self.export(Odd(scripted), torch.randn(2, 3))
        self.assertEqual(self.warnings, [f"'inner' is left as the Extern 'sequential', whose body is yours to write: {text}"])
        with self.assertRaises(RuntimeError) as caught:
            self.made.externs["inner"](torch.randn(2, 3), *scripted.state_dict().values())
        self.assertEqual(str(caught.exception), "<Sequential in the place of its body>: a ScriptModule has no backward here")

    def test_hidden(self):
        """Operators below functions that hide them are read."""
        self.export(Checkpointed(), torch.randn(2, 4))
        self.assertTrue(self.text.endswith("return self.fc(x)\n"), self.text)
        self.assertEqual(self.warnings, [])
        self.refused(f"""\
{HERE}:{line_of("return self.operator(x)")}: error: the model calls modctest::twice, which is no function of PyTorch in Python
    return self.operator(x) + torch.ops.aten.sin(x)
hint: write it by functions of PyTorch""", Operators(torch.ops.modctest.twice), torch.randn(2, 4))
        self.export(Operators(torch.ops.modctest.both), torch.randn(2, 4))
        self.assertTrue(self.text.endswith("  return x.sin() + x + x.sin()\n"), self.text)
        if hasattr(torch, "func"):
            self.refused(f"""\
{HERE}:{line_of("lambda row: row.clone().add_(1)")}: error: add_ changes a tensor in place where modc sees no function of Python's
    return torch.func.vmap(lambda row: row.clone().add_(1))(x)
hint: return what is computed""", Written(), torch.randn(2, 4))
            self.export(Masked(), torch.randn(2, 5, 4), torch.rand(2, 5) > 0.3, dynamic_shapes={
                "x": {0: ("batch", 3), 1: ("tokens", 6)}, "mask": {0: "batch", 1: "tokens"}})
            self.assertIn("""\
  arange = torch.arange(batch_)
  part = mask[arange.view(arange.shape[0], 1), numbers]
  return (x @ x.mT).masked_fill(~((numbers <= numbers.view(numbers.shape[0], 1)) & part.view(""", self.text)
            self.export(Mapped(), torch.randn(3, 4))
            self.assertIn("  product = x.mean([1]) * 2.0\n  return x.softmax(1)[:, 1:] + product.view(product.shape[0], 1)\n", self.text)
        if hasattr(torch, "cond"):
            self.refused(f"""\
{HERE}:{line_of("return torch.cond(")}: error: the model calls torch.cond, which chooses among functions when it runs
    return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))
hint: choose by torch.where, or let an argument of the module decide""", Chosen(), torch.randn(3, 4))


if __name__ == "__main__":
    unittest.main()
