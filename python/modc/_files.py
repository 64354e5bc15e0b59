"""Weights in files: safetensors, written and read without other packages."""
import ctypes
import json
import os
import struct

from modc._arrays import DTYPES, is_dense, view_of

NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
         "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64"}

DENSE = {"torch": lambda tensor: tensor.contiguous(), "numpy": lambda array: array.copy(order="C")}


def safetensors_path(path):
    """The path itself, if it does not look like another kind of file."""
    return os.fspath(path)


def safetensors_bytes(tensors, metadata=None):
    """A safetensors file of a dict of arrays, in its order."""
    if not hasattr(tensors, "items"):
        raise TypeError(f"a state_dict is a dict of arrays, or the path of a safetensors file, not a {type(tensors).__name__}")
    header, pieces, at = {}, [], 0
    if metadata:
        header["__metadata__"] = {str(key): str(value) for key, value in metadata.items()}
    for name, array in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"a key of a state_dict is a string, not {name!r}")
        view, kind = view_of(array)
        if view is None:
            raise TypeError(f"{name} is a {type(array).__name__}, which is no array")
        if view.fault is not None:
            raise ValueError(f"{name} {view.fault}")
        if view.dtype not in NAMES:
            raise TypeError(f"{name} is {view.dtype}, which safetensors files of modc have no type for")
        if not is_dense(view.shape, view.strides):
            if kind.name not in DENSE:
                raise ValueError(f"{name} is not contiguous")
            array = DENSE[kind.name](array)
            view = kind.view(array)
        size = DTYPES[view.dtype][0]
        for extent in view.shape:
            size *= extent
        pieces.append(ctypes.string_at(view.address, size) if size else b"")
        header[name] = {"dtype": NAMES[view.dtype], "shape": list(view.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(pieces)
