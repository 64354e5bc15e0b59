"""A spec of a module as a library, over the tensors of the user's model, and what calls of it need."""
import ctypes
import threading

import torch

from modc import _library as lib
from modc._library import Library
from modc._module.fallback import ModuleIOError, ModuleSpecException

_empty_like, ROWS = torch.empty_like, torch.contiguous_format
DTYPES = {name: getattr(torch, name) for name in lib.DTYPE_NAMES}


class Context:
    """Workspace and mode of one forward, and of the backward that belongs to it."""
    __slots__ = ("library", "pointer", "training", "mode", "saving", "hooks", "token", "error", "replaced", "given", "made",
                 "frame", "reference", "arrays", "sizes", "adjoint")

    def __init__(self, compiled):
        self.library, self.pointer, self.training = compiled.library, ctypes.c_void_p(), None
        library, entry = self.library, compiled.entry
        library.check(library.create(library.model(), compiled.params, 0, ctypes.byref(self.pointer)), "modc.Module")
        self.saving = compiled.saves
        self.mode, self.hooks, self.token, self.error = False, [], (), None
        self.replaced = []  # what hooks of the last forward put in the place of tensors
        self.sizes = self.adjoint = None  # of the call that the frame is filled for
        if compiled.saves:
            self.training = ctypes.c_void_p()
            library.check(library.lend_create(self.pointer, ctypes.byref(self.training)), "modc.Module")
        counts = len(entry["inputs"]), len(entry["outputs"]), len(compiled.gradients)
        inputs, outputs, gradients = [ctypes.c_void_p * max(1, count) for count in counts]
        # addresses of inputs, outputs; of gradients of outputs, of inputs, of parameters
        self.arrays = inputs(), outputs(), outputs(), inputs(), gradients()
        self.given, self.made = self.arrays[:2]
        self.frame = lib.Frame(self.pointer, None, *map(ctypes.addressof, self.arrays), 0, 0)
        self.reference = ctypes.byref(self.frame)

    def __del__(self):
        if self.training is not None:
            self.library.training_destroy(self.training)
        for pointer, _ in self.hooks:
            self.library.hook_destroy(pointer)
        self.library.destroy(self.pointer)


class Loan:
    """A context that holds what a backward needs, and the call that it is of. The context goes back to the pool behind that, or
    when nobody can ask for it any more."""
    __slots__ = ("pool", "context", "runner", "prepared", "call", "count", "version")

    def __init__(self, context, runner, prepared, call, count):
        self.pool, self.context = prepared.compiled.pool, context
        self.runner, self.prepared, self.call, self.count, self.version = runner, prepared, call, count, runner.version

    def end(self):
        context, self.context = self.context, None
        if context is not None:
            self.pool.append(context)

    __del__ = end


class Compiled:
    """One library. Several variants share it, where the spec of both is the same text."""

    def __init__(self, folder, name, saves):
        self.folder, self.name, self.saves = folder, name, saves
        self.library = Library(folder / f"{name}.so")
        self.run, self.run_backward = self.library.run, self.library.run_backward
        self.about = self.library.about
        self.entry = self.about["entries"][0]
        self.params, self.pool, self.lock = None, [], threading.Lock()
        self.held = self.version = self.epoch = None
        self.copies = []  # (the user's tensor, contiguous copy) of what is not contiguous
        self.gradients = [self.about["keys"][key]["name"] for key in self.about["gradients"]]

    def __del__(self):
        pool = self.__dict__.get("pool")
        if pool:
            pool.clear()
        if self.__dict__.get("params") is not None:
            self.library.params_destroy(self.params)

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
                copy = tensor.detach().clone(memory_format=torch.contiguous_format)
                self.copies.append((tensor, copy))
                tensor = copy
            addresses.append(tensor.data_ptr() or 64)
        array = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        if self.params is None:
            params = ctypes.c_void_p()
            self.library.check(self.library.params_over(array, ctypes.byref(params)), "modc.Module")
            self.params = params
        else:
            self.library.point(self.params, array)
        self.held = held

    def update(self, held, version, epoch):
        """What the tensors hold now is what calls compute with. version: of the parameters; epoch: what tells that buffers were
        written, by somebody else than this library."""
        with self.lock:
            if self.held is not held:
                self.point(held)
            else:
                for tensor, copy in self.copies:
                    copy.copy_(tensor.detach())
                # what it packs here it would pack in the call that comes
                status = self.library.renew(self.params, self.version != version, self.epoch != epoch)
                if status:
                    self.library.check(status, "modc.Module")
            self.version, self.epoch = version, epoch

    def write_back(self):
        """Buffers that forward wrote to copies."""
        for tensor, copy in self.copies:
            if not isinstance(tensor, torch.nn.Parameter):
                tensor.copy_(copy)

    def refresh(self):
        with self.lock:
            self.library.check(self.library.refresh(self.params), "modc.Module")

    def fail(self, context, status):
        """The exception of a call that failed."""
        error, context.error = context.error, None
        if error is not None:
            raise error
        self.library.fail(context.pointer, status, place="'{}'")


class Prepared:
    """Calls of a variant with these shapes: all that does not depend on the tensors themselves."""

    def __init__(self, variant, shapes):
        compiled, self.variant, self.compiled = variant.compiled, variant, variant.compiled
        about, library = compiled.entry, compiled.library
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
        self.inputs = [empty(-1 - i, tensor) for i, tensor in enumerate(about["inputs"])]
        self.outputs = [empty(i, tensor) for i, tensor in enumerate(about["outputs"])]
        if [tuple(shapes[position]) for position in variant.positions] != [tuple(tensor.shape) for tensor in self.inputs]:
            raise Misfit
        self.fixed = [i for i, output in enumerate(self.outputs) if not is_differentiable(output)]
        self.positions, self.adjoints = variant.positions, {}
        self.reads_all = sorted(self.positions) == list(range(len(shapes)))
        self.slots = {}  # of trained parameters, by their number: where they stand behind the tensors of a call
        # bits of an address that have to be 0: inputs lie at a multiple of their element; others are copied
        self.mask = max((tensor.element_size() for tensor in self.inputs), default=1) - 1
        self.complex = any(tensor.is_complex() for tensor in self.inputs)
        self.seeds_or_hooks = variant.random or variant.schema.owner.hooks is not None

    def seed_and_attach(self, context):
        hooks = self.variant.schema.owner.hooks
        if self.variant.random:
            self.compiled.library.seed(context.pointer, int(torch.randint(0x7fffffffffffffff, ())))
        if hooks is not None:
            hooks.attach(self.compiled, context)

    def fill(self, context):
        """For calls of these sizes."""
        context.sizes, context.frame.sizes = self.c_sizes, ctypes.addressof(self.c_sizes)
        if context.mode != self.variant.mode:
            context.mode = self.variant.mode
            self.compiled.library.train(context.pointer, context.mode)

    def forward(self, tensors, saving):
        """(the outputs, the context, the inputs as C read them). The context is kept where `saving`, else back in the pool."""
        compiled = self.compiled
        pool = compiled.pool
        try:
            context = pool.pop()
        except IndexError:
            context = Context(compiled)
        try:
            inputs, given, i = tensors, context.given, 0
            for position in self.positions:
                tensor = tensors[position]
                address = tensor.data_ptr()
                if not tensor.is_contiguous() or address & self.mask or tensor.is_neg() or self.complex and tensor.is_conj():
                    if inputs is tensors:
                        inputs = list(tensors)
                    inputs[position] = tensor = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=ROWS)
                    address = tensor.data_ptr()
                given[i] = address or 64
                i += 1
            outputs, made, i = [], context.made, 0
            for template in self.outputs:
                output = _empty_like(template)
                outputs.append(output)
                made[i] = output.data_ptr() or 64
                i += 1
            if context.sizes is not self.c_sizes:
                self.fill(context)
            if context.saving != saving:
                compiled.library.set_grad_enabled(context.pointer, saving)
                context.saving = saving
            if self.seeds_or_hooks:
                self.seed_and_attach(context)
            status = compiled.run(context.reference)
            if status:
                if status == lib.STALE:
                    compiled.refresh()
                    status = compiled.run(context.reference)
                if status != lib.OK:
                    compiled.fail(context, status)
        except BaseException:
            pool.append(context)
            raise
        if not saving:
            pool.append(context)
        return outputs, context, inputs if self.reads_all else [inputs[position] for position in self.positions]

    def adjoint(self, needs, held):
        """What backward makes where the tensors of the call and the trained parameters need gradients as `needs` says."""
        found = self.adjoints.get(needs)
        if found is None:
            slots, count = self.slots, len(needs) - len(self.slots)
            places = [count + slots[number] if number in slots else -1 for number in self.variant.parameters]
            found = self.adjoints[needs] = Adjoint(
                len(needs), [(i, position, self.inputs[i]) for i, position in enumerate(self.positions) if needs[position]],
                [(i, place, like(held.parameters[number]))
                 for i, (place, number) in enumerate(zip(places, self.variant.parameters)) if place >= 0 and needs[place]])
        return found

    def backward(self, context, gradients, adjoint):
        """Gradients of the tensors of the call and of the trained parameters, from those of the outputs; None: not wanted."""
        compiled, arrays = self.compiled, context.arrays
        given, i, kept = arrays[2], 0, []  # kept: while C reads them
        for gradient in gradients:
            if gradient is not None and (gradient.layout is not torch.strided or not gradient.is_contiguous()
                                         or gradient.is_neg() or gradient.is_conj()):
                gradient = gradient.to_dense() if gradient.layout is not torch.strided else gradient
                gradient = gradient.resolve_conj().resolve_neg().contiguous()
            given[i] = None if gradient is None else gradient.data_ptr() or 64
            kept.append(gradient)
            i += 1
        if context.adjoint is not adjoint:
            context.adjoint = adjoint
            for array in arrays[3:]:
                ctypes.memset(array, 0, ctypes.sizeof(array))
        result = [None] * adjoint.width
        for array, places in zip(arrays[3:], (adjoint.inputs, adjoint.parameters)):
            for i, place, template in places:
                result[place] = made = _empty_like(template)
                array[i] = made.data_ptr() or 64
        if context.sizes is not self.c_sizes:
            self.fill(context)
        status = compiled.run_backward(context.reference)
        if status != lib.OK:
            compiled.fail(context, status)
        if context.frame.absent:
            for i, place, _ in adjoint.parameters:
                if not arrays[4][i]:
                    result[place] = None
        return result


class Adjoint:
    """What a backward makes: (number in C, place among the gradients, a tensor of that shape), of inputs and of parameters."""
    __slots__ = ("width", "inputs", "parameters")

    def __init__(self, width, inputs, parameters):
        self.width, self.inputs, self.parameters = width, inputs, parameters


def like(tensor):
    """What a dense row-major one is made from."""
    return tensor.detach() if tensor.is_contiguous() else torch.empty(tensor.shape, dtype=tensor.dtype)


def is_differentiable(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


class Misfit(ModuleIOError):
    """Shapes that a variant is not for."""
