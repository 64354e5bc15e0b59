"""The command line of zoo.py and zoo_module.py: goes through a list of networks, each in a process of its own that may take so
much time and memory, and writes a table of what came out. What was done with the same modc is not done again.
"""
import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COUNTS = ["generator", "runtime", "templates", "python/modc"]  # what results depend on, beside this folder's programs
PACKAGES = ("torch", "torchvision", "timm", "transformers")


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.strip()


def state_of_modc(program):
    """(the last commit that changed what counts, whether the files are as it has them)."""
    paths = [*COUNTS, str(program), str(HERE / "zoo.py")]
    return git("log", "-1", "--format=%h", "--", *paths), not git("status", "--porcelain", "--", *paths)


def versions():
    from importlib.metadata import PackageNotFoundError, version
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            pass
    compiler = [os.environ.get("CC") or "cc", "-dumpfullversion"]
    found.append("cc " + subprocess.run(compiler, stdout=subprocess.PIPE, encoding="utf-8", check=False).stdout.strip())
    return ", ".join(found)


def names_of(path):
    """{network: the reason why it cannot be done, or ""} of a list."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and line[0] != "#":
            name, _, reason = line.partition(" ")
            found[name] = reason.strip()
    return found


def child(attempt, name, options, result):
    """Tries one network; its row is a line of JSON in the file `result`."""
    os.setsid()  # with the compiler that it starts, it is ended as one
    most = int(options.gigabytes * 2 ** 30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    warnings.simplefilter("ignore")
    try:
        row = attempt(name, options)
    except MemoryError:
        row = {"reason": f"more than {options.gigabytes:g} GiB of memory"}
    except Exception:
        row = {"reason": "crash: " + " ".join(traceback.format_exc()[-900:].split())}
    Path(result).write_text(json.dumps(row), encoding="utf-8")


def run_one(attempt, name, options):
    """The row of a network."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="modc-zoo-") as folder:
        result = Path(folder) / "row.json"
        process = multiprocessing.get_context("fork").Process(target=child, args=(attempt, name, options, result))
        process.start()
        process.join(options.seconds)
        if process.is_alive():
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            row = {"reason": f"more than {options.seconds:g} s"}
        elif not result.exists():
            row = {"reason": f"the process ended with status {process.exitcode}"}
        else:
            row = json.loads(result.read_text(encoding="utf-8"))
    return {"name": name, "good": "reason" not in row, **row, "seconds": f"{time.monotonic() - start:.0f}"}


def table(rows, columns):
    """Lines with the rows' columns below each other."""
    cells = [["network", "", *columns, ""]] + [
        [row["name"], "right" if row["good"] else "WRONG", *[str(row.get(column, "-")) for column in columns],
         re.sub(r"\S*/site-packages/", "", row.get("reason") or row.get("note") or "")] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return ["  ".join([row[0].ljust(widths[0]), row[1].ljust(widths[1]), *[
        cell.rjust(width) for cell, width in zip(row[2:-1], widths[2:-1])], row[-1]]).rstrip() for row in cells]


def rows_of(path):
    """{network: its row} of a table."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")]
    columns, found = lines[0].split()[1:], {}
    for line in lines[1:]:
        name, state, *cells = line.split(None, 2 + len(columns))
        row = {"name": name, "good": state == "right", **{key: cell for key, cell in zip(columns, cells) if cell != "-"}}
        found[name] = {**row, "note" if row["good"] else "reason": "".join(cells[len(columns):])}
    return found


def main(program, doc, attempt, columns, add_arguments=None):
    """attempt(name, options) gives a row: what `columns` name; `reason` where it failed, else perhaps a `note`."""
    program = Path(program).resolve()
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=Path, default=program.with_suffix(".txt"))
    parser.add_argument("--results", type=Path, help="a file for the table of the whole list")
    parser.add_argument("--resume", action="store_true", help="keep its rows, whichever commit they are of, but for the NAMEs")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "modc-zoo")
    parser.add_argument("--seconds", type=float, default=900, help="what a network may take")
    parser.add_argument("--gigabytes", type=float, default=12, help="what memory a network may take")
    parser.add_argument("--again", action="store_true", help="also what was done with this modc")
    parser.add_argument("names", nargs="*", help="of the list, or new ones; these are done again")
    if add_arguments:
        add_arguments(parser)
    options = parser.parse_args()
    for package in ("torchvision", "timm", "transformers"):  # once, for all processes
        try:
            __import__(package)
        except ImportError:
            pass
    columns = [*columns, "seconds", "commit"]
    listed = names_of(options.list)
    commit, clean = state_of_modc(program)
    at = commit if clean else f"{commit}+"
    key = hashlib.sha256(Path(os.environ.get("MODC_EXECUTABLE") or ROOT / "build" / "modc").read_bytes()).hexdigest()[:12]
    options.work.mkdir(parents=True, exist_ok=True)
    done_file = options.work / f"{program.stem}-{commit}-{key}.jsonl"
    done = rows_of(options.results) if options.resume and options.results and options.results.exists() else {}
    if clean and done_file.exists():
        done.update((row["name"], row) for row in map(json.loads, done_file.read_text(encoding="utf-8").splitlines()))
    for name in options.names or listed:
        if name not in done or options.names or options.again:
            row = done[name] = {**run_one(attempt, name, options), "commit": at}
            if clean:
                with done_file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            print(f"{'right' if row['good'] else 'WRONG'} {name:44} " + ", ".join(
                f"{column} {row[column]}" for column in columns[:-1] if column in row) + f" {row.get('reason', '')}", flush=True)
    whole = options.results and (options.resume or not options.names)
    rows = [done[name] for name in (listed if whole else options.names or listed) if name in done]
    right = sum(row["good"] for row in rows)
    unexplained = [row["name"] for row in rows if not row["good"] and not listed.get(row["name"])]
    total = f"{len(rows)} networks: {right} right, {len(rows) - right} not"
    if whole:
        for row in rows:
            if not row["good"] and listed[row["name"]]:
                row["reason"] = listed[row["name"]]
        options.results.write_text("\n".join([
            f"# {total}. Written by {program.relative_to(ROOT)} --results; a commit with + had changes.",
            f"# {versions()}", *table(rows, columns)]) + "\n", encoding="utf-8")
    print(total)
    return 1 if unexplained else 0


def run(*args):
    sys.exit(main(*args))
