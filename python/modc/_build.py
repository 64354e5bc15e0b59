"""From a spec to a shared library, in a cache.

What a library is made from names its folder: the emitted sources, the runtime, the compiler and its flags, and the processor
where the flags say `native`. A folder is made under another name and then renamed, so that several processes may build the
same at a time and none sees half of it.
"""
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from modc import executable, include_dir, runtime_dir
from modc._errors import CompilerError, SpecError

DEFAULT_FLAGS = "-O3 -march=native"


def cache_dir():
    """$MODC_CACHE, else modc/libraries in the user's folder of caches."""
    if os.environ.get("MODC_CACHE"):
        return Path(os.environ["MODC_CACHE"])
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "modc" / "libraries"


def run_command(arguments, stdin=None):
    """The command's standard output. SpecError with its text where it fails."""
    ran = subprocess.run([executable(), *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         encoding="utf-8", errors="replace", check=False)
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
        data = piece.read_bytes() if isinstance(piece, Path) else str(piece).encode()
        value.update(b"%d:" % len(data))
        value.update(data)
    return value.hexdigest()[:32]


def make_once(folder, make):
    """Calls make(temporary folder) unless `folder` is there; what it made is then `folder`, at once."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name[:8]}-", dir=folder.parent))
    try:
        make(work)
        work.chmod(0o755)
        try:
            work.rename(folder)
        except OSError:
            if not folder.is_dir():  # else somebody was faster, with the same
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


class Compiler:
    """The user's C compiler and its flags: arguments of modc.compile, else $CC and $CFLAGS, as `modc run` takes them."""

    def __init__(self, cc=None, cflags=None):
        self.words = shlex.split(cc or os.environ.get("CC") or "cc")
        self.flags = shlex.split(cflags if cflags is not None else os.environ.get("CFLAGS", DEFAULT_FLAGS))
        self.identity = digest(self.words, self.flags, self.version(), processor() if "native" in str(self.flags) else "")

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
            raise CompilerError(f"{ran.stdout.strip()}\nthe compiler failed with status {ran.returncode}: "
                                + " ".join(shlex.quote(str(word)) for word in words))
        return ran.stdout

    def command(self, *more):
        return [*self.words, "-std=gnu11", "-fPIC", *self.flags, "-I", include_dir(), *more]


def runtime_objects(compiler):
    """The runtime's files, compiled once for a compiler and its flags."""
    sources = sorted(runtime_dir().glob("*.c"))
    headers = sorted(include_dir().glob("*.h"))
    folder = cache_dir() / ("runtime-" + digest(compiler.identity, *sources, *headers))

    def make(work):
        for source in sources:
            compiler.run(compiler.command("-c", source, "-o", work / f"{source.stem}.o"))

    return sorted(make_once(folder, make).glob("*.o"))


def build(spec, options=(), cc=None, cflags=None):
    """The folder with NAME.so, NAME.c, NAME.h and spec.yaml, and NAME. spec: a path, or the text of one.

    options: further words of `modc generate`."""
    compiler = Compiler(cc, cflags)
    text = None if isinstance(spec, os.PathLike) else spec

    with tempfile.TemporaryDirectory(prefix="modc-") as work:
        emitted = Path(work)
        run_command(["generate", "-" if text is not None else spec, "-o", emitted, *options], stdin=text)
        headers = [path for path in sorted(emitted.glob("*.cmake"))]
        name = headers[0].stem
        sources = sorted(path for path in emitted.iterdir() if path.suffix != ".cmake")
        objects = runtime_objects(compiler)
        binding = include_dir() / "binding" / "modc_binding.h"
        binding_source = runtime_dir() / "binding" / "modc_binding.c"
        folder = cache_dir() / (name + "-" + digest(compiler.identity, binding, binding_source, *sources,
                                                    objects[0].parent.name))

        def make(made):
            for source in sources:
                shutil.copy(source, made)
            (made / "spec.yaml").write_text(text if text is not None else Path(spec).read_text(encoding="utf-8"),
                                            encoding="utf-8")
            units = [path for path in sources if path.suffix in (".c", ".S")]
            compiler.run(compiler.command("-I", binding.parent, "-I", made, f"-DMODC_MODEL={name}_model", "-shared",
                                          "-Wl,-Bsymbolic" if sys.platform != "darwin" else "-Wl,-undefined,error",
                                          *units, binding_source, *objects, "-lm", "-lpthread", "-o", made / f"{name}.so"))

        return make_once(folder, make), name
