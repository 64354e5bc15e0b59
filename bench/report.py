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


def print_check(name, good, reasons):
    print(f"{name}: the same numbers from {', '.join(peer.name for peer in good)}")
    print_reasons(reasons)


def print_reasons(reasons):
    for peer, reason in reasons.items():
        print(f"  {peer} is left out: {reason}", flush=True)


class Result:
    """The rounds of one model. The first peer is modc."""

    def __init__(self, title, targets, series, found, traffic, macs, reasons):
        self.title, self.targets, self.series, self.reasons, self.macs = title, targets, series, reasons, macs
        self.own, *self.others = series
        limits = [clock.Machine.limit(each, macs, traffic) for each in found]
        self.limit = statistics.median(seconds for seconds, _ in limits)
        self.binds = limits[0][1]
        self.share = {peer: statistics.median(limit / taken for (limit, _), taken in zip(limits, rounds.medians))
                      for peer, rounds in series.items()}

    def ratios(self, peer):
        return self.series[peer].ratios_to(self.series[self.own])

    def ratio(self, peer):
        return statistics.median(self.ratios(peer))

    @property
    def best(self):
        return min(self.others, key=lambda peer: self.series[peer].median, default=None)

    def wanted(self, peer):
        """The ratio to reach, or None."""
        return self.targets.get(peer.name) or (self.targets.get("best") if peer is self.best else None)

    def wanted_text(self, peer):
        return f"{self.wanted(peer):g}" if self.wanted(peer) else ""

    def print(self):
        print(f"\n{self.title}: {self.macs * 1e-6:.3g} million multiply-adds, limit {short(self.limit)} ({self.binds})")
        print(f"  {'':24}{'min':>9}{'median':>9}{'spread':>8}{'ratio':>7}{'wanted':>8}{'of limit':>10}{'cold':>9}{'ratio':>7}")
        for peer, rounds in self.series.items():
            other = peer is not self.own
            ratio = f"{self.ratio(peer):.2f}" if other else ""
            cold = short(statistics.median(rounds.cold)) if rounds.cold else ""
            cold_ratio = f"{rounds.cold_ratio_to(self.series[self.own]):.2f}" if other and rounds.cold else ""
            print(f"  {peer.name:24}{short(rounds.min):>9}{short(rounds.median):>9}{rounds.spread:>7.0%} {ratio:>7}"
                  f"{self.wanted_text(peer):>8}{self.share[peer]:>10.0%}{cold:>9}{cold_ratio:>7}")
        print_reasons(self.reasons)


class Setting:
    """What a table of results has to say beside its figures."""

    def __init__(self, made, machine):
        self.date = datetime.date.today().isoformat()
        self.cpu = clock.name_of_cpu()
        self.machine = machine.text()
        versions = {"PyTorch" if "orch" in peer.name or peer.name == "AOTInductor" else
                    "emx-onnx-cgen" if peer.name.startswith("plain loops") else peer.name: peer.version for peer in made}
        self.versions = ", ".join(f"{name} {version}" for name, version in versions.items())

    def lines(self):
        return [f"{self.date}, {self.cpu}, one core", self.machine, self.versions]


def print_summary(results, setting):
    print("\n" + "\n".join(setting.lines()))
    print(f"\n  {'':26}{'modc':>9}{'best peer':>11}  {'':24}{'ratio':>6}{'wanted':>8}")
    for result in results:
        if result.best:
            print(f"  {result.title:26}{short(result.series[result.own].median):>9}"
                  f"{short(result.series[result.best].median):>11}  {result.best.name:24}{result.ratio(result.best):>6.2f}"
                  f"{result.wanted_text(result.best):>8}")


def write_csv(path, results, setting, rounds):
    """A line for each peer of each result; times in seconds."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for line in setting.lines():
            file.write(f"# {line}\n")
        writer.writerow(["model", "peer", "rounds", "min", "median", "spread", "ratio", "ratio low", "ratio high", "wanted",
                         "million multiply-adds", "limit", "limited by", "share of limit", "cold", "cold ratio"])
        for result in results:
            for peer, series in result.series.items():
                low, high = clock.inner(result.ratios(peer))
                cold = [f"{statistics.median(series.cold):.4g}",
                        f"{series.cold_ratio_to(result.series[result.own]):.3f}"] if series.cold else ["", ""]
                writer.writerow([result.title, peer.name, rounds, f"{series.min:.4g}", f"{series.median:.4g}",
                                 f"{series.spread:.3f}", f"{result.ratio(peer):.3f}", f"{low:.3f}", f"{high:.3f}",
                                 result.wanted_text(peer), f"{result.macs * 1e-6:.4g}", f"{result.limit:.4g}", result.binds,
                                 f"{result.share[peer]:.3f}", *cold])
            for peer, reason in result.reasons.items():
                writer.writerow([result.title, peer, "", f"left out: {reason}"])


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
        for peer in result.others:
            low, high = clock.inner(result.ratios(peer))
            colour = COLOURS.get(peer.name, "black")
            axes.plot([low, high], [row, row], color=colour, linewidth=2, solid_capstyle="butt")
            seen[peer.name], = axes.plot(result.ratio(peer), row, "o", color=colour, markersize=7, linestyle="none")
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
