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


class Seen:
    """One call of a module that is left: the arguments without their tensors, of which there were so many, and what it gave."""

    def __init__(self, args, kwargs, results):
        known = {}
        self.given = emptied((args, kwargs), known)
        self.count, self.dtypes = len(known), [tensor.dtype for tensor in results]
        self.shapes = [tuple(tensor.shape) for tensor in results]


class Way:
    """How a module that is left is called: an Extern of its own. shapes: of what it gives, as texts."""

    def __init__(self, seen, shapes):
        self.given, self.count, self.dtypes, self.shapes = seen.given, seen.count, seen.dtypes, shapes
        self.key = repr((seen.given, seen.dtypes, shapes))
        self.name = self.slot = self.names = None  # of the body; of the Extern in the class; of the arguments

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


class Left:
    """A module that is left as an Extern, and `cause`, why. bodies: by what modules are and what they are given, the names of
    their bodies; those of a model share it. Filled by the traces of the model."""

    def __init__(self, module, path, cause, bodies):
        self.module, self.path, self.cause, self.bodies = module, path, cause, bodies
        self.held = {}  # by name below the module: its parameters and buffers, each once
        for kind in (module.named_parameters, module.named_buffers):
            self.held.update(kind())
        self.kind = kind_of(module)
        self.ways, self.order = [], {}  # order: by mode of the model, the way of each call

    @staticmethod
    def seen(args, kwargs, result):
        return Seen(args, kwargs, once(tensors_of(result, [])))

    def found(self, runs):
        """The Way of each call. runs: of the model's own arguments first and of others: ({size: what it was}, what was Seen)."""
        ways = []
        for i, seen in enumerate(runs[0][1]):
            same = [(extents, calls[i]) for extents, calls in runs if i < len(calls)]
            other = next((call.given for _, call in same if repr(call.given) != repr(seen.given)), None)
            if other is not None:
                raise ExportError(f"'{self.path}', which is left as an Extern, is given {seen.given}, but with other sizes {other}",
                                  None, "", "let it take them from the shapes of tensors, or let these sizes be fixed")
            ways.append(Way(seen, self.fitted([(extents, call.shapes) for extents, call in same])))
        return ways

    def take(self, mode, ways):
        """The Ways of a mode's calls."""
        for way in ways:
            if all(way.key != known.key for known in self.ways):
                self.ways.append(way)
                way.name, way.slot = self.body_of(way), self.slot_of(len(self.ways))
        keys = [known.key for known in self.ways]
        self.order[mode] = [keys.index(way.key) for way in ways]

    def forget(self):
        """Begins anew, with others left beside it."""
        self.ways, self.order = [], {}
        self.bodies.clear()

    def number(self, call):
        """That of the Way of a call of the Extern; of one that came after those that were seen, any."""
        order = self.order.get(call.mode, ())
        return order[call.position] if call.position < len(order) else 0

    def way(self, call):
        return self.ways[self.number(call)]

    def body_of(self, way):
        key, base, number = (self.kind, repr(way.given)), snake(class_name(self.module)), 1
        while key not in self.bodies:
            name = base if number == 1 else f"{base}_{number}"
            if name not in self.bodies.values():
                self.bodies[key] = name
            number += 1
        return self.bodies[key]

    def slot_of(self, number):
        name = "body" if number == 1 else f"body_{number}"
        while hasattr(self.module, name):
            name += "_"
        return name

    def signature(self):
        """(the arguments that all ways take, those that some take, what chooses among them) of the class."""
        lists = [way.names for way in self.ways if way.names is not None]
        common = []
        for names in zip(*lists):
            if len(set(names)) > 1:
                break
            common.append(names[0])
        some = list(dict.fromkeys(name for names in lists for name in names[len(common):]))
        chooses = "way"
        while chooses in [*common, *some]:
            chooses += "_"
        return common, some, chooses

    def words(self, call, needed):
        """The arguments of a call of the class, of which `call` is that of the Extern. needed: (name, text) of each."""
        common, number = len(self.signature()[0]) if len(self.ways) > 1 else len(needed), self.number(call)
        return [text for _, text in needed[:common]] + [f"{name}={text}" for name, text in needed[common:]] + (
            [f"{self.signature()[2]}={number}"] if number else [])

    def forward(self, lines):
        """(arguments, statements) of the class. lines: by way, what calls its Extern."""
        if len(self.ways) == 1:
            return self.ways[0].names, [lines[0]]
        common, some, chooses = self.signature()
        text = []
        for number in sorted(lines)[1:]:
            text += [f"if {chooses} == {number}:", "    " + lines[number]]
        text.append(lines[min(lines)])
        return common + [f"{name}=None" for name in some] + [f"{chooses}=0"], text

    def fitted(self, runs):
        """What is given in all runs, ({size: what it was}, its shapes), as texts over sizes."""
        return [[self.dimension(runs, index, axis) for axis in range(len(shape))] for index, shape in enumerate(runs[0][1])]

    def dimension(self, runs, index, axis):
        extents = [run for run, _ in runs]
        values = [shapes[index][axis] for _, shapes in runs]
        for terms in candidates(extents, values):
            if all(sum(factor * math.prod(run[size] for size in sizes) for factor, sizes in terms) == value
                   for run, value in zip(extents, values)):
                return written(terms)
        raise ExportError(f"'{self.path}', which is left as an Extern, gives {', '.join(map(str, values))} elements along "
                          f"dimension {axis}, which is no sum or product of the sizes of calls", None, "",
                          "let these sizes be fixed")

    def stand_ins(self):
        """By path, what modc.compile takes in the place of bodies."""
        made = [StandIn(self.module, list(self.held), way) for way in self.ways]
        return {self.path: made[0]} if len(made) == 1 else {
            f"{self.path}.{way.slot}": one for way, one in zip(self.ways, made)}


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

    def __init__(self, module, names, way):
        self.module, self.names, self.given, self.count, self.training = module, names, way.given, way.count, False

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
