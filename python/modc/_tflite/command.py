"""python -m modc export NET.tflite: a spec and its weights from a TensorFlow Lite file."""
import argparse
import sys
from pathlib import Path

from modc._errors import Error
from modc._tflite.export import export_tflite


def main(words):
    parser = argparse.ArgumentParser(prog="modc export",
                                     description="Writes a spec of an int8 TensorFlow Lite file, and its weights beside it.")
    parser.add_argument("file", help="the .tflite file")
    parser.add_argument("-o", "--output", help="the spec (default: the file's name with .yaml)")
    parser.add_argument("--name", help="the model's name (default: the file's)")
    parser.add_argument("--no-check", action="store_true", help="leave out compiling and comparing with tflite-micro")
    options = parser.parse_args(words)
    path = Path(options.output or Path(options.file).with_suffix(".yaml"))
    try:
        made = export_tflite(options.file, path, name=options.name, check=not options.no_check)
    except (Error, OSError, RuntimeError) as error:
        print(f"modc: error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {made.spec}")
    print(f"wrote {made.weights}")
    if made.by is None:
        print("not compared: " + ("as --no-check says" if options.no_check else "tflite-micro is not installed"))
    else:
        print(f"outputs are those of {made.by}, bit for bit")
    return 0
