"""OpenTelemetry: the tree of spans of a real run, its figures against the run's own records, and what never leaves."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt import trackers
from skillopt.core.errors import ConfigError
from skillopt.records.events import Event, RolloutEnd, StageStart, StepStart
from skillopt.records.vocabulary import Stage
from skillopt.trackers.otel import OPT_IN, OPT_IN_VARIABLE, SCOPE_VERSION, names
from tests.trackers.conftest import ITEMS, run

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="extra otel")
KEY = "sk-abcdefghijklmnop1234567890"


class Collector:
    """Providers that keep what they are given."""

    def __init__(self) -> None:
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self._spans, self.provider = InMemorySpanExporter(), sdk.TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self._logs, self.logger_provider = InMemoryLogRecordExporter(), LoggerProvider()
        self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self._logs))

    def tracker(self, **more: Any) -> trackers.OTel:
        return trackers.OTel(provider=self.provider, logger_provider=self.logger_provider, **more)

    @property
    def spans(self) -> list[Any]:
        return list(self._spans.get_finished_spans())

    @property
    def events(self) -> list[Any]:
        return [each.log_record for each in self._logs.get_finished_logs()]

    def parents(self) -> Counter[tuple[str, str]]:
        """How often a span of one operation stands under one of another."""
        by_id = {span.context.span_id: span for span in self.spans}
        above = (by_id.get(s.parent.span_id) if s.parent else None for s in self.spans)
        return Counter((_kind(span), _kind(parent)) for span, parent in zip(self.spans, above, strict=True))

    def text(self) -> str:
        shown = [v for s in self.spans for v in s.attributes.values()]
        return " ".join(map(str, [*shown, *(v for e in self.events for v in e.attributes.values())]))


def _kind(span: Any) -> str:
    if span is None:
        return ""
    operation = span.attributes[names.OPERATION]
    return span.attributes.get("skillopt.frame", "run") if operation == names.INVOKE_WORKFLOW else operation


@pytest.fixture
def opted_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPT_IN_VARIABLE, f"http,{OPT_IN}")


class Watching:
    """What the run itself says of rollouts and calls."""

    def __init__(self) -> None:
        self.rollouts: list[RolloutEnd] = []
        self.calls: list[Event] = []

    def on_rollout_end(self, event: RolloutEnd) -> None:
        self.rollouts.append(event)

    def on_call_end(self, event: Event) -> None:
        self.calls.append(event)


@pytest.mark.usefixtures("opted_in")
def test_the_tree_of_a_run_and_its_figures(tmp_path: Path) -> None:
    collector, watching = Collector(), Watching()
    result = run(tmp_path / "run", collector.tracker(), watching)
    assert result.observer_faults == ()
    spans = collector.spans
    (top,) = [span for span in spans if span.parent is None]
    assert top.name == "invoke_workflow skillopt" and top.attributes["skillopt.outcome"] == "done"
    assert top.attributes["gen_ai.request.model"] and top.attributes["gen_ai.provider.name"] == "scripted"
    assert {span.context.trace_id for span in spans} == {top.context.trace_id}
    parents = collector.parents()
    assert parents["step", "run"] == len(result.steps)
    agents = [s for s in spans if s.attributes[names.OPERATION] == "invoke_agent"]
    chats = [s for s in spans if s.attributes[names.OPERATION] == "chat"]
    kinds = {type(s.attributes["skillopt.stage"]) for s in (*agents, *chats)}
    assert kinds == {str}, "an exporter prints a member of an enumeration as its name"
    told = [e for e in watching.rollouts if not e.replayed]
    assert len(agents) == len(told)
    by_id = {span.context.span_id: span for span in spans}
    for span in agents:  # what the end of a run tries without a stage of its own stands under the run
        stage, above = span.attributes["skillopt.stage"], by_id[span.parent.span_id]
        if stage in ("baseline", "rollout", "test"):
            assert above.name == f"invoke_workflow skillopt.{stage}"
    probes = [e for e in watching.calls if e.stage == "probe"]  # type: ignore[attr-defined]
    made = [e for e in watching.calls if not e.recorded and e not in probes]  # type: ignore[attr-defined]
    assert len(chats) == len(made) and {"invoke_agent", "stage"} <= {above for kind, above in parents if kind == "chat"}
    assert probes, "the first question is asked before the run begins"
    assert parents["chat", "invoke_agent"] == sum(1 for e in made if e.rollout)  # type: ignore[attr-defined]
    tokens = sum(s.attributes["gen_ai.usage.input_tokens"] for s in chats)
    assert tokens == sum(row.prompt_tokens or 0 for row in result.run.ledger.calls if row.stage != "probe")
    for span in spans:
        assert span.instrumentation_scope.name == "skillopt" and span.instrumentation_scope.version == SCOPE_VERSION
        assert span.start_time <= span.end_time
    assert top.start_time == min(s.start_time for s in spans if s not in chats)
    steps = [s for s in spans if s.name == "invoke_workflow skillopt.step"]
    assert [s.attributes["skillopt.gate.action"] for s in steps] == [r.gate.action.value for r in result.steps]


@pytest.mark.usefixtures("opted_in")
def test_every_rollout_has_its_evaluation_as_a_log_event_on_its_span(tmp_path: Path) -> None:
    collector, watching = Collector(), Watching()
    run(tmp_path / "run", collector.tracker(), watching)
    agents = {s.context.span_id: s for s in collector.spans if s.attributes[names.OPERATION] == "invoke_agent"}
    events = collector.events
    assert {e.event_name for e in events} == {"gen_ai.evaluation.result"} and len(events) == 2 * len(agents)
    assert all(e.span_id in agents and e.trace_id == agents[e.span_id].context.trace_id for e in events)
    hard = [e.attributes for e in events if e.attributes[names.EVALUATION_NAME] == "skillopt.hard"]
    assert [a[names.EVALUATION_VALUE] for a in hard] == [e.hard for e in watching.rollouts]
    assert {(a[names.EVALUATION_VALUE], a[names.EVALUATION_LABEL]) for a in hard} == {(0.0, "fail"), (1.0, "pass")}
    assert {a[names.EVALUATION_EXPLANATION] for a in hard} == {"hard 0, soft 0", "hard 1, soft 1"}


@pytest.mark.usefixtures("opted_in")
@pytest.mark.parametrize("capture", [False, True])
def test_content_leaves_only_where_it_is_asked_for_and_never_a_secret(capture: bool, tmp_path: Path) -> None:
    items = [{**row, "question": f"{row['question']} (the key is {KEY})"} for row in ITEMS]
    collector = Collector()
    result = skillopt.optimize(
        items, scorer="exact", target="scripted", out=tmp_path / "run",
        on_event=collector.tracker(capture_content=capture), overrides={"train.num_epochs": 1, "train.batch_size": 12},
    )  # fmt: skip
    assert result.observer_faults == ()
    text = collector.text()
    assert KEY not in text and ("(the key is [redacted])" in text) == capture
    assert ("RULE" in text) == capture, "no skill, no proposal"
    chats = [s.attributes for s in collector.spans if s.attributes[names.OPERATION] == "chat"]
    assert all((names.INPUT_MESSAGES in a) == (names.OUTPUT_MESSAGES in a) == capture for a in chats)
    if capture:
        asked = json.loads(chats[-1][names.INPUT_MESSAGES])
        assert asked[-1]["role"] == "user" and asked[-1]["parts"][0]["type"] == "text"
        said = json.loads(chats[-1][names.OUTPUT_MESSAGES])
        assert said[0]["finish_reason"] == "stop" and said[0]["parts"][0]["content"]


def test_nothing_is_sent_without_the_opt_in_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = Collector()
    run(tmp_path / "quiet", collector.tracker())
    assert collector.spans == [] and collector.events == []
    monkeypatch.setenv(OPT_IN_VARIABLE, f"{OPT_IN}_not")
    result = run(tmp_path / "named", overrides={"tracking": "otel"})
    notices = [e.text for e in result.run.events() if e.name == "notice"]  # type: ignore[attr-defined]
    assert [n for n in notices if f"{OPT_IN_VARIABLE}={OPT_IN} switches it on" in n]


@pytest.mark.usefixtures("opted_in")
def test_a_run_that_goes_on_sends_what_is_new(tmp_path: Path) -> None:
    first, second, third = Collector(), Collector(), Collector()
    stopped = run(tmp_path / "run", first.tracker(), budget={"calls": 80}, overrides={"train.num_epochs": 2})
    assert stopped.stopped_by == "budget"
    result = run(tmp_path / "run", second.tracker(), overrides={"train.num_epochs": 2})
    run(tmp_path / "run", third.tracker(), overrides={"train.num_epochs": 2})
    chats = [s for c in (first, second) for s in c.spans if s.attributes[names.OPERATION] == "chat"]
    assert len(chats) == sum(row.calls for row in result.run.ledger.calls if row.stage != "probe")
    assert {_kind(s) for s in third.spans} == {"run"} and third.events == []
    for collector in (first, second):
        assert collector.parents()["", ""] == 0
        assert sum(count for (_, parent), count in collector.parents().items() if not parent) == 1


def test_rollouts_ahead_of_their_step_wait_for_its_stage() -> None:
    from skillopt.records.events import RunEnd, RunStart
    from skillopt.trackers.otel.providers import providers
    from skillopt.trackers.otel.spans import Spans

    collector = Collector()
    spans = Spans(providers(collector.provider, collector.logger_provider))
    ahead = RolloutEnd(stage=Stage.ROLLOUT, item="q1", step=2, rollout="r", time=10.5, seconds=0.5, hard=1.0)
    wasted = RolloutEnd(stage=Stage.ROLLOUT, item="q2", step=3, rollout="s", time=12.0, error="timed out")
    for event in (
        RunStart(out_root="x", time=9.0), StepStart(step=1, epoch=1, time=10.0), ahead,
        StepStart(step=2, epoch=1, time=11.0), StageStart(stage=Stage.ROLLOUT, step=2, time=11.0), wasted,
        RunEnd(time=13.0),
    ):  # fmt: skip
        spans.take(event)
    spans.close()
    by_item = {s.attributes.get("skillopt.item"): s for s in collector.spans}
    by_id = {s.context.span_id: s for s in collector.spans}
    assert by_id[by_item["q1"].parent.span_id].name == "invoke_workflow skillopt.rollout"
    assert by_id[by_item["q2"].parent.span_id].name == "invoke_workflow skillopt"
    assert (by_item["q1"].start_time, by_item["q1"].end_time) == (10_000_000_000, 10_500_000_000)
    lost = by_item["q2"]
    assert lost.attributes["error.type"] == "missing" and lost.status.description == "timed out"


def test_the_names_are_those_of_the_conventions() -> None:
    """Against the package that is generated from the registry (opentelemetry-semantic-conventions)."""
    incubating = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    errors = pytest.importorskip("opentelemetry.semconv.attributes.error_attributes")
    known = {value for module in (incubating, errors) for name, value in vars(module).items() if name.isupper()}
    assert set(names.CONVENTIONS) <= known
    operations = {each.value for each in incubating.GenAiOperationNameValues}
    assert {names.INVOKE_WORKFLOW, names.INVOKE_AGENT, names.CHAT} <= operations
    spoken = {each.value for each in incubating.GenAiProviderNameValues}
    assert {names.provider_of("openai_chat"), names.provider_of("claude_chat"), names.provider_of("gemini_exec"),
            names.provider_of("openai_chat", "https://x.openai.azure.com/")} <= spoken  # fmt: skip


def test_a_missing_exporter_is_told_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPT_IN_VARIABLE, OPT_IN)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(ConfigError, match=r"no exporter 'zipkin' is installed \(OTEL_TRACES_EXPORTER\)"):
        run(tmp_path / "run", overrides={"tracking": "otel"})
    assert not (tmp_path / "run").exists()
