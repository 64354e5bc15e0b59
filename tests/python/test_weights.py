#!/usr/bin/env python3
"""modc.load_file and `python -m modc convert`: files of every kind, whole, wrong, and broken in every way that was thought of.

PyTorch and NumPy write what they can; GGUF and others are written here. What is read is compared bit for bit.
"""
import copy
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock
import zipfile
from pathlib import Path
from pickle import dumps, loads

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import modc

if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():  # the command, where it is not build/modc
    command = Path(sys.argv.pop(1)).resolve()
    modc.executable = lambda: command

from modc._files import bytes_of, read_safetensors, records_bytes
from modc._weights import pickles
from modc._weights.kinds import kind_of
from modc._weights.read import read

try:
    import torch
except ImportError:
    torch = None
try:
    import numpy
except ImportError:
    numpy = None

try:
    import gguf as package
except ImportError:
    package = None

FUZZED = int(os.environ.get("MODC_FUZZED", "400"))  # broken files of each kind


class Picky:
    """A class of somebody's, which a checkpoint may hold; it must never be made."""

    def __init__(self, note):
        self.note = note

    def __setstate__(self, state):
        raise AssertionError("code of a checkpoint ran")


class Runs:
    def __reduce__(self):
        return os.system, ("touch ran",)


def gguf(tensors, values=(), version=3, alignment=32):
    """A GGUF file of (name, type, extents from the innermost on, bytes)."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    head += b"".join(text(key) + value for key, value in values)
    body = b""
    for name, kind, dims, data in tensors:
        head += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        head += struct.pack("<IQ", kind, len(body))
        body += data + b"\0" * (-len(data) % alignment)
    return head + b"\0" * (-len(head) % alignment) + body


def value(kind, data):
    return struct.pack("<I", kind) + data


SMALL_GGUF = gguf([("blk.0.weight", 0, (3, 2), struct.pack("<6f", *range(6))), ("half", 1, (2,), struct.pack("<2e", 1, 2)),
                   ("brain", 30, (1,), b"\x80\x3f"), ("wide", 28, (1,), struct.pack("<d", 5)),
                   ("count", 26, (1,), struct.pack("<i", -7))],
                  [("general.name", value(8, struct.pack("<Q", 3) + b"net")),
                   ("list", value(9, struct.pack("<IQ3I", 4, 3, 1, 2, 3))),
                   ("words", value(9, struct.pack("<IQQ", 8, 1, 1) + b"a")),
                   ("general.alignment", value(4, struct.pack("<I", 64)))],
                  alignment=64)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="modc-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def write(self, name, data):
        Path(name).write_bytes(data)
        return name

    def refused(self, path, text, hint=None, **options):
        with self.assertRaises(modc.FileError) as caught:
            modc.load_file(path, arrays="modc", **options)
        self.assertEqual(str(caught.exception), f"{path}: {text}" + (f"\nhint: {hint}" if hint else ""))

    def command(self, *words):
        ran = subprocess.run([sys.executable, "-m", "modc", "convert", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=False)
        return ran.returncode, ran.stdout, ran.stderr


class WithoutOthers(Case):
    """What needs neither PyTorch nor NumPy."""

    def test_gguf(self):
        loaded = modc.load_file(self.write("net.gguf", SMALL_GGUF), arrays="modc")
        self.assertEqual({name: (array.dtype, array.tolist()) for name, array in loaded.items()}, {
            "blk.0.weight": ("float32", [[0, 1, 2], [3, 4, 5]]), "half": ("float16", [1, 2]), "brain": ("bfloat16", [1]),
            "wide": ("float64", [5]), "count": ("int32", [-7])})
        with mock.patch.dict(sys.modules, {"gguf": None}):
            for tensors, kinds in [([("w", 12, (256,), b"")], "Q4_K (w)"),
                                   ([("w", 99, (256,), b""), ("v", 8, (32,), b"")], "type 99 (w), Q8_0 (v)")]:
                self.refused(self.write("a", gguf(tensors)),
                             f"it has tensors of {kinds}, which modc does not read without the gguf package: matrices of Q8_0 "
                             "and Q4_0, F32, F16, BF16, F64 and integers alone",
                             "pip install gguf, or llama.cpp's convert_hf_to_gguf.py --outtype q8_0 (or f16, f32)")
        self.refused(self.write("a", gguf([], version=1)), "it is GGUF of version 1, of which modc reads 2 and 3")
        self.refused(self.write("a", b"GGUF" + struct.pack(">I", 3)), "it is big-endian GGUF")
        broken = "it may have been copied or downloaded in part"
        for data, text in [
                (gguf([("w", 0, (4,), b"")]), "w is not all in the file"),
                (gguf([("w", 0, (2 ** 63, 8), b"")]), "w is not all in the file"),
                (gguf([("w", 8, (32, 2), b"")]), "w is not all in the file"),
                (gguf([("w", 2, (2 ** 40, 2 ** 40), b"")]), "w is not all in the file"),
                (gguf([("w", 0, (1, 1, 1, 1, 1), b"")]), "w has 5 dimensions"),
                (gguf([("w", 0, (1,), b"1234"), ("w", 0, (1,), b"1234")]), "it has two tensors w"),
                (gguf([], [("general.alignment", value(4, struct.pack("<I", 3)))]), "its general.alignment is 3"),
                (gguf([], [("a", value(13, b""))]), "its metadata have a value of type 13"),
                (gguf([], [("a", value(9, struct.pack("<IQ", 9, 1)))]), "its metadata have an array of type 9"),
                (b"GGUF" + struct.pack("<IQQ", 3, 2 ** 60, 0), "it ends within its header, at byte 24")]:
            self.refused(self.write("a", data), f"a GGUF file that is broken: {text}", broken)

    def test_types_that_no_file_has(self):
        for code, said in (("?complex32", "complex32"), (None, "untyped")):
            with self.assertRaises(modc.FileError) as caught:
                pickles.record_of_tensor("w", pickles.Tensor(None, code, 0, (2,), (1,)), None)
            self.assertEqual(str(caught.exception), f"w is of PyTorch's {said}, which safetensors files of modc have no type for")

    def test_safetensors_and_index(self):
        def file(**tensors):
            return records_bytes({name: modc._files.Record("F32", (1,), struct.pack("<f", number))
                                  for name, number in tensors.items()})

        self.write("m-1.safetensors", file(a=1, c=3))
        self.write("m-2.safetensors", file(b=2))
        index = {"metadata": {"total_size": 12},
                 "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-1.safetensors"}}
        self.write("model.safetensors.index.json", json.dumps(index).encode())
        for path in ("model.safetensors.index.json", "."):
            loaded = modc.load_file(path, arrays="modc")
            self.assertEqual({name: array.tolist() for name, array in loaded.items()}, {"a": [1], "b": [2], "c": [3]})
            self.assertEqual(list(loaded), ["a", "b", "c"])
        for places, text in [({"a": "../m"}, "'a' lies in '../m', which is no file beside the index"),
                             ({"a": ".."}, "'a' lies in '..', which is no file beside the index"),
                             ({"a": 3}, "'a' lies in 3, which is no file beside the index"),
                             ({"a": "m-3"}, "it names m-3, which is not beside it"),
                             ({"d": "m-1.safetensors"}, "it says that m-1.safetensors has 'd', which it has not")]:
            self.refused(self.write("i.json", json.dumps({"weight_map": places}).encode()), text)
        self.write("self.json", json.dumps({"weight_map": {"a": "self.json"}}).encode())
        self.refused("self.json", "self.json: an index of several files")
        os.mkdir("empty")
        self.refused("empty", "it is a folder without weights",
                     "files are looked for as model.safetensors.index.json, model.safetensors, pytorch_model.bin.index.json, "
                     "pytorch_model.bin")

        def header(about):
            text = json.dumps(about).encode()
            return struct.pack("<Q", len(text)) + text + b"1234"
        self.refused(self.write("a", header({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})),
                     "a safetensors file that is broken: the bytes of w are not where they should be",
                     "it may have been copied or downloaded in part")
        self.refused(self.write("a", header({"w": {"dtype": "F4", "shape": [8], "data_offsets": [0, 4]}})),
                     "w is F4, which modc does not read")
        self.write("a", header({"w": {"dtype": "U16", "shape": [2], "data_offsets": [0, 4]}}))
        with self.assertRaisesRegex(modc.FileError, "^w is U16, which modc has no type for$"):
            modc.load_file("a", arrays="modc")

    def test_kinds(self):
        """What a file says that is none of weights: each row of the tables of kinds."""
        def archive(*names):
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w") as made:
                for name in names:
                    made.writestr(name, b"x")
            return file.getvalue()

        numpy_hint = "numpy.savez(FILE, **{name: array}) writes an .npz, which this reads"
        unpack = "it has to be unpacked first"
        for data, text, hint in [
                (b"", "it is empty", None),
                (b"\x1c\0\0\0TFL3....", "it is a TensorFlow Lite model: a network, not weights alone",
                 "python -m modc export FILE.tflite makes a spec and weights of one of int8"),
                (b"\x89HDF\r\n\x1a\n\0\0\0", "it is an HDF5 file, as Keras and h5py write, which modc does not read",
                 f"h5py gives its arrays; {numpy_hint}"),
                (b"\x93NUMPY\1\0v\0", "it is one array of NumPy's, without a name", numpy_hint),
                (b"tjgg\3\0\0\0", "it is a GGML file, which came before GGUF",
                 "llama.cpp's convert_llama_ggml_to_gguf.py writes GGUF, which this reads"),
                (b"\x1f\x8b\x08\0\0\0", "it is compressed with gzip", f"{unpack}: gzip -d"),
                (b"BZh91AY&SY", "it is compressed with bzip2", f"{unpack}: bzip2 -d"),
                (b"\xfd7zXZ\0\0\4", "it is compressed with xz", f"{unpack}: xz -d"),
                (b"\x28\xb5\x2f\xfd\0\0", "it is compressed with zstd", f"{unpack}: zstd -d"),
                (b"a" * 257 + b"ustar\0", "it is a tar archive", f"{unpack}: tar -xf"),
                (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
                 "it is a pointer of Git LFS, not the file itself", "git lfs pull fetches it"),
                (b"<!DOCTYPE html><html>", "it is a web page or XML, not the file itself",
                 "the link of a download button leads to the file"),
                (b'{"a": 1}', "it is JSON, and no index of weights: it has no weight_map", None),
                (b"modc: 1\nmodel: net\n", "it is text, not weights", None),
                ("modèle".encode(), "it is text, not weights", None),
                (b"\xff\xd8\xff\xe0\0\x10JFIF", "it is no kind of file that modc knows",
                 "it reads safetensors, torch.save's files, .npz, GGUF, ONNX and indexes of several files"),
                (archive("net/code/a.py", "net/data.pkl", "net/constants.pkl"),
                 "it is a TorchScript archive, which modc does not read",
                 "torch.save(torch.jit.load(FILE).state_dict(), OUT) writes a file that this reads"),
                (archive("net/archive_format", "net/models/model.json"),
                 "it is an archive of torch.export, which modc does not read",
                 "torch.save(torch.export.load(FILE).state_dict, OUT) writes a file that this reads"),
                (archive("config.json", "model.weights.h5"), "it is a Keras model, which modc does not read", numpy_hint),
                (archive("m/Data/m.mlmodel"), "it is a Core ML model, which modc does not read", None),
                (archive("a", "b", "c", "d"), "it is a zip archive of other files: a, b, c, ...", unpack),
                (archive(), "it is an empty zip archive", unpack),
                (archive("a")[:40], "it is a zip archive, as torch.save and NumPy write, whose end is missing",
                 "it may have been copied or downloaded in part"),
                (b"\x80\x04K\x03.", "it is a pickle that torch.save did not write",
                 "who wrote it can write tensors instead: torch.save(model.state_dict(), FILE), or numpy.savez")]:
            with self.subTest(text):
                self.refused(self.write("file", data), text, hint)
        with self.assertRaises(FileNotFoundError):
            modc.load_file("missing")

    def test_onnx_is_told(self):
        data = b"\x08\x07\x12\x07pytorch:\x02"
        self.assertEqual(kind_of(data).name, "onnx")
        try:
            import onnx  # noqa: F401
        except ImportError:
            self.refused(self.write("net.onnx", data), "it is an ONNX model, which the onnx package reads", "pip install onnx")
            return
        self.write("net.onnx", data)
        with self.assertRaisesRegex(modc.FileError, "^net.onnx: it looks like an ONNX model, but onnx says: "):
            modc.load_file("net.onnx")

    def test_onnx(self):
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is missing")
        from onnx import TensorProto, helper, numpy_helper
        tensors = [numpy_helper.from_array(numpy.arange(6, dtype="f4").reshape(2, 3), "fc.weight"),
                   numpy_helper.from_array(numpy.array([1.5], "f2"), "half"),
                   helper.make_tensor("brain", TensorProto.BFLOAT16, [2], b"\x80\x3f\0\x40", raw=True)]
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
        graph = helper.make_graph([helper.make_node("Relu", ["fc.weight"], ["y"])], "net", [], [y], tensors)
        model = helper.make_model(graph)
        onnx.save(model, "net.onnx")
        onnx.save_model(model, "large.onnx", save_as_external_data=True, location="large.data", size_threshold=0)
        for path in ("net.onnx", "large.onnx"):
            loaded = modc.load_file(path, arrays="modc")
            self.assertEqual({name: (array.dtype, array.tolist()) for name, array in loaded.items()}, {
                "fc.weight": ("float32", [[0, 1, 2], [3, 4, 5]]), "half": ("float16", [1.5]), "brain": ("bfloat16", [1, 2])})
        model.graph.initializer[0].data_type = TensorProto.STRING
        onnx.save(model, "text.onnx")
        self.refused("text.onnx", "fc.weight is of ONNX's STRING, which safetensors files of modc have no type for")
        onnx.save(helper.make_model(helper.make_graph(graph.node, "net", [], [y])), "none.onnx")
        self.refused("none.onnx", "it is an ONNX model without initialisers")

    def test_command(self):
        self.write("net.gguf", SMALL_GGUF)
        self.assertEqual(self.command("net.gguf", "net.safetensors"), (0, "", ""))
        records, _ = read_safetensors(bytes_of("net.safetensors"))
        self.assertEqual({name: (record.dtype, record.shape, bytes(record.data)) for name, record in records.items()},
                         {name: (record.dtype, record.shape, bytes(record.data))
                          for name, record in read("net.gguf").records.items()})
        self.assertEqual(self.command("net.safetensors")[1],
                         "blk.0.weight: float32 [2, 3]\nhalf: float16 [2]\nbrain: bfloat16 [1]\n"
                         "wide: float64 [1]\ncount: int32 [1]\n")
        self.write("text", b"text")
        self.assertEqual(self.command("text", "out"), (3, "", "modc: error: text: it is text, not weights\n"))
        self.assertEqual(self.command("missing", "out"),
                         (3, "", "modc: error: cannot read or write 'missing': No such file or directory\n"))
        self.assertEqual(self.command("net.gguf", "none/out")[0], 3)
        self.write("p.gguf", gguf([("module.model.w", 0, (1,), b"1234"), ("module.model.b", 0, (1,), b"1234")]))
        self.assertEqual(self.command("p.gguf", "out"), (
            0, "", "modc: note: every key begins with 'module.model.': --strip-prefix module.model. cuts it off\n"))
        self.assertEqual(self.command("p.gguf", "--strip-prefix", "module."),
                         (0, "model.w: float32 [1]\nmodel.b: float32 [1]\n", ""))
        self.assertEqual(self.command("p.gguf", "out", "--strip-prefix", "net."), (
            3, "", "modc: error: p.gguf: 'module.model.w' does not begin with 'net.'\n"
                   "hint: --strip-prefix cuts what all keys begin with\n"))
        self.assertEqual(self.command()[0], 2)
        self.assertFalse([path.name for path in self.folder.iterdir() if path.suffix == ".part"])


@unittest.skipIf(numpy is None, "NumPy is missing")
class OfNumPy(Case):
    def test_npz(self):
        arrays = {"a.weight": numpy.arange(6, dtype="f4").reshape(2, 3),
                  "turned": numpy.asfortranarray(numpy.arange(24.0).reshape(2, 3, 4)),
                  "flags": numpy.array([True, False]), "half": numpy.array([0.5], "f2"), "n": numpy.array(3),
                  "none": numpy.zeros((0, 2)),
                  "c": numpy.array([1 + 2j], "c8")}
        numpy.savez("a.npz", **arrays)
        numpy.savez_compressed("b.npz", **arrays)
        for path in ("a.npz", "b.npz"):
            loaded = modc.load_file(path)
            self.assertEqual(list(loaded), list(arrays))
            for name, array in arrays.items():
                self.assertEqual(loaded[name].dtype, array.dtype)
                numpy.testing.assert_array_equal(loaded[name], array)
        loaded["half"][0] = 2  # memory of the caller's own, which leads to no file
        numpy.savez("a.npz", w=numpy.array(["text"]))
        self.refused("a.npz", "w.npy is of NumPy's '<U4', which safetensors files of modc have no type for")
        numpy.savez("a.npz", w=numpy.array([1], ">f4"))
        self.refused("a.npz", "w.npy is of NumPy's '>f4', which safetensors files of modc have no type for")
        numpy.savez("a.npz", w=numpy.array([{}], object))
        self.refused("a.npz", "w.npy is of NumPy's '|O', which safetensors files of modc have no type for")

    def test_broken(self):
        file = io.BytesIO()
        numpy.savez(file, a=numpy.arange(8, dtype="f4"), b=numpy.asfortranarray(numpy.ones((2, 3))))
        fuzz(self, file.getvalue())


def packed_words(rows, width):
    """int32s, row by row, of values that are `width` bits wide, the first in the lowest ones."""
    each, out = 32 // width, []
    for row in rows:
        for first in range(0, len(row), each):
            out.append(sum(value << width * place for place, value in enumerate(row[first:first + each])))
    return struct.pack(f"<{len(out)}I", *out)


class Layer:
    """A layer of GPTQ or AWQ, k x n, of random integers, and the numbers that it stands for, row by row of the weight (n, k)."""

    def __init__(self, zero=None, bits=4, k=64, n=16, group=16, order=None, zeros_as=0, awq=False):
        chance = random.Random(k + n + bits)
        top = 1 << bits
        groups, self.n, self.k, self.bits = k // group, n, k, bits
        self.values = [[chance.randrange(top) for _ in range(n)] for _ in range(k)]
        self.zeros = [[zero or chance.randrange(1, top) for _ in range(n)] for _ in range(groups)]
        self.scales = [[chance.randrange(1, 2000) / 4096 for _ in range(n)] for _ in range(groups)]
        self.order = order or [step // group for step in range(k)]
        self.numbers = [(self.values[step][row] - self.zeros[at][row]) * self.scales[at][row]
                        for row in range(n) for step, at in enumerate(self.order)]
        stored = [[value + zeros_as & top - 1 for value in row] for row in self.zeros]
        if awq:
            turn = (lambda row: [row[first + column] for first in range(0, n, 8) for column in (0, 2, 4, 6, 1, 3, 5, 7)])
            weight, words = [turn(row) for row in self.values], (k, n // 8)
            stored = [turn(row) for row in stored]
            data = packed_words(weight, bits)
        else:
            each, words = 32 // bits, (k * bits // 32, n)
            data = b"".join(packed_words([[self.values[first + place][row] for place in range(each)]], bits)
                            for first in range(0, k, each) for row in range(n))
        record = modc._files.Record
        self.records = {
            "l.qweight": record("I32", words, data),
            "l.qzeros": record("I32", (groups, n * bits // 32), packed_words(stored, bits)),
            "l.scales": record("F16", (groups, n), struct.pack(f"<{groups * n}e", *(scale for row in self.scales for scale in row))),
            "l.bias": record("F16", (n,), bytes(2 * n))}
        if not awq:
            self.records["l.g_idx"] = record("I32", (k,), struct.pack(f"<{k}i", *self.order))


class AsIntegers(Case):
    """Files whose weights are integers with scales."""

    def integers(self, record):
        if record.dtype == "I8":
            return list(struct.unpack(f"{len(record.data)}b", record.data))
        return [(byte >> shift & 15) - 8 for byte in record.data for shift in (0, 4)]

    def test_gguf(self):
        chance = random.Random(3)
        for kind, code, size in (("int8", 8, 32), ("int4", 2, 16)):
            scales = [chance.randrange(-200, 200) / 256 for _ in range(6)]
            blocks = [bytes(chance.randrange(256) for _ in range(size)) for _ in scales]
            data = b"".join(struct.pack("<e", scale) + block for scale, block in zip(scales, blocks))
            wholes = [byte - 256 * (byte > 127) for block in blocks for byte in block] if size == 32 else \
                [(byte >> shift & 15) - 8 for block in blocks for shift in (0, 4) for byte in block]
            path = self.write("w.gguf", gguf([("w", code, (96, 2), data), ("b", 0, (2,), struct.pack("<2f", 1, 2))]))
            made = read(path)
            self.assertEqual((made.about, made.notes), ({"w": f"{kind}(group=32, rounding=gguf)"}, []))
            self.assertEqual(self.integers(made.records["w"]), wholes)
            self.assertEqual(made.records["w_scale"][:2], ("F16", (2, 3)))
            self.assertEqual(list(struct.unpack("<6e", made.records["w_scale"].data)), scales)
            numbers = [whole * scales[at // 32] for at, whole in enumerate(wholes)]
            self.assertEqual(sum(modc.load_file(path, arrays="modc")["w"].tolist(), []), numbers)
            self.assertEqual(self.command(path, "w.safetensors"), (0, "", ""))  # and its integers as numbers again
            self.assertEqual(sum(modc.load_file("w.safetensors", arrays="modc")["w"].tolist(), []), numbers)
            if numpy is not None and package is not None:
                found = package.quants.dequantize(numpy.frombuffer(data, "u1").reshape(2, -1), package.GGMLQuantizationType(code))
                self.assertEqual(found.reshape(-1).tolist(), numbers)

    @unittest.skipIf(numpy is None or package is None, "the gguf package is missing")
    def test_other_gguf(self):
        data = bytes(random.Random(4).randrange(60) for _ in range(2 * 24))
        made = read(self.write("w.gguf", gguf([("w", 7, (32, 2), data)])))
        self.assertEqual((made.about, made.notes), ({}, [
            "tensors of Q5_1 (w) are written as float32; modc quantize rounds them, and tells the error"]))
        found = package.quants.dequantize(numpy.frombuffer(data, "u1").reshape(2, -1), package.GGMLQuantizationType.Q5_1)
        self.assertEqual(made.records["w"][:2], ("F32", (2, 32)))
        self.assertEqual(bytes(made.records["w"].data), found.tobytes())
        self.refused(self.write("a", gguf([("w", 7, (16, 2), b"")])), "a GGUF file that is broken: a tensor of Q5_1 has rows of 16",
                     "it may have been copied or downloaded in part")

    def made(self, layer, about, note=None, config=None):
        self.write("l.safetensors", records_bytes(layer.records))
        self.write("config.json", json.dumps({"quantization_config": {"checkpoint_format": config}} if config else {}).encode())
        found = read("l.safetensors")
        self.assertEqual((found.about, found.notes), ({"l.weight": about} if about else {}, [note] if note else []))
        self.assertEqual(found.records["l.bias"], layer.records["l.bias"])
        self.assertEqual([name for name in found.records if "_scale" not in name], ["l.weight", "l.bias"])
        self.assertEqual(sum(modc.load_file("l.safetensors", arrays="modc")["l.weight"].tolist(), []), layer.numbers)
        return found

    def test_layers(self):
        wide = "l.weight: zeros that are not in the middle, kept exactly in 8 bits; modc quantize rounds them to 4"
        floats = "l.weight: groups or zeros that no storage has, written as float32; modc quantize rounds them"
        guessed = "the zeros of GPTQ are taken as stored less one: no config.json beside it says 'gptq_v2'"
        layer = Layer(zero=8, zeros_as=-1)
        found = self.made(layer, "int4(group=16)")
        self.assertEqual(self.integers(found.records["l.weight"]),
                         [layer.values[step][row] - 8 for row in range(16) for step in range(64)])
        self.assertEqual(list(struct.unpack("<64e", found.records["l.weight_scale"].data)),
                         [layer.scales[group][row] for row in range(16) for group in range(4)])
        self.made(Layer(zero=8), "int4(group=16)")
        self.made(Layer(zero=8), "int4(group=16)", config="gptq")  # which some say of zeros as they are
        self.made(Layer(zeros_as=-1), "int8(group=16)", wide, config="gptq")
        self.made(Layer(), "int8(group=16)", wide, config="gptq_v2")
        self.made(Layer(zero=8, order=[step % 4 for step in range(64)], zeros_as=-1), None, floats)
        self.made(Layer(zero=128, bits=8), "int8(group=16)")
        self.made(Layer(bits=8, zero=3), None, floats, config="gptq_v2")
        self.made(Layer(zero=8, group=4, zeros_as=-1), None, floats)
        self.made(Layer(zero=8, awq=True), "int4(group=16)")
        self.made(Layer(awq=True, group=32), "int8(group=32)", wide)
        self.write("l.safetensors", records_bytes(Layer(zeros_as=-1).records))
        self.write("config.json", b"")
        self.assertEqual(read("l.safetensors").notes, [guessed, wide])

    def test_refused_layers(self):
        record = modc._files.Record
        for changes, text in [
                ({"l.scales": None}, "l.qweight is of GPTQ or AWQ, and there is no l.scales"),
                ({"l.qzeros": None}, "l.qweight is of GPTQ or AWQ, and there is no l.qzeros"),
                ({"l.qzeros": record("I32", (4, 1), bytes(16))}, "l has 2 bits a weight, of which modc reads 4, and of GPTQ 8"),
                ({"l.g_idx": record("I32", (64,), struct.pack("<i", 4) * 64)}, None),
                ({"l.g_idx": record("I32", (63,), bytes(252))}, None),
                ({"l.qweight": record("I32", (8, 15), bytes(480))}, None),
                ({"l.qweight": record("F32", (8, 16), bytes(512))}, None),
                ({"l.scales": record("F16", (3, 16), bytes(96))}, None),
                ({"l.qweight": record("I32", (0, 16), b"")}, None)]:
            records = {name: changes.get(name, own) for name, own in {**Layer(zero=8).records}.items()}
            records = {name: own for name, own in records.items() if own is not None}
            self.write("l.safetensors", records_bytes(records))
            shapes = ", ".join(f"{part} {records['l.' + part].dtype} {list(records['l.' + part].shape)}"
                               for part in ("qweight", "qzeros", "scales", "g_idx") if "l." + part in records)
            self.refused("l.safetensors", text or f"the tensors of l are not those of a layer of GPTQ or AWQ: {shapes}")

    def test_broken_integers(self):
        """Of what the metadata promises something is not there."""
        record = modc._files.Record
        integers, scales = record("I8", (2, 32), bytes(64)), record("F16", (2, 1), bytes(4))
        for records, text in [
                ({"w": integers}, "w is int8(group=16), whose integers and scales are not there"),
                ({"w": record("F32", (2, 32), bytes(256)), "w_scale": scales}, "w is int8(group=16), whose integers and scales are not there"),
                ({"w": integers, "w_scale": scales}, "a weight of 32 a row is int8(group=16), and has 1 scales a row")]:
            path = self.write("w.safetensors", records_bytes(records, {"modc.storage": "w: int8(group=16)"}))
            with self.assertRaises(modc.FileError) as caught:
                read(path).floats()
            self.assertIn(text, str(caught.exception))

    def test_command(self):
        """What convert writes, the command takes, as integers: another storage is refused."""
        self.write("l.safetensors", records_bytes(Layer(zero=8, awq=True).records))
        self.assertEqual(self.command("l.safetensors", "made.safetensors")[0], 0)
        self.assertEqual(self.command("made.safetensors")[1], "l.weight: uint8 [16, 32], int4(group=16)\n"
                                                              "l.weight_scale: float16 [16, 4]\nl.bias: float16 [16]\n")
        spec = "modc: 1\nmodel: one\nstorage: {}\ninputs: {{x: [1, 64]}}\nmodules: {{l: \"Linear(64, 16)\"}}\n" \
            "forward:\n  - return l(x)\n"
        for storage, status in (("int4(group=16)", 0), ("int4(group=32)", 3)):
            self.write("one.yaml", spec.format(storage).encode())
            ran = subprocess.run([str(modc.executable()), "check", "one.yaml", "--weights", "made.safetensors"],
                                 stderr=subprocess.PIPE, encoding="utf-8", check=False)
            self.assertEqual(ran.returncode, status, ran.stderr)
        self.assertIn("made.safetensors holds l.weight as int4(group=16), not as int4(group=32)", ran.stderr)


    def test_loaded(self):
        """A net packs the integers of a file as they are, saves them, and keeps them where it is copied."""
        spec = "modc: 1\nmodel: one\nstorage: int4(group=16)\ninputs: {x: [1, 64]}\nmodules: {l: \"Linear(64, 16)\"}\n" \
            "forward:\n  - return l(x)\n"
        layer = Layer(zero=8, zeros_as=-1)
        self.write("l.safetensors", records_bytes(layer.records))
        made = read("l.safetensors").records
        net = modc.compile(spec, weights="l.safetensors", cflags="-O0")
        self.assertEqual(sum(net.state_dict(arrays="modc")["l.weight"].tolist(), []), layer.numbers)
        for name, own in (("net", net), ("copy", copy.deepcopy(net)), ("pickle", loads(dumps(net)))):
            own.save(f"{name}.safetensors")
            saved, metadata = read_safetensors(bytes_of(f"{name}.safetensors"))
            self.assertEqual(metadata, {"modc.storage": "l.weight: int4(group=16)"}, name)
            for key in ("l.weight", "l.weight_scale"):
                self.assertEqual(saved[key][:2] + (bytes(saved[key].data),), made[key][:2] + (bytes(made[key].data),), name)
        net.load_state_dict("net.safetensors")
        net.load_state_dict(modc.load_file("net.safetensors", arrays="modc"))  # numbers, which are rounded
        net.save("floats.safetensors")
        self.assertEqual(read_safetensors(bytes_of("floats.safetensors"))[0]["l.weight"].dtype, "F32")
        self.write("l.safetensors", records_bytes(Layer(zeros_as=-1).records))
        with self.assertRaises(RuntimeError) as caught:
            net.load_state_dict("l.safetensors")
        self.assertIn("integers mismatch for l.weight: checkpoint has it as int8(group=16), current model as int4(group=16).",
                      str(caught.exception))
        self.assertEqual(str(caught.exception).splitlines()[-1],
                         "hint: modc.load_file(path) gives the numbers that they stand for, which load_state_dict takes")


def fuzz(case, data):
    """Files that are broken at random places: FileError or tensors, soon, and nothing else."""
    chance, began = random.Random(len(data)), time.monotonic()
    for _ in range(FUZZED):
        broken = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            kind = chance.randrange(4)
            at = chance.randrange(len(broken) or 1)
            if kind == 0:
                del broken[at:]
            elif kind == 1 and broken:
                broken[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            elif kind == 2:
                broken[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(9)))
            else:
                broken[at:at + chance.randrange(16)] = b""
        path = case.write("fuzzed", bytes(broken))
        try:
            for array in modc.load_file(path, arrays="modc").values():
                array.tobytes()
        except modc.FileError as error:
            case.assertIn("fuzzed", str(error))
    case.assertLess(time.monotonic() - began, 120)


class Broken(Case):
    def test_gguf(self):
        fuzz(self, SMALL_GGUF)
        fuzz(self, gguf([("w", 8, (32, 2), bytes(68)), ("v", 2, (32, 1), bytes(18))]))

    def test_integers(self):
        fuzz(self, records_bytes(Layer(n=8, group=32).records))
        fuzz(self, records_bytes({"w": modc._files.Record("U8", (2, 8), bytes(16)),
                                  "w_scale": modc._files.Record("F16", (2, 2), bytes(8))},
                                 {"modc.storage": "w: int4(group=8) transposed"}))

    def test_safetensors(self):
        fuzz(self, records_bytes({"a": modc._files.Record("F32", (1, 2), b"12345678"),
                                  "b": modc._files.Record("BOOL", (1,), b"\1")}))

    @unittest.skipIf(torch is None, "PyTorch is missing")
    def test_torch(self):
        state = {"model": {"w": torch.arange(6.0).reshape(2, 3).t(), "b": torch.ones(2, dtype=torch.int8)}, "epoch": 1}
        for zipped in (True, False):
            file = io.BytesIO()
            torch.save(state, file, _use_new_zipfile_serialization=zipped)
            fuzz(self, file.getvalue())

    def test_pickles(self):
        """What Python's own reader would choke on: memos of 2^31, sizes beyond the file, keys deeper than the stack."""
        for text, pickle in [
                ("it is a pickle that torch.save did not write", b"\x80\x02}r\xff\xff\xff\x7f."),
                (None, b"\x80\x02\x96" + b"\xff" * 8 + b"."),
                (None, b"\x80\x04\x8e" + b"\xff" * 8 + b"."),
                ("it is a pickle that torch.save did not write", b"\x80\x02})" + b"\x85" * 200000 + b"Ns.."),
                ("a pickle that is broken: its pickle has the opcode INST, which data has no use for",
                 b"\x80\x02(ios\nsystem\n."),
                ("a pickle that is broken: its pickle has no mark", b"\x80\x02t."),
                ("a pickle that is broken: its pickle takes what is not there", b"\x80\x02(\x85."),
                ("a pickle that is broken: its pickle sets items of no dict", b"\x80\x02]K\x01K\x02s."),
                ("a pickle that is broken: its pickle names something else than storages",
                 b"\x80\x02(X\1\0\0\0aNNNNtQ.")]:
            with self.subTest(pickle[:20]):
                with self.assertRaises(modc.FileError) as caught:
                    modc.load_file(self.write("file", pickle))
                if text:
                    self.assertTrue(str(caught.exception).startswith(f"file: {text}\nhint: "), str(caught.exception))


@unittest.skipIf(torch is None, "PyTorch is missing")
class OfTorch(Case):
    def save(self, value, name="net.pt"):
        """Both formats that torch.save has had."""
        for zipped in (True, False):
            torch.save(value, name, _use_new_zipfile_serialization=zipped)
            yield name

    def equal(self, loaded, wanted):
        self.assertEqual(list(loaded), list(wanted))
        for name, tensor in wanted.items():
            self.assertEqual((loaded[name].dtype, loaded[name].shape), (tensor.dtype, tensor.shape), name)
            self.assertTrue(torch.equal(loaded[name], tensor), name)

    def test_dtypes_and_strides(self):
        base = torch.arange(24.0).reshape(2, 3, 4)
        state = {"dense": base, "turned": base.permute(2, 0, 1), "part": base[:, 1], "column": base[..., 2],
                 "one": base[1, 2, 3],
                 "expanded": torch.tensor([7.0]).expand(2, 3), "empty": torch.zeros(0, 3),
                 "parameter": torch.nn.Parameter(base[0]),
                 **{str(dtype): torch.ones(3).to(dtype) for dtype in (
                     torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                     torch.uint8, torch.bool, torch.complex64, torch.complex128)}}
        wanted = {name: tensor.detach() for name, tensor in state.items()}
        for path in self.save(state):
            self.equal(modc.load_file(path, arrays="torch"), wanted)
        for path in self.save({"w": torch.ones(2, dtype=torch.complex64).conj()}):
            if torch.load(path)["w"].is_conj():  # which files had not before PyTorch 2
                self.refused(path, "it has a tensor that is a lazy conj() or negation")
        for path in self.save({"w": torch.zeros(1).expand(1 << 29)}):
            with self.assertRaisesRegex(modc.FileError, "that is broken: w was expanded to 2147483648 bytes"):
                modc.load_file(path)

    def test_modules_and_optimizers(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Tanh()))
        model.register_buffer("passing", torch.ones(1), persistent=False)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.randn(5, 3)).sum().backward()
        optimizer.step()
        wanted = model.state_dict()
        for saved in (wanted, model, {"state_dict": wanted, "epoch": 4, "optimizer": optimizer.state_dict()},
                      {"model": model, "state": {"args": [Picky("a")]}}, {"weights": wanted, "loss": 0.5}):
            for path in self.save(saved):
                self.equal(modc.load_file(path, arrays="torch"), wanted)
        for path in self.save({"trainer": {"net": wanted, "x.y": wanted}, "state_dict": {"other": torch.ones(1)}}):
            for key in ("trainer.net", "trainer.x.y"):
                self.equal(modc.load_file(path, key=key, arrays="torch"), wanted)
            self.refused(path, "it has no key 'trainer.nets'", "it has net, x.y", key="trainer.nets")
            self.refused(path, "it has no key 'nets'", "it has state_dict, trainer", key="nets")
            self.refused(path, "'trainer' is no state_dict", "it has state_dict, trainer", key="trainer")

    def test_choices_are_said(self):
        wanted = {"w": torch.ones(1)}
        cases = [
            ({"encoder": wanted, "decoder": wanted}, "it has several state_dicts",
             "--key says which (key= in Python): decoder, encoder"),
            ({"epoch": 1, "loss": 0.5}, "it has no state_dict: no dict of tensors by name", "it has epoch, loss"),
            ([1, 2], "it has no state_dict: no dict of tensors by name", "torch.save(model.state_dict(), FILE) writes one"),
            (torch.ones(1), "it has no state_dict: no dict of tensors by name",
             "torch.save(model.state_dict(), FILE) writes one"),
            (Picky("a"), "it has no state_dict: no dict of tensors by name", f"it is a {Picky.__module__}.Picky")]
        for saved, text, hint in cases:
            for path in self.save(saved):
                self.refused(path, text, hint)
        for path in self.save({"w": wanted["w"], "_extra_state": 3, "config": {"a": 1}}):
            self.assertEqual(read(path).notes, ["left out, since they are no tensors: _extra_state, config"])
        for path in self.save({"module.w": wanted["w"], "module.b": wanted["w"]}):
            self.assertEqual(read(path).notes, ["every key begins with 'module.': --strip-prefix module. cuts it off"])
            self.assertEqual(list(modc.load_file(path, strip_prefix="module.")), ["w", "b"])
        for path in self.save({"model": wanted, "epoch": 3}):
            self.assertEqual(read(path).notes, ["a checkpoint, of which 'model' was taken; it has epoch too"])
        for path in self.save({"model": wanted}):
            self.assertEqual(read(path).notes, ["a checkpoint, of which 'model' was taken"])

    def test_nothing_runs(self):
        for path in self.save({"state_dict": {"w": torch.ones(1)}, "trap": Runs()}):
            self.assertEqual(list(modc.load_file(path)), ["w"])
        self.assertFalse(Path("ran").exists())

    def test_torch_is_not_imported(self):
        torch.save({"w": torch.ones(1)}, "net.pt")
        code = ("import sys, modc; print(modc.load_file('net.pt', arrays='modc')['w'].tolist(), 'torch' in sys.modules, "
                "'numpy' in sys.modules)")
        ran = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8", check=True,
                             env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(ran.stdout, "[1.0] False False\n")

    def test_shards_of_torch(self):
        torch.save({"a": torch.ones(2)}, "pytorch_model-1.bin")
        torch.save({"b": torch.zeros(1)}, "pytorch_model-2.bin")
        self.write("pytorch_model.bin.index.json", json.dumps(
            {"weight_map": {"b": "pytorch_model-2.bin", "a": "pytorch_model-1.bin"}}).encode())
        self.equal(modc.load_file(".", arrays="torch"), {"b": torch.zeros(1), "a": torch.ones(2)})

    def test_into_a_model(self):
        model = torch.nn.Linear(2, 1)
        spec = "modc: 1\nmodel: net\ninputs: {x: [1, 2]}\nmodules: {fc: Linear(2, 1)}\nforward: return fc(x)\n"
        wanted = {f"fc.{name}": tensor for name, tensor in model.state_dict().items()}
        torch.save({"model": wanted, "epoch": 1}, "net.pt")
        net = modc.compile(spec, weights="net.pt", cflags="-O0")
        x = torch.ones(1, 2)
        self.assertTrue(torch.allclose(net(x), model(x)))
        net.reset(3)
        modc.convert("net.pt", "net.safetensors")
        net.load_state_dict(Path("net.safetensors"))
        self.assertTrue(torch.allclose(net(x), model(x)))
        torch.save({f"module.{name}": tensor for name, tensor in wanted.items()}, "parallel.pt")
        modc.convert("parallel.pt", "parallel.safetensors")
        for path in ("parallel.pt", "parallel.safetensors"):
            with self.assertRaises(RuntimeError) as caught:
                net.load_state_dict(path)
            self.assertEqual(str(caught.exception).splitlines()[-1], "hint: every key begins with 'module.': "
                             "modc.load_file(path, strip_prefix='module.') cuts it off")
        net.load_state_dict(modc.load_file("parallel.pt", strip_prefix="module."))
        self.write("bad", b"\x89HDF\r\n\x1a\n")
        with self.assertRaisesRegex(modc.FileError, "^bad: it is an HDF5 file"):
            net.load_state_dict("bad")


if __name__ == "__main__":
    unittest.main()
