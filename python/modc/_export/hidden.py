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
    if not isinstance(item, torch.Tensor) or item.ndim > 0 or id(item) in tracer.values or tracer.dependence.of(item):
        return item
    tracer.paused += 1
    try:
        number = item.item()
        short = float(f"{number:.7g}") if isinstance(number, float) else number
        return short if bool(torch.tensor(short, dtype=item.dtype) == item) else number
    finally:
        tracer.paused -= 1


class Hidden:
    """The operators that ran where no function was seen."""

    def __init__(self):
        self.made, self.changed = {}, {}  # by id of a result: the call; by memory: the call that changed it in place

    def note(self, function, args, kwargs, result, place, memory):
        space, _, name = function._schema.name.rpartition("::")
        found = (space, name, args, kwargs, result, place)
        if name.endswith("_") and args and isinstance(args[0], torch.Tensor):
            self.changed.setdefault(memory(args[0]), found)
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.made[id(tensor)] = found

    def reaches(self, tracer, tensor):
        """Whether a tensor that depends on nothing was made of something that functions of the model gave."""
        from modc._export.trace import tensors_of
        if id(tensor) not in self.made:
            return id(tensor) in tracer.values and tracer.values[id(tensor)].kind != "constant"
        _, _, args, kwargs, *_ = self.made[id(tensor)]
        return any(self.reaches(tracer, item) for item in tensors_of((args, kwargs), []))

    def tell(self, tracer, tensor):
        """Whether a tensor that no function gave was made by operators alone: these are calls of the scope then."""
        from modc._export.trace import Call, Dependence, Value, tensors_of
        if id(tensor) not in self.made:
            return False
        space, operator, args, kwargs, result, place = self.made[id(tensor)]
        if tracer.dependence.of(tensor) and Dependence.key(tensor) in self.changed:
            _, operator, *_, place = self.changed[Dependence.key(tensor)]
            tracer.fail(f"{operator} changes a tensor in place where modc sees no function of Python's", "return what is computed",
                        place)
        args = (*args[:1], *(number_of(tracer, item) for item in args[1:]))
        tracer.note_inputs((args, kwargs), {})
        if space == "aten" and operator in SAME:
            tracer.values[id(tensor)] = tracer.values[id(args[0])]
            return True
        found = function_of(operator, args, kwargs) if space == "aten" else None
        if found is None:
            tracer.fail(f"the model calls {space}::{operator}, which is no function of PyTorch in Python",
                        "write it by functions of PyTorch", place)
        name, args, kwargs = found
        if name.rpartition(".")[2] in SHAPED:
            if [int(extent) for extent in args[1]] == [int(extent) for extent in args[0].shape]:
                tracer.values[id(tensor)] = tracer.values[id(args[0])]
                return True
            args = (args[0], *self.sized(tracer, *args))
        call = Call(name, args, kwargs, place, tracer.scope)
        tracer.remember(call, (args, kwargs))
        results = tensors_of(result, [])
        if operator in FIRST:
            results, result = results[:1], results[0]
        fixed = all(tracer.values[id(item)].fixed for item in tensors_of((args, kwargs), []) if id(item) in tracer.values)
        for item in results:
            call.results.append(tracer.keep(Value(item, "result", call=call, index=len(call.results))))
            call.results[-1].fixed = fixed
        call.structure = None if isinstance(result, torch.Tensor) else result
        tracer.scope.calls.append(call)
        return True

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
