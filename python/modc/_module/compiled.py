"""A spec of a module as a library, over the tensors of the user's model, and what calls of it need."""
import ctypes
import threading

import torch

from modc import _library as lib
from modc._library import Library
from modc._module.fallback import ModuleIOError, ModuleSpecException

_empty_like = torch.empty_like
DTYPES = {name: getattr(torch, name) for name in lib.DTYPE_NAMES}


class Context:
    """Workspace and mode of one forward, and of the backward that belongs to it."""
    __slots__ = ("library", "pointer", "training", "mode", "saving", "hooks", "token", "error", "given", "made",
                 "replaced")

    def __init__(self, compiled):
        self.library, self.pointer, self.training = compiled.library, ctypes.c_void_p(), None
        library = self.library
        library.check(library.create(library.model(), compiled.params, 0, ctypes.byref(self.pointer)), "modc.Module")
        self.saving = compiled.saves
        self.given = (ctypes.c_void_p * max(1, len(compiled.entry["inputs"])))()
        self.made = (ctypes.c_void_p * max(1, len(compiled.entry["outputs"])))()
        self.mode, self.hooks, self.token, self.error = False, [], (), None
        self.replaced = []  # what hooks of the last forward put in the place of tensors
        if compiled.saves:
            self.training = ctypes.c_void_p()
            library.check(library.lend_create(self.pointer, ctypes.byref(self.training)), "modc.Module")

    def __del__(self):
        if self.training is not None:
            self.library.training_destroy(self.training)
        for pointer, _ in self.hooks:
            self.library.hook_destroy(pointer)
        self.library.destroy(self.pointer)


class Loan:
    """A context that holds what a backward needs. It goes back to the pool behind that, or when nobody can ask for it any more."""
    __slots__ = ("pool", "context")

    def __init__(self, pool, context):
        self.pool, self.context = pool, context

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
                if self.version != version:
                    self.library.changed(self.params)
                if self.epoch != epoch:
                    self.library.wrote_buffers(self.params)
            self.version, self.epoch = version, epoch

    def write_back(self):
        """Buffers that forward wrote to copies."""
        for tensor, copy in self.copies:
            if not isinstance(tensor, torch.nn.Parameter):
                tensor.copy_(copy)

    def take(self):
        try:
            return self.pool.pop()
        except IndexError:
            return Context(self)

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
        self.call, self.index = library.call, 0
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

        def shape(index, tensor):
            library.shape(0, self.c_sizes, index, dims)
            return tuple(dims[:len(tensor["max"])])

        for i, (position, tensor) in enumerate(zip(variant.positions, about["inputs"])):
            if shape(-1 - i, tensor) != tuple(shapes[position]):
                raise Misfit
        # of the shapes and types of the outputs: memory that nobody touches, and quicker to make others from than by torch.empty
        self.outputs = [torch.empty(shape(i, tensor), dtype=DTYPES[tensor["dtype"]]) for i, tensor in enumerate(about["outputs"])]
        self.fixed = [not output.is_floating_point() and not output.is_complex() for output in self.outputs]
        self.positions = variant.positions
        sizes = [torch.empty((), dtype=DTYPES[tensor["dtype"]]).element_size() for tensor in about["inputs"]]
        self.element = max(sizes, default=1)  # at a multiple of which inputs lie; others are copied
        self.In = ctypes.c_void_p * max(1, len(self.positions))
        self.Out = ctypes.c_void_p * max(1, len(self.outputs))
        self.Gradients = ctypes.c_void_p * max(1, len(compiled.gradients))

    def forward(self, tensors, saving):
        """(the outputs, the context, the inputs as C read them). The context is kept where `saving`, else back in the pool."""
        compiled, variant = self.compiled, self.variant
        context = compiled.take()
        try:
            inputs, given, made, library, i = [], context.given, context.made, compiled.library, 0
            for position in self.positions:
                tensor = tensors[position]
                address = tensor.data_ptr()
                if not tensor.is_contiguous() or tensor.is_neg() or address % self.element or tensor.is_conj():
                    tensor = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
                    address = tensor.data_ptr()
                inputs.append(tensor)
                given[i] = address or 64
                i += 1
            outputs, i = [_empty_like(output) for output in self.outputs], 0
            for output in outputs:
                made[i] = output.data_ptr() or 64
                i += 1
            if context.mode != variant.mode:
                library.train(context.pointer, variant.mode)
                context.mode = variant.mode
            if context.saving != saving:
                library.set_grad_enabled(context.pointer, saving)
                context.saving = saving
            if variant.random:
                library.seed(context.pointer, int(torch.randint(0x7fffffffffffffff, ())))
            if variant.schema.owner.hooks is not None:
                variant.schema.owner.hooks.attach(compiled, context)
            status = self.call(context.pointer, 0, self.c_sizes, given, made)
            if status == lib.STALE:
                compiled.refresh()
                status = self.call(context.pointer, 0, self.c_sizes, given, made)
            if status != lib.OK:
                compiled.fail(context, status)
        except BaseException:
            compiled.pool.append(context)
            raise
        if not saving:
            compiled.pool.append(context)
        return outputs, context, inputs

    def backward(self, context, gradients, inputs, wanted, parameters):
        """Gradients of inputs (where wanted) and of the parameters (None: not wanted), from those of the outputs.

        parameters: those of the model in the order of the library's gradients."""
        compiled, library = self.compiled, self.compiled.library
        given = []
        for gradient, output in zip(gradients, self.outputs):
            if gradient is None and len(self.outputs) == 1:
                gradient = torch.zeros_like(output)
            if gradient is not None:
                if gradient.layout != torch.strided or gradient.is_neg() or gradient.is_conj() or not gradient.is_contiguous():
                    gradient = gradient.to_dense() if gradient.layout != torch.strided else gradient
                    gradient = gradient.resolve_conj().resolve_neg().contiguous()
            given.append(gradient)
        of_inputs = [_empty_like(tensor) if want else None for tensor, want in zip(inputs, wanted)]
        of_parameters = [None if tensor is None else _empty_like(tensor, memory_format=torch.contiguous_format)
                         for tensor in parameters]
        addresses = [tensor.data_ptr() or 64 if tensor is not None else None for tensor in of_parameters]
        found = self.Gradients(*addresses)
        status = library.backward_to(
            context.pointer, 0, self.c_sizes,
            self.Out(*[tensor.data_ptr() or 64 if tensor is not None else None for tensor in given]),
            self.In(*[tensor.data_ptr() or 64 if tensor is not None else None for tensor in of_inputs]), found)
        if status != lib.OK:
            compiled.fail(context, status)
        return of_inputs, [tensor if found[i] else None for i, tensor in enumerate(of_parameters)]


class Misfit(ModuleIOError):
    """Shapes that a variant is not for."""
