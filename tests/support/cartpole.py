"""examples/cartpole and examples/dqn_replay: do they learn, as PyTorch does on the same data, from states that are gymnasium's, without
allocating, and is a wrong command line refused?

    CC=cc CHECKED="cc -fsanitize=address,undefined" python3 tests/support/cartpole.py MODC FOLDER
"""
import ctypes
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TASK = ROOT / "examples" / "cartpole"
DQN = ROOT / "examples" / "dqn_replay"
# Counts what is allocated, for a program that is linked with it.
COUNTER = """
#include <stddef.h>
#include <stdio.h>
static long count;
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) { count++; return __real_malloc(bytes); }
void *__real_calloc(size_t number, size_t bytes);
void *__wrap_calloc(size_t number, size_t bytes) { count++; return __real_calloc(number, bytes); }
__attribute__((destructor)) static void say(void) { fprintf(stderr, "%ld allocations\\n", count); }
"""


class Task(ctypes.Structure):
    _fields_ = [("state", ctypes.c_double * 4), ("steps", ctypes.c_int), ("random", ctypes.c_uint64)]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=options.pop("check", True), capture_output=True, text=True, **options)


class Builder:
    """The runtime is compiled once for each compiler with its flags, as is each model."""

    def __init__(self, modc, folder, compiler):
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        for spec in (TASK / "agent.yaml", DQN / "dqn.yaml"):
            run(modc, "generate", spec, "-o", self.folder)
        self.command = [*compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{self.folder}",
                        f"-I{ROOT / 'runtime'}"]
        runtime = sorted((ROOT / "runtime").glob("*.c"))
        for source in (*runtime, self.folder / "agent.c", self.folder / "dqn.c", TASK / "cart_pole.c"):
            run(*self.command, "-c", source, "-o", self.folder / f"{source.stem}.o")

    def build(self, name, *sources):
        program = self.folder / name
        run(*self.command, *sources, *sorted(self.folder.glob("*.o")), "-lm", "-lpthread", "-o", program)
        return program


def check_states(library):
    """Against the formulas of the task, and gymnasium's where that is installed."""
    task, done, own = Task(), ctypes.c_bool(), random.Random(3)
    sys.path.insert(0, str(TASK))
    try:
        import reference
        other = reference.CartPole(0)
    except ImportError:
        other = None
    try:
        import gymnasium
        env = gymnasium.make("CartPole-v1").unwrapped
    except ImportError:
        print("gymnasium is not installed: its states were not compared")
        env = None
    for _ in range(20):
        start = [own.uniform(-0.05, 0.05) for _ in range(4)]
        task.state[:], task.steps = start, 0
        if other:
            other.state, other.steps = list(start), 0
        if env:
            env.reset()
            env.state = tuple(start)
        over = False
        while not over:
            action = own.randrange(2) if own.random() < 0.2 else int(task.state[2] + 0.3 * task.state[3] > 0)
            lost = library.cart_pole_step(ctypes.byref(task), ctypes.c_int64(action), ctypes.byref(done))
            over = done.value
            if other:
                assert other.step(action) == (lost, over)
                assert max(abs(a - b) for a, b in zip(task.state, other.state)) < 1e-12
                other.state = list(task.state)  # what is rounded in another way grows
            if env:
                _, reward, terminated, _, _ = env.step(action)
                assert terminated == lost and reward == 1.0, (terminated, lost)
                assert max(abs(float(a) - b) for a, b in zip(env.state, task.state)) < 1e-12
                env.state = tuple(task.state)


def main():
    modc, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "counter.c").write_text(COUNTER)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    fast = Builder(modc, folder / "fast", [*compiler, "-O1", "-march=native"])
    checked = Builder(modc, folder / "checked", shlex.split(os.environ["CHECKED"]))
    program, replay = fast.build("cartpole", TASK / "cartpole.c", TASK / "show.c"), fast.build("dqn_replay", DQN / "dqn_replay.c")
    counted = fast.build("counted", TASK / "cartpole.c", TASK / "show.c", folder / "counter.c", "-Wl,--wrap=malloc", "-Wl,--wrap=calloc")
    careful, careful_replay = checked.build("careful", TASK / "cartpole.c", TASK / "show.c"), checked.build("careful_replay", DQN / "dqn_replay.c")

    run(*compiler, "-O2", "-shared", "-fPIC", "-std=gnu11", TASK / "cart_pole.c", "-lm", "-o", folder / "task.so")
    library = ctypes.CDLL(str(folder / "task.so"))
    library.cart_pole_step.restype = ctypes.c_bool
    check_states(library)

    os.chdir(folder)  # where the policy is saved
    text = run(program, "--seeds", 10).stdout
    assert "saved: agent.safetensors" in text and (folder / "agent.safetensors").stat().st_size > 30000
    median = float(re.search(r"^median of 10 seeds: ([0-9.]+)$", text, re.MULTILINE)[1])
    assert len(re.findall(r"^seed \d+: mean return of 100 episodes [0-9.]+,", text, re.MULTILINE)) == 10, text
    assert median >= 475, text
    assert run(program, "--seed", 3, "--updates", 30).stdout == run(program, "--seed", 3, "--updates", 30).stdout
    scores = [float(re.search(r"episodes ([0-9.]+),", run(replay, "--seed", seed).stdout)[1]) for seed in range(3)]
    assert sorted(scores)[1] >= 300, scores

    allocations = {run(counted, "--updates", updates).stderr for updates in (1, 60)}
    assert allocations == {"0 allocations\n"}, allocations
    run(careful, "--updates", 2, "--record", folder / "few.bin", "--save", folder / "few.safetensors")
    run(careful_replay, "--steps", 1500)
    for words in (["--seed"], ["--seed", "x"], ["--seeds", "0"], ["--what", "1"], ["--updates", "-1"]):
        done = run(program, *words, check=False)
        assert done.returncode == 2 and done.stderr.startswith("usage:") and not done.stdout, words
    assert run(program, "--updates", 1, "--record", folder / "none" / "x", check=False).returncode == 1
    assert run(program, "--updates", 1, "--save", folder / "none" / "x", check=False).returncode == 1
    assert run(replay, "--steps", "many", check=False).returncode == 2

    run(program, "--updates", 25, "--record", folder / "updates.bin")
    done = run(sys.executable, "-W", "ignore", TASK / "reference.py", folder / "updates.bin", check=False)
    if "No module named 'torch'" in done.stderr:
        print("torch is not installed: updates were not compared")
    else:
        assert done.returncode == 0 and "25 updates" in done.stdout, done.stdout + done.stderr
    print(f"median return {median}, of dqn_replay {sorted(scores)[1]}; {done.stdout.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
