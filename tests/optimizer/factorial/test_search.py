"""Identity of edits, the pool, the design, and whole searches in a simulated world."""

from __future__ import annotations

import random

import pytest

from benchmarks.factorial_simulation import run
from benchmarks.factorial_worlds import SHAPES, World
from skillopt.core.editing.edit import Edit
from skillopt.optimizer.factorial.design import balanced
from skillopt.optimizer.factorial.identity import SAME, Meaning, Vocabulary
from skillopt.optimizer.factorial.pool import Pool, Proposal
from skillopt.optimizer.factorial.search import Search, Settings

OTHERS = ("Drop currency symbols from amounts.", "Write country codes with two letters.", "Sort names by surname.")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Give dates in ISO form.", "Always make sure that dates are given in ISO form!", True),
        ("Round prices to whole cents.", "When you answer, round the price to whole cents.", True),
        ("Give dates in ISO form.", "Do not give dates in ISO form.", False),
        ("Keep 2 digits after the point.", "Keep 3 digits after the point.", False),
        ("Use label `billing` for refunds.", "Use label `card` for refunds.", False),
        ("Give dates in ISO form.", "Write amounts without separators.", False),
    ],
)
def test_paraphrases_are_one_idea_and_opposites_are_not(one: str, other: str, same: bool) -> None:
    words = Vocabulary([one, *OTHERS])
    assert (words.similarity(Meaning.of(one), Meaning.of(other)) > SAME) is same


def _append(text: str) -> Proposal:
    return Proposal(Edit("append", content=text), addressed=(text[:5],))


def test_a_repeated_idea_adds_support_and_a_variant_is_an_alternative() -> None:
    pool = Pool()
    first = pool.add(_append("- Give dates in ISO form."), 1)
    assert pool.add(_append("- Make sure dates are in ISO form."), 2) is first
    assert first.support == 2 and first.born == 1 and len(pool.factors) == 1 and len(pool.spare[0]) == 1
    variant = pool.add(Proposal(Edit("append", content="- ISO dates only."), variant_of=0), 3)
    other = pool.add(_append("- Write amounts without separators."), 3)
    assert variant.number == 1 and other.number == 2
    assert pool.feasible([1, 0, 2]) == {1, 2} and pool.feasible([0, 1, 2]) == {0, 2}


def test_alternatives_and_needs_hold_in_every_subset() -> None:
    pool = Pool()
    for text in ("- alpha one", "- beta two", "- gamma three", "- delta four"):
        pool.add(_append(text), 1)
    pool.relate({(0, 1)}, {(3, 2)})
    assert pool.feasible([3, 0, 1]) == {0}
    for subset in balanced(pool, 20, random.Random(0)):
        assert not {0, 1} <= subset
        assert 3 not in subset or 2 in subset


def test_a_balanced_round_has_each_factor_in_half_of_the_groups() -> None:
    pool = Pool()
    for n in range(9):
        pool.add(_append(f"- w{n}x v{n}y u{n}z"), 1)
    subsets = balanced(pool, 20, random.Random(1))
    assert [sum(n in s for s in subsets) for n in range(9)] == [10] * 9


def _played(seed: int, rollouts: int, *, missing: bool = False) -> tuple[list[object], frozenset[int]]:
    world = World(SHAPES["noisy"], 5)
    search = Search(world.items, Settings(rollouts=rollouts), seed)
    log: list[object] = []
    while not search.done:
        edits = {f.number: f.edit for f in search.pool.factors}
        trials = search.plan()
        log += trials
        scores = [
            None if missing and t.slot % 9 == 0 else world.score(t.item, world.lines(edits, t.subset), t.draw)
            for t in trials
        ]
        search.record(trials, scores)
        asks = search.asks()
        log += asks
        proposals: list[Proposal] = []
        for ask in asks:
            shown = [(t.item, world.lines(edits, t.subset)) for t in ask.failures]
            proposals += world.propose(ask.number, shown, world.lines(edits, ask.believed))
        search.propose(proposals)
    return log, search.final()


def test_the_same_answers_give_the_same_search() -> None:
    assert _played(3, 240) == _played(3, 240)
    assert _played(3, 240) != _played(4, 240)


def test_missing_outcomes_do_not_stop_it() -> None:
    log, _ = _played(3, 240, missing=True)
    assert len([x for x in log if type(x).__name__ == "Trial"]) == 240


@pytest.mark.slow
def test_it_climbs_in_a_noisy_world() -> None:
    row = run(World(SHAPES["noisy"], 1), Settings(rollouts=1200), 1)
    assert row["truth"] > 0.78 and row["harmful"] == 0 and row["calls"] <= 40
