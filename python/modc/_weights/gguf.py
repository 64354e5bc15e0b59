"""GGUF files, as llama.cpp has them: their tensors of plain numbers, and of Q8_0 and Q4_0 as integers with scales. Of other quantised
types the gguf package says which numbers they are.

    "GGUF", version 2 or 3, counts of tensors and of metadata, metadata (key, type, value), then for each tensor its name,
    extents from the innermost on, type and offset; the data begin at the next multiple of general.alignment.
"""
import math
import struct

from modc._errors import FileError
from modc._files import BYTES, Record
from modc._weights.scaled import BLOCK, BLOCK_BYTES, put_blocks

CODES = {0: "F32", 1: "F16", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16"}
QUANTISED = {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K",
             14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
             22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4"}
VALUES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}  # types of metadata
STRING, ARRAY = 8, 9
MOST_DIMS = 4


class Reader:
    """Goes through the bytes; ValueError where they end."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise ValueError(f"it ends within its header, at byte {self.at}")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def text(self):
        return str(self.take(self.number("Q")), "utf-8")

    def value(self, kind):
        """A value of metadata; None for an array, which is passed over."""
        if kind in VALUES:
            return self.number(VALUES[kind])
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            raise ValueError(f"its metadata have a value of type {kind}")
        kind, count = self.number("I"), self.number("Q")
        if kind in VALUES:
            self.take(struct.calcsize("<" + VALUES[kind]) * count)
        elif kind == STRING:
            for _ in range(count):
                self.text()
        else:
            raise ValueError(f"its metadata have an array of type {kind}")
        return None


def dequantised(kind, shape, rest):
    """The record of a tensor of another quantised type, float32, and how many bytes it has; None without the gguf package."""
    try:
        import gguf
        import numpy
    except ImportError:
        return None
    kind = gguf.GGMLQuantizationType(kind)
    if not shape or shape[-1] % gguf.GGML_QUANT_SIZES[kind][0]:
        raise ValueError(f"a tensor of {kind.name} has rows of {shape[-1] if shape else 1}")
    bytes_shape = gguf.quant_shape_to_byte_shape(shape, kind)
    size = math.prod(bytes_shape)
    if size > len(rest):
        return Record("F32", shape, b""), size
    values = numpy.frombuffer(bytes(rest[:size]), numpy.uint8).reshape(bytes_shape)
    try:
        numbers = gguf.quants.dequantize(values, kind)
    except NotImplementedError:
        return None
    return Record("F32", shape, numpy.ascontiguousarray(numbers, numpy.float32).tobytes()), size


def read_gguf(data, about, notes):
    """The records of its tensors by name; `about` is what of them are integers with scales."""
    reader = Reader(data)
    reader.take(4)
    version = reader.number("I")
    if version not in (2, 3):
        big = version != 0 and version & 0xFFFF == 0
        raise FileError("it is big-endian GGUF" if big else f"it is GGUF of version {version}, of which modc reads 2 and 3")
    tensor_count, value_count = reader.number("Q"), reader.number("Q")
    alignment = 32
    for _ in range(value_count):
        name, value = reader.text(), reader.value(reader.number("I"))
        if name == "general.alignment":
            alignment = value
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"its general.alignment is {alignment!r}")
    found, refused = [], {}
    for _ in range(tensor_count):
        name, dims = reader.text(), reader.number("I")
        if dims > MOST_DIMS:
            raise ValueError(f"{name} has {dims} dimensions")
        shape = tuple(reader.number("Q") for _ in range(dims))[::-1]
        found.append((name, reader.number("I"), shape, reader.number("Q")))
    first = (reader.at + alignment - 1) // alignment * alignment
    records, rounded = {}, {}
    for name, kind, shape, offset in found:
        begin, word = first + offset, QUANTISED.get(kind, f"type {kind}")
        if name in records:
            raise ValueError(f"it has two tensors {name}")
        if kind in CODES:
            record, size = None, BYTES[CODES[kind]] * math.prod(shape)
        elif word in BLOCK_BYTES and len(shape) == 2 and shape[1] % BLOCK == 0:
            record, size = None, math.prod(shape) // BLOCK * BLOCK_BYTES[word]
        else:
            record, size = (kind in QUANTISED and dequantised(kind, shape, data[begin:])) or (None, None)
            if record is None:
                refused.setdefault(word, name)
                continue
            rounded.setdefault(word, name)
        if begin + size > len(data):
            raise ValueError(f"{name} is not all in the file")
        if kind in CODES:
            records[name] = Record(CODES[kind], shape, data[begin:begin + size])
        elif record:
            records[name] = record
        else:
            put_blocks(records, about, name, word, shape, bytes(data[begin:begin + size]))
    if refused:
        kinds = ", ".join(f"{kind} ({name})" for kind, name in refused.items())
        raise FileError(f"it has tensors of {kinds}, which modc does not read without the gguf package: matrices of Q8_0 and Q4_0, "
                        "F32, F16, BF16, F64 and integers alone",
                        "pip install gguf, or llama.cpp's convert_hf_to_gguf.py --outtype q8_0 (or f16, f32)")
    if rounded:
        kinds = ", ".join(f"{kind} ({name})" for kind, name in rounded.items())
        notes.append(f"tensors of {kinds} are written as float32; modc quantize rounds them, and tells the error")
    return records
