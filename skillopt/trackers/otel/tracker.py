"""The tracker itself: whether anything is sent at all, and which events it asks for."""

from __future__ import annotations

import os

from skillopt.records.events import CallContent, CallEnd, Event, RolloutEnd, RunStart
from skillopt.trackers.base import Tracker
from skillopt.trackers.extra import need
from skillopt.trackers.otel.names import OPT_IN, OPT_IN_VARIABLE
from skillopt.trackers.otel.providers import check_exporters, providers
from skillopt.trackers.otel.spans import Spans

_ASKED = (RolloutEnd.name, CallEnd.name)


def opted_in() -> bool:
    """Whether the user wants names of conventions that are still in development."""
    return OPT_IN in [word.strip() for word in os.environ.get(OPT_IN_VARIABLE, "").split(",")]


class OTel(Tracker):
    """See the package. `provider` and `logger_provider` None take the process's, or those of the `OTEL_*` variables."""

    def __init__(
        self,
        *,
        provider: object = None,
        logger_provider: object = None,
        capture_content: bool = False,
        drain_s: float = 10.0,
    ) -> None:
        need("opentelemetry.sdk", "otel")
        quiet = f"tracking by otel sends nothing: the GenAI conventions are in development; {OPT_IN_VARIABLE}={OPT_IN}"
        asked = (*_ASKED, CallContent.name) if capture_content else _ASKED
        if opted_in() and provider is None:
            check_exporters()
        super().__init__(
            _Sink(provider, logger_provider),
            name="OTel",
            drain_s=drain_s,
            on_request=asked if opted_in() else (),
            notices=() if opted_in() else (f"{quiet} switches it on",),
        )


class _Sink:
    def __init__(self, provider: object, logger_provider: object) -> None:
        self._given = provider, logger_provider
        self._spans: Spans | None = None

    def take(self, event: Event) -> None:
        """Hand on, from the start of a run that may be sent."""
        if isinstance(event, RunStart) and opted_in():
            self.close()
            self._spans = Spans(providers(*self._given))
        if self._spans is not None:
            self._spans.take(event)

    def close(self) -> None:
        """End what is open and send it."""
        if self._spans is not None:
            spans, self._spans = self._spans, None
            spans.close()
