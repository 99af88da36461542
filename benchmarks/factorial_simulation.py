"""The factorial search in worlds with known truth: `python -m benchmarks.factorial_simulation noisy --seeds 10`."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import fields, replace

from benchmarks.factorial_edits import EditWorld
from benchmarks.factorial_worlds import SHAPES, World
from skillopt.config.derived import factorial_calls
from skillopt.core.editing.edit import Edit
from skillopt.optimizer.factorial.compose import relations, unusable
from skillopt.optimizer.factorial.pool import Proposal
from skillopt.optimizer.factorial.search import Ask, Search, Settings


def run(world: World, settings: Settings, seed: int) -> dict[str, float]:
    """One search in one world."""
    search = Search(world.items, settings, seed)
    waiting: list[Ask] = []
    while not search.done and not search.settled:
        edits = _edits(search)
        trials = [replace(t, subset=world.in_force(edits, t.subset)) for t in search.plan()]
        scores = [world.score(t.item, world.lines(edits, t.subset), t.draw) for t in trials]
        search.record(trials, scores)
        _answer(world, search, waiting)
        waiting = search.asks()
        if not search.pool.factors:  # there is nothing to try yet, so nothing to do beside the call
            _answer(world, search, waiting)
            waiting = []
    edits = _edits(search)
    lines = world.lines(edits, search.final())
    texts = [edit.content for edit in edits.values() if edit.content]
    ideas = world.ideas(lines)
    kinds = [kind for kind, _ in ideas]
    return {
        "truth": world.truth(lines),
        "ceiling": world.ceiling,
        "pool": len(edits),
        "distinct": len({world.idea_of[t] for t in texts}),
        "lines": len(lines),
        "useful": kinds.count("useful"),
        "found": len({world.idea_of[t] for t in texts if world.idea_of[t][0] == "useful"}),
        "harmful": kinds.count("harmful"),
        "calls": search.asked,
        "rollouts": search.made,
    }


def _edits(search: Search) -> dict[int, Edit]:
    return {f.number: f.edit for f in search.pool.factors}


def _answer(world: World, search: Search, asks: list[Ask]) -> None:
    """The optimizer's answers of one round join the pool."""
    edits = _edits(search)
    proposals: list[Proposal] = []
    for ask in asks:
        shown = [(t.item, world.lines(edits, t.subset)) for t in ask.failures]
        proposals += world.propose(ask.number, shown, world.lines(edits, ask.believed))
    if world.base.text:
        pool = list(edits.values())
        proposals = [p for p in proposals if not unusable(world.base, p.edit, pool)]
    if search.propose(proposals) and world.base.text:
        search.pool.relate(*relations(world.base, [f.edit for f in search.pool.factors]))


def _settings(changes: list[str]) -> Settings:
    settings = Settings()
    for change in changes:
        name, value = change.split("=")
        if name.startswith("prior."):
            settings = replace(settings, prior=replace(settings.prior, **{name[6:]: float(value)}))
        else:
            kind = next(type(getattr(settings, f.name)) for f in fields(settings) if f.name == name)
            settings = replace(settings, **{name: kind(float(value)) if kind is not str else value})
    calls = settings.calls if any(c.startswith("calls=") for c in changes) else factorial_calls(settings.rollouts)
    return replace(settings, calls=calls)


def main() -> None:
    """Parse, run, print one row a world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", default=list(SHAPES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], dest="changes")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    settings = _settings(args.changes)
    for name in args.worlds:
        begun = time.process_time()
        kind = EditWorld if name == "edits" else World
        rows = [run(kind(SHAPES[name], seed), settings, seed) for seed in range(args.first, args.first + args.seeds)]
        truths = [row["truth"] for row in rows]
        means = {k: statistics.fmean(row[k] for row in rows) for k in rows[0]}
        if args.json:
            print(json.dumps({"world": name, "changes": args.changes, "rows": rows}))
        print(
            f"{name:10s} mean {means['truth']:.3f} worst {min(truths):.3f} ceiling {means['ceiling']:.3f} | useful "
            f"{means['useful']:.1f} of {means['found']:.1f} found, harmful {means['harmful']:.1f}, "
            f"lines {means['lines']:.1f}, "
            f"pool {means['pool']:.0f} ({means['distinct']:.0f} ideas), calls {means['calls']:.0f}, rollouts "
            f"{means['rollouts']:.0f}, {(time.process_time() - begun) / args.seeds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
