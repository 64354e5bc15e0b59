#!/usr/bin/env python3
"""Networks of float32 with `activations: calibrated`: are they the bits that TensorFlow Lite Micro computes of the same integers?

    python3 tests/oracle/calibrated.py random --modc build/modc --count 40   # drawn networks; --seed 7, --flags "-O0 -march=native"
    python3 tests/oracle/calibrated.py make --modc build/modc               # writes tests/calibrated: one of all layers, and digits

A network is drawn as a spec with weights, and `modc quantize --ranges` measures it. The file that tflite-micro runs is made of those
ranges and weights here, by the formulas of docs/language.md, and has nothing of what modc computes from them. Needs tflite-micro
and ai-edge-litert, as tflite.py does.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "python")]

from modc._files import read_safetensors, safetensors_bytes  # noqa: E402
from tflite import outputs_of  # noqa: E402
from tflite_models import NONE, RELU, RELU6, SAME, VALID, Builder  # noqa: E402

F32 = numpy.float32
FOLDER = ROOT / "tests" / "calibrated"
ACTIVATIONS = {NONE: None, RELU: "ReLU()", RELU6: "ReLU6()"}


def arrays_of(path):
    """The float32 tensors of a file."""
    records, _ = read_safetensors(path.read_bytes())
    return {name: numpy.frombuffer(record.data, F32).reshape(record.shape) for name, record in records.items()}


def away(x):
    """The nearest integers, of two the one further from 0."""
    whole = numpy.floor(numpy.abs(x))
    return numpy.copysign(whole + (numpy.abs(x) - whole >= 0.5), x)


def steps_of(least, most):
    """Scale and zero point of a range."""
    least, most = F32(min(least, 0)), F32(max(most, 0))
    scale = max(F32(F32(most - least) / F32(255)), F32(2.0 ** -23))
    return scale, int(min(127, max(-128, -128 - numpy.rint(F32(least / scale)))))


def quantized(x, scale, zero):
    return numpy.clip(away(x.astype(F32) / scale) + zero, -128, 127).astype(numpy.int8)


class Value:
    """shape: (batch, height, width, channels), or (batch, features). key: the input or module whose range it has."""

    def __init__(self, name, shape, key):
        self.name, self.shape, self.key = name, shape, key


class Net:
    """A spec that is drawn, and how the same is made for tflite-micro once ranges are known."""

    def __init__(self, draw, shape):
        self.draw, self.modules, self.forward, self.weights, self.recipe, self.count, self.bare = draw, [], [], {}, [], 0, False
        self.input = Value("x", shape, "x")

    def name(self, word):
        self.count += 1
        return f"{word}_{self.count}"

    def module(self, word, text):
        name = self.name(word)
        self.modules.append(f"  {name}: {text}")
        return name

    def says(self, shape, key, text):
        value = Value(self.name("h"), shape, key)
        self.forward.append(f"  - {value.name} = {text}")
        return value

    def drawn(self, *shape, scale=1.0):
        return self.draw.normal(0, scale, shape).astype(F32)

    def activated(self, text, key, activation):
        """Behind a module or a sum, whose range is that of the activation then."""
        if not ACTIVATIONS[activation]:
            return text, key
        if self.bare:  # a function, which has no name: the range is what the next module is given
            return f"F.{'relu' if activation == RELU else 'relu6'}({text})", None
        key = self.module("act", ACTIVATIONS[activation])
        return f"{key}({text})", key

    # ---- layers ----

    def conv(self, source, cout, kernel=(3, 3), stride=1, padding=SAME, activation=RELU, groups=1, norm=False, bias=True):
        batch, rows, columns, cin = source.shape
        pads = tuple(size // 2 if padding == SAME else 0 for size in kernel)
        key = self.module("conv", f"Conv2d({cin}, {cout}, ({kernel[0]}, {kernel[1]}), {stride}, ({pads[0]}, {pads[1]}), "
                          f"groups={groups}, bias={bias})")
        source.key = source.key or f"{key}:input"
        weight = self.drawn(cout, cin // groups, *kernel, scale=(cin // groups * kernel[0] * kernel[1]) ** -0.5)
        weight[self.draw.integers(cout)] *= F32(self.draw.choice([0, 1, 1, 0.01]))
        values = self.drawn(cout, scale=0.3) if bias else None
        self.weights[f"{key}.weight"] = weight
        if bias:
            self.weights[f"{key}.bias"] = values
        text = f"{key}({source.name})"
        if norm:  # of powers of two: folding rounds nothing
            key = self.module("bn", f"BatchNorm2d({cout}, eps=0.0)")
            gain = (self.draw.choice([-1, 1, 1], cout) * 2.0 ** self.draw.integers(-1, 2, cout)).astype(F32)
            var = (4.0 ** self.draw.integers(-1, 2, cout)).astype(F32)
            mean, shift = (self.draw.integers(-64, 65, (2, cout)) / 64).astype(F32)
            self.weights |= {f"{key}.weight": gain, f"{key}.bias": shift, f"{key}.running_mean": mean, f"{key}.running_var": var,
                             f"{key}.num_batches_tracked": numpy.array(0, numpy.int64)}
            factor = gain / numpy.sqrt(var)
            weight = weight * factor[:, None, None, None]
            values = (values * factor if bias else F32(0)) + (shift - mean * factor)
            text = f"{key}({text})"
        text, key = self.activated(text, key, activation)
        extents = [(extent + 2 * pad - size) // stride + 1 for extent, pad, size in zip((rows, columns), pads, kernel)]
        out = self.says((batch, *extents, cout), key, text)
        self.recipe.append(lambda net, made: self.make_conv(net, made, source, out, weight, values, stride, padding, activation, groups))
        return out

    def linear(self, source, fout, activation=NONE, bias=True):
        key = self.module("fc", f"Linear({source.shape[-1]}, {fout}, bias={bias})")
        source.key = source.key or f"{key}:input"
        weight, values = self.drawn(fout, source.shape[-1], scale=source.shape[-1] ** -0.5), self.drawn(fout, scale=0.3) if bias else None
        self.weights[f"{key}.weight"] = weight
        if bias:
            self.weights[f"{key}.bias"] = values
        text, key = self.activated(f"{key}({source.name})", key, activation)
        out = self.says((*source.shape[:-1], fout), key, text)
        self.recipe.append(lambda net, made: self.make_linear(net, made, source, out, weight, values, activation))
        return out

    def pair(self, a, b, sign="+", activation=RELU):
        key = self.module("id", "Identity()") if activation == NONE else self.module("act", ACTIVATIONS[activation])
        out = self.says(a.shape, key, f"{key}({a.name} {sign} {b.name})")
        kind = "ADD" if sign == "+" else "MUL"
        self.recipe.append(lambda net, made: net.op(kind, [made[a.name], made[b.name]], self.tensor(net, made, out),
                                                    "AddOptions" if kind == "ADD" else "MulOptions", fusedActivationFunction=activation))
        return out

    def cat(self, *parts):
        key = self.module("id", "Identity()")
        shape = (*parts[0].shape[:-1], sum(part.shape[-1] for part in parts))
        out = self.says(shape, key, f"{key}(torch.cat([{', '.join(part.name for part in parts)}], 1))")

        def make(net, made):
            scale, zero = self.steps[key]
            again = [net.op("QUANTIZE", [made[part.name]], net.tensor(part.shape, scale, zero)) for part in parts]
            net.op("CONCATENATION", again, self.tensor(net, made, out), "ConcatenationOptions", axis=3)
        self.recipe.append(make)
        return out

    def relu(self, source):
        """Of what has a range of its own."""
        key = self.module("act", "ReLU()")
        out = self.says(source.shape, key, f"{key}({source.name})")
        self.recipe.append(lambda net, made: net.op("RELU", [made[source.name]], self.tensor(net, made, out)))
        return out

    def pool(self, source, size, stride, kind, module=True):
        batch, rows, columns, channels = source.shape
        shape = (batch, (rows - size) // stride + 1, (columns - size) // stride + 1, channels)
        if module:
            key = self.module("pool", f"{'MaxPool2d' if kind == 'MAX_POOL_2D' else 'AvgPool2d'}({size}, {stride})")
            out = self.says(shape, source.key, f"{key}({source.name})")
        else:
            word = "max" if kind == "MAX_POOL_2D" else "avg"
            out = self.says(shape, source.key, f"F.{word}_pool2d({source.name}, {size}, {stride})")
        self.recipe.append(lambda net, made: net.op(kind, [made[source.name]], self.tensor(net, made, out), "Pool2DOptions", padding=VALID,
                                                    strideH=stride, strideW=stride, filterHeight=size, filterWidth=size))
        return out

    def mean(self, source):
        key = None if self.bare else self.module("mean", "AdaptiveAvgPool2d(1)")
        text = f"{source.name}.mean((2, 3))" if self.bare else f"{key}({source.name}).flatten(1)"
        out = self.says((source.shape[0], source.shape[-1]), key, text)
        self.recipe.append(lambda net, made: net.op("MEAN", [made[source.name], net.numbers(1, 2)], self.tensor(net, made, out),
                                                    "ReducerOptions", keepDims=False))
        return out

    # ---- the same for tflite-micro ----

    def tensor(self, net, made, value):
        scale, zero = self.steps[value.key]
        made[value.name] = net.tensor(value.shape, scale, zero)
        return made[value.name]

    def rounded(self, net, made, source, weight, values, axis=0):
        """The operands of a product of the weight (oc, ...), whose channels lie along `axis` of what is written."""
        scale = self.steps[source.key][0]
        scales = numpy.abs(weight).reshape(len(weight), -1).max(1) / F32(127)
        if values is not None:
            scales = numpy.maximum(scales, numpy.abs(values) * F32(2.0 ** -30 / float(scale)))
        scales = numpy.maximum(scales, F32(2.0 ** -60)).astype(F32)
        whole = numpy.clip(away(weight / scales.reshape(-1, *[1] * (weight.ndim - 1))), -127, 127).astype(numpy.int8)
        if weight.ndim == 4:
            whole = whole.transpose(1, 2, 3, 0) if axis == 3 else whole.transpose(0, 2, 3, 1)
        given = [made[source.name], net.tensor(whole.shape, scales, 0, data=whole, axis=axis)]
        if values is not None:
            bias = away(values.astype(float) / (scales.astype(float) * float(scale))).astype(numpy.int32)
            given.append(net.tensor(bias.shape, scales * scale, 0, "int32", bias))
        return given

    def make_conv(self, net, made, source, out, weight, values, stride, padding, activation, groups):
        depthwise = groups > 1 and groups == source.shape[-1]
        given = self.rounded(net, made, source, weight, values, 3 if depthwise else 0)
        about = {"padding": padding, "strideH": stride, "strideW": stride, "fusedActivationFunction": activation}
        if depthwise:
            net.op("DEPTHWISE_CONV_2D", given, self.tensor(net, made, out), "DepthwiseConv2DOptions",
                   depthMultiplier=len(weight) // groups, **about)
        else:
            net.op("CONV_2D", given, self.tensor(net, made, out), "Conv2DOptions", **about)

    def make_linear(self, net, made, source, out, weight, values, activation):
        given = self.rounded(net, made, source, weight, values)
        net.op("FULLY_CONNECTED", given, self.tensor(net, made, out), "FullyConnectedOptions", fusedActivationFunction=activation,
               keepNumDims=len(source.shape) > 2)

    def tflite(self, outputs):
        net, made = Builder(self.draw), {}
        scale, zero = self.steps["x"]
        made["x"] = net.input(self.input.shape, scale, zero)
        for make in self.recipe:
            make(net, made)
        net.outputs = [made[value.name] for value in outputs]
        return net.bytes()

    # ---- the spec ----

    def spec(self, name, outputs):
        batch, *rest = self.input.shape
        shape = [batch, rest[-1], *rest[:-1]] if len(rest) == 3 else self.input.shape
        return "\n".join(["modc: 1", f"model: {name}", "activations: calibrated", f"ranges: {name}.ranges.safetensors",
                          f"inputs: {{x: {list(shape)}}}", "modules:", *self.modules, "forward:", *self.forward,
                          f"  - return {', '.join(value.name for value in outputs)}", ""])


def first(array):
    """Channels first, as PyTorch has images."""
    return numpy.ascontiguousarray(array.transpose(0, 3, 1, 2)) if array.ndim == 4 else array


def chosen(draw, *items):
    return items[draw.integers(len(items))]


def drawn_net(draw):
    side, channels = int(draw.integers(5, 14)), int(draw.integers(1, 9))
    net = Net(draw, (1, side, side + int(draw.integers(0, 3)), channels))
    h = net.input
    for _ in range(draw.integers(2, 6)):
        act, norm, bias = chosen(draw, NONE, RELU, RELU, RELU6), chosen(draw, False, True), chosen(draw, True, True, False)
        kind, wide = draw.integers(10), int(draw.integers(1, 21))
        small = min(h.shape[1:3]) < 3
        if kind <= 2:
            kernel = chosen(draw, (1, 1), (3, 3), (1, 3), (5, 1))
            valid = draw.integers(2) and min(h.shape[1:3]) >= max(kernel)
            h = net.conv(h, wide, kernel, int(draw.integers(1, 3)) if valid else 1, VALID if valid else SAME, act, 1, norm, bias)
        elif kind == 3:
            h = net.conv(h, h.shape[-1] * int(draw.integers(1, 3)), (3, 3), 1, SAME, act, h.shape[-1], norm, bias)
        elif kind == 4 and not small:
            h = net.pool(h, 2, int(draw.integers(1, 3)), chosen(draw, "MAX_POOL_2D", "AVERAGE_POOL_2D"), bool(draw.integers(2)))
            h = net.relu(h) if draw.integers(2) else h
        elif kind == 5:
            other = net.conv(h, h.shape[-1], (3, 3), 1, SAME, act, 1, norm, bias)
            h = net.pair(h, other, chosen(draw, "+", "+", "*"), chosen(draw, NONE, RELU, RELU6))
        elif kind == 6:
            h = net.cat(h, net.conv(h, wide, (1, 1), 1, SAME, act, 1, norm, bias))
        elif kind == 7:
            h = net.conv(h, wide, (1, 1), 1, SAME, NONE, 1, norm, bias)
            h = net.pair(h, net.relu(h), "+", NONE)
        elif kind == 8:
            net.bare = True
            h = net.conv(h, wide, (3, 3), 1, SAME, chosen(draw, RELU, RELU6), 1, norm, bias)
            net.bare = False
            h = net.conv(h, wide, (1, 1), 1, SAME, act, 1, norm, bias)
        else:
            a, b = (net.conv(h, wide, (3, 3), 1, SAME, NONE, 1, norm, bias) for _ in range(2))
            h = net.pair(a, b)
    image = h
    net.bare = bool(draw.integers(2))
    h = net.mean(h)
    net.bare = False
    h = net.linear(h, int(draw.integers(2, 12)), chosen(draw, NONE, RELU), bool(draw.integers(2)))
    return net, [net.linear(h, 5), image] if draw.integers(2) else [h]


def calibrate(modc, spec, folder, name, net, calls):
    """Writes the network's files; its ranges are those of the calls."""
    (folder / f"{name}.yaml").write_text(spec, encoding="utf-8")
    (folder / f"{name}.weights.safetensors").write_bytes(safetensors_bytes(net.weights))
    (folder / f"{name}.inputs.safetensors").write_bytes(safetensors_bytes({"x": first(numpy.concatenate(calls))}))
    run(modc, "quantize", folder / f"{name}.yaml", "--weights", folder / f"{name}.weights.safetensors", "--inputs",
        folder / f"{name}.inputs.safetensors", "--ranges", folder / f"{name}.ranges.safetensors")
    held = arrays_of(folder / f"{name}.ranges.safetensors")
    net.steps = {key: steps_of(*map(float, value)) for key, value in held.items()}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def wanted(net, outputs, calls):
    """The float32 numbers of each call, by output."""
    data = net.tflite(outputs)
    given = [[quantized(call, *net.steps["x"])] for call in calls]
    found = []
    for arrays in outputs_of(data, given):
        found.append([first((array.astype(numpy.int32) - net.steps[value.key][1]).astype(F32) * net.steps[value.key][0])
                      for array, value in zip(arrays, outputs)])
    return [numpy.concatenate(arrays) for arrays in zip(*found)]


def random(options):
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        draw = numpy.random.default_rng(seed)
        net, outputs = drawn_net(draw)
        calls = [draw.normal(0, 1.5, net.input.shape).astype(F32) for _ in range(4)]
        with tempfile.TemporaryDirectory(prefix="modc-") as work:
            folder, bad = Path(work), []
            calibrate(options.modc, net.spec("net", outputs), folder, "net", net, calls)
            calls[0] *= 3  # beyond the range
            want = wanted(net, outputs, calls)
            for index, call in enumerate(calls):
                (folder / "one.safetensors").write_bytes(safetensors_bytes({"x": first(call)}))
                run(options.modc, "run", folder / "net.yaml", "--weights", folder / "net.weights.safetensors", "--inputs",
                    folder / "one.safetensors", "--outputs", folder / "out.safetensors", "--keep", folder / "kept")
                have = arrays_of(folder / "out.safetensors")
                for value, expected in zip(outputs, want):
                    array = have[value.name if len(outputs) > 1 or value.name in have else "output"]
                    steps = numpy.abs(array - expected[index:index + 1]) / net.steps[value.key][0]
                    if steps.any():
                        bad.append(f"{value.name} of call {index}: {int((steps > 0).sum())} of {array.size}, by up to {steps.max():.0f} steps")
            if bad:
                failed += 1
                print(f"seed {seed}: {'; '.join(bad)}\n{net.spec('net', outputs)}", flush=True)
    print(f"{options.count - failed} of {options.count} networks have the same bits")
    return failed > 0


def all_layers(draw):
    net = Net(draw, (1, 12, 11, 3))
    h = net.conv(net.input, 8, norm=True)
    h = net.conv(h, 8, groups=8, norm=True, activation=RELU6)
    h = net.pair(h, net.conv(h, 8, (1, 1), activation=NONE, norm=True, bias=False))
    h = net.pool(h, 2, 2, "MAX_POOL_2D")
    h = net.cat(h, net.conv(h, 5, (1, 3), activation=NONE))
    h = net.relu(net.pool(h, 2, 1, "AVERAGE_POOL_2D", module=False))
    h = net.conv(h, 12, (3, 3), 2, VALID, activation=NONE)
    h = net.pair(h, net.relu(h), "*", NONE)
    image = h
    h = net.linear(net.mean(h), 9, RELU)
    return net, [net.linear(h, 4, bias=False), image]


def make(options):
    FOLDER.mkdir(exist_ok=True)
    draw = numpy.random.default_rng(26)
    net, outputs = all_layers(draw)
    calls = [draw.normal(0, 1.5, net.input.shape).astype(F32) for _ in range(6)]
    calibrate(options.modc, net.spec("layers", outputs), FOLDER, "layers", net, calls)
    text = (FOLDER / "layers.yaml").read_text().replace("inputs: {x: [1,", "sizes: {batch: 6}\ninputs: {x: [batch,")
    text = re.sub(r"return (\w+), (\w+)", r"return torch.cat([\1, \2.flatten(1)], 1)", text)
    (FOLDER / "layers.yaml").write_text("# Written by tests/oracle/calibrated.py make.\n" + text, encoding="utf-8")
    held = numpy.concatenate([array.reshape(len(calls), -1) for array in wanted(net, outputs, calls)], 1)
    (FOLDER / "layers.expect.safetensors").write_bytes(safetensors_bytes({"output": held}))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawn = commands.add_parser("random")
    drawn.add_argument("--count", type=int, default=20)
    drawn.add_argument("--seed", type=int, default=0)
    drawn.add_argument("--flags", default="-O0")
    written = commands.add_parser("make")
    for command in (drawn, written):
        command.add_argument("--modc", default=str(ROOT / "build" / "modc"))
    options = parser.parse_args()
    os.environ["CFLAGS"] = getattr(options, "flags", "-O1")
    sys.exit({"random": random, "make": make}[options.command](options))


if __name__ == "__main__":
    main()
