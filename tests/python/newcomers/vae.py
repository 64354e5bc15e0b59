"""A variational autoencoder, which samples where it trains."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, input_dim, hidden_dim, latent_dim):
        super().__init__()
        self.fc_in = nn.Linear(input_dim, hidden_dim)
        self.fc_mid = nn.Linear(hidden_dim, hidden_dim)
        self.fc_mean = nn.Linear(hidden_dim, latent_dim)
        self.fc_var = nn.Linear(hidden_dim, latent_dim)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x):
        h = self.act(self.fc_in(x))
        h = self.act(self.fc_mid(h))
        return self.fc_mean(h), self.fc_var(h)


class Decoder(nn.Module):
    def __init__(self, latent_dim, hidden_dim, output_dim):
        super().__init__()
        self.fc_hidden = nn.Linear(latent_dim, hidden_dim)
        self.fc_mid = nn.Linear(hidden_dim, hidden_dim)
        self.fc_out = nn.Linear(hidden_dim, output_dim)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, z):
        h = self.act(self.fc_hidden(z))
        h = self.act(self.fc_mid(h))
        return torch.sigmoid(self.fc_out(h))


class VAE(nn.Module):
    def __init__(self, input_dim=64, hidden_dim=32, latent_dim=4):
        super().__init__()
        self.encoder = Encoder(input_dim, hidden_dim, latent_dim)
        self.decoder = Decoder(latent_dim, hidden_dim, input_dim)

    def reparameterize(self, mu, log_var):
        if self.training:
            std = torch.exp(0.5 * log_var)
            eps = torch.randn_like(std)
            return mu + eps * std
        return mu

    def forward(self, x):
        x = torch.flatten(x, start_dim=1)
        mu, log_var = self.encoder(x)
        z = self.reparameterize(mu, log_var)
        return self.decoder(z), mu, log_var


def make_model():
    return VAE(), torch.rand(4, 1, 8, 8)
