"""python -m modc export: a spec and its weights from a module that a Python function makes."""
import argparse
import importlib
import importlib.util
import os
import sys
import warnings
from pathlib import Path

from modc._errors import Error, ExportError, ExportWarning

EPILOG = """\
MODULE, which may be the path of a .py file, has a function or class NAME that is called without arguments, or a
torch.nn.Module. It gives the model, or the model, the tuple of its arguments and perhaps the dict of its keyword
arguments, for one call to look at. FILE.onnx, or FILE.tflite of int8, may stand in its place: `modc export FILE.tflite
--help` has what goes with it.

examples:
  python -m modc export torchvision.models:resnet18 -o resnet18.yaml --input 1,3,224,224
  python -m modc export nets.py:make_model -o net.yaml
  python -m modc export mine.nets:make -o net.yaml --input tokens=2,16:int64:1000 --dynamic tokens:0=batch:64
"""


def parser():
    made = argparse.ArgumentParser(prog="modc export", description="Write a spec and weights from a PyTorch model.",
                                   epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("model", metavar="MODULE:NAME", help="what makes the model")
    made.add_argument("-o", "--output", required=True, type=Path, metavar="FILE",
                      help="the spec; the weights are written beside it, to FILE with .safetensors")
    made.add_argument("--input", action="append", default=[], metavar="[NAME=]DIMS[:DTYPE[:END]]",
                      help="an argument of random numbers: 1,3,224,224 or tokens=2,16:int64:1000 (integers from 0 below END)")
    made.add_argument("--dynamic", action="append", default=[], metavar="NAME:AXIS=SIZE[:MAX]",
                      help="a dimension that calls choose, and its maximum")
    made.add_argument("--name", help="the model's name in the spec, and so in C")
    made.add_argument("--mode", choices=("eval", "both"), help="evaluation alone, or training has to be there, too; else "
                      "training is there if it can be read")
    made.add_argument("--partial", action="store_true",
                      help="leave modules that cannot be read as Externs, whose bodies you write")
    made.add_argument("--no-check", action="store_true", help="do not compile the spec and compare it with PyTorch")
    return made


def module_of(path):
    """The module that a file is, which may stand in a folder that is no package."""
    if not path.is_file():
        raise Error(f"there is no file '{path}'")
    sys.path.insert(0, str(path.resolve().parent))
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_of_file"
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def model_of(name):
    """(model, args, kwargs) of "package.module:name"."""
    import torch
    place, colon, attribute = name.partition(":")
    if not colon or not place or not attribute:
        raise Error(f"'{name}' is not MODULE:NAME, as in torchvision.models:resnet18")
    sys.path.insert(0, os.getcwd())
    try:
        found = module_of(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(error.name + ".")):
            raise Error(f"there is no Python module '{place}'\nhint: it is looked for here and in $PYTHONPATH") from None
        raise
    for piece in attribute.split("."):
        if not hasattr(found, piece):
            raise Error(f"the module '{place}' has no '{attribute}'")
        found = getattr(found, piece)
    if not isinstance(found, torch.nn.Module):
        if not callable(found):
            raise Error(f"'{name}' is of type {type(found).__name__}: neither a torch.nn.Module nor a function that makes one")
        found = found()
    parts = found if isinstance(found, tuple) else (found,)
    if not isinstance(parts[0], torch.nn.Module) or len(parts) > 3:
        raise Error(f"'{name}' gives what is of type {type(parts[0]).__name__}, not a torch.nn.Module or one with its arguments")
    args = parts[1] if len(parts) > 1 else ()
    return parts[0], args if isinstance(args, tuple) else (args,), parts[2] if len(parts) > 2 else {}


def input_of(text):
    """(name or None, tensor) of --input."""
    import torch
    name, equals, rest = text.rpartition("=")
    dims, *more = rest.split(":")
    kind = getattr(torch, more[0], None) if more else torch.float32
    try:
        shape = [int(item) for item in dims.split(",") if item.strip()]
        end = int(more[1]) if len(more) > 1 else 2
    except ValueError:
        shape, end = None, 0
    if shape is None or any(extent < 0 for extent in shape) or end < 1 or len(more) > 2 or not isinstance(kind, torch.dtype):
        raise Error(f"--input {text}: it is [NAME=]DIMS[:DTYPE[:END]], as in 1,3,224,224 or tokens=2,16:int64:1000")
    tensor = torch.rand(shape).to(kind) if kind.is_floating_point else torch.randint(0, end, shape).to(kind)
    return name if equals else None, tensor


def dynamic_of(texts):
    """dynamic_shapes of --dynamic."""
    shapes = {}
    for text in texts:
        left, equals, size = text.partition("=")
        name, colon, axis = left.rpartition(":")
        size, most_colon, most = size.partition(":")
        if not (equals and colon and name and axis.lstrip("-").isdigit() and size.isidentifier()
                and (most.isdigit() or not most_colon)):
            raise Error(f"--dynamic {text}: it is NAME:AXIS=SIZE[:MAX], as in x:0=batch:64")
        shapes.setdefault(name, {})[int(axis)] = (size, int(most)) if most else size
    return shapes


def main(arguments):
    """The command; its exit status."""
    options = parser().parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("modc: error: export reads PyTorch models, and there is no PyTorch\nhint: pip install torch", file=sys.stderr)
        return 1
    from modc._export.export import export
    warnings.showwarning = lambda message, category, *_: print(f"modc: warning: {message}", file=sys.stderr)
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", ExportWarning)
    try:
        torch.manual_seed(0)
        model, args, kwargs = model_of(options.model)
        given = [input_of(text) for text in options.input]
        if given:
            args = tuple(tensor for name, tensor in given if name is None)
            kwargs = {**kwargs, **{name: tensor for name, tensor in given if name is not None}}
        made = export(model, args, options.output, kwargs=kwargs, dynamic_shapes=dynamic_of(options.dynamic), name=options.name,
                      training={"eval": False, "both": True, None: None}[options.mode], check=not options.no_check,
                      partial=options.partial)
    except (Error, RuntimeError, TypeError, ValueError, ImportError, OSError) as error:
        text = str(error) or type(error).__name__
        print(text if isinstance(error, ExportError) else f"modc: error: {text}", file=sys.stderr)
        return 1
    lines = len(made.spec.read_text(encoding="utf-8").splitlines())
    print(f"{made.spec}: {lines} lines; {made.weights}" + (f"; {made.tables}" if made.tables else ""))
    if made.differences:
        print(f"the compiled model agrees with PyTorch: {max(made.differences):.1e} of the largest output apart")
    return 0
