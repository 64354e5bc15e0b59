"""One `modc run`, checked twice: by modc's own --expect, and here by what --outputs and --state wrote (which also sees
a wrong dtype, a missing output and an integer that is off by one). Needs nothing but Python."""
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

import compare
import safetensors_io


def command_of(text):
    """`--modc TEXT` as a list whose program is found from any folder; None if there is no such program."""
    command = shlex.split(text)
    if os.path.exists(command[0]):
        command[0] = os.path.abspath(command[0])
    return command if shutil.which(command[0]) else None


def check(modc, spec, options, state=None, timeout=300, folder=None):
    """None, or what went wrong and how to see it again. `state`: file of what the state_dict has to be afterwards."""
    command = [*modc, "run", spec, *options]
    place = f"cd {shlex.quote(str(folder))} && " if folder else ""
    with tempfile.TemporaryDirectory() as scratch:
        outputs, after = pathlib.Path(scratch, "outputs.safetensors"), pathlib.Path(scratch, "state.safetensors")
        wanted = [(outputs, "--outputs", options[options.index("--expect") + 1])]
        if state:
            wanted.append((after, "--state", state))
        files = [text for path, option, _ in wanted for text in (option, str(path))]

        def fault(text, lines=()):
            return "\n      ".join([text, *lines, f"repeat: {place}{shlex.join(command)}"])

        try:
            done = subprocess.run(command + files, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace", timeout=timeout)
        except subprocess.TimeoutExpired:
            return fault(f"no end after {timeout} s")
        if done.returncode != 0:
            return fault(f"exit status {done.returncode}", done.stdout.strip().splitlines()[-25:])
        for path, option, expected in wanted:
            command += [option, f"/tmp/{path.name}"]
            if not path.exists():
                return fault(f"{option} wrote nothing")
            near = path == outputs or "--steps" in options  # what a call leaves is as near as what it gives behind steps alone
            rtol = float(options[options.index("--rtol") + 1]) if "--rtol" in options and near else None
            expected = safetensors_io.read(pathlib.Path(folder or ".", expected))[0]
            lines, good = compare.compare(expected, safetensors_io.read(path)[0], rtol)
            if not good:
                return fault(f"modc is content, but {option} differs", lines)
    return None
