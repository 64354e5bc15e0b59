"""ONNX's own cases through modc: each becomes a spec, is compiled, and must give the outputs that come with it.

    onnx_cases.py                     all cases, against the list beside this file
    onnx_cases.py --list              writes the list anew
    onnx_cases.py test_relu test_gru* some of them, with what went wrong

The list (onnx_cases.txt) has a line for each case: its name, and `right`, or `refused: ` with modc's message. A case is left
out whose tensors are of other types than float32, float64, integers and bool.
"""
import argparse
import fnmatch
import inspect
import multiprocessing
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "python"))
LIST = HERE / "onnx_cases.txt"


def cases():
    """{name: how to get (model, [(inputs, outputs)], rtol, atol)} of all that the package onnx has."""
    from onnx.backend.test.case.node import collect_testcases
    from onnx.backend.test.loader import load_model_tests
    found = {}
    for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
        try:
            found.update((case.name, case) for case in load_model_tests(kind=kind))
        except FileNotFoundError:  # Debian's package has no data
            pass
    if not any(case.kind == "node" for case in found.values()):  # which are made when they are asked for
        for kind in (bool, int, float, object):  # names that onnx 1.12 has of NumPy, and NumPy no more
            if not hasattr(numpy, kind.__name__):
                setattr(numpy, kind.__name__, kind)
        arguments = [None] if inspect.signature(collect_testcases).parameters else []
        found.update((case.name, case) for case in collect_testcases(*arguments))
    return found


def data_of(case):
    import onnx
    from onnx import numpy_helper
    if case.model is not None:
        return case.model, [[[numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item for item in part]
                             for part in pair] for pair in case.data_sets]
    folder = Path(case.model_dir)
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        pair = []
        for kind in ("input", "output"):
            arrays = []
            for index in range(len(list(data.glob(f"{kind}_*.pb")))):
                tensor = onnx.TensorProto()
                tensor.ParseFromString((data / f"{kind}_{index}.pb").read_bytes())
                arrays.append(numpy_helper.to_array(tensor))
            pair.append(arrays)
        sets.append(pair)
    return onnx.load(folder / "model.onnx"), sets


def types_of(model):
    """Types of inputs, outputs and initialisers; None for what is no tensor."""
    from modc._onnx.read import DTYPES
    codes = [info.type.tensor_type.elem_type if info.type.HasField("tensor_type") else None
             for info in list(model.graph.input) + list(model.graph.output)]
    return all(code in DTYPES for code in codes + [tensor.data_type for tensor in model.graph.initializer])


def run_case(case):
    """`left out`, `right`, `refused: ...` or `wrong: ...`."""
    from modc._errors import Error, SpecError
    from modc._files import safetensors_bytes
    from modc._net import compile as compile_spec
    from modc._onnx.export import read_onnx
    from modc._spec import model_name
    from onnx import version_converter
    model, sets = data_of(case)
    if not types_of(model):
        return "left out"
    if max(item.version for item in model.opset_import) < 7:
        try:
            model = version_converter.convert_version(model, 13)  # as the message of modc says
        except Exception as error:
            return f"refused: onnx cannot convert it to opset 13: {str(error).splitlines()[0]}"
    names = [info.name for info in model.graph.input]
    if len(sets[0][0]) != len(names):
        held = {tensor.name for tensor in model.graph.initializer}
        names = [name for name in names if name not in held]
    values = {}
    try:
        with tempfile.TemporaryDirectory(prefix="modc-") as work:
            def read(values):
                return read_onnx(model, "t.safetensors", model_name(case.name), values=values)
            try:
                text, weights, tables, graph, _ = read(values)
            except Error as error:
                if "modc follows constants" not in str(error) and "no constant" not in str(error):
                    raise
                # Shapes, axes and their like come as inputs there. As constants they are what people have.
                values = {name: array for name, array in list(zip(names, sets[0][0]))[1:] if array.ndim <= 1}
                if not values or len(sets) > 1:
                    raise
                text, weights, tables, graph, _ = read(values)
            folder = Path(work)
            (folder / "spec.yaml").write_text(text)
            if tables:
                (folder / "t.safetensors").write_bytes(safetensors_bytes(tables))
            if weights:
                (folder / "w.safetensors").write_bytes(safetensors_bytes(weights))
            try:
                net = compile_spec(folder / "spec.yaml", weights=folder / "w.safetensors" if weights else None, cflags="-O0")
            except SpecError as error:
                return "refused: spec: " + re.sub(r"^\S*spec.yaml:[\d:]*", "", str(error).split("\n")[0])
            except Exception as error:
                return f"wrong: {type(error).__name__} {error}"[:300].replace("\n", " ")
    except Error as error:
        return "refused: " + str(error).split("\n")[0]
    for inputs, outputs in sets:
        given = dict(zip(names, inputs))
        try:
            have = net(*[numpy.array(given[value.name], dtype=value.dtype, order="C") for value in graph.inputs])
        except Exception as error:
            return f"wrong: {type(error).__name__} {error}"[:200].replace("\n", " ")
        have = have if isinstance(have, tuple) else (have,)
        for value, mine, wanted in zip(graph.outputs, have, outputs):
            wanted = numpy.asarray(wanted)
            if mine.shape != wanted.shape or mine.dtype != wanted.dtype:
                return f"wrong: {value.name} is {mine.dtype} {mine.shape}, not {wanted.dtype} {wanted.shape}"
            if not numpy.allclose(mine, wanted, rtol=max(case.rtol, 1e-3), atol=max(case.atol, 1e-6), equal_nan=True):
                with numpy.errstate(all="ignore"):
                    return f"wrong: {value.name} by {numpy.nanmax(numpy.abs(mine.astype(float) - wanted.astype(float))):.2e}"
    return f"right with constant {', '.join(values)}" if values else "right"


def answer(name):
    try:
        return name, run_case(ALL[name])
    except Exception as error:  # a fault of modc's: the list says which
        return name, f"wrong: {type(error).__name__}: {error}"[:200].replace("\n", " ")


def known():
    lines = LIST.read_text(encoding="utf-8").splitlines() if LIST.is_file() else []
    return dict(line.split("  ", 1) for line in lines if line and not line.startswith("#"))


def main():
    global ALL
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    ALL = cases()
    chosen = [name for name in sorted(ALL) if not options.names or any(fnmatch.fnmatch(name, p) for p in options.names)]
    wanted, found, wrong = known(), {}, 0
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=20) as pool:
        for name, outcome in pool.imap_unordered(answer, chosen):
            if outcome == "left out":
                continue
            found[name] = outcome
            listed = wanted.get(name, "right")
            if outcome != listed or options.names:
                print(f"{name}  {outcome}", flush=True)
            wrong += outcome != listed
    counts = {kind: sum(outcome.startswith(kind) for outcome in found.values()) for kind in ("right", "refused", "wrong")}
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()) + f", {len(chosen) - len(found)} of other types")
    if options.list:
        LIST.write_text("".join(f"{name}  {outcome}\n" for name, outcome in sorted(found.items())), encoding="utf-8")
    return 1 if wrong and not options.list else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
