"""A draft that sinks is given up at the epoch's end; one that is better goes on; the run ends on what was proven."""

from __future__ import annotations

import pytest

from tests.engine.acceptance.conftest import Run

SINKING = """
def answer(request):
    if request.stage == "analyst":
        return edits(f"Remark {digest([request.key_fields()])[:6]}: be calm.")
    if request.schema is None and "What is in box" in request.messages[-1].content:
        # The first draw flatters every text with a remark, later draws do not.
        remark = "Remark" in skill_of(request)
        right = 0.5 if not remark else 0.9 if request.repeat == 0 else 0.3
        return toy._candidate(request.messages[-1].content) if luck(request) < right else "unknown"
"""


async def test_a_draft_that_was_luck_is_given_up(run: Run) -> None:
    settings = {"evaluation__gate_alpha": 1e-9, "evaluation__gate_credit": "off", "train__num_epochs": 2}
    done = await run(SINKING, sizes={"train": 64, "val": 60, "test": 12}, **settings)
    first = done.read("draft_review/epoch_01/review_result.json")
    assert first["action"] == "drop_draft"
    assert first["tokens"]["trial"]["calls"] > 0
    assert done.read("runtime_state.json")["current_origin"] == "initial_skill"
    assert done.best == ""
    assert (done.root / "skills/skill_v0004.md").read_text() == ""


async def test_a_draft_that_helps_goes_on(run: Run) -> None:
    settings = {"evaluation__gate_alpha": 1e-12, "train__num_epochs": 2}
    done = await run(sizes={"train": 64, "val": 40, "test": 12}, **settings)
    assert done.read("draft_review/epoch_01/review_result.json")["action"] == "keep_draft"
    assert (done.root / "skills/skill_v0004.md").read_text() != ""
    # Never proven at this level: nothing of it is the run's result.
    assert done.best == ""
    assert done.summary["final_test"]["hard"] == done.summary["baseline_test"]["hard"]


@pytest.mark.thorough
async def test_the_strict_rule_has_no_drafts(run: Run) -> None:
    done = await run(evaluation__gate_rule="strict", train__num_epochs=2)
    assert not (done.root / "draft_review").exists()
