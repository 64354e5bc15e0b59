"""The layers that bench/sweep times: families of specs with one layer each."""
import dataclasses
import functools
import itertools
import re

TOLERANCE = 1e-4
LEAST = 0.97  # of every ratio; of the geometric mean of a family, 1
LEAST_CONTIGUOUS = 0.8  # of a product's, to the same one of contiguous operands together with copies that make them so
MOST_OFF = 2, 4  # how many times more or less than measured modc may think that a family takes in the median, and any shape
CHANNELS = {8: 64, 16: 56, 32: 56, 64: 56, 128: 28, 256: 14, 512: 7}  # with the sides of their images


@dataclasses.dataclass
class Point:
    """`what` is a module, or an expression in x."""
    family: str
    name: str
    shape: tuple
    what: str
    macs: float  # multiply-adds; of what is none, 0: then memory is the limit

    @property
    def file(self):
        return re.sub(r"\W+", "_", f"{self.family}_{self.name}")

    def text(self):
        shape = ", ".join(map(str, self.shape))
        body = f"modules: [{self.what}]" if self.what[0].isupper() else f"forward:\n  - return {self.what}"
        return f'modc: 1\nmodel: m\nhooks: none\n\ninputs:\n  x: [{shape}]\n\n{body}\n\neval: ["*"]\n'


@dataclasses.dataclass
class Product(Point):
    """A product of two operands, each a view of an input."""
    inputs: dict = dataclasses.field(default_factory=dict)
    copied: dict = dataclasses.field(default_factory=dict)  # by input: the view, contiguous; of one that is no view, None

    @staticmethod
    def spec(inputs, body):
        shapes = "".join(f"  {name}: [{', '.join(map(str, shape))}]\n" for name, shape in inputs.items())
        return f"modc: 1\nmodel: m\nhooks: none\n\ninputs:\n{shapes}\nforward:\n  - return {body}\n"

    def text(self):
        return self.spec(self.inputs, self.what)

    def contiguous(self):
        """The spec of the product of contiguous operands that also makes the copies."""
        batch, m, n, k = self.shape
        shared = self.name.startswith("shared")
        shapes = {"ca": (batch * m, k) if shared else (batch, m, k), "cb": (k, n) if shared else (batch, k, n)}
        copies = {name: view for name, view in self.copied.items() if view}
        product = "ca @ cb" if not shared else f"(ca @ cb).reshape({batch}, {m}, {n})"
        return self.spec({**shapes, **{name: self.inputs[name] for name in copies}},
                         ", ".join([product, *(f"{view}.contiguous()" for view in copies.values())]))


@dataclasses.dataclass
class Sampled(Point):
    """An expression in images x and a grid g."""

    def text(self):
        n, channels, *sides = self.shape
        shapes = "".join(f"  {name}: [{', '.join(map(str, shape))}]\n"
                         for name, shape in (("x", self.shape), ("g", (n, *sides, len(sides)))))
        return f"modc: 1\nmodel: m\nhooks: none\n\ninputs:\n{shapes}\nforward:\n  - return {self.what}\n"


# How an operand (batch, rows, columns) lies: the shape of the input, and the view of it.
LAYOUTS = {
    "rows": lambda x, batch, rows, columns: ((batch, rows, columns), x),
    "turned": lambda x, batch, rows, columns: ((batch, columns, rows), f"{x}.mT"),
    "chunk": lambda x, batch, rows, columns: ((batch, 3 * rows, columns), f"{x}[:, {rows}:{2 * rows}]"),
    "wide": lambda x, batch, rows, columns: ((batch, rows, 3 * columns), f"{x}[:, :, {columns}:{2 * columns}]"),
    "channels": lambda x, batch, rows, columns: ((batch, columns, 3 * rows), f"{x}[:, :, {rows}:{2 * rows}].mT"),
    "heads": lambda x, batch, rows, columns: ((rows, batch, columns), f"{x}.transpose(0, 1)"),
    "keys": lambda x, batch, rows, columns: ((columns, batch, rows), f"{x}.permute(1, 2, 0)"),
    "steps": lambda x, batch, rows, columns: ((batch, rows, 2 * columns), f"{x}[:, :, ::2]"),
    "shared": lambda x, batch, rows, columns: ((rows, columns), x),
}
PAIRS = (("rows", "rows"), ("turned", "rows"), ("rows", "turned"), ("turned", "turned"), ("channels", "turned"),
         ("chunk", "channels"), ("heads", "keys"), ("wide", "steps"), ("steps", "rows"), ("rows", "shared"), ("turned", "shared"))


def product():
    """(batch, rows, columns, inner length): vectors, few columns and rows, small batches, heads, odd and large ones."""
    shapes = ((1, 1, 64, 64), (1, 1, 1024, 1024), (1, 64, 1, 64), (1, 1024, 1, 1024), (1, 512, 3, 64), (1, 3, 512, 64),
              (1, 256, 256, 1), (1, 7, 5, 9), (1, 64, 64, 64), (1, 100, 100, 100), (1, 257, 129, 65), (1, 14, 512, 512),
              (1, 256, 256, 256), (1, 1024, 64, 1024), (1, 1023, 1023, 127), (256, 3, 3, 3), (64, 4, 4, 16), (32, 8, 8, 8),
              (16, 13, 17, 31), (8, 64, 64, 40), (8, 256, 40, 256), (8, 64, 256, 64), (8, 256, 256, 80), (2, 1024, 160, 64))
    for (batch, m, n, k), (left, right) in itertools.product(shapes, PAIRS):
        if batch == 1 and {left, right} & {"heads", "keys", "shared"}:
            continue
        views = {"a": LAYOUTS[left]("a", batch, m, k), "b": LAYOUTS[right]("b", batch, k, n)}
        name = f"{'shared-' if right == 'shared' else ''}{left}-{right}-{batch}x{m}x{n}x{k}"
        yield Product("product", name, (batch, m, n, k), " @ ".join(view for _, view in views.values()), batch * m * n * k,
                      {name: shape for name, (shape, _) in views.items()},
                      {name: view if view != name else None for name, (_, view) in views.items()})


def dense():
    for batch, width in itertools.product((1, 8, 32, 64, 256), (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)):
        yield Point("dense", f"{batch}x{width}", (batch, width), f"Linear({width}, {width})", batch * width * width)


def narrow():
    """Heads and other layers whose two widths differ."""
    for batch, (fan_in, fan_out) in itertools.product((1, 32, 128), ((784, 10), (128, 3), (17, 33), (64, 1000), (768, 3072),
                                                                     (3072, 768))):
        yield Point("narrow", f"{batch}x{fan_in}-{fan_out}", (batch, fan_in), f"Linear({fan_in}, {fan_out})",
                    batch * fan_in * fan_out)


def conv_point(family, cin, cout, side, kernel, stride, groups=1):
    out = (side - 1) // stride + 1
    name = f"{cin}-{cout}x{side}k{kernel}" + f"s{stride}" * (stride > 1) + f"g{groups}" * (1 < groups < cin)
    grouped = f", groups={groups}" * (groups > 1)
    return Point(family, name, (1, cin, side, side),
                 f"Conv2d({cin}, {cout}, {kernel}, stride={stride}, padding={kernel // 2}{grouped})",
                 out * out * cout * (cin // groups) * kernel * kernel)


def conv(kernel):
    for stride, (channels, side) in itertools.product((1, 2), CHANNELS.items()):
        yield conv_point(f"conv{kernel}", channels, channels, side, kernel, stride)


def first():
    for cout, side, kernel, stride in ((8, 96, 3, 2), (16, 32, 3, 1), (32, 224, 3, 2), (64, 224, 7, 2), (64, 224, 3, 1)):
        yield conv_point("first", 3, cout, side, kernel, stride)


def depthwise():
    for kernel, stride, (channels, side) in itertools.product((3, 5), (1, 2), CHANNELS.items()):
        yield conv_point("depthwise", channels, channels, side, kernel, stride, channels)


def grouped():
    for groups, stride, (channels, side) in itertools.product((4, 8), (1, 2), CHANNELS.items()):
        if channels > groups:
            yield conv_point("grouped", channels, channels, side, 3, stride, groups)


def norm():
    for rows, width in itertools.product((1, 32, 512), (64, 256, 768, 4096)):
        yield Point("norm", f"layer-{rows}x{width}", (rows, width), f"LayerNorm({width})", 0)
        yield Point("norm", f"rms-{rows}x{width}", (rows, width), f"RMSNorm({width})", 0)
    for channels, side in CHANNELS.items():
        yield Point("norm", f"batch-{channels}x{side}", (1, channels, side, side), f"BatchNorm2d({channels})", 0)
        yield Point("norm", f"group-{channels}x{side}", (1, channels, side, side), f"GroupNorm(8, {channels})", 0)
        yield Point("norm", f"instance-{channels}x{side}", (1, channels, side, side), f"InstanceNorm2d({channels})", 0)


def softmax():
    for rows, width in ((1, 10), (32, 10), (1, 1000), (64, 1000), (128, 128), (1536, 128), (512, 512), (1, 50257)):
        yield Point("softmax", f"{rows}x{width}", (rows, width), "Softmax(dim=-1)", 0)
        yield Point("softmax", f"log-{rows}x{width}", (rows, width), "LogSoftmax(dim=-1)", 0)
    yield Point("softmax", "channels-21x64x64", (1, 21, 64, 64), "Softmax(dim=1)", 0)


def attention():
    """Heads of 64; a token that looks at others; tokens that see no later ones; heads that are channels of an image."""
    for heads, tokens in ((12, 32), (12, 128), (12, 197), (12, 512), (12, 1024), (8, 2048)):
        yield Point("attention", f"{heads}x{tokens}", (3, 1, heads, tokens, 64),
                    "scaled_dot_product_attention(x[0], x[1], x[2])", 2 * heads * tokens * tokens * 64)
    for tokens in (128, 1024):
        yield Point("attention", f"one-12x{tokens}", (2, 1, 12, tokens, 64),
                    "scaled_dot_product_attention(x[0, :, :, :1], x[0], x[1])", 2 * 12 * tokens * 64)
        yield Point("attention", f"causal-12x{tokens}", (3, 1, 12, tokens, 64),
                    "scaled_dot_product_attention(x[0], x[1], x[2], is_causal=True)", 2 * 12 * tokens * tokens * 64)
    for tokens, width in itertools.product((64, 256, 1024), (40, 64, 80, 160)):
        yield Point("attention", f"channels-8x{tokens}x{width}", (1, 3, 8, width, tokens),
                    f"x[:, 2] @ softmax((x[:, 0] * {width ** -0.5:.4f}).mT @ x[:, 1], -1).mT", 2 * 8 * tokens * tokens * width)


def recurrent():
    """A layer over 32 steps, and over one."""
    for name, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for batch, width in itertools.product((1, 16, 64), (32, 64, 128, 256)):
            yield Point("recurrent", f"{name.lower()}-{batch}x{width}", (32, batch, width), f"{name}({width}, {width})",
                        32 * batch * 2 * gates * width * width)
        yield Point("recurrent", f"{name.lower()}-step-1x128", (1, 1, 128), f"{name}(128, 128)", 2 * gates * 128 * 128)


def activation():
    for name, count in itertools.product(("ReLU()", "LeakyReLU()", "Tanh()", "Sigmoid()", "GELU()", "GELU('tanh')", "SiLU()",
                                          "Softplus()", "ELU()", "Mish()", "Hardswish()"), (256, 16384, 1 << 20)):
        plain = name.lower().replace("('tanh')", "-tanh").rstrip("()")
        yield Point("activation", f"{plain}-{count}", (1, count), name, 0)


def reduction():
    for name, count in itertools.product(("sum", "mean", "amax", "var", "argmax"), ((32, 64), (512, 768), (64, 16384))):
        call = {"var": "x.var(-1)", "amax": "x.amax(-1)"}.get(name, f"x.{name}(-1)")
        yield Point("reduction", f"{name}-rows-{count[0]}x{count[1]}", count, call, 0)
    for name, count in itertools.product(("sum", "amax"), ((64, 32), (768, 512), (16384, 64))):
        yield Point("reduction", f"{name}-columns-{count[0]}x{count[1]}", count, f"x.{name}(0)", 0)
    for channels, side in CHANNELS.items():
        yield Point("reduction", f"mean-images-{channels}x{side}", (1, channels, side, side), "x.mean((2, 3))", 0)


def pool():
    for channels, side in CHANNELS.items():
        yield Point("pool", f"max2-{channels}x{side}", (1, channels, side, side), "MaxPool2d(2)", 0)
        yield Point("pool", f"max3s2-{channels}x{side}", (1, channels, side, side), "MaxPool2d(3, stride=2, padding=1)", 0)
        yield Point("pool", f"avg2-{channels}x{side}", (1, channels, side, side), "AvgPool2d(2)", 0)


def sample():
    """Images at as many places as they have elements."""
    for shape in ((1, 3, 64, 64), (1, 64, 32, 32), (4, 16, 64, 64), (1, 256, 28, 28), (1, 8, 8, 16, 16)):
        for mode in ("bilinear", "nearest", "bicubic")[:3 if len(shape) == 4 else 2]:
            yield Sampled("sample", f"{mode}-{'x'.join(map(str, shape))}", shape,
                          f"grid_sample(x, g, '{mode}', align_corners=False)", 0)
    yield Sampled("sample", "border-1x64x32x32", (1, 64, 32, 32),
                  "grid_sample(x, g, padding_mode='border', align_corners=False)", 0)


def fading():
    """One shape for each kind of kernel, for bench/denormals; the last ones give denormal numbers of ordinary ones."""
    yield Point("fading", "dense-1x512", (1, 512), "Linear(512, 512)", 512 * 512)
    yield Point("fading", "dense-64x512", (64, 512), "Linear(512, 512)", 64 * 512 * 512)
    yield Point("fading", "head-32x64-2", (32, 64), "Linear(64, 2)", 32 * 64 * 2)
    for channels, kernel in ((3, 3), (64, 1), (64, 3), (64, 5)):
        yield conv_point("fading", channels, 64, 28, kernel, 1)
    yield dataclasses.replace(conv_point("fading", 64, 64, 28, 3, 1, 64), name="depthwise-64x28k3")
    yield Point("fading", "layernorm", (64, 256), "LayerNorm(256)", 0)
    yield Point("fading", "batchnorm", (1, 64, 28, 28), "BatchNorm2d(64)", 0)
    yield Point("fading", "max-pool", (1, 64, 28, 28), "MaxPool2d(2)", 0)
    yield Point("fading", "sum", (512, 768), "x.sum(-1)", 0)
    yield Point("fading", "cumsum", (64, 256), "x.cumsum(-1)", 0)
    yield Point("fading", "softmax", (64, 256), "Softmax(dim=-1)", 0)
    for name in ("ReLU()", "Tanh()", "Sigmoid()", "GELU()", "SiLU()", "Softplus()", "ELU()", "Mish()"):
        yield Point("fading", name.lower().rstrip("()"), (1, 16384), name, 0)
    yield Point("fading", "sqrt", (1, 16384), "x.abs().sqrt()", 0)
    yield Point("fading", "log", (1, 16384), "log(x.abs())", 0)
    for name in ("exp", "sigmoid", "softplus", "silu"):
        yield Point("fading", f"{name}-far-left", (1, 16384), f"{name}(x - 95.0)", 0)
    yield Point("fading", "wide-softmax", (64, 256), "softmax(x * 60.0, -1)", 0)
    yield Point("fading", "underflow", (1, 16384), "x * 1e-20 * 1e-20", 0)


FAMILIES = {"product": product, "dense": dense, "narrow": narrow,
            **{f"conv{kernel}": functools.partial(conv, kernel) for kernel in (1, 3, 5, 7)}, "first": first, "depthwise": depthwise, "grouped": grouped, "norm": norm, "softmax": softmax, "attention": attention,
            "recurrent": recurrent, "activation": activation, "reduction": reduction, "pool": pool, "sample": sample}
