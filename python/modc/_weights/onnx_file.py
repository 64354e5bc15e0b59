"""The initialisers of ONNX models, which the onnx package reads."""
from modc._errors import FileError
from modc._files import Record

CODES = {"FLOAT": "F32", "DOUBLE": "F64", "FLOAT16": "F16", "BFLOAT16": "BF16", "INT64": "I64", "INT32": "I32", "INT16": "I16",
         "INT8": "I8", "UINT8": "U8", "BOOL": "BOOL", "COMPLEX64": "C64", "COMPLEX128": "C128",
         "UINT16": "U16", "UINT32": "U32", "UINT64": "U64"}


def read_onnx(path):
    """The records of a model's initialisers by name; data beside the file are read with it."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise FileError("it is an ONNX model, which the onnx package reads", "pip install onnx") from None
    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf's classes differ by version
        raise FileError(f"it looks like an ONNX model, but onnx says: {error}") from None
    records = {}
    for tensor in model.graph.initializer:
        kind = onnx.TensorProto.DataType.Name(tensor.data_type)
        if kind not in CODES:
            raise FileError(f"{tensor.name} is of ONNX's {kind}, which safetensors files of modc have no type for")
        array = numpy_helper.to_array(tensor)
        if kind == "BFLOAT16" and array.itemsize == 4:  # older packages widen it
            array = (array.view("<u4") >> 16).astype("<u2")
        records[tensor.name] = Record(CODES[kind], tuple(array.shape), array.tobytes())
    if not records:
        raise FileError("it is an ONNX model without initialisers")
    return records
