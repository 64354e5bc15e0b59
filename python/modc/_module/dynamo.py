"""torch.compile(model, backend="modc"): graphs of TorchDynamo, run by modc as far as it has what they call.

A graph that modc refuses is split at the first node that it lacks: what stands in front of it is compiled, the node runs in
PyTorch, and the rest is looked at when it is called.
"""
import operator
import warnings

import torch
from torch.fx.passes.split_module import split_module

from modc._build import run_command
from modc._errors import Error
from modc._module.fallback import FallbackPolicy
from modc._module.module import Module
from modc._module.variant import Traced

SKIPPED = ("placeholder", "output", "get_attr")


def compute_nodes(graph):
    return [node for node in graph.graph.nodes if node.op not in SKIPPED and node.target is not operator.getitem]


class Part(torch.nn.Module):
    """One graph. How it runs is decided at its first call, since that has real tensors."""

    def __init__(self, graph, options):
        super().__init__()
        self.graph_module, self.options, self.run = graph, options, None

    def forward(self, *args):
        if self.run is None:
            return self.begin(args)
        return self.run(*args)

    def begin(self, args):
        """The first call."""
        nodes = compute_nodes(self.graph_module)
        if len(nodes) == 0:
            self.run = self.graph_module
            return self.run(*args)
        net = self.net_of(self.graph_module)
        try:
            result = net(*args)
            self.run = net
            return result
        except Error:
            self.run = self.split(args, nodes) if len(nodes) > 1 else self.graph_module
            return self.run(*args)

    def net_of(self, graph):
        with warnings.catch_warnings():  # its names are the graph's, and hide nothing that somebody calls
            warnings.simplefilter("ignore", RuntimeWarning)
            return Module(graph, fallback=FallbackPolicy.FALLBACK_DISABLE, **self.options)

    def split(self, args, nodes):
        """The graph in three parts: what modc has, the first node that it lacks, the rest."""
        good, bad = 0, len(nodes)  # so many nodes are known to pass, and not to pass
        while bad - good > 1:
            middle = (good + bad) // 2
            if self.passes(self.cut(nodes, middle, middle), args):
                good = middle
            else:
                bad = middle
        whole = self.cut(nodes, good, good + 1)
        for name, part in list(whole.named_children()):
            if name != "submod_1":  # which is the node itself
                setattr(whole, name, Part(part, self.options))
        return whole

    def cut(self, nodes, first, second):
        """The graph as submod_0 with `first` nodes, submod_1 up to the node `second`, submod_2."""
        number = {node: 0 if i < first else 1 if i < second else 2 for i, node in enumerate(nodes)}
        for node in self.graph_module.graph.nodes:  # with what they are parts of
            if node.target is operator.getitem and node.op == "call_function":
                number[node] = number.get(node.args[0], 0)
        return split_module(self.graph_module, None, lambda node: number.get(node, 0))

    def passes(self, whole, args):
        """Whether modc takes the first part of a graph that was cut."""
        seen = []
        first = getattr(whole, "submod_0", None)
        if first is None:
            return False
        handle = first.register_forward_pre_hook(lambda module, given: seen.append(given))
        try:
            with torch.no_grad():
                copies = [arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
                whole(*copies)
        finally:
            handle.remove()
        net = self.net_of(first)
        try:
            saves = any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args)
            text = Traced(net._modc, seen[0], {}).text({}, [module.training for module in first.modules()])
            run_command(["check", "-", *(["--backward"] if saves else [])], stdin=text)
        except (Error, RuntimeError, TypeError, ValueError):
            return False
        return True


def backend(graph, example_inputs, **options):
    """For torch.compile: torch.compile(model, backend="modc", options={"cflags": "-O2"})."""
    given = options.get("options") or {}
    return Part(graph, {name: given[name] for name in ("cc", "cflags", "debug") if name in given})

