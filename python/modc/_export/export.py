"""modc.export: a spec and a file of weights from a module, tried before it is said to be done."""
import contextlib
import copy
import inspect
import json
import os
import re
import shutil
import tempfile
import warnings
from pathlib import Path

import torch

from modc._build import run_command
from modc._errors import ExportError, ExportWarning, SpecError
from modc._files import safetensors_bytes
from modc._export.constructors import base_class, class_name, constructor
from modc._export.guards import extents_of, guards, others_of
from modc._export.left import Left
from modc._export.modes import Calm, calm_calls, calm_modules, in_mode
from modc._export.trace import FROM_PYTHON, SCRIPTED, copied, named_tensors, tensors_of, trace, undisturbed
from modc._export.write import Whole


FAULT = re.compile(r":(\d+):(\d+): error: (.*)((?:\n(?!\S*:\d+:\d+: error: ).*)*)")  # row, column, cause, what stands below
RTOL = 1e-4  # relative to the largest number of an output
OWN_TIMES = 4  # how many times PyTorch's own distance from float64 is right, too, where that is more
NOISE = 1e-3  # outputs that are all smaller are compared as if the largest were this: they may be rounding alone


class Catalogue:
    """What modc has: names of layers and functions."""

    def __init__(self):
        about = json.loads(run_command(["layers", "--format", "json"]))
        self.layers = {layer["name"] for layer in about["layers"]}
        self.functions = {function["name"]: function for function in about["functions"]}

    def is_leaf(self, module):
        kind = base_class(module)
        if kind is None or kind.__name__ in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict",
                                             "Transformer"):
            return False
        name = {"NonDynamicallyQuantizableLinear": "Linear"}.get(kind.__name__, kind.__name__)
        return name in self.layers and constructor(module) is not None


class Exported:
    """What modc.export made: the paths of its files, how far the compiled model is from PyTorch, and, of modules that are left
    as Externs, what modc.compile takes in the place of their bodies."""

    def __init__(self, spec, weights, tables, differences, externs):
        self.spec, self.weights, self.tables, self.differences, self.externs = spec, weights, tables, differences, externs

    def __repr__(self):
        worst = max(self.differences, default=0.0)
        return f"<{self.spec}: {worst:.1e} from PyTorch>"


def results(model, training, args, kwargs, count=1):
    """What PyTorch gives in so many calls, each with the buffers behind it; in training mode nothing is dropped."""
    found = []
    with in_mode(model, training), undisturbed(model), torch.no_grad(), calmed(model, training):
        for _ in range(count):
            made = {}
            result = model(*copied(args, made), **copied(kwargs, made))
            outputs = list({id(tensor): tensor.detach().clone() for tensor in tensors_of(result, [])}.values())
            found.append((outputs, {name: tensor.detach().clone() for name, tensor in named_tensors(model, "buffer")}))
    return found


@contextlib.contextmanager
def calmed(model, training):
    """A block in which nothing is drawn, in training mode."""
    with contextlib.ExitStack() as stack:
        for item in (calm_modules(model), Calm()) if training else ():
            stack.enter_context(item)
        yield


def doubled(item):
    """The same structure with tensors of float64 for those of float32."""
    if isinstance(item, torch.Tensor):
        return item.double() if item.dtype == torch.float32 else item
    if type(item) in (list, tuple):
        return type(item)([doubled(part) for part in item])
    return {key: doubled(part) for key, part in item.items()} if isinstance(item, dict) else item


def own_distance(model, args, kwargs, training):
    """How far PyTorch is from what it computes of a model in float64, relative to the largest number; 0: it cannot be told."""
    try:
        exact, buffers = results(copy.deepcopy(model).double(), training, doubled(args), doubled(kwargs))[0]
        outputs, own_buffers = results(model, training, args, kwargs)[0]
    except Exception:  # a copy may fail in any way, and so may a model that does not expect float64
        return 0.0
    pairs = [*zip(outputs, exact), *((tensor, buffers[name]) for name, tensor in own_buffers.items() if name in buffers)]
    return max((distance(have.double(), want) for have, want in pairs
                if have.is_floating_point() and want.dtype == torch.float64 and have.shape == want.shape), default=0.0)


def listing(names):
    """'a', 'b' and 'c'."""
    *most, last = [f"'{name}'" for name in names]
    return f"{', '.join(most)} and {last}" if most else last


class Reading:
    """A model as it was seen in evaluation mode and, if that is wanted and can be, in training mode.

    training: True, it has to be there; False, it is left out; None, it is there if it can be, else `lacks` says why. left: by
    path, modules that are not looked into."""

    def __init__(self, model, args, kwargs, training, left, sizes):
        self.model, self.args, self.kwargs, self.left = model, args, kwargs, left
        self.catalogue, self.lacks = Catalogue(), None
        for item in left.values():
            item.forget()
        with in_mode(self.model, False):
            self.evaluation, self.training = self.trace(), None
            self.note_ways(self.evaluation, sizes)
        self.always = ["*"]
        if training is False:
            return
        with in_mode(self.model, True):
            try:
                self.training = self.trace()
                self.check_outputs()
                self.note_ways(self.training, sizes)
                self.always = self.in_evaluation()
            except (ExportError, RuntimeError, ValueError, TypeError, IndexError) as error:
                if training:
                    raise
                self.lacks, self.training = str(error), None

    def trace(self, args=None, kwargs=None):
        return trace(self.model, self.args if args is None else args, self.kwargs if kwargs is None else kwargs,
                     self.catalogue.is_leaf, self.left)

    def note_ways(self, tracer, sizes):
        """How modules that are left are called, and what they give: by runs with other sizes it is known how that follows."""
        if not self.left:
            return
        extents = extents_of(self.model, self.args, self.kwargs, sizes)
        runs = [(extents, tracer)]
        for by in (1, 2, 3):
            for moved in [*([size] for size in sizes), list(sizes)]:
                chosen = {size: extent if size not in moved else extent - by if extent > by else extent + by
                          for size, extent in extents.items()}
                if all(extent <= sizes[size][0] for size, extent in chosen.items()) and all(chosen != run for run, _ in runs):
                    runs.append((chosen, self.trace(*others_of(self.model, self.args, self.kwargs, sizes, chosen))))
        found = [(left, left.found([(run, one.left_calls[path]) for run, one in runs])) for path, left in self.left.items()]
        for left, ways in found:
            left.take(tracer.mode, ways)

    def check_outputs(self):
        """Both modes give as many tensors."""
        counts = [len({id(tensor) for tensor in tensors_of(tracer.result, [])}) for tracer in (self.evaluation, self.training)]
        if counts[0] != counts[1]:
            raise ExportError(f"the model gives {counts[1]} tensors in training mode and {counts[0]} in evaluation mode",
                              None, "", "return the same in both; or export one mode: training=False")

    def in_evaluation(self):
        """Paths of the modules that train() leaves in evaluation mode, without those below one of them."""
        paths = []
        for path, module in self.model.named_modules():
            if path and not module.training and not any(path.startswith(other + ".") for other in paths):
                paths.append(path)
        return paths

    def warnings(self, path):
        """What the spec does not have of the model."""
        if self.lacks is not None:
            yield f"{path} has no training mode: {self.lacks}"
        for value, place in self.evaluation.spoiled.values():
            name = next(iter(value.named()), "an argument")
            yield f"{place}: the model changes its argument '{name}' in place; the compiled model leaves it as it is"
        bodies = {}
        for left in self.left.values():
            bodies.setdefault(tuple(dict.fromkeys(way.name for way in left.ways)), []).append(left)
        for names, members in bodies.items():
            are = "are" if len(members) > 1 else "is"
            externs, whose = ("the Externs", "whose bodies are") if len(names) > 1 else ("the Extern", "whose body is")
            yield (f"{listing(left.path for left in members)} {are} left as {externs} {listing(names)}, {whose} yours to write: "
                   f"{members[0].cause}")
        for name, place in self.evaluation.functions.items():
            yield f"{place}: {name} has a backward of its own; the compiled model differentiates what its forward computes"

    def whole(self, name, file, sizes):
        training = Whole(self.training, name, self.catalogue, file, sizes) if self.training else None
        return Whole(self.evaluation, name, self.catalogue, file, sizes, training, self.always)

    def calm(self, plain):
        """The spec of a model that drops nothing, by which training mode can be compared; None: it draws otherwise."""
        if self.training is None or not calm_calls(self.training.root):
            return None
        calm_calls(self.evaluation.root)
        with calm_modules(self.model):
            whole = self.whole(plain.name, plain.file, plain.sizes)
            whole.requires = plain.requires
            return whole.spec()


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


class Leaving:
    """Which modules of a model are left as Externs: those in which something cannot be told."""

    def __init__(self, model):
        self.model, self.modules, self.bodies = model, {}, {}

    def take(self, path, cause):
        """Whether a module was not left yet, and can be: the model itself cannot. It is from now on."""
        if not path or path in self.modules:
            return False
        self.modules[path] = Left(self.model.get_submodule(path), path, cause, self.bodies)
        return True

    def leave(self, problem):
        """Whether modules were found without which what an export failed with may not come again."""
        if isinstance(problem, ExportError):
            return any([self.take(path, str(fault)) for path, fault in getattr(problem, "faults", [(problem.module, problem)])])
        return self.take(getattr(problem, "within", ""), f"{type(problem).__name__}: {problem}")


def faults(problem, whole, text):
    """What the command refuses of a spec, in the words of the model: (path of a module, ExportError). whole: what the spec, which
    is this text, was made of."""
    lines = text.split("\n")
    for row, column, cause, more in FAULT.findall(str(problem)):
        words = set(re.findall(r"\w+", lines[int(row) - 1][int(column) - 1:]))
        hint = re.search(r"^hint: (.*)", more, re.M)
        group = next((group for group in whole.definitions if group.first < int(row) <= group.last), None)
        for path, module in group.modules if group is not None else [("", whole.model)]:
            call = next((call for scope in whole.scopes_of(module) for call in scope.calls
                         if getattr(call, "place", None) and call.name.rpartition(".")[2] in words), None)
            if call is not None or group is not None:
                yield path, ExportError(cause, call and call.place, path, hint and hint.group(1))


class Attempt:
    """The text of a spec, as far as it can be told without looking into the modules that are left."""

    def __init__(self, model, args, kwargs, training, name, path, sizes, check, left):
        self.reading = Reading(model, args, kwargs, training, left, sizes)
        self.tables_name = f"{path.stem}.tables.safetensors"
        self.whole = self.reading.whole(name, self.tables_name, sizes)
        self.whole.requires = guards(self.reading, sizes)
        self.text = self.whole.spec()
        self.calm = self.reading.calm(self.whole) if check else None

    def write(self, folder, path):
        """The spec and its tables, which the command takes. ExportError, SpecError: it does not."""
        (folder / path.name).write_text(self.text, encoding="utf-8")
        if self.whole.tables:
            (folder / self.tables_name).write_bytes(safetensors_bytes(self.whole.tables))
        try:
            run_command(["check", folder / path.name])
        except SpecError as problem:
            found = list(faults(problem, self.whole, self.text))
            if not found:
                raise
            found[0][1].faults = found
            raise found[0][1] from None


def export(model, args=(), path="net.yaml", *, kwargs=None, dynamic_shapes=None, name=None, training=None, partial=False,
           check=True, rtol=None):
    """Writes a spec of a torch.nn.Module, and its weights beside it in safetensors (net.safetensors; net.tables.safetensors for
    constants that are no part of the state_dict). args, kwargs: what it is called with once, to see what it does.

    dynamic_shapes: by argument, the dimensions that calls choose: {"x": {0: "batch"}}, or with a maximum, {"x": {0: ("batch", 64)}},
    or torch.export.Dim. training: whether the spec has training mode, too; None: if it can be read, else an ExportWarning says
    why not. check: the spec is compiled and must give PyTorch's numbers for args and others, in both modes, with dropout of
    nothing; RuntimeError if it does not, and nothing is written. Returns the paths and the differences. ExportError says what
    cannot be told, where and what to do. partial: modules in which something cannot be told are left as Externs, with their
    parameters, and an ExportWarning for each body; they themselves are the bodies with which the spec is tried, and which the
    result has for modc.compile, by path, as `externs`.
    """
    path = Path(path)
    args, kwargs = args if isinstance(args, tuple) else (args,), kwargs or {}
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"modc.export takes a torch.nn.Module, not what is of type {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise ExportError(SCRIPTED, None, "", FROM_PYTHON)
    name = name or re.sub(r"\W", "_", type(model).__name__).lower()
    signature = inspect.signature(type(model).forward)
    try:
        signature.bind(model, *args, **kwargs)
    except TypeError as problem:
        words = ", ".join(map(str, list(signature.parameters.values())[1:]))
        raise ExportError(f"{type(model).__name__}.forward({words}) cannot be called so: {problem}", None, "",
                          "args and kwargs are those of one call") from None
    sizes = dynamic_sizes(model, args, kwargs, dynamic_shapes)
    leaving = Leaving(model)
    weights = {key: tensor.detach() for key, tensor in model.state_dict(keep_vars=True).items()}

    with tempfile.TemporaryDirectory(prefix="modc-") as work:
        made = Path(work)
        while True:
            try:
                attempt = Attempt(model, args, kwargs, training, name, path, sizes, check, leaving.modules)
                attempt.write(made, path)
                break
            except Exception as problem:
                if not partial or not leaving.leave(problem):
                    raise
        reading, whole = attempt.reading, attempt.whole
        (made / f"{path.stem}.safetensors").write_bytes(safetensors_bytes(weights))
        externs = {key: body for left in leaving.modules.values() for key, body in left.stand_ins().items()}
        differences = []
        if check:
            tried = made / f"{path.stem}.tried.yaml"
            tried.write_text((attempt.calm or attempt.text) + "\nhooks: none\n", encoding="utf-8")  # half of the code
            differences = compare(tried, made / f"{path.stem}.safetensors", attempt, externs, sizes, rtol)
            tried.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        for item in made.iterdir():
            os.replace(shutil.copy(item, path.parent / f".{item.name}.part"), path.parent / item.name)
    for text in reading.warnings(path):
        warnings.warn(text, ExportWarning, stacklevel=2)
    return Exported(path, path.parent / f"{path.stem}.safetensors", path.parent / attempt.tables_name if whole.tables else None,
                    differences, externs)


class Bound:
    """How far is right: rtol, or OWN_TIMES PyTorch's own distance from float64, as in deep networks."""

    def __init__(self, reading, rtol):
        self.reading, self.rtol, self.own = reading, rtol or RTOL, {}

    def allows(self, difference, training):
        if difference != difference or difference <= self.rtol:
            return difference == difference
        if training not in self.own:
            self.own[training] = own_distance(self.reading.model, self.reading.args, self.reading.kwargs, training)
        return difference <= OWN_TIMES * self.own[training]


def compare(spec, weights, attempt, externs, sizes, rtol):
    """The largest differences of the compiled model's outputs from PyTorch's, relative to the largest output: for the arguments
    of the trace, and for others, since what was read of one run has to hold for all; in training mode, too, if it can be made
    calm. What calls leave in buffers is compared, and where they keep more than that, a second call."""
    from modc._net import compile as compile_spec
    reading, whole = attempt.reading, attempt.whole
    net = compile_spec(spec, weights=weights, cflags="-O0 -march=native", externs=externs)  # it runs a few times alone
    check_keys(net, reading.model)
    bound = Bound(reading, rtol)
    trials = [(False, reading.args, reading.kwargs, "")]
    extents = extents_of(reading.model, reading.args, reading.kwargs, sizes)
    for seed in (1, 2) if sizes else (0,):
        chosen = {size: max(1, min(most, extents[size] - seed)) for size, (most, _) in sizes.items()}
        if all(requirement.holds(chosen) for requirement in whole.requires):
            trials.append((False, *others_of(reading.model, reading.args, reading.kwargs, sizes, chosen, seed),
                           " for other arguments"))
    if attempt.calm is not None:
        trials.append((True, reading.args, reading.kwargs, " in training mode"))
    differences = []
    for training, args, kwargs, what in trials:
        given = dict(zip(map(id, tensors_of((reading.args, reading.kwargs), [])), tensors_of((args, kwargs), [])))
        inputs = [given[id(value.given)].detach().contiguous() for _, value in whole.tracer_root_arguments()]
        try:
            wanted = results(reading.model, training, args, kwargs, 2 if whole.keeps() else 1)
        except (ValueError, TypeError, RuntimeError, IndexError, AssertionError):  # PyTorch refuses these arguments
            if args is reading.args and not training:
                raise
            continue
        net.train(training)
        for count, (outputs, buffers) in enumerate(wanted):
            where = what + (" in a second call" if count else "")
            with calmed(reading.model, training):  # modules that are left as Externs, too
                have = net(*inputs)
            have = have if isinstance(have, tuple) else (have,)
            names = [f"output {index}" for index in range(len(have))]
            differences += apart(have, outputs, names, bound, training, where, whole.hint() if count else None)
            have = net.state_dict("torch")
            names = [name for name in buffers if name in have]
            differences += apart([have[name] for name in names], [buffers[name] for name in names], names, bound, training,
                                 where)
        if whole.keeps() or training:
            net.load_state_dict(weights)
            net.reset_state()
    return differences


def check_keys(net, model):
    """RuntimeError: the compiled model's state_dict has other keys or shapes than PyTorch's, or another order."""
    have, want = ([(key, tuple(tensor.shape)) for key, tensor in state.items()]
                  for state in (net.state_dict("torch"), model.state_dict()))
    for place, (mine, own) in enumerate(zip(have + [None] * len(want), want + [None] * len(have))):
        if mine != own:
            mine, own = (f"'{item[0]}' {item[1]}" if item else "nothing" for item in (mine, own))
            raise RuntimeError(f"entry {place} of the compiled model's state_dict is {mine}, of PyTorch's {own}")


def apart(outputs, wanted, names, bound, training, what, hint=None):
    """How far tensors are from those that they should be, relative to the largest number. RuntimeError: too far."""
    differences = []
    for have, want, name in zip(outputs, wanted, names):
        if tuple(have.shape) != tuple(want.shape) or have.dtype != want.dtype:
            raise RuntimeError(f"{name} is {have.dtype} {tuple(have.shape)}, PyTorch's {want.dtype} {tuple(want.shape)}{what}")
        differences.append(distance(have, want))
    far = [f"{name} {difference:.1e}" for name, difference in zip(names, differences) if not bound.allows(difference, training)]
    if far:
        raise RuntimeError(f"the compiled model is not PyTorch's{what}: {', '.join(far)}" + (f"\nhint: {hint}" if hint else ""))
    return differences


def distance(have, want):
    """How far a tensor is from another one, relative to the largest number of that; of integers, how many are others."""
    if want.is_complex():
        return distance(*(torch.view_as_real(tensor.resolve_conj()) for tensor in (have, want)))
    if not want.is_floating_point():
        return float((have != want).sum())
    same = (have == want) | (have.isnan() & want.isnan())
    distances = torch.where(same, torch.zeros_like(want), (have - want).abs())
    finite = want[want.isfinite()]
    most = float(finite.abs().max()) if finite.numel() else 1.0
    return float(distances.max()) / max(most, NOISE) if distances.numel() else 0.0
