"""A compiled model that Python calls: modc.compile and class Net."""
import ctypes
import os
import threading
import weakref
from pathlib import Path

from modc import _library as lib
from modc._arrays import DTYPES, OWN, is_dense, kind_by_name, view_of
from modc._build import build, run_command
from modc._errors import CallError, Error
from modc._library import Library

MODES_HELD = 64  # signatures of an entry whose sizes are remembered


def compile(spec, args=None, *, weights=None, options=(), cc=None, cflags=None, **export):
    """A model to call: net = modc.compile("net.yaml", weights="net.safetensors"); y = net(x).

    spec: the path of a spec, or its text (which has a newline), or a torch.nn.Module, which modc.export turns into one with
    `args` and `export`'s arguments. weights: a safetensors file, or a dict by state_dict keys; without them the parameters
    are what PyTorch initialises with seed 0, and a module's are its own. options: words of `modc generate`, such as
    "--backward" or "--set", "hidden=128". cc, cflags: the C compiler, else $CC and $CFLAGS, else cc -O3 -march=native.

    The library lies in a cache ($MODC_CACHE, else ~/.cache/modc/libraries) and is made again when the emitted code, modc's
    runtime, the compiler or its flags are others.
    """
    if not isinstance(spec, (str, os.PathLike)):
        from modc._export import export_text  # PyTorch is there, since the caller has a module
        spec, module_weights = export_text(spec, args, **export)
        weights = module_weights if weights is None else weights
    elif args is not None or export:
        raise TypeError("args and arguments of export are for a torch.nn.Module, not for a spec")
    if isinstance(spec, str) and "\n" not in spec:
        spec = Path(spec)
    folder, name = build(spec, options, cc, cflags)
    return Net(folder, name, weights)


class Entry:
    """One function of the model: net.forward, or an entry of the spec by its name. Called with arrays, it returns arrays."""

    def __init__(self, net, index, about):
        self.net, self.index, self.name = net, index, about["name"]
        self.inputs, self.outputs = about["inputs"], about["outputs"]
        self.names = [tensor["name"] for tensor in self.inputs]
        self.max_sizes = about["max_sizes"]
        given = {size for tensor in self.inputs for size in tensor["size_of"]}
        self.size_names = [size["name"] for size in net.about["sizes"]]
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
            elif name in self.size_names:
                sizes[self.size_names.index(name)] = int(value)
            else:
                raise TypeError(f"{self.name}() has no input '{name}': {self.signature()}")
        missing = [name for name, array in zip(self.names, arrays) if array is None]
        if missing:
            raise TypeError(f"{self.name}() lacks {', '.join(repr(name) for name in missing)}: {self.signature()}")
        return arrays, sizes

    def views(self, arrays):
        """The arrays' views and the kind that outputs have: that of the first array which is no modc.Array, else modc's."""
        views, kind = [], None
        for name, array in zip(self.names, arrays):
            view, found = view_of(array)
            if view is None:
                raise TypeError(f"{self.name}(): {name} is a {type(array).__name__}, which is no array: NumPy's, PyTorch's, "
                                "modc.Array, or what has __dlpack__ or a buffer")
            views.append(view)
            if found is not OWN and kind is None:
                kind = found
        return views, kind or OWN

    def check(self, view, name, tensor):
        """Everything of an array but its shape."""
        if view.device != "cpu":
            raise ValueError(f"{self.name}(): {name} lies on {view.device}; the model computes on the CPU")
        if view.dtype != tensor["dtype"]:
            raise TypeError(f"{self.name}(): {name} is {view.dtype}, not {tensor['dtype']}")
        if len(view.shape) != len(tensor["max"]):
            raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {len(tensor['max'])} dimensions: "
                             f"{self.signature()}")
        if not is_dense(view.shape, view.strides):
            raise ValueError(f"{self.name}(): {name} is not contiguous (strides {tuple(view.strides)} of shape {view.shape}); "
                             "x.contiguous() or numpy.ascontiguousarray(x) is")

    def sizes_of(self, views, given):
        """The sizes of a call as C takes them, and the shapes of the outputs."""
        net, sizes, said_by = self.net, [-1] * len(self.size_names), {}
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
        unmet = net.library.unmet(c_sizes)
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
        self.net.library.shape(self.index, sizes, index, dims)
        return tuple(dims[:ndim])

    def prepared(self, views, given):
        """sizes_of, remembered by what it depends on."""
        key = (*(view.shape for view in views), *sorted(given.items()))
        found = self.known.get(key)
        if found is None:
            found = self.sizes_of(views, given)
            if len(self.known) >= MODES_HELD:
                self.known.clear()
            self.known[key] = found
        return found

    # -- calls

    def outputs_for(self, kind, shapes, out):
        """New arrays, or the caller's, and their addresses."""
        if out is None:
            return [kind.empty(shape, tensor["dtype"]) for shape, tensor in zip(shapes, self.outputs)]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(self.outputs):
            raise TypeError(f"{self.name}() gives {len(self.outputs)} outputs, out has {len(given)}")
        made = []
        for array, tensor, shape in zip(given, self.outputs, shapes):
            view, _ = view_of(array)
            name = f"out ({tensor['name']})"
            if view is None:
                raise TypeError(f"{self.name}(): {name} is a {type(array).__name__}, which is no array")
            self.check(view, name, tensor)
            if view.shape != shape:
                raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {shape}")
            if not view.writable:
                raise ValueError(f"{self.name}(): {name} is read-only")
            made.append((array, view.address))
        return made

    def __call__(self, *args, out=None, **kwargs):
        arrays, given = self.arguments(args, kwargs)
        views, kind = self.views(arrays)
        for view, name, tensor in zip(views, self.names, self.inputs):
            if view.dtype != tensor["dtype"] or view.strides is not None or view.device != "cpu" \
                    or len(view.shape) != len(tensor["max"]):
                self.check(view, name, tensor)
        sizes, shapes = self.prepared(views, given)
        made = self.outputs_for(kind, shapes, out)
        inputs = (ctypes.c_void_p * max(1, len(views)))(*[view.address or 64 for view in views])
        outputs = (ctypes.c_void_p * max(1, len(made)))(*[address or 64 for _, address in made])
        self.net._call(self, sizes, inputs, outputs, kind)
        if len(made) == 1:
            return made[0][0]
        return tuple(array for array, _ in made)


class Hook:
    """What registering a hook returns."""

    def __init__(self, net, module, kind, function, flags):
        self.net, self.module, self.kind, self.function, self.flags = net, module, kind, function, flags

    def remove(self):
        self.net._hooks = [hook for hook in self.net._hooks if hook is not self]
        self.net._hook_version += 1


class Context:
    """What one thread calls with: workspace, mode, state, hooks."""

    def __init__(self, net):
        self.library, self.net = net.library, weakref.ref(net)
        pointer = ctypes.c_void_p()
        self.library.check(self.library.create(self.library.model(), net._params, 0, ctypes.byref(pointer)), "modc.Net")
        self.pointer, self.version, self.hooks, self.training = pointer, -1, [], None
        self.error, self.kind = None, OWN
        self._end = weakref.finalize(self, self.library.destroy, pointer)
        self._params = net._params_owner  # which outlives it
        self.mode = False

    def update(self, net):
        """Mode and hooks as the net has them now."""
        if self.mode != net.training:
            self.library.train(self.pointer, net.training)
            self.mode = net.training
        if self.version != net._hook_version:
            for pointer, _ in self.hooks:
                self.library.hook_destroy(pointer)
            self.hooks = []
            for hook in net._hooks:
                self.add(hook)
            self.version = net._hook_version

    def add(self, hook):
        def run(call):
            try:
                return self.run(hook, call.contents)
            except BaseException as error:  # it goes on in Python when C has ended the call
                self.error = error
                return lib.HOOK_ERROR
        function, pointer = lib.HookFunction(run), ctypes.c_void_p()
        status = self.library.hook_create(self.pointer, hook.module, hook.kind, hook.flags, function, None,
                                          ctypes.byref(pointer))
        self.library.check(status, "register a hook")
        self.hooks.append((pointer, function))

    def run(self, hook, call):
        """One hook, with its tensors as arrays that are valid while it runs."""
        def arrays(tensors, count):
            return tuple(self.kind.over(tensors[i].data, tensors[i].shape(), lib.DTYPE_NAMES[tensors[i].dtype], self)
                         if tensors[i].data else None for i in range(count))

        def one(values):
            return values[0] if len(values) == 1 else values

        path = self.library.about["modules"][call.module]["path"]
        inputs, outputs = arrays(call.inputs, call.input_count), arrays(call.outputs, call.output_count)
        if hook.kind == lib.FORWARD_PRE:
            result, tensors, count = hook.function(path, inputs), call.inputs, call.input_count
        elif hook.kind == lib.FORWARD:
            result, tensors, count = hook.function(path, inputs, one(outputs)), call.outputs, call.output_count
        else:
            grad_inputs = arrays(call.grad_inputs, call.grad_input_count)
            grad_outputs = arrays(call.grad_outputs, call.grad_output_count)
            if hook.kind == lib.BACKWARD_PRE:
                result, tensors, count = hook.function(path, grad_outputs), call.grad_outputs, call.grad_output_count
            else:
                result = hook.function(path, grad_inputs, grad_outputs)
                tensors, count = call.grad_inputs, call.grad_input_count
        if result is None:
            return lib.OK
        results = result if isinstance(result, (tuple, list)) else (result,)
        if len(results) != count:
            raise TypeError(f"a hook of {path or 'the model'} returned {len(results)} tensors for {count}")
        for i, value in enumerate(results):
            self.replace(tensors[i], value, path)
        return lib.OK

    @staticmethod
    def replace(tensor, value, path):
        """Copies what a hook returned over what was there."""
        view, _ = view_of(value)
        dtype = lib.DTYPE_NAMES[tensor.dtype]
        if view is None or view.dtype != dtype or view.shape != tensor.shape():
            text = type(value).__name__ if view is None else f"{view.dtype} {view.shape}"
            raise TypeError(f"a hook of {path or 'the model'} returned {text}, not {dtype} {tensor.shape()}")
        if not is_dense(view.shape, view.strides):
            raise ValueError(f"a hook of {path or 'the model'} returned a tensor that is not contiguous")
        count = DTYPES[dtype][0]
        for extent in view.shape:
            count *= extent
        if view.address != tensor.data and count > 0:
            ctypes.memmove(tensor.data, view.address, count)


class Params:
    """The parameters in C, freed when nobody uses them."""

    def __init__(self, library, block=None):
        address, size, self.owner = block or (None, 0, None)
        self.pointer = ctypes.c_void_p()
        library.check(library.params_create_over(library.model(), address, size, ctypes.byref(self.pointer)), "modc.Net")
        weakref.finalize(self, library.params_destroy, self.pointer)


class Net:
    """A compiled model. net(x) is its `forward`; other entries are methods of their names, and all are in net.entries.

    Calls take contiguous arrays of the spec's dtypes, without copying them, and give arrays of the same kind. They may come
    from several threads at a time: each has a context of its own, with workspace and state. Sizes that no input has are given
    by name.
    """

    def __init__(self, folder, name, weights=None, block=None):
        self.folder, self.name = Path(folder), name
        self.library = Library(self.folder / f"{name}.so")
        self.about = self.library.about
        self._params_owner = Params(self.library, block)
        self._params = self._params_owner.pointer
        self._lock, self._local = threading.Lock(), threading.local()
        self._hooks, self._hook_version = [], 0
        self.training = False
        self.entries = {about["name"]: Entry(self, i, about) for i, about in enumerate(self.about["entries"])}
        if block is None and weights is None:
            self.reset(0)
        elif weights is not None:
            self.load_state_dict(weights)

    def __call__(self, *args, **kwargs):
        entry = self.entries.get("forward")
        if entry is None:
            raise TypeError(f"{self.name} has no entry 'forward', but {', '.join(self.entries)}")
        return entry(*args, **kwargs)

    def __getattr__(self, name):
        entry = self.__dict__.get("entries", {}).get(name)
        if entry is None:
            raise AttributeError(f"{self.__dict__.get('name', 'the model')} has no entry or attribute '{name}'")
        return entry

    def __dir__(self):
        return [*super().__dir__(), *self.entries]

    def __repr__(self):
        return self.library.text(self.library.print)

    # -- contexts

    def _context(self):
        context = getattr(self._local, "context", None)
        if context is None:
            context = self._local.context = Context(self)
        if context.version != self._hook_version or context.mode != self.training:
            context.update(self)
        return context

    def _call(self, entry, sizes, inputs, outputs, kind):
        context = self._context()
        context.kind = kind
        status = self.library.call(context.pointer, entry.index, sizes, inputs, outputs)
        if status == lib.STALE:
            with self._lock:
                self.library.check(self.library.refresh(self._params), f"{entry.name}()")
            status = self.library.call(context.pointer, entry.index, sizes, inputs, outputs)
        if status != lib.OK:
            self._raise(context, entry.name, status)

    def _raise(self, context, name, status):
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

    # -- mode, random numbers, state

    def train(self, mode=True):
        """Training mode of all contexts, as torch.nn.Module.train."""
        self.training = bool(mode)
        return self

    def eval(self):
        return self.train(False)

    def seed(self, seed):
        """Where this thread's calls begin to draw random numbers (dropout)."""
        self.library.check(self.library.seed(self._context().pointer, seed % 2 ** 64), "seed()")

    def reset(self, seed=0):
        """Every parameter and buffer as PyTorch has it after torch.manual_seed(seed) and building the module."""
        with self._lock:
            self.library.check(self.library.reset(self._params, seed % 2 ** 64), "reset()")

    def reset_state(self):
        """This thread's state as at first."""
        self.library.check(self.library.reset_state(self._context().pointer), "reset_state()")

    def state(self, arrays=None):
        """This thread's state by name, as arrays that share its memory."""
        kind, context = self._kind(arrays), self._context()
        return {key["name"]: kind.over(self.library.state(context.pointer, i), key["shape"], key["dtype"], context)
                for i, key in enumerate(self.about["states"])}

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
            return kind.over(address, key["shape"], key["dtype"], self._params_owner)
        array, address = kind.empty(tuple(key["shape"]), key["dtype"])
        with self._lock:
            self.library.check(self.library.get(self._params, index, address), key["name"])
        return array

    def state_dict(self, arrays=None):
        """By PyTorch's keys in PyTorch's order, as arrays that share the model's memory: 'numpy' (if it is there), 'torch' or
        'modc'. Who writes to them calls changed() behind it."""
        kind = self._kind(arrays)
        return {key["name"]: self._tensor(i, kind) for i, key in enumerate(self.about["keys"])
                if key["flags"] & (lib.PARAMETER | lib.PERSISTENT)}

    def changed(self):
        """To be called after writing to an array of state_dict()."""
        self.library.changed(self._params)

    def load_state_dict(self, state, strict=True):
        """From a path of a safetensors file, or a dict of arrays by key. Raises RuntimeError with PyTorch's text."""
        from modc import _files
        flags = 1 if strict else 0
        text = ctypes.create_string_buffer(1 << 16)
        if isinstance(state, (str, os.PathLike)):
            path = _files.safetensors_path(state)
            with self._lock:
                status = self.library.load(self._params, os.fsencode(path), None, 0, flags, text, len(text))
            if status == lib.FILE:
                raise FileNotFoundError(f"{path} cannot be read")
        else:
            data = _files.safetensors_bytes(state)
            with self._lock:
                status = self.library.load(self._params, None, data, len(data), flags, text, len(text))
        message = text.value.decode("utf-8", "replace")
        if status != lib.OK:
            raise RuntimeError(message or self.library.status(status))
        return message

    def save(self, path):
        """Writes a safetensors file of the state_dict."""
        self.library.check(self.library.save(self._params, os.fsencode(path)), f"save({os.fspath(path)!r})")

    # -- hooks

    def _module(self, path):
        for index, module in enumerate(self.about["modules"]):
            if module["path"] == path:
                return index
        raise KeyError(f"{self.name} has no module '{path}'")

    def _register(self, path, kind, function, prepend=False, always_call=False):
        hook = Hook(self, self._module(path), kind, function, 2 if always_call else 0)
        hooks = [hook, *self._hooks] if prepend else [*self._hooks, hook]
        self._hooks, self._hook_version = hooks, self._hook_version + 1
        try:
            self._context()
        except Error:
            hook.remove()
            raise
        return hook

    def register_forward_pre_hook(self, module, function, *, prepend=False):
        """function(path, inputs), before the module ("trunk.0"; "": the model) runs. What it returns takes the inputs' place."""
        return self._register(module, lib.FORWARD_PRE, function, prepend)

    def register_forward_hook(self, module, function, *, prepend=False, always_call=False):
        """function(path, inputs, output), behind the module. What it returns takes the output's place."""
        return self._register(module, lib.FORWARD, function, prepend, always_call)

    # -- looking around

    def summary(self):
        """`modc summary` of the spec."""
        return run_command(["summary", self.folder / "spec.yaml"])

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
