"""Every algorithm of every op stands in one model, tests/specs/rows.yaml, whose text the suite of compilers compiles: so no two of
them have functions of one name, whatever operands they share. Those that no costs choose there are forced.

    python3 tests/support/algorithms.py MODC WORK COMPILER FLAGS     from the root of the repository; FLAGS with commas
"""
import json
import pathlib
import re
import subprocess
import sys

SPEC = "tests/specs/rows.yaml"
# For what the others are always better, but where --plan or `pack: none` asks for them.
FORCED = {"attention_heads": "attention=attention_heads", "recurrent_dot": "recurrent=recurrent_dot"}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(modc, work, compiler, flags):
    catalogue = json.loads(output_of(modc, "layers", "--format", "json"))
    algorithms = {name for op in catalogue["ops"] for name in op["algorithms"]}
    seen = set(re.findall(r"; (\w+);", output_of(modc, "check", SPEC, "--backward", "--explain")))
    faults = [f"{name} is not in {SPEC}" for name in sorted(algorithms - seen - set(FORCED))]
    faults += [f"{name} need not be forced" for name in sorted(seen & set(FORCED))]
    for name, plan in [("all", None), *sorted(FORCED.items())]:
        folder, options = pathlib.Path(work, name), ["--plan", plan] if plan else []
        if plan and name not in output_of(modc, "check", SPEC, "--explain", *options):
            faults.append(f"{name} cannot be forced")
        output_of(modc, "generate", SPEC, "--backward", "-o", str(folder), *options)
        done = subprocess.run([compiler, "-std=c99", *flags.split(","), "-Wconversion", "-Werror", "-fsyntax-only", "-Iruntime",
                               f"-I{folder}", folder / "rows.c"], capture_output=True, text=True)
        if done.returncode:
            faults.append(f"{name}: {done.stderr[:3000]}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
