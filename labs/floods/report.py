"""The outcome of a flood: responses, the other client's latency, memory, and broken promises."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIMIT = 0.8  # share of its memory limit that a container may use


@dataclass
class Outcome:
    """The observations of a flood's clients."""

    name: str
    responses: Counter[str] = field(default_factory=Counter)  # status, "held", "cut", "late", "refused"
    other: list[float] = field(default_factory=list)  # seconds of each response to the other client
    # The other client's results other than a complete 200 within 10 s.
    failed: Counter[str] = field(default_factory=Counter)
    # Service -> (second, share of its limit).
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    began: float = 0.0
    ended: float = 0.0
    killed: list[str] = field(default_factory=list)  # log lines about a killed process

    @property
    def p95(self) -> float:
        """The other client's 95th percentile, in milliseconds."""
        times = sorted(self.other)
        return times[int(0.95 * (len(times) - 1))] * 1000 if times else float("nan")

    def peak(self, service: str) -> float:
        """Return the largest share of its limit that a service used."""
        return max((share for _, share in self.memory.get(service, [])), default=0.0)

    @property
    def faults(self) -> list[str]:
        """Return the broken promises, one sentence each."""
        found = []
        if cut := self.responses["cut"]:
            found.append(f"{cut} responses cut short")
        if self.failed:
            total = len(self.other) + self.failed.total()
            found.append(f"requests of the other client failed: {dict(self.failed)} of {total}")
        found += [
            f"{name} used {self.peak(name):.0%} of its memory"
            for name in self.memory
            if self.peak(name) > LIMIT
        ]
        return found + self.killed

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {what}" for what, count in sorted(self.responses.items()))
        memory = ", ".join(f"{name} {self.peak(name):.0%}" for name in self.memory)
        seconds = self.ended - self.began
        line = f"{self.name:6} {seconds:5.1f} s  {told}; other p95 {self.p95:.0f} ms; memory peak {memory}"
        return line + "".join(f"\n       FAULT: {fault}" for fault in self.faults)


def plot(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw the memory of each service during each flood, as shares of the limits."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    columns = min(3, len(outcomes))
    rows = -(-len(outcomes) // columns)
    figure = pyplot.figure(figsize=(3.4 * columns, 2.6 * rows))
    for number, outcome in enumerate(outcomes, 1):
        axis = figure.add_subplot(rows, columns, number)
        for service, samples in outcome.memory.items():
            axis.plot(*zip(*samples, strict=True), label=service)
        axis.axhline(LIMIT, linestyle=":", color="grey")
        axis.set(title=outcome.name, xlabel="seconds", ylabel="share of the limit", ylim=(0, 1))
        axis.yaxis.set_major_formatter("{x:.0%}")
    figure.axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)
