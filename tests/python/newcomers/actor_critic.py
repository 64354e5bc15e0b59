"""A policy and a value over one trunk, for continuous actions."""
import numpy as np
import torch
import torch.nn as nn


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias_const)
    return layer


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(
            layer_init(nn.Linear(obs_dim, hidden)),
            nn.Tanh(),
            layer_init(nn.Linear(hidden, hidden)),
            nn.Tanh(),
        )
        self.actor_mean = layer_init(nn.Linear(hidden, act_dim), std=0.01)
        self.actor_logstd = nn.Parameter(torch.zeros(1, act_dim))
        self.critic = layer_init(nn.Linear(hidden, 1), std=1.0)

    def forward(self, obs):
        h = self.trunk(obs)
        mean = self.actor_mean(h)
        log_std = self.actor_logstd.expand_as(mean)
        std = torch.exp(log_std.clamp(-20, 2))
        value = self.critic(h).squeeze(-1)
        return {"mean": mean, "std": std, "value": value}


def make_model():
    return ActorCritic(obs_dim=11, act_dim=3), torch.randn(4, 11)
