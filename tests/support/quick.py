"""Compilers as they are called, cc and c++, which optimise little whatever they are told: what transcripts and pages compile is
looked at by other suites, and runs for a moment."""
import os
import shlex
import shutil


def write_compilers(folder, optimisation):
    """Into a folder that stands first in PATH. cc is what $CC says, if it does."""
    for name, command in (("cc", os.environ.get("CC")), ("c++", None)):
        command = command or shlex.quote(shutil.which(name) or "")
        if command != "''":
            path = folder / name
            path.write_text(f'#!/bin/sh\nexec {command} "$@" {optimisation}\n')
            path.chmod(0o755)
