"""Pickles of torch.save, read without PyTorch and without calling anything that they name.

The machine knows the opcodes that Python's pickles of data have. What a pickle names is looked up in one table of functions,
those that make tensors and dicts; every other class or function stays a name, and what it would make an Object, with what it
was to be made of. So a checkpoint that holds somebody's class beside its tensors can be read, and none runs code.
"""
import math
import pickletools
from collections import namedtuple

from modc._errors import FileError
from modc._files import BYTES, Record

Global = namedtuple("Global", "module name")
Storage = namedtuple("Storage", "dtype key offset")  # dtype: the format's name; None: bytes; ?NAME: another one of PyTorch's
Tensor = namedtuple("Tensor", "storage dtype offset shape strides")

STORAGES = {"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16",
            "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8",
            "BoolStorage": "BOOL", "ComplexFloatStorage": "C64", "ComplexDoubleStorage": "C128",
            "UntypedStorage": None}
DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
          "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "complex64": "C64", "complex128": "C128", "uint16": "U16",
          "uint32": "U32", "uint64": "U64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}
LARGEST_EXPANDED = 1 << 30  # bytes of a tensor that is larger than what it was expanded from
MARK = object()


class Object:
    """What a pickle makes of a class that is not looked up: its name, the arguments, its state, its items."""

    def __init__(self, kind, args=()):
        self.kind, self.args, self.state, self.items, self.entries = kind, args, None, [], {}


def _key(value):
    """Keys are texts and numbers; nothing else is hashed, since that may be deeper than the stack."""
    return value if isinstance(value, (str, int, float, bytes, type(None), Object, Global)) else Object(type(value).__name__)


def _ordered_dict(pairs=()):
    return {_key(key): value for key, value in pairs}


def _tensor(storage, offset, shape, strides, *rest):
    if len(rest) > 2 and rest[2]:
        raise FileError("it has a tensor that is a lazy conj() or negation")
    return Tensor(storage, storage.dtype, offset, shape, strides)


def _tensor_of_dtype(storage, offset, shape, strides, requires_grad, hooks, dtype, *_):
    return Tensor(storage, DTYPES.get(dtype.name, f"?{dtype.name}"), offset, shape, strides)


def _set(items=()):
    return {item for item in items if isinstance(item, str)}


FUNCTIONS = {
    **dict.fromkeys([(module, name) for module in ("builtins", "__builtin__") for name in ("set", "frozenset")], _set),
    ("collections", "OrderedDict"): _ordered_dict,
    ("collections", "defaultdict"): lambda *_: {},
    ("torch", "Size"): lambda extents=(): tuple(extents),
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor_of_dtype,
    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
    ("torch._utils", "_rebuild_parameter_with_state"): lambda data, *_: data,
}


class Machine:
    """Reads pickles out of a file, one behind the other."""

    def __init__(self, file):
        self.file, self.stack, self.memo = file, [], {}

    def load(self):
        self.stack, self.memo = [], {}
        for opcode, arg, _ in pickletools.genops(self.file):
            if opcode.name == "STOP":
                return self.stack.pop()
            operation = OPERATIONS.get(opcode.name)
            if operation is None:
                raise ValueError(f"its pickle has the opcode {opcode.name}, which data has no use for")
            operation(self, arg)
        return None  # which genops does not come to: it raises of a pickle that does not end

    def push(self, value):
        self.stack.append(value)

    def pop(self):
        value = self.stack.pop()
        if value is MARK:
            raise ValueError("its pickle takes what is not there")
        return value

    def pop_marked(self):
        at = next((at for at in reversed(range(len(self.stack))) if self.stack[at] is MARK), None)
        if at is None:
            raise ValueError("its pickle has no mark")
        values = self.stack[at + 1:]
        del self.stack[at:]
        return values

    def tuple_of(self, count):
        values = [self.pop() for _ in range(count)]
        self.push(tuple(reversed(values)))

    def append(self, values):
        target = self.stack[-1]
        if isinstance(target, set):
            target |= _set(values)
        else:
            (target.items if isinstance(target, Object) else target).extend(values)

    def set_items(self, values):
        target = self.stack[-1]
        entries = target.entries if isinstance(target, Object) else target
        if len(values) % 2 or not isinstance(entries, dict):
            raise ValueError("its pickle sets items of no dict")
        for key, value in zip(values[::2], values[1::2]):
            entries[_key(key)] = value

    def dict_of(self, values):
        self.push({})
        self.set_items(values)

    def call(self):
        args, called = self.pop(), self.pop()
        function = FUNCTIONS.get(called) if isinstance(called, Global) else None
        self.push(function(*args) if function else Object(called, args))

    def call_with_names(self):
        self.pop()
        self.call()

    def build(self):
        state, target = self.pop(), self.stack[-1]
        if isinstance(target, Object):
            target.state = state

    def named(self):
        name, module = self.pop(), self.pop()
        self.push(Global(str(module), str(name)))

    def persistent(self):
        what, kind, *rest = self.pop()
        if what == "module":  # of before 1.6: a class, with its source
            self.push(kind)
            return
        key, _, _, *view = rest
        if what != "storage" or not isinstance(kind, Global):
            raise ValueError("its pickle names something else than storages")
        offset = view[0][1] if view and view[0] else 0
        self.push(Storage(STORAGES.get(kind.name, f"?{kind.name}"), str(key), offset))


def _remember(machine, arg):
    machine.memo[len(machine.memo) if arg is None else arg] = machine.stack[-1]


def _push(*opcodes):
    return dict.fromkeys(opcodes, Machine.push)


OPERATIONS = {
    **dict.fromkeys(("PROTO", "FRAME"), lambda machine, arg: None),
    **_push("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
            "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
            "BINBYTES8"),
    "NONE": lambda machine, arg: machine.push(None),
    "NEWTRUE": lambda machine, arg: machine.push(True),
    "NEWFALSE": lambda machine, arg: machine.push(False),
    "EMPTY_LIST": lambda machine, arg: machine.push([]),
    "EMPTY_DICT": lambda machine, arg: machine.push({}),
    "EMPTY_TUPLE": lambda machine, arg: machine.push(()),
    "EMPTY_SET": lambda machine, arg: machine.push(set()),
    "MARK": lambda machine, arg: machine.push(MARK),
    "LIST": lambda machine, arg: machine.push(machine.pop_marked()),
    "TUPLE": lambda machine, arg: machine.push(tuple(machine.pop_marked())),
    "FROZENSET": lambda machine, arg: machine.push(_set(machine.pop_marked())),
    "DICT": lambda machine, arg: machine.dict_of(machine.pop_marked()),
    "TUPLE1": lambda machine, arg: machine.tuple_of(1),
    "TUPLE2": lambda machine, arg: machine.tuple_of(2),
    "TUPLE3": lambda machine, arg: machine.tuple_of(3),
    "APPEND": lambda machine, arg: machine.append([machine.pop()]),
    "APPENDS": lambda machine, arg: machine.append(machine.pop_marked()),
    "ADDITEMS": lambda machine, arg: machine.append(machine.pop_marked()),
    "SETITEM": lambda machine, arg: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, arg: machine.set_items(machine.pop_marked()),
    "POP": lambda machine, arg: machine.stack.pop(),
    "POP_MARK": lambda machine, arg: machine.pop_marked(),
    "DUP": lambda machine, arg: machine.push(machine.stack[-1]),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _remember),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda machine, arg: machine.push(machine.memo[arg])),
    "GLOBAL": lambda machine, arg: machine.push(Global(*arg.split(" ", 1))),
    "STACK_GLOBAL": lambda machine, arg: machine.named(),
    "REDUCE": lambda machine, arg: machine.call(),
    "NEWOBJ": lambda machine, arg: machine.call(),
    "NEWOBJ_EX": lambda machine, arg: machine.call_with_names(),
    "BUILD": lambda machine, arg: machine.build(),
    "BINPERSID": lambda machine, arg: machine.persistent(),
}


# ---- tensors ----------------------------------------------------------------------------------------------------------


def record_of_tensor(name, tensor, data_of):
    """The record of a Tensor; data_of(key, bytes of an element) is its storage's memory. ValueError where it has not them."""
    storage, code, offset, shape, strides = tensor
    if code is None or code.startswith("?"):
        kind = code[1:] if code else "untyped"
        raise FileError(f"{name} is of PyTorch's {kind}, which safetensors files of modc have no type for")
    data = memoryview(data_of(storage.key, BYTES[code])).cast("B")
    numbers = (*shape, *strides, offset, storage.offset)
    if len(shape) != len(strides) or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"the shape of {name} is none")
    return Record(code, tuple(shape), gather(name, data, BYTES[code], offset + storage.offset, shape, strides))


def gather(name, data, size, offset, shape, strides):
    """The elements of a strided tensor in row-major order: the memory itself where they lie in it so."""
    count, dense = math.prod(shape), 1
    if count == 0:
        return b""
    last = offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
    if (last + 1) * size > len(data):
        raise ValueError(f"the elements of {name} are not all in the file")
    is_dense = True
    for extent, stride in zip(reversed(shape), reversed(strides)):
        is_dense = is_dense and (extent == 1 or stride == dense)
        dense *= extent
    if is_dense:
        return data[offset * size:(offset + count) * size]
    if count * size > max(len(data), LARGEST_EXPANDED):
        raise ValueError(f"{name} was expanded to {count * size} bytes")

    elements = data[:len(data) // size * size].cast({1: "B", 2: "H", 4: "I", 8: "Q"}[size])
    out = bytearray()

    def take(axis, at):
        if axis < len(shape) - 1:
            for i in range(shape[axis]):
                take(axis + 1, at + i * strides[axis])
        elif strides[axis] == 0:
            out.extend(elements[at:at + 1].tobytes() * shape[axis])
        else:
            out.extend(elements[at:at + (shape[axis] - 1) * strides[axis] + 1:strides[axis]].tobytes())

    take(0, offset)
    return out
