"""A run told in lines: what is shown where no live display is wanted, and above the display where it is.

`Narrator.tell` turns an event into zero or more lines and keeps only what later lines compare with. It prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from skillopt.cli.wording import clock_time, duration, number, plural, score_words, usd
from skillopt.records.events import (
    BudgetWarning,
    EpochResult,
    Event,
    GateVerdict,
    Notice,
    OutageEnd,
    OutageStart,
    RateInfo,
    RoleInfo,
    RunStart,
    StageEnd,
    StageStart,
    StepEnd,
)
from skillopt.records.schema import GateRecord, StepRecord
from skillopt.records.vocabulary import ACCEPTANCE, EPOCH_ENDS, Action, Stage

E = TypeVar("E", bound=Event)
Teller = Callable[[Event], list[str]]


class Narrator:
    """The narrator of one run."""

    def __init__(self, *, workers: int = 0) -> None:
        self._workers = workers
        self._total_steps = 0
        self._epochs = 0
        self._epoch = 0
        self._bars: dict[Stage, float | None] = {}
        """The score that each kind of candidate was last compared with."""
        self._tellers: Mapping[type[Event], Teller] = {
            RunStart: _of(self._run_start),
            StageStart: _of(self._stage_start),
            StageEnd: _of(self._stage_end),
            GateVerdict: _of(self._verdict),
            StepEnd: _of(self._step_end),
            EpochResult: _of(self._epoch_result),
            BudgetWarning: _of(_budget_warning),
            Notice: _of(_notice),
            OutageStart: _of(_outage),
            OutageEnd: _of(_outage_end),
        }

    def tell(self, event: Event) -> list[str]:
        """Lines for one event; events that nobody needs to read give none."""
        teller = self._tellers.get(type(event))
        return teller(event) if teller else []

    def _run_start(self, e: RunStart) -> list[str]:
        self._total_steps, self._epochs = e.total_steps, e.epochs
        sizes = ", ".join(f"{name} {size}" for name, size in e.splits.items())
        lines = [f"Run directory: {e.out_root}", f"Environment: {e.env} ({sizes})", *map(_role, e.roles)]
        if e.slow_update:
            lines.append(f"[slow update] acceptance={ACCEPTANCE[e.slow_update]}")
        return lines

    def _at(self, step: int | None, total: int = 0) -> str:
        return f"[Step {step}/{total or self._total_steps}]"

    def _stage_start(self, e: StageStart) -> list[str]:
        lines: list[str] = []
        total = e.total or 0
        if e.epoch and e.epoch != self._epoch:
            self._epoch = e.epoch
            lines.append(f"[Epoch {e.epoch}/{self._epochs}]" if self._epochs else f"[Epoch {e.epoch}]")
        if e.stage is Stage.BASELINE:
            lines.append(f"Baseline: {plural(total, 'selection item')} with the initial skill...")
        elif e.stage is Stage.ROLLOUT:
            width = f", {plural(self._workers, 'worker')}" if self._workers else ""
            lines.append(f"{self._at(e.step)} Rollout: {plural(total, 'item')}{width}...")
        elif e.stage in EPOCH_ENDS and total:
            lines.append(f"[Epoch {e.epoch}] {e.stage.heading}: both skills on up to {total} rollouts...")
        elif e.stage is Stage.TEST:
            lines.append(f"Sealed test: {plural(total, 'rollout')}...")
        return lines

    def _stage_end(self, e: StageEnd) -> list[str]:
        if e.outcome != "done":
            return []
        if e.stage is Stage.BASELINE:
            return [f"Baseline: val score {score_words(e.score)}"]
        if e.stage is Stage.ROLLOUT:
            return [f"{self._at(e.step)} Score: {score_words(e.score)} → Reflect..."]
        if e.stage is Stage.REFLECT:
            return [f"{self._at(e.step)} {edit_patches(e.counts.get('patches', 0))} generated"]
        if e.stage is Stage.RACE:
            runners = plural(e.counts.get("runners", 0), "proposal")
            return [f"{self._at(e.step)} Raced {runners} on the batch's own items"]
        return []

    def _verdict(self, e: GateVerdict) -> list[str]:
        self._bars[e.stage] = e.current_score
        return []

    def _step_end(self, e: StepEnd) -> list[str]:
        record = e.record
        if record is None:
            return []
        at, noun = self._at(e.step, e.total_steps), e.rate.noun
        lines: list[str] = []
        if record.n_edits_ranked:
            lines.append(f"{at} Selected {plural(record.n_edits_ranked, noun)} ({_rate(e.rate, record)})")
        for text in _vetoes(record, noun):
            lines.append(f"{at} Vetoed: {text}")
        lines.append(f"{at} {_skip(record.gate)}" if record.gate.action.skipped else f"{at} Gate: {self._gate(record)}")
        notes = record.notes.appendix if record.notes is not None else None
        if notes is not None and notes.action is not Action.NOT_TRIED:
            bypassed = ", gate bypassed" if notes.gate_bypassed else ""
            lines.append(f"{at} Reminders: {gate_words(notes, self._bars.get(Stage.APPENDIX))}{bypassed}")
        return lines

    def _gate(self, record: StepRecord) -> str:
        return gate_words(record.gate, self._bars.get(Stage.GATE))

    def _epoch_result(self, e: EpochResult) -> list[str]:
        record = e.record
        action = record.gate.action
        if action in (Action.SKIP_FIRST_EPOCH, Action.INJECT_PLACEHOLDER):
            return []
        if record.gate.evaluated_n is not None:
            text = gate_words(record.gate, self._bars.get(record.stage))
        else:
            text = action.shout + (f" ({record.gate.reason})" if record.gate.reason else "")
        compared = record.comparison
        if compared is not None and compared.n_pairs and record.stage is Stage.SLOW_UPDATE:
            shown = f"{compared.categories.get('improved', 0)} better, {compared.categories.get('regressed', 0)} worse"
            text = f"{plural(compared.n_pairs, 'pair')} ({shown}); {text}"
        return [f"[Epoch {record.epoch}] {record.stage.heading}: {text}"]


def _of(tell: Callable[[E], list[str]]) -> Teller:
    """A teller of one class of events, for the table that finds it by that class."""
    return lambda event: tell(cast("E", event))


def _role(role: RoleInfo) -> str:
    return (
        f"{role.role.capitalize()}: {role.model} via {role.backend}"
        + (f" at {role.endpoint}" if role.endpoint else "")
        + (f", by {role.auth}" if role.auth else "")
        + (f", effort {role.reasoning_effort}" if role.reasoning_effort else "")
    )


def _rate(rate: RateInfo, record: StepRecord) -> str:
    budget, exact = record.edit_budget, rate.unrounded
    if budget is None:
        return "no limit"
    if exact is None or exact == budget:
        return f"lr={budget}" + (f", {rate.scheduler}" if rate.scheduler else "")
    return f"lr={rate.lr}, {rate.scheduler or 'schedule'} → {exact:.2f} ⇒ {budget}"


def _vetoes(record: StepRecord, noun: str) -> list[str]:
    """`2 edits copied items or answers`, a line a reason."""
    counts: dict[str, int] = {}
    for veto in record.vetoed:
        counts[veto.reason.words] = counts.get(veto.reason.words, 0) + 1
    return [f"{plural(count, noun)} {words}" for words, count in counts.items()]


def _skip(gate: GateRecord) -> str:
    return f"SKIPPED: {gate.reason}" if gate.reason else gate.action.shout


def gate_words(gate: GateRecord, bar: float | None) -> str:
    """A verdict in one line; `bar` is the score that the candidate was compared with."""
    score, shout = gate.candidate_gate_score, gate.action.shout
    flips = f", {len(gate.wins)} won, {len(gate.losses)} lost"
    if gate.trial is not None or gate.alpha is not None or (not gate.asked and score is None):
        return f"{shout}: {gate.reason}"
    if gate.action is Action.UNDECIDED:
        return f"{shout}: {gate.reason or 'too much is missing'}{flips}"
    if score is None or gate.early_stopped:
        seen = f"decided after {gate.evaluated_n}" + (f" of {gate.selection_n} items" if gate.selection_n else " items")
        return f"val score cannot pass {number(bar)} {shout} ({seen}{flips})"
    if not gate.asked:
        return f"{shout}: {gate.reason}"
    sign = "" if bar is None else (">" if score > bar else "=" if score == bar else "<")
    against = f" {sign} {number(bar)}" if sign else ""
    return f"val score {number(score)}{against} {shout}{flips}"


def _notice(e: Notice) -> list[str]:
    return [f"note: {e.text}"]


def _budget_warning(e: BudgetWarning) -> list[str]:
    form: dict[str, Callable[[float], str]] = {"usd": usd, "hours": lambda h: duration(3600 * h)}
    show = form.get(e.kind, lambda v: f"{v:,.0f}")
    return [f"budget: {100 * e.share:.0f} % of {e.kind} used ({show(e.used)} of {show(e.limit)})"]


def _outage(e: OutageStart) -> list[str]:
    return [f"{e.endpoint} is down since {clock_time(e.time - e.lasted_s)}, waiting for it: {e.reason}"]


def _outage_end(e: OutageEnd) -> list[str]:
    said = "answers again" if e.outcome == "done" else "was given up"
    return [f"{e.endpoint} {said} after {duration(e.seconds)}"]


def edit_patches(count: int) -> str:
    """`1 edit patch`, `6 edit patches`."""
    return f"{count} edit patch{'' if count == 1 else 'es'}"
