"""Quantised .tflite files: of the layers of four networks, and of drawn operators. Needs ai-edge-litert, flatbuffers and NumPy."""
import functools
import math

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema

NONE, RELU, RELU_N1_TO_1, RELU6 = range(4)
SAME, VALID = range(2)
TYPES = {"float32": 0, "int32": 2, "uint8": 3, "int8": 9}


def options_of(name, **values):
    made = getattr(schema, name + "T")()
    for key, value in values.items():
        assert hasattr(made, key), (name, key)
        setattr(made, key, value)
    return made


class Builder:
    """One subgraph; tensors are their places. draw: a numpy Generator. trained: quantised as a converter would, so that
    what is behind a RELU has the zero point -128, and behind a RELU6 the scale 6/255."""

    def __init__(self, draw, trained=False):
        self.draw, self.trained = draw, trained
        self.tensors, self.buffers, self.operators, self.codes = [], [schema.BufferT()], [], []
        self.inputs, self.outputs = [], []

    def tensor(self, shape, scale=None, zero=0, dtype="int8", data=None, axis=0, name=None):
        made = schema.TensorT()
        made.shape, made.type, made.name = list(shape), TYPES[dtype], name or f"net/t{len(self.tensors)}"
        made.buffer = 0
        if scale is not None:
            quantised = schema.QuantizationParametersT()
            scales = numpy.atleast_1d(numpy.float32(scale))
            quantised.scale = scales
            quantised.zeroPoint = numpy.full(len(scales), zero, numpy.int64)
            quantised.quantizedDimension = axis
            made.quantization = quantised
        self.tensors.append(made)
        if data is not None:
            self.hold(len(self.tensors) - 1, data, dtype)
        return len(self.tensors) - 1

    def hold(self, tensor, data, dtype="int8"):
        """Makes a constant of a tensor."""
        held = schema.BufferT()
        held.data = numpy.frombuffer(numpy.ascontiguousarray(data, dtype).tobytes(), numpy.uint8)
        self.tensors[tensor].buffer = len(self.buffers)
        self.buffers.append(held)

    def scale(self, tensor):
        return float(self.tensors[tensor].quantization.scale[0])

    def shape(self, tensor):
        return tuple(self.tensors[tensor].shape)

    def op(self, kind, inputs, output, options=None, **values):
        number = getattr(schema.BuiltinOperator, kind)
        if number not in self.codes:
            self.codes.append(number)
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = self.codes.index(number), list(inputs), [output]
        if options is not None:
            made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            made.builtinOptions = options_of(options, **values)
        self.operators.append(made)
        return output

    def input(self, shape, scale=0.02, zero=-3, dtype="int8", name=None):
        self.inputs.append(self.tensor(shape, None if dtype == "float32" else scale, zero, dtype, name=name))
        return self.inputs[-1]

    def bytes(self):
        graph = schema.SubGraphT()
        graph.tensors, graph.inputs, graph.outputs, graph.operators = self.tensors, self.inputs, self.outputs, self.operators
        graph.name = "main"
        model = schema.ModelT()
        model.version, model.subgraphs, model.buffers, model.description = 3, [graph], self.buffers, "drawn"
        model.operatorCodes = []
        for number in self.codes:
            code = schema.OperatorCodeT()
            code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), 1
            model.operatorCodes.append(code)
        packer = flatbuffers.Builder(1 << 16)
        packer.Finish(model.Pack(packer), b"TFL3")
        return bytes(packer.Output())

    # ---- layers with drawn weights: the scale of what they give is such that most bytes are used

    def any_scale(self):
        return float(numpy.float32(math.exp(self.draw.uniform(-7, 0))))

    def any_zero(self):
        return int(self.draw.integers(-128, 128))

    def weight_scales(self, source, products, activation, count):
        """Scales of weights, and the scale and zero point of sums of so many products, of which most bytes occur."""
        scales = numpy.float32(numpy.exp(self.draw.uniform(-7, -4, count)))
        spread = self.scale(source) * float(scales.mean()) * 74 * math.sqrt(products)
        wanted = {NONE: 0.05, RELU6: 6 / 255}.get(activation, spread) if self.trained else spread
        scales = scales * numpy.float32(wanted / spread)
        return scales, wanted, -128 if self.trained and activation else self.any_zero()

    def conv(self, source, cout, kernel=(3, 3), strides=(1, 1), padding=SAME, activation=RELU, dilations=(1, 1), groups=1, depthwise=0,
             bias=True, one_scale=False):
        batch, rows, columns, cin = self.shape(source)
        cout = cin * depthwise if depthwise else cout
        count = kernel[0] * kernel[1] * (1 if depthwise else cin // groups)
        weight = self.draw.integers(-127, 128, (1, *kernel, cout) if depthwise else (cout, *kernel, cin // groups))
        scales, spread, zero = self.weight_scales(source, count, activation, 1 if one_scale else cout)
        weights = self.tensor(weight.shape, scales, 0, data=weight, axis=3 if depthwise else 0)
        given = [source, weights]
        if bias:
            values = self.draw.integers(-3000, 3000, cout)
            given.append(self.tensor((cout,), numpy.float32(self.scale(source)) * scales, 0, "int32", values))
        extents = [-(-extent // stride) if padding == SAME else (extent - (size - 1) * dilation - 1) // stride + 1
                   for extent, size, stride, dilation in zip((rows, columns), kernel, strides, dilations)]
        out = self.tensor((batch, *extents, cout), spread, zero)
        values = {"padding": padding, "strideH": strides[0], "strideW": strides[1], "fusedActivationFunction": activation,
                  "dilationHFactor": dilations[0], "dilationWFactor": dilations[1]}
        if depthwise:
            return self.op("DEPTHWISE_CONV_2D", given, out, "DepthwiseConv2DOptions", depthMultiplier=depthwise, **values)
        return self.op("CONV_2D", given, out, "Conv2DOptions", **values)

    def linear(self, source, fout, activation=NONE, bias=True, by_channel=False, weight_zero=0, keep=False):
        shape = self.shape(source)
        fin = shape[-1] if keep or len(shape) == 2 else math.prod(shape[1:])
        weight = self.draw.integers(-127, 128, (fout, fin))
        scales, spread, zero = self.weight_scales(source, fin, activation, fout if by_channel else 1)
        given = [source, self.tensor((fout, fin), scales, weight_zero, data=weight)]
        if bias:
            product = numpy.float32(self.scale(source)) * scales
            given.append(self.tensor((fout,), product, 0, "int32", self.draw.integers(-3000, 3000, fout)))
        out = self.tensor((*shape[:-1], fout) if keep else (math.prod(shape) // fin, fout), spread, zero)
        return self.op("FULLY_CONNECTED", given, out, "FullyConnectedOptions", fusedActivationFunction=activation, keepNumDims=keep)

    def add(self, a, b, activation=NONE, kind="ADD"):
        shape = numpy.broadcast_shapes(self.shape(a), self.shape(b))
        if kind == "ADD":
            scale = math.hypot(self.scale(a), self.scale(b)) * self.draw.uniform(0.3, 2)
        else:
            scale = self.scale(a) * self.scale(b) * 60 * self.draw.uniform(0.3, 2)
        out = self.tensor(shape, scale, -128 if self.trained and activation else self.any_zero())
        return self.op(kind, [a, b], out, "AddOptions" if kind == "ADD" else "MulOptions", fusedActivationFunction=activation)

    def pool(self, source, kernel, strides=None, padding=VALID, activation=NONE, kind="AVERAGE_POOL_2D"):
        batch, rows, columns, channels = self.shape(source)
        strides = strides or kernel
        extents = [-(-extent // stride) if padding == SAME else (extent - size) // stride + 1
                   for extent, size, stride in zip((rows, columns), kernel, strides)]
        out = self.like(source, (batch, *extents, channels))
        return self.op(kind, [source], out, "Pool2DOptions", padding=padding, strideH=strides[0], strideW=strides[1],
                       filterHeight=kernel[0], filterWidth=kernel[1], fusedActivationFunction=activation)

    def like(self, source, shape):
        quantised = self.tensors[source].quantization
        return self.tensor(shape, quantised.scale[0], int(quantised.zeroPoint[0]))

    def numbers(self, *values):
        return self.tensor((len(values),), None, 0, "int32", numpy.array(values))

    def mean(self, source, axes, keep=False, scale=1.0):
        shape = self.shape(source)
        left = [1 if axis in axes else extent for axis, extent in enumerate(shape) if keep or axis not in axes]
        out = self.tensor(left, self.scale(source) * scale, self.any_zero())
        return self.op("MEAN", [source, self.numbers(*axes)], out, "ReducerOptions", keepDims=keep)

    def reshape(self, source, shape):
        return self.op("RESHAPE", [source, self.numbers(*shape)], self.like(source, shape), "ReshapeOptions",
                       newShape=list(shape))

    def softmax(self, source, beta=1.0):
        return self.op("SOFTMAX", [source], self.tensor(self.shape(source), 1 / 256, -128), "SoftmaxOptions", beta=beta)

    def function(self, kind, source, scale, zero, options=None, **values):
        return self.op(kind, [source], self.tensor(self.shape(source), scale, zero), options, **values)


def finished(net, h, wide, classes, softmax):
    """What follows the last image: its average, a dense layer, and a softmax, where it is wanted."""
    h = net.pool(h, net.shape(h)[1:3])
    h = net.linear(net.reshape(h, (1, wide)), classes)
    net.outputs = [net.softmax(h), h] if softmax else [h]
    return net


def autoencoder(draw, wide=64, widths=(32, 32, 8, 32)):
    """Of MLPerf Tiny's AD: dense layers with one scale each."""
    net = Builder(draw, trained=True)
    h = net.input((1, wide), 0.4, 5, name="serving_default_input_1:0")
    for fout in widths:
        h = net.linear(h, fout, RELU)
    net.outputs = [net.linear(h, wide)]
    return net


def ds_cnn(draw, wide=16, blocks=2, softmax=True):
    """Of KWS: a convolution of 10 x 4, blocks of depthwise and pointwise ones, average pooling, softmax."""
    net = Builder(draw, trained=True)
    h = net.reshape(net.input((1, 490), 0.58, 83, name="input_1"), (1, 49, 10, 1))
    h = net.conv(h, wide, (10, 4), (2, 2))
    for _ in range(blocks):
        h = net.conv(net.conv(h, 0, depthwise=1), wide, (1, 1))
    return finished(net, h, wide, 12, softmax)


def resnet(draw, side=16, widths=(8, 16), softmax=True):
    """Of IC: residual blocks, of which those behind the first are strided and have a convolution beside them."""
    net = Builder(draw, trained=True)
    h = net.conv(net.input((1, side, side, 3), 1.0, -128, name="input_1_int8"), widths[0])
    h = net.add(h, net.conv(net.conv(h, widths[0]), widths[0], activation=NONE), RELU)
    for cout in widths[1:]:
        beside = net.conv(h, cout, (1, 1), (2, 2), activation=NONE)
        h = net.add(beside, net.conv(net.conv(h, cout, strides=(2, 2)), cout, activation=NONE), RELU)
    return finished(net, h, widths[-1], 10, softmax)


def mobilenet(draw, side=24, blocks=((16, 1), (24, 2), (24, 1), (32, 2)), softmax=True):
    """Of VWW: strided convolutions whose zeros are not the same on both sides, RELU6."""
    net = Builder(draw, trained=True)
    h = net.conv(net.input((1, side, side, 3), 1 / 255, -128, name="input:0"), 8, strides=(2, 2), activation=RELU6)
    for cout, stride in blocks:
        h = net.conv(h, 0, depthwise=1, strides=(stride, stride), activation=RELU6)
        h = net.conv(h, cout, (1, 1), activation=RELU6)
    return finished(net, h, blocks[-1][0], 2, softmax)


NETWORKS = {"autoencoder": autoencoder, "ds_cnn": ds_cnn, "resnet": resnet, "mobilenet": mobilenet}
# The same at MLPerf Tiny's own sizes, without a softmax, for bench/chip.
FULL = {"ad": functools.partial(autoencoder, wide=640, widths=(128, 128, 128, 128, 8, 128, 128, 128, 128)),
        "kws": functools.partial(ds_cnn, wide=64, blocks=4, softmax=False),
        "ic": functools.partial(resnet, side=32, widths=(16, 32, 64), softmax=False),
        "vww": functools.partial(mobilenet, side=96, softmax=False, blocks=(
            (16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)))}


# ---- drawn operators: functions of a Builder that add one with its inputs and outputs

def pick(net, *items):
    return items[int(net.draw.integers(len(items)))]


def image(net, batch=None):
    draw = net.draw
    shape = (batch or pick(net, 1, 2), *(int(draw.integers(5, 10)) for _ in range(2)), int(draw.integers(1, 6)))
    return net.input(shape, net.any_scale(), net.any_zero())


def activation(net):
    return pick(net, NONE, RELU, RELU_N1_TO_1, RELU6)


def drawn_conv(net):
    source = image(net)
    kernel = pick(net, (1, 1), (3, 3), (2, 3), (5, 1))
    groups, cout = 1, int(net.draw.integers(1, 7))
    if net.shape(source)[3] % 2 == 0 and net.draw.random() < 0.3:
        groups, cout = 2, 4
    dilations = pick(net, (1, 1), (1, 1), (2, 1)) if kernel != (5, 1) else (1, 1)
    strides = (1, 1) if dilations != (1, 1) else pick(net, (1, 1), (2, 2), (1, 2), (3, 1))
    net.outputs.append(net.conv(source, cout, kernel, strides, pick(net, SAME, VALID), activation(net), dilations, groups,
                                bias=net.draw.random() < 0.8, one_scale=net.draw.random() < 0.2))


def drawn_depthwise(net):
    source, dilations = image(net), pick(net, (1, 1), (1, 1), (1, 1), (2, 2), (1, 2))
    kernel = pick(net, (3, 3), (2, 3), (1, 1), (5, 1)) if dilations == (1, 1) else (3, 2)
    strides = pick(net, (1, 1), (2, 2), (1, 1)) if dilations == (1, 1) else (1, 1)
    net.outputs.append(net.conv(source, 0, kernel, strides, pick(net, SAME, VALID), activation(net), dilations,
                                depthwise=pick(net, 1, 1, 2, 3), bias=net.draw.random() < 0.8))


def drawn_linear(net):
    keep = net.draw.random() < 0.3
    shape = (2, 3, 7) if keep else pick(net, (1, 9), (4, 33), (2, 3, 3, 2))
    by_channel = net.draw.random() < 0.4
    source = net.input(shape, net.any_scale(), net.any_zero())
    net.outputs.append(net.linear(source, int(net.draw.integers(1, 9)), activation(net), net.draw.random() < 0.8, by_channel,
                                  0 if by_channel or net.draw.random() < 0.7 else net.any_zero(), keep))


def drawn_pair(kind):
    def drawn(net):
        shapes = pick(net, ((2, 4, 3, 5), (2, 4, 3, 5)), ((2, 4, 3, 5), (5,)), ((1, 1, 1, 5), (2, 4, 3, 5)), ((3, 6), (3, 1)))
        a = net.input(shapes[0], net.any_scale(), net.any_zero())
        if net.draw.random() < 0.3:
            b = net.tensor(shapes[1], net.any_scale(), net.any_zero(), data=net.draw.integers(-128, 128, shapes[1]))
        else:
            b = net.input(shapes[1], net.any_scale(), net.any_zero())
        net.outputs.append(net.add(a, b, activation(net), kind))
    return drawn


def drawn_pool(kind):
    def drawn(net):
        net.outputs.append(net.pool(image(net), pick(net, (2, 2), (3, 3), (2, 5), (1, 4), (5, 5)),
                                    pick(net, (1, 1), (2, 2), (3, 2)), pick(net, SAME, VALID), activation(net), kind))
    return drawn


def drawn_mean(net):
    source = image(net)
    axes = pick(net, (1, 2), (1, 2), (2, 1), (3,), (1,), (0,), (2, 3))
    scale = 1.0 if net.draw.random() < 0.3 else net.draw.uniform(0.1, 2)
    net.outputs.append(net.mean(source, axes, net.draw.random() < 0.5, scale))


def drawn_softmax(net):
    shape = pick(net, (1, 10), (4, 3), (2, 3, 40), (3, 1), (1, 511))
    source = net.input(shape, net.any_scale() * pick(net, 1, 8), net.any_zero())
    net.outputs.append(net.softmax(source, pick(net, 1.0, 1.0, 0.5, 2.0)))


def every_byte(net):
    return net.input((1, 256), net.any_scale(), net.any_zero())


def drawn_function(kind, scale=None, zero=None, options=None, **values):
    def drawn(net):
        source = every_byte(net)
        target = scale if scale is not None else net.scale(source) * net.draw.uniform(0.5, 4)
        numbers = {key: item(net) if callable(item) else item for key, item in values.items()}
        net.outputs.append(net.function(kind, source, target, net.any_zero() if zero is None else zero, options, **numbers))
    return drawn


def drawn_relu6(net):
    source = every_byte(net)
    net.outputs.append(net.op("RELU6", [source], net.like(source, net.shape(source))))


def drawn_quantize(net):
    given, made = pick(net, ("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("float32", "int8"))
    zero = net.any_zero()
    source = net.input((1, 256), net.any_scale(), zero + 128 if given == "uint8" else zero, given)
    scale = net.any_scale() if given == "float32" else net.scale(source) * net.draw.uniform(0.3, 3)
    if {given, made} == {"int8", "uint8"} and net.draw.random() < 0.5:
        scale = net.scale(source)
    zero = net.any_zero()
    out = net.tensor(net.shape(source), scale, zero + 128 if made == "uint8" else zero, made)
    net.outputs.append(net.op("QUANTIZE", [source], out, "QuantizeOptions"))


def drawn_dequantize(net):
    source = every_byte(net)
    net.outputs.append(net.op("DEQUANTIZE", [source], net.tensor(net.shape(source), None, 0, "float32"), "DequantizeOptions"))


def drawn_moves(net):
    """PAD, TRANSPOSE, STRIDED_SLICE, CONCATENATION, one behind the other."""
    h = image(net)
    steps = [(0, 0), *(tuple(int(step) for step in net.draw.integers(0, 3, 2)) for _ in range(3))]
    shape = [extent + sum(step) for extent, step in zip(net.shape(h), steps)]
    paddings = net.tensor((4, 2), None, 0, "int32", numpy.array(steps))
    if net.draw.random() < 0.5:
        h = net.op("PAD", [h, paddings], net.like(h, shape), "PadOptions")
    else:
        value = net.like(h, (1,))
        net.hold(value, net.draw.integers(-128, 128, 1))
        h = net.op("PADV2", [h, paddings, value], net.like(h, shape), "PadV2Options")
    order = [int(axis) for axis in net.draw.permutation(4)]
    h = net.op("TRANSPOSE", [h, net.numbers(*order)], net.like(h, [shape[axis] for axis in order]), "TransposeOptions")
    shape = net.shape(h)
    first = [int(net.draw.integers(0, extent)) for extent in shape]
    last = [int(net.draw.integers(begin + 1, extent + 1)) for begin, extent in zip(first, shape)]
    strides = [int(step) for step in net.draw.integers(1, 3, 4)]
    shrunk = int(net.draw.integers(4)) if net.draw.random() < 0.5 else None
    left = [-(-(end - begin) // step) for begin, end, step in zip(first, last, strides)]
    if shrunk is not None:
        del left[shrunk]
    masked = 1 << int(net.draw.integers(4))
    if net.draw.random() < 0.5 and shrunk is None:  # begin_mask: from 0 on
        axis = masked.bit_length() - 1
        left[axis] = -(-last[axis] // strides[axis])
    else:
        masked = 0
    part = net.op("STRIDED_SLICE", [h, net.numbers(*first), net.numbers(*last), net.numbers(*strides)], net.like(h, left),
                  "StridedSliceOptions", beginMask=masked, shrinkAxisMask=0 if shrunk is None else 1 << shrunk)
    axis = int(net.draw.integers(len(left)))
    both = list(left)
    both[axis] *= 2
    net.outputs += [net.op("CONCATENATION", [part, part], net.like(part, both), "ConcatenationOptions", axis=axis), h]


DRAWN = {
    "CONV_2D": drawn_conv, "DEPTHWISE_CONV_2D": drawn_depthwise, "FULLY_CONNECTED": drawn_linear, "ADD": drawn_pair("ADD"),
    "MUL": drawn_pair("MUL"), "AVERAGE_POOL_2D": drawn_pool("AVERAGE_POOL_2D"), "MAX_POOL_2D": drawn_pool("MAX_POOL_2D"),
    "MEAN": drawn_mean, "SOFTMAX": drawn_softmax, "LOGISTIC": drawn_function("LOGISTIC", 1 / 256, -128),
    "TANH": drawn_function("TANH", 1 / 128, 0), "RELU": drawn_function("RELU"), "RELU6": drawn_relu6,
    "LEAKY_RELU": drawn_function("LEAKY_RELU", None, None, "LeakyReluOptions", alpha=lambda net: float(net.draw.uniform(-0.5, 1.5))),
    "HARD_SWISH": drawn_function("HARD_SWISH", None, None, "HardSwishOptions"),
    "QUANTIZE": drawn_quantize, "DEQUANTIZE": drawn_dequantize, "MOVES": drawn_moves,
}


def operators(draw):
    """Two of each, in one file."""
    net = Builder(draw)
    for drawn in (*DRAWN.values(), *DRAWN.values()):
        drawn(net)
    return net
