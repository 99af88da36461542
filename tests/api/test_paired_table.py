"""Several skills on the same items: the arithmetic, and that the intervals hold together."""

from __future__ import annotations

import random

import pytest

from skillopt.api.shown.paired_table import PairedTable
from skillopt.core.errors import DataError
from skillopt.gate.interval import mean_interval
from skillopt.gate.pvalue import sign_p


def test_the_numbers() -> None:
    first = {f"q{n}": float(n % 2) for n in range(20)}
    better = dict.fromkeys(first, 1.0)
    holes = {**better, "q0": None, "q1": None}
    table = PairedTable.of({"first": first, "better": better, "holes": holes})
    assert [(s.mean, s.n, s.total) for s in table.scores] == [(0.5, 20, 20), (1.0, 20, 20), (1.0, 18, 20)]
    one = table.pairs[0]
    assert (one.wins, one.losses, one.n, one.delta) == (10, 0, 20, 0.5)
    assert one.interval == mean_interval([1.0, 0.0] * 10, alpha=0.05 / 3)
    assert one.p == pytest.approx(3 * 2 * sign_p(10, 0)) and one.words == "better is better"
    assert table.pairs[1].n == 18 and table.pairs[2].words == "not measured: 18 of 20 items have a score on both sides"
    hole = PairedTable.of({"better": better, "hole": {**better, "q0": None}})
    assert hole.pairs[0].words == "not distinguishable" and "on 19 of 20" in str(hole)
    chosen = PairedTable.of({"first": first, "better": better, "holes": holes}, [("first", "better")])
    assert [p.interval for p in chosen.pairs] == [mean_interval([1.0, 0.0] * 10)], (
        "the level is that of the pairs shown"
    )
    with pytest.raises(DataError, match="no item in common"):
        PairedTable.of({"a": {"x": 1.0}, "b": {"y": 1.0}})
    assert PairedTable.of({"alone": first}).pairs == ()


def test_all_intervals_hold_at_once() -> None:
    """Four skills that are the same: at most 5 % of the tables may find any difference, over all six pairs."""
    generator, false = random.Random(3), 0
    for _ in range(200):
        made = {name: {f"q{n}": float(generator.random() < 0.5) for n in range(30)} for name in "abcd"}
        false += any(pair.words != "not distinguishable" for pair in PairedTable.of(made).pairs)
    assert false <= 10
