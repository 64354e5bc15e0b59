"""modc.export_onnx: a spec and a file of weights from an ONNX file, tried before it is said to be done."""
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy

from modc._build import run_command
from modc._files import safetensors_bytes
from modc._onnx.graph import Graph
from modc._onnx.read import load
from modc._onnx.text import Size
from modc._onnx.write import Writer
from modc._spec import model_name

TOLERANCE = 1e-4  # of the largest element of an output; ONNX's own implementations differ by as much


class ExportedOnnx:
    """What modc.export_onnx made. differences: of each output, relative to its largest element; by: from what."""

    def __init__(self, spec, weights, tables, differences, by):
        self.spec, self.weights, self.tables, self.differences, self.by = spec, weights, tables, differences, by

    def __repr__(self):
        if self.by is None:
            return f"<{self.spec}: checked, compared with nothing>"
        return f"<{self.spec}: {max(self.differences, default=0.0):.1e} from {self.by}>"


def layer_arguments():
    about = json.loads(run_command(["layers", "--format", "json"]))
    return {layer["name"]: [argument["name"] for argument in layer["arguments"]] for layer in about["layers"]}


def read_onnx(source, tables_name, name, sizes=None, dims=None, values=None):
    """The text of a spec, the weights, the tables, the Graph and the ModelProto."""
    model = load(source)
    graph = Graph(model, dict(sizes or {}), dict(dims or {}), dict(values or {}))
    writer = Writer(graph, name, tables_name, layer_arguments())
    text = writer.spec()
    return text, writer.weights(), writer.tables, graph, model


def export_onnx(source, path="net.yaml", *, name=None, sizes=None, dims=None, values=None, check=True, rtol=TOLERANCE):
    """Writes a spec of an ONNX file, and beside it its weights (net.safetensors) and constants (net.tables.safetensors).

    sizes: maxima of the dimensions that calls choose, by the file's names: {"batch": 64}; a dimension that none is given for
    has 64. dims: those that are fixed: {"batch": 1}. values: inputs that are constants from now on: {"axes": [1]}.
    check: the spec is compiled and must give the numbers of onnxruntime, or of onnx.reference where that is not installed;
    RuntimeError if it does not, and nothing is written. OnnxError says what the file has that modc has not.
    """
    path = Path(path)
    tables_name = f"{path.stem}.tables.safetensors"
    title = source if isinstance(source, (str, os.PathLike)) else path
    text, weights, tables, graph, model = read_onnx(source, tables_name, name or model_name(Path(title).stem), sizes, dims,
                                                      values)
    with tempfile.TemporaryDirectory(prefix="modc-") as work:
        made = Path(work)
        (made / path.name).write_text(text, encoding="utf-8")
        if tables:
            (made / tables_name).write_bytes(safetensors_bytes(tables))
        (made / f"{path.stem}.safetensors").write_bytes(safetensors_bytes(weights))
        run_command(["check", made / path.name])
        differences, by = [], None
        if check:
            differences, by = compare(made / path.name, made / f"{path.stem}.safetensors", graph, model, values or {}, rtol)
        path.parent.mkdir(parents=True, exist_ok=True)
        for item in made.iterdir():
            os.replace(shutil.copy(item, path.parent / f".{item.name}.part"), path.parent / item.name)
    return ExportedOnnx(path, path.parent / f"{path.stem}.safetensors", path.parent / tables_name if tables else None,
                        differences, by)


def reference(model):
    """(a function of a dict of inputs to the list of outputs, its name), or (None, None)."""
    try:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return lambda given: session.run(None, given), "onnxruntime"
    except Exception:  # not installed, or it refuses the model: then ONNX's own
        pass
    try:
        from onnx.reference import ReferenceEvaluator
        evaluator = ReferenceEvaluator(model)
        return lambda given: evaluator.run(None, given), "onnx.reference"
    except Exception:
        return None, None


def some_inputs(graph, seed):
    """Numbers for each input: floats about 0, small integers."""
    generator = numpy.random.default_rng(seed)
    extents = {name: max(1, min(most, 3 + seed)) for name, most in graph.sizes.items()}
    given = {}
    for value in graph.inputs:
        shape = [extents[item.left] if isinstance(item, Size) else item for item in value.shape]
        if value.is_float:
            given[value.name] = generator.standard_normal(shape).astype(value.dtype)
        else:
            given[value.name] = generator.integers(0, 2, shape).astype(value.dtype)
    return given


def compare(spec, weights, graph, model, values, rtol):
    from modc._net import compile as compile_spec
    run, by = reference(model)
    if run is None:
        return [], None
    net = compile_spec(spec, weights=weights, cflags="-O1 -march=native")
    differences = []
    for seed in (0, 1) if graph.sizes else (0,):
        given = some_inputs(graph, seed)
        try:
            wanted = run({**given, **{name: graph.values[name].known for name in values}})
        except Exception:  # which it refuses for these sizes
            continue
        differences += apart(net(*given.values()), wanted, graph, by, rtol)
    return differences, by if differences else None


def apart(outputs, wanted, graph, by, rtol):
    """The differences of the outputs. RuntimeError where one is too large."""
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    found = []
    for value, have, want in zip(graph.outputs, outputs, wanted):
        want = numpy.asarray(want)
        if have.shape != want.shape or have.dtype != want.dtype:
            raise RuntimeError(f"output '{value.name}' is {have.dtype} {have.shape}, that of {by} {want.dtype} {want.shape}")
        if want.dtype.kind != "f":
            found.append(float((have != want).sum()))
            continue
        with numpy.errstate(all="ignore"):
            distance = numpy.where((have == want) | (numpy.isnan(have) & numpy.isnan(want)), 0, numpy.abs(have - want))
        finite = want[numpy.isfinite(want)]
        most = float(numpy.abs(finite).max()) if finite.size else 1.0
        found.append(float(distance.max()) / max(most, 1e-30) if distance.size else 0.0)
    if any(not difference <= rtol for difference in found):
        raise RuntimeError(f"the compiled model is not that of {by}: " + ", ".join(
            f"output '{value.name}' {difference:.1e}" for value, difference in zip(graph.outputs, found)))
    return found
