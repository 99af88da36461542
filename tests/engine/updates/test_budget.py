"""The autonomous budget end to end: the decision is taken before ranking, recorded, and obeyed."""

from __future__ import annotations

import json

import pytest

from .conftest import Run

AUTONOMOUS = {"optimizer__lr_control_mode": "autonomous"}
EDITS = """
EDITS = [{"op": "append", "target": None, "content": f"RULE {k}: name it."} for k in (3, 7, 4)]
def decide(number):
    return json.dumps({"reasoning": "r", "learning_rate": number, "confidence": "low", "risk_notes": []})
def edits(r):
    if r.stage == "merge":
        return json.dumps({"reasoning": "", "edits": EDITS})
"""


async def test_the_decision_replaces_the_schedule(run: Run) -> None:
    script = f'{EDITS}\ndef answer(r): return decide(1) if r.stage == "lr_autonomous" else edits(r)'
    done = await run(script, **AUTONOMOUS)
    stages = [a["stage"] for a in done.asked]
    assert stages.index("lr_autonomous") < stages.index("ranking"), "the decision comes before the choice"
    decided = [json.loads(line) for line in (done.root / "lr_history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in decided] == [r["step"] for r in done.history if r["lr_decision"]]
    for record in done.history:
        assert (record["edit_budget"], record["lr_control_mode"], record["n_edits_ranked"]) == (1, "autonomous", 1)
        assert record["tokens"]["lr_autonomous"]["calls"] == 1
        row = json.loads(done.step(record["step"], "lr_decision.json").read_text())
        assert row == record["lr_decision"] == decided[record["step"] - 1]
        assert (row["learning_rate"], row["available_update_items"], row["fallback"]) == (1, 3, False)
    assert all("Choose at most 1" in text for text in done.prompts("ranking"))
    assert "of 12" not in done.prompts("lr_autonomous")[0] and "8 attempts" in done.prompts("lr_autonomous")[0]


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions"])
async def test_a_decided_zero_applies_nothing(run: Run, mode: str) -> None:
    script = f'{EDITS}\ndef answer(r): return decide("0 now") if r.stage == "lr_autonomous" else None'
    done = await run(script, **AUTONOMOUS, optimizer__skill_update_mode=mode)
    for record in done.history:
        assert record["action"] == ("skip_no_patches" if mode == "patch" else "skip_no_rewrite")
        assert record["edit_budget"] == 0 and record["lr_decision"]["raw_learning_rate"] == "0 now"
        assert record["reason"].startswith("the optimizer decided to apply none of ")
        assert record["n_patches"] > 0
    assert not done.prompts("ranking") and not done.prompts("rewrite") and not done.prompts("gate")
    assert (done.root / "best_skill.md").read_text() == ""


async def test_an_unusable_answer_is_the_schedule_and_not_a_zero(run: Run) -> None:
    script = f'{EDITS}\ndef answer(r): return "three" if r.stage == "lr_autonomous" else edits(r)'
    done = await run(script, **AUTONOMOUS, optimizer__learning_rate=4, optimizer__min_learning_rate=1)
    fixed = await run(
        f"{EDITS}\nanswer = edits", name="fixed", optimizer__learning_rate=4, optimizer__min_learning_rate=1
    )
    budgets = [record["edit_budget"] for record in fixed.history]
    assert len(set(budgets)) > 1, "the schedule moves"
    assert [record["edit_budget"] for record in done.history] == budgets
    assert [record["candidate_hash"] for record in done.history] == [r["candidate_hash"] for r in fixed.history]
    for record in done.history:
        row = record["lr_decision"]
        assert (row["fallback"], row["raw_learning_rate"], row["raw_response"]) == (True, None, "three")
        assert record["n_dropped_replies"] == 1 and record["tokens"]["lr_autonomous"]["calls"] == 2
    assert "lr_decision" not in fixed.history[0] and not (fixed.root / "lr_history.jsonl").exists()


async def test_nothing_to_decide_on_asks_nothing(run: Run) -> None:
    script = 'def answer(r): return json.dumps({"patch": {"edits": []}}) if r.stage == "analyst" else None'
    done = await run(script, **AUTONOMOUS)
    assert not done.prompts("lr_autonomous")
    found = {(r["action"], r.get("lr_decision"), r["edit_budget"]) for r in done.history}
    assert found == {("skip_no_patches", None, 2)}


async def test_one_decision_bounds_all_proposals_of_a_step(run: Run) -> None:
    script = f'{EDITS}\ndef answer(r): return decide(1) if r.stage == "lr_autonomous" else None'
    done = await run(script, **AUTONOMOUS, optimizer__proposals=3, train__num_epochs=1)
    assert len(done.prompts("lr_autonomous")) == len(done.history)
    assert "3 independent proposals" in done.prompts("lr_autonomous")[0]
    for record in done.history:
        runners = json.loads(done.step(record["step"], "race.json").read_text())
        assert all(len(r["edits"]) == 1 for r in runners if r["proposal"] != "joined")
