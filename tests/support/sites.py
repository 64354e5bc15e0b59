"""Takes one branch after the other that says what is wrong and gives up, in a modc of its own, and looks at what comes of it.

    python3 tests/support/sites.py BUILD YAML CC [EVERY]     from the root of the repository

BUILD has modc's libraries, YAML is libyaml. With EVERY only each so many of the files have sites, and of the specs run. With
SITES_LEFT=1 it lists the sites that no run has passed.

A site is an `if` of the generator whose block says something (diag_error, or a function that does) and ends in `return false`,
`return NULL` or another way to give up. In a copy of the sources each asks first whether it is to fail: then an error is said,
whatever its condition, and the same is returned. So whoever stands behind it sees a fault that a spec may not be able to make.
A first run of each spec says which sites it passes; then each of them fails in the smallest of those specs. modc must end with
a status and a message, without a signal, and must leave the output folder as it was. A second time each fails without a
message, as a function would that forgot to say why: modc says that this is a fault of its own, or goes on.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAYS = re.compile(r"\b(diag_error|\w*(?:refuse|wrong|fault)\w*)\(")
SUPPORT = r"""
#include <stdio.h>
#include <stdlib.h>
#include "base/diag.h"
struct cx *site_cx;
bool site_fails(int site)
{
    static unsigned char seen[65536];
    static int wanted = -2;
    const char *log = getenv("SITE_LOG");

    if (wanted == -2)
        wanted = getenv("SITE") ? atoi(getenv("SITE")) : -1;
    if (log && !seen[site]) {
        FILE *file = fopen(log, "a");

        seen[site] = 1;
        fprintf(file, "%d\n", site);
        fclose(file);
    }
    if (site != wanted || !site_cx)
        return false;
    if (!getenv("SITE_SILENT"))
        diag_error(site_cx, (struct loc){0}, "site %d fails", site);
    return true;
}
"""
# Sites that their callers know not to fail: by their message, and why.
EXCUSED = {
    "pad: the value must be a number": "asked for F.pad alone; others give none, which is 0",
    "pad: value cannot be converted": "the same: 0 fits into every type",
}
FORCED, SILENT = "modc: error: site {} fails", "modc: error: it failed and did not say why"


def blocks(lines):
    """(line, what is returned) of the sites of a file in the project's layout."""
    for at, line in enumerate(lines):
        head = re.match(r"( *)(?:\} else )?if \(", line)
        if not head:
            continue
        opened = next((i for i in range(at, min(at + 8, len(lines))) if lines[i].endswith((" {", ";"))), None)
        if opened is None or lines[opened].endswith(";"):
            continue
        end = next((i for i in range(opened + 1, len(lines)) if lines[i].startswith(head[1] + "}")), None)
        body = [text for text in lines[opened + 1:end] if text.strip()]
        last = re.fullmatch(head[1] + r"    return ?(false|NULL|BAD|EXIT_\w+|-1|ev_bad\([\w>-]+\)|);", body[-1]) if end and body else None
        said = "\n".join(body)
        if last and SAYS.search(said) and not any(text in said for text in EXCUSED):
            yield at, last[1]


def instrumented(path, first):
    """The text of a file with its sites, numbered from `first`, and where they are."""
    lines = path.read_text().split("\n")
    places = []
    for at, result in blocks(lines):
        fails = f"if (site_fails({first + len(places)})) return {result}; else if ("
        lines[at] = lines[at].replace("if (", fails, 1)
        places.append(f"{path.relative_to(ROOT)}:{at + 1}")
    text = "extern _Bool site_fails(int site);\n#line 1\n" + "\n".join(lines)
    if path.name == "main.c":
        text = text.replace("    struct cx cx = {.options = &options};", "    struct cx cx = {.options = &options};\n"
                            "    extern struct cx *site_cx;\n    site_cx = &cx;", 1)
        assert "site_cx" in text
    return text, places


def build(work, build_folder, yaml, cc, every=1):
    """A modc whose sites fail; the places of the sites."""
    sites, objects, commands = [], [], []
    paths = [path for path in sorted((ROOT / "generator").rglob("*.c")) if any(blocks(path.read_text().split("\n")))]
    for path in {ROOT / "generator/commands/main.c": 0} | dict.fromkeys(paths[::every]):
        text, places = instrumented(path, len(sites))
        sites += places
        copy = work / str(path.relative_to(ROOT)).replace("/", "_")
        copy.write_text(text)
        objects.append(copy.with_suffix(".o"))
        commands.append([*cc, "-O0", "-w", "-std=c11", "-UNDEBUG", "-D_GNU_SOURCE", '-DMODC_VERSION="0"', "-Igenerator",
                         "-Iruntime", "-c", str(copy), "-o", str(objects[-1])])
    support = work / "site.c"
    support.write_text(SUPPORT)
    objects.append(support.with_suffix(".o"))
    commands.append([*cc, "-O0", "-std=c11", "-Igenerator", "-c", str(support), "-o", str(objects[-1])])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda command: subprocess.run(command, check=True), commands))
    modc = work / "modc"
    subprocess.run([*cc, "-o", str(modc), *map(str, objects), "-Wl,--allow-multiple-definition",
                    *(str(build_folder / f"libmodc_{room}.a") for room in ("generator", "runtime")), yaml, "-lm"], check=True)
    return modc, sites


def runs(every):
    """Words of commands, the cheapest first."""
    specs = sorted([*(ROOT / "specs").rglob("*.yaml"), *(ROOT / "tests/specs").glob("*.yaml"),
                    *(ROOT / "tests/layers").glob("*.yaml"), *(ROOT / "tests/errors").glob("*.yaml")],
                   key=lambda path: path.stat().st_size)
    yield from ([str(spec.relative_to(ROOT))] for spec in specs[::every] if spec.stat().st_size < 20000)
    weights = ["specs/digits/mlp.yaml", "--weights", "specs/digits/weights_mlp.safetensors"]
    yield weights
    yield [*weights, "--bundle", "--validate"]


def run(modc, words, out, own):
    return subprocess.run([str(modc), "generate", *words, "-o", str(out)], cwd=ROOT, env=os.environ | own, timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def judge(result, message, out):
    """What is wrong, or ''."""
    if result.returncode < 0 or result.returncode > 100:
        return f"it died ({result.returncode}): {result.stderr[-300:]}"
    if result.returncode == 0:
        return "it went on" if message not in result.stderr else "it said so and wrote files"
    if message not in result.stderr and "error: " not in result.stderr:
        return "it said nothing"
    left = [path.name for path in out.rglob("*")]
    return f"it left {left}" if left else ""


def main(arguments):
    build_folder, yaml, cc = pathlib.Path(arguments[0]).resolve(), arguments[1], arguments[2].split()
    every = int(arguments[3]) if len(arguments) > 3 else 1
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        modc, sites = build(work, build_folder, yaml, cc, every)
        passed = {}
        for words in runs(every):
            log = work / "log"
            log.unlink(missing_ok=True)
            run(modc, words, work / "first", {"SITE_LOG": str(log)})
            for site in set(map(int, log.read_text().split())) if log.exists() else ():
                passed.setdefault(site, words)
        faults = []

        def force(site):
            for silent in (False, True):
                out = work / f"out{site}{silent}"
                out.mkdir()
                result = run(modc, passed[site], out, {"SITE": str(site)} | ({"SITE_SILENT": "1"} if silent else {}))
                fault = judge(result, (SILENT if silent else FORCED).format(site), out)
                if fault and not (silent and fault == "it went on"):
                    faults.append(f"{sites[site]} ({site}{', silent' if silent else ''}), {' '.join(passed[site])}: {fault}")

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(force, sorted(passed)))
        print(f"{len(sites)} sites, {len(passed)} passed")
        if not passed:
            faults.append("no site is passed")
        print(*sorted(faults), sep="\n")
        if os.environ.get("SITES_LEFT"):
            print("not passed:", *(place for site, place in enumerate(sites) if site not in passed), sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
