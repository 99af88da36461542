"""Whole runs in this process on the toy task, with an optimizer that also replaces, inserts, deletes and moves lines.

Every reply is a pure function of its request, so a run continued or repeated sees the same replies.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from skillopt.config import load_config
from skillopt.core.hashing import digest
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas
from skillopt.model.types import ChatRequest
from skillopt.testing import toy
from skillopt.testing.toy_task import write_config, write_data

ANCHOR = "- Look at the box — ✓ first."
IDLE = "A line that says nothing."
SKILL = (
    '---\r\nname: boxes\r\ndescription: "Boxes: what they hold"\r\n---\r\n'
    f"# Boxes — 箱\r\n\r\n{ANCHOR}\r\n{IDLE}\r\n\r\nAnswer with one word.\r\n"
)
_LONG = re.compile(r"^RULE (\d+): for items of kind \1, name what the box holds\.", re.MULTILINE)
_SCRIPT = "from tests.explain.toy_runs import respond\n\n__all__ = ['respond']\n"


ASKED: list[str] = []
"""What the target was asked in this process, for tests that count; they clear it."""


def respond(request: ChatRequest) -> str:
    if request.schema is None:
        ASKED.append(str(request.messages[-1].content))
    said = toy.respond(request)
    if not request.stage.startswith("analyst"):
        return said
    reply: dict[str, Any] = json.loads(said)
    patch = reply.get("patch") or {}
    if "edits" not in patch:
        return said
    text = "\n".join(str(m.content) for m in request.messages)
    generator = random.Random(int(digest(text)[:12], 16))
    edits = patch["edits"][:1]
    held = sorted(set(_LONG.findall(text)))
    if held:
        kind = generator.choice(held)
        long = f"RULE {kind}: for items of kind {kind}, name what the box holds."
        edits.append(
            {"op": "replace", "target": long, "content": f"RULE {kind}: a box of kind {kind} is what it holds."}
        )
    if IDLE in text:
        edits.append({"op": "delete", "target": IDLE})
    number = generator.randrange(1000)
    edits.append({"op": "insert_after", "target": ANCHOR, "content": f"- Look again, {number} times.\n  (no hurry)"})
    generator.shuffle(edits)
    patch["edits"] = edits
    return json.dumps(reply, ensure_ascii=False)


def write_project(root: Path, skill: str = SKILL, *, sizes: Mapping[str, int] | None = None, **changes: Any) -> Path:
    """Data, skill, script and configuration; returns the configuration's path."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "skill.md").write_bytes(skill.encode())
    (root / "script.py").write_text(_SCRIPT)
    settings: dict[str, Any] = {
        "model__scripted_script": str(root / "script.py"),
        "env__skill_init": str(root / "skill.md"),
        "optimizer__learning_rate": 4,
        "evaluation__gate_rule": "strict",
    }
    return write_config(root / "config.yaml", write_data(root / "data", sizes), **{**settings, **changes})


def run(config: Path, out_root: Path, **overrides: Any) -> Path:
    """Train to the end (or to a budget's), in `out_root`."""

    async def go() -> None:
        path = config
        if overrides:
            body = yaml.safe_load(config.read_text())
            for name, value in overrides.items():
                section, key = name.split("__", 1)
                body.setdefault(section, {})[key] = value
            path = config.with_name(f"{out_root.name}.yaml")
            path.write_text(yaml.safe_dump(body))
        resolved = load_config(path, environ={}, env_schemas=settings_schemas())
        async with open_run_context(resolved, out_root=out_root, emit=Events()) as context:
            await train(context)

    asyncio.run(go())
    return out_root
