"""Dilated causal convolutions over a waveform, with gates and skips."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv1d(nn.Conv1d):
    def __init__(self, in_channels, out_channels, kernel_size, dilation=1):
        super().__init__(in_channels, out_channels, kernel_size, dilation=dilation)
        self.left = (kernel_size - 1) * dilation

    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))


class ResidualBlock(nn.Module):
    def __init__(self, residual_channels, skip_channels, dilation):
        super().__init__()
        self.filter = CausalConv1d(residual_channels, residual_channels, 2, dilation)
        self.gate = CausalConv1d(residual_channels, residual_channels, 2, dilation)
        self.res = nn.Conv1d(residual_channels, residual_channels, 1)
        self.skip = nn.Conv1d(residual_channels, skip_channels, 1)

    def forward(self, x):
        h = torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        return x + self.res(h), self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, layers=4, stacks=2, residual_channels=8, skip_channels=16, classes=32):
        super().__init__()
        self.start = CausalConv1d(1, residual_channels, 2)
        self.blocks = nn.ModuleList()
        for _ in range(stacks):
            for layer in range(layers):
                self.blocks.append(ResidualBlock(residual_channels, skip_channels, 2 ** layer))
        self.end1 = nn.Conv1d(skip_channels, skip_channels, 1)
        self.end2 = nn.Conv1d(skip_channels, classes, 1)

    def forward(self, x):
        x = self.start(x)
        total = 0
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        x = F.relu(total)
        x = F.relu(self.end1(x))
        return self.end2(x)


def make_model():
    return WaveNet(), torch.randn(2, 1, 40)
