"""The report says what the bytes and the sealed test say, and no more."""

from __future__ import annotations

from skillopt.report.report import alarms, headline, render_report, why_nothing

ROW = {"hard": 0.5, "soft": 0.5, "n": 38, "total": 40, "interval": [0.3, 0.7]}
SUMMARY = {
    "baseline_test": ROW, "test": {**ROW, "hard": 0.8}, "verdict": "Better than the initial skill: yes.",
    "paired": {"n": 38, "wins": 13, "losses": 1, "delta": 0.3, "interval": [0.1, 0.5], "p": 0.002},
    "token_summary": {"gate": {"calls": 9, "prompt_tokens": None, "completion_tokens": 5}}, "cost": {"usd": None},
    "baseline_selection_hard": 0.5, "total_accepts": 1,
}  # fmt: skip
STEP = {"step": 1, "action": "accept", "rollout_hard": 0.4, "candidate_gate_score": 0.7, "wins": ["a"], "losses": [],
        "evaluated_n": 40, "selection_n": 40, "candidate_hash": "x", "n_edits_leaked": 2}  # fmt: skip


def test_a_gain_with_its_evidence_and_unknown_as_unknown():
    text = render_report(SUMMARY, [STEP], "old\n", "old\nnew ```code```\n")
    assert text.startswith("# Better: +30.0 points on the sealed test\n")
    for part in ("38 of 40", "13 won, 1 lost", "+new", "2 edits were vetoed", "| gate | 9 | unknown | 5 |", "unknown."):
        assert part in text
    assert "````diff" in text
    assert text == render_report(SUMMARY, [STEP], "old\n", "old\nnew ```code```\n")


def test_the_headline_comes_from_the_final_bytes():
    assert headline(SUMMARY, "same", "same").startswith("No change")
    unclear = {**SUMMARY, "paired": {**SUMMARY["paired"], "interval": [-0.1, 0.5]}}
    assert headline(unclear, "a", "b").startswith("Not distinguishable from the initial skill")
    worse = {**SUMMARY, "paired": {**SUMMARY["paired"], "delta": -0.3, "interval": [-0.5, -0.1]}}
    assert headline(worse, "a", "b").startswith("Worse")


def test_why_nothing_was_kept():
    reject = {"step": 1, "action": "reject"}
    assert why_nothing(SUMMARY, [STEP]) == ""
    assert "ceiling" in why_nothing({"baseline_selection_hard": 1.0}, [reject])
    skip = {"step": 2, "action": "skip_no_patches", "reason": "no analyst proposed an edit"}
    assert why_nothing({}, [reject, skip]).startswith("1 of 2 steps: no analyst proposed an edit")
    assert "budget" in why_nothing({"stopped": "budget reached"}, [])


def test_alarm_when_every_candidate_scores_zero():
    broken = [{"candidate_gate_score": 0.0, "action": "reject"}] * 3
    assert "scored 0" in alarms(SUMMARY, broken)[0]
    assert alarms({"baseline_selection_hard": 0.0}, broken) == []


def test_a_run_without_steps_or_test_has_a_report():
    assert "Not measured" in render_report({}, [], "", "")
