"""A transformer that says how a series goes on."""
import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=200):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[:, :x.size(1)]
        return self.dropout(x)


class TimeSeriesTransformer(nn.Module):
    def __init__(self, n_features=3, d_model=16, n_head=2, n_layers=2, horizon=4):
        super().__init__()
        self.horizon = horizon
        self.n_features = n_features
        self.input_projection = nn.Linear(n_features, d_model)
        self.pos_encoder = PositionalEncoding(d_model)
        encoder_layer = nn.TransformerEncoderLayer(d_model, n_head, dim_feedforward=32, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder_layer, n_layers)
        self.decoder = nn.Linear(d_model, n_features * horizon)

    def forward(self, src):
        mean = src.mean(dim=1, keepdim=True)
        std = torch.sqrt(src.var(dim=1, keepdim=True, unbiased=False) + 1e-5)
        x = (src - mean) / std
        x = self.input_projection(x)
        x = self.pos_encoder(x)
        length = x.size(1)
        mask = torch.triu(torch.full((length, length), float("-inf")), diagonal=1)
        x = self.encoder(x, mask)
        y = self.decoder(x[:, -1])
        y = y.view(-1, self.horizon, self.n_features)
        return y * std + mean


def make_model():
    return TimeSeriesTransformer(), torch.randn(2, 12, 3)
