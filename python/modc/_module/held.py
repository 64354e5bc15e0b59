"""The tensors of the user's model: where they lie, and whether they changed since somebody looked.

They stay the user's own. C gets their addresses; a step of an optimiser, load_state_dict, `.to` and assignments are noticed by
the versions, addresses and identities of tensors, before each call.
"""
import operator

import torch

from modc._module.fallback import ModuleDeviceException

_version, _address = operator.attrgetter("_version"), torch.Tensor.data_ptr


def _count_fused(optimizer, *_):
    """Steps of fused optimisers, which PyTorch does not count in the versions of the parameters that they change."""
    torch.autograd.graph.increment_version([parameter for group in optimizer.param_groups if group.get("fused")
                                            for parameter in group["params"] if parameter.grad is not None])


if hasattr(torch.autograd.graph, "increment_version"):
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(_count_fused)
_trains, _wants = operator.attrgetter("training"), operator.attrgetter("requires_grad")


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

    @staticmethod
    def versions(tensors):
        """A number that grows with every change in place. Tensors of torch.inference_mode have none: they changed, ever."""
        try:
            return sum(map(_version, tensors))
        except RuntimeError:
            return object()

    def modes(self):
        return tuple(map(_trains, self.modules))

    def trainable(self):
        return tuple(map(_wants, self.parameters))
