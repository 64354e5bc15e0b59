"""Small specs that the tests of the Python package compile, and what they share. -O0: they are compiled, not timed."""
import importlib.util
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
import modc  # noqa: E402

FLAGS = "-O0"
HAS_NUMPY, HAS_TORCH = (importlib.util.find_spec(name) is not None for name in ("numpy", "torch"))

SMALL = """modc: 1
model: small
sizes: {batch: 8}
inputs: {x: [batch, 3]}
modules:
  fc: Linear(3, 4)
  act: ReLU()
forward:
  - return act(fc(x))
backward: true
"""

TOOLS = """modc: 1
model: tools
sizes: {rows: 8}
inputs:
  x: [rows, 3]
  index: {shape: [rows], dtype: int64}
modules:
  embed: Embedding(5, 2)
  drop: Dropout(0.5)
buffers:
  offset: {value: 1.0}
state:
  seen: {shape: [], dtype: int64}
forward: "return x + offset, embed(index)"
entries:
  count(x):
    statements:
      - self.seen += 1
      - return self.seen, x + offset
  spread(x): {statements: ["return x[0], x.sum(dim=1)"]}
  forget(x): {statements: [return drop(x)]}
  divide(index): {statements: ["return 7 // index"]}
"""

ROOM = """modc: 1
model: room
sizes:
  rows: 8
  past: 8
  require: [rows + past <= 9]
inputs: {x: [rows, 2]}
hooks: none
forward: "return x * past"
"""

FIT = """modc: 1
model: fit
sizes: {batch: 16}
inputs: {x: [batch, 2]}
modules:
  - Linear(2, 8)
  - Tanh()
  - Linear(8, 1)
training:
  loss: MSELoss()
  optimizer: SGD(lr=0.1)
"""


def compile(spec, **arguments):
    arguments.setdefault("cflags", FLAGS)
    return modc.compile(spec, **arguments)


class Case(unittest.TestCase):
    def says(self, error, text, function, *args, **kwargs):
        """That it raises this class, with exactly this text."""
        with self.assertRaises(error) as caught:
            function(*args, **kwargs)
        self.assertIs(type(caught.exception), error)
        said = caught.exception.args[0] if isinstance(caught.exception, KeyError) else str(caught.exception)
        self.assertEqual(said, text)


def floats(values, *shape):
    """Floats in a memoryview of this shape: what Python has without NumPy."""
    import array
    flat = memoryview(array.array("f", values))
    return flat if len(shape) < 2 else flat.cast("B").cast("f", shape)
