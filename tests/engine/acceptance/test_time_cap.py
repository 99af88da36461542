"""`budget.max_hours` keeps time for the look and the sealed test: no capped run loses its test."""

from __future__ import annotations

import time

import pytest

from skillopt.core.errors import BudgetExceeded
from skillopt.engine.run.spending import budget
from skillopt.engine.run.spending.budget import Budget, Limits, Spend
from skillopt.model import call
from tests.engine.acceptance.conftest import Run


class Clock:
    """A clock that runs with the calls: four places, a call takes a second."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now


CLOCK = Clock()
TICKING = """
from tests.engine.acceptance.test_time_cap import CLOCK

def answer(request):
    CLOCK.now += 0.25
"""
SMALL = {"train": 16, "val": 12, "test": 8}


@pytest.mark.cases(2)
@pytest.mark.parametrize("seconds", [6, 15, 25, 40, 60])
async def test_no_run_that_is_capped_by_time_loses_its_test(
    run: Run, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without time kept for the end every one of these lost its sealed test."""
    monkeypatch.setattr(budget, "time", CLOCK)
    monkeypatch.setattr(call, "time", CLOCK)
    CLOCK.now = time.monotonic()
    began = CLOCK.now
    done = await run(
        TICKING, sizes=SMALL, evaluation__gate_rule="proof", train__num_epochs=40, env__workers=4,
        budget__max_hours=seconds / 3600,
    )  # fmt: skip
    assert "hours" in done.summary["stopped"], "forty epochs take longer than the cap"
    assert done.summary["test"]["n"] == 8, "the sealed test was measured"
    if done.summary.get("last_look"):
        assert "not looked at" not in done.summary["last_look"]["reason"]
    if seconds >= 60:
        assert done.summary["total_steps"] > 0, "what is kept for the end leaves time to train"
        assert CLOCK.now - began <= seconds * 1.05, "the cap holds where it leaves room for the end"


async def test_time_is_kept_and_the_end_may_take_as_much_again() -> None:
    clock = Budget(limits=Limits(hours=1.0), earlier_s=0.9 * 3600)
    call = {"role": "target", "model": "m", "prompt_tokens": 1, "completion_tokens": 1, "usd": None}
    await clock.reserve(**call)
    clock.set_aside(Spend(hours=0.2))
    with pytest.raises(BudgetExceeded, match="kept for the end"):
        await clock.reserve(**call)
    clock.set_aside(Spend())
    await clock.reserve(**call)
    clock.earlier_s = 1.1 * 3600
    with pytest.raises(BudgetExceeded):
        await clock.reserve(**call)
    clock.grace_h = 0.2
    await clock.reserve(**call)
