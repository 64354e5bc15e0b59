"""The tensors of the user's model: where they lie, and whether they changed since somebody looked.

They stay the user's own. C gets their addresses; a step of an optimiser, load_state_dict, `.to` and assignments are noticed by
the versions, addresses and identities of tensors, before each call.
"""
import ctypes
import operator
import sys

import torch

from modc import _library as lib
from modc._module.fallback import ModuleDeviceException

CHANGED = object()
_VERSION, _MODE = "_version", "training"
_version, _address = operator.attrgetter(_VERSION), torch.Tensor.data_ptr


def _count_fused(optimizer, *_):
    """Steps of fused optimisers, which PyTorch does not count in the versions of the parameters that they change."""
    for group in optimizer.param_groups:
        if group.get("fused"):
            torch.autograd.graph.increment_version([parameter for parameter in group["params"] if parameter.grad is not None])


if hasattr(torch.autograd.graph, "increment_version"):
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(_count_fused)
_trains, _wants = operator.attrgetter(_MODE), operator.attrgetter("requires_grad")


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
        self.addresses = list(map(_address, self.tensors)) if self.all_here() else None
        self.modes, self.epoch, self.watched = tuple(map(_trains, self.modules)), None, None

    def all_here(self):
        """Whether they all lie in the memory of the host."""
        return all(tensor.device.type == "cpu" and tensor.layout == torch.strided for tensor in self.tensors)

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
        return self.addresses is not None and (list(map(_address, self.tensors)) == self.addresses)

    def look(self):
        """CHANGED, unless the model has still the same tensors and modules; else the version of the parameters, and `modes` is
        up to date."""
        if self.watched is not None:
            version = self.watched.look()
            if version >= 0:
                return version
        if not self.is_same():
            return CHANGED
        self.modes = tuple(map(_trains, self.modules))
        if self.watched is not None:
            self.watched.expect(self.modes)
            version = self.watched.look()
            if version >= 0:
                return version
            self.watched = None
        self.epoch = self.versions(self.buffers)
        return self.versions(self.parameters)

    def buffer_version(self):
        """As look() found it."""
        return self.epoch if self.watched is None else self.watched.asked.buffer_version

    def watch(self, library):
        """From now on look() is C's, where that can be."""
        if self.watched is None and self.addresses is not None and Watched.can(self):
            self.watched = Watched(self, library)

    @staticmethod
    def versions(tensors):
        """A number that grows with every change in place. Tensors of torch.inference_mode have none: they changed, ever."""
        try:
            return sum(map(_version, tensors))
        except RuntimeError:
            return object()

    def trainable(self):
        return tuple(map(_wants, self.parameters))


class Watched:
    """look() by C, which takes half the time: modc_binding_look, with functions of Python by their addresses."""

    @staticmethod
    def can(held):
        """Not where other threads change dicts meanwhile, nor where a module's mode is no attribute of its own, nor where
        tensors have no versions."""
        if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
            return False
        return all(_MODE in vars(module) for module in held.modules) and isinstance(held.versions(held.tensors), int)

    def __init__(self, held, library):
        dicts, names, objects = held.places
        modules = list(map(vars, held.modules))
        self.first, self.objects = len(objects), array_of([*map(id, objects), *map(id, held.modes)])
        arrays = [array_of(map(id, dicts + modules)), array_of(map(id, names + [_MODE] * len(modules))), self.objects,
                  array_of(map(id, held.tensors)), array_of(held.addresses)]
        functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in lib.LOOK_FUNCTIONS]
        self.asked = lib.Look(*functions, id(_VERSION), id(_address), *map(ctypes.addressof, arrays), len(dicts) + len(modules),
                              len(held.parameters), len(held.buffers))
        self.kept = dicts, names, objects, modules, held.tensors, library, arrays  # what C knows by its address
        reference, function = ctypes.byref(self.asked), library.holding_lock("modc_binding_look", ctypes.c_int64)
        self.look = lambda: function(reference)

    def expect(self, modes):
        """These modes, the next time."""
        self.objects[self.first:] = list(map(id, modes))


def array_of(addresses):
    addresses = list(addresses)
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
