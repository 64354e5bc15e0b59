#!/usr/bin/env python3
"""What the reference kernels of TensorFlow Lite Micro compute, and whether modc computes the same bits.

    python3 tests/oracle/tflite.py make                  # writes tests/tflite: small networks, inputs and outputs
    python3 tests/oracle/tflite.py random --count 200    # drawn models of each operator; --only CONV_2D, --seed 7
    python3 tests/oracle/tflite.py file NET.tflite       # a file of yours
    python3 tests/oracle/tflite.py full FOLDER           # the four networks at MLPerf Tiny's sizes, for bench/chip

Needs tflite-micro (0.dev20261023182759 made the vectors), ai-edge-litert 2.3, whose schema writes the files, and NumPy.
"""
import argparse
import os
import struct
import sys
import tempfile
from pathlib import Path

import numpy
import tflite_micro

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import modc  # noqa: E402
from modc._files import records_bytes, safetensors_bytes  # noqa: E402
from modc._tflite.export import read_tflite  # noqa: E402
from modc._tflite.model import read_model  # noqa: E402

BOUNDS = {"int8": (-128, 127), "uint8": (0, 255)}
FOLDER = ROOT / "tests" / "tflite"


def inputs_of(model, draw, rounds):
    """`rounds` calls' worth of inputs: all at their least, all at their largest, halves of both, then drawn ones."""
    calls = []
    for index in range(rounds):
        given = []
        for tensor in model.inputs:
            if tensor.dtype == "float32":
                array = draw.normal(0, 10.0 ** draw.integers(-2, 3), tensor.shape)
            else:
                low, high = BOUNDS[tensor.dtype]
                array = draw.integers(low, high + 1, tensor.shape)
                if index < 2:
                    array = numpy.full(tensor.shape, (low, high)[index])
                elif index == 2:
                    array = numpy.where(array > (low + high) / 2, high, low)
                elif index == 3:
                    array = (numpy.arange(tensor.count).reshape(tensor.shape) % 256) + low
            given.append(array.astype(tensor.dtype))
        calls.append(given)
    return calls


def outputs_of(data, calls, litert=False):
    if litert:
        return outputs_of_litert(data, calls)
    interpreter = tflite_micro.runtime.Interpreter.from_bytes(data, arena_size=max(1 << 22, 64 * len(data)))
    found = []
    for given in calls:
        for place, array in enumerate(given):
            interpreter.set_input(array, place)
        interpreter.invoke()
        found.append([numpy.array(interpreter.get_output(place)) for place in range(len(read_model(data).outputs))])
    return found


def outputs_of_litert(data, calls):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    interpreter.allocate_tensors()
    found = []
    for given in calls:
        for about, array in zip(interpreter.get_input_details(), given):
            interpreter.set_tensor(about["index"], array)
        interpreter.invoke()
        found.append([numpy.array(interpreter.get_tensor(about["index"])) for about in interpreter.get_output_details()])
    return found


def apart(data, rounds, seed, flags="-O0", litert=False):
    """How many elements of each output differ, of how many."""
    text, weights, model = read_tflite(data, "net")
    calls = inputs_of(model, numpy.random.default_rng(seed), rounds)
    wanted = outputs_of(data, calls, litert)
    with tempfile.TemporaryDirectory(prefix="modc-") as work:
        (Path(work) / "net.yaml").write_text(text, encoding="utf-8")
        (Path(work) / "net.safetensors").write_bytes(records_bytes(weights))
        os.environ["MODC_CACHE"] = work
        net = modc.compile(Path(work) / "net.yaml", weights=Path(work) / "net.safetensors", cflags=flags)
        counts = [[0, 0] for _ in model.outputs]
        for given, want in zip(calls, wanted):
            have = net(*given)
            for count, a, b in zip(counts, have if isinstance(have, tuple) else (have,), want):
                assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
                count[0] += int((a.view(numpy.uint8) != b.view(numpy.uint8)).sum()) if a.dtype != numpy.float32 else int(
                    (a.view(numpy.int32) != b.view(numpy.int32)).sum())
                count[1] += a.size
    return counts


def random(options):
    from tflite_models import DRAWN, Builder
    failed = 0
    for kind in options.only or DRAWN:
        wrong = total = elements = 0
        for first in range(options.seed, options.seed + options.count, options.together):
            net, owners = Builder(numpy.random.default_rng([first, len(kind), ord(kind[0])])), []
            for place in range(min(options.together, options.seed + options.count - first)):
                before = len(net.outputs)
                DRAWN[kind](net)
                owners += [place] * (len(net.outputs) - before)
            data = net.bytes()
            counts = apart(data, options.rounds, first, litert=options.litert)
            bad = {owner for owner, count in zip(owners, counts) if count[0]}
            total, wrong = total + len(set(owners)), wrong + len(bad)
            elements += sum(count[1] for count in counts)
            if bad:
                where = Path(tempfile.gettempdir()) / f"{kind.lower()}_{first}.tflite"
                where.write_bytes(data)
                print(f"  {where}: elements that differ: {counts}")
        print(f"{kind}: {total - wrong} of {total} models the same bits, {elements} elements", flush=True)
        failed += wrong
    return failed > 0


def make(_):
    from tflite_models import NETWORKS, operators
    FOLDER.mkdir(exist_ok=True)
    for name, build in {**NETWORKS, "operators": operators}.items():
        data = build(numpy.random.default_rng(len(name))).bytes()
        model = read_model(data)
        calls = inputs_of(model, numpy.random.default_rng(1), 6 if name == "operators" else 12)
        held = {}
        for place in range(len(model.inputs)):
            held[f"input_{place}"] = numpy.stack([given[place] for given in calls])
        for place, arrays in enumerate(zip(*outputs_of(data, calls))):
            held[f"output_{place}"] = numpy.stack(arrays)
        (FOLDER / f"{name}.tflite").write_bytes(data)
        (FOLDER / f"{name}.safetensors").write_bytes(
            safetensors_bytes(held, {"by": f"tflite-micro {tflite_micro.__version__}"}))
        print(name, len(data), sum(array.nbytes for array in held.values()))
    return 0


def file(options):
    data = Path(options.file).read_bytes()
    counts = apart(data, options.rounds, options.seed, "-O2", options.litert)
    for count, tensor in zip(counts, read_model(data).outputs):
        print(f"{tensor}: {count[0]} of {count[1]} elements differ")
    return any(count[0] for count in counts)


def full(options):
    """The four networks at MLPerf Tiny's sizes, with drawn weights."""
    from tflite_models import FULL

    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, network in FULL.items():
        (folder / f"{name}.tflite").write_bytes(network(numpy.random.default_rng(3)).bytes())
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make")
    drawn = commands.add_parser("random")
    drawn.add_argument("--only", action="append", help="an operator")
    drawn.add_argument("--count", type=int, default=100, help="models of each operator")
    drawn.add_argument("--together", type=int, default=20, help="in one file, which is compiled at once")
    commands.add_parser("full").add_argument("folder")
    one = commands.add_parser("file")
    one.add_argument("file")
    for command in (drawn, one):
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--litert", action="store_true", help="against the reference kernels of LiteRT, which differ here and "
                             "there")
        command.add_argument("--rounds", type=int, default=8, help="inputs of each file")
    options = parser.parse_args()
    sys.exit({"make": make, "random": random, "file": file, "full": full}[options.command](options))


if __name__ == "__main__":
    main()
