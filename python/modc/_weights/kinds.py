"""What kind of file bytes are, told by how they begin: names never say it.

A row of KINDS: how to know a file, what it is, and, where modc reads no weights out of it, what makes a file of which it does.
"""
import json
import zipfile
from collections import namedtuple

from modc._files import header_bytes

Kind = namedtuple("Kind", "name what hint", defaults=(None,))

NUMPY = "numpy.savez(FILE, **{name: array}) writes an .npz, which this reads"
UNPACK = "it has to be unpacked first"


def begins(*magics, at=0):
    return lambda data: any(bytes(data[at:at + len(magic)]) == magic for magic in magics)


def is_onnx(data):
    """Field 1 (ir_version) of a protobuf, and behind it one of the next fields: a text or a message."""
    return len(data) > 4 and data[0] == 0x08 and 1 <= data[1] <= 20 and data[2] in (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42)


def is_text(data):
    head = bytes(data[:4096])
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
    return all(byte >= 32 or byte in b"\t\n\r\f\x1b" for byte in head)


def json_object(data):
    """The object of a JSON text; None: it is none."""
    if bytes(data[:1024]).lstrip()[:1] != b"{" or len(data) > 1 << 28:
        return None
    try:
        value = json.loads(bytes(data))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_index(data):
    value = json_object(data)
    return value is not None and isinstance(value.get("weight_map"), dict)


KINDS = [  # in this order
    (lambda data: len(data) == 0, Kind("empty", "it is empty")),
    (lambda data: header_bytes(data) is not None, Kind("safetensors", "a safetensors file")),
    (begins(b"PK\3\4", b"PK\5\6"), Kind("zip", "a zip archive")),
    (begins(*(bytes((0x80, protocol)) for protocol in range(2, 6))), Kind("pickle", "a pickle")),
    (begins(b"GGUF"), Kind("gguf", "a GGUF file")),
    (is_index, Kind("index", "an index of several files")),
    (begins(b"TFL3", at=4), Kind("tflite", "it is a TensorFlow Lite model: a network, not weights alone",
                                 "python -m modc export FILE.tflite makes a spec and weights of one of int8")),
    (begins(b"\x89HDF\r\n\x1a\n"), Kind("hdf5", "it is an HDF5 file, as Keras and h5py write, which modc does not read",
                                        f"h5py gives its arrays; {NUMPY}")),
    (begins(b"\x93NUMPY"), Kind("npy", "it is one array of NumPy's, without a name", NUMPY)),
    (begins(b"ggml", b"lmgg", b"tjgg", b"fmgg", b"ggjt", b"ggmf"),
     Kind("ggml", "it is a GGML file, which came before GGUF",
          "llama.cpp's convert_llama_ggml_to_gguf.py writes GGUF, which this reads")),
    (begins(b"\x1f\x8b"), Kind("gzip", "it is compressed with gzip", f"{UNPACK}: gzip -d")),
    (begins(b"BZh"), Kind("bzip2", "it is compressed with bzip2", f"{UNPACK}: bzip2 -d")),
    (begins(b"\xfd7zXZ\0"), Kind("xz", "it is compressed with xz", f"{UNPACK}: xz -d")),
    (begins(b"\x28\xb5\x2f\xfd"), Kind("zstd", "it is compressed with zstd", f"{UNPACK}: zstd -d")),
    (begins(b"ustar", at=257), Kind("tar", "it is a tar archive", f"{UNPACK}: tar -xf")),
    (begins(b"version https://git-lfs"),
     Kind("lfs", "it is a pointer of Git LFS, not the file itself", "git lfs pull fetches it")),
    (begins(b"<!DOCTYPE", b"<!doctype", b"<html", b"<HTML", b"<?xml"),
     Kind("html", "it is a web page or XML, not the file itself", "the link of a download button leads to the file")),
    (is_onnx, Kind("onnx", "an ONNX model")),
    (lambda data: json_object(data) is not None, Kind("json", "it is JSON, and no index of weights: it has no weight_map")),
    (is_text, Kind("text", "it is text, not weights")),
]
UNKNOWN = Kind("unknown", "it is no kind of file that modc knows",
               "it reads safetensors, torch.save's files, .npz, GGUF, ONNX and indexes of several files")

# Zips, by a name in them: rows as above.
ZIPS = [
    (lambda names: any(name.split("/")[-1] == "constants.pkl" or "/code/" in name for name in names),
     Kind("torchscript", "it is a TorchScript archive, which modc does not read",
          "torch.save(torch.jit.load(FILE).state_dict(), OUT) writes a file that this reads")),
    (lambda names: any(name.split("/")[-1] in ("archive_format", "archive_version") for name in names),
     Kind("pt2", "it is an archive of torch.export, which modc does not read",
          "torch.save(torch.export.load(FILE).state_dict, OUT) writes a file that this reads")),
    (lambda names: any(name.split("/")[-1] == "data.pkl" for name in names), Kind("torch", "a file of torch.save")),
    (lambda names: names and all(name.endswith(".npy") for name in names), Kind("npz", "an .npz of NumPy's")),
    (lambda names: "model.weights.h5" in names, Kind("keras", "it is a Keras model, which modc does not read", NUMPY)),
    (lambda names: any(name.endswith((".mlmodel", "coremldata.bin")) for name in names),
     Kind("coreml", "it is a Core ML model, which modc does not read")),
]


def kind_of(data):
    return next((kind for matches, kind in KINDS if matches(data)), UNKNOWN)


def kind_of_zip(archive):
    names = archive.namelist()
    some = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    other = Kind("archive", f"it is a zip archive of other files: {some}" if names else "it is an empty zip archive", UNPACK)
    return next((kind for matches, kind in ZIPS if matches(names)), other)


def open_zip(file):
    """The archive; None where its directory, which stands at the end, is missing."""
    try:
        return zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        return None
