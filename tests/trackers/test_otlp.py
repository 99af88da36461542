"""`tracking: otel` without a program around it: OTLP over HTTP to where the standard variables point."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skillopt.trackers.otel import OPT_IN, OPT_IN_VARIABLE
from tests.trackers.conftest import run

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="extra otel")


class Collector(ThreadingHTTPServer):
    """Keeps what is posted to it, and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.posted = 200, list[tuple[str, bytes]]()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Collector)
        server.posted.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(server.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    server = Collector()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv(OPT_IN_VARIABLE, OPT_IN)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


def test_spans_and_scores_arrive(collector: Collector, tmp_path: Path) -> None:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    result = run(tmp_path / "run", overrides={"tracking": "otel"})
    assert result.observer_faults == ()
    traces = [ExportTraceServiceRequest.FromString(body) for path, body in collector.posted if path == "/v1/traces"]
    logs = [ExportLogsServiceRequest.FromString(body) for path, body in collector.posted if path == "/v1/logs"]
    scopes = [scope for each in traces for resource in each.resource_spans for scope in resource.scope_spans]
    spans = [span.name for scope in scopes for span in scope.spans]
    assert spans.count("invoke_workflow skillopt") == 1
    assert spans.count("invoke_workflow skillopt.step") == len(result.steps)
    assert {scope.scope.name for scope in scopes} == {"skillopt"}
    named = {a.key: a.value.string_value for a in traces[0].resource_spans[0].resource.attributes}
    assert named["service.name"] == "skillopt"
    events = [r for e in logs for resource in e.resource_logs for s in resource.scope_logs for r in s.log_records]
    assert {e.event_name for e in events} == {"gen_ai.evaluation.result"} and all(e.span_id for e in events)


def test_what_could_not_be_sent_is_counted_and_told(collector: Collector, tmp_path: Path) -> None:
    collector.status = 400
    result = run(tmp_path / "run", overrides={"tracking": "otel"})
    (fault,) = result.observer_faults
    assert fault.startswith("observer OTel failed on run.end: RuntimeError: ") and "could not be sent" in fault
