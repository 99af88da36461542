"""S15 and S41: a night with each real agent program as the model, against a scripted model server on this machine.

A program that is not installed is skipped, and the skip says how to install it; `make e2e` runs all three.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.agent_model_server import AgentModelServer, Say
from skillopt.harnesses import processes
from skillopt.sleep.cli.main import main
from tests.agents.real import PLANTED, PROGRAMS, program, search_path
from tests.sleep.test_run import answer, write_sessions

pytestmark = pytest.mark.slow

NAMES = {"claude": "claude_code_exec", "codex": "codex_exec", "copilot": "copilot_exec"}
ALLOWED = frozenset(
    {"HOME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TEMP", "TMP", "USERPROFILE", "USER", "LOGNAME"}
    | {"SHELL", "TZ", "NO_COLOR", "CI", "PWD"}
)
"""Beside these only what the program itself is told by its own variables, or what names certificates."""
OWN = ("CLAUDE", "ANTHROPIC", "CODEX", "COPILOT", "GITHUB_COPILOT", "SKILLOPT", "XDG_", "DISABLE_", "NODE_", "npm_",
       "OTEL_", "GIT_", "SSL_CERT_", "IS_SANDBOX")  # fmt: skip


@contextmanager
def watched(name: str) -> Iterator[list[tuple[list[str], dict[str, str]]]]:
    """Arguments and environment of each of our children that runs this program, as the kernel tells them."""
    seen: dict[int, tuple[list[str], dict[str, str]]] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for process in processes.alive():
                if process.pid in seen:
                    continue
                try:
                    words = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
                    pairs = Path(f"/proc/{process.pid}/environ").read_bytes().decode(errors="replace").split("\0")
                except OSError:
                    continue
                if any(Path(word).name.startswith(name) for word in words[:2]) and os.getpid() != process.pid:
                    seen[process.pid] = (words, dict(p.split("=", 1) for p in pairs if "=" in p))

    thread = threading.Thread(target=look)
    thread.start()
    found: list[tuple[list[str], dict[str, str]]] = []
    try:
        yield found
    finally:
        over.set()
        thread.join()
        found += seen.values()


@pytest.mark.parametrize("name", NAMES)
def test_s15_s41_a_night_by_a_real_program(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program(NAMES[name])
    project = (tmp_path / "shop").resolve()
    project.mkdir()
    (project / "CLAUDE.md").write_text("# Shop\n")
    home = tmp_path / "home"
    homes = {"claude": home / ".claude", "codex": home / ".codex", "copilot": home / ".copilot"}
    for folder in homes.values():
        folder.mkdir(parents=True)
    write_sessions(homes["claude"], project, 5)
    config = tmp_path / "config.json"
    places = {f"{agent}_home": str(folder) for agent, folder in homes.items()}
    config.write_text(json.dumps({
        **places, "opencode_db": str(tmp_path / "x.db"), f"{name}_path": path, "lookback_hours": 0,
        "evolve_memory": False, "gate_repeats": 1, "gate_max_repeats": 1, "dream_rollouts": 1, "val_fraction": 0.4,
    }))  # fmt: skip
    for variable, secret in PLANTED.items():
        monkeypatch.setenv(variable, secret)
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", search_path())
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SKILLOPT_SLEEP_ENDPOINT_KEY", "sk-endpoint-42424242")

    def ask(*words: str) -> tuple[int, dict[str, object]]:
        code = main([*words, "--project", str(project), "--config", str(config), "--json"])
        return code, json.loads(capsys.readouterr().out)

    with AgentModelServer((Say(lambda body: answer(_question(body))),), api_key="sk-endpoint") as server:
        monkeypatch.setenv("SKILLOPT_SLEEP_ENDPOINT", server.url)
        before = ask("plan")[1]
        with watched(PROGRAMS[NAMES[name]]) as children:
            code, facts = ask("run", "--max-calls", "80", "--backend", name, "--model", "scripted-model", "--yes")
    assert code == 0, facts
    assert facts["verdict"] in ("accepted", "unproven"), facts
    assert server.requests and facts["spend"]["calls"] > 0  # pyright: ignore
    assert ask("plan")[1]["n_sessions"] == before["n_sessions"]  # S15: none of the night's own questions is a session
    assert children
    for words, given in children:
        assert not any("changelog" in word.lower() for word in words)  # the prompt is not in argv
        assert not set(PLANTED.values()) & set(given.values())
        strange = {n for n in given if n not in ALLOWED and not n.startswith(OWN)}
        assert not strange, strange


def _question(body: str) -> str:
    """The night's own prompt within a request: programs put texts of their own before it."""
    return body[max(0, body.find("[skillopt-sleep:replay]")) :]
