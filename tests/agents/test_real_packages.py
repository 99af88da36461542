"""Whole packages and triggers through the real programs, against a scripted model server on this machine.

A package with a script that has to be run to solve the task is trained through Codex, Claude Code and Copilot; what is
exported is found and read by each of them where it was installed; and which skill was loaded is seen in each.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
import yaml

import skillopt
from benchmarks.agent_model_server import AgentModelServer, ReadSkill, Say, Script, Shell
from skillopt.core.errors import StopRun
from skillopt.harnesses.job import Endpoint, Job
from skillopt.harnesses.launch import run as launched
from skillopt.records.reading import open_run
from tests.agents.real import PROGRAMS, environment, program
from tests.agents.test_real_clis import CLIS
from tests.engine.packages.task import FILES, SCRIPT, write_project
from tests.explain.toy_runs import run
from tests.triggers.stand_in import RIVAL, SKILL

pytestmark = pytest.mark.slow

backends = pytest.mark.parametrize("backend", PROGRAMS)
AGENTS = {"codex_exec": "codex", "claude_code_exec": "claude", "copilot_exec": "copilot"}
RUN = ".agents/skills/thrice/scripts/thrice.py $(grep -o '[0-9][0-9]*' task.md | head -n 1) | sed 's/^/printed=/'"
READY: dict[str, Script] = {"single word: ready": (Say("ready"),)}


def printed(request: str) -> str:
    return re.findall(r"printed=(\d+)", request)[-1]


def of_program(backend: str, url: str) -> dict[str, object]:
    return {"target_backend": backend, "target": "scripted-model", f"{backend}_path": program(backend),
            "exec_base_url": url, "exec_api_key": "sk-endpoint-42424242"}  # fmt: skip


@backends
async def test_a_package_is_trained_shipped_found_and_read(backend: str, tmp_path: Path) -> None:
    program(backend)
    scripts = {**READY, "": (ReadSkill("thrice"), Shell(RUN), Say(printed))}
    config = write_project(tmp_path, {"train": 2, "val": 3, "test": 2}, exec_timeout=300)
    with AgentModelServer(scripts) as server:
        body = yaml.safe_load(config.read_text())
        body["model"] = {"optimizer_backend": "scripted", "scripted_script": body["model"]["scripted_script"],
                         **of_program(backend, server.url)}  # fmt: skip
        body["env"]["workers"] = 4
        config.write_text(yaml.safe_dump(body))
        await asyncio.to_thread(run, config, tmp_path / "run")
        sent = json.dumps(server.requests)
    found = open_run(tmp_path / "run")
    assert found.summary is not None and found.summary.notices == ()
    assert (found.summary.baseline_test.hard, found.summary.test.hard) == (0.0, 1.0)
    assert all(row.agent and row.agent["skill_read"] for row in found.rollouts("test_eval").values())
    assert "Use when a number is to be tripled." in sent  # the package's own description reached the program
    project = tmp_path / "project"
    project.mkdir()
    done = skillopt.export(tmp_path / "run", AGENTS[backend], project=project)
    assert (done.path / "scripts/thrice.py").read_text() == SCRIPT.replace("n * 2", "n * 3")
    folder = done.path.relative_to(project).parent.as_posix()
    steps = (ReadSkill("thrice", folder), Shell(f"{folder}/thrice/scripts/thrice.py 7"), Say("21"))
    with AgentModelServer({**READY, "": steps}) as server:
        job = Job(
            executable=program(backend), prompt="Triple 7.", workspace=project, home=tmp_path / "home",
            environ=environment(tmp_path), model="scripted-model", endpoint=Endpoint(server.url, "sk-endpoint-4242"),
            cache=Path(environment(tmp_path)["XDG_CACHE_HOME"]) / "skillopt" / "agents",
        )  # fmt: skip
        finished = await asyncio.wait_for(launched(CLIS[backend].launch(job), tmp_path / "streams"), 120)
        session = CLIS[backend].read(job, finished)
        first, sent = json.dumps(server.requests[0]), json.dumps(server.requests)
    assert "Use when a number is to be tripled." in first and "Run `scripts/thrice.py N`." not in first
    assert "Run `scripts/thrice.py N`." in sent and FILES["references/notes.md"] not in sent
    assert session.answer == "21" and any((step.output or "").strip().startswith("21") for step in session.steps)


@backends
def test_which_skill_was_loaded_is_seen(backend: str, tmp_path: Path) -> None:
    program(backend)
    for name, text in (("boxes", SKILL), ("letters", RIVAL)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text)
    rows = [{"query": f"Count the boxes, number {n}.", "should_trigger": True} for n in (0, 1, 3)]
    rows += [{"query": f"Write letters, number {n}.", "should_trigger": False} for n in range(2)]
    rows.append({"query": "What time is it?", "should_trigger": False})
    loaded, other = (ReadSkill("boxes"), Say("loaded")), (ReadSkill("letters"), Say("loaded"))
    literal = {"codex_exec": "$boxes", "claude_code_exec": "/boxes", "copilot_exec": "Use the skill `boxes`"}
    scripts: dict[str, Script] = {
        **READY, literal[backend]: loaded, "Count the boxes, number 3": (Say("12"),), "Count the boxes": loaded,
        "Write letters": other, "": (Say("It is noon."),),
    }  # fmt: skip
    with AgentModelServer(scripts) as server:
        overrides = {f"model.{key}": value for key, value in of_program(backend, server.url).items()}
        found = skillopt.triggers(
            tmp_path / "boxes", rows, rivals=[tmp_path / "letters"], repeats=1, out=tmp_path / "run",
            overrides={**overrides, "env.workers": 4, "env.exec_timeout": 300},
        )  # fmt: skip
        sent = json.dumps(server.requests)
    assert (found.recall.hits, found.recall.n, found.precision.value, found.false_alarms.hits) == (2, 3, 1.0, 0)
    assert {row.query: dict(row.instead) for row in found.rows}["Write letters, number 0."] == {"letters": 1}
    assert "Use for boxes." in sent and "The body is long" not in sent


def test_a_program_that_loads_nothing_cannot_be_measured(tmp_path: Path) -> None:
    """Copilot only: Codex and Claude Code load a skill that a prompt names as $NAME or /NAME by themselves."""
    backend = "copilot_exec"
    (tmp_path / "boxes").mkdir()
    (tmp_path / "boxes/SKILL.md").write_text(SKILL)
    rows = [{"query": f"Count the boxes, {n}.", "should_trigger": True} for n in range(6)]
    with AgentModelServer({**READY, "": (Say("No."),)}) as server:
        overrides = {f"model.{key}": value for key, value in of_program(backend, server.url).items()}
        with pytest.raises(StopRun, match="cannot measure triggers"):
            skillopt.triggers(tmp_path / "boxes", rows, repeats=1, out=tmp_path / "run", overrides=overrides)
