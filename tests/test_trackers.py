"""Each tracker proven by its store: a real run is watched, then read back with the tool's own reader."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt import trackers
from skillopt.records.events import Event, Notice, RunEnd, RunStart
from skillopt.testing.toy import toy_item


def run(place: Path, *observers: object) -> skillopt.Result:
    return skillopt.optimize([toy_item(n) for n in range(60)], scorer="exact", target="scripted", optimizer="scripted",
                             out=place, on_event=list(observers), overrides={"train.num_epochs": 1})  # fmt: skip


class Slow:
    """A store that takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.taken, self.closed = seconds, 0, False

    def take(self, event: Event) -> None:
        time.sleep(self.seconds)
        self.taken += 1

    def close(self) -> None:
        self.closed = True


def test_a_slow_store_delays_nothing_and_a_full_queue_is_told() -> None:
    sink = Slow(0.2)
    tracker = trackers.Tracker(sink, name="slow", drain_s=0.3, most=5)
    begun = time.monotonic()
    for number in range(100):
        tracker(Notice(text=str(number), seq=number))
    assert time.monotonic() - begun < 0.15
    with pytest.raises(RuntimeError):
        tracker(RunEnd())
    assert time.monotonic() - begun < 1.5 and tracker.dropped >= 94


def test_replayed_events_are_passed_over_and_the_end_waits() -> None:
    sink = Slow(0.01)
    tracker = trackers.Tracker(sink, name="t")
    tracker(RunStart(out_root="x", replayed=True))
    tracker(Notice(text="told before", replayed=True))
    tracker(Notice(text="new"))
    tracker(RunEnd())
    assert sink.taken == 3 and sink.closed


def test_a_broken_store_is_told_and_costs_the_run_nothing(tmp_path: Path) -> None:
    class Broken(Slow):
        def take(self, event: Event) -> None:
            raise OSError("no space")

    tracker = trackers.Tracker(Broken(0), name="broken")
    result = run(tmp_path / "run", tracker)
    assert result.verdict and tracker.faults == ["OSError: no space"]


def test_an_unknown_tracker() -> None:
    with pytest.raises(skillopt.errors.ConfigError, match="one of mlflow"):
        trackers.tracker_named("tensorboard")


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="extra mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow import MlflowClient  # pyright: ignore

    uri = (tmp_path / "store").as_uri()
    for _ in range(2):  # the same command again goes on in the same MLflow run
        tracker = trackers.MLflow(tracking_uri=uri)
        run(tmp_path / "run", tracker)
        assert tracker.faults == []
    client: Any = MlflowClient(uri)
    (experiment,) = [e for e in client.search_experiments() if e.name == "skillopt"]
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED" and found.data.params["target_model"].startswith("scripted:")
    assert found.data.metrics["summary.test_hard"] >= found.data.metrics["summary.baseline_test_hard"]
    assert {"best_skill.md", "report.md"} <= {a.path for a in client.list_artifacts(found.info.run_id)}
    steps = client.get_metric_history(found.info.run_id, "step.step")
    assert len({m.step for m in steps}) == len(steps) >= 1, "what was told before is not told twice"


def test_opentelemetry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="extra otel")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    def spans(place: Path) -> Any:
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracker = trackers.OTel(provider=provider)
        run(place, tracker)
        assert tracker.faults == []
        return exporter.get_finished_spans()

    monkeypatch.delenv("OTEL_SEMCONV_STABILITY_OPT_IN", raising=False)
    assert spans(tmp_path / "quiet") == ()
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    found = spans(tmp_path / "run")
    (top,) = [span for span in found if span.parent is None]
    assert top.name == "invoke_workflow skillopt" and top.attributes["gen_ai.operation.name"] == "invoke_workflow"
    by_id = {span.context.span_id: span for span in found}
    stages = [span for span in found if span.name == "rollout"]
    assert stages and by_id[stages[0].parent.span_id].name.startswith("step ")
    shown = " ".join(str(value) for span in found for value in span.attributes.values())
    assert "RULE" not in shown, "no content"


@pytest.mark.slow
def test_wandb(tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="extra wandb")
    # In a process of its own: its service is a local socket, which the network guard of this one refuses.
    program = (
        "import sys, pathlib\nfrom tests.test_trackers import run, trackers\n"
        "place = pathlib.Path(sys.argv[1])\ntracker = trackers.WandB(mode='offline', directory=place)\n"
        "run(place / 'run', tracker)\nassert tracker.faults == [], tracker.faults\n"
    )
    root = str(Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.rglob("*.wandb")
    written = file.read_bytes()  # records of a log, names as they are
    for name in (b"summary.test_hard", b"step_number", b"rollout.hard", b"target_model"):
        assert name in written, name
