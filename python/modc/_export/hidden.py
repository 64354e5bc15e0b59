"""What functions do that hide what they call from Python: those under torch.func, those of C++.

Below all of them PyTorch's dispatcher sees the calls of its operators. They are noted where no function that is seen runs, and
where something reads a tensor that only they have made, those that it depends on are written as functions: an operator's name
is mostly that of a function or method; CONVERTED has the others.
"""
import torch

from modc._export.extent import Expression, Extent

try:
    from torch._C._functorch import maybe_current_level as level
except ImportError:  # PyTorch 1
    def level():
        return None

END = 1 << 62  # slices that go on to the end have an end beyond this
SAME = {"alias", "detach", "lift", "lift_fresh", "lift_fresh_copy", "_conj", "resolve_conj"}  # give what they are given
SHAPED = {"view", "reshape", "expand"}


def _sliced(x, dim=0, start=None, end=None, step=1):
    dim = dim % x.ndim
    part = slice(start or None, None if end is None or end >= END else end, None if step == 1 else step)
    return "torch.Tensor.__getitem__", (x, (*[slice(None)] * dim, part))


def _indexed(x, indices):
    found = tuple(slice(None) if index is None else index for index in indices)
    return "torch.Tensor.__getitem__", (x, found[0] if len(found) == 1 else found)


def _cast(x, dtype=None, **_):
    return ("torch.Tensor.to", (x, dtype)) if dtype is not None and dtype != x.dtype else ("torch.Tensor.clone", (x,))


# By an operator that is no function of the name: the function and its arguments.
CONVERTED = {
    "_softmax": lambda x, dim, half: ("torch.Tensor.softmax", (x, dim)),
    "_log_softmax": lambda x, dim, half: ("torch.Tensor.log_softmax", (x, dim)),
    "_to_copy": _cast,
    "_unsafe_view": lambda x, size: ("torch.Tensor.view", (x, size)),
    "_reshape_alias": lambda x, size, stride: ("torch.Tensor.view", (x, size)),
    "slice": _sliced,
    "index": _indexed,
    "clone": lambda x, **_: ("torch.Tensor.clone", (x,)),
    "expand": lambda x, size, **_: ("torch.Tensor.expand", (x, size)),
    "native_layer_norm": lambda x, shape, weight, bias, eps: ("torch.nn.functional.layer_norm", (x, shape, weight, bias, eps)),
}
FIRST = {"native_layer_norm"}  # of what these give, the first alone is what the function gives


def function_of(name, args, kwargs):
    """(name, args, kwargs) of the function that an operator is; None: none of Python is."""
    if name in CONVERTED:
        return (*CONVERTED[name](*args, **kwargs), {})
    for place, holder in (("torch.Tensor", torch.Tensor), ("torch", torch), ("torch.nn.functional", torch.nn.functional)):
        if not name.startswith("_") and hasattr(holder, name) and (holder is not torch.Tensor or args and isinstance(
                args[0], torch.Tensor)):
            return f"{place}.{name}", args, kwargs
    return None


def number_of(tracer, item):
    """The number that torch.func has made a tensor of; all else as it is."""
    value = tracer.values.get(id(item)) if isinstance(item, torch.Tensor) and item.ndim == 0 else None
    if value is None or value.kind != "constant":
        return item
    tracer.paused += 1
    try:
        number = item.item()
        short = float(f"{number:.7g}") if isinstance(number, float) else number
        return short if bool(torch.tensor(short, dtype=item.dtype) == item) else number
    finally:
        tracer.paused -= 1


class Operated:
    """A call of an operator: its name space and name, and what number it is among all."""

    def __init__(self, number, function, args, kwargs, result, place):
        self.number, self.args, self.kwargs, self.result, self.place = number, args, kwargs, result, place
        self.space, _, self.name = function._schema.name.rpartition("::")


class Hidden:
    """The operators that ran where no function was seen. memory(tensor): what tensors have in common that share it; tensors_of:
    those in a structure."""

    def __init__(self, memory, tensors_of):
        self.memory, self.tensors_of = memory, tensors_of
        self.made, self.changed = {}, {}  # by id of a result: the call; by memory: the call that changed it in place
        self.count = 0

    def note(self, function, args, kwargs, result, place):
        found = Operated(self.count, function, args, kwargs, result, place)
        self.count += 1
        if found.name.endswith("_") and args and isinstance(args[0], torch.Tensor):
            self.changed.setdefault(self.memory(args[0]), found)
        for tensor in self.tensors_of(result, []):
            self.made[id(tensor)] = found

    def behind(self, tracer, tensor):
        """The calls of which a tensor was made; in order those that go back to what functions of the model gave; and what these read
        that none of them made."""
        known = lambda item: id(item) in tracer.values and tracer.values[id(item)].kind != "constant"  # noqa: E731
        found, waiting, live, first = {}, [tensor], [], []
        while waiting:
            item = waiting.pop()
            call = None if id(item) in tracer.values else self.made.get(id(item))
            if call is not None and call.number not in found:
                found[call.number] = call
                waiting += self.tensors_of((call.args, call.kwargs), [])
        made = set()
        for _, call in sorted(found.items()):
            given = self.tensors_of((call.args, call.kwargs), [])
            if any(known(item) or id(item) in made for item in given):
                live.append(call)
                first += [item for item in given if id(item) not in made]
                made.update(map(id, self.tensors_of(call.result, [])))
        return found.values(), live, first

    def tell(self, tracer, tensor, depends):
        """Whether a tensor that no function gave was made by operators alone, of what functions of the model gave: these are calls
        of the scope then. What depends on nothing and was changed in place is a constant as it is."""
        if id(tensor) not in self.made:
            return False
        found, calls, first = self.behind(tracer, tensor)
        changed = [self.changed[self.memory(item)] for call in found for item in self.tensors_of(call.result, [])
                   if self.memory(item) in self.changed]
        if changed and depends:
            tracer.fail(f"{changed[0].name} changes a tensor in place where modc sees no function of Python's",
                        "return what is computed", changed[0].place)
        if changed or not calls:
            return False
        tracer.note_inputs(first, {})
        for call in calls:
            self.write(tracer, call)
        return True

    def write(self, tracer, operated):
        """One call of the scope."""
        from modc._export.trace import Call, Value
        args = (*operated.args[:1], *(number_of(tracer, item) for item in operated.args[1:]))
        if operated.space == "aten" and operated.name in SAME:
            tracer.values[id(operated.result)] = tracer.values[id(args[0])]
            return
        found = function_of(operated.name, args, operated.kwargs) if operated.space == "aten" else None
        if found is None:
            tracer.fail(f"the model calls {operated.space}::{operated.name}, which is no function of PyTorch in Python",
                        "write it by functions of PyTorch", operated.place)
        name, args, kwargs = found
        if name.rpartition(".")[2] in SHAPED:
            if list(map(int, args[1])) == list(map(int, args[0].shape)):
                tracer.values[id(operated.result)] = tracer.values[id(args[0])]
                return
            args = (args[0], *self.sized(tracer, *args))
        call = Call(name, args, kwargs, operated.place, tracer.scope)
        tracer.remember(call, (args, kwargs))
        results = self.tensors_of(operated.result, [])[:1 if operated.name in FIRST else None]
        fixed = all(tracer.values[id(item)].fixed for item in self.tensors_of((args, kwargs), []))
        for item in results:
            call.results.append(tracer.keep(Value(item, "result", call=call, index=len(call.results))))
            call.results[-1].fixed = fixed
        call.structure = None if operated.name in FIRST or isinstance(operated.result, torch.Tensor) else operated.result
        tracer.scope.calls.append(call)

    @staticmethod
    def sized(tracer, x, shape):
        """A shape, in which what a dimension of x has is that dimension: the next in order, else the one that has so much."""
        value, extents, at, found = tracer.values[id(x)], list(map(int, x.shape)), 0, []
        for extent in map(int, shape):
            axes = [axis for axis, other in enumerate(extents) if other == extent > 1]
            axis = next((axis for axis in axes if axis >= at), axes[0] if len(axes) == 1 else None)
            found.append(extent if axis is None else Extent(extent, Expression("dim", value, axis)))
            at = at if axis is None else axis + 1
        return found
