"""`modc run` with PyTorch in the place of modc: the same options, the same files, the same exit status.

    python3 tests/oracle/torch_run.py run SPEC [--weights W] [--inputs I] [--outputs O] [--expect E] [--state S]
        [--entry NAME] [--train] [--backward] [--sequence] [--repeat N] [--steps N]
        [--hooks MODULE=scale:F|fence]... [--pre-hooks ...]...
        [--backward-hooks ...]... [--backward-pre-hooks ...]...
        [--set NAME=VALUE]... [--dtype D] [--seed N] [--rtol R] [--atol A]

Answers "what does PyTorch say?", and lets vectors.py and live.py be tried without modc (`--modc`).
"""
import argparse
import sys

import torch

import compare
import safetensors_io
from spec_torch import Spec


def hook(text):
    """`trunk.0=scale:2.0` as ("trunk.0", 2.0); the root's path is empty, and `fence` changes nothing."""
    if text == "fence":
        return "", 1.0
    path, _, action = text.rpartition("=")
    kind, _, factor = action.partition(":")
    if kind != "scale":
        raise argparse.ArgumentTypeError(f"'{text}' is neither MODULE=scale:FACTOR nor fence")
    return path, float(factor)


def parse(arguments):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("command", choices=["run"])
    parser.add_argument("spec")
    for name in ("weights", "inputs", "outputs", "expect", "state", "entry", "dtype"):
        parser.add_argument("--" + name)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--sequence", action="store_true")
    parser.add_argument("--hooks", type=hook, action="append", default=[])
    parser.add_argument("--pre-hooks", type=hook, action="append", default=[])
    parser.add_argument("--backward-hooks", type=hook, action="append", default=[])
    parser.add_argument("--backward-pre-hooks", type=hook, action="append", default=[])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--plan", action="append", help="nothing to PyTorch")
    parser.add_argument("--target", help="nothing to PyTorch")
    parser.add_argument("--repeat", type=int, default=1, help="gradients add up")
    parser.add_argument("--steps", type=int, default=0, help="of training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rtol", type=float)
    parser.add_argument("--atol", type=float, default=0.0)
    return parser.parse_args(arguments)


def options_of(args):
    """What Spec.run takes, but for `backward`."""
    return {name: getattr(args, name) for name in ("entry", "train", "hooks", "pre_hooks", "backward_hooks", "backward_pre_hooks",
                                                   "repeat")}


def run(args):
    """(outputs, state_dict after the call) for parsed options."""
    spec = Spec(args.spec, dict(text.split("=", 1) for text in args.set), args.dtype)
    root = spec.build(args.seed)
    if args.weights:
        spec.load(root, safetensors_io.load(args.weights))
    inputs = safetensors_io.load(args.inputs) if args.inputs else {}
    if args.steps:
        return spec.train(root, inputs, args.steps), root.state_dict()
    options = {"backward": args.backward, **options_of(args)}
    outputs = (spec.run_sequence if args.sequence else spec.run)(root, inputs, **options)
    return outputs, root.state_dict()


def round_as(wide, spec):
    """A float64 run of the spec rounds what is kept as the float32 run does, where an error of that has decided nothing."""
    if spec.rows and not spec.rows.unsure:
        wide.rows.rounds = wide.dtype


def own_distance(args):
    """How far PyTorch's own result is from a float64 run of the same spec, weights and inputs: the largest error of any
    output relative to its largest value. The design's tolerance is four times this where
    that is more than the fixed one (section 10)."""
    spec = Spec(args.spec, dict(text.split("=", 1) for text in args.set), args.dtype)
    wide = Spec(args.spec, dict(text.split("=", 1) for text in args.set), "float64")
    narrow_root, wide_root = spec.build(args.seed), wide.build(args.seed)
    if args.weights:
        spec.load(narrow_root, safetensors_io.load(args.weights))
    wide_root.load_state_dict(narrow_root.state_dict())
    inputs = safetensors_io.load(args.inputs) if args.inputs else {}
    wide_inputs = {name: tensor.to(wide.inputs[name][1]) if name in wide.inputs else tensor.double()
                   for name, tensor in inputs.items()}
    options = {"backward": args.backward, **options_of(args)}
    run_narrow, run_wide = ((s.run_sequence if args.sequence else s.run) for s in (spec, wide))
    outputs = run_narrow(narrow_root, inputs, **options)
    round_as(wide, spec)
    exact = run_wide(wide_root, wide_inputs, **options)
    worst, largest = 0.0, max((tensor[torch.isfinite(tensor)].abs().max().item() for name, tensor in exact.items()
                               if name.startswith("grad.") and torch.isfinite(tensor).any()), default=0.0)
    for name, tensor in outputs.items():
        finite = torch.isfinite(exact[name]) & torch.isfinite(tensor)
        if tensor.is_floating_point() and finite.any():
            expected, found = exact[name][finite].double(), tensor[finite].double()
            scale = expected.abs().max().clamp(min=1e-30)
            if name.startswith("grad."):
                scale = 10 * scale.clamp(min=largest / 100)
            worst = max(worst, ((found - expected).abs().max() / scale).item())
    return worst


def main(arguments):
    args = parse(arguments)
    torch.set_num_threads(1)
    outputs, state = run(args)
    if args.outputs:
        safetensors_io.save(args.outputs, outputs)
    if args.state:
        safetensors_io.save(args.state, state)
    if not args.expect:
        return 0
    expected, found = safetensors_io.read(args.expect)[0], safetensors_io.records_of(outputs)[0]
    lines, good = compare.compare(expected, found, args.rtol, args.atol)
    print("\n".join(lines))
    return 0 if good else 4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
