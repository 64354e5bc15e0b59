"""The peers: each opens a model, is called, and says what came out. What one cannot do is a Missing with the reason."""
import ctypes
import functools
import hashlib
import importlib.metadata
import logging
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import numpy
import onnx
import onnxruntime
import torch
from torch import _inductor as inductor

import clock
from building import Missing, build, run
from environment import BUILD, FOLDER, ROOT

ONNX_TYPES = {numpy.dtype(numpy.float32): 1, numpy.dtype(numpy.int64): 7, numpy.dtype(numpy.bool_): 9}
MODC_FLAGS = "-O3 -march=native"  # the default of `modc run`


def pointers(arrays):
    return (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))


def predicted_seconds(explained, entry):
    """What --explain thinks that a call takes; None where it does not say so."""
    found = re.search(rf"^{entry}_eval: ([0-9.e+-]+) (ns|us|ms)", explained, re.MULTILINE)
    return float(found.group(1)) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[found.group(2)] if found else None


class Modc(clock.InC):
    """The model as modc emits it, in a shared library with the runtime and peer_modc.c. `further` are keys that its spec gets
    behind the others."""

    def __init__(self, name, modc, options, compiler, flags, further=""):
        self.name, self.modc, self.options, self.compiler, self.flags = name, modc, options, compiler, flags
        self.further = further
        self.version = "modc " + run([*shlex.split(modc), "--version"], "modc").split()[-1]

    def runtime(self, bundle):
        """What every model is linked with: modc's own, as it lies in a bundle; compiled once for each compiler and set of flags."""
        sources, headers = (sorted(bundle.glob(f"modc*.{kind}")) for kind in "ch")
        own = hashlib.sha256(b"".join(file.read_bytes() for file in [*sources, *headers])).hexdigest()[:16]
        folder = BUILD / "runtime" / re.sub(r"\W+", "_", f"{self.compiler} {self.flags} {own}")
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            build(folder / f"{source.stem}.o", [*self.command(bundle), "-c", source], [source, *headers], self.compiler)
        return [folder / f"{source.stem}.o" for source in sources]

    def command(self, bundle):
        return [self.compiler, *shlex.split(self.flags), "-fPIC", "-DMODC_LIBM", f"-I{bundle}"]

    def compiled(self, model, peer):
        """The library of a model, compiled together with the file `peer`."""
        folder = model.folder / re.sub(r"\W+", "_", self.name)
        text, file = model.spec_file.read_text(), model.spec_file
        spec = re.search(r"^model: (\w+)", text, re.MULTILINE).group(1)
        if self.further:
            folder.mkdir(exist_ok=True)
            file = folder / model.spec_file.name
            file.write_text(text + self.further)
        for old in folder.glob("modc*.[ch]"):  # another compiler's
            old.unlink()
        self.explained = run([*shlex.split(self.modc), "generate", file, "--bundle", "--explain", "-o", folder, *self.options],
                             "modc generate")
        sources, runtime = [folder / f"{spec}.c", FOLDER / peer], self.runtime(folder)
        library = folder / "peer.so"
        build(library, [*self.command(folder), "-shared", f"-DMODC_MODEL={spec}_model", f"-I{folder}", *sources, *runtime, "-lm"],
              [*sources, folder / f"{spec}.h", *runtime], self.compiler)
        code = ctypes.CDLL(str(library))
        code.peer_open.restype = ctypes.c_void_p
        code.peer_status.restype = ctypes.c_char_p
        return code

    def open(self, model):
        code = self.compiled(model, "peer_modc.c")
        self.predicted = predicted_seconds(self.explained, model.entry)
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
        self.version = f"ONNX Runtime {onnxruntime.__version__}"
        clock.C.peer_ort_version.restype = ctypes.c_char_p
        found = clock.C.peer_ort_version(str(self.library).encode())
        if found != onnxruntime.__version__.encode():
            raise Missing(f"the library of ONNX Runtime says that it is {found}")

    def open(self, model):
        graph = onnx.load(model.onnx_file, load_external_data=False).graph
        self.outputs = model.new_outputs()
        arrays = [*model.inputs, *self.outputs]
        names = [value.name.encode() for value in (*graph.input, *graph.output)]
        dims = [(ctypes.c_int64 * max(array.ndim, 1))(*array.shape) for array in arrays]
        tensors = (OrtTensor * len(arrays))(*(
            OrtTensor(name, array.ctypes.data, array.nbytes, dim, array.ndim, ONNX_TYPES[array.dtype])
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
    version = f"PyTorch {torch.__version__}"

    def open(self, model):
        self.set_call(functools.partial(model.module, *model.tensors))


class Compiled(clock.InPython):
    """torch.compile with frozen weights, called from Python."""
    name = "torch.compile"
    version = f"PyTorch {torch.__version__}"

    def open(self, model):
        compiled = torch.compile(model.exported().module(check_guards=False))
        with inductor.config.patch(freezing=True):
            compiled(*model.tensors)
        self.set_call(functools.partial(compiled, *model.tensors))


class Aoti(clock.InC):
    """AOTInductor with frozen weights, called from C++."""
    name = "AOTInductor"
    version = f"PyTorch {torch.__version__}"

    def __init__(self):
        logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # it looks for CUDA
        from torch.utils import cpp_extension

        library = BUILD / "aoti.so"
        source = FOLDER / "peer_aoti.cpp"
        paths = [f"-I{path}" for path in cpp_extension.include_paths()]
        for path in cpp_extension.library_paths():
            paths += [f"-L{path}", f"-Wl,-rpath,{path}"]
        build(library, [os.environ.get("CXX", "c++"), "-O2", "-std=c++20", "-shared", "-fPIC", source, *paths,
                        "-ltorch_cpu", "-ltorch", "-lc10"], [source], "c++")
        self.code = ctypes.CDLL(str(library))
        self.code.peer_aoti_open.restype = ctypes.c_void_p
        self.code.peer_aoti_error.restype = ctypes.c_char_p

    def open(self, model):
        package = model.folder / f"{model.name}.pt2"
        if not model.is_kept(package):
            inductor.aoti_compile_and_package(model.exported(), package_path=str(package),
                                              inductor_configs={"freezing": True})
            model.keep(package)
        dims = [dim for array in model.inputs for dim in array.shape]
        count = len(model.inputs)
        self.user = self.code.peer_aoti_open(
            str(package).encode(), ctypes.c_size_t(count), pointers(model.inputs), (ctypes.c_int64 * max(len(dims), 1))(*dims),
            (ctypes.c_int * count)(*(array.ndim for array in model.inputs)),
            (ctypes.c_int * count)(*(ONNX_TYPES[array.dtype] for array in model.inputs)))
        if not self.user:
            raise Missing(self.code.peer_aoti_error().decode())
        self.arrays = model.new_outputs()
        self.set_call(self.code.peer_aoti_call, self.user)

    @property
    def outputs(self):
        for i, array in enumerate(self.arrays):
            if self.code.peer_aoti_output(self.user, ctypes.c_size_t(i), ctypes.c_void_p(array.ctypes.data),
                                          ctypes.c_size_t(array.nbytes)) != 0:
                raise Missing("an output has another size")
        return self.arrays


class Emx(clock.InC):
    """The plain loops that emx-onnx-cgen writes, by one compiler with one set of flags."""

    def __init__(self, compiler, fast):
        self.compiler = compiler
        self.flags = ["-O3", "-march=native"] + ["-ffast-math"] * fast
        self.name = f"plain loops, {compiler}" + ", fast" * fast
        self.version = f"emx-onnx-cgen {importlib.metadata.version('emx-onnx-cgen')}"
        if shutil.which(compiler) is None:
            raise Missing(f"there is no {compiler}")

    @staticmethod
    def source(model):
        """What it writes for a model: net.c, and net.bin beside it."""
        folder = model.folder / "emx"
        source = folder / "net.c"
        if not model.is_kept(source):
            folder.mkdir(exist_ok=True)
            # Its temporaries on the stack: the other choice is to allocate them in each call. It looks for weights in the
            # current folder.
            run([pathlib.Path(sys.executable).parent / "emx-onnx-cgen", "compile", model.onnx_file.name, source,
                 "--model-name", "net", "--restrict-arrays", "--large-temp-threshold", "0"], "emx-onnx-cgen", cwd=model.folder)
            model.keep(source)
        return source

    def open(self, model):
        source = self.source(model)
        folder, wrapper = source.parent, source.with_name("call.c")
        count = len(model.inputs) + len(model.expected)
        wrapper.write_text('#include "net.c"\nint call(void *user)\n{\n    void **p = user;\n    net('
                           + ", ".join(f"p[{i}]" for i in range(count)) + ");\n    return 0;\n}\n")
        library = folder / f"{re.sub(r'[^a-z]+', '_', self.name)}.so"
        build(library, [self.compiler, *self.flags, "-w", "-shared", "-fPIC", wrapper, "-lm"], [source, wrapper], self.name)
        code = ctypes.CDLL(str(library))
        if not code.net_load(str(folder / "net.bin").encode()):
            raise Missing("its weights cannot be read")
        self.outputs = model.new_outputs()
        self.held = pointers([*model.inputs, *self.outputs])
        self.set_call(code.call, ctypes.addressof(self.held))


class Contiguous(Modc):
    """modc on what a product would be with all operands contiguous, and on the copies that make them so."""

    def open(self, model):
        super().open(model.contiguous)
        distance = model.contiguous.distance(super().call())
        if distance > 1e-4:
            raise Missing(f"other numbers: {distance:.1e} from PyTorch's")

    def call(self):
        """The product alone, of the same numbers."""
        return super().call()[:1]


# In the order in which they are reported.
PEERS = {
    "ort": [Ort],
    "emx": [functools.partial(Emx, compiler, fast) for compiler in ("gcc", "clang") for fast in (False, True)],
    "eager": [Eager],
    "compile": [Compiled],
    "aoti": [Aoti],
}


# ---- what bench/run and bench/sweep share -------------------------------------------------------------------------

def add_options(parser, default, seconds, table=PEERS):
    parser.add_argument("--modc", action="append", help="the compiler; one that is given behind the first is a peer of it")
    parser.add_argument("--option", action="append", default=[], help="of modc generate: --option=--plan=contract=gemm_dot")
    parser.add_argument("--cc", default=os.environ.get("CC", "cc"), help="what compiles modc's C")
    parser.add_argument("--flags", default=MODC_FLAGS, help=f"its flags; else {MODC_FLAGS}")
    parser.add_argument("--peers", default=default, help=f"of {','.join(table)}; else %(default)s")
    parser.add_argument("--check", action="store_true", help="time nothing, compare numbers alone")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=seconds, help="for each peer in each round; else %(default)s")
    parser.add_argument("--cpu-time", action="store_true", help="count only what the own thread takes: on a busy machine")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core to be pinned to")


def made_for(args, own=Modc, table=PEERS):
    """modc, and all others that are asked for and can be made here; a line on each that cannot. PyTorch is set up."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    if args.cpu_time:
        clock.use_cpu_time()
    asked = [key for key in args.peers.split(",") if key]
    if set(asked) - set(table):
        sys.exit(f"no peer {', '.join(sorted(set(asked) - set(table)))}; there are {', '.join(table)}")
    made = [own("modc" if i == 0 else f"modc {i + 1}", modc, args.option, args.cc, args.flags)
            for i, modc in enumerate(args.modc or [str(ROOT / "build" / "modc")])]
    for maker in (maker for key in asked for maker in table[key]):
        try:
            made.append(maker())
        except Missing as reason:
            print(f"a peer is left out: {reason}")
    return made


def opened(model, made, tolerance):
    """Those peers that compute what PyTorch computes; {name: reason} of the others."""
    good, reasons = [], {}
    for peer in made:
        try:
            peer.open(model)
            distance = model.distance(peer.call())
            if distance <= tolerance:
                good.append(peer)
            else:
                reasons[peer.name] = f"other numbers: {distance:.1e} from PyTorch's"
        except (Missing, RuntimeError) as reason:
            reasons[peer.name] = " ".join(str(reason).split())[:200]
    return good, reasons
