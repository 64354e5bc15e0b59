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
_LAZY = {name: module for module, names in {
    "_net": "compile Net",
    "_llm.llm": "LLM",
    "_llm.queues": "Queue",
    "_arrays": "Array",
    "_build": "cache_dir",
    "_errors": "Error SpecError CompilerError CallError ExportError ExportWarning FileError",
    "_export.export": "export",
    "_onnx.export": "export_onnx",
    "_onnx.read": "OnnxError",
    "_tflite.export": "export_tflite",
    "_tflite.model": "TfliteError",
    "_weights": "load_file convert",
    "_module.module": "Module",
    "_module.dynamo": "backend",
    "_module.options": "DebugOptions LogLevel",
    "_module.fallback": "FallbackPolicy ModuleFallbackException ModuleInitException ModuleDeviceException ModuleIOError "
                        "ModuleTorchModelException ModuleSpecException",
    "optim": "optim",
}.items() for name in names.split()}


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


def _python_command(words):
    """The module of a command that is Python; None: it is the compiler's."""
    for suffix, module in ((".onnx", "_onnx.command"), (".tflite", "_tflite.command")):
        if words[:1] == ["export"] and any(word.lower().endswith(suffix) for word in words[1:]):
            return module
    return _COMMANDS.get(words[0]) if words else None


def main():
    """Becomes the command, with the arguments of this process."""
    words = sys.argv[1:]
    own = _python_command(words)
    if own is not None:
        from importlib import import_module
        sys.exit(import_module(f"modc.{own}").main(words[1:]))
    sys.stdout.flush()
    os.execv(executable(), ["modc", *words])
