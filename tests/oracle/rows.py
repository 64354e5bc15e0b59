"""What random specs draw of each layer and function: a line for each, and how a line becomes a call.

A line names the tensors and arguments of a row of modc's catalogue (`modc layers --format json`) and says how to draw
them. Whether an argument is needed, its default and where a function is found (torch, functional, method) the catalogue
says, so a line may stand here before its row does. See README.md, "A line for a new row".

    layer("Conv1d", T("n? C L:3-9"), in_channels=C, out_channels=OUT, kernel_size=K1, stride=[2, 3], bias=False)
    function("cumsum", input=T("* a", "num"), dim=DIM, dtype=DTYPE)

What stands behind an argument: a list of values of which one is drawn, a function of the Call, a tensor (T, B, I), or the
one value. An argument with a default is given in most calls; what PyTorch refuses is drawn again.
"""
import argparse
import ast
import inspect
import json
import math
import random
import subprocess
import sys
from collections import namedtuple

import torch

import generation
import integers
import modc_run
import returns
import spec_torch
import vision

INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
GIVEN = 0.75  # how often an argument with a default is given
# What cannot be given beside an argument.
RIVALS = {"size": ["scale_factor", "recompute_scale_factor"], "scale_factor": ["size"], "recompute_scale_factor": ["size"],
          "correction": ["unbiased"], "unbiased": ["correction"]}

# dims: words, `C` a constant, `n` perhaps a run-time size, `n?` perhaps absent, `*` any number, `H:3-8` a range, `3`, `C*G`;
# kind: float (the model's), int (int64), bool, ints (any integer), num (any type), floats (either floating type);
# values: normal, small (+-1), unit (+-0.9), positive, grid (multiples of 1/4: comparisons and floor are safe),
# distinct, whole, sign (1 and -1), steps and few (lengths), index of the dimension in `of`, labels (these and -1), inner (but the
# first and last), lengths (up to that dimension). `weight`: how often it is a parameter.
T = namedtuple("T", "dims kind values of weight", defaults=("float", "normal", None, 0))
# What broadcasts against an argument that was drawn before, or has the same shape.
B = namedtuple("B", "like kind values", defaults=("float", "normal"))
S = namedtuple("S", "like kind values", defaults=("float", "normal"))
Several = namedtuple("Several", "axis kind", defaults=("float",))  # tensors that differ along d.axis alone, or nowhere
Each = namedtuple("Each", "ways kind", defaults=("float",))  # tensors one by one; dims of all, by commas: d.way is one of these


def I(dims, of):  # noqa: E743
    return T(dims, "int", "index", of)


def W(dims, often=0.6):
    return T(dims, weight=often)


# What PyTorch says to what it does not take, and what is said here.
FAULTS = (Exception,)


PLACES = {"torch": torch, "quantization": torch.ao.quantization, "functional": torch.nn.functional, "method": torch.Tensor, "returns": returns,
          "torchvision": vision.torchvision, "generation": generation.Rows, "own": integers}


class Text(str):
    """Source text as it is."""


class Refused(ValueError):
    """This call cannot be drawn so."""


class Line(namedtuple("Line", "kind name tensors arguments since train places check call", defaults=(None,))):
    """tensors: of a layer's call; call: a text that they go into, or several, if not one after the other. since: the version of torch, of the row or {argument: version}. train: what it
    computes depends on the mode. places: of a function, where not all that the catalogue has."""


LAYERS, FUNCTIONS = {}, {}


def layer(name, *tensors, since=None, train=False, check=None, call=None, **arguments):
    LAYERS[name] = Line("layer", name, tensors, arguments, since, train, None, check, call)


def function(name, since=None, places=None, check=None, **arguments):
    for own in name.split():
        FUNCTIONS[own] = Line("function", own, (), arguments, since, False, places, check)


def version(text):
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in text.split("+")[0].split(".")[:2])


HERE = version(torch.__version__)


def has_gradients(drawn):
    """Whether gradients of a spec with these draws are compared. What they are at kinks is that of 2.15: older versions have
    others, of clamp and cosine_similarity for two."""
    return is_here("2.15") and not any(name.split(maxsplit=1)[-1] in NO_GRADIENTS for name in drawn)


def is_here(since):
    return since is None or HERE >= version(since)


# ---- ways to draw arguments ---------------------------------------------------------------------------------------

def size_of(letter):
    return lambda d: d.number(letter)


C, F = size_of("C"), size_of("F")
OUT = [1, 2, 3, 4, 5, 8, 17]
EPS = [1e-3, 1e-2, 0.1]


def DIM(d):
    return d.axis()


def DIMS(d):
    """One dimension, several or all."""
    n = d.rank()
    way = d.random.randrange(4)
    if n == 0 or way < 2:
        return d.axis()
    return d.pick([tuple, list])(i - n if d.chance(0.3) else i for i in
                                 sorted(d.random.sample(range(n), d.random.randrange(1, n + 1))))


def DTYPE(d):
    return d.pick([torch.float32, torch.float64, torch.int64, torch.int32])


def FLOAT_DTYPE(d):
    return d.pick([torch.float32, torch.float64])


def windows(n, low, high):
    """A number, or one for each of n dimensions."""
    def draw(d):
        if n > 1 and d.chance(0.4):
            return tuple(d.random.randint(low, high) for _ in range(n))
        value = d.random.randint(low, high)
        return (value,) if n == 1 and d.chance(0.2) else value
    return draw


def groups(d):
    """Divides the channels of the first tensor."""
    found = [g for g in range(1, d.number("C") + 1) if d.number("C") % g == 0]
    return d.pick(found[1:] if len(found) > 1 and d.chance(0.6) else found)


def multiple_of_groups(d):
    d.letters["G"] = d.dim(groups(d))
    return d.number("G") * d.pick([1, 2, 3])


def some_inside(n):
    """No window over n dimensions sees padding alone, whose place PyTorch does not define; nor is one larger than the image."""
    def check(d):
        narrow = any(dim.const is None for dim in d.operands[0].dims[-n:])
        d.refuse(narrow and d.args["padding"] != 0 and d.args["dilation"] != 1)
        d.whole = True
    return check


def no_empty(d):
    """Statistics of nothing: docs/departures.md has them."""
    d.refuse(0 in d.shape())


def shape_of(count):
    def draw(d):
        return tuple(d.random.randrange(1, 5) for _ in range(d.pick(count)))
    return draw


# ---- the lines ----------------------------------------------------------------------------------------------------

IN_PLACE = {"inplace": True}

layer("Identity", T("*"))
layer("Linear", T("* F"), in_features=F, out_features=OUT, bias=False)
layer("Bilinear", T("* F"), T("* G"), in1_features=F, in2_features=size_of("G"), out_features=OUT, bias=False)
layer("LazyLinear", T("* F"), out_features=OUT, bias=False)
CELL = dict(input_size=F, hidden_size=size_of("H"), bias=False)
layer("RNNCell", T("n? F"), T("n? H:1-20"), **CELL, nonlinearity="relu", call=["{0}, {1}", "{0}, hx={1}", "{0}"])
layer("LSTMCell", T("n? F"), T("n? H:1-20"), T("n? H"), **CELL, call=["{0}, ({1}, {2})", "{0}, ({1}, {2})", "{0}"])
layer("GRUCell", T("n? F"), T("n? H:1-20"), **CELL, call=["{0}, {1}", "{0}, hx={1}", "{0}"])
SEQUENCE = dict(input_size=F, hidden_size=size_of("H"), num_layers=[2, 3], bias=False, batch_first=True, dropout=[0.25, 1.0],
                bidirectional=True, train=True,
                check=lambda d: d.random_values() if d.args["dropout"] and d.args["num_layers"] > 1 else None)
STATES = T("l:1-6 n? F"), T("K:1-4 n? H:1-20"), T("K n? H"), T("n?", "int", "lengths", "L")
CALLS = ["{0}, {1}", "{0}, hx={1}", "{0}", "{0}, {1}, {3}", "{0}, lengths={3}"]
layer("RNN", *STATES, **SEQUENCE, nonlinearity="relu", call=CALLS)
layer("LSTM", *STATES, **SEQUENCE, proj_size=[1, 2], call=[text.replace("{1}", "({1}, {2})").replace("hx=", "") for text in CALLS])
layer("GRU", *STATES, **SEQUENCE, call=CALLS)
HEADS = dict(bias=False, batch_first=True, since={"bias": "2.1"})
STACK = dict(d_model=8, nhead=[1, 2, 4], dim_feedforward=[1, 5, 16], activation=["gelu", Text("F.silu"), Text("GELU()")],
             layer_norm_eps=EPS, norm_first=True, train=True, **HEADS, check=lambda d: d.random_values())
layer("MultiheadAttention", T("n l 8"), T("n k 8"), embed_dim=8, num_heads=[1, 2, 4], add_bias_kv=True, add_zero_attn=True,
      **{**HEADS, "since": None}, call=["{0}, {0}, {0}"])
layer("TransformerEncoderLayer", T("l? n 8"), **STACK)
layer("TransformerDecoderLayer", T("n 8"), T("k 8"), **STACK)
layer("Flatten", T("n a b? c? d?"), start_dim=DIM, end_dim=DIM)
layer("Unflatten", T("n? 12 a?"), dim=lambda d: d.where(12), unflattened_size=[(3, 4), (2, -1), (2, 3, 2), (12,)])
layer("Embedding", I("*", "V"), num_embeddings=size_of("V"), embedding_dim=OUT, padding_idx=lambda d: d.pick([0, -1]),
      max_norm=[0.5, 1.0, 2], norm_type=1.0, scale_grad_by_freq=True, sparse=True)
layer("EmbeddingBag", I("n k", "V"), num_embeddings=size_of("V"), embedding_dim=OUT, max_norm=[0.5, 1.0, 2],
      norm_type=1.0, scale_grad_by_freq=True, mode=["sum", "max", "mean"], sparse=True, padding_idx=[0, 1, -1])

for n in (1, 2, 3):
    image = " ".join(f"{word}:4-{high}" for word, high in zip("hwd", (9, 8, 6)[:n] if n < 3 else (6, 5, 5)))
    kernel = " ".join(f"{letter}:1-3" for letter in "KLM"[:n])
    layer(f"Conv{n}d", T(f"n?:1-4 C {image}"), in_channels=C, out_channels=multiple_of_groups, kernel_size=windows(n, 1, 3),
          stride=windows(n, 1, 3), padding=[1, 2, (1,) * n, "same", "valid", tuple(range(n))], dilation=windows(n, 1, 2),
          groups=size_of("G"), bias=False, padding_mode=["reflect", "replicate", "circular"])
    layer(f"LazyConv{n}d", T(f"n?:1-4 C {image}"), out_channels=multiple_of_groups, kernel_size=windows(n, 1, 3),
          stride=windows(n, 1, 3), padding=[1, "same", "valid"], dilation=windows(n, 1, 2), groups=size_of("G"),
          bias=False, padding_mode=["reflect", "replicate", "circular"])
    transposed = dict(
        out_channels=multiple_of_groups, kernel_size=windows(n, 1, 3), stride=windows(n, 1, 3), padding=windows(n, 0, 1),
        output_padding=windows(n, 0, 1), groups=size_of("G"), bias=False, dilation=windows(n, 1, 2))
    layer(f"ConvTranspose{n}d", T(f"n?:1-4 C {image}"), in_channels=C, **transposed)
    layer(f"LazyConvTranspose{n}d", T(f"n?:1-4 C {image}"), **transposed)
    function(f"conv{n}d", input=T(f"n?:1-4 C:1-4*G:1-3 {image}"), weight=W(f"O:1-3*G C {kernel}", 1), bias=W("O*G", 1),
             stride=windows(n, 1, 3), padding=[1, 2, (1,) * n, "same", "valid"], dilation=windows(n, 1, 2),
             groups=size_of("G"))
    function(f"conv_transpose{n}d", input=T(f"n?:1-4 C:1-4*G:1-3 {image}"), weight=W(f"C*G O:1-3 {kernel}", 1),
             bias=W("O*G", 1), stride=windows(n, 1, 3), padding=windows(n, 0, 1), output_padding=windows(n, 0, 1),
             groups=size_of("G"), dilation=windows(n, 1, 2))
    for name, make in ((f"MaxPool{n}d", layer), (f"max_pool{n}d", function)):
        own = dict(kernel_size=windows(n, 1, 3), stride=windows(n, 1, 3), padding=windows(n, 0, 1),
                   dilation=windows(n, 1, 2), return_indices=True, ceil_mode=True)
        # 1.13 makes nothing of a line that is shorter than the window
        image_of = T(f"n?:1-4 c {image if n > 1 or is_here('2.1') else image.upper()}")
        if make is layer:
            layer(name, image_of, **own, check=some_inside(n))
        else:
            function(name, input=image_of, **own, check=some_inside(n))
            function(f"{name}_with_indices", input=image_of, **own, check=some_inside(n))
    own = dict(kernel_size=windows(n, 1, 3), stride=windows(n, 1, 3), padding=windows(n, 0, 1), ceil_mode=True,
               count_include_pad=False)
    if n > 1:
        own["divisor_override"] = [3, 5, 1]
    layer(f"AvgPool{n}d", T(f"n?:1-4 c {image}"), **own)
    function(f"avg_pool{n}d", input=T(f"n?:1-4 c {image}"), **own)
    own = dict(norm_type=[1.0, 2.0, 3.0, 2], kernel_size=windows(n, 1, 3), stride=windows(n, 1, 3), ceil_mode=True)
    layer(f"LPPool{n}d", T(f"n?:1-4 c {image}", values="positive"), **own)
    function(f"lp_pool{n}d", input=T(f"n?:1-4 c {image}", values="positive"), **own)
    fixed = T(f"n? c {image.upper()}")
    layer(f"AdaptiveAvgPool{n}d", fixed, output_size=windows(n, 1, 5))
    layer(f"AdaptiveMaxPool{n}d", fixed, output_size=windows(n, 1, 5), return_indices=True)
    function(f"adaptive_avg_pool{n}d", input=fixed, output_size=windows(n, 1, 5))
    function(f"adaptive_max_pool{n}d", input=fixed, output_size=windows(n, 1, 5), return_indices=True)
    for kind, least in (("Zero", -1), ("Constant", -1), ("Reflection", 0), ("Replication", 0), ("Circular", 0)):
        own = dict(padding=lambda d, n=n, least=least: d.pick(
            [d.random.randint(least, 2), tuple(d.random.randint(least, 2) for _ in range(2 * n))]))
        if kind == "Constant":
            own["value"] = [0.0, 1.5, -2, 7]
        layer(f"{kind}Pad{n}d", T(f"n?:1-4 c {image}"), **own, since="2.1" if kind == "Zero" and n != 2 else None)
    stats = dict(eps=EPS, momentum=[0.5, 0.25, None], affine=False, track_running_stats=False)
    shape_ = {1: "n:3-5 C l?", 2: "n:3-5 C h w", 3: "n:3-5 C d h w"}[n]  # of one value training has no variance
    layer(f"BatchNorm{n}d", T(shape_), num_features=C, **stats, bias=False, since={"bias": "2.15"}, train=True)
    layer(f"LazyBatchNorm{n}d", T(shape_), **stats, bias=False, since={"bias": "2.15"}, train=True)
    instance = T({1: "n? C L:2-7", 2: "n? C H:2-5 w", 3: "n? C D:2-4 h w"}[n])
    layer(f"InstanceNorm{n}d", instance, num_features=C, eps=EPS, momentum=[0.5, 0.25], affine=True,
          track_running_stats=True, bias=False, since={"bias": "2.15"}, train=True, check=no_empty)
    layer(f"LazyInstanceNorm{n}d", instance, eps=EPS, momentum=[0.5, 0.25], affine=False, track_running_stats=False,
          bias=False, since={"bias": "2.15"}, train=True, check=no_empty)

layer("SyncBatchNorm", T("n:3-5 C h? w?"), num_features=C, eps=EPS, momentum=[0.5, 0.25, None], affine=False,
      track_running_stats=False, bias=False, since={"bias": "2.15"}, train=True)
layer("LayerNorm", T("* E:1-3 F:2-8"), normalized_shape=lambda d: d.pick(
    [d.number("F"), (d.number("F"),), [d.number("E"), d.number("F")]]), eps=EPS, elementwise_affine=False, bias=False,
      since={"bias": "2.1"})
layer("GroupNorm", T("n C H:2-5 w?"), num_groups=groups, num_channels=C, eps=EPS, affine=False, bias=False,
      since={"bias": "2.15"})
layer("RMSNorm", T("* E:1-3 F:2-8"), normalized_shape=lambda d: d.pick(
    [d.number("F"), (d.number("F"),), [d.number("E"), d.number("F")]]), eps=EPS, elementwise_affine=False, since="2.4")
layer("LocalResponseNorm", T("n:1-4 C L W?"), size=[1, 2, 3, 5], alpha=[0.5, 0.01], beta=[0.5, 1.0], k=[2.0, 0.5])
layer("CrossMapLRN2d", T("n C H W"), size=[1, 3, 5], alpha=[0.5, 0.01], beta=[0.5, 1.0], k=[2.0, 0.5])

RANGE = dict(dtype=[Text("torch.qint8"), torch.uint8], reduce_range=True, quant_min=[0], quant_max=[15, 127], eps=EPS, train=True)
AVERAGE = dict(averaging_constant=[0.5, 1.0], is_dynamic=True)
EVEN, CHANNELS = [Text("torch.per_tensor_symmetric")], [Text("torch.per_channel_symmetric")]
layer("MinMaxObserver", T("*", values="grid"), qscheme=EVEN, is_dynamic=True, **RANGE)
layer("MovingAverageMinMaxObserver", T("*", values="grid"), qscheme=EVEN, **AVERAGE, **RANGE)
layer("PerChannelMinMaxObserver", T("N C l?", values="grid"), ch_axis=1, qscheme=CHANNELS, **RANGE)
layer("MovingAveragePerChannelMinMaxObserver", T("N C l?", values="grid"), averaging_constant=[0.5], ch_axis=1, qscheme=CHANNELS, **RANGE)
layer("FakeQuantize", T("*", values="grid"), observer=[Text("MinMaxObserver"), Text("MovingAverageMinMaxObserver")], qscheme=EVEN,
      **AVERAGE, **RANGE)
QCONFIG = dict(qconfig=[Text("default_qat_qconfig"), Text("get_default_qat_qconfig('fbgemm', 0)")], train=True)
layer("qat.Linear", T("* F"), in_features=F, out_features=OUT, bias=False, **QCONFIG)
for n in (1, 2, 3):
    layer(f"qat.Conv{n}d", T(f"n?:1-4 C {' '.join('h:4-7 w:4-6 d:4-5'.split()[:n])}"), in_channels=C, out_channels=multiple_of_groups,
          kernel_size=windows(n, 1, 3), stride=windows(n, 1, 3), padding=[1, "same"], dilation=windows(n, 1, 2), groups=size_of("G"),
          bias=False, padding_mode=["reflect"], **QCONFIG)
function("fake_quantize_per_tensor_affine", input=T("*", values="grid"), scale=[0.1, 0.37, 1.0], zero_point=[0, 3, -2],
         quant_min=[-8, -128], quant_max=[7, 127, 255])

for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid"):
    layer(name, T("*"), **IN_PLACE)
for name in ("Sigmoid", "Tanh", "Softsign", "Tanhshrink", "LogSigmoid"):
    layer(name, T("*"))
layer("LeakyReLU", T("*"), negative_slope=[0.2, 0.125, 0, 1.5], **IN_PLACE)
layer("ELU", T("*"), alpha=[0.5, 2.0], **IN_PLACE)
layer("CELU", T("*"), alpha=[0.5, 2.0], **IN_PLACE)
layer("GELU", T("*"), approximate="tanh")
layer("Softplus", T("*"), beta=[2.0, 0.5], threshold=[1.0, 2])
layer("Hardtanh", T("*"), min_val=[-0.5, 0.0], max_val=[0.5, 2.0], **IN_PLACE)
layer("Hardshrink", T("*", values="grid"), lambd=[0.3, 1.0])
layer("Softshrink", T("*"), lambd=[0.25, 1.0])
layer("Threshold", T("*", values="grid"), threshold=[0.1, -0.5, 0], value=[-1.0, 2, 0.0], **IN_PLACE)
layer("PReLU", T("n C l? w?"), num_parameters=lambda d: d.pick([1, d.number("C")]), init=[0.1, -0.5])
layer("RReLU", T("*"), lower=[0.25], upper=[0.5, 1.0], **IN_PLACE, check=lambda d: d.random_values())
layer("GLU", T("4 b 6"), dim=[0, 2, -3])
for name in ("Softmax", "LogSoftmax", "Softmin"):
    layer(name, T("*"), dim=DIM)
layer("Softmax2d", T("n? C h w"))
for name in ("Dropout", "AlphaDropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"):
    shape = {"Dropout1d": "n? c l", "Dropout2d": "n c h w", "Dropout3d": "n? c d h w"}.get(name, "n c *")
    layer(name, T(shape), p=[0.0, 0.25, 1.0] if name != "AlphaDropout" else [0.0, 0.25], **IN_PLACE,
          check=lambda d: d.random_values() if d.args["p"] not in (0.0, 1.0) else None, train=True)
layer("PixelShuffle", T("n? 12 h w"), upscale_factor=[2, 1])
layer("PixelUnshuffle", T("N? C 6 4"), downscale_factor=[2, 1])  # where there is nothing PyTorch keeps the shape
layer("ChannelShuffle", T("n 6 h w"), groups=[2, 3, 6])
layer("CosineSimilarity", T("n 4 a?"), S("0"), dim=DIM, eps=[0.5, 1e-6], since="2.0")
layer("PairwiseDistance", T("n F"), S("0"), p=[1.0, 2.0, 3.0], eps=[0.1, 1e-3], keepdim=True)
FOLD = dict(output_size=[(3, 3), (5, 5), (2, 5), 4, 6, (4, 6)], kernel_size=[(2, 2), 2], dilation=[2], padding=[1], stride=[2])
layer("Fold", T("n? 12 L:1-16"), **FOLD)
function("fold", input=T("n? 12 L:1-16"), **FOLD)
layer("Unfold", T("n C H:4-7 W:4-7"), kernel_size=windows(2, 1, 3), dilation=windows(2, 1, 2), padding=windows(2, 0, 1),
      stride=windows(2, 1, 2))
def one_of_sizes(d):
    """Either a size or a scale; align_corners and scales for the modes that take them."""
    size, scale = d.args.get("size"), d.args.get("scale_factor")
    d.refuse((size is None) == (scale is None) or (size is not None and bool(d.args.get("recompute_scale_factor"))))
    d.refuse(size is None and d.due not in ("scale_factor", "recompute_scale_factor") and d.chance(0.6))  # either as often
    d.refuse(bool(d.args.get("antialias")) and d.args["mode"] not in ("bilinear", "bicubic"))


RESAMPLE = dict(size=[(6, 4), (7, 10), (3, 5)], scale_factor=[2, 3.0, (2.0, 0.5), 1.5],
                mode=["nearest", "bilinear", "bicubic", "nearest-exact"], align_corners=[True, False],
                recompute_scale_factor=True, antialias=False, check=one_of_sizes)
layer("Upsample", T("n:1-4 c:1-3 3 5"), **RESAMPLE)
function("interpolate upsample", input=T("n:1-4 c:1-3 3 5"), **RESAMPLE)
RESAMPLE = dict(size=[(6, 4), (7, 10), 5], scale_factor=[2, 3, 1.5], check=one_of_sizes)
layer("UpsamplingNearest2d", T("n:1-4 c:1-3 3 5"), **RESAMPLE)
layer("UpsamplingBilinear2d", T("n:1-4 c:1-3 3 5"), **RESAMPLE)
function("upsample_nearest upsample_bilinear", input=T("n:1-4 c:1-3 3 5"), **RESAMPLE)

# ---- losses

def class_weight(d):
    return [round(d.random.uniform(0.25, 2), 2) for _ in range(d.number("C"))]


def cutoffs(d):
    d.refuse(d.number("V") < 2)
    return sorted(d.random.sample(range(1, d.number("V")), d.random.randint(1, min(3, d.number("V") - 1))))


LEGACY = dict(size_average=[True, False], reduce=[True, False], reduction=["sum", "none"])
WEIGHT = dict(weight=T("C", values="positive"))
WEIGHTED = dict(weight=S("input", values="positive"), since={"weight": "2.15"})
CLASSES = T("n C a? b?"), T("n a? b?", "int", "index", "C")
IGNORED = dict(ignore_index=[0, 1, -1])
SIGNS = S("0", "float", "sign")
TRIPLET = dict(margin=[0.5, 2.0], p=[1.0, 3.0], eps=[0.1, 0.01], swap=True)
layer("L1Loss", T("*"), S("0"), **LEGACY)
layer("MSELoss", T("*"), S("0"), **LEGACY)
layer("SmoothL1Loss", T("*"), S("0"), **LEGACY, beta=[0.5, 2.0, 0.0])
layer("HuberLoss", T("*"), S("0"), reduction=["sum", "none"], delta=[0.5, 2.0])
layer("SoftMarginLoss", T("*"), SIGNS, **LEGACY)
for name in ("NLLLoss", "NLLLoss2d"):
    layer(name, *CLASSES, weight=class_weight, **LEGACY, **IGNORED)
layer("CrossEntropyLoss", T("n C a? b?"), S("0", values="inside"), weight=class_weight, **LEGACY, ignore_index=[-1, -5],
      label_smoothing=[0.1, 0.5])
layer("BCELoss", T("n C", values="inside"), S("0", values="inside"), weight=class_weight, **LEGACY)
layer("BCEWithLogitsLoss", T("n C"), S("0", values="inside"), weight=class_weight, pos_weight=class_weight, **LEGACY)
layer("KLDivLoss", T("n a?"), S("0", values="positive"), **{**LEGACY, "reduction": ["sum", "none", "batchmean"]}, log_target=True)
layer("PoissonNLLLoss", T("*", values="positive"), S("0", values="positive"), log_input=False, full=True, eps=[0.1, 0.01], **LEGACY)
layer("GaussianNLLLoss", T("n a? b"), S("0"), T("n a? 1", values="positive"), full=True, eps=[0.5, 0.1], reduction=["sum", "none"])
layer("HingeEmbeddingLoss", T("*"), SIGNS, margin=[0.5, 2.0], **LEGACY)
layer("MarginRankingLoss", T("*"), S("0"), SIGNS, margin=[0.5, 2.0], **LEGACY)
layer("CosineEmbeddingLoss", T("n F"), S("0"), T("n", "float", "sign"), margin=[0.5, -0.5], **LEGACY)
layer("MultiMarginLoss", T("N C"), T("N", "int", "index", "C"), p=2, margin=[0.5, 2.0], weight=class_weight, **LEGACY, check=no_empty)
layer("MultiLabelMarginLoss", T("N C"), T("N C", "int", "labels", "C"), **LEGACY, check=no_empty)
layer("MultiLabelSoftMarginLoss", T("n a? C"), S("0", values="inside"), weight=class_weight, **LEGACY)
layer("TripletMarginLoss", T("n F"), S("0"), S("0"), **TRIPLET, **LEGACY)

DISTANCES = [Text("F.pairwise_distance"), Text("torch.cosine_similarity")]
layer("TripletMarginWithDistanceLoss", T("n F"), S("0"), S("0"), distance_function=DISTANCES, margin=[0.5, 2.0], swap=True,
      reduction=["sum", "none"])
LINEAR = dict(weight=class_weight, ignore_index=[0, 1, -1], label_smoothing=[0.1, 0.5], reduction=["sum", "none"])
layer("LinearCrossEntropyLoss", T("n F"), T("n", "int", "index", "C"), in_features=F, num_classes=C, bias=True, **LINEAR,
      since="2.15")
# the blank, which is first or last, is no label
CTC_OF = (T("12 N:1-4 C:3-6"), T("N 3", "int", "inner", "C"), T("N", "int", "steps"), T("N", "int", "few"))
CTC = dict(blank=lambda d: d.number("C") - 1, reduction=["sum", "none"], zero_infinity=True)
layer("CTCLoss", *CTC_OF, **CTC)
function("ctc_loss", log_probs=CTC_OF[0], targets=CTC_OF[1], input_lengths=CTC_OF[2], target_lengths=CTC_OF[3], **CTC)
layer("AdaptiveLogSoftmaxWithLoss", T("n F"), T("n", "int", "index", "V"), in_features=F, n_classes=size_of("V"),
      cutoffs=cutoffs,
      div_value=[2.0, 1.5], head_bias=True, check=no_empty)

SIGNS = S("input", "float", "sign")
function("l1_loss mse_loss", input=T("*"), target=S("input"), **LEGACY, **WEIGHTED)
function("smooth_l1_loss", input=T("*"), target=S("input"), **LEGACY, beta=[0.5, 2.0, 0.0])
function("huber_loss", input=T("*"), target=S("input"), reduction=["sum", "none"], delta=[0.5, 2.0], **WEIGHTED)
function("soft_margin_loss", input=T("*"), target=SIGNS, **LEGACY)
function("nll_loss", input=CLASSES[0], target=CLASSES[1], **WEIGHT, **LEGACY, **IGNORED)
function("cross_entropy", input=CLASSES[0], target=CLASSES[1], **WEIGHT, **LEGACY, **IGNORED, label_smoothing=[0.1, 0.5])
function("binary_cross_entropy", input=T("n C", values="inside"), target=S("input", values="inside"), **WEIGHT, **LEGACY)
function("binary_cross_entropy_with_logits", input=T("n C"), target=S("input", values="inside"), **WEIGHT,
         pos_weight=T("C", values="positive"), **LEGACY)
function("kl_div", input=T("n a?"), target=S("input", values="positive"), **{**LEGACY, "reduction": ["sum", "none", "batchmean"]},
         log_target=True)
function("poisson_nll_loss", input=T("*", values="positive"), target=S("input", values="positive"), log_input=False, full=True,
         eps=[0.1, 0.01], **LEGACY)
function("gaussian_nll_loss", input=T("n a? b"), target=S("input"), var=T("n a?", values="positive"), full=True, eps=[0.5, 0.1],
         reduction=["sum", "none"])
function("hinge_embedding_loss", input=T("*"), target=SIGNS, margin=[0.5, 2.0], **LEGACY)
function("margin_ranking_loss", input1=T("*"), input2=S("input1"), target=S("input1", "float", "sign"), margin=[0.5, 2.0], **LEGACY)
function("cosine_embedding_loss", input1=T("n F"), input2=S("input1"), target=T("n", "float", "sign"), margin=[0.5, -0.5], **LEGACY)
function("multi_margin_loss", input=T("N C"), target=T("N", "int", "index", "C"), p=2, margin=[0.5, 2.0], **WEIGHT, **LEGACY,
         check=no_empty)
function("multilabel_margin_loss", input=T("N C"), target=T("N C", "int", "labels", "C"), **LEGACY, check=no_empty)
function("multilabel_soft_margin_loss", input=T("n a? C"), target=S("input", values="inside"), **WEIGHT, **LEGACY)
function("triplet_margin_loss", anchor=T("n F"), positive=S("anchor"), negative=S("anchor"), **TRIPLET, **LEGACY)
function("triplet_margin_with_distance_loss", anchor=T("n F"), positive=S("anchor"), negative=S("anchor"),
         distance_function=DISTANCES, margin=[0.5, 2.0], swap=True, reduction=["sum", "none"])
function("linear_cross_entropy", input=T("n F"), linear_weight=W("C F", 1), target=T("n", "int", "index", "C"),
         linear_bias=W("C", 1), **{**LINEAR, **WEIGHT}, since="2.15")

# ---- functions: products, norms, activations

function("linear", input=T("a? b? c? F"), weight=W("O F"), bias=W("O"))
function("bilinear", input1=T("n F"), input2=T("n G"), weight=W("O F G"), bias=W("O"))
MATRIX = T("b? K:1-4 K", values="dominant")
function("linalg.det linalg.slogdet linalg.inv linalg.cholesky", A=MATRIX, upper=True)
function("det slogdet logdet inverse", input=MATRIX)
function("linalg.solve", A=MATRIX, B=T("b? K m"))
function("linalg.solve_triangular", A=MATRIX, B=T("b? K m"), upper=[True, False], unitriangular=True)
function("triangular_solve", b=T("b? K:1-4 m"), A=T("b? K K", values="dominant"), upper=False, transpose=True)
function("cholesky_solve", B=T("b? K:1-4 m"), L=T("b? K K", values="dominant"), input=T("b? K:1-4 m"), input2=T("b? K K", values="dominant"))
function("linalg.matrix_power", A=T("b? K:1-4 K", values="dominant"), n=[0, 1, 2, 3, -1])
function("linalg.matrix_exp", A=T("b? K:1-4 K"))
function("matrix_exp", input=T("b? K:1-4 K"))
function("linalg.eigvalsh", A=MATRIX, UPLO=["U"])
function("linalg.svdvals", A=T("b? K:1-4 M:1-4"), since="1.11")
function("linalg.cond", A=MATRIX, p=[2, -2, 1, math.inf, "fro", "nuc", -1])
function("linalg.pinv pinverse", A=MATRIX, input=MATRIX)
function("linalg.matrix_rank", A=MATRIX, hermitian=True)
function("linalg.solve_ex", A=MATRIX, B=T("b? K m"), since="1.13")
function("linalg.vander", x=T("* a:2-4"), N=[2, 3])
function("renorm", input=T("a b:2-3 c?"), p=[1.0, 2.0], dim=[0, 1], maxnorm=[0.5, 2.0])
function("nonzero_static", input=T("* a:1-3", "num", "grid"), size=[2, 5], fill_value=[0], since="2.1")
function("diagflat", input=T("* a:1-3"), offset=[1, -2])
function("linalg.matrix_exp matrix_exp", A=T("b? K:1-4 K"), input=T("b? K:1-4 K"))
function("linalg.matmul", input=T("b? m K"), other=T("K n"))
function("linalg.diagonal", A=T("a? b:2-4 c:2-4"), offset=[1, -1])
function("linalg.vecdot", x=T("* a"), y=S("x"), dim=DIM, since="2.0")
function("matmul", input=T("b? m K"), other=T("K n"))
function("mm", input=T("m K"), mat2=T("K n"))
function("bmm", input=T("b m K"), mat2=T("b K n"))
function("mv", input=T("m K"), vec=T("K"))
function("dot inner vdot", input=T("K"), other=T("K"), tensor=T("K"))
function("outer ger", input=T("a"), vec2=T("b"))
function("addmm", input=T("m n"), mat1=T("m K"), mat2=T("K n"), beta=[0.5, 0], alpha=[2, 0.25])
function("baddbmm", input=T("b m n"), batch1=T("b m K"), batch2=T("b K n"), beta=[0.5, 2], alpha=[2, 0.25])
function("addmv", input=T("m"), mat=T("m K"), vec=T("K"), beta=[0.5, 0], alpha=[2, 0.25])
function("addr", input=T("a b"), vec1=T("a"), vec2=T("b"), beta=[0.5, 0], alpha=[2, 0.25])
function("addbmm", input=T("m n"), batch1=T("B m K"), batch2=T("B K n"), beta=[0.5, 2], alpha=[2, 0.25])
function("tensordot", a=T("m 3 4"), b=T("3 4 n"), dims=[2, ([1, 2], [0, 1])])
EINSUM = {"b i K, b K j": ["bik,bkj->bij", "bik,bkj"], "a, b": ["i,j->ij", "i,j"], "a b": ["ij->ji", "ij->j", "ji", "...->..."],
          "I I": ["ii->i", "ii"], "i J, J": ["ij,j->i", "ij,j"], "b c i, b c i": ["bci,bci->bc", "...i,...i->...i"],
          "a B, B C, C d": ["ij,jk,kl->il"], "b h I, b J h": ["bhi,bjh->jbi"]}
function("einsum", equation=lambda d: d.pick(EINSUM[d.way]), operands=Each(list(EINSUM)))
function("layer_norm", input=T("* F:2-8"), normalized_shape=lambda d: (d.number("F"),), weight=W("F"), bias=W("F"), eps=EPS)
function("rms_norm", input=T("* F:2-8"), normalized_shape=lambda d: (d.number("F"),), weight=W("F"), eps=EPS, since="2.4")
function("group_norm", input=T("n C H:2-5 w?"), num_groups=groups, weight=W("C"), bias=W("C"), eps=EPS)
function("batch_norm", input=T("n C h? w?"), running_mean=T("C"), running_var=T("C", values="positive"), weight=T("C"),
         bias=T("C"), momentum=[0.5], eps=EPS)
function("instance_norm", input=T("n C L:3-5 w?"), running_mean=T("C"), running_var=T("C", values="positive"),
         weight=T("C"), bias=T("C"), use_input_stats=False, momentum=[0.5], eps=EPS,
         check=lambda d: d.refuse(d.args["use_input_stats"] and ("running_mean" in d.by_name or "running_var" in d.by_name)))
function("local_response_norm", input=T("n:1-4 C L W?"), size=[1, 2, 3, 5], alpha=[0.5, 0.01], beta=[0.5, 1.0], k=[2.0, 0.5])
function("normalize", input=T("n F"), p=[1.0, 3.0], dim=DIM, eps=[0.5, 1e-3])
function("scaled_dot_product_attention", query=T("b l E"), key=T("b s E"), value=T("b s V"), attn_mask=T("l s"),
         dropout_p=0.0, is_causal=True, scale=[0.5, 1.0], enable_gqa=False, since="2.5")

for name in ("relu", "relu6", "selu", "silu", "mish", "hardswish", "hardsigmoid", "sigmoid", "tanh", "softsign",
             "tanhshrink", "logsigmoid"):
    function(name, input=T("*"), **IN_PLACE)
function("leaky_relu", input=T("*"), negative_slope=[0.2, 0.125, 0, 1.5], **IN_PLACE)
function("elu celu", input=T("*"), alpha=[0.5, 2.0], **IN_PLACE)
function("gelu", input=T("*"), approximate="tanh")
function("softplus", input=T("*"), beta=[2.0, 0.5], threshold=[1.0, 2])
function("hardtanh", input=T("*"), min_val=[-0.5, 0.0], max_val=[0.5, 2.0], **IN_PLACE)
function("hardshrink", input=T("*", values="grid"), lambd=[0.3, 1.0])
function("softshrink", input=T("*"), lambd=[0.25, 1.0])
function("threshold", input=T("*", values="grid"), threshold=[0.1, -0.5, 0], value=[-1.0, 2, 0.0], **IN_PLACE)
function("softmax log_softmax softmin", input=T("*"), dim=DIM, dtype=FLOAT_DTYPE)
function("glu", input=T("4 b 6"), dim=[0, 2, -3])
function("prelu", input=T("n C l?"), weight=W("C"))
def no_chance(d):
    """What a call draws in training mode is the same each time."""
    d.refuse((d.args.get("training") or d.args.get("train")) and d.args["p"] not in (0.0, 1.0))


for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout"):
    shape = {"dropout1d": "n? c l", "dropout2d": "n c h w", "dropout3d": "n? c d h w"}.get(name, "n c *")
    function(name, input=T(shape), p=[0.0, 0.25] if "alpha" in name else [0.0, 1.0, 0.25], training=[False, True],
             train=[False, True], **IN_PLACE, check=no_chance, since="2.0" if name == "dropout1d" else None)
function("rrelu", input=T("*"), lower=[0.25], upper=[0.5, 1.0], **IN_PLACE)
function("embedding", input=I("*", "V"), weight=W("V F"), padding_idx=[0, -1], norm_type=1.0, scale_grad_by_freq=True,
         sparse=True)
function("embedding_bag", input=I("n k", "V"), weight=W("V F"), norm_type=1.0, scale_grad_by_freq=True,
         mode=["sum", "max"], sparse=True, padding_idx=[0, 1, -1])
function("one_hot", tensor=I("*", "V"), num_classes=size_of("V"), check=lambda d: d.refuse(d.args["num_classes"] == -1))
function("pixel_shuffle", input=T("n? 12 h w"), upscale_factor=[2, 1])
function("pixel_unshuffle", input=T("N? C 6 4"), downscale_factor=[2, 1])
function("channel_shuffle", input=T("n 6 h w"), groups=[2, 3, 6])
function("pad", input=T("* a:2-6 b:2-6"), pad=[(1, 2), (1, 0, 2, 1), (-1, 1)], mode=["reflect", "replicate", "circular"], value=[1.5, -1])
function("cosine_similarity", x1=T("n 4 a?"), x2=S("x1"), dim=DIM, eps=[0.5, 1e-6], since="2.0")
function("pairwise_distance", x1=T("n F"), x2=S("x1"), p=[1.0, 3.0], eps=[0.1, 1e-3], keepdim=True)

# ---- choices, indices, joining

function("where", condition=B("input", "bool"), input=T("*", "num"), other=B("input", "num"))
function("masked_fill", input=T("*", "num"), mask=B("input", "bool"), value=[0, 1, 2])
function("clamp clip", input=T("*", "num", "grid"), min=[-1, -0.5, 0], max=[1, 0.5, 2])
function("clamp_min", input=T("*", "num", "grid"), min=[-1, -0.5, 0])
function("clamp_max", input=T("*", "num", "grid"), max=[1, 0.5, 2])
function("cat concat concatenate", tensors=Several("cat", "num"), dim=DIM)
function("stack", tensors=Several("stack", "num"), dim=DIM)
function("hstack vstack", tensors=Several("stack", "num"))
function("gather", input=T("A b c?", "num"), dim=0, index=T("d b c?", "int", "index", "A"), sparse_grad=True)
function("index_select", input=T("A b c?", "num"), dim=0, index=I("k", "A"))
function("select", input=T("A b c?", "num"), dim=[0, 0], index=lambda d: d.pick([0, -1, d.number("A") - 1]))
function("narrow", input=T("A:2-6 b c?", "num"), dim=0, start=[0, 1], length=1)
function("take_along_dim", input=T("A b", "num"), indices=T("d b", "int", "index", "A"), dim=0)
function("scatter", input=T("A b"), dim=0, index=T("1 b", "int", "index", "A"), src=T("2 b"), value=[1, 2.5],
         check=lambda d: d.refuse(("value" in d.args and d.args["value"] is not None) == ("src" in d.by_name)))
function("scatter_reduce", input=T("A b"), dim=0, index=T("d b", "int", "index", "A"), src=T("d b"),
         reduce=["sum", "prod", "mean", "amax", "amin"], include_self=False)
function("cummax cummin", input=T("*", "num", "grid"), dim=DIM)
function("logcumsumexp", input=T("*"), dim=DIM)
function("quantile nanquantile", input=T("a b c?"), q=[0.0, 0.25, 0.6, 1.0], dim=DIM, keepdim=True,
         interpolation=["lower", "higher", "nearest", "midpoint"])
function("nanmedian", input=T("a b:2-5 c?"), dim=DIM, keepdim=True)
function("isin", elements=T("*", "int"), test_elements=T("a", "int"), invert=True)
function("kron", input=T("a b?", "num"), other=T("b? c", "num"))
function("cdist", x1=T("n? a b"), x2=B("x1"), p=[0, 1, 1.5, 2.0, 3.0, math.inf])
function("pdist", input=T("4 b"), p=[1.0, 2.0])
function("block_diag", tensors=Each(["a b, b", "a b, a 1", "1, b a, a b"], "num"))
function("cartesian_prod", tensors=Each(["a, b", "a, b, c"], "num"))
function("combinations", input=T("4", "num"), r=[1, 3], with_replacement=True)
function("cross", input=T("n? 3 b", "num"), other=S("input"), dim=-2)
function("vander", x=T("a"), N=[2, 3], increasing=True)
function("rot90", input=T("a b c?", "num"), k=[-1, 0, 2, 3], dims=[(1, 0), (0, 1)])
function("trapezoid cumulative_trapezoid", y=T("a b:2-5"), dx=[0.5, 2], dim=[0, 1])
function("cov", input=T("A b:3-6"), correction=[0, 1])
function("tril_indices triu_indices", row=[0, 3], col=[2, 4], offset=[-1, 2])
function("select_scatter", input=T("A b"), src=T("b"), dim=0, index=[0, -1])
function("masked_scatter", input=T("a b"), mask=S("input", "bool"), source=S("input"))
function("index_reduce", input=T("A b"), dim=0, index=T("1", "int", "index", "A"), source=T("1 b"),
         reduce=["prod", "mean", "amax", "amin"], include_self=False)
function("put", input=T("A"), index=I("1", "A"), source=T("1"), accumulate=True)
function("float_power", input=T("*", "num"), exponent=[0.5, 2, 3])
function("positive", input=T("*", "num"))
function("index_fill", input=T("A b c?", "num"), dim=0, index=I("k", "A"), value=[0, 1])
function("take", input=T("A"), index=I("*", "A"))
function("adjoint", input=T("n? a b", "num"))
function("fliplr", input=T("a b c?", "num"))
function("flipud", input=T("a b? c?", "num"))
function("diag_embed", input=T("n? A"), offset=[1, -1], dim1=[0, -1], dim2=[1, 0])
function("trace", input=T("A B", "num"))
function("split_with_sizes", input=T("c? 5 b", "num"), split_sizes=[(2, 3), (1, 0, 4), (5,)], dim=lambda d: d.where(5))
function("row_stack dstack", tensors=Several("stack", "num"))
function("column_stack", tensors=Several("stack", "num"))
function("atleast_1d atleast_2d atleast_3d", tensors=T("*", "num"))
function("broadcast_tensors", tensors=Each(["a b, b", "a b, a 1, 1", "1 c? a, b 1"], "num"))
function("meshgrid", tensors=Each(["a", "a, b", "a, b, c"], "num"), indexing=["xy", "ij"])
function("scatter_add", input=T("A b"), dim=0, index=T("d b", "int", "index", "A"), src=T("d b"))
function("index_add index_copy", input=T("A b c?"), dim=0, index=T("1", "int", "index", "A"), source=T("1 b c?"), alpha=[2, 0.5])
function("unfold", input=T("n C H:4-7 W:4-7"), dimension=[2, -1], size=[1, 2, 3], step=[1, 2],
         kernel_size=windows(2, 1, 3), dilation=windows(2, 1, 2), padding=windows(2, 0, 1), stride=windows(2, 1, 2))
function("flip", input=T("*", "num"), dims=lambda d: d.axes())
function("roll", input=T("A:2-6 B:2-6 c?", "num"), shifts=[1, -1, 2, 7], dims=lambda d: d.pick([0, 1]))
function("repeat", input=T("a b", "num"), repeats=[(2, 1), (1, 2, 3), (1, 1)])
function("repeat_interleave", input=T("a B c?", "num"), repeats=[2, 3, 1], dim=lambda d: d.pick([1, -1]))
function("tile", input=T("a b", "num"), dims=[(2, 1), (1, 2, 3), (1, 1)])
function("tril triu", input=T("c? A B", "num"), diagonal=[1, -1, 2])
function("diag", input=T("A b?"), diagonal=[1, -1])
function("diagonal", input=T("A B c?"), offset=[1, -1, 0], dim1=[1, 0], dim2=[0, -1])
function("split", tensor=T("A:2-6 B:2-6 c?", "num"), split_size_or_sections=[2, 1, 3], split_size=[2, 1, 3], dim=[0, 1, -2])
function("chunk", input=T("A:2-6 B c?", "num"), chunks=[1, 2, 3], dim=lambda d: d.pick([0, 1]))
function("tensor_split", input=T("A:2-6 B:2-6 c?", "num"), indices_or_sections=[2, 3, (1, 2)], dim=[0, 1, -2])
function("hsplit vsplit", input=T("A B c?", "num"), indices_or_sections=[1, (1, 2)], indices=[1, (1, 2)])
function("dsplit", input=T("a b C", "num"), indices_or_sections=[1, (1, 2)], indices=[1, (1, 2)])
function("unravel_index", indices=T("* a", "int", "labels"), shape=[(2, 3, 4), 24, (4, 6)], since="2.2")
function("gcd lcm", input=T("* a", "int"), other=B("input", "int"))
function("nextafter", input=T("* a"), other=B("input"))
function("frexp", input=T("* a"))
function("as_tensor", data=T("* a", "num"), dtype=DTYPE)
function("histogram", input=T("* a"), bins=[1, 3, 5], range=[(-1.0, 1.5)], weight=S("input"), density=True)
function("unbind", input=T("A:1-4 B:1-4 c?", "num"), dim=lambda d: d.pick([0, 1]))

# ---- shapes and types

function("reshape view", input=T("*", "num"), shape=lambda d: d.new_shape())
function("flatten", input=T("*", "num"), start_dim=DIM, end_dim=DIM)
function("ravel", input=T("*", "num"))
function("unflatten", input=T("n? 12 a?", "num"), dim=lambda d: d.where(12), sizes=[(3, 4), (2, -1), (2, 3, 2), (12,)])
function("permute", input=T("*", "num"), dims=lambda d: d.order())
function("transpose swapaxes swapdims", input=T("*", "num"), dim0=DIM, dim1=DIM, axis0=DIM, axis1=DIM)
function("movedim moveaxis", input=T("*", "num"), source=DIM, destination=DIM)
function("t", input=T("a? b?", "num"))
function("unsqueeze", input=T("*", "num"), dim=lambda d: d.random.randint(-d.rank() - 1, d.rank()))
function("squeeze", input=T("1 A? 1 B?", "num"), dim=lambda d: d.pick([0, d.axis()]))
function("expand", input=T("1 a? 1", "num"), size=lambda d: tuple(d.pick([-1, 3] if s == 1 else [-1]) for s in d.shape()))
function("broadcast_to", input=T("1 A 1", "num"), size=lambda d: (3, d.number("A"), 2))
function("expand_as", input=T("1 a"), other=T("b a"))
function("view_as reshape_as", input=T("a b", "num"), other=T("b a", "num"))
function("size", input=T("*", "num"), dim=DIM, check=lambda d: d.refuse(d.rank() == 0))
function("numel nelement dim ndimension is_floating_point is_complex is_signed element_size", input=T("*", "num"))
function("clone contiguous detach alias", input=T("*", "num"))
function("float double half bfloat16 long int short bool char byte", input=T("*", "num", "whole"))
function("to type", input=T("*", "num", "whole"), dtype=DTYPE)
function("type_as", input=T("*", "num", "whole"), other=T("a", "num"))

# ---- reductions

function("sum nansum", input=T("*", "num"), dim=DIMS, keepdim=True, dtype=DTYPE)
function("mean nanmean", input=T("*"), dim=DIMS, keepdim=True, dtype=FLOAT_DTYPE)
function("prod", input=T("*", "num", "small"), dim=DIM, keepdim=True, dtype=DTYPE)
function("amax amin", input=T("*", "num"), dim=DIMS, keepdim=True)
function("any all", input=T("*", "num", "whole"), dim=DIM, keepdim=True)
function("argmax argmin", input=T("*", "num", "grid"), dim=DIM, keepdim=True,
         check=lambda d: d.refuse(d.by_name["input"].kind == "bool"))  # PyTorch takes it along one element alone
function("max min", input=T("*", "num", "grid"), dim=DIM, keepdim=True)
VARIANCE = dict(dim=DIMS, correction=[0, 2], unbiased=False, keepdim=True, since={"correction": "2.0"},
                check=lambda d: d.refuse(d.due != "correction" and d.args.get("correction") in (0, 2) and d.chance(0.3)))  # or `unbiased`
function("var std", input=T("* a:3-6"), **VARIANCE)
function("var_mean std_mean", input=T("* a:3-6"), **VARIANCE)
function("aminmax", input=T("*", "num", "grid"), dim=DIM, keepdim=True,
         check=lambda d: d.refuse(d.rank() == 0 and not is_here("2.0")))  # which kept a dimension of none
function("linalg.vector_norm", x=T("* a"), input=T("* a"), ord=[1, 3, math.inf, -math.inf, 0], dim=DIMS, keepdim=True,
         dtype=FLOAT_DTYPE)
function("linalg.norm", A=T("* a:2-4"), input=T("* a:2-4"), ord=[1, math.inf], dim=DIM, keepdim=True, dtype=FLOAT_DTYPE)
function("linalg.matrix_norm", A=T("* A:2-4 B:2-4"), input=T("* A:2-4 B:2-4"), ord=[1, -1, math.inf, "fro", 2, "nuc"],
         dim=[(0, 1), (-1, -2)], keepdim=True, dtype=FLOAT_DTYPE,
         check=lambda d: d.refuse(d.args.get("dim") == (0, 1) and d.rank() > 2))  # some take no matrices of run-time sizes
function("dist", input=T("*"), other=B("input"), p=[1, 3])  # of nothing PyTorch 1.13 has a largest one, later ones have none
function("msort", input=T("A b?", values="distinct"))
function("diff", input=T("A:3-6", "num", "whole"), n=[2, 0], dim=0, prepend=[None], append=[None])
function("norm", input=T("*"), p=[1, 3, 2.0, math.inf], dim=DIMS, keepdim=True, dtype=FLOAT_DTYPE)
function("logsumexp", input=T("*"), dim=DIMS, keepdim=True)
function("cumsum cumprod", input=T("*", "num", "small"), dim=DIM, dtype=DTYPE)
function("logcumsumexp", input=T("*"), dim=DIM)
function("cummax cummin", input=T("*", "num", "distinct"), dim=DIM)
function("count_nonzero", input=T("*", "num", "whole"), dim=DIMS)
function("topk", input=T("A:2-7 b?", values="distinct"), k=[1, 2], dim=0, largest=False, sorted=True)
function("sort", input=T("A b?", values="distinct"), dim=DIM, descending=True, stable=True)
function("argsort", input=T("A b?", values="distinct"), dim=DIM, descending=True, stable=True, since={"stable": "2.0"})
function("kthvalue", input=T("A:2-7 b?", values="distinct"), k=[1, 2], dim=0, keepdim=True)
function("median nanmedian", input=T("A b?", values="distinct"), dim=DIM, keepdim=True)

# ---- elementwise

for name in ("exp exp2 expm1 sinh cosh", ):
    function(name, input=T("*", "num", "small"))
for name in ("log log2 log10 log1p sqrt rsqrt reciprocal digamma lgamma", ):
    function(name, input=T("*", values="positive"))
for name in ("sin cos tanh sigmoid erf erfc atan arctan sinc asinh arcsinh", ):
    function(name, input=T("*", "num", "small"))
for name in ("tan asin arcsin acos arccos atanh arctanh erfinv", ):
    function(name, input=T("*", values="unit"))
function("acosh arccosh", input=T("*", values="above"))
function("logit", input=T("*", values="inside"), eps=[0.1, 0.25])
function("square neg negative positive", input=T("*", "signed"))
function("abs absolute sign sgn", input=T("*", "signed", "grid"))
function("floor ceil trunc fix", input=T("*", "floats", "grid"))
function("round", input=T("*", "floats", "grid"), decimals=[1, 0])
function("frac", input=T("*", "floats", "grid"))
function("isnan isinf isfinite isneginf isposinf signbit logical_not", input=T("*", "num", "whole"))
function("bitwise_not", input=T("*", "ints", "whole"))
function("isreal", input=T("*", "num", "whole"))
function("heaviside", input=T("*", "num", "grid"), values=S("input"))
function("ldexp", input=T("*", "num", "whole"), other=B("input", "num", "whole"))

# torch.special, which 1.13 has not all of

def special(names, **arguments):
    function(" ".join(f"special.{name}" for name in names.split()), **arguments)


special("exp2 expm1 sinc erf erfc expit i0 i0e i1 i1e ndtr log_ndtr erfcx", input=T("*", values="small"))
special("bessel_j0 bessel_j1 modified_bessel_i0 modified_bessel_i1 spherical_bessel_j0 airy_ai", input=T("*", values="small"))
special("bessel_y0 bessel_y1", input=T("*", values="inside"))  # above 1 PyTorch's are not exact in double
special("modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 log1p "
        "entr digamma psi gammaln", input=T("*", values="positive"))
function("i0", input=T("*", "num", "small"))
special("erfinv", input=T("*", values="unit"))
special("ndtri", input=T("*", values="inside"))
special("logit", input=T("*", values="inside"), eps=[0.1, 0.25])
special("round", input=T("*", "floats", "grid"), decimals=[1, 0])
special("xlogy xlog1py", input=T("*"), other=B("input", values="positive"))
special("zeta", input=T("*", values="above"), other=B("input", values="positive"))
function("special.gammainc special.gammaincc igamma igammac", input=T("*", values="positive"), other=B("input", values="positive"))
function("polygamma special.polygamma", n=[0, 2, 3], input=T("*", values="positive"))  # PyTorch's of 1 is 1e-10 off in double
function("mvlgamma special.multigammaln", input=T("*", values="above"), p=[1, 2])
special("logsumexp", input=T("*"), dim=DIMS, keepdim=True)
special("softmax log_softmax", input=T("* a"), dim=DIM, dtype=FLOAT_DTYPE)
special("chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
        "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t "
        "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w", input=T("*", values="unit"), n=[0, 1, 2, 5])
function("nan_to_num", input=T("*"), nan=1.0, posinf=2.0, neginf=-2.0)
function("deg2rad rad2deg", input=T("*"))
function("renorm", input=T("a:2-5 * b:2-4"), p=[1, 2.0, 3], dim=[0, -1], maxnorm=[0.5, 2.0])
BINARY = dict(input=T("*", "num"), other=B("input", "num"))
function("minimum maximum", input=T("*", "num", "grid"), other=B("input", "num", "grid"))  # with ties
function("add sub subtract rsub", **{**BINARY, "input": T("*", "signed"), "other": B("input", "signed")}, alpha=[2, 3])
function("mul multiply", **BINARY)
function("fmax fmin", **BINARY)
function("div divide true_divide", input=T("*", "num"), other=B("input", values="positive"),
         rounding_mode=["floor", "trunc"])
function("floor_divide remainder fmod", input=T("*", "num", "whole"), other=[2, 3, -3, 2.5], since="2.0")
function("pow", input=T("*", "floats", "positive"), exponent=lambda d: d.pick([2, 3, -1, 0.5, 2.5]))
function("float_power", input=T("*", "floats", "positive"), exponent=lambda d: d.pick([2, 3, -1, 0.5, 2.5]))
function("atan2 arctan2", input=T("*", values="positive"), other=B("input"))
function("hypot", input=T("*"), other=B("input"))
function("logaddexp logaddexp2", input=T("*"), other=B("input"))
function("xlogy", input=T("*"), other=B("input", values="positive"))
function("copysign", input=T("*"), other=B("input", values="grid"))
function("lerp", input=T("*"), end=B("input"), weight=[0.25, 0.75])
function("addcmul", input=T("*"), tensor1=B("input"), tensor2=B("input"), value=[0.5, 2])
function("addcdiv", input=T("*"), tensor1=B("input"), tensor2=B("input", values="positive"), value=[0.5, 2])
function("eq ne lt le gt ge not_equal less less_equal greater greater_equal", input=T("*", "num", "grid"),
         other=B("input", "num", "grid"))
function("isclose", input=T("*", "float", "grid"), other=B("input", "float", "grid"),
         rtol=[0.1], atol=[0.1, 0.3], equal_nan=True)
function("logical_and logical_or logical_xor", input=T("*", "num", "whole"), other=B("input", "num", "whole"))
function("bitwise_and bitwise_or bitwise_xor", input=T("*", "ints"), other=B("input", "ints"))
function("bitwise_left_shift bitwise_right_shift", input=T("*", "ints"), other=[1, 2])
function("requantize", input=T("*", "int32"), multiplier=[2 ** 30, 2 ** 31 - 1, -1518500250], shift=[0, 1, 3])

# ---- returns

def factor(d):
    """gamma and the like: a number, or one for each step."""
    return d.pick([0.9, 0.5, 1.0, Text(f"{d.by_name['reward'].name}.sigmoid()")])


MASK = S("reward", "bool")
STEPS = dict(gamma=factor, reward=T("a?:1-4 S:1-9 b:1-3"), next_state_value=S("reward"), terminated=MASK)
TIME = dict(done=MASK, time_dim=DIM)
function("td0_return_estimate", **STEPS, done=MASK)
function("td0_advantage_estimate", **STEPS, state_value=S("reward"), done=MASK)
function("td1_return_estimate", **STEPS, **TIME)
function("td1_advantage_estimate", **STEPS, **TIME, state_value=S("reward"))
function("td_lambda_return_estimate", **STEPS, **TIME, lmbda=factor)
function("td_lambda_advantage_estimate", **STEPS, **TIME, lmbda=factor, state_value=S("reward"))
function("generalized_advantage_estimate", **STEPS, **TIME, lmbda=factor, state_value=S("reward"))
function("vtrace_advantage_estimate", **STEPS, **TIME, state_value=S("reward"), log_pi=S("reward"), log_mu=S("reward"),
         rho_thresh=[2.0, 0.5], c_thresh=[1.5, 0.5])
function("reward2go", gamma=factor, reward=STEPS["reward"], done=MASK, time_dim=DIM)

# ---- new tensors

function("arange", start=[0, 1, -2, 5], end=[7, 6.5, 9], step=[2, 3, 0.5], dtype=DTYPE,
         check=lambda d: d.refuse(d.args["end"] == 6.5 and "int" in str(d.args.get("dtype"))))  # 1.13 rounds the end first
function("tensor", data=[[1, 2, 3], [[0.5, 1.0], [2.0, 4.0]], 3, 2.5, [True, False]], dtype=DTYPE)
function("full", size=shape_of([1, 2, 3]), fill_value=[1, 2.5, -3, True], dtype=DTYPE)
function("zeros ones", size=shape_of([1, 2, 3]), dtype=DTYPE)
function("zeros_like ones_like", input=T("*", "num"), dtype=DTYPE)
function("full_like", input=T("*", "num"), fill_value=[1, 3], dtype=DTYPE)
function("logspace", start=[0, -1.5], end=[1, 0.5], steps=[1, 2, 5], base=[2.0, 3.0], dtype=FLOAT_DTYPE)
function("new_zeros new_ones", input=T("*", "num"), size=shape_of([1, 2, 3]), dtype=DTYPE)
function("new_full", input=T("*", "num"), size=shape_of([1, 2]), fill_value=[1, 3], dtype=DTYPE)
function("new_tensor", input=T("*", "num"), data=[[1, 2, 3], [[1, 0], [2, 4]], 3], dtype=DTYPE)
function("linspace", start=[0, -1.5], end=[1, 2.5], steps=[1, 2, 5, 8], dtype=FLOAT_DTYPE)
function("eye", n=[1, 3, 4], m=[2, 3, 5], dtype=DTYPE)

# Rows whose gradients are not compared, and why.
NO_GRADIENTS = {
    "CrossMapLRN2d": "PyTorch's own backward sums over channels that lie one beside those of forward",
}

# Rows, arguments (`ROW.ARGUMENT`) and places (`torch.NAME`) that are not drawn, and why.
NORM = ["ortho", "forward"]
function("fft.hfft fft.irfft", input=T("A:2-9 B?"), n=[4, 7, 34], dim=[0], norm=NORM)
function("fft.hfft2 fft.irfft2 fft.hfftn fft.irfftn", input=T("n? A:2-5 B:2-9"), s=[(3, 8), (6, 9)], dim=[(-1, -2)], norm=NORM)
function("fft.fftshift fft.ifftshift", input=T("* a", "num"), dim=DIMS)
function("fft.fftfreq fft.rfftfreq", n=[5, 8], d=[0.5, 2.0], dtype=FLOAT_DTYPE)
function("hann_window blackman_window bartlett_window", window_length=[1, 5, 8], periodic=False, dtype=FLOAT_DTYPE)
function("hamming_window", window_length=[1, 5, 8], periodic=False, dtype=FLOAT_DTYPE)
function("kaiser_window", window_length=[1, 5, 8], periodic=False, beta=[3.0], dtype=FLOAT_DTYPE)
function("real is_complex conj resolve_conj", input=T("*", "num"))
function("angle", input=T("*", "num", "sign"))

function("grid_sample", input=T("n C H:1-5 W:2-5"), grid=T("n p:1-4 q:1-4 2"), mode=["bicubic", "nearest"], padding_mode=["border", "reflection"],
         align_corners=True)
function("affine_grid", theta=T("2 2 3"), size=[(2, 3, 2, 4), (2, 1, 1, 3)], align_corners=True)

function("ops.box_area", boxes=T("n 4"))
function("ops.box_iou", boxes1=T("n 4", values="distinct"), boxes2=T("m 4", values="distinct"))
function("ops.box_convert", boxes=T("* 4"), in_fmt=["xyxy", "xywh", "cxcywh"], out_fmt=["xyxy", "xywh", "cxcywh"])
function("ops.clip_boxes_to_image", boxes=T("* 4"), size=[(1, 2), (3, 1)])
function("ops.nms", boxes=T("n 4", values="distinct"), scores=T("n", values="distinct"), iou_threshold=[0.2, 0.6], max_output=[2, 5])

function("pdist", input=T("A:1-6 b"), p=[1.0, 3.0, math.inf])
function("conv_tbc", input=T("T:4-9 b C"), weight=T("K:1-3 C O"), bias=T("O"), pad=[1, 2])

COMPLEX = [f"fft.{name}{many}" for name in ("fft", "ifft", "rfft", "ihfft") for many in ("", "2", "n")]
COMPLEX += ["view_as_real", "view_as_complex", "complex", "polar", "imag", "stft", "istft", "cfloat", "cdouble"]

SECOND_NAMES = [f"{name}_copy" for name in (
    "alias", "detach", "diagonal", "expand", "narrow", "permute", "select", "slice", "split", "split_with_sizes", "squeeze", "t",
    "transpose", "unbind", "unfold", "unsqueeze", "view", "as_strided")]
SECOND_NAMES += [f"unsafe_{name}" for name in ("chunk", "split", "split_with_sizes")]
SECOND_NAMES += [f"{name}_with_indices" for name in (
    *(f"adaptive_max_pool{n}d" for n in (1, 2, 3)), *(f"max_pool{n}d" for n in (1, 2, 3)), "fractional_max_pool2d",
    "fractional_max_pool3d")]
SECOND_NAMES += ["constant_pad_nd", "native_channel_shuffle", "nuclear_norm", "asarray", "layer_norm.cudnn_enable",
                 "group_norm.cudnn_enabled", "embedding.indices", "triangular_solve.input"]
FACTORS = ["linalg.tensorsolve", "linalg.polar", "linalg.matrix_sqrth", "linalg.householder_product", "orgqr", "ormqr",
           "linalg.multi_dot", "chain_matmul", "linalg.lu_factor_ex", "lu", "lu_unpack", "linalg.lu_solve", "lu_solve",
           "linalg.solve_ex.left", "linalg.solve_ex.check_errors", "linalg.pinv.rcond", "linalg.pinv.hermitian",
           "linalg.pinv.atol", "linalg.pinv.rtol", "pinverse.rcond", "linalg.matrix_rank.tol", "linalg.matrix_rank.atol",
           "linalg.matrix_rank.rtol"]

NOT_DRAWN = {
    **{name: "random_generation.py draws models of it" for name in ("cached_attention", "last")},
    **{name: "reads what other calls kept; the vectors mamba_* and lstm_* and the T5 of tests/generation have it"
       for name in ("cached_scan", "recent", "carried", "carry", "remember", "cross_attention")},
    **{name: "its operands have to fit each other; tests/layers has it" for name in ("broadcast_shapes", "sum_to_size", *FACTORS)},
    **{name: "is known while generating; tests/layers has it"
       for name in ("scalar_tensor", "get_default_dtype", "is_tensor", "is_same_size", "is_signed", "element_size")},
    **{name: "random numbers, which differ; tests/layers has its shape and range"
       for name in ("rand", "randn", "rand_like", "randn_like", "randperm", "randint", "randint_like", "uniform_", "normal_",
                    "bernoulli_", "exponential_", "bernoulli", "normal", "random_", "geometric_", "log_normal_", "cauchy_",
                    "multinomial")},
    **{name: "changes what it is given; tests/layers has it"
       for name in ("copy_", "fill_", "fill", "zero_", "fill_diagonal_", "conj_physical_")},
    **{name: "its operands have to fit each other; tests/layers has it"
       for name in ("slice_scatter", "diagonal_scatter", "index_put", "mode", "searchsorted", "bucketize", "bincount", "histc",
                    "linalg.cross", "as_strided", "corrcoef")},
    **{name: "changes no result, or only behind other arguments; tests/layers has it"
       for name in ("isin.assume_unique", "tril_indices.dtype", "triu_indices.dtype", "trapezoid.x", "cumulative_trapezoid.x",
                    "cov.fweights", "cov.aweights", "cdist.compute_mode")},
    **{name: "gives what it is given, or is another one's name; tests/layers has it"
       for name in ("conj_physical", "resolve_neg", "trapz", *SECOND_NAMES)},
    **{name: "of complex tensors; tests/layers has it" for name in COMPLEX},
    **{name: "tells how a tensor is; tests/layers has it"
       for name in ("stride", "is_contiguous", "element_size", "is_same_size", "is_tensor")},
    **{name: "its operands have to fit each other; tests/layers has it"
       for name in ("fake_quantize_per_channel_affine", "fused_moving_avg_obs_fake_quant")},
    **{name: "is known while generating; tests/layers has it" for name in ("QConfig", "get_default_qat_qconfig")},
    **{f"{name}MinMaxObserver.is_dynamic": "is refused" for name in ("PerChannel", "MovingAveragePerChannel")},
    "FakeQuantize.ch_axis": "goes with observers of channels; tests/layers has it",
    "FusedMovingAvgObsFakeQuantize": "is for float32 alone; tests/layers has it",
    "ops.generalized_box_iou": "divides by areas that may be 0; tests/layers has it",
    **{f"ops.{name}": "its regions have to be in the image; tests/layers has it"
       for name in ("batched_nms", "roi_align", "roi_pool")},
    "hamming_window.alpha": "only behind periodic; tests/layers has it",
    "hamming_window.beta": "only behind periodic; tests/layers has it",
    "Sequential": "containers hold the rows in every drawn tree",
    "ModuleList": "containers hold the rows in every drawn tree",
    "ModuleDict": "containers hold the rows in every drawn tree",
    "ParameterList": "a container; never called",
    "ParameterDict": "a container; never called",
    "Hardtanh.min_value": "PyTorch's own name of before, with a warning",
    "Hardtanh.max_value": "PyTorch's own name of before, with a warning",
    "scatter.reduce": "scatter_reduce has it",
    "repeat_interleave.output_size": "a hint",
    "to.non_blocking": "means nothing here",
    "to.copy": "means nothing here",
    "empty": "holds anything",
    "empty_like": "holds anything",
    "new_empty": "holds anything",
    "topk.sorted": "False leaves their order open",
    **{f"{lazy}ConvTranspose{n}d.padding_mode": "'zeros' is all there is" for lazy in ("", "Lazy") for n in (1, 2, 3)},
    **{name: "where indices are equal, which value is left is not said; tests/layers has it" for n in (1, 2, 3)
       for name in (f"MaxUnpool{n}d", f"max_unpool{n}d")},
    "max.other": "maximum, by another name",
    "min.other": "minimum, by another name",
    "EmbeddingBag.include_last_offset": "for offsets, which tests/layers has",
    "embedding_bag.max_norm": "writes the weight; the layers have it",
    "embedding_bag.offsets": "have to rise; tests/layers has them",
    "embedding_bag.per_sample_weights": "only with mode='sum'; tests/layers has them",
    "embedding_bag.include_last_offset": "for offsets, which tests/layers has",
    "scaled_dot_product_attention.dropout_p": "random",
    "rrelu.training": "random",
    "scaled_dot_product_attention.enable_gqa": "of other shapes; tests/layers has it",
    "interpolate.antialias": "of constant sizes alone; tests/layers has it",
    "gumbel_softmax": "random; tests/layers has it where its numbers decide nothing",
    **{name: "its windows are random in both modes; tests/layers has it with samples that are given" for n in (2, 3)
       for name in (f"FractionalMaxPool{n}d", f"fractional_max_pool{n}d")},
    "MultiStep": "never called",
    "Extern": "its body is the user's; tests/api has it",
    **{f"MultiheadAttention.{argument}": reason for argument, reason in (
        ("dropout", "random"), ("kdim", "of other shapes; tests/layers has it"), ("vdim", "of other shapes; tests/layers has it"))},
    **{f"{name}.dropout": "random" for name in ("TransformerEncoderLayer", "TransformerDecoderLayer")},
    **{name: "made of modules; tests/layers has it" for name in ("TransformerEncoder", "TransformerDecoder", "Transformer")},
    "Transformer.generate_square_subsequent_mask": "a static method; tests/layers has it",
    **{f"{name}.rolling_gamma": "None and True, which mean the same, are all that is taken" for name in returns.NAMES
       if name.startswith(("td1", "td_lambda"))},
    "batch_norm.training": "writes buffers, as the layers do",
    "SyncBatchNorm.process_group": "None is all there is",
    "finfo": "of a type, known while generating",
    "iinfo": "of a type, known while generating",
    "result_type": "a type, known while generating",
    "promote_types": "a type, known while generating",
    "LinearCrossEntropyLoss.out_features": "of other targets; tests/layers has it",
    "LinearCrossEntropyLoss.options": "None is all there is",
    "linear_cross_entropy.options": "None is all there is",
    "embedding.max_norm": "writes the weight; the layers have it",
    **{name: "tests/layers has it" for name in (
        "view.dtype", "linalg.svd", "svd", "linalg.svdvals.driver", "linalg.lstsq", "linalg.lu_factor", "linalg.cholesky_ex", "linalg.inv_ex",
        "linalg.tensorinv", "cholesky_inverse", "linalg.qr", "linalg.lu", "linalg.eigh", "matrix_power", "linalg.solve.left",
        "linalg.solve_triangular.left", "triangular_solve.unitriangular", "cholesky_solve.upper", "linalg.diagonal.dim1",
        "linalg.diagonal.dim2")},
}


def catalogue_of(modc):
    """What `modc layers --format json` prints: by name the rows that have it, of which torch and its methods may each have
    one; ops by name."""
    done = subprocess.run([*modc, "layers", "--format", "json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    catalogue = {"layers": {}, "functions": {}, "ops": {op["name"]: op for op in found["ops"]}}
    for kind in ("layers", "functions"):
        for row in found[kind]:
            catalogue[kind].setdefault(row["name"], []).append(row)
    return catalogue


def known(line, catalogue):
    """Its rows of the catalogue, if this version of torch has them."""
    if line.name in NOT_DRAWN or not (isinstance(line.since, dict) or is_here(line.since)):
        return []
    return catalogue["layers" if line.kind == "layer" else "functions"].get(line.name, [])


def optional(line, row):
    """Arguments that have a default and are drawn."""
    since = line.since if isinstance(line.since, dict) else {}
    return [argument["name"] for argument in row["arguments"] if argument["default"] is not None and argument["name"] in
            line.arguments and f"{line.name}.{argument['name']}" not in NOT_DRAWN and is_here(since.get(argument["name"]))]


# Their arguments exclude each other, or are refused beside others.
OFTEN = {"Upsample", "interpolate", "upsample", "scaled_dot_product_attention", "rrelu", "var", "std", "var_mean", "std_mean",
         "MaxPool1d", "MaxPool2d", "MaxPool3d", "LazyConvTranspose1d", "pad"}


def turns(line, row, places):
    """The places of a row, as often as each is drawn in turn: what has arguments in one place alone comes twice."""
    return places * ((2 if len(places) == 1 and optional(line, row) else 1) + (line.name in OFTEN))


def draws_of(catalogue):
    """[(line, row, place)]: what is drawn in turn."""
    found = [(line, row, ["layer"]) for line in LAYERS.values() for row in known(line, catalogue)
             if has(torch.nn, line.name) or has(torch.ao.quantization, line.name) or has(torch.ao.nn, line.name)]
    found += [(line, row, [place for place in row["places"] if f"{place}.{line.name}" not in NOT_DRAWN
                           and has(PLACES[place], line.name)]) for line in FUNCTIONS.values() for row in known(line, catalogue)]
    return [(line, row, place) for line, row, places in found for place in turns(line, row, places)]


def due(line, row, number):
    """The argument that a turn has to give: each in turn; with one, or none, every second turn none."""
    names = optional(line, row)
    names = names if len(names) > 1 else [*names, None]
    return names[number % len(names)]


def has(space, name):
    """`linalg.norm` in torch."""
    for part in name.split("."):
        space = getattr(space, part, None)
    return space is not None


# ---- a call -------------------------------------------------------------------------------------------------------

def plain_text(value):
    """A value as a spec writes it."""
    if isinstance(value, Text):
        return value
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "float('-inf')"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(plain_text, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return repr(value)


def numbers(random, kind, values, shape, dtype, extent=None):
    """A tensor of these values, the same in every version of torch. `extent`: of an index."""
    count = math.prod(shape)
    wide = kind.startswith("float")
    if values == "index":
        if count and not extent:
            raise Refused("no place to index")
        found = [random.randrange(extent) for _ in range(count)]
    elif values == "labels":
        found = [random.randrange(-1, extent) for _ in range(count)]
    elif values == "lengths":
        found = [random.randint(1, extent) for _ in range(count)]
    elif values == "inner":
        found = [random.randrange(1, extent - 1) for _ in range(count)]
    elif values in ("steps", "few"):  # of what CTCLoss reads
        found = [random.randrange(7, 13) if values == "steps" else random.randrange(4) for _ in range(count)]
    elif values == "sign":
        found = [random.choice((-1, 1)) for _ in range(count)]
    elif kind == "bool":
        found = [random.randrange(2) for _ in range(count)]
    elif values == "distinct":
        found = [(i - count // 2) / 4 if wide else i for i in range(count)]
        random.shuffle(found)
    elif values in ("grid", "whole"):
        found = [random.randrange(-8, 9) if values == "grid" else random.randrange(-3, 4) for _ in range(count)]
        found = [n / 4 for n in found] if wide and values == "grid" else found
    elif wide:
        way = {"normal": lambda: random.gauss(0, 1), "small": lambda: random.uniform(-1, 1),
               "unit": lambda: random.uniform(-0.9, 0.9), "inside": lambda: random.uniform(0.05, 0.95),
               "positive": lambda: 0.25 + abs(random.gauss(0, 1)), "above": lambda: 1.25 + abs(random.gauss(0, 1)),
               "dominant": lambda: random.uniform(-1, 1)}[values]
        found = [way() for _ in range(count)]
        if values == "dominant" and count:  # matrices with an inverse
            columns, area = shape[-1], shape[-1] * shape[-2]
            found = [n + 4 * (i % area // columns == i % columns) for i, n in enumerate(found)]
    else:
        low, high = {"small": (-2, 3), "positive": (1, 10)}.get(values, (-9, 10))
        found = [random.randrange(low, high) for _ in range(count)]
    if kind == "uint8":
        found = [abs(n) for n in found]
    return torch.tensor(found, dtype=torch.float64 if wide else torch.int64).reshape(shape).to(dtype)


def default_of(argument):
    """The value of a default, where it is a plain one."""
    try:
        return ast.literal_eval(argument["default"] or "None")
    except ValueError:
        return None


class Names(dict):
    """What a call's text runs in."""

    def __missing__(self, name):
        return spec_torch.torch_name(name)


class NoSpec:
    classes, constants, functions, sizes, size_values, replaced, added = {}, {}, {}, {}, {}, {}, {}


def flat(result):
    """The tensors of a result, and the target that takes it apart: `{}, ({}, {})`."""
    if isinstance(result, torch.Tensor):
        return [result], "{}"
    if not isinstance(result, (tuple, list)):
        raise Refused("no tensors")
    parts, targets = [], []
    for item in result:
        own, target = flat(item)
        parts += own
        targets.append(target if isinstance(item, torch.Tensor) else f"({target})")
    return parts, ", ".join(targets) + ("," if len(targets) == 1 else "")


class Call:
    """One call of a row in a drawn spec. After draw(): text, operands, module (its constructor, of a layer), results:
    [(kind, dims)] and the target for them, drawn: what is counted. `due`: the argument that is not its default this time, or None."""

    def __init__(self, draw, line, row, place, due):
        self.spec, self.line, self.row, self.place, self.due = draw, line, row, place, due
        self.random, self.pick, self.chance = draw.random, draw.pick, draw.chance
        self.letters, self.args, self.operands = self.one_row(), {}, []
        self.whole = False  # a result without elements is refused

    def one_row(self):
        """Dims of recurrent layers with a kernel of their own: many steps of one row, whole vectors of units."""
        own = random.Random(f"{self.spec.own}.one_row")
        if self.line.name not in ("LSTM", "GRU") or own.random() > 0.25:
            return {}
        return {"L": self.dim(own.choice([16, 17, 24])), "n?": own.random() < 0.7, "N": self.dim(1), "H": self.dim(32),
                "F": self.dim(own.choice([1, 7, 32]))}

    # ---- for the lines

    def number(self, letter):
        found = self.letters[letter].const if letter in self.letters else None
        if found is None:
            raise Refused(f"{letter} is no constant")
        return found

    def dim(self, number):
        return self.spec.constant_dim(number)

    def rank(self):
        return len(self.operands[0].dims)

    def shape(self):
        return self.spec.shape_at(self.operands[0].dims, 0)

    def axis(self):
        n = max(self.rank(), 1)
        return self.random.randrange(-n, n)

    def axes(self):
        n = self.rank()
        return tuple(sorted(self.random.sample(range(n), self.random.randint(min(n, 1), n))))

    def order(self):
        n = list(range(self.rank()))
        self.random.shuffle(n)
        return tuple(n)

    def where(self, number):
        return [i for i, dim in enumerate(self.operands[0].dims) if dim.const == number][0]

    def new_shape(self):
        """Two neighbours merged, one split, or the same."""
        dims = list(self.operands[0].dims)
        if len(dims) > 1 and self.chance(0.6):
            i = self.random.randrange(len(dims) - 1)
            merged = dims[i].times(dims[i + 1])
            dims[i:i + 2] = [-1] if self.chance(0.3) and merged.const != 0 else [merged]
        elif dims and dims[-1].const and dims[-1].const % 2 == 0:
            dims[-1:] = [2, dims[-1].const // 2]
        else:
            dims.append(1)
        return Text("(" + ", ".join(map(str, dims)) + ("," if len(dims) == 1 else "") + ")")

    def refuse(self, condition=True):
        if condition:
            raise Refused("the line refuses it")

    def random_values(self):
        """What it computes in training mode is random."""
        self.spec.dropout = True

    # ---- operands

    def kind_of(self, kind):
        other = "float64" if self.spec.dtype == "float32" else "float32"
        ways = {"num": ["float"] * 5 + ["int"] * 2 + [self.pick(INTEGERS)] * 2 + ["bool", other],
                "signed": ["float"] * 5 + ["int", "int32", "int16", "int8"], "floats": ["float"] * 4 + [other],
                "ints": ["int", *INTEGERS]}.get(kind, [kind])
        found = self.pick(ways)
        return "int" if found == "int64" else found

    def pattern_dims(self, pattern):
        """Dims for the words of a pattern; letters are bound."""
        dims = []
        for word in pattern.split():
            if "*" in word[1:]:
                first, second = (self.pattern_dims(part)[0] for part in word.split("*"))
                dims.append(first.times(second))
                continue
            name, _, span = word.partition(":")
            if name.isdigit():
                dims.append(self.dim(int(name)))
                continue
            if name == "*":
                if "*" not in self.letters:
                    self.letters["*"] = [self.some_dim("a", None) for _ in range(self.pick([0, 1, 1, 2, 2, 3, 3, 4]))]
                dims += self.letters["*"]
                continue
            if name.endswith("?"):
                name = name[:-1]
                if self.letters.setdefault(name + "?", self.chance(0.6)) is False:
                    continue
            if name.upper() not in self.letters:
                self.letters[name.upper()] = self.some_dim(name, span)
            dims.append(self.letters[name.upper()])
        return dims

    def some_dim(self, name, span):
        low, _, high = (span or "1-6").partition("-")
        low, high = int(low), int(high)
        if name.islower() and self.chance(0.45):
            return self.spec.some_size(high)
        if name.islower() and not span and self.chance(0.04):
            low = high = 0
        return self.dim(self.random.randint(low, high))

    def operand(self, wanted):
        """A value for a tensor of the line: an old one where it fits, or a new input."""
        kind = self.kind_of(wanted.kind)
        values = wanted.values
        if isinstance(wanted, (B, S)):
            like = self.by_name[wanted.like]
            dims = list(like.dims)
            if isinstance(wanted, B):
                dims = [self.dim(1) if self.chance(0.15) else dim for dim in dims]
                dims = dims[self.random.randint(0, len(dims)):] if self.chance(0.3) else dims
        else:
            if wanted.dims.startswith("*") and "*" not in self.letters and values != "index" and self.chance(0.5):
                old = [v for v in self.spec.values if v.kind == kind and v.values == (values if values != "normal" else
                       v.values) and len(v.dims) <= 4]
                if old:
                    found = self.pick(old[-6:])
                    self.letters["*"] = list(found.dims)
                    if wanted.dims == "*":
                        return found
            dims = self.pattern_dims(wanted.dims)
        extent = None
        if values in ("index", "labels", "inner", "lengths"):
            extent = self.letters.get(wanted.of)
            if extent is None:
                extent = self.letters[wanted.of] = self.dim(self.random.randint(1, 7))
        elif self.chance(0.6):
            old = [v for v in self.spec.values if v.kind == kind and list(v.dims) == dims
                   and (v.values == values or (values == "normal" and kind == "float"))]
            if old:
                return self.pick(old)
        weight = self.chance(getattr(wanted, "weight", 0)) and all(d.const for d in dims)
        return self.spec.new_operand(dims, kind, values, extent, weight)

    def several(self, wanted):
        kind = self.kind_of(wanted.kind)
        first = self.operand(T("*" if wanted.axis == "stack" else "a b? c?", kind))
        found = [first]
        self.along = self.random.randrange(max(len(first.dims), 1))
        for _ in range(self.pick([0, 1, 1, 2])):
            dims = list(first.dims)
            if wanted.axis == "cat" and dims and self.chance(0.5):
                dims[self.along] = self.dim(self.random.randint(0 if self.chance(0.1) else 1, 4))
            kind = kind if self.chance(0.85) else self.kind_of("num")
            found.append(self.spec.new_operand(dims, kind, "normal", None, False) if self.chance(0.7) else first)
        return found

    # ---- the call

    def draw_arguments(self):
        """Tensors first, since the other arguments depend on their shapes."""
        self.by_name, drawers, texts = {}, {}, {}
        for argument in self.row["arguments"]:
            name = argument["name"]
            wanted = self.line.arguments.get(name)
            since = self.line.since.get(name) if isinstance(self.line.since, dict) else None
            if name not in self.line.arguments:
                if argument["default"] is None:
                    raise Refused(f"{name} is needed")
                continue
            if f"{self.line.name}.{name}" in NOT_DRAWN or not is_here(since):
                continue
            if argument["default"] is not None and name != self.due and (
                    name in RIVALS.get(self.due, ()) or not self.chance(GIVEN)):
                continue
            drawers[name] = wanted
            if isinstance(wanted, (T, Several, Each)):
                self.take(name, wanted, texts)
        for name, wanted in drawers.items():
            if isinstance(wanted, (B, S)):
                self.take(name, wanted, texts)
        for argument in self.row["arguments"]:
            name, wanted = argument["name"], drawers.get(argument["name"])
            if name in texts or name not in drawers:
                self.args.setdefault(name, default_of(argument))
                continue
            for _ in range(4):  # the default counts for nothing
                value = self.pick(wanted) if isinstance(wanted, list) else wanted(self) if callable(wanted) else wanted
                if plain_text(value) != argument["default"]:
                    break
            self.args[name] = value
            texts[name] = plain_text(value)
        return texts

    def take(self, name, wanted, texts):
        if isinstance(wanted, Several):
            found = self.several(wanted)
            self.operands += found
            texts[name] = "[" + ", ".join(v.name for v in found) + "]"
        elif isinstance(wanted, Each):
            self.way = self.pick(wanted.ways)
            found = [self.operand(T(dims, wanted.kind)) for dims in self.way.split(", ")]
            self.operands += found
            texts[name] = ", ".join(v.name for v in found)
        else:
            found = self.operand(wanted)
            self.operands.append(found)
            self.by_name[name] = found
            texts[name] = found.name

    def joined(self, texts, skip=0):
        """`1, 2, dim=3`: by position as far as none is left out. `alpha` stands there behind numbers alone, which PyTorch makes
        of tensors without dimensions."""
        parts, position = [], True
        for i, argument in enumerate(self.row["arguments"]):
            name = argument["name"]
            if name not in texts:
                position = False
            elif i >= skip:
                position = (position and not argument.get("keyword") and self.is_at(name, i) and name != "alpha"
                            and (argument["default"] is None or self.chance(0.4)))
                parts.append(texts[name] if position else f"{name}={texts[name]}")
        return ", ".join(parts)

    def is_at(self, name, position):
        """PyTorch has the argument there too (F.softmax has another one before `dtype`)."""
        if self.place != "functional":
            return True
        try:
            own = list(inspect.signature(getattr(torch.nn.functional, self.line.name)).parameters)
        except (ValueError, TypeError):
            return True
        return name in own and own.index(name) == position

    def draw(self):
        kept = self.spec.mark()
        try:
            self.draw_once()
        except Exception:
            self.spec.restore(kept)
            raise
        return self

    def draw_once(self):
        self.module = None
        name = self.line.name
        for i, wanted in enumerate(self.line.tensors):
            self.by_name = {str(k): v for k, v in enumerate(self.operands)}
            self.operands.append(self.operand(wanted))
        texts = self.draw_arguments()
        if self.line.check:
            self.line.check(self)
        given = {a["name"] for a in self.row["arguments"] if a["name"] in texts and texts[a["name"]] != a["default"]}
        self.refuse(self.due and self.due not in given)
        if self.args.get("inplace") is True:  # nothing else may see what it overwrites
            texts = {key: f"{text}.clone()" if key in self.by_name else text for key, text in texts.items()}
        if self.line.kind == "layer":
            self.module = f"{self.pick(['', '', 'nn.'])}{name}({self.joined(texts)})"
            copy = ".clone()" if self.args.get("inplace") is True else ""
            names = [v.name + copy for v in self.operands]
            self.text = "{module}(" + (self.pick(self.line.call if isinstance(self.line.call, list) else [self.line.call]).format(*names) if self.line.call else ", ".join(names)) + ")"
        elif self.place == "method":
            first = self.row["arguments"][0]["name"]
            self.text = f"{texts[first]}.{name}({self.joined(texts, 1)})"
        else:
            space = {"torch": "torch.", "functional": self.pick(["F.", "F.", "torch.nn.functional."]), "returns": "",
                     "torchvision": "torchvision.", "own": ""}[self.place]
            if self.chance(0.3) and name not in self.spec.names and not self.spec.has_child(name) and \
                    (self.place == "functional" or not hasattr(torch.nn.functional, name)):
                space = ""
                self.spec.bare.add(name)
            self.text = f"{space}{name}({self.joined(texts)})"
        self.run()
        self.refuse(self.results is None and (self.operands[0].kind != "float" or self.scalar == ()))  # nothing to show it
        self.drawn = [f"layer {name}" if self.module else f"{self.place}.{name}"]
        self.drawn += [f"{name}.{argument}" for argument in sorted(given)]
        for value in self.operands:
            self.drawn += [f"dtype {self.spec.dtype_text(value.kind)}", f"rank {len(value.dims)}"]

    def run(self):
        """In PyTorch, at some values of the sizes: results is [(kind, {probe: shape})]."""
        self.scalar, self.results, module, worked = None, None, None, 0
        dtype = torch.float64 if self.spec.dtype == "float64" else torch.float32
        with spec_torch.default_dtype(dtype), torch.no_grad():
            if self.module:
                module = spec_torch.ConstructorNames(NoSpec, {}).evaluate(self.module).eval()
            for probe in range(self.spec.probe_count()):
                try:
                    result = self.run_at(probe, module)
                except FAULTS:
                    if probe in (0, self.spec.BEYOND):
                        raise
                    continue  # too small for it
                worked += probe <= self.spec.BEYOND
                if not isinstance(result, (torch.Tensor, tuple, list)) or isinstance(result, torch.Size):
                    self.scalar = result
                    continue
                parts, self.target = flat(result)
                if not parts:
                    raise Refused("no tensors")
                for part in parts if probe < self.spec.BEYOND else ():
                    self.check_values(part)
                    self.refuse(self.whole and 0 in part.shape and 0 not in self.shape())
                kinds = [self.spec.kind_of_dtype(part.dtype) for part in parts]
                if self.results is None:
                    self.results = [(kind, {}) for kind in kinds]
                if kinds != [kind for kind, _ in self.results]:
                    raise Refused("as many results as the sizes say")
                for part, (_, shapes) in zip(parts, self.results):
                    shapes[probe] = tuple(part.shape)
        if worked < min(3, self.spec.probe_count()):
            raise Refused("only at the maxima")
        if any(len(set(map(len, shapes.values()))) > 1 for _, shapes in self.results or ()):
            raise Refused("as many dimensions as the sizes say")

    def run_at(self, probe, module):
        names = Names(self.spec.sizes_at(probe))
        names["module"] = module
        for value in self.operands:
            names[value.name] = self.spec.numbers_at(value, probe)
        return eval(spec_torch.compiled(self.text.replace("{module}", "module"), "eval"), spec_torch.BUILTINS, names)

    @staticmethod
    def check_values(tensor):
        if tensor.numel() > 20000 or tensor.dim() > 6:
            raise Refused("too large")
        if tensor.is_floating_point() and tensor.numel():
            finite = tensor[torch.isfinite(tensor)]
            if finite.numel() and not (finite.abs().max() == 0 or 2e-3 < finite.abs().max() < 5e3):
                raise Refused("huge or tiny")
            if finite.numel() < tensor.numel() // 2:
                raise Refused("not finite")
        if tensor.is_complex() or tensor.dtype in (torch.float16, torch.bfloat16):
            raise Refused("a type that modc has not")


# ---- is there a line for everything? ------------------------------------------------------------------------------

def missing(catalogue):
    """Rows and arguments of the catalogue that no line draws and NOT_DRAWN does not list, and what that lists in vain."""
    found, there = [], set()
    for kind, lines in (("layers", LAYERS), ("functions", FUNCTIONS)):
        for name, several in catalogue[kind].items():
            names = list(dict.fromkeys(f"{name}.{argument['name']}" for row in several for argument in row["arguments"]))
            there |= {name, *names, *(f"{place}.{name}" for row in several for place in row.get("places", ()))}
            if name in NOT_DRAWN:
                continue
            if name not in lines:
                found.append(f"{name}: no line draws it")
                continue
            drawn = {f"{name}.{argument}" for argument in lines[name].arguments}
            found += [f"{own}: the line of {name} does not draw it" for own in names
                      if own not in drawn and own not in NOT_DRAWN]
    return found + [f"{name}: NOT_DRAWN lists it, but modc has no such thing" for name in NOT_DRAWN if name not in there]


def main():
    parser = argparse.ArgumentParser(description="Whether each row and argument of modc's catalogue has its line.")
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    args = parser.parse_args()
    catalogue = catalogue_of(modc_run.command_of(args.modc))
    found = missing(catalogue)
    print("\n".join(found) or f"{len(catalogue['layers'])} layers and {len(catalogue['functions'])} functions have lines")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
