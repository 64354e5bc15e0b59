"""Runs modc, and programs that it made, while one call of the system after the other fails (failing.c).

    python3 tests/support/failing.py MODC LIBRARY memory|files [EVERY]      from the root of the repository

memory: the n-th call that allocates gives NULL, for n = 1, 2, 3, ... (EVERY: each so many), alone or with all behind it.
modc ends with status 6 and says so. files: the n-th call that writes fails with "no space" or with "I/O error". The
status is 3, and the message names a file and the reason. Either way the output folder is as it was or complete, and no
temporary file is left. Where nothing is lost (a file could not be closed that was only read) all may go well.
"""
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY = b"modc: error: out of memory\n"
JSON = (b'{"level":"error","file":null,"line":0,"column":0,"length":0,"message":"out of memory","hints":[],'
        b'"notes":[]}\n')
CLEANING = {"unlink", "unlinkat", "rmdir", "rename"}  # whose failure leaves what they were to remove


def content(folder):
    """All below it: bytes of files, None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


class Scenario:
    """A command over a folder `out`, which starts as `old` and shall end as it was or as `new`."""

    def __init__(self, work, library, name, words, **own):
        self.work, self.library, self.name, self.words = work, library, name, words
        self.out, self.temporary, self.log = work / "out", work / "temporary", work / "log"
        self.program = own.get("program", "modc")    # in which calls fail
        self.prepare = own.get("prepare", lambda out: None)
        self.said, self.status = own.get("said", MEMORY), own.get("status", 6)
        self.environment = {"CC": own.get("cc", "false")}
        self.may = own.get("may", set())  # stay behind
        self.start()
        self.old = content(self.out)
        result = self.run({})
        self.good = (result.returncode, result.stdout)
        self.new = content(self.out)
        self.start()

    def start(self):
        for folder in (self.out, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self.prepare(self.out)

    def run(self, failing):
        environment = os.environ | self.environment | {"TMPDIR": str(self.temporary), "LC_ALL": "C"}
        if failing:
            environment |= failing | {"LD_PRELOAD": str(self.library), "FAIL_LOG": str(self.log),
                                      "FAIL_IN": f"/{self.program}"}
        return subprocess.run([str(word) for word in self.words], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=False)

    def fails(self, failing):
        """Runs it; None where no call failed, else what is wrong or ''."""
        self.log.unlink(missing_ok=True)
        result = self.run(failing)
        if not self.log.exists():
            self.start()
            return None
        calls, after = set(self.log.read_text().split()), content(self.out)
        fault = self.judge(result, calls, after)
        left = [path.name for path in self.temporary.iterdir()]
        if not fault and left and not calls & CLEANING:
            fault = f"leaves {left} in the folder of temporary files"
        if fault:
            fault = f"{self.name}: {failing}: {', '.join(sorted(calls))} failed: {fault}; it said: {result.stderr}"
        if after != self.old or left:
            self.start()
        return fault

    def judge(self, result, calls, after):
        if result.returncode < 0:
            return f"it died of {signal.Signals(-result.returncode).name}"
        if (result.returncode, result.stdout) == self.good:  # nothing was lost
            return self.compare(after, calls) or ("" if self.new.items() <= after.items() else "nothing was written")
        if result.returncode != self.status:
            return f"it ended with status {result.returncode}"
        if not result.stderr.endswith(self.said) if isinstance(self.said, bytes) else not self.said(result.stderr):
            return "its message is not what it should be"
        return self.compare(after, calls)

    def compare(self, after, calls):
        """All old or all new; with more only where what was to remove it failed."""
        nearest = min((self.old, self.new), key=lambda own: len(own.items() ^ after.items()))
        lost = {name for name in nearest if after.get(name, 0) != nearest[name]}
        if lost:
            return f"{lost} are neither as they were nor as they should be"
        more = after.keys() - nearest.keys() - self.may
        return f"it left {more}" if more and not calls & CLEANING else ""


def each(scenario, options, every=1):
    """Lets one call after the other fail; yields what is wrong."""
    at = 1
    while (fault := scenario.fails(options | {"FAIL_AT": str(at)})) is not None:
        if fault:
            yield fault
        at += every
    if at == 1:
        yield f"{scenario.name}: no call failed"


def older(out):
    """What an older spec gave: other files under the names of the new ones."""
    for name in ("mlp.h", "mlp.c", "mlp.cmake", "mlp_weights.S", "mlp_weights.bin", "stream.h", "stream.c"):
        (out / name).write_bytes(b"older\n" * 100)
    (out / "own").write_bytes(b"the user's\n")


def memory(modc, library, work, every):
    mlp, weights = "specs/digits/mlp.yaml", "specs/digits/weights_mlp.safetensors"
    stream = "tests/specs/stream.yaml"
    generate = [modc, "generate", "-o", work / "out"]
    scenarios = [
        ("generate", [*generate, mlp, "--weights", weights], {"prepare": older}),
        ("generate into a new folder", [modc, "generate", "-o", work / "out/a/b", mlp, "--diagnostics=json"], {"said": JSON}),
        ("generate stream", [*generate, stream, "--bundle"], {"prepare": older}),
        ("check", [modc, "check", "--dump=plan", stream], {}),
        ("summary", [modc, "summary", mlp], {}),
        ("run", [modc, "run", mlp], {}),
        ("run --keep", [modc, "run", mlp, "--keep", work / "out"], {}),
    ]
    for name, words, own in scenarios:
        scenario = Scenario(work, library, name, words, **own)
        yield from each(scenario, {"FAIL_CALLS": "memory"}, every)
        yield from each(scenario, {"FAIL_CALLS": "memory", "FAIL_ON": "1"}, 5 * every)


def says(number):
    """A message that ends in the reason."""
    return lambda said: said.rstrip().endswith(os.strerror(number).encode()) and b"error: " in said


def files(modc, library, work, every):
    mlp, weights = "specs/digits/mlp.yaml", "specs/digits/weights_mlp.safetensors"
    kept = work / "kept"
    subprocess.run([modc, "run", mlp, "--keep", kept], env=os.environ | {"CFLAGS": "-O1"}, check=True, capture_output=True)
    run = [kept / "mlp", f"--weights={weights}", f"--outputs={work}/out/outputs", f"--state={work}/out/state"]
    scenarios = [
        ("generate", [modc, "generate", mlp, "--weights", weights, "-o", work / "out"], {"prepare": older}),
        ("generate into a new folder", [modc, "generate", mlp, "-o", work / "out/a/b"], {}),
        ("check --dump", [modc, "check", mlp, "--dump=plan"], {}),
        ("summary", [modc, "summary", mlp], {}),
        ("run", [modc, "run", mlp], {}),
        ("run --keep", [modc, "run", mlp, "--keep", work / "out"], {"may": {"mlp.stamp"}}),
        ("the program", run, {"program": "mlp", "may": {"outputs"}}),
        ("the program over old files", run, {"program": "mlp", "may": {"outputs"},
                                           "prepare": lambda out: (out / "state").write_bytes(b"old")}),
    ]
    for name, words, own in scenarios:
        for number in (errno.ENOSPC, errno.EIO):
            scenario = Scenario(work, library, name, words, said=says(number), status=3, **own)
            for on in ("0", "1"):
                failing = {"FAIL_CALLS": "files", "FAIL_WITH": str(number), "FAIL_ON": on}
                yield from each(scenario, failing, every if number == errno.ENOSPC and on == "0" else 3 * every)
    yield from full_disk(modc, work)


def full_disk(modc, work):
    """A disk of 32 KB, where one may be mounted: yields what is wrong."""
    script = """
        mkdir -p "$2" && mount -t tmpfs -o size=32k none "$2" 2>/dev/null || exit 77
        echo old >"$2/mlp.h"
        "$1" generate specs/digits/mlp.yaml --weights specs/digits/weights_mlp.safetensors -o "$2" >&2
        echo $?
        ls -A "$2"
        cat "$2/mlp.h"
    """
    result = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", modc, work / "disk"],
                            capture_output=True, timeout=60, check=False)
    if result.returncode in (1, 77):  # unshare, or mount, is refused
        print("a full disk: not tested, since nothing can be mounted here")
    elif result.stdout != b"3\nmlp.h\nold\n" or not says(errno.ENOSPC)(result.stderr):
        yield f"a full disk: {result.stdout} {result.stderr}"


def main(arguments):
    modc, library = (pathlib.Path(path).resolve() for path in arguments[:2])
    every = int(arguments[3]) if len(arguments) > 3 else 1
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as work:
        faults = list({"memory": memory, "files": files}[arguments[2]](modc, library, pathlib.Path(work), every))
    print(*faults[:50], sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
