"""Whole runs under the paired rule, in this process, on the scripted backend."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skillopt.config import load_config, parse_overrides
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas
from skillopt.testing.toy_task import write_config, write_data

SETTINGS: dict[str, Any] = {
    "evaluation__gate_rule": "paired",
    "optimizer__use_slow_update": False,
    "optimizer__use_meta_skill": False,
    "train__batch_size": 16,
}

HEAD = """
import json, random
from pathlib import Path
from skillopt.core.hashing import digest
from skillopt.testing import toy

def edits(*contents):
    rows = [{"op": "append", "target": None, "content": c} for c in contents]
    return json.dumps({"batch_size": 1, "failure_summary": [], "success_patterns": [],
                       "patch": {"reasoning": "", "edits": rows}})

def skill_of(request):
    return "\\n".join(m.content for m in request.messages if m.role == "system")

def luck(request):
    # A draw that differs for every request and repeat.
    return random.Random(digest([request.key_fields(), request.repeat])).random()

def respond(request):
    with Path(LOG).open("a") as log:
        text = "\\n".join(m.content for m in request.messages)
        log.write(json.dumps({"stage": request.stage, "repeat": request.repeat, "text": text}) + "\\n")
    said = answer(request)
    return toy.respond(request) if said is None else said

"""


@dataclass
class Done:
    """A finished run and what its models were asked."""

    root: Path
    asked: list[dict[str, Any]]
    summary: dict[str, Any]

    def read(self, name: str) -> Any:
        return json.loads((self.root / name).read_text())

    def read_rows(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.root / name).read_text().splitlines()]

    @property
    def history(self) -> list[dict[str, Any]]:
        return self.read("history.json")

    @property
    def best(self) -> str:
        return (self.root / "best_skill.md").read_text()

    def stages(self, stage: str) -> list[dict[str, Any]]:
        return [a for a in self.asked if a["stage"] == stage]


Run = Callable[..., Awaitable[Done]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("def answer(request): …", evaluation__gate_alpha=0.1)`; `answer` returns None where the toy should speak."""

    async def start(
        answer: str = "def answer(request): return None",
        name: str = "run",
        sizes: dict[str, int] | None = None,
        **changes: Any,
    ) -> Done:
        data = tmp_path / f"data_{name}"
        write_data(data, sizes or {"train": 64, "val": 48, "test": 24})
        log, script = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.py"
        log.touch()
        script.write_text(f"LOG = {str(log)!r}\n{HEAD}{answer}\n")
        path = tmp_path / f"{name}.yaml"
        write_config(
            path, data, **{**SETTINGS, "model__backend": "scripted", "model__scripted_script": str(script), **changes}
        )
        root = tmp_path / name
        overrides = parse_overrides([f"env.out_root={root}"], settings_schemas())
        resolved = load_config(path, overrides=overrides, environ={}, env_schemas=settings_schemas())
        async with open_run_context(resolved, out_root=root, emit=Events()) as context:
            result = await train(context)
        asked = [json.loads(line) for line in log.read_text().splitlines()]
        return Done(root, asked, result.summary.to_json())

    return start
