"""The state files of modc's optimisers (runtime/modc_optim_state.c) and PyTorch's state_dict, both ways.

    tensors = safetensors.torch.load_file("net.optim.safetensors")
    optimizer.load_state_dict(to_state_dict(tensors, optimizer))
    tensors = from_state_dict(optimizer, model.named_parameters())

The groups of the optimizer stand in the file's order, and so do their parameters. Schedulers: see scheduler_state.
"""
import torch

IGNORED = ("params", "foreach", "fused", "capturable", "differentiable",  # they change no numbers; what follows is a schedule's
           "max_lr", "min_lr", "max_momentum", "base_momentum")
ADDED = ("decoupled_weight_decay",)  # AdamW's groups have it, its arguments do not


def text_of(tensor):
    return bytes(tensor.tolist()).decode()


def tensor_of(text):
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def to_state_dict(tensors, optimizer):
    """What optimizer.load_state_dict takes: of an optimizer with the same groups."""
    name = text_of(tensors["optimizer"])
    if name != type(optimizer).__name__:
        raise ValueError(f"the file is of {name}, the optimizer is {type(optimizer).__name__}")
    result = optimizer.state_dict()
    state = {}
    index = 0
    for i, group in enumerate(result["param_groups"]):
        prefix = f"param_groups.{i}."
        names = text_of(tensors[prefix + "params"]).split()
        if len(names) != len(group["params"]):
            raise ValueError(f"group {i} has {len(names)} parameters in the file, {len(group['params'])} in the optimizer")
        for key in [key[len(prefix):] for key in tensors if key.startswith(prefix) and key != prefix + "params"]:
            value = tensors[prefix + key]
            group[key] = tuple(value.tolist()) if value.dim() else value.item()
        for path in names:
            own = f"state.{path}."
            values = {key[len(own):]: value for key, value in tensors.items() if key.startswith(own)
                      and "." not in key[len(own):]}
            if values:
                state[index] = values
            index += 1
    return {"state": state, "param_groups": result["param_groups"]}


def from_state_dict(optimizer, named_parameters):
    """The tensors of a state file, without schedulers and averages."""
    paths = {id(parameter): path for path, parameter in named_parameters}
    tensors = {"optimizer": tensor_of(type(optimizer).__name__)}
    for i, group in enumerate(optimizer.param_groups):
        prefix = f"param_groups.{i}."
        names = [paths[id(parameter)] for parameter in group["params"]]
        tensors[prefix + "params"] = tensor_of("".join(name + "\n" for name in names))
        for key, value in group.items():
            if key in IGNORED or (key in ADDED and type(optimizer).__name__ == "AdamW"):
                continue
            dtype = torch.bool if isinstance(value, bool) else torch.float64
            tensors[prefix + key] = torch.tensor(value, dtype=dtype)
        for path, parameter in zip(names, group["params"]):
            for key, value in optimizer.state.get(parameter, {}).items():
                if value is not None:
                    tensors[f"state.{path}.{key}"] = value.detach().clone()
    return tensors


FIELDS = {"last_epoch": torch.int64, "T_cur": torch.int64, "T_i": torch.int64, "best": torch.float64,
          "num_bad_epochs": torch.int64, "cooldown_counter": torch.int64}


def scheduler_state(scheduler, tensors, load=False, index=0):
    """Writes where a scheduler is into the tensors of a state file, or takes it from there; returns the next index."""
    prefix = f"scheduler.{index}."
    for field, dtype in FIELDS.items():
        if load and prefix + field in tensors:
            setattr(scheduler, field, tensors[prefix + field].item())
        elif not load and (field == "last_epoch" or hasattr(scheduler, field)):
            tensors[prefix + field] = torch.tensor(getattr(scheduler, field, -1), dtype=dtype)
    index += 1
    for child in getattr(scheduler, "_schedulers", ()):
        index = scheduler_state(child, tensors, load, index)
    return index
