"""Programs that benchmarks run to make something: compilers, and what writes for them."""
import hashlib
import pathlib
import subprocess


class Missing(Exception):
    """Why a peer does not do a model."""


def run(command, what, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)
    if done.returncode != 0:
        lines = [line for line in done.stdout.strip().splitlines() if line.strip()]
        raise Missing(f"{what}: " + (next((line for line in lines if "error" in line.lower()), lines[-1]) if lines
                                     else f"exit status {done.returncode}"))
    return done.stdout


def build(target, command, sources, what):
    """Runs a compiler, unless the target was made by the same command from the same sources."""
    stamp = pathlib.Path(f"{target}.stamp")
    made = hashlib.sha256(" ".join(map(str, command)).encode())
    for source in sources:
        made.update(pathlib.Path(source).read_bytes())
    if not (pathlib.Path(target).exists() and stamp.exists() and stamp.read_text() == made.hexdigest()):
        stamp.unlink(missing_ok=True)
        run([*command, "-o", target], what)
        stamp.write_text(made.hexdigest())
