"""A loop as PyTorch's users write it; forward and backward run in C.

    python3 loop.py             # with --torch in PyTorch alone: the same loop, the same losses
"""
import sys

import torch

import modc
from digits import Digits, batches, load, read_right

torch.manual_seed(0)
model = Digits()
net = model if "--torch" in sys.argv else modc.Module(model)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.7)
train, test = load("train"), load("test")

for epoch in range(4):
    total = 0.0
    for images, labels in batches(*train):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * len(labels)
    scheduler.step()
    right = read_right(net, *test)
    print(f"epoch {epoch}: loss {total / len(train[1]):.4f}, {100 * right:.1f} % of the test images right")
torch.save(net.state_dict(), "digits.pt")
sys.exit(right < 0.9)
