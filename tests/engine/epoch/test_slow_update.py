"""The slow update end to end: placeholder, gated, forced, undecided, lost; no text carries another's score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import ModelError
from skillopt.core.item import Item
from skillopt.core.skill import SLOW_UPDATE, Skill, skill_hash
from skillopt.engine.epoch.comparison import sample_order
from skillopt.model.types import ChatRequest
from tests.engine.epoch.stage import Ran, append, guide, play, text_of

EMPTY = f"{SLOW_UPDATE[0]}\n{SLOW_UPDATE[1]}\n"
ALL_RULES = "RULE 0 and RULE 1 and RULE 2 and RULE 3."


def rows(ran: Ran, folder: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (ran.root / folder / "results.jsonl").read_text().splitlines()]


def measured(ran: Ran, epoch: int) -> float:
    """Mean over the selection rollouts of a slow update, which were made with exactly its candidate."""
    folder = f"slow_update/epoch_{epoch:02d}"
    candidate = (ran.root / folder / "candidate_skill.md").read_text()
    got = rows(ran, f"{folder}/selection_eval")
    assert {row["skill_hash"] for row in got} == {skill_hash(candidate)}
    assert len(got) == 8
    return sum(float(str(row["hard"])) for row in got) / 8


async def test_the_first_epoch_puts_in_an_empty_region_that_costs_nothing(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0")}
    on = await play(tmp_path / "on", says, train__num_epochs=1)
    off = await play(tmp_path / "off", says, train__num_epochs=1, optimizer__use_slow_update=False)
    assert on.skill(2) == off.skill(2).rstrip() + f"\n\n{EMPTY}"
    assert on.best == off.best, "best is untouched"
    result = on.result("slow_update", 1)
    assert (result["action"], result["epoch"], result["tokens"]) == ("inject_placeholder", 1, {})
    assert on.state["current_origin"] == "slow_update_placeholder_epoch_01"
    assert on.state["best_origin"] == "step_0001"
    assert on.state["current_score"] == on.state["best_score"] == 0.25
    assert len(on.play.asked) == len(off.play.asked)
    assert not any("SLOW_UPDATE" in text_of(r) for r in on.play.asked if r.schema is None)


async def test_a_region_that_already_says_something_is_left_alone(tmp_path: Path) -> None:
    initial = f"# Tasks\n\n{SLOW_UPDATE[0]}\nRULE 3\n{SLOW_UPDATE[1]}\n"
    ran = await play(tmp_path, {}, initial=initial, train__num_epochs=1)
    assert ran.skill(2) == initial
    assert ran.state["current_origin"] == "initial_skill"


@pytest.mark.parametrize(("epoch", "ids"), [(2, "i6 i7 i5 i3"), (3, "i6 i5 i9 i4")])
def test_golden_sample(epoch: int, ids: str) -> None:
    items = [Item(f"i{n}") for n in range(10)]
    assert " ".join(i.id for i in sample_order(items, seed=42, epoch=epoch)[:4]) == ids


async def test_gated_guidance_that_helps_becomes_best(tmp_path: Path) -> None:
    ran = await play(tmp_path, {"analyst": append("RULE 0"), "slow_update": guide("  RULE 1\n")})
    result = ran.result("slow_update", 2)
    assert result["action"] == "accept_new_best"
    assert result["acceptance"] == "gated"
    assert (result["prev_hard"], result["curr_hard"]) == (0.25, 0.25)
    assert result["update_target"] == "RULE 1"
    assert result["update_origin"] == "slow_update_momentum"
    assert result["candidate_hash"] == Skill(ran.best).hash
    assert result["selection_hard"] == measured(ran, 2) == 0.5
    assert ran.best == ran.skill(4)
    assert f"{SLOW_UPDATE[0]}\nRULE 1\n{SLOW_UPDATE[1]}" in ran.best
    assert ran.state["best_origin"] == ran.state["current_origin"] == "slow_update_epoch_02"
    assert (ran.state["best_score"], ran.state["best_step"]) == (0.5, 4)


async def test_gated_guidance_that_lowers_the_score_is_refused(tmp_path: Path) -> None:
    """Fault D.9: guidance was kept whatever it did."""
    ran = await play(tmp_path, {"analyst": append("RULE 0"), "slow_update": guide("BAN 0")})
    result = ran.result("slow_update", 2)
    assert result["action"] == "reject"
    assert ran.skill(4).endswith(EMPTY)
    assert "BAN" not in ran.best
    assert ran.state["current_score"] == 0.25
    assert ran.state["current_origin"] == "slow_update_placeholder_epoch_01"


async def test_forced_guidance_is_measured_before_a_score_is_written(tmp_path: Path) -> None:
    """Fault D.11: the old score was written for the new text; a true 0.0 was carried as 1.0 and blocked every later
    candidate. Here the fall to zero is recorded as such, best keeps its text and score, and the next gain counts."""

    def analyst(request: ChatRequest) -> dict[str, Any]:
        banned = "BAN 0" in text_of(request, "user")
        return append("SURE 2" if banned else ALL_RULES)(request)

    says = {"analyst": analyst, "slow_update": guide("BAN 0, BAN 1, BAN 2, BAN 3")}
    ran = await play(tmp_path, says, train__num_epochs=3, optimizer__slow_update_gate_with_selection=False)
    second = ran.result("slow_update", 2)
    assert second["action"] == "force_accept"
    assert second["acceptance"] == "force-accept"
    assert second["selection_hard"] == measured(ran, 2) == 0.0
    assert second["current_score"] == 0.0
    assert second["best_score"] == 1.0
    assert "BAN" not in ran.best
    history = ran.read("history.json")
    later = [r for r in history if r["epoch"] == 3 and r["action"] == "accept"]
    assert later, [r["action"] for r in history]
    assert later[0]["candidate_gate_score"] == 0.25
    assert ran.state["best_score"] == 1.0
    assert "SURE" not in ran.best


async def test_forced_guidance_that_helps_becomes_best(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1")}
    ran = await play(tmp_path, says, optimizer__slow_update_gate_with_selection=False)
    assert ran.result("slow_update", 2)["action"] == "force_accept"
    assert ran.state["current_score"] == ran.state["best_score"] == measured(ran, 2) == 0.5
    assert ran.best == ran.skill(4)


@pytest.mark.parametrize("gated", [True, False])
async def test_guidance_that_cannot_be_measured_is_undecided(tmp_path: Path, gated: bool) -> None:
    def broken(skill: str, task: str) -> bool:
        return "RULE 1" in skill and any(f"n{n}x" in task for n in range(8, 12))

    says = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1")}
    ran = await play(tmp_path, says, broken=broken, optimizer__slow_update_gate_with_selection=gated)
    result = ran.result("slow_update", 2)
    assert result["action"] == "undecided"
    assert result["n_missing"] == 4
    assert ran.skill(4).endswith(EMPTY)
    assert ran.state["current_score"] == 0.25


async def test_the_same_guidance_again_is_a_tie_without_a_call(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1")}
    ran = await play(tmp_path, says, train__num_epochs=3)
    third = ran.result("slow_update", 3)
    assert (third["action"], third["reason"]) == ("reject", "nothing changed")
    assert "gate" not in third["tokens"]
    assert ran.skill(6) == ran.skill(4)


@pytest.mark.parametrize(
    ("reply", "reason", "dropped"),
    [
        ({"reasoning": "", "slow_update_content": " \n"}, "the optimizer wrote none", 0),
        ({"reasoning": "", "slow_update_content": SLOW_UPDATE[0]}, "the optimizer wrote none", 0),
        ({"reasoning": ""}, 'the reply has no "slow_update_content"', 1),
        (ModelError("the provider is gone"), "the slow_update call failed: the provider is gone", 1),
    ],
)
async def test_no_content_leaves_the_skill_and_says_why(
    tmp_path: Path, reply: dict[str, str] | Exception, reason: str, dropped: int
) -> None:
    ran = await play(tmp_path, {"slow_update": lambda request: reply})
    result = ran.result("slow_update", 2)
    assert result["action"] == "no_content"
    assert reason in result["reason"]
    assert result["n_dropped_replies"] == dropped
    assert ran.skill(4) == ran.skill(2)
    assert ran.stopped_by is None


async def test_lines_that_copy_items_are_left_out(tmp_path: Path) -> None:
    says = {"slow_update": guide("RULE 1\nRemember: Task n3x of kind 3 was hard.\nTask n9x of kind 1 too.")}
    strip = await play(tmp_path / "strip", says, optimizer__leakage="strip")
    assert strip.result("slow_update", 2)["update_target"] == "RULE 1"
    assert len(strip.result("slow_update", 2)["vetoed"]) == 2
    assert "n9x" not in (strip.root / "slow_update/epoch_02/slow_result.json").read_text()
    refuse = await play(tmp_path / "refuse", says, optimizer__leakage="refuse")
    assert refuse.result("slow_update", 2)["action"] == "no_content"
    assert "vetoed" in refuse.result("slow_update", 2)["reason"]
    assert "RULE 1" not in refuse.skill(4)


async def test_on_and_off_are_different_bytes(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1")}
    on = await play(tmp_path / "on", says, train__num_epochs=3)
    off = await play(tmp_path / "off", says, train__num_epochs=3, optimizer__use_slow_update=False)
    assert len(on.play.stages("slow_update")) == 2
    assert not off.play.stages("slow_update", "longitudinal")
    assert any("RULE 1" in text for text in on.play.prompts("rollout", "gate", "test"))
    assert not any("RULE 1" in text for text in off.play.prompts("rollout", "gate", "test"))
    assert not (off.root / "slow_update").exists()
    assert "SLOW_UPDATE" not in off.skill(6)


async def test_the_prompt_shows_both_skills_the_guidance_and_the_pairs(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 2"), "slow_update": guide("RULE 1", "BAN 3")}
    ran = await play(tmp_path, says, train__num_epochs=3, evaluation__use_gate=False)
    first, second = (text_of(r, "user") for r in ran.play.stages("slow_update"))
    assert "(There is none yet.)" in first
    assert "```guidance\nRULE 1\n```" in second
    assert ran.skill(4).strip() in second, "the skill after the last slow update"
    assert ran.skill(2).strip() in first
    assert ran.read("slow_update/epoch_03/slow_result.json")["prev_hash"] == Skill(ran.skill(4)).hash
    for prompt in (first, second):
        assert prompt.count("### Pair ") == 8
        assert not any(f"n{n}x" in prompt for n in range(8, 20)), "no item of another split"


async def test_samples_are_as_many_as_configured(tmp_path: Path) -> None:
    ran = await play(tmp_path, {}, optimizer__slow_update_samples=3)
    assert ran.result("slow_update", 2)["n_pairs"] == 3
    order = [i.id for i in sample_order([Item(f"i{n}") for n in range(8)], seed=42, epoch=2)]
    for side in ("prev", "curr"):
        assert [r["id"] for r in rows(ran, f"slow_update/epoch_02/rollout_{side}")] == order[:3]


async def test_tokens_of_epoch_ends_are_in_their_files_and_in_the_summary(tmp_path: Path) -> None:
    says = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1")}
    ran = await play(tmp_path, says, train__num_epochs=3)
    summary = ran.read("summary.json")
    results = [ran.result("slow_update", epoch) for epoch in (1, 2, 3)]
    for stage in ("longitudinal", "slow_update"):
        total = sum(r["tokens"].get(stage, {"calls": 0})["calls"] for r in results)
        assert summary["token_summary"][stage]["calls"] == total > 0
        assert all(stage not in r["tokens"] for r in ran.read("history.json"))
    gates = [r["tokens"] for r in (*results, *ran.read("history.json"))]
    assert summary["token_summary"]["gate"]["calls"] == sum(t.get("gate", {"calls": 0})["calls"] for t in gates)
    stats = summary["epoch_stats"]
    assert [row["slow_update"] for row in stats] == ["inject_placeholder", "accept_new_best", "reject"]
    assert [row["best_score_at_epoch_end"] for row in stats] == [0.25, 0.5, 0.5]


async def test_patience_counts_steps_and_starts_again_after_guidance_that_was_kept(tmp_path: Path) -> None:
    says = {"slow_update": guide("RULE 1")}
    patient = await play(tmp_path / "a", says, train__num_epochs=4, budget__patience=5)
    steps = len(patient.read("history.json"))
    without = await play(tmp_path / "b", {}, train__num_epochs=4, budget__patience=5, optimizer__use_slow_update=False)
    assert without.stopped_by == "patience"
    assert len(without.read("history.json")) == 5
    assert steps == 8, "guidance was kept after step 4"
