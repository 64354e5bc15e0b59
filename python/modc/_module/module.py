"""modc.Module: a torch.nn.Module whose forward and backward run in emitted C, inside autograd.

The user's module stays as it is, with its own tensors: C is given their addresses (held.py). A call is looked up by its schema
(variant.py), which is compiled when it comes first (compiled.py).
"""
import copy
import ctypes
import threading
import types

import torch

from modc import executable
from modc._context import with_lock
from modc._export.trace import reading
from modc._module import tables
from modc._module.compiled import Compiled, is_autocast_enabled, is_cpu_autocast_enabled
from modc._module.fallback import (Fallback, ModuleDeviceException, ModuleInitException, ModuleIOError, ModuleSpecException,
                                   ModuleTorchModelException, warn)
from modc._module.held import CHANGED, Held
from modc._module.hooks import Hooks
from modc._module.options import DebugOptions
from modc._module.structure import Result, flatten, replaced
from modc._module.variant import MANY, Libraries, Schema, foreign_hooks, wrapped

CALLS_HELD, CALLS_QUICK = 256, 8
READINGS = 16  # of a model that other threads change meanwhile

_grad_enabled = torch.is_grad_enabled


class Run(torch.autograd.Function):
    """One forward in the graph of autograd: its arguments are the address of a call, the tensors of the call, and the trained
    parameters. Its backward comes once: C keeps what that needs in the context."""


APPLY = super(torch.autograd.Function, Run).apply  # for tensors that no transform of torch.func has wrapped


class Careful(torch.autograd.Function):
    """The same where PyTorch takes over if backward fails, and runs the module again for that."""

    @staticmethod
    def forward(ctx, runner, call, prepared, *tensors):
        """call: (args, kwargs)."""
        ctx.again = runner, call, prepared
        return runner.functions.forward(ctx, prepared.number, *tensors)

    @staticmethod
    def backward(ctx, *gradients):
        runner, call, prepared = ctx.again
        try:
            return runner.functions.backward(ctx, *gradients)
        except Exception as error:
            if str(error) in tables.REFUSALS or prepared.variant.random:  # whose numbers PyTorch would draw anew
                raise
            result = runner.backward_of_torch(call, prepared.training.tensors, ctx.needs_input_grad[3:], gradients)
            runner.owner.take(error)
        return (None, None, None, *result)


class Training:
    """Which parameters of a model are trained, and where their gradients stand among the arguments of autograd. It does not
    change."""
    __slots__ = ("wants", "tensors", "slots")

    def __init__(self, wants, parameters):
        self.wants = wants  # of each parameter, whether it requires gradients
        numbers = [i for i, wanted in enumerate(wants) if wanted]
        self.tensors = tuple(parameters[i] for i in numbers)
        self.slots = {number: slot for slot, number in enumerate(numbers)}


class Runner:
    """What belongs to one state of the user's model: its tensors, which of them are trained, the calls that are prepared. What
    changes here changes with the owner's lock."""

    def __init__(self, owner):
        self.owner, self.held = owner, Held(owner.module)
        self.held.check_device()
        self.modes = self.held.modes
        self.calls, self.schemas, self.compiled = {}, {}, {}
        self.functions = None  # C's
        self.training = Training((), ())
        if owner.hooks is None:
            for path, _, _ in foreign_hooks(owner.module):
                warn(f"hooks of the module '{path}' do not fire in modc.Module; with hooks=True they do")
                break

    def library(self, text, saves, tables_of_spec, mode):
        """Over the tensors that the model has now: a graph of earlier ones keeps those that it was made with."""
        known = self.compiled
        if (text, saves) not in known:
            known[text, saves] = Compiled(*self.owner.libraries.get(text, saves, tables_of_spec, mode), saves)
        return known[text, saves]

    def look_at_training(self):
        wants = self.held.trainable()
        if wants != self.training.wants:
            self.owner.forget()
            self.training = Training(wants, self.held.parameters)
            self.held.expect(wants)
        return self.training

    def run(self, args, kwargs, version):
        """version: of the parameters, as held.look() said."""
        owner, held, tensors, training = self.owner, self.held, [], None
        given = flatten(args, tensors, "args"), flatten(kwargs, tensors, "kwargs") if kwargs else None
        with owner.lock:
            modes = held.modes
            if modes != self.modes:
                owner.forget()
                self.modes = modes
            if _grad_enabled():
                training = self.look_at_training()
                if not training.tensors and not any(tensor.requires_grad for tensor in tensors):
                    training = None
            key = (given, modes, training.wants if training is not None else None)
            prepared = self.calls.get(key)
        if prepared is None:
            return self.first(key, args, kwargs, tensors, training, version)
        result = self.call(prepared, args, kwargs, tensors, version)
        owner.remember(prepared, args, kwargs)
        return result

    def first(self, key, args, kwargs, tensors, training, version):
        """A call that comes for the first time. Its results are compared, if it made its variant."""
        held = self.held
        prepared, expected = self.prepare(key, args, kwargs, tensors, training)
        variant = prepared.variant
        before = [buffer.clone() for buffer in held.buffers] if variant.mode else ()
        try:
            return self.call(prepared, args, kwargs, tensors, version, expected and (
                lambda outputs: variant.check(outputs, expected, lambda: self.in_float64(args, kwargs, before))))
        except ModuleSpecException:
            with torch.no_grad():
                for buffer, was in zip(held.buffers, before):
                    buffer.copy_(was)
            self.calls.pop(key, None)
            raise

    def call(self, prepared, args, kwargs, tensors, version, check=None):
        held, compiled, training = self.held, prepared.compiled, prepared.training
        compiled.update(held, version)
        if training is None:
            outputs = self.functions.evaluate(prepared.number, *tensors)
        elif self.owner.fallback.repeats:
            outputs = Careful.apply(self, (args, kwargs), prepared, *tensors, *training.tensors)
        else:
            outputs = Run.apply(prepared.number, *tensors, *training.tensors)
        if prepared.table.writes:
            with self.owner.lock:
                held.table.writes += 1
                compiled.weights.writes = held.table.writes  # what it wrote itself, it knows
            if compiled.copies:
                compiled.write_back()
        if check is not None:
            check(outputs)
        return prepared.make(outputs)

    def in_float64(self, args, kwargs, buffers):
        """The results of a copy of the model, with its buffers as they were."""
        model, tensors = copy.deepcopy(self.owner.module), []
        flatten((args, kwargs), tensors)
        wide = iter([tensor.detach().double() if tensor.is_floating_point() else tensor.detach() for tensor in tensors])
        with torch.no_grad():
            for buffer, was in zip(Held(model).buffers, buffers):
                buffer.copy_(was)
            return Result(model.double()(*replaced(args, wide), **replaced(kwargs, wide))).tensors

    def backward_of_torch(self, call, trained, needs, gradients):
        """The gradients of a call's tensors and of the trained parameters, by PyTorch, which runs the module again for that."""
        tensors = []
        flatten(call, tensors)
        given = [tensor.detach().requires_grad_(need) for tensor, need in zip(tensors, needs)]
        args, kwargs = replaced(call, iter(given))
        wanted = [tensor for tensor, need in zip([*given, *trained], needs) if need]
        before = [buffer.clone() for buffer in self.held.buffers]
        with torch.enable_grad():
            outputs = Result(self.owner.module(*args, **kwargs)).tensors
        for buffer, was in zip(self.held.buffers, before):
            buffer.copy_(was)
        pairs = [pair for pair in zip(outputs, gradients) if pair[1] is not None and pair[0].requires_grad]
        found = iter(torch.autograd.grad([output for output, _ in pairs], wanted, [gradient for _, gradient in pairs],
                                         allow_unused=True))
        return [next(found) if need else None for need in needs]

    def prepare(self, key, args, kwargs, tensors, training):
        """What is done for a call that comes for the first time: prepared calls, and the results that this one shall have, if
        it made its variant; else None."""
        for i, tensor in enumerate(tensors):
            if tensor.layout != torch.strided:
                raise ModuleIOError(f"tensor {i} of the arguments is {tensor.layout}; modc.Module takes dense tensors")
            if not tensor.is_cpu:
                self.owner.wrong_device(i, tensor)
        (given, modes, _), grad = key, _grad_enabled()
        rough = (without_extents(given), modes, self.held.trainable())
        with reading.lock:
            if key in self.calls:  # by another thread, meanwhile
                return self.calls[key], None
            schema = self.schemas.get(rough)
            if schema is None:
                schema = self.schemas[rough] = Schema(self, modes)
            with torch.inference_mode(False), torch.set_grad_enabled(grad):  # whose tensors have no versions
                prepared = schema.prepared(args, kwargs, tensors, training)
            expected, prepared.variant.expected = prepared.variant.expected, None
            self.functions = prepared.compiled.functions
            Run.forward, Run.backward = self.functions.forward, self.functions.backward
            self.owner.count_variants()
            with self.owner.lock:
                if len(self.calls) >= CALLS_HELD:
                    self.calls.clear()
                    self.owner.forget()
                self.calls[key] = prepared
        return prepared, expected


def without_extents(key):
    """The rank in the place of a tensor's shape."""
    if type(key) is torch.Size:
        return len(key)
    return tuple(map(without_extents, key)) if type(key) is tuple else key


DELEGATED = ("state_dict", "parameters", "named_parameters", "buffers", "named_buffers", "named_children", "modules", "named_modules",
             "get_parameter", "get_buffer", "get_submodule")
OWN = {"_modc", "training"}


class State:
    """All of a modc.Module that is not the user's model."""

    def __init__(self, wrapper, module, hooks, fallback, options, cc, cflags):
        self.module, self.fallback, self.options, self.cc, self.cflags = module, fallback, options, cc, cflags
        self.hooks = Hooks(module) if hooks else None
        self.with_hooks = bool(hooks)
        self.libraries = Libraries(options, cc, cflags)
        self.runner, self.told = None, False
        with_lock(self, threading.RLock)  # of what calls share: for a moment, never while a model runs or waits to be read
        self.table, self.remembered = tables.State(id(self)), []  # prepared calls that C finds by itself

    @property
    def held(self):
        return self.runner.held

    def forget(self):
        """C finds no calls from now on."""
        with self.lock:
            self.table.first = None
            for prepared in self.remembered:
                prepared.table.next = None
            self.remembered.clear()

    def remember(self, prepared, args, kwargs):
        """Lets C find calls with these arguments from now on, if it can."""
        saves = prepared.training is not None
        if prepared in self.remembered or not prepared.held.watched or self.fallback.reason is not None \
                or saves and (self.fallback.repeats or not prepared.training.tensors):
            return
        with self.lock:
            runner = self.runner
            if runner is None or prepared.held is not runner.held or saves and prepared.training.wants != runner.training.wants \
                    or prepared in self.remembered or not prepared.expect(args, kwargs, APPLY):
                return
            if len(self.remembered) >= CALLS_QUICK:
                self.forget()
            prepared.table.next, self.table.first = self.table.first, prepared.number
            self.remembered.append(prepared)

    def quick(self):
        """C's function that finds them, and calls run() for others."""
        return tables.functions().builtin("quick", (ctypes.addressof(self.table), self))

    def changed(self):
        """The model has to be read again."""
        with self.lock:
            self.forget()
            self.runner = None

    def take(self, error):
        self.forget()
        self.fallback.take(error)

    def wrong_device(self, index, tensor):
        raise ModuleDeviceException(f"tensor {index} of the arguments lies on {tensor.device}; modc.Module computes on the CPU")

    def count_variants(self):
        count = len(self.libraries.known)
        if count >= MANY and not self.told:
            self.told = True
            warn(f"modc.Module has compiled {count} variants of this module: each new set of types and of numbers that are no "
                 "tensors makes one")

    def run(self, *args, **kwargs):
        """A call that C does not know."""
        fallback = self.fallback
        if fallback.reason is not None:
            return self.module(*args, **kwargs)
        try:
            return self.run_by_modc(args, kwargs)
        except Exception as error:
            cause = wrapped(error)
            if not fallback.covers(cause):
                if cause is error:
                    raise
                raise cause from error
        result = self.module(*args, **kwargs)  # what is wrong with the call itself ends here, as in PyTorch
        self.take(cause)
        return result

    def run_by_modc(self, args, kwargs):
        if is_autocast_enabled() and is_cpu_autocast_enabled():
            raise ModuleTorchModelException("autocast is enabled, which modc.Module does not follow: convert the model by .bfloat16() or "
                                            ".half() instead, or leave autocast for this call")
        with self.lock:
            runner = self.runner
            version = CHANGED if runner is None else runner.held.look()
            for _ in range(READINGS):
                if version is not CHANGED:
                    break
                self.forget()
                runner = self.runner = Runner(self)
                version = runner.held.look()
            else:
                raise ModuleTorchModelException("the model gets other tensors or modules while modc.Module reads which it has")
        return runner.run(args, kwargs, version)


class Module(torch.nn.Module):
    """The user's module, run by modc: net = modc.Module(model), and then as model is used: with any loss, any torch.optim, in
    training and evaluation mode. Its parameters are those of the model itself.

    hooks: hooks on inner modules fire (they do not otherwise, and a warning says so). fallback: a modc.FallbackPolicy, for what
    causes the model runs in PyTorch instead, once a warning has said so; retry: each call tries modc again. debug:
    modc.DebugOptions. cc, cflags: as in modc.compile. What C cannot know: writes to `parameter.data` in place, after which
    net.changed() is called.
    """

    def __init__(self, module, *, hooks=False, fallback=None, retry=None, debug=None, cc=None, cflags=None):
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"modc.Module takes a torch.nn.Module, not a {type(module).__name__}")
        if isinstance(module, torch.nn.DataParallel):
            raise TypeError("modc.Module does not take DataParallel: wrap the modc.Module in DistributedDataParallel instead")
        if isinstance(module, Module):
            raise TypeError("this is a modc.Module already")
        if debug is not None and not isinstance(debug, DebugOptions):
            raise TypeError(f"debug is a {type(debug).__name__}, not modc.DebugOptions")
        super().__init__()
        self._begin(module, hooks, Fallback(fallback, retry), debug or DebugOptions(), cc, cflags)
        own = set(dir(type(self))) - set(dir(torch.nn.Module))
        both = sorted(name for name in own if not name.startswith("_")
                      and (name in vars(module) or hasattr(type(module), name)) and name != "forward")
        if both:
            warn(f"attributes of the module that modc.Module has, too, and which hide them: {', '.join(both)}")
        if not executable().exists():
            self._handle(ModuleInitException(f"the command of modc is not at {executable()}: build or install modc"))

    def _begin(self, module, hooks, fallback, options, cc, cflags):
        object.__setattr__(self, "_modc", State(self, module, hooks, fallback, options, cc, cflags))
        object.__setattr__(self, "training", module.training)
        object.__setattr__(self, "_quick", None)

    def _handle(self, error):
        """Raises what the policy does not cover."""
        if not self._modc.fallback.covers(error):
            raise error
        self._modc.take(error)

    def forward(self, *args, **kwargs):
        quick = self._quick
        if quick is None:
            if not self._modc.remembered:
                return self._modc.run(*args, **kwargs)
            quick = self.__dict__["_quick"] = self._modc.quick()
            if type(self).forward is Module.forward:
                self.__dict__.setdefault("forward", quick)  # without this frame, from now on
        return quick(*args, **kwargs)

    @property
    def module(self):
        """The user's module."""
        return self._modc.module

    def changed(self):
        """To be called behind what PyTorch does not count: writes to `parameter.data` in place, and attributes of inner modules."""
        self._modc.changed()

    # ---- as the user's module

    def __getattr__(self, name):
        state = self.__dict__.get("_modc")
        if state is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        found = getattr(state.module, name)
        if isinstance(found, types.MethodType) and found.__self__ is state.module and not hasattr(torch.nn.Module, name):
            return types.MethodType(found.__func__, self)  # so that its calls of self(...) run here
        return found

    def __setattr__(self, name, value):
        state = self.__dict__.get("_modc")
        if state is None or name in OWN or name in self.__dict__ or hasattr(type(self), name):
            object.__setattr__(self, name, value)
            return
        setattr(state.module, name, value)
        state.changed()

    def __delattr__(self, name):
        if name in self.__dict__:
            object.__delattr__(self, name)
            return
        delattr(self._modc.module, name)
        self._modc.changed()

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._modc.module)})

    def __repr__(self):
        return f"modc.Module(\n  (module): {repr(self._modc.module)}\n)".replace("\n", "\n  ").replace("\n  )", "\n)") \
            if "_modc" in self.__dict__ else super().__repr__()

    def __getstate__(self):
        state = self._modc
        kept = {name: item for name, item in self.__dict__.items() if name not in ("_modc", "_quick")}
        if self._quick is not None and kept.get("forward") is self._quick:
            del kept["forward"]
        return {"kept": kept, "module": state.module, "hooks": state.with_hooks, "policy": state.fallback.policy,
                "retry": state.fallback.retry, "options": state.options, "cc": state.cc, "cflags": state.cflags}

    def __setstate__(self, state):
        self.__dict__.update(state["kept"])
        fallback = Fallback(state["policy"], state["retry"])
        self._begin(state["module"], state["hooks"], fallback, state["options"], state["cc"], state["cflags"])

    def load_state_dict(self, state_dict, strict=True):
        return self._modc.module.load_state_dict(state_dict, strict=strict)

    def register_buffer(self, name, tensor, persistent=True):
        self._modc.module.register_buffer(name, tensor, persistent=persistent)
        self._modc.changed()

    def register_parameter(self, name, param):
        self._modc.module.register_parameter(name, param)
        self._modc.changed()

    def add_module(self, name, module):
        raise self._refused("add_module: a modc.Module wraps a whole model; add the module to that, before")

    register_module = add_module

    def _replicate_for_data_parallel(self):
        raise self._refused("DataParallel: a modc.Module is not replicated; wrap it in DistributedDataParallel")

    @staticmethod
    def _refused(text):
        error = ModuleTorchModelException(text)
        error.__cause__ = NotImplementedError(text)
        return error

    def train(self, mode=True):
        self._modc.module.train(mode)
        object.__setattr__(self, "training", self._modc.module.training)
        return self

    def _apply(self, fn, *args, **kwargs):
        self._modc.module._apply(fn, *args, **kwargs)
        self._modc.changed()
        return self

    def apply(self, fn):
        self._modc.module.apply(fn)
        return self


def _delegate(name):
    base = getattr(torch.nn.Module, name)

    def method(self, *args, **kwargs):
        return getattr(self._modc.module, name)(*args, **kwargs)
    method.__name__, method.__doc__, method.__qualname__ = name, base.__doc__, f"Module.{name}"
    setattr(Module, name, method)


for _name in DELEGATED:
    _delegate(_name)
