"""GGUF files, as llama.cpp has them: their tensors of plain numbers. Quantised ones are refused by their type's name.

    "GGUF", version 2 or 3, counts of tensors and of metadata, metadata (key, type, value), then for each tensor its name,
    extents from the innermost on, type and offset; the data begin at the next multiple of general.alignment.
"""
import math
import struct

from modc._errors import FileError
from modc._files import BYTES, Record

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


def read_gguf(data):
    """The records of its tensors by name."""
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
        kind, offset = reader.number("I"), reader.number("Q")
        if kind in CODES:
            found.append((name, CODES[kind], shape, offset))
        else:
            refused.setdefault(QUANTISED.get(kind, f"type {kind}"), name)
    if refused:
        kinds = ", ".join(f"{kind} ({name})" for kind, name in refused.items())
        raise FileError(f"it has tensors of {kinds}, which modc does not read: F32, F16, BF16, F64 and integers alone",
                        "llama.cpp's convert_hf_to_gguf.py --outtype f32 (or f16, bf16) writes such a file")
    first = (reader.at + alignment - 1) // alignment * alignment
    records = {}
    for name, code, shape, offset in found:
        begin, size = first + offset, BYTES[code] * math.prod(shape)
        if begin + size > len(data):
            raise ValueError(f"{name} is not all in the file")
        if name in records:
            raise ValueError(f"it has two tensors {name}")
        records[name] = Record(code, shape, data[begin:begin + size])
    return records
