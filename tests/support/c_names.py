"""Names of a spec that are something else in C: what emitted code becomes of them compiles, without a warning.

    python3 tests/support/c_names.py MODC WORK KIND COMPILERS CXX CFLAGS CXXFLAGS     from the root of the repository
    python3 tests/support/c_names.py --update MODC WORK

KIND is what of a spec has the names (`SPECS`), `models`, or `reserved` (`check_reserved`), whose list --update writes. COMPILERS and the flags are lists with commas; those COMPILERS
that make programs for this machine compile what comes out, by turns as C99 and with GNU's C17, and CXX
its header. Names are
- all words of C and C++,
- what each of the compilers says that it and the headers that emitted code includes define (`-dM -E`), and the types and
  functions that these declare,
- every identifier of what is emitted for the spec with two harmless names, and of the templates, where these see the names.
So a header of tomorrow needs no change here. c_names.c knows those of compilers that are not here, too.
"""
import difflib
import keyword
import pathlib
import re
import subprocess
import sys

# What emitted C includes.
HEADERS = sorted(path for path in pathlib.Path("runtime").glob("modc*.h") if "cuda" not in path.name)
KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double
dynamic_cast else enum explicit export extern false final float for friend goto if import inline int long module mutable
namespace new noexcept not not_eq nullptr operator or or_eq override private protected public register reinterpret_cast
requires restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary _Noreturn _Pragma
_Static_assert _Thread_local __attribute__ __func__ __asm__ EOF assert errno far near huge I complex i386
""".split()

# In the words of the language: nothing else can have them, but a module.
LANGUAGE = {*keyword.kwlist, "true", "false", "null"}

HEAD = "modc: 1\nmodel: net\n"
INPUT = "inputs: {v_in: [2, 2]}\n"
LAYER = "modules: {v_fc: Linear(2, 2)}\n"


def each(names, text):
    return "".join(text.replace("@N", str(i)).replace("@", name) for i, name in enumerate(names))


def spec_of_classes(names):
    return (INPUT + "classes:\n" + each(names, '  "@":\n    modules: {v_fc: Linear(2, 2), v_out: Linear(2, 2)}\n'
                                               "    forward(x):\n      - return v_out(v_fc(x)) + @N\n") +
            "modules:\n" + each(names, "  v_a@N: @()\n  v_b@N: @()\n") +
            "forward:\n  - v_x = v_in\n" + each(names, "  - v_x = v_b@N(v_a@N(v_x))\n") + "  - return v_x\n")


def spec_of_arguments(names):
    """Of classes, each of as many as stand in one line, and its locals."""
    parts = [names[i:i + 24] for i in range(0, len(names), 24)]
    text = INPUT + "classes:\n"
    for i, part in enumerate(parts):
        text += f"  VBlock{i}:\n    modules: {{v_fc: Linear(2, 2)}}\n    forward({', '.join(part)}):\n      - v_x = 1\n"
        text += each(part, "      - v_x = v_fc(v_x + @)\n      - @ = v_x\n") + "      - return v_x\n"
    text += "modules:\n" + "".join(f"  v_a{i}: VBlock{i}()\n  v_b{i}: VBlock{i}()\n" for i in range(len(parts)))
    text += "forward:\n  - v_x = v_in\n"
    for i, part in enumerate(parts):
        text += "".join(f"  - v_x = v_{side}{i}({', '.join(['v_x'] * len(part))})\n" for side in "ab")
    return text + "  - return v_x\n"


def spec_of_templates(names):
    """Kernels of each kind of template that take all the sizes, since what is computed behind them does."""
    size = " * ".join(names)
    return ("sizes:\n" + each(names, '  "@": 1\n') + f"""inputs:
  v_image: [{size}, 32, 12, 12]
  v_line: [{size}, 48]
  v_rows: [2, {size}, 48]
  v_times: [5, {size}, 16]
modules:
  v_depthwise: Conv2d(32, 32, 3, padding=1, groups=32)
  v_grouped: Conv2d(32, 32, 3, padding=1, groups=4)
  v_dense: Conv2d(32, 32, 3, padding=1)
  v_strided: Conv2d(32, 32, 3, padding=1, stride=2)
  v_fc: Linear(48, 48)
  v_norm: LayerNorm(48)
  v_gru: GRU(16, 16)
  v_lstm: LSTM(16, 16)
  v_rnn: RNN(16, 16, nonlinearity='relu')
forward:
  - v_size = 1.0 * {size}
  - v_a = relu(v_depthwise(v_image) * v_size) + relu(v_grouped(v_image) * v_size) + relu(v_dense(v_image) * v_size)
  - v_b = max_pool2d(v_a, 3, 1) * v_size + avg_pool2d(v_a, 3, 1) * v_size
  - v_c = relu(v_strided(v_image) * v_size)
  - v_d = relu(v_fc(v_line) * v_size) + v_norm(v_line) * v_size + softmax(v_line * v_size, 1) + softmax(v_line, 0) * v_size
  - v_e = relu(v_rows @ v_rows.mT * v_size)
  - v_f = scaled_dot_product_attention(v_rows, v_rows, v_rows, is_causal=True) * v_size
  - v_g = v_gru(v_times)[0] * v_size + v_lstm(v_times)[0] * v_size + v_rnn(v_times)[0] * v_size
  - v_h = view_as_real(torch.fft.fft(v_line)) * v_size
  - v_i = v_line.cumsum(1) * v_size + v_line.sort(1)[0] * v_size
  - return v_a, v_b, v_c, v_d, v_e, v_f, v_g, v_h, v_i
""")


SPECS = {
    "templates": spec_of_templates,
    "modules": lambda names: INPUT + "modules:\n" + each(names, '  "@": Linear(2, 2)\n') + "forward:\n  - v_x = v_in\n" +
    each(names, "  - v_x = self.@(v_x)\n") + "  - return v_x\n",
    "parameters": lambda names: INPUT + "parameters:\n" + each(names, '  "@": {shape: [2, 2]}\n') +
    "forward:\n  - v_x = v_in\n" + each(names, "  - v_x = v_x.matmul(self.@)\n") + "  - return v_x\n",
    "state": lambda names: INPUT + "state:\n" + each(names, '  "@": {shape: [2, 2]}\n') + "forward:\n  - v_x = v_in\n" +
    each(names, "  - self.@ = self.@ + v_x\n  - v_x = v_x.matmul(self.@)\n") + "  - return v_x\n",
    "inputs": lambda names: "inputs:\n" + each(names, '  "@": [2, 2]\n') + LAYER + "forward:\n  - v_x = 1\n" +
    each(names, "  - v_x = v_fc(v_x + @)\n") + "  - return v_x\n",
    "locals": lambda names: INPUT + LAYER + "forward:\n  - v_x = v_in\n" +
    each(names, "  - @ = v_fc(v_x)\n  - v_x = @\n") + "  - return v_x\n",
    "outputs": lambda names: INPUT + LAYER + "forward:\n  - v_x = v_in\n" +
    each(names, "  - @ = v_fc(v_x)\n  - v_x = @\n") + f"  - return {', '.join(names)}\n",
    "sizes": lambda names: "sizes:\n" + each(names, '  "@": 4\n') + "inputs:\n" + each(names, "  v_x@N: [@, 2]\n") +
    LAYER + f"forward:\n  - return {', '.join(f'v_fc(v_x{i})' for i in range(len(names)))}\n",
    "classes": spec_of_classes,
    "arguments": spec_of_arguments,
    "entries": lambda names: INPUT + LAYER + "forward:\n  - return v_fc(v_in)\nentries:\n" +
    each(names, "  @(v_in):\n    - return v_fc(v_in)\n"),
}
BATCH = 250  # names of one spec
BACKWARD = {"modules", "parameters", "arguments", "templates"}  # are generated with --backward, too
PRODUCT = 24  # sizes of one spec of templates, which multiplies them

# Names that are free in C, but not in what modc emits: sorted words behind what of a spec cannot have them as they are.
RESERVED = pathlib.Path("tests/support/reserved.txt")

# Why a name may be refused, with its place.
REFUSALS = re.compile(r"error: .*'(\w+)'.* (?:would have the name of|give one name in C|has a key of its own)")


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def names_of_headers(work, compilers):
    """Macros that need no parenthesis, types and functions."""
    headers = [f'#include "{path.name}"\n' for path in sorted(HEADERS)
               if path.name in ("modc.h", "modc_optim.h", "modc_rollout.h", "modc_simd.h", "modc_template.h", "modc_tokenizer.h")]
    (work / "headers.c").write_text("".join(headers) + "#include <string.h>\n")
    names = set()
    for compiler in compilers:
        for flags in (["-std=c99"], ["-std=gnu17"], ["-std=gnu17", "-D_GNU_SOURCE"]):
            command = [compiler, *flags, "-Iruntime", "-E", work / "headers.c"]
            names |= set(re.findall(r"^#define (\w+)(?: |$)", run(*command, "-dM").stdout, re.M))
            text = run(*command, "-P").stdout if flags == ["-std=c99"] else ""
            names |= set(re.findall(r"typedef [^;{}]*?(\w+);", text))
            names |= set(re.findall(r"^extern [^;{}()]*?(\w+) ?\(", text, re.M))
    if not {"NAN", "INT32_MAX", "M_PI", "SIZE_MAX", "int32_t", "memcpy", "linux", "__GNUC__"} <= names:
        sys.exit("the compilers do not say what they define")
    reserved = sorted(name for name in names if re.match("_[_A-Z]", name))
    return names - set(reserved) | set(reserved[::20])  # which all are one case


def generate(modc, work, kind, names, *more):
    """Leaves out which names are refused; what was said of the others."""
    spec, out = work / "net.yaml", work / "out"
    options = [*(["--backward"] if kind in BACKWARD else []), *more]
    while True:
        spec.write_text(HEAD + SPECS[kind](names))
        result = run(modc, "generate", spec, "-o", out, *options)
        if result.returncode == 0:
            return out, names
        refused = set(REFUSALS.findall(result.stderr)) & set(names)
        if not refused:
            sys.exit(f"{kind}: exit status {result.returncode}\n{result.stderr[:4000]}")
        names = [name for name in names if name not in refused]


def identifiers(folder):
    text = "".join(path.read_text() for path in sorted(folder.glob("*.[ch]")))
    text = re.sub(r'/\*.*?\*/|"[^"\n]*"', " ", text, flags=re.S)
    return set(re.findall(r"\b[A-Za-z_]\w*", text))


def words_of(paths):
    """Identifiers of C files with holes, without what only the runtime has."""
    text = "".join(path.read_text() for path in paths)
    text = re.sub(r'/\*.*?\*/|"[^"\n]*"', " ", text, flags=re.S)
    words = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", text))
    return sorted(word for word in words - LANGUAGE if not re.match(r"T_|_|modc_|MODC_", word))


def templates():
    return words_of(sorted(pathlib.Path("templates").rglob("*.c")))


def check_reserved(modc, work):
    """Of the words of templates and of headers of the runtime, those that a size, an input or a module does not keep in C.

    So somebody sees it who lets a template or a header take another word from all models. Words of C itself, its headers and
    the compilers are left out: those differ from machine to machine.
    """
    words = words_of([*pathlib.Path("templates").rglob("*.c"), *HEADERS])
    words = [word for word in different(words) if word not in KEYWORDS and not re.search(r"_t$|^U?INT\w*_(MAX|MIN|C)$", word)]
    found = {}
    for kind, place in (("sizes", r"\bint (\w+)"), ("inputs", r"\bfloat \*(\w+)"), ("modules", r"^    struct \{.*\} (\w+);")):
        found[kind] = set()
        for first in range(0, len(words), BATCH):
            out, _ = generate(modc, work, kind, words[first:first + BATCH])
            found[kind] |= set(words[first:first + BATCH]) - set(re.findall(place, (out / "net.h").read_text(), re.M))
    return "".join(f"{kind}:\n" + "".join(f"  {name}\n" for name in sorted(names)) for kind, names in found.items())


def different(names):
    """Those of names that are equal but for capitals and underscores behind them are one constant in C."""
    seen, result = set(), []
    for name in names:
        key = name.strip("_").upper()
        if key and key not in seen:
            seen.add(key)
            result.append(name)
    return result


def check_models(modc, work, names):
    """A model cannot have an underscore: the name is refused, or what is emitted compiles."""
    accepted = []
    for name in names:
        (work / "net.yaml").write_text(f'modc: 1\nmodel: "{name}"\n' + SPECS["modules"](["v_fc"]))
        result = run(modc, "check", work / "net.yaml")
        if result.returncode == 0:
            accepted.append(name)
        elif "the model's name is" not in result.stderr and "belongs to the runtime" not in result.stderr and \
                "cannot be a name" not in result.stderr:
            sys.exit(f"model {name}: {result.stderr}")
    (work / "net.yaml").write_text(HEAD + SPECS["modules"](["v_fc"]))
    for name in accepted:
        result = run(modc, "generate", work / "net.yaml", "--model", name, "-o", work / "out")
        if result.returncode:
            sys.exit(f"model {name}: {result.stderr}")
    return accepted


def main(modc, work, kind, compilers, cxx, flags, cxx_flags):
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    if kind == "reserved":
        found = check_reserved(modc, work)
        faults = [] if found == RESERVED.read_text() else list(
            difflib.unified_diff(RESERVED.read_text().splitlines(), found.splitlines(), str(RESERVED), "found", lineterm=""))
        print("\n".join(faults))
        return 1 if faults else 0
    compilers = compilers.split(",")
    names = {*KEYWORDS, *names_of_headers(work, compilers)}
    faults = []

    def compile(command):
        result = run(*command)
        if result.returncode or result.stderr:
            faults.append(f"{' '.join(map(str, command))}\n{result.stderr[:3000]}")

    def compile_all(out, model, turn):
        mine = ["-Werror", "-fsyntax-only", "-Iruntime", f"-I{out}"]
        native = [compiler for compiler in compilers
                  if run(compiler, "-dumpmachine").stdout == run(compilers[0], "-dumpmachine").stdout]
        for i, compiler in enumerate(native):
            compile([compiler, ("-std=c99", "-std=gnu17")[(i + turn) % 2], *flags.split(","), "-Wconversion", *mine,
                     out / f"{model}.c"])
        if cxx:
            compile([cxx, ("-std=c++17", "-std=c++20")[turn % 2], *cxx_flags.split(","), *mine, "-x", "c++", "/dev/null",
                     "-include", out / f"{model}.h"])

    if kind == "models":
        names = sorted(name for name in names if not name.startswith("_"))
        accepted = check_models(modc, work, names)
        for turn, name in enumerate(accepted[::6]):
            compile_all(work / "out", name, turn)
        print(f"{len(names)} names, {len(accepted)} accepted")
    elif kind == "templates":
        names = templates()
        for turn, first in enumerate(range(0, len(names), PRODUCT)):
            out, accepted = generate(modc, work, kind, names[first:first + PRODUCT], *(["--plan", "split=2"] if turn % 2 else []))
            compile_all(out, "net", turn)
        print(f"{len(names)} words of templates")
    else:
        out, _ = generate(modc, work, kind, ["first", "second"])
        own = identifiers(out)
        names = [name for name in different([*KEYWORDS, *sorted(names), *sorted(own)])
                 if (kind == "modules" or name not in LANGUAGE) and not name.startswith("v_")]
        kept = []
        for first in range(0, len(names), BATCH):
            out, accepted = generate(modc, work, kind, names[first:first + BATCH])
            compile_all(out, "net", first // BATCH)
            kept += accepted
        print(f"{len(names)} names, {len(kept)} accepted; refused: {' '.join(sorted(set(names) - set(kept)))}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1] == "--update":
        pathlib.Path(sys.argv[3]).mkdir(parents=True, exist_ok=True)
        RESERVED.write_text(check_reserved(sys.argv[2], pathlib.Path(sys.argv[3])))
        sys.exit()
    sys.exit(main(*sys.argv[1:]))
