"""python -m modc export NET.onnx: a spec and its weights from an ONNX file."""
import argparse
import sys
from pathlib import Path

from modc._errors import Error
from modc._onnx.export import TOLERANCE, export_onnx


def pair(text):
    """NAME=NUMBER."""
    name, sign, number = text.partition("=")
    if not sign or not name or not number.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=NUMBER")
    return name, int(number)


def values(text):
    """NAME=NUMBERS, with commas between them."""
    name, sign, numbers = text.partition("=")
    try:
        if sign and name:
            return name, [float(item) if "." in item or "e" in item else int(item) for item in numbers.split(",") if item]
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text}' is not NAME=NUMBER,NUMBER,...")


def main(words):
    parser = argparse.ArgumentParser(prog="modc export",
                                     description="Writes a spec of an ONNX file, and its weights beside it.")
    parser.add_argument("file", help="the ONNX file")
    parser.add_argument("-o", "--output", help="the spec (default: the file's name with .yaml)")
    parser.add_argument("--name", help="the model's name (default: the file's)")
    parser.add_argument("--size", type=pair, action="append", default=[], metavar="NAME=MAXIMUM",
                        help="the most that a dimension has which calls choose (default: 64)")
    parser.add_argument("--dim", type=pair, action="append", default=[], metavar="NAME=EXTENT",
                        help="a dimension that is fixed")
    parser.add_argument("--value", type=values, action="append", default=[], metavar="NAME=NUMBERS",
                        help="an input that is a constant")
    parser.add_argument("--no-check", action="store_true", help="leave out compiling and comparing with onnxruntime")
    parser.add_argument("--rtol", type=float, default=TOLERANCE,
                        help="what outputs may differ by, relative to the largest (default: %(default)s)")
    options = parser.parse_args(words)
    path = Path(options.output or Path(options.file).with_suffix(".yaml"))
    try:
        made = export_onnx(options.file, path, name=options.name, sizes=dict(options.size), dims=dict(options.dim),
                           values=dict(options.value), check=not options.no_check, rtol=options.rtol)
    except (Error, OSError, RuntimeError) as error:
        print(f"modc: error: {error}", file=sys.stderr)
        return 1
    for item in (made.spec, made.weights, made.tables):
        if item is not None:
            print(f"wrote {item}")
    if made.by is None:
        print("not compared: " + ("as --no-check says" if options.no_check
                                  else "neither onnxruntime nor onnx.reference runs it"))
    else:
        print(f"outputs differ by at most {max(made.differences, default=0.0):.1e} from {made.by}")
    return 0
