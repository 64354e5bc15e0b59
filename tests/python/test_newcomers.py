#!/usr/bin/env python3
"""test_newcomers.py [MODC] - models as people write them, each of newcomers/ with one command to a spec that computes the same.

MODC is the command, else that of the package. The command compiles a spec and compares both modes with PyTorch, of all with
NEWCOMERS=all in the environment, else of TRIED; here is looked at what it wrote.
"""
import contextlib
import inspect
import io
import os
import re
import statistics
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
try:
    import torch
except ImportError:
    sys.exit(77)
import modc  # noqa: E402
from modc._export import command  # noqa: E402

if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
    given = Path(sys.argv.pop(1)).resolve()
    modc.executable = lambda: given
os.environ["CFLAGS"] = "-O0"
FOLDER = Path(__file__).resolve().parent / "newcomers"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
TRIED = NAMES if os.environ.get("NEWCOMERS") == "all" else ("char_lstm", "gpt", "time_series", "unet", "vae")
MOST = 1.2  # lines of the spec over those of the model's classes, in the middle
torch.set_num_threads(1)


def lines_of(text):
    """Those with more than a comment."""
    return sum(bool(re.sub("#.*", "", line).strip()) for line in text.splitlines())


def classes_of(name):
    """The source of the classes of a file, without the file's and their descriptions."""
    module = sys.modules[name]
    found = [item for item in vars(module).values() if inspect.isclass(item) and item.__module__ == name]
    return "\n".join(re.sub('^ *""".*"""$', "", inspect.getsource(item), flags=re.M) for item in found)


class Newcomers(unittest.TestCase):
    def test_all(self):
        ratios = []
        with tempfile.TemporaryDirectory() as work:
            for name in NAMES:
                with self.subTest(name):
                    ratios.append(self.exported(name, Path(work)))
        self.assertLessEqual(statistics.median(ratios), MOST)

    def exported(self, name, work):
        spec, said = work / f"{name}.yaml", io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = command.main([f"{FOLDER / name}.py:make_model", "-o", str(spec), "--mode", "both",
                                   *(() if name in TRIED else ("--no-check",))])
        said, text = said.getvalue(), spec.read_text(encoding="utf-8") if spec.is_file() else ""
        self.assertEqual(status, 0, said)
        agrees = r"the compiled model agrees with PyTorch: \d\.\de-\d\d of the largest output apart\n" if name in TRIED else ""
        self.assertRegex(said, rf"^{re.escape(str(spec))}: {len(text.splitlines())} lines; .*\n{agrees}$")
        torch.manual_seed(0)
        model = sys.modules[name].make_model()[0]
        tensors = modc.load_file(spec.with_suffix(".safetensors"))
        self.assertEqual([(key, tuple(tensor.shape)) for key, tensor in tensors.items()],
                         [(key, tuple(tensor.shape)) for key, tensor in model.state_dict().items()])
        ratio = lines_of(text) / lines_of(classes_of(name))
        if "-v" in sys.argv:
            print(f"{name:14} {lines_of(text):3} lines of {lines_of(classes_of(name)):3}: {ratio:.2f}")
        return ratio


if __name__ == "__main__":
    unittest.main()
