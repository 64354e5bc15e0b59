"""An ONNX file as a graph: what is wrong with it is said here, before anything is made of it."""
import os
from pathlib import Path

from modc._errors import Error

OLDEST = 7
DTYPES = {1: "float32", 2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 11: "float64"}
OTHERS = {4: "uint16", 8: "string", 10: "float16", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128",
          16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4",
          22: "int4", 23: "float4e2m1", 24: "float8e8m0"}
DOMAINS = ("", "ai.onnx")


class OnnxError(Error):
    """What an ONNX file has and modc has not: the file, the node, and what to do."""

    def __init__(self, text, node=None, hint=None):
        where = f"node {node_title(node)}: " if node is not None else ""
        super().__init__(where + text + (f"\nhint: {hint}" if hint else ""))


def node_title(node):
    """A node as messages call it."""
    name = node.name or next((output for output in node.output if output), "")
    return f"'{name}' ({node.op_type})" if name else f"({node.op_type})"


def package():
    try:
        import onnx
        import onnx.numpy_helper
        import onnx.shape_inference
    except ImportError:
        raise OnnxError("ONNX files are read by the package onnx, which is not installed", hint="pip install onnx") from None
    return onnx


def dtype_name(code, node=None, what=None):
    """NumPy's name of an ONNX type that modc has. OnnxError for others."""
    if code in DTYPES:
        return DTYPES[code]
    raise OnnxError(f"{what or 'a tensor'} is {OTHERS.get(code, f'of type {code}')}, which modc does not have", node,
                    "it has " + ", ".join(DTYPES.values()))


def load(source):
    """The ModelProto of a path, of bytes or of itself, with its external data."""
    onnx = package()
    if isinstance(source, onnx.ModelProto):
        return checked(onnx, source, "the model")
    path = Path(source)
    data = path.read_bytes()
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:  # protobuf's DecodeError, whose module depends on its version
        raise OnnxError(f"{path} is no ONNX file, or is cut off: its {len(data)} bytes are no protobuf of a model") from None
    checked(onnx, model, str(path))
    folder = path.parent
    for tensor in external_tensors(onnx, model):
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        target = Path(os.path.normpath(folder / location))
        if os.path.isabs(location) or Path(os.path.normpath(folder)) not in target.parents and str(folder) != ".":
            raise OnnxError(f"{path} has '{tensor.name}' in '{location}', which lies outside its folder")
        if not target.is_file():
            raise OnnxError(f"{path} has '{tensor.name}' in '{location}', which is not there",
                            hint="the file of external data has to lie beside the model")
        first, length = int(entries.get("offset", 0) or 0), int(entries.get("length", 0) or 0)
        if first < 0 or first + length > target.stat().st_size:
            raise OnnxError(f"{path} has '{tensor.name}' at {first} to {first + length} of '{location}', "
                            f"which has {target.stat().st_size} bytes")
    try:
        onnx.external_data_helper.load_external_data_for_model(model, str(folder))
    except Exception as error:
        raise OnnxError(f"the external data of {path} cannot be read: {error}") from None
    return model


def external_tensors(onnx, model):
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            yield tensor
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_location == onnx.TensorProto.EXTERNAL:
                yield attribute.t


def checked(onnx, model, title):
    if not model.HasField("graph") or not model.graph.output:
        raise OnnxError(f"{title} has no model in it: no graph with outputs",
                        hint="a file of onnx.save or torch.onnx.export has one")
    versions = {item.domain: item.version for item in model.opset_import}
    version = versions.get("", versions.get("ai.onnx"))
    if version is None:
        if not model.opset_import:
            raise OnnxError(f"{title} does not say which opset it is of")
        version = OLDEST  # of other domains alone, of which nodes are refused by name
    if version < OLDEST:
        raise OnnxError(f"{title} is of opset {version}; modc reads opset {OLDEST} and up",
                        hint="onnx.version_converter.convert_version(model, 13) makes it newer")
    newest = onnx.defs.onnx_opset_version()
    if version > newest:
        raise OnnxError(f"{title} is of opset {version}; the installed onnx {onnx.__version__} knows up to {newest}",
                        hint="pip install -U onnx")
    return model


def opset(model):
    versions = {item.domain: item.version for item in model.opset_import}
    return versions.get("", versions.get("ai.onnx", OLDEST))
