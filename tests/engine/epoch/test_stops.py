"""A stop inside an epoch's end: the run ends in order, and goes on later to the result of an undisturbed one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import BudgetExceeded
from skillopt.model.types import ChatRequest
from skillopt.testing.trees import differences, tree
from tests.engine.epoch.stage import Ran, Say, append, guide, play, remember, text_of

ON: dict[str, Any] = {
    "train__num_epochs": 3, "optimizer__use_meta_skill": True, "optimizer__use_meta_reflect": True,
    "gradient__failure_only": True,
}  # fmt: skip


def says() -> dict[str, Say]:
    return {
        "analyst": append("RULE 0"),
        "slow_update": guide("RULE 1"),
        "meta_skill": remember("- LESSON"),
        "meta_reflect": append("RULE 2"),
    }


def stop_at(stage: str, number: int) -> dict[str, Say]:
    """The budget ends with the n-th call of a stage."""
    spoken, asked = says(), list[ChatRequest]()
    speak = spoken[stage]

    def say(request: ChatRequest) -> Any:
        asked.append(request)
        over = BudgetExceeded("calls", 1, 0, "a test")
        return over if len(asked) >= number else speak(request)

    return {**spoken, stage: say}


def files(ran: Ran) -> dict[str, bytes]:
    return {name: data for name, data in tree(ran.root).items() if not name.startswith("config.")}


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("stage", "number", "epoch"),
    [("slow_update", 1, 2), ("meta_skill", 2, 3), ("meta_reflect", 1, 1), ("meta_reflect", 2, 2)],
)
async def test_a_stop_in_an_optimizer_call(tmp_path: Path, stage: str, number: int, epoch: int) -> None:
    whole = await play(tmp_path / "whole", says(), **ON)
    stopped = await play(tmp_path / "run", stop_at(stage, number), **ON)
    assert stopped.stopped_by == "budget"
    last = 2 * epoch
    assert len(stopped.read("history.json")) == last
    assert not list((stopped.root / stage / f"epoch_{epoch:02d}").glob("*result.json"))
    assert stopped.state["current_skill_path"] == f"skills/skill_v{last:04d}.md"
    summary = stopped.read("summary.json")
    assert summary["current_origin"] == stopped.state["current_origin"]
    assert summary["test_hard"] is not None
    if (stage, epoch) == ("meta_reflect", 2):
        assert stopped.state["current_origin"] == "slow_update_epoch_02", "what was decided before the stop stands"
        assert "RULE 1" in stopped.skill(4)
    again = await play(tmp_path / "run", says(), **ON)
    assert again.stopped_by is None
    # The stopped run had read the sealed test: its second reading is told in these two, nothing else differs.
    assert set(differences(files(whole), files(again))) <= {"report.md", "summary.json"}
    told = {"verdict", "test_reading"}
    then, now = whole.read("summary.json"), again.read("summary.json")
    assert {k: v for k, v in now.items() if k not in told} == {k: v for k, v in then.items() if k not in told}
    assert now["verdict"].startswith(then["verdict"])


async def test_a_lost_rollout_costs_its_pair_and_not_the_run(tmp_path: Path) -> None:
    """Items of the comparison that no step had asked the current skill."""
    proposals = {**says(), "analyst": grow}
    options = {**ON, "optimizer__use_meta_reflect": False}
    whole = await play(tmp_path / "whole", proposals, sizes=(16, 8, 4), train__batch_size=8, **options)
    asked = [text_of(r) for r in whole.play.stages("longitudinal")]
    assert asked, "some skill is asked something new at an epoch's end"

    def broken(skill: str, task: str) -> bool:
        return f"{skill}\n{task}" == asked[0]

    lost = await play(
        tmp_path / "lost", {**says(), "analyst": grow}, sizes=(16, 8, 4), train__batch_size=8, broken=broken, **options
    )
    assert sum(lost.result("slow_update", epoch)["n_pairs_left_out"] for epoch in (2, 3)) >= 1
    assert lost.stopped_by is None


def grow(request: ChatRequest) -> dict[str, Any]:
    """One rule after the other, so that skills change within epochs."""
    held = [k for k in range(3) if f"RULE {k}" in text_of(request, "user")]
    return append(f"RULE {len(held)}")(request)
