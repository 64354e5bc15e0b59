"""modc, the compiler of a YAML spec of a torch.nn module tree to standalone C, as a package.

`modc` and `python -m modc` are the command. The package is an installation of modc, for CMake (CMAKE_PREFIX_PATH) and
pkg-config (PKG_CONFIG_PATH) too:

    cmake -B build -DCMAKE_PREFIX_PATH=$(python -c "import modc; print(modc.prefix())")
"""
import os
import sys
from pathlib import Path


def prefix():
    """Where modc is installed: bin/, include/, lib/, share/."""
    return Path(__file__).resolve().parent


def executable():
    """The command."""
    return prefix() / "bin" / "modc"


def include_dir():
    """The folder of modc.h, which emitted code includes."""
    return prefix() / "include" / "modc"


def runtime_dir():
    """The sources that are compiled together with emitted code."""
    return prefix() / "share" / "modc" / "runtime"


def pkgconfig_dir():
    """The folder of modc.pc."""
    return prefix() / "lib" / "pkgconfig"


def schema():
    """The JSON Schema of specs, for editors."""
    return prefix() / "share" / "modc" / "modc.schema.json"


def main():
    """Becomes the command, with the arguments of this process."""
    sys.stdout.flush()
    os.execv(executable(), ["modc", *sys.argv[1:]])
