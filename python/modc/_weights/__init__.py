"""Weights of files as people have them: what a file is, its tensors, and `python -m modc convert`."""
from modc._weights.read import Weights, convert, load_file, loadable, prefix_hint, read

__all__ = ["Weights", "convert", "load_file", "loadable", "prefix_hint", "read"]
