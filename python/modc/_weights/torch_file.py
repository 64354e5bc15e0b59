"""What torch.save wrote, as a zip or, before PyTorch 1.6, as pickles in a row; and which part of it is the state_dict."""
import io
import struct
import zipfile
from collections import namedtuple

from modc._errors import FileError
from modc._weights.pickles import Global, Machine, Object, Tensor, record_of_tensor

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
USUAL_KEYS = ("state_dict", "model_state_dict", "model")  # of checkpoints, where several would do
DEEPEST = 100

Found = namedtuple("Found", "tensors left_out")  # by key of the state_dict; keys of what is no tensor


# ---- the two formats ----------------------------------------------------------------------------------------------------


def zip_member(data, archive, info):
    """The bytes of a zip's member: the memory itself where they are not compressed, as PyTorch and NumPy write them."""
    if info.compress_type != zipfile.ZIP_STORED:
        return memoryview(archive.read(info))
    at = info.header_offset
    if bytes(data[at:at + 4]) != b"PK\3\4" or info.flag_bits & 1:
        raise ValueError(f"its member {info.filename} is not where it should be")
    name, extra = struct.unpack_from("<HH", data, at + 26)
    first = at + 30 + name + extra
    if first + info.file_size > len(data):
        raise ValueError(f"its member {info.filename} is longer than the file")
    return data[first:first + info.file_size]


def read_zip(data, archive):
    """What the zip's pickle makes, and data_of for its tensors."""
    members = {info.filename: info for info in archive.infolist()}
    main = next(name for name in members if name.split("/")[-1] == "data.pkl")
    root = main[:-len("data.pkl")]
    order = members.get(root + "byteorder")
    if order and bytes(zip_member(data, archive, order)) == b"big":
        raise FileError("its numbers are big-endian, as another machine has them",
                        "torch.save on a little-endian machine writes them anew")

    def data_of(key, size):
        return zip_member(data, archive, members[f"{root}data/{key}"])

    return Machine(io.BytesIO(zip_member(data, archive, members[main]))).load(), data_of


def read_row(data):
    """The same of a file of pickles in a row, the memory of storages behind them."""
    file = io.BytesIO(data) if len(data) < 1 << 16 else data.obj  # whose read, readline and tell it has
    file.seek(0)
    machine = Machine(file)
    if machine.load() != MAGIC_NUMBER:
        raise FileError("it is a pickle that torch.save did not write",
                        "who wrote it can write tensors instead: torch.save(model.state_dict(), FILE), or numpy.savez")
    machine.load()  # the version
    system = machine.load()
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise FileError("its numbers are big-endian, as another machine has them",
                        "torch.save on a little-endian machine writes them anew")
    tree, keys = machine.load(), machine.load()
    at, places = file.tell(), {}
    sizes = element_sizes(tree)
    for key in keys:
        (count,) = struct.unpack_from("<q", data, at)
        places[key] = (at + 8, count)
        at += 8 + count * sizes.get(key, 1)
        if count < 0 or at > len(data):
            raise ValueError("it ends within its tensors")

    def data_of(key, size):
        first, count = places[key]
        return data[first:first + count * size]

    return tree, data_of


def element_sizes(tree):
    """Bytes of an element by a storage's key. Storages of tensors alone have one: what else is in the file is not known."""
    from modc._files import BYTES
    sizes, seen, left = {}, set(), [tree]
    while left:
        value = left.pop()
        if isinstance(value, Tensor):
            sizes[value.storage.key] = BYTES.get(value.storage.dtype or "U8", 0) or larger_size(value.storage.dtype)
        elif id(value) not in seen and isinstance(value, (dict, list, tuple, Object)) and not isinstance(value, Global):
            seen.add(id(value))
            if isinstance(value, Object):
                left += [value.args, value.state, value.items, value.entries]
            else:
                left += value.values() if isinstance(value, dict) else value
    return sizes


def larger_size(dtype):
    """Of PyTorch's types that modc has not: those that files before 1.6 could hold."""
    found = {"?QInt8Storage": 1, "?QUInt8Storage": 1, "?QInt32Storage": 4}.get(dtype)
    if found is None:
        raise ValueError(f"it has tensors of PyTorch's {dtype[1:]}")
    return found


# ---- the state_dict in it -------------------------------------------------------------------------------------------------


def module_state(module, prefix="", depth=0):
    """(key, tensor) of a pickled torch.nn.Module, as its state_dict() has them."""
    if depth > DEEPEST:
        raise ValueError("its modules lie too deep in each other")
    state = module.state
    passing = state.get("_non_persistent_buffers_set") or ()
    for group in ("_parameters", "_buffers"):
        for name, tensor in state.get(group, {}).items():
            if isinstance(tensor, Tensor) and name not in passing:
                yield f"{prefix}{name}", tensor
    for name, child in state["_modules"].items():
        if is_module(child):
            yield from module_state(child, f"{prefix}{name}.", depth + 1)


def is_module(value):
    return isinstance(value, Object) and isinstance(value.state, dict) and isinstance(value.state.get("_modules"), dict)


def tensors_in(value):
    """Found, if this is a state_dict or a module; else None."""
    if is_module(value):
        return Found(dict(module_state(value)), [])
    entries = value.entries if isinstance(value, Object) else value
    if not isinstance(entries, dict) or not all(isinstance(key, str) for key in entries):
        return None
    tensors = {key: item for key, item in entries.items() if isinstance(item, Tensor)}
    return Found(tensors, [key for key in entries if key not in tensors]) if tensors else None


def at_key(tree, key):
    """What lies below a key of a checkpoint: "model", or with dots, "trainer.model"."""
    value, rest = tree, key
    while True:
        entries = value.entries if isinstance(value, Object) and not value.state else \
            value.state if isinstance(value, Object) else value
        if not isinstance(entries, dict):
            entries = {}
        if rest in entries:
            return entries[rest]
        head = next((head for head in entries if isinstance(head, str) and rest.startswith(head + ".")), None)
        if head is None:
            names = ", ".join(sorted(str(name) for name in entries if isinstance(name, str))[:20])
            raise FileError(f"it has no key '{key}'", f"it has {names or 'no keys'}")
        value, rest = entries[head], rest[len(head) + 1:]


def state_dict(tree, key, notes):
    """The tensors of the state_dict in what a file holds, by key. Says in `notes` what was chosen and left out."""
    if key is not None:
        found = tensors_in(at_key(tree, key))
        if found is None:
            raise FileError(f"'{key}' is no state_dict", keys_hint(tree))
    else:
        parts = {name: tensors_in(part) for name, part in tree.items()} if isinstance(tree, dict) else {}
        parts = {name: part for name, part in parts.items() if part is not None and isinstance(name, str)}
        chosen = next((name for name in USUAL_KEYS if name in parts), None)
        found = None if chosen else tensors_in(tree)
        if found is None and chosen is None and len(parts) == 1:
            (chosen,) = parts
        if chosen is not None:
            found = parts[chosen]
            notes.append(f"a checkpoint, of which '{chosen}' was taken; it has "
                         + ", ".join(sorted(str(name) for name in tree if name != chosen and isinstance(name, str))) + " too"
                         if len(tree) > 1 else f"a checkpoint, of which '{chosen}' was taken")
        if found is None:
            raise FileError("it has several state_dicts" if parts else "it has no state_dict: no dict of tensors by name",
                            f"--key says which (key= in Python): {', '.join(sorted(parts))}" if parts else keys_hint(tree))
    if found.left_out:
        notes.append("left out, since they are no tensors: " + ", ".join(found.left_out[:20]))
    return found.tensors


def keys_hint(tree):
    if isinstance(tree, Object) and isinstance(tree.kind, Global):
        return f"it is a {tree.kind.module}.{tree.kind.name}"
    names = sorted(name for name in tree if isinstance(name, str)) if isinstance(tree, dict) else []
    return f"it has {', '.join(names[:20])}" if names else "torch.save(model.state_dict(), FILE) writes one"


def records_of(tree, data_of, key, notes):
    tensors = state_dict(tree, key, notes)
    return {name: record_of_tensor(name, tensor, data_of) for name, tensor in tensors.items()}


def read_zip_records(data, archive, key, notes):
    return records_of(*read_zip(data, archive), key, notes)


def read_row_records(data, key, notes):
    return records_of(*read_row(data), key, notes)
