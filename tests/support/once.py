"""modc_once (once.c) compiles again whatever an object depends on has changed, and nothing else.

    CC=cc python3 tests/support/once.py MODC_ONCE FOLDER
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

COUNTER = """#!/bin/sh
echo "$*" >>"$COUNT"
exec %s "$@"
"""


class Compiler:
    """Counts how often the compiler behind modc_once runs."""

    def __init__(self, once, folder):
        self.once, self.folder, self.faults = once, folder, 0
        self.count = folder / "count"
        counted = folder / "counted"
        counted.write_text(COUNTER % shlex.join(shlex.split(os.environ.get("CC", "cc"))))
        counted.chmod(0o755)
        self.words = [str(once), str(counted)]

    def expect(self, what, compiled, *words, status=0, said=""):
        """Runs it on the words: whether the compiler itself ran, how it ended, what was said."""
        self.count.write_text("")
        done = subprocess.run([*self.words, *words], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "ONCE": str(self.folder / "kept"), "COUNT": str(self.count)})
        runs = len(self.count.read_text().splitlines())
        good = said in done.stderr and bool(said) == bool(done.stderr) and (done.returncode != 0) == status
        if runs != compiled or not good:
            print(f"{what}: the compiler ran {runs} times, not {compiled}; status {done.returncode}: {done.stderr}")
            self.faults += 1


def main():
    folder = pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "own" / "deep").mkdir(parents=True)
    (folder / "of ficial").mkdir()
    compiler = Compiler(pathlib.Path(sys.argv[1]).resolve(), folder)

    def write(name, text):
        (folder / name).write_text(text)

    write("own/a.c", '#include "deep/a.h"\n#include <b.h>\nint a(void);\nint a(void) { return A + B + C; }\n')
    write("own/deep/a.h", "#define A 1\n")
    write("of ficial/b.h", "#define B 2\n")
    words = ["-Iof ficial", "-DC=1", "-O0", "-c", "own/a.c", "-o"]
    compiler.expect("the first time", 1, *words, "a.o")
    first = (folder / "a.o").read_bytes()
    compiler.expect("the same", 0, *words, "again.o")
    if (folder / "again.o").read_bytes() != first:
        print("the kept object is another one")
        compiler.faults += 1
    for name, text in (("own/deep/a.h", "#define A 3\n"), ("of ficial/b.h", "#define B 3\n"),
                       ("own/a.c", (folder / "own/a.c").read_text() + "/* end */\n")):
        write(name, text)
        compiler.expect(f"another {name}", 1, *words, "a.o")
    compiler.expect("other flags", 1, *words, "a.o", "-O1")
    shutil.copytree(folder / "own", folder / "elsewhere")
    compiler.expect("the same in another folder", 0, *[word.replace("own", "elsewhere") for word in words], "a.o")

    depends = ["-MD", "-MT", "build/a.o", "-MF", "a.d"]
    compiler.expect("what it depends on", 1, *depends, *words, "a.o")
    exact = (folder / "a.d").read_text().replace("\\\n", "").split()
    (folder / "a.d").unlink()
    compiler.expect("what it depends on, once more", 0, *depends, *words, "a.o")
    found = (folder / "a.d").read_text().replace("\\\n", "").split()
    if found[0] != "build/a.o:" or not {word for word in exact if not word.startswith("/")} <= set(found):
        print(f"depends on {exact}, not {found}")
        compiler.faults += 1

    # The runtime: whose objects are the same for all models, but for the driver's main function.
    for name in ("modc_main.c", "modc_state.c"):
        write(f"own/{name}", '#include "modc.h"\nint f(void);\nint f(void) { return MODC; }\n')
    write("own/modc.h", "#define MODC 1\n")
    for name in ("modc_main.c", "modc_state.c"):
        compiler.expect(name, 1, "-DMODC_MODEL=one", "-c", f"own/{name}", "-o", "m.o")
    write("own/one.h", "int one;\n")
    compiler.expect("a model beside the runtime", 0, "-DMODC_MODEL=one", "-c", "own/modc_state.c", "-o", "m.o")
    compiler.expect("the runtime for another model", 0, "-DMODC_MODEL=two", "-c", "own/modc_state.c", "-o", "m.o")
    compiler.expect("main for another model", 1, "-DMODC_MODEL=two", "-c", "own/modc_main.c", "-o", "m.o")
    write("own/modc.h", "#define MODC 2\n")
    compiler.expect("another header of the runtime", 1, "-DMODC_MODEL=one", "-c", "own/modc_state.c", "-o", "m.o")

    # What is said is said each time; what fails fails each time; all else goes to the compiler.
    write("own/of_all.c", '#include "modc_state.c"\n')
    write("own/w.c", "int w(void);\nint w(void) { int unread = 1; return 0; }\n")
    for _ in range(2):
        compiler.expect("a warning", 1, "-Wall", "-c", "own/w.c", "-o", "w.o", said="unread")
        compiler.expect("an error", 1, "-Wall", "-Werror", "-c", "own/w.c", "-o", "w.o", status=1, said="unread")
        compiler.expect("a program that does not compile", 1, "-c", "own/none.c", "-o", "w.o", status=1, said="none.c")
        compiler.expect("a file of another file", 1, "-c", "own/of_all.c", "-o", "w.o")
        compiler.expect("two files", 1, "-c", "own/w.c", "own/a.c", "-Iof ficial", "-DC=1")
        compiler.expect("what need not be a file", 1, "-c", "own/w.c", "-o", "device")
    compiler.expect("linking", 1, "-shared", "-o", "m.so", "m.o")
    return 1 if compiler.faults else 0


if __name__ == "__main__":
    sys.exit(main())
