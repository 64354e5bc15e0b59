"""What a net, its entries and its threads share, and what each thread has of its own: contexts, hooks, gradients."""
import ctypes
import math
import os
import threading
import weakref

from modc import _library as lib
from modc._arrays import DTYPES, OWN, is_dense, view_of
from modc._extern import Body
from modc._library import Library

CALLS_NESTED = 32  # a hook that calls the net, whose hook calls it, and so on


class Hook:
    """What registering a hook returns."""

    def __init__(self, core, module, kind, function, flags):
        self.core, self.module, self.kind, self.function, self.flags = weakref.ref(core), module, kind, function, flags

    def remove(self):
        core = self.core()
        if core is not None:
            with core.lock:
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
    """What a context has in C: workspace, state, gradients. Arrays that lie there hold it, not the context with its hooks."""

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


def fitting(tensor, value, of):
    """The view of what a function of the caller's returned for a tensor in C. TypeError, ValueError: it is something else."""
    view, _ = view_of(value)
    dtype, shape = lib.DTYPE_NAMES[tensor.dtype], tensor.shape()
    if view is None or view.fault is not None or view.dtype != dtype or view.shape != shape:
        found = f"what {view.fault}" if view and view.fault else view and f"{view.dtype} {view.shape}"
        raise TypeError(f"{of} returned {found or type(value).__name__}, not {dtype} {shape}")
    if not is_dense(view.shape, view.strides):
        raise ValueError(f"{of} returned a tensor that is not contiguous")
    return view


class Context:
    """What one thread calls with: workspace, mode, state, hooks, and gradients."""

    def __init__(self, core):
        self.library, self.inner, self.memory, self.hooks = core.library, None, Memory(core), []
        self.pointer, self.trainers, self.pools = self.memory.pointer, self.memory.trainers, self.memory.pools
        weakref.finalize(self, self.end_hooks, self.library, self.hooks, self.memory).atexit = False
        self.paths = [module["path"] for module in core.about["modules"]]
        self.version = -1  # of the net's settings that it has
        self.running, self.error, self.kind = False, None, OWN
        self.bodies = {}  # by the name of an Extern's body: what C has of it
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
        for name in self.library.about["externs"]:
            self.set_extern(name, core.externs)
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

    def frame(self, entry, sizes, inputs, outputs):
        """What C reads of a call: these arrays, which live as long."""
        frame = lib.Frame(self.pointer, *map(ctypes.addressof, (sizes, inputs, outputs)), None, None, None, entry.index, 0)
        frame.kept = sizes, inputs, outputs
        return ctypes.byref(frame)

    def run(self, entry, frame, sizes, kind, arrays, shapes, made):
        """One call of an entry. What backward reads, and what hooks put in the place of tensors, lives until the next."""
        self.kind, self.replaced = kind, []
        if self.trainers:
            self.last = (entry.name, sizes, shapes, kind, arrays, made)
        self.try_twice(entry, self.library.run, frame)

    def try_twice(self, entry, function, *arguments):
        """A call in C, again behind packing the parameters, where they changed."""
        status = function(*arguments)
        if status == lib.STALE:
            entry.core.refresh(entry.name)
            status = function(*arguments)
        if status != lib.OK:
            self.last = None
            entry.core.raise_for(self, entry.name, status)

    # -- bodies of Externs

    def set_extern(self, name, externs):
        """The functions of the caller's, by the path of a module or the name of a body, in the place of C's."""
        reference = weakref.ref(self)

        def runner(backward):
            def run(call):
                context = reference()
                try:
                    return context.run_extern(externs, call.contents, backward)
                except BaseException as error:  # as of hooks
                    context.error = context.error or error
                    return lib.HOOK_ERROR
            return lib.ExternFunction(run)
        body = lib.Extern(runner(False), runner(True))
        self.library.check(self.library.set_extern(self.pointer, name.encode(), ctypes.byref(body)), f"the body of {name}")
        self.bodies[name] = body

    def run_extern(self, externs, call, backward):
        path, name = self.paths[call.module], call.name.decode()
        body = Body.find(externs, path, name)
        kind = body.kind or self.kind
        of = f"the body of '{path}'"

        def arrays(tensors, count):
            return [kind.over(tensors[i].data, tensors[i].shape(), lib.DTYPE_NAMES[tensors[i].dtype], self.memory)
                    if tensors[i].data or 0 in tensors[i].shape() else None for i in range(count)]

        inputs = arrays(call.inputs, call.input_count)
        if backward:
            targets, count = call.grad_inputs, call.input_count
            wanted = [bool(targets[i].data) for i in range(count)]
            found = body.backward(inputs, arrays(call.results, call.output_count), arrays(call.grad_outputs, call.output_count),
                                  wanted, of)
        else:
            targets, count = call.outputs, call.output_count
            wanted, found = [True] * count, body.forward(inputs, call.training)
        if len(found) != count:
            raise TypeError(f"{of} returned {len(found)} {'gradients' if backward else 'tensors'} for {count}")
        for i in range(count):
            if wanted[i]:
                self.write(targets[i], found[i], of)
        return lib.OK

    @staticmethod
    def write(tensor, value, of):
        """What a body gave to where the model wants it; None is 0."""
        size = math.prod(tensor.shape()) * DTYPES[lib.DTYPE_NAMES[tensor.dtype]][0]
        if value is None:
            ctypes.memset(tensor.data, 0, size)
        elif size > 0:
            ctypes.memmove(tensor.data, fitting(tensor, value, of).address, size)

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
        def array(tensor):
            return self.kind.over(tensor.data, tensor.shape(), lib.DTYPE_NAMES[tensor.dtype], self.memory)

        def arrays(tensors, count):
            return tuple(array(tensors[i]) if tensors[i].data else None for i in range(count))

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
        """Lets the rest of the call read a copy of what a hook returned, which may lie in memory that is used again."""
        view = fitting(tensor, value, of)
        dtype, shape = view.dtype, view.shape
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


_locked = weakref.WeakSet()  # cores, and others with a lock


def _after_fork():
    """A thread that held a lock is not there in the child."""
    for owner in list(_locked):
        owner.lock = owner.kind_of_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def with_lock(owner, kind=threading.Lock):
    """Gives it a lock, and a new one in the child of a fork."""
    owner.lock, owner.kind_of_lock = kind(), kind
    _locked.add(owner)


class Core:
    """What a net, its entries and its contexts share. It knows neither of them but this thread's contexts, so that all of it
    ends with the last who uses it, and not when Python looks for cycles."""

    def __init__(self, folder, name, block, externs):
        self.name, self.library = name, Library(folder / f"{name}.so")
        self.about = self.library.about
        self.params = Params(self.library, block)
        self.local = threading.local()
        self.hooks, self.version, self.externs = [], 0, externs or {}
        self.training, self.grad_enabled, self.pool = False, True, None
        self.has_backward = any(entry["backward"] for entry in self.about["entries"])
        with_lock(self)

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
        self.library.fail(context.pointer, status, f"{name}(): ")
