"""What each mechanism is worth: one change a row against the shipped configuration, in the simulated world.

    python benchmarks/ablations.py                              all rows of ablations.yaml, seeds 1 to 10
    python benchmarks/ablations.py --rows "paired gate" "gate off" --seeds 1 2 3
    python benchmarks/ablations.py --world noise=0.1 insight=0

Every row runs in the same worlds with the same seeds as the base, so differences are paired: their mean, the 95 %
t-interval over the seeds, and how many seeds gained and lost. What a mechanism of the optimizer can be worth here
depends on what the simulated optimizer makes of it (`Params`: insight, readout, reminder, heed, judgement); what the
gate, the budget and the calls come to does not.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.search_quality import Result, parse_world
from benchmarks.world import Params
from benchmarks.world_runs import refused, run

TABLE = Path(__file__).with_name("ablations.yaml")
SIZES = {"train": 100, "val": 100, "test": 10}


@dataclass(frozen=True)
class Row:
    """One change: configuration on top of the base, parameters of the world on top of the given ones."""

    name: str
    overrides: Mapping[str, Any]
    world: Mapping[str, Any]


def read_rows(table: Mapping[str, Any]) -> list[Row]:
    """The base and all rows, the base first."""
    base: dict[str, Any] = table["base"]
    rows = [Row("base", base, {})]
    for name, fields in table["rows"].items():
        rows.append(Row(name, {**base, **fields.get("set", {})}, fields.get("world", {})))
    return rows


def one(row: Row, seed: int, changes: Mapping[str, Any]) -> Result:
    """Run a row once. Raises what the trainer raises."""
    params = Params.of({**changes, **row.world, "seed": seed})
    ended = run(params, {**row.overrides, "train.seed": seed}, sizes=SIZES)
    return Result(**{name: getattr(ended, name) for name in Result.__annotations__})


def t_quantile(p: float, freedom: int) -> float:
    """Quantile of Student's t for p > 0.5, by bisection on its distribution function (Simpson's rule)."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def density(x: float) -> float:
        return scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)

    def above_half(x: float, steps: int = 400) -> float:
        h = x / steps
        inner = math.fsum((4 if n % 2 else 2) * density(n * h) for n in range(1, steps))
        return (density(0) + density(x) + inner) * h / 3

    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if above_half(middle) < p - 0.5 else (low, middle)
    return high


def interval(differences: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of paired differences; the whole line for a single one."""
    if len(differences) < 2:
        return -math.inf, math.inf
    mean, error = statistics.fmean(differences), statistics.stdev(differences) / math.sqrt(len(differences))
    half = t_quantile((1 + confidence) / 2, len(differences) - 1) * error
    return mean - half, mean + half


HEADER = (
    "| change | true, mean | worst | worth: difference, 95 % interval | seeds up / down | accepted | useful | harmful "
    "| target calls | optimizer calls |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def line(name: str, results: Sequence[Result], base: Sequence[Result]) -> str:
    """A row of the table. Calls are the mean and its ratio to the base."""
    differences = [r.true - b.true for r, b in zip(results, base, strict=True)]
    low, high = interval(differences)
    worth = "" if results is base else f"{statistics.fmean(differences):+.3f} [{low:+.3f}, {high:+.3f}]"
    moved = "" if results is base else f"{sum(d > 0 for d in differences)} / {sum(d < 0 for d in differences)}"

    def mean(field: str) -> float:
        return statistics.fmean(getattr(r, field) for r in results)

    def calls(field: str) -> str:
        before = statistics.fmean(getattr(b, field) for b in base)
        return f"{mean(field):,.0f}" + ("" if results is base else f" ({mean(field) / before:.2f}×)")

    return (
        f"| {name} | {mean('true'):.3f} | {min(r.true for r in results):.3f} | {worth} | {moved} "
        f"| {mean('accepted'):.1f} | {mean('useful'):.1f} | {mean('harmful'):.1f} "
        f"| {calls('target_calls')} | {calls('optimizer_calls')} |"
    )


def read_kept(path: Path | None, asked: Mapping[str, Any]) -> dict[str, list[Result]]:
    """Rows of an earlier call with the same seeds, base and world, so that a long table can be made in parts."""
    if path is None or not path.exists():
        return {}
    before = json.loads(path.read_text())
    if {name: before.get(name) for name in asked} != dict(asked):
        raise SystemExit(f"{path} holds results of other seeds, another base or another world; name another file")
    return {name: [Result(**r) for r in results] for name, results in before["rows"].items()}


def main() -> None:
    """Print the table, a line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", help="names; all by default. The base always runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(1, 11)))
    parser.add_argument("--world", nargs="+", default=[], help="world parameters, name=value")
    parser.add_argument("--base", help="settings on top of the base, a YAML mapping")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file for every single result; its rows are not run again")
    options = parser.parse_args()
    changes = parse_world(options.world)
    table = yaml.safe_load(TABLE.read_text())
    table["base"].update(yaml.safe_load(options.base) if options.base else {})
    print(
        f"{len(options.seeds)} seeds; base {table['base']}; world {changes or 'as calibrated'}\n\n{HEADER}", flush=True
    )
    asked = {"seeds": options.seeds, "base": table["base"], "world": changes}
    kept = read_kept(options.json, asked)
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in read_rows(table):
            if options.rows and row.name not in (*options.rows, "base"):
                continue
            reason = refused(row.overrides)
            if reason:
                print(f"| {row.name} | skipped: {reason} |", flush=True)
                continue
            if row.name not in kept:
                n = len(options.seeds)
                kept[row.name] = list(pool.map(one, [row] * n, options.seeds, [changes] * n))
            print(line(row.name, kept[row.name], kept["base"]), flush=True)
            if options.json:
                rows = {name: [asdict(r) for r in results] for name, results in kept.items()}
                options.json.write_text(json.dumps({**asked, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
