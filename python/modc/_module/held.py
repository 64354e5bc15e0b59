"""The tensors of the user's model: where they lie, and whether they changed since somebody looked.

They stay the user's own. C gets their addresses; a step of an optimiser, load_state_dict, `.to` and assignments are noticed by
the versions, addresses and identities of tensors, before each call.
"""
import ctypes
import operator
import sys

import torch

from modc._module import tables
from modc._module.fallback import ModuleDeviceException

CHANGED = object()
_MODE = "training"
_version, _trains, _wants = map(operator.attrgetter, ("_version", _MODE, "requires_grad"))


def _place(tensor):
    return tensor.data_ptr(), tensor.shape, tensor.stride()


def _count_fused(optimizer, *_):
    """Steps of fused optimisers, which PyTorch does not count in the versions of the parameters that they change."""
    for group in optimizer.param_groups:
        if group.get("fused"):
            torch.autograd.graph.increment_version([parameter for parameter in group["params"] if parameter.grad is not None])


if hasattr(torch.autograd.graph, "increment_version"):
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(_count_fused)


class Held:
    """The parameters, buffers and submodules of a model, as they were when it was read."""

    def __init__(self, model):
        self.model = model
        self.modules = list(model.modules())
        self.keys = {}  # by path, also those of tensors that have several
        self.parameters, self.parameter_paths, self.buffers = [], [], []  # each once
        dicts, names, objects, seen = [], [], [], set()
        for path, module in model.named_modules(remove_duplicate=False):
            prefix = path + "." if path else ""
            for kind in (module._parameters, module._buffers, module._modules):
                for name, item in kind.items():
                    dicts.append(kind)
                    names.append(name)
                    objects.append(item)
                    if not isinstance(item, torch.Tensor):
                        continue
                    self.keys[prefix + name] = item
                    if id(item) in seen:
                        continue
                    seen.add(id(item))
                    if kind is module._parameters:
                        self.parameters.append(item)
                        self.parameter_paths.append(prefix + name)
                    else:
                        self.buffers.append(item)
        self.places = dicts, names, objects
        self.tensors = self.parameters + self.buffers
        self.lie = list(map(_place, self.tensors)) if self.all_here() else None
        self.modes = tuple(map(_trains, self.modules))
        self.watched = self.lie is not None and self.can_be_watched()
        self.remember()

    def all_here(self):
        """Whether they all lie in the memory of the host."""
        return all(tensor.device.type == "cpu" and tensor.layout == torch.strided for tensor in self.tensors)

    def can_be_watched(self):
        """Whether look() may be C's: not where other threads change dicts meanwhile, nor where a module's mode is no attribute of
        its own, nor where tensors have no versions or are not contiguous, as C expects them."""
        if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
            return False
        return all(_MODE in vars(module) for module in self.modules) and self.versions(self.tensors) >= 0 \
            and all(tensor.is_contiguous() for tensor in self.tensors)

    def remember(self):
        """Makes the table that C looks at."""
        dicts, names, objects = self.places
        modules, kept = list(map(vars, self.modules)), []
        self.first, self.objects = len(objects), tables.array_of([*map(id, objects), *map(id, self.modes)])
        kinds = (tables.Kind * max(1, len(self.tensors)))(*[tables.kind_of(tensor, kept) for tensor in self.tensors])
        arrays = [tables.array_of(map(id, dicts + modules)), tables.array_of(map(id, names + [_MODE] * len(modules))), self.objects,
                  tables.array_of(map(id, self.tensors)), kinds, tables.array_of(place[0] for place in self.lie or ())]
        addresses = list(map(ctypes.addressof, arrays))
        self.table = tables.Look(*addresses[:4], None, *addresses[4:], len(dicts) + len(modules), len(self.parameters),
                                 len(self.buffers), 0, 0, 0)
        self.kept, self.reference = (modules, kept, arrays), ctypes.byref(self.table)

    def check_device(self):
        devices = sorted({str(tensor.device) for tensor in self.tensors})
        if len(devices) > 1:
            raise ModuleDeviceException(f"the model lies on several devices: {', '.join(devices)}; modc.Module takes one, the CPU")
        if devices and not devices[0].startswith("cpu"):
            raise ModuleDeviceException(f"the model lies on {devices[0]}; modc.Module computes on the CPU")
        for path, tensor in self.keys.items():
            if tensor.layout != torch.strided:
                raise ModuleDeviceException(f"'{path}' is {tensor.layout}; modc.Module takes dense tensors")

    def is_same(self):
        """Whether the model has still the same tensors and modules, of the same types and shapes."""
        dicts, names, objects = self.places
        try:
            if not all(map(operator.is_, map(operator.getitem, dicts, names), objects)):
                return False
        except KeyError:
            return False
        return self.lie is not None and self.all_here() and list(map(_place, self.tensors)) == self.lie

    def look(self):
        """CHANGED, unless the model has still the same tensors and modules; else the version of the parameters, and `modes` is
        up to date."""
        if self.watched and tables.functions() is not None:
            version = tables.functions().look(self.reference)
            if version >= 0:
                return version
        if not self.is_same():
            return CHANGED
        self.modes = tuple(map(_trains, self.modules))
        self.objects[self.first:] = list(map(id, self.modes))
        self.table.buffer_version = self.versions(self.buffers)
        return self.versions(self.parameters)

    @staticmethod
    def versions(tensors):
        """A number that grows with every change in place; -1: tensors of torch.inference_mode have none, and changed, ever."""
        try:
            return sum(map(_version, tensors))
        except RuntimeError:
            return -1

    def trainable(self):
        return tuple(map(_wants, self.parameters))

    def expect(self, trainable):
        """That the parameters require gradients like this."""
        wants = tables.array_of(map(id, trainable))
        self.table.wants, self.table.trained = ctypes.addressof(wants), sum(trainable)
        self.wants = wants  # not before C reads it: another thread may look meanwhile
