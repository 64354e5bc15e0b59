"""State files of modc's optimisers (NET_training_save) and torch.optim, both ways.

    modc.optim.load("net.optim.safetensors", optimizer, model, scheduler=scheduler)     # goes on with what C trained
    modc.optim.save("net.optim.safetensors", optimizer, model, scheduler=scheduler)     # for NET_training_load

`model` names the parameters: state files know them by their keys in the state_dict. Groups are those of the spec's
`training:` in its order, with what no pattern names as the last one. Parameters that want no gradient (`freeze`) are in no
file. `scaler` is a torch.amp.GradScaler, for `scaler` in the spec; `masters` is {key: float32 tensor on which the optimizer
steps} of parameters of 16 bits, for `master: float32`. What is in a file is said in runtime/modc_optim_state.c, note [state files].
"""
import torch

from modc._errors import FileError
from modc._files import record_of, write_records, write_whole
from modc._weights import load_file

# By class: numbers of a group, and what a step is written for, which are fixed in C.
OPTIMIZERS = {
    "SGD": ("lr momentum dampening weight_decay", "nesterov maximize"),
    "Adam": ("lr betas eps weight_decay", "amsgrad maximize decoupled_weight_decay"),
    "AdamW": ("lr betas eps weight_decay", "amsgrad maximize"),
    "RMSprop": ("lr alpha eps weight_decay momentum", "centered maximize"),
    "Adagrad": ("lr lr_decay weight_decay initial_accumulator_value eps", "maximize"),
    "Adadelta": ("lr rho eps weight_decay", "maximize"),
    "Adamax": ("lr betas eps weight_decay", "maximize"),
    "NAdam": ("lr betas eps weight_decay momentum_decay", "decoupled_weight_decay maximize"),
    "RAdam": ("lr betas eps weight_decay", "decoupled_weight_decay maximize"),
}
SCHEDULE_FIELDS = {"last_epoch": torch.int64, "T_cur": torch.int64, "T_i": torch.int64, "best": torch.float64,
                   "num_bad_epochs": torch.int64, "cooldown_counter": torch.int64}
SCALER_FIELDS = {"scale": torch.float32, "growth_factor": torch.float64, "backoff_factor": torch.float64,
                 "growth_interval": torch.int64, "_growth_tracker": torch.int64}
WRAPPERS = {"DataParallel": "module", "DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}


def save(path, optimizer, model, *, scheduler=None, averaged=None, scaler=None, masters=None):
    """Writes the optimiser, and what else the spec has of `scheduler`, `ema`, `scaler` and `master`, for C to go on."""
    tensors = to_tensors(optimizer, model, scheduler=scheduler, averaged=averaged, scaler=scaler, masters=masters)
    records = {name: record_of(name, tensor) for name, tensor in tensors.items()}
    write_whole(path, lambda file: write_records(file, records))


def load(path, optimizer, model, *, scheduler=None, averaged=None, scaler=None, masters=None):
    """Takes back what C saved. The optimizer has the groups of the file; a scheduler and an AveragedModel are made as they
    were for the training, and are then where C was. What a file has and is not asked for is left. Nothing has changed after
    FileError (no such file) or ValueError (it does not fit)."""
    tensors = {name: tensor.clone() for name, tensor in load_file(path, arrays="torch").items()}
    if "optimizer" not in tensors:
        raise FileError(f"{path}: it is no state file of an optimizer: it has no 'optimizer'",
                        "NET_training_save and modc.optim.save write them; weights are for load_state_dict")
    from_tensors(tensors, optimizer, model, scheduler=scheduler, averaged=averaged, scaler=scaler, masters=masters)


# ---- what they have in common -----------------------------------------------------------------------------------------------


def text_of(tensor):
    return bytes(tensor.tolist()).decode()


def tensor_of(text):
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def name_of(optimizer):
    """The class as modc knows it, which the optimizer's may be derived of."""
    names = [kind.__name__ for kind in type(optimizer).__mro__ if kind.__module__.split(".")[0] == "torch"]
    name = next((name for name in names if name in OPTIMIZERS), None)
    if name is None:
        raise ValueError(f"modc has no optimizer {type(optimizer).__name__}, but {', '.join(OPTIMIZERS)}")
    return name


def parameters_of(model):
    """{key: parameter}."""
    while type(model).__name__ in WRAPPERS:
        model = getattr(model, WRAPPERS[type(model).__name__])
    return dict(model.named_parameters())


def paths_of(model, masters=None):
    """{id of a parameter, or of what the optimizer has in its place: its key}."""
    return {id((masters or {}).get(path, parameter)): path for path, parameter in parameters_of(model).items()}


def groups_of(optimizer, model, masters=None):
    """(group, {key: parameter}) of each group with parameters that want gradients, keys in the model's order."""
    paths = paths_of(model, masters)
    order, groups = {path: i for i, path in enumerate(paths.values())}, []
    for group in optimizer.param_groups:
        trained = [parameter for parameter in group["params"] if parameter.requires_grad]
        for parameter in trained:
            if id(parameter) not in paths:
                raise ValueError(f"a parameter of the optimizer, of shape {tuple(parameter.shape)}, is none of the model's")
        named = {paths[id(parameter)]: parameter for parameter in trained}
        if named:
            groups.append((group, {path: named[path] for path in sorted(named, key=order.get)}))
    return groups


def nodes_of(scheduler):
    """A scheduler and those that it holds, in the order of state files."""
    return [scheduler] + [node for child in getattr(scheduler, "_schedulers", ()) for node in nodes_of(child)]


def number(value):
    """A number or several as float64."""
    return torch.tensor([float(item) for item in value] if isinstance(value, (tuple, list)) else float(value),
                        dtype=torch.float64)


# ---- to C -----------------------------------------------------------------------------------------------------------------


def to_tensors(optimizer, model, *, scheduler=None, averaged=None, scaler=None, masters=None):
    """The tensors of a state file by name."""
    name = name_of(optimizer)
    numbers, flags = (words.split() for words in OPTIMIZERS[name])
    tensors = {"optimizer": tensor_of(name)}
    for i, (group, named) in enumerate(groups_of(optimizer, model, masters)):
        prefix = f"param_groups.{i}."
        tensors[prefix + "params"] = tensor_of("".join(path + "\n" for path in named))
        tensors.update({prefix + key: number(group[key]) for key in numbers})
        tensors.update({prefix + key: torch.tensor(bool(group.get(key, False))) for key in flags})
        if "initial_lr" in group:
            tensors[prefix + "initial_lr"] = number(group["initial_lr"])
        for path, parameter in named.items():
            for key, value in optimizer.state.get(parameter, {}).items():
                if value is not None:
                    value = value if isinstance(value, torch.Tensor) else torch.tensor(float(value))
                    tensors[f"state.{path}.{key}"] = value.detach().cpu()
    for i, node in enumerate(nodes_of(scheduler) if scheduler is not None else ()):
        for field, dtype in SCHEDULE_FIELDS.items():
            if hasattr(node, field) or field == "last_epoch":
                tensors[f"scheduler.{i}.{field}"] = torch.tensor(getattr(node, field, -1), dtype=dtype)
    if averaged is not None:
        tensors["ema.n_averaged"] = averaged.n_averaged.detach().cpu().to(torch.int64)
        own = dict(averaged.module.named_parameters())
        for _, named in groups_of(optimizer, model, masters):
            tensors.update({f"ema.module.{path}": own[path].detach().cpu() for path in named})
    for path, master in (masters or {}).items():
        if master in optimizer.state:
            tensors[f"master.{path}"] = master.detach().cpu()
    if scaler is not None:
        state = scaler.state_dict()
        tensors.update({f"scaler.{field}": torch.tensor(state[field], dtype=dtype) for field, dtype in SCALER_FIELDS.items()})
    return tensors


# ---- from C ---------------------------------------------------------------------------------------------------------------


def from_tensors(tensors, optimizer, model, *, scheduler=None, averaged=None, scaler=None, masters=None):
    """Takes the tensors of a state file, or raises ValueError and changes nothing."""
    name, own = text_of(tensors["optimizer"]), name_of(optimizer)
    if name != own:
        raise ValueError(f"the file is of {name}, the optimizer is {own}")
    groups, paths = groups_of(optimizer, model, masters), paths_of(model, masters)
    places = group_places(tensors, groups)
    schedule = schedule_values(tensors, scheduler) if scheduler is not None else []
    averages = average_values(tensors, groups, averaged) if averaged is not None else {}
    copies = master_values(tensors, masters or {}, parameters_of(model))
    scaled = scaler_values(tensors) if scaler is not None else None
    flags = OPTIMIZERS[name][1].split()

    packed = optimizer.state_dict()
    state, index, by_id = {}, 0, {id(group): place for (group, _), place in zip(groups, places)}
    for group, kept in zip(optimizer.param_groups, packed["param_groups"]):
        if id(group) in by_id:
            kept.update(group_values(tensors, by_id[id(group)], group, flags, name))
        for parameter in group["params"]:
            path = paths.get(id(parameter))
            values = state_values(tensors, path, parameter) if id(group) in by_id and parameter.requires_grad else {}
            if values:
                state[index] = values
            elif not parameter.requires_grad and parameter in optimizer.state:
                state[index] = optimizer.state[parameter]
            index += 1
    optimizer.load_state_dict({"state": state, "param_groups": packed["param_groups"]})
    for node, values in schedule:
        set_schedule(node, values, optimizer)
    with torch.no_grad():
        for target, value in [*averages.items(), *copies]:
            target.copy_(value)
    if scaled is not None:
        scaler.load_state_dict(scaled)


def group_places(tensors, groups):
    """For each group its number in the file, by the parameters in it."""
    in_file = {}
    while f"param_groups.{len(in_file)}.params" in tensors:
        in_file[len(in_file)] = set(text_of(tensors[f"param_groups.{len(in_file)}.params"]).split("\n")) - {""}
    if len(in_file) != len(groups):
        raise ValueError(f"the file has {len(in_file)} parameter groups, the optimizer has {len(groups)}")
    places = []
    for _, named in groups:
        place = next((place for place, paths in in_file.items() if paths == set(named)), None)
        if place is None:
            nearest = max(in_file.values(), key=lambda paths: len(paths & set(named)))
            apart = sorted(nearest ^ set(named))
            raise ValueError(f"no parameter group of the file is that of the optimizer with {next(iter(named))}: "
                             f"{apart[0]} is in one of them alone")
        places.append(place)
    return places


def group_values(tensors, place, group, flags, name):
    """The entries of a group, as PyTorch has them."""
    prefix, values = f"param_groups.{place}.", {}
    for full, tensor in tensors.items():
        key = full[len(prefix):]
        if not full.startswith(prefix) or key == "params":
            continue
        value = tuple(tensor.tolist()) if tensor.dim() else tensor.item()
        if key in flags and key not in group:  # of older versions
            if value:
                raise ValueError(f"the file has {key}=True, which {name} of this PyTorch has not")
            continue
        held = group.get(key)
        values[key] = torch.full_like(held, value) if isinstance(held, torch.Tensor) else value
    return values


def state_values(tensors, path, parameter):
    """What the file has of a parameter; {}: it had no step."""
    prefix = f"state.{path}."
    values = {name[len(prefix):]: tensor for name, tensor in tensors.items()
              if name.startswith(prefix) and "." not in name[len(prefix):]}
    for key, value in values.items():
        if value.dim() and value.shape != parameter.shape:
            raise ValueError(f"{prefix}{key} has shape {tuple(value.shape)} in the file, {path} has {tuple(parameter.shape)}")
    return values


def schedule_values(tensors, scheduler):
    """(scheduler, {field: value}) of a scheduler and those it holds."""
    nodes = nodes_of(scheduler)
    count = 0
    while f"scheduler.{count}.last_epoch" in tensors:
        count += 1
    if count != len(nodes):
        raise ValueError(f"the file is of {count} schedulers, those that hold others counted; given are {len(nodes)}")
    found = []
    for i, node in enumerate(nodes):
        fields = [field for field in SCHEDULE_FIELDS if hasattr(node, field)]
        missing = [field for field in fields if f"scheduler.{i}.{field}" not in tensors]
        if missing:
            raise ValueError(f"scheduler {i} of the file is no {type(node).__name__}: it has no {missing[0]}")
        found.append((node, {field: tensors[f"scheduler.{i}.{field}"].item() for field in fields}))
    return found


def set_schedule(node, values, optimizer):
    for field, value in values.items():
        setattr(node, field, value)
    if hasattr(node, "base_lrs"):
        node.base_lrs = [group.get("initial_lr", base) for group, base in zip(optimizer.param_groups, node.base_lrs)]
    if hasattr(node, "_last_lr"):
        node._last_lr = [group["lr"] for group in optimizer.param_groups]
    if hasattr(node, "_step_count") and "last_epoch" in values:
        node._step_count = values["last_epoch"] + 1


def master_values(tensors, masters, parameters):
    """[(copy, its value in the file, or of its parameter, which one without a step is)]."""
    found = [(master, tensors.get(f"master.{path}", parameters[path].detach())) for path, master in masters.items()]
    for (path, master), (_, value) in zip(masters.items(), found):
        if value.shape != master.shape:
            raise ValueError(f"master.{path} has shape {tuple(value.shape)} in the file, {tuple(master.shape)} here")
    return found


def scaler_values(tensors):
    """The state_dict of the file's GradScaler."""
    missing = [field for field in SCALER_FIELDS if f"scaler.{field}" not in tensors]
    if missing:
        raise ValueError(f"the file has no scaler.{missing[0]}: its spec has no `scaler`")
    return {field: tensors[f"scaler.{field}"].item() for field in SCALER_FIELDS}


def average_values(tensors, groups, averaged):
    """{tensor of the AveragedModel: its value in the file}."""
    own, found = dict(averaged.module.named_parameters()), {}
    wanted = {"ema.n_averaged": averaged.n_averaged}
    wanted.update({f"ema.module.{path}": own[path] for _, named in groups for path in named})
    for name, target in wanted.items():
        if name not in tensors:
            raise ValueError(f"the file has no {name}: its spec has no `ema`" if name == "ema.n_averaged" else
                             f"the file has no {name}")
        if tensors[name].shape != target.shape:
            raise ValueError(f"{name} has shape {tuple(tensors[name].shape)} in the file, {tuple(target.shape)} here")
        found[target] = tensors[name]
    return found
