"""Tensors of others, as C sees them: NumPy's arrays, PyTorch's tensors, what has __dlpack__ or a buffer, and modc's own.

A kind of array (class Kind) says of an array where it lies and what it looks like, and makes new ones. Nothing is copied.
NumPy and PyTorch are used where the caller has imported them, and never imported for somebody who has not.
"""
import atexit
import ctypes
import math
import sys

# by name: bytes, code of the buffer protocol, code of DLDataType in DLPack
DTYPES = {
    "bool": (1, "?", 6), "uint8": (1, "B", 1), "int8": (1, "b", 0), "int16": (2, "h", 0), "int32": (4, "i", 0),
    "int64": (8, "q", 0), "float16": (2, "e", 2), "bfloat16": (2, None, 4), "float32": (4, "f", 2), "float64": (8, "d", 2),
    "complex64": (8, None, 5), "complex128": (16, None, 5),
}
INTEGER_CODES = {("i", 1): "int8", ("u", 1): "uint8", ("i", 2): "int16", ("i", 4): "int32", ("i", 8): "int64"}
PARTS = {"complex64": "float32", "complex128": "float64"}  # the type of the two that make an element
ALIGNMENTS = {name: size // (2 if name in PARTS else 1) for name, (size, _, _) in DTYPES.items()}  # of an element
MOST_DIMS = 64  # that anybody's arrays have


def dense_strides(shape):
    """Of a row-major array, in elements."""
    strides, step = [0] * len(shape), 1
    for d in reversed(range(len(shape))):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def is_dense(shape, strides):
    """Whether it is row-major without holes; strides None: it is."""
    if strides is None or 0 in shape:
        return True
    return all(have == want for extent, have, want in zip(shape, strides, dense_strides(shape)) if extent != 1)


def steps(strides, size):
    """Strides in elements of those in bytes; fractions where they are none, which no dense array has."""
    size = size or 1
    return tuple(step // size if step % size == 0 else step / size for step in strides)


class View:
    """Where an array lies: address, dtype (modc's name), shape, strides in elements (None: row-major), and who keeps it.

    fault: why C cannot read it, as a sentence goes on behind its name."""
    __slots__ = ("address", "dtype", "shape", "strides", "fault", "writable", "owner")

    def __init__(self, address, dtype, shape, strides=None, fault=None, writable=True, owner=None):
        self.address, self.dtype, self.shape, self.strides = address, dtype, tuple(shape), strides
        self.fault, self.writable, self.owner = fault, writable, owner


def elsewhere(device):
    return f"lies on {device}; the model computes on the CPU"


# ---- DLPack -----------------------------------------------------------------------------------------------------------


class _DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _DLDevice), ("ndim", ctypes.c_int32), ("dtype", _DLDataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = [("dl_tensor", _DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _Deleter)]

_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cpu"}  # 3 and 13: memory of the host that a GPU sees too
_NAMES = {(6, 8): "bool", (4, 16): "bfloat16", (5, 64): "complex64", (5, 128): "complex128",
          **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)}, (1, 8): "uint8",
          **{(2, bits): f"float{bits}" for bits in (16, 32, 64)}}

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype = ctypes.py_object
_capsule_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def from_dlpack(array):
    """The view of what has __dlpack__. The capsule is not consumed: it lives as long as the view and frees itself."""
    device_type = int(array.__dlpack_device__()[0]) if hasattr(array, "__dlpack_device__") else 1
    if device_type not in _DEVICES or _DEVICES[device_type] != "cpu":
        return View(0, "?", (), fault=elsewhere(_DEVICES.get(device_type, f"DLPack's device {device_type}")), owner=array)
    capsule = array.__dlpack__()
    if type(capsule).__name__ != "PyCapsule":
        raise BufferError(f"its __dlpack__() gave a {type(capsule).__name__}")
    managed = ctypes.cast(_capsule_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLManagedTensor)).contents
    tensor = managed.dl_tensor
    if not 0 <= tensor.ndim <= MOST_DIMS:
        raise BufferError(f"its DLPack tensor says that it has {tensor.ndim} dimensions")
    shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
    strides = tuple(tensor.strides[d] for d in range(tensor.ndim)) if tensor.ndim > 0 and tensor.strides else None
    code = (tensor.dtype.code, tensor.dtype.bits)
    name = _NAMES.get(code, f"DLPack type {code}") if tensor.dtype.lanes == 1 else "vectors"
    return View((tensor.data or 0) + tensor.byte_offset, name, shape, strides, owner=(array, capsule))


_lent = {}  # by address of a managed tensor: what it needs until it is deleted


@_Deleter
def _end_lent(managed, lent=_lent, address_of=ctypes.addressof):  # also when Python ends, and names are gone
    lent.pop(address_of(managed.contents), None)


@atexit.register
def _leave_lent():
    """What others free when Python is gone already must not come back to it."""
    nothing = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, _Deleter)  # C, and without effect
    for lent in list(_lent.values()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(lent))
        lent[1].deleter = nothing


# The same functions with the capsule as an address: in its destructor it counts no references any more.
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer",
                                                                                      ctypes.pythonapi))


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end_capsule(capsule, lent=_lent, is_valid=_dying_is_valid, pointer=_dying_pointer):
    if is_valid(capsule, b"dltensor"):  # nobody took it
        lent.pop(pointer(capsule, b"dltensor"), None)


class Array:
    """A tensor in memory of its own, or of a model's: what calls give to who uses neither NumPy nor PyTorch.

    numpy.asarray(array) and torch.from_dlpack(array) take it without a copy; array.tolist() gives Python's numbers.
    """

    __slots__ = ("_shape", "_dtype", "_owner", "_address", "_writable", "__weakref__")

    def __init__(self, shape, dtype, address=None, owner=None, writable=True):
        self._shape, self._dtype, self._owner, self._writable = tuple(shape), dtype, owner, writable
        if address is None:
            memory = ctypes.create_string_buffer(self.nbytes + 64)
            address = (ctypes.addressof(memory) + 63) // 64 * 64
            self._owner = memory
        self._address = address

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def nbytes(self):
        return math.prod(self._shape) * DTYPES[self._dtype][0]

    @property
    def ndim(self):
        return len(self.shape)

    def __repr__(self):
        return f"modc.Array({self.tolist()}, shape={self.shape}, dtype={self.dtype!r})"

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def item(self):
        if math.prod(self.shape) != 1:
            raise ValueError(f"item() of a tensor with {math.prod(self.shape)} elements")
        value = self.tolist()
        while isinstance(value, list):
            value = value[0]
        return value

    def _flat(self):
        """Its elements as Python's numbers."""
        data = ctypes.string_at(self._address, self.nbytes) if self.nbytes else b""
        if self.dtype == "bfloat16":
            wide = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
            return list(memoryview(wide).cast("f"))
        if self.dtype in PARTS:
            pairs = memoryview(data).cast(DTYPES[PARTS[self.dtype]][1])
            return [complex(pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2)]
        if self.dtype == "float16":
            import struct
            return list(struct.unpack(f"={len(data) // 2}e", data))
        return list(memoryview(data).cast(DTYPES[self.dtype][1]))

    def tolist(self):
        def nest(shape, flat):
            if not shape:
                return flat[0]
            step = len(flat) // shape[0] if shape[0] else 0
            return [nest(shape[1:], flat[i * step:(i + 1) * step]) for i in range(shape[0])]
        return nest(self.shape, self._flat())

    def tobytes(self):
        return ctypes.string_at(self._address, self.nbytes)

    @property
    def __array_interface__(self):
        code = {"bool": "|b1", "complex64": "<c8", "complex128": "<c16"}.get(self.dtype)
        if self.dtype == "bfloat16":
            raise AttributeError("NumPy has no bfloat16")
        if code is None:
            letter = "u" if self.dtype[0] == "u" else self.dtype[0]
            code = ("|" if DTYPES[self.dtype][0] == 1 else "<") + letter + str(DTYPES[self.dtype][0])
        return {"version": 3, "shape": self.shape, "typestr": code, "data": (self._address, not self._writable)}

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, **_):
        if stream is not None:
            raise BufferError("modc.Array lies in the host's memory, which has no streams")
        if not self._writable:
            raise BufferError("this modc.Array is read-only, which DLPack cannot say")
        size, _, code = DTYPES[self.dtype]
        managed = _DLManagedTensor()
        shape = (ctypes.c_int64 * max(1, self.ndim))(*self.shape)
        strides = (ctypes.c_int64 * max(1, self.ndim))(*dense_strides(self.shape))
        managed.dl_tensor = _DLTensor(self._address, _DLDevice(1, 0), self.ndim, _DLDataType(code, 8 * size, 1), shape,
                                      strides, 0)
        managed.deleter = _end_lent
        address = ctypes.addressof(managed)
        _lent[address] = (self, managed, shape, strides)
        return _capsule_new(address, b"dltensor", ctypes.cast(_end_capsule, ctypes.c_void_p))


# ---- kinds ------------------------------------------------------------------------------------------------------------


class OwnKind:
    """modc.Array, and what it is given by __dlpack__ or a buffer."""
    name = "modc"

    def view(self, array):
        return View(array._address, array.dtype, array.shape, writable=array._writable, owner=array)

    def writable(self, array):
        return array._writable

    def address(self, array, dtype, shape):
        return array._address if array._dtype == dtype and array._shape == shape else None

    def native(self, dtype):
        return dtype

    def empty(self, shape, dtype):
        array = Array(shape, dtype)
        return array, array._address

    def over(self, address, shape, dtype, owner, writable=True):
        return Array(shape, dtype, address, owner, writable)


class NumPyKind:
    name = "numpy"

    def __init__(self, numpy):
        self.numpy, self._new = numpy, numpy.empty
        self.dtypes = {name: numpy.dtype(name) for name in DTYPES if name != "bfloat16"}
        self.names = {dtype: name for name, dtype in self.dtypes.items()}

    def view(self, array):
        dtype, flags = self.names.get(array.dtype), array.flags
        if isinstance(array, self.numpy.ma.MaskedArray):
            return View(0, dtype or str(array.dtype), array.shape, owner=array,
                        fault="is a masked array; x.filled(value) is none")
        strides = None if flags.c_contiguous else steps(array.strides, array.itemsize)
        return View(array.__array_interface__["data"][0], dtype or str(array.dtype), array.shape, strides,
                    writable=flags.writeable, owner=array)

    def writable(self, array):
        return array.flags.writeable

    def address(self, array, dtype, shape):
        """Of a dense array like this, quickly; None: view() tells more. dtype as native() gives it."""
        if array.dtype == dtype and array.shape == shape and array.flags.c_contiguous:
            return array.__array_interface__["data"][0]
        return None

    def native(self, dtype):
        return self.dtypes.get(dtype, "V2")

    def empty(self, shape, dtype):
        if dtype not in self.dtypes:
            return OWN.empty(shape, dtype)
        array = self._new(shape, self.dtypes[dtype])
        return array, array.__array_interface__["data"][0]

    def over(self, address, shape, dtype, owner, writable=True):
        own = OWN.over(address, shape, dtype, owner, writable)
        return self.numpy.asarray(own) if dtype in self.dtypes else own


class TorchKind:
    name = "torch"

    def __init__(self, torch):
        self.torch, self._new, self._strided = torch, torch.empty, torch.strided
        self.dtypes = {name: getattr(torch, name) for name in DTYPES}
        self.names = {dtype: name for name, dtype in self.dtypes.items()}

    def view(self, tensor):
        if tensor.layout != self.torch.strided:
            return View(0, str(tensor.layout), tuple(tensor.shape), owner=tensor)
        name = self.names.get(tensor.dtype, str(tensor.dtype).replace("torch.", ""))
        if tensor.device.type != "cpu":
            return View(0, name, tuple(tensor.shape), fault=elsewhere(tensor.device), owner=tensor)
        if tensor.is_conj() or tensor.is_neg():
            return View(0, name, tuple(tensor.shape), owner=tensor,
                        fault="is a conjugate or negation that PyTorch has not computed; "
                              "x.resolve_conj().resolve_neg() is computed")
        strides = None if tensor.is_contiguous() else tensor.stride()
        return View(tensor.data_ptr(), name, tuple(tensor.shape), strides, owner=tensor)

    def writable(self, _):
        return True

    def address(self, tensor, dtype, shape):
        if (tensor.dtype is dtype and tensor.shape == shape and tensor.layout is self._strided and tensor.is_cpu
                and tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj()):
            return tensor.data_ptr()
        return None

    def native(self, dtype):
        return self.dtypes[dtype]

    def empty(self, shape, dtype):
        tensor = self._new(shape, dtype=self.dtypes[dtype])
        return tensor, tensor.data_ptr()

    def over(self, address, shape, dtype, owner, writable=True):
        """Read-only memory is copied: PyTorch would write to it."""
        plain = "uint8" if dtype == "bool" else dtype  # PyTorch 1 has no bool in DLPack
        tensor = self.torch.from_dlpack(OWN.over(address, shape, plain, owner))
        tensor = tensor if plain == dtype else tensor.view(self.torch.bool)
        return tensor if writable else tensor.clone()


OWN = OwnKind()
_kinds = {Array: OWN}


def kind_of(array):
    """The kind of this array, found once for each type. None: its type says nothing of where it lies."""
    found = _kinds.get(type(array))
    if found is not None:
        return found
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(array, torch.Tensor):
        found = next((kind for kind in _kinds.values() if kind.name == "torch"), None) or TorchKind(torch)
    elif numpy is not None and isinstance(array, numpy.ndarray):
        found = next((kind for kind in _kinds.values() if kind.name == "numpy"), None) or NumPyKind(numpy)
    else:
        return None
    _kinds[type(array)] = found
    return found


def kind_by_name(name):
    """'torch', 'numpy', which are imported, or 'modc'."""
    if name == "torch":
        import torch
        return kind_of(torch.empty(0))
    if name == "numpy":
        import numpy
        return kind_of(numpy.empty(0))
    if name != "modc":
        raise ValueError(f"a kind of arrays is 'torch', 'numpy' or 'modc', not {name!r}")
    return OWN


_get_buffer, _release_buffer = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
_get_buffer.argtypes, _get_buffer.restype = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int], ctypes.c_int
_release_buffer.argtypes, _release_buffer.restype = [ctypes.c_void_p], None


def from_buffer(array):
    """The view of what has a buffer: array.array, bytearray, memoryview. None: it has none."""
    try:
        buffer = memoryview(array)
    except TypeError:
        return None
    code, size = buffer.format.lstrip("@=<"), buffer.itemsize
    by_code = {"f": "float32", "d": "float64", "e": "float16", "?": "bool", "Zf": "complex64", "Zd": "complex128"}
    kind = "u" if code in "BHILQN" else "i"
    name = by_code.get(code) or (INTEGER_CODES.get((kind, size)) if code and code in "bBhHiIlLqQnN" else None)
    if not buffer.c_contiguous:  # its address is of no use
        return View(0, name or f"format '{code}'", buffer.shape, steps(buffer.strides, size),
                    writable=not buffer.readonly, owner=buffer)
    raw = (ctypes.c_ssize_t * 16)()  # struct Py_buffer, which begins with the address
    _get_buffer(buffer, raw, 0)  # raises as Python does
    address = raw[0]
    _release_buffer(raw)  # `buffer` holds the memory on
    return View(address, name or f"format '{code}'", buffer.shape, writable=not buffer.readonly, owner=buffer)


def view_of(array):
    """The view of any array, and its kind. None, None: it is no array."""
    kind = kind_of(array)
    if kind is not None:
        return kind.view(array), kind
    if hasattr(array, "__dlpack__"):
        return from_dlpack(array), OWN
    view = from_buffer(array)
    return (view, OWN) if view is not None else (None, None)


def end_of(view):
    """The address behind a dense view."""
    return view.address + math.prod(view.shape) * DTYPES[view.dtype][0]
