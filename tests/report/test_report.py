"""The report says what the records and the bytes say, and no more: read from runs that were recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt.records.reading import Run, open_run
from skillopt.records.schema import ScoreSummary, StepRecord, Summary
from skillopt.records.vocabulary import Action
from skillopt.report.reasons import alarms, candidate_counts, why_nothing
from skillopt.report.report import headline, render_report, report_of
from tests.records.recorded import FIRST, NOW, every_run


def recorded(name: str) -> tuple[Run, Summary, tuple[StepRecord, ...]]:
    run = open_run(FIRST / name)
    return run, run.summary or Summary(), run.steps


@pytest.mark.parametrize("root", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_recorded_run_has_a_report_and_always_the_same(root):
    text = report_of(open_run(root))
    assert text == report_of(open_run(root)) and text.startswith("# ") and "None" not in text


def test_a_gain_with_its_evidence():
    run, summary, steps = recorded("rewrite")
    assert summary.paired is not None
    better = replace(summary, paired=replace(summary.paired, interval=(0.1, 0.9)))
    text = render_report(better, steps, run.initial.text, run.best.text)
    assert text.startswith("# Better: +62.5 points on the sealed test\n")
    for part in ("8 of 8", "5 won, 0 lost", "+RULE", "| gate | ", "accepted, new best"):
        assert part in text


def test_the_headline_comes_from_the_final_bytes():
    run, summary, _ = recorded("rewrite")
    assert headline(summary, "same", "same").startswith("No change")
    assert headline(summary, run.initial.text, run.best.text).startswith("Not distinguishable")
    assert summary.paired is not None
    worse = replace(summary, paired=replace(summary.paired, delta=-0.3, interval=(-0.5, -0.1)))
    assert headline(worse, "a", "b").startswith("Worse")
    assert "was not measured" in headline(replace(summary, paired=None), "a", "b")


def test_a_skill_with_fences_is_shown_in_a_longer_fence():
    run, summary, steps = recorded("strict")
    assert "````diff" in render_report(summary, steps, run.initial.text, run.best.text + "\n```code```\n")


def test_unknown_is_written_as_unknown():
    run, summary, steps = recorded("strict")
    gate = replace(summary.token_summary["gate"], prompt_tokens=None)
    unknown = replace(summary, token_summary={"gate": gate}, cost=replace(summary.cost, usd=None), cost_per_point=None)
    text = render_report(unknown, steps, run.initial.text, run.best.text)
    assert f"| gate | {gate.calls:,} | unknown | {gate.completion_tokens:,} |" in text
    assert "Money at list prices: unknown." in text


def test_a_run_that_was_stopped_before_its_baseline_measured_nothing():
    run, summary, _ = recorded("no_baseline")
    text = report_of(run)
    assert text.startswith("# Nothing was measured: the run ended before its initial skill had a score\n")
    assert "only 0 of 12 selection items could be measured" in text and "the server is out of order" in text
    for false in ("No change", "still the best", "Candidates:", "No candidate was kept"):
        assert false not in text
    stopped_later = replace(summary, baseline_selection_hard=0.0)
    assert headline(stopped_later, "a", "a").startswith("No change"), "a score of 0 is a score"


def test_drafts_are_not_said_to_be_unmeasured():
    """Two steps of the recorded run were kept as drafts; nothing was missing anywhere."""
    _, summary, steps = recorded("paired")
    assert candidate_counts(steps) == "0 accepted, 4 rejected, 2 kept as drafts, 0 undecided, 0 skipped"
    unproven = replace(summary, last_look=None, best_skill_hash=summary.initial_skill_hash)
    said = why_nothing(unproven, steps)
    assert "2 of 6 steps: the candidate was kept as a draft, and no draft was proven" in said
    assert "could be measured" not in said
    assert why_nothing(summary, steps) == "", "the last look proved a draft"
    text = report_of(open_run(FIRST / "paired"))
    assert "| 1 | 0.3750 | 2 of 5 | – | 0 / 0 | 0 of 16 | kept as a draft, not proven yet: 2 won, 0 lost" in text


def test_undecided_is_said_of_what_could_not_be_measured_only():
    _, summary, steps = recorded("stopped")
    gate = replace(steps[0].gate, action=Action.UNDECIDED, reason="only 9 of 12 selection outcomes could be measured")
    assert "1 of 1 steps: too much was missing to decide" in why_nothing(summary, [replace(steps[0], gate=gate)])


def test_vetoed_edits_are_listed_with_the_reason_that_was():
    text = report_of(open_run(FIRST / "vetoed"))
    assert (
        "4 edits were vetoed before the gate: 2 copied items or answers; "
        "2 would have made an error in the skill's form (lint)." in text
    )
    assert "- step 1, edit 1 (append): would make an error (text.control): the control character U+0007" in text
    assert "- step 1, edit 2 (append): copies a train item: 'box 1 is of kind 1 and'" in text
    _, summary, steps = recorded("vetoed")
    form = [replace(r, vetoed=r.vetoed[:1], n_edits_vetoed=1) for r in steps]
    assert "copied items or answers" not in render_report(summary, form, "a", "a")
    unlisted = [replace(r, vetoed=()) for r in steps]
    assert "4 were vetoed for a reason that the records do not hold" in render_report(summary, unlisted, "a", "a")


def test_why_nothing_was_kept():
    _, summary, steps = recorded("solved")
    assert "ceiling" in why_nothing(summary, steps)
    _, summary, steps = recorded("strict")
    assert why_nothing(summary, steps) == ""
    _, summary, steps = recorded("stopped")
    said = why_nothing(summary, steps)
    assert said.startswith("1 of 1 steps: the candidate did not beat the current skill; the run was stopped: budget")
    assert why_nothing(summary, ()) == summary.stopped


def test_where_no_gate_ran_none_is_said_to_have_lost_there():
    _, summary, steps = recorded("vetoed")
    said = why_nothing(summary, steps)
    assert "2 of 2 steps: all edits were vetoed" in said and "did not beat" not in said


def test_alarm_when_every_candidate_scores_zero():
    _, summary, steps = recorded("strict")
    broken = [replace(r, gate=replace(r.gate, candidate_gate_score=0.0)) for r in steps]
    assert "scored 0" in alarms(summary, broken)[0]
    assert not [text for text in alarms(replace(summary, baseline_selection_hard=0.0), broken) if "scored 0" in text]


def test_a_run_without_steps_or_test_has_a_report():
    text = render_report(Summary(test=ScoreSummary(reason="switched off")), [], "", "")
    assert "Not measured: switched off." in text


def test_items_are_named_by_their_question_where_their_id_is_a_hash():
    run = open_run(NOW / "paired")
    lost = run.summary.paired.lost[0]
    text = render_report(
        run.summary, run.steps, run.initial.text, run.best.text, {lost: "What is in box 42? (d9f4a1b2)"}
    )
    assert "Lost: `What is in box 42? (d9f4a1b2)`." in text and f"Lost: `{lost}`." in report_of(run)
