"""The factorial search in worlds with known truth: `python -m benchmarks.factorial_simulation noisy --seeds 10`."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import fields, replace

from benchmarks.factorial_worlds import SHAPES, World, lines_of
from skillopt.optimizer.factorial.search import Ask, Search, Settings


def run(world: World, settings: Settings, seed: int) -> dict[str, float]:
    """One search in one world."""
    search = Search(world.items, settings, seed)
    texts: list[str] = []
    waiting: list[Ask] = []
    while not search.done:
        trials = search.plan()
        scores = [world.score(t.item, lines_of(texts, t.subset), t.draw) for t in trials]
        search.record(trials, scores)
        texts += _answered(world, search, waiting, texts)
        waiting = search.asks()
        if not texts:  # there is nothing to try yet, so nothing to do beside the call
            texts += _answered(world, search, waiting, texts)
            waiting = []
    final = search.final()
    lines = lines_of(texts, final)
    ideas = world.ideas(lines)
    kinds = [kind for kind, _ in ideas]
    return {
        "truth": world.truth(lines),
        "ceiling": world.ceiling,
        "pool": len(texts),
        "distinct": len({world.idea_of[t] for t in texts}),
        "lines": len(lines),
        "useful": kinds.count("useful"),
        "found": len({world.idea_of[t] for t in texts if world.idea_of[t][0] == "useful"}),
        "harmful": kinds.count("harmful"),
        "calls": search.asked,
        "rollouts": search.made,
    }


def _answered(world: World, search: Search, asks: list[Ask], texts: list[str]) -> list[str]:
    """The optimizer's answers; the texts of the factors that are new."""
    found: list[str] = []
    for ask in asks:
        shown = [(t.item, lines_of(texts, t.subset)) for t in ask.failures]
        known = lines_of(texts, ask.believed)
        found += [f.edit.content or "" for f in search.propose(world.propose(ask.number, shown, known))]
    return found


def _settings(changes: list[str]) -> Settings:
    settings = Settings()
    for change in changes:
        name, value = change.split("=")
        if name.startswith("prior."):
            settings = replace(settings, prior=replace(settings.prior, **{name[6:]: float(value)}))
        else:
            kind = next(type(getattr(settings, f.name)) for f in fields(settings) if f.name == name)
            settings = replace(settings, **{name: kind(float(value)) if kind is not str else value})
    return settings


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
        rows = [run(World(SHAPES[name], seed), settings, seed) for seed in range(args.first, args.first + args.seeds)]
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
