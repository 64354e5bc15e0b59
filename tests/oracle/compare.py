"""Compares two safetensors files by the rules of the design's section 10. Needs nothing but Python.

    python3 tests/oracle/compare.py EXPECTED FOUND [--rtol R] [--atol A]
"""
import argparse
import array
import math
import struct
import sys

import safetensors_io

# Relative to the largest expected value; integers and booleans have to be the same.
TOLERANCE = {"F16": 2 * 2.0 ** -10, "BF16": 2 * 2.0 ** -7, "F32": 1e-5, "F64": 1e-12, "C64": 1e-5}
CODES = {"BOOL": "B", "U8": "B", "I8": "b", "I16": "h", "U16": "H", "I32": "i", "U32": "I", "I64": "q", "U64": "Q",
         "F32": "f", "F64": "d", "C64": "f"}


def numbers(record):
    """The elements as Python numbers (a complex one as two)."""
    data = record.data
    if record.dtype == "F16":
        return [number for (number,) in struct.iter_unpack("<e", data)]
    if record.dtype == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        return array.array("f", data).tolist()
    values = array.array(CODES[record.dtype])
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()


def place(shape, index):
    found = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        found.insert(0, rest)
    return found


def largest_of(values):
    return max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def compare_record(expected, found, rtol=None, atol=0.0, least=0.0):
    """(worst error relative to the largest expected value, or to `least`, None or what is wrong)"""
    if found is None:
        return math.inf, "is missing"
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return math.inf, f"expected {expected.dtype} {list(expected.shape)}, found {found.dtype} {list(found.shape)}"
    wanted, got = numbers(expected), numbers(found)
    if expected.dtype not in TOLERANCE:
        for i, (w, g) in enumerate(zip(wanted, got)):
            if w != g:
                return math.inf, f"at {place(expected.shape, i)}: expected {w}, found {g}"
        return 0.0, None
    largest = max(largest_of(wanted), least)
    limit = max(atol, (TOLERANCE[expected.dtype] if rtol is None else rtol) * largest)
    worst, where = 0.0, None
    for i, (w, g) in enumerate(zip(wanted, got)):
        if math.isfinite(w) and math.isfinite(g):
            error = abs(w - g)
        else:
            error = 0.0 if w == g or (math.isnan(w) and math.isnan(g)) else math.inf
        if error > worst:
            worst, where = error, i
    relative = worst / largest if largest > 0 else (math.inf if worst > 0 else 0.0)
    if worst <= limit:
        return relative, None
    shape = expected.shape if expected.dtype != "C64" else expected.shape + (2,)
    return relative, (f"at {place(shape, where)}: expected {wanted[where]:.9g}, found {got[where]:.9g}: "
                      f"{worst:.3g} apart, {relative:.3g} of the largest ({largest:.3g})")


def compare(expected, found, rtol=None, atol=0.0):
    """Lines of text, and whether all went well. Both are dicts of records. Gradients have ten times the tolerance, relative
    to no less than a hundredth of the largest; zeros may stand where PyTorch has none."""
    lines, good = [], True
    least = max((largest_of(numbers(record)) for name, record in expected.items() if name.startswith("grad.")), default=0.0) / 100
    for name, record in expected.items():
        if name.startswith("grad."):
            own = 10 * (TOLERANCE[record.dtype] if rtol is None else rtol)
            relative, fault = compare_record(record, found.get(name), own, atol, least)
        else:
            relative, fault = compare_record(record, found.get(name), rtol, atol)
        lines.append(f"{name}: {fault}" if fault else f"{name}: {relative:.3g}")
        good = good and fault is None
    for name, record in found.items():
        if name not in expected and not (name.startswith("grad.") and not any(record.data)):
            lines.append(f"{name}: not expected")
            good = False
    return lines, good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("expected")
    parser.add_argument("found")
    parser.add_argument("--rtol", type=float)
    parser.add_argument("--atol", type=float, default=0.0)
    args = parser.parse_args()
    expected, found = (safetensors_io.read(path)[0] for path in (args.expected, args.found))
    lines, good = compare(expected, found, args.rtol, args.atol)
    print("\n".join(lines))
    return 0 if good else 4


if __name__ == "__main__":
    sys.exit(main())
