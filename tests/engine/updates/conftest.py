"""Whole runs in this process on the scripted backend, whose script a test writes in a few lines."""

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
from skillopt.records.events import Notice
from skillopt.testing.toy_task import write_config, write_data

ALONE: dict[str, Any] = {
    "optimizer__use_slow_update": False,
    "optimizer__use_meta_skill": False,
    "evaluation__gate_rule": "strict",
    "evaluation__prefetch": False,
}
"""The published gate, no epoch ends, nothing ahead: what a run asks is what a test looks at."""

HEAD = """
import json
from pathlib import Path
from skillopt.testing import toy
from skillopt.model.types import ChatReply

def suggest(*rules):
    items = [{"type": "add_rule", "title": r.split(":")[0], "motivation": "m", "instruction": r,
              "priority_hint": "high"} for r in rules]
    return json.dumps({"batch_size": 1, "failure_summary": [], "success_patterns": [],
                       "patch": {"reasoning": "", "revise_suggestions": items}})

def document(text):
    items = [{"title": text[:20], "change_summary": [text], "new_skill": text}]
    return json.dumps({"batch_size": 1, "failure_summary": [], "success_patterns": [],
                       "patch": {"reasoning": "", "skill_candidates": items}})

def respond(request):
    with Path(LOG).open("a") as log:
        text = "\\n".join(m.content for m in request.messages)
        log.write(json.dumps({"stage": request.stage, "text": text, "cap": request.max_completion_tokens}) + "\\n")
    said = answer(request)
    return toy.respond(request) if said is None else said

"""


@dataclass
class Done:
    """A finished run and what its models were asked."""

    root: Path
    asked: list[dict[str, Any]]
    notices: list[str]

    def read(self, name: str) -> Any:
        return json.loads((self.root / name).read_text())

    def step(self, number: int, name: str) -> Path:
        return self.root / f"steps/step_{number:04d}" / name

    @property
    def history(self) -> list[dict[str, Any]]:
        return self.read("history.json")

    def prompts(self, stage: str) -> list[str]:
        return [a["text"] for a in self.asked if a["stage"] == stage]


Run = Callable[..., Awaitable[Done]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("def answer(request): …", optimizer__proposals=2)`; `answer` returns None where the toy should speak."""
    data = write_data(tmp_path / "data")

    async def start(answer: str = "def answer(request): return None", name: str = "run", **changes: Any) -> Done:
        log, script = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.py"
        script.write_text(f"LOG = {str(log)!r}\n{HEAD}{answer}\n")
        path = tmp_path / f"{name}.yaml"
        write_config(
            path, data, **{**ALONE, "model__backend": "scripted", "model__scripted_script": str(script), **changes}
        )
        overrides = parse_overrides([f"env.out_root={tmp_path / name}"], settings_schemas())
        resolved = load_config(path, overrides=overrides, environ={}, env_schemas=settings_schemas())
        notices: list[str] = []
        events = Events()
        events.add(lambda event: notices.append(event.text) if isinstance(event, Notice) else None)
        async with open_run_context(resolved, out_root=tmp_path / name, emit=events) as context:
            await train(context)
        return Done(tmp_path / name, [json.loads(line) for line in log.read_text().splitlines()], notices)

    return start
