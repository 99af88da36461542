"""Where spans and log events go: to the provider that the program has set up, else to one of our own.

Our own is made from the standard variables (`OTEL_TRACES_EXPORTER`, `OTEL_EXPORTER_OTLP_ENDPOINT` …) as the SDK's
automatic set-up reads them, and is not made the process's: other libraries stay as they were. Exporters are found by
their entry points; what an exporter could not send is counted, because the SDK only logs it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from skillopt.core.errors import ConfigError


class Counting:
    """An exporter that remembers how much it could not send."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.lost = 0

    def export(self, batch: Sequence[object]) -> Any:
        """As the exporter does it."""
        result = self._inner.export(batch)
        if result.name != "SUCCESS":
            self.lost += len(batch)
        return result

    def shutdown(self) -> None:
        """As the exporter does it."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """As the exporter does it."""
        return bool(self._inner.force_flush(timeout_millis))


class Providers:
    """A tracer and a logger provider, and what of them is ours to end."""

    def __init__(self, traces: Any, logs: Any, exporters: Sequence[Counting] = (), *, own: bool = False) -> None:
        self.traces, self.logs = traces, logs
        self._exporters, self._own = exporters, own

    def flush(self) -> None:
        """Send what waits."""
        for provider in (self.traces, self.logs):
            flush = getattr(provider, "force_flush", None)
            if flush is not None:
                flush()

    def close(self) -> None:
        """Send what waits and end what is ours. Raises `RuntimeError` when something could not be sent."""
        self.flush()
        if self._own:
            self.traces.shutdown()
            self.logs.shutdown()
        lost = sum(each.lost for each in self._exporters)
        if lost:
            raise RuntimeError(f"{lost} spans and log events could not be sent (is a collector there?)")


def providers(traces: object = None, logs: object = None) -> Providers:
    """Those given, those of the process, or our own. Raises `ConfigError` for an exporter that is not there."""
    api_logs: Any = importlib.import_module("opentelemetry._logs")
    found = traces or _of_the_process()
    return _own(logs) if found is None else Providers(found, logs or api_logs.get_logger_provider())


def check_exporters() -> None:
    """Raises `ConfigError` where a provider of our own would lack an exporter that the variables name."""
    if _of_the_process() is None:
        for signal in ("traces", "logs"):
            _exporters(signal)


def _of_the_process() -> Any:
    """The tracer provider that the program has set up, or None."""
    api: Any = importlib.import_module("opentelemetry.trace")
    known = api.get_tracer_provider()
    return None if isinstance(known, api.ProxyTracerProvider) else known


def _own(logs: object) -> Providers:
    trace: Any = importlib.import_module("opentelemetry.sdk.trace")
    export: Any = importlib.import_module("opentelemetry.sdk.trace.export")
    sdk_logs: Any = importlib.import_module("opentelemetry.sdk._logs")
    export_logs: Any = importlib.import_module("opentelemetry.sdk._logs.export")
    resource = _resource()
    tracer_provider = trace.TracerProvider(resource=resource, shutdown_on_exit=False)
    logger_provider: Any = logs or sdk_logs.LoggerProvider(resource=resource, shutdown_on_exit=False)
    exporters: list[Counting] = []
    for found in _exporters("traces"):
        exporters.append(Counting(found.load()()))
        tracer_provider.add_span_processor(export.BatchSpanProcessor(exporters[-1]))
    for found in _exporters("logs") if logs is None else ():
        exporters.append(Counting(found.load()()))
        logger_provider.add_log_record_processor(export_logs.BatchLogRecordProcessor(exporters[-1]))
    return Providers(tracer_provider, logger_provider, exporters, own=True)


def _resource() -> Any:
    resources: Any = importlib.import_module("opentelemetry.sdk.resources")
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return resources.Resource.create({} if named else {"service.name": "skillopt"})


def _exporters(signal: str) -> list[EntryPoint]:
    """The exporters that the variables name for a signal."""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    names = [name.strip() for name in os.environ.get(variable, "otlp").split(",")]
    return [_exporter(signal, name, variable) for name in names if name not in ("", "none")]


def _exporter(signal: str, name: str, variable: str) -> EntryPoint:
    if name == "otlp":
        general = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        protocol = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", general)
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    found = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=name))
    if not found:
        raise ConfigError(
            f"tracking by otel: no exporter {name!r} is installed ({variable})",
            hint=f"pip install opentelemetry-exporter-{name.replace('_', '-')}, or {variable}=none",
        )
    return found[0]
