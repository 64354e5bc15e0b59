"""Weights in memory and in safetensors files, written and read without other packages.

A record is a tensor as the format has it: its dtype by the format's name, its shape, and its bytes in row-major order. The format
has no complex128: as modc's runtime does it, files hold pairs of float64, and their metadata which tensors those are.
"""
import ctypes
import io
import json
import math
import mmap
import os
import struct
from collections import namedtuple

from modc._arrays import DTYPES, is_dense, view_of
from modc._errors import FileError

Record = namedtuple("Record", "dtype shape data")  # "F32", (2, 3), what has a buffer of bytes

NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
         "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "complex128": "C128"}
BYTES = {**{code: DTYPES[name][0] for name, code in NAMES.items()},
         "U16": 2, "U32": 4, "U64": 8, "F8_E4M3": 1, "F8_E5M2": 1}  # those that files have and modc has not
OWN_NAMES = {code: name for name, code in NAMES.items()}
MARK = "modc.complex128"  # in the metadata: the names of complex128 tensors, a line each
LONGEST_HEADER = 100_000_000

DENSE = {"torch": lambda tensor: tensor.contiguous(), "numpy": lambda array: array.copy(order="C")}


def record_of(name, array):
    """The record of any array, which shares its memory where it is contiguous."""
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
    size = DTYPES[view.dtype][0] * math.prod(view.shape)
    return Record(NAMES[view.dtype], tuple(view.shape), ctypes.string_at(view.address, size) if size else b"")


def write_records(file, records, metadata=None):
    """Writes a safetensors file of records by name. The header has their order; the largest elements lie first, so that all are
    aligned."""
    header, at = {name: None for name in records}, 0
    laid = sorted(records, key=lambda name: -BYTES[records[name].dtype])
    for name in laid:
        dtype, shape, _ = records[name]
        size = BYTES[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        if dtype == "C128":
            header[name].update(dtype="F64", shape=[*shape, 2])
        at += size
    wide = [name for name in records if records[name].dtype == "C128"]
    if wide:
        metadata = {**(metadata or {}), MARK: "\n".join(wide)}
    about = {"__metadata__": {str(key): str(value) for key, value in metadata.items()}} if metadata else {}
    text = json.dumps({**about, **header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for name in laid:
        file.write(records[name].data)


def records_bytes(records, metadata=None):
    file = io.BytesIO()
    write_records(file, records, metadata)
    return file.getvalue()


def safetensors_bytes(tensors, metadata=None):
    """A safetensors file of a dict of arrays, in its order."""
    if not hasattr(tensors, "items"):
        raise TypeError(f"a state_dict is a dict of arrays, or the path of a file of weights, not a {type(tensors).__name__}")
    return records_bytes({name: record_of(name, array) for name, array in tensors.items()}, metadata)


def write_whole(path, write):
    """Calls write(file), and only then has `path` what it wrote."""
    part = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            write(file)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def bytes_of(path):
    """A file's bytes as a memoryview, which may be written to without changing the file."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def header_bytes(data):
    """How long the header of a safetensors file is. None: it is none."""
    if len(data) < 10:
        return None
    (length,) = struct.unpack_from("<Q", data)
    return length if length <= min(len(data) - 8, LONGEST_HEADER) and data[8] == ord("{") else None


def read_safetensors(data):
    """The records of a safetensors file by name, and its metadata. ValueError and others where it is broken."""
    length = header_bytes(data)
    if length is None:
        raise ValueError("it has no header")
    header = json.loads(bytes(data[8:8 + length]))
    metadata, body, records = header.pop("__metadata__", {}), data[8 + length:], {}
    wide = (metadata or {}).pop(MARK, "").split("\n")
    for name, about in header.items():
        first, last = about["data_offsets"]
        shape, code = tuple(about["shape"]), about["dtype"]
        if code not in BYTES:
            raise FileError(f"{name} is {code}, which modc does not read")
        whole = all(type(extent) is int and extent >= 0 for extent in (*shape, first, last))
        if not whole or last > len(body) or last - first != BYTES[code] * math.prod(shape):
            raise ValueError(f"the bytes of {name} are not where they should be")
        if name in wide and code == "F64" and shape[-1:] == (2,):
            code, shape = "C128", shape[:-1]
        records[name] = Record(code, shape, body[first:last])
    return records, metadata


def arrays_of(records, kind):
    """Records by name as arrays of a kind, which share their memory where it may be written to."""
    arrays = {}
    for name, record in records.items():
        if record.dtype not in OWN_NAMES:
            raise FileError(f"{name} is {record.dtype}, which modc has no type for")
        size = len(record.data)
        data = record.data if size and not memoryview(record.data).readonly else bytearray(record.data or b"\0")
        if record.dtype in OWN_NAMES:
            owner = (ctypes.c_char * len(data)).from_buffer(data)
            arrays[name] = kind.over(ctypes.addressof(owner), record.shape, OWN_NAMES[record.dtype], owner)
    return arrays
