"""MLflow, read back with its own client: a run is one MLflow run, however often it is stopped."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from skillopt import trackers
from skillopt.core.errors import ConfigError
from skillopt.core.json_types import as_object, parse_json
from tests.trackers.conftest import SHORT, run

# Looked for and not imported: seconds, which each worker would pay at collection.
pytestmark = pytest.mark.skipif(
    find_spec("mlflow") is None or find_spec("sqlalchemy") is None, reason="extra mlflow and its SQLite store"
)

TWO: dict[str, object] = {"train.num_epochs": 2}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A SQLite store; making its tables takes seconds, so the tests of this module share one."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'store.db'}"


def recorded(store: str, experiment: str) -> list[Any]:
    from mlflow import MlflowClient  # pyright: ignore

    client: Any = MlflowClient(store)
    (found,) = [e for e in client.search_experiments() if e.name == experiment]
    return [client, *client.search_runs([found.experiment_id])]


def test_a_stopped_run_that_goes_on_is_one_mlflow_run(store: str, tmp_path: Path) -> None:
    settings = {**TWO, "tracking": "mlflow", "tracking.mlflow_uri": store, "tracking.mlflow_experiment": "one"}
    stopped = run(tmp_path / "run", overrides=settings, budget={"calls": 80})
    assert stopped.stopped_by == "budget" and stopped.observer_faults == ()
    client, before = recorded(store, "one")
    kept = as_object(parse_json((tmp_path / "run/logs/tracking.json").read_bytes()))
    assert list(kept.values()) == [before.info.run_id] and store not in str(kept)
    assert before.data.tags["skillopt.stopped"].startswith("budget reached")
    client.delete_tag(before.info.run_id, "skillopt.run_id")  # the run directory's own file is enough
    result = run(tmp_path / "run", overrides=settings)
    assert result.observer_faults == ()
    _, found = recorded(store, "one")
    assert found.info.run_id == before.info.run_id and found.info.status == "FINISHED"
    assert found.data.tags["skillopt.stopped"] == "" and found.data.tags["mlflow.runName"] == "run"
    steps = [m.step for m in client.get_metric_history(found.info.run_id, "step.step")]
    assert steps == [record.step for record in result.steps], "each step once, in order"
    metrics, summary = found.data.metrics, result.summary
    assert metrics["summary.test.hard"] == summary.test.hard and summary.test.interval is not None
    assert (metrics["summary.test.interval_lower"], metrics["summary.test.interval_upper"]) == summary.test.interval
    params = found.data.params
    assert params["target_model"].startswith("scripted:") and params["train.num_epochs"] == "2"
    assert "train.seed" not in params, "only keys that are not at their default"
    files = {a.path: a for a in client.list_artifacts(found.info.run_id)}
    assert {"best_skill.md", "report.md", "summary.json"} <= set(files)
    local = Path(client.download_artifacts(found.info.run_id, "best_skill.md", str(tmp_path)))
    assert local.read_text(encoding="utf-8") == result.skill.text


def test_a_run_directory_that_lost_its_logs_is_found_by_the_runs_id(store: str, tmp_path: Path) -> None:
    tracker = trackers.MLflow(tracking_uri=store, experiment="two")
    for _ in range(2):
        assert run(tmp_path / "run", tracker).observer_faults == ()
        (tmp_path / "run/logs/tracking.json").unlink()
    assert len(recorded(store, "two")) == 2, "the client and one run"


def test_another_directory_is_another_run_and_a_deleted_one_is_begun_anew(store: str, tmp_path: Path) -> None:
    tracker = trackers.MLflow(tracking_uri=store, experiment="three")
    run(tmp_path / "a", tracker)
    run(tmp_path / "b", tracker)
    client, *both = recorded(store, "three")
    assert {r.data.tags["mlflow.runName"] for r in both} == {"a", "b"}
    for each in both:
        client.delete_run(each.info.run_id)
    assert run(tmp_path / "a", tracker).observer_faults == ()
    (again,) = recorded(store, "three")[1:]
    assert again.data.tags["mlflow.runName"] == "a" and again.info.run_id not in {r.info.run_id for r in both}


def test_an_evaluation_is_recorded(store: str, tmp_path: Path) -> None:
    import skillopt
    from tests.trackers.conftest import ITEMS

    found = skillopt.evaluate(
        ITEMS, scorer="exact", target="scripted", skills={"none": "", "rules": "RULE 1\nRULE 2"}, out=tmp_path / "eval",
        overrides={"tracking": "mlflow", "tracking.mlflow_uri": store, "tracking.mlflow_experiment": "four"},
    )  # fmt: skip
    assert found.observer_faults == ()
    _, entry = recorded(store, "four")
    assert entry.data.params["kind"] == "eval" and entry.info.status == "FINISHED"
    for score in found.table.scores:
        assert entry.data.metrics[f"eval.{score.name}.hard"] == score.mean


@pytest.mark.thorough
def test_the_best_skill_becomes_a_version_of_a_prompt(store: str, tmp_path: Path) -> None:
    settings = {
        **SHORT, "tracking": "mlflow", "tracking.mlflow_uri": store, "tracking.mlflow_experiment": "five",
        "tracking.mlflow_prompt": "toy_skill",
    }  # fmt: skip
    first = run(tmp_path / "run", overrides=settings, gate="strict")
    again = run(tmp_path / "run", overrides=settings, gate="strict")
    assert first.observer_faults == again.observer_faults == ()
    client, entry = recorded(store, "five")
    version = client.get_prompt_version("toy_skill", 1)
    assert version.template == first.skill.text and version.tags["skillopt.mlflow_run"] == entry.info.run_id
    newest = client.get_prompt_version_by_alias("toy_skill", "latest")
    assert newest.version == 1, "the same text is one version, however often its run is opened"
    tracker = trackers.MLflow(tracking_uri=store, experiment="five", register_prompt="toy_skill")
    other = run(tmp_path / "other", tracker, gate="strict", skill="Answer briefly.")
    assert other.observer_faults == () and other.skill != first.skill
    assert first.skill.text and client.get_prompt_version("toy_skill", 2).template == other.skill.text


def test_a_store_that_cannot_be_reached_costs_the_run_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    tracker = trackers.MLflow(tracking_uri=f"sqlite:///{tmp_path / 'file' / 'store.db'}")
    result = run(tmp_path / "run", tracker)
    assert result.verdict and len(result.observer_faults) == 1
    assert result.observer_faults[0].startswith("observer MLflow failed on run.start: ")


@pytest.mark.slow_campaign
def test_the_file_store_of_older_mlflow_is_written_where_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "store").as_uri()
    result = run(tmp_path / "run", trackers.MLflow(tracking_uri=uri))
    assert result.observer_faults == ()
    _, found = recorded(uri, "skillopt")
    assert found.data.metrics["summary.test.hard"] == result.summary.test.hard


def test_without_mlflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    with pytest.raises(ConfigError, match=r"mlflow is not installed.*skillopt\[mlflow\]"):
        trackers.MLflow()
