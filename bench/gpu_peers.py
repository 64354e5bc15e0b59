"""What bench/gpu times: models with modc's library and PyTorch's module of each, on a GPU; or, emulated, on this processor."""
import concurrent.futures
import ctypes
import dataclasses
import functools
import multiprocessing
import os
import re
import shlex
import time

import models
import numpy
import safetensors_io
import spec_torch
import torch
from building import Missing, build, run
from environment import BUILD, FOLDER, ROOT
from workloads import TOLERANCE, WORKLOADS, Workload


# ---- workloads ----------------------------------------------------------------------------------------------------

class Inference:
    """Calls of a spec; `small` are its sizes and constants where it is emulated."""
    calls, recordable = 2, True  # how many are compared with PyTorch's; whether modc's can be a graph

    def __init__(self, work, **small):
        self.work, self.title, self.small = work, work.title, small

    def draw(self, emulate):
        work = self.work
        if emulate:
            work = dataclasses.replace(work, **{kind: {name: self.small.get(name, value) for name, value in getattr(work, kind).items()}
                                                for kind in ("sizes", "constants")})
        self.model, self.entry = work.model(BUILD / "gpu"), work.entry
        self.folder, self.spec_file, self.weights_file = self.model.folder, self.model.spec_file, self.model.weights_file
        self.inputs, self.outputs = self.model.inputs, self.model.new_outputs()

    def distance(self, seen):
        return self.model.distance(seen[-1])

    def on(self, device):
        tensors = [tensor.to(device) for tensor in self.model.tensors]
        return self.model.module.to(device), tensors

    def plain(self, device):
        """The spec's module, as PyTorch calls it."""
        module, tensors = self.on(device)
        return functools.partial(module, *tensors)

    def exported(self, device):
        """What torch.export makes of it: it has no statements to interpret, but checks its inputs."""
        module, tensors = self.on(device)
        with torch.device(device):
            program = torch.export.export(module, tuple(tensors), strict=False)
        module.to(device)  # the weights of an LSTM in one piece again
        return functools.partial(program.module(check_guards=False), *tensors)

    makers = [plain, exported]


class Training:
    """Whole steps of bench/train's first network, from the same weights. modc's wait for the GPU, so none is a graph."""
    title, entry, calls, recordable = "training step, MLP, batch 64", "loss", 5, False
    spec = ("modc: 1\nmodel: trained\ninputs:\n  x: [64, 64]\nmodules:\n  - Linear(64, 256)\n  - ReLU()\n  - Linear(256, 256)\n"
            "  - ReLU()\n  - Linear(256, 10)\n")
    training = "training:\n  loss: CrossEntropyLoss()\n  optimizer: AdamW(lr=3e-4)\n"

    def draw(self, _):
        self.folder = BUILD / "gpu" / "trained"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.spec_file, self.weights_file, bare = (self.folder / name for name in ("trained.yaml", "trained.safetensors", "bare.yaml"))
        self.spec_file.write_text(self.spec + self.training)
        bare.write_text(self.spec)
        self.built = spec_torch.Spec(str(bare))
        self.built.size_values = {}
        safetensors_io.save(self.weights_file, dict(self.built.build(0).state_dict()))
        torch.manual_seed(0)
        self.inputs = [torch.randn(64, 64).numpy(), torch.randint(10, [64]).numpy()]
        self.outputs = [numpy.zeros(1, dtype=numpy.float32)]
        self.expected = self.on_cpu()

    def on_cpu(self):
        """In a process of its own: optimizers look at CUDA, which peers that are forked later could not start then."""
        processes = multiprocessing.get_context("fork")
        receiver, sender = processes.Pipe(duplex=False)
        child = processes.Process(target=lambda: sender.send(self.losses(seen(self.plain("cpu"), self.calls))))
        child.start()
        sender.close()
        losses = receiver.recv()
        child.join()
        return losses

    @staticmethod
    def losses(outputs):
        return [numpy.array([float(loss.reshape(())) for loss, in outputs])]

    def distance(self, outputs):
        return models.distance(self.losses(outputs), self.expected)

    def plain(self, device):
        module = self.built.build(0).to(device).train()
        x, target = (torch.from_numpy(array).to(device) for array in self.inputs)
        optimizer = torch.optim.AdamW(module.parameters(), lr=3e-4, fused=True, capturable=device == "cuda")

        @torch.enable_grad()
        def step():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(x), target)
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step

    makers = [plain]


POLICY = "specs/cartpole/policy.yaml"
CASES = {
    **{f"policy{batch}": Inference(Workload(f"policy MLP, batch {batch}", POLICY, {"batch": batch}, {})) for batch in (1, 256, 4096)},
    **{f"digits{batch}": Inference(Workload(f"digits CNN, batch {batch}", "specs/digits/cnn.yaml", {"batch": batch}, {}))
       for batch in (1, 64)},
    "resnet18": Inference(WORKLOADS["resnet18"]),
    "bert": Inference(WORKLOADS["bert"], tokens=16),
    "gpt2": Inference(WORKLOADS["gpt2"]),
    "lstm": Inference(WORKLOADS["lstm128_16"]),
    "linear1": Inference(Workload("Linear 4096, batch 1", "bench/linear.yaml", {"rows": 1}, {})),
    "linear": Inference(Workload("Linear 4096, batch 4096", "bench/linear.yaml", {"rows": 4096}, {}), rows=70),
    "map": Inference(Workload("GELU of 256 MB", "bench/map.yaml", {"rows": 65536}, {}), rows=500),
    "train": Training(),
}


# ---- peers --------------------------------------------------------------------------------------------------------

def in_words(reason):
    return f"{type(reason).__name__}: {' '.join(str(reason).split())[:200]}"


def seen(function, calls):
    """The outputs of each of some calls."""
    return [[tensor.cpu().numpy() for tensor in models.flat(function())] for _ in range(calls)]


class Array(ctypes.Structure):
    """struct peer_array of peer_gpu.c."""
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def arrays(found):
    return (Array * len(found))(*(Array(array.ctypes.data, array.nbytes) for array in found))


class Compilers:
    """What makes a library of a bundle: nvcc; or, emulated, a compiler of C and one of C++ with the stand-in for a GPU. The library
    keeps to its own runtime of CUDA: PyTorch has another one in the same process."""

    def __init__(self, args):
        self.modc, self.emulate = shlex.split(args.modc), args.emulate
        self.folder = "emulated" if args.emulate else "cuda"
        if args.emulate:
            cc, flags = os.environ.get("CC", "cc"), ["-O1", "-fPIC"]
            self.commands = {".c": [cc, *flags], ".cu": [os.environ.get("CXX", "c++"), *flags, "-x", "c++", "-std=c++17", "-fno-exceptions"]}
            self.link, self.libraries = [cc, "-shared", "-Wl,-Bsymbolic"], ["-ldl", "-lm", "-pthread"]
        else:
            nvcc = [args.nvcc, f"-arch={args.arch}"]
            self.commands = dict.fromkeys((".c", ".cu"), [*nvcc, "-O3", "-Xcompiler=-fPIC"])
            self.link, self.libraries = [*nvcc, "-shared", "-Xlinker=-Bsymbolic", "-Xlinker=--exclude-libs=ALL"], []

    def generate(self, spec_file, folder):
        run([*self.modc, "generate", spec_file, "--device", "cuda", "--bundle", "-o", folder], "modc generate")

    def objects(self, bundle, sources, folder, *flags):
        """Compiles sources beside each other."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [f"-I{path}" for path in (bundle, bundle / "cuda_host", ROOT / "runtime" / "driver") if self.emulate or path.name != "cuda_host"]

        def compiled(source):
            target = folder / f"{source.name}.o"
            command = self.commands[source.suffix]
            build(target, [*command, *paths, *flags, "-c", source], [source, *sorted(bundle.glob("*.h"))], command[0])
            return target

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(compiled, sources))

    def make_runtime(self):
        """What every model is linked with, as it lies in any bundle."""
        bundle = BUILD / "gpu" / f"runtime_{self.folder}"
        bundle.mkdir(parents=True, exist_ok=True)
        self.generate(ROOT / POLICY, bundle)
        sources = [*bundle.glob("modc*.c"), *bundle.glob("modc*.cu"), *(bundle.glob("cuda_host/*.c") if self.emulate else [])]
        self.runtime = self.objects(bundle, sorted(sources), bundle / "objects")

    def library(self, case):
        bundle = case.folder / self.folder
        bundle.mkdir(exist_ok=True)
        self.generate(case.spec_file, bundle)
        name = re.search(r"^model: (\w+)", case.spec_file.read_text(), re.MULTILINE).group(1)
        own = self.objects(bundle, [bundle / f"{name}.c", bundle / f"{name}.cu", FOLDER / "peer_gpu.c"], bundle / "objects",
                           f"-DMODC_MODEL={name}_model")
        build(bundle / "peer.so", [*self.link, *own, *self.runtime, *self.libraries], [*own, *self.runtime], "the linker")
        return ctypes.CDLL(str(bundle / "peer.so"))


class Modc:
    name = "modc"

    def __init__(self, case, compilers):
        self.code, self.case = compilers.library(case), case
        self.code.peer_open.restype, self.code.peer_failed.restype = ctypes.c_void_p, ctypes.c_char_p
        self.code.peer_time.restype = ctypes.c_double
        self.outputs = arrays(case.outputs)
        self.user = ctypes.c_void_p(self.code.peer_open(str(case.weights_file).encode(), case.entry.encode(), arrays(case.inputs),
                                                        len(case.inputs), self.outputs, len(self.outputs)))
        self.must(self.user)
        self.ways, self.reasons = {"calls": 0}, []
        self.distance = case.distance([self.called("calls") for _ in range(case.calls)])
        if not case.recordable:
            return
        try:
            self.must(self.code.peer_record(self.user) == 0)
            self.ways["graph"] = 1
            self.distance = max(self.distance, case.distance([self.called("graph")]))
        except Missing as reason:
            self.reasons.append(f"no graph: {reason}")

    def must(self, done):
        if not done:
            raise Missing(self.code.peer_failed().decode())

    def called(self, way):
        """Copies of what one call writes."""
        self.time(way, 1, True)
        self.must(self.code.peer_read(self.user, self.outputs, len(self.outputs)) == 0)
        return [array.copy() for array in self.case.outputs]

    def time(self, way, calls, apart):
        seconds = self.code.peer_time(self.user, self.ways[way], ctypes.c_long(calls), int(apart))
        self.must(seconds >= 0)
        return seconds


class Torch:
    """A function of Python for each way to be called."""

    def __init__(self, device):
        self.ways, self.reasons, self.distance = {}, [], 0.0
        self.wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def time(self, way, calls, apart):
        function, wait = self.ways[way], self.wait
        before = time.perf_counter()
        for _ in range(calls):
            function()
            if apart:
                wait()
        wait()
        return time.perf_counter() - before

    def take(self, way, function, distance):
        """The fastest function with the right numbers is the way."""
        if not distance <= TOLERANCE:
            raise Missing(f"other numbers: {distance:.1e}")
        self.distance = max(self.distance, distance)
        before, self.ways[way] = self.ways.get(way), function
        if before:
            mine = self.time(way, 20, False)
            self.ways[way] = before
            if mine < self.time(way, 20, False):
                self.ways[way] = function


class Eager(Torch):
    name = "PyTorch eager"

    def __init__(self, case, device):
        super().__init__(device)
        for maker in case.makers:
            self.attempt(maker.__name__, self.open, case, maker, device)
        if "calls" in self.ways:  # one is enough: statements may make tensors of their own, and these on a processor
            self.reasons.clear()
        if device == "cuda":
            self.attempt("no graph", self.record, case)

    def attempt(self, what, function, *arguments):
        try:
            function(*arguments)
        except Exception as reason:  # whatever PyTorch raises: the others go on
            self.reasons.append(f"{what}: {in_words(reason)}")

    def open(self, case, maker, device):
        function = maker(case, device)
        self.take("calls", function, case.distance(seen(function, case.calls)))

    def record(self, case):
        function, graph, stream = case.plain("cuda"), torch.cuda.CUDAGraph(), torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.device("cuda"):
            with torch.cuda.stream(stream):
                before = seen(function, case.calls - 1)
            with torch.cuda.graph(graph, stream=stream):
                outputs = function()

        def replay():
            graph.replay()
            return outputs
        replay.reads = function  # the memory of its inputs: the graph has their addresses and keeps nothing
        self.take("graph", replay, case.distance([*before, *seen(replay, 1)]))


class Compiled(Torch):
    """Its calls replay graphs of its own."""
    name = "torch.compile"

    def __init__(self, case, device):
        super().__init__(device)
        exported = case.exported(device)
        function = functools.partial(torch.compile(exported.func, mode="reduce-overhead"), *exported.args)
        seen(function, 3)  # it compiles, then records
        self.take("graph", function, case.distance(seen(function, 1)))
