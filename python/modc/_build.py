"""From a spec to a shared library, in a cache.

What a library is made from names its folder: the emitted sources, the runtime, the compiler and its flags, and the processor
where the flags say `native`. A folder is made under another name and then renamed, so that several processes may build the
same at a time and none sees half of it.
"""
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from modc import executable, include_dir, runtime_dir
from modc._errors import CompilerError, Error, SpecError

DEFAULT_FLAGS = "-O3 -march=native"
RECORD = "made.json"  # in every folder, written last: which files there are, of how many bytes, and what they were made with
# Of NAME.cmake: a machine with what is set for it, and of that what a file of --dispatch is compiled with.
MACHINE = re.compile(r'^if\(CMAKE_SYSTEM_PROCESSOR MATCHES "([^"]*)" AND NOT MSVC\)\n(.*?)^endif\(\)', re.DOTALL | re.MULTILINE)
OPTIONS = re.compile(r'set_source_files_properties\(\$\{CMAKE_CURRENT_LIST_DIR\}/(\S+) PROPERTIES COMPILE_OPTIONS "?([^"]+?)"?\)')


def cache_dir():
    """$MODC_CACHE, else modc/libraries in the user's folder of caches."""
    if os.environ.get("MODC_CACHE"):
        return Path(os.environ["MODC_CACHE"])
    caches = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(caches) if caches else Path.home() / ".cache") / "modc" / "libraries"
    except RuntimeError:
        raise Error("there is no home folder for a cache\nhint: MODC_CACHE=DIR names another one") from None


def run_command(arguments, stdin=None):
    """The command's standard output. SpecError with its text where it fails."""
    command = executable()
    try:
        ran = subprocess.run([command, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise Error(f"the command {command} cannot be started: {error.strerror}\n"
                    "hint: in a checkout, `cmake --build build --target modc` makes it") from None
    if ran.returncode != 0:
        raise SpecError(ran.stderr.strip() or f"modc ended with status {ran.returncode}", ran.returncode)
    return ran.stdout


def processor():
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "unknown"
    wanted = ("flags", "Features", "model name", "CPU part", "isa")
    return "\n".join(sorted({line for line in lines if line.split("\t")[0].strip() in wanted}))


def digest(*pieces):
    """A name for what these strings and files say."""
    value = hashlib.sha256()
    for piece in pieces:
        data = piece if isinstance(piece, bytes) else piece.read_bytes() if isinstance(piece, Path) else str(piece).encode()
        value.update(b"%d:" % len(data))
        value.update(data)
    return value.hexdigest()[:32]


def is_whole(folder):
    """Whether a folder of the cache has all that was made for it."""
    try:
        files = json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"]
        return all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return False


def discard(folder):
    """Takes a broken folder out of the way, which others may be looking into."""
    try:
        aside = Path(tempfile.mkdtemp(prefix=".broken-", dir=folder.parent))
        folder.rename(aside / "was")
    except FileNotFoundError:
        return  # somebody was faster
    shutil.rmtree(aside, ignore_errors=True)


def make_once(folder, make, record=None):
    """Calls make(temporary folder) unless `folder` is there and whole; what it made is then `folder`, at once."""
    if is_whole(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists():
            discard(folder)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name[:8]}-", dir=folder.parent))
    except OSError as error:
        raise Error(f"the cache {folder.parent} cannot be written: {error.strerror}\n"
                    "hint: MODC_CACHE=DIR names another one") from None
    try:
        make(work)
        files = {path.name: path.stat().st_size for path in sorted(work.iterdir())}
        (work / RECORD).write_text(json.dumps({"files": files, **(record or {})}), encoding="utf-8")
        work.chmod(0o755)
        try:
            work.rename(folder)
        except OSError:
            if not is_whole(folder):  # else somebody was faster, with the same
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


class Compiler:
    """The user's C compiler and its flags: arguments of modc.compile, else $CC and $CFLAGS, as `modc run` takes them."""

    def __init__(self, cc=None, cflags=None):
        self.words = shlex.split(cc or os.environ.get("CC") or "cc")
        self.flags = shlex.split(cflags if cflags is not None else os.environ.get("CFLAGS", DEFAULT_FLAGS))
        self.identity = digest(self.words, self.flags, self.version(), platform.machine(),
                               processor() if "native" in str(self.flags) else "")

    def version(self):
        return self.run([*self.words, "--version"])

    def run(self, words):
        try:
            ran = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 encoding="utf-8", errors="replace", check=False)
        except OSError as error:
            raise CompilerError(f"the compiler '{self.words[0]}' cannot be started: {error.strerror}\n"
                                "hint: $CC and $CFLAGS, or cc= and cflags=, say which one is used") from None
        if ran.returncode != 0:
            command = " ".join(shlex.quote(str(word)) for word in words)
            raise CompilerError(f"{ran.stdout.strip()}\nthe compiler failed with status {ran.returncode}: {command}".lstrip())
        return ran.stdout

    def command(self, *more):
        return [*self.words, "-std=gnu11", "-fPIC", *self.flags, "-I", include_dir(), *more]


def runtime_folder(compiler):
    """Where the runtime's files are, compiled once for a compiler and its flags, and what makes them."""
    sources = sorted(runtime_dir().glob("*.c"))
    folder = cache_dir() / ("runtime-" + digest(compiler.identity, *sources, *sorted(include_dir().glob("*.h"))))

    def make(work):
        for source in sources:
            compiler.run(compiler.command("-c", source, "-o", work / f"{source.stem}.o"))

    return folder, make


def build(spec, options=(), cc=None, cflags=None):
    """The folder with NAME.so, NAME.c, NAME.h, spec.yaml and summary.txt, and NAME. spec: a path, or the text of one.

    options: further words of `modc generate`."""
    text = None if isinstance(spec, os.PathLike) else spec
    where = "-" if text is not None else spec
    with tempfile.TemporaryDirectory(prefix="modc-") as work:
        run_command(["generate", where, "-o", work, *options], stdin=text)
        sources = {path.name: path.read_bytes() for path in sorted(Path(work).iterdir())}
    name = next(Path(file).stem for file in sources if file.endswith(".cmake"))
    if any(file.endswith(".cu") for file in sources):
        raise Error(f"{name} is on cuda, and models called from Python are on cpu\n"
                    "hint: options=['--device', 'cpu'] makes it for the processor")
    sources["spec.yaml"] = text.encode() if text is not None else Path(spec).read_bytes()
    looked = [word for i, word in enumerate(options) if word in SUMMARY_ALONE or (i and options[i - 1] in SUMMARY_VALUES)
              or word in SUMMARY_VALUES]
    return build_sources(name, sources, cc, cflags, lambda: run_command(["summary", where, *looked], stdin=text).encode()), name


SUMMARY_ALONE = {"--backward"}  # words of `modc generate` that `modc summary` takes, too
SUMMARY_VALUES = {"--weights", "--set", "--dtype", "--model", "--target", "--isa", "--plan", "--device"}


def build_sources(name, sources, cc=None, cflags=None, summary=None):
    """The folder of a model's library, made of its files by name where it is not in the cache."""
    compiler = Compiler(cc, cflags)
    runtime, make_runtime = runtime_folder(compiler)
    headers, bindings = [sorted((folder / "binding").glob(f"*.{kind}")) for folder, kind in ((include_dir(), "h"), (runtime_dir(), "c"))]
    named = [piece for file in sorted(sources) if file != "summary.txt" for piece in (file, sources[file])]
    folder = cache_dir() / f"{name}-{digest(compiler.identity, *headers, *bindings, runtime.name, *named)}"

    def make(made):
        for file, data in sources.items():
            (made / file).write_bytes(data)
        if summary is not None:
            (made / "summary.txt").write_bytes(summary())
        objects = sorted(make_once(runtime, make_runtime).glob("*.o"))
        own = {file: words.split(";") for machine, text in MACHINE.findall(sources[f"{name}.cmake"].decode())
               if re.match(machine, platform.machine()) for file, words in OPTIONS.findall(text)}
        units = []
        for file in sorted(sources):
            if not file.endswith((".c", ".S")):
                continue
            unit = made / file
            if file in own:  # of --dispatch: the last -march counts
                unit = made / f"{Path(file).stem}.o"
                compiler.run(compiler.command("-I", made, *own[file], "-c", made / file, "-o", unit))
            units.append(unit)
        trains = [f"-DMODC_TRAINING={name}_training", f"-DMODC_OPTIMIZER_TABLE={name}_optimizer_table",
                  f'-DMODC_HEADER="{name}.h"'] if f"{name}_optimizer_table".encode() in sources[f"{name}.h"] else []
        compiler.run(compiler.command("-I", include_dir() / "binding", "-I", made, f"-DMODC_MODEL={name}_model", "-DMODC_NO_EXTERNS",
                                      *trains, "-shared",
                                      "-Wl,-Bsymbolic" if sys.platform != "darwin" else "-Wl,-undefined,error",
                                      *units, *bindings, *objects, "-lm", "-lpthread", "-o", made / f"{name}.so"))

    return make_once(folder, make, {"sources": sorted({*sources, "summary.txt"}), "cc": cc, "cflags": cflags})


def made_of(folder):
    """What build_sources made a folder of."""
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    files = {file: (folder / file).read_bytes() for file in record["sources"] if (folder / file).is_file()}
    return {"sources": files, "cc": record["cc"], "cflags": record["cflags"]}
