"""Times peers in turn: rounds of one process on one core, warm and with cold caches, beside what the machine can do."""
import ctypes
import dataclasses
import gc
import os
import pathlib
import platform
import re
import statistics
import subprocess
import time

import numpy

from environment import BUILD, FOLDER, ROOT

FLAGS = ["-O2", "-march=native", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]


def load(folder):
    """The C side, compiled where the sources or the compiler are new."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "clock.so"
    sources = [FOLDER / "clock.c", FOLDER / "peer_ort.c"]
    newest = max(path.stat().st_mtime for path in (*sources, ROOT / "runtime" / "driver" / "modc_time.h"))
    if not library.exists() or library.stat().st_mtime < newest:
        subprocess.run([os.environ.get("CC", "cc"), *FLAGS, f"-I{ROOT / 'runtime' / 'driver'}", *map(str, sources), "-o", str(library),
                        "-ldl"], check=True)
    code = ctypes.CDLL(str(library))
    code.bench_peak.restype = code.bench_bandwidth.restype = ctypes.c_double
    return code


class Times(ctypes.Structure):
    """struct modc_times of runtime/driver/modc_time.h."""
    _fields_ = [("min", ctypes.c_double), ("median", ctypes.c_double), ("samples", ctypes.c_long), ("inner", ctypes.c_long)]


C = load(BUILD)


# ---- the machine --------------------------------------------------------------------------------------------------

def cache_sizes():
    """{level: bytes} of the caches for data, as Linux tells it; else what many machines have."""
    found = {1: 32 << 10, 2: 1 << 20, 3: 32 << 20}
    for cache in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        kind, level, size = ((cache / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction" and size.endswith("K"):
            found[int(level)] = int(size[:-1]) << 10
    return found


class Machine:
    """Figures of this core. `measure` takes all of them once more, with the rate at which `traffic` bytes are read again and
    again, whatever holds them."""

    def __init__(self):
        l1, l2, l3 = (cache_sizes()[level] for level in (1, 2, 3))
        # A part of each level that what lies above it does not hold.
        self.bytes = {"L1": l1 // 2, "L2": l2 // 2, "L3": max(l3 // 4, 2 * l2), "DRAM": 4 * l3}
        self.flush_bytes = max(2 * l3, 64 << 20)
        self.block, self.rounds = None, []

    def hold(self, size):
        """The address of a block of at least that size, whose pages are there, aligned to a line."""
        if self.block is None or size + 64 > self.block.size:
            self.block = numpy.ones(size + 64, dtype=numpy.uint8)
        return ctypes.c_void_p(self.block.ctypes.data + -self.block.ctypes.data % 64)

    def bandwidth(self, size):
        size = max(size // 1024, 1) * 1024
        return C.bench_bandwidth(self.hold(size), ctypes.c_size_t(size), 1 if size > self.flush_bytes else 3)

    def measure(self, traffic, levels=True):
        found = {"FMA": C.bench_peak()}
        if levels:
            found.update({level: self.bandwidth(size) for level, size in self.bytes.items()})
        found["traffic"] = self.bandwidth(traffic)
        self.rounds.append(found)
        return found

    def flush(self):
        C.bench_flush(self.hold(self.flush_bytes), ctypes.c_size_t(self.flush_bytes))

    @staticmethod
    def limit(found, macs, traffic):
        """(seconds, what binds): multiply-adds at the peak, or reading the traffic."""
        return max((2 * macs / found["FMA"], "multiply-adds"), (traffic / found["traffic"], f"reading {traffic * 1e-6:.3g} MB"))

    def text(self):
        middle = {name: statistics.median(found[name] for found in self.rounds) for name in self.rounds[0]}
        reads = ", ".join(f"{level} {middle[level] * 1e-9:.0f} GB/s" for level in self.bytes if level in middle)
        return f"multiply-adds {middle['FMA'] * 1e-9:.0f} GFLOP/s" + (f", reads {reads}" if reads else "")


def name_of_cpu():
    """Also how wide its vectors are, since many names say little."""
    lines = re.findall(r"^(model name|cpu family|model|flags)\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    fields = dict(lines)
    flags = fields.get("flags", "").split()
    widest = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), None)
    kind = f" (family {fields['cpu family']}, model {fields['model']})" if "cpu family" in fields else ""
    return fields.get("model name", platform.machine()).strip() + kind + (f" with {widest}" if widest else "")


# ---- peers --------------------------------------------------------------------------------------------------------

class InC:
    """A peer that C calls: a function of one pointer."""

    def set_call(self, function, user):
        self.function, self.user = ctypes.cast(function, ctypes.c_void_p), ctypes.c_void_p(user)

    def finish(self, status, times):
        if status != 0:
            raise RuntimeError(f"{self.name}: a call failed with {status}")
        return times

    def call(self):
        """One call; its outputs."""
        times = Times()
        self.finish(C.bench_time_cold(self.function, self.user, ctypes.c_long(1), None, ctypes.c_size_t(0),
                                      ctypes.byref(times)), times)
        return self.outputs

    def time(self, seconds):
        times = Times()
        return self.finish(C.bench_time(self.function, self.user, ctypes.c_double(seconds), ctypes.byref(times)), times)

    def time_cold(self, machine, count):
        times = Times()
        return self.finish(C.bench_time_cold(self.function, self.user, ctypes.c_long(count),
                                             machine.hold(machine.flush_bytes), ctypes.c_size_t(machine.flush_bytes),
                                             ctypes.byref(times)), times)


class InPython:
    """A peer that Python calls. The time of a loop that calls nothing is taken off."""
    empty = None
    clock, fine = time.perf_counter, 5e-6

    def set_call(self, function):
        self.function = function

    def call(self):
        import models
        return [tensor.numpy() for tensor in models.flat(self.function())]

    @classmethod
    def loop(cls, function, inner):
        steps, clock = range(inner), cls.clock
        before = clock()
        for _ in steps:
            function()
        return (clock() - before) / inner

    def overhead(self):
        if InPython.empty is None:
            InPython.empty = min(self.loop(lambda: None, 1000) for _ in range(50))
        return InPython.empty

    def times_of(self, samples, inner):
        samples = sorted(max(sample - self.overhead(), 0.0) for sample in samples)
        return Times(samples[0], samples[len(samples) // 2], len(samples), inner)

    def time(self, seconds):
        function, started = self.function, time.perf_counter()
        first = self.loop(function, 1)
        if first > 5 * seconds:
            return self.times_of([first], 1)
        first = min(first, self.loop(function, 1))
        if time.perf_counter() - started < seconds / 4:
            first = min(first, self.loop(function, 1))
        inner = int(self.fine / max(first, 1e-7)) + 1
        count = max(int(seconds / (first * inner)), 1)
        return self.times_of([self.loop(function, inner) for _ in range(count)], inner)

    def time_cold(self, machine, count):
        samples = []
        for _ in range(count):
            machine.flush()
            samples.append(self.loop(self.function, 1))
        return self.times_of(samples, 1)


def use_cpu_time():
    """See bench_use_cpu_time."""
    C.bench_use_cpu_time()
    InPython.clock, InPython.fine = time.thread_time, 1e-4


# ---- rounds -------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Series:
    """One peer's rounds: the shortest and the median call of each, in seconds."""
    mins: list = dataclasses.field(default_factory=list)
    medians: list = dataclasses.field(default_factory=list)
    cold: list = dataclasses.field(default_factory=list)

    @property
    def min(self):
        return min(self.mins)

    @property
    def median(self):
        return statistics.median(self.medians)

    @property
    def spread(self):
        """How far the medians of the rounds lie apart, of their median."""
        low, high = inner(self.medians)
        return (high - low) / self.median

    def ratios_to(self, other):
        """How often `other` fits into this one, in each of the rounds."""
        return [mine / its for mine, its in zip(self.medians, other.medians)]

    def ratio_to(self, other):
        return statistics.median(self.ratios_to(other))

    def cold_ratio_to(self, other):
        return statistics.median(mine / its for mine, its in zip(self.cold, other.cold))


def inner(values):
    """(lowest, highest) without the outer eighth on both sides."""
    ordered = sorted(values)
    cut = len(ordered) // 8
    return ordered[cut], ordered[-1 - cut]


FEW = 3  # rounds


def pin(core):
    os.sched_setaffinity(0, {core})


def rounds(peers, machine, traffic, count, seconds, cold=0, levels=True):
    """{name of a peer: Series}, and what the machine was measured at in each round (`traffic`, `levels`: see there). The order turns by one each round, so that no
    peer always follows the same one. Who takes over 0.1 s and 20 times as long as the fastest is in a few rounds alone."""
    series, slow = {peer.name: Series() for peer in peers}, set()
    found = []
    gc.collect()
    gc.disable()
    for turn in range(count):
        found.append(machine.measure(traffic, levels))
        if turn == FEW:
            fastest = min(each.min for each in series.values())
            slow = {name for name, each in series.items() if each.min > max(0.1, 20 * fastest)}
        shift = turn % len(peers)
        for peer in peers[shift:] + peers[:shift]:
            if peer.name in slow:
                continue
            times = peer.time(seconds)
            own = series[peer.name]
            own.mins.append(times.min)
            own.medians.append(times.median)
            if cold:
                own.cold.append(peer.time_cold(machine, cold if times.min < 0.1 else 1).median)
    gc.enable()
    return series, found
