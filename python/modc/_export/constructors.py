"""The call that makes a module of torch.nn, with the arguments that are not their defaults."""
import inspect
import math

import torch
import torch.nn.functional as F
from torch import nn

MISSING = object()
SKIPPED = {"self", "device", "dtype", "inplace", "_weight", "_bias", "_freeze", "sparse", "scale_grad_by_freq", "return_indices_",
           "enable_nested_tensor", "mask_check", "size_average", "reduce"}


class Code(str):
    """A value that is written as it stands."""


def literal(item):
    """A value as the language writes it."""
    if isinstance(item, Code):
        return str(item)
    if isinstance(item, bool) or item is None:
        return repr(item)
    if isinstance(item, float):
        if math.isinf(item):
            return "inf" if item > 0 else "-inf"
        if math.isnan(item):
            return "float('nan')"
        return repr(float(item))
    if isinstance(item, int):
        return repr(int(item))
    if isinstance(item, (list, torch.Size)):
        return "[" + ", ".join(map(literal, item)) + "]"
    if isinstance(item, tuple):
        return "(" + ", ".join(map(literal, item)) + ("," if len(item) == 1 else "") + ")"
    if isinstance(item, torch.dtype):
        return str(item)
    return repr(item)


def of_attention(m):
    return {"bias": m.in_proj_bias is not None, "add_bias_kv": m.bias_k is not None,
            "kdim": None if m.kdim == m.embed_dim else m.kdim, "vdim": None if m.vdim == m.embed_dim else m.vdim}


ACTIVATIONS = {F.relu: "F.relu", F.gelu: "F.gelu", torch.relu: "F.relu", F.silu: "F.silu"}


def of_transformer_layer(m):
    """{}: it is not as its constructor makes it, and so written as a class of its own."""
    attention, norms = m.self_attn, [m.norm1, m.norm2, *([m.norm3] if hasattr(m, "norm3") else [])]
    drops = [m.dropout, m.dropout1, m.dropout2, *([m.dropout3] if hasattr(m, "dropout3") else [])]
    attentions = [attention, *([m.multihead_attn] if hasattr(m, "multihead_attn") else [])]
    bias = m.linear1.bias is not None
    usual = (
        len({drop.p for drop in drops} | {other.dropout for other in attentions}) == 1
        and len({norm.eps for norm in norms}) == 1 and all(norm.elementwise_affine for norm in norms)
        and all((linear.bias is not None) == bias for linear in (m.linear2, *attentions_out(attentions)))
        and all((norm.bias is not None) == bias for norm in norms) and m.activation in ACTIVATIONS
        and all(type(part) in (nn.Linear, nn.LayerNorm, nn.Dropout) for part in (m.linear1, m.linear2, *norms, *drops))
        and all(type(other) is nn.MultiheadAttention and other.bias_k is None and not other.add_zero_attn
                and (other.num_heads, other.batch_first, other.embed_dim) == (
                    attention.num_heads, attention.batch_first, m.linear1.in_features) for other in attentions))
    return {"d_model": m.linear1.in_features, "nhead": attention.num_heads, "dim_feedforward": m.linear1.out_features,
            "dropout": m.dropout.p, "activation": Code(ACTIVATIONS[m.activation]), "layer_norm_eps": m.norm1.eps,
            "batch_first": attention.batch_first, "bias": bias} if usual else {}


def attentions_out(attentions):
    return [attention.out_proj for attention in attentions]


def of_transformer(name):
    def of(m):
        """Its layers are copies of one."""
        made = {constructor(layer) for layer in m.layers}
        norm = None if m.norm is None else constructor(m.norm)
        if len(made) != 1 or None in made or base_class(m.layers[0]) not in LAYERS or m.norm is not None and norm is None:
            return {}
        return {name: Code(*made), "num_layers": len(m.layers), "norm": None if norm is None else Code(norm)}
    return of


LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)

# By class: arguments that have no attribute of their name.
SPECIAL = {
    nn.TransformerEncoderLayer: of_transformer_layer,
    nn.TransformerDecoderLayer: of_transformer_layer,
    nn.TransformerEncoder: of_transformer("encoder_layer"),
    nn.TransformerDecoder: of_transformer("decoder_layer"),
    nn.MultiheadAttention: of_attention,
    nn.LayerNorm: lambda m: {"normalized_shape": m.normalized_shape[0] if len(m.normalized_shape) == 1 else
                             tuple(m.normalized_shape), "bias": not m.elementwise_affine or m.bias is not None},
    nn.RMSNorm if hasattr(nn, "RMSNorm") else None: lambda m: {
        "normalized_shape": m.normalized_shape[0] if len(m.normalized_shape) == 1 else tuple(m.normalized_shape)},
    nn.PReLU: lambda m: {"init": 0.25},
    nn.Bilinear: lambda m: {"bias": m.bias is not None},
    nn.Unflatten: lambda m: {"unflattened_size": tuple(m.unflattened_size)},
    nn.Upsample: lambda m: {"scale_factor": _whole(m.scale_factor)},
}


def _whole(factor):
    if isinstance(factor, tuple):
        return tuple(map(_whole, factor))
    return int(factor) if isinstance(factor, float) and factor.is_integer() else factor


CALLED = ("forward", "_conv_forward", "_sa_block", "_mha_block", "_ff_block")  # what forwards of torch.nn call of their classes


def base_class(module):
    """The class of torch.nn whose forward and keys this module has; None: it has a forward of its own."""
    for kind in type(module).__mro__:
        if getattr(kind, "__module__", "").startswith("torch.nn.modules"):
            # a ScriptModule's class has no forward
            same = all(getattr(type(module), name, None) is getattr(kind, name, None) for name in CALLED)
            return kind if same else None
    return None


def class_name(module):
    """The class that the user wrote."""
    return module.original_name if isinstance(module, torch.jit.ScriptModule) else type(module).__name__


def parameters_of(kind):
    """Those of its constructor by name; of recurrent layers, which take *args, those of the class that they derive from."""
    if not issubclass(kind, nn.RNNBase):
        return inspect.signature(kind.__init__).parameters
    found = {name: parameter for name, parameter in inspect.signature(nn.RNNBase.__init__).parameters.items() if name != "mode"}
    if kind is nn.RNN:
        found["nonlinearity"] = inspect.Parameter("nonlinearity", inspect.Parameter.KEYWORD_ONLY, default="tanh")
    return found


def arguments_of(module, kind):
    """(name, value, default) of its constructor, in order."""
    given = SPECIAL[kind](module) if kind in SPECIAL else {}
    if not given and kind.__name__.startswith("Transformer"):
        return None
    found = []
    for name, parameter in parameters_of(kind).items():
        if name in SKIPPED and not (name == "inplace" and getattr(module, "inplace", False)):
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = given.get(name, getattr(module, name, MISSING))
        if name == "bias" and name not in given and not isinstance(value, bool):
            value = value is not MISSING and value is not None
        if value is MISSING:
            value = parameter.default
        if value is parameter.empty:
            return None
        if isinstance(value, (tuple, list)) and len(value) > 1 and isinstance(parameter.default, int) \
                and all(item == value[0] for item in value):
            value = value[0]
        elif isinstance(value, (tuple, list)) and len(value) > 1 and parameter.default in (parameter.empty, None) \
                and name in ("kernel_size", "stride", "output_size") and all(item == value[0] for item in value):
            value = value[0]
        if isinstance(value, (tuple, list)) and len(value) == 1 and kind.__name__.endswith("1d"):
            value = value[0]
        found.append((name, value, parameter.default))
    return found


def is_default(value, default):
    if isinstance(value, Code):
        return value == ACTIVATIONS.get(default)
    return default is not inspect.Parameter.empty and (
        value is default or type(value) is type(default) and value == default
        or isinstance(value, (int, float)) and not isinstance(value, bool) and not isinstance(default, bool) and value == default)


def call_of(module):
    """(class, [(argument, value, default)]) of a module of torch.nn; None where it is none, or does not keep its arguments."""
    kind = base_class(module)
    arguments = arguments_of(module, kind) if kind is not None else None
    if arguments is None:
        return None
    name = {"NonDynamicallyQuantizableLinear": "Linear"}.get(kind.__name__, kind.__name__)
    if name.startswith(("MaxPool", "AvgPool", "LPPool")):  # whose stride is the kernel's size unless it is given
        kernel = dict((argument, value) for argument, value, _ in arguments).get("kernel_size")
        arguments = [item for item in arguments if not (item[0] == "stride" and item[1] == kernel)]
    return name, arguments


def said(module):
    """The names of the optional arguments that are not their defaults."""
    found = call_of(module)
    return {argument for argument, value, default in found[1] if default is not inspect.Parameter.empty
            and not is_default(value, default)} if found else set()


def constructor(module, also=()):
    """The text of the call that makes a module of torch.nn; None where it is none, or does not keep its arguments. also:
    arguments that are written even if they are the defaults."""
    found = call_of(module)
    if found is None:
        return None
    name, arguments = found
    text, named = [], False
    for argument, value, default in arguments:
        if argument not in also and is_default(value, default):
            named = True
            continue
        text.append(f"{argument}={literal(value)}" if named or default is not inspect.Parameter.empty else literal(value))
    return f"{name}({', '.join(text)})"
