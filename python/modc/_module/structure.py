"""Arguments and results as tensors in a row and what is around them."""
import dataclasses

import torch

from modc._module.fallback import ModuleIOError

LITERALS = (bool, int, float, str, type(None), torch.dtype, torch.device)
PLAIN = (torch.Tensor, torch.nn.Parameter)


def flatten(item, tensors, name="an argument"):
    """Adds the tensors of arguments to `tensors`, and gives what calls with another key need another variant for: shapes, types
    and literals."""
    kind = type(item)
    if kind in PLAIN:
        tensors.append(item)
        return (item.shape, item.dtype, item.is_cpu, item.layout)
    if isinstance(item, torch.Tensor):
        raise ModuleIOError(f"{name} is a {kind.__name__}; modc.Module takes plain tensors")
    if kind in LITERALS:
        return (kind, item) if item == item else (kind, "nan")
    if kind is tuple or kind is list or isinstance(item, tuple) and hasattr(item, "_fields"):
        return (kind, *[flatten(part, tensors, f"{name}[{i}]") for i, part in enumerate(item)])
    if isinstance(item, dict):
        return (kind, *[(key, flatten(part, tensors, f"{name}[{key!r}]")) for key, part in item.items()])
    if isinstance(item, slice) or item is Ellipsis:
        return (kind, str(item))
    raise ModuleIOError(f"{name} is a {kind.__name__}; modc.Module takes tensors, numbers, strings, None, and lists, tuples and "
                        "dicts of them")


def replaced(item, tensors):
    """The same structure with the next of an iterator of tensors in the place of each."""
    if isinstance(item, torch.Tensor):
        return next(tensors)
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return type(item)(*[replaced(part, tensors) for part in item])
    if type(item) in (list, tuple):
        return type(item)(replaced(part, tensors) for part in item)
    if isinstance(item, dict):
        made = {key: replaced(part, tensors) for key, part in item.items()}
        return made if type(item) is dict else type(item)(**made) if dataclasses.is_dataclass(item) else type(item)(made)
    return item


class Result:
    """What a forward returns, around its tensors."""

    def __init__(self, result):
        self.tensors, self.literals = [], []
        self.result = self.read(result, "the result")
        self.single = isinstance(result, torch.Tensor)

    def read(self, item, name):
        """The structure with a Place for each tensor."""
        if isinstance(item, torch.Tensor):
            if type(item) not in PLAIN:
                raise ModuleIOError(f"{name} is a {type(item).__name__}; modc.Module gives plain tensors")
            self.tensors.append(item)
            return Place(len(self.tensors) - 1)
        if isinstance(item, tuple) and hasattr(item, "_fields"):
            return type(item)(*[self.read(part, f"{name}.{field}") for field, part in zip(item._fields, item)])
        if isinstance(item, tuple) and type(item).__module__ == "torch.return_types":
            return tuple(self.read(part, f"{name}[{i}]") for i, part in enumerate(item))
        if type(item) in (list, tuple):
            return type(item)(self.read(part, f"{name}[{i}]") for i, part in enumerate(item))
        if isinstance(item, dict):
            return Mapping(item, {key: self.read(part, f"{name}[{key!r}]") for key, part in item.items()})
        if type(item) in LITERALS or isinstance(item, (int, float)):
            if type(item) not in LITERALS:  # sizes that the tracer follows
                item = int(item) if isinstance(item, int) else float(item)
            self.literals.append(item)
            return item
        raise ModuleIOError(f"{name} is a {type(item).__name__}; modc.Module gives tensors, numbers, strings, None, and lists, tuples "
                            "and dicts of them")

    def make(self, outputs):
        return outputs[0] if self.single else fill(self.result, outputs)


class Place:
    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index


class Mapping:
    """A dict, or a class of a library that is one."""

    def __init__(self, item, parts):
        self.kind, self.parts = type(item), parts
        self.by_names = self.kind is not dict and dataclasses.is_dataclass(item)

    def make(self, outputs):
        parts = {key: fill(part, outputs) for key, part in self.parts.items()}
        return self.kind(**parts) if self.by_names else parts if self.kind is dict else self.kind(parts)


def fill(item, outputs):
    kind = type(item)
    if kind is Place:
        return outputs[item.index]
    if kind is Mapping:
        return item.make(outputs)
    if kind is list or kind is tuple:
        return kind(fill(part, outputs) for part in item)
    if isinstance(item, tuple):
        return kind(*[fill(part, outputs) for part in item])
    return item
