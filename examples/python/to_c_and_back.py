"""Training that goes from PyTorch to C and back: an epoch here, one in a program without Python, and one here again.

    python3 to_c_and_back.py [FOLDER]       # FOLDER: for what is made; else a temporary one

Weights, momentum and schedule travel in two files. The same in PyTorch alone gives the same losses.
"""
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import modc
import modc.optim
from digits import BATCH, DATA, Digits, batches, load, read_right

TRAINING = """# What the loop below does, for C.
extends: digits.yaml
model: learner
training:
  loss: CrossEntropyLoss()
  optimizer: SGD(lr=0.05, momentum=0.9)
  scheduler: OneCycleLR(max_lr=0.2, total_steps=80)
"""


class Training:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Digits()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=0.2, total_steps=80)

    def epoch(self, images, labels):
        """The mean loss of its last five steps."""
        losses = []
        for image, label in batches(images, labels):
            self.optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(image), label)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.item())
        return sum(losses[-5:]) / 5


def build(folder, model, images):
    """The program that trains in C: the spec of the model, what trains it, its C, and digits_epoch.c."""
    modc.export(model.eval(), (images[:BATCH],), folder / "digits.yaml", dynamic_shapes={"image": {0: "batch"}})
    model.train()
    (folder / "learner.yaml").write_text(TRAINING, encoding="utf-8")
    subprocess.run([modc.executable(), "generate", folder / "learner.yaml", "-o", folder], check=True)
    program = folder / "digits_epoch"
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), *shlex.split(os.environ.get("CFLAGS", "-O2")),
                    "-I", folder, "-I", modc.include_dir(), Path(__file__).with_name("digits_epoch.c"), folder / "learner.c",
                    *sorted(modc.runtime_dir().glob("*.c")), "-lm", "-lpthread", "-o", program], check=True)
    return program


def main(folder):
    train, test = load("train"), load("test")
    alone, learner = Training(), Training()
    weights, state = folder / "digits.safetensors", folder / "digits.optim.safetensors"

    print(f"in Python: loss {learner.epoch(*train):.4f}")
    program = build(folder, learner.model, train[0])  # which writes the weights, too
    modc.optim.save(state, learner.optimizer, learner.model, scheduler=learner.scheduler)

    subprocess.run([program, weights, state, DATA / "train.safetensors"], check=True)

    learner.model.load_state_dict(modc.load_file(weights, arrays="torch"))
    modc.optim.load(state, learner.optimizer, learner.model, scheduler=learner.scheduler)
    loss = learner.epoch(*train)
    print(f"in Python: loss {loss:.4f}, {100 * read_right(learner.model, *test):.1f} % of the test images right")
    others = [alone.epoch(*train) for _ in range(3)]
    print(f"in Python alone: losses {', '.join(f'{other:.4f}' for other in others)}")
    return 0 if abs(others[-1] - loss) < 0.01 * (1 + loss) else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(Path(made)))
