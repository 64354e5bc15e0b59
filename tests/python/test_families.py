#!/usr/bin/env python3
"""test_families.py - twelve networks of the usual kinds from PyTorch to C: numbers in both modes, keys, and the length of specs."""
import inspect
import os
import statistics
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

try:
    import torch  # noqa: E402
except ImportError:
    print("there is no PyTorch")
    sys.exit(77)

import modc  # noqa: E402
from families import NETWORKS  # noqa: E402


def lines_of_source(model):
    kinds = {type(module) for module in model.modules() if not type(module).__module__.startswith("torch.nn")}
    return sum(len(inspect.getsource(kind).splitlines()) for kind in kinds)


class Families(unittest.TestCase):
    ratios = {}

    def network(self, name):
        torch.manual_seed(0)
        model, *args = NETWORKS[name]()
        with tempfile.TemporaryDirectory(prefix="modc-family-") as folder, warnings.catch_warnings():
            warnings.simplefilter("error", modc.ExportWarning)  # both modes are there
            made = modc.export(model, tuple(args), Path(folder) / "net.yaml")
            text = made.spec.read_text(encoding="utf-8")
        self.ratios[name] = len(text.splitlines()) / lines_of_source(model)

    @classmethod
    def tearDownClass(cls):
        if len(cls.ratios) == len(NETWORKS) and statistics.median(cls.ratios.values()) > 1.2:
            raise AssertionError(f"specs are too long: lines over lines of source are {cls.ratios}")


for _name in NETWORKS:
    setattr(Families, f"test_{_name}", lambda self, name=_name: self.network(name))


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.sep in sys.argv[1]:
        os.environ["MODC_EXECUTABLE"] = sys.argv.pop(1)
    unittest.main()
