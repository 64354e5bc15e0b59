"""Two images through one network: how alike are they?"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn1 = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=5, stride=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(8, 16, kernel_size=3),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool2d((2, 2)),
        )
        self.fc1 = nn.Sequential(
            nn.Linear(16 * 2 * 2, 32),
            nn.PReLU(),
            nn.Linear(32, 8),
        )
        self.out = nn.Linear(8, 1)

    def forward_once(self, x):
        output = self.cnn1(x)
        output = output.view(output.size(0), -1)
        output = self.fc1(output)
        return F.normalize(output, p=2, dim=1)

    def forward(self, input1, input2):
        output1 = self.forward_once(input1)
        output2 = self.forward_once(input2)
        distance = torch.abs(output1 - output2)
        score = torch.sigmoid(self.out(distance))
        return score, F.pairwise_distance(output1, output2)


def make_model():
    return SiameseNetwork(), (torch.randn(3, 1, 32, 32), torch.randn(3, 1, 32, 32))
