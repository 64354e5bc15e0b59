#!/usr/bin/env python3
"""What a call from Python takes over C's own, which of this model is some 10 ns: the best of many rounds, in microseconds.

    bench/python_overhead.py
"""
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import modc  # noqa: E402

SPECS = {
    "one input, one output": """modc: 1
model: one
sizes: {batch: 4}
inputs: {x: [batch, 3]}
modules: [Linear(3, 4)]
""",
    "two inputs, two outputs": """modc: 1
model: two
sizes: {batch: 4}
inputs: {x: [batch, 3], y: [batch, 3]}
forward: return x + y, x - y
""",
}


def best(function, *args):
    fastest = float("inf")
    for _ in range(500):
        begin = time.perf_counter()
        for _ in range(100):
            function(*args)
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest * 1e6 / 100


def kinds():
    """Name and a way to make an array, of those that are installed."""
    yield "modc.Array", lambda: modc.Array((2, 3), "float32")
    for name in ("numpy", "torch"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        yield f"{name} {module.__version__}", lambda: module.zeros((2, 3), dtype=module.float32)


def main():
    for what, text in SPECS.items():
        net = modc.compile(text)
        for kind, make in kinds():
            args = [make() for _ in net.forward.inputs]
            out = net(*args)
            print(f"{what:24} {kind:20} {best(net, *args):5.2f} us, with out= {best(lambda: net(*args, out=out)):5.2f} us")


if __name__ == "__main__":
    main()
