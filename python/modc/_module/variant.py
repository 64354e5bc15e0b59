"""From a call to the library that runs it: schemas and their variants.

A schema is all of a call but the extents of its tensors: their types and ranks, what else the arguments are, the modes of the
modules, which parameters are trained. Its first variant has the extents of the first call. What differs in a later call becomes
a size, with a maximum that is doubled as calls need it; where the model does something else for other extents, they get a
variant of their own.
"""
import copy
import re
import tempfile
import time
from pathlib import Path

import torch

from modc._build import build, run_command
from modc._errors import CompilerError, Error, SpecError
from modc._export.export import Catalogue
from modc._export.trace import ExportError, held_by, trace
from modc._export.write import Whole
from modc._files import safetensors_bytes
from modc._module.compiled import Misfit, Prepared
from modc._module.fallback import ModuleFallbackException, ModuleIOError, ModuleSpecException, ModuleTorchModelException
from modc._module.options import LogLevel
from modc._module.structure import Result, flatten, replaced

TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-3, torch.float16: 3e-2, torch.bfloat16: 1e-1,
              torch.complex64: 1e-3, torch.complex128: 1e-9}
MANY = 16  # variants of a module after which it says so
_catalogue = []


def catalogue():
    if not _catalogue:
        _catalogue.append(Catalogue())
    return _catalogue[0]


def is_foreign(hook):
    """Whether a hook is the user's, and not a part of PyTorch that makes a module what it is (weight_norm, spectral_norm)."""
    return not (getattr(hook, "__module__", None) or type(hook).__module__ or "").startswith("torch.")


HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


def foreign_hooks(model):
    """(path, module, list's name) of lists with hooks of the user's, at any module."""
    for path, module in model.named_modules():
        for name in HOOKS:
            hooks = getattr(module, name, None)
            if hooks and any(map(is_foreign, hooks.values())):
                yield path, module, name


def attributes(model):
    """By module and name: what forward may have changed beside parameters and buffers."""
    found = {}
    for path, module in model.named_modules():
        for name, item in vars(module).items():
            if not name.startswith("_") and isinstance(item, (int, float, str, type(None))):
                found[path, name] = item
    return found


class Trial:
    """One run of a copy of the model in PyTorch: what it returns and what else it does. Its exceptions are the model's own."""

    def __init__(self, owner, args, kwargs):
        self.model = copied(owner.module)
        given = [tensor.detach().clone() for tensor in tensors_in((args, kwargs))]
        versions = [tensor._version for tensor in given]
        state, before, held = torch.get_rng_state(), attributes(self.model), held_by(self.model)
        try:
            with torch.no_grad():
                tensors = iter(given)
                result = self.model(*replaced(args, tensors), **replaced(kwargs, tensors))
            self.random = not torch.equal(state, torch.get_rng_state())
        finally:
            torch.set_rng_state(state)
        self.check_attributes(before, held)
        if [tensor._version for tensor in given] != versions:
            raise ModuleTorchModelException("forward changes an argument in place; modc.Module gives results alone")
        self.result = Result(result)

    def check_attributes(self, before, held):
        for (path, name), item in attributes(self.model).items():
            if (path, name) in before and before[path, name] is not item and before[path, name] != item:
                raise ModuleTorchModelException(f"forward changes the attribute '{name}' of module '{path}', which the spec does not "
                                                "have\nhint: what goes on from call to call is a buffer")
        if any(tensor_id not in held for tensor_id in held_by(self.model)):
            raise ModuleTorchModelException("forward keeps a tensor in an attribute, which the spec does not have\n"
                                            "hint: what goes on from call to call is a buffer")


def tensors_in(item):
    found = []
    flatten(item, found)
    return found


def copied(model):
    """A copy without hooks of the user's."""
    try:
        model = copy.deepcopy(model)
    except Exception as error:
        raise ModuleTorchModelException(f"the model cannot be copied to see what it does: {error}") from error
    for _, module, name in list(foreign_hooks(model)):
        hooks = getattr(module, name)
        for key in [key for key, hook in hooks.items() if is_foreign(hook)]:
            del hooks[key]
    return model


class Traced:
    """What the exporter reads of a run of a copy of the model, and what a run without it gave."""

    def __init__(self, owner, args, kwargs):
        self.owner, self.trial = owner, Trial(owner, args, kwargs)
        self.result, self.random = self.trial.result, self.trial.random
        given = [tensor.detach().clone() for tensor in tensors_in((args, kwargs))]
        tensors = iter(given)
        args, kwargs = replaced(args, tensors), replaced(kwargs, tensors)
        model, state = copied(owner.module), torch.get_rng_state()
        name = re.sub(r"\W", "_", type(model).__name__).lower()
        try:
            tracer = trace(model, args, kwargs, catalogue().is_leaf)
            self.whole = Whole(tracer, name, catalogue(), "tables.safetensors", {})
            arguments = self.whole.tracer_root_arguments()
            count = len(self.whole.returned(tracer.root))
        finally:
            torch.set_rng_state(state)
        self.functions = tracer.functions
        if count != len(self.result.tensors):
            raise ModuleIOError("the result has a tensor twice")
        self.names = [name for name, _ in arguments]
        by_id = {id(tensor): i for i, tensor in enumerate(given)}
        self.positions = [by_id.get(id(getattr(value, "given", value.tensor)), -1) for _, value in arguments]
        if -1 in self.positions:
            raise ModuleTorchModelException("forward reads a tensor that is neither an argument nor the model's own")

    def text(self, sizes, modes):
        """The spec; sizes: {name: (maximum, [(position of a tensor, axis)])}."""
        names = dict(zip(self.positions, self.names))
        self.whole.sizes = {name: (most, [(names[position], axis) for position, axis in places if position in names])
                            for name, (most, places) in sizes.items()}
        text = self.whole.spec()
        if not self.owner.with_hooks:
            text += "\nhooks: none\n"
        still = self.still(modes, "self.training" in text)
        if any(modes) and still:
            text += f"\neval: [{', '.join(still)}]\n"
        return text

    def still(self, modes, asked):
        """Paths of modules of the spec that are in evaluation mode. A path stands for all below it. asked: some forward reads
        its module's mode."""
        found = []
        by_module = dict(zip(map(id, self.owner.module.modules()), modes))
        for path, module in self.owner.module.named_modules():
            below = [by_module[id(other)] for other in module.modules()]
            if asked and any(below) and not module.training and not self.whole.is_leaf(module):
                raise ModuleTorchModelException(f"module '{path}' is in evaluation mode and some below it are in training mode, which "
                                                "specs cannot say where a forward asks for the mode")
            if path and path in self.whole.called and not any(below) and not any(path.startswith(top + ".") for top in found):
                found.append(path)
        return found


class Variant:
    """A schema with certain extents or sizes: its library, which tensors it takes, what it returns."""

    def __init__(self, schema, traced, sizes, saves):
        self.schema, self.sizes, self.saves = schema, sizes, saves
        if saves and traced.functions:
            raise ModuleTorchModelException(f"{next(iter(traced.functions))} has a backward that is not that of its forward, "
                                            "which modc differentiates\nhint: a function y whose gradient is that of x is "
                                            "x + (y - x).detach()")
        self.text = traced.text(sizes, schema.modes)
        self.positions, self.result, self.random = traced.positions, traced.result, traced.random
        self.mode = any(schema.modes)
        checks = not traced.random and not any(True for _ in foreign_hooks(schema.owner.module))
        self.expected = traced.result.tensors if checks else None
        self.after = {name: buffer for name, buffer in traced.trial.model.named_buffers()} if self.mode else {}
        self.compiled = schema.runner.library(self.text, saves, traced.whole.tables, self.mode)
        if self.compiled.about["states"]:
            names = ", ".join(repr(state["name"]) for state in self.compiled.about["states"])
            raise ModuleTorchModelException(f"forward keeps tensors from call to call that are no buffers: {names}")
        if len(self.compiled.entry["outputs"]) != len(traced.result.tensors):
            raise ModuleSpecException(f"the spec gives {len(self.compiled.entry['outputs'])} results, the model {len(traced.result.tensors)}")
        order = {path: i for i, path in enumerate(schema.runner.held.parameter_paths)}
        self.parameters = [order.get(name, -1) for name in self.compiled.gradients]

    def check(self, outputs, expected, exact):
        """The numbers of the first call against those of the traced run. Where they are apart, PyTorch's own in float64, which
        exact() gives, say how far float32 may be: statistics of two values turn rounding into signs."""
        for index, (have, want) in enumerate(zip(outputs, expected)):
            distance, bound = apart(have, want), TOLERANCES.get(want.dtype, 0.0)
            if distance <= bound:
                continue
            if want.dtype == torch.float32 and tuple(have.shape) == tuple(want.shape):
                truth = exact()[index]
                if truth.dtype == torch.float64 and apart(have.double(), truth) <= 10 * apart(want.double(), truth) + bound:
                    return
            raise ModuleSpecException(f"result {index} of the compiled module is {distance:.1e} from PyTorch's, over {bound:.0e}")
        for name, want in self.after.items():
            have = self.schema.runner.held.keys.get(name)
            if have is not None and want.is_floating_point() and not apart(have, want) <= TOLERANCES.get(want.dtype, 0.0):
                raise ModuleSpecException(f"the compiled module leaves buffer '{name}' as PyTorch does not")
        self.after = {}


def apart(have, want):
    """The largest difference, relative to the largest number."""
    if tuple(have.shape) != tuple(want.shape) or have.dtype != want.dtype:
        return float("inf")
    if not want.numel():
        return 0.0
    if not want.is_floating_point() and not want.is_complex():
        return float((have != want).sum())
    have, want = have.detach(), want.detach()
    same = (have == want) | ((have != have) & (want != want))
    distance = torch.where(same, torch.zeros_like(want), have - want).abs()
    finite = want[torch.isfinite(want)]
    most = float(finite.abs().max()) if finite.numel() else 1.0
    return float(distance.max()) / max(most, 1e-30)


class Schema:
    """All calls that differ in extents alone."""

    def __init__(self, runner, modes):
        self.runner, self.owner, self.modes = runner, runner.owner, modes
        self.static = {}  # (extents, whether gradients are kept): Variant
        self.sized = {}  # whether gradients are kept: Variant
        self.seen = []  # extents of calls: of all their tensors
        self.fixed = set()  # extents that got a variant of their own, since sizes could not be

    def prepared(self, args, kwargs, tensors, training):
        """Prepared calls for these arguments. training: as Prepared has it."""
        extents, saves = tuple(tuple(tensor.shape) for tensor in tensors), training is not None
        for wanted in ((True,) if saves else (True, False)):  # what keeps for backward serves without, too
            for variant in (self.static.get((extents, wanted)), self.sized.get(wanted)):
                if variant is not None:
                    try:
                        return Prepared(variant, extents, training)
                    except Misfit:
                        pass
        variant = None
        if self.seen and extents not in self.fixed and extents not in self.seen:
            variant = self.with_sizes(args, kwargs, tensors, extents, saves)
        if variant is None:
            variant = Variant(self, Traced(self.owner, args, kwargs), {}, saves)
            self.static[extents, saves] = variant
        if extents not in self.seen:
            self.seen.append(extents)
        return Prepared(variant, extents, training)

    def with_sizes(self, args, kwargs, tensors, extents, saves):
        """A variant in which what differed between calls is a size; None, where the model is another one for other extents."""
        histories = {}
        for position, shape in enumerate(extents):
            for axis in range(len(shape)):
                history = tuple(seen[position][axis] for seen in [*self.seen, extents])
                if len(set(history)) > 1:
                    histories.setdefault(history, []).append((position, axis))
        sizes = {}
        for number, (history, places) in enumerate(histories.items()):
            name = "batch" if all(axis == 0 for _, axis in places) and "batch" not in sizes else f"size_{number}"
            sizes[name] = (1 << (max(history) - 1).bit_length() if max(history) > 1 else 1, places)
        try:
            now = Traced(self.owner, args, kwargs)
            others = iter([torch.zeros(shape, dtype=tensor.dtype) for shape, tensor in zip(self.other(extents), tensors)])
            then = Traced(self.owner, replaced(args, others), replaced(kwargs, others))
            if now.text(sizes, self.modes) != then.text(sizes, self.modes) or now.result.literals != then.result.literals:
                raise ModuleTorchModelException("the model is another one for other extents")
            self.sized[saves] = Variant(self, now, sizes, saves)
            return self.sized[saves]
        except Exception as error:  # what is wrong with this call itself, its own variant will say
            self.owner.options.say(LogLevel.INFO, f"no sizes for {extents}: {str(error).splitlines()[0] if str(error) else error}")
            self.fixed.add(extents)
            return None

    def other(self, extents):
        """Extents of an earlier call that differ most from these."""
        return max(self.seen, key=lambda seen: sum(a != b for one, two in zip(seen, extents) for a, b in zip(one, two)))


class Libraries:
    """Of one module: the folders and names of specs that were compiled, by their text."""

    def __init__(self, options, cc, cflags):
        self.options, self.cc, self.cflags = options, cc, cflags
        self.known = {}

    def get(self, text, saves, tables, mode):
        key = (text, saves)
        if key not in self.known:
            self.known[key] = self.make(text, saves, tables, mode)
        return self.known[key]

    def make(self, text, saves, tables, mode):
        words = ["--backward"] if saves else []
        start = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="modc-") as work:
            spec = Path(work) / "model.yaml"
            spec.write_text(text, encoding="utf-8")
            if tables:
                (spec.parent / "tables.safetensors").write_bytes(safetensors_bytes(tables))
            kind = "training" if saves else "inference"
            if self.options.save:
                self.options.write(kind, {"exported.yaml": text})
                self.options.write(kind, {f"{room}.txt": run_command(["check", spec, *words, f"--dump={room}"])
                                          for room in ("graph", "plan")}, more=True)
            folder, name = build(spec, words, self.cc, self.cflags)
        if self.options.save:
            self.options.write(kind, {f"emitted.{suffix}": (folder / f"{name}.{suffix}").read_text(encoding="utf-8")
                                      for suffix in "ch"}, more=True)
        self.options.say(LogLevel.INFO, f"{kind}, {'training' if mode else 'evaluation'} mode: {len(text.splitlines())} lines of spec, "
                         f"compiled in {time.perf_counter() - start:.2f} s: {folder}")
        return folder, name


def wrapped(error):
    """The exception of modc.Module for one of the exporter, the command or the compiler; others as they are."""
    if isinstance(error, ModuleFallbackException):
        return ModuleIOError(str(error)) if isinstance(error, Misfit) else error
    if isinstance(error, ExportError):
        return ModuleTorchModelException(str(error))
    if isinstance(error, (SpecError, CompilerError)):
        return ModuleSpecException(str(error))
    return ModuleSpecException(str(error)) if isinstance(error, Error) else error
