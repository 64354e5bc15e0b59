"""Runs a model once and writes down what it does, in the words in which it does it.

Every function of PyTorch that the model calls is seen as it is called (TorchFunctionMode), with its arguments, its result and
the place in the source; every call of a module opens a scope, but for those that modc has as classes of torch.nn. Values are
those of the run, so that Python's own control flow goes as it goes; sizes are Extents. What depends on the values of tensors
cannot be told from one run, and is an error that says where.
"""
import ast
import contextlib
import linecache
import dataclasses
import os
import random
import sys
import threading

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from modc._context import with_lock
from modc._errors import ExportError
from modc._export.backward import differentiates
from modc._export.extent import Expression, Extent, plain
from modc._export.hidden import Hidden, level


class Reading:
    """Runs are read one at a time: by patching PyTorch, for their own thread alone."""


reading = Reading()
with_lock(reading, threading.RLock)



class Place:
    """Where in the model's source something was called."""
    __slots__ = ("file", "line", "frame", "names")

    def __init__(self, file, line, frame=0, names=None):
        self.file, self.line, self.frame, self.names = file, line, frame, names

    def __str__(self):
        return f"{self.file}:{self.line}"

    @property
    def text(self):
        return linecache.getline(self.file, self.line).strip()


class Value:
    """A tensor of the run. kind: 'input', 'argument', 'parameter', 'buffer', 'state', 'constant' or 'result'."""

    def __init__(self, tensor, kind, path=None, call=None, index=None):
        self.tensor, self.kind, self.path, self.call, self.index = tensor, kind, path, call, index
        self.fixed = kind == "constant"  # whether its values depend on no input, parameter or buffer
        self.names = {}  # by scope: what the source calls it there, in the order in which it was seen
        self.given = tensor  # of an input: the caller's tensor, of which `tensor` is a copy
        self.uniform = False  # whether it holds random numbers from 0 to 1
        self.inner = None  # of the result of a module: the value that its own scope returned
        self.moving = {}  # by axis that calls choose: the SizeValue of it

    def named(self, scope=None):
        """Its names, those of a scope first."""
        return [*self.names.get(scope, ()), *(name for other, names in self.names.items() if other is not scope for name in names)]


class SizeValue(Value):
    """A dimension of another Value, as a number that modules give each other."""

    def __init__(self, value, axis):
        super().__init__(None, "size")
        self.value, self.axis, self.inner = value, axis, self

    @property
    def expression(self):
        return Expression("dim", self.value, self.axis)


class Call:
    """A function of PyTorch, or a module (`module` is its path), that was called.

    results: Values in the order of the structure `shape`, which is None for a single one, else 'tuple' or names. effect: whether
    it changes a tensor in place."""

    def __init__(self, name, args, kwargs, place, scope):
        self.name, self.args, self.kwargs, self.place, self.scope = name, args, kwargs, place, scope
        self.module = self.child = None
        self.results, self.structure, self.effect = [], None, False

    @property
    def flat(self):
        """Whether it gives its results in order, whatever they lie in."""
        return self.child is not None or self.name == "extern"


class Scope:
    """One call of a module with a forward of its own: what it was given, what it called, what it returned."""

    def __init__(self, module, path, parent):
        self.module, self.path, self.parent = module, path, parent
        self.calls, self.given, self.returned, self.call = [], ((), {}), None, None


# Questions about a tensor that are answered as ever and written nowhere.
SILENT = {f"torch.Tensor.{name}" for name in """dtype.__get__ device.__get__ layout.__get__ is_cuda.__get__ requires_grad.__get__
    grad_fn.__get__ is_leaf.__get__ grad.__get__ is_sparse.__get__ is_quantized.__get__ is_contiguous is_floating_point is_complex
    names.__get__ _version.__get__ is_meta.__get__ is_mkldnn.__get__ is_nested.__get__ storage untyped_storage data_ptr
    element_size is_conj is_neg requires_grad_ register_hook retain_grad is_inference stride get_device is_cpu.__get__
    output_nr.__get__ itemsize.__get__ nbytes.__get__ is_xpu.__get__ is_mps.__get__ __repr__ is_pinned storage_offset
    is_same_size is_shared is_xla.__get__ is_vulkan.__get__ is_ipu.__get__ is_hpu.__get__ is_mtia.__get__""".split()}
SILENT |= {"torch.device", "torch.is_floating_point", "torch.is_complex", "torch.is_tensor", "torch.is_same_size", "torch.result_type",
           "torch.promote_types", "torch.can_cast", "torch.get_default_dtype", "torch.broadcast_shapes", "torch.is_nonzero"}
VALUES = {f"torch.Tensor.{name}" for name in """__bool__ __int__ __float__ __index__ item tolist __contains__ numpy __array__
    __complex__ equal allclose""".split()} | {"torch.equal", "torch.allclose"}
SIZES = {f"torch.Tensor.{name}" for name in "shape.__get__ size dim ndim.__get__ ndimension numel nelement __len__".split()}
TAKES_SIZES = {"view", "reshape", "expand", "repeat", "split", "chunk", "narrow", "unflatten", "broadcast_to", "new_zeros", "new_ones",
               "new_full", "as_strided"}
IN_PLACE = {"torch.Tensor.__setitem__", "torch.Tensor.copy_"}
RANDOM = set("""rand randn rand_like randn_like randint randint_like randperm bernoulli multinomial normal dropout dropout1d dropout2d
    dropout3d alpha_dropout feature_dropout feature_alpha_dropout rrelu gumbel_softmax bernoulli_ uniform_ normal_ exponential_ random_
    log_normal_ cauchy_ geometric_ fractional_max_pool2d fractional_max_pool3d""".split())
UNIFORM = {"rand", "rand_like"}  # from 0 to 1, 1 left out
COMPARED = {"lt", "__lt__", "less", "ge", "__ge__", "greater_equal"}  # which a number of at most 0 or at least 1 decides


OPERATORS = (torch._ops.OpOverloadPacket, torch._ops.OpOverload)  # torch.ops.space.name
SCRIPTED = "a torch.jit.ScriptModule is compiled, so that no function of Python's is called"
FROM_PYTHON = "export the module that it was made of"


def is_in_place(name, kwargs):
    last = name.rsplit(".", 1)[-1]
    return name in IN_PLACE or (last.endswith("_") and not last.endswith("__")) or last.startswith("__i") and last not in (
        "__invert__", "__index__", "__int__", "__iter__") or kwargs.get("inplace") is True


def own_file(file):
    """Whether a frame is of PyTorch, of this package, or of Python itself, and so no part of the model's source."""
    return file.startswith(OTHERS) or file.startswith("<")


_TORCH = os.path.dirname(torch.__file__)
OTHERS = (_TORCH + os.sep, os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
          os.path.dirname(os.__file__) + os.sep + "contextlib")

OVERRIDES = torch.overrides.__file__
_targets = {}


def targets_of(file):
    """By position of an expression in a source file (line, column, end line, end column): the names that it is assigned to."""
    found = _targets.get(file)
    if found is None:
        found = _targets[file] = {}
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError):
            return found
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                target = node.target
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found[node.lineno, node.col_offset, node.end_lineno, node.end_col_offset] = (node.target.id,)
                continue
            else:
                continue
            value = node.value
            names = None
            if isinstance(target, ast.Name):
                names = (target.id,)
            elif isinstance(target, (ast.Tuple, ast.List)) and all(isinstance(item, ast.Name) for item in target.elts):
                names = tuple(item.id for item in target.elts)
            if names and value is not None:
                found[value.lineno, value.col_offset, value.end_lineno, value.end_col_offset] = names
                if isinstance(target, (ast.Tuple, ast.List)):  # unpacking is an instruction of its own
                    found[target.lineno, target.col_offset, target.end_lineno, target.end_col_offset] = names
    return found


_asserts = {}


def is_asserted(place):
    """Whether a place is in an `assert`, which says something of values but gives none."""
    lines = _asserts.get(place.file)
    if lines is None:
        lines = _asserts[place.file] = set()
        try:
            tree = ast.parse("".join(linecache.getlines(place.file)))
        except (SyntaxError, ValueError):
            return False
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert):
                lines.update(range(node.lineno, node.end_lineno + 1))
    return place.line in lines


def place_of(frame):
    """The place of the innermost frame that belongs to the model."""
    while frame is not None and own_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None, None
    names = None
    code = frame.f_code
    if hasattr(code, "co_positions") and frame.f_lasti >= 0:
        positions = next(iter(_nth(code, frame.f_lasti // 2)), None)
        if positions is not None and None not in positions:
            line, end_line, column, end_column = positions
            names = targets_of(code.co_filename).get((line, column, end_line, end_column))
    return Place(code.co_filename, frame.f_lineno, id(frame), names), frame


def _nth(code, index):
    cache = _positions.get(code)
    if cache is None:
        cache = _positions[code] = list(code.co_positions())
    return cache[index:index + 1]


_positions = {}


def snapshot(item):
    """The same structure, which stays as it is when the model changes its lists and dicts."""
    if type(item) is list:
        return [snapshot(part) for part in item]
    if type(item) is tuple:
        return tuple(snapshot(part) for part in item)
    if type(item) is dict:
        return {key: snapshot(part) for key, part in item.items()}
    return item


def tensors_of(item, found):
    """The tensors in a structure of lists, tuples, dicts and dataclass-like objects, in order."""
    if isinstance(item, torch.Tensor):
        found.append(item)
    elif isinstance(item, dict):
        for part in item.values():
            tensors_of(part, found)
    elif isinstance(item, (list, tuple)):
        for part in item:
            tensors_of(part, found)
    elif dataclasses.is_dataclass(item) and not isinstance(item, type):
        for field in dataclasses.fields(item):
            tensors_of(getattr(item, field.name, None), found)
    return found


def copied(item, made):
    """The same structure of copies, so that the caller's tensors stay as they are. made: by id of a tensor, (it, its copy)."""
    if isinstance(item, torch.Tensor):
        if id(item) not in made:
            made[id(item)] = item, item.detach().clone()
        return made[id(item)][1]
    if type(item) in (list, tuple):
        return type(item)([copied(part, made) for part in item])
    if isinstance(item, dict):
        return type(item)((key, copied(part, made)) for key, part in item.items())
    return item


class Dependence(TorchDispatchMode):
    """Follows, below all of PyTorch's functions, which memory depends on inputs, parameters or buffers. see(function, args,
    kwargs, result): is told what was called with such."""

    def __init__(self, tensors, see):
        super().__init__()
        self.depends, self.see = {}, see
        for tensor in tensors:
            self.note(tensor, True)

    @staticmethod
    def key(tensor):
        try:
            return tensor.untyped_storage().data_ptr() if hasattr(tensor, "untyped_storage") else tensor.storage().data_ptr()
        except (RuntimeError, NotImplementedError):
            return 0

    def note(self, tensor, depends):
        self.depends[self.key(tensor)] = depends

    def of(self, tensor):
        return self.depends.get(self.key(tensor), False)

    supports_higher_order_operators = True

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not hasattr(function, "_schema"):
            self.see(function, args, kwargs, None)
        result = function(*args, **(kwargs or {}))
        given = tensors_of((args, kwargs or {}), [])
        depends = any(self.of(tensor) for tensor in given)
        held = {self.key(tensor) for tensor in given}
        for tensor in tensors_of(result, []):
            if depends or self.key(tensor) not in held:  # a view of what is fixed stays as that is
                self.note(tensor, depends)
        if depends and str(function).rsplit(".", 2)[-2].endswith("_") and given:
            self.note(given[0], True)
        self.see(function, args, kwargs or {}, result)
        return result


def held_by(model):
    """Tensors in attributes of modules, also in lists and dicts there, by id."""
    found = {}

    def walk(item, depth):
        if isinstance(item, torch.Tensor):
            found[id(item)] = item
        elif depth < 4 and isinstance(item, dict):
            for part in item.values():
                walk(part, depth + 1)
        elif depth < 4 and isinstance(item, (list, tuple)):
            for part in item:
                walk(part, depth + 1)

    for module in model.modules():
        for name, item in vars(module).items():
            if name not in ("_modules", "_parameters", "_buffers"):
                walk(item, 0)
    return found


@contextlib.contextmanager
def undisturbed(model):
    """A block after which a model has the buffers, attributes and modes, and PyTorch the random numbers, that they had before."""
    held = [(module, dict(vars(module)), dict(module._buffers)) for module in model.modules()
            if not isinstance(module, torch.jit.ScriptModule)]
    tensors = {**held_by(model), **{id(tensor): tensor for tensor in model.buffers()}}
    copies = [(tensor, tensor.detach().clone()) for tensor in tensors.values()]
    state = torch.get_rng_state()
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, copy in copies:
                tensor.copy_(copy)
        for module, attributes, buffers in held:
            vars(module).clear()
            vars(module).update(attributes)
            module._buffers.clear()
            module._buffers.update(buffers)
        torch.set_rng_state(state)


def named_tensors(model, kind):
    """(path, tensor) of all parameters or buffers, those that are the same one included."""
    for path, module in model.named_modules(remove_duplicate=False):
        for name, tensor in (module._parameters if kind == "parameter" else module._buffers).items():
            if tensor is not None:
                yield f"{path}.{name}" if path else name, tensor


class Tracer(TorchFunctionMode):
    """The run of one model. is_leaf(module): whether modc has its class, so that its call is not looked into. left: by path,
    what is not looked into since it cannot be read."""

    def __init__(self, model, is_leaf, left):
        super().__init__()
        self.model, self.is_leaf, self.left = model, is_leaf, left
        self.mode, self.left_calls = model.training, {path: [] for path in left}
        self.values, self.kept = {}, []  # by id of a tensor, which is kept so that the id stays its own
        self.paths, self.paused, self.hidden = {}, 0, Hidden(Dependence.key, tensors_of)
        self.aside = 0  # whether what is left runs, as it does without being looked at
        for path, module in model.named_modules(remove_duplicate=False):
            self.paths.setdefault(id(module), path)
        for kind in ("parameter", "buffer"):
            for path, tensor in named_tensors(model, kind):
                if id(tensor) not in self.values:
                    self.keep(Value(tensor, kind, path))
        self.scope, self.root, self.decisions, self.draws = None, None, [], []
        self.held = held_by(model)
        self.written = {}  # (path of a module, name): what the attribute was at first, of attributes that were set to tensors
        self.changed = {}  # id: held tensors that were changed in place
        self.asked = {}  # id: (tensor, place) of tensors whose values were asked for
        self.functions = {}  # name: (place, torch.autograd.Function, its arguments); behind the run: place, of those whose
        # backward is not that of their forward

    def keep(self, value):
        self.values[id(value.tensor)] = value
        self.kept.append(value)
        return value

    def remember(self, at, given):
        """What each tensor was when a call or scope got it: the same tensor is another value outside of the module that made
        it."""
        at.seen = {id(tensor): self.values[id(tensor)] for tensor in tensors_of(given, []) if id(tensor) in self.values}

    def seen_by(self, tensor, at):
        return getattr(at, "seen", {}).get(id(tensor)) or self.values.get(id(tensor))

    # ---- a run

    def run(self, args, kwargs):
        """Calls the model; afterwards `root` is its scope."""
        original, decided, tracer, thread = torch.nn.Module.__call__, Extent.decided, self, threading.get_ident()

        def is_foreign():
            """Whether another thread calls, which goes on as ever."""
            return threading.get_ident() != thread

        def call(module, *args, **kwargs):
            if is_foreign():
                return original(module, *args, **kwargs)
            return tracer.call_module(original, module, args, kwargs)

        def set_attribute(module, name, item):
            if is_foreign():
                return setting(module, name, item)
            before = module._buffers.get(name, vars(module).get(name))
            setting(module, name, item)
            tracer.note_attribute(module, name, item, before)

        def apply(kind, *args, **kwargs):
            if not is_foreign() and not tracer.paused and kind.__name__ != "CheckpointFunction":  # with the gradients of what it calls
                tracer.note_function(kind, args, kwargs)
            return applying.__get__(None, kind)(*args, **kwargs)

        def patch(owner, name, function):
            """function(before, ...) in this thread."""
            before = getattr(owner, name)
            changed.append((owner, name, before))
            setattr(owner, name, lambda *args, **kwargs: before(*args, **kwargs) if is_foreign() else function(before, *args, **kwargs))

        setting = torch.nn.Module.__setattr__
        applying = next(vars(kind)["apply"] for kind in torch.autograd.Function.__mro__ if "apply" in vars(kind))
        changed = [(torch.nn.Module, "__call__", original), (torch.nn.Module, "__setattr__", setting)]
        torch.nn.Module.__call__, torch.nn.Module.__setattr__ = call, set_attribute
        changed.append((torch.autograd.Function, "apply", vars(torch.autograd.Function).get("apply")))
        torch.autograd.Function.apply = classmethod(apply)
        for owner, name in ((getattr(torch, "compiler", None), "is_compiling"), (getattr(torch, "compiler", None), "is_exporting")):
            if owner is not None and hasattr(owner, name):  # as torch.export reads a model: without questions about values
                patch(owner, name, lambda before: self.aside == 0)
        # one value a channel is enough to see what is done with it
        patch(torch.nn.functional, "_verify_batch_size", lambda before, size: None)
        for name in ("random", "uniform", "randint", "randrange", "choice", "gauss", "sample", "shuffle"):
            patch(random, name, self.refuses_random(name))
        if not self.sees_subscripts():
            for name in ("__getitem__", "__setitem__"):
                patch(torch.Tensor, name, lambda before, *args: self.__torch_function__(before, (), args))
        Extent.decided = self.decide
        self.dependence = Dependence([value.tensor for value in self.kept], self.see_operator)
        try:
            with torch.no_grad(), self.dependence, self:
                return self.model(*args, **kwargs)
        finally:
            for owner, name, before in changed:
                if before is None:  # inherited
                    delattr(owner, name)
                else:
                    setattr(owner, name, before)
            Extent.decided = decided

    def note_function(self, kind, args, kwargs):
        if kind.__name__ not in self.functions:
            self.paused += 1
            given = copied(plain(args), {}), copied({key: plain(item) for key, item in kwargs.items()}, {})
            self.paused -= 1
            self.functions[kind.__name__] = place_of(sys._getframe(2))[0], kind, given

    def refuses_random(self, name):
        def refuse(function, *args, **kwargs):
            if self.paused:
                return function(*args, **kwargs)
            self.fail(f"the model asks Python for a random number (random.{name}), and what it does with it is not in the tensors",
                      "draw with torch.rand, and choose by multiplying or torch.where")
        return refuse

    @staticmethod
    def sees_subscripts():
        """Whether x[0] of a plain tensor comes to a mode: in PyTorch 1.13 it does not."""
        seen = []

        class Probe(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function)
                return function(*args, **(kwargs or {}))

        with Probe():
            torch.zeros(1)[0]
        return len(seen) > 1

    def see_operator(self, function, args, kwargs, result):
        if not hasattr(function, "_schema"):
            self.fail(f"the model calls torch.{function}, which chooses among functions when it runs",
                      "choose by torch.where, or let an argument of the module decide")
        if self.scope is not None and not self.paused:
            place, _ = place_of(sys._getframe(1))
            self.hidden.note(function, args, kwargs, result, place)

    def fail(self, cause, hint=None, place=None):
        if place is None:
            place, _ = place_of(sys._getframe(1))
        raise ExportError(cause, place, self.scope.path if self.scope else "", hint)

    def decide(self, symbol, left, right, outcome):
        if self.scope is not None and not self.paused:
            place, _ = place_of(sys._getframe(2))
            self.decisions.append((symbol, left, right, outcome, self.scope, place))

    # ---- what stays behind a call

    def note_attribute(self, module, name, item, before):
        """`self.NAME = tensor` in a forward."""
        path = self.paths.get(id(module))
        if self.scope is None or self.paused or path is None or item is before or not isinstance(item, torch.Tensor) \
                or isinstance(item, torch.nn.Parameter):
            return
        place, frame = place_of(sys._getframe(2))
        self.see_names(frame)
        self.note_inputs((item,), {})
        self.written.setdefault((path, name), before)
        call = Call("setattr", (item,), {}, place, self.scope)
        call.effect, call.module, call.path = True, None, f"{path}.{name}" if path else name
        self.remember(call, (item,))
        self.scope.calls.append(call)

    def finish(self):
        """Behind a run: held tensors that it changed are state, and attributes that nothing reads are forgotten."""
        states, read = {}, set()

        def look(scope):
            for call in scope.calls:
                read.update(map(id, tensors_of((getattr(call, "args", ()), getattr(call, "kwargs", ())), [])))
                if getattr(call, "child", None) is not None:
                    look(call.child)
        look(self.root)
        for (path, name), before in self.written.items():
            module = self.model.get_submodule(path)
            value = self.values.get(id(before)) if isinstance(before, torch.Tensor) else None
            if value is not None and value.kind == "constant" and name not in module._buffers and id(before) in read:
                states[id(before)] = f"{path}.{name}" if path else name
        for key, (tensor, place, scope) in self.changed.items():
            path = next((f"{path}.{name}" if path else name for path, module in self.model.named_modules()
                         for name, item in self.before.get(path, {}).items() if item is tensor), None)
            if path is None:
                raise ExportError("a tensor in a list or dict of a module is changed in place", place, scope.path,
                                  "keep it as an attribute of its own, or as a buffer")
            states[key] = path
        for key, path in states.items():
            value = self.values[key]
            value.kind, value.path, value.fixed = "state", path, False
        for key in self.derived(states) & set(self.asked) if self.asked else ():
            place = self.asked[key][1]
            if place is None or not is_asserted(place):
                raise ExportError("the model asks for the values of a tensor that it changes", place, "",
                                  "choose by torch.where, or let an argument of the module decide")
        kept = {path for path in states.values()}
        saved = set(self.model.state_dict())
        kept |= {path for path, tensor in named_tensors(self.model, "buffer") if path in saved or id(tensor) in read}
        self.states = {path: self.values[key] for key, path in states.items()}

        def clean(scope):
            scope.calls = [call for call in scope.calls if getattr(call, "name", "") != "setattr" or call.path in kept]
            for call in scope.calls:
                if getattr(call, "child", None) is not None:
                    clean(call.child)
        clean(self.root)

    def derived(self, keys):
        """The ids of these tensors, and of all that was computed from them."""
        found = set(keys)

        def look(scope):
            for call in scope.calls:
                if getattr(call, "child", None) is not None:
                    look(call.child)
                given = tensors_of((getattr(call, "args", ()), getattr(call, "kwargs", ())), [])
                for value in call.results:
                    if value.inner is not None and id(value.inner.tensor) in found or any(id(tensor) in found for tensor in given):
                        found.add(id(value.tensor))
        look(self.root)
        return found

    # ---- modules

    def call_module(self, original, module, args, kwargs):
        if self.paused or level() is not None:
            return original(module, *args, **kwargs)
        path = self.paths.get(id(module))
        if path is None:  # it may have come into the tree meanwhile
            for found, other in self.model.named_modules(remove_duplicate=False):
                self.paths.setdefault(id(other), found)
            path = self.paths.get(id(module))
        if path is None and not any(True for _ in module.parameters()):
            return original(module, *args, **kwargs)  # made where it is called: what it calls is told
        if path is None:
            self.fail(f"a {type(module).__name__} is called that is no submodule of the model",
                      "make it in __init__, as an attribute of a module")
        place, frame = place_of(sys._getframe(2))
        if module is self.model and self.scope is None:
            return self.open_scope(original, module, path, args, kwargs)
        self.see_names(frame)
        call = Call("module", snapshot(args), snapshot(kwargs), place, self.scope)
        call.module, call.path = module, path
        self.note_inputs(args, kwargs)
        self.remember(call, (args, kwargs))
        if self.is_leaf(module):
            self.paused += 1
            try:
                result = original(module, *plain(args), **{key: plain(item) for key, item in kwargs.items()})
            finally:
                self.paused -= 1
            call.effect = getattr(module, "inplace", False) is True
        else:
            result = self.open_scope(original, module, path, args, kwargs, call)
        self.scope.calls.append(call)
        return self.keep_results(call, result, (args, kwargs))

    def open_scope(self, original, module, path, args, kwargs, call=None):
        if isinstance(module, torch.jit.ScriptModule) and path not in self.left:
            place, _ = place_of(sys._getframe(1))
            raise ExportError(SCRIPTED, place, path, FROM_PYTHON)
        scope = Scope(module, path, self.scope)
        if call is not None:
            call.child, scope.call = scope, call
        else:
            self.root = scope
        scope.given = (snapshot(args), snapshot(kwargs))
        self.remember(scope, scope.given)
        outer, self.scope = self.scope, scope
        try:
            left = self.left.get(path)
            result = original(module, *args, **kwargs) if left is None else self.call_left(original, left, args, kwargs)
            self.note_hidden(result)
        except Exception as error:
            if not hasattr(error, "within"):
                error.within = path  # where it came from
            raise
        finally:
            self.scope = outer
        scope.returned = result
        return result

    def note_hidden(self, result):
        """What a scope returns may have been made by operators alone."""
        for tensor in tensors_of(result, []):
            if id(tensor) not in self.values:
                self.hidden.tell(self, tensor, self.dependence.of(tensor))

    def call_left(self, original, left, args, kwargs):
        """A module that is not looked into: one function, of what it is given and of all that it holds."""
        given = list({id(tensor): tensor for tensor in tensors_of((args, kwargs), [])}.values())
        tensors = (*given, *left.held.values())
        self.note_inputs(tensors, {})
        call = Call("extern", tensors, {}, None, self.scope)
        self.remember(call, tensors)
        before = [tensor._version for tensor in tensors]
        self.paused += 1
        self.aside += 1
        try:
            result = original(left.module, *plain(args), **{key: plain(item) for key, item in kwargs.items()})
            seen = left.seen(args, kwargs, result)
        finally:
            self.paused -= 1
            self.aside -= 1
        if [tensor._version for tensor in tensors] != before:
            self.fail(f"'{left.path}', which is left as an Extern, changes a tensor in place that it is given, or a buffer",
                      "let it return what it computes")
        if not seen.shapes:
            self.fail(f"'{left.path}', which is left as an Extern, gives no tensor")
        call.mode, call.position = self.mode, len(self.left_calls[left.path])
        self.left_calls[left.path].append(seen)
        self.scope.calls.append(call)
        return self.keep_results(call, result, (args, kwargs))

    # ---- functions

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.paused or self.scope is None:
            return function(*args, **kwargs)
        name = resolve_name(function) or getattr(function, "__name__", str(function))
        if level() is not None or isinstance(function, OPERATORS) and not name.startswith("torchvision."):
            return function(*plain(args), **{key: plain(item) for key, item in kwargs.items()})  # the operators are seen
        if name.startswith("__"):
            name = f"torch.Tensor.{name}"
        if name in SILENT or name.rsplit(".", 1)[-1].startswith(("_assert", "_check", "_set_", "_is_", "_has_")):
            return function(*args, **kwargs)
        if name in SIZES:
            return self.size(name, function, args, kwargs)
        if name in VALUES:
            return self.ask_value(name, function, args, kwargs)
        place, frame = place_of(sys._getframe(1))
        self.see_names(frame)
        self.note_inputs(args, kwargs)
        if name.rsplit(".", 1)[-1] in TAKES_SIZES:
            args, kwargs = self.sized(args), {key: self.sized(item, False) for key, item in kwargs.items()}
        call = Call(name, snapshot(args), snapshot(kwargs), place, self.scope)
        self.remember(call, (args, kwargs))
        call.effect = is_in_place(name, kwargs)
        if call.effect and args and isinstance(args[0], torch.Tensor):
            self.note_change(args[0], place)
        self.paused += 1
        try:
            result = function(*[plain(item) for item in args], **{key: plain(item) for key, item in kwargs.items()})
        finally:
            self.paused -= 1
        self.scope.calls.append(call)
        return self.keep_results(call, result, (args, kwargs))

    def note_change(self, tensor, place):
        """A tensor that is changed in place: of an attribute, or of the caller, it is so behind the call, too."""
        memory = Dependence.key(tensor)
        for key, held in self.held.items():
            if key in self.values and self.values[key].kind == "constant" and Dependence.key(held) == memory:
                self.changed.setdefault(key, (held, place, self.scope))
        for value in self.kept[:self.first]:
            if value.kind == "input" and Dependence.key(value.tensor) == memory:
                self.spoiled.setdefault(id(value), (value, place))

    def sized(self, item, top=True):
        """Numbers in the place of fixed tensors without dimensions, which stand for sizes behind the first argument."""
        if isinstance(item, (list, tuple)) and type(item) in (list, tuple):
            parts = [part if top and i == 0 and isinstance(part, torch.Tensor) else self.sized(part, False)
                     for i, part in enumerate(item)]
            return type(item)(parts)
        value = self.values.get(id(item)) if isinstance(item, torch.Tensor) else None
        if value is not None and value.fixed and item.ndim == 0 and not item.is_floating_point():
            self.paused += 1
            try:
                return int(item)
            finally:
                self.paused -= 1
        return item

    def keep_results(self, call, result, given):
        """Notes what a call gave. A tensor that it was given and gives back becomes one of its own, unless it was changed in
        place: so it is known which of both is read."""
        found = tensors_of(result, [])
        inputs = {id(tensor) for tensor in tensors_of(given, [])}
        fixed = call.module is None and not call.flat and bool(call.args or call.kwargs or not found) and all(
            self.values[id(tensor)].fixed for tensor in tensors_of(given, []) if id(tensor) in self.values)
        last = call.name.rsplit(".", 1)[-1]
        drawn = last in RANDOM
        if drawn and (call.module is None):
            self.draws.append(call)
        if call.effect and call.child is None:
            for tensor in found:
                value = self.values.get(id(tensor))
                if value is not None:
                    value.fixed = value.fixed and fixed and not drawn
                    call.results.append(value)
            if found and not call.results:
                call.effect = False
            else:
                return result

        seen = {}

        def fresh(tensor):
            if id(tensor) in seen:
                return seen[id(tensor)]
            original, known = tensor, self.values.get(id(tensor))
            if known is not None and (call.child is None or id(tensor) in inputs):
                self.paused += 1
                try:
                    tensor = tensor.view(tensor.shape) if tensor.is_contiguous() else tensor[...]
                finally:
                    self.paused -= 1
            value = self.keep(Value(tensor, "result", call=call, index=len(call.results)))
            value.inner, value.fixed = known, fixed and not drawn or self.is_decided(call, last)
            value.uniform = last in UNIFORM
            call.results.append(value)
            seen[id(original)] = seen[id(tensor)] = tensor
            return tensor

        def walk(item):
            if isinstance(item, torch.Tensor):
                return fresh(item)
            if isinstance(item, dict):
                for key in list(item):
                    item[key] = walk(item[key])
                return item
            if isinstance(item, tuple) and hasattr(item, "_fields"):
                return type(item)(*[walk(part) for part in item])
            if isinstance(item, tuple) and type(item).__module__ in ("torch.return_types", "torch.types"):
                return type(item)([walk(part) for part in item])
            if isinstance(item, (list, tuple)):
                return type(item)(walk(part) for part in item) if type(item) in (list, tuple) else item
            return item

        call.structure = result if not isinstance(result, torch.Tensor) else None
        return walk(result)

    def is_decided(self, call, last):
        """Whether a comparison of numbers from 0 to 1 has one outcome, whatever was drawn: layerdrop of 0."""
        if last not in COMPARED or len(call.args) != 2 or not isinstance(call.args[0], torch.Tensor) \
                or not isinstance(call.args[1], (int, float)):
            return False
        drawn = self.values.get(id(call.args[0]))
        return drawn is not None and drawn.uniform and (call.args[1] <= 0 or call.args[1] >= 1)

    def note_inputs(self, args, kwargs):
        """Tensors that nobody made while the model ran are constants of its own."""
        for tensor in tensors_of((args, kwargs), []):
            if id(tensor) in self.values:
                continue
            depends = self.dependence.of(tensor) and id(tensor) not in self.held
            if self.hidden.tell(self, tensor, depends):
                continue
            if depends:
                self.fail("a tensor is read that no function of PyTorch which modc sees has made, and it depends on the inputs or "
                          "parameters", "functions of C++ and torch.autograd.Function are not seen: write them by functions of "
                          "PyTorch")
            self.keep(Value(tensor, "constant"))

    def see_names(self, frame):
        """What the model's function calls the tensors that it has now."""
        if frame is None:
            return
        for name, item in frame.f_locals.items():
            if isinstance(item, torch.Tensor):
                value = self.values.get(id(item))
                if value is not None and name != "self":
                    names = value.names.setdefault(self.scope, [])
                    if not names or names[-1] != name:
                        names.append(name)

    # ---- sizes and values

    def size(self, name, function, args, kwargs):
        tensor = args[0]
        if id(tensor) not in self.values:
            self.note_inputs(args, {})
        value = self.values[id(tensor)]
        last = name.rsplit(".", 2)
        if "dim" in last[-1] or "ndim" in name:
            return function(*args, **kwargs)
        shape = [Extent(extent, Expression("dim", value, axis)) for axis, extent in enumerate(tensor.shape)]
        if name.endswith(("numel", "nelement")):
            return Extent(tensor.numel(), Expression("numel", value))
        if name.endswith("__len__"):
            return shape[0] if shape else function(*args)
        if name.endswith("size") and (len(args) > 1 or "dim" in kwargs):
            axis = args[1] if len(args) > 1 else kwargs["dim"]
            if axis is not None:
                self.name_sizes(value, [axis % len(shape)], False)
                return shape[axis]
        self.name_sizes(value, range(len(shape)), True)
        return torch.Size(shape)

    def name_sizes(self, value, axes, unpacked):
        """Notes `b, c = x.shape` and `n = x.size(1)`, if the model itself says so."""
        asking = sys._getframe(3)
        while asking.f_code.co_filename == OVERRIDES:
            asking = asking.f_back
        if own_file(asking.f_code.co_filename):
            return
        place, frame = place_of(asking)
        self.see_names(frame)
        if place is not None and place.names and len(place.names) == len(axes) and (len(axes) > 1 or not unpacked):
            self.scope.calls.append(SizeNames(dict(zip(axes, place.names)), value, self.scope))

    def ask_value(self, name, function, args, kwargs):
        tensors = tensors_of((args, kwargs), [])
        self.note_inputs(args, kwargs)
        place, _ = place_of(sys._getframe(2))
        self.asked.update({id(tensor): (tensor, place) for tensor in tensors})
        if all(self.values[id(tensor)].fixed for tensor in tensors) or place is not None and is_asserted(place):
            self.paused += 1
            try:
                return function(*args, **kwargs)
            finally:
                self.paused -= 1
        last = name.rsplit(".", 1)[-1]
        what = {"__bool__": "whether a tensor is true", "item": "the number in a tensor", "tolist": "the numbers in a tensor"}
        self.fail(f"the model asks for {what.get(last, 'the values of a tensor')} ({last}), which is known only when it runs",
                  "choose by torch.where, or let an argument of the module decide")
        return None


class SizeNames:
    """`b, c, h, w = x.shape` or `n = x.size(1)`: names of a value's dimensions by axis, from here on."""
    effect, results, module, child = False, (), None, None

    def __init__(self, names, value, scope):
        self.names, self.value, self.scope = names, value, scope


def note_moving(tracer, others):
    """Of runs of a model for different sizes: which dimensions of its tensors are chosen by calls."""
    for same in zip(*(one.kept for one in (tracer, *others) if len(one.kept) == len(tracer.kept))):
        for axis, extents in enumerate(zip(*(value.tensor.shape for value in same))):
            if len(set(extents)) > 1:
                for value in same:
                    value.moving.setdefault(axis, SizeValue(value, axis))


def trace(model, args, kwargs, is_leaf, left=None):
    """The Tracer of one run, with the model's result in tracer.result."""
    tracer, made = Tracer(model, is_leaf, left or {}), {}
    args, kwargs = copied(args, made), copied(kwargs, made)
    for given, tensor in made.values():
        tracer.keep(Value(tensor, "input")).given = given
    tracer.first, tracer.spoiled = len(tracer.kept), {}  # by id of an input: (it, the place where the model changes it)
    tracer.before = {path: dict(vars(module)) for path, module in model.named_modules()}
    with reading.lock, undisturbed(model):
        tracer.result = tracer.run(args, kwargs)
        tracer.functions = {name: place for name, (place, kind, given) in tracer.functions.items()
                            if not differentiates(kind, *given, tensors_of, copied)}
    tracer.finish()
    return tracer
