"""A spec of a module as a library, over the tensors of the user's model, and what calls of it need."""
import ctypes
import sys

import torch

from modc import _library as lib
from modc._context import with_lock
from modc._library import Library
from modc._module import tables
from modc._module.fallback import ModuleIOError, ModuleSpecException
from modc._module.structure import LITERALS, PLAIN

DTYPES = {name: getattr(torch, name) for name in lib.DTYPE_NAMES}


def _asks_autocast():
    """The function that says whether autocast is enabled for the CPU."""
    try:
        torch.is_autocast_enabled("cpu")
        return lambda asks=torch.is_autocast_enabled: asks("cpu")
    except TypeError:
        return torch.is_autocast_cpu_enabled


is_cpu_autocast_enabled = _asks_autocast()
is_autocast_enabled = getattr(torch._C, "_is_any_autocast_enabled", None) or is_cpu_autocast_enabled  # quick; for any device


class Context:
    """Workspace and mode of one forward, and of the backward that belongs to it. Which one is free, C knows."""
    __slots__ = ("library", "pointer", "training", "hooks", "token", "error", "replaced", "kept", "table")

    def __init__(self, compiled):
        self.library, self.pointer, self.training = compiled.library, ctypes.c_void_p(), None
        library, entry = self.library, compiled.entry
        library.check(library.create(library.model(), compiled.params, 0, ctypes.byref(self.pointer)), "modc.Module")
        self.hooks, self.token, self.error = [], (), None
        self.replaced = []  # what hooks of the last forward put in the place of tensors
        if compiled.saves:
            self.training = ctypes.c_void_p()
            library.check(library.lend_create(self.pointer, ctypes.byref(self.training)), "modc.Module")
        counts = len(entry["inputs"]), len(entry["outputs"]), len(compiled.gradients)
        inputs, outputs, gradients = [ctypes.c_void_p * max(1, count) for count in counts]
        # addresses of inputs, outputs; of gradients of outputs, of inputs, of parameters; the inputs themselves
        self.kept = inputs(), outputs(), outputs(), inputs(), gradients(), inputs()
        *arrays, held = map(ctypes.addressof, self.kept)
        self.table = tables.Context(lib.Frame(self.pointer, None, *arrays, 0, 0), None, ctypes.addressof(compiled.weights), None, None,
                                    held, None, id(self), 0, 0, 0, compiled.saves)

    def __del__(self):
        if self.training is not None:
            self.library.training_destroy(self.training)
        for pointer, _ in self.hooks:
            self.library.hook_destroy(pointer)
        self.library.destroy(self.pointer)


def create(prepared):
    """The address of a new context: C has none that is free."""
    context = Context(prepared.compiled)
    prepared.compiled.contexts.append(context)
    return ctypes.addressof(context.table)


def fail(prepared, context):
    """The exception of a call that failed."""
    error, context.error = context.error, None
    if error is not None:
        raise error
    prepared.compiled.library.fail(context.pointer, context.table.status, place="'{}'")


class Compiled:
    """One library. Several variants share it, where the spec of both is the same text."""

    def __init__(self, folder, name, saves):
        self.folder, self.name, self.saves = folder, name, saves
        self.library = Library(folder / f"{name}.so")
        self.functions = tables.functions(
            self.library, create=create, fail=fail, before=Prepared.seed_and_attach, made=Prepared.make, adjoint=Prepared.adjoint,
            is_autocast_enabled=is_autocast_enabled)
        self.about = self.library.about
        self.entry = self.about["entries"][0]
        self.params, self.contexts = None, []
        with_lock(self)
        self.held = None
        self.copies = []  # (the user's tensor, contiguous copy) of what is not contiguous
        self.gradients = [self.about["keys"][key]["name"] for key in self.about["gradients"]]
        addresses = [ctypes.cast(getattr(self.library.c, f"modc_binding_{name}"), ctypes.c_void_p)
                     for name in ("run", "run_backward", "renew")]
        self.weights = tables.Weights(*addresses, None, None, -1, -1, -1)
        self.renew = self.library.holding_lock("modc_binding_renew", ctypes.c_int)  # as C itself, so that nobody does meanwhile

    def __del__(self):
        if self.__dict__.get("contexts"):
            self.contexts.clear()
        if self.__dict__.get("params") is not None:
            self.library.params_destroy(self.params)

    def free(self):
        """How many contexts no graph of autograd has."""
        count, address = 0, self.weights.free
        while address:
            count, address = count + 1, tables.Context.from_address(address).next
        return count

    def point(self, held):
        """Lets C read the tensors of `held`."""
        self.copies, addresses = [], []
        for key in self.about["keys"]:
            tensor = held.keys.get(key["name"])
            if tensor is None:
                raise ModuleSpecException(f"the spec has a tensor '{key['name']}', which the model lacks")
            if tensor.dtype != DTYPES[key["dtype"]] or list(tensor.shape) != key["shape"]:
                raise ModuleSpecException(f"'{key['name']}' is {tensor.dtype} {tuple(tensor.shape)}, in the spec {key['dtype']} "
                                          f"{tuple(key['shape'])}")
            if not tensor.is_contiguous() or tensor.data_ptr() % tensor.element_size():
                with torch.inference_mode(False):  # whose tensors nobody may write to later
                    copy = tensor.detach().clone(memory_format=torch.contiguous_format)
                self.copies.append((tensor, copy))
                tensor = copy
            addresses.append(tensor.data_ptr() or 64)
        array = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        if self.params is None:
            params = ctypes.c_void_p()
            self.library.check(self.library.params_over(array, ctypes.byref(params)), "modc.Module")
            self.params, self.weights.params = params, params
        else:
            self.library.point(self.params, array)
        self.held = held

    def update(self, held, version):
        """What the tensors hold now is what calls compute with. version: of the parameters, as held.look() said."""
        weights, now = self.weights, held.table
        with self.lock:
            if self.held is not held:
                self.point(held)
            else:
                for tensor, copy in self.copies:
                    copy.copy_(tensor.detach())
                parameters = version < 0 or weights.version != version
                buffers = now.buffer_version < 0 or (weights.buffer_version, weights.writes) != (now.buffer_version, now.writes)
                if parameters or buffers:  # what it packs here it would pack in the call that comes
                    self.library.check(self.renew(self.params, parameters, buffers), "modc.Module")
            weights.version, weights.buffer_version, weights.writes = version, now.buffer_version, now.writes

    def write_back(self):
        """Buffers that forward wrote to copies."""
        for tensor, copy in self.copies:
            if not isinstance(tensor, torch.nn.Parameter):
                tensor.copy_(copy)


class Prepared:
    """Calls of a variant with these shapes: all that does not depend on the tensors themselves."""

    def __init__(self, variant, shapes, training):
        """training: what is trained, a Training; None, where nothing is kept for a backward."""
        compiled, self.variant, self.compiled = variant.compiled, variant, variant.compiled
        about, library, self.count = compiled.entry, compiled.library, len(shapes)
        self.sizes, given = [-1] * len(compiled.about["sizes"]), about["max_sizes"]
        for position, tensor in zip(variant.positions, about["inputs"]):
            for axis, size in enumerate(tensor["size_of"]):
                if size >= 0:
                    extent = shapes[position][axis]
                    if self.sizes[size] not in (-1, extent) or extent > given[size]:
                        raise Misfit
                    self.sizes[size] = extent
        self.c_sizes = (ctypes.c_int * max(1, len(self.sizes)))(*[max(0, extent) for extent in self.sizes])
        if library.unmet(self.c_sizes) is not None:
            raise Misfit
        dims = (ctypes.c_int * lib.MAX_DIMS)()

        def empty(index, tensor):
            library.shape(0, self.c_sizes, index, dims)
            return torch.empty(tuple(dims[:len(tensor["max"])]), dtype=DTYPES[tensor["dtype"]])

        # of the shapes and types of tensors: memory that nobody touches, and quicker to make others from than by torch.empty
        inputs = [empty(-1 - i, tensor) for i, tensor in enumerate(about["inputs"])]
        outputs = [empty(i, tensor) for i, tensor in enumerate(about["outputs"])]
        if [tuple(shapes[position]) for position in variant.positions] != [tuple(tensor.shape) for tensor in inputs]:
            raise Misfit
        fixed = tuple(i for i, output in enumerate(outputs) if not is_differentiable(output))
        self.held, self.inputs, self.training, self.adjoints = variant.schema.runner.held, inputs, training, {}
        self.slots = training.slots if training is not None else {}
        positions, templates = tables.ints_of(variant.positions), tables.array_of(map(id, outputs))
        self.kept = outputs, fixed, positions, templates
        # bits of an address that have to be 0: inputs lie at a multiple of their element; others are copied
        mask = max((tensor.element_size() for tensor in inputs + outputs), default=1) - 1
        self.table = tables.Call(
            ctypes.addressof(compiled.weights), ctypes.addressof(self.held.table), id(self), ctypes.addressof(self.c_sizes),
            ctypes.addressof(positions), ctypes.addressof(templates), id(fixed) if fixed else None, None, mask, len(inputs),
            len(outputs), len(compiled.gradients), variant.mode, any(tensor.is_complex() for tensor in inputs + outputs),
            variant.random or variant.schema.owner.hooks is not None)
        self.table.writes, self.table.single = variant.mode and bool(self.held.buffers), variant.result.single
        self.number = ctypes.addressof(self.table)  # by which C knows it
        self.arguments = ()  # by which C finds it, where it does, and those of before, in which it may be looking

    def seed_and_attach(self, context):
        hooks = self.variant.schema.owner.hooks
        if self.variant.random:
            self.compiled.library.seed(context.pointer, int(torch.randint(0x7fffffffffffffff, ())))
        if hooks is not None:
            hooks.attach(self.compiled, context)

    def make(self, outputs):
        return self.variant.result.make(outputs)

    def adjoint(self, needs):
        """The address of what backward makes where the arguments of autograd's apply need gradients as `needs` says: the tensors
        of the call and the trained parameters, behind what else there is."""
        found = self.adjoints.get(needs)
        if found is None:
            end = len(needs) - len(self.slots)  # where the parameters begin
            begin = end - self.count
            made = [(i, begin + position, self.inputs[i]) for i, position in enumerate(self.variant.positions)
                    if needs[begin + position]]
            count = len(made)
            for i, number in enumerate(self.variant.parameters):
                if number in self.slots and needs[end + self.slots[number]]:
                    made.append((i, end + self.slots[number], like(self.held.parameters[number])))
            indices, places, templates = zip(*made) if made else ((), (), ())
            arrays = tables.ints_of(indices), tables.ints_of(places), tables.array_of(map(id, templates))
            table = tables.Adjoint(id(needs), *map(ctypes.addressof, arrays), count, len(made))
            found = self.adjoints.setdefault(needs, (table, needs, templates, arrays))  # another thread may have made it, too
        return ctypes.addressof(found[0])

    def expect(self, args, kwargs, apply):
        """Lets C find this call by its arguments. apply: autograd's, where something is trained. False: they are no plain tensors
        and literals."""
        trained, apply = ((), None) if self.training is None else (self.training.tensors, apply)
        values, kept, found = [*args, *kwargs.values()], [], []
        if len(values) > tables.ARGUMENTS or self.compiled.copies:
            return False
        for value in values:
            if type(value) in PLAIN:
                found.append(tables.Argument(None, tables.kind_of(value, kept)))
            elif type(value) in LITERALS:
                found.append(tables.Argument(id(value)))
                kept.append(value)
            else:
                return False
        arguments, names = (tables.Argument * max(1, len(found)))(*found), list(map(sys.intern, kwargs))
        applied = tables.array_of([id(self.number), *[None] * self.count, *map(id, trained)])
        named = tables.array_of(map(id, names))
        self.arguments = (arguments, kept, names, named, applied, apply, trained), *self.arguments[:1]
        table = self.table
        table.arguments, table.names, table.applied = map(ctypes.addressof, (arguments, named, applied))
        table.apply, table.argument_count, table.name_count = None if apply is None else id(apply), len(values), len(names)
        table.tensors, table.trained = self.count, len(trained)
        return True


def like(tensor):
    """What a dense row-major one is made from."""
    return tensor.detach() if tensor.is_contiguous() else torch.empty(tensor.shape, dtype=tensor.dtype)


def is_differentiable(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


class Misfit(ModuleIOError):
    """Shapes that a variant is not for."""
