"""Whether the backward of a torch.autograd.Function is that of its forward, which is all that the exporter sees."""
import torch


class Context:
    """In the place of what a forward keeps for its backward."""

    def __init__(self, count):
        self.needs_input_grad = (True,) * count

    def __getattr__(self, name):
        return lambda *items, **kwargs: None


def forward_of(kind):
    """What its forward computes, as a function of its arguments."""
    plain = getattr(torch.autograd.Function, "setup_context", None)
    if getattr(kind, "setup_context", None) is not plain:
        return kind.forward
    return lambda *args, **kwargs: kind.forward(Context(len(args)), *args, **kwargs)


def gradients(function, args, kwargs, tensors_of, copied):
    """Of what a function gives, weighted, with respect to all tensors of its arguments; None: one does not depend on it."""
    state = torch.get_rng_state()
    with torch.enable_grad():
        args, kwargs = copied(args, {}), copied(kwargs, {})
        leaves = [tensor.requires_grad_() for tensor in tensors_of((args, kwargs), []) if tensor.is_floating_point()]
        results = [tensor for tensor in tensors_of(function(*args, **kwargs), []) if tensor.requires_grad]
        torch.set_rng_state(state)
        weights = [torch.linspace(-1, 2, tensor.numel(), dtype=tensor.dtype).view(tensor.shape) for tensor in results]
        return torch.autograd.grad(results, leaves, weights, allow_unused=True) if results else [None] * len(leaves)


def differentiates(kind, args, kwargs, tensors_of, copied):
    """Whether both backwards give the same for these arguments."""
    try:
        pairs = zip(*(gradients(function, args, kwargs, tensors_of, copied) for function in (kind.apply, forward_of(kind))))
        for own, plain in pairs:
            if own is None and plain is None:
                continue
            own, plain = (torch.zeros_like(plain) if own is None else own), (torch.zeros_like(own) if plain is None else plain)
            if not float((own - plain).abs().max()) <= 1e-3 * float(plain.abs().max()):
                return False
        return True
    except Exception:  # a forward may do anything that it can do only there
        return False
