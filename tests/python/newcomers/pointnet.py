"""Classes of clouds of points, in whatever order these come."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TNet(nn.Module):
    """A matrix that turns the points as they are seen best."""

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 16, 1)
        self.conv2 = nn.Conv1d(16, 64, 1)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, k * k)
        self.bn1 = nn.BatchNorm1d(16)
        self.bn2 = nn.BatchNorm1d(64)
        self.bn3 = nn.BatchNorm1d(32)

    def forward(self, x):
        batch_size = x.size(0)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = torch.max(x, 2, keepdim=True)[0]
        x = x.view(-1, 64)
        x = F.relu(self.bn3(self.fc1(x)))
        x = self.fc2(x)
        identity = torch.eye(self.k).view(1, self.k * self.k).repeat(batch_size, 1)
        x = x + identity
        return x.view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.input_transform = TNet(3)
        self.feature_transform = TNet(16)
        self.conv1 = nn.Conv1d(3, 16, 1)
        self.conv2 = nn.Conv1d(16, 64, 1)
        self.bn1 = nn.BatchNorm1d(16)
        self.bn2 = nn.BatchNorm1d(64)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, classes)
        self.dropout = nn.Dropout(p=0.3)

    def forward(self, x):
        trans = self.input_transform(x)
        x = x.transpose(2, 1)
        x = torch.bmm(x, trans)
        x = x.transpose(2, 1)
        x = F.relu(self.bn1(self.conv1(x)))

        trans_feat = self.feature_transform(x)
        x = x.transpose(2, 1)
        x = torch.bmm(x, trans_feat)
        x = x.transpose(2, 1)

        x = self.bn2(self.conv2(x))
        x = torch.max(x, 2)[0]
        x = F.relu(self.fc1(x))
        x = self.fc2(self.dropout(x))
        return F.log_softmax(x, dim=1), trans_feat


def make_model():
    return PointNet(), torch.randn(2, 3, 50)
