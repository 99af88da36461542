"""The key `tracking`: from a file, a flag and Python alike; names checked; no part of what a run is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import skillopt
from skillopt.cli.main import invoke
from skillopt.config import Resolved, load_config, parse_overrides
from skillopt.config.fingerprint import compare_fingerprints, fingerprint_fields
from skillopt.core.errors import ConfigError
from skillopt.envs.registry import settings_schemas
from skillopt.testing.toy_task import write_config, write_data
from skillopt.trackers import NAMES, Tracker, tracker_named, trackers_of
from tests.trackers.conftest import run


def resolved(tmp_path: Path, text: str = "", argv: Sequence[str] = ()) -> Resolved:
    path = tmp_path / "config.yaml"
    path.write_text(f"env: searchqa\n{text}", encoding="utf-8")
    schemas = settings_schemas()
    return load_config(path, overrides=parse_overrides(argv, schemas), environ={}, env_schemas=schemas)


@pytest.mark.parametrize(
    ("text", "argv", "names"),
    [
        ("", (), None),
        ("tracking: mlflow\n", (), ("mlflow",)),
        ("tracking: [otel, mlflow]\n", (), ("otel", "mlflow")),
        ("tracking:\n  trackers: MLflow\n  mlflow_uri: sqlite:///x.db\n", (), ("mlflow",)),
        ("tracking:\n  trackers:\n  - wandb\n", (), ("wandb",)),
        ("tracking: mlflow\n", ("--tracking", "otel,wandb"), ("otel", "wandb")),
        ("tracking: mlflow\n", ("tracking=[wandb]",), ("wandb",)),
        ("tracking: mlflow\n", ("--cfg-options", "tracking.trackers=otel"), ("otel",)),
        ("tracking: mlflow\n", ("--tracking", "none"), None),
        ("tracking: [mlflow, mlflow]\n", (), ("mlflow",)),
    ],
)
def test_every_way_to_say_it(text: str, argv: Sequence[str], names: object, tmp_path: Path) -> None:
    assert resolved(tmp_path, text, argv).config.tracking.trackers == names


@pytest.mark.parametrize(
    ("text", "argv", "words"),
    [
        ("tracking: mlfow\n", (), "unknown tracker 'mlfow', nearest: mlflow; one of mlflow, wandb, otel"),
        ("tracking: [otel, tensorboard]\n", (), "unknown tracker 'tensorboard'; one of mlflow, wandb, otel"),
        ("", ("--tracking", "wandbb"), "unknown tracker 'wandbb', nearest: wandb"),
        ("tracking:\n  mlflow_url: x\n", (), "unknown key tracking.mlflow_url .*nearest: tracking.mlflow_uri"),
        ("tracking: 3\n", (), "tracking .*expected a section with keys"),
    ],
)
def test_a_name_that_does_not_exist(text: str, argv: Sequence[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        resolved(tmp_path, text, argv)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("child", ["tracking: null", "tracking:", "tracking: {trackers: null}"])
def test_null_in_a_child_switches_off_what_its_base_said(child: str, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("env: searchqa\ntracking: mlflow\ntrain: {batch_size: 7}\n")
    found = resolved(tmp_path, f"_base_: base.yaml\n{child}\ntrain:\n").config
    assert found.tracking.trackers is None and found.train.batch_size == 7


def test_the_settings_reach_the_trackers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, dict[str, object]]] = []
    for kind in ("MLflow", "WandB", "OTel"):
        monkeypatch.setattr(f"skillopt.trackers.choose.{kind}", lambda _kind=kind, **given: made.append((_kind, given)))
    section = resolved(
        tmp_path,
        "tracking:\n  trackers: mlflow, wandb, otel\n  mlflow_uri: sqlite:///x.db\n  mlflow_experiment: mine\n"
        "  mlflow_prompt: skill\n"
        "  wandb_project: theirs\n  wandb_mode: offline\n  otel_capture_content: true\n",
    ).config.tracking
    trackers_of(section)
    assert made == [
        ("MLflow", {"tracking_uri": "sqlite:///x.db", "experiment": "mine", "register_prompt": "skill"}),
        ("WandB", {"project": "theirs", "mode": "offline"}),
        ("OTel", {"capture_content": True}),
    ]


def test_names_in_python() -> None:
    with pytest.raises(ConfigError, match="unknown tracker 'mlflo', nearest: mlflow"):
        tracker_named("mlflo")
    with pytest.raises(ConfigError, match="unknown tracker 'x'; one of"):
        run(Path("never"), overrides={"tracking": ["mlflow", "x"]})
    assert set(NAMES) == {"mlflow", "wandb", "otel"}


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_extra_is_one_line_before_anything_is_spent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    write_data(tmp_path / "data")
    config = write_config(tmp_path / "config.yaml", tmp_path / "data")
    assert (
        invoke(["train", "--config", str(config), "--tracking", name, "--yes", f"env.out_root={tmp_path / 'r'}"]) == 2
    )
    said = capsys.readouterr().err
    assert said.startswith(f"error: tracking by {name}: the package ") and said.count("\n") == 1
    assert f"pip install 'skillopt[{name}]'" in said and not (tmp_path / "r").exists()


def test_it_is_no_part_of_what_a_run_is(tmp_path: Path) -> None:
    one, other = (resolved(tmp_path, text).config for text in ("", "tracking: otel\n"))
    changes = compare_fingerprints(fingerprint_fields(one), fingerprint_fields(other))
    assert [(c.key, c.allowed) for c in changes] == [("tracking.trackers", True)]


def test_a_run_goes_on_with_another_tracker_and_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Sink:
        def take(self, event: skillopt.Event) -> None:
            seen.append(event.name)

        def close(self) -> None:
            seen.append("closed")

    def chosen(*_: object, **__: object) -> Tracker:
        return Tracker(Sink(), name="MLflow")

    plain = run(tmp_path / "plain")
    assert run(tmp_path / "run", budget={"calls": 80}).stopped is not None
    monkeypatch.setattr("skillopt.trackers.choose.MLflow", chosen)
    tracked = run(tmp_path / "run", overrides={"tracking": "mlflow"})
    assert next(name for name in seen if name != "notice") == "run.start" and seen[-2:] == ["run.end", "closed"]
    assert tracked.stopped is None and tracked.skill == plain.skill
    assert (tracked.directory / "history.json").read_bytes() == (plain.directory / "history.json").read_bytes()
    assert "trackers:\n  - mlflow" in tracked.config_yaml()
