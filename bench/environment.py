"""The Python that has the peers: found, entered and told to use one thread. Needs no package itself."""
import os
import pathlib
import resource
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent
BUILD = pathlib.Path(os.environ.get("MODC_BENCH_BUILD", ROOT / "build" / "bench")).absolute()  # all that is made
NO_PEERS = 77  # exit status where there is no such Python, which CTest takes as "skipped"
# Before any library is loaded.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
# malloc asks for huge pages, as modc_host.c does for large blocks: everybody reads weights from the same kind of memory.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def python_of():
    """What MODC_BENCH_PYTHON says, else that of the environment which bench/setup makes."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("MODC_BENCH_PYTHON") or os.path.join(cache, "modc-bench", "bin", "python")


def enter():
    """Goes on in that Python, with one thread; ends the program where it is missing."""
    python = python_of()
    if os.environ.get("MODC_BENCH_ENTERED") != python:
        if not os.access(python, os.X_OK):
            print(f"{python} is missing: bench/setup makes it, or MODC_BENCH_PYTHON names another one", file=sys.stderr)
            sys.exit(NO_PEERS)
        os.environ.update(ONE_THREAD, **HUGE_PAGES, MODC_BENCH_ENTERED=python)
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))  # plain loops have their temporaries there
        os.execv(python, [python, *sys.argv])
    find_modules()


def find_modules():
    """Those of this folder and of tests/oracle, in the Python that runs."""
    sys.path[:0] = [str(FOLDER), str(ROOT / "tests" / "oracle")]
