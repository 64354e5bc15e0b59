"""Twelve small networks of the usual kinds, written as people write them: NETWORKS has for each a model and its arguments."""
import math

import torch
import torch.nn.functional as F
from torch import nn


# ---- ResNet

class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, planes=(8, 16), classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, planes[0], 3, padding=1)
        layers, inplanes = [], planes[0]
        for i, width in enumerate(planes):
            layers.append(self.make_layer(inplanes, width, 2, 1 if i == 0 else 2))
            inplanes = width
        self.layers = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inplanes, classes)

    def make_layer(self, inplanes, planes, blocks, stride):
        downsample = None
        if stride != 1 or inplanes != planes:
            downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        layers = [BasicBlock(inplanes, planes, stride, downsample)]
        layers += [BasicBlock(planes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.layers(F.relu(self.stem(x)))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


# ---- MobileNet

class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduced):
        super().__init__()
        self.reduce = nn.Conv2d(channels, reduced, 1)
        self.expand = nn.Conv2d(reduced, channels, 1)

    def forward(self, x):
        scale = x.mean((2, 3), keepdim=True)
        scale = F.relu(self.reduce(scale))
        return x * F.hardsigmoid(self.expand(scale))


class InvertedResidual(nn.Module):
    def __init__(self, inp, oup, stride, expand_ratio):
        super().__init__()
        hidden = inp * expand_ratio
        self.use_res_connect = stride == 1 and inp == oup
        self.conv = nn.Sequential(
            nn.Conv2d(inp, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.Hardswish(),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.Hardswish(),
            SqueezeExcite(hidden, hidden // 4),
            nn.Conv2d(hidden, oup, 1, bias=False),
            nn.BatchNorm2d(oup),
        )

    def forward(self, x):
        if self.use_res_connect:
            return x + self.conv(x)
        return self.conv(x)


class MobileNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), InvertedResidual(8, 8, 1, 2), InvertedResidual(8, 12, 2, 2),
                                      InvertedResidual(12, 12, 1, 2))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, classes))

    def forward(self, x):
        x = self.features(x)
        x = x.mean([2, 3])
        return self.classifier(x)


# ---- DenseNet

class DenseLayer(nn.Module):
    def __init__(self, features, growth):
        super().__init__()
        self.norm = nn.BatchNorm2d(features)
        self.conv = nn.Conv2d(features, growth, 3, padding=1, bias=False)

    def forward(self, features):
        x = torch.cat(features, 1)
        return self.conv(F.relu(self.norm(x)))


class DenseBlock(nn.Module):
    def __init__(self, count, features, growth):
        super().__init__()
        self.layers = nn.ModuleList([DenseLayer(features + i * growth, growth) for i in range(count)])

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.block1 = DenseBlock(3, 8, 4)
        self.down = nn.Conv2d(20, 8, 1)
        self.block2 = DenseBlock(3, 8, 4)
        self.head = nn.Linear(20, 5)

    def forward(self, x):
        x = self.block1(self.stem(x))
        x = F.avg_pool2d(self.down(x), 2)
        x = self.block2(x)
        return self.head(x.mean((2, 3)))


# ---- UNet

class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1),
            nn.GroupNorm(4, cout),
            nn.ReLU(),
            nn.Conv2d(cout, cout, 3, padding=1),
            nn.GroupNorm(4, cout),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.inc = DoubleConv(1, widths[0])
        self.downs = nn.ModuleList([DoubleConv(a, b) for a, b in pairs])
        self.ups = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs)])
        self.convs = nn.ModuleList([DoubleConv(b, a) for a, b in reversed(pairs)])
        self.outc = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        x = self.inc(x)
        skips = []
        for down in self.downs:
            skips.append(x)
            x = down(F.max_pool2d(x, 2))
        for up, conv in zip(self.ups, self.convs):
            x = up(x)
            x = conv(torch.cat([skips.pop(), x], dim=1))
        return self.outc(x)


# ---- recurrent ones

class LSTMClassifier(nn.Module):
    def __init__(self, vocabulary=20, dim=8, hidden=8, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, tokens):
        embedded = self.embedding(tokens)
        output, (hidden, cell) = self.lstm(embedded)
        hidden = torch.cat((hidden[-2], hidden[-1]), dim=1)
        return self.fc(self.dropout(hidden))


class Encoder(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)

    def forward(self, source):
        return self.gru(self.embedding(source))


class Decoder(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.gru = nn.GRU(2 * dim, dim, batch_first=True)
        self.attention = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, vocabulary)

    def forward(self, target, memory, hidden):
        embedded = self.embedding(target)
        scores = self.attention(embedded) @ memory.transpose(1, 2)
        context = torch.softmax(scores, dim=-1) @ memory
        output, hidden = self.gru(torch.cat([embedded, context], dim=-1), hidden)
        return self.out(output), hidden


class Seq2Seq(nn.Module):
    def __init__(self, vocabulary=20, dim=8):
        super().__init__()
        self.encoder = Encoder(vocabulary, dim)
        self.decoder = Decoder(vocabulary, dim)

    def forward(self, source, target):
        memory, hidden = self.encoder(source)
        logits, _ = self.decoder(target, memory, hidden)
        return logits


# ---- transformers

class PositionalEncoding(nn.Module):
    def __init__(self, dim, dropout=0.1, length=32):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(length).unsqueeze(1)
        frequency = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(1, length, dim)
        pe[0, :, 0::2] = torch.sin(position * frequency)
        pe[0, :, 1::2] = torch.cos(position * frequency)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[:, :x.size(1)]
        return self.dropout(x)


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, dropout=0.1, batch_first=True)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, padding=None):
        attended, _ = self.attention(x, x, x, key_padding_mask=padding, need_weights=False)
        x = self.norm1(x + self.dropout(attended))
        return self.norm2(x + self.dropout(self.fc2(F.gelu(self.fc1(x)))))


class TransformerClassifier(nn.Module):
    def __init__(self, vocabulary=20, dim=16, heads=2, depth=2, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.positions = PositionalEncoding(dim)
        self.layers = nn.ModuleList([EncoderLayer(dim, heads) for _ in range(depth)])
        self.fc = nn.Linear(dim, classes)

    def forward(self, tokens):
        padding = tokens == 0
        x = self.positions(self.embedding(tokens) * math.sqrt(16))
        for layer in self.layers:
            x = layer(x, padding)
        return self.fc(x.mean(dim=1))


class ViTBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 2 * dim),
            nn.GELU(),
            nn.Linear(2 * dim, dim),
        )

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        attn = (q @ k.transpose(-2, -1)) * (C // self.heads) ** -0.5
        x = x + self.proj((attn.softmax(dim=-1) @ v).transpose(1, 2).reshape(B, N, C))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, image=16, patch=4, dim=16, heads=2, depth=2, classes=5):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, dim) * 0.02)
        self.blocks = nn.Sequential(*[ViTBlock(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        x = self.blocks(x + self.pos_embed)
        return self.head(self.norm(x)[:, 0])


class CausalAttention(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.c_attn = nn.Linear(dim, 3 * dim)
        self.c_proj = nn.Linear(dim, dim)
        self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))
        self.n_head, self.n_embd = heads, dim

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class GPTBlock(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim)
        self.attn = CausalAttention(dim, heads, length)
        self.ln_2 = nn.LayerNorm(dim)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(dim, 4 * dim), "c_proj": nn.Linear(4 * dim, dim)})

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary=20, length=16, dim=16, heads=2, depth=2):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, dim)
        self.wpe = nn.Embedding(length, dim)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList([GPTBlock(dim, heads, length) for _ in range(depth)])
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


# ---- others

class ConvNeXtBlock(nn.Module):
    def __init__(self, dim, scale=1e-6):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.act = nn.GELU()
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.gamma = nn.Parameter(scale * torch.ones(dim))

    def forward(self, x):
        shortcut = x
        x = self.dwconv(x).permute(0, 2, 3, 1)
        x = self.pwconv2(self.act(self.pwconv1(self.norm(x))))
        x = (self.gamma * x).permute(0, 3, 1, 2)
        return shortcut + x


class ConvNeXt(nn.Module):
    def __init__(self, dims=(8, 16), depths=(1, 2), classes=5):
        super().__init__()
        self.downsample_layers = nn.ModuleList([nn.Conv2d(3, dims[0], 4, stride=4)])
        self.downsample_layers.extend(nn.Conv2d(a, b, 2, stride=2) for a, b in zip(dims, dims[1:]))
        self.stages = nn.ModuleList([nn.Sequential(*[ConvNeXtBlock(dim, 0.1) for _ in range(depth)])
                                     for dim, depth in zip(dims, depths)])
        self.norm = nn.LayerNorm(dims[-1], eps=1e-6)
        self.head = nn.Linear(dims[-1], classes)

    def forward(self, x):
        for downsample, stage in zip(self.downsample_layers, self.stages):
            x = stage(downsample(x))
        return self.head(self.norm(x.mean([-2, -1])))


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.tokens = nn.Sequential(
            nn.Linear(tokens, 2 * tokens),
            nn.GELU(),
            nn.Linear(2 * tokens, tokens),
        )
        self.channels = nn.Sequential(
            nn.Linear(dim, 2 * dim),
            nn.GELU(),
            nn.Linear(2 * dim, dim),
        )

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, dim=16, depth=2, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, stride=4)
        self.blocks = nn.Sequential(*[MixerBlock(16, dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x)
        b, c, h, w = x.shape
        x = x.view(b, c, h * w).transpose(1, 2)
        x = self.norm(self.blocks(x))
        return self.head(x.mean(dim=1))


class Autoencoder(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, 2, 1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.mean = nn.Linear(16 * 4 * 4, latent)
        self.log_var = nn.Linear(16 * 4 * 4, latent)
        self.expand = nn.Linear(latent, 16 * 4 * 4)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 3, 2, 1, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 3, 2, 1, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        h = self.encoder(x)
        mean, log_var = self.mean(h), self.log_var(h)
        z = mean
        if self.training:
            z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        image = self.decoder(self.expand(z).view(-1, 16, 4, 4))
        return image, mean, log_var


NETWORKS = {
    "resnet": lambda: (ResNet(), torch.randn(2, 3, 8, 8)),
    "mobilenet": lambda: (MobileNet(), torch.randn(2, 3, 16, 16)),
    "densenet": lambda: (DenseNet(), torch.randn(2, 3, 8, 8)),
    "unet": lambda: (UNet(), torch.randn(1, 1, 16, 16)),
    "lstm": lambda: (LSTMClassifier(), torch.randint(0, 20, (2, 6))),
    "seq2seq": lambda: (Seq2Seq(), torch.randint(0, 20, (2, 6)), torch.randint(0, 20, (2, 5))),
    "transformer": lambda: (TransformerClassifier(), torch.randint(1, 20, (2, 6))),
    "vit": lambda: (ViT(), torch.randn(2, 3, 16, 16)),
    "gpt": lambda: (GPT(), torch.randint(0, 20, (2, 8))),
    "convnext": lambda: (ConvNeXt(), torch.randn(1, 3, 16, 16)),
    "mixer": lambda: (Mixer(), torch.randn(2, 3, 16, 16)),
    "autoencoder": lambda: (Autoencoder(), torch.randn(2, 1, 16, 16)),
}
