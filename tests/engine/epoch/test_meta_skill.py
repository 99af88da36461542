"""The meta skill: what the optimizer remembers, who reads it, who does not, and that it never edits the skill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import ModelError
from skillopt.optimizer.epoch.meta_skill import MEMORY_CHARS
from tests.engine.epoch.stage import append, guide, in_turn, play, remember, text_of

ON = {"optimizer__use_meta_skill": True}
LESSON = "- LESSON-2: one rule for each kind."


async def test_the_first_epoch_is_skipped(tmp_path: Path) -> None:
    ran = await play(tmp_path, {"meta_skill": remember(LESSON)}, train__num_epochs=1, **ON)
    result = ran.result("meta_skill", 1)
    assert (result["action"], result["tokens"]) == ("skip_first_epoch", {})
    assert not ran.play.stages("meta_skill")


async def test_the_memory_reaches_analysts_merges_and_ranking_of_the_next_epoch(tmp_path: Path) -> None:
    says = {
        "analyst": append("Note one.", "Note two.", "Note three."),
        "merge": append_merged("Note one.", "Note two.", "Note three."),
        "ranking": lambda request: {"reasoning": "", "selected_indices": [0]},
        "meta_skill": remember(LESSON),
        "slow_update": guide("RULE 1"),
    }
    ran = await play(
        tmp_path, says, train__num_epochs=3, gradient__minibatch_size=2, optimizer__learning_rate=3,
        optimizer__min_learning_rate=1, **ON,
    )  # fmt: skip
    assert ran.result("meta_skill", 2)["action"] == "write_meta_skill"
    order = [r.stage for r in ran.play.asked]
    written = order.index("meta_skill")
    for stage in ("analyst", "merge", "ranking"):
        before = [text_of(r) for r in ran.play.asked[:written] if r.stage == stage]
        after = [text_of(r) for r in ran.play.asked[written:] if r.stage == stage]
        assert before, stage
        assert after, stage
        assert not any("LESSON-2" in text for text in before), stage
        assert all("LESSON-2" in text for text in after), stage
    user = text_of(next(r for r in ran.play.asked[written:] if r.stage == "analyst"), "user")
    assert user.index("LESSON-2") < user.index("## Failed attempts")
    assert "LESSON-2" in ran.play.prompts("meta_skill")[1], "it is the subject of the next one"
    assert not any("LESSON-2" in text for text in ran.play.prompts("slow_update"))
    assert not any("LESSON-2" in text_of(r) for r in ran.play.asked if r.schema is None), "never for the target"
    assert "LESSON-2" not in ran.best + ran.skill(6)


def append_merged(*lines: str) -> Any:
    edits = [
        {"op": "append", "target": None, "content": line, "support_count": 1, "source_type": "failure"}
        for line in lines
    ]
    return lambda request: {"reasoning": "", "edits": edits}


async def test_the_compact_profile_reads_it_too(tmp_path: Path) -> None:
    says: dict[str, Any] = {
        "analyst": lambda request: {"cause": "", "rules": ["Be brief."]},
        "meta_skill": remember(LESSON),
    }
    ran = await play(tmp_path, says, train__num_epochs=3, optimizer__analyst_profile="compact", **ON)
    last = ran.play.stages("analyst")[-1]
    assert "LESSON-2" in text_of(last)


async def test_the_autonomous_budget_reads_it(tmp_path: Path) -> None:
    says: dict[str, Any] = {
        "analyst": append("Note."),
        "lr_autonomous": lambda request: {"learning_rate": 1, "reasoning": "", "confidence": "low", "risk_notes": []},
        "meta_skill": remember(LESSON),
    }
    ran = await play(tmp_path, says, train__num_epochs=3, optimizer__lr_control_mode="autonomous", **ON)
    prompts = ran.play.prompts("lr_autonomous")
    assert len(prompts) == 6
    assert ["LESSON-2" in text for text in prompts] == [False] * 4 + [True] * 2


async def test_the_rewrite_call_does_not_read_it(tmp_path: Path) -> None:
    suggestion = {
        "type": "add_rule", "title": "t", "motivation": "m", "instruction": "Add RULE 0.", "priority_hint": "high",
    }  # fmt: skip
    says: dict[str, Any] = {
        "analyst": lambda r: {"batch_size": 1, "patch": {"reasoning": "", "revise_suggestions": [suggestion]}},
        "rewrite": lambda r: {"reasoning": "", "change_summary": [], "new_skill": "# Tasks\n\nRULE 0"},
        "meta_skill": remember(LESSON),
    }
    ran = await play(
        tmp_path, says, train__num_epochs=3, optimizer__skill_update_mode="rewrite_from_suggestions",
        gradient__failure_only=True, **ON,
    )  # fmt: skip
    assert ran.play.stages("rewrite")
    assert any("LESSON-2" in text for text in ran.play.prompts("analyst"))
    assert not any("LESSON-2" in text for text in ran.play.prompts("rewrite"))


@pytest.mark.parametrize("empty", [{"reasoning": "", "meta_skill_content": " "}, ModelError("gone"), {"reasoning": ""}])
async def test_an_epoch_without_content_keeps_the_last_memory(
    tmp_path: Path, empty: dict[str, str] | Exception
) -> None:
    """The reference's next epoch then had none."""
    say = in_turn([{"reasoning": "", "meta_skill_content": LESSON}, empty])
    ran = await play(tmp_path, {"meta_skill": say}, train__num_epochs=4, **ON)
    third = ran.result("meta_skill", 3)
    assert (third["action"], third["meta_skill_content"]) == ("no_content", "")
    assert third["memory_in_force"] == LESSON
    assert third["reason"]
    assert all("LESSON-2" in text for text in ran.play.prompts("analyst")[-2:])
    assert ran.stopped_by is None


async def test_without_a_slow_update_it_rolls_out_on_its_own(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "meta_skill": remember(LESSON)}
    with_slow = await play(tmp_path / "a", says, **ON)
    alone = await play(tmp_path / "b", says, optimizer__use_slow_update=False, **ON)
    result = alone.result("meta_skill", 2)
    assert result["action"] == "write_meta_skill"
    for name in ("rollout_prev/results.jsonl", "rollout_curr/results.jsonl", "comparison_pairs.json"):
        assert (alone.root / "meta_skill/epoch_02" / name).exists()
        assert (with_slow.root / "slow_update/epoch_02" / name).exists()
        assert not (with_slow.root / "meta_skill/epoch_02" / name).exists()
    assert "longitudinal" in result["tokens"]
    assert "longitudinal" not in with_slow.result("meta_skill", 2)["tokens"]
    pairs = [
        r.read(f"{s}/epoch_02/comparison_pairs.json") for r, s in ((alone, "meta_skill"), (with_slow, "slow_update"))
    ]
    assert [p["id"] for p in pairs[0]] == [p["id"] for p in pairs[1]], "the same seed"
    assert not (alone.root / "slow_update").exists()
    assert "SLOW_UPDATE" not in alone.skill(4)


async def test_it_sees_the_skill_as_it_is_before_the_slow_update(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1"), "meta_skill": remember(LESSON)}
    ran = await play(tmp_path, says, **ON)
    assert ran.result("slow_update", 2)["action"] == "accept_new_best"
    assert "RULE 1" not in ran.play.prompts("meta_skill")[0]


async def test_a_long_memory_is_cut(tmp_path: Path) -> None:
    ran = await play(tmp_path, {"meta_skill": remember("word " * 5_000)}, **ON)
    assert len(ran.result("meta_skill", 2)["meta_skill_content"]) < MEMORY_CHARS + 60


async def test_on_and_off_are_different_bytes(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "meta_skill": remember(LESSON)}
    on = await play(tmp_path / "on", says, train__num_epochs=3, **ON)
    off = await play(tmp_path / "off", says, train__num_epochs=3, optimizer__use_meta_skill=False)
    assert on.play.prompts("analyst") != off.play.prompts("analyst")
    assert not any("LESSON-2" in text_of(r) for r in off.play.asked)
    assert not (off.root / "meta_skill").exists()
    assert on.skill(6) == off.skill(6), "it never edits the skill"
