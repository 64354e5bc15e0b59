"""modc.export_onnx: specs of small files, what it refuses, and a sample of ONNX's own cases."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "python"))
sys.path.insert(0, str(HERE))

import numpy  # noqa: E402

import modc  # noqa: E402
from modc._onnx.export import read_onnx  # noqa: E402

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

FLAGS = "-O0"


def tensor(name, *shape, dtype=1):
    return helper.make_tensor_value_info(name, dtype, list(shape))


def model(nodes, inputs, outputs, held=(), opset=13):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in held])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def numbers(*shape):
    return numpy.arange(int(numpy.prod(shape)), dtype=numpy.float32).reshape(shape) / 7 - 1


def spec(made, **options):
    return read_onnx(made, "net.tables.safetensors", "net", **options)[0]


@unittest.skipIf(onnx is not None, "the package onnx is there")
class WithoutPackage(unittest.TestCase):
    def test_message(self):
        with self.assertRaises(modc.OnnxError) as found:
            modc.export_onnx("net.onnx")
        self.assertEqual(str(found.exception), "ONNX files are read by the package onnx, which is not installed\n"
                                               "hint: pip install onnx")


@unittest.skipIf(onnx is None, "needs the package onnx")
class Specs(unittest.TestCase):
    maxDiff = None

    def test_scopes_and_modules(self):
        nodes, held, at = [], [], "x"
        for i in range(2):
            path = f"/blocks/blocks.{i}"
            nodes += [
                helper.make_node("MatMul", [at, f"w{i}"], [f"a{i}"], name=f"{path}/fc/MatMul"),
                helper.make_node("Add", [f"blocks.{i}.fc.bias", f"a{i}"], [f"b{i}"], name=f"{path}/fc/Add"),
                helper.make_node("Relu", [f"b{i}"], [f"c{i}"], name=f"{path}/act/Relu"),
                helper.make_node("Add", [at, f"c{i}"], [f"d{i}"], name=f"{path}/Add")]
            held += [(f"w{i}", numbers(4, 4) + i), (f"blocks.{i}.fc.bias", numbers(4))]
            at = f"d{i}"
        nodes.append(helper.make_node("Gemm", [at, "head.weight", "head.bias"], ["y"], name="/head/Gemm", transB=1))
        held += [("head.weight", numbers(3, 4)), ("head.bias", numbers(3))]
        made = model(nodes, [tensor("x", "batch", 4)], [tensor("y", "batch", 3)], held)
        text, weights, tables, _, _ = read_onnx(made, "t", "net", {"batch": 8})
        self.assertEqual(text, """modc: 1
model: net

sizes:
  batch: 8

inputs:
  x: [batch, 4]

classes:
  Block():
    modules:
      fc: Linear(4, 4)
      act: ReLU()
    forward(x): |
      return x + self.act(self.fc(x))

modules:
  blocks: 2 x Block()
  head: Linear(4, 3)

forward: |
  return self.head(self.blocks(x))
""")
        self.assertEqual(list(weights), ["blocks.0.fc.weight", "blocks.0.fc.bias", "blocks.1.fc.weight", "blocks.1.fc.bias",
                                         "head.weight", "head.bias"])
        numpy.testing.assert_array_equal(weights["blocks.1.fc.weight"], (numbers(4, 4) + 1).T)
        self.assertEqual(tables, {})

    def test_shapes_are_followed(self):
        nodes = [
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("Gather", ["s", "zero"], ["n"]),
            helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
            helper.make_node("Concat", ["n1", "rest"], ["shape"], axis=0),
            helper.make_node("Reshape", ["x", "shape"], ["h"]),
            helper.make_node("Transpose", ["h"], ["y"], perm=[0, 2, 1])]
        held = [("zero", numpy.array(0)), ("axes", numpy.array([0])), ("rest", numpy.array([3, -1]))]
        made = model(nodes, [tensor("x", "n", 6)], [tensor("y", "n", 2, 3)], held)
        self.assertEqual(spec(made).split("forward: |\n")[1], "  return x.reshape(n, 3, -1).transpose(-2, -1)\n")
        self.assertIn("inputs:\n  x: [1, 6]", spec(made, dims={"n": 1}))

    def test_numbers(self):
        """A model that is compiled gives what NumPy gives, for a size of the call's."""
        nodes = [helper.make_node("Conv", ["x", "conv.weight"], ["a"], pads=[1, 1, 1, 1]),
                 helper.make_node("BatchNormalization", ["a", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"], ["b"]),
                 helper.make_node("ReduceMean", ["b"], ["y"], axes=[2, 3], keepdims=0)]
        held = [("conv.weight", numbers(2, 1, 3, 3)), ("bn.weight", numbers(2)), ("bn.bias", numbers(2)),
                ("bn.running_mean", numbers(2)), ("bn.running_var", numbers(2) + 2)]
        made = model(nodes, [tensor("x", "n", 1, 4, 4)], [tensor("y", "n", 2)], held)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.yaml"
            found = modc.export_onnx(made, path, check=False, sizes={"n": 4})
            self.assertIsNone(found.by)
            net = modc.compile(path, weights=found.weights, cflags=FLAGS)
            x = numbers(3, 1, 4, 4)
            wide = numpy.pad(x[:, 0], ((0, 0), (1, 1), (1, 1)))
            weight = dict(held)["conv.weight"]
            conv = sum(wide[:, None, i:i + 4, j:j + 4] * weight[None, :, 0, i, j, None, None] for i in range(3) for j in range(3))
            scale = numbers(2) / numpy.sqrt(numbers(2) + 2 + 1e-5)
            wanted = ((conv - numbers(2)[:, None, None]) * scale[:, None, None] + numbers(2)[:, None, None]).mean((2, 3))
            numpy.testing.assert_allclose(net(x), wanted, rtol=1e-4, atol=1e-5)
            self.assertEqual(set(net.state_dict()), {"conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
                                                     "bn.num_batches_tracked"})

    def test_external_data(self):
        made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", 2, 4)], [tensor("y", 2, 4)],
                     [("w", numbers(4, 4))])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.onnx"
            onnx.save(made, str(path), save_as_external_data=True, location="net.data", size_threshold=0)
            self.assertEqual(read_onnx(path, "t", "net")[0], spec(model(
                [helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", 2, 4)], [tensor("y", 2, 4)], [("w", numbers(4, 4))])))
            (Path(folder) / "net.data").write_bytes(b"short")
            with self.assertRaises(modc.OnnxError) as found:
                read_onnx(path, "t", "net")
            self.assertEqual(str(found.exception).replace(str(path), "net.onnx"),
                             "net.onnx has 'w' at 0 to 64 of 'net.data', which has 5 bytes")
            (Path(folder) / "net.data").unlink()
            with self.assertRaises(modc.OnnxError) as found:
                read_onnx(path, "t", "net")
            self.assertEqual(str(found.exception).replace(str(path), "net.onnx"),
                             "net.onnx has 'w' in 'net.data', which is not there\n"
                             "hint: the file of external data has to lie beside the model")
            outside = onnx.load(str(path), load_external_data=False)
            outside.graph.initializer[0].external_data[0].value = "../net.data"
            path.write_bytes(outside.SerializeToString())
            with self.assertRaises(modc.OnnxError) as found:
                read_onnx(path, "t", "net")
            self.assertEqual(str(found.exception).replace(str(path), "net.onnx"),
                             "net.onnx has 'w' in '../net.data', which lies outside its folder")

    def test_command(self):
        made = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", "n", 4)], [tensor("y", "n", 4)])
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(made, str(Path(folder) / "net.onnx"))
            environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE.parent.parent / "python"), *sys.path]))
            words = [sys.executable, "-m", "modc", "export", "net.onnx", "--size", "n=3", "--no-check"]
            ran = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(ran.stdout.decode(), "wrote net.yaml\nwrote net.safetensors\nnot compared: as --no-check says\n")
            self.assertIn("sizes:\n  n: 3\n", (Path(folder) / "net.yaml").read_text())
            from modc._onnx.command import main
            for words_of, text in ((("--size", "n"), "argument --size: 'n' is not NAME=NUMBER"),
                                   (("--value", "axes=one"), "argument --value: 'axes=one' is not NAME=NUMBER,NUMBER,...")):
                said = io.StringIO()
                with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
                    main(["net.onnx", *words_of])
                self.assertEqual(said.getvalue().splitlines()[-1], f"modc export: error: {text}")
            (Path(folder) / "net.onnx").write_bytes(b"nothing")
            ran = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual((ran.returncode, ran.stdout.decode()), (
                1, "modc: error: net.onnx is no ONNX file, or is cut off: its 7 bytes are no protobuf of a model\n"))


@unittest.skipIf(onnx is None, "needs the package onnx")
class Refused(unittest.TestCase):
    maxDiff = None

    def refused(self, made, text, **options):
        with self.assertRaises(modc.OnnxError) as found:
            spec(made, **options)
        self.assertEqual(str(found.exception), text)

    def one(self, op, inputs=("x",), shapes=((2, 4),), opset=13, dtype=1, domain="", **attributes):
        node = helper.make_node(op, list(inputs), ["y"], name="n", domain=domain, **attributes)
        return model([node], [tensor(name, *shape, dtype=dtype) for name, shape in zip(inputs, shapes)], [tensor("y")], opset=opset)

    def test_nodes(self):
        opset = onnx.defs.onnx_opset_version()
        for made, text in (
            (self.one("If", then_branch=helper.make_graph([], "a", [], []), else_branch=helper.make_graph([], "b", [], [])),
             "node 'n' (If): it has a graph of its own, which runs by values of tensors\n"
             "hint: modc has no control flow at run time; where the condition or count is a constant, onnxsim or the exporter "
             "can write it out"),
            (self.one("Frobnicate"), "node 'n' (Frobnicate): ONNX has no operator Frobnicate in opset 13"),
            (self.one("FusedGelu", domain="com.example"),
             "node 'n' (FusedGelu): modc does not have the operator FusedGelu of 'com.example'\n"
             "hint: export the model with operators of ONNX's own"),
            (self.one("DequantizeLinear"), "node 'n' (DequantizeLinear): modc has no quantised tensors yet\n"
                                           "hint: export the model in float32"),
            (self.one("SequenceConstruct"), "node 'n' (SequenceConstruct): it makes or takes a sequence, which modc does not have\n"
                                            "hint: export with tensors alone"),
            (self.one("StringNormalizer"), "node 'n' (StringNormalizer): it works on strings, which modc does not have"),
            (self.one("RandomNormalLike"), "node 'n' (RandomNormalLike): its random numbers are not defined by ONNX\n"
                                           "hint: give them to the model as an input"),
            (self.one("NonZero"), "node 'n' (NonZero): the shape of its result depends on values of a tensor"),
            (self.one("Cast", to=10), "node 'n' (Cast): its result is float16, which modc does not have\n"
             "hint: it has float32, uint8, int8, int16, int32, int64, bool, float64"),
            (self.one("LRN", size=2), "node 'n' (LRN): a window of 2 channels is not there\nhint: an odd size is"),
            (self.one("Transpose", ("nowhere",), ()), "node 'n' (Transpose): its input 'nowhere' is made by no node before it"),
            (model([helper.make_node("Constant", [], ["y"], name="n", value_string=b"a")], [tensor("x", 1)], [tensor("y")]),
             "node 'n' (Constant): it holds strings, which modc does not have"),
            (self.one("Relu", dtype=10), "the input 'x' is float16, which modc does not have\n"
             "hint: it has float32, uint8, int8, int16, int32, int64, bool, float64"),
            (self.one("Relu", opset=6), "the model is of opset 6; modc reads opset 7 and up\n"
             "hint: onnx.version_converter.convert_version(model, 13) makes it newer"),
            (self.one("Relu", opset=opset + 9), f"the model is of opset {opset + 9}; the installed onnx {onnx.__version__} knows "
             f"up to {opset}\nhint: pip install -U onnx"),
            (onnx.ModelProto(), "the model has no model in it: no graph with outputs\n"
             "hint: a file of onnx.save or torch.onnx.export has one"),
        ):
            with self.subTest(text):
                self.refused(made, text)

    def held(self, op, names, shapes, arrays=(), opset=13, types=(), outputs=("y",), **attributes):
        """A node over inputs of the file and tensors that it holds."""
        node = helper.make_node(op, list(names), list(outputs), name="n", **attributes)
        inputs = [tensor(name, *shape, dtype=dict(types).get(name, 1)) for name, shape in shapes.items()]
        return model([node], inputs, [tensor(name) for name in outputs], list(dict(arrays).items()), opset)

    def test_arguments(self):
        """What a node has that modc cannot do, and what it lacks."""
        def ints(*values):
            return numpy.array(values, dtype=numpy.int64)

        def floats(*shape):
            return numpy.ones(shape, dtype=numpy.float32)

        sparse = helper.make_sparse_tensor(helper.make_tensor("s", 1, [1], [1.0]), helper.make_tensor("i", 7, [1], [0]), [4])
        broken = helper.make_tensor("v", 1, [2], [1.0, 2.0])
        broken.ClearField("float_data")
        broken.raw_data = b"abc"
        for made, text in (
            (self.held("Reshape", ("x", ""), {"x": (2, 4)}), "it lacks the input 'shape'"),
            (self.held("Compress", ("x", "c"), {"x": (2, 4), "c": (2,)}, types={"c": 9}, axis=0),
             "its condition 'c' is no constant\nhint: values={'c': ...} makes this input a constant"),
            (self.held("ScatterND", ("x", "i", "u"), {"x": (4,), "i": (2, "k"), "u": (2,)}, types={"i": 7}),
             "the number of indices depends on a size that calls choose\nhint: fix it: dims={'name': extent}"),
            (self.held("Conv", ("x", "w"), {"x": (1, 1, 2, 2, 2, 2)}, {"w": floats(1, 1, 1, 1, 1, 1)}),
             "it has 4 spatial dimensions; modc has 1, 2 and 3"),
            (self.held("MaxPool", ("x",), {"x": (1, 1, "h", 4)}, outputs=("y", "i"), kernel_shape=[2, 2]),
             "its indices depend on sizes that calls choose"),
            (self.held("MaxUnpool", ("x", "i"), {"x": (1, 1, "h", 2), "i": (1, 1, "h", 2)}, types={"i": 7}, kernel_shape=[2, 2]),
             "its indices depend on sizes that calls choose"),
            (self.held("BatchNormalization", ("x", "s", "b", "m", "v"), {"x": (2, 4)}, {name: floats(4) for name in "sbmv"}, opset=7,
                       spatial=0), "spatial=0 is not there"),
            (self.held("ScatterND", ("x", "i", "u"), {"x": ("n",), "i": (2, 1), "u": (2,)}, types={"i": 7}, opset=16, reduction="mul"),
             "reduction='mul' with sizes that calls choose is not there"),
            (self.held("ReverseSequence", ("x", "l"), {"x": (2, 3, 4), "l": (2,)}, types={"l": 7}, time_axis=2, batch_axis=0),
             "time_axis and batch_axis other than 0 and 1 are not there"),
            (self.held("RoiAlign", ("x", "r", "b"), {"x": (1, 1, 4, 4), "r": (1, 4), "b": (1,)}, types={"b": 7}),
             "mode 'max' and a sampling_ratio of 0 are not there\nhint: mode 'avg' with a sampling_ratio above 0 is"),
            (self.held("Pad", ("x", "p"), {"x": (4,) * 5}, {"p": ints(1, 0, 0, 0, 0, 1, 0, 0, 0, 0)}, mode="reflect"),
             "mode 'reflect' of more than the last three dimensions is not there"),
            (self.held("Pad", ("x", "p"), {"x": (4, 4)}, {"p": ints(0, -1, 0, 1)}, mode="edge"),
             "negative padding in mode 'edge' is not there"),
            (self.held("Dropout", ("x", "r", "t"), {"x": (2, 4)}, {"r": numpy.float32(0.5), "t": numpy.array(True)}),
             "it drops in training mode, by random numbers that ONNX does not define\nhint: export the model in eval mode"),
            (self.held("GRU", ("x", "w", "r"), {"x": (3, 2, 4)}, {"w": floats(1, 12, 4), "r": floats(1, 12, 4)}, hidden_size=4,
                       activations=["Relu", "Tanh"]), "its activations Relu, Tanh are not there\nhint: PyTorch's are: Sigmoid, Tanh"),
            (self.held("Resize", ("x", "", "s"), {"x": (1, 1, 4, 4)}, {"s": floats(4)}, coordinate_transformation_mode="odd"),
             "coordinate_transformation_mode 'odd' is not there"),
            (self.held("Resize", ("x", "", ""), {"x": (1, 1, 4, 4)}), "neither scales nor sizes are constants"),
            (self.held("DFT", ("x",), {"x": (1, 4, 2)}, opset=17, onesided=1), "onesided of complex numbers is not there"),
            (self.held("STFT", ("x", "s", "", "l"), {"x": (1, 8, 2)}, {"s": numpy.int64(2), "l": numpy.int64(4)}, opset=17),
             "a signal of complex numbers is not there"),
            (self.held("Constant", (), {"x": (1,)}), "it has no value"),
            (self.held("Constant", (), {"x": (1,)}, value=broken),
             "its value cannot be read: buffer size must be a multiple of element size"),
            (self.held("Constant", (), {"x": (1,)}, sparse_value=sparse), "it holds a sparse tensor, which modc does not have"),
        ):
            with self.subTest(text):
                self.refused(made, f"node 'n' ({made.graph.node[0].op_type}): {text}")
        sized = helper.make_node("Shape", ["z"], ["k"])
        for made, text in (
            (model([sized, helper.make_node("Trilu", ["x", "k"], ["y"], name="n")], [tensor("x", 4, 4), tensor("z", "h")], [tensor("y")],
                   opset=14), "node 'n' (Trilu): its k 'k' depends on sizes that calls choose\nhint: fix them: dims={'batch': 1}"),
            (model([sized, helper.make_node("Resize", ["x", "", "", "k"], ["y"], name="n", mode="cubic",
                                            coordinate_transformation_mode="asymmetric")],
                   [tensor("x", 1, 1, 4, 4), tensor("z", 1, 1, "h", 8)], [tensor("y")]),
             "node 'n' (Resize): its sizes depend on sizes that calls choose"),
        ):
            self.refused(made, text)
        made = self.one("Relu")
        made.graph.sparse_initializer.append(sparse)
        self.refused(made, "'s' is a sparse tensor, which modc does not have\nhint: write it as a dense one")
        made = self.held("Add", ("x", "w"), {"x": (2,)}, {"w": floats(2)})
        made.graph.initializer[0].raw_data = b"abc"
        self.refused(made, "the tensor 'w' cannot be read: buffer size must be a multiple of element size")
        made = self.one("Relu")
        del made.opset_import[:]
        self.refused(made, "the model does not say which opset it is of")

    def test_inputs(self):
        made = self.one("Reshape", ("x", "shape"), ((2, 4), (1,)))
        made.graph.input[1].type.tensor_type.elem_type = 7
        self.refused(made, "node 'n' (Reshape): its shape 'shape' depends on values of tensors, so shapes would too\n"
                           "hint: modc follows constants and what is computed from shapes; values={'shape': ...} makes this "
                           "input a constant")
        self.assertIn("forward: |\n  return x.reshape(8)\n", spec(made, values={"shape": [8]}))
        self.refused(made, "values has 'size', which is no input of the file\nhint: it has x, shape", values={"size": [8]})
        sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2])
        self.refused(model([helper.make_node("Identity", ["x"], ["y"])], [sequence], [tensor("y")]),
                     "'x' is a sequence; inputs and outputs of modc are tensors")
        made = self.one("Relu")
        made.graph.input[0].type.tensor_type.ClearField("shape")
        self.refused(made, "the input 'x' has no shape\nhint: give the file one: the number of dimensions is needed")
        made = self.one("Relu")
        made.graph.output[0].name = "z"
        self.refused(made, "the output 'z' is made by no node")
        self.refused(model([helper.make_node("Constant", [], ["y"], value_float=1.0)], [], [tensor("y")]),
                     "the model has no inputs: all that it returns is constant")


@unittest.skipIf(onnx is None, "needs the package onnx")
class Cases(unittest.TestCase):
    SAMPLE = ("test_add_bcast", "test_averagepool_2d_same_upper", "test_gemm_all_attributes", "test_gru_defaults",
              "test_resize_downsample_scales_linear", "test_slice", "test_top_k", "test_training_dropout")

    def test_sample(self):
        import onnx_cases
        known, cases = onnx_cases.known(), onnx_cases.cases()
        for name in self.SAMPLE:
            if name in cases:
                with self.subTest(name):
                    self.assertEqual(onnx_cases.run_case(cases[name]), known[name])


if __name__ == "__main__":
    unittest.main()
