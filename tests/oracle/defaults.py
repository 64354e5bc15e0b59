"""Whether the arguments of each layer and function of modc's catalogue have PyTorch's defaults, and whether a default that
PyTorch computes is the same number here.

    python3 tests/oracle/defaults.py --modc build/modc

PyTorch says them itself: the signature of a class or function, the schemas of what is written in C++. `NEWER` has those of
rows that the PyTorch here does not know; `OTHER` the arguments that have another default, and why.
"""
import argparse
import ast
import inspect
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
from torch.ao.nn import qat

import modc_run
import rows
import safetensors_io

NOT_THERE = object()  # the argument has no default

# Of PyTorch 2.15, in addition to what an older one has.
NORM = {"bias": True}
NEWER = {
    **{f"{lazy}{kind}Norm{n}d": NORM for lazy in ("", "Lazy") for kind in ("Batch", "Instance") for n in (1, 2, 3)},
    "SyncBatchNorm": NORM, "LayerNorm": NORM, "GroupNorm": NORM,
    "RMSNorm": {"eps": None, "elementwise_affine": True},
    "rms_norm": {"weight": None, "eps": None},
    "LPPool3d": {"stride": None, "ceil_mode": False},
    "lp_pool3d": {"stride": None, "ceil_mode": False},
    "scaled_dot_product_attention": {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None,
                                     "enable_gqa": False},
    "LinearCrossEntropyLoss": {"out_features": (), "bias": False, "reduction": "mean", "weight": None, "ignore_index": None,
                               "label_smoothing": 0.0, "options": None},
    "linear_cross_entropy": {"linear_bias": None, "weight": None, "reduction": "mean", "ignore_index": None,
                             "label_smoothing": 0.0, "options": None},
    "l1_loss": {"weight": None}, "mse_loss": {"weight": None}, "huber_loss": {"weight": None},
    **{f"{kind}MinMaxObserver": {"is_dynamic": False} for kind in ("", "MovingAverage", "PerChannel", "MovingAveragePerChannel")},
    "FakeQuantize": {"is_dynamic": False}, "get_default_qat_qconfig": {"backend": "x86", "version": 1},
    "randint": {"high": None, "size": None}, "randint_like": {"high": None}, "uniform_": {"a": 0.0, "b": 1.0},
    "finfo": {"type": None}, "view": {"shape": None, "dtype": None}, "new_tensor": {"dtype": None},
    "linalg.vector_norm": {"ord": 2, "dim": None, "keepdim": False, "dtype": None},
    "linalg.norm": {"ord": None, "dim": None, "keepdim": False, "dtype": None},
    "linalg.matrix_norm": {"ord": "fro", "dim": (-2, -1), "keepdim": False, "dtype": None},
    "ops.nms": {"max_output": None}, "ops.batched_nms": {"max_output": None},  # modc's own
    "ops.roi_align": {"spatial_scale": 1.0, "sampling_ratio": -1, "aligned": False}, "ops.roi_pool": {"spatial_scale": 1.0},
    **{name: {"bias": True} for name in ("Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer")},
    "Transformer.generate_square_subsequent_mask": {"device": None, "dtype": None},
    # Their constructors take what they like and hand it on.
    "RNN": {"nonlinearity": "tanh"}, "LSTM": {}, "GRU": {},
}
# Whose arguments another one has.
LIKE = {"RNN": torch.nn.RNNBase, "LSTM": torch.nn.RNNBase, "GRU": torch.nn.RNNBase}
# Defaults that are said in another way here and mean what PyTorch's do.
OTHER = {
    ("lu", "pivot"): "torch.lu takes what it is given by position", ("lu", "get_infos"): "the same",
    ("random_", "start"): "three overloads", ("nuclear_norm", "dim"): "an overload without it is the last two",
    **{(name, argument): "of its observer" for name in ("FakeQuantize", "FusedMovingAvgObsFakeQuantize")
       for argument in ("averaging_constant", "ch_axis", "dtype", "qscheme", "reduce_range", "eps")},
    ("FusedMovingAvgObsFakeQuantize", "is_dynamic"): "FakeQuantize's",
    ("Extern", "dtype"): "of modc alone", ("Extern", "backward"): "the same",
    ("nonzero_static", "fill_value"): "newer than 1.13", ("asarray", "dtype"): "it has no signature", ("asarray", "copy"): "the same",
    ("arange", "end"): "arange(end) has one argument", ("arange", "step"): "1, where it is given",
    ("nan_to_num", "nan"): "None is 0.0",
    ("round", "decimals"): "an overload without it is one with 0",
    ("sort", "stable"): "a bool of an overload that needs it", ("argsort", "stable"): "the same",
    ("div", "rounding_mode"): "an overload that needs it", ("divide", "rounding_mode"): "the same",
    ("meshgrid", "indexing"): "an overload that needs it",
    **{(f"{name}_window", "periodic"): "an overload that needs it"
       for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")},
    ("hamming_window", "alpha"): "the same", ("hamming_window", "beta"): "the same", ("kaiser_window", "beta"): "the same",
}


def value_of(text):
    """A default as the catalogue has it."""
    if text is None:
        return NOT_THERE
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return eval(text, {"inf": math.inf, "pi": math.pi, "F": torch.nn.functional, "torch": torch, **vars(torch.ao.quantization), **vars(torch)})


def plain(value):
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    if isinstance(value, str) and re.fullmatch(r"torch\.\w+", value):
        return getattr(torch, value[6:])
    return value


def same(a, b):
    """1 is 1.0, and (1, 1) is 1 where PyTorch has one for each dimension."""
    a, b = plain(a), plain(b)
    if isinstance(a, tuple) and not isinstance(b, tuple):
        a, b = b, a
    if isinstance(b, tuple) and not isinstance(a, tuple):
        return b == () and a is None or all(item == a for item in b) and b != ()
    return a is b or (type(a) is bool) == (type(b) is bool) and a == b


def of_signature(callable, whole=True):
    """Defaults by argument; None where it has no signature, or where that is not the whole."""
    try:
        parameters = inspect.signature(callable).parameters.values()
    except (ValueError, TypeError):
        return None
    if whole and any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in parameters):
        return None
    return {p.name: NOT_THERE if p.default is p.empty else p.default for p in parameters if p.name != "self"}


def of_schemas(name):
    """One for each overload; `fft.rfft` is fft_rfft there."""
    result, name = [], name.replace(".", "_")
    for space in ("aten", "aten::_"):
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}" if space == "aten" else f"aten::_{name}"):
            result.append({("input" if a.name == "self" else a.name): a.default_value if a.has_default_value() else NOT_THERE
                           for a in schema.arguments})
    return result


def known(row, kind):
    """What PyTorch has: a list of signatures, of which one is enough."""
    name = row["name"]
    if kind == "layers":
        quantized = (getattr(qat, name[4:], None) if name.startswith("qat.") else getattr(torch.ao.quantization, name, None))
        found = LIKE.get(name) or getattr(torch.nn, name, None) or quantized
        signature = of_signature(found.__init__, not quantized) if found else None
        return [signature] if signature else []
    result = []
    for place in row["places"]:
        for ending in ("", "_with_indices"):  # which of these max_pool2d is depends on its arguments
            found = getattr(rows.PLACES.get(place, None), name + ending, None)
            signature = of_signature(found) if found else None
            result += [signature] if signature else []
    return result + of_schemas(name)


def faults_of(row, kind):
    defaults = [(a["name"], value_of(a["default"])) for a in row["arguments"] if a["default"] is not None]
    signatures = known(row, kind) + [NEWER[name] for name in [row["name"]] if name in NEWER]
    for name, own in defaults:
        if (row["name"], name) in OTHER or name.startswith("_"):
            continue
        there = [signature[name] for signature in signatures if name in signature]
        lacks = any(name not in signature for signature in signatures)  # an overload does without it, as None here says
        if not any(same(own, value) for value in there) and not (own is None and there and lacks):
            yield f"{row['name']}: {name} is {own!r}, PyTorch has {[v for v in there if v is not NOT_THERE] or 'no default'}"


# Calls of which a default is most of the result, over tensors of numbers about `scale`: as modc and as PyTorch has them. What
# PyTorch here does not know is written out.
EPS = None  # the scale is the root of what finfo says
SMALL = [
    ("BatchNorm1d(4)(x)", 1e-3, lambda x, y: torch.nn.BatchNorm1d(4, dtype=x.dtype)(x)),
    ("LayerNorm(4)(x)", 1e-3, lambda x, y: torch.nn.LayerNorm(4, dtype=x.dtype)(x)),
    ("GroupNorm(2, 4)(x)", 1e-3, lambda x, y: torch.nn.GroupNorm(2, 4, dtype=x.dtype)(x)),
    ("InstanceNorm1d(3)(x[None])", 1e-3, lambda x, y: torch.nn.InstanceNorm1d(3)(x[None])),
    ("RMSNorm(4)(x)", EPS, lambda x, y: x / torch.sqrt((x * x).mean(-1, keepdim=True) + torch.finfo(x.dtype).eps)),
    ("F.batch_norm(x, None, None, training=True)", 1e-3, lambda x, y: torch.batch_norm(
        x, None, None, None, None, True, 0.1, 1e-5, False)),
    ("F.layer_norm(x, [4])", 1e-3, lambda x, y: torch.nn.functional.layer_norm(x, [4])),
    ("F.group_norm(x, 2)", 1e-3, lambda x, y: torch.nn.functional.group_norm(x, 2)),
    ("F.instance_norm(x[None])", 1e-3, lambda x, y: torch.nn.functional.instance_norm(x[None])),
    ("F.rms_norm(x, [4])", EPS, lambda x, y: x / torch.sqrt((x * x).mean(-1, keepdim=True) + torch.finfo(x.dtype).eps)),
    ("F.normalize(x)", 1e-13, lambda x, y: torch.nn.functional.normalize(x)),
    ("F.cosine_similarity(x, y)", 1e-5, lambda x, y: torch.nn.functional.cosine_similarity(x, y)),
    ("CosineSimilarity()(x, y)", 1e-5, lambda x, y: torch.nn.CosineSimilarity()(x, y)),
    ("F.pairwise_distance(x, y)", 1e-6, lambda x, y: torch.nn.functional.pairwise_distance(x, y)),
    ("PairwiseDistance()(x, y)", 1e-6, lambda x, y: torch.nn.PairwiseDistance()(x, y)),
    ("F.triplet_margin_loss(x, y, x + y)", 1e-6, lambda x, y: torch.nn.functional.triplet_margin_loss(x, y, x + y)),
    ("F.poisson_nll_loss(x.abs(), y.abs(), log_input=False)", 1e-8, lambda x, y: torch.nn.functional.poisson_nll_loss(
        x.abs(), y.abs(), log_input=False)),
    ("F.gaussian_nll_loss(x, y, y.abs())", 1e-7, lambda x, y: torch.nn.functional.gaussian_nll_loss(x, y, y.abs())),
    ("GaussianNLLLoss()(x, y, y.abs())", 1e-7, lambda x, y: torch.nn.GaussianNLLLoss()(x, y, y.abs())),
    ("F.local_response_norm(x[None], 3)", 1e3, lambda x, y: torch.nn.functional.local_response_norm(x[None], 3)),
    ("F.scaled_dot_product_attention(x[None], y[None], x[None])", 3.0, lambda x, y: torch.softmax(
        x @ y.T / math.sqrt(4), -1) @ x),
    ("nan_to_num(x / 0)", 1.0, lambda x, y: torch.nan_to_num(x / 0)),
    ("F.softplus(x)", 20.0, lambda x, y: torch.nn.functional.softplus(x)),
]


def check_values(modc, dtype):
    """A model of all of SMALL, in train mode, as PyTorch's classes are."""
    generator = torch.Generator().manual_seed(3)
    inputs, lines, layers, expected = {}, [], [], {}
    for i, (text, scale, call) in enumerate(SMALL):
        scale = math.sqrt(torch.finfo(dtype).eps) if scale is EPS else scale
        x, y = (torch.empty(3, 4, dtype=dtype).uniform_(0.5, 2, generator=generator) * torch.tensor(signs) * scale
                for signs in ([1, -1, 1, -1], [1, 1, -1, -1]))
        inputs |= {f"x{i}": x, f"y{i}": y}
        module = re.match(r"([A-Z]\w+\([^)]*\))\(", text)
        if module and not text.startswith("F."):
            layers.append(f"  m{i}: {module[1]}\n")
            text = f"m{i}" + text[len(module[1]):]
        lines.append(f"  - r{i} = " + re.sub(r"\b([xy])\b(?!=)", rf"\g<1>{i}", text) + "\n")
        expected[f"r{i}"] = call(x, y).detach()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "small.yaml").write_text(
            "modc: 1\nmodel: small\nhooks: none\ninputs:\n" + "".join(f"  {name}: [3, 4]\n" for name in inputs) +
            "modules:\n" + "".join(layers) + "forward:\n" + "".join(lines) +
            f"  - return {', '.join(expected)}\n")
        safetensors_io.save(folder / "inputs.safetensors", inputs)
        done = subprocess.run([*modc, "run", "--train", "--dtype", str(dtype)[len("torch."):],
                               "--inputs", folder / "inputs.safetensors", "--outputs", folder / "outputs.safetensors",
                               folder / "small.yaml"], capture_output=True, text=True)
        if done.returncode:
            return [f"exit status {done.returncode}: {done.stderr}{done.stdout}"]
        found = safetensors_io.load(folder / "outputs.safetensors")
    return [f"{text}: {found[name].tolist()}, PyTorch has {expected[name].tolist()}"
            for (text, _, _), name in zip(SMALL, expected)
            if not torch.allclose(torch.as_tensor(found[name]), expected[name], rtol=2e-5, equal_nan=True,
                                  atol=1e-6 * float(torch.as_tensor(expected[name]).abs().max()))]


def main():
    parser = argparse.ArgumentParser(description="Whether modc's arguments have PyTorch's defaults.")
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    args = parser.parse_args()
    modc = modc_run.command_of(args.modc)
    catalogue = rows.catalogue_of(modc)
    found = [fault for kind in ("layers", "functions") for named in catalogue[kind].values()
             for row in named for fault in faults_of(row, kind)]
    found += check_values(modc, torch.float32) + check_values(modc, torch.float64)
    print("\n".join(found) or "all defaults are PyTorch's")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
