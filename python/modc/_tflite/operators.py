"""What each operator becomes: a module of one of the classes with its numbers, or an expression.

A function of OPERATORS takes the Writer and the Operator, and gives the expression of its output. Checks are those that TensorFlow
Lite Micro makes when it prepares a model; what it would refuse, or read past, is refused here.
"""
import math
import struct
from collections import namedtuple

from modc._tflite import fixed
from modc._tflite.model import ACTIVATIONS, TfliteError

Quantised = namedtuple("Quantised", "scale zero")
INT8 = ("int8",)


def refuse(op, text, hint=None):
    raise TfliteError(f"{op}: {text}", hint)


def need(op, places, dtypes=INT8):
    """The inputs and the outputs are as many as `places` says, and of these types, where those are given."""
    if not places[0] <= len(op.inputs) <= places[1] or len(op.outputs) != 1 or None in op.inputs[:places[0]]:
        refuse(op, f"it has {len(op.inputs)} inputs and {len(op.outputs)} outputs, not {places[0]} and 1")
    for tensor in (op.inputs[0], op.outputs[0]):
        of_type(op, tensor, dtypes)


def of_type(op, tensor, dtypes):
    if tensor.dtype not in dtypes:
        hint = "a model of floats is read from an ONNX file (docs/python.md)" if tensor.dtype == "float32" else None
        refuse(op, f"{tensor} is {tensor.dtype}; modc reads it of {' or '.join(dtypes)}", hint)


def of_rank(op, tensor, rank):
    if len(tensor.shape) != rank:
        refuse(op, f"{tensor} has the shape {list(tensor.shape)}, not {rank} dimensions")
    return tensor.shape


def constant(op, tensor, what, dtypes=("int32",)):
    """The numbers of a constant input."""
    if tensor.data is None:
        refuse(op, f"its {what}, {tensor}, is computed; it has to be a constant")
    of_type(op, tensor, dtypes)
    return tensor.values()


def quantised(op, tensor):
    """Its one scale, and zero point."""
    if len(tensor.scales) != 1 or len(tensor.zeros) > 1:
        refuse(op, f"{tensor} has {len(tensor.scales)} scales, where it has to have one")
    scale, zero = tensor.scales[0], tensor.zeros[0] if tensor.zeros else 0
    low = 0 if tensor.dtype == "uint8" else -128
    if not 0 < scale < math.inf or not low <= zero <= low + 255:
        refuse(op, f"{tensor} has scale {scale:g} and zero point {zero}")
    return Quantised(scale, zero)


def step_of(op, real, target):
    """The integer that stands for a real number, not yet kept to a byte."""
    steps = fixed.single(real / target.scale)
    if abs(steps) >= 1 << 31:
        refuse(op, f"{real:g} is {steps:g} steps of the scale {target.scale:g}")
    return target.zero + fixed.away(steps)


def bounds(op, target, field):
    """low, high: what the fused activation leaves."""
    code = op.option(field)
    name = ACTIVATIONS[code] if 0 <= code < len(ACTIVATIONS) else str(code)
    ranges = {"NONE": (None, None), "RELU": (0.0, None), "RELU_N1_TO_1": (-1.0, 1.0), "RELU6": (0.0, 6.0)}
    if name not in ranges:
        refuse(op, f"its fused activation is {name}; modc has {', '.join(ranges)}")
    low, high = (None if edge is None else step_of(op, edge, target) for edge in ranges[name])
    return {"low": -128 if low is None else max(-128, low), "high": 127 if high is None else min(127, high)}


def gives(op, shape):
    """The output has this shape."""
    target = op.outputs[0]
    if tuple(shape) != target.shape:
        refuse(op, f"{target} has the shape {list(target.shape)}, and is given {list(shape)}")


def ints(values):
    return struct.pack(f"<{len(values)}i", *values)


def windows(op, image, kernel, strides, dilations=(1, 1)):
    """Zeros (before, behind) of rows, then of columns, and the extents of the result."""
    padding, pads, extents = op.option(0), [], []
    if min(strides) < 1 or min(dilations) < 1 or min(kernel) < 1 or padding not in (0, 1):
        refuse(op, f"its window is {list(kernel)}, its strides {list(strides)}, its dilations {list(dilations)}")
    for extent, size, stride, dilation in zip(image, kernel, strides, dilations):
        reach = (size - 1) * dilation + 1
        if padding == 0:
            out = -(-extent // stride)
            missing = max(0, (out - 1) * stride + reach - extent)
        else:
            out, missing = (extent - reach) // stride + 1, 0
            if out < 1:
                refuse(op, f"its window reaches over {reach} of {extent} rows or columns")
        pads.append((missing // 2, missing - missing // 2))
        extents.append(out)
    return pads, extents


def by_channel(op, source, weight, target, count):
    """The multipliers and shifts of channels, and whether there is a shift to the left."""
    scales = weight.scales * count if len(weight.scales) == 1 else weight.scales
    if len(scales) != count or any(not 0 < scale < math.inf for scale in scales):
        refuse(op, f"{weight} has {len(weight.scales)} scales for {count} channels")
    pairs = [fixed.multiplier_of(source.scale * scale / target.scale) for scale in scales]
    if any(shift > 30 for _, shift in pairs):
        refuse(op, f"the scales of {weight} are too large for {op.outputs[0]}")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], any(shift > 0 for _, shift in pairs)


def bias_of(op, count):
    """The bytes of the bias; zeros where there is none."""
    if len(op.inputs) < 3 or op.inputs[2] is None:
        return bytes(4 * count)
    values = constant(op, op.inputs[2], "bias")
    if len(values) != count:
        refuse(op, f"{op.inputs[2]} has {len(values)} numbers for {count} channels")
    return ints(values)


def weights_of(op):
    """The weights' bytes, and that their zero points are 0."""
    weight = op.inputs[1]
    constant(op, weight, "weights", INT8)
    if any(weight.zeros):
        refuse(op, f"{weight} has zero points that are not 0, which the reference kernels do not read")
    return weight.data


def transposed(data, extents, order):
    """The bytes of a tensor of bytes with its dimensions in another order."""
    strides = [math.prod(extents[axis + 1:]) for axis in range(len(extents))]
    places = [0]
    for axis in order:
        places = [place + strides[axis] * step for place in places for step in range(extents[axis])]
    return bytes(data[place] for place in places)


def conv(writer, op, kind, cin, cout, groups, kernel, weight, strides, dilations, activation):
    image, target = op.inputs[0], quantised(op, op.outputs[0])
    source = quantised(op, image)
    pads, (rows, columns) = windows(op, image.shape[1:3], kernel, strides, dilations)
    gives(op, (image.shape[0], rows, columns, cout))
    multipliers, shifts, larger = by_channel(op, source, op.inputs[1], target, cout)
    if len(op.inputs[1].scales) > 1 and op.inputs[1].axis != (0 if kind == "conv" else 3):
        refuse(op, f"{op.inputs[1]} has scales along dimension {op.inputs[1].axis}")
    name = writer.module(
        op, kind, "Conv2dInt8", cin, cout, tuple(kernel), stride=tuple(strides), pad=(*pads[0], *pads[1]),
        dilation=tuple(dilations), groups=groups, zero=source.zero, out_zero=target.zero, **bounds(op, target, activation),
        larger=larger)
    writer.weight(name, "weight", "I8", (cout, cin // groups, *kernel), weight)
    writer.weight(name, "bias", "I32", (cout,), bias_of(op, cout))
    writer.weight(name, "multiplier", "I32", (cout,), ints(multipliers))
    writer.weight(name, "shift", "I32", (cout,), ints([-shift for shift in shifts]))
    return f"{name}({writer.value(op, 0)})"


def conv_2d(writer, op):
    need(op, (2, 3))
    image, weight = op.inputs[0], weights_of(op)
    cout, rows, columns, depth = of_rank(op, op.inputs[1], 4)
    channels = of_rank(op, image, 4)[3]
    if depth == 0 or channels % depth or cout % (channels // depth):
        refuse(op, f"{op.inputs[1]} is {list(op.inputs[1].shape)}, for {channels} channels")
    return conv(writer, op, "conv", channels, cout, channels // depth, (rows, columns),
                transposed(weight, op.inputs[1].shape, (0, 3, 1, 2)), (op.option(2, "i"), op.option(1, "i")),
                (op.option(5, "i", 1), op.option(4, "i", 1)), 3)


def depthwise_conv_2d(writer, op):
    need(op, (2, 3))
    image, weight = op.inputs[0], weights_of(op)
    first, rows, columns, cout = of_rank(op, op.inputs[1], 4)
    channels = of_rank(op, image, 4)[3]
    if first != 1 or channels == 0 or cout != channels * op.option(3, "i"):
        refuse(op, f"{op.inputs[1]} is {list(op.inputs[1].shape)}, for {channels} channels times {op.option(3, 'i')}")
    return conv(writer, op, "depthwise", channels, cout, channels, (rows, columns),
                transposed(weight, op.inputs[1].shape, (3, 0, 1, 2)), (op.option(2, "i"), op.option(1, "i")),
                (op.option(6, "i", 1), op.option(5, "i", 1)), 4)


def fully_connected(writer, op):
    need(op, (2, 3))
    weight = op.inputs[1]
    constant(op, weight, "weights", INT8)
    fout, fin = of_rank(op, weight, 2)
    source, target, given = quantised(op, op.inputs[0]), quantised(op, op.outputs[0]), op.inputs[0]
    if op.option(1) != 0:
        refuse(op, "its weights are shuffled")
    if fin == 0 or given.count % fin or given.count // fin * fout != op.outputs[0].count or op.outputs[0].shape[-1:] != (fout,):
        refuse(op, f"{weight} is {[fout, fin]}, {given} {list(given.shape)}, {op.outputs[0]} {list(op.outputs[0].shape)}")
    bias = bias_of(op, fout)
    zeros = {"zero": source.zero, "out_zero": target.zero, **bounds(op, target, 0)}
    if len(weight.scales) > 1:
        weights_of(op)
        if weight.axis != 0:
            refuse(op, f"{weight} has scales along dimension {weight.axis}")
        multipliers, shifts, larger = by_channel(op, source, weight, target, fout)
        name = writer.module(op, "linear", "LinearByChannelInt8", fin, fout, **zeros, larger=larger)
        writer.weight(name, "multiplier", "I32", (fout,), ints(multipliers))
        writer.weight(name, "shift", "I32", (fout,), ints([-shift for shift in shifts]))
    else:
        of_weight = quantised(op, weight)
        check_bias_scale(op, source, of_weight, target)
        multiplier, shift = fixed.multiplier_of(fixed.single(source.scale * of_weight.scale) / target.scale)
        if shift > 30:
            refuse(op, f"the scale of {weight} is too large for {op.outputs[0]}")
        name = writer.module(op, "linear", "LinearInt8", fin, fout, multiplier, shift, weight_zero=of_weight.zero, **zeros)
    writer.weight(name, "weight", "I8", (fout, fin), weight.data)
    writer.weight(name, "bias", "I32", (fout,), bias)
    value = writer.value(op, 0)
    if given.shape[-1:] != (fin,) or given.shape[:-1] != op.outputs[0].shape[:-1]:
        value = f"{value}.reshape({', '.join(map(str, (*op.outputs[0].shape[:-1], fin)))})"
    return f"{name}({value})"


def check_bias_scale(op, source, weight, target):
    if len(op.inputs) < 3 or op.inputs[2] is None or not op.inputs[2].scales:
        return
    apart = abs(source.scale * weight.scale - op.inputs[2].scales[0]) / target.scale
    if apart > 0.02:
        refuse(op, f"the scale of {op.inputs[2]} is not that of its products: {apart:.3g} of a step apart")


def broadcast(op):
    """The shape of both operands together."""
    shapes = [tensor.shape for tensor in op.inputs[:2]]
    rank = max(map(len, shapes))
    extents = []
    for pair in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes)):
        if pair[0] != pair[1] and 1 not in pair:
            refuse(op, f"{op.inputs[0]} is {list(shapes[0])}, {op.inputs[1]} {list(shapes[1])}")
        extents.append(pair[0] if pair[1] == 1 else pair[1])
    gives(op, extents)


def add(writer, op):
    need(op, (2, 2))
    of_type(op, op.inputs[1], INT8)
    broadcast(op)
    a, b, target = quantised(op, op.inputs[0]), quantised(op, op.inputs[1]), quantised(op, op.outputs[0])
    twice = 2 * max(a.scale, b.scale)
    real = twice / ((1 << 20) * target.scale)
    if real >= 1 or fixed.multiplier_of(real)[1] > 0:
        refuse(op, f"the scale of {op.outputs[0]} is too small beside those of its operands")
    pairs = [fixed.multiplier_of(item.scale / twice) for item in (a, b)]
    multiplier, shift = fixed.multiplier_of(real)
    name = writer.module(op, "add", "AddInt8", (a.zero, b.zero), (pairs[0][0], pairs[1][0]), (pairs[0][1], pairs[1][1]),
                         multiplier, shift, out_zero=target.zero, **bounds(op, target, 0))
    return f"{name}({writer.value(op, 0)}, {writer.value(op, 1)})"


def mul(writer, op):
    need(op, (2, 2))
    of_type(op, op.inputs[1], INT8)
    broadcast(op)
    a, b, target = quantised(op, op.inputs[0]), quantised(op, op.inputs[1]), quantised(op, op.outputs[0])
    multiplier, shift = fixed.multiplier_of(a.scale * b.scale / target.scale)
    if shift > 30:
        refuse(op, f"the scale of {op.outputs[0]} is too small beside those of its operands")
    name = writer.module(op, "mul", "MulInt8", (a.zero, b.zero), multiplier, shift, out_zero=target.zero,
                         **bounds(op, target, 0))
    return f"{name}({writer.value(op, 0)}, {writer.value(op, 1)})"


def pool(writer, op, kind, class_name):
    need(op, (1, 1))
    image = of_rank(op, op.inputs[0], 4)
    kernel, strides = (op.option(4, "i"), op.option(3, "i")), (op.option(2, "i"), op.option(1, "i"))
    pads, (rows, columns) = windows(op, image[1:3], kernel, strides)
    gives(op, (image[0], rows, columns, image[3]))
    target = quantised(op, op.outputs[0])
    name = writer.module(op, kind, class_name, kernel, strides, pad=(*pads[0], *pads[1]), **bounds(op, target, 5))
    return f"{name}({writer.value(op, 0)})"


def average_pool_2d(writer, op):
    return pool(writer, op, "avg_pool", "AvgPool2dInt8")


def max_pool_2d(writer, op):
    return pool(writer, op, "max_pool", "MaxPool2dInt8")


def axes_of(op, given):
    rank = len(op.inputs[0].shape)
    if any(not -rank <= axis < rank for axis in given):
        refuse(op, f"its axes are {given}, of {rank} dimensions")
    return sorted({axis % rank for axis in given})


def mean(writer, op):
    need(op, (2, 2))
    given = op.inputs[0]
    axes, keep = axes_of(op, constant(op, op.inputs[1], "axes")), bool(op.option(0))
    source, target = quantised(op, given), quantised(op, op.outputs[0])
    gives(op, [1 if axis in axes else extent for axis, extent in enumerate(given.shape) if keep or axis not in axes])
    count = math.prod(given.shape[axis] for axis in axes)
    if count == 0 or not axes:
        refuse(op, f"it is the mean of no numbers: {given} is {list(given.shape)}, its axes are {axes}")
    multiplier, shift = fixed.multiplier_of(source.scale / target.scale)
    bits = min(count.bit_length() - 1, 32, 31 + shift)
    name = writer.module(op, "mean", "MeanInt8", tuple(axes), keep, count * source.zero, (multiplier << bits) // count,
                         shift - bits, out_zero=target.zero)
    return f"{name}({writer.value(op, 0)})"


def reshape(writer, op):
    if not op.inputs or op.inputs[0] is None or len(op.outputs) != 1 or op.inputs[0].count != op.outputs[0].count:
        refuse(op, "it does not give as many elements as it is given")
    return f"{writer.value(op, 0)}.reshape({', '.join(map(str, op.outputs[0].shape))})"


def transpose(writer, op):
    need(op, (2, 2), ("int8", "uint8", "float32"))
    order, shape = constant(op, op.inputs[1], "order"), op.inputs[0].shape
    if sorted(order) != list(range(len(shape))):
        refuse(op, f"its order is {order}, of {len(shape)} dimensions")
    gives(op, [shape[axis] for axis in order])
    return f"{writer.value(op, 0)}.permute({', '.join(map(str, order))})"


def pad(writer, op):
    need(op, (2, 3))
    shape, steps = op.inputs[0].shape, constant(op, op.inputs[1], "paddings", ("int32", "int64"))
    if len(steps) != 2 * len(shape) or min(steps, default=0) < 0:
        refuse(op, f"its paddings are {steps}, of {len(shape)} dimensions")
    gives(op, [extent + steps[2 * axis] + steps[2 * axis + 1] for axis, extent in enumerate(shape)])
    value = quantised(op, op.outputs[0]).zero
    if len(op.inputs) == 3 and op.inputs[2] is not None:
        value = constant(op, op.inputs[2], "value", INT8)[0]
    behind = [step for axis in reversed(range(len(shape))) for step in steps[2 * axis:2 * axis + 2]]
    while behind[-2:] == [0, 0]:
        del behind[-2:]
    return f"F.pad({writer.value(op, 0)}, {tuple(behind)}, value={value})" if behind else writer.value(op, 0)


def concatenation(writer, op):
    need(op, (1, 10))
    shapes, rank, axis = [tensor.shape for tensor in op.inputs], len(op.inputs[0].shape), op.option(0, "i")
    for tensor in op.inputs:
        of_type(op, tensor, INT8)
    if op.option(1) != 0:
        refuse(op, "it has a fused activation, which the reference kernel does not compute")
    if not -rank <= axis < rank or any(len(shape) != rank for shape in shapes):
        refuse(op, f"its axis is {axis}, of {' and '.join(str(list(shape)) for shape in shapes)}")
    axis %= rank
    gives(op, [sum(shape[axis] for shape in shapes) if place == axis else shapes[0][place] for place in range(rank)])
    return f"torch.cat([{', '.join(writer.value(op, place) for place in range(len(shapes)))}], {axis})"


def softmax(writer, op):
    need(op, (1, 1))
    gives(op, op.inputs[0].shape)
    source, target = quantised(op, op.inputs[0]), quantised(op, op.outputs[0])
    if target != (1 / 256, -128):
        refuse(op, f"{op.outputs[0]} has scale {target.scale:g} and zero point {target.zero}, not 1/256 and -128")
    if not 0 < op.inputs[0].shape[-1] < 4096:
        refuse(op, f"{op.inputs[0]} has {op.inputs[0].shape[-1]} classes; sums are exact up to 4095")
    beta = op.option(0, "f")
    exps = fixed.exp_table(source.scale, beta) if math.isfinite(beta) else None
    if exps is None:
        refuse(op, f"beta {beta:g} times the scale of {op.inputs[0]}, {source.scale:g}, is too small")
    name = writer.module(op, "softmax", "SoftmaxInt8")
    writer.weight(name, "exp", "I32", (256,), ints(exps))
    return f"{name}({writer.value(op, 0)})"


def tabled(writer, op, kind, values):
    name = writer.module(op, kind, "TableInt8")
    writer.weight(name, "table", "I8", (256,), struct.pack("<256b", *values))
    return f"{name}({writer.value(op, 0)})"


def function(kind, make):
    """A function of one number: make(op, source, target) gives its 256 results."""
    def operator(writer, op):
        need(op, (1, 1))
        gives(op, op.inputs[0].shape)
        return tabled(writer, op, kind, make(op, quantised(op, op.inputs[0]), quantised(op, op.outputs[0])))
    return operator


def of_logistic(op, source, target):
    if target.zero != -128:
        refuse(op, f"{op.outputs[0]} has zero point {target.zero}, not -128")
    return fixed.logistic_table(large_enough(op, source))


def of_tanh(op, source, _):
    return fixed.tanh_table(large_enough(op, source))


def large_enough(op, source):
    if source.scale < 2.0 ** -27:
        refuse(op, f"the scale of {op.inputs[0]}, {source.scale:g}, is too small")
    return source


def of_leaky_relu(op, source, target):
    slope = op.option(0, "f")
    if not math.isfinite(slope):
        refuse(op, f"its alpha is {slope:g}")
    return fixed.leaky_table(source, target, slope)


def of_hard_swish(op, source, target):
    return fixed.hard_swish_table(source, target) or refuse(op, f"the scale of {op.outputs[0]} is too small for its input")


def of_relu(op, source, target):
    return fixed.rescaled_table(source, target, low=max(-128, target.zero))


def of_relu6(op, source, target):
    top = fixed.byte(step_of(op, 6.0, source))
    return [max(source.zero, min(value, top)) for value in range(-128, 128)]


def quantize(writer, op):
    need(op, (1, 1), ("int8", "uint8", "float32"))
    gives(op, op.inputs[0].shape)
    given, made = op.inputs[0].dtype, op.outputs[0].dtype
    target = quantised(op, op.outputs[0])
    if (given, made) == ("float32", "int8"):
        name = writer.module(op, "quantize", "QuantizeInt8", target.scale, target.zero)
        return f"{name}({writer.value(op, 0)})"
    if "float32" in (given, made) or (given, made) == ("uint8", "uint8"):
        refuse(op, f"it makes {made} of {given}")
    source = quantised(op, op.inputs[0])
    values = range(256) if given == "uint8" else range(-128, 128)
    if made == "uint8":
        name = writer.module(op, "quantize", "TableUint8")
        writer.weight(name, "table", "U8", (256,), bytes(fixed.rescaled_table(source, target, values, 0, 255)))
        return f"{name}({writer.value(op, 0)})"
    name = writer.module(op, "quantize", "TableInt8", first=values[0])
    writer.weight(name, "table", "I8", (256,), struct.pack("<256b", *fixed.rescaled_table(source, target, values)))
    return f"{name}({writer.value(op, 0)})"


def dequantize(writer, op):
    if len(op.inputs) != 1 or len(op.outputs) != 1 or op.inputs[0] is None:
        refuse(op, f"it has {len(op.inputs)} inputs and {len(op.outputs)} outputs, not 1 and 1")
    of_type(op, op.inputs[0], ("int8", "uint8"))
    of_type(op, op.outputs[0], ("float32",))
    gives(op, op.inputs[0].shape)
    source = quantised(op, op.inputs[0])
    name = writer.module(op, "dequantize", "DequantizeInt8", source.scale, source.zero)
    return f"{name}({writer.value(op, 0)})"


def strided_slice(writer, op):
    need(op, (4, 4), ("int8", "uint8", "float32"))
    shape, masks = op.inputs[0].shape, [op.option(field, "i") for field in range(5)]
    first, last, steps = (constant(op, op.inputs[place], what) for place, what in ((1, "begin"), (2, "end"), (3, "strides")))
    if not len(first) == len(last) == len(steps) == len(shape) or masks[2] or masks[3] or op.option(5, "?", False):
        refuse(op, "it has an ellipsis or new axes, or does not say each dimension")
    if min(steps, default=1) < 1:
        refuse(op, f"its strides are {steps}; modc has those above 0")
    indices, extents = [], []
    for axis, extent in enumerate(shape):
        begin, end = first[axis], last[axis]
        begin = begin + extent if begin < 0 else begin
        begin = 0 if masks[0] >> axis & 1 else max(0, min(begin, extent))
        end = end + extent if end < 0 else end
        end = extent if masks[1] >> axis & 1 else max(0, min(end, extent))
        if masks[4] >> axis & 1:
            if begin >= extent:
                refuse(op, f"it takes element {begin} of {extent}")
            indices.append(str(begin))
            continue
        indices.append(f"{begin or ''}:{'' if end == extent else end}" + (f":{steps[axis]}" if steps[axis] != 1 else ""))
        extents.append(max(0, -((begin - end) // steps[axis])))
    gives(op, extents)
    return f"{writer.value(op, 0)}[{', '.join(indices)}]"


OPERATORS = {
    "ADD": add, "AVERAGE_POOL_2D": average_pool_2d, "CONCATENATION": concatenation, "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d, "DEQUANTIZE": dequantize, "EXPAND_DIMS": reshape, "FULLY_CONNECTED": fully_connected,
    "HARD_SWISH": function("hard_swish", of_hard_swish), "LEAKY_RELU": function("leaky_relu", of_leaky_relu),
    "LOGISTIC": function("logistic", of_logistic), "MAX_POOL_2D": max_pool_2d, "MEAN": mean, "MUL": mul, "PAD": pad, "PADV2": pad,
    "QUANTIZE": quantize, "RELU": function("relu", of_relu), "RELU6": function("relu6", of_relu6), "RESHAPE": reshape,
    "SOFTMAX": softmax, "SQUEEZE": reshape, "STRIDED_SLICE": strided_slice,
    "TANH": function("tanh", of_tanh), "TRANSPOSE": transpose,
}
