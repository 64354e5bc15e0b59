"""What torchrl.objectives.value.functional computes, step by step from its formulas: the peer of modc's rows of that name
where torchrl is not installed, with gradients. Where a mask says that a value does not count, it is not looked at: torchrl
multiplies it by 0, so that a NaN there stays.

    python3 tests/oracle/returns.py    # against torchrl, if that is installed: skipped (77), else 0 or 1
"""
import sys

import torch


def steps_of(x, time_dim):
    return list(x.unbind(time_dim))


def ends(terminated, done):
    if terminated is None and done is None:
        raise TypeError("neither terminated nor done")
    return done if terminated is None else terminated


def check(reward, *others):
    for other in others:
        if other.shape != reward.shape:
            raise RuntimeError(f"shapes {tuple(reward.shape)} and {tuple(other.shape)}")


def by_step(factor, like, time_dim):
    """A number or a tensor, for each step."""
    if not isinstance(factor, torch.Tensor):
        factor = torch.tensor(factor, dtype=like.dtype)
    return steps_of(factor.to(like.dtype).expand_as(like), time_dim)


def td0_return_estimate(gamma, next_state_value, reward, terminated=None, *, done=None):
    ended = ends(terminated, done)
    check(reward, next_state_value, ended)
    return reward + gamma * torch.where(ended, 0, next_state_value)


def td0_advantage_estimate(gamma, state_value, next_state_value, reward, done, terminated=None):
    check(reward, state_value)
    return td0_return_estimate(gamma, next_state_value, reward, ends(terminated, done)) - state_value


def td1_return_estimate(gamma, next_state_value, reward, done, terminated=None, rolling_gamma=None, *, time_dim=-2):
    assert rolling_gamma in (None, True)
    ended = ends(terminated, done)
    check(reward, next_state_value, done, ended)
    g, e, d = by_step(gamma, reward, time_dim), steps_of(ended, time_dim), steps_of(done, time_dim)
    value, found = steps_of(next_state_value, time_dim), steps_of(reward, time_dim)
    behind = value[-1]
    for t in reversed(range(len(found))):
        behind = torch.where(e[t], 0, torch.where(d[t], value[t], behind))
        behind = found[t] = found[t] + g[t] * behind
    return torch.stack(found, time_dim)


def td1_advantage_estimate(gamma, state_value, next_state_value, reward, done, terminated=None, rolling_gamma=None, time_dim=-2):
    check(reward, state_value)
    return td1_return_estimate(gamma, next_state_value, reward, done, terminated, rolling_gamma, time_dim=time_dim) - state_value


def td_lambda_return_estimate(gamma, lmbda, next_state_value, reward, done, terminated=None, rolling_gamma=None, *, time_dim=-2):
    assert rolling_gamma in (None, True)
    ended = ends(terminated, done)
    check(reward, next_state_value, done, ended)
    g, rate, d = by_step(gamma, reward, time_dim), by_step(lmbda, reward, time_dim), steps_of(done, time_dim)
    value, found = steps_of(torch.where(ended, 0, next_state_value), time_dim), steps_of(reward, time_dim)
    behind = value[-1]
    for t in reversed(range(len(found))):
        behind = torch.where(d[t], value[t], (1 - rate[t]) * value[t] + rate[t] * behind)
        behind = found[t] = found[t] + g[t] * behind
    return torch.stack(found, time_dim)


def td_lambda_advantage_estimate(gamma, lmbda, state_value, next_state_value, reward, done, terminated=None, rolling_gamma=None,
                                 time_dim=-2):
    check(reward, state_value)
    return td_lambda_return_estimate(gamma, lmbda, next_state_value, reward, done, terminated, rolling_gamma,
                                     time_dim=time_dim) - state_value


def generalized_advantage_estimate(gamma, lmbda, state_value, next_state_value, reward, done, terminated=None, *, time_dim=-2):
    ended = ends(terminated, done)
    check(reward, state_value, next_state_value, done, ended)
    g, rate = by_step(gamma, reward, time_dim), by_step(lmbda, reward, time_dim)
    d, found = steps_of(done, time_dim), steps_of(reward + gamma * torch.where(ended, 0, next_state_value) - state_value, time_dim)
    for t in reversed(range(len(found) - 1)):
        found[t] = found[t] + torch.where(d[t], 0, g[t] * rate[t] * found[t + 1])
    advantage = torch.stack(found, time_dim)
    return advantage, advantage + state_value


def vtrace_advantage_estimate(gamma, log_pi, log_mu, state_value, next_state_value, reward, done, terminated=None, rho_thresh=1.0,
                              c_thresh=1.0, time_dim=-2):
    ended = ends(terminated, done)
    check(reward, log_pi, log_mu, state_value, next_state_value, done, ended)
    ratio = torch.exp(log_pi - log_mu)
    rho, c = ratio.clamp_max(rho_thresh), steps_of(ratio.clamp_max(c_thresh), time_dim)
    g, d, value = by_step(gamma, reward, time_dim), steps_of(done, time_dim), steps_of(next_state_value, time_dim)
    found = steps_of(rho * (reward + gamma * torch.where(ended, 0, next_state_value) - state_value), time_dim)
    for t in reversed(range(len(found) - 1)):
        found[t] = found[t] + torch.where(d[t], 0, g[t] * c[t] * found[t + 1])
    target = torch.stack(found, time_dim) + state_value
    later = steps_of(target, time_dim)[1:] + [value[-1]]
    behind = torch.stack([torch.where(d[t], value[t], later[t]) for t in range(len(later))], time_dim)
    return rho * (reward + gamma * torch.where(ended, 0, behind) - state_value), target


def reward2go(reward, done, gamma, *, time_dim=-2):
    check(reward, done)
    g, d, found = by_step(gamma, reward, time_dim), steps_of(done, time_dim), steps_of(reward, time_dim)
    for t in reversed(range(len(found) - 1)):
        found[t] = found[t] + torch.where(d[t], 0, g[t] * found[t + 1])
    return torch.stack(found, time_dim)


NAMES = [name for name in list(globals()) if name.endswith("_estimate") or name == "reward2go"]


def draw_arguments(name, generator, time_dim):
    """Of some steps; terminated only where done is, as an environment has it."""
    shape = (3, 7, 2)

    def numbers():
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    done = torch.rand(shape, generator=generator) < 0.3
    found = {"gamma": 0.9, "lmbda": 0.8, "state_value": numbers(), "next_state_value": numbers(), "reward": numbers(), "done": done,
             "terminated": done & (torch.rand(shape, generator=generator) < 0.5), "log_pi": numbers(), "log_mu": numbers(),
             "time_dim": time_dim}
    code = globals()[name].__code__
    return {key: found[key] for key in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if key in found}


def main():
    try:
        from torchrl.objectives.value import functional
    except ImportError:
        print("skipped: torchrl is not installed")
        return 77
    generator, faults = torch.Generator().manual_seed(8), 0
    for name in NAMES:
        for _ in range(20):
            given = draw_arguments(name, generator, -2)
            own, other = globals()[name](**given), getattr(functional, name)(**given)
            for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (own, other))):
                gap = (a - b).abs().max().item()
                if not gap < 1e-6:  # its coefficients are float32
                    print(f"{name}: differs from torchrl by {gap:.3g}")
                    faults += 1
    print(f"{len(NAMES)} functions, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
