"""modc.export_tflite: small networks give the bits of TensorFlow Lite Micro, and what files it refuses.

tests/oracle/tflite.py made tests/tflite: models, inputs of several calls, and what the reference kernels made of them.
"""
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import modc  # noqa: E402
from modc._errors import Error  # noqa: E402
from modc._files import bytes_of, read_safetensors, records_bytes  # noqa: E402
from modc._tflite import fixed  # noqa: E402
from modc._tflite.export import read_tflite  # noqa: E402
from modc._tflite.flatbuffer import Table  # noqa: E402
from modc._tflite.model import Model, Operator, Tensor, read_model, read_tensor  # noqa: E402
from modc._tflite.write import Writer  # noqa: E402

FOLDER = ROOT / "tests" / "tflite"
FUZZED = int(os.environ.get("MODC_FUZZED", "150"))  # broken files of each model


class Bits(unittest.TestCase):
    def check(self, name):
        held, _ = read_safetensors(bytes_of(FOLDER / f"{name}.safetensors"))
        inputs = [record for key, record in held.items() if key.startswith("input_")]
        wanted = [record for key, record in held.items() if key.startswith("output_")]
        with tempfile.TemporaryDirectory() as work:
            work = Path(work)
            made = modc.export_tflite(FOLDER / f"{name}.tflite", work / "net.yaml", check=False)
            text = made.spec.read_text()
            names = [line.split(":")[0].strip() for line in text.partition("inputs:\n")[2].partition("\n\n")[0].split("\n")]
            returned = text.rpartition("return ")[2].strip().split(", ")
            (work / "inputs.safetensors").write_bytes(records_bytes(dict(zip(names, inputs))))
            ran = subprocess.run(
                [modc.executable(), "run", made.spec, "--weights", made.weights, "--inputs", work / "inputs.safetensors",
                 "--outputs", work / "outputs.safetensors", "--sequence"], capture_output=True, text=True,
                env={**os.environ, "CFLAGS": os.environ.get("CFLAGS", "-O0")}, check=False)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            found, _ = read_safetensors(bytes_of(work / "outputs.safetensors"))
            self.assertEqual((len(names), len(returned)), (len(inputs), len(wanted)))
            for name, want in zip(returned, wanted):
                self.assertEqual((found[name].dtype, found[name].shape), (want.dtype, want.shape), name)
                self.assertEqual(bytes(found[name].data), bytes(want.data), name)

    def test_autoencoder(self):
        self.check("autoencoder")

    def test_ds_cnn(self):
        self.check("ds_cnn")

    def test_resnet(self):
        self.check("resnet")

    def test_mobilenet(self):
        self.check("mobilenet")

    def test_operators(self):
        self.check("operators")


def tensor(index, shape, scale=0.1, zero=3, dtype="int8", data=None):
    return Tensor(index, f"t{index}", tuple(shape), dtype, data, [] if scale is None else [fixed.single(scale)],
                  [] if scale is None else [zero], 0)


class Options:
    """Of an operator, by the numbers of fields."""

    def __init__(self, values):
        self.values = values

    def number(self, field, _, default=0):
        return self.values.get(field, default)


def written(kind, inputs, output, options=None):
    given = [item for item in inputs if item is not None and item.data is None]
    return Writer(Model(given, [output], [Operator(0, kind, inputs, [output], Options(options or {}))]), "net").text()


class Refused(unittest.TestCase):
    def refused(self, text, kind, inputs, output, options=None):
        with self.assertRaises(modc.TfliteError) as found:
            written(kind, inputs, output, options)
        self.assertEqual(str(found.exception).split("\nhint: ")[0], text)

    def test_operator(self):
        self.refused("operator 0 (GATHER): modc has no such operator of TensorFlow Lite", "GATHER", [tensor(0, (2, 2))],
                     tensor(1, (2, 2)))

    def test_types(self):
        self.refused("operator 0 (RELU): tensor 0 't0' is float32; modc reads it of int8", "RELU",
                     [tensor(0, (2,), None, dtype="float32")], tensor(1, (2,)))
        self.refused("input tensor 0 't0' is int16; modc reads models of int8, whose inputs and outputs are int8, uint8 or float32",
                     "RELU", [tensor(0, (2,), dtype="int16")], tensor(1, (2,)))

    def test_scales(self):
        self.refused("operator 0 (RELU): tensor 0 't0' has 0 scales, where it has to have one", "RELU", [tensor(0, (2,), None)],
                     tensor(1, (2,)))
        self.refused("operator 0 (RELU): tensor 1 't1' has scale 0 and zero point 3", "RELU", [tensor(0, (2,))],
                     tensor(1, (2,), 0.0))
        self.refused("operator 0 (SOFTMAX): tensor 1 't1' has scale 0.1 and zero point 3, not 1/256 and -128", "SOFTMAX",
                     [tensor(0, (2,))], tensor(1, (2,)), {0: 1.0})

    def test_weights(self):
        weight = tensor(1, (4, 1, 1, 3), 0.1, 0, data=bytes(12))
        image, output = tensor(0, (1, 5, 5, 3)), tensor(2, (1, 5, 5, 4))
        plain = {0: 1, 1: 1, 2: 1}
        self.assertIn("conv_0: Conv2dInt8(3, 4, (1, 1), zero=3, out_zero=3)", written("CONV_2D", [image, weight], output, plain))
        self.assertIn("low=3, high=63", written("CONV_2D", [image, weight], output, {**plain, 3: 3}))  # RELU6: 3 to 3 + 6 / 0.1
        self.refused("operator 0 (CONV_2D): its fused activation is TANH; modc has NONE, RELU, RELU_N1_TO_1, RELU6", "CONV_2D",
                     [image, weight], output, {**plain, 3: 4})
        self.refused("operator 0 (CONV_2D): tensor 2 't2' has the shape [1, 5, 4, 4], and is given [1, 5, 5, 4]", "CONV_2D",
                     [image, weight], tensor(2, (1, 5, 4, 4)), plain)
        weight.zeros = [1]
        self.refused("operator 0 (CONV_2D): tensor 1 't1' has zero points that are not 0, which the reference kernels do not read",
                     "CONV_2D", [image, weight], output, plain)
        weight.data = bytes(11)
        self.refused("tensor 1 't1' is int8 [4, 1, 1, 3], and has 11 bytes of data", "CONV_2D", [image, weight], output, plain)
        weight.data = None
        self.refused("operator 0 (CONV_2D): its weights, tensor 1 't1', is computed; it has to be a constant", "CONV_2D",
                     [image, weight], output, plain)

    def test_order(self):
        given, made = tensor(0, (2,)), tensor(1, (2,))
        with self.assertRaises(modc.TfliteError) as found:
            Writer(Model([given], [made], [Operator(0, "RELU", [tensor(5, (2,))], [made], None)]), "net")
        self.assertEqual(str(found.exception), "operator 0 (RELU) reads tensor 5 't5', which is not computed before")
        with self.assertRaises(modc.TfliteError) as found:
            Writer(Model([given], [made], [Operator(place, "RELU", [given], [made], None) for place in (0, 1)]), "net")
        self.assertEqual(str(found.exception), "operator 1 (RELU): tensor 1 't1' is already computed by operator 0 (RELU)")
        with self.assertRaises(modc.TfliteError) as found:
            Writer(Model([given], [], []), "net")
        self.assertEqual(str(found.exception), "the model has no outputs")

    def test_constants(self):
        given, held, made = tensor(0, (3,)), tensor(1, (3,), data=b"abc"), tensor(2, (3,), 1.0)
        self.assertIn("add_0 = add_0(t0, self.constant_1)", written("ADD", [given, held], made))
        held.data = b"ab"
        self.refused("operator 0 (ADD) reads the constant tensor 1 't1': int8 [3], of 2 bytes; modc reads constants of int8 there",
                     "ADD", [given, held], made)
        made.scales = [1e-7]
        self.refused("operator 0 (ADD): the scale of tensor 2 't2' is too small beside those of its operands", "ADD",
                     [given, held], made)

    def test_moves(self):
        given, order = tensor(0, (2, 3)), tensor(1, (2,), None, dtype="int32", data=struct.pack("<2i", 1, 0))
        self.assertIn("transpose_0 = t0.permute(1, 0)", written("TRANSPOSE", [given, order], tensor(2, (3, 2))))
        self.refused("operator 0 (TRANSPOSE): tensor 2 't2' has the shape [2, 3], and is given [3, 2]", "TRANSPOSE",
                     [given, order], tensor(2, (2, 3)))
        self.refused("operator 0 (CONCATENATION): it has a fused activation, which the reference kernel does not compute",
                     "CONCATENATION", [given, given], tensor(2, (4, 3)), {1: 1})
        ends = [tensor(place, (2,), None, dtype="int32", data=struct.pack("<2i", *pair))
                for place, pair in enumerate(((0, 0), (2, 3), (1, -1)), 1)]
        self.refused("operator 0 (STRIDED_SLICE): its strides are [1, -1]; modc has those above 0", "STRIDED_SLICE",
                     [given, *ends], tensor(4, (2, 3)))


class Files(unittest.TestCase):
    def test_broken(self):
        """Cut anywhere, with bytes that are others: a message, or a spec; never another exception."""
        draw = random.Random(7)
        for path in sorted(FOLDER.glob("*.tflite")):
            whole = path.read_bytes()
            for index in range(FUZZED):
                data = bytearray(whole)
                if index % 3 == 0:
                    del data[draw.randrange(len(data)):]
                for _ in range(draw.choice((1, 1, 2, 8)) if index % 3 else 0):
                    place = draw.randrange(len(data))
                    data[place] = draw.choice((0, 1, 127, 128, 255, data[place] ^ 1 << draw.randrange(8)))
                    if draw.random() < 0.3:
                        struct.pack_into("<I", data, min(place, len(data) - 4), draw.choice((0xFFFFFFFF, 0x7FFFFFFF, 1 << 20, 0)))
                try:
                    read_tflite(bytes(data), "net")
                except Error as error:
                    self.assertTrue(str(error))

    def said(self, data):
        with self.assertRaises(modc.TfliteError) as found:
            read_model(bytes(data))
        return str(found.exception).split("\nhint: ")[0]

    def test_fields(self):
        """Numbers of a file that point elsewhere, one after the other."""
        whole = (FOLDER / "resnet.tflite").read_bytes()
        root = Table.root(whole)
        graph = root.tables(2)[0]
        held = next(table for table in graph.tables(0) if table.place(2))
        coded = next(table for table in graph.tables(3) if table.place(0))
        data = next(table for table in root.tables(4) if table.place(0))
        for place, code, number, text in (
                (root.place(0), "<I", 2, "it is of version 2 of the schema; modc reads version 3"),
                (root.vector(2, 4)[0] - 4, "<I", 0, "it has no subgraph: no model"),
                (held.place(2), "<I", 99, "' is in buffer 99, of which there are "),
                (held.vector(0, 4)[0], "<i", -1, "' has the shape [-1, "),
                (coded.place(0), "<I", 99, " is of code 99, of which there are "),
                (coded.vector(1, 4)[0], "<i", 9999, ") has tensor 9999, of which there are "),
                (data.vector(0, 1)[0] - 4, "<I", 1 << 30, "it is cut off, or no flatbuffer: 1073741824 elements at byte "),
                (0, "<I", 1 << 30, "it is cut off, or no flatbuffer: byte 1073741824 of 10832 is wanted")):
            changed = bytearray(whole)
            struct.pack_into(code, changed, place, number)
            self.assertIn(text, self.said(changed))

    def test_tensors(self):
        class Fields:
            """A Table of these fields."""

            def __init__(self, **fields):
                self.fields = {int(key[1:]): value for key, value in fields.items()}

            def get(self, field, *_):
                return self.fields.get(field)

            def number(self, field, _, default=0):
                return self.fields.get(field, default)

            def numbers(self, field, _):
                return self.fields.get(field, [])

            table = bytes = get

            def text(self, field):
                return self.fields.get(field, "")

        for fields, buffer, text, hint in (
                ({"f6": Fields()}, Fields(), "tensor 4 'w' is sparse, which modc does not read", None),
                ({}, Fields(f1=100, f2=50), "tensor 4 'w' lies at 100 to 150 of 120 bytes", None),
                ({"f0": [-1, 3]}, Fields(), "tensor 4 'w' has the shape [-1, 3]",
                 "shapes are known in a file: the converter fixes them by the shape of the input")):
            with self.assertRaises(modc.TfliteError) as found:
                read_tensor(bytes(120), 4, Fields(f3="w", f1=9, **fields), [buffer])
            self.assertEqual(str(found.exception), text + (f"\nhint: {hint}" if hint else ""))

    def test_not_one(self):
        for data, text in ((b"", "bytes 4 to 7 are not TFL3"), (b"\x20\0\0\0TFL3", "cut off, or no flatbuffer")):
            with self.assertRaises(modc.TfliteError) as found:
                read_model(data)
            self.assertIn(text, str(found.exception))

    def test_command(self):
        with tempfile.TemporaryDirectory() as work:
            command = [sys.executable, "-m", "modc", "export"]
            env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
            ran = subprocess.run([*command, FOLDER / "resnet.tflite", "-o", f"{work}/r8.yaml", "--name", "r8", "--no-check"],
                                 capture_output=True, text=True, env=env, check=False)
            self.assertEqual((ran.stdout, ran.stderr), (f"wrote {work}/r8.yaml\nwrote {work}/r8.safetensors\n"
                                                        "not compared: as --no-check says\n", ""))
            self.assertIn("model: r8\n", Path(work, "r8.yaml").read_text())
            Path(work, "no.tflite").write_bytes(b"PK\3\4 and more")
            ran = subprocess.run([*command, f"{work}/no.tflite"], capture_output=True, text=True, env=env, check=False)
            self.assertEqual((ran.returncode, ran.stderr),
                             (1, "modc: error: it is no TensorFlow Lite model: bytes 4 to 7 are not TFL3\n"))


if __name__ == "__main__":
    unittest.main()
