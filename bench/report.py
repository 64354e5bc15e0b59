"""Results as text, CSV and one plot."""
import csv
import datetime
import statistics

import clock

# One for each peer; what has no line here is black.
COLOURS = {"ONNX Runtime": "#0072b2", "plain loops, gcc": "#e6c39c", "plain loops, gcc, fast": "#d55e00",
           "plain loops, clang": "#d9c2d0", "plain loops, clang, fast": "#cc79a7", "PyTorch eager": "#999999",
           "torch.compile": "#56b4e9", "AOTInductor": "#009e73"}


def short(seconds):
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if seconds * factor < 999.5:
            break
    value = seconds * factor
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def print_check(title, good, reasons):
    print(f"{title}: the same numbers from {', '.join(peer.name for peer in good)}")
    print_reasons(reasons)


def print_reasons(reasons):
    for name, reason in reasons.items():
        print(f"  {name} is left out: {reason}", flush=True)


class Result:
    """The rounds of one model: `series` by the peers' names, of which the first is modc. `targets` are the ratios to reach,
    by name or for the "best" of those that are not modc."""

    def __init__(self, title, targets, series, found, traffic, macs, reasons, predicted=None):
        self.predicted = predicted  # seconds, as modc has it
        self.title, self.targets, self.series, self.reasons, self.macs = title, targets, series, reasons, macs
        self.own, *self.others = series
        limits = [clock.Machine.limit(each, macs, traffic) for each in found]
        self.limit = statistics.median(seconds for seconds, _ in limits)
        self.binds = limits[0][1]
        self.share = {name: statistics.median(limit / taken for (limit, _), taken in zip(limits, rounds.medians))
                      for name, rounds in series.items()}
        self.best = min((name for name in self.others if not name.startswith("modc")),
                        key=lambda name: series[name].median, default=None)

    def ratios(self, name):
        return self.series[name].ratios_to(self.series[self.own])

    def ratio(self, name):
        return statistics.median(self.ratios(name))

    def off(self):
        """How many times as long as the shortest call modc thinks that one takes."""
        return self.predicted / self.series[self.own].min

    def wanted(self, name):
        """The ratio to reach as text; empty if there is none."""
        found = self.targets.get(name) or (self.targets.get("best") if name == self.best else None)
        return f"{found:g}" if found else ""

    def print(self):
        print(f"\n{self.title}: {self.macs * 1e-6:.3g} million multiply-adds, limit {short(self.limit)} ({self.binds})")
        print(f"  {'':24}{'min':>9}{'median':>9}{'spread':>8}{'ratio':>7}{'wanted':>8}{'of limit':>10}{'cold':>9}{'ratio':>7}")
        for name, rounds in self.series.items():
            other = name != self.own
            ratio = f"{self.ratio(name):.2f}" if other else ""
            cold = short(statistics.median(rounds.cold)) if rounds.cold else ""
            cold_ratio = f"{rounds.cold_ratio_to(self.series[self.own]):.2f}" if other and rounds.cold else ""
            print(f"  {name:24}{short(rounds.min):>9}{short(rounds.median):>9}{rounds.spread:>7.0%} {ratio:>7}"
                  f"{self.wanted(name):>8}{self.share[name]:>10.0%}{cold:>9}{cold_ratio:>7}")
        print_reasons(self.reasons)


class Setting:
    """What a table of results has to say beside its figures."""

    def __init__(self, made, machine, args):
        self.date, self.rounds = datetime.date.today().isoformat(), args.rounds
        self.cpu = clock.name_of_cpu()
        self.clock = "CPU time" if args.cpu_time else "wall time"
        self.machine = machine.text()
        self.versions = ", ".join(dict.fromkeys(peer.version for peer in made))

    def lines(self):
        return [f"{self.date}, {self.cpu}, one core, {self.clock}, {self.rounds} rounds", self.machine, self.versions]


def print_summary(results, setting):
    print("\n" + "\n".join(setting.lines()))
    print(f"\n  {'':26}{'modc':>9}{'best peer':>11}  {'':24}{'ratio':>6}{'wanted':>8}")
    for result in results:
        if result.best:
            print(f"  {result.title:26}{short(result.series[result.own].median):>9}"
                  f"{short(result.series[result.best].median):>11}  {result.best:24}{result.ratio(result.best):>6.2f}"
                  f"{result.wanted(result.best):>8}")


def write_csv(path, results, setting):
    """A line for each peer of each result; times in seconds."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for line in setting.lines():
            file.write(f"# {line}\n")
        writer.writerow(["model", "peer", "rounds", "min", "median", "spread", "ratio", "ratio low", "ratio high", "wanted",
                         "million multiply-adds", "limit", "limited by", "share of limit", "cold", "cold ratio", "predicted"])
        for result in results:
            for name, series in result.series.items():
                low, high = clock.inner(result.ratios(name))
                cold = [f"{statistics.median(series.cold):.4g}",
                        f"{series.cold_ratio_to(result.series[result.own]):.3f}"] if series.cold else ["", ""]
                writer.writerow([result.title, name, len(series.mins), f"{series.min:.4g}", f"{series.median:.4g}",
                                 f"{series.spread:.3f}", f"{result.ratio(name):.3f}", f"{low:.3f}", f"{high:.3f}",
                                 result.wanted(name), f"{result.macs * 1e-6:.4g}", f"{result.limit:.4g}", result.binds,
                                 f"{result.share[name]:.3f}", *cold,
                                 f"{result.predicted:.4g}" if name == result.own and result.predicted else ""])
            for name, reason in result.reasons.items():
                writer.writerow([result.title, name, "", f"left out: {reason}"])


def plot(path, results, setting):
    """One line for each model: how many times as long as modc the others take. Writes path.png and path.svg."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "modc", "font.size": 9, "svg.fonttype": "none"})
    figure, axes = pyplot.subplots(figsize=(9, 1.6 + 0.42 * len(results)), layout="constrained")
    seen = {}
    for row, result in enumerate(results):
        axes.axhline(row, color="0.92", zorder=0)
        for name in result.others:
            low, high = clock.inner(result.ratios(name))
            colour = COLOURS.get(name, "black")
            axes.plot([low, high], [row, row], color=colour, linewidth=2, solid_capstyle="butt")
            seen[name], = axes.plot(result.ratio(name), row, "o", color=colour, markersize=7, linestyle="none")
        if result.targets.get("best"):
            seen["to be reached by the best"], = axes.plot(result.targets["best"], row, "|", color="black", markersize=13,
                                                           markeredgewidth=1.5, linestyle="none")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.set_yticks(range(len(results)), [f"{result.title}\n{short(result.series[result.own].median)}" for result in results])
    axes.set_ylim(len(results) - 0.5, -0.5)
    axes.set_xlabel("time divided by modc's time, which stands below the name (1 core, float32)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    figure.legend(seen.values(), seen.keys(), loc="outside right center", frameon=False)
    figure.suptitle("\n".join(setting.lines()), fontsize=8, color="0.3", x=0.01, ha="left")
    for ending, metadata in (("png", {}), ("svg", {"Date": None})):
        figure.savefig(f"{path}.{ending}", dpi=150, metadata=metadata)
    pyplot.close(figure)
