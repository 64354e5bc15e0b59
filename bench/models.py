"""Models as every peer gets them: one spec with constant shapes, one set of weights and inputs, PyTorch's module, its
outputs, and the ONNX file that PyTorch writes of it."""
import hashlib
import logging
import pathlib
import re
import warnings
import zlib

import numpy
import onnx
import safetensors_io
import spec_torch
import torch

import make  # of tests/oracle: how weights and inputs are drawn

DTYPES = {torch.float32: numpy.float32, torch.int64: numpy.int64, torch.bool: numpy.bool_}


def fixed(text, sizes):
    """The spec with its sizes as constants, which is how one writes a model for one shape; only evaluation counts."""
    (own,) = re.findall(r"^sizes: \{(.*)\}\n", text, re.MULTILINE)
    names = {pair.split(":")[0].strip() for pair in own.split(",")}
    if names != set(sizes):
        raise ValueError(f"the sizes are {names}, not {set(sizes)}")
    pairs = ", ".join(f"{name}: {value}" for name, value in sizes.items())
    text = re.sub(r"^sizes: .*\n|^ +max: \{.*\}\n", "", text, flags=re.MULTILINE)
    if "\nconstants: {" in text:
        text = text.replace("\nconstants: {", f"\nconstants: {{{pairs}, ", 1)
    else:
        text = text.replace("\ninputs:\n", f"\nconstants: {{{pairs}}}\ninputs:\n", 1)
    return text.rstrip() + '\n\neval: ["*"]\n'


def aligned(shape, dtype):
    """An array of zeros that starts at a multiple of 64."""
    count = int(numpy.prod(shape, dtype=numpy.int64)) * numpy.dtype(dtype).itemsize
    block = numpy.zeros(count + 64, dtype=numpy.uint8)
    start = -block.ctypes.data % 64
    return block[start:start + count].view(dtype).reshape(shape)


class Entry(torch.nn.Module):
    """An entry of a spec as a module with the root as its only child."""

    def __init__(self, spec, root, entry):
        super().__init__()
        self.root, self.spec, self.entry = root, spec, entry

    def forward(self, *inputs):
        if self.entry == "forward":
            return self.root(*inputs)
        arguments, statements = self.spec.entries[self.entry]
        names = dict(zip([name for name, _ in arguments], inputs))
        return spec_torch.StatementNames(self.spec, self.root, names).run(statements)


def flat(value):
    """All tensors of what a call returns, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in flat(part)]


def distance(outputs, expected):
    """The largest error of any output, relative to that output's largest value; infinite for a NaN that is not expected."""
    worst = 0.0
    for found, wanted in zip(outputs, expected, strict=True):
        largest = max(float(numpy.abs(wanted).max(initial=0.0)), 1e-30)
        error = float(numpy.abs(found.astype(numpy.float64) - wanted.astype(numpy.float64)).max(initial=0.0))
        worst = max(worst, error / largest if error == error else float("inf"))
    return worst


class Model:
    """What `text` says, below `folder`. Files that were made from the same text by the same versions are kept."""

    def __init__(self, name, text, folder, entry="forward"):
        self.name, self.entry, self.folder = name, entry, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.spec_file, self.weights_file = (self.folder / f"{name}.{ending}" for ending in ("yaml", "safetensors"))
        storage = re.search(r"^storage: (\w+)$", text, re.MULTILINE)
        self.storage = getattr(torch, storage.group(1)) if storage else None
        self.made_from = hashlib.sha256(f"{torch.__version__} {onnx.__version__} {entry}\n{text}".encode()).hexdigest()
        self.spec_file.write_text(text)
        self.build(text)

    @property
    def onnx_file(self):
        """Written when somebody asks for it first."""
        file = self.folder / f"{self.name}.onnx"
        if not self.is_kept(file):
            self.export(file)
            self.keep(file)
        return file

    def is_kept(self, path):
        """Whether a file is there that was made from this model."""
        stamp = pathlib.Path(f"{path}.stamp")
        return path.exists() and stamp.exists() and stamp.read_text() == self.made_from

    def keep(self, path):
        pathlib.Path(f"{path}.stamp").write_text(self.made_from)

    def build(self, text):
        self.spec = spec_torch.Spec(str(self.spec_file))
        root = self.spec.build(0)
        if self.is_kept(self.weights_file):
            weights = safetensors_io.load(self.weights_file)
        else:
            weights = make.weights(zlib.crc32(self.name.encode()), self.spec_file)
            if self.storage:  # so that everyone has the same numbers
                weights = {key: tensor.to(self.storage).to(tensor.dtype) if tensor.is_floating_point() else tensor
                           for key, tensor in weights.items()}
            safetensors_io.save(self.weights_file, weights)
            self.keep(self.weights_file)
        self.spec.load(root, weights)
        self.spec.size_values = {}
        ranges = make.ranges_of(text)
        shapes = self.spec.input_shapes({})
        if self.entry != "forward":
            shapes = {name: shapes[name] for name, _ in self.spec.entries[self.entry][0]}
        drawn = {name: make.drawn(zlib.crc32(f"{self.name} {name}".encode()), shape, dtype, ranges.get(name))
                 for name, (shape, dtype) in shapes.items()}
        self.inputs, self.input_names, self.drawn = [], list(drawn), None
        for tensor in drawn.values():
            self.inputs.append(aligned(tuple(tensor.shape), DTYPES[tensor.dtype]))
            self.inputs[-1][...] = tensor.numpy()
        self.tensors = [torch.from_numpy(array) for array in self.inputs]  # the same memory
        self.module = Entry(self.spec, root, self.entry).eval().requires_grad_(False)
        self.expected = [tensor.numpy().copy() for tensor in flat(self.module(*self.tensors))]

    def take(self, values):
        """Gives inputs these values, by name, as long as nobody was opened."""
        for name, tensor in zip(self.input_names, self.tensors):
            tensor.copy_(values[name].reshape(tensor.shape))
        self.expected = [tensor.numpy().copy() for tensor in flat(self.module(*self.tensors))]

    def scale_inputs(self, factor):
        """Floating inputs become as many times what was drawn; those who were opened read the same memory."""
        if self.drawn is None:
            self.drawn = [array.copy() for array in self.inputs]
        for array, drawn in zip(self.inputs, self.drawn):
            if array.dtype == numpy.float32:
                numpy.multiply(drawn, numpy.float32(factor), out=array)

    def new_outputs(self):
        """Arrays for a peer's own outputs; it must write them all."""
        arrays = [aligned(array.shape, array.dtype) for array in self.expected]
        for array in arrays:
            array.fill(True if array.dtype == numpy.bool_ else -77)
        return arrays

    def exported(self):
        """As torch.export has it, without the statements of the spec."""
        return torch.export.export(self.module, tuple(self.tensors), strict=False)

    def export(self, file):
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        for data in self.folder.glob(f"{self.name}.onnx*"):
            data.unlink()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(self.exported(), tuple(self.tensors), input_names=self.input_names,
                                        dynamo=True, verbose=False)
            program.save(str(file), external_data=True)

    def traffic(self):
        """Bytes that any implementation reads or writes at least: weights, as narrow as the spec stores them (of embeddings,
        a row alone), inputs, outputs."""
        moved = sum(array.nbytes for array in (*self.inputs, *self.expected))
        if not self.module.state_dict():
            return moved
        graph = onnx.load(self.onnx_file, load_external_data=False).graph
        used = {name for node in graph.node if node.op_type != "Gather" for name in node.input}
        each = {onnx.TensorProto.FLOAT: self.storage.itemsize if self.storage else 4, onnx.TensorProto.INT64: 8, onnx.TensorProto.BOOL: 1}
        weights = sum(each[tensor.data_type] * int(numpy.prod(tensor.dims, dtype=numpy.int64))
                      for tensor in graph.initializer if tensor.name in used)
        return weights + moved

    def distance(self, outputs):
        return distance(outputs, self.expected)
