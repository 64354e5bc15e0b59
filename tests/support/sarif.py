"""Logs of --diagnostics=sarif: what the schema of SARIF 2.1.0 requires of them, and that they say what --diagnostics=json says.

    python3 tests/support/sarif.py MODC      from the root of the repository

Of every tenth spec of tests/errors, of a spec without a fault, and of two faults of `modc diff`.
"""
import json
import pathlib
import subprocess
import sys
import urllib.parse

LEVELS = {"error", "warning", "note"}


def said(words, style):
    done = subprocess.run([*words, f"--diagnostics={style}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.stderr.decode(), done.returncode


def region(place, result):
    """(line, column, length) of a region inside of one line"""
    assert place["startLine"] == place["endLine"] and place["startLine"] >= 1 and place["startColumn"] >= 1, result
    assert place["endColumn"] > place["startColumn"], result
    return place["startLine"], place["startColumn"], place["endColumn"] - place["startColumn"]


def located(location, result):
    """(file, line, column, length) of a location"""
    place = location["physicalLocation"]
    uri = urllib.parse.unquote(place["artifactLocation"]["uri"])
    return uri.removeprefix("file://"), *region(place["region"], result)


def as_json(result, rules):
    """A result as --diagnostics=json has it."""
    assert result["level"] in LEVELS and rules[result["ruleIndex"]]["id"] == result["ruleId"], result
    text, *lines = result["message"]["text"].split("\nhint: ")
    hints, (text, *notes) = [line.split("\nnote: ")[0] for line in lines], text.split("\nnote: ")
    notes += [note for line in lines for note in line.split("\nnote: ")[1:]]
    places = [located(location, result) for location in result.get("locations", [])]
    assert len(places) <= 1, result
    related = [(*located(one, result), one["message"]["text"]) for one in result.get("relatedLocations", [])]
    assert [one["id"] for one in result.get("relatedLocations", [])] == list(range(1, len(related) + 1)), result
    for fix in result.get("fixes", []):
        assert fix["description"]["text"] in hints, result
        for change in fix["artifactChanges"]:
            assert change["artifactLocation"]["uri"], result
            for replacement in change["replacements"]:
                assert region(replacement["deletedRegion"], result) == places[0][1:], result
                assert f"'{replacement['insertedContent']['text']}'" in fix["description"]["text"], result
    return {"level": result["level"], "place": places[0] if places else None, "message": text, "hints": hints,
            "notes": sorted(notes), "related": related}


def from_json(fault):
    notes = [note for note in fault["notes"] if note["file"] is None]
    return {"level": fault["level"],
            "place": (fault["file"], fault["line"], fault["column"], fault["length"]) if fault["file"] is not None else None,
            "message": fault["message"], "hints": fault["hints"], "notes": sorted(note["message"] for note in notes),
            "related": [(note["file"], note["line"], note["column"], note["length"], note["message"])
                        for note in fault["notes"] if note["file"] is not None]}


def compare(words):
    text, status = said(words, "sarif")
    log, (lines, expected_status) = json.loads(text), said(words, "json")
    assert status == expected_status, words
    assert log["version"] == "2.1.0" and log["$schema"].endswith("/sarif-2.1.0.json") and len(log["runs"]) == 1, words
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "modc" and run["columnKind"] == "unicodeCodePoints", words
    assert len({rule["id"] for rule in rules}) == len(rules) and all(rule["shortDescription"]["text"] for rule in rules), words
    assert len(run["invocations"]) == 1 and run["invocations"][0]["executionSuccessful"] == (status == 0), words
    more = [one["message"]["text"] for one in run["invocations"][0].get("toolExecutionNotifications", [])]
    expected = [from_json(json.loads(line)) for line in lines.splitlines()]
    results = [as_json(result, rules) for result in run["results"]]
    results += [{"level": "note", "place": None, "message": text, "hints": [], "notes": [], "related": []} for text in more]
    assert results == expected, f"{words}:\n{results}\n{expected}"
    return len(run["results"])


def main(modc):
    count = compare([modc, "check", "specs/digits/mlp.yaml"])
    assert count == 0
    specs = sorted(pathlib.Path("tests/errors").glob("*.yaml"))[::10]
    wrong = str(specs[0])
    for spec in specs:
        count += compare([modc, "check", str(spec)])
    assert compare([modc, "diff", wrong, "nothing.yaml"]) >= 2 and count >= len(specs), count
    log = json.loads(said([modc, "run", wrong], "sarif")[0])  # a program says the rest there: it takes text or json
    assert log["runs"][0]["results"][0]["ruleId"] == "cannot-be", log
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
