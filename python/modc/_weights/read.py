"""modc.load_file and modc.convert: tensors of any file of weights that modc reads."""
import io
import json
import os
import struct
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

from modc._arrays import OWN, kind_by_name
from modc._errors import FileError
from modc._files import arrays_of, bytes_of, header_bytes, read_safetensors, records_bytes, write_records, write_whole
from modc._weights.gguf import read_gguf
from modc._weights.kinds import kind_of, kind_of_zip, open_zip
from modc._weights.npz import read_npz
from modc._weights.onnx_file import read_onnx
from modc._weights.scaled import about_of, floats_of, metadata_of, take_layers
from modc._weights.torch_file import read_row_records, read_zip_records

PREFIXES = ("module.", "_orig_mod.", "model.", "net.", "network.")  # of DataParallel, torch.compile, Lightning, ...
IN_FOLDERS = ("model.safetensors.index.json", "model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin")
BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError, EOFError,
          NotImplementedError, RuntimeError, StopIteration, SyntaxError, struct.error, zipfile.BadZipFile, zlib.error)


@contextmanager
def said_of(path, what):
    """A FileError names the path; of other faults it says that what is there is broken."""
    try:
        yield
    except FileError as error:
        raise FileError(f"{path}: {error.text}", error.hint) from None
    except BROKEN as error:
        text = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise FileError(f"{path}: {what} that is broken: {text}", "it may have been copied or downloaded in part") from None


class Weights:
    """What a file holds: records by key, the name of its kind, notes of what was chosen in it and left out, and by key which of the
    records are integers, of which storage: scaled.py."""

    def __init__(self, path, records, kind, notes, about):
        self.path, self.records, self.kind, self.notes, self.about = path, records, kind, notes, about

    def floats(self):
        """The records with numbers in the place of integers."""
        with said_of(self.path, "a file of weights"):
            return floats_of(self.records, self.about) if self.about else self.records

    def strip(self, prefix):
        """Cuts a prefix off all keys; without one, says which could be cut."""
        if prefix is None:
            common = common_prefix(self.records)
            if common:
                self.notes.append(f"every key begins with '{common}': --strip-prefix {common} cuts it off")
            return
        without = [name for name in self.records if not name.startswith(prefix)]
        if without:
            raise FileError(f"'{without[0]}' does not begin with '{prefix}'", "--strip-prefix cuts what all keys begin with")
        self.records = {name[len(prefix):]: record for name, record in self.records.items()}
        self.about = {name[len(prefix):]: storage for name, storage in self.about.items()}


def common_prefix(names):
    """Those of PREFIXES that all these names begin with, one behind the other: "module.model."."""
    found, names = "", list(names)
    while names:
        prefix = next((prefix for prefix in PREFIXES if all(name.startswith(found + prefix) for name in names)), None)
        if prefix is None:
            break
        found += prefix
    return found


def file_in(path):
    """The file itself, or the one of weights that a folder has, as the Hugging Face hub has them."""
    path = Path(path)
    if not path.is_dir():
        return path
    found = next((path / name for name in IN_FOLDERS if (path / name).is_file()), None)
    if found is None:
        raise FileError(f"{path}: it is a folder without weights", f"files are looked for as {', '.join(IN_FOLDERS)}")
    return found


def read_index(path, data, key, notes, about):
    """The tensors of the files that an index names, beside it, in the index's order."""
    places = json.loads(bytes(data))["weight_map"]
    shards = {}
    for name, shard in places.items():
        if not isinstance(shard, str) or shard in ("", ".", "..") or os.path.basename(shard) != shard:
            raise FileError(f"'{name}' lies in {shard!r}, which is no file beside the index")
        if shard not in shards:
            if not (path.parent / shard).is_file():
                raise FileError(f"it names {shard}, which is not beside it")
            shards[shard] = read_path(path.parent / shard, key, notes, about, within=True)[0]
        if name not in shards[shard]:
            raise FileError(f"it says that {shard} has '{name}', which it has not")
    return {name: shards[shard][name] for name, shard in places.items()}


def read_archive(path, data, key, notes):
    archive = open_zip(io.BytesIO(data) if len(data) < 1 << 16 else data.obj)
    if archive is None:
        raise FileError("it is a zip archive, as torch.save and NumPy write, whose end is missing",
                        "it may have been copied or downloaded in part")
    kind = kind_of_zip(archive)
    if kind.name == "torch":
        return read_zip_records(data, archive, key, notes), kind
    if kind.name == "npz":
        return read_npz(data, archive), kind
    raise FileError(kind.what, kind.hint)


def read_own(data, about):
    records, metadata = read_safetensors(data)
    about.update({name: storage for name, storage in about_of(metadata).items() if name in records})
    return records


READERS = {  # (path, data, key, notes, about): records
    "safetensors": lambda path, data, key, notes, about: read_own(data, about),
    "pickle": lambda path, data, key, notes, about: read_row_records(data, key, notes),
    "gguf": lambda path, data, key, notes, about: read_gguf(data, about, notes),
    "onnx": lambda path, data, key, notes, about: read_onnx(path),
    "index": read_index,
}


def read_path(path, key, notes, about, within=False):
    """Records and kind of a file. FileError says what is wrong with which file."""
    data = bytes_of(path)
    kind = kind_of(data)
    with said_of(path, kind.what):
        if kind.name == "zip":
            return read_archive(path, data, key, notes)
        if kind.name not in READERS or (within and kind.name == "index"):
            raise FileError(kind.what, kind.hint)
        return READERS[kind.name](path, data, key, notes, about), kind


def read(path, key=None, strip_prefix=None):
    """The Weights of a file, or of a folder as the Hugging Face hub has them. OSError where it cannot be read."""
    notes, about = [], {}
    path = file_in(path)
    records, kind = read_path(path, key, notes, about)
    with said_of(path, kind.what):
        if any(name.endswith(".qweight") for name in records):
            records, layers = take_layers(records, path, notes)
            about.update(layers)
        weights = Weights(path, records, kind.name, notes, about)
        weights.strip(strip_prefix)
    return weights


def loadable(path):
    """What the runtime reads of a file: the path and None where it is a safetensors file, else None and the bytes of one."""
    path = file_in(path)
    data = bytes_of(path)
    if kind_of(data).name == "safetensors" and b'.qweight"' not in bytes(data[8:8 + header_bytes(data)]):  # of GPTQ or AWQ
        return os.fsencode(path), None
    weights = read(path)
    return None, records_bytes(weights.records, metadata_of(weights.about))


def hint_of(text, path, data, own_names):
    """What to do where only a prefix is wrong with the keys of what loadable gave, or the storage of integers; "" where something
    else is."""
    if "integers mismatch for" in text:
        return "\nhint: modc.load_file(path) gives the numbers that they stand for, which load_state_dict takes"
    names = read_safetensors(memoryview(data) if path is None else bytes_of(path))[0]
    prefix = common_prefix(names)
    if not prefix or not any(name[len(prefix):] in own_names for name in names):
        return ""
    return f"\nhint: every key begins with '{prefix}': modc.load_file(path, strip_prefix='{prefix}') cuts it off"


def load_file(path, key=None, strip_prefix=None, arrays=None):
    """The tensors of a file of weights by key: safetensors, torch.save's (.pt, .pth, .bin), .npz, GGUF, ONNX, or an index of
    several. Neither PyTorch nor NumPy is needed; onnx is for ONNX. Nothing that a pickle names is called.

    key: which part of a checkpoint. strip_prefix: cut off every key. arrays: 'numpy' (if it is there), 'torch' or 'modc'.
    """
    weights = read(path, key, strip_prefix)
    if arrays is None:
        try:
            kind = kind_by_name("numpy")
        except ImportError:
            kind = OWN
    else:
        kind = kind_by_name(arrays)
    return arrays_of(weights.floats(), kind)


def convert(source, target, key=None, strip_prefix=None):
    """Writes the tensors of a file as safetensors, weights that are integers with scales as these; returns the Weights."""
    weights = read(source, key, strip_prefix)
    write_whole(target, lambda file: write_records(file, weights.records, metadata_of(weights.about)))
    return weights
