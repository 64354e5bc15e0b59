#!/usr/bin/env python3
"""Calls with random arguments: each one is computed rightly, or is an exception of a class that is about arguments.

tests/python/test_net_fuzz.py [COUNT [SEED]]
"""

import array
import ctypes
import random
import sys
import unittest

from models import HAS_NUMPY, HAS_TORCH, SMALL, TOOLS, compile, modc

from modc import _arrays

COUNT, SEED = 6000, 1
ALLOWED = (TypeError, ValueError, IndexError, ZeroDivisionError, modc.Error)
EXTENTS = (0, 1, 1, 2, 2, 3, 3, 3, 4, 8, 8, 9, 100)
HUGE = (2**31, 2**31 + 2, 2**40)
MEMORY = (ctypes.c_char * (1 << 16))()


class Lying:
    """What says of itself whatever it likes. Where it has memory that memory is there, but nothing else is as it should be."""

    def __init__(self, draw):
        capsule = draw.choice([None, 3, "x", object(), [], _arrays.Array((2, 3), "float32").__dlpack__(), *[self.managed] * 6])
        capsule = capsule(draw) if callable(capsule) else capsule
        device = draw.choice([(1, 0), (1, 0), (1, 0), (2, 0), (99, 1), None, (), "cpu", (None, 0), 7])
        self.keep = capsule
        self.__dlpack__ = draw.choice([lambda **_: capsule, lambda **_: capsule, lambda **_: capsule, lambda: 1 / 0, None])
        if draw.random() < 0.9:
            self.__dlpack_device__ = lambda: device
        self.__array_interface__ = draw.choice(
            [None, {"version": 3}, {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (8, False)}]
        )

    def managed(self, draw):
        tensor = _arrays._DLManagedTensor()
        ndim = draw.choice([0, 1, 2, 2, 2, 2, 3, 9, 64, 65, 1000, -1, -(2**31), 2**31 - 1])
        self.shape = (ctypes.c_int64 * 64)(*(draw.choice([*EXTENTS, *HUGE, -1, -(2**63)]) for _ in range(64)))
        self.strides = (ctypes.c_int64 * 64)(*(draw.choice([0, 1, 3, -1, 2**62]) for _ in range(64)))
        if draw.random() < 0.7:
            self.shape[0], self.shape[1], self.strides[0], self.strides[1] = draw.choice([1, 2, 8]), 3, 3, 1
        strides = draw.choice([None, self.strides, self.strides])
        tensor.dl_tensor = _arrays._DLTensor(
            draw.choice([None, ctypes.addressof(MEMORY)]),
            _arrays._DLDevice(1, 0),
            ndim,
            _arrays._DLDataType(
                draw.choice([0, 2, 2, 2, 5, 6, 17, 255]), draw.choice([0, 8, 32, 32, 32, 64, 255]), draw.choice([1, 1, 1, 4, 0])
            ),
            self.shape,
            strides and ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
            draw.choice([0, 0, 0, 1, 4, 64]),
        )
        self.tensor = tensor
        return _arrays._capsule_new(
            ctypes.addressof(tensor), draw.choice([b"dltensor", b"dltensor", b"dltensor", b"used_dltensor"]), None
        )


def shape_of(draw):
    if draw.random() < 0.5:
        return (draw.choice([0, 1, 2, 8, 9]), 3)
    return tuple(draw.choice(EXTENTS) for _ in range(draw.randrange(0, 4)))


def of_numpy(draw):
    import numpy

    names = (
        ["f4"] * 8
        + ["i8"] * 4
        + [
            "f2",
            "f8",
            "g",
            "c8",
            "c16",
            "?",
            "i4",
            "u1",
            "u8",
            ">f4",
            ">i8",
            "S3",
            "U2",
            "O",
            "M8[s]",
            "V0",
            "V4",
            [("a", "<f4"), ("b", "i1")],
        ]
    )
    dtype, shape = numpy.dtype(draw.choice(names)), shape_of(draw)
    made = numpy.zeros(shape, dtype)
    if made.dtype.names:
        made = made["a"]
    if dtype.kind in "fi":
        made += draw.choice([0, 1, 2, 4])
    change = draw.randrange(9)
    if change == 0:
        made = made.T
    elif change == 1 and made.ndim:
        made = made[:: draw.choice([-1, 2])]
    elif change == 2 and made.size:
        made = numpy.broadcast_to(made[..., :1] if made.ndim else made, (*shape[:-1], 3))
    elif change == 3:
        made.flags.writeable = False
    elif change == 4:
        made = numpy.ma.masked_array(made)
    elif change == 5 and dtype.kind in "fi":
        made = numpy.frombuffer(bytearray(made.nbytes + 1), "u1")[1:].view(dtype).reshape(shape) if made.size else made
    elif change == 6 and dtype.itemsize:
        made = numpy.broadcast_to(
            made.reshape(-1)[:1] if made.size else numpy.zeros(1, dtype),
            (draw.choice(HUGE), 3)[: draw.randrange(1, 3)] if draw.random() < 0.5 else (2, 1),
        )
    return made


def of_torch(draw):
    import torch

    kinds = (
        [torch.float32] * 6
        + [torch.int64] * 3
        + [torch.float16, torch.bfloat16, torch.float64, torch.bool, torch.complex64, torch.complex128, torch.uint8]
    )
    made = torch.zeros(shape_of(draw), dtype=draw.choice(kinds))
    change = draw.randrange(12)
    if change == 0 and made.ndim == 2:
        made = made.t()
    elif change == 1:
        made = made.to("meta")
    elif change == 2 and made.ndim:
        made = made.to_sparse()
    elif change == 3 and made.ndim and len(made):
        made = made[:1].expand(draw.choice([2, 8, 2**31]), *made.shape[1:])
    elif change == 4:
        made = (
            torch.empty(64, dtype=made.dtype)
            .zero_()
            .as_strided((2, 3), draw.choice([(3, 1), (1, 2), (0, 0), (4, 1), (3, 2)]), draw.choice([0, 1]))
        )
    elif change == 5:
        made = torch.imag(torch.conj(torch.ones(2, 3, dtype=torch.complex64)))
    elif change == 6:
        made = torch.conj(torch.ones(2, 3, dtype=torch.complex64))
    elif change == 7 and made.is_floating_point():
        made.requires_grad_()
    elif change == 8:
        made = torch.quantize_per_tensor(torch.zeros(2, 3), 0.1, 0, torch.qint8)
    elif change == 9 and made.numel():
        (made.untyped_storage() if hasattr(made, "untyped_storage") else made.storage()).resize_(0)
    return made


def of_python(draw):
    made = draw.choice(
        [
            lambda: Lying(draw),
            lambda: Lying(draw),
            lambda: Lying(draw),
            lambda: None,
            lambda: 3.5,
            lambda: "x",
            lambda: [[1.0] * 3],
            lambda: object(),
            lambda: b"\0" * 24,
            lambda: bytearray(24),
            lambda: memoryview(bytearray(24)).cast("f", (2, 3)),
            lambda: array.array("f", [1] * 6),
            lambda: memoryview(array.array("q", [draw.choice([0, 1, 4, 5, -1, 2**62]) for _ in range(draw.choice([1, 2, 8]))])),
            lambda: memoryview(b"\0" * 24).cast("f", (2, 3)),
            lambda: memoryview(bytearray(48)).cast("f")[::2],
            lambda: memoryview(bytearray(25))[1:].cast("f", (2, 3)),
            lambda: (ctypes.c_float * 3 * 2)(),
            lambda: (ctypes.c_float.__ctype_be__ * 3)(),
            lambda: modc.Array(shape_of(draw), draw.choice(list(_arrays.DTYPES))),
            lambda: memoryview(bytearray()),
            lambda: type("Empty", (modc.Array,), {})((2, 3), "float32"),
        ]
    )()
    if isinstance(made, modc.Array):
        ctypes.memset(made._address, 0, made.nbytes)
    return made


MAKERS = [of_python] + ([of_numpy] * 2 if HAS_NUMPY else []) + ([of_torch] * 2 if HAS_TORCH else [])


def values(of):
    """A copy of a tensor, as nested lists."""
    return of.tolist()


def check(net, entry, args, out):
    """That a call which went through has the values of the same call with memory of modc's own."""
    if entry not in ("forward", "spread", "count"):
        return
    plain = []
    for array_, tensor in zip(args, net.entries[entry].inputs):
        view, _ = _arrays.view_of(array_)
        own = modc.Array(view.shape, tensor["dtype"])
        if own.nbytes:
            ctypes.memmove(own._address, view.address, own.nbytes)
        plain.append(own)
    wanted = net.entries[entry](*plain)
    for have, want in zip(out if isinstance(out, tuple) else (out,), wanted if isinstance(wanted, tuple) else (wanted,)):
        if "int64" not in str(have.dtype):  # what counts its calls
            assert values(have) == values(want), (entry, args, have, want)


def run(count, seed):
    """How many calls went through, and how many were refused. An exception of another class ends it."""
    draw, nets, went, refused = random.Random(seed), [compile(SMALL), compile(TOOLS)], 0, 0
    for i in range(count):
        net = draw.choice(nets)
        entry = draw.choice(list(net.entries))
        args = [
            draw.choice(MAKERS)(draw)
            for _ in range(len(net.entries[entry].inputs) if draw.random() < 0.95 else draw.randrange(4))
        ]
        kwargs = {}
        if draw.random() < 0.1:
            kwargs[draw.choice(["x", "batch", "rows", "nothing"])] = draw.choice(
                [1, 2, -1, 2**70, "a", None, 2.0, args[0] if args else 0]
            )
        if draw.random() < 0.15:
            kwargs["out"] = draw.choice(
                [args[0] if args else 0, draw.choice(MAKERS)(draw), [draw.choice(MAKERS)(draw) for _ in range(2)]]
            )
        try:
            out = net.entries[entry](*args, **kwargs)
        except ALLOWED:
            refused += 1
            continue
        except BaseException:
            print(f"case {i} of seed {seed}: {entry} {args} {kwargs}", file=sys.stderr)
            raise
        went += 1
        if not kwargs and entry != "forget":
            check(net, entry, args, out)
    return went, refused


class Fuzz(unittest.TestCase):
    def test_sample(self):
        went, refused = run(COUNT, SEED)
        self.assertGreater(went, COUNT / 50)
        self.assertGreater(refused, COUNT / 4)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print("%d calls, %d refused" % run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else SEED))
    else:
        unittest.main()
