"""Invariant I3 end to end: kill −9 at any moment, start again, same bytes, nothing paid twice.

`benchmarks/kill_resume.py` is the same proof with one kill in each of 200 runs; here fewer runs share the kills, and
`make test-slow` has two hundred.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from benchmarks.kill_resume import Outcome, campaign
from tests.examples import trials

FAST = Path("/dev/shm")
"""A kill is the same on any file system; without real fsyncs many more of them fit into a minute."""


@pytest.fixture
def scratch(tmp_path: Path):
    if not FAST.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="skillopt-", dir=FAST, ignore_cleanup_errors=True) as path:
        yield Path(path)


def assert_clean(outcome: Outcome) -> None:
    assert outcome.different == []
    assert outcome.failed == []
    assert outcome.paid_twice == 0
    assert outcome.sent_again <= outcome.in_flight


async def test_i3_kill_at_any_moment(scratch: Path) -> None:
    outcome = await campaign(trials=trials(2), kills=3, seed=7, own_hand_share=0.5, scratch=scratch)
    assert_clean(outcome)
    assert outcome.kills >= trials(2)


@pytest.mark.slow_campaign
async def test_i3_two_hundred_kills(scratch: Path) -> None:
    outcome = await campaign(trials=45, kills=5, seed=11, own_hand_share=0.4, scratch=scratch)
    assert_clean(outcome)
    assert outcome.kills >= 150, str(outcome)
    assert outcome.kills + outcome.too_late == 225


EVERYTHING = {
    "optimizer__use_slow_update": True,
    "optimizer__use_meta_skill": True,
    "optimizer__use_meta_reflect": True,
    "optimizer__use_skill_aware_reflection": True,
    "optimizer__lr_control_mode": "autonomous",
    "gradient__use_deep_reflect": True,
    "env__answer_format": "answer_tag",
}
"""Every optional mechanism that can be on together."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings",
    [
        {"evaluation__gate_rule": "paired", "evaluation__gate_alpha": 0.2, "evaluation__gate_candidates": 3},
        {"evaluation__gate_rule": "strict", "evaluation__gate_credit": "rejected"},
    ],
    ids=["paired", "strict"],
)
async def test_i3_holds_with_every_mechanism_on(scratch: Path, settings: dict[str, object]) -> None:
    outcome = await campaign(
        trials=trials(2), kills=3, seed=5, own_hand_share=0.5, scratch=scratch, **EVERYTHING, **settings
    )
    assert_clean(outcome)
    assert outcome.kills >= trials(2)
