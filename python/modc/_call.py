"""The entries of a compiled model as Python calls them: arguments checked, arrays as C takes them."""
import ctypes
import math

from modc._arrays import ALIGNMENTS, DTYPES, OWN, _kinds, end_of, is_dense, view_of
from modc import _library as lib

CALLS_HELD = 64  # signatures of an entry whose sizes are remembered


def place(view_dtype, shape, kind):
    """What an array of this kind has to be: dtype as the kind has it, shape, the bits of its address that are 0, bytes."""
    return kind.native(view_dtype), tuple(shape), ALIGNMENTS[view_dtype] - 1, math.prod(shape) * DTYPES[view_dtype][0]


class Ready:
    """What a call needs of Python, remembered from one that went through: the next one with such arrays only looks whether
    they are such."""
    __slots__ = ("kind", "inputs", "addresses", "outputs", "to", "new", "sizes", "shapes", "frame")

    def __init__(self, context, entry, kind, views, sizes, shapes):
        self.kind, self.sizes, self.shapes = kind, sizes, shapes
        self.inputs = [place(view.dtype, view.shape, kind) for view in views]
        self.outputs = [place(tensor["dtype"], shape, kind) for shape, tensor in zip(shapes, entry.outputs)]
        self.new = [(shape, tensor["dtype"]) for shape, tensor in zip(shapes, entry.outputs)]
        self.addresses, self.to = (ctypes.c_void_p * len(views))(), (ctypes.c_void_p * max(1, len(shapes)))()
        self.frame = context.frame(entry, sizes, self.addresses, self.to)

    def take(self, arrays):
        """Whether these are such arrays, whose addresses C is then told."""
        kind, i = self.kind, 0
        if len(arrays) != len(self.inputs):
            return False
        for dtype, shape, mask, _ in self.inputs:
            array = arrays[i]
            address = kind.address(array, dtype, shape) if _kinds.get(type(array)) is kind else None
            if not address or address & mask:  # something else, or empty, or wrong
                return False
            self.addresses[i] = address
            i += 1
        return True

    def give(self):
        """New arrays for what C writes."""
        made, empty, i = [], self.kind.empty, 0
        for shape, dtype in self.new:
            array, address = empty(shape, dtype)
            self.to[i] = address or 64
            made.append(array)
            i += 1
        return made

    def take_out(self, arrays):
        """As take, for arrays that C writes to, which nothing else of the call may share."""
        kind = self.kind
        if len(arrays) != len(self.outputs):
            return False
        taken = [(address, address + bytes) for address, (_, _, _, bytes) in zip(self.addresses, self.inputs)]
        for i, (array, (dtype, shape, mask, bytes)) in enumerate(zip(arrays, self.outputs)):
            address = kind.address(array, dtype, shape) if _kinds.get(type(array)) is kind and kind.writable(array) else None
            if not address or address & mask:
                return False
            for start, end in taken:
                if address < end and start < address + bytes:
                    return False
            taken.append((address, address + bytes))
            self.to[i] = address
        return True


class Entry:
    """One function of the model: net.forward, or an entry of the spec by its name. Called with arrays, it returns arrays."""

    def __init__(self, core, index, about):
        self.core, self.index, self.name = core, index, about["name"]
        self.inputs, self.outputs = about["inputs"], about["outputs"]
        self.saves = about["backward"]
        self.names = [tensor["name"] for tensor in self.inputs]
        self.max_sizes = about["max_sizes"]
        given = {size for tensor in self.inputs for size in tensor["size_of"]}
        self.size_names = [size["name"] for size in core.about["sizes"]]
        self.free_sizes = [i for i in range(len(self.size_names)) if i not in given and self.max_sizes[i] >= 0]
        self.known = {}
        self.__name__ = self.name
        self.__doc__ = self.signature()

    def signature(self):
        """As Python would write it, with dtypes and shapes."""
        def text(tensor):
            dims = [self.size_names[size] if size >= 0 else str(extent)
                    for extent, size in zip(tensor["max"], tensor["size_of"])]
            return f"{tensor['name']}: {tensor['dtype']}[{', '.join(dims)}]"
        return f"{self.name}({', '.join(map(text, self.inputs))}) -> {', '.join(map(text, self.outputs))}"

    def __repr__(self):
        return f"<{self.signature()}>"

    # -- arguments

    def arguments(self, args, kwargs):
        """The arrays in order, and the sizes that are given by name. TypeError as Python's own."""
        arrays = list(args)
        if len(arrays) > len(self.names):
            raise TypeError(f"{self.name}() takes {len(self.names)} inputs but {len(arrays)} were given: {self.signature()}")
        sizes = {}
        arrays += [None] * (len(self.names) - len(arrays))
        for name, value in kwargs.items():
            if name in self.names:
                position = self.names.index(name)
                if position < len(args):
                    raise TypeError(f"{self.name}() got several values for '{name}'")
                arrays[position] = value
            elif name in self.size_names and self.max_sizes[self.size_names.index(name)] >= 0:
                sizes[self.size_names.index(name)] = self.size(name, value)
            else:
                raise TypeError(f"{self.name}() has no input '{name}': {self.signature()}")
        missing = [name for name, array in zip(self.names, arrays) if array is None]
        if missing:
            raise TypeError(f"{self.name}() lacks {', '.join(repr(name) for name in missing)}: {self.signature()}")
        return arrays, sizes

    def size(self, name, value):
        try:
            extent = value.__index__()
        except AttributeError:
            raise TypeError(f"{self.name}(): {name} is a size, an integer, and not a {type(value).__name__}") from None
        if extent < 0:
            raise ValueError(f"{self.name}(): {name} is {extent}, and no size is negative")
        return extent

    def view(self, array, name):
        """The view of an argument, and its kind; what it says wrong of itself is an error with its name."""
        try:
            view, kind = view_of(array)
        except Exception as error:
            raise TypeError(f"{self.name}(): {name} is a {type(array).__name__} that cannot be read: {error}") from error
        if view is None:
            raise TypeError(f"{self.name}(): {name} is a {type(array).__name__}, which is no array: NumPy's, PyTorch's, "
                            "modc.Array, or what has __dlpack__ or a buffer")
        return view, kind

    def views(self, arrays):
        """The arrays' views and the kind that outputs have: that of the first array which is no modc.Array, else modc's."""
        views, kind = [], None
        for name, array in zip(self.names, arrays):
            view, found = self.view(array, name)
            views.append(view)
            if found is not OWN and kind is None:
                kind = found
        return views, kind or OWN

    def check(self, view, name, tensor):
        """Everything of an array but its shape."""
        if view.fault is not None:
            raise ValueError(f"{self.name}(): {name} {view.fault}")
        if view.dtype != tensor["dtype"]:
            raise TypeError(f"{self.name}(): {name} is {view.dtype}, not {tensor['dtype']}")
        if len(view.shape) != len(tensor["max"]):
            raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {len(tensor['max'])} dimensions: "
                             f"{self.signature()}")
        if not is_dense(view.shape, view.strides):
            raise ValueError(f"{self.name}(): {name} is not contiguous (strides {tuple(view.strides)} of shape {view.shape}); "
                             "x.contiguous() or numpy.ascontiguousarray(x) is")
        if 0 in view.shape:
            return
        if not view.address:
            raise ValueError(f"{self.name}(): {name} has shape {view.shape} and no memory")
        if view.address % ALIGNMENTS[view.dtype] != 0:
            raise ValueError(f"{self.name}(): {name} begins at an address that is no multiple of {ALIGNMENTS[view.dtype]}, "
                             f"as {view.dtype} has to; x.clone() or x.copy() does")

    def sizes_of(self, views, given):
        """The sizes of a call as C takes them, and the shapes of the outputs."""
        sizes, said_by = [-1] * len(self.size_names), {}
        for index, value in given.items():
            sizes[index], said_by[index] = value, "the argument"
        for view, name, tensor in zip(views, self.names, self.inputs):
            for d, size in enumerate(tensor["size_of"]):
                if size < 0:
                    continue
                if sizes[size] not in (-1, view.shape[d]):
                    raise ValueError(f"{self.name}(): dimension {d} of {name} is {view.shape[d]}, but "
                                     f"{self.size_names[size]} is {sizes[size]} in {said_by[size]}")
                sizes[size] = view.shape[d]
                said_by.setdefault(size, name)
        for index, extent in enumerate(sizes):
            name, most = self.size_names[index], self.max_sizes[index]
            if extent < 0 and index in self.free_sizes:
                raise TypeError(f"{self.name}(): no input says what {name} is: give {name}=N, at most {most}")
            if extent > most >= 0:
                raise ValueError(f"{self.name}(): {name} is {extent} in {said_by[index]}, over its maximum {most} in the spec")
        c_sizes = (ctypes.c_int * max(1, len(sizes)))(*(max(0, extent) for extent in sizes))
        unmet = self.core.library.unmet(c_sizes)
        if unmet is not None:
            text = ", ".join(f"{name} = {extent}" for name, extent in zip(self.size_names, sizes) if extent >= 0)
            raise ValueError(f"{self.name}(): the spec requires {unmet.decode()}, but {text}")
        for i, (view, name) in enumerate(zip(views, self.names)):
            wanted = self.shape(c_sizes, -1 - i, len(view.shape))
            if view.shape != wanted:
                raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {wanted}: {self.signature()}")
        shapes = [self.shape(c_sizes, i, len(tensor["max"])) for i, tensor in enumerate(self.outputs)]
        return c_sizes, shapes

    def shape(self, sizes, index, ndim):
        dims = (ctypes.c_int * lib.MAX_DIMS)()
        self.core.library.shape(self.index, sizes, index, dims)
        return tuple(dims[:ndim])

    def prepared(self, views, given):
        """sizes_of, remembered by what it depends on."""
        key = (*(view.shape for view in views), *sorted(given.items()))
        found = self.known.get(key)
        if found is None:
            found = self.sizes_of(views, given)
            if len(self.known) >= CALLS_HELD:
                self.known.clear()
            self.known[key] = found
        return found

    # -- calls

    def outputs_for(self, kind, shapes, out, views):
        """New arrays, or the caller's, and their addresses."""
        if out is None:
            return [kind.empty(shape, tensor["dtype"]) for shape, tensor in zip(shapes, self.outputs)]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(self.outputs):
            raise TypeError(f"{self.name}() gives {len(self.outputs)} outputs, out has {len(given)}")
        made, taken = [], [(view, name) for view, name in zip(views, self.names)]
        for array, tensor, shape in zip(given, self.outputs, shapes):
            name = f"out ({tensor['name']})"
            view, _ = self.view(array, name)
            self.check(view, name, tensor)
            if view.shape != shape:
                raise ValueError(f"{self.name}(): {name} has shape {view.shape}, not {shape}")
            if not view.writable:
                raise ValueError(f"{self.name}(): {name} is read-only")
            for other, other_name in taken:
                if view.address < end_of(other) and other.address < end_of(view):
                    raise ValueError(f"{self.name}(): {name} overlaps {other_name}")
            taken.append((view, name))
            made.append((array, view.address))
        return made

    def checked(self, arrays, given):
        """Views, kind, sizes and shapes of a call, all of it checked."""
        views, kind = self.views(arrays)
        for view, name, tensor in zip(views, self.names, self.inputs):
            self.check(view, name, tensor)
        return (views, kind, *self.prepared(views, given))

    def __call__(self, *args, out=None, **kwargs):
        context = self.core.begin(self.saves)
        try:
            ready = None
            if args and not kwargs and type(args[0]) in _kinds:
                ready = context.ready.get((self.index, args[0].shape))
            if ready is None or not ready.take(args):
                return self.call(context, args, kwargs, out)
            if out is None:
                made = ready.give()
            else:
                made = out if isinstance(out, (tuple, list)) else (out,)
                if not ready.take_out(made):
                    return self.call(context, args, kwargs, out)
            context.run(self, ready.frame, ready.sizes, ready.kind, args, ready.shapes, made)
            return made[0] if len(made) == 1 else tuple(made)
        finally:
            context.running = False

    def call(self, context, args, kwargs, out):
        """A call with all checks, which the next one is spared if it is like this one."""
        arrays, given = self.arguments(args, kwargs)
        views, kind, sizes, shapes = self.checked(arrays, given)
        made = self.outputs_for(kind, shapes, out, views)
        inputs = (ctypes.c_void_p * max(1, len(views)))(*[view.address or 64 for view in views])
        outputs = (ctypes.c_void_p * max(1, len(made)))(*[address or 64 for _, address in made])
        frame = context.frame(self, sizes, inputs, outputs)
        context.run(self, frame, sizes, kind, [view.owner for view in views], shapes, [array for array, _ in made])
        if views and not given and all(_kinds.get(type(array)) is kind for array in arrays):
            if len(context.ready) >= CALLS_HELD:
                context.ready.clear()
            context.ready[self.index, views[0].shape] = Ready(context, self, kind, views, sizes, shapes)
        return made[0][0] if len(made) == 1 else tuple(array for array, _ in made)
