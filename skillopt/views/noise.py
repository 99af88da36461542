"""The noise floor of a run: how far a mere copy of a skill gets from it by luck, and which gains are beyond that.

The share of answers that luck turns over is measured where the run drew items more than once (or a self-test lies in
its directory), and is otherwise assumed; which of them is said.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.gate.power import NOISE, copy_gains, detectable_gain, lucky
from skillopt.records.reading import Run
from skillopt.records.rows import RolloutRow
from skillopt.views.measurements import metric_of, value
from skillopt.views.tree import tree

LEVEL = 0.95
_FEWEST = 8
"""Pairs of draws below which a share of them says nothing."""


@dataclass(frozen=True)
class Gain:
    """What one candidate gained over the skill it was compared with. `beyond` says that luck alone seldom does that."""

    label: str
    delta: float
    kept: bool
    beyond: bool


@dataclass(frozen=True)
class NoiseFloor:
    """`shares` are the chances of a copy's gains (as shares of the items), `low` to `high` holds 95 % of them. `luck`
    is the chance that a copy scores strictly higher, `detectable` the smallest gain that one look shows with the usual
    power."""

    n: int
    noise: float
    measured_on: int
    how: str
    low: float
    high: float
    luck: float
    detectable: float
    shares: tuple[tuple[float, float], ...]
    gains: tuple[Gain, ...]


def noise_floor(run: Run) -> NoiseFloor | None:
    """The picture; None for a run that measured nothing on the selection split."""
    gates = [record.gate for record in run.steps if record.gate.asked]
    baseline = run.draws("selection_eval_baseline")
    n = max((g.selection_n or 0 for g in gates), default=0) or len({row.id for row in baseline})
    if not n:
        return None
    noise, pairs, how = _noise(run, baseline)
    chances = copy_gains(n, noise)
    low, high = _middle(chances)
    gains = tuple(
        Gain(node.label, (node.won - node.lost) / n, node.current, not low <= node.won - node.lost <= high)
        for node in tree(run)
        if node.place and node.score is not None
    )
    return NoiseFloor(
        n, noise, pairs, how, low / n, high / n, lucky(n, noise), detectable_gain(n, noise=noise),
        tuple((net / n, chance) for net, chance in chances.items()), gains,
    )  # fmt: skip


def _noise(run: Run, baseline: Sequence[RolloutRow]) -> tuple[float, int, str]:
    """The share, the pairs it was measured on, and how."""
    told = run.mapping("selftest.json")
    share, n = told.get("noise"), told.get("n")
    if isinstance(share, (int, float)) and isinstance(n, int) and n >= _FEWEST:
        return float(share), n, f"measured by the self-test: {n} items answered twice"
    metric = metric_of(run)
    draws: dict[str, list[float]] = {}
    for row in baseline:
        score = value(row, metric)
        if score is not None:
            draws.setdefault(row.id, []).append(score)
    pairs = [a != b for values in draws.values() for a, b in itertools.combinations(values, 2)]
    if len(pairs) >= _FEWEST:
        return sum(pairs) / len(pairs), len(pairs), f"measured on {len(pairs)} pairs of draws of the initial skill"
    return NOISE, 0, "assumed; skillopt selftest measures it"


def _middle(chances: dict[int, float]) -> tuple[int, int]:
    """The gains between which a copy stays with 95 % chance, the same share left out on either side."""
    tail, below = (1 - LEVEL) / 2, 0.0
    low = high = 0
    for net, chance in chances.items():
        if below <= tail:
            low = net
        below += chance
        high = net
        if below >= 1 - tail:
            break
    return low, high
