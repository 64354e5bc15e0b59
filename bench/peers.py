"""The peers: each opens a model, is called, and says what came out. What one cannot do is a Missing with the reason."""
import ctypes
import hashlib
import importlib.metadata
import os
import pathlib
import re
import shlex
import subprocess
import time

import numpy
import onnx
import onnxruntime
import torch

import clock
from environment import FOLDER, ROOT

MODC_FLAGS = "-O3 -march=native"  # the default of `modc run`


class Missing(Exception):
    """Why a peer does not do a model."""


def run(command, what, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)
    if done.returncode != 0:
        lines = [line for line in done.stdout.strip().splitlines() if line.strip()]
        raise Missing(f"{what}: " + (next((line for line in lines if "error" in line.lower()), lines[-1]) if lines
                                     else f"exit status {done.returncode}"))
    return done.stdout


def build(target, command, sources, what):
    """Runs a compiler, unless the target was made by the same command from the same sources."""
    stamp = pathlib.Path(f"{target}.stamp")
    made = hashlib.sha256(" ".join(map(str, command)).encode())
    for source in sources:
        made.update(pathlib.Path(source).read_bytes())
    if not (pathlib.Path(target).exists() and stamp.exists() and stamp.read_text() == made.hexdigest()):
        stamp.unlink(missing_ok=True)
        run([*command, "-o", target], what)
        stamp.write_text(made.hexdigest())


def pointers(arrays):
    return (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))


class Modc(clock.InC):
    """The model as modc emits it, in a shared library with the runtime and peer_modc.c."""

    def __init__(self, modc, options=(), compiler="cc", flags=MODC_FLAGS, name="modc"):
        self.name, self.modc, self.options, self.compiler, self.flags = name, modc, list(options), compiler, flags
        self.version = run([modc, "--version"], "modc").split()[-1]

    def open(self, model):
        folder = model.folder / re.sub(r"\W+", "_", self.name)
        spec = re.search(r"^model: (\w+)", model.spec_file.read_text(), re.MULTILINE).group(1)
        run([*shlex.split(self.modc), "generate", model.spec_file, "-o", folder, *self.options], "modc generate")
        runtime = [path for path in sorted((ROOT / "runtime").glob("*.c")) if path.name != "modc_main.c"]
        sources = [folder / f"{spec}.c", FOLDER / "peer_modc.c", *runtime]
        library = folder / "peer.so"
        build(library, [self.compiler, *shlex.split(self.flags), "-shared", "-fPIC", "-DMODC_LIBM",
                        f"-DMODC_MODEL={spec}_model", f"-I{folder}", f"-I{ROOT / 'runtime'}", *sources, "-lm"],
              [*sources, *(ROOT / "runtime").glob("*.h"), folder / f"{spec}.h"], self.compiler)
        code = ctypes.CDLL(str(library))
        code.peer_open.restype = ctypes.c_void_p
        code.peer_status.restype = ctypes.c_char_p
        code.peer_macs.restype = ctypes.c_double
        code.peer_macs.argtypes = [ctypes.c_void_p]
        self.outputs = model.new_outputs()
        self.held = pointers(model.inputs), pointers(self.outputs), code
        status = ctypes.c_int()
        user = code.peer_open(str(model.weights_file).encode(), model.entry.encode(), *self.held[:2], ctypes.byref(status))
        if not user:
            raise Missing(code.peer_status(status).decode())
        self.macs = code.peer_macs(user)
        self.set_call(code.peer_call, user)


class OrtTensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("ndim", ctypes.c_size_t), ("type", ctypes.c_int)]


class Ort(clock.InC):
    """ONNX Runtime's C API, by the faster of its two ways to be called."""
    name = "ONNX Runtime"

    def __init__(self):
        (self.library,) = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
        self.version = onnxruntime.__version__
        clock.C.peer_ort_version.restype = ctypes.c_char_p
        found = clock.C.peer_ort_version(str(self.library).encode())
        if found != self.version.encode():
            raise Missing(f"its library says that it is {found}")

    def open(self, model):
        types = {numpy.dtype(numpy.float32): 1, numpy.dtype(numpy.int64): 7, numpy.dtype(numpy.bool_): 9}
        graph = onnx.load(model.onnx_file, load_external_data=False).graph
        self.outputs = model.new_outputs()
        arrays = [*model.inputs, *self.outputs]
        names = [value.name.encode() for value in (*graph.input, *graph.output)]
        dims = [(ctypes.c_int64 * max(array.ndim, 1))(*array.shape) for array in arrays]
        tensors = (OrtTensor * len(arrays))(*(
            OrtTensor(name, array.ctypes.data, array.nbytes, dim, array.ndim, types[array.dtype])
            for name, array, dim in zip(names, arrays, dims, strict=True)))
        clock.C.peer_ort_open.restype = ctypes.c_void_p
        clock.C.peer_ort_error.restype = ctypes.c_char_p
        user = clock.C.peer_ort_open(str(self.library).encode(), str(model.onnx_file).encode(), tensors,
                                     ctypes.c_size_t(len(model.inputs)), ctypes.c_size_t(len(self.outputs)))
        if not user:
            raise Missing("its library cannot be loaded")
        error = clock.C.peer_ort_error(ctypes.c_void_p(user)).decode()
        if error:
            raise Missing(error.splitlines()[0])
        self.held = names, dims, tensors
        ways = []
        for call in (clock.C.peer_ort_call, clock.C.peer_ort_call_bound):
            self.set_call(call, user)
            ways.append((self.time(0.02).min, call))
        self.set_call(min(ways, key=lambda way: way[0])[1], user)


class Eager(clock.InPython):
    """PyTorch itself, as somebody calls a module."""
    name = "PyTorch eager"
    version = torch.__version__

    def open(self, model):
        module, tensors = model.module, model.tensors

        def call():
            with torch.inference_mode():
                return module(*tensors)

        self.set_call(call)
