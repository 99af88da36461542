"""How good a skill does a search end with, at equal target calls, where the truth is known?

    python benchmarks/search_quality.py                                  all arms of search_arms.yaml, seeds 1 to 5
    python benchmarks/search_quality.py --arms published --seeds 1 2 3
    python benchmarks/search_quality.py --add 'mine: {evaluation.gate_rule: paired}' --arms mine
    python benchmarks/search_quality.py --world noise=0.08 harm=0.1      another world

400 training, 200 selection and 200 test items, eight hidden rules, true accuracy 0.41 at the start, 5,840 target calls:
5,240 before the sealed test and 600 for it (three skills; an arm that tests fewer makes fewer). A seed is another world
(other items, other rules) and another run in it, the same for every arm.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gepa_like
from benchmarks.world import Params, World
from benchmarks.world_runs import SIZES, Ended, refused, run

CALLS, TEST_CALLS = 5_840, 600
ARMS = Path(__file__).with_name("search_arms.yaml")


@dataclass(frozen=True)
class Arm:
    """A named way to search. `search` is blank for the trainer."""

    name: str
    overrides: Mapping[str, Any]
    search: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, fields: Mapping[str, Any]) -> Arm:
        """An entry of the table."""
        overrides = {key: value for key, value in fields.items() if key not in ("if_built", "search")}
        arm = cls(name, overrides, str(fields.get("search") or ""))
        for key, value in dict(fields.get("if_built") or {}).items():
            reason = refused({**arm.overrides, key: value})
            if reason:
                arm = replace(arm, notes=(*arm.notes, f"without {key}={value}: {reason}"))
            else:
                arm = replace(arm, overrides={**arm.overrides, key: value})
        return arm


@dataclass(frozen=True)
class Result:
    """One seed of one arm."""

    true: float
    claimed: float | None
    useful: int
    useless: int
    harmful: int
    accepted: int
    steps: int
    target_calls: int
    optimizer_calls: int
    seconds: float


def one(arm: Arm, seed: int, changes: Mapping[str, Any]) -> Result:
    """Run an arm once. Raises what the trainer raises."""
    params = Params.of({**changes, "seed": seed})
    if arm.search == "gepa_like":
        return _peer(World(params), seed)
    ended: Ended = run(params, {**arm.overrides, "train.seed": seed}, calls=CALLS)
    return Result(**{name: getattr(ended, name) for name in Result.__annotations__})


def _peer(world: World, seed: int) -> Result:
    train, validation = range(SIZES["train"]), range(SIZES["train"], SIZES["train"] + SIZES["val"])
    found = gepa_like.search(world, train, validation, calls=CALLS - TEST_CALLS, seed=seed)
    kinds = [world.by_code[code].kind for code in found.best.codes]
    return Result(
        true=world.true_accuracy(found.best.codes),
        claimed=found.best.score,
        useful=kinds.count("useful"),
        useless=kinds.count("useless"),
        harmful=kinds.count("harmful"),
        accepted=found.accepted,
        steps=found.iterations,
        target_calls=found.target_calls,
        optimizer_calls=found.optimizer_calls,
        seconds=0.0,
    )


HEADER = (
    "| arm | seeds | true, mean | worst | best | claimed | accepted | steps | useful | useless | harmful "
    "| target calls | optimizer calls | seconds |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def row(name: str, results: Sequence[Result]) -> str:
    """A line of the table; numbers without a word are means over the seeds."""

    def mean(field: str, digits: int = 1) -> str:
        values = [getattr(r, field) for r in results if getattr(r, field) is not None]
        return f"{statistics.fmean(values):,.{digits}f}" if values else "-"

    true = [r.true for r in results]
    return (
        f"| {name} | {len(results)} | **{statistics.fmean(true):.3f}** | {min(true):.3f} | {max(true):.3f} "
        f"| {mean('claimed', 3)} | {mean('accepted')} | {mean('steps')} | {mean('useful')} | {mean('useless')} "
        f"| {mean('harmful')} | {mean('target_calls', 0)} | {mean('optimizer_calls', 0)} | {mean('seconds')} |"
    )


def read_arms(added: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The table with arms from the command line (YAML mappings) on top."""
    table: dict[str, Mapping[str, Any]] = yaml.safe_load(ARMS.read_text())
    for text in added:
        table.update(yaml.safe_load(text))
    return table


def parse_world(words: Iterable[str]) -> dict[str, Any]:
    """`name=value` pairs."""
    return {name: yaml.safe_load(value) for name, value in (word.split("=", 1) for word in words)}


def main() -> None:
    """Print the table, one line an arm as it is done; `--json` keeps every seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", help="names; all of the table by default")
    parser.add_argument(
        "--add", action="append", default=[], help="a further arm as YAML: 'name: {section.key: value}'"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--world", nargs="+", default=[], help="world parameters, name=value")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once")
    parser.add_argument("--json", type=Path, help="file for every single result")
    options = parser.parse_args()
    changes = parse_world(options.world)
    world = World(Params.of(changes))
    print(f"start {world.true_accuracy(()):.3f}, ceiling {world.ceiling:.3f}, {CALLS:,} target calls at most\n")
    print(HEADER, flush=True)
    kept: dict[str, list[dict[str, Any]]] = {}
    table = read_arms(options.add)
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in options.arms or list(table):
            arm = Arm.of(name, table[name])
            reason = "" if arm.search else refused(arm.overrides)
            if reason:
                print(f"| {name} | skipped: {reason} |", flush=True)
                continue
            results = list(pool.map(one, [arm] * len(options.seeds), options.seeds, [changes] * len(options.seeds)))
            print(row(name, results), flush=True)
            for note in arm.notes:
                print(f"  ({name} {note})", flush=True)
            kept[name] = [{"seed": s, **vars(r)} for s, r in zip(options.seeds, results, strict=True)]
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
