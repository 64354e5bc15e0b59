"""ONNX's operators as expressions of the language: a row each.

A row takes the node (graph.Node) and gives the expression of its result; a list with one for each of several; Multi, whose
parts are the results; a Value that is the result already; or an array, where it is known.
"""
import math

import numpy

from modc._onnx.graph import Multi
from modc._onnx.read import dtype_name
from modc._onnx.text import Expr, Size, binary, call, is_symbolic, method, number, pieces_of, subscript, unary, whole

SPATIAL = {3: "1d", 4: "2d", 5: "3d"}


def torch_dtype(name):
    return f"torch.{name}"


# ---- elementwise

def unary_call(name, layer=None):
    def row(node):
        if layer is not None and stands_alone(node):
            made = node.module(layer, "", [])
            return Expr([(made, 9), "("] + [(node[0], -1)] + [")"])
        return call(name, node[0])
    return row


def stands_alone(node):
    """Whether a node is all that its scope has, as an activation is that was a module of its own."""
    scope = node.graph.scope_of(node.proto)
    return bool(scope) and node.graph.alone(scope) and scope not in node.graph.modules


def binary_row(symbol):
    def row(node):
        return binary(node.operand(0, node[1]), symbol, node.operand(1, node[0]))
    return row


def variadic(name, symbol=None):
    def row(node):
        made = node[0]
        for value in node.inputs[1:]:
            made = binary(made, symbol, value) if symbol else call(name, made, value)
        return made
    return row


def mean(node):
    made = node[0]
    for value in node.inputs[1:]:
        made = binary(made, "+", value)
    return binary(made, "/", len(node.inputs)) if len(node.inputs) > 1 else made


def divide(node):
    if node[0].is_float:
        return binary(node.operand(0, node[1]), "/", node.operand(1, node[0]))
    return call("torch.div", node[0], node.operand(1, node[0]), rounding_mode="'trunc'")


def power(node):
    base, exponent = node[0], node.operand(1, node[0])
    same = node[1].dtype == node[0].dtype
    if not same and isinstance(exponent, (numpy.floating, numpy.integer)) and base.is_float:
        same, exponent = True, float(exponent)
    if same:
        if isinstance(exponent, (float, numpy.floating)) and float(exponent).is_integer():
            exponent = int(exponent)
        return binary(base, "**", exponent)
    if base.is_float:
        return binary(base, "**", method(exponent, "to", torch_dtype(base.dtype)))
    if node[1].is_float:
        return method(binary(method(base, "double"), "**", method(node[1], "double")), "to", torch_dtype(base.dtype))
    return method(binary(base, "**", method(exponent, "to", torch_dtype(base.dtype))), "to", torch_dtype(base.dtype))


def modulo(node):
    if node.attribute("fmod", 0):
        return call("torch.fmod", node[0], node.operand(1, node[0]))
    return binary(node[0], "%", node.operand(1, node[0]))


def bit_shift(node):
    name = "bitwise_left_shift" if node.attribute("direction") == "LEFT" else "bitwise_right_shift"
    return call(name, node[0], node[1])


def elu(node):
    alpha = node.number("alpha", 1.0)
    return call("F.elu", node[0], alpha=None if alpha == 1 else alpha)


def celu(node):
    alpha = node.number("alpha", 1.0)
    return call("F.celu", node[0], alpha=None if alpha == 1 else alpha)


def selu(node):
    alpha, gamma = node.number("alpha", 1.6732632423543772), node.number("gamma", 1.0507009873554805)
    if (alpha, gamma) == (numpy.float32(1.6732632423543772), numpy.float32(1.0507009873554805)):
        return call("F.selu", node[0])
    return binary(gamma, "*", call("F.elu", node[0], alpha=alpha))


def leaky_relu(node):
    return call("F.leaky_relu", node[0], node.number("alpha", 0.01))


def prelu(node):
    slope, x = node[1], node[0]
    if slope.path and slope.rank is not None and x.rank is not None and x.rank >= 2 and (
            slope.known.size == 1 or slope.known.size == slope.shape[0] and slope.rank == x.rank - 1):
        array = slope.known.reshape(-1)
        count = array.size
        made = node.module("PReLU", str(count) if count != 1 else "", [("weight", slope, array)])
        if made is not None:
            return Expr([(made, 9), "(", (x, -1), ")"])
    return call("torch.where", binary(x, "<", 0), binary(slope, "*", x), x)


def hard_sigmoid(node):
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return call("F.hardsigmoid", node[0])
    return method(binary(binary(alpha, "*", node[0]), "+", beta), "clamp", 0, 1)


def thresholded_relu(node):
    return call("torch.where", binary(node[0], ">", node.number("alpha", 1.0)), node[0], 0.0)


def shrink(node):
    x, lambd, bias = node[0], node.number("lambd", 0.5), node.number("bias", 0.0)
    zero = 0.0 if x.is_float else 0
    if not x.is_float:
        kind = torch_dtype(x.dtype)
        x64 = method(x, "double")
        return method(call("torch.where", binary(x64, "<", -lambd), binary(x64, "+", bias),
                           call("torch.where", binary(x64, ">", lambd), binary(x64, "-", bias), 0.0)), "to", kind)
    return call("torch.where", binary(x, "<", -lambd), binary(x, "+", bias) if bias else x,
                call("torch.where", binary(x, ">", lambd), binary(x, "-", bias) if bias else x, zero))


def gelu(node):
    kind = node.attribute("approximate", "none")
    return call("F.gelu", node[0], approximate=repr(kind) if kind != "none" else None)


def swish(node):
    alpha = node.number("alpha", 1.0)
    return call("F.silu", node[0]) if alpha == 1 else binary(
        node[0], "*", call("torch.sigmoid", binary(alpha, "*", node[0])))


def clip(node):
    if node.version < 11:
        low, high = node.number("min"), node.number("max")
        low = None if low is None or low < -3e38 else low
        high = None if high is None or high > 3e38 else high
    else:
        low, high = (node.operand(i) if node[i] is not None else None for i in (1, 2))
    if low is None and high is None:
        return node[0]
    if whole_number(low) and whole_number(high) and (low, high) == (0, 6):
        return call("F.relu6", node[0])
    if any(hasattr(bound, "statement") for bound in (low, high)):
        made = node[0]
        made = call("torch.maximum", made, tensor_like(node, low, made)) if low is not None else made
        return call("torch.minimum", made, tensor_like(node, high, node[0])) if high is not None else made
    return method(node[0], "clamp", min=low, max=high)


def tensor_like(node, bound, value):
    return bound if hasattr(bound, "statement") else call("torch.tensor", bound, dtype=torch_dtype(node[0].dtype))


def whole_number(item):
    return item is not None and not hasattr(item, "statement") and not isinstance(item, Size) and float(item).is_integer()


def is_inf(node):
    negative, positive = node.attribute("detect_negative", 1), node.attribute("detect_positive", 1)
    if negative and positive:
        return call("torch.isinf", node[0])
    if positive or negative:
        return binary(node[0], "==", Expr(["inf" if positive else "-inf"], 7))
    return call("torch.zeros_like", node[0], dtype="torch.bool")


def cast(node):
    kind = dtype_name(node.attribute("to"), node.proto, "its result")
    if node[0].dtype == kind:
        return node[0]
    return method(node[0], "to", torch_dtype(kind))


def cast_like(node):
    if node[1].dtype is None:
        raise node.fail("the type to cast to is not known")
    return method(node[0], "to", torch_dtype(node[1].dtype))


def where(node):
    left, right = node.operand(1, node[0]), node.operand(2, node[0])
    if not hasattr(left, "statement") and not hasattr(right, "statement"):
        left = node[1]
    if not hasattr(left, "statement") and (node[2].known is not None or not node[1].dtype == node[2].dtype):
        left = node[1]
    if node[1].known is not None and node[2].known is not None:
        left, right = node[1], node[2]
    for side in (1, 2):
        chosen = (left, right)[side - 1]
        if not hasattr(chosen, "statement") and node[3 - side].rank is not None and (
                node[side].known.ndim > max(node[0].rank or 0, node[3 - side].rank)):
            left, right = node[1], node[2]
    return call("torch.where", node[0], left, right)


# ---- products

def matmul(node):
    x, weight = node[0], node[1]
    if weight.known is not None and weight.known.ndim == 2 and weight.is_float and (x.rank or 0) >= 1:
        folded = linear_of(node)
        if folded is not None:
            return folded
    return binary(x, "@", weight)


def linear_of(node):
    """MatMul by a constant, and the Add of a bias behind it if nothing else reads it, as one Linear."""
    graph, weight = node.graph, node[1]
    if graph.real_uses(weight.name) != 1:
        return None
    readers = graph.readers.get(node.proto.output[0], [])
    bias, add = None, None
    if len(readers) == 1 and readers[0].op_type == "Add" and graph.uses[node.proto.output[0]] == 1:
        add = readers[0]
        other = next((name for name in add.input if name != node.proto.output[0]), None)
        bias = graph.values.get(other)
        if bias is None or bias.known is None or bias.shape != [weight.shape[1]] or not bias.is_float:
            bias, add = None, None
    if bias is None and not graph.scope_of(node.proto) and not (weight.path and weight.path[-1] == "weight"):
        return None
    made = linear(node, weight, weight.known.T, bias)
    if made is not None and add is not None:
        graph.skipped.add(id(add))
        node.proto = shadow(graph, node.proto, add)
    return made


def shadow(graph, proto, last):
    """The node under the name of the result of the last that it stands for."""
    copy = graph.onnx.NodeProto()
    copy.CopyFrom(proto)
    del copy.output[:]
    copy.output.extend(last.output)
    return copy


def linear(node, weight, array, bias):
    features_out, features_in = array.shape
    tensors = [("weight", weight, array if array is weight.known else numpy.ascontiguousarray(array))]
    tensors += [("bias", bias, bias.known)] if bias is not None else []
    made = node.module("Linear", f"{features_in}, {features_out}" + ("" if bias is not None else ", bias=False"), tensors)
    return None if made is None else Expr([(made, 9), "(", (node[0], -1), ")"])


def gemm(node):
    a, b, c = node[0], node[1], node[2]
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    trans_a, trans_b = node.attribute("transA", 0), node.attribute("transB", 0)
    plain = alpha == 1 and (beta == 1 or c is None) and not trans_a
    if plain and a.is_float and b.known is not None and b.known.ndim == 2 and (c is None or c.known is not None):
        array = b.known if trans_b else b.known.T
        if c is None or c.shape == [array.shape[0]]:
            made = linear(node, b, array, c)
            if made is not None:
                return made
    left = subscript_t(a) if trans_a else a
    product = binary(left, "@", subscript_t(b) if trans_b else b)
    if not a.is_float:
        alpha, beta = int(alpha), int(beta)
    if alpha != 1:
        product = binary(alpha, "*", product)
    if c is None or beta == 0:
        return product
    return binary(product, "+", c if beta == 1 else binary(beta, "*", c))


def subscript_t(value):
    return Expr(pieces_of(value, 9) + [".T"])


def einsum(node):
    equation = node.attribute("equation").replace(" ", "")
    return call("torch.einsum", repr(equation), *node.inputs)


# ---- convolutions and pools

def spatial(node, rank):
    if rank not in SPATIAL:
        raise node.fail(f"it has {rank - 2} spatial dimensions; modc has 1, 2 and 3")
    return SPATIAL[rank]


def same_or(items):
    """A tuple, or the number that it consists of."""
    items = [int(item) for item in items]
    return number(items[0]) if all(item == items[0] for item in items) else "(" + ", ".join(map(str, items)) + ")"


def window(node, count, kernel):
    """strides, dilations and the padding before and behind of each spatial dimension."""
    strides = node.attribute("strides") or [1] * count
    dilations = node.attribute("dilations") or [1] * count
    pads = node.attribute("pads") or [0] * (2 * count)
    kind = node.attribute("auto_pad", "NOTSET")
    before, behind = list(pads[:count]), list(pads[count:])
    if kind == "VALID":
        before, behind = [0] * count, [0] * count
    elif kind in ("SAME_UPPER", "SAME_LOWER"):
        for i in range(count):
            reach = dilations[i] * (kernel[i] - 1) + 1
            if strides[i] == 1:
                total = reach - 1
            else:
                extent = node.fixed(i + 2, f"auto_pad {kind} of a strided window")
                total = max(0, (-(-extent // strides[i]) - 1) * strides[i] + reach - extent)
            less, more = total // 2, total - total // 2
            before[i], behind[i] = (less, more) if kind == "SAME_UPPER" else (more, less)
    return strides, dilations, before, behind


def padded(value, before, behind, filler=None):
    """value with explicit padding of its spatial dimensions."""
    amounts = []
    for low, high in zip(reversed(before), reversed(behind)):
        amounts += [low, high]
    return call("F.pad", value, "(" + ", ".join(map(str, amounts)) + ")",
                value=None if filler is None else filler)


def convolution(node):
    x, weight, bias = node[0], node[1], node[2]
    rank = node.rank(1)
    dims = spatial(node, rank)
    kernel = [int(item) for item in node.attribute("kernel_shape") or
              [node.fixed(axis, "the kernel's shape", 1) for axis in range(2, rank)]]
    strides, dilations, before, behind = window(node, rank - 2, kernel)
    groups = node.attribute("group", 1)
    if before != behind or any(item < 0 for item in before):
        x, before = padded(x, before, behind), [0] * len(before)
    options = {"stride": strides, "padding": before, "dilation": dilations}
    defaults = {"stride": 1, "padding": 0, "dilation": 1}
    named = {key: same_or(items) for key, items in options.items() if any(item != defaults[key] for item in items)}
    if groups != 1:
        named["groups"] = str(groups)
    if weight.known is not None and (bias is None or bias.known is not None):
        arguments = [str(weight.shape[1] * groups), str(weight.shape[0]), same_or(kernel)]
        arguments += [f"{key}={item}" for key, item in named.items()] + ([] if bias is not None else ["bias=False"])
        tensors = [("weight", weight, weight.known)] + ([("bias", bias, bias.known)] if bias is not None else [])
        made = node.module(f"Conv{dims}", ", ".join(arguments), tensors)
        if made is not None:
            return Expr([(made, 9), "(", (x, -1), ")"])
    return call(f"F.conv{dims}", x, weight, *([bias] if bias is not None else []), **named)


def transposed_convolution(node):
    x, weight, bias = node[0], node[1], node[2]
    rank = node.rank(1)
    dims, count = spatial(node, rank), rank - 2
    kernel = [int(item) for item in node.attribute("kernel_shape") or
              [node.fixed(axis, "the kernel's shape", 1) for axis in range(2, rank)]]
    strides = node.attribute("strides") or [1] * count
    dilations = node.attribute("dilations") or [1] * count
    extra = list(node.attribute("output_padding") or [0] * count)
    pads = node.attribute("pads") or [0] * (2 * count)
    before, behind = list(pads[:count]), list(pads[count:])
    kind, wanted, groups = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape"), node.attribute("group", 1)
    if wanted or kind.startswith("SAME"):
        wanted = (wanted or [])[-count:]
        for i in range(count):
            extent = node.fixed(i + 2, "output_shape or auto_pad")
            goal = wanted[i] if wanted else extent * strides[i]
            total = strides[i] * (extent - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - goal
            if total < 0:
                extra[i] -= total
                total = 0
            less, more = total // 2, total - total // 2
            before[i], behind[i] = (less, more) if kind == "SAME_UPPER" or kind == "NOTSET" and wanted else (more, less)
            if kind == "NOTSET" or kind == "SAME_LOWER":
                before[i], behind[i] = more, less
    crops = None
    if before != behind:
        crops, padding = list(zip(before, behind)), [0] * count
    else:
        padding = before
    outside = [(0, 0)] * count
    for i in range(count):
        if extra[i] >= max(strides[i], dilations[i]):  # more than PyTorch takes: zeros, or the bias
            outside[i] = (0, extra[i])
            extra[i] = 0
    options = {"stride": strides, "padding": padding, "output_padding": extra, "dilation": dilations}
    defaults = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1}
    named = {key: same_or(items) for key, items in options.items() if any(item != defaults[key] for item in items)}
    if groups != 1:
        named["groups"] = str(groups)
    grown = any(high for _, high in outside)
    made = None
    if weight.known is not None and (bias is None or bias.known is not None) and not grown:
        arguments = [str(weight.shape[0]), str(weight.shape[1] * groups), same_or(kernel)]
        arguments += [f"{key}={item}" for key, item in named.items()] + ([] if bias is not None else ["bias=False"])
        tensors = [("weight", weight, weight.known)] + ([("bias", bias, bias.known)] if bias is not None else [])
        made = node.module(f"ConvTranspose{dims}", ", ".join(arguments), tensors)
    if made is not None:
        result = Expr([(made, 9), "(", (x, -1), ")"])
    else:
        inner = {key: item for key, item in named.items() if key != "dilation"}
        if "dilation" in named:
            inner["dilation"] = named["dilation"]
        result = call(f"F.conv_transpose{dims}", x, weight, *([bias] if bias is not None and not grown else []), **inner)
    if grown:
        result = padded(result, [0] * count, [high for _, high in outside])
        if bias is not None:
            result = binary(result, "+", subscript(bias, ":", *["None"] * count))
    if crops:
        result = subscript(result, "...", *[f"{low or ''}:{-high if high else ''}" for low, high in crops])
    return result


def max_pool(node):
    rank = node.rank()
    dims, count = spatial(node, rank), rank - 2
    kernel = node.attribute("kernel_shape")
    strides, dilations, before, behind = window(node, count, kernel)
    x, ceil = node[0], node.attribute("ceil_mode", 0)
    indices = node.has_output(1)
    integer = x.dtype is not None and not x.is_float
    lowest = {"int8": -128, "uint8": 0}.get(x.dtype) if integer else Expr(["-inf"], 7)
    explicit = before != behind or any(2 * low > size for low, size in zip(before, kernel)) or integer and any(before)
    if indices and (explicit or node.attribute("storage_order", 0)):
        raise node.fail("its indices with uneven padding or storage_order 1 are not there")
    kind = x.dtype
    if ceil and explicit:
        # ceil_mode lets the last window begin within what is padded behind, as PyTorch's does for even padding
        behind = [high + fill(node, i, kernel, strides, dilations, before, behind) for i, high in enumerate(behind)]
        ceil = 0
    if explicit:
        x, before = padded(x, before, behind, lowest), [0] * count
    if integer:
        x = method(x, "float")
    named = {}
    if list(strides) != list(kernel):
        named["stride"] = same_or(strides)
    if any(before):
        named["padding"] = same_or(before)
    if any(item != 1 for item in dilations):
        named["dilation"] = same_or(dilations)
    if ceil:
        named["ceil_mode"] = "True"
    if indices:
        made = call(f"F.max_pool{dims}", x, same_or(kernel), return_indices="True", **named)
        flat = node.extents()
        planes = math.prod(flat[2:]) if all(isinstance(item, int) for item in flat) else None
        if planes is None:
            raise node.fail("its indices depend on sizes that calls choose")
        offsets = call("torch.arange", flat[0] * flat[1])
        shaped = method(offsets, "view", flat[0], flat[1], *[1] * count)
        return [subscript(made, 0), binary(subscript(made, 1), "+", binary(shaped, "*", planes))]
    if stands_alone(node) and not explicit and not integer:
        made = node.module(f"MaxPool{dims}", ", ".join([same_or(kernel)] + [f"{k}={v}" for k, v in named.items()]), [])
        return Expr([(made, 9), "(", (x, -1), ")"])
    made = call(f"F.max_pool{dims}", x, same_or(kernel), **named)
    return method(made, "to", torch_dtype(kind)) if integer else made


def fill(node, i, kernel, strides, dilations, before, behind):
    """How much padding ceil_mode adds behind."""
    extent = node.fixed(i + 2, "ceil_mode with uneven padding") + before[i] + behind[i]
    reach = dilations[i] * (kernel[i] - 1) + 1
    steps = -(-(extent - reach) // strides[i])
    if steps * strides[i] >= extent - behind[i]:
        steps -= 1
    return max(0, steps * strides[i] + reach - extent)


def average_pool(node):
    rank = node.rank()
    dims, count = spatial(node, rank), rank - 2
    kernel = node.attribute("kernel_shape")
    strides, dilations, before, behind = window(node, count, kernel)
    x, ceil, include = node[0], node.attribute("ceil_mode", 0), bool(node.attribute("count_include_pad", 0))
    even = before == behind and all(2 * low <= size for low, size in zip(before, kernel))
    if any(item != 1 for item in dilations) or not even or ceil:
        return counted_pool(node, dims, count, kernel, strides, dilations, before, behind, ceil, include)
    named = {}
    if list(strides) != list(kernel):
        named["stride"] = same_or(strides)
    if any(before):
        named["padding"] = same_or(before)
        if not include:
            named["count_include_pad"] = "False"
    if stands_alone(node):
        made = node.module(f"AvgPool{dims}", ", ".join([same_or(kernel)] + [f"{k}={v}" for k, v in named.items()]), [])
        return Expr([(made, 9), "(", (x, -1), ")"])
    return call(f"F.avg_pool{dims}", x, same_or(kernel), **named)


def counted_pool(node, dims, count, kernel, strides, dilations, before, behind, ceil, include):
    """A mean over windows that may leave the image: sums by a convolution of ones over counts that are known."""
    extents = [node.fixed(i + 2, "the count of a window's elements") for i in range(count)]
    beyond = [0] * count
    if ceil:
        beyond = [fill(node, i, kernel, strides, dilations, before, behind) for i in range(count)]
    counts = numpy.ones(1)
    for i in range(count):
        line = numpy.zeros(before[i] + extents[i] + behind[i] + beyond[i])
        if include:
            line[:before[i] + extents[i] + behind[i]] = 1
        else:
            line[before[i]:before[i] + extents[i]] = 1
        reach = dilations[i] * (kernel[i] - 1) + 1
        own = [line[at:at + reach:dilations[i]].sum() for at in range(0, len(line) - reach + 1, strides[i])]
        counts = numpy.multiply.outer(counts, own)
    counts = counts[0]
    x = padded(node[0], before, [high + more for high, more in zip(behind, beyond)])
    channels = node.extents()[1]
    weight = call("torch.ones", channels, 1, *kernel)
    named = {key: same_or(items) for key, items in (("stride", strides), ("dilation", dilations)) if any(i != 1 for i in items)}
    kind = "" if node[0].dtype == "float32" else f", dtype=torch.{node[0].dtype}"
    if kind:
        weight = call("torch.ones", channels, 1, *kernel, dtype=torch_dtype(node[0].dtype))
    total = call(f"F.conv{dims}", x, weight, **named, groups=channels)
    if (counts == counts.reshape(-1)[0]).all():
        return binary(total, "/", float(counts.reshape(-1)[0]))
    return binary(total, "/", node.graph.constant(counts.astype(node[0].dtype or "float32")))


def global_pool(name):
    def row(node):
        axes = tuple(range(2, node.rank()))
        text = "(" + ", ".join(map(str, axes)) + ("," if len(axes) == 1 else "") + ")"
        if name == "mean" and stands_alone(node) and len(axes) in (1, 2, 3):
            made = node.module(f"AdaptiveAvgPool{len(axes)}d", "1", [])
            return Expr([(made, 9), "(", (node[0], -1), ")"])
        return method(node[0], name, text, keepdim="True")
    return row


def global_lp_pool(node):
    p, axes = node.attribute("p", 2), tuple(range(2, node.rank()))
    return call("torch.linalg.vector_norm", node[0], ord=float(p), dim=number(list(axes)), keepdim="True")


def lp_pool(node):
    rank = node.rank()
    dims, count = spatial(node, rank), rank - 2
    kernel = node.attribute("kernel_shape")
    strides, dilations, before, behind = window(node, count, kernel)
    p = node.attribute("p", 2)
    if node.attribute("ceil_mode", 0):
        behind = [high + fill(node, i, kernel, strides, dilations, before, behind) for i, high in enumerate(behind)]
    x = method(node[0], "abs")
    x = padded(x, before, behind) if any(before) or any(behind) else x
    channels = node.extents()[1]
    named = {key: same_or(items) for key, items in (("stride", strides), ("dilation", dilations)) if any(i != 1 for i in items)}
    sums = call(f"F.conv{dims}", binary(x, "**", p), call("torch.ones", channels, 1, *kernel), **named, groups=channels)
    return binary(sums, "**", 1 / p)


def max_unpool(node):
    rank = node.rank()
    spatial(node, rank)
    count = rank - 2
    kernel = node.attribute("kernel_shape")
    strides = node.attribute("strides") or [1] * count
    pads = node.attribute("pads") or [0] * (2 * count)
    extents = node.extents()
    if any(isinstance(item, Size) for item in extents):
        raise node.fail("its indices depend on sizes that calls choose")
    own = [(extents[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[count + i] for i in range(count)]
    shape = node.ints(2, "output_shape", optional=True)
    shape = shape or extents[:2] + own
    # Indices are those of the tensor whose shape the strides give; output_shape only adds zeros behind it.
    flat = call("torch.zeros", math.prod(extents[:2]) * math.prod(own), dtype=torch_dtype(node[0].dtype))
    filled = method(method(flat, "scatter", 0, method(node[1], "flatten"), method(node[0], "flatten")), "view", *extents[:2], *own)
    behind = [wanted - extent for wanted, extent in zip(shape[2:], own)]
    return padded(filled, [0] * count, behind) if any(behind) else filled


# ---- norms

def batch_norm(node):
    x, scale, bias, mean_, var = (node[i] for i in range(5))
    eps, rank = node.number("epsilon", 1e-5), node.rank()
    if node.attribute("spatial", 1) == 0 and node.version < 9:
        raise node.fail("spatial=0 is not there")
    training = node.attribute("training_mode", 0) or node.has_output(3) and node.version < 14
    if training:
        return trained_norm(node, eps, rank)
    known = [value.known is not None for value in (scale, bias, mean_, var)]
    if all(known) and 2 <= rank <= 5:
        dims = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}[rank]
        text = str(scale.shape[0]) + (f", eps={number(eps)}" if eps != numpy.float32(1e-5) else "")
        made = node.module(f"BatchNorm{dims}", text, [
            ("weight", scale, scale.known), ("bias", bias, bias.known), ("running_mean", mean_, mean_.known),
            ("running_var", var, var.known)])
        if made is not None:
            made.counter = True
            return Expr([(made, 9), "(", (x, -1), ")"])
    return call("F.batch_norm", x, mean_, var, scale, bias, eps=eps)


def trained_norm(node, eps, rank):
    momentum = float(node.number("momentum", 0.9))
    axes = "(" + ", ".join(str(axis) for axis in range(rank) if axis != 1) + ("," if rank == 2 else "") + ")"
    x, scale, bias, mean_, var = (node[i] for i in range(5))
    mean_of = method(x, "mean", axes)
    var_of = method(x, "var", axes, unbiased="False")
    y = call("F.batch_norm", x, mean_of, var_of, scale, bias, eps=eps)
    new_mean = binary(binary(mean_, "*", momentum), "+", binary(mean_of, "*", round(1 - momentum, 7)))
    new_var = binary(binary(var, "*", momentum), "+", binary(var_of, "*", round(1 - momentum, 7)))
    return [y, new_mean, new_var, mean_of, var_of]


def instance_norm(node):
    return call("F.instance_norm", node[0], weight=node[1], bias=node[2], eps=node.number("epsilon", 1e-5))


def layer_norm(node):
    rank = node.rank()
    axis = node.axis(node.attribute("axis", -1), rank)
    x, weight, bias, eps = node[0], node[1], node[2], node.number("epsilon", 1e-5)
    extents = node.extents()[axis:]
    if not any(isinstance(item, Size) for item in extents) and not node.has_output(1):
        shape = list(map(int, extents))
        text = str(shape[0]) if len(shape) == 1 else "(" + ", ".join(map(str, shape)) + ")"
        text += f", eps={number(eps)}" if eps != numpy.float32(1e-5) else ""
        if weight is not None and weight.known is not None and weight.shape == shape and (
                bias is None or bias.known is not None and bias.shape == shape):
            made = node.module("LayerNorm", text + ("" if bias is not None else ", bias=False"), [
                ("weight", weight, weight.known)] + ([("bias", bias, bias.known)] if bias is not None else []))
            if made is not None:
                return Expr([(made, 9), "(", (x, -1), ")"])
        if weight is not None and weight.shape == shape:
            return call("F.layer_norm", x, number(shape), weight, *([bias] if bias is not None else []),
                        eps=None if eps == numpy.float32(1e-5) else eps)
    axes = "(" + ", ".join(map(str, range(axis, rank))) + ("," if rank - axis == 1 else "") + ")"
    mean_of = method(x, "mean", axes, keepdim="True")
    spread = call("torch.rsqrt", binary(method(x, "var", axes, unbiased="False", keepdim="True"), "+", eps))
    y = binary(binary(binary(x, "-", mean_of), "*", spread), "*", weight) if weight is not None \
        else binary(binary(x, "-", mean_of), "*", spread)
    return [binary(y, "+", bias) if bias is not None else y, mean_of, spread]


def rms_norm(node):
    rank = node.rank()
    axis = node.axis(node.attribute("axis", -1), rank)
    x, weight, eps = node[0], node[1], node.number("epsilon", 1e-5)
    axes = "(" + ", ".join(map(str, range(axis, rank))) + ("," if rank - axis == 1 else "") + ")"
    squares = method(binary(x, "*", x), "mean", axes, keepdim="True")
    return binary(binary(x, "*", call("torch.rsqrt", binary(squares, "+", eps))), "*", weight)


def group_norm(node):
    groups, eps = node.attribute("num_groups"), node.number("epsilon", 1e-5)
    weight, bias = node[1], node[2]
    if node.version < 21:  # one of each for a group
        each = binary(node.fixed(1, "the number of channels"), "//", groups)
        weight, bias = (method(item, "repeat_interleave", each) for item in (weight, bias))
    return call("F.group_norm", node[0], groups, weight, bias, eps=eps)


def lrn(node):
    size, alpha, beta, bias = (node.attribute("size"), node.number("alpha", 1e-4), node.number("beta", 0.75),
                               node.number("bias", 1.0))
    if size % 2:
        return call("F.local_response_norm", node[0], size, alpha=alpha, beta=beta, k=bias)
    raise node.fail(f"a window of {size} channels is not there", "an odd size is")


def lp_norm(node):
    axis, p = node.attribute("axis", -1), node.attribute("p", 2)
    length = call("torch.linalg.vector_norm", node[0], ord=float(p), dim=axis, keepdim="True")
    return call("torch.where", binary(length, "==", 0), 0.0, binary(node[0], "/", length))


def softmax(name):
    def row(node):
        if node.version >= 13:
            axis = node.attribute("axis", -1)
            if stands_alone(node):
                kind = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}.get(name)
                if kind:
                    made = node.module(kind, f"dim={axis}", [])
                    return Expr([(made, 9), "(", (node[0], -1), ")"])
            return soft(node, name, node[0], axis)
        axis, rank = node.axis(node.attribute("axis", 1), max(node.rank(), 1)), node.rank()
        if axis == rank - 1:
            return soft(node, name, node[0], -1)
        return method(soft(node, name, method(node[0], "flatten", axis), -1), "reshape", *node.extents())
    return row


def soft(node, name, x, axis):
    if name == "hardmax":
        return call(node.helper("hardmax"), x, axis)
    return call(f"F.{name}" if name == "log_softmax" else name, x, dim=axis)


# ---- reductions

def reduction(node):
    """The axes to reduce, None for all, "none" for none; and whether they are kept."""
    axes = node.attribute("axes")
    if axes is None and len(node.inputs) > 1:
        axes = node.plain_ints(1, "axes")
    keep = bool(node.attribute("keepdims", 1))
    if not axes:
        return "none" if node.attribute("noop_with_empty_axes", 0) else None, keep
    return axes, keep


def dims_text(axes):
    return number(axes[0]) if len(axes) == 1 else "(" + ", ".join(map(str, axes)) + ")"


def reduced(node, x, name, axes, keep, **named):
    if axes is None:
        axes = list(range(node.rank()))
        if not axes:
            return method(x, name, **named) if name in ("sum", "mean", "prod") else x
        if not keep and name in ("sum", "mean", "prod", "amax", "amin"):
            return method(x, name, **named)
    if name in ("prod", "any", "all"):
        for axis in sorted((axis % node.rank() for axis in axes), reverse=True):
            x = method(x, name, dim=axis, keepdim="True" if keep else None, **named)
        return x
    return method(x, name, dim=dims_text(axes), keepdim="True" if keep else None, **named)


def kept_type(node):
    """The dtype to sum in, where PyTorch's sums would be of another."""
    return {} if node[0].is_float or node[0].dtype == "int64" else {"dtype": torch_dtype(node[0].dtype or "int64")}


def reduce_row(kind):
    def row(node):
        axes, keep = reduction(node)
        x = node[0]
        if axes == "none":
            if kind in ("sum_square",):
                return binary(x, "*", x)
            if kind in ("l1", "l2"):
                return method(x, "abs")
            if kind == "log_sum":
                return call("torch.log", x)
            return x
        summed = kept_type(node)
        if kind in ("sum", "prod"):
            return reduced(node, x, kind, axes, keep, **summed)
        if kind == "mean":
            if node[0].is_float:
                return reduced(node, x, "mean", axes, keep)
            return method(reduced(node, method(x, "double"), "mean", axes, keep), "to", torch_dtype(node[0].dtype))
        if kind in ("amax", "amin"):
            if node[0].dtype == "bool":
                return reduced(node, x, "any" if kind == "amax" else "all", axes, keep)
            return reduced(node, x, kind, axes, keep)
        if kind == "l1":
            return reduced(node, method(x, "abs"), "sum", axes, keep, **summed)
        if kind == "sum_square":
            return reduced(node, binary(x, "*", x), "sum", axes, keep, **summed)
        if kind == "l2":
            total = reduced(node, binary(x, "*", x), "sum", axes, keep, **summed)
            return call("torch.sqrt", total) if node[0].is_float else method(
                call("torch.sqrt", method(total, "double")), "to", torch_dtype(node[0].dtype))
        if kind == "log_sum":
            return call("torch.log", reduced(node, x, "sum", axes, keep))
        every = list(range(node.rank())) if axes is None else axes
        return method(x, "logsumexp", dim=dims_text(every) if every else "()", keepdim="True" if keep else None)
    return row


def arg_row(name):
    def row(node):
        axis, keep, x = node.attribute("axis", 0), node.attribute("keepdims", 1), node[0]
        if node.attribute("select_last_index", 0):
            extent = node.extents()[node.axis(axis, node.rank())]
            flipped = call(f"torch.{name}", method(x, "flip", axis), dim=axis, keepdim="True" if keep else None)
            return binary(extent - 1, "-", flipped)
        return call(f"torch.{name}", x, dim=axis, keepdim="True" if keep else None)
    return row


def cumulative(name):
    def row(node):
        axis = node.plain_ints(1, "axis")[0]
        x, exclusive, reverse = node[0], node.attribute("exclusive", 0), node.attribute("reverse", 0)
        if reverse:
            x = method(x, "flip", axis)
        kind = {} if node[0].is_float else {"dtype": torch_dtype(node[0].dtype)}
        made = method(x, name, axis, **kind)
        if exclusive:
            rank = node.rank()
            axis = node.axis(axis, rank)
            pads = [0, 0] * (rank - axis - 1) + [1, 0]
            first = subscript(made, *[":"] * axis, ":-1")
            made = call("F.pad", first, "(" + ", ".join(map(str, pads)) + ")", value=1 if name == "cumprod" else None)
        return method(made, "flip", axis) if reverse else made
    return row


def top_k(node):
    axis, largest, x = node.attribute("axis", -1), node.attribute("largest", 1), node[0]
    count = node.attribute("k") if node.version < 10 else node.ints(1, "K")[0]
    return Multi(call("torch.topk", x, count, dim=None if axis == -1 else axis, largest=None if largest else "False"))


# ---- shapes

def reshape(node):
    target = node.ints(1, "shape")
    if not node.attribute("allowzero", 0) and 0 in target:
        extents = node.extents()
        target = [extents[i] if whole(item) and item == 0 else item for i, item in enumerate(target)]
    node.shapes = resolved(node, target)
    flat = flattened(node, target)
    return flat if flat is not None else method(node[0], "reshape", *target) if target else method(node[0], "reshape", "()")


def flattened(node, target):
    """x.flatten(1) for what keeps the first dimensions."""
    shape = node[0].shape
    if shape is None or len(target) < 2 or not whole(target[-1]) or len(target) > len(shape):
        return None
    keep = len(target) - 1
    extents = node.extents()
    if any(a != b for a, b in zip(target[:keep], extents)) or len(shape) - keep < 2:
        return None
    rest = extents[keep:]
    if target[-1] == -1 or all(isinstance(item, int) for item in rest) and math.prod(rest) == target[-1]:
        return method(node[0], "flatten", keep)
    return None


def resolved(node, target):
    """The shape that a target with -1 means."""
    if not any(whole(item) and item == -1 for item in target):
        return list(target)
    if node[0].shape is not None:
        extents = node.extents()
        if all(isinstance(item, int) for item in extents + target):
            rest = math.prod(item for item in target if item != -1)
            return [math.prod(extents) // rest if item == -1 and rest else item for item in target]
    return [None if whole(item) and item == -1 else item for item in target]


def flatten(node):
    rank = node.rank()
    axis = node.attribute("axis", 1)
    axis = axis + rank if axis < 0 else axis
    if axis == 1 and rank >= 2:
        if stands_alone(node):
            made = node.module("Flatten", "", [])
            return Expr([(made, 9), "(", (node[0], -1), ")"])
        return method(node[0], "flatten", 1)
    extents = node.extents()
    return method(node[0], "reshape", product_of(extents[:axis]), -1 if 0 not in extents else product_of(extents[axis:]))


def product_of(items):
    total = 1
    for item in items:
        total = total * item
    return total


def transpose(node):
    rank = node.rank()
    perm = list(node.attribute("perm") or reversed(range(rank)))
    moved = [i for i in range(rank) if perm[i] != i]
    if not moved:
        return node[0]
    if len(moved) == 2:
        return method(node[0], "transpose", *[i - rank if rank > 2 and moved == [rank - 2, rank - 1] else i for i in moved])
    return method(node[0], "permute", *perm)


def axes_of(node):
    return node.attribute("axes") if len(node.inputs) < 2 else node.plain_ints(1, "axes")


def squeeze(node):
    axes = axes_of(node)
    if axes is None:
        axes = [axis for axis, extent in enumerate(node.extents()) if extent == 1]
    rank = node.rank() if len(axes) > 1 else 0
    made = node[0]
    for axis in sorted((axis % rank if rank else axis for axis in axes), reverse=True):
        made = method(made, "squeeze", axis)
    return made


def unsqueeze(node):
    axes = axes_of(node)
    if len(axes) > 1 and any(axis < 0 for axis in axes):
        total = node.rank() + len(axes)
        axes = [axis % total for axis in axes]
    made = node[0]
    for axis in sorted(axes):
        made = method(made, "unsqueeze", axis)
    return made


def concat(node):
    if len(node.inputs) == 1:
        return node[0]
    return call("torch.cat", list(node.inputs), dim=node.attribute("axis"))


def split(node):
    axis = node.attribute("axis", 0)
    sizes = node.attribute("split") if node.version < 13 else node.ints(1, "split", optional=True)
    count = len(node.proto.output)
    if sizes is None:
        extent = node.extents()[node.axis(axis, node.rank())]
        parts = node.attribute("num_outputs", count)
        if isinstance(extent, Size):
            return Multi(call("torch.chunk", node[0], parts, dim=axis))
        each = -(-extent // parts)
        sizes = [each] * (parts - 1) + [extent - each * (parts - 1)]
    if count == 1:
        return node[0]
    return Multi(call("torch.split", node[0], list(sizes), dim=axis))


def slice_(node):
    if node.version < 10:
        starts, ends = node.attribute("starts"), node.attribute("ends")
        axes, steps = node.attribute("axes"), None
    else:
        starts, ends = node.ints(1, "starts"), node.ints(2, "ends")
        axes, steps = node.plain_ints(3, "axes", optional=True), node.plain_ints(4, "steps", optional=True)
    axes = axes if axes is not None else range(len(starts))
    rank = node.rank()
    parts, made, forward = {}, node[0], []
    for start, end, axis, step in zip(starts, ends, axes, steps or [1] * len(starts)):
        axis = node.axis(axis, rank)
        if step < 0:
            extent = node.fixed(axis, "a slice with a negative step")
            chosen = range(extent)[slice(int(start), None if end < -extent else int(end), step)]
            if not len(chosen):
                parts[axis] = "0:0"
                continue
            made = method(made, "flip", axis)
            first = extent - 1 - chosen[0]
            last = extent - chosen[-1]
            parts[axis] = f"{first or ''}:{last if last < extent else ''}" + (f":{-step}" if step != -1 else "")
            continue
        forward.append(axis)
        parts[axis] = range_pieces(node, start, end, step)
    if not parts:
        return made
    last = max(parts)
    texts = [parts.get(axis, ":") for axis in range(last + 1)]
    if all(text == ":" for text in texts):
        return made
    if rank > 2 and last == rank - 1 and all(text == ":" for text in texts[:-1]):
        return subscript(made, "...", texts[-1])
    return subscript(made, *texts)


def range_pieces(node, start, end, step):
    far = isinstance(end, int) and end >= 2 ** 31 - 1
    if isinstance(start, Size) or isinstance(end, Size):
        pieces = (pieces_of(start) if not (whole(start) and start == 0) else []) + [":"] + ([] if far else pieces_of(end))
        return Expr(pieces + ([f":{step}"] if step != 1 else []))
    start = max(start, -2 ** 31 + 1)
    return f"{start or ''}:{'' if far else end}" + (f":{step}" if step != 1 else "")


def gather(node):
    x, index, axis = node[0], node[1], node.attribute("axis", 0)
    rank = node.rank()
    axis = node.axis(axis, rank)
    if index.known is not None and index.known.ndim == 0:
        which = index.known.reshape(-1)[0]
        return subscript(x, *[":"] * axis, which if isinstance(which, Size) else int(which))
    if x.known is not None and x.rank == 2 and axis == 0 and index.known is None and x.is_float:
        rows, width = x.shape
        made = node.module("Embedding", f"{rows}, {width}", [("weight", x, x.known)])
        if made is not None:
            return Expr([(made, 9), "(", (index, -1), ")"])
    if index.known is not None and index.known.ndim == 1 and index.known.size <= 16 and index.known.dtype != object:
        return subscript(x, *[":"] * axis, number(index.known.tolist()))
    if index.known is None or is_symbolic(index.known) or (index.known < 0).any():
        index = call(node.helper("from_end"), index, node.extents()[axis])
    return subscript(x, *[":"] * axis, index)


def gather_elements(node):
    axis = node.attribute("axis", 0)
    extent = node.extents()[node.axis(axis, node.rank())]
    index = wide(node, 1) if node[1].known is not None and (node[1].known >= 0).all() else call(
        node.helper("from_end"), wide(node, 1), extent)
    return call("torch.gather", node[0], axis, index)


def wide(node, position):
    return node[position] if node[position].dtype == "int64" else method(node[position], "long")


def gather_nd(node):
    batch = node.attribute("batch_dims", 0)
    depth = node.fixed(node.rank(1) - 1, "the number of indices", 1)
    columns = [subscript(node[1], "...", i) for i in range(depth)]
    if batch:
        extents = node.extents()
        rows = []
        inner = node.rank(1) - 1
        for axis in range(batch):
            shape = ["-1" if i == axis else "1" for i in range(inner)]
            rows.append(method(call("torch.arange", extents[axis]), "view", *shape))
        columns = rows + columns
    return subscript(node[0], *columns)


def scatter_elements(node):
    axis, reduction_ = node.attribute("axis", 0), node.attribute("reduction", "none")
    extent = node.extents()[node.axis(axis, node.rank())]
    index = wide(node, 1) if node[1].known is not None and (node[1].known >= 0).all() else call(
        node.helper("from_end"), wide(node, 1), extent)
    if reduction_ == "none":
        return call("torch.scatter", node[0], axis, index, node[2])
    kind = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction_]
    return call("torch.scatter_reduce", node[0], axis, index, node[2], repr(kind))


def scatter_nd(node):
    reduction_ = node.attribute("reduction", "none")
    depth = node.fixed(node.rank(1) - 1, "the number of indices", 1)
    columns = [subscript(node[1], "...", i) for i in range(depth)]
    if reduction_ in ("none", "add"):
        places = Expr(["("] + [piece for column in columns for piece in ((column, -1), ", ")][:-1]
                      + [",)" if depth == 1 else ")"])
        return call("torch.index_put", node[0], places, node[2], accumulate="True" if reduction_ == "add" else None)
    extents = node.extents()
    if any(isinstance(item, Size) for item in extents):
        raise node.fail(f"reduction='{reduction_}' with sizes that calls choose is not there")
    tail = math.prod(extents[depth:])
    place = binary(columns[0], "*", math.prod(extents[1:depth]))
    for i in range(1, depth):
        place = binary(place, "+", binary(columns[i], "*", math.prod(extents[i + 1:depth])))
    index = binary(binary(method(place, "reshape", -1, 1), "*", tail), "+", call("torch.arange", tail))
    kind = {"mul": "prod", "max": "amax", "min": "amin"}[reduction_]
    flat = call("torch.scatter_reduce", method(node[0], "flatten"), 0, method(index, "flatten"), method(node[2], "flatten"),
                repr(kind))
    return method(flat, "view", *extents)


def expand(node):
    target, rank = node.ints(1, "shape"), node.rank()
    extents = node.extents()
    sizes, lead = [], len(target) - rank
    if lead < 0:
        target, lead = [1] * -lead + target, 0
    for axis, extent in enumerate(target):
        own = extents[axis - lead] if axis >= lead else 1
        sizes.append(own if whole(extent) and extent == 1 else extent)
    node.shapes = sizes
    if sizes == extents:
        return node[0]
    return method(node[0], "expand", *sizes)


def tile(node):
    return method(node[0], "repeat", *node.ints(1, "repeats"))


def pad(node):
    rank = node.rank()
    if node.version < 11:
        pads, value = node.attribute("pads"), node.number("value", 0.0)
    else:
        pads = node.ints(1, "pads")
        value = node.operand(2) if node[2] is not None else 0
    if node.version >= 18 and node[3] is not None:
        axes = [node.axis(axis, rank) for axis in node.plain_ints(3, "axes")]
        full = [0] * (2 * rank)
        for i, axis in enumerate(axes):
            full[axis], full[axis + rank] = pads[i], pads[i + len(axes)]
        pads = full
    mode = node.attribute("mode", "constant")
    sides = [(pads[axis], pads[axis + rank]) for axis in range(rank)]
    moved = [axis for axis, pair in enumerate(sides) if pair != (0, 0)]
    if not moved:
        return node[0]
    if mode != "constant":
        mode = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}[mode]
        x = node[0]
        last = rank - moved[0]
        if last > 3:
            raise node.fail(f"mode '{node.attribute('mode')}' of more than the last three dimensions is not there")
        shape = node.extents()
        lead = rank - last
        x = method(x, "reshape", 1, product_of(shape[:lead]), *shape[lead:]) if lead != 2 else x
        amounts = [item for axis in range(rank - 1, lead - 1, -1) for item in sides[axis]]
        if any(isinstance(item, int) and item < 0 for item in amounts):
            raise node.fail(f"negative padding in mode '{node.attribute('mode')}' is not there")
        made = call("F.pad", x, Expr(tuple_pieces(amounts)), mode=repr(mode))
        if lead != 2:
            made = method(made, "reshape", *shape[:lead], *[
                extent + low + high for extent, (low, high) in zip(shape[lead:], sides[lead:])])
        return made
    amounts = [item for axis in range(rank - 1, moved[0] - 1, -1) for item in sides[axis]]
    if hasattr(value, "statement"):
        mask = call("F.pad", call("torch.ones_like", node[0], dtype="torch.bool"), Expr(tuple_pieces(amounts)))
        return call("torch.where", mask, call("F.pad", node[0], Expr(tuple_pieces(amounts))), value)
    return call("F.pad", node[0], Expr(tuple_pieces(amounts)), value=None if value == 0 else value)


def tuple_pieces(items):
    pieces = ["("]
    for position, item in enumerate(items):
        pieces += ([", "] if position else []) + pieces_of(item)
    return pieces + [")"]


def depth_to_space(node):
    block = node.attribute("blocksize")
    if node.attribute("mode", "DCR") == "CRD":
        return call("F.pixel_shuffle", node[0], block)
    b, c, h, w = node.extents()
    split_ = method(node[0], "reshape", b, block, block, c // (block * block), h, w)
    return method(method(split_, "permute", 0, 3, 4, 1, 5, 2), "reshape", b, c // (block * block), h * block, w * block)


def space_to_depth(node):
    block = node.attribute("blocksize")
    if node.attribute("mode", "DCR") == "CRD":
        return call("F.pixel_unshuffle", node[0], block)
    b, c, h, w = node.extents()
    split_ = method(node[0], "reshape", b, c, h // block, block, w // block, block)
    return method(method(split_, "permute", 0, 3, 5, 1, 2, 4), "reshape", b, c * block * block, h // block, w // block)


def one_hot(node):
    depth, values, axis = node.plain_ints(1, "depth")[0], node[2], node.attribute("axis", -1)
    index = node[0]
    rank = node.rank() + 1
    axis = node.axis(axis, rank)
    classes = method(call("torch.arange", depth), "view", *[-1 if i == axis else 1 for i in range(rank)])
    index = method(index, "long") if index.dtype != "int64" else index
    index = call("torch.where", binary(index, "<", 0), binary(index, "+", depth), index)
    hot = binary(method(index, "unsqueeze", axis), "==", classes)
    return call("torch.where", hot, subscript(values, 1), subscript(values, 0))


def range_(node):
    parts = []
    for position, what in enumerate(("start", "limit", "delta")):
        value = node[position]
        if value.known is None:
            raise node.fail(f"its {what} depends on values of tensors, so its shape would too",
                            f"modc follows constants and what is computed from shapes{node.fixing(value)}")
        parts.append(value.known.reshape(-1)[0])
    start, limit, delta = parts
    kind = node[0].dtype
    return call("torch.arange", start, limit, delta, dtype=None if kind == "int64" else torch_dtype(kind))


def constant_of_shape(node):
    tensor = node.attributes.get("value")
    value = node.graph.onnx.numpy_helper.to_array(tensor.t).reshape(-1)[0] if tensor is not None else numpy.float32(0)
    target = node.ints(0, "shape")
    node.shapes = list(target)
    return call("torch.full", list(target), value, dtype=torch_dtype(value.dtype.name))


def eye_like(node):
    code = node.attribute("dtype")
    kind = dtype_name(code, node.proto) if code else node[0].dtype
    rows, columns, k = node.fixed(0, "its shape"), node.fixed(1, "its shape"), node.attribute("k", 0)
    return numpy.eye(rows, columns, k, dtype=kind)


def trilu(node):
    k = node.plain_ints(1, "k")[0] if node[1] is not None else 0
    return call("torch.triu" if node.attribute("upper", 1) else "torch.tril", node[0], k)


def reverse_sequence(node):
    time, batch = node.attribute("time_axis", 0), node.attribute("batch_axis", 1)
    if {time, batch} != {0, 1}:
        raise node.fail("time_axis and batch_axis other than 0 and 1 are not there")
    return call(node.helper("reverse_sequence"), node[0], node[1], time)


def compress(node):
    condition = node.constant(1, "condition")
    axis = node.attribute("axis")
    chosen = numpy.nonzero(condition)[0].tolist()
    x = node[0] if axis is not None else method(node[0], "flatten")
    return subscript(x, *[":"] * (node.axis(axis, node.rank()) if axis is not None else 0), number(chosen))


def col2im(node):
    image, block = node.plain_ints(1, "image_shape"), node.plain_ints(2, "block_shape")
    if len(image) != 2:
        raise node.fail(f"{len(image)} spatial dimensions are not there", "two are")
    strides, dilations, before, behind = window(node, 2, block)
    tall = [image[i] + before[i] + behind[i] for i in range(2)]
    even = before == behind
    made = call("F.fold", node[0], number(image if even else tall), number(block), dilation=number(dilations),
                padding=number(before) if even else "0", stride=number(strides))
    return made if even else subscript(made, "...", *[f"{before[i]}:{before[i] + image[i]}" for i in range(2)])


def dropout(node):
    training = node[2]
    if training is not None and (training.known is None or bool(training.known)):
        ratio = node[1].known if node[1] is not None else numpy.float32(0.5)
        if training.known is None or ratio is None or float(ratio) != 0:
            raise node.fail("it drops in training mode, by random numbers that ONNX does not define",
                            "export the model in eval mode")
    return [node[0], call("torch.ones_like", node[0], dtype="torch.bool") if node.has_output(1) else None]


# ---- images

def resize(node):
    if node.version < 11:
        scales = node.attribute("scales") or node.constant(1, "scales").tolist()
        sizes, roi = None, None
    else:
        empty = node[2] is None or node[2].known is not None and not node[2].known.size
        scales = None if empty else node.constant(2, "scales").tolist()
        sizes, roi = node.ints(3, "sizes", optional=True), node[1]
    mode = node.attribute("mode", "nearest")
    default = "half_pixel" if node.version >= 11 else "asymmetric"
    transform = node.attribute("coordinate_transformation_mode", default)
    rounding = node.attribute("nearest_mode", "round_prefer_floor" if node.version >= 11 else "floor")
    if node.version < 11:
        mode = "linear" if mode in ("linear", "bilinear") else mode
    rank, extents = node.rank(), node.extents()
    axes = node.attribute("axes")
    axes = [node.axis(axis, rank) for axis in axes] if axes else list(range(rank))
    from modc._onnx.resize import Resize
    return Resize(node, mode, transform, rounding, axes, scales, sizes, roi, extents).expression()


def grid_sample(node):
    mode = {"bilinear": "bilinear", "linear": "bilinear", "nearest": "nearest", "bicubic": "bicubic", "cubic": "bicubic"}[
        node.attribute("mode", "linear")]
    padding, align = node.attribute("padding_mode", "zeros"), bool(node.attribute("align_corners", 0))
    return call("F.grid_sample", node[0], node[1], mode=repr(mode), padding_mode=repr(padding), align_corners=str(align))


def affine_grid(node):
    size = node.ints(1, "size")
    return call("F.affine_grid", node[0], size, align_corners=str(bool(node.attribute("align_corners", 0))))


def roi_align(node):
    ratio = node.attribute("sampling_ratio", 0)
    if node.attribute("mode", "avg") != "avg" or not ratio:
        raise node.fail("mode 'max' and a sampling_ratio of 0 are not there", "mode 'avg' with a sampling_ratio above 0 is")
    height, width = node.attribute("output_height", 1), node.attribute("output_width", 1)
    aligned = node.attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel" and node.version >= 16
    boxes = call("torch.cat", [subscript(method(node[2], "to", torch_dtype(node[0].dtype)), ":", "None"), node[1]], dim=1)
    return call("ops.roi_align", node[0], boxes, f"({height}, {width})", spatial_scale=node.number("spatial_scale", 1.0),
                sampling_ratio=ratio, aligned=str(aligned))


def window_row(name):
    def row(node):
        size = node.plain_ints(0, "size")[0]
        code = node.attribute("output_datatype", 1)
        kind = dtype_name(code, node.proto, "its result")
        n = size if node.attribute("periodic", 1) else size - 1
        angle = 2 * numpy.pi * numpy.arange(size) / max(n, 1)
        parts = {"hann": (0.5, 0.5, 0), "hamming": (25 / 46, 21 / 46, 0), "blackman": (0.42, 0.5, 0.08)}[name]
        return (parts[0] - parts[1] * numpy.cos(angle) + parts[2] * numpy.cos(2 * angle)).astype(kind)
    return row


def bit_cast(node):
    return method(node[0], "view", torch_dtype(dtype_name(node.attribute("to"), node.proto, "its result")))


def dft(node):
    """Of real or complex numbers, whose last dimension has one or two parts."""
    rank = node.rank()
    axis = node.plain_ints(2, "axis")[0] if node[2] is not None else node.attribute("axis", 1 if node.version < 20 else -2)
    length = node.plain_ints(1, "dft_length")[0] if node[1] is not None else None
    inverse, onesided = node.attribute("inverse", 0), node.attribute("onesided", 0)
    parts, axis = node.fixed(rank - 1, "the number of parts"), node.axis(axis, rank)
    if parts == 2:
        z = call("torch.view_as_complex", node[0])
        if onesided and inverse:
            return method(call("torch.fft.irfft", z, n=length, dim=axis), "unsqueeze", -1)
        name = "torch.fft.ifft" if inverse else "torch.fft.fft"
    else:
        z = subscript(node[0], "...", 0)
        name = "torch.fft.rfft" if onesided and not inverse else "torch.fft.ifft" if inverse else "torch.fft.fft"
    if onesided and parts == 2:
        raise node.fail("onesided of complex numbers is not there")
    return call("torch.view_as_real", call(name, z, n=length, dim=axis))


def stft(node):
    step = node.plain_ints(1, "frame_step")[0]
    window_ = node[2]
    length = node.plain_ints(3, "frame_length")[0] if node[3] is not None else node.fixed(0, "the frame's length", 2)
    onesided, x = node.attribute("onesided", 1), node[0]
    if node.rank() == 3 and node.fixed(2, "the number of parts") == 2:
        raise node.fail("a signal of complex numbers is not there")
    signal = subscript(x, "...", 0) if node.rank() == 3 else x
    frames = method(signal, "unfold", 1, length, step)
    frames = binary(frames, "*", window_) if window_ is not None else frames
    return call("torch.view_as_real", call("torch.fft.rfft" if onesided else "torch.fft.fft", frames))


def causal_conv(node):
    """A depthwise convolution over what came before, which is handed on."""
    x, weight, bias, past = node[0], node[1], node[2], node[3]
    channels, taps = node.fixed(0, "the number of channels", 1), node.fixed(2, "the kernel's length", 1)
    whole_ = call("torch.cat", [past, x], dim=-1) if past is not None else call("F.pad", x, f"({taps - 1}, 0)")
    y = call("F.conv1d", whole_, weight, *([bias] if bias is not None else []), groups=channels)
    kind = node.attribute("activation", "none")
    if kind in ("silu", "swish"):
        y = call("F.silu", y)
    elif kind not in ("none", ""):
        raise node.fail(f"its activation '{kind}' is not there", "silu is")
    return [y, subscript(whole_, "...", f"{1 - taps}:") if taps > 1 else subscript(whole_, "...", ":0")]


def tensor_scatter(node):
    """Rows of a cache that a call writes, at a place for each of the batch."""
    rank = node.rank()
    axis, mode = node.axis(node.attribute("axis", -2), rank), node.attribute("mode", "linear")
    length = node.extents()[axis]
    steps = method(call("torch.arange", node.extents(1)[axis]), "view", *[-1 if i == axis else 1 for i in range(rank)])
    if node[2] is not None:
        steps = binary(steps, "+", method(node[2], "view", -1, *[1] * (rank - 1)))
    if mode == "circular":
        steps = binary(steps, "%", length)
    return call("torch.scatter", node[0], axis, method(steps, "expand", *node.extents(1)), node[1])


def det(node):
    return call("torch.det", node[0])


# ---- losses

def nll_loss(node):
    reduction_ = node.attribute("reduction", "mean")
    ignore = node.attribute("ignore_index")
    return call("F.nll_loss", node[0], wide(node, 1), weight=node[2] if node[2] is not None else None,
                ignore_index=ignore, reduction=repr(reduction_))


def softmax_loss(node):
    logits, reduction_, ignore = node[0], node.attribute("reduction", "mean"), node.attribute("ignore_index")
    log_probabilities = call("F.log_softmax", logits, dim=1)
    loss = call("F.nll_loss", log_probabilities, wide(node, 1), weight=node[2] if node[2] is not None else None,
                ignore_index=ignore, reduction=repr(reduction_))
    return [loss, log_probabilities if node.has_output(1) else None]


# ---- recurrent layers

ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def recurrent(kind):
    def row(node):
        hidden, directions = node.attribute("hidden_size"), {"bidirectional": 2}.get(node.attribute("direction", "forward"), 1)
        given = node.attribute("activations")
        if given and [item.lower() for item in given] != [item.lower() for item in ACTIVATIONS[kind]] * directions and not (
                kind == "RNN" and all(item in ("Relu", "Tanh") for item in given)):
            raise node.fail(f"its activations {', '.join(given)} are not there",
                            "PyTorch's are: " + ", ".join(ACTIVATIONS[kind]))
        for name in ("clip", "input_forget"):
            if node.attribute(name):
                raise node.fail(f"{name} is not there")
        if hidden is None:
            hidden = node.fixed(2, "hidden_size", 2)
        layout = node.attribute("layout", 0)
        x, w, r, b, lengths, h, c = (node[i] for i in range(7))
        extents = node.extents()
        peep = node[7] if kind == "LSTM" else None
        reset_behind = node.attribute("linear_before_reset", 0)
        dtype = x.dtype
        batch = extents[0 if layout else 1]
        zeros = call("torch.zeros", batch, hidden, dtype=None if dtype == "float32" else torch_dtype(dtype))
        x_time = method(x, "transpose", 0, 1) if layout else x
        if lengths is not None:
            raise_unless_full(node, lengths, extents[1 if layout else 0])
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
        module = None
        if peep is None and (kind != "GRU" or reset_behind) and node.attribute("direction", "forward") != "reverse" and (
                kind != "RNN" or not given or len(set(given)) == 1) and not (layout and h is not None):
            module = recurrent_module(node, kind, hidden, directions, layout, given, (w, r, b))
        if module is not None:
            return called_recurrent(node, kind, module, hidden, directions, layout, (x, h, c))
        results = []
        for d in range(directions):
            reverse = directions == 2 and d == 1 or node.attribute("direction", "forward") == "reverse"
            start = [None if s is None else subscript(s, ":", d) if layout else subscript(s, d) for s in (h, c)]
            arguments = [method(x_time, "flip", 0) if reverse else x_time, subscript(w, d), subscript(r, d),
                         subscript(b, d) if b is not None else call(
                             "torch.zeros", 2 * gates * hidden, dtype=None if dtype == "float32" else torch_dtype(dtype)),
                         start[0] if start[0] is not None else zeros]
            if kind == "LSTM":
                arguments.append(start[1] if start[1] is not None else zeros)
                arguments.append(subscript(peep, d) if peep is not None else call(
                    "torch.zeros", 3 * hidden, dtype=None if dtype == "float32" else torch_dtype(dtype)))
            if kind == "GRU":
                arguments.append(str(bool(reset_behind)))
            if kind == "RNN":
                arguments.append(str(bool(given and given[d] == "Relu")))
            result = call(node.helper(f"onnx_{kind.lower()}"), *arguments)
            results.append((node.graph.intermediate(node, result, kind.lower()), reverse))
        made = []
        for i in range(3 if kind == "LSTM" else 2):
            parts = []
            for result, reverse in results:
                part = subscript(result, i)
                if i == 0 and reverse:
                    part = method(part, "flip", 0)
                parts.append(part)
            joined = call("torch.stack", parts, dim=1 if i == 0 else 0)
            if layout:
                joined = method(joined, "permute", 2, 0, 1, 3) if i == 0 else method(joined, "transpose", 0, 1)
            made.append(joined if node.has_output(i) else None)
        return made
    return row


# Blocks of PyTorch's gates among those of ONNX.
GATES = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}


def recurrent_module(node, kind, hidden, directions, layout, given, parameters):
    """The layer of torch.nn with these parameters, or None."""
    w, r, b = parameters
    if any(value is not None and value.known is None for value in parameters):
        return None
    order = [row for gate in GATES[kind] for row in range(gate * hidden, (gate + 1) * hidden)]
    tensors = []
    for d in range(directions):
        tail = "_l0_reverse" if d else "_l0"
        tensors += [("weight_ih" + tail, w, w.known[d][order]), ("weight_hh" + tail, r, r.known[d][order])]
        if b is not None:
            half = b.known.shape[1] // 2
            tensors += [("bias_ih" + tail, b, b.known[d][:half][order]), ("bias_hh" + tail, b, b.known[d][half:][order])]
    text = f"{w.shape[2]}, {hidden}"
    if kind == "RNN" and given and given[0] == "Relu":
        text += ", nonlinearity='relu'"
    text += ("" if b is not None else ", bias=False") + (", batch_first=True" if layout else "")
    return node.module(kind, text + (", bidirectional=True" if directions == 2 else ""), tensors)


def called_recurrent(node, kind, module, hidden, directions, layout, operands):
    """The results of a layer of torch.nn in ONNX's order of dimensions."""
    x, h, c = operands
    pieces = [(module, 9), "(", (x, -1)]
    if kind == "LSTM" and (h is not None or c is not None):
        start = [value if value is not None else call("torch.zeros_like", h if h is not None else c) for value in (h, c)]
        pieces += [", (", (start[0], -1), ", ", (start[1], -1), ")"]
    elif h is not None:
        pieces += [", ", (h, -1)]
    made = node.graph.intermediate(node, Expr(pieces + [")"]), kind.lower())
    y, last = subscript(made, 0), subscript(made, 1)
    if directions == 1:
        y = method(y, "unsqueeze", 2 if layout else 1)
    else:
        y = method(y, "unflatten", -1, f"({directions}, {hidden})")
        y = y if layout else method(y, "transpose", 1, 2)
    states = [subscript(last, 0), subscript(last, 1)] if kind == "LSTM" else [last]
    states = [method(state, "transpose", 0, 1) for state in states] if layout else states
    return [part if node.has_output(i) else None for i, part in enumerate([y, *states])]


def raise_unless_full(node, lengths, steps):
    if lengths.known is None or not (lengths.known == steps).all():
        raise node.fail("sequence_lens that differ from the number of steps are not there")


def mean_variance(node):
    axes = node.attribute("axes") or [0, 2, 3]
    text = "(" + ", ".join(map(str, axes)) + ("," if len(axes) == 1 else "") + ")"
    centred = binary(node[0], "-", method(node[0], "mean", text, keepdim="True"))
    spread = call("torch.sqrt", method(node[0], "var", text, unbiased="False", keepdim="True"))
    return binary(centred, "/", binary(spread, "+", numpy.float32(1e-9)))


OPERATORS = {
    **{op: unary_call(name) for op, name in {
        "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
        "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor", "Log": "log",
        "Not": "logical_not", "Reciprocal": "reciprocal", "Round": "round", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
        "Sqrt": "sqrt", "Tan": "tan", "IsNaN": "isnan", "BitwiseNot": "bitwise_not"}.items()},
    **{op: unary_call(name, layer) for op, name, layer in (
        ("Relu", "F.relu", "ReLU"), ("Sigmoid", "sigmoid", "Sigmoid"), ("Tanh", "tanh", "Tanh"),
        ("Softplus", "F.softplus", "Softplus"), ("Softsign", "F.softsign", "Softsign"), ("Mish", "F.mish", "Mish"),
        ("HardSwish", "F.hardswish", "Hardswish"))},
    **{op: binary_row(symbol) for op, symbol in {
        "Add": "+", "Sub": "-", "Mul": "*", "Equal": "==", "Greater": ">", "Less": "<", "GreaterOrEqual": ">=",
        "LessOrEqual": "<=", "And": "&", "Or": "|", "Xor": "^", "BitwiseAnd": "&", "BitwiseOr": "|",
        "BitwiseXor": "^"}.items()},
    "Neg": lambda node: unary("-", node[0]), "Identity": lambda node: node[0],
    "Div": divide, "Pow": power, "Mod": modulo, "BitShift": bit_shift, "Max": variadic("torch.maximum"),
    "Min": variadic("torch.minimum"), "Sum": variadic(None, "+"), "Mean": mean, "Elu": elu, "Celu": celu, "Selu": selu,
    "LeakyRelu": leaky_relu, "PRelu": prelu, "HardSigmoid": hard_sigmoid, "ThresholdedRelu": thresholded_relu,
    "Shrink": shrink, "Gelu": gelu, "Swish": swish, "Clip": clip, "IsInf": is_inf, "Cast": cast, "CastLike": cast_like,
    "Where": where, "MatMul": matmul, "Gemm": gemm, "Einsum": einsum, "Conv": convolution,
    "ConvTranspose": transposed_convolution, "MaxPool": max_pool, "AveragePool": average_pool,
    "GlobalAveragePool": global_pool("mean"), "GlobalMaxPool": global_pool("amax"), "GlobalLpPool": global_lp_pool,
    "LpPool": lp_pool, "MaxUnpool": max_unpool, "BatchNormalization": batch_norm, "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm, "RMSNormalization": rms_norm, "GroupNormalization": group_norm, "LRN": lrn,
    "LpNormalization": lp_norm, "MeanVarianceNormalization": mean_variance, "Softmax": softmax("softmax"),
    "LogSoftmax": softmax("log_softmax"), "Hardmax": softmax("hardmax"),
    **{op: reduce_row(kind) for op, kind in {
        "ReduceSum": "sum", "ReduceMean": "mean", "ReduceProd": "prod", "ReduceMax": "amax", "ReduceMin": "amin",
        "ReduceL1": "l1", "ReduceL2": "l2", "ReduceLogSum": "log_sum", "ReduceLogSumExp": "log_sum_exp",
        "ReduceSumSquare": "sum_square"}.items()},
    "ArgMax": arg_row("argmax"), "ArgMin": arg_row("argmin"), "CumSum": cumulative("cumsum"), "CumProd": cumulative("cumprod"),
    "TopK": top_k, "Reshape": reshape, "Flatten": flatten, "Transpose": transpose, "Squeeze": squeeze,
    "Unsqueeze": unsqueeze, "Concat": concat, "Split": split, "Slice": slice_, "Gather": gather,
    "GatherElements": gather_elements, "GatherND": gather_nd, "ScatterElements": scatter_elements,
    "Scatter": scatter_elements, "ScatterND": scatter_nd, "Expand": expand, "Tile": tile, "Pad": pad,
    "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth, "OneHot": one_hot, "Range": range_,
    "ConstantOfShape": constant_of_shape, "EyeLike": eye_like, "Trilu": trilu, "ReverseSequence": reverse_sequence,
    "Compress": compress, "Col2Im": col2im, "Dropout": dropout, "Resize": resize, "Upsample": resize,
    "GridSample": grid_sample, "AffineGrid": affine_grid, "RoiAlign": roi_align, "HannWindow": window_row("hann"),
    "HammingWindow": window_row("hamming"), "BlackmanWindow": window_row("blackman"), "Det": det,
    "NegativeLogLikelihoodLoss": nll_loss, "SoftmaxCrossEntropyLoss": softmax_loss,
    "BitCast": bit_cast, "DFT": dft, "STFT": stft, "CausalConvWithState": causal_conv, "TensorScatter": tensor_scatter,
    "RNN": recurrent("RNN"), "GRU": recurrent("GRU"), "LSTM": recurrent("LSTM"),
}

CONTROL = ("it has a graph of its own, which runs by values of tensors", "modc has no control flow at run time; "
           "where the condition or count is a constant, onnxsim or the exporter can write it out")
QUANTISED = ("modc has no quantised tensors yet", "export the model in float32")
SEQUENCES = ("it makes or takes a sequence, which modc does not have", "export with tensors alone")
STRINGS = ("it works on strings, which modc does not have", None)
RANDOM = ("its random numbers are not defined by ONNX", "give them to the model as an input")
BY_VALUE = ("the shape of its result depends on values of a tensor", None)

# Operators that modc does not have, with the reason and what to do.
REFUSED = {
    **dict.fromkeys(("If", "Loop", "Scan", "SequenceMap"), CONTROL),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
                     "ConvInteger", "MatMulInteger"), QUANTISED),
    **dict.fromkeys(("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
                     "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement"),
                    SEQUENCES),
    **dict.fromkeys(("StringConcat", "StringSplit", "StringNormalizer", "RegexFullMatch", "TfIdfVectorizer"), STRINGS),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"),
                    RANDOM),
    **dict.fromkeys(("NonZero", "Unique", "NonMaxSuppression"), BY_VALUE),
    "ImageDecoder": ("it decodes files, which no tensor operation does", "decode images before the model"),
}
