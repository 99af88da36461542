"""The real programs against a scripted model server: Codex, Claude Code and Copilot, from workspace to training.

Nothing leaves the machine. A program that is not installed is skipped, and the skip says how to install it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent_model_server import AgentModelServer, Fail, Hang, ReadSkill, Say, Script, Shell
from skillopt.agents.exec import ExecAgent
from skillopt.agents.settings import AgentSettings
from skillopt.core.errors import FatalModelError
from skillopt.harnesses import processes
from skillopt.harnesses.claude_code import ClaudeCode
from skillopt.harnesses.codex import Codex, CodexOptions
from skillopt.harnesses.copilot import Copilot
from skillopt.harnesses.environment import MARKER
from skillopt.harnesses.job import Cli, Endpoint
from skillopt.model.prices import load_prices
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.store.journal import Journal
from tests.agents.real import PLANTED, PROGRAMS, ROOT, environment, program
from tests.agents.stand_in import Meter, NoWait, task

pytestmark = pytest.mark.slow

CLIS: dict[str, Cli] = {"codex_exec": Codex(), "claude_code_exec": ClaudeCode(), "copilot_exec": Copilot()}
SOLVE: Script = (ReadSkill("skillopt-target"), Shell("cat task.md; env"), Say("It is <answer>12</answer>."))
backends = pytest.mark.parametrize("backend", PROGRAMS)


@contextmanager
def opened(
    backend: str, server: AgentModelServer, tmp_path: Path, *, key: str = "sk-endpoint-42424242", **changes: Any
) -> Iterator[ExecAgent]:
    """An agent on the real program."""
    found = program(backend)
    journal = Journal.open(tmp_path / "journal.sqlite3")
    settings: dict[str, Any] = {
        "cli": CLIS[backend],
        "environ": environment(tmp_path),
        "model": "scripted-model",
        "path": found,
        "endpoint": Endpoint(server.url, key),
        "cache": Path(environment(tmp_path)["XDG_CACHE_HOME"]) / "skillopt" / "agents",
        "attempts": 2,
    }
    try:
        yield ExecAgent(
            AgentSettings(**{**settings, **changes}),
            journal=journal,
            meter=Meter(),
            pool=LimiterPool(),
            prices=load_prices(),
            limits=Limits(width=8),
            backoff=NoWait(),
        )
    finally:
        journal.close()


def running() -> set[int]:
    """Living processes of any run that this very process began, wherever they have gone."""
    mine = f"{MARKER}={os.getpid()}-".encode()
    found: set[int] = set()
    for process in processes.alive():
        try:
            content = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:
            continue
        if any(entry.startswith(mine) for entry in content.split(b"\0")):
            found.add(process.pid)
    return found


@backends
async def test_a_task_is_solved_with_the_skill_read(backend: str, tmp_path: Path) -> None:
    with AgentModelServer(SOLVE, api_key="sk-endpoint") as server, opened(backend, server, tmp_path) as agent:
        attempt = await agent.attempt(task(deadline_s=120))
        await agent.aclose()
    assert attempt.lost == ""
    assert attempt.text == "It is <answer>12</answer>."
    assert attempt.notes["skill_read"] is True
    assert attempt.notes["exit_reason"] == "completed"
    assert attempt.notes["version"][0].isdigit()
    assert (attempt.tokens["prompt_tokens"], attempt.tokens["cached_tokens"]) == (300, 120)
    calls = [row for row in attempt.trajectory if row.get("type") == "tool_call"]
    assert "How many lines are in file 1?" in calls[-1]["obs"]
    # The candidate's own text reached the model, and nothing of the caller did.
    sent = json.dumps(server.requests)
    assert "Use wc -l." in sent
    assert not any(secret in sent for secret in PLANTED.values())
    assert str(Path.home() / ".codex") not in sent


@backends
async def test_a_skill_that_is_ignored_is_told(backend: str, tmp_path: Path) -> None:
    with AgentModelServer((Say("<answer>12</answer>"),)) as server, opened(backend, server, tmp_path) as agent:
        attempt = await agent.attempt(task(deadline_s=120))
        await agent.aclose()
    assert attempt.notes["skill_read"] is False
    assert "Use wc -l." not in json.dumps(server.requests)


@backends
async def test_a_refused_key_is_fatal_in_one_line(backend: str, tmp_path: Path) -> None:
    with AgentModelServer(SOLVE, api_key="sk-right") as server, opened(backend, server, tmp_path) as agent:
        with pytest.raises(FatalModelError) as caught:
            await agent.probe()
        await agent.aclose()
    assert "401" in caught.value.message or "uthentic" in caught.value.message
    assert "\n" not in str(caught.value)
    assert "sk-endpoint-42424242" not in str(caught.value)


@backends
async def test_a_missing_login_is_fatal_and_named(backend: str, tmp_path: Path) -> None:
    """Neither key nor login: the programs say so without a network, and that is no answer."""
    changes: dict[str, Any] = {"endpoint": None, "login": tmp_path / "nobody", "model": ""}
    with AgentModelServer(SOLVE) as server, opened(backend, server, tmp_path, **changes) as agent:
        with pytest.raises(FatalModelError) as caught:
            await agent.probe()
        await agent.aclose()
    assert re.search(r"log(ged)? ?in|authentication", caught.value.message, re.IGNORECASE)
    assert caught.value.cause == "key"


@backends
async def test_an_unknown_model_is_fatal(backend: str, tmp_path: Path) -> None:
    script = (Fail(404, "model: scripted-model not found"),)
    with AgentModelServer(script) as server, opened(backend, server, tmp_path) as agent:
        with pytest.raises(FatalModelError):
            await agent.probe()
        await agent.aclose()


@backends
async def test_a_stalled_server_ends_at_our_deadline_with_nobody_left(backend: str, tmp_path: Path) -> None:
    with AgentModelServer((Hang(),)) as server, opened(backend, server, tmp_path) as agent:
        asking = asyncio.ensure_future(agent.attempt(task(deadline_s=6)))
        while not server.requests and not asking.done():
            await asyncio.sleep(0.05)
        assert running()  # the program is there, and it has asked
        attempt = await asking
        assert "no answer within 6 s" in attempt.lost
        assert running() == set()
        await agent.aclose()


async def test_codex_with_a_dead_server_does_not_wait_for_ever(tmp_path: Path) -> None:
    with AgentModelServer(SOLVE) as server:
        pass  # stopped: nobody listens there any more
    with opened("codex_exec", server, tmp_path, attempts=1) as agent:
        attempt = await asyncio.wait_for(agent.attempt(task(deadline_s=60)), 55)
        await agent.aclose()
    assert attempt.lost


async def test_codex_commands_see_no_key_and_their_refusals_are_found(tmp_path: Path) -> None:
    script = (Shell("env | grep -c -i key; touch /opt/outside-the-workspace"), Say("done"))
    cli = Codex(CodexOptions(sandbox="read-only"))
    with AgentModelServer(script) as server, opened("codex_exec", server, tmp_path, cli=cli) as agent:
        attempt = await agent.attempt(task(deadline_s=120))
        await agent.aclose()
    (call,) = [row for row in attempt.trajectory if row.get("type") == "tool_call"]
    assert call["obs"].startswith("0\n")
    assert attempt.notes["denied"] == ["env | grep -c -i key; touch /opt/outside-the-workspace"]
    assert not Path("/opt/outside-the-workspace").exists()


@backends
async def test_a_child_that_leaves_its_session_is_ended_too(backend: str, tmp_path: Path) -> None:
    leaver = "setsid sh -c 'sleep 4321' >/dev/null 2>&1 & echo left"
    options: dict[str, Any] = {}
    if backend == "codex_exec":
        options["cli"] = Codex(CodexOptions(sandbox="danger-full-access"))
    script = (Shell(leaver), Say("<answer>12</answer>"))
    with AgentModelServer(script) as server, opened(backend, server, tmp_path, **options) as agent:
        attempt = await agent.attempt(task(deadline_s=120))
        await agent.aclose()
    assert attempt.text == "<answer>12</answer>"
    assert not any(b"sleep\x004321" in _line(p.pid) for p in processes.alive())


def _line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


CONFIG = """
_base_: {root}/configs/_base_/default.yaml
model: {{target_backend: {backend}, target: scripted-model, exec_base_url: "{url}", optimizer_backend: scripted,
        scripted_script: "{script}"}}
train: {{num_epochs: 1, batch_size: 2}}
env: {{name: jsonl, data_path: "{items}", split_ratio: "1:1:1", prompt_template: "{{{{ question }}}}",
      answer_format: answer_tag, scorer: exact, workers: 4, exec_timeout: 120}}
"""
OPTIMIZER = """
import json

def respond(request):
    text = "\\n".join(str(m.content) for m in request.messages)
    if "ready" in text and len(text) < 200:
        return "ready"
    return json.dumps({"reasoning": "the sum is off by one", "edits": [
        {"op": "append", "content": "Add one to the number in the question."}]})
"""


def test_codex_can_be_optimizer_and_target(tmp_path: Path) -> None:
    """`--backend codex`: the optimizer is asked plainly, the target works in its workspace."""
    program("codex_exec")

    def answer(request: str) -> str:
        number = int(re.findall(r"What comes after (\d+)\?", request)[-1])
        return f"<answer>{number + ('Add one to the number' in request)}</answer>"

    edit = {"op": "append", "content": "Add one to the number in the question."}
    reply = json.dumps({"reasoning": "off by one", "edits": [edit]})
    items = [{"id": f"q{n}", "question": f"What comes after {n}?", "answer": str(n + 1)} for n in range(9)]
    (tmp_path / "items.json").write_text(json.dumps(items))
    scripts: dict[str, Script] = {
        "single word: ready": (Say("ready"),),
        "rajector": (Say(reply),),
        "": (ReadSkill("skillopt-target"), Shell("cat task.md"), Say(answer)),
    }
    with AgentModelServer(scripts) as server:
        config = CONFIG.format(
            root=ROOT, backend="codex_exec", url=server.url, script="", items=tmp_path / "items.json"
        ).replace("optimizer_backend: scripted", "optimizer_backend: codex_exec, optimizer: scripted-model")
        (tmp_path / "config.yaml").write_text(config)
        done = subprocess.run(
            [sys.executable, "-m", "skillopt", "train", "--config", str(tmp_path / "config.yaml"),
             "--out_root", str(tmp_path / "out")],
            env=environment(tmp_path), capture_output=True, text=True, timeout=580, cwd=tmp_path, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["test_hard"] == 1.0
    assert "Add one to the number" in (tmp_path / "out" / "best_skill.md").read_text()


@backends
def test_a_run_learns_through_the_real_program(backend: str, tmp_path: Path) -> None:
    """Train end to end: the answers are right exactly when the agent has read the sentence that the optimizer adds."""
    program(backend)

    def answer(request: str) -> str:
        number = int(re.findall(r"What comes after (\d+)\?", request)[-1])
        return f"<answer>{number + ('Add one to the number' in request)}</answer>"

    items = [{"id": f"q{n}", "question": f"What comes after {n}?", "answer": str(n + 1)} for n in range(9)]
    (tmp_path / "items.json").write_text(json.dumps(items))
    (tmp_path / "optimizer.py").write_text(OPTIMIZER)
    scripts: dict[str, Script] = {
        "single word: ready": (Say("ready"),),
        "": (ReadSkill("skillopt-target"), Shell("cat task.md"), Say(answer)),
    }
    with AgentModelServer(scripts) as server:
        config = CONFIG.format(
            root=ROOT, backend=backend, url=server.url, script=tmp_path / "optimizer.py", items=tmp_path / "items.json"
        )
        (tmp_path / "config.yaml").write_text(config)
        command = [sys.executable, "-m", "skillopt", "train", "--config", str(tmp_path / "config.yaml"),
                   "--out_root", str(tmp_path / "out")]  # fmt: skip
        done = subprocess.run(
            command, env=environment(tmp_path), capture_output=True, text=True, timeout=580, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        asked = len(server.requests)
        # Running the same command again resumes: nothing is asked a second time.
        again = subprocess.run(
            command, env=environment(tmp_path), capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False
        )
        assert again.returncode == 0, again.stdout[-3000:] + again.stderr[-3000:]
        assert len(server.requests) == asked
    out = tmp_path / "out"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["best_selection_hard"] == 1.0
    assert summary["test_hard"] == 1.0
    assert summary["baseline_test_hard"] == 0.0
    assert summary["notices"] == []
    assert "Add one to the number" in (out / "best_skill.md").read_text()
    rows = [json.loads(line) for line in (out / "test_eval" / "results.jsonl").read_text().splitlines()]
    assert all(row["agent_ok"] and row["agent"]["skill_read"] for row in rows)
    for path in out.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(secret.encode() in content for secret in PLANTED.values()), path
