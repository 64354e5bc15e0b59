#!/usr/bin/env python3
"""test_messages.py - what the package says and no other test shows; and that each message is shown by one."""
import ast
import contextlib
import io
import pickle
import re
import struct
import sys
import tempfile
import unittest
import warnings
import zipfile
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
from models import ROOT, Case, modc  # finds the package
import modc._build
import modc._files
import modc._weights.read

try:
    import torch
    from torch import nn
except ImportError:
    torch = nn = None

HERE = Path(__file__).resolve()
SHORTEST = 7  # letters of a part of a message that is looked for
EXCUSED = {  # by file and a part of the message: why there is no case
    ("_module/compiled.py", "the spec has a tensor '"): "a fault of modc: specs are written of the model itself",
    ("_module/compiled.py", ", in the spec "): "a fault of modc, as above",
    ("_module/variant.py", "the spec gives "): "a fault of modc, as above",
    ("_module/variant.py", "the compiled module leaves buffer '"): "a fault of modc: its numbers are not PyTorch's",
    ("_module/variant.py",
     "forward reads a tensor that is neither"): "a fault of modc: what is read is an input or the model's",
    ("_module/variant.py", "forward keeps tensors from call to call"): "a run in PyTorch says it before, of what it notices",
    ("_export/guards.py",
     "the model needs sizes of calls that are equal"): "other sizes decide otherwise, which is said before",
    ("_export/guards.py", "a constant of the model depends on a size"): "texts differ where tables do, which is said before",
    ("_export/write.py", " is read that no function of PyTorch made"): "what is kept from an earlier call is a constant now",
    ("_module/variant.py", "the result has a tensor twice"): "a fault of modc: such results are two in the spec",
    ("_onnx/export.py", "the compiled model is not that of "): "a fault of modc: its numbers are not the file's",
    ("_onnx/export.py", ", that of "): "a fault of modc, as above",
    ("_tflite/export.py", ", is not that of "): "a fault of modc, as above",
    ("_onnx/graph.py", "the number of dimensions of '"): "onnx tells it of all that modc has",
    ("_onnx/graph.py", "there is no dimension "): "onnx's own inference of shapes refuses it before",
    ("_onnx/operators.py", "the type to cast to is not known"): "onnx tells types of all that modc has",
    ("_onnx/operators.py", " spatial dimensions are not there"): "opset 18, which is newer than the onnx of the tests",
    ("_onnx/operators.py", "its activation '"): "of a domain that the onnx of the tests does not know",
    ("_onnx/read.py", "the external data of "): "a file that changes while it is read",
}


def pieces(node):
    """The parts of texts in an expression that are written out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.strip()) >= SHORTEST:
        yield node.value
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, ast.Compare):  # which chooses between texts
            yield from pieces(part)


def strings(path, without=None):
    """The texts of a file, with {} where a value stands; without: a name whose value is left out."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", None) == without:
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)


class Listed(unittest.TestCase):
    def test_all(self):
        """Every part of a message that `raise` says is in some test, or excused."""
        shown = "\n".join(text for path in sorted(HERE.parent.rglob("*.py")) for text in strings(path, "EXCUSED"))
        shown += "\n".join(path.read_text(encoding="utf-8") for path in sorted(HERE.parent.glob("*.txt")))
        shown, without, excused = re.sub(r"\s+", " ", shown.replace("\\", "")), [], set()
        for path in sorted((ROOT / "python" / "modc").rglob("*.py")):
            name = path.relative_to(ROOT / "python" / "modc").as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                    continue
                for piece in (piece for argument in (*node.exc.args, *(word.value for word in node.exc.keywords))
                              for piece in pieces(argument)):
                    if re.sub(r"\s+", " ", piece.replace("\\", "").strip()) in shown:
                        continue
                    whole = "{}".join(pieces(node.exc))
                    excuse = next((key for key in EXCUSED if key[0] == name and key[1] in whole), None)
                    if excuse is None:
                        without.append(f"{name}:{node.lineno}: {piece!r}")
                    excused.add(excuse)
        self.assertEqual(without, [], "messages without a test that shows them")
        self.assertEqual(sorted(set(EXCUSED) - excused), [], "excused and shown")


class Package(Case):
    def test_names(self):
        self.says(AttributeError, "module 'modc' has no attribute 'nothing'", lambda: modc.nothing)

    def test_silent_command(self):
        with tempfile.TemporaryDirectory() as folder:
            command = Path(folder) / "modc"
            command.write_text("#!/bin/sh\nexit 5\n", encoding="utf-8")
            command.chmod(0o755)
            with mock.patch.object(modc._build, "executable", lambda: command):
                self.says(modc.SpecError, "modc ended with status 5", modc.compile, "modc: 1\n")


def archive(members, change=None):
    """A zip without compression; change(bytes) is what is written."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, data in members.items():
            made.writestr(name, data)
    data = bytearray(file.getvalue())
    if change:
        change(data)
    return bytes(data)


def npy(shape, data=b"", header=None):
    about = header or f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(about)) + about + data


def row(system, tree, keys, *more):
    """What torch.save wrote before PyTorch 1.6."""
    return b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, system, tree, keys)) + b"".join(more)


class Files(Case):
    """Broken ones, and what each says."""

    def refused(self, data, text, name="file", **options):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            with self.assertRaises(modc.FileError) as caught:
                modc.load_file(path, **options)
            self.assertEqual(str(caught.exception).partition("\nhint: ")[0].replace(str(path), name), text)

    def test_npz(self):
        for member, text in ((b"no numbers", "a.npy is no .npy file"),
                             (npy((2,), header=b" " * 9)[:12], "the header of a.npy is too long"),
                             (npy((9,), bytes(8)), "the elements of a.npy are not all in the file")):
            self.refused(archive({"a.npy": member}), f"file: a zip archive that is broken: {text}")

    def test_members(self):
        two = {"a.npy": npy((1,), bytes(4)), "b.npy": npy((1,), bytes(4))}

        def moved(data):
            at = data.index(b"PK\3\4", 4)
            data[at:at + 4] = b"PK\3\5"

        def longer(data):
            at = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
            data[at + 20:at + 28] = struct.pack("<II", 1 << 20, 1 << 20)
        self.refused(archive(two, moved), "file: a zip archive that is broken: its member b.npy is not where it should be")
        self.refused(archive(two, longer), "file: a zip archive that is broken: its member b.npy is longer than the file")

    def test_torch(self):
        big = "file: its numbers are big-endian, as another machine has them"
        self.refused(archive({"x/data.pkl": pickle.dumps({}, 2), "x/byteorder": b"big"}), big)
        self.refused(row({"little_endian": False}, {}, []), big)
        hint = "\nhint: torch.save on a little-endian machine writes them anew"
        self.refused(row({"little_endian": True}, {}, ["0"], struct.pack("<q", -1)),
                     "file: a pickle that is broken: it ends within its tensors")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.pt"
            path.write_bytes(row({"little_endian": False}, {}, []))
            self.says(modc.FileError, big.replace("file", str(path), 1) + hint, modc.load_file, path)
            path.write_bytes(archive({"x/data.pkl": pickle.dumps({"a": {}}, 2)}))
            self.says(modc.FileError, f"{path}: it has no key 'a.b'\nhint: it has no keys", modc.load_file, path, key="a.b")
            self.says(modc.FileError, f"{folder}: it is a folder without weights\nhint: files are looked for as "
                      + ", ".join(sys.modules["modc._weights.read"].IN_FOLDERS), modc.load_file, folder)

    @unittest.skipIf(torch is None, "PyTorch is missing")
    def test_by_torch(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = io.BytesIO()
            torch.save({"w": torch.ones(2)}, file, _use_new_zipfile_serialization=False)
            self.refused(file.getvalue().replace(b"FloatStorage", b"FancyStorage"),
                         "file: a pickle that is broken: it has tensors of PyTorch's FancyStorage")
            model, file = nn.Linear(1, 1), io.BytesIO()
            for _ in range(101):
                model = nn.Sequential(model)
            torch.save(model, file)
            self.refused(file.getvalue(), "file: a zip archive that is broken: its modules lie too deep in each other")

    def test_safetensors(self):
        with self.assertRaises(ValueError) as caught:
            modc._files.read_safetensors(b"")
        self.assertEqual(str(caught.exception), "it has no header")


@unittest.skipIf(torch is None, "PyTorch is missing")
class Exports(unittest.TestCase):
    """What modc.export cannot tell."""

    def refused(self, text, model, *args, line=None, **options):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(modc.ExportError) as caught:
            modc.export(model, args, Path(folder) / "net.yaml", check=False, **options)
        lines = HERE.read_text(encoding="utf-8").splitlines()
        number = max(i for i, source in enumerate(lines, 1) if line in source) if line else 0
        self.assertEqual(str(caught.exception), (f"{HERE}:{number}: " if line else "") + f"error: {text}")

    def test_all(self):
        x = torch.randn(2, 4)
        self.refused("the model decides by a number that is not linear in the sizes of calls\n    return x if x.shape[0] * x.shape[0] < 99 "
                     "else x * 2\nhint: let these sizes be fixed", Square(), x, line="* x.shape[0] < 99 ",
                     dynamic_shapes={"x": {0: ("n", 64)}})
        self.refused("a tensor in a list or dict of a module is changed in place\n    self.kept[\"h\"].add_(1)\n"
                     "hint: keep it as an attribute of its own, or as a buffer", InDict(), x, line='self.kept["h"].add')
        self.refused("the model asks for the values of a tensor that it changes\n    return x if self.steps > 3 else x * 2\n"
                     "hint: choose by torch.where, or let an argument of the module decide", Asks(), x,
                     line="return x if self.steps")
        self.refused("the model returns a tensor that no function of PyTorch made", Made(), x)
        self.refused("'caller' calls 'fc', which is no submodule of it\n    return self.other[0](x)\nnote: in module 'caller'\n"
                     "hint: make it an attribute of the module that calls it", Outside(Calls), x,
                     line="return self.other[0](x)")
        self.refused("'caller' sets 'h', which is not its own\n    self.other[0].h = self.other[0].h + x\nnote: in module 'caller'\n"
                     "hint: let the module set it that has it", Outside(Sets), x, line="self.other[0].h = self")
        self.refused("'way' is called in two ways that differ:\n    return x + 1\n    return x - 1\nnote: in module 'way'",
                     TwoWays(), x)
        self.refused("'noisy' takes x, scale in evaluation and x, noise in training\nnote: in module 'noisy'\n"
                     "hint: export one mode: training=False", Modes(), x, training=True)
        self.refused("'x_1' is read outside of 'keeps', which made it and does not return it\n    self.h = self.fc(x)\n"
                     "note: in module 'keeps'\nhint: return it, or keep it as a buffer", Reads(), x, line="self.h = self.fc(x)")


@unittest.skipIf(torch is None, "PyTorch is missing")
class Modules(Case):
    def says_of(self, error, text, model, *args, **options):
        net = modc.Module(model, fallback=modc.FallbackPolicy.FALLBACK_DISABLE, cflags="-O0", **options)
        self.says(error, text, net, *args)

    def test_all(self):
        x = torch.randn(2, 4)
        self.says_of(modc.ModuleIOError,
                     "args[0] is a set; modc.Module takes tensors, numbers, strings, None, and lists, tuples and dicts "
                     "of them", Twice(), {1})
        self.says_of(modc.ModuleIOError, "the result is a Special; modc.Module gives plain tensors", Gives(), x)
        self.says_of(modc.ModuleTorchModelException, "the model cannot be copied to see what it does: no copies of this",
                     Unique(), x)
        one, other = modc.Module(Twice(), cflags="-O0")(x)
        self.assertTrue(torch.equal(one, x * 2) and torch.equal(other, x * 2))
        model = Modal()
        model.eval(), model.fc.train()
        self.says_of(modc.ModuleTorchModelException,
                     "module '' is in evaluation mode and some below it are in training mode, which specs "
                     "cannot say where a forward asks for the mode", model, x)
        self.says(AttributeError, "'Module' object has no attribute 'anything'",
                  lambda: modc.Module.__new__(modc.Module).anything)

    def test_another_for_other_sizes(self):
        """Which the log says, and the call has a variant of its own."""
        said = io.StringIO()
        net = modc.Module(BySize(), cflags="-O0", debug=modc.DebugOptions(log_level=modc.LogLevel.INFO))
        with contextlib.redirect_stderr(said):
            for rows in (2, 6):
                x = torch.randn(rows, 4)
                self.assertTrue(torch.allclose(net(x), net.module(x)))
        self.assertIn("no sizes for ((6, 4),): the model is another one for other extents\n", said.getvalue())


if torch is not None:
    class Square(nn.Module):
        def forward(self, x):
            return x if x.shape[0] * x.shape[0] < 99 else x * 2

    class InDict(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = {"h": torch.zeros(4)}

        def forward(self, x):
            self.kept["h"].add_(1)
            return x + self.kept["h"]

    class Asks(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = torch.zeros(())

        def forward(self, x):
            self.steps.add_(1)
            return x if self.steps > 3 else x * 2

    class Made(nn.Module):
        def forward(self, x):
            return x, nn.Parameter(torch.ones(2))

    class Calls(nn.Module):
        def __init__(self, other):
            super().__init__()
            self.other = [other.fc]

        def forward(self, x):
            return self.other[0](x)

    class Sets(nn.Module):
        def __init__(self, other):
            super().__init__()
            self.other = [other]

        def forward(self, x):
            self.other[0].h = self.other[0].h + x
            return x

    class Outside(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.fc, self.h = nn.Linear(4, 4), torch.zeros(2, 4)
            self.caller = kind(self)

        def forward(self, x):
            return self.caller(x) + self.h

    class Way(nn.Module):
        def forward(self, x, up):
            return x + 1 if up else x - 1

    class TwoWays(nn.Module):
        def __init__(self):
            super().__init__()
            self.way = Way()

        def forward(self, x):
            return self.way(self.way(x, True), False)

    class Noisy(nn.Module):
        def forward(self, x, noise=None, scale=None):
            return x + noise if scale is None else x * scale

    class Modes(nn.Module):
        def __init__(self):
            super().__init__()
            self.noisy = Noisy()

        def forward(self, x):
            return self.noisy(x, noise=x * 2) if self.training else self.noisy(x, scale=x * 3)

    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            self.h = self.fc(x)
            return self.h * 2

    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.keeps = Keeps()

        def forward(self, x):
            return self.keeps(x) + self.keeps.h

    class Special(torch.Tensor):
        pass

    class Gives(nn.Module):
        def forward(self, x):
            return (x * 2).as_subclass(Special)

    class Unique(nn.Module):
        def __deepcopy__(self, memo):
            raise RuntimeError("no copies of this")

        def forward(self, x):
            return x * 2

    class Twice(nn.Module):
        def forward(self, x):
            y = x * 2
            return y, y

    class Modal(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Sequential(nn.Linear(4, 4), nn.Dropout())

        def forward(self, x):
            return nn.functional.dropout(self.fc(x), 0.5, self.training)

    class BySize(nn.Module):
        def forward(self, x):
            return x.exp() if x.shape[0] > 4 else x * 2

if __name__ == "__main__":
    unittest.main()
