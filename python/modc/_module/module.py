"""modc.Module: a torch.nn.Module whose forward and backward run in emitted C, inside autograd.

The user's module stays as it is, with its own tensors: C is given their addresses (held.py). A call is looked up by its schema
(variant.py), which is compiled when it comes first (compiled.py).
"""
import copy
import threading
import types
import warnings

import torch
from torch.autograd.function import once_differentiable

from modc import executable
from modc._module.compiled import Compiled, Loan
from modc._module.fallback import (Fallback, ModuleDeviceException, ModuleInitException, ModuleIOError, ModuleSpecException,
                                   ModuleTorchModelException)
from modc._module.held import CHANGED, Held
from modc._module.hooks import Hooks
from modc._module.options import DebugOptions
from modc._module.structure import Result, flatten, replaced
from modc._module.variant import MANY, Libraries, Schema, foreign_hooks, wrapped

CALLS_HELD = 256


def _asks_autocast():
    """The function that says whether autocast is enabled for the CPU."""
    try:
        torch.is_autocast_enabled("cpu")
        return lambda asks=torch.is_autocast_enabled: asks("cpu")
    except TypeError:
        return torch.is_autocast_cpu_enabled


_autocast = _asks_autocast()
_any_autocast = getattr(torch._C, "_is_any_autocast_enabled", None) or _autocast
_one_at_a_time = threading.RLock()  # models are read by patching torch.nn.Module
_grad_enabled = torch.is_grad_enabled


class Run(torch.autograd.Function):
    """One forward in the graph of autograd. Its backward comes once: C keeps what that needs in the context."""

    @staticmethod
    def forward(ctx, runner, prepared, call, count, *tensors):
        """tensors: `count` arguments of the module, then its trained parameters. call: (args, kwargs), where PyTorch may have
        to run them again."""
        outputs, context, inputs = prepared.forward(tensors[:count], True)
        ctx.loan = Loan(context, runner, prepared, call, count)
        ctx.save_for_backward(*inputs)
        if len(outputs) > 1:
            ctx.set_materialize_grads(False)
        if prepared.fixed:
            ctx.mark_non_differentiable(*[outputs[i] for i in prepared.fixed])
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *gradients):
        return Run.once(ctx, *gradients) if _grad_enabled() else Run.gradients(ctx, *gradients)

    @staticmethod
    def gradients(ctx, *gradients):
        loan, needs = ctx.loan, ctx.needs_input_grad[4:]
        ctx.saved_tensors  # which C reads: PyTorch says if they were changed
        context, runner, prepared, held = loan.context, loan.runner, loan.prepared, loan.runner.held
        if context is None:
            raise RuntimeError("Trying to backward through a modc.Module a second time: what C keeps of a forward serves one backward, "
                               "with retain_graph=True too. Call the module again.")
        if held.versions(held.parameters) != loan.version:
            raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: a "
                               "parameter of a modc.Module was changed between its forward and backward")
        try:
            result = prepared.backward(context, gradients, prepared.adjoint(needs, held))
        except Exception as error:
            if loan.call is None or prepared.variant.random:  # whose numbers PyTorch would draw anew
                raise
            result = runner.backward_of_torch(loan.call, loan.count, needs, gradients)
            runner.owner.fallback.take(error)
        finally:
            loan.end()
        return (None, None, None, None, *result)

    once = staticmethod(once_differentiable(gradients.__func__))  # with create_graph=True: the next derivative is PyTorch's error


class Runner:
    """What belongs to one state of the user's model: its tensors, which of them are trained, the calls that are prepared."""

    def __init__(self, owner):
        self.owner, self.held = owner, Held(owner.module)
        self.held.check_device()
        self.version = self.epoch = None
        self.writes = 0  # calls that may have written buffers
        self.calls, self.schemas, self.compiled = {}, {}, {}
        self.trainable, self.trained, self.slots = None, [], {}
        self.last = None, None  # key and prepared calls
        if owner.hooks is None:
            for path, _, _ in foreign_hooks(owner.module):
                warnings.warn(f"hooks of the module '{path}' do not fire in modc.Module; with hooks=True they do", RuntimeWarning,
                              stacklevel=5)
                break

    def set_trainable(self, trainable):
        self.trainable = trainable
        numbers = [i for i, wants in enumerate(trainable) if wants]
        self.trained = [self.held.parameters[i] for i in numbers]
        self.slots = {number: slot for slot, number in enumerate(numbers)}

    def run(self, args, kwargs, version):
        """version: of the parameters, as held.look() said."""
        held, tensors, key = self.held, [], []
        for arg in args:  # what flatten does, for calls with tensors alone
            if type(arg) is not torch.Tensor:
                tensors = []
                key = flatten(args, tensors, "args")
                break
            tensors.append(arg)
            key += arg.shape, arg.dtype, arg.is_cpu, arg.layout
        else:
            key = tuple(key)
        if kwargs:
            key = (key, flatten(kwargs, tensors, "kwargs"))
        saves, trainable = False, None
        if _grad_enabled():
            trainable = held.trainable()
            if trainable != self.trainable:
                self.set_trainable(trainable)
            saves = bool(self.trained) or any(tensor.requires_grad for tensor in tensors)
        key = (key, held.modes, trainable if saves else None)
        last, prepared = self.last
        if key != last:
            prepared = self.calls.get(key)
            if prepared is None:
                return self.first(key, args, kwargs, tensors, saves, version)
            self.last = key, prepared
        return self.call(prepared, args, kwargs, tensors, saves, version)

    def first(self, key, args, kwargs, tensors, saves, version):
        """A call that comes for the first time. Its results are compared, if it made its variant."""
        held = self.held
        prepared, expected = self.prepare(key, args, kwargs, tensors, saves)
        variant = prepared.variant
        before = [buffer.clone() for buffer in held.buffers] if variant.mode else ()
        try:
            return self.call(prepared, args, kwargs, tensors, saves, version, expected and (
                lambda outputs: variant.check(outputs, expected, lambda: self.in_float64(args, kwargs, before))))
        except ModuleSpecException:
            with torch.no_grad():
                for buffer, was in zip(held.buffers, before):
                    buffer.copy_(was)
            self.calls.pop(key, None)
            self.last = None, None
            raise

    def call(self, prepared, args, kwargs, tensors, saves, version, check=None):
        held, compiled, variant = self.held, prepared.compiled, prepared.variant
        self.version, epoch = version, (held.buffer_version(), self.writes) if held.buffers else None
        if compiled.version != version or compiled.epoch != epoch or compiled.held is not held or compiled.copies:
            compiled.update(held, version, epoch)
        if saves:
            call = (args, kwargs) if self.owner.fallback.repeats else None
            outputs = Run.apply(self, prepared, call, len(tensors), *tensors, *self.trained)
        else:
            outputs = prepared.forward(tensors, False)[0]
        if variant.mode and held.buffers:
            self.writes += 1
            compiled.epoch = (epoch[0], self.writes)  # what it wrote itself, it knows
            if compiled.copies:
                compiled.write_back()
        if check is not None:
            check(outputs)
        return variant.result.make(outputs)

    def in_float64(self, args, kwargs, buffers):
        """The results of a copy of the model, with its buffers as they were."""
        model, tensors = copy.deepcopy(self.owner.module), []
        flatten((args, kwargs), tensors)
        wide = iter([tensor.detach().double() if tensor.is_floating_point() else tensor.detach() for tensor in tensors])
        with torch.no_grad():
            for buffer, was in zip(Held(model).buffers, buffers):
                buffer.copy_(was)
            return Result(model.double()(*replaced(args, wide), **replaced(kwargs, wide))).tensors

    def backward_of_torch(self, call, count, needs, gradients):
        """The gradients of a call's tensors and of the trained parameters, by PyTorch, which runs the module again for that."""
        tensors = []
        flatten(call, tensors)
        given = [tensor.detach().requires_grad_(need) for tensor, need in zip(tensors, needs)]
        args, kwargs = replaced(call, iter(given))
        wanted = [tensor for tensor, need in zip([*given, *self.trained], needs) if need]
        before = [buffer.clone() for buffer in self.held.buffers]
        with torch.enable_grad():
            outputs = Result(self.owner.module(*args, **kwargs)).tensors
        for buffer, was in zip(self.held.buffers, before):
            buffer.copy_(was)
        pairs = [pair for pair in zip(outputs, gradients) if pair[1] is not None and pair[0].requires_grad]
        found = iter(torch.autograd.grad([output for output, _ in pairs], wanted, [gradient for _, gradient in pairs],
                                         allow_unused=True))
        return [next(found) if need else None for need in needs]

    def prepare(self, key, args, kwargs, tensors, saves):
        """What is done for a call that comes for the first time: prepared calls, and the results that this one shall have, if
        it made its variant; else None."""
        for i, tensor in enumerate(tensors):
            if tensor.layout != torch.strided:
                raise ModuleIOError(f"tensor {i} of the arguments is {tensor.layout}; modc.Module takes dense tensors")
            if not tensor.is_cpu:
                self.owner.wrong_device(i, tensor)
        modes, grad = self.held.modes, _grad_enabled()
        rough = (without_extents(key[0]), modes, self.held.trainable())
        with _one_at_a_time:
            schema = self.schemas.get(rough)
            if schema is None:
                schema = self.schemas[rough] = Schema(self.owner, modes)
            with torch.inference_mode(False), torch.set_grad_enabled(grad):  # whose tensors have no versions
                prepared = schema.prepared(args, kwargs, tensors, saves)
            expected, prepared.variant.expected = prepared.variant.expected, None
        if len(self.calls) >= CALLS_HELD:
            self.calls.clear()
        self.calls[key], prepared.slots = prepared, self.slots if saves else {}
        self.owner.count_variants()
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

    @property
    def held(self):
        return self.runner.held

    def compiled(self, text, saves, tables, mode):
        """Of the tensors that the model has now: a graph of earlier ones keeps those that it was made with."""
        known = self.runner.compiled
        if (text, saves) not in known:
            known[text, saves] = Compiled(*self.libraries.get(text, saves, tables, mode), saves)
            self.runner.held.watch(known[text, saves].library)
        return known[text, saves]

    def wrong_device(self, index, tensor):
        raise ModuleDeviceException(f"tensor {index} of the arguments lies on {tensor.device}; modc.Module computes on the CPU")

    def count_variants(self):
        count = len(self.libraries.known)
        if count >= MANY and not self.told:
            self.told = True
            warnings.warn(f"modc.Module has compiled {count} variants of this module: each new set of types and of numbers that are no "
                          "tensors makes one", RuntimeWarning, stacklevel=6)

    def run(self, args, kwargs):
        if _any_autocast() and _autocast():
            raise ModuleTorchModelException("autocast is enabled, which modc.Module does not follow: convert the model by .bfloat16() or "
                                            ".half() instead, or leave autocast for this call")
        runner = self.runner
        version = CHANGED if runner is None else runner.held.look()
        if version is CHANGED:
            runner = self.runner = Runner(self)
            version = runner.held.look()
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
            warnings.warn(f"attributes of the module that modc.Module has, too, and which hide them: {', '.join(both)}",
                          RuntimeWarning, stacklevel=2)
        if not executable().exists():
            self._handle(ModuleInitException(f"the command of modc is not at {executable()}: build or install modc"))

    def _begin(self, module, hooks, fallback, options, cc, cflags):
        object.__setattr__(self, "_modc", State(self, module, hooks, fallback, options, cc, cflags))
        object.__setattr__(self, "training", module.training)

    def _handle(self, error):
        """Raises what the policy does not cover."""
        if not self._modc.fallback.covers(error):
            raise error
        self._modc.fallback.take(error)

    def forward(self, *args, **kwargs):
        state = self._modc
        fallback = state.fallback
        if fallback.reason is not None:
            return state.module(*args, **kwargs)
        try:
            return state.run(args, kwargs)
        except Exception as error:
            cause = wrapped(error)
            if not fallback.covers(cause):
                if cause is error:
                    raise
                raise cause from error
        result = state.module(*args, **kwargs)  # what is wrong with the call itself ends here, as in PyTorch
        fallback.take(cause)
        return result

    @property
    def module(self):
        """The user's module."""
        return self._modc.module

    def changed(self):
        """To be called behind what PyTorch does not count: writes to `parameter.data` in place, and attributes of inner modules."""
        self._modc.runner = None

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
        state.runner = None

    def __delattr__(self, name):
        if name in self.__dict__:
            object.__delattr__(self, name)
            return
        delattr(self._modc.module, name)
        self._modc.runner = None

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._modc.module)})

    def __repr__(self):
        return f"modc.Module(\n  (module): {repr(self._modc.module)}\n)".replace("\n", "\n  ").replace("\n  )", "\n)") \
            if "_modc" in self.__dict__ else super().__repr__()

    def __getstate__(self):
        state = self._modc
        kept = {name: item for name, item in self.__dict__.items() if name != "_modc"}
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
        self._modc.runner = None

    def register_parameter(self, name, param):
        self._modc.module.register_parameter(name, param)
        self._modc.runner = None

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
        self._modc.runner = None
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
