"""What reaches a store: everything that is new, and of what was told before only the frame around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import skillopt
from skillopt.records.events import (
    BudgetUpdated,
    Event,
    Notice,
    RunEnd,
    RunStart,
    StageEnd,
    StageProgress,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.reading import open_run
from skillopt.records.vocabulary import Stage
from skillopt.trackers import Tracker
from skillopt.trackers.base import metrics_of, numbers
from tests.trackers.conftest import ITEMS, run


@dataclass
class Kept:
    """A store in memory."""

    events: list[Event] = field(default_factory=list[Event])
    closed: int = 0

    def take(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.closed += 1


def taken(*events: Event) -> list[str]:
    sink = Kept()
    tracker = Tracker(sink, name="t")
    for event in events:
        tracker(event)
    return [f"{e.name} {getattr(e, 'step', '')}".strip() for e in sink.events]


START, END = RunStart(out_root="x"), RunEnd()
GATE, AGAIN = StageStart(stage=Stage.GATE, step=1), StageStart(stage=Stage.GATE, step=1, replayed=True)


def test_progress_stays_out_and_the_end_closes() -> None:
    sink = Kept()
    tracker = Tracker(sink, name="t")
    for event in (START, StageProgress(stage=Stage.GATE), Notice(text="x"), END):
        tracker(event)
    assert [e.name for e in sink.events] == ["run.start", "notice", "run.end"] and sink.closed == 1


def test_what_was_told_is_passed_over() -> None:
    replayed = RunStart(out_root="x", replayed=True)
    first = StepStart(step=1, epoch=1, replayed=True), StepEnd(step=1, replayed=True)
    new = StepStart(step=2, epoch=1), StepEnd(step=2)
    told = taken(replayed, *first, Notice(text="x", replayed=True), *new, END)
    assert told == ["run.start", "step.start 2", "step.end 2", "run.end"]


def test_the_frame_of_something_new_is_told_first() -> None:
    begun = StepStart(step=2, epoch=1, replayed=True)
    told = taken(START, begun, AGAIN, StageEnd(stage=Stage.GATE, step=1), StepEnd(step=2), END)
    assert told == ["run.start", "step.start 2", "stage.start 1", "stage.end 1", "step.end 2", "run.end"]


def test_money_and_sentences_do_not_bring_back_a_step_that_was_told() -> None:
    between = (BudgetUpdated(calls=1), Notice(text="resumed"))
    told = taken(START, StepStart(step=1, epoch=1, replayed=True), *between, StepEnd(step=1, replayed=True), END)
    assert told == ["run.start", "budget.updated", "notice", "run.end"]


def test_a_frame_that_the_store_knows_is_ended_even_by_what_was_told() -> None:
    told = taken(START, AGAIN, StepStart(step=9, epoch=1), StageEnd(stage=Stage.GATE, step=1, replayed=True), END)
    assert told == ["run.start", "stage.start 1", "step.start 9", "stage.end 1", "run.end"]


def test_figures_of_nested_records_intervals_as_bounds() -> None:
    @dataclass
    class Row:
        n: int = 3
        good: bool = True
        interval: tuple[float, float] | None = (0.1, 0.4)
        missing: float | None = None
        endless: float = float("inf")

    assert dict(numbers({"a": Row(), "b": 2}, "x")) == {
        "x.a.n": 3.0, "x.a.interval_lower": 0.1, "x.a.interval_upper": 0.4, "x.b": 2.0,
    }  # fmt: skip


def test_a_stopped_run_that_goes_on_tells_a_store_each_step_once(tmp_path: Path) -> None:
    before, after, third = Kept(), Kept(), Kept()
    two: dict[str, object] = {"train.num_epochs": 2}
    stopped = run(tmp_path / "run", Tracker(before, name="one"), budget={"calls": 80}, overrides=two)
    assert stopped.stopped_by == "budget"
    run(tmp_path / "run", Tracker(after, name="two"), overrides=two)
    run(tmp_path / "run", Tracker(third, name="three"), overrides=two)

    def steps(sink: Kept) -> list[int]:
        return [e.step for e in sink.events if isinstance(e, StepEnd) and e.record is not None]

    every = [record.step for record in open_run(tmp_path / "run").steps]
    assert steps(before) + steps(after) == every and steps(third) == [] and before.closed == after.closed == 1
    assert len({e.run_id for e in (*before.events, *after.events, *third.events)}) == 1
    for sink in (before, after):
        starts = sum(isinstance(e, (StepStart, StageStart)) for e in sink.events)
        assert starts == sum(isinstance(e, (StepEnd, StageEnd)) for e in sink.events), "every start has its end"
    assert (
        {"run.start", "run.end"}
        <= {e.name for e in third.events}
        <= {"run.start", "run.end", "budget.updated", "notice"}
    )
    end = next(e for e in after.events if isinstance(e, RunEnd))
    summary = open_run(tmp_path / "run").summary
    assert summary is not None and metrics_of(end)["summary.test.hard"] == summary.test.hard


def test_a_broken_store_is_told_and_costs_the_run_nothing(tmp_path: Path) -> None:
    class Broken(Kept):
        def take(self, event: Event) -> None:
            raise OSError("no space")

    result = run(tmp_path / "run", Tracker(Broken(), name="Broken"))
    assert result.verdict and len(result.observer_faults) == 1
    assert re.fullmatch(r"observer Broken failed on \S+: OSError: no space", result.observer_faults[0])
    told = [e.text for e in result.run.events() if isinstance(e, Notice)]
    assert [text for text in told if "no space" in text] == [
        f"warning: {result.observer_faults[0]}; it is told nothing more"
    ]


@pytest.mark.parametrize("skills", [{"skill": ""}, {"none": "", "rules": "RULE 1\nRULE 2\nRULE 3\nRULE 4"}])
def test_an_evaluation_has_a_start_an_end_and_figures(skills: dict[str, str], tmp_path: Path) -> None:
    sink = Kept()
    found = skillopt.evaluate(
        ITEMS,
        scorer="exact", target="scripted", skills=skills, out=tmp_path / "eval", on_event=Tracker(sink, name="t"),
    )  # fmt: skip
    names = [e.name for e in sink.events]
    start = next(e for e in sink.events if isinstance(e, RunStart))
    assert (names[-1], names.count("run.start"), names.count("eval.end")) == ("run.end", 1, len(skills))
    assert start.kind == "eval" and start.splits == {"test": 16} and start.roles[0].role == "target"
    figures = {k: v for e in sink.events for k, v in metrics_of(e).items()}
    for score in found.table.scores:
        prefix = "eval" if len(skills) == 1 else f"eval.{score.name}"
        assert figures[f"{prefix}.hard"] == score.mean and figures[f"{prefix}.n"] == score.n
    assert sink.closed == 1 and found.observer_faults == ()
