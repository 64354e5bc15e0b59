"""Weights of files as people have them: what a file is, its tensors, and `python -m modc convert`."""
from modc._weights.read import Weights, convert, hint_of, load_file, loadable, read

__all__ = ["Weights", "convert", "hint_of", "load_file", "loadable", "read"]
