"""A multi-layer perceptron for tables with numbers and categories."""
import torch
from torch import nn

CARDINALITIES = [12, 7, 31, 4]


class TabularModel(nn.Module):
    def __init__(self, cardinalities, n_continuous, out_size, layers, p=0.3):
        super().__init__()
        emb_sizes = [(c, min(50, (c + 1) // 2)) for c in cardinalities]
        self.embeds = nn.ModuleList([nn.Embedding(c, s) for c, s in emb_sizes])
        self.emb_drop = nn.Dropout(p)
        self.bn_cont = nn.BatchNorm1d(n_continuous)

        blocks = []
        n_in = sum(s for _, s in emb_sizes) + n_continuous
        for n_out in layers:
            blocks.append(nn.Linear(n_in, n_out))
            blocks.append(nn.ReLU(inplace=True))
            blocks.append(nn.BatchNorm1d(n_out))
            blocks.append(nn.Dropout(p))
            n_in = n_out
        blocks.append(nn.Linear(layers[-1], out_size))
        self.layers = nn.Sequential(*blocks)

    def forward(self, x_cat, x_cont):
        embeddings = []
        for i, e in enumerate(self.embeds):
            embeddings.append(e(x_cat[:, i]))
        x = torch.cat(embeddings, 1)
        x = self.emb_drop(x)
        x_cont = self.bn_cont(x_cont)
        x = torch.cat([x, x_cont], 1)
        return self.layers(x)


def make_model():
    model = TabularModel(CARDINALITIES, n_continuous=6, out_size=1, layers=[64, 32])
    x_cat = torch.stack([torch.randint(0, c, (5,)) for c in CARDINALITIES], dim=1)
    return model, (x_cat, torch.randn(5, 6))
