"""A fault of the provider is no verdict: not of a trial, not of an edit's credit, not of a draft's review (I2)."""

from __future__ import annotations

import json

from tests.engine.acceptance.conftest import Run

LOST = """
from skillopt.core.errors import DeadlineExceeded

def answer(request):
    if request.stage == "analyst":
        return edits("RULE 1: for items of kind 1.", "RULE 2: for items of kind 2.", "RULE 3: for items of kind 3.")
    if request.stage == "trial":
        # The text of every candidate of the first step is lost on the way, nine times in ten.
        if luck(request) < 0.9:
            return DeadlineExceeded("the deadline has passed")
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
from skillopt.core.errors import DeadlineExceeded

def answer(request):
    if request.stage == "trial" and request.repeat == 1 and luck(request) < 0.9:
        return DeadlineExceeded("the deadline has passed")
"""
    settings = {"evaluation__gate_alpha": 1e-12, "train__num_epochs": 2, "train__circuit_breaker": 100000}
    done = await run(script, sizes={"train": 64, "val": 40, "test": 12}, **settings)
    result = json.loads((done.root / "draft_review/epoch_01/review_result.json").read_text())
    assert result["action"] == "keep_draft"
    assert "could be measured" in result["reason"]


TOO_LONG = """
from skillopt.core.errors import ContextOverflow

def answer(request):
    if request.stage == "analyst":
        return edits("RULE 1: for items of kind 1. " + "x" * 400)
    if request.stage in ("rollout", "trial", "gate", "test") and len(skill_of(request)) > 400:
        return ContextOverflow("this prompt is too long") if WHEN else None
"""


async def test_what_a_skill_makes_too_long_scores_zero_where_the_item_is_answered_without_it(run: Run) -> None:
    script = TOO_LONG.replace("WHEN", "luck(request) < 0.9")
    done = await run(script, evaluation__gate_credit="off", **FAST)
    trial = [row for row in done.read_rows("steps/step_0001/trial_eval/results.jsonl") if row["hard"] is not None]
    charged = [row for row in trial if "too long for the target with this skill" in row["fail_reason"]]
    assert charged and all(row["hard"] == 0 for row in charged)
    assert {r["action"] for r in done.history} == {"reject"}, "nine of ten items lost are no fault of the provider"
    assert done.best == "" and done.summary["baseline_test"]["n"] == 24


async def test_an_item_that_is_too_long_for_every_skill_stays_missing(run: Run) -> None:
    script = """
from skillopt.core.errors import ContextOverflow

def answer(request):
    text = "".join(m.content for m in request.messages if m.role == "user")
    if request.stage != "analyst" and int(digest(text)[:2], 16) < 10:
        return ContextOverflow("this prompt is too long")
"""
    done = await run(script, train__num_epochs=1, evaluation__gate_rule="proof", evaluation__coverage_floor=0.5)
    test = done.summary["test"]
    assert 0 < test["n"] < test["total"] == 24, "what no text can answer says nothing of any text (I2)"
    rows = done.read_rows("test_eval/results.jsonl")
    assert all("too long for the target with this skill" not in (row.get("fail_reason") or "") for row in rows)
