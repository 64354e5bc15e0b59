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


def _checkout():
    """The repository, where the package is used out of it and not installed; else None."""
    root = prefix().parent.parent
    return root if not (prefix() / "bin").is_dir() and (root / "runtime" / "modc.h").is_file() else None


def executable():
    """The command. In a checkout: $MODC_EXECUTABLE, else build/modc."""
    root = _checkout()
    return Path(os.environ.get("MODC_EXECUTABLE") or root / "build" / "modc") if root else prefix() / "bin" / "modc"


def include_dir():
    """The folder of modc.h, which emitted code includes."""
    root = _checkout()
    return root / "runtime" if root else prefix() / "include" / "modc"


def runtime_dir():
    """The sources that are compiled together with emitted code."""
    root = _checkout()
    return root / "runtime" if root else prefix() / "share" / "modc" / "runtime"


def pkgconfig_dir():
    """The folder of modc.pc."""
    return prefix() / "lib" / "pkgconfig"


def schema():
    """The JSON Schema of specs, for editors."""
    return prefix() / "share" / "modc" / "modc.schema.json"


# What needs more than this file is imported when it is asked for: `import modc` alone is quick and needs nothing.
_LAZY = {
    "compile": "_net", "Net": "_net", "Array": "_arrays", "cache_dir": "_build",
    "load_file": "_weights", "convert": "_weights", "optim": "optim",
    "export": "_export.export", "ExportError": "_errors", "ExportWarning": "_errors",
    "export_onnx": "_onnx.export", "OnnxError": "_onnx.read",
    "Error": "_errors", "SpecError": "_errors", "CompilerError": "_errors", "CallError": "_errors", "FileError": "_errors",
}
_LAZY.update(dict.fromkeys(("FallbackPolicy", "ModuleFallbackException", "ModuleInitException", "ModuleDeviceException", "ModuleIOError",
                            "ModuleTorchModelException", "ModuleSpecException"), "_module.fallback"))
_LAZY.update({"Module": "_module.module", "backend": "_module.dynamo", "DebugOptions": "_module.options", "LogLevel": "_module.options"})


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'modc' has no attribute '{name}'")
    from importlib import import_module
    module = import_module(f"modc.{_LAZY[name]}")
    value = module if name == _LAZY[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_LAZY])


_COMMANDS = {"convert": "_weights.command", "export": "_export.command"}  # those that are Python


def main():
    """Becomes the command, with the arguments of this process."""
    if len(sys.argv) > 1 and sys.argv[1] in _COMMANDS:
        from importlib import import_module
        sys.exit(import_module(f"modc.{_COMMANDS[sys.argv[1]]}").main(sys.argv[2:]))
    sys.stdout.flush()
    os.execv(executable(), ["modc", *sys.argv[1:]])
