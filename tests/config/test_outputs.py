"""What leaves the configuration: exports, dry run, fingerprint, role settings. Secrets leave through none of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skillopt.config import (
    compare_fingerprints,
    dry_run_rows,
    fingerprint_fields,
    flat_export,
    render_dry_run,
    role_settings,
    structured_export,
)

from .conftest import Load
from .standins import RichSettings

SECRETS = {
    "OPENAI_API_KEY": "sk-secret-1",
    "OPENAI_COMPATIBLE_API_KEY": "sk-secret-2",
    "TARGET_OPENAI_COMPATIBLE_API_KEY": "sk-secret-3",
}


def test_no_secret_leaves(load: Load) -> None:
    argv = ["--token", "sk-secret-4", "--local_base_url", "http://user:sk-secret-5@host:1/v1"]
    resolved = load("env: {scorer: {url: 'https://u:sk-secret-6@h/'}}", argv, SECRETS)
    config = resolved.config
    everything = [
        json.dumps(flat_export(config)),
        json.dumps(structured_export(config)),
        render_dry_run(resolved),
        repr(resolved),
        str(config),
        json.dumps(fingerprint_fields(config)),
        repr(role_settings(config.model, "target")),
    ]
    for text in everything[:3] + everything[5:]:
        assert "sk-secret" not in text
    for number in (1, 2, 3, 4):
        assert not any(f"sk-secret-{number}" in text for text in everything)
    rows = {row.key: row for row in dry_run_rows(resolved)}
    assert rows["model.openai_api_key"].value == "********"
    assert rows["model.openai_api_key"].source == "environment OPENAI_API_KEY"
    assert rows["model.optimizer_openai_compatible_api_key"].value == ""
    assert rows["model.local_base_url"].value == "http://host:1/v1"
    assert any("--token: a secret on the command line" in n for n in resolved.notices)


def test_a_secret_is_in_no_error(load: Load) -> None:
    with pytest.raises(Exception, match="given twice") as caught:
        load(environ={"TARGET_OPENAI_COMPATIBLE_API_KEY": "sk-a", "STUDENT_OPENAI_COMPATIBLE_API_KEY": "sk-b"})
    assert "sk-" not in str(caught.value)
    with pytest.raises(Exception, match="openai_api_key") as caught:
        load("model: {openai_api_key: [sk-a]}")
    assert "sk-a" not in str(caught.value)


def test_dry_run_names_every_key(load: Load) -> None:
    resolved = load("train: {seed: 3}")
    rows = dry_run_rows(resolved)
    assert {row.key for row in rows} == set(resolved.origins)
    assert any(row[:2] == ("train.seed", "3") and row.source.endswith("config.yaml:2") for row in rows)
    assert "train.seed" in render_dry_run(resolved)


def test_flat_export_uses_the_published_names(load: Load) -> None:
    flat = flat_export(load(argv=["--learning_rate", "7"]).config)
    assert flat["edit_budget"] == 7 and flat["min_edit_budget"] == 2
    assert flat["optimizer_model"] == "gpt-5.5" and flat["env"] == "rich" and flat["model_backend"] == "openai_chat"
    assert not any("key" in name and "api" in name for name in flat)


def changes(load: Load, *argv: str) -> list[tuple[str, bool]]:
    old = json.loads(json.dumps(fingerprint_fields(load(argv=["--max_usd", "5"]).config)))
    new = fingerprint_fields(load(argv=["--max_usd", "5", *argv], environ=SECRETS).config)
    return [(change.key, change.allowed) for change in compare_fingerprints(old, new)]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], []),
        (["--out_root", "elsewhere"], []),
        (["--num_epochs", "5"], [("train.num_epochs", True)]),
        (["--num_epochs", "3"], [("train.num_epochs", False)]),
        (["--max_usd", "6"], [("budget.max_usd", True)]),
        (["--max_usd", "4"], [("budget.max_usd", False)]),
        (["--max_usd", "null"], [("budget.max_usd", True)]),
        (["--max_calls", "9"], [("budget.max_calls", False)]),
        (["--workers", "1"], [("env.workers", True)]),
        (["--analyst_workers", "1"], [("gradient.analyst_workers", True)]),
        (["--exec_timeout", "9"], [("env.exec_timeout", True)]),
        (["--prefetch", "false"], [("evaluation.prefetch", True)]),
        (["--backend", "openai_chat", "--openai_compatible_base_url", "http://x"],
             [("model.openai_compatible_base_url", True)]),
        (["--batch_size", "9"], [("train.batch_size", False)]),
        (["--target_model", "x"], [("model.target", False)]),
        (["env.scorer.x=1"], [("env.scorer", False)]),
        (["--note", "x"], [("env.note", False)]),
        (["--target_backend", "local"], [("model.target", False), ("model.target_backend", False)]),
    ],
)  # fmt: skip
def test_fingerprint(load: Load, argv: list[str], expected: list[tuple[str, bool]]) -> None:
    assert changes(load, *argv) == expected


def test_a_key_that_one_side_lacks_is_a_change() -> None:
    (change,) = compare_fingerprints({"fixed": {"train.old": 1}}, {"fixed": {}, "extendable": {}})
    assert str(change) == "train.old: 1 -> null" and not change.allowed


def test_roles_never_share_what_is_not_shared(load: Load) -> None:
    model = load(
        "model: {backend: compat, openai_compatible_base_url: 'http://shared/v1', openai_compatible_max_tokens: 10,\n"
        "  target_openai_compatible_base_url: 'http://own/v1', target_openai_compatible_temperature: 0,\n"
        "  target_openai_compatible_timeout_seconds: 5, reasoning_effort: low}",
        environ={"OPENAI_API_KEY": "plain", "OPENAI_COMPATIBLE_API_KEY": "shared"},
    ).config.model
    optimizer, target = role_settings(model, "optimizer"), role_settings(model, "target")
    assert (optimizer.base_url, optimizer.api_key.get_secret_value()) == ("http://shared/v1", "shared")
    assert (target.base_url, target.api_key.get_secret_value()) == ("http://own/v1", "")
    assert (optimizer.temperature, optimizer.max_tokens, optimizer.timeout_seconds) == (None, 10, 300)
    assert (target.temperature, target.max_tokens, target.timeout_seconds) == (0, 10, 5)
    assert optimizer.reasoning_effort == target.reasoning_effort == "low"


@pytest.mark.parametrize(
    ("argv", "environ", "expected"),
    [
        ([], {}, ("openai_chat", "https://api.openai.com/v1", "k", "medium")),
        ([], {"OPENAI_BASE_URL": "http://p/v1"}, ("openai_chat", "http://p/v1", "k", "medium")),
        (["--backend", "compat"], {}, ("openai_compatible", "https://api.openai.com/v1", "k", "")),
        (
            ["--backend", "compat"],
            {"OPENAI_COMPATIBLE_BASE_URL": "http://c"},
            ("openai_compatible", "http://c", "", ""),
        ),
        (["--backend", "local"], {}, ("local", "", "", "")),
        (["--backend", "scripted"], {}, ("scripted", "", "", "")),
        (["--reasoning_effort", ""], {}, ("openai_chat", "https://api.openai.com/v1", "k", "")),
    ],
)
def test_where_a_role_goes(load: Load, argv: list[str], environ: dict[str, str], expected: tuple[str, ...]) -> None:
    role = role_settings(load(argv=argv, environ={"OPENAI_API_KEY": "k", **environ}).config.model, "target")
    assert (role.backend, role.base_url, role.api_key.get_secret_value(), role.reasoning_effort) == expected
    assert role.as_mapping()["model"] == role.model


def test_a_key_that_a_newer_version_added_is_no_change_at_its_default() -> None:
    older: dict[str, Any] = {"fixed": {"train.seed": 42}, "extendable": {}}
    newer: dict[str, Any] = {"fixed": {"train.seed": 42, "evaluation.gate_rule": "strict"}, "extendable": {}}
    assert compare_fingerprints(older, newer) == []
    newer["fixed"]["evaluation.gate_rule"] = "paired"
    (change,) = compare_fingerprints(older, newer)
    assert (change.key, change.allowed) == ("evaluation.gate_rule", False)


def test_so_is_a_key_that_an_environment_added(load: Load) -> None:
    newer = fingerprint_fields(load().config)
    own = [f"env.{name}" for name in RichSettings.model_fields if f"env.{name}" in newer["fixed"]]
    older = {**newer, "fixed": {key: value for key, value in newer["fixed"].items() if key not in own}}
    assert len(own) >= 4 and compare_fingerprints(older, newer, RichSettings) == []
    other = fingerprint_fields(load(argv=["--shuffle", "true"]).config)
    (change,) = compare_fingerprints(older, other, RichSettings)
    assert (change.key, change.allowed) == ("env.shuffle", False)


def test_where_items_and_skill_lie_is_no_other_run(load: Load) -> None:
    """What they hold is compared itself: a run directory, or its data, may be moved."""
    before = fingerprint_fields(load(argv=["--split_dir", "here", "--skill_init", "a/skill.md"]).config)
    after = fingerprint_fields(load(argv=["--split_dir", "there", "--skill_init", "b/skill.md"]).config)
    changes = compare_fingerprints(before, after)
    assert {change.key: change.allowed for change in changes} == {"env.split_dir": True, "env.skill_init": True}
