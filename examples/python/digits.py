"""What the examples share: images of digits, a model in PyTorch, and how much of them it reads."""
from pathlib import Path

import torch
from torch import nn

import modc

DATA = Path(__file__).resolve().parents[2] / "specs" / "digits"
BATCH = 64


class Digits(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(width * 16, 10)

    def forward(self, image):
        x = self.pool(torch.relu(self.norm(self.conv(image))))
        return self.head(x.flatten(1))


def load(name):
    """Images (n, 1, 8, 8) and labels (n)."""
    tensors = modc.load_file(DATA / f"{name}.safetensors", arrays="torch")
    return tensors["images"].reshape(-1, 1, 8, 8), tensors["labels"]


def batches(images, labels):
    return zip(images.split(BATCH), labels.split(BATCH))


def read_right(net, images, labels):
    """The share of images that it reads right."""
    net.eval()
    with torch.no_grad():
        right = sum(int((net(image).argmax(1) == label).sum()) for image, label in batches(images, labels))
    net.train()
    return right / len(labels)
