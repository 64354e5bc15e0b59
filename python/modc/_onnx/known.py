"""What is known of shapes and constants, computed while the file is read.

Arrays of ints, and arrays of objects in which some are Sizes, go through the same functions of NumPy.
"""
import numpy

from modc._onnx.text import Size, as_ints, is_symbolic

LIMIT = 4096  # elements of an operand
FEW = 8  # of one of floats


def symbolic(items, like=None):
    """An array of int64, or of objects if a Size is among the items."""
    if any(isinstance(item, Size) for item in items):
        made = numpy.empty(len(items), dtype=object)
        made[:] = items
        return made
    return numpy.array(items, dtype=like if like is not None and like != object else numpy.int64)


def shape_of(node):
    if node[0].shape is None:
        return None
    extents = node.extents()
    start, end = node.attribute("start", 0), node.attribute("end")
    return symbolic(extents[start:end])


def size_of(node):
    if node[0].shape is None:
        return None
    count = 1
    for extent in node.extents():
        count = count * extent
    return symbolic([count]).reshape(())


def constant(node):
    helper = node.graph.onnx.numpy_helper
    for name, kind in (("value_float", numpy.float32), ("value_int", numpy.int64), ("value_floats", numpy.float32),
                       ("value_ints", numpy.int64)):
        if name in node.attributes:
            return numpy.array(node.attribute(name), dtype=kind)
    for name in ("value_string", "value_strings", "sparse_value"):
        if name in node.attributes:
            raise node.fail("it holds " + ("a sparse tensor" if name == "sparse_value" else "strings")
                            + ", which modc does not have")
    if "value" not in node.attributes:
        raise node.fail("it has no value")
    tensor = node.attributes["value"].t
    from modc._onnx.read import dtype_name
    dtype_name(tensor.data_type, node.proto, "its value")
    try:
        return helper.to_array(tensor)
    except Exception as error:
        raise node.fail(f"its value cannot be read: {error}") from None


def axes_of(node):
    if len(node.inputs) > 1:
        return None if node[1] is None else as_ints(node[1].known)
    return node.attribute("axes")


def squeeze(node, x):
    axes = axes_of(node)
    return x.reshape(()) if axes is None and x.size == 1 else numpy.squeeze(x, tuple(axes)) if axes is not None else None


def unsqueeze(node, x):
    axes = axes_of(node)
    rank = x.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = numpy.expand_dims(x, axis)
    return x


def concat(node, *arrays):
    return numpy.concatenate(arrays, axis=node.attribute("axis", 0))


def gather(node, x, index):
    axis = node.attribute("axis", 0)
    return numpy.asarray(numpy.take(x, index.astype(numpy.int64), axis=axis))


def slice_(node, x):
    if node.version < 10:
        starts, ends = node.attribute("starts"), node.attribute("ends")
        axes, steps = node.attribute("axes") or range(len(starts)), [1] * len(starts)
    else:
        lists = [as_ints(node[i].known) if node[i] is not None else None for i in range(1, 5)]
        starts, ends = lists[0], lists[1]
        axes, steps = lists[2] or range(len(starts)), lists[3] or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        index = [slice(None)] * x.ndim
        end = None if step < 0 and end < -x.shape[axis] else end
        index[axis] = slice(start, end, step)
        x = x[tuple(index)]
    return x


def reshape(node, x, shape):
    return x.reshape([x.shape[i] if extent == 0 and not node.attribute("allowzero", 0) else extent
                      for i, extent in enumerate(as_ints(shape))])


def cast(node, x):
    from modc._onnx.read import dtype_name
    dtype = dtype_name(node.attribute("to"), node.proto, "its result")
    if is_symbolic(x):
        return x if dtype in ("int64", "int32") else None
    return x.astype(dtype)


def divided(node, a, b):
    if is_symbolic(a) or is_symbolic(b):
        return a // b
    if a.dtype.kind in "iu":
        if (b == 0).any():
            return None
        quotient = numpy.abs(a) // numpy.abs(b)
        return (quotient * numpy.sign(a) * numpy.sign(b)).astype(a.dtype)
    return a / b


def constant_of_shape(node, shape):
    extents = as_ints(shape)
    if any(isinstance(extent, Size) for extent in extents):
        return None
    tensor = node.attributes.get("value")
    value = node.graph.onnx.numpy_helper.to_array(tensor.t) if tensor is not None else numpy.zeros(1, numpy.float32)
    if value.dtype.kind == "f" or int(numpy.prod(extents)) > LIMIT:
        return None
    return numpy.full(extents, value.reshape(-1)[0], dtype=value.dtype)


def equal(node, a, b):
    if not is_symbolic(a) and not is_symbolic(b):
        return a == b
    a, b = numpy.broadcast_arrays(a, b)
    made = []
    for left, right in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist()):
        if isinstance(left, Size) == isinstance(right, Size):
            if left != right and isinstance(left, Size):
                return None
            made.append(left == right)
            continue
        if (right if isinstance(left, Size) else left) >= 0:
            return None  # a size may or may not be that
        made.append(False)
    return numpy.array(made, dtype=bool).reshape(a.shape)


def where(node, condition, a, b):
    return None if is_symbolic(condition) else numpy.where(condition, a, b)


def reduced(function):
    def apply(node, x, *_):
        axes = axes_of(node)
        keep = bool(node.attribute("keepdims", 1))
        return numpy.asarray(function(x, axis=tuple(axes) if axes else None, keepdims=keep))
    return apply


def range_(node, start, limit, delta):
    if is_symbolic(start) or is_symbolic(limit) or is_symbolic(delta) or not delta.reshape(-1)[0]:
        return None
    first, last, step = (item.reshape(-1)[0] for item in (start, limit, delta))
    count = max(0, int(numpy.ceil((last - first) / step)))
    return (first + numpy.arange(count) * step).astype(start.dtype)


def tile(node, x, repeats):
    return None if is_symbolic(repeats) else numpy.tile(x, repeats)


def expand(node, x, shape):
    return None if is_symbolic(shape) else x * numpy.ones(shape, dtype=x.dtype) if not is_symbolic(x) else None


def plain(function):
    """For arrays without Sizes."""
    return lambda node, *arrays: None if any(map(is_symbolic, arrays)) else function(*arrays)


# Operators that are computed where all of their inputs are known, integers and bools.
FOLDED = {
    "Identity": lambda node, x: x, "Squeeze": lambda node, x, *_: squeeze(node, x),
    "Unsqueeze": lambda node, x, *_: unsqueeze(node, x), "Concat": concat, "Gather": gather,
    "Slice": lambda node, x, *_: slice_(node, x), "Reshape": reshape, "Cast": cast,
    "Add": lambda node, a, b: a + b, "Sub": lambda node, a, b: a - b, "Mul": lambda node, a, b: a * b, "Div": divided,
    "Neg": lambda node, x: -x, "ConstantOfShape": constant_of_shape, "Equal": equal, "Where": where,
    "ReduceProd": reduced(numpy.prod), "ReduceSum": reduced(numpy.sum), "Range": range_, "Tile": tile, "Expand": expand,
    "Transpose": lambda node, x: numpy.transpose(x, node.attribute("perm")),
    "Not": plain(numpy.logical_not), "And": plain(numpy.logical_and), "Or": plain(numpy.logical_or),
    "Less": plain(numpy.less), "Greater": plain(numpy.greater), "Max": plain(lambda *a: numpy.maximum.reduce(a)),
    "Min": plain(lambda *a: numpy.minimum.reduce(a)), "Abs": plain(numpy.abs), "Sqrt": plain(numpy.sqrt),
    "Mod": lambda node, a, b: a % b if b.all() else None, "Floor": plain(numpy.floor), "Ceil": plain(numpy.ceil),
    "GreaterOrEqual": plain(numpy.greater_equal), "LessOrEqual": plain(numpy.less_equal),
}
# Of floats, what exporters compute shapes and scales with.
FOLDED_FLOATS = {"Cast", "Identity", "Unsqueeze", "Squeeze", "Gather", "Mul", "Div", "Add", "Sub", "Range", "Sqrt", "Floor", "Ceil",
                 "Concat", "Slice", "Reshape", "Equal"}
WITHOUT_INPUTS = {"Shape": shape_of, "Size": size_of, "Constant": constant}


def known_results(node):
    """The arrays of a node's results, or None: they are computed when the model runs."""
    if node.op in WITHOUT_INPUTS:
        made = WITHOUT_INPUTS[node.op](node)
        return None if made is None else [made]
    function = FOLDED.get(node.op)
    if function is None or not node.inputs or len(node.proto.output) != 1:
        return None
    arrays = []
    for value in node.inputs:
        if value is None:
            continue
        if value.known is None or value.path or value.known.size > LIMIT:
            return None
        if value.known.dtype.kind == "f" and not (node.op in FOLDED_FLOATS and value.known.size <= FEW):
            return None
        arrays.append(value.known)
    try:
        made = function(node, *arrays)
    except (ValueError, IndexError, TypeError, ZeroDivisionError):
        return None
    if made is None:
        return None
    made = numpy.asarray(made)
    if made.dtype == object and not any(isinstance(item, Size) for item in made.reshape(-1)):
        made = made.astype(numpy.int64)
    return [made]
