"""What modc shows on a terminal and nowhere else: colours, and a line about what takes more than a second.

    python3 tests/support/terminal.py MODC    from the root of the repository

A compiler that waits stands for one that is slow: it goes on when the line has been seen, so that nothing here depends
on how fast a machine is. Where no line may be shown, it takes a little more than the second after which one would be.
"""
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = ROOT / "specs/cartpole/policy.yaml"
WAITS = """#!/bin/sh
while [ ! -e go ]; do sleep 0.05; done
echo no luck >&2
exit 1
"""
SLOW = """#!/bin/sh
mkdir slept-$PPID 2>/dev/null && sleep 1.5
exit 1
"""
ERASE = "\r\x1b[K"
FAILED = r"modc: error: the compiler '\./cc' failed with status 1"


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CFLAGS", "TERM", "CC")}
    return kept | {"TERM": "xterm", "CC": "./cc"} | more


def on_terminal(folder, command, seen=None, **more):
    """All that a command writes to a terminal, which is its stdin, stdout and stderr. Makes the file `go` as soon as
    the text `seen` has been there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(command[0], command, environment(**more))
    text, end = "", time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            read = os.read(terminal, 65536)
        except OSError:  # Linux says so at the end
            break
        if not read:
            break
        text += read.decode()
        if seen and seen in text:
            (folder / "go").touch()
    os.close(terminal)
    os.waitpid(pid, 0)
    return text.replace("\r\n", "\n")


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def check(modc, folder):
    compiler = folder / "cc"
    run = [modc, "run", str(SPEC)]

    compiler.write_text(WAITS)
    compiler.chmod(0o755)
    text = plain(on_terminal(folder, run, seen="compiling policy.c and the runtime ..."))
    line, _, rest = text.rpartition("compiling policy.c and the runtime ...")
    if not line.endswith(ERASE) or not re.match(re.escape(ERASE) + FAILED + "\nno luck\n$", rest):
        yield f"the line is shown and taken away: {text!r}"

    compiler.write_text(SLOW)
    for what, text in (
            ("on a dumb terminal", on_terminal(folder, run, TERM="dumb")),
            ("where stderr is a file", on_terminal(folder, ["/bin/sh", "-c", '"$0" "$@" 2>said; cat said', *run]))):
        if not re.match(FAILED + "\n$", text):
            yield f"no line {what}: {text!r}"

    faulty = [modc, "chekc"]
    coloured = on_terminal(folder, faulty)
    if "\x1b[1;31merror: " not in coloured or "there is no command" not in plain(coloured):
        yield f"faults are coloured: {coloured!r}"
    for what, text in (
            ("--color=never", on_terminal(folder, [*faulty, "--color=never"])),
            ("NO_COLOR", on_terminal(folder, faulty, NO_COLOR="1")),
            ("TERM=dumb", on_terminal(folder, faulty, TERM="dumb"))):
        if "\x1b" in text or plain(coloured) != text:
            yield f"no colours with {what}: {text!r}"
    quick = on_terminal(folder, [modc, "check", str(SPEC)])
    if re.sub(re.escape(ERASE) + r"[^\r\n\x1b]*", "", quick) or quick and not quick.endswith(ERASE):
        yield f"nothing is left behind: {quick!r}"
    if subprocess.run([modc, "help"], env=environment(), capture_output=True, check=True).stdout.count(b"\x1b"):
        yield "no colours in a pipe"


def main(arguments):
    modc = str(pathlib.Path(arguments[0]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        faults = list(check(modc, pathlib.Path(folder)))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
