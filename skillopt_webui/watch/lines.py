"""A run's events as lines of a log, each of a kind that can be filtered for."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.records.events import (
    BudgetWarning,
    CandidateProposed,
    EditDropped,
    EpochResult,
    EpochStart,
    Event,
    GateVerdict,
    Notice,
    OrderTaken,
    OutageEnd,
    OutageStart,
    ReflectGroup,
    RunEnd,
    RunStart,
    Score,
    StageEnd,
    StageStart,
    StepEnd,
)
from skillopt.records.live.control import figure

KINDS = ("run", "stage", "verdict", "edit", "notice", "outage", "budget", "order")


@dataclass(frozen=True)
class Line:
    """One line. `loud` is what somebody should see."""

    time: float
    kind: str
    text: str
    loud: bool = False


def line_of(event: Event) -> Line | None:
    """The line of an event; None for what is shown elsewhere."""
    found = _words(event)
    return None if found is None else Line(event.time, found[0], found[1], found[0] in ("outage", "budget"))


def _words(event: Event) -> tuple[str, str] | None:
    if isinstance(event, (RunStart, RunEnd, EpochStart)):
        return "run", _run(event)
    if isinstance(event, (StageStart, StageEnd)):
        return "stage", _stage(event)
    if isinstance(event, (GateVerdict, EpochResult, StepEnd)):
        words = _verdict(event)
        return None if words is None else ("verdict", words)
    if isinstance(event, (CandidateProposed, EditDropped, ReflectGroup)):
        return "edit", _edit(event)
    return _beside(event)


def _run(event: RunStart | RunEnd | EpochStart) -> str:
    if isinstance(event, RunStart):
        return f"the run begins: {event.env}, {event.total_steps} steps"
    if isinstance(event, EpochStart):
        return f"epoch {event.epoch} of {event.epochs or '?'}"
    return f"the run ends: {event.outcome}" + (f" ({event.reason})" if event.reason else "")


def _at(step: int | None) -> str:
    return f"step {step}: " if step else ""


def _stage(event: StageStart | StageEnd) -> str:
    if isinstance(event, StageStart):
        return f"{_at(event.step)}{event.stage.heading} begins" + (f", {event.total} to do" if event.total else "")
    counts = ", ".join(f"{n} {name}" for name, n in event.counts.items())
    told = [event.outcome if event.outcome != "done" else "", _score(event.score), counts]
    return f"{_at(event.step)}{event.stage.heading} ends" + "".join(f"; {text}" for text in told if text)


def _score(score: Score | None) -> str:
    if score is None or score.hard is None:
        return ""
    return f"{score.hard:.3f} on {score.n} of {score.total}"


def _verdict(event: GateVerdict | EpochResult | StepEnd) -> str | None:
    if isinstance(event, StepEnd):
        record = event.record
        if record is None:
            return f"step {event.step} was not finished"
        gate, best = record.gate, record.best_score
        return f"step {event.step}: {gate.action.words}" + ("" if best is None else f"; best {best:.3f}")
    if isinstance(event, EpochResult):
        record = event.record
        return f"epoch {record.epoch}, {record.stage.heading}: {record.gate.action.words}"
    gate = event.gate
    flips = f", {len(gate.wins)} won, {len(gate.losses)} lost" if gate.asked else ""
    why = f": {gate.reason}" if gate.reason else ""
    return f"{_at(event.step)}{event.stage.heading}: {gate.action.words}{flips}{why}"


def _edit(event: CandidateProposed | EditDropped | ReflectGroup) -> str:
    if isinstance(event, CandidateProposed):
        return f"{_at(event.step)}a candidate with {event.n_edits} changes goes to the gate"
    if isinstance(event, EditDropped):
        return f"{_at(event.step)}an edit is left out: {event.edit.says or event.edit.reason.words}"
    dropped = f"; its reply could not be used: {event.dropped}" if event.dropped else ""
    return f"analyst {event.number} has read {event.size} attempts ({event.kind}){dropped}"


def _beside(event: Event) -> tuple[str, str] | None:
    if isinstance(event, Notice):
        return "notice", event.text
    if isinstance(event, OrderTaken):
        value = f" {event.key} = {figure(event.value)}" if event.key else ""
        by = f" by the {event.by}" if event.by else ""
        return "order", f"{event.order}{value}{by}: {event.effect}"
    if isinstance(event, OutageStart):
        return "outage", f"{event.endpoint} does not answer: {event.reason}"
    if isinstance(event, OutageEnd):
        return "outage", f"{event.endpoint} {'answers again' if event.outcome == 'done' else 'was given up'}"
    if isinstance(event, BudgetWarning):
        return "budget", f"{100 * event.share:.0f} % of the cap on {event.kind} is used"
    return None
