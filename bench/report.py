"""Results as text."""
import statistics


def short(seconds):
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if seconds * factor < 999.5:
            break
    value = seconds * factor
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def print_check(name, good, reasons):
    print(f"{name}: the same numbers from {', '.join(peer.name for peer in good)}")
    for peer, reason in reasons.items():
        print(f"  {peer} is left out: {reason}")


class Result:
    """A workload's rounds."""

    def __init__(self, name, work, model, series, found, machine, reasons, macs):
        self.name, self.work, self.series, self.reasons = name, work, series, reasons
        self.own, *self.others = series
        traffic = model.traffic()
        limits = [machine.limit(each, macs, traffic) for each in found]
        self.limit = statistics.median(seconds for seconds, _ in limits)
        self.binds = limits[0][1]
        self.macs = macs
        self.share = {peer: statistics.median(limit / taken for (limit, _), taken in zip(limits, rounds.medians))
                      for peer, rounds in series.items()}

    def ratio(self, peer):
        return self.series[peer].ratio_to(self.series[self.own])

    @property
    def best(self):
        return min(self.others, key=lambda peer: self.series[peer].median) if self.others else None

    def target(self, peer):
        found = [self.work.targets.get(name) for name in ["best"] * (peer is self.best) + [peer.name]]
        return next((f"{value:g}" for value in found if value), "")

    def print(self):
        print(f"\n{self.work.title}: {self.macs * 1e-6:.3g} million multiply-adds, limit {short(self.limit)} ({self.binds})")
        print(f"  {'':24}{'min':>9}{'median':>9}{'spread':>8}{'ratio':>7}{'wanted':>8}{'of limit':>10}{'cold':>10}")
        for peer, rounds in self.series.items():
            ratio = "" if peer is self.own else f"{self.ratio(peer):.2f}"
            cold = short(statistics.median(rounds.cold)) if rounds.cold else ""
            print(f"  {peer.name:24}{short(rounds.min):>9}{short(rounds.median):>9}{rounds.spread:>7.0%} {ratio:>7}"
                  f"{self.target(peer):>8}{self.share[peer]:>10.0%}{cold:>10}", flush=True)
        for peer, reason in self.reasons.items():
            print(f"  {peer} is left out: {reason}")


def print_summary(results, machine, made):
    print(f"\nThe machine, median of all rounds: {machine.text()}")
    print("Versions: " + ", ".join(f"{peer.name} {peer.version}" for peer in made))
    print(f"\n  {'':26}{'modc':>9}{'best peer':>11}  {'':24}{'ratio':>6}{'wanted':>8}")
    for result in results:
        if result.best:
            print(f"  {result.work.title:26}{short(result.series[result.own].median):>9}"
                  f"{short(result.series[result.best].median):>11}  {result.best.name:24}{result.ratio(result.best):>6.2f}"
                  f"{result.target(result.best):>8}")
