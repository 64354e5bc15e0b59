"""python -m modc convert"""
import argparse
import sys

from modc._errors import FileError
from modc._files import OWN_NAMES
from modc._weights.read import convert, read

EPILOG = """IN may be a file of torch.save (.pt, .pth, .bin; PyTorch is not needed, and nothing that the file names is called),
an .npz, GGUF, an ONNX model (with the onnx package), safetensors, those of GPTQ and AWQ too, the index of several
(model.safetensors.index.json), or a folder of the Hugging Face hub with one of these. What a file is is told by its bytes.
Weights that are integers with scales stay so: docs/python.md. Without OUT its tensors are listed."""


def say(level, text):
    print(f"modc: {level}: {text}" if level != "hint" else f"hint: {text}", file=sys.stderr)


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m modc convert", description="Writes the weights of a file as safetensors.",
                                     epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="IN", help="a file of weights")
    parser.add_argument("target", metavar="OUT", nargs="?", help="the safetensors file to write")
    parser.add_argument("--key", help="which part of a checkpoint has the state_dict: 'model', or 'trainer.model'")
    parser.add_argument("--strip-prefix", metavar="PREFIX", help="cut this off every key: 'module.'")
    given = parser.parse_args(arguments)
    try:
        weights = read(given.source, given.key, given.strip_prefix) if given.target is None else \
            convert(given.source, given.target, given.key, given.strip_prefix)
    except FileError as error:
        say("error", error.text)
        if error.hint:
            say("hint", error.hint)
        return 3
    except OSError as error:
        say("error", f"cannot read or write '{error.filename}': {error.strerror}")
        return 3
    for note in weights.notes:
        say("note", note)
    if given.target is None:
        for name, record in weights.records.items():
            stored = f", {weights.about[name]}" if name in weights.about else ""
            print(f"{name}: {OWN_NAMES.get(record.dtype, record.dtype)} {list(record.shape)}{stored}")
    return 0
