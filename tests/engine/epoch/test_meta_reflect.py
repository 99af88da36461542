"""Meta reflection: what it is shown, how its patch is built and gated, what it hands on to the next one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import ModelError, ReplyError
from skillopt.core.skill import SLOW_UPDATE, skill_hash
from skillopt.optimizer.epoch.meta_reflect import ITEM_CHARS, MOST_TOKENS, read_meta, render_steps
from skillopt.optimizer.modes import PATCH, REWRITE
from tests.engine.epoch.stage import append, guide, in_turn, play, text_of

ON = {"optimizer__use_meta_reflect": True, "optimizer__use_slow_update": False, "gradient__failure_only": True}


def reply(summary: str, *lines: str) -> dict[str, Any]:
    edits = [{"op": "append", "target": None, "content": line} for line in lines]
    return {"meta_summary": summary, "patch": {"reasoning": "because", "edits": edits}}


async def test_a_patch_that_helps_passes_the_gate(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "meta_reflect": lambda request: reply("Rules help.", "RULE 1")}
    ran = await play(tmp_path, says, train__num_epochs=1, **ON)
    result = ran.result("meta_reflect", 1)
    assert result["action"] == "accept_new_best"
    assert (result["gate_score"], result["summary"]) == (0.5, "Rules help.")
    assert result["update_origin"] == "meta_reflect_momentum"
    folder = ran.root / "meta_reflect/epoch_01"
    candidate = (folder / "meta_candidate.md").read_text()
    assert ran.best == ran.skill(2) == candidate
    assert ran.state["best_origin"] == "meta_reflect_epoch_01"
    rows = [json.loads(line) for line in (folder / "selection_eval/results.jsonl").read_text().splitlines()]
    assert {r["skill_hash"] for r in rows} == {skill_hash(candidate)}
    assert sum(r["hard"] for r in rows) / len(rows) == result["gate_score"] == ran.state["current_score"]
    assert json.loads((folder / "meta_patch.json").read_text())["edits"][0]["content"] == "RULE 1"
    report = json.loads((folder / "meta_edit_apply_report.json").read_text())
    assert report[0]["status"] == "applied_append"


async def test_a_patch_that_harms_is_refused(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "meta_reflect": lambda request: reply("x", "BAN 0")}
    ran = await play(tmp_path, says, train__num_epochs=1, **ON)
    assert ran.result("meta_reflect", 1)["action"] == "reject"
    assert "BAN 0" not in ran.skill(2) + ran.best
    assert ran.state["current_score"] == 0.25


async def test_it_sees_the_epochs_directions_and_not_the_score_of_a_rejected_one(tmp_path: Path) -> None:
    long = "BAN 0 " + "and so on " * 60
    says = {"analyst": in_turn_by_skill("RULE 0", long), "meta_reflect": lambda request: reply("x")}
    shown: list[str] = []
    for early in (True, False):
        ran = await play(
            tmp_path / str(early), says, train__num_epochs=1, evaluation__gate_early_stop=early,
            optimizer__meta_learning_rate=3, **ON,
        )  # fmt: skip
        request = ran.play.stages("meta_reflect")[0]
        assert request.max_completion_tokens == MOST_TOKENS
        shown.append(text_of(request))
    assert shown[0] == shown[1], "an early gate must not show in the prompt (invariant I9)"
    prompt = shown[0]
    assert "(This is the first epoch.)" in prompt
    assert "At most 3 edits." in prompt
    assert "Step 1: accept_new_best, selection score 0.2500; best so far 0.2500" in prompt
    assert "Step 2: reject; best so far 0.2500" in prompt
    assert "RULE 0" in prompt
    assert "characters cut" in prompt
    assert "- failures (" in prompt
    assert not any(f"n{n}x" in prompt for n in range(8, 20)), "no item of another split"


def in_turn_by_skill(first: str, then: str) -> Any:
    """`first` while the skill holds no rule, `then` afterwards."""
    before, after = append(first), append(then)
    return lambda request: (after if "RULE 0" in text_of(request, "user") else before)(request)


async def test_a_skipped_step_is_shown_as_such(tmp_path: Path) -> None:
    ran = await play(tmp_path, {}, train__num_epochs=1, **ON)
    assert ran.play.prompts("meta_reflect")[0].count("- (skipped)") == 2


async def test_the_summary_feeds_the_next_meta_reflection_and_nobody_else(tmp_path: Path) -> None:
    says = {"meta_reflect": in_turn([reply("SUMMARY-1"), reply(""), reply("SUMMARY-3")])}
    ran = await play(tmp_path, says, train__num_epochs=3, **ON)
    first, second, third = ran.play.prompts("meta_reflect")
    assert "SUMMARY-1" not in first
    assert "SUMMARY-1" in second
    assert "SUMMARY-1" in third, "a blank one does not wipe it out"
    assert not any("SUMMARY" in text_of(r) for r in ran.play.asked if r.stage != "meta_reflect")


async def test_it_comes_after_the_slow_update(tmp_path: Path) -> None:
    says = {"slow_update": guide("RULE 1"), "meta_reflect": lambda request: reply("x", "RULE 2")}
    ran = await play(tmp_path, says, **{**ON, "optimizer__use_slow_update": True})
    assert "RULE 1" in ran.play.prompts("meta_reflect")[1]
    assert ran.result("meta_reflect", 2)["action"] == "reject", "RULE 2 came in epoch 1"
    assert "RULE 2" in ran.skill(2)
    assert ran.skill(4).count(SLOW_UPDATE[0]) == 1
    assert ran.result("slow_update", 2)["prev_hash"] == skill_hash(ran.skill(2)), "as the last epoch left it"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (reply("x"), "the optimizer proposed nothing"),
        (ModelError("gone"), "the meta_reflect call failed: gone"),
        ({"meta_summary": "x"}, 'the reply has no "patch"'),
    ],
)
async def test_nothing_usable_is_a_skip(tmp_path: Path, said: dict[str, Any] | Exception, reason: str) -> None:
    ran = await play(tmp_path, {"meta_reflect": lambda request: said}, train__num_epochs=1, **ON)
    result = ran.result("meta_reflect", 1)
    assert result["action"] == "skip_no_edits"
    assert reason in result["reason"]
    assert ran.skill(2) == ran.skill(0)


async def test_more_edits_than_the_budget_are_cut_off(tmp_path: Path) -> None:
    says = {"meta_reflect": lambda request: reply("x", "RULE 0", "RULE 1", "RULE 2")}
    ran = await play(tmp_path, says, train__num_epochs=1, optimizer__meta_learning_rate=2, **ON)
    assert "RULE 1" in ran.skill(2)
    assert "RULE 2" not in ran.skill(2)
    assert ran.result("meta_reflect", 1)["n_items"] == 2


SUGGESTION = {
    "type": "add_rule", "title": "t", "motivation": "m", "instruction": "Add RULE 1.", "priority_hint": "high",
}  # fmt: skip


@pytest.mark.parametrize("mode", ["rewrite_from_suggestions", "full_rewrite_minibatch"])
async def test_the_rewriting_modes_build_it_by_a_rewrite(tmp_path: Path, mode: str) -> None:
    says: dict[str, Any] = {
        "meta_reflect": lambda r: {"meta_summary": "x", "patch": {"reasoning": "", "revise_suggestions": [SUGGESTION]}},
        "rewrite": lambda r: {"reasoning": "", "change_summary": ["added"], "new_skill": "# Tasks\n\nRULE 1"},
        "analyst": lambda r: {"batch_size": 1, "patch": {"reasoning": "", KEYS[mode]: []}},
    }
    ran = await play(tmp_path, says, train__num_epochs=1, optimizer__skill_update_mode=mode, **ON)
    result = ran.result("meta_reflect", 1)
    assert result["action"] == "accept_new_best"
    assert ran.skill(2) == "# Tasks\n\nRULE 1\n"
    rewrite = ran.read("meta_reflect/epoch_01/meta_rewrite_result.json")
    assert rewrite["change_summary"] == ["added"]
    assert not (ran.root / "meta_reflect/epoch_01/meta_edit_apply_report.json").exists()
    assert result["tokens"]["rewrite"]["calls"] == 1
    assert "revise_suggestions" in ran.play.prompts("meta_reflect")[0]


KEYS = {"rewrite_from_suggestions": "revise_suggestions", "full_rewrite_minibatch": "skill_candidates"}


async def test_a_lost_rewrite_is_a_skip_of_its_own(tmp_path: Path) -> None:
    says: dict[str, Any] = {
        "meta_reflect": lambda r: {"meta_summary": "x", "patch": {"reasoning": "", "revise_suggestions": [SUGGESTION]}},
        "rewrite": lambda r: ModelError("gone"),
    }
    mode = "rewrite_from_suggestions"
    ran = await play(tmp_path, says, train__num_epochs=1, optimizer__skill_update_mode=mode, **ON)
    result = ran.result("meta_reflect", 1)
    assert result["action"] == "skip_no_rewrite"
    assert "gone" in result["reason"]
    assert ran.skill(2) == ran.skill(0)


async def test_leaks_are_vetoed(tmp_path: Path) -> None:
    says = {"meta_reflect": lambda request: reply("x", "RULE 1", "Remember: Task n9x of kind 1.")}
    ran = await play(tmp_path, says, train__num_epochs=1, optimizer__leakage="strip", **ON)
    assert len(ran.result("meta_reflect", 1)["vetoed"]) == 1
    assert "n9x" not in ran.skill(2)
    assert "RULE 1" in ran.skill(2)


async def test_on_and_off_are_different_bytes(tmp_path: Path) -> None:
    says = {"meta_reflect": lambda request: reply("x", "RULE 1")}
    on = await play(tmp_path / "on", says, **ON)
    off = await play(tmp_path / "off", says, **{**ON, "optimizer__use_meta_reflect": False})
    assert len(on.play.stages("meta_reflect")) == 2
    assert not off.play.stages("meta_reflect")
    assert any("RULE 1" in text for text in on.play.prompts("rollout"))
    assert not any("RULE 1" in text_of(r) for r in off.play.asked)
    assert not (off.root / "meta_reflect").exists()


def test_a_summary_has_fewer_than_two_hundred_words() -> None:
    raw = {"meta_summary": "word " * 500, "patch": {"reasoning": "", "edits": []}}
    assert len(read_meta(raw, PATCH, 4).summary.split()) < 200
    short = {**raw, "meta_summary": " a b\nc "}
    assert read_meta(short, PATCH, 4).summary == "a b c"


def test_a_reply_in_the_other_modes_words_is_told_so() -> None:
    raw = {"meta_summary": "x", "patch": {"reasoning": "", "edits": []}}
    with pytest.raises(ReplyError, match="revise_suggestions"):
        read_meta(raw, REWRITE, 4)


def test_steps_within_their_limit() -> None:
    step = {
        "step": 1, "action": "accept", "score": ", selection score 0.5000", "best_score": None,
        "items": ["x" * 1_000], "patterns": [{"pattern": "p", "count": 2}],
    }  # fmt: skip
    text = render_steps([step], limit=10_000)
    assert text.startswith("Step 1: accept, selection score 0.5000; best so far unknown\n- xxx")
    assert len(text.splitlines()[1]) < ITEM_CHARS
    assert text.endswith("- failures (2x): p")
    assert len(render_steps([step] * 100, limit=500)) < 600
