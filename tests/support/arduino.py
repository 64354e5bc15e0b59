"""Holds libraries of generate --bundle=arduino to the rules of Arduino's own linter (arduino-lint), with their numbers there: those of
a library's folder, its library.properties and its sketches that need neither the network nor Git. Left out are a licence file (LD002),
which is for the model's owner to choose, and what depends on a name that the user gives (LS008, LP010, LP014, LP016).

    arduino.py FOLDER...     folders of libraries; 1 where one breaks a rule
    arduino.py --self-test   each rule finds its fault
"""
import pathlib
import re
import shutil
import sys
import tempfile

REQUIRED = {"name": "LP007", "version": "LP019", "author": "LP023", "maintainer": "LP025", "sentence": "LP031", "paragraph": "LP034",
            "category": "LP037", "url": "LP040", "architectures": "LP043"}
OPTIONAL = ("email", "depends", "dot_a_linkage", "includes", "precompiled", "ldflags")
CATEGORIES = ("Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing", "Data Storage",
              "Data Processing", "Other")
SEMVER = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[\w.-]+)?(\+[\w.-]+)?"
# Architectures as their platforms spell them; other ways to write them are names of nothing.
ARCHITECTURES = ("apollo3 arc32 avr esp32 esp8266 i586 i686 k210 mbed mbed_edge mbed_nano mbed_portenta mbed_rp2040 megaavr mraa nRF5 nrf52 "
                 "pic32 sam samd wiced win10").split()
NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
HEADERS = (".h", ".hh", ".hpp")
SOURCES = (*HEADERS, ".c", ".cpp", ".ino")


def properties(path):
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            key, equals, value = line.partition("=")
            if not equals:
                return None
            found[key.strip()] = value.strip()
    return found


def faults_of_folder(folder):
    here = {path.name: path for path in folder.iterdir()}
    headers = [path for path in (folder / "src").glob("*") if path.suffix in HEADERS]
    if len(folder.name) > 63:
        yield "LS002", folder.name
    if not re.fullmatch(NAME, folder.name):
        yield "LS003", folder.name
    if not headers:
        yield "LS001", "no header in src"
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            yield "LS005", str(path)
        elif path.suffix in (".exe", ".pde"):
            yield {".exe": "LS007", ".pde": "SS004"}[path.suffix], str(path)
        elif path.suffix == ".ino" and path.parent.parent != folder / "examples":
            yield "LD003", f"{path} is not in examples"
        elif path.suffix in SOURCES and set(re.findall(r'#include\s*[<"](arduino\.h)', path.read_text(errors="replace"), re.I)) - {"Arduino.h"}:
            yield "LC001", f"{path}: it is Arduino.h"
    for name, rule in ((".gitmodules", "LS004"), (".development", "LS006"), ("utility", "LS010")):
        if name in here:
            yield rule, name
    for right, rule in (("src", "LS009"), ("extras", "LS012"), ("library.properties", "LP003"), ("examples", "LD006")):
        for name in here:
            if name != right and name.lower() in (right, right.rstrip("s"), right + "s"):
                yield rule, f"{name} is not {right}"
    if (folder / "src" / "library.properties").exists():
        yield "LP004", "library.properties in src too"
    if not any(re.fullmatch(r"(?i)readme(\.(md|txt|adoc))?", name) for name in here):
        yield "LD001", "no README"
    sketches = sorted((folder / "examples").glob("*"))
    if not sketches:
        yield "LD004", "no sketch in examples"
    for sketch in sketches:
        if len(sketch.name) > 63:
            yield "SS003", sketch.name
        if not re.fullmatch(NAME, sketch.name):
            yield "SS002", sketch.name
        if not (sketch / f"{sketch.name}.ino").is_file():
            yield "SS001", f"{sketch} has no {sketch.name}.ino"
    yield from faults_of_properties(folder, headers)


def faults_of_properties(folder, headers):
    path = folder / "library.properties"
    values = properties(path) if path.is_file() else {}
    if values is None:
        yield "LP005", "a line of library.properties has no ="
        return
    if not values:
        yield "LP001", "no library.properties"
        return
    for key, rule in REQUIRED.items():
        if not values.get(key):
            yield rule, f"{key} is missing or empty"
    for key in sorted(set(values) - set(REQUIRED) - set(OPTIONAL)):
        yield "LP006", f"there is no field {key}"
    name, sentence = values.get("name", ""), values.get("sentence", "")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]*", name) or not re.search("[A-Za-z]", name):
        yield "LP011", name
    if len(name) > 63:
        yield "LP009", name
    if name.lower().startswith("arduino"):
        yield "LP012", name
    if " " in name:
        yield "LP015", name
    if values.get("maintainer", "").lower().startswith("arduino"):
        yield "LP027", values["maintainer"]
    if not re.fullmatch(SEMVER, values.get("version", "")):
        yield "LP021", values.get("version")
    if sentence and values.get("paragraph", "").startswith(sentence):
        yield "LP036", "paragraph repeats sentence"
    if values.get("category") not in CATEGORIES:
        yield "LP038", values.get("category")
    if not re.fullmatch(r"https?://[\w.-]+(/\S*)?", values.get("url", "")):
        yield "LP041", values.get("url")
    for one in values.get("architectures", "").split(","):
        if one.strip() not in ARCHITECTURES and one.strip().lower() in map(str.lower, ARCHITECTURES):
            yield "LP046", one
    for header in filter(None, values.get("includes", "").split(",")):
        if header.strip() not in [path.name for path in headers]:
            yield "LP052", f"there is no {header}"


def self_test():
    """A good library, and what each fault is found as."""
    fields = {"name": "net", "version": "1.0.0", "author": "a", "maintainer": "b", "sentence": "A net.", "paragraph": "More of it.",
              "category": "Data Processing", "url": "https://example.org/", "architectures": "samd,mbed", "includes": "net.h"}
    plants = [(rule, {key: ""}) for key, rule in REQUIRED.items()] + [
        ("LP006", {"include": "net.h"}), ("LP009", {"name": "n" * 64}), ("LP011", {"name": "_net"}), ("LP012", {"name": "Arduino_net"}),
        ("LP015", {"name": "a net"}), ("LP021", {"version": "1"}), ("LP027", {"maintainer": "Arduino"}),
        ("LP036", {"paragraph": "A net. More."}), ("LP038", {"category": "Nets"}), ("LP041", {"url": "here"}),
        ("LP046", {"architectures": "SAMD"}), ("LP052", {"includes": "other.h"}), ("LP005", "=no field"),
        ("LS001", "src/net.h"), ("LD001", "README.txt"), ("LP001", "library.properties"), ("SS001", "examples/net/net.ino"),
        ("LS004", "+.gitmodules"), ("LS006", "+.development"), ("LS007", "+extras/tool.exe"), ("LS009", "+Src/x"), ("LS010", "+utility/x.c"),
        ("LS012", "+extra/x"), ("LP003", "+Library.properties"), ("LP004", "+src/library.properties"), ("LD003", "+src/x/x.ino"),
        ("LD006", "+Examples/x"), ("SS002", "+examples/a+b/a+b.ino"), ("SS003", f"+examples/{'n' * 64}/x"), ("SS004", "+examples/net/old.pde"),
        ("LC001", "+src/lower.h"), ("LS005", "@src/link.c"), ("LS003", "/a b"), ("LS002", "/" + "n" * 64), (None, None)]
    for rule, plant in plants:
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work, plant[1:] if isinstance(plant, str) and plant[0] == "/" else "net")
            for name in ("src/net.h", "src/net.c", "examples/net/net.ino", "README.txt"):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text("#include <arduino.h>\n" if name == "README.txt" else "\n")
            values = {**fields, **plant} if isinstance(plant, dict) else fields
            (folder / "library.properties").write_text("".join(f"{key}={value}\n" for key, value in values.items()))
            if isinstance(plant, str) and plant[0] == "+":
                (folder / plant[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / "README.txt", folder / plant[1:])
            elif isinstance(plant, str) and plant[0] == "@":
                (folder / plant[1:]).symlink_to("net.c")
            elif isinstance(plant, str) and plant[0] == "=":
                (folder / "library.properties").write_text(plant[1:])
            elif isinstance(plant, str) and plant[0] != "/":
                (folder / plant).unlink()
            found = {fault for fault, _ in faults_of_folder(folder)}
            if rule not in found if rule else found:
                yield f"{plant}: {found or 'nothing'}, not {rule}"


def main(folders):
    if folders == ["--self-test"]:
        faults = list(self_test())
    else:
        faults = [f"{folder}: {rule} {text}" for folder in folders for rule, text in faults_of_folder(pathlib.Path(folder))]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
