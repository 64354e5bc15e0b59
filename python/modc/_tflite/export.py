"""modc.export_tflite: a spec and a file of weights from a .tflite file, tried before it is said to be done."""
import os
import random
import tempfile
from pathlib import Path

from modc._build import run_command
from modc._files import write_records
from modc._spec import model_name
from modc._tflite.model import read_model
from modc._tflite.write import Writer

BOUNDS = {"int8": (-128, 127), "uint8": (0, 255)}
TRIES = 4  # inputs that are compared: the least, the largest, and random ones


class ExportedTflite:
    """What modc.export_tflite made. by: whose outputs were the same bits; None: nothing was compared."""

    def __init__(self, spec, weights, by):
        self.spec, self.weights, self.by = spec, weights, by

    def __repr__(self):
        return f"<{self.spec}: " + ("checked, compared with nothing>" if self.by is None else f"the bits of {self.by}>")


def read_tflite(data, name):
    """The text of a spec, its weights as Records by key, and the Model."""
    model = read_model(data)
    writer = Writer(model, name)
    return writer.text(), writer.weights, model


def export_tflite(source, path="net.yaml", *, name=None, check=True):
    """Writes a spec of an int8 .tflite file, and beside it its weights (net.safetensors).

    The spec computes what the reference kernels of TensorFlow Lite Micro do, bit for bit. check: where the package tflite-micro
    is installed, the spec is compiled and has to give its bits; RuntimeError if it does not, and nothing is written. TfliteError
    says what the file has that modc has not. source: a path, or bytes.
    """
    path = Path(path)
    data = bytes(source) if isinstance(source, (bytes, bytearray, memoryview)) else Path(source).read_bytes()
    title = path if isinstance(source, (bytes, bytearray, memoryview)) else source
    text, weights, model = read_tflite(data, name or model_name(Path(title).stem))
    with tempfile.TemporaryDirectory(prefix="modc-") as work:
        made = [Path(work) / path.name, Path(work) / f"{path.stem}.safetensors"]
        made[0].write_text(text, encoding="utf-8")
        with open(made[1], "wb") as file:
            write_records(file, weights)
        run_command(["check", made[0]])
        by = compare(*made, data, model) if check else None
        path.parent.mkdir(parents=True, exist_ok=True)
        for item in made:
            part = path.parent / f".{item.name}.part"
            part.write_bytes(item.read_bytes())
            os.replace(part, path.parent / item.name)
    return ExportedTflite(path, path.parent / f"{path.stem}.safetensors", by)


def interpreter_of(data):
    """TensorFlow Lite Micro's own interpreter of a model and its name; None, None where it is not installed."""
    try:
        import tflite_micro
    except ImportError:
        return None, None
    arena = max(1 << 20, 64 * len(data))
    return tflite_micro.runtime.Interpreter.from_bytes(data, arena_size=arena), f"tflite-micro {tflite_micro.__version__}"


def some_inputs(model, attempt):
    import numpy
    draw = random.Random(attempt)
    given = []
    for tensor in model.inputs:
        if tensor.dtype in BOUNDS:
            low, high = BOUNDS[tensor.dtype]
            values = [(low, high)[attempt]] * tensor.count if attempt < 2 else \
                [draw.randint(low, high) for _ in range(tensor.count)]
        else:
            values = [draw.gauss(0, 1 + attempt) for _ in range(tensor.count)]
        given.append(numpy.array(values, tensor.dtype).reshape(tensor.shape))
    return given


def compare(spec, weights, data, model):
    """Whose bits the spec gives; None where nobody is there to ask."""
    interpreter, by = interpreter_of(data)
    if interpreter is None:
        return None
    from modc._net import compile as compile_spec
    net = compile_spec(spec, weights=weights, cflags="-O1 -march=native")
    for attempt in range(TRIES):
        given = some_inputs(model, attempt)
        for place, array in enumerate(given):
            interpreter.set_input(array, place)
        interpreter.invoke()
        found = net(*given)
        for place, have in enumerate(found if isinstance(found, tuple) else (found,)):
            want = interpreter.get_output(place)
            if have.dtype != want.dtype or have.shape != want.shape or have.tobytes() != want.tobytes():
                raise RuntimeError(f"output {place}, {model.outputs[place]}, is not that of {by}: "
                                   f"{int((have != want).sum())} of {want.size} elements")
    return by
