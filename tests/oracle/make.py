"""Writes tests/vectors: inputs and outputs of PyTorch 2.15 for the specs of specs/ and tests/specs/.

    python3 tests/oracle/make.py            # needs torch 2.15; the same bytes again on the same version
    python3 tests/oracle/make.py 'layers_pool*' text_1x1    # these alone, the others stay as they are
    python3 tests/oracle/make.py --check    # any torch: does it still say what the files say?

A case is a line of tests/vectors/cases.txt: its name, the spec, and all the options of `modc run`. What the
state_dict has to be after the call is in build/vectors/NAME/state.safetensors, where that file is there. archives.py keeps
the files of build/vectors in tests/vectors.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import sys
import zlib

import torch

import archives
import compare
import safetensors_io
import torch_run
from spec_torch import drawn_range

ROOT = archives.ROOT
VECTORS = archives.UNPACKED
VERSION = "2.15."
HEAD = """# Written by tests/oracle/make.py with torch {version}; change that, not this file.
# name, spec, and the options of `modc run`, with paths from the root of the repository. Where there is a
# build/vectors/NAME/state.safetensors, `--state` has to give the tensors that it holds. --rtol stands where four times
# PyTorch's own distance from a float64 run is more than the tolerance of the dtype (design, section 10).
"""


# ---- tensors ------------------------------------------------------------------------------------------------------

def draw(seed, *shape, dtype=torch.float32, scale=1.0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype) * scale


def whole(seed, low, high, *shape):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def rows_of(plan, logits, lengths=None, sequences=3, per=5):
    """Inputs of a call whose rows are the next tokens of sequences, (sequence, how many): `lengths` says how many these have, and is
    brought up to date. Pages lie backwards."""
    lengths = [0] * sequences if lengths is None else lengths
    position, sequence = [], []
    for s, count in plan:
        position += range(lengths[s], lengths[s] + count)
        sequence += [s] * count
        lengths[s] += count
    table = torch.arange(sequences * per).flip(0).view(per, sequences).T
    return {"position": torch.tensor(position), "sequence": torch.tensor(sequence), "pages": table.contiguous(),
            "logit_rows": torch.arange(len(position))[-logits:]}


def several(plans, logits, sequences=3, per=5):
    """The same of calls in a row, one dimension more."""
    lengths = [0] * sequences
    calls = [rows_of(plan, logits, lengths, sequences, per) for plan in plans]
    return {name: torch.stack([call[name] for call in calls]) for name in calls[0]}


def odd_rows():
    """(calls, rows, q k v, heads, width): lines of zeros, denormals, numbers around the smallest scale, huge ones, infinity and NaN."""
    x = draw(309, 3, 4, 3, 2, 20)
    x[0, 0, 1:] = 0
    x[0, 1, 1, 0] *= 1e-40
    x[0, 1, 2, 1] *= 1e-44
    x[0, 2, 1, 1] = 1.4e-36
    x[0, 2, 2, 0] = 1.6e-36
    x[0, 3, 1, 0] = 1e36 * x[0, 3, 1, 0].sign()
    x[0, 3, 0] *= 1e-38
    x[1, 0, 2, 1] *= 1e37
    x[1, 1, 1, 0, 3] = torch.inf
    x[1, 3, 2, 1, 7] = -torch.inf
    x[2, 1, 2, 0, 19] = torch.nan
    x[2, 3, 1, 1, 0] = torch.nan
    return x


def digits(first, count, dtype=torch.float32):
    images = safetensors_io.load(ROOT / "specs/digits/test.safetensors")["images"]
    return {"image": images[first:first + count].to(dtype)}


def faulty_digits():
    """NaN must stay in its own image, and pass ReLU and pooling."""
    images = digits(70, 5)["image"]
    images[1, 0, 3, 4] = float("nan")
    images[3, 0, 0, 0] = float("nan")
    return {"image": images}


def special_digits():
    images = digits(80, 6)["image"]
    images[0, 0, 2, 2] = float("nan")
    images[1, 0, 5, 1] = float("inf")
    images[2, 0, 5, 1] = -float("inf")
    images[3] = 1e-42  # denormal
    images[4] = -0.0
    return {"image": images}


def observations(seed, batch):
    return {"observation": draw(seed, batch, 4)}


def views(seed, batch, tokens):
    return {"x": draw(seed, batch, tokens, 8), "y": draw(seed + 1, batch, 1, 8),
            "count": whole(seed + 2, -9, 10, batch, tokens), "mask": whole(seed + 3, 0, 2, batch, tokens).bool()}


def special_views():
    inputs = views(61, 2, 3)
    inputs["x"][0, 1, 2] = float("nan")
    inputs["y"][1, 0, 3] = float("inf")
    inputs["mask"][0] = True
    inputs["count"][1] = torch.tensor([2 ** 62, -2 ** 62, -2 ** 63])  # sums and negation wrap
    return inputs


def weights(seed, spec, *options):
    """Every key away from its initial value, in the range in which trained ones are."""
    args = torch_run.parse(["run", str(ROOT / spec), *options])
    made = torch_run.Spec(args.spec, dict(text.split("=", 1) for text in args.set), args.dtype)
    root = made.build(seed)
    ranges = made.see_ranges(root)
    generator = torch.Generator().manual_seed(seed)
    state = root.state_dict()
    for key in made.ties:
        del state[key]
    for key, tensor in state.items():
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        if key.endswith("num_batches_tracked"):
            state[key] = tensor + 7
        elif key.endswith("running_var"):
            state[key] = (0.5 + noise.abs()).to(tensor.dtype)
        elif key in ranges:
            state[key] = drawn_range(key, tensor, noise)
        elif tensor.dim() >= 2:
            state[key] = (noise * (tensor.numel() / tensor.shape[0]) ** -0.5).to(tensor.dtype)
        else:
            state[key] = (tensor + 0.2 * noise).to(tensor.dtype)
    return state


# ---- the table ----------------------------------------------------------------------------------------------------

class Case:
    """`inputs` and `weights`: tensors, which the case's folder gets, or the path of a file. `smooth`: how far PyTorch is
    from a float64 run says something of its error, and nothing of a `//` that falls to the other side."""

    def __init__(self, name, spec, options="", inputs=None, weights=None, expect=None, state=False, smooth=True):
        self.name, self.spec, self.options, self.state, self.smooth = name, spec, options.split(), state, smooth
        self.files = {"weights": weights, "inputs": inputs, "expect": expect}


def all_cases():
    cnn, cnn_train = "specs/digits/cnn.yaml", "tests/specs/cnn_nodrop.yaml"
    trained = "specs/digits/weights_cnn.safetensors"
    yield Case("cnn_64", cnn, "", digits(0, 64), trained)
    yield Case("cnn_5", cnn, "", digits(64, 5), trained, state=True)
    yield Case("cnn_1", cnn, "", digits(69, 1), trained)
    yield Case("cnn_0", cnn, "", digits(0, 0), trained)
    yield Case("cnn_nan", cnn, "", faulty_digits(), trained)
    five = "build/vectors/cnn_5/inputs.safetensors"
    for module in ("0", "3", "10", ""):
        hooks = f"--pre-hooks {module}=scale:0.5 --hooks {module}=scale:-1.5"
        yield Case(f"cnn_hook_{module or 'root'}", cnn, hooks, five, trained)
    yield Case("cnn_prehook_4", cnn, "--pre-hooks 4=scale:-2.0", five, trained)
    yield Case("cnn_hooks", cnn, "--pre-hooks =scale:0.5 --hooks =scale:2.0 --hooks 0=scale:-1.5 "
               "--pre-hooks 3=scale:-1.0 --hooks 3=scale:0.25 --pre-hooks 8=scale:3.0 --hooks 9=scale:0.5 "
               "--hooks 10=scale:-1.0", five, trained)
    yield Case("cnn_fence", cnn, "--hooks fence", five, trained)
    yield Case("cnn_train_64", cnn_train, "--train", "build/vectors/cnn_64/inputs.safetensors", state=True)
    yield Case("cnn_train_5", cnn_train, "--train", five, trained, state=True)
    yield Case("cnn_train_hooks", cnn_train, "--train --hooks 0=scale:-1.5 --pre-hooks 4=scale:0.5 --hooks 5=scale:2.0",
               five, trained, state=True)

    mlp, trained = "specs/digits/mlp.yaml", "specs/digits/weights_mlp.safetensors"
    yield Case("mlp_64", mlp, "", "build/vectors/cnn_64/inputs.safetensors", trained)
    yield Case("mlp_5", mlp, "", five, trained, state=True)
    yield Case("mlp_1", mlp, "", digits(76, 1), trained)
    yield Case("mlp_0", mlp, "", digits(0, 0), trained)
    yield Case("mlp_fence", mlp, "--hooks fence", five, trained)
    yield Case("mlp_special", mlp, "", special_digits(), trained)

    yield Case("mlp_bfloat16", mlp, "--dtype bfloat16", digits(76, 5, torch.bfloat16), trained)

    cnn64, own = "tests/specs/cnn64.yaml", "build/vectors/cnn64_64/weights.safetensors"
    noise = digits(100, 64, torch.float64)["image"] + draw(11, 64, 1, 8, 8, dtype=torch.float64, scale=0.01)
    yield Case("cnn64_64", cnn64, "", {"image": noise}, weights(1, cnn64))
    yield Case("cnn64_5", cnn64, "", {"image": noise[7:12]}, own)
    yield Case("cnn64_from_float32", cnn64, "", "build/vectors/cnn64_5/inputs.safetensors",
               "specs/digits/weights_cnn.safetensors")
    yield Case("cnn64_hooks", cnn64, "--pre-hooks 0=scale:0.5 --hooks 3=scale:-1.5 --hooks =scale:2.0",
               "build/vectors/cnn64_5/inputs.safetensors", own)
    yield Case("cnn64_train_64", "tests/specs/cnn64_nodrop.yaml", "--train",
               "build/vectors/cnn64_64/inputs.safetensors", own, state=True)

    policy, trained = "specs/cartpole/policy.yaml", "specs/cartpole/weights.safetensors"
    yield Case("policy_256", policy, "", "specs/cartpole/observations.safetensors", trained,
               "specs/cartpole/expect.safetensors")
    yield Case("policy_17", policy, "", observations(21, 17), trained, state=True)
    yield Case("policy_1", policy, "", observations(22, 1), trained)
    yield Case("policy_0", policy, "", observations(22, 0), trained)
    yield Case("policy_act", policy, "--entry act", "build/vectors/policy_1/inputs.safetensors", trained)
    yield Case("policy_act_fence", policy, "--entry act --hooks fence", "build/vectors/policy_1/inputs.safetensors",
               trained)
    yield Case("policy_hooks", policy, "--hooks trunk.0=scale:0.5 --pre-hooks trunk.3=scale:2.0 "
               "--hooks trunk=scale:-1.0 --pre-hooks critic=scale:3.0",
               "build/vectors/policy_17/inputs.safetensors", trained)
    yield Case("policy_act_hooks", policy, "--entry act --pre-hooks trunk=scale:2.0 --hooks actor=scale:0.25",
               "build/vectors/policy_1/inputs.safetensors", trained)

    tensors = "tests/specs/tensors.yaml"
    for seed, (batch, tokens) in enumerate(((6, 10), (1, 1), (3, 7), (6, 1), (1, 10), (5, 9))):
        yield Case(f"tensors_{batch}x{tokens}", tensors, "", views(31 + 4 * seed, batch, tokens))
    yield Case("tensors_special", tensors, "", special_views())
    yield Case("tensors_fence", tensors, "--hooks fence", "build/vectors/tensors_3x7/inputs.safetensors")
    yield Case("tensors_hooks", tensors, "--pre-hooks =scale:0.5 --hooks =scale:2.0",
               "build/vectors/tensors_3x7/inputs.safetensors")

    # The weights of dim 64 would be 800 KB: they are what PyTorch draws after torch.manual_seed(3).
    blocks = "tests/specs/blocks.yaml"
    for tokens in (32, 7, 1, 0):
        yield Case(f"blocks_{tokens}", blocks, "--seed 3", {"x": draw(71 + tokens, tokens, 64)})
    yield Case("blocks_fence", blocks, "--seed 3 --hooks fence", "build/vectors/blocks_32/inputs.safetensors")
    small, own = "--set dim=16", "build/vectors/blocks16_32/weights.safetensors"
    yield Case("blocks16_32", blocks, small, {"x": draw(81, 32, 16)}, weights(2, blocks, *small.split()), state=True)
    yield Case("blocks16_7", blocks, small, {"x": draw(82, 7, 16)}, own)
    yield Case("blocks16_1", blocks, small, {"x": draw(83, 1, 16)}, own)
    yield Case("blocks16_hooks", blocks, small + " --hooks blocks.3=scale:0.5 --pre-hooks blocks.7.up=scale:2.0 "
               "--hooks blocks.7.act=scale:-1.0 --pre-hooks blocks=scale:3.0 --hooks norm=scale:0.5",
               "build/vectors/blocks16_7/inputs.safetensors", own)

    named = "tests/specs/named.yaml"
    yield Case("named_5", named, "", {"x": draw(90, 5, 4)}, weights(7, named), state=True)
    yield Case("named_hooks", named, "--hooks features.act.3=scale:2.0 --pre-hooks kept.5=scale:-1.0 --hooks odd.a-b=scale:0.5",
               "build/vectors/named_5/inputs.safetensors", "build/vectors/named_5/weights.safetensors")
    tables = "tests/specs/tables.yaml"
    yield Case("tables_3", tables, "", {"x": draw(96, 3, 16, 8)}, weights(6, tables), state=True)
    yield Case("tables_train", tables, "--train --backward", {"x": draw(97, 2, 16, 8), "grad.output": draw(98, 2, 16, 8)},
               "build/vectors/tables_3/weights.safetensors")
    yield Case("tables_64", tables, "--dtype float64", {"x": draw(99, 2, 16, 8, dtype=torch.float64)},
               weights(6, tables, "--dtype", "float64"))
    stream = "tests/specs/stream.yaml"
    yield Case("stream_12", stream, "--sequence", {"sample": draw(91, 12, 8)}, weights(3, stream), state=True)
    yield Case("stream_fence", stream, "--sequence --hooks fence", "build/vectors/stream_12/inputs.safetensors",
               "build/vectors/stream_12/weights.safetensors")
    yield Case("stream_hooks", stream, "--sequence --pre-hooks =scale:0.5 --hooks mix=scale:2.0 "
               "--pre-hooks act=scale:-1.0", "build/vectors/stream_12/inputs.safetensors",
               "build/vectors/stream_12/weights.safetensors")
    pieces = "tests/specs/pieces.yaml"
    yield Case("pieces_5", pieces, "--sequence", {"piece": draw(93, 5, 4, 3, 8)}, weights(4, pieces), state=True)
    cached = "tests/specs/cached.yaml"
    yield Case("cached_whole", cached, "", {"x": draw(94, 9, 32), "past": torch.tensor(0)}, weights(5, cached), state=True)
    yield Case("cached_steps", cached, "--sequence", {"x": draw(94, 9, 1, 32), "past": torch.arange(9)},
               "build/vectors/cached_whole/weights.safetensors")
    yield Case("cached_pieces", cached, "--sequence", {"x": draw(95, 6, 3, 32), "past": torch.tensor([0, 3, 6, 9, 18, 21])},
               "build/vectors/cached_whole/weights.safetensors")
    yield Case("cached_fence", cached, "--sequence --hooks fence", "build/vectors/cached_pieces/inputs.safetensors",
               "build/vectors/cached_whole/weights.safetensors")
    decoder = "tests/specs/decoder.yaml"
    yield Case("decoder_7", decoder, "", {"token": whole(301, 0, 60, 7), **rows_of([(0, 4), (2, 3)], 2)}, weights(6, decoder))
    yield Case("decoder_1", decoder, "", {"token": whole(302, 0, 60, 1), **rows_of([(1, 1)], 1)},
               "build/vectors/decoder_7/weights.safetensors")
    plans = [[(0, 9)], [(1, 8), (0, 1)], [(0, 1), (2, 3), (1, 5)], [(2, 9)], [(1, 4), (2, 1), (0, 4)], [(2, 2), (1, 6), (0, 1)],
             [(0, 7), (2, 2)], [(0, 1), (1, 1), (2, 7)]]
    yield Case("decoder_calls", decoder, "--sequence", {"token": whole(303, 0, 60, len(plans), 9), **several(plans, 3)},
               "build/vectors/decoder_7/weights.safetensors")
    yield Case("decoder_fence", decoder, "--sequence --hooks fence", "build/vectors/decoder_calls/inputs.safetensors",
               "build/vectors/decoder_7/weights.safetensors")
    yield Case("decoder_hooks", decoder, "--sequence --hooks near.2=scale:0.5 --pre-hooks twice.1=scale:2.0",
               "build/vectors/decoder_calls/inputs.safetensors", "build/vectors/decoder_7/weights.safetensors")
    yield Case("decoder_float64", decoder, "--sequence --dtype float64", "build/vectors/decoder_calls/inputs.safetensors",
               weights(6, decoder, "--dtype", "float64"))
    halves = "tests/specs/decoder_narrow.yaml"
    yield Case("decoder_narrow", halves, "--sequence", {"token": whole(304, 0, 50, len(plans), 9), **several(plans, 3)},
               weights(9, halves))
    yield Case("decoder_narrow_fence", halves, "--sequence --hooks fence", "build/vectors/decoder_narrow/inputs.safetensors",
               "build/vectors/decoder_narrow/weights.safetensors")
    scaled = "tests/specs/decoder_int8.yaml"  # tokens of which nothing is rounded by chance: then no --rtol is needed
    yield Case("decoder_int8", scaled, "--sequence", {"token": whole(308, 0, 50, 3, 9), **several(plans[:3], 3)}, weights(11, scaled))
    yield Case("decoder_int8_fence", scaled, "--sequence --hooks fence", "build/vectors/decoder_int8/inputs.safetensors",
               "build/vectors/decoder_int8/weights.safetensors")
    yield Case("decoder_int8_float64", scaled, "--sequence --dtype float64", "build/vectors/decoder_int8/inputs.safetensors",
               weights(11, scaled, "--dtype", "float64"))
    yield Case("kept_odd", "tests/specs/kept_odd.yaml", "--sequence", {"x": odd_rows(), **several([[(0, 4)], [(0, 3), (1, 1)], [(1, 4)]], 4, 2, 2)},
               None, smooth=False)
    mamba = "specs/networks/mamba.yaml"
    plans = [[(0, 6)], [(1, 5), (0, 1)], [(0, 1), (2, 1), (1, 1), (2, 1), (3, 2)], [(0, 2), (2, 1), (0, 1), (3, 2)],
             [(3, 1), (2, 3), (1, 1), (0, 1)]]
    small = "--set vocabulary=64 --set dim=16 --set layers=2 --set context=64"
    yield Case("mamba_calls", mamba, f"--sequence {small}", {"token": whole(311, 0, 64, len(plans), 6), **several(plans, 3, 4, 1)},
               weights(7, mamba, *small.split()))
    yield Case("mamba_fence", mamba, f"--sequence {small} --hooks fence", "build/vectors/mamba_calls/inputs.safetensors",
               "build/vectors/mamba_calls/weights.safetensors")
    lstm = "specs/networks/lstm.yaml"
    small = "--set dim=8 --set hidden=12 --set vocabulary=32"
    plans = [[(0, 1), (1, 1)], [(1, 1), (0, 1)], [(2, 1), (0, 1)], [(1, 1), (3, 1)], [(3, 1), (2, 1)], [(0, 1), (1, 1)]]
    yield Case("lstm_calls", lstm, f"--sequence {small}", {"token": whole(321, 0, 32, len(plans), 2), **several(plans, 2, 4, 8)},
               weights(8, lstm, *small.split()))
    yield Case("lstm_fence", lstm, f"--sequence {small} --hooks fence", "build/vectors/lstm_calls/inputs.safetensors",
               "build/vectors/lstm_calls/weights.safetensors")
    yield Case("stream_1", stream, "", {"sample": draw(92, 8)}, "build/vectors/stream_12/weights.safetensors")

    yield from complex_numbers()
    yield from gathered()
    yield from joined()
    yield from cameras()
    yield from shared()
    yield from in_eval()
    yield from extended()
    yield from hooked()
    yield from attended()
    yield from at_edges()
    yield from in_two_types()
    yield from windows()
    yield from narrow()
    yield from denormal()
    yield from mixed_precision()
    yield from again()
    yield from ahead()
    yield from matrices()
    yield from parts()
    yield from forced()
    yield from folder("language")
    yield from folder("layers")


def complex_numbers():
    spec, narrow, wide = "tests/specs/complex_training.yaml", torch.complex64, torch.complex128
    inputs = {"x": draw(401, 4, 6, dtype=narrow), "line": draw(402, 4, 2, 8, dtype=narrow)}
    yield Case("complex_training_steps", spec, "--steps 8 --seed 3", {**inputs, "target": draw(403, 4, 4, dtype=narrow)}, state=True)
    yield Case("complex_training_hooks", spec, "--seed 3 --backward --hooks blocks.0=scale:2.0 --pre-hooks conv=scale:0.5 "
               "--backward-hooks blocks.1.act=scale:3.0", {**inputs, "grad.h": draw(404, 4, 4, dtype=narrow),
                                                           "grad.wave": draw(405, 4, 3, 6, dtype=narrow)})
    yield Case("complex_training_128", spec, "--dtype complex128 --steps 3 --seed 3 --rtol 1e-9",  # of parameters that are float32, too
               {"x": draw(406, 2, 6, dtype=wide), "line": draw(407, 2, 2, 8, dtype=wide), "target": draw(408, 2, 4, dtype=wide)})


def mixed_precision():
    """Training under autocast: what is float32 is of numbers that were rounded to bfloat16."""
    spec = "tests/specs/autocast_training.yaml"
    inputs = {"image": draw(421, 6, 3, 8, 8), "h": draw(422, 6, 8)}
    yield Case("autocast_training_steps", spec, "--steps 6 --seed 3",
               {**inputs, "target": whole(423, 0, 5, 6)}, state=True)
    yield Case("autocast_training_hooks", spec, "--seed 3 --train --backward --hooks conv=scale:2.0 --backward-hooks head=scale:3.0 "
               "--rtol 8e-2", {**inputs, "grad.logits": draw(424, 6, 5).bfloat16(), "grad.y": draw(425, 2, 6, 8).bfloat16()})


def gathered():
    """Indices of every kind."""
    gather = "tests/specs/gather.yaml"
    for n, m in ((5, 4), (2, 2), (6, 5)):
        inputs = {"x": draw(151 + n, n, 4, m), "i": whole(152 + n, -4, 4, n, 2), "j": whole(153, 0, 4, 3).int(),
                  "k": whole(154 + n, 0, m, n, 4, 2), "z": whole(155 + n, -n, n)}
        yield Case(f"gather_{n}x{m}", gather, "", inputs)
    yield Case("gather_fence", gather, "--hooks fence", "build/vectors/gather_5x4/inputs.safetensors")
    text, own = "tests/specs/text.yaml", "build/vectors/text_5x11/weights.safetensors"
    yield Case("text_5x11", text, "", {"tokens": whole(161, 0, 100, 5, 11), "mask": whole(162, 0, 3, 5, 11) > 0},
               weights(10, text), state=True)
    yield Case("text_1x1", text, "", {"tokens": whole(163, 0, 100, 1, 1), "mask": whole(164, 0, 1, 1, 1) > 0}, own)
    yield Case("text_8x16", text, "", {"tokens": whole(165, 0, 100, 8, 16), "mask": whole(166, 0, 3, 8, 16) > 0}, own)
    yield Case("text_hooks", text, "--hooks embed=scale:2.0 --hooks position=scale:0.5",
               "build/vectors/text_5x11/inputs.safetensors", own)
    yield Case("text_seed", text, "--seed 7", "build/vectors/text_5x11/inputs.safetensors")


def joined():
    """What is concatenated, in place and not."""
    joins = "tests/specs/joins.yaml"
    own = "build/vectors/joins_3x6/weights.safetensors"
    for n, past in ((3, 6), (1, 4), (2, 0)):
        inputs = {"image": draw(141 + n, n, 3, 9, 8), "x": draw(142 + n, n, 24), "cache": draw(143 + n, 2, n, 2, past, 12)}
        yield Case(f"joins_{n}x{past}", joins, "--rtol 1e-4", inputs, weights(9, joins) if n == 3 else own)


def cameras():
    """Images in other types and orders than convolutions compute with."""
    camera = "tests/specs/camera.yaml"
    own = "build/vectors/camera_3/weights.safetensors"
    for n, height, width in ((3, 11, 14), (1, 5, 3), (2, 1, 9)):
        inputs = {"frame": whole(181 + n, 0, 256, n, height, width, 3).byte(), "still": whole(182 + n, 0, 256, n, 13, 10, 3).byte(),
                  "planes": whole(183 + n, 0, 256, n, 3, 12, 9).byte(), "depth": whole(184 + n, -4000, 4000, n, 1, 9, 8).short(),
                  "picture": draw(185 + n, n, 3, 8, 17), "gain": draw(186 + n, 3, scale=0.01)}
        yield Case(f"camera_{n}", camera, "", inputs, weights(12, camera) if n == 3 else own)
    inputs = "build/vectors/camera_3/inputs.safetensors"
    yield Case("camera_train", camera, "--train", inputs, own, state=True)


def shared():
    """What tie: makes one tensor, as it is drawn and from files that lack keys of it."""
    tied = "tests/specs/tied.yaml"
    yield Case("tied_9", tied, "--seed 5", {"x": draw(151, 9, 6)}, state=True)
    lacking = weights(10, tied)  # has what ties end with alone, and here the other key
    lacking["first.bias"] = lacking.pop("blocks.4.fc.bias")
    yield Case("tied_3", tied, "", {"x": draw(152, 3, 6)}, lacking, state=True)
    yield Case("tied_hooks", tied, "--hooks middle=scale:0.5 --pre-hooks blocks.2.fc=scale:-1.5",
               "build/vectors/tied_3/inputs.safetensors", "build/vectors/tied_9/state.safetensors")


def in_eval():
    """Training mode where eval: fixes parts: their buffers stay as they are, the others follow the batch."""
    fixed, own = "tests/specs/fixed.yaml", "build/vectors/fixed_train_6/weights.safetensors"
    yield Case("fixed_train_6", fixed, "--train", {"x": draw(171, 6, 3, 6, 6)}, weights(11, fixed), state=True)
    yield Case("fixed_train_2", fixed, "--train", {"x": draw(172, 2, 3, 6, 6)}, own, state=True)
    yield Case("fixed_6", fixed, "", "build/vectors/fixed_train_6/inputs.safetensors", own, state=True)
    yield Case("fixed_train_hooks", fixed, "--train --hooks backbone.norm=scale:0.5 --pre-hooks blocks.2.norm=scale:2.0",
               "build/vectors/fixed_train_6/inputs.safetensors", own, state=True)


def extended():
    """`extends`, `set` and `add`; with --seed, what is drawn for modules that were replaced and added."""
    family, deep, wide = (f"tests/specs/family{name}.yaml" for name in ("", "_deep", "_wide"))
    yield Case("family_6", family, "", {"x": draw(161, 6, 8)}, weights(13, family))
    own = "build/vectors/family_deep_6/weights.safetensors"
    yield Case("family_deep_6", deep, "", "build/vectors/family_6/inputs.safetensors", weights(14, deep), state=True)
    yield Case("family_deep_1", deep, "", {"x": draw(162, 1, 8)}, own)
    yield Case("family_deep_seed", deep, "--seed 5", "build/vectors/family_6/inputs.safetensors", state=True)
    own = "build/vectors/family_wide_6/weights.safetensors"
    yield Case("family_wide_6", wide, "", {"x": draw(163, 6, 12)}, weights(15, wide))
    yield Case("family_wide_2", wide, "--entry probabilities", {"x": draw(164, 2, 12)}, own)
    yield Case("family_wide_hidden", wide, "--entry hidden", "build/vectors/family_wide_6/inputs.safetensors", own)
    yield Case("family_wide_hooks", wide, "--hooks blocks.2.gate=scale:0.5 --pre-hooks head.0.1=scale:2.0 "
               "--hooks head.last.inner=scale:-1.0 --hooks blocks=scale:1.5",
               "build/vectors/family_wide_6/inputs.safetensors", own)
    yield Case("family_wide_seed", wide, "--seed 5", "build/vectors/family_wide_6/inputs.safetensors", state=True)


def attended():
    """Hooks below a Transformer; `out_proj` is read, and never called."""
    spec, inputs = "tests/specs/transformer.yaml", {"src": draw(231, 2, 5, 8), "tgt": draw(232, 2, 4, 8)}
    inputs.update({"grad.y": draw(233, 2, 4, 8), "grad.z": draw(234, 2, 4, 8), "grad.weights": draw(235, 2, 4, 4)})
    encoder, decoder = "net.encoder.layers", "net.decoder.layers"
    yield Case("transformer_hooks", spec, f"--backward --pre-hooks {encoder}.0.self_attn=scale:0.5 "
               f"--hooks {encoder}.0.self_attn.out_proj=scale:3.0 --hooks {encoder}.1.self_attn=scale:-1.5 "
               f"--pre-hooks {encoder}.1=scale:2.0 --hooks {encoder}.1.activation=scale:0.5 --hooks net.encoder.norm=scale:2.0 "
               f"--hooks net.encoder=scale:-1.0 --pre-hooks {decoder}.0.multihead_attn=scale:-0.5 --hooks {decoder}.0.linear2=scale:2.0 "
               f"--hooks {decoder}.0=scale:0.25 --pre-hooks net=scale:0.5 --hooks weighted=scale:2.0", inputs, weights(31, spec))
    yield Case("transformer_gradients", spec, f"--backward --backward-hooks {encoder}.0.self_attn=scale:0.5 "
               f"--backward-pre-hooks {encoder}.1.norm1=scale:-2.0 --backward-hooks {decoder}.0=scale:0.5 "
               f"--backward-pre-hooks {decoder}.0.multihead_attn=scale:2.0 --backward-hooks net.decoder=scale:-1.0",
               "build/vectors/transformer_hooks/inputs.safetensors", "build/vectors/transformer_hooks/weights.safetensors")


def hooked():
    """Hooks under gradients, and of gradients: what those of forward change has no slope of its own."""
    spec = "tests/specs/hooked.yaml"
    inputs = {"x": draw(191, 3, 3, dtype=torch.float64), "mask": whole(192, 0, 2, 3, 4).bool(),
              "grad.output_0": draw(193, 3, 2, dtype=torch.float64), "grad.output_1": draw(194, 3, 4, dtype=torch.float64)}
    own = ("build/vectors/hooked_fence/inputs.safetensors", "build/vectors/hooked_fence/weights.safetensors")
    yield Case("hooked_fence", spec, "--backward --hooks fence", inputs, weights(17, spec))
    yield Case("hooked_inner", spec, "--backward --hooks block.act=scale:0.5 --pre-hooks block.fc=scale:-2.0 "
               "--hooks norm=scale:1.5 --pre-hooks fixed=scale:0.5", *own)
    yield Case("hooked_outer", spec, "--backward --pre-hooks =scale:2.0 --hooks =scale:-1.0 --pre-hooks block=scale:0.5 "
               "--hooks block=scale:3.0 --pre-hooks twice=scale:-1.5 --hooks twice=scale:2.0", *own)
    yield Case("hooked_gradients", spec, "--backward --backward-hooks block.act=scale:0.5 --backward-pre-hooks twice=scale:-2.0 "
               "--backward-hooks block=scale:3.0 --backward-pre-hooks norm=scale:0.5 --backward-hooks fixed=scale:-1.0 "
               "--backward-hooks head=scale:1.5", *own)
    yield Case("hooked_both", spec, "--backward --backward-pre-hooks =scale:-1.0 --backward-hooks =scale:0.5 "
               "--backward-pre-hooks block.fc=scale:2.0 --backward-hooks inner=scale:-1.5 --hooks block.fc=scale:1.5 "
               "--pre-hooks head=scale:2.0", *own)


def at_edges():
    """Gradients at zeros, equal values, infinities and NaN."""
    spec, nan, inf = "tests/specs/edges.yaml", float("nan"), float("inf")
    equal = torch.tensor([[1.0, 2, 2, 1, 2], [0, 0, 0, 0, 0], [-1, 3, 3, -1, 0]])
    holed = torch.tensor([[1.5, nan, 2, nan, -1], [0.5, 0, 2, -2, 1], [inf, 1, -1, 2, 0]])
    inputs = {"x": torch.tensor([0.0, -0.0, nan, inf, -inf, 1, -3, 0.5]).repeat(10, 1),
              "y": torch.tensor([1.0, -1, -1, -1, 1, -1, 1, 1]), "z": torch.stack([equal, holed] * 6), "image": draw(201, 2, 1, 2, 1)}
    upstream = upstream_of(torch_run.parse(["run", spec, "--backward"]), pathlib.Path(spec), inputs)
    del upstream["pooled"]  # docs/departures.md: windows without an element
    yield Case("edges_backward", spec, "--backward", {**inputs, **{f"grad.{key}": gradient for key, gradient in upstream.items()}})


def in_two_types():
    """A spec with a list of dtypes, in either, from the weights of the wider one."""
    spec, own = "tests/specs/dtypes.yaml", "build/vectors/dtypes_5/weights.safetensors"
    inputs = {"image": draw(181, 5, 2, 3, 3), "weight": draw(182, 5, dtype=torch.float64), "label": whole(183, 0, 12, 5)}
    yield Case("dtypes_5", spec, "--rtol 1e-5", inputs, weights(12, spec, "--dtype", "float64"), state=True)
    yield Case("dtypes_5_double", spec, "--dtype float64", {**inputs, "image": inputs["image"].double()}, own, state=True)
    yield Case("dtypes_train", spec, "--rtol 1e-5 --train", "build/vectors/dtypes_5/inputs.safetensors", own, state=True)


def windows():
    """Convolutions, pools and norms whose shapes no model above has."""
    conv, own = "tests/specs/conv.yaml", "build/vectors/conv_3/weights.safetensors"
    yield Case("conv_3", conv, "", {"x": draw(101, 3, 5, 9, 15), "y": draw(102, 3, 6, 9, 17)}, weights(4, conv))
    yield Case("conv_1", conv, "", {"x": draw(103, 1, 5, 9, 15), "y": draw(104, 1, 6, 3, 4)}, own)
    yield Case("conv_train", conv, "--train", "build/vectors/conv_3/inputs.safetensors", own, state=True)
    depthwise, own = "tests/specs/depthwise.yaml", "build/vectors/depthwise_3/weights.safetensors"
    yield Case("depthwise_3", depthwise, "", {"x": draw(111, 3, 8, 9, 7), "y": draw(112, 3, 19, 6, 21),
                                              "z": draw(125, 3, 17, 5, 40), "fixed": draw(127, 3, 18, 4, 37)},
               weights(5, depthwise))
    winograd, trained = "tests/specs/winograd.yaml", "build/vectors/winograd_2/weights.safetensors"
    yield Case("winograd_2", winograd, "--rtol 1e-4", {"wide": draw(115, 2, 16, 33, 30), "free": draw(116, 2, 32, 13, 9),
                                            "single": draw(117, 1, 16, 4, 4)}, weights(15, winograd))
    yield Case("winograd_1", winograd, "--rtol 1e-4", {"wide": draw(118, 1, 16, 33, 30), "free": draw(119, 1, 32, 2, 9),
                                            "single": draw(120, 1, 16, 4, 4)}, trained)
    yield Case("depthwise_1", depthwise, "", {"x": draw(113, 1, 8, 9, 7), "y": draw(114, 1, 19, 6, 3),
                                              "z": draw(126, 1, 17, 5, 7), "fixed": draw(128, 1, 18, 4, 37)}, own)
    pool, own = "tests/specs/pool.yaml", "build/vectors/pool_3/weights.safetensors"
    yield Case("pool_3", pool, "", {"x": draw(121, 3, 3, 8, 11), "y": draw(122, 3, 2, 7, 13)}, weights(6, pool))
    yield Case("pool_1", pool, "", {"x": draw(123, 1, 3, 8, 11), "y": draw(124, 1, 2, 7, 2)}, own)
    norms, own = "tests/specs/norms.yaml", "build/vectors/norms_4/weights.safetensors"
    yield Case("norms_4", norms, "", {"x": draw(131, 4, 9, 37), "image": draw(132, 4, 3, 5, 6)}, weights(7, norms))
    yield Case("norms_1", norms, "", {"x": draw(133, 1, 1, 37), "image": draw(134, 1, 3, 5, 6)}, own)
    yield Case("norms_train", norms, "--train", "build/vectors/norms_4/inputs.safetensors", own, state=True)
    yield Case("firmware", "tests/specs/firmware.yaml", "", digits(90, 1), weights(8, "tests/specs/firmware.yaml"))
    corners, own = "tests/specs/corners.yaml", "build/vectors/corners_6/weights.safetensors"
    yield Case("corners_6", corners, "", {"x": draw(141, 6, 4), "p": draw(142, 2, 3, 3, 8)}, weights(9, corners))
    yield Case("corners_1", corners, "", {"x": draw(143, 1, 4), "p": draw(144, 2, 3, 2, 8)}, own)
    yield Case("corners_hooks", corners, "--repeat 3 --pre-hooks base=scale:2.0 --hooks act=scale:3.0 --pre-hooks list=scale:0.5",
               "build/vectors/corners_6/inputs.safetensors", own)
    yield Case("corners_train", corners, "--train", "build/vectors/corners_6/inputs.safetensors", own)


def coded_state(seed, spec, share):
    """Weights of which so many are far smaller than the others: more of a panel than its sixteen codes are for."""
    state = weights(seed, spec)
    for number, tensor in enumerate(state.values()):
        if not tensor.is_floating_point():
            continue
        small = draw(seed + number, *tensor.shape).abs() < share
        tensor[small] *= 2.0 ** -(20 + 40 * draw(seed - number, *tensor.shape).abs()[small]).floor()
    return state


def narrow():
    """`storage`: the weights of products are rounded to 16 bits, to infinity too. Weights are what the seed draws."""
    spec, half, edges = (f"tests/specs/storage{name}.yaml" for name in ("", "_half", "_edges"))

    def inputs(seed, batch):
        return {"x": draw(seed, batch, 19), "one": draw(seed + 1, 1, 19), "image": draw(seed + 2, 3, 3, 5, 5),
                "token": whole(seed + 3, 0, 21, 2)}

    yield Case("storage_29", spec, "--seed 19", inputs(191, 29))
    yield Case("storage_1", spec, "--seed 19", inputs(194, 1))
    own = "build/vectors/storage_29/inputs.safetensors"
    yield Case("storage_fence", spec, "--seed 19 --hooks fence", own)
    yield Case("storage_train", spec, "--seed 19 --train", own)
    yield Case("storage_half_29", half, "--seed 19", own)
    yield Case("storage_half_1", half, "--seed 19", "build/vectors/storage_1/inputs.safetensors")
    yield Case("storage_half_fence", half, "--seed 19 --hooks fence", own)
    for plan in ("gemv_panel", "gemm_panel", "gemm_dot", "matmul_strided"):
        expect = "build/vectors/storage{}_29/expect.safetensors"
        yield Case(f"storage_{plan}", spec, f"--seed 19 --plan contract={plan}", own, expect=expect.format(""))
        yield Case(f"storage_half_{plan}", half, f"--seed 19 --plan contract={plan}", own, expect=expect.format("_half"))
    coded = "tests/specs/storage_coded.yaml"
    for name, options in (("29", ""), ("fence", "--hooks fence"), ("train", "--train"), ("gemm_dot", "--plan contract=gemm_dot")):
        yield Case(f"storage_coded_{name}", coded, f"--seed 19 {options}".rstrip(), own, expect="build/vectors/storage_{}/expect.safetensors".format(
            name if name in ("fence", "train") else "29"))
    yield Case("storage_coded_1", coded, "--seed 19", "build/vectors/storage_1/inputs.safetensors", expect="build/vectors/storage_1/expect.safetensors")
    few, many = coded_state(435, coded, 0.03), coded_state(436, coded, 0.5)
    for batch, given in ((50, inputs(198, 50)), (1, "build/vectors/storage_1/inputs.safetensors")):
        yield Case(f"storage_coded_few_{batch}", coded, "", given, few)
        yield Case(f"storage_coded_many_{batch}", coded, "", given, many)
    integers = "tests/specs/storage_int8.yaml"
    yield Case("storage_int8_29", integers, "--seed 19", own)
    yield Case("storage_int8_9", integers, "--seed 19", inputs(197, 9))
    yield Case("storage_int8_1", integers, "--seed 19", "build/vectors/storage_1/inputs.safetensors")
    yield Case("storage_int8_fence", integers, "--seed 19 --hooks fence", own)
    both = "tests/specs/dynamic.yaml"

    def rows(seed, batch):
        return {"x": draw(seed, batch, 53), "single": draw(seed + 1, 1, 53), "image": draw(seed + 2, 2, 3, 7, 53),
                "token": whole(seed + 3, 0, 21, 5)}

    yield Case("dynamic_29", both, "--seed 19", rows(401, 29))
    yield Case("dynamic_3", both, "--seed 19", rows(405, 3))
    yield Case("dynamic_fence", both, "--seed 19 --hooks fence", "build/vectors/dynamic_29/inputs.safetensors")
    integers = "tests/specs/integers.yaml"

    def bytes_of(seed, batch):
        return {"image": whole(seed, -128, 128, batch, 9, 11, 3).to(torch.int8), "line": whole(seed + 1, -128, 128, 4, 6, 13).to(torch.int8),
                "kernel": whole(seed + 2, -128, 128, 8, 1, 3, 3).to(torch.int8), "matrix": whole(seed + 3, -128, 128, 7, 5).to(torch.int8)}

    state = integer_state(421, integers)
    for batch in (3, 1):
        yield Case(f"integers_{batch}", integers, "", bytes_of(425 + batch, batch), state)
    own = "build/vectors/integers_3/{}.safetensors".format
    for name, options in (("fence", "--hooks fence"), ("plain", "--plan conv=conv_int8_plain"), ("train", "--train"),
                          ("target", "--target hosted=no,ram=1M,flash=1M")):
        yield Case(f"integers_{name}", integers, options, own("inputs"), own("weights"))
    yield Case("integers_zeros", integers, "", {name: torch.full_like(tensor, -128) for name, tensor in bytes_of(425, 3).items()},
               own("weights"))
    own = "tests/calibrated/layers.{}.safetensors".format  # of calibrated.py
    for name, options in (("", "--rtol 0"), ("_fence", "--rtol 0.05 --hooks fence")):  # which may be some steps apart
        yield Case(f"calibrated{name}", "tests/calibrated/layers.yaml", options, own("inputs"), own("weights"), own("expect"),
                   smooth=False)
    yield Case("calibrated_digits", "specs/digits/cnn_int8.yaml", "--rtol 0.02", "build/vectors/cnn_64/inputs.safetensors",
               "specs/digits/weights_cnn.safetensors", "build/vectors/cnn_64/expect.safetensors", smooth=False)  # of float32
    bare = "tests/specs/integers_chip.yaml"
    yield Case("integers_chip", bare, "", {"image": whole(431, -128, 128, 8, 3, 7, 9).to(torch.int8)}, integer_state(432, bare))
    chip = "tests/specs/dynamic_chip.yaml"
    yield Case("dynamic_chip", chip, "", {"image": draw(409, 8, 1, 8, 8)}, weights(410, chip))
    special = [1e6, -1e6, 65519.0, 65520.0, 3e38, -3.4e38, 1e-5, 6e-8, 2e-8, -1e-41, 0.0, -0.0, 1 + 2 ** -11, 1 + 3 * 2 ** -11,
               2049.0, 2051.0, float("inf"), -float("inf"), float("nan")]
    yield Case("storage_edges", edges, "", {"x": torch.tensor([[1.0], [-2.0], [0.5]]), "one": torch.ones(1, 1)},
               {"weight": torch.tensor(special)[:, None]})


def denormal():
    """Inputs and weights below the least normal number, and `denormals: flush`."""
    spec, flush = "tests/specs/denormals.yaml", "tests/specs/denormals_flush.yaml"
    own = weights(22, spec)
    own["fc.weight"] *= 2e-39
    yield Case("denormals_3", spec, "--rtol 1e-4", {"tiny": draw(201, 3, 16, 9, 10, scale=2e-39), "x": draw(202, 3, 24)}, own)
    files = [f"build/vectors/denormals_3/{kind}.safetensors" for kind in ("inputs", "weights")]
    yield Case("denormals_one", spec, "--entry one", *files)
    yield Case("denormals_flush", flush, "", *files)
    yield Case("denormals_flush_fence", flush, "--hooks fence", *files, expect="build/vectors/denormals_flush/expect.safetensors")


def again():
    """Gradients where backward computes parts again, which PyTorch is not asked to do; buffers are written once."""
    spec, own = "tests/specs/checkpoint.yaml", "build/vectors/checkpoint/inputs.safetensors"
    inputs = {"x": draw(211, 2, 8, 16), "image": draw(212, 2, 4, 6, 6), "token": whole(213, 0, 7, 2, 8),
              "grad.y": draw(214, 2, 8, 5), "grad.output_1": draw(215, 2, 4, 6, 6), "grad.output_3": draw(216, 16)}
    yield Case("checkpoint", spec, "--seed 21 --backward", inputs)
    yield Case("checkpoint_train", spec, "--seed 21 --backward --train", own, state=True)
    yield Case("checkpoint_rnn", "tests/specs/checkpoint_rnn.yaml", "--seed 21 --backward",
               {"x": draw(217, 5, 3, 6), "grad.output_0": draw(218, 5, 3, 2), "grad.output_1": draw(219, 1, 3, 4)})


def matrices():
    """Factors of several matrices, whose calls may share them."""
    yield Case("matrices_7", "tests/specs/matrices.yaml", "--rtol 2e-5",
               {"x": draw(241, 7, 4, 4), "b": draw(242, 7, 4, 2), "t": draw(243, 7, 5, 3), "big": draw(244, 2, 40, 40),
                "right": draw(245, 2, 40, 3), "scores": draw(246, 6, 7, 5), "labels": whole(247, 1, 5, 7, 2)})


def ahead():
    """Recurrent layers of one row, forward and backward."""
    spec = "tests/specs/recurrent.yaml"
    inputs = {"x": draw(231, 19, 1, 24), "y": draw(232, 1, 16, 40), "z": draw(233, 33, 32), "h": draw(234, 1, 1, 32),
              "c": draw(235, 1, 1, 32)}
    yield Case("recurrent", spec, "--seed 23", inputs)
    yield Case("recurrent_backward", spec, "--seed 23 --backward",
               {**inputs, "grad.forward_states": draw(236, 19, 1, 64), "grad.states": draw(237, 1, 16, 128), "grad.plain": draw(238, 33, 1, 32),
                "grad.some": draw(239, 33, 32)})
    yield Case("recurrent_f64", spec, "--seed 23 --dtype float64", {key: value.double() for key, value in inputs.items()})


def parts():
    """Gradients through state that is written in parts."""
    spec = "tests/specs/parts.yaml"
    for n in (5, 2):
        inputs = {"x": draw(221 + n, n, 6), "y": draw(222 + n, 6), "z": draw(223 + n, 4, 3), "grad.output_0": draw(224, 5, 6),
                  "grad.output_1": draw(225, 4, 3, 2), "grad.output_2": draw(226, 8), "grad.output_3": draw(227, 2, 4, 3)}
        yield Case(f"parts_{n}", spec, "--seed 22 --backward", inputs)


def forced():
    """Every row of generator/plan/algorithms.c, asked for with --plan where the plan might choose another one."""
    def again(name, spec, plan, options="", weights=True):
        folder = f"build/vectors/{name}"
        held = weights if isinstance(weights, str) else f"{folder}/weights.safetensors" if weights else None
        suffix = plan.replace("=", "") if plan.startswith("split=") else plan.partition("=")[2]
        return Case(f"{name}_{suffix}", spec, f"{options} --plan {plan}", f"{folder}/inputs.safetensors",
                    held, f"{folder}/expect.safetensors")

    policy, trained = "specs/cartpole/policy.yaml", "specs/cartpole/weights.safetensors"
    mlp, winograd = "specs/digits/mlp.yaml", "tests/specs/winograd.yaml"
    small, own = "--set dim=16", "build/vectors/blocks16_32/weights.safetensors"
    for plan in ("contract=gemm_dot", "contract=gemm_panel", "contract=matmul_strided"):
        yield again("policy_17", policy, plan, "", trained)
        yield again("mlp_1", mlp, plan, "", "specs/digits/weights_mlp.safetensors")
        yield again("blocks16_7", "tests/specs/blocks.yaml", plan, small, own)
        yield again("cnn64_5", "tests/specs/cnn64.yaml", plan, "", "build/vectors/cnn64_64/weights.safetensors")
    for plan in ("contract=gemv_panel", "contract=gemm_panel", "contract=gemm_dot"):
        yield again("stream_12", "tests/specs/stream.yaml", plan, "--sequence")
    yield again("firmware", "tests/specs/firmware.yaml", "contract=gemv_panel")
    yield again("tensors_3x7", "tests/specs/tensors.yaml", "contract=matmul_strided", "", False)
    yield again("conv_3", "tests/specs/conv.yaml", "conv=conv_plain")
    yield again("conv_1", "tests/specs/conv.yaml", "conv=conv_plain", "", "build/vectors/conv_3/weights.safetensors")
    yield again("depthwise_3", "tests/specs/depthwise.yaml", "conv=conv_depthwise")
    yield again("depthwise_3", "tests/specs/depthwise.yaml", "conv=conv_direct")
    yield again("depthwise_1", "tests/specs/depthwise.yaml", "conv=conv_direct", "",
                "build/vectors/depthwise_3/weights.safetensors")
    yield again("conv_3", "tests/specs/conv.yaml", "conv=conv_direct")
    for plan in ("conv=conv_winograd4", "conv=conv_winograd2"):
        yield again("winograd_2", winograd, plan, "--rtol 1e-4")
        yield again("winograd_1", winograd, plan, "--rtol 1e-4", "build/vectors/winograd_2/weights.safetensors")
    for plan in ("conv=conv_direct", "conv=conv_plain", "contract=matmul_strided", "contract=gemm_dot", "split=3"):
        yield again("joins_3x6", "tests/specs/joins.yaml", plan, "" if plan.startswith("conv") else "--rtol 1e-4")
    for plan in ("conv=conv_direct", "conv=conv_plain", "split=3"):
        yield again("camera_3", "tests/specs/camera.yaml", plan)
    yield again("pool_3", "tests/specs/pool.yaml", "pool=pool")
    yield again("norms_4", "tests/specs/norms.yaml", "norm=layer_norm")
    for plan in ("attention=attention_heads", "split=3"):
        yield again("layers_attention", "tests/layers/attention.yaml", plan, "", False)
        yield again("layers_attention_3", "tests/layers/attention.yaml", plan, "", False)
    for plan in ("contract=matmul_strided", "split=3"):
        yield again("layers_functions_products", "tests/layers/functions_products.yaml", plan, "", False)
    for name in ("grid", "boxes"):
        yield again(f"layers_functions_{name}_backward", f"tests/layers/functions_{name}.yaml", "split=3", "--backward --rtol 2e-5",
                    False)
    for name in ("layers_rnn", "layers_rnn_lengths"):
        yield again(name, f"tests/layers/{name.partition('_')[2]}.yaml", "recurrent=recurrent_dot")
    yield again("pieces_5", "tests/specs/pieces.yaml", "recurrent=recurrent_dot", "--sequence")
    for algorithm in ("ahead", "panel", "dot"):
        yield again("recurrent", "tests/specs/recurrent.yaml", f"recurrent=recurrent_{algorithm}", "--seed 23", False)
    for name in ("conv_3", "depthwise_3", "pool_3", "norms_4", "winograd_2"):
        yield again(name, f"tests/specs/{name.partition('_')[0]}.yaml", "split=3",
                    "--rtol 1e-4" if name == "winograd_2" else "")
    for name, options in (("", "--rtol 1e-4"), ("_flush", "")):
        yield Case(f"denormals{name}_split", f"tests/specs/denormals{name}.yaml", f"{options} --plan split=2",
                   *(f"build/vectors/denormals_3/{kind}.safetensors" for kind in ("inputs", "weights")),
                   f"build/vectors/denormals{name or '_3'}/expect.safetensors")
    yield again("blocks16_7", "tests/specs/blocks.yaml", "split=3", small, own)
    yield again("tensors_3x7", "tests/specs/tensors.yaml", "split=2", "", False)
    yield again("matrices_7", "tests/specs/matrices.yaml", "split=3", "--rtol 2e-5", False)
    yield again("layers_dense", "tests/layers/dense.yaml", "contract=matmul_strided")
    yield again("storage_29", "tests/specs/storage.yaml", "split=2", "--seed 19", False)
    yield again("mlp_1", mlp, "split=5", "", "specs/digits/weights_mlp.safetensors")
    yield Case("policy_17_many", policy, "--set batch=40000", "build/vectors/policy_17/inputs.safetensors", trained,
               "build/vectors/policy_17/expect.safetensors")  # so many might come that threads of a map take more than one


def folder(name):
    """tests/NAME: a case for each line `# run: SIZE=VALUE... OPTIONS` of a spec, or one at the maxima of its sizes. Inputs
    are drawn; a line `# draw: INPUT LOW HIGH` says from which range, LOW <= x < HIGH. The weights of tests/language are what
    seed 0 gives, those of tests/layers are drawn."""
    for path in sorted((ROOT / "tests" / name).glob("*.yaml")):
        text = path.read_text()
        if re.search("^# dump:", text, re.MULTILINE):
            continue
        own, first, held = f"{name}_{path.stem}", None, {}
        ranges = ranges_of(text)
        lines = re.findall("^# run:(.*)$", text, re.MULTILINE) or [""]
        for i, line in enumerate(lines):
            words = line.split()
            sizes = dict(word.split("=") for word in words if re.fullmatch(r"[a-z_]+=[0-9]+", word))
            options = " ".join(word for word in words if not re.fullmatch(r"[a-z_]+=[0-9]+", word))
            args = torch_run.parse(["run", str(path), *options.split()])
            spec = torch_run.Spec(str(path), dict(text.split("=", 1) for text in args.set), args.dtype)
            case = f"{own}_{i + 1}" if i else own
            inputs = {}
            for key, (shape, dtype) in spec.input_shapes({name: int(value) for name, value in sizes.items()}).items():
                inputs[key] = drawn(zlib.crc32(f"{path.stem} {key}".encode()), shape, dtype, ranges.get(key))
            if sizes or first is None or args.dtype != first[1]:
                first = f"build/vectors/{case}/inputs.safetensors", args.dtype
            else:
                inputs = first[0]
            state, trained = bool(spec.build(0).state_dict()), None
            if state and name == "layers":
                trained = held.get(args.dtype) or weights(zlib.crc32(path.stem.encode()), f"tests/layers/{path.name}",
                                                          *options.split())
                held.setdefault(args.dtype, f"build/vectors/{case}/weights.safetensors")
            yield Case(case, f"tests/{name}/{path.name}", options, inputs, trained, state=state,
                       smooth=name == "layers" and path.stem not in STEPS)
            if name == "layers" and (i == 0 or (args.dtype == "float64" and path.stem in WIDE_BACKWARD)):
                yield from backward(case, path, options, inputs, state,
                                    path.stem not in NO_BACKWARD_TRAIN and any("--train" in line for line in lines))


# Results of specs of tests/layers whose gradients have no vectors: docs/departures.md has CrossMapLRN2d.
NO_BACKWARD = {"norms": {"output_21", "output_22", "output_23"}}
# Specs whose gradients have vectors in float64 too.
WIDE_BACKWARD = {"fractional", "functions_returns", "losses", "losses_classes", "losses_ctc", "losses_pairs", "special", "linalg"}
# Those whose results are steps, which a float64 run has at other places.
STEPS = {"quantization"}
# Specs of float64 values that come from float32 ones.
MIXED = {"functions_arithmetic", "functions_elementwise"}
# Of 16 bits, whose gradients may be ten times two units apart.
HALVES = {"halves", "autocast"}
# Those whose gradients in training mode have none: they take long to compile, and differ by nothing or by dropout alone.
NO_BACKWARD_TRAIN = {"conv", "conv_transpose", "fractional", "rnn"}


def backward(case, path, options, inputs, weights, trains):
    """Gradients of the inputs and parameters, from drawn ones of those results that PyTorch differentiates; where the mode
    matters, in both."""
    for mode in [""] + ["--train"] * trains:
        args = torch_run.parse(["run", str(path), *options.split(), *mode.split()])
        upstream = {}
        for key, gradient in upstream_of(args, path, inputs).items():
            if key in NO_BACKWARD.get(path.stem, ()):
                continue
            try:
                run_backward(args, {**inputs, f"grad.{key}": gradient})
            except (RuntimeError, TypeError):
                continue
            upstream[f"grad.{key}"] = gradient
        if upstream:
            yield Case(f"{case}_backward{mode.replace('--', '_')}", f"tests/layers/{path.name}",
                       f"{options} {mode} --backward{' --rtol 1e-5' * (path.stem in MIXED)}{' --rtol 0.16' * (path.stem in HALVES)}",
                       {**inputs, **upstream}, f"build/vectors/{case}/weights.safetensors" if weights else None,
                       smooth=path.stem not in STEPS)


def upstream_of(args, path, inputs):
    try:
        results = run_backward(args, inputs)
    except (RuntimeError, TypeError):  # an input that PyTorch takes as a constant alone
        return {}
    return {key: draw(zlib.crc32(f"{path.stem} grad.{key}".encode()), *tensor.shape, dtype=tensor.dtype)
            for key, tensor in results.items()
            if (tensor.is_floating_point() or tensor.is_complex()) and not key.startswith("grad.")}


def run_backward(args, inputs):
    spec = torch_run.Spec(args.spec, {}, args.dtype)
    return spec.run(spec.build(0), {key: tensor.clone() for key, tensor in inputs.items()}, entry=args.entry, train=args.train,
                    backward=True)


def ranges_of(text):
    """INPUT -> (LOW, HIGH), of the lines `# draw:` of a spec."""
    return {name: (float(low), float(high))
            for name, low, high in re.findall(r"^# draw: (\w+) (\S+) (\S+)$", text, re.MULTILINE)}


def integer_state(seed, spec):
    """Buffers of integers as converters make them: multipliers between 2**30 and 2**31, shifts that leave what fits in 8 bits. Where
    there are enough, three are others: a small multiplier, 0, and no shift."""
    args = torch_run.parse(["run", str(ROOT / spec)])
    state = torch_run.Spec(args.spec, {}, args.dtype).build(0).state_dict()
    limits = {"multiplier": (2 ** 30, 2 ** 31), "shift": (5, 9), "bias": (-9000, 9000)}
    for i, (key, tensor) in enumerate(state.items()):
        low, high = limits.get(key.rsplit(".")[-1], (-128, 128))
        state[key] = whole(seed + i, low, high, *tensor.shape).to(tensor.dtype)
        if tensor.numel() > 4 and key.endswith("multiplier"):
            state[key][1], state[key][2] = 300000007, 0
        if tensor.numel() > 4 and key.endswith("shift"):
            state[key][4] = 0
    return state


def drawn(seed, shape, dtype, limits):
    if dtype.is_complex:
        return torch.view_as_complex(drawn(seed, (*shape, 2), torch.zeros((), dtype=dtype).real.dtype, limits))
    if dtype.is_floating_point:
        values = draw(seed, *shape, dtype=torch.float64)
        if limits:  # spread evenly
            values = limits[0] + (limits[1] - limits[0]) * torch.special.ndtr(values)
        return values.to(dtype)
    low, high = limits or (0 if dtype in (torch.uint8, torch.bool) else -9, 10)
    return whole(seed, int(low), int(high), *shape).to(dtype)


# ---- making and checking ------------------------------------------------------------------------------------------

def write(case):
    """The case's files and its line of the table."""
    folder = VECTORS / case.name
    folder.mkdir(parents=True)
    paths = {}
    for kind in ("weights", "inputs"):
        paths[kind] = case.files[kind]
        if isinstance(paths[kind], dict):
            paths[kind] = f"build/vectors/{case.name}/{kind}.safetensors"
            safetensors_io.save(paths[kind], case.files[kind])
    paths["expect"] = case.files["expect"] or f"build/vectors/{case.name}/expect.safetensors"
    options = list(case.options)
    for kind, path in paths.items():
        options += [f"--{kind}", path] if path else []
    args = torch_run.parse(["run", case.spec, *options])
    outputs, state = torch_run.run(args)
    if case.files["expect"] is None:
        safetensors_io.save(paths["expect"], outputs)
    if case.state:
        safetensors_io.save(folder / "state.safetensors", state)
    if case.smooth and not any(tensor.dtype == torch.float64 or tensor.is_complex() for tensor in outputs.values()):
        distance = 4 * torch_run.own_distance(args)
        records = safetensors_io.records_of(outputs)[0].values()
        if distance > max([compare.TOLERANCE["F32"], args.rtol or 0, *(compare.TOLERANCE.get(record.dtype, 0) for record in records)]):
            options += ["--rtol", f"{distance:.1e}"]
    if not any(folder.iterdir()):
        folder.rmdir()
    return " ".join([case.name, case.spec, *options])


def check(line, quiet=False):
    """Whether the installed torch gives what the files hold."""
    name, spec, *options = line.split()
    args = torch_run.parse(["run", spec, *options])
    if "\nactivations: calibrated\n" in (ROOT / spec).read_text():
        return True  # PyTorch computes in float32; calibrated.py has it of tflite-micro
    if args.backward and not torch.__version__.startswith(VERSION):
        return True  # older versions have other gradients at kinks
    outputs, state = torch_run.run(args)
    expected = safetensors_io.read(args.expect)[0]
    lines, good = compare.compare(expected, safetensors_io.records_of(outputs)[0], args.rtol)
    after = VECTORS / name / "state.safetensors"
    if after.exists():
        more, fine = compare.compare(safetensors_io.read(after)[0], safetensors_io.records_of(state)[0])
        lines, good = lines + more, good and fine
    if not (good and quiet):
        print(f"{name}: " + ("ok" if good else "\n  ".join(["differs", *lines])))
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", help="cases; * and ? stand for others' letters (default: all)")
    args = parser.parse_args()
    os.chdir(ROOT)
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}")
    known = archives.table()
    archives.unpack()

    def meant(name):
        return not args.names or any(fnmatch.fnmatchcase(name, pattern) for pattern in args.names)

    if args.check:
        return 0 if all([check(line) for name, line in known.items() if meant(name)]) else 4
    if not torch.__version__.startswith(VERSION):
        print(f"the vectors are made with torch {VERSION}x; use --check", file=sys.stderr)
        return 2
    for folder in VECTORS.iterdir():
        if folder.is_dir() and meant(folder.name):
            shutil.rmtree(folder)
    table = [write(case) if meant(case.name) else known.get(case.name) for case in all_cases()]
    table = [line for line in table if line]
    version = torch.__version__.partition("+")[0]
    (archives.ARCHIVES / "cases.txt").write_text(HEAD.format(version=version) + "\n".join(table) + "\n")
    archives.pack()
    size = sum(path.stat().st_size for path in archives.ARCHIVES.glob("*.tar"))
    print(f"{len(table)} cases, {size / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
