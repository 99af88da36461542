"""What real tiny runs tell: every start has its end, numbers go on after a stop, and nothing is told twice as new."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from skillopt.engine.run.telling.events import Events
from skillopt.records.events import (
    EVENTS,
    BudgetUpdated,
    CallEnd,
    CandidateAccepted,
    CandidateProposed,
    CandidateRejected,
    EditDropped,
    Event,
    GateVerdict,
    Notice,
    RunEnd,
    RunStart,
    StageEnd,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.reading import open_run
from skillopt.records.vocabulary import Stage
from tests.explain.toy_runs import run, write_project

EVERYTHING = {
    "optimizer__use_skill_aware_reflection": True, "optimizer__use_meta_reflect": True,
    "optimizer__use_meta_skill": True, "evaluation__gate_rule": "paired", "optimizer__proposals": 2,
}  # fmt: skip


def told(root: Path) -> list[Event]:
    return list(open_run(root).events())


def assert_ended(events: list[Event]) -> None:
    """As many ends as starts of each kind, none of them before its start."""
    open_now: Counter[tuple[str, object, object]] = Counter()
    for event in events:
        base, _, end = event.name.rpartition(".")
        if end in ("start", "end") and base in ("run", "epoch", "step", "stage"):
            key = (base, getattr(event, "stage", None), getattr(event, base, None) or getattr(event, "step", None))
            open_now[key] += 1 if end == "start" else -1
            assert open_now[key] >= 0, event
    assert not +open_now


def test_every_start_has_its_end(tmp_path):
    root = run(write_project(tmp_path, train__num_epochs=2, **EVERYTHING), tmp_path / "run")
    events = told(root)
    assert_ended(events)
    assert [e.seq for e in events] == sorted({e.seq for e in events}) and len({e.run_id for e in events}) == 1
    assert not any(e.replayed for e in events) and all(e.time > 1e9 for e in events)
    stages = {e.stage for e in events if isinstance(e, StageStart)}
    assert {Stage.BASELINE, Stage.ROLLOUT, Stage.GATE, Stage.TEST, Stage.RACE, Stage.META_SKILL} <= stages
    test = next(e for e in events if isinstance(e, StageEnd) and e.stage is Stage.TEST)
    summary = open_run(root).summary
    assert summary is not None and test.score is not None and test.score.hard == summary.test.hard
    end = events[-1]
    assert isinstance(end, RunEnd) and end.summary == summary and end.outcome == "done"


def test_what_is_told_of_steps_and_candidates_is_what_the_records_say(tmp_path):
    root = run(write_project(tmp_path), tmp_path / "run")
    events, steps = told(root), open_run(root).steps
    assert [e.step for e in events if isinstance(e, StepStart)] == [r.step for r in steps]
    for event, record in zip((e for e in events if isinstance(e, StepEnd)), steps, strict=True):
        assert event.record is not None and event.record.gate == record.gate
        assert event.timing["rollout_s"] >= 0 and event.timing["evaluate_s"] >= 0
    verdicts = [e for e in events if isinstance(e, GateVerdict) and e.stage is Stage.GATE]
    assert [v.gate.action for v in verdicts] == [r.gate.action for r in steps if not r.gate.action.skipped]
    accepted = [e.step for e in events if isinstance(e, CandidateAccepted) and e.stage is Stage.GATE]
    assert accepted == [r.step for r in steps if r.gate.changed_current]
    proposed = sum(isinstance(e, CandidateProposed) for e in events)
    assert proposed == sum(isinstance(e, (CandidateAccepted, CandidateRejected)) for e in events)
    spent = [e for e in events if isinstance(e, BudgetUpdated)][-1]
    assert spent.calls == sum(row.calls for row in open_run(root).ledger.calls)
    dropped = [e for e in events if isinstance(e, EditDropped)]
    assert len(dropped) == sum(r.n_edits_vetoed + (r.edit_apply_summary.skipped if r.edit_apply_summary else 0)
                               for r in steps)  # fmt: skip


def test_a_run_that_goes_on_numbers_on_and_marks_what_it_repeats(tmp_path):
    config = write_project(tmp_path)
    root = run(config, tmp_path / "run", budget__max_calls=60)
    first = told(root)
    assert_ended(first)
    end = first[-1]
    assert isinstance(end, RunEnd) and end.outcome == "stopped" and "budget" in end.reason
    run(config, root)
    both = told(root)
    second = both[len(first) :]
    assert both[: len(first)] == first and second[0].seq > first[-1].seq
    assert {e.run_id for e in both} == {first[0].run_id}
    assert isinstance(second[0], (RunStart, BudgetUpdated, Notice))
    again = [e for e in second if isinstance(e, StepEnd) and e.replayed]
    fresh = [e for e in second if isinstance(e, StepEnd) and not e.replayed]
    done = [e.step for e in first if isinstance(e, StepEnd) and e.record is not None]
    assert [e.step for e in again] == done and fresh, (
        "what an earlier process told is told as repeated, the rest as new"
    )
    assert not second[-1].replayed
    run(config, root)
    third = told(root)[len(both) :]
    assert all(e.replayed for e in third if not isinstance(e, (BudgetUpdated, Notice))), "a finished run repeats itself"


def test_an_error_ends_what_had_begun(tmp_path, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr("skillopt.engine.trainer.step_record", broken)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        run(write_project(tmp_path), tmp_path / "run")
    events = told(tmp_path / "run")
    assert_ended(events)
    assert isinstance(events[-1], RunEnd) and events[-1].outcome == "failed" and "the disk" in events[-1].reason


def test_events_on_request_come_only_to_who_asks():
    seen: list[Event] = []
    incurious: list[Event] = []
    call = CallEnd(role="target")
    Events([seen.append])(call)
    assert seen == []
    asked = Events([seen.append], on_request=[CallEnd.name])
    asked.add(incurious.append)
    asked(call)
    asked(Notice(text="to all"))
    assert [e.name for e in seen] == ["call.end", "notice"] and asked.wants("notice")
    assert [e.name for e in incurious] == ["notice"], "not to the others"


def test_secrets_are_taken_out_of_nested_records_and_a_faulty_observer_costs_nothing():
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise ValueError("no")

    events = Events([broken, seen.append], hidden=["hunter2-hunter2"])
    events(RunStart(out_root="/x/hunter2-hunter2", splits={"train": 1}))
    events(Notice(text="hunter2-hunter2"))
    assert "hunter2" not in str(seen) and [e.seq for e in seen] == [1, 2, 3]
    assert events.faults == ["observer broken failed on run.start: ValueError: no"] and events.late == []
    told = [e.text for e in seen if isinstance(e, Notice)]
    assert told[0] == f"warning: {events.faults[0]}; it is told nothing more", "once, and at once"


def test_every_class_is_in_the_table():
    assert set(EVENTS) >= {"candidate.proposed", "candidate.accepted", "candidate.rejected", "edit.dropped",
                           "budget.updated", "rollout.end", "call.end"}  # fmt: skip
