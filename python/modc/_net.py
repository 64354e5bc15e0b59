"""A compiled model that Python calls: modc.compile and class Net."""
import collections
import copyreg
import ctypes
import math
import os
import struct
import tempfile
import threading
import weakref
from contextlib import contextmanager
from pathlib import Path

from modc import _library as lib
from modc._arrays import ALIGNMENTS, DTYPES, OWN, _kinds, end_of, is_dense, kind_by_name, view_of
from modc._build import build, build_sources
from modc._errors import CallError, Error
from modc._library import Library

CALLS_HELD = 64  # signatures of an entry whose sizes are remembered
HOOKS_HELD = 32  # MODC_MAX_HOOKS
CALLS_NESTED = 32  # a hook that calls the net, whose hook calls it, and so on
KIND_NAMES = ("forward pre-hooks", "forward hooks", "full backward pre-hooks", "full backward hooks")
DIFFERENTIABLE = ("float16", "bfloat16", "float32", "float64", "complex64")
ONES = {"float16": b"\x00\x3c", "bfloat16": b"\x80\x3f", "float32": struct.pack("=f", 1), "float64": struct.pack("=d", 1),
        "complex64": struct.pack("=ff", 1, 0)}


def compile(spec, args=None, *, weights=None, dtype=None, options=(), cc=None, cflags=None, **export):
    """A model to call: net = modc.compile("net.yaml", weights="net.safetensors"); y = net(x).

    spec: the path of a spec, or its text (which has a newline), or a torch.nn.Module, which modc.export turns into one with
    `args` and `export`'s arguments. weights: a file that modc.load_file reads, or a dict by state_dict keys; without them the
    parameters are what PyTorch initialises with seed 0, and a module's are its own. dtype: which one of a spec's list, else its
    first. options: words of `modc generate`, such as "--backward" or "--set", "hidden=128". cc, cflags: the C compiler, else
    $CC and $CFLAGS, else cc -O3 -march=native.

    The library lies in a cache ($MODC_CACHE, else ~/.cache/modc/libraries) and is made again when the emitted code, modc's
    runtime, the compiler or its flags are others.
    """
    if not isinstance(spec, (str, os.PathLike)):
        if not any(base.__module__.split(".")[0] == "torch" for base in type(spec).__mro__):
            raise TypeError(f"a spec is a path, a text with newlines, or a torch.nn.Module, not a {type(spec).__name__}")
        from modc._export.export import export as export_module  # PyTorch is there, since the caller has a module
        with tempfile.TemporaryDirectory(prefix="modc-") as work:
            made = export_module(spec, args if args is not None else (), Path(work) / "net.yaml", **{"check": False, **export})
            return compile(made.spec, weights=made.weights if weights is None else weights, dtype=dtype, options=options, cc=cc,
                           cflags=cflags)
    elif args is not None or export:
        raise TypeError("args and arguments of export are for a torch.nn.Module, not for a spec")
    if isinstance(spec, str) and "\n" not in spec:
        spec = Path(spec)
    words = [os.fspath(option) for option in ([options] if isinstance(options, str) else options)]
    if dtype is not None:
        words += ["--dtype", str(dtype).replace("torch.", "")]
    folder, name = build(spec, words, cc, cflags)
    return Net(folder, name, weights)


def place(view_dtype, shape, kind):
    """What an array of this kind has to be: dtype as the kind has it, shape, the bits of its address that are 0, bytes."""
    return kind.native(view_dtype), tuple(shape), ALIGNMENTS[view_dtype] - 1, math.prod(shape) * DTYPES[view_dtype][0]


class Ready:
    """What a call needs of Python, remembered from one that went through: the next one with such arrays only looks whether
    they are such."""
    __slots__ = ("kind", "inputs", "addresses", "outputs", "to", "new", "sizes", "shapes")

    def __init__(self, entry, kind, views, sizes, shapes):
        self.kind, self.sizes, self.shapes = kind, sizes, shapes
        self.inputs = [place(view.dtype, view.shape, kind) for view in views]
        self.outputs = [place(tensor["dtype"], shape, kind) for shape, tensor in zip(shapes, entry.outputs)]
        self.new = [(shape, tensor["dtype"]) for shape, tensor in zip(shapes, entry.outputs)]
        self.addresses, self.to = (ctypes.c_void_p * len(views))(), (ctypes.c_void_p * max(1, len(shapes)))()

    def take(self, arrays):
        """Whether these are such arrays, whose addresses C is then told."""
        kind, i = self.kind, 0
        if len(arrays) != len(self.inputs):
            return False
        for dtype, shape, mask, _ in self.inputs:
            array = arrays[i]
            address = kind.address(array, dtype, shape) if _kinds.get(type(array)) is kind else None
            if not address or address & mask:  # something else, or empty, or wrong
                return False
            self.addresses[i] = address
            i += 1
        return True

    def give(self):
        """New arrays for what C writes."""
        made, empty, i = [], self.kind.empty, 0
        for shape, dtype in self.new:
            array, address = empty(shape, dtype)
            self.to[i] = address or 64
            made.append(array)
            i += 1
        return made

    def take_out(self, arrays):
        """As take, for arrays that C writes to, which nothing else of the call may share."""
        kind = self.kind
        if len(arrays) != len(self.outputs):
            return False
        taken = [(address, address + bytes) for address, (_, _, _, bytes) in zip(self.addresses, self.inputs)]
        for i, (array, (dtype, shape, mask, bytes)) in enumerate(zip(arrays, self.outputs)):
            address = kind.address(array, dtype, shape) if _kinds.get(type(array)) is kind and kind.writable(array) else None
            if not address or address & mask:
                return False
            for start, end in taken:
                if address < end and start < address + bytes:
                    return False
            taken.append((address, address + bytes))
            self.to[i] = address
        return True


class Entry:
    """One function of the model: net.forward, or an entry of the spec by its name. Called with arrays, it returns arrays."""

    def __init__(self, core, index, about):
        self.core, self.index, self.name = core, index, about["name"]
        self.inputs, self.outputs = about["inputs"], about["outputs"]
        self.saves = about["backward"]
        self.names = [tensor["name"] for tensor in self.inputs]
        self.max_sizes = about["max_sizes"]
        given = {size for tensor in self.inputs for size in tensor["size_of"]}
        self.size_names = [size["name"] for size in core.about["sizes"]]
        self.free_sizes = [i for i in range(len(self.size_names)) if i not in given and self.max_sizes[i] >= 0]
        self.known = {}
        self.__name__ = self.name
        self.__doc__ = self.signature()

    def signature(self):
        """As Python would write it, with dtypes and shapes."""
        def text(tensor):
            dims = [self.size_names[size] if size >= 0 else str(extent)
                    for extent, size in zip(tensor["max"], tensor["size_of"])]
            return f"{tensor['name']}: {tensor['dtype']}[{', '.join(dims)}]"
        return f"{self.name}({', '.join(map(text, self.inputs))}) -> {', '.join(map(text, self.outputs))}"

    def __repr__(self):
        return f"<{self.signature()}>"

    # -- arguments

    def arguments(self, args, kwargs):
        """The arrays in order, and the sizes that are given by name. TypeError as Python's own."""
        arrays = list(args)
        if len(arrays) > len(self.names):
            raise TypeError(f"{self.name}() takes {len(self.names)} inputs but {len(arrays)} were given: {self.signature()}")
        sizes = {}
        arrays += [None] * (len(self.names) - len(arrays))
        for name, value in kwargs.items():
            if name in self.names:
                position = self.names.index(name)
                if position < len(args):
                    raise TypeError(f"{self.name}() got several values for '{name}'")
                arrays[position] = value
            elif name in self.size_names and self.max_sizes[self.size_names.index(name)] >= 0:
                sizes[self.size_names.index(name)] = self.size(name, value)
            else:
                raise TypeError(f"{self.name}() has no input '{name}': {self.signature()}")
        missing = [name for name, array in zip(self.names, arrays) if array is None]
        if missing:
            raise TypeError(f"{self.name}() lacks {', '.join(repr(name) for name in missing)}: {self.signature()}")
        return arrays, sizes

    def size(self, name, value):
        try:
            extent = value.__index__()
        except AttributeError:
            raise TypeError(f"{self.name}(): {name} is a size, an integer, and not a {type(value).__name__}") from None
        if extent < 0:
            raise ValueError(f"{self.name}(): {name} is {extent}, and no size is negative")
        return extent

    def view(self, array, name):
        """The view of an argument, and its kind; what it says wrong of itself is an error with its name."""
        try:
            view, kind = view_of(array)
        except Exception as error:
            raise TypeError(f"{self.name}(): {name} is a {type(array).__name__} that cannot be read: {error}") from error
        if view is None:
            raise TypeError(f"{self.name}(): {name} is a {type(array).__name__}, which is no array: NumPy's, PyTorch's, "
                            "modc.Array, or what has __dlpack__ or a buffer")
        return view, kind

    def views(self, arrays):
        """The arrays' views and the kind that outputs have: that of the first array which is no modc.Array, else modc's."""
        views, kind = [], None
        for name, array in zip(self.names, arrays):
            view, found = self.view(array, name)
            views.append(view)
            if found is not OWN and kind is None:
                kind = found
        return views, kind or OWN

    def check(self, view, name, tensor):
        """Everything of an array but its shape."""
        if view.fault is not None:
            raise ValueError(f"{self.name}(): {name} {view.fault}")
        if view.dtype != tensor["dtype"]:
            raise TypeError(f"{self.name}(): {name} is {view.dtype}, not {tensor['dtype']}")
        if len(view.shape) != len(tensor["max"]):
            raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {len(tensor['max'])} dimensions: "
                             f"{self.signature()}")
        if not is_dense(view.shape, view.strides):
            raise ValueError(f"{self.name}(): {name} is not contiguous (strides {tuple(view.strides)} of shape {view.shape}); "
                             "x.contiguous() or numpy.ascontiguousarray(x) is")
        if 0 in view.shape:
            return
        if not view.address:
            raise ValueError(f"{self.name}(): {name} has shape {view.shape} and no memory")
        if view.address % ALIGNMENTS[view.dtype] != 0:
            raise ValueError(f"{self.name}(): {name} begins at an address that is no multiple of {ALIGNMENTS[view.dtype]}, "
                             f"as {view.dtype} has to; x.clone() or x.copy() does")

    def sizes_of(self, views, given):
        """The sizes of a call as C takes them, and the shapes of the outputs."""
        sizes, said_by = [-1] * len(self.size_names), {}
        for index, value in given.items():
            sizes[index], said_by[index] = value, "the argument"
        for view, name, tensor in zip(views, self.names, self.inputs):
            for d, size in enumerate(tensor["size_of"]):
                if size < 0:
                    continue
                if sizes[size] not in (-1, view.shape[d]):
                    raise ValueError(f"{self.name}(): dimension {d} of {name} is {view.shape[d]}, but "
                                     f"{self.size_names[size]} is {sizes[size]} in {said_by[size]}")
                sizes[size] = view.shape[d]
                said_by.setdefault(size, name)
        for index, extent in enumerate(sizes):
            name, most = self.size_names[index], self.max_sizes[index]
            if extent < 0 and index in self.free_sizes:
                raise TypeError(f"{self.name}(): no input says what {name} is: give {name}=N, at most {most}")
            if extent > most >= 0:
                raise ValueError(f"{self.name}(): {name} is {extent} in {said_by[index]}, over its maximum {most} in the spec")
        c_sizes = (ctypes.c_int * max(1, len(sizes)))(*(max(0, extent) for extent in sizes))
        unmet = self.core.library.unmet(c_sizes)
        if unmet is not None:
            text = ", ".join(f"{name} = {extent}" for name, extent in zip(self.size_names, sizes) if extent >= 0)
            raise ValueError(f"{self.name}(): the spec requires {unmet.decode()}, but {text}")
        for i, (view, name) in enumerate(zip(views, self.names)):
            wanted = self.shape(c_sizes, -1 - i, len(view.shape))
            if view.shape != wanted:
                raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {wanted}: {self.signature()}")
        shapes = [self.shape(c_sizes, i, len(tensor["max"])) for i, tensor in enumerate(self.outputs)]
        return c_sizes, shapes

    def shape(self, sizes, index, ndim):
        dims = (ctypes.c_int * lib.MAX_DIMS)()
        self.core.library.shape(self.index, sizes, index, dims)
        return tuple(dims[:ndim])

    def prepared(self, views, given):
        """sizes_of, remembered by what it depends on."""
        key = (*(view.shape for view in views), *sorted(given.items()))
        found = self.known.get(key)
        if found is None:
            found = self.sizes_of(views, given)
            if len(self.known) >= CALLS_HELD:
                self.known.clear()
            self.known[key] = found
        return found

    # -- calls

    def outputs_for(self, kind, shapes, out, views):
        """New arrays, or the caller's, and their addresses."""
        if out is None:
            return [kind.empty(shape, tensor["dtype"]) for shape, tensor in zip(shapes, self.outputs)]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(self.outputs):
            raise TypeError(f"{self.name}() gives {len(self.outputs)} outputs, out has {len(given)}")
        made, taken = [], [(view, name) for view, name in zip(views, self.names)]
        for array, tensor, shape in zip(given, self.outputs, shapes):
            name = f"out ({tensor['name']})"
            view, _ = self.view(array, name)
            self.check(view, name, tensor)
            if view.shape != shape:
                raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {shape}")
            if not view.writable:
                raise ValueError(f"{self.name}(): {name} is read-only")
            for other, other_name in taken:
                if view.address < end_of(other) and other.address < end_of(view):
                    raise ValueError(f"{self.name}(): {name} overlaps {other_name}")
            taken.append((view, name))
            made.append((array, view.address))
        return made

    def checked(self, arrays, given):
        """Views, kind, sizes and shapes of a call, all of it checked."""
        views, kind = self.views(arrays)
        for view, name, tensor in zip(views, self.names, self.inputs):
            self.check(view, name, tensor)
        return (views, kind, *self.prepared(views, given))

    def __call__(self, *args, out=None, **kwargs):
        context = self.core.begin(self.saves)
        try:
            ready = None
            if args and not kwargs and type(args[0]) in _kinds:
                ready = context.ready.get((self.index, args[0].shape))
            if ready is None or not ready.take(args):
                return self.call(context, args, kwargs, out)
            if out is None:
                made = ready.give()
            else:
                made = out if isinstance(out, (tuple, list)) else (out,)
                if not ready.take_out(made):
                    return self.call(context, args, kwargs, out)
            context.run(self, ready.sizes, ready.addresses, ready.to, ready.kind, args, ready.shapes, made)
            return made[0] if len(made) == 1 else tuple(made)
        finally:
            context.running = False

    def call(self, context, args, kwargs, out):
        """A call with all checks, which the next one is spared if it is like this one."""
        arrays, given = self.arguments(args, kwargs)
        views, kind, sizes, shapes = self.checked(arrays, given)
        made = self.outputs_for(kind, shapes, out, views)
        inputs = (ctypes.c_void_p * max(1, len(views)))(*[view.address or 64 for view in views])
        outputs = (ctypes.c_void_p * max(1, len(made)))(*[address or 64 for _, address in made])
        context.run(self, sizes, inputs, outputs, kind, [view.owner for view in views], shapes, [array for array, _ in made])
        if views and not given and all(_kinds.get(type(array)) is kind for array in arrays):
            if len(context.ready) >= CALLS_HELD:
                context.ready.clear()
            context.ready[self.index, views[0].shape] = Ready(self, kind, views, sizes, shapes)
        return made[0][0] if len(made) == 1 else tuple(array for array, _ in made)


class Hook:
    """What registering a hook returns."""

    def __init__(self, core, module, kind, function, flags):
        self.core, self.module, self.kind, self.function, self.flags = weakref.ref(core), module, kind, function, flags

    def remove(self):
        core = self.core()
        if core is not None:
            core.hooks = [hook for hook in core.hooks if hook is not self]
            core.version += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class Pool:
    """Threads of the runtime, which end when no context computes on them any more."""

    def __init__(self, library, threads):
        self.pointer = ctypes.c_void_p()
        library.check(library.pool_create(threads, ctypes.byref(self.pointer)), f"a pool of {threads} threads")
        weakref.finalize(self, library.pool_destroy, self.pointer).atexit = False


class Memory:
    """What a context has in C: workspace, state, gradients. Arrays that lie there hold it, and not the context with its hooks."""

    def __init__(self, core):
        self.pointer, self.trainers, self.pools = ctypes.c_void_p(), [], []
        core.library.check(core.library.create(core.library.model(), core.params.pointer, 0, ctypes.byref(self.pointer)),
                           "modc.Net")
        weakref.finalize(self, self.end, core.library, self.pointer, self.trainers, self.pools, core.params).atexit = False

    @staticmethod
    def end(library, pointer, trainers, *_):
        """`_`: threads and parameters, which outlive it."""
        for trainer in trainers:
            library.training_destroy(trainer)
        library.destroy(pointer)


class Context:
    """What one thread calls with: workspace, mode, state, hooks, and gradients."""

    def __init__(self, core):
        self.library, self.inner, self.memory, self.hooks = core.library, None, Memory(core), []
        self.pointer, self.trainers, self.pools = self.memory.pointer, self.memory.trainers, self.memory.pools
        weakref.finalize(self, self.end_hooks, self.library, self.hooks, self.memory).atexit = False
        self.paths = [module["path"] for module in core.about["modules"]]
        self.version = -1  # of the net's settings that it has
        self.running, self.error, self.kind = False, None, OWN
        self.ready, self.last, self.replaced = {}, None, []

    @staticmethod
    def end_hooks(library, hooks, _):
        for pointer, _ in hooks:
            library.hook_destroy(pointer)
        hooks.clear()

    def update(self, core):
        """Mode, hooks and threads as the net has them now."""
        self.library.train(self.pointer, core.training)
        if core.has_backward:
            self.library.set_grad_enabled(self.pointer, core.grad_enabled)
        self.end_hooks(self.library, self.hooks, None)
        for hook in core.hooks:
            self.add(hook)
        pools = [core.pool] if core.pool is not None else []
        if pools != self.pools:
            executor = core.pool.pointer if pools else None
            self.library.check(self.library.set_executor(self.pointer, executor), "set_threads()")
            self.pools[:] = pools
        self.version = core.version

    def trainer(self, core):
        """Where gradients are, and with `training:` what the optimizer keeps; from now on calls keep what backward needs."""
        if not self.trainers:
            pointer = ctypes.c_void_p()
            self.library.check(self.library.training_create(self.pointer, ctypes.byref(pointer)), f"gradients of {core.name}")
            self.trainers.append(pointer)
            self.library.train(self.pointer, core.training)  # which `training:` turned on
        return self.trainers[0]

    def run(self, entry, sizes, inputs, outputs, kind, arrays, shapes, made):
        """One call of an entry. Who is read by backward, and what hooks put in the place of tensors, lives on until the next."""
        self.kind, self.replaced = kind, []
        if self.trainers:
            self.last = (entry.name, sizes, shapes, kind, arrays, made)
        self.try_twice(entry, self.library.call, self.pointer, entry.index, sizes, inputs, outputs)

    def try_twice(self, entry, function, *arguments):
        """A call in C, again behind packing the parameters, where they changed."""
        status = function(*arguments)
        if status == lib.STALE:
            entry.core.refresh(entry.name)
            status = function(*arguments)
        if status != lib.OK:
            self.last = None
            entry.core.raise_for(self, entry.name, status)

    # -- hooks

    def add(self, hook):
        reference = weakref.ref(self)

        def run(call):
            context = reference()
            try:
                return context.run_hook(hook, call.contents)
            except BaseException as error:  # it goes on in Python when C has ended the call
                context.error = context.error or error
                return lib.HOOK_ERROR
        function, pointer = lib.HookFunction(run), ctypes.c_void_p()
        status = self.library.hook_create(self.pointer, hook.module, hook.kind, hook.flags, function, None,
                                          ctypes.byref(pointer))
        self.library.check(status, "register a hook")
        self.hooks.append((pointer, function))

    def run_hook(self, hook, call):
        """One hook, with its tensors as arrays that are valid while it runs."""
        def arrays(tensors, count):
            return tuple(self.kind.over(tensors[i].data, tensors[i].shape(), lib.DTYPE_NAMES[tensors[i].dtype],
                                       self.memory)
                         if tensors[i].data else None for i in range(count))

        def one(values):
            return values[0] if len(values) == 1 else values

        path = self.paths[call.module]
        if hook.kind == lib.FORWARD_PRE:
            result = hook.function(path, arrays(call.inputs, call.input_count))
            tensors, count = call.inputs, call.input_count
        elif hook.kind == lib.FORWARD:
            outputs = one(arrays(call.outputs, call.output_count)) if call.outputs else None
            result = hook.function(path, arrays(call.inputs, call.input_count), outputs)
            tensors, count = call.outputs, call.output_count if call.outputs else 0
        elif hook.kind == lib.BACKWARD_PRE:
            result = hook.function(path, arrays(call.grad_outputs, call.grad_output_count))
            tensors, count = call.grad_outputs, call.grad_output_count
        else:
            result = hook.function(path, arrays(call.grad_inputs, call.grad_input_count),
                                   arrays(call.grad_outputs, call.grad_output_count))
            tensors, count = call.grad_inputs, call.grad_input_count
        if result is None:
            return lib.OK
        results = result if isinstance(result, (tuple, list)) else (result,)
        of = f"a hook of {path or 'the model'}"
        if len(results) != count:
            raise TypeError(f"{of} returned {len(results)} tensors for {count}")
        for i, value in enumerate(results):
            if value is not None:
                self.replace(tensors[i], value, of)
        return lib.OK

    def replace(self, tensor, value, of):
        """Lets the rest of the call read what a hook returned, of which it has a copy: it may lie in memory that is used again."""
        view, _ = view_of(value)
        dtype, shape = lib.DTYPE_NAMES[tensor.dtype], tensor.shape()
        if view is None or view.fault is not None or view.dtype != dtype or view.shape != shape:
            text = type(value).__name__ if view is None else f"what {view.fault}" if view.fault else f"{view.dtype} {view.shape}"
            raise TypeError(f"{of} returned {text}, not {dtype} {shape}")
        if not is_dense(view.shape, view.strides):
            raise ValueError(f"{of} returned a tensor that is not contiguous")
        if view.address != tensor.data and 0 not in shape:
            array, address = OWN.empty(shape, dtype)
            ctypes.memmove(address, view.address, array.nbytes)
            self.replaced.append(array)
            tensor.data = address


class Params:
    """The parameters in C, freed when nobody uses them."""

    def __init__(self, library, block=None):
        address, size, self.owner = block or (None, 0, None)
        self.pointer = ctypes.c_void_p()
        library.check(library.params_create(address, size, ctypes.byref(self.pointer)), "modc.Net")
        weakref.finalize(self, library.params_destroy, self.pointer).atexit = False


class IncompatibleKeys(collections.namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns, as PyTorch prints it."""
    __slots__ = ()

    def __repr__(self):
        return super().__repr__().replace("IncompatibleKeys", "_IncompatibleKeys", 1) if any(self) \
            else "<All keys matched successfully>"

    __str__ = __repr__


_cores = weakref.WeakSet()


def _after_fork():
    """A thread that held a lock is not there in the child."""
    for core in list(_cores):
        core.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Core:
    """What a net, its entries and its contexts share. It knows neither of them but this thread's contexts, so that all of it
    ends with the last who uses it, and not when Python looks for cycles."""

    def __init__(self, folder, name, block):
        self.name, self.library = name, Library(folder / f"{name}.so")
        self.about = self.library.about
        self.params = Params(self.library, block)
        self.lock, self.local = threading.Lock(), threading.local()
        self.hooks, self.version = [], 0
        self.training, self.grad_enabled, self.pool, self.threads = False, True, None, 1
        self.has_backward = any(entry["backward"] for entry in self.about["entries"])
        _cores.add(self)

    def context(self):
        """This thread's. In a hook: one more, since the other is in a call."""
        context = getattr(self.local, "context", None)
        if context is None:
            context = self.local.context = Context(self)
        nested = 0
        while context.running:
            nested += 1
            if nested > CALLS_NESTED:
                raise RecursionError(f"hooks of {self.name} call it, whose hooks call it, {CALLS_NESTED} times")
            if context.inner is None:
                context.inner = Context(self)
            context = context.inner
        if context.version != self.version:
            context.update(self)
        return context

    def begin(self, saves=False):
        """context(), in a call from now on."""
        context = getattr(self.local, "context", None)
        if context is None or context.running or context.version != self.version:
            context = self.context()
        if saves and self.grad_enabled and not context.trainers:
            context.trainer(self)
        context.running = True
        return context

    def refresh(self, name):
        with self.lock:
            self.library.check(self.library.refresh(self.params.pointer), f"{name}()")

    def raise_for(self, context, name, status):
        """The exception of a call that failed, with what the context knows."""
        error, context.error = context.error, None
        if error is not None:
            raise error
        fault = (ctypes.c_int64 * 3)()
        self.library.fault(context.pointer, fault)
        where = self.about["modules"][fault[0]]["path"] if fault[0] >= 0 else ""
        text = f"{name}(): {self.library.status(status)}"
        if where:
            text += f", in {where}"
        if status == lib.INDEX:
            raise IndexError(f"{text}: {fault[2]} at position {fault[1]}")
        if status == lib.DIVISION:
            raise ZeroDivisionError(f"{text}, at position {fault[1]}")
        raise CallError(text, status)


def _load_pickled(name, sources, cc, cflags, state, settings, hooks):
    net = Net(build_sources(name, sources, cc, cflags), name, state)
    net._core.training, net._core.grad_enabled = settings
    for hook in hooks:
        net._register(*hook)
    return net


class Net:
    """A compiled model. net(x) is its `forward`; other entries are methods of their names, and all are in net.entries.

    Calls take contiguous arrays of the spec's dtypes, without copying them, and give arrays of the same kind. They may come
    from several threads at a time: each has a context of its own, with workspace, state and gradients. Sizes that no input has
    are given by name.
    """

    def __init__(self, folder, name, weights=None, block=None):
        self.folder, self.name = Path(folder), name
        self._core = core = Core(self.folder, name, block)
        self.library, self.about = core.library, core.about
        self._params_owner, self._params = core.params, core.params.pointer
        self.entries = {about["name"]: Entry(core, i, about) for i, about in enumerate(self.about["entries"])}
        self._forward = self.entries["forward"]
        if weights is not None:
            self.load_state_dict(weights)
        elif block is None and not self.about["embedded"]:
            self.reset(0)
        threads = min(self.about["threads"], os.cpu_count() or 1)
        if threads > 1:
            self.set_threads(threads)

    def __call__(self, *args, **kwargs):
        return self._forward(*args, **kwargs)

    def __getattr__(self, name):
        entry = self.__dict__.get("entries", {}).get(name)
        if entry is None:
            raise AttributeError(f"{self.__dict__.get('name', 'the model')} has no entry or attribute '{name}'")
        return entry

    def __dir__(self):
        return [*super().__dir__(), *self.entries]

    def __repr__(self):
        return self.library.text(self.library.print)

    def _reduced(self, state):
        core, made_of = self._core, self._made_of()
        hooks = [(self.about["modules"][hook.module]["path"], hook.kind, hook.function, False, bool(hook.flags))
                 for hook in core.hooks]
        return (self.name, made_of["sources"], made_of["cc"], made_of["cflags"], state, (core.training, core.grad_enabled), hooks)

    def _made_of(self):
        from modc._build import made_of
        return made_of(self.folder)

    def __reduce__(self):
        """Its sources, to be compiled where they are not in the cache, and its state_dict; hooks, if they can be pickled."""
        return _load_pickled, self._reduced(None if self.about["embedded"] else self._saved())

    def _saved(self):
        """The state_dict as the bytes of a safetensors file, with what is in no state_dict."""
        from modc._files import safetensors_bytes
        return bytes(safetensors_bytes(self.state_dict("modc")))

    def __copy__(self):
        raise TypeError("a net is one with its parameters: copy.deepcopy copies it, and contexts of threads share it")

    def __deepcopy__(self, memo):
        made = Net(self.folder, self.name, None if self.about["embedded"] else self._saved())
        core = made._core
        core.training, core.grad_enabled, core.hooks = self._core.training, self._core.grad_enabled, list(self._core.hooks)
        core.version += 1
        return made

    # -- mode, random numbers, state, threads

    @property
    def training(self):
        return self._core.training

    def _set(self, name, value):
        if getattr(self._core, name) != value:
            setattr(self._core, name, value)
            self._core.version += 1
        return self

    def train(self, mode=True):
        """Training mode of all contexts, as torch.nn.Module.train. A net begins in evaluation mode."""
        return self._set("training", bool(mode))

    def eval(self):
        return self.train(False)

    def seed(self, seed):
        """Where this thread's calls begin to draw random numbers (dropout)."""
        self.library.check(self.library.seed(self._core.context().pointer, seed % 2 ** 64), "seed()")

    def reset(self, seed=0):
        """Every parameter and buffer as PyTorch has it after torch.manual_seed(seed) and building the module."""
        with self._core.lock:
            self.library.check(self.library.reset(self._params, seed % 2 ** 64), "reset()")

    def reset_state(self):
        """This thread's state as at first."""
        self.library.check(self.library.reset_state(self._core.context().pointer), "reset_state()")

    def state(self, arrays=None):
        """This thread's state by name, as arrays that share its memory."""
        kind, context = self._kind(arrays), self._core.context()
        return {key["name"]: kind.over(self.library.state(context.pointer, i), key["shape"], key["dtype"], context.memory)
                for i, key in enumerate(self.about["states"])}

    def set_threads(self, threads):
        """On how many threads a call computes, of a spec with `threads`: at first on those, or on as many as there are cores.
        A call that finds them busy with another thread's computes alone."""
        if not 1 <= threads <= 32:
            raise ValueError(f"set_threads(): {threads} threads, not 1 to 32")
        if not self.about["threads"]:
            raise Error(f"set_threads(): no step of {self.name} is split: its spec has no `threads`, or its steps are too small")
        self._core.pool = Pool(self.library, threads) if threads > 1 else None
        self._core.version += 1

    # -- parameters

    @staticmethod
    def _kind(name):
        if name is not None:
            return kind_by_name(name)
        try:
            return kind_by_name("numpy")
        except ImportError:
            return OWN

    def _tensor(self, index, kind):
        """A parameter as an array that shares its memory; a copy where it lies only packed."""
        key = self.about["keys"][index]
        address = self.library.key(self._params, index)
        if address:
            return kind.over(address, key["shape"], key["dtype"], self._params_owner,
                             not self.library.read_only(self._params))
        array, address = kind.empty(tuple(key["shape"]), key["dtype"])
        with self._core.lock:
            self.library.check(self.library.get(self._params, index, address or 64), key["name"])
        return array

    def state_dict(self, arrays=None):
        """By PyTorch's keys in PyTorch's order, as arrays that share the model's memory: 'numpy' (if it is there), 'torch' or
        'modc'. Who writes to them calls changed() behind it. Embedded weights are read-only, or copies for PyTorch."""
        kind = self._kind(arrays)
        return {key["name"]: self._tensor(i, kind) for i, key in enumerate(self.about["keys"])
                if key["flags"] & (lib.PARAMETER | lib.PERSISTENT)}

    def changed(self):
        """To be called after writing to an array of state_dict()."""
        self.library.changed(self._params)

    def load_state_dict(self, state, strict=True):
        """From a file of weights, of any kind that modc.load_file reads, the bytes of a safetensors file, or a dict of arrays by
        key. Returns missing and unexpected keys, and raises RuntimeError, both as PyTorch does: with strict for such keys, without
        it for shapes alone; FileError of a file that is something else. Not while another thread calls the net."""
        from modc import _files, _weights
        report, flags = ctypes.c_void_p(), 1 if strict else 0
        path = data = None
        if isinstance(state, (str, os.PathLike)):
            path, data = _weights.loadable(state)
        else:
            data = state if isinstance(state, bytes) else _files.safetensors_bytes(state)
        try:
            with self._core.lock:
                status = self.library.load(self._params, path, data, len(data or b""), flags, ctypes.byref(report))
            if status == lib.FILE:
                raise OSError(f"{os.fsdecode(path)} cannot be read")
            if status != lib.OK:
                text = self.library.text(self.library.report_print, report) if status in (lib.KEYS, lib.FORMAT) else ""
                hint = _weights.prefix_hint(path, data, [key["name"] for key in self.about["keys"]]) if status == lib.KEYS else ""
                raise RuntimeError((text or f"{self.name}: {self.library.status(status)}") + hint)
            found = self.library.json(self.library.report, report)
        finally:
            self.library.report_destroy(report)
        return IncompatibleKeys([self.about["keys"][key]["name"] for key in found["missing"]], found["unexpected"])

    def save(self, path):
        """Writes a safetensors file of the state_dict."""
        status = self.library.save(self._params, os.fsencode(path))
        if status == lib.FILE:
            raise OSError(f"{os.fspath(path)} cannot be written")
        self.library.check(status, f"save({os.fspath(path)!r})")

    # -- gradients

    def _needs_backward(self, what):
        if not self._core.has_backward:
            raise Error(f"{what}: {self.name} was compiled without gradients: options=['--backward'], or backward: true in the "
                        "spec, has them")

    def set_grad_enabled(self, enabled):
        """Whether calls keep what backward needs, of all threads. At first they do, where the spec has backward."""
        self._needs_backward("set_grad_enabled()")
        self._set("grad_enabled", bool(enabled))

    @contextmanager
    def no_grad(self):
        """with net.no_grad(): calls keep nothing."""
        before = self._core.grad_enabled
        self._set("grad_enabled", False)
        try:
            yield self
        finally:
            self._set("grad_enabled", before)

    def backward(self, *output_gradients):
        """The backward of this thread's last call. Adds to the gradients of the parameters, and returns those of the inputs, as
        the call takes them: an array of one input, else a tuple, with None of what is not differentiable.

        output_gradients: one for each output, None for zero; of one number none is needed. The arrays of the call have to be
        as they were."""
        self._needs_backward("backward()")
        context = self._core.context()
        if context.last is None:
            raise Error("backward(): there was no call before it that keeps what it needs, or it ran already")
        name, sizes, shapes, kind, *_ = context.last
        entry = self.entries[name]
        if not output_gradients and len(shapes) == 1 and math.prod(shapes[0]) == 1 and entry.outputs[0]["dtype"] in ONES:
            one = OWN.empty(shapes[0], entry.outputs[0]["dtype"])[0]
            ctypes.memmove(one._address, ONES[one.dtype], one.nbytes)
            output_gradients = (one,)
        if len(output_gradients) != len(shapes):
            raise TypeError(f"backward() takes {len(shapes)} gradients, of {', '.join(o['name'] for o in entry.outputs)}, but "
                            f"{len(output_gradients)} were given")
        given = (ctypes.c_void_p * max(1, len(shapes)))()
        for i, (gradient, tensor, shape) in enumerate(zip(output_gradients, entry.outputs, shapes)):
            if gradient is None:
                continue
            label = f"the gradient of {tensor['name']}"
            view, _ = entry.view(gradient, label)
            entry.check(view, label, tensor)
            if view.shape != shape:
                raise ValueError(f"backward(): the gradient of {tensor['name']} has shape {view.shape}, not {shape}")
            given[i] = view.address or 64
        made, wanted = [], (ctypes.c_void_p * max(1, len(entry.inputs)))()
        for i, tensor in enumerate(entry.inputs):
            made.append(None)
            if not tensor["constant"] and tensor["dtype"] in DIFFERENTIABLE:
                made[i], address = kind.empty(entry.shape(sizes, -1 - i, len(tensor["max"])), tensor["dtype"])
                wanted[i] = address or 64
        context.running, context.kind = True, kind
        try:
            status = self.library.backward(context.pointer, entry.index, sizes, given, wanted)
        finally:
            context.running, context.last = False, None
        if status != lib.OK:
            self._core.raise_for(context, "backward", status)
        return made[0] if len(made) == 1 else tuple(made)

    def gradients(self, arrays=None):
        """This thread's gradients by the keys of parameters, as arrays that share their memory; None of what has none yet."""
        self._needs_backward("gradients()")
        kind, context = self._kind(arrays), self._core.context()
        trainer, found = context.trainer(self._core), {}
        for i, index in enumerate(self.about["gradients"]):
            key, address = self.about["keys"][index], self.library.gradient_at(trainer, i)
            found[key["name"]] = kind.over(address, key["shape"], key["dtype"], context.memory) if address else None
        return found

    def zero_grad(self, set_to_none=True):
        """This thread's gradients are there no more, or are 0."""
        self._needs_backward("zero_grad()")
        self.library.zero_grad(self._core.context().trainer(self._core), bool(set_to_none))

    def requires_grad_(self, requires_grad=True, name=""):
        """Whether this thread's backward computes the gradients of a parameter, or of a module's ("": all)."""
        self._needs_backward("requires_grad_()")
        status = self.library.requires_grad(self._core.context().trainer(self._core), name.encode(), bool(requires_grad))
        if status == lib.NAME:
            raise KeyError(f"{self.name} has no parameter or module '{name}' that is trained")
        self.library.check(status, "requires_grad_()")
        return self

    def train_step(self, *args, **kwargs):
        """One step of a spec with `training:`: loss, backward, clipping, optimizer. Takes what its entry `loss` takes, and
        returns the loss. What the optimizer keeps belongs to this thread."""
        if not self.about["training"]:
            raise Error(f"train_step(): the spec of {self.name} has no `training:`")
        entry = self.entries["loss"]
        arrays, given = entry.arguments(args, kwargs)
        views, kind, sizes, _ = entry.checked(arrays, given)
        inputs = (ctypes.c_void_p * max(1, len(views)))(*[view.address or 64 for view in views])
        loss, address = OWN.empty((), entry.outputs[0]["dtype"])
        context = self._core.begin()
        try:
            context.kind, context.replaced = kind, []
            context.try_twice(entry, self.library.train_step, context.trainer(self._core), sizes, inputs, address)
        finally:
            context.running, context.last = False, None
        return loss.item()

    # -- hooks

    def _module(self, path):
        for index, module in enumerate(self.about["modules"]):
            if module["path"] == path:
                return index
        raise KeyError(f"{self.name} has no module '{path}'")

    def _register(self, path, kind, function, prepend=False, always_call=False):
        core, module = self._core, self._module(path)
        if not callable(function):
            raise TypeError(f"a hook is a function, not a {type(function).__name__}")
        if not any(entry["hooks"] for entry in self.about["entries"]):
            raise Error(f"{self.name} was compiled without hooks: its spec has `hooks: none`, or its target has none")
        if kind in (lib.BACKWARD_PRE, lib.BACKWARD):
            self._needs_backward("backward hooks")
        if sum((hook.kind, hook.module) == (kind, module) for hook in core.hooks) >= HOOKS_HELD:
            raise Error(f"{path or self.name} has {HOOKS_HELD} {KIND_NAMES[kind]}, and has no room for more")
        hook = Hook(core, module, kind, function, 2 if always_call else 0)
        core.hooks = [hook, *core.hooks] if prepend else [*core.hooks, hook]
        core.version += 1
        return hook

    def register_forward_pre_hook(self, module, function, *, prepend=False):
        """function(path, inputs), before the module ("trunk.0"; "": the model) runs. What it returns takes the inputs' place."""
        return self._register(module, lib.FORWARD_PRE, function, prepend)

    def register_forward_hook(self, module, function, *, prepend=False, always_call=False):
        """function(path, inputs, output), behind the module. What it returns takes the output's place. always_call: also where
        the call fails, with None for an output that there is not."""
        return self._register(module, lib.FORWARD, function, prepend, always_call)

    def register_full_backward_pre_hook(self, module, function, *, prepend=False):
        """function(path, grad_outputs), before the module's backward. What it returns takes their place."""
        return self._register(module, lib.BACKWARD_PRE, function, prepend)

    def register_full_backward_hook(self, module, function, *, prepend=False):
        """function(path, grad_inputs, grad_outputs), behind the module's backward. What it returns takes the first's place."""
        return self._register(module, lib.BACKWARD, function, prepend)

    # -- looking around

    def summary(self):
        """`modc summary` of the spec."""
        return (self.folder / "summary.txt").read_text(encoding="utf-8")

    @property
    def spec(self):
        return (self.folder / "spec.yaml").read_text(encoding="utf-8")

    @property
    def c_source(self):
        """The text of the model's C."""
        return (self.folder / f"{self.name}.c").read_text(encoding="utf-8")

    @property
    def c_header(self):
        return (self.folder / f"{self.name}.h").read_text(encoding="utf-8")
