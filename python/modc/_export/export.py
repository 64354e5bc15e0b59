"""modc.export: a spec and a file of weights from a module, tried before it is said to be done."""
import inspect
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import torch

from modc._build import run_command
from modc._files import safetensors_bytes
from modc._export.constructors import base_class, constructor
from modc._export.trace import ExportError, trace
from modc._export.write import Whole


class Catalogue:
    """What modc has: names of layers and functions."""

    def __init__(self):
        about = json.loads(run_command(["layers", "--format", "json"]))
        self.layers = {layer["name"] for layer in about["layers"]}
        self.functions = {function["name"]: function for function in about["functions"]}

    def is_leaf(self, module):
        kind = base_class(module)
        if kind is None or kind.__name__ in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict",
                                             "Transformer", "TransformerEncoder", "TransformerDecoder",
                                             "TransformerEncoderLayer", "TransformerDecoderLayer"):
            return False
        name = {"NonDynamicallyQuantizableLinear": "Linear"}.get(kind.__name__, kind.__name__)
        return name in self.layers and constructor(module) is not None


class Exported:
    """What modc.export made: the paths of its files, and how far the compiled model is from PyTorch."""

    def __init__(self, spec, weights, tables, differences):
        self.spec, self.weights, self.tables, self.differences = spec, weights, tables, differences

    def __repr__(self):
        worst = max(self.differences, default=0.0)
        return f"<{self.spec}: {worst:.1e} from PyTorch>"


def read(model, args, kwargs, file, name, catalogue, sizes):
    tracer = trace(model, args, kwargs, catalogue.is_leaf)
    return Whole(tracer, name, catalogue, file, sizes)


def dynamic_sizes(model, args, kwargs, dynamic_shapes):
    """{name: (maximum, [(input name, axis)])} of {input name: {axis: "batch" or ("batch", 64) or torch.export.Dim}}."""
    sizes = {}
    bound = inspect.signature(type(model).forward).bind(model, *args, **kwargs)
    if isinstance(dynamic_shapes, (tuple, list)):
        dynamic_shapes = dict(zip(list(bound.arguments)[1:], dynamic_shapes))
    for name, axes in (dynamic_shapes or {}).items():
        if name not in bound.arguments:
            raise ExportError(f"dynamic_shapes names '{name}', which is no argument of the model", None, "",
                              f"it has {', '.join(list(bound.arguments)[1:])}")
        tensor = bound.arguments[name]
        for axis, size in (axes.items() if isinstance(axes, dict) else enumerate(axes or ())):
            if size is None:
                continue
            most = None
            if isinstance(size, tuple):
                size, most = size
            elif not isinstance(size, str):
                most, size = getattr(size, "max", None), getattr(size, "__name__", str(size))
                most = None if most is not None and most > 2 ** 31 - 2 else most
            extent = int(tensor.shape[axis])
            known = sizes.get(size, (0, []))
            sizes[size] = (max(known[0], int(most) if most is not None else extent), known[1] + [(name, axis % tensor.ndim)])
    return sizes


def export(model, args=(), path="net.yaml", *, kwargs=None, dynamic_shapes=None, name=None, check=True, rtol=None):
    """Writes a spec of a torch.nn.Module, and its weights beside it in safetensors (net.safetensors; net.tables.safetensors for
    constants that are no part of the state_dict). args, kwargs: what it is called with once, to see what it does.

    dynamic_shapes: by argument, the dimensions that calls choose: {"x": {0: "batch"}}, or with a maximum, {"x": {0: ("batch", 64)}},
    or torch.export.Dim. check: the spec is compiled and must give PyTorch's numbers for args; RuntimeError if it does not, and
    nothing is written. Returns the paths and the differences. ExportError says what cannot be told, where and what to do.
    """
    path = Path(path)
    args, kwargs = args if isinstance(args, tuple) else (args,), kwargs or {}
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"modc.export takes a torch.nn.Module, not a {type(model).__name__}")
    catalogue = Catalogue()
    name = name or re.sub(r"\W", "_", type(model).__name__).lower()
    sizes = dynamic_sizes(model, args, kwargs, dynamic_shapes)
    tables_name = f"{path.stem}.tables.safetensors"
    whole = read(model, args, kwargs, tables_name, name, catalogue, sizes)
    text = whole.spec()
    weights = {key: tensor.detach() for key, tensor in model.state_dict(keep_vars=True).items()}

    with tempfile.TemporaryDirectory(prefix="modc-") as work:
        made = Path(work)
        (made / path.name).write_text(text, encoding="utf-8")
        if whole.tables:
            (made / tables_name).write_bytes(safetensors_bytes(whole.tables))
        (made / f"{path.stem}.safetensors").write_bytes(safetensors_bytes(weights))
        run_command(["check", made / path.name])
        differences = compare(made / path.name, made / f"{path.stem}.safetensors", whole, rtol) if check else []
        path.parent.mkdir(parents=True, exist_ok=True)
        for item in made.iterdir():
            os.replace(shutil.copy(item, path.parent / f".{item.name}.part"), path.parent / item.name)
    return Exported(path, path.parent / f"{path.stem}.safetensors", path.parent / tables_name if whole.tables else None,
                    differences)


def compare(spec, weights, whole, rtol):
    """The largest differences of the compiled model's outputs from those of the trace, relative to the largest output."""
    from modc._net import compile as compile_spec
    net = compile_spec(spec, weights=weights, cflags="-O1 -march=native")
    net.train(whole.model.training)
    inputs = [value.tensor.detach().contiguous() for _, value in whole.tracer_root_arguments()]
    outputs = net(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wanted = [value.tensor.detach() for value in whole.returned(whole.tracer.root)]
    differences = []
    for index, (have, want) in enumerate(zip(outputs, wanted)):
        if tuple(have.shape) != tuple(want.shape) or have.dtype != want.dtype:
            raise RuntimeError(f"output {index} is {have.dtype} {tuple(have.shape)}, PyTorch's {want.dtype} {tuple(want.shape)}")
        if not want.is_floating_point():
            differences.append(float((have != want).sum()))
            continue
        same = (have == want) | (have.isnan() & want.isnan())
        apart = torch.where(same, torch.zeros_like(want), (have - want).abs())
        finite = want[want.isfinite()]
        most = float(finite.abs().max()) if finite.numel() else 1.0
        differences.append(float(apart.max()) / max(most, 1e-30) if apart.numel() else 0.0)
    bound = rtol or 1e-4
    if any(difference > bound or difference != difference for difference in differences):
        raise RuntimeError("the compiled model is not PyTorch's: " + ", ".join(
            f"output {index} {difference:.1e}" for index, difference in enumerate(differences)))
    return differences
