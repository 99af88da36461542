"""Performance and endurance of the run's loop, one table: refusals, an outage, stragglers, client CPU, memory.

    python benchmarks/loop.py                      all rows, one run each (about five minutes on a quiet machine)
    python benchmarks/loop.py cap outage --runs 3  some rows, three runs each

Each row is a whole SearchQA-shaped run over HTTP with 24 places, client and server in processes of their own; `of` is
the share that the goal speaks of:

  plain       60 ms median, nothing wrong: wall time over the bound of a run with barriers
  cap         the endpoint refuses everything above 12 in flight with `Retry-After: 1`: over the bound for 12 places
  outage      503 to all for a minute, 5 s after the first call: over plain + 60 s; decisions must be those of plain
  stragglers  600 ms median: busy places of 24
  cpu         2 ms median: milliseconds of client CPU a call, and the peak of memory
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.wall_time import BARRIERS, Measured, bench, bound

OUTAGE_S = 60.0


@dataclass(frozen=True)
class Row:
    """What a case came to: `figure` beside its goal, and what else to say."""

    case: str
    run: Measured
    figure: float
    goal: str
    note: str = ""

    def __str__(self) -> str:
        run = self.run
        refused = sum(n for status, n in run.stats["statuses"].items() if status not in ("200", "0"))
        cpu = 1000 * run.ended.cpu_s / run.stats["started"]
        return (
            f"| {self.case} | {self.figure:.2f} | {self.goal} | {run.seconds:.1f} | {run.stats['started']} | {refused} "
            f"| {run.busy:.1f} | {cpu:.2f} | {run.ended.peak_rss / 1e6:.0f} | {self.note} |"
        )


HEAD = (
    "| case | figure | goal | wall s | requests | refused | busy | CPU ms a call | peak MB | |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"
)


class Cases:
    """The cases; what several need (the bound's calls, the undisturbed run) is measured once."""

    def __init__(self) -> None:
        self._barriers: Measured | None = None
        self._plain: list[Measured] = []

    def _ideal(self, width: int) -> float:
        if self._barriers is None:
            with bench(median_s=0.06) as b:
                self._barriers = b.run("barriers", *BARRIERS, quiet=True)
        return bound(self._barriers.stats["calls"], width)

    def _undisturbed(self) -> Measured:
        with bench(median_s=0.06) as b:
            self._plain.append(b.run("plain", quiet=True))
        return self._plain[-1]

    def plain(self) -> Row:
        run = self._undisturbed()
        return Row("plain", run, run.seconds / self._ideal(24), "≤ 1.0")

    def cap(self) -> Row:
        with bench(median_s=0.06, width=12, reject_above_width=True) as b:
            run = b.run("cap", quiet=True)
        ideal = self._ideal(12)
        return Row("cap", run, run.seconds / ideal, "≤ 1.3", f"bound {ideal:.1f} s; {_same(run, self._some_plain())}")

    def outage(self) -> Row:
        plain = self._some_plain()
        with bench(median_s=0.06, down_after_s=5.0, down_for_s=OUTAGE_S) as b:
            run = b.run("outage", quiet=True)
        return Row("outage", run, run.seconds / (plain.seconds + OUTAGE_S), "≤ 1.5", _same(run, plain))

    def stragglers(self) -> Row:
        with bench(median_s=0.6) as b:
            run = b.run("stragglers", quiet=True)
        return Row("stragglers", run, run.busy, "≥ 20")

    def cpu(self) -> Row:
        with bench(median_s=0.002) as b:
            run = b.run("cpu", quiet=True)
        return Row("cpu", run, 1000 * run.ended.cpu_s / run.stats["started"], "≤ 1.2")

    def _some_plain(self) -> Measured:
        return self._plain[-1] if self._plain else self._undisturbed()


def _same(run: Measured, other: Measured) -> str:
    return "same decisions" if run.decisions == other.decisions else "OTHER DECISIONS"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    names = ("plain", "cap", "outage", "stragglers", "cpu")
    parser.add_argument("cases", choices=names, nargs="*", default=list(names))
    parser.add_argument("--runs", type=int, default=1)
    asked = parser.parse_args()
    cases = Cases()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{datetime.now():%Y-%m-%d %H:%M}, load {load:.1f} on {os.cpu_count()} cores\n\n{HEAD}", flush=True)
    figures: dict[str, list[float]] = {}
    for _ in range(asked.runs):
        for name in asked.cases:
            make: Callable[[], Row] = getattr(cases, name)
            row = make()
            figures.setdefault(name, []).append(row.figure)
            print(row, flush=True)
    if asked.runs > 1:
        print("\nmedians: " + ", ".join(f"{name} {median(values):.2f}" for name, values in figures.items()))


if __name__ == "__main__":
    main()
