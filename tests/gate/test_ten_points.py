"""The ten points of the study of the gate: for each what was lost once, with its right value.

Whole runs of points 1, 4 and 8 are in `tests/engine/acceptance/test_proof_rule.py` (one look at the end whatever ends
the run, endings that pay, numbered readings, capped runs that keep look and test), of 7 in `test_statistics.py` (the
promised power, by the report's own interval) and in `tests/engine/acceptance/test_selftest.py`; false acceptances and
power of whole climbs are measured by `benchmarks/gate_simulation.py` (benchmarks/LOG.md).
"""

from __future__ import annotations

import inspect
import itertools
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config import Config, load_config, parse_overrides
from skillopt.config.derived import draws_differ, trial_items
from skillopt.engine.acceptance import proof
from skillopt.engine.acceptance.choose import rule_of
from skillopt.engine.acceptance.draft_review import clearly_worse
from skillopt.engine.acceptance.ending import Ending
from skillopt.engine.acceptance.look import look
from skillopt.envs.registry import settings_schemas
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.futility import KNOWN_AFTER, Luck, TrialGate
from skillopt.gate.interval import mean_interval
from skillopt.gate.paired import Terms
from skillopt.gate.power import chance_to_pass, detectable_gain
from skillopt.gate.pvalue import paired_p, sign_p, two_sided_p
from skillopt.gate.strict import StrictGate, Unit, failures_first
from tests.gate.test_paired import EXACT, decide
from tests.gate.test_strict import decide as strictly

SHIPPED = Path(__file__).parents[2] / "configs" / "searchqa" / "default.yaml"


def config(*overrides: str) -> Config:
    schemas = settings_schemas()
    return load_config(SHIPPED, overrides=parse_overrides(overrides, schemas), environ={}, env_schemas=schemas).config


def test_point_1_one_proof_at_the_end_and_its_calls_are_set_aside() -> None:
    rule = rule_of(config("evaluation.gate_rule=proof"))
    sizes = proof.Sizes(400, 200, 400)
    calls = rule.calls(sizes)
    assert calls.gate == (0, 0) and calls.other_gate == 0, "no look before the end"
    assert calls.last[1] >= 200 + trial_items(config("evaluation.gate_rule=proof"), 200)
    assert "5 % at most, extended or not" in rule.promise(200, 20).notes[0]


def test_point_2_a_draft_is_never_dropped_on_a_tie() -> None:
    assert not clearly_worse(0, 0) and not clearly_worse(5, 5) and not clearly_worse(4, 6)
    assert not clearly_worse(0, 1), "one item is no evidence"
    assert clearly_worse(0, 2) and clearly_worse(3, 9)


def test_point_3_a_trial_stops_once_it_is_clear() -> None:
    def asked(wins: int, luck: Luck | None, *, lost: int = 0, missing: int = 0) -> tuple[int, bool]:
        """30 items failed, then 30 solved: `wins` at the start, `lost` at the start of the solved ones."""
        order = failures_first([Unit(n, f"i{n}", float(n >= 30)) for n in range(60)], {})
        gate = TrialGate(StrictGate(order, early=True, coverage_floor=0.95, best_score=None), luck)
        while not gate.settled:
            right = gate.seen < wins or gate.seen >= 30 + lost
            gate.observe(None if 30 <= gate.seen < 30 + missing else float(right))
        return gate.seen, gate.verdict().accepted

    known = Luck(wins=10, asked=100)  # a tenth of the failing items is won by luck: 3 of 30
    assert asked(0, known) == (10, False), "asked at thirds of the failing items"
    assert asked(3, known) == (30, False), "no more than luck"
    assert asked(4, known)[0] > 30
    assert asked(8, known) == (45, True), "clearly more than half of the solved items can be expected to lose"
    assert asked(8, known, lost=4) == (38, False), "4 lost of 8 are 15 of 30"
    assert asked(8, known, missing=1) == (60, True), "what is missing may be lost: nothing is clear"
    assert asked(3, Luck(1, KNOWN_AFTER - 1))[0] > 30, "too little is known to stop"
    assert asked(8, None) == (60, True) and asked(3, None, lost=2) == (60, True), "the strict rule alone"
    assert trial_items(config("evaluation.gate_rule=proof"), 200) == 240


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40), st.integers(0, 60))
def test_point_3_a_trial_asks_what_it_says_it_needs(pairs: list[tuple[float, float]], wins: int) -> None:
    order = failures_first([Unit(n, f"i{n}", before) for n, (before, _) in enumerate(pairs)], {})
    gate = TrialGate(StrictGate(order, early=True, coverage_floor=0.95, best_score=None), Luck(wins, 60))
    while not gate.settled:
        needed, begun = gate.needed(), gate.seen
        assert needed >= 0
        for _ in range(max(1, needed)):
            assert not gate.settled or gate.seen - begun >= needed, "a unit that was certain is not left out"
            if not gate.settled:
                gate.observe(pairs[order[gate.seen].index][1])
    assert gate.verdict().action in ("accept", "accept_new_best", "reject")


@pytest.mark.parametrize("total", [0.05, 0.01, 0.3])
def test_point_4_all_endings_of_a_run_share_one_level(total: float) -> None:
    endings = [Ending(n, total) for n in range(1, 40)]
    assert [e.alpha / total for e in endings[:4]] == pytest.approx([0.8, 0.1, 0.05, 0.025])
    for n, ending in enumerate(endings, start=1):
        assert ending.spent == pytest.approx(sum(e.alpha for e in endings[:n])), "each look's level is entered"
        assert ending.spent < total or n > 30, "however often a run is extended"
        assert ending.spent + ending.left == pytest.approx(total)
    assert endings[-1].spent <= total


def test_point_5_missing_never_profits_the_candidate() -> None:
    incumbent: list[float | None] = [0.0] * 90 + [1.0] * 110
    candidate: list[float | None] = [1.0] * 8 + [0.0] * 82 + [1.0] * 100 + [None] * 10
    assert not decide(incumbent, candidate, EXACT, early=False).accepted, "8 won, 10 lost by being missing"
    # Four points worse in truth: 1 won, and of 5 lost items none was measured.
    pairs = [(0.0, 1.0)] + [(0.0, 0.0)] * 39 + [(1.0, 1.0)] * 55 + [(1.0, None)] * 5
    worse = strictly(pairs, early=True)
    assert worse.action == "undecided" and "missing" in worse.reason
    assert strictly([(0.0, 1.0)] * 6 + [(1.0, 1.0)] * 92 + [(1.0, None)] * 2, early=True).accepted


def test_point_6_one_sharp_test_in_gate_report_and_plan() -> None:
    assert chance_to_pass(200, 0.10, 0.20, alpha=0.025) > 0.7, "betting called a true +10 points better in 29 %"
    low, high = mean_interval([1.0] * 26 + [0.0] * 14)
    assert (round(low, 2), round(high, 2)) == (0.44, 0.79)


@pytest.mark.parametrize(("win", "loss"), [(0.0, 0.0), (0.2, 0.2), (0.5, 0.1), (0.9, 0.05), (0.05, 0.0)])
def test_point_6_coverage_by_exact_enumeration(win: float, loss: float) -> None:
    n, covered = 12, 0.0
    for w, lo in itertools.product(range(n + 1), repeat=2):
        if w + lo <= n:
            ways = math.comb(n, w) * math.comb(n - w, lo)
            chance = ways * win**w * loss**lo * (1 - win - loss) ** (n - w - lo)
            if chance:
                low, high = mean_interval([1.0] * w + [-1.0] * lo + [0.0] * (n - w - lo))
                covered += chance * (low - 1e-9 <= win - loss <= high + 1e-9)
    assert covered >= 0.95


def test_point_7_a_gain_cannot_exceed_what_differs() -> None:
    assert chance_to_pass(200, 0.5, 0.0, alpha=0.05) == pytest.approx(1.0)
    assert all(detectable_gain(n) <= 1.0 for n in (1, 5, 20, 200))


def test_point_8_a_reading_of_the_sealed_test_is_a_fact_of_the_journal() -> None:
    from skillopt.engine.acceptance.ending import reading_of

    assert "put_now" in inspect.getsource(reading_of)


def test_point_9_soft_scores_decide_early_as_in_full_and_better_never_undoes_a_proof() -> None:
    incumbent: list[float | None] = [0.0] * 5 + [0.5] + [1.0] * 14
    candidate: list[float | None] = [1.0] * 5 + [0.5] + [1.0] * 14
    early, full = (decide(incumbent, candidate, EXACT, early=flag) for flag in (True, False))
    assert early.accepted and full.accepted
    assert paired_p([1.0] * 5 + [0.0] * 15) == sign_p(5, 0) == 1 / 32
    assert paired_p([1.0] * 5 + [0.5] + [0.0] * 14) <= 1 / 32, "it was .070 once"
    generator = random.Random(4)
    for _ in range(60):
        a: list[float | None] = [generator.choice([0.0, 0.3, 0.5, 1.0]) for _ in range(14)]
        b: list[float | None] = [generator.choice([0.0, 0.3, 0.5, 1.0]) for _ in range(14)]
        terms = Terms(alpha=0.3, futility=0.0)
        assert decide(a, b, terms, early=True).accepted == decide(a, b, terms, early=False).accepted


def test_point_10_non_inferiority_earns_nothing_back() -> None:
    ledger = AlphaLedger.opened(0.05)
    assert ledger.after(0.0125, accepted=False).left == pytest.approx(0.0375)
    assert "accepted=verdict.accepted and not terms.margin" in inspect.getsource(look)


def test_point_10_draws_of_hosted_models_differ_at_temperature_0() -> None:
    cold = ("env.temperature=0", "model.target_backend=openai_chat")
    assert draws_differ(config(*cold))
    assert not draws_differ(config("env.temperature=0", "model.target_backend=scripted"))
    assert draws_differ(config("model.target_backend=scripted"))


def test_test_and_interval_agree_everywhere() -> None:
    for w, lo in itertools.product(range(14), repeat=2):
        differences = [1.0] * w + [-1.0] * lo + [0.0] * 3
        if len(differences) > 1:
            low, high = mean_interval(differences)
            assert (two_sided_p(differences) <= 0.05) == (low > 0 or high < 0)
