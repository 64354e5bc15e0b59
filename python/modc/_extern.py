"""Functions of Python in the place of a spec's Externs."""
from modc._arrays import kind_by_name
from modc._errors import Error


def is_module(function):
    """Whether it is a torch.nn.Module, without asking for PyTorch."""
    return any(base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module" for base in type(function).__mro__)


def owner(path):
    """The module that an Extern is the body of: "block.body" -> "block"."""
    return path.rpartition(".")[0]


def check_externs(about, externs):
    """Each Extern has a function, and each function an Extern; else an Error."""
    if not isinstance(externs, dict):
        raise TypeError(f"externs is a dict of functions by name, not what is of type {type(externs).__name__}")
    names = {module["path"]: module["extra_repr"].strip("'") for module in about["modules"] if module["class"] == "Extern"}
    known = {*names.values(), *names, *map(owner, names)}
    for name, function in externs.items():
        if name not in known:
            raise Error(f"externs: the spec has no Extern '{name}'" + (f"\nhint: it has {', '.join(about['externs'])}"
                                                                      if about["externs"] else ""))
        if not callable(function):
            raise TypeError(f"externs: '{name}' is of type {type(function).__name__}, not a function")
    for path, name in names.items():
        if Body.find(externs, path, name) is None:
            raise Error(f"the body of the Extern '{name}' is yours to write\n"
                        f"hint: modc.compile(..., externs={{'{name}': function}}) takes it; its C is compiled into programs alone")


class Body:
    """A function, which may be a torch.nn.Module, with the backward that autograd makes of it."""

    def __init__(self, function):
        self.function = function
        self.kind = kind_by_name("torch") if is_module(function) or getattr(function, "takes_torch", False) else None

    @classmethod
    def find(cls, externs, path, name):
        """That of the Extern at a path, whose body has a name; None: there is none."""
        return next((cls(externs[key]) for key in (path, owner(path), name) if key in externs), None)

    def forward(self, inputs, training):
        if is_module(self.function) and self.function.training != training:
            self.function.train(training)
        elif getattr(self.function, "takes_torch", False):
            self.function.training = training
        if self.kind is None:
            return listed(self.function(*inputs))
        import torch
        with torch.no_grad():
            return [item.contiguous() for item in listed(self.function(*inputs))]

    def backward(self, inputs, results, gradients, wanted, of):
        """Gradients by input. A function has a `backward` of its own, of the same arguments; or it is one of PyTorch, which is
        run again, under autograd."""
        own = getattr(self.function, "backward", None)
        if own is not None:
            return listed(own(inputs, results, gradients))
        if not any(type(item).__module__.split(".")[0] == "torch" for item in inputs):
            raise TypeError(f"{of} has no backward: let it have one, backward(inputs, results, gradients), or call with "
                            "tensors of PyTorch")
        import torch
        with torch.enable_grad():
            inputs = [item.detach().requires_grad_(want) for item, want in zip(inputs, wanted)]
            pairs = [(result, gradient) for result, gradient in zip(listed(self.function(*inputs)), gradients)
                     if gradient is not None and result.requires_grad]
            asked = [item for item, want in zip(inputs, wanted) if want]
            found = iter(torch.autograd.grad([result for result, _ in pairs], asked, [gradient for _, gradient in pairs],
                                             allow_unused=True) if pairs else [None] * len(asked))
        made = [next(found) if want else None for want in wanted]
        return [item if item is None else item.contiguous() for item in made]


def listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]
