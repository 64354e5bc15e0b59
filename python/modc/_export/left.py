"""Modules that cannot be read and are left as Externs: how they are called, what they give, and they themselves in the place of
their bodies."""
import math
import re

import torch

from modc._errors import ExportError
from modc._export.constructors import class_name
from modc._export.extent import Extent
from modc._export.trace import tensors_of

PLAIN = (bool, int, float, str, type(None))


class Slot:
    """Where the tensor of this number stood."""

    def __init__(self, index):
        self.index = index

    def __repr__(self):
        return f"<tensor {self.index}>"


def emptied(item, known):
    """The same structure with Slots in the place of tensors, which `known` numbers by id."""
    if isinstance(item, torch.Tensor):
        return Slot(known.setdefault(id(item), len(known)))
    if isinstance(item, Extent):
        return int(item)
    if type(item) in (list, tuple, torch.Size):
        return (list if type(item) is list else tuple)(emptied(part, known) for part in item)
    if type(item) is dict:
        return {key: emptied(part, known) for key, part in item.items()}
    return item


def filled(item, tensors):
    if isinstance(item, Slot):
        return tensors[item.index]
    if type(item) in (list, tuple):
        return type(item)(filled(part, tensors) for part in item)
    return {key: filled(part, tensors) for key, part in item.items()} if type(item) is dict else item


def once(tensors):
    return list({id(tensor): tensor for tensor in tensors}.values())


def snake(name):
    return re.sub(r"\W", "", re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)).strip("_").lower() or "body"


def kind_of(module):
    """What two modules have to share if one body is to do for both: their classes and attributes, and those of all below."""
    return tuple((path, type(part), tuple(sorted((name, repr(item)) for name, item in vars(part).items()
                                                 if name != "training" and isinstance(item, (*PLAIN, tuple, list)))))
                 for path, part in module.named_modules())


class Left:
    """A module that is left as an Extern, and `cause`, why. Filled by the traces of the model."""

    def __init__(self, module, path, cause, name):
        self.module, self.path, self.cause, self.name = module, path, cause, name
        self.held = {}  # by name below the module: its parameters and buffers, each once
        for kind in (module.named_parameters, module.named_buffers):
            self.held.update(kind())
        self.given, self.count = None, 0  # the arguments without their tensors, of which there were so many
        self.dtypes, self.shapes = [], []  # of what it gives; shapes as texts
        self.run, self.seen = None, []

    @property
    def slot(self):
        """What the Extern is called in the class of the module."""
        name = "body"
        while hasattr(self.module, name):
            name += "_"
        return name

    def note(self, tracer, args, kwargs, result):
        """One call, in a run of the tracer's."""
        known = {}
        given = repr(emptied((args, kwargs), known))
        results = once(tensors_of(result, []))
        seen = [tuple(tensor.shape) for tensor in results]
        if self.run is tracer and seen != self.seen:
            tracer.fail(f"'{self.path}', which is left as an Extern, gives the shapes {self.seen} in one call and {seen} in another",
                        "let a module of its own give each")
        if self.given is not None and given != repr(self.given):
            tracer.fail(f"'{self.path}', which is left as an Extern, is called in two ways that one body cannot tell apart: "
                        f"with {repr(self.given)} and {given}")
        if not results:
            tracer.fail(f"'{self.path}', which is left as an Extern, gives no tensor")
        self.given, self.count = emptied((args, kwargs), {}), len(known)
        self.run, self.seen, self.dtypes = tracer, seen, [tensor.dtype for tensor in results]
        if not self.shapes:
            self.shapes = [[str(extent) for extent in shape] for shape in seen]

    def fit(self, runs):
        """runs: by the first of its own and others, ({size: what it was}, the shapes that were seen)."""
        self.shapes = [[self.fitted(runs, index, axis) for axis in range(len(shape))] for index, shape in enumerate(runs[0][1])]

    def fitted(self, runs, index, axis):
        """A dimension as an expression over sizes that gives it in all runs."""
        extents = [run for run, _ in runs]
        values = [shapes[index][axis] for _, shapes in runs]
        for terms in candidates(extents, values):
            if all(sum(factor * math.prod(run[size] for size in sizes) for factor, sizes in terms) == value
                   for run, value in zip(extents, values)):
                return written(terms)
        raise ExportError(f"'{self.path}', which is left as an Extern, gives {', '.join(map(str, values))} elements along "
                          f"dimension {axis}, which is no sum or product of the sizes of calls", None, "",
                          "let these sizes be fixed")

    def text(self, dtype):
        """The constructor in the spec, whose dtype is this one."""
        shapes = [f"[{', '.join(shape)}]" for shape in self.shapes]
        words = [f'"{self.name}"', shapes[0] if len(shapes) == 1 else f"[{', '.join(shapes)}]"]
        if any(kind != dtype for kind in self.dtypes):
            kinds = ["None" if kind == dtype else str(kind) for kind in self.dtypes]
            words.append(f"dtype={kinds[0]}" if len(kinds) == 1 else f"dtype=({', '.join(kinds)})")
        if any(kind.is_floating_point for kind in self.dtypes):
            words.append("backward=True")
        return f"Extern({', '.join(words)})"

    def stand_in(self):
        return StandIn(self.module, list(self.held), self.given, self.count)


def candidates(extents, values):
    """Sums of (factor, sizes) that may give the values: a number, multiples of sizes, a multiple of a product of two."""
    yield [(values[0], ())]
    sizes, terms, constant = list(extents[0]), [], values[0]
    for size in sizes:
        moved = next((i for i, run in enumerate(extents) if all((run[other] != extents[0][other]) == (other == size)
                                                                for other in sizes)), None)
        slope = (values[moved] - values[0]) / (extents[moved][size] - extents[0][size]) if moved is not None else 0
        if slope and slope == int(slope):
            terms.append((int(slope), (size,)))
            constant -= int(slope) * extents[0][size]
    yield terms + [(constant, ())]
    for i, size in enumerate(sizes):
        for other in sizes[i:]:
            yield [(values[0] // (extents[0][size] * extents[0][other] or 1), (size, other))]


def written(terms):
    """`2 * batch + 3`."""
    text = ""
    for factor, sizes in terms:
        if not factor and len(terms) > 1:
            continue
        number = [] if abs(factor) == 1 and sizes else [str(abs(factor))]
        sign = (" - " if factor < 0 else " + ") if text else "-" if factor < 0 else ""
        text += sign + " * ".join([*number, *sizes])
    return text


class StandIn:
    """A module in the place of its Extern's body: takes the tensors that it is called with, and behind them all that it holds,
    and gives the tensors of its result."""
    takes_torch = True

    def __init__(self, module, names, given, count):
        self.module, self.names, self.given, self.count, self.training = module, names, given, count, False

    def __repr__(self):
        return f"<{class_name(self.module)} in the place of its body>"

    def __call__(self, *tensors):
        try:
            from torch.func import functional_call
        except ImportError:
            from torch.nn.utils.stateless import functional_call
        args, kwargs = filled(self.given, tensors[:self.count])
        held = dict(zip(self.names, tensors[self.count:]))
        modes = [(module, module.training) for module in self.module.modules()]
        try:
            if self.module.training != self.training:
                self.module.train(self.training)
            if isinstance(self.module, torch.jit.ScriptModule):
                result = self.scripted(held, args, kwargs)
            else:
                result = functional_call(self.module, held, args, kwargs)
        finally:
            for module, mode in modes:
                module.training = mode
        return once(tensors_of(result, []))

    def scripted(self, held, args, kwargs):
        """A ScriptModule takes no other tensors in the place of its own: it gets their values."""
        if torch.is_grad_enabled():
            raise RuntimeError(f"{self!r}: a ScriptModule has no backward here")
        own = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        before = {name: own[name].detach().clone() for name in held}
        try:
            for name, tensor in held.items():
                own[name].copy_(tensor)
            return self.module(*args, **kwargs)
        finally:
            for name, tensor in before.items():
                own[name].copy_(tensor)
