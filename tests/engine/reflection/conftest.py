"""Whole runs through the command line: one zygote for a module, one counting server for a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer

ALONE = {"optimizer__use_slow_update": False, "optimizer__use_meta_skill": False, "evaluation__gate_rule": "strict"}
"""The published gate and nothing beside the mechanism that a test is about."""
AWARE = {**ALONE, "optimizer__use_skill_aware_reflection": True}
DEEP = {**ALONE, "gradient__use_deep_reflect": True}

Body = Mapping[str, Any]
Change = Callable[[Body, Any], Any]


def stage_of(body: Body) -> str:
    """Name of the schema that a request asks for; blank for a target's."""
    schema: dict[str, Any] = (body.get("response_format") or {}).get("json_schema") or {}
    return str(schema.get("name", ""))


def text_of(body: Body, *roles: str) -> str:
    return "\n".join(m["content"] for m in body["messages"] if not roles or m["role"] in roles)


def changed(stage: str, change: Change) -> Callable[[Body], tuple[str, Any]]:
    """The toy's answers, with those of one stage changed: `change(body, reply)` returns a JSON value or a text."""

    def answering(body: Body) -> tuple[str, Any]:
        text, usage = answer(body)
        if stage_of(body).startswith(stage):
            said = change(body, json.loads(text))
            return (said if isinstance(said, str) else json.dumps(said)), usage
        return text, usage

    return answering


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def asked(rig: Rig, stage: str) -> list[Body]:
    return [b for b in rig.server.bodies or () if stage_of(b).startswith(stage)]


def targets(rig: Rig) -> list[Body]:
    return [b for b in rig.server.bodies or () if b["model"] == "toy-target"]
