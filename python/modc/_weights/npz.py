"""NumPy's .npz: a zip of .npy files, read without NumPy."""
import ast
import struct

from modc._errors import FileError
from modc._files import BYTES, Record
from modc._weights.pickles import gather
from modc._weights.torch_file import zip_member

CODES = {"b1": "BOOL", "u1": "U8", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "u2": "U16", "u4": "U32", "u8": "U64",
         "f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64", "c16": "C128"}
LONGEST_HEADER = 1 << 16


def read_npy(name, data):
    """The record of a .npy file."""
    if bytes(data[:6]) != b"\x93NUMPY":
        raise ValueError(f"{name} is no .npy file")
    code, first = ("<H", 10) if data[6] == 1 else ("<I", 12)
    (length,) = struct.unpack_from(code, data, 8)
    if length > min(LONGEST_HEADER, len(data) - first):
        raise ValueError(f"the header of {name} is too long")
    about = ast.literal_eval(str(data[first:first + length], "utf-8").strip())
    shape, dtype, body = about["shape"], about["descr"], data[first + length:]
    if not isinstance(dtype, str) or dtype[1:] not in CODES or dtype[0] == ">" or (dtype[0] == "|" and dtype[2:] != "1"):
        raise FileError(f"{name} is of NumPy's {dtype!r}, which safetensors files of modc have no type for")
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        raise ValueError(f"the shape of {name} is none")
    strides, step = [0] * len(shape), 1
    for axis in range(len(shape)) if about["fortran_order"] else reversed(range(len(shape))):
        strides[axis] = step
        step *= shape[axis]
    size = BYTES[CODES[dtype[1:]]]
    return Record(CODES[dtype[1:]], tuple(shape), gather(name, body, size, 0, shape, strides))


def read_npz(data, archive):
    return {info.filename[:-len(".npy")]: read_npy(info.filename, zip_member(data, archive, info))
            for info in archive.infolist()}
