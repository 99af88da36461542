"""A program without a login is named before it is started, where it would look for one for minutes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.harnesses.catalogue import with_defaults
from skillopt.harnesses.codex import Codex, CodexOptions
from skillopt.harnesses.job import Cli, Endpoint, Job, link_login

CLIS = with_defaults()
LATE = ("claude_code", "copilot", "pi")
"""They say it themselves, within seconds."""


def job(place: Path, *, model: str = "anthropic/some", **changes: object) -> Job:
    values: dict[str, object] = {
        "executable": "program", "prompt": "hello", "workspace": place / "work", "home": place / "home",
        "environ": {"HOME": str(place / "user")}, "model": model, "login": place / "user", **changes,
    }  # fmt: skip
    return Job(**values)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", sorted(set(CLIS) - set(LATE)))
def test_no_login_is_named(name: str, tmp_path: Path) -> None:
    cli = CLIS[name]
    said = link_login(job(tmp_path), cli)
    assert said.startswith(cli.program) and ("no login" in said or "no key" in said)
    for file in cli.login_files:
        assert str(tmp_path / "user" / file) in said
    assert link_login(job(tmp_path, endpoint=Endpoint("http://127.0.0.1:9/v1"), login=None), cli) == ""
    assert link_login(job(tmp_path, api_key="sk-1", login=None), cli) == ""


@pytest.mark.parametrize("name", LATE)
def test_what_only_the_program_knows_is_left_to_it(name: str, tmp_path: Path) -> None:
    assert link_login(job(tmp_path), CLIS[name]) == ""


def _logged_in(place: Path, cli: Cli, content: object) -> None:
    for file in cli.login_files:
        path = place / "user" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["codex", "qwen"])
def test_with_its_file_it_may_start(name: str, tmp_path: Path) -> None:
    _logged_in(tmp_path, CLIS[name], {})
    assert link_login(job(tmp_path), CLIS[name]) == ""


def test_opencode_needs_a_login_with_the_models_provider(tmp_path: Path) -> None:
    cli = CLIS["opencode"]
    for free in ("", "opencode/grok-code"):
        assert link_login(job(tmp_path, model=free), cli) == ""
    _logged_in(tmp_path, cli, {"openai": {"type": "api"}})
    assert link_login(job(tmp_path, model="openai/gpt-5"), cli) == ""
    assert "no login for the model 'anthropic/some'" in link_login(job(tmp_path), cli)


def test_codex_home_and_a_profile(tmp_path: Path) -> None:
    """The login lies where CODEX_HOME says; a profile may name a provider that needs none."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environ = {"HOME": str(tmp_path / "user"), "CODEX_HOME": str(elsewhere)}
    assert str(elsewhere / "auth.json") in link_login(job(tmp_path, environ=environ), Codex())
    (elsewhere / "auth.json").write_text("{}")
    assert link_login(job(tmp_path, environ=environ), Codex()) == ""
    assert (tmp_path / "home/.codex/auth.json").resolve() == elsewhere / "auth.json"
    assert link_login(job(tmp_path / "other"), Codex(CodexOptions(profile="mine"))) == ""
