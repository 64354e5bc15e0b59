"""The training of cartpole.c in PyTorch.

    cartpole --updates 20 --record FILE; python3 reference.py FILE    on the data of the C program: are losses and updates the same?
    python3 reference.py --updates 20                                 with its own tasks; prints how long an update takes

--seed N: as of the C program, whose initial weights are PyTorch's after torch.manual_seed(N).
"""
import argparse
import math
import pathlib
import random
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F

ROWS, STEPS, GAMMA, N_STEPS = 8, 64, 0.99, 32
SAMPLES = ROWS * STEPS


class Agent(nn.Module):
    """agent.yaml"""

    def __init__(self, hidden=64):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.critic = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, observation):
        return self.actor(observation), self.critic(observation)[:, 0]


def n_step(rollout):
    """(sums of rewards, gamma to the power of how many, the observation and whether the episode had terminated behind them), flat."""
    reward, done = rollout["reward"], rollout["done"]
    sums, gammas = torch.zeros(ROWS, STEPS), torch.zeros(ROWS, STEPS)
    last = torch.zeros(ROWS, STEPS, dtype=torch.long)
    for row in range(ROWS):
        end = STEPS - 1
        for t in reversed(range(STEPS)):
            if done[row, t]:
                end = t
            k = min(N_STEPS - 1, end - t)
            sums[row, t] = sum(GAMMA ** j * reward[row, t + j].item() for j in range(k + 1))
            gammas[row, t] = GAMMA ** (k + 1)
            last[row, t] = t + k
    behind = rollout["next_observation"].gather(1, last[..., None].expand(ROWS, STEPS, 4))
    return sums.flatten(), gammas.flatten(), behind.flatten(0, 1), rollout["terminated"].gather(1, last).flatten()


def update(agent, optimizer, scheduler, rollout):
    reward, gamma, behind, terminated = n_step(rollout)
    logits, value = agent(rollout["observation"].flatten(0, 1))
    with torch.no_grad():
        target = reward + gamma * agent.critic(behind)[:, 0].masked_fill(terminated, 0)
        advantage = target - value
    log_prob = F.log_softmax(logits, dim=-1)
    chosen = log_prob.gather(1, rollout["action"].flatten()[:, None])[:, 0]
    entropy = -(log_prob.exp() * log_prob).sum(-1)
    loss = -(chosen * advantage / (advantage.std() + 1.0)).mean() + 0.5 * F.mse_loss(value, target) - 0.01 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    return loss.item()


def recorded(path):
    """(rollout, loss of the C program), one after the other."""
    parts = [("observation", "f4", (ROWS, STEPS, 4)), ("action", "i8", (ROWS, STEPS)), ("next_observation", "f4", (ROWS, STEPS, 4)),
             ("reward", "f4", (ROWS, STEPS)), ("done", "?", (ROWS, STEPS)), ("terminated", "?", (ROWS, STEPS)), ("loss", "f4", ())]
    for line in numpy.fromfile(path, numpy.dtype([(name, kind, shape) for name, kind, shape in parts])):
        yield {name: torch.from_numpy(line[name].copy()) for name, _, _ in parts[:-1]}, float(line["loss"])


class CartPole:
    """cart_pole.c, in Python."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.reset()

    def reset(self):
        self.state, self.steps = [self.random.uniform(-0.05, 0.05) for _ in range(4)], 0

    def step(self, action):
        x, v, angle, spin = self.state
        along, across = math.cos(angle), math.sin(angle)
        pulled = ((10.0 if action else -10.0) + 0.05 * spin * spin * across) / 1.1
        turn = (9.8 * across - along * pulled) / (0.5 * (4.0 / 3.0 - 0.1 * along * along / 1.1))
        speed = pulled - 0.05 * turn * along / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * spin, spin + 0.02 * turn]
        self.steps += 1
        terminated = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * 2 * math.pi / 360
        return terminated, terminated or self.steps == 500


def collect(agent, tasks):
    found = {"observation": torch.zeros(ROWS, STEPS, 4), "action": torch.zeros(ROWS, STEPS, dtype=torch.long),
             "next_observation": torch.zeros(ROWS, STEPS, 4), "reward": torch.ones(ROWS, STEPS),
             "done": torch.zeros(ROWS, STEPS, dtype=torch.bool), "terminated": torch.zeros(ROWS, STEPS, dtype=torch.bool)}
    for t in range(STEPS):
        observations = torch.tensor([task.state for task in tasks])
        with torch.no_grad():
            actions = torch.distributions.Categorical(logits=agent.actor(observations)).sample()
        found["observation"][:, t], found["action"][:, t] = observations, actions
        for row, (task, action) in enumerate(zip(tasks, actions.tolist())):
            found["terminated"][row, t], found["done"][row, t] = task.step(action)
            found["next_observation"][row, t] = torch.tensor(task.state)
            if found["done"][row, t]:
                task.reset()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", nargs="?", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=1e-3, help="of each loss, relative")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor=0.02, total_iters=600)
    if args.recording:
        worst, count = 0.0, 0
        for rollout, expected in recorded(args.recording):
            loss = update(agent, optimizer, scheduler, rollout)
            worst, count = max(worst, abs(loss - expected) / max(abs(expected), 0.1)), count + 1
        print(f"{count} updates, losses differ by {worst:.1e} at most")
        return 0 if count and worst <= args.tolerance else 1
    tasks = [CartPole(1000 * args.seed + row) for row in range(ROWS)]
    started = time.perf_counter()
    for _ in range(args.updates):
        update(agent, optimizer, scheduler, collect(agent, tasks))
    print(f"{args.updates} updates of {SAMPLES} steps in {time.perf_counter() - started:.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
