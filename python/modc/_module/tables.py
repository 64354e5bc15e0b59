"""modc_python.h as ctypes sees it: what of Python and PyTorch it works with, and the tables that calls are prepared in.

Tables hold addresses alone. Whoever makes one keeps what they lead to.
"""
import ctypes
import sys
import threading

import torch
from torch.autograd.function import once_differentiable

from modc import _library as lib

_P, _I, _L, _B = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_bool
API = ("PyDict_GetItemWithError", "PyObject_GetAttr", "PyObject_SetAttr", "PyObject_Vectorcall", "PyObject_Type",
       "PyObject_RichCompareBool", "PyLong_AsLongLong", "PyLong_AsVoidPtr", "PyTuple_New", "PyTuple_SetItem", "PyTuple_GetItem",
       "PyTuple_Size", "PyCapsule_New", "PyCapsule_GetContext", "PyCapsule_SetContext", "Py_IncRef", "Py_DecRef", "PyErr_Clear",
       "PyEval_SaveThread", "PyEval_RestoreThread")
NATIVE = ("aoti_torch_get_data_ptr", "aoti_torch_get_dim", "aoti_torch_get_sizes", "aoti_torch_get_strides",
          "_ZN2at6native12is_inferenceERKNS_6TensorE", "_ZNK2at10TensorBase8_versionEv")
ARGUMENTS = 16  # that modc_python_quick takes
FASTCALL, KEYWORDS = 0x80, 2  # flags of a PyMethodDef

OVER = ("Trying to backward through a modc.Module a second time: what C keeps of a forward serves one backward, with "
        "retain_graph=True too. Call the module again.")
CHANGED = ("one of the variables needed for gradient computation has been modified by an inplace operation: {} of a modc.Module "
           "was changed between its forward and backward")
REFUSALS = {OVER, *map(CHANGED.format, ("an argument", "a parameter"))}


class Kind(ctypes.Structure):
    _fields_ = [("shape", _P), ("dtype", _P), ("layout", _P), ("dims", _P), ("ndim", _I), ("code", _I), ("bits", _I)]


class Look(ctypes.Structure):
    _fields_ = [(name, _P) for name in ("dicts", "names", "objects", "tensors", "wants", "kinds", "addresses")]
    _fields_ += [("items", _I), ("parameters", _I), ("buffers", _I), ("trained", _I), ("buffer_version", _L), ("writes", _L)]


class Weights(ctypes.Structure):
    _fields_ = [(name, _P) for name in ("run", "run_backward", "renew", "params", "free")]
    _fields_ += [(name, _L) for name in ("version", "buffer_version", "writes")]


class Adjoint(ctypes.Structure):
    _fields_ = [("needs", _P), ("indices", _P), ("places", _P), ("templates", _P), ("inputs", _I), ("count", _I)]


class Argument(ctypes.Structure):
    _fields_ = [("literal", _P), ("kind", Kind)]


class Call(ctypes.Structure):
    _fields_ = [(name, _P) for name in ("weights", "look", "owner", "sizes", "positions", "templates", "fixed", "adjoint")]
    _fields_ += [("mask", ctypes.c_size_t), ("inputs", _I), ("outputs", _I), ("gradients", _I), ("mode", _B), ("is_complex", _B),
                 ("asks", _B)]
    _fields_ += [(name, _P) for name in ("next", "arguments", "names", "applied", "apply")]
    _fields_ += [("argument_count", _I), ("name_count", _I), ("tensors", _I), ("trained", _I), ("writes", _B), ("single", _B)]


class Context(ctypes.Structure):
    _fields_ = [("frame", lib.Frame)]
    _fields_ += [(name, _P) for name in ("next", "weights", "filled", "adjoint", "held", "lent", "object")]
    _fields_ += [("version", _L), ("input_version", _L), ("status", _I), ("saving", _B)]


class State(ctypes.Structure):
    _fields_ = [("object", _P), ("first", _P)]


class Method(ctypes.Structure):
    """PyMethodDef."""
    _fields_ = [("name", ctypes.c_char_p), ("function", _P), ("flags", _I), ("doc", ctypes.c_char_p)]


class Python(ctypes.Structure):
    """struct modc_python."""
    _fields_ = [(name, _P) for name in (*API, "view", *NATIVE)] + [("inside", ctypes.c_size_t)]
    _objects_ = {
        "none": None, "yes": True, "no": False, "tensor": torch.Tensor, "parameter": torch.nn.Parameter,
        **{name: sys.intern(name) for name in ("_version", "requires_grad", "shape", "dtype", "layout", "is_cpu",
                                               "needs_input_grad", "loan", "materialize_grads", "non_differentiable", "run")},
        **{name: getattr(torch.Tensor, name) for name in ("data_ptr", "is_contiguous", "is_neg", "is_conj")},
        "empty_like": torch.empty_like, "is_grad_enabled": torch.is_grad_enabled}
    _fields_ += [(name, _P) for name in (*_objects_, "is_autocast_enabled", "create", "before", "fail", "dense", "made", "adjoint",
                                         "once", "over", "changed")]


def array_of(addresses):
    addresses = list(addresses)
    return (_P * max(1, len(addresses)))(*addresses)


def ints_of(numbers, kind=_I):
    numbers = list(numbers)
    return (kind * max(1, len(numbers)))(*numbers)


# DLPack's words for the types that C reads; others are no argument of a call
CODES = {torch.bool: (6, 8), torch.uint8: (1, 8), torch.int8: (0, 8), torch.int16: (0, 16), torch.int32: (0, 32),
         torch.int64: (0, 64), torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float32: (2, 32), torch.float64: (2, 64),
         torch.complex64: (5, 64), torch.complex128: (5, 128)}


def kind_of(tensor, kept):
    """How a tensor is now. kept: a list that keeps what the result leads to."""
    shape, dims = tensor.shape, ints_of(tensor.shape, _L)
    kept += shape, dims
    code, bits = CODES.get(tensor.dtype, (-1, 0))
    return Kind(id(shape), id(tensor.dtype), id(tensor.layout), ctypes.addressof(dims), len(shape), code, bits)


def dense(tensor):
    """As C reads it: a copy of what is not contiguous, not at a multiple of an element, or to be negated when it is read."""
    if tensor.layout is not torch.strided:
        return tensor.to_dense()
    return tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def over(ctx):
    ctx.saved_tensors  # PyTorch says so itself where its graph is freed
    raise RuntimeError(OVER)


def changed(of_input):
    raise RuntimeError(CHANGED.format("an argument" if of_input else "a parameter"))


def exchange():
    """The address of DLPack's function that says where a tensor lies; None before PyTorch 2.10."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = _P, [ctypes.py_object, ctypes.c_char_p]
    try:
        found = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    except (AttributeError, ValueError):
        return None
    return (_P * 7).from_address(found)[5] if ctypes.c_uint32.from_address(found).value == 1 else None


def natives():
    """Addresses of NATIVE, and how far from the start of an object of Python its at::Tensor lies: 0, where one of them lacks or does
    not say of some tensors what PyTorch says."""
    try:
        pytorch, c = torch._C, ctypes.PyDLL(torch._C.__file__)
        functions = [getattr(c, name) for name in NATIVE]
        functions[-2].restype, functions[-1].restype = _B, _L
        with torch.inference_mode():
            tensors = [torch.zeros(2)]
        tensors += torch.nn.Parameter(torch.zeros(3, 2)), torch.zeros(4).add_(1).add_(1)[1:]
        places = {inside_of(pytorch, c, tensor) for tensor in tensors}
        inside = places.pop()
        good = inside and not places and all(agrees(functions, tensor, id(tensor) + inside) for tensor in tensors)
        return [ctypes.cast(function, _P).value for function in functions] + [inside if good else 0]
    except (AttributeError, OSError, RuntimeError, TypeError, ValueError):
        return [None] * len(NATIVE) + [0]


def inside_of(pytorch, c, tensor):
    """Where in an object of Python the pointer stands that an at::Tensor is; 0: nowhere."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = _P, [ctypes.py_object, ctypes.c_char_p]
    handle = pointer(pytorch._aoti.unsafe_alloc_void_ptrs_from_tensors([tensor])[0], None)
    wanted = _P.from_address(handle).value
    c.aoti_torch_delete_tensor_object(_P(handle))
    word = ctypes.sizeof(_P)
    places = range(object.__basicsize__, pytorch.TensorBase.__basicsize__ - word + 1, word)
    return next((place for place in places if _P.from_address(id(tensor) + place).value == wanted), 0)


def agrees(functions, tensor, handle):
    data_of, rank_of, dims_of, strides_of, has_no_version, version_of = functions
    data, rank, dims, strides = _P(), _L(), ctypes.POINTER(_L)(), ctypes.POINTER(_L)()
    for function, result in zip(functions, (data, rank, dims, strides)):
        if function(_P(handle), ctypes.byref(result)):
            return False
    return (data.value, rank.value) == (tensor.data_ptr(), tensor.dim()) and bool(has_no_version(_P(handle))) == tensor.is_inference() \
        and (dims[:rank.value], strides[:rank.value]) == (list(tensor.shape), list(tensor.stride())) \
        and (tensor.is_inference() or version_of(_P(handle)) == tensor._version)


class Functions:
    """Of modc_python.c: those of the library that came first, for all. Where other threads may change dicts meanwhile, `look` and
    `quick` are not to be used."""

    def __init__(self, library, **own):
        own.update(dense=dense, over=over, changed=changed,
                   once=once_differentiable(lambda ctx, *gradients: self.backward(ctx, *gradients)))
        objects = {**Python._objects_, **own}
        self.kept = library, objects
        names = [name for name, _ in Python._fields_[len(API) + len(NATIVE) + 2:]]
        functions = [ctypes.cast(getattr(ctypes.pythonapi, name), _P).value for name in API]
        table = Python(*functions, exchange(), *natives(), *[id(objects[name]) for name in names])
        library.holding_lock("modc_python_begin", None)(ctypes.byref(table))
        self.look = library.holding_lock("modc_python_look_at", ctypes.c_int64)
        self.methods = {}
        for name, more in (("forward", 0), ("evaluate", 0), ("backward", 0), ("quick", KEYWORDS)):
            address = ctypes.cast(getattr(library.c, f"modc_python_{name}"), _P)
            text = f"{name}(*args{', **kwargs' if more else ''})\n--\n\nIn C."  # for inspect.signature
            self.methods[name] = Method(name.encode(), address, FASTCALL | more, text.encode())
        self.forward, self.evaluate, self.backward = map(self.builtin, ("forward", "evaluate", "backward"))

    def builtin(self, name, given=None):
        """A function of Python that is one of C."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [_P, ctypes.py_object, _P]
        return make(ctypes.addressof(self.methods[name]), given, None)


_first, _lock = [], threading.Lock()


def functions(library=None, **own):
    """Those of the first library that anybody has; None: there is none yet. own: functions that C calls."""
    if not _first and library is not None:
        with _lock:
            if not _first:
                _first.append(Functions(library, **own))
    return _first[0] if _first else None
