"""Calls, wall time, busy places, client CPU and memory of the SearchQA-shaped run.

    python benchmarks/wall_time.py calls            target calls: early gate, both orders, against the full gate
    python benchmarks/wall_time.py bound            wall time at 60 ms median against the sum of ideal stages; 5 % 429
    python benchmarks/wall_time.py overlap          at 600 ms median: against barriers and a full gate; busy places

The client runs in a process of its own, the server in another. The bound is that of a run with barriers: for each stage
the larger of (sum of its latencies / 24) and its longest latency, summed over all stages, from the latencies the server
drew for exactly the calls that a run without speculation made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.searchqa_shaped import write_config, write_data
from skillopt.testing.zygote import Ended, Zygote

WIDTH = 24
BARRIERS = ("evaluation.prefetch=false",)
FULL_GATE = ("evaluation.gate_early_stop=false",)


@dataclass(frozen=True)
class Measured:
    """One run: what it took, what the server saw, what it decided."""

    name: str
    seconds: float
    ended: Ended
    stats: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    ledger: Sequence[Mapping[str, Any]]
    timings: Mapping[str, Any]

    @property
    def target_calls(self) -> int:
        """Calls of the target that were billed."""
        return sum(r["calls"] for r in self.ledger if r["role"] == "target" and r["stage"] != "probe")

    @property
    def decisions(self) -> list[tuple[str, Any]]:
        """Action and candidate of every step."""
        return [(r["action"], r["candidate_hash"]) for r in self.history]

    @property
    def busy(self) -> float:
        """Mean number of busy places between the first arrival and the last answer."""
        log = self.stats["log"]
        return sum(end - start for start, end, _ in log) / (max(e for _, e, _ in log) - min(s for s, _, _ in log))

    def __str__(self) -> str:
        calls = self.stats["started"]
        return (
            f"{self.name}: {self.seconds:.1f} s, {calls} requests ({self.target_calls} target calls billed), "
            f"{self.busy:.1f} places busy, CPU {1000 * self.ended.cpu_s / calls:.2f} ms a call, "
            f"peak {self.ended.peak_rss / 1e6:.0f} MB"
        )


class Bench:
    """One server with one behaviour, and runs against it."""

    def __init__(self, zygote: Zygote, scratch: Path, url: str) -> None:
        self._zygote, self._scratch, self._url = zygote, scratch, url
        self._config = write_config(scratch / "config.yaml", write_data(scratch / "data"), url)
        self._number = itertools.count()

    def run(self, name: str, *overrides: str, quiet: bool = False) -> Measured:
        """One training run into a new directory."""
        self._stats()
        root = self._scratch / f"run{next(self._number)}"
        began = time.monotonic()
        ended = self._zygote.run(["train", "--config", str(self._config), f"env.out_root={root}", *overrides])
        seconds = time.monotonic() - began
        if ended.code != 0:
            raise RuntimeError(ended.err or ended.out[-2000:])
        history, ledger, timings = (
            json.loads((root / path).read_text()) for path in ("history.json", "logs/ledger.json", "logs/timings.json")
        )
        measured = Measured(name, seconds, ended, self._stats(), history, ledger["calls"], timings)
        if not quiet:
            print(measured, flush=True)
        return measured

    def _stats(self) -> Any:
        with urllib.request.urlopen(self._url.removesuffix("/v1") + "/stats") as reply:
            return json.load(reply)


@contextmanager
def bench(**behaviour: float):
    """A server in its own process, a zygote, a scratch directory."""
    command = [sys.executable, str(Path(__file__).with_name("searchqa_shaped.py"))]
    for name, value in behaviour.items():
        flag = f"--{name.replace('_', '-')}"
        command += [flag] if value is True else [flag, str(value)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as scratch, Zygote(Path(scratch)) as zygote:
            yield Bench(zygote, Path(scratch), url)
    finally:
        server.terminate()
        server.wait()


def bound(calls: Sequence[tuple[float, str, float]], width: int = WIDTH) -> float:
    """Σ over stages of the ideal makespan, seconds; `calls` are those of a run with barriers."""
    total = 0.0
    for _, group in itertools.groupby(sorted(calls), key=lambda c: c[1]):
        latencies = [latency for _, _, latency in group]
        total += max(sum(latencies) / width, max(latencies))
    return total


def calls() -> None:
    """Target calls of an early gate against a full one."""
    with bench(median_s=0.002) as b:
        full = b.run("full gate", *FULL_GATE, *BARRIERS)
        for order in ("failures_first", "file"):
            early = b.run(f"early gate, {order}", f"evaluation.gate_order={order}", *BARRIERS)
            ratio = early.target_calls / full.target_calls
            gates = [sum(r["calls"] for r in m.ledger if r["stage"] == "gate") for m in (early, full)]
            same = early.decisions == full.decisions
            print(f"  {ratio:.3f} of the target calls, {gates[0] / gates[1]:.3f} of the gate's; same verdicts: {same}")
        early = b.run("early gate, prefetch (default)")
        print(f"  {early.target_calls / full.target_calls:.3f} of the target calls with speculation")
        print("  actions:", " ".join(a for a, _ in full.decisions))


def wall() -> None:
    """Wall time at 60 ms against the bound."""
    with bench(median_s=0.06) as b:
        barrier = b.run("barriers, early gate", *BARRIERS)
        ideal = bound(barrier.stats["calls"])
        print(f"  bound {ideal:.1f} s; {barrier.seconds / ideal:.3f} of it")
        for n in range(3):
            default = b.run(f"default #{n + 1}")
            print(f"  {default.seconds / ideal:.3f} of the bound")
    for retry_after in (1.0, 0.1):
        with bench(median_s=0.06, rate_429=0.05, retry_after_s=retry_after) as b:
            limited = b.run(f"default, 5 % 429, Retry-After {retry_after:g}")
            print(f"  {limited.seconds / ideal:.3f} of the bound without refusals")


def overlap() -> None:
    """At 600 ms: the default against barriers with a full gate."""
    with bench(median_s=0.6) as b:
        default = b.run("default")
        plain = b.run("barriers, full gate", *BARRIERS, *FULL_GATE)
        print(f"  {default.seconds / plain.seconds:.3f} of it; same verdicts: {default.decisions == plain.decisions}")
        print("  stage seconds:", json.dumps(stage_seconds(default.timings)))


def stage_seconds(timings: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by stage, all steps together."""
    sums: dict[str, float] = dict(timings["stages"])
    for step in timings["steps"].values():
        for name, value in step.items():
            sums[name] = sums.get(name, 0.0) + value
    return {name: round(value, 1) for name, value in sums.items()}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=["calls", "bound", "overlap"], nargs="*", default=["calls", "bound"])
    for what in parser.parse_args().what:
        {"calls": calls, "bound": wall, "overlap": overlap}[what]()


if __name__ == "__main__":
    main()
