#!/usr/bin/env python3
"""test_examples.py [MODC] - the programs of examples/python run and end well, those whose packages are there.

Exits with 77 where there is no PyTorch."""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
if importlib.util.find_spec("torch") is None:
    sys.exit(77)
command = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and Path(sys.argv[1]).is_file() else None
HAS_MODULE = (ROOT / "python" / "modc" / "_module").is_dir()

# Runs a program with the command where it is not build/modc.
START = """
import pathlib, runpy, sys
import modc
if sys.argv[1]:
    command = pathlib.Path(sys.argv[1])
    modc.executable = lambda: command
sys.argv = sys.argv[2:]
sys.path.insert(0, str(pathlib.Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def has(*packages):
    return all(importlib.util.find_spec(package) is not None for package in packages)


class Examples(unittest.TestCase):
    def run_example(self, name, *words):
        with tempfile.TemporaryDirectory(prefix="modc-") as folder:
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "CFLAGS": "-O0"}
            program = [sys.executable, "-W", "ignore", "-c", START, command or "", EXAMPLES / name, *words]
            ran = subprocess.run(program, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 encoding="utf-8", check=False)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            made = {path.name: path for path in Path(folder).iterdir()}
            if "digits.ckpt" in made:
                listed = subprocess.run([sys.executable, "-m", "modc", "convert", made["digits.ckpt"]], env=environment,
                                        stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
                self.assertIn("net.conv.weight: float32 [8, 1, 3, 3]\n", listed)
            return ran.stdout

    @unittest.skipUnless(HAS_MODULE, "modc.Module is missing")
    def test_loop(self):
        losses = [[float(number) for number in re.findall(r"loss ([\d.]+)", self.run_example("loop.py", *words))]
                  for words in ((), ("--torch",))]
        self.assertEqual(len(losses[0]), 4)
        for modc_loss, torch_loss in zip(*losses):
            self.assertAlmostEqual(modc_loss, torch_loss, delta=0.02 * torch_loss)

    def test_to_c_and_back(self):
        found = [float(number) for number in re.findall(r"\d\.\d{4}", self.run_example("to_c_and_back.py"))]
        self.assertEqual(len(found), 6)
        for there_and_back, alone in zip(found[:3], found[3:]):
            self.assertAlmostEqual(there_and_back, alone, delta=0.01 * (1 + alone))

    @unittest.skipUnless(HAS_MODULE and has("lightning"), "lightning is missing")
    def test_lightning(self):
        self.run_example("lightning_trainer.py")

    @unittest.skipUnless(HAS_MODULE and has("transformers", "accelerate"), "transformers or accelerate is missing")
    def test_hugging_face(self):
        self.run_example("hugging_face_trainer.py")


if __name__ == "__main__":
    unittest.main()
