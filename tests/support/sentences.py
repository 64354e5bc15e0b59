#!/usr/bin/env python3
"""Every proof that tests/language/README.md names is there, and every spec of tests/language is named.

    sentences.py     from the root of the repository
"""
import re
import sys
from pathlib import Path

FOLDERS = {"docs": "docs"}  # others are folders of tests/


def main():
    tests, faults, named = Path("tests"), [], set()
    for number, line in enumerate((tests / "language/README.md").read_text().splitlines(), 1):
        cells = line.split(" | ")
        if not line.startswith("| ") or len(cells) != 2 or cells[0] == "| what is said":
            continue
        for proof in cells[1].rstrip(" |").split(", "):
            folder = proof.split("/")[0]
            if "/" not in proof:
                named.add(proof)
                path = tests / "language" / proof
            else:
                path = Path(proof) if folder in FOLDERS else tests / proof
            if not re.fullmatch(r"[\w/-]+\.(yaml|txt|c|md)", proof) or not path.exists():
                faults.append(f"tests/language/README.md:{number}: there is no {path}")
    faults += [f"tests/language/{path.name} is not in tests/language/README.md"
               for path in sorted((tests / "language").glob("*.yaml")) if path.name not in named]
    print("\n".join(faults) or f"{len(named)} specs are named")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
