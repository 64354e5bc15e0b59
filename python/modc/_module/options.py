"""modc.DebugOptions: what modc.Module says and writes while it compiles."""
import enum
import os
import sys
from pathlib import Path


class LogLevel(enum.IntEnum):
    VERBOSE = 0
    DEVINFO = 1
    INFO = 1
    WARNING = 2
    ERROR = 3
    FATAL = 4


class DebugOptions:
    """log_level: at INFO each variant says what it is for and how long it took.

    save: each variant writes PREFIX_exported_MODE.yaml (the spec), PREFIX_graph_MODE.txt (after every pass),
    PREFIX_plan_MODE.txt, PREFIX_emitted_MODE.c and .h into save_path ("": the
    current folder). MODE is training or inference, with a number behind it from the second variant on. $MODC_LOG_LEVEL and
    $MODC_SAVE_PATH overrule log_level and save_path.
    """

    def __init__(self, log_level=LogLevel.WARNING, save=False, prefix="", save_path=""):
        level = os.environ.get("MODC_LOG_LEVEL")
        if level is not None:
            if level not in LogLevel.__members__:
                raise ValueError(f"MODC_LOG_LEVEL is '{level}', not one of {', '.join(LogLevel.__members__)}")
            log_level = LogLevel[level]
        if not isinstance(log_level, LogLevel):
            raise TypeError(f"log_level is a {type(log_level).__name__}, not a modc.LogLevel")
        if not isinstance(prefix, str):
            raise TypeError(f"prefix is a {type(prefix).__name__}, not a string")
        if save and not prefix:
            raise ValueError("save needs a prefix: what the files' names begin with")
        path = Path(os.environ.get("MODC_SAVE_PATH") or save_path or ".")
        if save and not (path.is_dir() and os.access(path, os.W_OK)):
            raise OSError(f"save_path: {path} is no folder that can be written to")
        self.log_level, self.save, self.prefix, self.save_path = log_level, bool(save), prefix, path
        self.counts = {}

    def say(self, level, text):
        if self.log_level <= level:
            print(f"modc: {text}", file=sys.stderr)

    def write(self, mode, texts, more=False):
        """texts: {stage and suffix: text} of one variant, such as "exported.yaml"; more: of the variant that was written last."""
        count = self.counts[mode] = self.counts.get(mode, 0) + (0 if more else 1)
        number = f"_{count}" if count > 1 else ""
        for name, text in texts.items():
            stage, suffix = name.split(".")
            path = self.save_path / f"{self.prefix}_{stage}_{mode}{number}.{suffix}"
            path.write_text(text, encoding="utf-8")
