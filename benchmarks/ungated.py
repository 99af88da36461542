"""The ungated stress case: an optimizer that proposes plausible harmful rules only, for five epochs.

    python benchmarks/ungated.py [--seeds 1 2 3 4 5]

With a gate the run must end with the very text it began with; with `evaluation.use_gate=false` every candidate is kept,
and the table shows where that ends. `best` is the product, `current` the skill that the last step left.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.search_quality import parse_world
from benchmarks.world import Params, World
from benchmarks.world_rules import WORDINGS
from benchmarks.world_runs import refused, run

EPOCHS = 5
MALICE = {"p_useful": 0.0, "p_useless": 0.0, "p_harmful": 1.0, "p_success_edit": 1.0}
ARMS: dict[str, dict[str, Any]] = {
    "strict gate": {"evaluation.gate_rule": "strict"},
    "paired gate": {"evaluation.gate_rule": "paired"},
    "no gate": {"evaluation.use_gate": False},
}


HEADER = (
    "| arm | seeds | true at the start | best, mean | best, worst | same text | current, mean | current, worst "
    "| harmful in current | accepted of steps |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass(frozen=True)
class Result:
    """One run."""

    start: float
    best: float
    current: float
    unchanged: bool
    harmful_in_current: int
    accepted: int
    steps: int


def one(overrides: dict[str, Any], seed: int, changes: dict[str, Any]) -> Result:
    """Train from a skill that holds three useful rules."""
    params = Params.of({**MALICE, **changes, "seed": seed})
    world = World(params)
    initial = "# Tickets\n\n" + "".join(f"- {WORDINGS[0].format(code=rule.code)}\n" for rule in world.useful[:3])
    ended = run(params, {"train.num_epochs": EPOCHS, "train.seed": seed, **overrides}, initial=initial)
    return Result(
        start=world.truth(initial),
        best=ended.true,
        current=world.truth(ended.current),
        unchanged=ended.skill == initial,
        harmful_in_current=world.holds(ended.current, "harmful"),
        accepted=ended.accepted,
        steps=ended.steps,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--world", nargs="+", default=[], help="world parameters, name=value")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    changes = parse_world(options.world)
    print(HEADER, flush=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, overrides in ARMS.items():
            reason = refused(overrides)
            if reason:
                print(f"| {name} | skipped: {reason} |", flush=True)
                continue
            n = len(options.seeds)
            results = list(pool.map(one, [overrides] * n, options.seeds, [changes] * n))
            mean = {f: statistics.fmean(getattr(r, f) for r in results) for f in Result.__annotations__}
            print(
                f"| {name} | {n} | {mean['start']:.3f} | {mean['best']:.3f} | {min(r.best for r in results):.3f} "
                f"| {sum(r.unchanged for r in results)} of {n} | {mean['current']:.3f} "
                f"| {min(r.current for r in results):.3f} | {mean['harmful_in_current']:.1f} "
                f"| {mean['accepted']:.1f} of {mean['steps']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
