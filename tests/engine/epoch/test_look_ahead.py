"""Work done ahead over an epoch's end: only what that end cannot make useless."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from skillopt.core.editing.regions import with_slow_update
from skillopt.core.skill import Skill
from skillopt.engine.epoch.end import look_ahead
from tests.engine.epoch.stage import Ran, append, guide, play, remember, text_of

SKILL = Skill("# Tasks\n")
PLACED = with_slow_update(SKILL, "")


@dataclasses.dataclass(frozen=True)
class Switches:
    use_slow_update: bool = False
    use_meta_skill: bool = False
    use_meta_reflect: bool = False
    slow_update_gate_with_selection: bool = True


@pytest.mark.parametrize(
    ("epoch", "switches", "expected"),
    [
        (1, Switches(), (SKILL, True)),
        (2, Switches(), (SKILL, True)),
        (1, Switches(use_slow_update=True, use_meta_skill=True), (PLACED, True)),
        (1, Switches(use_meta_skill=True), (SKILL, True)),
        (1, Switches(use_slow_update=True, use_meta_reflect=True), (SKILL, False)),
        (2, Switches(use_slow_update=True), (SKILL, False)),
        (2, Switches(use_meta_skill=True), (SKILL, False)),
        (2, Switches(use_slow_update=True, slow_update_gate_with_selection=False), (None, False)),
        (1, Switches(use_slow_update=True, slow_update_gate_with_selection=False), (PLACED, True)),
    ],
)
def test_what_can_be_foreseen(epoch: int, switches: Switches, expected: tuple[Skill | None, bool]) -> None:
    context: Any = SimpleNamespace(config=SimpleNamespace(optimizer=switches))
    assert look_ahead(context, epoch, SKILL) == expected


def wasted(ahead: Ran, plain: Ran) -> list[str]:
    """Prompts of rollouts and analysts that only the run with work ahead sent. (A gate looks ahead on its own.)"""
    needed = {text_of(r) for r in plain.play.asked}
    return [text for text in ahead.play.prompts("rollout", "analyst", "merge", "ranking") if text not in needed]


async def test_a_rejected_epoch_wastes_nothing_at_the_first_end(tmp_path: Path) -> None:
    """Every candidate is refused, so what was done ahead is what the next step needs, over the placeholder too."""
    says = {"analyst": append("BAN 0"), "slow_update": guide("BAN 1"), "meta_skill": remember("- note")}
    runs = [
        await play(tmp_path / str(on), says, evaluation__prefetch=on, optimizer__use_meta_skill=True)
        for on in (True, False)
    ]
    assert wasted(*runs) == []
    assert runs[0].skill(4) == runs[1].skill(4)


async def test_forced_guidance_is_not_rolled_out_against(tmp_path: Path) -> None:
    runs: list[Ran] = []
    for on in (True, False):
        says = {"analyst": append("BAN 0"), "slow_update": guide("Guidance 1.", "Guidance 2.")}
        forced = {"evaluation__prefetch": on, "optimizer__slow_update_gate_with_selection": False}
        runs.append(await play(tmp_path / str(on), says, train__num_epochs=3, **forced))
    assert wasted(*runs) == []
    assert runs[0].skill(6) == runs[1].skill(6)
