"""OpenTelemetry (extra `otel`): a trace with a span for the run (`invoke_workflow`), its steps and its stages.

Names follow the GenAI conventions, which are still in development: spans are sent only where
`OTEL_SEMCONV_STABILITY_OPT_IN` holds `gen_ai_latest_experimental`, and the scope carries the version. Exporters are set
up by the program or the standard `OTEL_*` variables. Figures only: no prompt, no reply, no skill leaves this process.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from skillopt.records.events import Event, GateVerdict, RunEnd, RunStart, StageEnd, StageStart, StepEnd, StepStart
from skillopt.trackers.base import Tracker, metrics_of
from skillopt.trackers.extra import need

OPT_IN = "gen_ai_latest_experimental"
SCOPE_VERSION = "1"


class OTel(Tracker):
    """See the module. `provider` None takes the process's own tracer provider."""

    def __init__(self, *, provider: object = None, drain_s: float = 10.0) -> None:
        need("opentelemetry.trace", "otel")
        super().__init__(_Sink(provider), name="OTel", drain_s=drain_s)


class _Sink:
    def __init__(self, provider: object) -> None:
        self._provider = provider
        self._open: dict[str, Any] = {}

    def take(self, event: Event) -> None:
        """Open and end spans; times are the events' own."""
        if OPT_IN not in os.environ.get("OTEL_SEMCONV_STABILITY_OPT_IN", ""):
            return
        if isinstance(event, RunStart):
            target = next((role.model for role in event.roles if role.role == "target"), "")
            shown = {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": "skillopt",
                "gen_ai.request.model": target,
                "skillopt.run_id": event.run_id,
                "skillopt.env": event.env,
            }
            self._begin("run", "invoke_workflow skillopt", event, None, shown)
        elif isinstance(event, StepStart):
            self._begin("step", f"step {event.step}", event, "run", {"skillopt.step": event.step})
        elif isinstance(event, StageStart):
            parent = "step" if "step" in self._open else "run"
            self._begin(
                f"stage {event.stage.value}", event.stage.value, event, parent, {"skillopt.stage": event.stage.value}
            )
        elif isinstance(event, StageEnd):
            self._end(f"stage {event.stage.value}", event)
        elif isinstance(event, StepEnd):
            self._end("step", event)
        elif isinstance(event, GateVerdict) and "step" in self._open:
            self._open["step"].set_attribute("skillopt.gate.action", str(event.gate.action.value))
        elif isinstance(event, RunEnd):
            self._end("run", event)
            self.close()

    def _begin(self, key: str, name: str, event: Event, parent: str | None, shown: dict[str, Any]) -> None:
        trace = importlib.import_module("opentelemetry.trace")
        tracer = trace.get_tracer("skillopt", SCOPE_VERSION, tracer_provider=self._provider)
        above = self._open.get(parent) if parent else None
        context = trace.set_span_in_context(above) if above is not None else None
        self._open[key] = tracer.start_span(name, context=context, attributes=shown, start_time=_ns(event))

    def _end(self, key: str, event: Event) -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        for name, value in list(metrics_of(event).items())[:100]:
            span.set_attribute(f"skillopt.{name}", value)
        span.end(end_time=_ns(event))

    def close(self) -> None:
        """End what is open."""
        for span in reversed(list(self._open.values())):
            span.end()
        self._open.clear()


def _ns(event: Event) -> int:
    return int(event.time * 1e9)
