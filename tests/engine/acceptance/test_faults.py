"""A fault of the provider is no verdict: not of a trial, not of an edit's credit, not of a draft's review (I2)."""

from __future__ import annotations

import json

from tests.engine.acceptance.conftest import Run

LOST = """
from skillopt.core.errors import ContextOverflow

def answer(request):
    if request.stage == "analyst":
        return edits("RULE 1: for items of kind 1.", "RULE 2: for items of kind 2.", "RULE 3: for items of kind 3.")
    if request.stage == "trial":
        # The text of every candidate of the first step is lost on the way, nine times in ten.
        if luck(request) < 0.9:
            return ContextOverflow("this prompt is too long")
"""
FAST = {"optimizer__learning_rate": 3, "optimizer__lr_scheduler": "constant", "train__num_epochs": 1,
        "train__circuit_breaker": 100000}  # fmt: skip


async def test_a_trial_that_faults_left_open_is_undecided_and_no_rejection(run: Run) -> None:
    done = await run(LOST, evaluation__gate_credit="off", **FAST)
    assert {r["action"] for r in done.history} == {"undecided"}
    assert all("could be measured" in r["reason"] for r in done.history)
    assert not any(r["changed_current"] for r in done.history)
    assert done.best == ""


async def test_an_edit_whose_credit_was_lost_is_not_dropped(run: Run) -> None:
    done = await run(LOST, evaluation__gate_credit_calls=60, **FAST)
    rows = done.read("steps/step_0001/credit.json")["rows"]
    assert [row["kept"] for row in rows] == [True] * len(rows)


async def test_a_review_that_faults_left_open_keeps_the_draft(run: Run) -> None:
    script = """
from skillopt.core.errors import ContextOverflow

def answer(request):
    if request.stage == "trial" and request.repeat == 1 and luck(request) < 0.9:
        return ContextOverflow("this prompt is too long")
"""
    settings = {"evaluation__gate_alpha": 1e-12, "train__num_epochs": 2, "train__circuit_breaker": 100000}
    done = await run(script, sizes={"train": 64, "val": 40, "test": 12}, **settings)
    result = json.loads((done.root / "draft_review/epoch_01/review_result.json").read_text())
    assert result["action"] == "keep_draft"
    assert "could be measured" in result["reason"]
