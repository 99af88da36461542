"""S37: settings come from the highest layer that says them; what is wrong is one line, and nothing runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import skillopt.sleep
from skillopt.sleep.errors import SettingsError
from skillopt.sleep.settings.reading import resolve
from skillopt.sleep.settings.schema import ALIASES, DEFAULTS, FACTS


def _file(tmp_path: Path, value: object) -> dict[str, str]:
    (tmp_path / "config.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return {"SKILLOPT_SLEEP_HOME": str(tmp_path)}


def test_flag_over_environment_over_project_over_file_over_default(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)
    environ = _file(
        tmp_path,
        {"workers": 2, "seed": 1, "min_support": 3, "edit_budget": 0, "per_project": {str(project): {"seed": 2}}},
    )
    environ["SKILLOPT_SLEEP_WORKERS"] = "7"
    resolved = resolve({"lookback_hours": "0"}, environ, tmp_path / "link")
    settings, origins = resolved.settings, resolved.origins
    assert (settings.lookback_hours, settings.workers, settings.seed, settings.min_support) == (0.0, 7, 2, 3)
    assert settings.edit_budget == 0
    assert origins["lookback_hours"] == "flag"
    assert origins["workers"] == "environment SKILLOPT_SLEEP_WORKERS"
    assert origins["seed"].startswith("per_project")
    assert origins["min_support"].startswith("file")
    assert origins["model"] == "default"
    assert set(origins) == set(FACTS)


def test_more_samples_than_the_default_at_most_raise_it(tmp_path: Path) -> None:
    assert resolve({"gate_repeats": "9"}, _file(tmp_path, {}), tmp_path).settings.gate_max_repeats == 9
    with pytest.raises(SettingsError, match="gate_max_repeats 6 is below gate_repeats 9"):
        resolve({"gate_repeats": "9"}, _file(tmp_path, {"gate_max_repeats": 6}), tmp_path)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"lokback_hours": 3}, ["unknown key 'lokback_hours'", "'lookback_hours'"]),
        ({"workers": "four"}, ["workers is 'four'", "a whole number"]),
        ({"workers": True}, ["workers is True"]),
        ({"workers": 0}, ["workers is 0", "at least 1"]),
        ({"backend": "cluade"}, ["backend is 'cluade'", "did you mean 'claude'"]),
        ({"backend": "mock"}, ["backend is 'mock'", "one of claude, codex"]),
        ({"val_fraction": 0.7, "test_fraction": 0.3}, ["leave no train tasks"]),
        ({"val_fraction": 0.3, "holdout_fraction": 0.3}, ["given twice"]),
        ({"gate_no_regression": False}, ["gate_regression_budget"]),
        ({"redact_secrets": False}, ["unknown key 'redact_secrets'"]),
        ({"per_project": {"shop": {}}}, ["not an absolute path"]),
        ({"per_project": {"/nowhere": {"wrkers": 1}}}, ["unknown key 'wrkers'"]),
        ({"projects": ["shop"]}, ["projects is ['shop']", "absolute paths"]),
        ({"projects": ["all", "/shop"]}, ["absolute paths"]),
        ("{", ["is not JSON"]),
        ("[]", ["one JSON object"]),
        ({"dream_factor": -1}, ["dream_factor is -1", "at least 0"]),
        ({"replay_tiers": ["text", "worktree"]}, ["replays with files or tools is not built"]),
        ({"multi_skill_report": True}, ["multi_skill_fanout is True", "is not built"]),
        ({"per_project": {"/nowhere": {"test_command": "make"}}}, ["test_command is 'make'", "is not built"]),
    ],
)
def test_s37_what_is_wrong_is_one_line(tmp_path: Path, value: object, words: list[str]) -> None:
    environ = _file(tmp_path, value)
    with pytest.raises(SettingsError) as caught:
        resolve({}, environ, tmp_path)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line


def test_a_configuration_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no configuration file"):
        resolve({}, {}, tmp_path, config=str(tmp_path / "none.json"))


@pytest.mark.parametrize("word", ["off", "none", "false", "greedy", False, None])
def test_every_word_for_no_gate_means_off(tmp_path: Path, word: object) -> None:
    assert resolve({}, _file(tmp_path, {"gate_mode": word}), tmp_path).settings.gate_mode == "off"


def test_names_of_earlier_programs_are_read(tmp_path: Path) -> None:
    environ = _file(tmp_path, {"holdout_fraction": 0.5, "rollouts": 1, "gate_no_regression": True})
    settings = resolve({}, environ, tmp_path).settings
    assert (settings.val_fraction, settings.dream_rollouts, settings.gate_regression_budget) == (0.5, 1, 0)
    assert all(name in FACTS for name in ALIASES.values())


def test_a_file_in_the_repository_is_not_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"backend": "codex"}')
    environ = {"SKILLOPT_SLEEP_HOME": str(tmp_path / "state")}
    assert resolve({}, environ, tmp_path).settings.backend == ""


def test_the_limit_of_sessions_follows_the_tasks_until_it_is_set(tmp_path: Path) -> None:
    assert resolve({"max_tasks_per_night": 5}, {}, tmp_path).settings.sessions_limit == 15
    assert resolve({"max_tasks_per_night": 5, "max_sessions_per_night": "0"}, {}, tmp_path).settings.sessions_limit == 0


def test_every_default_passes_its_own_check() -> None:
    from skillopt.sleep.settings.values import checked

    for name in FACTS:
        value = getattr(DEFAULTS, name)
        checked(name, list(value) if isinstance(value, tuple) else value, "default")


def test_a_key_that_nobody_reads_is_refused_not_taken_silently() -> None:
    room = Path(skillopt.sleep.__file__).parent
    texts = [p.read_text() for p in room.rglob("*.py") if not (p.parent.name == "settings" and p.stem != "schema")]
    source = "\n".join(texts)
    read = {name for name in FACTS if re.search(rf"(?:settings|self)\.{name}\b", source)}
    assert {name for name, facts in FACTS.items() if facts.unbuilt} == set(FACTS) - read
