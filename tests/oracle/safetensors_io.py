"""Reads and writes safetensors files: without the safetensors package, which Debian does not have.

`read` and `write` know only bytes and need nothing but Python; `load` and `save` are the same for torch tensors.
complex128, which the format lacks, is float64 with a last dimension of 2, marked in the metadata (design 2.5).
"""
import json
import math
import struct
from collections import namedtuple

Record = namedtuple("Record", "dtype shape data")  # "F32", (2, 3), bytes

# In the order of the format's own library, which writes the last of these first: so every tensor is aligned.
BYTES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4,
         "C64": 8, "F64": 8, "I64": 8, "U64": 8}
TORCH = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
         "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64"}
COMPLEX128 = "modc.complex128"  # metadata: the names of such tensors, separated by newlines


def read(path):
    """The records of a file by name, in the order of their bytes, and its metadata."""
    with open(path, "rb") as file:
        content = file.read()
    if len(content) < 8:
        raise ValueError(f"{path}: no safetensors header")
    (length,) = struct.unpack("<Q", content[:8])
    if length > len(content) - 8:
        raise ValueError(f"{path}: the header is longer than the file")
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    records = {}
    end = 0
    for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = info["data_offsets"]
        shape = tuple(info["shape"])
        if first != end or last - first != BYTES[info["dtype"]] * math.prod(shape):
            raise ValueError(f"{path}: the bytes of {name} are not where they should be")
        records[name] = Record(info["dtype"], shape, content[8 + length + first:8 + length + last])
        end = last
    if 8 + length + end != len(content):
        raise ValueError(f"{path}: {len(content) - 8 - length - end} bytes belong to no tensor")
    return records, metadata


def write(path, records, metadata=None):
    """The same bytes as the safetensors package writes."""
    rank = list(BYTES)
    header = {"__metadata__": metadata} if metadata else {}
    names = sorted(records, key=lambda name: (-rank.index(records[name].dtype), name))
    end = 0
    for name in names:
        record = records[name]
        first, end = end, end + len(record.data)
        header[name] = {"dtype": record.dtype, "shape": list(record.shape), "data_offsets": [first, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(records[name].data for name in names))


def load(path):
    """The tensors of a file by name."""
    import torch

    records, metadata = read(path)
    wide = metadata.get(COMPLEX128, "").split("\n")
    tensors = {}
    for name, record in records.items():
        dtype = getattr(torch, TORCH[record.dtype])
        flat = torch.frombuffer(bytearray(record.data), dtype=dtype) if record.data else torch.empty(0, dtype=dtype)
        tensor = flat.reshape(record.shape)
        tensors[name] = torch.view_as_complex(tensor) if name in wide else tensor
    return tensors


def records_of(tensors):
    """The records of torch tensors (views, strides and gradients do not matter), and the metadata that they need."""
    import torch

    names = {dtype: name for name, dtype in TORCH.items()}
    metadata = {}
    wide = [name for name, tensor in tensors.items() if tensor.dtype == torch.complex128]
    if wide:
        metadata[COMPLEX128] = "\n".join(wide)
    records = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
        shape, dtype = tuple(tensor.shape), str(tensor.dtype).replace("torch.", "")
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        if dtype == "complex128":
            shape, dtype = tuple(tensor.shape), "float64"
        flat = tensor.reshape(-1).clone(memory_format=torch.contiguous_format)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        records[name] = Record(names[dtype], shape, data)
    return records, metadata


def save(path, tensors):
    write(path, *records_of(tensors))
