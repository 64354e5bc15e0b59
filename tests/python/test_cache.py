#!/usr/bin/env python3
"""The cache of compiled models: what names a library, what happens to a broken one, and what is said without a compiler."""

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import models
from models import Case, SMALL, floats, modc

from modc import _build


class Cache(Case):
    @classmethod
    def setUpClass(cls):
        """A compiler that notes each of its runs, and the runtime as it makes it, which most caches begin with."""
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        cls.log, cls.cc = Path(cls.shared.name) / "log", Path(cls.shared.name) / "my cc"
        cls.cc.write_text(f'#!/bin/sh\necho "$*" >> {shlex.quote(str(cls.log))}\nexec cc "$@"\n')
        cls.cc.chmod(0o755)
        cls.runtime = Path(cls.shared.name) / "runtime"
        with mock.patch.dict(os.environ, {"MODC_CACHE": str(cls.runtime)}):
            folder, make = _build.runtime_folder(_build.Compiler(shlex.quote(str(cls.cc)), models.FLAGS))
            _build.make_once(folder, make)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = Path(self.folder.name) / "cache"
        shutil.copytree(self.runtime, self.cache)
        change = mock.patch.dict(os.environ, {"MODC_CACHE": str(self.cache)})
        change.start()
        self.addCleanup(change.stop)
        os.environ.pop("CC", None)
        os.environ.pop("CFLAGS", None)
        self.compiled()

    def compile(self, spec=SMALL, **arguments):
        arguments.setdefault("cc", shlex.quote(str(self.cc)))
        return models.compile(spec, **arguments)

    def compiled(self):
        """How many files were compiled, or linked, since it was asked last."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink() if self.log.exists() else None
        return sum("--version" not in line for line in lines)

    def works(self, net):
        self.assertEqual(net(floats([1] * 6, 2, 3)).shape, (2, 4))

    def test_what_names_a_library(self):
        self.works(self.compile())
        self.assertEqual(self.compiled(), 1)
        self.works(self.compile())
        self.assertEqual(self.compiled(), 0)
        self.works(self.compile(SMALL.replace("Linear(3, 4)", "Linear(3, 4, bias=False)")))
        self.assertEqual(self.compiled(), 1)
        self.works(self.compile(options=["--model", "other"]))
        self.assertEqual(self.compiled(), 1)
        os.environ.update(CC=shlex.quote(str(self.cc)), CFLAGS="-O0")
        self.works(modc.compile(SMALL))  # the same, by the environment
        self.assertEqual(self.compiled(), 0)
        self.works(self.compile(cflags="-O0 -DOTHER"))
        self.assertEqual(self.compiled(), 1 + len(list(modc.runtime_dir().glob("*.c"))))
        with mock.patch.object(_build, "processor", lambda: "another"):  # only what is made for this processor depends on it
            self.works(self.compile())
        self.assertEqual(self.compiled(), 0)
        self.assertEqual(
            sorted(path.name.split("-")[0] for path in self.cache.iterdir()),
            ["other", "runtime", "runtime", "small", "small", "small"],
        )
        self.assertEqual(modc.cache_dir(), self.cache)

    def test_broken_folders(self):
        net = self.compile()
        self.compiled()

        def cut(path):
            path.write_bytes(path.read_bytes()[:100])

        breaks = {
            "no library": lambda: (net.folder / "small.so").unlink(),
            "half a library": lambda: cut(net.folder / "small.so"),
            "no record": lambda: (net.folder / _build.RECORD).unlink(),
            "another record": lambda: (net.folder / _build.RECORD).write_text("[1]"),
            "a folder of nothing": lambda: (shutil.rmtree(net.folder), net.folder.mkdir()),
            "a file": lambda: (shutil.rmtree(net.folder), net.folder.write_text("")),
        }
        for what, damage in breaks.items():
            damage()
            with self.subTest(what):
                self.works(self.compile())
                self.assertEqual(self.compiled(), 1)
        for path in self.cache.glob("runtime-*/modc_state.o"):
            path.unlink()
        shutil.rmtree(net.folder)
        self.works(self.compile())
        self.assertEqual(self.compiled(), 1 + len(list(modc.runtime_dir().glob("*.c"))))
        self.assertEqual([path.name for path in self.cache.iterdir() if path.name.startswith(".")], [])

    def test_another_binding(self):
        net = self.compile()
        with mock.patch.object(modc._library, "BINDING", 1000):
            self.says(
                modc.Error,
                f"{net.folder}/small.so has version {net.library.version()} of the binding, this package knows 1000: "
                "remove it from the cache",
                self.compile,
            )

        with mock.patch.object(modc._library.ctypes, "sizeof", lambda of: 1):
            self.says(modc.Error, f"{net.folder}/small.so was compiled with other limits than modc.h has", self.compile)

    def test_processes_at_once(self):
        shutil.rmtree(self.cache)
        text = (
            "import sys; sys.path.insert(0, 'tests/python'); import models; "
            f"net = models.compile(models.SMALL, cc={shlex.quote(str(self.cc))!r}); "
            "print(net(models.floats([1] * 6, 2, 3)).shape)"
        )
        started = [
            subprocess.Popen([sys.executable, "-c", text], cwd=models.ROOT, stdout=subprocess.PIPE, encoding="utf-8")
            for _ in range(2)
        ]
        self.assertEqual([process.communicate()[0] for process in started], ["(2, 4)\n"] * 2)
        self.assertEqual(sorted(path.name.split("-")[0] for path in self.cache.iterdir()), ["runtime", "small"])

    def test_a_cache_that_cannot_be_written(self):
        shutil.rmtree(self.cache)
        self.cache.write_text("a file")
        self.says(
            modc.Error,
            f"the cache {self.cache} cannot be written: File exists\nhint: MODC_CACHE=DIR names another one",
            self.compile,
        )
        self.cache.unlink()
        shutil.copytree(self.runtime, self.cache)
        net = self.compile()
        self.cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
        try:
            self.works(self.compile())  # what is there is used
            if os.getuid() != 0:
                self.says(
                    modc.Error,
                    f"the cache {self.cache} cannot be written: Permission denied\n" "hint: MODC_CACHE=DIR names another one",
                    self.compile,
                    options=["--model", "other"],
                )
        finally:
            self.cache.chmod(0o755)
        self.works(net)

    def test_where_it_is(self):
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": "/caches"}):
            del os.environ["MODC_CACHE"]
            self.assertEqual(modc.cache_dir(), Path("/caches/modc/libraries"))
            del os.environ["XDG_CACHE_HOME"]
            with mock.patch.object(Path, "home", lambda: Path("/home/one")):
                self.assertEqual(modc.cache_dir(), Path("/home/one/.cache/modc/libraries"))

            def nowhere():
                raise RuntimeError("no home")

            with mock.patch.object(Path, "home", nowhere):
                self.says(
                    modc.Error, "there is no home folder for a cache\nhint: MODC_CACHE=DIR names another one", modc.cache_dir
                )

    def test_compilers(self):
        self.says(
            modc.CompilerError,
            "the compiler '/no/cc' cannot be started: No such file or directory\n"
            "hint: $CC and $CFLAGS, or cc= and cflags=, say which one is used",
            self.compile,
            cc="/no/cc",
        )
        self.says(
            modc.CompilerError, "the compiler failed with status 1: sh -c 'exit 1' --version", self.compile, cc="sh -c 'exit 1'"
        )
        with self.assertRaises(modc.CompilerError) as caught:
            self.compile(cflags="-O0 -Dint=nothing")
        text = str(caught.exception)
        self.assertIn("error: ", text)
        self.assertRegex(
            text.splitlines()[-1], r"^the compiler failed with status 1: .*'/.*/my cc' -std=gnu11 -fPIC -O0 -Dint=nothing "
        )
        self.assertEqual([path.name.split("-")[0] for path in self.cache.iterdir()], ["runtime"])  # half a folder is none

    def test_the_command(self):
        with mock.patch.object(_build, "executable", lambda: "/no/modc"):
            self.says(
                modc.Error,
                "the command /no/modc cannot be started: No such file or directory\n"
                "hint: in a checkout, `cmake --build build --target modc` makes it",
                self.compile,
            )

    def test_specs_of_several_files(self):
        folder = Path(self.folder.name)
        (folder / "base.yaml").write_text(SMALL)
        (folder / "net.yaml").write_text("extends: base.yaml\nmodel: more\nsizes: {batch: 2}\n")
        net = self.compile(folder / "net.yaml")
        self.works(net)
        self.assertIn("at batch 2", net.summary())
        self.compiled()
        (folder / "base.yaml").write_text(SMALL.replace("Linear(3, 4)", "Linear(3, 4, bias=False)"))
        self.works(self.compile(folder / "net.yaml"))
        self.assertEqual(self.compiled(), 1)
        record = json.loads((net.folder / _build.RECORD).read_text())
        self.assertEqual(record["sources"], ["more.c", "more.cmake", "more.h", "spec.yaml", "summary.txt"])


if __name__ == "__main__":
    unittest.main()
