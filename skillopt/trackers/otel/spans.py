"""The tree of spans: run, step and stage (`invoke_workflow`) › rollout (`invoke_agent`) › call (`chat`).

Frames open and end with their events. Rollouts and calls are told when they end, with how long they took, so their
spans are made then, calls under their rollout; a call without one is under the stage. A rollout of a step that has
not begun (work ahead of a verdict) waits for that step's stage. What an answer
out of the journal would say twice is left out.
"""

from __future__ import annotations

import importlib
from typing import Any

from skillopt.records.events import (
    CallContent,
    CallEnd,
    Event,
    GateVerdict,
    RolloutEnd,
    RunEnd,
    RunStart,
    StageEnd,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.vocabulary import Stage
from skillopt.trackers.base import metrics_of
from skillopt.trackers.otel import names
from skillopt.trackers.otel.facts import (
    Asked,
    Roles,
    call_facts,
    evaluations,
    frame_facts,
    rollout_facts,
    run_facts,
)
from skillopt.trackers.otel.providers import Providers

_FLUSH_EVERY = 500
"""Spans after which what waits is sent: the SDK's queue holds 2,048 and drops without a word."""
_MOST_FIGURES = 100
"""Attributes that a frame gets of its record; the SDK keeps 128."""

_Place = tuple[Stage, "int | None"]


class Spans:
    """The spans of one run."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._trace: Any = importlib.import_module("opentelemetry.trace")
        self._tracer: Any = providers.traces.get_tracer(names.SCOPE, names.SCOPE_VERSION)
        self._logger: Any = providers.logs.get_logger(names.SCOPE, names.SCOPE_VERSION)
        self._roles = Roles()
        self._run: Any = None
        self._step: Any = None
        self._step_number = 0
        self._stages: dict[_Place, Any] = {}
        self._calls: dict[str, list[Asked]] = {}
        """Calls of rollouts that have not ended, by the rollout's name."""
        self._waiting: list[RolloutEnd] = []
        self._said: CallContent | None = None
        self._ended = 0

    def take(self, event: Event) -> None:
        """Open, make or end spans. Times are the events' own."""
        if isinstance(event, RunStart):
            self._roles = Roles.of(event)
            self._run = self._opened(run_facts(event, self._roles), "skillopt", event, None)
        elif isinstance(event, StepStart):
            facts = frame_facts("step", step=event.step, epoch=event.epoch)
            self._step, self._step_number = self._opened(facts, "skillopt.step", event, self._run), event.step
        elif isinstance(event, StageStart):
            self._stage_begins(event)
        elif isinstance(event, StageEnd):
            self._end(self._stages.pop((event.stage, event.step), None), event, event.outcome)
        elif isinstance(event, StepEnd):
            self._end(self._step, event, event.outcome)
            self._step = None
        elif isinstance(event, GateVerdict) and self._step is not None:
            self._step.set_attribute("skillopt.gate.action", event.gate.action.value)
        elif isinstance(event, (RolloutEnd, CallEnd, CallContent)):
            self._take_detail(event)
        elif isinstance(event, RunEnd):
            self._settle()
            self._end(self._run, event, event.outcome)
            self._run = None

    def close(self) -> None:
        """End what is open and send it. Raises `RuntimeError` when something could not be sent."""
        if self._run is not None:
            self._settle()
        for span in (*self._stages.values(), self._step, self._run):
            if span is not None:
                span.end()
        self._run = self._step = None
        self._stages.clear()
        self._providers.close()

    # --- frames ---

    def _stage_begins(self, event: StageStart) -> None:
        facts = frame_facts("stage", stage=event.stage.value, step=event.step, epoch=event.epoch)
        parent = self._step if self._step is not None and event.stage.of_a_step else self._run
        place = (event.stage, event.step)
        self._stages[place] = self._opened(facts, f"skillopt.{event.stage.value}", event, parent)
        ready = [r for r in self._waiting if (r.stage, r.step) == place]
        self._waiting = [r for r in self._waiting if (r.stage, r.step) != place]
        for rollout in ready:
            self._rollout(rollout, self._stages[place])

    def _opened(self, facts: dict[str, Any], workflow: str, event: Event, parent: Any) -> Any:
        facts = {names.OPERATION: names.INVOKE_WORKFLOW, names.WORKFLOW: workflow, **facts}
        return self._span(f"{names.INVOKE_WORKFLOW} {workflow}", facts, parent, event.time)

    def _end(self, span: Any, event: Event, outcome: str) -> None:
        if span is None:
            return
        for name, value in list(metrics_of(event).items())[:_MOST_FIGURES]:
            span.set_attribute(f"skillopt.{name}", value)
        span.set_attribute("skillopt.outcome", outcome)
        if outcome == "failed":
            self._failed(span, "failed", getattr(event, "reason", ""))
        self._finish(span, event.time)

    # --- rollouts and calls ---

    def _take_detail(self, event: RolloutEnd | CallEnd | CallContent) -> None:
        if isinstance(event, CallContent):
            self._said = event
        elif isinstance(event, CallEnd):
            said, self._said = self._said, None
            if event.recorded:
                return
            asked = Asked(event, said if said is not None and said.rollout == event.rollout else None)
            if event.rollout:
                self._calls.setdefault(event.rollout, []).append(asked)
            else:
                self._call(asked, self._around(event.stage))
        else:
            ahead = event.step is not None and event.step > self._step_number
            if ahead and (event.stage, event.step) not in self._stages:
                self._waiting.append(event)
            else:
                self._rollout(event, self._stages.get((event.stage, event.step)) or self._around(event.stage))

    def _around(self, stage: str) -> Any:
        """The innermost frame that a call of a stage is made in: its own, the only open stage, the step, the run."""
        for (open_stage, _), span in self._stages.items():
            if open_stage.value == stage:
                return span
        if len(self._stages) == 1:
            return next(iter(self._stages.values()))
        return self._step or self._run

    def _rollout(self, event: RolloutEnd, parent: Any) -> None:
        facts = rollout_facts(event, self._roles)
        span = self._span(
            f"{names.INVOKE_AGENT} {facts[names.AGENT]}", facts, parent, event.time - max(0.0, event.seconds)
        )
        calls = self._calls.pop(event.rollout, [])
        for asked in calls:
            if asked.end.kind == "chat":
                self._call(asked, span)
        within = self._trace.set_span_in_context(span)
        content = any(asked.said is not None for asked in calls)
        for facts in evaluations(event, quote=content):
            self._logger.emit(
                timestamp=_ns(event.time), context=within, event_name=names.EVALUATION_RESULT, attributes=facts
            )
        if event.error:
            self._failed(span, "missing", event.error)
        self._finish(span, event.time)

    def _call(self, asked: Asked, parent: Any) -> None:
        end = asked.end
        facts = call_facts(asked, self._roles)
        kind = self._trace.SpanKind.CLIENT
        start = end.time - max(0.0, end.seconds or 0.0)
        span = self._span(f"{names.CHAT} {end.model}".strip(), facts, parent, start, kind)
        self._finish(span, end.time)

    def _settle(self) -> None:
        """Nothing more will come: what waits for a frame goes under the run."""
        for rollout in self._waiting:
            self._rollout(rollout, self._run)
        self._waiting = []
        for calls in self._calls.values():
            for asked in calls:
                self._call(asked, self._run)
        self._calls.clear()

    # --- the SDK ---

    def _span(self, name: str, facts: dict[str, Any], parent: Any, start: float, kind: Any = None) -> Any:
        context = self._trace.set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(
            name, context=context, kind=kind or self._trace.SpanKind.INTERNAL, attributes=facts, start_time=_ns(start)
        )

    def _failed(self, span: Any, kind: str, words: str) -> None:
        span.set_attribute(names.ERROR_TYPE, kind)
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, words or None))

    def _finish(self, span: Any, end: float) -> None:
        span.end(end_time=_ns(end))
        self._ended += 1
        if self._ended % _FLUSH_EVERY == 0:
            self._providers.flush()


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
