"""Weights as integers with scales, as modc's files have them (docs/language.md, storage), and how other files' become these.

A weight X of n rows of k is I8 (n, k), or of four bits U8 (n, k / 2), the even step along k in the lower half of a byte, each plus 8,
beside X_scale, (n, k / group); `about` says by name what each is. Bytes are moved by slices with steps and, many at once, as one
large integer, so that no other package is needed.
"""
import json
import math
import struct
from array import array

from modc._errors import FileError
from modc._files import Record

KEY = "modc.storage"  # in the metadata: a line "X: int4(group=32)" for each
CODES = {"F16": "e", "F32": "f"}
SCALES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32"}
LEAST_GROUP, MOST_GROUP = 8, 4096  # of storage


def number(data):
    return int.from_bytes(data, "little")


def halves(data):
    """The lower and the upper four bits of all bytes."""
    size, value = len(data), number(data)
    mask = number(b"\x0f" * size)
    return (value & mask).to_bytes(size, "little"), (value >> 4 & mask).to_bytes(size, "little")


def pairs(low, high):
    """The reverse."""
    return (number(low) | number(high) << 4).to_bytes(len(low), "little")


def gathered(data, first, step, width):
    """`width` bytes from `first` on of every `step`, behind each other."""
    out = bytearray(len(data) // step * width)
    for i in range(width):
        out[i::width] = data[first + i::step]
    return bytes(out)


def turned(data, rows):
    """The bytes of a matrix of so many rows, transposed."""
    width = len(data) // rows if rows else 0
    out = bytearray(len(data))
    for row in range(rows):
        out[row::rows] = data[row * width:(row + 1) * width]
    return bytes(out)


def metadata_of(about):
    return {KEY: "\n".join(f"{name}: {storage}" for name, storage in about.items())} if about else None


def about_of(metadata):
    """What the metadata of a file say, by name."""
    lines = (metadata or {}).get(KEY, "").split("\n")
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def put(records, about, name, shape, integers, bits, scales, scale_code, group, rounding=""):
    """Adds a weight of two records."""
    rows, k = shape
    records[name] = Record("I8" if bits == 8 else "U8", (rows, k if bits == 8 else k // 2), integers)
    records[f"{name}_scale"] = Record(scale_code, (rows, k // group), scales)
    scale = "" if scale_code == "F16" else f", scale={SCALES[scale_code]}"
    about[name] = f"int{bits}(group={group}{scale}{rounding})"


# ---- GGUF ------------------------------------------------------------------------------------------------------------------

BLOCK = 32  # weights, behind a scale in float16
BLOCK_BYTES = {"Q8_0": 34, "Q4_0": 18}


def put_blocks(records, about, name, kind, shape, data):
    """Of Q8_0 and Q4_0: the file's integers and scales. Of a block of Q4_0 the first half lies in the lower halves of its bytes."""
    step = BLOCK_BYTES[kind]
    scales = gathered(data, 0, step, 2)
    if kind == "Q8_0":
        bits, integers = 8, gathered(data, 2, step, BLOCK)
    else:
        low, high = halves(gathered(data, 2, step, 16))
        first, second = pairs(low[0::2], low[1::2]), pairs(high[0::2], high[1::2])
        bits, out = 4, bytearray(2 * len(first))
        for i in range(8):
            out[i::16], out[8 + i::16] = first[i::8], second[i::8]
        integers = bytes(out)
    put(records, about, name, shape, integers, bits, scales, "F16", BLOCK, ", rounding=gguf")


# ---- GPTQ and AWQ ----------------------------------------------------------------------------------------------------------

AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # which of eight columns lies in which four bits of an int32, from the lowest on


class Packed:
    """A layer X of these: values (n, k) from 0 on, a byte each, zeros and scales (groups, n), the group of each step."""

    def __init__(self, name, records):
        self.name = name
        self.parts = {part: records.get(f"{name}.{part}") for part in ("qweight", "qzeros", "scales", "g_idx")}
        for part in ("qzeros", "scales"):
            if self.parts[part] is None:
                raise FileError(f"{name}.qweight is of GPTQ or AWQ, and there is no {name}.{part}")
        weight, zeros, scales = (self.parts[part] for part in ("qweight", "qzeros", "scales"))
        if not all(len(record.shape) == 2 for record in (weight, zeros, scales)) or 0 in weight.shape + scales.shape or \
                weight.dtype != "I32" or zeros.dtype != "I32" or scales.dtype not in SCALES or \
                zeros.shape[0] != scales.shape[0] or zeros.shape[1] * 32 % scales.shape[1]:
            self.refuse()
        self.groups, self.n = scales.shape
        self.bits = zeros.shape[1] * 32 // self.n
        self.is_awq = weight.shape[1] != self.n
        if self.bits not in (4, 8) or (self.is_awq and self.bits != 4):
            raise FileError(f"{name} has {self.bits} bits a weight, of which modc reads 4, and of GPTQ 8")
        each = 32 // self.bits
        self.k = weight.shape[0] * (1 if self.is_awq else each)
        if weight.shape[1] != (self.n // each if self.is_awq else self.n) or self.k % self.groups:
            self.refuse()
        self.group = self.k // self.groups
        self.order = self.read_order()
        self.values = self.awq_values() if self.is_awq else self.gptq_values()
        self.zeros = self.unpacked(bytes(zeros.data)) if self.bits == 4 else bytes(zeros.data)

    def refuse(self):
        shapes = ", ".join(f"{part} {record.dtype} {list(record.shape)}" for part, record in self.parts.items() if record)
        raise FileError(f"the tensors of {self.name} are not those of a layer of GPTQ or AWQ: {shapes}")

    def read_order(self):
        """The group of each step; None where they lie behind each other."""
        record = self.parts["g_idx"]
        if record is None:
            return None
        if record.dtype != "I32" or record.shape != (self.k,):
            self.refuse()
        order = array("i", bytes(record.data))
        if not all(0 <= group < self.groups for group in order):
            self.refuse()
        return None if all(group == step // self.group for step, group in enumerate(order)) else order

    def unpacked(self, data):
        """Four bits each, in the order of the columns."""
        low, high = halves(data)
        out = bytearray(2 * len(data))
        for place in range(8):
            column = AWQ_ORDER[place] if self.is_awq else place
            out[column::8] = (high if place % 2 else low)[place // 2::4]
        return bytes(out)

    def awq_values(self):
        return turned(self.unpacked(bytes(self.parts["qweight"].data)), self.k)

    def gptq_values(self):
        """An int32 has those of so many steps of one column, so that its bytes come to lie as they are."""
        data, width = bytes(self.parts["qweight"].data), self.k * self.bits // 8
        out = bytearray(len(data))
        for step in range(width):
            row, byte = divmod(step, 4)
            out[step::width] = data[row * self.n * 4 + byte:(row + 1) * self.n * 4:4]
        if self.bits == 8:
            return bytes(out)
        low, high = halves(bytes(out))
        values = bytearray(2 * len(out))
        values[0::2], values[1::2] = low, high
        return bytes(values)

    def add_one(self):
        """To zeros that are stored less one."""
        top = (1 << self.bits) - 1
        self.zeros = self.zeros.translate(bytes((value + 1) & top if value <= top else 0 for value in range(256)))

    def differences(self):
        """Values less zeros as bytes with sign; None where one does not fit, or groups do not lie behind each other."""
        tables, out = {}, []
        for row in range(self.n):
            for group in range(self.groups if self.order is None else 0):
                zero = self.zeros[group * self.n + row]
                if zero not in tables:
                    tables[zero] = bytes((value - zero) & 255 for value in range(256))
                first = row * self.k + group * self.group
                part = self.values[first:first + self.group]
                if self.bits == 8 and (min(part) - zero < -128 or max(part) - zero > 127):
                    return None
                out.append(part.translate(tables[zero]))
        return b"".join(out) if self.order is None else None

    def scale_records(self):
        """The scales (n, groups)."""
        record = self.parts["scales"]
        data, size = bytes(record.data), 4 if record.dtype == "F32" else 2
        columns = [turned(data[byte::size], self.groups) for byte in range(size)]
        out = bytearray(len(data))
        for byte in range(size):
            out[byte::size] = columns[byte]
        return bytes(out), record.dtype

    def floats(self):
        """The numbers, float32: exact, as products of an integer of 9 bits and a half."""
        scales = scale_numbers(*self.scale_records())
        order = self.order or [step // self.group for step in range(self.k)]
        out = array("f")
        for row in range(self.n):
            own = scales[row * self.groups:(row + 1) * self.groups]
            zeros = self.zeros[row::self.n]
            values = self.values[row * self.k:(row + 1) * self.k]
            out.extend([(value - zeros[group]) * own[group] for value, group in zip(values, order)])
        return out.tobytes()


def scale_numbers(data, code):
    if code == "BF16":
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        data, code = bytes(wide), "F32"
    return struct.unpack(f"<{len(data) // (4 if code == 'F32' else 2)}{CODES[code]}", data)


def checkpoint_format(path):
    """What the configuration beside the file says of GPTQ's zeros; "" where there is none."""
    for name, part in ("quantize_config.json", None), ("config.json", "quantization_config"):
        try:
            value = json.loads((path.parent / name).read_text(encoding="utf-8"))
            value = value.get(part) if part else value
            found = value.get("checkpoint_format")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(found, str):
            return found
    return ""


def settle_zeros(layers, path, notes):
    """GPTQ's zeros are stored less one, but in its format of version 2: where all are the middle, 8, it is that whatever is said."""
    layers = [layer for layer in layers if not layer.is_awq]
    said = checkpoint_format(path)
    if not layers or all(set(layer.zeros) == {1 << layer.bits - 1} for layer in layers):
        return
    if said == "gptq_v2":
        return
    if not said and not all(set(layer.zeros) == {(1 << layer.bits - 1) - 1} for layer in layers):
        notes.append("the zeros of GPTQ are taken as stored less one: no config.json beside it says 'gptq_v2'")
    for layer in layers:
        layer.add_one()


def take_layers(records, path, notes):
    """Records of GPTQ and AWQ as modc's own: exactly, in 4 bits where the zeros are in the middle, else in 8; as float32 where
    groups do not lie behind each other. Returns the records, and what the integers are by name."""
    names = [name[:-len(".qweight")] for name in records if name.endswith(".qweight")]
    layers = {name: Packed(name, records) for name in names}
    settle_zeros(layers.values(), path, notes)
    out, about, wide, reordered = {}, {}, [], []
    for name, record in records.items():
        front, _, part = name.rpartition(".")
        if front not in layers or part not in ("qweight", "qzeros", "scales", "g_idx"):
            out[name] = record
        elif part == "qweight":
            put_layer(out, about, layers[front], wide, reordered)
    some = (lambda names: f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0])
    if wide:
        notes.append(f"{some(wide)}: zeros that are not in the middle, kept exactly in 8 bits; modc quantize rounds them to 4")
    if reordered:
        notes.append(f"{some(reordered)}: groups or zeros that no storage has, written as float32; modc quantize rounds them")
    return out, about


def put_layer(out, about, layer, wide, reordered):
    name, shape = f"{layer.name}.weight", (layer.n, layer.k)
    groups = layer.group % LEAST_GROUP == 0 and LEAST_GROUP <= layer.group <= MOST_GROUP
    differences = layer.differences() if groups else None
    if differences is None:
        reordered.append(name)
        out[name] = Record("F32", shape, layer.floats())
        return
    scales, code = layer.scale_records()
    four = bytes(value & 255 for value in range(-8, 8))
    if layer.bits == 4 and not differences.translate(None, four):
        values = differences.translate(bytes((value + 8) & 255 for value in range(256)))
        put(out, about, name, shape, pairs(values[0::2], values[1::2]), 4, scales, code, layer.group)
        return
    if layer.bits == 4:
        wide.append(name)
    put(out, about, name, shape, differences, 8, scales, code, layer.group)


# ---- as floats -------------------------------------------------------------------------------------------------------------


def floats_of(records, about):
    """The records with what the integers stand for in their place, float32."""
    out = dict(records)
    for name, storage in about.items():
        record, scale = out.get(name), out.pop(f"{name}_scale", None)
        if record is None or scale is None or record.dtype not in ("I8", "U8") or scale.dtype not in SCALES or \
                len(record.shape) != 2 or not scale.shape or scale.shape[0] != record.shape[0]:
            raise FileError(f"{name} is {storage}, whose integers and scales are not there")
        out[name] = numbers_of(record, scale, storage)
    return out


def group_of(storage, k):
    """How many steps share a scale: "int4(group=32, scale=float32)"."""
    words = (word.strip() for word in storage.partition("(")[2].partition(")")[0].split(","))
    return next((int(word[len("group="):]) for word in words if word.startswith("group=")), k) or k


def transposed_floats(numbers, rows):
    columns = [turned(numbers[byte::4], rows) for byte in range(4)]
    out = bytearray(len(numbers))
    for byte in range(4):
        out[byte::4] = columns[byte]
    return bytes(out)


def numbers_of(record, scale, storage):
    """Of four bits there are two in a byte: of an odd length, which the record does not tell, one too many."""
    rows, width = record.shape
    groups, data = math.prod(scale.shape[1:]), bytes(record.data)
    k = width if record.dtype == "I8" else 2 * width
    if record.dtype == "U8":
        low, high = halves(data)
        values = bytearray(2 * len(data))
        values[0::2], values[1::2] = low, high
        data = bytes(values).translate(bytes((value - 8) & 255 for value in range(256)))
    group = group_of(storage, k)
    if k > 0 and -(-k // group) != groups:
        raise FileError(f"a weight of {k} a row is {storage}, and has {groups} scales a row")
    scales, values, out = scale_numbers(bytes(scale.data), scale.dtype), array("b", data), array("f")
    for row in range(rows):
        for part in range(groups):
            factor, first = scales[row * groups + part], row * k + part * group
            out.extend([value * factor for value in values[first:min(first + group, (row + 1) * k)]])
    if storage.endswith(" transposed"):
        return Record("F32", (k, rows), transposed_floats(out.tobytes(), rows))
    return Record("F32", (rows, k), out.tobytes())
