#!/usr/bin/env python3
"""modc.compile and Net: what section "Calling a compiled model" of docs/python.md says, and every message with its text."""

import array
import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

import models
from models import Case, FIT, HAS_NUMPY, HAS_TORCH, ROOM, SMALL, TOOLS, compile, floats, modc

from modc import _library as lib

COMPLEX = """modc: 1
model: turned
inputs:
  z: {shape: [2, 3], dtype: complex64}
  wide: {shape: [2], dtype: complex128}
parameters:
  w: {shape: [3, 2], dtype: complex64, init: normal_}
  v: {shape: [2], dtype: complex128, init: normal_}
modules: {act: Tanh()}
forward:
  - return act(z @ self.w), wide * self.v
"""
SMALL_SIGNATURE = "forward(x: float32[batch, 3]) -> output: float32[batch, 4]"


def indices(*values):
    return memoryview(array.array("q", values))


class Importing(unittest.TestCase):
    def run_python(self, text):
        environment = {**os.environ, "PYTHONPATH": f"{models.ROOT / 'python'}{os.pathsep}{models.ROOT / 'tests/python'}"}
        ran = subprocess.run(
            [sys.executable, "-c", text],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout)
        return ran.stdout

    def test_import_alone_brings_in_nothing(self):
        said = self.run_python(
            "import sys; before = set(sys.modules); import modc; "
            "print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
        )
        allowed = {
            "modc",
            "pathlib",
            "ntpath",
            "urllib",
            "ipaddress",
            "functools",
            "fnmatch",
            "re",
            "errno",
            "itertools",
            "collections",
            "operator",
            "reprlib",
            "keyword",
            "heapq",
            "enum",
            "types",
            "copyreg",
            "sre_compile",
            "sre_parse",
            "sre_constants",
            "_sre",
            "_collections",
            "_functools",
            "_operator",
            "math",
            "warnings",
            "contextlib",
            "glob",
            "grp",
            "pwd",
            "posixpath",
            "genericpath",
            "string",
            "_string",
            "_weakref",
            "weakref",
            "_weakrefset",
            "abc",
            "urllib.parse",
            "unicodedata",
            "os",
        }
        self.assertLessEqual(set(eval(said)), allowed)

    def test_without_numpy_and_pytorch(self):
        said = self.run_python(
            "import sys\nsys.modules['numpy'] = sys.modules['torch'] = None\nimport models\n"
            "net = models.compile(models.SMALL)\ny = net(models.floats([1] * 6, 2, 3))\n"
            "print(type(y).__name__, y.shape, len(y), type(net.state_dict()['fc.bias']).__name__)"
        )
        self.assertEqual(said, "Array (2, 4) 2 Array\n")


class Calls(Case):
    @classmethod
    def setUpClass(cls):
        cls.small, cls.tools, cls.room = compile(SMALL), compile(TOOLS), compile(ROOM)

    def test_values(self):
        state = self.small.state_dict("modc")
        weight, bias = state["fc.weight"].tolist(), state["fc.bias"].tolist()
        x = [[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]]
        y = self.small(floats(sum(x, []), 2, 3))
        for row, out in zip(x, y.tolist()):
            for w, b, value in zip(weight, bias, out):
                self.assertAlmostEqual(value, max(0.0, sum(a * c for a, c in zip(w, row)) + b), places=5)
        self.assertEqual(
            repr(self.small), "small(\n  (fc): Linear(in_features=3, out_features=4, bias=True)\n  (act): ReLU()\n)"
        )

    def test_entries_are_methods(self):
        tools = self.tools
        self.assertEqual(list(tools.entries), ["forward", "count", "spread", "forget", "divide"])
        self.assertEqual(tools.count.signature(), "count(x: float32[rows, 3]) -> output_0: int64[], output_1: float32[rows, 3]")
        self.assertEqual(repr(tools.divide), "<divide(index: int64[rows]) -> output: int64[rows]>")
        self.assertIn("spread", dir(tools))
        first, total = tools.spread(floats([1, 2, 3, 4, 5, 6], 2, 3))
        self.assertEqual((first.tolist(), total.tolist()), ([1, 2, 3], [6, 15]))
        self.assertEqual(tools.forward(x=floats([1] * 3, 1, 3), index=indices(4))[0].tolist(), [[2, 2, 2]])
        self.says(AttributeError, "tools has no entry or attribute 'nothing'", lambda: tools.nothing)
        spread = compile(TOOLS).spread  # which holds what it needs
        gc.collect()
        self.assertEqual(spread(floats([1, 2, 3], 1, 3))[1].tolist(), [6])

    def test_sizes(self):
        for rows in (1, 8, 3, 0, 8):
            self.assertEqual(
                self.small(floats([0] * 3 * rows, rows, 3) if rows else modc.Array((0, 3), "float32")).shape, (rows, 4)
            )
        self.assertEqual(self.room(floats([1, 2], 1, 2), past=8).tolist(), [[8, 16]])
        self.assertEqual(self.room(floats([1, 2], 1, 2), past=3, rows=1).tolist(), [[3, 6]])
        one, x = floats([1, 2], 1, 2), floats([0] * 27, 9, 3)
        self.says(
            ValueError,
            "forward(): the spec requires rows + past <= 9, but rows = 2, past = 8",
            self.room,
            floats([0] * 4, 2, 2),
            past=8,
        )
        self.says(TypeError, "forward(): no input says what past is: give past=N, at most 8", self.room, one)
        self.says(TypeError, "forward(): past is a size, an integer, and not a str", self.room, one, past="8")
        self.says(ValueError, "forward(): past is -1, and no size is negative", self.room, one, past=-1)
        self.says(
            ValueError,
            f"forward(): past is {2 ** 40} in the argument, over its maximum 8 in the spec",
            self.room,
            one,
            past=2**40,
        )
        self.says(ValueError, "forward(): batch is 9 in x, over its maximum 8 in the spec", self.small, x)
        self.says(ValueError, "forward(): dimension 0 of x is 1, but rows is 2 in the argument", self.room, one, rows=2, past=1)
        self.says(
            ValueError,
            "forward(): dimension 0 of index is 2, but rows is 1 in x",
            self.tools,
            floats([0] * 3, 1, 3),
            indices(0, 0),
        )

    def test_arguments(self):
        x = floats([0] * 6, 2, 3)
        self.says(TypeError, f"forward() takes 1 inputs but 2 were given: {SMALL_SIGNATURE}", self.small, x, x)
        self.says(TypeError, "forward() got several values for 'x'", self.small, x, x=x)
        self.says(TypeError, f"forward() has no input 'y': {SMALL_SIGNATURE}", self.small, x, y=x)
        self.says(TypeError, f"forward() lacks 'x': {SMALL_SIGNATURE}", self.small)
        self.says(
            TypeError,
            "forward(): x is a list, which is no array: NumPy's, PyTorch's, modc.Array, or what has __dlpack__ or " "a buffer",
            self.small,
            [[1.0, 2.0, 3.0]],
        )
        self.says(TypeError, "forward(): x is float64, not float32", self.small, memoryview(array.array("d", [0])))
        self.says(
            TypeError, "forward(): x is format '>f', not float32", self.small, memoryview((ctypes.c_float.__ctype_be__ * 3)())
        )
        self.says(ValueError, f"forward(): x has shape (3,), not 2 dimensions: {SMALL_SIGNATURE}", self.small, floats([0] * 3))
        self.says(
            ValueError, f"forward(): x has shape (3, 2), not (3, 3): {SMALL_SIGNATURE}", self.small, floats([0] * 6, 3, 2)
        )
        raw = bytearray(4 * 6 + 1)
        odd = memoryview(raw)[1:].cast("f", (2, 3))
        if ctypes.addressof(ctypes.c_char.from_buffer(raw)) % 4 == 0:
            self.says(
                ValueError,
                "forward(): x begins at an address that is no multiple of 4, as float32 has to; " "x.clone() or x.copy() does",
                self.small,
                odd,
            )
        vector = compile("modc: 1\nmodel: vector\ninputs: {x: [2]}\nforward: return x + x\n")
        self.says(
            ValueError,
            "forward(): x is not contiguous (strides (2,) of shape (2,)); x.contiguous() or numpy.ascontiguousarray(x) is",
            vector,
            floats([0] * 4)[::2],
        )

    def test_arrays_that_lie(self):
        class Lying:
            def __init__(self, device, capsule):
                self.__dlpack_device__, self.__dlpack__ = (lambda: device), (lambda: capsule)

        says = "forward(): x is a Lying that cannot be read: "
        self.says(ValueError, "forward(): x lies on cuda; the model computes on the CPU", self.small, Lying((2, 0), None))
        self.says(
            ValueError,
            "forward(): x lies on DLPack's device 99; the model computes on the CPU",
            self.small,
            Lying((99, 0), None),
        )
        self.says(TypeError, f"{says}its __dlpack__() gave a int", self.small, Lying((1, 0), 3))
        self.says(TypeError, f"{says}'NoneType' object is not subscriptable", self.small, Lying(None, 3))
        tensor = modc._arrays._DLManagedTensor()
        tensor.dl_tensor.ndim, tensor.dl_tensor.dtype = 65, modc._arrays._DLDataType(2, 32, 1)
        capsule = modc._arrays._capsule_new(ctypes.addressof(tensor), b"dltensor", None)
        self.says(TypeError, f"{says}its DLPack tensor says that it has 65 dimensions", self.small, Lying((1, 0), capsule))
        tensor.dl_tensor.ndim, tensor.dl_tensor.shape = 2, (ctypes.c_int64 * 2)(2, 3)
        self.says(ValueError, "forward(): x has shape (2, 3) and no memory", self.small, Lying((1, 0), capsule))
        tensor.dl_tensor.dtype.lanes = 4
        self.says(TypeError, "forward(): x is vectors, not float32", self.small, Lying((1, 0), capsule))
        tensor.dl_tensor.dtype = modc._arrays._DLDataType(17, 4, 1)
        self.says(TypeError, "forward(): x is DLPack type (17, 4), not float32", self.small, Lying((1, 0), capsule))

    def test_errors_of_calls(self):
        x = floats([0] * 6, 2, 3)
        self.says(IndexError, "forward(): an index is out of range, in embed: 9 at position 1", self.tools, x, indices(4, 9))
        self.says(ZeroDivisionError, "divide(): integer division by zero, at position 1", self.tools.divide, indices(2, 0))
        self.assertEqual(self.tools.divide(indices(2, -2)).tolist(), [3, -4])  # and all is well behind them

    def test_out(self):
        x, y = floats([1] * 6, 2, 3), modc.Array((2, 4), "float32")
        self.assertIs(self.small(x, out=y), y)
        self.assertEqual(y.tolist(), self.small(x).tolist())
        self.says(TypeError, "forward() gives 1 outputs, out has 2", self.small, x, out=(y, y))
        self.says(
            TypeError, "forward(): out (output) is float64, not float32", self.small, x, out=modc.Array((2, 4), "float64")
        )
        self.says(
            ValueError, "forward(): out (output) has shape (1, 4), not (2, 4)", self.small, x, out=modc.Array((1, 4), "float32")
        )
        self.says(ValueError, "forward(): out (output) is read-only", self.small, x, out=floats([0] * 8, 2, 4).toreadonly())
        memory = bytearray(4 * 14)
        inside, over = memoryview(memory)[:24].cast("f", (2, 3)), memoryview(memory)[20:52].cast("f", (2, 4))
        self.says(ValueError, "forward(): out (output) overlaps x", self.small, inside, out=over)
        apart = memoryview(memory)[24:56].cast("f", (2, 4))
        self.assertIs(self.small(inside, out=apart), apart)
        first = modc.Array((3,), "float32")
        self.says(
            ValueError,
            "spread(): out (output_1) overlaps out (output_0)",
            self.tools.spread,
            floats([0] * 9, 3, 3),
            out=[first, first],
        )

    def test_state_seeds_and_mode(self):
        net, x = compile(TOOLS), floats([1] * 24, 8, 3)
        self.assertEqual([net.count(x)[0].item() for _ in range(3)], [1, 2, 3])
        self.assertEqual(net.state("modc")["seen"].item(), 3)
        net.reset_state()
        self.assertEqual(net.count(x)[0].item(), 1)
        self.assertFalse(net.training)
        self.assertEqual(net.forget(x).tolist(), x.tolist())
        self.assertIs(net.train(), net)
        drawn = [net.forget(x).tolist() for _ in range(2)]
        net.seed(0)
        self.assertEqual(net.forget(x).tolist(), drawn[0])
        self.assertNotEqual(drawn[0], drawn[1])
        net.seed(-1)
        self.assertEqual(net.eval().forget(x).tolist(), x.tolist())
        before = net.state_dict("modc")["embed.weight"].tolist()
        net.reset(1)
        self.assertNotEqual(before, net.state_dict("modc")["embed.weight"].tolist())
        net.reset()
        self.assertEqual(before, net.state_dict("modc")["embed.weight"].tolist())

    def test_looking_around(self):
        self.assertEqual(self.small.spec, SMALL)
        self.assertIn("Linear(3, 4)", self.small.c_source)
        self.assertIn("small_forward(", self.small.c_header)
        self.assertRegex(self.small.summary(), r"\A *module +class +output shape +parameters +MACs\n".replace(r"\A *", r"\A"))
        options = compile(SMALL, options=["--set", "batch=2"])
        self.assertIn("at batch 2", options.summary())
        self.says(ValueError, "forward(): batch is 3 in x, over its maximum 2 in the spec", options, floats([0] * 9, 3, 3))


class Hooks(Case):
    def test_order_arguments_and_removal(self):
        net, said = compile(SMALL), []
        net.register_forward_pre_hook("", lambda path, inputs: said.append(("pre", path, inputs[0].shape)))
        with net.register_forward_hook("fc", lambda path, inputs, output: said.append(("fc", inputs[0].shape, output.shape))):
            net.register_forward_hook("", lambda path, inputs, output: said.append("first"), prepend=True)
            last = net.register_forward_hook("", lambda path, inputs, output: said.append("last"))
            x = floats([1] * 6, 2, 3)
            net(x)
            self.assertEqual(said, [("pre", "", (2, 3)), ("fc", (2, 3), (2, 4)), "first", "last"])
            last.remove()
            last.remove()
        said.clear()
        net(x)
        self.assertEqual(said, [("pre", "", (2, 3)), "first"])

    def test_replaced_values(self):
        net, x = compile(SMALL), floats([1] * 6, 2, 3)
        plain = net(x).tolist()
        with net.register_forward_pre_hook("", lambda path, inputs: modc.Array((2, 3), "float32")):
            replaced = net(x).tolist()
            self.assertNotEqual(replaced, plain)
            self.assertEqual(x.tolist(), [[1] * 3] * 2)  # the caller's stays
        with net.register_forward_hook("fc", lambda path, inputs, output: floats([5] * 8, 2, 4)):
            self.assertEqual(net(x).tolist(), [[5] * 4] * 2)
        with net.register_forward_hook("", lambda path, inputs, output: output):
            self.assertEqual(net(x).tolist(), plain)
        for value, text in (
            (floats([0] * 6, 2, 3), "a hook of fc returned float32 (2, 3), not float32 (2, 4)"),
            ("no", "a hook of fc returned str, not float32 (2, 4)"),
            ((x, x), "a hook of fc returned 2 tensors for 1"),
        ):
            with net.register_forward_hook("fc", lambda path, inputs, output: value):
                self.says(TypeError, text, net, x)
        with net.register_forward_hook("fc", lambda path, inputs, output: floats([0] * 16)[::2]):
            self.says(TypeError, "a hook of fc returned float32 (8,), not float32 (2, 4)", net, x)
        self.assertEqual(net(x).tolist(), plain)

    def test_replaced_for_the_module_alone(self):
        net = compile(SMALL.replace("return act(fc(x))", "a = fc(x)\n  - return act(a) + a").replace("ReLU", "Softplus"))
        x, plain = floats([1] * 6, 2, 3), []
        net.register_forward_hook("fc", lambda path, inputs, output: plain.append(output.tolist()))
        net.register_forward_pre_hook("act", lambda path, inputs: (floats([0] * 8, 2, 4),))
        for row, have in zip(net(x).tolist(), plain[0]):
            for a, b in zip(row, have):
                self.assertAlmostEqual(a, 0.6931472 + b, places=5)

    def test_exceptions(self):
        net, x, said = compile(SMALL), floats([1] * 6, 2, 3), []

        class Own(BaseException):
            pass

        def fail(path, inputs):
            raise Own("of the hook")

        net.register_forward_hook("", lambda path, inputs, output: said.append(output), always_call=True)
        with net.register_forward_pre_hook("act", fail):
            self.says(Own, "of the hook", net, x)
            self.assertEqual(said, [None])

            def also(path, inputs, output):
                raise ValueError("of the second")

            with net.register_forward_hook("", also, always_call=True):
                self.says(Own, "of the hook", net, x)
        self.assertEqual(net(x).shape, (2, 4))

    def test_registering(self):
        net = compile(SMALL)
        self.says(KeyError, "small has no module 'fd'", net.register_forward_hook, "fd", print)
        self.says(TypeError, "a hook is a function, not a int", net.register_forward_hook, "fc", 3)
        self.says(
            modc.Error,
            "room was compiled without hooks: its spec has `hooks: none`, or its target has none",
            compile(ROOM).register_forward_hook,
            "",
            print,
        )
        self.says(
            modc.Error,
            "backward hooks: tools was compiled without gradients: options=['--backward'], or backward: true in "
            "the spec, has them",
            compile(TOOLS).register_full_backward_hook,
            "",
            print,
        )
        for _ in range(32):
            net.register_forward_hook("fc", lambda *_: None)
        self.says(modc.Error, "fc has 32 forward hooks, and has no room for more", net.register_forward_hook, "fc", print)
        self.assertEqual(net(floats([1] * 6, 2, 3)).shape, (2, 4))

    def test_hooks_that_call_the_net(self):
        net, x, depth = compile(SMALL), floats([1] * 6, 2, 3), []

        def again(path, inputs, output):
            depth.append(path)
            if len(depth) == 1:
                depth.append(net(x).tolist())

        plain = net(x).tolist()
        hook = net.register_forward_hook("fc", again)
        self.assertEqual(net(x).tolist(), plain)
        self.assertEqual(depth, ["fc", "fc", plain])
        hook.remove()
        net.register_forward_hook("fc", lambda path, inputs, output: net(x) and None)
        self.says(RecursionError, "hooks of small call it, whose hooks call it, 32 times", net, x)

    def test_hooks_may_change_parameters_behind_the_call_alone(self):
        net, x = compile(SMALL), floats([1] * 6, 2, 3)
        with net.register_forward_hook("fc", lambda path, inputs, output: net.reset(3)):
            with self.assertRaises(modc.CallError):
                net(x)
        self.assertEqual(net(x).shape, (2, 4))


class Gradients(Case):
    def test_backward(self):
        net, x = compile(SMALL), floats([1, 2, 3], 1, 3)
        net.load_state_dict({"fc.weight": floats(range(12), 4, 3), "fc.bias": floats([1] * 4)})
        self.assertEqual(net(x).tolist(), [[9, 27, 45, 63]])
        self.assertEqual(net.backward(floats([1, 0, 0, 0], 1, 4)).tolist(), [[0, 1, 2]])
        self.assertEqual(net.gradients("modc")["fc.bias"].tolist(), [1, 0, 0, 0])
        net(x)
        net.backward(floats([1, 0, 0, 1], 1, 4))
        self.assertEqual(net.gradients("modc")["fc.bias"].tolist(), [2, 0, 0, 1])
        net.zero_grad(set_to_none=False)
        self.assertEqual(net.gradients("modc")["fc.bias"].tolist(), [0] * 4)
        net.zero_grad()
        self.assertEqual(net.gradients(), {"fc.weight": None, "fc.bias": None})
        net.requires_grad_(False, "fc.weight")
        net(x)
        net.backward(floats([1, 0, 0, 1], 1, 4))
        self.assertEqual([key for key, value in net.gradients().items() if value is not None], ["fc.bias"])
        self.says(KeyError, "small has no parameter or module 'fd' that is trained", net.requires_grad_, True, "fd")

    def test_devices(self):
        for devices in ("cuda", "[cpu, cuda]"):
            spec = SMALL.replace("modc: 1", f"modc: 1\ndevice: {devices}")
            self.says(modc.Error, "small is on cuda, and models called from Python are on cpu\n"
                      "hint: options=['--device', 'cpu'] makes it for the processor", compile, spec)

    def test_faults(self):
        net, x, one = compile(SMALL), floats([1, 2, 3], 1, 3), floats([1] * 4, 1, 4)
        none = "backward(): there was no call before it that keeps what it needs, or it ran already"
        self.says(modc.Error, none, net.backward, one)
        net(x)
        self.says(TypeError, "backward() takes 1 gradients, of output, but 0 were given", net.backward)
        self.says(ValueError, "backward(): the gradient of output has shape (1, 3), not (1, 4)", net.backward, x)
        self.says(
            TypeError,
            "forward(): the gradient of output is float64, not float32",
            net.backward,
            memoryview(array.array("d", [0] * 4)),
        )
        net.backward(one)
        self.says(modc.Error, none, net.backward, one)
        with net.no_grad():
            net(x)
        self.says(modc.CallError, f"backward(): {net.library.status(lib.CONSUMED)}", net.backward, one)
        net(x)
        net.changed()
        self.says(modc.CallError, f"backward(): {net.library.status(lib.STALE)}", net.backward, one)
        for what, call in (
            ("backward()", lambda net: net.backward()),
            ("gradients()", lambda net: net.gradients()),
            ("zero_grad()", lambda net: net.zero_grad()),
            ("requires_grad_()", lambda net: net.requires_grad_()),
            ("set_grad_enabled()", lambda net: net.set_grad_enabled(True)),
        ):
            self.says(
                modc.Error,
                f"{what}: room was compiled without gradients: options=['--backward'], or backward: true in the "
                "spec, has them",
                call,
                compile(ROOM),
            )

    def test_hooks_of_backward(self):
        net, x, said = compile(SMALL), floats([1, 2, 3], 1, 3), []
        net.load_state_dict({"fc.weight": floats(range(12), 4, 3), "fc.bias": floats([1] * 4)})
        net.register_full_backward_pre_hook("fc", lambda path, grad_outputs: said.append((path, grad_outputs[0].tolist())))
        net.register_full_backward_hook("fc", lambda path, grad_inputs, grad_outputs: (floats([7, 8, 9], 1, 3),))
        net(x)
        self.assertEqual(net.backward(floats([1, 0, 0, 0], 1, 4)).tolist(), [[7, 8, 9]])
        self.assertEqual(said, [("fc", [[1, 0, 0, 0]])])

    def test_training(self):
        net = compile(FIT)
        x, target = floats([i / 16 for i in range(16)], 8, 2), floats([i / 8 for i in range(8)], 8, 1)
        losses = [net.train_step(x, target) for _ in range(200)]
        self.assertAlmostEqual(losses[0], float(compile(FIT).loss(x, target)), places=6)
        self.assertLess(losses[-1], 0.1 * losses[0])
        self.assertAlmostEqual(float(net.loss(x, target)), losses[-1], delta=losses[-1])
        self.says(modc.Error, "train_step(): the spec of small has no `training:`", compile(SMALL).train_step, x)
        self.says(
            ValueError, "loss(): dimension 0 of target is 16, but batch is 8 in x", net.train_step, x, floats([0] * 16, 16, 1)
        )


class States(Case):
    def test_state_dict(self):
        net = compile(TOOLS)
        self.assertEqual(
            {key: value.shape for key, value in net.state_dict("modc").items()}, {"offset": (), "embed.weight": (5, 2)}
        )
        self.assertEqual(list(net.state_dict("modc")), ["offset", "embed.weight"])
        self.says(ValueError, "a kind of arrays is 'torch', 'numpy' or 'modc', not 'jax'", net.state_dict, "jax")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.safetensors"
            net.reset(5)
            net.save(path)
            again = compile(TOOLS, weights=path)
            self.assertEqual(again.state_dict("modc")["embed.weight"].tolist(), net.state_dict("modc")["embed.weight"].tolist())
            self.says(OSError, f"{folder}/no/net cannot be written", net.save, f"{folder}/no/net")
            self.says(
                FileNotFoundError, f"[Errno 2] No such file or directory: '{folder}/no'", net.load_state_dict, f"{folder}/no"
            )

    def test_written_arrays_and_changed(self):
        net, x = compile(SMALL), floats([1] * 3, 1, 3)
        net.eval()(x)
        bias = net.state_dict("modc")["fc.bias"]
        ctypes.memmove(bias._address, (ctypes.c_float * 4)(100, 100, 100, 100), 16)
        net.changed()
        self.assertGreater(min(net(x).tolist()[0]), 90)

    def test_keys(self):
        net = compile(SMALL)
        state = net.state_dict("modc")
        found = net.load_state_dict(state)
        self.assertEqual((repr(found), str(found)), ("<All keys matched successfully>",) * 2)
        odd = {"fc.bias": state["fc.bias"], "fc.more": state["fc.bias"], "other": state["fc.bias"]}
        found = net.load_state_dict(odd, strict=False)
        self.assertEqual((found.missing_keys, found.unexpected_keys), (["fc.weight"], ["other", "fc.more"]))
        self.assertEqual(repr(found), "_IncompatibleKeys(missing_keys=['fc.weight'], unexpected_keys=['other', 'fc.more'])")
        self.says(
            RuntimeError,
            'Error(s) in loading state_dict for small:\n\tMissing key(s) in state_dict: "fc.weight". \n\t'
            'Unexpected key(s) in state_dict: "other", "fc.more". ',
            net.load_state_dict,
            odd,
        )
        self.says(
            RuntimeError,
            "Error(s) in loading state_dict for small:\n\tsize mismatch for fc.bias: copying a param with shape "
            "torch.Size([3]) from checkpoint, the shape in current model is torch.Size([4]).",
            net.load_state_dict,
            {"fc.bias": floats([0] * 3)},
            strict=False,
        )
        self.says(
            TypeError,
            "a state_dict is a dict of arrays, or the path of a file of weights, not a list",
            net.load_state_dict,
            [],
        )
        self.says(TypeError, "a key of a state_dict is a string, not 3", net.load_state_dict, {3: state["fc.bias"]})
        self.says(TypeError, "fc.bias is a int, which is no array", net.load_state_dict, {"fc.bias": 3})
        self.says(ValueError, "fc.bias is not contiguous", net.load_state_dict, {"fc.bias": floats([0] * 8)[::2]})
        many = {f"key.{'x' * 200}.{i}": state["fc.bias"] for i in range(100)}
        self.assertEqual(net.load_state_dict({**state, **many}, strict=False).missing_keys, [])
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"no safetensors")
            file.flush()
            self.says(modc.FileError, f"{file.name}: it is text, not weights", net.load_state_dict, file.name)

    def test_copies(self):
        net = compile(TOOLS).train()
        net.reset(7)
        net.register_forward_hook("embed", copy.copy)  # what pickle can name
        for made in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
            self.assertEqual(made.state_dict("modc")["embed.weight"].tolist(), net.state_dict("modc")["embed.weight"].tolist())
            self.assertEqual((made.training, len(made._core.hooks), made.summary()), (True, 1, net.summary()))
            made.reset(1)
        self.assertNotEqual(made.state_dict("modc")["embed.weight"].tolist(), net.state_dict("modc")["embed.weight"].tolist())
        self.says(
            TypeError,
            "a net is one with its parameters: copy.deepcopy copies it, and contexts of threads share it",
            copy.copy,
            net,
        )

    def test_embedded_weights(self):
        net = compile(SMALL)
        net.reset(9)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.safetensors"
            net.save(path)
            fixed = compile(SMALL.replace("backward: true\n", ""), options=["--weights", path])
        x = floats([1, 2, 3], 1, 3)
        self.assertEqual(fixed(x).tolist(), net(x).tolist())
        self.assertEqual(fixed.state_dict("modc")["fc.bias"].tolist(), net.state_dict("modc")["fc.bias"].tolist())
        self.assertEqual(pickle.loads(pickle.dumps(fixed))(x).tolist(), net(x).tolist())
        self.says(modc.CallError, f"reset(): {net.library.status(lib.READ_ONLY)}", fixed.reset)
        self.says(RuntimeError, f"small: {net.library.status(lib.READ_ONLY)}", fixed.load_state_dict, net.state_dict("modc"))
        bias = fixed.state_dict("modc")["fc.bias"]
        if not bias._writable:
            self.says(BufferError, "this modc.Array is read-only, which DLPack cannot say", bias.__dlpack__)


class Lives(Case):
    """Contexts and parameters end with who uses them."""

    def count(self, net):
        counts = {"contexts": 0, "hooks": 0, "params": 0, "gradients": 0}

        def counted(name, function):
            def call(*arguments):
                counts[name] += 1
                return function(*arguments)

            return call

        for name, function in (("contexts", "destroy"), ("hooks", "hook_destroy"), ("gradients", "training_destroy")):
            setattr(net.library, function, counted(name, getattr(net.library, function)))
        import weakref

        weakref.finalize(net._params_owner, lambda: counts.__setitem__("params", 1))
        return counts

    def test_without_the_collector(self):
        net, x = compile(SMALL), floats([1] * 3, 1, 3)
        counts = self.count(net)
        gc.collect()
        gc.disable()
        try:
            net.register_forward_hook("fc", lambda *_: None)
            threads = [threading.Thread(target=net, args=(x,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(counts, {"contexts": 3, "hooks": 3, "params": 0, "gradients": 3})
            y = net(x)
            weight = net.state_dict("modc")["fc.weight"]
            del net
            self.assertEqual(counts, {"contexts": 4, "hooks": 4, "params": 0, "gradients": 4})
            self.assertEqual(len(weight.tolist()), 4)  # it holds the parameters
            del weight
            self.assertEqual((counts["params"], y.shape), (1, (1, 4)))
        finally:
            gc.enable()

    def test_threads_have_contexts_of_their_own(self):
        net, x, results = compile(TOOLS), floats([1] * 24, 8, 3), []

        def work():
            results.append([net.count(x)[0].item() for _ in range(50)])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [list(range(1, 51))] * 4)

    def test_first_calls_of_many_threads(self):
        for seed in range(10):
            net, x, results = compile(SMALL), floats([1] * 24, 8, 3), []
            net.reset(seed)
            start = threading.Barrier(4)

            def work():
                start.wait()
                results.append(net(x).tolist())

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(results, [net(x).tolist()] * 4)

    def test_calls_release_the_interpreter(self):
        """While one thread is in a call, another one computes: it counts on while C waits."""
        slow = compile(
            "modc: 1\nmodel: slow\nhooks: none\ninputs: {x: [256, 256]}\n"
            "forward: return x @ x @ x @ x @ x @ x @ x @ x @ x @ x @ x @ x @ x\n"
        )
        x, counted, inside = floats([0] * 65536, 256, 256), [0], [0]
        slow(x)

        def work():
            for _ in range(3):
                inside[0] = 1
                slow(x)
                inside[0] = 0

        before = sys.getswitchinterval()
        sys.setswitchinterval(100)  # nobody is interrupted: who runs beside a call does so because it let go
        try:
            thread = threading.Thread(target=work)
            thread.start()
            while thread.is_alive():
                counted[0] += inside[0]
                time.sleep(0)
        finally:
            sys.setswitchinterval(before)
        self.assertGreater(counted[0], 10)

    def test_two_threads_are_in_calls_at_once(self):
        net, both = compile(SMALL), threading.Barrier(2, timeout=60)
        net.register_forward_hook("fc", lambda *_: (both.wait(), None)[1])
        results = []
        threads = [threading.Thread(target=lambda: results.append(net(floats([1] * 3, 1, 3)).shape)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [(1, 4), (1, 4)])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_fork(self):
        net, x = compile(SMALL), floats([1] * 24, 8, 3)
        wanted = net(x).tolist()
        with net._core.lock, warnings.catch_warnings():  # which a thread might hold
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
            if child == 0:
                net.reset(0)
                os._exit(0 if net(x).tolist() == wanted else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_threads_of_the_runtime(self):
        text = (
            "modc: 1\nmodel: wide\nthreads: 2\nhooks: none\nsizes: {n: 64}\ninputs: {x: [n, 256]}\n"
            "modules: [Linear(256, 256)]\n"
        )
        net, x = compile(text), floats([1] * 64 * 256, 64, 256)
        self.assertEqual(net.about["threads"], 2)
        wanted = net(x).tolist()
        for threads in (1, 3, 2, 1):
            net.set_threads(threads)
            self.assertEqual(net(x).tolist(), wanted)
        self.says(ValueError, "set_threads(): 0 threads, not 1 to 32", net.set_threads, 0)
        self.says(
            modc.Error,
            "set_threads(): no step of small is split: its spec has no `threads`, or its steps are too small",
            compile(SMALL).set_threads,
            2,
        )


class Options(Case):
    def test_dtypes(self):
        text = "modc: 1\nmodel: precise\ndtype: [float64, float32]\ninputs: {x: [2]}\nmodules: [Linear(2, 2)]\n"
        x = memoryview(array.array("d", [1, 2]))
        self.assertEqual(compile(text)(x).dtype, "float64")
        self.assertEqual(compile(text, dtype="float32")(floats([1, 2])).dtype, "float32")
        self.says(
            modc.SpecError,
            "modc: error: a model does not compute in int64",
            compile,
            text,
            dtype="int64",
        )

    def test_dispatch(self):
        net = compile(SMALL, options=["--dispatch"])
        x = floats([1, 2, 3], 1, 3)
        for have, want in zip(net(x).tolist()[0], compile(SMALL)(x).tolist()[0]):
            self.assertAlmostEqual(have, want, places=6)
        integers = "modc: 1\nmodel: m\nstorage: int8\nactivations: int8\nsizes: {n: 2}\ninputs: {x: [n, 3]}\nmodules: [Linear(3, 2)]\n"
        self.assertEqual(compile(integers, options=["--dispatch"])(x).tolist(), compile(integers)(x).tolist())

    def test_what_a_spec_is(self):
        self.says(TypeError, "a spec is a path, a text with newlines, or a torch.nn.Module, not a int", modc.compile, 3)
        self.says(TypeError, "args and arguments of export are for a torch.nn.Module, not for a spec", modc.compile, SMALL, 3)
        with self.assertRaises(modc.SpecError) as caught:
            modc.compile(SMALL.replace("ReLU", "RelU"))
        self.assertEqual(
            (caught.exception.status, str(caught.exception).splitlines()[0]),
            (1, "-:7:8: error: modc does not know the module 'RelU'"),
        )
        with self.assertRaises(modc.SpecError) as caught:
            modc.compile("nothing.yaml")
        self.assertEqual(caught.exception.status, 3)


@unittest.skipUnless(HAS_NUMPY, "no NumPy")
class WithNumPy(Case):
    def test_arrays(self):
        import numpy

        net, x = compile(SMALL), numpy.ones((2, 3), "float32")
        y = net(x)
        self.assertIsInstance(y, numpy.ndarray)
        self.assertIs(net(x, out=y), y)
        self.assertTrue(numpy.array_equal(net(x), y))  # as fast as it goes
        self.assertTrue(numpy.array_equal(net(x[:1]), y[:1]))
        self.assertTrue(numpy.array_equal(net(net_in := numpy.asfortranarray(x[:1])), y[:1]), net_in)
        self.says(
            ValueError,
            "forward(): x is not contiguous (strides (1, 2) of shape (2, 3)); "
            "x.contiguous() or numpy.ascontiguousarray(x) is",
            net,
            numpy.asfortranarray(x),
        )
        self.says(TypeError, "forward(): x is float64, not float32", net, numpy.ones((2, 3)))
        self.says(TypeError, "forward(): x is >f4, not float32", net, x.astype(">f4"))
        self.says(ValueError, "forward(): x is a masked array; x.filled(value) is none", net, numpy.ma.masked_array(x))
        records = numpy.zeros((1, 3), [("a", "<f4"), ("b", "i1")])["a"]
        self.says(
            ValueError,
            "forward(): x is not contiguous (strides (3.75, 1.25) of shape (1, 3)); "
            "x.contiguous() or numpy.ascontiguousarray(x) is",
            net,
            records,
        )
        self.says(
            TypeError,
            "forward(): x is a float, which is no array: NumPy's, PyTorch's, modc.Array, or what has __dlpack__ or " "a buffer",
            net,
            1.0,
        )

    def test_the_quick_way_sees_the_same(self):
        """Calls like one before them, of several shapes in turns, and what only looks like one."""
        import numpy

        net, spread = compile(SMALL), compile(TOOLS).spread
        inputs = [numpy.arange(3 * rows, dtype="float32").reshape(rows, 3) for rows in (1, 2, 8)]
        wanted = [net(x) for x in inputs]
        self.assertEqual(len(net._core.local.context.ready), 3)
        for x, want in 2 * list(zip(inputs, wanted)):
            out = numpy.empty_like(want)
            self.assertTrue(numpy.array_equal(net(x), want))
            self.assertIs(net(x, out=out), out)
            self.assertTrue(numpy.array_equal(out, want))
            self.assertEqual(type(net(x, out=[out])), numpy.ndarray)
        x = inputs[1]
        memory = numpy.zeros(20, "float32")
        self.says(
            ValueError, "forward(): out (output) overlaps x", net, memory[:6].reshape(2, 3), out=memory[5:13].reshape(2, 4)
        )
        fixed = numpy.empty((2, 4), "float32")
        fixed.flags.writeable = False
        self.says(ValueError, "forward(): out (output) is read-only", net, x, out=fixed)
        self.says(TypeError, "forward() gives 1 outputs, out has 2", net, x, out=[wanted[1], wanted[1]])
        self.says(TypeError, "forward(): x is float64, not float32", net, x.astype("float64"))
        self.says(TypeError, f"forward() takes 1 inputs but 2 were given: {SMALL_SIGNATURE}", net, x, x)
        odd = numpy.zeros(25, "u1")[1:].view("float32").reshape(2, 3)
        self.says(
            ValueError,
            "forward(): x begins at an address that is no multiple of 4, as float32 has to; " "x.clone() or x.copy() does",
            net,
            odd,
        )
        x = numpy.ones((3, 3), "float32")
        first = spread(x)[0]
        self.says(ValueError, "spread(): out (output_1) overlaps out (output_0)", spread, x, out=(first, first))
        for rows in range(200):
            net(numpy.ones((rows % 9, 3), "float32"))
        self.assertLessEqual(len(net._core.local.context.ready), 64)

    def test_nothing_is_copied(self):
        import numpy

        net = compile(SMALL)
        weight = net.state_dict("numpy")["fc.weight"]
        self.assertEqual(weight.__array_interface__["data"][0], net.library.key(net._params, 0))
        x = numpy.ones((2, 3), "float32")
        x.flags.writeable = False

        def change(path, inputs):
            inputs[0][:] = 7  # of a copy, which calls with hooks have

        plain = net(x)
        with net.register_forward_pre_hook("", change):
            self.assertFalse(numpy.array_equal(net(x), plain))
        self.assertEqual(x.tolist(), [[1] * 3] * 2)
        array = modc.Array((2, 3), "float32")
        self.assertEqual(numpy.asarray(array).__array_interface__["data"][0], array._address)

    def test_every_dtype_of_arrays(self):
        import numpy

        for name in modc._arrays.DTYPES:
            own = modc.Array((2, 2), name)
            ctypes.memset(own._address, 0, own.nbytes)
            self.assertEqual(own.tolist(), [[0, 0], [0, 0]], name)
            if name != "bfloat16":
                self.assertEqual((numpy.asarray(own).dtype, numpy.asarray(own).tolist()), (numpy.dtype(name), own.tolist()))
        self.assertEqual(repr(modc.Array((0, 2), "int8")), "modc.Array([], shape=(0, 2), dtype='int8')")
        self.says(ValueError, "item() of a tensor with 4 elements", own.item)
        self.says(TypeError, "len() of a tensor without dimensions", len, modc.Array((), "float32"))
        self.says(AttributeError, "NumPy has no bfloat16", lambda: modc.Array((1,), "bfloat16").__array_interface__)
        self.says(BufferError, "modc.Array lies in the host's memory, which has no streams", own.__dlpack__, stream=1)


@unittest.skipUnless(HAS_TORCH, "no PyTorch")
class WithTorch(Case):
    def test_tensors(self):
        import torch

        net, x = compile(SMALL), torch.ones(2, 3)
        y = net(x)
        self.assertIsInstance(y, torch.Tensor)
        self.assertTrue(torch.equal(net(x), y))
        state = net.state_dict("torch")
        reference = torch.nn.functional.relu(torch.nn.functional.linear(x, state["fc.weight"], state["fc.bias"]))
        self.assertTrue(torch.allclose(reference, y))
        self.assertEqual(state["fc.weight"].data_ptr(), net.library.key(net._params, 0))
        self.assertTrue(torch.equal(net(torch.nn.Parameter(x)), y))
        self.says(
            ValueError,
            "forward(): x is not contiguous (strides (1, 2) of shape (2, 3)); "
            "x.contiguous() or numpy.ascontiguousarray(x) is",
            net,
            torch.ones(3, 2).t(),
        )
        self.says(TypeError, "forward(): x is bfloat16, not float32", net, x.bfloat16())
        self.says(TypeError, "forward(): x is torch.sparse_coo, not float32", net, x.to_sparse())
        self.says(ValueError, "forward(): x lies on meta; the model computes on the CPU", net, x.to("meta"))
        negated = torch.imag(torch.conj(torch.ones(2, 3, dtype=torch.complex64)))
        self.assertTrue(negated.is_neg())
        self.says(
            ValueError,
            "forward(): x is a conjugate or negation that PyTorch has not computed; "
            "x.resolve_conj().resolve_neg() is computed",
            net,
            negated,
        )
        empty = torch.ones(2, 3)
        (empty.untyped_storage() if hasattr(empty, "untyped_storage") else empty.storage()).resize_(0)
        self.says(ValueError, "forward(): x has shape (2, 3) and no memory", net, empty)
        self.says(ValueError, "forward(): x has shape (2, 3) and no memory", net, empty)

    def test_complex(self):
        import torch

        net, z, wide = compile(COMPLEX), torch.randn(2, 3, dtype=torch.complex64), torch.ones(2, dtype=torch.complex128)
        state = net.state_dict("torch")
        w, v = state["w"].clone(), state["v"].clone()
        self.assertEqual((w.dtype, w.shape, v.dtype), (torch.complex64, (3, 2), torch.complex128))
        y, other = net(z, wide)
        self.assertTrue(y.dtype == w.dtype and torch.allclose(y, torch.tanh(z @ w), atol=1e-5))
        self.assertTrue(other.dtype == v.dtype and torch.equal(other, v))
        with net.register_forward_hook("act", lambda path, inputs, output: output.mul_(2j)):
            self.assertTrue(torch.allclose(net(z, wide)[0], 2j * torch.tanh(z @ w), atol=1e-5))
        net.load_state_dict({"w": 2 * w, "v": v * 1j})
        self.assertEqual(net.state_dict("modc")["w"].tolist(), (2 * w).tolist())
        with tempfile.TemporaryDirectory() as folder:
            net.save(f"{folder}/x.safetensors")
            held = modc.load_file(f"{folder}/x.safetensors", arrays="torch")
        self.assertTrue(held["v"].dtype == v.dtype and torch.equal(held["v"], v * 1j) and torch.equal(held["w"], 2 * w))
        self.says(TypeError, "forward(): z is complex128, not complex64", net, z.to(torch.complex128), wide)

    def test_state_and_gradients(self):
        import torch

        torch.manual_seed(0)
        reference = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
        net = compile(SMALL)
        net.load_state_dict({key.replace("0.", "fc."): value for key, value in reference.state_dict().items()})
        x, slope = torch.randn(5, 3, requires_grad=True), torch.randn(5, 4)
        self.assertTrue(torch.allclose(net(x), reference(x)))
        reference(x).backward(slope)
        self.assertTrue(torch.allclose(net.backward(slope), x.grad, atol=1e-6))
        self.assertTrue(torch.allclose(net.gradients("torch")["fc.weight"], reference[0].weight.grad, atol=1e-6))

    def test_dlpack(self):
        import torch

        own = modc.Array((2, 3), "float32")
        taken = torch.from_dlpack(own)
        self.assertEqual(taken.data_ptr(), own._address)
        del own
        gc.collect()
        taken.fill_(1)
        self.assertEqual(len(modc._arrays._lent), 1)
        del taken
        self.assertEqual(len(modc._arrays._lent), 0)
        capsule = modc.Array((1,), "float32").__dlpack__()
        del capsule  # which nobody took
        self.assertEqual(len(modc._arrays._lent), 0)

        class Only:  # what has __dlpack__ alone
            def __init__(self, tensor):
                self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__

        net, x = compile(SMALL), torch.ones(2, 3)
        self.assertEqual(net(Only(x)).tolist(), net(x).tolist())

    def test_hooks_return_tensors(self):
        import torch

        net, x = compile(SMALL), torch.ones(2, 3)
        for value, error, text in (
            (torch.ones(4, 2).t(), ValueError, "a hook of fc returned a tensor that is not contiguous"),
            (
                torch.ones(2, 4).to("meta"),
                TypeError,
                "a hook of fc returned what lies on meta; the model " "computes on the CPU, not float32 (2, 4)",
            ),
        ):
            with net.register_forward_hook("fc", lambda path, inputs, output: value):
                self.says(error, text, net, x)

    def test_the_end_of_python(self):
        """Tensors over memory of a net's that live as long as Python, and that hooks keep."""
        text = (
            "import sys; sys.path.insert(0, 'tests/python'); import models, torch\n"
            "net, kept = models.compile(models.SMALL), []\n"
            "net.register_forward_hook('', lambda path, inputs, output: kept.append((net, inputs, output)))\n"
            "net(torch.ones(2, 3))\n"
            "sys.kept = kept, torch.from_dlpack(models.modc.Array((2,), 'float32')), net.state_dict('torch'), net"
        )
        ran = subprocess.run(
            [sys.executable, "-c", text],
            cwd=models.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        self.assertEqual((ran.returncode, ran.stdout), (0, ""))

    def test_hooks_of_bools(self):
        import torch

        net = compile("modc: 1\nmodel: mask\ninputs: {keep: {shape: [2], dtype: bool}}\nforward: return ~keep\n")
        seen = []
        net.register_forward_hook("", lambda path, inputs, output: seen.append((inputs[0], output.clone())))
        self.assertEqual(net(torch.tensor([True, False])).tolist(), [False, True])
        self.assertEqual((seen[0][0].dtype, seen[0][1].tolist()), (torch.bool, [False, True]))


if __name__ == "__main__":
    unittest.main()
