"""A drawn spec as a program: generated, compiled under every warning, linked with a runtime that is compiled once, run.
`modc run` would compile the runtime for each spec; what a failing spec prints is a `modc run` nevertheless."""
import difflib
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import torch

import compare
import safetensors_io

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import bound  # noqa: E402

RUNTIME = pathlib.Path(__file__).resolve().parents[2] / "runtime"
MODEL = "drawn"  # what drawn specs are called
SEED = 5  # of initial values
# As cmake has them for emitted code.
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wstrict-prototypes", "-Wvla", "-Wconversion", "-Werror"]
SANITIZE = "-O1 -march=native -g -fsanitize=address,undefined -fno-sanitize-recover=all"
# By seed, in turn: mostly what compiles soon.
QUICK = ["-O0 -march=native", "-O1 -march=native"] * 2
# On cuda, emulated: the flags that kernels have.
CUDA = {"cuda": "-O1", "cuda checked": "-O1 -g -fsanitize=thread,alignment"}
FLAGS = [*QUICK, "-O1", *QUICK, "-O3 -march=native", *QUICK, "-O1 -DMODC_LANES=1", *QUICK, SANITIZE, *CUDA]
EMULATION = RUNTIME / "cuda_host"


def compiler():
    return shlex.split(os.environ.get("CC", "cc"))


def kernels_compiler():
    return [*shlex.split(os.environ.get("CXX", "c++")), "-x", "c++", "-std=c++17", "-fno-exceptions", f"-I{EMULATION}"]


def build_runtime(folder):
    """The runtime with the driver as objects in the folder, and what models on cuda need beside it in cuda/ and "cuda checked"/ there."""
    folder, processes = pathlib.Path(folder), []
    for place in CUDA:
        (folder / place).mkdir()
    for path in sorted([*RUNTIME.rglob("*.c"), *RUNTIME.rglob("*.cu")]):
        own = path.parent.name in ("cuda", "cuda_host")
        words = kernels_compiler() if path.suffix == ".cu" else [*compiler(), *([f"-I{EMULATION}"] if own else [])]
        for place in CUDA if own else [""]:
            more = CUDA[place].split() if path.suffix == ".cu" else ["-O1", "-g"]
            processes.append(subprocess.Popen(
                [*words, *more, f"-I{RUNTIME}", "-DMODC_LIBM", f"-DMODC_MODEL={MODEL}_model", "-c",
                 "-o", str(folder / place / f"{path.stem}.o"), str(path)]))
    if any([process.wait() for process in processes]):
        raise RuntimeError("the runtime does not compile")


class Failed(Exception):
    """A step failed; the text says which."""


def execute(command, what, timeout, **options):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"{what}: no end after {timeout} s") from None
    if done.returncode != 0:
        raise Failed("\n      ".join([f"{what}: exit status {done.returncode}", *done.stdout.strip().splitlines()[-25:]]))
    return done.stdout


def generate(modc, folder, out, plans, timeout):
    """The plan, as text."""
    done = subprocess.run([*modc, "generate", "spec.yaml", *plans, "--dump=plan.json", "-o", out], cwd=folder,
                          capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise Failed("\n      ".join([f"modc generate: exit status {done.returncode}",
                                      *done.stderr.strip().splitlines()[-25:]]))
    return done.stdout


def plans_of(run, flags=None):
    """Algorithms that the run forces; they are a processor's."""
    options = [] if flags in CUDA else run["options"]
    return tuple(text for at, word in enumerate(options) if word == "--plan" for text in options[at:at + 2])


def made_by(modc, folder, found, timeout):
    """All that the command makes of a spec that random_specs.write made, as one number; "refused"."""
    out, whole = folder / "made", hashlib.sha256()
    for plans in sorted({plans_of(run) for run in found["runs"]}):
        try:
            whole.update(generate(modc, folder, out, plans, timeout).encode())
        except Failed:
            return "refused"
        for path in sorted(out.iterdir()):
            whole.update(path.read_bytes())
        shutil.rmtree(out)
    return whole.hexdigest()


def are_alike(modc, other, folder, found, timeout):
    """Whether both commands make the same plans and the same code. What `other` makes stays in the folder as a number."""
    known = folder / "made.txt"
    if not known.exists():
        known.write_text(made_by(other, folder, found, timeout))
    return made_by(modc, folder, found, timeout) == known.read_text()


def build(modc, folder, plans, runtime, flags, timeout):
    """Generates and compiles; (program, plan, header)."""
    out = folder / "_".join(["program", *(text.partition("=")[2] for text in plans)])
    plan = generate(modc, folder, out, [*plans, *(["--device", "cuda"] if flags in CUDA else [])], timeout)
    if flags == SANITIZE and (out / f"{MODEL}.c").stat().st_size > 60000:
        flags = FLAGS[1]  # it would take minutes
    words = [*compiler(), *("-O1 -march=native" if flags in CUDA else flags).split()]
    execute([*words, "-std=c99", *WARNINGS, f"-I{RUNTIME}", "-c", "-o", out / "model.o", out / f"{MODEL}.c"],
            "the C compiler", timeout)
    program, objects = out / MODEL, [out / "model.o", *sorted(pathlib.Path(runtime).glob("*.o"))]
    if flags in CUDA:
        execute([*kernels_compiler(), *CUDA[flags].split(), f"-I{RUNTIME}", "-c", "-o", out / "kernels.o", out / f"{MODEL}.cu"],
                "the compiler of kernels", timeout)
        objects += [out / "kernels.o", *sorted(pathlib.Path(runtime, flags).glob("*.o")), "-ldl", "-lpthread"]
    execute([*words, "-o", program, *objects, "-lm"], "linking", timeout)
    return program, json.loads(plan), (out / f"{MODEL}.h").read_text()


def words_of_run(options):
    """Options of `modc run` as the driver takes them (--name=VALUE), without those that are modc's own."""
    words, at = [], 0
    while at < len(options):
        value = options[at + 1] if at + 1 < len(options) and not options[at + 1].startswith("--") else None
        if options[at] not in ("--plan", "--expect", "--rtol", "--atol"):
            words.append(options[at] if value is None else f"{options[at]}={value}")
        at += 1 if value is None else 2
    return words


def parts(tensor):
    """A complex tensor as its parts."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def lost(dtype):
    """The absolute error that a result may always have: inputs are about 1, and a sum of them may be small, or 0, by chance."""
    return 2.5 * torch.finfo(dtype).eps


def least_of(dtype):
    """The design's tolerance of what a model of the dtype puts out."""
    return compare.TOLERANCE[{torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32"}.get(dtype, "F64")]


def differs(expected, found, rtol, limit=None):
    """Whether a tensor is not what it should be, by the design's rule or a tolerance of its own, and what is lost in
    rounding. (compare.py says how.) `limit`: an absolute one instead."""
    if found is None or expected.dtype != found.dtype or expected.shape != found.shape:
        return True
    expected, found = parts(expected), parts(found)
    if not expected.is_floating_point():
        return not torch.equal(expected, found)
    finite = torch.isfinite(expected)
    if not torch.equal(finite, torch.isfinite(found)):
        return True
    if not torch.equal(torch.nan_to_num(expected[~finite]), torch.nan_to_num(found[~finite])):
        return True
    if not finite.any():
        return False
    if limit is not None:
        return (expected[finite] - found[finite]).abs().max().item() > limit
    limit = max((least_of(expected.dtype) if rtol is None else rtol) * expected[finite].abs().max().item(), lost(expected.dtype))
    return (expected[finite] - found[finite]).abs().max().item() > limit


def check_files(folder, wanted, got, tolerances, limits):
    expected, found = safetensors_io.load(folder / wanted), safetensors_io.load(got)
    # what no gradient reaches may have zeros, or nothing
    for one, other in ((expected, found), (found, expected)):
        for name in [name for name in one if name.startswith("grad.") and name not in other and not one[name].any()]:
            del one[name]
    names = [name for name in expected if differs(expected[name], found.get(name), tolerances.get(name), limits.get(name))]
    if not names and expected.keys() == found.keys():
        return None
    others = [name for name in found if name not in expected]
    expected, found = safetensors_io.read(folder / wanted)[0], safetensors_io.read(got)[0]
    lines = [f"{name}: {compare.compare_record(expected[name], found.get(name), tolerances.get(name))[1]}" for name in names]
    return "\n      ".join([f"{wanted} differs", *lines, *(f"{name}: not expected" for name in others)])


def check_repr(modc, folder, expected, timeout):
    """print(model)."""
    found = subprocess.run([*modc, "summary", "--repr", "spec.yaml"], cwd=folder, capture_output=True, text=True,
                           timeout=timeout).stdout
    if found != expected + "\n":
        raise Failed("\n      ".join(["what is printed differs", *difflib.unified_diff(
            expected.splitlines(), found.splitlines(), "PyTorch", "modc", "", "", 1, "")]))


# Norms, vectors and matrices that parametrizations begin with (docs/departures.md).
COMPUTED = re.compile(r"\.(\w+_[guv]|_[uv]|base|original0?)$")


def check_initial(folder, run, program, timeout):
    """Without weights the parameters are drawn: they have PyTorch's bits, but for the last bit of float64's logarithms,
    sines and cosines, which versions of torch have from other libraries, and for what parametrizations compute of what is drawn."""
    state = folder / "state.safetensors"
    words = [word for word in words_of_run(run["options"]) if word.startswith(("--inputs=", "--sequence"))]
    execute([str(program), f"--seed={SEED}", f"--state={state}", *words], "the program", timeout, cwd=folder)
    expected, found = safetensors_io.read(folder / run["initial"])[0], safetensors_io.read(state)[0]
    limits = {name: 2.3e-16 if expected[name].dtype == "F64" else 0.0 for name in expected}
    limits |= {name: {"F64": 1e-13, "F32": 2e-6}.get(expected[name].dtype, compare.TOLERANCE.get(expected[name].dtype))
               for name in expected if COMPUTED.search(name)}
    names = [name for name in expected if expected[name] != found.get(name) and
             compare.compare_record(expected[name], found.get(name), limits[name])[1]]
    if not names:
        return None
    return "\n      ".join([f"{run['initial']} differs, drawn from seed {SEED}",
                             *(f"{name}: {compare.compare_record(expected[name], found.get(name), 0.0)[1]}" for name in names)])


def run_once(folder, program, run, timeout):
    outputs, state = folder / "outputs.safetensors", folder / "state.safetensors"
    words = [str(program), *words_of_run(run["options"]), f"--outputs={outputs}"]
    execute(words + ([f"--state={state}"] if run["state"] else []), "the program", timeout, cwd=folder)
    found = check_files(folder, run["options"][run["options"].index("--expect") + 1], outputs, run["tolerances"],
                        run.get("limits", {}))
    if not found and run["state"]:
        found = check_files(folder, run["state"], state, run["state_tolerances"], {})
    if not found and run.get("initial"):
        found = check_initial(folder, run, program, timeout)
    if found:
        raise Failed(found)


def narrowed(modc, folder, found, timeout):
    """The runs: of a model that packs weights as integers every second one loads a file of these, which stand for what PyTorch
    rounds the floats to; not one whose state is compared, which is that of floats."""
    file, runs = folder / "narrow.safetensors", []
    if not found.get("integers") or not (folder / "weights.safetensors").exists():
        return found["runs"]
    made = subprocess.run([*modc, "quantize", "spec.yaml", "--weights", "weights.safetensors", "-o", file.name], cwd=folder,
                          capture_output=True, text=True, timeout=timeout)
    if made.returncode == 1 and "packs no weight in fewer bits" in made.stderr:
        return found["runs"]
    if made.returncode:
        raise Failed(f"modc quantize: status {made.returncode}\n      {made.stderr}")
    for at, run in enumerate(found["runs"]):
        options = [file.name if word == "weights.safetensors" and at % 2 == 0 and not run["state"] else word
                   for word in run["options"]]
        runs.append({**run, "options": options})
    return runs


def repeat(modc, folder, run, flags):
    words, where = [*modc, "run", "spec.yaml", *run["options"]], f"repeat: cd {shlex.quote(str(folder))} &&"
    if flags in CUDA:
        return f"{where} {shlex.join([*words, '--device', 'cuda', '--emulate' + ('=check' if 'checked' in flags else '')])}"
    return f"{where} CFLAGS={shlex.quote(flags)} {shlex.join(words)}"


def check(modc, folder, found, runtime, flags, timeout):
    """([(run, what went wrong and how to see it again)], ops and algorithms of the plans) of a spec that
    random_specs.write made."""
    faults, ops, programs = [], set(), {}
    try:
        runs = narrowed(modc, folder, found, timeout)
    except Failed as fault:
        return [("quantize", str(fault))], []
    for run in runs:
        plans = plans_of(run, flags)
        try:
            if plans not in programs:
                programs[plans], plan, header = build(modc, folder, plans, runtime, flags, timeout)
                steps = [step for variant in plan["variants"] for step in variant["steps"]]
                ops |= {f"op {step['op']}" for step in steps}
                ops |= {f"algorithm {step['algorithm']}" for step in steps if step["algorithm"]}
                said = [*bound.check(plan, bound.SLACK), *bound.check_header(plan, header)]
                if said:
                    raise Failed("\n      ".join(["the plan is not as it should be:", *said]))
            run_once(folder, programs[plans], run, timeout)
            if run.get("repr"):
                check_repr(modc, folder, run["repr"], timeout)
        except Failed as fault:
            faults.append((run["name"], f"{fault}\n      {repeat(modc, folder, run, flags)}"))
            if plans not in programs:
                break  # nor can the others run
    return faults, sorted(ops)
