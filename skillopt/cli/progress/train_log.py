"""`<out_root>/logs/train.log`: the published console form, for dashboards that read a run from its log.

Lines as in the published tables (`[STEP n/T]`, `[1/6 ROLLOUT]` … `[6/6 EVALUATE]`). The file is only appended to and is
no part of what resume compares.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.cli.wording import duration, interval, number, score_words
from skillopt.records.events import (
    BudgetWarning,
    EpochResult,
    Event,
    Notice,
    OutageEnd,
    OutageStart,
    RunEnd,
    RunStart,
    StageEnd,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.schema import EpochRecord, StepRecord, Summary, TokenTotal
from skillopt.records.vocabulary import ACCEPTANCE, EPOCH_ENDS, Stage

_STARTS = {Stage.REFLECT: "[2/6 REFLECT minibatch]", Stage.AGGREGATE: "[3/6 AGGREGATE]"}


class TrainLog:
    """Appends the published lines of one run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._epochs = 0
        self._epoch = 0
        self._total_steps = 0

    def __call__(self, event: Event) -> None:
        """Observe one event."""
        lines = self._lines(event)
        if lines:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write("".join(f"{line}\n" for line in lines))

    def _lines(self, event: Event) -> list[str]:
        if isinstance(event, RunStart):
            self._epochs, self._total_steps = event.epochs, event.total_steps
            banner = [f"[slow update] acceptance={ACCEPTANCE[event.slow_update]}"] if event.slow_update else []
            return [f"[gate] metric={event.gate_metric}", *banner]
        if isinstance(event, StepStart):
            place = f"epoch={event.epoch} step_in_epoch={event.step_in_epoch}"
            return [*self._enter(event.epoch), f"[STEP {event.step}/{self._total_steps}] {place}"]
        if isinstance(event, StageStart):
            return self._start(event)
        if isinstance(event, StageEnd) and event.stage is Stage.ROLLOUT and event.outcome == "done":
            return [f"[1/6 ROLLOUT] hard={score_words(event.score)}"]
        if isinstance(event, StepEnd):
            return _step(event, event.record) if event.record is not None else []
        if isinstance(event, EpochResult):
            return [_epoch_result(event.record)]
        if isinstance(event, Notice):
            return [f"[notice] {event.text}"]
        if isinstance(event, BudgetWarning):
            return [f"[budget] {event.kind} {event.used:g} of {event.limit:g}"]
        if isinstance(event, OutageStart):
            return [f"[outage] {event.endpoint}: {event.reason}"]
        if isinstance(event, OutageEnd):
            return [f"[outage] {event.outcome} after {event.seconds:.0f} s"]
        if isinstance(event, RunEnd) and event.summary is not None:
            return _final_table(event.summary)
        return []

    def _enter(self, epoch: int | None) -> list[str]:
        if not epoch or epoch == self._epoch:
            return []
        self._epoch = epoch
        return [f"[EPOCH {epoch}/{self._epochs}] start"]

    def _start(self, event: StageStart) -> list[str]:
        lines = self._enter(event.epoch)
        if event.stage is Stage.ROLLOUT:
            lines.append(f"[1/6 ROLLOUT] items={event.total}")
        elif event.stage in EPOCH_ENDS:
            lines.append(f"[{event.stage.heading.upper()} epoch {event.epoch}]")
        elif event.stage in _STARTS:
            lines.append(_STARTS[event.stage])
        return lines


def _step(event: StepEnd, record: StepRecord) -> list[str]:
    gate = record.gate
    edits = f"{record.n_edits_merged} -> {record.n_edits_ranked} edits"
    lines = [f"[4/6 SELECT] {edits} (budget={record.edit_budget}, lr_control={record.lr_control_mode})"]
    if gate.candidate_skill_len is not None:
        lines.append(f"[5/6 UPDATE] skill_len {record.skill_len} -> {gate.candidate_skill_len}")
    lines.append(f"[6/6 EVALUATE] {gate.action.log} score={number(gate.candidate_gate_score)}")
    notes = record.notes
    if notes is not None:
        counts = {"added": notes.n_appendix_notes_added, "total": notes.n_appendix_notes_total,
                  "pending": notes.n_appendix_notes_pending}  # fmt: skip
        shown = " ".join(f"{name}={count}" for name, count in counts.items())
        lines.append(f"[appendix] action={notes.appendix.action} {shown}")
    spent = " ".join(f"{name}={value:.2f}" for name, value in event.timing.items()) or "-"
    lines.append(f"[STEP {record.step} done] best={number(record.best_score)} timing: {spent}")
    return lines


def _epoch_result(record: EpochRecord) -> str:
    """What one mechanism of an epoch's end came to."""
    parts = [f"action={record.gate.action.log}"]
    if record.comparison is not None:
        parts += [
            f"prev_hard={number(record.comparison.prev_hard)}",
            f"curr_hard={number(record.comparison.curr_hard)}",
        ]
    if record.gate.evaluated_n is not None:
        parts.append(f"candidate_gate_score={number(record.gate.candidate_gate_score)}")
    return f"[{record.stage.heading.lower()}] {' '.join(parts)}"


def _final_table(s: Summary) -> list[str]:
    """The last lines: the three test scores and the tokens."""
    tests = (("initial", s.baseline_test), ("best", s.test), ("final", s.final_test))
    lines = [f"[TEST {title}] hard={score_words(row)} interval={interval(row.interval)}" for title, row in tests]
    total = s.token_summary.get("_total", TokenTotal())
    counts = f"calls={total.calls} prompt_tokens={total.prompt_tokens} completion_tokens={total.completion_tokens}"
    lines.append(f"[TOKENS] {counts}")
    if s.total_wall_time_s is not None:
        lines.append(f"[TIME] {duration(s.total_wall_time_s)}")
    return lines
