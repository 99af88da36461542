"""Update modes end to end: files, records, what is adopted and what never is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.config.derived import Sizes
from skillopt.core.errors import ConfigError
from skillopt.core.skill import Skill
from skillopt.forecast.workload import workload
from skillopt.records.vocabulary import Stage

from .conftest import Run

SUGGESTIONS = {"optimizer__skill_update_mode": "rewrite_from_suggestions"}
DOCUMENTS = {"optimizer__skill_update_mode": "full_rewrite_minibatch"}
MODES = pytest.mark.parametrize("mode", [SUGGESTIONS, DOCUMENTS], ids=["suggestions", "documents"])


async def test_suggestions_become_a_rewritten_skill(run: Run) -> None:
    done = await run(**SUGGESTIONS)
    assert {r["action"] for r in done.history} >= {"accept_new_best", "reject"}
    skill = ""
    for record in done.history:
        step = record["step"]
        result = json.loads(done.step(step, "rewrite_result.json").read_text())
        candidate = done.step(step, "candidate_skill.md").read_text()
        assert candidate == result["new_skill"].rstrip() + "\n"
        assert record["candidate_hash"] == Skill(candidate).hash
        assert record["rewrite_change_summary"] == result["change_summary"] != []
        assert set(skill.splitlines()) <= set(candidate.splitlines()), "the rules that were there are kept"
        assert record["edit_apply_summary"] is None and not done.step(step, "edit_apply_report.json").exists()
        assert (record["lr_control_mode"], record["tokens"]["rewrite"]["calls"]) == ("fixed", 1)
        ranked = json.loads(done.step(step, "ranked_edits.json").read_text())
        assert len(ranked["revise_suggestions"]) == record["n_edits_ranked"] <= record["edit_budget"]
        assert len(record["support_counts"]) == record["n_edits_ranked"]
        if "accept" in record["action"]:
            skill = candidate
    assert (done.root / "best_skill.md").read_text() == skill


async def test_documents_need_no_budget_and_no_ranking(run: Run) -> None:
    done = await run(**DOCUMENTS, optimizer__lr_control_mode="autonomous", optimizer__learning_rate=1)
    assert not done.prompts("ranking") and not done.prompts("rewrite") and not done.prompts("lr_autonomous")
    assert any("lr_control_mode has no effect" in notice for notice in done.notices)
    caps = {(a["stage"], a["cap"]) for a in done.asked if a["stage"] in ("analyst", "merge")}
    assert caps == {("analyst", 64_000), ("merge", 64_000)}
    for record in done.history:
        assert (record["edit_budget"], record["lr_control_mode"]) == (None, "none")
        assert not done.step(record["step"], "ranked_edits.json").exists()
        if record["candidate_hash"]:
            result = json.loads(done.step(record["step"], "full_rewrite_result.json").read_text())
            merged = json.loads(done.step(record["step"], "merged_patch.json").read_text())
            assert result["new_skill"] == merged["skill_candidates"][0]["new_skill"]
            assert record["rewrite_change_summary"] == result["change_summary"]
            assert done.step(record["step"], "candidate_skill.md").read_text() == result["new_skill"].rstrip() + "\n"
    assert "lr_decision" not in done.history[0] and not (done.root / "lr_history.jsonl").exists()
    assert any("accept" in r["action"] for r in done.history)


CUT = """
def answer(r):
    return ChatReply(json.dumps({"new_skill": "RULE 1"}), finish="length") if r.stage == "rewrite" else None
"""
PROSE = 'def answer(r): return "no json" if r.stage == "rewrite" else None'
BLANK = 'def answer(r): return json.dumps({"new_skill": "<!-- APPENDIX_END -->"}) if r.stage == "rewrite" else None'


@pytest.mark.parametrize(("script", "why"), [(CUT, "truncated"), (PROSE, "JSON"), (BLANK, "has no text")])
async def test_without_usable_text_the_step_is_skipped_and_paid_for(run: Run, script: str, why: str) -> None:
    done = await run(script, **SUGGESTIONS)
    for record in done.history:
        assert record["action"] == "skip_no_rewrite" and why in record["reason"]
        assert record["tokens"]["rewrite"]["calls"] == (2 if script == PROSE else 1)
        assert record["n_edits_ranked"] > 0 and record["candidate_hash"] is None
        assert record["selection_hard"] is None and record["candidate_gate_score"] is None
        result = json.loads(done.step(record["step"], "rewrite_result.json").read_text())
        assert why in result["dropped"]
        assert not done.step(record["step"], "candidate_skill.md").exists()
        assert not done.step(record["step"], "trajectory_digest.json").exists(), "a skip leaves the buffer alone"
    assert not done.prompts("gate") and (done.root / "best_skill.md").read_text() == ""
    assert done.read("summary.json")["total_skips"] == 4


@MODES
async def test_nothing_proposed_is_a_skip_of_the_other_kind(run: Run, mode: dict) -> None:
    script = """
def answer(r):
    nothing = {"patch": {"revise_suggestions": [], "skill_candidates": []}}
    return json.dumps(nothing) if r.stage == "analyst" else None
"""
    done = await run(script, **mode)
    assert {r["action"] for r in done.history} == {"skip_no_patches"}
    assert not done.prompts("rewrite") and not done.prompts("merge")


@MODES
async def test_the_same_text_again_is_a_tie_without_a_call(run: Run, mode: dict, tmp_path: Path) -> None:
    (tmp_path / "skill.md").write_text("# Boxes\n\n\nLook closely.  \n")
    script = """
SAME = "# Boxes\\n\\n\\nLook closely.\\n\\n"
def answer(r):
    if r.stage == "rewrite":
        return json.dumps({"new_skill": SAME})
    if r.stage == "analyst" and "skill_candidates" in json.dumps(r.schema):
        return document(SAME)
"""
    done = await run(script, **mode, env__skill_init=str(tmp_path / "skill.md"))
    assert {r["action"] for r in done.history} == {"reject"} and not done.prompts("gate")
    assert (done.root / "best_skill.md").read_text() == "# Boxes\n\n\nLook closely.  \n"


LEAK = """
from skillopt.testing.toy_task import SPLITS
from skillopt.records.vocabulary import Stage
SEALED = toy.toy_item(SPLITS["train"] + 2)["question"]
def answer(r):
    if r.stage == "rewrite":
        return json.dumps({"new_skill": f"# Boxes\\n\\n{SEALED}\\n", "change_summary": ["x"]})
    if r.stage == "analyst" and "skill_candidates" in json.dumps(r.schema):
        return document(f"# Boxes\\n\\n{SEALED}\\n")
    if r.stage == "merge" and "skill_candidates" in json.dumps(r.schema):
        return json.dumps({"skill_candidates": json.loads(document(f"{SEALED}\\n"))["patch"]["skill_candidates"]})
"""


@MODES
async def test_a_document_that_copies_a_sealed_item_is_vetoed(run: Run, mode: dict) -> None:
    done = await run(LEAK, **mode)
    sealed = "Box 18 is of kind 2 and holds"
    for record in done.history:
        assert record["action"] == "skip_no_rewrite" and record["n_edits_vetoed"] == 1
        assert record["reason"] == "vetoed: the rewritten skill quotes a selection item"
        rows = json.loads(done.step(record["step"], "vetoed.json").read_text())
        assert [(row["index"], row["op"]) for row in rows] == [(0, "whole document")]
        name = "rewrite_result.json" if mode == SUGGESTIONS else "full_rewrite_result.json"
        assert sealed not in done.step(record["step"], name).read_text()
    assert (done.root / "best_skill.md").read_text() == ""
    for name in ("history.json", "report.md", "summary.json"):
        assert sealed not in (done.root / name).read_text(), name


@MODES
async def test_text_that_the_initial_skill_holds_is_no_leak(run: Run, mode: dict, tmp_path: Path) -> None:
    from skillopt.testing import toy

    (tmp_path / "skill.md").write_text(f"An example: {toy.toy_item(18)['question']}\n")
    done = await run(LEAK, **mode, env__skill_init=str(tmp_path / "skill.md"))
    assert {r["n_edits_vetoed"] for r in done.history} == {0}
    assert "skip_no_rewrite" not in {r["action"] for r in done.history}
    off = await run(LEAK, name="off", **mode, optimizer__leakage="off")
    assert {r["n_edits_vetoed"] for r in off.history} == {0} and off.prompts("gate")


SUGGEST_A_LEAK = """
LEAK = "Say it like this: " + toy.toy_item(2)["question"]
def answer(r):
    if r.stage == "analyst":
        return suggest(LEAK, "RULE 5: name it.")
    if r.stage == "merge":
        return json.dumps(json.loads(suggest(LEAK, "RULE 5: name it."))["patch"])
"""


async def test_a_leaking_suggestion_does_not_reach_the_writer(run: Run) -> None:
    done = await run(SUGGEST_A_LEAK, **SUGGESTIONS)
    assert all("RULE 5: name it." in text and "Say it like this" not in text for text in done.prompts("rewrite"))
    assert {r["n_edits_vetoed"] for r in done.history} == {1} and done.prompts("rewrite")
    rows = json.loads(done.step(1, "vetoed.json").read_text())
    assert (rows[0]["index"], rows[0]["op"]) == (1, "add_rule")
    assert "train_item" in {leak["source"] for leak in rows[0]["leaks"]}
    refused = await run(SUGGEST_A_LEAK, name="refused", **SUGGESTIONS, optimizer__leakage="refuse")
    assert not refused.prompts("rewrite") and {r["action"] for r in refused.history} == {"skip_no_rewrite"}
    assert "all suggestions were vetoed: one " in refused.history[0]["reason"]


REJECTED = """
def answer(r):
    if r.stage == "analyst":
        kind = json.dumps(r.schema)
        return suggest("AVOID 1: never.") if "revise_suggestions" in kind else document("AVOID 1: never.")
"""


@MODES
async def test_what_was_rejected_is_told_in_the_next_step(run: Run, mode: dict) -> None:
    done = await run(REJECTED, **mode, train__num_epochs=1)
    digest = json.loads(done.step(1, "trajectory_digest.json").read_text())
    stage = "rewrite" if mode == SUGGESTIONS else "analyst"
    first, later = done.prompts(stage)[0], done.prompts(stage)[-1]
    assert digest["action"] == "reject" and "Earlier steps of this epoch" not in first
    if mode == SUGGESTIONS:
        assert set(digest["rejected_edits"][0]) == {"type", "title", "instruction"}
        assert "add_rule «AVOID 1»: AVOID 1: never." in later
    else:
        assert set(digest["rejected_edits"][0]) == {"title", "change_summary"}
        assert "document «" in later
    again = await run(REJECTED, name="again", **mode, train__num_epochs=2)
    assert "Earlier steps of this epoch" not in again.prompts("analyst")[-1] or len(again.history) > 2


RACE = """
RULES = ("RULE 3: name it.", "RULE 7: name it.")
def answer(r):
    kind = json.dumps(r.schema)
    if r.stage == "analyst":
        return suggest(RULES[r.repeat]) if "revise_suggestions" in kind else document(RULES[r.repeat])
    if r.stage == "merge" and "skill_candidates" in kind:
        text = "\\n".join(m.content for m in r.messages)
        both = "Both documents were tried" in text
        new = "\\n".join(RULES) if both else next(rule for rule in RULES if rule in text)
        return json.dumps(json.loads(document(new))["patch"])
    if r.stage == "merge":
        text = "\\n".join(m.content for m in r.messages)
        return json.dumps(json.loads(suggest(next(rule for rule in RULES if rule in text)))["patch"])
"""


@MODES
async def test_winners_of_a_race_are_joined(run: Run, mode: dict) -> None:
    """Two samples win on different items: both suggestions go into one rewrite, both documents into one merge."""
    done = await run(RACE, **mode, optimizer__proposals=2, train__num_epochs=1, optimizer__race_items=12)
    runners = json.loads(done.step(1, "race.json").read_text())
    assert {r["proposal"] for r in runners} == {"sample 0", "sample 1", "joined"}
    assert runners[0]["proposal"] == "joined" and runners[0]["gain"] > runners[1]["gain"] > 0
    candidate = done.step(1, "candidate_skill.md").read_text()
    assert "RULE 3" in candidate and "RULE 7" in candidate
    assert done.history[0]["n_proposals"] == 3 and "accept" in done.history[0]["action"]
    if mode == SUGGESTIONS:
        assert len(done.prompts("rewrite")) >= 3 and done.history[0]["tokens"]["rewrite"]["calls"] == 3


@MODES
async def test_the_compact_profile_is_refused_in_one_line(run: Run, mode: dict) -> None:
    with pytest.raises(ConfigError, match=r"skill_update_mode=.*compact.*rules only\. set optimizer.analyst_profile"):
        await run(**mode, optimizer__analyst_profile="compact")


@MODES
async def test_the_forecast_holds_every_call(run: Run, mode: dict) -> None:
    from skillopt.config import load_config
    from skillopt.envs.registry import settings_schemas

    done = await run(**mode, optimizer__proposals=2)
    config = load_config(done.root / "config.yaml", environ={}, env_schemas=settings_schemas()).config
    forecast = workload(config, Sizes(16, 12, 12))
    made = {stage: len(done.prompts(stage)) for stage in ("analyst", "merge", "ranking", "rewrite")}
    for stage, calls in made.items():
        high = forecast.as_billed(Stage(stage)).high
        assert calls <= high, (stage, calls, high)
    assert made["analyst"] and (made["rewrite"] > 0) == (mode == SUGGESTIONS)
