"""The published lines, and a display whose fault costs nothing."""

from __future__ import annotations

import io

import pytest

from skillopt.cli.console import Screen
from skillopt.cli.live import Display
from skillopt.cli.narration import Story
from skillopt.core.events import Event

RECORD = {
    "step": 1, "n_edits_ranked": 4, "n_edits_merged": 6, "edit_budget": 8, "action": "accept_new_best",
    "candidate_gate_score": 0.68, "wins": ["a", "b"], "losses": ["c"], "early_stopped": False, "current_score": 0.68,
}  # fmt: skip


def told(*events: tuple[str, dict]) -> list[str]:
    story = Story(workers=4)
    return [line for name, data in events for line in story.tell(Event(name, data))]


def step_end(**changes):
    lr = {"lr": 8, "lr_scheduler": "cosine", "budget_unrounded": 7.77, "total_steps": 8}
    return ("step.end", {"record": {**RECORD, **changes}, **lr})


def test_the_published_console():
    lines = told(
        ("run.start", {"total_steps": 8, "epochs": 2, "splits": {"train": 40}}),
        ("stage.start", {"stage": "rollout", "step": 1, "epoch": 1, "total": 20}),
        ("stage.end", {"stage": "rollout", "step": 1, "hard": 0.65, "scored": 20, "total": 20}),
        ("stage.end", {"stage": "reflect", "step": 1, "patches": 6}),
        ("gate.verdict", {"current_score": 0.65}),
        step_end(),
    )
    assert lines[-6:] == [
        "[Epoch 1/2]",
        "[Step 1/8] Rollout: 20 items, 4 workers...",
        "[Step 1/8] Score: 0.6500 on 20 → Reflect...",
        "[Step 1/8] 6 edit patches generated",
        "[Step 1/8] Selected 4 edits (lr=8, cosine → 7.77 ⇒ 8)",
        "[Step 1/8] Gate: val score 0.6800 > 0.6500 ✓ ACCEPT (new best), 2 won, 1 lost",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {
                "action": "reject",
                "candidate_gate_score": None,
                "early_stopped": True,
                "evaluated_n": 12,
                "selection_n": 40,
            },
            "Gate: val score cannot pass 0.6500 ✗ REJECT (decided after 12 of 40 items, 2 won, 1 lost)",
        ),
        ({"action": "reject", "candidate_gate_score": 0.65}, "Gate: val score 0.6500 = 0.6500 ✗ REJECT, 2 won, 1 lost"),
        ({"action": "undecided", "reason": "30 of 40 measured"}, "Gate: UNDECIDED: 30 of 40 measured, 2 won, 1 lost"),
        ({"action": "skip_no_patches", "reason": "nothing to learn from"}, "SKIPPED: nothing to learn from"),
    ],
)
def test_every_verdict_has_its_line(changes, expected):
    lines = told(("gate.verdict", {"current_score": 0.65}), step_end(**changes))
    assert lines[-1] == f"[Step 1/8] {expected}"


def test_a_closed_stream_makes_the_screen_silent():
    stream = io.StringIO()
    screen = Screen(stream)
    stream.close()
    with Display(screen) as display:
        display(Event("notice", {"text": "hello"}))
    assert screen.closed
