"""Rollouts and calls as they are told on request: when they happen, joined by name, each once, marked after a stop."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.records.events import CallContent, CallEnd, Event, RolloutEnd, RunEnd, StageEnd, StageStart
from skillopt.records.vocabulary import Stage
from skillopt.testing import toy
from skillopt.testing.scripted import ScriptedBackend
from tests.api.conftest import ITEMS, SMALL

PLAIN = {**SMALL, "evaluation.prefetch": False}
"""Without calls ahead of a verdict: those that no decision comes to need are in the ledger and told by no event."""


@dataclass
class Watching:
    """Keeps all that can be asked for, in order."""

    events: list[Event] = field(default_factory=list[Event])

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    on_rollout_end = on_call_end = on_call_content = on_event

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def run(place: Path, watching: object, **more: Any) -> skillopt.Result:
    return skillopt.optimize(
        ITEMS,
        **{"scorer": "exact", "target": "scripted", "out": place, "overrides": SMALL, "on_event": watching, **more},
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def test_rollouts_and_their_calls_are_what_the_run_paid(place: Path) -> None:
    watching = Watching()
    result = run(place, watching, overrides=PLAIN)
    rollouts, calls = watching.of(RolloutEnd), watching.of(CallEnd)
    made = [c for c in calls if not c.recorded]
    assert len(made) == sum(row.calls for row in result.run.ledger.calls)
    assert not any(e.replayed for e in (*rollouts, *calls))
    names = [r.rollout for r in rollouts]
    assert len(set(names)) == len(names) and {c.rollout for c in made if c.role == "target" and c.stage != "probe"} <= {
        *names
    }
    keys = Counter((r.stage, r.step, r.item, r.repeat, r.skill_hash) for r in rollouts)
    assert set(keys.values()) == {1}, "what was asked ahead of a verdict is told once"
    tested = {(r.item, r.hard) for r in rollouts if r.stage is Stage.TEST and r.skill_hash == result.skill.hash}
    assert tested == {(name, row.hard) for name, row in result.run.rollouts("test_eval").items()}
    for r in rollouts:
        assert r.passed == (r.hard == 1.0) and r.seconds >= 0 and r.tokens.calls == 1
    contents = watching.of(CallContent)
    assert len(contents) == len(calls) and all(c.asked and c.asked[-1].text for c in contents)


def test_they_are_told_when_they_happen_and_not_at_the_end_of_their_stage(place: Path) -> None:
    watching = Watching()
    slow = ScriptedBackend(toy.respond, version="slow", latency_s=0.02)
    run(place, watching, target=slow, overrides={**SMALL, "train.num_epochs": 1, "env.workers": 2})
    (start,) = [e for e in watching.of(StageStart) if e.stage is Stage.BASELINE]
    (end,) = [e for e in watching.of(StageEnd) if e.stage is Stage.BASELINE]
    times = [e.time for e in watching.of(RolloutEnd) if e.stage is Stage.BASELINE]
    assert len(times) == 12 and start.time < times[0] and times == sorted(times)
    assert times[-1] - times[0] > 0.015 and end.time >= times[-1]


@pytest.mark.thorough
def test_after_a_stop_what_rests_on_earlier_answers_is_marked(place: Path) -> None:
    first, second = Watching(), Watching()
    assert run(place, first, budget={"calls": 80}, overrides=PLAIN).stopped_by == "budget"
    result = run(place, second, overrides=PLAIN)
    told = [*first.of(CallEnd), *(c for c in second.of(CallEnd) if not c.replayed)]
    made = [c for c in told if not c.recorded]
    assert len(made) == sum(row.calls for row in result.run.ledger.calls)

    def answers(rollouts: list[RolloutEnd]) -> set[tuple[object, ...]]:
        return {(r.item, r.repeat, r.skill_hash, r.hard) for r in rollouts}

    again = [r for r in second.of(RolloutEnd) if r.replayed]
    fresh = [r for r in second.of(RolloutEnd) if not r.replayed]
    assert again and fresh and answers(again) <= answers(first.of(RolloutEnd))
    stages = {(r.stage, r.step, r.item) for r in first.of(RolloutEnd)}
    assert not stages & {(r.stage, r.step, r.item) for r in fresh if r.stage in (Stage.BASELINE, Stage.ROLLOUT)}


def test_a_lost_attempt_is_told_with_its_error_and_so_is_the_next(place: Path) -> None:
    watching = Watching()
    tried = Counter[str]()

    def flaky(request: Any) -> str:
        text = str(request.messages[-1].content)
        tried[text] += 1
        if tried[text] == 1 and request.schema is None and request.stage != "probe":
            raise skillopt.errors.ModelError("the line is dead")
        return toy.respond(request)

    found = skillopt.evaluate(
        ITEMS, scorer="exact", target=ScriptedBackend(flaky, version="flaky"), skills="", out=place, on_event=watching
    )
    rollouts = watching.of(RolloutEnd)
    lost = [r for r in rollouts if r.error]
    assert {r.error for r in lost} == {"the line is dead"} and len(lost) == 16 and len(rollouts) == 32
    assert all(r.hard is None and r.passed is None and r.tokens.calls == 0 for r in lost)
    assert found.table.scores[0].n == 16, "the second attempt counts"


async def test_a_cancelled_run_ends_what_had_begun_as_stopped(place: Path) -> None:
    watching = Watching()
    slow = ScriptedBackend(toy.respond, version="slow", latency_s=0.05)
    task = asyncio.ensure_future(
        skillopt.optimize_async(
            ITEMS, scorer="exact", target=slow, out=place, overrides={**SMALL, "env.workers": 2}, on_event=watching
        )
    )
    while not [e for e in watching.of(StageStart) if e.stage is Stage.ROLLOUT]:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (end,) = watching.of(RunEnd)
    assert (end.outcome, end.reason, end.summary) == ("stopped", "interrupted", None) and watching.events[-1] is end
    rolling = [e for e in watching.of(StageEnd) if e.stage is Stage.ROLLOUT]
    assert [e.outcome for e in rolling] == ["stopped"]
    ends = [(e.name, e.outcome) for e in watching.events if e.name in ("step.end", "epoch.end")]  # type: ignore[attr-defined]
    assert ends == [("step.end", "stopped"), ("epoch.end", "stopped")]


async def test_a_cancelled_evaluation_too(place: Path) -> None:
    watching = Watching()
    slow = ScriptedBackend(toy.respond, version="slow", latency_s=0.05)
    task = asyncio.ensure_future(
        skillopt.evaluate_async(
            ITEMS, scorer="exact", target=slow, skills="", out=place, overrides={"env.workers": 1}, on_event=watching
        )
    )
    while not watching.of(RolloutEnd):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [e.name for e in watching.events if e.name.endswith((".start", ".end")) and "call" not in e.name][-2:] == [
        "stage.end", "run.end",
    ]  # fmt: skip
    assert watching.of(RunEnd)[0].outcome == "stopped"
