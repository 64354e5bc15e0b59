"""Steps with `update: fused` against the same with gradients that are kept: losses and parameters have the same bits.

    python3 tests/support/fused.py MODC [DEVICE]     from the root of the repository; compiles with $CC $CFLAGS, cuda with the checker

The fused header has no gradients: neither their bytes nor the functions that are about them."""
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests/oracle")
import safetensors_io  # noqa: E402

STEPS = 4
# Declared by the header itself, or by macros of modc.h: step; zero_grad and get_gradient.
GONE = re.compile(r"\bdrawn_(?:loss_)?backward\(|MODC_(?:STEP|GRADIENT)_FUNCTIONS\(drawn\)")

# name: (spec without head and `update`, inputs: shape, or a shape and how many classes)
CASES = {
    "mlp": ("""
sizes: {batch: 8}
inputs: {x: [batch, 4]}
modules: [Linear(4, 16), ReLU(), LayerNorm(16), Linear(16, 3)]
freeze: [0.bias]
training:
  loss: CrossEntropyLoss()
  optimizer: AdamW(lr=1e-2, weight_decay=0.01, amsgrad=True)
  groups: [{params: "*.bias", weight_decay: 0.0}]
  ema: 0.9
""", {"x": (6, 4), "target": ((6,), 3)}),
    "no pack": ("""
pack: none
hooks: none
inputs: {x: [5, 4]}
modules: [Linear(4, 8), Tanh(), Linear(8, 8), Tanh(), Linear(8, 2)]
training:
  loss: MSELoss()
  optimizer: SGD(lr=0.1, momentum=0.9)
  clip: clip_grad_value_(0.02)
""", {"x": (5, 4), "target": (5, 2)}),
    "convolutions": ("""
hooks: none
inputs: {x: [3, 1, 8, 8]}
modules:
  - Conv2d(1, 4, 3, padding=1)
  - BatchNorm2d(4)
  - ReLU()
  - MaxPool2d(2)
  - Conv2d(4, 8, 3, padding=1)
  - Dropout(0.5)
  - Flatten()
  - Linear(128, 5)
training:
  loss: CrossEntropyLoss()
  optimizer: NAdam(lr=0.01)
  scheduler: StepLR(step_size=2)
""", {"x": (3, 1, 8, 8), "target": ((3,), 5)}),
    "parameters": ("""
dtype: float64
hooks: none
inputs: {x: [3, 4]}
parameters:
  a: {shape: [4], init: normal_()}
  b: {shape: [4], init: normal_()}
  c: {shape: [4, 4], init: normal_()}
modules:
  embed: Embedding(6, 4)
  head: Linear(4, 6, bias=False)
tie: {head.weight: embed.weight}
forward:
  - y = x @ c @ c.T
  - return head(y + a * b), (a * b).sum()
training:
  inputs: {index: {shape: [3], dtype: int64}}
  loss: ["return (output_0 * embed(index).sum()).mean() + output_1"]
  optimizer: Adagrad(lr=0.01)
""", {"x": (3, 4), "index": ((3,), 6)}),
}


def draw(inputs, double):
    """(path-free) records of a safetensors file; the same for each name."""
    drawn, records = random.Random(7), {}
    for name, shape in inputs.items():
        classes = shape[1] if isinstance(shape[0], tuple) else 0
        shape = shape[0] if classes else shape
        count = 1
        for dim in shape:
            count *= dim
        values = [drawn.randrange(classes) if classes else drawn.gauss(0, 1) for _ in range(count)]
        kind = ("I64", "q") if classes else ("F64", "d") if double else ("F32", "f")
        records[name] = safetensors_io.Record(kind[0], shape, struct.pack(f"<{count}{kind[1]}", *values))
    return records


def run(modc, device, folder, case, update):
    text, inputs = CASES[case]
    spec = folder / f"{update}.yaml"
    spec.write_text(f"modc: 1\nmodel: drawn\nupdate: {update}\n{text}")
    safetensors_io.write(folder / "inputs.safetensors", draw(inputs, "float64" in text))
    emulated = ["--emulate=check"] if device == "cuda" else []
    subprocess.run([modc, "run", spec, "--device", device, *emulated, "--steps", str(STEPS), "--seed", "3", "--inputs", folder / "inputs.safetensors",
                    "--outputs", folder / f"{update}.loss", "--state", folder / f"{update}.state"], check=True)
    subprocess.run([modc, "generate", spec, "--device", device, "-o", folder / update], check=True)
    return [safetensors_io.read(folder / f"{update}.{kind}") for kind in ("loss", "state")], \
        (folder / update / "drawn.h").read_text()


def gradient_bytes(header):
    return int(re.search(r"DRAWN_GRADIENT_BYTES (\d+)", header).group(1))


def faults(modc, device, folder, case):
    separate, kept = run(modc, device, folder, case, "separate")
    fused, header = run(modc, device, folder, case, "fused")
    if fused != separate:
        yield "loss or parameters differ"
    if gradient_bytes(header) > (256 if device == "cuda" else 64) or gradient_bytes(kept) <= 64:
        yield f"gradients have {gradient_bytes(header)} bytes fused, {gradient_bytes(kept)} bytes separate"
    found = sorted(set(GONE.findall(header)))
    if found or len(set(GONE.findall(kept))) != 4:
        yield f"the fused header has {', '.join(found) or 'lost nothing'}"


def main(modc, device="cpu"):
    failed = False
    for case in CASES if device == "cpu" else ("convolutions", "parameters"):
        with tempfile.TemporaryDirectory() as folder:
            said = list(faults(modc, device, pathlib.Path(folder), case))
        print(f"{case}: {'; '.join(said) or 'the same bits'}")
        failed |= bool(said)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
