"""What a model decides by sizes that calls choose.

It is traced with other sizes, one changed at a time and then all. What it compared has to come out the same each time, and is
required of every call where it is linear in the sizes; what it did has to be the same text.
"""
import inspect
import operator

import torch

from modc._errors import ExportError
from modc._export.modes import in_mode
from modc._export.trace import note_moving
from modc._export.write import Whole

OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
FURTHER = object()
REFUSED = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)  # what a model raises of sizes that it does not take
HOLDS = {("<", True): "<", ("<", False): ">=", ("<=", True): "<=", ("<=", False): ">", (">", True): ">", (">", False): "<=",
         (">=", True): ">=", (">=", False): "<"}


def extents_of(model, args, kwargs, sizes):
    """{size: what it is in these arguments}."""
    bound = inspect.signature(type(model).forward).bind(model, *args, **kwargs)
    return {size: int(bound.arguments[places[0][0]].shape[places[0][1]]) for size, (_, places) in sizes.items()}


def others_of(model, args, kwargs, sizes, chosen, seed=0):
    """Other arguments of the same types: other numbers and, where sizes are chosen by calls, those of `chosen`."""
    generator = torch.Generator().manual_seed(seed)
    bound = inspect.signature(type(model).forward).bind(model, *args, **kwargs)
    extents = {place: chosen[size] for size, (_, places) in sizes.items() for place in places}

    def other(item, name):
        if isinstance(item, dict):
            return {key: other(part, None) for key, part in item.items()}
        if isinstance(item, (list, tuple)):
            return type(item)([other(part, None) for part in item])
        if not isinstance(item, torch.Tensor):
            return item
        shape = [extents.get((name, axis), extent) for axis, extent in enumerate(item.shape)]
        if item.is_floating_point():
            spread = float(item.std()) if item.numel() > 1 else 1.0
            return (torch.randn(shape, generator=generator) * (spread or 1.0) + float(item.mean() if item.numel() else 0)).to(item.dtype)
        if item.is_complex():
            return torch.randn(shape, generator=generator, dtype=item.dtype)
        if item.numel() == 0:
            return item
        if item.dtype == torch.bool:
            return torch.rand(shape, generator=generator) < float(item.float().mean())
        low, high = int(item.min()), int(item.max())
        return torch.randint(low, high + 1, shape, generator=generator).to(item.dtype)

    given = {name: other(item, name) for name, item in list(bound.arguments.items())[1:]}
    bound.arguments.update(given)
    return bound.args[1:], bound.kwargs


class Requirement:
    """`sum of slope * size + constant, sign, 0`."""

    def __init__(self, slopes, constant, sign):
        self.slopes, self.constant, self.sign = slopes, constant, sign

    def holds(self, extents):
        return OPERATORS[self.sign](self.constant + sum(slope * extents[size] for size, slope in self.slopes.items()), 0)

    def always(self, sizes):
        """Whether it holds for all sizes from 1 to their maxima: where it is nearest to being broken, it holds."""
        low = self.sign in (">", ">=")
        return self.holds({size: 1 if (slope > 0) == low else sizes[size][0] for size, slope in self.slopes.items()})

    def __str__(self):
        def side(positive):
            terms = [size if abs(slope) == 1 else f"{abs(slope)} * {size}" for size, slope in self.slopes.items()
                     if (slope > 0) == positive]
            if self.constant and (self.constant > 0) == positive:
                terms.append(str(abs(self.constant)))
            return " + ".join(terms) or "0"
        return f"{side(True)} {self.sign} {side(False)}"


def named(extents, sizes):
    return ", ".join(f"{size} = {extents[size]}" for size in sizes)


class Run:
    """The trace of one choice of sizes."""

    def __init__(self, extents, tracer, reading, sizes):
        self.extents, self.decisions = extents, tracer.decisions
        whole = Whole(tracer, "net", reading.catalogue, "tables", sizes)
        self.lines, self.tables = whole.spec().split("\n"), whole.tables

    def named(self, sizes):
        return named(self.extents, sizes)


def trace_of(reading, sizes, chosen):
    return reading.trace(*others_of(reading.model, reading.args, reading.kwargs, sizes, chosen))


def taken(reading, sizes, chosen, changed):
    """The trace of sizes that the model has to take."""
    try:
        return trace_of(reading, sizes, chosen)
    except REFUSED as problem:
        raise ExportError(f"the model does not take other sizes: with {named(chosen, changed)} it raises "
                          f"{type(problem).__name__}: {problem}", None, "", "let these sizes be fixed") from None


def far_from(reading, sizes, extents):
    """Traces of sizes so far from these that what is divided by strides is others, too; those that the model takes."""
    found = []
    for part in (lambda extent, most: min(most, 2 * extent), lambda extent, most: max(1, extent // 2)):
        try:
            found.append(trace_of(reading, sizes, {size: part(extents[size], most) for size, (most, _) in sizes.items()}))
        except (ExportError, *REFUSED):  # as it may
            pass
    return found


def guards(reading, sizes):
    """The Requirements of every call. ExportError: what the model does depends on a size."""
    if not sizes:
        return []
    extents = extents_of(reading.model, reading.args, reading.kwargs, sizes)
    moved = {size: extents[size] - 1 if extents[size] > 2 else extents[size] + 1 for size, (most, _) in sizes.items()
             if extents[size] > 2 or extents[size] < most}
    changes = {size: moved if size is None else {size: moved[size]} for size in [*moved, None]}
    tracers = {}
    with in_mode(reading.model, False):
        for size, changed in changes.items():
            tracers[size] = taken(reading, sizes, {**extents, **changed}, changed)
        # once more, further away, where something is compared that they change: whether that is linear in a single size
        further = {size: most for size, most in ((size, 2 * extent - extents[size]) for size, extent in moved.items())
                   if 0 < most <= sizes[size][0]}
        if further and any(int(one[1]) - int(one[2]) != int(other[1]) - int(other[2])
                           for one, other in zip(reading.evaluation.decisions, tracers[None].decisions)):
            changes[FURTHER] = further
            tracers[FURTHER] = taken(reading, sizes, {**extents, **further}, further)
        note_moving(reading.evaluation, [*tracers.values(), *far_from(reading, sizes, extents)])
    if reading.training is not None:
        with in_mode(reading.model, True):
            note_moving(reading.training, far_from(reading, sizes, extents))
    base = Run(extents, reading.evaluation, reading, sizes)
    runs = {}
    for size, tracer in tracers.items():
        runs[size] = Run({**extents, **changes[size]}, tracer, reading, sizes)
        same_text(base, runs[size], list(changes[size]), sizes)
    found = []
    for index, (symbol, left, right, outcome, scope, place) in enumerate(base.decisions):
        gaps = {size: int(run.decisions[index][1]) - int(run.decisions[index][2]) for size, run in runs.items()}
        gap = int(left) - int(right)
        if all(other == gap for other in gaps.values()):
            continue
        slopes = {size: (gaps[size] - gap) / (moved[size] - extents[size]) for size in moved}
        straight = all(gap + sum(slopes[size] * (runs[end].extents[size] - extents[size]) for size in moved) == gaps[end]
                       for end in (None, FURTHER) if end in runs)
        if not straight or any(slope != int(slope) for slope in slopes.values()):
            raise ExportError("the model decides by a number that is not linear in the sizes of calls", place, scope.path,
                              "let these sizes be fixed")
        if (symbol == "==") == outcome and symbol in ("==", "!="):
            raise ExportError("the model needs sizes of calls that are equal", place, scope.path, "give them one name")
        sign = HOLDS.get((symbol, outcome)) or ("<" if gap < 0 else ">")
        constant = gap - sum(int(slopes[size]) * extents[size] for size in moved)
        requirement = Requirement({size: int(slope) for size, slope in slopes.items() if slope}, constant, sign)
        if not requirement.always(sizes) and str(requirement) not in map(str, found):
            found.append(requirement)
    return found


def same_text(base, run, changed, sizes):
    """ExportError, if what the model did for other sizes is another text, or decided otherwise."""
    for (symbol, left, right, outcome, scope, place), other in zip(base.decisions, run.decisions):
        if outcome != other[3] and (place is None or str(place) == str(other[5])):
            raise ExportError(f"the model decides by a size of the call: {int(left)} {symbol} {int(right)} with "
                              f"{base.named(changed)}, but {int(other[1])} {symbol} {int(other[2])} with {run.named(changed)}",
                              place, scope.path, "choose by torch.where, or let the size be fixed")
    for here, there in zip(base.lines, run.lines):
        if here != there:
            raise ExportError(f"what the model does depends on a size of the call: it is\n    {here.strip()}\nwith "
                              f"{base.named(changed)}, but\n    {there.strip()}\nwith {run.named(changed)}", None, "",
                              "compute with whole tensors in place of loops over a size, or let the size be fixed")
    if len(base.decisions) != len(run.decisions) or len(base.lines) != len(run.lines) or any(
            not torch.equal(table, run.tables[name]) for name, table in base.tables.items()):
        raise ExportError(f"a constant of the model depends on a size of the call, {' or '.join(changed)}", None, "",
                          "compute it in forward from shapes, or let the size be fixed")
