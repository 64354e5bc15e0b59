"""Files that are no safetensors, or not of the model: each through `modc run --weights` and through the C API.

    python3 tests/support/weights.py MODC      from the root of the repository; compiles with $CC

A row of CASES is a name, a file (see `file`), and what is said about it; "" where it is taken. What is refused changes no
tensor and writes no file; both ways say the same. Rows whose message is a pair say the second where missing and unexpected
keys are no faults. Besides, a good file is cut at every byte.
"""
import ctypes
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = "modc: 1\nmodel: net\ninputs: {x: [2]}\nmodules:\n  fc: Linear(2, 2)\nforward: return fc(x)\n"
STRICT, ASSIGN = 1, 2
BYTES = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "I64": 8, "U8": 1, "BOOL": 1, "C64": 8, "U32": 4, "F8_E4M3": 1}


def file(header, data=b"", length=None):
    """A header, which is text, bytes or what JSON shall say, with its length (or a lie) in front, and the data."""
    if isinstance(header, dict):
        header = json.dumps(header, separators=(",", ":"))
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def tensors(*given, metadata=None, gap=0):
    """(name, dtype, shape): a file that holds these, behind each other."""
    header, at = {} if metadata is None else {"__metadata__": metadata}, 0
    for name, dtype, shape in given:
        size = BYTES[dtype]
        for dim in shape:
            size *= dim
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size + gap
    return file(header, bytes(range(at - (gap if given else 0))))


def entry(text, name="fc.bias"):
    """A file of one tensor, given as text between the braces, with 8 bytes of data."""
    return file('{"' + name + '":{' + text + "}}", bytes(8))


def member(shape="[2]", offsets="[0,8]", dtype='"F32"', more=""):
    return entry(f'"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}')


def two(first, second, data=24):
    """weight (2, 2) and bias (2) at these offsets."""
    info = '{"dtype":"F32","shape":%s,"data_offsets":%s}'
    return file('{"fc.weight":' + info % ("[2,2]", list(first)) + ',"fc.bias":' + info % ("[2]", list(second)) + "}", bytes(data))


WEIGHT, BIAS = ("fc.weight", "F32", [2, 2]), ("fc.bias", "F32", [2])
GOOD = tensors(WEIGHT, BIAS)
HEADER = GOOD[8:-24].decode()
JSON = "invalid JSON in header: "
MISSING = 'Missing key(s) in state_dict: '
PARTIAL = f'{MISSING}"fc.weight"'
DEEP = "[" * 200 + "]" * 200

CASES = [
    # what the format allows
    ("as PyTorch writes it", GOOD, ""),
    ("padded with blanks", file(HEADER + " \t\r\n  ", bytes(24)), ""),
    ("blanks in front and inside", file(" \n" + HEADER.replace(":", " : ").replace(",", " , "), bytes(24)), ""),
    ("another order of names", two((8, 24), (0, 8)), ""),
    ("metadata", tensors(WEIGHT, BIAS, metadata={"format": "pt", "ключ": "\U0001f600"}), ""),
    ("metadata that is empty", tensors(WEIGHT, BIAS, metadata={}), ""),
    ("metadata that is null", file('{"__metadata__":null,' + HEADER[1:], bytes(24)), ""),
    ("escapes in a name", file(HEADER.replace("bias", "\\u0062ias"), bytes(24)), ""),
    ("a name twice: the last one counts", file(HEADER[:-1] + ',"fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}}',
                                               bytes(24)), ""),
    ("more in an entry", file(HEADER.replace('"shape"', '"note":{"a":[1,-2.5e3,true,null,"x"]},"shape"'), bytes(24)), ""),
    ("half types", tensors(("fc.weight", "F16", [2, 2]), ("fc.bias", "BF16", [2])), ""),
    ("float64", tensors(("fc.weight", "F64", [2, 2]), ("fc.bias", "F64", [2])), ""),
    ("a header of a multiple of 8 bytes", file(HEADER.ljust(160), bytes(24)), ""),
    # the length of the header
    ("nothing", b"", "header too small"),
    ("seven bytes", GOOD[:7], "header too small"),
    ("a header over 100 MB", file(HEADER, bytes(24), 100_000_001), "header too large"),
    ("a header of 2**63 bytes", file(HEADER, bytes(24), 1 << 63), "header too large"),
    ("a header of 2**64 - 1 bytes", file(HEADER, bytes(24), (1 << 64) - 1), "header too large"),
    ("a header of 100 MB", file(HEADER, bytes(24), 100_000_000), "invalid header length"),
    ("a header one byte longer than the file", file(HEADER, bytes(24), len(HEADER) + 25), "invalid header length"),
    ("a header that is too short", file(HEADER, bytes(24), len(HEADER) - 1), JSON),
    ("a header that takes data", file(HEADER, b"x" + bytes(23), len(HEADER) + 1), JSON),
    # UTF-8
    ("a byte that is not UTF-8", file(b'{"\xff":0}'), "invalid UTF-8 in header: "),
    ("an overlong form", file(b'{"\xc0\xaf":0}'), "invalid UTF-8 in header: "),
    ("a surrogate", file(b'{"\xed\xa0\x80":0}'), "invalid UTF-8 in header: "),
    ("over U+10FFFF", file(b'{"\xf4\x90\x80\x80":0}'), "invalid UTF-8 in header: "),
    ("cut inside a character", file(b'{"\xe2\x82'), "invalid UTF-8 in header: "),
    # JSON
    *((f"the header {text[:20]!r}", file(text), JSON) for text in (
        "", "null", "[]", "3", '"a"', "{", "}", "{]", "{,}", '{"a"}', '{"a":}', "{a:1}", "{'a':1}", '{"a":1}', "{} {}", "{}x",
        "{}\0", "// comment\n{}", '{"a', '{"a\\', '{"a\\u12', '{"\\x41":{}}', '{"\\ud800":{}}', '{"\\udc00\\ud800":{}}',
        '{"\n":{}}', "{\ufeff}", "\ufeff{}", "NaN", '{"a":{}}', '{"a":[]}', '{"a":null}', '{"a":true}')),
    ("a comma behind the last", file(HEADER[:-1] + ",}", bytes(24)), JSON),
    ("no comma", file(HEADER.replace("},", "}"), bytes(24)), JSON),
    ("nesting over 128", member(more=f',"a":{DEEP}'), JSON),
    ("a million brackets", file('{"a":{"b":' + "[" * 1_000_000), JSON),
    ("metadata that is a list", file('{"__metadata__":[]}'), JSON),
    ("metadata that is text", file('{"__metadata__":"a"}'), JSON),
    ("metadata with a number", file('{"__metadata__":{"a":1}}'), JSON),
    ("metadata with an object", file('{"__metadata__":{"a":{}}}'), JSON),
    ("metadata with null", file('{"__metadata__":{"a":null}}'), JSON),
    ("metadata twice", file('{"__metadata__":{},"__metadata__":{}}'), JSON),
    ("metadata that is not closed", file('{"__metadata__":{"a":"b"'), JSON),
    # entries
    *((f"the dtype {dtype}", member(dtype=dtype), JSON) for dtype in (
        '"F99"', '"f32"', '"float32"', '""', "32", "null", '["F32"]', '"F32 "', '"F32\\u0000"')),
    *((f"the shape {shape}", member(shape=shape), JSON) for shape in (
        "2", "null", '"2"', "[-2]", "[-0]", "[2.0]", "[2e0]", "[02]", "[+2]", "[0x2]", "[null]", '["2"]', "[[2]]", "[2,]", "[,2]",
        "[2", "{}", "[18446744073709551616]", "[1" + "0" * 400 + "]", "[1 1]", "[Infinity]")),
    *((f"the offsets {offsets}", member(offsets=offsets), JSON) for offsets in (
        "8", "null", "[]", "[0]", "[0,8,8]", "[0,[8]]", '["0","8"]', "[-8,0]", "[0.0,8.0]", "[0,18446744073709551616]", "{}",
        "[0 8]")),
    ("no dtype", entry('"shape":[2],"data_offsets":[0,8]'), JSON),
    ("no shape", entry('"dtype":"F32","data_offsets":[0,8]'), JSON),
    ("no offsets", entry('"dtype":"F32","shape":[2]'), JSON),
    ("a dtype twice", member(more=',"dtype":"F32"'), JSON),
    ("a shape twice, once escaped", member(more=',"sh\\u0061pe":[2]'), JSON),
    ("offsets twice", member(more=',"data_offsets":[0,8]'), JSON),
    # offsets
    ("a hole in front", two((8, 24), (24, 32), 32), "invalid offset for tensor `fc.weight`"),
    ("a hole", two((0, 16), (20, 28), 28), "invalid offset for tensor `fc.bias`"),
    ("an overlap", two((0, 16), (8, 16), 16), "invalid offset for tensor `fc.bias`"),
    ("an overlap by one byte", two((0, 16), (15, 23), 23), "invalid offset for tensor `fc.bias`"),
    ("one inside the other", two((0, 16), (4, 12), 16), "invalid offset for tensor `fc.bias`"),
    ("both at one place", two((0, 16), (0, 8), 16), "invalid offset for tensor `fc.weight`"),
    ("an end before the begin", member(offsets="[8,0]"), "invalid offset for tensor `fc.bias`"),
    ("a begin behind the file", member(offsets="[64,72]"), "invalid offset for tensor `fc.bias`"),
    ("an end at 2**64 - 1", member(offsets="[0,18446744073709551615]"), "invalid shape, data type, or offset for tensor"),
    ("a begin at 2**64 - 8", member(offsets="[18446744073709551608,18446744073709551615]"), "invalid offset for tensor `fc.bias`"),
    ("an end behind the file", two((0, 16), (16, 24), 20), "incomplete metadata, file not fully covered"),
    ("bytes behind the tensors", GOOD + b"\0", "incomplete metadata, file not fully covered"),
    ("another file behind it", GOOD + GOOD, "incomplete metadata, file not fully covered"),
    ("data without tensors", file("{}", bytes(8)), "incomplete metadata, file not fully covered"),
    ("a gap between all", tensors(WEIGHT, BIAS, gap=4), "invalid offset for tensor `fc.bias`"),
    # sizes
    ("a shape of fewer bytes", member(shape="[1]"), "invalid shape, data type, or offset for tensor"),
    ("a shape of more bytes", member(shape="[3]"), "invalid shape, data type, or offset for tensor"),
    ("a dtype of more bytes", member(dtype='"F64"'), "invalid shape, data type, or offset for tensor"),
    ("a product over 64 bits", member(shape="[4294967296,4294967296,4294967296]"),
     "overflow computing buffer size from shape and/or element type"),
    ("a product that wraps to the right size", member(shape="[4611686018427387906]"),
     "overflow computing buffer size from shape and/or element type"),
    ("half a byte", member(shape="[1]", offsets="[0,8]", dtype='"F4"'),
     "The slice is slicing for subbytes dtypes, and the slice does not end up at a byte boundary, this is invalid."),
    # keys
    ("no tensors", tensors(), (f'{MISSING}"fc.weight", "fc.bias". ', "")),
    ("a missing key", tensors(BIAS), (PARTIAL, "")),
    ("an unexpected key", tensors(WEIGHT, BIAS, ("fc.more", "F32", [1])), ('Unexpected key(s) in state_dict: "fc.more". ', "")),
    ("an empty name", tensors(WEIGHT, BIAS, ("", "F32", [1])), ('Unexpected key(s) in state_dict: "". ', "")),
    ("names of another model", tensors(("a", "F32", [2]), ("b", "F32", [2])),
     ('Unexpected key(s) in state_dict: "a", "b". ', "")),
    ("a key with 200 letters", tensors(WEIGHT, BIAS, ("x" * 200, "U8", [1])),
     ('Unexpected key(s) in state_dict: "' + "x" * 200 + '"', "")),
    ("nine dimensions that are not the model's", tensors(WEIGHT, BIAS, ("nine", "U8", [1] * 9)),
     ('Unexpected key(s) in state_dict: "nine"', "")),
    ("a type that is not the model's", tensors(WEIGHT, BIAS, ("eight", "F8_E4M3", [4])),
     ('Unexpected key(s) in state_dict: "eight"', "")),
    ("another shape", tensors(("fc.weight", "F32", [2, 3]), BIAS), "size mismatch for fc.weight: copying a param with shape "
     "torch.Size([2, 3]) from checkpoint, the shape in current model is torch.Size([2, 2])."),
    ("the shape transposed in rank", tensors(("fc.weight", "F32", [4]), BIAS), "size mismatch for fc.weight: "),
    ("one dimension more", tensors(WEIGHT, ("fc.bias", "F32", [1, 2])), "size mismatch for fc.bias: "),
    ("nine dimensions", tensors(WEIGHT, ("fc.bias", "F32", [2] + [1] * 8)), "size mismatch for fc.bias: "),
    ("no dimension", tensors(WEIGHT, ("fc.bias", "F32", [])), "size mismatch for fc.bias: "),
    ("no element", tensors(WEIGHT, ("fc.bias", "F32", [0])), "size mismatch for fc.bias: "),
    *((f"{dtype} for float32", tensors(WEIGHT, ("fc.bias", dtype, [2])), "fc.bias") for dtype in (
        "I64", "U8", "BOOL", "C64", "U32", "F8_E4M3")),
]


class Model:
    """The C API of the model, as a shared library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.modc_status_text.restype = ctypes.c_char_p
        self.params = ctypes.c_void_p()
        self.report = ctypes.create_string_buffer(1 << 16)
        self.check(self.library.modc_params_create(ctypes.byref(self.description()), ctypes.byref(self.params)))
        self.check(self.library.modc_reset(self.params, ctypes.c_uint64(0)))

    def description(self):
        return ctypes.c_char.in_dll(self.library, "net_model")

    def check(self, status):
        assert status == 0, self.library.modc_status_text(status)

    def close(self):
        self.library.modc_params_destroy(self.params)

    def saved(self):
        length = ctypes.c_size_t()
        self.check(self.library.modc_save_bytes(self.params, None, ctypes.c_size_t(0), ctypes.byref(length)))
        out = ctypes.create_string_buffer(length.value)
        self.check(self.library.modc_save_bytes(self.params, out, length, ctypes.byref(length)))
        return out.raw

    def load(self, content, flags):
        """Status, its text, and the report. The file stays where params may point into it."""
        self.held = ctypes.create_string_buffer(content, max(len(content), 1) + 64)
        at = (ctypes.addressof(self.held) + 63) // 64 * 64
        ctypes.memmove(at, content, len(content))
        status = self.library.modc_load_bytes(self.params, ctypes.c_void_p(at), ctypes.c_size_t(len(content)), flags, self.report)
        said = []
        write = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)(
            lambda user, text, length: said.append(text[:length]))
        self.library.modc_report_print(self.report, write, None)
        return status, self.library.modc_status_text(status).decode(), b"".join(said).decode(errors="replace")


def assigned(content):
    """What MODC_ASSIGN says of a file that is taken otherwise: it converts nothing, and needs aligned data."""
    length = struct.unpack("<Q", content[:8])[0]
    if any(f'"{dtype}"'.encode() in content[8:8 + length] for dtype in ("F16", "F64")):
        return "Error(s) in loading state_dict"
    return "misaligned data for fc." if length % 4 and b"fc." in content[8:8 + length] else ""


def through_api(library, name, content, expected):
    """What is wrong with each way to load it."""
    for flags in (STRICT, 0, STRICT | ASSIGN, ASSIGN):
        wanted = expected if isinstance(expected, str) else expected[0 if flags & STRICT else 1]
        if not wanted and flags & ASSIGN:
            wanted = assigned(content)
        model = Model(library)
        before = model.saved()
        status, text, report = model.load(content, flags)
        if status != 0 and model.saved() != before:
            yield f"{name}: with flags {flags} it was refused, and changed the model"
        if not wanted and status != 0:
            yield f"{name}: with flags {flags} it is not taken: {text}: {report}"
        if wanted and (status == 0 or wanted not in report):
            yield f"{name}: with flags {flags} it gives '{text}' and says {report!r}, not {wanted!r}"
        model.close()


def through_run(modc, work, name, content, expected):
    wanted = expected if isinstance(expected, str) else expected[0]
    state = work / "state"
    state.unlink(missing_ok=True)
    (work / "file").write_bytes(content)
    result = subprocess.run([modc, "run", "net.yaml", "--keep", "kept", "--weights", "file", "--state", "state"], cwd=work,
                            capture_output=True, text=True, errors="replace", timeout=60, check=False)
    if not wanted and result.returncode != 0:
        yield f"{name}: modc run does not take it: {result.stderr}"
    if wanted and (result.returncode != 3 or not result.stderr.startswith("file: error: ") or wanted not in result.stderr):
        yield f"{name}: modc run ends with {result.returncode} and says {result.stderr!r}, not {wanted!r}"
    if wanted and state.exists():
        yield f"{name}: modc run refuses it, and writes --state"


def main(arguments):
    modc = pathlib.Path(arguments[0]).resolve()
    os.environ.setdefault("CC", "cc")
    os.environ["CFLAGS"] = "-O0"
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "net.yaml").write_text(SPEC)
        subprocess.run([modc, "generate", "net.yaml", "-o", "."], cwd=work, check=True)
        sources = sorted((ROOT / "runtime").glob("*.c"))
        subprocess.run([*os.environ["CC"].split(), "-O0", "-fPIC", "-shared", f"-I{ROOT}/runtime", "-o", work / "net.so",
                        work / "net.c", *sources, "-lm"], check=True)
        for name, content, expected in CASES:
            faults += through_api(work / "net.so", name, content, expected)
            faults += through_run(modc, work, name, content, expected)
        for length in range(len(GOOD)):
            faults += through_api(work / "net.so", f"cut to {length} bytes", GOOD[:length],
                                  "header too small" if length < 8 else "Error while deserializing header: ")
    print(*faults[:40], sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
