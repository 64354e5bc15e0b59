#!/usr/bin/env python3
"""zoo.py - exports networks of torchvision, timm and transformers, with random weights, and compares the compiled models.

    tests/python/zoo.py [--list tests/python/zoo.txt] [--results tests/python/zoo_results.txt] [NAME ...]

needs PyTorch and those packages; each NAME is of the list or new ("timm:resnet18"). A line of the list is a name, perhaps with
the reason why it cannot be done. What has to hold of a network: its spec is the same when it is written again, `modc check`
takes it, the compiled model has PyTorch's keys and shapes in PyTorch's order, and its numbers, in evaluation and (without
dropout) training mode, are within 1e-5 of the largest; 1e-4 where Winograd is used; or within four times the distance that
PyTorch itself has from its own float64, where that is more. The table's columns are

    distance   the largest one from PyTorch
    PyTorch's  where the distance is more than 1e-5: PyTorch's own from float64
    spec       lines of the spec
    source     lines of the classes of the model that are not PyTorch's
"""
import inspect
import sys
import warnings
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

from modc._build import run_command  # noqa: E402
from modc._errors import Error, ExportWarning  # noqa: E402
from modc._export.export import OWN_TIMES, export, own_distance  # noqa: E402
import zoo_run  # noqa: E402

BOUND, WINOGRAD = 1e-5, 1e-4  # as design has them


def randomised(model):
    """Parameters and statistics as of a trained network, so that it matters what is done with them: heads, biases and scales of
    residual branches often begin with nothing."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() and parameter.is_floating_point():
                if float(parameter.abs().max()) < 1e-3:
                    parameter.normal_(0, 0.1 if parameter.ndim == 1 else 0.02)
                elif bool((parameter == 1).all()):
                    parameter.uniform_(0.8, 1.2)
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.8, 1.2)
    return model


def of_torchvision(name):
    import torchvision
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    if name.startswith(("fcn", "deeplab", "lraspp")):
        options["weights_backbone"] = None
        model = getattr(torchvision.models.segmentation, name)(weights=None, **options)
        return model, (torch.randn(1, 3, 64, 64),), {}
    if name.startswith(("r3d", "mc3", "r2plus1d", "s3d", "swin3d")):
        model = getattr(torchvision.models.video, name)(weights=None)
        return model, (torch.randn(1, 3, 16, 224, 224) if name.startswith("s3d") else torch.randn(1, 3, 16, 112, 112),), {}
    if name.startswith("mvit"):
        whole = torchvision.models.video.mvit._mvit
        small = {"spatial_size": (64, 64), "temporal_size": 8}  # which the functions that are public do not take
        with mock.patch.object(torchvision.models.video.mvit, "_mvit", lambda **given: whole(**{**given, **small})):
            return getattr(torchvision.models.video, name)(weights=None), (torch.randn(1, 3, 8, 64, 64),), {}
    if name.startswith("raft"):
        model = getattr(torchvision.models.optical_flow, name)(weights=None)
        return model, (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)), {"num_flow_updates": 2}
    size = 299 if name == "inception_v3" else 224 if name.startswith("maxvit") else 64 if name.startswith("vit") else 128
    if name.startswith("vit"):
        options["image_size"] = size
    model = getattr(torchvision.models, name)(weights=None, **options)
    return model, (torch.randn(1, 3, size, size),), {}


SMALLER = 96  # the side of images, for those that take it


def of_timm(name):
    import timm
    for options in ({}, {"img_size": SMALLER}):
        try:
            model = timm.create_model(name, pretrained=False, **options)
            with torch.no_grad():
                model.eval()(torch.zeros(1, 3, SMALLER, SMALLER))
            return model, (torch.randn(1, 3, SMALLER, SMALLER),), {}
        except (AssertionError, RuntimeError, TypeError, ValueError):  # windows that have to fit; no such argument
            pass
    model = timm.create_model(name, pretrained=False)
    return model, (torch.randn(1, *model.default_cfg["input_size"]),), {}


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 120,
         "num_key_value_heads": 2, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_layers": 2, "num_heads": 4, "d_ff": 64,
         "d_kv": 8, "n_embd": 32, "n_layer": 2, "n_head": 4, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64,
         "max_position_embeddings": 64, "embedding_size": 32, "image_size": 32, "patch_size": 8, "word_embed_proj_dim": 32,
         "ffn_dim": 64, "pad_token_id": 0, "head_dim": 8, "num_decoder_layers": 2, "n_positions": 64, "rotary_dim": 4,
         "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0, "decoder_layerdrop": 0.0, "encoder_layerdrop": 0.0}

# Those whose configurations have words of their own: in place of SMALL.
OWN = {
    "BigBirdModel": {**SMALL, "attention_type": "original_full"},  # as it becomes by itself for so few words
    "ConvNextModel": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1], "image_size": 64},
    "GPTNeoModel": {**SMALL, "attention_types": [[["global", "local"], 1]]},
    "HieraModel": {"embed_dim": 16, "image_size": [64, 64], "depths": [1, 1, 2, 1], "num_heads": [1, 2, 4, 8]},
    "LongformerModel": {**SMALL, "onnx_export": True},  # without as_strided of what is no block of memory
    "YolosModel": {**SMALL, "image_size": [32, 32]},
    "PvtModel": {"image_size": 64, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 40, 64]},
    "SegformerModel": {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 40, 64], "image_size": 64},
    "SwinModel": {"image_size": 56, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4]},
    "Swinv2Model": {"image_size": 56, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 7},
}


def of_transformers(name):
    """'BertModel', 'ViTModel', ...: a small one of the class."""
    import transformers
    kind = getattr(transformers, name)
    config_kind = kind.config_class
    known = set(inspect.signature(config_kind.__init__).parameters) | set(vars(config_kind())) | set(config_kind.attribute_map)
    wanted = OWN[name] if name in OWN else SMALL
    config = config_kind(**{key: value for key, value in wanted.items() if key in known})
    config.use_cache, config.return_dict = False, True
    model = kind(config)
    if hasattr(config, "num_local_experts") or hasattr(config, "num_experts"):
        model.set_experts_implementation("batched_mm")  # without a choice by values
    if getattr(kind, "main_input_name", "input_ids") == "pixel_values":
        size = getattr(config, "image_size", 64)  # of any: the last stride leaves some values
        size = size if isinstance(size, int) else size[0]
        given = {"pixel_values": torch.randn(1, getattr(config, "num_channels", 3), size, size)}
        if "noise" in inspect.signature(kind.forward).parameters:  # which patches it hides
            given["noise"] = torch.rand(1, (size // config.patch_size) ** 2) if isinstance(config.patch_size, int) else None
        return model, (), given
    given = {"input_ids": torch.randint(3, getattr(config, "vocab_size", 100), (2, 12))}
    if config.is_encoder_decoder:
        given["decoder_input_ids"] = torch.randint(3, config.vocab_size, (2, 7))
    return model, (), given


SOURCES = {"torchvision": of_torchvision, "timm": of_timm, "transformers": of_transformers}


def lines_of_source(model):
    """How many lines the classes of a model have, of those that are not PyTorch's."""
    count = 0
    for kind in {type(module) for module in model.modules()}:
        if not kind.__module__.startswith("torch.nn"):
            try:
                count += len(inspect.getsource(kind).splitlines())
            except (OSError, TypeError):
                pass
    return count


def made(name):
    """The network of a name, in evaluation mode, with the arguments of a call."""
    source, _, which = name.partition(":")
    torch.manual_seed(0)
    model, args, kwargs = SOURCES[source](which)
    return randomised(model.eval()), args, kwargs


def uses_winograd(spec, work):
    run_command(["generate", spec, "-o", work])
    return any("winograd" in file.read_text(encoding="utf-8") for file in work.glob("*.c"))


def try_one(name, options):
    """The row of a network."""
    work = options.work / name.replace(":", "_").replace(".", "_")
    model, args, kwargs = made(name)
    row = {"source": lines_of_source(model)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ExportWarning)
        try:
            first = export(model, args, work / "net.yaml", kwargs=kwargs, check=not options.no_compile)
            text = first.spec.read_text(encoding="utf-8")
            row["spec"] = len(text.splitlines())
            model, args, kwargs = made(name)
            second = export(model, args, work / "again.yaml", kwargs=kwargs, check=False)
        except (Error, RuntimeError, NotImplementedError) as error:
            return {**row, "reason": f"{type(error).__name__}: {str(error)[:600]}".replace("\n", " ")}
        finally:
            for file in work.glob("*.safetensors"):
                file.unlink()
    notes = {" ".join(str(item.message).partition("\n")[0].split()) for item in caught if item.category is ExportWarning}
    row["note"] = "; ".join(sorted(notes)).replace(str(work) + "/", "")
    if second.spec.read_text(encoding="utf-8").replace("again.tables", "net.tables") != text:
        return {**row, "reason": "written again, it is another text"}
    if options.no_compile:
        return row
    worst = max(first.differences, default=0.0)
    row["distance"] = f"{worst:.1e}"
    if worst > BOUND:
        own = max(own_distance(model, args, kwargs, training) for training in (False, True))
        row["PyTorch's"] = f"{own:.1e}"
        if worst > OWN_TIMES * own and not (worst <= WINOGRAD and uses_winograd(first.spec, work / "c")):
            return {**row, "reason": "too far from PyTorch"}
    return row


if __name__ == "__main__":
    torch.set_num_threads(1)
    zoo_run.run(__file__, __doc__, try_one, ["distance", "PyTorch's", "spec", "source"], lambda parser:
                parser.add_argument("--no-compile", action="store_true", help="read and check the specs, no more"))
