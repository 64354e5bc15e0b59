"""Tests of the oracle itself, against modules written by hand and files made without it.

    python3 tests/oracle/test_oracle.py
"""
import math
import os
import pathlib
import random
import tempfile
import unittest

import torch
from torch import nn
from torch.nn import functional as F

import compare
import make
import random_specs
import safetensors_io
import spec_torch
from spec_torch import Spec, SpecError

ROOT = pathlib.Path(__file__).resolve().parents[2]

DESIGN = """
modc: 1
model: design
sizes: {tokens: 8}
inputs:
  x: [2, tokens, 32]
functions:
  rotate(x, cos, sin):                  # inlined where it is called
    - half = x.shape[-1] // 2
    - return x * cos + cat([-x[..., half:], x[..., :half]], dim=-1) * sin
classes:
  Block(dim, heads, dropout=0.0, expand=True):
    modules:
      norm1: LayerNorm(dim)
      attn: MultiheadAttention(dim, heads, batch_first=True)
      norm2: LayerNorm(dim)
      mlp:
        - Linear(dim, 4 * dim)
        - GELU()
        - Linear(4 * dim, dim)
        - Dropout(dropout)
      out: Linear(dim, dim) if expand else Identity()
    parameters:
      scale: {shape: [dim], init: normal_(mean=1.0, std=0.02)}
    buffers:
      frequency:
        value: 1.0 / 10000.0 ** (arange(0, dim, 2) / dim)
        persistent: false
    state:
      seen: {shape: [], dtype: int64}
    forward(x, mask=None):
      - h = norm1(x)
      - y, _ = attn(h, h, h, attn_mask=mask)
      - x = x + y * scale
      - self.seen += 1
      - return out(x + mlp(norm2(x)))
modules:
  blocks: 3 x Block(32, 8)            # children 0..2
  tail:
    - Block(dim, 4, dropout=0.1 * i / 2) for i, dim in enumerate((32, 32))
    - LayerNorm(32)
forward:
  - y = tail(blocks(x))
  - angle = blocks[0].frequency
  - angle = cat([angle, angle])
  - return rotate(y, angle.cos(), angle.sin()), blocks[1].seen
"""


class HandBlock(nn.Module):
    def __init__(self, dim, heads, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(dropout))
        self.out = nn.Linear(dim, dim)
        self.scale = nn.Parameter(nn.init.normal_(torch.zeros(dim), mean=1.0, std=0.02))
        self.register_buffer("frequency", 1.0 / 10000.0 ** (torch.arange(0, dim, 2) / dim), persistent=False)

    def forward(self, x):
        h = self.norm1(x)
        y, _ = self.attn(h, h, h)
        x = x + y * self.scale
        return self.out(x + self.mlp(self.norm2(x)))


class Hand(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(HandBlock(32, 8) for _ in range(3)))
        self.tail = nn.Sequential(HandBlock(32, 4, 0.0), HandBlock(32, 4, 0.05), nn.LayerNorm(32))

    def forward(self, x):
        y = self.tail(self.blocks(x))
        angle = torch.cat([self.blocks[0].frequency] * 2)
        return y * angle.cos() + torch.cat([-y[..., 16:], y[..., :16]], dim=-1) * angle.sin()


class Oracle(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def spec(self, text, **options):
        path = pathlib.Path(self.folder.name, "spec.yaml")
        path.write_text(text if text.lstrip().startswith("modc") else "modc: 1\nmodel: m\n" + text)
        return Spec(path, **options)

    def run_text(self, text, inputs, seed=0, **options):
        spec = self.spec(text)
        return spec.run(spec.build(seed), inputs, **options)

    def close(self, found, expected, tolerance=1e-6):
        self.assertEqual(found.shape, expected.shape)
        error = (found - expected).abs().max() / expected.abs().max()
        self.assertLessEqual(error.item(), tolerance)

    # ---- files that were made without the oracle

    def test_digits(self):
        images = safetensors_io.load("specs/digits/test.safetensors")["images"]
        expect = safetensors_io.load("specs/digits/expect.safetensors")
        for name in ("cnn", "mlp"):
            spec = Spec(f"specs/digits/{name}.yaml", {"batch": "360"})
            root = spec.load(spec.build(), safetensors_io.load(f"specs/digits/weights_{name}.safetensors"))
            self.close(spec.run(root, {"image": images})["output"], expect[name])

    def test_cartpole(self):
        spec = Spec("specs/cartpole/policy.yaml")
        weights = safetensors_io.load("specs/cartpole/weights.safetensors")
        root = spec.build()
        self.assertTrue(torch.equal(root.state_dict()["n_step.gammas"], weights["n_step.gammas"]))
        self.assertEqual(set(root.state_dict()), set(weights))
        inputs = safetensors_io.load("specs/cartpole/observations.safetensors")
        outputs = spec.run(spec.load(root, weights), inputs)
        self.assertEqual(list(outputs), ["logits", "value"])
        for name, tensor in safetensors_io.load("specs/cartpole/expect.safetensors").items():
            self.close(outputs[name], tensor)
        one = spec.run(root, {"observation": inputs["observation"][:1]}, entry="act")
        self.close(one["output"], outputs["logits"][:1])

    @unittest.skipUnless(hasattr(F, "scaled_dot_product_attention"), "PyTorch 2 made the vectors")
    def test_vectors(self):
        make.archives.unpack()
        lines = list(make.archives.table().values())
        self.assertEqual([line.split()[0] for line in lines if not make.check(line, quiet=True)], [])

    # ---- against modules written by hand

    def test_design_example(self):
        spec = self.spec(DESIGN)
        root = spec.build(7)
        torch.manual_seed(7)
        hand = Hand().eval()
        self.assertEqual(list(root.state_dict()), list(hand.state_dict()))
        for key, tensor in hand.state_dict().items():  # drawn in the same order
            self.assertTrue(torch.equal(root.state_dict()[key], tensor), key)
        x = torch.randn(2, 5, 32)
        with torch.no_grad():
            expected = hand(x)
        for calls in (1, 2):
            outputs = spec.run(root, {"x": x})
            self.close(outputs["output_0"], expected)
            self.assertEqual(outputs["output_1"].item(), calls)
        self.assertEqual(outputs["output_1"].dtype, torch.int64)

    def test_hooks(self):
        spec = self.spec("inputs:\n  x: [3, 4]\nmodules:\n  a: Linear(4, 4)\n  b:\n    - ReLU()\n    - Linear(4, 2)\n"
                         "forward:\n  - y = a(x)\n  - return b(y), y\n")
        root = spec.build(0)
        x = torch.randn(3, 4)
        outputs = spec.run(root, {"x": x}, hooks=[("a", 2.0), ("b.1", -1.0), ("", 3.0)],
                           pre_hooks=[("b", 0.5), ("", 0.25)])
        y = 2 * root.a(0.25 * x)
        self.close(outputs["y"], y)  # what went into b is not y itself, and the root's hook changes its first output
        self.close(outputs["output_0"], -3 * root.b(0.5 * y))
        self.close(spec.run(root, {"x": x})["y"], root.a(x))

    def test_training(self):
        spec = self.spec("inputs:\n  x: [4, 2, 3, 3]\nmodules:\n  - BatchNorm2d(2)\n  - Identity()\neval: ['1']\n")
        root, hand, x = spec.build(), nn.BatchNorm2d(2), torch.randn(4, 2, 3, 3)
        self.close(spec.run(root, {"x": x}, train=True)["output"], hand(x))
        self.assertTrue(torch.equal(root.state_dict()["0.running_var"], hand.running_var))
        self.close(spec.run(root, {"x": x})["output"], hand.eval()(x))

    # ---- what names mean

    def test_names(self):
        outputs = self.run_text("""
constants: {width: 3, scale: 0.5, table: "[1, 2, 3]"}
sizes: {batch: 9}
inputs:
  x: [batch, width]
classes:
  Twice(scale=2):
    forward(x):
      - return x * scale
modules:
  softmax: Twice(3)
  self: Twice()
  relu: [Twice(), Twice(scale + 0.5)]
  deep: {inner: {last: "Twice(scale=table[2])"}}
  pooler: "ModuleList(2 x Twice(width))"
forward:
  - a = softmax(x)
  - b = self(x)
  - relu = relu(x)
  - c = self.relu(x) - relu
  - d = deep.inner.last(x) + deep['inner'].last(x)
  - e = pooler[1](x) * batch
  - f = F.relu(x) + abs(x) + max(batch, width) * scale
  - return a, b, relu, c, d, e, f, torch.softmax(x, dim=-1), x if batch > 3 else -x
""", {"x": (x := torch.randn(4, 3))})
        expected = {"a": 3 * x, "b": 2 * x, "relu": 2 * x, "c": 0 * x, "d": 6 * x, "e": 12 * x,
                    "f": x.relu() + x.abs() + 2.0, "output_7": x.softmax(-1), "output_8": x}
        self.assertEqual(list(outputs), list(expected))
        for name, tensor in expected.items():
            self.assertTrue(torch.allclose(outputs[name], tensor), name)

    def test_functions_and_targets(self):
        outputs = self.run_text("""
inputs:
  x: [4, 6]
functions:
  pair(v, w=0.5):
    - return v * w, (v.max(dim=1), w)
  both(v): "return pair(v)[0] + pair(v, w=2.0)[0]"
forward: |
  # a comment
  a, (top, w) = pair(x, 0.25)

  values, where_ = top
  a += 1
  return a, top.values * w, top.indices, where_ == top[1], both(x), x.float().dtype == float32, float('-inf') * values
""", {"x": (x := torch.randn(4, 6))})
        top = x.max(dim=1)
        expected = {"a": x * 0.25 + 1, "output_1": top.values * 0.25, "output_2": top.indices,
                    "output_3": torch.ones(4, dtype=torch.bool), "output_4": x * 2.5, "output_5": torch.tensor(True),
                    "output_6": -math.inf * top.values}
        for name, tensor in expected.items():
            self.assertTrue(torch.equal(outputs[name], tensor), name)

    def test_state(self):
        spec = self.spec("""
sizes: {batch: 5}
inputs:
  x: [batch, 2]
state:
  last: {shape: [batch, 2]}
buffers:
  total: {shape: [2], init: ones}
  hidden: {shape: [], dtype: int32, persistent: false}
forward:
  - old = total
  - self.total = total + x.sum(dim=0)
  - self.last[:batch] = x
  - self.hidden += 1
  - return old, last, hidden
""")
        root = spec.build()
        self.assertEqual(list(root.state_dict()), ["total"])
        x = torch.ones(3, 2)
        spec.run(root, {"x": x})
        outputs = spec.run(root, {"x": 2 * x[:1]})
        self.assertEqual(outputs["old"].tolist(), [4, 4])
        self.assertEqual(root.total.tolist(), [6, 6])
        self.assertEqual(outputs["last"][:, 0].tolist(), [2, 1, 1, 0, 0])
        self.assertEqual((outputs["hidden"].item(), outputs["hidden"].dtype), (2, torch.int32))
        sequence = spec.run_sequence(spec.build(), {"x": torch.ones(4, 1, 2)})
        self.assertEqual(sequence["old"][:, 0].tolist(), [1, 2, 3, 4])

    def test_steps(self):
        spec = self.spec("""
inputs:
  x: [3, 2]
modules:
  a: nn.Linear(2, 1)
freeze: a.bias
backward: true
training:
  loss: return (y * y).sum()
  optimizer: SGD(lr=0.1, momentum=0.5)
  clip: clip_grad_value_(0.5)
forward:
  - y = a(x)
  - return y
""")
        x = torch.tensor([[1.0, 2], [3, 4], [-1, 0]])
        once = spec.run(spec.build(1), {"x": x, "grad.y": torch.ones(3, 1)}, backward=True)
        again = spec.run(spec.build(1), {"x": x, "grad.y": torch.ones(3, 1)}, backward=True, repeat=3)
        self.assertEqual(once.keys(), {"y", "grad.x", "grad.a.weight"})
        self.close(again["grad.x"], once["grad.x"])
        self.close(again["grad.a.weight"], 3 * x.sum(0, keepdim=True))
        root, (weight, bias), step = spec.build(1), spec.build(1).a.parameters(), 0
        loss = spec.train(root, {"x": x}, 2)["loss"]
        for _ in range(2):
            y = x @ weight.T + bias
            expected, step = (y * y).sum(), 0.5 * step + (2 * y.T @ x).clamp(-0.5, 0.5)
            weight = weight - 0.1 * step
        self.close(root.a.weight, weight)
        self.close(loss, expected)
        self.assertTrue(torch.equal(root.a.bias, bias))

    def test_changes_of_the_tree(self):
        spec = self.spec("""
inputs:
  x: [2, 4]
modules:
  a: Linear(4, 4)
  b: [Linear(4, 4), Tanh()]
  c: Linear(4, 4)
set: {b.1: "Linear(4, 3)"}
add: {b.2: ReLU()}
tie: {c.weight: b.0.weight, b.0.weight: a.weight}
freeze: [a.*, c]
forward: return b(c(a(x)))
""")
        root = spec.build(0)
        self.assertEqual(spec.run(root, {"x": torch.zeros(2, 4)})["output"].shape, (2, 3))
        self.assertIs(root.b[0].weight, root.a.weight)
        self.assertIs(root.c.weight, root.a.weight)
        self.assertEqual([n for n, p in root.named_parameters() if not p.requires_grad],
                         ["a.weight", "a.bias", "c.bias"])
        state = {k: v + 1 for k, v in root.state_dict().items() if k not in ("a.weight", "c.weight")}
        self.assertTrue(torch.equal(spec.load(root, state).a.weight, state["b.0.weight"]))

    def test_extends(self):
        """Two levels; initial values are drawn as by a module that is written so."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "deep").mkdir()
            (folder / "base.yaml").write_text("""
constants: {n: 4, m: 3}
inputs: {x: [n]}
classes:
  Block(k):
    modules: {fc: Linear(k, k), act: Tanh()}
    forward(x): return act(fc(x))
modules: {a: 2 x Block(n), b: [Linear(n, m)]}
set: {a.1.act: ReLU(), b.0: Tanh()}
forward: return b(a(x))
entries: {act(x): return x}
""")
            (folder / "deep" / "middle.yaml").write_text("""
extends: ../base.yaml
constants: {m: 2}
set: {b: [Linear(n, n), Linear(n, m)]}
add: {b.2: Linear(m, m)}
""")
            (folder / "spec.yaml").write_text("""
extends: deep/middle.yaml
constants: {k: 5, n: 6}
set:
  b.1: Linear(n, m, bias=False)
  a.0.fc: [Linear(n, k), Linear(k, n)]
entries: {act(x): return b(x), more(x): return x}
""")
            spec = Spec(folder / "spec.yaml")
        self.assertEqual(list(spec.constants.items()), [("n", 6), ("m", 2), ("k", 5)])
        self.assertEqual(list(spec.entries), ["act", "more"])
        root = spec.build(3)
        self.assertEqual([type(module) for module in (root.a[0].act, root.a[1].act)], [nn.Tanh, nn.ReLU])
        torch.manual_seed(3)
        drawn = [nn.Linear(6, 5), nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 2, bias=False),
                 nn.Linear(2, 2)]
        wanted = [tensor for module in drawn for tensor in module.state_dict().values()]
        found = list(root.state_dict().values())
        self.assertEqual(len(found), len(wanted))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(found, wanted)))

    def test_refusals(self):
        for text in ("frobnicate: 1\nmodules: [ReLU()]", "inputs:\n  x: [2]\nmodules: {a: ReLU()}",
                     "inputs:\n  x: [2]\nmodules:\n  - ReLU()\nset: {4: Tanh()}",
                     "inputs:\n  x: [2]\nmodules:\n  - ReLU()\nadd: {0: Tanh()}",
                     "inputs:\n  x: [2]\nmodules:\n  - ReLU()\nadd: {1.0: Tanh()}"):
            with self.assertRaises(SpecError):
                self.spec(text).build()
        text = "sizes: {n: 3}\ninputs:\n  x: [n]\n  y: [2 * n]\nforward: return cat([x, y])"
        for x, y in ((4, 8), (2, 5), (1, 1)):
            with self.assertRaises(SpecError):
                self.run_text(text, {"x": torch.zeros(x), "y": torch.zeros(y)})
        with self.assertRaises(SpecError):
            self.run_text(text, {"x": torch.zeros(2, dtype=torch.float64), "y": torch.zeros(4)})
        with self.assertRaises(TypeError):
            self.run_text("inputs:\n  x: [2]\nfunctions:\n  f(a): return a\nforward: return f(x, b=2)",
                          {"x": torch.zeros(2)})

    # ---- text

    def test_flow(self):
        read = spec_torch.read_yaml
        self.assertEqual(read("m: [Linear(4, 64), Tanh()]"), {"m": ["Linear(4, 64)", "Tanh()"]})
        self.assertEqual(read("m:\n  - [A(b=(1, 2), c='x, y'),   # why\n     B()]\n"),
                         {"m": [["A(b=(1, 2), c='x, y')", "B()"]]})
        self.assertEqual(read("{optimizer: AdamW(lr=3e-4, betas=(0.9, 0.95)), list: [a, 'b, c'], n: 1e-12}"),
                         {"optimizer": "AdamW(lr=3e-4, betas=(0.9, 0.95))", "list": ["a", "b, c"], "n": "1e-12"})
        self.assertEqual(read("x: {shape: [batch, 2 * 4], dtype: int64}"),
                         {"x": {"shape": ["batch", "2 * 4"], "dtype": "int64"}})
        self.assertEqual(spec_torch.expression_text(read("[1, [2, 3]]")), "[1, [2, 3]]")
        self.assertEqual(read("\ufeffa: 'it''s'\r\nb: [x]\r\n"), {"a": "it's", "b": ["x"]})

    def test_repeats(self):
        spec = self.spec("""
constants: {x: 2, widths: "(3, 5)"}
inputs:
  v: [1, 4]
modules:
  a: x * 1 x Linear(4, 4)
  b: Linear(4, n) for n in widths
  c:
    - 2 x ReLU()
    - Linear(n, m) for n, m in ((4, 4), (4, 1))
    - Sequential(Tanh(), 2 x ReLU())
  d: ModuleList(2 x Linear(1, 1), Tanh())
forward: return c(a(v))
""")
        root = spec.build()
        self.assertEqual([len(root.a), len(root.b), len(root.c), len(root.c[4]), len(root.d)], [2, 2, 5, 3, 3])
        self.assertEqual([m.out_features for m in root.b], [3, 5])
        self.assertIsInstance(root.d, nn.ModuleList)
        self.assertIsNot(root.a[0].weight, root.a[1].weight)

    # ---- files and comparison

    def test_safetensors(self):
        path = pathlib.Path(self.folder.name, "t.safetensors")
        tensors = {"half": torch.randn(3).half(), "brain": torch.randn(2, 2).bfloat16(), "none": torch.empty(0, 4),
                   "flags": torch.tensor([True, False]), "scalar": torch.tensor(3), "turned": torch.randn(2, 3).T,
                   "complex": torch.randn(3, dtype=torch.complex64), "wide": torch.randn(2, dtype=torch.complex128)}
        safetensors_io.save(path, tensors)
        found = safetensors_io.load(path)
        self.assertEqual(set(found), set(tensors))
        for name, tensor in tensors.items():
            self.assertEqual(found[name].dtype, tensor.dtype)
            self.assertTrue(torch.equal(found[name], tensor), name)
        content = path.read_bytes()
        for length in range(len(content)):
            path.write_bytes(content[:length])
            with self.assertRaises(ValueError):
                safetensors_io.read(path)

    def test_compare(self):
        def ok(expected, found, **options):
            lines, good = compare.compare(safetensors_io.records_of({"x": expected})[0],
                                          safetensors_io.records_of({"x": found})[0], **options)
            self.assertEqual(len(lines), 1)
            return good

        base = torch.tensor([1.0, -100.0, math.nan, math.inf])
        self.assertTrue(ok(base, base + torch.tensor([9e-4, 0, 0, 0])))
        self.assertFalse(ok(base, base + torch.tensor([2e-3, 0, 0, 0])))
        self.assertTrue(ok(base, base + torch.tensor([2e-3, 0, 0, 0]), rtol=1e-4))
        self.assertFalse(ok(base, torch.tensor([1.0, -100.0, 0.0, math.inf])))
        self.assertFalse(ok(base, torch.tensor([1.0, -100.0, math.nan, -math.inf])))
        self.assertFalse(ok(base, torch.tensor([math.nan, -100.0, math.nan, math.inf])))
        self.assertFalse(ok(base, base.double()))
        self.assertFalse(ok(base, base[:, None]))
        self.assertFalse(ok(torch.zeros(2), torch.full((2,), 1e-9)))
        self.assertTrue(ok(torch.zeros(2), -torch.zeros(2)))
        self.assertFalse(ok(torch.tensor([2 ** 62]), torch.tensor([2 ** 62 + 1])))
        for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64):
            self.assertTrue(ok(torch.ones(2, dtype=dtype), torch.ones(2, dtype=dtype)))
            self.assertFalse(ok(torch.ones(2, dtype=dtype), torch.tensor([1, 1.1], dtype=dtype)))

    # ---- drawing

    def test_random_specs(self):
        for seed, kind in ((5, "images"), (12, "decoder")):
            texts = []
            for _ in range(2):
                found = random_specs.write(seed, pathlib.Path(self.folder.name, "drawn"))
                texts.append(pathlib.Path(self.folder.name, "drawn", "spec.yaml").read_text())
            self.assertEqual(*texts)
            self.assertEqual((found["seed"], found["kind"]), (seed, kind))
            self.assertTrue(found["runs"])

    def test_zero_by_chance(self):
        """Of a sum that cancels rounding leaves 0, or not; what is 0 for another reason stays."""
        x = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "spec.yaml"
            path.write_text("modc: 1\nmodel: m\ndtype: float64\ninputs: {x: [3]}\n"
                            "forward:\n  - return (x - x.mean()).sum(), F.relu(-x), x - x, x.sum()\n")
            model = random_specs.Model(path)
            outputs = model.run({"x": x})[0]
            found = random_specs.zero_by_chance(model, outputs, {"x": x}, random.Random(1), False, {})
        self.assertEqual([name for name, tensor in outputs.items() if not tensor.any()], list(outputs)[:3])
        self.assertEqual(found, list(outputs)[:1])

    def test_promotion(self):
        outputs = self.run_text("dtype: float64\ninputs:\n  x: [2]\n  n: {shape: [2], dtype: int64}\n"
                                "forward: return x * 0.1, n * 0.5, n / 2, n // 2, x.float(), ones(2), n > 1\n",
                                {"x": torch.ones(2, dtype=torch.float64), "n": torch.tensor([-3, 3])})
        self.assertEqual([str(t.dtype)[6:] for t in outputs.values()],
                         ["float64", "float64", "float64", "int64", "float32", "float64", "bool"])
        self.assertEqual(outputs["output_3"].tolist(), [-2, 1])
        self.assertEqual(torch.get_default_dtype(), torch.float32)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main(warnings="ignore")
