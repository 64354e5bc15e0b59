"""n-step returns of emitted code: tests/vectors/multistep_vectors.json, torchrl's results for MultiStep, its transform for replay
buffers and its estimators; and random trajectories against the definition, against torchrl itself where that is installed.

    CC=cc python3 tests/oracle/rollout.py --modc build/modc [--count N] [--seed N]

Each spec becomes a shared library, which is called through the table of its rollout (runtime/modc_rollout.h).
"""
import argparse
import ctypes
import itertools
import json
import math
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

import modc_run

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests" / "vectors" / "multistep_vectors.json"
# enum modc_dtype: ctypes by the name in a spec
TYPES = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double}
OK, SIZE, POINTER, ARGUMENT = 0, 4, 5, 16
MADE = {"gamma": "float32", "steps_to_next_obs": "int64", "nonterminal": "bool", "info.gather_index": "int64",
        "info.done_at_gather_index": "bool", "info.terminated_at_gather_index": "bool"}


class Tensor(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("at", ctypes.c_size_t), ("bytes", ctypes.c_size_t), ("dtype", ctypes.c_int),
                ("role", ctypes.c_int), ("ndim", ctypes.c_int), ("dims", ctypes.POINTER(ctypes.c_int)), ("reward", ctypes.c_int),
                ("sum", ctypes.c_void_p)]


class Table(ctypes.Structure):
    _fields_ = [("tensors", ctypes.POINTER(Tensor)), ("count", ctypes.c_int), ("step_bytes", ctypes.c_size_t),
                ("held_bytes", ctypes.c_size_t), ("n_steps", ctypes.c_int), ("gamma", ctypes.c_double),
                ("gammas", ctypes.c_void_p), ("agents", ctypes.c_int)]


def shape_of(data):
    shape = []
    while isinstance(data, list):
        shape.append(len(data))
        data = data[0] if data else None
    return shape


def flat(data):
    return [data] if not isinstance(data, list) else [x for part in data for x in flat(part)]


class Rollout:
    """Tensors of a model's rollout: values by key, flat lists; shapes of a step by key."""

    def __init__(self, model, batch, time, values=None, skip=()):
        self.model, self.batch, self.time = model, batch, time
        self.struct = (ctypes.c_char * model.bytes)()
        self.arrays = {}
        for key, (ctype, each, at) in model.tensors.items():
            if key in skip:
                continue
            found = (ctype * max(batch * time * each, 1))()
            if values and key in values:
                own = flat(values[key])
                assert len(own) == batch * time * each, (key, len(own), batch, time, each)
                for i, value in enumerate(own):
                    found[i] = value
            self.arrays[key] = found
            ctypes.c_void_p.from_buffer(self.struct, at).value = ctypes.addressof(found)

    def list(self, key, count=None):
        own = self.arrays[key]
        each = self.model.tensors[key][1]
        return list(own)[:self.batch * (self.time if count is None else count) * each]


class Model:
    """A spec of one MultiStep and a rollout, compiled. records: {key: (shape of a step, dtype)}."""

    libraries = {}

    def __init__(self, tools, n_steps, gamma, records, info=True, settings=""):
        lines = ["modc: 1", "model: r", "hooks: none", "inputs: {x: [1]}", "modules:", f"  n_step: MultiStep({gamma!r}, {n_steps})",
                 "forward: return x + 1", "rollout:"]
        lines += [f"  {key}: {{shape: {shape}, dtype: {dtype}}}" for key, (shape, dtype) in records.items()]
        names = ["gather_index", "done_at_gather_index"] + (["terminated_at_gather_index"] if "next.terminated" in records else [])
        if info:
            lines.append(f"  info: [{', '.join(names)}]")
        text = "\n".join(lines) + "\n" + settings
        self.library = self.libraries.get(text)
        if self.library is None:
            self.library = self.libraries[text] = tools.compile(text)
        table = Table.in_dll(self.library, "r_rollout_table")
        dtypes = {**{key: dtype for key, (_, dtype) in records.items()}, **MADE}
        self.tensors, self.bytes, self.gamma, self.n_steps = {}, 0, table.gamma, table.n_steps
        for i in range(table.count):
            tensor = table.tensors[i]
            key = tensor.key.decode()
            name = dtypes[key] if key in dtypes else dtypes[key.replace("original_", "")]
            ctype = TYPES[name]
            self.tensors[key] = ctype, tensor.bytes // ctypes.sizeof(ctype), tensor.at
            self.bytes = max(self.bytes, tensor.at + ctypes.sizeof(ctypes.c_void_p))
        self.table = table

    def n_step(self, rollout):
        return self.library.r_n_step(rollout.struct, rollout.batch, rollout.time)


class Window:
    def __init__(self, model, batch, n_steps):
        self.model, self.batch = model, batch
        self.window = (ctypes.c_char * 256)()
        bytes_ = model.table.held_bytes * model.table.n_steps * batch
        self.block = (ctypes.c_char * max(bytes_, 1))()
        library = model.library
        status = library.modc_window_init(self.window, ctypes.byref(model.table), batch, self.block, ctypes.c_size_t(bytes_))
        assert status == OK, status
        assert library.modc_window_set(self.window, n_steps) == OK

    def set(self, n_steps):
        return self.model.library.modc_window_set(self.window, n_steps)

    def push(self, values, time):
        given = Rollout(self.model, self.batch, time, values)
        room = self.model.library.modc_window_ready(self.window, time)
        out, count = Rollout(self.model, self.batch, max(room, 1)), ctypes.c_int(-1)
        if room > 0:
            status = self.model.library.modc_window_push(self.window, given.struct, time, out.struct, room - 1, ctypes.byref(count))
            assert status == SIZE and count.value == -1, status
        status = self.model.library.modc_window_push(self.window, given.struct, time, out.struct, room, ctypes.byref(count))
        assert status == OK and count.value == room, (status, count.value, room)
        return out, room

    def flush(self):
        out, count = Rollout(self.model, self.batch, self.model.n_steps), ctypes.c_int(-1)
        status = self.model.library.modc_window_flush(self.window, out.struct, self.model.n_steps, ctypes.byref(count))
        assert status == OK
        return out, count.value


class Tools:
    def __init__(self, modc, folder):
        self.modc, self.folder, self.count = modc, folder, 0
        self.command = [*shlex.split(os.environ.get("CC", "cc")), *shlex.split(os.environ.get("CFLAGS", "-O1")), "-std=c11", "-Wall", "-Wextra",
                        "-Werror", "-fPIC", "-shared", f"-I{ROOT / 'runtime'}"]
        sources = sorted((ROOT / "runtime").glob("*.c"))
        self.runtime = folder / "libruntime.so"
        self.run(*self.command, "-o", self.runtime, *sources, "-lm", "-lpthread")

    @staticmethod
    def run(*command):
        subprocess.run([str(word) for word in command], check=True)

    def compile(self, text):
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        (folder / "r.yaml").write_text(text)
        self.run(*self.modc, "generate", folder / "r.yaml", "-o", folder)
        self.run(*self.command, "-o", folder / "r.so", folder / "r.c", self.runtime, "-lm")
        return ctypes.CDLL(str(folder / "r.so"))

    def refuses(self, text):
        path = self.folder / "refused.yaml"
        path.write_text(text)
        done = subprocess.run([*self.modc, "check", str(path)], capture_output=True, text=True, check=False)
        return done.returncode == 1 and ("must" in done.stderr or "integer" in done.stderr or "begin" in done.stderr)


class Faults:
    def __init__(self):
        self.count, self.checks = 0, 0

    def say(self, text):
        self.count += 1
        if self.count <= 20:
            print(text, file=sys.stderr)

    def compare(self, name, got, expected, rtol, atol):
        self.checks += 1
        if len(got) != len(expected):
            self.say(f"{name}: {len(got)} elements, expected {len(expected)}")
            return
        for i, (a, b) in enumerate(zip(got, expected)):
            if isinstance(b, float):
                same = (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= atol + rtol * abs(b)
            else:
                same = a == b
            if not same:
                self.say(f"{name}: element {i} is {a}, expected {b}")
                return


def tolerance(dtype):
    return (1e-5, 1e-6) if dtype == "float32" else (1e-12, 1e-12)


# ---- the definition -----------------------------------------------------------------------------------------------

def slowly(n, gamma, batch, time, agents, values, shapes, mask=None):
    """From the formulas alone. values: flat lists; shapes: elements of a step by key. Several agents: each has its windows."""
    def at(key, row, t, agent):
        each = shapes[key] // agents
        start = ((row * time + t) * agents + agent) * each
        return values[key][start:start + each]

    found = {key: [None] * len(values[key]) for key in values}
    found.update({key: [None] * (batch * time * agents) for key in MADE})
    original = {}
    for row, t, agent in itertools.product(range(batch), range(time), range(agents)):
        end = t
        while end < time - 1 and not at("next.done", row, end, agent)[0]:
            end += 1
        k = min(n - 1, end - t)
        own = (row * time + t) * agents + agent
        for key in values:
            each = shapes[key] // agents
            if key == "next.reward":
                sums = [sum(gamma ** j * at(key, row, t + j, agent)[f] for j in range(k + 1)) for f in range(each)]
                original[own] = at(key, row, t, agent)
            elif key.startswith("next.") and key.split(".")[-1] not in ("done", "terminated", "truncated"):
                sums = at(key, row, t + k, agent)
            else:
                sums = at(key, row, t, agent)
            found[key][own * each:own * each + each] = sums
        found["gamma"][own] = gamma ** (k + 1)
        found["steps_to_next_obs"][own] = k + 1
        found["nonterminal"][own] = k > 0 and (mask is None or bool(mask[own]))
        found["info.gather_index"][own] = t + k
        found["info.done_at_gather_index"][own] = bool(at("next.done", row, t + k, agent)[0])
        if "next.terminated" in values:
            found["info.terminated_at_gather_index"][own] = bool(at("next.terminated", row, t + k, agent)[0])
    found["next.original_reward"] = values["next.reward"]
    return found


# ---- vectors ------------------------------------------------------------------------------------------------------

def batch_cases(tools, faults, cases):
    for case, dtype in itertools.product(cases, ("float32", "float64")):
        given, batch, time = case["input"], case["B"], case["T"]
        reward, obs = shape_of(given["next_reward"])[2:], shape_of(given["next_obs"])[2:]
        records = {"next.obs": (obs, "float64"), "next.reward": (reward, dtype), "next.done": ([], "bool"),
                   "next.terminated": ([], "bool"), "next.truncated": ([], "bool"), "collector.mask": ([], "bool")}
        model = Model(tools, case["n_steps"], case["gamma"], records)
        values = {"next." + name[5:]: given[name] for name in given if name.startswith("next_")}
        values["next.obs"] = given["next_obs"]
        skip = ()
        if given["collector_mask"] is None:
            skip = ("collector.mask",)
        else:
            values["collector.mask"] = given["collector_mask"]
        rollout = Rollout(model, batch, time, values, skip)
        if model.n_step(rollout) != OK:
            faults.say(f"{case['id']}: refused")
            continue
        expected = {("next." + key[5:] if key.startswith("next_") else key): value for key, value in case["expected"].items()}
        expected.update({f"info.{key}": value for key, value in case["info"].items()})
        for key, value in expected.items():
            like = {"gamma": (1e-5, 1e-6), "next.obs": (0, 0)}.get(key, tolerance(dtype))
            own = [float(x) for x in flat(value)] if rollout.model.tensors[key][0] in (ctypes.c_float, ctypes.c_double) else flat(value)
            faults.compare(f"{case['id']} {dtype} {key}", rollout.list(key), own, *like)


def stream_cases(tools, faults, cases):
    for case in cases:
        most = max(call["n_steps"] for call in case["calls"])
        records = {"obs": ([], "int64"), "next.obs": ([], "int64"), "next.reward": ([], "float64"), "next.done": ([], "bool")}
        model = Model(tools, most, case["gamma"], records, info=False)
        window = Window(model, case["B"], case["calls"][0]["n_steps"])
        for i, call in enumerate(case["calls"]):
            if window.set(call["n_steps"]) != OK:
                faults.say(f"{case['id']}: n_steps {call['n_steps']} refused")
            given = call["input"]
            time = len(given["reward"][0])
            out, count = window.push({"obs": given["obs"], "next.obs": given["next_obs"], "next.reward": given["reward"],
                                      "next.done": given["done"]}, time)
            expected = call["expected"]
            if (expected is None) != (count == 0):
                faults.say(f"{case['id']}, call {i}: {count} steps come out")
                continue
            for key, value in (expected or {}).items():
                name = {"next_reward": "next.reward", "next_original_reward": "next.original_reward", "next_obs": "next.obs",
                        "next_done": "next.done"}.get(key, key)
                own = [float(x) for x in flat(value)] if model.tensors[name][0] in (ctypes.c_float, ctypes.c_double) else flat(value)
                like = (1e-5, 1e-6) if name == "gamma" else (1e-9, 1e-12)
                faults.compare(f"{case['id']}, call {i}, {name}", out.list(name, count), own, *like)


def error_cases(tools, faults, cases):
    """docs/departures.md: 0 steps are the identity, and a window has the gamma of its module, which is checked."""
    departs = {"n_steps_zero": False, "transform_gamma_unchecked": True}
    for case in cases:
        faults.checks += 1
        if case["id"] == "transform_n_zero":
            model = Model(tools, 3, 0.9, {"next.reward": ([], "float32"), "next.done": ([], "bool")}, info=False)
            window = Window(model, 1, 3)
            if [window.set(n) for n in (0, -1, 4, 3)] != [ARGUMENT] * 3 + [OK]:
                faults.say(f"{case['id']}: windows take another number of steps")
            continue
        done = "[5, 1]" if case["id"] == "done_shape_bad" else "[]"
        refused = tools.refuses(f"modc: 1\nmodel: r\ninputs: {{x: [1]}}\nmodules:\n  n_step: MultiStep({case['gamma']}, {case['n_steps']})\n"
                                f"forward: return x + 1\nrollout:\n  next.reward: []\n  next.done: {done}\n")
        wanted = departs.get(case["id"], case["expect"] != "ok")
        if refused != wanted:
            faults.say(f"{case['id']}: {'refused' if refused else 'taken'}")


ESTIMATES = """modc: 1
model: r
hooks: none
dtype: float64
sizes: {{time: 64}}
inputs:
  value: [time, 1]
  next_value: [time, 1]
  reward: [time, 1]
  log_pi: [time, 1]
  log_mu: [time, 1]
  done: {{shape: [time, 1], dtype: bool}}
  terminated: {{shape: [time, 1], dtype: bool}}
  factors: [4]
forward:
  - gamma, lmbda, rho_thresh, c_thresh = {factors}
  - td0 = td0_return_estimate(gamma, next_value, reward, terminated)
  - td1 = td1_return_estimate(gamma, next_value, reward, done, terminated)
  - td_lambda = td_lambda_return_estimate(gamma, lmbda, next_value, reward, done, terminated)
  - gae_advantage, gae_value_target = generalized_advantage_estimate(gamma, lmbda, value, next_value, reward, done, terminated)
  - >-
    vtrace_advantage, vtrace_vs = vtrace_advantage_estimate(gamma, log_pi, log_mu, value, next_value, reward, done, terminated,
    rho_thresh, c_thresh)
  - return td0, td1, td_lambda, gae_advantage, gae_value_target, vtrace_advantage, vtrace_vs
"""
RESULTS = ["td0", "td1", "td_lambda", "gae_advantage", "gae_value_target", "vtrace_advantage", "vtrace_vs"]


def estimates(library, time, given):
    """What a call of its forward returns, by name."""
    params, context = (ctypes.c_char * 4096)(), ctypes.c_void_p()
    model = ctypes.byref(ctypes.c_char.in_dll(library, "r_model"))
    block = (ctypes.c_char * 4096)()
    start = -ctypes.addressof(block) % 64
    assert library.modc_bind(params, model, ctypes.byref(block, start), ctypes.c_size_t(1024)) == OK
    assert library.modc_create(model, params, 0, ctypes.byref(context)) == OK
    outputs = [(ctypes.c_double * time)() for _ in RESULTS]
    status = library.r_forward(context, time, *given, *outputs)
    library.modc_destroy(context)
    assert status == OK, status
    return dict(zip(RESULTS, map(list, outputs)))


def value_cases(tools, faults, cases):
    """With factors that are known while generating, and with such that come in a tensor."""
    compiled = {}
    for case in cases:
        factors = [case["gamma"], case["lmbda"], case["rho_thresh"], case["c_thresh"]]
        given, time = case["input"], len(case["input"]["reward"])
        arrays = [(ctypes.c_double * time)(*given[key]) for key in ("value", "next_value", "reward", "log_pi", "log_mu")]
        arrays += [(ctypes.c_bool * time)(*given[key]) for key in ("done", "terminated")]
        arrays.append((ctypes.c_double * 4)(*factors))
        for text in (", ".join(map(repr, factors)), "factors[0], factors[1], factors[2], factors[3]"):
            if text not in compiled:
                compiled[text] = tools.compile(ESTIMATES.format(factors=text))
            got = estimates(compiled[text], time, arrays)
            for key, values in case["expected"].items():
                faults.compare(f"{case['id']}, {key}", got[key], [float(x) for x in values], 2e-7, 2e-7)  # as the file's are made
            leave_no_trace(compiled[text], faults, case, arrays, got)


def leave_no_trace(library, faults, case, arrays, expected):
    """NaN as the value behind a terminated step, and anything in the last episode, is not seen in others."""
    time, done, terminated = len(arrays[0]), list(arrays[5]), list(arrays[6])
    start = max([t + 1 for t in range(time - 1) if done[t]], default=0)
    for name, rows, places, seen in (
            ("behind a terminated step", [1], [t for t in range(time) if terminated[t]], range(time)),
            ("in the last episode", [0, 1, 2, 3, 4], range(start, time), range(start))):
        bad = [type(array)(*array) for array in arrays]
        for row, t in itertools.product(rows, places):
            bad[row][t] = math.nan
        got = estimates(library, time, bad)
        for key, values in expected.items():
            faults.compare(f"{case['id']}, NaN {name}, {key}", [got[key][t] for t in seen], [values[t] for t in seen], 0, 0)


# ---- random trajectories ------------------------------------------------------------------------------------------

def draw_values(own, records, shapes, batch, time):
    chance = own.choice([0, 0.05, 0.3, 0.8, 1])
    values = {}
    for key, (_, dtype) in records.items():
        count = batch * time * shapes[key]
        if dtype == "bool":
            values[key] = [own.random() < (0.8 if key.endswith("mask") else chance) for _ in range(count)]
        elif dtype == "int64":
            values[key] = [own.randrange(-1000, 1000) for _ in range(count)]
        else:
            values[key] = [ctypes.c_float(own.uniform(-2, 2)).value for _ in range(count)]
    return values


def random_case(tools, faults, seed):
    own = random.Random(seed)
    dtype = own.choice(["float32", "float64"])
    agents = own.choice([[], [], [], [1], [3], [2, 2]])
    n = own.choice([0, 1, 2, 3, 5, 8, 9, 20, 64, 65, 150])
    gamma = own.choice([1.0, 0.99, 0.9, 0.5, 0.0625])
    lead = agents if math.prod(agents) > 1 else []
    records = {"observation": (lead + [4], "float32"), "action": (lead, "int64"), "next.observation": (lead + [own.choice([1, 4, 5])], "float32"),
               "next.reward": (own.choice([lead, lead + [1], lead + [2]]), dtype), "next.done": (agents, "bool"),
               "next.terminated": (agents, "bool"), "next.pixels": (lead + [3], "int64")}
    if own.random() < 0.5:
        records["collector.mask"] = (agents, "bool")
    shapes = {key: math.prod(shape) for key, (shape, _) in records.items()}
    model = Model(tools, n, gamma, records)
    n = max(n, 1)
    batch, time = own.choice([1, 1, 2, 3]), own.choice([0, 1, 2, 7, 70, 200])
    values = draw_values(own, records, shapes, batch, time)
    rollout = Rollout(model, batch, time, values)
    name = f"seed {seed}: n {n}, gamma {gamma}, {batch} x {time}, {dtype}, agents {agents}"
    if model.n_step(rollout) != OK:
        faults.say(f"{name}: refused")
        return
    expected = slowly(n, gamma, batch, time, math.prod(agents), values, shapes, values.get("collector.mask"))
    for key in model.tensors:
        rtol, atol = (1e-5, 2e-5 if n > 30 else 2e-6) if key == "gamma" or dtype == "float32" else (1e-12, 1e-11)
        faults.compare(f"{name}, {key}", rollout.list(key), expected[key], rtol, atol)
    in_pieces(model, faults, own, name, values, batch, time, shapes)
    split(model, faults, name, values, batch, time, shapes, rollout)
    poisoned(model, faults, own, name, values, batch, time, shapes, rollout, math.prod(agents))


def in_pieces(model, faults, own, name, values, batch, time, shapes):
    """Fed in pieces of any size, then flushed, a window gives what the whole gives."""
    window, t, got = Window(model, batch, model.n_steps), 0, {key: [[] for _ in range(batch)] for key in model.tensors}

    def take(out, count):
        for key, rows in got.items():
            each = model.tensors[key][1]
            part = out.list(key, count) if count else []
            for row in range(batch):
                rows[row] += part[row * count * each:(row + 1) * count * each]

    while t < time:
        length = min(own.choice([0, 1, 1, 2, 5, 40]), time - t)
        piece = {key: [x for row in range(batch) for x in values[key][(row * time + t) * shapes[key]:(row * time + t + length) * shapes[key]]]
                 for key in values}
        take(*window.push(piece, length))
        t += length
    take(*window.flush())
    whole = Rollout(model, batch, time, values)
    model.n_step(whole)
    for key, rows in got.items():
        rtol, atol = (2e-5, 5e-5) if model.tensors[key][0] is ctypes.c_float else (1e-12, 1e-11)
        faults.compare(f"{name}, in pieces, {key}", [x for row in rows for x in row], whole.list(key), rtol, atol)


def split(model, faults, name, values, batch, time, shapes, whole):
    """Each row alone gives the bits that it has among others."""
    for row in range(batch):
        part = Rollout(model, 1, time, {key: value[row * time * shapes[key]:(row + 1) * time * shapes[key]] for key, value in values.items()})
        model.n_step(part)
        for key in model.tensors:
            each = time * model.tensors[key][1]
            faults.compare(f"{name}, row {row}, {key}", part.list(key), whole.list(key)[row * each:(row + 1) * each], 0, 0)


def poisoned(model, faults, own, name, values, batch, time, shapes, whole, agents):
    """NaN and infinities in an episode, padding that a mask hides for one, are seen in that episode alone."""
    if time < 2:
        return
    row, agent = own.randrange(batch), own.randrange(agents)
    first, done = own.randrange(time), [values["next.done"][(row * time + t) * agents + agent] for t in range(time)]
    start, end = first, first
    while start > 0 and not done[start - 1]:
        start -= 1
    while end < time - 1 and not done[end]:
        end += 1
    bad = {key: list(value) for key, value in values.items()}
    for key in ("next.reward", "next.observation"):
        each = shapes[key] // agents
        for t in range(start, end + 1):
            for f in range(each):
                bad[key][((row * time + t) * agents + agent) * each + f] = own.choice([math.nan, math.inf, -math.inf])
    rollout = Rollout(model, batch, time, bad)
    model.n_step(rollout)
    for key in model.tensors:
        each = model.tensors[key][1] // agents
        hidden = {((row * time + t) * agents + agent) * each + f for t in range(start, end + 1) for f in range(each)}
        pairs = [(a, b) for i, (a, b) in enumerate(zip(rollout.list(key), whole.list(key))) if i not in hidden]
        faults.compare(f"{name}, poisoned, {key}", [a for a, _ in pairs], [b for _, b in pairs], 0, 0)


def laws(tools, faults):
    """With as many steps as an episode has, a step's sum is all that is left of it, discounted, whatever the length of the others; and
    what was summed is what was recorded."""
    records = {"next.reward": ([], "float64"), "next.done": ([], "bool")}
    own, gamma, time = random.Random(1), 0.9, 50
    model = Model(tools, time, gamma, records, info=False)
    values = {"next.reward": [own.uniform(-1, 1) for _ in range(time)], "next.done": [own.random() < 0.1 for _ in range(time)]}
    rollout = Rollout(model, 1, time, values)
    model.n_step(rollout)
    to_go = [0.0] * (time + 1)
    for t in reversed(range(time)):
        to_go[t] = values["next.reward"][t] + (0 if values["next.done"][t] else gamma * to_go[t + 1])
    faults.compare("the sum of an episode", rollout.list("next.reward"), to_go[:time], 1e-12, 1e-12)
    faults.compare("the rewards before", rollout.list("next.original_reward"), values["next.reward"], 0, 0)


def refused_calls(tools, faults):
    model = Model(tools, 3, 0.9, {"next.obs": ([], "float32"), "next.reward": ([], "float32"), "next.done": ([], "bool")}, info=False)
    n_step = model.library.r_n_step
    for name, skip, batch, time, wanted in (
            ("no rewards", ("next.reward",), 2, 5, POINTER), ("no ends", ("next.done",), 2, 5, POINTER),
            ("nothing to move", ("next.obs",), 2, 5, POINTER), ("nothing wanted", ("gamma", "nonterminal", "steps_to_next_obs"), 2, 5, OK),
            ("a negative batch", (), -1, 5, SIZE), ("a negative time", (), 1, -5, SIZE), ("no rows", (), 0, 5, OK), ("no steps", (), 2, 0, OK),
            ("more steps than memory", (), 2 ** 31 - 1, 2 ** 31 - 1, SIZE)):
        rollout = Rollout(model, 2, 5, {"next.reward": [1.0] * 10}, skip)
        before = {key: list(value) for key, value in rollout.arrays.items()}
        faults.checks += 1
        status = n_step(rollout.struct, batch, time)
        if status != wanted or (wanted != OK and before != {key: list(value) for key, value in rollout.arrays.items()}):
            faults.say(f"{name}: status {status}, expected {wanted}, or something was written")
    faults.checks += 1
    if n_step(None, 1, 1) != POINTER:
        faults.say("no rollout: not refused")


def against_torchrl(tools, faults, count):
    try:
        import torch
        from tensordict import TensorDict
        from torchrl.data import MultiStep
    except ImportError:
        print("torchrl is not installed: its module was not run")
        return
    for seed in range(count):
        generator = torch.Generator().manual_seed(seed)
        n, gamma, batch, time = [1, 2, 3, 7][seed % 4], [0.99, 0.9, 1.0][seed % 3], 3, 25
        done = torch.rand(batch, time, 1, generator=generator) < 0.15
        data = TensorDict({"observation": torch.randn(batch, time, 4, generator=generator), "next": TensorDict({
            "observation": torch.randn(batch, time, 4, generator=generator), "reward": torch.randn(batch, time, 1, generator=generator),
            "done": done, "terminated": done.clone()}, [batch, time])}, [batch, time])
        records = {"next.observation": ([4], "float32"), "next.reward": ([1], "float32"), "next.done": ([1], "bool"),
                   "next.terminated": ([1], "bool")}
        model = Model(tools, n, gamma, records, info=False)
        rollout = Rollout(model, batch, time, {key: data[tuple(key.split("."))].flatten().tolist() for key in records})
        model.n_step(rollout)
        other = MultiStep(gamma, n)(data.clone())
        for key in model.tensors:
            faults.compare(f"torchrl, seed {seed}, {key}", rollout.list(key), other[tuple(key.split("."))].flatten().tolist(), 1e-5, 2e-6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc", help="the command, with its first arguments")
    parser.add_argument("--count", type=int, default=60, help="random trajectories")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    vectors, faults = json.loads(VECTORS.read_text()), Faults()
    with tempfile.TemporaryDirectory(prefix="modc-rollout-") as folder:
        tools = Tools(modc_run.command_of(args.modc), pathlib.Path(folder))
        batch_cases(tools, faults, vectors["multistep"])
        stream_cases(tools, faults, vectors["stream"])
        error_cases(tools, faults, vectors["errors"])
        value_cases(tools, faults, vectors["value"])
        refused_calls(tools, faults)
        laws(tools, faults)
        for seed in range(args.seed, args.seed + args.count):
            random_case(tools, faults, seed)
        against_torchrl(tools, faults, 12)
    print(f"{len(vectors['multistep'])} cases, {len(vectors['stream'])} of windows, {len(vectors['errors'])} of settings, {len(vectors['value'])} of "
          f"estimates, "
          f"{args.count} random rollouts, {tools.count} models, {faults.checks} comparisons, {faults.count} faults")
    return 1 if faults.count else 0


if __name__ == "__main__":
    sys.exit(main())
