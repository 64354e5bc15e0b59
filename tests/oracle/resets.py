"""Writes tests/resets: the initial weights of PyTorch 2.15, bit for bit.

    python3 tests/oracle/resets.py           # needs torch 2.15; the same bytes again on the same version

tests/resets/NAME_SEED.safetensors is the state_dict of tests/resets/NAME.yaml after torch.manual_seed(SEED),
NAME_DTYPE_SEED.safetensors that in another type than the first; tests/support/resets.py compares them with modc.
"""
import os
import pathlib
import sys

import torch

import safetensors_io
import spec_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "resets"
VERSION = "2.15."
SEEDS = {"float32": (0, 1, 42, 2 ** 63 + 12345), "float64": (0, 7)}


def main():
    os.chdir(ROOT)
    print(f"torch {torch.__version__}")
    if not torch.__version__.startswith(VERSION):
        print(f"they are made with torch {VERSION}x", file=sys.stderr)
        return 2
    for old in FOLDER.glob("*.safetensors"):
        old.unlink()
    for path in sorted(FOLDER.glob("*.yaml")):
        for dtype, seeds in SEEDS.items():
            for seed in seeds:
                name = f"{path.stem}_{seed}" if dtype == "float32" else f"{path.stem}_{dtype}_{seed}"
                state = spec_torch.Spec(str(path), None, dtype).build(seed).state_dict()
                safetensors_io.save(FOLDER / f"{name}.safetensors", state)
                print(f"{name}: {len(state)} keys, {(FOLDER / f'{name}.safetensors').stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
