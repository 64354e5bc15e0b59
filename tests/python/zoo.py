#!/usr/bin/env python3
"""zoo.py - exports networks of torchvision, timm and transformers, with random weights, and compares the compiled models.

    tests/python/zoo.py [--list tests/python/zoo.txt] [--work FOLDER] [NAME ...]

needs PyTorch and those packages; each NAME is of the list or new ("timm:resnet18"). A line of the list is a name, perhaps with
the reason why it cannot be done. What is printed of a network: how far it is from PyTorch, relative to the largest output, the
lines of its spec over those of the source of its classes, and the time. State_dict keys and shapes must be PyTorch's.
"""
import argparse
import inspect
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

from modc._errors import Error  # noqa: E402
from modc._export.export import export  # noqa: E402


def randomised(model):
    """Statistics of BatchNorm as of a trained network, so that it matters what is done with them."""
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
    if name.startswith(("r3d", "mc3", "r2plus1d", "s3d", "mvit", "swin3d")):
        model = getattr(torchvision.models.video, name)(weights=None)
        return model, (torch.randn(1, 3, 16, 224, 224) if name.startswith(("mvit", "s3d")) else torch.randn(1, 3, 16, 112, 112),), {}
    if name.startswith("raft"):
        model = getattr(torchvision.models.optical_flow, name)(weights=None)
        return model, (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)), {"num_flow_updates": 2}
    model = getattr(torchvision.models, name)(weights=None, **options)
    size = 299 if name == "inception_v3" else 224 if name.startswith(("vit", "maxvit")) else 128
    return model, (torch.randn(1, 3, size, size),), {}


def of_timm(name):
    import timm
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
        size = getattr(config, "image_size", 32)
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


def try_one(name, work, compare=True):
    """(whether it passed, what to say). compare: whether it is compiled, too; otherwise `modc check` has to take it."""
    source, _, which = name.partition(":")
    start = time.time()
    torch.manual_seed(0)
    try:
        model, args, kwargs = SOURCES[source](which)
        model = randomised(model.eval())
        made = export(model, args, work / f"{source}_{which.replace('.', '_')}.yaml", kwargs=kwargs, check=compare)
    except (Error, RuntimeError, NotImplementedError) as error:
        return False, f"{type(error).__name__}: {str(error)[:600]}"
    except Exception:
        return False, "crash: " + traceback.format_exc()[-900:]
    written = len(made.spec.read_text(encoding="utf-8").splitlines())
    return True, f"{max(made.differences, default=0):.1e} {written}/{lines_of_source(model)} lines, {time.time() - start:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=Path, default=Path(__file__).with_name("zoo.txt"))
    parser.add_argument("--work", type=Path, default=Path("/tmp/modc-zoo"))
    parser.add_argument("--no-compile", action="store_true", help="read and check the specs, without compiling them")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = options.names
    if not names:
        names = [line.split()[0] for line in options.list.read_text().splitlines() if line.strip() and line[0] != "#"]
    passed = 0
    for name in names:
        good, text = try_one(name, options.work, not options.no_compile)
        passed += good
        print(f"{'ok  ' if good else 'FAIL'} {name:44} {text}", flush=True)
    print(f"{passed} passed, {len(names) - passed} failed")
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
