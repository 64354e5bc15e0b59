"""The generator of a conditional DCGAN."""
import torch
import torch.nn as nn


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, nz=16, ngf=8, nc=3, n_classes=10):
        super().__init__()
        self.label_emb = nn.Embedding(n_classes, nz)
        self.main = nn.Sequential(
            # the latent vector goes into a convolution
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            # ngf * 4, 4, 4
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            # ngf * 2, 8, 8
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            # ngf, 16, 16
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, noise, labels):
        x = torch.mul(self.label_emb(labels), noise)
        x = x.unsqueeze(2).unsqueeze(3)
        return self.main(x)


def make_model():
    model = Generator()
    model.apply(weights_init)
    return model, (torch.randn(3, 16), torch.randint(0, 10, (3,)))
