"""A compiled model that Python calls: modc.compile and class Net."""
import collections
import ctypes
import math
import os
import struct
import tempfile
from contextlib import contextmanager
from pathlib import Path

from modc import _library as lib
from modc._arrays import OWN, kind_by_name
from modc._build import build, build_sources, made_of
from modc._call import Entry
from modc._context import Core, Hook, Pool
from modc._errors import Error
from modc._extern import check_externs

HOOKS_HELD = 32  # MODC_MAX_HOOKS
KIND_NAMES = ("forward pre-hooks", "forward hooks", "full backward pre-hooks", "full backward hooks")
DIFFERENTIABLE = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
ONES = {"float16": b"\x00\x3c", "bfloat16": b"\x80\x3f", "float32": struct.pack("=f", 1), "float64": struct.pack("=d", 1),
        "complex64": struct.pack("=ff", 1, 0), "complex128": struct.pack("=dd", 1, 0)}


def compile(spec, args=None, *, weights=None, dtype=None, options=(), cc=None, cflags=None, externs=None, **export):
    """A model to call: net = modc.compile("net.yaml", weights="net.safetensors"); y = net(x).

    spec: the path of a spec, or its text (which has a newline), or a torch.nn.Module, which modc.export turns into one with
    `args` and `export`'s arguments. weights: a file that modc.load_file reads, or a dict by state_dict keys; without them the
    parameters are what PyTorch initialises with seed 0, and a module's are its own. dtype: which one of a spec's list, else its
    first. options: words of `modc generate`, such as "--backward" or "--set", "hidden=128". cc, cflags: the C compiler, else
    $CC and $CFLAGS, else cc -O3 -march=native. externs: functions in the place of the spec's Externs, by their names or by the
    paths of modules: they take and give tensors of the call's kind, PyTorch's where they are modules of torch.nn.

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
                           cflags=cflags, externs={**made.externs, **(externs or {})})
    elif args is not None or export:
        raise TypeError("args and arguments of export are for a torch.nn.Module, not for a spec")
    if isinstance(spec, str) and "\n" not in spec:
        spec = Path(spec)
    words = [os.fspath(option) for option in ([options] if isinstance(options, str) else options)]
    if dtype is not None:
        words += ["--dtype", str(dtype).replace("torch.", "")]
    folder, name = build(spec, words, cc, cflags)
    return Net(folder, name, weights, externs=externs)


class IncompatibleKeys(collections.namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns, as PyTorch prints it."""
    __slots__ = ()

    def __repr__(self):
        return super().__repr__().replace("IncompatibleKeys", "_IncompatibleKeys", 1) if any(self) \
            else "<All keys matched successfully>"

    __str__ = __repr__


def _load_pickled(name, sources, cc, cflags, state, settings, hooks, externs=None):
    net = Net(build_sources(name, sources, cc, cflags), name, state, externs=externs)
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

    def __init__(self, folder, name, weights=None, block=None, externs=None):
        self.folder, self.name = Path(folder), name
        self._core = core = Core(self.folder, name, block, externs)
        self.library, self.about = core.library, core.about
        check_externs(self.about, core.externs)
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

    def __reduce__(self):
        """Its sources, to be compiled where they are not in the cache, and its state_dict; hooks, if they can be pickled."""
        core, made = self._core, made_of(self.folder)
        hooks = [(self.about["modules"][hook.module]["path"], hook.kind, hook.function, False, bool(hook.flags))
                 for hook in core.hooks]
        return _load_pickled, (self.name, made["sources"], made["cc"], made["cflags"], self._saved(),
                               (core.training, core.grad_enabled), hooks, core.externs)

    def _saved(self):
        """What save would write. None: it is in the code."""
        if self.about["embedded"]:
            return None
        length = ctypes.c_size_t()
        self.library.check(self.library.save_bytes(self._params, None, 0, ctypes.byref(length)), "save")
        made = ctypes.create_string_buffer(length.value)
        self.library.check(self.library.save_bytes(self._params, made, length, ctypes.byref(length)), "save")
        return made.raw

    def __copy__(self):
        raise TypeError("a net is one with its parameters: copy.deepcopy copies it, and contexts of threads share it")

    def __deepcopy__(self, memo):
        made = Net(self.folder, self.name, self._saved(), externs=self._core.externs)
        core = made._core
        core.training, core.grad_enabled, core.hooks = self._core.training, self._core.grad_enabled, list(self._core.hooks)
        core.version += 1
        return made

    # -- mode, random numbers, state, threads

    @property
    def training(self):
        return self._core.training

    def _set(self, name, value):
        with self._core.lock:
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
            raise Error(f"set_threads(): no step of {self.name} is split: its spec has no `threads`, or its steps are too "
                        "small")
        self._set("pool", Pool(self.library, threads) if threads > 1 else None)

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
        it for shapes alone; FileError of a file that is something else. Integers with scales of a file are packed as they are: where
        `storage` of the spec says something else of them, that is a RuntimeError. Not while another thread calls the net."""
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
                hint = _weights.hint_of(text, path, data, [key["name"] for key in self.about["keys"]]) if status == lib.KEYS else ""
                raise RuntimeError((text or f"{self.name}: {self.library.status(status)}") + hint)
            found = self.library.json(self.library.report, report)
        finally:
            self.library.report_destroy(report)
        return IncompatibleKeys([self.about["keys"][key]["name"] for key in found["missing"]], found["unexpected"])

    def save(self, path):
        """Writes a safetensors file of the state_dict; of weights that were loaded as integers, and not written since, these."""
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

    def _gradients(self, what):
        """Where this thread's gradients are."""
        self._needs_backward(what)
        return self._core.context().trainer(self._core)

    def gradients(self, arrays=None):
        """This thread's gradients by the keys of parameters, as arrays that share their memory; None of what has none yet."""
        trainer, found = self._gradients("gradients()"), {}
        kind, context = self._kind(arrays), self._core.context()
        for i, index in enumerate(self.about["gradients"]):
            key, address = self.about["keys"][index], self.library.gradient_at(trainer, i)
            found[key["name"]] = kind.over(address, key["shape"], key["dtype"], context.memory) if address else None
        return found

    def zero_grad(self, set_to_none=True):
        """This thread's gradients are there no more, or are 0."""
        self.library.zero_grad(self._gradients("zero_grad()"), bool(set_to_none))

    def requires_grad_(self, requires_grad=True, name=""):
        """Whether this thread's backward computes the gradients of a parameter, or of a module's ("": all)."""
        status = self.library.requires_grad(self._gradients("requires_grad_()"), name.encode(), bool(requires_grad))
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

    @property
    def optimizer(self):
        """This thread's optimizer, of a spec with `training:`: param_groups, lr, step(), save(), load(), reset()."""
        from modc._training import Optimizer
        return Optimizer(self)

    @property
    def scheduler(self):
        """This thread's scheduler, of a spec whose `training:` has one: step(), get_last_lr(), last_epoch."""
        from modc._training import Scheduler
        return Scheduler(self)

    def clip_grad_norm_(self, max_norm, norm_type=2.0, error_if_nonfinite=False):
        """torch.nn.utils.clip_grad_norm_ of this thread's gradients; returns their norm before."""
        trainer, total = self._gradients("clip_grad_norm_()"), ctypes.c_double()
        status = self.library.clip_grad_norm(trainer, max_norm, norm_type, bool(error_if_nonfinite), ctypes.byref(total))
        if status == lib.NONFINITE:
            raise RuntimeError(f"clip_grad_norm_(): the norm of the gradients is {total.value}, and they are as they were")
        self.library.check(status, "clip_grad_norm_()")
        return total.value

    def clip_grad_value_(self, clip_value):
        """torch.nn.utils.clip_grad_value_ of this thread's gradients."""
        self.library.check(self.library.clip_grad_value(self._gradients("clip_grad_value_()"), clip_value), "clip_grad_value_()")

    @contextmanager
    def averaged(self):
        """with net.averaged(): the parameters are the averages of `ema`, which this thread's steps made."""
        optimizer = self.optimizer
        if not optimizer.about["averages"]:
            raise Error(f"averaged(): the `training:` of {self.name} has no `ema`")
        pointer = optimizer._pointer
        self.library.check(self.library.average_swap(pointer), "averaged()")
        try:
            yield self
        finally:
            self.library.check(self.library.average_swap(pointer), "averaged()")

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
        hook = Hook(core, module, kind, function, 2 if always_call else 0)
        with core.lock:
            if sum((other.kind, other.module) == (kind, module) for other in core.hooks) >= HOOKS_HELD:
                raise Error(f"{path or self.name} has {HOOKS_HELD} {KIND_NAMES[kind]}, and has no room for more")
            core.hooks = [hook, *core.hooks] if prepend else [*core.hooks, hook]
            core.version += 1
        return hook

    def register_forward_pre_hook(self, module, function, *, prepend=False):
        """function(path, inputs), before the module ("trunk.0"; "": the model) runs. What it returns takes their place."""
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
